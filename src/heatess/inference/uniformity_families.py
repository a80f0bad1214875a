"""Families of statistics of uniformity that are worked out together, and their laws for independent uniform points.

Each statistic is T = ESS sum_l c_l B_l with coefficients c_l of its own: exp(-2 lambda_l t) at a scale, one for a
single degree, v_l^2 for a Sobolev statistic. One transform, or one sum over pairs, serves them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..base.progress import Progress
from ..engines import columns, plan
from ..engines.base import FormsQuestion, LevelFormsQuestion, LevelsQuestion, Question, ZonalKernels
from ..engines.centred_overlap import log_excess
from ..engines.columns import Draw
from ..heat.radial import radial
from ..heat.series import SERIES_LIMIT, Series, level_count
from ..measures.measure import Measure
from ..spaces.base import Space
from ..spaces.capabilities import RadialFactor, combined
from .uniformity_statistics import Psi, Sobolev

#: Single degrees that are tested besides the scales.
LOW_DEGREES = 4

#: Terms of a limit law with a share of the largest below exp(-NEGLIGIBLE_LOG_SHARE) are left out.
NEGLIGIBLE_LOG_SHARE = 45.0

#: Most distinct levels of a limit law, and of one factor of a space.
MOST_LEVELS_OF_LIMIT, MOST_SERIES = 200_000, 2**15

#: Levels that a statistic may need where the transform is fast: on circles.
FAST_LEVELS = 2**13

#: Atoms up to which a statistic with infinitely many levels is summed over pairs; the levels that are kept above that.
PAIR_ATOMS, KEPT_LEVELS = 4000, 1024

#: Accuracy of signed sums at all scales.
RTOL_OF_SIGNED_SUMS = 1e-8

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

    def means(self) -> FloatArray:
        """Of the statistics for independent uniform points; nan where the levels are not known."""
        if self.levels is None:
            return np.full(self.size, np.nan)
        with np.errstate(divide="ignore"):
            shares = np.exp(np.log(self.levels.coefficients) + self.levels.log_multiplicities)
        return np.asarray(shares.sum(axis=1) + self.levels.beyond)

    @abstractmethod
    def signed(self, measure: Measure, draw: Draw, count: int) -> FloatArray:
        """sum_ij v_i v_j h(x_i, x_j) for each statistic and each of *count* drawn v, shape (count, size).

        T = ESS sum_ij w_i w_j h(x_i, x_j). The weights v may be negative.
        """


def too_long(measure: Measure, draws: int, wait: str) -> str:
    """The words for more draws than anybody would wait for."""
    return (
        f"{draws:,} draws of {measure.n:,} points on {measure.space!r} would take {wait}; give fewer `draws=`, coarser "
        "scales, or fewer points chosen at random"
    )


class LevelFamily(Family):
    """Statistics on a space whose kernel depends on the distance alone: all from the level moments b_l = B_l / N_l."""

    #: Whether signed weights must meet in all levels, also in those that are left out.
    _exact = False

    def __init__(self, space: Space, series: Series, coefficients: FloatArray, scales: int) -> None:
        self.space, self._series, self.scales = space, series, scales
        self.size, levels = coefficients.shape
        logs = series.levels(levels + 1).log_multiplicities[1:]
        with np.errstate(divide="ignore", under="ignore"):
            self._factors = np.exp(np.log(coefficients) + logs)  # c_l N_l
        self._beyond = np.zeros(self.size)  # sum of c_l N_l of levels that are left out
        self.levels = NullLevels(coefficients, logs, self._beyond)

    def _question(self, measure: Measure, rtol: float) -> LevelsQuestion:
        return LevelsQuestion.of(measure, self._factors.shape[1] + 1, rtol)

    def values(self, measure: Measure, rtol: float) -> FloatArray:
        """ESS sum c_l N_l b_l; in levels that are left out an atom meets only itself."""

        def words(wait: str) -> str:
            what = f"the levels of {measure.n:,} points on {self.space!r}"
            return f"{what} would take {wait}; give fewer points, chosen at random"

        moments = columns.levels(self._question(measure, rtol), words).moments[1:]
        return np.asarray(measure.ess * (self._factors @ moments) + self._beyond)

    def seconds(self, measure: Measure) -> float:
        """As the plan says."""
        return columns.level_seconds(self._question(measure, RTOL_OF_SIGNED_SUMS))

    def signed(self, measure: Measure, draw: Draw, count: int) -> FloatArray:
        """By whatever engine is cheapest, with the same kernels for all v."""
        exact = self._exact and measure.n <= PAIR_ATOMS
        question = LevelFormsQuestion(
            measure, np.zeros(1), RTOL_OF_SIGNED_SUMS, columns=count, kernels=self._kernels(), exact=exact
        )
        return columns.level_forms(question, draw, partial(too_long, measure, count - 1))

    def _kernels(self) -> ZonalKernels:
        """h = sum_l c_l N_l P_l(d) of each statistic; see `signed`."""
        return ZonalKernels(self._factors, self._beyond, self._of_distance, _ZONAL * self._factors.shape[1])

    def _of_distance(self, distances: FloatArray) -> list[FloatArray]:
        zonal = self._series.zonal(self._factors.shape[1] + 1, distances)[1:]
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

    def _kernels(self) -> ZonalKernels:
        """k_2t - 1 from tables, and N_l P_l."""
        return ZonalKernels(self._factors, self._beyond, self._of_distance)

    def _of_distance(self, distances: FloatArray) -> list[FloatArray]:
        table = combined([RadialFactor(partial(radial, self._series), distances.ravel())], [], distances.shape)
        excess = [table(float(time)).excess for time in self._times]
        low = self._series.zonal(LOW_DEGREES + 1, distances)[1:]
        factors = self._factors[self.scales :, :LOW_DEGREES].diagonal()
        return [form for form in excess if form is not None] + [
            factor * part for factor, part in zip(factors, low, strict=True)
        ]


class PsiFamily(LevelFamily):
    """One Sobolev statistic with infinitely many levels, as a function of the distance of pairs."""

    _exact = True

    def __init__(self, space: Space, series: Series, coefficients: FloatArray, psi: Psi) -> None:
        self._psi, self._most = psi, float(psi(np.zeros(1))[0])
        many = coefficients[None]
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
        return np.asarray(measure.ess * self.signed(measure, lambda _: weights, 1)[0])

    def seconds(self, measure: Measure) -> float:
        """Those of the distances of all pairs, or of the levels."""
        return 4e-8 * measure.n**2 if measure.n <= PAIR_ATOMS else super().seconds(measure)

    def _kernels(self) -> ZonalKernels:
        """psi(d)."""
        return ZonalKernels(self._factors, self._beyond, lambda distances: [self._psi(distances)])


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

    def means(self) -> FloatArray:
        """k_2t(x, x) - 1, however many levels there are."""
        return super().means() if self.levels is not None else np.expm1(self.space.log_diagonal(self._times, 1e-8))

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
        question = FormsQuestion(measure, times, RTOL_OF_SIGNED_SUMS, columns=count)
        found = columns.forms(question, draw, Progress(False), partial(too_long, measure, count - 1))
        found *= np.exp(log_excess(measure, times, RTOL_OF_SIGNED_SUMS))
        return np.asarray(found[:, np.argsort(order)])


def heat_family(measure: Measure, times: FloatArray) -> Family:
    """Statistics at *times* and, where levels are known one by one, in the degrees 1 to 4."""
    space, series = measure.space, measure.space.series
    transform = space.level_transform
    fast = transform is not None and transform.most >= FAST_LEVELS
    limit = FAST_LEVELS if fast else SERIES_LIMIT
    count = None if series is None else level_count(series, float(times.min()), measure.ess, 1e-10, limit)
    if series is None or count is None:
        return HeatFamily(space, times)
    return HeatLevelFamily(space, series, times, max(count, LOW_DEGREES + 1))


def sobolev_family(space: Space, statistic: Sobolev) -> Family:
    """One Sobolev statistic."""
    if space.series is None:
        raise InputError(f"<!{space!r}!> has no <+levels that depend on the distance alone+>")
    if statistic.psi is not None:
        return PsiFamily(space, space.series, statistic.coefficients, statistic.psi)
    return LevelFamily(space, space.series, statistic.coefficients[None], 1)


def space_levels(space: Space, time: float) -> tuple[FloatArray, FloatArray] | None:
    """Eigenvalues above zero and log multiplicities that count at *time*; None if they are not known or too many."""
    if not space.factor_series:
        return None
    eigenvalues, logs = np.zeros(1), np.zeros(1)
    for series, scale in space.factor_series:
        count = level_count(series, time / scale**2, 1.0, 1e-14, MOST_SERIES)
        if count is None or count * len(logs) > 10 * MOST_LEVELS_OF_LIMIT:
            return None
        own, multiplicities = series.levels(count)
        present = np.isfinite(multiplicities)
        sums = np.add.outer(eigenvalues, own[present] / scale**2).ravel()
        both = np.add.outer(logs, multiplicities[present]).ravel()
        terms = both - 2 * time * sums
        kept = (terms > terms.max() - NEGLIGIBLE_LOG_SHARE) | (sums <= np.partition(sums, min(1, len(sums) - 1))[1])
        eigenvalues, logs = _merged(sums[kept], both[kept])
    if len(logs) > MOST_LEVELS_OF_LIMIT:
        return None
    return eigenvalues[1:], logs[1:]


def _merged(eigenvalues: FloatArray, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Levels in increasing order, equal ones as one."""
    order = np.argsort(eigenvalues, kind="stable")
    eigenvalues, logs = eigenvalues[order], logs[order]
    first = np.flatnonzero(np.diff(eigenvalues, prepend=-1.0) > 1e-12 * eigenvalues)
    return eigenvalues[first], np.asarray(np.logaddexp.reduceat(logs, first))
