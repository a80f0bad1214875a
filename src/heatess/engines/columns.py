"""All questions but that of a profile, put to the cheapest offers: forms, potentials, differences, levels, slopes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import slices
from ..base.errors import PrecisionError, PrecisionWarning, warn
from ..base.progress import Progress, announce, in_time
from ..measures.measure import Measure, distinct_rows
from . import plan
from .base import (
    BEST,
    Costed,
    Difference,
    DifferenceQuestion,
    Engine,
    FormsOffer,
    FormsQuestion,
    Kept,
    LevelFormsQuestion,
    Levels,
    LevelsQuestion,
    PotentialOffer,
    PotentialQuestion,
    Potentials,
    Question,
    SlopesQuestion,
)
from .differences import SECONDS_NOT_COMPARED

#: Makes so many more columns of signed weights, shape (places, columns).
Draw = Callable[[int], FloatArray]

#: Columns of a block, at least and at most.
COLUMNS_OF_BLOCK = 16, 4096

#: Seconds that a second way to MMD^2, which keeps more digits, may take.
SECONDS_OF_SECOND_WAY = 60.0


C = TypeVar("C", bound=Costed)


def _offers(
    question: Question, ask: Callable[[Engine], C | None], engines: tuple[Engine, ...] | None, seconds: float = 0.0
) -> list[C]:
    """All offers; or the first that is cheap, or takes fewer than some *seconds*, if none may do better."""
    cheap, offers, count = plan.CHEAP_PROFILE + plan.CHEAP_ATOM * question.measure.n, [], len(question.times)
    for engine in engines or plan.ENGINES:
        offer = ask(engine)
        if offer is not None:
            if offer.rank == BEST and offer.cost(0, count) < max(cheap, seconds):
                return [offer]
            offers.append(offer)
    return offers


def _steps(
    question: Question, ask: Callable[[Engine], C | None], words: plan.Words | None, engines: tuple[Engine, ...] | None
) -> tuple[list[plan.Step[C]], float]:
    """The cheapest offers for all scales, and their seconds; or an error, in these *words* if they take too long."""
    return _cheapest(question, _offers(question, ask, engines), words)


def _cheapest(question: Question, offers: list[C], words: plan.Words | None) -> tuple[list[plan.Step[C]], float]:
    steps, seconds = plan.cut(offers, len(question.times))
    if seconds == math.inf:
        raise question.unserved()
    plan.afford(seconds, words or question.too_long, steps)
    return steps, seconds


def forms(
    question: FormsQuestion,
    draw: Draw,
    progress: Progress,
    words: plan.Words,
    engines: tuple[Engine, ...] | None = None,
) -> FloatArray:
    """v' C_t v of the columns that *draw* makes, some at a time, shape (columns, times)."""
    return _drawn(question, _steps(question, lambda engine: engine.forms(question), words, engines)[0], draw, progress)


def level_forms(
    question: LevelFormsQuestion, draw: Draw, words: plan.Words, engines: tuple[Engine, ...] | None = None
) -> FloatArray:
    """v' H v of the columns that *draw* makes, shape (columns, kernels)."""
    steps = _steps(question, lambda engine: engine.level_forms(question), words, engines)[0]
    return _drawn(question, steps, draw, Progress(False))


