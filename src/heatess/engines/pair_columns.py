"""Forms and potentials over all pairs, tile by tile: what a reduction keeps of the centred overlaps of a tile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import one_blas_thread, share_out, slices, thread_count
from ..base.progress import Progress
from ..spaces.capabilities import PairKernel, ZonalPairs
from .base import FormsOffer, FormsQuestion, LevelFormsQuestion, PotentialOffer, PotentialQuestion, Potentials
from .centred_overlap import diagonal_of
from .tiles import over_tiles

#: Rows of a tile whose overlaps are multiplied by columns, and of one whose rows are summed.
TILE, SMALL_TILE = 512, 128

#: Sums that are kept apart.
LANES, FEW_LANES = 8, 4

#: Rows of a progress bar between two steps.
BATCH = 64

# Seconds on two cores.
_MULTIPLY = 8e-11  # one pair, at one scale, for one column


class PairForms(FormsOffer):
    """Matrix products of each tile with all columns."""

    name = "pairwise"

    def __init__(self, question: FormsQuestion, kernel: PairKernel) -> None:
        self._question, self._kernel = question, kernel

    def seconds(self, first: int, end: int) -> float:
        """Overlaps once for each block of columns, and their products with each column."""
        question, scales = self._question, end - first
        pairs = float(question.measure.n) ** 2
        return self._kernel.seconds(pairs / 2, scales) + pairs * scales * question.columns * _MULTIPLY

    def run(self, part: slice, columns: FloatArray, progress: Progress) -> FloatArray:
        """Centred overlaps at each scale."""
        question, times = self._question, self._question.times[part]
        diagonal = diagonal_of(question.measure, times, question.rtol)
        kernel = self._kernel.fitted(times, question.rtol)

        def centred(left: FloatArray, right: FloatArray) -> Iterator[FloatArray]:
            terms_at = kernel.terms(left, right)
            return (diagonal.of_pairs(k, terms_at(float(time))) for k, time in enumerate(times))

        return _forms(kernel, question.measure.points, centred, len(times), columns, progress)


class PairLevelForms(FormsOffer):
    """The same with kernels that are functions of the distance."""

    name = "pairwise"

    def __init__(self, question: LevelFormsQuestion, kernel: ZonalPairs) -> None:
        self._question, self._kernel = question, kernel

    def seconds(self, first: int, end: int) -> float:
        """Distances, kernels, and products with each column."""
        question, pairs = self._question, float(self._question.measure.n) ** 2
        size = len(question.kernels.factors)
        own = self._kernel.seconds(pairs / 2, size) + question.kernels.seconds * pairs / 2
        return own + pairs * size * question.columns * _MULTIPLY

    def run(self, part: slice, columns: FloatArray, progress: Progress) -> FloatArray:
        """All kernels."""
        kernel, kernels, points = self._kernel, self._question.kernels, self._question.measure.points

        def values(left: FloatArray, right: FloatArray) -> Iterable[FloatArray]:
            return kernels.of_distance(kernel.distances(left, right))

        return _forms(kernel, points, values, len(kernels.factors), columns, progress)


def _forms(
    kernel: PairKernel,
    points: NDArray[Any],
    values: Callable[[FloatArray, FloatArray], Iterable[FloatArray]],
    size: int,
    columns: FloatArray,
    progress: Progress,
) -> FloatArray:
    """Forms with *size* kernels, whose values for all pairs of two tiles come one after the other; each pair once."""
    total = np.zeros((LANES, size, columns.shape[1]))

    def add(lane: int, rows: slice, others: slice) -> None:
        for k, form in enumerate(values(kernel.rows(points, rows), kernel.rows(points, others))):
            found = np.einsum("ij,ij->j", columns[rows], form @ columns[others])
            total[lane, k] += found if rows == others else 2 * found

    over_tiles(len(points), add, progress, size=TILE, lanes=LANES, parallel=kernel.parallel)
    return np.asarray(total.sum(axis=0).T)


class PairPotentials(PotentialOffer):
    """Sums of rows of tiles."""

    name = "pairwise"

    def __init__(self, question: PotentialQuestion, kernel: PairKernel) -> None:
        self._question, measure = question, question.measure
        self._kernel = kernel.fitted(question.times, question.rtol)
        self.error = float(self._kernel.errors(question.times, np.full(len(question.times), 1 / measure.ess)).max())

    def seconds(self, first: int, end: int) -> float:
        """Of all pairs; those of two atoms once."""
        question = self._question
        n, places = float(question.measure.n), float(len(question.places))
        if question.at is not None:
            return self._kernel.seconds(n * places, end - first)
        return self._kernel.seconds(n * n / 2, (2 if question.centred else 1) * (end - first))

    def run(self, part: slice, progress: Progress) -> Potentials:
        """With squares, where they are centred."""
        question, times = self._question, self._question.times[part]
        if question.at is not None:
            return Potentials(_rows(self._kernel, question, times, progress), self.error)
        return Potentials(*_at_atoms(self._kernel, question, times, progress))


def _rows(kernel: PairKernel, question: PotentialQuestion, times: FloatArray, progress: Progress) -> FloatArray:
    """sum_j w_j s_t(y, x_j) over all atoms x_j, for tiles of points y, some of them side by side."""
    atoms, at = question.measure.coalesced(), question.places
    total = np.zeros((len(times), len(at)))

    def fill(_: int, rows: slice) -> None:
        left = kernel.rows(at, rows)
        for part in slices(atoms.n, 4 * SMALL_TILE):
            terms_at = kernel.terms(left, kernel.rows(atoms.points, part))
            for k, time in enumerate(times):
                total[k, rows] += terms_at(float(time)).overlap @ atoms.weights[part]

    work = list(slices(len(at), SMALL_TILE))
    with one_blas_thread():
        for batch in progress.track([work[part] for part in slices(len(work), BATCH)], "rows"):
            share_out(batch, fill, thread_count() if kernel.parallel else 1)
    return total


def _at_atoms(
    kernel: PairKernel, question: PotentialQuestion, times: FloatArray, progress: Progress
) -> tuple[FloatArray, float, FloatArray | None]:
    """Potentials at the atoms, shape (times, n), each pair once, their error, and the sums of squares if centred."""
    measure = question.measure
    n, w = measure.n, np.ascontiguousarray(measure.weights)
    diagonal = diagonal_of(measure, times, question.rtol) if question.centred else None
    lanes = 1 if n < 4 * SMALL_TILE else FEW_LANES
    found, squares = np.zeros((lanes, len(times), n)), np.zeros((lanes, len(times)))

    def add(lane: int, rows: slice, columns: slice) -> None:
        terms_at = kernel.terms(kernel.rows(measure.points, rows), kernel.rows(measure.points, columns))
        for k, time in enumerate(times):
            terms = terms_at(float(time))
            values = terms.overlap if diagonal is None else diagonal.of_pairs(k, terms)
            if rows == columns:
                np.fill_diagonal(values, 0.0)
            else:
                found[lane, k, columns] += w[rows] @ values
            found[lane, k, rows] += values @ w[columns]
            if diagonal is not None:
                twice = 1.0 if rows == columns else 2.0
                squares[lane, k] += twice * (w[rows] ** 2 @ np.square(values, out=values) @ w[columns] ** 2)

    over_tiles(n, add, progress, size=SMALL_TILE, lanes=lanes, parallel=kernel.parallel)
    total = found.sum(axis=0)
    total += w  # each atom with itself
    error = float(kernel.errors(times, np.full(len(times), 1 / measure.ess)).max())
    return total, error, squares.sum(axis=0) if question.centred else None
