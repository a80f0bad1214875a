"""Tables in which columns of text are angles: 05h34m31.97s beside numbers, read as a number each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import slices
from .column_names import PAIRS, Torsions
from .read_options import Reading
from .sexagesimal import SEXAGESIMAL, Notation, angles_of, notation_of
from .table import Piece, Place, Table
from .units import split_unit

#: Names of columns that are angles.
_ANGLES = {name for kind in PAIRS for names in kind.names for name in names} | set(Torsions.ANGLES)


def with_angles(table: Table, reading: Reading) -> Table:
    """The same table, in which columns of text that hold angles are columns of numbers too.

    Only columns that may be asked for are looked at: those with names of angles, those that the user names, and all
    where the space is a circle or a torus.
    """
    if isinstance(table, AngleTable) or not table.texts:
        return table
    named = reading.columns or ()
    asked = [named] if isinstance(named, str) else [*named.values()] if isinstance(named, Mapping) else [*named]
    words = {word.strip().lower() for text in asked for word in (text, *text.split(","))}
    every = reading.form() == "angles" and not asked
    notations = {}
    for name in table.texts:
        if every or name.strip().lower() in words or split_unit(name).base in _ANGLES:
            notation = notation_of(table.glance(name))
            if notation is not None:
                notations[name] = notation
    return AngleTable(table, notations) if notations else table


class AngleTable(Table):
    """A table, some columns of which are angles written in parts or with points of the compass."""

    def __init__(self, table: Table, notations: Mapping[str, Notation]) -> None:
        self._table, self.notations = table, notations
        for attribute in Table.__annotations__:
            setattr(self, attribute, getattr(table, attribute))
        self.names = [*table.names, *(name for name in notations if name not in table.names)]
        self.units = {**table.units, **{name: _unit(notation, table, name) for name, notation in notations.items()}}
        self._read: dict[str, FloatArray] = {}

    def text(self, name: str) -> Sequence[str]:
        """A column as it is written."""
        return self._table.text(name)

    def glance(self, name: str) -> Sequence[str]:
        """The first entries of a column as they are written."""
        return self._table.glance(name)

    def entries(self, names: Sequence[str], rows: NDArray[np.int64]) -> list[list[str]]:
        """Some rows of some columns as they are written."""
        return self._table.entries(names, rows)

    def places(self) -> Place:
        """Where each row is."""
        return self._table.places()

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Numbers as they are, and angles in hours or degrees, as they are written."""
        self._table.watch = self.watch
        angles = {name: self._angles(name) for name in names if name in self.notations}
        others = [name for name in names if name not in angles]
        if angles and not others:
            yield from self._alone([angles[name] for name in names], rows)
            return
        start = 0
        for piece in self._table.pieces(others, rows):
            stop = start + len(piece.columns[0]) if others else start
            numbers = iter(piece.columns)
            columns = [angles[name][start:stop] if name in angles else next(numbers) for name in names]
            yield Piece(columns, piece.place, piece.done)
            start = stop

    def _alone(self, columns: list[FloatArray], rows: int | None) -> Iterator[Piece]:
        place, count = self.places(), len(columns[0])
        for part in slices(count, rows or max(count, 1)):
            yield Piece([column[part] for column in columns], _shifted(place, part.start), part.stop / count)

    def _angles(self, name: str) -> FloatArray:
        if name not in self._read:
            self._read[name] = angles_of(self.text(name), self.notations[name], name, self.places())
        return self._read[name]


def _unit(notation: Notation, table: Table, name: str) -> str:
    """As the letters say, or where there are none the file: VizieR writes the unit h:m:s."""
    stated = table.units.get(name, "")
    return stated if notation.unit == SEXAGESIMAL and stated else notation.unit


def _shifted(place: Place, start: int) -> Place:
    return lambda row: place(start + row)
