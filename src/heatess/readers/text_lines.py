"""Text line by line: slow, careful, and able to name the line of whatever is wrong."""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from ..base.arrays import EXACT, EXACT_INTEGERS, FloatArray
from ..base.errors import InputError
from ..tables.missing import MISSING

COMMENTS = ("#", "%", "//")

#: No line of text has more characters.
MOST_CHARACTERS_OF_LINE = 2**26

_MISSING = frozenset(MISSING)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,. ']\d{3})+([.,]\d+)?")
_SEXAGESIMAL = re.compile(r"[+-]?\d{1,3}\s*[:hd°º\s]\s*\d{1,2}\s*([:m'′\s]\s*([\d.]+\s*[s\"″]?)?)?\s*[NSEW]?", re.I)
_COMPASS = re.compile(r"[+-]?[\d.]+\s*°?\s*[NSEW]|[NSEW]\s*[\d.]+", re.I)
_CHUNK = 65_536


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    source : str
        The file, for messages.
    delimiter : str
        One character; a space stands for runs of spaces and tabs.
    names : list of str
        One per column; empty where the header has none.
    skip : int
        Lines before the first row.
    named : bool
        Whether the names are from the file.
    decimal : str
        "." or ",".
    encoding : str
        "utf-8-sig", "latin-1" or "utf-16".
    units : dict
        "deg" or "rad" for the columns of which the file says so.
    texts : tuple of str
        The columns that hold text in the first rows.
    odd : bool
        Whether lines do not end in the byte 10: UTF-16, or the line ends of old Macs.
    """

    source: str
    delimiter: str
    names: list[str]
    skip: int
    named: bool = True
    decimal: str = "."
    encoding: str = "utf-8-sig"
    units: dict[str, str] = field(default_factory=dict)
    odd: bool = False
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """Some rows: one array per wanted column, and the line of each row."""

    columns: list[FloatArray]
    lines: Sequence[int]


def records(lines: Iterable[str], delimiter: str, source: str, before: int = 0) -> Iterator[tuple[int, list[str]]]:
    """The fields of every row and the line in which it ends; comments and blank lines are left out.

    *before* is the number of lines that came before. Quoted fields may hold the delimiter and line breaks.
    """
    if delimiter == " ":
        for number, line in enumerate(lines, before + 1):
            text = line.strip()
            if text and not text.startswith(COMMENTS):
                yield number, _spaced(text, f"{source} line {number}") if '"' in text else text.split()
        return
    number, opened, fresh = before, 0, True

    def feed() -> Iterator[str]:
        nonlocal number, opened, fresh
        for line in lines:
            number += 1
            if fresh:
                if line.lstrip().startswith(COMMENTS) or not line.strip():
                    continue
                opened, fresh = number, False
            yield line
        if not fresh:
            raise InputError(f"{source} line {opened}: <!a quote is opened and never closed!>; close it, or remove it")

    reader = csv.reader(feed(), delimiter=delimiter)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise _unsplit(f"{source} line {max(opened, 1)}", error) from None
        if row is None:
            return
        fresh = True
        yield number, row


def _spaced(text: str, where: str) -> list[str]:
    try:
        return next(csv.reader([text.replace("\t", " ")], delimiter=" ", skipinitialspace=True))
    except csv.Error as error:
        raise _unsplit(where, error) from None


def _unsplit(where: str, error: csv.Error) -> InputError:
    long = "field limit" in str(error)
    advice = "leave out the column of long texts, such as shapes" if long else "save it as plain CSV"
    return InputError(f"{where} cannot be split into fields ({error}); {advice}")


def text_lines(stream: IO[str], source: str) -> Iterator[str]:
    """The lines of a stream; one without end is refused before it fills the memory."""
    number = 0
    while line := stream.readline(MOST_CHARACTERS_OF_LINE):
        number += 1
        if len(line) == MOST_CHARACTERS_OF_LINE:
            raise InputError(
                f"{source} line {number} is <!longer than {MOST_CHARACTERS_OF_LINE:,} characters!>; is this text?"
            )
        yield line


def whole_rows(rows: Iterator[tuple[int, list[str]]], dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows that have as many fields as there are columns; empty ones are left out, others refused."""
    width = len(dialect.names)
    for line, row in rows:
        if len(row) != width:
            if not any(text.strip() for text in row):
                continue
            _refuse_ragged(line, row, dialect)
        yield line, row


