"""Random pairs: an unbiased estimate of the overlap when there are too many atoms for all pairs.

Atoms are drawn by weight into independent batches of two sets each; all pairs between the two sets of
a batch are summed by matrix product. Each batch gives an unbiased estimate of the sum over pairs of distinct
atoms, their mean is the result, and their spread is its standard error. The atoms' overlap with themselves,
sum w_i^2, is known and not sampled.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, PrecisionError
from ..kernel import SERIES_LIMIT, level_count, level_probabilities, log_diagonal
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import FloatArray, LevelMoments, ZonalSpace
from .cosines import ERROR, CosineSums
from .sums import HeatSums, sum_levels

#: Batches whose spread gives the standard error.
LEAST_BATCHES = 32
LARGEST_SIDE = 1024

#: Standard errors counted into `error`: the truth lies within in all but 1 case of 370.
SIGMAS = 3.0


def heat_sums(
    measure: Measure,
    space: ZonalSpace,
    times: FloatArray,
    rtol: float,
    pairs: int,
    rng: np.random.Generator,
    progress: Progress,
) -> HeatSums:
    """Heat sums at *times* from about *pairs* random pairs; `error` includes three standard errors."""
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
    return HeatSums(overlap, log_mmd2, sums.slope, sums.error + SIGMAS * spread / overlap)


def _batch_moments(
    measure: Measure, space: ZonalSpace, count: int, pairs: int, rng: np.random.Generator, progress: Progress
) -> FloatArray:
    """Unbiased level moments from each batch."""
    side = max(2, min(LARGEST_SIDE, math.isqrt(pairs // LEAST_BATCHES)))
    batches = max(LEAST_BATCHES, -(-pairs // side**2))
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
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
