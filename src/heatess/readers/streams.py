"""Files as streams of bytes: plain, compressed, or from standard input."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import InputError, missing_extra

#: What may follow the suffix of a text file; the packing itself is told from the first bytes.
PACKED = (".gz", ".bz2", ".xz", ".zst")

#: Files that are not text whatever their name says, by their first bytes.
_BINARY = {
    b"PAR1": "Parquet data",
    b"ARROW1": "Arrow data",
    b"\x93NUMPY": "an array of numpy.save",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x89HDF": "HDF5 data",
    b"CDF": "NetCDF data",
    b"SIMPLE  =": "FITS data",
    b"%PDF": "a PDF",
    b"SQLite format": "an SQLite database",
}


class Source:
    """A file that can be read from its start more than once; `-` is standard input, kept in a temporary file."""

    def __init__(self, path: Path) -> None:
        self.name = "standard input" if str(path) == "-" else str(path)
        self._path = path
        self._spool = None if str(path) != "-" and path.is_file() else self._spooled()

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

    @contextmanager
    def opened(self) -> Iterator[tuple[BinaryIO, Callable[[], float]]]:
        """The bytes, unpacked, and a function that tells the share of the file read so far."""
        import zlib
        from lzma import LZMAError

        try:
            raw: Any = self._spool or self._path.open("rb")
            try:
                size = max(raw.seek(0, 2), 1)
                raw.seek(0)
                yield self._unpacked(raw), lambda: min(raw.tell() / size, 1.0)
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

    def _unpacked(self, raw: Any) -> Any:
        start = bytes(raw.peek(16)[:16])
        if start[:2] == b"\x1f\x8b":
            import gzip

            return gzip.GzipFile(fileobj=raw)
        if start[:3] == b"BZh":
            import bz2

            return bz2.BZ2File(raw)
        if start[:6] == b"\xfd7zXZ\x00":
            import lzma

            return lzma.LZMAFile(raw)
        if start[:4] == b"\x28\xb5\x2f\xfd":
            return _zstd(raw)
        for mark, kind in _BINARY.items():
            if start.startswith(mark):
                raise InputError(f"{self.name} holds {kind}, not text; give it the suffix of its format, or export it")
        return raw


def _zstd(raw: Any) -> Any:
    """Zstandard, by Python's own module (3.14) or else by pyarrow."""
    try:
        from compression import zstd  # type: ignore[import-not-found]

        return zstd.ZstdFile(raw)
    except ImportError:
        pass
    try:
        import pyarrow
    except ImportError:
        raise missing_extra("pyarrow", "table") from None
    return pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, "r"), "zstd")


def packed(suffixes: tuple[str, ...]) -> tuple[str, ...]:
    """The suffixes, alone and with that of every packing.

    >>> packed((".csv",))
    ('.csv', '.csv.gz', '.csv.bz2', '.csv.xz', '.csv.zst')
    """
    return tuple(suffix + pack for suffix in suffixes for pack in ("", *PACKED))
