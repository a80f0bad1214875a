"""Overlaps and kernels themselves, where some of them, or sums of their squares, are wanted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import slices
from ..measures.measure import Measure, distinct_rows
from ..spaces.base import Space
from ..spaces.capabilities import Modes, OverlapsOfTime, PairKernel
from . import plan
from .diagonals import SOON, diagonals, eigenpair_seconds
from .eigenpairs import BLOCK_ENTRIES, resolved

#: Pairs worked out at once.
BLOCK_PAIRS = 2**20

#: Seconds that k_t(x, x) of atoms on very many nodes may take.
BUDGET = 60.0


def features(modes: Modes, points: NDArray[Any], time: float) -> FloatArray:
    """Vectors whose inner products are the overlaps s_t on a space of nodes, shape (n, modes)."""
    pairs = resolved(modes, time)
    scaled = pairs.at(points) * np.exp(-time * pairs.values)
    return np.asarray(scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None])


def rows_of(space: Space, points: NDArray[Any], time: float, rtol: float) -> Callable[[IntArray], FloatArray]:
    """Overlaps of the points at some places with all of them, shape (places, points), as a function of the places."""
    known = space.overlaps
    if known.on_nodes:
        vectors = features(known, points, time)
        return lambda places: np.asarray(vectors[places] @ vectors.T)
    kernel = known.fitted(np.array([time]), rtol)
    rows = kernel.rows(points)

    def at(places: IntArray) -> FloatArray:
        found, chosen = np.empty((len(places), len(rows))), rows[places]
        for part in slices(len(rows), max(1, BLOCK_PAIRS // len(places))):
            found[:, part] = kernel.terms(chosen, rows[part])(time).overlap
        return found

    return at


def block(kernel: PairKernel, left: NDArray[Any], right: NDArray[Any], time: float, rtol: float) -> FloatArray:
    """Overlaps of all pairs of two sets of points, shape (left, right)."""
    kernel = kernel.fitted(np.array([time]), rtol)
    return np.asarray(kernel.terms(kernel.rows(left), kernel.rows(right))(time).overlap)


#: Of each row of one set with the same of another, both given by their places among points.
Paired = Callable[[IntArray, IntArray], OverlapsOfTime]


def paired(space: Space, points: NDArray[Any], times: FloatArray, rtol: float) -> Paired:
    """Overlaps of pairs of points at several times."""
    known = space.overlaps
    if not known.on_nodes:
        kernel = known.fitted(times, rtol)
        rows = kernel.rows(points)
        return lambda left, right: kernel.paired(rows[left], rows[right])
    label, first = distinct_rows(np.ascontiguousarray(points))

    def of(left: IntArray, right: IntArray) -> OverlapsOfTime:
        one, other = label[left], label[right]

        def at(time: float) -> FloatArray:
            rows = features(known, points[first], time)
            parts = slices(len(one), BLOCK_ENTRIES // rows.shape[1] + 1)
            return np.concatenate([np.einsum("ij,ij->i", rows[one[part]], rows[other[part]]) for part in parts])

        return at

    return of


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
    known, found = measure.space.overlaps, np.zeros(len(points))
    if known.on_nodes:
        pairs = resolved(known, time / 2)
        decay = np.exp(-time * pairs.values)
        for rows in slices(measure.n, BLOCK_PAIRS // max(len(points), len(decay)) + 1):
            kernels = (pairs.at(points) * decay) @ pairs.at(measure.points[rows]).T
            found += np.square(kernels) @ measure.weights[rows] ** 2
        return found
    kernel = known.fitted(np.array([time / 2]), 1e-8)
    seconds = kernel.seconds(float(measure.n) * len(points), 1)
    what = f"standard errors at {len(points):,} places from {measure.n:,} points"
    plan.afford(seconds, lambda wait: f"{what} would take {wait}; give fewer places")
    side = math.isqrt(BLOCK_PAIRS)
    for part in slices(measure.n, max(side, BLOCK_PAIRS // len(points))):
        right = kernel.rows(measure.points, part)
        for rows in slices(len(points), side):
            overlaps = kernel.terms(kernel.rows(points, rows), right)(time / 2).overlap
            found[rows] += np.square(overlaps) @ measure.weights[part] ** 2
    return np.asarray(found * math.exp(2 * log_kernel_at_zero(measure.space, time)))
