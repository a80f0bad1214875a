"""EBSD maps as text: .ang of EDAX (angles in radians), .ctf of Oxford Instruments (degrees), and their likes."""

from __future__ import annotations

import re
from pathlib import Path

from ..base.errors import InputError
from ..tables.table import Table
from .dialect import encoding_of
from .ebsd import EDAX, LAUE, EbsdMap, Layout, Phase
from .package_readers import split_label
from .streams import Source, packed
from .text import TextTable
from .text_lines import Dialect, text_lines

SUFFIXES = packed((".ang", ".ctf"))

#: The columns of an .ang file, of which the first five are always there.
_ANG = ("phi1", "Phi", "phi2", "x", "y", "iq", "ci", "phase", "sem", "fit")
_CTF = ("Euler1", "Euler2", "Euler3")

#: Lines of a header; that of an .ang file has about a hundred for each phase.
_MOST_LINES_OF_HEADER = 100_000


def table(path: Path) -> Table:
    """The orientations of a map: of its only phase, or of the one that ``::`` names by its number or its name."""
    file, label = split_label(path)
    source = Source(file)
    encoding = encoding_of(source)
    header, first = _header(source, encoding)
    ang = any(suffix.lower() == ".ang" for suffix in file.suffixes)
    dialect, layout = _ang(source, header, first) if ang else _ctf(source, header, first)
    dialect = Dialect(**vars(dialect) | {"encoding": encoding})
    return EbsdMap(TextTable(source, dialect), layout, label, f"EBSD map, {'.ang' if ang else '.ctf'}", str(file))


def _header(source: Source, encoding: str) -> tuple[list[str], list[str]]:
    """The lines before the first row, and the fields of that."""
    header: list[str] = []
    with source.text(encoding) as (text, _):
        for line in text_lines(text, source.name):
            fields = line.split()
            if fields and _is_row(fields):
                return header, fields
            header.append(line.rstrip("\r\n"))
            if len(header) > _MOST_LINES_OF_HEADER:
                break
    raise InputError.lacking(f"{source.name} has no rows of numbers below its header")


def _is_row(fields: list[str]) -> bool:
    return len(fields) > 4 and all(
        re.fullmatch(r"[+-]?[\d.,]+(e[+-]?\d+)?|[+-]?nan", text, re.I) for text in fields[:5]
    )


def _ang(source: Source, header: list[str], first: list[str]) -> tuple[Dialect, Layout]:
    width = len(first)
    stated = [line.partition(":")[2] for line in header if re.match(r"#\s*column[_ ](headers|names):", line, re.I)]
    names = [name.strip() for name in stated[-1].split(",")] if stated else []
    if len(names) != width or [name.lower() for name in names[:3]] != ["phi1", "phi", "phi2"]:
        names = [*_ANG[:width], *(f"column {place}" for place in range(len(_ANG) + 1, width + 1))]
    lower = [name.lower() for name in names]
    phase = next((name for name, word in zip(names, lower, strict=True) if word.startswith("phase")), "")
    unindexed = {names[lower.index("ci")]: (-1.0,)} if "ci" in lower else {}
    units = dict.fromkeys(names[:3], "rad")
    dialect = Dialect(source.name, " ", names, len(header), units=units)
    return dialect, Layout(tuple(names[:3]), phase, unindexed, _ang_phases(header))


def _ang_phases(header: list[str]) -> dict[int, Phase]:
    """Phases by their numbers; those without one are counted from 1."""
    found: dict[int, Phase] = {}
    number = 0
    for line in header:
        word, value = [*line.lstrip("# \t").split(None, 1), "", ""][:2]
        if re.fullmatch(r"#\s*Phase\s+\d+\s*", line):
            number = int(line.split()[-1])
            found[number] = Phase("", "")
        elif word == "MaterialName":
            if number not in found or found[number].name:
                number += 1
            found[number] = Phase(value.strip(), "")
        elif word == "Symmetry" and number in found:
            found[number] = found[number]._replace(symmetry=EDAX.get(value.strip(), value.strip()))
    return found


def _ctf(source: Source, header: list[str], first: list[str]) -> tuple[Dialect, Layout]:
    names = header[-1].split() if header else []
    if names[:1] != ["Phase"] or not set(_CTF) <= set(names):
        wanted = f"name the columns <+Phase, X, Y, ..., {', '.join(_CTF)}, ...+>"
        if not header:
            raise InputError(f"{source.name} has no header; write a line to {wanted}")
        place = f"{source.name} line {len(header)}"
        raise InputError(f"{place}: the line above the first row must {wanted}, but is <!{header[-1][:60]!r}!>")
    if len(names) != len(first):  # some programs leave out columns after the angles
        kept = names.index(_CTF[2]) + 1
        names = [*names[:kept], *(f"column {place}" for place in range(kept + 1, len(first) + 1))][: len(first)]
    decimal = "," if any("," in text for text in first) else "."
    dialect = Dialect(source.name, " ", names, len(header), decimal=decimal)
    return dialect, Layout(_CTF, "Phase", {"Phase": (0.0,)}, _ctf_phases(header))


def _ctf_phases(header: list[str]) -> dict[int, Phase]:
    """The lines below the number of phases: lengths, angles, name, Laue group, ..."""
    start = next((place for place, line in enumerate(header) if re.match(r"Phases\s+\d+", line)), None)
    if start is None:
        return {}
    found: dict[int, Phase] = {}
    for number, line in enumerate(header[start + 1 : start + 1 + int(header[start].split()[1])], 1):
        fields = [text.strip() for text in line.split("\t")]
        laue = fields[3] if len(fields) > 3 else ""
        symmetry = LAUE.get(int(laue), laue) if laue.isdigit() else laue
        found[number] = Phase(fields[2] if len(fields) > 2 else "", symmetry)
    return found
