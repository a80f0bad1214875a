"""What the columns of a table mean: recognised by their names where that is certain, else as the user says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..errors import InputError
from ..spaces import Space
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
from .reading import FORMS, Reading
from .suggest import likely_pair, near, spelled
from .table import Table
from .units import OTHERS, split_unit

__all__ = ["FORMS", "Meaning", "Reading", "meaning_of"]

_WEIGHTS = ("weight", "weights", "w", "wt")
_LOG_WEIGHTS = (
    *("log_weight", "log_weights", "logw", "log_w", "logweight", "logweights", "lw", "logwt", "log_wt"),
    *("ln_weight", "ln_weights", "lnw", "ln_w"),
)
_LIKE_WEIGHTS = re.compile(r".*(weight|(^|[^a-z])wt([^a-z]|$)|(log|ln)_?w(t|$)).*", re.I)
_WEIGHT_FILE = re.compile(r"\.(npz|txt|csv|dat|tsv|json|parquet|h5)$", re.I)
_OTHER_BASE = re.compile(r"log_?(10|2)(?!\d)", re.I)
_POSITIONS = (("tx", "ty", "tz"), ("px", "py", "pz"), ("position.x", "position.y", "position.z"), ("x", "y", "z"))

_EULER = ("yaw", "pitch", "roll", "rot", "tilt", "psi", "theta", "phi", "euler1", "euler2", "euler3", "phi1", "phi2")

#: Columns that are looked at together, to see whether they are unit vectors.
MOST_COLUMNS = 4096

#: How columns are named, by the form of their points.
_EXAMPLES = {
    "": "columns={'lon': 'A', 'lat': 'B'}",
    "quaternions": "columns={'qx': 'A', 'qy': 'B', 'qz': 'C', 'qw': 'D'}",
    "angles": "columns=('A', 'B')",
    "numbers": "columns=('A', 'B', 'C')",
    "poses": "columns=('X', 'Y', 'Z', 'QX', 'QY', 'QZ', 'QW')",
}


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
        self.units = {name: unit.lower() for name, unit in table.units.items() if unit}
        self.same: dict[str, list[str]] = {}  # columns that differ in upper and lower case alone
        split = {name: split_unit(name) for name in table.names}
        for name, (base, unit) in sorted(split.items(), key=lambda item: item[1].rank):
            if unit:
                self.units.setdefault(name, unit)
            first = self.plain.setdefault(base, name)
            if split[first].unit == unit:
                self.same.setdefault(first, []).append(name)

    def result(self) -> Meaning:
        kind, note = self._chosen()
        if self.reading.columns is None:
            self._refuse_same(kind)
        weight, logs = self._weights(kind.columns)
        if not weight and self.reading.weights is None:
            note = "; ".join(filter(None, [note, self._unused_weights(kind)]))
        units = self.reading.units
        if units and not kind.angles:
            raise InputError(f"{self.table.source}: units= is for angles, but {kind.words} are not; leave it out")
        if units is None and kind.angles:
            units = self._stated(kind)
        return Meaning(kind, weight, logs, units, note)

    def _stated(self, kind: Kind) -> str | None:
        """The unit that the file states for some of the columns, and so for all; two units are refused."""
        for name in kind.columns:
            if self.units.get(name) in OTHERS:
                unit, remedy = OTHERS[self.units[name]]
                raise InputError(
                    f"{self.table.source}: column {name} says that it is in {unit}; {remedy} to make degrees of it, "
                    "and rename it, or add units='deg' if it holds degrees already"
                )
        if isinstance(kind, Relion):  # which the numbers have to bear out
            return None
        stated = {unit: name for name in kind.columns if (unit := self.units.get(name, "")) in ("deg", "rad")}
        if len(stated) > 1:
            raise InputError(
                f"{self.table.source}: column {stated['deg']} is in degrees, but column {stated['rad']} in radians; "
                "name columns of one unit with columns=, or convert one of them"
            )
        return next(iter(stated), None)

    def _refuse_same(self, kind: Kind) -> None:
        """Refuse to choose between columns such as Lon and lon."""
        for name in kind.columns:
            if len(same := self.same.get(name, [])) > 1:
                raise InputError(
                    f"{self.table.source} has columns {' and '.join(same)}; choose with {spelled(kind)}, "
                    "or with another of them"
                )

    def _chosen(self) -> tuple[Kind, str]:
        form, columns = self.reading.form(), self.reading.columns
        if self.table.space is not None:
            self._refuse_other_space()
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

    def _refuse_other_space(self) -> None:
        """Refuse arguments that a file with a space of its own, such as a mesh, would pass over."""
        reading = self.reading
        given = {"space": reading.space is not None, "columns": reading.columns is not None}
        given |= {"units": reading.units is not None, "normalize": reading.normalize}
        for name, is_given in given.items():
            if is_given:
                raise InputError(
                    f"{self.table.source} is a surface, and its points are the nodes of it; leave out {name}=, or save "
                    "the positions alone to read them as points"
                )

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
        raise InputError(f"{self.table.source} {reason} {name!r}; {self._found()}{near(name, every)}")

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
        if form == "angles" and len(names) == 1 == self._dimension():
            return [Torsions(names)]
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
            three, four = (np.linalg.norm(part, axis=1) for part in (rows[:, :3], rows))
        if (np.abs(three - 1) < 1e-3).all() or (np.abs(four - 1) < 1e-3).all():
            return bool((np.abs(three - 1) < 1e-3).all())
        return not _steady(four) or _steady(three)  # quaternions that were rounded or scaled

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
            asked = str(reading.weights or reading.log_weights)
            if _WEIGHT_FILE.search(asked) and asked not in self.table.names:
                raise InputError(
                    f"{self.table.source} has no column {asked!r}; weights in a file of their own are read from .npy: "
                    "write them with numpy.save"
                )
            name = self._column(asked)
            if reading.log_weights and (other := _OTHER_BASE.search(name)):
                raise InputError(
                    f"{self.table.source}: column {name} says that its logarithms have base {other[1]}, but "
                    f"log-weights are natural logarithms; multiply it by {math.log(int(other[1])):.15g}, and rename it"
                )
            return name, reading.log_weights is not None
        plain, logs = (
            [self.plain[n] for n in names if n in self.plain and self.plain[n] not in used]
            for names in (_WEIGHTS, _LOG_WEIGHTS)
        )
        if len(plain) + len(logs) > 1:
            choice = " or ".join([*(f"weights={n!r}" for n in plain), *(f"log_weights={n!r}" for n in logs)])
            raise InputError(f"{self.table.source} has columns {' and '.join(plain + logs)}; choose with {choice}")
        return (plain + logs + [""])[0], bool(logs)

    def _unused_weights(self, kind: Kind) -> str:
        """A column that may be weights by its name, but is not known to be, so that nobody overlooks it."""
        used = set(kind.columns)
        for name in self.table.names:
            if name not in used and _LIKE_WEIGHTS.fullmatch(name):
                argument = "log_weights" if re.search(r"log|ln", name, re.I) else "weights"
                return f"column {name} not used ({argument}={name!r} takes it as {argument.replace('_', '-')})"
        return ""

    # What is not clear.

    def _refuse(self, found: list[Kind], form: str | None) -> None:
        source, plain = self.table.source, self.plain
        if len(found) > 1:
            every = " and ".join(f"({kind.words})" for kind in found)
            choice = " or ".join(spelled(kind) for kind in found)
            raise InputError(f"{source} has more than one kind of points: {every}; choose with {choice}")
        if "theta" in plain and "phi" in plain and form in (None, "vectors", "angles") and "psi" not in plain:
            theta, phi = plain["theta"], plain["phi"]
            one, other = (f"columns={{'colat': {a!r}, 'azimuth': {b!r}}}" for a, b in ((theta, phi), (phi, theta)))
            raise InputError(
                f"{source}: columns {theta}, {phi} may be colatitude and azimuth, in either order, or periodic angles; "
                f"say {one}, or {other}, or space='torus', columns=({theta!r}, {phi!r}), and units='rad' or units='deg'"
            )
        four = self._four()
        if four and form in (None, "quaternions"):
            last, head = (dict(zip(Quaternions.roles, names, strict=True)) for names in (four, [*four[1:], four[0]]))
            raise InputError(
                f"{source}: columns {', '.join(four)} are a quaternion with the scalar first or last; say "
                f"columns={head} if {four[0]} is the scalar, or columns={last} if {four[3]} is"
            )
        euler = [plain[name] for name in _EULER if name in plain]
        if len(euler) == 3 and form in (None, "quaternions"):
            raise InputError(
                f"{source}: columns {', '.join(euler)} seem to be Euler angles, of which there are many conventions; "
                "turn them into quaternions with heatess.from_euler, and read columns qx, qy, qz, qw"
            )
        if form in (None, "vectors") and len(self.table.lists) > 1:
            choice = " or ".join(f"columns={name!r}" for name in self.table.lists[:6])
            raise InputError(f"{source} has more than one column of vectors; choose with {choice}")
        likely = likely_pair(self.table.names) if form in (None, "vectors") else ""
        what = (
            f"points for space={str(self.reading.space)!r}"
            if form
            else "points (such as lon, lat or ra, dec or x, y, z or qx, qy, qz, qw)"
        )
        example = "columns='A'" if self._dimension() == 1 else _EXAMPLES.get(form or "", _EXAMPLES[""])
        how = f"did you mean {likely}?" if likely else f"name the columns with columns=, for instance {example}"
        raise InputError(f"{source} has no columns known to hold {what}; {how} ({self._found()})")

    def _four(self) -> list[str]:
        """Four columns of a quaternion whose scalar may be first or last: q0 to q3, q1 to q4, or the only ones."""
        for start in (0, 1):
            if all(f"q{k + start}" in self.plain for k in range(4)):
                return [self.plain[f"q{k + start}"] for k in range(4)]
        return self.table.names if self.reading.form() == "quaternions" and len(self.table.names) == 4 else []

    def _dimension(self) -> int | None:
        """The number of columns that the space takes, where that is known."""
        space = self.reading.space
        if isinstance(space, str):
            return 1 if space.lower() == "circle" else None
        return space.dim if space is not None and space.form in ("angles", "numbers") else None

    def _found(self) -> str:
        lists = [name for name in self.table.lists if name != "rows"]
        # A quote that is not closed makes a name of several lines.
        every = [" ".join(name.split()) or "(no name)" for name in (*self.table.names, *lists)]
        shown = every if len(every) <= 12 else [*every[:8], "...", *every[-2:]]
        count = f"{len(every)} column{'s' * (len(every) != 1)}"
        return f"found {count}: " + ", ".join(shown) if every else "no columns of numbers were found"


def _steady(lengths: FloatArray) -> bool:
    """Whether lengths, apart from missing ones, are all about the same."""
    lengths = lengths[~np.isnan(lengths)]
    return len(lengths) > 0 and 0 < float(lengths.max()) <= 1.05 * float(lengths.min())


def _fits(kind: Kind, form: str) -> bool:
    """Whether a kind of columns gives points of this form."""
    return kind.form == form or (form == "numbers" and isinstance(kind, Vectors))


def _first_twice(names: list[str]) -> str:
    return next(name for name in names if names.count(name) > 1)
