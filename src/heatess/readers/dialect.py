"""How a text file is written, told from its first lines: encoding, delimiter, header, decimal comma, units."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.errors import InputError
from ..tables.missing import MISSING
from ..tables.units import ANGLES, OTHERS
from .packed_size import WIDEST, refuse_columns
from .stan import refuse_other_rows
from .streams import Source
from .text_lines import COMMENTS, Dialect, is_number, number, records, text_lines
from .unread_formats import CDS, IPAC, refuse

#: Lines that are looked at, comments and blank lines not counted.
_LINES_LOOKED_AT = 60

#: Characters that are looked at.
_LENGTH = 2**24

_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
#: The beginning of an angle that is written in parts, 05h34m31.97s or +22:00:52.2, or with its side, 45.5S.
_IN_PARTS = re.compile(r"[+-]?\d+(?:\.\d*)?[NSEWnsew]|[+-]?\d+\s*[hd:°]\s*\d.*")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_THREE_DIGITS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_UNITS = ANGLES | {"h:m:s": "hours", "d:m:s": "deg"}  # the last two of VizieR, for angles in parts
_OTHER_UNITS = {word: word for word in OTHERS if word not in ("e6", "e7")}
_RULE = re.compile(r"[-=]{2,}|[(\[][^)\]\d]*[)\]]")
_IN_BRACKETS = re.compile(r"[(\[]\s*([^)\]]*?)\s*[)\]]\s*$")

Row = tuple[int, list[str]]


class Layout(NamedTuple):
    """One way to split the first lines."""

    delimiter: str
    names: list[str]
    skip: int  #: lines before the first row
    named: bool  #: whether the names are from the file
    share: float  #: of the rows that have as many fields as there are names
    rows: list[Row]


def dialect_of(source: Source, path: Path) -> Dialect:
    """The dialect of a text file; an `InputError` if it is empty, binary, or needs a header and has none."""
    encoding = encoding_of(source)
    with source.text(encoding) as (text, _):
        sample = _sample(text_lines(text, source.name))
    if any("\0" in line for line in sample):
        found = "holds <!NUL bytes!>, as UTF-16 text without a mark or a binary file does"
        raise InputError(f"{source.name} {found}; save it as <+text in UTF-8+>")
    if not any(line.strip() for line in sample):
        raise InputError(f"{source.name} is <!empty!>; it needs <+a header line such as x,y,z or lon,lat,weight+>")
    _refuse_other(sample, source.name)
    refuse_other_rows(sample, source.name)
    refuse_columns(source.name, _widest(sample))
    layout = _best(sample, source.name, path)
    names = [name.strip() for name in layout.names]
    units = {name: unit for name in names if (unit := _unit(name))}
    skip = layout.skip
    if layout.named and layout.rows and _is_unit_line(layout.rows[0][1], len(names)):
        line, fields = layout.rows.pop(0)
        units |= {name: unit for name, word in zip(names, fields, strict=False) if (unit := _unit(f"({word})"))}
        skip = line
        if layout.rows and _is_unit_line(layout.rows[0][1], len(names)):  # a rule of dashes below the units
            skip = layout.rows.pop(0)[0]
    decimal = _decimal(layout)
    odd = encoding == "utf-16" or any(line.endswith("\r") for line in sample)
    texts = text_columns(names, layout.rows)
    return Dialect(source.name, layout.delimiter, names, skip, layout.named, decimal, encoding, units, odd, texts)


def _refuse_other(sample: list[str], source: str) -> None:
    """Refuse tables whose columns are told by their places in a line, as astronomers have them."""
    if any("byte-by-byte description" in line.lower() for line in sample):
        refuse(source, CDS)
    lines = [line.rstrip() for line in sample if line.strip() and not line.startswith("\\")]
    barred = [line.startswith("|") and line.endswith("|") for line in lines]
    if barred[:2] == [True, True] and not all(barred) and not any(barred[4:]):
        refuse(source, IPAC)


def _widest(sample: list[str]) -> int:
    """The most fields that a line may have, whatever is between them; 0 where that is few."""
    long = [line for line in sample if len(line) > WIDEST and not _is_comment(line)]
    return max((max(*map(line.count, ",\t;|"), len(line.split()) - 1) + 1 for line in long), default=0)


def text_columns(names: list[str], rows: list[Row]) -> tuple[str, ...]:
    """The columns in which more of the first rows hold text than numbers."""
    found = []
    for place, name in enumerate(names):
        entries = [fields[place] for _, fields in rows if len(fields) == len(names)]
        words = sum(not _is_numeric(text) for text in entries)
        if name and 2 * words > sum(text.strip() not in MISSING for text in entries):
            found.append(name)
    return tuple(found)


def quaternions_at_end(rows: Iterable[list[str]]) -> bool:
    """Whether rows of eight numbers end in a unit quaternion, as those of a trajectory do.

    Quaternions may be rounded to two digits, and a few may be zero or missing, where tracking was lost.
    """
    values = np.array([[number(text) for text in row] for row in rows])
    if values.ndim != 2 or values.shape[1] != 8:
        return False
    lengths = np.linalg.norm(values[:, 4:], axis=1)
    lengths = lengths[lengths > 0]
    return len(lengths) > len(values) / 2 and bool(np.all(np.abs(lengths - 1) < 0.02))


def sample_rows(source: Source, dialect: Dialect) -> list[list[str]]:
    """The first rows, without last columns that have no name."""
    with source.text(dialect.encoding) as (text, _):
        sample = _sample(text_lines(text, source.name))
    return [fields[: sum(map(bool, dialect.names))] for _, fields in _split(sample, dialect.delimiter, source.name)]


def encoding_of(source: Source) -> str:
    """UTF-16 if there is a mark, UTF-8 if the first bytes are, else Latin-1: numbers are the same in all others."""
    with source.opened() as (stream, _):
        start = stream.read(2**16)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _sample(lines: Iterable[str]) -> list[str]:
    sample: list[str] = []
    counted = length = 0
    for line in lines:
        sample.append(line)
        counted += bool(line.strip()) and not _is_comment(line)
        length += len(line)
        if counted > _LINES_LOOKED_AT or length > _LENGTH:
            break
    return sample


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(COMMENTS)


def _best(sample: list[str], source: str, path: Path) -> Layout:
    """The split in which most rows agree, then the one with most columns, then the usual one."""
    usual = "\t" if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes} else ","
    marks = [usual, *(mark for mark in ",\t;|" if mark != usual)]
    layouts = [layout for mark in marks if (layout := _layout(sample, mark, source))]
    if layouts:
        return max(layouts, key=lambda layout: (layout.share > 0.9, len(layout.names)))
    spaced = _layout(sample, " ", source)
    return spaced or _plain(sample, marks, source)


def _layout(sample: list[str], mark: str, source: str) -> Layout | None:
    """How the lines are split by *mark*, or None if that makes no table of two columns or more."""
    rows = _split(sample, mark, source)
    counts = Counter(len(fields) for _, fields in rows if any(is_number(text) or _comma(text) for text in fields))
    counts = counts or Counter(len(fields) for _, fields in rows)
    if not counts:
        return _only_comments(sample, mark) if all(_is_comment(line) or not line.strip() for line in sample) else None
    width = max(counts, key=lambda width: (counts[width], width))
    if width < 2 or (mark == "\t" and any(_holds_more(text) for _, fields in rows for text in fields)):
        return None
    share = counts[width] / counts.total()
    first = next(place for place, (_, fields) in enumerate(rows) if len(fields) == width)
    if _is_header(rows[first][1]):
        if any(_between(other, rows[first][1]) and _between(other, rows[-1][1]) for other in "\t;|"):
            return None
        while mark == " " and first + 1 < len(rows) and _follows(rows[first + 1][1], width):
            first += 1
        return Layout(mark, rows[first][1], rows[first][0], True, share, rows[first + 1 :])
    bare = width - (width > 2 and not any(fields[-1].strip() for _, fields in rows if len(fields) == width))
    comment = _comment_header(sample, mark, (width, bare), rows[first][0])
    if comment:
        return Layout(mark, (comment[1] + [""])[:width], comment[0], True, share, rows[first:])
    if first or not all(_is_numeric(text) for _, fields in rows for text in fields if len(fields) == width):
        return None
    return _numbered(Layout(mark, [], rows[0][0] - 1, False, share, rows), width, source)


def _between(mark: str, fields: list[str]) -> bool:
    return any(mark in text for text in fields)


def _holds_more(text: str) -> bool:
    """Whether a field between tabs is several numbers between spaces."""
    words = text.split()
    return len(words) > 1 and all(_is_numeric(word) for word in words)


def _follows(fields: list[str], width: int) -> bool:
    """Whether a line of words may be the header of columns between spaces, and the line before it a title."""
    return len(fields) == width and _is_header(fields) and not any(map(_is_numeric, fields)) and not _units_only(fields)


def _split(sample: list[str], mark: str, source: str) -> list[Row]:
    rows: list[Row] = []
    try:
        for line, fields in records(sample, mark, source):
            if line > 1 or not fields[0].lower().startswith("sep="):  # a note to Excel
                rows.append((line, fields))
    except InputError:  # an open quote at the end of the sample, or in lines that are not for this mark
        pass
    return rows


def _is_header(fields: list[str]) -> bool:
    """Whether fields are names: most are words, and none is a number with a fraction; 61S and 05h34m are no words."""
    words = [text.strip() for text in fields if text.strip()]
    plain = [text for text in words if not _is_numeric(text) and not _IN_PARTS.fullmatch(text)]
    counted = [text for text in words if text.isdigit()]
    if plain and len(counted) > 7 and len(plain) + len(counted) == len(words):
        return counted in ([str(k + start) for k in range(len(counted))] for start in (0, 1))
    return bool(words) and 2 * len(plain) > len(words) and all(text.isdigit() or not is_number(text) for text in words)


def _is_numeric(text: str) -> bool:
    return is_number(text) or _comma(text) or text.strip() in MISSING


def _comma(text: str) -> bool:
    return bool(_COMMA_NUMBER.fullmatch(text.strip()))


def _comment_header(sample: list[str], mark: str, widths: tuple[int, ...], before: int) -> Row | None:
    """The last comment before a line that has as many words as there may be columns, such as "# x,y,z"."""
    for line in range(min(before, len(sample)), 0, -1):
        text = sample[line - 1].strip()
        if mark == " " and not text:  # a remark further up may by chance have as many words
            return None
        if _is_comment(text):
            fields = _bare(text, mark)
            if len(fields) in widths and _is_header(fields):
                return line, fields
    return None


def _bare(comment: str, mark: str) -> list[str]:
    text = comment.lstrip("#%/").strip("\r\n" if mark == "\t" else " \t\r\n")
    return next((fields for _, fields in records([text], mark, "")), [])


def _only_comments(sample: list[str], mark: str) -> Layout | None:
    """A header such as "# x,y,z" and nothing else."""
    last = next((line for line in reversed(sample) if line.strip()), "")
    fields = _bare(last, mark)
    return Layout(mark, fields, len(sample), True, 1.0, []) if len(fields) > 1 else None


def _numbered(layout: Layout, width: int, source: str) -> Layout:
    """Rows of numbers without a header; a first line 0,1,2 may be the header of a numbered table."""
    numbers = [str(column) for column in range(width)]
    line, fields = layout.rows[0]
    words = [text.strip() for text in fields]
    if words == ["", *numbers[:-1]]:  # pandas writes an index without a name
        return layout._replace(names=words, skip=line, rows=layout.rows[1:])
    if words != numbers:
        return layout._replace(names=numbers)
    others = layout.rows[1:]
    if width > 2 and others and all(any(_POINT_NUMBER.fullmatch(text.strip()) for text in row) for _, row in others):
        return layout._replace(names=numbers, skip=line, rows=others)
    found = f"line {line} holds {', '.join(numbers)}, which may be the names of columns or the first row"
    edges = "; or, if rows are the edges of a graph, rename it to .edgelist" if width in (2, 3) else ""
    raise InputError(f"{source} {found}; name the columns, or write that row with decimals, such as 0.0{edges}")


def _plain(sample: list[str], marks: list[str], source: str) -> Layout:
    """One column; or a table in which something is wrong, so that reading it shows the line."""
    splits = {mark: rows for mark in [*marks, " "] if (rows := _split(sample, mark, source))}
    if not splits:
        header = _bare(next(line for line in sample if line.strip()), marks[0])
        return Layout(marks[0], header or [""], len(sample), True, 1.0, [])
    if "," not in splits:  # a quote in the first row is never closed, and the error says so
        list(records(sample, ",", source))
    mark = max(splits, key=lambda mark: (len(splits[mark][0][1]), mark != " "))
    rows = splits[mark]
    delimited = any(mark in line for mark in marks for line in sample if not _is_comment(line))
    if not delimited and all(len(fields) == 1 for _, fields in splits[" "][1:]):
        rows = splits[","]
        line, fields = rows[0]
        if _is_header(fields):
            return Layout(",", fields, line, True, 1.0, rows[1:])
        if all(_is_numeric(fields[0]) for _, fields in rows):
            comment = _comment_header(sample, ",", (1,), line)
            if comment and len(comment[1][0].split()) == 1:
                return Layout(",", comment[1], comment[0], True, 1.0, rows)
            return Layout(",", ["0"], line - 1, False, 1.0, rows)
    line, fields = rows[0]
    if not _is_header(fields):
        found = f"line {line} holds <!numbers and text!>, but <+a header+> is needed"
        raise InputError(f"{source} {found}; add one such as x,y,z or lon,lat,weight")
    return Layout(mark, fields, line, True, 0.0, rows[1:])


def _decimal(layout: Layout) -> str:
    """A comma if numbers have one and none has a point; with tabs or spaces not if they may be thousands."""
    if layout.delimiter == ",":
        return "."
    texts = [text.strip() for _, fields in layout.rows for text in fields]
    commas = [text for text in texts if _COMMA_NUMBER.fullmatch(text)]
    if not commas or any(_POINT_NUMBER.fullmatch(text) for text in texts):
        return "."
    thousands = layout.delimiter != ";" and all(_THREE_DIGITS.fullmatch(text) for text in commas)
    return "." if thousands else ","


def _unit(name: str) -> str | None:
    """The unit of an angle in brackets at the end of a name.

    >>> _unit("lon [deg]"), _unit("phi (radians)"), _unit("x (m)")
    ('deg', 'rad', None)
    """
    match = _IN_BRACKETS.search(name)
    return (_UNITS | _OTHER_UNITS).get(match[1].lower()) if match else None


def _is_unit_line(fields: list[str], width: int) -> bool:
    return len(fields) == width and _units_only(fields)


def _units_only(fields: list[str]) -> bool:
    """Whether a line below the header has degrees or radians among words without a number, or is a rule of dashes."""
    words = [word for text in fields if (word := text.strip().lower())]
    units = any(word in _UNITS for word in words) and not any(map(_is_numeric, words))
    return bool(words) and (units or all(_RULE.fullmatch(word) for word in words))
