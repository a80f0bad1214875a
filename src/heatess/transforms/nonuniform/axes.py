"""Fourier transforms of a grid, axis by axis: from its cells to the modes that are asked for, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ...arrays import FloatArray
from ...blocks import share_out, slices
from .grid import Axis, Modes

#: Numbers that a thread transforms at once.
_BLOCK = 2**16


def modes_of(cells: NDArray[Any], axis: Axis, along: int) -> Modes:
    """The modes of one axis of a grid; cells beyond a period are added to where it begins. *cells* are used up."""
    cells = np.moveaxis(cells, along, 0)
    if axis.half:
        cells = cells * axis.turns.reshape(-1, *[1] * (cells.ndim - 1))
    beyond = axis.room - axis.size
    if beyond > 0:
        cells[:beyond] += cells[axis.size :]
        cells = cells[: axis.size]
    real = not np.iscomplexobj(cells)
    found = (fft.rfft if real else fft.fft)(np.moveaxis(cells, 0, along), n=axis.size, axis=along)
    first = math.floor(axis.lowest)
    kept = np.moveaxis(found, along, 0)
    if first >= 0:
        kept = kept[first : first + axis.modes]
    else:
        kept = np.concatenate([kept[first:][: axis.modes], kept[: max(first + axis.modes, 0)]])
    return np.moveaxis(kept * axis.factors.reshape(-1, *[1] * (kept.ndim - 1)), 0, along)


def from_cells(cells: FloatArray, axes: tuple[Axis, ...], found: Modes, threads: int) -> None:
    """Transform a grid axis by axis, the first one in parts of the second, the others in parts of the first."""
    first, second, *third = axes
    half = np.empty((first.modes, *cells.shape[1:]), dtype=np.complex128)
    across = cells.size // cells.shape[1]

    def outer(_: int, part: slice) -> None:
        half[:, part] = modes_of(cells[:, part], first, 0)

    share_out(list(slices(cells.shape[1], max(8, _BLOCK // across))), outer, threads)

    def inner(_: int, part: slice) -> None:
        own = modes_of(half[part], second, 1)
        found[part] = modes_of(own, third[0], 2) if third else own

    share_out(list(slices(len(half), max(1, _BLOCK // half[0].size))), inner, threads)


def cells_of(modes: NDArray[Any], axis: Axis, along: int) -> Modes:
    """The reverse of `modes_of` for complex cells."""
    modes = np.moveaxis(modes, along, 0)
    scaled = modes * np.conj(axis.factors).reshape(-1, *[1] * (modes.ndim - 1))
    first = math.floor(axis.lowest)
    grid = np.zeros((axis.size, *modes.shape[1:]), dtype=np.complex128)
    if first >= 0:
        grid[first : first + axis.modes] = scaled
    else:
        grid[first:][: axis.modes] = scaled[: min(-first, axis.modes)]
        grid[: max(first + axis.modes, 0)] = scaled[-first:]
    found = np.moveaxis(fft.ifft(np.moveaxis(grid, 0, along), axis=along, norm="forward", overwrite_x=True), along, 0)
    found = _extended(found, axis)
    if axis.half:
        found = found * np.conj(axis.turns).reshape(-1, *[1] * (found.ndim - 1))
    return np.moveaxis(found, 0, along)


def real_cells_of(modes: NDArray[Any], axis: Axis, along: int) -> FloatArray:
    """The real parts of cells, of modes whose frequencies are not negative."""
    if axis.half:
        return np.asarray(cells_of(modes, axis, along).real)
    modes = np.moveaxis(modes, along, 0)
    scaled = modes * np.conj(axis.factors).reshape(-1, *[1] * (modes.ndim - 1))
    first = int(axis.lowest)
    grid = np.zeros((axis.size // 2 + 1, *modes.shape[1:]), dtype=np.complex128)
    np.divide(scaled, 2, out=grid[first : first + axis.modes])
    grid[0] *= 2
    found = fft.irfft(np.moveaxis(grid, 0, along), n=axis.size, axis=along, norm="forward")
    return np.moveaxis(_extended(np.moveaxis(found, along, 0), axis), 0, along)


def _extended(cells: NDArray[Any], axis: Axis) -> NDArray[Any]:
    """The cells of the grid, of those of one period."""
    beyond = axis.room - axis.size
    return np.concatenate([cells, cells[:beyond]]) if beyond > 0 else cells[: axis.room]


def to_cells(modes: Modes, axes: tuple[Axis, ...], cells: FloatArray, threads: int) -> None:
    """The reverse of `from_cells`."""
    first, second, *third = axes
    half = np.empty((first.modes, *cells.shape[1:]), dtype=np.complex128)

    def inner(_: int, part: slice) -> None:
        own = cells_of(modes[part], third[0], 2) if third else modes[part]
        half[part] = cells_of(own, second, 1)

    share_out(list(slices(len(half), max(1, _BLOCK // half[0].size))), inner, threads)
    across = cells.size // cells.shape[1]

    def outer(_: int, part: slice) -> None:
        cells[:, part] = real_cells_of(half[:, part], first, 0)

    share_out(list(slices(cells.shape[1], max(8, _BLOCK // across))), outer, threads)
