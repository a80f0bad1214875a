"""Maps give longitude and latitude of their points, whatever their coordinates; what cannot be told is asked."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.integrate import quad

import heatess as he
from heatess.cli import main
from heatess.readers import open_table

geopandas = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")

LON, LAT = [2.35, 139.69, -78.5], [48.86, 35.68, -0.2]
GPX = """<?xml version="1.0"?><gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1">{}
<trk><trkseg><trkpt lat="48.1" lon="2.1"/><trkpt lat="48.2" lon="2.2"/></trkseg></trk></gpx>"""


def meridian(latitude, axis=6_378_137.0, flattening=1 / 298.257223563):
    """The length of the meridian of WGS 84 up to a latitude in degrees, in metres."""
    square = flattening * (2 - flattening)
    return quad(lambda p: axis * (1 - square) * (1 - square * np.sin(p) ** 2) ** -1.5, 0, np.radians(latitude))[0]


#: 9 east, 42 and 45 north in zone 32 of UTM: on its central meridian, whose length is shortened by 0.9996.
UTM = [500_000.0] * 2, [0.9996 * meridian(42), 0.9996 * meridian(45)]
MERIDIAN = [[9.0, 42.0], [9.0, 45.0]]


@pytest.fixture
def cities():
    data = {"name": ["Paris", "Tokyo", "Quito"], "people": [2.1, 13.0, 1.9]}
    return geopandas.GeoDataFrame(data, geometry=shapely.points(LON, LAT), crs="EPSG:4326")


def message(path, **options):
    with pytest.raises(he.InputError) as caught:
        he.read(path, **options)
    return str(caught.value)


def places(found):
    """Longitude and latitude in degrees."""
    x, y, z = found.points.T
    return np.degrees([np.arctan2(y, x), np.arcsin(z)]).T


@pytest.mark.parametrize("name", ["a.shp", "a.gpkg", "a.fgb", "a.kml"])
def test_points_are_read_with_their_attributes_and_names(tmp_path, cities, name):
    cities.to_file(tmp_path / name, driver="KML" if name == "a.kml" else None)
    found = he.read(tmp_path / name, weights="people")
    np.testing.assert_allclose(np.sort(places(found), axis=0), np.sort([LON, LAT], axis=1).T, atol=1e-9)
    people = np.array([2.1, 13, 1.9])
    assert found.ess == pytest.approx(people.sum() ** 2 / (people @ people))
    assert found.known.frame == "geographic"
    assert sorted(found.known.labels) == ["Paris", "Quito", "Tokyo"]


def test_other_systems_are_converted_and_the_note_says_from_what(tmp_path):
    geopandas.GeoDataFrame(geometry=shapely.points(*UTM), crs="EPSG:32632").to_file(tmp_path / "a.gpkg")
    found = he.read(tmp_path / "a.gpkg")
    np.testing.assert_allclose(places(found), MERIDIAN, atol=1e-7)
    assert "converted from EPSG:32632 (WGS 84 / UTM zone 32N)" in found.origin.description
    flat = he.read(tmp_path / "a.gpkg", space="euclidean", columns=("geometry.x", "geometry.y"))
    np.testing.assert_allclose(flat.points, np.transpose(UTM))


def test_without_a_system_the_message_is_followed_on_the_command_line(tmp_path, cities, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cities.to_file("a.shp")
    (tmp_path / "a.prj").unlink()
    done = CliRunner().invoke(main, ["profile", "a.shp", "--angles", "20"])
    assert done.exit_code == 3
    earth = re.search(r"say (--lon \S+ --lat \S+) if they are longitude and latitude", done.stderr)[1]
    plane = re.search(r"or (--space euclidean --columns \S+) for positions", done.stderr)[1]
    done = CliRunner().invoke(main, ["profile", "a.shp", *earth.split(), "--angles", "20", "--json", "-"])
    assert "3 points from geometry.x, geometry.y (degrees)" in done.stderr
    done = CliRunner().invoke(main, ["profile", "a.shp", *plane.split(), "--times", "1", "--json", "-"])
    assert json.loads(done.stdout)["space"].startswith("Euclidean(2)")
    named = he.read("a.shp", columns={"lon": "geometry.x", "lat": "geometry.y"})
    np.testing.assert_allclose(places(named), np.array([LON, LAT]).T, atol=1e-9)


@pytest.mark.parametrize("number", [0, -1])  # undefined geographic and undefined Cartesian, as GeoPackage has them
def test_an_undefined_system_is_none(tmp_path, cities, number, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = "a.gpkg"
    cities.to_file(path)
    with closing(sqlite3.connect(path)) as base:
        for table in ("gpkg_contents", "gpkg_geometry_columns"):
            base.execute(f"update {table} set srs_id = {number}")
        base.commit()
    assert "its coordinates have no reference system" in message(path)
    flat = he.read(path, space="euclidean", columns=("geometry.x", "geometry.y"))
    np.testing.assert_allclose(flat.points, np.transpose([LON, LAT]))
    frame = geopandas.read_file(path)
    with pytest.raises(he.InputError, match=r"no coordinate reference system.*say so: ") as told:
        he.Measure(frame)
    said = eval(str(told.value).split("say so: ")[1], {"frame": frame})
    np.testing.assert_allclose(places(he.Measure(said)), np.transpose([LON, LAT]), atol=1e-9)
    frame.to_parquet("a.parquet")
    said = message("a.parquet")
    assert "column geometry has no coordinate reference system" in said
    exec(shlex.split(said)[-1], {})
    np.testing.assert_allclose(places(he.read("a-lonlat.parquet")), np.transpose([LON, LAT]), atol=1e-9)


def test_degrees_that_cannot_be_are_refused_with_the_line_that_names_the_true_system(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    geopandas.GeoDataFrame(geometry=shapely.points(*UTM), crs="EPSG:4326").to_file("a.gpkg")
    said = message("a.gpkg")
    assert "says that it is in WGS 84, but feature 0 (counted from 0) lies at 500000, 4649776.2, which are no" in said
    exec(shlex.split(said)[-1].replace("CODE", "32632"), {})
    np.testing.assert_allclose(places(he.read("a-right.gpkg")), MERIDIAN, atol=1e-7)


def test_a_line_takes_a_point_inside_each_area(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    areas = [shapely.box(10, 10, 12, 14), shapely.box(100, -10, 102, -8)]
    geopandas.GeoDataFrame({"n": [1, 2]}, geometry=areas, crs="EPSG:4326").to_file("areas.gpkg")
    said = message("areas.gpkg")
    assert "feature 0 (counted from 0) is a Polygon and no point (2 of 2 features)" in said
    words = shlex.split(said.partition("type: ")[2])
    assert words[:4] == ["pip", "install", "geopandas", "&&"]
    subprocess.run([sys.executable, *words[5:]], check=True)
    np.testing.assert_allclose(places(he.read("areas-points.gpkg")), [[11, 12], [101, -9]], atol=1e-9)


def test_layers_are_chosen_and_the_only_one_of_points_is_taken(tmp_path, cities):
    path = tmp_path / "a.gpkg"
    cities.to_file(path, layer="cities")
    areas = geopandas.GeoDataFrame(geometry=[shapely.box(0, 0, 1, 1)], crs="EPSG:4326")
    areas.to_file(path, layer="areas")
    assert he.read(path).n == 3
    cities[:1].to_file(path, layer="capitals")
    assert (
        f"holds 2 layers of points: cities, capitals; choose one after two colons, such as {path}::cities"
        in message(path)
    )
    assert he.read(f"{path}::capitals").n == 1


def test_each_point_of_a_multipoint_is_a_row_and_missing_places_are_counted(tmp_path):
    shapes = [shapely.MultiPoint([(2.35, 48.86), (139.69, 35.68)]), None, shapely.Point(-78.5, -0.2)]
    frame = geopandas.GeoDataFrame({"weight": [1.0, 2.0, 3.0]}, geometry=shapes, crs="EPSG:4326")
    frame.to_file(tmp_path / "a.gpkg")
    assert "row 2 (counted from 0): column lon has no number (1 of 4 rows)" in message(tmp_path / "a.gpkg")
    found = he.read(tmp_path / "a.gpkg", drop_missing=True)
    np.testing.assert_allclose(places(found), np.array([LON, LAT]).T, atol=1e-9)
    assert found.ess == pytest.approx(25 / 11)


def test_the_points_of_a_track_are_a_trajectory(tmp_path):
    (tmp_path / "a.gpx").write_text(GPX.format(""))
    (tmp_path / "a.xml").write_text(GPX.format(""))
    for name in ("a.gpx", "a.xml"):
        found = he.read(tmp_path / name, units="deg")
        np.testing.assert_allclose(places(found), [[2.1, 48.1], [2.2, 48.2]], atol=1e-9)
        assert name == "a.xml" or found.known.kind == "trajectory"
    (tmp_path / "b.gpx").write_text(GPX.format('<wpt lat="1" lon="2"/>'))
    assert "holds 2 layers of points: waypoints, track_points" in message(tmp_path / "b.gpx")
    assert he.read(f"{tmp_path / 'b.gpx'}::waypoints").known.kind is None


def test_a_shapefile_inside_an_archive_keeps_its_parts_together(tmp_path, cities):
    cities.to_crs("EPSG:3857").to_file(tmp_path / "a.shp")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        for part in tmp_path.glob("a.*"):
            if part.suffix != ".zip":
                packed.write(part, f"inner/{part.name}")
    found = he.read(tmp_path / "a.zip")
    np.testing.assert_allclose(places(found), np.array([LON, LAT]).T, atol=1e-9)
    assert "converted from EPSG:3857" in found.origin.description


def test_a_shapefile_without_its_parts_says_what_it_is_made_of(tmp_path, cities):
    cities.to_file(tmp_path / "a.shp")
    (tmp_path / "a.shx").unlink()
    assert "keep .shp, .shx, .dbf and .prj of one name in one directory" in message(tmp_path / "a.shp")


def test_longitude_and_latitude_of_another_planet_are_no_places_on_earth(tmp_path):
    mars = geopandas.GeoDataFrame(geometry=shapely.points([10.0], [50.0]), crs="+proj=longlat +a=3396190 +b=3376200")
    mars.to_file(tmp_path / "mars.gpkg")
    table = open_table(tmp_path / "mars.gpkg")
    assert (table.about, table.known.frame) == ("directions", None)
    np.testing.assert_allclose(places(he.read(tmp_path / "mars.gpkg")), [[10, 50]], atol=1e-9)


def test_a_geojson_file_in_metres_is_converted_by_the_line_of_its_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.geojson").write_text(
        '{"type": "FeatureCollection", "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32632"}},'
        '"features": [{"type": "Feature", "properties": {}, "geometry": '
        f'{{"type": "MultiPoint", "coordinates": {np.transpose(UTM).tolist()}}}}}]}}'
    )
    exec(shlex.split(message("a.geojson"))[-1], {})
    np.testing.assert_allclose(places(he.read("a-lonlat.geojson")), MERIDIAN, atol=1e-6)


def test_geoparquet_in_metres_is_converted_by_the_line_of_its_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = geopandas.GeoDataFrame({"n": [1, 2]}, geometry=shapely.points(*UTM), crs="EPSG:32632")
    frame.to_parquet("a.parquet")
    said = message("a.parquet")
    assert "column geometry is in EPSG:32632, not longitude and latitude; to convert it, type: " in said
    exec(shlex.split(said)[-1], {})
    np.testing.assert_allclose(places(he.read("a-lonlat.parquet")), MERIDIAN, atol=1e-7)


def test_geoparquet_without_a_system_says_so(tmp_path):
    geopandas.GeoDataFrame({"n": [1, 2]}, geometry=shapely.points(LON[:2], LAT[:2])).to_parquet(tmp_path / "a.parquet")
    assert "column geometry has no coordinate reference system; if it is longitude and" in message(
        tmp_path / "a.parquet"
    )


def test_a_file_that_is_not_what_its_suffix_says_is_refused(tmp_path, cities):
    cities.to_file(tmp_path / "a.gpkg")
    (tmp_path / "a.gpkg").rename(tmp_path / "a.fgb")
    assert "does not hold what its suffix says" in message(tmp_path / "a.fgb")
    (tmp_path / "b.kml").write_text('<OGRVRTDataSource><OGRVRTLayer name="x"/></OGRVRTDataSource>')
    assert "does not hold what its suffix says" in message(tmp_path / "b.kml")
