"""Damaged, truncated and invented files: every reader gives a heatess error or exactly what is in the file."""

from __future__ import annotations

import csv
import io
import math
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import heatess as he
from heatess.readers import open_table, read
from heatess.tables.column_meaning import Reading
from heatess.tables.points_and_weights import Taken, take

POINTS = he.samplers.fibonacci(20)
ERRORS = (he.InputError, he.MissingExtraError)

#: Files are small: whatever their headers claim, reading one takes no more memory than this.
MOST_MEMORY = 2**26


def npy_file() -> bytes:
    stream = io.BytesIO()
    np.save(stream, POINTS)
    return stream.getvalue()


def parquet_file(**how: Any) -> bytes:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {name: POINTS[:, place] for place, name in enumerate("xyz")}
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns | {"w": np.arange(20)}), sink, row_group_size=7, **how)
    return bytes(sink.getvalue().to_pybytes())


def vector_file() -> bytes:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"embedding": POINTS.tolist()}), sink, write_page_checksum=True)
    return bytes(sink.getvalue().to_pybytes())


def csv_file(delimiter: str = ",") -> bytes:
    rows = [["x", "y", "z", "logw"], *([*map(repr, row), repr(0.5)] for row in POINTS.tolist())]
    return "\n".join(delimiter.join(row) for row in rows).encode()


def state_file() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        he.Accumulator(max_degree=6).add(POINTS, np.arange(1.0, 21.0)).save(Path(folder) / "a.npz")
        return (Path(folder) / "a.npz").read_bytes()


VALID: dict[str, tuple[str, Callable[[], bytes]]] = {
    "csv": (".csv", csv_file),
    "semicolons": (".csv", lambda: csv_file(";")),
    "places": (".csv", lambda: b"lon,lat,weight\n10,20,1\n-170,-80,2.5\n359,90,0\n"),
    "tsv": (".tsv", lambda: csv_file("\t")),
    "npy": (".npy", npy_file),
    "parquet": (".parquet", lambda: parquet_file(write_page_checksum=True)),
    "compressed parquet": (".pq", lambda: parquet_file(compression="gzip", write_page_checksum=True)),
    "old parquet": (".parquet", lambda: parquet_file(version="1.0", use_dictionary=False, compression="none")),
    "parquet vectors": (".parquet", vector_file),
}

EXTREME = [
    b"\0",
    b"\xff" * 4,
    b"\xff" * 8,
    b"\x7f" + b"\xff" * 7,
    b"9" * 30,
    b"nan",
    b"-",
    b"\n",
    b",",
    b'"',
    b"1e999",
    b"{",
]


@st.composite
def damage(draw: st.DrawFn, whole: bytes) -> bytes:
    """A valid file with a few changes: bits flipped, bytes cut out, doubled, moved or put in."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(len(data) - 1, 0)))
        length = draw(st.integers(1, 16))
        kind = draw(st.integers(0, 5))
        if kind == 0 and data:
            data[start] ^= 1 << draw(st.integers(0, 7))
        elif kind == 1:
            del data[start : start + length]
        elif kind == 2:
            data[start:start] = draw(st.sampled_from(EXTREME))
        elif kind == 3:
            data[start : start + length] = draw(st.binary(min_size=length, max_size=length))
        elif kind == 4:
            data[start:start] = data[start : start + 40 * length]
        else:
            del data[start:]
    return bytes(data)


def values_of(path: Path) -> np.ndarray:
    """The numbers of a file as NumPy or pyarrow alone read them, to compare with."""
    if path.suffix == ".npy":
        return np.load(path)
    from pyarrow import parquet

    table = parquet.read_table(path)
    names = {name.lower(): name for name in table.column_names}
    if "x" in names:
        return np.column_stack([table.column(names[name]).to_numpy() for name in "xyz"])
    lists = [name for key, name in names.items() if key in ("embedding", "vector", "emb")]
    [only] = lists or names.values()  # a single column of lists is read whatever its name is
    return np.array(table.column(only).to_pylist())


def raw(path: Path) -> Taken:
    """Points and weights as they are in the file."""
    [taken] = take(open_table(path), Reading())
    return taken


def check_file(path: Path) -> bool:
    """Whether a file was read; if so, it must have been read right. Errors that are not ours go through."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            cloud = read(path)
        except ERRORS as error:
            text = str(error)
            if "\n" in text or path.name not in text:
                raise AssertionError(f"unclear message {text!r}") from error
            return False
        try:
            pieces = list(take(open_table(path), Reading(), 3))
        except he.InputError:  # pyarrow looks closer where it reads row by row
            return False
    if cloud.space.form in ("vectors", "quaternions"):
        np.testing.assert_allclose(np.linalg.norm(cloud.points.astype(float), axis=1), 1, atol=2e-6)
    whole = raw(path)
    for name in ("points", "weights", "log_weights"):
        if getattr(whole, name) is not None:
            joined = np.concatenate([getattr(piece, name) for piece in pieces])
            np.testing.assert_array_equal(joined, getattr(whole, name))
    for values in (whole.weights, whole.log_weights):
        assert values is None or (values.shape == (cloud.n,) and not np.isnan(values).any())
    assert cloud.weights.sum() == pytest.approx(1)
    assert whole.weights is None or whole.weights.max() > 0
    if path.suffix in (".npy", ".parquet", ".pq"):
        np.testing.assert_array_equal(values_of(path), whole.points)
    return True


