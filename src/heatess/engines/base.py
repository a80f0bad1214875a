"""What is asked of an engine, and what it offers: seconds and errors for ranges of scales, and sums once it is run.

All sums of the library are one of three, with K the matrix of overlaps of the atoms at a time:

    heat sums   w' K w of one measure, its slope and its MMD^2;
    forms       v' K v of many columns v of signed weights;
    potentials  K w, at the atoms or elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.errors import PrecisionError
from ..base.progress import Progress
from ..heat.sums import HeatSums
from ..measures.measure import Measure
from ..measures.scales import in_words
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

    def unserved(self) -> Exception:
        """Why there is no answer, where no engine makes an offer."""
        return PrecisionError(
            f"no engine reaches rtol={self.rtol:g} at {self.scale(0)} on {self.measure.space!r}; give a larger rtol or "
            "coarser scales"
        )

    def too_long(self, wait: str) -> str:
        """What to do about sums that would take *wait*."""
        space = self.measure.space
        what = f"{self.measure.n:,} atoms on {space!r} at these scales would take {wait}; give coarser or fewer scales"
        if space.pair_kernel is None:
            return what
        number = "20_000_000" if space.series is not None else "1_000_000"
        return (
            f"{what}, or call heat_profile: with pairs={number} and rng= it estimates from random pairs, with "
            "method='pairwise' it takes its time"
        )


@dataclass(frozen=True, eq=False)
class FormsQuestion(Question):
    """v' C_t v of some *columns* of signed weights v at the points of a measure, whose own weights do not count.

    C_t holds the centred overlaps (see `engines.centred`); on spaces known by their nodes k_2t - 1, in a unit that
    depends on the time alone. *rtol* is the share of the kernel that may be left out, the same for all columns.
    """

    columns: int = 1


@dataclass(frozen=True, eq=False)
class PotentialQuestion(Question):
    """f_t(y) = sum_j w_j s_t(y, x_j) at the points *at*, or at the atoms if there are none.

    If it is *centred*, then with the centred overlap c_t in place of s_t, and the sums of squares over pairs of
    different atoms, sum w_i^2 w_j^2 c_t(x_i, x_j)^2, are wanted with it. Its accuracy is a share of the mean 1 / gESS.
    """

    at: NDArray[Any] | None = None
    centred: bool = False

    @property
    def places(self) -> NDArray[Any]:
        """Where it is wanted."""
        return self.measure.points if self.at is None else self.at


class Answer(NamedTuple):
    """Heat sums, and the spectrum they come from where there is one, which gives them at other times too."""

    sums: HeatSums
    spectrum: Spectrum | None = None


class Potentials(NamedTuple):
    """Potentials, shape (times, places), their absolute error as a share of the mean, and squares, shape (times,)."""

    values: FloatArray
    error: float
    squares: FloatArray | None = None


class Costed(ABC):
    """One engine's offer for any contiguous range of the scales of a question. No sum is run until it is asked for."""

    name: str

    @abstractmethod
    def seconds(self, first: int, end: int) -> float:
        """Rough seconds on two cores of the scales *first*, ..., *end* - 1; inf where the engine does not serve one."""

    def cost(self, first: int, end: int) -> float:
        """What the plan compares: the seconds, unless an answer is worth more or less than they say."""
        return self.seconds(first, end)


class Offer(Costed):
    """An offer of heat sums; it keeps what it works out for them."""

    @abstractmethod
    def run(self, part: slice, progress: Progress) -> Answer:
        """Heat sums at the scales of *part*."""


class FormsOffer(Costed):
    """An offer of quadratic forms. Columns come in blocks, which share all that depends on the points alone."""

    @abstractmethod
    def run(self, part: slice, columns: FloatArray, progress: Progress) -> FloatArray:
        """Forms of *columns*, shape (points, columns), at the scales of *part*: shape (columns, scales)."""


class PotentialOffer(Costed):
    """An offer of potentials, with a bound on their error where it is known beforehand."""

    error: float = 0.0

    @abstractmethod
    def run(self, part: slice, progress: Progress) -> Potentials:
        """Potentials at the scales of *part*."""


class Engine(ABC):
    """One way to sum overlaps. It makes an offer, or None where a space lacks what it needs."""

    name: str

    @abstractmethod
    def offer(self, question: Question) -> Offer | None:
        """An offer of heat sums."""

    @abstractmethod
    def refusal(self, question: Question) -> Exception:
        """Why the engine, asked for by name, does not serve the scales of a question."""

    def forms(self, question: FormsQuestion) -> FormsOffer | None:
        """An offer of quadratic forms."""
        return None

    def potentials(self, question: PotentialQuestion) -> PotentialOffer | None:
        """An offer of potentials."""
        return None
