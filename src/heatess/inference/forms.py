"""Quadratic forms of many signed weights with the heat kernel, at every scale: what resampling needs.

A test compares one number with many like it. All of them come from here, by one method and with one truncation of the
kernel, so that what is left out is the same for all and their order is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import scales
from ..arrays import FloatArray
from ..blocks import in_lanes, one_blas_thread, share_out, slices, thread_count, threads
from ..engines.base import Question
from ..engines.modes import BLOCK_ENTRIES, Eigenmodes
from ..engines.plan import PATIENCE
from ..engines.tiles import tiles
from ..errors import CostError
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import Space
from ..spaces.capabilities import Modes, PairKernel
from ..transforms.base import Transform
from ..transforms.levels import LevelTransform

#: Share of the kernel's excess over one that truncation may leave out: a truncated kernel is as good for a test.
TRUNCATION = 1e-3

#: Accuracy of transforms per unit of weight.
EPSILON = 1e-9

#: Rows of a tile of pairs, and sums that are kept apart, so that threads do not change their order.
TILE, LANES = 512, 8

#: Signed weights held at once, 128 MB of them, where draws are transformed one by one, 512 MB where pairs are summed
#: again for each block of draws; and most draws of a block.
ENTRIES, PAIR_ENTRIES, MOST = 2**24, 2**26, 4096

#: log k_2t(x, x) from which on overlaps have enough digits; below, k_2t - 1 is summed.
NEAR_UNIFORM = 1.0

# Seconds on two cores.
_MULTIPLY = 8e-11  # one pair, at one scale, for one draw
_DRAW = 2e-8  # one signed weight drawn

#: Makes signed weights of so many more draws, one column each, shape (places, draws). They sum to zero.
Draw = Callable[[int], FloatArray]

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
    """v' K_t v of *count* signed weights v at each time, shape (count, times).

    Each column, that of one time, is in a unit of its own.
    """
    if space.modes is not None:
        way = _by_modes(space, space.modes, places, times)
    else:
        found = [_by_transform(space.transform, places, times, count), _by_pairs(space, places, times, count)]
        way = min((way for way in found if way is not None), key=lambda way: way.seconds)
    if way.seconds > PATIENCE:
        raise CostError(
            f"{count:,} sums over {len(places):,} places on {space!r} at {len(times)} scales down to "
            f"{scales.in_words(space, float(times.min()))} would take about {way.seconds / 60:.0f} minutes on two "
            "cores; give a random subset of each sample, fewer draws, or fewer or coarser scales",
            seconds=way.seconds,
        )
    return way.run(draw, count, progress)


def _size(places: int, entries: int) -> int:
    """Draws in one block."""
    return min(max(entries // places, 16), MOST)


def _blocks(draw: Draw, count: int, size: int) -> Iterator[tuple[slice, FloatArray]]:
    """All signed weights, some at a time, in the order in which they are drawn."""
    for part in slices(count, size):
        yield part, draw(part.stop - part.start)


def _by_transform(transform: Transform | None, places: NDArray[Any], times: FloatArray, count: int) -> Way | None:
    """One transform a draw serves all scales."""
    degree = None if transform is None else transform.degree_for(float(times.min()), 1.0, TRUNCATION)
    if transform is None or degree is None:
        return None
    if isinstance(transform, LevelTransform):
        sums = _sums_of_levels(transform, degree, times)
    else:
        sums = heat_sums(transform, places, degree, times, EPSILON)
    return transform_way(transform, places, degree, sums, count, EPSILON)


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
            for _, weights in _blocks(draw, count, _size(len(places), ENTRIES)):
                rows = np.ascontiguousarray(weights.T)
                own = [np.zeros(0)] * len(rows)

                def fill(_: int, row: int, rows: FloatArray = rows, own: list[FloatArray] = own) -> None:
                    own[row] = form(rows[row])

                with one_blas_thread():
                    share_out(range(len(rows)), fill, thread_count())
                found += own
                advance(len(rows))
        return np.stack(found)

    return Way(count * (transform.seconds(len(places), degree) + _DRAW * len(places)), run)


def _sums_of_levels(transform: LevelTransform, degree: float, times: FloatArray) -> Sums:
    """sum_l N_l exp(-2 lambda_l t) b_l over l >= 1, from coefficients."""
    levels = transform.series.levels(int(degree) + 1)
    logs = levels.log_multiplicities - 2 * np.multiply.outer(times, levels.eigenvalues)
    decay = np.exp(logs[:, 1:] - logs[:, 1:].max(axis=1, keepdims=True))
    return lambda coefficients, weights: np.asarray(decay @ transform.moments(coefficients)[1:])


def heat_sums(transform: Transform, places: NDArray[Any], degree: float, times: FloatArray, epsilon: float) -> Sums:
    """v' (K_t - 1) v of weights at *places*, where a transform is not one to levels."""

    def sums(coefficients: NDArray[Any], weights: FloatArray) -> FloatArray:
        if not weights.any():
            return np.zeros(len(times))
        low = lambda: transform.low_sums(places, weights)  # noqa: E731
        return np.exp(transform.spectrum(coefficients, low, degree, epsilon, 1e-6).heat_sums(times).log_mmd2)

    return sums


