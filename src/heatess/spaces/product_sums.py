"""Heat sums of a product of compact spaces through the coefficients of the measure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .base import FloatArray, PairSpace
from .eigenfunctions import TRANSFORM_ENTRIES, Energies, Harmonics, coefficient_count, energies, transformed

if TYPE_CHECKING:
    from ..engines.sums import HeatSums

EPS = float(np.finfo(np.float64).eps)

#: Most coefficients: 800 MB.
MOST_COEFFICIENTS = 1e8

#: Seconds for one product of two eigenfunctions at one point, and for one eigenfunction at one point.
PRODUCT, FUNCTION = 1e-10, 6e-9

#: Most fast transforms.
MOST_TRANSFORMS = 1e5

#: Energies up to this multiple of the lowest eigenvalue are summed directly (no eigenvalue is exactly there).
LOW = 6.2831853

#: A second run with more coefficients, for a balanced cloud, may take so many seconds.
SECOND_RUN = 2.0

#: Bound on the error of a coefficient from summation and recurrences, as a share of its largest value.
ROUNDING = 64 * EPS


def eigenvalue_limit(space: PairSpace, factors: list[Harmonics], times: FloatArray, rtol: float, ess: float) -> float:
    """The eigenvalue up to which coefficients certify gESS and MMD^2 at all times to a small share of *rtol*.

    As in `kernel.level_count`, MMD^2 is taken to be no less than (k_2t(x,x) - 1) / ESS, what independent draws have.
    """
    from ..kernel import truncation

    log_diagonal = space.log_diagonal(times)
    lowest = min(factor.lowest for factor in factors)
    with np.errstate(divide="ignore"):
        log_excess = np.maximum(np.log(np.expm1(np.minimum(log_diagonal, 700.0))), -2 * lowest * times)
    limit = _limit_for(space.dim, times, math.log(truncation(rtol, ess)), log_excess - math.log(ess))
    return max(limit, 1.5 * lowest)


def _limit_for(dim: int, times: FloatArray, log_share: float, log_mmd2: FloatArray) -> float:
    """The eigenvalue beyond which a share of at most exp(log_share) of MMD^2 is left out, at all times."""
    goal = log_share + log_mmd2 - np.logaddexp(0.0, log_mmd2)  # as a share of A = 1 + MMD^2
    half = dim / 2
    y = np.maximum(-goal, 1.0) + half
    for _ in range(60):  # (2 e y / m)^(m/2) exp(-y) = exp(goal), from the side of large y
        y = half * (1 + np.log(np.maximum(y, half) / half)) - goal
    return float(np.max(np.maximum(y, half + 1) / (2 * times)))


def log_left_out(dim: int, times: FloatArray, limit: float) -> FloatArray:
    """Upper bound on the log of the share of A(t) in eigenvalues from *limit* on; see `kernel.log_left_out`."""
    half = dim / 2
    y = 2 * limit * times
    return np.where(y > half, half * np.log(np.maximum(y, half) / half) + half - y, 0.0)


def seconds(factors: list[Harmonics], limit: float, n: int) -> float:
    """Rough seconds of `heat_sums` on two cores; inf if the coefficients are too many."""
    return _cheapest(factors, limit, n)[0]


def _cheapest(factors: list[Harmonics], limit: float, n: int) -> tuple[float, int | None]:
    """The seconds that the energies take, and the factor whose fast transform is then used, if any."""
    counts = [factor.mode_count(limit) for factor in factors]
    total = coefficient_count(factors, limit)
    best: tuple[float, int | None] = (math.inf, None)
    if total <= MOST_COEFFICIENTS:
        functions = sum(counts) + (2 * math.sqrt(total) if len(factors) > 2 else 0.0)  # products of some of them
        best = (n * (PRODUCT * total + FUNCTION * functions) + 2e-8 * total + 1e-4, None)
    for place, factor in enumerate(factors):
        space, others = factor.transform, coefficient_count(factors[:place] + factors[place + 1 :], limit)
        if space is None or not math.isfinite(counts[place]) or not others <= MOST_TRANSFORMS:
            continue
        levels = len(factor.eigenvalues(limit))
        again = math.ceil(others * n / TRANSFORM_ENTRIES)  # batches, for each of which the functions are evaluated
        each = 1e-4 + (2e-8 + FUNCTION * again) * n + 2e-10 * levels**3 + space.transform_cost(n, levels)
        if levels <= space.transform_limit and others * each < best[0]:
            best = (others * each, place)
    return best


def _energies(
    factors: list[Harmonics], limit: float, points: FloatArray, weights: FloatArray, rtol: float
) -> tuple[Energies, FloatArray]:
    """All energies up to *limit*, and bounds on the errors of their roots per root of their multiplicity."""
    _, place = _cheapest(factors, limit, len(points))
    if place is None:
        found = energies(factors, limit, points, weights)
        return found, np.full(len(found.values), ROUNDING)
    epsilon = min(max(1e-4 * rtol, 3e-13), 1e-6)
    # Large scales rest on the lowest energies alone, which may nearly vanish.
    low = LOW * min(factor.lowest for factor in factors)
    first = energies(factors, low, points, weights).within(0.0, low)
    others = factors[:place] + factors[place + 1 :]
    rest = transformed(factors[place], others, limit, points, weights, epsilon).within(low, math.inf)
    errors = np.repeat([ROUNDING, epsilon], [len(first.values), len(rest.values)])
    return Energies(*(np.concatenate(pair) for pair in zip(first, rest, strict=True))), errors


def heat_sums(
    space: PairSpace,
    factors: list[Harmonics],
    limit: float,
    points: NDArray[Any],
    weights: FloatArray,
    times: FloatArray,
    rtol: float,
) -> HeatSums:
    """Heat sums at *times* from all coefficients with eigenvalues below *limit*."""
    from ..engines.doubt import warn_of_mmd2
    from ..engines.sums import HeatSums

    found, errors = _energies(factors, limit, points, weights, rtol)
    log_mmd2, falling = _log_mmd2(found, times)
    needed = _limit_for(space.dim, times, math.log(rtol), np.where(np.isfinite(log_mmd2), log_mmd2, 0.0))
    if needed > limit and seconds(factors, needed, len(points)) < SECOND_RUN:  # more balanced than independent draws
        limit = needed
        found, errors = _energies(factors, limit, points, weights, rtol)
        log_mmd2, falling = _log_mmd2(found, times)
    rates = _rates(factors, limit, times)
    log_overlap = np.minimum(np.logaddexp(0.0, log_mmd2) - space.log_diagonal(times), 0.0)
    overlap = np.exp(log_overlap)
    log_share = log_left_out(space.dim, times, limit)
    share = np.exp(log_share)
    mean = -rates / (2 * times)
    # A coordinate good to EPS turns a coefficient by EPS sqrt(lambda); near a pole the last coordinate by EPS lambda.
    root_error = float(errors.max()) + 2 * EPS * np.sqrt(mean)
    error = (
        share / (1 - share)
        + 2 * root_error / np.sqrt(overlap)
        + root_error**2 / overlap
        + 2 * EPS * mean
        + 16 * EPS * (4 + np.abs(log_overlap) - rates)
    )
    log_missing = log_share - np.log1p(-share) + np.logaddexp(0.0, log_mmd2)
    warn_of_mmd2(times, _mmd2_error(found, errors / 4, times, log_mmd2, log_missing), log_mmd2, rtol, stacklevel=7)
    slope = falling * np.exp(log_mmd2 - np.logaddexp(0.0, log_mmd2)) - rates
    return HeatSums(overlap, log_mmd2, slope, error)


def _log_mmd2(found: Energies, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log sum exp(-2 lambda t) e, and the derivative of that in log t, without underflow."""
    total, moment = _decayed(found, times, found.values, found.values * found.eigenvalues)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(total > 0, -2 * times * moment / total, 0.0)
        return np.log(total) - 2 * float(found.eigenvalues.min()) * times, relative


