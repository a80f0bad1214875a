"""COLVAR files of PLUMED: named columns along a simulation, in which `#! FIELDS` has the names."""

from __future__ import annotations

import math
import re
from pathlib import Path

from ..base.errors import InputError
from ..base.known import Known
from ..tables.table import Table
from .streams import Source, packed
from .text import TextTable
from .text_lines import Dialect

SUFFIXES = packed((".colvar",))

#: How a line starts that has the names of columns, and one that says something about them.
FIELDS, _SET = "#! FIELDS", "#! SET"

_MULTIPLE_OF_PI = re.compile(r"([+-]?)(\d+\.?\d*)?\*?pi", re.I)
_TURNS = {"rad": 2 * math.pi, "deg": 360.0}


def table(path: Path, source: Source | None = None) -> Table:
    r"""The columns of a COLVAR file; those that PLUMED calls periodic with a period of a turn are angles.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "COLVAR"
    >>> _ = path.write_text("#! FIELDS time phi psi\n#! SET min_phi -pi\n#! SET max_phi pi\n 0.0 -1.5 2.5\n")
    >>> found = table(path)
    >>> found.names, found.units, found.known.kind
    (['time', 'phi', 'psi'], {'phi': 'rad'}, 'trajectory')
    """
    source = source or Source(path)
    names, settings, skip = _header(source)
    periodic = {name: bounds for name in names if (bounds := _bounds(settings, name))}
    units = {name: unit for name, bounds in periodic.items() if (unit := _unit(*bounds))}
    found = TextTable(source, Dialect(source.name, " ", names, skip, encoding="latin-1", units=units))
    found.note = "PLUMED COLVAR"
    found.known = Known(kind="trajectory")
    return found


def _header(source: Source) -> tuple[list[str], dict[str, str], int]:
    """The names of the columns, what is set, and the lines before the first row.

    A run that was started again may repeat names and settings further down, but not change the names.
    """
    names: list[str] = []
    settings: dict[str, str] = {}
    first = skip = 0
    with source.opened() as (stream, _):
        for number, line in enumerate(stream, 1):
            if not line.startswith(b"#!"):
                continue
            skip += skip == number - 1
            words = line.decode("latin-1").split()
            if words[1:2] == ["FIELDS"]:
                if names and words[2:] != names:
                    raise InputError(
                        f"{source.name} line {number:,}: the fields are <!{', '.join(words[2:])}!>, but "
                        f"<+{', '.join(names)}+> in line {first:,}; split the file there, and read one part at a time"
                    )
                names, first = words[2:], first or number
            elif words[1:2] == ["SET"] and len(words) == 4:
                settings[words[2]] = words[3]
    if not names:
        raise InputError(f"{source.name} has no <+line {FIELDS}+>, which a COLVAR file starts with; print it again")
    return names, settings, skip


def _bounds(settings: dict[str, str], name: str) -> tuple[float, float] | None:
    """The ends of the period of a column; None if it has none."""
    texts = [settings.get(f"{end}_{name}") for end in ("min", "max")]
    ends = [_number(text) for text in texts if text is not None]
    return (ends[0], ends[1]) if len(ends) == 2 else None


def _number(text: str) -> float:
    match = _MULTIPLE_OF_PI.fullmatch(text)
    if match:
        return float(f"{match[1]}1") * float(match[2] or 1) * math.pi
    try:
        return float(text)
    except ValueError:
        return math.nan


def _unit(low: float, high: float) -> str:
    """Radians or degrees, if the period is a turn in that unit."""
    return next((unit for unit, turn in _TURNS.items() if math.isclose(high - low, turn, rel_tol=1e-4)), "")
