"""NumPy .npy files: an (n, d) array of unit vectors, with weights in a second .npy file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .cloud import Cloud, Place, ReadOptions, checked_weights, unit_vectors


def read(path: Path, options: ReadOptions) -> Cloud:
    """Read unit vectors, one atom per row."""
    if options.xyz or options.lon or options.lat or options.units:
        raise InputError(
            f"{path} is an array without column names, so --xyz, --lon, --lat and --units mean nothing; "
            "leave them out, or give a CSV file with a header"
        )
    points = _array(path)
    if points.ndim != 2 or points.shape[1] < 2:
        raise InputError(
            f"{path} holds an array of shape {points.shape}, not (n, d) with d >= 2; save one unit vector per row"
        )
    if not len(points):
        raise InputError(f"{path} holds no points (shape {points.shape}); at least one is needed")
    hint = "longitude and latitude belong in a CSV file with the header lon,lat; " if points.shape[1] == 2 else ""
    points = unit_vectors(points, _places(path), normalize=options.normalize, hint=hint)
    description = f"{len(points):,} unit vectors with {points.shape[1]} coordinates"
    if options.normalize:
        description = description.replace("unit vectors", "vectors (normalized)")
    weights = _weights(options.weights, len(points), logs=False)
    log_weights = _weights(options.log_weights, len(points), logs=True)
    if weights is not None:
        description += f"; weights from {options.weights}"
    if log_weights is not None:
        description += f"; log-weights from {options.log_weights}"
    return Cloud(points, weights, log_weights, description, str(path))


def _weights(name: str | None, n: int, *, logs: bool) -> NDArray[np.float64] | None:
    if name is None or name == "none":
        return None
    path = Path(name)
    option = "--log-weights" if logs else "--weights"
    if path.suffix.lower() != ".npy" or not path.is_file():
        reason = "does not exist" if path.suffix.lower() == ".npy" else "is not a .npy file"
        raise InputError(f"{name} {reason}; with points in a .npy file, {option} takes a .npy file of {n:,} numbers")
    values = _array(path).squeeze()
    if values.shape != (n,):
        raise InputError(
            f"{path} holds an array of shape {values.shape}, but there are {n:,} points; save one per point"
        )
    return checked_weights(values.astype(np.float64), _places(path), path.name, logs=logs)


def _array(path: Path) -> NDArray[Any]:
    """A real numeric array from a .npy file; pickled objects are never loaded."""
    with path.open("rb") as stream:
        magic = stream.read(6)
    if magic != b"\x93NUMPY":
        found = "is empty" if not magic else "is a zip archive" if magic[:2] == b"PK" else "is not a .npy file inside"
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
    keep = mapped.dtype.kind == "f" and mapped.dtype.itemsize <= 8
    return np.array(mapped, dtype=mapped.dtype.newbyteorder("=") if keep else np.float64)


def _places(path: Path) -> Place:
    return lambda row: f"{path} row {row} (counted from 0)"
