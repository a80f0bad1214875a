"""Compiled loops over the cells of a grid, and over tiles of squared distances; see `engines.cells`."""

from __future__ import annotations

import numba
import numpy as np

from . import compiled

#: Bins per octave of squared distance, as bits of the mantissa.
BIN_BITS = 8
SHIFT = 52 - BIN_BITS
MASK = (1 << SHIFT) - 1
STEP = 2.0 / (1 << SHIFT)

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
            place, last = np.int64((points[i, axis] - low[axis]) * inverse_sides[axis]), counts[axis] - 1
            cell += ((place if place < last else last) + REACH) * stride
            stride *= per_axis
        number[i] = cell


@compiled()
def counting_order(number, place, order):  # type: ignore[no-untyped-def]
    """The permutation that sorts *number*, into *order*; *place* has a zero for each cell and one more."""
    for i in range(len(number)):
        place[number[i] + 1] += 1
    for cell in range(len(place) - 1):
        place[cell + 1] += place[cell]
    for i in range(len(number)):
        order[place[number[i]]] = i
        place[number[i]] += 1


@compiled(nogil=True)
def take(points, order, first, last, columns):  # type: ignore[no-untyped-def]
    """The points order[first], ..., order[last - 1], as columns first ... last - 1."""
    for k in range(first, last):
        for axis in range(points.shape[1]):
            columns[axis, k] = points[order[k], axis]


@compiled(nogil=True)
def neighbour_runs(cells, starts, offsets, widths, first, last, low, high):  # type: ignore[no-untyped-def]
    """Points in cells number + offset ... number + offset + width, for the cells first ... last - 1; (row, cell)."""
    for row in range(len(offsets)):
        begin, after = 0, len(cells)
        while begin < after:  # the first cell that is not before the one wanted
            middle = (begin + after) // 2
            if cells[middle] < cells[first] + offsets[row]:
                begin = middle + 1
            else:
                after = middle
        end = begin
        for cell in range(first, last):
            wanted = cells[cell] + offsets[row]
            while begin < len(cells) and cells[begin] < wanted:
                begin += 1
            if end < begin:
                end = begin
            while end < len(cells) and cells[end] <= wanted + widths[row]:
                end += 1
            low[row, cell - first] = starts[begin]
            high[row, cell - first] = starts[end]


@compiled(nogil=True, fastmath=True)
def pair_moments(  # type: ignore[no-untyped-def]
    points, weights, ranks, periods, starts, owned, first, low, high, square, base, room, bins, found
):
    """Add the pairs of the cells from *first* on to *found*, as many as `neighbour_runs` gave *low* and *high* for.

    The atoms near a cell are copied side by side, so that the loops over them are long enough for vector registers.
    *room* has five rows more than there are coordinates, and rows of at least BUFFER numbers, as *bins* has.
    """
    rows, count, axes = low.shape[0], low.shape[1], len(points)
    near_weights, near_ranks = room[axes], room[axes + 1]
    for cell in range(count):
        if not owned[first + cell]:
            continue
        size, origin = 0, 0
        for row in range(rows):
            j = starts[first + cell] if row == 0 else low[row, cell]
            end = high[row, cell]
            is_last = row == rows - 1
            while j < end or (is_last and size > 0):
                if size == 0:
                    origin = j if row == 0 else len(weights)
                step = end - j if end - j < BUFFER - size else BUFFER - size
                for axis in range(axes):
                    _copy(points[axis], j, room[axis], size, step)
                _copy(weights, j, near_weights, size, step)
                if len(ranks):
                    _copy(ranks, j, near_ranks, size, step)
                size += step
                j += step
                if size == BUFFER or (is_last and j == end):
                    begin, stop = starts[first + cell], starts[first + cell + 1]
                    _add_near(
                        points, weights, ranks, periods, begin, stop, size, origin, square, base, room, bins, found
                    )
                    size = 0


@numba.njit(inline="always")
def _copy(source, start, target, place, count):  # type: ignore[no-untyped-def]
    # Assigning a slice to a slice would take two seconds to compile, because of the message it may fail with.
    taken, put = source[start : start + count], target[place : place + count]
    for k in range(count):
        put[k] = taken[k]


