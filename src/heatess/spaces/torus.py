"""Flat tori of every dimension: periodic coordinates, each with its own period; the circle is one of them.

The heat kernel is a product of one-dimensional ones, which are in `heat.theta`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import EPS, FloatArray, numeric_array
from ..errors import InputError
from ..heat import theta
from ..heat.radial import PairTerms, radial, resolutions_of_times
from ..heat.series import times_of_resolutions
from ..heat.spherical import SphereSeries
from ..transforms.harmonics import Harmonics
from ..transforms.levels import CircleTransform
from ..transforms.low_moments import AngleMoments
from ..transforms.torus import TorusTransform, diagonals
from .base import Space
from .capabilities import FlatEmbedding, PairKernel, RadialFactor, TermsOfTime, ZonalPairs, plain_rows, rounding
from .coordinates import coordinate_rows
from .vectors import check_dimension

#: Periods from zero within which a coordinate is known to six digits of a period or more.
MOST_TURNS = 1e9


class Torus(Space):
    """The flat torus R^dim / (T_1 Z x ... x T_dim Z): coordinates taken modulo their periods.

    The metric is that of the coordinates: the distance is sqrt(sum_j d_j^2) with d_j the shorter way round
    coordinate j, in the coordinates' own unit. The eigenvalues are sum_j (2 pi k_j / T_j)^2 over all whole
    vectors k, each a level mode of its own. With the default period 2 pi coordinates are angles in radians,
    and one degree is one degree along any one of them; with other periods scales are given as `resolutions`
    or `times`, in the unit of the coordinates.

    A resolution is the distance at which two atoms overlap by 1/e when they differ in one coordinate only:
    the one of largest period.

    Parameters
    ----------
    dim : int
        Number of coordinates.
    periods : float or sequence of float
        One period for all coordinates, or one for each, from 1e-30 to 1e30.

    Examples
    --------
    Twenty-four hours a day, so that 23:30 and 00:30 are an hour apart:

    >>> import heatess as he
    >>> day = he.Torus(1, periods=24)
    >>> float(day.distance([23.5], [0.5]))
    1.0
    >>> round(he.gess([0.5, 23.5, 12.0], space=day, resolution=3), 3)
    1.879
    """

    def __init__(self, dim: int, periods: Any = 2 * math.pi) -> None:
        self._dim = check_dimension(dim, "Torus", "the circle is Torus(1)")
        values = numeric_array(periods, "periods").astype(np.float64)
        if values.shape not in ((), (int(dim),)):
            raise InputError(f"periods must be one number or {dim}, one per coordinate, but have shape {values.shape}")
        if not ((values >= 1e-30) & (values <= 1e30)).all():
            raise InputError(f"periods must be positive and finite (1e-30 to 1e30), but are {values.tolist()}")
        self._periods = np.broadcast_to(values, (self._dim,))
        self.angular = bool((self._periods == 2 * math.pi).all())
        self.directional = self._dim == 1
        self.embedding = FlatEmbedding(self._periods)
        self.harmonics = tuple(
            Harmonics(1, 1, period / (2 * math.pi), slice(j, j + 1), period) for j, period in enumerate(self.periods)
        )
        if self._dim == 1:  # a function of the distance, with levels
            series, low = SphereSeries(1, radius=self.periods[0] / (2 * math.pi)), AngleMoments(self._angle)
            self.series, self.low_moments = series, low
            self.transform = CircleTransform(series, low, self._angle, "sum of w exp(2 pi i l x / T), l >= 0")
            self.pair_kernel = ZonalPairs(series, 1, rows=plain_rows, cosines=self._cosines, distance=self.distance)
        else:
            self.pair_kernel = TorusPairs(self.periods)
            self.transform = TorusTransform(self.periods) if self._dim <= 3 else None

    def __repr__(self) -> str:
        if self.angular:
            return f"Torus({self.dim})"
        same = bool((self._periods == self._periods[0]).all())
        shown = float(self._periods[0]) if same else tuple(self._periods.tolist())
        return f"Torus({self.dim}, periods={shown})"

    def __eq__(self, other: object) -> bool:  # a Circle is a Torus
        return isinstance(other, Torus) and other.periods == self.periods

    def __hash__(self) -> int:
        return hash((Torus, self.periods))

    @property
    def periods(self) -> tuple[float, ...]:
        """The period of each coordinate."""
        return tuple(self._periods.tolist())

    @property
    def diameter(self) -> float:
        """Half the diagonal of the box of periods."""
        return float(np.linalg.norm(self._periods) / 2)

    @property
    def log_volume(self) -> float:
        """Sum of the logarithms of the periods."""
        return float(np.log(self._periods).sum())

    @property
    def volume(self) -> float:
        """Product of the periods."""
        return float(np.prod(self._periods))

    # Points.

    def check(self, points: Any) -> NDArray[Any]:
        """Coordinates, shape (n, dim), or (n,) if dim is 1; reduced, without rounding, to half a period around zero."""
        array = coordinate_rows(points, self.dim, repr(self)).astype(np.float64)
        far = (np.abs(array) > MOST_TURNS * self._periods).any(axis=1)
        if far.any():
            row = int(np.argmax(far))
            raise InputError(
                f"points of {self!r} must lie within {MOST_TURNS:g} periods of zero, beyond which a float holds no "
                f"more than six digits of the place in the period, but row {row} is {array[row][:4].tolist()} "
                f"({int(far.sum())} of {len(array)} rows); reduce them before they are rounded"
            )
        return self._reduced(array)

    def _reduced(self, x: FloatArray) -> FloatArray:
        x = np.fmod(x, self._periods)  # exact, as are the subtractions below
        x -= np.where(x > self._periods / 2, self._periods, 0.0)
        x += np.where(x <= -self._periods / 2, self._periods, 0.0)
        return x

    def distance(self, x: Any, y: Any) -> FloatArray:
        """sqrt(sum_j d_j^2), with d_j the shorter way round coordinate j.

        >>> round(float(np.degrees(Circle().distance([0.1], [2 * np.pi - 0.1]))), 6)
        11.459156
        """
        left, right = (self._reduced(np.asarray(value, dtype=np.float64)) for value in (x, y))
        gaps = theta.gap_between(left, right, self._periods)
        return np.asarray(np.sqrt(np.einsum("...j,...j->...", gaps, gaps)))

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform points, shape (n, dim)."""
        return np.asarray((rng.random((n, self.dim)) - 0.5) * self._periods)

    def _angle(self, points: NDArray[Any]) -> FloatArray:
        """Of points of the circle."""
        return np.asarray(points[:, 0] * (2 * math.pi / self.periods[0]))

    def _cosines(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Of the angles between points of the circle."""
        gaps = theta.gap_between(left, right[:, 0], self._periods)
        return np.cos(gaps * (2 * math.pi / self.periods[0]))

    # Resolutions: along the coordinate of largest period.

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """The times at which two atoms that far apart along the longest coordinate overlap by 1/e."""
        period = max(self.periods)
        if (distances > period / 2).any():
            raise InputError(
                f"resolutions on {self!r} are distances along its longest coordinate, at most half a period "
                f"({period / 2:g}), but the largest is {distances.max():g}; give times instead"
            )
        return times_of_resolutions(SphereSeries(1, radius=period / (2 * math.pi)), distances)

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """The distance along the longest coordinate at which the overlap falls to 1/e; nan where it does not."""
        return resolutions_of_times(SphereSeries(1, radius=max(self.periods) / (2 * math.pi)), times)


class TorusPairs(PairKernel):
    """Overlaps on a torus: products of the kernels of its coordinates, as sums of logarithms."""

    accuracy = 1e-13

    def __init__(self, periods: tuple[float, ...]) -> None:
        self.periods, self.width = periods, len(periods)

    def _gaps(self, left: FloatArray, right: FloatArray) -> list[FloatArray]:
        """The distances along each coordinate of all pairs."""
        columns = enumerate(self.periods)
        return [theta.gap_between(left[:, j, None], right[None, :, j], period) for j, period in columns]

    def terms(self, left: FloatArray, right: FloatArray) -> TermsOfTime:
        """The distances along each coordinate once, for all times."""
        gaps = self._gaps(left, right)

        def terms(time: float) -> PairTerms:
            log_overlap, slope = np.zeros((2, len(left), len(right)))
            log_diagonal = 0.0
            for gap, period in zip(gaps, self.periods, strict=True):
                diagonal = theta.diagonal_factor(time, period)
                factor = theta.factor(gap, time, period)
                log_diagonal += diagonal.log
                log_overlap += factor.log - diagonal.log
                slope += factor.slope - diagonal.slope
            overlap = np.exp(np.minimum(log_overlap, 0.0))
            return PairTerms(overlap, overlap * slope, np.expm1(np.minimum(log_overlap + log_diagonal, 700.0)))

        return terms

    def factors(self, left: FloatArray, right: FloatArray) -> list[RadialFactor]:
        """One circle for each coordinate."""
        circles = [SphereSeries(1, radius=period / (2 * math.pi)) for period in self.periods]
        gaps = self._gaps(left, right)
        return [RadialFactor(partial(radial, circle), gap.ravel()) for circle, gap in zip(circles, gaps, strict=True)]

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """The sum over coordinates."""
        return diagonals(times, self.periods)[0]

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Logarithms of all coordinates are added up, and periods are known to EPS, as 2 pi is."""
        largest = np.maximum(np.abs(np.log(max(self.periods)) - np.log(times) / 2), 4.0)
        rounded = rounding(self.width**2, max(self.periods) / 2, times)
        return np.asarray(self.accuracy + 8 * EPS * self.width * largest + rounded)

    def seconds(self, pairs: float, scales: int) -> float:
        """One theta function for each coordinate and scale."""
        return pairs * scales * self.width * 2e-8


class Circle(Torus):
    """The circle of angles in radians, any real number: `Torus(1)` by its usual name.

    Distance is the shorter way round, eigenvalues are k^2 (k = 0 once, every other twice), one degree is one
    degree of arc. Unit vectors in the plane are points of `Sphere(1)`, which is the same space.

    >>> import heatess as he
    >>> he.Circle() == he.Torus(1)
    True
    >>> round(he.gess([0.0, np.pi, 2 * np.pi], space=he.Circle(), angle=20), 3)
    1.8
    """

    def __init__(self) -> None:
        super().__init__(1)

    def __repr__(self) -> str:
        return "Circle()"
