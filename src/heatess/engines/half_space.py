"""Fine scales in hyperbolic space: sums over close pairs, found in the half-space model, with a certified cut-off.

With y the height of a point over the boundary at infinity and x its place along it,

    2 (cosh r - 1) = (|x - x'|^2 + (y - y')^2) / (y y').

So points closer than R differ by no more than R in log y, and by no more than 2 sinh(R/2) sqrt(y y') in each coordinate
of x. Atoms are put into strips of log y, in three dimensions also into cells of the last coordinate, and each of these
rows is sorted by the first one. Atoms far apart overlap by exp(-r^2 / 8t) at most: curvature makes overlaps smaller.
"""

from __future__ import annotations

import math
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import in_lanes, slices, thread_count
from ..base.progress import Progress
from ..heat.bounds import truncation
from ..heat.exact import halves
from ..heat.sums import HeatSums
from ..measures.measure import Measure
from ..spaces.capabilities import SeparatedPairs
from .base import Answer, Offer, Question
from .close_pair_counts import PairCounts, sampled_rows

if TYPE_CHECKING:
    from .cells import DistanceMoments

#: Relative error of a sum from distance moments, wherever it is more than the atoms' own.
MOMENT_ERROR = 1e-10

#: Pairs closer than this share of the finest alpha are at distance zero, to 1e-12.
COINCIDENT = 1e-6

#: Tables of sums that are added to at the same time, and parts of the work for each.
_LANES, _PARTS = 8, 16

#: Cells of the last coordinate from zero on, up to which rounding is less than the hundredth they are too large by.
_MOST_CELLS = 2.0**40

#: Candidates for each close pair, in so many dimensions, and seconds of each on two cores.
_LOOKED_AT, _CANDIDATE = {2: 2.0, 3: 4.5}, {2: 4e-9, 3: 7e-9}

# Seconds on two cores.
_CLOSE_PAIR = 3e-9
_SORTED = 6e-7  # one atom put into its row
_SCALE = 2e-4  # bins at one scale
_START = 2e-3


class HalfSpaceOffer(Offer):
    """One pass over the close pairs of the coarsest scale serves all finer ones."""

    name = "local"

    def __init__(self, question: Question, kernel: SeparatedPairs, dim: int) -> None:
        self._question, self._kernel, self._dim = question, kernel, dim
        self._once = cache(self._pair_seconds)

    def _reach(self, place: int) -> float:
        """The distance beyond which pairs are left out: gESS, not known yet, is at most ESS."""
        ess = self._question.measure.ess
        return math.sqrt(8 * float(self._question.times[place]) * math.log(ess / truncation(self._question.rtol, ess)))

    @cached_property
    def _counts(self) -> PairCounts:
        measure, kernel = self._question.measure, self._kernel
        left, right = (kernel.rows(measure.points[part]) for part in sampled_rows(measure.n))
        chords = np.sort(np.sqrt(kernel.separations(left, right)), axis=None)
        return PairCounts(measure.n, self._dim, self._dim, chords.size, chords, chords)

    def seconds(self, first: int, end: int) -> float:
        """By the number of pairs that are close at the coarsest scale."""
        return self._once(end - 1) + _SCALE * (end - first)

    def _pair_seconds(self, coarsest: int) -> float:
        reach, n = self._reach(coarsest), float(self._question.measure.n)
        if reach > 4:  # strips are then wider than most clouds
            return math.inf
        close = self._counts.within(2 * math.sinh(reach / 2))
        looked_at = min(_LOOKED_AT[self._dim] * math.exp(reach) * close, n**2 / 2)
        return _START + _SORTED * n + _CANDIDATE[self._dim] * looked_at + _CLOSE_PAIR * close

    def run(self, part: slice, progress: Progress) -> Answer:
        """Sums of the overlap and of its slope over the bins of close pairs, and of each atom with itself."""
        atoms, times = self._question.measure.coalesced(), self._question.times[part]
        reach = self._reach(part.stop - 1)
        total = _moments(atoms, self._kernel, reach, float(times[0]), progress)
        half, change = gathered(total, self._kernel, times)
        overlap = 1 / atoms.ess + 2 * half
        left_out = np.exp(-(reach**2) / (8 * times)) / overlap
        error = self._kernel.accuracy + MOMENT_ERROR + left_out
        return Answer(HeatSums.of_overlap(overlap, 2 * change / overlap, error, None))