@numba.njit(inline="always")
def _add_near(  # type: ignore[no-untyped-def]
    points, weights, ranks, periods, begin, stop, size, origin, square, base, room, bins, found
):
    """Add the pairs of the atoms begin ... stop - 1 with those copied, of which *origin* and its successors come first.

    Slices rather than offsets, and unsigned numbers, because an index that may be negative keeps a loop out of
    vector registers.
    """
    axes = len(points)
    near_weights, near_ranks = room[axes], room[axes + 1]
    squares, close, close_weights = room[axes + 2], room[axes + 3], room[axes + 4]
    lowest = 0.0
    if len(ranks):
        for k in range(size):
            lowest = near_ranks[k] if k == 0 or near_ranks[k] < lowest else lowest
    for i in range(begin, stop):
        skip = i + 1 - origin
        skip = 0 if skip < 0 else size if skip > size else skip
        x, y, z = room[0, skip:size], room[1, skip:size], room[2, skip:size]
        w = near_weights[skip:size]
        x_i, y_i, z_i = points[0, i], points[1, i], points[2, i]
        for k in range(len(x)):
            squares[k] = (x[k] - x_i) ** 2 + (y[k] - y_i) ** 2 + (z[k] - z_i) ** 2
        for axis in range(3, axes):
            u, u_i, period = room[axis, skip:size], points[axis, i], periods[axis]
            for k in range(len(u)):
                gap = abs(u[k] - u_i)
                gap = gap if gap < period - gap else period - gap
                squares[k] += gap * gap
        if len(ranks) and lowest + ranks[i] <= 0.0:  # near the edge of a hemisphere
            rank, rank_i = near_ranks[skip:size], ranks[i]
            for k in range(len(rank)):
                squares[k] = squares[k] if rank[k] + rank_i > 0.0 else square
        kept = np.uint64(0)
        for k in range(len(w)):  # every pair is written, and the next one over it if it was too far
            close[kept] = squares[k]
            close_weights[kept] = w[k]
            kept += np.uint64(squares[k] < square)
        for k in range(np.int64(kept)):  # exponent and leading mantissa bits are the bin, the rest is the place in it
            bits = np.float64(close[k]).view(np.int64)
            number = (bits >> SHIFT) - base
            bins[k] = number if number > 0 else 0
            close[k] = (bits & MASK) * STEP - 1.0
        for k in range(np.int64(kept)):
            place, weight = close[k], close_weights[k] * weights[i]
            odd, even = weight * place, place * place
            row = found[np.uint64(bins[k])]
            row[0] += weight
            row[1] += odd
            row[2] += weight * even
            row[3] += odd * even


@compiled(nogil=True)
def list_pairs(points, ranks, periods, starts, owned, first, low, high, square, left, right, squares):  # type: ignore[no-untyped-def]
    """Write the places and squared distances of close pairs of the cells from *first* on, and return their number.

    There must be room for all candidates and one more.
    """
    rows, count, axes = low.shape[0], low.shape[1], len(points)
    kept = 0
    for cell in range(count):
        if not owned[first + cell]:
            continue
        for i in range(starts[first + cell], starts[first + cell + 1]):
            x, y, z = points[0, i], points[1, i], points[2, i]
            for row in range(rows):
                for j in range(i + 1 if row == 0 else low[row, cell], high[row, cell]):
                    apart = (points[0, j] - x) ** 2 + (points[1, j] - y) ** 2 + (points[2, j] - z) ** 2
                    for axis in range(3, axes):
                        gap = abs(points[axis, j] - points[axis, i])
                        gap = min(gap, periods[axis] - gap)
                        apart += gap * gap
                    left[kept] = i
                    right[kept] = j
                    squares[kept] = apart
                    if apart < square and (len(ranks) == 0 or ranks[i] + ranks[j] > 0.0):
                        kept += 1
    return kept


@numba.njit(inline="always")
def _overlap(table, scale, square):  # type: ignore[no-untyped-def]
    """The overlap at a squared distance, from a row of cubic polynomials on even intervals."""
    place = square * scale
    row = table[np.uint64(place)]
    place -= np.float64(np.uint64(place))
    return row[0] + place * (row[1] + place * (row[2] + place * row[3]))


@compiled(nogil=True)
def add_potentials(left, right, squares, tables, cuts, weights, second, total, sums):  # type: ignore[no-untyped-def]
    """Add to each place of a pair the weight of the other, times their overlap at each scale, shape (places, scales).

    Sums over pairs of twice the product of *second*, times the overlap and times its square, go to the rows of *sums*.
    """
    scales, last = tables.shape[1] / cuts, len(cuts) - 1
    for k in range(len(left)):
        i, j, scale = left[k], right[k], last
        both = 2.0 * second[i] * second[j]
        while scale >= 0 and squares[k] < cuts[scale]:
            value = _overlap(tables[scale], scales[scale], squares[k])
            total[i, scale] += weights[j] * value
            total[j, scale] += weights[i] * value
            sums[0, scale] += both * value
            sums[1, scale] += both * value * value
            scale -= 1


@compiled(nogil=True, fastmath=True)
def add_forms(left, right, squares, tables, cuts, columns, total):  # type: ignore[no-untyped-def]
    """Add twice the overlap of each pair at each scale, times both rows of *columns*, to *total*, (scales, columns)."""
    scales, last = tables.shape[1] / cuts, len(cuts) - 1
    for k in range(len(left)):
        one, other, scale = columns[left[k]], columns[right[k]], last
        while scale >= 0 and squares[k] < cuts[scale]:
            value, found = 2.0 * _overlap(tables[scale], scales[scale], squares[k]), total[scale]
            for column in range(len(found)):
                found[column] += value * one[column] * other[column]
            scale -= 1


@compiled(nogil=True, fastmath=True)
def add_tile(squares, left, right, base, found):  # type: ignore[no-untyped-def]
    """Add every pair of a tile to *found*."""
    for i in range(len(squares)):
        for k in range(squares.shape[1]):
            bits = np.float64(squares[i, k]).view(np.int64)
            place, weight = (bits & MASK) * STEP - 1.0, left[i] * right[k]
            odd, even = weight * place, place * place
            number = (bits >> SHIFT) - base
            row = found[np.uint64(number if number > 0 else 0)]
            row[0] += weight
            row[1] += odd
            row[2] += weight * even
            row[3] += odd * even
