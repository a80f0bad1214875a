"""Text tables: CSV, TSV and columns between spaces, plain or compressed, with and without a header."""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EXACT_INTEGERS, FloatArray
from ..base.errors import InputError
from ..base.known import Known
from ..tables.arrow_columns import as_numpy
from ..tables.missing import MISSING
from ..tables.table import GLANCE, Piece, Place, Rows, Table
from .dialect import dialect_of, quaternions_at_end, sample_rows
from .poses import TUM, Kitti, is_kitti, named_trajectory
from .streams import Source, packed
from .text_lines import MOST_CHARACTERS_OF_LINE, Block, Dialect, careful, number, records, text_lines, whole_rows

SUFFIXES = packed((".csv", ".tsv", ".tab", ".txt", ".dat", ".tum"))

#: Bytes parsed at a time, and how many are too few to load pyarrow for.
BYTES_AT_ONCE = 2**24
BYTES_TOO_FEW_FOR_PYARROW = 2**18

#: The question about chains of GetDist.
_GETDIST = (
    "its rows are those of a sampler; say `kind='chains'` if they are one Markov chain in its order, or "
    "`kind='weighted draws'` if they are nested or importance samples"
)

_COMMENT = re.compile(rb"(?m)^[ \t]*(?:#|%|//)")


def table(path: Path, source: Source | None = None) -> Table:
    r"""The columns of a text file, or of standard input if *path* is `-`.

    The delimiter is found from the first lines, and so are the header, below titles or in a comment such as `# x,y,z`,
    and a decimal comma. Comments (#, %, //) are left out. Without a header, eight numbers that end in a unit
    quaternion are a TUM trajectory, twelve that are a rotation and a position are KITTI poses; other numbers are rows,
    or a chain of GetDist, if a file .paramnames beside it names as many parameters.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "cities.txt"
    >>> _ = path.write_text("Some cities\nname;lon;lat\nParis;2,35;48,86\nTokyo;139,69;\n", encoding="utf-8")
    >>> found = table(path)
    >>> found.names
    ['name', 'lon', 'lat']
    >>> [piece] = found.pieces(["lon", "lat"], None)
    >>> piece.columns
    [array([  2.35, 139.69]), array([48.86,   nan])]
    """
    source = source or Source(path)
    dialect = _without_empty(source, dialect_of(source, path))
    found = TextTable(source, dialect)
    if dialect.named:
        return _as_trajectory(found, named_trajectory(found.names))
    if len(found.names) == 8 and quaternions_at_end(sample_rows(source, dialect)):
        return _as_trajectory(TextTable(source, replace(dialect, names=TUM + dialect.names[8:])), "TUM trajectory")
    if len(found.names) == 12 and is_kitti(sample_rows(source, dialect)):
        return Kitti(found)
    return _getdist(path, source, dialect) or TextRows(found)


def _without_empty(source: Source, dialect: Dialect) -> Dialect:
    """The same without last columns that the file does not name, or pandas did, and that are empty in every row."""
    found, names = TextTable(source, dialect), list(dialect.names)
    for place in range(len(names) - 1, 0, -1):
        named = dialect.named and not names[place].startswith("Unnamed: ")
        if named or any(found.glance(names[place])) or not np.isnan(found.numbers(names[place])).all():
            break
        names[place] = ""
    return replace(dialect, names=names)


def _getdist(path: Path, source: Source, dialect: Dialect) -> TextTable | None:
    """A chain of GetDist, root_1.txt: weight, minus the log-density, and the parameters of root.paramnames."""
    names = path.with_name(re.sub(r"[._]\d+$", "", path.name.partition(".txt")[0]) + ".paramnames")
    if ".txt" not in path.name or not names.is_file():
        return None
    lines = names.read_text("utf-8", "replace").splitlines()
    words = ["weight", "minus_log", *(line.split()[0].rstrip("*") for line in lines if line.strip())]
    if len(words) != sum(map(bool, dialect.names)):
        return None
    found = TextTable(source, replace(dialect, names=words + dialect.names[len(words) :]))
    found.note, found.known = f"GetDist, names from {names.name}", Known(doubt=_GETDIST)
    return found


def _as_trajectory(table: TextTable, note: str) -> TextTable:
    """The table, known to be a trajectory if there is a *note* that says which."""
    if note:
        table.note, table.known = note, Known(kind="trajectory")
    return table


