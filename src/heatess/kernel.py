"""The heat kernel of a zonal space: how many levels it needs, overlaps, and what a resolution means.

At time t, level l carries the probability p_l proportional to N_l exp(-2 lambda_l t), and the overlap
of two atoms at distance d is s_t(d) = sum_l p_l P_l(d). Everything is kept as logarithms, because
k_2t(x, x) = sum_l N_l exp(-2 lambda_l t) overflows on high-dimensional spheres.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .spaces.base import FloatArray, PairTerms, SmallTime, ZonalSpace

#: Above this many levels the small-time expansion is exact to rounding, on spheres of any dimension.
SERIES_LIMIT = 1024

#: ESS from which truncation may take a larger share of the tolerance.
LARGE_CLOUD = 1e5


def log_terms(space: ZonalSpace, times: FloatArray, count: int) -> FloatArray:
    """log N_l - 2 lambda_l t, shape (len(times), count)."""
    levels = space.levels(count)
    return np.asarray(levels.log_multiplicities - 2 * np.multiply.outer(times, levels.eigenvalues))


def log_tail(space: ZonalSpace, times: FloatArray, count: int) -> FloatArray:
    """Upper bound on log sum_{l >= count} N_l exp(-2 lambda_l t), shape (len(times),).

    The terms are log-concave, so beyond level `count` they fall at least geometrically.
    """
    levels = space.levels(count + 2)
    first, second = (
        levels.log_multiplicities[level] - 2 * levels.eigenvalues[level] * times for level in (count, count + 1)
    )
    with np.errstate(divide="ignore"):
        room = -np.expm1(np.minimum(second - first, 0.0))
        return np.where(second < first, first - np.log(room), np.inf)


def log_left_out(space: ZonalSpace, times: FloatArray, count: int) -> FloatArray:
    """Upper bound on the log of the share of A(t) that the levels from *count* on hold, shape (len(times),).

    In m dimensions without negative Ricci curvature t^(m/2) k_t(x, y) does not fall with t (Li and Yau), so
    A(c t) <= c^(-m/2) A(t) for c < 1. Levels from lambda on hold at most exp(-2 lambda t (1 - c)) A(c t), which
    at c = m / (4 lambda t) is (2 e y / m)^(m/2) exp(-y) A(t), y = 2 lambda t. Unlike `log_tail` this does not ask
    how many atoms there are.
    """
    return _log_share(space, 2 * times * space.levels(count + 1).eigenvalues[count])


def _log_share(space: ZonalSpace, y: FloatArray) -> FloatArray:
    half = space.dim / 2
    return np.where(y > half, half * np.log(np.maximum(y, half) / half) + half - y, 0.0)


def log_missing(space: ZonalSpace, times: FloatArray, count: int, log_mmd2: FloatArray) -> FloatArray:
    """Upper bound on the log of the part of A(t) = 1 + MMD^2 that the levels from *count* on hold."""
    share = log_left_out(space, times, count)
    with np.errstate(divide="ignore"):
        whole = np.logaddexp(0.0, log_mmd2) - np.log(-np.expm1(share))
        return np.asarray(np.minimum(log_tail(space, times, count), share + whole))


def truncation(rtol: float, ess: float) -> float:
    """The share of *rtol* that truncation may take.

    It depends on the ESS of the labels, which splitting an atom changes; a thousandth keeps that change below 1e-10 at
    the default tolerance. Large clouds, for which levels and neighbours are dear, make do with a tenth.
    """
    return rtol / (1000 if ess < LARGE_CLOUD else 10)


@lru_cache(maxsize=256)
def gess_level_count(space: ZonalSpace, time: float, rtol: float, limit: int) -> int | None:
    """Levels that certify gESS alone at *time* to a thousandth of *rtol*, whatever the atoms; None if over *limit*."""
    left_out = _log_share(space, 2 * time * space.levels(limit + 1).eigenvalues)
    enough = left_out <= math.log(rtol / 1000)
    return max(int(np.argmax(enough)), 8) if enough.any() else None


def level_count(space: ZonalSpace, time: float, ess: float, rtol: float, limit: int) -> int | None:
    """Levels that certify gESS and MMD^2 at *time* to a small share of *rtol*; None if more than *limit*.

    What is left out of the power A = k_2t(x,x) / gESS >= 1 is at most the tail T of the diagonal, and at most the
    share of `log_left_out`. MMD^2 = A - 1 asks for more than gESS: it is rarely below f = (k_2t(x,x) - 1) / ESS, what
    independent draws have, so T <= rtol f, or a share of rtol f / (1 + f), will do.
    """
    count = min(int(math.sqrt(20 / time)) + 16, limit)
    while True:
        levels = space.levels(count + 1)
        terms = levels.log_multiplicities - 2 * time * levels.eigenvalues
        step = float(terms[-1] - terms[-2])
        if step < 0:
            peak = float(terms.max())
            shares = np.exp(terms - peak)
            beyond = float(shares[-1]) / -math.expm1(step)  # terms fall at least geometrically from here on
            tails = np.cumsum(shares[:0:-1])  # the last one, the last two, ... down to level 1
            excess = float(tails[-1]) / ess  # of A - 1 for independent draws, in units of exp(peak)
            goal = truncation(rtol, ess) * excess
            share = truncation(rtol, ess) * excess / (math.exp(-peak) + excess)
            shares_left = np.exp(_log_share(space, 2 * time * levels.eigenvalues))
            small_share = int(np.searchsorted(-shares_left, -share))
            small_tail = count + 1 - int(np.searchsorted(tails, goal - beyond, side="right"))
            kept = min(small_share, small_tail if beyond <= goal else count + 1)
            if kept <= count:
                return max(kept, 8) if kept <= limit else None
        if count >= limit:
            return None
        count = min(2 * count, limit)


def overlap(space: ZonalSpace, time: float, distance: Any) -> FloatArray:
    """s_t at the given distances: the heat overlap of two atoms, 1 at distance zero.

    >>> from heatess import Sphere
    >>> overlap(Sphere(2), 0.05, [0.0, 0.5, np.pi]).round(4)
    array([1.    , 0.5467, 0.    ])
    """
    r = np.asarray(distance, dtype=np.float64)
    count = level_count(space, time, 1.0, 1e-15, SERIES_LIMIT)
    if count is None:
        small = space.small_time(time)
        return np.where(r < small.reach, np.exp(_polynomial(small.polynomial, r * r)), 0.0)
    return np.tensordot(level_probabilities(space, time, count), space.zonal(count, r), axes=1)


def log_diagonal(space: ZonalSpace, time: float) -> float:
    """log k_2t(x, x)."""
    count = level_count(space, time, 1.0, 1e-15, SERIES_LIMIT)
    if count is None:
        return space.small_time(time).log_diagonal
    terms = log_terms(space, np.array([time]), count)[0]
    peak = float(terms.max())
    return peak + math.log(float(np.exp(terms - peak).sum()))


def resolutions_of_times(space: ZonalSpace, times: FloatArray) -> FloatArray:
    """The distance at which s_t falls to 1/e; nan when every pair of points overlaps more than that."""
    from scipy.fft import dct
    from scipy.optimize import brentq

    found = np.full(len(times), math.nan)
    counts = [level_count(space, float(time), 1.0, 1e-15, SERIES_LIMIT) for time in times]
    count = max((c for c in counts if c is not None), default=1)
    nodes = space.cosine_count(count)
    frequency = np.arange(nodes)
    zonal = space.zonal(count, (frequency + 0.5) * (math.pi / nodes))
    for row, time in enumerate(times):
        kept = counts[row]
        if kept is None:
            small = space.small_time(float(time))
            square = brentq(lambda x, p=small.polynomial: _polynomial(p, x) + 1.0, 0.0, small.reach**2, xtol=1e-300)
            found[row] = math.sqrt(square)
            continue
        series = dct(level_probabilities(space, float(time), kept) @ zonal[:kept], type=2) / nodes
        series[0] /= 2

        def excess(r: float, series: FloatArray = series) -> float:
            return float(series @ np.cos(frequency * r)) - math.exp(-1)

        if excess(space.diameter) < 0:
            found[row] = brentq(excess, 0.0, space.diameter, xtol=1e-14, rtol=1e-14)
    return found


def times_of_resolutions(space: ZonalSpace, distances: FloatArray) -> FloatArray:
    """The times at which s_t(distance) = 1/e; the inverse of `resolutions_of_times`."""
    from scipy.optimize import brentq

    zonal = space.zonal(SERIES_LIMIT, distances)
    found = np.empty(len(distances))
    for column, distance in enumerate(distances):

        def excess(log_time: float, distance: float = float(distance), column: int = column) -> float:
            time = math.exp(log_time)
            count = level_count(space, time, 1.0, 1e-15, SERIES_LIMIT)
            if count is None:
                small = space.small_time(time)
                value = math.exp(_polynomial(small.polynomial, distance**2)) if distance < small.reach else 0.0
            else:
                value = float(level_probabilities(space, time, count) @ zonal[:count, column])
            return value - math.exp(-1)

        low = high = 2 * math.log(distance) - math.log(8)  # t = d^2 / 8, exact in flat space
        while excess(low) > 0:
            low -= 0.5
        while excess(high) < 0:
            high += 0.5
        found[column] = math.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))
    return found


def level_probabilities(space: ZonalSpace, time: float, count: int) -> FloatArray:
    """p_l, the share of level l in k_2t(x, x)."""
    levels = space.levels(count)
    terms = levels.log_multiplicities - 2 * time * levels.eigenvalues
    weights = np.exp(terms - terms.max())
    return np.asarray(weights / weights.sum())


def _polynomial(coefficients: FloatArray, square: Any) -> Any:
    """The small-time exponent at a squared distance."""
    return np.polynomial.polynomial.polyval(square, coefficients)


# Overlaps of tiles of pairs, for products of spaces.

#: Order of the Taylor polynomials that `zonal_terms` evaluates, and their nodes per cosine; exact to rounding.
_TAYLOR, _NODES_PER_COSINE = 8, 8


def zonal_terms(space: ZonalSpace, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
    """s_t, d s_t / d log t and k_2t - 1 for all pairs of two tiles, as a function of the time t.

    Each is accurate to 1e-14 of its value at distance zero.
    """
    from .tables import evaluate

    r = _tile_distances(space, left, right)

    def terms(time: float) -> PairTerms:
        table = _taylor_table(space, time)
        if table is None:
            return _small_time_terms(space.small_time(time), r)
        step = math.pi / (len(table) - 1)
        return PairTerms(*evaluate(table, -step / 2, step, r))

    return terms


def _small_time_terms(small: SmallTime, r: FloatArray) -> PairTerms:
    near = r < small.reach
    square = np.where(near, r * r, 0.0)
    log = np.where(near, _polynomial(small.polynomial, square), -1000.0)
    value = np.exp(log)
    excess = np.expm1(np.minimum(small.log_diagonal + log, 700.0))
    return PairTerms(value, value * _polynomial(small.slope, square), excess)


@lru_cache(maxsize=256)
def _taylor_table(space: ZonalSpace, time: float) -> FloatArray | None:
    """Taylor coefficients of the three functions of `zonal_terms` at even nodes, shape (nodes, 3, order).

    None where the series is too long and the small-time expansion takes over.
    """
    from scipy.fft import dct, ifft

    count = level_count(space, time, 1.0, 1e-15, SERIES_LIMIT)
    if count is None:
        return None
    levels = space.levels(count)
    p = level_probabilities(space, time, count)
    change = -2 * time * p * (levels.eigenvalues - p @ levels.eigenvalues)
    excess = np.exp(np.minimum(levels.log_multiplicities - 2 * time * levels.eigenvalues, 300.0))
    excess[0] = 0.0
    nodes = space.cosine_count(count)
    frequency = np.arange(nodes)
    zonal = space.zonal(count, (frequency + 0.5) * (math.pi / nodes))
    series = dct(np.stack([p, change, excess]) @ zonal, type=2, axis=1) / nodes  # sum_k c_k cos(k r)
    series[:, 0] /= 2
    half = _NODES_PER_COSINE * nodes
    table = np.empty((half + 1, 3, _TAYLOR))
    for order in range(_TAYLOR):
        waves = series * (1j * frequency) ** order / math.factorial(order)
        table[:, :, order] = ifft(waves, 2 * half, axis=1, norm="forward")[:, : half + 1].real.T
    return table


def _tile_distances(space: ZonalSpace, left: FloatArray, right: FloatArray) -> FloatArray:
    """Distances of all pairs: by matrix product, and for close pairs, where that is not accurate, one by one."""
    cosines = space.tile_cosines(left, right)
    distances = np.arccos(cosines)
    rows, columns = np.nonzero(cosines > 0.99)
    block = max(1, 2**22 // left.shape[1])
    for start in range(0, len(rows), block):
        i, j = rows[start : start + block], columns[start : start + block]
        distances[i, j] = space.distance(left[i], right[j])
    return distances
