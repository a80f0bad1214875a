"""How the user says that a table is to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..arrays import shown
from ..errors import InputError, InputTypeError
from ..spaces import Space, named

#: Spaces by the words that --space and space= take, and the form of their points.
FORMS = {
    "sphere": "vectors",
    "projective": "vectors",
    "rotations": "quaternions",
    "torus": "angles",
    "circle": "angles",
    "euclidean": "numbers",
    "hyperbolic": "numbers",
    "pose": "poses",
}


@dataclass(frozen=True)
class Reading:
    """How to read a table, where its names and numbers do not make it clear.

    Attributes
    ----------
    space : Space or str, optional
        A space, its repr, or a word: sphere, projective, rotations, torus, circle, euclidean, hyperbolic, pose.
    columns : str, sequence of str or mapping, optional
        The columns that hold the points: names, a range such as "dim_0:dim_383", or roles and names, such as
        {"lon": "site_long", "lat": "site_lat"}. Roles are lon, lat; ra, dec; dec, inc; colat, azimuth; qx, qy, qz, qw.
    units : {"deg", "rad"}, optional
        Unit of angles; needed where the numbers could be either.
    weights, log_weights : str, optional
        Column of weights or of their logarithms. The word "none" for weights means equal weights.
    normalize : bool
        Scale vectors to unit length. If false, other lengths are refused.
    drop_missing : bool
        Leave out rows in which a number is missing, and count them. If false, they are refused.
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
    loose: bool = False

    def __post_init__(self) -> None:
        for name in ("weights", "log_weights"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value.strip()):
                raise InputTypeError(f"{name} must be the name of a column, but is {shown(value)}")
        for name in ("normalize", "drop_missing"):
            if not isinstance(getattr(self, name), bool):
                raise InputTypeError(f"{name} must be true or false, but is {shown(getattr(self, name))}")
        named = self.columns
        known = named is None or isinstance(named, str | Mapping | list | tuple)
        parts = [*named, *(named.values() if isinstance(named, Mapping) else ())] if known and named is not None else []
        if not known or not all(isinstance(part, str) for part in parts):
            raise InputTypeError(f"columns must be names, or roles and names, but are {shown(named)}")
        if self.weights and self.log_weights:
            raise InputError("give weights or log_weights, not both")
        if self.units is not None and (not isinstance(self.units, str) or self.units not in ("deg", "rad")):
            raise InputError(f"units must be 'deg' or 'rad', but found {shown(self.units)}")
        self.form()
        object.__setattr__(self, "space", self._made())

    def _made(self) -> Space | str | None:
        """The space itself where it was written out, such as "Torus(2)", in the units that were said."""
        space = self.space
        if isinstance(space, str) and space.lower() not in FORMS:
            space = named(space)
        return space.in_units(self.units) if isinstance(space, Space) and self.units else space

    def form(self) -> str | None:
        """The form of the points of the space that was asked for; None if none was."""
        if self.space is None:
            return None
        if isinstance(self.space, Space):
            return self.space.form
        if not isinstance(self.space, str):
            raise InputError(f"space must be a heatess space such as Sphere(2), or a word, but is {self.space!r}")
        if self.space.lower() in FORMS:
            return FORMS[self.space.lower()]
        try:
            return named(self.space).form
        except InputError:
            words = ", ".join(FORMS)
            raise InputError(
                f"space must be one of {words}, or a space such as 'Sphere(2)', not {self.space!r}"
            ) from None
