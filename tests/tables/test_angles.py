"""Angles as files have them: hours, parts of sixty, points of the compass; advice is followed to the letter."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.cli import main
from heatess.tables.sexagesimal import Notation, angles_of, notation_of

N = 80


@pytest.fixture
def rng():
    return np.random.default_rng(22)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str, scale: tuple[str, ...] = ("--angles", "30")) -> Result:
        result = CliRunner().invoke(main, ["profile", *words, *scale, "--json", "-"])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


def write(name: str, header: str, columns) -> str:
    rows = zip(
        *([text if isinstance(text, str) else repr(float(text)) for text in column] for column in columns), strict=True
    )
    Path(name).write_text("\n".join([header, *map(",".join, rows)]) + "\n", encoding="utf-8")
    return name


def gess_of(result: Result) -> float:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["gess"][0]


def refused(result: Result, code: int = 3) -> str:
    """The one sentence on stderr of a command that did nothing."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return result.stderr.strip().splitlines()[-1]


def advised(sentence: str, first: str) -> list[str]:
    """The options in a sentence from *first* on, up to the next word that is no option or value."""
    return shlex.split(re.split(r" (?:if|for|or|and|to)\b|[;?]|, (?!periods)", sentence[sentence.index(first) :])[0])


def day(rng, n=N):
    """Hours of two rush hours, and gESS of the same angles at 30 degrees."""
    hours = np.r_[rng.normal(8.5, 1, n // 2), rng.normal(18, 1.5, n // 2)] % 24
    return hours, he.gess(np.radians(15 * hours), space=he.Circle(), angle=30)


def sky(rng, n=N):
    """Right ascension and declination in degrees, and gESS at 30 degrees of the vectors they are."""
    ra, dec = rng.uniform(0, 360, n), np.degrees(np.arcsin(rng.uniform(-0.95, 0.95, n)))
    dec[:3] = -0.2, -0.51, 0.3  # between -1 and 0 the sign is in the text alone
    return ra, dec


def gess_at(ra, dec) -> float:
    a, b = np.radians(ra), np.radians(dec)
    return he.gess(np.column_stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)]), angle=30)


