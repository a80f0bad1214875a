"""Compiled loops over the cells of a grid, and over tiles of squared distances; see `engines.cells`."""

from __future__ import annotations

import numba
import numpy as np

from . import compiled

#: Bins per octave of squared distance, as bits of the mantissa.
BIN_BITS = 8
SHIFT = 52 - BIN_BITS
_MASK = (1 << SHIFT) - 1
_STEP = 2.0 / (1 << SHIFT)

#: Cells per cut-off length: finer cells hold fewer candidates but cost more to visit.
REACH = 2

#: Atoms near a cell that are looked at together; their coordinates stay in the first-level cache.
BUFFER = 1024


@compiled(nogil=True)
def number_cells(points, low, inverse_sides, counts, per_axis, number):  # type: ignore[no-untyped-def]
    """The number of each point's cell, counts[axis] of which there are along an axis."""
    for i in range(len(points)):
        cell, stride = np.int64(0), np.int64(1)
        for axis in range(len(low)):
            place = min(np.int64((points[i, axis] - low[axis]) * inverse_sides[axis]), counts[axis] - 1)
            cell += (place + REACH) * stride
            stride *= per_axis
        number[i] = cell


@compiled()
def counting_order(number, place):  # type: ignore[no-untyped-def]
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


@compiled(nogil=True)
def take(points, order, columns):  # type: ignore[no-untyped-def]
    """Points in the given order, as columns."""
    for k in range(len(order)):
        for axis in range(points.shape[1]):
            columns[axis, k] = points[order[k], axis]


@compiled()
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


@compiled()
def candidates(cells, starts, offsets, widths, owned):  # type: ignore[no-untyped-def]
    """Pairs of points in neighbouring cells, for each cell."""
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


@compiled(nogil=True, fastmath=True)
def pair_moments(  # type: ignore[no-untyped-def]
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
    room = np.empty((len(points) + 6, BUFFER + 40))
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
                step = min(end - j, BUFFER - size)
                for axis in range(len(points)):
                    near[axis, size : size + step] = points[axis, j : j + step]
                near_weights[size : size + step] = weights[j : j + step]
                if len(ranks):
                    near_ranks[size : size + step] = ranks[j : j + step]
                size += step
                j += step
                if size == BUFFER or (is_last and j == end):
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
            bins[k] = max((bits >> SHIFT) - base, 0)
            close[k] = (bits & _MASK) * _STEP - 1.0
        for k in range(count):
            place, weight = close[k], close_weights[k] * weights[i]
            odd, even = weight * place, place * place
            row = found[np.uint64(bins[k])]
            row[0] += weight
            row[1] += odd
            row[2] += weight * even
            row[3] += odd * even


@compiled(nogil=True, fastmath=True)
def add_tile(squares, left, right, base, found):  # type: ignore[no-untyped-def]
    """Add every pair of a tile to *found*."""
    for i in range(len(squares)):
        for k in range(squares.shape[1]):
            bits = np.float64(squares[i, k]).view(np.int64)
            place, weight = (bits & _MASK) * _STEP - 1.0, left[i] * right[k]
            odd, even = weight * place, place * place
            row = found[np.uint64(max((bits >> SHIFT) - base, 0))]
            row[0] += weight
            row[1] += odd
            row[2] += weight * even
            row[3] += odd * even
