"""Every loop that is compiled, by numba, on first use: import these modules where they are needed, in functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba.core import event

from ..base.errors import warn
from ..base.progress import announce


class _Announcement(event.Listener):
    """Tells whoever shows progress that numba compiles, which it does not when it finds a loop on disk."""

    def on_start(self, event: Any) -> None:
        announce("compiling loops, once for this machine: some seconds")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, with what was compiled kept on disk for the next process where there is room for it.

    Numba keeps it in NUMBA_CACHE_DIR, beside the package or in the user's home. Where it can write to none of them,
    as in many containers, every process compiles for itself, and is told so once.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except (RuntimeError, OSError):  # numba looks for a place to write to when it meets the decorator
            _say_that_nothing_is_kept()
            return numba.njit(**options)(function)

    return decorate


@cache  # once a process
def _say_that_nothing_is_kept() -> None:
    warn(
        "compiled loops cannot be kept on disk, so every process that needs them compiles them again, for some "
        "seconds; results are the same. To keep them, set the environment variable NUMBA_CACHE_DIR to a directory "
        "that can be written to",
        RuntimeWarning,
    )
