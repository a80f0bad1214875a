"""What columns may mean, and how they become points: one class a kind, with the names by which it is recognised."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..directions import SLACK, from_decinc, from_euler, from_lonlat, from_spherical
from ..errors import InputError
from ..spaces import Circle, Rotations, Space, Sphere, Torus
from .table import Place

TURN = 2 * math.pi


class Kind(ABC):
    """One meaning of some columns.

    Attributes
    ----------
    columns : list of str
        In the order of `roles`.
    roles : tuple of str
        What each column is for; by these names a user may choose columns.
    angles : bool
        Whether the numbers are angles, in degrees or radians.
    about : str
        What the points are, in one word, for reports: earth, sky, directions, rotations, torsions, embedding.
    """

    roles: ClassVar[tuple[str, ...]] = ()
    angles: ClassVar[bool] = True
    about: ClassVar[str] = "directions"
    form: ClassVar[str] = "vectors"  #: the form of points, see `Space.form`

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)

    @property
    def words(self) -> str:
        """The columns, for the user; long lists shortened."""
        if len(self.columns) <= 6:
            return ", ".join(self.columns)
        return f"{self.columns[0]} to {self.columns[-1]} ({len(self.columns)} columns)"

    def limits(self, columns: list[NDArray[Any]]) -> float:
        """How far the angles reach beyond what radians allow, as a ratio: above one they must be degrees."""
        return float(max(np.nanmax(np.abs(values), initial=0.0) for values in columns) / (TURN + SLACK))

    @abstractmethod
    def points(self, columns: list[NDArray[Any]], units: str) -> Any:
        """The points in the columns."""

    @abstractmethod
    def space(self, points: Any) -> Space:
        """The space they are on, if nobody says otherwise."""


class LonLat(Kind):
    """Longitude and latitude."""

    roles, about = ("lon", "lat"), "earth"
    NAMES = (("lon", "longitude", "lng", "long"), ("lat", "latitude"))

    def limits(self, columns: list[NDArray[Any]]) -> float:
        """Latitudes in radians stay below pi/2."""
        lon, lat = (float(np.nanmax(np.abs(values), initial=0.0)) for values in columns)
        return max(lon / (TURN + SLACK), lat / (TURN / 4 + SLACK))

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Unit vectors."""
        return from_lonlat(*columns, units=units)

    def space(self, points: Any) -> Space:
        """The sphere."""
        return Sphere(2)


class RaDec(LonLat):
    """Right ascension and declination."""

    roles, about = ("ra", "dec"), "sky"
    NAMES = (
        ("ra", "rightascension", "right_ascension", "raj2000", "ra_deg", "ra_icrs"),
        ("dec", "declination", "dej2000", "decj2000", "dec_deg", "dec_icrs", "de_icrs"),
    )


class DecInc(LonLat):
    """Magnetic declination and inclination, positive down."""

    roles, about = ("dec", "inc"), "directions"
    NAMES = (("dir_dec", "dec", "declination"), ("dir_inc", "inc", "inclination"))

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Unit vectors (north, east, down)."""
        return from_decinc(*columns, units=units)


class Colatitude(LonLat):
    """Colatitude and azimuth."""

    roles, about = ("colat", "azimuth"), "directions"
    NAMES = (("colat", "colatitude"), ("azimuth", "az", "lon", "longitude", "phi"))

    def limits(self, columns: list[NDArray[Any]]) -> float:
        """Colatitudes in radians stay below pi."""
        down, around = (float(np.nanmax(np.abs(values), initial=0.0)) for values in columns)
        return max(around / (TURN + SLACK), down / (TURN / 2 + SLACK))

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Unit vectors."""
        return from_spherical(*columns, units=units)


class Vectors(Kind):
    """Unit vectors: one column per coordinate, or one column of vectors."""

    angles = False
    NAMES = (("x", "y", "z"), ("ux", "uy", "uz"), ("nx", "ny", "nz"))
    LISTS = ("embedding", "vector", "emb", "embeddings", "vectors", "rows")

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """x, y, z, ... or the one column of vectors."""
        return tuple(self.columns)

    def points(self, columns: list[NDArray[Any]], units: str) -> NDArray[Any]:
        """The rows themselves."""
        return columns[0] if columns[0].ndim == 2 else np.column_stack(columns)

    def space(self, points: Any) -> Space:
        """The sphere of their dimension."""
        if points.shape[1] < 2:
            raise InputError(f"column {self.words} holds {points.shape[1]} numbers a row, but a vector has two or more")
        return Sphere(points.shape[1] - 1)


