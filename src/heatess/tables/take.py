"""Points and weights out of a table, with what was read in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..blocks import span
from ..errors import InputError
from ..spaces import Circle, Euclidean, Hyperbolic, Projective, Space, named
from .check import Span, refuse_beyond, refuse_infinite, refuse_lengths, refuse_weights
from .kinds import Kind, RaDec, Relion, Torsions, Vectors
from .meaning import FORMS, Meaning, Reading, meaning_of
from .table import Piece, Place, Table


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
        "deg" or "rad" where the columns are angles.
    weights : str
        The column of weights or log-weights; empty if weights are equal.
    dropped : int
        Rows left out because a number was missing.
    """

    source: str
    description: str
    about: str
    columns: tuple[str, ...]
    units: str | None
    weights: str
    dropped: int


class Taken(NamedTuple):
    """Points on a space, not yet checked by it, and their weights."""

    space: Space
    points: Any
    weights: FloatArray | None
    log_weights: FloatArray | None
    origin: Origin
    place: Place
    done: float
    kind: Kind

    def explained(self, error: InputError) -> InputError:
        """The error of making a measure of a file in words of the file: where it is, and which argument to give."""
        lengths = self.kind.form == "quaternions" or isinstance(self.kind, Vectors)
        if lengths and self.space.form in ("vectors", "quaternions"):
            try:
                refuse_lengths(self.kind, self.points, self.place)
            except InputError as found:
                return found
        if error.row is None and self.origin.source not in str(error):
            return type(error)(f"{self.origin.source}: {error}")
        return error


def take(table: Table, reading: Reading, rows: int | None = None) -> Iterator[Taken]:
    """The points of a table, at most *rows* at a time, or all at once if None.

    Where neither names nor numbers tell degrees from radians, that is refused, after the last piece if there are many.
    """
    meaning = meaning_of(table, reading)
    kind, dropped, count = meaning.kind, 0, 0
    reach = Reach([math.inf] * len(kind.columns), [-math.inf] * len(kind.columns))
    names = [*kind.columns, *filter(None, [meaning.weight])]
    whole = rows is None and kind.stacked
    for piece in table.joined(names, len(kind.columns)) if whole else table.pieces(names, rows):
        columns, spans, vectors, place, lost = _complete(names, piece, reading)
        dropped, count = dropped + lost, count + len(columns[0])
        if not len(columns[0]):
            continue
        weights = columns.pop().astype(np.float64, copy=False) if meaning.weight else None
        spans = spans[: len(columns)]
        refuse_infinite(kind.columns, columns, spans, place)
        if weights is not None:
            refuse_weights(meaning.weight, weights, meaning.logs, place)
        units = meaning.units or _stated(reading)
        if kind.angles and units is None:
            reach = reach.with_spans(spans)
            units = _units(kind, reach, table, last=rows is None)
        refuse_beyond(kind, columns, spans, units or "", place)
        try:
            points = kind.points(columns, units or "") if vectors is None else vectors
        except InputError as error:
            raise at_place(error, place) from None
        if reading.normalize:
            points = _normalised(points, kind, place)
        try:
            space = _space(reading, kind, points, units or "") if table.space is None else table.space
        except InputError as error:
            raise type(error)(f"{table.source}: {error}") from None
        plain, logs = (None, weights) if meaning.logs else (weights, None)
        origin = _origin(table, meaning, reading, units, len(columns[0]), dropped)
        yield Taken(space, points, plain, logs, origin, place, piece.done, kind)
    if not count:
        left = f" after {dropped:,} with missing numbers were dropped" if dropped else ""
        raise InputError(f"{table.source} has no rows{left}; at least one point is needed")
    told = meaning.units or _stated(reading) or rows is None
    if kind.angles and not told:
        _units(kind, reach, table, last=True)


class Reach(NamedTuple):
    """The least and the largest number of each column so far."""

    low: list[float]
    high: list[float]

    def with_spans(self, spans: Sequence[Span]) -> Reach:
        """The same with more rows, of which each column has a least and a largest number."""
        low = [min(least, span[0]) for least, span in zip(self.low, spans, strict=True)]
        high = [max(most, span[1]) for most, span in zip(self.high, spans, strict=True)]
        return Reach(low, high)

    @property
    def farthest(self) -> list[float]:
        """How far from zero each column reaches."""
        return [max(abs(low), abs(high)) for low, high in zip(self.low, self.high, strict=True)]


def at_place(error: InputError, place: Place) -> InputError:
    """The same error with the place of its row in the file."""
    if error.row is None:
        return error
    return type(error)(f"{place(error.row)}: {error}", row=error.row)


@contextmanager
def taken_from(taken: Taken) -> Iterator[None]:
    """Say where in the file the points are that are refused in this block, and what to do."""
    try:
        yield
    except InputError as error:
        raise taken.explained(at_place(error, taken.place)) from None


def complete_columns(names: list[str], piece: Piece, reading: Reading) -> list[NDArray[Any]]:
    """The columns of a piece in the rows of which points are made."""
    return _complete(names, piece, reading).columns


class _Complete(NamedTuple):
    """The rows of a piece in which every number is there."""

    columns: list[NDArray[Any]]
    spans: list[Span]  #: of each column, or of all of *vectors* for those that are in it
    vectors: NDArray[Any] | None  #: the first columns side by side, if they are
    place: Place  #: where each row was
    dropped: int  #: rows in which a number was missing


