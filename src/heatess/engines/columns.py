"""Forms and potentials, V' K V and K w, by the cheapest offers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import slices
from ..base.errors import PrecisionWarning, warn
from ..base.progress import Progress, announce, in_time
from ..measures.measure import Measure
from . import plan
from .base import Engine, FormsQuestion, PotentialQuestion, Potentials

#: Makes so many more columns of signed weights, shape (places, columns).
Draw = Callable[[int], FloatArray]

#: Signed weights held at once, 512 MB of them, and most columns of a block.
ENTRIES, MOST = 2**26, 4096


def forms(
    question: FormsQuestion,
    draw: Draw,
    progress: Progress,
    words: plan.Words,
    engines: tuple[Engine, ...] | None = None,
) -> FloatArray:
    """v' C_t v of the columns that *draw* makes, some at a time, shape (columns, times)."""
    places, count = question.measure.n, question.columns
    found = [engine.forms(question) for engine in engines or plan.ENGINES]
    steps, seconds = plan.cut([offer for offer in found if offer is not None], len(question.times))
    if seconds == math.inf:
        raise question.unserved()
    plan.afford(seconds, words)
    values = np.empty((count, len(question.times)))
    for block in slices(count, min(max(ENTRIES // places, 16), MOST)):
        columns = draw(block.stop - block.start)
        for offer, part in steps:
            values[block, part] = np.maximum(offer.run(part, columns, progress), 0.0)
    return values


def potentials(
    question: PotentialQuestion, progress: Progress, words: plan.Words, engines: tuple[Engine, ...] | None = None
) -> Potentials:
    """Potentials by the cheapest offers among those whose error is small beside the mean, 1 / gESS."""
    found = [engine.potentials(question) for engine in engines or plan.ENGINES]
    offers = [offer for offer in found if offer is not None]
    steps, seconds = plan.cut([offer for offer in offers if offer.error <= question.rtol], len(question.times))
    if seconds == math.inf:
        steps, seconds = plan.cut(offers, len(question.times))
    if seconds == math.inf:
        raise question.unserved()
    plan.afford(seconds, words)
    if seconds > plan.WORTH_A_WORD:
        what = f"{len(question.places):,} potentials of {question.measure.n:,} atoms"
        announce(f"{what}: about {in_time(seconds)}")
    answers = [offer.run(part, progress) for offer, part in steps]
    squares = [answer.squares for answer in answers if answer.squares is not None]
    error = max(answer.error for answer in answers)
    modes = question.measure.space.modes
    known = 0.0 if modes is None else float(modes.discretisation_error(question.times)[0])  # of a mesh, larger
    if error > max(10 * question.rtol, known):
        warn(
            f"the potential is certain only to {error:.1e} of its mean, not to rtol={question.rtol:g}", PrecisionWarning
        )
    values = np.concatenate([answer.values for answer in answers])
    return Potentials(values, error, np.concatenate(squares) if squares else None)


def potentials_within(
    question: PotentialQuestion, seconds: float, engines: tuple[Engine, ...] | None = None
) -> Potentials | None:
    """Potentials at all scales by one engine that reaches the tolerance in so many seconds; None if there is none."""
    count = len(question.times)
    for engine in engines or plan.ENGINES:
        offer = engine.potentials(question)
        if offer is not None and offer.error < question.rtol and offer.seconds(0, count) <= seconds:
            return offer.run(slice(0, count), Progress(False))
    return None


def potential(
    measure: Measure,
    time: float,
    rtol: float,
    at: NDArray[Any],
    progress: Progress,
    words: plan.Words | None = None,
    engines: tuple[Engine, ...] | None = None,
) -> FloatArray:
    """sum_j w_j s_t(y, x_j) at points *at*."""
    where = None if at is measure.points else at
    question = PotentialQuestion(measure, np.array([time]), rtol, mmd2=False, at=where)

    def too_long(wait: str) -> str:
        return (
            f"potentials of {measure.n:,} atoms on {measure.space!r} at {len(at):,} points would take {wait}; give "
            "fewer points, or fewer atoms, chosen at random"
        )

    return np.asarray(potentials(question, progress, words or too_long, engines).values[0])
