"""Pairs of close points, counted by distance: a cell grid and a compiled loop over neighbouring cells.

What is kept of the pairs is not their list but their *distance moments*: in each bin of squared
distance, the sums of w_i w_j d^q for q < 4, where d in [-1, 1] is the place in the bin. Bins have a
constant ratio (256 to an octave), so that exp(-r^2 / alpha^2) and its like, at any scale, can be summed from
them to eleven digits. One pass over the pairs then serves all scales.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numba
import numpy as np
from numpy.typing import NDArray

from ..blocks import map_rows
from ..spaces.base import FloatArray

#: Bins per octave of squared distance, as bits of the mantissa.
BIN_BITS = 8
MOMENTS = 4
_SHIFT = 52 - BIN_BITS
_MASK = (1 << _SHIFT) - 1
_STEP = 2.0 / (1 << _SHIFT)

#: Cells per cut-off length: finer cells hold fewer candidates but cost more to visit.
_REACH = 2
_GRID_AXES = 3
_MOST_CELLS = 2**20  # along an axis, so that cell numbers fit in 63 bits
_CHUNKS = 64

#: Cells per atom up to which atoms are sorted by counting.
_DENSE = 16

#: Atoms near a cell that are looked at together; their coordinates stay in the first-level cache.
_BUFFER = 1024

#: The period of a coordinate that has none.
_OPEN = 1e300

IntArray = NDArray[np.int64]


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

    @classmethod
    def of(
        cls,
        points: FloatArray,
        weights: FloatArray,
        radius: float,
        *,
        periods: FloatArray | None = None,
        antipodal: bool = False,
    ) -> Grid:
        """A grid for pairs closer than *radius*, over at most three of the coordinates.

        *periods* has an entry per coordinate, infinite where it does not close. Periodic ones lie within half a period
        of zero, and have a period of at least four times the radius.

        Where points are *antipodal*, unit vectors of which x and -x are one, the nearer of the two counts; then the
        radius must be less than sqrt(2), so that both are never within it.
        """
        ranks = np.empty(0)
        if antipodal:
            points, copied, ranks = _hemisphere(points, radius)
            weights = np.concatenate([weights, weights[copied]])
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
        least = np.maximum(radius / _REACH, lengths / _MOST_CELLS)
        # A whole number of cells to a period, so that a cell holds points or images of points, never both.
        counts = np.where(periodic, np.maximum(lengths // least, 1), lengths // least + 1).astype(np.int64)
        sides = np.where(periodic, lengths / counts, least)
        per_axis = int(counts.max()) + 4 * _REACH
        number = np.empty(count, dtype=np.int64)
        map_rows(lambda rows: _number(points[rows], low, 1 / sides, counts, per_axis, number[rows]), count)
        if periodic.any():
            points, weights, number = _with_images(points, weights, number, counts, per_axis, closing[:axes])
        dense = per_axis**axes <= _DENSE * len(points)
        order = (
            _counting_order(number, np.zeros(per_axis**axes + 1, np.int32 if len(points) < 2**31 else np.int64))
            if dense
            else np.argsort(number)
        )
        number = number[order]
        first = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])
        sorted_columns = np.zeros((max(columns, 3), len(points)))
        map_rows(lambda rows: _take(points, order[rows], sorted_columns[:, rows]), len(points))
        starts = np.append(first, len(points))
        neighbours = _rows(axes, per_axis)
        ranks = ranks[order] if antipodal else ranks
        mine = order[first] < count
        return cls(sorted_columns, np.take(weights, order), number[first], starts, *neighbours, mine, closing, ranks)

    @classmethod
    def whole(cls, points: FloatArray, weights: FloatArray) -> Grid:
        """A grid in which every cell is next to every other, for all pairs."""
        columns = np.zeros((max(points.shape[1], 3), len(points)))
        columns[: points.shape[1]] = points.T
        first = np.arange(0, len(points), _BUFFER // 4)
        cells = np.arange(len(first))
        offsets, widths = np.zeros(1, dtype=np.int64), np.array([len(first)])
        closing = np.full(len(columns), _OPEN)
        return cls(
            columns,
            np.ascontiguousarray(weights),
            cells,
            np.append(first, len(points)),
            offsets,
            widths,
            np.ones(len(first), dtype=bool),
            closing,
            np.empty(0),
        )

    def candidates(self) -> IntArray:
        """Pairs of points in neighbouring cells, for each cell: what a sum over close pairs has to look at."""
        return np.asarray(_candidates(self.cells, self.starts, self.offsets, self.widths, self.owned))


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
    bounds = np.searchsorted(cost, np.linspace(0, cost[-1], _CHUNKS + 1)[1:-1])
    bounds = np.concatenate([[0], bounds, [len(grid.cells)]]).astype(np.int64)

    def chunk(part: slice) -> FloatArray:
        first, last = bounds[part.start], bounds[part.start + 1]
        found = np.zeros((bins, MOMENTS))
        _pair_moments(
            grid.points,
            grid.weights,
            grid.ranks,
            grid.cells,
            grid.starts,
            grid.offsets,
            grid.widths,
            grid.owned,
            grid.periods,
            first,
            last,
            radius**2,
            base,
            found,
        )
        return found

    # Threads of our own rather than the compiler's, which do not survive a fork.
    chunks = np.sum(map_rows(chunk, _CHUNKS, 1), axis=0)
    return _moments(base, chunks)


class TileMoments:
    """Distance moments of all pairs, given tile by tile; pairs closer than *least* go into one bin at distance zero."""

    def __init__(self, least: float, threads: int) -> None:
        self._base = _bin(least**2) - 1
        self._tables = np.zeros((threads, _bin(_OPEN) - self._base + 1, MOMENTS))

    def add(self, thread: int, squares: FloatArray, left: FloatArray, right: FloatArray) -> None:
        """Add all pairs of a tile of squared distances, with the weights of its rows and columns."""
        _add_tile(squares, left, np.ascontiguousarray(right), self._base, self._tables[thread])

    def total(self) -> DistanceMoments:
        """The sums so far, over all pairs that were added."""
        return _moments(self._base, self._tables.sum(axis=0))


def _moments(base: int, values: FloatArray) -> DistanceMoments:
    edges = (np.arange(base, base + len(values) + 1, dtype=np.int64) << _SHIFT).view(np.float64)
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


def _bin(square: float) -> int:
    return int(np.float64(square).view(np.int64) >> _SHIFT)


def _rows(axes: int, per_axis: int) -> tuple[IntArray, IntArray]:
    """Half of the neighbourhood as runs of consecutive cells: the cell itself with those after it comes first."""
    shifts = [0]
    for axis in range(1, axes):
        stride = per_axis**axis
        shifts = [shift + step * stride for step in range(-_REACH, _REACH + 1) for shift in shifts]
    ahead = sorted(shift for shift in shifts if shift > 0)
    offsets = np.array([0] + [shift - _REACH for shift in ahead], dtype=np.int64)
    widths = np.array([_REACH] + [2 * _REACH] * len(ahead), dtype=np.int64)
    return offsets, widths


def _with_images(
    points: FloatArray,
    weights: FloatArray,
    number: IntArray,
    counts: IntArray,
    per_axis: int,
    periods: FloatArray,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Add the images of points near a face of a torus that lie near the opposite face, outside.

    If an image of j is near i then so is an image of i near j, as many cells ahead as the other is behind. Half of the
    neighbourhood of the cells that are not images therefore has each pair once.
    """
    axes = len(counts)
    strides = [per_axis**axis for axis in range(axes)]
    places = [number // stride % per_axis - _REACH for stride in strides]
    near = [{1: place < _REACH, -1: place >= count - _REACH} for place, count in zip(places, counts, strict=True)]
    found = [(points, weights, number)]
    for shift in product(*((-1, 0, 1) if period < _OPEN else (0,) for period in periods)):
        moved = [axis for axis in range(axes) if shift[axis]]
        if moved:
            rows = np.flatnonzero(np.logical_and.reduce([near[axis][shift[axis]] for axis in moved]))
            step = sum(shift[axis] * int(counts[axis]) * strides[axis] for axis in moved)
            images = points[rows]
            images[:, moved] += [shift[axis] * periods[axis] for axis in moved]
            found.append((images, weights[rows], number[rows] + step))
    return (
        np.concatenate([part[0] for part in found]),
        np.concatenate([part[1] for part in found]),
        np.concatenate([part[2] for part in found]),
    )


@numba.njit(cache=True, nogil=True)
def _number(points, low, inverse_sides, counts, per_axis, number):  # type: ignore[no-untyped-def]
    """The number of each point's cell, counts[axis] of which there are along an axis."""
    for i in range(len(points)):
        cell, stride = np.int64(0), np.int64(1)
        for axis in range(len(low)):
            place = min(np.int64((points[i, axis] - low[axis]) * inverse_sides[axis]), counts[axis] - 1)
            cell += (place + _REACH) * stride
            stride *= per_axis
        number[i] = cell


@numba.njit(cache=True)
def _counting_order(number, place):  # type: ignore[no-untyped-def]
    """The permutation that sorts *number*; *place* has a zero for each cell and one more."""
    for i in range(len(number)):
        place[number[i] + 1] += 1
    for cell in range(len(place) - 1):
        place[cell + 1] += place[cell]
    order = np.empty(len(number), np.int64)
    for i in range(len(number)):
        order[place[number[i]]] = i
        place[number[i]] += 1
    return order


@numba.njit(cache=True, nogil=True)
def _take(points, order, columns):  # type: ignore[no-untyped-def]
    for k in range(len(order)):
        for axis in range(points.shape[1]):
            columns[axis, k] = points[order[k], axis]


@numba.njit(cache=True)
def _neighbour_runs(cells, starts, offset, width, first, last, low, high):  # type: ignore[no-untyped-def]
    """Points in cells number + offset ... number + offset + width, for the cells first ... last - 1."""
    begin = np.searchsorted(cells, cells[first] + offset)
    end = begin
    for cell in range(first, last):
        wanted = cells[cell] + offset
        while begin < len(cells) and cells[begin] < wanted:
            begin += 1
        end = max(begin, end)
        while end < len(cells) and cells[end] <= wanted + width:
            end += 1
        low[cell - first] = starts[begin]
        high[cell - first] = starts[end]


@numba.njit(cache=True)
def _candidates(cells, starts, offsets, widths, owned):  # type: ignore[no-untyped-def]
    count = len(cells)
    low, high = np.empty(count, np.int64), np.empty(count, np.int64)
    found = np.zeros(count, np.int64)
    for row in range(len(offsets)):
        _neighbour_runs(cells, starts, offsets[row], widths[row], 0, count, low, high)
        for cell in range(count):
            mine = starts[cell + 1] - starts[cell] if owned[cell] else 0
            found[cell] += mine * (high[cell] - low[cell])
            if row == 0:
                found[cell] -= mine * (mine + 1) // 2
    return found


@numba.njit(cache=True, nogil=True, fastmath=True)
def _pair_moments(  # type: ignore[no-untyped-def]
    points, weights, ranks, cells, starts, offsets, widths, owned, periods, first, last, square, base, found
):
    """Add the pairs of the cells first ... last - 1 to *found*.

    The atoms near a cell are copied side by side, so that the loops over them are long enough for vector registers.
    """
    if first >= last:
        return
    rows = len(offsets)
    low, high = np.empty((rows, last - first), np.int64), np.empty((rows, last - first), np.int64)
    for row in range(rows):
        _neighbour_runs(cells, starts, offsets[row], widths[row], first, last, low[row], high[row])
    # Rows are not a multiple of 4 KiB apart, at which a write to one would hold up the reading of another.
    room = np.empty((len(points) + 6, _BUFFER + 40))
    near, near_weights, near_ranks = room[: len(points)], room[len(points)], room[len(points) + 1]
    work = room[len(points) + 2 :]
    for cell in range(first, last):
        if not owned[cell]:
            continue
        size, origin = 0, 0
        for row in range(rows):
            j = starts[cell] if row == 0 else low[row, cell - first]
            end = high[row, cell - first]
            is_last = row == rows - 1
            while j < end or (is_last and size > 0):
                if size == 0:
                    origin = j if row == 0 else len(weights)
                step = min(end - j, _BUFFER - size)
                for axis in range(len(points)):
                    near[axis, size : size + step] = points[axis, j : j + step]
                near_weights[size : size + step] = weights[j : j + step]
                if len(ranks):
                    near_ranks[size : size + step] = ranks[j : j + step]
                size += step
                j += step
                if size == _BUFFER or (is_last and j == end):
                    mine = slice(starts[cell], starts[cell + 1])
                    _add_near(
                        points,
                        weights,
                        ranks,
                        periods,
                        mine,
                        near,
                        near_weights,
                        near_ranks,
                        size,
                        origin,
                        square,
                        base,
                        work,
                        found,
                    )
                    size = 0


@numba.njit(inline="always")
def _add_near(  # type: ignore[no-untyped-def]
    points, weights, ranks, periods, mine, near, near_weights, near_ranks, size, origin, square, base, work, found
):
    """Add the pairs of the atoms *mine* with those copied, of which atom *origin* and its successors come first.

    Slices rather than offsets, and unsigned numbers, because an index that may be negative keeps a loop out of
    vector registers.
    """
    squares, close, close_weights, bins = work[0], work[1], work[2], work[3].view(np.int64)
    lowest = near_ranks[:size].min() if len(ranks) else 0.0
    for i in range(mine.start, mine.stop):
        skip = min(max(i + 1 - origin, 0), size)
        x, y, z = near[0, skip:size], near[1, skip:size], near[2, skip:size]
        w = near_weights[skip:size]
        x_i, y_i, z_i = points[0, i], points[1, i], points[2, i]
        for k in range(len(x)):
            squares[k] = (x[k] - x_i) ** 2 + (y[k] - y_i) ** 2 + (z[k] - z_i) ** 2
        for axis in range(3, len(points)):
            u, u_i, period = near[axis, skip:size], points[axis, i], periods[axis]
            for k in range(len(u)):
                gap = abs(u[k] - u_i)
                squares[k] += min(gap, period - gap) ** 2
        if len(ranks) and lowest + ranks[i] <= 0.0:  # near the edge of a hemisphere
            rank, rank_i = near_ranks[skip:size], ranks[i]
            for k in range(len(rank)):
                squares[k] = squares[k] if rank[k] + rank_i > 0.0 else square
        kept = np.uint64(0)
        for k in range(len(w)):  # every pair is written, and the next one over it if it was too far
            close[kept] = squares[k]
            close_weights[kept] = w[k]
            kept += np.uint64(squares[k] < square)
        count = np.int64(kept)
        for k in range(count):  # exponent and leading mantissa bits are the bin, the rest is the place in it
            bits = np.float64(close[k]).view(np.int64)
            bins[k] = max((bits >> _SHIFT) - base, 0)
            close[k] = (bits & _MASK) * _STEP - 1.0
        for k in range(count):
            place, weight = close[k], close_weights[k] * weights[i]
            odd, even = weight * place, place * place
            row = found[np.uint64(bins[k])]
            row[0] += weight
            row[1] += odd
            row[2] += weight * even
            row[3] += odd * even


@numba.njit(cache=True, nogil=True, fastmath=True)
def _add_tile(squares, left, right, base, found):  # type: ignore[no-untyped-def]
    """Add every pair of a tile to *found*."""
    for i in range(len(squares)):
        for k in range(squares.shape[1]):
            bits = np.float64(squares[i, k]).view(np.int64)
            place, weight = (bits & _MASK) * _STEP - 1.0, left[i] * right[k]
            odd, even = weight * place, place * place
            row = found[np.uint64(max((bits >> _SHIFT) - base, 0))]
            row[0] += weight
            row[1] += odd
            row[2] += weight * even
            row[3] += odd * even
