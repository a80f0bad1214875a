"""Heat sums and potentials through the coefficients of the measure, in linear time."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import one_blas_thread, share_out, slices, thread_count, threads
from ..base.errors import InputError, PrecisionError
from ..base.progress import Progress
from ..heat.bounds import tolerance_leaving
from ..heat.series import level_probabilities
from ..measures.measure import Measure
from ..transforms.base import Coefficients, Forms, Transform
from .base import (
    Answer,
    DifferenceOffer,
    DifferenceQuestion,
    Engine,
    FormsOffer,
    FormsQuestion,
    Kept,
    LevelFormsQuestion,
    LevelsOffer,
    LevelsQuestion,
    Offer,
    PotentialOffer,
    PotentialQuestion,
    Potentials,
    Question,
    SlopesOffer,
    SlopesQuestion,
    made,
)
from .centred_overlap import diagonal_of, log_excess

#: A transform may be repeated with a higher degree, for a balanced cloud, if it takes so many seconds at most.
AGAIN = 1.0

#: A transform of `gess` that is estimated at so few seconds is run without asking for other offers.
SECONDS_WITHOUT_ASKING = 8e-4


#: Columns of signed weights are transformed in at least so many parts, and up to so many times what goes together.
SHARES, SIDE_BY_SIDE = 2, 8

#: Signed weights that transforms want at once, 128 MB of them.
COLUMN_ENTRIES = 2**24

#: Forms of columns of signed weights.
ColumnForms = Callable[[FloatArray, Progress], FloatArray]

#: Seconds, and more for each atom, that coefficients which serve many questions may take without counting.
SHARED, SHARED_ATOM = 5.0, 3e-6


class Spectral(Engine):
    """The transform of a space."""

    name = "spectral"

    def offer(self, question: Question) -> Offer | None:
        """Any scales that the degree of the transform can serve."""
        return made(SpectralOffer, question, question.measure.space.transform)

    def refusal(self, question: Question) -> Exception:
        """No transform, or a scale too fine for it."""
        space = question.measure.space
        if space.transform is None:
            return InputError(f"{space!r} has no fast transform; use `method='pairwise'` or 'auto'")
        most = space.transform.most
        return PrecisionError(
            f"`method='spectral'` at {question.scale(0)} needs a degree above the limit of {most:g} on {space!r}; use "
            "`method='auto'`",
            finest=_finest(space.transform, question),
        )

    def forms(self, question: FormsQuestion) -> FormsOffer | None:
        """One transform a column serves all scales."""
        return made(SpectralForms, question, question.measure.space.transform)

    def potentials(self, question: PotentialQuestion) -> PotentialOffer | None:
        """By the adjoint transform."""
        return made(SpectralPotentials, question, question.measure.space.transform)

    def differences(self, question: DifferenceQuestion) -> DifferenceOffer | None:
        """By the difference of the coefficients."""
        from .differences import SpectralDifference

        return made(SpectralDifference, question, question.measure.space.transform)

    def levels(self, question: LevelsQuestion) -> LevelsOffer | None:
        """Where levels are known one by one."""
        from .levels import LatticeLevels, TransformLevels

        transform, levels = question.measure.space.transform, question.measure.space.level_transform
        if levels is not None:
            return TransformLevels(question, levels)
        return None if transform is None or not transform.mode_limit else LatticeLevels(question, transform)

    def level_forms(self, question: LevelFormsQuestion) -> FormsOffer | None:
        """One transform a column, where levels may be left out."""
        from .levels import TransformLevelForms

        transform = question.measure.space.level_transform
        return None if transform is None or question.exact else TransformLevelForms(question, transform)

    def slopes(self, question: SlopesQuestion) -> SlopesOffer | None:
        """By the transforms of weights times coordinates."""
        from .slopes import TransformSlopes

        space = question.measure.space
        transform, kernel, series = space.level_transform, space.zonal, space.of_sphere
        if transform is None or kernel is None or series is None:
            return None
        return TransformSlopes(question, transform, kernel, series)


def _finest(transform: Transform, question: Question) -> float:
    """The finest time that the transform certifies, to two per cent."""

    def served(time: float) -> bool:
        return transform.degree_for(time, question.measure.ess, question.rtol) is not None

    low = high = float(question.times[0])
    while not served(high):
        low, high = high, 4 * high
    while high > 1.02 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if served(middle) else (middle, high)
    return high


def accuracy(rtol: float) -> float:
    """What is asked of a transform per unit of weight.

    An error e in the coefficients moves gESS by about 2 e sqrt(gESS) relatively; 1e-4 of *rtol*, at most, covers gESS
    up to 10^6 with room to spare.
    """
    return min(max(1e-4 * rtol, 3e-13), 1e-6)


def column_accuracy(rtol: float) -> float:
    """The same for signed weights: errors of points with random signs add up as forms of chance do.

    So an error e moves forms by about 2 e relatively; a hundredth of what is left out of the kernel is enough.
    """
    return min(max(1e-2 * rtol, 1e-11), 1e-6)


def threads_for(n: int, degree: float) -> int:
    """One thread where several would cost more than they bring."""
    return 1 if n * 64 + (degree + 1) ** 3 < 6_000_000 else thread_count()


def coefficients_of(measure: Measure, transform: Transform, degree: float, rtol: float) -> Coefficients:
    """Those of a measure, good enough for gESS to *rtol*."""
    how = accuracy(rtol), threads_for(measure.n, degree)
    return transform.coefficients(measure.points, np.ascontiguousarray(measure.weights), degree, *how)


class SpectralOffer(Offer):
    """One transform, to the degree that the finest scale needs, serves all coarser ones."""

    name = "spectral"

    def __init__(self, question: Question, transform: Transform) -> None:
        self._question, self._transform = question, transform
        self._degree, self._cost = cache(self._needed), cache(self._transform_seconds)

    def _needed(self, place: int) -> float | None:
        question = self._question
        time = float(question.times[place])
        return self._transform.degree_for(time, question.measure.ess, question.rtol, mmd2=question.mmd2)

    def seconds(self, first: int, end: int) -> float:
        """That of the transform, and a little for each scale."""
        return self._cost(first) + 1e-5 * (end - first)

    def _transform_seconds(self, first: int) -> float:
        degree = self._degree(first)
        return math.inf if degree is None else self._transform.seconds(self._question.measure.n, degree)

    def run(self, part: slice, progress: Progress) -> Answer:
        """A balanced cloud, whose MMD^2 turns out to need a higher degree, is transformed again if that is cheap."""
        question, transform = self._question, self._transform
        measure, times, epsilon = question.measure, question.times[part], accuracy(question.rtol)
        degree = self._degree(part.start)
        if degree is None:
            raise Spectral().refusal(question)
        while True:
            threads = threads_for(measure.n, degree)
            spectrum = transform.spectrum_of(measure.points, measure.weights, degree, epsilon, question.rtol, threads)
            sums = spectrum.heat_sums(times)
            more = 1.5 * degree + 1
            enough = not question.mmd2 or not (sums.missing > question.rtol).any()
            if enough or more > transform.most or transform.seconds(measure.n, more) > AGAIN:
                return Answer(sums, spectrum)
            degree = float(int(more))


class SpectralForms(FormsOffer):
    """Columns side by side, each on one thread; what depends on the points alone is worked out once."""

    name = "spectral"
    at_once = COLUMN_ENTRIES

    def __init__(self, question: FormsQuestion, transform: Transform) -> None:
        self._question, self._transform = question, transform
        tolerance = tolerance_leaving(question.rtol)
        self._degree = cache(lambda place: transform.degree_for(float(question.times[place]), 1.0, tolerance))
        self._forms = cache(self._made)

    def seconds(self, first: int, end: int) -> float:
        """Those of the transforms."""
        degree = self._degree(first)
        return math.inf if degree is None else column_seconds(self._transform, self._question, degree)

    def run(self, part: slice, columns: FloatArray, progress: Progress) -> FloatArray:
        """v' C_t v from the coefficients of v."""
        return self._forms(part.start, part.stop)(columns, progress)

    def _made(self, first: int, end: int) -> ColumnForms:
        question, times, degree = self._question, self._question.times[first:end], self._degree(first)
        if degree is None:
            raise Spectral().refusal(question)
        points, epsilon = question.measure.points, column_accuracy(question.rtol)
        sums = self._transform.forms_of(degree, times, log_excess(question.measure, times, question.rtol))
        return column_forms(self._transform, sums, points, degree, epsilon)


