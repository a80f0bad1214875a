"""RELION .star files: the particles."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError, missing_extra
from ..tables.table import Table
from .foreign import chosen, columns, reading, split_label

SUFFIXES = (".star",)

_EXPECTED = "a loop of particles with rlnAngleRot, rlnAngleTilt and rlnAnglePsi is needed"
_ANGLES = "rlnAngle"


def table(path: Path) -> Table:
    """The block of particles: the one called particles, or the only loop; another block after ``::``."""
    try:
        import starfile
    except ImportError:
        raise missing_extra("starfile", "star") from None
    file, label = split_label(path)
    with reading(file, "STAR", "fetch it again, or check its last lines"):
        blocks = starfile.read(file, always_dict=True)
        loops = {name or "unnamed": block for name, block in blocks.items() if hasattr(block, "columns")}
        if not loops:
            listed = ", ".join(name or "unnamed" for name in blocks) or "no data_ line"
            raise InputError(f"{file} has no loop_ of rows (found {listed}); {_EXPECTED}")
        if not label:
            turned = [name for name in loops if name == "particles"]
            turned = turned or [name for name, block in loops.items() if f"{_ANGLES}Rot" in block.columns]
            label = turned[0] if len(turned) == 1 else ""
        name, block = chosen(file, label, loops, "blocks")
        if block is list(blocks.values())[-1]:
            _refuse_cut(file, len(block.columns))
        found = {column: _numbers(file, name, column, block[column]) for column in block.columns}
    units = {column: "deg" for column in found if column.startswith(_ANGLES)}
    plain = {column: values for column, values in found.items() if values is not None}
    return columns(
        file, plain, _EXPECTED, units=units, note=f"STAR, block {name}", row=f"block {name} row {{}} (counted from 0)"
    )


def _refuse_cut(file: Path, width: int) -> None:
    """An `InputError` if the last line has fewer entries than there are columns."""
    lines = file.read_text(errors="replace").rstrip().splitlines()
    last = shlex.split(lines[-1], comments=True)
    if len(last) not in (0, width) and not lines[-1].lstrip().startswith("_"):
        raise InputError(
            f"{file} ends in the middle of a row: its last line has {len(last)} of {width} entries; fetch it again, "
            f"or delete that line"
        )


def _numbers(file: Path, block: str, name: str, values: Any) -> Any:
    """A column as numbers; None if it is text; refused if only some entries are text."""
    import pandas

    if values.dtype.kind in "fiu":
        return values.to_numpy()
    numbers = pandas.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    bad = np.isnan(numbers) & ~values.isna().to_numpy()
    if 2 * bad.sum() >= len(bad) and not name.startswith(_ANGLES):
        return None
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{file} block {block} row {row:,} (counted from 0): {name} is {values.iloc[row]!r}, not a number "
            f"({int(bad.sum()):,} of {len(bad):,} rows); fix those rows, or write nan where there is none"
        )
    return numbers
