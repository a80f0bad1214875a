"""What the columns of a table mean: recognised by their names where that is certain, else as the user says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..spaces import Space
from . import euler
from .angle_units import Stated, stated
from .column_names import (
    PAIRS,
    Colatitude,
    DecInc,
    Ecliptic,
    Galactic,
    Kind,
    LonLat,
    Numbers,
    RaDec,
    Torsions,
    Vectors,
    numbered_columns,
)
from .earth_depths import Depths, depth_column, depth_unit
from .edge_columns import edge_columns
from .read_options import FORMS, Reading
from .rotation_columns import (
    Euler,
    ListedQuaternions,
    Matrices,
    Poses,
    Quaternions,
    Relion,
    RotationVectors,
    ScalarFirst,
    TurnedPoses,
    are_turns,
    matrix_columns,
    quaternion_columns,
    stacked_matrices,
)
from .suggest import likely_pair, matrices_said, near, other_pairs, spelled, sphere_or_rotations
from .table import Rows, Table
from .text_angles import with_angles
from .units import split_unit

__all__ = ["FORMS", "Meaning", "Reading", "meaning_of"]

#: Columns that are weights, or their logarithms, by their names.
WEIGHTS = ("weight", "weights", "w", "wt")
LOG_WEIGHTS = (
    *("log_weight", "log_weights", "logw", "log_w", "logweight", "logweights", "lw", "logwt", "log_wt"),
    *("ln_weight", "ln_weights", "lnw", "ln_w"),
)
_LIKE_WEIGHTS = re.compile(
    r".*(weight|multiplicity|(^|[^a-z])(wt|counts?|prob(ability|density)?)([^a-z]|$)|(log|ln)_?w(t|$)).*", re.I
)
_WEIGHT_FILE = re.compile(r"\.(npz|txt|csv|dat|tsv|json|parquet|h5)$", re.I)
_OTHER_BASE = re.compile(r"log_?(10|2)(?!\d)", re.I)
_BIASES = (".bias", ".rbias")  # energies of PLUMED
_POSITIONS = (
    *(("tx", "ty", "tz"), ("px", "py", "pz"), ("position.x", "position.y", "position.z")),
    *(("p_rs_r_x", "p_rs_r_y", "p_rs_r_z"), ("x", "y", "z")),
)

#: Columns that are looked at together, to see whether they are unit vectors.
MOST_COLUMNS = 4096

_NO_TEXT = "convert it to numbers, or write angles as 05h34m31.97s, +22:00:52.2 or 45.5S"

#: How columns are named, by the form of their points.
_EXAMPLES = {
    "": "`columns={'lon': 'A', 'lat': 'B'}`, or `space='circle', columns='A'`, or `space='euclidean', columns=('A', "
    "'B')`",
    "quaternions": "`columns={'qx': 'A', 'qy': 'B', 'qz': 'C', 'qw': 'D'}`",
    "angles": "`columns=('A', 'B')`",
    "numbers": "`columns=('A', 'B', 'C')`",
    "poses": "`columns=('X', 'Y', 'Z', 'QX', 'QY', 'QZ', 'QW')`",
}


class Meaning(NamedTuple):
    """What columns mean."""

    kind: Kind
    weight: str  #: the column of weights; empty if there is none
    logs: bool  #: whether they are logarithms
    units: str | None  #: of angles, as far as names or the user tell
    note: str  #: what was left out, for the user
    sure: bool = True  #: whether numbers cannot contradict the units


def meaning_of(table: Table, reading: Reading) -> Meaning:
    """Which columns are points and which are weights; an `InputError` that names the choices where it is not clear."""
    return _Search(with_angles(table, reading), reading).result()


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
        elif logs and weight.endswith(_BIASES):
            note = "; ".join(filter(None, [note, f"{weight} taken for a bias divided by kT already"]))
        said = self.reading.units
        if said and not kind.angles:
            raise InputError(
                f"{self.table.source}: `units=` is for <+angles+>, but <!{kind.words}!> are not; leave it out"
            )
        found = stated(kind.angular, self.table, self.units, said) if kind.angles else Stated(None)
        return Meaning(kind, weight, logs, found.unit, note, found.sure)

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
        if form == "depths" and not isinstance(columns, Mapping):
            return self._depths(columns), ""
        if self.table.space is not None:
            self._refuse_other_space()
            return Numbers(self.table.names[:1]), ""
        if self.reading.euler:
            return self._turned(self.reading.euler)
        if isinstance(columns, Mapping):
            return self._by_roles(columns), ""
        if columns:
            names = self._listed(columns)
            return self._by_names(names, form), self._on_torus(names, form)
        found = [kind for kind in self._candidates(form) if form is None or _fits(kind, form)]
        self._ask_euler(found, form)
        if not found:
            found = self._every_column(form)
        if len(found) == 1:
            names = [name for name in self.table.names if name not in self.table.texts]
            return found[0], "; ".join(filter(None, [self._left_out(found[0]), *other_pairs(names, found[0])]))
        self._refuse(found, form)
        raise AssertionError("not reached")

    def _refuse_other_space(self) -> None:
        """Refuse arguments that a file with a space of its own, such as a mesh, would pass over."""
        reading = self.reading
        given = {"space": reading.space is not None, "columns": reading.columns is not None}
        given |= {"units": reading.units is not None, "normalize": reading.normalize}
        for name, is_given in given.items():
            if is_given:
                graph = self.table.names[:1] == ["node"]
                advice = "" if graph else ", or save the positions alone to read them as points"
                what = "graph" if graph else "surface"
                raise InputError(
                    f"{self.table.source} is a {what}, and its points are the nodes of it; leave out `{name}=`{advice}"
                )

    # As the user says.

    def _turned(self, convention: str) -> tuple[Kind, str]:
        """Euler angles of a convention, and the positions before them where poses are asked for."""
        names, source, columns = self.table.names, self.table.source, self.reading.columns
        if isinstance(columns, Mapping):
            raise InputError(f"{source}: `euler=` takes <+names of columns in the order of the angles, without roles+>")
        angles = self._listed(columns) if columns else euler.angles_of(names, self.table.lists, convention)
        if not angles and isinstance(self.table, Rows) and len(names) == 3:
            angles = list(names)
        if self.reading.form() == "poses" and len(angles) > 3:
            return TurnedPoses(angles[:-3], Euler(angles[-3:], convention)), ""
        width = 1 if angles and angles[0] in self.table.lists else 3
        if len(angles) != width:
            count = f", not {len(angles)}" if angles else ""
            raise InputError(
                f"{source}: `euler={convention!r}` needs <+three columns+>{count}, in the order of its angles; name "
                f"them, for instance with `columns=('A', 'B', 'C')` ({self._found()})"
            )
        kind = Euler(angles, convention)
        if self.reading.form() != "poses":
            return kind, "" if columns else self._left_out(kind)
        places = self._places([kind])
        if not places:
            raise InputError(
                f"{source} has no <+columns known to hold positions+>; name them before the angles, for instance with "
                f"`columns=('X', 'Y', 'Z', {', '.join(map(repr, angles))})` ({self._found()})"
            )
        return TurnedPoses(places, kind), ""

    def _by_roles(self, roles: Mapping[str, str]) -> Kind:
        given = {role.lower(): name for role, name in roles.items()}
        if set(given) == set(Depths.roles):
            return self._at_depth([self._column(given[role]) for role in Depths.roles])
        kinds: tuple[type[Kind], ...] = (*PAIRS, Relion, Quaternions, ListedQuaternions, ScalarFirst, Poses)
        for kind in kinds:
            if set(kind.roles) == set(given):
                return kind([self._column(given[role]) for role in kind.roles])
        aliases = {"theta": "colat", "phi": "azimuth", "colatitude": "colat"}
        renamed = {aliases.get(role, role): name for role, name in given.items()}
        if set(renamed) == {"colat", "lon"}:
            renamed = {"colat": renamed["colat"], "azimuth": renamed["lon"]}
        if renamed != given:
            return self._by_roles(renamed)
        known = "; ".join(", ".join(roles) for roles in (*(kind.roles for kind in kinds), Depths.roles))
        raise InputError(f"`columns=` has the roles <!{', '.join(given)}!>, but must have <+all of one of: {known}+>")

    def _depths(self, columns: str | Sequence[str] | None) -> Kind:
        """Longitude, latitude and depth by their names, among those that the user gave or all."""
        names = self.table.names if columns is None else self._listed(columns)
        plain = {split_unit(name).base: name for name in names}
        found = [next((plain[word] for word in words if word in plain), "") for words in LonLat.names]
        found.append(depth_column([name for name in names if name not in found]))
        if not all(found):
            roles = {role: role.upper() for role in Depths.roles}
            raise InputError(
                f"{self.table.source}: `space='earth3d'` takes <+longitude, latitude and depth+>, but their names do "
                f"not tell which is which; say `columns={roles}` with the names of the columns ({self._found()})"
            )
        return self._at_depth(found)

    def _at_depth(self, names: list[str]) -> Kind:
        if self.reading.form() not in (None, "depths"):
            raise InputError(
                f"{self.table.source}: longitude, latitude and depth are for <+`space='earth3d'`+>, not for "
                f"<!`space={str(self.reading.space)!r}`!>; leave one of them out"
            )
        return Depths(names, depth_unit(names[2], self.table.units, self.reading.depth_unit, self.table.source))

    def _by_names(self, names: list[str], form: str | None) -> Kind:
        if form in (None, "vectors"):
            own = [
                kind
                for kind in self._candidates(form)
                if set(kind.columns) == set(names) and kind.form in ("vectors", "quaternions" if form is None else "")
            ]
            if not own and form is None and (angles := euler.likely_angles(names, names)) and len(angles) == len(names):
                raise InputError(f"{self.table.source}: {euler.question(angles)}")
            return own[0] if own else Vectors(names)
        if form == "quaternions":
            own = [kind for kind in self._candidates(form) if set(kind.columns) == set(names) and _fits(kind, form)]
            if len(names) in Matrices.WIDTHS and not own:
                return Matrices(names)
            if len(names) != 4 and not own:
                three = (
                    "; for three Euler angles add their convention, such as `euler='bunge'`" if len(names) == 3 else ""
                )
                raise InputError(
                    f"{self.table.source}: rotations have <+four columns, x, y, z, w+>, but <!{len(names)}!> were "
                    f"named{three}"
                )
            return own[0] if own else Quaternions(names)
        if form == "angles":
            return Torsions(names)
        if form == "poses" and len(names) in Matrices.WIDTHS[1:] and self._are_matrices(names):
            return TurnedPoses(Matrices(names).places, Matrices(names).alone)
        if form == "poses" and len(names) < 5:
            raise InputError(
                f"{self.table.source}: poses have <+columns of positions, and four of a quaternion, x, y, z, w+>, but "
                f"<!{len(names)}!> were named"
            )
        return Poses(names) if form == "poses" else Numbers(names)

    def _on_torus(self, names: Sequence[str], form: str | None) -> str:
        """A word about angles that were asked for on a torus, but may be Euler angles by their names."""
        angles = euler.likely_angles(names) if form == "angles" else []
        words = "may be Euler angles, which are no torus (`euler=` and their convention reads them as rotations)"
        return f"{', '.join(angles)} {words}" if angles else ""

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
                raise InputError(f"{self.table.source}: the range {part} is <!empty!>; write it from left to right")
            found += self.table.names[start : end + 1]
        if len(set(found)) < len(found):
            raise InputError(f"{self.table.source}: `columns=` names <!{_first_twice(found)} twice!>")
        return found

    def _column(self, name: str) -> str:
        """The column that the user named; upper and lower case may differ."""
        every = [*self.table.names, *self.table.lists]
        matches = [column for column in every if column == name.strip()]
        matches = matches or [column for column in every if column.lower() == name.strip().lower()]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            self._refuse_text(name)
        reason = f"has {len(matches)} columns {name!r}" if matches else f"has no <+column {name!r}+>"
        raise InputError(f"{self.table.source} {reason}; {self._found()}{near(name, every)}")

    def _refuse_text(self, name: str) -> None:
        """Refuse a column of text that is no angle, which is there but of no use."""
        for text in self.table.texts:
            if text.lower() == name.strip().lower():
                raise InputError(f"{self.table.source}: column {text} is <!text{self._such_as(text)}!>; {_NO_TEXT}")

    def _such_as(self, text: str) -> str:
        first = next((entry.strip() for entry in self.table.glance(text) if entry.strip()), "")
        return f", such as {first[:40]!r}" if first else ""

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
        rotations = list(self._rotations())
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
        for known, same in ((RaDec, (Galactic, Ecliptic)), (Galactic, (Ecliptic,))):  # one direction in several frames
            if any(type(kind) is known for kind in pairs):
                pairs = [kind for kind in pairs if type(kind) not in same]
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

    def _rotations(self) -> Iterator[Kind]:
        relion = self._as_named(Relion)
        if relion is not None:
            yield relion
        angles = euler.angles_of(self.table.names, self.table.lists, self.table.euler) if self.table.euler else []
        if angles:
            yield Euler(angles, self.table.euler)
        for group in quaternion_columns(self.table.names):
            kind = Quaternions(group)
            if not self._is_direction(kind):
                yield kind
        yield from (
            kind for kind in map(Matrices, matrix_columns(self.table.names)) if self._are_matrices(kind.columns)
        )
        yield from (RotationVectors([name]) for name in self.table.lists if RotationVectors.NAME.fullmatch(name))

    def _ask_euler(self, found: list[Kind], form: str | None) -> None:
        """Ask about columns that may be Euler angles, unless other names tell what the points are."""
        angles = euler.likely_angles(self.table.names, self.table.lists)
        found = [kind for kind in found if kind.columns != angles or kind.form != "vectors"]
        told = [kind for kind in found if tuple(name.strip().lower() for name in kind.columns) not in Vectors.TRIPLES]
        if angles and not told and form in (None, "quaternions", "poses"):
            also = f"; columns {found[0].words} alone are {spelled(found[0])}" if found else ""
            raise InputError(f"{self.table.source}: {euler.question(angles)}{also}")

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
        if form in ("quaternions", "poses") and self._are_matrices(names):
            kind = Matrices(names)
            return [kind] if form == "quaternions" else [TurnedPoses(kind.places, kind.alone)] if kind.places else []
        fits = self.reading.loose and form in (None, "vectors") and "theta" not in self.plain
        if not fits or not 2 <= len(names) <= MOST_COLUMNS or len(names) == 4:
            return []
        return [Vectors(names)] if self._are_unit(names) else []

    def _are_unit(self, names: list[str]) -> bool:
        """Whether the first rows of some columns are unit vectors."""
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(self._first_rows(names), axis=1)
        return len(lengths) > 0 and bool((np.abs(lengths - 1) < 1e-6).all())

    def _are_matrices(self, names: list[str]) -> bool:
        """Whether the first rows of some columns, apart from missing ones, are rotation matrices row by row."""
        if len(names) not in Matrices.WIDTHS:
            return False
        rows = self._first_rows(names)
        rows = rows[np.isfinite(rows).all(axis=1)]
        return len(rows) > 0 and bool(are_turns(stacked_matrices(rows)).mean() > 0.9)

    def _first_rows(self, names: list[str]) -> FloatArray:
        """The first 1,000 rows of some columns; none if they hold text."""
        try:
            piece = next(self.table.pieces(names, 1000), None)
        except InputError:
            piece = None
        return np.empty((0, len(names))) if piece is None else np.column_stack(piece.columns).astype(np.float64)

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
        for kind in rotations:
            places = self._places([kind])
            if places and isinstance(kind, Euler | Matrices):
                yield TurnedPoses(places, kind.alone if isinstance(kind, Matrices) else kind)
            elif places and type(kind) is Quaternions:
                yield Poses([*places, *kind.columns])

    def _places(self, beside: Sequence[Kind]) -> list[str]:
        """The columns of positions beside those of some kinds."""
        inside = next((kind.places for kind in beside if isinstance(kind, Matrices) and kind.places), [])
        if inside:
            return inside
        used = [name for kind in beside for name in kind.columns]
        for triple in _POSITIONS:
            places = [self.plain[name] for name in triple if name in self.plain]
            if len(places) == 3 and not set(places) & set(used):
                return places
        return []

    def _left_out(self, kind: Kind) -> str:
        """Positions beside orientations, and angles and depths beside places, which are not used unless asked for."""
        depth = depth_column(self.table.names) if type(kind) is LonLat else ""
        if depth.lower().startswith("dep"):
            return f"{depth} left out (`space='earth3d'` takes it too)"
        if kind.form != "quaternions":
            angles = euler.likely_angles(self.table.names)
            beside = angles and not set(angles) & set(kind.columns) and not isinstance(kind, Torsions)
            return (
                f"{', '.join(angles)} left out (`euler=` and their convention reads them as rotations)"
                if beside
                else ""
            )
        places = self._places([kind])
        words = "takes both, R being the length that counts as much as one radian"
        return f"positions {', '.join(places)} left out (`space='pose:R'` {words})" if places else ""

    def _weights(self, used: list[str]) -> tuple[str, bool]:
        reading = self.reading
        if reading.weights == "none":
            return "", False
        if reading.weights or reading.log_weights:
            asked = str(reading.weights or reading.log_weights)
            if _WEIGHT_FILE.search(asked) and asked not in self.table.names:
                raise InputError(
                    f"{self.table.source} has no <+column {asked!r}+>; weights in a file of their own are read from "
                    ".npy: write them with `numpy.save`"
                )
            name = self._column(asked)
            if reading.log_weights and (other := _OTHER_BASE.search(name)):
                raise InputError(
                    f"{self.table.source}: column {name} says that its logarithms have <!base {other[1]}!>, but "
                    f"log-weights are <+natural logarithms+>; multiply it by {math.log(int(other[1])):.15g} and rename"
                )
            return name, reading.log_weights is not None
        plain, logs = (
            [self.plain[n] for n in names if n in self.plain and self.plain[n] not in used]
            for names in (WEIGHTS, LOG_WEIGHTS)
        )
        if {"u", "v"} <= set(self.plain):  # w is the third component of a velocity
            plain = [name for name in plain if name != self.plain.get("w")]
        if len(plain) + len(logs) > 1:
            choice = " or ".join([*(f"`weights={n!r}`" for n in plain), *(f"`log_weights={n!r}`" for n in logs)])
            raise InputError(f"{self.table.source} has columns {' and '.join(plain + logs)}; choose with {choice}")
        return (plain + logs + [""])[0], bool(logs)

    def _unused_weights(self, kind: Kind) -> str:
        """A column that may be weights by its name, but is not known to be, so that nobody overlooks it."""
        used = set(kind.columns)
        for name in sorted(self.table.names, key=lambda name: "count" in name.lower()):
            if name not in used and (_LIKE_WEIGHTS.fullmatch(name) or name.lower() == "w"):
                argument = "log_weights" if re.search(r"log|ln", name, re.I) else "weights"
                return f"column {name} not used (`{argument}={name!r}` takes it as {argument.replace('_', '-')})"
        bias = next((name for name in self.table.names if name not in used and name.endswith(_BIASES)), "")
        return f"column {bias} not used (a bias divided by kT is a log-weight)" if bias else ""

    # What is not clear.

    def _refuse(self, found: list[Kind], form: str | None) -> None:
        source, plain = self.table.source, self.plain
        edges = edge_columns([*self.table.names, *self.table.texts]) if form is None and not found else None
        if edges is not None:
            raise InputError(
                f"{source}: columns {edges[0]}, {edges[1]} may be the ends of the edges of a graph; say "
                f"`space='graph'` if they are, or name the columns of points with `columns=` ({self._found()})"
            )
        if len(found) > 1:
            every = " and ".join(f"({kind.words})" for kind in found)
            choice = " or ".join(spelled(kind) for kind in found)
            raise InputError(f"{source} has more than one kind of points: {every}; choose with {choice}")
        if self.table.hint:
            raise InputError(f"{source}: {self.table.hint}")
        if "theta" in plain and "phi" in plain and form in (None, "vectors", "angles") and "psi" not in plain:
            theta, phi = plain["theta"], plain["phi"]
            one, other = (f"`columns={{'colat': {a!r}, 'azimuth': {b!r}}}`" for a, b in ((theta, phi), (phi, theta)))
            raise InputError(
                f"{source}: columns {theta}, {phi} may be colatitude and azimuth, in either order, or periodic angles; "
                f"say {one}, or {other}, or `space='torus', columns=({theta!r}, {phi!r})`, and `units='rad'` or "
                "`units='deg'`"
            )
        four = self._four()
        if four and form in (None, "quaternions"):
            last, head = (dict(zip(Quaternions.roles, names, strict=True)) for names in (four, [*four[1:], four[0]]))
            raise InputError(
                f"{source}: columns {', '.join(four)} are a quaternion with the scalar first or last; say "
                f"`columns={head}` if {four[0]} is the scalar, or `columns={last}` if {four[3]} is"
            )
        if form is None:
            self._ask_unit_rows()
        self._refuse_text_angles(form)
        if form in (None, "vectors") and len(self.table.lists) > 1:
            choice = " or ".join(f"`columns={name!r}`" for name in self.table.lists[:6])
            raise InputError(f"{source} has more than one column of vectors; choose with {choice}")
        likely = likely_pair(self.table.names) if form in (None, "vectors") else ""
        what = (
            f"points for `space={str(self.reading.space)!r}`"
            if form
            else "points (such as lon, lat or ra, dec or x, y, z or qx, qy, qz, qw)"
        )
        example = "`columns='A'`" if self._dimension() == 1 else _EXAMPLES.get(form or "", _EXAMPLES[""])
        how = f"did you mean {likely}?" if likely else f"name the columns with `columns=`, for instance {example}"
        raise InputError(f"{source} has no <+columns known to hold {what}+>; {how} ({self._found()})")

    def _refuse_text_angles(self, form: str | None) -> None:
        """Refuse columns that are lon and lat, or the like, by their names, but hold text that is no angle."""
        texts = {split_unit(name).base: name for name in self.table.texts}
        for kind in PAIRS if form in (None, "vectors") else ():
            names = [
                next((both[n] for n in names if n in both), "") for names in kind.names for both in [texts | self.plain]
            ]
            held = [name for name in names if name in self.table.texts]
            if held and all(names):
                are = f"column{'s' * (len(held) > 1)} {', '.join(held)} {'are' if len(held) > 1 else 'is'} text"
                raise InputError(f"{self.table.source}: {are}{self._such_as(held[0])}; {_NO_TEXT}")

    def _four(self) -> list[str]:
        """Four columns of a quaternion whose scalar may be first or last: q0 to q3, q1 to q4, or the only ones."""
        for start in (0, 1):
            if all(f"q{k + start}" in self.plain for k in range(4)):
                return [self.plain[f"q{k + start}"] for k in range(4)]
        return self.table.names if self.reading.form() == "quaternions" and len(self.table.names) == 4 else []

    def _ask_unit_rows(self) -> None:
        """Ask about columns of any names that are quaternions or matrices together, as far as is known."""
        names = [name for name in self.table.names if name not in self._weights([])]
        if len(names) == 4 and self._are_unit(names):
            raise InputError(f"{self.table.source}: {sphere_or_rotations(names)}")
        if self._are_matrices(names):
            raise InputError(f"{self.table.source}: {matrices_said(names, len(names))}")

    def _dimension(self) -> int | None:
        """The number of columns that the space takes, where that is known."""
        space = self.reading.space
        if isinstance(space, str):
            return 1 if self.reading.word == "circle" else None
        return space.dim if space is not None and space.form in ("angles", "numbers") else None

    def _found(self) -> str:
        lists = [name for name in self.table.lists if name != "rows"]
        # A quote that is not closed makes a name of several lines.
        every = [" ".join(name.split()) or "(no name)" for name in (*self.table.names, *lists)]
        shown = every if len(every) <= 12 else [*every[:8], "...", *every[-2:]]
        count = f"{len(every)} column{'s' * (len(every) != 1)}"
        texts = [name for name in self.table.texts if name not in self.table.names]
        others = ", ".join([*texts[:8], *["..."] * (len(texts) > 8)])
        found = f"found <!{count}: {', '.join(shown)}!>" if every else "<!no columns of numbers!> were found"
        return f"{found}, and of text: {others}" if texts else found


def _steady(lengths: FloatArray) -> bool:
    """Whether lengths, apart from missing ones, are all about the same."""
    lengths = lengths[~np.isnan(lengths)]
    return len(lengths) > 0 and 0 < float(lengths.max()) <= 1.05 * float(lengths.min())


def _fits(kind: Kind, form: str) -> bool:
    """Whether a kind of columns gives points of this form."""
    return kind.form == form or (form == "numbers" and isinstance(kind, Vectors))


def _first_twice(names: list[str]) -> str:
    return next(name for name in names if names.count(name) > 1)
