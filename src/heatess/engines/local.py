"""Fine scales: sums over neighbours, with a certified cut-off.

Below about a degree the series would need thousands of levels, but atoms further apart than a few
alpha no longer overlap, and the small-time expansion of the kernel is exact to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import slices
from ..kernel import truncation
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import FloatArray, SmallTime, ZonalSpace
from .pairwise import tiles
from .sums import EPS, HeatSums

if TYPE_CHECKING:
    from .neighbours import DistanceMoments

IntArray = NDArray[np.int64]
PairFinder = Callable[[Measure, ZonalSpace, float, Progress], Iterator[tuple[IntArray, IntArray]]]

#: Pairs handled at once.
BATCH = 2_000_000

#: A tighter rtol than this is asked of nobody: what the expansion leaves out is in `error`.
EXPANSION_TOLERANCE = 1e-11

#: Cells and trees beat tiles in few dimensions only.
FEW_COLUMNS = 8

#: Below this many atoms a tree is ready before the compiled loop is.
GRID_ATOMS = 20_000

#: Candidate pairs per atom from which it pays to look for duplicates.
CROWDED = 1000

#: Relative error of a sum from distance moments, wherever it is more than the atoms' own.
MOMENT_ERROR = 1e-10

#: Pairs closer than this share of the finest alpha are at distance zero, to 1e-12.
COINCIDENT = 1e-6


def cutoff(space: ZonalSpace, time: float, ess: float, rtol: float) -> float | None:
    """A distance beyond which truncation may begin; None if the expansion is not good enough.

    What is left out of 1 / gESS is at most s_t there, and gESS, not known yet, is at most ESS and k_2t(x, x);
    or it is the share of `_log_share_beyond`, whichever is sooner small enough.
    """
    small = space.small_time(time)
    allowed = math.log(truncation(rtol, ess))
    most = min(math.log(ess), max(small.log_diagonal, 0.0))
    square = np.linspace(0.0, small.reach**2, 4097)[1:]
    below = np.minimum(_exponent(small, square) + most, _log_share_beyond(space, time, small, square)) <= allowed
    if small.error > max(rtol / 10, EXPANSION_TOLERANCE) or not below.any():
        return None
    return math.sqrt(square[int(np.argmax(below))])


def _log_share_beyond(space: ZonalSpace, time: float, small: SmallTime, square: Any) -> Any:
    """Upper bound on the log of the share of A(t) that pairs further apart than R hold, where it is below one.

    For T > t, k_2t(r) / k_2T(r) falls with r: the distance from a point is a diffusion on a line, whose kernel is
    totally positive (Karlin and McGregor). So those pairs hold at most A(T) k_2t(R) / k_2T(R), where A(T) <= A(t),
    and k_2T(R) is at least the kernel of flat space (Cheeger and Yau, without negative Ricci curvature). At the
    best T = R^2 / 4m this is k_2t(R) (2 pi e R^2 / m)^(m/2) / volume.
    """
    m = space.dim
    share = (
        small.log_diagonal
        + _exponent(small, square)
        + m / 2 * (np.log(2 * math.pi * square / m) + 1)
        - space.log_volume
    )
    return np.where(square > 4 * m * time, np.minimum(share, 0.0), 0.0)


def heat_sums(
    measure: Measure, space: ZonalSpace, times: FloatArray, rtol: float, progress: Progress, *, all_pairs: bool = False
) -> HeatSums:
    """Heat sums at small *times*, all of which must be within reach of the expansion.

    Neighbours are found by cells or by a tree; with *all_pairs*, and in many dimensions, by going
    through all pairs.
    """
    expansions = [space.small_time(float(time)) for time in times]
    cutoffs = np.array([_reachable(space, float(time), measure.ess, rtol) for time in times])
    columns = measure.points.shape[1]
    if all_pairs or columns > FEW_COLUMNS or measure.n < GRID_ATOMS:
        atoms = measure.coalesced()
        pairs = _tile_pairs if all_pairs or columns > FEW_COLUMNS else _tree_pairs
        overlap, change = _sum_pairs(
            _close_pairs(atoms, space, float(cutoffs.max()), progress, pairs), expansions, cutoffs
        )
        extra = np.zeros(len(times))
    else:
        atoms, moments = _distance_moments(measure, space, float(cutoffs.max()), float(np.sqrt(8 * times.min())))
        overlap, change = _sum_moments(moments, space, expansions, cutoffs)
        extra = np.full(len(times), MOMENT_ERROR)
    overlap = 1 / atoms.ess + 2 * overlap
    log_diagonal = np.array([small.log_diagonal for small in expansions])
    log_power = np.maximum(log_diagonal + np.log(overlap), EPS)  # A is at least one
    left_out = np.array(
        [
            min(_exponent(small, r * r) - math.log(value), _log_share_beyond(space, time, small, r * r))
            for time, small, r, value in zip(times, expansions, cutoffs, overlap, strict=True)
        ]
    )
    expansion = np.array([small.error for small in expansions])
    rounding = 32 * EPS + 16 * EPS / np.sqrt(8 * times)  # coordinates are good to EPS; d log s_t / dr at 4 alpha
    error = np.exp(left_out) + expansion + rounding + extra
    return HeatSums(overlap, log_power + np.log(-np.expm1(-log_power)), 2 * change / overlap, error)


def _reachable(space: ZonalSpace, time: float, ess: float, rtol: float) -> float:
    reach = cutoff(space, time, ess, rtol)
    if reach is None:
        raise ArithmeticError("the small-time expansion does not reach far enough; the plan should not have chosen it")
    return reach


def _exponent(small: SmallTime, square: Any) -> Any:
    return np.polynomial.polynomial.polyval(square, small.polynomial)


def _sum_pairs(
    pairs: Iterator[tuple[FloatArray, FloatArray]], expansions: list[SmallTime], cutoffs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """sum_{i<j} w_i w_j s_t and its derivative in log t, pair by pair."""
    overlap, change = np.zeros(len(expansions)), np.zeros(len(expansions))
    for square, weight in pairs:
        for k, small in enumerate(expansions):
            near = square < cutoffs[k] ** 2
            value = weight[near] * np.exp(_exponent(small, square[near]))
            overlap[k] += value.sum()
            change[k] += value @ np.polynomial.polynomial.polyval(square[near], small.slope)
    return overlap, change


def _distance_moments(
    measure: Measure, space: ZonalSpace, distance: float, finest: float
) -> tuple[Measure, DistanceMoments]:
    """Distance moments of the pairs closer than *distance*, and the atoms they are of.

    Duplicates cost nothing while they are few, so they are merged only if cells are crowded.
    """
    from .neighbours import Grid, distance_moments  # compiles, so only when it is needed

    radius = float(space.chord(distance))
    atoms = measure.support()
    grid = Grid.of(space.embed(atoms.points), atoms.weights, radius, antipodal=space.antipodal)
    if grid.candidates().sum() > CROWDED * atoms.n:
        merged = atoms.coalesced()
        if merged.n < 0.9 * atoms.n:
            atoms = merged
            grid = Grid.of(space.embed(atoms.points), atoms.weights, radius, antipodal=space.antipodal)
    return atoms, distance_moments(grid, COINCIDENT * finest, radius)


def _sum_moments(
    moments: DistanceMoments, space: ZonalSpace, expansions: list[SmallTime], cutoffs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The same as `_sum_pairs` from distance moments: one pass over the pairs serves all scales."""
    sums = np.empty((2, len(expansions)))
    for k, (small, cutoff) in enumerate(zip(expansions, cutoffs, strict=True)):

        def kernel(chord_square: FloatArray, small: SmallTime = small) -> FloatArray:
            square = np.minimum(space.from_chord(np.sqrt(chord_square)) ** 2, small.reach**2)
            value = np.exp(_exponent(small, square))
            return np.stack([value, value * np.polynomial.polynomial.polyval(square, small.slope)])

        sums[:, k] = moments.sum(kernel, float(space.chord(cutoff)) ** 2)
    return sums[0], sums[1]


