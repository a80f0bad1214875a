"""Flat space R^dim. Its volume is infinite, so only gESS is defined on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from . import theta
from .base import FloatArray, PairSpace, PairTerms
from .coordinates import coordinate_rows

if TYPE_CHECKING:
    from ..engines.sums import HeatSums

#: What the repr of a space of infinite volume ends with.
GESS_ONLY = " [infinite volume: gESS only]"

#: Atoms up to which all pairs are summed one scale after another.
SCALE_BY_SCALE = 2000


class OpenSpace(PairSpace):
    """A homogeneous space of infinite volume: no uniform law, hence no `volume`, `divergence` or `mmd2`."""

    angular = False
    compact = False

    @property
    def diameter(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def volume(self) -> float:
        """Infinite: there is no normalised volume, so U2, D2 and MMD^2 to uniform have no meaning."""
        return math.inf

    @property
    def log_volume(self) -> float:
        """Infinite."""
        return math.inf

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """Nan: the kernel with respect to normalised volume does not exist."""
        return np.full(len(times), np.nan)


class Euclidean(OpenSpace):
    """Flat space R^dim: vectors, straight-line distance in their own unit.

    The overlap is s_t(x, y) = exp(-|x - y|^2 / 8t), so the resolution, where it is 1/e, is sqrt(8t) exactly.
    The spectrum is continuous and the volume infinite: there is no uniform law to compare with, hence gESS is
    defined while `volume`, `divergence` and `mmd2` are nan. Distances are no angles: give `resolutions` (in the
    unit of the coordinates) or `times`.

    Examples
    --------
    >>> import heatess as he
    >>> he.Euclidean(2)
    Euclidean(2) [infinite volume: gESS only]
    >>> round(he.gess([[0, 0], [1, 0], [0, 50]], space=he.Euclidean(2), resolution=1), 3)
    2.409
    """

    accuracy = 1e-13

    def __init__(self, dim: int) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or dim < 1:
            raise InputError(f"Euclidean(dim) needs a whole number dim >= 1, but found {dim!r}")
        self._dim = int(dim)

    def __repr__(self) -> str:
        return f"Euclidean({self._dim}){GESS_ONLY}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Euclidean) and other._dim == self._dim

    def __hash__(self) -> int:
        return hash((Euclidean, self._dim))

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self._dim

    @property
    def width(self) -> int:
        """Columns of checked points."""
        return self._dim

    @property
    def scalar_curvature(self) -> float:
        """Zero."""
        return 0.0

    def check(self, points: Any) -> NDArray[Any]:
        """Finite vectors, shape (n, dim), or (n,) if dim is 1."""
        rows = coordinate_rows(points, self._dim, f"Euclidean({self._dim})")
        return rows.astype(np.float64, copy=False)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Straight-line distance.

        >>> float(Euclidean(2).distance([0, 0], [3, 4]))
        5.0
        """
        difference = np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)
        return np.asarray(np.linalg.norm(difference, axis=-1))

    def pair_terms(self, left: FloatArray, right: FloatArray, time: float) -> PairTerms:
        """exp(-d^2 / 8t), and d^2 / 8t times it; distances from differences, never from inner products."""
        return self.terms_of_tiles(left, right)(time)

    def terms_of_tiles(self, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
        """The distances once, for all times."""
        from scipy.spatial.distance import cdist

        distances = cdist(left, right)

        def terms(time: float) -> PairTerms:
            with np.errstate(over="ignore"):
                exponent = np.minimum(np.square(distances / math.sqrt(8 * time)), 1000.0)
            overlap = np.exp(-exponent)
            return PairTerms(overlap, exponent * overlap, None)

        return terms

    def pair_seconds(self, n: int, scales: int) -> float:
        """Rough seconds on two cores of all pairs: their distances are gathered once, for all scales."""
        if n <= SCALE_BY_SCALE:
            return 0.5 * float(n) ** 2 * scales * 2e-8
        return 0.3 + 0.5 * float(n) ** 2 * (2e-9 + 2e-10 * self._dim)

    @property
    def flat_periods(self) -> FloatArray:
        """Infinite: no coordinate closes."""
        return np.full(self._dim, np.inf)

    def fitted(self, points: NDArray[Any], times: FloatArray, rtol: float) -> Euclidean:
        """The space with the box around the points, where it is a torus for all that they can see of each other."""
        return Boxed(points) if self._dim <= 3 else self

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """d^2 / 8."""
        return np.asarray(distances**2 / 8)

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """sqrt(8t)."""
        return np.asarray(np.sqrt(8 * times))


class Boxed(Euclidean):
    """Flat space around some points in a box of sides E_j, in at most three dimensions, with a fast transform.

    On a torus of periods E_j + R every pair has its own distance, and all other images are at least R away along some
    coordinate. So the sum over pairs and images there is that of flat space but for the `theta.log_axis_share` of
    y = R^2 / 8t. The period is set by the coarsest scale and the modes by the finest: many scales go in groups.
    """

    def __init__(self, points: NDArray[Any]) -> None:
        super().__init__(points.shape[1])
        low, high = points.min(axis=0), points.max(axis=0)
        self._centre = low / 2 + high / 2
        with np.errstate(over="ignore"):
            self._extents = high - low

    def _periods(self, coarsest: float, exponent: float) -> list[float]:
        """Of a torus on which times up to *coarsest* look flat."""
        return [float(E) * (1 + 1e-9) + math.sqrt(8 * coarsest * exponent) for E in self._extents]

    def _exponent(self, rtol: float, ess: float) -> float:
        """y = R^2 / 8t for what images add, and 2 lambda t for the modes left out."""
        from ..kernel import truncation

        return theta.axis_exponent(math.log(truncation(rtol, ess) / self.dim))

    def _group_seconds(self, n: int, finest: float, coarsest: float, exponent: float) -> float:
        periods = self._periods(coarsest, exponent)
        if max(periods) > 1e49 or min(periods) < 1e-49:
            return math.inf
        return theta.transform_seconds(n, [theta.side_of(finest, T, exponent) for T in periods])

    def spectral_seconds(self, n: int, time: float, rtol: float, ess: float) -> float:
        """Rough seconds on two cores of the group of the finest scale; the coarser ones cost less."""
        return self._group_seconds(n, time, time, self._exponent(rtol, ess))

    def spectral_sums(self, points: NDArray[Any], weights: FloatArray, times: FloatArray, rtol: float) -> Any:
        """Heat sums on one torus for each group of scales."""
        from ..engines.sums import HeatSums

        exponent = self._exponent(rtol, 1 / float(weights @ weights))
        sums = HeatSums.empty(len(times))
        centred = points - self._centre
        for group in self._groups(len(points), times, exponent):
            sums.put(group, self._group_sums(centred, weights, times[group], exponent, rtol))
        return sums

    def _groups(self, n: int, times: FloatArray, exponent: float) -> list[NDArray[np.bool_]]:
        """The scales in groups of least total cost, by the best first group for each finest scale."""
        order = np.sort(times)
        cost = np.zeros(len(order) + 1)
        ends = np.zeros(len(order), dtype=int)
        for first in range(len(order) - 1, -1, -1):
            cost[first] = math.inf
            for end in range(first + 1, len(order) + 1):
                own = self._group_seconds(n, float(order[first]), float(order[end - 1]), exponent)
                if own + cost[end] < cost[first]:
                    cost[first], ends[first] = own + cost[end], end
                if own > cost[first]:
                    break  # larger groups cost more still
        groups = []
        first = 0
        while first < len(order):
            end = int(ends[first])
            groups.append((times >= order[first]) & (times <= order[end - 1]))
            first = end
        return groups

    def _group_sums(
        self, centred: FloatArray, weights: FloatArray, times: FloatArray, exponent: float, rtol: float
    ) -> HeatSums:
        from ..engines.sums import HeatSums
        from .torus import Torus

        coarsest = float(times.max())
        torus = Torus(self.dim, self._periods(coarsest, exponent))
        sides = [theta.side_of(float(times.min()), T, exponent) for T in torus.periods]
        sums = torus.transform_sums(centred, weights, times, sides, rtol)[0]
        diagonals = [[theta.diagonal_factor(float(t), T) for T in torus.periods] for t in times]
        # The sum over pairs and images is A over the diagonal without images, prod_j T_j / sqrt(8 pi t).
        images = np.array([sum(factor.log for factor in row) for row in diagonals]) - sum(
            np.log(T / np.sqrt(8 * math.pi * times)) for T in torus.periods
        )
        rate = np.array([sum(factor.slope for factor in row) for row in diagonals])
        added = self.dim * np.exp(theta.log_axis_share(exponent * coarsest / times))
        nothing = np.full(len(times), np.nan)
        return HeatSums(sums.overlap * np.exp(images), nothing, sums.slope + rate + self.dim / 2, sums.error + added)
