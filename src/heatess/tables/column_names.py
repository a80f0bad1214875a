"""What columns may mean, and how they become points: one class a kind, with the names by which it is recognised."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.directions import SLACK_RADIANS, from_decinc, from_lonlat, from_spherical
from ..base.errors import InputError
from ..spaces import Circle, Space, Sphere, Torus

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
    frame: ClassVar[str | None] = None  #: that the names of the columns tell
    form: ClassVar[str] = "vectors"  #: the form of points, see `Space.form`
    names: ClassVar[tuple[tuple[str, ...], ...]] = ()  #: for each role the names by which it is recognised
    limits: ClassVar[tuple[tuple[float, float], ...]] = ()
    letters: ClassVar[tuple[str, ...]] = ()  #: for each role the points of the compass that it may be written with

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
        return f"`columns={{{', '.join(f'{role!r}: {name!r}' for role, name in roles)}}}` if they are exchanged"

    def beyond_radians(self, farthest: Sequence[float]) -> bool:
        """Whether angles that reach so far from zero, one number a column, must be degrees."""
        return max(farthest) > TURN + SLACK_RADIANS

    @property
    def convention(self) -> str:
        """What the angles are about, for the user: axes, for instance; empty if there is nothing to say."""
        return ""

    @property
    def angular(self) -> Kind:
        """The columns that are angles, where some are not."""
        return self

    @property
    def hours(self) -> Sequence[int]:
        """The columns that may be in hours, by their place."""
        return ()

    def lengths(self, points: Any) -> tuple[Kind, NDArray[Any]] | None:
        """The columns whose rows must have length one, and these rows; None if there are none."""
        return None

    @abstractmethod
    def points(self, columns: list[NDArray[Any]], units: str) -> Any:
        """The points in the columns."""

    @abstractmethod
    def space(self, points: Any, units: str) -> Space:
        """The space they are on, if nobody says otherwise."""


class LonLat(Kind):
    """Longitude and latitude."""

    roles, about = ("lon", "lat"), "earth"
    frame: ClassVar[str | None] = "geographic"
    names: ClassVar[tuple[tuple[str, ...], ...]] = (("lon", "longitude", "lng", "long"), ("lat", "latitude"))
    limits: ClassVar[tuple[tuple[float, float], ...]] = ((-0.5, 1.0), (-0.25, 0.25))
    letters: ClassVar[tuple[str, ...]] = ("EW", "NS")

    def beyond_radians(self, farthest: Sequence[float]) -> bool:
        """Latitudes in radians stay below pi/2."""
        return farthest[0] > TURN + SLACK_RADIANS or farthest[1] > TURN / 4 + SLACK_RADIANS

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Unit vectors."""
        return from_lonlat(*columns, units=units)

    def space(self, points: Any, units: str) -> Space:
        """The sphere."""
        return Sphere(2)


class RaDec(LonLat):
    """Right ascension and declination."""

    roles, about, frame = ("ra", "dec"), "sky", "icrs"
    names = (
        ("ra", "rightascension", "right_ascension", "raj2000", "ra_deg", "ra_icrs", "raicrs"),
        ("dec", "declination", "de", "dej2000", "decj2000", "dec_deg", "dec_icrs", "de_icrs", "deicrs"),
    )

    @property
    def hours(self) -> Sequence[int]:
        """Right ascension, beside a declination in degrees."""
        return (0,)


class Galactic(LonLat):
    """Galactic longitude and latitude."""

    roles, about, frame = ("glon", "glat"), "sky", "galactic"
    names = (("glon", "_glon", "gal_lon", "galactic_longitude"), ("glat", "_glat", "gal_lat", "galactic_latitude"))


class Ecliptic(LonLat):
    """Ecliptic longitude and latitude."""

    roles, about, frame = ("elon", "elat"), "sky", "ecliptic"
    names = (("elon", "ecl_lon", "ecliptic_longitude"), ("elat", "ecl_lat", "ecliptic_latitude"))


class DecInc(LonLat):
    """Magnetic declination and inclination, positive down."""

    roles, about, frame = ("dec", "inc"), "directions", None
    names = (("dir_dec", "dec", "declination"), ("dir_inc", "inc", "inclination"))

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Unit vectors (north, east, down)."""
        return from_decinc(*columns, units=units)


class Colatitude(LonLat):
    """Colatitude and azimuth."""

    roles, about, frame = ("colat", "azimuth"), "directions", None
    names = (("colat", "colatitude"), ("azimuth", "az", "lon", "longitude", "phi"))
    limits = ((0.0, 0.5), (-0.5, 1.0))
    letters = ("", "EW")

    def beyond_radians(self, farthest: Sequence[float]) -> bool:
        """Colatitudes in radians stay below pi."""
        return farthest[0] > TURN / 2 + SLACK_RADIANS or farthest[1] > TURN + SLACK_RADIANS

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
        return side_by_side(columns)

    def lengths(self, points: Any) -> tuple[Kind, NDArray[Any]]:
        """All of them."""
        return self, points

    def space(self, points: Any, units: str) -> Space:
        """The sphere of their dimension."""
        if points.shape[1] < 2:
            raise InputError(
                "there is <!one number a row!>, but a vector has <+two or more+>; say `space='circle'` if the numbers "
                "are angles"
            )
        return Sphere(points.shape[1] - 1)


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
        return max(farthest) > 2 * TURN + SLACK_RADIANS

    @property
    def hours(self) -> Sequence[int]:
        """Times of the day, 24 hours a turn."""
        return range(len(self.columns))

    def points(self, columns: list[NDArray[Any]], units: str) -> NDArray[Any]:
        """The angles as they are."""
        return side_by_side(columns)

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
        return side_by_side(columns)

    def space(self, points: Any, units: str) -> Space:
        """Never asked: the user named it."""
        raise InputError(f"columns {self.words} need <+a space+>; name it with `space=`")


#: Kinds that a column's own names tell, in the order in which choices are listed.
PAIRS: tuple[type[Kind], ...] = (LonLat, RaDec, Galactic, Ecliptic, DecInc, Colatitude)


def side_by_side(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """One array (n, d) of d columns, or of one column of vectors."""
    return columns[0] if columns[0].ndim == 2 else np.column_stack(columns)


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
