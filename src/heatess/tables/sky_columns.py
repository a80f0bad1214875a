"""Columns of sky coordinates, as astropy has them in its tables, and what headers say about right ascension."""

from __future__ import annotations

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


def is_old(header: Mapping[str, Any]) -> bool:
    """Whether a header says that right ascension and declination are those of FK4, of an equinox before 1984.

    >>> is_old({"RADESYS": "FK4"}), is_old({"EQUINOX": 1950.0}), is_old({"RADESYS": "ICRS", "EQUINOX": 1950.0})
    (True, True, False)
    """
    system = next((str(header[key]).strip().upper() for key in ("RADESYS", "RADECSYS") if header.get(key)), "")
    if system:
        return system.startswith("FK4")
    try:
        year = float(str(header.get("EQUINOX", "")).strip().lstrip("BJ"))
    except ValueError:
        return False
    return 0 < year < _FK5_SINCE