def _decayed(found: Energies, times: FloatArray, *columns: FloatArray) -> FloatArray:
    """sum exp(-2 (lambda - lowest) t) v of some columns, shape (columns, times)."""
    above, stacked = found.eigenvalues - found.eigenvalues.min(), np.stack(columns)
    return np.stack([stacked @ np.exp(-2 * above * time) for time in times], axis=1)


def _rates(factors: list[Harmonics], limit: float, times: FloatArray) -> FloatArray:
    """d log k_2t(x, x) / d log t, the sum over factors."""
    total = np.zeros(len(times))
    for factor in factors:
        eigenvalues = factor.eigenvalues(limit)
        terms = factor.multiplicities(limit) * np.exp(-2 * np.multiply.outer(times, eigenvalues))
        total -= 2 * times * (terms @ eigenvalues) / terms.sum(axis=1)
    return total


def _mmd2_error(
    found: Energies, errors: FloatArray, times: FloatArray, log_mmd2: FloatArray, log_missing: FloatArray
) -> FloatArray:
    """Bound on the relative error of MMD^2, which may be small beyond what sums can tell, or rest on missing modes."""
    reach = errors * np.sqrt(found.multiplicities)
    doubt, value = _decayed(found, times, 2 * reach * np.sqrt(found.values) + reach**2, found.values)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        uncertain = doubt / value + np.exp(log_missing - log_mmd2)
    return np.where(np.isfinite(log_mmd2), uncertain, 0.0)
