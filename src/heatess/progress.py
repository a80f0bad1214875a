"""A progress bar that stays silent unless asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from .errors import InputTypeError

T = TypeVar("T")


#: Bars that want to know when loops are about to be compiled, which takes seconds.
WAITING: list[Progress] = []


class Progress:
    """Shows a bar on stderr for long loops when *shown* is true and stderr is a terminal."""

    def __init__(self, shown: bool) -> None:
        try:
            self.shown = bool(shown) and sys.stderr.isatty()
        except Exception:
            raise InputTypeError(f"progress must be true or false, but is {type(shown).__name__}") from None

    @contextmanager
    def told(self) -> Iterator[None]:
        """Say once if loops are compiled in this block."""
        if not self.shown:
            yield
            return
        WAITING.append(self)
        try:
            yield
        finally:
            WAITING[:] = [bar for bar in WAITING if bar is not self]

    def compiling(self) -> None:
        """Say that loops are compiled, and no more of it."""
        WAITING[:] = [bar for bar in WAITING if bar is not self]
        print("heatess: compiling loops, once for this machine: some seconds", file=sys.stderr, flush=True)

    def track(self, work: Sequence[T], label: str) -> Iterator[T]:
        """Iterate over *work*."""
        with self.meter(len(work), label) as advance:
            for item in work:
                yield item
                advance(1)

    @contextmanager
    def meter(self, length: int, label: str) -> Iterator[Callable[[int], None]]:
        """A bar of so many steps; call what it gives with the steps done since the last call."""
        if not self.shown or length < 2:
            yield lambda steps: None
            return
        import click

        with click.progressbar(length=length, label=label, file=sys.stderr) as bar:
            yield bar.update
