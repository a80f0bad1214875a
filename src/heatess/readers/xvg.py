"""Files of GROMACS, .xvg: columns for the program Grace, with their names in lines that start with @."""

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

SUFFIXES = packed((".xvg",))

_SETTING = re.compile(r'@\s*(title|xaxis\s+label|yaxis\s+label|s\d+\s+legend)\s+"(.*)"', re.I)
_GREEK = {"f": "phi", "y": "psi", "w": "omega", "c": "chi"}
_LETTER = re.compile(r"\\[8x]([fywc])(?:\\4|\\f\{\})", re.I)
_ESCAPE = re.compile(r"\\f\{[^}]*\}|\\[a-zA-Z0-9+-]")


class Head(NamedTuple):
    """What the lines before the numbers say, and how many columns and sets of rows there are."""

    settings: dict[str, str]
    first: list[str]  #: the first row
    sets: int


def table(path: Path, source: Source | None = None) -> Table:
    r"""The columns of a .xvg file, by the labels of its axes and its legends; of several sets the one after ``::``.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rama.xvg"
    >>> head = '@ title "Ramachandran Plot"\n@ xaxis label "Phi"\n@ yaxis label "Psi"\n@TYPE xy\n'
    >>> _ = path.write_text(f"# gmx rama\n{head}-60.5 -45.1 ALA-2\n-70.2 140.3 ALA-3\n")
    >>> found = table(path)
    >>> found.names, found.units, found.text("label")
    (['Phi', 'Psi', 'label'], {'Phi': 'deg', 'Psi': 'deg'}, ['ALA-2', 'ALA-3'])
    """
    file, label = split_label(path)
    source = source or Source(file)
    head = _head(source)
    sets = {str(place + 1): place for place in range(head.sets)}
    _, place = chosen(file, label, sets, "sets of rows")
    names = _names(head)
    rama = head.settings.get("title", "").lower().startswith("ramachandran")
    units = dict.fromkeys(names[:2], "deg") if rama else {}
    found = RowTable(source, Dialect(source.name, " ", names, 0, encoding="latin-1", units=units), _Set(place).rows)
    found.note, found.known = "GROMACS xvg", Known(kind="trajectory")
    return found


class _Set:
    """One set of rows; a line with & ends it."""

    def __init__(self, place: int) -> None:
        self._place = place

    def rows(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        for place, number, fields in _rows(lines):
            if place == self._place:
                yield number, fields


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, int, list[str]]]:
    """The set, the line and the fields of each row."""
    place, filled = 0, False
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if text.startswith("&"):
            place, filled = place + filled, False
        elif text and not text.startswith("@"):
            filled = True
            yield place, number, text.split()


def _head(source: Source) -> Head:
    settings: dict[str, str] = {}
    first: list[str] = []
    count = 0
    with source.text("latin-1") as (text, _):

        def heard() -> Iterator[str]:
            for line in text_lines(text, source.name):
                if match := _SETTING.match(line.strip()):
                    settings.setdefault(" ".join(match[1].lower().split()), _readable(match[2]))
                yield line

        for place, _, fields in _rows(heard()):
            first, count = first or fields, place + 1
    if not first:
        raise InputError.lacking(f"{source.name} has no rows of numbers", "row")
    return Head(settings, first, count)


def _readable(label: str) -> str:
    """A label without the marks of Grace, Greek letters by their names."""
    return _ESCAPE.sub("", _LETTER.sub(lambda match: _GREEK[match[1].lower()], label)).strip()


def _names(head: Head) -> list[str]:
    """The label of the x axis, then legends, or the label of the y axis if there is one more column of numbers."""
    numeric = [is_number(text) for text in head.first]
    names = [head.settings.get("xaxis label", "") or "0"]
    for place in range(1, len(head.first)):
        name = head.settings.get(f"s{place - 1} legend", "")
        if not name and numeric[place]:
            name = head.settings.get("yaxis label", "") if sum(numeric) == 2 else ""
        names.append(name or (str(place) if numeric[place] else "label"))
    return names
