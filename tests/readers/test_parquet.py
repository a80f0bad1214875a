"""Parquet files are read by the rules of the other tables, whole or in pieces."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import heatess as he
from heatess.base.blocks import threads
from heatess.readers import open_table, parquet, read
from heatess.tables.column_meaning import Reading
from heatess.tables.points_and_weights import Taken, take, taken_from

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

AXES = np.eye(3)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=[1, 3])
def split(request, monkeypatch):
    """Even small files are read on several threads, or on one."""
    monkeypatch.setattr(parquet, "_WORTH_THREADS", 10)
    monkeypatch.setattr(parquet, "_AHEAD", 20)
    with threads(request.param):
        yield request.param


@pytest.fixture
def save(tmp_path):
    def write(columns, name="a.parquet", **options):
        path = tmp_path / name
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
        return path

    return write


def pieces(path, rows, **options) -> list[Taken]:
    return list(take(open_table(path), Reading(**options), rows))


def raw(path, **options) -> Taken:
    """Points and weights as they are in the file, before any measure is made of them."""
    [taken] = pieces(path, None, **options)
    return taken


def in_pieces(path, **options):
    """Pieces as an accumulator takes them: each is checked by its space."""
    state = None
    for taken in pieces(path, 1000, **options):
        with taken_from(taken):
            state = state or he.Accumulator(taken.space, max_degree=2)
            state.add(taken.points, taken.weights, log_weights=taken.log_weights)


def refused(path, *parts, **options):
    for reading in (read, in_pieces):
        with pytest.raises(he.InputError) as caught:
            reading(path, **options)
        message = str(caught.value)
        for part in parts:
            assert part in message, message
        assert "\n" not in message
        assert "--" not in message


def xyz(points, **more):
    return {**{name: points[:, index] for index, name in enumerate("xyz")}, **more}


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i4", "u1"])
def test_coordinates_of_every_number_type_are_read(save, kind):
    path = save(xyz(AXES.astype(kind), weight=np.array([1, 2, 3], kind)), "a.pq")
    np.testing.assert_array_equal(read(path).points, AXES)
    np.testing.assert_allclose(read(path).weights, [1 / 6, 2 / 6, 3 / 6], rtol=1e-15)
    np.testing.assert_array_equal(raw(path).weights, [1, 2, 3])
    assert read(path).origin.description == "3 points from x, y, z; weights from weight"


def test_longitude_and_latitude(save):
    cloud = raw(save({"Longitude": [0.0, 90, 0], "lat": [0.0, 0, 90], "logw": [0.0, -1, -np.inf]}))
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
        assert cloud.origin.description == f"50 points from {name}; equal weights"
        parts = [piece.points for piece in pieces(path, 4)]
        assert max(map(len, parts)) <= 4
        np.testing.assert_array_equal(np.concatenate(parts), vectors)
        outline = parquet.outline(path, Reading())
        assert (outline.groups, outline.width) == ((7,) * 7 + (1,), width)
        assert outline.space == he.Sphere(width - 1)


def test_columns_are_chosen_by_name(save):
    lists = [[0.0, 1.0], [1.0, 0.0]]
    path = save({**xyz(AXES[:2]), "code": lists, "emb": lists, "p": [1, 3]})
    np.testing.assert_array_equal(read(path, columns="CODE", weights="p").points, lists)
    np.testing.assert_array_equal(read(path, columns=("x", "y", "z")).points, AXES[:2])
    refused(path, "more than one kind of points: (x, y, z) and (emb)", "columns=('x', 'y', 'z') or columns='emb'")
    refused(path, "one number a row, but a vector has two or more", columns="p")
    refused(path, "no column 'nosuch'", "found 6 columns: x, y, z, p, code, emb", columns="nosuch")


def test_pieces_are_what_is_read_whole(save):
    points = he.samplers.uniform(1000, rng=0)
    path = save(xyz(points, w=np.arange(1000) // 500), row_group_size=130)
    whole = raw(path)
    parts = pieces(path, 50)
    np.testing.assert_array_equal(np.concatenate([piece.points for piece in parts]), whole.points)
    np.testing.assert_array_equal(np.concatenate([piece.weights for piece in parts]), whole.weights)
    assert [piece.done for piece in parts] == sorted(piece.done for piece in parts)
    assert parts[-1].done == 1
    some = [piece.points for piece in parquet.pieces(path, Reading(), 50, [2, 4])]
    np.testing.assert_array_equal(np.concatenate(some), points[np.r_[260:390, 520:650]])


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"a": [1.0], "b": [2.0]}, ["no columns known to hold points", "found 2 columns: a, b"]),
        (
            {"a": [[1.0, 0.0]], "b": [[1.0, 0.0]]},
            ["more than one column of vectors", "choose with columns='a' or columns='b'"],
        ),
        ({"x": ["a"], "y": [0.0], "z": [0.0]}, ["column x holds string, not numbers"]),
        ({"emb": [["a", "b"]]}, ["emb"]),
        (
            {"x": [1.0, 1], "y": [0.0, None], "z": [0.0, 0]},
            ["row 1 (counted from 0)", "column y has no number (1 of"],
        ),
        ({"emb": [[1.0, 0], None]}, ["row 1", "column emb has no number"]),
        ({"emb": [[1.0, 0], [None, 1]]}, ["row 1", "column emb has no number"]),
        ({"emb": [[1.0, 0], [0.0, 1, 0]]}, ["row 1", "holds 3 numbers, but 2 in"]),
        ({"emb": [[1.0], [1.0]]}, ["one number a row", "two or more"]),
        ({"emb": [[1.0, 0], [3.0, 0]]}, ["row 1", "length 3", "columns="]),
        (xyz(2 * AXES), ["row 0", "length 2", "3 of 3", "normalize=True"]),
        ({"x": [1.0, np.nan], "y": [0.0, 0], "z": [0.0, 0]}, ["row 1", "column x has no number"]),
        ({"x": [1.0, np.inf], "y": [0.0, 0], "z": [0.0, 0]}, ["row 1", "column x is inf, not a finite number"]),
        (xyz(AXES, w=[1.0, 2, -3]), ["row 2", "w is -3", "log_weights='w'"]),
        (xyz(AXES, w=[1, 2, 3], logw=[0.0, 0, 0]), ["columns w and logw"]),
        ({"lon": [0.1, 0.2], "lat": [0.1, 0.2]}, ["degrees or radians", "units='deg' or units='rad'"]),
        ({"lon": [10.0, 10], "lat": [20.0, 95]}, ["row 1", "column lat is 95"]),
    ],
)
def test_bad_tables_are_refused_with_the_place_and_the_remedy(save, columns, parts):
    refused(save(columns), "a.parquet", *parts)


def test_rows_are_counted_through_row_groups_and_pieces(save):
    points = he.samplers.uniform(100, rng=0)
    points[77] *= 3
    path = save(xyz(points), row_group_size=30)
    for groups in (None, [2]):
        found = list(take(parquet.table(path, groups), Reading(), 8))
        starts = [piece.place(0) for piece in found]
        assert starts[0] == f"{path} row {0 if groups is None else 60} (counted from 0)"
        assert any(place.endswith("row 77 (counted from 0)") for piece in found for place in map(piece.place, range(8)))
    refused(path, "a.parquet row 77 (counted from 0)", "length 3")


@pytest.mark.parametrize("types", ["f8 f8 f8", "f4 f4 f4", "f4 f8 f8"])
def test_row_groups_read_at_the_same_time_are_the_rows_of_the_file(save, split, rng, types):
    x, w = he.samplers.uniform(1000, rng=rng), rng.random(1000)
    columns = [x[:, k].astype(kind) for k, kind in enumerate(types.split())]
    path = save(dict(zip("xyz", columns, strict=True)) | {"w": w}, row_group_size=70)
    taken = raw(path, weights="w")
    assert taken.points.dtype == np.result_type(*columns)
    assert taken.points.flags.c_contiguous
    np.testing.assert_array_equal(taken.points, np.column_stack(columns))
    np.testing.assert_array_equal(taken.weights, w)
    some = parquet.table(path, [3, 4, 5])
    np.testing.assert_array_equal(next(some.joined(["x", "w"], 1)).columns[1], w[210:420])


def test_the_share_read_grows_to_one(save, split, rng):
    table = open_table(save({"lon": rng.uniform(-180, 180, 500), "lat": rng.uniform(-90, 90, 500)}, row_group_size=40))
    shares = []
    table.watch = shares.append
    next(table.pieces(["lon", "lat"], None))
    assert shares == sorted(shares)
    assert len(shares) >= 13
    assert shares[-1] == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3.0])
def test_the_first_bad_row_is_named_whichever_thread_read_it(save, split, rng, bad):
    x = he.samplers.uniform(1000, rng=rng)
    x[[555, 990], 1] = bad
    path = save({"x": x[:, 0], "y": x[:, 1], "z": x[:, 2]}, row_group_size=70)
    with pytest.raises(he.InputError, match=r"row 555 \(counted from 0\).*2 of 1,000 rows"):
        read(path)
    if np.isnan(bad):
        kept = read(path, drop_missing=True)
        np.testing.assert_array_equal(kept.points, np.delete(x, [555, 990], axis=0))


def test_of_two_integers_that_would_be_rounded_the_first_is_named(save, split):
    values = np.zeros(1000, dtype=np.int64)
    values[[120, 980]] = 2**53 + 1
    path = save({"lon": values, "lat": values}, row_group_size=70)
    with pytest.raises(he.InputError, match="row 120 "):
        read(path, units="deg")


def test_units_are_told_from_the_whole_file(save):
    """The first piece alone could be radians; the last one settles it."""
    path = save({"lon": np.linspace(0, 300, 100), "lat": np.linspace(0, 80, 100)}, row_group_size=5)
    np.testing.assert_allclose(np.concatenate([piece.points for piece in pieces(path, 2)]), read(path).points)


def test_a_file_without_rows_is_refused(save):
    path = save(xyz(AXES[:0]))
    refused(path, "a.parquet has no rows")
    assert parquet.outline(path, Reading()).space is None


def test_damage_is_refused_with_the_name(save, tmp_path):
    path = save(xyz(he.samplers.uniform(1000, rng=0)), compression="snappy", write_page_checksum=True)
    whole = path.read_bytes()
    for content in (b"", b"PAR1", whole[:500], whole[:-3], whole[:50] + b"\xff" * 2000 + whole[2050:]):
        path.write_bytes(content)
        refused(path, "a.parquet cannot be read as Parquet", "write it again")
    with pytest.raises(he.InputError, match=r"nowhere\.parquet does not exist"):
        parquet.outline(tmp_path / "nowhere.parquet", Reading())


def test_without_pyarrow_the_install_line_is_given(save, monkeypatch):
    path = save(xyz(AXES))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(he.MissingExtraError, match=r"pip install 'heatess\[table\]'$"):
        read(path)
