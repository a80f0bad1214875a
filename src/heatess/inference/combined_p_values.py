"""p-values of several statistics, and one from them all: the Cauchy combination, calibrated for their joint law."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from ..base.arrays import FloatArray
from .chi_square_mixtures import ChiSquareMixture, Tail
from .uniformity_families import NullLevels

#: Points of the quasi-random sequence that calibrates the combination, a power of two.
POINTS = 2**14

#: Levels that are drawn one by one, and bands into which the others are gathered.
SINGLE, BANDS = 16, 6

#: p-values above this count as this: one that is nearly one would hide all the others. Those below underflow.
LARGEST_PVALUE, LEAST_PVALUE = 0.9, 1e-300

#: Where fewer points than this lie beyond, the combination's own tail, which is right for small p-values, takes over.
FEW_BEYOND = 64

#: Above so many degrees of freedom (log) a chi-square variable is normal to three digits.
HUGE = 14.0

#: Statistics closer than this, relatively, are tied.
TIE = 1e-9


def cauchy(pvalues: FloatArray) -> FloatArray:
    """The mean of cot(pi p) over the last axis: large where some p-value is small."""
    return np.asarray((1 / np.tan(np.pi * np.clip(pvalues, LEAST_PVALUE, LARGEST_PVALUE))).mean(axis=-1))


class LimitLaw:
    """The law that the statistics of independent uniform points tend to: sums of shared chi-square variables.

    *spread* is the standard deviation of each for the weights at hand, over that of the limit: the mean is the same.
    """

    def __init__(self, levels: NullLevels, spread: float) -> None:
        self._levels, self._spread = levels, spread

    @cached_property
    def mixtures(self) -> list[ChiSquareMixture]:
        """The law of each statistic by itself."""
        logs = self._levels.log_multiplicities
        return [ChiSquareMixture(coefficients, log_degrees=logs) for coefficients in self._levels.coefficients]

    def tails(self, values: FloatArray) -> list[Tail]:
        """The p-value of each statistic, with its error."""
        beyond = self._levels.beyond
        shifted = [float(value) - float(far) for value, far in zip(values, beyond, strict=True)]
        return [
            law.tail(law.mean + (value - law.mean) / self._spread)
            for law, value in zip(self.mixtures, shifted, strict=True)
        ]

    @cached_property
    def _sums(self) -> FloatArray:
        """Combinations of quasi-random draws (Sobol, without a seed, so results can be repeated), in order."""
        return np.sort(cauchy(_ranked(-_limit_draws(self._levels))))

    def combined(self, pvalues: FloatArray) -> float:
        """One p-value from those of all statistics."""
        if len(pvalues) == 1:
            return float(pvalues[0])
        sums, observed = self._sums, float(cauchy(pvalues))
        beyond = len(sums) - int(np.searchsorted(sums, observed, side="left"))
        if beyond >= FEW_BEYOND:
            return (beyond + 0.5) / (len(sums) + 1)
        ratio = (FEW_BEYOND + 0.5) / (len(sums) + 1) / _cauchy_tail(float(sums[-FEW_BEYOND]))
        return min(1.0, max(ratio * _cauchy_tail(observed), LEAST_PVALUE))


def _cauchy_tail(value: float) -> float:
    return float(np.arctan2(1.0, value) / np.pi)


def _ranked(values: FloatArray) -> FloatArray:
    """The share of each column that is at most each entry, less half an entry: p-values of minus the entries."""
    order = np.argsort(values, axis=0, kind="stable")
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, np.arange(len(values))[:, None] + 0.5, axis=0)
    return ranks / len(values)


def _limit_draws(levels: NullLevels) -> FloatArray:
    """Quasi-random draws of all statistics, shape (POINTS, statistics)."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    logs = levels.log_multiplicities
    with np.errstate(divide="ignore", under="ignore"):
        log_spreads = 2 * np.log(levels.coefficients) + logs  # of c^2 N
    peak = log_spreads.max(axis=1, keepdims=True)
    shares = np.exp(log_spreads - peak)
    shares /= shares.sum(axis=1, keepdims=True)  # of the variance of each statistic
    single = min(SINGLE, shares.shape[1])
    bands = _bands(shares[:, single:])
    normal = ndtri(qmc.Sobol(single + len(bands), scramble=False).random(POINTS) + 0.5 / POINTS)
    # Standardised: mean 0, variance 1 in total; ranks do not see the difference.
    found = np.zeros((POINTS, len(shares)))
    for level in range(single):
        found += np.outer(_standard_chi_square(normal[:, level], float(logs[level])), np.sqrt(shares[:, level]))
    for place, band in enumerate(bands):
        found += np.outer(normal[:, single + place], np.sqrt(shares[:, single:][:, band].sum(axis=1)))
    return found


def _bands(shares: FloatArray) -> list[slice]:
    """Neighbouring levels, in bands of equal shares of the largest variance that they bring anywhere."""
    if not shares.shape[1] or shares.sum() < 1e-6:
        return []
    total = np.cumsum(shares.max(axis=0))
    cuts = np.unique(np.searchsorted(total, total[-1] * np.arange(1, BANDS) / BANDS))
    ends = [0, *(int(cut) + 1 for cut in cuts if cut + 1 < len(total)), len(total)]
    return [slice(first, end) for first, end in pairwise(ends)]


def _standard_chi_square(normal: FloatArray, log_degrees: float) -> FloatArray:
    """(chi2(N) - N) / sqrt(2 N) where a normal variable has the same quantile, from a table; the same for huge N."""
    from scipy.interpolate import CubicSpline
    from scipy.special import gammaincinv, ndtr

    if log_degrees > HUGE:
        return normal
    degrees = np.exp(log_degrees)
    at = np.linspace(-4.5, 4.5, 73)
    return np.asarray(
        CubicSpline(at, (2 * gammaincinv(degrees / 2, ndtr(at)) - degrees) / np.sqrt(2 * degrees))(normal)
    )


def from_draws(observed: FloatArray, drawn: FloatArray) -> tuple[FloatArray, float]:
    """p-values of each statistic and of their combination from draws under the null, shape (draws, statistics).

    The observed row counts as one more draw, so under the null each p-value is at most p with probability p or less,
    whatever the number of draws.
    """
    rows = np.vstack([observed[None], drawn])
    slack = TIE * np.abs(rows).max(axis=0)
    ordered = np.sort(rows, axis=0)
    below = np.stack(
        [np.searchsorted(ordered[:, k], rows[:, k] - slack[k], side="left") for k in range(rows.shape[1])], axis=1
    )
    pvalues = (len(rows) - below) / len(rows)
    sums = cauchy(pvalues)
    return pvalues[0], float((sums >= sums[0] - TIE * (1 + abs(sums[0]))).mean())
