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


def log_allowed(log_diagonal: float, ess: float, share: float) -> float:
    """Log of the share of A that may be left out if that of MMD^2 = A - 1 is to be at most *share*.

    MMD^2 is rarely below f = (k_2t(x,x) - 1) / ESS, what independent draws have; its share of A is then f / (1 + f).
    """
    excess = -math.expm1(-log_diagonal)
    log_mmd2 = log_diagonal + (math.log(excess) if excess > 0 else -700.0) - math.log(ess)
    return math.log(share) - float(np.logaddexp(0.0, -log_mmd2))


def log_axis_share(y: Any) -> FloatArray:
    """Upper bound on the log of the share of A(t) in modes of one coordinate with 2 lambda t > y, whatever the atoms.

    sqrt(t) k_t does not fall with t in one dimension, so with c < 1 modes from lambda on hold at most exp(-y (1 - c))
    c^(-1/2) of A: sqrt(2 e y) exp(-y) at the best c = 1 / 2y. The same holds, because A does not grow with t, for the
    share of the pairs and images that are further apart along one coordinate than R, with y = R^2 / 8t.
    """
    y = np.maximum(y, 0.5)
    return np.asarray(0.5 * np.log(2 * y) + 0.5 - y)


def axis_exponent(log_share: float) -> float:
    """The least y at which `log_axis_share` is no more than *log_share*."""
    y = 1.0
    for _ in range(60):  # a contraction, faster the larger y is
        y = max(0.5 * math.log(2 * y) + 0.5 - log_share, 0.5)
    return y * (1 + 1e-9)


def side_of(time: float, period: float, y: float) -> int:
    """Modes |k| up to which, along one coordinate, 2 lambda t does not exceed y."""
    return max(2, math.ceil(min(period * math.sqrt(y / (8 * time)) / math.pi, 2.0**40)) - 1)


def tail(times: Any, period: float, side: Any) -> Any:
    """Bound on the share of modes |k| > side in one coordinate's k_2t(x, x) >= 1."""
    rate = (2 * math.pi / period) ** 2 * 2 * np.asarray(times)
    first = 2 * np.exp(-rate * (side + 1.0) ** 2) / -np.expm1(-rate * (2.0 * side + 3))
    return first / np.exp([diagonal_factor(float(t), period).log for t in np.atleast_1d(times)])


#: Most Fourier modes of a transform, by dimension: frequencies up to 2^18 on the circle; half a gigabyte of memory in
#: two dimensions, two in three.
MODE_LIMIT = {1: 2**19, 2: 2**23, 3: 2**24}

#: Seconds on two cores of a transform, by dimension: for each point, and for each mode.
_PER_POINT = {1: 6e-8, 2: 2e-7, 3: 1.2e-6}
_PER_MODE = {1: 1e-7, 2: 1.5e-7, 3: 4.5e-7}


def transform_seconds(n: int, sides: list[int]) -> float:
    """Rough seconds on two cores of a transform to modes |k_j| <= side_j; inf where these are too many."""
    dim, total = len(sides), math.prod(2 * side + 1 for side in sides)
    return 1e-3 + _PER_POINT[dim] * n + _PER_MODE[dim] * total if total <= MODE_LIMIT[dim] else math.inf


def folded(energies: FloatArray) -> FloatArray:
    """Energies by |k_j|, 0 <= |k_j| <= side_j, summed over the signs of each k_j."""
    for axis in range(energies.ndim):
        side = energies.shape[axis] // 2
        centred = np.moveaxis(energies, axis, 0)
        half = centred[side:].copy()
        half[1:] += centred[side - 1 :: -1]
        energies = np.moveaxis(half, 0, axis)
    return np.ascontiguousarray(energies)


def weighted_sums(energies: FloatArray, times: FloatArray, periods: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    """sum_k exp(-2 lambda_k t) e_k, and its derivative in log t, from `folded` energies."""
    total, change = np.empty((2, len(times)))
    for row, time in enumerate(times):
        value, slope = energies, np.zeros(())
        for size, period in zip(reversed(energies.shape), reversed(periods), strict=True):
            exponent = (2 * math.pi * np.arange(size) / period) ** 2 * (2 * time)
            decay = np.exp(-exponent)
            slope = (slope @ decay if slope.ndim else 0.0) - value @ (exponent * decay)
            value = value @ decay
        total[row], change[row] = value, slope
    return total, change
