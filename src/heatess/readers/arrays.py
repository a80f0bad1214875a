"""NumPy files: .npy, mapped into memory, and .npz archives. Pickled objects are never loaded."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from lzma import LZMAError
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..base.known import of_stack
from ..spaces.row_shapes import poses_in
from ..tables.grids import Grid
from ..tables.table import Columns, Piece, Rows, Table
from ..tables.unnamed_arrays import with_axes
from ..tables.variables import Variable
from .packed_size import refuse_expansion

SUFFIXES = (".npy", ".npz")

#: Bytes of a header; that of an array of numbers has about a hundred.
LONGEST_HEADER = 10_000

#: What a damaged archive may raise.
_DAMAGE = (
    *(
        ValueError,
        EOFError,
        OverflowError,
        SyntaxError,
        MemoryError,
        NotImplementedError,
        RuntimeError,
        OSError,
        KeyError,
    ),
    *(zipfile.BadZipFile, zlib.error, LZMAError, TokenError),
)


class Header(NamedTuple):
    """What an archive says about an array before it is loaded."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def table(path: Path) -> Table:
    """The rows of one array (n, d), or the columns of several.

    An archive with one array is that array. Latitudes, longitudes and an array over both are a grid. Several of one
    length are columns by their names: numbers (n,) and at most one array of vectors (n, d). Single numbers and text in
    an archive are left out.
    """
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}; check its permissions") from None
    return _archive(path) if path.suffix.lower() == ".npz" else _of_array(mapped(path), str(path))


def _of_array(array: NDArray[Any], source: str) -> Table:
    if array.dtype.names:
        _refuse_empty(array.shape, source)
        fields = {name: array[name] for name in array.dtype.names if array.dtype[name].base.kind in "fiu"}
        return Columns(fields, source)
    if array.dtype.kind == "c":
        raise InputError(
            f"{source} holds <!{array.dtype}!>, not <+real numbers+>; for phases z save `numpy.angle(z)`, and read "
            "them with `space='torus'` and `units='rad'`; for vectors save their real and imaginary parts as columns"
        )
    if array.dtype.kind not in "fiu":
        raise InputError(f"{source} holds <!{array.dtype}!>, not <+real numbers+>; save numbers: `array.astype(float)`")
    if array.ndim == 3 and _is_stack(array):
        rows = Rows(array.reshape(-1, array.shape[2]), source)
        rows.known = of_stack(*array.shape[:2])
        rows.note = f"{len(array):,} chains of {array.shape[1]:,} draws"
        return rows
    if array.ndim not in (1, 2) or 0 in array.shape[1:]:
        raise InputError(f"{source} has <!shape {array.shape}!>, not <+(n, d)+>; {_remedy(array)}")
    _refuse_empty(array.shape, source)
    return Rows(array.reshape(len(array), -1), source)


def _is_stack(array: NDArray[Any]) -> bool:
    """Whether an array (chain, draw, d) holds unit vectors, as the draws of chains on a sphere are."""
    if not array.size or array.shape[2] < 2 or poses_in(array):
        return False
    some = np.asarray(array[:, :1000], dtype=np.float64)
    return bool((np.abs(np.einsum("cdj,cdj->cd", some, some) - 1) < 1e-6).all())


def _remedy(array: NDArray[Any]) -> str:
    """How an array of other than two axes is saved as rows."""
    if array.ndim == 3 and poses_in(array):
        part = "array" if array.shape[1:] == (3, 3) else "array[:, :3, :3]"
        call = f"scipy's `Rotation.from_matrix({part}).as_quat()`"
        argument = "{'qx': '0', 'qy': '1', 'qz': '2', 'qw': '3'}"
        return f"save its rotations as quaternions, {call}, and read those with `columns={argument}`"
    if array.ndim < 3 or not array.size:
        return "save one point per row"
    rows = f"array.reshape(-1, {array.shape[-1]})"
    return f"save one point per row: `{rows}`" + (_with_chains(array.shape, rows) if array.ndim == 3 else "")


def _with_chains(shape: tuple[int, ...], rows: str) -> str:
    """How draws of chains are saved, so that they are known to be such; there are fewer chains than draws."""
    axis = int(shape[0] > shape[1])
    chain = f"numpy.indices(array.shape[:2])[{axis}].ravel()"
    return (
        f"; if these are {shape[axis]:,} Markov chains of {shape[1 - axis]:,} draws, save which is of which chain too: "
        f"`numpy.savez('chains.npz', points={rows}, chain={chain})`"
    )


def _refuse_empty(shape: tuple[int, ...], source: str) -> None:
    if not shape or not shape[0]:
        raise InputError(f"{source} holds <!no points (shape {shape})!>; <+at least one+> is needed")


