"""Maps of densities are read back by others, and contours are valid wherever the mass is."""

from __future__ import annotations

import json

import numpy as np
import pytest

import heatess as he
import meshes

POLE = [[0.0, 0, 1], [0, 0.1, np.sqrt(0.99)]]
DATE_LINE = [[-1.0, 0, 0], [-np.cos(0.3), np.sin(0.3), 0]]
RING = np.stack([np.cos(np.arange(60) / 60 * 2 * np.pi), np.sin(np.arange(60) / 60 * 2 * np.pi), np.zeros(60)], axis=1)
CLOUDS = {"pole": POLE, "date line": DATE_LINE, "ring": RING, "south": np.negative(POLE)}


@pytest.fixture(scope="module")
def law():
    return he.density(he.Measure(POLE, frame="icrs"), angle=30)


def test_a_healpix_map_has_the_density_at_its_centres(law):
    pytest.importorskip("astropy_healpix")
    from astropy_healpix import healpix_to_xyz

    for order in ("ring", "nested"):
        centres = np.stack(healpix_to_xyz(np.arange(768), 8, order=order), axis=1)
        np.testing.assert_allclose(law.healpix(8, order=order), law.at(centres), atol=law.error)
    assert law.healpix(32).mean() == pytest.approx(1, abs=1e-3)
    assert he.from_healpix(law.healpix(16), order="ring").n == 3072


def test_a_grid_has_the_density_at_the_centres_of_its_cells(law):
    found = law.grid(6)
    assert found.values.shape == (30, 60)
    where = he.from_lonlat(found.lon[7:8], found.lat[28:29], units="deg")
    assert found.values[28, 7] == pytest.approx(law.at(where)[0], abs=law.error)
    areas = np.cos(np.radians(found.lat))[:, None] * np.ones(60)
    assert (found.values * areas).sum() / areas.sum() == pytest.approx(1, abs=1e-2)


def test_files_are_read_back(law, tmp_path):
    pytest.importorskip("astropy")
    from astropy.table import Table
    from astropy_healpix import healpix_to_xyz, uniq_to_level_ipix

    path = law.save(tmp_path / "map.fits")
    table = Table.read(path)
    assert table.meta["COORDSYS"] == "C"
    assert table["PROBDENSITY"].unit == "1 / sr"
    levels, numbers = uniq_to_level_ipix(np.asarray(table["UNIQ"], dtype=np.int64))
    areas = np.pi / 3 / 4.0**levels
    assert (levels.max(), levels.min()) == (table.meta["MOCORDER"], 3)
    assert areas.sum() == pytest.approx(4 * np.pi, rel=1e-12)  # all of the sphere, once
    assert table["PROBDENSITY"] @ areas == pytest.approx(1, rel=1e-12)
    centres = np.stack(healpix_to_xyz(numbers, 2**levels, order="nested"), axis=1)
    np.testing.assert_allclose(table["PROBDENSITY"], law.per_area(centres, "sr"), rtol=2e-3, atol=law.error)
    again = he.read(path)
    assert (again.n, again.known.frame) == (len(table), "icrs")
    grid = he.read(law.save(tmp_path / "map.nc"))
    assert again.space == grid.space
    np.testing.assert_allclose(grid.weights @ grid.points, again.weights @ again.points, atol=2e-3)
    with pytest.raises(FileExistsError):
        law.save(tmp_path / "map.nc")
    law.save(tmp_path / "map.nc", replace=True)
    with pytest.raises(he.InputError, match="the suffix of path must be one of"):
        law.save(tmp_path / "map.txt")


def test_a_narrow_density_has_a_map_of_few_pixels_that_misses_nothing():
    """Two narrow clusters, one of them light and far from any centre of a coarse pixel; a map of one order has 2^28."""
    pytest.importorskip("astropy_healpix")
    from heatess.densities.maps import multi_order

    law = he.density([[0.6, 0, 0.8], [0.36, -0.48, -0.8]], [0.999, 0.001], angle=0.02)
    found = multi_order(law)
    assert len(found.uniq) < 50_000
    assert found.values @ (1 / (12 * 4.0**found.orders)) == pytest.approx(1, rel=2e-3)


@pytest.mark.filterwarnings("default::PendingDeprecationWarning")  # of rasterio's own
def test_a_geotiff_is_read_back(law, tmp_path):
    rasterio = pytest.importorskip("rasterio")
    with rasterio.open(law.save(tmp_path / "map.tif")) as file:
        assert (file.crs.to_epsg(), file.bounds) == (4326, (-180, -90, 180, 90))
        lon, lat = np.array([12.3, -77.0]), np.array([85.0, 61.2])
        found = np.array([value[0] for value in file.sample(zip(lon, lat, strict=True))])
        centres = np.array([file.xy(*file.index(*at)) for at in zip(lon, lat, strict=True)])
    own = law.per_area(he.from_lonlat(*centres.T, units="deg"), "sr")
    np.testing.assert_allclose(found, own, atol=law.error)


