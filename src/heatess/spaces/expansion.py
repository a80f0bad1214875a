"""The small-time expansion of the heat kernel on round spheres, in the exponent."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .base import FloatArray


@lru_cache(maxsize=64)
def phase(m: int, time_order: int = 12, distance_order: int = 14) -> tuple[FloatArray, FloatArray]:
    """Coefficients of the small-time expansion of the heat kernel of S^m.

    With s = 2t, r the distance and a = (m - 1)/2, the kernel with respect to Riemannian volume is

        K_s(r) = (4 pi s)^(-m/2) exp(-r^2 / 4s) (r / sin r)^a exp(sum_{k>=1} s^k phi_k(r)).

    The heat equation gives, power by power,

        k phi_k + r phi_k' = phi_{k-1}'' + (m - 1)/r phi_{k-1}' + sum_{i+j=k-1} phi_i' phi_j' + [k = 1] q,
        q(r) = a^2 + a (1 - a) (1 / sin^2 r - 1 / r^2).

    Expanding the logarithm rather than the kernel is what keeps this accurate when m^2 s is not small.

    Returns
    -------
    phase : ndarray, shape (time_order + 1, distance_order + 1)
        Coefficient of s^k r^(2j) in the exponent.
    curvature : ndarray, shape (distance_order + 1,)
        Coefficient of r^(2j) in a log(r / sin r).
    """
    from scipy.special import zeta

    a = (m - 1) / 2
    width = time_order + distance_order + 1
    j = np.arange(width + 1)
    potential = a * (1 - a) * 2 * (2 * j + 1) * zeta(2 * j + 2) / math.pi ** (2 * j + 2)
    potential[0] += a * a
    phi = np.zeros((time_order + 1, width + 1))
    phi[1] = potential / (1 + 2 * j)
    for k in range(2, time_order + 1):
        source = np.zeros(width + 1)
        source[:-1] = (2 * j[:-1] + 2) * (2 * j[:-1] + m) * phi[k - 1, 1:]
        for i in range(1, k - 1):  # phi_i' phi_{k-1-i}', whose lowest power is r^2
            product = np.convolve(2 * j * phi[i], 2 * j * phi[k - 1 - i])
            source[1:] += product[2 : width + 2]
        phi[k] = source / (k + 2 * j)
        phi[k, width + 1 - k :] = 0.0  # these would need powers beyond the width
    curvature = np.zeros(distance_order + 1)
    powers = np.arange(1, distance_order + 1)
    curvature[1:] = a * zeta(2 * powers) / (powers * math.pi ** (2 * powers))
    return phi[:, : distance_order + 1], curvature


def wrap_error(loop: float, s: float, m: int) -> float:
    """Bound on what geodesics the long way round add to the kernel, relatively, up to a quarter of the *loop*.

    A closed geodesic of length *loop* has the other arc loop - r, and exp(-((loop - r)^2 - r^2) / 4s) is largest at
    r = loop / 4; where geodesics meet again, the factor grows like s^(-(m - 1)/2).
    """
    return math.exp(min(0.0, -(loop**2) / (8 * s) + (m - 1) / 2 * math.log1p(4 / s)))
