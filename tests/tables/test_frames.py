"""Data frames of every package as tables."""

from __future__ import annotations

import datetime
import math
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

from heatess.base.errors import InputError
from heatess.tables.frames import frame_table
from heatess.tables.table import Columns

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
xr = pytest.importorskip("xarray")

NAN = math.nan


def values(found, *names, rows=None):
    pieces = list(found.pieces(names, rows))
    return [np.concatenate([piece.columns[k] for piece in pieces]).tolist() for k in range(len(names))]


def same(found, expected):
    np.testing.assert_array_equal(np.array(found, dtype=float), np.array(expected, dtype=float))


COLUMNS = {
    "lon": [1.5, 2.5, None],
    "name": ["a", None, "c"],
    "count": [1, 2, 3],
    "flag": [True, False, True],
    "day": [datetime.date(2024, 1, 1)] * 3,
    "e": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict, lambda c: pl.DataFrame(c).lazy()])
def test_numbers_and_vectors_are_found_in_every_kind_of_frame(make):
    found = frame_table(make(COLUMNS))
    assert (found.names, list(found.lists)) == (["lon", "count"], ["e"])
    for rows in (None, 2):
        lon, count, vectors = values(found, "lon", "count", "e", rows=rows)
        same(lon, [1.5, 2.5, NAN])
        same(count, [1, 2, 3])
        same(vectors, COLUMNS["e"])


@pytest.mark.parametrize("kind", ["Int64", "Float32", "Float64", "UInt8", "int64[pyarrow]", "double[pyarrow]"])
def test_nullable_numbers_of_pandas(kind):
    found = frame_table(pd.DataFrame({"x": pd.array([1, None, 3], dtype=kind)}))
    same(values(found, "x")[0], [1, NAN, 3])


def test_what_pandas_holds_besides_numbers_is_left_out():
    frame = pd.DataFrame(
        {
            "x": [1.0, 2.0],
            "text": ["a", "b"],
            "category": pd.Categorical([1, 2]),
            "string": pd.array(["a", "b"], dtype="string"),
            "arrow": pd.array(["a", "b"], dtype="string[pyarrow]"),
            "flag": pd.array([True, None], dtype="boolean"),
            "day": pd.to_datetime(["2024-01-01", "2024-01-02"]),
            "zone": pd.to_datetime(["2024-01-01", "2024-01-02"], utc=True),
            "span": pd.to_timedelta([1, 2]),
            "decimal": [Decimal(1), Decimal(2)],
            "mixed": [1, "a"],
            "complex": [1j, 2j],
            "records": [{"a": 1}, {"b": 2}],
            "words": [["a"], ["b"]],
        },
        index=pd.Index([7, 9], name="id"),
    )
    found = frame_table(frame)
    assert (found.names, list(found.lists)) == (["x"], [])


def test_objects_of_pandas_that_are_numbers_or_vectors():
    frame = pd.DataFrame({"x": pd.Series([1, None, 2.5], dtype=object), "e": [np.float32([1, 2]), None, [3, 4]]})
    found = frame_table(frame)
    assert (found.names, list(found.lists)) == (["x"], ["e"])
    same(values(found, "x")[0], [1, NAN, 2.5])
    same(values(found, "e")[0], [[1, 2], [NAN, NAN], [3, 4]])


def test_lists_of_arrow_within_pandas():
    column = pd.array([[1.0, 2.0], None], dtype=pd.ArrowDtype(pa.list_(pa.float64())))
    same(values(frame_table(pd.DataFrame({"e": column})), "e")[0], [[1, 2], [NAN, NAN]])


def test_sparse_columns_and_names_of_several_levels():
    frame = pd.DataFrame({("q", "x"): pd.arrays.SparseArray([0.0, 1.0]), ("q", "y"): [2, 3], 5: [4, 5]})
    found = frame_table(frame)
    assert found.names == ["q.x", "q.y", "5"]
    same(values(found, *found.names), [[0, 1], [2, 3], [4, 5]])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1.0, 2.0]], columns=["x", "x"]),
        pd.DataFrame([[1.0, None]], columns=["x", "x"]),
        pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["x", "x"]),
    ],
)
def test_columns_of_one_name_are_refused_by_name(frame):
    with pytest.raises(InputError, match="has 2 columns 'x'; rename or drop one of them"):
        frame_table(frame)


def test_keys_that_read_the_same_are_refused():
    with pytest.raises(InputError, match="the dict has 2 columns '0'; rename or drop one"):
        frame_table({0: [1.0], "0": [2.0]})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_vectors_of_two_lengths_are_refused(make):
    with pytest.raises(InputError, match=r"row 1 \(counted from 0\): column e holds 1 numbers, but"):
        values(frame_table(make({"e": [[1.0, 2.0], [3.0]]})), "e")


def test_columns_of_two_lengths_are_refused():
    with pytest.raises(InputError, match="the dict: columns have different lengths, 1 to 2 rows"):
        frame_table({"x": [1.0], "y": [1.0, 2.0]})


