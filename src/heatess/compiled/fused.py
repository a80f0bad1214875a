"""Products of functions of one separation each, for all pairs of two tiles: separations, lookups and sums in one loop.

Each factor is one of a few kinds, as `heat.lookup` has them, so that one compiled loop serves every product: a row of
one tile meets some hundred columns of the other at a time, and all that is known of these pairs stays in cache.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..base.arrays import FloatArray
from ..heat.lookup import AXES, CIRCLE, FAR, GIVEN, VECTORS, LoopFactor
from . import compiled
from .radial_tables import exponential

#: Columns whose pairs with one row are held at once, in the first-level cache.
_BUFFER = 512

_OPTIONS: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy"}


class Loop:
    """The product of some factors at some times, ready for tiles.

    With *excess*, one entry per time, what is summed is k_2t - 1 and d k_2t(x, x) s_t / d log t instead of s_t and
    d s_t / d log t.
    """

    def __init__(self, factors: list[LoopFactor], times: FloatArray, excess: list[bool]) -> None:
        self._factors = factors
        forms = [[factor.lookup(float(t), e) for factor in factors] for t, e in zip(times, excess, strict=True)]
        flat = [form for row in forms for form in row]
        shape = len(times), len(factors)
        firsts = np.cumsum([0] + [len(form.table) for form in flat[:-1]]).reshape(shape)
        origins = np.array([1023 << form.bits for form in flat])  # the leading bits of one
        widths = [factor.columns.stop - factor.columns.start if factor.kind != GIVEN else 0 for factor in factors]
        self._arguments = (
            np.array([factor.kind for factor in factors]),
            np.cumsum([0, *widths]),
            np.array([factor.period for factor in factors]),
            np.array([form.rate for form in flat]).reshape(shape),
            np.array([form.cut for form in flat]).reshape(shape),
            np.array([form.stretch for form in flat]).reshape(shape),
            np.array([form.bits for form in flat]).reshape(shape),
            firsts - origins.reshape(shape),
            np.concatenate([form.table for form in flat]),
            np.array(excess),
        )
        self._shape = len(times), 2

    def columns(self, points: FloatArray) -> FloatArray:
        """Rows of points as the loop takes them, shape (columns, n)."""
        parts = [points[:, factor.columns].T * factor.unit for factor in self._factors if factor.kind != GIVEN]
        return np.ascontiguousarray(np.concatenate(parts) if parts else np.empty((0, len(points))))

    def _given(self, left: FloatArray, right: FloatArray) -> FloatArray:
        found = [f.given(left[:, f.columns], right[:, f.columns]) for f in self._factors if f.given is not None]
        return np.stack(found) if found else np.empty((0, 0, 0))

    def add(
        self, points: FloatArray, columns: FloatArray, weights: FloatArray, tile: tuple[slice, ...], sums: FloatArray
    ) -> None:
        """Add to *sums*, shape (times, 2), all pairs i < j of a tile of the triangle, twice; *columns* are all."""
        rows, others = tile
        given = self._given(points[rows], points[others])
        left, right = np.ascontiguousarray(columns[:, rows].T), np.ascontiguousarray(columns[:, others])
        _loop(left, right, given, 2 * weights[rows], weights[others], *self._arguments, rows == others, sums, _NOTHING)

    def own(self, points: FloatArray) -> FloatArray:
        """What a point and itself have, one entry per time."""
        one, sums, weight = points[:1], np.zeros(self._shape), np.ones(1)
        column = self.columns(one)
        _loop(column.T.copy(), column, self._given(one, one), weight, weight, *self._arguments, False, sums, _NOTHING)
        return sums[:, 0]

    def fill(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Both functions of all pairs of two tiles at the first time, shape (2, rows, columns)."""
        found = np.empty((2, len(left), len(right)))
        rows, columns = np.ascontiguousarray(self.columns(left).T), self.columns(right)
        none = np.empty(0)
        _loop(rows, columns, self._given(left, right), none, none, *self._arguments, False, np.empty((0, 2)), found)
        return found


_NOTHING = np.empty((2, 0, 0))


@compiled(nogil=True, **_OPTIONS)
def _loop(  # type: ignore[no-untyped-def]
    left,
    right,
    given,
    row_weights,
    column_weights,
    kinds,
    ends,
    periods,
    rates,
    cuts,
    stretches,
    bits,
    firsts,
    table,
    excess,
    triangle,
    sums,
    found,
):
    """Sums over pairs at all times, or, if *found* is not empty, values of pairs at the first."""
    factors, fills = len(kinds), found.shape[1] > 0
    count = found.shape[2] if fills else len(column_weights)
    z, work = np.empty((factors, _BUFFER)), np.empty((5, _BUFFER))
    index, place = np.empty(_BUFFER, np.int64), np.empty(_BUFFER, np.int64)
    for i in range(len(left)):
        for start in range(i + 1 if triangle else 0, count, _BUFFER):
            end = min(start + _BUFFER, count)
            size, number = end - start, 0
            s, c, value, slope, offset = work[0][:size], work[1][:size], work[2][:size], work[3][:size], work[4][:size]
            for f in range(factors):
                own = z[f][:size]
                if kinds[f] == GIVEN:
                    _copy(given[number, i][start:end], own)
                    number += 1
                elif kinds[f] == CIRCLE:
                    _around(left[i, ends[f]], right[ends[f]][start:end], periods[f] / 2, own)
                else:
                    own.fill(0.0)
                    for a in range(ends[f], ends[f + 1]):
                        _add_square(left[i, a], right[a][start:end], own)
                    if kinds[f] == AXES:
                        s.fill(0.0)
                        for a in range(ends[f], ends[f + 1]):
                            _add_square(-left[i, a], right[a][start:end], s)
                        _multiply(own, s)
                    elif kinds[f] == VECTORS:
                        s.fill(1.0)
                        _multiply(own, s)
            for t in range(len(rates)):
                c.fill(0.0)
                for f in range(factors):
                    _add_exponent(rates[t, f], cuts[t, f], z[f], c)
                near = _near(c, place)
                if near == 0 and not fills:
                    continue
                if excess[t]:
                    s.fill(0.0)
                    c.fill(0.0)
                else:
                    _exponentials(c, s)
                for f in range(factors):
                    if rates[t, f] == 0:
                        _places(z[f], stretches[t, f], bits[t, f], firsts[t, f], index, offset)
                        if near == size:
                            _look_up(table, index, offset, value, slope)
                        else:
                            value.fill(0.0)
                            slope.fill(0.0)
                            _look_up_near(table, index, offset, value, slope, place[:near])
                        _include(value, slope, s, c, excess[t])
                if fills:
                    _copy(s, found[0, i][start:end])
                    _copy(c, found[1, i][start:end])
                else:
                    sums[t, 0] += row_weights[i] * _dot(column_weights[start:end], s)
                    sums[t, 1] += row_weights[i] * _dot(column_weights[start:end], c)


