"""Word vectors as text: a word and its numbers in each line, as GloVe, word2vec and fastText write them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..tables.arrow_columns import as_numpy
from ..tables.table import Piece, Place, Table
from .streams import Source, packed
from .text_lines import is_number

SUFFIXES = packed((".vec",))

#: Without a line "count width" at the start, rows are word vectors if each word has so many numbers or more.
FEWEST_NUMBERS_OF_WORD = 20

#: Bytes read at a time.
_BYTES_AT_ONCE = 2**24


class Head(NamedTuple):
    """What the first lines say."""

    width: int  #: numbers in each row
    words: int | None  #: how many, if the first line has their number


def head_of(lines: Sequence[bytes]) -> Head | None:
    """What the first whole *lines* of a file of word vectors say; None if these are something else.

    >>> head_of([b"2 3", b"king 0.1 0.2 0.3", b"queen 0.1 0.2 0.4"])
    Head(width=3, words=2)
    >>> head_of([b"name lon lat", b"Paris 2.35 48.86"])
    """
    rows = [line.rstrip().split(b" ") for line in lines if line.strip()]
    stated = rows[0] if rows and len(rows[0]) == 2 and all(word.isdigit() for word in rows[0]) else None
    if stated:
        count, width = map(int, stated)
        words = rows[1:]
        if not words or width < 2 or not all(_is_row(row, width) for row in words):
            return None
        return Head(width, count) if _are_words(words, width) else None
    width = min((len(row) for row in rows), default=0) - 1  # a word may hold spaces
    fits = width >= FEWEST_NUMBERS_OF_WORD and all(_is_row(row, width) for row in rows)
    return Head(width, None) if fits and _are_words(rows, width) else None


def _is_row(row: Sequence[bytes], width: int) -> bool:
    return len(row) > width and all(is_number(text.decode("latin-1")) for text in row[-width:])


def _are_words(rows: Sequence[Sequence[bytes]], width: int) -> bool:
    """Whether most rows start with a word of their own; some words are numbers, and one for all rows is none.

    >>> _are_words([[b"king", b"1", b"2"], [b"queen", b"1", b"3"]], 2), _are_words([[b"EDGE", b"1", b"2"]] * 4, 2)
    (True, False)
    """
    words = [b" ".join(row[:-width]).decode("latin-1") for row in rows]
    return 2 * sum(not is_number(word) for word in words) > len(words) and 2 * len(set(words)) > len(words)


def table(path: Path, source: Source | None = None) -> Table:
    r"""The vectors of a file of words, as the column embedding; their words are the text column word.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small.vec"
    >>> _ = path.write_text("2 3\nking 0.6 0 0.8\nqueen 0 0.6 0.8\n")
    >>> found = table(path)
    >>> found.lists, found.text("word"), next(found.pieces(["embedding"], None)).columns[0].shape
    (['embedding'], ['king', 'queen'], (2, 3))
    """
    source = source or Source(path)
    with source.opened() as (stream, _):
        head = head_of([line for line in (stream.readline() for _ in range(50)) if line])
    if head is None:
        raise InputError(
            f"{source.name} is not <+a file of word vectors, each line a word and its numbers between single "
            "spaces+>; if it has a header of names, rename it to .csv"
        )
    return WordVectors(source, head)


class WordVectors(Table):
    """The rows of a file of word vectors."""

    def __init__(self, source: Source, head: Head) -> None:
        self._file, self._head, self.source = source, head, source.name
        self.names, self.lists, self.texts = [], ["embedding"], ["word"]
        self.note = f"word vectors of {head.width} numbers"

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Vectors, float64, and the line of each."""
        held: list[FloatArray] = []
        start = self._first
        count = 0
        for _, vectors, done in self._blocks(numbers=True):
            held.append(vectors)
            count += len(vectors)
            if self.watch is not None:
                self.watch(done)
            while rows is not None and count >= rows:
                whole = _joined(held)
                yield Piece([whole[:rows] for _ in names], self._places(start), done)
                held, count, start = [whole[rows:]], count - rows, start + rows
        if count:
            whole = _joined(held)
            yield Piece([whole for _ in names], self._places(start), 1.0)

    def text(self, name: str) -> Sequence[str]:
        """The words."""
        if name not in self.texts:
            return super().text(name)
        return [
            word.decode("utf-8", "backslashreplace") for words, _, _ in self._blocks(numbers=False) for word in words
        ]

    @property
    def _first(self) -> int:
        """The line of the first row."""
        return 1 + (self._head.words is not None)

    def _places(self, start: int) -> Place:
        return lambda row: f"{self.source} line {start + row:,}"

    def _blocks(self, *, numbers: bool) -> Iterator[tuple[list[bytes], FloatArray, float]]:
        """Words and, if wanted, their vectors."""
        line, seen = self._first, 0
        with self._file.opened() as (stream, done):
            if self._head.words is not None:
                stream.readline()
            while lines := stream.readlines(_BYTES_AT_ONCE):
                words, texts = self._split(lines, line)
                vectors = _parsed(texts, self._head.width) if numbers else None
                if numbers and vectors is None:
                    vectors = np.array([self._numbers(text, line + k) for k, text in enumerate(texts)])
                yield words, np.empty((0, 0)) if vectors is None else vectors, done()
                line, seen = line + len(lines), seen + len(words)
        if self._head.words is not None and seen != self._head.words:
            raise InputError(
                f"{self.source} says in its first line that it has <+{self._head.words:,} words+>, but has "
                f"<!{seen:,}!>; it may be cut short: fetch it again, or correct that line"
            )

    def _split(self, lines: list[bytes], first: int) -> tuple[list[bytes], list[bytes]]:
        """The word of each line, and the text of its numbers."""
        width = self._head.width
        words, texts = [], []
        for number, line in enumerate(lines, first):
            text = line.rstrip(b" \r\n")
            if not text:
                continue
            word, _, rest = text.partition(b" ")
            if text.count(b" ") != width:  # a word that holds spaces, or a damaged line
                parts = text.rsplit(b" ", width)
                if len(parts) != width + 1:
                    raise InputError(
                        f"{self.source} line {number:,} has <!{len(parts) - 1} numbers!>, but <+{width}+> are in the "
                        "others; fix or delete that line"
                    )
                word, rest = parts[0], b" ".join(parts[1:])
            words.append(word)
            texts.append(rest)
        return words, texts

    def _numbers(self, text: bytes, line: int) -> list[float]:
        """The numbers of one line; an `InputError` names what is none."""
        found = []
        for word in text.decode("latin-1").split(" "):
            if not is_number(word):
                raise InputError(
                    f"{self.source} line {line:,}: <!{word[:40]!r}!> is not <+a number+>; fix or drop that line"
                )
            found.append(float(word))
        return found


def _joined(held: list[FloatArray]) -> FloatArray:
    return held[0] if len(held) == 1 else np.concatenate(held)


def _parsed(texts: list[bytes], width: int) -> FloatArray | None:
    """Rows of numbers between spaces, by pyarrow or else by NumPy; None if some are none."""
    data = b"\n".join(texts)
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        try:
            return np.loadtxt(io.StringIO(data.decode("latin-1")), delimiter=" ", comments=None, ndmin=2)
        except ValueError:
            return None
    names = [str(column) for column in range(width)]
    parsing = csv.ParseOptions(delimiter=" ", quote_char=False)
    converting = csv.ConvertOptions(column_types=dict.fromkeys(names, pyarrow.float64()), null_values=[])
    reading = csv.ReadOptions(column_names=names, block_size=max(2**21, 2 * max(map(len, texts))))
    try:
        found = csv.read_csv(pyarrow.BufferReader(data), reading, parsing, converting)
    except (pyarrow.ArrowException, ValueError):
        return None
    whole = np.empty((found.num_rows, width))
    for column in range(width):
        whole[:, column] = as_numpy(found.column(column))
    return whole if len(whole) == len(texts) and not np.isnan(whole).any() else None
