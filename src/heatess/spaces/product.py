"""Products of spaces: poses, pairs of directions, a direction and a phase, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, numeric_array, positive
from ..base.errors import InputError, InputTypeError
from ..heat.lookup import Lookup, LoopFactor
from ..heat.series import LevelSeries
from ..transforms.product import ProductTransform
from .base import GESS_ONLY, Space
from .capabilities import OverlapsOfTime, PairKernel, RadialFactor, TermsOfTime, combined
from .drawing import Drawing, drawing_of_factor
from .fused_overlaps import LoopedPairs
from .torus import Torus

T = TypeVar("T")

#: Seconds for one factor of one pair, at one scale and for its distance.
PAIR, GEOMETRY = 6e-9, 2e-8

#: Lengths of a factor, times its multiplier c, between which t / c^2 is a number at all times.
SHORTEST, LONGEST = 1e-30, 1e30


class Product(Space):
    """The Riemannian product of spaces: points are tuples, squared distances add, overlaps multiply.

    The distance is sqrt(sum_j (c_j d_j)^2), where c_j is the metric multiplier of factor j: one unless *metric_scales*
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
    metric_scales : sequence of float, optional
        One metric multiplier per factor: for a pose, metres per radian on the rotations. Lengths of a factor, times
        its multiplier, must lie between 1e-30 and 1e30.

    Examples
    --------
    Two poses in the plane, 0.2 m and 0.5 rad apart, where 1 rad is worth 0.4 m; seen at alpha = 0.2 m:

    >>> import heatess as he
    >>> poses = he.Product(he.Euclidean(2), he.Circle(), metric_scales=(1, 0.4))
    >>> points = ([[0, 0], [0.2, 0]], [0.0, 0.5])
    >>> round(float(poses.distance(([0, 0], [0.0]), ([0.2, 0], [0.5]))), 4)
    0.2828
    >>> round(he.gess(points, space=poses, time=0.2**2 / 8), 4)  # 2 / (1 + 1/e^2)
    1.7616
    """

    def __init__(self, *spaces: Space, metric_scales: Any = None) -> None:
        if len(spaces) < 2:
            raise InputError(f"Product(*spaces) needs <+two or more spaces+>, but found <!{len(spaces)}!>")
        for j, space in enumerate(spaces):
            if not isinstance(space, Space) or space.pair_kernel is None:
                wanted = "a homogeneous space such as Sphere(2) or Torus(1)"
                raise InputError.unfit(f"factor {j} of a Product", wanted, space, _remedy(space))
        if metric_scales is not None and numeric_array(metric_scales, "metric_scales").ndim != 1:
            raise InputError.unfit("metric_scales", f"one entry per factor, {len(spaces)}", metric_scales, verb="are")
        multipliers = [1.0] * len(spaces) if metric_scales is None else list(metric_scales)
        if len(multipliers) != len(spaces):
            raise InputError.unfit("metric_scales", f"one entry per factor, {len(spaces)}", multipliers, verb="are")
        self.spaces = spaces
        self.metric_scales = tuple(positive(value, f"metric_scales[{j}]") for j, value in enumerate(multipliers))
        for j, (space, c) in enumerate(self._factors()):
            for length in _lengths(space):
                if not SHORTEST <= c * length <= LONGEST:
                    raise InputError(
                        f"metric_scales must <+keep the lengths of factors between {SHORTEST:g} and {LONGEST:g}+>, "
                        f"but <!metric_scales[{j}] is {c:g} where {_short(space)} has lengths of {length:g}!>; use "
                        "another unit of length"
                    )
        self._kernels = tuple(space.pair_kernel for space in spaces if space.pair_kernel is not None)
        self._ends = np.cumsum([kernel.width for kernel in self._kernels])
        if [space.form for space in spaces] == ["numbers", "quaternions"]:
            self.form = "poses"
        self.angular = all(space.angular for space in spaces)
        self.compact = all(space.compact for space in spaces)
        self._dim = sum(space.dim for space in spaces)
        self.pair_kernel = ProductPairs(self._kernels, self.metric_scales, self.compact)
        starts = [0, *self._ends[:-1].tolist()]
        harmonics = [
            tuple(part.moved(c, start) for part in space.harmonics)
            for space, c, start in zip(spaces, self.metric_scales, starts, strict=True)
        ]
        if all(harmonics):
            self.harmonics = tuple(part for parts in harmonics for part in parts)
            diagonal = self.pair_kernel.log_diagonal
            self.transform = ProductTransform(list(self.harmonics), self._dim, diagonal)

    def __repr__(self) -> str:
        parts = [repr(space).removesuffix(GESS_ONLY) for space in self.spaces]
        if any(value != 1 for value in self.metric_scales):
            parts.append(f"metric_scales={self.metric_scales}")
        return f"Product({', '.join(parts)}){'' if self.compact else GESS_ONLY}"

    def _key(self) -> tuple[object, ...]:
        return self.spaces, self.metric_scales

    @property
    def factor_series(self) -> tuple[tuple[LevelSeries, float], ...]:
        """Those of all factors, if each has them."""
        parts = [space.factor_series for space in self.spaces]
        if not all(parts):
            return ()
        found = zip(parts, self.metric_scales, strict=True)
        return tuple((series, own * c) for part, c in found for series, own in part)

    @property
    def drawing(self) -> Drawing | None:
        """That of the first factor that has one."""
        ends = [0, *self._ends.tolist()]
        for j, (space, c) in enumerate(self._factors()):
            own = space.drawing
            if own is not None:
                return drawing_of_factor(own, space, c, slice(ends[j], ends[j + 1]))
        return None

    @property
    def diameter(self) -> float:
        """Factors' diameters, each times its multiplier, added in quadrature."""
        return math.hypot(*(c * space.diameter for space, c in self._factors()))

    @property
    def log_volume(self) -> float:
        """Sum over factors, with dim log c_j for their multipliers."""
        return sum(space.log_volume + space.dim * math.log(c) for space, c in self._factors())

    @property
    def scalar_curvature(self) -> float:
        """Sum of the factors' curvatures, each over c_j^2."""
        return sum(space.scalar_curvature / c**2 for space, c in self._factors())

    def _factors(self) -> list[tuple[Space, float]]:
        return list(zip(self.spaces, self.metric_scales, strict=True))

    # Points.

    def check(self, points: Any) -> NDArray[Any]:
        """A tuple with the points of each factor, as columns side by side; such columns are taken as well."""
        if isinstance(points, np.ndarray) and points.ndim == 2 and points.shape[1] == self._ends[-1]:
            points = tuple(np.split(points, self._ends[:-1], axis=1))
        if not isinstance(points, tuple | list) or len(points) != len(self.spaces):
            found = f"{len(points)} of them" if isinstance(points, tuple | list) else type(points).__name__
            raise InputTypeError(
                f"points of {self!r} must be <+a tuple of {len(self.spaces)} point arrays, one per factor+>, but "
                f"found <!{found}!>"
            )
        parts = []
        for j, (space, part) in enumerate(zip(self.spaces, points, strict=True)):
            try:
                checked = space.check(part)
            except InputError as error:
                raise error.within(f"factor {j} of the product, {_short(space)}") from None
            parts.append(self._kernels[j].rows(checked))
            if len(parts[j]) != len(parts[0]):
                raise InputError(
                    f"every factor must have <+the same number of points+>, but <!factor 0, {_short(self.spaces[0])}, "
                    f"has {len(parts[0])} and factor {j}, {_short(space)}, has {len(parts[j])}!>"
                )
        return np.concatenate(parts, axis=1)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """sqrt(sum_j (c_j d_j)^2), between tuples with one entry per factor or between rows of checked points."""
        total: Any = 0.0
        for (space, c), left, right in zip(self._factors(), self._split(x), self._split(y), strict=True):
            total = np.hypot(total, c * space.distance(left, right))
        return np.asarray(total)

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any] | None:
        """Those of each factor, where every factor knows them."""
        pairs = zip(self.spaces, self._split(x), self._split(y), strict=True)
        parts = [space.midpoints(left, right) for space, left, right in pairs]
        known = [part for part in parts if part is not None]
        return np.concatenate(known, axis=1) if len(known) == len(parts) else None

    def _split(self, points: Any) -> list[Any]:
        """One entry per factor."""
        if isinstance(points, np.ndarray):
            return list(np.split(points, self._ends[:-1], axis=-1))
        return list(points)

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> NDArray[Any]:
        """Each factor at its own time."""
        parts = zip(self._factors(), self._kernels, self._split(points), strict=True)
        return np.concatenate(
            [kernel.rows(space.heated(part, time / c**2, rng)) for (space, c), kernel, part in parts], axis=1
        )

    def log_own_density(self, times: FloatArray) -> FloatArray:
        """Sum over factors, at their own times, with dim log c_j for their multipliers."""
        return np.asarray(
            sum(space.log_own_density(times / c**2) - space.dim * math.log(c) for space, c in self._factors())
        )

    def uniform(self, n: int, rng: np.random.Generator) -> tuple[Any, ...]:
        """*n* independent uniform points: a tuple with the points of each factor."""
        return tuple(space.uniform(n, rng) for space in self.spaces)


