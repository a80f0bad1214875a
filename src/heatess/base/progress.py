"""A progress bar that stays silent unless asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from .errors import InputTypeError

T = TypeVar("T")

#: Steps of a bar that is told shares.
_STEPS = 1000


#: Bars that want to know when something that takes seconds and has no steps begins.
WAITING: list[Progress] = []


def announce(text: str) -> None:
    """Tell everybody who waits what takes long now; the same text only once."""
    for bar in WAITING:
        bar.say(text)


class Progress:
    """Shows a bar on stderr for long loops when *shown* is true and stderr is a terminal."""

    def __init__(self, shown: bool) -> None:
        try:
            self.shown = bool(shown) and sys.stderr.isatty()
        except Exception:
            raise InputTypeError(f"progress must be true or false, but is {type(shown).__name__}") from None
        self._said: set[str] = set()

    @contextmanager
    def told(self) -> Iterator[None]:
        """Say what is announced in this block: loops that are compiled, eigenpairs that are found."""
        if not self.shown:
            yield
            return
        WAITING.append(self)
        try:
            yield
        finally:
            WAITING[:] = [bar for bar in WAITING if bar is not self]

    def say(self, text: str) -> None:
        """One line on stderr, and no second time."""
        if text not in self._said:
            self._said.add(text)
            print(f"heatess: {text}", file=sys.stderr, flush=True)

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
            try:
                yield bar.update
            except BaseException:
                click.echo("\r\033[K", nl=False, file=sys.stderr)  # no half of a bar above what is said next
                raise

    @contextmanager
    def shares(self, label: str) -> Iterator[Callable[[float], None]]:
        """A bar that is told the share done so far, from 0 to 1."""
        done = 0

        def reach(share: float) -> None:
            nonlocal done
            steps = int(_STEPS * share) - done
            if steps > 0:
                advance(steps)
                done += steps

        with self.meter(_STEPS, label) as advance:
            yield reach


def in_time(seconds: float) -> str:
    """Seconds in the words of a message.

    >>> in_time(12.0), in_time(300.0), in_time(9000.0)
    ('12 s', '5 minutes', '2.5 hours')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} hours" if seconds > 7200 else f"{seconds / 60:.0f} minutes"
