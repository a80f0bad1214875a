"""The heat kernel of one periodic coordinate.

The kernel has two expansions (Poisson summation, or Jacobi's theta identity): a Fourier series that converges
fast at large times, and a sum over images that converges fast at small ones. At the time s = 2t = T^2 / 4 pi
both do, and a handful of terms is exact to rounding.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import FloatArray


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
    for k, least in ((-1, unit / 4), (1, unit), (-2, 2 * unit), (2, 4 * unit), (-3, 6 * unit), (3, 9 * unit)):
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


def gap_between(left: Any, right: Any, periods: Any) -> FloatArray:
    """The shorter way round between reduced coordinates, without cancellation across the seam."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    half = periods / 2
    return np.asarray(np.minimum(high - low, (half - high) + (half + low)))


def tail(times: Any, period: float, side: Any) -> Any:
    """Bound on the share of modes |k| > side in one coordinate's k_2t(x, x) >= 1."""
    rate = (2 * math.pi / period) ** 2 * 2 * np.asarray(times)
    first = 2 * np.exp(-rate * (side + 1.0) ** 2) / -np.expm1(-rate * (2.0 * side + 3))
    return first / np.exp([diagonal_factor(float(t), period).log for t in np.atleast_1d(times)])