def in_parts(values, marks: str, digits: int = 3, sign: bool = False) -> list[str]:
    """Numbers as texts in parts of sixty, by whole numbers of the last digit."""
    step = 10**digits
    found = []
    for value in values:
        whole = round(abs(value) * 3600 * step)
        parts = (whole // (3600 * step), whole // (60 * step) % 60, whole % (60 * step) / step)
        first = "-" if value < 0 else "+" if sign else ""
        text = f"{first}{parts[0]:02d}{marks[0]}{parts[1]:02d}{marks[1]}{parts[2]:0{digits + 3}.{digits}f}{marks[2:]}"
        found.append(text)
    return found


# Hours.


def test_hours_on_a_circle_are_asked_about_and_read_as_said(run, rng):
    hours, truth = day(rng)
    write("a.csv", "number,x", [hours, hours])
    words = ("a.csv", "--columns", "x", "--space", "circle")
    sentence = refused(run(*words))
    assert "column x runs from 6.176 to 21.14" in sentence
    assert "could be hours or degrees" in sentence
    result = run(*words, *advised(sentence, "--units hours"))
    assert gess_of(result) == pytest.approx(truth, rel=1e-9)
    assert "from x (hours)" in result.stderr
    wrong = he.gess(np.radians(hours), space=he.Circle(), angle=30)
    assert gess_of(run(*words, *advised(sentence, "--units deg"))) == pytest.approx(wrong, rel=1e-9)
    torus = advised(sentence, "--space 'Torus")
    found = run("a.csv", "--columns", "x", *torus, scale=("--resolutions", "2"))
    at = he.gess(15 * hours, space=he.Circle(units="deg"), resolution=30)
    assert gess_of(found) == pytest.approx(at, rel=1e-9)


def test_the_day_on_a_torus_of_24_hours_has_the_profile_of_the_circle(rng):
    hours, _ = day(rng)
    circle = he.heat_profile(15 * hours, space=he.Circle(units="deg"), angles=[15, 45, 90])
    torus = he.heat_profile(hours, space=he.Torus(1, periods=24), times=np.array([1, 3, 6]) ** 2 / 8)
    np.testing.assert_allclose(torus.gess, circle.gess, rtol=1e-9)
    np.testing.assert_allclose(torus.volume, circle.volume, rtol=1e-9)
    np.testing.assert_allclose(15 * torus.resolutions, circle.resolutions, rtol=1e-9)


def test_in_python_hours_are_said_or_stated(rng):
    hours, truth = day(rng)
    with pytest.raises(he.InputError, match="could be hours or degrees; add units='hours' or units='deg'"):
        he.read({"x": hours}, space="circle", columns="x")
    found = he.read({"x": hours}, space="circle", columns="x", units="hours")
    assert he.gess(found, angle=30) == pytest.approx(truth, rel=1e-9)
    assert found.known.units == found.origin.units == "hours"
    for name in ("hour", "time (h)", "clock_hours"):
        stated = he.read({name: hours}, space="circle", columns=name)
        assert he.gess(stated, angle=30) == pytest.approx(truth, rel=1e-9)
    pairs = he.read({"a": hours, "b": hours[::-1]}, space="torus", columns=("a", "b"), units="hours")
    expected = he.gess(np.radians(15 * np.column_stack([hours, hours[::-1]])), space=he.Torus(2), angle=30)
    assert he.gess(pairs, angle=30) == pytest.approx(expected, rel=1e-9)
    made = he.read({"x": hours}, space=he.Circle(), units="hours", columns="x")
    assert he.gess(made, angle=30) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("rows", [None, 7])
def test_hours_are_asked_about_in_pieces_too(rng, rows):
    from heatess.tables.points_and_weights import take
    from heatess.tables.read_options import Reading
    from heatess.tables.table import Columns

    hours, _ = day(rng)
    with pytest.raises(he.InputError, match="could be hours or degrees"):
        list(take(Columns({"x": hours}, "f.csv"), Reading(space="circle", columns="x"), rows))
    pieces = list(take(Columns({"x": hours}, "f.csv"), Reading(space="circle", columns="x", units="hours"), rows))
    np.testing.assert_allclose(np.concatenate([piece.points for piece in pieces])[:, 0], 15 * hours)


@pytest.mark.parametrize(
    ("name", "values", "period"),
    [
        ("month", np.arange(1, 13), 12),
        ("weekday", np.arange(7), 7),
        ("day_of_year", np.arange(1, 351, 7), 365.25),
        ("doy", np.arange(1, 366), 365.25),
    ],
)
def test_other_times_that_repeat_are_led_to_a_torus_of_their_period(run, name, values, period):
    write("a.csv", name, [values])
    sentence = refused(run("a.csv", "--space", "circle"))
    found = run("a.csv", *advised(sentence, "--space 'Torus"), scale=("--resolutions", repr(period / 12)))
    expected = he.gess(values, space=he.Torus(1, periods=period), resolution=period / 12)
    assert gess_of(found) == pytest.approx(expected, rel=1e-9)


def test_hours_of_several_days_are_asked_about_unless_said(run, rng):
    hours, truth = day(rng)
    many = hours + 24 * rng.integers(0, 30, N)
    write("a.csv", "time (h)", [many])
    sentence = refused(run("a.csv", "--space", "circle"))
    assert "more than 24 hours" in sentence
    assert gess_of(run("a.csv", "--space", "circle", *advised(sentence, "--units hours"))) == pytest.approx(truth)


def test_small_angles_on_a_circle_may_be_hours_too(run, rng):
    angles = rng.uniform(0.1, 6, N)
    write("a.csv", "x", [angles])
    sentence = refused(run("a.csv", "--space", "circle"))
    assert "hours, degrees or radians" in sentence
    for unit, factor in (("hours", 15), ("deg", 1), ("rad", 180 / np.pi)):
        truth = he.gess(np.radians(factor * angles), space=he.Circle(), angle=30)
        found = run("a.csv", "--space", "circle", *advised(sentence, f"--units {unit}"))
        assert gess_of(found) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("header", ["ra_h,dec", "RA (hours),Dec (deg)", "ra [h],dec [deg]", "ra_hours,dec"])
def test_right_ascension_that_says_hours_is_hours(run, rng, header):
    ra, dec = sky(rng)
    write("a.csv", header, [ra / 15, dec])
    result = run("a.csv")
    assert gess_of(result) == pytest.approx(gess_at(ra, dec), rel=1e-9)
    assert "(RA in hours, Dec in degrees)" in result.stderr


def test_hours_beside_a_declination_that_states_degrees_are_asked_about(run, rng):
    ra, dec = sky(rng)
    write("a.csv", "ra,dec_deg", [ra / 15, dec])
    sentence = refused(run("a.csv"))
    found = run("a.csv", *advised(sentence, "--units hours"))
    assert gess_of(found) == pytest.approx(gess_at(ra, dec), rel=1e-9)


def test_hours_are_refused_where_nothing_is_in_hours(run, rng):
    ra, dec = sky(rng)
    write("a.csv", "lon,lat", [ra / 15, dec])
    sentence = refused(run("a.csv", "--units", "hours"))
    assert "for right ascension and for angles on a circle" in sentence
    found = run("a.csv", *advised(sentence, "--ra lon"), "--units", "hours")
    assert gess_of(found) == pytest.approx(gess_at(ra, dec), rel=1e-9)
    write("b.csv", "ra,dec", [ra, dec])
    sentence = refused(run("b.csv", "--units", "hours"))
    assert "more than 24 hours" in sentence
    found = run("b.csv", *advised(sentence, "--units deg"))
    assert gess_of(found) == pytest.approx(gess_at(ra, dec), rel=1e-9)


# Parts of sixty.


def test_random_angles_in_parts_are_those_of_astropy(rng):
    coordinates = pytest.importorskip("astropy.coordinates")
    units = pytest.importorskip("astropy.units")
    degrees = np.r_[rng.uniform(-90, 90, 400), rng.uniform(-1, 1, 100), -0.5, -1e-5, 59.99999]
    for marks, unit, known in (
        ("dms", units.deg, "deg"),
        ("::", units.deg, "sexagesimal"),
        ("  ", units.deg, "sexagesimal"),
        ("°'\"", units.deg, "deg"),
        ("hms", units.hourangle, "hours"),
    ):
        for digits in (1, 4):
            texts = in_parts(degrees if unit is units.deg else np.abs(degrees) * 0.26, marks, digits)
            expected = coordinates.Angle(texts, unit).to_value(unit)
            notation = notation_of(texts)
            assert notation == Notation(known)
            np.testing.assert_allclose(angles_of(texts, notation, "x", str), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("-00 30 00", "sexagesimal", -0.5),
        ("-0d30m", "deg", -0.5),
        ("12:59:59.9999", "sexagesimal", 12 + 59 / 60 + 59.9999 / 3600),
        ("05h34m31.971s", "hours", 5 + 34 / 60 + 31.971 / 3600),
        ("5h", "hours", 5),
        ("24h00m00s", "hours", 24),
        ("22°00'52.2\"N", "deg", 22 + 52.2 / 3600),
        ("22°00′52.2″S", "deg", -22 - 52.2 / 3600),
        ("48°51.4'N", "deg", 48 + 51.4 / 60),
        ("12.5°S", "deg", -12.5),
        ("45.5N", "deg", 45.5),
        ("W 12 30 00", "deg", -12.5),
        ("\u22125°30′", "deg", -5.5),
        ("52,5°", "deg", 52.5),
    ],
)
def test_an_angle_is_read_as_it_is_written(text, unit, value):
    notation = notation_of([text])
    assert notation is not None
    assert notation.unit == unit
    assert angles_of([text], notation, "x", str)[0] == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        *("12.5", "12 30", "12:", "1:2:3:4", "12.5:30", "-45.5S", "2021-03-04", "12:30 PM", "M 31", "12d30m15S", "5m"),
        *("N45S", "1e5", "+-5d", "12-30-15"),
    ],
)
def test_what_need_not_be_an_angle_is_none(text):
    assert notation_of([text]) is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("05:60:00", "60 minutes or more"),
        ("05:30:60", "60 seconds or more"),
        ("25h00m00s", "more than 24 hours"),
        ("83.5", "not an angle such as 05:34:31.97"),
        ("05h34m31s", "not written like the rows before"),
        ("unknown", "not an angle"),
    ],
)
def test_a_bad_angle_is_refused_with_its_row(run, bad, words):
    Path("a.csv").write_text(f"ra,dec\n05:34:31.9,+22:00:52\n18:36:56,-00:30:00\n{bad},+01:00:00\n")
    sentence = refused(run("a.csv"))
    assert sentence.startswith(f"heatess: a.csv line 4: column ra is '{bad}'")
    assert words in sentence


