"""Sums over pairs behind population estimates: what each atom, left out, does to the overlap, and squared overlaps.

Everything is in terms of the centred overlap of two atoms,

    c_t(x, y) = (k_2t(x, y) - 1) / (k_2t(x, x) - 1),

which is one for an atom with itself, has mean zero for uniform atoms, and neither overflows at fine scales nor loses
digits at coarse ones. On spaces of infinite volume it is the overlap s_t itself. The *excess* of a measure is
e = sum_ij w_i w_j c_t(x_i, x_j) = (A - 1) / (k_2t(x, x) - 1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..blocks import in_lanes, slices, thread_count
from ..engines import plan
from ..engines.pairs import BATCH, SMALL_TILE
from ..engines.spectral import accuracy, threads_for
from ..engines.tiles import tiles
from ..errors import CostError, InputError, ScaleError
from ..measure import Measure
from ..progress import Progress
from ..scales import in_words
from ..spaces.capabilities import PairKernel
from ..transforms.levels import LevelTransform
from ..transforms.torus import TorusTransform
from .mmd import log_excess
from .squares import level_squares, torus_squares

#: Most sums that tiles of pairs go into at the same time.
LANES = 4

#: log(k_2t(x, x) - 1) below which k_2t - 1 of pairs loses digits, or underflows.
LEAST_LOG_EXCESS = -650.0


class Diagonal(NamedTuple):
    """k_2t(x, x) at each time, in the forms that do not overflow; infinite where the volume is."""

    inverse: FloatArray  # 1 / k_2t(x, x)
    rest: FloatArray  # 1 - 1 / k_2t(x, x), with all its digits where k_2t(x, x) is near one
    log_excess: FloatArray  # log(k_2t(x, x) - 1)
    narrowing: FloatArray  # integral of s_t^2 over that of s_t: k_4t(x, x) / k_2t(x, x)


class Jackknife(NamedTuple):
    """The excess without each atom, at some times: its mean over atoms, its covariances, and sums of squares."""

    mean: FloatArray  # (times,)
    covariance: FloatArray  # (n - 1) / n sum_i of products of deviations from the mean, (times, times)
    squares: FloatArray  # sum over i != j of w_i^2 w_j^2 c_ij^2, (times,)


def diagonal_of(measure: Measure, times: FloatArray, rtol: float) -> Diagonal:
    """k_2t(x, x) at times of any order."""
    space, kernel = measure.space, measure.space.pair_kernel
    if kernel is None or not space.compact:
        nothing = np.zeros(len(times))
        return Diagonal(nothing, nothing + 1.0, nothing + math.inf, nothing + 2.0 ** (-space.dim / 2))
    both = np.concatenate([times, 2 * times])
    logs = kernel.fitted(measure.points[:1], both, rtol).log_diagonal(both)
    log_diagonal, log_wider = logs[: len(times)], logs[len(times) :]
    logs_of_excess = log_excess(measure, times, rtol)
    with np.errstate(under="ignore"):
        inverse, rest = np.exp(-log_diagonal), np.exp(-np.logaddexp(0.0, -logs_of_excess))
        return Diagonal(inverse, rest, logs_of_excess, np.exp(np.minimum(log_wider - log_diagonal, 0.0)))


def refuse_one_footprint(measure: Measure, times: FloatArray) -> None:
    """Refuse scales at which a compact homogeneous space is one footprint in double precision: nothing is left there.

    k_2t(x, y) - 1 of all pairs underflows together, and with it whatever a test or a band would compare.
    """
    space, coarsest = measure.space, float(times.max())
    if not space.compact or space.pair_kernel is None:
        return
    if float(log_excess(measure, np.array([coarsest]), 1e-8)[0]) < LEAST_LOG_EXCESS:
        raise ScaleError(
            f"at {in_words(space, coarsest)} all of {space!r} is one footprint, and no two laws differ by a number "
            "that double precision can hold; give finer scales"
        )


def excesses(measure: Measure, times: FloatArray, rtol: float, diagonal: Diagonal) -> tuple[plan.Outcome, FloatArray]:
    """What the plan found, and the excess of the measure at each time."""
    outcome = plan.run(measure, times, rtol, "auto", Progress(False))
    return outcome, excess_of(outcome.sums.overlap, outcome.sums.log_mmd2, diagonal)


def excess_of(overlap: FloatArray, log_mmd2: FloatArray, diagonal: Diagonal) -> FloatArray:
    """From MMD^2 where k_2t(x, x) is near one, and else from the overlap."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        fine = (overlap - diagonal.inverse) / diagonal.rest
        return np.where(diagonal.inverse < 0.5, fine, np.exp(log_mmd2 - diagonal.log_excess))


def jackknife(measure: Measure, times: FloatArray, excess: FloatArray, rtol: float) -> Jackknife:
    """All atoms left out in turn at increasing *times*, in closed form, from the potential at each atom.

    With S = sum w^2 and f_i = sum_j w_j c_ij, the unbiased estimate without atom i is

        e^(-i) = (e - S - 2 w_i (f_i - w_i)) / ((1 - w_i)^2 - S + w_i^2).
    """
    values, squares = _potentials(measure, times, rtol)  # (times, n), and turned into e^(-i) in place
    w, n = measure.weights, measure.n
    own = float(w @ w)
    values -= w
    values *= -2 * w
    values += (excess - own)[:, None]
    values /= (1 - w) ** 2 - own + w * w
    mean = values.mean(axis=1)
    values -= mean[:, None]
    return Jackknife(mean, (n - 1) / n * (values @ values.T), squares)


