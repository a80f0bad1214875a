"""Nonuniform Fourier transforms of many columns of real weights at the same points.

What depends on the points alone is worked out once: their order, their kernels, and which cells they share. With the
columns side by side a grid is filled by products of small matrices, at a fraction of the cost of as many single ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...base.arrays import FloatArray, IntArray
from ...base.blocks import slices
from . import axes
from .box import Box, Modes
from .grid import Axis, Grid
from .kernel import table

#: Numbers of all grids that are filled at once, and points whose kernels are held at once.
_NUMBERS, _POINTS = 2**21, 2**17


class _Sorted(NamedTuple):
    """Some points by the plane, cell and line of the grid: which, their cells and parts of cells, and signs."""

    order: IntArray
    cells: IntArray  # (3, n)
    parts: FloatArray  # (3, n)
    signs: FloatArray

    @classmethod
    def of(cls, points: FloatArray, first: int, grid: Grid) -> _Sorted:
        """Of points that follow *first* others."""
        from ...compiled.column_spreading import cells_of

        n = len(points)
        cells, parts, signs = np.zeros((3, n), dtype=np.int64), np.zeros((3, n)), np.empty(n)
        cells_of(points, grid.columns, *grid.arguments, cells, parts, signs)
        order = np.lexsort((cells[1], cells[2], cells[0]))
        return cls(first + order, cells[:, order], parts[:, order], signs[order])


class SharedPoints:
    """Sorted points, for columns that come in blocks; on one thread.

    The lowest frequency of the first axis is not negative.
    """

    def __init__(self, points: FloatArray, box: Box) -> None:
        self._box, self._grid = box, Grid.of(points, box, many=True)
        grid = self._grid
        self._points = [_Sorted.of(points[rows], rows.start, grid) for rows in slices(len(points), _POINTS)]

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
        from ...compiled.column_spreading import SIDE, gather, spread_columns

        grid, count = self._grid, columns.shape[1]
        known, shape = (table(grid.kernel), grid.kernel.width), [axis.room for axis in grid.axes]
        for part in slices(count, SIDE * max(_NUMBERS // (SIDE * math.prod(shape)), 1)):
            own = np.ascontiguousarray(columns[:, part].T)
            cells = np.zeros((-(-len(own) // SIDE), *grid.shape, SIDE))
            for points in self._points:
                weights = np.zeros((len(cells), len(points.order), SIDE))
                gather(own, points.order, points.signs, weights)
                spread_columns(points.cells, points.parts, weights, len(shape), *known, cells)
            for some, block in zip(slices(len(own), SIDE), cells, strict=True):
                here = slice(part.start + some.start, part.start + some.stop)
                yield here, block.reshape(*shape, SIDE)[..., : some.stop - some.start]
