"""Places on the Earth with a depth: distance along the surface in kilometres beside depth in kilometres."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.directions import EARTH_RADIUS_KM, from_lonlat
from ..base.errors import InputError
from ..spaces import Euclidean, Product, Space, Sphere
from .column_names import Kind, LonLat
from .units import LENGTHS

#: How many kilometres a unit of depth is, by its word in the name of a space.
KILOMETRES = {"km": 1.0, "m": 1e-3}

_LENGTH = re.compile(rf"(.+?)(?:[\s_./]+[\[(]?|[\[(])\s*({'|'.join(LENGTHS)})\s*[\])]?", re.I)


class Depths(Kind):
    """Longitude, latitude, and depth or height: of these only differences count, so that up and down are the same."""

    about, form = "earth", "depths"
    frame: ClassVar[str | None] = "geographic"
    limits: ClassVar[tuple[tuple[float, float], ...]] = LonLat.limits  # of the first two
    roles: ClassVar[tuple[str, ...]] = ("lon", "lat", "depth")
    names: ClassVar[tuple[tuple[str, ...], ...]] = (
        *LonLat.names,
        ("depth", "dep", "elevation", "elev", "altitude", "alt", "height"),
    )

    def __init__(self, columns: Sequence[str], unit: str) -> None:
        super().__init__(columns)
        self.unit = unit

    @property
    def convention(self) -> str:
        """The unit of depth."""
        return f"depth in {self.unit}"

    @property
    def angular(self) -> Kind:
        """The first two columns."""
        return LonLat(self.columns[:2])

    @property
    def exchanged(self) -> str:
        """The argument that exchanges longitude and latitude."""
        lon, lat, depth = self.columns
        roles = {"lon": lat, "lat": lon, "depth": depth}
        return f"`columns={roles}` if they are exchanged"

    def points(self, columns: list[NDArray[Any]], units: str) -> tuple[FloatArray, FloatArray]:
        """A tuple of unit vectors and depths in kilometres."""
        depth = np.asarray(columns[2], dtype=np.float64) * KILOMETRES[self.unit]
        far = np.abs(depth) > EARTH_RADIUS_KM
        if far.any():
            row = int(np.argmax(far))
            metres = "say `space='earth3d:m'` if they are metres, or " if self.unit == "km" else ""
            raise InputError(
                f"column {self.columns[2]} is <!{columns[2][row]:.6g} {self.unit}!>, more than the radius of the "
                f"Earth, <+{EARTH_RADIUS_KM:.0f} km+> ({far.sum():,} of {len(far):,} rows); {metres}drop or fix "
                "those rows",
                row=row,
            )
        return from_lonlat(*columns[:2], units=units), depth[:, None]

    def space(self, points: Any, units: str) -> Space:
        """Distances in kilometres: those on the sphere of the Earth's mean radius, and those in depth."""
        return Product(Sphere(2), Euclidean(1), metric_scales=(EARTH_RADIUS_KM, 1.0))


def split_length(name: str) -> tuple[str, str]:
    """A column's name in lower case without the unit of a length, and the unit: "km", "m" or nothing.

    >>> split_length("Depth/km"), split_length("depth_m"), split_length("depth")
    (('depth', 'km'), ('depth', 'm'), ('depth', ''))
    """
    plain = name.strip().lower()
    match = _LENGTH.fullmatch(plain)
    return (match[1].strip(), LENGTHS[match[2]]) if match else (plain, "")


def depth_column(names: Sequence[str]) -> str:
    """The column of depths or heights, by its name; empty if there is none."""
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(split_length(name)[0], name)
    return next((plain[word] for word in Depths.names[2] if word in plain), "")


def depth_unit(name: str, units: Mapping[str, str], said: str, source: str) -> str:
    """The unit of a column of depths: as its name or the file states, or the user *said*, who does not say another."""
    stated = split_length(name)[1] or LENGTHS.get(units.get(name, "").strip().lower(), "")
    if said and stated not in ("", said):
        raise InputError(
            f"{source}: column {name} is in <+{stated}+> by its name or its file, not in <!{said}!>; say "
            "`space='earth3d'`, which takes it so, whatever the unit of scales"
        )
    unit = said or stated
    if not unit:
        raise InputError(
            f"{source}: column {name} may be in kilometres or metres; say `space='earth3d:km'` or `space='earth3d:m'`"
        )
    return unit
