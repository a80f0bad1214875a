"""Columns of sky coordinates, as astropy has them in its tables, and what headers say about right ascension."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base.arrays import FloatArray
from ..base.sky_frames import converted_frame

#: The names of longitude and latitude by the frame in which coordinates are taken.
_NAMES = {"icrs": ("ra", "dec"), "galactic": ("glon", "glat")}

#: Years of the equinox below which FITS takes FK4 for granted, where a header names no system.
_FK5_SINCE = 1984.0


def sky_columns(table: Mapping[str, Any]) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """Longitudes and latitudes in degrees of the columns that are sky coordinates of astropy, and the frame of each.

    Galactic ones are glon and glat; equatorial ones of any equinox, and ecliptic ones, are turned into ra and dec of
    ICRS by astropy. Where there are several columns of them, or names are taken, those of the column come before.
    """
    found = {name: frame for name, column in table.items() if (frame := converted_frame(column)) is not None}
    columns: dict[str, FloatArray] = {}
    frames: dict[str, str] = {}
    for name, frame in found.items():
        column = table[name] if frame == "galactic" else table[name].transform_to("icrs")
        plain = len(found) == 1 and not set(_NAMES[frame]) & {other.lower() for other in table}
        lon, lat = (end if plain else f"{name}.{end}" for end in _NAMES[frame])
        columns[lon], columns[lat] = (_filled(angle.deg) for angle in (column.spherical.lon, column.spherical.lat))
        frames |= {lon: frame, lat: frame}
    return columns, frames


def _filled(values: Any) -> FloatArray:
    """Numbers, missing ones nan."""
    mask = np.asarray(getattr(values, "mask", False))
    return np.where(mask, np.nan, np.asarray(getattr(values, "unmasked", values), dtype=np.float64))


def equatorial(system: str, equinox: Any) -> str:
    """The frame of right ascension and declination in a system: "icrs", or FK4 or FK5 with their equinox.

    FK5 of J2000 is taken for ICRS. A header that names no system means FK4 before 1984.

    >>> equatorial("FK4", ""), equatorial("", 1950.0), equatorial("fk5", "J1990.0"), equatorial("ICRS", 1950.0)
    ('fk4', 'fk4 B1950', 'fk5 J1990', 'icrs')
    """
    found = re.fullmatch(r"\s*([BJ]?)\s*(\d{4}(?:\.\d*)?)\s*", str(equinox), re.I)
    letter, year = (found[1].upper(), float(found[2])) if found else ("", 0.0)
    name = system.strip().lower()
    if name.startswith("fk4") or (not name and 0 < year < _FK5_SINCE):
        return f"fk4 {letter or 'B'}{year:g}" if year else "fk4"
    if (name.startswith("fk5") or not name) and year and abs(year - 2000) > 0.01:
        return f"fk5 {letter or 'J'}{year:g}"
    return "icrs"


def old_frame(header: Mapping[str, Any]) -> str:
    """The frame of right ascension and declination by a header, if it is of another equinox than J2000; else nothing.

    >>> old_frame({"RADESYS": "FK4"}), old_frame({"EQUINOX": 1950.0}), old_frame({"EQUINOX": 2000.0})
    ('fk4', 'fk4 B1950', '')
    """
    system = next((str(header[key]) for key in ("RADESYS", "RADECSYS") if header.get(key)), "")
    return equatorial(system, header.get("EQUINOX", "")).replace("icrs", "")
