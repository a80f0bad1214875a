"""`heatess density` prints the regions that hold most of the mass, and writes maps."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main

CLOUD = he.samplers.von_mises_fisher(60, [0, 0, 1], 20.0, rng=0)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lon, lat = np.degrees(np.arctan2(CLOUD[:, 1], CLOUD[:, 0])), np.degrees(np.arcsin(CLOUD[:, 2]))
    np.savetxt("a.csv", np.column_stack([lon, lat]), "%.17g", ",", header="lon,lat", comments="")
    return lambda *words: CliRunner().invoke(main, ["density", *words])


def test_regions_are_those_of_the_density(run):
    law = he.density(CLOUD)
    result = run("a.csv", "--levels", "0.5,0.8")
    assert result.exit_code == 0
    assert f"smoothed at sqrt(8 t) = {law.angle:.3g} degrees, where cross-validation is best" in result.stdout
    row = result.stdout.splitlines()[-3].split()
    found = law.region([0.5, 0.8])
    assert row[0] == "80"
    assert float(row[1]) == pytest.approx(100 * found.area[1], rel=1e-2)
    assert float(row[2].replace(",", "")) == pytest.approx(found.area_in("km2")[1], rel=1e-2)
    told = json.loads(run("a.csv", "--angle", "1000km", "--json", "-").stdout)
    assert told["angle"] == pytest.approx(1000 / 111.19508, rel=1e-6)
    assert told["regions"]["level"] == [0.5, 0.9]


def test_maps_are_written_and_read_again(run):
    assert run("a.csv", "--angle", "20", "-o", "map.nc").exit_code == 0
    assert he.read("map.nc").known.kind == "cells"
    assert run("a.csv", "--angle", "20", "-o", "map.geojson").exit_code == 0
    with open("map.geojson") as stream:
        assert len(json.load(stream)["features"]) == 2
    refused = run("a.csv", "--angle", "20", "-o", "map.nc")
    assert (refused.exit_code, "add --force" in refused.stderr) == (2, True)


def test_regions_that_are_too_small_are_told(run):
    rng = np.random.default_rng(3)
    both = np.concatenate([rng.normal(scale=scale, size=(150, 2)) for scale in (0.1, 2.0)])
    np.savetxt("b.csv", both, "%.17g", ",", header="a,b", comments="")
    words = ("b.csv", "--columns", "a,b", "--space", "euclidean")
    assert "add --calibrated for one that holds its share" in run(*words).stderr
    assert "--calibrated" not in run(*words, "--time", "0.5").stderr
    result = run(*words, "--calibrated")
    assert "--calibrated" not in result.stderr
    assert [row.split()[-1] for row in result.stdout.splitlines()[4:6]] == ["50", "90"]
    assert "Regions are those of the density at" in result.stdout


def test_a_report_shows_the_density_that_was_asked_for(run):
    assert run("a.csv", "--angle", "20", "--levels", "0.7", "-o", "page.html").exit_code == 0
    with open("page.html", encoding="utf-8") as stream:
        found = json.loads(re.search(r'id="heatess-data">(.*?)</script>', stream.read(), re.DOTALL)[1])
    mass = found["measures"][0]["mass"]
    assert "smoothed at 2,224 km (20°)." in mass["sentence"]
    assert (mass["curve"], mass["regions"]["rows"][0][0]) == (None, pytest.approx(70))


def test_sums_over_parts_have_a_map(run):
    he.Accumulator(max_degree=60).add(CLOUD[:30], frame="icrs").add(CLOUD[30:]).save("state.npz")
    result = run("state.npz", "--angle", "20", "-o", "map.nc")
    assert (result.exit_code, "deg^2" in result.stdout, "held" in result.stdout) == (0, True, False)
    expected = he.density(CLOUD, angle=20).region([0.5, 0.9]).area_in("deg2")
    rows = [row.split() for row in result.stdout.splitlines()[4:6]]
    np.testing.assert_allclose([float(row[2].replace(",", "")) for row in rows], expected, rtol=1e-3)
    refused = run("state.npz", "--angle", "20", "-o", "page.html")
    assert (refused.exit_code, "write a map, such as map.fits" in refused.stderr) == (3, True)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["a.csv", "--levels", "90"], 2, "write for instance 0.5,0.9"),
        (["a.csv", "-o", "map.txt"], 2, "does not end in .fits or .nc"),
        (["a.csv", "--space", "Torus(2)", "--columns", "lon,lat", "--units", "deg", "-o", "map.nc"], 3, "sphere S^2"),
        (["a.csv", "--kind", "complete"], 3, "give the scale as --angle or --time"),
    ],
)
def test_what_cannot_be_done_is_said_in_options(run, words, code, said):
    result = run(*words)
    assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