@pytest.mark.parametrize("marks", [("hms", "dms"), ("::", "::"), ("  ", "  ")])
def test_right_ascension_and_declination_in_parts_in_every_kind_of_table(run, rng, marks):
    ra, dec = sky(rng)
    texts = {"ra": in_parts(ra / 15, marks[0]), "dec": in_parts(dec, marks[1], sign=True)}
    ids = [f"s{k}" for k in range(N)]
    truth = pytest.approx(gess_at(ra, dec), rel=1e-6)
    write("a.csv", "name,ra,dec", [ids, *texts.values()])
    result = run("a.csv")
    assert gess_of(result) == truth
    assert "(RA in hours, Dec in degrees)" in result.stderr
    Path("a.json").write_text(
        json.dumps([dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)])
    )
    assert gess_of(run("a.json")) == truth
    assert he.gess(he.read(texts), angle=30) == truth
    table = pytest.importorskip("astropy.table").Table
    made = table({"name": ids, **texts})
    assert he.gess(made, angle=30) == truth
    for name, how in (("a.vot", "votable"), ("a.fits", "fits"), ("a.ecsv", "ascii.ecsv")):
        made.write(name, format=how)
        assert gess_of(run(name)) == truth
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    for frame in (pandas.DataFrame(texts), polars.DataFrame(texts), pyarrow.table(texts)):
        assert he.gess(frame, angle=30) == truth
    pandas.DataFrame({**texts, "n": 1.0}).to_parquet("a.parquet")
    assert gess_of(run("a.parquet")) == truth


