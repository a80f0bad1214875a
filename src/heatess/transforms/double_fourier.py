"""Functions on S^2 at any points, by a Fourier series in colatitude and longitude.

A function sum_lm a_lm Y_lm is a trigonometric polynomial of two angles: its values on meridians, continued over the
poles, are even in the colatitude for even orders m and odd for odd ones. So its Fourier coefficients follow from its
values at even colatitudes, and its values anywhere from one nonuniform Fourier transform.

ducc0 has that in one function, `synthesis_general`, which is not used: up to version 0.42 its values at some points
whose colatitudes lie on a line of its inner grid, such as the pole or whole degrees, are those of the next line.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import slices
from . import backend
from .nonuniform.box import Box

#: Fourier coefficients held at once; a quarter of a gigabyte, and some five times that inside the transform.
MODES = 2**24


def at_places(harmonics: NDArray[np.complex128], places: FloatArray, epsilon: float, threads: int) -> FloatArray:
    """Re sum_lm a_lm Y_lm over all orders, -m too, at *places* (n, 2) of colatitude and longitude.

    The coefficient of degree l and order m >= 0 stands in row l and column m.
    """
    meridians, total = backend.by(2).meridians(harmonics, threads), np.zeros(len(places))
    meridians[:, 1:] *= 2  # -m with m
    turned = np.ascontiguousarray(places[:, ::-1])
    for orders in slices(len(harmonics), max(1, MODES // (2 * len(harmonics)))):
        modes = _modes(meridians, orders, threads)
        box = Box([orders.start, -len(harmonics)], modes.shape, epsilon, threads)
        total += backend.by(2).values(modes, turned, box)
    return total


def _modes(meridians: NDArray[np.complex128], orders: slice, threads: int) -> NDArray[np.complex128]:
    """Coefficients of exp(i (m phi + k theta)) for some orders m and k = -count, ..., count - 1."""
    from scipy import fft  # with all that it loads, so not at import

    count, sign = meridians.shape[1], np.where(np.arange(orders.start, orders.stop) % 2, -1.0, 1.0)
    grid = np.empty((len(sign), 2 * count), dtype=np.complex128)
    grid[:, : count + 1] = meridians[:, orders].T
    np.multiply(grid[:, count - 1 : 0 : -1], sign[:, None], out=grid[:, count + 1 :])
    grid[:, 1::2] *= -1  # so that the frequencies come out with zero in the middle
    return np.asarray(fft.fft(grid, axis=1, norm="forward", overwrite_x=True, workers=threads))
