"""All pairs of atoms in square tiles, never an n x n array."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from itertools import combinations_with_replacement

import numpy as np

from ..base.arrays import FloatArray
from ..base.blocks import in_lanes, one_blas_thread, slices, thread_count
from ..base.errors import InputError
from ..base.progress import Progress
from ..measures.measure import Measure
from ..spaces.capabilities import ZonalPairs

TILE = 1024

#: Tiles of each lane between two steps of a progress bar, at most, and steps that a bar should have.
BATCH_TILES, MOVES = 64, 50

#: Values of a function at an array of distances, in a new array.
OfDistance = Callable[[FloatArray], FloatArray]

#: Close pairs handled at once.
BATCH = 2_000_000


def tiles(n: int, size: int = TILE) -> Iterator[tuple[slice, slice]]:
    """The tiles on and above the diagonal."""
    return combinations_with_replacement(list(slices(n, size)), 2)


def lanes_for(n: int, most: int) -> int:
    """Into how many sums the tiles of n atoms go: a power of two that does not depend on the threads."""
    return 1 if n < 400 else min(most, 1 << max(1, (n // 512).bit_length() - 1))


def over_tiles(
    n: int,
    add: Callable[[int, slice, slice], None],
    progress: Progress,
    *,
    size: int = TILE,
    lanes: int = 1,
    parallel: bool = True,
) -> None:
    """Call `add(lane, rows, columns)` for every tile on and above the diagonal: the one loop over all pairs.

    Each lane has its tiles in order and sums of its own, so that the number of threads changes no digit.
    """
    work = list(tiles(n, size))
    steps = min(BATCH_TILES, len(work) // (MOVES * lanes) + 1) if progress.shown else len(work)
    alone = one_blas_thread() if lanes > 1 else nullcontext()  # idle BLAS threads would spin against our own
    with alone, progress.meter(len(work), "pairs") as advance:
        for batch in slices(len(work), lanes * steps):
            in_lanes(work[batch], lambda lane, tile: add(lane, *tile), lanes, thread_count() if parallel else 1)
            advance(batch.stop - batch.start)


def zonal_pairs(measure: Measure) -> ZonalPairs:
    """The pair kernel of a space whose overlap depends on the distance alone, or an `InputError`."""
    kernel = measure.space.zonal
    if kernel is None:
        raise InputError(
            f"this needs <+a space whose heat kernel depends on the distance alone+>, not <!{measure.space!r}!>"
        )
    return kernel


def close_pairs(
    atoms: Measure, kernel: ZonalPairs, reach: float, progress: Progress
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Squared distances and products of weights of all pairs i < j closer than *reach*, by going through all pairs."""
    # The cosine of the distance is right up to rounding; the pairs let through are measured again.
    bound = math.cos(min(kernel.series.winding * reach, math.pi)) - 1e-12
    size = BATCH // kernel.width + 1
    for rows, columns in progress.track(list(tiles(atoms.n)), "pairs"):
        left, right = kernel.rows(atoms.points, rows), kernel.rows(atoms.points, columns)
        i, j = np.nonzero(kernel.cosines(left, right) >= bound)
        upper = i + rows.start < j + columns.start
        i, j = i[upper], j[upper]
        for part in slices(len(i), size):
            weights = atoms.weights[rows][i[part]] * atoms.weights[columns][j[part]]
            yield kernel.distance(left[i[part]], right[j[part]]) ** 2, weights


def distance_sums(atoms: Measure, kernel: ZonalPairs, functions: Sequence[OfDistance]) -> FloatArray:
    """sum w_i w_j f(d(x_i, x_j)) over all pairs i != j, for each function f."""
    total = np.zeros(len(functions))

    def add(_: int, rows: slice, columns: slice) -> None:
        distances = kernel.distances(kernel.rows(atoms.points, rows), kernel.rows(atoms.points, columns))
        for k, function in enumerate(functions):
            values = function(distances)
            if rows == columns:
                np.fill_diagonal(values, 0.0)
            share = atoms.weights[rows] @ values @ atoms.weights[columns]
            total[k] += share if rows == columns else 2 * share

    over_tiles(atoms.n, add, Progress(False))
    return total


def gaussian_sums(atoms: Measure, kernel: ZonalPairs, lengths: FloatArray) -> FloatArray:
    """sum_ij w_i w_j exp(-(d(x_i, x_j) / length)^2) over all i and j, equal ones too, for each length."""

    def gaussian(length: float) -> OfDistance:
        return lambda distances: np.exp(-((distances / length) ** 2))

    own = float(atoms.weights @ atoms.weights)
    return own + distance_sums(atoms, kernel, [gaussian(length) for length in lengths.tolist()])
