"""The heat kernel as a series over levels: how many it needs, overlaps, and what a resolution means.

At time t, level l carries the probability p_l proportional to N_l exp(-2 lambda_l t), and the overlap
of two atoms at distance d is s_t(d) = sum_l p_l P_l(d). Everything is kept as logarithms, because
k_2t(x, x) = sum_l N_l exp(-2 lambda_l t) overflows on high-dimensional spheres.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from .bounds import log_share, truncation

if TYPE_CHECKING:
    from .spherical import SphereSeries

#: Above this many levels the small-time expansion is exact to rounding, on spheres of any dimension.
SERIES_LIMIT = 1024


class Levels(NamedTuple):
    """The lowest eigenvalue levels of minus the Laplacian, in increasing order."""

    eigenvalues: FloatArray
    log_multiplicities: FloatArray


class SmallTime(NamedTuple):
    """The heat kernel at one small time, as a function of squared distance.

    log s_t(r) = polynomial(r^2) with zero constant term; `slope` is the polynomial of d log s_t / d log t.
    `log_density` is log K_2t(x, x) with respect to Riemannian volume. `error` bounds what the expansion leaves out of
    log s_t within `reach`, and of `log_density`.
    """

    polynomial: FloatArray
    slope: FloatArray
    log_density: float
    error: float
    reach: float

    def log_overlap(self, square: Any) -> FloatArray:
        """log s_t at squared distances."""
        return np.asarray(np.polynomial.polynomial.polyval(square, self.polynomial))

    def log_slope(self, square: Any) -> FloatArray:
        """d log s_t / d log t at squared distances."""
        return np.asarray(np.polynomial.polynomial.polyval(square, self.slope))


class LevelSeries(ABC):
    """The spectrum of a homogeneous space, level by level. It is hashable: tables made from it are kept."""

    dim: int
    diameter: float
    log_volume: float

    #: Functions of a level are mixtures of cosines of multiples of this times the distance.
    winding: float = 1.0

    @property
    def of_sphere(self) -> SphereSeries | None:
        """The same, where it is that of a sphere or of its even functions."""
        return None

    @abstractmethod
    def levels(self, count: int) -> Levels:
        """The *count* lowest levels."""

    def envelope(self, level: int) -> float:
        """log of a bound on N_l at one level, such that bounds times exp(-2 lambda_l t) are log-concave in l."""
        return float(self.levels(level + 1).log_multiplicities[level])

    @property
    def lowest(self) -> float:
        """The lowest eigenvalue above zero that has a function."""
        return float(self.levels(2).eigenvalues[1])

    @abstractmethod
    def small_time(self, time: float) -> SmallTime:
        """The small-time expansion of the heat kernel."""

    def moved(self, times: FloatArray, shares: FloatArray, moments: FloatArray, off: float) -> FloatArray | None:
        """Bound on what cosines of distances that are each wrong by *off* do to sum_l p_l b_l; None if none is known.

        The shares p_l of the levels have the shape (times, levels).
        """
        return None


class Series(LevelSeries):
    """The spectrum of a homogeneous space whose heat kernel depends on the distance alone.

    Each level has one zonal function, normalised to 1 at distance zero, and it is a mixture of cos(k `winding` d),
    k = 0, 1, ..., l, with non-negative coefficients.
    """

    @abstractmethod
    def zonal(self, count: int, distance: Any) -> FloatArray:
        """Zonal functions of the *count* lowest levels, shape (count, *distance.shape)."""

    @abstractmethod
    def from_cosines(self, cosines: FloatArray) -> FloatArray:
        """Level moments from the cosine moments sum_ij w_i w_j cos(k winding d_ij), k < count."""

    def to_cosines(self, values: FloatArray) -> FloatArray:
        """Sums over levels, shape (..., count), of values times zonal functions as sums of cos(k winding d)."""
        from scipy.fft import dct

        count = values.shape[-1]
        zonal = self.zonal(count, (np.arange(count) + 0.5) * (math.pi / count) / self.winding)
        found = dct(values @ zonal, type=2, axis=-1) / count
        found[..., 0] /= 2
        return np.asarray(found)


def log_terms(series: LevelSeries, times: FloatArray, count: int) -> FloatArray:
    """log N_l - 2 lambda_l t, shape (len(times), count)."""
    levels = series.levels(count)
    return np.asarray(levels.log_multiplicities - 2 * np.multiply.outer(times, levels.eigenvalues))


def log_tail(series: LevelSeries, times: FloatArray, count: int) -> FloatArray:
    """Upper bound on log sum_{l >= count} N_l exp(-2 lambda_l t), shape (len(times),).

    They are bounded by terms that are log-concave, so that these fall at least geometrically beyond level `count`.
    """
    eigenvalues = series.levels(count + 2).eigenvalues
    first, second = (series.envelope(level) - 2 * eigenvalues[level] * times for level in (count, count + 1))
    with np.errstate(divide="ignore"):
        room = -np.expm1(np.minimum(second - first, 0.0))
        return np.where(second < first, first - np.log(room), np.inf)


def log_left_out(series: LevelSeries, times: FloatArray, count: int) -> FloatArray:
    """Upper bound on the log of the share of A(t) in the levels from *count* on, whatever the atoms; see `bounds`."""
    return log_share(series.dim, 2 * times * series.levels(count + 1).eigenvalues[count])


@lru_cache(maxsize=256)
def gess_level_count(series: LevelSeries, time: float, rtol: float, limit: int) -> int | None:
    """Levels that certify gESS alone at *time* to a thousandth of *rtol*, whatever the atoms; None if over *limit*."""
    left_out = log_share(series.dim, 2 * time * series.levels(limit + 1).eigenvalues)
    enough = left_out <= math.log(rtol / 1000)
    return max(int(np.argmax(enough)), 8) if enough.any() else None


def level_count(series: LevelSeries, time: float, ess: float, rtol: float, limit: int) -> int | None:
    """Levels that certify gESS and MMD^2 at *time* to a small share of *rtol*; None if more than *limit*.

    What is left out of the power A = k_2t(x,x) / gESS >= 1 is at most the tail T of the diagonal, and at most the
    share of `log_left_out`. MMD^2 = A - 1 asks for more than gESS: it is rarely below f = (k_2t(x,x) - 1) / ESS, what
    independent draws have, so T <= rtol f, or a share of rtol f / (1 + f), will do.
    """
    count = min(int(math.sqrt(20 / time)) + 16, limit)
    while True:
        levels = series.levels(count + 1)
        terms = levels.log_multiplicities - 2 * time * levels.eigenvalues
        last = series.envelope(count) - 2 * time * float(levels.eigenvalues[count])
        step = last - series.envelope(count - 1) + 2 * time * float(levels.eigenvalues[count - 1])
        if step < 0:
            peak = float(terms.max())
            shares = np.exp(terms - peak)
            beyond = math.exp(last - peak) / -math.expm1(step)  # bounds fall at least geometrically from here on
            tails = np.cumsum(shares[:0:-1])  # the last one, the last two, ... down to level 1
            excess = float(tails[-1]) / ess  # of A - 1 for independent draws, in units of exp(peak)
            goal = truncation(rtol, ess) * excess
            share = truncation(rtol, ess) * excess / (math.exp(-peak) + excess)
            shares_left = np.exp(log_share(series.dim, 2 * time * levels.eigenvalues))
            small_share = int(np.searchsorted(-shares_left, -share))
            small_tail = count + 1 - int(np.searchsorted(tails, goal - beyond, side="right"))
            kept = min(small_share, small_tail if beyond <= goal else count + 1)
            if kept <= count:
                return max(kept, 8) if kept <= limit else None
        if count >= limit:
            return None
        count = min(2 * count, limit)


def overlap(series: Series, time: float, distance: Any) -> FloatArray:
    """s_t at the given distances: the heat overlap of two atoms, 1 at distance zero.

    >>> from heatess import Sphere
    >>> overlap(Sphere(2).series, 0.05, [0.0, 0.5, np.pi]).round(4)
    array([1.    , 0.5467, 0.    ])
    """
    r = np.asarray(distance, dtype=np.float64)
    count = level_count(series, time, 1.0, 1e-15, SERIES_LIMIT)
    if count is None:
        small = series.small_time(time)
        return np.where(r < small.reach, np.exp(small.log_overlap(r * r)), 0.0)
    return np.tensordot(level_probabilities(series, time, count), series.zonal(count, r), axes=1)


@lru_cache(maxsize=2048)
def log_diagonal(series: LevelSeries, time: float) -> float:
    """log k_2t(x, x) with respect to normalised volume."""
    count = level_count(series, time, 1.0, 1e-15, SERIES_LIMIT)
    if count is None:
        return series.small_time(time).log_density + series.log_volume
    terms = log_terms(series, np.array([time]), count)[0]
    peak = float(terms.max())
    return peak + math.log(float(np.exp(terms - peak).sum()))


def times_of_resolutions(series: Series, distances: FloatArray) -> FloatArray:
    """The times at which s_t(distance) = 1/e; the inverse of `resolutions_of_times`."""
    zonal = series.zonal(SERIES_LIMIT, distances)

    def log_overlap(column: int, time: float) -> float:
        count = level_count(series, time, 1.0, 1e-15, SERIES_LIMIT)
        if count is not None:
            value = float(level_probabilities(series, time, count) @ zonal[:count, column])
            return math.log(value) if value > 0 else -math.inf
        small = series.small_time(time)
        return float(small.log_overlap(distances[column] ** 2)) if distances[column] < small.reach else -math.inf

    columns = enumerate(distances.tolist())
    return np.array([time_of_distance(partial(log_overlap, k), distance) for k, distance in columns])


def time_of_distance(log_overlap: Callable[[float], float], distance: float) -> float:
    """The time at which *log_overlap* of two atoms at this *distance* rises to -1, searched from t = d^2 / 8."""
    from scipy.optimize import brentq

    def excess(log_time: float) -> float:
        return max(log_overlap(math.exp(log_time)), -700.0) + 1.0

    low = high = 2 * math.log(distance) - math.log(8)  # exact in flat space
    while excess(low) > 0:
        low -= 0.5
    while excess(high) < 0:
        high += 0.5
    return math.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))


def level_probabilities(series: LevelSeries, time: float, count: int) -> FloatArray:
    """p_l, the share of level l in k_2t(x, x)."""
    levels = series.levels(count)
    terms = levels.log_multiplicities - 2 * time * levels.eigenvalues
    weights = np.exp(terms - terms.max())
    return np.asarray(weights / weights.sum())
