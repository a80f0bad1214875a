"""Files to weighted points: one module a format family.

read            any supported file, by its suffix
ReadOptions     columns, units and weights, where the file does not speak for itself
Cloud           what was read
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError
from . import csv, npy
from .cloud import Cloud, ReadOptions

__all__ = ["Cloud", "ReadOptions", "read"]

_READERS = {".npy": npy.read, ".csv": csv.read, ".tsv": csv.read}


def read(path: str | os.PathLike[str], *, options: ReadOptions | None = None) -> Cloud:
    r"""Read weighted points from a .npy, .csv or .tsv file.

    A .npy file holds an (n, d) array of unit vectors. A .csv or .tsv file has a header with columns
    x, y, z or lon, lat, and perhaps a column weight or log_weight; other names are given in *options*.

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
    file = Path(path)
    if file.is_dir():
        raise InputError(f"{file} is a directory; give one .npy, .csv or .tsv file")
    if not file.exists():
        raise InputError(f"{file} does not exist; check the name (the current directory is {Path.cwd()})")
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise InputError(f"{file} {_unreadable(file.suffix.lower())}")
    try:
        return reader(file, options or ReadOptions())
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}; check its permissions") from None


def _unreadable(suffix: str) -> str:
    if suffix == ".npz":
        return (
            "is a .npz archive of several arrays; save the array of points on its own: numpy.save('points.npy', array)"
        )
    if suffix in (".gz", ".bz2", ".xz", ".zip", ".zst"):
        return f"is compressed ({suffix}); unpack it first"
    found = f"has the suffix {suffix}" if suffix else "has no suffix"
    return f"{found}, but only .npy, .csv and .tsv are read; convert or rename it"
