"""Functions of one variable tabulated as polynomials on even intervals, evaluated for millions of pairs."""

from __future__ import annotations

import numba
import numpy as np

from ..base.arrays import FloatArray
from ..heat.radial import Radial
from . import compiled

#: Pairs whose values are held at once, in the first-level cache.
_BUFFER = 512


def evaluate(table: FloatArray, start: float, step: float, x: FloatArray) -> FloatArray:
    """Several functions at once at all *x*, shape (functions, *x.shape).

    *table* has shape (intervals, functions, order): row k holds the coefficients, lowest power first, of
    polynomials in x - k step, valid for start + k step <= x < start + (k + 1) step; beyond the last they go on.
    """
    found = np.empty((table.shape[1], x.size))
    _evaluate(table, start, step, np.ascontiguousarray(x).ravel(), found)
    return found.reshape(table.shape[1], *x.shape)


@compiled(nogil=True)
def _evaluate(table: FloatArray, start: float, step: float, x: FloatArray, found: FloatArray) -> None:
    last = table.shape[0] - 1
    order = table.shape[2]
    scale = 1 / step
    for i in range(len(x)):
        k = min(int((x[i] - start) * scale), last)
        offset = x[i] - k * step
        for f in range(table.shape[1]):
            value = table[k, f, order - 1]
            for power in range(order - 2, -1, -1):
                value = value * offset + table[k, f, power]
            found[f, i] = value


def multiply(form: Radial, r: FloatArray, found: FloatArray) -> None:
    """Multiply the overlaps of pairs, in place, by those of one more factor at distances *r*.

    The rows of *found* are s, d s / d log t and e = k - 1: d (s s') = s d s' + s' d s, and
    (1 + e) (1 + e') - 1 = e + e' + e e'. Pairs that do not overlap are passed over.
    """
    if form.step == 0:
        _multiply_exponents(form.table, form.diagonal, form.cut, r, found[0], found[1], found[2])
    else:
        _multiply_polynomials(form.table, form.step, form.diagonal, form.cut, r, found[0], found[1], found[2])


@compiled(nogil=True, fastmath={"contract"})
def _multiply_polynomials(table, step, diagonal, cut, r, overlap, change, excess):  # type: ignore[no-untyped-def]
    rows = table.reshape(-1, 20)  # (interval, power and function)
    per_step, last = 1 / step, np.int64(len(rows) - 1)
    work, place, index = np.empty((3, _BUFFER)), np.empty(_BUFFER, np.int64), np.empty(_BUFFER, np.int64)
    for start in range(0, len(r), _BUFFER):
        part = slice(start, min(start + _BUFFER, len(r)))
        x, s, offset, value, slope = r[part], overlap[part], work[0], work[1], work[2]
        for i in range(len(x)):
            k = min(np.int64(x[i] * per_step + 0.5), last)
            index[i] = k
            offset[i] = x[i] - k * step
        near = _near(x, s, cut, place)
        if near < len(x):
            value[:], slope[:] = 0.0, 0.0
            for q in range(near):
                at = np.uint64(place[q])
                value[at], slope[at] = _polynomials(rows[np.uint64(index[at])], offset[at])
        else:
            for i in range(len(x)):
                value[i], slope[i] = _polynomials(rows[np.uint64(index[i])], offset[i])
        _update(value, slope, diagonal, s, change[part], excess[part])


@compiled(nogil=True, fastmath={"contract"})
def _multiply_exponents(table, diagonal, cut, r, overlap, change, excess):  # type: ignore[no-untyped-def]
    work = np.empty((3, _BUFFER))
    for start in range(0, len(r), _BUFFER):
        part = slice(start, min(start + _BUFFER, len(r)))
        x, square, value, slope = r[part], work[0], work[1], work[2]
        for i in range(len(x)):
            square[i] = min(x[i], cut) ** 2
        value[:], slope[:] = table[-1, 0], table[-1, 1]
        for power in range(len(table) - 2, -1, -1):
            for i in range(len(x)):
                value[i] = value[i] * square[i] + table[power, 0]
                slope[i] = slope[i] * square[i] + table[power, 1]
        for i in range(len(x)):
            value[i] = exponential(value[i]) * (x[i] < cut)
            slope[i] *= value[i]
        _update(value, slope, diagonal, overlap[part], change[part], excess[part])


@numba.njit(inline="always")
def _polynomials(row, offset):  # type: ignore[no-untyped-def]
    """Two polynomials of degree nine, written out so that they run side by side in one register."""
    v, d = row[18] * offset + row[16], row[19] * offset + row[17]
    v, d = v * offset + row[14], d * offset + row[15]
    v, d = v * offset + row[12], d * offset + row[13]
    v, d = v * offset + row[10], d * offset + row[11]
    v, d = v * offset + row[8], d * offset + row[9]
    v, d = v * offset + row[6], d * offset + row[7]
    v, d = v * offset + row[4], d * offset + row[5]
    v, d = v * offset + row[2], d * offset + row[3]
    return v * offset + row[0], d * offset + row[1]


@numba.njit(inline="always")
def exponential(x):  # type: ignore[no-untyped-def]
    """exp(x) for -700 < x < 700 in vector registers, which the library's is not."""
    k = np.int32(np.floor(x * 1.4426950408889634 + 0.5))
    f = x - k * 0.6931471805599453  # within log(2) / 2 of zero
    p = 1 + f / 13
    p = 1 + p * f * (1 / 12)
    p = 1 + p * f * (1 / 11)
    p = 1 + p * f * (1 / 10)
    p = 1 + p * f * (1 / 9)
    p = 1 + p * f * (1 / 8)
    p = 1 + p * f * (1 / 7)
    p = 1 + p * f * (1 / 6)
    p = 1 + p * f * (1 / 5)
    p = 1 + p * f * (1 / 4)
    p = 1 + p * f * (1 / 3)
    p = 1 + p * f * (1 / 2)
    p = 1 + p * f
    return p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)  # times 2^k


@numba.njit(inline="always")
def _near(x, overlap, cut, place):  # type: ignore[no-untyped-def]
    """How many pairs are nearer than *cut* and still overlap, and, unless all do, their places."""
    total = 0
    for i in range(len(x)):
        total += (x[i] < cut) & (overlap[i] != 0.0)
    if total == len(x):
        return total
    count = np.uint64(0)
    for i in range(len(x)):  # every place is written, and the next one over it if it was too far
        place[count] = i
        count += np.uint64((x[i] < cut) & (overlap[i] != 0.0))
    return total


@numba.njit(inline="always")
def _update(value, slope, diagonal, overlap, change, excess):  # type: ignore[no-untyped-def]
    if diagonal < 2:
        inverse = 1 / diagonal
        for i in range(len(overlap)):
            factor = (1.0 + value[i]) * inverse
            change[i] = change[i] * factor + overlap[i] * slope[i]
            overlap[i] *= factor
            excess[i] += value[i] + excess[i] * value[i]
    else:
        for i in range(len(overlap)):
            more = diagonal * value[i] - 1.0
            change[i] = change[i] * value[i] + overlap[i] * slope[i]
            overlap[i] *= value[i]
            excess[i] = min(excess[i] + more + excess[i] * more, 1e150)
