"""Pairs of close points, counted by distance: a grid of cells, and what is kept of the pairs.

What is kept of the pairs is not their list but their *distance moments*: in each bin of squared
distance, the sums of w_i w_j d^q for q < 4, where d in [-1, 1] is the place in the bin. Bins have a
constant ratio (256 to an octave), so that exp(-r^2 / alpha^2) and its like, at any scale, can be summed from
them to eleven digits. One pass over the pairs then serves all scales.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import in_lanes, map_rows, share_out, thread_count
from ..base.pool import until_stopped
from ..compiled.cells import (
    BUFFER,
    REACH,
    SHIFT,
    add_tile,
    counting_order,
    list_pairs,
    neighbour_runs,
    number_cells,
    pair_moments,
    take,
)

MOMENTS = 4
_GRID_AXES = 3
_MOST_CELLS = 2**20  # along an axis, so that cell numbers fit in 63 bits
_CHUNKS = 64

#: Pairs to look at by a thread before another one pays.
_WORTH_THREADS = 1_000_000

#: Pairs that a thread looks at, roughly, before it looks whether they are still wanted.
_PIECE = 1e8

#: Pairs to look at whose list is kept at once.
_LISTED = 2**18

#: Cells whose neighbours are counted together, in the second-level cache.
_CELLS = 4096

#: Cells per atom up to which atoms are sorted by counting.
_DENSE = 16

#: The period of a coordinate that has none.
_OPEN = 1e300


@dataclass(frozen=True, eq=False)
class Grid:
    """Points sorted by cell; cells are numbered so that neighbours along the first axis are consecutive."""

    points: FloatArray  # (at least 3, n), sorted, with columns of zeros if there are fewer
    weights: FloatArray  # (n,), sorted
    cells: IntArray  # numbers of the occupied cells, increasing
    starts: IntArray  # first point of each cell, and n
    offsets: IntArray  # rows of neighbouring cells, each counted once: first cell relative to a cell ...
    widths: IntArray  # ... and how many cells follow it
    owned: NDArray[np.bool_]  # cells of points rather than of their images across the faces of a torus
    periods: FloatArray  # of each coordinate, used for those that cells are not made of
    ranks: FloatArray  # empty, or (n,), sorted: a pair counts if the sum of its ranks is positive
    rows: IntArray  # (n,): which of the points that were given each is, or is an image of

    @classmethod
    def of(
        cls,
        points: FloatArray,
        weights: FloatArray,
        radius: float,
        *,
        periods: FloatArray | None = None,
        antipodal: bool = False,
        images: tuple[FloatArray, IntArray] | None = None,
    ) -> Grid:
        """A grid for pairs closer than *radius*, over at most three of the coordinates.

        *periods* has an entry per coordinate, infinite where it does not close. Periodic ones lie within half a period
        of zero, and have a period of at least four times the radius.

        Where points are *antipodal*, unit vectors of which x and -x are one, the nearer of the two counts; then the
        radius must be less than sqrt(2), so that both are never within it. Other *images* of points, with the rows of
        those, are all that lie within the radius of a point; no two of one point are within twice the radius.
        """
        ranks, rows = np.empty(0), np.arange(len(points))
        if antipodal or (images is not None and len(images[1])):
            points, copied, ranks = _hemisphere(points, radius) if images is None else _with_ranks(points, *images)
            weights, rows = np.concatenate([weights, weights[copied]]), np.concatenate([rows, copied])
        points = np.ascontiguousarray(points)  # loops are compiled for every memory order they meet
        count, columns = points.shape
        axes = min(columns, _GRID_AXES)
        closing = np.full(max(columns, 3), _OPEN)
        if periods is not None:
            closing[:columns] = np.minimum(periods, _OPEN)
        periodic = closing[:axes] < _OPEN
        lowest = np.array([points[:, axis].min() for axis in range(axes)])
        extents = np.array([points[:, axis].max() for axis in range(axes)]) - lowest
        low = np.where(periodic, -closing[:axes] / 2, lowest)
        lengths = np.where(periodic, closing[:axes], extents)
        least = np.maximum(radius / REACH, lengths / _MOST_CELLS)
        # A whole number of cells to a period, so that a cell holds points or images of points, never both.
        counts = np.where(periodic, np.maximum(lengths // least, 1), lengths // least + 1).astype(np.int64)
        sides = np.where(periodic, lengths / counts, least)
        per_axis = int(counts.max()) + 4 * REACH
        number = np.empty(count, dtype=np.int64)
        map_rows(lambda rows: number_cells(points[rows], low, 1 / sides, counts, per_axis, number[rows]), count)
        if periodic.any():
            points, rows, number = _with_images(points, number, counts, per_axis, closing[:axes])
            weights = weights[rows]
        dense = per_axis**axes <= _DENSE * len(points)
        kind = np.int32 if len(points) < 2**31 else np.int64
        if dense:
            order = np.empty(len(points), dtype=np.int64)
            counting_order(number, np.zeros(per_axis**axes + 1, kind), order)
        else:
            order = np.argsort(number)
        number = number[order]
        first = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])
        sorted_columns = np.zeros((max(columns, 3), len(points)))
        map_rows(lambda rows: take(points, order, rows.start, rows.stop, sorted_columns), len(points))
        starts = np.append(first, len(points))
        neighbours = _rows(axes, per_axis)
        ranks = ranks[order] if len(ranks) else ranks
        mine = order[first] < count
        found = number[first], starts, *neighbours, mine, closing, ranks, np.take(rows, order)
        return cls(sorted_columns, np.take(weights, order), *found)

    @classmethod
    def whole(cls, points: FloatArray, weights: FloatArray) -> Grid:
        """A grid in which every cell is next to every other, for all pairs."""
        columns = np.zeros((max(points.shape[1], 3), len(points)))
        columns[: points.shape[1]] = points.T
        starts = np.append(np.arange(0, len(points), BUFFER // 4), len(points))
        cells, owned = np.arange(len(starts) - 1), np.ones(len(starts) - 1, dtype=bool)
        neighbours = np.zeros(1, dtype=np.int64), np.array([len(cells)])
        closing, no_ranks = np.full(len(columns), _OPEN), np.empty(0)
        every = np.arange(len(points))
        return cls(columns, np.ascontiguousarray(weights), cells, starts, *neighbours, owned, closing, no_ranks, every)

    def candidates(self) -> IntArray:
        """Pairs of points in neighbouring cells, for each cell: what a sum over close pairs has to look at."""
        found = np.empty(len(self.cells), dtype=np.int64)

        def count(part: slice) -> None:
            low, high = self.runs(part.start, part.stop)
            mine = np.where(self.owned[part], np.diff(self.starts[part.start : part.stop + 1]), 0)
            found[part] = mine * (high - low).sum(axis=0) - mine * (mine + 1) // 2

        map_rows(count, len(self.cells), _CELLS)
        return found

    def runs(self, first: int, last: int) -> tuple[IntArray, IntArray]:
        """The first point, and the one after the last, in each row of cells near the cells first ... last - 1."""
        low, high = np.empty((2, len(self.offsets), last - first), dtype=np.int64)
        neighbour_runs(self.cells, self.starts, self.offsets, self.widths, first, last, low, high)
        return low, high


@dataclass(frozen=True, eq=False)
class DistanceMoments:
    """Sums over pairs of w_i w_j d^q in each bin of squared distance, shape (bins, 4)."""

    centres: FloatArray
    half_widths: FloatArray
    values: FloatArray

    def sum(self, function: Callable[[FloatArray], FloatArray], most: float) -> FloatArray:
        """Sums over pairs of w_i w_j f(squared distance), for smooth functions f that vanish beyond *most*.

        *function* takes an array and returns the values of one or more functions, stacked along the first axis.
        """
        used = (self.values[:, 0] > 0) & (self.centres - self.half_widths < most)
        nodes = np.cos((np.arange(MOMENTS) + 0.5) * np.pi / MOMENTS)
        at_nodes = function(self.centres[used, None] + self.half_widths[used, None] * nodes)  # (functions, bins, nodes)
        to_powers = np.linalg.inv(np.vander(nodes, increasing=True))  # (powers, nodes)
        return np.asarray(np.tensordot(at_nodes, self.values[used] @ to_powers, axes=2))


def distance_moments(grid: Grid, least: float, radius: float) -> DistanceMoments:
    """Moments of all pairs closer than *radius*; those closer than *least* go into one bin at distance zero."""
    base = _bin(least**2) - 1
    bins = _bin(radius**2) - base + 1
    cost = np.cumsum(grid.candidates() + 1)
    # By the work, and not by the threads, so that the sums of chunks add up to the same however many there are.
    chunks = int(np.clip(cost[-1] // _WORTH_THREADS, 1, _CHUNKS))
    bounds = np.searchsorted(cost, np.linspace(0, cost[-1], chunks + 1)[1:-1])
    bounds = np.concatenate([[0], bounds, [len(grid.cells)]]).astype(np.int64)
    atoms = (grid.points, grid.weights, grid.ranks, grid.periods, grid.starts, grid.owned)
    found = np.zeros((chunks, bins, MOMENTS))

    def add(_: int, chunk: int) -> None:
        # Rows are not a multiple of 4 KiB apart, at which a write to one would hold up the reading of another.
        room, numbers = np.empty((len(grid.points) + 5, BUFFER + 40)), np.empty(BUFFER, dtype=np.int64)
        pieces = int(cost[-1] / chunks / _PIECE) + 1
        edges = np.unique(np.linspace(bounds[chunk], bounds[chunk + 1], pieces + 1).astype(np.int64))
        for first, last in until_stopped(pairwise(edges.tolist())):
            near = grid.runs(first, last)
            pair_moments(*atoms, first, *near, radius**2, base, room, numbers, found[chunk])

    # Threads of our own rather than the compiler's, which do not survive a fork.
    share_out(range(chunks), add, thread_count() if chunks > 1 else 1)
    return _moments(base, found.sum(axis=0))


def each_close_pair(
    grid: Grid, radius: float, add: Callable[[int, IntArray, IntArray, FloatArray], None], lanes: int
) -> None:
    """Call `add(lane, i, j, squares)` for all pairs of places of the grid closer than *radius*, some at a time.

    Each lane has its pairs in order, so that the number of threads changes no digit.
    """
    cost = np.cumsum(grid.candidates() + 1)
    chunks = int(cost[-1] // _LISTED) + 1
    bounds = np.searchsorted(cost, np.linspace(0, cost[-1], chunks + 1)[1:-1])
    bounds = np.unique(np.concatenate([[0], bounds, [len(grid.cells)]]).astype(np.int64))
    atoms = (grid.points, grid.ranks, grid.periods, grid.starts, grid.owned)

    def take(lane: int, chunk: int) -> None:
        first, last = bounds[chunk], bounds[chunk + 1]
        room = int(cost[last - 1] - (cost[first - 1] if first else 0)) + 1
        i, j = np.empty((2, room), dtype=np.int64)
        squares = np.empty(room)
        count = list_pairs(*atoms, first, *grid.runs(first, last), radius**2, i, j, squares)
        add(lane, i[:count], j[:count], squares[:count])

    in_lanes(range(len(bounds) - 1), take, lanes, thread_count())


class TileMoments:
    """Distance moments of all pairs, given tile by tile; pairs closer than *least* go into one bin at distance zero.

    No squared distance is above *most*.
    """

    def __init__(self, least: float, lanes: int, most: float = _OPEN) -> None:
        self._base = _bin(least**2) - 1
        self._tables = np.zeros((lanes, _bin(most) - self._base + 1, MOMENTS))

    def lane(self, lane: int) -> tuple[int, FloatArray]:
        """The number of the first bin, and the table of one lane, for loops that add to it."""
        return self._base, self._tables[lane]

    def add(self, lane: int, squares: FloatArray, left: FloatArray, right: FloatArray) -> None:
        """Add all pairs of a tile of squared distances, with the weights of its rows and columns."""
        add_tile(squares, left, np.ascontiguousarray(right), self._base, self._tables[lane])

    def total(self) -> DistanceMoments:
        """The sums so far, over all pairs that were added."""
        return _moments(self._base, self._tables.sum(axis=0))


def _moments(base: int, values: FloatArray) -> DistanceMoments:
    edges = (np.arange(base, base + len(values) + 1, dtype=np.int64) << SHIFT).view(np.float64)
    centres, half_widths = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    centres[0] = half_widths[0] = 0.0
    return DistanceMoments(centres, half_widths, values)


def _hemisphere(points: FloatArray, radius: float) -> tuple[FloatArray, IntArray, FloatArray]:
    """Lines through the origin as unit vectors of one hemisphere, and the negatives of those near its edge.

    The hemisphere is that of the largest coordinate, which comes last and is its height. If x and -y are within the
    radius, heights add up to no more than that, so the lower of x and y is below half of it: every pair across the
    edge has its lower atom copied. Ranks go up with the height from 1 to n, and a copy has minus the rank of its
    original. So pairs of which the sum of ranks is positive are those on one side of the edge, taken once, and
    across it those of an atom with the copy of a lower one.

    Returns the points and then the copies, the rows copied, and the ranks of all.
    """
    highest = int(np.argmax(np.einsum("ij,ij->j", points, points)))
    turned = np.where(points[:, highest, None] < 0, -points, points)
    turned[:, [highest, -1]] = turned[:, [-1, highest]]
    height = turned[:, -1]
    order = np.argsort(height)
    ranks = np.empty(len(points))
    ranks[order] = np.arange(1, len(points) + 1)
    copied = order[: np.searchsorted(height[order], radius / 2 * (1 + 1e-9), side="right")]
    return np.concatenate([turned, -turned[copied]]), copied, np.concatenate([ranks, -ranks[copied]])


def _with_ranks(points: FloatArray, images: FloatArray, copied: IntArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """Points and then images, the rows of these, and ranks: of i and an image of j, or j and one of i, one counts."""
    ranks = np.arange(1.0, len(points) + 1)
    return np.concatenate([points, images]), copied, np.concatenate([ranks, -ranks[copied]])


def _bin(square: float) -> int:
    return int(np.float64(square).view(np.int64) >> SHIFT)


def _rows(axes: int, per_axis: int) -> tuple[IntArray, IntArray]:
    """Half of the neighbourhood as runs of consecutive cells: the cell itself with those after it comes first."""
    shifts = [0]
    for axis in range(1, axes):
        stride = per_axis**axis
        shifts = [shift + step * stride for step in range(-REACH, REACH + 1) for shift in shifts]
    ahead = sorted(shift for shift in shifts if shift > 0)
    offsets = np.array([0] + [shift - REACH for shift in ahead], dtype=np.int64)
    widths = np.array([REACH] + [2 * REACH] * len(ahead), dtype=np.int64)
    return offsets, widths


def _with_images(
    points: FloatArray, number: IntArray, counts: IntArray, per_axis: int, periods: FloatArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """Add the images of points near a face of a torus that lie near the opposite face, outside.

    Returns all points, which of the given ones each is or is an image of, and the numbers of their cells.

    If an image of j is near i then so is an image of i near j, as many cells ahead as the other is behind. Half of the
    neighbourhood of the cells that are not images therefore has each pair once.
    """
    axes = len(counts)
    strides = [per_axis**axis for axis in range(axes)]
    places = [number // stride % per_axis - REACH for stride in strides]
    near = [{1: place < REACH, -1: place >= count - REACH} for place, count in zip(places, counts, strict=True)]
    found = [(points, np.arange(len(points)), number)]
    for shift in product(*((-1, 0, 1) if period < _OPEN else (0,) for period in periods)):
        moved = [axis for axis in range(axes) if shift[axis]]
        if moved:
            rows = np.flatnonzero(np.logical_and.reduce([near[axis][shift[axis]] for axis in moved]))
            step = sum(shift[axis] * int(counts[axis]) * strides[axis] for axis in moved)
            images = points[rows]
            images[:, moved] += [shift[axis] * periods[axis] for axis in moved]
            found.append((images, rows, number[rows] + step))
    return (
        np.concatenate([part[0] for part in found]),
        np.concatenate([part[1] for part in found]),
        np.concatenate([part[2] for part in found]),
    )
