"""Named columns of numbers: what every file and data frame is before anybody says what the columns mean."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import as_float64, numeric_array
from ..blocks import slices
from ..errors import InputError
from ..spaces.base import Space

#: Gives the place of a row in words, for instance "cloud.csv line 7".
Place = Callable[[int], str]


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
    note : str
        What the format says about its contents, for the user: "HEALPix map, nside 64, nested".
    about : str, optional
        "earth" or "sky" where the format says so.
    space : Space, optional
        The space itself, where the file describes one, such as a mesh; the first of `names` then holds the points.
    watch : callable, optional
        Called with the share read so far while all rows of a large file are read.
    """

    source: str
    names: list[str]
    lists: Sequence[str] = ()
    units: Mapping[str, str] = {}
    note: str = ""
    about: str | None = None
    space: Space | None = None
    watch: Callable[[float], None] | None = None

    @abstractmethod
    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """The columns *names*, at most *rows* rows at a time, or all at once if None."""

    def joined(self, names: Sequence[str], count: int) -> Iterator[Piece]:
        """All rows of *names*, of which the first *count* are coordinates that will be wanted side by side.

        A table that copies its columns anyway copies these into one array, which saves a second copy.
        """
        return self.pieces(names, None)


class Columns(Table):
    """A table that is in memory: one array per column, (n,) or (n, d)."""

    def __init__(
        self,
        columns: Mapping[str, Any],
        source: str,
        *,
        units: Mapping[str, str] | None = None,
        row: str = "row {} (counted from 0)",
    ) -> None:
        self._columns, self.source, self.units, self._row = columns, source, units or {}, row
        shapes = {name: np.shape(values) for name, values in columns.items()}
        self.lists = [name for name, shape in shapes.items() if len(shape) == 2]
        self.names = [name for name, shape in shapes.items() if len(shape) == 1]
        lengths = {shape[0] for shape in shapes.values() if shape}
        if len(lengths) > 1:
            raise InputError(f"{source}: columns have different lengths, {min(lengths)} to {max(lengths)} rows")
        self._count = lengths.pop() if lengths else 0

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


def refuse_doubles(names: Sequence[str], source: str) -> None:
    """Refuse two columns of one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{source} has {count} columns {name!r}; rename or drop one of them")


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