class Quaternions(Kind):
    """Unit quaternions, in the order x, y, z, w whatever the order of the columns."""

    roles, angles, about, form = ("qx", "qy", "qz", "qw"), False, "rotations", "quaternions"

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """The scalar last."""
        return np.column_stack(columns).astype(np.float64)

    def space(self, points: Any) -> Space:
        """The rotations."""
        return Rotations()


class Relion(Quaternions):
    """Euler angles of RELION, rot, tilt and psi, ZYZ in degrees."""

    roles = ("rot", "tilt", "psi")
    NAMES = (("rlnanglerot", "_rlnanglerot"), ("rlnangletilt", "_rlnangletilt"), ("rlnanglepsi", "_rlnanglepsi"))

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Quaternions, the scalar last."""
        return from_euler(np.column_stack(columns), convention="relion", units="deg")


class Torsions(Kind):
    """Periodic angles, one per column."""

    about, form = "torsions", "angles"
    NAMES = ("phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4", "chi5")

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the angles themselves."""
        return tuple(self.columns)

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Radians."""
        array = np.column_stack(columns).astype(np.float64)
        return np.radians(array) if units == "deg" else array

    def space(self, points: Any) -> Space:
        """The torus of as many angles; the circle if there is one."""
        return Torus(points.shape[1]) if points.shape[1] > 1 else Circle()


class Numbers(Kind):
    """Plain coordinates of a space that the user named."""

    angles, form = False, "numbers"

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns themselves."""
        return tuple(self.columns)

    def points(self, columns: list[NDArray[Any]], units: str) -> NDArray[Any]:
        """The columns side by side."""
        return columns[0] if columns[0].ndim == 2 else np.column_stack(columns)

    def space(self, points: Any) -> Space:
        """Never asked: the user named it."""
        raise InputError(f"columns {self.words} need a space; name it with space=")


class Poses(Kind):
    """Positions and orientations."""

    roles, angles, about, form = ("tx", "ty", "tz", "qx", "qy", "qz", "qw"), False, "rotations", "poses"

    def points(self, columns: list[NDArray[Any]], units: str) -> tuple[FloatArray, FloatArray]:
        """A tuple of positions and quaternions."""
        split = len(columns) - 4
        return np.column_stack(columns[:split]), np.column_stack(columns[split:])

    def space(self, points: Any) -> Space:
        """Flat space and rotations, where a radian is as long as a unit of length."""
        from ..spaces import Euclidean, Product

        return Product(Euclidean(points[0].shape[1]), Rotations())


#: Kinds that a column's own names tell, in the order in which choices are listed.
PAIRS: tuple[type[Kind], ...] = (LonLat, RaDec, DecInc, Colatitude, Relion)

_QUATERNION = re.compile(r"(?:.*[._]|)(?:q|quat|quaternion|orientation|rotation|rot|attitude|att)?[._]?([xyzw])", re.I)


def quaternion_columns(names: Sequence[str]) -> list[list[str]]:
    """Every group of four columns that are x, y, z, w of one quaternion by their names, in that order.

    >>> quaternion_columns(["t", "orientation.w", "orientation.x", "orientation.y", "orientation.z"])
    [['orientation.x', 'orientation.y', 'orientation.z', 'orientation.w']]
    >>> quaternion_columns(["q0", "q1", "q2", "q3"])
    []
    """
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        match = _QUATERNION.fullmatch(name.strip())
        if match:
            groups.setdefault(name[: match.start(1)].lower(), {})[match[1].lower()] = name
    return [[group[axis] for axis in "xyzw"] for group in groups.values() if len(group) == 4]


def numbered_columns(names: Sequence[str]) -> list[str]:
    """The longest run of columns such as dim_0, dim_1, ..., in the order of their numbers, if there are four or more.

    >>> numbered_columns(["id", "e2", "e0", "e1", "e3", "w"])
    ['e0', 'e1', 'e2', 'e3']
    """
    runs: dict[str, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)(\d+)", name)
        if match and match[1]:
            runs.setdefault(match[1], {})[int(match[2])] = name
    complete = [run for run in runs.values() if len(run) >= 4 and max(run) - min(run) == len(run) - 1 and min(run) < 2]
    longest: Mapping[int, str] = max(complete, key=len, default={})
    return [longest[number] for number in sorted(longest)]


def refuse_at(bad: NDArray[np.bool_], place: Place, found: str, advice: str) -> None:
    """An `InputError` if any row is bad: where the first one is, and how many there are."""
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{place(row)}: {found} ({int(bad.sum()):,} of {len(bad):,} rows); {advice}")