class TextTable(Table):
    """The columns of a text file; only those that are wanted are parsed."""

    def __init__(self, source: Source, dialect: Dialect, note: str = "") -> None:
        self._file, self._dialect = source, dialect
        self.source, self.units, self.texts = source.name, dialect.units, dialect.texts
        self.names = list(dict.fromkeys(filter(None, dialect.names)))
        self._at: dict[str, list[int]] = {}
        for place, name in enumerate(dialect.names):
            self._at.setdefault(name, []).append(place)
        self.note = note or ("numbers with a decimal comma" if dialect.decimal == "," else "")

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """The numbers in some columns, and the line of each row."""
        wanted = [self._index(name) for name in names]
        held: list[Block] = []
        count, empty = 0, True
        for block, done in self._blocks(wanted):
            empty = False
            held.append(block)
            count += len(block.lines)
            if self.watch is not None:
                self.watch(done)
            while rows is not None and count >= rows:
                part, held = _cut(held, rows)
                count -= rows
                yield _piece(part, self.source, done)
        if held and count:
            yield _piece(held, self.source, 1.0)
        if empty:
            header = ", ".join(self._dialect.names)
            raise InputError.lacking(f"{self.source} has a header ({header}) but no rows")

    def text(self, name: str) -> list[str]:
        """The entries of a column as they are written, without spaces around them."""
        place = self._index(name)
        with self._records() as (rows, _):
            return [row[place].strip() for _, row in whole_rows(rows, self._dialect)]

    def glance(self, name: str) -> list[str]:
        """The entries of the first rows."""
        place = self._index(name)
        with self._records() as (rows, _):
            return [row[place].strip() for _, row in islice(whole_rows(rows, self._dialect), GLANCE)]

    def entries(self, names: Sequence[str], rows: NDArray[np.int64]) -> list[list[str]]:
        """Some rows of some columns as they are written, but numbers with a decimal point; in one pass."""
        places, wanted = [self._at[name][0] for name in names], set(rows.tolist())
        kept: dict[int, list[str]] = {}
        with self._records() as (records, _):
            for row, (_, fields) in enumerate(whole_rows(records, self._dialect)):
                if row in wanted:
                    kept[row] = [self._with_point(fields[place].strip()) for place in places]
        return [[kept[row][column] for row in rows.tolist()] for column in range(len(names))]

    def _with_point(self, text: str) -> str:
        if self._dialect.decimal != "," or "," not in text:
            return text
        try:
            return repr(number(text, ","))
        except ValueError:
            return text

    def _index(self, name: str) -> int:
        places = self._at[name]
        if len(places) > 1:
            numbers = " and ".join(str(place + 1) for place in places)
            raise InputError(
                f"{self.source} has <!{len(places)} columns {name!r}!> (columns {numbers}); rename one of them"
            )
        return places[0]

    def _blocks(self, wanted: list[int]) -> Iterator[tuple[Block, float]]:
        if self._dialect.odd:
            yield from self._slow(wanted)
            return
        with self._file.opened() as (stream, done):
            for block in _parsed(stream, self._dialect, wanted):
                yield block, done()

    def _slow(self, wanted: list[int]) -> Iterator[tuple[Block, float]]:
        with self._records() as (rows, done):
            for block in careful(rows, self._dialect, wanted):
                yield block, done()

    @contextmanager
    def _records(self) -> Iterator[tuple[Iterator[tuple[int, list[str]]], Callable[[], float]]]:
        """The fields of every row, and a function that tells the share of the file read so far."""
        with self._file.text(self._dialect.encoding) as (text, done):
            lines = text_lines(text, self.source)
            for _ in range(self._dialect.skip):
                next(lines)
            yield records(lines, self._dialect.delimiter, self.source, self._dialect.skip), done


