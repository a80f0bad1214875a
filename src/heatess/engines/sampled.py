"""Random pairs: an unbiased estimate of the overlap when there are too many atoms for all pairs.

Atoms are drawn by weight into independent batches of two sets each, and all pairs between the two sets of a batch
are summed: by matrix product where the overlap depends on the distance alone, else scale by scale. Each batch gives
an unbiased estimate of the sum over pairs of distinct atoms, their mean is the result, and their spread is its
standard error. The atoms' overlap with themselves, sum w_i^2, is known and not sampled.

What is so rare that it is hardly drawn does not show in the spread; so `error` also holds what could have been missed.
Of the pairs that are close, 6 in all those drawn: no more than 6 / pairs. Of the atoms, a weight of u = 6 / (atoms
drawn). With phi(x) the function s_t(x, .) in its Hilbert space, where it has length one, and b the mean of phi over the
others, that moves 1 / gESS = |b + u (h - b)|^2 by 2 u <h - b, b> + u^2 |h - b|^2, for some h in the convex hull. The
product lies between -|b|^2 and |b| - |b|^2; and it is at most 1 - s, where s is the least overlap of two atoms, which
is no more than four times the same with one of the atoms held fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ..arrays import EPS, FloatArray, IntArray, generator, shown
from ..blocks import slices
from ..errors import InputError, PrecisionError
from ..heat.series import SERIES_LIMIT, level_count, level_probabilities
from ..heat.sums import HeatSums, LevelMoments, share_of_mmd2, sum_levels
from ..measure import Measure
from ..progress import Progress
from ..spaces.capabilities import PairKernel, ZonalPairs
from .cosines import ERROR, CosineSums

#: Batches whose spread gives the standard error.
LEAST_BATCHES = 32
LARGEST_SIDE = 1024

#: Rows of a tile where each scale is summed on its own: several arrays of its square should stay in cache.
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


def heat_sums(
    measure: Measure, times: FloatArray, rtol: float, pairs: int, rng: np.random.Generator, progress: Progress
) -> HeatSums:
    """Heat sums at *times* from about *pairs* random pairs; `error` includes three standard errors."""
    space = measure.space
    kernel = space.pair_kernel
    if kernel is None:
        raise InputError(
            f"random pairs are of no use on {space!r}, which is known by its eigenpairs: their sum takes a time in "
            "proportion to the number of atoms; leave out pairs="
        )
    atoms = measure.coalesced() if kernel.width <= FEW_COLUMNS else measure
    if isinstance(kernel, ZonalPairs):
        return _by_levels(atoms, kernel, times, rtol, Draws.of(atoms, pairs, rng, progress))
    kernel = kernel.fitted(atoms.points, times, rtol)
    return _by_overlaps(atoms, kernel, times, Draws.of(atoms, pairs, rng, progress))


@dataclass(frozen=True, eq=False)
class Draws:
    """Batches of two sets of atoms each, drawn with probability proportional to their weight."""

    pairs: int
    atoms: int  # drawn, in all batches
    batches: Iterator[tuple[IntArray, IntArray]]

    @classmethod
    def of(cls, measure: Measure, pairs: int, rng: np.random.Generator, progress: Progress) -> Draws:
        """About so many *pairs*."""
        side = max(2, min(LARGEST_SIDE, math.isqrt(pairs // LEAST_BATCHES)))
        count = max(LEAST_BATCHES, -(-pairs // side**2))
        cumulative = np.cumsum(measure.weights)

        def batches() -> Iterator[tuple[IntArray, IntArray]]:
            for _ in progress.track(range(count), "random pairs"):
                drawn = np.searchsorted(cumulative, rng.random((2, side)) * cumulative[-1], side="right")
                left, right = np.minimum(drawn, len(cumulative) - 1)
                yield left, right

        return cls(pairs, 2 * side * count, batches())

    def chance(self, batches: FloatArray, overlap: FloatArray, least: FloatArray) -> FloatArray:
        """What chance may have done to an overlap: the spread of the batches, and what is too rare to be drawn.

        No two atoms overlap by less than *least*.
        """
        spread = batches.std(axis=0, ddof=1) / math.sqrt(len(batches))
        unseen = UNSEEN / self.atoms
        moved = np.maximum(overlap, np.sqrt(overlap) - overlap)
        atoms = 2 * unseen * np.minimum(1 - least, moved) + unseen**2 * (1 - least)
        return np.asarray(SIGMAS * spread + atoms + UNSEEN / self.pairs * (1 - least))


def _by_levels(measure: Measure, kernel: ZonalPairs, times: FloatArray, rtol: float, draws: Draws) -> HeatSums:
    """Where the overlap depends on the distance alone: level moments serve all scales."""
    series = kernel.series
    count = level_count(series, float(times.min()), measure.ess, rtol, SERIES_LIMIT)
    if count is None:
        raise PrecisionError(
            f"random pairs serve scales of up to {SERIES_LIMIT} levels, and angle "
            f"{np.degrees(np.sqrt(8 * times.min())):g} degrees on {measure.space!r} needs more; give coarser scales"
        )
    p = np.stack([level_probabilities(series, float(t), count) for t in times])
    least = _least(1 - p @ series.zonal(count, _farthest(measure, kernel)), p[:, 0])
    found = [_moments(measure, kernel, count, *draw) for draw in draws.batches]
    moments, same = np.array([part[0] for part in found]), np.array([part[1] for part in found])
    mean = moments.mean(axis=0)  # (levels,)
    sums = sum_levels(series, times, LevelMoments(np.clip(mean, 0.0, 1.0), error=ERROR))
    # Level zero has counted p_0 for an atom with itself.
    batches = moments @ p.T + np.multiply.outer(same - 1 / measure.ess, least - p[:, 0])  # (batches, times)
    overlap = batches.mean(axis=0)
    if not (overlap > 0).all():
        raise PrecisionError(f"{draws.pairs:,} random pairs are too few to tell the overlap from zero; give more")
    chance, slope = draws.chance(batches, overlap, least) / overlap, sums.slope * sums.overlap / overlap
    return _with_chance(overlap, slope, sums.error, chance, kernel.log_diagonal(times) + np.log(overlap))


def _least(deficit: FloatArray, constant: FloatArray) -> FloatArray:
    """What no overlap is below: from the most that those with one atom fall short of one, or the constant part."""
    return np.asarray(np.maximum(1 - 4 * deficit, constant))


def _farthest(measure: Measure, kernel: ZonalPairs) -> float:
    """The largest distance from the first atom."""
    one, size = kernel.rows(measure.points[:1]), max(1, 2**20 // kernel.width)
    parts = slices(measure.n, size)
    least = min(float(kernel.cosines(one, kernel.rows(measure.points, part)).min()) for part in parts)
    return math.acos(max(least, -1.0)) / kernel.series.winding


def _with_chance(
    overlap: FloatArray, slope: FloatArray, error: FloatArray, chance: FloatArray, log_power: FloatArray
) -> HeatSums:
    """MMD^2 is nan where chance makes A less than one; the same chance is A / (A - 1) times as much of it as of A."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        log_mmd2 = np.where(log_power > 0, log_power + np.log(-np.expm1(-log_power)), np.nan)
        of_mmd2 = np.where(log_power > 0, share_of_mmd2(chance, log_mmd2), np.inf)
    return HeatSums(overlap, log_mmd2, slope, error + chance, of_mmd2, np.zeros(len(overlap)))