def gathered(moments: DistanceMoments, kernel: SeparatedPairs, times: FloatArray) -> FloatArray:
    """Sums of overlaps, and of their change with log t, over pairs in bins of their separation; shape (2, times)."""

    def at(time: float) -> FloatArray:
        return moments.sum(lambda separations: np.stack(kernel.radial_terms(separations, time)[:2]), np.inf)

    return np.stack([at(time) for time in times.tolist()], axis=1)


class Rows(NamedTuple):
    """Atoms in rows, in the order of their places within each."""

    order: IntArray  # of the atoms
    places: FloatArray  # along the boundary, in that order
    starts: IntArray  # the first atom of each row, and their number
    after: IntArray  # one after the last row of the same strip that is beside it
    first: IntArray  # the first row of the next strip that is beside it ...
    last: IntArray  # ... and one after the last
    widths: FloatArray  # how far apart along the boundary close pairs of a row may be

    @classmethod
    def of(cls, places: FloatArray, log_heights: FloatArray, reach: float) -> Rows:
        """For pairs closer than *reach*; places have shape (n, 1) or (n, 2)."""
        thickness, lowest = reach * (1 + 1e-9) + 1e-11, float(log_heights.min())
        strip = np.floor((log_heights - lowest) / thickness).astype(np.int64)
        strips, rank = np.unique(strip, return_inverse=True)
        side = 2 * math.sinh(reach / 2) * np.exp(lowest + (strips + 1) * thickness)  # no close pair is farther apart
        cell = np.floor(places[:, -1] / (1.01 * side[rank]))
        if flat := places.shape[1] == 1 or float(np.abs(cell).max()) > _MOST_CELLS:
            cell = np.zeros(len(strip))
        low = float(cell.min())
        span = int(cell.max() - low) + 4
        number = rank * span + (cell - low).astype(np.int64) + 1
        order = np.lexsort((places[:, 0], number))
        rows, starts = np.unique(number[order], return_index=True)
        of_row, place = rows // span, rows % span - 1 + low
        after = np.searchsorted(rows, rows + 1, side="right")
        upper = np.minimum(of_row + 1, len(strips) - 1)
        beside = (strips[upper] == strips[of_row] + 1) & (upper > of_row)
        # Cells of the next strip that a close pair may reach.
        wide, reaching, of_upper = 1.01 * side[of_row], np.sqrt(side[of_row] * side[upper]), 1.01 * side[upper]
        left = np.floor((place * wide - reaching) / of_upper - 0.01)
        right = np.floor(((place + 1) * wide + reaching) / of_upper + 0.01)
        if flat:
            left = right = np.zeros(len(rows))
        ends = [upper * span + 1 + np.clip(part - low, -1, span - 2).astype(np.int64) for part in (left, right)]
        first, last = np.searchsorted(rows, ends[0]), np.searchsorted(rows, ends[1], side="right")
        last = np.where(beside, last, first)
        return cls(order, places[order, 0], np.append(starts, len(order)), after, first, last, side[of_row])


def _moments(
    atoms: Measure, kernel: SeparatedPairs, reach: float, finest: float, progress: Progress
) -> DistanceMoments:
    """Of the separations of all pairs closer than *reach*."""
    from ..compiled.half_space import add_rows
    from .cells import TileMoments

    rows = Rows.of(*kernel.half_space(atoms.points), reach)
    points = np.ascontiguousarray(kernel.rows(atoms.points)[rows.order])
    columns = np.ascontiguousarray(points.T)
    sorted_atoms = points, columns, halves(points), halves(columns), atoms.weights[rows.order], rows.places
    neighbours = rows.starts, rows.after, rows.first, rows.last, rows.widths
    most = 4 * math.sinh(reach / 2) ** 2
    moments = TileMoments(COINCIDENT * min(math.sqrt(8 * finest), 1.0), _LANES, most)
    work = list(slices(atoms.n, -(-atoms.n // (_LANES * _PARTS))))

    def add(lane: int, part: slice) -> None:
        add_rows(sorted_atoms, neighbours, part.start, part.stop, most, *moments.lane(lane))

    for batch in progress.track([work[part] for part in slices(len(work), _LANES)], "neighbours"):
        in_lanes(batch, add, _LANES, thread_count())
    return moments.total()
