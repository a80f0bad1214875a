"""Which engine runs at which scale: the cheapest that meets the tolerance.

Scales from some seam upwards are summed by levels (through the fast transform where the space has one,
else over pairs), the finer ones over neighbours. The seam is put where the estimated cost is least.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import CostError, InputError, PrecisionError, PrecisionWarning
from ..kernel import SERIES_LIMIT, gess_level_count, level_count, level_probabilities, log_missing
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import EigenSpace, FloatArray, LevelMoments, PairSpace, Space, ZonalSpace
from . import costs, local, pairwise, spectral
from .sums import HeatSums, mmd2_error, sum_levels

#: Uncertainty of mmd2 that is worth a warning.
MMD2_TOLERANCE = 1e-4

METHODS = ("auto", "spectral", "pairwise", "local")


@dataclass(frozen=True, eq=False)
class Plan:
    """Engines for the scales of one call.

    Attributes
    ----------
    count : int
        Levels for the coarse scales; zero if there are none.
    fine : ndarray of bool
        The scales summed over neighbours.
    seconds : float
        Estimated time on two cores.
    """

    count: int
    fine: NDArray[np.bool_]
    seconds: float


def run(
    measure: Measure, times: FloatArray, rtol: float, method: str, progress: Progress
) -> tuple[HeatSums, str, LevelMoments | None]:
    """Heat sums at all *times*, the name of what ran, and the level moments if levels were used."""
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, but found {method!r}")
    space = measure.space
    if isinstance(space, PairSpace):
        return *_run_pairs(measure, space, times, rtol, method, progress), None
    if isinstance(space, EigenSpace):
        return *_run_eigenpairs(measure, space, times, method), None
    space = zonal(measure)
    by_levels = _level_engine(measure, space, times, rtol, method)
    plan = choose(measure, space, times, rtol, method, by_levels)
    sums = HeatSums.empty(len(times))
    moments = None
    ran = []
    if plan.fine.any():
        fine = times[plan.fine]
        ran.append("pairwise" if method == "pairwise" else "local")
        part = local.heat_sums(measure, space, fine, rtol, progress, all_pairs=method == "pairwise")
        sums.put(plan.fine, part)
    if plan.count:
        ran.append(by_levels)
        part, moments = _run_levels(measure, space, times[~plan.fine], plan.count, rtol, by_levels, progress)
        sums.put(~plan.fine, part)
    return sums, "+".join(dict.fromkeys(ran)), moments


def _run_levels(
    measure: Measure,
    space: ZonalSpace,
    times: FloatArray,
    count: int,
    rtol: float,
    by_levels: str,
    progress: Progress,
) -> tuple[HeatSums, LevelMoments]:
    """Heat sums from *count* levels, or from more of them if a balanced cloud's MMD^2 turns out to need them."""
    while True:
        if by_levels == "spectral":
            moments = spectral.level_moments(measure, space, count, rtol)
        else:
            moments = pairwise.level_moments(measure, space, count, rtol, progress)
        sums = sum_levels(space, times, moments)
        with np.errstate(over="ignore"):
            missing = np.exp(np.minimum(log_missing(space, times, count, sums.log_mmd2) - sums.log_mmd2, 700.0))
        cheap = measure.n <= costs.FEW_ATOMS or by_levels == "spectral"
        if not (missing > rtol).any() or not cheap or 2 * count > min(costs.CHEAP_LEVELS, SERIES_LIMIT):
            break
        count *= 2
    _warn_of_mmd2(times, mmd2_error(space, times, moments, sums.log_mmd2), sums.log_mmd2, max(rtol, MMD2_TOLERANCE))
    return sums, moments


