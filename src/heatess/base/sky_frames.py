"""Frames of the sky, and the rotations between them; all for the equinox J2000."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import FloatArray
from .errors import InputError
from .known import SKY
from .messages import shown

#: The north galactic pole in ICRS and the galactic longitude of the north celestial pole, in degrees.
_GALACTIC_POLE, _CELESTIAL_POLE = (192.85948, 27.12825), 122.93192
#: The mean obliquity of the ecliptic of J2000 (IAU 2006), 84381.406 arcseconds.
_OBLIQUITY = 84381.406 / 3600


#: Frames of astropy, apart from ecliptic ones, that astropy itself turns into ICRS.
_FIXED = (
    *("icrs", "fk5", "fk4", "fk4noeterms", "supergalactic", "gcrs", "hcrs", "cirs", "tete", "precessedgeocentric"),
    *("lsr", "lsrk", "lsrd", "galacticlsr"),
)


@cache
def _from_icrs(frame: str) -> FloatArray:
    """The matrix that turns vectors in ICRS into those of *frame*."""
    if frame == "icrs":
        return np.eye(3)
    if frame == "ecliptic":
        return _about("x", _OBLIQUITY)
    ra, dec = _GALACTIC_POLE
    return np.asarray(_about("z", 180 - _CELESTIAL_POLE) @ _about("y", 90 - dec) @ _about("z", ra))


def _about(axis: str, degrees: float) -> FloatArray:
    """The matrix of new coordinates after the axes were turned about one of them."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    rows = {"x": [[1, 0, 0], [0, c, s], [0, -s, c]], "y": [[c, 0, -s], [0, 1, 0], [s, 0, c]]}
    return np.array(rows.get(axis, [[c, s, 0], [-s, c, 0], [0, 0, 1]]), dtype=np.float64)


def turned(points: NDArray[Any], source: str | None, target: str) -> FloatArray:
    """Unit vectors (n, 3) of one frame of the sky in another one."""
    for frame in (source, target):
        if not isinstance(frame, str) or frame not in SKY:
            found = "is not known; say it with `frame=`" if frame is None else f"is {shown(frame)}"
            raise InputError(f"only <+frames of the sky, {', '.join(SKY)}+>, turn into each other, but one <!{found}!>")
    matrix = _from_icrs(target) @ _from_icrs(str(source)).T
    return np.asarray(points.astype(np.float64) @ matrix.T)


def converted_frame(points: Any) -> str | None:
    """The frame in which sky coordinates of astropy are taken; None for anything else.

    Galactic ones stay what they are; equatorial, ecliptic and supergalactic ones of any equinox are turned into ICRS by
    astropy. Local frames, such as altitude and azimuth, are not known here.
    """
    if not (type(points).__module__.startswith("astropy.coordinates") and hasattr(points, "spherical")):
        return None
    name = str(getattr(getattr(points, "frame", points), "name", ""))
    if name == "galactic":
        return name
    fixed = name in _FIXED or "ecliptic" in name
    return "icrs" if fixed else None
