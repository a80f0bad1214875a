"""Random pairs: an unbiased estimate of the overlap when there are too many atoms for all pairs.

What is known is not sampled: the atoms' overlap with themselves; the lowest levels, from first and second moments; and
the pairs within cells of neighbours, which count most at fine scales. For the rest, atoms are drawn by weight, spread
evenly over the cells, into blocks of two sets each, and all pairs between the two sets of a block are summed. The error
follows the number of atoms drawn, so blocks are small. Many blocks make a batch. Each batch gives an unbiased estimate,
their mean is the result, and their spread is its standard error.

What is so rare that it is hardly drawn does not show in the spread; so `error` also holds what could have been missed.
Of the pairs that are close, 6 in all those drawn: no more than 6 / pairs. Of the atoms, a weight of u = 6 / (atoms
drawn). With phi(x) the part of s_t(x, .) that is sampled, in its Hilbert space, where it has length sqrt(q), and b the
mean of phi over the others, that moves |b|^2 to |b + u (h - b)|^2, by 2 u <h - b, b> + u^2 |h - b|^2, for some h in the
convex hull. The product lies between -|b|^2 and sqrt(q) |b| - |b|^2; it is at most q - s, and |h - b|^2 at most twice
that, where s is the least that is sampled of the overlap of two atoms. No two are further apart than twice the largest
distance from one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray, IntArray, generator
from ..base.blocks import in_lanes, one_blas_thread, slices, thread_count
from ..base.errors import InputError, PrecisionError
from ..base.progress import Progress
from ..heat.series import SERIES_LIMIT, level_count, level_probabilities
from ..heat.sums import HeatSums, LevelMoments, share_of_mmd2, sum_levels
from ..measures.measure import Measure
from ..spaces.capabilities import PairKernel, ZonalPairs
from .cosines import ERROR, FEW_PAIRS, CosineSums, lanes_that_fit
from .strata import BATCHES, ORDERED, Cells, Draws, principal_coordinates

#: Rows of a tile of pairs within a cell, or of overlaps with one atom.
TILE = 128

#: Overlaps with one atom that are worked out however few the pairs.
FEW_OVERLAPS = 1_000_000

#: Columns up to which copies of an atom are looked for before drawing.
FEW_COLUMNS = 64

#: Standard errors counted into `error`: from 32 batches, the truth lies within in all but 1 case of 190.
SIGMAS = 3.0

#: If none of the pairs drawn overlaps, they hold fewer of those that do, on average, in all but 1 case of 400.
UNSEEN = 6.0

#: Pairs that may be asked for: they take hours.
MOST_PAIRS = 10**12

#: Fewest blocks of a batch where blocks cost little: the smaller they are, the more atoms are drawn.
FEW_BLOCKS = 16

#: Fewest atoms of a cell whose pairs are worth summing, and fewest such cells.
LEAST_CELL, LEAST_CELLS = 16, 16

#: Second moments are taken while they cost less than so many times the pairs.
MOMENTS = 20

#: Distances at which the part of an overlap that is sampled is looked at for its least value.
GRID = 257


def heat_sums(
    measure: Measure, times: FloatArray, rtol: float, pairs: int, rng: np.random.Generator, progress: Progress
) -> HeatSums:
    """Heat sums at *times* from about *pairs* random pairs; `error` includes three standard errors."""
    space = measure.space
    kernel = space.pair_kernel
    if kernel is None:
        raise InputError(
            f"random pairs are of no use on {space!r}, which is known by its eigenpairs: their sum takes a time in "
            "proportion to the number of points; leave out `pairs=`"
        )
    atoms = measure.coalesced() if kernel.width <= FEW_COLUMNS else measure
    if (zonal := kernel.zonal) is not None:
        count = level_count(zonal.series, float(times.min()), atoms.ess, rtol, SERIES_LIMIT)
        if count is not None:
            return _by_levels(atoms, zonal, times, count, pairs, rng, progress)
    order = Cells.of(principal_coordinates(atoms.points), ORDERED).order
    draws = Draws.of(order, atoms.weights, pairs, rng, blocks=1)
    return _by_overlaps(atoms, kernel.fitted(times, rtol), times, draws, progress)


def _chance(
    draws: Draws, batches: FloatArray, rest: FloatArray, one: FloatArray | float, least: FloatArray
) -> FloatArray:
    """What chance may have done to a sum of overlaps: the spread of the batches, and what is too rare to be drawn.

    An atom has the overlap *one* with itself, no two have less than *least*, and the sum of all came to *rest*.
    """
    room = one - least
    spread = SIGMAS * batches.std(axis=0, ddof=1) / math.sqrt(len(batches))
    pairs = UNSEEN / draws.pairs * room
    most = np.maximum(rest, 0.0) + spread + pairs  # since it may be more than was found
    unseen = UNSEEN / draws.atoms
    atoms = 2 * unseen * np.minimum(room, np.maximum(most, np.sqrt(one * most) - most)) + 2 * unseen**2 * room
    return np.asarray(spread + atoms + pairs)


def _by_levels(
    measure: Measure,
    kernel: ZonalPairs,
    times: FloatArray,
    count: int,
    pairs: int,
    rng: np.random.Generator,
    progress: Progress,
) -> HeatSums:
    """Where the overlap depends on the distance alone: the moments of *count* levels serve all scales."""
    series = kernel.series
    p = np.stack([level_probabilities(series, float(t), count) for t in times])  # (times, levels)
    known = _known_levels(measure, count, pairs)
    sampled = p.copy()
    sampled[:, : len(known)] = 0.0
    one = sampled.sum(axis=1)
    least = (sampled @ series.zonal(count, np.linspace(0.0, _reach(measure, kernel), GRID))).min(axis=1)

    eigenvalues = series.levels(count).eigenvalues
    blocks = _Blocks.of(measure, kernel, pairs, float((p @ eigenvalues).max()))
    draws = Draws.of(blocks.order, measure.weights, pairs - blocks.near_pairs, rng, blocks=FEW_BLOCKS)
    cosines, same = blocks.drawn(draws, count, progress)
    near, share = blocks.near(count, progress)
    moments = np.stack([series.from_cosines(near + row) for row in cosines - same[:, None]])  # (batches, levels)
    # A batch draws more or fewer pairs within cells than their share; `least` stands for the others that it lacks.
    batches = moments @ sampled.T + np.multiply.outer(same - share, least)  # (batches, times)
    rest = batches.mean(axis=0)

    excess = p[:, 1 : len(known)] @ known[1:] + rest  # (A - 1) / k_2t(x, x)
    overlap = p[:, 0] + excess
    if not (overlap > 0).all():
        raise PrecisionError(f"{pairs:,} random pairs are too few to tell the overlap from zero; give more")
    values = moments.mean(axis=0)
    values[: len(known)] = known
    sums = sum_levels(series, times, LevelMoments(np.clip(values, 0.0, 1.0), error=ERROR, certain=len(known)))
    # An overlap changes with the cosine by no more than at distance zero, absolutely and in proportion.
    steepest = np.minimum(overlap * (p @ eigenvalues), sampled @ eigenvalues) / (series.dim * series.winding**2)
    chance = (_chance(draws, batches, rest, one, least) + 2 * blocks.rounded * steepest) / overlap
    with np.errstate(invalid="ignore", divide="ignore"):  # nan where chance makes it negative
        log_mmd2 = kernel.log_diagonal(times) + np.log(excess)
    slope = sums.slope * sums.overlap / overlap
    found = _with_chance(overlap, slope, sums.error, chance, log_mmd2)
    return replace(found, mmd2_error=found.mmd2_error + sums.mmd2_error)


def _known_levels(measure: Measure, count: int, pairs: int) -> FloatArray:
    """b_0 = 1 and, where they cost little beside the pairs, the lowest level moments b_1, b_2 of all atoms."""
    low, width = measure.space.low_moments, measure.points[0].size
    if low is None or measure.n * width > MOMENTS * pairs:
        return np.ones(1)
    return np.concatenate([[1.0], low.moments(low.sums(measure.points, measure.weights))])[:count]


def _reach(measure: Measure, kernel: ZonalPairs) -> float:
    """What no two atoms are further apart than: twice the largest distance from the first, or the diameter."""
    series, one, least = kernel.series, kernel.rows(measure.points[:1]), 1.0
    for part in slices(measure.n, max(1, 2**18 // kernel.width)):
        least = min(least, float(kernel.cosines(one, kernel.rows(measure.points, part)).min()))
        if least <= math.cos(series.winding * series.diameter / 2):
            return series.diameter
    return 2 * math.acos(least) / series.winding


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Cosines of the distances of pairs, in cells and between them."""

    measure: Measure
    kernel: ZonalPairs
    cells: Cells
    within: bool  # whether the pairs of a cell are all summed; else an atom is a cell of its own
    dtype: type[np.floating[Any]]

    @classmethod
    def of(cls, measure: Measure, kernel: ZonalPairs, pairs: int, eigenvalue: float) -> _Blocks:
        """*eigenvalue* is the mean at the finest scale, by which rounding in single precision is judged."""
        size = _cell_size(measure.n, pairs)
        cells = Cells.of(principal_coordinates(measure.points), size or ORDERED)
        series = kernel.series
        rounded = 2 * _rounded(kernel, np.float32) * eigenvalue / (series.dim * series.winding**2)
        single = measure.points.dtype == np.float32 and rounded <= SIGMAS / math.sqrt(pairs)
        return cls(measure, kernel, cells, size > 0, np.float32 if single else np.float64)

    @property
    def order(self) -> IntArray:
        """The atoms, neighbours next to each other."""
        return self.cells.order

    @property
    def near_pairs(self) -> int:
        """About how many pairs are summed within cells."""
        cells, size = self.cells.members.shape
        return cells * size * (size if size <= TILE else (size + TILE) // 2) if self.within else 0

    @property
    def rounded(self) -> float:
        """What rounding may do to a cosine."""
        return _rounded(self.kernel, self.dtype)

    def _rows(self, atoms: IntArray) -> NDArray[Any]:
        if self.dtype == np.float64:
            return self.kernel.rows(self.measure.points[atoms])
        rows = self.measure.points[atoms]  # unit vectors: no other points are kept in single precision
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        return rows

    def drawn(self, draws: Draws, count: int, progress: Progress) -> tuple[FloatArray, FloatArray]:
        """Means over each batch of cos(k winding d), shape (batches, count), and the share of pairs within a cell.

        Those, which are not sampled, count as if at distance zero.
        """
        label = (self.cells.labels if self.within else np.arange(self.measure.n)).astype(np.int32)
        sums = [CosineSums(count, draws.pairs // BATCHES) for _ in range(BATCHES)]
        each, same = 1 / math.sqrt(draws.blocks * draws.side**2), np.zeros(BATCHES)

        def add(batch: int, left: IntArray, right: IntArray) -> None:
            blocks, side = left.shape
            first, second = (self._rows(part.ravel()).reshape(blocks, side, -1) for part in (left, right))
            u = np.empty((blocks, side, side))
            for block in range(blocks):
                u[block] = self.kernel.cosines(first[block], second[block])
            near = label[left][:, :, None] == label[right][:, None]
            np.putmask(u, near, 1.0)
            same[batch] += np.count_nonzero(near)
            sums[batch].add(u.reshape(-1, side), np.full(blocks * side, each), np.full(side, each))

        draws.each(add, progress, parallel=True)
        return np.array([part.values() for part in sums]), same / (draws.pairs / BATCHES)

    def near(self, count: int, progress: Progress) -> tuple[FloatArray, float]:
        """Sums of w_i w_j cos(k winding d_ij) over the pairs within cells, and of w_i w_j."""
        measure = self.measure
        if not self.within:
            return np.full(count, 1 / measure.ess), 1 / measure.ess
        members = self.cells.members
        weights = np.where(members >= 0, measure.weights[members], 0.0)
        lanes = min(8, lanes_that_fit(count))
        sums = CosineSums(count, self.near_pairs, lanes)
        size = max(1, TILE // members.shape[1])

        def add(lane: int, part: slice) -> None:
            rows = self._rows(np.maximum(members[part], 0).ravel()).reshape(*members[part].shape, -1)
            for cell, row in zip(rows, weights[part], strict=True):
                self._add_cell(sums, lane, cell, row)

        with one_blas_thread():
            work = list(slices(len(members), size))
            for batch in progress.track([work[part] for part in slices(len(work), 64 * lanes)], "close pairs"):
                in_lanes(batch, add, lanes, thread_count())
        return sums.values(), self.cells.near(measure.weights)

    def _add_cell(self, sums: CosineSums, lane: int, rows: NDArray[Any], weights: FloatArray) -> None:
        """All pairs of one cell, tile by tile; those off the diagonal count twice."""
        parts = list(slices(len(rows), TILE))
        for place, first in enumerate(parts):
            for second in parts[place:]:
                u = self.kernel.cosines(rows[first], rows[second]).astype(np.float64, copy=False)
                if first == second:
                    np.fill_diagonal(u, 1.0)
                sums.add(u, weights[first] if first == second else 2 * weights[first], weights[second], lane)


def _cell_size(n: int, pairs: int) -> int:
    """Most atoms of a cell, so that all pairs within cells are about a quarter of *pairs*; 0 where cells do not pay."""
    size = max(pairs // (2 * n) - TILE, min(pairs // (4 * n), TILE))
    size = min(size, n // LEAST_CELLS)
    return size if size >= LEAST_CELL and n * size > FEW_PAIRS else 0


def _rounded(kernel: ZonalPairs, dtype: type[np.floating[Any]]) -> float:
    """Bound on the rounding of cos(winding d): inner products are good to 2 eps sqrt(columns), as everywhere."""
    return float(2 * np.finfo(dtype).eps * math.sqrt(kernel.width) * max(1.0, kernel.series.winding**2))


def _with_chance(
    overlap: FloatArray, slope: FloatArray, error: FloatArray, chance: FloatArray, log_mmd2: FloatArray
) -> HeatSums:
    """The same chance is A / (A - 1) times as much of MMD^2 as of A; nothing is known where that is not positive."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        of_mmd2 = np.where(np.isnan(log_mmd2), np.inf, share_of_mmd2(chance, log_mmd2))
    return HeatSums(overlap, log_mmd2, slope, error + chance, of_mmd2, np.zeros(len(overlap)))


def _by_overlaps(measure: Measure, kernel: PairKernel, times: FloatArray, draws: Draws, progress: Progress) -> HeatSums:
    """Where there are no levels, or a scale is too fine for them: the mean over batches at each scale.

    What all overlaps have in common is not sampled: 1 / k_2t(x, x) on a compact space, and more in a tight cloud.
    """
    compact, own = measure.space.compact, 1 / measure.ess
    diagonal = kernel.log_diagonal(times)
    constant = np.exp(-diagonal) if compact else np.zeros(len(times))
    affordable = measure.n * len(times) <= max(draws.pairs, FEW_OVERLAPS)
    least = np.maximum(1 - 4 * _deficit(measure, kernel, times), constant) if affordable else constant
    with np.errstate(over="ignore"):
        common = np.where(least > constant, np.exp(np.minimum(diagonal, 700.0)) * least - 1, 0.0) if compact else 0.0
    batches = np.zeros((BATCHES, 3, len(times)))

    def add(batch: int, left: IntArray, right: IntArray) -> None:
        for block in zip(left, right, strict=True):
            batches[batch] += _overlaps(measure, kernel, times, least, common, *block) / draws.blocks

    draws.each(add, progress, parallel=kernel.parallel)
    overlap, change, excess = batches.mean(axis=0)
    overlap += least + own * (1 - least)
    excess += common * (1 - own)
    chance = _chance(draws, batches[:, 0], overlap, 1.0, least) / overlap
    error = kernel.errors(times, overlap) + 64 * EPS
    if not compact:
        return HeatSums.of_overlap(overlap, change / overlap, error + chance, None)
    log_power = diagonal + np.log(overlap)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # nan where chance makes it negative
        log_mmd2 = np.where(log_power > 0, log_power + np.log(-np.expm1(-log_power)), np.nan)
        near_one = np.log(excess + own * np.expm1(np.minimum(diagonal, 700.0)))
    return _with_chance(overlap, change / overlap, error, chance, np.where(log_power > 1.0, log_mmd2, near_one))


def _deficit(measure: Measure, kernel: PairKernel, times: FloatArray) -> FloatArray:
    """The most that an overlap with the first atom falls short of one, at each time."""
    one, most = kernel.rows(measure.points[:1]), np.zeros(len(times))
    for part in slices(measure.n, TILE**2):
        terms_at = kernel.terms(one, kernel.rows(measure.points, part))
        most = np.maximum(most, [1 - float(terms_at(float(time)).overlap.min()) for time in times])
    return most


def _overlaps(
    measure: Measure,
    kernel: PairKernel,
    times: FloatArray,
    least: FloatArray,
    common: FloatArray | float,
    left: IntArray,
    right: IntArray,
) -> FloatArray:
    """Means over a block of s_t - least, d s_t / d log t and k_2t - 1 - common; an atom counts as zero with itself."""
    found = np.zeros((3, len(times)))
    distinct = (left[:, None] != right).astype(np.float64)
    found[0] -= least * distinct.sum()
    found[2] -= common * distinct.sum()
    terms_at = kernel.terms(kernel.rows(measure.points[left]), kernel.rows(measure.points[right]))
    for k, time in enumerate(times):
        for part, term in enumerate(terms_at(float(time))):
            if term is not None:
                found[part, k] += np.vdot(distinct, term)
    return found / len(left) ** 2


def check_arguments(pairs: float, rng: np.random.Generator | int | None) -> tuple[int, np.random.Generator]:
    """The number of random pairs, which may be written as 2e7, and their generator; both must be given."""
    number = isinstance(pairs, int | float | np.integer | np.floating) and not isinstance(pairs, bool)
    if not number or not 1000 <= pairs <= MOST_PAIRS or pairs != int(pairs):
        raise InputError.unfit("pairs", "a whole number from 1000 to 10**12", pairs)
    if rng is None:
        raise InputError("`pairs=` draws at random and needs <+`rng=`, a numpy.random.Generator or an integer seed+>")
    return int(pairs), generator(rng)