def test_masked_text_is_missing(rng):
    table = pytest.importorskip("astropy.table")
    ra = table.MaskedColumn(["05h34m31s", "18h36m56s", "12h00m00s"], mask=[False, True, False])
    made = table.Table({"ra": ra, "dec": ["+22d00m52s", "+38d47m01s", "-00d30m00s"]})
    with pytest.raises(he.InputError, match=r"row 1 .*column ra has no number \(1 of 3 rows\)"):
        he.read(made)
    assert he.read(made, drop_missing=True).n == 2


def test_text_in_pieces_knows_its_lines(tmp_path, rng):
    from heatess.readers import open_table
    from heatess.tables.points_and_weights import take
    from heatess.tables.read_options import Reading

    ra, dec = sky(rng)
    path = tmp_path / "a.csv"
    rows = zip(in_parts(ra / 15, "::"), in_parts(dec, "::"), strict=True)
    path.write_text("ra,dec\n\n" + "".join(f"{a},{b}\n" for a, b in rows))
    pieces = list(take(open_table(path), Reading(), 7))
    assert len(pieces) == math.ceil(N / 7)
    assert pieces[1].place(2) == f"{path} line 12"
    found = np.concatenate([piece.points for piece in pieces])
    np.testing.assert_allclose(found, he.from_lonlat(ra, dec, units="deg"), atol=1e-7)


def test_points_of_the_compass_have_their_signs_and_tell_exchanged_columns(run, rng):
    ra, dec = sky(rng)
    lon = ra - 180
    east = [f"{abs(value):.9f}{'E' if value >= 0 else 'W'}" for value in lon]
    north = [f"{abs(value):.9f}°{'N' if value >= 0 else 'S'}" for value in dec]
    write("a.csv", "lat,lon", [north, east])
    assert gess_of(run("a.csv")) == pytest.approx(gess_at(lon, dec), rel=1e-6)
    sentence = refused(run("a.csv", "--lon", "lat", "--lat", "lon"))
    assert "column lat has the letters N and S" in sentence
    found = run("a.csv", *advised(sentence, "--lon lon"))
    assert gess_of(found) == pytest.approx(gess_at(lon, dec), rel=1e-6)


