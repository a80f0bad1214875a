"""Which engine runs at which scale: the cheapest that meets the tolerance.

Scales from some seam upwards are summed by levels (through the fast transform where the space has one,
else over pairs), the finer ones over neighbours. The seam is put where the estimated cost is least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import CostError, InputError, PrecisionError
from ..kernel import SERIES_LIMIT, level_count, level_probabilities
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import EigenSpace, FloatArray, LevelMoments, PairSpace, ZonalSpace
from . import costs, local, pairwise, spectral
from .sums import HeatSums, sum_levels

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
    by_levels = _level_engine(space, method)
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
        if by_levels == "spectral":
            moments = spectral.level_moments(measure, space, plan.count, rtol)
        else:
            moments = pairwise.level_moments(measure, space, plan.count, rtol, progress)
        sums.put(~plan.fine, sum_levels(space, times[~plan.fine], moments))
    return sums, "+".join(dict.fromkeys(ran)), moments


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
        count = level_count(space, time, measure.ess, rtol, costs.CHEAP_LEVELS, small_mmd2=False)
    if count is None:
        return float(run(measure, np.array([time]), rtol, "auto", Progress(False))[0].overlap[0])
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
    plan = _cheapest(measure, space, times, rtol, limit)
    if plan.seconds > costs.PATIENCE:
        raise CostError(_too_dear(measure, space, plan.seconds))
    return plan


def _cheapest(measure: Measure, space: ZonalSpace, times: FloatArray, rtol: float, limit: int) -> Plan:
    """The seam of least cost among the scales, in increasing order of time."""
    order = np.sort(times)
    ess = measure.ess
    counts = [level_count(space, float(t), ess, rtol, limit) for t in order]
    reaches = [local.cutoff(space.small_time(float(t)), ess, rtol) for t in order]
    neighbours = costs.Neighbours.of(measure, space)
    best = Plan(0, times < np.inf, np.inf)
    for seam in range(len(order) + 1):
        seconds, count = 0.0, 0
        if seam > 0:
            reach = reaches[seam - 1]
            seconds += np.inf if reach is None else neighbours.seconds(reach)
        if seam < len(order):
            needed = counts[seam]
            count = needed or 0
            seconds += np.inf if needed is None else costs.level_seconds(measure, space, needed)
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
        needed = level_count(space, float(times.min()), ess, rtol, 2**24)
        raise PrecisionError(
            f"method='spectral' at angle {np.degrees(np.sqrt(8 * times.min())):g} degrees needs "
            f"{needed or 'more than 16 million'} levels, above the limit of {limit} on {space!r}; use method='auto'"
        )
    if fine.any():
        _check_local(space, float(times[fine].max()), ess, rtol)
    return Plan(int(counts.max()), fine, 0.0)


def zonal(measure: Measure) -> ZonalSpace:
    """The measure's space, which must be one that the engines understand."""
    if not isinstance(measure.space, ZonalSpace):
        raise InputError(f"{measure.space!r} has no heat profile engine")
    return measure.space


def _level_engine(space: ZonalSpace, method: str) -> str:
    """The engine for scales that are summed by levels."""
    if method == "spectral" and not space.transform_limit:
        raise InputError(f"{space!r} has no fast transform; use method='pairwise' or 'auto'")
    if method in ("spectral", "pairwise"):
        return method
    return "spectral" if space.transform_limit else "pairwise"


def _check_local(space: ZonalSpace, coarsest: float, ess: float, rtol: float) -> None:
    if local.cutoff(space.small_time(coarsest), ess, rtol) is None:
        raise PrecisionError(
            f"neighbours do not suffice at angle {np.degrees(np.sqrt(8 * coarsest)):g} degrees, where atoms overlap "
            f"across {space!r}, or not to rtol={rtol:g}; use method='auto' or a larger rtol"
        )


def _too_dear(measure: Measure, space: ZonalSpace, seconds: float) -> str:
    wait = f"{seconds / 3600:.1f} hours" if seconds > 7200 else f"{seconds / 60:.0f} minutes"
    return (
        f"{measure.n:,} atoms on {space!r} at these scales would take about {wait} on two cores; give coarser scales, "
        "estimate from random pairs with pairs=20_000_000 and rng=, or force it with method='pairwise' or 'local'"
    )
