"""EBSD maps in HDF5 files: of EDAX, Oxford Instruments (.h5oina), Bruker, Thermo Fisher, and orix or kikuchipy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables.table import Columns
from .ebsd import ALL, EDAX, LAUE, EbsdMap, Layout, Phase, of_space_group
from .package_readers import Lazy, chosen

_ANGLES, _EULER = ("phi1", "phi", "phi2"), ("euler", "eulerangles")

#: Groups of phases, beside or above that of the data, and the names that a phase has there.
_PHASES = ("Header/Phase", "Header/Phases", "header/phases", "Header/Phase Data", "Phase")
_SPACE_GROUPS = ("IT", "SpaceGroupNumber", "Space Group")
_NAMES = ("Phase Name", "MaterialName", "name", "Name", "material_name")


def ebsd_map(root: Any, file: Path, label: str, load: Any) -> EbsdMap | None:
    """The map in an HDF5 file, None if there is none or the label names something else.

    *load* reads a dataset by the path of its group and its name.
    """
    maps: dict[str, Any] = {}
    root.visititems(lambda name, item: maps.update({name: item}) if _is_map(name, item) else None)
    if len(maps) == 1:
        ((name, data),) = maps.items()
        if not label or label.lower() in _labels(_phases(data)):
            return _map(root, file, name, label, load)
    scan, _, phase = label.partition("::")
    if not maps or (scan and not any(f"/{name}/".startswith(f"/{scan.strip('/')}/") for name in maps)):
        return None
    name, _ = chosen(file, scan, maps, "EBSD maps")
    return _map(root, file, name, phase, load, f"::{scan}")


def _is_map(name: str, item: Any) -> bool:
    """Whether a group holds the Euler angles of a map: three datasets, or one of three columns."""
    parts = name.split("/")
    if not hasattr(item, "keys") or parts[-1].lower() not in ("data", "mapdata"):
        return False
    if not {"EBSD", "crystal_map"} & set(parts[:-1]):
        return False
    return len(_angles(item)) > 0


def _angles(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the angles, in their order."""
    lower = {name.lower(): name for name in data}
    three = tuple(lower[name] for name in _ANGLES if name in lower and data[lower[name]].ndim == 1)
    if len(three) == 3:
        return three
    euler = next((lower[name] for name in _EULER if name in lower), "")
    return (euler,) if euler and data[euler].ndim in (2, 3) and data[euler].shape[-1] == 3 else ()


def _labels(phases: Mapping[int, Phase]) -> set[str]:
    """What may name a phase, in lower case."""
    return {ALL} | {word for number, phase in phases.items() for word in (str(number), phase.name.lower())}


def _map(root: Any, file: Path, name: str, label: str, load: Any, scan: str = "") -> EbsdMap:
    """The map in a group; *label* names a phase, *scan* is how the map itself was named."""
    data = root[name]
    angles = _angles(data)
    grid = data[angles[0]].shape[
        : None if len(angles) == 3 else -1
    ]  # of pixels, in rows and columns or one after another
    count = math.prod(grid)
    found: dict[str, Any] = {}
    for member, item in data.items():
        shape = getattr(item, "shape", ())
        if shape in (grid, (count, 1)) and item.dtype.kind in "fiub":
            found[member] = Lazy((count,), partial(_column, load, name, member, (count,)))
        elif member in angles:
            found[member] = Lazy((count, 3), partial(_column, load, name, member, (count, 3)))
    maker = _maker(root, name)
    units = {} if maker in ("Bruker", "another program") else dict.fromkeys(angles, "rad")
    lower = {member.lower(): member for member in found}
    phase = lower.get("phase_id", lower.get("phase", ""))
    phases = _phases(data)
    marks = {"ci": -1.0, "is_in_data": 0.0}
    unindexed: dict[str, tuple[float, ...]] = {lower[word]: (mark,) for word, mark in marks.items() if word in lower}
    if phase and maker == "orix":
        unindexed[phase] = (-1.0,)
    elif phase and maker != "EDAX":  # where 0 is the only phase of a map
        unindexed[phase] = (0.0, 255.0) if data[phase].dtype == np.uint8 else (0.0,)  # 255 is -1 without a sign
    table = Columns(found, str(file), units=units)
    layout = Layout(angles, phase, unindexed, phases)
    return EbsdMap(table, layout, label, f"EBSD map, HDF5 of {maker}, {name}", f"{file}{scan}")


def _column(load: Any, name: str, member: str, shape: tuple[int, ...]) -> NDArray[Any]:
    return np.asarray(load(name, member)).reshape(shape)


def _maker(root: Any, name: str) -> str:
    """Who wrote the file, as far as it says so."""
    if "crystal_map" in name.split("/"):
        return "orix"
    words = " ".join(_text(item) for key, item in root.items() if key.strip().lower() == "manufacturer")
    for maker in ("EDAX", "Oxford", "Bruker"):
        if maker.lower() in words.lower():
            return maker
    return "another program"


def _phases(data: Any) -> dict[int, Phase]:
    """The phases by their numbers."""
    beside = data.parent
    group: Any = next((beside[path] for path in _PHASES if hasattr(beside.get(path), "keys")), {})
    found: dict[int, Phase] = {}
    for number, phase in group.items():
        if not number.lstrip("-").isdigit() or not hasattr(phase, "keys") or int(number) < 0:
            continue
        name = next((_text(phase[key]) for key in _NAMES if key in phase), "")
        found[int(number)] = Phase(name, _symmetry(phase))
    return found


def _symmetry(phase: Any) -> str:
    if "Symmetry" in phase:
        code = _text(phase["Symmetry"])
        return EDAX.get(code, code)
    if "Laue Group" in phase:
        code = _text(phase["Laue Group"])
        return LAUE.get(int(code), code) if code.isdigit() else code
    if "point_group" in phase:
        return _text(phase["point_group"])
    number = next((_text(phase[key]) for key in _SPACE_GROUPS if key in phase), "")
    return of_space_group(int(number)) if number.isdigit() else ""


def _text(dataset: Any) -> str:
    """The only entry of a dataset as text."""
    value = np.asarray(dataset[()]).reshape(-1)[:1]
    entry = value[0] if len(value) else ""
    return (entry.decode("utf-8", "replace") if isinstance(entry, bytes) else str(entry)).strip()
