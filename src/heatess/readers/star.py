"""RELION .star files: the particles, and the symmetry that the run had.

A run keeps its particles in ..._data.star and the symmetry in ..._sampling.star; ..._optimiser.star names both.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError, importing
from ..spaces.point_groups import named_group
from ..tables.table import Table
from .package_readers import chosen, columns, reading, split_label

SUFFIXES = (".star",)

_EXPECTED = "<+a loop of particles with rlnAngleRot, rlnAngleTilt and rlnAnglePsi+> is needed"
_ANGLES, _SUBTOMOGRAM = "rlnAngle", "rlnTomoSubtomogram"
_SYMMETRY, _RUN = "rlnSymmetryGroup", "rlnExperimentalDataStarFile"

#: RELION's names of point groups; an h, v or d at the end adds reflections. Its T has a threefold axis along z.
_GROUPS = re.compile(r"(?:C[IS]|([CDS]\d+)[HV]?|(T)[DH]?|(O)H?|(I[1-4]?)H?)", re.I)
_OTHER_AXES = {"T": "Tz", "I": "I2"}


def table(path: Path) -> Table:
    """The block of particles: the one called particles, or the only loop; another block after ``::``.

    Of an optimiser's file, those of the run, up to its symmetry.
    """
    with importing("starfile", "star"):
        import starfile
    file, label = split_label(path)
    with reading(file, "STAR", "fetch it again, or check its last lines"):
        blocks = starfile.read(file, always_dict=True)
        symmetries = _stated(blocks)
        run = next((block for block in blocks.values() if _RUN in block and isinstance(block, Mapping)), None)
        if run is not None:
            sampling = _beside(file, str(run.get("rlnOrientSamplingStarFile", "")))
            symmetries = symmetries or (_sampled(sampling) if sampling else [])
            file = _particles(file, str(run[_RUN]))
            blocks = starfile.read(file, always_dict=True)
            symmetries = symmetries or _stated(blocks)
        loops = {name or "unnamed": block for name, block in blocks.items() if hasattr(block, "columns")}
        if not loops:
            listed = ", ".join(name or "unnamed" for name in blocks) or "no data_ line"
            raise InputError(f"{file} has no loop_ of rows (found <!{listed}!>); {_EXPECTED}")
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
    composed = _compose(plain)
    group, words = _group(symmetries) if symmetries else ("", _not_applied(file) if run is None else "")
    particles = columns(
        file,
        plain,
        _EXPECTED,
        units=units,
        note=f"STAR, block {name}{composed}{words}",
        row=f"block {name} row {{}} (counted from 0)",
    )
    particles.symmetry = group
    return particles


def _compose(found: dict[str, Any]) -> str:
    """Angles of particles in subtomograms that were turned themselves, in place as angles to the tomogram; and words.

    RELION's matrix of a particle is A_subtomogram A_particle, which are the inverses of R(Rot, Tilt, Psi).
    """
    from scipy.spatial.transform import Rotation

    outer, inner = ([f"{start}{name}" for name in ("Rot", "Tilt", "Psi")] for start in (_SUBTOMOGRAM, _ANGLES))
    if not any(np.any(found.get(name, 0)) for name in outer):
        flat = len(found.get(inner[0], ())) > 1 and not any(np.any(found.get(name, 1)) for name in inner[:2])
        return ", rlnAngleRot and rlnAngleTilt are 0 in all rows: not aligned in three dimensions" * flat
    if not found.keys() >= {*outer, *inner}:
        return ""
    turned, angles = (np.column_stack([found[name] for name in names]).astype(np.float64) for names in (outer, inner))
    rows = np.isfinite(turned + angles).all(axis=1)
    angles[~rows] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where tilt is 0, rot is as good as psi
        both = Rotation.from_euler("ZYZ", angles[rows], True) * Rotation.from_euler("ZYZ", turned[rows], True)
        angles[rows] = both.as_euler("ZYZ", True)
    found |= dict(zip(inner, angles.T, strict=True))
    return f", angles of {_SUBTOMOGRAM} taken in"


def _stated(blocks: Mapping[str, Any]) -> list[str]:
    """The symmetries that blocks state, each once."""
    found = [np.atleast_1d(block[_SYMMETRY]) for block in blocks.values() if _SYMMETRY in block]
    return list(dict.fromkeys(str(name).strip() for names in found for name in names))


def _sampled(file: Path) -> list[str]:
    """The symmetry in the first lines of a ..._sampling.star, as a list."""
    with file.open(errors="replace") as lines:
        pairs = (line.split() for line in islice(lines, 200))
        return [pair[1] for pair in pairs if len(pair) == 2 and pair[0] == f"_{_SYMMETRY}"][:1]


def _beside(file: Path, other: str) -> Path | None:
    """Another file of the same run: in the same directory, or where its path leads from here; None if it is gone."""
    places = (file.parent / Path(other).name, Path(other))
    return next((place for place in places if place.is_file()), None)


def _particles(file: Path, other: str) -> Path:
    found = _beside(file, other)
    if found is None:
        raise InputError(
            f"{file} says that its particles are in {other}, which is neither beside it nor below this directory; put "
            "it beside it, or read it in place of this file"
        )
    return found


def _group(symmetries: list[str]) -> tuple[str, str]:
    """The name of the point group with the axes that RELION gives it, empty if there is none; and words about it."""
    told = ", ".join(symmetries)
    if len(symmetries) > 1:
        return "", f"; symmetries {told}, none applied: name one, such as `space='rotations:{symmetries[-1]}'`"
    parts = _GROUPS.fullmatch(told)
    name = next(filter(None, parts.groups()), "C1").upper() if parts else ""
    try:
        group = named_group(_OTHER_AXES.get(name, name))
    except InputError:
        return "", f"; symmetry {told} not known and not applied"
    words = f"; RELION's symmetry {told} is {group.name} here" if name in _OTHER_AXES else ""
    return "" if group.order == 1 else group.name, words


def _not_applied(file: Path) -> str:
    """Words about the symmetry of a run whose particles alone are read."""
    sampling = file.with_name(file.name.removesuffix("_data.star") + "_sampling.star")
    symmetries = _sampled(sampling) if file.name.endswith("_data.star") and sampling.is_file() else []
    group = _group(symmetries)[0] if symmetries else ""
    optimiser = sampling.name.replace("_sampling", "_optimiser")
    advice = f"read {optimiser}" if sampling.with_name(optimiser).is_file() else f"say `space='rotations:{group}'`"
    return f"; symmetry {symmetries[0]} of {sampling.name} not applied: {advice}" if group else ""


def _refuse_cut(file: Path, width: int) -> None:
    """An `InputError` if the last line has fewer entries than there are columns."""
    lines = file.read_text(errors="replace").rstrip().splitlines()
    last = shlex.split(lines[-1], comments=True)
    if len(last) not in (0, width) and not lines[-1].lstrip().startswith("_"):
        raise InputError(
            f"{file} ends in the middle of a row: its last line has <!{len(last)}!> of <+{width} entries+>; fetch it "
            "again, or delete that line"
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
            f"{file} block {block} row {row:,} (counted from 0): {name} is <!{values.iloc[row]!r}!>, not <+a number+> "
            f"({int(bad.sum()):,} of {len(bad):,} rows); fix those rows, or write nan where there is none"
        )
    return numbers
