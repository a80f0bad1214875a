"""Hyperbolic space H^2 and H^3 of curvature -1, as the hyperboloid. Its volume is infinite: only gESS is defined.

With s = 2t and r the distance, the heat kernel with respect to Riemannian volume is

    H^3:  K_s(r) = (4 pi s)^(-3/2) (r / sinh r) exp(-s - r^2/4s)
    H^2:  K_s(r) = sqrt(2) (4 pi s)^(-3/2) exp(-s/4) int_r^inf u exp(-u^2/4s) (cosh u - cosh r)^(-1/2) du.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, is_whole, refuse_rows
from ..base.errors import InputError
from ..base.messages import shown
from ..heat.exact import difference_of_products
from ..heat.lookup import FAR, GIVEN, Lookup, LoopFactor, tabulated
from ..heat.radial import PairTerms
from ..heat.series import time_of_distance
from .base import Space
from .capabilities import MANY_PAIRS, OverlapsOfTime, SeparatedPairs, TermsOfTime
from .coordinates import coordinate_rows
from .drawing import Drawing, poincare
from .heat_draws import radial_draws
from .vectors import uniform_vectors

#: How far -x_0^2 + x_1^2 + ... may be from -1, as a share of x_0^2.
TOLERANCE_OF_HYPERBOLOID = 1e-6

#: Coordinates beyond this would overflow when squared twice; it is a distance of 173 from the origin.
FARTHEST = 1e75


class Hyperbolic(Space):
    """Hyperbolic space H^dim of curvature -1, for dim 2 and 3: points of the upper sheet of the hyperboloid.

    A point is (x_0, x_1, ..., x_dim) with -x_0^2 + x_1^2 + ... + x_dim^2 = -1 and x_0 > 0, the time coordinate
    first; the distance is arccosh(x_0 y_0 - x_1 y_1 - ...), in units of the radius of curvature. The spectrum is
    continuous, from (dim - 1)^2 / 4 up, and the volume infinite: there is no uniform distribution to compare with,
    hence gESS is defined while `volume`, `divergence` and `mmd2` are nan. Distances are no angles: give `resolutions`
    (distances) or `times`. Heat never bridges large hyperbolic distances: as t grows the resolution tends to a
    limit, 2.69 in H^3 and 4.71 in H^2, so larger ones have no time.

    In H^2 the overlap is tabulated once per time from the integral, to 1e-13; in H^3 it is a closed form. Points are
    what x_1, ..., x_dim say, taken as exact; distances then have all their digits, however far out the points are.

    Examples
    --------
    >>> import heatess as he
    >>> he.Hyperbolic(2)
    Hyperbolic(2) [infinite volume: gESS only]
    >>> pair = [[1, 0, 0], [np.cosh(1), np.sinh(1), 0]]
    >>> round(he.gess(pair, space=he.Hyperbolic(2), resolution=1), 4)  # 2 / (1 + 1/e)
    1.4621
    """

    angular = compact = False

    def __init__(self, dim: int) -> None:
        if not (is_whole(dim) or isinstance(dim, float)) or dim not in (2, 3):
            raise InputError(f"Hyperbolic(dim) is known for <+dim 2 and 3+>, but found <!{shown(dim)}!>")
        self._dim, self._curvature = int(dim), float(-dim * (dim - 1))
        self.pair_kernel = self._kernel = HyperbolicPairs(self._dim)

    @property
    def drawing(self) -> Drawing | None:
        """Poincare's disc or ball."""
        return poincare(self._dim)

    def check(self, points: Any) -> NDArray[Any]:
        """Points of the hyperboloid, shape (n, dim + 1), time coordinate first, recomputed from the others."""
        name = f"Hyperbolic({self._dim})"
        x = coordinate_rows(points, self._dim + 1, name, ", time coordinate x_0 first").astype(np.float64)
        far = np.abs(x).max(axis=1) > FARTHEST
        refuse_rows(far, x, f"points of {name} must have <+coordinates below {FARTHEST:g}+>", "drop those rows")
        time = np.sqrt(1 + np.einsum("ij,ij->i", x[:, 1:], x[:, 1:]))
        off = ~(np.abs(x[:, 0] - time) * (x[:, 0] + time) <= TOLERANCE_OF_HYPERBOLOID * time**2) | (x[:, 0] <= 0)
        if off.any():
            row = int(np.argmax(off))
            raise InputError(
                f"points of {name} must <+satisfy -x_0^2 + x_1^2 + ... = -1 with the time coordinate x_0 > 0 first+>, "
                f"but row {row} is <!{x[row].tolist()}!>, where x_0 should be {time[row]:.8g} ({int(off.sum())} of "
                f"{len(x)} rows); if the last coordinates are right, put x_0 = sqrt(1 + x_1^2 + ...)",
                row=row,
            )
        x[:, 0] = time
        return x

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Hyperbolic distance, accurate for the closest of pairs and far from the origin.

        >>> float(Hyperbolic(2).distance([1, 0, 0], [1, 1e-12, 0]))
        1e-12
        """
        left, right = (np.moveaxis(np.asarray(value, dtype=np.float64), -1, 0) for value in (x, y))
        return _distance(left, right)

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> NDArray[Any]:
        """A distance with density K_t(r) sinh(r)^(dim - 1) and a direction from the origin, moved to each point."""
        most = 2 * (self._dim - 1) * time + math.sqrt(200 * time)  # where r^2 / 4t is 45 more than (dim - 1) r

        def log_density(r: FloatArray) -> FloatArray:
            with np.errstate(divide="ignore"):
                overlap = np.log(self._kernel.terms_at(r)(time / 2).overlap)
                return np.asarray(overlap + (self._dim - 1) * (np.log(r) + _log_shc(r)))

        r = radial_draws(log_density, most, len(points), rng, repr(self))
        step = np.sinh(r)[:, None] * uniform_vectors(len(points), self._dim, rng)
        inner = np.einsum("ij,ij->i", points[:, 1:], step)
        moved = step + points[:, 1:] * (np.cosh(r) + inner / (1 + points[:, 0]))[:, None]
        return np.column_stack([np.sqrt(1 + np.einsum("ij,ij->i", moved, moved)), moved])

    def log_own_density(self, times: FloatArray) -> FloatArray:
        """log K_2t at distance zero; in H^2 the integral of u / sinh(u / 2) exp(-u^2 / 4s), s = 2t, by trapezoids."""
        s = 2 * np.asarray(times, dtype=np.float64)
        logs = -1.5 * np.log(4 * math.pi * s)
        if self._dim == 3:
            return np.asarray(logs - s)
        steps = np.linspace(-12.0, 12.0, 2401)  # in u / sqrt(4 s) or, where that is wide, in u / 8
        width = np.minimum(np.sqrt(4 * s), 8.0)[:, None]
        u = np.abs(steps) * width
        integral = (
            (2 * np.exp(-_log_shc(u / 2) - u**2 / (4 * s[:, None]))).mean(axis=1) * 2401 / 2400 * 12 * width[:, 0]
        )
        return np.asarray(logs - s / 4 + np.log(integral))

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """Their sum, scaled back to the hyperboloid."""
        middle = (x + y) / (2 * np.cosh(self.distance(x, y) / 2))[:, None]
        middle[:, 0] = np.sqrt(1 + np.einsum("ij,ij->i", middle[:, 1:], middle[:, 1:]))
        return np.asarray(middle)

    def _log_overlap(self, r: float, time: float) -> float:
        """Of two atoms at distance r, minus infinity where it vanishes."""
        overlap = float(self._kernel.terms_at(np.array([[r]]))(time).overlap[0, 0])
        return math.log(overlap) if overlap else -math.inf

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """The times at which the overlap at each distance is 1/e; refused beyond the limit of large times."""
        limit = float(self.resolutions_of_times(np.array([1e12]))[0])
        found = np.empty(len(distances))
        for k, distance in enumerate(distances.tolist()):
            if distance > 0.999 * limit:
                raise InputError(
                    f"resolutions on Hyperbolic({self._dim}) must be <+below {0.999 * limit:.4g}+>, but entry {k} is "
                    f"<!{distance:g}!>: heat never makes points that far apart overlap by 1/e"
                )
            found[k] = time_of_distance(partial(self._log_overlap, distance), distance)
        return found

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """The distances at which the overlap falls to 1/e."""
        from scipy.optimize import brentq

        found = np.empty(len(times))
        for k, time in enumerate(times.tolist()):
            most = min(math.sqrt(8 * time), 6.0)  # curvature only makes overlaps smaller than in flat space
            found[k] = brentq(lambda r, t=time: self._log_overlap(r, t) + 1, 0.0, most * 1.001, xtol=1e-300, rtol=1e-14)
        return found


class HyperbolicPairs(SeparatedPairs):
    """Overlaps from distances: a closed form in H^3, a table per time in H^2."""

    accuracy = 1e-12

    def __init__(self, dim: int) -> None:
        self._dim, self.width = dim, dim + 1

    def terms(self, left: FloatArray, right: FloatArray) -> TermsOfTime:
        """The distances once, for all times; those of many pairs in a compiled loop."""
        if len(left) * len(right) >= MANY_PAIRS:
            return self.terms_at(_length(self.separations(left, right)))
        return self.terms_at(_distance(left.T[:, :, None], right.T[:, None, :]))

    def loop_factors(self) -> list[LoopFactor]:
        """One function of the separation."""
        lookup = partial(_of_separation, self._dim)
        return [LoopFactor(GIVEN, slice(0, self.width), lookup, given=self.separations)]

    def paired(self, left: FloatArray, right: FloatArray) -> OverlapsOfTime:
        """Of the distances row by row."""
        terms = self.terms_at(_distance(left.T, right.T))
        return lambda time: terms(time).overlap

    def radial_terms(self, separations: FloatArray, time: float) -> PairTerms:
        """Overlaps from the separations."""
        return self.terms_at(_length(separations))(time)

    def separations(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """2 (cosh r - 1), the squared straight-line distance in Minkowski space."""
        from ..compiled.hyperboloid import separations

        return separations(left, right)

    def half_space(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Each to a few roundings of itself.

        The height is 1 / (x_0 - x_1), and x_0^2 - x_1^2 = 1 + x_2^2 + ... where that would cancel.
        """
        time, ahead, across = points[:, 0], points[:, 1], points[:, 2:]
        square = 1 + np.einsum("ij,ij->i", across, across)
        height = np.where(ahead > 0, (time + np.abs(ahead)) / square, 1 / (time + np.abs(ahead)))
        return across * height[:, None], np.log(height)

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """Nan: the kernel with respect to normalised volume does not exist."""
        return np.full(len(times), np.nan)

    def terms_at(self, r: FloatArray) -> TermsOfTime:
        """Overlaps at distances r, as a function of time."""
        from ..compiled.radial_tables import evaluate

        bending = _log_shc(r) / (1 if self._dim == 3 else 2)
        place = np.arcsinh(r / math.pi) if self._dim == 2 else r

        def terms(time: float) -> PairTerms:
            with np.errstate(over="ignore"):
                square = np.minimum(np.square(r / math.sqrt(8 * time)), 1000.0)
            log, slope = -bending - square, square
            if self._dim == 2:
                table, step = _planar(time)
                curved, moved = evaluate(table, 0.0, step, np.minimum(place, len(table) * step))
                log, slope = log + curved, slope + moved
            overlap = np.exp(np.minimum(log, 0.0))
            return PairTerms(overlap, overlap * slope, None)

        return terms


