"""Angles that are written in parts, or with a point of the compass: 05h34m31.97s, +22:00:52.2, 22°00'52.2"N, 45.5S.

The letters say what an angle is: h is hours, d and ° are degrees, and so is all that has a point of the compass, south
and west negative. Colons and spaces alone say neither: such a column has the unit "sexagesimal", and what the column
means decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import InputError
from .missing import MISSING
from .table import Place

#: The unit of angles in parts of sixty that may be hours or degrees.
SEXAGESIMAL = "sexagesimal"

_MISSING = frozenset(MISSING)
_NUMBER = r"\d+(?:[.,]\d*)?"
_ANGLE = re.compile(
    rf"([NSEW])?\s*([-+−])?\s*({_NUMBER})"
    rf"(?:(\s*(?:[hʰd:°º]|deg)\s*|\s+)(?:({_NUMBER})(?:(?:\s*[mᵐ:'′’]\s*|\s+)(?:({_NUMBER})\s*(?:[sˢ\"″”]|''|′′)?)?)?)?)?"
    r"\s*([NSEW])?"
)
_THREE = re.compile(r"([-+]?)(\d+)([hd°: ])(\d+)[m': ](\d+(?:\.\d*)?)[s\"]?")
_UNITS = {"h": "hours", "d": "deg", "°": "deg", ":": SEXAGESIMAL, " ": SEXAGESIMAL}
_EXAMPLES = {"hours": "05h34m31.97s", "deg": "22d00m52.2s", SEXAGESIMAL: "05:34:31.97"}


class Notation(NamedTuple):
    """How the angles of a column are written."""

    unit: str  #: "hours", "deg" or "sexagesimal"
    letters: str = ""  #: "NS" or "EW" where they have points of the compass


class _Angle(NamedTuple):
    """One angle that was read; *fault* says what is wrong with it."""

    value: float
    unit: str
    letters: str
    fault: str = ""


def notation_of(texts: Iterable[str]) -> Notation | None:
    """How most of some entries are written, if they are angles in parts or with points of the compass; else None.

    >>> notation_of(["05h34m31.97s", "", "18h36m56s"]), notation_of(["22°00'N", "12.5°S"])
    (Notation(unit='hours', letters=''), Notation(unit='deg', letters='NS'))
    >>> notation_of(["05:34:31.97", "18:36"])
    Notation(unit='sexagesimal', letters='')
    >>> notation_of(["12.5", "M 31", "2021-03-04"]) is None
    True
    """
    present = [text for text in (entry.strip() for entry in texts) if text not in _MISSING]
    angles = [angle for angle in map(_angle, present) if angle is not None]
    if not angles or 2 * len(angles) <= len(present):
        return None
    return Notation(angles[0].unit, next((angle.letters for angle in angles if angle.letters), ""))


def angles_of(texts: Sequence[str], notation: Notation, name: str, place: Place) -> FloatArray:
    """The angles of a column in the unit of its notation, missing ones nan; an `InputError` names what is none.

    >>> angles_of(["-00:30:00", "12:15:36"], Notation("sexagesimal"), "dec", str)
    array([-0.5 , 12.26])
    >>> angles_of(["05h60m00s"], Notation("hours"), "ra", lambda row: f"line {row + 2}")
    Traceback (most recent call last):
    ...
    heatess.base.errors.InputError: line 2: column ra is '05h60m00s', which has 60 minutes or more; fix or drop it
    """
    usual = _usual(texts, notation)
    if usual is not None:
        return usual
    values = np.empty(len(texts))
    for row, entry in enumerate(texts):
        text = entry.strip()
        if text in _MISSING:
            values[row] = np.nan
            continue
        angle = _angle(text)
        fault = _not_so(notation) if angle is None else angle.fault or _mismatch(angle, notation)
        if angle is None or fault:
            raise InputError(f"{place(row)}: column {name} is <!{text[:40]!r}!>, {fault}; fix or drop it", row=row)
        values[row] = angle.value
    return values


def _usual(texts: Sequence[str], notation: Notation) -> FloatArray | None:
    """The same for angles that all have three parts, several times faster; None if one of them needs more care."""
    matches = [match for text in texts if (match := _THREE.fullmatch(text)) is not None]
    if not matches or len(matches) < len(texts):
        return None
    signs, whole, marks, minutes, seconds = zip(*(match.groups() for match in matches), strict=True)
    parts = np.array([whole, minutes, seconds]).astype(np.float64)
    if {_UNITS[mark] for mark in set(marks)} != {notation.unit} or (parts[1:] >= 60).any():
        return None
    values = parts[0] + parts[1] / 60 + parts[2] / 3600
    if notation.unit == "hours" and values.max() > 24:
        return None
    return np.asarray(np.where(np.array(signs) == "-", -values, values))


def _angle(text: str) -> _Angle | None:
    """The angle in a text without spaces around it; None if it is none, as a plain number is none."""
    match = _ANGLE.fullmatch(text)
    if match is None:
        return None
    before, sign, whole, mark, minutes, seconds, after = match.groups()
    mark = None if mark is None else mark.strip()
    letter = before or after
    broken = [part for part in (whole, minutes, seconds) if part is not None][:-1]
    if (
        (before and after)
        or any("." in part or "," in part for part in broken)  # only the last part has decimals
        or (minutes is None and mark in (None, "", ":") and (letter is None or mark == ":"))
        or (seconds is None and mark == "" and minutes is not None and letter is None)  # two numbers may be a pair
        or (letter is not None and (mark in ("h", "ʰ") or sign is not None))
        or (after == "S" and "m" in text and text[-2:-1].isdigit())  # 12d30m15S: seconds, or south?
    ):
        return None
    parts = [float(part.replace(",", ".")) for part in (whole, minutes or "0", seconds or "0")]
    value = parts[0] + parts[1] / 60 + parts[2] / 3600
    unit = "hours" if mark in ("h", "ʰ") else "deg" if letter or mark not in (":", "") else SEXAGESIMAL
    letters = "" if letter is None else "NS" if letter in "NS" else "EW"
    fault = ""
    if parts[1] >= 60 or parts[2] >= 60:
        fault = f"which has 60 {'minutes' if parts[1] >= 60 else 'seconds'} or more"
    elif unit == "hours" and value > 24:
        fault = "which is more than <+24 hours+>"
    return _Angle(-value if sign in ("-", "−") or letter in ("S", "W") else value, unit, letters, fault)


def _not_so(notation: Notation) -> str:
    example = "45.5N" if notation.letters == "NS" else "45.5W" if notation.letters else _EXAMPLES[notation.unit]
    return f"not <+an angle such as {example}+>"


def _mismatch(angle: _Angle, notation: Notation) -> str:
    """How an angle is not written like the first ones; empty if it is."""
    if angle.unit != notation.unit:
        return f"not written like the rows before, such as {_EXAMPLES[notation.unit]}"
    if angle.letters and notation.letters and angle.letters != notation.letters:
        return f"but other rows have the letters {' and '.join(notation.letters)}"
    return ""
