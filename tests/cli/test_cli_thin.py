"""What `heatess thin` writes can be put beside what it read: row numbers, names, every column, and the new weights."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.cli import main

POINTS = he.samplers.uniform(30, rng=8)
NAMES = [f'place, "{k}"' for k in range(30)]
CODES = [f"{k:03}" for k in range(30)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(file: str, out: str, *words: str) -> Result:
        line = ["thin", file, "--size", "12", "--angle", "20", "-o", out, "--force", *words]
        result = CliRunner().invoke(main, line)
        assert result.exit_code == 0, result.output
        return result

    return call


def write(path: str, columns: dict[str, list]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def table(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def xyz() -> dict[str, list]:
    return dict(zip("xyz", map(list, POINTS.T.tolist()), strict=True))


def test_rows_names_and_all_columns_are_kept_as_they_are_written(run):
    columns = {"name": NAMES, "code": CODES, **xyz(), "note": [""] * 30}
    write("in.csv", columns)
    result = run("in.csv", "out.csv")
    words = "row is the row in in.csv, counted from 0, weight the new weight"
    assert f"wrote out.csv: {words}, and thinned says that these rows were chosen" in result.stdout
    expected = he.thin(POINTS, size=12, angle=20)
    rows = table("out.csv")
    assert list(rows[0]) == ["row", "name", "code", "x", "y", "z", "note", "weight", "thinned"]
    assert [int(row["row"]) for row in rows] == expected.indices.tolist()
    for row in rows:
        at = int(row["row"])
        assert (row["name"], row["code"]) == (NAMES[at], CODES[at])
        assert [row[axis] for axis in "xyz"] == [repr(value) for value in POINTS[at].tolist()]
    again = he.read("out.csv")
    np.testing.assert_array_equal(again.points, POINTS[expected.indices])
    np.testing.assert_array_equal(again.weights, expected.weights / expected.weights.sum())
    assert again.known.labels.tolist() == [NAMES[at] for at in expected.indices]


def test_row_numbers_count_rows_that_were_dropped_and_no_comments(run):
    lines = ["# a comment", "x,y,z,name,weight"]
    for k, point in enumerate(POINTS.tolist()):
        lines += [
            ",".join([*map(repr, point), f"n{k}", "1"]),
            "0.1,,0.2,hole,1" if k % 2 else "0.1,0.2,0.3,weightless,",
        ]
    Path("in.csv").write_text("\n".join(lines) + "\n")
    run("in.csv", "out.csv", "--drop-missing")
    rows = table("out.csv")
    assert len(rows) == 12
    for row in rows:
        assert row["name"] == f"n{int(row['row']) // 2}"
        assert int(row["row"]) % 2 == 0
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv("in.csv", comment="#").iloc[[int(row["row"]) for row in rows]]
    assert frame["name"].tolist() == [row["name"] for row in rows]


def test_old_weights_and_rows_keep_their_numbers_under_another_name(run):
    write("in.csv", {"row": NAMES, **xyz(), "weight": list(range(1, 31)), "weight_before": CODES, "w": CODES})
    result = run("in.csv", "out.csv", "--weights", "weight")
    said = "what was called row and weight and w is called row_before and weight_before_ and w_before"
    assert said in result.stdout
    rows = table("out.csv")
    assert list(rows[0]) == [
        "row",
        "row_before",
        "x",
        "y",
        "z",
        "weight_before_",
        "weight_before",
        "w_before",
        "weight",
        "thinned",
    ]
    for row in rows:
        at = int(row["row"])
        found = (row["row_before"], row["weight_before_"], row["weight_before"], row["w_before"])
        assert found == (NAMES[at], str(at + 1), CODES[at], CODES[at])
    expected = he.thin(POINTS, np.arange(1.0, 31), size=12, angle=20)
    np.testing.assert_allclose(he.read("out.csv").weights, expected.weights, rtol=1e-12)


def test_numbers_with_a_decimal_comma_get_a_point(run):
    lines = ["name;lon;lat;height"]
    lon, lat = np.degrees(np.arctan2(POINTS[:, 1], POINTS[:, 0])), np.degrees(np.arcsin(POINTS[:, 2]))
    for k in range(30):
        lines.append(";".join([f"a,b{k}", f"{lon[k]:.6f}".replace(".", ","), f"{lat[k]:.6f}".replace(".", ","), "1,5"]))
    Path("in.txt").write_text("\n".join(lines) + "\n")
    run("in.txt", "out.csv")
    before, after = he.read("in.txt"), he.read("out.csv")
    rows = table("out.csv")
    np.testing.assert_array_equal(after.points, before.points[[int(row["row"]) for row in rows]])
    assert {row["height"] for row in rows} == {"1.5"}
    assert rows[0]["name"].startswith("a,b")


def test_parquet_keeps_text_large_numbers_and_vectors(run):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    ids = [2**60 + k for k in range(30)]
    other = [[k, 0.5] for k in range(30)]
    columns = {"title": NAMES, "embedding": POINTS.tolist(), "big": ids, "count": list(range(30)), "other": other}
    parquet.write_table(pyarrow.table(columns), "in.parquet")
    run("in.parquet", "out.csv", "--columns", "embedding")
    rows = table("out.csv")
    assert next(iter(rows[0])) == "row"
    assert {"title", "big", "count", "other", "dim_0", "dim_1", "dim_2", "weight"} <= set(rows[0])
    for row in rows:
        at = int(row["row"])
        assert (row["title"], row["big"], row["count"]) == (NAMES[at], str(ids[at]), str(at))
        assert json.loads(row["other"]) == other[at]
        assert [float(row[f"dim_{axis}"]) for axis in range(3)] == POINTS[at].tolist()


def test_json_keeps_names_and_what_is_missing(run):
    records = [{"id": NAMES[k], **{a: float(v) for a, v in zip("xyz", POINTS[k], strict=True)}} for k in range(30)]
    for record in records[::2]:
        record["depth"] = 5.25
    Path("in.json").write_text(json.dumps(records))
    run("in.json", "out.csv")
    for row in table("out.csv"):
        at = int(row["row"])
        assert row["id"] == NAMES[at]
        assert row["depth"] == ("" if at % 2 else "5.25")


def test_an_archive_keeps_the_same(run):
    write("in.csv", {"name": NAMES, **xyz(), "height": CODES, "weights": list(range(1, 31))})
    result = run("in.csv", "out.npz")
    assert (
        "rows is the row in in.csv, counted from 0, weights the new weight, and thinned says that these rows were "
        "chosen; what was called weights" in result.stdout
    )
    with np.load("out.npz") as stored:
        rows = stored["rows"]
        assert stored["name"].tolist() == [NAMES[row] for row in rows]
        np.testing.assert_array_equal(stored["height"], rows)
        np.testing.assert_array_equal(stored["weights_before"], rows + 1)
        np.testing.assert_array_equal(stored["points"], he.read("in.csv").points[rows])
    again = he.read("out.npz")
    expected = he.thin(he.read("in.csv"), size=12, angle=20)
    np.testing.assert_allclose(again.weights, expected.weights, rtol=1e-12)


def test_arrays_without_names_have_rows_too(run):
    np.save("in.npy", POINTS)
    run("in.npy", "out.csv")
    rows = table("out.csv")
    assert list(rows[0]) == ["row", "dim_0", "dim_1", "dim_2", "weight", "thinned"]
    np.testing.assert_array_equal(
        he.read("out.csv", columns="dim_0:dim_2").points, POINTS[[int(r["row"]) for r in rows]]
    )
    Path("in.txt").write_text("\n".join(" ".join(map(repr, row)) for row in POINTS.tolist()) + "\n")
    run("in.txt", "again.csv")
    assert Path("again.csv").read_text() == Path("out.csv").read_text()