def _length(separations: FloatArray) -> FloatArray:
    """The distance r."""
    return np.asarray(2 * np.arcsinh(np.sqrt(separations) / 2))


def _distance(x: NDArray[Any], y: NDArray[Any]) -> FloatArray:
    """Distances from coordinates on the first axis."""
    return np.asarray(2 * np.arcsinh(np.sqrt(_square_of_sinh(x, y))))


def _square_of_sinh(x: NDArray[Any], y: NDArray[Any]) -> FloatArray:
    """sinh^2(r/2) from coordinates on the first axis, without cancellation.

    With x', y' the spatial parts, sinh^2(r/2) = (|x' - y'|^2 + |x' ^ y'|^2) / (2 (1 + x_0 y_0 + x'.y')); where
    x'.y' < 0 the denominator cancels, but cosh r - 1 = (x_0 y_0 - 1) - x'.y' has two positive terms.
    """
    first, second = x[1:], y[1:]
    inner = sum(a * b for a, b in zip(first, second, strict=True))
    times = x[0] * y[0]
    count = len(first)
    chord = sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
    # Far out areas are differences of large numbers, and rounding their products would cost as many digits as x_0 has.
    area = sum(
        difference_of_products(first[i], second[j], first[j], second[i]) ** 2
        for i in range(count)
        for j in range(i + 1, count)
    )
    left, right = (sum(a * a for a in part) for part in (first, second))
    same_side = (chord + area) / (2 * (1 + times + np.maximum(inner, 0.0)))
    opposite = ((left + right + left * right) / (1 + times) + np.maximum(-inner, 0.0)) / 2
    return np.asarray(np.where(inner >= 0, same_side, opposite))


