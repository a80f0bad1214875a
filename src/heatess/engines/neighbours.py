"""Fine scales: sums over neighbours, with a certified cut-off.

Below about a degree the series would need thousands of levels, but atoms further apart than a few
alpha no longer overlap, and the small-time expansion of the kernel is exact to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arrays import EPS, FloatArray, IntArray
from ..base.errors import InputError, PrecisionError
from ..base.pool import apart
from ..base.progress import Progress
from ..heat.bounds import log_allowed, truncation
from ..heat.series import SmallTime
from ..heat.sums import HeatSums
from ..heat.theta import gap_between
from ..measures.measure import Measure
from ..spaces.base import Space
from ..spaces.capabilities import Embedding
from .base import Answer, Engine, FormsOffer, FormsQuestion, Offer, PotentialOffer, PotentialQuestion, Question, made
from .close_pair_counts import PairCounts
from .half_space import COINCIDENT, MOMENT_ERROR, HalfSpaceOffer
from .tiles import BATCH, close_pairs, zonal_pairs

if TYPE_CHECKING:
    from .cells import Grid

#: A tighter rtol than this is asked of nobody: what the expansion leaves out is in `error`.
EXPANSION_TOLERANCE = 1e-11

#: Cells and trees beat tiles in few dimensions only.
FEW_COLUMNS = 8

#: Up to so many atoms on curved spaces, pairs are found by a tree and summed one by one.
FEW_ATOMS = 200

#: Candidate pairs per atom from which it pays to look for duplicates.
CROWDED = 1000

#: The least tolerance of a sum from distance moments.
LEAST_RTOL = 1e-9

# Seconds on two cores.
_CLOSE_PAIR = 2.2e-9  # one pair of neighbours
_CANDIDATE = 1.3e-9  # one pair in neighbouring cells, most of them looked at in vain
_CELL_REACH = 1.25  # of the cut-off: how far apart, on average, candidates may be along an axis
_SORTED = 1.2e-7  # one atom put into its cell
_TREE_PAIR = 1.2e-7  # one pair found by a tree
_TREE_SCALE = 3e-8  # one pair found by a tree, at one scale
_TILE_PAIR = 7e-9  # one pair of a tile, looked at in vain
_PRODUCT = 1.4e-11  # one coordinate of one inner product
_TILE_CLOSE, _CLOSE_COORDINATE = 1.2e-7, 6e-9  # one close pair of a tile, and each of its coordinates
_CELL = 1.2e-6  # one cell visited
_LEAST = 5e-4, 6e-6, 2.5e-3  # at least, estimate included: whatever there is, for each atom, and no more than this
_SCALE, _BIN, _BINS = 5e-5, 4e-8, 1e4  # one scale, one bin of distance moments at one scale, and how many there are
_TILE_SCALE, _WORTH_BINS = 2e-7, 1e5  # one close pair of a tile at one scale, and how many are put into bins instead
_START = 6e-4  # what grids cost however few the atoms


class Neighbours(Engine):
    """Sums over close pairs, found by their coordinates."""

    name = "local"

    def offer(self, question: Question) -> Offer | None:
        """Where there are coordinates, few of them in flat space, and atoms do not overlap across the space."""
        space = question.measure.space
        embedding, kernel = space.embedding, space.separated
        if kernel is not None and question.rtol >= LEAST_RTOL:
            return HalfSpaceOffer(question, kernel, space.dim)
        if embedding is None or (embedding.columns > FEW_COLUMNS and embedding.periods is not None):
            return None
        if embedding.periods is not None and question.rtol < LEAST_RTOL:
            return None
        return NeighboursOffer(question, embedding)

    def refusal(self, question: Question) -> Exception:
        """No coordinates, or atoms that overlap across the space."""
        space, embedding = question.measure.space, question.measure.space.embedding
        if space.separated is None and (
            embedding is None or (embedding.columns > FEW_COLUMNS and embedding.periods is not None)
        ):
            why = "on this space" if embedding is None else f"in more than {FEW_COLUMNS} coordinates"
            return InputError(f"{space!r} has no neighbour sums, which do not exist {why}; use `method='auto'`")
        return PrecisionError(
            f"neighbours do not suffice at {question.scale(-1)}, where points overlap across {space!r}, or not to "
            f"`rtol={question.rtol:g}`; use `method='auto'` or a larger `rtol`"
        )

    def forms(self, question: FormsQuestion) -> FormsOffer | None:
        """Over close pairs, where there are coordinates."""
        from .close_pairs import NeighbourForms

        return made(NeighbourForms, question, _few_columns(question))

    def potentials(self, question: PotentialQuestion) -> PotentialOffer | None:
        """Over close pairs, where the cut-off holds at every point."""
        from .close_pairs import NeighbourPotentials

        return made(NeighbourPotentials, question, _few_columns(question))


def _few_columns(question: Question) -> Embedding | None:
    embedding = question.measure.space.embedding
    if embedding is None or embedding.columns > FEW_COLUMNS:
        return None
    far = embedding.open and float(np.abs(question.measure.points).max()) > 1e100
    return None if far else embedding


def cutoff(
    space: Space, time: float, ess: float, rtol: float, *, mmd2: bool = True, everywhere: bool = False
) -> float | None:
    """A distance beyond which truncation may begin; None if the expansion is not good enough.

    What is left out of 1 / gESS is at most s_t there, and gESS, not known yet, is at most ESS and k_2t(x, x); or it is
    the share of `log_share_beyond`, whichever is sooner small enough. For potentials, which must be right *everywhere*,
    only the first will do.
    """
    if space.embedding is None:
        return None
    small = space.embedding.small_time(time)
    if small.error > max(rtol / 10, EXPANSION_TOLERANCE):
        return None
    share = truncation(rtol, ess)
    allowed, most = math.log(share), math.log(ess)
    if space.compact:
        log_diagonal = max(small.log_density + space.log_volume, 0.0)
        most = most if everywhere else min(most, log_diagonal)
        if mmd2:
            allowed = min(allowed, float(log_allowed(log_diagonal, ess, 10 * share)))
    square = np.linspace(0.0, small.reach**2, 257)[1:]
    left_out = small.log_overlap(square) + most
    if not everywhere:
        left_out = np.minimum(left_out, log_share_beyond(space.dim, time, small, square))
    below = left_out <= allowed
    return math.sqrt(square[int(np.argmax(below))]) if below.any() else None


def log_share_beyond(dim: int, time: float, small: SmallTime, square: Any) -> FloatArray:
    """Upper bound on the log of the share of A(t) that pairs further apart than R hold, where it is below one.

    For T > t, k_2t(r) / k_2T(r) falls with r: the distance from a point is a diffusion on a line, whose kernel is
    totally positive (Karlin and McGregor). So those pairs hold at most A(T) k_2t(R) / k_2T(R), where A(T) <= A(t),
    and k_2T(R) is at least the kernel of flat space (Cheeger and Yau, without negative Ricci curvature). At the
    best T = R^2 / 4m this is K_2t(R) (2 pi e R^2 / m)^(m/2), with K the kernel with respect to Riemannian volume; in
    flat space it is `bounds.log_share` at R^2 / 8t.
    """
    share = small.log_density + small.log_overlap(square) + dim / 2 * (np.log(2 * math.pi * square / dim) + 1)
    return np.where(square > 4 * dim * time, np.minimum(share, 0.0), 0.0)


class NeighboursOffer(Offer):
    """One pass over the close pairs of the coarsest scale serves all finer ones."""

    name = "local"

    def __init__(self, question: Question, embedding: Embedding, *, by_tiles: bool = False) -> None:
        self._question, self._embedding = question, embedding
        self.least = min(_LEAST[0] + _LEAST[1] * question.measure.n, _LEAST[2]) * embedding.copies
        self._cutoff, self._cost = cache(self._needed), cache(self._pair_seconds)
        self._by_tiles = by_tiles or embedding.columns > FEW_COLUMNS
        few = FEW_ATOMS if question.rtol >= LEAST_RTOL else 100 * FEW_ATOMS
        self._by_tree = embedding.periods is None and question.measure.n <= few

    def _needed(self, place: int) -> float | None:
        question = self._question
        time, measure = float(question.times[place]), question.measure
        return cutoff(measure.space, time, measure.ess, question.rtol, mmd2=question.mmd2)

    @cached_property
    def _counts(self) -> PairCounts:
        return PairCounts.of(self._question.measure, self._embedding)

    def seconds(self, first: int, end: int) -> float:
        """By the number of pairs that are close at the coarsest scale."""
        once, each = self._cost(end - 1)
        return once + each * (end - first)

    def _pair_seconds(self, coarsest: int) -> tuple[float, float]:
        """What all close pairs cost once, and at each scale."""
        reach = self._cutoff(coarsest)
        if reach is None:
            return math.inf, 0.0
        n, chord = self._question.measure.n, float(self._embedding.chord(reach))
        close = self._counts.within(chord)
        if self._by_tiles:
            columns = self._embedding.columns
            all_pairs = n**2 / 2 * (_TILE_PAIR + _PRODUCT * columns)
            each = _SCALE + _TILE_SCALE * min(close, _WORTH_BINS)
            return all_pairs + close * (_TILE_CLOSE + _CLOSE_COORDINATE * columns), each
        if self._by_tree:
            return 4e-4 + 1e-6 * n + close * _TREE_PAIR, close * _TREE_SCALE + _SCALE
        looked_at = self._counts.seen_within(_CELL_REACH * chord)
        twice = self._embedding.copies
        cells = n / (1 + 2 * self._counts.within(chord / 2) / n)
        pairs = (_CLOSE_PAIR * close + _CANDIDATE * looked_at) * (0.55 if looked_at > 1e6 else 1.0)  # on two threads
        return _START + twice * (_SORTED * n + _CELL * cells + pairs), _SCALE + _BIN * min(close, _BINS)

    def _gathers(self, coarsest: int, scales: int) -> bool:
        """Whether close pairs of tiles are so many that bins of their distance, which serve all scales, take less."""
        chord = float(self._embedding.chord(self._cutoff(coarsest)))
        return self._question.rtol >= LEAST_RTOL and scales * self._counts.within(chord) > _WORTH_BINS

    def run(self, part: slice, progress: Progress) -> Answer:
        """Sums over close pairs, an atom with itself included."""
        question, times = self._question, self._question.times[part]
        reaches = [self._cutoff(place) for place in range(part.start, part.stop)]
        cutoffs = np.array([reach for reach in reaches if reach is not None])
        if len(cutoffs) < len(times):
            raise Neighbours().refusal(question)
        expansions = [self._embedding.small_time(float(time)) for time in times]
        if self._by_tiles or self._by_tree:
            atoms, reach = question.measure.coalesced(), float(cutoffs.max())
            if self._by_tiles:
                pairs = close_pairs(atoms, zonal_pairs(atoms), reach, progress)
            else:
                pairs = _tree_pairs(atoms, self._embedding, reach, progress)
            gathered = self._by_tiles and self._gathers(part.stop - 1, len(times))
            found = (_gathered_pairs if gathered else sum_pairs)(pairs, expansions, cutoffs)
            error = MOMENT_ERROR if gathered else 0.0
            return Answer(assembled(atoms, self._embedding, times, expansions, cutoffs, found, moment_error=error))
        return Answer(sum_cells(question.measure, self._embedding, times, expansions, cutoffs))


def assembled(
    atoms: Measure,
    embedding: Embedding,
    times: FloatArray,
    expansions: list[SmallTime],
    cutoffs: FloatArray,
    found: FloatArray,
    *,
    moment_error: float = 0.0,
    size: float | None = None,
) -> HeatSums:
    """Heat sums from sums over the close pairs i < j, whose coordinates are good to EPS of their *size*."""
    overlap = 1 / atoms.ess + 2 * found[0]
    left_out = np.array(
        [
            min(
                float(small.log_overlap(r * r)) - math.log(value),
                float(log_share_beyond(embedding.dim, t, small, r * r)),
            )
            for t, small, r, value in zip(times, expansions, cutoffs, overlap, strict=True)
        ]
    )
    expansion = np.array([small.error for small in expansions])
    size = embedding.size if size is None else size
    rounding = 32 * EPS + 16 * EPS * size / np.sqrt(8 * times)  # d log s_t / dr is 8 / alpha at 4 alpha
    error = np.exp(left_out) + expansion + rounding + moment_error
    diagonal = None
    if atoms.space.compact:
        diagonal = np.array([small.log_density for small in expansions]) + atoms.space.log_volume
    return HeatSums.of_overlap(overlap, 2 * found[1] / overlap, error, diagonal)


def sum_pairs(
    pairs: Iterator[tuple[FloatArray, FloatArray]], expansions: list[SmallTime], cutoffs: FloatArray
) -> FloatArray:
    """sum_{i<j} w_i w_j s_t and its derivative in log t, from squared distances and products of weights."""
    found = np.zeros((2, len(expansions)))
    for square, weight in pairs:
        for k, small in enumerate(expansions):
            near = square < cutoffs[k] ** 2
            value = weight[near] * np.exp(small.log_overlap(square[near]))
            found[0, k] += value.sum()
            found[1, k] += value @ small.log_slope(square[near])
    return found


def _gathered_pairs(
    pairs: Iterator[tuple[FloatArray, FloatArray]], expansions: list[SmallTime], cutoffs: FloatArray
) -> FloatArray:
    """What `sum_pairs` has, to `MOMENT_ERROR`, from distance moments."""
    from .cells import TileMoments

    # A cut-off is about five alpha.
    moments, one = TileMoments(COINCIDENT * float(cutoffs.min()) / 10, 1), np.ones(1)
    for square, weight in pairs:
        moments.add(0, square[None], one, weight)
    total, found = moments.total(), np.empty((2, len(expansions)))
    for k, (small, reach) in enumerate(zip(expansions, cutoffs, strict=True)):

        def kernel(square: FloatArray, small: SmallTime = small) -> FloatArray:
            square = np.minimum(square, small.reach**2)
            value = np.exp(small.log_overlap(square))
            return np.stack([value, value * small.log_slope(square)])

        found[:, k] = total.sum(kernel, float(reach) ** 2)
    return found


def _tree_pairs(
    atoms: Measure, embedding: Embedding, reach: float, progress: Progress
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Squared distances and products of weights of all pairs i < j closer than *reach*, in batches."""
    points = embedding.coordinates(atoms.points)
    for i, j, chord in found_by_tree(points, points, embedding, float(embedding.chord(reach)), progress):
        upper = i < j
        yield embedding.distance(chord[upper]) ** 2, atoms.weights[i[upper]] * atoms.weights[j[upper]]


