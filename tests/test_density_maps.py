"""Maps of densities are read back by others, and contours are valid wherever the mass is."""

from __future__ import annotations

import json

import numpy as np
import pytest

import heatess as he

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

    path = law.save(tmp_path / "map.fits")
    table = Table.read(path)
    nside = 2 ** table.meta["MOCORDER"]
    assert table.meta["COORDSYS"] == "C"
    assert table["PROBDENSITY"].unit == "1 / sr"
    np.testing.assert_array_equal(table["UNIQ"], 4 * nside**2 + np.arange(12 * nside**2))
    assert np.sum(table["PROBDENSITY"]) * 4 * np.pi / len(table) == pytest.approx(1, rel=1e-12)
    again = he.read(path)
    assert (again.n, again.known.frame) == (12 * nside**2, "icrs")
    grid = he.read(law.save(tmp_path / "map.nc"))
    assert again.space == grid.space
    np.testing.assert_allclose(grid.weights @ grid.points, again.weights @ again.points, atol=2e-3)
    with pytest.raises(FileExistsError):
        law.save(tmp_path / "map.nc")
    law.save(tmp_path / "map.nc", replace=True)
    with pytest.raises(he.InputError, match="the suffix of path must be one of"):
        law.save(tmp_path / "map.tif")


@pytest.mark.parametrize("name", CLOUDS)
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
        lon, lat = (part.ravel() for part in np.meshgrid(np.arange(-179.5, 180), np.arange(-89.95, 90, 0.1)))
        inside = shapely.contains_xy(shape, lon, lat)
        areas = np.cos(np.radians(lat)) / np.cos(np.radians(lat)).sum()
        assert inside @ areas == pytest.approx(feature["properties"]["area"], rel=0.02)
        own = law.at(he.from_lonlat(lon, lat, units="deg")) >= feature["properties"]["threshold"]
        assert (own != inside) @ areas < 0.015 * feature["properties"]["area"]


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
    matplotlib = pytest.importorskip("matplotlib")
    assert matplotlib
    rng = np.random.default_rng(0)
    assert he.density(POLE, angle=30).plot().name == "mollweide"
    curve = he.density(rng.normal(size=40), space=he.Circle(), angle=40).plot()
    assert curve.lines[0].get_ydata().mean() == pytest.approx(1, abs=1e-3)
    for space in (he.Torus(2), he.Euclidean(2)):
        law = he.density(rng.normal(size=(40, 2)), space=space, time=0.1)
        ax = law.plot(levels=[0.8], atoms=True)
        assert "heatess-density" in [part.get_gid() for part in ax.collections]
    with pytest.raises(he.InputError, match="is drawn on circles"):
        he.density(rng.normal(size=(40, 3)), space=he.Euclidean(3), time=0.1).plot()
