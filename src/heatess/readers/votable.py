"""VOTable and ECSV files: tables of the Virtual Observatory and of astropy, with units."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError, importing
from ..tables.sky_columns import equatorial, old_frame, sky_columns
from ..tables.table import Table
from .fits import PARTS, angle_unit, words
from .package_readers import Lazy, chosen, columns, reading, split_label
from .streams import Source

SUFFIXES = (".vot", ".votable", ".ecsv")

_EXPECTED = "<+a table with columns such as ra and dec+> is needed"


def table(path: Path) -> Table:
    """The table of a VOTable or ECSV file; of several, the one named after ``::``."""
    with importing("astropy", "sky"):
        import astropy  # noqa: F401
    file, label = split_label(path)
    return _ecsv(file) if file.suffix.lower() == ".ecsv" else _votable(file, label)


def _votable(file: Path, label: str) -> Table:
    with reading(file, "VOTable", "fetch it again, or check it with `astropy.io.votable.validate(path)`"):
        from astropy.io.votable import parse

        text = _self_contained(file)
        root = parse(io.BytesIO(text), verify="ignore")
        tables = {
            found.name or found.ID or f"table {place}": found
            for place, found in enumerate(root.iter_tables())
            if len(found.fields)
        }
        if not tables:
            raise InputError(f"{file} holds no table with fields; {_EXPECTED}")
        _, found = chosen(file, label, tables, "tables")
        values = {field.name: found.array[field.ID] for field in found.fields}
        units = {field.name: field.unit for field in found.fields}
        made = _columns(file, values, units)
        made.frames = _frames(found.fields, _systems(root))
        return made


#: Frames by how the systems and the contents of fields are called in VOTables.
_SYSTEMS = {
    **dict.fromkeys(("icrs", "barycentric"), "icrs"),
    **dict.fromkeys(("galactic", "gal"), "galactic"),
    **dict.fromkeys(("ecliptic", "ecl_fk5"), "ecliptic"),
    **dict.fromkeys(("ecl_fk4", "supergalactic"), "another frame"),
}


def _frames(fields: Any, systems: Mapping[str, str]) -> dict[str, str]:
    """The frame of each field: by what its descriptor says it holds, or by the coordinate system that it refers to."""
    only = next(iter(systems.values())) if len(set(systems.values())) == 1 else ""
    frames = {}
    for field in fields:
        content = str(field.ucd or "").lower()
        stated = systems.get(field.ref or "", only)
        stated = stated if stated.startswith("fk") else _SYSTEMS.get(stated, "")
        frame = next((name for name in ("galactic", "ecliptic") if f"pos.{name}" in content), stated)
        frame = stated if stated == "another frame" else frame  # ecliptic of B1950
        if "pos.eq" in content and not frame.startswith("fk"):
            frame = "icrs"
        if frame:
            frames[field.name] = frame
    return frames


def _systems(root: Any) -> dict[str, str]:
    """The coordinate systems of a file by their identifiers, in lower case; FK4 and FK5 with their equinox."""
    found = {}
    for system in root.coordinate_systems:
        name = str(system.system or "").lower().replace("b1950", "fk4")
        plain = name.removeprefix("eq_")
        found[str(system.ID)] = equatorial(plain, system.equinox) if plain in ("fk4", "fk5") else name
    for resource in root.resources:
        found |= _systems(resource)
    return found


def _self_contained(file: Path) -> bytes:
    """The text of the file, unpacked; refused if reading it would fetch data from elsewhere."""
    with Source(file).opened() as (stream, _):
        data = stream.read()
    plain = data.replace(b"\0", b"")  # UTF-16
    if b"VOTABLE" not in plain:
        found = "is empty" if not data else "holds no VOTABLE element"
        raise InputError(
            f"{file} <!{found}!>; <+a VOTable+> is needed, for instance from astropy's `Table.write(path, 'votable')`"
        )
    if re.search(rb"<(\w+:)?STREAM\b[^>]*\bhref\s*=", plain) or b"<!ENTITY" in plain:
        raise InputError(f"{file} points to data outside of itself, which is not fetched; save it with its data inside")
    claimed = {name: [int(n) for n in re.findall(rb"\b%s\s*=\s*[\"'](\d+)" % name, plain)] for name in _CLAIMS}
    if max(claimed[_CLAIMS[0]], default=1) * max(claimed[_CLAIMS[1]], default=1) > 8 * len(data):
        raise InputError(f"{file} claims more rows or numbers than it has bits; it may be cut short: fetch it again")
    return data


#: Attributes by which astropy makes room before it reads.
_CLAIMS = (b"nrows", b"arraysize")


def _ecsv(file: Path) -> Table:
    with reading(file, "ECSV", "write it again with astropy's `Table.write(path, format='ascii.ecsv')`"):
        from astropy.table import Table as AstropyTable

        _check_header(file)
        found = AstropyTable.read(file, format="ascii.ecsv")
        plain = {name: found[name] for name in found.colnames if hasattr(found[name], "dtype")}
        skies, frames = sky_columns({name: found[name] for name in found.colnames})
        units = {name: getattr(column, "unit", None) for name, column in plain.items()} | dict.fromkeys(skies, "deg")
        made = _columns(file, plain | skies, units)
        made.old, made.frames = old_frame({str(key).upper(): value for key, value in found.meta.items()}), frames
        return made


def _check_header(file: Path) -> None:
    with file.open("rb") as stream:
        start = stream.read(64).removeprefix(b"\xef\xbb\xbf")
    if not start.startswith(b"# %ECSV"):
        found = "is empty" if not start else f"starts with <!{start[:12].decode('latin-1')!r}!>, not with <+'# %ECSV'+>"
        raise InputError(f"{file} {found}; if it is plain text with commas, rename it to .csv")


def _columns(file: Path, values: dict[str, Any], units: dict[str, Any]) -> Table:
    """The columns of numbers, angles in degrees or radians."""
    found, stated, texts, converted = {}, {}, {}, {}
    for name, column in values.items():
        array = np.ma.asarray(column)
        if array.dtype.kind in "fiu" and array.ndim in (1, 2):
            stated[name], factor = angle_unit(units[name])
            found[name] = Lazy(array.shape, partial(_filled, array, factor))
            if factor != 1.0:
                converted[name] = str(units[name])
        elif array.ndim == 1 and all(isinstance(entry, str | bytes) for entry in array.data[:1].tolist()):
            stated[name], texts[name] = PARTS.get(str(units[name] or "").strip("\"' "), ""), partial(words, array)
    return columns(file, found, _EXPECTED, units=stated, texts=texts, converted=converted)


def _filled(array: Any, factor: float) -> NDArray[Any]:
    """Numbers times *factor*, missing ones nan."""
    if factor == 1.0 and array.dtype.kind == "f" and not np.ma.is_masked(array):
        return np.asarray(array.data).astype(array.dtype.newbyteorder("="))
    return np.asarray((array.astype(np.float64) * factor).filled(np.nan))
