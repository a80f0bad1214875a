"""All pairs, one scale after another: for spaces whose overlap is more than a function of the distance."""

from __future__ import annotations

import numpy as np

from ..measure import Measure
from ..progress import Progress
from ..spaces.base import FloatArray, PairSpace
from ..spaces.euclidean import SCALE_BY_SCALE
from . import flat
from .pairwise import tiles
from .sums import EPS, HeatSums

#: Rows of a tile; several arrays of its square are alive at once, and should stay in cache.
TILE = 128


def heat_sums(measure: Measure, space: PairSpace, times: FloatArray, rtol: float, progress: Progress) -> HeatSums:
    """sum_ij w_i w_j s_t(x_i, x_j), its derivative, and A - 1 = sum_ij w_i w_j (k_2t(x_i, x_j) - 1).

    Many atoms of flat space are summed at all scales at once, because there only the squared distances matter.
    """
    atoms = measure.coalesced()
    periods = space.flat_periods
    if periods is not None and np.isinf(periods).all() and atoms.n > SCALE_BY_SCALE and rtol >= flat.LEAST_RTOL:
        return flat.all_pair_sums(atoms, space, times)
    overlap, change, excess = np.zeros((3, len(times)))
    for rows, columns in progress.track(list(tiles(atoms.n, TILE)), "pairs"):
        left, right = atoms.points[rows], atoms.points[columns]
        twice = 1.0 if rows == columns else 2.0
        row_weights, column_weights = twice * atoms.weights[rows], atoms.weights[columns]
        terms_at = space.terms_of_tiles(left, right)
        for k, time in enumerate(times):
            terms = terms_at(float(time))
            overlap[k] += row_weights @ terms.overlap @ column_weights
            change[k] += row_weights @ terms.change @ column_weights
            if terms.excess is not None:
                excess[k] += row_weights @ terms.excess @ column_weights
    error = np.full(len(times), space.accuracy) + 64 * EPS
    return HeatSums(overlap, _log_excess(space, times, overlap, excess), change / overlap, error)


def _log_excess(space: PairSpace, times: FloatArray, overlap: FloatArray, excess: FloatArray) -> FloatArray:
    """log(A - 1): from the excess where A is near one, else from A = k_2t(x,x) / gESS, which cannot overflow."""
    if not space.compact:
        return np.full(len(times), np.nan)
    log_power = space.log_diagonal(times) + np.log(overlap)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(log_power > 1.0, log_power + np.log(-np.expm1(-log_power)), np.log(np.maximum(excess, 0.0)))
