"""Spherical harmonics on S^2 without a library for them: Fourier sums in two angles, and Legendre functions on rings.

A function f_lm(theta) = Y_lm(theta, 0) is a trigonometric polynomial of degree l. So sums of it over any points follow
from the Fourier sums F_mk = sum w exp(-i (m phi + k theta)), or, better, from their values at rings of even
colatitude, where f_lm need only be known:

    sum_i w_i f_lm(theta_i) exp(-i m phi_i) = sum_j G_m(theta_j) f_lm(theta_j),   G_m = sum_k F_mk exp(i k theta) / 2 M,

over 2 M > 2 l colatitudes of the whole meridian circle. Symmetry about the pole and the equator leaves a quarter.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import share_out, slices
from . import nonuniform
from .nonuniform.box import Box, Modes
from .nonuniform.grid import fast_length

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
