"""What a transform is: coefficients that are linear in the measure, and the spectrum that becomes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..heat.sums import HeatSums

if TYPE_CHECKING:
    from .levels import LevelTransform

#: Coefficients: complex numbers, or real ones, in the shape that their transform knows.
Coefficients = NDArray[Any]

#: Quadratic forms at some times, from coefficients.
Forms = Callable[[Coefficients], FloatArray]

#: Coefficients of columns of signed weights, shape (points, columns), one after the other.
OfColumns = Callable[[FloatArray], Iterator[Coefficients]]

#: The low sums of a measure of total weight one, worked out only if they are needed.
LowSums = Callable[[], FloatArray]


class Spectrum(ABC):
    """The energies of a measure. With decay factors they sum to its heat sums at any time."""

    @abstractmethod
    def heat_sums(self, times: FloatArray) -> HeatSums:
        """Heat sums, with bounds on their errors, at times of any order."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Numbers held: a profile keeps a small spectrum, to answer between its scales."""


class Transform(ABC):
    """Coefficients sum_i w_i phi(x_i) of all eigenfunctions phi up to some *degree*, in linear time.

    The degree is a whole number l on spaces with levels, and then the levels 0, ..., l are kept. On tori and products
    it is sqrt(lambda / lambda_1), with lambda_1 the lowest eigenvalue of the longest axis or largest factor; it need
    not be whole.

    Besides coefficients there are the *low sums*, also linear in the measure: sums of a few polynomials or cosines from
    which the lowest energies follow with all their digits even where they nearly vanish.
    """

    #: What coefficients are, in words that change when their meaning does; they are saved with them.
    basis: str = ""

    #: The largest degree that `coefficients` accepts.
    most: float

    @property
    def by_levels(self) -> LevelTransform | None:
        """The same, where coefficients come in levels of a series."""
        return None

    @abstractmethod
    def degree_for(self, time: float, ess: float, rtol: float, *, mmd2: bool = True) -> float | None:
        """The degree that certifies gESS (and MMD^2) at *time* to a small share of *rtol*; None if above `most`."""

    @abstractmethod
    def seconds(self, n: int, degree: float) -> float:
        """Rough seconds on two cores of `coefficients` and all that follows."""

    @abstractmethod
    def zeros(self, degree: float) -> Coefficients:
        """The coefficients of the empty measure."""

    @abstractmethod
    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, threads: int
    ) -> Coefficients:
        """Coefficients of weighted points, accurate to *epsilon* per unit of weight."""

    @abstractmethod
    def low_sums(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """The low sums, in one row."""

    @abstractmethod
    def spectrum(
        self, coefficients: Coefficients, low_sums: LowSums, degree: float, epsilon: float, rtol: float
    ) -> Spectrum:
        """Energies of a measure of total weight one; low sums are asked for only where energies nearly vanish."""

    def spectrum_of(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, rtol: float, threads: int
    ) -> Spectrum:
        """The spectrum of weighted points at once."""
        found = self.coefficients(points, weights, degree, epsilon, threads)
        return self.spectrum(found, lambda: self.low_sums(points, weights), degree, epsilon, rtol)

    @abstractmethod
    def potential(
        self, coefficients: Coefficients, degree: float, time: float, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """f_t(y) = sum_j w_j s_t(y, x_j) at *points* y, by the adjoint transform."""

    def potentials(
        self,
        coefficients: Coefficients,
        degree: float,
        times: FloatArray,
        points: NDArray[Any],
        epsilon: float,
        threads: int,
    ) -> FloatArray:
        """`potential` at several times, shape (times, points)."""
        given = coefficients, degree
        return np.stack([self.potential(*given, float(time), points, epsilon, threads) for time in times])

    def potential_seconds(self, n: int, places: int, degree: float, times: int) -> float:
        """Rough seconds on two cores of coefficients of n points, and of potentials at *places* and *times*."""
        return self.seconds(n, degree) + times * self.seconds(places, degree)

    @abstractmethod
    def without_mean(self, coefficients: Coefficients) -> Coefficients:
        """The same without the coefficient of the constant function."""

    def of_columns(self, points: NDArray[Any], degree: float, epsilon: float) -> OfColumns:
        """The function that makes coefficients of columns of signed weights at *points*, on one thread.

        What depends on the points alone is worked out here, once for all columns.
        """

        def found(columns: FloatArray) -> Iterator[Coefficients]:
            for column in np.ascontiguousarray(columns.T):
                yield self.coefficients(points, column, degree, epsilon, 1)

        return found

    #: Modes that `level_energies` takes at most; none where levels are not known one by one.
    mode_limit: int = 0

    def level_energies(
        self, points: NDArray[Any], weights: FloatArray, count: int, epsilon: float, threads: int
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Eigenvalues, multiplicities and energies of the *count* lowest levels; None if their modes are too many."""
        return None

    #: Columns that the function of `of_columns` takes together.
    together: int = 1

    def column_seconds(self, n: int, degree: float) -> float:
        """Rough seconds on two cores of one of many columns of `of_columns`."""
        return self.seconds(n, degree) / self.together

    @abstractmethod
    def forms_of(self, degree: float, times: FloatArray, log_excess: FloatArray) -> Forms:
        """The function of coefficients, sum of exp(-2 lambda t) |a|^2 over all modes but the constant, at each time.

        In units of k_2t(x, x) - 1 with that logarithm. The weights are signed, and their absolute values sum to one.
        """

    @abstractmethod
    def square_sums(
        self, coefficients: Coefficients, degree: float, times: FloatArray, log_excess: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """sum_ij w_i w_j c_t(x_i, x_j)^2, with c_t = (k_2t - 1) / (k_2t(x, x) - 1), and the same of one atom.

        Both leave out the levels of c_t^2 beyond the degree.
        """