def column_seconds(transform: Transform, question: FormsQuestion, degree: float) -> float:
    """Rough seconds on two cores of `column_forms`."""
    return question.columns * transform.column_seconds(question.measure.n, degree)


def column_forms(
    transform: Transform, of_coefficients: Forms, points: NDArray[Any], degree: float, epsilon: float
) -> ColumnForms:
    """Forms of signed weights from their coefficients, good to *epsilon* per unit of weight; shape (columns, forms)."""
    of_columns = transform.of_columns(points, degree, epsilon)

    def forms(columns: FloatArray, progress: Progress) -> FloatArray:
        found: list[FloatArray] = [np.zeros(0)] * columns.shape[1]

        def fill(_: int, some: slice) -> None:
            with threads(1):
                for row, own in enumerate(of_columns(columns[:, some]), some.start):
                    size = float(np.abs(columns[:, row]).sum()) or 1.0
                    found[row] = size**2 * of_coefficients(own / size)

        count, together = columns.shape[1], transform.together
        work = list(slices(count, together * min(max(1, count // (SHARES * together)), SIDE_BY_SIDE)))
        with one_blas_thread(), progress.meter(len(work), "columns") as advance:
            for batch in slices(len(work), 16):
                share_out(work[batch], fill, thread_count())
                advance(batch.stop - batch.start)
        return np.stack(found)

    return forms


class SpectralPotentials(PotentialOffer):
    """One transform of the weights, one of their squares if these are wanted, and a synthesis for each scale."""

    name = "spectral"

    def __init__(self, question: PotentialQuestion, transform: Transform) -> None:
        self._question, self._transform = question, transform
        self.error = 8 * accuracy(question.rtol)
        self._degree = cache(self._needed)

    def _needed(self, place: int) -> float | None:
        question = self._question
        time = float(question.times[place])
        return self._transform.degree_for(time, question.measure.ess, question.rtol, mmd2=question.centred)

    def seconds(self, first: int, end: int) -> float:
        """Of all transforms and syntheses."""
        degree, question = self._degree(first), self._question
        if degree is None:
            return math.inf
        n, places, times = question.measure.n, len(question.places), end - first + int(question.centred)
        total = self._transform.potential_seconds(n, places, degree, times)
        own = 0.0 if question.kept is None else self._transform.seconds(n, degree)
        return total - own if own <= SHARED + SHARED_ATOM * n else total

    def run(self, part: slice, progress: Progress) -> Potentials:
        """f_t, and for squares the energies of w^2."""
        question, times, degree = self._question, self._question.times[part], self._degree(part.start)
        if degree is None:
            raise Spectral().refusal(question)
        measure, transform, epsilon = question.measure, self._transform, accuracy(question.rtol)
        w, at = np.ascontiguousarray(measure.weights), question.places
        degree, found = self._coefficients(degree)
        plain = found if not question.centred else transform.without_mean(found)
        values = transform.potentials(plain, degree, times, at, epsilon, threads_for(len(at), degree))
        if not question.centred:
            return Potentials(values, self.error)
        diagonal, own = diagonal_of(measure, times, question.rtol), float(w @ w)
        values /= diagonal.rest[:, None]
        if float(np.ptp(w)) > 0:
            how = epsilon, threads_for(measure.n, degree)
            found = transform.coefficients(measure.points, w * w / own, degree, *how)
        total, single = transform.square_sums(found, degree, times, diagonal.log_excess)
        return Potentials(values, self.error, own**2 * total - float((w * w) @ (w * w)) * single)

    def _coefficients(self, degree: float) -> tuple[float, Coefficients]:
        """To this degree, or to a higher one that is known already."""
        question, kept = self._question, self._question.kept or Kept()
        if kept.coefficients is None or kept.degree < degree:
            kept.degree = degree
            kept.coefficients = coefficients_of(question.measure, self._transform, degree, question.rtol)
        return kept.degree, kept.coefficients


def quick_overlap(measure: Measure, time: float, rtol: float) -> float | None:
    """1 / gESS at one time by a transform to levels so cheap that no other engine is asked, as for a filter step."""
    transform = measure.space.level_transform
    if transform is None:
        return None
    degree = transform.degree_for(time, measure.ess, rtol, mmd2=False)
    if degree is None or transform.seconds(measure.n, degree) > SECONDS_WITHOUT_ASKING + 6e-8 * measure.n:
        return None
    found = coefficients_of(measure, transform, degree, rtol)
    return float(level_probabilities(transform.series, time, int(degree) + 1) @ transform.moments(found))
