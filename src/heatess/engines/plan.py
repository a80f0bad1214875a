"""Which engine runs at which scale."""

from __future__ import annotations

import numpy as np

from ..errors import InputError, PrecisionError
from ..kernel import SERIES_LIMIT, level_count, level_probabilities
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import FloatArray, LevelMoments, ZonalSpace
from . import local, pairwise, spectral
from .sums import HeatSums, sum_levels

METHODS = ("auto", "spectral", "pairwise", "local")


def run(
    measure: Measure, times: FloatArray, rtol: float, method: str, progress: Progress
) -> tuple[HeatSums, str, LevelMoments | None]:
    """Heat sums at all *times*, the name of what ran, and the level moments if levels were used.

    Coarse scales are summed by levels: through the fast transform where the space has one, else over
    pairs. Scales too fine for that are summed over neighbours.
    """
    space = zonal(measure)
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, but found {method!r}")
    ess = measure.ess
    by_levels = spectral_or_pairwise(space, method)
    limit = space.transform_limit if by_levels == "spectral" else SERIES_LIMIT
    if method == "auto":
        limit = min(limit, 2 * SERIES_LIMIT if space.dim > 1 else limit)
    counts = _counts(space, times, ess, rtol, 0 if method == "local" else limit)
    fine = counts == 0
    sums = HeatSums.empty(len(times))
    moments = None
    ran = []
    if not fine.all():
        ran.append(by_levels)
        count = int(counts.max())
        if by_levels == "spectral":
            moments = spectral.level_moments(measure, space, count, rtol)
        else:
            moments = pairwise.level_moments(measure, space, count, rtol, progress)
        sums.put(~fine, sum_levels(space, times[~fine], moments))
    if fine.any():
        _check_fine(space, times[fine], ess, rtol, method)
        ran.insert(0, "pairwise" if method == "pairwise" else "local")
        sums.put(fine, local.heat_sums(measure, space, times[fine], rtol, progress, tree=method != "pairwise"))
    return sums, "+".join(dict.fromkeys(ran)), moments


def overlap(measure: Measure, time: float, rtol: float) -> float:
    """1 / gESS at one time; the short way where the space has a fast transform, as for a filter step."""
    space = zonal(measure)
    count = None
    if space.transform_limit:
        count = level_count(space, time, measure.ess, rtol, SERIES_LIMIT, small_mmd2=False)
    if count is None:
        return float(run(measure, np.array([time]), rtol, "auto", Progress(False))[0].overlap[0])
    moments = spectral.transform(measure, space, count, rtol)
    return float(level_probabilities(space, time, count) @ moments.values)


def zonal(measure: Measure) -> ZonalSpace:
    """The measure's space, which must be one that the engines understand."""
    if not isinstance(measure.space, ZonalSpace):
        raise InputError(f"{measure.space!r} has no heat profile engine")
    return measure.space


def spectral_or_pairwise(space: ZonalSpace, method: str) -> str:
    """The engine for scales that are summed by levels."""
    if method == "spectral" and not space.transform_limit:
        raise InputError(f"{space!r} has no fast transform; use method='pairwise' or 'auto'")
    if method in ("spectral", "pairwise"):
        return method
    return "spectral" if space.transform_limit else "pairwise"


def _counts(
    space: ZonalSpace, times: FloatArray, ess: float, rtol: float, limit: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Levels needed at each time; zero where there would be more than *limit*."""
    finest = level_count(space, float(times.min()), ess, rtol, limit) if limit else None
    if finest is not None:
        return np.full(len(times), finest)
    return np.array([(level_count(space, float(t), ess, rtol, limit) or 0) if limit else 0 for t in times])


def _check_fine(space: ZonalSpace, times: FloatArray, ess: float, rtol: float, method: str) -> None:
    coarsest = float(times.max())
    if method == "spectral":
        needed = level_count(space, float(times.min()), ess, rtol, 2**24)
        raise PrecisionError(
            f"method='spectral' at angle {np.degrees(np.sqrt(8 * times.min())):g} degrees needs "
            f"{needed or 'more than 16 million'} levels, above the limit of {space.transform_limit} on {space!r}; "
            "use method='auto'"
        )
    if local.cutoff(space.small_time(coarsest), ess, rtol) is None:
        raise PrecisionError(
            f"method='local' is for fine scales; at angle {np.degrees(np.sqrt(8 * coarsest)):g} degrees atoms overlap "
            f"across {space!r}; use method='auto'"
        )
