"""Named columns of numbers: what every file and data frame is before anybody says what the columns mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import as_float64, numeric_array
from ..base.blocks import slices
from ..base.errors import InputError
from ..base.known import Known
from ..spaces.base import Space
from .read_options import Reading

#: Gives the place of a row in words, for instance "cloud.csv line 7".
Place = Callable[[int], str]

#: Entries of a column of text that are looked at to see what they are.
GLANCE = 100


class Piece(NamedTuple):
    """Some rows of some columns."""

    columns: list[NDArray[Any]]  #: one per name: numbers (n,), missing ones nan; or vectors (n, d)
    place: Place
    done: float  #: share of the table read so far, from 0 to 1
    vectors: NDArray[Any] | None = None  #: the first columns side by side, (n, d), if the table made them so


class Table(ABC):
    """Columns with names, read in pieces.

    Attributes
    ----------
    source : str
        What messages call it: a file name, "the data frame".
    names : list of str
        The columns that may hold numbers, one each; text columns may be among them and fail when read.
    lists : list of str
        The columns whose entries are vectors, all of one length.
    units : dict
        "deg" or "rad" for the columns of which the format itself says so.
    converted : dict
        The unit in the file of columns that were brought to degrees when they were read.
    note : str
        What the format says about its contents, for the user: "HEALPix map, nside 64, nested".
    hint : str
        What the format advises where no columns are known to hold points; empty if nothing.
    about : str, optional
        "earth" or "sky" where the format says so.
    known : Known
        What the format says about the data: kind, frame, size of cells, chains.
    frames : dict
        The frame of columns of which the format says it; names that are no frame here, such as "fk4", are refused.
    old : str
        The frame of right ascension and declination where the format says another equinox than J2000, see `equatorial`.
    texts : sequence of str
        The columns of text, see `text`; they may be among `names` as well.
    euler : str
        The convention of Euler angles, where the format says it; empty if not.
    symmetry : str
        The point group up to which orientations count, where the format says it; empty if not.
    missing : str
        What a row is in which a number is missing, where the format says it, such as "not indexed".
    space : Space, optional
        The space itself, where the file describes one, such as a mesh; the first of `names` then holds the points.
    watch : callable, optional
        Called with the share read so far while all rows of a large file are read.
    axes : mapping
        For the variables of a grid, their axes in words; empty for columns.
    cells : str
        Where rows are cells of a map or grid, what these are: "cells from lat x lon (36 x 72, 5 x 5 degrees)".
    left_out : int
        Cells without a value, which are not among the rows.
    """

    source: str
    names: list[str]
    lists: Sequence[str] = ()
    units: Mapping[str, str] = {}
    converted: Mapping[str, str] = {}
    note: str = ""
    hint: str = ""
    about: str | None = None
    known: Known = Known()
    frames: Mapping[str, str] = {}
    old: str = ""
    texts: Sequence[str] = ()
    euler: str = ""
    symmetry: str = ""
    missing: str = ""
    space: Space | None = None
    watch: Callable[[float], None] | None = None
    axes: Mapping[str, str] = {}
    cells: str = ""
    left_out: int = 0

    @abstractmethod
    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """The columns *names*, at most *rows* rows at a time, or all at once if None."""

    def numbers(self, name: str) -> NDArray[Any]:
        """All numbers of one column, missing ones nan, to look at them."""
        found = [piece.columns[0] for piece in self.pieces([name], 2**20)]
        return np.concatenate(found) if found else np.empty(0)

    def text(self, name: str) -> Sequence[str]:
        """The entries of a column as text, one for each row of `pieces`; empty ones are "".

        Numbers are text as they are written; a table that has no text columns refuses this.
        """
        raise InputError(f"{self.source} has no <+column of text {name!r}+>")

    def glance(self, name: str) -> Sequence[str]:
        """The first entries of a column of text; a table that can read them alone does so."""
        return self.text(name)[:GLANCE]

    def places(self) -> Place:
        """The place of each row of the whole table."""
        return next(self.pieces([], None)).place

    def settled(self, reading: Reading) -> tuple[Table, Reading]:
        """The rows that the user wants, and how to read these.

        Maps and grids choose a field and make cells of it; edges, if they are asked for as a graph, make its nodes.
        """
        if reading.select:
            raise InputError(f"{self.source} is no grid, so there is no axis to select from; leave out `select=`")
        if not reading.area:
            raise InputError(f"{self.source} is no grid, so there is no area of cells; leave out `area=False`")
        if reading.graph is None or self.space is not None:
            return self, reading
        from .graphs import nodes_of_edges

        return nodes_of_edges(self, reading)

    def entries(self, names: Sequence[str], rows: NDArray[np.int64]) -> list[list[str]]:
        """Some rows of some columns as text, numbers to their last digit; missing ones are "".

        Columns of text are as they are written, and so are numbers of a text file.
        """
        found = []
        for name in names:
            if name in self.texts or name not in self.names:
                column = self.text(name)
                found.append([column[row] for row in rows.tolist()])
                continue
            try:
                [piece] = self.pieces([name], None)
            except InputError:  # integers too large to be exact, or text
                column = self.text(name)
                found.append([column[row] for row in rows.tolist()])
                continue
            found.append([_spelled(value) for value in piece.columns[0][rows].tolist()])
        return found

    def joined(self, names: Sequence[str], count: int) -> Iterator[Piece]:
        """All rows of *names*, of which the first *count* are coordinates that will be wanted side by side.

        A table that copies its columns anyway copies these into one array, which saves a second copy.
        """
        return self.pieces(names, None)


class Columns(Table):
    """A table that is in memory: one array per column, (n,) or (n, d), and columns of *texts*, made when wanted."""

    def __init__(
        self,
        columns: Mapping[str, Any],
        source: str,
        *,
        units: Mapping[str, str] | None = None,
        row: str = "row {} (counted from 0)",
        texts: Mapping[str, Callable[[], Sequence[str]]] | None = None,
    ) -> None:
        self._columns, self.source, self.units, self._row = columns, source, units or {}, row
        self._texts = texts or {}
        self.texts = list(self._texts)
        shapes = {name: np.shape(values) for name, values in columns.items()}
        self.lists = [name for name, shape in shapes.items() if len(shape) == 2]
        self.names = [name for name, shape in shapes.items() if len(shape) == 1]
        lengths = {shape[0] for shape in shapes.values() if shape}
        if len(lengths) > 1:
            raise InputError(f"{source}: columns have <!different lengths, {min(lengths)} to {max(lengths)} rows!>")
        self._count = lengths.pop() if lengths else 0

    def text(self, name: str) -> Sequence[str]:
        """A column of text, or numbers as text."""
        if name in self._texts:
            return self._texts[name]()
        return super().text(name) if name not in self._columns else [str(value) for value in self._columns[name]]

    def places(self) -> Place:
        """Rows are counted from 0."""
        return self._places(0)

    def stored(self, name: str) -> Any:
        """A column as it was given."""
        return self._columns[name]

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Slices of the arrays."""
        arrays = [numbers(self._columns[name], f"{self.source}: column {name}") for name in names]
        for part in slices(self._count, rows or max(self._count, 1)):
            columns = [array[part] for array in arrays]
            yield Piece(columns, self._places(part.start), part.stop / self._count)

    def _places(self, start: int) -> Place:
        return lambda row: f"{self.source} {self._row.format(f'{start + row:,}')}"


