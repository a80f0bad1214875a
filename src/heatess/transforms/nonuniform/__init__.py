"""Nonuniform Fourier transforms in one to three dimensions, of real or complex weights, with a stated error.

Points are spread with a kernel over the cells of a grid, the grid is transformed axis by axis, and only the modes that
are asked for are kept, divided by the transform of the kernel. Grids are real, so that one half of the modes
of the first axis is enough, and no larger than the points: an axis that they fill by half costs half.

Work is shared out among threads in parts that do not depend on their number, and added up in a fixed order, so that
results are the same to the last bit for any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...base.arrays import FloatArray
from . import axes
from .box import Box, Modes
from .grid import Grid


def analyse(points: FloatArray, weights: FloatArray, box: Box) -> Modes:
    """sum_i w_i exp(-i sum_j f_j x_ij) for the frequencies of a *box*, in its shape.

    Weights (n,) or (columns, n), real or complex; columns of weights share what is worked out for the points.

    >>> analyse(np.array([[0.0], [np.pi / 2]]), np.array([1.0, 2.0]), Box([0], [3], 1e-12, threads=1)).round(6)
    array([ 3.+0.j,  1.-2.j, -1.+0.j])
    """
    if weights.ndim > 1 or np.iscomplexobj(weights):
        rows = np.atleast_2d(weights)
        real = np.concatenate([rows.real, rows.imag]) if np.iscomplexobj(rows) else rows
        found = _analyse(points, np.ascontiguousarray(real), box)
        if np.iscomplexobj(rows):
            found = found[: len(rows)] + 1j * found[len(rows) :]
        return found if weights.ndim > 1 else np.asarray(found[0])
    return np.asarray(_analyse(points, weights[None], box)[0])


def _analyse(points: FloatArray, weights: FloatArray, box: Box) -> Modes:
    if box.lowest[0] < 0:
        return _both_halves(points, weights, box)
    grid = Grid.of(points, box)
    cells = grid.spread(points, weights, box.threads)
    found = np.empty((len(weights), *box.shape), dtype=np.complex128)
    for column, own in zip(found, cells, strict=True):
        own = own.reshape([axis.room for axis in grid.axes])
        if len(grid.axes) == 1:
            axes.modes_of(own, grid.axes[0], 0, column)
        else:
            axes.from_cells(own, grid.axes, column, box.threads)
    return found


def _both_halves(points: FloatArray, weights: FloatArray, box: Box) -> Modes:
    """The same with negative frequencies of the first axis: since weights are real, c_-f is the conjugate of c_f."""
    lowest, shape = box.lowest, box.shape
    most = [max(-low, low + count - 1) for low, count in zip(lowest, shape, strict=True)]
    start = lowest[0] % 1
    low, size = (
        [start, *(-top for top in most[1:])],
        [int(most[0] - start) + 1, *(int(2 * top) + 1 for top in most[1:])],
    )
    half = _analyse(points, weights, box._replace(lowest=low, shape=size))
    found = np.empty((len(weights), *shape), dtype=np.complex128)
    below = min(math.ceil(-lowest[0]), shape[0])  # negative frequencies that are asked for
    inner = tuple(
        slice(int(a - b), int(a - b) + count) for a, b, count in zip(lowest[1:], low[1:], shape[1:], strict=True)
    )
    found[:, below:] = half[(slice(None), slice(0, shape[0] - below), *inner)]
    mirrored = half[(slice(None), slice(None, None, -1), *(slice(None, None, -1) for _ in inner))]
    first = len(half[0]) - 1 - int(-lowest[0] - start)  # place of the conjugate of the lowest frequency
    np.conj(mirrored[(slice(None), slice(first, first + below), *inner)], out=found[:, :below])
    return found


def synthesise(modes: Modes, points: FloatArray, box: Box) -> FloatArray:
    """Re sum_k c_k exp(i sum_j f_kj x_ij) at points, with one mode c_k for each frequency of a *box*.

    >>> synthesise(np.array([1.0, 2.0j]), np.array([[0.0], [np.pi / 2]]), Box([0], [2], 1e-12, threads=1)).round(6)
    array([ 1., -1.])
    """
    if box.lowest[0] < 0:
        modes, lowest = _one_half(modes, box.lowest)
        box = box._replace(lowest=lowest, shape=modes.shape)
    grid = Grid.of(points, box)
    cells = np.empty([axis.room for axis in grid.axes])
    if len(grid.axes) == 1:
        cells[:] = axes.real_cells_of(modes, grid.axes[0], 0)
    else:
        axes.to_cells(modes, grid.axes, cells, box.threads)
    return np.asarray(grid.interpolate(points, cells.reshape(1, *grid.shape), box.threads)[0])


def _one_half(modes: Modes, lowest: Sequence[float]) -> tuple[Modes, list[float]]:
    """The same real values from modes without negative frequencies of the first axis."""
    most = [max(-low, low + count - 1) for low, count in zip(lowest, modes.shape, strict=True)]
    whole = np.zeros([int(2 * top) + 1 for top in most], dtype=np.complex128)
    place = [int(low + top) for low, top in zip(lowest, most, strict=True)]
    whole[tuple(slice(start, start + count) for start, count in zip(place, modes.shape, strict=True))] = modes
    middle = len(whole) // 2
    half = whole[middle:].copy()
    mirrored = np.conj(whole[tuple(slice(None, None, -1) for _ in most)][middle:])
    start = lowest[0] % 1
    skipped = 0 if start else 1  # frequency zero is its own mirror image
    half[skipped:] += mirrored[skipped:]
    return half, [start, *(-top for top in most[1:])]
