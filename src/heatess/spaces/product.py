"""Products of spaces: poses, pairs of directions, a direction and a phase, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import positive
from ..errors import InputError, InputTypeError
from . import theta
from .base import EigenSpace, FloatArray, PairSpace, PairTerms, Space, ZonalSpace
from .eigenfunctions import Harmonics
from .euclidean import GESS_ONLY, Euclidean
from .hyperbolic import Hyperbolic
from .projective import Projective
from .rotations import Rotations
from .sphere import Sphere
from .torus import Torus

#: Pairs of two tiles from which on compiled loops, which take time to load, are used.
MANY_PAIRS = 8192

#: Seconds for one factor of one pair, at one scale and for its distance.
PAIR, GEOMETRY = 6e-9, 2e-8

#: Relative accuracy of the overlaps of a zonal factor.
ZONAL_ACCURACY = 1e-12


class Product(PairSpace):
    """The Riemannian product of spaces: points are tuples, squared distances add, overlaps multiply.

    The distance is sqrt(sum_j (c_j d_j)^2), where c_j is the metric multiplier of factor j: one unless *scales*
    says otherwise. Eigenvalues are the sums lambda_1 / c_1^2 + lambda_2 / c_2^2 + ..., hence the overlap at time t
    is the product of the factors' overlaps at times t / c_j^2. When all factors are angular one degree is one
    degree in any of them (with c_j = 1); otherwise scales are given as `times`. Resolutions are not defined,
    because the overlap depends on more than the distance. With a factor of infinite volume only gESS is.

    Coarse scales of products of spheres, projective spaces, rotations and tori are summed through the coefficients of
    the measure, in linear time; all else pair by pair.

    Parameters
    ----------
    *spaces : Space
        Two or more factors: spheres, rotations, projective spaces, tori, flat or hyperbolic space, products. Meshes,
        point clouds and graphs are refused, because there k_2t(x, x) depends on the place.
    scales : sequence of float, optional
        One metric multiplier per factor: for a pose, metres per radian on the rotations.

    Examples
    --------
    Two poses in the plane, 0.2 m and 0.5 rad apart, where 1 rad is worth 0.4 m; seen at alpha = 0.2 m:

    >>> import heatess as he
    >>> poses = he.Product(he.Euclidean(2), he.Circle(), scales=(1, 0.4))
    >>> points = ([[0, 0], [0.2, 0]], [0.0, 0.5])
    >>> round(float(poses.distance(([0, 0], [0.0]), ([0.2, 0], [0.5]))), 4)
    0.2828
    >>> round(he.gess(points, space=poses, time=0.2**2 / 8), 4)  # 2 / (1 + 1/e^2)
    1.7616
    """

    def __init__(self, *spaces: Space, scales: Any = None) -> None:
        if len(spaces) < 2:
            raise InputError(f"Product(*spaces) needs two or more spaces, but found {len(spaces)}")
        for j, space in enumerate(spaces):
            if not isinstance(space, ZonalSpace | PairSpace):
                raise InputError(f"factor {j} of a Product must be {_WANTED}, but is {space!r}{_remedy(space)}")
        if scales is not None and np.ndim(scales) != 1:
            raise InputError(f"scales must have one entry per factor: {len(spaces)}, but are {scales!r}")
        multipliers = [1.0] * len(spaces) if scales is None else list(scales)
        if len(multipliers) != len(spaces):
            raise InputError(f"scales must have one entry per factor: {len(spaces)}, but have {len(multipliers)}")
        self._spaces = spaces
        self._scales = tuple(positive(value, f"scales[{j}]") for j, value in enumerate(multipliers))
        self._ends = np.cumsum([_width(space) for space in spaces])
        self.angular = all(space.angular for space in spaces)
        self.compact = all(space.compact for space in spaces if isinstance(space, PairSpace))

    def __repr__(self) -> str:
        parts = [repr(space).removesuffix(GESS_ONLY) for space in self._spaces]
        if any(value != 1 for value in self._scales):
            parts.append(f"scales={self._scales}")
        return f"Product({', '.join(parts)}){'' if self.compact else GESS_ONLY}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Product) and (other._spaces, other._scales) == (self._spaces, self._scales)

    def __hash__(self) -> int:
        return hash((Product, self._spaces, self._scales))

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The factors."""
        return self._spaces

    @property
    def scales(self) -> tuple[float, ...]:
        """The metric multiplier of each factor."""
        return self._scales

    @property
    def dim(self) -> int:
        """Sum of the factors' dimensions."""
        return sum(space.dim for space in self._spaces)

    @property
    def width(self) -> int:
        """Columns of checked points."""
        return int(self._ends[-1])

    @property
    def diameter(self) -> float:
        """Factors' diameters, each times its multiplier, added in quadrature."""
        return math.hypot(*(c * space.diameter for space, c in self._factors()))

    @property
    def log_volume(self) -> float:
        """Sum over factors, with dim log c_j for their multipliers."""
        return sum(space.log_volume + space.dim * math.log(c) for space, c in self._factors())

    @property
    def volume(self) -> float:
        """Product of the factors' volumes."""
        return math.exp(self.log_volume)

    @property
    def scalar_curvature(self) -> float:
        """Sum of the factors' curvatures, each over c_j^2."""
        return sum(space.scalar_curvature / c**2 for space, c in self._factors())

    def _factors(self) -> list[tuple[Space, float]]:
        return list(zip(self._spaces, self._scales, strict=True))

    # Points.

    def check(self, points: Any) -> NDArray[Any]:
        """A tuple with the points of each factor, as columns side by side; such columns are taken as well."""
        if isinstance(points, np.ndarray) and points.ndim == 2 and points.shape[1] == self.width:
            points = tuple(np.split(points, self._ends[:-1], axis=1))
        if not isinstance(points, tuple | list) or len(points) != len(self._spaces):
            found = f"{len(points)} of them" if isinstance(points, tuple | list) else type(points).__name__
            raise InputTypeError(
                f"points of {self!r} must be a tuple of {len(self._spaces)} point arrays, one per factor, "
                f"but found {found}"
            )
        parts = []
        for j, (space, part) in enumerate(zip(self._spaces, points, strict=True)):
            try:
                checked = space.check(part)
            except InputError as error:
                raise type(error)(f"factor {j} of the product, {_short(space)}: {error}") from None
            parts.append(_columns(space, checked))
            if len(parts[j]) != len(parts[0]):
                raise InputError(
                    f"every factor must have one point per atom, but factor 0, {_short(self._spaces[0])}, has "
                    f"{len(parts[0])} and factor {j}, {_short(space)}, has {len(parts[j])}"
                )
        return np.concatenate(parts, axis=1)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """sqrt(sum_j (c_j d_j)^2), between tuples with one entry per factor or between rows of checked points."""
        total: Any = 0.0
        for (space, c), left, right in zip(self._factors(), self._split(x), self._split(y), strict=True):
            total = np.hypot(total, c * space.distance(left, right))
        return np.asarray(total)

    def _split(self, points: Any) -> list[Any]:
        """One entry per factor."""
        if isinstance(points, np.ndarray):
            return list(np.split(points, self._ends[:-1], axis=-1))
        return list(points)

    def uniform(self, n: int, rng: np.random.Generator) -> tuple[Any, ...]:
        """*n* independent uniform points: a tuple with the points of each factor."""
        return tuple(space.uniform(n, rng) for space in self._spaces)

    # Eigenfunctions.

    @property
    def harmonics(self) -> list[Harmonics] | None:
        """The factors that the product comes apart into, all made of spheres; None if some factor is not."""
        found = [_harmonics(*leaf) for leaf in self._leaves()]
        return [part for parts in found for part in parts] if all(found) else None

    def spectral_seconds(self, n: int, time: float, rtol: float, ess: float) -> float:
        """Rough seconds on two cores of `spectral_sums` when *time* is the finest; inf where there is no transform."""
        from . import product_sums

        factors = self.harmonics
        if factors is None:
            return math.inf
        limit = product_sums.eigenvalue_limit(self, factors, np.array([time]), rtol, ess)
        return product_sums.seconds(factors, limit, n)

    def spectral_sums(self, points: NDArray[Any], weights: FloatArray, times: FloatArray, rtol: float) -> Any:
        """Heat sums through the coefficients of the measure; None if there are too many.

        For two factors with orthonormal eigenfunctions f and g, and likewise for more,

            A - 1 = sum_{(a, b) != 0} exp(-2 (lambda_a / c_1^2 + lambda_b / c_2^2) t) (sum_i w_i f_a(x_i) g_b(y_i))^2.
        """
        from . import product_sums

        factors = self.harmonics
        if factors is None:
            return None
        limit = product_sums.eigenvalue_limit(self, factors, times, rtol, 1 / float(weights @ weights))
        if not math.isfinite(product_sums.seconds(factors, limit, len(points))):
            return None
        return product_sums.heat_sums(self, factors, limit, points, weights, times, rtol)

    def pair_seconds(self, n: int, scales: int) -> float:
        """Rough seconds of all pairs at so many scales."""
        total = 0.0
        for space, _, _ in self._leaves():
            if isinstance(space, Torus | Euclidean | Hyperbolic | ZonalSpace):
                axes = space.dim if isinstance(space, Torus) else 1
                total += 0.5 * float(n) ** 2 * axes * (scales * PAIR + GEOMETRY)
            elif isinstance(space, PairSpace):
                total += space.pair_seconds(n, scales)
        return total

    # The heat kernel.

    @property
    def parallel(self) -> bool:  # type: ignore[override]
        """As the factors allow."""
        return all(space.parallel for space in self._spaces if isinstance(space, PairSpace))

    def fitted(self, points: NDArray[Any], times: FloatArray, rtol: float) -> PairSpace:
        """The product of the factors, each ready for its own points and times."""
        ready = [
            space.fitted(part, times / c**2, rtol / len(self._spaces)) if isinstance(space, PairSpace) else space
            for (space, c), part in zip(self._factors(), self._split(points), strict=True)
        ]
        return Product(*ready, scales=self._scales)

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Errors of overlaps that are multiplied add up."""
        total = np.zeros(len(times))
        for space, c in self._factors():
            total += space.errors(times / c**2, overlap) if isinstance(space, PairSpace) else ZONAL_ACCURACY
        return total

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """Sum of the factors' log k_2t(x, x), at their own times."""
        from ..kernel import log_diagonal

        total = np.zeros(len(times))
        for space, c in self._factors():
            own = times / c**2
            if isinstance(space, PairSpace):
                total += space.log_diagonal(own)
            elif isinstance(space, ZonalSpace):
                total += [log_diagonal(space, float(time)) for time in own]
        return total

    def pair_terms(self, left: FloatArray, right: FloatArray, time: float) -> PairTerms:
        """Overlaps multiply; (1 + e)(1 + f) - 1 = e + f + e f for the excesses."""
        return self.terms_of_tiles(left, right)(time)

    def terms_of_tiles(self, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
        """The geometry of each factor once, for all times; many pairs then go through compiled loops."""
        if len(left) * len(right) < MANY_PAIRS:
            return self._by_arrays(left, right)
        return self._by_loops(left, right)

    def _by_arrays(self, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
        parts = zip(self._spaces, self._split(left), self._split(right), strict=True)
        factors = [_terms_of_tiles(space, x, y) for space, x, y in parts]

        def terms(time: float) -> PairTerms:
            overlap: Any = 1.0
            change: Any = 0.0
            excess: Any = 0.0
            for factor, c in zip(factors, self._scales, strict=True):
                own = factor(time / c**2)
                change = change * own.overlap + overlap * own.change
                overlap = overlap * own.overlap
                if own.excess is not None and self.compact:
                    # Beyond 1e150 a sum of excesses is never used: A is then taken from the diagonal.
                    bounded = np.minimum(own.excess, 1e150)
                    excess = np.minimum(excess + bounded + excess * bounded, 1e150)
            return PairTerms(overlap, change, excess if self.compact else None)

        return terms

    def _by_loops(self, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
        from ..tables import multiply  # compiled, so only when it is needed

        factors = []
        for space, c, columns in self._leaves():
            factors += _radials(space, c, left[:, columns], right[:, columns])

        def terms(time: float) -> PairTerms:
            found = np.empty((3, left.shape[0] * right.shape[0]))
            found[0], found[1:] = 1.0, 0.0
            others = []
            for factor, distances in factors:
                form = factor(time)
                if isinstance(form, PairTerms):
                    others.append(form)
                else:
                    multiply(form, distances, found)
            overlap, change, excess = found.reshape(3, len(left), len(right))
            for own in others:
                change, overlap = change * own.overlap + overlap * own.change, overlap * own.overlap
            return PairTerms(overlap, change, excess if self.compact else None)

        return terms

    def _leaves(self) -> list[tuple[Space, float, slice]]:
        """The factors that are not products themselves, with their multipliers and columns."""
        found: list[tuple[Space, float, slice]] = []
        for (space, c), first, end in zip(
            self._factors(), [0, *self._ends[:-1].tolist()], self._ends.tolist(), strict=True
        ):
            if isinstance(space, Product):
                inner = space._leaves()
                found += [(leaf, c * own, slice(first + at.start, first + at.stop)) for leaf, own, at in inner]
            else:
                found.append((space, c, slice(first, end)))
        return found


def _radials(space: Space, scale: float, left: FloatArray, right: FloatArray) -> list[tuple[Any, Any]]:
    """A factor as functions from the time to a `kernel.Radial`, each with the distances of all pairs in a row.

    Where the overlap is no such function, one from the time to `PairTerms`.
    """
    from scipy.spatial.distance import cdist

    from ..kernel import Radial, radial, tile_distances

    if isinstance(space, ZonalSpace):
        return [(lambda time: radial(space, time / scale**2), tile_distances(space, left, right).ravel())]
    if isinstance(space, Torus):
        circle, found = Sphere(1), []
        for j, period in enumerate(space.periods):
            unit = 2 * math.pi / period
            gaps = unit * theta.gap_between(left[:, j, None], right[None, :, j], period).ravel()
            found.append((lambda time, unit=unit: radial(circle, time * (unit / scale) ** 2), gaps))
        return found
    if isinstance(space, Euclidean):

        def gaussian(time: float) -> Radial:
            rate = scale**2 / (8 * time)
            return Radial(np.array([[0.0, 0.0], [-rate, rate]]), 0.0, 2.0, math.sqrt(45 / rate))

        return [(gaussian, cdist(left, right).ravel())]
    own = _terms_of_tiles(space, left, right)
    return [(lambda time: own(time / scale**2), None)]


def _harmonics(space: Space, scale: float, columns: slice) -> list[Harmonics]:
    """A factor as spheres, whose harmonics are its eigenfunctions; empty where there are none."""
    if isinstance(space, Sphere):
        return [Harmonics(space.dim, 1, scale, columns)]
    if isinstance(space, Projective):
        return [Harmonics(space.dim, 2, scale, columns)]
    if isinstance(space, Rotations):  # by their quaternions, with all lengths doubled
        return [Harmonics(3, 2, 2 * scale, columns)]
    if isinstance(space, Torus):
        places = range(columns.start, columns.stop)
        return [
            Harmonics(1, 1, scale * period / (2 * math.pi), slice(j, j + 1), period)
            for j, period in zip(places, space.periods, strict=True)
        ]
    return []


def _terms_of_tiles(space: Space, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
    from ..kernel import zonal_terms

    if isinstance(space, PairSpace):
        return space.terms_of_tiles(left, right)
    if isinstance(space, ZonalSpace):
        return zonal_terms(space, left, right)
    raise TypeError(f"{space!r} cannot be a factor")


def _columns(space: Space, checked: NDArray[Any]) -> FloatArray:
    """Checked points as float64 columns."""
    return space.tile(checked, slice(None)) if isinstance(space, ZonalSpace) else checked


def _width(space: Space) -> int:
    """Columns of checked points."""
    known = getattr(space, "width", None)
    if isinstance(known, int):
        return known
    return int(_columns(space, space.check(space.uniform(1, np.random.default_rng(0)))).shape[1])


_WANTED = "a homogeneous space such as Sphere(2) or Torus(1)"


def _remedy(space: object) -> str:
    """Why a mesh, a point cloud or a graph is no factor, and what to do."""
    if not isinstance(space, EigenSpace):
        return ""
    return (
        ", where k_2t(x, x) depends on the place, so that overlaps do not follow from pairs alone; describe the whole "
        "product as one Graph (with adjacency kron(A, I) + kron(I, B)) or one PointCloud, or profile the factors apart"
    )


def _short(space: Space) -> str:
    return repr(space).removesuffix(GESS_ONLY)