def _complete(names: list[str], piece: Piece, reading: Reading) -> _Complete:
    """Refuse rows in which a number is missing, or leave them out if that was asked for."""
    columns, place, vectors = list(piece.columns), piece.place, piece.vectors
    joined = 0 if vectors is None else vectors.shape[1]
    spans = ([] if vectors is None else [span(vectors)] * joined) + [span(values) for values in columns[joined:]]
    if not any(math.isnan(low) for low, _ in spans):
        return _Complete(columns, spans, vectors, place, 0)
    empty = [np.isnan(values).any(axis=1) if values.ndim == 2 else np.isnan(values) for values in columns]
    lost = np.logical_or.reduce(empty)
    if not reading.drop_missing:
        row = int(np.argmax(lost))
        name = next(name for name, missing in zip(names, empty, strict=True) if missing[row])
        found = "an entry is no number" if name == "rows" else f"column {name} has no number"
        raise InputError(
            f"{place(row)}: {found} ({int(lost.sum()):,} of {len(lost):,} rows); fill those rows, "
            "or leave them out with drop_missing=True",
            row=row,
        )
    kept = np.flatnonzero(~lost)
    columns = [values[kept] for values in columns]
    spans = [span(values) for values in columns]
    return _Complete(columns, spans, None, lambda row: place(int(kept[row])), int(lost.sum()))


def _units(kind: Kind, reach: Reach, table: Table, *, last: bool) -> str:
    """Degrees if the numbers so far can be nothing else; what only the *last* of them tell is refused then."""
    farthest = reach.farthest
    if not max(farthest):  # zero is zero in every unit
        return "deg"
    if last and not kind.beyond_radians(farthest):
        raise InputError(_doubt(kind, table, farthest))
    if isinstance(kind, Torsions) and max(farthest) > 360.5:
        raise InputError(
            f"{table.source}: columns {kind.words} reach {max(farthest):.4g}, more than a turn of 360 degrees; "
            "add units='deg', or units='rad' for phases that were unwrapped"
        )
    if type(kind) is RaDec and last and _may_be_hours(reach):
        raise InputError(
            f"{table.source}: column {kind.columns[0]} runs from {reach.low[0]:.3g} to {reach.high[0]:.4g}, "
            "which could be hours; multiply it by 15 if it is, or add units='deg' if it is not"
        )
    return "deg"


def _may_be_hours(reach: Reach) -> bool:
    """Whether a right ascension from 0 to 24 goes all around, or declinations say that the field is wide."""
    (low, _), (high, _) = reach
    wide = reach.high[1] - reach.low[1] > 30 or (reach.farthest[1] > 24 and high > 20)
    return low >= 0 and high <= 24 and (wide or (low < 1 and high > 23))


def _doubt(kind: Kind, table: Table, farthest: list[float]) -> str:
    reach = ", ".join(f"{far:.4g}" for far in farthest[:4])
    words = "the numbers" if kind.columns == ["rows"] else f"columns {kind.words}"
    return (
        f"{table.source}: {words} reach no further than {reach}, which could be degrees or radians; "
        "add units='deg' or units='rad'"
    )


def _normalised(points: Any, kind: Kind, place: Place) -> Any:
    if not isinstance(kind, Vectors) and (kind.form != "quaternions" or isinstance(kind, Relion)):
        raise InputError(f"normalize=True is for vectors, but {kind.words} are not vectors; leave it out")
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
        found = f"the vector has length {norms[row]:g} and no direction"
        raise InputError(
            f"{place(row)}: {found} ({int(bad.sum())} of {len(bad)} rows); drop or fix those rows", row=row
        )
    return points / norms[:, None]


def _stated(reading: Reading) -> str | None:
    """The unit that the space itself states, which is radians unless it says degrees."""
    space = reading.space
    return (space.units or "rad") if isinstance(space, Space) and space.form == "angles" else None


def _space(reading: Reading, kind: Kind, points: Any, units: str) -> Space:
    asked = reading.space
    if asked is None:
        return kind.space(points, units)
    if isinstance(asked, Space):
        if asked.form != "angles" or units == _stated(reading):
            return asked
        told = asked.in_units(units)  # as the names of columns say
        if told.units == units:
            return told
        words = "radians" if units == "rad" else "degrees"
        raise InputError(
            f"columns {kind.words} are in {words}, as units= or their names say, which does not fit "
            f"space={str(asked)!r}; name the space without a unit"
        )
    word = asked.lower()
    if word not in FORMS:
        return named(asked)
    if word in ("sphere", "rotations", "torus", "pose"):
        return kind.space(points, units)
    width = points.shape[1]
    if word == "projective":
        return Projective(width - 1)
    if word == "circle":
        return Circle(units)
    return Euclidean(width) if word == "euclidean" else Hyperbolic(width - 1)


def _origin(table: Table, meaning: Meaning, reading: Reading, units: str | None, n: int, dropped: int) -> Origin:
    kind = meaning.kind
    words = f"{n:,} {'point' if table.space is None else 'node'}{'s' * (n != 1)}"
    if table.space is not None:
        pass
    elif kind.columns != ["rows"]:
        words += f" from {kind.words}"
    elif table.lists:
        words += f" with {len(table.names)} coordinates"
    if kind.angles:
        convention = ", ZYZ" if isinstance(kind, Relion) else ""
        words += f" ({'radians' if units == 'rad' else 'degrees'}{convention})"
    elif reading.normalize:
        words += " (scaled to unit length)"
    if table.note:
        words += f"; {table.note}"
    if meaning.note:
        words += f"; {meaning.note}"
    words += (
        f"; {'log-weights' if meaning.logs else 'weights'} from {meaning.weight}"
        if meaning.weight
        else "; equal weights"
    )
    if dropped:
        words += f"; {dropped:,} {'row' if dropped == 1 else 'rows'} without a number dropped"
    about = table.about or kind.about
    return Origin(
        table.source, words, about, tuple(kind.columns), units if kind.angles else None, meaning.weight, dropped
    )
