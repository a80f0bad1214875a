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
    limits : tuple of (float, float)
        The least and largest angle of each column, in turns; empty if there are none.
    exchanged : str
        The argument that exchanges the columns, for the user.
    """

    roles: ClassVar[tuple[str, ...]] = ()
    angles: ClassVar[bool] = True
    stacked: ClassVar[bool] = False  #: whether points are the columns side by side
    about: ClassVar[str] = "directions"
    form: ClassVar[str] = "vectors"  #: the form of points, see `Space.form`
    names: ClassVar[tuple[tuple[str, ...], ...]] = ()  #: for each role the names by which it is recognised
    limits: ClassVar[tuple[tuple[float, float], ...]] = ()

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)

    @property
    def words(self) -> str:
        """The columns, for the user; long lists shortened."""
        if len(self.columns) <= 6:
            return ", ".join(self.columns)
        return f"{self.columns[0]} to {self.columns[-1]} ({len(self.columns)} columns)"

    @property
    def exchanged(self) -> str:
        """The argument that exchanges two columns."""
        roles = zip(self.roles, reversed(self.columns), strict=True)
        return f"columns={{{', '.join(f'{role!r}: {name!r}' for role, name in roles)}}} if they are exchanged"

    def beyond_radians(self, farthest: Sequence[float]) -> bool:
        """Whether angles that reach so far from zero, one number a column, must be degrees."""
        return max(farthest) > TURN + SLACK

    @abstractmethod
    def points(self, columns: list[NDArray[Any]], units: str) -> Any:
        """The points in the columns."""

    @abstractmethod
    def space(self, points: Any, units: str) -> Space:
        """The space they are on, if nobody says otherwise."""


class LonLat(Kind):
    """Longitude and latitude."""

    roles, about = ("lon", "lat"), "earth"
    names: ClassVar[tuple[tuple[str, ...], ...]] = (("lon", "longitude", "lng", "long"), ("lat", "latitude"))
    limits: ClassVar[tuple[tuple[float, float], ...]] = ((-0.5, 1.0), (-0.25, 0.25))

    def beyond_radians(self, farthest: Sequence[float]) -> bool:
        """Latitudes in radians stay below pi/2."""
        return farthest[0] > TURN + SLACK or farthest[1] > TURN / 4 + SLACK

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Unit vectors."""
        return from_lonlat(*columns, units=units)

    def space(self, points: Any, units: str) -> Space:
        """The sphere."""
        return Sphere(2)


class RaDec(LonLat):
    """Right ascension and declination."""

    roles, about = ("ra", "dec"), "sky"
    names = (
        ("ra", "rightascension", "right_ascension", "raj2000", "ra_deg", "ra_icrs"),
        ("dec", "declination", "dej2000", "decj2000", "dec_deg", "dec_icrs", "de_icrs", "de"),
    )


class DecInc(LonLat):
    """Magnetic declination and inclination, positive down."""

    roles, about = ("dec", "inc"), "directions"
    names = (("dir_dec", "dec", "declination"), ("dir_inc", "inc", "inclination"))

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Unit vectors (north, east, down)."""
        return from_decinc(*columns, units=units)


class Colatitude(LonLat):
    """Colatitude and azimuth."""

    roles, about = ("colat", "azimuth"), "directions"
    names = (("colat", "colatitude"), ("azimuth", "az", "lon", "longitude", "phi"))
    limits = ((0.0, 0.5), (-0.5, 1.0))

    def beyond_radians(self, farthest: Sequence[float]) -> bool:
        """Colatitudes in radians stay below pi."""
        return farthest[0] > TURN / 2 + SLACK or farthest[1] > TURN + SLACK

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Unit vectors."""
        return from_spherical(*columns, units=units)


class Vectors(Kind):
    """Unit vectors: one column per coordinate, or one column of vectors."""

    angles, stacked = False, True
    TRIPLES = (("x", "y", "z"), ("ux", "uy", "uz"), ("nx", "ny", "nz"))
    LISTS = ("embedding", "vector", "emb", "embeddings", "vectors", "rows")

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """x, y, z, ... or the one column of vectors."""
        return tuple(self.columns)

    def points(self, columns: list[NDArray[Any]], units: str) -> NDArray[Any]:
        """The rows themselves."""
        return columns[0] if columns[0].ndim == 2 else np.column_stack(columns)

    def space(self, points: Any, units: str) -> Space:
        """The sphere of their dimension."""
        if points.shape[1] < 2:
            raise InputError(
                "there is one number a row, but a vector has two or more; say space='circle' if the numbers are angles"
            )
        return Sphere(points.shape[1] - 1)


