"""Numbers such as -999 that stand for a missing one are asked about, and never wrapped, scaled or weighed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.cli import main
from heatess.tables.missing import marks

N = 60


@pytest.fixture
def rng():
    return np.random.default_rng(23)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        result = CliRunner().invoke(main, ["profile", *words, "--angles", "30", "--json", "-"])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


def write(name: str, header: str, columns) -> str:
    rows = np.column_stack(columns).tolist()
    Path(name).write_text("\n".join([header, *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return name


def gess_of(result: Result) -> float:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["gess"][0]


def refused(result: Result) -> str:
    assert result.exit_code == 3, result.output
    return result.stderr.strip().splitlines()[-1]


def advised(sentence: str, first: str = "--missing") -> list[str]:
    return shlex.split(re.split(r" (?:if|for|or|and|to)\b|[;?]|, ", sentence[sentence.index(first) :])[0])


def earth(rng):
    lon, lat = rng.uniform(-180, 180, N), rng.uniform(-80, 80, N)
    return lon, lat, lambda kept: he.gess(he.from_lonlat(lon[kept], lat[kept], units="deg"), angle=30)


@pytest.mark.parametrize("mark", [-999.0, 9999.0, 99999.0, 1e20, -9999.9, -99.0, 2147483647.0, -999.25])
def test_a_number_far_off_is_asked_about_and_left_out_as_advised(run, rng, mark):
    lon, lat, truth = earth(rng)
    bad = np.isin(np.arange(N), [3, 17, 40])
    stored = np.where(bad, mark, lat)
    write("a.csv", "lon,lat", [lon, stored])
    sentence = refused(run("a.csv"))
    number = str(mark).removesuffix(".0")
    assert sentence.startswith(f"heatess: a.csv line 5: column lat is {number}")
    assert "(3 of 60 rows)" in sentence
    result = run("a.csv", *advised(sentence))
    assert gess_of(result) == pytest.approx(truth(~bad), rel=1e-9)
    assert "3 rows without a number dropped" in result.stderr
    with pytest.raises(he.InputError) as caught:
        he.read("a.csv")
    assert f"add missing={number}, drop_missing=True" in str(caught.value)
    assert he.read("a.csv", missing=mark, drop_missing=True).n == N - 3
    with pytest.raises(he.InputError, match=r"column lat has no number \(3 of 60 rows\)"):
        he.read("a.csv", missing=mark)


def test_several_numbers_of_several_columns_are_named_at_once(run, rng):
    lon, lat, truth = earth(rng)
    bad = np.isin(np.arange(N), [3, 17, 40])
    write(
        "a.csv",
        "lon,lat",
        [np.where(np.arange(N) == 3, 9999, lon), np.where(np.isin(np.arange(N), [17, 40]), -999, lat)],
    )
    sentence = refused(run("a.csv"))
    assert "column lon is 9999 and column lat is -999" in sentence
    assert gess_of(run("a.csv", *advised(sentence))) == pytest.approx(truth(~bad), rel=1e-9)


@pytest.mark.parametrize("units", [(), ("--units", "deg")])
@pytest.mark.parametrize("mark", [9999.0, 360.0, -999.0])
def test_torsions_that_are_not_defined_are_not_wrapped(run, rng, mark, units):
    angles = rng.uniform(-180, 180, (N, 2))
    bad = np.arange(N) % 20 == 7
    stored = angles.copy()
    stored[bad, 1] = mark
    write("a.csv", "phi,psi", stored.T)
    sentence = refused(run("a.csv", *units))
    assert f"column psi is {mark:g}, far from all other rows" in sentence
    assert "(3 of 60 rows)" in sentence
    truth = he.gess(np.radians(angles[~bad]), space=he.Torus(2), angle=30)
    assert gess_of(run("a.csv", *units, *advised(sentence))) == pytest.approx(truth, rel=1e-9)
    wrapped = he.gess(stored, space=he.Torus(2, units="deg"), angle=30)
    kept = run("a.csv", *advised(sentence, "--missing none"), "--units", "deg")
    assert gess_of(kept) == pytest.approx(wrapped, rel=1e-9)


def test_a_compass_from_0_to_360_may_have_360():
    angles = np.arange(0, 361, 10.0)
    assert marks(angles, (0.0, 360.0)) == []
    assert he.read({"x": angles}, space="circle", columns="x").n == 37


@pytest.mark.parametrize("turns", [2, 10_000])
def test_headings_of_many_turns_are_taken_when_their_unit_is_said(run, rng, turns):
    headings = np.cumsum(rng.uniform(-40, 400, N) * turns / 30)
    truth = he.gess(np.radians(np.mod(headings, 360)), space=he.Circle(), angle=30)
    assert he.gess(headings, space=he.Circle(units="deg"), angle=30) == pytest.approx(truth, rel=1e-6)
    write("a.csv", "heading", [headings])
    sentence = refused(run("a.csv", "--space", "circle"))
    assert "more than a turn" in sentence
    found = run("a.csv", "--space", "circle", *advised(sentence, "--units deg"))
    assert gess_of(found) == pytest.approx(truth, rel=1e-6)
    assert he.read({"h": [10.0, 300.0, 725.0]}, space="circle", units="deg", columns="h").n == 3


def test_weights_that_stand_for_missing_ones_are_left_out_as_advised(run, rng):
    lon, lat, _ = earth(rng)
    weights = rng.uniform(0, 3, N)
    bad = np.isin(np.arange(N), [3, 17, 40])
    for mark in (-9999.0, -1.0, 99999.0):
        write("a.csv", "lon,lat,weight", [lon, lat, np.where(bad, mark, weights)])
        sentence = refused(run("a.csv"))
        assert "--log-weights" not in sentence
        truth = he.gess(he.from_lonlat(lon[~bad], lat[~bad], units="deg"), weights[~bad], angle=30)
        assert gess_of(run("a.csv", *advised(sentence))) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("mark", [9999.0, 1e20, 9.969209968386869e36])
def test_a_single_weight_that_files_are_filled_with_is_asked_about(run, rng, mark):
    lon, lat, _ = earth(rng)
    weights, kept = rng.uniform(0, 3, N), np.arange(N) != 3
    write("a.csv", "lon,lat,weight", [lon, lat, np.where(kept, weights, mark)])
    truth = he.gess(he.from_lonlat(lon[kept], lat[kept], units="deg"), weights[kept], angle=30)
    assert gess_of(run("a.csv", *advised(refused(run("a.csv"))))) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("large", [99.0, 998.0, 3.7e20])
def test_a_single_large_weight_is_not_asked_about(run, rng, large):
    lon, lat, _ = earth(rng)
    write("a.csv", "lon,lat,weight", [lon, lat, np.where(np.arange(N) == 3, large, 1.0)])
    assert gess_of(run("a.csv")) < 3


def test_vectors_and_positions_are_looked_at_too(rng):
    vectors = he.samplers.uniform(N, rng=rng)
    vectors[4] = -9999
    with pytest.raises(he.InputError, match=r"column x is -9999 and column y is -9999 and column z is -9999"):
        he.read(dict(zip("xyz", vectors.T, strict=True)), normalize=True)
    single = vectors.astype(np.float32)
    single[4] = 1e20
    with pytest.raises(he.InputError, match=r"an entry is 1e\+20.*add missing=1e\+20, drop_missing=True") as caught:
        he.read(single_file(single), normalize=True)
    assert caught.value.row == 4
    assert he.read(single_file(single), normalize=True, missing=1e20, drop_missing=True).n == N - 1


def single_file(array) -> str:
    import tempfile

    path = Path(tempfile.mkdtemp()) / "a.npy"
    np.save(path, array)
    return str(path)


@pytest.mark.parametrize("given", ["many", True, [1, "x"], {"lat": -999}])
def test_what_is_no_number_is_refused(given):
    with pytest.raises(he.InputError, match="missing must be a number, several, or 'none'"):
        he.read({"lon": [1.0], "lat": [2.0]}, missing=given)


def test_the_option_takes_numbers_alone(run):
    Path("a.csv").write_text("lon,lat\n1,2\n")
    result = run("a.csv", "--missing", "x")
    assert result.exit_code == 2
    assert "not a list of numbers; write for instance -999" in result.stderr


def test_places_at_zero_are_asked_about_where_they_are_there_twice(tmp_path):
    """Places that are not known are often written as 0, 0; they were counted as one place of much weight."""
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(-180, 180, 30), rng.uniform(-60, 60, 30)
    lon[4:7] = lat[4:7] = 0
    places = {"lon": lon, "lat": lat}
    with pytest.raises(he.InputError, match=r"row 4 .*lon and lat are both 0.*3 of 30 rows.*missing=0, drop_missing"):
        he.Measure(places)
    assert he.read(places, missing=0, drop_missing=True).n == 27
    assert he.read(places, missing="none").n == 30
    lat[9] = 0  # on the equator, which missing=0 would leave out
    with pytest.raises(he.InputError, match=r"both 0.*; drop those rows, or add missing='none'"):
        he.Measure(places)
    lon[5:7] = 1
    assert he.Measure(places).n == 30  # one place at zero is there to be
