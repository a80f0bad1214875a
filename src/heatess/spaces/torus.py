"""Flat tori of every dimension: periodic coordinates, each with its own period; the circle is one of them.

The heat kernel is a product of one-dimensional ones, which are in `heat.theta`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray, numeric_array, refuse_rows
from ..base.astropy_quantities import in_unit
from ..base.directions import check_units
from ..base.errors import InputError
from ..heat import theta
from ..heat.lookup import CIRCLE, LoopFactor, of_gap
from ..heat.radial import PairTerms, radial, resolutions_of_times
from ..heat.series import LevelSeries, times_of_resolutions
from ..heat.spherical import SphereSeries
from ..transforms.harmonics import Harmonics
from ..transforms.levels import CircleTransform
from ..transforms.low_moments import AngleMoments
from ..transforms.torus import TorusTransform, diagonals
from .base import Space
from .capabilities import (
    FlatEmbedding,
    LoopKind,
    OverlapsOfTime,
    RadialFactor,
    TermsOfTime,
    ZonalPairs,
    in_one_column,
    plain_rows,
    rounding,
)
from .coordinates import coordinate_rows
from .drawing import Drawing
from .drawing import torus as torus_drawing
from .fused_overlaps import LoopedPairs
from .vectors import check_dimension

#: Periods from zero within which a coordinate is known to six digits of a period or more.
MOST_TURNS = 1e9


class Torus(Space):
    """The flat torus R^dim / (T_1 Z x ... x T_dim Z): coordinates taken modulo their periods.

    The metric is that of the coordinates: the distance is sqrt(sum_j d_j^2) with d_j the shorter way round
    coordinate j, in the coordinates' own unit. The eigenvalues are sum_j (2 pi k_j / T_j)^2 over all whole
    vectors k, each a level mode of its own. By default coordinates are angles, in radians or degrees as *units* says,
    and one degree is one degree along any one of them; with other periods scales are given as `resolutions`
    or `times`, in the unit of the coordinates.

    A resolution is the distance at which two points overlap by 1/e when they differ in one coordinate only:
    the one of largest period.

    Parameters
    ----------
    dim : int
        Number of coordinates.
    periods : float or sequence of float, optional
        One period for all coordinates, or one for each, from 1e-30 to 1e30. Default: a whole turn, 2 pi or 360; with
        *units* no other.
    units : {"deg", "rad"}, optional
        Unit of angles. Without it angles are radians, and numbers beyond two turns, 4 pi, are refused, because they
        are probably degrees.

    Examples
    --------
    Two pairs of torsion angles in degrees, seen at 20 degrees:

    >>> import heatess as he
    >>> round(he.gess([[-60, -45], [-65, -40]], space=he.Torus(2, units="deg"), angle=20), 4)
    1.0624

    Twenty-four hours a day, so that 23:30 and 00:30 are an hour apart:

    >>> day = he.Torus(1, periods=24)
    >>> float(day.distance([23.5], [0.5]))
    1.0
    >>> round(he.gess([0.5, 23.5, 12.0], space=day, resolution=3), 3)
    1.879
    """

    def __init__(self, dim: int, periods: Any = None, units: str | None = None) -> None:
        self._dim = check_dimension(dim, "Torus", "the circle is Torus(1)")
        if units is not None:
            check_units(units)
        turn = 360.0 if units == "deg" else 2 * math.pi
        values = numeric_array(turn if periods is None else periods, "periods").astype(np.float64)
        if values.shape not in ((), (int(dim),)):
            raise InputError(
                f"periods must be <+one number or {dim}, one per coordinate+>, but have <!shape {values.shape}!>"
            )
        if not ((values >= 1e-30) & (values <= 1e30)).all():
            raise InputError.unfit("periods", "positive and finite (1e-30 to 1e30)", values.tolist(), verb="are")
        self._periods = np.broadcast_to(values, (self._dim,))
        if units is None and (self._periods == 360).all():
            units = "deg"
        if units is not None and not (self._periods == (360.0 if units == "deg" else turn)).all():
            raise InputError(
                f"with `units={units!r}` every period is <+a whole turn, {turn:.6g}+>, but periods are "
                f"<!{values.tolist()}!>; leave out `periods=`, or leave out `units=` for coordinates of another kind"
            )
        self.units = units
        self.angular = units is not None or bool((self._periods == 2 * math.pi).all())
        self.form = "angles" if self.angular else "numbers"
        self.directional = self._dim == 1
        # Lengths are in radians where coordinates are angles; one step of a coordinate is so long.
        self._unit = math.pi / 180 if units == "deg" else 1.0
        self._lengths = np.full(self._dim, 2 * math.pi) if units == "deg" else self._periods
        lengths = tuple(self._lengths.tolist())
        self.embedding = FlatEmbedding(self._lengths, self._unit)
        self.harmonics = tuple(
            Harmonics(1, 1, lengths[j] / (2 * math.pi), slice(j, j + 1), period)
            for j, period in enumerate(self.periods)
        )
        if self._dim == 1:  # a function of the distance, with levels
            series, low = SphereSeries(1, radius=lengths[0] / (2 * math.pi)), AngleMoments(self._angle)
            self.series, self.low_moments = series, low
            self.transform = CircleTransform(series, low, self._angle, "sum of w exp(2 pi i l x / T), l >= 0")
            loop = LoopKind(CIRCLE, self._unit, lengths[0])
            self.pair_kernel = ZonalPairs(
                series, 1, rows=plain_rows, cosines=self._cosines, distance=self.distance, loop=loop
            )
        else:
            self.pair_kernel = TorusPairs(lengths, self._unit)
            self.transform = TorusTransform(lengths, self._unit) if self._dim <= 3 else None

    def __repr__(self) -> str:
        if self.angular:
            return f"Torus({self.dim})" if self.units is None else f"Torus({self.dim}, units={self.units!r})"
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
    def factor_series(self) -> tuple[tuple[LevelSeries, float], ...]:
        """One circle for each coordinate."""
        return tuple((SphereSeries(1, radius=length / (2 * math.pi)), 1.0) for length in self._lengths.tolist())

    @property
    def diameter(self) -> float:
        """Half the diagonal of the box of periods."""
        return float(np.linalg.norm(self._lengths) / 2)

    @property
    def log_volume(self) -> float:
        """Sum of the logarithms of the periods."""
        return float(np.log(self._lengths).sum())

    @property
    def volume(self) -> float:
        """Product of the periods."""
        return float(np.prod(self._lengths))

    @property
    def drawing(self) -> Drawing | None:
        """A circle, a square or a cube."""
        return torus_drawing(self._periods, self._unit, self.angular)

    # Points.

    def check(self, points: Any) -> NDArray[Any]:
        """Coordinates, shape (n, dim), or (n,) if dim is 1; reduced, without rounding, to half a period around zero."""
        if self.angular:
            points = in_unit(points, self.units or "rad", "points")
        array = coordinate_rows(points, self.dim, repr(self)).astype(np.float64)
        if self.angular and self.units is None:
            self._refuse_degrees(array)
        far = (np.abs(array) > MOST_TURNS * self._periods).any(axis=1)
        why = "beyond which a float holds no more than six digits of the place in the period"
        expected = f"points of {self!r} must lie <+within {MOST_TURNS:g} periods of zero+>, {why}"
        refuse_rows(far, array, expected, "reduce them before they are rounded")
        return self._reduced(array)

    def _refuse_degrees(self, array: FloatArray) -> None:
        """Angles of unknown unit beyond two turns of radians."""
        far = (np.abs(array) > 4 * math.pi + 1e-9).any(axis=1)
        degrees = f"use {self._with_units('deg')} if they are degrees"
        turns = f"or {self._with_units('rad')} if they are radians counted over many turns"
        expected = f"points of {self!r} are <+angles in radians within two turns of zero+>"
        refuse_rows(far, array, expected, f"{degrees}, {turns}")

    def in_units(self, units: str) -> Torus:
        """The same torus with its unit said, unless it was said before or coordinates are no angles."""
        return Torus(self.dim, units=units) if self.units is None and self.angular else self

    def _with_units(self, units: str) -> str:
        """The same torus with its unit, as code in a message."""
        return f"`he.Torus({self.dim}, units={units!r})`"

    def _reduced(self, x: FloatArray) -> FloatArray:
        x = np.fmod(x, self._periods)  # exact, as are the subtractions below
        x -= np.where(x > self._periods / 2, self._periods, 0.0)
        x += np.where(x <= -self._periods / 2, self._periods, 0.0)
        return x

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """Half the shorter way on in each coordinate."""
        gap = np.asarray(y, dtype=np.float64) - x
        middle = x + (gap - self._periods * np.round(gap / self._periods)) / 2
        return np.asarray(middle - self._periods * np.round(middle / self._periods))

    def distance(self, x: Any, y: Any) -> FloatArray:
        """sqrt(sum_j d_j^2), with d_j the shorter way round coordinate j.

        >>> round(float(np.degrees(Circle().distance([0.1], [2 * np.pi - 0.1]))), 6)
        11.459156
        """
        left, right = (self._reduced(np.asarray(value, dtype=np.float64)) for value in (x, y))
        gaps = theta.gap_between(left, right, self._periods) * self._unit
        return np.asarray(np.sqrt(np.einsum("...j,...j->...", gaps, gaps)))

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> FloatArray:
        """Normal steps, taken modulo the periods."""
        return self._reduced(points + math.sqrt(2 * time) / self._unit * rng.standard_normal(points.shape))

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
        """The times at which two points that far apart along the longest coordinate overlap by 1/e."""
        period = float(self._lengths.max())
        if (distances > period / 2).any():
            raise InputError(
                f"resolutions on {self!r} are distances along its longest coordinate, <+at most half a period "
                f"({period / 2:g})+>, but the largest is <!{distances.max():g}!>; give times instead"
            )
        return times_of_resolutions(SphereSeries(1, radius=period / (2 * math.pi)), distances)

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """The distance along the longest coordinate at which the overlap falls to 1/e; nan where it does not."""
        return resolutions_of_times(SphereSeries(1, radius=float(self._lengths.max()) / (2 * math.pi)), times)


class TorusPairs(LoopedPairs):
    """Overlaps on a torus: products of the kernels of its coordinates, as sums of logarithms."""

    accuracy = 1e-13

    def __init__(self, periods: tuple[float, ...], unit: float = 1.0) -> None:
        super().__init__(compact=True)
        self.periods, self.width, self._unit = periods, len(periods), unit

    def _gaps(self, left: FloatArray, right: FloatArray) -> list[FloatArray]:
        """The distances along each coordinate of all pairs."""
        unit = self._unit
        columns = enumerate(period / unit for period in self.periods)
        return [unit * theta.gap_between(left[:, j, None], right[None, :, j], period) for j, period in columns]

    def terms(self, left: FloatArray, right: FloatArray) -> TermsOfTime:
        """In one compiled loop for many pairs; else the distances along each coordinate once, for all times."""
        looped = self.in_loop(left, right)
        if looped is not None:
            return looped
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

    def loop_factors(self) -> list[LoopFactor]:
        """One circle for each coordinate."""
        circles = [SphereSeries(1, radius=period / (2 * math.pi)) for period in self.periods]
        return [
            LoopFactor(CIRCLE, slice(j, j + 1), partial(of_gap, circle), self._unit, period)
            for j, (circle, period) in enumerate(zip(circles, self.periods, strict=True))
        ]

    def paired(self, left: FloatArray, right: FloatArray) -> OverlapsOfTime:
        """One circle for each coordinate."""
        factors = []
        for x, y, period in zip(left.T, right.T, self.periods, strict=True):
            gap = self._unit * theta.gap_between(x, y, period / self._unit)
            factors.append(RadialFactor(partial(radial, SphereSeries(1, radius=period / (2 * math.pi))), gap))
        return in_one_column(factors)

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """The sum over coordinates."""
        return diagonals(times, self.periods)[0]

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Logarithms of all coordinates are added up, and periods are known to EPS, as 2 pi is."""
        largest = np.maximum(np.abs(np.log(max(self.periods)) - np.log(times) / 2), 4.0)
        rounded = rounding(self.width**2, max(self.periods) / 2, times)
        tables = self.lookup_errors(times, overlap)
        return np.asarray(self.accuracy + 8 * EPS * self.width * largest + rounded + tables)

    def seconds(self, pairs: float, scales: int) -> float:
        """One function of a gap for each coordinate and scale."""
        return self.loop_seconds(pairs, scales)


class Circle(Torus):
    """The circle of angles, in radians or as *units* says: `Torus(1)` by its usual name.

    Distance is the shorter way round, eigenvalues are k^2 (k = 0 once, every other twice), one degree is one
    degree of arc. Unit vectors in the plane are points of `Sphere(1)`, which is the same space.

    >>> import heatess as he
    >>> he.Circle() == he.Torus(1)
    True
    >>> round(he.gess([0.0, np.pi, 2 * np.pi], space=he.Circle(), angle=20), 3)
    1.8
    """

    def __init__(self, units: str | None = None) -> None:
        super().__init__(1, units=units)

    def __repr__(self) -> str:
        return "Circle()" if self.units is None else f"Circle(units={self.units!r})"

    def in_units(self, units: str) -> Torus:
        """The same circle with its unit said, unless it was said before."""
        return Circle(units) if self.units is None else self

    def _with_units(self, units: str) -> str:
        return f"`he.Circle(units={units!r})`"
