"""Threads that Ctrl-C ends: the one place where heatess starts any.

Python tells the main thread of Ctrl-C, and that only between two steps of its own, never within a compiled call. So the
main thread waits here while others work. When it is interrupted it sets a flag, which the others look at between any
two items of work, gives them a moment to end, and leaves. A compiled call that cannot look at a flag ends on its own
some time later, on a thread that nobody waits for: what it finds is thrown away.

So work that is done here must write only to what its caller made for it, and a caller keeps results (a cache, a file)
only after this has returned.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

P = ParamSpec("P")
T = TypeVar("T")

#: Seconds that an interrupted call waits for items that are being worked on.
MOMENT = 0.3

#: Seconds between two looks at signals, where a wait is not ended by them (Windows).
_LOOK = 0.1

#: The flag of the call that this thread works for: one byte, so that compiled loops can look at it too; None if there
#: is no such call.
_flag: ContextVar[NDArray[np.uint8] | None] = ContextVar("flag", default=None)

#: Threads that were left while they worked.
_left: list[threading.Thread] = []


class Stopped(BaseException):
    """Ends a thread whose result nobody waits for."""


def flag() -> NDArray[np.uint8]:
    """One byte that is not zero once the work of this thread is no longer wanted."""
    found = _flag.get()
    return np.zeros(1, dtype=np.uint8) if found is None else found


def until_stopped(work: Iterable[T]) -> Iterator[T]:
    """The items of *work*, until nobody wants their result any more: then `Stopped` is raised."""
    mine = flag()
    for item in work:
        if mine[0]:
            raise Stopped
        yield item


def on_threads(do: Callable[[int], T], count: int) -> list[T]:
    """do(0), ..., do(count - 1), each on a thread of its own; of several errors that of the first is raised.

    Threads see the context of the caller, such as the limit on threads.
    """
    mine = flag()
    token = _flag.set(mine)
    found: list[Any] = [None] * count
    errors: list[BaseException | None] = [None] * count
    at_work = [threading.Lock() for _ in range(count)]

    def run(k: int) -> None:
        try:
            found[k] = do(k)
        except BaseException as error:
            errors[k] = error
            if not isinstance(error, Exception):
                mine[0] = 1
        finally:
            at_work[k].release()

    threads = [
        threading.Thread(target=copy_context().run, args=(run, k), daemon=True, name="heatess") for k in range(count)
    ]
    try:
        for lock, thread in zip(at_work, threads, strict=True):
            lock.acquire()
            thread.start()
        for lock in at_work:
            while not lock.acquire(timeout=_LOOK):
                pass
    except BaseException:
        mine[0] = 1
        end = time.monotonic() + MOMENT
        for lock, thread in zip(at_work, threads, strict=True):
            if thread.is_alive() and not lock.acquire(timeout=max(end - time.monotonic(), 0.0)):
                _leave(thread)
        raise
    finally:
        _flag.reset(token)
    failed = [error for error in errors if error is not None]
    if failed:
        raise next((error for error in failed if not isinstance(error, Stopped)), failed[0])
    return found


def apart(do: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
    """do(*arguments), on a thread of its own where Ctrl-C could not end it otherwise: for compiled calls of seconds."""
    if threading.current_thread() is not threading.main_thread():
        return do(*arguments, **named)
    return on_threads(lambda _: do(*arguments, **named), 1)[0]


@contextmanager
def team(count: int) -> Iterator[Callable[[Callable[[T], Any], Sequence[T]], list[Any]]]:
    """A function that calls another on every item, on threads that stay, for thousands of calls of milliseconds."""
    from concurrent.futures import ThreadPoolExecutor  # loads logging, so not at import

    with ThreadPoolExecutor(count) as pool:
        yield lambda do, work: list(pool.map(do, work))


def _leave(thread: threading.Thread) -> None:
    if not _left:
        atexit.unregister(_wait)
        atexit.register(_wait)
    _left.append(thread)


def _wait() -> None:
    """At the end of Python wait for calls that were left: one that came back later would end the process with an error.

    A process that ends because of Ctrl-C does so at once, after all else that is to be done at its end.
    """
    if getattr(sys, "last_type", None) is not KeyboardInterrupt or hasattr(sys, "ps1"):
        for thread in _left:
            thread.join()
    elif still_working():
        _left.clear()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # shells know by this that it was interrupted
        os.kill(os.getpid(), signal.SIGINT)
        os._exit(130)


def still_working() -> bool:
    """Whether a thread that was left by an interrupted call is still at work."""
    _left[:] = [thread for thread in _left if thread.is_alive()]
    return bool(_left)