def found_by_tree(
    left: FloatArray, right: FloatArray, embedding: Embedding, chord: float, progress: Progress
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Pairs of rows closer than *chord*, and how close, by way of any image of the second."""
    from scipy.spatial import cKDTree

    periods = embedding.periods
    box = periods if periods is not None and np.isfinite(periods).all() else None
    exact = left, right
    if box is not None:  # between zero and the period for the tree; distances are those of the coordinates as they are
        left, right = (np.where(x % box < box, x % box, 0.0) for x in (left, right))
        chord = chord * (1 + 1e-9) + 4 * EPS * float(box.max())
    images, whose = embedding.images(right, chord)
    rows = np.concatenate([np.arange(len(right)), whose])
    tree = cKDTree(np.concatenate([right, images]) if len(images) else right, boxsize=box)
    sample = left[:: max(1, len(left) // 512)]
    expected = max(1.0, float(np.mean(tree.query_ball_point(sample, chord, return_length=True))))
    size = max(1, int(BATCH / expected))
    for start in progress.track(range(0, len(left), size), "neighbours"):
        part = cKDTree(left[start : start + size], boxsize=box)
        found = part.sparse_distance_matrix(tree, chord, output_type="ndarray")
        i, j, gaps = found["i"] + start, rows[found["j"]], found["v"]
        if box is not None:
            gaps = np.sqrt(np.sum(gap_between(exact[0][i], exact[1][j], box) ** 2, axis=1))
        yield i, j, gaps


def sum_cells(
    measure: Measure,
    embedding: Embedding,
    times: FloatArray,
    expansions: list[SmallTime],
    cutoffs: FloatArray,
    *,
    every_pair: bool = False,
) -> HeatSums:
    """From distance moments; duplicates cost nothing while they are few, so they are merged only in crowded cells.

    With *every_pair*, in flat space, cells are not looked at: all pairs are taken.
    """
    from .cells import distance_moments

    radius = float(embedding.chord(cutoffs.max()))

    atoms = measure.support()
    if embedding.periods is not None:
        radius = min(radius, max(extent(atoms.points), math.sqrt(8 * float(times.min()))))
    grid, frame = apart(gridded, atoms, embedding, radius, every_pair=every_pair)
    if grid.candidates().sum() > CROWDED * atoms.n:
        merged = atoms.coalesced()
        if merged.n < 0.9 * atoms.n:
            atoms, (grid, frame) = merged, apart(gridded, merged, embedding, radius, every_pair=every_pair)
    least = (
        COINCIDENT * float(embedding.chord(min(math.sqrt(8 * float(times.min())), float(cutoffs.max())))) / frame.unit
    )
    moments = distance_moments(grid, least, radius / frame.unit)
    found = np.empty((2, len(times)))
    for k, (small, reach) in enumerate(zip(expansions, cutoffs, strict=True)):

        def kernel(chord_square: FloatArray, small: SmallTime = small) -> FloatArray:
            square = np.minimum(embedding.distance(frame.unit * np.sqrt(chord_square)) ** 2, small.reach**2)
            value = np.exp(small.log_overlap(square))
            return np.stack([value, value * small.log_slope(square)])

        found[:, k] = moments.sum(kernel, (float(embedding.chord(reach)) / frame.unit) ** 2)
    return assembled(
        atoms, embedding, times, expansions, cutoffs, found, moment_error=MOMENT_ERROR, size=frame.extent * frame.unit
    )


def gridded(atoms: Measure, embedding: Embedding, radius: float, *, every_pair: bool = False) -> tuple[Grid, Frame]:
    """Atoms in cells for pairs closer than *radius*, and the frame of their coordinates."""
    from .cells import Grid

    points = embedding.coordinates(atoms.points)
    if embedding.periods is None:
        images = None if embedding.antipodal else embedding.images(points, radius)
        grid = Grid.of(points, atoms.weights, radius, antipodal=embedding.antipodal, images=images)
        return grid, Frame(points, None, 1.0, embedding.size)
    frame = Frame.of(points, embedding.periods, radius)
    if every_pair:
        return Grid.whole(frame.points, atoms.weights), frame
    return Grid.of(frame.points, atoms.weights, radius / frame.unit, periods=frame.periods), frame


def extent(points: FloatArray) -> float:
    """No pair is further apart than this."""
    with np.errstate(over="ignore"):
        return 1.001 * float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


#: Half the extent, in units of the cut-off, up to which cells are as small as they should be.
_CLOSE = 2.0**17


@dataclass(frozen=True, eq=False)
class Frame:
    """Flat coordinates around zero, the most spread out first, in a unit that is a power of two."""

    points: FloatArray
    periods: FloatArray | None
    unit: float
    extent: float

    @classmethod
    def of(cls, points: FloatArray, periods: FloatArray, radius: float) -> Frame:
        """Where a coordinate does not close, gaps of more than twice *radius* shrink to that: no pair sees them."""
        low, high = points.min(axis=0), points.max(axis=0)
        order = np.argsort(low / 2 - high / 2, kind="stable")
        columns = np.empty((len(points), len(order)))
        unit = 2.0 ** math.frexp(radius)[1]
        for place, axis in enumerate(order):
            x = points[:, axis]
            if not np.isfinite(periods[axis]):
                far = high[axis] / 2 - low[axis] / 2 > _CLOSE * radius
                x = without_gaps(x, 2 * radius) if far else x - (low[axis] / 2 + high[axis] / 2)
            columns[:, place] = x / unit
        wide = float((columns.max(axis=0) - columns.min(axis=0)).max())
        closing = periods[order] / unit
        return cls(columns, closing, unit, max(wide, float(closing[np.isfinite(closing)].max(initial=0.0))))


def without_gaps(x: FloatArray, most: float) -> FloatArray:
    """The same numbers moved together, so that no gap between neighbours exceeds *most*; smaller ones stay."""
    order = np.argsort(x)
    ordered = x[order]
    with np.errstate(over="ignore"):
        first = np.concatenate([[0], np.flatnonzero(np.diff(ordered) > most) + 1])
    last = np.append(first[1:], len(x)) - 1
    lengths = ordered[last] - ordered[first]
    places = np.concatenate([[0.0], np.cumsum(lengths + most)[:-1]])
    block = np.repeat(np.arange(len(first)), last - first + 1)
    moved = np.empty(len(x))
    moved[order] = (ordered - ordered[first][block]) + places[block]
    return moved
