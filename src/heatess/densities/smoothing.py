"""The smoothed density of a measure at places: p_t(y) = sum_j w_j k_t(y, x_j), and sums of squared kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import slices
from ..base.errors import PrecisionError
from ..base.known import ABOUT, Known
from ..base.progress import Progress
from ..engines import columns, plan, spectral
from ..engines.flows import density as density_on_nodes
from ..measures.measure import Measure
from ..measures.scales import in_words
from ..parts.accumulator import EPSILON, Accumulator, degree_for
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


@dataclass(frozen=True, eq=False)
class Sums:
    """What an `Accumulator` knows of its atoms: coefficients of total weight one."""

    space: Space
    n: int
    ess: float
    known: Known
    transform: Transform
    degree: float
    coefficients: Coefficients
    low: FloatArray  #: low sums, see `Transform`

    @classmethod
    def of(cls, parts: Accumulator) -> Sums:
        """The state of an accumulator as it is now."""
        sums, space = parts.sums, parts.known_space
        if space.transform is None:
            raise TypeError("parts add up by a transform")
        known, degree = Known(frame=parts.frame), float(parts.max_degree)
        own = sums.coefficients / sums.total, sums.low / sums.total
        return cls(space, sums.n, sums.ess, known, space.transform, degree, *own)

    @property
    def about(self) -> str:
        """What the points are, as far as the frame tells."""
        return ABOUT.get(self.known.frame or "", "")

    def overlap(self, time: float, rtol: float) -> float:
        """1 / gESS at a time."""
        spectrum = self.transform.spectrum(self.coefficients, lambda: self.low, self.degree, EPSILON, rtol)
        return float(spectrum.heat_sums(np.array([time])).overlap[0])

    def serves(self, time: float, rtol: float, *, mmd2: bool = False) -> bool:
        """Whether the density at this *time* is certified."""
        needed = self.transform.degree_for(time / 2, self.ess, rtol, mmd2=mmd2)
        return needed is not None and needed <= self.degree

    def refuse_fine(self, time: float, rtol: float) -> None:
        """A `PrecisionError` unless the density at this *time* is certified."""
        if not self.serves(time, rtol):
            needed = degree_for(self.space, time / 2, ess=self.ess, rtol=rtol)
            raise PrecisionError(
                f"max_degree={self.degree:.0f} does not certify the density at {in_words(self.space, time)} to "
                f"rtol={rtol:g}; accumulate with max_degree={needed}, or give a coarser scale",
                needed=needed,
            )


class Smoother:
    """Densities of one measure at any time; the coefficients of a transform are worked out once."""

    def __init__(self, measure: Measure | Sums, rtol: float) -> None:
        self.measure, self.rtol = measure, rtol
        self._coefficients: tuple[float, Coefficients] | None = None

    def degree(self, time: float, seconds: float = SECONDS, each: float = SECONDS_EACH) -> float | None:
        """The degree of the transform that serves a *time*; None where there is none, or it takes too long."""
        transform, n = self.measure.space.transform, self.measure.n
        if isinstance(self.measure, Sums):
            return self.measure.degree
        if transform is None:
            return None
        degree = transform.degree_for(time / 2, self.measure.ess, self.rtol, mmd2=False)
        return None if degree is None or transform.seconds(n, degree) > seconds + each * n else degree

    def _transformed(self, transform: Transform, degree: float) -> tuple[float, Coefficients]:
        """Coefficients to this degree or a higher one, kept for later calls."""
        measure, epsilon = self.measure, spectral.accuracy(self.rtol)
        if isinstance(measure, Sums):
            return measure.degree, measure.coefficients
        if self._coefficients is None or self._coefficients[0] < degree:
            threads = spectral.threads_for(measure.n, degree)
            found = transform.coefficients(measure.points, measure.weights, degree, epsilon, threads)
            self._coefficients = degree, found
        return self._coefficients

    def at(self, time: float, points: NDArray[Any]) -> FloatArray:
        """p_t at checked points."""
        measure, space = self.measure, self.measure.space
        if space.modes is not None and not isinstance(measure, Sums):
            return np.maximum(density_on_nodes(measure, time, points), 0.0)
        transform, degree = space.transform, self.degree(time)
        if transform is not None and degree is not None and self._transforms(len(points), degree):
            degree, coefficients = self._transformed(transform, degree)
            epsilon, threads = spectral.accuracy(self.rtol), spectral.threads_for(len(points), degree)
            overlaps = transform.potential(coefficients, degree, time / 2, points, epsilon, threads)
        else:
            overlaps = columns.potential(self._atoms, time / 2, self.rtol, points, Progress(False))
        with np.errstate(over="ignore"):
            return np.asarray(np.maximum(overlaps, 0.0) * np.exp(log_kernel_at_zero(space, time)))

    def _transforms(self, places: int, degree: float) -> bool:
        """Whether the adjoint transform at so many places is quicker than all pairs."""
        measure, transform, kernel = self.measure, self.measure.space.transform, self.measure.space.pair_kernel
        if isinstance(measure, Sums) or kernel is None or transform is None:
            return True
        return transform.seconds(places, degree) < kernel.seconds(float(measure.n) * places, 1)

    @property
    def _atoms(self) -> Measure:
        if isinstance(self.measure, Sums):
            raise TypeError("sums over parts have no atoms")
        return self.measure


def mean_density(smoother: Smoother, time: float) -> float:
    """The mean of p_t over the atoms, A(t / 2); on meshes and clouds more, where that is all that is known of it."""
    measure, space = smoother.measure, smoother.measure.space
    if isinstance(measure, Sums):
        return measure.overlap(time / 2, smoother.rtol) * math.exp(log_kernel_at_zero(space, time))
    if space.modes is not None:
        own = float(space.modes.discretisation_error(np.array([time / 2]))[0])
        rows = np.linspace(0, measure.n - 1, min(measure.n, 200)).astype(int)
        return max(1.0, own / smoother.rtol) * float(smoother.at(time, measure.points[rows]).mean())
    overlap = plan.overlap(measure, time / 2, 1e-3)
    return overlap * math.exp(min(log_kernel_at_zero(space, time), 700.0))


def deviations(measure: Measure, time: float, points: NDArray[Any], values: FloatArray, rtol: float) -> FloatArray:
    """sqrt(sum_i w_i^2 (k_i - f)^2 / (1 - S)): the jackknife of a mean, for equal weights exactly."""
    weights = measure.weights
    own = float(weights @ weights)
    if own >= 1:
        return np.full(len(values), np.inf)
    doubled = Measure.trusted(measure.space, measure.points, np.asarray(weights**2 / own))
    cross = Smoother(doubled, rtol).at(time, points) if np.ptp(weights) else values
    spread = squares(measure, time, points) + own * values * (values - 2 * cross)
    return np.sqrt(np.maximum(spread, 0.0) / (1 - own))


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