def test_vectors_of_polars_keep_their_precision_and_their_nulls():
    frame = pl.DataFrame(
        {"a": [[1, 2], [3, 4]], "b": [[1.5, 2.5], None]},
        schema={"a": pl.Array(pl.Float32, 2), "b": pl.Array(pl.Float64, 2)},
    )
    found = frame_table(frame)
    [piece] = found.pieces(["a", "b"], None)
    assert piece.columns[0].dtype == np.float32
    same(piece.columns[0], [[1, 2], [3, 4]])
    same(piece.columns[1], [[1.5, 2.5], [NAN, NAN]])


def test_decimals_of_polars_are_left_out():
    assert frame_table(pl.DataFrame({"d": [Decimal("1.5")], "x": [1]})).names == ["x"]


def test_dicts_hold_arrays_of_any_kind():
    mask = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
    found = frame_table(
        {"m": mask, "f": np.float16([1, 2, 3]), "v": np.ones((3, 2)), "s": pd.Series([4, 5, 6]), "k": 3}
    )
    assert (found.names, found.lists) == (["m", "f", "s"], ["v"])
    same(values(found, "m", "f", "s"), [[1, NAN, 3], [1, 2, 3], [4, 5, 6]])
    [piece] = found.pieces(["f"], None)
    assert piece.columns[0].dtype == np.float16


def test_records_of_numpy_are_columns():
    array = np.array([(1, 2.5, "a")], dtype=[("x", "i4"), ("y", "f8"), ("c", "U1")])
    found = frame_table(array)
    assert found.names == ["x", "y"]
    same(values(found, "x", "y"), [[1], [2.5]])


@pytest.mark.parametrize(
    "thing", [np.ones((2, 3)), [1, 2], "text", None, 3.5, object(), pd.Series([1]), pl.Series([1])]
)
def test_other_things_are_no_frames(thing):
    assert frame_table(thing) is None


# xarray


def posterior():
    rng = np.random.default_rng(0)
    phi, e = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 4))
    data = {"phi": (("chain", "draw"), phi, {"units": "radians"}), "e": (("chain", "draw", "k"), e)}
    data |= {"name": (("chain", "draw"), np.full((2, 3), "a")), "scale": ((), 3.0), "other": (("k",), np.ones(4))}
    return xr.Dataset(data, coords={"chain": [0, 1], "draw": [0, 1, 2]}), phi, e


def test_chains_and_draws_are_one_after_the_other():
    dataset, phi, e = posterior()
    for made in (dataset, dataset.transpose(), dataset.stack(sample=("chain", "draw"))):
        found = frame_table(made)
        assert (found.names, found.lists, found.units) == (["phi"], ["e"], {"phi": "rad"})
        same(values(found, "phi")[0], phi.reshape(-1))
        same(values(found, "e", rows=4)[0], e.reshape(-1, 4))


def test_the_posterior_of_a_tree_is_taken():
    if not hasattr(xr, "DataTree"):
        pytest.skip("this xarray has no trees")
    dataset, phi, _ = posterior()
    tree = xr.DataTree.from_dict({"posterior": dataset, "prior": dataset[["phi"]] * 0})
    same(values(frame_table(tree), "phi")[0], phi.reshape(-1))


def test_coordinates_beside_the_only_dimension_are_columns():
    dataset = xr.Dataset(
        {"temp": ("station", [1.0, 2.0])},
        {"lon": ("station", [3.0, 4.0], {"units": "degrees_east"}), "station": ["a", "b"]},
    )
    found = frame_table(dataset)
    assert (found.names, found.units) == (["temp", "lon"], {"lon": "deg"})
    same(values(found, "lon")[0], [3, 4])


def test_a_dataset_without_samples_is_refused():
    grid = xr.Dataset({"t": (("lat", "lon"), np.ones((2, 3)))})
    with pytest.raises(InputError, match=r"no dimension sample and no chain and draw .* stack them first"):
        frame_table(grid)
    stacked = grid.stack(sample=("lat", "lon"))
    same(values(frame_table(stacked), "t")[0], np.ones(6))


# astropy, by a stand-in: the package itself is not needed to read its tables


class FakeColumn(np.ma.MaskedArray):
    unit = None


def fake_table(columns, units):
    made = {}
    for name, column in columns.items():
        made[name] = np.ma.masked_array(column).view(FakeColumn)
        made[name].unit = units.get(name)
    get = {"__getitem__": lambda self, name: made[name], "colnames": list(made)}
    return type("Table", (), get | {"__module__": "astropy.table.table"})()


def test_columns_of_astropy_have_units_and_masks():
    columns = {"ra": np.ma.masked_array([1.0, 2.0], [0, 1]), "name": ["a", "b"], "v": np.ones((2, 3)), "n": [1, 2]}
    found = frame_table(fake_table(columns, {"ra": "deg", "n": "mag"}))
    assert (found.names, found.lists, found.units) == (["ra", "n"], ["v"], {"ra": "deg"})
    same(values(found, "ra")[0], [1, NAN])


def test_frames_are_told_without_importing_their_packages():
    code = (
        "import sys; from heatess.tables.frames import frame_table; import numpy as np; "
        "assert frame_table({'x': [1.0]}).names == ['x']; assert frame_table(np.ones(3)) is None; "
        "print([name for name in ('pandas', 'polars', 'pyarrow', 'astropy', 'xarray') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_table_of_a_frame_is_in_memory():
    assert isinstance(frame_table(pd.DataFrame({"x": [1.0]})), Columns)
