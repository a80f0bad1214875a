"""Which engine runs at which scale: the cheapest that meets the tolerance.

Engines make offers; the plan cuts the scales, in increasing order, into contiguous ranges, and gives each to the offer
for which the total is least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, NamedTuple, NoReturn, TypeVar

import numpy as np

from ..base.arrays import FloatArray, one_of
from ..base.errors import CostError, PrecisionWarning, warn
from ..base.progress import Progress, announce, in_time
from ..heat.sums import HeatSums
from ..measures.measure import Measure
from ..transforms.base import Spectrum
from .base import Costed, Engine, Offer, PotentialQuestion, Question
from .boxes import Boxes
from .eigenpairs import Eigenmodes
from .lanczos import Flows
from .neighbours import Neighbours
from .pairs import Pairs
from .spectral import Spectral, quick_overlap

#: In order of preference: the first offer that is cheap is taken at once.
ENGINES: tuple[Engine, ...] = (Spectral(), Boxes(), Eigenmodes(), Flows(), Neighbours(), Pairs())

#: The one whose sums are good to rounding.
EXACT: tuple[Engine, ...] = (ENGINES[-1],)

METHODS = ("auto", "spectral", "pairwise", "local")

#: An offer of so few seconds is taken without comparing: for one scale, for a profile, and so much more for each atom.
CHEAP_GESS, CHEAP_PROFILE, CHEAP_ATOM = 3e-4, 3e-3, 1e-7

#: Places between scales where engines may take turns; a plan of so many seconds is worth a search among more.
FEW_SEAMS, MANY_SEAMS, WORTH_SEARCH = 6, 30, 0.1

#: Longest estimate, in seconds, that is run without being asked for by name.
PATIENCE = 1800.0

#: Seconds that whoever waits is told of.
WORTH_A_WORD = 4.0

#: What a message says to who would have to wait that long.
Words = Callable[[str], str]

C = TypeVar("C", bound=Costed)

#: Numbers of a spectrum up to which a result keeps it.
KEPT = 2**21


class Step(NamedTuple, Generic[C]):
    """One range of scales and the offer that sums it."""

    offer: C
    part: slice


class Outcome(NamedTuple):
    """Heat sums in the order of the times asked for, the names of what ran, and the spectrum of the coarsest scales."""

    sums: HeatSums
    method: str
    spectrum: Spectrum | None


def run(
    measure: Measure,
    times: FloatArray,
    rtol: float,
    method: str,
    progress: Progress,
    *,
    mmd2: bool = True,
    engines: tuple[Engine, ...] | None = None,
) -> Outcome:
    """Heat sums at all *times*."""
    order = np.argsort(times, kind="stable")
    steps, seconds = plan(Question(measure, times[order], rtol, mmd2), method, engines)
    if seconds > WORTH_A_WORD:
        announce(f"{measure.n:,} points on {measure.space!r}: about {in_time(seconds)}")
    answers = [step.offer.run(step.part, progress) for step in steps]
    sums = HeatSums.joined([answer.sums for answer in answers])[np.argsort(order)]
    spectrum = answers[-1].spectrum
    kept = spectrum if spectrum is not None and spectrum.size <= KEPT else None
    return Outcome(sums, "+".join(dict.fromkeys(step.offer.name for step in steps)), kept)


def plan(
    question: Question, method: str = "auto", engines: tuple[Engine, ...] | None = None
) -> tuple[list[Step[Offer]], float]:
    """The steps for the scales of a question, and their estimated seconds on two cores; or a `CostError`."""
    steps, seconds = _planned(question, method, engines or ENGINES)
    if seconds == math.inf:
        raise question.unserved()
    if method == "auto":
        afford(seconds, question.too_long, steps)
    return steps, seconds


def _planned(question: Question, method: str, engines: tuple[Engine, ...]) -> tuple[list[Step[Offer]], float]:
    one_of(method, "method", METHODS)
    count, cheap = len(question.times), CHEAP_PROFILE if question.mmd2 else CHEAP_GESS
    offered: list[tuple[Engine, Offer]] = []
    known, chosen = math.inf, [engine for engine in engines if method in ("auto", engine.name)]
    for engine in chosen:
        offer = engine.offer(question)
        if offer is not None:
            offered.append((engine, offer))
            if method == "auto" and not offer.least:
                known = min(known, offer.cost(0, count))
                if known < cheap + CHEAP_ATOM * question.measure.n:
                    return [Step(offer, slice(0, count))], offer.seconds(0, count)
    steps, seconds = cut([offer for _, offer in offered if offer.least < known], count)
    if seconds == math.inf and method != "auto":
        raise (offered[0][0] if offered else chosen[0]).refusal(question)
    return steps, seconds


def estimate(question: Question) -> float:
    """Rough seconds on two cores of what is asked; inf where no engine serves it."""
    if not isinstance(question, PotentialQuestion):
        return _planned(question, "auto", ENGINES)[1]
    found = [engine.potentials(question) for engine in ENGINES]
    return cut([offer for offer in found if offer is not None], len(question.times))[1]


def afford(seconds: float, words: Words, steps: Sequence[Step[C]] = ()) -> None:
    """A `CostError` for what takes longer than anybody waits, in the *words* of the caller or of the longest step."""
    if seconds > PATIENCE:
        wait = f"about {in_time(seconds)} on two cores"
        said = [(offer.seconds(part.start, part.stop), offer.too_long(wait)) for offer, part in steps]
        refuse(max(said, key=lambda own: own[0], default=(0.0, None))[1] or words(wait), seconds)


def refuse(message: str, seconds: float | None = None) -> NoReturn:
    """Raise the `CostError` of the whole library."""
    raise CostError(message, seconds=seconds)


@contextmanager
def advising(words: Words) -> Iterator[None]:
    """Other *words* for what takes too long in this block."""
    try:
        yield
    except CostError as error:
        afford(error.seconds or 0.0, words)
        raise


def cut(offers: Sequence[C], count: int) -> tuple[list[Step[C]], float]:
    """The ranges of least total cost, and their seconds; inf where there are none."""
    steps, cost = _cheapest(offers, _seams(count, FEW_SEAMS))
    if cost > WORTH_SEARCH:
        steps, cost = _cheapest(offers, _seams(count, MANY_SEAMS))
    seconds = math.inf if cost == math.inf else sum(offer.seconds(part.start, part.stop) for offer, part in steps)
    return steps, seconds


def _seams(count: int, most: int) -> list[int]:
    """Where ranges of *count* scales may begin and end: everywhere, or at so many evenly spread places."""
    return sorted({round(place) for place in np.linspace(0, count, min(count, most) + 1)})


def _cheapest(offers: Sequence[C], seams: list[int]) -> tuple[list[Step[C]], float]:
    """The ranges of least total cost: best[j] is the least cost of the scales before seam j."""
    if not offers:
        return [], math.inf
    best, last = [0.0] + [math.inf] * (len(seams) - 1), [(0, offers[0])] * len(seams)
    for end in range(1, len(seams)):
        for offer in offers:
            for first in range(end - 1, -1, -1):
                total = best[first] + offer.cost(seams[first], seams[end])
                if total < best[end]:
                    best[end], last[end] = total, (first, offer)
    steps: list[Step[C]] = []
    end = len(seams) - 1 if best[-1] < math.inf else 0
    while end:
        first, offer = last[end]
        steps.insert(0, Step(offer, slice(seams[first], seams[end])))
        end = first
    return steps, best[-1]


def overlap(measure: Measure, time: float, rtol: float) -> float:
    """1 / gESS at one time; the short way where the space has a cheap transform, as for a filter step."""
    if (quick := quick_overlap(measure, time, rtol)) is not None:
        return quick
    sums = run(measure, np.array([time]), rtol, "auto", Progress(False), mmd2=False).sums
    if sums.error[0] > 10 * rtol and measure.space.certified:  # that of a mesh is known to be larger
        warn(f"gESS is certain only to {sums.error[0]:.1e}, not to `rtol={rtol:g}`", PrecisionWarning)
    return float(sums.overlap[0])
