"""Read weighted points from files; each file format has its own module.

read            any supported file, by its suffix
batches         the same in pieces, with limited memory
reader_of       the function that reads a file
ReadOptions     columns, units and weights, where the file does not make them clear
Cloud           what was read
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from ..arrays import shown
from ..errors import InputError, InputTypeError
from . import csv, npy, parquet
from .cloud import Cloud, ReadOptions

__all__ = ["Cloud", "ReadOptions", "batches", "read", "reader_of"]

Reader = Callable[[Path, ReadOptions, int | None], Iterator[tuple[Cloud, float]]]

_READERS: dict[str, Reader] = {".npy": npy.batches, ".csv": csv.batches, ".tsv": csv.batches}
_READERS |= dict.fromkeys(parquet.SUFFIXES, parquet.batches)


def read(path: str | os.PathLike[str], *, options: ReadOptions | None = None) -> Cloud:
    r"""Read weighted points from a .npy, .csv, .tsv or .parquet file.

    A .npy file holds an (n, d) array of unit vectors. Tables have columns x, y, z or lon, lat, and optionally
    a column weight or log_weight; *options* takes other names. A .csv or .tsv file has a header; a .parquet
    file may hold whole vectors in a list column such as embedding.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "poles.csv"
    >>> _ = path.write_text("lon,lat,weight\n0,90,3\n0,-90,1\n")
    >>> cloud = read(path)
    >>> cloud.description
    '2 points from columns lon, lat (degrees); weights from column weight'
    >>> cloud.points.round(3) + 0.0, cloud.weights
    (array([[ 0.,  0.,  1.],
           [ 0.,  0., -1.]]), array([3., 1.]))
    """
    [(cloud, _)] = batches(path, options=options, rows=None)
    return cloud


def batches(
    path: str | os.PathLike[str], *, options: ReadOptions | None = None, rows: int | None = 2**20
) -> Iterator[tuple[Cloud, float]]:
    """Read a file in pieces of at most *rows*, or whole if None; each with the fraction of the file read so far.

    The pieces together are what `read` returns. Bad data gives the same error, when its piece is read.
    """
    if options is not None and not isinstance(options, ReadOptions):
        raise InputTypeError(f"options must be ReadOptions, but are {shown(options)}")
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"a file is read by its name, a str or a path, but is {shown(path)}")
    file = Path(path)
    try:
        yield from reader_of(file)(file, options or ReadOptions(), rows)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}; check its permissions") from None
    except MemoryError:
        raise InputError(f"{file} does not fit into memory; split it, and add its parts with an Accumulator") from None


def reader_of(file: Path) -> Reader:
    """The function that reads *file* in pieces; an `InputError` if there is none."""
    suffix = file.suffix.lower()
    try:
        is_dir, exists = file.is_dir(), file.exists()
    except (OSError, ValueError) as error:  # a name too long, a loop of links
        raise InputError(f"{str(file)[:200]} cannot be read: {getattr(error, 'strerror', error)}") from None
    if is_dir:
        raise InputError(f"{file} is a directory; give one .npy, .csv, .tsv or .parquet file")
    if not exists:
        raise InputError(f"{file} does not exist; check the name (the current directory is {Path.cwd()})")
    if suffix in _READERS:
        return _READERS[suffix]
    if suffix == ".npz":
        reason = "is a .npz archive of several arrays; save the points on their own: numpy.save('points.npy', array)"
    elif suffix in (".gz", ".bz2", ".xz", ".zip", ".zst"):
        reason = f"is compressed ({suffix}); unpack it first"
    else:
        found = f"has the suffix {suffix}" if suffix else "has no suffix"
        reason = f"{found}, but only .npy, .csv, .tsv and .parquet are read; convert or rename it"
    raise InputError(f"{file} {reason}")
