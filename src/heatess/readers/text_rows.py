"""Text tables whose rows are found by a rule of their format, and not by header and delimiter alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from .dialect import text_columns
from .streams import Source
from .text import TextTable
from .text_lines import Block, Dialect, text_lines

#: Gives the line of each row and its fields.
Rule = Callable[[Iterable[str]], Iterator[tuple[int, list[str]]]]

#: Rows that are looked at to tell which columns are text.
_ROWS_FOR_TEXT = 60


class RowTable(TextTable):
    """A text table of which *rule* finds the rows among the lines."""

    def __init__(self, source: Source, dialect: Dialect, rule: Rule, note: str = "") -> None:
        self._rule = rule
        with source.text(dialect.encoding) as (text, _):
            first = list(islice(rule(text_lines(text, source.name)), _ROWS_FOR_TEXT))
        super().__init__(source, replace(dialect, texts=text_columns(dialect.names, first)), note)

    def _blocks(self, wanted: list[int]) -> Iterator[tuple[Block, float]]:
        return self._slow(wanted)

    @contextmanager
    def _records(self) -> Iterator[tuple[Iterator[tuple[int, list[str]]], Callable[[], float]]]:
        with self._file.text(self._dialect.encoding) as (text, done):
            yield self._rule(text_lines(text, self.source)), done
