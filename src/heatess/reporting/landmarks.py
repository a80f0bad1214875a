"""The scales that a report names: round numbers among all, and three that tell a reader most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..answers.profile_and_gess import heat_profile
from ..base.arrays import FloatArray
from ..base.directions import KM_PER_DEGREE
from ..base.errors import CostError, InputError, PrecisionError
from ..measures.measure import Measure
from ..profiles.default_scales import NUMBER_OF_SCALES
from ..profiles.heat_profile import HeatProfile, ProfilePoint
from .vocabulary import scale_kind, scale_values

#: Round numbers of a decade, buttons at most, and how near a round scale another one is replaced by it.
ROUND, MOST_BUTTONS, NEAR_A_ROUND_SCALE = (1.0, 2.0, 5.0), 9, 0.03

#: Points up to which round scales are computed that the profile does not hold.
MOST_POINTS = 100_000

#: How near a scale must be to a round one, by ratio, to get its button where no round one could be computed.
NEARLY = 0.1

#: GESS below which points at a scale are hardly more than one, and the share of them above which they are nearly all.
GESS_OF_HARDLY_MORE_THAN_ONE, SHARE_OF_NEARLY_ALL = 2.0, 0.9

#: Curves of a profile, one entry per scale.
CURVES = ("times", "angles", "gess", "volume", "divergence", "mmd2", "dimension", "error")


def sorted_profile(profile: HeatProfile) -> HeatProfile:
    """The same profile with scales in increasing order, each once."""
    _, order = np.unique(profile.times, return_index=True)
    if len(order) == len(profile.times) and (np.diff(order) > 0).all():
        return profile
    return _of_rows(profile, {name: getattr(profile, name)[order] for name in (*CURVES, "resolutions")})


def with_round_scales(
    profiles: Sequence[HeatProfile],
    measures: Sequence[Measure | None],
    about: str,
    exact: float | None = None,
    rtol: float = 1e-8,
) -> tuple[HeatProfile, ...]:
    """Profiles of many scales, with round numbers among them and the time *exact*: numbers that readers think in.

    They are computed, not interpolated: from the profiles where these certify them, else from the measures, or left
    out where there are none. A scale that is almost a round one makes room for it.
    """
    found = tuple(map(sorted_profile, profiles))
    if len(found[0].times) != NUMBER_OF_SCALES:
        return found
    wanted = [{"time": exact}] if exact is not None else []
    wanted += [_asked(found[0], value, about) for value in round_values(found[0], about)]
    rows, missing = [], []
    for scale in wanted:
        try:
            rows.append([profile.at(**scale) for profile in found])
        except InputError:
            missing.append(scale)
    rows += _computed(missing, found, measures, rtol)
    return tuple(_with_rows(profile, [points[k] for points in rows]) for k, profile in enumerate(found))


def _computed(
    wanted: Sequence[dict[str, float]],
    profiles: Sequence[HeatProfile],
    measures: Sequence[Measure | None],
    rtol: float,
) -> list[list[ProfilePoint]]:
    """Rows at scales that the profiles do not certify, one for each measure; none if there are many points."""
    known = [measure for measure in measures if measure is not None and measure.n <= MOST_POINTS]
    if len(known) < len(profiles) or any(profile.method == "pairs" for profile in profiles):
        return []
    rows = []
    for name in dict.fromkeys(name for scale in wanted for name in scale):
        values = [scale[name] for scale in wanted if name in scale]
        asked: dict[str, Any] = {f"{name}s": values}
        try:
            more = [heat_profile(measure, rtol=rtol, **asked) for measure in known]
        except (InputError, PrecisionError, CostError):
            continue
        rows += [[profile.at(**{name: value}) for profile in more] for value in values]
    return rows


def _asked(profile: HeatProfile, value: float, about: str) -> dict[str, float]:
    """A scale of the unit that readers use, as `HeatProfile.at` takes it."""
    if not profile.space.angular:
        return {"time": value**2 / 8}
    if scale_kind(profile) == "resolution":
        return {"resolution": value}
    return {"angle": value / KM_PER_DEGREE if about == "earth" else value}


def in_readers_unit(profile: HeatProfile, about: str) -> FloatArray:
    """The scales in the unit in which they are round: kilometres on the Earth."""
    values = scale_values(profile)
    return values * KM_PER_DEGREE if about == "earth" and profile.space.angular else values


def round_values(profile: HeatProfile, about: str) -> list[float]:
    """1, 2, 5, 10, ... within the scales, or fewer of them if these are many."""
    values = in_readers_unit(profile, about)
    low, high = 0.999 * float(values.min()), 1.001 * float(values.max())
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [step * 10.0**power for power in decades for step in ROUND]
    found = [float(f"{value:.1g}") for value in found if low <= value <= high]
    while len(found) > MOST_BUTTONS:
        found = found[:: 2 if len(found) < 2 * MOST_BUTTONS else 3]
    return found


def _with_rows(profile: HeatProfile, points: Sequence[ProfilePoint]) -> HeatProfile:
    """The profile with more rows, in place of those that are almost the same scales."""
    if not points:
        return profile
    times = np.array([point.time for point in points])
    far = np.abs(np.log(profile.times[:, None] / times[None, :])).min(axis=1) / 2 > NEAR_A_ROUND_SCALE
    columns = {name: getattr(profile, name)[far] for name in (*CURVES, "resolutions")}
    for name, values in columns.items():
        one = {"times": "time", "angles": "angle", "resolutions": "resolution"}.get(name, name)
        columns[name] = np.concatenate([values, [getattr(point, one) for point in points]])
    order = np.argsort(columns["times"], kind="stable")
    return _of_rows(profile, {name: values[order] for name, values in columns.items()})


def _of_rows(profile: HeatProfile, columns: dict[str, FloatArray]) -> HeatProfile:
    curves: dict[str, Any] = {name: columns[name] for name in CURVES}
    return replace(profile, **curves, _resolutions=columns["resolutions"])


def buttons(profile: HeatProfile, about: str) -> list[int]:
    """Rows that get a button: round scales, else those nearest to them; of a profile of few scales all."""
    values = in_readers_unit(profile, about)
    if len(values) <= MOST_BUTTONS:
        return list(range(len(values))) if len(values) > 1 else []
    wanted = np.array(round_values(profile, about))
    if not len(wanted):
        return []
    far = np.abs(np.log(values[:, None] / wanted[None, :]))
    exact = far.min(axis=0) < 1e-6
    near = far.argmin(axis=0)[exact if exact.any() else far.min(axis=0) < NEARLY]
    return list(dict.fromkeys(near.tolist()))


def landmarks(profile: HeatProfile, about: str, limit: float) -> list[int]:
    """Up to three rows, from fine to coarse, at which the count says something about the cloud.

    They are round scales that are no finer than the resolution *limit* of the sample and the cells of a map, at which
    there is more than one point and not all of them are separate: the finest, the middle one and the coarsest.
    """
    if profile.n == 1:
        return []
    least = max(limit if math.isfinite(limit) else 0.0, profile.known.cell or 0.0)
    tells = (
        (profile.gess >= GESS_OF_HARDLY_MORE_THAN_ONE)
        & (profile.gess <= SHARE_OF_NEARLY_ALL * profile.n)
        & (profile.angles >= 0.999 * least)
    )
    rows = [row for row in buttons(profile, about) if tells[row]]
    rows = rows if len(rows) > 1 else np.flatnonzero(tells).tolist()
    if not rows:
        return []
    return list(dict.fromkeys([rows[0], rows[len(rows) // 2], rows[-1]]))
