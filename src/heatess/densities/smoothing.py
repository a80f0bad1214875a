"""The smoothed density of a measure at places: p_t(y) = sum_j w_j k_t(y, x_j), and sums of squared kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import slices
from ..base.progress import Progress
from ..engines import columns, plan, spectral
from ..engines.flows import density as density_on_nodes
from ..measures.measure import Measure
from ..spaces.base import Space
from ..transforms.base import Coefficients, Transform

#: Seconds that coefficients which serve many calls may take, and so much more for each atom.
SECONDS, SECONDS_EACH = 5.0, 3e-6

#: Pairs of a tile of kernels that are squared.
TILE = 2**20


def log_kernel_at_zero(space: Space, time: float) -> float:
    """log k_t(x, x) on a homogeneous space: against uniform, or per unit of volume where that is infinite."""
    logs = float(space.log_own_density(np.array([time / 2]))[0])
    return logs + space.log_volume if space.compact else logs


class Smoother:
    """Densities of one measure at any time; the coefficients of a transform are worked out once."""

    def __init__(self, measure: Measure, rtol: float) -> None:
        self.measure, self.rtol = measure, rtol
        self._coefficients: tuple[float, Coefficients] | None = None

    def _degree(self, time: float) -> float | None:
        """The degree of the transform that serves a *time*; None where there is none, or it takes too long."""
        transform, n = self.measure.space.transform, self.measure.n
        if transform is None:
            return None
        degree = transform.degree_for(time / 2, self.measure.ess, self.rtol, mmd2=False)
        if degree is None or transform.seconds(n, degree) > SECONDS + SECONDS_EACH * n:
            return None
        return degree

    def _transformed(self, transform: Transform, degree: float) -> tuple[float, Coefficients]:
        """Coefficients to this degree or a higher one, kept for later calls."""
        if self._coefficients is None or self._coefficients[0] < degree:
            measure, epsilon = self.measure, spectral.accuracy(self.rtol)
            threads = spectral.threads_for(measure.n, degree)
            found = transform.coefficients(measure.points, measure.weights, degree, epsilon, threads)
            self._coefficients = degree, found
        return self._coefficients

    def at(self, time: float, points: NDArray[Any]) -> FloatArray:
        """p_t at checked points."""
        space = self.measure.space
        if space.modes is not None:
            return np.maximum(density_on_nodes(self.measure, time, points), 0.0)
        transform, kernel, degree = space.transform, space.pair_kernel, self._degree(time)
        by_pairs = math.inf if kernel is None else kernel.seconds(float(self.measure.n) * len(points), 1)
        if transform is not None and degree is not None and transform.seconds(len(points), degree) < by_pairs:
            degree, coefficients = self._transformed(transform, degree)
            epsilon, threads = spectral.accuracy(self.rtol), spectral.threads_for(len(points), degree)
            overlaps = transform.potential(coefficients, degree, time / 2, points, epsilon, threads)
        else:
            overlaps = columns.potential(self.measure, time / 2, self.rtol, points, Progress(False))
        with np.errstate(over="ignore"):
            return np.asarray(np.maximum(overlaps, 0.0) * np.exp(log_kernel_at_zero(space, time)))


def squares(measure: Measure, time: float, points: NDArray[Any]) -> FloatArray:
    """sum_i w_i^2 k_t(y, x_i)^2 at checked points y, pair by pair."""
    space, found = measure.space, np.zeros(len(points))
    if space.modes is not None:
        pairs = space.modes.resolved(time / 2)
        decay = np.exp(-time * pairs.values)
        for rows in slices(measure.n, TILE // max(len(points), len(decay)) + 1):
            kernels = (pairs.at(points) * decay) @ pairs.at(measure.points[rows]).T
            found += np.square(kernels) @ measure.weights[rows] ** 2
        return found
    if space.pair_kernel is None:
        raise TypeError(f"{space!r} has no overlaps of pairs")
    kernel = space.pair_kernel.fitted(measure.points, np.array([time / 2]), 1e-8)
    seconds = kernel.seconds(float(measure.n) * len(points), 1)
    what = f"standard errors at {len(points):,} places from {measure.n:,} atoms"
    plan.afford(seconds, lambda wait: f"{what} would take {wait}; give fewer places")
    side = math.isqrt(TILE)
    for part in slices(measure.n, max(side, TILE // len(points))):
        right = kernel.rows(measure.points, part)
        for rows in slices(len(points), side):
            overlaps = kernel.terms(kernel.rows(points, rows), right)(time / 2).overlap
            found[rows] += np.square(overlaps) @ measure.weights[part] ** 2
    return np.asarray(found * math.exp(2 * log_kernel_at_zero(space, time)))
