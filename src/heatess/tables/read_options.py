"""How the user says that a table is to be read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.arrays import is_whole, one_of
from ..base.directions import euler_axes
from ..base.errors import InputError, InputTypeError
from ..base.known import Known
from ..base.messages import shown
from ..spaces import Rotations, Space, named
from .rotation_columns import POSE_LENGTH

#: Spaces by the words that --space and space= take, and the form of their points.
FORMS = {
    "sphere": "vectors",
    "projective": "vectors",
    "rotations": "quaternions",
    "torus": "angles",
    "circle": "angles",
    "euclidean": "numbers",
    "hyperbolic": "numbers",
    "graph": "nodes",
    "pose": "poses",
    "earth3d": "depths",
}

#: Units of angles.
UNITS = ("deg", "rad", "hours")


_STEPS = (int, float, str, np.integer, np.floating, np.datetime64)


@dataclass(frozen=True)
class Reading:
    """How to read a table, where its names and numbers do not make it clear.

    Attributes
    ----------
    space : Space or str, optional
        A space, its repr, or a word: sphere, projective, rotations, torus, circle, euclidean, hyperbolic; rotations:O
        or another point group, for orientations of things that look alike when turned; pose:R,
        where R is the length that counts as much as one radian; earth3d, or with the unit of depth earth3d:km or
        earth3d:m; graph (graph:largest for its largest component), where rows are edges.
    columns : str, sequence of str or mapping, optional
        The columns that hold the points: names, a range such as "dim_0:dim_383", or roles and names, such as
        {"lon": "site_long", "lat": "site_lat"}. Roles are lon, lat; lon, lat, depth; ra, dec; dec, inc; colat, azimuth;
        qx, qy, qz, qw; xyzw or wxyz for one column of quaternions.
    units : {"deg", "rad", "hours"}, optional
        Unit of angles; needed where the numbers could be either. Hours are right ascension beside a declination in
        degrees, or times of the day on a circle or a torus.
    weights, log_weights : str, optional
        Column of weights or of their logarithms. The word "none" for weights means equal weights.
    normalize : bool
        Scale vectors to unit length. If false, other lengths are refused.
    drop_missing : bool
        Leave out rows in which a number is missing, and count them. If false, they are refused.
    euler : str, optional
        The convention of Euler angles, as `heatess.from_euler` takes it.
    missing : float, sequence of float or "none", optional
        Numbers that stand for a missing one, such as -999. If not given, such numbers are asked about where they are
        far from all others; "none" says that there are none.
    kind, frame : str, optional
        What the rows are, and the frame of directions, see `Known`; they outrank what the file says.
    labels : str, optional
        The column of names of rows; "none" for no names, whatever columns there are.
    select : mapping, optional
        For grids, one step of each further axis: its number from 0, or its value, {"time": 0, "level": 500.0}.
    area : bool
        For grids, whether values are per area, so that weights are values times the areas of cells. If false, values
        are totals of their cells.
    loose : bool
        Take columns of any names that are unit vectors together, as a data frame in place of points may have.
    """

    space: Space | str | None = None
    columns: str | Sequence[str] | Mapping[str, str] | None = None
    units: str | None = None
    weights: str | None = None
    log_weights: str | None = None
    normalize: bool = False
    drop_missing: bool = False
    euler: str | None = None
    missing: Any = None
    kind: str | None = None
    frame: str | None = None
    labels: str | None = None
    select: Mapping[str, Any] | None = None
    area: bool = True
    loose: bool = False

    def __post_init__(self) -> None:
        for name in ("weights", "log_weights", "labels"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value.strip()):
                raise InputTypeError.unfit(name, "the name of a column", value)
        for name in ("normalize", "drop_missing", "area"):
            if not isinstance(getattr(self, name), bool):
                raise InputTypeError.unfit(name, "true or false", getattr(self, name))
        object.__setattr__(self, "missing", _numbers(self.missing))
        named = self.columns
        known = named is None or isinstance(named, str | Mapping | list | tuple)
        parts = [*named, *(named.values() if isinstance(named, Mapping) else ())] if known and named is not None else []
        if not known or not all(isinstance(part, str) for part in parts):
            raise InputTypeError.unfit("columns", "names, or roles and names", named, verb="are")
        if self.select is not None and not isinstance(self.select, Mapping):
            raise InputTypeError.unfit("select", "axes and steps, such as {'time': 0}", self.select)
        for axis, step in (self.select or {}).items():
            if not isinstance(axis, str) or isinstance(step, bool) or not isinstance(step, _STEPS):
                found = f"{shown(axis)}: {shown(step)}"
                raise InputTypeError(f"select must be <+axes and steps, such as {{'time': 0}}+>, but has <!{found}!>")
        if self.weights and self.log_weights:
            raise InputError("give <+weights or log_weights+>, not <!both!>")
        if self.units is not None:
            one_of(self.units, "units", UNITS)
        Known(self.kind, self.frame)  # refuses what is none
        object.__setattr__(self, "space", _up_to_group(self.space))
        form = self.form()
        if self.word == "pose":
            pose_length(str(self.space))
        if self.euler is not None:
            euler_axes(self.euler, "`euler=`")
            if form not in (None, "quaternions", "poses"):
                raise InputError(
                    f"`euler=` is for <+rotations+>, which <!`space={str(self.space)!r}`!> is not; leave out one"
                )
        object.__setattr__(self, "space", self._made())

    @property
    def graph(self) -> str | None:
        """Which part of a graph was asked for: "" for space='graph', "largest"; None for any other space."""
        if self.word != "graph":
            return None
        part = str(self.space).lower().partition(":")[2].strip()
        if part not in ("", "largest"):
            raise InputError.unfit("space", "'graph', or 'graph:largest' for its largest component", self.space)
        return part

    def _made(self) -> Space | str | None:
        """The space itself where it was written out, such as "Torus(2)", in the units that were said."""
        space = self.space
        if isinstance(space, str) and not self.word:
            space = named(space)
        units = "deg" if self.units == "hours" else self.units  # which hours become
        return space.in_units(units) if isinstance(space, Space) and units else space

    @property
    def depth_unit(self) -> str:
        """The unit of depth that was said, "km" or "m"; empty if none was."""
        return str(self.space).lower().partition(":")[2].strip() if self.word == "earth3d" else ""

    @property
    def word(self) -> str:
        """The word by which a space was asked for, in lower case and without what follows a colon; empty if none."""
        word = self.space.partition(":")[0].lower() if isinstance(self.space, str) else ""
        return word if word in FORMS and (word in ("pose", "earth3d", "graph") or ":" not in str(self.space)) else ""

    @property
    def length(self) -> float | None:
        """The length that counts as much as one radian of a pose; None if no pose was asked for by its word."""
        return pose_length(str(self.space)) if self.word == "pose" else None

    def form(self) -> str | None:
        """The form of the points of the space that was asked for; None if none was."""
        if self.space is None:
            return None
        if isinstance(self.space, Space):
            return self.space.form
        if not isinstance(self.space, str):
            raise InputError.unfit("space", "a heatess space such as Sphere(2), or a word", self.space)
        if self.graph is not None:
            return FORMS["graph"]
        if self.word:
            if self.depth_unit not in ("", "km", "m"):
                raise InputError(
                    f"<+`space='earth3d:km'` or `space='earth3d:m'`+> says the unit of depth, not <!{self.space!r}!>"
                )
            return FORMS[self.word]
        try:
            return named(self.space).form
        except InputError:
            spelled = {"pose": "pose:R", "rotations": "rotations (or rotations:O, with a point group)"}
            words = ", ".join(spelled.get(word, word) for word in FORMS)
            raise InputError.unfit("space", f"one of {words}, or a space such as 'Sphere(2)'", self.space) from None


def _up_to_group(space: Any) -> Any:
    """The rotations up to the point group that is named in "rotations:O"; anything else as it is."""
    word, colon, symmetry = space.partition(":") if isinstance(space, str) else ("", "", "")
    if not colon or word.strip().lower() != "rotations":
        return space
    try:
        return Rotations(symmetry=symmetry.strip())
    except InputError as error:
        raise error.within(f"`space={space!r}`") from None


def pose_length(space: str) -> float:
    """The length R in the text "pose:R"; an `InputError` that asks for it if there is none.

    >>> pose_length("pose:0.5")
    0.5
    """
    text = space.partition(":")[2].strip()
    if not text:
        raise InputError(POSE_LENGTH)
    try:
        length = float(text)
    except ValueError:
        length = math.nan
    if not 0 < length < math.inf:
        raise InputError(
            f"`space='pose:R'` needs <+a positive number for R, the length of a radian+>, but <!R is {text[:40]!r}!>"
        )
    return length


def _numbers(missing: Any) -> tuple[float, ...] | None:
    """The numbers that stand for a missing one; none at all if the user says so, None if nothing is said."""
    if missing is None or (isinstance(missing, str) and missing == "none"):
        return None if missing is None else ()
    given = missing if isinstance(missing, list | tuple) else [missing]
    for number in given:
        if not (is_whole(number) and abs(number) < 1e300) and not isinstance(number, float | np.floating):
            raise InputTypeError.unfit("missing", "a number, several, or 'none'", missing)
    return tuple(float(number) for number in given)