class ProductPairs(LoopedPairs):
    """Products of overlaps, each factor at its own time t / c_j^2."""

    def __init__(self, kernels: tuple[PairKernel, ...], scales: tuple[float, ...], compact: bool) -> None:
        super().__init__(compact)
        self._kernels, self._scales = kernels, scales
        self._cuts = np.cumsum([kernel.width for kernel in kernels])[:-1]
        self.width = sum(kernel.width for kernel in kernels)
        self.parallel = all(kernel.parallel for kernel in kernels)

    def _factors(self, left: FloatArray, right: FloatArray) -> list[tuple[PairKernel, float, FloatArray, FloatArray]]:
        parts = (np.split(tile, self._cuts, axis=1) for tile in (left, right))
        return list(zip(self._kernels, self._scales, *parts, strict=True))

    def terms(self, left: FloatArray, right: FloatArray) -> TermsOfTime:
        """In one compiled loop for many pairs; else the geometry of each factor once, for all times."""
        looped = self.in_loop(left, right)
        if looped is not None:
            return looped
        radials: list[RadialFactor] = []
        others: list[TermsOfTime] = []
        for kernel, c, x, y in self._factors(left, right):
            own = kernel.factors(x, y)
            radials += [RadialFactor(_slowed(table, c), distances) for table, distances in own]
            if not own:
                others.append(_slowed(kernel.terms(x, y), c))
        return combined(radials, others, (len(left), len(right)), compact=self._compact)

    def factors(self, left: FloatArray, right: FloatArray) -> list[RadialFactor]:
        """Those of all factors, if each has them."""
        found = [(kernel.factors(x, y), c) for kernel, c, x, y in self._factors(left, right)]
        slowed = [RadialFactor(_slowed(table, c), distances) for own, c in found for table, distances in own]
        return slowed if all(own for own, _ in found) else []

    def loop_factors(self) -> list[LoopFactor]:
        """Those of all factors, if each has them."""
        own, first = [kernel.loop_factors() for kernel in self._kernels], 0
        found: list[LoopFactor] = []
        for kernel, factors, c in zip(self._kernels, own, self._scales, strict=True):
            for part in factors:
                columns = slice(first + part.columns.start, first + part.columns.stop)
                found.append(part._replace(columns=columns, lookup=_slowed_lookup(part.lookup, c)))
            first += kernel.width
        return found if all(own) else []

    def paired(self, left: FloatArray, right: FloatArray) -> OverlapsOfTime:
        """Those of the factors, multiplied."""
        parts = [_slowed(kernel.paired(x, y), c) for kernel, c, x, y in self._factors(left, right)]
        return lambda time: np.asarray(math.prod(part(time) for part in parts))

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """Sum of the factors' log k_2t(x, x), at their own times."""
        return np.asarray(sum(kernel.log_diagonal(times / c**2) for kernel, c in self._own()))

    def _own(self) -> list[tuple[PairKernel, float]]:
        return list(zip(self._kernels, self._scales, strict=True))

    def fitted(self, times: FloatArray, rtol: float) -> PairKernel:
        """The product of the factors, each ready for its own times."""
        ready = tuple(kernel.fitted(times / c**2, rtol / len(self._scales)) for kernel, c in self._own())
        return ProductPairs(ready, self._scales, self._compact)

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Errors of overlaps that are multiplied add up."""
        own = np.asarray(sum(kernel.errors(times / c**2, overlap) for kernel, c in self._own()))
        return own + self.lookup_errors(times, overlap)

    def seconds(self, pairs: float, scales: int) -> float:
        """Rough seconds of all pairs at so many scales."""
        if self.looped:
            return self.loop_seconds(pairs, scales)
        total = 0.0
        for kernel, axes in zip(self._kernels, self._axes, strict=True):
            total += axes * pairs * (scales * PAIR + GEOMETRY) if axes else kernel.seconds(pairs, scales)
        return total

    @cached_property
    def _axes(self) -> list[int]:
        """Functions of one distance that each factor is made of, and zero where it is not."""
        return [len(kernel.factors(*(np.zeros((1, kernel.width)),) * 2)) for kernel in self._kernels]


def _slowed(function: Callable[[float], T], scale: float) -> Callable[[float], T]:
    """A function of time of a factor whose lengths are multiplied by *scale*."""
    return lambda time: function(time / scale**2)


def _slowed_lookup(lookup: Callable[[float, bool], Lookup], scale: float) -> Callable[[float, bool], Lookup]:
    return lambda time, excess: lookup(time / scale**2, excess)


def _lengths(space: Space) -> tuple[float, ...]:
    """Periods, or one for the radius of curvature or the unit of coordinates."""
    if isinstance(space, Product):
        return tuple(c * length for part, c in space._factors() for length in _lengths(part))
    return space.periods if isinstance(space, Torus) else (1.0,)


def _remedy(space: object) -> str:
    """Why a mesh, a point cloud or a graph is no factor, and what to do."""
    if not isinstance(space, Space) or space.modes is None:
        return ""
    return (
        "there k_2t(x, x) depends on the place, so that overlaps do not follow from pairs alone; describe the whole "
        "product as one Graph (with adjacency kron(A, I) + kron(I, B)) or one PointCloud, or profile the factors apart"
    )


def _short(space: Space) -> str:
    return repr(space).removesuffix(GESS_ONLY)