def _by_pairs(space: Space, places: NDArray[Any], times: FloatArray, count: int) -> Way:
    """Overlaps of each tile of pairs, once for each scale; near the uniform law k_2t - 1 takes their place."""
    kernel = space.pair_kernel
    if kernel is None:
        raise TypeError("a space without eigenpairs of its own has a pair kernel")

    def run(draw: Draw, count: int, progress: Progress) -> FloatArray:
        ready = kernel.fitted(places, times, TRUNCATION)
        near_uniform = ready.log_diagonal(times) < NEAR_UNIFORM if space.compact else np.zeros(len(times), dtype=bool)

        def values(left: FloatArray, right: FloatArray) -> Iterator[FloatArray]:
            terms_at = ready.terms(left, right)
            for time, near in zip(times, near_uniform, strict=True):
                terms = terms_at(float(time))
                yield terms.excess if near and terms.excess is not None else terms.overlap

        return pair_forms(ready, values, len(times), places, draw(count), progress)

    return Way(pair_seconds(kernel, len(places), len(times), count), run)


def pair_seconds(kernel: PairKernel, n: int, size: int, count: int) -> float:
    """Rough seconds on two cores of `pair_forms` with *size* kernels that cost as much as overlaps."""
    pairs = float(n) ** 2
    return kernel.seconds(pairs / 2, size) + pairs * size * count * _MULTIPLY + 2 * _DRAW * n * count


def pair_forms(
    kernel: PairKernel, values: TileKernels, size: int, places: NDArray[Any], weights: FloatArray, progress: Progress
) -> FloatArray:
    """Forms with *size* kernels, tile after tile on and above the diagonal: matrix products with all draws."""
    total = np.zeros((LANES, size, weights.shape[1]))
    work = list(tiles(len(places), TILE))

    def add(lane: int, tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        for k, form in enumerate(values(kernel.rows(places, rows), kernel.rows(places, columns))):
            found = np.einsum("ij,ij->j", weights[rows], form @ weights[columns])
            total[lane, k] += found if rows == columns else 2 * found

    with one_blas_thread(), progress.meter(len(work), "pairs") as advance:
        for batch in slices(len(work), 8 * LANES):
            in_lanes(work[batch], add, LANES, thread_count() if kernel.parallel else 1)
            advance(batch.stop - batch.start)
    return np.asarray(np.maximum(total.sum(axis=0).T, 0.0))


def _by_modes(space: Space, modes: Modes, places: NDArray[Any], times: FloatArray) -> Way:
    """sum_r exp(-2 lambda_r t) (sum_i v_i phi_r(x_i))^2 over the eigenfunctions but the constant."""
    order = np.sort(times)
    measure = Measure.trusted(space, places, np.full(len(places), 1 / len(places)))
    Eigenmodes().offer(Question(measure, order, TRUNCATION))  # refuses scales that the eigenpairs do not resolve
    finest = float(order[0])

    def run(draw: Draw, count: int, progress: Progress) -> FloatArray:
        pairs = modes.resolved(finest)
        values = pairs.values
        decay = np.exp(-2 * np.multiply.outer(times, values[1:] - values[1]))
        found = np.empty((count, len(times)))
        for part, weights in _blocks(draw, count, _size(max(len(places), len(values)), PAIR_ENTRIES)):
            total = np.zeros((len(values), weights.shape[1]))
            for rows in progress.track(list(slices(len(places), BLOCK_ENTRIES // len(values) + 1)), "places"):
                total += pairs.at(places[rows]).T @ weights[rows]
            found[part] = (decay @ total[1:] ** 2).T
        return found

    return Way(0.0, run)
