"""The unit of angles: as the user says, as the file states, or as the numbers allow; what cannot be told is asked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from .column_names import Kind, RaDec, Torsions
from .impossible_numbers import Span
from .rotation_columns import Relion
from .sexagesimal import SEXAGESIMAL, Notation
from .table import Place, Table
from .text_angles import AngleTable
from .units import IN_WORDS, OTHERS, split_unit

#: Degrees in an hour, and hours in a turn; hours may exceed it by rounding.
HOUR, DAY = 15.0, 24.0
_SLACK_IN_HOURS = 1e-6

#: Words in the names of columns that repeat after a time, and after how many of their unit.
_PERIODS = {
    **dict.fromkeys(("time", "hour", "hours", "clock"), 24),
    **dict.fromkeys(("month", "months"), 12),
    **dict.fromkeys(("weekday", "dayofweek", "dow"), 7),
    **dict.fromkeys(("doy", "dayofyear", "yday", "julianday", "day", "days", "date", "season", "year"), 365.25),
    **dict.fromkeys(("week", "weeks"), 52.18),
    **dict.fromkeys(("minute", "minutes", "second", "seconds"), 60),
}
_JOINED = re.compile(r"\bday[ _.]of[ _.](week|year)\b")


class Stated(NamedTuple):
    """What is known about the unit before the numbers are looked at."""

    unit: str | None  #: "deg", "rad" or "hours", which for ra and dec are hours of the first alone
    sure: bool = True  #: false where a right ascension without a unit stands beside a declination in degrees


def stated(kind: Kind, table: Table, units: Mapping[str, str], said: str | None) -> Stated:
    """The unit of the columns of *kind*, as the user *said* or as *units* of columns state; contradictions are refused.

    A unit of some columns is that of all, but right ascension may be hours beside a declination in degrees.
    """
    notations = table.notations if isinstance(table, AngleTable) else {}
    written = {name: notations[name] for name in kind.columns if name in notations}
    _refuse_letters(kind, table, written)
    own = {name: _plain(units.get(name, "")) for name in kind.columns}
    if said is not None:
        _refuse_said(kind, table, {name: own[name] for name in written}, said)
        return Stated(said)
    for place, (name, unit) in enumerate(own.items()):
        if unit in OTHERS and not (unit == "hours" and place in kind.hours):
            raise InputError(_other(table.source, kind, name, unit, name in written))
    if isinstance(kind, Relion):  # which the numbers have to bear out
        return Stated(None)
    return _common(kind, table.source, list(own.values()))


def _refuse_letters(kind: Kind, table: Table, written: Mapping[str, Notation]) -> None:
    """Refuse points of the compass that are not those of the role: N and S in a longitude."""
    for role, name, letters in zip(kind.roles, kind.columns, kind.letters, strict=False):
        if name in written and written[name].letters not in ("", letters):
            found = " and ".join(written[name].letters)
            raise InputError(
                f"{table.source}: column {name} has the <!letters {found}!>, which is not how <+{role}+> is written; "
                f"say {kind.exchanged}, or name other columns"
            )


def _refuse_said(kind: Kind, table: Table, written: Mapping[str, str], said: str) -> None:
    """Refuse a unit that these columns cannot have, or that contradicts what is *written* in them."""
    if said == "hours" and not kind.hours:
        pair = dict(zip(RaDec.roles, kind.columns, strict=False))
        other = f", or say `columns={pair}` if that is what they are" if len(pair) == len(kind.columns) == 2 else ""
        raise InputError(
            f"{table.source}: `units='hours'` is for <+right ascension and for angles on a circle or a torus+>, but "
            f"not for <!{kind.words}!>; leave it out{other}"
        )
    for name, unit in written.items():
        hours = said == "hours" and kind.columns.index(name) in kind.hours
        if said == "rad" or unit not in ("hours" if hours else "deg", SEXAGESIMAL):
            raise InputError(
                f"{table.source}: column {name} is written in <+{_words(unit)}+>, such as {table.glance(name)[0]!r}, "
                f"and not as <!`units={said!r}`!> says; leave `units=` out"
            )


def _common(kind: Kind, source: str, own: list[str]) -> Stated:
    """One unit for all columns, each of which states its own or none."""
    if isinstance(kind, RaDec) and own[0] in ("hours", SEXAGESIMAL) and own[1] != "rad":
        return Stated("hours")
    if isinstance(kind, Torsions) and SEXAGESIMAL in own:
        name = kind.columns[own.index(SEXAGESIMAL)]
        raise InputError(
            f"{source}: column {name} is written in parts of sixty, which could be hours or degrees; add "
            "`units='hours'` or `units='deg'`"
        )
    found = {"deg" if unit == SEXAGESIMAL else unit: name for unit, name in zip(own, kind.columns, strict=True) if unit}
    if len(found) > 1:
        (one, first), (other, second) = sorted(found.items())[:2]
        raise InputError(
            f"{source}: column {first} is in <+{_words(one)}+>, but column {second} in <!{_words(other)}!>; name "
            "columns of one unit with `columns=`, or convert one of them"
        )
    unit = next(iter(found), None)
    return Stated(unit, sure=not (isinstance(kind, RaDec) and unit == "deg" and not own[0]))


def _plain(unit: str) -> str:
    """A unit of angles, of which the words for hours are one; empty for any other unit."""
    if unit in OTHERS:
        return "hours" if OTHERS[unit][0] == "hours" else unit
    return unit if unit in ("deg", "rad", SEXAGESIMAL) else ""


def _words(unit: str) -> str:
    return "parts of sixty" if unit == SEXAGESIMAL else IN_WORDS.get(unit, unit)


def _other(source: str, kind: Kind, name: str, unit: str, written: bool) -> str:
    """The refusal of a column that is in a unit of its own."""
    words, remedy = OTHERS[unit]
    if written and len(kind.columns) == 2:
        one, two = kind.columns
        return (
            f"{source}: column {name} is written in hours, as right ascension is; say "
            f"`columns={{'ra': {one!r}, 'dec': {two!r}}}` if that is what it is"
        )
    return (
        f"{source}: column {name} says that it is in {words}; {remedy} to make degrees of it, and rename it, or add "
        "`units='deg'` if it holds degrees already"
    )


# As the numbers allow.


class Reach(NamedTuple):
    """The least and the largest number of each column so far."""

    low: list[float]
    high: list[float]

    def with_spans(self, spans: Sequence[Span]) -> Reach:
        """The same with more rows, of which each column has a least and a largest number."""
        low = [min(least, span[0]) for least, span in zip(self.low, spans, strict=True)]
        high = [max(most, span[1]) for most, span in zip(self.high, spans, strict=True)]
        return Reach(low, high)

    @property
    def farthest(self) -> list[float]:
        """How far from zero each column reaches."""
        return [max(abs(low), abs(high)) for low, high in zip(self.low, self.high, strict=True)]


class Angles:
    """The unit of the columns of one table, as rows are read piece by piece."""

    def __init__(self, kind: Kind, table: Table, stated: Stated) -> None:
        self._kind, self._table, self._stated = kind, table, stated
        self._reach = Reach([math.inf] * len(kind.columns), [-math.inf] * len(kind.columns))

    def unit(self, spans: Sequence[Span] = (), *, last: bool) -> str:
        """The unit after rows with the given *spans*; what only the *last* of the rows tell is refused then.

        What is not stated is degrees, if the numbers can be nothing else.
        """
        told, sure = self._stated
        if told is not None and sure:
            return told
        if spans:
            self._reach = self._reach.with_spans(spans)
        if told is None:
            _refuse_open(self._kind, self._reach, self._table, last=last)
        if last:
            _refuse_likely_hours(self._kind, self._reach, self._table)
        return told or "deg"


def _refuse_open(kind: Kind, reach: Reach, table: Table, *, last: bool) -> None:
    """Refuse numbers that need not be degrees."""
    farthest = max(reach.farthest)
    if not farthest:  # zero is zero in every unit
        return
    if last and isinstance(kind, Torsions):
        _refuse_times(kind, reach, table)
    if last and not kind.beyond_radians(reach.farthest):
        raise InputError(_doubt(kind, table, reach))
    if isinstance(kind, Torsions) and farthest > 360.5:
        raise InputError(
            f"{table.source}: columns {kind.words} reach <!{farthest:.4g}!>, more than a turn of 360 degrees; add "
            "`units='deg'`, or `units='rad'` for phases that were unwrapped"
        )


def _refuse_likely_hours(kind: Kind, reach: Reach, table: Table) -> None:
    """Refuse a right ascension from 0 to 24, which is the whole sky in hours, or a small part of it in degrees."""
    if isinstance(kind, RaDec) and reach.low[0] >= 0 and 0 < reach.high[0] <= DAY:
        raise InputError(
            f"{table.source}: column {kind.columns[0]} runs from {reach.low[0]:.3g} to {reach.high[0]:.4g}, "
            "which could be hours; add `units='hours'` if it is, or `units='deg'` if it is not"
        )


def _refuse_times(kind: Kind, reach: Reach, table: Table) -> None:
    """Refuse numbers on a circle or torus that are times by their name, or from 0 to 24 as hours are."""
    count, low, high = len(kind.columns), min(reach.low), max(reach.high)
    periods = [_period(name) for name in kind.columns]
    within = low >= 0 and high <= DAY
    if all(split_unit(name).base in Torsions.ANGLES for name in kind.columns) or not (within or any(periods)):
        return
    shown = ", ".join(f"{period or 24:g}" for period in periods)
    torus = f"Torus({count}, periods={shown if count == 1 else f'({shown})'})"
    other = f", or say `space={torus!r}` for numbers that repeat after that or another period"
    which = "the numbers" if kind.columns == ["rows"] else f"column{'s' * (count > 1)} {kind.words}"
    could = "hours, degrees or radians" if within and not kind.beyond_radians(reach.farthest) else "hours or degrees"
    if not within:
        could = "degrees, or a time that repeats"
    said = {"hours": "`units='hours'`", "degrees": "`units='deg'`", "radians": "`units='rad'`"}
    ways = [way for word, way in said.items() if word in could]
    run = f"run{'s' * (count == 1 and which != 'the numbers')} from {low:.4g} to {high:.4g}"
    listed = set(kind.columns) & set(table.lists)  # of which the number of coordinates is not known here
    raise InputError(
        f"{table.source}: {which} {run}, which could be {could}; add {' or '.join(ways)}{'' if listed else other}"
    )


def _period(name: str) -> float:
    """After how many of its unit a column repeats, if its name is that of a time; else 0."""
    words = re.split(r"[^a-z]+", _JOINED.sub(r"dayof\1", split_unit(name).base))
    return next((_PERIODS[word] for word in words if word in _PERIODS), 0)


def _doubt(kind: Kind, table: Table, reach: Reach) -> str:
    far = ", ".join(f"{far:.4g}" for far in reach.farthest[:4])
    words = "the numbers" if kind.columns == ["rows"] else f"columns {kind.words}"
    could, ways = "degrees or radians", "`units='deg'` or `units='rad'`"
    if isinstance(kind, RaDec) and reach.low[0] >= 0:
        could, ways = f"{could}, or hours and degrees", f"{ways} or `units='hours'`"
    return f"{table.source}: {words} reach no further than {far}, which could be {could}; add {ways}"


def unit_words(kind: Kind, table: Table, unit: str | None) -> str:
    """The unit of the columns as they were read, for the user."""
    own = []
    for k, name in enumerate(kind.columns):
        plain = "deg" if unit == "hours" and k not in kind.hours else unit or "deg"
        own.append(_words(_plain(table.converted.get(name, "").lower()) or plain))
    names = ["RA", "Dec"] if isinstance(kind, RaDec) else kind.columns
    each = [f"{name} in {word}" for name, word in zip(names, own, strict=True)]
    return own[0] if len(set(own)) == 1 else ", ".join(each)


def unit_in_file(kind: Kind, table: Table, unit: str | None) -> str | None:
    """The unit of the columns before any of them was converted: "deg", "rad" or "hours"."""
    hours = any(_plain(table.converted.get(name, "").lower()) == "hours" for name in kind.columns)
    return "hours" if hours else unit


# Hours become degrees.


def in_degrees(
    kind: Kind, columns: list[NDArray[Any]], spans: list[Span], place: Place, *, said: bool
) -> tuple[list[NDArray[Any]], list[Span]]:
    """The same columns, those in hours times 15; beyond 24 hours they are refused unless turns do no harm."""
    found, ends = list(columns), list(spans)
    for k in kind.hours:
        low, high = spans[k]
        if not (said and isinstance(kind, Torsions)) and max(-low, high) > DAY + _SLACK_IN_HOURS:
            _refuse_days(kind, k, columns[k], place)
        found[k] = np.asarray(columns[k], dtype=np.float64) * HOUR
        ends[k] = (low * HOUR, high * HOUR)
    return found, ends


def _refuse_days(kind: Kind, k: int, values: NDArray[Any], place: Place) -> None:
    bad = np.abs(values) > DAY + _SLACK_IN_HOURS
    row, name = int(np.argmax(bad.reshape(len(values), -1).any(axis=1))), kind.columns[k]
    count = f"{int(bad.reshape(len(values), -1).any(axis=1).sum()):,} of {len(values):,} rows"
    found = f"{place(row)}: column {name} is <!{values[bad][0]:.6g}!>, more than <+24 hours+> ({count})"
    if isinstance(kind, Torsions):
        torus = f"Torus({len(kind.columns)}, periods=168)"
        raise InputError(
            f"{found}; add `units='hours'` for the time of day on several days, or say `space={torus!r}` for hours of "
            "a week, or another period",
            row=row,
        )
    raise InputError(f"{found}; add `units='deg'` if these are degrees, or fix those rows", row=row)
