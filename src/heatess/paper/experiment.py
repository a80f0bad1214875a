"""What an experiment takes, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .checks import Check, Law

FloatArray = NDArray[np.float64]
T = TypeVar("T")


class Tracker(Protocol):
    """Iterates over work and may show the progress."""

    def __call__(self, work: Sequence[T], label: str) -> Iterator[T]:
        """Yield the items of *work* in order."""
        ...


def silently(work: Sequence[T], label: str) -> Iterator[T]:
    """A tracker that shows nothing."""
    yield from work


@dataclass(frozen=True)
class Settings:
    """The seed of all random numbers, how much to compute, and how to show progress."""

    seed: int = 0
    quick: bool = False
    track: Tracker = silently

    def rng(self, name: str, replicate: int = 0) -> np.random.Generator:
        """A random generator for one experiment and replicate; it does not depend on what else is run.

        >>> Settings(seed=1).rng("girdle").random() == Settings(seed=1).rng("girdle").random()
        True
        >>> Settings(seed=1).rng("girdle").random() == Settings(seed=2).rng("girdle").random()
        False
        """
        return np.random.default_rng([self.seed, replicate, *name.encode()])

    def choose(self, full: int, quick: int) -> int:
        """*quick* if the run is quick, otherwise *full*."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Outcome:
    """Text files by name, a function that draws the figure, and what was checked."""

    files: Mapping[str, str] = field(default_factory=dict)
    figure: Callable[[], Figure] | None = None
    checks: Sequence[Check] = ()
    laws: Sequence[Law] = ()


def stacked(curves: Iterable[FloatArray]) -> FloatArray:
    """Curves of equal length as the rows of one array."""
    return np.stack(list(curves))
