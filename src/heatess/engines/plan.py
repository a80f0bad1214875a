"""Which engine runs at which scale: the cheapest that meets the tolerance.

Scales from some seam upwards are summed by levels (through the fast transform where the space has one,
else over pairs), the finer ones over neighbours. The seam is put where the estimated cost is least.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..errors import CostError, InputError, PrecisionError, PrecisionWarning
from ..kernel import SERIES_LIMIT, gess_level_count, level_count, level_probabilities, log_missing
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import EigenSpace, FloatArray, LevelMoments, PairSpace, Space, ZonalSpace
from . import costs, flat, local, overlaps, pairwise, spectral
from .doubt import warn_of_mmd2
from .sums import HeatSums, mmd2_error, sum_levels

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
    warn_of_mmd2(times, mmd2_error(space, times, moments, sums.log_mmd2), sums.log_mmd2, rtol)
    return sums, moments


@dataclass(frozen=True, eq=False)
class PairPlan:
    """Engines for the scales of one call on a pair space: neighbours, then all pairs, then the transform.

    Attributes
    ----------
    local, pairs : float
        Times below which neighbours are summed, and from there on all pairs; the transform takes the rest.
    seconds : float
        Estimated time on two cores.
    """

    local: float
    pairs: float
    seconds: float


def _run_pairs(
    measure: Measure, space: PairSpace, times: FloatArray, rtol: float, method: str, progress: Progress
) -> tuple[HeatSums, str]:
    """Pair spaces: by neighbours, by all pairs and by the fast transform, whatever they have and is cheapest."""
    measure = measure.support()
    space = space.fitted(measure.points, times, rtol)
    plan = choose_pairs(measure, space, times, rtol, method)
    parts = {"spectral": times >= plan.pairs}
    if parts["spectral"].any():
        coarse = space.spectral_sums(measure.points, measure.weights, times[parts["spectral"]], rtol)
        if coarse is None:
            if method == "spectral":
                raise InputError(_no_transform(space))
            plan = choose_pairs(measure, space, times, rtol, method, transform=False)
            parts = {"spectral": times == np.inf}
    parts["local"] = times < plan.local
    parts["pairwise"] = ~(parts["local"] | parts["spectral"])
    sums = HeatSums.empty(len(times))
    ran = [name for name in ("local", "pairwise", "spectral") if parts[name].any()]
    for name in ran:
        if name == "local":
            part = flat.neighbour_sums(measure, space, times[parts[name]], rtol)
            if space.compact:  # the error of A, as a share of A - 1
                uncertain = part.error * np.exp(np.logaddexp(0.0, -part.log_mmd2))
                warn_of_mmd2(times[parts[name]], uncertain, part.log_mmd2, rtol)
        elif name == "pairwise":
            part = overlaps.heat_sums(measure, space, times[parts[name]], rtol, progress)
        else:
            part = coarse
        sums.put(parts[name], part)
    return sums, "+".join(ran)


def choose_pairs(
    measure: Measure, space: PairSpace, times: FloatArray, rtol: float, method: str, *, transform: bool = True
) -> PairPlan:
    """The plan for *times* on a pair space: what was asked for, else the seams of least cost."""
    finest, coarsest = float(times.min()), float(times.max())
    if method == "pairwise":
        return PairPlan(0.0, np.inf, 0.0)
    if method == "local":
        _check_flat(measure, space, coarsest, rtol)
        return PairPlan(np.inf, np.inf, 0.0)
    seconds = space.spectral_seconds(measure.n, finest, rtol, measure.ess) if transform else np.inf
    if method == "spectral":
        if seconds == np.inf:
            raise InputError(_no_transform(space))
        return PairPlan(0.0, 0.0, seconds)
    if space.compact and seconds < costs.CHEAP_TRANSFORM:
        return PairPlan(0.0, 0.0, seconds)
    plan = _cheapest_pairs(measure, space, times, rtol, transform)
    if plan.seconds > costs.PATIENCE:
        raise CostError(_too_dear(measure, space, plan.seconds))
    return plan


def _cheapest_pairs(measure: Measure, space: PairSpace, times: FloatArray, rtol: float, transform: bool) -> PairPlan:
    """The seams of least cost among the scales, in increasing order of time."""
    order, n, ess = np.sort(times), measure.n, measure.ess
    reaches = [flat.cutoff(space, float(t), ess, rtol) for t in order]
    local = np.full(len(order) + 1, np.inf)  # seconds if so many scales are summed over neighbours, ...
    local[0] = 0.0
    known = [reach for reach in reaches if reach is not None]
    if known and space.flat_periods is not None:
        neighbours = costs.Neighbours.flat(measure, space.flat_periods, max(known))
        local[1:] = [np.inf if reach is None else neighbours.seconds(reach) for reach in reaches]
    fast = np.full(len(order) + 1, np.inf)  # ... and if all but so many are transformed
    fast[-1] = 0.0
    if transform:
        fast[:-1] = [space.spectral_seconds(n, float(t), rtol, ess) for t in order]
    # Below the tolerance of distance moments all pairs are summed one scale after another.
    pair_seconds = space.pair_seconds if rtol >= flat.LEAST_RTOL else partial(PairSpace.pair_seconds, space)
    best = PairPlan(0.0, np.inf, np.inf)
    bounds = np.append(order, np.inf)
    for first in np.flatnonzero(np.isfinite(local)).tolist():
        for last in range(first, len(order) + 1):
            between = pair_seconds(n, last - first) if last > first else 0.0
            seconds = float(local[first] + between + fast[last])
            if seconds < best.seconds:
                best = PairPlan(float(bounds[first]) if first else 0.0, float(bounds[last]), seconds)
    return best


def _no_transform(space: PairSpace) -> str:
    return f"{space!r} has no fast transform at these scales; use method='pairwise' or 'auto'"


def _check_flat(measure: Measure, space: PairSpace, coarsest: float, rtol: float) -> None:
    """Refuse neighbours where there are none, or where they do not suffice."""
    periods = space.flat_periods
    if periods is None or len(periods) > local.FEW_COLUMNS:
        why = f"in more than {local.FEW_COLUMNS} coordinates" if periods is not None else "on this space"
        raise InputError(f"{space!r} has no neighbour sums, which do not exist {why}; use method='pairwise' or 'auto'")
    if flat.cutoff(space, coarsest, measure.ess, rtol) is None:
        raise PrecisionError(
            f"neighbours do not suffice at sqrt(8 t) = {np.sqrt(8 * coarsest):g}, where atoms overlap across "
            f"{space!r}, or not to rtol={rtol:g}; use method='auto' or a larger rtol"
        )


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
    number = "20_000_000" if isinstance(space, ZonalSpace) else "1_000_000"
    wait = f"{seconds / 3600:.1f} hours" if seconds > 7200 else f"{seconds / 60:.0f} minutes"
    return (
        f"{measure.n:,} atoms on {space!r} at these scales would take about {wait} on two cores; give coarser or fewer "
        f"scales, estimate from random pairs with pairs={number} and rng=, or force it with method='pairwise'"
    )