class Rows(Table):
    """One array (n, d) without names: its rows are vectors, its columns are called 0, 1, 2, ..."""

    def __init__(self, array: NDArray[Any], source: str) -> None:
        self._array, self.source, self.lists = array, source, ["rows"]
        self.names = [str(column) for column in range(array.shape[1])]

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Rows, whole or some of their entries; an array mapped from a file is read piece by piece."""
        count = len(self._array)
        for part in slices(count, rows or max(count, 1)):
            block = self._array[part]
            place = self._places(part.start)
            columns = [_loaded(block if name == "rows" else block[:, int(name)], place) for name in names]
            yield Piece(columns, place, part.stop / count)

    def _places(self, start: int) -> Place:
        return lambda row: f"{self.source} row {start + row:,} (counted from 0)"


def _spelled(value: float) -> str:
    """A number with all its digits, whole ones without a point; "" for nan."""
    if value != value:
        return ""
    return str(int(value)) if abs(value) < 2**53 and value == int(value) else repr(value)


def refuse_doubles(names: Sequence[str], source: str) -> None:
    """Refuse two columns of one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{source} has <!{count} columns {name!r}!>; rename or drop one of them")


def numbers(values: Any, name: str) -> NDArray[Any]:
    """A column as numbers, float16 and float32 as they are, missing entries nan."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    return numeric_array(values, name)


def _loaded(part: NDArray[Any], place: Place) -> NDArray[Any]:
    """A copy in memory, in native byte order and no more precise than float64."""
    if part.dtype.kind == "f" and part.dtype.itemsize <= 8:
        return np.array(part, dtype=part.dtype.newbyteorder("="))
    return as_float64(part, "the array", place)
