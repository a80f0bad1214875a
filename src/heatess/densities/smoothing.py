"""The smoothed density of a measure at places: p_t(y) = sum_j w_j k_t(y, x_j), and sums of squared kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.errors import PrecisionError
from ..base.known import ABOUT, Known
from ..base.plain_values import CODECS, Codec, decoded, plain_value
from ..base.progress import Progress
from ..engines import columns, plan, spectral
from ..engines.base import Kept
from ..engines.lanczos import density as density_on_nodes
from ..engines.overlaps import log_kernel_at_zero, squares
from ..measures.measure import Measure
from ..measures.scales import in_words
from ..parts.accumulator import EPSILON, Accumulator, degree_for, with_transform
from ..spaces.base import Space
from ..transforms.base import Coefficients, Transform


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

    columns = ()  # whose names are not kept

    @classmethod
    def of(cls, parts: Accumulator) -> Sums:
        """The state of an accumulator as it is now."""
        sums, space = parts.sums, parts.known_space
        known, degree = Known(frame=parts.frame), float(parts.max_degree)
        own = sums.coefficients / sums.total, sums.low / sums.total
        return cls(space, sums.n, sums.ess, known, with_transform(space), degree, *own)

    @property
    def about(self) -> str:
        """What the points are, as far as the frame tells."""
        return ABOUT.get(self.known.frame or "", "")

    def overlap(self, time: float, rtol: float) -> float:
        """1 / gESS at a time."""
        spectrum = self.transform.spectrum(self.coefficients, lambda: self.low, self.degree, EPSILON, rtol)
        return float(spectrum.heat_sums(np.array([time])).overlap[0])

    def potential(self, time: float, points: NDArray[Any], rtol: float) -> FloatArray:
        """sum_j w_j s_t(y, x_j) at checked points y."""
        epsilon, threads = spectral.accuracy(rtol), spectral.threads_for(len(points), self.degree)
        return self.transform.potential(self.coefficients, self.degree, time, points, epsilon, threads)

    def serves(self, time: float, rtol: float, *, mmd2: bool = False) -> bool:
        """Whether the density at this *time* is certified."""
        needed = self.transform.degree_for(time / 2, self.ess, rtol, mmd2=mmd2)
        return needed is not None and needed <= self.degree

    def refuse_fine(self, time: float, rtol: float) -> None:
        """A `PrecisionError` unless the density at this *time* is certified."""
        if not self.serves(time, rtol):
            needed = degree_for(self.space, time / 2, ess=self.ess, rtol=rtol)
            raise PrecisionError(
                f"`max_degree={self.degree:.0f}` does not certify the density at {in_words(self.space, time)} to "
                f"`rtol={rtol:g}`; accumulate with `max_degree={needed}`, or give a coarser scale",
                needed=needed,
            )


def _written(sums: Sums) -> dict[str, Any]:
    names = ("space", "n", "ess", "degree", "coefficients", "low", "known")
    return {name: plain_value(getattr(sums, name)) for name in names}


def _read(found: Any, given: Any) -> Sums:
    hints = {"space": Space, "n": int, "ess": float, "degree": float, "known": Known}
    hints |= {"coefficients": np.ndarray, "low": np.ndarray}
    own = {name: decoded(hint, found.get(name), name, given) for name, hint in hints.items()}
    return Sums(**own, transform=own["space"].transform)


CODECS[Sums] = Codec(_written, _read, "coefficients")


class Smoother:
    """Densities of one measure at any time; the coefficients of a transform are worked out once."""

    def __init__(self, measure: Measure | Sums, rtol: float, kept: Kept | None = None) -> None:
        self.measure, self.rtol, self._kept = measure, rtol, kept or Kept()

    def at(self, time: float, points: NDArray[Any]) -> FloatArray:
        """p_t at checked points."""
        measure, space = self.measure, self.measure.space
        if isinstance(measure, Sums):
            overlaps = measure.potential(time / 2, points, self.rtol)
        elif space.modes is not None:
            return np.maximum(density_on_nodes(measure, space.modes, time, points), 0.0)
        else:
            overlaps = columns.potential(measure, time / 2, self.rtol, points, Progress(False), kept=self._kept)
        with np.errstate(over="ignore"):
            return np.asarray(np.maximum(overlaps, 0.0) * np.exp(log_kernel_at_zero(space, time)))


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
