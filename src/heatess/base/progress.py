"""Progress bars, and a clock for what has none, that stay silent unless asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from threading import Event, Thread
from typing import ParamSpec, TypeVar

from .errors import InputTypeError

P = ParamSpec("P")
T = TypeVar("T")

#: Steps of a bar that is told shares.
_STEPS = 1000


#: Seconds before the clock is shown, and what clears a line of the terminal.
PATIENCE, CLEAR = 3.0, "\r\033[K"

#: Bars that want to know when something that takes seconds and has no steps begins.
WAITING: list[Progress] = []


def announce(text: str) -> None:
    """Tell everybody who waits what takes long now; the same text only once."""
    for bar in WAITING:
        bar.say(text)


class _Clock(Thread):
    """Says on stderr for how many seconds something has been at work, where no bar says more."""

    bars = 0  #: on the screen now
    shown = False  #: whether the last line is a clock's

    def __init__(self, label: str) -> None:
        super().__init__(daemon=True)
        self._label, self._start, self._end = label, time.monotonic(), Event()

    def run(self) -> None:
        """Write the seconds, about once in each."""
        while not self._end.wait(min(PATIENCE, 1.0)):
            seconds = time.monotonic() - self._start
            if seconds >= PATIENCE and not _Clock.bars:
                _Clock.shown = True
                print(f"{CLEAR}heatess: {self._label}, {seconds:.0f} s", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Stop, and leave nothing on the screen."""
        self._end.set()
        self.join()
        _clear()


def _clear() -> None:
    if _Clock.shown:
        _Clock.shown = False
        print(CLEAR, end="", file=sys.stderr, flush=True)


def told(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, which says with progress=True for how long it has been at work."""

    @wraps(function)
    def timed(*args: P.args, **more: P.kwargs) -> T:
        shown = more.get("progress", False)
        if shown is False:
            return function(*args, **more)
        with Progress(shown).told(function.__name__.replace("_", " ")):  # type: ignore[arg-type]
            return function(*args, **more)

    return timed


class Progress:
    """Shows a bar on stderr for long loops when *shown* is true and stderr is a terminal."""

    def __init__(self, shown: bool) -> None:
        try:
            self.shown = bool(shown) and sys.stderr.isatty()
        except Exception:
            raise InputTypeError(f"progress must be <+true or false+>, but is <!{type(shown).__name__}!>") from None
        self._said: set[str] = set()

    @contextmanager
    def told(self, label: str = "at work") -> Iterator[None]:
        """Say what is announced in this block (loops are compiled, eigenpairs found), and how long it takes."""
        if not self.shown:
            yield
            return
        WAITING.append(self)
        clock = _Clock(label)
        clock.start()
        try:
            yield
        finally:
            clock.end()
            WAITING[:] = [bar for bar in WAITING if bar is not self]

    def say(self, text: str) -> None:
        """One line on stderr, and no second time."""
        if text not in self._said:
            self._said.add(text)
            _clear()
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

        _clear()
        _Clock.bars += 1
        try:
            with click.progressbar(length=length, label=label, file=sys.stderr) as bar:
                try:
                    yield bar.update
                except BaseException:
                    click.echo(CLEAR, nl=False, file=sys.stderr)  # no half of a bar above what is said next
                    raise
        finally:
            _Clock.bars -= 1

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