def _warn_of_mmd2(times: FloatArray, uncertain: FloatArray, log_mmd2: FloatArray, tolerance: float) -> None:
    """Say so where MMD^2 is small beyond what floating-point sums can tell."""
    bad = uncertain > tolerance
    if bad.any():
        worst = int(np.argmax(uncertain))
        warnings.warn(
            f"mmd2 (and divergence) may be off by {min(float(uncertain[worst]), 1.0):.0e} relatively at "
            f"{int(bad.sum())} of {len(times)} scales, worst at time {times[worst]:.3g}, where it is "
            f"{np.exp(log_mmd2[worst]):.0e}: this cloud is more balanced than floating-point sums can certify; gess is "
            "not affected",
            PrecisionWarning,
            stacklevel=6,
        )


def _run_pairs(
    measure: Measure, space: PairSpace, times: FloatArray, rtol: float, method: str, progress: Progress
) -> tuple[HeatSums, str]:
    """Pair spaces: the fast transform if there is one, else all pairs."""
    from . import overlaps

    if method == "local":
        raise InputError(f"{space!r} has no neighbour sums; use method='pairwise' or 'auto'")
    if method != "pairwise":
        sums = space.spectral_sums(measure.points, measure.weights, times, rtol)
        if sums is not None:
            return sums, "spectral"
        if method == "spectral":
            raise InputError(f"{space!r} has no fast transform at these scales; use method='pairwise' or 'auto'")
        seconds = costs.overlap_seconds(measure.n, len(times))
        if seconds > costs.PATIENCE:
            raise CostError(_too_dear(measure, space, seconds))
    return overlaps.heat_sums(measure, space, times, progress), "pairwise"


def _run_eigenpairs(measure: Measure, space: EigenSpace, times: FloatArray, method: str) -> tuple[HeatSums, str]:
    """Spaces known by their eigenpairs."""
    from . import eigen

    if method not in ("auto", "spectral"):
        raise InputError(f"{space!r} is known by its eigenpairs; use method='auto'")
    return eigen.heat_sums(measure, space, times), "spectral"


def overlap(measure: Measure, time: float, rtol: float) -> float:
    """1 / gESS at one time; the short way where the space has a fast transform, as for a filter step."""
    space = measure.space
    count = None
    if isinstance(space, ZonalSpace) and space.transform_limit:
        count = gess_level_count(space, time, rtol, min(costs.CHEAP_LEVELS, space.transform_limit))
    if count is None or costs.pairs_are_cheaper(measure, zonal(measure), count):
        sums = run(measure, np.array([time]), rtol, "auto", Progress(False))[0]
        if sums.error[0] > 10 * rtol and not isinstance(space, EigenSpace):  # theirs is known to be that of the mesh
            text = f"gESS is certain only to {sums.error[0]:.1e}, not to rtol={rtol:g}"
            warnings.warn(text, PrecisionWarning, stacklevel=3)
        return float(sums.overlap[0])
    moments = spectral.transform(measure, zonal(measure), count, rtol)
    return float(level_probabilities(zonal(measure), time, count) @ moments.values)


def choose(measure: Measure, space: ZonalSpace, times: FloatArray, rtol: float, method: str, by_levels: str) -> Plan:
    """The plan for *times*: all scales by levels where that is cheap, else the seam of least cost."""
    nothing = np.zeros(len(times), dtype=bool)
    if method == "local":
        _check_local(space, float(times.max()), measure.ess, rtol)
        return Plan(0, ~nothing, 0.0)
    limit = space.transform_limit if by_levels == "spectral" else SERIES_LIMIT
    cheap = costs.CHEAP_LEVELS if by_levels == "spectral" else limit if measure.n <= costs.FEW_ATOMS else 0
    finest = level_count(space, float(times.min()), measure.ess, rtol, min(cheap, limit)) if cheap else None
    if finest is not None:
        return Plan(finest, nothing, 0.0)
    if method != "auto":
        return _forced(space, times, measure.ess, rtol, method, limit)
    plan = _cheapest(measure, space, times, rtol, limit, by_levels)
    if plan.seconds > costs.PATIENCE:
        raise CostError(_too_dear(measure, space, plan.seconds))
    return plan


