"""Zip archives that hold one table, or several of which one is chosen."""

from __future__ import annotations

import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ..base.errors import InputError
from ..tables.read_options import Reading
from ..tables.table import Piece, Place, Table
from .package_readers import chosen, reading, split_label
from .packed_size import refuse_expansion

SUFFIXES = (".zip",)

#: Families of formats that hold numbers as bytes.
_NUMBERS = ("arrays", "fits", "hdf5", "netcdf")

#: What belongs to a shapefile of the same name.
_BESIDE_SHAPES = (".dbf", ".shx", ".prj", ".cpg", ".sbn", ".sbx", ".qix", ".shp.xml", ".qpj", ".qmd")

#: Members that are about the others.
_NOTES = ("readme", "license", "licence", "copying", "changelog", "citation")

_REMEDY = "fetch it again, or unpack it and give the file inside"


def table(path: Path) -> Table:
    """The table in the only member that is read, or in the one after ``::``; a part of it after ``::`` again.

    The member is unpacked into a directory that is removed with the table.
    """
    from . import family_of, open_table

    file, label = split_label(path)
    with reading(file, "a zip archive", _REMEDY), zipfile.ZipFile(file) as archive:
        every = [entry for entry in archive.infolist() if _is_data(entry)]
        members = {entry.filename: entry for entry in every if family_of(entry.filename) not in ("", "archives")}
        members = {name: entry for name, entry in members.items() if not _is_beside(name, members)}
        if not members:
            listed = ", ".join(entry.filename for entry in every[:8]) or "nothing"
            raise InputError(f"{file} holds no file that is read (found <!{listed}!>); unpack it, and export a .csv")
        name, entry, inner = _chosen(file, label, members)
        beside = [other for other in every if _is_beside(other.filename, {name: entry})]
        folder = Path(tempfile.mkdtemp(prefix="heatess-"))
        try:
            target = _unpacked(archive, [entry, *beside], folder, file)
            shown = f"{file}::{name}"
            with _renamed(str(target), shown):
                found = Unpacked(open_table(Path(f"{target}::{inner}") if inner else target), str(target), shown)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    return found


def _is_data(entry: zipfile.ZipInfo) -> bool:
    """Whether a member is a file, and no note about the others or of the system that packed them."""
    path = _path(entry)
    hidden = "__MACOSX" in path.parts or path.name.startswith(".")
    return not (entry.is_dir() or hidden or path.stem.lower() in _NOTES)


def _is_beside(name: str, members: dict[str, zipfile.ZipInfo]) -> bool:
    """Whether a member is a part of the shapefile of another."""
    stems = {member[:-4].lower() for member in members if member.lower().endswith(".shp")}
    return any(name.lower() == stem + suffix for stem in stems for suffix in _BESIDE_SHAPES)


def _chosen(file: Path, label: str, members: dict[str, zipfile.ZipInfo]) -> tuple[str, zipfile.ZipInfo, str]:
    """The member, and the part of it that *label* names."""
    outer, _, inner = label.partition("::")
    if len(members) == 1 and outer and not any(_fits(outer, name) for name in members):
        outer, inner = "", label
    name, entry = chosen(file, outer, members, "tables")
    return name, entry, inner


def _fits(label: str, name: str) -> bool:
    return f"/{name}/".startswith(f"/{label.strip('/')}/") or f"/{name}/".endswith(f"/{label.strip('/')}/")


def _unpacked(archive: zipfile.ZipFile, entries: Sequence[zipfile.ZipInfo], folder: Path, file: Path) -> Path:
    """The first of *entries* as a file; all are written under their last names alone, whatever paths they claim."""
    from . import family_of

    room = "arrays" if family_of(entries[0].filename) in _NUMBERS else "text"
    size = sum(entry.file_size for entry in entries)
    what = f"{file}::{entries[0].filename}"
    refuse_expansion(what, file.stat().st_size, size, "unpack it yourself, and give that file", room)
    for entry in entries:
        if entry.flag_bits & 1:
            raise InputError(f"{file} is <!locked with a password!>; unpack it yourself, and give the file inside")
        with archive.open(entry) as packed, _target(folder, entry).open("xb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    return _target(folder, entries[0])


def _target(folder: Path, entry: zipfile.ZipInfo) -> Path:
    return folder / _path(entry).name


def _path(entry: zipfile.ZipInfo) -> PurePosixPath:
    """Where a member claims to be, with slashes also if it was packed with backslashes."""
    return PurePosixPath(entry.filename.replace("\\", "/"))


@contextmanager
def _renamed(target: str, shown: str) -> Iterator[None]:
    """Errors in this block name the archive and its member, not the file into which it was unpacked."""
    try:
        yield
    except InputError as error:
        in_code = error.about(f"'{target}'", f"'zip://{shown.replace('::', '!', 1)}'")  # as GDAL names it
        raise in_code.about(target, shown) from None


class Unpacked(Table):
    """The table of a member, which calls itself by the archive."""

    def __init__(self, table: Table, target: str, shown: str) -> None:
        self._table, self._target, self._shown = table, target, shown
        self.archive: Table | None = None  # the directory is removed with it
        for name in set(Table.__annotations__) - {"source", "watch"}:
            setattr(self, name, getattr(table, name))
        self.source = table.source.replace(target, shown)

    def settled(self, reading: Reading) -> tuple[Table, Reading]:
        """The cells or nodes of the member, which keep it unpacked."""
        with _renamed(self._target, self._shown):
            table, reading = self._table.settled(reading)
        if table is self._table:
            return self, reading
        found = Unpacked(table, self._target, self._shown)
        found.archive = self
        return found, reading

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Those of the member."""
        self._table.watch = self.watch
        with _renamed(self._target, self._shown):
            for piece in self._table.pieces(names, rows):
                yield piece._replace(place=self._places(piece.place))

    def text(self, name: str) -> Sequence[str]:
        """That of the member."""
        with _renamed(self._target, self._shown):
            return self._table.text(name)

    def _places(self, place: Place) -> Place:
        return lambda row: place(row).replace(self._target, self._shown)
