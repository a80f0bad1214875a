"""The resolution limit of a sample: the scale at which the law fills as many places as there are effective draws."""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import FloatArray
from ..engines import plan
from ..engines.base import Question
from ..engines.centred_overlap import Diagonal, diagonal_of
from ..engines.spectral import AGAIN
from ..measures.measure import Measure
from .jackknife import excess_of, excesses


def resolution_limit(
    measure: Measure,
    times: FloatArray,
    outcome: plan.Outcome,
    diagonal: Diagonal,
    estimate: FloatArray,
    unbiased: FloatArray,
    rtol: float,
) -> float:
    """sqrt(8 t) where places = ESS, in degrees on angular spaces; the coarsest such scale, and nan if there is none.

    Between the two *times* around it the sums of the sample are worked out anew where that is cheap, and interpolated
    where it is not; what the jackknife adds to the unbiased estimate is interpolated.
    """
    from scipy.interpolate import PchipInterpolator
    from scipy.optimize import brentq

    distinct, first = np.unique(times, return_index=True)
    own, logs = 1 / measure.ess, np.log(distinct)
    overlap = (diagonal.inverse + diagonal.rest * estimate)[first]
    rising = np.flatnonzero((overlap[:-1] < own) & (overlap[1:] >= own))
    if not len(rising):
        return math.nan
    low, high = float(logs[rising[-1]]), float(logs[rising[-1] + 1])
    added = PchipInterpolator(logs, (estimate - unbiased)[first])
    curve = PchipInterpolator(logs, np.log(np.maximum(overlap, 1e-3 * own)))

    def interpolated(log_time: float) -> float:
        return float(curve(log_time)) - math.log(own)

    def exact(log_time: float) -> float:
        time = np.array([math.exp(log_time)])
        around = diagonal_of(measure, time, rtol)
        excess = (_excess(measure, time, outcome, around, rtol) - own) / (1 - own) + float(added(log_time))
        return float((around.inverse + around.rest * excess)[0]) - own

    log_time = float(brentq(exact if _is_cheap(measure, low, outcome, rtol) else interpolated, low, high, xtol=1e-10))
    length = math.sqrt(8 * math.exp(log_time))
    return math.degrees(length) if measure.space.angular else length


def _is_cheap(measure: Measure, log_time: float, outcome: plan.Outcome, rtol: float) -> bool:
    """Whether one more scale costs nothing, by the spectrum of all scales, or about a tenth of a second."""
    if outcome.spectrum is not None and "+" not in outcome.method:
        return True
    return plan.plan(Question(measure, np.array([math.exp(log_time)]), rtol))[1] < AGAIN / 10


def _excess(measure: Measure, time: FloatArray, outcome: plan.Outcome, around: Diagonal, rtol: float) -> FloatArray:
    if outcome.spectrum is None or "+" in outcome.method:
        return excesses(measure, time, rtol, around)[1]
    sums = outcome.spectrum.heat_sums(time)
    return excess_of(sums.overlap, sums.log_mmd2, around)
