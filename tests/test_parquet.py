"""Parquet files are read by the rules of the other tables, whole or in pieces."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import heatess as he
from heatess.readers import ReadOptions, batches, parquet, read

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

AXES = np.eye(3)


@pytest.fixture
def save(tmp_path):
    def write(columns, name="a.parquet", **options):
        path = tmp_path / name
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
        return path

    return write


def refused(path, *parts, **options):
    for reading in (read, lambda path, options: list(batches(path, options=options, rows=1000))):
        with pytest.raises(he.InputError) as caught:
            reading(path, options=ReadOptions(**options))
        message = str(caught.value)
        for part in parts:
            assert part in message, message
        assert "\n" not in message
        assert "--" not in message


def xyz(points, **more):
    return {**{name: points[:, index] for index, name in enumerate("xyz")}, **more}


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i4", "u1"])
def test_coordinates_of_every_number_type_are_read(save, kind):
    cloud = read(save(xyz(AXES.astype(kind), weight=np.array([1, 2, 3], kind)), "a.pq"))
    np.testing.assert_array_equal(cloud.points, AXES)
    np.testing.assert_array_equal(cloud.weights, [1, 2, 3])
    assert cloud.description == "3 points from columns x, y, z; weights from column weight"


def test_longitude_and_latitude(save):
    cloud = read(save({"Longitude": [0.0, 90, 0], "lat": [0.0, 0, 90], "logw": [0.0, -1, -np.inf]}))
    np.testing.assert_allclose(cloud.points, AXES, atol=1e-15)
    np.testing.assert_array_equal(cloud.log_weights, [0, -1, -np.inf])


@pytest.mark.parametrize("width", [2, 5, 384])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_vectors_in_lists_keep_their_precision(save, width, kind):
    vectors = np.random.default_rng(0).normal(size=(50, width))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(kind)
    flat = pa.array(vectors.ravel())
    lists = pa.ListArray.from_arrays(np.arange(51, dtype=np.int32) * width, flat)
    for name, column in [
        ("embedding", lists),
        ("vector", lists.cast(pa.large_list(flat.type))),
        ("emb", pa.FixedSizeListArray.from_arrays(flat, width)),
    ]:
        path = save({"id": np.arange(50), name: column}, row_group_size=7)
        cloud = read(path)
        np.testing.assert_array_equal(cloud.points, vectors)
        assert cloud.points.dtype == kind
        assert cloud.description == f"50 points from column {name}"
        pieces = [piece.points for piece, _ in batches(path, rows=4)]
        assert max(map(len, pieces)) <= 4
        np.testing.assert_array_equal(np.concatenate(pieces), vectors)
        assert parquet.outline(path, ReadOptions())[1:3] == ((7,) * 7 + (1,), width)


def test_columns_are_chosen_by_name(save):
    lists = [[0.0, 1.0], [1.0, 0.0]]
    path = save({**xyz(AXES[:2]), "code": lists, "emb": lists, "p": [1, 3]})
    np.testing.assert_array_equal(read(path, options=ReadOptions(points="CODE", weights="p")).points, lists)
    np.testing.assert_array_equal(read(path, options=ReadOptions(points=("x", "y", "z"))).points, AXES[:2])
    refused(path, "has both x, y, z and emb; choose with points=('x', 'y', 'z') or points='emb'")
    refused(path, "column p does not hold lists", points="p")
    refused(path, "not both", points="code", lon="x")
    refused(path, "no column 'nosuch', asked for by points='nosuch'", "found columns: x, y, z, code", points="nosuch")


def test_pieces_are_what_is_read_whole(save):
    points = he.samplers.uniform(1000, rng=0)
    path = save(xyz(points, w=np.arange(1000) // 500), row_group_size=130)
    whole = read(path)
    pieces = list(batches(path, rows=50))
    np.testing.assert_array_equal(np.concatenate([piece.points for piece, _ in pieces]), whole.points)
    np.testing.assert_array_equal(np.concatenate([piece.weights for piece, _ in pieces]), whole.weights)
    assert [share for _, share in pieces] == sorted(share for _, share in pieces)
    assert pieces[-1][1] == 1
    some = [piece.points for piece, _ in parquet.batches(path, ReadOptions(), 50, [2, 4])]
    np.testing.assert_array_equal(np.concatenate(some), points[np.r_[260:390, 520:650]])


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"a": [1.0], "b": [2.0]}, ["no columns x, y, z or lon, lat", "found columns: a, b"]),
        ({"a": [[1.0, 0.0]]}, ["or a list column such as embedding", "points='COL'"]),
        ({"x": ["a"], "y": [0.0], "z": [0.0]}, ["column x holds string, not numbers"]),
        ({"emb": [["a", "b"]]}, ["column emb holds string, not numbers"]),
        ({"x": [1.0, 1], "y": [0.0, None], "z": [0.0, 0]}, ["row 1 (counted from 0)", "column y is empty (1 of 2"]),
        ({"emb": [[1.0, 0], None]}, ["row 1", "column emb is empty"]),
        ({"emb": [[1.0, 0], [None, 1]]}, ["row 1", "empty entry in its list"]),
        ({"emb": [[1.0, 0], [0.0, 1, 0]]}, ["row 1", "holds 3 numbers, but 2 in", "row 0"]),
        ({"emb": [[1.0], [1.0]]}, ["row 0", "holds 1 numbers", "two or more"]),
        ({"emb": [[1.0, 0], [3.0, 0]]}, ["row 1", "length 3", "normalize=True"]),
        (xyz(2 * AXES), ["row 0", "length 2", "3 of 3", "normalize=True"]),
        ({"x": [1.0, np.nan], "y": [0.0, 0], "z": [0.0, 0]}, ["row 1", "column x is nan, not a finite number"]),
        (xyz(AXES, w=[1.0, 2, -3]), ["row 2", "w is -3", "log_weights='w'"]),
        (xyz(AXES, w=[1, 2, 3], logw=[0.0, 0, 0]), ["both w and logw"]),
        ({"lon": [0.1, 0.2], "lat": [0.1, 0.2]}, ["degrees or radians", "units='deg' or units='rad'"]),
        ({"lon": [10.0, 10], "lat": [20.0, 95]}, ["row 1", "column lat is 95"]),
        ({"x": [0.5], "y": [0.5], "z": [0.5], "w": [0.5]}, ["unit quaternions"]),
    ],
)
def test_bad_tables_are_refused_with_the_place_and_the_remedy(save, columns, parts):
    refused(save(columns), "a.parquet", *parts)


def test_rows_are_counted_through_row_groups_and_pieces(save):
    points = he.samplers.uniform(100, rng=0)
    points[77] *= 3
    path = save(xyz(points), row_group_size=30)
    with pytest.raises(he.InputError, match="row 77 "):
        list(batches(path, rows=8))
    with pytest.raises(he.InputError, match="row 77 "):
        list(parquet.batches(path, ReadOptions(), 8, [2]))


def test_units_are_told_from_the_whole_file(save):
    """The first piece alone could be radians; the last one settles it."""
    path = save({"lon": np.linspace(0, 300, 100), "lat": np.linspace(0, 80, 100)}, row_group_size=5)
    pieces = list(batches(path, rows=2))
    np.testing.assert_allclose(np.concatenate([piece.points for piece, _ in pieces]), read(path).points)


def test_a_file_without_rows_has_no_pieces(save):
    path = save(xyz(AXES[:0]))
    assert list(batches(path)) == []
    with pytest.raises(he.InputError, match=r"a\.parquet has no rows"):
        read(path)


def test_damage_is_refused_with_the_name(save, tmp_path):
    path = save(xyz(he.samplers.uniform(1000, rng=0)), compression="snappy", write_page_checksum=True)
    whole = path.read_bytes()
    for content in (b"", b"PAR1", whole[:500], whole[:-3], whole[:50] + b"\xff" * 2000 + whole[2050:]):
        path.write_bytes(content)
        refused(path, "a.parquet cannot be read as Parquet", "write it again")
    with pytest.raises(he.InputError, match=r"nowhere\.parquet does not exist"):
        parquet.outline(tmp_path / "nowhere.parquet", ReadOptions())


def test_without_pyarrow_the_install_line_is_given(save, monkeypatch):
    path = save(xyz(AXES))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(he.MissingExtraError, match=r"pip install 'heatess\[table\]'"):
        read(path)
