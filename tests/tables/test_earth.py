"""Places on the Earth: scales in kilometres, and places at a depth."""

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

N, RADIUS = 60, 6371.0088


@pytest.fixture
def rng():
    return np.random.default_rng(24)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str, command: str = "profile") -> Result:
        result = CliRunner().invoke(main, [command, *words])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


def quakes(rng):
    """Longitude, latitude and depth in kilometres of a cluster."""
    return rng.normal(143, 2, N), rng.normal(38, 2, N), rng.gamma(2, 20, N)


def write(name: str, header: str, columns) -> str:
    rows = np.column_stack(columns).tolist()
    Path(name).write_text("\n".join([header, *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return name


def by_hand(lon, lat, depth, km: float) -> float:
    """1 / sum of w_i w_j s_t: the overlap on the sphere at the angle km / R, times exp(-dz^2 / km^2) in depth."""
    points = he.from_lonlat(lon, lat, units="deg")
    potential = np.empty((len(lon), len(lon)))
    for row in range(len(lon)):  # overlaps with one atom alone
        one = he.Measure(points[row : row + 1])
        potential[row] = he.potential(one, at=points, angle=np.degrees(km / RADIUS))
    apart = np.asarray(depth)[:, None] - np.asarray(depth)[None]
    return float(1 / np.mean(potential * np.exp(-((apart / km) ** 2))))


def gess_of(result: Result) -> float:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["gess"][0]


def refused(result: Result, code: int = 3) -> str:
    assert result.exit_code == code, result.output
    return result.stderr.strip().splitlines()[-1]


def advised(sentence: str, first: str) -> list[str]:
    return shlex.split(re.split(r" (?:if|for|or|and|to|\(see)\b|[;?]|, ", sentence[sentence.index(first) :])[0])


# At a depth.


@pytest.mark.parametrize(("unit", "factor"), [("km", 1.0), ("m", 1000.0)])
def test_depth_counts_in_kilometres_beside_distance_on_the_surface(run, rng, unit, factor):
    lon, lat, depth = quakes(rng)
    write("a.csv", "lat,lon,depth", [lat, lon, factor * depth])
    sentence = refused(run("a.csv", "--space", "earth3d", "--angles", "100km"))
    assert "column depth may be in kilometres or metres" in sentence
    space = advised(sentence, f"--space earth3d:{unit}")
    found = gess_of(run("a.csv", *space, "--angles", "100km", "--json", "-"))
    assert found == pytest.approx(by_hand(lon, lat, depth, 100), rel=1e-8)
    read = he.read("a.csv", space=f"earth3d:{unit}")
    assert he.gess(read, time=100**2 / 8) == pytest.approx(found, rel=1e-9)
    assert read.about == "earth"
    assert float(read.space.distance(read.points[0], read.points[1])) == pytest.approx(
        np.hypot(RADIUS * he.Sphere(2).distance(*read.points[:2, :3]), depth[0] - depth[1]), rel=1e-9
    )


def test_depths_of_a_known_unit_are_not_taken_in_another(run, rng):
    lon, lat, depth = quakes(rng)
    write("a.csv", "lon,lat,depth_m", [lon, lat, depth])  # a few hundred metres, which could be kilometres
    sentence = refused(run("a.csv", "--space", "earth3d:km", "--angles", "100km"))
    assert "column depth_m is in m by its name or its file, not in km" in sentence
    found = run("a.csv", *advised(sentence, "--space earth3d"), "--angles", "100km", "--json", "-")
    assert gess_of(found) == pytest.approx(by_hand(lon, lat, depth / 1000, 100), rel=1e-8)
    assert gess_of(run("a.csv", "--space", "earth3d:m", "--angles", "100km", "--json", "-")) == gess_of(found)
    value = "<{0}><value>{1}</value></{0}>"
    places = [
        zip(("longitude", "latitude", "depth"), place, strict=True) for place in zip(lon, lat, depth, strict=True)
    ]
    events = "".join(f"<event><origin>{''.join(value.format(*v) for v in place)}</origin></event>" for place in places)
    Path("a.xml").write_text(f"<quakeml><eventParameters>{events}</eventParameters></quakeml>")
    sentence = refused(run("a.xml", "--space", "earth3d:km", "--angles", "100km"))
    found = run("a.xml", *advised(sentence, "--space earth3d"), "--angles", "100km", "--json", "-")
    assert gess_of(found) == pytest.approx(by_hand(lon, lat, depth / 1000, 100), rel=1e-8)


@pytest.mark.parametrize(
    "header", ["lon,lat,depth_km", "Longitude,Latitude,Depth (km)", "lng,lat,depth [km]", "Longitude,Latitude,Depth/km"]
)
def test_a_unit_in_the_name_of_depth_is_used(run, rng, header):
    lon, lat, depth = quakes(rng)
    write("a.csv", header, [lon, lat, depth])
    result = run("a.csv", "--space", "earth3d", "--angles", "100km", "--json", "-")
    assert gess_of(result) == pytest.approx(by_hand(lon, lat, depth, 100), rel=1e-8)
    assert "depth in km" in result.stderr


def test_longitude_latitude_and_depth_are_led_to_the_earth_and_not_to_flat_space(run, rng):
    lon, lat, depth = quakes(rng)
    write("a.csv", "longitude,latitude,depth", [lon, lat, depth])
    sentence = refused(run("a.csv", "--columns", "longitude,latitude,depth", "--angles", "100km"))
    assert "euclidean" not in sentence
    words = advised(sentence, "--space earth3d")
    sentence = refused(run("a.csv", *words, "--angles", "100km"))
    words = [*words[2:], *advised(sentence, "--space earth3d:km")]
    found = gess_of(run("a.csv", *words, "--angles", "100km", "--json", "-"))
    assert found == pytest.approx(by_hand(lon, lat, depth, 100), rel=1e-8)
    assert "depth left out (--space earth3d takes it too)" in run("a.csv", "--angles", "100km").stderr


def test_other_names_of_depth_are_said_by_their_roles(run, rng):
    lon, lat, depth = quakes(rng)
    write("a.csv", "a,b,c", [lon, lat, depth])
    sentence = refused(run("a.csv", "--space", "earth3d:km", "--angles", "100km"))
    assert "--lon LON --lat LAT --depth DEPTH" in sentence
    words = ("a.csv", "--space", "earth3d:km", "--lon", "a", "--lat", "b", "--depth", "c")
    found = gess_of(run(*words, "--angles", "100km", "--json", "-"))
    assert found == pytest.approx(by_hand(lon, lat, depth, 100), rel=1e-8)


def test_metres_said_to_be_kilometres_are_refused(run, rng):
    lon, lat, depth = quakes(rng)
    write("a.csv", "lon,lat,depth", [lon, lat, 1000 * depth])
    sentence = refused(run("a.csv", "--space", "earth3d:km", "--angles", "100km"))
    assert "more than the radius of the Earth" in sentence
    found = run("a.csv", *advised(sentence, "--space earth3d:m"), "--angles", "100km", "--json", "-")
    assert gess_of(found) == pytest.approx(by_hand(lon, lat, depth, 100), rel=1e-8)


def test_a_depth_that_stands_for_a_missing_one_is_asked_about(run, rng):
    lon, lat, depth = quakes(rng)
    depth[7] = -999
    write("a.csv", "lon,lat,depth_km", [lon, lat, depth])
    words = ("a.csv", "--space", "earth3d", "--angles", "100km")
    sentence = refused(run(*words))
    assert "column depth_km is -999" in sentence
    kept = np.arange(N) != 7
    found = gess_of(run(*words, *advised(sentence, "--missing"), "--json", "-"))
    assert found == pytest.approx(by_hand(lon[kept], lat[kept], depth[kept], 100), rel=1e-8)


def test_distances_at_a_depth_are_shown_in_kilometres(run, rng):
    write("a.csv", "lon,lat,depth_km", quakes(rng))
    result = run("a.csv", "--space", "earth3d")
    assert re.search(
        r"distance sqrt\(8 t\) [\d.]+ to [\d.]+ km; choose others with --angles, such as 100km", result.stderr
    )
    assert "At a distance of" in result.stdout
    assert re.search(r"distance +gESS +error\n +km", result.stdout)
    sentence = refused(run("a.csv", "--space", "earth3d", "--angles", "5"), 2)
    assert run("a.csv", "--space", "earth3d", *advised(sentence, "--angles 100km")).exit_code == 0


@pytest.mark.parametrize("space", ["earth3d:miles", "earth3d:", "sphere:km"])
def test_other_units_of_depth_are_refused(space):
    expected = "earth3d:km" if space == "earth3d:miles" else "space must be one of" if space == "sphere:km" else "lat"
    with pytest.raises(he.InputError, match=expected):
        he.read({"lon": [1.0], "depth": [2.0]}, space=space)


# Scales in kilometres.


def test_scales_in_kilometres_are_those_in_degrees(run, rng):
    lon, lat, _ = quakes(rng)
    write("a.csv", "lon,lat", [lon, lat])
    degrees = np.array([100, 1000]) / 111.19508
    truth = he.heat_profile(he.from_lonlat(lon, lat, units="deg"), angles=degrees)
    for words in ("100km,1000km", "100km:1000km:2", "100 km, 1e3km"):
        found = json.loads(run("a.csv", "--angles", words, "--json", "-").stdout)
        np.testing.assert_allclose(found["gess"], truth.gess, rtol=1e-6)
        np.testing.assert_allclose(found["angles"], degrees, rtol=1e-6)
    grid = json.loads(run("a.csv", "--angles", "100km:1000km:3", "--json", "-").stdout)["angles"]
    assert grid[1] == pytest.approx(np.sqrt(degrees.prod()), rel=1e-6)
    at = json.loads(run("a.csv", "--resolutions", "1000km", "--json", "-").stdout)
    assert at["resolutions"] == pytest.approx([degrees[1]], rel=1e-6)
    assert "(1,000 km)" in run("a.csv", "--angles", "1000km").stdout


def test_bounds_and_thinning_take_kilometres(run, rng):
    lon, lat, depth = quakes(rng)
    write("a.csv", "lon,lat,depth_km", [lon, lat, depth])
    gess = he.gess(he.from_lonlat(lon, lat, units="deg"), angle=300 / 111.19508)
    assert run("a.csv", "--angles", "100km", "--fail-under", f"gess@300km={gess - 1e-3}").exit_code == 0
    assert run("a.csv", "--angles", "100km", "--fail-under", f"gess@300km={gess + 1e-3}").exit_code == 4
    deep = by_hand(lon, lat, depth, 300)
    words = ("a.csv", "--space", "earth3d", "--fail-under")
    assert run(*words, f"gess@300km={deep - 1e-3}").exit_code == 0
    assert run(*words, f"gess@300km={deep + 1e-3}").exit_code == 4
    result = run("a.csv", "--size", "9", "--angle", "300km", "-o", "b.csv", command="thin")
    assert "at angle 2.69796 degrees" in result.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("sky.csv", "--angles", "100km"), "kilometres are for places on the Earth"),
        (("sky.csv", "--fail-under", "gess@100km=5"), "kilometres are for places on the Earth"),
        (("flat.csv", "--space", "euclidean", "--angles", "100km"), "give the scale as --times"),
        (("earth.csv", "--angles", "100km,5"), "some scales are in km and others are not"),
        (("earth.csv", "--times", "100km"), "is not a grid"),
        (("earth.csv", "--angles", "kmkm"), "is not a grid"),
    ],
)
def test_kilometres_are_refused_where_they_mean_nothing(run, rng, words, expected):
    lon, lat, _ = quakes(rng)
    write("earth.csv", "lon,lat", [lon, lat])
    write("sky.csv", "ra,dec", [lon, lat])
    write("flat.csv", "x,y,z", [lon, lat, lat])
    assert expected in refused(run(*words), 2)


def test_states_know_no_kilometres(run, rng):
    lon, lat, _ = quakes(rng)
    write("a.csv", "lon,lat", [lon, lat])
    assert run("a.csv", "-o", "s.npz", command="accumulate").exit_code == 0
    assert "give degrees" in refused(run("s.npz", "--angles", "1000km", command="merge"), 2)
    assert "give degrees" in refused(run("a.csv", "-o", "t.npz", "--finest", "100km", command="accumulate"), 2)
