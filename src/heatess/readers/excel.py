"""Sheets of Excel, .xlsx, by openpyxl: a header, numbers and text; formulas by the values they had when saved."""

from __future__ import annotations

import datetime
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..base.errors import InputError, importing
from ..tables.missing import MISSING
from ..tables.table import Piece, Place, Rows, Table
from .json_tables import Records
from .package_readers import chosen, reading, split_label
from .packed_size import refuse_expansion
from .text_lines import is_number, number

SUFFIXES = (".xlsx", ".xlsm")

#: Rows that are looked at to find the header.
_ROWS_FOR_HEADER = 60

#: Cells that a sheet may have, most of them empty.
_CELLS_OF_SHEET = 2**22

Cells = list[list[Any]]


def table(path: Path) -> Table:
    """The columns of the only sheet that is not empty, or of the one that is named after ``::``.

    The first row of names is the header, titles above it are left out. Dates are text. Without a header, numbers are
    rows.
    """
    with importing("openpyxl", "excel"):
        import openpyxl
    file, label = split_label(path)
    with reading(file, "an Excel workbook", "open it and save it again as .xlsx, or as .csv"):
        _refuse_old(file)
        with zipfile.ZipFile(file) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        refuse_expansion(file, file.stat().st_size, size, "export it as .csv", "text")
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        try:
            most = max(_CELLS_OF_SHEET, size // 4)
            sheets = {sheet.title: cells for sheet in book.worksheets if (cells := _cells(file, sheet, most))}
        finally:
            book.close()
        if not sheets:
            raise InputError(f"{file} has <!no sheet with cells in it!>; <+at least a header and one row+> are needed")
        name, cells = chosen(file, label, sheets, "sheets")
        if any(value is None for row in cells.values() for value in row):
            _name_formulas(openpyxl.load_workbook(file, read_only=True), name, cells)
        return _table(file, name, cells)


def _refuse_old(file: Path) -> None:
    """Refuse what only looks like a workbook: one of before 2007, or one that is locked."""
    with file.open("rb") as stream:
        if stream.read(4) == b"\xd0\xcf\x11\xe0":
            raise InputError(
                f"{file} is <!an Excel workbook that is locked with a password or as old as .xls!>; open it and save "
                "it as .xlsx without a password, or as .csv"
            )


def _cells(file: Path, sheet: Any, most: int) -> dict[int, list[Any]]:
    """The rows in which something stands, by their numbers in Excel; refused if they have *most* cells or more."""
    rows: dict[int, list[Any]] = {}
    count = 0
    for place, row in _rows(sheet):
        if any(not _is_empty(value) for value in row):
            rows[place] = list(row)
            count += len(row)
            if count >= most:
                found = f"{len(row):,} columns in row {place:,}, and {most:,} cells up to there, most of them empty"
                advice = "delete what stands far to the right, or export the table alone as .csv"
                raise InputError(f"{file} sheet {sheet.title} has <!{found}!>; {advice}")
    return rows


def _rows(sheet: Any) -> Iterator[tuple[int, Sequence[Any]]]:
    """Rows up to their last cells, not to the last column that the sheet claims to have."""
    sheet.reset_dimensions()
    return enumerate(sheet.iter_rows(values_only=True), 1)


def _name_formulas(book: Any, sheet: str, cells: dict[int, list[Any]]) -> None:
    """Put formulas in place of the empty cells that have one: a program that cannot compute has saved no value."""
    try:
        for number, row in _rows(book[sheet]):
            known = cells.get(number)
            for place, value in enumerate(row if known is not None else ()):
                if known is not None and known[place] is None and isinstance(value, str) and value.startswith("="):
                    known[place] = Formula(value)
    finally:
        book.close()


class Formula(str):
    """A formula without its value."""


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _table(file: Path, sheet: str, cells: dict[int, list[Any]]) -> Table:
    numbers, rows = list(cells), list(cells.values())
    used = [place for place in range(max(map(len, rows))) if any(not _is_empty(_at(row, place)) for row in rows)]
    rows = [[_at(row, place) for place in used] for row in rows]
    head = _header(rows)
    body = rows[head + 1 :] if head is not None else rows
    place = _places(str(file), sheet, numbers[head + 1 :] if head is not None else numbers)
    if not body:
        raise InputError.lacking(f"{file} sheet {sheet} has a header but no rows")
    if head is None:
        if not all(_is_numeric(value) for row in rows for value in row):
            raise InputError(
                f"{file} sheet {sheet} has numbers and text, but no <+row of names+>; add one such as lon, lat, weight"
            )
        found: Table = _NumberedRows(np.array([[_number(value) for value in row] for row in rows]), str(file), place)
    else:
        names = [_name(value) for value in rows[head]]
        found = Sheet(names, body, str(file), place)
    found.note = f"Excel, sheet {sheet}"
    return found


def _at(row: Sequence[Any], place: int) -> Any:
    return row[place] if place < len(row) else None


def _header(rows: Cells) -> int | None:
    """The row of names: the first that is mostly text, and that has cells for most of the columns rows have."""
    filled = [[value for value in row if not _is_empty(value)] for row in rows[:_ROWS_FOR_HEADER]]
    numeric = [row for row in filled if any(isinstance(value, int | float) for value in row)]
    width = median(map(len, numeric or filled))
    for place, row in enumerate(filled):
        words = [value for value in row if isinstance(value, str) and not is_number(value)]
        if 2 * len(words) > len(row) and 2 * len(row) > width:
            return place
        if any(_is_numeric(value) for value in row):  # numbers, so that no header can come
            return None
    return None


def _name(value: Any) -> str:
    """The name of a column; whole numbers without their decimals."""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())


