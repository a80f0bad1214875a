"""What a space may be capable of, as objects that engines ask it for.

`Series` (levels and zonal functions) and `Transform` (linear, mergeable coefficients) are in `heat` and `transforms`;
here are overlaps pair by pair, coordinates in which neighbours can be found, and eigenpairs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray, IntArray
from ..heat.lookup import CIRCLE, VECTORS, LoopFactor, of_angle, of_gap
from ..heat.radial import PairTerms, Radial, radial, radial_error, radial_terms
from ..heat.series import LevelSeries, Series, SmallTime, log_diagonal

#: Overlaps of all pairs of two tiles, shape (rows, columns), as a function of the time.
TermsOfTime = Callable[[float], PairTerms]

#: Overlaps of pairs, one from each of two sets of rows, shape (rows,), as a function of the time.
OverlapsOfTime = Callable[[float], FloatArray]

#: Rows of a tile of which only the diagonal is wanted.
_PAIRED = 16

#: Pairs of two tiles from which on compiled loops, which take time to load, are used.
MANY_PAIRS = 8192

#: Columns of unit vectors up to which compiled loops take their differences; a matrix product serves more.
_FEW_COLUMNS = 16

#: Cosines above this belong to pairs so close that the arc cosine would lose digits: they are measured again.
_CLOSE = 0.99


def plain_rows(points: NDArray[Any], part: slice) -> FloatArray:
    """Rows that are float64 already."""
    return points[part]


def rounding(dim: int, size: float, times: FloatArray) -> FloatArray:
    """Bound on what coordinates good to EPS of their *size* do to 1 / gESS, relatively, at each time.

    A distance r that is off by e moves log s_t by e r / 4t. The mean of r^2 / 8t over all pairs, weighted by their
    overlap, is d log (1 / gESS) / d log t, at most dim / 2; so the whole moves by e sqrt(2 dim) / alpha or less.
    """
    return np.asarray(2 * EPS * size * max(4.0, math.sqrt(2 * dim)) / np.sqrt(8 * times))


class RadialFactor(NamedTuple):
    """One factor of an overlap: a function of one distance at each time, and that distance for all pairs in a row."""

    kernel: Callable[[float], Radial]
    distances: FloatArray


class LoopKind(NamedTuple):
    """How a compiled loop finds separations, see `heat.lookup`; coordinates are multiplied by the unit."""

    kind: int
    unit: float = 1.0
    period: float = math.inf


class PairKernel(ABC):
    """Overlaps pair by pair, on any homogeneous space."""

    #: Unlike `Modes`.
    on_nodes: Literal[False] = False

    #: Relative accuracy of the overlaps.
    accuracy: float = 1e-12

    #: Whether overlaps of several tiles may be worked out at the same time.
    parallel: bool = True

    #: Columns of the rows that tiles are made of.
    width: int

    @property
    def zonal(self) -> ZonalPairs | None:
        """The same, where overlaps depend on the distance alone, by levels of a series."""
        return None

    @property
    def separated(self) -> SeparatedPairs | None:
        """The same, where overlaps are smooth functions of separations."""
        return None

    def rows(self, points: NDArray[Any], part: slice = slice(None)) -> FloatArray:
        """Some rows of checked points as float64, ready for tiles."""
        return points[part]

    @abstractmethod
    def terms(self, left: FloatArray, right: FloatArray) -> TermsOfTime:
        """Overlaps of two tiles; what does not depend on the time is worked out once."""

    def paired(self, left: FloatArray, right: FloatArray) -> OverlapsOfTime:
        """Overlaps of each row of *left* with the same row of *right*; from diagonals of tiles if nothing is better."""
        parts = [slice(start, start + _PAIRED) for start in range(0, len(left), _PAIRED)]
        tiles = [self.terms(left[part], right[part]) for part in parts]
        return lambda time: np.concatenate([np.diag(tile(time).overlap) for tile in tiles])

    @abstractmethod
    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """log k_2t(x, x) with respect to normalised volume; nan on spaces of infinite volume."""

    def factors(self, left: FloatArray, right: FloatArray) -> list[RadialFactor]:
        """The overlap as a product of functions of one distance each; empty where it is no such product."""
        return []

    def loop_factors(self) -> list[LoopFactor]:
        """The same product as part of one that a compiled loop takes; empty where it has no such form."""
        return []

    @property
    def looped(self) -> list[LoopFactor]:
        """The same product for a compiled loop of its own, with its error among `errors`; empty where there is none."""
        return []

    def fitted(self, times: FloatArray, rtol: float) -> PairKernel:
        """The same kernel, ready for *times*, or a `PrecisionError` if one cannot reach *rtol*."""
        return self

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Bound on the relative error at each time of sums of overlaps that came to *overlap*."""
        return np.full(len(times), self.accuracy)

    def seconds(self, pairs: float, scales: int) -> float:
        """Rough seconds on two cores of so many pairs at so many scales."""
        return pairs * (scales * 4e-8 + 2e-8)


