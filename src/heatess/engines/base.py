"""What is asked of an engine, and what it offers: seconds and errors for ranges of scales, and sums once it is run.

All sums of the library are one of these, with K the matrix of overlaps of the atoms at a time:

    heat sums    w' K w of one measure, its slope and its MMD^2;
    differences  (w - v)' K (w - v) of two measures, to a relative accuracy of its own;
    forms        v' K v of many columns v of signed weights;
    potentials   K w, at the atoms or elsewhere, and slopes, the gradients of that at the atoms;
    levels       the same as heat sums and forms with one level of the Laplacian, or any weights of them, in place of K.

An engine must offer heat sums; from these differences follow. The others are up to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.errors import InputError, PrecisionError
from ..base.progress import Progress
from ..heat.sums import HeatSums
from ..measures.measure import Measure
from ..measures.scales import in_words
from ..spaces.capabilities import ZonalPairs
from ..transforms.base import Coefficients, Spectrum

Asked = TypeVar("Asked")
Capability = TypeVar("Capability")
Made = TypeVar("Made")


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
            f"no engine reaches `rtol={self.rtol:g}` at {self.scale(0)} on {self.measure.space!r}; give a larger "
            "`rtol` or coarser scales"
        )

    def too_long(self, wait: str) -> str:
        """What to do about sums that would take *wait*."""
        space = self.measure.space
        what = f"{self.measure.n:,} points on {space!r} at these scales would take {wait}; give coarser or fewer scales"
        if space.pair_kernel is None:
            return what
        number = "20_000_000" if space.series is not None else "1_000_000"
        return (
            f"{what}, or call `heat_profile`: with `pairs={number}` and `rng=` it estimates from random pairs, with "
            "`method='pairwise'` it takes its time"
        )


@dataclass(frozen=True, eq=False)
class FormsQuestion(Question):
    """v' C_t v of some *columns* of signed weights v at the points of a measure, whose own weights do not count.

    C_t holds the centred overlaps (see `engines.centred_overlap`); on spaces known by their nodes k_2t - 1, in a unit
    that depends on the time alone. *rtol* is the share of the kernel that may be left out, the same for all columns.
    """

    columns: int = 1


class Kept:
    """Coefficients of a measure to some degree, for questions about it that follow each other."""

    degree: float = -1.0
    coefficients: Coefficients | None = None


@dataclass(frozen=True, eq=False)
class PotentialQuestion(Question):
    """f_t(y) = sum_j w_j s_t(y, x_j) at the points *at*, or at the atoms if there are none.

    If it is *centred*, then with the centred overlap c_t in place of s_t, and the sums of squares over pairs of
    different atoms, sum w_i^2 w_j^2 c_t(x_i, x_j)^2, are wanted with it. Its accuracy is a share of the mean 1 / gESS.
    Where many such questions follow each other, what depends on the measure alone is *kept* for them.
    """

    at: NDArray[Any] | None = None
    centred: bool = False
    kept: Kept | None = None

    @property
    def places(self) -> NDArray[Any]:
        """Where it is wanted."""
        return self.measure.points if self.at is None else self.at


@dataclass(frozen=True, eq=False)
class DifferenceQuestion(Question):
    """MMD^2 of *measure* and *other*, which share no place, relative to its own size, however small that is.

    *rounding* is that of the weight at each of some *places*, those of both measures among them.
    """

    other: Measure = field(kw_only=True)
    places: NDArray[Any] = field(kw_only=True)
    rounding: FloatArray = field(kw_only=True)

    @property
    def parts(self) -> tuple[Measure, Measure]:
        """Both measures."""
        return self.measure, self.other

    @property
    def n(self) -> int:
        """Number of atoms of both."""
        return self.measure.n + self.other.n

    @property
    def size(self) -> float:
        """The ESS of independent draws that would be as far from uniform as half the difference of the two is."""
        return 4 / (1 / self.measure.ess + 1 / self.other.ess)


@dataclass(frozen=True, eq=False)
class LevelsQuestion(Question):
    """Level moments of a measure in the *count* lowest levels. They are one range, with no time of its own."""

    count: int = field(kw_only=True)

    @classmethod
    def of(cls, measure: Measure, count: int, rtol: float) -> LevelsQuestion:
        """For so many levels."""
        return cls(measure, np.zeros(1), rtol, count=count)

    def unserved(self) -> Exception:
        """Why the space has no levels, or not so many."""
        space, count = self.measure.space, self.count
        if space.zonal is not None:
            most = most_levels(space.zonal)
            return InputError(
                f"`max_degree` may be <+{most - 1} at most+> on {space!r}, but is <!{count - 1}!>; give less"
            )
        if not space.compact:
            why = "its volume is infinite and its spectrum continuous, so there are no levels"
        elif space.transform is not None and space.transform.mode_limit:
            needs = f"more than {space.transform.mode_limit:,} Fourier modes"
            return InputError(f"`max_degree={count - 1}` on {space!r} needs <!{needs}!>; give less")
        elif space.transform is not None:
            why = "the levels of its factors mix; take the power spectrum of each factor"
        else:
            why = "its levels have too many modes to sum one by one, or are not known"
        return InputError(f"there is no power spectrum on {space!r}: {why}")


#: Levels up to which sums over pairs serve: what makes levels of cosines is a matrix, but on circles nothing is needed.
MOST_LEVELS, MOST_ON_CIRCLES = 2**13, 2**20


def most_levels(kernel: ZonalPairs) -> int:
    """Levels that sums over pairs can have."""
    return MOST_ON_CIRCLES if kernel.series.dim == 1 else MOST_LEVELS


class ZonalKernels(NamedTuple):
    """Kernels that depend on the distance alone: sum_l f_l P_l(d) over the levels l >= 1 for each row f of *factors*.

    In the levels that are left out an atom meets only itself, with the factor *beyond*. `of_distance` gives the same
    kernels, one after the other, at an array of distances; *seconds* are what it takes for one pair.
    """

    factors: FloatArray  # (kernels, levels)
    beyond: FloatArray  # (kernels,)
    of_distance: Callable[[FloatArray], Iterable[FloatArray]]
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class LevelFormsQuestion(FormsQuestion):
    """v' H v for some kernels H that depend on the distance alone. With *exact* kernels no level may be left out."""

    kernels: ZonalKernels = field(kw_only=True)
    exact: bool = field(kw_only=True, default=False)


