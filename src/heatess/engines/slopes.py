"""Gradients of potentials at the atoms of a unit sphere.

With u the cosine of the distance, d s_t / du on S^m is its value C at u = 1 times s_t of S^(m+2): no digit is lost.
"""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import FloatArray
from ..base.blocks import one_blas_thread, share_out, slices, thread_count
from ..base.progress import Progress
from ..heat.series import SERIES_LIMIT, gess_level_count, level_count, level_probabilities
from ..heat.spherical import SphereSeries
from ..spaces.capabilities import ZonalPairs
from ..transforms.levels import LevelTransform
from .base import SlopesOffer, SlopesQuestion
from .pair_columns import SMALL_TILE
from .spectral import accuracy, threads_for


def steepness(series: SphereSeries, time: float) -> float:
    """C = d s_t / du at distance zero: the mean of lambda over m, or by the small-time expansion."""
    count = level_count(series, time, 1.0, 1e-15, SERIES_LIMIT)
    if count is None:
        return -2 * float(series.small_time(time).polynomial[1])  # s_t = 1 + c r^2 + ..., and u = 1 - r^2 / 2 + ...
    return float(level_probabilities(series, time, count) @ series.levels(count).eigenvalues) / series.dim


class TransformSlopes(SlopesOffer):
    """Coordinate by coordinate.

    On S^m, P_l' is (2l + m - 1) / N_l times the sum of N_k P_k over k = l - 1, l - 3, ...
    """

    name = "spectral"

    def __init__(
        self, question: SlopesQuestion, transform: LevelTransform, kernel: ZonalPairs, series: SphereSeries
    ) -> None:
        self._question, self._transform, self._kernel = question, transform, kernel
        time = float(question.times[0])
        steep = steepness(series, time)
        # Beyond them the series is at most C times the share of S^(m+2), at any place.
        share = min(100 * question.rtol * question.mean / math.sqrt(steep), 0.1)
        self._degree = gess_level_count(SphereSeries(series.dim + 2), time, share, int(transform.most))
        self.error = 8 * accuracy(question.rtol) * max(1.0, math.sqrt(steep))

    def seconds(self, first: int, end: int) -> float:
        """Two transforms a coordinate."""
        return 6 * self._transform.seconds(self._question.measure.n, self._degree) if self._degree else math.inf

    def run(self, part: slice, progress: Progress) -> FloatArray:
        """By the adjoint transform."""
        measure, transform, degree = self._question.measure, self._transform, self._degree or 0
        copies = np.exp(transform.series.levels(degree + 1).log_multiplicities)
        slopes = level_probabilities(transform.series, float(self._question.times[0]), degree + 1) / copies
        slopes *= 2 * np.arange(degree + 1) + transform.series.dim - 1
        above = np.zeros(degree + 1)
        for parity in (0, 1):
            above[parity::2] = np.cumsum(slopes[parity::2][::-1])[::-1]
        shares = copies * np.append(above[1:], 0.0)
        how, found = (accuracy(self._question.rtol), threads_for(measure.n, degree)), []
        for column in self._kernel.rows(measure.points).T:
            coefficients = transform.coefficients(measure.points, measure.weights * column, degree, *how)
            found.append(transform.synthesis(coefficients, shares, measure.points, *how))
        return np.stack(found, axis=1)


class PairSlopes(SlopesOffer):
    """C sum_j w_j s_t(x_i, x_j) x_j with the overlap of S^(m+2), tile after tile."""

    name = "pairwise"

    def __init__(self, question: SlopesQuestion, own: ZonalPairs, series: SphereSeries) -> None:
        higher = SphereSeries(series.dim + 2)
        self._kernel = ZonalPairs(higher, own.width, rows=own.rows, cosines=own.cosines, distance=own.distance)
        self._question, self._steepness = question, steepness(series, float(question.times[0]))
        self.error = float(self._kernel.errors(question.times, np.array([question.mean]))[0])

    def seconds(self, first: int, end: int) -> float:
        """Of all pairs, twice."""
        return self._kernel.seconds(float(self._question.measure.n) ** 2, 1)

    def run(self, part: slice, progress: Progress) -> FloatArray:
        """Rows side by side."""
        measure, kernel, time = self._question.measure, self._kernel, float(self._question.times[0])
        total, atoms = np.zeros(measure.points.shape), measure.coalesced()

        def fill(_: int, rows: slice) -> None:
            left = kernel.rows(measure.points, rows)
            for part in slices(atoms.n, 4 * SMALL_TILE):
                right = kernel.rows(atoms.points, part)
                total[rows] += kernel.terms(left, right)(time).overlap @ (atoms.weights[part, None] * right)

        with one_blas_thread():
            share_out(list(slices(measure.n, SMALL_TILE)), fill, thread_count())
        return self._steepness * total
