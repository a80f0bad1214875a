"""Overlaps and kernels themselves, where some of them, or sums of their squares, are wanted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import slices
from ..measures.measure import Measure, distinct_rows
from ..spaces.base import Space
from ..spaces.capabilities import OverlapsOfTime, PairKernel
from . import plan
from .diagonals import SOON, diagonals, eigenpair_seconds
from .modes import BLOCK_ENTRIES, resolved

#: Pairs worked out at once.
BLOCK_PAIRS = 2**20

#: Seconds that k_t(x, x) of atoms on very many nodes may take.
BUDGET = 60.0


def features(space: Space, points: NDArray[Any], time: float) -> FloatArray:
    """Vectors whose inner products are the overlaps s_t on a space of nodes, shape (n, modes)."""
    if space.modes is None:
        raise TypeError("this space is not known by its nodes")
    pairs = resolved(space.modes, time)
    scaled = pairs.at(points) * np.exp(-time * pairs.values)
    return np.asarray(scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None])


def _fitted(space: Space, points: NDArray[Any], times: FloatArray, rtol: float) -> PairKernel:
    if space.pair_kernel is None:
        raise TypeError("this space is known by its nodes")
    return space.pair_kernel.fitted(points, times, rtol)


class Rows:
    """Overlaps of some of the points with all of them at one time, by the pair kernel or from eigenpairs."""

    def __init__(self, space: Space, points: NDArray[Any], time: float, rtol: float) -> None:
        self._kernel, self._time = None, time
        if space.modes is None:
            self._kernel = _fitted(space, points, np.array([time]), rtol)
            self._rows = self._kernel.rows(points)
        else:
            self._rows = features(space, points, time)

    def at(self, places: IntArray) -> FloatArray:
        """Those of the points at *places*, shape (places, points)."""
        if self._kernel is None:
            return np.asarray(self._rows[places] @ self._rows.T)
        found, chosen = np.empty((len(places), len(self._rows))), self._rows[places]
        for part in slices(len(self._rows), max(1, BLOCK_PAIRS // len(places))):
            found[:, part] = self._kernel.terms(chosen, self._rows[part])(self._time).overlap
        return found


def block(space: Space, left: NDArray[Any], right: NDArray[Any], time: float, rtol: float) -> FloatArray:
    """Overlaps of all pairs of two sets of points on a homogeneous space, shape (left, right)."""
    kernel = _fitted(space, right, np.array([time]), rtol)
    return np.asarray(kernel.terms(kernel.rows(left), kernel.rows(right))(time).overlap)


class Paired:
    """Overlaps of pairs of points, given by row, at several times."""

    def __init__(self, space: Space, points: NDArray[Any], times: FloatArray, rtol: float) -> None:
        self._space, self._points = space, points
        self._kernel = None if space.modes is not None else _fitted(space, points, times, rtol)
        if self._kernel is not None:
            self._rows = self._kernel.rows(points)
        else:
            self._label, self._first = distinct_rows(np.ascontiguousarray(points))

    def __call__(self, left: IntArray, right: IntArray) -> OverlapsOfTime:
        """Of each row of *left* with the same of *right*."""
        if self._kernel is not None:
            return self._kernel.paired(self._rows[left], self._rows[right])
        one, other = self._label[left], self._label[right]

        def at(time: float) -> FloatArray:
            rows = features(self._space, self._points[self._first], time)
            parts = slices(len(one), BLOCK_ENTRIES // rows.shape[1] + 1)
            return np.concatenate([np.einsum("ij,ij->i", rows[one[part]], rows[other[part]]) for part in parts])

        return at


def log_kernel_at_zero(space: Space, time: float) -> float:
    """log k_t(x, x) on a homogeneous space: against uniform, or per unit of volume where that is infinite."""
    logs = float(space.log_own_density(np.array([time / 2]))[0])
    return logs + space.log_volume if space.compact else logs


def own_kernels(space: Space, points: NDArray[Any], halves: FloatArray) -> FloatArray:
    """k_t(x, x) of points, shape (points, times), at increasing times t, *halves* of which are given."""
    if space.modes is None:
        logs = [log_kernel_at_zero(space, 2 * half) for half in halves.tolist()]
        return np.broadcast_to(np.exp(logs), (len(points), len(halves)))
    finest = float(halves.min())
    if space.flow is None or eigenpair_seconds(space.modes, finest) < SOON:
        pairs = resolved(space.modes, finest)
        return np.asarray(np.square(pairs.at(points)) @ np.exp(-2 * np.multiply.outer(pairs.values, halves)))
    starts, tolerance = space.modes.functionals(points), np.full(len(halves), 1e-4)
    found = diagonals(space.flow, starts, halves, tolerance, BUDGET)
    parts = [found.at(slice(k, min(k + found.chunk, len(halves)))).middle for k in range(0, len(halves), found.chunk)]
    return np.concatenate(parts, axis=1)


def squares(measure: Measure, time: float, points: NDArray[Any]) -> FloatArray:
    """sum_i w_i^2 k_t(y, x_i)^2 at checked points y, pair by pair."""
    space, found = measure.space, np.zeros(len(points))
    if space.modes is not None:
        pairs = resolved(space.modes, time / 2)
        decay = np.exp(-time * pairs.values)
        for rows in slices(measure.n, BLOCK_PAIRS // max(len(points), len(decay)) + 1):
            kernels = (pairs.at(points) * decay) @ pairs.at(measure.points[rows]).T
            found += np.square(kernels) @ measure.weights[rows] ** 2
        return found
    if space.pair_kernel is None:
        raise TypeError(f"{space!r} has no overlaps of pairs")
    kernel = space.pair_kernel.fitted(measure.points, np.array([time / 2]), 1e-8)
    seconds = kernel.seconds(float(measure.n) * len(points), 1)
    what = f"standard errors at {len(points):,} places from {measure.n:,} points"
    plan.afford(seconds, lambda wait: f"{what} would take {wait}; give fewer places")
    side = math.isqrt(BLOCK_PAIRS)
    for part in slices(measure.n, max(side, BLOCK_PAIRS // len(points))):
        right = kernel.rows(measure.points, part)
        for rows in slices(len(points), side):
            overlaps = kernel.terms(kernel.rows(points, rows), right)(time / 2).overlap
            found[rows] += np.square(overlaps) @ measure.weights[part] ** 2
    return np.asarray(found * math.exp(2 * log_kernel_at_zero(space, time)))