@dataclass(frozen=True, eq=False)
class SlopesQuestion(Question):
    """sum_j w_j (d s_t / du)(x_i, x_j) x_j at the atoms of a unit sphere, with u the cosine of the distance.

    It is asked at one time, where the *mean* potential is 1 / gESS.
    """

    mean: float = field(kw_only=True)


class Answer(NamedTuple):
    """Heat sums, and the spectrum they come from where there is one, which gives them at other times too."""

    sums: HeatSums
    spectrum: Spectrum | None = None


class Potentials(NamedTuple):
    """Potentials, shape (times, places), their absolute error as a share of the mean, and squares, shape (times,)."""

    values: FloatArray
    error: float
    squares: FloatArray | None = None


class Difference(NamedTuple):
    """Logarithm of MMD^2 at each time, and bounds on the relative error of MMD^2."""

    values: FloatArray
    error: FloatArray


class Levels(NamedTuple):
    """Eigenvalues of the lowest levels, logarithms of their multiplicities N_l, and moments b_l = B_l / N_l."""

    eigenvalues: FloatArray
    log_multiplicities: FloatArray
    moments: FloatArray


#: The rank of offers whose answers are as certain as any.
BEST = 2


class Costed(ABC):
    """One engine's offer for any contiguous range of the scales of a question. No sum is run until it is asked for."""

    name: str

    #: Seconds that it takes at least, estimate included: it is not asked for one where another offer takes less.
    least: float = 0.0

    #: Where the error of an answer is above the tolerance, offers of a higher rank may do better.
    rank: int = BEST

    @abstractmethod
    def seconds(self, first: int, end: int) -> float:
        """Rough seconds on two cores of the scales *first*, ..., *end* - 1; inf where the engine does not serve one."""

    def cost(self, first: int, end: int) -> float:
        """What the plan compares: the seconds, unless an answer is worth more or less than they say."""
        return self.seconds(first, end)

    def too_long(self, wait: str) -> str | None:
        """What to do about an answer that would take *wait*, where the offer knows it better than who asks."""
        return None


class Offer(Costed):
    """An offer of heat sums; it keeps what it works out for them."""

    @abstractmethod
    def run(self, part: slice, progress: Progress) -> Answer:
        """Heat sums at the scales of *part*."""


class FormsOffer(Costed):
    """An offer of quadratic forms. Columns come in blocks, which share all that depends on the points alone."""

    #: Signed weights that come at once, 512 MB of them: the more, the fewer times overlaps are worked out.
    at_once: int = 2**26

    @abstractmethod
    def run(self, part: slice, columns: FloatArray, progress: Progress) -> FloatArray:
        """Forms of *columns*, shape (points, columns), at the scales of *part*: shape (columns, scales)."""


class PotentialOffer(Costed):
    """An offer of potentials, with a bound on their error where it is known beforehand."""

    error: float = 0.0

    @abstractmethod
    def run(self, part: slice, progress: Progress) -> Potentials:
        """Potentials at the scales of *part*."""


class DifferenceOffer(Costed):
    """An offer of MMD^2 of two measures."""

    @abstractmethod
    def run(self, part: slice, progress: Progress) -> Difference:
        """MMD^2 at the scales of *part*."""


class LevelsOffer(Costed):
    """An offer of level moments."""

    @abstractmethod
    def run(self, part: slice, progress: Progress) -> Levels:
        """All of them."""


class SlopesOffer(Costed):
    """An offer of slopes, with a bound on their error."""

    error: float = 0.0

    @abstractmethod
    def run(self, part: slice, progress: Progress) -> FloatArray:
        """At all atoms, shape (n, d)."""


def made(kind: Callable[[Asked, Capability], Made], question: Asked, capability: Capability | None) -> Made | None:
    """An offer of some *kind*, or None where the space lacks the capability that it needs."""
    return None if capability is None else kind(question, capability)


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

    def differences(self, question: DifferenceQuestion) -> DifferenceOffer | None:
        """An offer of MMD^2 of two measures: from the heat sums of each and of their mean, if there is no better."""
        from .differences import Powers

        return Powers.of(self, question)

    def levels(self, question: LevelsQuestion) -> LevelsOffer | None:
        """An offer of level moments."""
        return None

    def level_forms(self, question: LevelFormsQuestion) -> FormsOffer | None:
        """An offer of quadratic forms with kernels that depend on the distance alone."""
        return None

    def slopes(self, question: SlopesQuestion) -> SlopesOffer | None:
        """An offer of slopes at the atoms of a unit sphere."""
        return None
