"""Many columns of weights at the same points, spread over grids eight at a time; see `transforms.nonuniform.columns`.

Points that share a cell of the last axis, and reach the same cells of the others, follow each other. Their sums for
eight columns and all cells of a kernel along the last axis stay in registers: a matrix product of kernels and weights,
where `compiled.spreading` reads and writes the grid for every point.
"""

from __future__ import annotations

import numpy as np

from . import compiled
from .spreading import ROOM, place
from .vectors import add_points, kernel_at


@compiled(nogil=True)
def cells_of(points, columns, scales, sizes, origins, halves, found, parts, signs):  # type: ignore[no-untyped-def]
    """Write the cells of points on three axes, how far they are beyond these, and the signs of their turns."""
    dim = len(columns)
    for i in range(len(points)):
        signs[i] = 1.0
        for j in range(dim):
            x, axis = points[i, columns[j]], 3 - dim + j
            cell, part, turns = place(x, scales[j, 0], scales[j, 1], sizes[j], origins[j])
            found[axis, i], parts[axis, i] = cell, part
            if turns != 0.0 and halves[j] and turns - 2.0 * np.floor(turns / 2.0) == 1.0:
                signs[i] = -signs[i]


@compiled(nogil=True)
def in_order(first, last, keys, starts, rows):  # type: ignore[no-untyped-def]
    """Write first, ..., last - 1 in the order of their *keys*; *starts* is room for one number a key and one more."""
    for key in range(len(starts)):
        starts[key] = 0
    for k in range(first, last):
        starts[keys[k] + 1] += 1
    for key in range(1, len(starts)):
        starts[key] += starts[key - 1]
    for k in range(first, last):
        rows[starts[keys[k]]] = k
        starts[keys[k]] += 1


@compiled(nogil=True)
def scatter(columns, rows, signs, found):  # type: ignore[no-untyped-def]
    """Write *columns* (columns, n) of points, times *signs*, to their *rows* of *found*, shape (blocks, n, 8).

    Eight numbers at a time go to a row: the other way round each of them would be fetched from another place.
    """
    side = found.shape[2]
    for block in range(len(found)):
        start, count = side * block, min(side, len(columns) - side * block)
        for i in range(len(rows)):
            for k in range(count):
                found[block, rows[i], k] = columns[start + k, i] * signs[i]


@compiled(nogil=True)
def spread_columns(at, parts, weights, start, end, dim, table, width, grid):  # type: ignore[no-untyped-def]
    """Add kernels of points start, ..., end - 1 times *weights* (blocks, n, 8) to *grid* (blocks, planes, ..., 8).

    Points stand in the order of their planes, and have cells *at* (3, n) and *parts* of a cell beyond them. Axes that
    they have not got come first, and have one cell.
    """
    at, parts, weights = at[:, start:end], parts[:, start:end], weights[:, start:end]
    n, terms, lines, cells = end - start, len(table) // 16, grid.shape[2], grid.shape[3]
    values, keys = np.zeros((3, n * ROOM)), np.empty(n, np.int64)
    rows, factors, starts = np.empty(n, np.int64), np.empty(n), np.empty(lines * cells + 1, np.int64)
    high, wide = width if dim == 3 else 1, width if dim > 1 else 1
    for k in range(n):
        keys[k] = at[2, k] * lines + at[1, k]
        values[0, k * ROOM] = values[1, k * ROOM] = 1.0
        for axis in range(3 - dim, 3):
            kernel_at(table, terms, 1.0 - 2.0 * parts[axis, k], values[axis], k * ROOM, width)
    low, top, plane = 0, 0, 0
    while low < n:  # points low, ..., top - 1 reach this plane
        if low == top:
            plane = at[0, low]
        while top < n and at[0, top] <= plane:
            top += 1
        in_order(low, top, keys, starts, rows)
        first, last, size = 0, 0, top - low
        while first < size:  # of these rows[first], ..., rows[last - 1] have the same cell of the last axis,
            cell = at[2, rows[first]]
            while last < size and at[2, rows[last]] == cell:
                last += 1
            left, right, line = first, first, 0
            while left < last:  # and rows[left], ..., rows[right - 1] reach this line
                if left == right:
                    line = at[1, rows[left]]
                while right < last and at[1, rows[right]] <= line:
                    right += 1
                for k in range(left, right):
                    row = rows[k]
                    factors[k] = values[0, row * ROOM + plane - at[0, row]] * values[1, row * ROOM + line - at[1, row]]
                place_of_cell = (plane * lines + line) * cells + cell
                for block in range(len(weights)):
                    add_points(grid[block], place_of_cell, width, weights[block], rows, left, right, factors, values[2])
                line += 1
                while left < right and at[1, rows[left]] + wide <= line:
                    left += 1
            first = last
        plane += 1
        while low < top and at[0, low] + high <= plane:
            low += 1
