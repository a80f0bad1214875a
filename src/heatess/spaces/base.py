"""What a manifold is, to heatess.

A space knows its points (how to check them, how far apart they are) and its Laplacian (levels and
zonal functions). It knows nothing about engines: an engine asks the space, never the reverse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Levels(NamedTuple):
    """The lowest eigenvalue levels of minus the Laplacian, in increasing order."""

    eigenvalues: FloatArray
    log_multiplicities: FloatArray


class LevelMoments(NamedTuple):
    """Level energies divided by their multiplicities, b_l = B_l / N_l, each in [0, 1].

    Attributes
    ----------
    values : ndarray, shape (count,)
        b_0 = 1, b_1, b_2, ...
    root_error : float
        Bound on the absolute error of sqrt(b_l): the accuracy of a transform whose squared
        coefficients these are.
    error : float
        Bound on the absolute error of b_l itself: the accuracy of a sum over pairs.
    cosine_error : float
        Bound on the rounding error of the cosine of each pair's distance, which moves the overlap of
        that pair by the factor 1 + cosine_error * d log s_t / d cos.
    """

    values: FloatArray
    root_error: float = 0.0
    error: float = 0.0
    cosine_error: float = 0.0


class SmallTime(NamedTuple):
    """The heat kernel at one small time, as a function of squared distance.

    log s_t(r) = polynomial(r^2) with zero constant term, and log k_2t(x, x) = log_diagonal.
    `slope` is the polynomial of d log s_t / d log t. `error` bounds what the expansion leaves out of
    log s_t within `reach`, and of `log_diagonal`.
    """

    polynomial: FloatArray
    slope: FloatArray
    log_diagonal: float
    error: float
    reach: float


class Space(ABC):
    """A manifold with its Riemannian metric."""

    #: True when distances are angles, so that scales are given in degrees.
    angular: bool = True

    @property
    @abstractmethod
    def dim(self) -> int:
        """Dimension of the manifold."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """Largest distance between two points, in radians on angular spaces."""

    @property
    @abstractmethod
    def volume(self) -> float:
        """Riemannian volume; zero where it underflows, see `log_volume`."""

    @property
    @abstractmethod
    def log_volume(self) -> float:
        """Logarithm of the Riemannian volume."""

    @property
    @abstractmethod
    def scalar_curvature(self) -> float:
        """Scalar curvature, a constant on a homogeneous space."""

    @abstractmethod
    def check(self, points: Any) -> NDArray[Any]:
        """Points in standard form, one atom per row, or an `InputError` that names the row."""

    @abstractmethod
    def distance(self, x: Any, y: Any) -> FloatArray:
        """Geodesic distance between points, row by row, broadcasting."""

    @abstractmethod
    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent points from the normalised volume."""


class ZonalSpace(Space):
    """A homogeneous space whose heat kernel depends on the distance alone.

    Each level then has one zonal function, normalised to 1 at distance zero, and it is a mixture of
    cosines of the distance with non-negative coefficients. Engines use nothing else.
    """

    @abstractmethod
    def levels(self, count: int) -> Levels:
        """The *count* lowest levels. Their terms N_l exp(-2 lambda_l t) must be log-concave in l."""

    @abstractmethod
    def zonal(self, count: int, distance: Any) -> FloatArray:
        """Zonal functions of the *count* lowest levels, shape (count, *distance.shape)."""

    @abstractmethod
    def from_cosines(self, cosines: FloatArray) -> FloatArray:
        """Level moments from the cosine moments sum_ij w_i w_j cos(k d_ij), k = 0, 1, ..., count - 1."""

    @abstractmethod
    def tile(self, points: NDArray[Any], rows: slice) -> FloatArray:
        """Some rows of checked points as float64, ready for `tile_cosines`."""

    @abstractmethod
    def tile_cosines(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """cos d(x_i, y_j) for two tiles, in [-1, 1], by matrix product."""

    @abstractmethod
    def embed(self, points: NDArray[Any]) -> FloatArray:
        """Points in a Euclidean space where the straight-line distance is `chord` of the distance."""

    @abstractmethod
    def chord(self, distance: Any) -> FloatArray:
        """Straight-line distance of the embedding; its inverse is `from_chord`."""

    @abstractmethod
    def from_chord(self, chord: Any) -> FloatArray:
        """Geodesic distance from the straight-line distance of the embedding."""

    @abstractmethod
    def small_time(self, time: float) -> SmallTime:
        """The small-time expansion of the heat kernel."""

    #: What coefficients are, in words that change when their meaning does; they are saved with them.
    basis: str = ""

    #: The largest level count that `coefficients` accepts; zero when the space has no fast transform.
    transform_limit: int = 0

    def transform_cost(self, n: int, count: int) -> float:
        """Seconds that `coefficients` takes on two cores, roughly; for choosing between engines."""
        return float("inf")

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, count: int, epsilon: float, threads: int
    ) -> NDArray[np.complex128]:
        """Coefficients sum_i w_i phi(x_i) of the *count* lowest levels, in linear time.

        They are linear in the measure: coefficients of shards add up to those of the whole. *epsilon* is
        the accuracy per unit of weight.
        """
        raise TypeError(f"{self!r} has no fast transform; use method='pairwise'")

    def no_coefficients(self, count: int) -> NDArray[np.complex128]:
        """The coefficients of the empty measure: zeros of the right shape."""
        raise TypeError(f"{self!r} has no fast transform; use method='pairwise'")

    def moments_of_coefficients(self, coefficients: NDArray[np.complex128]) -> FloatArray:
        """Level moments b_l of a measure of total weight one from its coefficients."""
        raise TypeError(f"{self!r} has no fast transform; use method='pairwise'")

    def low_moments(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """b_1, b_2, ... of the first few levels as sums of squares, exact even when they nearly vanish."""
        return np.empty(0)
