"""Lists of the edges of a graph, one a line."""

from __future__ import annotations

import ast
import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.messages import shown
from ..tables.edge_columns import WEIGHTS, edge_columns
from ..tables.graphs import EdgeTable
from ..tables.table import Place, Table
from .streams import Source, packed
from .text_lines import is_number, number

SUFFIXES = packed((".edges", ".edgelist"))

_COMMENTS = ("#", "%", "//")


def table(path: Path) -> Table:
    r"""Two names a line, then a weight or what networkx writes, {'weight': 3}; comments begin with #, % or //.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "three.edges"
    >>> _ = path.write_text("# a triangle\na b 1\nb c 2\nc a 0.5\n", encoding="utf-8")
    >>> found = table(path)
    >>> found.text("0"), next(found.pieces(["2"], None)).columns
    (['a', 'b', 'c'], [array([1. , 2. , 0.5])])
    """
    source = Source(path)
    with source.text("utf-8-sig") as (text, _):
        stripped = [line.strip() for line in text]
    numbers = [place for place, line in enumerate(stripped, 1) if line and not line.startswith(_COMMENTS)]
    lines = [stripped[place - 1] for place in numbers]
    if not lines:
        raise InputError(f"{source.name} holds <!no edges!>; write <+two names of nodes a line+>")
    place: Place = lambda row: f"{source.name} line {numbers[row]:,}"  # noqa: E731
    rows = _split(lines, place)
    names = [field.strip() for field in rows[0]]
    if edge_columns(names) is not None:  # a header
        return _edges(names, rows[1:], source.name, lambda row: place(row + 1))
    return _edges([str(column) for column in range(len(rows[0]))], rows, source.name, place)


def _split(lines: list[str], place: Place) -> list[list[str]]:
    """The fields of each line, all of one number."""
    first = lines[0].partition("{")[0]
    mark = next((mark for mark in "\t,;|" if mark in first), None)
    rows: list[list[str]] = []
    for row, line in enumerate(lines):
        head, brace, data = line.partition("{")
        quoted = mark is not None and '"' in head
        fields = next(csv.reader([head], delimiter=mark or " ")) if quoted else head.split(mark)
        if brace:
            fields = [*(field for field in fields if field.strip()), str(_value(brace + data, place(row)))]
        if len(fields) < 2 or (rows and len(fields) != len(rows[0])):
            expected = "two names of nodes" if not rows else f"{len(rows[0])} as in {place(0)}"
            raise InputError(
                f"{place(row)} has <!{len(fields)} field{'s' * (len(fields) != 1)}!>, but <+{expected}+> are needed; "
                "fix or drop that line"
            )
        rows.append([field.strip() for field in fields])
    return rows


def _value(text: str, place: str) -> Any:
    """The weight in what networkx writes about an edge, one if it has none."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, Mapping):
        raise InputError(f"{place}: <!{text[:40]!r}!> is no record such as {{'weight': 3}}; fix or drop that line")
    return next((found[name] for name in WEIGHTS if name in found), 1)


def _edges(names: list[str], rows: list[list[str]], source: str, place: Place) -> Table:
    """Edges as a table: two columns of names, and the others as numbers where they are."""
    if not rows:
        raise InputError(f"{source} has a header ({', '.join(names)}) but <!no edges!>; write two names a line")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    ends = edge_columns(names) or tuple(names[:2])
    texts = {name: words for name, words in columns.items() if name in ends or not any(map(is_number, words))}
    values = {
        name: np.array([_number(word, name, place, row) for row, word in enumerate(words)])
        for name, words in columns.items()
        if name not in texts
    }
    return EdgeTable(values, source, texts, place)


def _number(field: str, name: str, place: Place, row: int) -> float:
    try:
        return number(field)
    except ValueError:
        which = "the third field" if name == "2" else f"column {name}"
        raise InputError(f"{place(row)}: {which} is <!{shown(field)}!>, not <+a number+>; fix that line") from None
