"""What replacing one measure by another does to gESS, as a bound that holds at a scale and at all coarser ones.

With A the power of a measure, its norm squared after smoothing, |sqrt A_P - sqrt A_Q| <= MMD_t(P, Q), so that

    |log gESS_P - log gESS_Q| <= 2 log(1 + MMD_t / sqrt(min(A_P, A_Q))).

MMD_t falls with t, but so does A, and their ratio need not. Both MMD_t^2 and A are sums of exponentials in t, so their
logarithms are convex: between two times log MMD^2 lies below its chord, and log A above the chords of the neighbouring
intervals, prolonged. That bounds the ratio between the times of a grid; beyond the last, A >= 1 and MMD falls.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..base.arrays import EPS, FloatArray
from ..base.progress import Progress
from ..engines import columns, plan
from ..engines.base import PotentialQuestion
from ..engines.node_differences import squared_apart
from ..heat.sums import HeatSums
from ..measures.measure import Measure
from ..spaces.base import Space
from .mmd import apart, differences, log_mmd2_of

#: What lines in place of curves may add to the logarithm of the ratio, about, and most and fewest times of the grid.
SLACK_OF_LOG_RATIO, MOST_TIMES, FEW_TIMES = 0.02, 1500, 6

#: Seconds for all times where every scale costs as much as every other.
SECONDS_FOR_ALL_TIMES = 5.0

#: The same for the curves where the bound is for one scale alone, and how far they reach in units of its time.
CURVE, REACH_IN_TIMES = 12, 400.0

#: Atoms up to which more digits than asked for cost little.
FEW_ATOMS = 20_000


class Certificate(NamedTuple):
    """MMD, rounded up, with its bound on |log gESS ratio|, and both gESS at some times from the given one up."""

    mmd: float
    bound: float
    times: FloatArray
    gess: FloatArray  # (2, times)


def certify(one: Measure, other: Measure, time: float, rtol: float) -> Certificate:
    """The certificate for *other* in place of *one*; on infinite and on uneven spaces for this one scale."""
    space = one.space
    if space.modes is not None:
        return _at_one_scale(one, other, time, rtol, squared_apart(space, space.modes, *differences(one, other), time))
    if not space.compact:
        return _at_one_scale(one, other, time, rtol, None)
    times = _grid(one, time)
    sums = [_sums(measure, times, rtol) for measure in (one, other)]
    log_diagonal = space.log_diagonal(times, rtol)
    log_mmd2 = _most_log_mmd2(one, other, times, rtol, log_diagonal, sums)
    ratio = max(_largest_ratio(times, log_mmd2, _least_log_power(part, log_diagonal)) for part in sums)
    with np.errstate(over="ignore"):
        mmd = float(np.exp(log_mmd2[0] / 2)) * (1 + 8 * EPS)
    return Certificate(mmd, 2 * math.log1p(ratio), times, _counts(one, other, sums))


def _grid(measure: Measure, time: float) -> FloatArray:
    """Times from the given one to where heat has mixed the space.

    The second derivative of log A in t is about dim / (2 t^2), so a step of a share e of t adds about e^2 dim / 4.
    """
    space = measure.space
    last = max(2 * space.diameter**2, 4 * time)
    count = float(np.clip(math.log(last / time) * math.sqrt(space.dim / (4 * SLACK_OF_LOG_RATIO)), 16, MOST_TIMES))
    if space.pair_kernel is not None and not _scales_are_free(space):
        count = min(count, max(SECONDS_FOR_ALL_TIMES / space.pair_kernel.seconds(float(measure.n) ** 2, 1), FEW_TIMES))
    return np.geomspace(time, last, int(count))


def _scales_are_free(space: Space) -> bool:
    """Whether many scales cost hardly more than one."""
    return space.transform is not None or space.zonal is not None


def _sums(measure: Measure, times: FloatArray, rtol: float) -> HeatSums:
    return plan.run(measure, times, rtol, "auto", Progress(False), mmd2=False).sums


def _too_long(measure: Measure) -> plan.Words:
    return lambda wait: f"overlaps of all {measure.n:,} points with those kept would take {wait}; keep fewer of them"


def _counts(one: Measure, other: Measure, sums: list[HeatSums]) -> FloatArray:
    rows = zip(sums, (one, other), strict=True)
    return np.array([np.clip(1 / part.overlap, 1.0, measure.ess) for part, measure in rows])


def _least_log_power(sums: HeatSums, log_diagonal: FloatArray) -> FloatArray:
    """log A, or less, also where a chord of it is prolonged by a step; at least zero."""
    return np.asarray(np.maximum(log_diagonal + np.log(sums.overlap) - 4 * sums.error - 64 * EPS, 0.0))


def _most_log_mmd2(
    one: Measure, other: Measure, times: FloatArray, rtol: float, log_diagonal: FloatArray, sums: list[HeatSums]
) -> FloatArray:
    """log MMD^2, or more, at each time."""
    parts = apart(one, other)
    if parts is None:
        return np.full(len(times), -np.inf)
    if not _scales_are_free(one.space):
        squares = [_direct(one, other, float(time), [part[k : k + 1] for part in sums]) for k, time in enumerate(times)]
        return np.asarray(np.minimum.accumulate(np.log(squares) + log_diagonal))
    values, error = log_mmd2_of(parts, times, rtol)
    with np.errstate(invalid="ignore"):
        most = values + np.log1p(error) + 2 * math.log(parts.mass) + 64 * EPS
    # Where the difference of sums is lost in rounding, the one at a finer scale is a bound; at the finest, its sums.
    most = np.where(np.isfinite(error), most, np.inf)
    if not np.isfinite(most[0]):
        most[0] = math.log(_direct(one, other, float(times[0]), [part[:1] for part in sums])) + log_diagonal[0]
    return np.asarray(np.minimum.accumulate(most))


def _largest_ratio(times: FloatArray, log_mmd2: FloatArray, log_power: FloatArray) -> float:
    """MMD / sqrt(A), or more, at all times from the first on: on each interval by lines, beyond the last with A >= 1.

    >>> times = np.linspace(1.0, 2.0, 5)
    >>> round(_largest_ratio(times, -times, 2 - times), 6), round(float(np.exp(-1)), 6)  # their ratio is exp(-1)
    (0.367879, 0.367879)
    """
    if np.isneginf(log_mmd2[0]):
        return 0.0
    slopes = np.diff(log_power) / np.diff(times)
    largest = float(log_mmd2[-1])
    for k in range(len(times) - 1):
        start, end = times[k : k + 2]
        chord = (log_mmd2[k + 1] - log_mmd2[k]) / (end - start) if np.isfinite(log_mmd2[k + 1]) else 0.0
        lines = [(times[-1], 0.0, 0.0), (end, log_power[k + 1], 0.0)]  # A falls, and is no less than one
        if k > 0:
            lines.append((start, log_power[k], slopes[k - 1]))
        if k + 2 < len(times):
            lines.append((end, log_power[k + 1], slopes[k + 1]))
        corners = np.array([start, end, *_crossings(lines, start, end)])
        below = np.max([value + slope * (corners - at) for at, value, slope in lines], axis=0)
        largest = max(largest, float((log_mmd2[k] + chord * (corners - start) - below).max()))
    return math.exp(min(largest / 2, 700.0))


def _crossings(lines: list[tuple[float, float, float]], start: float, end: float) -> list[float]:
    """Where two of the lines (place, value there, slope) cross between *start* and *end*."""
    found = []
    for i, (at, value, slope) in enumerate(lines):
        for place, other, steepness in lines[:i]:
            if slope != steepness:
                crossing = (other - steepness * place - value + slope * at) / (slope - steepness)
                if start < crossing < end:
                    found.append(crossing)
    return found


def _at_one_scale(one: Measure, other: Measure, time: float, rtol: float, square: float | None) -> Certificate:
    """The certificate in units of the overlap: MMD^2 / k_2t(x, x), whose norm squared is 1 / gESS."""
    times = time * np.geomspace(1.0, REACH_IN_TIMES, CURVE)
    curves = [_sums(measure, times, rtol) for measure in (one, other)]
    sharp = rtol if one.n > FEW_ATOMS else min(rtol, 1e-9)
    first = [_sums(measure, times[:1], sharp) for measure in (one, other)]
    square = _direct(one, other, time, first) if square is None else square
    least = min(float(part.overlap[0] * (1 - part.error[0])) for part in first)
    ratio = math.sqrt(square / least) if least > 0 else math.inf
    return Certificate(math.sqrt(square) * (1 + 8 * EPS), 2 * math.log1p(ratio), times, _counts(one, other, curves))


def _direct(one: Measure, other: Measure, time: float, sums: list[HeatSums]) -> float:
    """sum_ij (w - v)_i (w - v)_j s_t(x_i, x_j), or more, from the three sums of its square."""
    question = PotentialQuestion(one, np.array([time]), 1e-8, mmd2=False, at=other.points)
    found = columns.potentials(question, Progress(False), _too_long(one), plan.EXACT)
    own, new = (float(part.overlap[0]) for part in sums)
    mixed = float(other.weights @ found.values[0])
    doubt = own * float(sums[0].error[0]) + new * float(sums[1].error[0]) + 2 * max(own, mixed) * found.error
    return max(own - 2 * mixed + new, 0.0) + doubt + 64 * EPS * (own + 2 * mixed + new)
