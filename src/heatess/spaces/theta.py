"""The heat kernel of one periodic coordinate, and how many of its Fourier modes a transform needs.

The kernel has two expansions (Poisson summation, or Jacobi's theta identity): a Fourier series that converges
fast at large times, and a sum over images that converges fast at small ones. At the time s = 2t = T^2 / 4 pi
both do, and a handful of terms is exact to rounding.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .base import FloatArray


class Factor(NamedTuple):
    """One coordinate's heat kernel k_2t with respect to normalised length."""

    log: Any  # log k_2t, of the shape of the distances
    slope: Any  # d log k_2t / d log t


def factor(gap: Any, time: float, period: float) -> Factor:
    """The kernel at distances 0 <= gap <= period / 2, by whichever expansion converges faster."""
    s = 2 * time
    if s > period**2 / (4 * math.pi):
        rate = (2 * math.pi / period) ** 2 * s
        u = np.cos(2 * math.pi / period * gap)
        # cos 2x, cos 3x from cos x; the fourth term is below e^(-16 pi).
        cosines = ((1, u), (4, 2 * u * u - 1), (9, (4 * u * u - 3) * u))
        excess = sum(2 * math.exp(-k * rate) * c for k, c in cosines)
        falling = sum(2 * k * rate * math.exp(-k * rate) * c for k, c in cosines)
        return Factor(np.log1p(excess), -falling / (1 + excess))
    # Images at gap + k T, as multiples of the nearest: exp(-k T (k T + 2 gap) / 4s), all exponents negative.
    square = gap * gap / (4 * s)
    beyond: Any = 0.0
    mean: Any = 0.0
    unit = period**2 / (4 * s)
    for k, least in ((-1, unit / 4), (1, unit), (-2, 2 * unit), (2, 4 * unit), (-3, 6 * unit)):
        if least > 60:
            break  # this image and those that follow are below e^-60 of the diagonal
        step = (k * period / (4 * s)) * (2 * gap + k * period)
        image = np.exp(-step)
        beyond = beyond + image
        mean = mean + step * image
    log = math.log(period) - 0.5 * math.log(4 * math.pi * s) - square + np.log1p(beyond)
    return Factor(log, square + mean / (1 + beyond) - 0.5)


def diagonal_factor(time: float, period: float) -> Factor:
    """The kernel at distance zero, as plain numbers."""
    log, slope = factor(0.0, time, period)
    return Factor(float(log), float(slope))


def log_axis_overlap(time: float, gap: float, period: float) -> float:
    """Log overlap of two atoms that differ in one coordinate."""
    return float(factor(gap, time, period).log - diagonal_factor(time, period).log)


def gap_between(left: Any, right: Any, periods: Any) -> FloatArray:
    """The shorter way round between reduced coordinates, without cancellation across the seam."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    half = periods / 2
    return np.asarray(np.minimum(high - low, (half - high) + (half + low)))


def time_of_gap(gap: float, period: float) -> float:
    """The time at which two atoms that differ by *gap* in one coordinate overlap by 1/e."""
    from scipy.optimize import brentq

    low = high = 2 * math.log(gap) - math.log(8)  # t = d^2 / 8, exact in flat space
    while log_axis_overlap(math.exp(high), gap, period) < -1:
        high += 0.5
    while log_axis_overlap(math.exp(low), gap, period) > -1:
        low -= 0.5
    return math.exp(brentq(lambda x: log_axis_overlap(math.exp(x), gap, period) + 1, low, high, xtol=1e-14))


def gap_of_time(time: float, period: float) -> float:
    """The inverse of `time_of_gap`; nan where all pairs overlap more than 1/e."""
    from scipy.optimize import brentq

    if log_axis_overlap(time, period / 2, period) >= -1:
        return math.nan
    most = min(period / 2, 4 * math.sqrt(8 * time))
    return float(brentq(lambda gap: log_axis_overlap(time, gap, period) + 1, 0.0, most, xtol=1e-300, rtol=1e-14))


# A transform: how many modes, what it costs, how they are summed.


def least_power(time: float, periods: tuple[float, ...], ess: float) -> float:
    """What must be certain, as a share of k_2t(x,x): a lower bound of A - 1, as in `kernel.level_count`."""
    log_diagonal = sum(diagonal_factor(time, T).log for T in periods)
    lowest = 2 * math.exp(-2 * (2 * math.pi / max(periods)) ** 2 * time - log_diagonal)
    return max(1 / ess - math.exp(-log_diagonal), lowest / ess, 1e-300)


def tail(times: Any, period: float, side: Any) -> Any:
    """Bound on the share of modes |k| > side in one coordinate's k_2t(x, x) >= 1."""
    rate = (2 * math.pi / period) ** 2 * 2 * np.asarray(times)
    first = 2 * np.exp(-rate * (side + 1.0) ** 2) / -np.expm1(-rate * (2.0 * side + 3))
    return first / np.exp([diagonal_factor(float(t), period).log for t in np.atleast_1d(times)])


def mode_count(time: float, period: float, goal: float) -> int:
    """The least side with a tail below *goal*, to a few percent."""
    rate = (2 * math.pi / period) ** 2 * 2 * time
    side = max(2.0, math.sqrt(max(-math.log(goal) / rate, 0.0)) - 1)
    if side > 2**20:
        return 2**20
    while tail(time, period, math.ceil(side))[0] > goal:
        side = 1.02 * side + 1
    return math.ceil(side)


def transform_seconds(n: int, total: int, dim: int) -> float:
    """Roughly, on two cores."""
    return float((5e-8 * 4**dim / 4) * n + 1e-7 * total)


def pair_seconds(n: int, scales: int, dim: int) -> float:
    """Roughly, on two cores."""
    return float(0.5 * n**2 * scales * dim * 2e-8)


def weighted_sums(energies: FloatArray, times: FloatArray, periods: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    """sum_k exp(-2 lambda_k t) e_k, and its derivative in log t."""
    total, change = np.empty((2, len(times)))
    for row, time in enumerate(times):
        value, slope = energies, np.zeros_like(energies)
        for size, period in zip(reversed(energies.shape), reversed(periods), strict=True):
            k = np.arange(size) - size // 2
            exponent = (2 * math.pi * k / period) ** 2 * (2 * time)
            decay = np.exp(-exponent)
            value, slope = value @ decay, slope @ decay - value @ (exponent * decay)
        total[row], change[row] = value, slope
    return total, change
