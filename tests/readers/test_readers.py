"""Files become checked points, or one sentence that says what to type instead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import heatess as he
from heatess.base.files import atomic_path, check_writable
from heatess.readers import open_table, read
from heatess.tables.column_meaning import Reading
from heatess.tables.points_and_weights import Taken, take

AXES = np.eye(3)


@pytest.fixture
def save(tmp_path):
    def write(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def refused(path: Path, *parts: str, **options: object) -> None:
    with pytest.raises(he.InputError) as caught:
        read(path, **options)
    message = str(caught.value)
    for part in parts:
        assert part in message, message
    assert "\n" not in message
    assert "--" not in message


def raw(path: Path, **options: object) -> Taken:
    """Points and weights as they are in the file, before any measure is made of them."""
    [taken] = take(open_table(path), Reading(**options))
    return taken


# CSV: what is found without being told.


@pytest.mark.parametrize("header", ["x,y,z", "X,Y,Z", " x , y , z ", "# x,y,z"])
def test_unit_vectors_are_found_in_any_case(save, header):
    path = save("a.csv", f"{header}\n1,0,0\n0,1,0\n0,0,1\n")
    cloud = raw(path)
    np.testing.assert_array_equal(cloud.points, AXES)
    assert cloud.weights is None
    assert cloud.log_weights is None
    origin = read(path).origin
    assert "3 points from" in origin.description
    assert "equal weights" in origin.description
    assert origin.source.endswith("a.csv")


@pytest.mark.parametrize("header", ["lon,lat", "longitude,latitude", "lng,lat", "LON,Latitude"])
def test_longitude_and_latitude_are_degrees(save, header):
    cloud = read(save("a.csv", f"{header}\n0,0\n90,0\n0,90\n"))
    np.testing.assert_allclose(cloud.points, AXES, atol=1e-15)
    assert "(degrees)" in cloud.origin.description
    assert cloud.origin.units == "deg"


def test_both_longitude_conventions_are_the_same_place(save):
    cloud = read(save("a.csv", "lon,lat\n-30,10\n330,10\n"))
    np.testing.assert_allclose(cloud.points[0], cloud.points[1], atol=1e-15)


@pytest.mark.parametrize(("name", "logs"), [("weight", 0), ("Weights", 0), ("w", 0), ("logw", 1), ("log_weight", 1)])
def test_weight_columns_are_found(save, name, logs):
    cloud = raw(save("a.csv", f"{name},x,y,z\n2,1,0,0\n3,0,1,0\n"))
    found, other = (cloud.log_weights, cloud.weights) if logs else (cloud.weights, cloud.log_weights)
    np.testing.assert_array_equal(found, [2, 3])
    assert other is None
    assert f"weights from {name}" in cloud.origin.description
    assert cloud.origin.weights == name


def test_tabs_semicolons_quotes_blank_lines_and_a_byte_order_mark_are_read(save):
    tsv = read(save("a.tsv", "name\tx\ty\tz\na\t1\t0\t0\n\nb\t0\t1\t0\n"))
    semicolons = read(save("b.csv", "\ufeffx;y;z\r\n1;0;0\r\n0;1;0\r\n"))
    quoted = read(save("c.csv", 'name,x,y,z\n"one, two",1,0,0\n"three",0,1,0,\n'))
    for cloud in (tsv, semicolons, quoted):
        np.testing.assert_array_equal(cloud.points, AXES[:2])


# CSV: what the user can say.


def test_columns_are_chosen_by_name(save):
    path = save("a.csv", "ra,dec,p,logp,weight\n180,0,1,0,9\n0,90,3,-1,9\n")
    sky = {"lon": "ra", "lat": "DEC"}
    cloud = raw(path, columns=sky, weights="p")
    np.testing.assert_allclose(cloud.points, [[-1, 0, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_array_equal(cloud.weights, [1, 3])
    logs = raw(path, columns=sky, log_weights="logp")
    np.testing.assert_array_equal(logs.log_weights, [0, -1])
    assert raw(path, columns=sky, weights="none").weights is None
    np.testing.assert_allclose(read(path, columns=sky, log_weights="logp").weights, [0.7310585786, 0.2689414214])


def test_vectors_of_any_dimension_are_chosen_by_name(save):
    path = save("a.csv", "x,y,z,w\n0,0,0,1\n1,0,0,0\n")
    cloud = raw(path, columns=("x", "y", "z", "w"), space=he.Sphere(3))
    assert cloud.points.shape == (2, 4)
    assert cloud.weights is None


def test_radians_are_read_when_said(save):
    path = save("a.csv", "lon,lat\n1.5708,0\n0,1.5708\n")
    cloud = read(path, units="rad")
    np.testing.assert_allclose(cloud.points, AXES[1:], atol=1e-5)
    degrees = read(path, units="deg")
    assert np.degrees(np.arccos(degrees.points[0, 0])) == pytest.approx(1.5708)


def test_normalize_scales_vectors(save):
    cloud = read(save("a.csv", "x,y,z\n2,0,0\n0,0.1,0\n"), normalize=True)
    np.testing.assert_allclose(cloud.points, AXES[:2])
    refused(save("b.csv", "x,y,z\n2,0,0\n0,0,0\n"), "line 3", "length 0 and no direction", normalize=True)
    turns = read(save("c.csv", "qx,qy,qz,qw\n0,0,2,2\n0,0,0,-3\n"), normalize=True)
    assert turns.space == he.Rotations()
    np.testing.assert_allclose(turns.points, [[0, 0, 0.5**0.5, 0.5**0.5], [0, 0, 0, 1]])


def test_what_is_read_gives_the_profile_of_the_arrays(save):
    points = he.samplers.fibonacci(50)
    weights = np.linspace(1, 2, 50)
    rows = "\n".join(
        ",".join(map(repr, (*row, weight))) for row, weight in zip(points.tolist(), weights.tolist(), strict=True)
    )
    cloud = read(save("a.csv", f"x,y,z,weight\n{rows}\n"))
    np.testing.assert_array_equal(cloud.points, points)
    np.testing.assert_allclose(cloud.weights, weights / weights.sum(), rtol=1e-15)
    assert he.gess(cloud, angle=20) == pytest.approx(he.gess(points, weights, angle=20), rel=1e-12)


# CSV: what is refused.


def test_degrees_or_radians_that_cannot_be_told_are_refused(save):
    refused(save("a.csv", "lon,lat\n-3.1,1.5\n6.28,0.1\n"), "degrees or radians", "units='deg' or units='rad'", "6.28")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["is empty", "lon,lat"]),
        ("\n\n", ["is empty"]),
        ("lon,lat\n", ["header (lon, lat) but no rows"]),
        (
            "1,2,3\n4,5,6\n",
            ["line 1", "length 3.7416574, not 1 (2 of 2", "space='euclidean'", "normalize=True if only"],
        ),
        ("1,2,3\n4,5\n", ["line 2 has 2 fields", "the first row has 3"]),
        (
            "alpha,beta\n1,2\n",
            [
                "no columns known to hold points (such as lon, lat or ra, dec or x, y, z",
                "for instance columns={'lon': 'A', 'lat': 'B'}",
                "found 2 columns: alpha, beta",
            ],
        ),
        (
            "x,y,z,lon,lat\n1,0,0,0,0\n",
            ["(lon, lat) and (x, y, z)", "columns={'lon': 'lon', 'lat': 'lat'} or columns=('x', 'y', 'z')"],
        ),
        (
            "lon,longitude,lat\n1,2,3\n",
            ["(lon, lat) and (longitude, lat)", "columns={'lon': 'longitude', 'lat': 'lat'}"],
        ),
        ("x,x,y,z\n1,1,0,0\n", ["2 columns 'x' (columns 1 and 2)", "rename one"]),
        ("x,y,z,w,logw\n1,0,0,1,0\n", ["columns w and logw", "weights='w' or log_weights='logw'"]),
        ("lon,lat\n10,20\n\n100,abc\n", ["line 4", "column lat", "'abc', not a number"]),
        ("lon,lat\n10,\n", ["line 2", "column lat has no number", "1 of 1", "name other columns with columns="]),
        ("lon,lat\n10,5,20\n", ["line 2 has 3 fields", "header has 2"]),
        ("lon;lat\n1.5;20\n10,5;20\n", ["line 3", "column lon", "'10,5'", "a point, not a comma"]),
        ("x,y,z\n1,0,0\n0,nan,0\n", ["line 3", "column y has no number", "1 of 2", "drop_missing=True"]),
        ("lon,lat\n10,inf\n", ["line 2", "column lat is inf, not a finite number"]),
        ("x,y,z\n1,0,0\n0,-inf,0\n", ["line 3", "column y is -inf"]),
        ("lon,lat\n10,20\n10,95\n", ["line 3", "column lat is 95", "90 degrees"]),
        ("lon,lat\n10,20\n-181,9\n", ["line 3", "column lon is -181", "-180 and 360"]),
        ("lon,lat\n10,20\n361,9\n", ["line 3", "column lon is 361"]),
        ("dec,inc\n10,20\n20,95\n", ["line 3", "column inc is 95"]),
        ("colat,lon\n10,20\n-3,95\n", ["line 3", "column colat is -3", "0 and 180"]),
        ("x,y,z\n1,0,0\n0,1\n", ["line 3 has 2 fields", "header has 3 (x, y, z)"]),
        ("x,y,z\n1,0,0\n0,1,0,7\n", ["line 3 has 4 fields"]),
        ("x,y,z\n1,0,0\n0,2,0\n", ["line 3", "length 2", "1 of 2", "normalize=True"]),
        ("qx,qy,qz,qw\n0,0,0,1\n0,0,1,1\n", ["line 3", "quaternion qx, qy, qz, qw has length 1.4142136"]),
        ("x,y,z,w\n1,0,0,1\n0,1,0,-3\n", ["line 3", "w is -3", "log_weights='w'"]),
        ("x,y,z,w\n1,0,0,inf\n", ["line 2", "w is inf"]),
        ("x,y,z,w\n1,0,0,-inf\n", ["line 2", "w is -inf", "log_weights='w'"]),
        ("x,y,z,w\n1,0,0,nan\n", ["line 2", "column w has no number"]),
        ("x,y,z,w\n1,0,0,0\n", ["weights sum to zero", "at least one must be positive"]),
        ("x,y,z,logw\n1,0,0,inf\n", ["line 2", "logw is inf"]),
        ("x,y,z,logw\n1,0,0,-inf\n", ["all -inf", "at least one must be positive"]),
        ("lon_deg,lat_rad\n100,1\n", ["column lon_deg is in degrees, but column lat_rad in radians"]),
        ("lon_rad,lat\n1,10\n", ["line 2", "column lat is 10", "1.5708 radians"]),
        ('x,y,z\n1,0,"0\n', ["line 2: a quote is opened and never closed"]),
    ],
)
def test_bad_tables_are_refused_with_the_place_and_the_remedy(save, text, parts):
    refused(save("bad.csv", text), "bad.csv", *parts)


def test_line_numbers_survive_blank_lines_and_quoted_line_breaks(save):
    refused(save("a.csv", '\n\nname,lon,lat\n"two\nlines",10,20\n\nb,10,x\n'), "a.csv line 7:")


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"columns": {"lon": "ra"}}, ["has the roles lon", "lon, lat; ra, dec"]),
        ({"columns": {"lon": "ra", "lat": "x"}}, ["no column 'ra'", "found 4 columns: x, y, z, w"]),
        ({"columns": {"lon": 1, "lat": "x"}}, ["columns must be names"]),
        ({"weights": "p"}, ["no column 'p'"]),
        ({"log_weights": "p"}, ["no column 'p'"]),
        ({"weights": "w", "log_weights": "w"}, ["weights or log_weights, not both"]),
        ({"columns": ("x", "y", "q")}, ["no column 'q'"]),
        ({"columns": ("x", "y", "x")}, ["names x twice"]),
        ({"columns": ("x",)}, ["two or more"]),
        ({"columns": "z:x"}, ["the range z:x is empty", "left to right"]),
        ({"units": "rad"}, ["units= is for angles"]),
        ({"units": "grad"}, ["units must be one of 'deg', 'rad', 'hours'", "'grad'"]),
        ({"space": "ball"}, ["space must be one of sphere", "'ball'"]),
        ({"space": "rotations", "columns": ("x", "y")}, ["four columns, x, y, z, w, but 2 were named"]),
    ],
)
def test_wrong_column_choices_are_refused(save, options, parts):
    refused(save("a.csv", "x,y,z,w\n1,0,0,1\n"), *parts, **options)


def test_degrees_read_as_radians_are_refused(save):
    refused(save("a.csv", "lon,lat\n10,20\n"), "line 2", "column lat is 20", "say units='deg'", units="rad")
    refused(save("b.csv", "ra (rad),dec (rad)\n200,0.5\n"), "line 2", "column ra (rad) is 200", "say units='deg'")
    right = read(save("b.csv", "ra (rad),dec (rad)\n200,0.5\n"), units="deg")
    np.testing.assert_allclose(right.points, he.from_lonlat([200], [0.5], units="deg"))


# NumPy files.


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "i8"])
def test_arrays_are_read_with_their_precision(tmp_path, dtype):
    np.save(tmp_path / "a.npy", AXES.astype(dtype))
    cloud = read(str(tmp_path / "a.npy"))
    np.testing.assert_array_equal(cloud.points, AXES)
    assert cloud.points.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert cloud.origin.description == "3 points with 3 coordinates; equal weights"


def test_weights_of_an_array_come_from_a_second_array(tmp_path):
    np.save(tmp_path / "a.npy", AXES)
    np.save(tmp_path / "w.npy", np.array([[1.0], [2], [3]]))
    np.save(tmp_path / "short.npy", np.ones(2))
    weights = str(tmp_path / "w.npy")
    plain = read(tmp_path / "a.npy", weights=weights)
    np.testing.assert_allclose(plain.weights, np.array([1, 2, 3]) / 6)
    assert "weights from" in plain.origin.description
    assert "w.npy" in plain.origin.description
    logs = read(tmp_path / "a.npy", log_weights=weights)
    np.testing.assert_allclose(logs.weights, np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum())
    assert "log-weights from" in logs.origin.description
    refused(tmp_path / "a.npy", "a.npy", "3 points but 2 weights", weights=str(tmp_path / "short.npy"))
    refused(tmp_path / "a.npy", "no column 'mass'", weights="mass")
    bad = str(tmp_path / "bad.npy")
    for value in (-3.0, np.inf, np.nan):
        np.save(bad, np.array([1, value, 2]))
        refused(tmp_path / "a.npy", f"bad.npy row 1 (counted from 0): the number is {value:g}", weights=bad)
    np.save(bad, np.array([-np.inf, np.inf, 2]))
    refused(tmp_path / "a.npy", "bad.npy row 1 (counted from 0): the number is inf", log_weights=bad)
    np.save(bad, np.zeros(3))
    refused(tmp_path / "a.npy", "a.npy: weights sum to zero over 3 points", weights=bad)
    refused(tmp_path / "a.npy", "does not exist", log_weights=str(tmp_path / "none.npy"))


@pytest.mark.parametrize(
    ("array", "parts"),
    [
        (np.ones(3), ["one number a row", "two or more"]),
        (np.ones((3, 1)), ["one number a row", "two or more"]),
        (np.ones((3, 3, 2)), ["shape (3, 3, 2)", "one point per row"]),
        (np.ones((0, 3)), ["no points"]),
        (np.array([[1, 0, 0], [2.0, 0, 0]]), ["row 1 (counted from 0)", "length 2", "normalize=True"]),
        (np.array([[10.0, 20.0]]), ["columns={'lon': '0', 'lat': '1'}, units='deg' for longitude and latitude"]),
        (np.array([[1, 0, 0], [np.nan, 0, 0]]), ["row 1", "no number", "drop_missing=True"]),
        (np.array([[1, 0, 0], [np.inf, 0, 0]]), ["row 1", "inf, not a finite number"]),
        (AXES + 0j, ["complex128", "real numbers"]),
        (np.array([["a", "b"]]), ["not real numbers"]),
    ],
)
def test_bad_arrays_are_refused(tmp_path, array, parts):
    np.save(tmp_path / "bad.npy", array)
    refused(tmp_path / "bad.npy", "bad.npy", *parts)


def test_python_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    refused(tmp_path / "a.npy", "Python objects", "never loaded")


def test_files_that_are_not_what_they_say_are_refused(tmp_path, save):
    np.save(tmp_path / "a.npy", AXES)
    np.savez(tmp_path / "a.npz", AXES)
    whole = (tmp_path / "a.npy").read_bytes()
    refused(save("cut.npy", whole[:-8]), "damaged or cut short")
    refused(save("text.npy", "hello, world"), "does not hold .npy data")
    refused(save("zip.npy", (tmp_path / "a.npz").read_bytes()), "zip archive")
    refused(save("empty.npy", ""), "is empty")
    refused(tmp_path / "a.npy", "no column 'lon'", "found 3 columns: 0, 1, 2", columns={"lon": "lon", "lat": "lat"})


def test_paths_that_cannot_be_read_are_refused(tmp_path, save):
    refused(tmp_path / "nowhere.csv", "nowhere.csv does not exist")
    refused(tmp_path, "is a directory", "give one file")
    np.savez(tmp_path / "a.npz", AXES, 2 * AXES)
    refused(tmp_path / "a.npz", "arr_0 (3, 3), arr_1 (3, 3)", "one array of points")
    np.savez(tmp_path / "b.npz", AXES)
    np.testing.assert_array_equal(read(tmp_path / "b.npz").points, AXES)
    refused(save("a.foo", "x"), "suffix .foo", ".csv, .tsv", ".parquet", "cp")
    refused(save("a.feather", "x"), "a.feather")
    refused(save("a.csv.gz", b"\x1f\x8bx"), "damaged or cut short")
    refused(save("a", "x"), "no suffix")


# Writing.


def test_a_failing_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with atomic_path(path) as draft:
            draft.write_text("half")
            raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_good_write_replaces_the_file_and_keeps_its_mode_and_links(tmp_path):
    path, link = tmp_path / "a.png", tmp_path / "link.png"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_path(link) as draft:
        assert draft.suffix == ".png"
        assert draft.parent == tmp_path.resolve()
        draft.write_text("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()


def test_devices_are_written_to_and_not_replaced():
    with atomic_path("/dev/null") as draft:
        assert draft == Path("/dev/null")


def test_places_that_cannot_be_written_are_named(tmp_path):
    assert check_writable(tmp_path / "a.csv") == tmp_path / "a.csv"
    with pytest.raises(he.InputError, match="is a directory"):
        check_writable(tmp_path)
    with pytest.raises(he.InputError, match="there is no directory"):
        check_writable(tmp_path / "no" / "a.csv")


def test_digits_grouped_by_underscores_are_not_numbers(tmp_path):
    path = tmp_path / "grouped.csv"
    path.write_text("lon,lat\n1_0,50\n100,20\n")
    with pytest.raises(he.InputError, match="line 2: column lon is '1_0', not a number"):
        read(path)


def test_integers_that_float64_would_round_are_refused_with_their_line(tmp_path, save):
    refused(
        save("a.csv", f"x,y,z,w\n1,0,0,5\n0,1,0,{2**53 + 1}\n"),
        "a.csv line 3: column w is 9007199254740993",
        "decimal point",
    )
    assert raw(save("b.csv", f"x,y,z,w\n1,0,0,{2**53}\n0,1,0,{2**53 + 1}.0\n")).weights[1] == 2**53
    assert raw(save("c.csv", f"x,y,z,w\n1,0,0,{2**60}\n0,1,0,+{10**22}\n")).weights.tolist() == [2**60, 1e22]
    refused(save("d.csv", "x,y,z,w\n1,0,0," + "9" * 500 + "\n"), "d.csv line 2", "inf")
    np.save(tmp_path / "p.npy", AXES)
    np.save(tmp_path / "w.npy", np.array([1, 2**53 + 1, 3]))
    weights = str(tmp_path / "w.npy")
    refused(tmp_path / "p.npy", "w.npy row 1 (counted from 0) holds 9007199254740993", weights=weights)
    np.save(tmp_path / "q.npy", np.array([[1, 0, 2**55 + 1]]))
    refused(tmp_path / "q.npy", "q.npy row 0", "not exact", normalize=True)


def test_integers_in_parquet_that_float64_would_round_are_refused_with_their_row(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"x": [1, 0], "y": [0, 1], "z": [0, 0], "w": [1, 2**53 + 1]}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", "column w: ", "a.parquet row 1 ", "9007199254740993")
    columns = {"x": [1, 0, 0], "y": [0, 1, 1], "z": [0, 0, 0], "w": [None, 1, 2**53 + 1]}
    parquet.write_table(pa.table(columns), tmp_path / "c.parquet")
    refused(tmp_path / "c.parquet", "column w: ", "c.parquet row 2 ", "9007199254740993", drop_missing=True)
    parquet.write_table(pa.table({"vector": [[1, 0], [2**53 + 1, 1]]}), tmp_path / "b.parquet")
    refused(tmp_path / "b.parquet", "column vector: ", "b.parquet row 1 ", "9007199254740993", normalize=True)