FAST = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
LONG = settings(FAST, max_examples=400)


def fuzz_reader(folder: Path, kind: str, profile: settings) -> None:
    suffix, make = VALID[kind]
    path, whole = folder / f"fuzz{suffix}", make()
    path.write_bytes(whole)
    assert check_file(path), "the file must be good before it is damaged"

    @profile
    @given(
        st.one_of(damage(whole), st.binary(max_size=300), st.binary(max_size=60).map(lambda tail: whole[:12] + tail))
    )
    def trial(content: bytes) -> None:
        path.write_bytes(content)
        check_file(path)

    trial()


def fuzz_state(folder: Path, profile: settings) -> None:
    path, whole = folder / "state.npz", state_file()
    path.write_bytes(whole)
    expected = he.Accumulator.load(path).checksum()

    @profile
    @given(st.one_of(damage(whole), st.binary(max_size=300)))
    def trial(content: bytes) -> None:
        path.write_bytes(content)
        try:
            found = he.Accumulator.load(path)
        except he.InputError:
            return
        assert found.checksum() == expected

    trial()


FIELDS = """0|1|-1|0.6|0.8|-0.6|1e0| 1|+1|1.0000001|0.5|2|nan|inf|-inf|| |x|1e-320|1e999|9007199254740993|90|-180|360
|0x1|1_0|'1'|"1"|1,0|\u0661|1e400|-0|.6|1.|1e|--1|1 1"""
HEADERS = "x,y,z|X,Y,Z|x,y,z,w|x,y,z,logw|lon,lat|lon,lat,weight|a,b|x,y,z,w,weight|# x,y,z|x,y,z,||y,x,z"


def fuzz_tables(folder: Path, profile: settings) -> None:
    """Tables made of likely fields: what is read is what Python's own csv and float read."""
    path = folder / "table.csv"
    headers, fields = (st.sampled_from(text.replace("\n", "").split("|")) for text in (HEADERS, FIELDS))

    @profile
    @given(headers, st.lists(st.lists(fields, min_size=2, max_size=5), max_size=4))
    def trial(header: str, rows: list[list[str]]) -> None:
        path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
        if not check_file(path):
            return
        cloud = raw(path)
        header_names = [name.strip(" #").lower() for name in header.split(",")]
        parsed = list(csv.reader(io.StringIO(path.read_text())))[1:]
        filled = [row for row in parsed if any(field.strip() for field in row)]
        if cloud.kind.columns == ["rows"]:  # numbers alone, or below a comment that does not fit them as a header
            np.testing.assert_array_equal(cloud.points, np.array(filled, dtype=float))
            return
        assert header
        table = np.array([[float(row[place]) for place, name in enumerate(header_names) if name] for row in filled])
        if header_names[:2] == ["lon", "lat"]:
            lon, lat = np.radians(table[:, 0]), np.radians(table[:, 1])
            points = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
        else:
            points = table[:, [header_names.index(name.lower()) for name in cloud.kind.columns]]
        np.testing.assert_array_equal(cloud.points, points)
        weights = cloud.weights if cloud.weights is not None else cloud.log_weights
        if weights is not None:
            np.testing.assert_array_equal(weights, table[:, -1])

    trial()


