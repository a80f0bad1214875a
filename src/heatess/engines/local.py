"""Fine scales: sums over neighbours, with a certified cut-off.

Below about a degree the series would need thousands of levels, but atoms further apart than a few
alpha no longer overlap, and the small-time expansion of the kernel is exact to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..measure import Measure
from ..progress import Progress
from ..spaces.base import FloatArray, SmallTime, ZonalSpace
from .pairwise import tiles
from .sums import EPS, HeatSums

#: Pairs handled at once.
BATCH = 2_000_000

#: A tighter rtol than this is asked of nobody: what the expansion leaves out is in `error`.
EXPANSION_TOLERANCE = 1e-11

#: Trees beat tiles in few dimensions only.
TREE_COLUMNS = 8


def cutoff(small: SmallTime, ess: float, rtol: float) -> float | None:
    """A distance beyond which s_t <= rtol / (10 ESS); None if the expansion does not reach or is not good enough."""
    goal = math.log(rtol / 10 / ess)
    grid = np.linspace(0.0, small.reach**2, 4097)
    exponent = np.polynomial.polynomial.polyval(grid, small.polynomial)
    below = exponent <= goal
    if small.error > max(rtol / 10, EXPANSION_TOLERANCE) or not below.any():
        return None
    return math.sqrt(grid[int(np.argmax(below))])


def heat_sums(
    measure: Measure,
    space: ZonalSpace,
    times: FloatArray,
    rtol: float,
    progress: Progress,
    *,
    tree: bool = True,
) -> HeatSums:
    """Heat sums at small *times*, all of which must be within reach of the expansion."""
    atoms = measure.coalesced()
    expansions = [space.small_time(float(time)) for time in times]
    cutoffs = [_reachable(small, atoms.ess, rtol) for small in expansions]
    overlap = np.full(len(times), float(atoms.weights @ atoms.weights))
    change = np.zeros(len(times))  # d overlap / d log t
    for square, weight in close_pairs(atoms, space, max(cutoffs), progress, tree):
        for k, small in enumerate(expansions):
            near = square < cutoffs[k] ** 2
            value = weight[near] * np.exp(np.polynomial.polynomial.polyval(square[near], small.polynomial))
            overlap[k] += 2 * value.sum()
            change[k] += 2 * (value @ np.polynomial.polynomial.polyval(square[near], small.slope))
    log_diagonal = np.array([small.log_diagonal for small in expansions])
    log_power = log_diagonal + np.log(overlap)
    error = rtol / 10 / (atoms.ess * overlap) + np.array([small.error for small in expansions]) + 32 * EPS
    return HeatSums(overlap, log_power + np.log(-np.expm1(-log_power)), change / overlap, error)


def _reachable(small: SmallTime, ess: float, rtol: float) -> float:
    reach = cutoff(small, ess, rtol)
    if reach is None:
        raise ArithmeticError("the small-time expansion does not reach far enough; the plan should not have chosen it")
    return reach


def close_pairs(
    atoms: Measure, space: ZonalSpace, distance: float, progress: Progress, tree: bool
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Squared distances and weight products of all pairs i < j closer than *distance*, in batches."""
    chord = float(space.chord(min(distance, space.diameter)))
    points = space.embed(atoms.points)
    pairs = _tree_pairs if tree and points.shape[1] <= TREE_COLUMNS else _tile_pairs
    for i, j in pairs(points, chord, progress):
        difference = points[i] - points[j]
        length = np.sqrt(np.einsum("ij,ij->i", difference, difference))
        yield space.from_chord(length) ** 2, atoms.weights[i] * atoms.weights[j]


def _tree_pairs(points: FloatArray, chord: float, progress: Progress) -> Iterator[tuple[FloatArray, FloatArray]]:
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    n = len(points)
    expected = max(1.0, tree.count_neighbors(tree, chord) / n)
    size = max(1, int(BATCH / expected))
    starts = range(0, n, size)
    for start in progress.track(starts, "neighbours"):
        part = cKDTree(points[start : start + size])
        found = part.sparse_distance_matrix(tree, chord, output_type="ndarray")
        i, j = found["i"] + start, found["j"]
        upper = i < j
        yield i[upper], j[upper]


def _tile_pairs(points: FloatArray, chord: float, progress: Progress) -> Iterator[tuple[FloatArray, FloatArray]]:
    # |x - y|^2 = 2 - 2 x.y up to rounding; the pairs let through are measured again from differences.
    bound = 1 - chord**2 / 2 - 1e-12
    for rows, columns in progress.track(list(tiles(len(points))), "pairs"):
        i, j = np.nonzero(points[rows] @ points[columns].T >= bound)
        i, j = i + rows.start, j + columns.start
        upper = i < j
        for start in range(0, int(upper.sum()), BATCH // points.shape[1] + 1):
            part = slice(start, start + BATCH // points.shape[1] + 1)
            yield i[upper][part], j[upper][part]
