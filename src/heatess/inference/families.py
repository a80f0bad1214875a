"""Families of statistics of uniformity that are worked out together, and their laws for independent uniform points.

Each statistic is T = ESS sum_l c_l B_l with coefficients c_l of its own: exp(-2 lambda_l t) at a scale, one for a
single degree, v_l^2 for a Sobolev statistic. One transform, or one sum over pairs, serves them all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..base.progress import Progress
from ..engines import columns, pairs, plan
from ..engines.base import FormsQuestion, Question
from ..engines.centred import log_excess
from ..engines.columns import Draw
from ..engines.spectral import accuracy, threads_for
from ..heat.series import SERIES_LIMIT, Series, level_count
from ..measures.measure import Measure
from ..spaces.base import Space
from ..spaces.capabilities import ZonalPairs
from ..transforms.levels import LevelTransform
from .forms import Way, pair_forms, pair_seconds, transform_way
from .sobolev import Sobolev

#: Single degrees that are tested besides the scales.
LOW_DEGREES = 3

#: Terms of a limit law with a share of the largest below exp(-NEGLIGIBLE) are left out.
NEGLIGIBLE = 45.0

#: Most distinct levels of a limit law.
MOST_LEVELS = 200_000

#: Levels that a statistic may need where the transform is fast: on circles.
FAST_LEVELS = 2**13

#: Atoms up to which a statistic with infinitely many levels is summed over pairs; the levels that are kept above that.
PAIR_ATOMS, KEPT_LEVELS = 4000, 1024

#: Accuracy of signed sums at all scales, and of the transforms for them per unit of weight.
RTOL, EPSILON = 1e-8, 1e-11

#: Seconds on two cores of one zonal function of one pair.
_ZONAL = 5e-9


class NullLevels(NamedTuple):
    """Levels l >= 1 of a space, and the coefficients of each statistic in them, shape (statistics, levels).

    `beyond` is the sum of c_l N_l of further levels, which are so many that they are as good as constant.
    """

    coefficients: FloatArray
    log_multiplicities: FloatArray
    beyond: FloatArray


class Family(ABC):
    """Statistics of one measure after another on one space."""

    space: Space
    #: How many of the statistics belong to scales; the others belong to degrees 1, 2, ...
    scales: int
    size: int
    #: What the law of the statistics tends to, None where the levels are not known or too many.
    levels: NullLevels | None

    @abstractmethod
    def values(self, measure: Measure, rtol: float) -> FloatArray:
        """The statistics, shape (size,)."""

    @abstractmethod
    def seconds(self, measure: Measure) -> float:
        """Rough seconds on two cores of `values`."""

    @abstractmethod
    def signed(self, measure: Measure, draw: Draw, count: int) -> FloatArray:
        """sum_ij v_i v_j h(x_i, x_j) for each statistic and each of *count* drawn v, shape (count, size).

        T = ESS sum_ij w_i w_j h(x_i, x_j). The weights v may be negative.
        """


def too_long(measure: Measure, draws: int, wait: str) -> str:
    """The words for more draws than anybody would wait for."""
    return (
        f"{draws:,} draws of {measure.n:,} points on {measure.space!r} would take {wait}; give fewer draws=, coarser "
        "scales, or fewer points chosen at random"
    )


class LevelFamily(Family):
    """Statistics on a space whose kernel depends on the distance alone: all from the level moments b_l = B_l / N_l."""

    def __init__(self, space: Space, series: Series, coefficients: FloatArray, scales: int) -> None:
        self.space, self._series, self.scales = space, series, scales
        self.size, levels = coefficients.shape
        logs = series.levels(levels + 1).log_multiplicities[1:]
        with np.errstate(divide="ignore", under="ignore"):
            self._factors = np.exp(np.log(coefficients) + logs)  # c_l N_l
        self._beyond = np.zeros(self.size)  # sum of c_l N_l of levels that are left out
        self.levels = NullLevels(coefficients, logs, self._beyond)

    def values(self, measure: Measure, rtol: float) -> FloatArray:
        """ESS sum c_l N_l b_l; in levels that are left out an atom meets only itself."""
        return np.asarray(measure.ess * (self._factors @ self._moments(measure, rtol)) + self._beyond)

    def seconds(self, measure: Measure) -> float:
        """Those of the transform, or of all pairs."""
        count, kernel = self._factors.shape[1] + 1, self.space.pair_kernel
        transform = pairs.level_transform(measure, count)
        if transform is not None:
            return transform.seconds(measure.n, count - 1)
        return pairs.level_seconds(measure.n, kernel, count) if isinstance(kernel, ZonalPairs) else math.inf

    def _moments(self, measure: Measure, rtol: float) -> FloatArray:
        """b_1, b_2, ..."""
        count, kernel = self._factors.shape[1] + 1, self.space.pair_kernel
        transform = pairs.level_transform(measure, count)
        if transform is not None:
            epsilon, threads = accuracy(rtol), threads_for(measure.n, count)
            degree = float(max(count - 1, 2))
            points, weights = measure.points, measure.weights
            return transform.spectrum_of(points, weights, degree, epsilon, rtol, threads).moments.values[1:count]  # type: ignore[attr-defined, no-any-return]
        if not isinstance(kernel, ZonalPairs):
            raise TypeError("a space with a series has pairs by their distance")
        plan.afford(
            self.seconds(measure),
            lambda wait: (
                f"the levels of {measure.n:,} points on {self.space!r} would take {wait}; give fewer points, chosen at "
                "random"
            ),
        )
        return pairs.pair_moments(measure, kernel, max(count, 3), rtol, Progress(False)).values[1:count]

    def signed(self, measure: Measure, draw: Draw, count: int) -> FloatArray:
        """By the transform, or over all pairs, each once for all v."""
        ways = [self.by_transform(measure, count), self.by_pairs(measure, count)]
        way = min((way for way in ways if way is not None), key=lambda way: way.seconds)
        plan.afford(way.seconds, partial(too_long, measure, count - 1))
        return way.run(draw, count, Progress(False))

    def by_pairs(self, measure: Measure, count: int) -> Way:
        """All pairs, each once for all v."""
        kernel = self._kernel()

        def run(draw: Draw, count: int, progress: Progress) -> FloatArray:
            forms = partial(self.forms, kernel)
            return pair_forms(kernel, forms, self.size, measure.points, draw(count), progress)

        return Way(pair_seconds(kernel, measure.n, self.size, count) + self._form_seconds(measure.n), run)

    def _kernel(self) -> ZonalPairs:
        kernel = self.space.pair_kernel
        if not isinstance(kernel, ZonalPairs):
            raise TypeError("a space with a series has pairs by their distance")
        return kernel

    def by_transform(self, measure: Measure, count: int) -> Way | None:
        """sum_l c_l N_l b_l; None where the space has no transform that serves."""
        transform, levels = self.space.transform, self._factors.shape[1]
        if not isinstance(transform, LevelTransform) or levels > transform.most:
            return None

        def sums(coefficients: NDArray[Any], weights: FloatArray) -> FloatArray:
            found = self._factors @ transform.moments(coefficients)[1 : levels + 1]
            return np.asarray(found + self._beyond * (weights @ weights))

        return transform_way(transform, measure.points, float(max(levels, 2)), sums, count, EPSILON)

    def _form_seconds(self, n: int) -> float:
        """All zonal functions of half the pairs."""
        return float(_ZONAL * self._factors.shape[1] * n**2 / 2)

    def forms(self, kernel: ZonalPairs, left: FloatArray, right: FloatArray) -> list[FloatArray]:
        """h = sum_l c_l N_l P_l(d) of each statistic for all pairs of two tiles; see `signed`."""
        zonal = self._series.zonal(self._factors.shape[1] + 1, kernel.distances(left, right))[1:]
        return list(np.tensordot(self._factors, zonal, axes=1))


class HeatLevelFamily(LevelFamily):
    """MMD^2 to the uniform law at several scales, and single degrees, on a space with levels."""

    def __init__(self, space: Space, series: Series, times: FloatArray, count: int) -> None:
        eigenvalues = series.levels(count).eigenvalues[1:]
        coefficients = np.zeros((len(times) + LOW_DEGREES, count - 1))
        coefficients[: len(times)] = np.exp(-2 * np.multiply.outer(times, eigenvalues))
        coefficients[len(times) :, :LOW_DEGREES] = np.eye(LOW_DEGREES)
        super().__init__(space, series, coefficients, len(times))
        self._times = times

    def _form_seconds(self, n: int) -> float:
        return 0.0

    def forms(self, kernel: ZonalPairs, left: FloatArray, right: FloatArray) -> list[FloatArray]:
        """k_2t - 1 from tables, and N_l P_l."""
        terms = kernel.terms(left, right)
        excess = [terms(float(time)).excess for time in self._times]
        low = self._series.zonal(LOW_DEGREES + 1, kernel.distances(left, right))[1:]
        factors = self._factors[self.scales :, :LOW_DEGREES].diagonal()
        return [form for form in excess if form is not None] + [
            factor * part for factor, part in zip(factors, low, strict=True)
        ]


class PsiFamily(LevelFamily):
    """One Sobolev statistic with infinitely many levels, as a function of the distance of pairs."""

    def __init__(self, space: Space, series: Series, statistic: Sobolev) -> None:
        if statistic.psi is None:
            raise TypeError("this statistic has finitely many levels")
        self._psi, self._most = statistic.psi, float(statistic.psi(np.zeros(1))[0])
        many = statistic.coefficients[None]
        super().__init__(space, series, many[:, :KEPT_LEVELS], 1)
        self._beyond = self._most - self._factors.sum(axis=1)
        logs = series.levels(many.shape[1] + 1).log_multiplicities[1:]
        with np.errstate(divide="ignore"):
            beyond = self._most - np.exp(np.log(many) + logs).sum(axis=1)
        self.levels = NullLevels(many, logs, beyond)

    def values(self, measure: Measure, rtol: float) -> FloatArray:
        """ESS sum_ij w_i w_j psi(d_ij); for very many atoms the levels beyond the first come from the atoms alone."""
        if measure.n > PAIR_ATOMS:
            return super().values(measure, rtol)
        weights = np.ascontiguousarray(measure.weights)[:, None]
        return np.asarray(measure.ess * self.by_pairs(measure, 1).run(lambda _: weights, 1, Progress(False))[0])

    def by_transform(self, measure: Measure, count: int) -> Way | None:
        """For very many atoms, as in `values`."""
        return super().by_transform(measure, count) if measure.n > PAIR_ATOMS else None

    def _form_seconds(self, n: int) -> float:
        return 0.0

    def seconds(self, measure: Measure) -> float:
        """Those of the distances of all pairs, or of the levels."""
        return 4e-8 * measure.n**2 if measure.n <= PAIR_ATOMS else super().seconds(measure)

    def forms(self, kernel: ZonalPairs, left: FloatArray, right: FloatArray) -> list[FloatArray]:
        """psi(d)."""
        return [self._psi(kernel.distances(left, right))]


class HeatFamily(Family):
    """MMD^2 to the uniform law at several scales, on any homogeneous space, by whatever engine is cheapest."""

    def __init__(self, space: Space, times: FloatArray) -> None:
        self.space, self._times, self.scales, self.size = space, times, len(times), len(times)
        found = space_levels(space, float(times.min()))
        self.levels = None
        if found is not None:
            eigenvalues, logs = found
            coefficients = np.exp(-2 * np.multiply.outer(times, eigenvalues))
            self.levels = NullLevels(coefficients, logs, np.zeros(len(times)))

    def values(self, measure: Measure, rtol: float) -> FloatArray:
        """ESS times MMD^2."""
        sums = plan.run(measure, self._times, rtol, "auto", Progress(False)).sums
        return np.asarray(measure.ess * np.exp(sums.log_mmd2))

    def seconds(self, measure: Measure) -> float:
        """As the plan says."""
        return plan.plan(Question(measure, np.sort(self._times), 1e-6))[1]

    def signed(self, measure: Measure, draw: Draw, count: int) -> FloatArray:
        """v' (K_t - 1) v, by whatever engine is cheapest."""
        order = np.argsort(self._times)
        times = self._times[order]
        question = FormsQuestion(measure, times, RTOL, columns=count)
        found = columns.forms(question, draw, Progress(False), partial(too_long, measure, count - 1))
        found *= np.exp(log_excess(measure, times, RTOL))
        return np.asarray(found[:, np.argsort(order)])


