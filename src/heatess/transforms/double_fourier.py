"""Functions on S^2 at any points, by a Fourier series in colatitude and longitude.

A function sum_lm a_lm Y_lm is a trigonometric polynomial of two angles: its values on meridians, continued over the
poles, are even in the colatitude for even orders m and odd for odd ones. So its Fourier coefficients follow from its
values at even colatitudes, and its values anywhere from one nonuniform Fourier transform.

ducc0 has that in one function, `synthesis_general`, which is not used: up to version 0.42 its values at some points
whose colatitudes lie on a line of its inner grid, such as the pole or whole degrees, are those of the next line.
"""

from __future__ import annotations

import ducc0
import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..blocks import map_rows, slices

#: Fourier coefficients held at once; a quarter of a gigabyte, and some five times that inside the transform.
MODES = 2**24


def at_places(harmonics: NDArray[np.complex128], places: FloatArray, epsilon: float, threads: int) -> FloatArray:
    """Re sum_lm a_lm Y_lm over all orders, -m too, at *places* (n, 2) of colatitude and longitude.

    The coefficient of degree l and order m >= 0 stands in row l and column m.
    """
    meridians, total = _meridians(harmonics, threads), np.zeros(len(places))
    for orders in slices(len(harmonics), max(1, MODES // (2 * len(harmonics)))):
        modes = _modes(meridians, orders, threads)
        part = ducc0.nufft.u2nu(grid=modes, coord=places, forward=False, epsilon=epsilon, nthreads=threads)
        _add_turned(total, part, places[:, 1], orders.start + len(modes[0]) // 2)
    return total


def _meridians(harmonics: NDArray[np.complex128], threads: int) -> NDArray[np.complex128]:
    """sum_l a_lm Y_lm at longitude zero for each order, and -m with it, at even colatitudes; shape (count + 1, count).

    A trigonometric polynomial below the degree *count* is known by its values there.
    """
    count = len(harmonics)
    packed, colatitudes = harmonics.T[np.triu_indices(count)], np.arange(count + 1) * (np.pi / count)
    values = ducc0.sht.alm2leg(alm=packed[None], spin=0, lmax=count - 1, theta=colatitudes, nthreads=threads)[0]
    values[:, 1:] *= 2
    return np.asarray(values)


def _modes(meridians: NDArray[np.complex128], orders: slice, threads: int) -> NDArray[np.complex128]:
    """Coefficients of exp(i (k theta + m phi)), k = -count, ..., count - 1, for some orders m."""
    count, sign = meridians.shape[1], np.where(np.arange(orders.start, orders.stop) % 2, -1.0, 1.0)
    grid = np.empty((2 * count, len(sign)), dtype=np.complex128)
    grid[: count + 1] = meridians[:, orders]
    np.multiply(grid[count - 1 : 0 : -1], sign, out=grid[count + 1 :])
    grid[1::2] *= -1  # so that the frequencies come out with zero in the middle
    ducc0.fft.c2c(grid, axes=(0,), inorm=2, out=grid, nthreads=threads)
    return grid


def _add_turned(total: FloatArray, part: NDArray[np.complex128], longitude: FloatArray, order: int) -> None:
    """Add Re exp(i m phi) of what was transformed with m = 0 in place of *order*."""

    def add(rows: slice) -> None:
        turn = order * longitude[rows]
        total[rows] += part[rows].real * np.cos(turn) - part[rows].imag * np.sin(turn)

    map_rows(add, len(total))
