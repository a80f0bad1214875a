"""The heat kernel of one space at one time as a function of the distance, tabulated for millions of pairs."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..base.arrays import EPS, FloatArray
from .series import SERIES_LIMIT, Series, level_count, level_probabilities, log_diagonal

#: Order of the polynomials that `zonal_terms` evaluates, and of the Taylor polynomials that they are made from.
_ORDER, _TAYLOR = 10, 18

#: Bound on their error, as a share of the sum of the cosines' coefficients.
_TABLE_ERROR = 1e-15

#: Bound on the error of a tabulated s_t by rounding, to which logarithms of multiplicities add EPS for each dimension:
#: more than twice the largest that was found.
_ROUNDED = 2e-14

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


class PairTerms(NamedTuple):
    """What one pair of tiles contributes at one time, each of shape (rows, columns)."""

    overlap: FloatArray  # s_t(x_i, y_j)
    change: FloatArray  # d s_t / d log t
    excess: FloatArray | None  # k_2t(x_i, y_j) - 1, with full relative accuracy; None on non-compact spaces


def radial_terms(form: Radial, r: FloatArray) -> PairTerms:
    """The three functions at distances r; few of them, as array passes without a compiled loop."""
    if form.step == 0:
        near = r < form.cut
        square = np.where(near, r * r, 0.0)
        logs, slope = (np.polynomial.polynomial.polyval(square, powers) for powers in form.table.T)
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
def radial(series: Series, time: float) -> Radial:
    """The kernel at one time, tabulated from the series or, where that is too long, by the small-time expansion."""
    diagonal = math.exp(min(log_diagonal(series, time), 345.0))
    count = level_count(series, time, 1.0, 1e-15, SERIES_LIMIT)
    if count is None:
        small = series.small_time(time)
        return Radial(np.stack([small.polynomial, small.slope], axis=1), 0.0, diagonal, small.reach)
    table, step = _polynomials(_cosine_sums(series, time, count, excess=diagonal < 2))  # of winding times distance
    table *= series.winding ** np.arange(_ORDER)[:, None]
    return Radial(table, step / series.winding, diagonal, _cut(series, time))


def radial_error(series: Series, time: float) -> tuple[float, float]:
    """Bounds on the error of s_t in `radial`: relative, and absolute."""
    if level_count(series, time, 1.0, 1e-15, SERIES_LIMIT) is not None:
        return 0.0, _ROUNDED + EPS * series.dim
    small = series.small_time(time)
    return small.error + EPS * series.dim, float(np.exp(small.log_overlap(small.reach**2)))


def _cut(series: Series, time: float) -> float:
    """The distance from which on overlaps are negligible, by the small-time expansion; inf where that does not tell."""
    if -8 * time * _NEGLIGIBLE > series.diameter**2:
        return math.inf
    small = series.small_time(time)
    reaches = small.reach * np.linspace(0.0, 1.0, 257)
    enough = small.log_overlap(reaches**2) < _NEGLIGIBLE
    return float(reaches[np.argmax(enough)]) if small.error < 0.1 and enough.any() else math.inf


def _cosine_sums(series: Series, time: float, count: int, excess: bool) -> FloatArray:
    """Coefficients of s_t, or of k_2t - 1, and of d s_t / d log t in cos(k winding r), shape (2, count)."""
    levels = series.levels(count)
    p = level_probabilities(series, time, count)
    change = -2 * time * p * (levels.eigenvalues - p @ levels.eigenvalues)
    value = p
    if excess:
        value = np.exp(levels.log_multiplicities - 2 * time * levels.eigenvalues)
        value[0] = 0.0
    return series.to_cosines(np.stack([value, change]))


def _polynomials(cosines: FloatArray) -> tuple[FloatArray, float]:
    """Sums of cosines as polynomials, shape (intervals, powers, 2), and the length of the intervals.

    Taylor polynomials at their middles, economised by Chebyshev polynomials: on intervals of length h the error for
    cos(k r) is about (k h / 4)^n 2 / n! at order n.
    """
    frequency = np.arange(cosines.shape[1])
    sizes = np.abs(cosines)
    total = np.maximum(sizes.sum(axis=1), 1e-300)
    typical = float(((sizes @ frequency.astype(np.float64) ** _ORDER / total) ** (1 / _ORDER)).max())
    longest = 4 * (_TABLE_ERROR * math.factorial(_ORDER) / 2) ** (1 / _ORDER) / max(typical, 1.0)
    half = max(math.ceil(math.pi / longest), len(frequency) // 2 + 1)
    step = math.pi / half
    taylor = np.empty((half + 1, len(cosines), _TAYLOR))
    for order in range(_TAYLOR):
        waves = cosines * (0.5j * step * frequency) ** order / math.factorial(order)
        taylor[:, :, order] = np.fft.ifft(waves, 2 * half, axis=1, norm="forward")[:, : half + 1].real.T
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


def resolutions_of_times(series: Series, times: FloatArray) -> FloatArray:
    """The distance at which s_t falls to 1/e; nan when every pair of points overlaps more than that."""
    from scipy.optimize import brentq

    found = np.full(len(times), math.nan)
    for row, time in enumerate(times.tolist()):
        form = radial(series, time)

        def excess(r: float, form: Radial = form) -> float:
            return float(radial_terms(form, np.array(r)).overlap) - math.exp(-1)

        most = min(series.diameter, form.cut)
        if excess(most) < 0:
            found[row] = brentq(excess, 0.0, most, xtol=1e-300, rtol=1e-14)
    return found
