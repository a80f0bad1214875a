"""Flat tori of every dimension: periodic coordinates, each with its own period; the circle is one of them.

The heat kernel is a product of one-dimensional ones, which are in `theta`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ducc0
import numpy as np
from numpy.typing import NDArray

from ..arrays import numeric_array
from ..blocks import slices, thread_count
from ..errors import InputError
from . import theta
from .base import FloatArray, PairSpace, PairTerms
from .coordinates import coordinate_rows

if TYPE_CHECKING:
    from ..engines.sums import HeatSums

EPS = float(np.finfo(np.float64).eps)

#: A transform to fewer modes is cheap enough to be run a second time.
CHEAP_MODES = 2**18

#: Points transformed at once.
BLOCK = 2**21


#: Periods from zero within which a coordinate is known to six digits of a period or more.
MOST_TURNS = 1e9


class Torus(PairSpace):
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
        One period for all coordinates, or one for each.

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

    accuracy = 1e-13

    def __init__(self, dim: int, periods: Any = 2 * math.pi) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or dim < 1:
            raise InputError(f"Torus(dim) needs a whole number dim >= 1, but found {dim!r}; the circle is Torus(1)")
        values = numeric_array(periods, "periods").astype(np.float64)
        if values.shape not in ((), (int(dim),)):
            raise InputError(f"periods must be one number or {dim}, one per coordinate, but have shape {values.shape}")
        if not ((values > 1e-50) & (values < 1e50)).all():
            raise InputError(f"periods must be positive and finite (1e-50 to 1e50), but are {values.tolist()}")
        self._periods = np.broadcast_to(values, (int(dim),))
        self.angular = bool((self._periods == 2 * math.pi).all())

    def __repr__(self) -> str:
        if self.angular:
            return f"Torus({self.dim})"
        same = bool((self._periods == self._periods[0]).all())
        shown = float(self._periods[0]) if same else tuple(self._periods.tolist())
        return f"Torus({self.dim}, periods={shown})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Torus) and np.array_equal(other._periods, self._periods)

    def __hash__(self) -> int:
        return hash((Torus, tuple(self._periods.tolist())))

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self._periods)

    @property
    def width(self) -> int:
        """Columns of checked points."""
        return len(self._periods)

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

    @property
    def scalar_curvature(self) -> float:
        """Zero: tori are flat."""
        return 0.0

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

    # The heat kernel.

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """log k_2t(x, x), the sum over coordinates."""
        return np.array([sum(theta.diagonal_factor(float(t), T).log for T in self.periods) for t in times])

    def pair_terms(self, left: FloatArray, right: FloatArray, time: float) -> PairTerms:
        """Products over the coordinates, as sums of logarithms."""
        return self.terms_of_tiles(left, right)(time)

    def terms_of_tiles(self, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
        """The distances along each coordinate once, for all times."""
        gaps = [theta.gap_between(left[:, j, None], right[None, :, j], period) for j, period in enumerate(self.periods)]

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

    @property
    def flat_periods(self) -> FloatArray:
        """The periods, as an array."""
        return self._periods

    def pair_seconds(self, n: int, scales: int) -> float:
        """Rough seconds on two cores of all pairs at so many scales."""
        return float(0.5 * n**2 * scales * self.dim * 2e-8)

    # The transform.

    def spectral_seconds(self, n: int, time: float, rtol: float, ess: float) -> float:
        """Rough seconds on two cores of `spectral_sums` when *time* is the finest; inf where that is too fine."""
        return theta.transform_seconds(n, self._sides(time, rtol, ess)) if self.dim <= 3 else math.inf

    def _sides(self, time: float, rtol: float, ess: float) -> list[int]:
        """Modes of each coordinate that certify gESS and MMD^2 at *time* to a small share of *rtol*."""
        from ..kernel import truncation

        log_diagonal = float(self.log_diagonal(np.array([time]))[0])
        allowed = theta.log_allowed(log_diagonal, ess, truncation(rtol, ess) / self.dim)
        return [theta.side_of(time, T, theta.axis_exponent(allowed)) for T in self.periods]

    def spectral_sums(self, points: NDArray[Any], weights: FloatArray, times: FloatArray, rtol: float) -> Any:
        """Heat sums through the Fourier coefficients of the measure.

        A - 1 = sum_{k != 0} exp(-2 lambda_k t) |a_k|^2, with a_k = sum_i w_i exp(2 pi i sum_j k_j x_ij / T_j). If a
        balanced cloud's MMD^2 turns out to need more modes than expected, the transform is repeated, while it is cheap.
        """
        from ..engines.doubt import warn_of_mmd2

        sides = self._sides(float(times.min()), rtol, 1 / float(weights @ weights))
        while True:
            sums, uncertain, missing = self.transform_sums(points, weights, times, sides, rtol)
            total = math.prod(4 * side + 1 for side in sides)
            if not (missing > rtol).any() or total > CHEAP_MODES:
                break
            sides = [2 * side for side in sides]
        warn_of_mmd2(times, uncertain + missing, sums.log_mmd2, rtol)
        return sums

    def transform_sums(
        self, points: NDArray[Any], weights: FloatArray, times: FloatArray, sides: list[int], rtol: float
    ) -> tuple[HeatSums, FloatArray, FloatArray]:
        """Heat sums from the modes |k_j| <= side_j.

        With them, relative to MMD^2, bounds on the error of the transform and on what is left out.
        """
        from ..engines.sums import HeatSums

        epsilon = min(max(1e-4 * rtol, 3e-13), 1e-6)
        energies = self.mode_energies(points, weights, sides, epsilon)
        mended = self._mend_lowest(energies, points, weights, 4 * (epsilon / rtol) ** 2)
        mmd2, falling = theta.weighted_sums(theta.folded(energies), times, self.periods)
        diagonals = [[theta.diagonal_factor(float(t), T) for T in self.periods] for t in times]
        log_diagonal = np.array([sum(factor.log for factor in row) for row in diagonals])
        rate = np.array([sum(factor.slope for factor in row) for row in diagonals])  # d log k_2t(x,x) / d log t
        overlap = (1 + mmd2) * np.exp(-log_diagonal)
        left_out = self._left_out(times, sides, overlap)
        moved = 4 * EPS * max(self.periods) * np.sqrt(-rate / (2 * times))  # coordinates rounded in the transform
        error = left_out + 2 * epsilon / np.sqrt(overlap) + epsilon**2 / overlap + moved + 64 * EPS
        certain = sum(2 * np.exp(-2 * (2 * math.pi / self.periods[j]) ** 2 * times) for j in mended)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            doubt = np.maximum(np.expm1(log_diagonal) - certain, 0.0) / mmd2  # sum of the factors of uncertain energies
            uncertain = 2 * epsilon * np.sqrt(doubt) + epsilon**2 * doubt
            missing = left_out * (1 + 1 / mmd2)
            sums = HeatSums(overlap, np.log(mmd2), falling / (1 + mmd2) - rate, error)
        return sums, np.where(mmd2 > 0, uncertain, 0.0), np.where(mmd2 > 0, missing, 0.0)

    def _left_out(self, times: FloatArray, sides: list[int], overlap: FloatArray) -> FloatArray:
        """Upper bound on the share of A in the other modes, by their number or by `theta.log_axis_share`."""
        total = np.zeros(len(times))
        for T, side in zip(self.periods, sides, strict=True):
            share = np.exp(theta.log_axis_share(8 * (math.pi * (side + 1) / T) ** 2 * times))
            with np.errstate(divide="ignore"):
                total += np.minimum(theta.tail(times, T, side) / overlap, share / np.maximum(1 - share, 0.0))
        return total

    def mode_energies(self, points: NDArray[Any], weights: FloatArray, sides: list[int], epsilon: float) -> FloatArray:
        """|a_k|^2 for |k_j| <= side_j, with zero at k = 0."""
        shape = tuple(2 * side + 1 for side in sides)
        modes = np.empty(shape, dtype=np.complex128)
        part = modes
        threads = 1 if len(points) * 64 + modes.size < 2_000_000 else thread_count()
        for rows in slices(len(points), BLOCK):
            if rows.start and part is modes:
                part = np.empty_like(modes)
            ducc0.nufft.nu2u(
                points=weights[rows].astype(np.complex128),
                coord=np.ascontiguousarray(points[rows]),
                forward=False,
                epsilon=epsilon,
                nthreads=threads,
                periodicity=list(self.periods),
                out=part,
            )
            if part is not modes:
                modes += part
        energies = np.asarray(modes.real**2 + modes.imag**2)
        energies[tuple(sides)] = 0.0
        return energies

    def _mend_lowest(self, energies: FloatArray, points: NDArray[Any], weights: FloatArray, least: float) -> list[int]:
        """Sum the lowest mode of each coordinate directly if it is below *least*: large scales rest on it alone.

        Returns those coordinates.
        """
        middle = [size // 2 for size in energies.shape]
        mended = []
        for j, period in enumerate(self.periods):
            places = [tuple(m + step * (i == j) for i, m in enumerate(middle)) for step in (-1, 1)]
            if energies[places[0]] < least:
                angle = points[:, j] * (2 * math.pi / period)
                energy = float(weights @ np.cos(angle)) ** 2 + float(weights @ np.sin(angle)) ** 2
                for place in places:
                    energies[place] = energy
                mended.append(j)
        return mended

    # Resolutions: along the coordinate of largest period.

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """The times at which two atoms that far apart along the longest coordinate overlap by 1/e."""
        period = max(self.periods)
        if (distances > period / 2).any():
            raise InputError(
                f"resolutions on {self!r} are distances along its longest coordinate, at most half a period "
                f"({period / 2:g}), but the largest is {distances.max():g}; give times instead"
            )
        return np.array([theta.time_of_gap(float(distance), period) for distance in distances])

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """The distance along the longest coordinate at which the overlap falls to 1/e; nan where it does not."""
        period = max(self.periods)
        return np.array([theta.gap_of_time(float(time), period) for time in times])


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
