"""Grids of cells: weights are values times areas, whatever the format, and what cannot be told is asked."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import roots_legendre

import heatess as he
from heatess.cli import main
from heatess.tables.areas import latitude_bands, longitude_widths, polygon_areas

xarray = pytest.importorskip("xarray")
h5py = pytest.importorskip("h5py")
pytest.importorskip("h5netcdf")


def centred(n):
    return (np.arange(n) + 0.5) * 180 / n - 90


def around(m, start=0.0):
    return start + np.arange(m) * 360 / m


def constant(lat, lon, **arguments):
    return he.read({"lat": lat, "lon": lon, "f": np.ones((len(lat), len(lon)))}, **arguments)


def volume(measure, angle=20):
    return he.heat_profile(measure, angles=[angle]).volume[0]


GAUSS = np.degrees(np.arcsin(roots_legendre(64)[0]))


# A constant field fills the whole sphere.


@pytest.mark.parametrize(
    ("lat", "lon", "off"),
    [
        (centred(36), around(36), 2e-6),
        (centred(90), around(180), 1e-7),
        (np.linspace(-90, 90, 91), around(180, -180), 1e-7),  # rows at the poles, which have half the height
        (np.linspace(90, -90, 181), np.linspace(0, 360, 181), 1e-8),  # the first meridian twice
        (GAUSS.round(2), around(128), 1e-7),
        (np.sort(np.concatenate([centred(60), centred(60)[20:40] + 1])), around(90), 1e-5),  # steps of two sizes
    ],
)
def test_a_constant_field_fills_the_sphere(lat, lon, off):
    assert volume(constant(lat, lon)) == pytest.approx(1, abs=off)


def test_without_areas_the_poles_weigh_too_much():
    assert volume(constant(centred(36), around(36), area=False)) == pytest.approx(0.7115, abs=1e-4)


@pytest.mark.parametrize("n", [4, 5, 36, 64, 181, 721])
def test_areas_add_up_to_the_sphere(n):
    nodes, weights = roots_legendre(n)
    gauss = np.degrees(np.arcsin(nodes))
    for lat in (centred(n), np.linspace(-90, 90, n), gauss, gauss[::-1].astype(np.float32).astype(float)):
        assert latitude_bands(lat).sizes.sum() == pytest.approx(2, abs=1e-14)
    np.testing.assert_allclose(latitude_bands(gauss[::-1]).sizes, weights[::-1], rtol=1e-12)
    for lon in (
        around(n),
        around(n, -180)[::-1],
        np.append(around(n), 360),
        np.random.default_rng(0).permuted(around(n)),
    ):
        assert longitude_widths(lon).sizes.sum() == pytest.approx(2 * np.pi, rel=1e-14)


def test_weights_are_the_exact_areas_of_cells():
    lat, lon = centred(18), around(24, 7.5)
    found = constant(lat, lon)
    edges = np.radians(np.linspace(-90, 90, 19))
    exact = np.repeat(np.diff(np.sin(edges)) / 2, 24) / 24
    np.testing.assert_allclose(found.weights, exact, rtol=1e-13)
    np.testing.assert_allclose(found.weights, np.repeat(np.cos(np.radians(lat)), 24) / 24 / 11.47, rtol=0.01)
    east, north = np.meshgrid(lon, lat)
    np.testing.assert_allclose(found.points, he.from_lonlat(east.ravel(), north.ravel(), units="deg"), atol=1e-15)


def test_a_region_has_the_areas_of_its_own_cells():
    lat, lon = np.arange(42.5, 80, 5), np.arange(-30, 31, 10.0)
    found = constant(lat, lon)
    bands = np.diff(np.sin(np.radians(np.arange(40, 81, 5))))
    np.testing.assert_allclose(found.weights, np.repeat(bands / bands.sum(), 7) / 7, rtol=1e-12)
    share = bands.sum() / 2 * 70 / 360
    fine = constant(np.arange(40.25, 80, 0.5), np.arange(-34.5, 35, 1))
    assert volume(fine, 1) == pytest.approx(share, rel=0.05)  # at one degree it is hardly smoothed
    assert volume(found) == pytest.approx(volume(fine), rel=0.01)


def test_a_single_cell_is_one_place():
    field = np.zeros((36, 72))
    field[20, 5] = 7.0
    found = he.read({"lat": centred(36), "lon": around(72), "f": field})
    assert found.ess == 1
    assert he.gess(found, angle=20) == pytest.approx(1, rel=1e-10)
    assert volume(found) == pytest.approx(volume(found.points[20 * 72 + 5][None]), rel=1e-10)


# One grid in every format.


def field(lat, lon):
    east, north = np.meshgrid(np.radians(lon), np.radians(lat))
    return 2 + np.cos(north) * np.cos(east - 1) + np.sin(north) ** 2


LAT, LON = centred(18), around(24)
RAIN = field(LAT, LON)


def dataset(lat=LAT, lon=LON, **attrs):
    north, east = {"units": "degrees_north"}, {"units": "degrees_east"}
    coords = {"lat": ("lat", lat, north), "lon": ("lon", lon, east)}
    return xarray.Dataset({"rain": (("lat", "lon"), field(lat, lon))}, coords=coords, attrs=attrs)


def written(folder, how):
    if how == "netcdf 3":
        dataset().to_netcdf(folder / "a.nc", engine="scipy")
    elif how == "netcdf 4":
        dataset().to_netcdf(folder / "a.nc", engine="h5netcdf")
    elif how == "group":
        dataset().to_netcdf(folder / "a.nc", engine="h5netcdf", group="model/run")
    elif how == "hdf5":
        with h5py.File(folder / "a.h5", "w") as root:
            root["sub/lat"], root["sub/lon"], root["sub/rain"] = LAT, LON, RAIN
        return folder / "a.h5"
    elif how == "hdf5 scales":
        dataset().to_netcdf(folder / "a.h5", engine="h5netcdf")
        return folder / "a.h5"
    elif how == "npz":
        np.savez(folder / "a.npz", lat=LAT, lon=LON, rain=RAIN)
        return folder / "a.npz"
    elif how == "json":
        (folder / "a.json").write_text(json.dumps({"lat": LAT.tolist(), "lon": LON.tolist(), "rain": RAIN.tolist()}))
        return folder / "a.json"
    elif how == "dict":
        return {"lat": LAT, "lon": LON, "rain": RAIN}
    elif how == "transposed":
        return {"lat": LAT, "lon": LON, "rain": RAIN.T}
    elif how == "mesh":
        east, north = np.meshgrid(LON, LAT)
        return {"lat": north, "lon": east, "rain": RAIN}
    elif how == "mesh of longitudes first":
        east, north = np.meshgrid(LON, LAT, indexing="ij")
        return {"lat": north, "lon": east, "rain": RAIN.T}
    else:
        return dataset() if how == "dataset" else dataset().rain
    return folder / "a.nc"


FORMATS = ("netcdf 3", "netcdf 4", "group", "hdf5", "hdf5 scales", "npz", "json", "dict", "transposed", "mesh")
FORMATS += ("mesh of longitudes first", "dataset", "data array")


@pytest.mark.parametrize("how", FORMATS)
def test_one_grid_in_every_format_is_one_measure(tmp_path, how):
    found = he.read(written(tmp_path, how))
    bands = np.diff(np.sin(np.radians(np.linspace(-90, 90, 19))))
    exact = RAIN * bands[:, None]
    np.testing.assert_allclose(found.weights, (exact / exact.sum()).ravel(), rtol=1e-13)
    east, north = np.meshgrid(LON, LAT)
    np.testing.assert_allclose(found.points, he.from_lonlat(east.ravel(), north.ravel(), units="deg"), atol=1e-15)
    words = "432 cells from lat x lon (18 x 24, 10 x 15 degrees); weight is rain times the area of its cell"
    assert found.origin.description == words
    assert found.known.kind == "cells"
    assert found.known.frame == "geographic"
    largest = np.sin(np.radians(10)) * np.radians(15)
    assert found.known.cell == pytest.approx(np.degrees(np.sqrt(largest)), rel=1e-12)


def test_data_frames_need_no_read():
    expected = he.gess(he.read(dataset()), angle=20)
    assert he.gess(dataset(), angle=20) == expected == he.gess(dataset().rain, angle=20)
    assert he.gess({"lat": LAT, "lon": LON, "f": RAIN}, angle=20) == expected


@pytest.mark.parametrize(
    ("lat", "lon"),
    [
        (LAT[::-1], LON),
        (LAT, LON - 180),
        (LAT, LON[::-1]),
        (LAT, np.mod(LON + 200, 360)),
        (LAT, LON + 360),
        (LAT, np.append(LON, 360)),
        (np.random.default_rng(1).permuted(LAT), np.random.default_rng(2).permuted(LON)),
    ],
)
def test_neither_the_order_nor_the_range_of_axes_matters(lat, lon):
    expected = he.gess(dataset(), angle=20)
    wanted = 1e-4 if len(lon) == 24 and not np.isclose(np.mod(lon, 15), 0).all() else 1e-10
    assert he.gess(dataset(lat, lon), angle=20) == pytest.approx(expected, rel=wanted)


def test_square_grids_are_grids_and_not_their_diagonal(tmp_path):
    square = {"lat": centred(36), "lon": around(36), "f": field(centred(36), around(36))}
    assert he.read(square).n == 1296
    np.savez(tmp_path / "a.npz", **square)
    assert he.read(tmp_path / "a.npz").n == 1296
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name, values in square.items():
            root[name] = values
    assert he.read(tmp_path / "a.h5").n == 1296
    (tmp_path / "a.json").write_text(json.dumps({name: values.tolist() for name, values in square.items()}))
    assert he.read(tmp_path / "a.json").n == 1296


# What attributes say.


@pytest.mark.parametrize("engine", ["scipy", "h5netcdf", None])
def test_bounds_are_used_where_there_are_some(tmp_path, engine):
    edges = np.array([-90, -45, 0, 10, 90.0])
    lat = np.array([-60, -20, 5, 40.0])
    data = dataset(lat, around(6))
    data["lat"].attrs["bounds"] = "lat_bnds"
    data["lat_bnds"] = (("lat", "nv"), np.column_stack([edges[:-1], edges[1:]]))
    if engine:
        data.to_netcdf(tmp_path / "a.nc", engine=engine)
    found = he.read(tmp_path / "a.nc" if engine else data)
    exact = field(lat, around(6)) * np.diff(np.sin(np.radians(edges)))[:, None]
    np.testing.assert_allclose(found.weights, (exact / exact.sum()).ravel(), rtol=1e-12)


@pytest.mark.parametrize("engine", ["scipy", "h5netcdf"])
@pytest.mark.parametrize("packed", [{}, {"dtype": "int16", "scale_factor": 0.5, "add_offset": 100.0}])
def test_cells_without_a_value_are_left_out_and_counted(tmp_path, engine, packed):
    data = dataset()
    data["rain"].values[:] = np.arange(432).reshape(18, 24) / 2
    data["rain"].values[3:5, 2:7] = np.nan
    data.to_netcdf(tmp_path / "a.nc", engine=engine, encoding={"rain": {"_FillValue": -999, **packed}})
    found, expected = he.read(tmp_path / "a.nc"), he.read(data)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6)
    np.testing.assert_array_equal(found.points, expected.points)
    assert found.n == 422
    assert found.origin.dropped == 10
    assert found.origin.description.endswith("; 10 cells without a value left out")


def test_values_that_were_never_written_or_are_not_valid_are_no_values(tmp_path):
    data = dataset()
    data["rain"].values[0, 0], data["rain"].values[1, 1] = 9.969209968386869e36, 77.0
    data["rain"].attrs["valid_range"] = np.array([0.0, 50.0])
    for engine in ("scipy", "h5netcdf"):
        data.to_netcdf(tmp_path / "a.nc", engine=engine, encoding={"rain": {"_FillValue": None}})
        assert he.read(tmp_path / "a.nc").origin.dropped == 2


def test_names_and_units_of_cf_are_known(tmp_path):
    data = dataset().rename(lat="y", lon="x")
    assert he.gess(data, angle=20) == he.gess(dataset(), angle=20)
    named = {"y": {"standard_name": "latitude"}, "x": {"standard_name": "longitude", "units": "degrees"}}
    for name, attrs in named.items():
        data[name].attrs = attrs
    assert he.gess(data, angle=20) == he.gess(dataset(), angle=20)
    for name, axis in (("y", "Y"), ("x", "X")):
        data[name].attrs = {"axis": axis, "units": "degrees"}
    assert he.gess(data, angle=20) == he.gess(dataset(), angle=20)
    radians = data.assign_coords(y=np.radians(LAT), x=np.radians(LON))
    for name, standard in (("y", "latitude"), ("x", "longitude")):
        radians[name].attrs = {"standard_name": standard, "units": "radians"}
    assert he.gess(radians, angle=20) == pytest.approx(he.gess(dataset(), angle=20), rel=1e-12)


def test_a_grid_of_the_sky_has_its_frame():
    found = he.read({"ra": LON, "dec": LAT, "f": RAIN})
    assert found.known.frame == "icrs"
    assert found.origin.about == "sky"
    assert he.read({"glon": LON, "glat": LAT, "f": RAIN}).known.frame == "galactic"
    assert he.read({"ra": LON, "dec": LAT, "f": RAIN}, frame="ecliptic").known.frame == "ecliptic"


# Cells that lie anyhow.


def turned_pole(n=18, m=24):
    """A grid over the whole sphere whose pole is turned away, and the true places of its cells."""
    lat, lon = centred(n), around(m)
    east, north = np.meshgrid(lon, lat)
    vectors = he.from_lonlat(east.ravel(), north.ravel(), units="deg")
    angle = np.radians(51)
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    x, y, z = (vectors @ turn.T).T
    dims = ("rlat", "rlon")
    data = xarray.Dataset({"f": (dims, np.ones((n, m)))}, coords={"rlat": lat, "rlon": lon})
    data["rlat"].attrs, data["rlon"].attrs = {"standard_name": "grid_latitude"}, {"standard_name": "grid_longitude"}
    places = {"lat": np.degrees(np.arcsin(z)), "lon": np.degrees(np.arctan2(y, x))}
    for name, units in (("lat", "degrees_north"), ("lon", "degrees_east")):
        data = data.assign_coords({name: (dims, places[name].reshape(n, m), {"units": units})})
    return data, turn


@pytest.mark.parametrize("engine", ["scipy", "h5netcdf", None])
def test_a_turned_pole_leaves_areas_as_they_are(tmp_path, engine):
    data, _ = turned_pole(36, 36)
    if engine:
        data.to_netcdf(tmp_path / "a.nc", engine=engine)
    found = he.read(tmp_path / "a.nc" if engine else data)
    assert volume(found) == pytest.approx(1, abs=2e-6)
    assert "f times the area of its cell" in found.origin.description
    lon, lat = (data[name].values.ravel() for name in ("lon", "lat"))
    np.testing.assert_allclose(found.points, he.from_lonlat(lon, lat, units="deg"), atol=1e-15)


def with_corners(data, turn):
    """The same without the turned axes, but with the corners of each cell."""
    n, m = data.f.shape
    corners = []
    for down, right in ((0, 0), (0, 1), (1, 1), (1, 0)):
        east, north = np.meshgrid(around(m) - 180 / m + right * 360 / m, np.linspace(-90, 90, n + 1)[down : down + n])
        corners.append(he.from_lonlat(np.mod(east, 360).ravel(), north.ravel(), units="deg") @ turn.T)
    x, y, z = np.stack(corners, axis=1).transpose(2, 0, 1)
    bare = data.drop_vars(["rlat", "rlon"]).rename(rlat="j", rlon="i")
    bare["lat"].attrs["bounds"], bare["lon"].attrs["bounds"] = "lat_c", "lon_c"
    bare["lat_c"] = (("j", "i", "corner"), np.degrees(np.arcsin(np.clip(z, -1, 1))).reshape(n, m, 4))
    bare["lon_c"] = (("j", "i", "corner"), np.degrees(np.arctan2(y, x)).reshape(n, m, 4))
    return bare


def test_corners_of_cells_give_their_areas():
    data, turn = turned_pole(36, 72)
    bare = with_corners(data, turn)
    found = he.read(bare)
    assert "times the area between the corners of its cell" in found.origin.description
    assert volume(found) == pytest.approx(1, abs=1e-4)  # edges are great circles, not the parallels of the turned pole
    lon, lat = (bare[name].values.reshape(-1, 4) for name in ("lon_c", "lat_c"))
    assert polygon_areas(lon, lat).sum() == pytest.approx(4 * np.pi, rel=1e-12)


def test_areas_in_the_file_are_used_or_asked_for(tmp_path, run):
    data, _ = turned_pole()
    bare = data.drop_vars(["rlat", "rlon"]).rename(rlat="j", rlon="i")
    bare.to_netcdf(tmp_path / "bare.nc", engine="h5netcdf")
    message = refused(
        run("profile", "bare.nc", "--angles", "20"), "nothing tells the areas", "or say --no-area if f is"
    )
    assert "add a variable cell_area" in message
    assert ok(run("profile", "bare.nc", "--angles", "20", "--no-area"))["volume"][0] < 0.9
    areas = np.repeat(np.diff(np.sin(np.radians(np.linspace(-90, 90, 19)))), 24).reshape(18, 24)
    bare["cell_area"] = (("j", "i"), areas * 6.371e6**2, {"units": "m2"})
    assert volume(he.read(bare)) == pytest.approx(1, abs=1e-4)
    named = bare.rename(cell_area="size_of_cells")
    named["f"].attrs["cell_measures"] = "area: size_of_cells"
    assert volume(he.read(named)) == pytest.approx(1, abs=1e-4)
    assert "weight is f times size_of_cells" in he.read(named).origin.description
    named["size_of_cells"].values[0, 0] = 0
    with pytest.raises(he.InputError, match="size_of_cells must be the area of each cell, but 1 cells with a value"):
        he.read(named)


def test_the_faces_of_a_mesh_are_cells():
    """A cube blown up to the sphere, by the conventions of UGRID."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / np.sqrt(3)
    faces = np.array([[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]])
    centre = corners[faces].mean(axis=1)
    data = xarray.Dataset({"f": ("face", np.arange(1.0, 7), {"mesh": "cube", "location": "face"})})
    for name, xyz, dim in (("node", corners, "node"), ("face", centre, "face")):
        x, y, z = (xyz / np.linalg.norm(xyz, axis=1, keepdims=True)).T
        data[f"{name}_lat"] = (dim, np.degrees(np.arcsin(z)), {"units": "degrees_north"})
        data[f"{name}_lon"] = (dim, np.degrees(np.arctan2(y, x)), {"units": "degrees_east"})
    data["nodes"] = (("face", "four"), faces + 1, {"start_index": 1})
    mesh = {"cf_role": "mesh_topology", "face_node_connectivity": "nodes", "node_coordinates": "node_lon node_lat"}
    data["cube"] = ((), 0, mesh)
    found = he.read(data)
    np.testing.assert_allclose(found.weights, np.arange(1, 7) / 21, rtol=1e-12)
    assert found.known.cell == pytest.approx(np.degrees(np.sqrt(4 * np.pi / 6)))


