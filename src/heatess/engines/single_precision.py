"""Inner products of many columns in single precision, where their rounding is certain to stay below the tolerance.

They take half the time. With u = 2^-24, a sum of m products of numbers is off by no more than m u sum |x_k y_k|, in
whatever order it is added up; for unit vectors that is m u. So the columns are cut into pieces, whose sums are added.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import map_rows, slices
from ..base.progress import Progress
from ..heat.series import level_probabilities
from ..heat.sums import HeatSums, LevelMoments, sum_levels
from ..measures.measure import Measure
from ..spaces.capabilities import ZonalPairs
from .cosines import CosineSums, SingleSums
from .tiles import over_tiles

SingleArray = NDArray[np.float32]

#: Fewest columns and atoms for which single precision is considered.
COLUMNS, ATOMS = 128, 4096

#: Rows of a tile, of which two arrays should stay in the second-level cache.
TILE = 512

#: Numbers of pieces; more cost more than they are worth.
PIECES = (2, 4, 6, 8, 12, 16)

#: Bound on the absolute error of a sum over pairs from bins that keep four moments.
BIN_ERROR = 5e-10

#: Atoms from which the moments of all are guessed, to see what their rounding would do.
_SOME = 768

#: Share of the tolerance that the rounding may take by that guess.
_ROOM = 0.9


class Plan:
    """So many pieces, the error of a cosine that they leave, and whether the lowest moments must be summed apart."""

    def __init__(self, pieces: int, columns: int, low: bool = False) -> None:
        self.pieces, self.low = pieces, low
        # Besides the sums: two roundings of coordinates, and those of a place in a bin.
        self.cosine_error = 1.01 * (math.ceil(columns / pieces) + pieces + 6) * 2.0**-24


def planned(
    measure: Measure, kernel: ZonalPairs, times: FloatArray, count: int, rtol: float, mmd2: bool
) -> Plan | None:
    """The fewest pieces whose rounding is below *rtol* at all *times*, by moments of some atoms; None where none is."""
    columns, series = kernel.width, kernel.series
    if not kernel.inner or columns < COLUMNS or measure.n < ATOMS:
        return None
    finest = float(times.min())
    slope = float(level_probabilities(series, finest, count) @ series.levels(count).eigenvalues) / series.dim
    fitting = [Plan(pieces, columns) for pieces in PIECES]
    fitting = [plan for plan in fitting if slope * plan.cosine_error <= _ROOM * rtol]
    if not fitting or not mmd2:
        return fitting[0] if fitting else None
    guess = _guess(measure, kernel, count)
    for plan in fitting:
        for low in (False, True):
            moments = LevelMoments(guess, 0.0, BIN_ERROR, plan.cosine_error, 3 if low else 1)
            sums = sum_levels(series, times, moments)
            if certain(sums, _ROOM * rtol, mmd2):
                plan.low = low
                return plan
    return None


def certain(sums: HeatSums, rtol: float, mmd2: bool) -> bool:
    """Whether gESS is good to *rtol* and, with *mmd2*, MMD^2 to that or to four times what is said of gESS."""
    good = float(sums.error.max()) <= rtol
    return good and not (mmd2 and (sums.mmd2_error > np.maximum(rtol, 4 * sums.error)).any())


def _guess(measure: Measure, kernel: ZonalPairs, count: int) -> FloatArray:
    """Level moments of all atoms, by those of some of them, evenly spread over their rows."""
    some = np.linspace(0, measure.n - 1, _SOME).astype(np.int64)
    rows = kernel.rows(measure.points[some], slice(None))
    weights = measure.weights[some] / measure.weights[some].sum()
    sums = CosineSums(count, _SOME**2)
    sums.add(kernel.cosines(rows, rows), weights, weights)
    own, all_own = float(weights @ weights), 1 / measure.ess
    others = (kernel.series.from_cosines(sums.values()) - own) / (1 - own)
    values = np.maximum(others, 0.0) * (1 - all_own) + all_own
    values[0] = 1.0
    return np.asarray(np.minimum(values, 1.0))


def single_cosines(
    atoms: Measure, kernel: ZonalPairs, plan: Plan, count: int, size: int, lanes: int, progress: Progress
) -> FloatArray:
    """sum_ij w_i w_j cos(k d_ij) for k < *count*, by tiles of so many rows."""
    sums, vectors = SingleSums(count, lanes), SingleRows(atoms, kernel, plan.pieces, lanes)

    def add(lane: int, rows: slice, columns: slice) -> None:
        left = atoms.weights[rows] if rows == columns else 2 * atoms.weights[rows]
        sums.add(vectors.cosines(rows, columns, lane), left, atoms.weights[columns], lane)

    over_tiles(atoms.n, add, progress, size=size, lanes=lanes)
    return sums.values()


class SingleRows:
    """Unit vectors in single precision, and their inner products."""

    def __init__(self, measure: Measure, kernel: ZonalPairs, pieces: int, lanes: int) -> None:
        self._room = np.empty((lanes, 2, TILE, TILE), dtype=np.float32)  # once, because new pages cost time
        self._rows = np.empty((measure.n, kernel.width), dtype=np.float32)
        self._parts = list(slices(kernel.width, math.ceil(kernel.width / pieces)))

        def fill(rows: slice) -> None:
            self._rows[rows] = kernel.rows(measure.points, rows)

        map_rows(fill, measure.n, 2048)

    def cosines(self, rows: slice, columns: slice, lane: int) -> SingleArray:
        """Of all pairs of two tiles, until the same lane asks again."""
        left, right = self._rows[rows], self._rows[columns]
        found, more = self._room[lane].reshape(2, -1)[:, : len(left) * len(right)].reshape(2, len(left), len(right))
        np.matmul(left[:, self._parts[0]], right[:, self._parts[0]].T, out=found)
        for part in self._parts[1:]:
            np.matmul(left[:, part], right[:, part].T, out=more)
            found += more
        if rows == columns:
            np.fill_diagonal(found, 1.0)
        return np.asarray(found)
