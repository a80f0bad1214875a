"""All pairs of atoms: through cosines of their distance, through their separations, or scale after scale.

On a space with a series each zonal function is a mixture of cosines of the distance, so the sums over pairs of those
cosines give the moments of every level at once. In open spaces the separations are gathered in bins, which serve all
scales too. Elsewhere overlaps are summed tile by tile at each scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..base.arrays import EPS, FloatArray
from ..base.errors import InputError, PrecisionError
from ..base.progress import Progress
from ..heat.lookup import LoopFactor
from ..heat.series import SERIES_LIMIT, Series, level_count
from ..heat.sums import HeatSums, LevelMoments, log_excess_of_power, share_of_mmd2
from ..measures.measure import Measure
from ..spaces.capabilities import Embedding, PairKernel, SeparatedPairs, ZonalPairs
from ..transforms.levels import LevelSpectrum
from .base import (
    Answer,
    Engine,
    FormsOffer,
    FormsQuestion,
    LevelFormsQuestion,
    LevelsOffer,
    LevelsQuestion,
    Offer,
    PotentialOffer,
    PotentialQuestion,
    Question,
    SlopesOffer,
    SlopesQuestion,
    made,
)
from .cosines import ERROR, CosineSums, lanes_that_fit
from .half_space import COINCIDENT, MOMENT_ERROR, gathered
from .neighbours import LEAST_RTOL, NeighboursOffer, sum_cells
from .pair_columns import PairForms, PairLevelForms, PairPotentials
from .single_precision import BIN_ERROR, Plan, certain, planned, single_cosines
from .single_precision import TILE as SINGLE_TILE
from .tiles import TILE, lanes_for, over_tiles

#: Rows of a tile where each scale is summed on its own: several arrays of its square should stay in cache.
SMALL_TILE = 128

#: Separations are gathered in bins, which are good to ten digits only, where overlaps one by one take longer than this.
FEW_SECONDS = 5e-3

#: Atoms from which on one compiled loop, which takes time to load, goes through all their pairs.
FEW_ROWS = 128

#: So few atoms that all pairs may be summed a second time with twice the levels, and most levels then.
FEW_ATOMS, FEW_LEVELS = 2000, 512

# Seconds on two cores.
_PAIR = 4.8e-9  # one pair distance put into its bin
_PRODUCT = 1.4e-11  # one coordinate of one inner product
_FEW_PAIR = 6e-8  # one pair distance put through a Fourier transform
_GATHERED = 2e-9  # one separation put into its bin
_START = 1.5e-3  # what bins cost however few the pairs


class Pairs(Engine):
    """Sums over all pairs."""

    name = "pairwise"

    def offer(self, question: Question) -> Offer | None:
        """On every homogeneous space."""
        space = question.measure.space
        kernel, embedding = space.pair_kernel, space.embedding
        if kernel is None:
            return None
        if kernel.zonal is not None:
            return LevelOffer(question, kernel.zonal)
        pairs = 0.5 * float(question.measure.n) ** 2
        if question.rtol >= LEAST_RTOL and kernel.seconds(pairs, len(question.times)) > FEW_SECONDS:
            if kernel.separated is not None:
                return SeparationOffer(question, kernel.separated)
            if embedding is not None and embedding.open:
                return FlatOffer(question, embedding)
        return TileOffer(question, kernel)

    def refusal(self, question: Question) -> Exception:
        """Not homogeneous, or atoms that overlap beyond both the series and the small-time expansion."""
        space = question.measure.space
        if space.pair_kernel is None:
            return InputError(f"{space!r} is known by its eigenpairs; use `method='auto'`")
        return PrecisionError(
            f"no sum over pairs reaches `rtol={question.rtol:g}` at {question.scale(0)} on {space!r}; give a larger "
            "`rtol` or coarser scales"
        )

    def forms(self, question: FormsQuestion) -> FormsOffer | None:
        """Tile by tile."""
        return made(PairForms, question, question.measure.space.pair_kernel)

    def potentials(self, question: PotentialQuestion) -> PotentialOffer | None:
        """Row after row."""
        return made(PairPotentials, question, question.measure.space.pair_kernel)

    def levels(self, question: LevelsQuestion) -> LevelsOffer | None:
        """From cosines of all distances."""
        from .levels import PairLevels

        return made(PairLevels, question, question.measure.space.zonal)

    def level_forms(self, question: LevelFormsQuestion) -> FormsOffer | None:
        """Tile by tile."""
        return made(PairLevelForms, question, question.measure.space.zonal)

    def slopes(self, question: SlopesQuestion) -> SlopesOffer | None:
        """Row after row."""
        from .slopes import PairSlopes

        kernel, series = question.measure.space.zonal, question.measure.space.of_sphere
        return None if kernel is None or series is None else PairSlopes(question, kernel, series)


class LevelOffer(Offer):
    """Level moments from cosines of all distances; scales too fine for the series over close pairs among all."""

    name = "pairwise"

    def __init__(self, question: Question, kernel: ZonalPairs) -> None:
        self._question, self._kernel = question, kernel
        self._count = cache(self._needed)
        embedding = question.measure.space.embedding
        self._fine = None if embedding is None else NeighboursOffer(question, embedding, by_tiles=True)

    def _needed(self, place: int) -> int | None:
        time, question = float(self._question.times[place]), self._question
        return level_count(self._kernel.series, time, question.measure.ess, question.rtol, SERIES_LIMIT)

    def seconds(self, first: int, end: int) -> float:
        """Those of all distances and of the mixtures, and of close pairs among all for scales without levels."""
        seam = self._seam(first, end)
        total = 1e-5 * (end - first)
        if seam > first:
            total += math.inf if self._fine is None else self._fine.seconds(first, seam)
        if seam < end:
            total += level_seconds(self._question.measure.n, self._kernel, self._count(seam) or 0)
        return total

    def _seam(self, first: int, end: int) -> int:
        """The first scale that has enough levels; the finest come first."""
        return next((place for place in range(first, end) if self._count(place) is not None), end)

    def run(self, part: slice, progress: Progress) -> Answer:
        """Fine scales first, then the levels."""
        seam = self._seam(part.start, part.stop)
        sums, spectrum = [], None
        if seam > part.start and self._fine is not None:
            sums.append(self._fine.run(slice(part.start, seam), progress).sums)
        if seam < part.stop:
            coarse, spectrum = self._by_levels(slice(seam, part.stop), progress)
            sums.append(coarse)
        return Answer(HeatSums.joined(sums), spectrum)

    def _by_levels(self, part: slice, progress: Progress) -> tuple[HeatSums, LevelSpectrum]:
        """A balanced cloud, whose MMD^2 turns out to need more levels, is summed again if that is cheap."""
        question, count = self._question, self._count(part.start)
        if count is None:
            raise Pairs().refusal(question)
        times, rtol = question.times[part], question.rtol
        single = planned(question.measure, self._kernel, times, count, rtol, question.mmd2)
        if single is not None:
            spectrum = LevelSpectrum(
                self._kernel.series, pair_moments(question.measure, self._kernel, count, rtol, progress, single)
            )
            sums = spectrum.heat_sums(times)
            if certain(sums, rtol, question.mmd2):
                return sums, spectrum
        while True:
            moments = pair_moments(question.measure, self._kernel, count, rtol, progress)
            spectrum = LevelSpectrum(self._kernel.series, moments)
            sums = spectrum.heat_sums(times)
            enough = not question.mmd2 or not (sums.missing > question.rtol).any()
            if enough or question.measure.n > FEW_ATOMS or 2 * count > FEW_LEVELS:
                return sums, spectrum
            count *= 2


def level_seconds(n: int, kernel: ZonalPairs, count: int) -> float:
    """Rough seconds on two cores of the moments of *count* levels from all pairs of n atoms."""
    pairs = 0.5 * float(n) ** 2
    few = 2e-4 + _FEW_PAIR * pairs + 1e-9 * count**2
    return min(few, _START + pairs * (_PAIR + _PRODUCT * kernel.width) + 2e-8 * count**2)


def pair_moments(
    measure: Measure, kernel: ZonalPairs, count: int, rtol: float, progress: Progress, single: Plan | None = None
) -> LevelMoments:
    """b_0, ..., b_{count-1} as sums over pairs of atoms, the lowest certain even when they nearly vanish."""
    support = measure.support()
    lanes = lanes_for(support.n, lanes_that_fit(count))
    size = TILE if single is None else SINGLE_TILE
    size = size if support.n > 4 * TILE else max(128, -(-support.n // (4 if lanes > 1 else 2)))
    if single is None:
        sums = CosineSums(count, support.n**2 // 2, lanes)

        def add(lane: int, rows: slice, columns: slice) -> None:
            add_tile(sums, kernel, (support, rows), (support, columns), lane)

        over_tiles(support.n, add, progress, size=size, lanes=lanes)
        found = sums.values()
    else:
        found = single_cosines(support, kernel, single, count, size, lanes, progress)
    moments = moments_of_cosines(kernel.series, found)
    low = measure.space.low_moments
    if single is not None:
        moments = moments._replace(error=BIN_ERROR, cosine_error=single.cosine_error)
        rtol = 0.0 if single.low else math.inf
    if low is None:
        return moments
    return low.improved(moments, rtol, lambda: low.sums(support.points, support.weights))


def add_tile(
    sums: CosineSums, kernel: ZonalPairs, rows: tuple[Measure, slice], columns: tuple[Measure, slice], lane: int = 0
) -> None:
    """Add all pairs of one atom of *rows* and one of *columns*; twice, unless the two are the same."""
    left, right = (kernel.rows(measure.points, part) for measure, part in (rows, columns))
    left_weights, right_weights = (measure.weights[part] for measure, part in (rows, columns))
    u = kernel.cosines(left, right)
    same = rows[0] is columns[0] and rows[1] == columns[1]
    if same:
        np.fill_diagonal(u, 1.0)
    sums.add(u, left_weights if same else 2 * left_weights, right_weights, lane)


def moments_of_cosines(series: Series, cosines: FloatArray) -> LevelMoments:
    """Level moments, with their accuracy, from sums over all pairs of a measure of total weight one."""
    values = series.from_cosines(cosines)
    values[0] = 1.0
    # Inner products are good to 2 EPS sqrt(dim + 1), and the cosine of twice an angle to four times that.
    rounded = 8 * EPS * np.sqrt(series.dim + 1)
    return LevelMoments(np.clip(values, 0.0, 1.0), error=ERROR + 32 * EPS, cosine_error=rounded)


@dataclass(frozen=True, eq=False)
class SeparationOffer(Offer):
    """Separations of all pairs of hyperbolic space, gathered in bins that serve all scales."""

    question: Question
    kernel: SeparatedPairs
    name = "pairwise"

    def seconds(self, first: int, end: int) -> float:
        """Those of all separations, and of the bins at each scale."""
        return _gathered_seconds(self.question, 6e-9, end - first)

    def run(self, part: slice, progress: Progress) -> Answer:
        """Sums of the overlap and of its slope over the bins."""
        from .cells import TileMoments

        atoms, times, kernel = self.question.measure.coalesced(), self.question.times[part], self.kernel
        lanes = lanes_for(atoms.n, 8)
        # However coarse the scale, overlaps on a curved space change within its radius of curvature, which is one.
        moments = TileMoments(COINCIDENT * min(math.sqrt(8 * float(times.min())), 1.0), lanes)

        def add(lane: int, rows: slice, columns: slice) -> None:
            twice = 1.0 if rows == columns else 2.0
            apart = kernel.separations(atoms.points[rows], atoms.points[columns])
            moments.add(lane, apart, twice * atoms.weights[rows], atoms.weights[columns])

        over_tiles(atoms.n, add, progress, size=SMALL_TILE, lanes=lanes)
        overlap, change = gathered(moments.total(), kernel, times)
        error = np.full(len(times), kernel.accuracy + MOMENT_ERROR)
        return Answer(HeatSums.of_overlap(overlap, change / overlap, error, None))


@dataclass(frozen=True, eq=False)
class FlatOffer(Offer):
    """The same in flat space, of squared distances."""

    question: Question
    embedding: Embedding
    name = "pairwise"

    def seconds(self, first: int, end: int) -> float:
        """Those of all distances, and of the bins at each scale."""
        return _gathered_seconds(self.question, 2e-10 * self.embedding.columns, end - first)

    def run(self, part: slice, progress: Progress) -> Answer:
        """As if all pairs were close."""
        atoms, times = self.question.measure.coalesced(), self.question.times[part]
        expansions = [self.embedding.small_time(float(time)) for time in times]
        reaches = np.array([small.reach for small in expansions])  # beyond which overlaps are below e^-80
        return Answer(sum_cells(atoms, self.embedding, times, expansions, reaches, every_pair=True))


def _gathered_seconds(question: Question, pair: float, scales: int) -> float:
    """Of bins, where one separation takes so many seconds."""
    return 5e-4 + 0.5 * float(question.measure.n) ** 2 * (_GATHERED + pair) + 1.5e-4 * scales


@dataclass(frozen=True, eq=False)
class TileOffer(Offer):
    """sum_ij w_i w_j s_t(x_i, x_j), its derivative, and A - 1 = sum_ij w_i w_j (k_2t(x_i, x_j) - 1), at each scale."""

    question: Question
    kernel: PairKernel
    name = "pairwise"

    def seconds(self, first: int, end: int) -> float:
        """Every scale costs as much as every other."""
        n, scales = self.question.measure.n, end - first
        alone = 2 if self.kernel.looped and lanes_for(n, 2) == 1 else 1  # a loop over few atoms has one core
        return 2e-4 + 2e-5 * scales + alone * self.kernel.seconds(0.5 * float(n) ** 2, scales)

    def run(self, part: slice, progress: Progress) -> Answer:
        """Tile by tile, some of them side by side."""
        atoms, times = self.question.measure.coalesced(), self.question.times[part]
        kernel = self.kernel.fitted(times, self.question.rtol)
        compact, factors = self.question.measure.space.compact, kernel.looped
        if factors and atoms.n >= FEW_ROWS:
            return Answer(_looped(atoms, kernel, factors, times, progress, compact))
        lanes = lanes_for(atoms.n, 8)
        found = np.zeros((lanes, 4, len(times)))

        def add(lane: int, rows: slice, columns: slice) -> None:
            _add_overlaps(found[lane], atoms, kernel, times, rows, columns)

        over_tiles(atoms.n, add, progress, size=SMALL_TILE, lanes=lanes, parallel=kernel.parallel)
        total = found.sum(axis=0)
        return Answer(_tile_sums(compact, kernel, times, total, kernel.errors(times, total[0])))


def _looped(
    atoms: Measure, kernel: PairKernel, factors: list[LoopFactor], times: FloatArray, progress: Progress, compact: bool
) -> HeatSums:
    """All pairs in one compiled loop: where k_2t(x, x) < 2 it sums k_2t - 1, else s_t, from which that follows."""
    from ..compiled.fused import Loop

    log_diagonal = kernel.log_diagonal(times) if compact else np.full(len(times), np.inf)
    near = log_diagonal < math.log(2)
    loop, lanes = Loop(factors, times, near.tolist()), lanes_for(atoms.n, 8)
    columns = loop.columns(atoms.points)
    sums = np.zeros((lanes, len(times), 2))

    def add(lane: int, *tile: slice) -> None:
        loop.add(atoms.points, columns, atoms.weights, tile, sums[lane])

    size = SMALL_TILE if atoms.n < 32 * SMALL_TILE else 4 * SMALL_TILE
    over_tiles(atoms.n, add, progress, size=size, lanes=lanes)
    value, change = sums.sum(axis=0).T
    value += np.where(near, loop.own(atoms.points), 1.0) * (atoms.weights @ atoms.weights)
    diagonal = np.exp(np.minimum(log_diagonal, 345.0))
    with np.errstate(over="ignore"):
        excess = np.where(near, value, diagonal * value - 1)
    largest = np.where(near, loop.own(atoms.points), diagonal - 1)
    overlap = np.where(near, (1 + value) / diagonal, value)
    total = np.stack([overlap, np.where(near, change / diagonal, change), excess, largest])
    return _tile_sums(compact, kernel, times, total, kernel.errors(times, overlap))


def _add_overlaps(
    found: FloatArray, atoms: Measure, kernel: PairKernel, times: FloatArray, rows: slice, columns: slice
) -> None:
    """Add the pairs of one tile to the three sums at each time; those off the diagonal count twice.

    The first tile adds k_2t(x, x) - 1 as well, which the logarithm of k_2t(x, x) does not show below 1e-16.
    """
    twice = 1.0 if rows == columns else 2.0
    row_weights, column_weights = twice * atoms.weights[rows], atoms.weights[columns]
    terms_at = kernel.terms(atoms.points[rows], atoms.points[columns])
    for k, time in enumerate(times):
        terms = terms_at(float(time))
        for sums, term in zip(found[:3], terms, strict=True):
            if term is not None:
                sums[k] += row_weights @ term @ column_weights
        if terms.excess is not None and rows.start == columns.start == 0:
            found[3, k] = terms.excess[0, 0]


def _tile_sums(compact: bool, kernel: PairKernel, times: FloatArray, total: FloatArray, error: FloatArray) -> HeatSums:
    """log(A - 1) from the excess where A is near one, else from A = k_2t(x,x) / gESS, which cannot overflow."""
    overlap, change, excess, largest = total
    error = error + 64 * EPS
    if not compact:
        return HeatSums.of_overlap(overlap, change / overlap, error, None)
    log_diagonal = kernel.log_diagonal(times)
    log_power = log_diagonal + np.log(overlap)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near_one = np.log(np.maximum(excess, 0.0))
        log_mmd2 = np.where(log_power > 1.0, log_excess_of_power(log_power), near_one)
        # Terms k_2t - 1 of the excess, which may cancel, are no larger than k_2t(x, x) - 1.
        cancelled = np.where(
            excess > 0, error * largest / np.maximum(excess, 1e-300), np.where(largest > 0, np.inf, 0.0)
        )
    mmd2_error = np.where(log_power > 1.0, share_of_mmd2(error, log_mmd2), cancelled)
    return HeatSums(overlap, log_mmd2, change / overlap, error, mmd2_error, np.zeros(len(times)))
