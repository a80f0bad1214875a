"""Spherical harmonics on S^2 without a library for them: Fourier sums in two angles, and Legendre functions on rings.

A function f_lm(theta) = Y_lm(theta, 0) is a trigonometric polynomial of degree l. So sums of it over any points follow
from the Fourier sums F_mk = sum w exp(-i (m phi + k theta)), or, better, from their values at rings of even
colatitude, where f_lm need only be known:

    sum_i w_i f_lm(theta_i) exp(-i m phi_i) = sum_j G_m(theta_j) f_lm(theta_j),   G_m = sum_k F_mk exp(i k theta) / 2 M,

over 2 M > 2 l colatitudes of the whole meridian circle. Symmetry about the pole and the equator leaves a quarter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import share_out, slices
from . import nonuniform
from .nonuniform.box import Box, Modes
from .nonuniform.columns import SharedPoints
from .nonuniform.grid import Axis, fast_length

#: Up to here columns of weights are taken together: beyond it products of matrices cost more than transforms.
MOST_DEGREE_OF_COLUMNS = 128

#: Fourier sums of rings that a thread holds at once.
_SUMS_OF_A_THREAD = 2**16


@lru_cache(maxsize=8)
def _norms(count: int) -> FloatArray:
    """f_mm / sin(theta)^m: (-1)^m sqrt((2m + 1)!! / (2m)!! / 4 pi)."""
    m = np.arange(1, count, dtype=np.longdouble)
    squares = np.cumprod(np.concatenate([[np.longdouble(1)], 1 + 1 / (2 * m)])) / (4 * np.longdouble(math.pi))
    return np.asarray(np.sqrt(squares) * (1 - 2 * (np.arange(count) % 2)), dtype=np.float64)


@lru_cache(maxsize=8)
def _colatitudes(size: int, shift: float) -> tuple[int, FloatArray, FloatArray]:
    """Rings pi (j + shift) / size on the northern hemisphere: how many, 1 - cos and sin, filled up to whole eights."""
    rings = size // 2 + 1 if shift == 0 else size // 2
    angle = (np.arange(rings) + shift) * (math.pi / size)
    filled = np.ones((2, -(-rings // 8) * 8))
    filled[0, :rings], filled[1, :rings] = 2 * np.sin(angle / 2) ** 2, np.sin(angle)
    return rings, *filled


@lru_cache(maxsize=8)
def _lowest(size: int, shift: float, count: int) -> IntArray:
    """For each order, rings, in whole eights, where its functions are nothing: where l sin(theta) < m for all l."""
    half, _, sine = _colatitudes(size, shift)
    first = np.searchsorted(sine[:half], (np.arange(count) - max(100.0, 0.01 * count)) / count)
    return np.asarray(first // 8 * 8)


@lru_cache(maxsize=8)
def _rings(degree: int) -> tuple[int, Modes]:
    """Rings from pole to pole, an even number, and exp(i k theta) of the first of them for all frequencies."""
    least = degree + 1 + (degree + 1) % 2
    size = next(m for m in range(least, 4 * least, 2) if fast_length(2 * m) == 2 * m)
    return size, np.exp(1j * math.pi / (2 * size) * np.arange(-degree, degree + 1))


def analyse(places: FloatArray, weights: FloatArray, degree: int, epsilon: float, threads: int) -> Modes:
    """sum_i w_i conj(Y_lm) at *places* (n, 2) of colatitude and longitude, [l, m] with m >= 0; zero where m > l."""
    from ..compiled.legendre import analyse_orders

    count = degree + 1
    box = Box([0, -degree], [count, 2 * count - 1], epsilon, threads, columns=[1, 0])
    sums = nonuniform.analyse(places, weights, box)
    size, turn = _rings(degree)
    _, height, sine = _colatitudes(size, 0.5)
    norms, lowest, found = _norms(count), _lowest(size, 0.5, count), np.zeros((count, count), dtype=np.complex128)

    def part(_: int, orders: slice) -> None:
        circle = np.zeros((orders.stop - orders.start, 2 * size), dtype=np.complex128)
        np.multiply(sums[orders, degree:], turn[degree:], out=circle[:, :count])
        np.multiply(sums[orders, :degree], turn[:degree], out=circle[:, 2 * size - degree :])
        circle = np.fft.ifft(circle, axis=1)
        analyse_orders(circle, orders.start, norms, height, sine, lowest, found)

    share_out(list(slices(count, max(1, _SUMS_OF_A_THREAD // size))), part, threads)
    return found


@lru_cache(maxsize=8)
def _onto_rings(axis: Axis, degree: int) -> FloatArray:
    """What makes sums on rings of cells along a meridian, for even orders and for odd ones.

    Shape (2, rings, cells): half of the rings for functions that are even about the equator, half for odd ones.
    """
    size, turn = _rings(degree)
    frequencies, half = np.arange(-degree, degree + 1), size // 2
    angles = np.multiply.outer(np.arange(2 * size), frequencies) * (math.pi / size)
    cells = np.multiply.outer(frequencies, np.arange(axis.room)) * (-2 * math.pi / axis.size)
    circle = ((np.exp(1j * angles) * (turn * axis.factors / (2 * size))) @ np.exp(1j * cells)).real
    found = np.empty((2, size, axis.room))
    for order, sign in enumerate((1.0, -1.0)):
        north = circle[:half] + sign * circle[::-1][:half]
        south = circle[:size][::-1][:half] + sign * circle[size : size + half]
        found[order, :half], found[order, half:] = north + south, north - south
    return found


def columns_on_rings(places: FloatArray, degree: int, epsilon: float) -> Callable[[FloatArray], Iterator[Modes]]:
    """`analyse` of columns of weights (n, count), one after the other, on one thread.

    They share the order and the kernels of the places, and Legendre functions; steps between are matrix products.
    """
    count = degree + 1
    shared = SharedPoints(places, Box([0, -degree], [count, 2 * count - 1], epsilon, 1, columns=[1, 0]))
    onto, size = _onto_rings(shared.axes[1], degree), _rings(degree)[0]

    def found(columns: FloatArray) -> Iterator[Modes]:
        rings = np.empty((count, size, columns.shape[1]), dtype=np.complex128)
        for part, modes in shared.first_modes(columns):
            for order in range(min(2, count)):
                own = np.ascontiguousarray(modes[order::2]).view(np.float64)
                rings[order::2, :, part] = (onto[order] @ own).view(np.complex128)
        yield from _of_rings(rings)

    return found


def _of_rings(rings: Modes) -> Modes:
    """Coefficients of columns, shape (columns, count, count), of what even and odd functions take of each ring.

    Those have the shape (count, rings, columns), in the order of `_onto_rings`.
    """
    from ..compiled.legendre import functions

    count, size, columns = rings.shape
    _, height, sine = _colatitudes(size, 0.5)
    norms, lowest, half = _norms(count), _lowest(size, 0.5, count), size // 2
    found = np.zeros((count, count, columns), dtype=np.complex128)
    values, parts = np.empty((count, len(sine))), rings.view(np.float64)
    for m in range(count):
        functions(m, norms[m], height, sine, lowest[m], values[m:])
        for odd in range(min(2, count - m)):
            sums = values[m + odd :: 2, :half] @ parts[m, odd * half : (odd + 1) * half]
            found[m + odd :: 2, m] = sums.view(np.complex128)
    return np.ascontiguousarray(np.moveaxis(found, -1, 0))


def meridians(coefficients: Modes, threads: int) -> Modes:
    """sum_l a_lm Y_lm at longitude zero for each order m >= 0, at colatitudes 0, pi / count, ..., pi.

    Coefficients (count, count) as those of `analyse`; the result has the shape (count + 1, count).
    """
    from ..compiled.legendre import synthesise as compiled

    count = len(coefficients)
    half, height, sine = _colatitudes(count, 0.0)
    norms, lowest, found = _norms(count), _lowest(count, 0.0, count), np.empty((count + 1, count), dtype=np.complex128)

    def part(_: int, m: int) -> None:
        rings = np.empty((4, len(sine)))
        compiled(coefficients, m, norms[m], height, sine, lowest[m], rings)
        even, odd = rings[0, :half] + 1j * rings[1, :half], rings[2, :half] + 1j * rings[3, :half]
        found[count - half + 1 :, m] = (even - odd)[::-1]
        found[:half, m] = even + odd

    share_out(range(count), part, threads)
    return found