def careful(rows: Iterator[tuple[int, list[str]]], dialect: Dialect, wanted: Sequence[int]) -> Iterator[Block]:
    """The numbers in the *wanted* columns of some rows; an `InputError` names the line of what is not a number."""
    values, lines = array("d"), array("q")
    decimal = dialect.decimal
    for line, row in whole_rows(rows, dialect):
        try:
            found = [number(row[column], decimal) for column in wanted]
        except ValueError:
            raise _not_a_number(line, row, dialect, wanted) from None
        if any(abs(value) >= EXACT_INTEGERS for value in found):
            _refuse_rounded(line, row, dialect, wanted)
        values.extend(found)
        lines.append(line)
        if len(lines) == _CHUNK:
            yield _block(values, lines, len(wanted))
            values, lines = array("d"), array("q")
    if lines:
        yield _block(values, lines, len(wanted))


def _block(values: array[float], lines: array[int], width: int) -> Block:
    table = np.frombuffer(values).reshape(len(lines), width) if values else np.empty((len(lines), width))
    return Block([np.ascontiguousarray(column) for column in table.T], lines)


def number(text: str, decimal: str = ".") -> float:
    """The number in *text*, nan if it is missing; unlike in Python, 1_0 is refused, because in a file it is an error.

    >>> number("1,5", decimal=","), number(" -2e-3"), number("NA")
    (1.5, -0.002, nan)
    """
    if decimal == ",":
        if "." in text:
            raise ValueError(text)
        text = text.replace(",", ".", 1)
    try:
        if "_" in text:
            raise ValueError(text)
        return float(text)
    except ValueError:
        if text.strip() in _MISSING:
            return math.nan
        raise


def is_number(text: str, decimal: str = ".") -> bool:
    """Whether *text* is a number that is not missing."""
    try:
        return not math.isnan(number(text, decimal))
    except ValueError:
        return False


def _refuse_ragged(line: int, row: list[str], dialect: Dialect) -> None:
    width = len(dialect.names)
    if len(row) < width or any(text.strip() for text in row[width:]):
        shown = ", ".join(dialect.names[:8]) + (", ..." if width > 8 else "")
        expected = f"the header has <+{width}+> ({shown})" if dialect.named else f"the first row has <+{width}+>"
        found = f"has <!{len(row)} field{'s' * (len(row) != 1)}!>, but {expected}"
        advice = "fix that line, and quote any field that contains the delimiter"
        raise InputError(f"{dialect.source} line {line} {found}; {advice}")


def _refuse_rounded(line: int, row: list[str], dialect: Dialect, wanted: Sequence[int]) -> None:
    """Refuse integers that float64 does not hold; a number with a decimal point says that rounding does no harm."""
    for column in wanted:
        text = row[column].strip()
        digits = text.lstrip("+-")
        if digits.isdecimal() and len(digits) < 400 and int(digits) != abs(number(text, dialect.decimal)):
            name = dialect.names[column] or f"number {column + 1}"
            what = f"column {name} is <!{text[:40]}!>, an integer above 2^53 that is not exact in float64"
            advice = "subtract an offset or, if rounding does no harm, write it with a decimal point"
            raise InputError(f"{dialect.source} line {line:,}: {what}; {advice}", column=name, expected=EXACT)


def _not_a_number(line: int, row: list[str], dialect: Dialect, wanted: Sequence[int]) -> InputError:
    """The error for the first of the wanted fields that is not a number."""
    for column in wanted:
        try:
            number(row[column], dialect.decimal)
        except ValueError:
            break
    text = row[column].strip()
    other = "," if dialect.decimal == "." else "."
    hint = ""
    if _THOUSANDS.fullmatch(text) and (dialect.delimiter != ";" or dialect.decimal == ","):
        hint = "; write thousands without a separator, and decimals with a point"
    elif other in text and is_number(text.replace(".", ","), ","):
        hint = "; write decimals with a point, not a comma" if other == "," else "; other rows have a decimal comma"
    elif _SEXAGESIMAL.fullmatch(text):
        hint = "; write angles as decimal degrees, west and south negative, and 15 degrees for an hour"
    elif _COMPASS.fullmatch(text):
        hint = "; write west and south as negative numbers, without a letter"
    elif "\u2212" in text and is_number(text.replace("\u2212", "-"), dialect.decimal):
        hint = "; write the minus sign as a hyphen, -"
    name = dialect.names[column] or f"number {column + 1}"
    what = f"column {name} is <!{text[:40]!r}!>, not <+a number+>{hint}"
    return InputError(f"{dialect.source} line {line}: {what}; drop or fix that row", column=name)
