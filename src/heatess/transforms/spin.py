"""The Fourier transform on the 3-sphere, which is the group of unit quaternions SU(2).

Level k of S^3 holds the matrix elements of Wigner's D^j with j = k / 2. Those of even k are functions of rotations, the
same at q and -q; those of odd k change their sign, and have half-integer orders. Each of the two kinds takes one
nonuniform Fourier transform in the Euler angles; see `transforms.wigner`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import slices
from ..heat.spherical import SphereSeries
from . import backend
from .base import Coefficients
from .levels import SphereTransform, bounded
from .low_moments import LowMoments
from .wigner import TRANSFORM_BLOCK, analyse, euler_angles, synthesise

#: Seconds on two cores of a transform: for each point, and for the cube of the degree.
_COSTS = {"native": (1.3e-6, 6e-8), "ducc": (1.2e-6, 1.1e-7)}


class SpinTransform(SphereTransform):
    """Matrix elements a^j_mn = sum w D^j_mn, j = 0, 1/2, 1, ..., of unit vectors in R^4 as quaternions (x, y, z, w).

    Level after level k = 2j, a row of n = -j, ..., j for each m = 0, 1, ..., j or 1/2, 3/2, ..., j; negative orders m
    are not needed, since the weights are real.
    """

    def __init__(self, series: SphereSeries, low: LowMoments) -> None:
        basis = (
            "sum of w sum_k Delta^j_km Delta^j_kn exp(i (m a + k b + n c)), ZYZ angles of (x, y, z, w) in SU(2); "
            "[2j][m >= 0][n] in one row"
        )
        super().__init__(series, low, 399, basis)

    def seconds(self, n: int, degree: float) -> float:
        """Linear in the points, and two Fourier grids of degree^3 / 2 places, some 2 times oversampled."""
        costs = _COSTS[backend.chosen(3)]
        return 1e-3 + costs[0] * n + costs[1] * (degree + 2) ** 3

    def zeros(self, degree: float) -> Coefficients:
        """(k // 2 + 1) (k + 1) zeros for each level k."""
        return np.zeros(_starts(int(degree) + 1)[-1], dtype=np.complex128)

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, threads: int
    ) -> Coefficients:
        """Even levels and odd ones by one Fourier transform each.

        Points are taken in blocks, so that the memory needed does not grow with their number.
        """
        total, kinds = self.zeros(degree), _kinds(int(degree) + 1)
        for rows in slices(len(points), TRANSFORM_BLOCK):
            angles, found = euler_angles(points[rows]), np.empty_like(total)
            for half, starts in enumerate(kinds):
                analyse(angles, weights[rows], half, starts, found, epsilon, threads)
            total += found
        return total

    def moments(self, coefficients: Coefficients) -> FloatArray:
        """b_k = sum_mn |a^j_mn|^2 / (k + 1)."""
        starts = _starts(int(self.most) + 1)
        starts = starts[: np.searchsorted(starts, len(coefficients))]
        power = coefficients.real**2 + coefficients.imag**2
        widths = np.arange(len(starts)) + 1
        total = 2 * np.add.reduceat(power, starts)  # orders m and -m
        for level in range(0, len(starts), 2):
            total[level] -= power[starts[level] : starts[level] + level + 1].sum()  # m = 0 counts once
        return bounded(total / widths)

    def synthesis(
        self, coefficients: Coefficients, shares: FloatArray, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """Re sum_k q_k / (k + 1) sum_mn conj(a^j_mn) D^j_mn(y), the steps of `coefficients` in reverse."""
        starts, widths, kinds = _starts(len(shares)), np.arange(len(shares)) + 1, _kinds(len(shares))
        scaled = np.conj(coefficients) * np.repeat(shares / widths, np.diff(starts))
        found = np.empty(len(points))
        for rows in slices(len(points), TRANSFORM_BLOCK):
            angles = euler_angles(points[rows])
            parts = (synthesise(scaled, angles, half, own, epsilon, threads) for half, own in enumerate(kinds))
            found[rows] = sum(parts)
        return found


def _starts(count: int) -> IntArray:
    """Coefficients before each of *count* levels, and of all."""
    level = np.arange(count)
    return np.concatenate([[0], np.cumsum((level // 2 + 1) * (level + 1))])


def _kinds(count: int) -> list[IntArray]:
    """Coefficients before each of the even levels and, if *count* is above one, before each of the odd ones."""
    starts = _starts(count)[:-1]
    return [np.ascontiguousarray(starts[half::2]) for half in range(min(count, 2))]
