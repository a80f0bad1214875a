"""NumPy .npy files: an (n, d) array of unit vectors, with weights in a second .npy file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import as_float64
from ..blocks import slices
from ..errors import InputError
from .cloud import Cloud, Place, ReadOptions, checked_weights, row_places, unit_vectors

#: Bytes of a header; that of an array of numbers has about a hundred.
LONGEST_HEADER = 10_000


def batches(path: Path, options: ReadOptions, rows: int | None) -> Iterator[tuple[Cloud, float]]:
    """Points of at most *rows* rows, or of all if None, with their weights and the fraction of the file read."""
    if options.points or options.lon or options.lat or options.units:
        reason = "is an array without column names, so units= and names of columns have no meaning"
        raise InputError(f"{path} {reason}; leave them out, or give a CSV file with a header")
    points = _mapped(path)
    if points.ndim != 2 or points.shape[1] < 2:
        raise InputError(f"{path} has shape {points.shape}, not (n, d) with d >= 2; save one unit vector per row")
    n, width = points.shape
    if not n:
        raise InputError(f"{path} holds no points (shape {points.shape}); at least one is needed")
    logs, normalize = options.log_weights is not None, options.normalize
    name = options.log_weights if logs else options.weights
    words = f"{'vectors (normalized)' if normalize else 'unit vectors'} with {width} coordinates"
    values = weights = None
    if name is not None and name != "none":
        values = _weights(Path(name), n, "log_weights=" if logs else "weights=")
        words += f"; {'log-weights' if logs else 'weights'} from {name}"
    hint = "longitude and latitude belong in a CSV file with the header lon,lat; " if width == 2 else ""
    for part in slices(n, rows or n):
        place = row_places(path, part.start)
        vectors = unit_vectors(_loaded(points[part], place), place, normalize=normalize, hint=hint)
        if values is not None:
            file = Path(str(name))
            place = row_places(file, part.start)
            loaded = _loaded(values[part], place).astype(np.float64, copy=False)
            weights = checked_weights(loaded, place, file.name, logs=logs, zero_ok=rows is not None)
        plain, log = (None, weights) if logs else (weights, None)
        yield Cloud(vectors, plain, log, f"{len(vectors):,} {words}", str(path)), part.stop / n


def _weights(path: Path, n: int, option: str) -> NDArray[Any]:
    """The array of weights for *n* points, not yet loaded."""
    is_npy = path.suffix.lower() == ".npy"
    if not is_npy or not path.is_file():
        reason = "does not exist" if is_npy else "is not a .npy file"
        raise InputError(f"{path} {reason}; with points in a .npy file, {option} takes a .npy file of {n:,} numbers")
    values = _mapped(path)
    if values.shape not in ((n,), (n, 1)):
        raise InputError(f"{path} has shape {values.shape}, but there are {n:,} points; save one number per point")
    return values.reshape(n)


def _mapped(path: Path) -> NDArray[Any]:
    """The array of a .npy file, mapped into memory, if it is real numbers; pickled objects are never loaded."""
    with path.open("rb") as stream:
        start = stream.read(12)
    magic, room = start[:6], start[8:10] if start[6:7] == b"\1" else start[8:12]
    if magic != b"\x93NUMPY":
        found = "is empty" if not magic else "is a zip archive" if magic[:2] == b"PK" else "does not hold .npy data"
        raise InputError(f"{path} {found}; write it with numpy.save(path, array)")
    if int.from_bytes(room, "little") > LONGEST_HEADER:  # which NumPy would make room for first
        raise InputError(f"{path} is damaged: its header claims to be too long; write it again with numpy.save")
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        spare = path.stat().st_size - mapped.offset - mapped.nbytes
    except OSError:
        raise
    except Exception as error:  # a damaged header makes NumPy raise nearly anything
        if "object" in str(error).lower():
            reason = "holds Python objects, which are never loaded; save it as numbers: array.astype(float)"
        else:
            found = " ".join(str(error).split())[:200]
            reason = f"is damaged or cut short ({found}); write it again with numpy.save(path, array)"
        raise InputError(f"{path} {reason}") from None
    if spare:
        raise InputError(f"{path} holds {spare:,} bytes after its array; save one array per file with numpy.save")
    if mapped.dtype.kind not in "fiu":
        raise InputError(f"{path} holds {mapped.dtype}, not real numbers; save it as numbers: array.astype(float)")
    return np.asarray(mapped)


def _loaded(part: NDArray[Any], place: Place) -> NDArray[Any]:
    """A copy in memory, in native byte order and no more precise than float64."""
    if part.dtype.kind == "f" and part.dtype.itemsize <= 8:
        return np.array(part, dtype=part.dtype.newbyteorder("="))
    return as_float64(part, "the array", place)
