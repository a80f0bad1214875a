"""What an engine is: it makes an offer for the scales of one call, and answers for potentials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..arrays import FloatArray
from ..heat.sums import HeatSums
from ..measure import Measure
from ..progress import Progress
from ..scales import in_words
from ..transforms.base import Spectrum


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked: heat sums of a measure at some *times*, in increasing order, to a relative accuracy *rtol*.

    With *mmd2* the sums must be good enough for MMD^2 as well; `gess` does without.
    """

    measure: Measure
    times: FloatArray
    rtol: float
    mmd2: bool = True

    def scale(self, place: int) -> str:
        """One of the scales, in the words of a message."""
        return in_words(self.measure.space, float(self.times[place]))


class Answer(NamedTuple):
    """Heat sums, and the spectrum they come from where there is one, which gives them at other times too."""

    sums: HeatSums
    spectrum: Spectrum | None = None


class Offer(ABC):
    """One engine's offer to sum any contiguous range of the scales of a question; it keeps what it works out for it."""

    name: str

    @abstractmethod
    def seconds(self, first: int, end: int) -> float:
        """Rough seconds on two cores of the scales *first*, ..., *end* - 1; inf where the engine does not serve one."""

    def cost(self, first: int, end: int) -> float:
        """What the plan compares: the seconds, unless an answer is worth more or less than they say."""
        return self.seconds(first, end)

    @abstractmethod
    def run(self, part: slice, progress: Progress) -> Answer:
        """Heat sums at the scales of *part*."""


class Engine(ABC):
    """One way to sum overlaps."""

    name: str

    @abstractmethod
    def offer(self, question: Question) -> Offer | None:
        """An offer, or None where the space lacks a capability that the engine needs."""

    @abstractmethod
    def refusal(self, question: Question) -> Exception:
        """Why the engine, asked for by name, does not serve the scales of a question."""

    def potential(self, question: Question, at: NDArray[Any]) -> PotentialOffer | None:
        """An offer for f_t(y) = sum_j w_j s_t(y, x_j) at the points *at*; None where the engine does not serve it."""
        return None


class PotentialOffer(NamedTuple):
    """An offer to evaluate a potential: rough seconds, its absolute error as a share of its mean 1 / gESS, and how."""

    seconds: float
    error: float
    run: Callable[[Progress], FloatArray]
