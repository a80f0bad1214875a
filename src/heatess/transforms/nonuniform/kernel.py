"""The kernel that spreads points over the cells of a grid: the exponential of a semicircle.

    phi(z) = exp(beta (sqrt(1 - z^2) - 1)),   z = 2 (cell - t) / width,   |z| <= 1,

of Barnett, Magland and af Klinteberg (2019), with its values from polynomials, one for each cell of its width.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev as _chebyshev

from ...base.arrays import FloatArray

chebyshev: Any = _chebyshev

#: Cells per mode: fewer make small grids, more make narrow kernels.
OVERSAMPLING = (1.5, 1.6, 1.8, 2.0, 2.25, 2.5)

#: Even numbers of cells.
WIDTHS = (8, 10, 12, 14, 16)


class Kernel(NamedTuple):
    """A width, and how finely the grid must be sampled for the error that is allowed."""

    width: int
    oversampling: float

    @property
    def beta(self) -> float:
        """The steepness with the least error: the transform falls to it where modes alias."""
        return 0.976 * math.pi * self.width * (1 - 1 / (2 * self.oversampling))

    @property
    def error(self) -> float:
        """Bound on what modes of one axis are off by, per unit of weight: the sum of what aliases onto one of them."""
        return 13.5 * math.exp(-0.95 * math.pi * self.width * math.sqrt(1 - 1 / self.oversampling))


def kernels_for(epsilon: float, dim: int) -> list[Kernel]:
    """For each oversampling the narrowest kernel with an error of *epsilon* in *dim* axes; the widest if none has."""
    found = []
    for oversampling in OVERSAMPLING:
        fit = [k for k in (Kernel(width, oversampling) for width in WIDTHS) if dim * k.error <= epsilon]
        found += fit[:1]
    return found or [Kernel(WIDTHS[-1], OVERSAMPLING[-1])]


@lru_cache(maxsize=32)
def table(kernel: Kernel) -> FloatArray:
    """Polynomials in x = 1 - 2 (t - floor t) of the first eight cells, even and odd parts, highest terms first."""
    terms = kernel.width // 2 + 1
    found = np.empty((terms, 2, 8))
    for cell in range(8):

        def value(x: FloatArray, cell: int = cell) -> FloatArray:
            return _semicircle(2 * (cell + (x + 1) / 2) / kernel.width - 1, kernel.beta)

        powers = np.zeros(2 * terms)
        own = chebyshev.cheb2poly(chebyshev.chebinterpolate(value, 2 * terms - 1))
        powers[: len(own)] = own
        found[:, :, cell] = powers.reshape(terms, 2)[::-1]
    return np.asarray(found.reshape(-1))


def _semicircle(z: FloatArray, beta: float) -> FloatArray:
    return np.asarray(np.exp(beta * (np.sqrt(np.maximum(1 - z * z, 0.0)) - 1)))


@lru_cache(maxsize=32)
def _inverse(kernel: Kernel) -> FloatArray:
    """Chebyshev coefficients of 1 / integral of phi exp(-2 pi i f u) du over cells u, in (2 oversampling f)^2."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    values = weights * _semicircle(nodes, kernel.beta) * (kernel.width / 2)

    def inverse(square: FloatArray) -> FloatArray:
        frequency = np.sqrt((square + 1) / 2) / (2 * kernel.oversampling)  # cycles per cell
        return np.asarray(1 / (np.cos(np.multiply.outer(frequency, math.pi * kernel.width * nodes)) @ values))

    return np.asarray(chebyshev.chebinterpolate(inverse, 32))


@lru_cache(maxsize=64)
def factors(kernel: Kernel, lowest: float, count: int, size: int, first: int) -> np.ndarray:
    """What the transform of a grid of *size* cells is multiplied by, for frequencies lowest, lowest + 1, ....

    The place of the *first* cell of the grid, and what the kernel has done.
    """
    twice = np.rint(2 * (lowest + np.arange(count))).astype(np.int64)
    phase = np.exp(-1j * math.pi / size * ((twice * first) % (2 * size)))
    square = (kernel.oversampling * twice / size) ** 2
    found = phase * chebyshev.chebval(2 * square - 1, _inverse(kernel))
    found.flags.writeable = False
    return np.asarray(found)
