"""`heatess redundancy` lists near duplicates: the most redundant row of each crowd, its neighbour, their names."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        result = CliRunner().invoke(main, ["redundancy", *words])
        assert result.exit_code == 0, result.output
        return result

    return call


@pytest.fixture(scope="module")
def sentences():
    """Unit vectors in 64 dimensions: 40 far apart, five copies of the first, and one 2 degrees from the second."""
    far = he.samplers.uniform(40, 63, rng=2)
    other = far[1] + np.tan(np.radians(2)) * _normal(far[1])
    vectors = np.vstack([far, np.repeat(far[:1], 4, axis=0), other / np.linalg.norm(other)])
    return vectors, [f"sentence {k}" for k in range(45)]


def _normal(vector):
    step = np.roll(vector, 1)
    step -= (step @ vector) * vector
    return step / np.linalg.norm(step)


def write(path: str, vectors, texts) -> None:
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", *(f"dim_{k}" for k in range(vectors.shape[1]))])
        writer.writerows([text, *map(repr, row)] for text, row in zip(texts, vectors.tolist(), strict=True))


def test_near_duplicates_are_listed_with_their_names_lines_and_neighbours(run, sentences):
    vectors, texts = sentences
    write("in.csv", vectors, texts)
    result = run("in.csv", "--resolution", "10", "--labels", "text")
    lines = result.stdout.splitlines()
    count = he.gess(vectors, resolution=10)  # 45^2 / (5^2 + ... + 38)
    assert count == pytest.approx(45**2 / (5**2 + 2 * 1.97 + 38), rel=1e-2)
    assert lines[0] == (
        f"45 rows make {count:.3g} distinguishable ones at resolution 10 deg. "
        "5 of them have a redundancy above 0.5, 0 above 0.9."
    )
    head, first, second = (" ".join(line.split()) for line in lines[2:5])
    assert head == "row name nearest its name distance rows within 10 deg redundancy"
    assert first == "line 2 sentence 0 line 42 sentence 40 0 5 0.8000"  # 1 - 1 / 5
    overlap = 1 / (1 - he.redundancy(vectors[[1, 44]], resolution=10)[0]) - 1
    assert second in (
        f"line 3 sentence 1 line 46 sentence 44 2.000 deg 2 {1 - 1 / (1 + overlap):.4f}",
        f"line 46 sentence 44 line 3 sentence 1 2.000 deg 2 {1 - 1 / (1 + overlap):.4f}",
    )
    assert lines[-1] == "Of rows nearer to each other than 10 deg the most redundant one is shown."
    assert len(lines) == 7


def test_every_row_is_in_the_csv_and_the_json(run, sentences):
    vectors, texts = sentences
    write("in.csv", vectors, texts)
    expected = he.redundancy(vectors, resolution=10)
    run("in.csv", "--resolution", "10", "--labels", "text", "-o", "out.csv", "--json", "out.json", "--top", "1")
    with open("out.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["row"]) for row in rows] == list(range(45))
    assert [row["name"] for row in rows] == texts
    np.testing.assert_allclose([float(row["redundancy"]) for row in rows], expected, atol=1e-7)
    np.testing.assert_allclose([float(row["weight"]) for row in rows], 1 / 45)
    found = json.loads(Path("out.json").read_text())
    assert found["schema"] == "heatess.redundancy/1"
    assert found["gess"] == pytest.approx(he.gess(vectors, resolution=10), rel=1e-7)
    np.testing.assert_allclose(found["redundancy"], expected, atol=1e-7)
    assert found["rows"] == list(range(45))
    [group] = found["groups"]
    assert (group["row"], group["rows_within"], group["nearest"], group["distance"]) == (0, 5, 40, 0)


def test_rows_are_those_of_the_file_and_a_column_of_text_is_offered(run):
    lines = ["x,y,z,what"]
    for point in np.eye(3).tolist() * 2:
        lines += [",".join([*map(repr, point), "kept"]), "0,,1,dropped"]
    Path("in.csv").write_text("\n".join(lines) + "\n")
    result = run("in.csv", "--angle", "5", "--drop-missing")
    assert "no names of rows; to see them, add --labels with one of: what" in result.stderr
    table = [line.split() for line in result.stdout.splitlines()[3:6]]
    assert [row[:5] for row in table] == [["line", f"{2 + 2 * k}", "line", f"{8 + 2 * k}", "0"] for k in range(3)]
    assert {row[-1] for row in table} == {"0.5000"}
    found = json.loads(run("in.csv", "--angle", "5", "--drop-missing", "--json").stdout)
    assert found["rows"] == [0, 2, 4, 6, 8, 10]
    named = run("in.csv", "--angle", "5", "--drop-missing", "--labels", "what")
    assert "kept" in named.stdout
    assert "no names" not in named.stderr


def test_weights_scales_and_spaces(run):
    rng = np.random.default_rng(3)
    angles, weights = rng.uniform(-180, 180, (60, 2)), rng.uniform(0, 1, 60)
    weights[7] = 0
    rows = np.column_stack([angles, weights])
    np.savetxt("in.csv", rows, "%.17g", ",", header="phi,psi,weight", comments="")
    expected = he.redundancy(angles, weights, angle=30, space=he.Torus(2, units="deg"))
    found = json.loads(run("in.csv", "--angle", "30", "--json", "--top", "60").stdout)
    np.testing.assert_allclose(found["redundancy"], expected, atol=1e-8)
    assert found["gess"] == pytest.approx(he.gess(angles, weights, angle=30, space=he.Torus(2, units="deg")), rel=1e-6)
    listed = [group["row"] for group in found["groups"]]
    assert 7 not in listed  # it has no weight
    gaps = np.abs(angles[listed][:, None] - angles[listed][None])
    gaps = np.hypot(*np.moveaxis(np.minimum(gaps, 360 - gaps), 2, 0))
    assert (gaps[np.triu_indices(len(listed), 1)] > found["resolution"]).all()
    for group in found["groups"]:
        apart = np.abs(angles - angles[group["row"]])
        apart = np.hypot(*np.minimum(apart, 360 - apart).T)
        assert group["rows_within"] == (apart <= found["resolution"]).sum()
        apart[group["row"]] = np.inf
        assert group["nearest"] == int(np.argmin(apart))
        assert group["distance"] == pytest.approx(apart.min(), rel=1e-9)


def test_kilometres_and_angles_in_text(run):
    rows = ["A,10d00m00s,20d00m00s", "B,10d00m00s,20d30m00s", "C,-70d00m00s,0d00m00s"]
    Path("in.csv").write_text("\n".join(["name,lon,lat", *rows]) + "\n")
    lines = run("in.csv", "--angle", "100km").stdout.splitlines()
    assert lines[0].startswith("3 rows make ")
    assert "distinguishable ones at angle 100 km." in lines[0]
    assert lines[3].split()[:-1] == ["line", "2", "A", "line", "3", "B", "0.5000", "deg", "2"]


def test_nodes_of_a_graph_are_told_by_their_names(run):
    pytest.importorskip("networkx")
    Path("in.csv").write_text("source,target\na,b\nb,c\nc,d\nd,a\na,c\n")
    lines = run("in.csv", "--space", "graph", "--time", "1").stdout.splitlines()
    assert lines[2].split()[-1] == "redundancy"
    assert {line.split()[-2] for line in lines[3:]} == set("abcd")


def test_what_is_not_redundant_is_said_so(run):
    np.save("in.npy", np.eye(3))
    assert run("in.npy", "--resolution", "5").stdout == (
        "3 rows make 3 distinguishable ones at resolution 5 deg. None of them says what another says too.\n"
    )


def test_surfaces_have_no_neighbours(run):
    pytest.importorskip("trimesh")
    faces = ["3 0 1 2", "3 0 3 1", "3 0 2 3", "3 1 3 2"]
    Path("in.off").write_text("\n".join(["OFF", "4 4 6", "1 1 1", "-1 -1 1", "-1 1 -1", "1 -1 -1", *faces]))
    lines = run("in.off", "--time", "5", "-q").stdout.splitlines()
    assert lines[2].split() == ["row", "redundancy"]
    assert lines[3].split() == ["row", "0", "0.7500"]
