"""Timing side by side: what is compared is run in turns, because machines are noisy."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the speed contract: ours against a reference measured in the same run."""

    work: str
    reference: str
    ours: float
    theirs: float
    target: str
    met: bool | None
    unit: str = "s"

    def shown(self, value: float) -> str:
        """A measured value with its unit."""
        return seconds(value) if self.unit == "s" else f"{value:.3g} {self.unit}"

    @property
    def ratio(self) -> str:
        """How many times faster than the reference, or how much of its time."""
        quotient = self.theirs / self.ours
        if self.unit != "s":
            return f"{1 / quotient:.2f}x"
        return f"{quotient:.4g}x faster" if quotient >= 5 else f"{1 / quotient:.2f}x its time"

    @property
    def verdict(self) -> str:
        return {True: "met", False: "NOT MET", None: "recorded"}[self.met]


def side_by_side(*functions: Callable[[], object], rounds: int) -> list[float]:
    """The best time of each function over *rounds* turns, in seconds."""
    best = [float("inf")] * len(functions)
    for function in functions:
        function()
    for _ in range(rounds):
        for place, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[place] = min(best[place], time.perf_counter() - start)
    return best


def faster(work: str, reference: str, ours: float, theirs: float, at_least: float) -> Row:
    """A row whose target is a speed-up."""
    return Row(work, reference, ours, theirs, f"at least {at_least:g}x faster", theirs / ours >= at_least)


def within(work: str, reference: str, ours: float, theirs: float, at_most: float) -> Row:
    """A row whose target is a multiple of the reference's time."""
    return Row(work, reference, ours, theirs, f"at most {at_most:g}x its time", ours / theirs <= at_most)


def seconds(value: float) -> str:
    """A time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.1e} s"