def _drawn(question: FormsQuestion, steps: list[plan.Step[FormsOffer]], draw: Draw, progress: Progress) -> FloatArray:
    """Blocks of columns through all steps."""
    rows, at_once = [], max(offer.at_once for offer, _ in steps)
    for block in slices(question.columns, int(np.clip(at_once // question.measure.n, *COLUMNS_OF_BLOCK))):
        columns = draw(block.stop - block.start)
        found = [offer.run(part, columns, progress) for offer, part in steps]
        rows.append(np.maximum(np.concatenate(found, axis=1), 0.0))
    return np.concatenate(rows)


def potentials(
    question: PotentialQuestion, progress: Progress, words: plan.Words, engines: tuple[Engine, ...] | None = None
) -> Potentials:
    """Potentials by the cheapest offers among those whose error is small beside the mean, 1 / gESS."""
    label, modes = None, question.measure.space.modes
    if modes is not None:
        question, label = _place_by_place(question)

    def good(engine: Engine) -> PotentialOffer | None:
        offer = engine.potentials(question)
        return None if offer is None or offer.error > question.rtol else offer

    try:
        steps, seconds = _steps(question, good, words, engines)
    except PrecisionError:
        steps, seconds = _steps(question, lambda engine: engine.potentials(question), words, engines)
    if seconds > plan.WORTH_A_WORD:
        what = f"{len(question.places):,} potentials of {question.measure.n:,} points"
        announce(f"{what}: about {in_time(seconds)}")
    answers = [offer.run(part, progress) for offer, part in steps]
    squares = [answer.squares for answer in answers if answer.squares is not None]
    error = max(answer.error for answer in answers)
    known = 0.0 if modes is None else float(modes.discretisation_error(question.times)[0])  # of a mesh, larger
    if error > max(10 * question.rtol, known):
        warn(
            f"the potential is certain only to {error:.1e} of its mean, not to `rtol={question.rtol:g}`",
            PrecisionWarning,
        )
    values = np.concatenate([answer.values for answer in answers])
    values = values if label is None else values[:, label]
    return Potentials(values, error, np.concatenate(squares) if squares else None)


def _place_by_place(question: PotentialQuestion) -> tuple[PotentialQuestion, IntArray]:
    """The same on nodes, which often have many points each, with one point a place; and the place of each."""
    measure = question.measure
    label, first = distinct_rows(np.ascontiguousarray(measure.points) + 0.0)
    masses = np.bincount(label, measure.weights).astype(np.float64)
    own = Measure.trusted(measure.space, measure.points[first], masses)
    if question.at is None:
        return replace(question, measure=own), label
    label, first = distinct_rows(np.ascontiguousarray(question.at) + 0.0)
    return replace(question, measure=own, at=question.at[first]), label


def differences(question: DifferenceQuestion, enough: float, engines: tuple[Engine, ...] | None = None) -> Difference:
    """MMD^2 by the cheapest offers; where their error is not *enough*, by others that can do better, if they do."""
    offers = _offers(question, lambda engine: engine.differences(question), engines, SECONDS_NOT_COMPARED)
    steps, _ = _cheapest(question, offers, None)
    count = len(question.times)
    answer, rank = Difference(*np.empty((2, count))), np.zeros(count, dtype=np.int64)
    for offer, part in steps:
        answer.values[part], answer.error[part] = offer.run(part, Progress(False))
        rank[part] = offer.rank
    for offer in sorted(offers, key=lambda offer: offer.rank):
        for first, last in _runs((answer.error > enough) & (rank < offer.rank)):
            if offer.seconds(first, last) <= SECONDS_OF_SECOND_WAY:
                again, part = offer.run(slice(first, last), Progress(False)), slice(first, last)
                better = again.error < answer.error[part]
                for column, other in zip(answer, again, strict=True):
                    column[part] = np.where(better, other, column[part])
                rank[part] = offer.rank
    return answer


def _runs(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First places of runs of what is chosen, and those after their last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def levels(question: LevelsQuestion, words: plan.Words, engines: tuple[Engine, ...] | None = None) -> Levels:
    """Level moments by the cheapest offer."""
    [(offer, part)], _ = _steps(question, lambda engine: engine.levels(question), words, engines)
    return offer.run(part, Progress(False))


def level_seconds(question: LevelsQuestion) -> float:
    """Rough seconds on two cores of `levels`."""
    return _steps(question, lambda engine: engine.levels(question), lambda wait: wait, None)[1]


def slopes(question: SlopesQuestion, words: plan.Words, engines: tuple[Engine, ...] | None = None) -> FloatArray:
    """Gradients of the potential at the atoms of a unit sphere, before they are made tangential, shape (n, d)."""
    [(offer, part)], _ = _steps(question, lambda engine: engine.slopes(question), words, engines)
    if offer.error > 10 * question.rtol:
        doubt = f"only to {offer.error:.1e}, not to `rtol={question.rtol:g}`"
        warn(f"the gradient by points is certain {doubt}", PrecisionWarning)
    return offer.run(part, Progress(False))


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
    kept: Kept | None = None,
) -> FloatArray:
    """sum_j w_j s_t(y, x_j) at points *at*."""
    where = None if at is measure.points else at
    question = PotentialQuestion(measure, np.array([time]), rtol, mmd2=False, at=where, kept=kept)

    def too_long(wait: str) -> str:
        return (
            f"potentials of {measure.n:,} points on {measure.space!r} at {len(at):,} places would take {wait}; give "
            "fewer places, or fewer points, chosen at random"
        )

    return np.asarray(potentials(question, progress, words or too_long, engines).values[0])
