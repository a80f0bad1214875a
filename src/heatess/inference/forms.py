"""Quadratic forms of many signed weights with the heat kernel, at every scale: what resampling needs.

A test compares one number with many like it. All of them come from here, by one method and with one truncation of the
kernel, so that what is left out is the same for all and their order is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import one_blas_thread, share_out, slices, thread_count, threads
from ..base.progress import Progress
from ..engines import columns
from ..engines.base import FormsQuestion
from ..engines.columns import Draw
from ..engines.tiles import over_tiles
from ..measures import scales
from ..measures.measure import Measure
from ..spaces.base import Space
from ..spaces.capabilities import PairKernel
from ..transforms.base import Transform

#: Share of the kernel's excess over one that truncation may leave out: a truncated kernel is as good for a test.
TRUNCATION = 1e-3

#: Rows of a tile of pairs, and sums that are kept apart, so that threads do not change their order.
TILE, LANES = 512, 8

#: Signed weights held at once, 128 MB of them, and most draws of a block.
ENTRIES, MOST = 2**24, 4096

# Seconds on two cores.
_MULTIPLY = 8e-11  # one pair, at one scale, for one draw
_DRAW = 2e-8  # one signed weight drawn

#: The forms of weights whose absolute values sum to one, from their coefficients and from the weights themselves.
Sums = Callable[[NDArray[Any], FloatArray], FloatArray]

#: The kernels of the forms, one after the other, for all pairs of two tiles of rows.
TileKernels = Callable[[FloatArray, FloatArray], Iterable[FloatArray]]


class Way(NamedTuple):
    """One way to work out the forms: its estimated seconds, and how to run it."""

    seconds: float
    run: Callable[[Draw, int, Progress], FloatArray]


def forms(
    space: Space, places: NDArray[Any], times: FloatArray, draw: Draw, count: int, progress: Progress
) -> FloatArray:
    """v' C_t v of *count* signed weights v at each time, shape (count, times); see `FormsQuestion`."""
    order = np.argsort(times, kind="stable")
    measure = Measure.trusted(space, places, np.full(len(places), 1 / len(places)))

    def words(wait: str) -> str:
        return (
            f"{count:,} sums over {len(places):,} places on {space!r} at {len(times)} scales down to "
            f"{scales.in_words(space, float(times.min()))} would take {wait}; give a random subset of each sample, "
            "fewer draws, or fewer or coarser scales"
        )

    question = FormsQuestion(measure, times[order], TRUNCATION, columns=count)
    return columns.forms(question, draw, progress, words)[:, np.argsort(order)]


def transform_way(
    transform: Transform, places: NDArray[Any], degree: float, sums: Sums, count: int, epsilon: float
) -> Way:
    """*sums* of the coefficients up to some degree; draws side by side, each on one thread."""

    def form(weights: FloatArray) -> FloatArray:
        size = float(np.abs(weights).sum())
        own = weights / (size or 1.0)
        with threads(1):
            return size**2 * sums(transform.coefficients(places, own, degree, epsilon, 1), own)

    def run(draw: Draw, count: int, progress: Progress) -> FloatArray:
        found: list[FloatArray] = []
        with progress.meter(count, "draws") as advance:
            for part in slices(count, min(max(ENTRIES // len(places), 16), MOST)):
                rows = np.ascontiguousarray(draw(part.stop - part.start).T)
                own = [np.zeros(0)] * len(rows)

                def fill(_: int, row: int, rows: FloatArray = rows, own: list[FloatArray] = own) -> None:
                    own[row] = form(rows[row])

                with one_blas_thread():
                    share_out(range(len(rows)), fill, thread_count())
                found += own
                advance(len(rows))
        return np.stack(found)

    return Way(count * (transform.seconds(len(places), degree) + _DRAW * len(places)), run)


def pair_seconds(kernel: PairKernel, n: int, size: int, count: int) -> float:
    """Rough seconds on two cores of `pair_forms` with *size* kernels that cost as much as overlaps."""
    pairs = float(n) ** 2
    return kernel.seconds(pairs / 2, size) + pairs * size * count * _MULTIPLY + 2 * _DRAW * n * count


def pair_forms(
    kernel: PairKernel, values: TileKernels, size: int, places: NDArray[Any], weights: FloatArray, progress: Progress
) -> FloatArray:
    """Forms with *size* kernels, tile after tile on and above the diagonal: matrix products with all draws."""
    total = np.zeros((LANES, size, weights.shape[1]))

    def add(lane: int, rows: slice, columns: slice) -> None:
        for k, form in enumerate(values(kernel.rows(places, rows), kernel.rows(places, columns))):
            found = np.einsum("ij,ij->j", weights[rows], form @ weights[columns])
            total[lane, k] += found if rows == columns else 2 * found

    over_tiles(len(places), add, size=TILE, lanes=LANES, parallel=kernel.parallel, progress=progress)
    return np.asarray(np.maximum(total.sum(axis=0).T, 0.0))
