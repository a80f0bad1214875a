"""MagIC contribution files: tables of rock magnetism one after another, each with its name above its header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..base.errors import InputError
from ..base.known import Known
from ..tables.table import Table
from .package_readers import chosen, split_label
from .streams import Source, packed
from .text_lines import Dialect, is_number, text_lines
from .text_rows import RowTable

SUFFIXES = packed((".magic",))

#: The line above a header, such as "tab delimited <tab> sites".
TITLE = re.compile(r"\ufeff?tab(?: ?delimited)?\s*\t\s*(\w+)\s*")

#: What names of columns of directions begin with; others, such as aniso_, are of something else.
_OF_DIRECTIONS = "(?:(?:dir|site|sample|specimen|measurement|average)_)?"

#: The column that has by how many per cent of the tilt of beds directions are corrected; -1 in the specimen's frame.
_TILT = re.compile(f"{_OF_DIRECTIONS}tilt_correction")

#: The table of what was measured on each specimen, at one step of heating or of a field after another.
_STEPS = ("measurements", "magic_measurements")
_DOUBT = (
    "its rows are the steps of measuring some specimens, which are no independent draws; give the table of sites or "
    "specimens, or say `kind='draws'`"
)

_END = re.compile(r">{4,}\s*")
_ANGLE = re.compile(r"(?:.*_)?(?:lat|lon|dec|inc|lat_[ns]|lon_[ew])")
_DIRECTION = tuple(re.compile(f"{_OF_DIRECTIONS}{end}") for end in ("dec", "inc"))


class Section(NamedTuple):
    """One table of the file, or the rows of it with one correction for tilt."""

    names: list[str]
    first: int  #: the first and the last line of its rows
    last: int
    corrections: tuple[str, ...] = ()  #: of directions, for the tilt of beds; -1 is for the frame of the sample itself
    correction: str = ""  #: of these rows; empty if there are not several

    @property
    def has_directions(self) -> bool:
        """Whether it has columns of declination and inclination."""
        return all(any(map(pattern.fullmatch, self.names)) for pattern in _DIRECTION)

    @property
    def tilt(self) -> int:
        """The place of the column of corrections for tilt; -1 if there is none."""
        return next((place for place, name in enumerate(self.names) if _TILT.fullmatch(name)), -1)

    def rows(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """The line of each row and its fields, which MagIC does not quote."""
        width, place = len(self.names), self.tilt
        for number, line in enumerate(lines, 1):
            if self.first <= number <= self.last and line.strip():
                fields = line.rstrip("\r\n").split("\t")
                fields += [""] * (width - len(fields))  # some programs leave out empty fields at the end of a line
                if not self.correction or _plain(fields[place]) == self.correction:
                    yield number, fields


def table(path: Path, source: Source | None = None) -> Table:
    r"""The table that is named after ``::``; without a name the only one, or the only one that has directions.

    Directions before and after the correction for tilt are two tables, called for instance
    sites/dir_tilt_correction=0 and sites/dir_tilt_correction=100, because together they would count each site twice.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "magic_contribution.txt"
    >>> sites = "tab delimited\tsites\nsite\tdir_dec\tdir_inc\nA\t350.1\t-60.2\n"
    >>> _ = path.write_text(f"tab delimited\tlocations\nlocation\tlat_n\nX\t12.5\n>>>>>>>>>>\n{sites}")
    >>> found = table(path)
    >>> found.names, found.note, found.text("site")
    (['site', 'dir_dec', 'dir_inc'], 'MagIC, table sites', ['A'])
    """
    file, label = split_label(path)
    source = source or Source(file)
    sections = _sections(source)
    if not sections:
        raise InputError(f"{source.name} has no <+table with rows+>; a MagIC file has one below its line tab delimited")
    directed = {name: section for name, section in sections.items() if section.has_directions}
    offered = sections if label or not directed else directed
    parts = {part: rows for name, section in offered.items() for part, rows in _parts(name, section).items()}
    name, section = chosen(file, label, parts, "tables" if offered is sections else "tables with directions")
    units = {column: "deg" for column in section.names if _ANGLE.fullmatch(column)}
    dialect = Dialect(source.name, "\t", section.names, section.first - 1, units=units)
    made = RowTable(source, dialect, section.rows, f"MagIC, table {name}")
    if name.startswith(_STEPS):
        made.known = Known(doubt=_DOUBT)
    return made


def _parts(name: str, section: Section) -> dict[str, Section]:
    """A table as it is, or one for each correction of its directions."""
    if len(section.corrections) < 2:
        return {name: section}
    column = section.names[section.tilt]
    return {f"{name}/{column}={value}": section._replace(correction=value) for value in section.corrections}


def _sections(source: Source) -> dict[str, Section]:
    """The tables that have rows."""
    found: dict[str, Section] = {}
    title, start, place = "", 0, -1
    names: list[str] = []
    corrections: dict[str, None] = {}

    def close(last: int) -> None:
        if title and names and last >= start:
            if title in found:
                raise InputError(f"{source.name} has <!two tables {title}!>; split the file, and read one of them")
            found[title] = Section(names, start, last, tuple(corrections))

    with source.text("utf-8-sig") as (text, _):
        line = 0
        for line, content in enumerate(text_lines(text, source.name), 1):
            match = TITLE.fullmatch(content)
            if match:
                title, names, corrections = match[1], [], {}
            elif title and not names:
                names, start = [name.strip() for name in content.rstrip("\r\n").split("\t")], line + 1
                place = Section(names, 0, 0).tilt
            elif _END.fullmatch(content):
                close(line - 1)
                title = ""
            elif title and place >= 0:
                fields = content.split("\t")
                if len(fields) > place and (value := _plain(fields[place])):
                    corrections[value] = None
        close(line)
    return found


def _plain(text: str) -> str:
    """A correction as it is written in short: 0.0 is 0."""
    return f"{float(text):g}" if is_number(text) else text.strip()