def _close_pairs(
    atoms: Measure, space: ZonalSpace, distance: float, progress: Progress, pairs: PairFinder
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Squared distances and weight products of all pairs i < j closer than *distance*, in batches."""
    points = space.tile(atoms.points, slice(None))
    for i, j in pairs(atoms, space, min(distance, space.diameter), progress):
        yield space.distance(points[i], points[j]) ** 2, atoms.weights[i] * atoms.weights[j]


def _tree_pairs(
    atoms: Measure, space: ZonalSpace, distance: float, progress: Progress
) -> Iterator[tuple[IntArray, IntArray]]:
    from scipy.spatial import cKDTree

    points, chord = space.embed(atoms.points), float(space.chord(distance))
    n = len(points)
    tree = cKDTree(np.concatenate([points, -points]) if space.antipodal else points)
    expected = max(1.0, tree.count_neighbors(tree, chord) / n)
    size = max(1, int(BATCH / expected))
    for start in progress.track(range(0, n, size), "neighbours"):
        part = cKDTree(points[start : start + size])
        found = part.sparse_distance_matrix(tree, chord, output_type="ndarray")
        i, j = found["i"] + start, found["j"] % n
        upper = i < j
        yield i[upper], j[upper]


def _tile_pairs(
    atoms: Measure, space: ZonalSpace, distance: float, progress: Progress
) -> Iterator[tuple[IntArray, IntArray]]:
    # The cosine of the distance is right up to rounding; the pairs let through are measured again.
    bound = math.cos(distance) - 1e-12
    size = BATCH // atoms.points.shape[1] + 1
    for rows, columns in progress.track(list(tiles(atoms.n)), "pairs"):
        left, right = space.tile(atoms.points, rows), space.tile(atoms.points, columns)
        i, j = np.nonzero(space.tile_cosines(left, right) >= bound)
        i, j = i + rows.start, j + columns.start
        upper = i < j
        i, j = i[upper], j[upper]
        for part in slices(len(i), size):
            yield i[part], j[part]