def _cheapest(measure: Measure, space: ZonalSpace, times: FloatArray, rtol: float, limit: int, by_levels: str) -> Plan:
    """The seam of least cost among the scales, in increasing order of time."""
    order = np.sort(times)
    ess = measure.ess
    counts = [level_count(space, float(t), ess, rtol, limit) for t in order]
    reaches = [local.cutoff(space, float(t), ess, rtol) for t in order]
    neighbours = costs.Neighbours.of(measure, space, max((reach for reach in reaches if reach), default=0.0))
    best = Plan(0, times < np.inf, np.inf)
    for seam in range(len(order) + 1):
        seconds, count = 0.0, 0
        if seam > 0:
            reach = reaches[seam - 1]
            seconds += np.inf if reach is None else neighbours.seconds(reach)
        if seam < len(order):
            needed = counts[seam]
            count = needed or 0
            seconds += np.inf if needed is None else costs.level_seconds(measure, space, needed, by_levels)
        if seconds < best.seconds:
            best = Plan(count, times < (order[seam] if seam < len(order) else np.inf), seconds)
    if best.seconds == np.inf:
        raise PrecisionError(
            f"no engine reaches rtol={rtol:g} at angle {np.degrees(np.sqrt(8 * order[0])):g} degrees on {space!r}; "
            "give a larger rtol or coarser scales"
        )
    return best


def _forced(space: ZonalSpace, times: FloatArray, ess: float, rtol: float, method: str, limit: int) -> Plan:
    """Levels wherever they are within *limit*; finer scales over all pairs, or not at all."""
    counts = np.array([level_count(space, float(t), ess, rtol, limit) or 0 for t in times])
    fine = counts == 0
    if method == "spectral" and fine.any():
        needed = level_count(space, float(times.min()), ess, rtol, 2**20)
        raise PrecisionError(
            f"method='spectral' at angle {np.degrees(np.sqrt(8 * times.min())):g} degrees needs "
            f"{needed or 'more than a million'} levels, above the limit of {limit} on {space!r}; use method='auto'"
        )
    if fine.any():
        _check_local(space, float(times[fine].max()), ess, rtol)
    return Plan(int(counts.max()), fine, 0.0)


def zonal(measure: Measure) -> ZonalSpace:
    """The measure's space, which must be one that the engines understand."""
    if not isinstance(measure.space, ZonalSpace):
        raise InputError(f"this needs a space whose heat kernel depends on the distance alone, not {measure.space!r}")
    return measure.space


def _level_engine(measure: Measure, space: ZonalSpace, times: FloatArray, rtol: float, method: str) -> str:
    """The engine for scales that are summed by levels."""
    if method == "spectral" and not space.transform_limit:
        raise InputError(f"{space!r} has no fast transform; use method='pairwise' or 'auto'")
    if method in ("spectral", "pairwise"):
        return method
    if not space.transform_limit:
        return "pairwise"
    limit = min(costs.CHEAP_LEVELS, space.transform_limit)
    if not costs.pairs_are_cheaper(measure, space, limit):
        return "spectral"
    count = level_count(space, float(times.min()), measure.ess, rtol, limit) or limit
    return "pairwise" if costs.pairs_are_cheaper(measure, space, count) else "spectral"


def _check_local(space: ZonalSpace, coarsest: float, ess: float, rtol: float) -> None:
    if local.cutoff(space, coarsest, ess, rtol) is None:
        raise PrecisionError(
            f"neighbours do not suffice at angle {np.degrees(np.sqrt(8 * coarsest)):g} degrees, where atoms overlap "
            f"across {space!r}, or not to rtol={rtol:g}; use method='auto' or a larger rtol"
        )


def _too_dear(measure: Measure, space: Space, seconds: float) -> str:
    estimate = "estimate from random pairs with pairs=20_000_000 and rng=, " if isinstance(space, ZonalSpace) else ""
    wait = f"{seconds / 3600:.1f} hours" if seconds > 7200 else f"{seconds / 60:.0f} minutes"
    return (
        f"{measure.n:,} atoms on {space!r} at these scales would take about {wait} on two cores; give coarser or fewer "
        f"scales, {estimate}or force it with method='pairwise'{' or local' if estimate else ''}"
    )
