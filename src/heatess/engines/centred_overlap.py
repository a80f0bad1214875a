"""The centred overlap of two atoms, which tests and bands are made of:

    c_t(x, y) = (k_2t(x, y) - 1) / (k_2t(x, x) - 1),

one for an atom with itself, with a mean of zero for uniform atoms. It neither overflows at fine scales nor loses digits
at coarse ones. On spaces of infinite volume it is the overlap s_t itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..heat.radial import PairTerms
from ..heat.series import SERIES_LIMIT, level_count, log_terms
from ..heat.sums import log_excess_of_power, log_sum
from ..measures.measure import Measure

#: 1 / k_2t(x, x) from which on k_2t - 1 of pairs is used as it is, in place of overlaps less their mean.
NEAR_UNIFORM = 0.5


class Diagonal(NamedTuple):
    """k_2t(x, x) at each time, in the forms that do not overflow; infinite where the volume is."""

    inverse: FloatArray  # 1 / k_2t(x, x)
    rest: FloatArray  # 1 - 1 / k_2t(x, x), with all its digits where k_2t(x, x) is near one
    log_excess: FloatArray  # log(k_2t(x, x) - 1)
    narrowing: FloatArray  # integral of s_t^2 over that of s_t: k_4t(x, x) / k_2t(x, x)

    def part(self, part: slice) -> Diagonal:
        """At some of the times."""
        return Diagonal(*(column[part] for column in self))

    def of_pairs(self, place: int, terms: PairTerms) -> FloatArray:
        """Centred overlaps of some pairs at one of the times."""
        if terms.excess is not None and self.inverse[place] >= NEAR_UNIFORM:
            return np.asarray(terms.excess * math.exp(-self.log_excess[place]))
        return np.asarray((terms.overlap - self.inverse[place]) / self.rest[place])


def diagonal_of(measure: Measure, times: FloatArray, rtol: float) -> Diagonal:
    """k_2t(x, x) at times of any order."""
    space, kernel = measure.space, measure.space.pair_kernel
    if kernel is None or not space.compact:
        nothing = np.zeros(len(times))
        return Diagonal(nothing, nothing + 1.0, nothing + math.inf, nothing + 2.0 ** (-space.dim / 2))
    both = np.concatenate([times, 2 * times])
    logs = space.log_diagonal(both, rtol)
    log_diagonal, log_wider = logs[: len(times)], logs[len(times) :]
    logs_of_excess = log_excess(measure, times, rtol)
    with np.errstate(under="ignore"):
        inverse, rest = np.exp(-log_diagonal), np.exp(-np.logaddexp(0.0, -logs_of_excess))
        return Diagonal(inverse, rest, logs_of_excess, np.exp(np.minimum(log_wider - log_diagonal, 0.0)))


def log_excess(measure: Measure, times: FloatArray, rtol: float) -> FloatArray:
    """log(k_2t(x, x) - 1), MMD^2 of one atom to the uniform law; nan where that depends on the place."""
    kernel, series = measure.space.pair_kernel, measure.space.series
    count = None if series is None else level_count(series, float(times.min()), 1.0, 1e-15, SERIES_LIMIT)
    if series is not None and count is not None:
        return log_sum(log_terms(series, times, count)[:, 1:])
    if kernel is None:
        return np.full(len(times), np.nan)
    kernel = kernel.fitted(times, rtol)
    row = kernel.rows(measure.points, slice(0, 1))
    terms = kernel.terms(row, row)
    excess = np.array([np.asarray(terms(float(time)).excess).item() for time in times])
    log_power = kernel.log_diagonal(times)
    with np.errstate(divide="ignore"):
        return np.where(log_power > 1.0, log_excess_of_power(log_power), np.log(np.maximum(excess, 0.0)))