def _moments(
    measure: Measure, kernel: ZonalPairs, count: int, left: IntArray, right: IntArray
) -> tuple[FloatArray, float]:
    """Unbiased level moments from the pairs of one batch, and the share of pairs of an atom with itself."""
    side = len(left)
    u = kernel.cosines(kernel.rows(measure.points[left]), kernel.rows(measure.points[right]))
    same = left[:, None] == right  # not a pair of distinct atoms: put at distance zero, and taken out again
    u[same] = 1.0
    sums, equal = CosineSums(count, side * side), np.full(side, 1 / side)
    sums.add(u, equal, equal)
    share = float(same.sum()) / side**2
    found = kernel.series.from_cosines(1 / measure.ess + sums.values() - share)
    found[0] = 1.0
    return found, share


def _by_overlaps(measure: Measure, kernel: PairKernel, times: FloatArray, draws: Draws) -> HeatSums:
    """Where the overlap is more than a function of the distance: the mean over batches at each scale.

    What all overlaps have in common is not sampled: 1 / k_2t(x, x) on a compact space, and more in a tight cloud.
    """
    compact, own = measure.space.compact, 1 / measure.ess
    diagonal = kernel.log_diagonal(times)
    constant = np.exp(-diagonal) if compact else np.zeros(len(times))
    affordable = measure.n * len(times) <= max(draws.pairs, FEW_OVERLAPS)
    least = _least(_deficit(measure, kernel, times), constant) if affordable else constant
    with np.errstate(over="ignore"):
        common = np.where(least > constant, np.exp(np.minimum(diagonal, 700.0)) * least - 1, 0.0) if compact else 0.0
    found = [_overlaps(measure, kernel, times, least, common, *draw) for draw in draws.batches]
    batches = np.array(found)  # (batches, 3, times)
    overlap, change, excess = batches.mean(axis=0)
    overlap += least + own * (1 - least)
    excess += common * (1 - own)
    chance = draws.chance(batches[:, 0], overlap, least) / overlap
    error = np.full(len(times), kernel.accuracy + 64 * EPS)
    if not compact:
        return HeatSums.of_overlap(overlap, change / overlap, error + chance, None)
    sums = _with_chance(overlap, change / overlap, error, chance, diagonal + np.log(overlap))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # nan where chance makes it negative
        near_one = np.log(excess + own * np.expm1(np.minimum(diagonal, 700.0)))
        of_near_one = np.where(np.isfinite(near_one), share_of_mmd2(chance, near_one), np.inf)
    above = diagonal + np.log(overlap) > 1.0
    log_mmd2, of_mmd2 = (
        np.where(above, *parts) for parts in ((sums.log_mmd2, near_one), (sums.mmd2_error, of_near_one))
    )
    return replace(sums, log_mmd2=log_mmd2, mmd2_error=of_mmd2)


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
    """Means over a batch of s_t - least, d s_t / d log t and k_2t - 1 - common; an atom counts as zero with itself."""
    found = np.zeros((3, len(times)))
    for rows, columns in product(slices(len(left), TILE), slices(len(right), TILE)):
        distinct = (left[rows, None] != right[columns]).astype(np.float64)
        found[0] -= least * distinct.sum()
        found[2] -= common * distinct.sum()
        terms_at = kernel.terms(measure.points[left[rows]], measure.points[right[columns]])
        for k, time in enumerate(times):
            for part, term in enumerate(terms_at(float(time))):
                if term is not None:
                    found[part, k] += np.vdot(distinct, term)
    return found / len(left) ** 2


def check_arguments(pairs: int, rng: np.random.Generator | int | None) -> np.random.Generator:
    """The generator for *pairs* random pairs; both must be given."""
    if isinstance(pairs, bool) or not isinstance(pairs, int | np.integer) or not 1000 <= pairs <= MOST_PAIRS:
        raise InputError(f"pairs must be a whole number from 1000 to 10**12, but is {shown(pairs)}")
    if rng is None:
        raise InputError("pairs= draws at random and needs rng=, a numpy.random.Generator or an integer seed")
    return generator(rng)
