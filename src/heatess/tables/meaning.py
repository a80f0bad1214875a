"""What the columns of a table mean: recognised by their names where that is certain, else as the user says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import shown
from ..errors import InputError, InputTypeError
from ..spaces import Space, named
from .kinds import (
    PAIRS,
    Colatitude,
    DecInc,
    Kind,
    LonLat,
    Numbers,
    Poses,
    Quaternions,
    RaDec,
    Relion,
    Torsions,
    Vectors,
    numbered_columns,
    quaternion_columns,
)
from .table import Table

_WEIGHTS = ("weight", "weights", "w", "wt")
_LOG_WEIGHTS = ("log_weight", "log_weights", "logw", "log_w", "logweight", "lw")
_POSITIONS = (("tx", "ty", "tz"), ("px", "py", "pz"), ("position.x", "position.y", "position.z"), ("x", "y", "z"))
_UNIT = re.compile(r"(.+?)[\s_]*[\[(]?\s*(deg|degree|degrees|rad|radian|radians)\s*[\])]?", re.I)

#: Columns that are looked at together, to see whether they are unit vectors.
MOST_COLUMNS = 4096

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

#: How columns are named, by the form of their points.
_EXAMPLES = {
    "": "columns={'lon': 'A', 'lat': 'B'}",
    "quaternions": "columns={'qx': 'A', 'qy': 'B', 'qz': 'C', 'qw': 'D'}",
    "angles": "columns=('A', 'B')",
    "numbers": "columns=('A', 'B', 'C')",
    "poses": "columns=('X', 'Y', 'Z', 'QX', 'QY', 'QZ', 'QW')",
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


class Meaning(NamedTuple):
    """What columns mean."""

    kind: Kind
    weight: str  #: the column of weights; empty if there is none
    logs: bool  #: whether they are logarithms
    units: str | None  #: of angles, as far as names or the user tell
    note: str  #: what was left out, for the user


def meaning_of(table: Table, reading: Reading) -> Meaning:
    """Which columns are points and which are weights; an `InputError` that names the choices where it is not clear."""
    return _Search(table, reading).result()


class _Search:
    """The columns of one table under their plain names."""

    def __init__(self, table: Table, reading: Reading) -> None:
        self.table, self.reading = table, reading
        self.plain: dict[str, str] = {}  # in lower case, without a unit, and the column
        self.units = {name: unit for name, unit in table.units.items() if unit in ("deg", "rad")}
        for name in table.names:
            match = _UNIT.fullmatch(name.strip())
            base = match[1] if match else name
            if match:
                self.units.setdefault(name, "deg" if match[2].lower().startswith("deg") else "rad")
            self.plain.setdefault(base.strip().lower(), name)

    def result(self) -> Meaning:
        kind, note = self._chosen()
        weight, logs = self._weights(kind.columns)
        units = self.reading.units
        if units and not kind.angles:
            raise InputError(f"{self.table.source}: units= is for angles, but {kind.words} are not; leave it out")
        if units is None and kind.angles:
            units = self._stated(kind)
        return Meaning(kind, weight, logs, units, note)

    def _stated(self, kind: Kind) -> str | None:
        """The unit that the file states for some of the columns, and so for all; two units are refused."""
        stated = {unit: name for name in kind.columns if (unit := self.units.get(name))}
        if len(stated) > 1:
            raise InputError(
                f"{self.table.source}: column {stated['deg']} is in degrees, but column {stated['rad']} in radians; "
                "name columns of one unit with columns=, or convert one of them"
            )
        return next(iter(stated), None)

    def _chosen(self) -> tuple[Kind, str]:
        form, columns = self.reading.form(), self.reading.columns
        if self.table.space is not None:
            return Numbers(self.table.names[:1]), ""
        if isinstance(columns, Mapping):
            return self._by_roles(columns), ""
        if columns:
            return self._by_names(self._listed(columns), form), ""
        found = [kind for kind in self._candidates(form) if form is None or _fits(kind, form)]
        if not found:
            found = self._every_column(form)
        if len(found) == 1:
            return found[0], self._left_out(found[0])
        self._refuse(found, form)
        raise AssertionError("not reached")

    # As the user says.

    def _by_roles(self, roles: Mapping[str, str]) -> Kind:
        given = {role.lower(): name for role, name in roles.items()}
        kinds: tuple[type[Kind], ...] = (*PAIRS, Quaternions, Poses)
        for kind in kinds:
            if set(kind.roles) == set(given):
                return kind([self._column(given[role]) for role in kind.roles])
        aliases = {"theta": "colat", "phi": "azimuth", "colatitude": "colat"}
        renamed = {aliases.get(role, role): name for role, name in given.items()}
        if set(renamed) == {"colat", "lon"}:
            renamed = {"colat": renamed["colat"], "azimuth": renamed["lon"]}
        if renamed != given:
            return self._by_roles(renamed)
        known = "; ".join(", ".join(kind.roles) for kind in kinds)
        raise InputError(f"columns= has the roles {', '.join(given)}, but must have all of one of: {known}")

    def _by_names(self, names: list[str], form: str | None) -> Kind:
        if form in (None, "vectors"):
            own = [
                kind for kind in self._candidates(form) if set(kind.columns) == set(names) and _fits(kind, "vectors")
            ]
            return own[0] if own else Vectors(names)
        if form == "quaternions":
            own = [kind for kind in self._candidates(form) if set(kind.columns) == set(names) and _fits(kind, form)]
            if len(names) != 4 and not own:
                raise InputError(
                    f"{self.table.source}: rotations have four columns, x, y, z, w, but {len(names)} were named"
                )
            return own[0] if own else Quaternions(names)
        if form == "angles":
            return Torsions(names)
        return Poses(names) if form == "poses" else Numbers(names)

    def _listed(self, columns: str | Sequence[str]) -> list[str]:
        """Names, or a range of neighbouring columns."""
        parts = columns.split(",") if isinstance(columns, str) else list(columns)
        found: list[str] = []
        for part in parts:
            first, colon, last = str(part).partition(":")
            if not colon or str(part) in self.table.names:
                found.append(self._column(str(part)))
                continue
            start, end = (self.table.names.index(self._column(name)) for name in (first, last))
            if start >= end:
                raise InputError(f"{self.table.source}: the range {part} is empty; write it from left to right")
            found += self.table.names[start : end + 1]
        if len(set(found)) < len(found):
            raise InputError(f"{self.table.source}: columns= names {_first_twice(found)} twice")
        return found

    def _column(self, name: str) -> str:
        """The column that the user named; upper and lower case may differ."""
        every = [*self.table.names, *self.table.lists]
        matches = [column for column in every if column == name.strip()]
        matches = matches or [column for column in every if column.lower() == name.strip().lower()]
        if len(matches) == 1:
            return matches[0]
        reason = f"has {len(matches)} columns" if matches else "has no column"
        raise InputError(f"{self.table.source} {reason} {name!r}; {self._found()}{_near(name, every)}")

    # As names tell.

    def _candidates(self, form: str | None) -> list[Kind]:
        """Every meaning that some columns have by their names; a list of an unknown name only if nothing else fits."""
        found = list(self._by_their_names(form))
        known = [
            kind
            for kind in found
            if (form is None or _fits(kind, form))
            and not (kind.columns[0] in self.table.lists and kind.columns[0].lower() not in Vectors.LISTS)
        ]
        return known or found

    def _by_their_names(self, form: str | None) -> Iterator[Kind]:
        plain = self.plain
        turning = [self._as_named(Relion)] + [Quaternions(group) for group in quaternion_columns(self.table.names)]
        rotations = [kind for kind in turning if kind is not None and not self._is_direction(kind)]
        if rotations:
            if form == "poses":
                yield from self._poses(rotations)
                return
            yield from rotations
            return
        pairs = [kind for kind in map(self._as_named, PAIRS) if kind is not None]
        if any(type(kind) is LonLat for kind in pairs):
            pairs = [kind for kind in pairs if type(kind) is not LonLat]
            pairs = [*self._every_lonlat(), *pairs]
        if any(type(kind) is LonLat for kind in pairs):
            pairs = [kind for kind in pairs if type(kind) is not Colatitude]
        if any(type(kind) is RaDec for kind in pairs) and "inc" not in plain and "inclination" not in plain:
            pairs = [kind for kind in pairs if type(kind) is not DecInc]
        yield from pairs
        for triple in Vectors.TRIPLES:
            if all(name in plain for name in triple):
                yield (Numbers if form == "numbers" else Vectors)([plain[name] for name in triple])
        angles = [plain[name] for name in Torsions.ANGLES if name in plain]
        if "phi" in plain and "psi" in plain and "theta" not in plain:
            yield Torsions(angles)
        lists = [name for name in self.table.lists if name.lower() in Vectors.LISTS]
        for name in lists or (self.table.lists if len(self.table.lists) == 1 else []):
            yield (Numbers if form == "numbers" else Torsions if form == "angles" else Vectors)([name])
        numbered = numbered_columns(self.table.names)
        if numbered and not pairs and not lists:
            yield (Numbers if form == "numbers" else Vectors)(numbered)

    def _every_column(self, form: str | None) -> list[Kind]:
        """All columns but the weights, where they are as many as the space takes, or unit vectors together.

        Never four columns that may be a quaternion, whose order only names can tell.
        """
        names = [name for name in self.table.names if name not in self._weights([])]
        if isinstance(self.reading.space, Space):
            kernel = self.reading.space.pair_kernel
            if kernel is None or len(names) != kernel.width or form == "quaternions":
                return []
            make: dict[str | None, Callable[[Sequence[str]], Kind]] = {"vectors": Vectors, "angles": Torsions}
            return [make.get(form, Numbers)(names)]
        fits = self.reading.loose and form in (None, "vectors") and "theta" not in self.plain
        if not fits or not 2 <= len(names) <= MOST_COLUMNS or len(names) == 4:
            return []
        try:
            piece = next(self.table.pieces(names, 1000), None)
        except InputError:  # text
            return []
        if piece is None:
            return []
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(np.column_stack(piece.columns).astype(np.float64), axis=1)
        return [Vectors(names)] if len(lengths) and bool((np.abs(lengths - 1) < 1e-6).all()) else []

    def _as_named(self, kind: type[Kind]) -> Kind | None:
        columns = [next((self.plain[name] for name in names if name in self.plain), None) for names in kind.names]
        chosen = [column for column in columns if column is not None]
        return kind(chosen) if chosen and len(chosen) == len(columns) else None

    def _every_lonlat(self) -> list[Kind]:
        """Longitude and latitude by each of their names, so that two of one kind are a choice and not a guess."""
        east, north = ([self.plain[name] for name in names if name in self.plain] for names in LonLat.names)
        return [LonLat([lon, lat]) for lon in east for lat in north]

    def _is_direction(self, kind: Kind) -> bool:
        """Whether columns x, y, z, w are a weighted direction and no quaternion, as their lengths tell."""
        if [name.strip().lower() for name in kind.columns] != ["x", "y", "z", "w"]:
            return False
        piece = next(self.table.pieces(kind.columns, 10_000), None)
        if piece is None:
            return True
        rows = np.column_stack(piece.columns)
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers that are refused later
            three, four = (np.abs(np.linalg.norm(part, axis=1) - 1) < 1e-3 for part in (rows[:, :3], rows))
        return not bool(four.all()) or bool(three.all())

    def _poses(self, rotations: list[Kind]) -> Iterator[Kind]:
        for triple in _POSITIONS:
            if all(name in self.plain for name in triple):
                places = [self.plain[name] for name in triple]
                for kind in rotations:
                    if not set(places) & set(kind.columns):
                        yield Poses([*places, *kind.columns])
                return

    def _left_out(self, kind: Kind) -> str:
        """Positions beside orientations, which are not used unless asked for."""
        if kind.form != "quaternions":
            return ""
        beside = [
            triple for triple in _POSITIONS if all(self.plain.get(name) not in (None, *kind.columns) for name in triple)
        ]
        return f"positions {', '.join(beside[0])} left out (space='pose' takes both)" if beside else ""

    def _weights(self, used: list[str]) -> tuple[str, bool]:
        reading = self.reading
        if reading.weights == "none":
            return "", False
        if reading.weights or reading.log_weights:
            return self._column(str(reading.weights or reading.log_weights)), reading.log_weights is not None
        plain, logs = (
            [self.plain[n] for n in names if n in self.plain and self.plain[n] not in used]
            for names in (_WEIGHTS, _LOG_WEIGHTS)
        )
        if len(plain) + len(logs) > 1:
            choice = " or ".join([*(f"weights={n!r}" for n in plain), *(f"log_weights={n!r}" for n in logs)])
            raise InputError(f"{self.table.source} has columns {' and '.join(plain + logs)}; choose with {choice}")
        return (plain + logs + [""])[0], bool(logs)

    # What is not clear.

    def _refuse(self, found: list[Kind], form: str | None) -> None:
        source, plain = self.table.source, self.plain
        if len(found) > 1:
            every = " and ".join(f"({kind.words})" for kind in found)
            choice = " or ".join(_spelled(kind) for kind in found)
            raise InputError(f"{source} has more than one kind of points: {every}; choose with {choice}")
        if "theta" in plain and "phi" in plain:
            theta, phi = plain["theta"], plain["phi"]
            one, other = (f"columns={{'colat': {a!r}, 'azimuth': {b!r}}}" for a, b in ((theta, phi), (phi, theta)))
            raise InputError(
                f"{source}: columns {theta}, {phi} may be colatitude and azimuth, in either order, or periodic angles; "
                f"say {one}, or {other}, or space='torus', columns=({theta!r}, {phi!r}), and units='rad' or units='deg'"
            )
        if all(f"q{k}" in plain for k in range(4)):
            raise InputError(
                f"{source}: columns q0, q1, q2, q3 are a quaternion with the scalar first or last; say "
                "columns={'qx': 'q1', 'qy': 'q2', 'qz': 'q3', 'qw': 'q0'} if q0 is the scalar, or "
                "columns={'qx': 'q0', 'qy': 'q1', 'qz': 'q2', 'qw': 'q3'} if q3 is"
            )
        if form == "quaternions" and len(self.table.names) == 4:
            first, *others = self.table.names
            last = dict(zip(Quaternions.roles, self.table.names, strict=True))
            head = dict(zip(Quaternions.roles, [*others, first], strict=True))
            raise InputError(
                f"{source}: the four columns may be quaternions with the scalar first or last; say columns={last} if "
                f"{self.table.names[3]} is the scalar, or columns={head} if {first} is"
            )
        likely = self._likely()
        what = (
            f"points for space={self.reading.space!r}"
            if form
            else "points (such as lon, lat or ra, dec or x, y, z or qx, qy, qz, qw)"
        )
        how = (
            f"did you mean {likely}?"
            if likely
            else f"name the columns with columns=, for instance {_EXAMPLES.get(form or '', _EXAMPLES[''])}"
        )
        raise InputError(f"{source} has no columns known to hold {what}; {how} ({self._found()})")

    def _likely(self) -> str:
        """The pair of columns whose names contain lon and lat, ra and dec, or the like; as an argument."""
        for kind in (LonLat, RaDec, DecInc, Colatitude):
            chosen = []
            for role, names in zip(kind.roles, kind.names, strict=True):
                tokens = {*names, role}
                fits = [c for c in self.table.names if tokens & set(re.split(r"[^a-z]+", c.lower()))]
                fits = fits or [c for c in self.table.names if any(len(t) > 2 and t in c.lower() for t in tokens)]
                chosen.append(fits[0] if fits else "")
            if all(chosen) and len(set(chosen)) == len(chosen):
                return _spelled(kind(chosen))
        return ""

    def _found(self) -> str:
        every = [name or "(no name)" for name in (*self.table.names, *self.table.lists)]
        shown = every if len(every) <= 12 else [*every[:8], "...", *every[-2:]]
        return f"found {len(every)} columns: " + ", ".join(shown) if every else "no columns of numbers were found"


def _fits(kind: Kind, form: str) -> bool:
    """Whether a kind of columns gives points of this form."""
    return kind.form == form or (form == "numbers" and isinstance(kind, Vectors))


def _spelled(kind: Kind) -> str:
    """The argument that chooses these columns."""
    if kind.names and kind.roles:
        return (
            "columns={"
            + ", ".join(f"{role!r}: {name!r}" for role, name in zip(kind.roles, kind.columns, strict=True))
            + "}"
        )
    if isinstance(kind, Quaternions):
        return "space='rotations', columns=" + repr(tuple(kind.columns))
    if isinstance(kind, Torsions):
        return "space='torus', columns=" + repr(tuple(kind.columns))
    return "columns=" + (repr(tuple(kind.columns)) if len(kind.columns) > 1 else repr(kind.columns[0]))


def _first_twice(names: list[str]) -> str:
    return next(name for name in names if names.count(name) > 1)


def _near(name: str, every: Sequence[str]) -> str:
    from difflib import get_close_matches

    close: list[Any] = get_close_matches(name, every, 1)
    return f"; did you mean {close[0]!r}?" if close else ""
