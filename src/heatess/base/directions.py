"""Unit vectors and rotations from the angles in which people keep them, each convention by its own name."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np

from .arrays import FloatArray, numeric_array, one_of, refuse_rows
from .astropy_quantities import has_unit, in_unit
from .blocks import map_rows, span
from .errors import InputError
from .messages import shown

#: Angles whose vectors are made at a time, in the second-level cache.
_ANGLES_AT_ONCE = 16_384

#: Angles in radians may exceed their limits by this, because of rounding: pi/2 printed as 1.5708, 2 pi as 6.2832.
SLACK_RADIANS = 1e-4

#: The whole sphere in square degrees, 4 pi (180 / pi)^2, and the surface of the Earth in square kilometres.
SKY_SQUARE_DEGREES, EARTH_SQUARE_KM = 129600 / math.pi, 510.1e6
#: The mean radius of the Earth, (2 a + b) / 3 of WGS 84, and kilometres in one degree of arc on it, 111.195.
EARTH_RADIUS_KM = 6371.0088
KM_PER_DEGREE = EARTH_RADIUS_KM * math.pi / 180

#: Euler angles by name, as the axes that scipy's `Rotation.from_euler` takes; capitals turn with the body.
CONVENTIONS = {"relion": "ZYZ", "bunge": "ZXZ", "yaw-pitch-roll": "ZYX", "roll-pitch-yaw": "xyz"}


def from_lonlat(lon: Any, lat: Any, *, units: str | None = None) -> FloatArray:
    """Unit vectors (n, 3) from longitude and latitude: (cos lat cos lon, cos lat sin lon, sin lat).

    Right ascension and declination are such a pair. Longitudes run from -180 to 360 degrees, latitudes from -90 to 90.

    Parameters
    ----------
    lon, lat : array-like, shape (n,)
        Numbers, or astropy quantities, which have a unit of their own.
    units : {"deg", "rad"}
        Unit of both; never guessed.

    Examples
    --------
    >>> from_lonlat([0, 90], [0, 60], units="deg").round(3) + 0.0
    array([[1.   , 0.   , 0.   ],
           [0.   , 0.5  , 0.866]])
    """
    east, north = _angles({"lon": lon, "lat": lat}, units)
    _within(north, "lat", units, -0.25, 0.25, "swap lon and lat if they are exchanged; colatitude is `from_spherical`")
    _within(east, "lon", units, -0.5, 1.0, _wrapped("lon", units))
    return _vectors(east, north)


def from_spherical(colatitude: Any, azimuth: Any, *, units: str | None = None) -> FloatArray:
    """Unit vectors (n, 3) from the angle to the z axis, 0 to 180 degrees, and the azimuth around it.

    Parameters
    ----------
    colatitude, azimuth : array-like, shape (n,)
        The angles that physicists call theta and phi.
    units : {"deg", "rad"}
        Unit of both; never guessed.

    Examples
    --------
    >>> from_spherical([0, 90], [0, 90], units="deg").round(3) + 0.0
    array([[0., 0., 1.],
           [0., 1., 0.]])
    """
    down, around = _angles({"colatitude": colatitude, "azimuth": azimuth}, units)
    _within(down, "colatitude", units, 0.0, 0.5, "latitudes are for `from_lonlat`; colatitude comes first here")
    _within(around, "azimuth", units, -0.5, 1.0, _wrapped("azimuth", units))
    return _vectors(around, down, from_pole=True)


def from_decinc(dec: Any, inc: Any, *, units: str | None = None) -> FloatArray:
    """Unit vectors (north, east, down), shape (n, 3), from magnetic declination and inclination, positive **down**.

    Parameters
    ----------
    dec, inc : array-like, shape (n,)
        Declination, clockwise from north, -180 to 360 degrees, and inclination, -90 to 90 degrees.
    units : {"deg", "rad"}
        Unit of both; never guessed.

    Examples
    --------
    >>> from_decinc([0, 90], [90, 0], units="deg").round(3) + 0.0
    array([[0., 0., 1.],
           [0., 1., 0.]])
    """
    clockwise, down = _angles({"dec": dec, "inc": inc}, units)
    _within(down, "inc", units, -0.25, 0.25, "declination comes first, inclination second")
    _within(clockwise, "dec", units, -0.5, 1.0, _wrapped("dec", units))
    return _vectors(clockwise, down)


def from_euler(angles: Any, *, convention: str, units: str | None = None) -> FloatArray:
    """Unit quaternions (x, y, z, w), shape (n, 4), from Euler angles (n, 3) of a named convention.

    Parameters
    ----------
    angles : array-like, shape (n, 3)
        In the order of the convention.
    convention : str
        "relion" (rot, tilt, psi: ZYZ, from the image to the particle; for `Rotations(symmetry=)` take the inverse),
        "bunge" (ZXZ), "yaw-pitch-roll" (ZYX, turning with the body), "roll-pitch-yaw" (xyz, about fixed axes), or the
        axes themselves as scipy's `Rotation.from_euler` takes them.
    units : {"deg", "rad"}
        Unit of all three; never guessed.

    Examples
    --------
    >>> from_euler([[90, 0, 0]], convention="yaw-pitch-roll", units="deg").round(3)
    array([[0.   , 0.   , 0.707, 0.707]])
    """
    from scipy.spatial.transform import Rotation

    axes = euler_axes(convention, "convention")
    (found,) = _angles({"angles": angles}, units)
    array = found.radians()
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError.misshapen("angles", "(n, 3), one row per rotation", array.shape)
    return np.asarray(Rotation.from_euler(axes, array).as_quat())


def euler_axes(convention: Any, name: str) -> str:
    """The axes of a convention of Euler angles, as scipy takes them; *name* is the argument that has it.

    >>> euler_axes("Bunge", "convention"), euler_axes("xyz", "convention")
    ('ZXZ', 'xyz')
    """
    axes = CONVENTIONS.get(convention.lower(), convention) if isinstance(convention, str) else ""
    turned = isinstance(axes, str) and bool(re.fullmatch("[xyz]{3}|[XYZ]{3}", axes)) and axes[0] != axes[1] != axes[2]
    if not turned:
        raise InputError(
            f"{name} must be <+one of {', '.join(CONVENTIONS)}, or three axes such as 'ZYZ' (which turn with the "
            f"body) or 'xyz' (which are fixed)+>, but is <!{shown(convention)}!>"
        )
    return axes


def check_units(units: Any) -> None:
    """Refuse anything but "deg" and "rad"."""
    one_of(units, "units", ("deg", "rad"), "say which, it is never guessed")


class _Angle(NamedTuple):
    """Finite angles, which become radians some at a time."""

    values: FloatArray
    span: tuple[float, float]  #: the least and the largest, in radians
    degrees: bool

    def radians(self, rows: slice = slice(None)) -> FloatArray:
        """Some of them in radians."""
        return np.radians(self.values[rows]) if self.degrees else self.values[rows]


def _angles(named: dict[str, Any], units: str | None) -> list[_Angle]:
    """Finite angles, all of one shape."""
    found: list[_Angle] = []
    if units is not None or not all(map(has_unit, named.values())):
        check_units(units)
    for name, value in named.items():
        own = has_unit(value)
        array = np.atleast_1d(numeric_array(in_unit(value, "rad", name), name)).astype(np.float64, copy=False)
        first = found[0].values if found else array
        if first.shape != array.shape or array.ndim > 2:
            shapes = " and ".join(str(other.shape) for other in (first, array))
            raise InputError(f"{' and '.join(named)} must have <+one number per point+>, but have <!shapes {shapes}!>")
        low, high = span(array)
        if array.size and not (math.isfinite(low) and math.isfinite(high)):
            bad = ~np.isfinite(array).reshape(len(array), -1).all(axis=1)
            refuse_rows(bad, array, f"{name} must be <+finite+>")
        degrees = not own and units == "deg"
        limits = (math.radians(low), math.radians(high)) if degrees else (low, high)
        found.append(_Angle(array, limits, degrees))
    return found


def _wrapped(name: str, units: str | None) -> str:
    """How to bring an angle into its limits; the other angle keeps its own, so that the two are not exchanged."""
    return f"take whole turns away: `numpy.mod({name}, {'2 * numpy.pi' if units == 'rad' else 360})`"


def _within(angles: _Angle, name: str, units: str | None, low: float, high: float, hint: str) -> None:
    """Refuse angles outside *low* to *high* turns."""
    turn = 2 * math.pi
    if low * turn - SLACK_RADIANS <= angles.span[0] and angles.span[1] <= high * turn + SLACK_RADIANS:
        return
    angle = angles.radians()
    bad = (angle < low * turn - SLACK_RADIANS) | (angle > high * turn + SLACK_RADIANS)
    size, unit = (turn, "radians") if units == "rad" else (360, "degrees")
    if units == "rad" and float(np.abs(angle).max()) > turn + SLACK_RADIANS:
        hint = f"{hint}; are these degrees?"
    expected = f"{name} must lie <+between {low * size:.5g} and {high * size:.5g} {unit}+>"
    refuse_rows(bad, np.round(angle if units == "rad" else np.degrees(angle), 9), expected, hint)


def _vectors(around: _Angle, other: _Angle, *, from_pole: bool = False) -> FloatArray:
    """(cos up cos around, cos up sin around, sin up), where the other angle is *up*, or the one from the pole."""
    shape = around.values.shape
    if len(shape) != 1:
        raise InputError.misshapen("angles", "(n,), one number per point each", shape)
    found = np.empty((*shape, 3))

    def fill(rows: slice) -> None:
        azimuth, angle = around.radians(rows), other.radians(rows)
        sine, cosine = np.sin(angle), np.cos(angle)
        width, height = (sine, cosine) if from_pole else (cosine, sine)
        found[rows, 0] = width * np.cos(azimuth)
        found[rows, 1] = width * np.sin(azimuth)
        found[rows, 2] = height

    map_rows(fill, len(found), _ANGLES_AT_ONCE)
    return found