def heat_family(measure: Measure, times: FloatArray) -> Family:
    """Statistics at *times* and, where levels are known one by one, in the degrees 1, 2 and 3."""
    space, series = measure.space, measure.space.series
    fast = isinstance(space.transform, LevelTransform) and space.transform.most >= FAST_LEVELS
    limit = FAST_LEVELS if fast else SERIES_LIMIT
    count = None if series is None else level_count(series, float(times.min()), measure.ess, 1e-10, limit)
    if series is None or count is None:
        return HeatFamily(space, times)
    return HeatLevelFamily(space, series, times, max(count, LOW_DEGREES + 1))


def sobolev_family(space: Space, statistic: Sobolev) -> Family:
    """One Sobolev statistic."""
    if space.series is None:
        raise InputError(f"{space!r} has no levels that depend on the distance alone")
    if statistic.psi is not None:
        return PsiFamily(space, space.series, statistic)
    return LevelFamily(space, space.series, statistic.coefficients[None], 1)


def space_levels(space: Space, time: float) -> tuple[FloatArray, FloatArray] | None:
    """Eigenvalues above zero and log multiplicities that count at *time*; None if they are not known or too many."""
    if not space.factor_series:
        return None
    eigenvalues, logs = np.zeros(1), np.zeros(1)
    for series, scale in space.factor_series:
        count = level_count(series, time / scale**2, 1.0, 1e-14, SERIES_LIMIT)
        if count is None or count * len(logs) > 10 * MOST_LEVELS:
            return None
        own = series.levels(count)
        sums = np.add.outer(eigenvalues, own.eigenvalues / scale**2).ravel()
        both = np.add.outer(logs, own.log_multiplicities).ravel()
        terms = both - 2 * time * sums
        kept = (terms > terms.max() - NEGLIGIBLE) | (sums <= np.partition(sums, min(1, len(sums) - 1))[1])
        eigenvalues, logs = _merged(sums[kept], both[kept])
    if len(logs) > MOST_LEVELS:
        return None
    return eigenvalues[1:], logs[1:]


def _merged(eigenvalues: FloatArray, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Levels in increasing order, equal ones as one."""
    order = np.argsort(eigenvalues, kind="stable")
    eigenvalues, logs = eigenvalues[order], logs[order]
    first = np.flatnonzero(np.diff(eigenvalues, prepend=-1.0) > 1e-12 * eigenvalues)
    return eigenvalues[first], np.asarray(np.logaddexp.reduceat(logs, first))
