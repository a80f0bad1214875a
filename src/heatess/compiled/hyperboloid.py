"""Separations of points of the hyperboloid, for millions of pairs."""

from __future__ import annotations

import numba
import numpy as np

from ..arrays import FloatArray


def separations(left: FloatArray, right: FloatArray) -> FloatArray:
    """2 (cosh r - 1) of all pairs of two tiles; the formulas are those of `hyperbolic._square_of_sinh`."""
    found = np.empty((len(left), len(right)))
    _separations(np.ascontiguousarray(left), np.ascontiguousarray(right.T), found)
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _separations(left, right, found):  # type: ignore[no-untyped-def]
    """Rows of *left* and columns of *right* are points."""
    count = len(right)
    for i in range(len(left)):
        x = left[i]
        own = 0.0
        for a in range(1, count):
            own += x[a] * x[a]
        for k in range(right.shape[1]):
            inner, chord, area, other = 0.0, 0.0, 0.0, 0.0
            for a in range(1, count):
                y = right[a, k]
                inner += x[a] * y
                other += y * y
                chord += (x[a] - y) ** 2
                for b in range(a + 1, count):
                    area += ((x[a] - y) * right[b, k] - (x[b] - right[b, k]) * y) ** 2
            times = x[0] * right[0, k]
            same_side = 2 * (chord + area) / (1 + times + max(inner, 0.0))
            opposite = 2 * ((own + other + own * other) / (1 + times) - min(inner, 0.0))
            found[i, k] = same_side if inner >= 0 else opposite
