"""The heat kernel of a zonal space: how many levels it needs, overlaps, and what a resolution means.

At time t, level l carries the probability p_l proportional to N_l exp(-2 lambda_l t), and the overlap
of two atoms at distance d is s_t(d) = sum_l p_l P_l(d). Everything is kept as logarithms, because
k_2t(x, x) = sum_l N_l exp(-2 lambda_l t) overflows on high-dimensional spheres.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .spaces.base import FloatArray, PairTerms, ZonalSpace

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

#: Order of the polynomials that `zonal_terms` evaluates, and of the Taylor polynomials that they are made from.
_ORDER, _TAYLOR = 10, 18

#: Bound on their error, as a share of the sum of the cosines' coefficients.
_TABLE_ERROR = 1e-15

#: Overlaps below exp(-45) of a pair are taken for zero.
_NEGLIGIBLE = -45.0


class Radial(NamedTuple):
    """s_t, d s_t / d log t and k_2t - 1 of a space at one time as functions of the distance r.

    Either polynomials on even intervals around 0, step, 2 step, ..., of shape (intervals, powers, 2): of k_2t - 1 if
    k_2t(x, x) is below two, else of s_t, and of d s_t / d log t. Or, if the step is zero, two polynomials in r^2, of
    log s_t and of d log s_t / d log t, of shape (powers, 2), where k_2t(x, x) counts as two or more.
    """

    table: FloatArray  # lowest power first
    step: float
    diagonal: float  # k_2t(x, x), at most 1e150
    cut: float  # the distance from which on s_t is negligible


def zonal_terms(space: ZonalSpace, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
    """s_t, d s_t / d log t and k_2t - 1 for all pairs of two tiles, as a function of the time t.

    Each is accurate to 1e-14 of its value at distance zero.
    """
    r = tile_distances(space, left, right)
    return lambda time: radial_terms(radial(space, time), r)


def radial_terms(form: Radial, r: FloatArray) -> PairTerms:
    """The three functions at distances r; few of them, as array passes without a compiled loop."""
    if form.step == 0:
        near = r < form.cut
        square = np.where(near, r * r, 0.0)
        logs, slope = (_polynomial(coefficients, square) for coefficients in form.table.T)
        overlap = np.where(near, np.exp(logs), 0.0)
        return PairTerms(overlap, overlap * slope, form.diagonal * overlap - 1)
    place = np.minimum((r / form.step + 0.5).astype(np.int64), len(form.table) - 1)
    rows = np.moveaxis(form.table, 0, 2)[:, :, place]  # (power, function, ...)
    values = rows[-1]
    for power in range(_ORDER - 2, -1, -1):
        values = values * (r - place * form.step) + rows[power]
    if form.diagonal < 2:
        return PairTerms((1 + values[0]) / form.diagonal, values[1], values[0])
    near = r < form.cut
    overlap, change = np.where(near, values, 0.0)
    return PairTerms(overlap, change, form.diagonal * overlap - 1)


@lru_cache(maxsize=2048)
def radial(space: ZonalSpace, time: float) -> Radial:
    """The kernel at one time, tabulated from the series or, where that is too long, by the small-time expansion."""
    diagonal = math.exp(min(log_diagonal(space, time), 345.0))
    count = level_count(space, time, 1.0, 1e-15, SERIES_LIMIT)
    if count is None:
        small = space.small_time(time)
        return Radial(np.stack([small.polynomial, small.slope], axis=1), 0.0, diagonal, small.reach)
    series = _cosine_series(space, time, count, excess=diagonal < 2)
    return Radial(*_polynomials(series), diagonal, _cut(space, time))


def _cut(space: ZonalSpace, time: float) -> float:
    """The distance from which on overlaps are negligible, by the small-time expansion; inf where that does not tell."""
    if -8 * time * _NEGLIGIBLE > space.diameter**2:
        return math.inf
    small = space.small_time(time)
    reaches = small.reach * np.linspace(0.0, 1.0, 257)
    enough = _polynomial(small.polynomial, reaches**2) < _NEGLIGIBLE
    return float(reaches[np.argmax(enough)]) if small.error < 0.1 and enough.any() else math.inf


def _cosine_series(space: ZonalSpace, time: float, count: int, excess: bool) -> FloatArray:
    """Coefficients of s_t, or of k_2t - 1, and of d s_t / d log t in cos(k r), shape (2, cosines)."""
    from scipy.fft import dct

    levels = space.levels(count)
    p = level_probabilities(space, time, count)
    change = -2 * time * p * (levels.eigenvalues - p @ levels.eigenvalues)
    value = p
    if excess:
        value = np.exp(levels.log_multiplicities - 2 * time * levels.eigenvalues)
        value[0] = 0.0
    nodes = space.cosine_count(count)
    zonal = space.zonal(count, (np.arange(nodes) + 0.5) * (math.pi / nodes))
    series = dct(np.stack([value, change]) @ zonal, type=2, axis=1) / nodes
    series[:, 0] /= 2
    return np.asarray(series)


def _polynomials(series: FloatArray) -> tuple[FloatArray, float]:
    """Sums of cosines as polynomials, shape (intervals, powers, 2), and the length of the intervals.

    Taylor polynomials at their middles, economised by Chebyshev polynomials: on intervals of length h the error for
    cos(k r) is about (k h / 4)^n 2 / n! at order n.
    """
    from scipy.fft import ifft

    frequency = np.arange(series.shape[1])
    sizes = np.abs(series)
    total = np.maximum(sizes.sum(axis=1), 1e-300)
    typical = float(((sizes @ frequency.astype(np.float64) ** _ORDER / total) ** (1 / _ORDER)).max())
    longest = 4 * (_TABLE_ERROR * math.factorial(_ORDER) / 2) ** (1 / _ORDER) / max(typical, 1.0)
    half = max(math.ceil(math.pi / longest), len(frequency) // 2 + 1)
    step = math.pi / half
    taylor = np.empty((half + 1, len(series), _TAYLOR))
    for order in range(_TAYLOR):
        waves = series * (0.5j * step * frequency) ** order / math.factorial(order)
        taylor[:, :, order] = ifft(waves, 2 * half, axis=1, norm="forward")[:, : half + 1].real.T
    table = taylor @ _economised() * (2 / step) ** np.arange(_ORDER)
    return np.ascontiguousarray(table.transpose(0, 2, 1)), step


@lru_cache(maxsize=1)
def _economised() -> FloatArray:
    """Powers below `_TAYLOR` on [-1, 1] in powers below `_ORDER`, without their higher Chebyshev terms."""
    from numpy.polynomial import chebyshev

    rows = np.zeros((_TAYLOR, _ORDER))
    for power in range(_TAYLOR):
        kept = chebyshev.cheb2poly(chebyshev.poly2cheb(np.eye(_TAYLOR)[power][: power + 1])[:_ORDER])
        rows[power, : len(kept)] = kept
    return rows


def tile_distances(space: ZonalSpace, left: FloatArray, right: FloatArray) -> FloatArray:
    """Distances of all pairs: by matrix product, and for close pairs, where that is not accurate, one by one."""
    cosines = space.tile_cosines(left, right)
    distances = np.arccos(cosines)
    rows, columns = np.nonzero(cosines > 0.99)
    block = max(1, 2**22 // left.shape[1])
    for start in range(0, len(rows), block):
        i, j = rows[start : start + block], columns[start : start + block]
        distances[i, j] = space.distance(left[i], right[j])
    return distances
