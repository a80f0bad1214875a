"""FITS files: tables of numbers, and HEALPix sky maps (see `healpix`)."""

from __future__ import annotations

import io
import re
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfileobj
from tempfile import mkstemp
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError, missing_extra, missing_extras
from ..tables import healpix
from ..tables.sky_columns import old_frame, sky_columns
from ..tables.table import Table
from ..tables.units import ANGLES
from .package_readers import Lazy, columns, reading, split_label
from .streams import Source
from .unread_formats import line_to, new_name

SUFFIXES = (".fits", ".fit", ".fts", ".fits.gz")

#: Units of angles that are written in parts, as VizieR has them.
PARTS = {"h:m:s": "hours", "d:m:s": "deg"}

#: What astropy writes above the description of columns that are more than numbers, such as sky coordinates.
_SERIALIZED = "--BEGIN-ASTROPY-SERIALIZED-COLUMNS--"

_REMEDY = "fetch it again, or check it with `astropy.io.fits.info(path)`"

#: For files that were changed by programs which left the sum of their bytes as it was.
_WRITE = "from astropy.io import fits; fits.open({file!r}).writeto({out!r}, checksum=True)"


class Field(NamedTuple):
    """One column of a binary table as it is stored, big-endian and not scaled."""

    stored: NDArray[Any]
    unit: str
    null: int | None  #: the whole number that stands for a missing entry
    scale: float
    zero: float

    def values(self, factor: float = 1.0) -> NDArray[Any]:
        """The numbers times *factor*, missing ones nan."""
        scale, zero = self.scale * factor, self.zero * factor
        if self.stored.dtype.kind == "f" and (scale, zero) == (1.0, 0.0):
            return self.stored.astype(self.stored.dtype.newbyteorder("="))
        numbers = self.stored.astype(np.float64) * scale + zero
        if self.null is not None and self.stored.dtype.kind != "f":
            numbers[self.stored == self.null] = np.nan
        return numbers

    def integers(self) -> NDArray[np.int64]:
        """The numbers as integers, exactly; missing ones -1."""
        if self.stored.dtype.kind == "f":
            return self.stored.astype(np.int64)
        whole = self.stored.astype(np.int64) + int(self.zero)
        return whole if self.null is None else np.where(self.stored == self.null, -1, whole)


def _for_maps(path: Path) -> dict[str, str]:
    """What is missing beside astropy if the file says early on that it is a HEALPix map."""
    with suppress(Exception), _stream(split_label(path)[0]) as stream:
        if b"HEALPIX" in stream.read(2**16) and find_spec("astropy_healpix") is None:
            return {"astropy-healpix": "sky"}
    return {}


def table(path: Path) -> Table:
    """The first binary table of a FITS file, or its HEALPix sky map; after ``::`` an extension's name or number."""
    try:
        from astropy.io import fits
    except ImportError:
        error = missing_extra("astropy", "sky")
        raise missing_extras(error.needs | _for_maps(path)) from None
    file, label = split_label(path)
    with reading(file, "FITS", _REMEDY), _summed(file), _stream(file) as stream:
        warnings.filterwarnings("error", message=".*[Dd]atasum verification failed")
        with fits.open(stream, memmap=isinstance(stream, io.BufferedReader), checksum=True) as extensions:
            extension = _extension(extensions, file, label, fits)
            header, fields, texts = dict(extension.header), _fields(extension), _texts(extension)
            old = old_frame(header) or ("" if header.get("RADESYS") else old_frame(extensions[0].header))
            written = _of_astropy(extension) if _SERIALIZED in str(header.get("COMMENT", "")) else None
    if healpix.is_map(header, fields):
        return healpix.sky_map(str(file), header, fields)
    units = {name: angle_unit(field.unit) for name, field in fields.items()}
    found: dict[str, Any] = {
        name: Lazy(field.stored.shape, partial(field.values, units[name][1]))
        for name, field in fields.items()
        if field.stored.ndim <= 2
    }
    skies, frames = sky_columns(written or {})
    if written is not None:  # some columns are parts of sky coordinates
        found = {name: values for name, values in found.items() if name in written} | skies
        units |= dict.fromkeys(skies, ("deg", 1.0))
    expected = "<+a binary table with columns such as ra and dec+> is needed"
    stated = {name: unit for name, (unit, _) in units.items()} | {name: unit for name, (_, unit) in texts.items()}
    given = {name: partial(words, stored) for name, (stored, _) in texts.items()}
    converted = {name: fields[name].unit for name, (_, factor) in units.items() if factor != 1.0}
    made = columns(file, found, expected, units=stated, texts=given, converted=converted)
    made.old, made.frames = old, frames
    return made


