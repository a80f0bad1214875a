"""Flat space R^dim. Its volume is infinite, so only gESS is defined on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray
from ..heat.lookup import FLAT, LoopFactor, exponential
from ..heat.radial import PairTerms, Radial
from .base import Space
from .capabilities import FlatEmbedding, OverlapsOfTime, PairKernel, RadialFactor, TermsOfTime, in_one_column
from .coordinates import coordinate_rows
from .drawing import Drawing, flat
from .vectors import check_dimension


class Euclidean(Space):
    """Flat space R^dim: vectors, straight-line distance in their own unit.

    The overlap is s_t(x, y) = exp(-|x - y|^2 / 8t), so the resolution, where it is 1/e, is sqrt(8t) exactly.
    The spectrum is continuous and the volume infinite: there is no uniform distribution to compare with, hence gESS is
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

    angular = compact = False

    def __init__(self, dim: int) -> None:
        self._dim = check_dimension(dim, "Euclidean", "the plane is Euclidean(2)")
        self.pair_kernel = GaussianPairs(self._dim)
        self.embedding = FlatEmbedding(np.full(self._dim, np.inf))

    @property
    def drawing(self) -> Drawing | None:
        """The plane, or space."""
        return flat(self._dim)

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

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> FloatArray:
        """Normal steps."""
        return np.asarray(points + math.sqrt(2 * time) * rng.standard_normal(points.shape))

    def log_own_density(self, times: FloatArray) -> FloatArray:
        """-dim / 2 log(8 pi t)."""
        return np.asarray(-self._dim / 2 * np.log(8 * math.pi * times))

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """Their mean."""
        return np.asarray(x / 2 + y / 2)

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """d^2 / 8."""
        return np.asarray(distances**2 / 8)

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """sqrt(8t)."""
        return np.asarray(np.sqrt(8 * times))


class GaussianPairs(PairKernel):
    """exp(-d^2 / 8t), and d^2 / 8t times it; distances from differences, never from inner products."""

    accuracy = 1e-13

    def __init__(self, dim: int) -> None:
        self.width = dim

    def terms(self, left: FloatArray, right: FloatArray) -> TermsOfTime:
        """The distances once, for all times."""
        from scipy.spatial.distance import cdist

        distances = cdist(left, right)

        def terms(time: float) -> PairTerms:
            with np.errstate(over="ignore"):
                exponent = np.minimum(np.square(distances / math.sqrt(8 * time)), 1000.0)
            overlap = np.exp(-exponent)
            return PairTerms(overlap, exponent * overlap, None)

        return terms

    def factors(self, left: FloatArray, right: FloatArray) -> list[RadialFactor]:
        """One function of the distance."""
        from scipy.spatial.distance import cdist

        return [RadialFactor(_gaussian, cdist(left, right).ravel())]

    def loop_factors(self) -> list[LoopFactor]:
        """One Gaussian."""
        return [LoopFactor(FLAT, slice(0, self.width), lambda time, _: exponential(1 / (8 * time)))]

    def paired(self, left: FloatArray, right: FloatArray) -> OverlapsOfTime:
        """Of the distances row by row."""
        return in_one_column([RadialFactor(_gaussian, np.asarray(np.linalg.norm(left - right, axis=1)))])

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """Nan: the kernel with respect to normalised volume does not exist."""
        return np.full(len(times), np.nan)

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Sums of squares are good to dim EPS / 4 or so, and exponents are up to dim / 2 on average."""
        return np.full(len(times), self.accuracy + EPS * self.width**2 / 4)

    def seconds(self, pairs: float, scales: int) -> float:
        """An exponential per scale."""
        return pairs * scales * 2e-8


def _gaussian(time: float) -> Radial:
    rate = 1 / (8 * time)
    return Radial(np.array([[0.0, 0.0], [-rate, rate]]), 0.0, 2.0, math.sqrt(45 / rate))
