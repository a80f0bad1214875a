"""Points and weights out of a table, with what was read in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import span
from ..base.errors import InputError
from ..base.known import ABOUT, Known
from ..base.messages import Message
from ..spaces import Circle, Euclidean, Hyperbolic, Product, Projective, Rotations, Space
from .angle_units import Angles, Stated, in_degrees, unit_in_file, unit_words
from .column_meaning import Meaning, Reading, meaning_of
from .column_names import Kind, LonLat
from .grid_layout import unweighted_cells
from .impossible_numbers import (
    Span,
    refuse_beyond,
    refuse_four,
    refuse_infinite,
    refuse_lengths,
    refuse_marks,
    refuse_turns,
    refuse_weights,
)
from .missing import equal_to
from .rotation_columns import Euler, Quaternions
from .row_facts import known_of
from .table import Piece, Place, Table
from .text_angles import with_angles

#: What is done to rotations from the image to the particle where the particle has a symmetry.
_INVERSE = "points are the inverse rotations, which take the particle to its image"

#: The question about rows that are all cells of a grid.
_GRID = "its rows are all cells of a grid, which are no draws; say `kind='cells'`, or `kind='draws'` if they are"


@dataclass(frozen=True)
class Origin:
    """Where a measure was read from.

    Attributes
    ----------
    source, description : str
        The file or data frame, and what was read from it, as a sentence.
    about : str
        What the points are: earth, sky, directions, rotations, torsions, points.
    columns : tuple of str
    units : str or None
        "deg", "rad" or "hours" where the columns are angles, as the file has them.
    weights : str
        The column of weights or log-weights; empty if weights are equal.
    dropped : int
        Rows left out because a number was missing.
    written : str
        The units of angles in the file, in words, such as "RA in hours, Dec in degrees"; empty where there are none.
    """

    source: str
    description: Message
    about: str
    columns: tuple[str, ...]
    units: str | None
    weights: str
    dropped: int
    written: str = ""


class Taken(NamedTuple):
    """Points on a space, not yet checked by it, and their weights."""

    space: Space
    points: Any
    weights: FloatArray | None
    log_weights: FloatArray | None
    known: Known
    origin: Origin
    place: Place
    done: float
    kind: Kind

    def explained(self, error: InputError) -> InputError:
        """The error of making a measure of a file in words of the file: where it is, and which argument to give."""
        unit = self.kind.lengths(self.points)
        if unit is not None and self.space.form in ("vectors", "quaternions", "poses"):
            try:
                refuse_lengths(*unit, self.place)
            except InputError as found:
                return found
        return error.within(self.origin.source) if error.row is None else error


def take(table: Table, reading: Reading, rows: int | None = None) -> Iterator[Taken]:
    """The points of a table, at most *rows* at a time, or all at once if None.

    Where neither names nor numbers tell degrees from radians, that is refused, after the last piece if there are many.
    """
    table, reading = table.settled(reading)
    table = with_angles(table, reading)
    meaning = meaning_of(table, reading)
    kind, dropped, count = meaning.kind, 0, 0
    angular = kind.angular
    places = {name: place for place, name in enumerate(kind.columns)}
    turning = [places[name] for name in angular.columns]
    angles = Angles(angular, table, Stated(meaning.units or _stated(reading), meaning.sure))
    names = [*kind.columns, *filter(None, [meaning.weight])]
    whole = rows is None and kind.stacked
    for piece in table.joined(names, len(kind.columns)) if whole else table.pieces(names, rows):
        alone = meaning.weight if piece.done >= 1 and not count + dropped else None
        columns, spans, vectors, place, kept = _complete(names, piece, reading, table.missing, alone)
        lost = 0 if kept is None else len(piece.columns[0]) - len(kept)
        dropped, count = dropped + lost, count + len(columns[0])
        if not len(columns[0]):
            continue
        weights = columns.pop().astype(np.float64, copy=False) if meaning.weight else None
        spans = spans[: len(columns)]
        refuse_infinite(kind.columns, columns, spans, place)
        if reading.missing != () and table.space is None:
            weight = None if weights is None else (meaning.weight, weights)
            refuse_marks(kind, columns, spans, weight, place, indexed=bool(table.missing))
        if weights is not None:
            refuse_weights(meaning.weight, weights, meaning.logs, place)
        turned = [spans[column] for column in turning]
        units = written = angles.unit(turned, last=rows is None) if kind.angles else None
        if isinstance(angular, Euler) and meaning.units == "rad" and reading.units is None:
            refuse_turns(angular, turned, table.source)
        if units == "hours":
            columns, spans = in_degrees(kind, columns, spans, place, said=reading.units is not None)
            units = "deg"
        refuse_beyond(kind, columns, spans, units or "", place)
        try:
            points = kind.points(columns, units or "") if vectors is None else vectors
        except InputError as error:
            raise at_place(error, place) from None
        if reading.normalize:
            points = _normalised(points, kind, place)
        if reading.space is None and kind.form == "vectors" and table.space is None:
            refuse_four(kind, points, table.source)
        try:
            space = _space(reading, table, kind, points, units or "") if table.space is None else table.space
        except InputError as error:
            raise error.within(table.source) from None
        told = meaning
        if _turned_round(space, kind):
            points = points * [-1.0, -1.0, -1.0, 1.0]
            told = meaning._replace(note="; ".join(filter(None, [meaning.note, _INVERSE])))
        plain, logs = (None, weights) if meaning.logs else (weights, None)
        known = known_of(table, reading, kind, len(piece.columns[0]), kept, whole=rows is None)
        known = replace(known, units=known.units or unit_in_file(kind.angular, table, written))
        if rows is None and not table.cells and isinstance(kind, LonLat) and kind.frame:
            grid = unweighted_cells(*columns)
            if grid and weights is not None:
                told = meaning._replace(note="; ".join(filter(None, [meaning.note, grid])))
            if grid and known.kind is None:
                known = replace(known, doubt=_GRID)
        origin = _origin(table, told, reading, known, written, len(columns[0]), dropped)
        yield Taken(space, points, plain, logs, known, origin, place, piece.done, kind)
    if not count:
        left = f" after {dropped:,} with missing numbers were dropped" if dropped else ""
        raise InputError.lacking(f"{table.source} has no rows{left}")
    if kind.angles and rows is not None:
        angles.unit(last=True)


def at_place(error: InputError, place: Place) -> InputError:
    """The same error with the place of its row in the file."""
    if error.row is None:
        return error
    return error.within(place(error.row))


@contextmanager
def taken_from(taken: Taken) -> Iterator[None]:
    """Say where in the file the points are that are refused in this block, and what to do."""
    try:
        yield
    except InputError as error:
        raise taken.explained(at_place(error, taken.place)) from None


def complete_rows(names: list[str], piece: Piece, reading: Reading) -> NDArray[np.int64]:
    """The numbers of the rows of a piece of which points are made."""
    kept = _complete(names, piece, reading, "").kept
    return np.arange(len(piece.columns[0])) if kept is None else kept


class _Complete(NamedTuple):
    """The rows of a piece in which every number is there."""

    columns: list[NDArray[Any]]
    spans: list[Span]  #: of each column, or of all of *vectors* for those that are in it
    vectors: NDArray[Any] | None  #: the first columns side by side, if they are
    place: Place  #: where each row was
    kept: NDArray[np.int64] | None  #: their numbers in the piece; None if all are there


def _complete(names: list[str], piece: Piece, reading: Reading, missing: str, weight: str | None = None) -> _Complete:
    """Refuse rows in which a number is missing, or leave them out if that was asked for.

    *weight* is the column of weights, given where the piece has all rows, so that none may be left.
    """
    columns, place, vectors = list(piece.columns), piece.place, piece.vectors
    absent = [equal_to(values, reading.missing) for values in columns] if reading.missing else []
    if any(mask.any() for mask in absent):
        columns = [
            np.where(mask, values.dtype.type(np.nan), values) for mask, values in zip(absent, columns, strict=True)
        ]
        vectors = None
    joined = 0 if vectors is None else vectors.shape[1]
    spans = ([] if vectors is None else [span(vectors)] * joined) + [span(values) for values in columns[joined:]]
    if not any(math.isnan(low) for low, _ in spans):
        return _Complete(columns, spans, vectors, place, None)
    empty = [np.isnan(values).any(axis=1) if values.ndim == 2 else np.isnan(values) for values in columns]
    lost = np.logical_or.reduce(empty)
    if not reading.drop_missing:
        row, count = int(np.argmax(lost)), f"{int(lost.sum()):,} of {len(lost):,} rows"
        name = max(zip(names, empty, strict=True), key=lambda column: (column[1].all(), column[1][row]))[0]
        if missing and name == names[0]:
            words = f"{place(row)}: the point is {missing} ({count}); leave such rows out with `drop_missing=True`"
            raise InputError(words, row=row)
        if name == "rows" and (blank := np.isnan(columns[0]).all(axis=0)).any():
            name = str(np.argmax(blank))
        found = "an entry is no <+number+>" if name == "rows" else f"column {name} has no <+number+>"
        remedy = "fill those rows, or leave them out with `drop_missing=True`"
        if weight is not None and lost.all():
            others = "fill those rows, or name other columns with `columns=`"
            remedy = "fill those rows, or say `weights='none'`" if name == weight else others
        raise InputError(f"{place(row)}: {found} ({count}); {remedy}", row=row)
    kept = np.flatnonzero(~lost)
    columns = [values[kept] for values in columns]
    spans = [span(values) for values in columns]
    return _Complete(columns, spans, None, lambda row: place(int(kept[row])), kept)


def _normalised(points: Any, kind: Kind, place: Place) -> Any:
    """Vectors and quaternions divided by their lengths; the positions of poses as they are."""
    unit = kind.lengths(points)
    if unit is None:
        raise InputError(f"`normalize=True` is for <+vectors+>, but <!{kind.words}!> are not vectors; leave it out")
    scaled = _unit_rows(unit[1], place)
    return (points[0], scaled) if isinstance(points, tuple) else scaled


def _unit_rows(points: NDArray[Any], place: Place) -> NDArray[Any]:
    with np.errstate(over="ignore", under="ignore"):
        norms = np.linalg.norm(points.astype(np.float64, copy=False), axis=1)
    extreme = ~((norms > 1e-150) & (norms < 1e150))  # where squares are lost
    if extreme.any():
        points = points.astype(np.float64)
        largest = np.abs(points[extreme]).max(axis=1, keepdims=True)
        points[extreme] /= np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
        norms[extreme] = np.linalg.norm(points[extreme], axis=1)
    bad = ~(norms > 0) | np.isinf(norms)
    if bad.any():
        row = int(np.argmax(bad))
        found = f"the vector has <!length {norms[row]:g}!> and no direction"
        raise InputError(f"{place(row)}: {found} ({int(bad.sum())} of {len(bad)} rows); drop or fix them", row=row)
    return np.asarray(points / norms[:, None])


def _stated(reading: Reading) -> str | None:
    """The unit that the space itself states, which is radians unless it says degrees."""
    space = reading.space
    return (space.units or "rad") if isinstance(space, Space) and space.form == "angles" else None


def _space(reading: Reading, table: Table, kind: Kind, points: Any, units: str) -> Space:
    asked = reading.space
    if asked is None and table.symmetry and kind.form == "quaternions":
        return Rotations(symmetry=table.symmetry)
    if asked is None:
        return kind.space(points, units)
    if isinstance(asked, Space):
        _same_axes(asked, kind)
        if asked.form != "angles" or units == _stated(reading):
            return asked
        told = asked.in_units(units)  # as the names of columns say
        if told.units == units:
            return told
        words = "radians" if units == "rad" else "degrees"
        raise InputError(
            f"columns {kind.words} are in <+{words}+>, as `units=` or their names say, which does not fit "
            f"<!`space={str(asked)!r}`!>; name the space without a unit"
        )
    word, length = reading.word, reading.length
    if length is not None:
        return Product(Euclidean(points[0].shape[1]), Rotations(), metric_scales=(1.0, length))
    if word in ("sphere", "rotations", "torus", "earth3d"):
        return kind.space(points, units)
    width = points.shape[1]
    if word == "projective":
        return Projective(width - 1)
    if word == "circle":
        return Circle(units)
    return Euclidean(width) if word == "euclidean" else Hyperbolic(width - 1)


def _turned_round(space: Space, kind: Kind) -> bool:
    """Whether points are the inverse of what is written, so that symmetry acts on the particle."""
    return space.symmetry is not None and isinstance(kind, Quaternions) and kind.backwards


def _same_axes(space: Space, kind: Kind) -> None:
    """Ask which axes are meant where programs for particles have others than SciPy under the same name."""
    meant = {"T": "'Tz', which has a threefold axis along z", "I": "'I2' for RELION's I, or 'I1', 'I3' or 'I4'"}
    if space.symmetry in meant and _turned_round(space, kind):
        raise InputError(
            f"the axes of symmetry {space.symmetry!r} are those of SciPy, and others than RELION's and cryoSPARC's; "
            f"say {meant[space.symmetry]}: `space='rotations:{meant[space.symmetry][1:3]}'`"
        )


def _origin(
    table: Table, meaning: Meaning, reading: Reading, known: Known, units: str | None, n: int, dropped: int
) -> Origin:
    kind = meaning.kind
    if table.cells:
        return _origin_of_cells(table, meaning, known, n, dropped)
    noun = "node" if table.space is not None else "cell" if known.kind == "cells" else "point"
    words = f"{n:,} {noun}{'s' * (n != 1)}"
    if table.space is not None:
        pass
    elif kind.columns != ["rows"]:
        words += f" from {kind.words}"
    elif table.lists:
        words += f" with {len(table.names)} coordinates"
    written = unit_words(kind.angular, table, units) if kind.angles else ""
    details = [written, kind.convention]
    if reading.normalize:
        details.append("quaternions scaled to unit length" if kind.form == "poses" else "scaled to unit length")
    if reading.length is not None:
        details.append(f"{reading.length:.6g} per radian")
    if any(details):
        words += f" ({', '.join(filter(None, details))})"
    if table.note:
        words += f"; {table.note}"
    if table.symmetry:
        applied = "applied" if reading.space is None else "not applied, since another space was named"
        words += f"; symmetry {table.symmetry} {applied}"
    if meaning.note:
        words += f"; {meaning.note}"
    words += (
        f"; {'log-weights' if meaning.logs else 'weights'} from {meaning.weight}"
        if meaning.weight
        else "; equal weights"
    )
    if dropped:
        rows = "row" if dropped == 1 else "rows"
        words += f"; {dropped:,} {rows} {table.missing or 'without a number'} dropped"
    if known.frame is not None and (reading.frame or known.frame != kind.frame):
        words += f"; frame {known.frame}"
    named = "directions" if kind.frame and known.frame is None else kind.about
    about = (ABOUT.get(known.frame or "") if known.frame != kind.frame else None) or table.about or named
    columns = tuple(kind.columns)
    return Origin(table.source, Message(words), about, columns, known.units, meaning.weight, dropped, written)


def _origin_of_cells(table: Table, meaning: Meaning, known: Known, n: int, dropped: int) -> Origin:
    """The same for cells, whose table knows best what their weights are."""
    noun, _, rest = table.cells.partition(" ")
    words = f"{n:,} {noun.removesuffix('s') if n == 1 else noun} {rest}; {table.note}"
    if meaning.weight == "" and meaning.note:
        words += f"; {meaning.note}"
    lost = dropped + table.left_out
    if lost:
        words += f"; {lost:,} {noun.removesuffix('s') if lost == 1 else noun} without a value left out"
    about, columns = ABOUT.get(known.frame or "") or table.about or meaning.kind.about, tuple(meaning.kind.columns)
    return Origin(table.source, Message(words), about, columns, known.units, meaning.weight, lost)