@contextmanager
def _summed(file: Path) -> Iterator[None]:
    """Refuse bytes that do not add up to the sum in their header."""
    from astropy.utils.exceptions import AstropyUserWarning

    try:
        yield
    except AstropyUserWarning as error:
        again = line_to("", _WRITE, file, new_name(file, "-new.fits"))
        raise InputError(
            f"{file} cannot be read as FITS ({str(error).strip().rstrip('.')}); it may be damaged or cut short: fetch "
            f"it again; if its numbers are right, and only the sum of its bytes was not written anew with them, {again}"
        ) from None


def _stream(file: Path) -> IO[bytes]:
    """The bytes of the file, unpacked into another one; opened here, because astropy forgets bad files open."""
    source = Source(file)
    if source.start[:2] != b"\x1f\x8b":
        return file.open("rb")
    handle, name = mkstemp(prefix="heatess-", suffix=".fits")
    try:
        with source.opened("arrays") as (stream, _), open(handle, "wb") as spool:
            copyfileobj(stream, spool, 2**20)
        unpacked = open(name, "rb")  # noqa: SIM115
    except BaseException:
        Path(name).unlink()
        raise
    weakref.finalize(unpacked, _remove, name)
    return unpacked


def _remove(name: str) -> None:
    with suppress(OSError):  # of Windows, where arrays may still be mapped to it
        Path(name).unlink()


def _extension(extensions: Any, file: Path, label: str, fits: Any) -> Any:
    """The first extension that is a binary table with columns, or the one that *label* names."""
    if label:
        names = [extension.name for extension in extensions]
        place = int(label) if label.isdigit() else next((i for i, n in enumerate(names) if n == label.upper()), -1)
        if not 0 <= place < len(names):
            listed = ", ".join(f"{i} {name}".strip() for i, name in enumerate(names))
            raise InputError(f"{file} has no <+extension {label!r}+>; it has <!{listed}!>")
        extensions = [extensions[place]]
    kinds = []
    for extension in extensions:
        image = isinstance(extension, fits.CompImageHDU)
        if isinstance(extension, fits.BinTableHDU) and not image and len(extension.columns):
            return extension
        kinds.append(type(extension).__name__)
    if "TableHDU" in kinds:
        remedy = "its table is text; write it as a binary one: `astropy.table.Table.read(path).write('new.fits')`"
    else:
        remedy = "images are not read; a catalogue or a HEALPix map is needed"
    raise InputError(f"{file} holds no <+binary table with columns+> (found <!{', '.join(kinds)}!>); {remedy}")


def _of_astropy(extension: Any) -> dict[str, Any]:
    """The columns as astropy makes them, sky coordinates among them."""
    from astropy.table import Table as AstropyTable

    found = AstropyTable.read(extension)
    return {name: found[name] for name in found.colnames}


def _fields(extension: Any) -> dict[str, Field]:
    """The columns of numbers; text, logical, complex and variable-length ones are left out."""
    stored = np.asarray(extension.data.view(np.ndarray))
    fields = {}
    for column in extension.columns:
        kind = re.match(r"(\d*)([A-Z])", str(column.format))
        if kind and kind[2] in "BIJKED" and kind[1] != "0":
            null = None if column.null in ("", None) else int(column.null)
            scale = 1.0 if column.bscale in ("", None) else float(column.bscale)
            zero = 0.0 if column.bzero in ("", None) else float(column.bzero)
            fields[str(column.name)] = Field(stored[column.name], str(column.unit or ""), null, scale, zero)
    return fields


def _texts(extension: Any) -> dict[str, tuple[NDArray[Any], str]]:
    """The columns of text as they are stored, and the unit that angles in them have."""
    stored = np.asarray(extension.data.view(np.ndarray))
    return {
        str(column.name): (stored[column.name], PARTS.get(str(column.unit or "").strip("\"' "), ""))
        for column in extension.columns
        if re.fullmatch(r"[1-9]\d*A", str(column.format)) and stored[column.name].ndim == 1
    }


def words(array: Any) -> list[str]:
    """Entries of a column of text, missing ones empty."""
    plain = array.filled("") if isinstance(array, np.ma.MaskedArray) else array
    return [
        entry.decode("utf-8", "replace").rstrip("\0 ") if isinstance(entry, bytes) else str(entry or "")
        for entry in plain.tolist()
    ]


def angle_unit(unit: Any) -> tuple[str, float]:
    """The unit of a column, "deg", "rad" or nothing, and the factor that brings it there; needs astropy.

    Angles in other units, such as arcseconds, become degrees; hours of time stay what they are.
    """
    text = str(unit or "").strip().lower()
    if text in ANGLES:
        return ANGLES[text], 1.0
    from astropy import units

    parsed = units.Unit(str(unit or ""), parse_strict="silent")
    if parsed.is_equivalent(units.deg):
        return "deg", float(parsed.to(units.deg))
    return "hours" if text in ("h", "hr", "hour", "hours") else "", 1.0