def _places(source: str, sheet: str, numbers: Sequence[int]) -> Place:
    return lambda row: f"{source} sheet {sheet} row {numbers[row]:,}"


def _is_numeric(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain or _is_empty(value) or (isinstance(value, str) and (is_number(value) or value.strip() in MISSING))


def _number(value: Any) -> Any:
    """A cell as Records has it: numbers that were typed as text are numbers, missing ones None, dates are text."""
    if isinstance(value, str) and not isinstance(value, Formula):
        text = value.strip()
        return None if text in MISSING else number(text) if is_number(text) else text
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, datetime.timedelta) else value


class Sheet(Records):
    """The columns of a sheet."""

    def __init__(self, names: Sequence[str], rows: Cells, source: str, place: Place) -> None:
        columns: dict[str, list[Any]] = {}
        for at, name in enumerate(names):
            if name:
                columns.setdefault(name, [_number(row[at]) for row in rows])
        super().__init__(columns, source, place)
        self._doubles = [name for name, count in Counter(names).items() if count > 1]
        computed = [name for name, values in columns.items() if any(isinstance(value, Formula) for value in values)]
        self.names = [name for name in columns if name in self.names or name in computed]

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Numbers; a name that two columns have is refused."""
        for name in names:
            if name in self._doubles:
                raise InputError(f"{self.source} has <!more than one column {name!r}!>; rename one of them")
            for row, value in enumerate(self._columns[name]):
                if isinstance(value, Formula):
                    raise InputError(
                        f"{self._place(row)}: column {name} holds <!the formula {value[:40]}!> without <+its value+>; "
                        "open the file in Excel or LibreOffice, which compute it, and save it",
                        row=row,
                    )
        return super().pieces(names, rows)


class _NumberedRows(Rows):
    """Numbers without a header, with rows as Excel counts them."""

    def __init__(self, array: Any, source: str, place: Place) -> None:
        super().__init__(array.astype(np.float64), source)
        self._place = place

    def _places(self, start: int) -> Place:
        return lambda row: self._place(start + row)
