"""Weighted points, checked once.

A `Measure` is the only form in which data enters the computation. Whatever the user holds (lists,
float32 arrays, data frames, log-weights) becomes points that are certainly on the manifold and
weights that certainly sum to one, or an `InputError` that names the row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import numeric_array
from .blocks import slices
from .errors import InputError
from .spaces.base import Space

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measure:
    """Points on a space and their normalised weights.

    Attributes
    ----------
    space : Space
        The manifold.
    points : ndarray
        One atom per row, in the space's own checked form.
    weights : ndarray, shape (n,)
        Non-negative, summing to one.
    """

    space: Space
    points: NDArray[Any]
    weights: FloatArray

    @property
    def n(self) -> int:
        """Number of atoms, those of zero weight included."""
        return len(self.weights)

    @cached_property
    def ess(self) -> float:
        """Ordinary effective sample size 1 / sum w_i^2."""
        if self.weights.strides == (0,):  # equal weights, stored as one number
            return float(self.n)
        return 1.0 / float(np.einsum("i,i->", self.weights, self.weights))

    @classmethod
    def of(
        cls,
        points: Any,
        weights: ArrayLike | None = None,
        *,
        log_weights: ArrayLike | None = None,
        space: Space | None = None,
    ) -> Measure:
        """Check points and weights and put them in standard form.

        >>> Measure.of([[0, 0, 1], [0, 1, 0]], [1, 3]).weights
        array([0.25, 0.75])
        """
        if space is not None and not isinstance(space, Space):
            raise InputError(f"space must be a heatess space such as Sphere(2), but is {space!r}")
        if space is None:
            points = numeric_array(points, "points")
            space = _sphere_of(points)
        checked = space.check(points)
        return cls(space, checked, _normalised(weights, log_weights, len(checked)))

    def support(self) -> Measure:
        """The same measure without its atoms of zero weight."""
        kept = self.weights > 0
        if kept.all():
            return self
        return Measure(self.space, self.points[kept], self.weights[kept])

    def coalesced(self) -> Measure:
        """The same measure with exact duplicates merged and atoms of zero weight dropped."""
        support = self.support()
        label, first = _distinct(np.ascontiguousarray(support.points) + 0.0)  # -0.0 and 0.0 are one coordinate
        if len(first) == support.n:
            return support
        masses = np.bincount(label, support.weights).astype(np.float64)
        return Measure(self.space, support.points[first], masses)


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A label for each row, the same for equal rows, and the first row with each label.

    Rows are sorted by a 64-bit hash of their bytes, which is many times faster than sorting the rows.
    """
    keys = np.concatenate([_hashes(rows[part]) for part in slices(len(rows), 2**22 // rows.shape[1] + 1)])
    _, first, label = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) < len(rows) and not (rows[first[label]] == rows).all():  # two rows with one hash
        _, first, label = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return label, first


def _hashes(rows: NDArray[Any]) -> NDArray[np.uint64]:
    words = rows.view(np.uint32).astype(np.uint64)
    factors = np.cumprod(np.full(words.shape[1], 0x9E3779B97F4A7C15, dtype=np.uint64))  # odd, and modulo 2^64
    return np.asarray(words @ factors)


def normalised_weights(weights: ArrayLike) -> FloatArray:
    """Weights on their own, checked and summing to one."""
    if weights is None:
        raise InputError("weights must be given, one number per atom, but are None")
    return _normalised(weights, None, None)


def _sphere_of(points: NDArray[Any]) -> Space:
    from .spaces.sphere import Sphere

    if points.ndim != 2 or points.shape[1] < 2:
        raise InputError(
            f"points must be an (n, d) array of unit vectors with d >= 2, but have shape {points.shape}; "
            "give one atom per row, or name the manifold with space="
        )
    return Sphere(points.shape[1] - 1)


def scaled_weights(
    weights: ArrayLike | None, log_weights: ArrayLike | None, n: int | None
) -> tuple[FloatArray, int | None, float]:
    """Checked weights divided by exp(shift) 2^exponent, so that their squares are safe, with exponent and shift.

    The exponent is None if all weights are zero. Plain weights have no shift and log-weights no exponent, so
    nothing is lost by the division.
    """
    if weights is not None and log_weights is not None:
        raise InputError("give weights or log_weights, not both")
    if log_weights is not None:
        logs = _column(log_weights, "log_weights", n)
        largest = float(logs.max())
        if np.isnan(largest) or largest == np.inf:
            _refuse_weight(logs, "log_weights", np.isnan(logs) | (logs == np.inf))
        if largest == -np.inf:
            return np.zeros(len(logs)), None, 0.0
        with np.errstate(over="ignore"):  # to -inf, a weight of zero
            return np.asarray(np.exp(logs - largest)), 0, largest
    values = np.ones(n or 0) if weights is None else _column(weights, "weights", n)
    least, largest = float(values.min()), float(values.max())
    if not (least >= 0 and largest < np.inf):
        _refuse_weight(values, "weights", ~(values >= 0) | np.isinf(values))
    if largest == 0:
        return values, None, 0.0
    if 2.0**-250 < largest < 2.0**250:
        return values, 0, 0.0
    exponent = math.frexp(largest)[1]
    return np.ldexp(values, -exponent), exponent, 0.0


def _normalised(weights: ArrayLike | None, log_weights: ArrayLike | None, n: int | None) -> FloatArray:
    if weights is None and log_weights is None:
        return np.broadcast_to(np.float64(1.0 / (n or 1)), (n or 0,))  # one number, however many atoms
    scaled, exponent, _ = scaled_weights(weights, log_weights, n)
    if exponent is None:
        found = "sum to zero" if log_weights is None else "are all -inf"
        name = "weights" if log_weights is None else "log_weights"
        raise InputError(f"{name} {found} over {len(scaled)} atoms; at least one must be positive")
    return np.asarray(scaled / scaled.sum())


def _refuse_weight(values: FloatArray, name: str, bad: NDArray[np.bool_]) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        expected = "finite and not negative" if name == "weights" else "finite, or -inf for a zero weight"
        raise InputError(
            f"{name} must be {expected}, but row {row} is {values[row]} ({int(bad.sum())} of {len(values)} rows); "
            "drop or mend those rows"
        )


def _column(values: Any, name: str, n: int | None) -> FloatArray:
    array = numeric_array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} must have shape (n,), but have shape {array.shape}; give one number per atom")
    if not len(array):
        raise InputError(f"{name} are empty; at least one atom is needed")
    if n is not None and len(array) != n:
        raise InputError(f"{name} must have one entry per atom: there are {n} points but {len(array)} {name}")
    return array.astype(np.float64, copy=False)