def mapped(path: Path) -> NDArray[Any]:
    """The array of a .npy file, mapped into memory."""
    with path.open("rb") as stream:
        start = stream.read(12)
    magic, room = start[:6], start[8:10] if start[6:7] == b"\1" else start[8:12]
    if magic != b"\x93NUMPY":
        found = "is empty" if not magic else "is a zip archive" if magic[:2] == b"PK" else "does not hold .npy data"
        raise InputError(f"{path} {found}; write it with `numpy.save(path, array)`")
    if int.from_bytes(room, "little") > LONGEST_HEADER:  # which NumPy would make room for first
        raise InputError(f"{path} is damaged: its header claims to be too long; write it again with `numpy.save`")
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        spare = path.stat().st_size - mapped.offset - mapped.nbytes
    except OSError:
        raise
    except Exception as error:  # a damaged header makes NumPy raise nearly anything
        if "object" in str(error).lower():
            reason = "holds <!Python objects!>, which are never loaded; save it as numbers: `array.astype(float)`"
        else:
            reason = f"is damaged or cut short ({_short(error)}); write it again with `numpy.save(path, array)`"
        raise InputError(f"{path} {reason}") from None
    if spare:
        raise InputError(f"{path} holds <!{spare:,} bytes!> after its array; save one array a file with `numpy.save`")
    return np.asarray(mapped)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120]


class Archive(Table):
    """Columns in an archive, loaded when they are wanted."""

    def __init__(self, path: Path, headers: dict[str, Header]) -> None:
        self._path, self.source = path, str(path)
        self.names = [name for name, header in headers.items() if len(header.shape) == 1]
        self.lists = [name for name, header in headers.items() if len(header.shape) == 2]

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Slices of the arrays."""
        arrays = {name: _loaded(self._path, name) for name in names}
        return Columns(arrays, self.source).pieces(names, rows)


def _archive(path: Path) -> Table:
    headers = _headers(path)
    shown = ", ".join(f"{name} {header.shape}" for name, header in headers.items()) or "nothing"
    numeric = {name: header for name, header in headers.items() if header.dtype.kind in "fiu" and header.shape}
    grid = with_axes(str(path), {name: _variable(path, name, header) for name, header in numeric.items()})
    if grid is not None:
        return Grid(str(path), grid)
    others = [header for header in headers.values() if header.shape and header.dtype.kind in "cbV"]
    if len(numeric) == 1 and not others:
        return _of_array(_loaded(path, next(iter(numeric))), str(path))
    lengths = {header.shape[0] for header in numeric.values()}
    shapes = [len(header.shape) for header in numeric.values()]
    if others or len(lengths) != 1 or max(shapes) > 2 or shapes.count(2) > 1:
        expected = "one array of points (n, d), or arrays of n numbers each, or both"
        advice = "save those alone: `numpy.savez(path, points=points, weights=weights)`"
        raise InputError(f"{path} holds <!{shown}!>, but <+{expected}+> are needed; {advice}")
    _refuse_empty((lengths.pop(),), str(path))
    return Archive(path, numeric)


def _variable(path: Path, name: str, header: Header) -> Variable:
    """An array of an archive, for a grid."""
    dims = ("",) * len(header.shape)
    return Variable(dims, header.shape, header.dtype, {}, lambda index: _loaded(path, name)[index])


def _headers(path: Path) -> dict[str, Header]:
    """Name, shape and type of each array; only the first bytes of each are read."""
    from numpy.lib import format as npy

    headers = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.filename.endswith(".npy"):
                    continue
                with archive.open(info) as stream:
                    version = npy.read_magic(stream)
                    read: Any = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                    shape, _, dtype = read(stream)
                    size = stream.tell() + math.prod(shape) * dtype.itemsize
                if dtype.kind != "O" and size != info.file_size:
                    raise ValueError(f"{info.filename} should have {size:,} bytes, but has {info.file_size:,}")
                headers[info.filename.removesuffix(".npy")] = Header(shape, dtype)
    except _DAMAGE as error:
        raise _damaged(path, error) from None
    return headers


def _loaded(path: Path, name: str) -> NDArray[Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            size = archive.zip.getinfo(f"{name}.npy").file_size
            refuse_expansion(f"{path}: {name}", path.stat().st_size, size, "write it with `numpy.savez`, not packed")
            array: NDArray[Any] = archive[name]
            return array
    except InputError:
        raise
    except _DAMAGE as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> InputError:
    empty = path.stat().st_size == 0
    found = "is empty" if empty else f"is damaged, cut short or too large ({_short(error) or type(error).__name__})"
    return InputError(f"{path} {found}; write it again with `numpy.savez(path, points=points)`")
