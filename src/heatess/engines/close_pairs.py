"""Forms and potentials at fine scales: over close pairs, listed some at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.arrays import EPS, FloatArray, IntArray
from ..base.progress import Progress
from ..heat.series import SmallTime
from ..measures.measure import Measure, distinct_rows
from ..spaces.capabilities import Embedding
from .base import FormsOffer, FormsQuestion, PotentialOffer, PotentialQuestion, Potentials, Question
from .centred_overlap import diagonal_of
from .close_pair_counts import PairCounts
from .neighbours import CROWDED, Neighbours, cutoff, extent, found_by_tree, gridded

if TYPE_CHECKING:
    from .cells import Grid

#: Takes a lane, places and squared distances of close pairs, and tables of the overlaps at all scales with their ends.
Add = Callable[[int, IntArray, IntArray, FloatArray, FloatArray, FloatArray], None]

#: Pieces of the table of an overlap.
INTERVALS = 8192

#: Sums that are kept apart, and numbers in all of them.
LANES, MOST_SUMS = 4, 2**25

# Seconds on two cores.
_START, _PLACE, _SCALE = 2e-3, 4e-7, 1.5e-3  # whatever there is, one atom, and the table of one scale
_CANDIDATE, _CELL_REACH = 1.5e-9, 1.25  # one pair looked at, and how far apart such pairs are in units of the cut-off
_VALUE = 4.5e-9  # one overlap of one close pair
_COLUMN = 1.5e-10  # one product with one column
_TREE_PAIR, _TREE_SCALE, _TREE_POINT = 1.2e-7, 3e-8, 1e-6  # pairs found by a tree


class _Reaches:
    """How far apart pairs may be at each scale, what they cost, and their sums."""

    def __init__(self, question: Question, embedding: Embedding) -> None:
        self.question, self.embedding = question, embedding
        self.at = cache(self._needed)

    def _needed(self, place: int) -> float | None:
        question, measure = self.question, self.question.measure
        time = float(question.times[place])
        return cutoff(measure.space, time, measure.ess, question.rtol, mmd2=False, everywhere=True)

    @cached_property
    def counts(self) -> PairCounts:
        return PairCounts.of(self.question.measure, self.embedding)

    def pairs(self, first: int, end: int) -> tuple[float, float]:
        """Pairs looked at, and overlaps of close pairs at all scales; inf where one is not served."""
        total = 0.0
        for place in range(first, end):
            reach = self.at(place)
            if reach is None:
                return math.inf, math.inf
            total += self.counts.within(float(self.embedding.chord(reach)))
        return self.counts.seen_within(_CELL_REACH * float(self.embedding.chord(reach))), total

    @property
    def error(self) -> float:
        """What the expansion leaves out and coordinates round, the worst of the scales that are served."""
        embedding, worst = self.embedding, 0.0
        for place, time in enumerate(self.question.times):
            if self.at(place) is not None:
                size = embedding.size if embedding.periods is None else 0.0  # flat coordinates are exact
                small = embedding.small_time(float(time)).error
                worst = max(worst, small + 1e-12 + 16 * EPS * size / math.sqrt(8 * float(time)))
        return worst

    def scales(self, part: slice) -> list[tuple[SmallTime, float]]:
        """The expansion and the cut-off of each scale."""
        reaches = [self.at(place) for place in range(part.start, part.stop)]
        found = [reach for reach in reaches if reach is not None]
        if len(found) < len(reaches):
            raise Neighbours().refusal(self.question)
        times = self.question.times[part]
        return [(self.embedding.small_time(float(time)), reach) for time, reach in zip(times, found, strict=True)]


class _Cells(NamedTuple):
    """A grid, the radius in its coordinates, and how squares there become squared distances."""

    grid: Grid
    radius: float
    unit: float
    embedding: Embedding

    @classmethod
    def of(cls, atoms: Measure, embedding: Embedding, reach: float, finest: float) -> _Cells:
        radius = float(embedding.chord(reach))
        if embedding.periods is not None:
            radius = min(radius, max(extent(atoms.points), math.sqrt(8 * finest)))
        grid, frame = gridded(atoms, embedding, radius)
        return cls(grid, radius / frame.unit, frame.unit, embedding)

    def each(self, scales: list[tuple[SmallTime, float]], add: Add, lanes: int) -> None:
        """Call `add` for all close pairs of places; cut-offs do not fall from scale to scale."""
        from .cells import each_close_pair

        chords = [float(self.embedding.chord(min(reach, small.reach))) for small, reach in scales]
        cuts = np.minimum(np.maximum.accumulate(chords) / self.unit, self.radius) ** 2
        tables = np.stack([self._table(small, float(cut)) for (small, _), cut in zip(scales, cuts, strict=True)])
        each_close_pair(
            self.grid, self.radius, lambda lane, i, j, squares: add(lane, i, j, squares, tables, cuts), lanes
        )

    def _table(self, small: SmallTime, cut: float) -> FloatArray:
        """s_t as cubic polynomials on even intervals of squares up to *cut*, shape (INTERVALS, 4), to 1e-12 of one."""
        nodes = (1 + np.cos((np.arange(4) + 0.5) * np.pi / 4)) / 2
        squares = (np.arange(INTERVALS)[:, None] + nodes) * (cut / INTERVALS)
        apart = np.minimum(self.embedding.distance(self.unit * np.sqrt(squares)) ** 2, small.reach**2)
        values = np.exp(small.log_overlap(apart))
        return np.ascontiguousarray(values @ np.linalg.inv(np.vander(nodes, increasing=True)).T)


def _lanes(sums: int) -> int:
    return LANES if LANES * sums <= MOST_SUMS else 2


class NeighbourForms(FormsOffer):
    """Each overlap of a close pair goes to all columns at once."""

    name = "local"

    def __init__(self, question: FormsQuestion, embedding: Embedding) -> None:
        self._question, self._reaches = question, _Reaches(question, embedding)

    def seconds(self, first: int, end: int) -> float:
        """By the number of close pairs."""
        looked_at, overlaps = self._reaches.pairs(first, end)
        n, columns = self._question.measure.n, self._question.columns
        once = _START + _SCALE * (end - first) + _PLACE * n
        return once + _CANDIDATE * looked_at + overlaps * (_VALUE + _COLUMN * columns)

    def run(self, part: slice, columns: FloatArray, progress: Progress) -> FloatArray:
        """sum_i v_i^2 + 2 sum_{i<j} v_i v_j s_t, centred."""
        from ..compiled.cells import add_forms

        question, scales = self._question, self._reaches.scales(part)
        times = question.times[part]
        cells = _Cells.of(question.measure, self._reaches.embedding, scales[-1][1], float(times[0]))
        sorted_columns = np.ascontiguousarray(columns)[cells.grid.rows]
        total = np.zeros((LANES, len(times), columns.shape[1]))

        def add(lane: int, *pairs: Any) -> None:
            add_forms(*pairs, sorted_columns, total[lane])

        cells.each(scales, add, LANES)
        diagonal = diagonal_of(question.measure, times, question.rtol)
        found = total.sum(axis=0) + np.einsum("ij,ij->j", columns, columns)
        found -= np.multiply.outer(diagonal.inverse, columns.sum(axis=0) ** 2)
        return np.asarray((found / diagonal.rest[:, None]).T)


class NeighbourPotentials(PotentialOffer):
    """Potentials at the atoms by cells; elsewhere by a tree."""

    name = "local"

    def __init__(self, question: PotentialQuestion, embedding: Embedding) -> None:
        self._question, self._reaches = question, _Reaches(question, embedding)
        self.error = self._reaches.error

    def seconds(self, first: int, end: int) -> float:
        """By the number of close pairs."""
        looked_at, overlaps = self._reaches.pairs(first, end)
        n, places = self._question.measure.n, len(self._question.places)
        if self._question.at is None:
            once = _START + _SCALE * (end - first) + _PLACE * n
            return once + _CANDIDATE * looked_at + _VALUE * overlaps
        return _START + _TREE_POINT * (n + places) + 2 * places / n * overlaps * (_TREE_PAIR + _TREE_SCALE)

    def run(self, part: slice, progress: Progress) -> Potentials:
        """With squares, where they are centred."""
        scales = self._reaches.scales(part)
        if self._question.at is not None:
            return Potentials(np.stack([self._by_tree(*scale, progress) for scale in scales]), self.error)
        return self._by_cells(scales, self._question.times[part])

    def _by_cells(self, scales: list[tuple[SmallTime, float]], times: FloatArray) -> Potentials:
        from ..compiled.cells import add_potentials

        question, embedding = self._question, self._reaches.embedding
        atoms, label, squares = question.measure, None, np.square(question.measure.weights)
        fourth = float(squares @ squares)
        cells = _Cells.of(atoms, embedding, scales[-1][1], float(times[0]))
        if cells.grid.candidates().sum() > CROWDED * atoms.n:
            label, first = distinct_rows(np.ascontiguousarray(atoms.points) + 0.0)
            masses = np.bincount(label, atoms.weights).astype(np.float64)
            squares = np.bincount(label, squares).astype(np.float64)
            atoms = Measure.trusted(atoms.space, atoms.points[first], masses)
            cells = _Cells.of(atoms, embedding, scales[-1][1], float(times[0]))
        grid = cells.grid
        lanes = _lanes(len(times) * len(grid.rows))
        total, paired = np.zeros((lanes, len(grid.rows), len(times))), np.zeros((lanes, 2, len(times)))
        weights, sorted_squares = np.ascontiguousarray(atoms.weights)[grid.rows], squares[grid.rows]
        diagonal = diagonal_of(atoms, times, question.rtol)

        def add(lane: int, *pairs: Any) -> None:
            add_potentials(*pairs, weights, sorted_squares, total[lane], paired[lane])

        cells.each(scales, add, lanes)
        values = np.stack([np.bincount(grid.rows, row, atoms.n) for row in total.sum(axis=0).T]) + atoms.weights
        values = values if label is None else values[:, label]
        if not question.centred:
            return Potentials(values, self.error)
        mean, square = paired.sum(axis=0) + float(squares @ squares)  # of s_t and s_t^2, an atom with itself included
        inverse, rest = diagonal.inverse, diagonal.rest
        found = (square - 2 * inverse * mean + inverse**2 * float(squares.sum()) ** 2) / rest**2 - fourth
        return Potentials((values - inverse[:, None]) / rest[:, None], self.error, found)

    def _by_tree(self, small: SmallTime, reach: float, progress: Progress) -> FloatArray:
        measure, at, embedding = self._question.measure, self._question.places, self._reaches.embedding
        atoms, total, chord = measure.coalesced(), np.zeros(len(at)), float(embedding.chord(reach))
        left, right = (embedding.coordinates(points) for points in (at, atoms.points))
        for i, j, apart in found_by_tree(left, right, embedding, chord, progress):
            overlap = np.exp(small.log_overlap(embedding.distance(apart) ** 2))
            total += np.bincount(i, atoms.weights[j] * overlap, len(total))
        return total
