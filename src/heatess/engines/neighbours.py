"""Pairs of close points, counted by distance: a cell grid and a compiled loop over neighbouring cells.

What is kept of the pairs is not their list but their *distance moments*: in each bin of squared
distance, the sums of w_i w_j d^q for q < 6, where d in [-1, 1] is the place in the bin. Bins have a
constant ratio (64 to an octave), so that any smooth function of the distance, at any scale, can be summed
from them to ten digits. One pass over the pairs then serves all scales.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ..blocks import map_rows
from ..spaces.base import FloatArray

#: Bins per octave of squared distance, as bits of the mantissa.
BIN_BITS = 6
MOMENTS = 6
_SHIFT = 52 - BIN_BITS
_MASK = (1 << _SHIFT) - 1
_STEP = 2.0 / (1 << _SHIFT)

#: Cells per cut-off length: finer cells hold fewer candidates but cost more to visit.
_REACH = 2
_GRID_AXES = 3
_CHUNKS = 64

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grid:
    """Points sorted by cell; cells are numbered so that neighbours along the first axis are consecutive."""

    points: FloatArray  # (dim, n), sorted
    weights: FloatArray  # (n,), sorted
    cells: IntArray  # numbers of the occupied cells, increasing
    starts: IntArray  # first point of each cell, and n
    offsets: IntArray  # rows of neighbouring cells, each counted once: first cell relative to a cell ...
    widths: IntArray  # ... and how many cells follow it

    @classmethod
    def of(cls, points: FloatArray, weights: FloatArray, radius: float) -> Grid:
        """A grid for pairs closer than *radius*, over at most three of the coordinates."""
        axes = min(points.shape[1], _GRID_AXES)
        low = points[:, :axes].min(axis=0)
        extent = float((points[:, :axes].max(axis=0) - low).max())
        side = max(radius / _REACH, extent / 2**20)  # so that cell numbers fit in 63 bits
        per_axis = int(extent / side) + 4 * _REACH
        number = np.zeros(len(points), dtype=np.int64)

        def fill(rows: slice) -> None:
            for axis in range(axes):
                place = (points[rows, axis] - low[axis]) * (1 / side) + _REACH
                number[rows] += place.astype(np.int64) * per_axis**axis

        map_rows(fill, len(points))
        order = np.argsort(number)
        sorted_numbers = number[order]
        first = np.concatenate([[0], np.flatnonzero(np.diff(sorted_numbers)) + 1])
        offsets, widths = _rows(axes, per_axis)
        return cls(
            np.ascontiguousarray(points[order].T),
            weights[order],
            sorted_numbers[first],
            np.append(first, len(points)),
            offsets,
            widths,
        )

    def candidates(self) -> IntArray:
        """Pairs of points in neighbouring cells, for each cell: what a sum over close pairs has to look at."""
        return np.asarray(_candidates(self.cells, self.starts, self.offsets, self.widths))


@dataclass(frozen=True, eq=False)
class DistanceMoments:
    """Sums over pairs i < j of w_i w_j d^q in each bin of squared distance, shape (bins, 6)."""

    centres: FloatArray
    half_widths: FloatArray
    values: FloatArray

    def sum(self, function: Any) -> float:
        """Sum over pairs of w_i w_j f(squared distance), for a smooth *function* of an array."""
        nodes = np.cos((np.arange(MOMENTS) + 0.5) * np.pi / MOMENTS)
        at_nodes = function(self.centres[:, None] + self.half_widths[:, None] * nodes)  # (bins, nodes)
        coefficients = np.linalg.solve(np.vander(nodes, increasing=True), at_nodes.T)  # (powers, bins)
        return float(np.einsum("qb,bq->", coefficients, self.values))


def distance_moments(grid: Grid, least: float, radius: float) -> DistanceMoments:
    """Moments of all pairs closer than *radius*; those closer than *least* go into one bin at distance zero."""
    base = _bin(least**2) - 1
    bins = _bin(radius**2) - base + 1
    cost = np.cumsum(grid.candidates() + 1)
    bounds = np.searchsorted(cost, np.linspace(0, cost[-1], _CHUNKS + 1)[1:-1])
    bounds = np.concatenate([[0], bounds, [len(grid.cells)]]).astype(np.int64)

    def chunk(part: slice) -> FloatArray:
        first, last = bounds[part.start], bounds[part.start + 1]
        found = np.zeros((bins, 8))
        _pair_moments(
            grid.points,
            grid.weights,
            grid.cells,
            grid.starts,
            grid.offsets,
            grid.widths,
            first,
            last,
            radius**2,
            base,
            found,
        )
        return found

    # Threads of our own rather than the compiler's, which do not survive a fork.
    chunks = np.sum(map_rows(chunk, _CHUNKS, 1), axis=0)
    edges = (np.arange(base, base + bins + 1, dtype=np.int64) << _SHIFT).view(np.float64)
    centres, half_widths = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    centres[0] = half_widths[0] = 0.0
    return DistanceMoments(centres, half_widths, chunks[:, :MOMENTS])


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
def _candidates(cells, starts, offsets, widths):  # type: ignore[no-untyped-def]
    count = len(cells)
    low, high = np.empty(count, np.int64), np.empty(count, np.int64)
    found = np.zeros(count, np.int64)
    for row in range(len(offsets)):
        _neighbour_runs(cells, starts, offsets[row], widths[row], 0, count, low, high)
        for cell in range(count):
            mine = starts[cell + 1] - starts[cell]
            found[cell] += mine * (high[cell] - low[cell])
            if row == 0:
                found[cell] -= mine * (mine + 1) // 2
    return found


@numba.njit(cache=True, nogil=True, fastmath=True)
def _pair_moments(points, weights, cells, starts, offsets, widths, first, last, square, base, found):  # type: ignore[no-untyped-def]
    """Add the pairs of the cells first ... last - 1 to *found*."""
    if first >= last:
        return
    rows = len(offsets)
    low, high = np.empty((rows, last - first), np.int64), np.empty((rows, last - first), np.int64)
    for row in range(rows):
        _neighbour_runs(cells, starts, offsets[row], widths[row], first, last, low[row], high[row])
    distance = np.empty(512)
    for cell in range(first, last):
        for i in range(starts[cell], starts[cell + 1]):
            for row in range(rows):
                j = i + 1 if row == 0 else low[row, cell - first]
                end = high[row, cell - first]
                while j < end:
                    size = min(end - j, 512)
                    _squares(points, i, j, size, distance)
                    for k in range(size):
                        if distance[k] < square:
                            _add(found, distance[k], weights[i] * weights[j + k], base)
                    j += size


@numba.njit(inline="always")
def _squares(points, i, j, size, distance):  # type: ignore[no-untyped-def]
    """|x_i - x_(j+k)|^2 for k < size, one coordinate after another so that the loop runs in vector registers."""
    for k in range(size):
        step = points[0, j + k] - points[0, i]
        distance[k] = step * step
    for axis in range(1, points.shape[0]):
        for k in range(size):
            step = points[axis, j + k] - points[axis, i]
            distance[k] += step * step


@numba.njit(inline="always")
def _add(found, square, weight, base):  # type: ignore[no-untyped-def]
    """Add one pair to its bin: exponent and leading mantissa bits are the bin, the rest is the place in it."""
    bits = np.float64(square).view(np.int64)
    index = (bits >> _SHIFT) - base
    place = (bits & _MASK) * _STEP - 1.0
    if index <= 0:
        index, place = 0, 0.0 * place
    even = place * place
    row = found[index]
    odd = weight * place
    row[0] += weight
    row[1] += odd
    row[2] += weight * even
    row[3] += odd * even
    row[4] += weight * even * even
    row[5] += odd * even * even