# Each of the functions below has few arrays, so that the compiler knows them apart and uses vector registers.


@numba.njit(**_OPTIONS)
def _copy(a, b):  # type: ignore[no-untyped-def]
    for k in range(len(b)):
        b[k] = a[k]


@numba.njit(**_OPTIONS)
def _around(x, y, half, z):  # type: ignore[no-untyped-def]
    for k in range(len(z)):
        low, high = min(x, y[k]), max(x, y[k])
        gap = min(high - low, (half - high) + (half + low))  # without cancellation across the seam
        z[k] = gap * gap


@numba.njit(**_OPTIONS)
def _add_square(x, y, z):  # type: ignore[no-untyped-def]
    for k in range(len(z)):
        d = x - y[k]
        z[k] += d * d


@numba.njit(**_OPTIONS)
def _multiply(z, other):  # type: ignore[no-untyped-def]
    for k in range(len(z)):
        z[k] *= 0.25 * other[k]


@numba.njit(**_OPTIONS)
def _add_exponent(rate, cut, z, c):  # type: ignore[no-untyped-def]
    for k in range(len(c)):
        c[k] += rate * z[k] if z[k] <= cut else 2 * FAR


@numba.njit(**_OPTIONS)
def _near(c, place):  # type: ignore[no-untyped-def]
    """How many pairs are near enough to overlap and, unless all are, their places."""
    total = 0
    for k in range(len(c)):
        total += c[k] <= FAR
    if total == len(c):
        return total
    count = np.uint64(0)
    for k in range(len(c)):  # every place is written, and the next one over it if it was too far
        place[count] = k
        count += np.uint64(c[k] <= FAR)
    return total


@numba.njit(**_OPTIONS)
def _exponentials(c, s):  # type: ignore[no-untyped-def]
    for k in range(len(c)):
        near = c[k] <= FAR
        exponent = c[k] if near else 0.0
        s[k] = exponential(-exponent) * near
        c[k] = exponent * s[k]


@numba.njit(**_OPTIONS)
def _places(z, stretch, bits, first, index, offset):  # type: ignore[no-untyped-def]
    """Rows of the table by the leading bits of 1 + stretch z, and places in the intervals by those that follow."""
    up = np.uint64(bits)
    down, mask = np.uint64(52) - up, np.uint64((np.int64(1) << (52 - bits)) - 1)
    for k in range(len(offset)):
        number = np.float64(1.0 + stretch * z[k]).view(np.uint64)
        index[k] = np.int64(number >> down) + first
        offset[k] = np.uint64(((number & mask) << up) | np.uint64(1023 << 52)).view(np.float64) - 1.5


@numba.njit(**_OPTIONS)
def _look_up(table, index, offset, value, slope):  # type: ignore[no-untyped-def]
    for k in range(len(value)):
        value[k], slope[k] = _polynomials(table[np.uint64(index[k])], offset[k])


@numba.njit(**_OPTIONS)
def _look_up_near(table, index, offset, value, slope, place):  # type: ignore[no-untyped-def]
    for q in range(len(place)):
        k = np.uint64(place[q])
        value[k], slope[k] = _polynomials(table[np.uint64(index[k])], offset[k])


@numba.njit(inline="always")
def _polynomials(row, x):  # type: ignore[no-untyped-def]
    """Two polynomials, written out so that they run side by side in one register."""
    v, d = row[14] * x + row[12], row[15] * x + row[13]
    v, d = v * x + row[10], d * x + row[11]
    v, d = v * x + row[8], d * x + row[9]
    v, d = v * x + row[6], d * x + row[7]
    v, d = v * x + row[4], d * x + row[5]
    v, d = v * x + row[2], d * x + row[3]
    return v * x + row[0], d * x + row[1]


@numba.njit(**_OPTIONS)
def _include(value, slope, s, c, excess):  # type: ignore[no-untyped-def]
    """One more factor: d (s s') = s d s' + s' d s, and (1 + e) (1 + e') - 1 = e + e' + e e'."""
    if excess:
        for k in range(len(s)):
            c[k] = c[k] * (1.0 + value[k]) + (1.0 + s[k]) * slope[k]
            s[k] += value[k] + s[k] * value[k]
    else:
        for k in range(len(s)):
            c[k] = c[k] * value[k] + s[k] * slope[k]
            s[k] *= value[k]


@numba.njit(fastmath=True)
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total