def _log_shc(x: Any) -> FloatArray:
    """log(sinh(x) / x) for x >= 0, without overflow or cancellation."""
    x = np.asarray(x, dtype=np.float64)
    small = x < 0.1
    z = np.where(small, x, 0.0) ** 2
    series = z * (1 / 6 - z * (1 / 180 - z * (1 / 2835 - z * (1 / 37800 - z / 467775))))
    safe = np.where(small, 1.0, x)
    return np.where(small, series, safe + np.log(-np.expm1(-2 * safe) / (2 * safe)))


@lru_cache(maxsize=512)
def _of_separation(dim: int, time: float, _: bool) -> Lookup:
    """s_t and its change with log t as functions of 2 (cosh r - 1)."""
    kernel = HyperbolicPairs(dim)

    def values(z: FloatArray) -> FloatArray:
        return np.stack(kernel.radial_terms(z, time)[:2])

    farthest = 4 * FARTHEST**2
    z = np.geomspace(1e-12 * min(8 * time, 1.0), farthest, 4096)
    beyond = values(z)[0] < math.exp(-FAR)
    return tabulated(values, min(4 * time, 1.0), float(z[np.argmax(beyond)]) if beyond.any() else farthest)


@lru_cache(maxsize=512)
def _planar(time: float) -> tuple[FloatArray, float]:
    """H^2 at one time: what is left of log s_t and of its derivative in log t, as cubic splines over asinh(r/pi).

    That is log s_t + r^2/4s + log(sinh r / r)/2, which is smooth and slow, and d log s_t / d log t - r^2/4s.

    With u^2 = r^2 + 4 s y^2 the singularity of the integral is gone:

        K_s(r) is proportional to exp(-r^2/4s) G(r),
        G(r) = int_0^inf exp(-y^2) (shc((u + r)/2) shc((u - r)/2))^(-1/2) dy,   shc x = sinh x / x,

    whose integrand is analytic in y^2 with its nearest singularity pi / sqrt(s) from the real axis, so that the
    trapezoidal rule converges geometrically. And d log G / d log s = mean(y^2) - 1/2 under the integrand.
    """
    from scipy.interpolate import CubicSpline

    s = 2 * time
    # Beyond the reach the overlap is below e^-60; two points are never more than 2 asinh(FARTHEST) apart.
    reach = min(math.sqrt(240 * s), 2 * math.asinh(FARTHEST))
    end = math.asinh(reach / math.pi)
    grid = np.linspace(0.0, end, max(8, math.ceil(end / 2e-3)) + 1)
    r = math.pi * np.sinh(grid)
    step = 0.45 * min(math.sqrt(s), 1.0)  # in v = y sqrt(s)
    last = min(6.4 * math.sqrt(s), math.sqrt(20 * (2 * reach + 80)))
    total, second = np.zeros((2, len(r)))
    own = _log_shc(r)
    for k in range(math.ceil(last / step) + 1):
        v = k * step
        u = np.sqrt(r * r + 4 * v * v)
        below = np.divide(2 * v * v, u + r, out=np.zeros_like(u), where=u > 0)  # (u - r) / 2
        term = np.exp((own - _log_shc((u + r) / 2) - _log_shc(below)) / 2 - v * v / s)
        if k == 0:
            term /= 2
        total += term
        second += term * (v * v / s)
    curved = np.log(total / total[0])
    moved = second / total
    spline = CubicSpline(grid, np.stack([curved, moved - moved[0]], axis=1))
    return np.ascontiguousarray(spline.c[::-1].transpose(1, 2, 0)), float(grid[1])
