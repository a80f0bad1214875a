"""Autocovariances of chains with the overlap as their kernel, lag after lag until they vanish, at many scales."""

from __future__ import annotations

import numpy as np

from ..base.arrays import EPS, FloatArray, IntArray
from ..base.blocks import slices
from ..base.errors import PrecisionError
from ..base.progress import Progress
from ..engines import columns, plan
from ..engines.base import PotentialQuestion
from ..engines.overlaps import paired
from ..heat.sums import HeatSums
from ..measures.measure import Measure

#: Lags worked out before it is asked at which scales more are needed; twice as many each time, up to the second.
FIRST_LAGS, MOST_LAGS = 8, 256

#: Pairs of draws held at once.
PAIRS_OF_DRAWS_AT_ONCE = 2**16

#: Seconds on two cores of one overlap at one lag.
SECONDS_PER_OVERLAP = 2e-8

#: Accuracy of sums where it costs little, and number of draws up to which it does.
SHARP, LESS_SHARP, DRAWS_THAT_COST_LITTLE = 1e-11, 1e-9, 20_000


class Autocovariances:
    """Autocovariances of several chains of equal length, given as rows of *measure*, shape (chains, draws)."""

    def __init__(self, measure: Measure, chains: IntArray, times: FloatArray, rtol: float) -> None:
        self._measure, self._chains, self._times, self._rtol = measure, chains, times, rtol
        self._overlaps = paired(measure.space, measure.points, times, rtol)
        self._parts = [equally_weighted(measure, rows) for rows in chains]
        own = [self._sums(part) for part in self._parts]
        pooled, error = self._sums(equally_weighted(measure, chains.ravel()))
        self._error = np.maximum.reduce([error, *(part for _, part in own)])
        powers = np.array([overlap for overlap, _ in own])  # 1 / gESS of each chain, shape (chains, times)
        count, draws = chains.shape
        self._power = powers.mean(axis=0)
        self._within = (1 - self._power) * draws / (draws - 1)
        between = np.maximum(self._power - pooled, 0.0) * count / (count - 1)
        self._total = 1 - self._power + between

    @property
    def still(self) -> bool:
        """Whether no draw differs from any other."""
        points = self._measure.points[self._chains.ravel()]
        return bool((points == points[0]).all())

    @property
    def doubt(self) -> FloatArray:
        """Uncertainty of a single autocorrelation at each time."""
        with np.errstate(divide="ignore"):
            return np.asarray(8 * (self._error + 8 * EPS) / np.maximum(self._total, 0.0))

    @property
    def rhat(self) -> FloatArray:
        """sqrt(var_plus / W) at each time; 1 where draws cannot be told apart."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.sqrt(self._total / self._within)
        return np.asarray(np.where(np.isfinite(found), found, np.where(self._total > self._within, np.inf, 1.0)))

    def correlations(self) -> list[FloatArray]:
        """rho_0, rho_1, ... at each time, at least until the sum of rho_2j and rho_2j+1 is not positive."""
        last = self._chains.shape[1] - 1  # as is usual, the very last lag is left out
        found = [np.ones(1) for _ in self._times]
        edges = np.zeros(len(self._times))
        running, first, step, spent = np.arange(len(self._times)), 1, FIRST_LAGS - 1, 0.0
        while len(running) and first < last:
            lags = np.arange(first, min(first + step, last))
            spent += float(self._chains.size) * len(lags) * len(running)
            self._refuse_cost(spent, len(found[running[0]]))
            added = edges[running] + self._edges(lags, running).cumsum(axis=0)
            edges[running] = added[-1]
            block = self._correlations(lags, running, added)
            for column, place in enumerate(running):
                found[place] = np.concatenate([found[place], block[:, column]])
            running = np.array([place for place in running if not _vanished(found[place])], dtype=np.int64)
            first, step = int(lags[-1]) + 1, min(2 * step + 2, MOST_LAGS)
        return found

    def _correlations(self, lags: IntArray, running: IntArray, edges: FloatArray) -> FloatArray:
        """rho_k = 1 - (W - mean over chains of c_k) / var_plus, shape (lags, running).

        The sum over all pairs of f_i + f_{i+k} is 2 N / gESS less *edges*, f at the first k and the last k draws.
        """
        draws, power = self._chains.shape[1], self._power[running]
        sums = self._products(lags, running) + edges - (draws + lags)[:, None] * power
        with np.errstate(divide="ignore", invalid="ignore"):
            found = 1 - (self._within[running] - sums / draws) / self._total[running]
        return np.where(np.isfinite(found), found, 0.0)

    def _products(self, lags: IntArray, running: IntArray) -> FloatArray:
        """sum_i s_t(x_i, x_{i+k}), the mean over chains, shape (lags, running)."""
        total = np.zeros((len(lags), len(running)))
        size = max(1, PAIRS_OF_DRAWS_AT_ONCE // self._chains.size)
        for part in slices(len(lags), size):
            left = [self._chains[:, :-lag].ravel() for lag in lags[part]]
            right = [self._chains[:, lag:].ravel() for lag in lags[part]]
            starts = np.cumsum([0, *(len(rows) for rows in left[:-1])])
            overlaps = self._overlaps(np.concatenate(left), np.concatenate(right))
            for column, place in enumerate(running):
                total[part, column] = np.add.reduceat(overlaps(float(self._times[place])), starts)
        return total / len(self._chains)

    def _edges(self, lags: IntArray, running: IntArray) -> FloatArray:
        """f at the k-th draw and at the k-th from the end, summed, the mean over chains, shape (lags, running)."""
        total = np.zeros((len(lags), len(running)))
        order = np.argsort(self._times[running], kind="stable")
        for chain, part in zip(self._chains, self._parts, strict=True):
            where = self._measure.points[np.concatenate([chain[lags - 1], chain[-lags]])]
            question = PotentialQuestion(part, self._times[running][order], self._rtol, mmd2=False, at=where)
            found = columns.potentials(question, Progress(False), self._too_long).values.T
            total[:, order] += found[: len(lags)] + found[len(lags) :]
        return total / len(self._chains)

    def _sums(self, measure: Measure) -> tuple[FloatArray, FloatArray]:
        """1 / gESS at all times and its absolute error, for eigenpairs as they are."""
        try:
            sums = self._run(measure, _sharp(measure, self._rtol))
        except PrecisionError:
            sums = self._run(measure, self._rtol)
        if measure.space.modes is not None:
            return sums.overlap, np.full(len(self._times), 64 * EPS)
        return sums.overlap, sums.overlap * sums.error

    def _run(self, measure: Measure, rtol: float) -> HeatSums:
        return plan.run(measure, self._times, rtol, "auto", Progress(False), mmd2=False).sums

    def _too_long(self, wait: str) -> str:
        return (
            f"potentials of {self._chains.size:,} draws would take {wait}; give every tenth of them, for instance, or "
            "fewer or coarser scales"
        )

    def _refuse_cost(self, spent: float, lags: int) -> None:
        plan.afford(
            SECONDS_PER_OVERLAP * spent,
            lambda wait: (
                f"autocorrelations of {self._chains.size:,} draws have not vanished after {lags:,} lags, and to go on "
                f"would take {wait}; draws next to each other are then almost the same, so give every tenth of them, "
                "for instance, or fewer or finer scales"
            ),
        )


def _vanished(rho: FloatArray) -> bool:
    """Whether two lags 2j and 2j + 1 have a sum that is not positive."""
    return bool((rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1) <= 0).any())


def equally_weighted(measure: Measure, rows: IntArray) -> Measure:
    """Some rows of a measure with equal weights."""
    return Measure.trusted(measure.space, measure.points[rows], np.full(len(rows), 1 / len(rows)))


def _sharp(measure: Measure, rtol: float) -> float:
    """More digits than asked for, where they cost little: at coarse scales 1 - 1 / gESS is a small difference."""
    exact = measure.space.transform is not None or measure.space.zonal is not None
    return min(rtol, SHARP if exact and measure.n <= DRAWS_THAT_COST_LITTLE else LESS_SHARP)
