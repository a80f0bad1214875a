"""Sheets of Excel give the numbers in their cells, and name the row of what is wrong as Excel counts it."""

from __future__ import annotations

import datetime
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main
from heatess.readers import open_table, packed_size

openpyxl = pytest.importorskip("openpyxl")

CITIES = [
    ["Cities, from a list"],
    [],
    ["name", "lon", "lat", "people", "founded", "capital"],
    ["Paris", 2.35, 48.86, 2_100_000, datetime.date(1950, 1, 1), True],
    ["Tokyo", 139.69, "35.68", 13_000_000, datetime.datetime(1957, 1, 1, 12), True],
    ["Quito", -78.5, -0.2, 1_900_000, None, True],
]


@pytest.fixture
def book(tmp_path):
    def save(name="a.xlsx", **sheets):
        made = openpyxl.Workbook()
        made.remove(made.active)
        for title, rows in sheets.items():
            sheet = made.create_sheet(title)
            for row in rows:
                sheet.append(row)
        made.save(tmp_path / name)
        return tmp_path / name

    return save


def message(path, **options):
    with pytest.raises(he.InputError) as caught:
        he.read(path, **options)
    return str(caught.value)


def test_the_only_sheet_that_is_not_empty_is_read_below_its_title(book):
    path = book(Cities=CITIES, Sheet2=[], Sheet3=[])
    table = open_table(path)
    assert (table.names, table.texts) == (["lon", "lat", "people"], ["name", "founded"])
    assert list(table.text("founded")) == ["1950-01-01T00:00:00", "1957-01-01T12:00:00", ""]
    found = he.read(path, weights="people")
    expected = he.from_lonlat([2.35, 139.69, -78.5], [48.86, 35.68, -0.2], units="deg")
    np.testing.assert_allclose(found.points, expected, atol=1e-15)
    people = np.array([2.1, 13, 1.9])
    assert found.ess == pytest.approx(people.sum() ** 2 / (people @ people))
    assert found.known.labels.tolist() == ["Paris", "Tokyo", "Quito"]
    assert "Excel, sheet Cities" in found.origin.description


def test_of_several_sheets_one_is_chosen_by_what_the_message_says(book, monkeypatch, tmp_path):
    book(Cities=CITIES, Axes=[["x", "y", "z"], [1, 0, 0], [0, 1, 0]])
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["profile", "a.xlsx", "--angles", "20"])
    assert done.exit_code == 3
    assert "a.xlsx holds 2 sheets: Cities, Axes; choose one after two colons, such as a.xlsx::Cities" in done.stderr
    done = CliRunner().invoke(main, ["profile", "a.xlsx::Cities", "--angles", "20"])
    assert "3 points from lon, lat" in done.stderr
    assert he.read("a.xlsx::Axes").n == 2
    assert "none of its sheets is 'Sheet9'" in message("a.xlsx::Sheet9")


def test_missing_cells_are_asked_about_with_the_row_of_excel(book):
    path = book(Cities=[*CITIES, ["Atlantis", None, "n/a", 0]])
    assert "sheet Cities row 7: column lon has no number (1 of 4 rows)" in message(path)
    assert he.read(path, drop_missing=True).n == 3


def test_text_and_dates_among_numbers_are_refused_with_their_row(book):
    assert 'row 3: column lat is "north", not a number' in message(book(S=[["lon", "lat"], [100, 2], [101, "north"]]))
    dated = book(S=[["lon", "lat"], [100, 2], [datetime.date(2020, 1, 2), 3]])
    assert 'row 3: column lon is "2020-01-02T00:00:00", not a number' in message(dated)


def test_a_formula_without_its_value_is_no_missing_number(book):
    path = book(S=[["lon", "lat"], [100, 2], ["=A2+1", 3]])
    said = message(path, drop_missing=True)
    assert "row 3: column lon holds the formula =A2+1 without its value; open the file in Excel or LibreOffice" in said


def test_numbers_without_a_header_are_rows(book):
    found = he.read(book(S=[[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    np.testing.assert_array_equal(found.points, np.eye(3))
    assert "row 2: " in message(book(S=[[1, 0, 0], [0, 3, 0]]))
    assert "no row of names; add one such as lon, lat, weight" in message(book(S=[["a", 1, 2], ["b", 3, 4]]))


def test_two_columns_of_one_name_are_refused_where_they_are_used(book):
    rows = [["lon", "lat", "note", "note"], [100, 2, 1, 2], [101, 3, 3, 4]]
    assert he.read(book(S=rows)).n == 2
    assert "has more than one column 'note'; rename one of them" in message(book(S=rows), weights="note")


def test_what_is_no_workbook_says_so(book, tmp_path, monkeypatch):
    assert "has no sheet with cells in it" in message(book(S=[]))
    assert "has a header but no rows" in message(book(S=[["lon", "lat"]]))
    (tmp_path / "b.xlsx").write_bytes(b"\xd0\xcf\x11\xe0" + b"x" * 100)
    assert "locked with a password or as old as .xls" in message(tmp_path / "b.xlsx")
    (tmp_path / "c.xlsx").write_bytes(book(S=CITIES).read_bytes()[:-200])
    assert "cannot be read as an Excel workbook" in message(tmp_path / "c.xlsx")
    path = book(S=CITIES)
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as packed:
        packed.write(path, "lists/a.xlsx")
    assert he.read(tmp_path / "d.zip").n == 3
    monkeypatch.setitem(packed_size.ROOM, "text", 100)
    monkeypatch.setattr(packed_size, "RATIO", 1)
    assert "may become at most" in message(path)
