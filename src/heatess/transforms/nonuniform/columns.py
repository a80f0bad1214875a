"""Nonuniform Fourier transforms of many columns of real weights at the same points.

What depends on the points alone is worked out once: their order, their kernels, and which cells they share. With the
columns side by side a grid is filled by products of small matrices, at a fraction of the cost of as many single ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...base.arrays import FloatArray, IntArray
from ...base.blocks import slices
from . import axes
from .box import Box, Modes
from .grid import Axis, Grid
from .kernel import table

#: Columns that stand side by side in a cell of the grid.
SIDE = 8

#: Frequencies without their signs up to which columns share the work on their points, by dimension: beyond it grids,
#: which are most of the work then, need too much memory.
_MOST_SHARED = {1: 2**14, 2: 2**14, 3: 2**16}

#: Numbers of all grids that are filled at once, and points whose kernels are held at once, by dimension: with three of
#: them those of many planes, which meet in the same cells.
_NUMBERS, _POINTS = 2**21, {1: 2**13, 2: 2**13, 3: 2**15}


def shares_points(n: int, sizes: Sequence[int]) -> bool:
    """Whether columns at n points should share the work on them, with so many frequencies without signs on each axis.

    >>> shares_points(3000, [50, 50]), shares_points(1000, [50, 50])
    (True, False)
    """
    most = _MOST_SHARED[len(sizes)]
    return math.prod(sizes) <= (most if len(sizes) == 3 else min(n, most))


class _Sorted(NamedTuple):
    """Points by the plane, cell and line of the grid: their cells and parts of cells.

    Point i stands in row rows[i], and its weights change their sign with signs[i].
    """

    rows: IntArray
    signs: FloatArray
    cells: IntArray  # (3, n)
    parts: FloatArray  # (3, n)

    @classmethod
    def of(cls, points: FloatArray, grid: Grid) -> _Sorted:
        """Sorted once."""
        from ...compiled.column_spreading import cells_of

        n = len(points)
        cells, parts, signs = np.zeros((3, n), dtype=np.int64), np.zeros((3, n)), np.empty(n)
        cells_of(points, grid.columns, *grid.arguments, cells, parts, signs)
        order, rows = np.lexsort((cells[1], cells[2], cells[0])), np.empty(n, dtype=np.int64)
        rows[order] = np.arange(n)
        return cls(rows, signs, cells[:, order], parts[:, order])


class SharedPoints:
    """Sorted points, for columns that come in blocks; on one thread.

    The lowest frequency of the first axis is not negative.
    """

    def __init__(self, points: FloatArray, box: Box) -> None:
        self._box, self._grid = box, Grid.of(points, box, many=True)
        self._points = _Sorted.of(points, self._grid)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Those of the grid."""
        return self._grid.axes

    def modes(self, columns: FloatArray) -> Iterator[Modes]:
        """sum_i v_ic exp(-i sum_j f_j x_ij) of columns v (n, count), one after the other."""
        for _, cells in self._spread(columns):
            found = np.empty((*self._box.shape, cells.shape[-1]), dtype=np.complex128)
            if len(self.axes) > 1:
                axes.from_cells(cells, self.axes, found, 1)
            else:
                axes.modes_of(cells, self.axes[0], 0, found)
            yield from np.ascontiguousarray(np.moveaxis(found, -1, 0))

    def first_modes(self, columns: FloatArray) -> Iterator[tuple[slice, Modes]]:
        """The same along the first axis alone: of some columns, shape (modes, cells ..., columns)."""
        for part, cells in self._spread(columns):
            yield part, axes.along_first(cells, self.axes[0], 1)

    def _spread(self, columns: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Grids of some columns after others, shape (cells ..., columns)."""
        from ...compiled.column_spreading import scatter, spread_columns

        grid, points, (n, count) = self._grid, self._points, columns.shape
        known, shape = (table(grid.kernel), grid.kernel.width), [axis.room for axis in grid.axes]
        for part in slices(count, SIDE * max(_NUMBERS // (SIDE * math.prod(shape)), 1)):
            own = np.ascontiguousarray(columns[:, part].T)
            cells = np.zeros((-(-len(own) // SIDE), *grid.shape, SIDE))
            weights = np.zeros((len(cells), n, SIDE))
            scatter(own, points.rows, points.signs, weights)
            for some in slices(n, _POINTS[len(shape)]):
                spread_columns(points.cells, points.parts, weights, some.start, some.stop, len(shape), *known, cells)
            for some, block in zip(slices(len(own), SIDE), cells, strict=True):
                here = slice(part.start + some.start, part.start + some.stop)
                yield here, block.reshape(*shape, SIDE)[..., : some.stop - some.start]