@pytest.mark.filterwarnings("default::DeprecationWarning")  # of ligo.skymap's own
def test_areas_and_levels_are_those_of_ligo_skymap(law, tmp_path):
    fits = pytest.importorskip("ligo.skymap.io.fits")
    from ligo.skymap.bayestar import rasterize
    from ligo.skymap.postprocess import find_greedy_credible_levels

    table = fits.read_sky_map(law.save(tmp_path / "map.fits"), moc=True)
    flat = rasterize(table, order=7)["PROB"]
    inside = find_greedy_credible_levels(np.asarray(flat))
    region = law.region([0.5, 0.9])
    areas = [(inside <= level).mean() for level in region.level]
    np.testing.assert_allclose(areas, region.area, rtol=0.02)


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.slow
def test_contours_are_valid_and_have_the_area_of_the_region(name, tmp_path):
    shapely = pytest.importorskip("shapely")
    pytest.importorskip("contourpy")
    law = he.density(CLOUDS[name], angle=20)
    found = json.loads(law.save(tmp_path / "contours.geojson").read_text())
    assert [one["properties"]["level"] for one in found["features"]] == [0.5, 0.9]
    for feature in found["features"]:
        shape = shapely.from_geojson(json.dumps(feature["geometry"]))
        assert shape.is_valid
        west, south, east, north = shape.bounds
        assert west >= -180
        assert east <= 180
        assert -90 <= south < north <= 90
        lon, lat = (part.ravel() for part in np.meshgrid(np.arange(-179.5, 180), np.arange(-89.875, 90, 0.25)))
        inside = shapely.contains_xy(shape, lon, lat)
        areas = np.cos(np.radians(lat)) / np.cos(np.radians(lat)).sum()
        assert inside @ areas == pytest.approx(feature["properties"]["area"], rel=0.02)
        own = law.at(he.from_lonlat(lon, lat, units="deg")) >= feature["properties"]["threshold"]
        assert (own != inside) @ areas < 0.015 * feature["properties"]["area"]


@pytest.mark.slow
def test_contours_of_a_fine_scale_are_drawn_in_a_box_and_warned_of_elsewhere():
    shapely = pytest.importorskip("shapely")
    pytest.importorskip("contourpy")
    law = he.density([[1.0, 0, 0]], angle=0.1)
    shape = shapely.from_geojson(json.dumps(law.contours(0.9)["features"][0]["geometry"]))
    exact = np.degrees(np.sqrt(4 * law.time * np.log(10)))  # radius of heat with 90 % of its mass, in the flat limit
    assert shape.area == pytest.approx(np.pi * exact**2, rel=5e-3)
    with pytest.warns(he.PrecisionWarning, match="cells 0.2 degrees wide"):
        he.density([[-1.0, 0, 0]], angle=0.1).contours(0.9)


def test_what_is_not_on_the_sphere_is_refused():
    law = he.density([0.0, 1.0], space=he.Circle(), angle=30)
    for call in (lambda: law.healpix(4), lambda: law.grid(10), law.contours):
        with pytest.raises(he.InputError, match=r"for the sphere S\^2"):
            call()
    law = he.density(POLE, angle=30)
    with pytest.raises(he.InputError, match="power of two"):
        law.healpix(6)
    with pytest.raises(he.InputError, match="divide 180 degrees"):
        law.grid(7)


def test_pictures_are_drawn_where_there_is_one():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    assert he.density(POLE, angle=30).plot().name == "mollweide"
    globe = he.density(POLE, angle=30).plot(projection="globe", atoms=True)
    peak = he.density(POLE, angle=30).at([[0, 0.05, np.sqrt(0.9975)]])[0]
    assert globe.collections[0].get_array().max() == pytest.approx(peak, rel=0.01)
    curve = he.density(rng.normal(size=40), space=he.Circle(), angle=40).plot()
    assert curve.lines[0].get_ydata().mean() == pytest.approx(1, abs=1e-3)
    for space in (he.Torus(2), he.Euclidean(2)):
        law = he.density(rng.normal(size=(40, 2)), space=space, time=0.1)
        ax = law.plot(levels=[0.8], atoms=True, calibrated=True)
        assert "heatess-density" in [part.get_gid() for part in ax.collections]
    ball = he.density([3, 9], space=he.Mesh(*meshes.icosphere(2)), time=0.3).plot()
    assert (ball.name, ball.collections[0].get_gid()) == ("3d", "heatess-density")
    with pytest.raises(he.InputError, match="is drawn on circles"):
        he.density(rng.normal(size=(40, 3)), space=he.Euclidean(3), time=0.1).plot()
    with pytest.raises(he.InputError, match="leave it out"):
        law.plot(projection="globe")


@pytest.mark.slow
def test_a_picture_says_what_its_lines_hold_and_has_the_names_of_its_columns():
    rng = np.random.default_rng(0)
    angles = dict(zip(("phi", "psi"), rng.normal([[-60], [-40]], 15, (2, 100)), strict=True))
    found = he.density(he.read(angles, units="deg"), angle=30)
    ax = found.plot(levels=(0.9, 0.5, 0.1))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("phi", "psi")
    assert ax.get_title() == "100 points, smoothed at 30°; lines around 10 %, 50 % and 90 %"
    assert found.plot(levels=0.9).get_title().endswith("; a line around 90 %")
    assert found.plot(levels=()).get_title() == "100 points, smoothed at 30°"
    turns = he.density([[0, 0, 0, 1]], space=he.Rotations(), angle=40).plot().figure
    assert turns.get_suptitle() == "1 points, smoothed at 40°; lines around 50 % and 90 %"
    assert sum(bool(part.get_ylabel()) for part in turns.axes) == 1


def test_of_many_atoms_those_drawn_are_spread_over_all_rows():
    """Rows in order, as a sorted table has them."""
    x = np.sort(np.random.default_rng(0).normal(size=20_000))
    ax = he.density(np.column_stack([x, x]), space=he.Euclidean(2), time=0.5).plot(levels=(), atoms=True)
    (drawn,) = (line for line in ax.get_lines() if line.get_gid() == "heatess-atoms")
    assert len(drawn.get_xdata()) == 5000
    assert drawn.get_xdata()[-1] > x[19_990]
