"""When a particle filter should resample, as packages of particle filters ask for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..answers.profile_and_gess import ratio_at
from ..base.arrays import positive
from ..base.errors import InputError, InputTypeError
from ..measures.measure import Measure
from ..measures.scales import check_one_scale, in_words, resolve
from ..spaces.base import Space, check_space


@dataclass(frozen=True)
class ResamplingCriterion:
    """Tells whether a particle filter should resample now: whether gESS has fallen below a share of what it could be.

        gESS of the weighted particles / gESS of the same particles equally weighted < threshold

    The ratio is about 1 after resampling, however close together the particles are. It differs from ESS / n in that
    many light particles beside a heavy one do no harm: there is no need to resample while all places of the posterior
    are still covered.

    With all weight on one particle the ratio is 1 / gESS of equal weights, about (1 + 4 W^2 / (D alpha^2))^(-D/2) for a
    cloud of rms width W in D dimensions at scale alpha = sqrt(8 t): on S^2 0.34 at W, 0.81 at 3 W. It falls no lower,
    so a scale much wider than the cloud never triggers, and there is a `CalibrationWarning` that says the widest scale
    of use. Without a scale, each call takes that at which this floor is half the threshold (on S^2 0.8 W for a half).
    At scales far below W, the ratio is ESS / n. `examples/filters/choose_scale.py` shows a filter on the sphere.

    Parameters
    ----------
    space : Space
        The manifold of the particles.
    angle, time, resolution : float
        At most one of them: the scale. Default: a share of the cloud's width, anew in each call.
    threshold : float
        In (0, 1]; half by default, as is usual for ESS / n.
    points : callable, optional
        Makes points of the space, one per row, of what the filter has for particles: for instance of bearings unit
        vectors. Default: they are points already.

    Examples
    --------
    >>> import numpy as np
    >>> import heatess as he
    >>> particles = he.samplers.von_mises_fisher(500, [0, 0, 1], 50.0, rng=0)
    >>> criterion = he.ResamplingCriterion(he.Sphere(2), angle=8)
    >>> criterion(particles)
    False
    >>> weights = np.exp(200 * particles[:, 0])
    >>> criterion(particles, weights), round(criterion.ratio(particles, weights), 3)
    (True, 0.185)

    An object with particles and weights serves as well: `smc` of the package particles, the `filter_state` of PyRecEst,
    a `ParticleState` of Stone Soup.

        def time_to_resample(self, smc):                    # particles: a method of a FeynmanKac class
            return criterion(smc)

        particle_filter.set_resampling_criterion(criterion)     # PyRecEst

        def resample(self, particles, nparts=None):         # Stone Soup: a method of a Resampler class
            return self.resampler.resample(particles, nparts) if criterion(particles) else particles
    """

    space: Space
    angle: float | None = None
    threshold: float = 0.5
    time: float | None = field(default=None, kw_only=True)
    resolution: float | None = field(default=None, kw_only=True)
    points: Callable[[Any], Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_space(self.space, needed=True)
        if self._given:
            check_one_scale(self.angle, self.time, self.resolution)
            resolve(self.space, self.angle, self.time, self.resolution)  # refuses what is no scale of this space
        if positive(self.threshold, "threshold", "a number in (0, 1]") > 1:
            raise InputError.unfit("threshold", "a number in (0, 1]", self.threshold)
        if self.points is not None and not callable(self.points):
            raise InputTypeError.unfit("points", "a function of the particles", self.points)

    def ratio(self, particles: Any, weights: ArrayLike | None = None, *, log_weights: ArrayLike | None = None) -> float:
        """gESS over what it would be for equal weights; *particles* are points, or an object that has weights too.

        >>> import heatess as he
        >>> particles = he.samplers.von_mises_fisher(500, [0, 0, 1], 50.0, rng=0)
        >>> round(he.ResamplingCriterion(he.Sphere(2), angle=8).ratio(particles), 6)
        1.0
        """
        found = _Particles(particles, weights, log_weights)
        if weights is None and log_weights is None:
            found = _of_object(particles)
        points = found.points if self.points is None else self.points(found.points)
        measure = Measure.of(points, found.weights, log_weights=found.log_weights, space=self.space)
        if self._given:
            time = float(resolve(self.space, self.angle, self.time, self.resolution).times[0])
        else:
            time = time_for(measure, self.threshold)
        return ratio_at(measure, time, self.threshold, narrows=not self._given)

    @property
    def _given(self) -> bool:
        return any(value is not None for value in (self.angle, self.time, self.resolution))

    def __call__(
        self, particles: Any, weights: ArrayLike | None = None, *, log_weights: ArrayLike | None = None
    ) -> bool:
        """Whether to resample now; *particles* are points, or an object that has weights too."""
        return self.ratio(particles, weights, log_weights=log_weights) < self.threshold

    def __repr__(self) -> str:
        scale = "scale from the cloud"
        if self._given:
            time = float(resolve(self.space, self.angle, self.time, self.resolution).times[0])
            scale = in_words(self.space, time)
        return f"ResamplingCriterion({self.space!r}, {scale}: gESS ratio < {self.threshold:g})"


def time_for(measure: Measure, threshold: float) -> float:
    """The diffusion time at which the floor of the ratio is about half the threshold, from the width of the cloud.

    The mean square of the distances of atoms, each with one other at random, is 2 W^2. Copies of one atom have no
    width, and any scale does.
    """
    order = np.random.default_rng(0).permutation(measure.n)
    gaps = np.asarray(measure.space.distance(measure.points, measure.points[order]))
    width2 = float(np.mean(gaps**2)) / 2
    wanted = (threshold / 2) ** (-2 / max(measure.space.dim, 1)) - 1
    return 4 * width2 / (max(measure.space.dim, 1) * wanted) / 8 or 1.0


class _Particles(NamedTuple):
    points: Any
    weights: Any
    log_weights: Any


def _of_object(state: Any) -> _Particles:
    """Particles and weights of an object of one of three packages; anything else is points of equal weight."""
    if hasattr(state, "X") and hasattr(state, "aux"):  # an SMC of particles; aux is None before the first step
        return _Particles(state.X, getattr(state.aux, "W", None), None)
    if hasattr(state, "d") and hasattr(state, "w"):  # a Dirac distribution of PyRecEst
        return _Particles(np.asarray(state.d), np.asarray(state.w), None)
    if hasattr(state, "state_vector") and hasattr(state, "log_weight"):  # a ParticleState of Stone Soup
        columns = np.asarray(state.state_vector)  # (coordinates, particles), which may be objects such as Bearing
        return _Particles(columns.T.astype(np.float64), None, np.asarray(state.log_weight, dtype=np.float64))
    return _Particles(state, None, None)
