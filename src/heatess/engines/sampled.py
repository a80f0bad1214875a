"""Random pairs: an unbiased estimate of the overlap when there are too many atoms for all pairs.

Atoms are drawn by weight into independent batches of two sets each, and all pairs between the two sets of a batch
are summed: by matrix product where the overlap depends on the distance alone, else scale by scale. Each batch gives
an unbiased estimate of the sum over pairs of distinct atoms, their mean is the result, and their spread is its
standard error. The atoms' overlap with themselves, sum w_i^2, is known and not sampled. Where close pairs are so rare
that hardly any is drawn, the spread says nothing about them; so `error` also holds what could have been missed, which
is 6 gESS / pairs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..blocks import slices
from ..errors import InputError, PrecisionError
from ..kernel import SERIES_LIMIT, level_count, level_probabilities, log_diagonal
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import FloatArray, LevelMoments, PairSpace, ZonalSpace
from .cosines import ERROR, CosineSums
from .sums import EPS, HeatSums, sum_levels

#: Batches whose spread gives the standard error.
LEAST_BATCHES = 32
LARGEST_SIDE = 1024

#: Rows of a tile where each scale is summed on its own: several arrays of its square should stay in cache.
TILE = 128

#: Standard errors counted into `error`: from 32 batches, the truth lies within in all but 1 case of 190.
SIGMAS = 3.0

#: If none of the pairs drawn overlaps, they hold fewer of those that do, on average, in all but 1 case of 400.
UNSEEN = 6.0


def heat_sums(
    measure: Measure,
    times: FloatArray,
    rtol: float,
    pairs: int,
    rng: np.random.Generator,
    progress: Progress,
) -> HeatSums:
    """Heat sums at *times* from about *pairs* random pairs; `error` includes three standard errors."""
    space = measure.space
    if isinstance(space, ZonalSpace):
        return _by_levels(measure, space, times, rtol, pairs, rng, progress)
    if isinstance(space, PairSpace):
        return _by_overlaps(measure.coalesced(), space, times, pairs, rng, progress)
    raise InputError(
        f"random pairs are of no use on {space!r}, which is known by its eigenpairs: their sum takes a time in "
        "proportion to the number of atoms; leave out pairs="
    )


def _by_levels(
    measure: Measure,
    space: ZonalSpace,
    times: FloatArray,
    rtol: float,
    pairs: int,
    rng: np.random.Generator,
    progress: Progress,
) -> HeatSums:
    """Where the overlap depends on the distance alone: level moments serve all scales."""
    count = level_count(space, float(times.min()), measure.ess, rtol, SERIES_LIMIT)
    if count is None:
        raise PrecisionError(
            f"random pairs serve scales of up to {SERIES_LIMIT} levels, and angle "
            f"{np.degrees(np.sqrt(8 * times.min())):g} degrees on {space!r} needs more; give coarser scales"
        )
    batches = _batch_moments(measure, space, count, pairs, rng, progress)  # (batches, levels)
    mean = batches.mean(axis=0)
    sums = sum_levels(space, times, LevelMoments(np.clip(mean, 0.0, 1.0), error=ERROR))
    p = np.stack([level_probabilities(space, float(t), count) for t in times])
    overlap = p @ mean
    if not (overlap > 0).all():
        raise PrecisionError(f"{pairs:,} random pairs are too few to tell the overlap from zero; give more")
    spread = (batches @ p.T).std(axis=0, ddof=1) / math.sqrt(len(batches))
    log_power = np.array([log_diagonal(space, float(t)) for t in times]) + np.log(overlap)
    with np.errstate(invalid="ignore", divide="ignore"):
        log_mmd2 = np.where(log_power > 0, log_power + np.log(-np.expm1(-log_power)), np.nan)
    return HeatSums(overlap, log_mmd2, sums.slope, sums.error + _chance(spread, pairs) / overlap)


def _batch_moments(
    measure: Measure, space: ZonalSpace, count: int, pairs: int, rng: np.random.Generator, progress: Progress
) -> FloatArray:
    """Unbiased level moments from each batch."""
    side, batches = _batches(pairs)
    cumulative = np.cumsum(measure.weights)
    own = 1 / measure.ess
    equal = np.full(side, 1 / side)
    found = np.empty((batches, count))
    for batch in progress.track(range(batches), "random pairs"):
        left, right = (_draw(cumulative, side, rng) for _ in range(2))
        u = space.tile_cosines(_rows(measure, space, left), _rows(measure, space, right))
        same = left[:, None] == right  # not a pair of distinct atoms: put at distance zero, and taken out again
        u[same] = 1.0
        sums = CosineSums(space.cosine_count(count), pairs)
        sums.add(u, equal, equal)
        found[batch] = space.from_cosines(own + sums.values() - same.sum() / side**2)
        found[batch, 0] = 1.0
    return found


def _by_overlaps(
    measure: Measure, space: PairSpace, times: FloatArray, pairs: int, rng: np.random.Generator, progress: Progress
) -> HeatSums:
    """Where the overlap is more than a function of the distance: the mean over batches at each scale.

    The constant part of s_t, which is 1 / k_2t(x, x) on a compact space, is the same for all pairs and not sampled.
    """
    diagonal = space.log_diagonal(times)
    constant = np.exp(-diagonal) if space.compact else np.zeros(len(times))
    batches = _batch_overlaps(measure, space, times, constant, pairs, rng, progress)  # (batches, 3, times)
    own = 1 / measure.ess
    overlap, change, excess = batches.mean(axis=0)
    overlap += constant + own * (1 - constant)
    spread = batches[:, 0].std(axis=0, ddof=1) / math.sqrt(len(batches))
    log_mmd2 = np.full(len(times), np.nan)
    if space.compact:
        log_power = diagonal + np.log(overlap)
        with np.errstate(invalid="ignore", divide="ignore"):
            near_one = np.log(
                excess + own * np.expm1(np.minimum(diagonal, 700.0))
            )  # nan where chance makes it negative
            log_mmd2 = np.where(log_power > 1.0, log_power + np.log(-np.expm1(-log_power)), near_one)
    error = space.accuracy + 64 * EPS + _chance(spread, pairs) / overlap
    return HeatSums(overlap, log_mmd2, change / overlap, error)


def _batch_overlaps(
    measure: Measure,
    space: PairSpace,
    times: FloatArray,
    constant: FloatArray,
    pairs: int,
    rng: np.random.Generator,
    progress: Progress,
) -> FloatArray:
    """Means over each batch of s_t - constant, d s_t / d log t and k_2t - 1; an atom counts as zero with itself."""
    side, batches = _batches(pairs)
    cumulative = np.cumsum(measure.weights)
    found = np.zeros((batches, 3, len(times)))
    for batch in progress.track(range(batches), "random pairs"):
        left, right = (_draw(cumulative, side, rng) for _ in range(2))
        for rows, columns in ((rows, columns) for rows in slices(side, TILE) for columns in slices(side, TILE)):
            distinct = (left[rows, None] != right[columns]).astype(np.float64)
            found[batch, 0] -= constant * distinct.sum()
            terms_at = space.terms_of_tiles(measure.points[left[rows]], measure.points[right[columns]])
            for k, time in enumerate(times):
                for part, term in enumerate(terms_at(float(time))):
                    if term is not None:
                        found[batch, part, k] += np.vdot(distinct, term)
    return found / side**2


def _chance(standard_error: FloatArray, pairs: int) -> FloatArray:
    """What chance may have done to an overlap: the spread of the pairs drawn, and close pairs too rare to be drawn."""
    return SIGMAS * standard_error + UNSEEN / pairs


def _batches(pairs: int) -> tuple[int, int]:
    """Atoms on each side of a batch, and the number of batches, for about *pairs* pairs."""
    side = max(2, min(LARGEST_SIDE, math.isqrt(pairs // LEAST_BATCHES)))
    return side, max(LEAST_BATCHES, -(-pairs // side**2))


def _draw(cumulative: FloatArray, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Atoms drawn with probability proportional to their weight."""
    drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return np.asarray(np.minimum(drawn, len(cumulative) - 1))


def _rows(measure: Measure, space: ZonalSpace, rows: NDArray[np.int64]) -> FloatArray:
    return space.tile(measure.points[rows], slice(None))


def check_arguments(pairs: int, rng: np.random.Generator | int | None) -> np.random.Generator:
    """The generator for *pairs* random pairs; both must be given."""
    if isinstance(pairs, bool) or not isinstance(pairs, int | np.integer) or pairs < 1000:
        raise InputError(f"pairs must be a whole number of at least 1000, but is {pairs!r}")
    if rng is None:
        raise InputError("pairs= draws at random and needs rng=, a numpy.random.Generator or an integer seed")
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise InputError(f"rng must be a numpy.random.Generator or a whole number from 0 up, but is {rng!r}")
    return np.random.default_rng(rng)
