"""The small-time expansion of the heat kernel in the exponent, where it depends on the distance alone."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..base.arrays import FloatArray
from .series import SmallTime

#: Orders kept in time and in squared distance, and the order of log theta that they need.
_TIMES, _SQUARES = 12, 14
_ORDER = _TIMES + _SQUARES + 2


@lru_cache(maxsize=64)
def phase(m: int, double: int = 0) -> tuple[FloatArray, FloatArray]:
    """Coefficients of the small-time expansion of the heat kernel on a compact symmetric space of rank one.

    In polar coordinates around a point the volume is r^(m - 1) theta(r) dr times that of directions. Of the m - 1
    directions across a geodesic *double* have four times the curvature 1 of the others: none on S^m, one on CP^n. So

        h(r) = log theta(r) = (m - 1 - double) log(sin r / r) + double log(sin 2r / 2r).

    With s = 2t the kernel with respect to Riemannian volume is

        K_s(r) = (4 pi s)^(-m/2) exp(-r^2 / 4s) theta(r)^(-1/2) exp(sum_{k>=1} s^k phi_k(r)).

    The heat equation gives, power by power,

        k phi_k + r phi_k' = phi_{k-1}'' + (m - 1)/r phi_{k-1}' + sum_{i+j=k-1} phi_i' phi_j' + [k = 1] q,
        q(r) = -h''/2 - h'^2 / 4 - (m - 1) h' / 2r.

    Expanding the logarithm rather than the kernel is what keeps this accurate when m^2 s is not small.

    Returns
    -------
    phase : ndarray, shape (orders in s, orders in r^2)
        Coefficient of s^k r^(2j) in the exponent.
    curvature : ndarray, shape (orders in r^2,)
        Coefficient of r^(2j) in -h/2.
    """
    j, powers = np.arange(_ORDER), np.arange(1, _ORDER + 1)
    h = np.concatenate([[0.0], (m - 1 - double + double * 4.0**powers) * _log_sine(_ORDER)])
    phi = np.zeros((_TIMES + 1, _ORDER))
    phi[1] = -((j + 1) * (2 * j + m) * h[1:] + _slopes(h, h)[:_ORDER] / 4) / (1 + 2 * j)
    for k in range(2, _TIMES + 1):
        source = np.zeros(_ORDER)
        source[:-1] = (2 * j[:-1] + 2) * (2 * j[:-1] + m) * phi[k - 1, 1:]
        for i in range(1, k - 1):
            source += _slopes(phi[i], phi[k - 1 - i])[:_ORDER]
        phi[k] = source / (k + 2 * j)
        phi[k, _ORDER - k :] = 0.0  # these would need powers beyond the order
    return phi[:, : _SQUARES + 1], -h[: _SQUARES + 1] / 2


def _log_sine(count: int) -> FloatArray:
    """Coefficients of r^2, r^4, ... in log(sin r / r), -zeta(2p) / (p pi^2p).

    With z_p = zeta(2p) / pi^2p the recursion (p + 1/2) z_p = z_1 z_{p-1} + ... + z_{p-1} z_1 from z_1 = 1/6 adds
    positive numbers only, and so keeps their digits.
    """
    ratios = np.array([1 / 6])
    for p in range(2, count + 1):
        ratios = np.append(ratios, ratios @ ratios[::-1] / (p + 0.5))
    return -ratios / np.arange(1, count + 1)


def _slopes(left: FloatArray, right: FloatArray) -> FloatArray:
    """The product of the derivatives of two even functions."""
    j = np.arange(len(left))
    return np.convolve(2 * j * left, 2 * j * right)[1:]  # each derivative has the power 2j - 1


@lru_cache(maxsize=1024)
def small_time(m: int, time: float, double: int = 0) -> SmallTime:
    """The expansion of `phase` at one time, up to a quarter of a closed geodesic.

    There r^2 is no more than a quarter of where the powers of r^2 cease to converge, so that what is left out of them
    is less than the last of them; of the powers of s the last two are taken for what is left out.
    """
    s, loop = 2 * time, math.pi if double else 2 * math.pi
    exponent, curvature = phase(m, double)
    orders = np.arange(len(exponent))[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # at times that are far from small, and said to be in the error
        terms = s**orders * exponent  # (order in s, order in distance^2)
        polynomial = terms.sum(axis=0) + curvature
        slope = (orders * terms).sum(axis=0)
    log_density = -m / 2 * math.log(4 * math.pi * s) + float(polynomial[0])
    polynomial[0] = slope[0] = 0.0
    polynomial[1] -= 1 / (4 * s)
    slope[1] += 1 / (4 * s)
    reach = min(math.sqrt(4 * s * 60), loop / 4)
    powers = reach ** (2 * np.arange(exponent.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        truncated = float((np.abs(terms[-2:]) @ powers).sum())
        error = truncated + float(np.abs(terms[:, -1] + curvature[-1]).sum() * powers[-1])
    error = math.inf if math.isnan(error) else error
    polynomial.flags.writeable = slope.flags.writeable = False
    return SmallTime(polynomial, slope, log_density, error + wrap_error(loop, s, m), reach)


def wrap_error(loop: float, s: float, m: int) -> float:
    """Bound on what geodesics the long way round add to the kernel, relatively, up to a quarter of the *loop*.

    A closed geodesic of length *loop* has the other arc loop - r, which adds exp(-((loop - r)^2 - r^2) / 4s) times the
    root of ((loop - r) / r)^(m - 1), and near r = 0, where geodesics meet again, of (1 + 4/s)^(m - 1). The logarithm
    of that has no maximum in between: it is largest at r = loop / 4 or at zero. Higher orders come to less than m^2 s.
    """
    half = (m - 1) / 2
    quarter = -(loop**2) / (8 * s) + half * math.log(4)
    back = -(loop**2) / (4 * s) + half * math.log1p(4 / s)
    return math.exp(min(0.0, max(quarter, back) + m**2 * s))
