"""PLY files in text and binary: every element with its properties, whole or not at all.

Not by trimesh, which cuts polygons from their first corner, wrong where they are not convex (an area of 3.5 for 0.5),
takes files that are cut short and rows with too many values, and reads no binary files that mix triangles and others.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError

_TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
_TYPES |= {f"{kind}{8 * size}": f"{kind[0]}{size}" for kind in ("int", "uint") for size in (1, 2, 4, 8)}
_TYPES |= {"float": "f4", "double": "f8", "float32": "f4", "float64": "f8"}


class Property(NamedTuple):
    """One property: its name, the type of its values, and that of their number if it is a list."""

    name: str
    kind: str
    counted: str = ""


class Element(NamedTuple):
    """One kind of rows, in the order of the file."""

    name: str
    rows: int
    properties: list[Property]

    def stacked(self, columns: list[Any]) -> dict[str, Any]:
        """Each property as an array (rows,); lists as (rows, length), or a list of arrays if their lengths differ."""
        found: dict[str, Any] = {}
        for one, values in zip(self.properties, columns, strict=True):
            kind = np.float64 if one.kind[0] == "f" else np.int64
            if not one.counted:
                found[one.name] = np.asarray(values, dtype=kind).reshape(-1)
            elif len({len(value) for value in values}) == 1:
                found[one.name] = np.asarray(values, dtype=kind)
            else:
                found[one.name] = [np.asarray(value, dtype=kind) for value in values]
        return found

    def short(self, found: int) -> InputError:
        """The error for a file in which fewer rows were *found* than it announces."""
        what = "faces" if self.name == "face" else f"rows of {self.name}"
        return InputError(f"it announces <+{self.rows} {what}+>, of which <!{found}!> can be read; is it cut short?")


def read_ply(path: str | Path) -> dict[str, dict[str, Any]]:
    """The properties of each element of a PLY file, or an `InputError` that says what is missing."""
    content = Path(path).read_bytes()
    head = re.match(rb"ply\s(.*?[\r\n])\s*end_header[ \t]*(?:\r\n|\n|\r|$)", content, re.DOTALL)
    if head is None:
        raise InputError("it has no <+header from ply to end_header+>; is it cut short, or of another format?")
    form, elements = "", []
    for words in (line.split() for line in head[1].decode("latin-1").splitlines()):
        match words:
            case ["format", form, *_]:
                pass
            case ["element", name, count]:
                elements.append(Element(name, int(count), []))
            case ["property", "list", counted, kind, name]:
                elements[-1].properties.append(Property(name, _TYPES[kind], _TYPES[counted]))
            case ["property", kind, name]:
                elements[-1].properties.append(Property(name, _TYPES[kind]))
    body = content[head.end() :]
    if form == "ascii":
        return _text(body, elements)
    if form not in ("binary_little_endian", "binary_big_endian"):
        raise InputError(f"its format is <!{form!r}!>, not <+ascii, binary_little_endian or binary_big_endian+>")
    return _binary(body, elements, "<" if "little" in form else ">")


def _text(body: bytes, elements: list[Element]) -> dict[str, dict[str, Any]]:
    rows = [line.split() for line in body.decode("latin-1").splitlines() if line.strip()]
    found, at = {}, 0
    for element in elements:
        mine, at = rows[at : at + element.rows], at + element.rows
        if len(mine) < element.rows:
            raise element.short(len(mine))
        columns: list[Any] = [[] for _ in element.properties]
        for number, words in enumerate(mine):
            start = 0
            for one, column in zip(element.properties, columns, strict=True):
                length = 1
                if one.counted:
                    length, start = int(words[start]) if start < len(words) else 0, start + 1
                column.append(words[start : start + length])
                start += length
            if start != len(words):
                shown = " ".join(words)[:60]
                raise InputError(
                    f"{element.name} {number} is {shown!r}: <!{len(words)} values!> where it should have <+{start}+>"
                )
        found[element.name] = element.stacked(columns)
    if len(rows) > at:
        raise InputError(f"it goes on after all that it announces, with <!{' '.join(rows[at])[:60]!r}!>")
    return found


def _binary(body: bytes, elements: list[Element], order: str) -> dict[str, dict[str, Any]]:
    found, at = {}, 0
    for element in elements:
        columns: list[Any] = [[] for _ in element.properties]
        data = _alike(body, element, order, at)
        if data is not None:
            columns, at = [data[one.name] for one in element.properties], at + data.nbytes
        try:
            for _ in range(element.rows if data is None else 0):
                for one, column in zip(element.properties, columns, strict=True):
                    length, at = _length(body, one, order, at)
                    column.append(np.frombuffer(body, order + one.kind, length, at))
                    at += column[-1].nbytes
        except ValueError:
            raise element.short(len(columns[-1])) from None
        found[element.name] = element.stacked(columns)
    if body[at:].strip():
        raise InputError(f"it goes on for <!{len(body) - at} bytes!> after all that it announces")
    return found


def _length(body: bytes, one: Property, order: str, at: int) -> tuple[int, int]:
    """The number of values of a property at a place in the file, and where they begin."""
    if not one.counted:
        return 1, at
    return int(np.frombuffer(body, order + one.counted, 1, at)[0]), at + np.dtype(one.counted).itemsize


def _alike(body: bytes, element: Element, order: str, start: int) -> NDArray[Any] | None:
    """All rows of an element at once, if their lists are as long as those of the first."""
    fields, at = [], start
    try:
        for one in element.properties:
            length, values = _length(body, one, order, at) if element.rows else (0, at)
            if values > at:
                fields.append((f"{one.name} count", order + one.counted, (1,)))
            fields.append((one.name, order + one.kind, (length,)))
            at = values + length * np.dtype(one.kind).itemsize
        data = np.frombuffer(body, np.dtype(fields), element.rows, start)
    except ValueError:
        return None
    counts = [data[one.name + " count"] for one in element.properties if one.counted and element.rows]
    return data if all((count == count[0]).all() for count in counts) else None
