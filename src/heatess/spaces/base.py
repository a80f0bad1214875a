"""What a manifold is, to heatess.

A space knows its points (how to check them, how far apart they are) and its Laplacian (levels and
zonal functions). It knows nothing about engines: an engine asks the space, never the reverse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

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
    certain : int
        How many of the lowest moments are exact to rounding.
    """

    values: FloatArray
    root_error: float = 0.0
    error: float = 0.0
    cosine_error: float = 0.0
    certain: int = 1


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

    def uniform(self, n: int, rng: np.random.Generator) -> Any:
        """*n* independent points from the normalised volume, where there is one."""
        raise InputError(f"{self!r} has no uniform law to draw from")

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """The times at which the overlap at each distance is 1/e."""
        raise InputError(
            f"resolutions are not defined on {self!r}, where the overlap depends on more than the "
            "distance; give times instead"
        )

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """The distances at which the overlap falls to 1/e; nan where it does not, or they are not defined."""
        return np.full(len(times), np.nan)


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

    def cosine_count(self, count: int) -> int:
        """Cosines cos(k d), k = 0, 1, ..., of which the *count* lowest zonal functions are mixtures."""
        return count

    @abstractmethod
    def from_cosines(self, cosines: FloatArray) -> FloatArray:
        """Level moments from the cosine moments sum_ij w_i w_j cos(k d_ij), k < `cosine_count(count)`."""

    @abstractmethod
    def tile(self, points: NDArray[Any], rows: slice) -> FloatArray:
        """Some rows of checked points as float64, ready for `tile_cosines`."""

    @abstractmethod
    def tile_cosines(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """cos d(x_i, y_j) for two tiles, in [-1, 1], by matrix product."""

    #: True where an embedded point and its negative are one point of the space, so that the nearer of them counts.
    antipodal: bool = False

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

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """The times at which s_t(distance) = 1/e."""
        from ..kernel import times_of_resolutions

        return times_of_resolutions(self, distances)

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """The distances at which s_t falls to 1/e; nan where every pair overlaps more than that."""
        from ..kernel import resolutions_of_times

        return resolutions_of_times(self, times)

    def low_moments(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """b_1, b_2, ... of the first few levels as sums of squares, exact even when they nearly vanish."""
        return np.empty(0)


class PairTerms(NamedTuple):
    """What one pair of tiles contributes at one time, each of shape (rows, columns)."""

    overlap: FloatArray  # s_t(x_i, y_j)
    change: FloatArray  # d s_t / d log t
    excess: FloatArray | None  # k_2t(x_i, y_j) - 1, with full relative accuracy; None on non-compact spaces


class PairSpace(Space):
    """A homogeneous space whose overlaps are summed pair by pair: tori, products, flat and hyperbolic space."""

    #: False where the volume is infinite: then only gESS is defined.
    compact: bool = True

    #: Relative accuracy of `pair_terms`.
    accuracy: float = 1e-12

    #: Whether overlaps of several tiles may be worked out at the same time.
    parallel: bool = True

    def fitted(self, points: NDArray[Any], times: FloatArray, rtol: float) -> PairSpace:
        """The same space, ready for these points and *times*, or a `PrecisionError` if one cannot reach *rtol*."""
        return self

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Bound on the relative error at each time of sums of overlaps that came to *overlap*."""
        return np.full(len(times), self.accuracy)

    @abstractmethod
    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """log k_2t(x, x) with respect to normalised volume; nan on non-compact spaces."""

    @abstractmethod
    def pair_terms(self, left: FloatArray, right: FloatArray, time: float) -> PairTerms:
        """Overlaps of two tiles of checked points."""

    def terms_of_tiles(self, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
        """`pair_terms` of two tiles as a function of time; what does not depend on the time is worked out once."""
        return lambda time: self.pair_terms(left, right, time)

    def pair_seconds(self, n: int, scales: int) -> float:
        """Rough seconds on two cores of all pairs at so many scales."""
        return 0.5 * float(n) ** 2 * scales * 4e-8

    # Optional: all pairs at all scales at once, where the overlap depends on the distance alone.

    #: Whether there are `separations`.
    radial: bool = False

    def separations(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Functions of the distances of all pairs of two tiles that are their squares in the limit of small ones."""
        raise TypeError(f"{self!r} has no separations; its overlap depends on more than the distance")

    def radial_terms(self, separations: FloatArray, time: float) -> PairTerms:
        """Overlaps as smooth functions of the `separations`."""
        raise TypeError(f"{self!r} has no separations; its overlap depends on more than the distance")

    # Optional: a fast transform.

    def spectral_seconds(self, n: int, time: float, rtol: float, ess: float) -> float:
        """Rough seconds on two cores of `spectral_sums` when *time* is the finest; inf where there is no transform."""
        return float("inf")

    def spectral_sums(self, points: NDArray[Any], weights: FloatArray, times: FloatArray, rtol: float) -> Any:
        """`engines.sums.HeatSums` by a fast transform, or None where that turns out not to be possible.

        It is called only where `spectral_seconds` is finite.
        """
        return None

    # Optional: neighbours.

    @property
    def flat_periods(self) -> FloatArray | None:
        """The period of each column of the points if these are Cartesian coordinates, inf where one does not close.

        None where they are not, because the space is curved.
        """
        return None


class Eigenpairs(NamedTuple):
    """The lowest eigenvalues of minus the Laplacian, shape (modes,), and the functions at points, (n, modes)."""

    values: FloatArray
    functions: FloatArray


class EigenSpace(Space):
    """A space that is not homogeneous, known by its lowest eigenpairs: meshes, point clouds, graphs."""

    @property
    @abstractmethod
    def finest_time(self) -> float:
        """The smallest time that the eigenpairs resolve."""

    @abstractmethod
    def eigenpairs(self, points: NDArray[Any], time: float) -> Eigenpairs:
        """Eigenpairs that suffice at *time* and above, orthonormal for the normalised volume; the first is (0, 1)."""

    @abstractmethod
    def lowest_eigenpairs(self, points: NDArray[Any], count: int) -> Eigenpairs:
        """The *count* lowest eigenpairs, or all there are if they are fewer; refused if they cannot be found."""

    def discretisation_error(self, times: FloatArray) -> FloatArray:
        """Estimated relative error of gESS at each time from the eigenpairs themselves not being exact."""
        return np.zeros(len(times))
