"""What every reader takes and returns, and the checks that all readers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

FloatArray = NDArray[np.float64]

#: Gives the place of a row in words, for instance "cloud.csv line 7".
Place = Callable[[int], str]

#: A norm this close to one differs by rounding only; `heatess.Sphere` corrects it.
NORM_TOLERANCE = 1e-6


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file, where its names and numbers do not make it clear.

    Messages name the arguments of `heatess.distributed.profile_parquet`, where xyz and vector are both points=.

    Attributes
    ----------
    xyz : tuple of str
        Columns that hold the coordinates of unit vectors; empty to look for x, y, z.
    lon, lat : str, optional
        Columns that hold longitude and latitude.
    vector : str, optional
        Column of a Parquet file whose entries are whole vectors; if not given, embedding, vector or emb.
    units : {"deg", "rad"}, optional
        Unit of longitude and latitude; needed only when the numbers could be either.
    weights, log_weights : str, optional
        Column that holds the weights or their logarithms; for a .npy file, another .npy file.
        The word "none" for weights means equal weights, whatever columns there are.
    normalize : bool
        Scale every vector to unit length. If false, other lengths are refused.
    """

    xyz: tuple[str, ...] = ()
    lon: str | None = None
    lat: str | None = None
    vector: str | None = None
    units: str | None = None
    weights: str | None = None
    log_weights: str | None = None
    normalize: bool = False


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


def unit_vectors(points: NDArray[Any], place: Place, *, normalize: bool, hint: str = "") -> NDArray[Any]:
    """*points* as unit vectors: scaled if *normalize* is set, otherwise refused if not of unit length."""
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"{place(row)}: the point {points[row][:4].tolist()} is not finite "
            f"({int((~finite).sum())} of {len(points)} points); drop or fix those rows"
        )
    norms = np.linalg.norm(points.astype(np.float64, copy=False), axis=1)
    if normalize:
        if (norms == 0).any():
            row = int(np.argmin(norms))
            raise InputError(f"{place(row)}: the vector is zero and has no direction; drop that row")
        return np.asarray(points / norms[:, None])
    off = np.abs(norms - 1) > NORM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        raise InputError(
            f"{place(row)}: the vector has length {norms[row]:.8g}, not 1 ({int(off.sum())} of {len(points)} "
            f"vectors are not of unit length); {hint}if only directions matter, add normalize=True"
        )
    return points


def checked_weights(values: FloatArray, place: Place, name: str, *, logs: bool, zero_ok: bool = False) -> FloatArray:
    """*values*, if they are valid weights or log-weights; an `InputError` that names the place otherwise.

    With *zero_ok* all weights may be zero: they may belong to one part of many.
    """
    bad = np.isnan(values) | (values == np.inf) if logs else ~((values >= 0) & (values < np.inf))
    if bad.any():
        row = int(np.argmax(bad))
        expected = "a finite log-weight (or -inf)" if logs else "a finite weight of zero or more"
        advice = "drop or fix those rows"
        if not logs and (values < 0).any():
            advice = f"fix those rows or, if these are logarithms, give log_weights={name!r}"
        raise InputError(
            f"{place(row)}: {name} is {values[row]:g}, not {expected} ({int(bad.sum())} of {len(values)} "
            f"rows); {advice}"
        )
    if not zero_ok and values.max() == (-np.inf if logs else 0):
        raise InputError(f"{place(0)} and every other row: the weight in {name} is zero; at least one must be positive")
    return values