class Quaternions(Kind):
    """Unit quaternions, in the order x, y, z, w whatever the order of the columns."""

    roles: ClassVar[tuple[str, ...]] = ("qx", "qy", "qz", "qw")
    angles, about, form = False, "rotations", "quaternions"

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """The scalar last."""
        return np.column_stack(columns).astype(np.float64, copy=False)

    def space(self, points: Any, units: str) -> Space:
        """The rotations."""
        return Rotations()


class Relion(Quaternions):
    """Euler angles of RELION, rot, tilt and psi, ZYZ, which RELION itself writes in degrees."""

    roles: ClassVar[tuple[str, ...]] = ("rot", "tilt", "psi")
    angles = True
    names = (("rlnanglerot", "_rlnanglerot"), ("rlnangletilt", "_rlnangletilt"), ("rlnanglepsi", "_rlnanglepsi"))

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Quaternions, the scalar last."""
        return from_euler(np.column_stack(columns), convention="relion", units=units)


class Torsions(Kind):
    """Periodic angles, one per column."""

    about, form = "torsions", "angles"
    ANGLES = ("phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4", "chi5")

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the angles themselves."""
        return tuple(self.columns)

    def beyond_radians(self, farthest: Sequence[float]) -> bool:
        """Phases in radians may be unwrapped; what `Torus` takes for radians is not called degrees here."""
        return max(farthest) > 2 * TURN + SLACK

    def points(self, columns: list[NDArray[Any]], units: str) -> NDArray[Any]:
        """The angles as they are."""
        return columns[0] if columns[0].ndim == 2 else np.column_stack(columns)

    def space(self, points: Any, units: str) -> Space:
        """The torus of as many angles; the circle if there is one."""
        return Torus(points.shape[1], units=units) if points.shape[1] > 1 else Circle(units)


class Numbers(Kind):
    """Plain coordinates of a space that the user named."""

    angles, stacked, about, form = False, True, "points", "numbers"

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns themselves."""
        return tuple(self.columns)

    def points(self, columns: list[NDArray[Any]], units: str) -> NDArray[Any]:
        """The columns side by side."""
        return columns[0] if columns[0].ndim == 2 else np.column_stack(columns)

    def space(self, points: Any, units: str) -> Space:
        """Never asked: the user named it."""
        raise InputError(f"columns {self.words} need a space; name it with space=")


class Poses(Kind):
    """Positions and orientations."""

    roles, angles, about, form = ("tx", "ty", "tz", "qx", "qy", "qz", "qw"), False, "rotations", "poses"

    def points(self, columns: list[NDArray[Any]], units: str) -> tuple[FloatArray, FloatArray]:
        """A tuple of positions and quaternions."""
        split = len(columns) - 4
        return np.column_stack(columns[:split]), np.column_stack(columns[split:])

    def space(self, points: Any, units: str) -> Space:
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
        match = _QUATERNION.fullmatch(re.sub(r"\s*[\[(][^\])]*[\])]$", "", name.strip()))
        if match:
            groups.setdefault(name[: match.start(1)].lower(), {})[match[1].lower()] = name
    return [[group[axis] for axis in "xyzw"] for group in groups.values() if len(group) == 4]


def numbered_columns(names: Sequence[str]) -> list[str]:
    """The longest run of columns such as dim_0, dim_1, ..., in the order of their numbers, if there are eight or more.

    >>> numbered_columns(["id", "e2", "e0", "e1", "e3", "e5", "e6", "e4", "e7", "w"])
    ['e0', 'e1', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7']
    """
    runs: dict[str, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)(\d+)", name)
        if match and match[1]:
            runs.setdefault(match[1], {})[int(match[2])] = name
    complete = [run for run in runs.values() if len(run) >= 8 and max(run) - min(run) == len(run) - 1 and min(run) < 2]
    longest: Mapping[int, str] = max(complete, key=len, default={})
    return [longest[number] for number in sorted(longest)]
