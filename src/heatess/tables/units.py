"""The words for units, in files and in the names of columns, such as lon_deg, RA (hours) or lat_e7."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

#: Units of latitudes and of longitudes, by the CF conventions.
NORTH = ("degrees_north", "degree_north", "degrees_n", "degree_n", "degreesn", "degreen")
EAST = ("degrees_east", "degree_east", "degrees_e", "degree_e", "degreese", "degreee")

_DEGREES, _RADIANS = ("deg", "degree", "degrees"), ("rad", "radian", "radians")

#: "deg" or "rad" by the words that files have for them, and how they are said.
ANGLES = dict.fromkeys((*_DEGREES, "°", *NORTH, *EAST), "deg") | dict.fromkeys(_RADIANS, "rad")
IN_WORDS = {"deg": "degrees", "rad": "radians"}

#: "km" or "m" by the words for them.
LENGTHS = {
    **dict.fromkeys(("km", "kms", "kilometer", "kilometers", "kilometre", "kilometres"), "km"),
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), "m"),
}

#: Units that are neither degrees nor radians, in words, and how many of their like make degrees.
OTHERS = {
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "hourangle"), ("hours", "multiply it by 15")),
    **dict.fromkeys(("arcmin", "arcmins", "arcminute", "arcminutes"), ("arcminutes", "divide it by 60")),
    **dict.fromkeys(("arcsec", "arcsecs", "arcsecond", "arcseconds"), ("arcseconds", "divide it by 3600")),
    **dict.fromkeys(("mas", "milliarcsec", "milliarcsecond"), ("milliarcseconds", "divide it by 3600000")),
    **dict.fromkeys(("turn", "turns", "rev", "revolutions"), ("turns", "multiply it by 360")),
    **dict.fromkeys(("gon", "gons"), ("gons", "multiply it by 0.9")),
    "e6": ("millionths of a degree", "divide it by 1000000"),
    "e7": ("ten-millionths of a degree", "divide it by 10000000"),
}

_PLAIN = re.compile(rf"(.+?)[\s_]*[\[(]?\s*({'|'.join([*_DEGREES, *_RADIANS])})\s*[\])]?", re.I)
_LENGTH = re.compile(r"(.+?)\s*[\[(]\s*(?:(?:milli|centi|kilo)?met(?:er|re)s?|[mck]?m|)\s*[\])]", re.I)
_OTHER = re.compile(rf"(.+?)(?:[\s_.]+[\[(]?|[\[(])\s*({'|'.join(OTHERS)})\s*[\])]?", re.I)


class Named(NamedTuple):
    """A name without its unit, and the unit: "deg", "rad", a word of `OTHERS`, or nothing."""

    base: str
    unit: str

    @property
    def rank(self) -> int:
        """Of several columns with one base, the one of lowest rank is meant."""
        return 0 if not self.unit else {"deg": 1, "rad": 2}.get(self.unit, 3)


@lru_cache(2**14)
def split_unit(name: str) -> Named:
    """A column's name in lower case without its unit; lengths, and empty brackets, are no unit of angles.

    >>> split_unit("Lon [deg]"), split_unit("RA (hours)"), split_unit("hour"), split_unit("z [m]")
    (Named(base='lon', unit='deg'), Named(base='ra', unit='hours'), Named(base='hour', unit='hour'), \
Named(base='z', unit=''))
    """
    plain = name.strip().lower()
    if plain in OTHERS and len(plain) > 2:
        return Named(plain, plain)
    match = _PLAIN.fullmatch(plain)
    if match:
        return Named(match[1].strip(), "deg" if match[2] in _DEGREES else "rad")
    match = _LENGTH.fullmatch(plain)
    if match:
        return Named(match[1].strip(), "")
    match = _OTHER.fullmatch(plain)
    return Named(match[1].strip(), match[2]) if match else Named(plain, "")


def angle_word(unit: object) -> str | None:
    """Degrees, radians, or another unit of angles, which is refused where angles are needed."""
    word = str(unit).strip().lower()
    return ANGLES.get(word, word if word in OTHERS else None)
