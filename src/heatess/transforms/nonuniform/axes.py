"""Fourier transforms of a grid, axis by axis: from its cells to the modes that are asked for, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray
from ...base.blocks import share_out, slices
from .box import Modes
from .grid import Axis

#: Numbers that a thread transforms at once.
_NUMBERS_OF_A_THREAD = 2**16


def _on(along: int, some: slice) -> tuple[slice, ...]:
    """Some places of one axis."""
    return (slice(None),) * along + (some,)


def _over(values: NDArray[Any], along: int, dim: int) -> NDArray[Any]:
    """One number for each place of an axis, to multiply an array of *dim* axes with."""
    return values.reshape((-1,) + (1,) * (dim - along - 1))


def modes_of(cells: NDArray[Any], axis: Axis, along: int, out: Modes) -> None:
    """Write the modes of one axis; cells beyond a period are added to where it begins. *cells* are used up."""
    if axis.half:
        cells = cells * _over(axis.turns, along, cells.ndim)
    beyond = axis.room - axis.size
    if beyond > 0:
        cells[_on(along, slice(0, beyond))] += cells[_on(along, slice(axis.size, None))]
        cells = cells[_on(along, slice(0, axis.size))]
    found = (np.fft.fft if np.iscomplexobj(cells) else np.fft.rfft)(cells, n=axis.size, axis=along)
    for ours, theirs in _parts(axis):
        scale = _over(axis.factors[ours], along, cells.ndim)
        np.multiply(found[_on(along, theirs)], scale, out=out[_on(along, ours)])


def _parts(axis: Axis) -> list[tuple[slice, slice]]:
    """Where the modes of an axis stand in a transform: negative frequencies at its end."""
    first = math.floor(axis.lowest)
    below = min(max(-first, 0), axis.modes)
    parts = [(slice(0, below), slice(axis.size + first, axis.size + first + below))] if below else []
    rest = slice(max(first, 0), max(first, 0) + axis.modes - below)
    return parts + ([(slice(below, None), rest)] if below < axis.modes else [])


def along_first(cells: FloatArray, axis: Axis, threads: int) -> Modes:
    """The modes of the first axis alone, in parts of the second."""
    half = np.empty((axis.modes, *cells.shape[1:]), dtype=np.complex128)

    def outer(_: int, part: slice) -> None:
        modes_of(cells[:, part], axis, 0, half[:, part])

    across = cells.size // cells.shape[1]
    share_out(list(slices(cells.shape[1], max(8, _NUMBERS_OF_A_THREAD // across))), outer, threads)
    return half


def from_cells(cells: FloatArray, axes: tuple[Axis, ...], found: Modes, threads: int) -> None:
    """Transform a grid axis by axis, the first one in parts of the second, the others in parts of the first.

    Further axes of the grid, of columns side by side, stay as they are.
    """
    first, second, *third = axes
    half = along_first(cells, first, threads)

    def inner(_: int, part: slice) -> None:
        if not third:
            modes_of(half[part], second, 1, found[part])
            return
        own = np.empty((part.stop - part.start, second.modes, *half.shape[2:]), dtype=np.complex128)
        modes_of(half[part], second, 1, own)
        modes_of(own, third[0], 2, found[part])

    share_out(list(slices(len(half), max(1, _NUMBERS_OF_A_THREAD // half[0].size))), inner, threads)


def cells_of(modes: NDArray[Any], axis: Axis, along: int) -> Modes:
    """The reverse of `modes_of` for complex cells."""
    shape, scale = list(modes.shape), np.conj(axis.factors)
    shape[along] = axis.size
    grid = np.zeros(shape, dtype=np.complex128)
    for ours, theirs in _parts(axis):
        own = modes[_on(along, ours)]
        np.multiply(own, _over(scale[ours], along, modes.ndim), out=grid[_on(along, theirs)])
    found = _extended(np.fft.ifft(grid, axis=along, norm="forward"), axis, along)
    return found * _over(np.conj(axis.turns), along, modes.ndim) if axis.half else found


def real_cells_of(modes: NDArray[Any], axis: Axis, along: int) -> FloatArray:
    """The real parts of cells, of modes whose frequencies are not negative."""
    if axis.half:
        return np.asarray(cells_of(modes, axis, along).real)
    first, shape = int(axis.lowest), list(modes.shape)
    shape[along] = axis.size // 2 + 1
    grid = np.zeros(shape, dtype=np.complex128)
    scale = _over(np.conj(axis.factors) / 2, along, modes.ndim)
    np.multiply(modes, scale, out=grid[_on(along, slice(first, first + axis.modes))])
    grid[_on(along, slice(0, 1))] *= 2
    return _extended(np.fft.irfft(grid, n=axis.size, axis=along, norm="forward"), axis, along)


def _extended(cells: NDArray[Any], axis: Axis, along: int) -> NDArray[Any]:
    """The cells of the grid, of those of one period."""
    beyond = axis.room - axis.size
    if beyond > 0:
        return np.concatenate([cells, cells[_on(along, slice(0, beyond))]], axis=along)
    return cells[_on(along, slice(0, axis.room))]


def to_cells(modes: Modes, axes: tuple[Axis, ...], cells: FloatArray, threads: int) -> None:
    """The reverse of `from_cells`."""
    first, second, *third = axes
    half = np.empty((first.modes, *cells.shape[1:]), dtype=np.complex128)

    def inner(_: int, part: slice) -> None:
        own = cells_of(modes[part], third[0], 2) if third else modes[part]
        half[part] = cells_of(own, second, 1)

    share_out(list(slices(len(half), max(1, _NUMBERS_OF_A_THREAD // half[0].size))), inner, threads)
    across = cells.size // cells.shape[1]

    def outer(_: int, part: slice) -> None:
        cells[:, part] = real_cells_of(half[:, part], first, 0)

    share_out(list(slices(cells.shape[1], max(8, _NUMBERS_OF_A_THREAD // across))), outer, threads)
