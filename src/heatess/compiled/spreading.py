"""Points and grids: the compiled loops of nonuniform Fourier transforms; see `transforms.nonuniform`.

A point stands in the cell floor(t), t = x scale, of each axis, and its kernel covers *width* cells from
floor(t) - width / 2 + 1 on. A grid begins where the kernel of cell *origin* does. Grids have three axes; those that
points have not got come first, and have one cell.
"""

from __future__ import annotations

import numpy as np

from . import compiled
from .vectors import add_rows, dot_rows, kernel_at

#: Cells along the first axis of points that one thread may write to while others are two such slabs away: as many as
#: a kernel covers.
SLAB = 16

#: Cells of a bin of sorted points along the other axes.
BIN = 8

#: Room for the kernel of an axis, and points whose kernels are worked out before they are used.
ROOM, AT_ONCE = 16, 32


@compiled(nogil=True)
def place(x, high, low, size, origin):  # type: ignore[no-untyped-def]
    """The cell of x after *origin*, in 0, ..., size - 1, the part of a cell beyond it, and how many turns were taken.

    The product x (high + low) is not rounded before its whole part is taken off: with many modes, that rounding is what
    an error would be made of.
    """
    product = x * high
    split = 134217729.0 * x  # 2^27 + 1
    x1 = split - (split - x)
    split = 134217729.0 * high
    h1 = split - (split - high)
    x2, h2 = x - x1, high - h1
    rest = ((x1 * h1 - product) + x1 * h2 + x2 * h1) + x2 * h2 + x * low
    cell = np.floor(product)
    part = (product - cell) + rest
    if part < 0:
        cell, part = cell - 1, part + 1
    elif part >= 1:
        cell, part = cell + 1, part - 1
    cell -= origin
    turns = 0.0
    if cell < 0 or cell >= size:
        turns = np.floor(cell / size)
        cell -= turns * size
    return np.int64(cell), part, turns


@compiled(nogil=True)
def bins(points, columns, scales, sizes, origins, counts, first, last, keys, found):  # type: ignore[no-untyped-def]
    """Write the bins of points first, ..., last - 1, slab after slab of the first axis, and count them in *found*."""
    for i in range(first, last):
        key = 0
        for j in range(len(columns)):
            cell, _, _ = place(points[i, columns[j]], scales[j, 0], scales[j, 1], sizes[j], origins[j])
            key = key * counts[j] + (cell // SLAB if j == 0 else cell // BIN)
        keys[i] = key
        found[key] += 1


@compiled(nogil=True)
def move(points, columns, weights, first, last, keys, cursor, sorted_points, sorted_weights, rows):  # type: ignore[no-untyped-def]
    """Write points first, ..., last - 1 and their weights to the *rows* of their bins; *cursor* moves on."""
    for i in range(first, last):
        row = cursor[keys[i]]
        cursor[keys[i]] += 1
        rows[i] = row
        for j in range(len(columns)):
            sorted_points[row, j] = points[i, columns[j]]
        for c in range(len(weights)):
            sorted_weights[c, row] = weights[c, i]


@compiled(nogil=True)
def kernels(points, columns, first, last, scales, sizes, origins, halves, table, width, strides, values, starts, signs):  # type: ignore[no-untyped-def]
    """Write the kernels of some points, where they begin in the grid, and the signs of their turns.

    Axes with half-integer frequencies change their sign with every turn.
    """
    dim, terms = len(sizes), len(table) // 16
    for k in range(last - first):
        start, sign = 0, 1.0
        for j in range(dim):
            cell, part, turns = place(points[first + k, columns[j]], scales[j, 0], scales[j, 1], sizes[j], origins[j])
            axis = 3 - dim + j
            kernel_at(table, terms, 1.0 - 2.0 * part, values, (3 * k + axis) * ROOM, width)
            start += cell * strides[axis]
            if turns != 0.0 and halves[j] and turns - 2.0 * np.floor(turns / 2.0) == 1.0:
                sign = -sign
        starts[k], signs[k] = start, sign


def _over_cells(back: bool):  # type: ignore[no-untyped-def]
    """The loop over the cells of the kernels of points first, ..., last - 1.

    It adds their weights (columns, n) times the kernels to *grid*, shape (columns, cells ...), or, *back*, writes the
    sums of the grid times the kernels in place of the weights. One of them is compiled without the other.
    """

    @compiled(nogil=True)
    def run(points, columns, weights, first, last, scales, sizes, origins, halves, table, width, grid):  # type: ignore[no-untyped-def]
        stride, dim = grid.shape[3], len(sizes)
        plane = grid.shape[2] * stride
        volume, strides = grid.shape[1] * plane, (plane, stride, 1)
        values, starts, signs = np.zeros(AT_ONCE * 3 * ROOM), np.empty(AT_ONCE, np.int64), np.empty(AT_ONCE)
        for k in range(0, len(values), ROOM):
            values[k] = 1.0
        planes, lines = width if dim == 3 else 1, width if dim > 1 else 1
        for now in range(first, last, AT_ONCE):
            end = min(now + AT_ONCE, last)
            kernels(
                points, columns, now, end, scales, sizes, origins, halves, table, width, strides, values, starts, signs
            )
            for k in range(end - now):
                at, line = 3 * k * ROOM, (3 * k + 1) * ROOM
                for c in range(len(grid)):
                    weight, total = signs[k] * (1.0 if back else weights[c, now + k]), 0.0
                    for p in range(planes):
                        here, value = starts[k] + c * volume + p * plane, weight * values[at + p]
                        if back:
                            total += value * dot_rows(grid, here, stride, values, line, lines, line + ROOM)
                        else:
                            add_rows(grid, here, stride, values, line, lines, line + ROOM, value)
                    if back:
                        weights[c, now + k] = total

    return run


spread, interpolate = _over_cells(False), _over_cells(True)
