"""The Fourier transform on the 3-sphere, which is the group of unit quaternions SU(2).

Level k of S^3 holds the matrix elements of Wigner's D^j with j = k / 2. Those of even k are functions of rotations, the
same at q and -q; those of odd k change their sign, and have half-integer orders. Each of the two kinds takes one
nonuniform Fourier transform in the Euler angles; see `transforms.wigner`.
"""

from __future__ import annotations

from ..heat.spherical import SphereSeries
from . import backend
from .low_moments import LowMoments
from .wigner import EulerTransform

#: Seconds on two cores of a transform: for each point, and for the cube of the degree.
_COSTS = {"native": (1.3e-6, 6e-8), "ducc": (1.2e-6, 1.1e-7)}


class SpinTransform(EulerTransform):
    """Matrix elements a^j_mn = sum w D^j_mn, j = 0, 1/2, 1, ..., of unit vectors in R^4 as quaternions (x, y, z, w).

    Level after level k = 2j, a row of n = -j, ..., j for each m = 0, 1, ..., j or 1/2, 3/2, ..., j; negative orders m
    are not needed, since the weights are real.
    """

    def __init__(self, series: SphereSeries, low: LowMoments) -> None:
        basis = (
            "sum of w sum_k Delta^j_km Delta^j_kn exp(i (m a + k b + n c)), ZYZ angles of (x, y, z, w) in SU(2); "
            "[2j][m >= 0][n] in one row"
        )
        super().__init__(series, low, 399, basis, step=2)

    def seconds(self, n: int, degree: float) -> float:
        """Linear in the points, and two Fourier grids of degree^3 / 2 places, some 2 times oversampled."""
        costs = _COSTS[backend.chosen(3)]
        return 1e-3 + costs[0] * n + costs[1] * (degree + 2) ** 3