NAMES = [
    "Sphere(2)",
    "Torus(2, periods=(1.0, 24.0))",
    "Product(Sphere(2), Circle(), metric_scales=(1.0, 0.5))",
    "Rotations()",
]
PIECES = [
    "Sphere",
    "Torus",
    "Product",
    "Euclidean",
    "Hyperbolic",
    "ComplexProjective",
    "(",
    ")",
    ",",
    "=",
    "*",
    "**",
    "[",
    "]",
]
PIECES += [
    "2",
    "-1",
    "1e999",
    "9" * 30,
    "0",
    "1.5",
    "periods",
    "scales",
    "dim",
    "None",
    "'a'",
    "1j",
    "{}",
    "lambda: 0",
    "\0",
    "#",
]


@settings(FAST, max_examples=300)
@given(st.sampled_from(NAMES), st.lists(st.tuples(st.integers(0, 60), st.sampled_from(PIECES)), max_size=5))
def test_names_of_spaces_give_a_space_or_a_heatess_error(name, changes):
    for place, piece in changes:
        name = name[:place] + piece + name[place + len(piece) % 3 :]
    try:
        space = he.spaces.named(name)
    except he.InputError:
        return
    assert isinstance(space, he.Space)


@pytest.mark.parametrize("kind", VALID)
def test_damaged_files_are_refused_or_read_right(tmp_path, kind):
    fuzz_reader(tmp_path, kind, FAST)


def test_damaged_states_are_refused_or_unchanged(tmp_path):
    fuzz_state(tmp_path, FAST)


def test_tables_of_likely_fields_are_refused_or_read_right(tmp_path):
    fuzz_tables(tmp_path, FAST)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*VALID, "state", "table"])
def test_thousands_of_damaged_files_are_refused_or_read_right(tmp_path, kind):
    if kind == "state":
        fuzz_state(tmp_path, LONG)
    elif kind == "table":
        fuzz_tables(tmp_path, LONG)
    else:
        fuzz_reader(tmp_path, kind, LONG)


# Headers that claim more than there is.


def claims() -> dict[str, tuple[str, bytes]]:
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (SHAPE), }"
    found = {}
    for shape in (
        "10**15, 3",
        "1000000000000000, 3",
        "3, 1000000000000000",
        "9223372036854775807, 2",
        "4294967296, 4294967296",
    ):
        text = header.replace("SHAPE", shape).ljust(117) + "\n"
        found[f"npy {shape}"] = (".npy", b"\x93NUMPY\x01\x00v\x00" + text.encode() + bytes(100))
    for size in (2**31 - 1, 2**32 - 1):
        found[f"npy header {size}"] = (".npy", b"\x93NUMPY\x02\x00" + size.to_bytes(4, "little") + bytes(100))
        found[f"parquet footer {size}"] = (".parquet", b"PAR1" + bytes(50) + size.to_bytes(4, "little") + b"PAR1")
    found["csv field"] = (".csv", b"x,y,z\n1,0," + b"x" * 2**20)
    found["csv lines"] = (".csv", b"x,y,z\n" + b"\n" * 2**16)
    return found


@pytest.mark.parametrize("claim", claims())
def test_claims_of_size_take_no_memory(tmp_path, claim):
    suffix, content = claims()[claim]
    path = tmp_path / f"claim{suffix}"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(he.InputError):
            read(path, normalize=True)
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()


def test_a_huge_vector_is_normalised_without_overflow(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[3e300, 4e300], [3e-300, 4e-300], [3.0, 4.0], [5e-324, 0.0]]))
    found = read(tmp_path / "a.npy", normalize=True, missing="none").points
    np.testing.assert_allclose(found, [[0.6, 0.8]] * 3 + [[1, 0]], rtol=1e-15)
    assert math.isclose(float(np.linalg.norm(found[0])), 1, rel_tol=1e-15)
