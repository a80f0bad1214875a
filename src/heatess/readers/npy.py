"""NumPy .npy files: an (n, d) array of unit vectors, with weights in a second .npy file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import slices
from ..errors import InputError
from .cloud import Cloud, Place, ReadOptions, checked_weights, unit_vectors


def read(path: Path, options: ReadOptions) -> Cloud:
    """All points of the file, one atom per row, with their weights."""
    [(cloud, _)] = _clouds(path, options, None)
    return cloud


def batches(path: Path, options: ReadOptions, rows: int) -> Iterator[tuple[Cloud, float]]:
    """The same in pieces of at most *rows*, each with the fraction of the file read so far."""
    return _clouds(path, options, rows)


def _clouds(path: Path, options: ReadOptions, limit: int | None) -> Iterator[tuple[Cloud, float]]:
    if options.xyz or options.lon or options.lat or options.units or options.vector:
        raise InputError(
            f"{path} is an array without column names, so units= and names of columns have no meaning; "
            "leave them out, or give a CSV file with a header"
        )
    points = _mapped(path)
    if points.ndim != 2 or points.shape[1] < 2:
        raise InputError(
            f"{path} holds an array of shape {points.shape}, not (n, d) with d >= 2; save one unit vector per row"
        )
    if not len(points):
        raise InputError(f"{path} holds no points (shape {points.shape}); at least one is needed")
    weights = _weights(options.weights, len(points), logs=False)
    log_weights = _weights(options.log_weights, len(points), logs=True)
    for rows in slices(len(points), limit or len(points)):
        cloud = Cloud(
            _vectors(points[rows], path, rows.start, options),
            _checked(weights, options.weights, rows, logs=False, zero_ok=limit is not None),
            _checked(log_weights, options.log_weights, rows, logs=True, zero_ok=limit is not None),
            _described(rows.stop - rows.start, points.shape[1], options),
            str(path),
        )
        yield cloud, rows.stop / len(points)


def _vectors(points: NDArray[Any], path: Path, start: int, options: ReadOptions) -> NDArray[Any]:
    hint = "longitude and latitude belong in a CSV file with the header lon,lat; " if points.shape[1] == 2 else ""
    return unit_vectors(_loaded(points), _places(path, start), normalize=options.normalize, hint=hint)


def _described(n: int, width: int, options: ReadOptions) -> str:
    kind = "vectors (normalized)" if options.normalize else "unit vectors"
    words = f"{n:,} {kind} with {width} coordinates"
    if options.weights and options.weights != "none":
        words += f"; weights from {options.weights}"
    return words + (f"; log-weights from {options.log_weights}" if options.log_weights else "")


def _weights(name: str | None, n: int, *, logs: bool) -> NDArray[Any] | None:
    """The array of weights for *n* points, not yet loaded."""
    if name is None or name == "none":
        return None
    path = Path(name)
    option = "log_weights=" if logs else "weights="
    if path.suffix.lower() != ".npy" or not path.is_file():
        reason = "does not exist" if path.suffix.lower() == ".npy" else "is not a .npy file"
        raise InputError(f"{name} {reason}; with points in a .npy file, {option} takes a .npy file of {n:,} numbers")
    values = _mapped(path)
    if values.shape not in ((n,), (n, 1)):
        raise InputError(
            f"{path} holds an array of shape {values.shape}, but there are {n:,} points; save one per point"
        )
    return values.reshape(n)


def _checked(
    values: NDArray[Any] | None, name: str | None, rows: slice, *, logs: bool, zero_ok: bool
) -> NDArray[np.float64] | None:
    if values is None or name is None:
        return None
    path = Path(name)
    loaded = _loaded(values[rows]).astype(np.float64, copy=False)
    return checked_weights(loaded, _places(path, rows.start), path.name, logs=logs, zero_ok=zero_ok)


def _mapped(path: Path) -> NDArray[Any]:
    """The array of a .npy file, mapped into memory, if it is real numbers; pickled objects are never loaded."""
    with path.open("rb") as stream:
        magic = stream.read(6)
    if magic != b"\x93NUMPY":
        found = "is empty" if not magic else "is a zip archive" if magic[:2] == b"PK" else "does not hold .npy data"
        raise InputError(f"{path} {found}; write it with numpy.save(path, array)")
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        if "object" in str(error).lower():
            reason = "holds Python objects, which are never loaded; save it as numbers: array.astype(float)"
        else:
            reason = f"is damaged or cut short ({error}); write it again with numpy.save(path, array)"
        raise InputError(f"{path} {reason}") from None
    if mapped.dtype.kind not in "fiu":
        raise InputError(
            f"{path} holds {mapped.dtype} values, not real numbers; save it as numbers: array.astype(float)"
        )
    return np.asarray(mapped)


def _loaded(part: NDArray[Any]) -> NDArray[Any]:
    """A copy in memory, in native byte order and no more precise than float64."""
    keep = part.dtype.kind == "f" and part.dtype.itemsize <= 8
    return np.array(part, dtype=part.dtype.newbyteorder("=") if keep else np.float64)


def _places(path: Path, start: int) -> Place:
    return lambda row: f"{path} row {start + row} (counted from 0)"