def degree_of_transform(measure: Measure, times: FloatArray, rtol: float) -> float | None:
    """The degree of the transform that serves increasing *times* best; None if all pairs do, at a bearable cost."""
    space, kernel, transform = measure.space, measure.space.pair_kernel, measure.space.transform
    if kernel is None:
        raise InputError(f"{space!r} has no overlaps of pairs")
    by_pairs = kernel.seconds(0.5 * float(measure.n) ** 2, 2 * len(times))
    if isinstance(transform, LevelTransform | TorusTransform):
        degree = transform.degree_for(float(times[0]), measure.ess, rtol)
        if degree is not None and (2 + len(times)) * transform.seconds(measure.n, degree) < by_pairs:
            return degree
    if by_pairs > plan.PATIENCE:
        raise CostError(
            f"bands for {measure.n:,} atoms on {space!r} from {in_words(space, float(times[0]))} up would take about "
            f"{by_pairs / 60:.0f} minutes on two cores, because all pairs are summed there; give coarser scales, where "
            "the space has a fast transform, or fewer atoms drawn at random",
            seconds=by_pairs,
        )
    return None


def _potentials(measure: Measure, times: FloatArray, rtol: float) -> tuple[FloatArray, FloatArray]:
    """f_i at each time, shape (times, n), and sums of squares, by the cheaper of the transform and all pairs."""
    kernel, transform = measure.space.pair_kernel, measure.space.transform
    degree = degree_of_transform(measure, times, rtol)
    if degree is not None and isinstance(transform, LevelTransform | TorusTransform):
        return _by_transform(measure, transform, times, degree, rtol)
    if kernel is None:
        raise InputError(f"{measure.space!r} has no overlaps of pairs")
    return _by_pairs(measure, kernel.fitted(measure.points, times, rtol), times, rtol)


def _by_transform(
    measure: Measure, transform: LevelTransform | TorusTransform, times: FloatArray, degree: float, rtol: float
) -> tuple[FloatArray, FloatArray]:
    """One transform of the weights, one of their squares unless they are equal, and a synthesis for each time."""
    points, w = measure.points, np.ascontiguousarray(measure.weights)
    epsilon, threads = accuracy(rtol), threads_for(measure.n, degree)
    own = float(w @ w)
    coefficients = transform.coefficients(points, w, degree, epsilon, threads)
    squared = coefficients
    if float(np.ptp(w)) > 0:
        squared = transform.coefficients(points, w * w / own, degree, epsilon, threads)
    found = np.empty((len(times), measure.n))
    if isinstance(transform, LevelTransform):
        moments = own**2 * transform.moments(squared) - float((w * w) @ (w * w))
        shares, weights = level_squares(transform.series, times, int(degree) + 1)
        for k in range(len(times)):
            found[k] = transform.synthesis(coefficients, shares[k], points, epsilon, threads)
        return found, weights @ moments
    coefficients = coefficients.copy()
    coefficients[tuple(size // 2 for size in coefficients.shape)] = 0.0
    logs = measure.space.pair_kernel.log_diagonal(times)  # type: ignore[union-attr]
    for k, time in enumerate(times):
        found[k] = transform.potential(coefficients, degree, float(time), points, epsilon, threads)
        found[k] /= -math.expm1(-logs[k])
    energies = own**2 * (squared.real**2 + squared.imag**2) - float((w * w) @ (w * w))
    return found, np.array([torus_squares(energies, transform.periods, float(time)) for time in times])


def _by_pairs(measure: Measure, kernel: PairKernel, times: FloatArray, rtol: float) -> tuple[FloatArray, FloatArray]:
    """Tile by tile, each pair of distinct atoms once; every lane of tiles has sums of its own."""
    diagonal = diagonal_of(measure, times, rtol)
    n, w = measure.n, np.ascontiguousarray(measure.weights)
    lanes = 1 if n < 4 * SMALL_TILE else LANES
    found, squares = np.zeros((lanes, len(times), n)), np.zeros((lanes, len(times)))

    def add(lane: int, tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        terms_at = kernel.terms(kernel.rows(measure.points, rows), kernel.rows(measure.points, columns))
        for k, time in enumerate(times):
            terms = terms_at(float(time))
            if terms.excess is not None and diagonal.inverse[k] >= 0.5:
                centred = terms.excess * math.exp(-diagonal.log_excess[k])
            else:
                centred = (terms.overlap - diagonal.inverse[k]) / diagonal.rest[k]
            if rows == columns:
                np.fill_diagonal(centred, 0.0)
            else:
                found[lane, k, columns] += w[rows] @ centred
            found[lane, k, rows] += centred @ w[columns]
            twice = 1.0 if rows == columns else 2.0
            squares[lane, k] += twice * (w[rows] ** 2 @ np.square(centred, out=centred) @ w[columns] ** 2)

    work = list(tiles(n, SMALL_TILE))
    for batch in slices(len(work), BATCH * lanes):
        in_lanes(work[batch], add, lanes, thread_count() if kernel.parallel else 1)
    total = found.sum(axis=0)
    total += w  # each atom with itself
    return total, squares.sum(axis=0)
