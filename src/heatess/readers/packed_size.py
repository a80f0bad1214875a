"""How large a small file may become: a few packed kilobytes may claim all the memory of a machine.

A file may unpack to `RATIO` times its own size, or to some `ROOM` if that is more. Real tables are packed to a half or
a tenth, some maps that are mostly zero to a thousandth: a constant HEALPix map of nside 2048 in float64 has 400 MB and
is still read.
"""

from __future__ import annotations

import shlex
from io import BufferedReader, RawIOBase
from typing import Any

from ..base.errors import InputError

RATIO = 100

#: Bytes to which any file may unpack. Text, which takes ten times the room in Python: less than is parsed at a time.
ROOM = {"text": 12_000_000, "arrays": 2**29}

#: Columns with names that a table may have.
WIDEST = 100_000

#: What unpacks a file and keeps it.
_COMMANDS = {".gz": "gunzip -k", ".bz2": "bunzip2 -k", ".xz": "unxz -k", ".zst": "unzstd"}


def allowed(packed: int, room: str) -> int:
    """Bytes to which a file of *packed* bytes may unpack."""
    return max(ROOM[room], RATIO * packed)


def refuse_expansion(source: object, packed: int, unpacked: int, remedy: str, room: str = "arrays") -> None:
    """An `InputError` if *packed* bytes would become more than they may; *remedy* follows "if that is right"."""
    if unpacked > (most := allowed(packed, room)):
        raise InputError(
            f"{source} would take <!{in_words(unpacked)} or more!> in memory, but a file of {in_words(packed)} may "
            f"become <+at most {in_words(most)}+>; if that is right, {remedy}"
        )


def refuse_columns(source: str, count: int) -> None:
    """An `InputError` if a table has more than `WIDEST` columns."""
    if count > WIDEST:
        raise InputError(
            f"{source} has <!{count:,} columns!>, but <+at most {WIDEST:,}+> with names are read; if points are "
            "columns, transpose the table; for longer vectors save an array (n, d) with `numpy.save` as .npy"
        )


def in_words(size: int) -> str:
    """Bytes for the user.

    >>> in_words(3_200_000_000), in_words(33_554_432), in_words(900)
    ('3.2 GB', '33.6 MB', '900 bytes')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:,.3g} {name}"
    return f"{size} bytes"


def bounded(stream: Any, raw: Any, name: str, room: str) -> BufferedReader:
    """What is unpacked from *raw*; an `InputError` as soon as it is more than was read of it allows."""
    return BufferedReader(_Bounded(stream, raw, name, room), 2**16)


def unpacking(name: str) -> str:
    """How a file is unpacked.

    >>> unpacking("sky.fits.gz")
    'unpack it first, gunzip -k sky.fits.gz, and read the file that this makes'
    """
    command = next((command for suffix, command in _COMMANDS.items() if name.lower().endswith(suffix)), "")
    line = f", {command} {shlex.quote(name)}, and read the file that this makes" if command else ""
    return f"unpack it first{line}"


class _Bounded(RawIOBase):
    """The bytes of another stream, counted."""

    def __init__(self, stream: Any, raw: Any, name: str, room: str) -> None:
        self._stream, self._raw, self._name, self._room, self._count = stream, raw, name, room, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found: int = self._stream.readinto(buffer)
        self._count += found
        if self._count > ROOM[self._room] and self._count > allowed(self._raw.tell(), self._room):
            words = f"unpacks to more than {in_words(ROOM[self._room])} and {RATIO} times its own size"
            raise InputError(f"{self._name} {words}, as no real table does; if it is right, {unpacking(self._name)}")
        return found
