"""Transforms of spaces with levels: the circle, the sphere S^2 and its axes, and the rotations."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import map_rows, slices
from ..heat.series import LevelSeries, gess_level_count, level_count, level_probabilities, log_terms
from ..heat.spherical import SphereSeries
from ..heat.sums import HeatSums, LevelMoments, sum_levels
from . import backend
from .base import Coefficients, Forms, LowSums, OfColumns, Spectrum, Transform
from .double_fourier import at_places
from .low_moments import LowMoments, Rows
from .nonuniform.box import Box
from .nonuniform.columns import SIDE, SharedPoints, shares_points
from .rings import MOST_DEGREE_OF_COLUMNS, columns_on_rings
from .squared_overlap import level_squares

#: Points transformed at once, at least and at most: few enough to stay in the cache and to bound the memory.
BLOCK = (2**19, 2**22)

#: Seconds on two cores of a transform on S^2: for each point, and for the square and the cube of the degree.
_COSTS = {"native": (9e-8, 1.1e-7, 4e-11), "ducc": (7e-8, 4.5e-8, 2e-11)}


@dataclass(frozen=True, eq=False)
class LevelSpectrum(Spectrum):
    """Level moments of a measure on a space with a series."""

    series: LevelSeries
    moments: LevelMoments

    def heat_sums(self, times: FloatArray) -> HeatSums:
        """See `heat.sums.sum_levels`."""
        return sum_levels(self.series, times, self.moments)

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.moments.values)


#: Share of a sum over levels above the constant that changes none of its digits.
NOTHING = 1e-20


class LevelTransform(Transform):
    """A transform whose coefficients come in levels of a series; degree l means the levels 0, ..., l."""

    def __init__(self, series: LevelSeries, low: LowMoments, most: int, basis: str) -> None:
        self.series, self.low, self.most, self.basis = series, low, float(most), basis

    @property
    def by_levels(self) -> LevelTransform:
        """Itself."""
        return self

    def degree_for(self, time: float, ess: float, rtol: float, *, mmd2: bool = True) -> float | None:
        """One less than the number of levels."""
        limit = int(self.most) + 1
        if mmd2:
            count = level_count(self.series, time, ess, rtol, limit)
        else:
            count = gess_level_count(self.series, time, rtol, limit)
        return None if count is None else float(count - 1)

    def low_sums(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """As `low` has them."""
        return self.low.sums(points, weights)

    @abstractmethod
    def moments(self, coefficients: Coefficients) -> FloatArray:
        """Level moments b_l of a measure of total weight one from its coefficients."""

    def spectrum(
        self, coefficients: Coefficients, low_sums: LowSums, degree: float, epsilon: float, rtol: float
    ) -> LevelSpectrum:
        """Level moments, the lowest of them certain even when they nearly vanish."""
        moments = LevelMoments(self.moments(coefficients), root_error=epsilon)
        return LevelSpectrum(self.series, self.low.improved(moments, rtol, low_sums))

    def potential(
        self, coefficients: Coefficients, degree: float, time: float, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """sum_l p_l sum_j w_j P_l(d(y, x_j)), with p_l the share of level l in k_2t(x, x)."""
        shares = level_probabilities(self.series, time, int(degree) + 1)
        return self.synthesis(coefficients, shares, points, epsilon, threads)

    def without_mean(self, coefficients: Coefficients) -> Coefficients:
        """Level zero comes first."""
        found = coefficients.copy()
        found[0] = 0
        return found

    def forms_of(self, degree: float, times: FloatArray, log_excess: FloatArray) -> Forms:
        """sum_l q_l b_l over l >= 1, with q_l the share of level l in k_2t(x, x) - 1."""
        count = int(degree) + 1
        shares = np.exp(log_terms(self.series, times, count)[:, 1:] - log_excess[:, None])
        return lambda coefficients: np.asarray(shares @ self.moments(coefficients)[1:count])

    @abstractmethod
    def synthesis(
        self, coefficients: Coefficients, shares: FloatArray, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """sum_l q_l sum_j w_j P_l(d(y, x_j)) at points y, for one number q_l per level."""


class SphereTransform(LevelTransform):
    """One whose levels are those of a sphere or its axes."""

    def __init__(self, series: SphereSeries, low: LowMoments, most: int, basis: str) -> None:
        super().__init__(series, low, most, basis)
        self._sphere = series

    def square_sums(
        self, coefficients: Coefficients, degree: float, times: FloatArray, log_excess: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """From the shares of the levels in c_t^2."""
        shares = level_squares(self._sphere, times, int(degree) + 1)[1]
        return shares @ self.moments(coefficients)[: shares.shape[1]], shares.sum(axis=1)


class CircleTransform(SphereTransform):
    """sum w exp(i l angle), l >= 0, by a nonuniform Fourier transform."""

    def __init__(
        self, series: SphereSeries, low: LowMoments, angle: Callable[[NDArray[Any]], FloatArray], basis: str
    ) -> None:
        super().__init__(series, low, 2**18 - 1, basis)
        self._angle = angle

    def seconds(self, n: int, degree: float) -> float:
        """Linear in the points, and L log L in the levels."""
        return 3.5e-4 + 4.5e-8 * n + 1.2e-8 * degree * math.log2(degree + 2)

    def zeros(self, degree: float) -> Coefficients:
        """One coefficient per level."""
        return np.zeros(int(degree) + 1, dtype=np.complex128)

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, threads: int
    ) -> Coefficients:
        """Points are taken in blocks, so that the memory needed does not grow with their number."""
        box, total = Box([0], [int(degree) + 1], epsilon, threads), self.zeros(degree)
        for rows in slices(len(points), BLOCK[1]):
            total += backend.by(1).modes(self._angles(points[rows]), weights[rows], box)
        return total

    together = SIDE

    def column_seconds(self, n: int, degree: float) -> float:
        """Columns side by side, if the degree is not too high."""
        return self.seconds(n, degree) / (4.0 if shares_points(n, [int(degree) + 1]) else 1.0)

    def of_columns(self, points: NDArray[Any], degree: float, epsilon: float) -> OfColumns:
        """They share what depends on the angles alone; those of a high degree nothing."""
        count = int(degree) + 1
        if not shares_points(len(points), [count]):
            return super().of_columns(points, degree, epsilon)
        shared = SharedPoints(self._angles(points), Box([0], [count], epsilon, 1))
        return lambda columns: map(np.conj, shared.modes(columns))

    def _angles(self, points: NDArray[Any]) -> FloatArray:
        angles = np.empty((len(points), 1))

        def fill(rows: slice) -> None:
            angles[rows, 0] = self._angle(points[rows])

        map_rows(fill, len(points))
        return angles

    def moments(self, coefficients: Coefficients) -> FloatArray:
        """b_l = |c_l|^2."""
        return bounded(np.asarray(coefficients.real**2 + coefficients.imag**2))

    def synthesis(
        self, coefficients: Coefficients, shares: FloatArray, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """Re sum_l q_l conj(c_l) exp(i l angle)."""
        scaled = np.asarray(shares * np.conj(coefficients), dtype=np.complex128)
        return backend.by(1).values(scaled, self._angles(points), Box([0], [len(scaled)], epsilon, threads))


class HarmonicTransform(SphereTransform):
    """Spherical harmonics on S^2 of degrees 0, step, 2 step, ..., where step is two for axes."""

    def __init__(self, series: SphereSeries, low: LowMoments, rows: Rows, step: int) -> None:
        degrees = "" if step == 1 else "even degrees of the "
        basis = (
            f"{degrees}sum of w conj(Y_lm), orthonormal on 4 pi, longitude from the -x axis, [l / {step}, m], m >= 0"
        )
        super().__init__(series, low, 2**12 // step - 1, basis)
        self._rows, self._step = rows, step

    def seconds(self, n: int, degree: float) -> float:
        """Linear in the points, and L^3 in the degrees."""
        most, costs = self._step * degree, _COSTS[backend.chosen(2)]
        return 3.5e-4 + costs[0] * n + costs[1] * most**2 + costs[2] * most**3

    together = SIDE

    def column_seconds(self, n: int, degree: float) -> float:
        """Columns side by side, if the degree is not too high."""
        most = self._step * degree
        if most > MOST_DEGREE_OF_COLUMNS:
            return self.seconds(n, degree)
        return 5e-5 + 1.2e-8 * n + 2e-8 * most**2 + 2e-10 * most**3

    def zeros(self, degree: float) -> Coefficients:
        """Row l and column m hold degree l step and order m >= 0."""
        count = int(degree) + 1
        return np.zeros((count, self._step * (count - 1) + 1), dtype=np.complex128)

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, threads: int
    ) -> Coefficients:
        """Points are taken in blocks, so that the memory needed does not grow with their number."""
        most = self._step * int(degree)
        room = np.empty((min(len(points), _block(most)), 2))  # angles of one block after another
        parts = (
            backend.by(2).harmonics(
                self._locations(points[rows], room[: rows.stop - rows.start]), weights[rows], most, epsilon, threads
            )
            for rows in slices(len(points), _block(most))
        )
        return self._own_degrees(backend.added(parts, (most + 1, most + 1)))

    def of_columns(self, points: NDArray[Any], degree: float, epsilon: float) -> OfColumns:
        """They share what depends on the places alone; those of a high degree only the angles."""
        most, places = self._step * int(degree), self._locations(points, np.empty((len(points), 2)))
        if most <= MOST_DEGREE_OF_COLUMNS:
            shared = columns_on_rings(places, most, epsilon)
            return lambda columns: map(self._own_degrees, shared(columns))

        def found(columns: FloatArray) -> Iterator[Coefficients]:
            for column in np.ascontiguousarray(columns.T):
                blocks = slices(len(points), _block(most))
                parts = (backend.by(2).harmonics(places[rows], column[rows], most, epsilon, 1) for rows in blocks)
                yield self._own_degrees(backend.added(parts, (most + 1, most + 1)))

        return found

    def _own_degrees(self, whole: Coefficients) -> Coefficients:
        return whole if self._step == 1 else np.ascontiguousarray(whole[:: self._step])

    def _locations(self, points: NDArray[Any], room: FloatArray) -> FloatArray:
        """Colatitude and longitude, written into *room*."""

        def fill(rows: slice) -> None:
            x, y, z = np.array(self._rows(points, rows).T, order="C")  # a copy, worked on in place
            # Longitude from the -x axis lies in [0, 2 pi], as the transform wants, and energies cannot tell.
            np.add(np.arctan2(y, x), math.pi, out=room[rows, 1])
            np.multiply(x, x, out=x)
            np.multiply(y, y, out=y)
            np.add(x, y, out=x)
            room[rows, 0] = np.arctan2(np.sqrt(x, out=x), z, out=x)

        map_rows(fill, len(points))
        return room

    def moments(self, coefficients: Coefficients) -> FloatArray:
        """b_l = 4 pi / (2l + 1) sum_m |a_lm|^2."""
        real = coefficients.view(np.float64)
        power = 2 * np.einsum("ij,ij->i", real, real) - real[:, 0] ** 2  # orders m and -m
        return bounded(power * self._per_degree(len(coefficients)))

    def _per_degree(self, count: int) -> FloatArray:
        return np.asarray(4 * math.pi / (2 * self._step * np.arange(count) + 1))

    def synthesis(
        self, coefficients: Coefficients, shares: FloatArray, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """sum_l q_l 4 pi / (2l + 1) sum_m a_lm Y_lm(y), without levels that are lost in rounding."""
        left = np.cumsum(np.abs(shares[::-1]))[::-1]  # of a level and all above it
        count = max(int(np.count_nonzero(left > NOTHING * left[1:2].sum())), 1)  # the constant may be taken off
        most = self._step * (count - 1)
        coefficients, shares = coefficients[:count, : most + 1], shares[:count]
        harmonics = np.zeros((most + 1, most + 1), dtype=np.complex128)
        harmonics[:: self._step] = coefficients * (shares * self._per_degree(len(shares)))[:, None]
        found = np.empty(len(points))
        for rows in slices(len(points), BLOCK[1]):
            places = self._locations(points[rows], np.empty((rows.stop - rows.start, 2)))
            found[rows] = at_places(harmonics, places, epsilon, threads)
        return found


def _block(most: int) -> int:
    """Points of a block, so that the levels up to degree *most* cost less than the points."""
    return int(np.clip(0.006 * float(most + 1) ** 3, *BLOCK))


def bounded(moments: FloatArray) -> FloatArray:
    """Level moments of a measure of total weight one: b_0 = 1, and none above it."""
    moments[0] = 1.0
    return np.minimum(moments, 1.0)