class TextRows(Rows):
    """Numbers without a header: rows, with columns called 0, 1, 2, ..."""

    def __init__(self, table: TextTable) -> None:
        self._table, self.source, self.names, self.note = table, table.source, table.names, table.note
        self.lists = ["rows"]

    def entries(self, names: Sequence[str], rows: NDArray[np.int64]) -> list[list[str]]:
        """Some rows of some columns as they are written."""
        return self._table.entries(names, rows)

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Rows, whole or some of their entries."""
        self._table.watch = self.watch
        wanted = self.names if "rows" in names else list(names)
        for piece in self._table.pieces(wanted, rows):
            values = dict(zip(wanted, piece.columns, strict=True))
            columns = [np.column_stack(piece.columns) if name == "rows" else values[name] for name in names]
            yield piece._replace(columns=columns)

    def text(self, name: str) -> list[str]:
        """The entries of a column as they are written."""
        return self._table.text(name)


def _parsed(stream: BinaryIO, dialect: Dialect, wanted: list[int]) -> Iterator[Block]:
    """The blocks of a file: by pyarrow where they are simple, else line by line."""
    before = dialect.skip
    fast: Parser | None = None
    chunks = _chunks(stream, dialect)
    for place, chunk in enumerate(chunks):
        if (b"\r" in chunk and chunk.count(b"\r") != chunk.count(b"\r\n")) or _opens_quote(chunk):
            rest = io.BufferedReader(_Chained(chunk, chunks), 2**16)
            text: Any = io.TextIOWrapper(rest, dialect.encoding, errors="backslashreplace", newline="")
            rows = records(text_lines(text, dialect.source), dialect.delimiter, dialect.source, before)
            yield from careful(rows, dialect, wanted)
            return
        if not place and len(chunk) >= BYTES_TOO_FEW_FOR_PYARROW:
            fast = fast_parser(dialect)
        block = fast(chunk, wanted, before) if fast else None
        if block:
            yield block
        else:
            text = io.TextIOWrapper(io.BytesIO(chunk), dialect.encoding, errors="backslashreplace", newline="")
            yield from careful(records(text, dialect.delimiter, dialect.source, before), dialect, wanted)
        before += _breaks(chunk)


def _chunks(stream: BinaryIO, dialect: Dialect) -> Iterator[bytes]:
    """The bytes after the header in chunks of whole lines."""
    skip, kept = dialect.skip, b""
    while data := stream.read(BYTES_AT_ONCE):
        kept, start = kept + data, 0
        while skip and (end := kept.find(b"\n", start)) >= 0:
            start, skip = end + 1, skip - 1
        kept = kept[start:]
        end = kept.rfind(b"\n") + 1
        if end and not skip:
            yield kept[:end]
            kept = kept[end:]
        elif len(kept) > MOST_CHARACTERS_OF_LINE:
            raise InputError(
                f"{dialect.source} has <!a line of more than {MOST_CHARACTERS_OF_LINE:,} bytes!>; is this text?"
            )
    if kept and not skip:
        yield kept


def _opens_quote(chunk: bytes) -> bool:
    """Whether some line has an odd number of quotes, so that a field may go on in the next line."""
    if b'"' not in chunk:
        return False
    codes = np.frombuffer(chunk, np.uint8)
    lines = np.searchsorted(np.flatnonzero(codes == ord("\n")), np.flatnonzero(codes == ord('"')))
    return bool((np.bincount(lines) % 2).any())


class _Chained(io.RawIOBase):
    """Some bytes, then chunks of bytes."""

    def __init__(self, head: bytes, chunks: Iterator[bytes]) -> None:
        self._head, self._chunks = head, chunks

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._head = self._head or next(self._chunks, b"")
        data = self._head[: len(buffer)]
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


#: Parses a chunk of whole lines that come after some lines: None if the chunk needs more care.
Parser = Callable[[bytes, list[int], int], Block | None]


def fast_parser(dialect: Dialect) -> Parser | None:
    """The parser of simple chunks: pyarrow, or NumPy without it."""
    return arrow_parser(dialect) or numpy_parser(dialect)


def arrow_parser(dialect: Dialect) -> Parser | None:
    """The parser of pyarrow, on all cores; None if it is not installed."""
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    names = [str(column) for column in range(len(dialect.names))]
    reading = csv.ReadOptions(column_names=names, block_size=2**21)
    parsing = csv.ParseOptions(delimiter=dialect.delimiter)

    def parse(chunk: bytes, wanted: list[int], before: int) -> Block | None:
        simple = _simple(chunk, dialect)
        if simple is None:
            return None
        chosen = [str(column) for column in dict.fromkeys(wanted)]
        converting = csv.ConvertOptions(
            column_types=dict.fromkeys(chosen, pyarrow.float64()),
            include_columns=chosen or names[:1],
            null_values=list(MISSING),
            decimal_point=dialect.decimal,
        )
        try:
            found = csv.read_csv(pyarrow.BufferReader(simple), reading, parsing, converting)
        except (pyarrow.ArrowException, ValueError):
            return None
        count = _breaks(simple) + (not simple.endswith(b"\n"))
        if found.num_rows != count:
            return None
        columns = [as_numpy(found.column(str(column))) for column in wanted]
        for column, name in zip(columns, wanted, strict=True):
            if np.count_nonzero(np.isnan(column)) != found.column(str(name)).null_count:
                return None
        if _large(columns):
            return None
        return Block(columns, range(before + 1, before + 1 + count))

    return parse


def numpy_parser(dialect: Dialect) -> Parser | None:
    """The parser of NumPy, for numbers with a decimal point alone: missing ones and quotes need more care."""
    if dialect.decimal == ",":
        return None
    mark, width = ord(dialect.delimiter), len(dialect.names)

    def parse(chunk: bytes, wanted: list[int], before: int) -> Block | None:
        simple = _simple(chunk, dialect)
        if simple is None or not wanted or b'"' in simple:
            return None
        simple = simple.rstrip(b"\r\n")
        codes = np.frombuffer(simple, np.uint8)
        ends = np.append(np.flatnonzero(codes == ord("\n")), len(codes))
        fields = np.bincount(np.searchsorted(ends, np.flatnonzero(codes == mark)), minlength=len(ends)) + 1
        if (fields != width).any():
            return None
        text = io.StringIO(simple.decode("latin-1"))
        try:
            found = np.loadtxt(text, delimiter=dialect.delimiter, usecols=wanted, comments=None, ndmin=2)
        except ValueError:
            return None
        if len(found) != len(ends) or np.isnan(found).any():
            return None
        columns = [np.ascontiguousarray(column) for column in found.T]
        if _large(columns):
            return None
        return Block(columns, range(before + 1, before + 1 + len(ends)))

    return parse


def _large(columns: Sequence[FloatArray]) -> bool:
    """Whether some number may be an integer that was rounded."""
    return any(bool((np.abs(column) >= EXACT_INTEGERS).any()) for column in columns)


def _simple(chunk: bytes, dialect: Dialect) -> bytes | None:
    """A chunk without blank lines at its end; None if it holds comments, or nothing."""
    if chunk.endswith((b"\n\n", b"\n\r\n")):
        chunk = chunk.rstrip(b"\r\n")
    if _has_comments(chunk) or not chunk or chunk.isspace():
        return None
    return _spaced(chunk) if dialect.delimiter == " " else chunk


def _has_comments(chunk: bytes) -> bool:
    return (b"#" in chunk or b"%" in chunk or b"/" in chunk) and bool(_COMMENT.search(chunk))


def _breaks(chunk: bytes) -> int:
    """The number of line breaks; many times faster than bytes.count."""
    return int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == ord("\n")))


def _spaced(chunk: bytes) -> bytes | None:
    """Columns between runs of spaces and tabs as columns between single spaces, unless there are quotes."""
    if b'"' in chunk:
        return None
    if b"\t" in chunk:
        chunk = chunk.replace(b"\t", b" ")
    while b"  " in chunk:
        chunk = chunk.replace(b"  ", b" ")
    if b" \r\n" in chunk:
        chunk = chunk.replace(b" \r\n", b"\r\n")
    if b" \n" in chunk:
        chunk = chunk.replace(b" \n", b"\n")
    if b"\n " in chunk:
        chunk = chunk.replace(b"\n ", b"\n")
    return chunk.strip(b" ")


def _cut(held: list[Block], rows: int) -> tuple[list[Block], list[Block]]:
    """The first *rows* rows of some blocks, and the others."""
    part: list[Block] = []
    for place, block in enumerate(held):
        count = len(block.lines)
        if count > rows:
            part.append(Block([column[:rows] for column in block.columns], block.lines[:rows]))
            rest = Block([column[rows:] for column in block.columns], block.lines[rows:])
            return part, [rest, *held[place + 1 :]]
        part.append(block)
        rows -= count
        if not rows:
            return part, held[place + 1 :]
    return part, []


def _piece(blocks: list[Block], source: str, done: float) -> Piece:
    place = _places(source, [block.lines for block in blocks])
    if len(blocks) == 1:
        return Piece(list(blocks[0].columns), place, done)
    columns = []
    for column in range(len(blocks[0].columns)):
        columns.append(np.concatenate([block.columns[column] for block in blocks]))
        for block in blocks:  # never two copies of more than one column
            block.columns[column] = np.empty(0)
    return Piece(columns, place, done)


def _places(source: str, lines: list[Sequence[int]]) -> Place:
    starts = np.cumsum([0, *(len(part) for part in lines)]).tolist()

    def place(row: int) -> str:
        part = bisect_right(starts, row) - 1
        return f"{source} line {lines[part][row - starts[part]]:,}"

    return place
