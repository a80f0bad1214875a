"""Scales in kilometres, for places on the Earth: --angles 1000km, --fail-under gess@1000km=50."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..base.directions import KM_PER_DEGREE
from ..measures.measure import Measure

#: Options that are scales of the kind that kilometres may be, several and one of each.
_SCALES = ("angles", "resolutions", "angle", "resolution")


class Km(float):
    """A length in kilometres."""


def scale(text: str) -> float:
    """A number, which may have its unit: degrees, or kilometres, which are kept as such.

    >>> scale("20"), scale("20deg"), scale("1e3 km")
    (20.0, 20.0, 1000.0)
    >>> type(scale("1000km")).__name__
    'Km'
    """
    match = re.fullmatch(r"\s*(\S+?)\s*(km|deg)?\s*", text)
    if match is None:
        raise ValueError(text)
    return Km(match[1]) if match[2] == "km" else float(match[1])


def in_kilometres(values: Sequence[float]) -> bool:
    """Whether scales are in kilometres; some of them alone are refused."""
    given = [isinstance(value, Km) for value in values]
    if any(given) and not all(given):
        raise click.BadParameter("some scales are in km and others are not; give all of them in km, or all in degrees")
    return all(given) and bool(given)


def on_earth(options: Mapping[str, Any], *measures: Measure) -> Mapping[str, Any]:
    """The same options with every scale in kilometres as the measures take it; refused if these are not on the Earth.

    Kilometres become degrees, or the time of a distance where distances are kilometres, as for places at a depth.
    """
    space, earth = measures[0].space, all(measure.about == "earth" for measure in measures)
    if earth and not space.angular:
        for name in ("angles", "angle"):
            if options.get(name) and not _kilometres(options[name]):
                raise _usage(f"--{name}: distances are kilometres here; write for instance --{name} 100km")
    if earth and space.angular:
        _refuse_beyond_earth(options)
    asked = [name for name in _SCALES if _kilometres(options.get(name))]
    bounds = [bound for bound in options.get("fail_under") or () if isinstance(bound.scale, Km)]
    if not asked and not bounds:
        return options
    named = f"--{asked[0]}" if asked else f"--fail-under {bounds[0].text!r}"
    if not earth:
        raise _usage(
            f"{named}: kilometres are for places on the Earth, lon and lat, but these are points on {space!r}; "
            f"give {'degrees' if space.angular else 'the scale as --times'}"
        )
    found = dict(options)
    for name in asked:
        if not space.angular and name.startswith("resolution"):
            raise _usage(f"--{name} is not defined for places at a depth; give --angle{name[10:]}")
        target = name if space.angular else name.replace("angle", "time")
        found[name] = None
        found[target] = _converted(options[name], space.angular)
    if "fail_under" in options:
        found["fail_under"] = tuple(
            bound._replace(scale=_one(bound.scale, space.angular), in_degrees=space.angular)
            if isinstance(bound.scale, Km)
            else bound
            for bound in options["fail_under"]
        )
    return found


def _refuse_beyond_earth(options: Mapping[str, Any]) -> None:
    """Refuse degrees that lead farther than half-way around the Earth: they were meant as kilometres."""
    for name in _SCALES:
        given = options.get(name) or ()
        for value in given if isinstance(given, tuple) else (given,):
            if value > 180 and not isinstance(value, Km):
                far = f"{value:g} degrees are {value * KM_PER_DEGREE:,.0f} km, farther than half-way around the Earth"
                raise _usage(f"--{name}: {far}; for kilometres write {value:g}km")


def refuse_kilometres(options: Mapping[str, Any], why: str) -> None:
    """Refuse scales in kilometres where nobody knows whether points are on the Earth."""
    for name in _SCALES:
        if _kilometres(options.get(name)):
            raise _usage(f"--{name}: {why}; give degrees")
    for bound in options.get("fail_under") or ():
        if isinstance(bound.scale, Km):
            raise _usage(f"--fail-under {bound.text!r}: {why}; give degrees")


def _kilometres(value: Any) -> bool:
    return isinstance(value, Km) or (isinstance(value, tuple) and bool(value) and isinstance(value[0], Km))


def _converted(value: Any, angular: bool) -> Any:
    return tuple(_one(one, angular) for one in value) if isinstance(value, tuple) else _one(value, angular)


def _one(km: float, angular: bool) -> float:
    """Degrees of an arc, or the time t = d^2 / 8 of a distance."""
    return km / KM_PER_DEGREE if angular else km**2 / 8


def _usage(text: str) -> click.UsageError:
    return click.UsageError(text, click.get_current_context())
