"""A progress bar that stays silent unless asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Progress:
    """Shows a bar on stderr for long loops when *shown* is true and stderr is a terminal."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown and sys.stderr.isatty()

    def track(self, work: Sequence[T], label: str) -> Iterator[T]:
        """Iterate over *work*."""
        if not self.shown or len(work) < 2:
            yield from work
            return
        import click

        with click.progressbar(work, label=label, file=sys.stderr) as bar:
            yield from bar

    @contextmanager
    def meter(self, length: int, label: str) -> Iterator[Callable[[int], None]]:
        """A bar of so many steps; call what it gives with the steps done since the last call."""
        if not self.shown:
            yield lambda steps: None
            return
        import click

        with click.progressbar(length=length, label=label, file=sys.stderr) as bar:
            yield bar.update
