"""Files as streams of bytes: plain, compressed, or from standard input."""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from ..base.errors import InputError, importing
from ..base.files import is_stream
from .packed_size import bounded

#: What may follow the suffix of a text file; the packing itself is told from the first bytes.
PACKED = (".gz", ".bz2", ".xz", ".zst")

#: Files that are not text whatever their name says, by their first bytes, and the suffix with which they are read.
_BINARY = {
    b"PAR1": ("Parquet data", ".parquet"),
    b"ARROW1": ("Arrow data", ".arrow"),
    b"\x93NUMPY": ("a NumPy array", ".npy"),
    b"PK\x03\x04": ("a zip archive or an Excel workbook", ".zip or data.xlsx"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", ""),
    b"\x89HDF": ("HDF5 data", ".h5"),
    b"CDF": ("NetCDF data", ".nc"),
    b"SIMPLE  =": ("FITS data", ".fits"),
    b"%PDF": ("a PDF", ""),
    b"SQLite format": ("an SQLite database", ""),
}


_ROOT = re.compile(r"<(?![?!])(?:[\w.-]+:)?([\w.-]+)")
_COMMENT = re.compile(r"<!--.*?-->", re.S)

#: What messages call standard input.
STDIN = "standard input"


class Source:
    """A file that can be read from its start more than once; what comes by a pipe is kept in another file."""

    def __init__(self, path: Path) -> None:
        self.name = STDIN if str(path) in ("-", "/dev/stdin") else str(path)
        self._path = path
        self.piped = str(path) == "-" or is_stream(path)
        self._spool = self._spooled() if self.piped else None

    def _spooled(self) -> BinaryIO:
        from shutil import copyfileobj
        from tempfile import TemporaryFile

        spool: Any = TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, spool.close)
        if str(self._path) == "-":
            copyfileobj(sys.stdin.buffer, spool)
        else:
            with self._path.open("rb") as stream:
                copyfileobj(stream, spool)
        spool.flush()
        return spool  # type: ignore[no-any-return]

    @property
    def start(self) -> bytes:
        """The first bytes as they are stored."""
        if self._spool is not None:
            self._spool.seek(0)
            return self._spool.read(16)
        with self._path.open("rb") as stream:
            return stream.read(16)

    @property
    def binary(self) -> str:
        """What the file holds, in words, if that is known not to be text; empty if it may be text."""
        start = self.start
        return next((kind for mark, (kind, _) in _BINARY.items() if start.startswith(mark)), "")

    @contextmanager
    def opened(self, room: str = "text") -> Iterator[tuple[BinaryIO, Callable[[], float]]]:
        """The bytes, unpacked, and a function that tells the share of the file read so far.

        They are refused where they are more than *room* and out of proportion to the file, see `expansion`.
        """
        import zlib
        from lzma import LZMAError

        try:
            raw: Any = self._spool or self._path.open("rb")
            try:
                size = max(raw.seek(0, 2), 1)
                raw.seek(0)
                yield self._unpacked(raw, room), lambda: min(raw.tell() / size, 1.0)
            finally:
                if raw is not self._spool:
                    raw.close()
        except (EOFError, zlib.error, LZMAError) as error:
            raise InputError(f"{self.name} is damaged or cut short ({error}); pack or fetch it again") from None
        except OSError as error:
            if error.errno is None:  # of an unpacker, not of the system
                raise InputError(f"{self.name} is damaged or cut short ({error}); pack or fetch it again") from None
            raise InputError(f"{self.name} cannot be read: {error.strerror}; check its permissions") from None

    @contextmanager
    def text(self, encoding: str) -> Iterator[tuple[TextIOWrapper, Callable[[], float]]]:
        """The same as text, its line ends as they are; bytes that are not text are shown as escapes."""
        with self.opened() as (stream, done):
            text = TextIOWrapper(stream, encoding, errors="backslashreplace", newline="")
            try:
                yield text, done
            finally:
                text.detach()

    def _unpacked(self, raw: Any, room: str) -> Any:
        start = bytes(raw.peek(16)[:16])
        if (unpack := _unpacker(start)) is not None:
            return bounded(unpack(raw), raw, self.name, room)
        for mark, (kind, suffix) in _BINARY.items():
            if start.startswith(mark):
                advice = "give it the suffix of its format, or export it"
                if self.piped and suffix:
                    advice = f"save it first, with > data{suffix} behind the command that writes it, and read that file"
                raise InputError(f"{self.name} holds <!{kind}!>, not <+text+>; {advice}")
        return raw


def _unpacker(start: bytes) -> Callable[[Any], Any] | None:
    """What unpacks a file that starts with these bytes; None if it is not packed."""
    if start[:2] == b"\x1f\x8b":
        from gzip import GzipFile

        return lambda raw: GzipFile(fileobj=raw)
    if start[:3] == b"BZh":
        from bz2 import BZ2File

        return BZ2File
    if start[:6] == b"\xfd7zXZ\x00":
        from lzma import LZMAFile

        return LZMAFile
    return _zstd if start[:4] == b"\x28\xb5\x2f\xfd" else None


def _zstd(raw: Any) -> Any:
    """Zstandard, by Python's own module (3.14) or else by pyarrow."""
    try:
        from compression import zstd  # type: ignore[import-not-found]

        return zstd.ZstdFile(raw)
    except ImportError:
        pass
    with importing("pyarrow", "table"):
        import pyarrow
    return BufferedReader(pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, "r"), "zstd"))


def packed(suffixes: tuple[str, ...]) -> tuple[str, ...]:
    """The suffixes, alone and with that of every packing.

    >>> packed((".csv",))
    ('.csv', '.csv.gz', '.csv.bz2', '.csv.xz', '.csv.zst')
    """
    return tuple(suffix + pack for suffix in suffixes for pack in ("", *PACKED))


def root_of(source: Source) -> str:
    """The name of the first element, in lower case and without its namespace; empty if there is none."""
    with source.opened() as (stream, _):
        start = stream.read(2**16).replace(b"\0", b"")  # UTF-16
    found = _ROOT.search(_COMMENT.sub("", start.decode("latin-1")))
    return found[1].lower() if found else ""