class SeparatedPairs(PairKernel):
    """Overlaps of hyperbolic space, as functions of separations that serve all scales at once."""

    @property
    def separated(self) -> SeparatedPairs:
        """Itself."""
        return self

    @abstractmethod
    def separations(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Of all pairs of two tiles: functions of the distance that are its square in the limit of small ones."""

    @abstractmethod
    def radial_terms(self, separations: FloatArray, time: float) -> PairTerms:
        """Overlaps from the separations."""

    @abstractmethod
    def half_space(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Places along the boundary of half-space, shape (n, dim - 1), and logarithms of heights over it, (n,)."""


class ZonalPairs(PairKernel):
    """Overlaps of a space with a series, from cos(winding d) of all pairs of two tiles, a matrix product."""

    def __init__(
        self,
        series: Series,
        width: int,
        *,
        rows: Callable[[NDArray[Any], slice], FloatArray],
        cosines: Callable[[FloatArray, FloatArray], FloatArray],
        distance: Callable[[FloatArray, FloatArray], FloatArray],
        loop: LoopKind | None = None,
    ) -> None:
        self._loop = loop
        #: Whether cosines are inner products of unit vectors.
        self.inner = loop is not None and loop.kind == VECTORS
        self.series, self.width, self._rows, self.cosines, self.distance = series, width, rows, cosines, distance

    @property
    def zonal(self) -> ZonalPairs:
        """Itself."""
        return self

    def rows(self, points: NDArray[Any], part: slice = slice(None)) -> FloatArray:
        """As the space has them."""
        return self._rows(points, part)

    def distances(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Distances of all pairs: by matrix product, and for close pairs, where that is not accurate, one by one."""
        cosines = self.cosines(left, right)
        rows, columns = np.nonzero(cosines > _CLOSE)
        distances = np.arccos(cosines, out=cosines)
        if self.series.winding != 1:
            distances /= self.series.winding
        block = max(1, 2**20 // left.shape[1])
        for start in range(0, len(rows), block):
            i, j = rows[start : start + block], columns[start : start + block]
            distances[i, j] = self.distance(left[i], right[j])
        return distances

    def terms(self, left: FloatArray, right: FloatArray) -> TermsOfTime:
        """From tables of the kernel, each accurate to 1e-14 of its value at distance zero."""
        return combined(self.factors(left, right), [], (len(left), len(right)), compact=True)

    def factors(self, left: FloatArray, right: FloatArray) -> list[RadialFactor]:
        """One function of the distance."""
        return [RadialFactor(self._table, self.distances(left, right).ravel())]

    def loop_factors(self) -> list[LoopFactor]:
        """One function of the angle between unit vectors in few columns, or of the gap on a circle."""
        if self._loop is None or self.width > _FEW_COLUMNS:
            return []
        kind, unit, period = self._loop
        lookup = partial(of_gap if kind == CIRCLE else of_angle, self.series)
        return [LoopFactor(kind, slice(0, self.width), lookup, unit, period)]

    def paired(self, left: FloatArray, right: FloatArray) -> OverlapsOfTime:
        """Of the distances row by row."""
        return in_one_column([RadialFactor(self._table, self.distance(left, right))])

    def _table(self, time: float) -> Radial:
        return radial(self.series, time)

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """From the series or, at fine scales, the small-time expansion."""
        return np.array([log_diagonal(self.series, float(time)) for time in times])

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """With what tables and expansions leave out, and what the rounding of coordinates does to close pairs."""
        tables = np.array([radial_error(self.series, float(time)) for time in times])  # (times, 2)
        rounded = rounding(self.series.dim, self.series.diameter, times)
        return np.asarray(self.accuracy + tables[:, 0] + tables[:, 1] / overlap + rounded)

    def seconds(self, pairs: float, scales: int) -> float:
        """Distances once, then one table lookup per scale."""
        return pairs * (scales * 6e-9 + 2e-8 + 1.4e-11 * self.width)


def combined(
    factors: list[RadialFactor], others: list[TermsOfTime], shape: tuple[int, ...], *, compact: bool = True
) -> TermsOfTime:
    """The product of functions of one distance each, and of *others*, for all pairs of two tiles.

    Overlaps multiply; (1 + e)(1 + f) - 1 = e + f + e f for the excesses. Many pairs go through compiled loops.
    """

    def by_loops(time: float) -> PairTerms:
        from ..compiled.radial_tables import multiply

        found = np.empty((3, math.prod(shape)))
        found[0], found[1:] = 1.0, 0.0
        for factor in factors:
            multiply(factor.kernel(time), factor.distances, found)
        return PairTerms(*found.reshape(3, *shape))

    def terms(time: float) -> PairTerms:
        if factors and math.prod(shape) >= MANY_PAIRS:
            parts = [by_loops(time)]
        else:
            parts = [radial_terms(factor.kernel(time), factor.distances.reshape(shape)) for factor in factors]
        parts += [other(time) for other in others]
        overlap, change, excess = parts[0]
        for own in parts[1:]:
            change, overlap = change * own.overlap + overlap * own.change, overlap * own.overlap
            if compact and excess is not None and own.excess is not None:
                # Beyond 1e150 a sum of excesses is never used: A is then taken from the diagonal.
                bounded = np.minimum(own.excess, 1e150)
                excess = np.minimum(excess, 1e150)
                excess = np.minimum(excess + bounded + excess * bounded, 1e150)
        return PairTerms(overlap, change, excess if compact else None)

    return terms


def in_one_column(factors: list[RadialFactor]) -> OverlapsOfTime:
    """The product of functions of one distance each, for pairs in a row."""
    terms = combined(factors, [], (len(factors[0].distances), 1), compact=True)
    return lambda time: terms(time).overlap[:, 0]


class Embedding(ABC):
    """Coordinates in which neighbours can be found, and the heat kernel of neighbours.

    `periods` has the period of each coordinate, inf where it does not close; None where the space is curved.
    """

    #: Dimension of the space, and number of coordinates.
    dim: int
    columns: int

    #: True where a point and its negative are one point of the space, so that the nearer of them counts.
    antipodal: bool = False

    #: Roughly, points and their images over points.
    copies: float = 1.0

    periods: FloatArray | None = None

    #: True in flat space, where no coordinate closes.
    open: bool = False

    #: Distances are known to EPS of this, because coordinates are rounded.
    size: float = 1.0

    @abstractmethod
    def coordinates(self, points: NDArray[Any]) -> FloatArray:
        """Checked points in a Euclidean space where the straight-line distance is `chord` of the distance."""

    @abstractmethod
    def chord(self, distance: Any) -> FloatArray:
        """Straight-line distance of the coordinates; its inverse is `distance`."""

    @abstractmethod
    def distance(self, chord: Any) -> FloatArray:
        """Geodesic distance from the straight-line distance of the coordinates."""

    @abstractmethod
    def small_time(self, time: float) -> SmallTime:
        """The small-time expansion of the heat kernel."""

    def images(self, coordinates: FloatArray, chord: float) -> tuple[FloatArray, IntArray]:
        """Other coordinates of the same points, at least those within *chord* of others', and whose they are.

        An infinite *chord* gives all images of all points, one block of points after another.
        """
        return coordinates[:0], np.empty(0, dtype=np.intp)


class VectorEmbedding(Embedding):
    """Unit vectors as they are, on a sphere of some radius: chord = 2 sin(d / 2 radius)."""

    def __init__(
        self,
        series: LevelSeries,
        columns: int,
        rows: Callable[[NDArray[Any], slice], FloatArray],
        *,
        radius: float = 1.0,
    ) -> None:
        self.dim, self.columns = series.dim, columns
        self._series, self._rows, self._radius = series, rows, radius
        self.size = radius

    def coordinates(self, points: NDArray[Any]) -> FloatArray:
        """The unit vectors themselves."""
        return self._rows(points, slice(None))

    def chord(self, distance: Any) -> FloatArray:
        """2 sin(distance / 2 radius)."""
        return np.asarray(2 * np.sin(np.asarray(distance) / (2 * self._radius)))

    def distance(self, chord: Any) -> FloatArray:
        """2 radius arcsin(chord / 2): unlike an arc cosine, accurate for close pairs."""
        return np.asarray(2 * self._radius * np.arcsin(np.minimum(np.asarray(chord) / 2, 1.0)))

    def small_time(self, time: float) -> SmallTime:
        """That of the series."""
        return self._series.small_time(time)


class AxisEmbedding(VectorEmbedding):
    """Unit vectors up to their sign, with the coordinate that is not negative last."""

    antipodal = True
    copies = 1.4

    def images(self, coordinates: FloatArray, chord: float) -> tuple[FloatArray, IntArray]:
        """The other ends."""
        return -coordinates, np.arange(len(coordinates))

    def coordinates(self, points: NDArray[Any]) -> FloatArray:
        """Checked points have a first coordinate that is not negative."""
        return np.roll(super().coordinates(points), -1, axis=1)


class FlatEmbedding(Embedding):
    """Cartesian coordinates, some of them periodic: the overlap of neighbours is exp(-r^2 / 8t).

    One step of a coordinate is *unit* long; *periods* are lengths.
    """

    def __init__(self, periods: FloatArray, unit: float = 1.0) -> None:
        self._unit = unit
        self.dim = self.columns = len(periods)
        self.periods: FloatArray = periods
        self.open = bool(np.isinf(periods).all())
        if not self.open:
            self.size = float(periods[np.isfinite(periods)].max())

    def coordinates(self, points: NDArray[Any]) -> FloatArray:
        """The coordinates themselves, as lengths."""
        return points if self._unit == 1 else np.asarray(points * self._unit)

    def chord(self, distance: Any) -> FloatArray:
        """The distance itself."""
        return np.asarray(distance, dtype=np.float64)

    def distance(self, chord: Any) -> FloatArray:
        """The straight-line distance itself."""
        return np.asarray(chord, dtype=np.float64)

    def small_time(self, time: float) -> SmallTime:
        """Exact but for images, which up to a quarter of the least period are below e^-60."""
        rate = 1 / (8 * time)
        density = -self.dim / 2 * math.log(8 * math.pi * time)
        reach = min(math.sqrt(640 * time), float(self.periods.min()) / 4)
        image = math.exp(-(float(self.periods.min()) ** 2) / 2 * rate) if math.isfinite(self.periods.min()) else 0.0
        return SmallTime(np.array([0.0, -rate]), np.array([0.0, rate]), density, 2 * self.dim * image, reach)


class Eigenpairs(NamedTuple):
    """The lowest eigenvalues of minus the Laplacian, shape (modes,), and the functions at points, (n, modes)."""

    values: FloatArray
    functions: FloatArray


class Rounding(NamedTuple):
    """How exact eigenpairs are: exact for a Laplacian that differs from the true one by *noise* in norm.

    But eigenpairs with eigenvalues below *gap* are not mixed among each other by it; they, and all where there is no
    noise, are right as if each link of the Laplacian were off by a share *relative* of itself.
    """

    noise: float
    gap: float
    relative: float


@dataclass(frozen=True, eq=False)
class Resolved:
    """Eigenpairs as they were found, whatever is found later: values, how exact they are, and the functions."""

    values: FloatArray
    rounding: Rounding
    at: Callable[[NDArray[Any]], FloatArray]  # the functions at points, shape (n, modes)


class Modes(Protocol):
    """The eigenpairs of a space that is not homogeneous: meshes, point clouds, graphs."""

    #: Unlike a `PairKernel`.
    on_nodes: Literal[True]

    @property
    def dim(self) -> int:
        """Dimension; 0 for graphs."""

    @property
    def volume(self) -> float:
        """Volume, or number of nodes of a graph."""

    @property
    def node_count(self) -> int:
        """Number of nodes."""

    @property
    def node_volumes(self) -> FloatArray:
        """Share of the volume at each node, in the order of the numbers that the space's points are."""

    @property
    def finest_time(self) -> float:
        """The smallest time that the eigenpairs resolve."""

    @property
    def node_edges(self) -> NDArray[np.intp]:
        """Pairs of nodes that are neighbours, shape (edges, 2)."""

    def nearest_nodes(self, points: NDArray[Any]) -> NDArray[np.intp]:
        """The node nearest to each of some points."""

    def is_uniform(self, points: NDArray[Any], weights: FloatArray) -> bool:
        """Whether these distinct *points* with these *weights* are the uniform law, to rounding of the weights."""

    def resolved(self, time: float) -> Resolved:
        """Eigenpairs that suffice at *time* and above, orthonormal for the normalised volume; the first is (0, 1)."""

    def lowest(self, count: int) -> Resolved:
        """The *count* lowest eigenpairs, or all there are if they are fewer; an `InputError` if they are too many."""

    def discretisation_error(self, times: FloatArray) -> FloatArray:
        """Estimated relative error of gESS at each time from the eigenpairs themselves not being exact."""

    def seconds(self, time: float) -> float:
        """Rough seconds that eigenpairs for *time* take; none if they are known or were asked for by their number."""

    def seconds_lowest(self, count: int) -> float:
        """The same for the *count* lowest."""

    def serves(self, time: float) -> bool:
        """Whether the eigenpairs for *time* are not more than can be found."""

    def count(self, time: float) -> int:
        """About how many eigenpairs `resolved` has at *time*."""

    def functionals(self, points: NDArray[Any]) -> Any:
        """Sparse rows r_x, shape (n, nodes), with k_2t(x, y) = r_x' G exp(-2 t S) r_y for S and G of the flow."""

    def energy(self, points: NDArray[Any], weights: FloatArray) -> float:
        """The sum over all modes but the constant, found or not, of (sum_i w_i phi(x_i))^2, with signed weights."""