# Choices: followed as the message says them.


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, [*words, *(["--json"] if words[0] == "profile" else [])])


def refused(result, *parts):
    assert result.exit_code in (2, 3), result.output
    sentence = result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.output
    for part in parts:
        assert part in sentence, sentence
    return sentence


def ok(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def months():
    """Two fields, of which one has months and levels."""
    data = dataset().rename(rain="rest")
    time = np.array(["1995-01-16", "1995-02-15", "1995-03-16"], dtype="datetime64[ns]")
    values = np.arange(1.0, 7).reshape(3, 2, 1, 1) + RAIN
    data["rain"] = (("time", "level", "lat", "lon"), values)
    return data.assign_coords(time=time, level=("level", [850, 500], {"units": "hPa"}))


@pytest.mark.parametrize("engine", ["scipy", "h5netcdf"])
def test_every_message_leads_one_step_further(run, engine):
    months().to_netcdf("a.nc", engine=engine)
    command = ["profile", "a.nc", "--angles", "20"]
    asked = refused(
        run(*command), "a.nc has 2 variables on its grid: rest (lat 18, lon 24); rain (time 3, level 2, lat"
    )
    assert asked.endswith("choose with --weights rest or --weights rain")
    command += ["--weights", "rain"]
    asked = refused(run(*command), "3 steps along time (1995-01-16 to 1995-03-16) and 2 steps along level (850 to 500")
    command += shlex.split(re.search(r"choose one with (.*), which counts from 0", asked)[1])
    assert command[-4:] == ["--select", "time=0", "--select", "level=0"]
    found = ok(run(*command))
    assert found["gess"][0] == pytest.approx(he.gess({"lat": LAT, "lon": LON, "f": RAIN + 1}, angle=20), rel=1e-12)
    named = [*command[:-4], "--select", "time=1995-03", "--select", "level=500.0"]
    expected = he.gess({"lat": LAT, "lon": LON, "f": RAIN + 6}, angle=20)
    assert ok(run(*named))["gess"][0] == pytest.approx(expected, rel=1e-12)
    hint = refused(run(*command[:-1], "level=500"), "level has 2 steps, 0 to 1, but 500 was selected")
    assert hint.endswith("level is 500 at --select level=1")
    refused(run(*command[:-1], "height=1"), "has no axis 'height'; it has", "time (3 steps)")
    refused(run(*command[:-1], "level=70.5"), "no step of level is '70.5'; they run from 850 to 500", "0 to 1")
    refused(run(*command[:-4], "--select", "time=1995", "--select", "level=0"), "time has 3 steps, 0 to 2, but 1995")
    refused(run(*command[:-4], "--select", "time"), "'time' is not one step of one axis; write AXIS=STEP")


def test_the_same_choices_in_python():
    described = he.read(months(), weights="rain", select={"time": -1, "level": "500"}).origin.description
    assert described.endswith("weight is rain times the area of its cell at time 2 (1995-03-16), level 1 (500)")
    with pytest.raises(
        he.InputError, match=r"3 steps of time are '1995-0': 0 \(1995-01-16\), 1 .*; select one by number"
    ):
        he.read(months(), weights="rain", select={"time": "1995-0"})
    with pytest.raises(
        he.InputError, match=r"choose one with select=\{'time': 0, 'level': 0\}.* as an argument of heat"
    ):
        he.gess(months(), "rain", angle=20)
    with pytest.raises(he.InputError, match=r"has no variable 'snow' \(it has rest"):
        he.read(months(), weights="snow")
    with pytest.raises(he.InputError, match="a grid, whose weights are one of its variables"):
        he.read(dataset(), weights=np.ones(432))
    with pytest.raises(he.InputError, match=r"axes and steps, such as \{'time': 0\}, but has 'time': None"):
        he.read(months(), select={"time": None})
    with pytest.raises(he.InputError, match="whose cells lie on the sphere; leave out space="):
        he.read(dataset(), space="torus")


def test_arguments_of_grids_are_refused_elsewhere(run, tmp_path):
    (tmp_path / "a.csv").write_text("lon,lat\n10,20\n50,60\n")
    refused(
        run("profile", "a.csv", "--select", "time=0"), "no grid, so there is no axis to select from; leave out --select"
    )
    refused(run("profile", "a.csv", "--no-area"), "is no grid, so there is no area of cells; leave out --no-area")
    assert run("profile", "a.csv").exit_code == 0


def test_values_of_both_signs_are_no_weights(run):
    data = dataset()
    data["rain"] = data["rain"] - 2.5
    data.to_netcdf("a.nc", engine="scipy")
    asked = refused(run("profile", "a.nc", "--angles", "20"), "rain is -", "at lat -", "of 432 cells)", "not negative")
    assert "give --log-weights rain; if it has both signs" in asked
    assert "numpy.maximum(rain, 0) in Python or numpy.abs(rain)" in asked
    logs = ok(run("profile", "a.nc", "--angles", "20", "--log-weights", "rain"))["gess"][0]
    assert logs == pytest.approx(he.gess(np.exp(data), angle=20), rel=1e-10)
    np.abs(data).to_netcdf("b.nc", engine="scipy")
    assert ok(run("profile", "b.nc", "--angles", "20"))["gess"][0] > 1


def test_a_mark_for_no_value_is_asked_about(run):
    data = dataset()
    data["rain"].values[:3] = -99
    data.to_netcdf("a.nc", engine="h5netcdf")
    refused(run("profile", "a.nc"), "rain is -99 at lat -85", "if -99 stands for no value, add --missing -99;")
    assert "72 cells without a value left out" in run("inspect", "a.nc", "--missing", "-99").output
    data["rain"].values[:3] = 9999  # which is no negative weight, and weighed all
    data.to_netcdf("b.nc", engine="h5netcdf")
    refused(run("profile", "b.nc"), "rain is 9999 at lat -85", "add --missing 9999 to leave those cells out, or")
    left = he.read("b.nc", missing=9999)
    data["rain"].values[:3] = np.nan
    data.to_netcdf("c.nc", engine="h5netcdf")
    np.testing.assert_array_equal(left.weights, he.read("c.nc").weights)
    assert he.read("b.nc", missing="none").n == 432
    data["rain"].where(data["rain"] > 0).to_netcdf("b.nc", engine="h5netcdf")
    assert he.read("b.nc").origin.dropped == 72
    data["rain"].values[:3] = np.inf
    with pytest.raises(he.InputError, match=r"rain is inf .*make those nan"):
        he.read(data)


def test_degrees_and_radians_are_never_guessed(run):
    small = {"lat": np.array([0.1, 0.2]), "lon": np.array([1.0, 1.1, 1.2]), "f": np.ones((2, 3))}
    np.savez("a.npz", **small)
    refused(run("profile", "a.npz"), "lon, lat reach no further than 1.2, 0.2", "add --units deg or --units rad")
    radians = ok(run("profile", "a.npz", "--units", "rad", "--angles", "20"))["gess"][0]
    degrees = {"lat": np.degrees(small["lat"]), "lon": np.degrees(small["lon"]), "f": small["f"]}
    assert radians == pytest.approx(he.gess(he.read(degrees), angle=20), rel=1e-9)
    with pytest.raises(he.InputError, match="which could be hours; multiply it by 15"):
        he.read({"ra": np.arange(24.0), "dec": np.arange(-80, 81, 20.0), "f": np.ones((9, 24))})


def test_other_names_are_said(run):
    data = dataset().rename(lat="north", lon="east")
    for name in ("north", "east"):
        data[name].attrs = {}
    data.to_netcdf("a.nc", engine="h5netcdf")
    asked = refused(
        run("profile", "a.nc"), "no variables known to be latitude and longitude; name them with --lon A --lat B"
    )
    assert "rain (north 18, east 24)" in asked
    found = ok(run("profile", "a.nc", "--lon", "east", "--lat", "north", "--angles", "20"))
    assert found["gess"][0] == pytest.approx(he.gess(dataset(), angle=20), rel=1e-12)
    refused(run("profile", "a.nc", "--lon", "east", "--lat", "rain"), "do not place the cells of one grid")
    refused(run("profile", "a.nc", "--lon", "easy", "--lat", "north"), "no variable 'easy'", "did you mean 'east'?")
    refused(run("profile", "a.nc", "--columns", "east,north"), "names the longitude and the latitude: --lon A --lat B")


def test_lengths_of_a_projection_are_refused(run):
    data = dataset().rename(lat="y", lon="x")
    data = data.assign_coords(x=np.arange(24) * 1e4, y=np.arange(18) * 1e4)
    for name in ("x", "y"):
        data[name].attrs = {"units": "m", "standard_name": f"projection_{name}_coordinate"}
    data.to_netcdf("a.nc", engine="scipy")
    asked = refused(run("profile", "a.nc"), "x, y are lengths on a map projection", "data.rio.reproject('EPSG:4326')")
    assert "add arrays lon and lat along y, x" in asked
    refused(
        run("profile", "a.nc", "--lon", "x", "--lat", "y"), "y reaches 170000, but latitudes lie between -90 and 90"
    )
    east, north = np.meshgrid(np.linspace(0, 20, 24), np.linspace(40, 50, 18))
    data["lon"], data["lat"] = (("y", "x"), east + north / 50), (("y", "x"), north + east / 50)
    refused(CliRunner().invoke(main, ["inspect", "a.nc"]), "lengths on a map projection")
    with pytest.raises(he.InputError, match="nothing tells the areas"):
        he.read(data)
    assert he.read(data, area=False).n == 432


@pytest.mark.parametrize("shape", [(18, 18, 18), (18, 24, 18)])
def test_axes_without_names_are_never_guessed(shape, tmp_path):
    lat, lon, f = LAT, LON[: shape[1]], np.ones(shape)
    np.savez(tmp_path / "a.npz", lat=lat, lon=lon, f=f)
    for source in ({"lat": lat, "lon": lon, "f": f}, tmp_path / "a.npz"):
        with pytest.raises(he.InputError, match=r"may be more than one pair of axes; name them: (.*)") as caught:
            he.read(source)
    if shape[1] == 18:
        named = eval(str(caught.value).partition("name them: ")[2], {"xarray": xarray, "f": f, "lat": lat, "lon": lon})
        assert he.read(named, select={"time": 0}).n == 324


def test_coordinates_that_move_are_chosen_at_one_step():
    data, _ = turned_pole()
    moving = xarray.concat([data, data], "step").drop_vars(["rlat", "rlon"])
    for name in ("lat", "lon"):
        moving[name] = moving[name].expand_dims(step=2) if "step" not in moving[name].dims else moving[name]
    with pytest.raises(he.InputError, match=r"lat, lon have 3 axes, step, rlat, rlon, .* with select=\{'step': 0\}"):
        he.read(moving, area=False)
    assert he.read(moving, area=False, select={"step": 0}).n == 432


# Points that are no grid.


@pytest.mark.parametrize("engine", ["scipy", "h5netcdf", None])
@pytest.mark.parametrize("feature", ["timeSeries", ""])
def test_stations_are_points(tmp_path, engine, feature):
    lon, lat = np.array([10.0, 50, 200, 300]), np.array([20.0, -50, 60, 80])
    data = xarray.Dataset(
        {"t": (("station", "time"), np.ones((4, 5))), "height": ("station", np.arange(4.0))},
        coords={
            "lat": ("station", lat, {"units": "degrees_north"}),
            "lon": ("station", lon, {"units": "degrees_east"}),
        },
        attrs={"featureType": feature} if feature else {},
    )
    if engine:
        data.to_netcdf(tmp_path / "a.nc", engine=engine)
    found = he.read(tmp_path / "a.nc" if engine else data)
    np.testing.assert_allclose(found.points, he.from_lonlat(lon, lat, units="deg"), atol=1e-15)
    assert found.known.kind is None
    assert found.origin.description.startswith("4 points from lon, lat (degrees)")
    weighted = he.read(tmp_path / "a.nc" if engine else data, weights="height")
    np.testing.assert_allclose(weighted.weights, np.arange(4) / 6)


def test_a_trajectory_is_one_and_not_a_grid(tmp_path):
    lon, lat = np.linspace(0, 40, 6).reshape(2, 3), np.linspace(-20, 20, 6).reshape(2, 3)
    dims = ("trajectory", "obs")
    data = xarray.Dataset(
        {"lat": (dims, lat), "lon": (dims, lon), "t": (dims, lon)}, attrs={"featureType": "trajectory"}
    )
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    found = he.read(tmp_path / "a.nc", units="deg")
    assert found.n == 6
    assert found.known.kind == "trajectory"


def test_tables_of_points_stay_tables():
    table = {"lat": [10.0, 20, 30], "lon": [40.0, 50, 60], "city": ["a", "b", "c"]}
    assert he.read(table).n == 3
    assert he.read({**table, "spectrum": np.ones((3, 5))}).n == 3
    frame = xarray.Dataset({"x": ("n", [1.0, 0]), "y": ("n", [0, 1.0]), "z": ("n", [0, 0.0])})
    assert he.read(frame).n == 2


def test_a_long_table_of_all_cells_says_that_areas_are_not_in_its_weights(tmp_path):
    frame = dataset().to_dataframe().reset_index()
    frame.to_csv(tmp_path / "a.csv", index=False)
    for source in (frame, tmp_path / "a.csv"):
        words = he.read(source, weights="rain").origin.description
        assert "rows are all cells of a grid (18 x 24), weighted without their areas" in words
    assert "all cells" not in he.read(frame).origin.description
    assert "all cells" not in he.read(frame[1:], weights="rain").origin.description
    frame["rain"] *= np.cos(np.radians(frame["lat"]))  # as the note says
    assert he.gess(he.read(frame, weights="rain"), angle=20) == pytest.approx(he.gess(dataset(), angle=20), rel=1e-3)


def test_points_in_netcdf_need_no_grid(tmp_path):
    data = xarray.Dataset({"ra": ("n", [10.0, 200, 350]), "dec": ("n", [-20.0, 30, 80]), "mass": ("n", [1.0, 2, 3])})
    data.to_netcdf(tmp_path / "a.nc", engine="scipy")
    found = he.read(tmp_path / "a.nc", weights="mass")
    assert found.known.frame == "icrs"
    np.testing.assert_allclose(found.weights, np.arange(1, 4) / 6)


@pytest.mark.parametrize("engine", ["scipy", "h5netcdf", None])
def test_draws_stay_draws_and_say_their_chains(tmp_path, engine):
    rng = np.random.default_rng(0)
    direction = he.samplers.uniform(60, rng=rng).reshape(3, 20, 3)
    data = xarray.Dataset({"direction": (("chain", "draw", "axis"), direction)})
    if engine:
        data.to_netcdf(tmp_path / "a.nc", engine=engine)
    found = he.read(tmp_path / "a.nc" if engine else data)
    np.testing.assert_allclose(found.points, direction.reshape(-1, 3), atol=1e-15)
    assert (found.known.kind, found.known.chains) == ("chains", 3)


def test_draws_of_a_prior_are_independent(tmp_path):
    data = xarray.Dataset({"direction": (("chain", "draw", "axis"), he.samplers.uniform(60, rng=0).reshape(1, 60, 3))})
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", group="prior")
    assert he.read(tmp_path / "a.nc").known.kind == "draws"
    stacked = data.stack(sample=("chain", "draw"))
    assert he.read(stacked).known.kind == "chains"  # whichever group it was


def test_posterior_samples_in_hdf5_are_draws(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["run/posterior_samples/ra"], root["run/posterior_samples/dec"] = np.ones(9), np.linspace(0, 1, 9)
    assert he.read(tmp_path / "a.h5").known.kind == "draws"


# The command line.


def test_inspect_shows_variables_with_their_axes(run):
    months().to_netcdf("a.nc", engine="h5netcdf")
    text = CliRunner().invoke(main, ["inspect", "a.nc", "--weights", "rest"]).output
    assert "a.nc: 6 variables, NetCDF" in text
    assert re.search(r"rain +time 3, level 2, lat 18, lon 24 +\d", text)
    assert "432 cells from lat x lon (18 x 24, 10 x 15 degrees); weight is rest times the area of its cell" in text
    assert "known: cells of 12.2 degrees, a map or grid; frame geographic" in text


def test_thin_writes_the_cells_that_it_keeps(run, tmp_path):
    data = dataset()
    data["rain"].values[:, 4] = np.nan
    data.to_netcdf("a.nc", engine="h5netcdf")
    result = CliRunner().invoke(main, ["thin", "a.nc", "--size", "20", "--angle", "30", "-o", "b.csv"])
    assert result.exit_code == 0, result.output
    kept = np.genfromtxt("b.csv", delimiter=",", names=True)
    assert len(kept) == 20
    assert set(kept["lat"]) <= set(LAT)
    assert set(kept["lon"]) <= set(np.delete(LON, 4))


def test_grids_are_accumulated(run):
    dataset().to_netcdf("a.nc", engine="h5netcdf")
    assert run("accumulate", "a.nc", "-o", "s.npz", "--max-degree", "60").exit_code == 0
    found = ok(CliRunner().invoke(main, ["merge", "s.npz", "--angles", "20", "--json", "-"]))
    assert found["gess"][0] == pytest.approx(he.gess(dataset(), angle=20), rel=1e-8)


def test_damaged_files_are_refused(tmp_path):
    months().to_netcdf(tmp_path / "a.nc", engine="scipy")
    whole = (tmp_path / "a.nc").read_bytes()
    rng = np.random.default_rng(3)
    for cut in (5, 60, 300, len(whole) // 2):
        (tmp_path / "b.nc").write_bytes(whole[:cut])
        with pytest.raises(he.InputError):
            he.read(tmp_path / "b.nc", weights="rest")
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.integers(0, 900)] ^= 1 << rng.integers(8)
        (tmp_path / "b.nc").write_bytes(damaged)
        with contextlib.suppress(he.InputError):
            assert he.read(tmp_path / "b.nc", weights="rest").n
    (tmp_path / "c.nc").write_bytes(b"CDF\x05" + whole[4:])
    with pytest.raises(he.InputError, match=r"CDF-5, which is not read; write it as NetCDF 4: nccopy -k nc4"):
        he.read(tmp_path / "c.nc")


def test_xarray_is_not_imported_to_read_a_grid(tmp_path):
    dataset().to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    code = (
        "import sys, heatess as he\n"
        f"he.read({str(tmp_path / 'a.nc')!r}), he.read({{'lat': [0, 30], 'lon': [0, 60, 120], 'f': [[1, 2, 3]] * 2}})\n"
        "print([name for name in ('xarray', 'netCDF4', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
