"""What every reader takes and returns, and the checks that all readers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, shown
from ..errors import InputError, InputTypeError
from ..spaces.vectors import NORM_TOLERANCE

#: Gives the place of a row in words, for instance "cloud.csv line 7".
Place = Callable[[int], str]


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file, where its names and numbers do not make it clear.

    Attributes
    ----------
    points : str or tuple of str
        One column of a Parquet file that holds whole vectors, or one column per coordinate of unit vectors.
        If empty: x, y, z or embedding, vector, emb.
    lon, lat : str, optional
        Columns that hold longitude and latitude.
    units : {"deg", "rad"}, optional
        Unit of longitude and latitude; needed only when the numbers could be either.
    weights, log_weights : str, optional
        Column that holds the weights or their logarithms; for a .npy file, another .npy file.
        The word "none" for weights means equal weights, whatever columns there are.
    normalize : bool
        Scale every vector to unit length. If false, other lengths are refused.
    """

    points: str | tuple[str, ...] = ()
    lon: str | None = None
    lat: str | None = None
    units: str | None = None
    weights: str | None = None
    log_weights: str | None = None
    normalize: bool = False

    def __post_init__(self) -> None:
        for name in ("lon", "lat", "units", "weights", "log_weights"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value.strip()):
                raise InputTypeError(f"{name} must be a name, but is {shown(value)}")
        if not isinstance(self.normalize, bool):
            raise InputTypeError(f"normalize must be true or false, but is {shown(self.normalize)}")
        names = (self.points,) if isinstance(self.points, str) else self.points
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise InputTypeError(f"points must be a column or a tuple of columns, but are {shown(self.points)}")
        if self.points and (self.lon or self.lat):
            raise InputError(f"give points={self.points!r} or lon= and lat=, not both")
        if self.weights and self.log_weights:
            raise InputError("give weights or log_weights, not both")
        if self.units not in (None, "deg", "rad"):
            raise InputError(f"units must be 'deg' or 'rad', but found {shown(self.units)}")


@dataclass(frozen=True, eq=False)
class Cloud:
    """Weighted points from a file, already checked.

    Attributes
    ----------
    points : ndarray, shape (n, d)
        Unit vectors.
    weights, log_weights : ndarray or None
        At most one of them is given; they need not be normalised.
    description : str
        What was read, as a sentence for the user.
    source : str
        The file.
    """

    points: NDArray[Any]
    weights: FloatArray | None
    log_weights: FloatArray | None
    description: str
    source: str


def row_places(path: Path, start: int) -> Place:
    """The places of the rows from *start* on, in a file without lines of text."""
    return lambda row: f"{path} row {start + row} (counted from 0)"


def refuse(
    bad: NDArray[np.bool_], place: Place, found: Callable[[int], str], advice: str = "drop or fix those rows"
) -> None:
    """An `InputError` if any row is bad: where the first one is, what was found there, and how many there are."""
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{place(row)}: {found(row)} ({int(bad.sum())} of {len(bad)} rows); {advice}")


def unit_vectors(points: NDArray[Any], place: Place, *, normalize: bool, hint: str = "") -> NDArray[Any]:
    """*points* as unit vectors: scaled if *normalize* is set, otherwise refused if not of unit length."""
    refuse(~np.isfinite(points).all(axis=1), place, lambda row: f"the point {points[row][:4].tolist()} is not finite")
    with np.errstate(over="ignore", under="ignore"):
        norms = np.linalg.norm(points.astype(np.float64, copy=False), axis=1)
    if normalize:
        extreme = ~((norms > 1e-150) & (norms < 1e150))  # where squares are lost
        if extreme.any():
            points = points.astype(np.float64)
            largest = np.abs(points[extreme]).max(axis=1, keepdims=True)
            points[extreme] /= np.where(largest > 0, largest, 1.0)
            norms[extreme] = np.linalg.norm(points[extreme], axis=1)
        refuse(norms == 0, place, lambda row: "the vector is zero and has no direction")
        return np.asarray(points / norms[:, None])
    off, advice = np.abs(norms - 1) > NORM_TOLERANCE, f"{hint}if only directions matter, add normalize=True"
    refuse(off, place, lambda row: f"the vector has length {norms[row]:.8g}, not 1", advice)
    return points


def checked_weights(values: FloatArray, place: Place, name: str, *, logs: bool, zero_ok: bool) -> FloatArray:
    """*values*, if they are valid weights or log-weights; with *zero_ok*, for one part of many, all may be zero."""
    bad = np.isnan(values) | (values == np.inf) if logs else ~((values >= 0) & (values < np.inf))
    expected = "a finite log-weight (or -inf)" if logs else "a finite weight of zero or more"
    advice = "drop or fix those rows"
    if not logs and (values < 0).any():
        advice = f"fix those rows or, if these are logarithms, give log_weights={name!r}"
    refuse(bad, place, lambda row: f"{name} is {values[row]:g}, not {expected}", advice)
    if not zero_ok and values.max() == (-np.inf if logs else 0):
        raise InputError(f"{place(0)} and every other row: the weight in {name} is zero; at least one must be positive")
    return values
