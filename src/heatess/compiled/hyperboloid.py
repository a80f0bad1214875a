"""Separations of points of the hyperboloid, for millions of pairs."""

from __future__ import annotations

import numba
import numpy as np

from ..base.arrays import FloatArray
from ..heat.exact import halves
from . import compiled

#: Time coordinates up to which areas lose no more than five bits without exact products.
NEAR = 32.0


def separations(left: FloatArray, right: FloatArray) -> FloatArray:
    """2 (cosh r - 1) of all pairs of two tiles; the formulas are those of `hyperbolic._square_of_sinh`."""
    found = np.empty((len(left), len(right)))
    x, y = np.ascontiguousarray(left), np.ascontiguousarray(right.T)
    if max(left[:, 0].max(), right[:, 0].max()) <= NEAR:
        _near_separations(x, y, found)
    else:
        _far_separations(x, y, halves(x), halves(y), found)
    return found


@compiled(nogil=True, error_model="numpy")
def _near_separations(left, right, found):  # type: ignore[no-untyped-def]
    """Rows of *left* and columns of *right* are points."""
    for i in range(len(left)):
        x = left[i]
        own = square_of(x)
        for k in range(right.shape[1]):
            found[i, k] = near_separation(x, own, right, k)


@numba.njit(inline="always")
def near_separation(x, own, right, k):  # type: ignore[no-untyped-def]
    """Of a point x and one column of *right*, both within `NEAR`; own is `square_of` of x."""
    inner, chord, area, other = 0.0, 0.0, 0.0, 0.0
    for a in range(1, len(right)):
        y = right[a, k]
        inner += x[a] * y
        other += y * y
        chord += (x[a] - y) ** 2
        for b in range(a + 1, len(right)):
            area += ((x[a] - y) * right[b, k] - (x[b] - right[b, k]) * y) ** 2
    return _separation(x[0] * right[0, k], inner, chord, area, own, other)


@compiled(nogil=True, error_model="numpy")
def _far_separations(left, right, left_halves, right_halves, found):  # type: ignore[no-untyped-def]
    """The same, with areas from exact products."""
    for i in range(len(left)):
        own = square_of(left[i])
        for k in range(right.shape[1]):
            found[i, k] = far_separation(left[i], left_halves[:, i], own, right, right_halves, k)


@numba.njit(inline="always")
def far_separation(x, halves, own, right, right_halves, k):  # type: ignore[no-untyped-def]
    """Of a point x and one column of *right*.

    Areas x_a y_b - x_b y_a come from exact products: far out they are differences of large numbers.
    """
    inner, chord, area, other = 0.0, 0.0, 0.0, 0.0
    high, low = halves[0], halves[1]
    for a in range(1, len(right)):
        y, y_high, y_low = right[a, k], right_halves[0, a, k], right_halves[1, a, k]
        inner += x[a] * y
        other += y * y
        chord += (x[a] - y) ** 2
        for b in range(a + 1, len(right)):
            z, z_high, z_low = right[b, k], right_halves[0, b, k], right_halves[1, b, k]
            first, second = x[a] * z, x[b] * y
            rest = ((high[a] * z_high - first) + high[a] * z_low + low[a] * z_high) + low[a] * z_low
            more = ((high[b] * y_high - second) + high[b] * y_low + low[b] * y_high) + low[b] * y_low
            main, little = first - second, rest - more
            area += ((main + little) + (_lost(first, second, main) + _lost(rest, more, little))) ** 2
    return _separation(x[0] * right[0, k], inner, chord, area, own, other)


@numba.njit(inline="always")
def _lost(a, b, difference):  # type: ignore[no-untyped-def]
    """What rounding took from the difference of two numbers, exactly (Knuth)."""
    part = difference - a
    return (a - (difference - part)) - (b + part)


@numba.njit(inline="always")
def square_of(x):  # type: ignore[no-untyped-def]
    """The sum of squares of all coordinates but the first."""
    total = 0.0
    for a in range(1, len(x)):
        total += x[a] * x[a]
    return total


@numba.njit(inline="always")
def _separation(times, inner, chord, area, own, other):  # type: ignore[no-untyped-def]
    same_side = 2 * (chord + area) / (1 + times + max(inner, 0.0))
    opposite = 2 * ((own + other + own * other) / (1 + times) - min(inner, 0.0))
    return same_side if inner >= 0 else opposite