def test_times_of_the_day_in_parts_are_asked_about(run, rng):
    hours, truth = day(rng)
    write("a.csv", "id,time", [[f"n{k}" for k in range(N)], in_parts(hours, "::")])
    words = ("a.csv", "--columns", "time", "--space", "circle")
    sentence = refused(run(*words))
    assert "written in parts of sixty, which could be hours or degrees" in sentence
    assert gess_of(run(*words, *advised(sentence, "--units hours"))) == pytest.approx(truth, rel=1e-5)


def test_what_is_said_may_not_contradict_what_is_written(run, rng):
    ra, dec = sky(rng)
    write("a.csv", "ra,dec", [in_parts(ra / 15, "hms"), in_parts(dec, "dms")])
    for unit in ("deg", "rad"):
        assert f"column ra is written in hours, such as '{in_parts(ra / 15, 'hms')[0]}'" in refused(
            run("a.csv", "--units", unit)
        )
    assert gess_of(run("a.csv", "--units", "hours")) == pytest.approx(gess_at(ra, dec), rel=1e-6)
    write("b.csv", "lon,lat", [in_parts(ra / 15, "hms"), in_parts(dec, "dms")])
    sentence = refused(run("b.csv"))
    found = run("b.csv", *advised(sentence, "--ra lon"))
    assert gess_of(found) == pytest.approx(gess_at(ra, dec), rel=1e-6)
    write("c.csv", "ra,dec", [in_parts(ra, "::"), in_parts(dec, "::")])
    sentence = refused(run("c.csv"))
    assert "more than 24 hours" in sentence
    found = run("c.csv", *advised(sentence, "--units deg"))
    assert gess_of(found) == pytest.approx(gess_at(ra, dec), rel=1e-6)


def test_vizier_says_hours_in_a_line_of_units(run, rng):
    ra, dec = sky(rng)
    head = 'RAJ2000\tDEJ2000\n"h:m:s"\t"d:m:s"\n----------\t----------\n'
    rows = zip(in_parts(ra / 15, "  "), in_parts(dec, "  ", sign=True), strict=True)
    Path("a.tsv").write_text("#Column RAJ2000\n" + head + "".join(f"{a}\t{b}\n" for a, b in rows))
    assert gess_of(run("a.tsv")) == pytest.approx(gess_at(ra, dec), rel=1e-6)


def test_columns_of_text_are_called_text(run):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"lon": ["2,35", "4,5"], "lat": ["48,8", "45,7"], "city": ["Paris", "Lyon"], "n": [1, 2]})
    with pytest.raises(he.InputError, match=r"columns lon, lat are text, such as '2,35'; convert"):
        he.read(frame)
    with pytest.raises(he.InputError, match="column city is text, such as 'Paris'"):
        he.read(frame, columns={"lon": "city", "lat": "n"})
    with pytest.raises(he.InputError, match="column city is text, such as 'Paris'"):
        he.read(frame.assign(lon=1.0, lat=2.0), weights="city")
    with pytest.raises(he.InputError, match="found 1 column: n, and of text: city"):
        he.read(frame[["city", "n"]])


# What inspect shows.


def test_inspect_shows_units_as_in_the_file_and_as_read(run, rng):
    ra, dec = sky(rng)
    write("a.csv", "name,RA (hours),dec", [["m"] * N, ra / 15, dec])
    result = CliRunner().invoke(main, ["inspect", "a.csv"])
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["RA", "(hours)", "hours", f"{ra.min() / 15:.6g}", f"{ra.max() / 15:.6g}", "0"] in lines
    assert ["name", "text"] in lines
    assert "angles: RA in hours, Dec in degrees in the file, read as degrees" in result.stdout
    table = pytest.importorskip("astropy.table").QTable
    units = pytest.importorskip("astropy.units")
    table({"ra": ra / 15 * units.hourangle, "dec": dec * units.deg}).write("b.ecsv")
    result = CliRunner().invoke(main, ["inspect", "b.ecsv"])
    assert re.search(r"ra +hourangle, here deg +\d", result.stdout)
    assert "angles: RA in hours, Dec in degrees in the file, read as degrees" in result.stdout
    assert he.read("b.ecsv").known.units == "hours"
