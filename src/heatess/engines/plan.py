"""Which engine runs at which scale: the cheapest that meets the tolerance.

Engines make offers; the plan cuts the scales, in increasing order, into contiguous ranges, and gives each to the offer
for which the total is least.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, one_of
from ..errors import CostError, PrecisionError, PrecisionWarning, warn
from ..heat.sums import HeatSums
from ..measure import Measure
from ..progress import Progress, announce
from ..transforms.base import Spectrum
from .base import Engine, Offer, PotentialOffer, Question
from .boxes import Boxes
from .flows import Flows
from .modes import Eigenmodes
from .neighbours import Neighbours
from .pairs import Pairs
from .spectral import Spectral, quick_overlap

#: In order of preference: the first offer that is cheap is taken at once.
ENGINES: tuple[Engine, ...] = (Spectral(), Boxes(), Eigenmodes(), Flows(), Neighbours(), Pairs())

METHODS = ("auto", "spectral", "pairwise", "local")

#: An offer of so few seconds is taken without comparing: for one scale, for a profile, and so much more for each atom.
CHEAP_GESS, CHEAP_PROFILE, CHEAP_ATOM = 3e-4, 3e-3, 1e-7

#: Places between scales where engines may take turns; a plan of so many seconds is worth a search among more.
FEW_SEAMS, MANY_SEAMS, WORTH_SEARCH = 6, 30, 0.1

#: Longest estimate, in seconds, that is run without being asked for by name.
PATIENCE = 1800.0

#: Seconds that whoever waits is told of.
WORTH_A_WORD = 4.0

#: Numbers of a spectrum up to which a result keeps it.
KEPT = 2**21


class Step(NamedTuple):
    """One range of scales and the offer that sums it."""

    offer: Offer
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
    engines: tuple[Engine, ...] = ENGINES,
) -> Outcome:
    """Heat sums at all *times*."""
    order = np.argsort(times, kind="stable")
    steps, seconds = plan(Question(measure, times[order], rtol, mmd2), method, engines)
    if seconds > WORTH_A_WORD:
        announce(f"{measure.n:,} atoms on {measure.space!r}: about {_wait(seconds)}")
    answers = [step.offer.run(step.part, progress) for step in steps]
    sums = HeatSums.joined([answer.sums for answer in answers])[np.argsort(order)]
    spectrum = answers[-1].spectrum
    kept = spectrum if spectrum is not None and spectrum.size <= KEPT else None
    return Outcome(sums, "+".join(dict.fromkeys(step.offer.name for step in steps)), kept)


def plan(question: Question, method: str = "auto", engines: tuple[Engine, ...] = ENGINES) -> tuple[list[Step], float]:
    """The steps for the scales of a question, and their estimated seconds on two cores."""
    one_of(method, "method", METHODS)
    count, cheap = len(question.times), CHEAP_PROFILE if question.mmd2 else CHEAP_GESS
    cheap += CHEAP_ATOM * question.measure.n
    offered: list[tuple[Engine, Offer]] = []
    chosen = [engine for engine in engines if method in ("auto", engine.name)]
    for engine in chosen:
        offer = engine.offer(question)
        if offer is not None:
            offered.append((engine, offer))
            if method == "auto" and offer.cost(0, count) < cheap:
                return [Step(offer, slice(0, count))], offer.seconds(0, count)
    offers = [offer for _, offer in offered]
    steps, cost = _cheapest(offers, _seams(count, FEW_SEAMS))
    if cost > WORTH_SEARCH:
        steps, cost = _cheapest(offers, _seams(count, MANY_SEAMS))
    if cost == math.inf and method != "auto":
        raise (offered[0][0] if offered else chosen[0]).refusal(question)
    if cost == math.inf:
        raise PrecisionError(
            f"no engine reaches rtol={question.rtol:g} at {question.scale(0)} on {question.measure.space!r}; give a "
            "larger rtol or coarser scales"
        )
    seconds = sum(step.offer.seconds(step.part.start, step.part.stop) for step in steps)
    if method == "auto" and seconds > PATIENCE:
        raise CostError(_too_expensive(question, seconds), seconds=seconds)
    return steps, seconds


def _seams(count: int, most: int) -> list[int]:
    """Where ranges of *count* scales may begin and end: everywhere, or at so many evenly spread places."""
    return sorted({round(place) for place in np.linspace(0, count, min(count, most) + 1)})


def _cheapest(offers: list[Offer], seams: list[int]) -> tuple[list[Step], float]:
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
    steps: list[Step] = []
    end = len(seams) - 1 if best[-1] < math.inf else 0
    while end:
        first, offer = last[end]
        steps.insert(0, Step(offer, slice(seams[first], seams[end])))
        end = first
    return steps, best[-1]


def _too_expensive(question: Question, seconds: float) -> str:
    space = question.measure.space
    what = (
        f"{question.measure.n:,} atoms on {space!r} at these scales would take about {_wait(seconds)} on two cores; "
        "give coarser or fewer scales"
    )
    if space.pair_kernel is None:
        return what
    number = "20_000_000" if space.series is not None else "1_000_000"
    return (
        f"{what}, or call heat_profile: with pairs={number} and rng= it estimates from random pairs, with "
        "method='pairwise' it takes its time"
    )


def _wait(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} hours" if seconds > 7200 else f"{seconds / 60:.0f} minutes"


def overlap(measure: Measure, time: float, rtol: float) -> float:
    """1 / gESS at one time; the short way where the space has a cheap transform, as for a filter step."""
    quick = quick_overlap(measure, time, rtol)
    if quick is not None:
        return quick
    sums = run(measure, np.array([time]), rtol, "auto", Progress(False), mmd2=False).sums
    if sums.error[0] > 10 * rtol and measure.space.certified:  # that of a mesh is known to be larger
        warn(f"gESS is certain only to {sums.error[0]:.1e}, not to rtol={rtol:g}", PrecisionWarning)
    return float(sums.overlap[0])


def potential(measure: Measure, time: float, rtol: float, at: NDArray[Any], progress: Progress) -> FloatArray:
    """sum_j w_j s_t(y, x_j) at points *at*: the cheapest offer whose error is small beside the mean, 1 / gESS."""
    question = Question(measure, np.array([time]), rtol, mmd2=False)
    found = [engine.potential(question, at) for engine in ENGINES]
    offers = [offer for offer in found if offer is not None]
    good = [offer for offer in offers if offer.error <= rtol] or offers
    best: PotentialOffer = min(good, key=lambda offer: offer.seconds)
    if best.seconds > WORTH_A_WORD:
        announce(f"{len(at):,} potentials of {measure.n:,} atoms: about {_wait(best.seconds)}")
    if best.seconds > PATIENCE:
        raise CostError(
            f"potentials of {measure.n:,} atoms on {measure.space!r} at {len(at):,} points would take about "
            f"{_wait(best.seconds)} on two cores; give fewer points, or fewer atoms, chosen at random",
            seconds=best.seconds,
        )
    modes = measure.space.modes
    known = 0.0 if modes is None else float(modes.discretisation_error(question.times)[0])  # of a mesh, larger
    if best.error > max(10 * rtol, known):
        warn(f"the potential is certain only to {best.error:.1e} of its mean, not to rtol={rtol:g}", PrecisionWarning)
    return best.run(progress)
