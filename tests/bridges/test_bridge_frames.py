"""frame.heatess of pandas and polars, and points of GeoPandas, against plain arrays."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import plain
import pytest

import heatess as he

CITIES = {"lon": [2.35, -0.13, 139.69, 18.42], "lat": [48.86, 51.51, 35.69, -33.92], "people": [2.1, 8.9, 14.2, 4.8]}


@pytest.fixture
def expected():
    """gESS at 20 degrees, weighted by people."""
    return plain.gess(plain.overlaps_on_sphere(plain.vectors(CITIES["lon"], CITIES["lat"]), 20), CITIES["people"])


@pytest.mark.parametrize("package", ["pandas", "polars", "lazy polars"])
def test_frames_have_methods(package, expected):
    module = pytest.importorskip(package.split()[-1])
    __import__(f"heatess.{package.split()[-1]}")
    frame = module.DataFrame(CITIES)
    frame = frame.lazy() if package.startswith("lazy") else frame
    assert frame.heatess.gess(angle=20, weights="people") == pytest.approx(expected, rel=1e-8)
    profile = frame.heatess.profile(angles=[20, 40], weights="people")
    assert profile.gess[0] == pytest.approx(expected, rel=1e-8)
    assert frame.heatess.measure(weights="people").origin.columns == ("lon", "lat")
    with pytest.raises(he.InputError, match="has no column 'nobody'"):
        frame.heatess.gess(angle=20, weights="nobody")


@pytest.mark.parametrize("kind", ["narwhals", "lazy narwhals", "duckdb", "pyarrow"])
def test_whatever_exports_arrow_is_a_frame(kind, expected):
    module, pyarrow = pytest.importorskip(kind.split()[-1]), pytest.importorskip("pyarrow")
    table = pyarrow.table(CITIES)
    if kind == "pyarrow":
        frame = table.to_reader()  # read once
    elif kind == "duckdb":
        frame = module.from_arrow(table).filter("lat < 1000")
    else:
        native = pytest.importorskip("polars").DataFrame(CITIES)
        frame = module.from_native(native.lazy() if kind.startswith("lazy") else native)
    measure = he.read(frame, weights="people")
    assert he.gess(measure, angle=20) == pytest.approx(expected, rel=1e-8)
    assert measure.known.frame == "geographic"


def test_a_single_column_is_no_frame():
    for package in ("pandas", "polars"):
        angles = pytest.importorskip(package).Series([0.0, 3.0])
        assert he.gess(angles, space=he.Circle(), angle=20) == he.gess(
            np.array([0.0, 3.0]), space=he.Circle(), angle=20
        )


def test_rows_that_lack_a_number_are_dropped_when_asked():
    pandas = pytest.importorskip("pandas")
    import heatess.pandas  # noqa: F401

    frame = pandas.DataFrame(CITIES)
    frame.loc[1, "lon"] = np.nan
    kept = [0, 2, 3]
    points = plain.vectors(np.array(CITIES["lon"])[kept], np.array(CITIES["lat"])[kept])
    found = frame.heatess.gess(angle=20, drop_missing=True)
    assert found == pytest.approx(plain.gess(plain.overlaps_on_sphere(points, 20)), rel=1e-8)


def test_heatess_alone_imports_no_frames():
    code = "import sys, heatess; heatess.gess([[0, 0, 1.0]], angle=5); print({'pandas', 'polars'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# GeoPandas.


@pytest.fixture
def geo():
    geopandas = pytest.importorskip("geopandas")
    points = geopandas.points_from_xy(CITIES["lon"], CITIES["lat"], crs="EPSG:4326")
    return geopandas.GeoDataFrame({"people": CITIES["people"]}, geometry=points)


def test_points_of_geopandas(geo, expected):
    assert he.gess(geo, "people", angle=20) == pytest.approx(expected, rel=1e-8)
    assert he.gess(geo.geometry, CITIES["people"], angle=20) == pytest.approx(expected, rel=1e-8)
    assert he.gess(geo.set_crs("OGC:CRS84", allow_override=True), "people", angle=20) == pytest.approx(expected)
    assert he.Measure(geo).origin.units == "deg"


def test_columns_of_places_beside_the_geometry_do_no_harm(geo, expected):
    assert he.gess(geo.assign(lon=0.0, longitude=0.0, lat=1.0), "people", angle=20) == pytest.approx(expected, rel=1e-8)


def test_the_geometry_may_have_any_name(geo, expected):
    assert he.gess(geo.rename_geometry("where"), "people", angle=20) == pytest.approx(expected, rel=1e-8)


def test_other_reference_systems_are_refused_with_the_line_that_converts(geo, expected):
    mercator = geo.to_crs("EPSG:3857")
    with pytest.raises(he.InputError, match=r'in EPSG:3857 \(WGS 84 / Pseudo-Mercator\).*frame.to_crs\("EPSG:4326"\)'):
        he.gess(mercator, "people", angle=20)
    assert he.gess(mercator.to_crs("EPSG:4326"), "people", angle=20) == pytest.approx(expected, rel=1e-8)
    unknown = geo.set_crs(None, allow_override=True)
    with pytest.raises(
        he.InputError, match=r'no coordinate reference system.*frame.set_crs\("EPSG:4326", allow_override=True\)'
    ):
        he.gess(unknown, "people", angle=20)
    assert he.gess(unknown.set_crs("EPSG:4326", allow_override=True), "people", angle=20) == pytest.approx(
        expected, rel=1e-8
    )


def test_other_shapes_are_refused_with_the_line_that_makes_points(geo):
    shapes = geo.set_geometry(geo.geometry.to_crs("EPSG:3857").buffer(1000).to_crs("EPSG:4326"))
    with pytest.raises(he.InputError, match=r"points, but row 0 is a Polygon \(4 of 4 rows\).*representative_point"):
        he.gess(shapes, angle=20)
    points = shapes.set_geometry(shapes.representative_point())
    assert he.gess(points, angle=20) == pytest.approx(he.gess(geo, angle=20), rel=1e-3)


def test_missing_points_are_refused_or_dropped(geo):
    from shapely import Point

    geo.geometry = [*geo.geometry[:2], Point(), None]
    with pytest.raises(he.InputError, match=r"row 2 .*drop_missing=True"):
        he.gess(geo, angle=20)
    expected = plain.gess(plain.overlaps_on_sphere(plain.vectors(CITIES["lon"][:2], CITIES["lat"][:2]), 20))
    assert he.gess(he.read(geo, drop_missing=True), angle=20) == pytest.approx(expected, rel=1e-8)
