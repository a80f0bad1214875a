"""Time, angle, resolution: three names of one scale.

alpha = sqrt(8 t) is the distance at which the flat-space overlap falls to 1/e; the resolution is the distance at which
the true overlap s_t does. They agree at small scales; in high dimension only the resolution keeps its meaning.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, is_whole, numeric_array
from ..base.astropy_quantities import in_unit
from ..base.errors import InputError, ScaleError, ScaleWarning, warn
from ..base.results import Result
from ..spaces.base import Space

#: Above this dimension the angle alpha misleads, and giving it draws a warning.
ANGLE_DIMENSION = 10
#: Times that double precision can handle: distances from 1e-100 up.
TIME_RANGE = (1e-200, 1e100)
DEFAULT_ANGLES = np.geomspace(5.0, 120.0, 60)


def times_of_angles(angles: Any) -> FloatArray:
    """T = alpha^2 / 8, from alpha in degrees.

    >>> float(times_of_angles(np.degrees(2.0)))
    0.5
    """
    return np.asarray(np.radians(angles) ** 2 / 8)


def angles_of_times(times: Any) -> FloatArray:
    """alpha = sqrt(8 t) in degrees."""
    return np.asarray(np.degrees(np.sqrt(8 * np.asarray(times, dtype=np.float64))))


class Scales(NamedTuple):
    """Scales as the user gave them, and the times they mean."""

    times: FloatArray
    angles: FloatArray
    resolutions: FloatArray | None


class OverScales(Result):
    """A result with one entry per scale in its columns; subclasses have these attributes as fields."""

    times: FloatArray
    angles: FloatArray
    space: Space
    _resolutions: FloatArray | None

    def _indices(self) -> tuple[str, ...]:
        return "angles", "times", "resolutions"

    def _coordinates(self) -> dict[str, Any]:
        units = {"units": "degree" if self.space.angular else "1"}
        found = {"angle": ("angle", np.array(self.angles), units), "time": ("angle", np.array(self.times))}
        return found | {"resolution": ("angle", np.array(self.resolutions), units)}

    @classmethod
    def _mended(cls, found: dict[str, Any]) -> dict[str, Any]:
        times = found.get("times")
        if isinstance(times, list) and not all(time is None or (is_whole(time) or time > 0) for time in times):
            raise ScaleError.unfit("times of this JSON", "positive", times, verb="are")
        return found

    def scale_in_words(self, row: int) -> str:
        """One of the scales for readers: its angle or, above ten dimensions, its resolution.

        >>> import heatess as he
        >>> he.heat_profile(he.samplers.uniform(100, rng=0), angles=[10, 20]).scale_in_words(1)
        '20 degrees'
        """
        value = (self.resolutions if self.space.dim > ANGLE_DIMENSION else self.angles)[row]
        return f"{value:.3g} degrees" if self.space.angular else f"{value:.3g}"

    @cached_property
    def resolutions(self) -> FloatArray:
        """Distance at which s_t = 1/e, in degrees on angular spaces; computed when first asked for."""
        if self._resolutions is not None:
            return self._resolutions
        distances = self.space.resolutions_of_times(self.times)
        found = np.degrees(distances) if self.space.angular else distances
        found.flags.writeable = False
        return found


def resolve(space: Space, angles: Any = None, times: Any = None, resolutions: Any = None) -> Scales:
    """The scales meant by at most one of *angles* (degrees), *times*, *resolutions*; shape (k,) each.

    Angles of astropy, such as 30 * u.arcmin, become degrees.
    """
    named = {"angles": angles, "times": times, "resolutions": resolutions}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise ScaleError(f"give <+at most one of angles, times, resolutions+>, but found <!{' and '.join(given)}!>")
    if times is not None:
        t = _positive(times, "times")
        _refuse_extreme(t, t, "times")
        return Scales(t, _alphas(space, t), None)
    if resolutions is not None:
        values = _positive(in_unit(resolutions, "deg", "resolutions") if space.angular else resolutions, "resolutions")
        distances = np.radians(values) if space.angular else values
        _refuse_extreme(np.minimum(distances, 1.0) ** 2, values, "resolutions")
        limit = f"{np.degrees(space.diameter):g} degrees" if space.angular else f"{space.diameter:g}"
        _refuse(values, "resolutions", distances >= space.diameter, f"less than the diameter of {space!r}, {limit}")
        t = space.times_of_resolutions(distances)
        return Scales(t, _alphas(space, t), values)
    if not space.angular:
        ways = "resolutions (distances) or times" if space.has_resolutions else "times, t = d^2 / 8 for a distance d"
        raise ScaleError(f"distances on {space!r} are not angles; give <+{ways}+>")
    if space.dim > ANGLE_DIMENSION:
        warn(
            f"angles mislead on {space!r}: in high dimension the angle sqrt(8 t) no longer matches what you see; "
            "give `resolutions=` (the distance at which two points overlap by 1/e) instead",
            ScaleWarning,
        )
    values = DEFAULT_ANGLES.copy() if angles is None else _positive(in_unit(angles, "deg", "angles"), "angles")
    with np.errstate(over="ignore", under="ignore"):
        t = times_of_angles(values)
    _refuse_extreme(t, values, "angles")
    return Scales(t, values, None)


def _alphas(space: Space, times: FloatArray) -> FloatArray:
    """alpha = sqrt(8 t): in degrees on angular spaces, else in the unit of distance."""
    return angles_of_times(times) if space.angular else np.sqrt(8 * times)


def _refuse_extreme(times: FloatArray, values: FloatArray, name: str) -> None:
    """Times so small or large that their exponentials mean nothing in floating point."""
    least, most = TIME_RANGE
    bad = (times < least) | (times > most)
    _refuse(values, name, bad, f"such that the time t lies between {least:g} and {most:g}")


def _positive(values: Any, name: str) -> FloatArray:
    if isinstance(values, bool):
        raise ScaleError(f"{name} must be <+numbers+>, but are <!{values}!>")
    array = np.atleast_1d(numeric_array(values, name)).astype(np.float64)
    if array.ndim != 1 or not array.size:
        raise ScaleError(f"{name} must be <+a number or a one-dimensional list+>, but have <!shape {array.shape}!>")
    _refuse(array, name, ~(np.isfinite(array) & (array > 0)), "positive and finite")
    return array


def _refuse(values: FloatArray, name: str, bad: NDArray[np.bool_], expected: str) -> None:
    if bad.any():
        entry = int(np.argmax(bad))
        raise ScaleError(
            f"{name} must be <+{expected}+>, but entry {entry} is <!{values[entry]:g}!>; remove or correct it"
        )


def check_rtol(rtol: float) -> None:
    """Refuse a tolerance that is not a number from 1e-15 to 1."""
    if isinstance(rtol, bool) or not isinstance(rtol, int | float | np.floating) or not 1e-15 <= rtol < 1:
        raise InputError.unfit("`rtol`", "a number from 1e-15 to 1", rtol)


def check_one_scale(angle: Any, time: Any, resolution: Any) -> None:
    """Refuse anything but one number for one of the three."""
    given = [value for value in (angle, time, resolution) if value is not None]
    try:
        shape: Any = np.shape(given[0]) if len(given) == 1 else None
    except Exception:  # rows of different lengths, or an object that is no array
        shape = type(given[0]).__name__
    if shape != ():
        found = "none" if not given else f"{len(given)} arguments" if len(given) > 1 else f"shape {shape}"
        raise ScaleError(f"give <+exactly one scale, a number: `angle=`, `time=` or `resolution=`+>; found <!{found}!>")


def below_cell(cell: float | None, angles: FloatArray) -> NDArray[np.bool_]:
    """Which scales are smaller than a cell of the map or grid, but for rounding."""
    return np.asarray(angles < (cell or 0.0) * (1 - 1e-9))


def warn_below_cell(cell: float | None, angles: FloatArray) -> None:
    """Warn of scales that are smaller than a cell."""
    below = below_cell(cell, angles)
    if cell is not None and below.any():
        which = f"{int(below.sum())} of {len(angles)} scales are" if len(angles) > 1 else f"the scale {angles[0]:g} is"
        size = f"{cell:.3g} degree{'s' * (f'{cell:.3g}' != '1')}"
        warn(
            f"{which} below the size of the cells of this map or grid, {size}: there every cell counts as "
            f"one point, and gESS and volume tell of the grid; scales from {cell:.3g} on tell of what it shows",
            ScaleWarning,
        )


def in_words(space: Space, time: float) -> str:
    """A scale as it stands in messages: an angle in degrees, or a distance sqrt(8 t).

    >>> from heatess import Sphere
    >>> in_words(Sphere(2), float(times_of_angles(5.0)))
    'angle 5 degrees'
    """
    length = float(np.sqrt(8 * time))
    return f"angle {np.degrees(length):g} degrees" if space.angular else f"sqrt(8 t) = {length:g}"
