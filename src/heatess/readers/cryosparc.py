"""Particles of cryoSPARC: .cs files, which are tables of numpy.save under another name."""

from __future__ import annotations

from pathlib import Path

from ..base.errors import InputError
from ..tables.rotation_columns import RotationVectors
from ..tables.table import Table
from .arrays import mapped
from .package_readers import chosen, columns, split_label

SUFFIXES = (".cs",)

_EXPECTED = "<+a column alignments3D/pose of rotation vectors+> is needed"


def table(path: Path) -> Table:
    """The poses of particles, with all other columns of numbers; of several columns of poses, ``::`` names one.

    Poses are rotation vectors, the axis times the angle in radians. Shifts are left out.
    """
    file, label = split_label(path)
    array = mapped(file)
    fields = array.dtype.names or ()
    numbers = {name: array[name] for name in fields if array.dtype[name].base.kind in "fiu"}
    poses = {
        name: name for name, values in numbers.items() if RotationVectors.NAME.fullmatch(name) and values.ndim == 2
    }
    if not poses:
        listed = ", ".join(fields[:8]) + (", ..." if len(fields) > 8 else "")
        raise InputError(f"{file} has no poses (found <!{listed or 'an array without names'}!>); {_EXPECTED}")
    pose, _ = chosen(file, label, poses, "columns of poses")
    kept = {name: values for name, values in numbers.items() if values.ndim == 1 or name == pose}
    return columns(file, kept, _EXPECTED, note=f"cryoSPARC particles, {len(kept[pose]):,} poses")
