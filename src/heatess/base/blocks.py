"""Work over rows in cache-sized blocks, on the available cores."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar

from .errors import InputError
from .pool import on_threads, until_stopped

T = TypeVar("T")

ROWS_OF_A_BLOCK = 65_536

#: Threads that may be asked for.
MOST_THREADS = 1024

_limit: ContextVar[int | None] = ContextVar("threads", default=None)


def thread_count() -> int:
    """Threads to use: the environment variable HEATESS_NUM_THREADS, else the cores this process may use.

    An empty variable is one that is not set; what is no number of threads is refused.
    """
    limit = _limit.get()
    if limit is not None:
        return limit
    wanted = os.environ.get("HEATESS_NUM_THREADS", "").strip()
    if wanted:
        if not (wanted.isdecimal() and len(wanted) < 9 and 1 <= int(wanted) <= MOST_THREADS):
            raise InputError(
                f"the environment variable HEATESS_NUM_THREADS must be <+a whole number from 1 to {MOST_THREADS}+>, "
                f"but is <!{wanted[:40]!r}!>; set it to one, or unset it to use all cores"
            )
        return int(wanted)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use *count* threads in this block, where others already share the cores."""
    token = _limit.set(count)
    try:
        yield
    finally:
        _limit.reset(token)


def slices(n: int, size: int = ROWS_OF_A_BLOCK) -> Iterator[slice]:
    """Consecutive slices that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def map_rows(work: Callable[[slice], T], n: int, size: int = ROWS_OF_A_BLOCK) -> list[T]:
    """`work` on every slice of range(n), in order; each thread takes a contiguous run of slices."""
    parts = list(slices(n, size)) or [slice(0, 0)]
    threads = min(thread_count(), len(parts))
    if threads == 1:
        return [work(part) for part in until_stopped(parts)]
    runs = [parts[run] for run in slices(len(parts), -(-len(parts) // threads))]
    found = on_threads(lambda k: [work(part) for part in until_stopped(runs[k])], len(runs))
    return [result for run in found for result in run]


def span(values: Any) -> tuple[float, float]:
    """The least and the largest of some numbers (n,) or (n, d), both nan if any is; inf and -inf if there are none."""
    if not values.size:
        return math.inf, -math.inf
    rows = max(ROWS_OF_A_BLOCK // (values.size // len(values)), 1)
    lows, highs = zip(*map_rows(lambda part: (values[part].min(), values[part].max()), len(values), rows), strict=True)
    if any(low != low for low in lows):
        return math.nan, math.nan
    return float(min(lows)), float(max(highs))


def share_out(work: Sequence[T], do: Callable[[int, T], None], threads: int) -> None:
    """Call `do(thread, item)` on every item; thread k takes items k, k + threads, ..., always in that order."""

    def run(thread: int) -> None:
        for item in until_stopped(work[thread::threads]):
            do(thread, item)

    if threads == 1 or len(work) < 2:
        run(0)
    else:
        on_threads(run, min(threads, len(work)))


def in_order(do: Callable[[T], object], work: Sequence[T]) -> None:
    """Call `do` on every item, each on a thread of its own; of several errors that of the first item is raised."""
    if len(work) == 1:
        do(work[0])
    else:
        on_threads(lambda k: do(work[k]), len(work))


def in_lanes(work: Sequence[T], do: Callable[[int, T], None], lanes: int, threads: int) -> None:
    """Call `do(lane, item)` on every item; lane k takes items k, k + lanes, ..., in that order, on any thread.

    Sums that each lane keeps for itself, added up in the order of the lanes, are the same to the last bit however many
    threads there are.
    """

    def run(_: int, lane: int) -> None:
        for item in until_stopped(work[lane::lanes]):
            do(lane, item)

    share_out(range(min(lanes, len(work))), run, min(threads, lanes))


def one_blas_thread() -> AbstractContextManager[object]:
    """One BLAS thread in this block, where threads of our own share the cores: idle ones would spin against them."""
    return _blas().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
