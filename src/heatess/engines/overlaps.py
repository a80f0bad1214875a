"""All pairs of pair spaces: scale after scale, or all scales at once where only the distance matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..blocks import map_rows, slices, thread_count
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import FloatArray, PairSpace
from ..spaces.euclidean import SCALE_BY_SCALE
from . import flat
from .local import COINCIDENT, MOMENT_ERROR
from .pairwise import tiles
from .sums import EPS, HeatSums

if TYPE_CHECKING:
    from .neighbours import DistanceMoments

#: Rows of a tile; several arrays of its square are alive at once, and should stay in cache.
TILE = 128

#: Tiles between two steps of a progress bar, shared out among threads.
BATCH = 64


def heat_sums(measure: Measure, space: PairSpace, times: FloatArray, rtol: float, progress: Progress) -> HeatSums:
    """sum_ij w_i w_j s_t(x_i, x_j), its derivative, and A - 1 = sum_ij w_i w_j (k_2t(x_i, x_j) - 1).

    Many atoms are summed at all scales at once where only their distances matter: in flat and in hyperbolic space.
    """
    atoms = measure.coalesced()
    periods = space.flat_periods
    if atoms.n > SCALE_BY_SCALE and rtol >= flat.LEAST_RTOL:
        if periods is not None and np.isinf(periods).all():
            return flat.all_pair_sums(atoms, space, times)
        if space.radial:
            return _radial_sums(atoms, space, times, progress)
    overlap, change, excess = np.zeros((3, len(times)))
    work = list(tiles(atoms.n, TILE))
    for batch in progress.track(list(slices(len(work), BATCH)), "pairs"):

        def part(places: slice, batch: slice = batch) -> FloatArray:
            found = np.zeros((3, len(times)))
            for rows, columns in work[batch][places]:
                _add_tile(found, atoms, space, times, rows, columns)
            return found

        size = -(-BATCH // thread_count()) if space.parallel else BATCH
        for found in map_rows(part, batch.stop - batch.start, size):
            overlap, change, excess = overlap + found[0], change + found[1], excess + found[2]
    error = space.errors(times, overlap) + 64 * EPS
    return HeatSums(overlap, _log_excess(space, times, overlap, excess), change / overlap, error)


def _add_tile(
    found: FloatArray, atoms: Measure, space: PairSpace, times: FloatArray, rows: slice, columns: slice
) -> None:
    """Add the pairs of one tile to the three sums at each time; those off the diagonal count twice."""
    twice = 1.0 if rows == columns else 2.0
    row_weights, column_weights = twice * atoms.weights[rows], atoms.weights[columns]
    terms_at = space.terms_of_tiles(atoms.points[rows], atoms.points[columns])
    for k, time in enumerate(times):
        for sums, term in zip(found, terms_at(float(time)), strict=True):
            if term is not None:
                sums[k] += row_weights @ term @ column_weights


def _radial_sums(atoms: Measure, space: PairSpace, times: FloatArray, progress: Progress) -> HeatSums:
    """The same from the separations of all pairs, gathered in bins."""
    sums = _separation_moments(atoms, space, COINCIDENT * float(np.sqrt(8 * times.min())), progress)
    found = np.empty((2, len(times)))
    for k, time in enumerate(times):

        def kernel(separations: FloatArray, time: float = float(time)) -> FloatArray:
            terms = space.radial_terms(separations, time)
            return np.stack([terms.overlap, terms.change])

        found[:, k] = sums.sum(kernel, np.inf)
    error = np.full(len(times), space.accuracy + MOMENT_ERROR)
    return HeatSums(found[0], np.full(len(times), np.nan), found[1] / found[0], error)


def _separation_moments(atoms: Measure, space: PairSpace, least: float, progress: Progress) -> DistanceMoments:
    """Moments of the separations of all ordered pairs, an atom with itself included."""
    from .neighbours import TileMoments  # compiles, so only when it is needed

    moments = TileMoments(least, thread_count())
    blocks = list(slices(atoms.n, TILE))

    def add(top: slice, part: slice, thread: int) -> None:
        left, weights = atoms.points[top], atoms.weights[top]
        for block in blocks[part]:
            twice = 1.0 if block == top else 2.0
            moments.add(thread, space.separations(left, atoms.points[block]), twice * weights, atoms.weights[block])

    for k, top in enumerate(progress.track(blocks, "pairs")):
        share = -(-(len(blocks) - k) // thread_count())

        def strip(part: slice, top: slice = top, first: int = k, share: int = share) -> None:
            add(top, slice(first + part.start, first + part.stop), part.start // share)

        map_rows(strip, len(blocks) - k, share)
    return moments.total()


def _log_excess(space: PairSpace, times: FloatArray, overlap: FloatArray, excess: FloatArray) -> FloatArray:
    """log(A - 1): from the excess where A is near one, else from A = k_2t(x,x) / gESS, which cannot overflow."""
    if not space.compact:
        return np.full(len(times), np.nan)
    log_power = space.log_diagonal(times) + np.log(overlap)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(log_power > 1.0, log_power + np.log(-np.expm1(-log_power)), np.log(np.maximum(excess, 0.0)))
