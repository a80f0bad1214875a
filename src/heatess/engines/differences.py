"""MMD^2 of two measures: from heat sums, from coefficients, from eigenpairs, and from Lanczos runs.

The two share no place, and all but the first work out half of their difference, so that nothing cancels in a square.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from ..base.arrays import EPS, FloatArray
from ..base.blocks import slices
from ..base.progress import Progress
from ..heat.sums import LevelMoments, log_sum
from ..measures.measure import Measure
from ..spaces.capabilities import Modes
from ..spaces.flow import Flow
from ..transforms.base import Coefficients, LowSums, Spectrum, Transform
from ..transforms.levels import LevelSpectrum
from .base import Difference, DifferenceOffer, DifferenceQuestion, Engine, Offer, Question
from .centred_overlap import log_excess
from .diagonals import SOON, eigenpair_seconds
from .eigenpairs import BLOCK_ENTRIES, SUM_ROUNDING, OfModes, share_missing
from .lanczos_runs import log_energy, rounding_of
from .node_rounding import Energies, blur_of
from .spectral import AGAIN, Spectral, accuracy, threads_for

#: Logarithms of numbers that are zero in floating point.
UNDERFLOW = -745.0

#: Transforms of so few seconds are taken; heat sums that take no more are tried before longer ones, and others if they
#: are so many times quicker.
SECONDS_NOT_COMPARED, TIMES_QUICKER = 0.05, 20.0


class Powers(DifferenceOffer):
    """2 A_a + 2 A_b - 4 A_m, with m the mean of the two, each less one: what is small beside these is lost."""

    rank = 0

    def __init__(self, name: str, question: DifferenceQuestion, offers: list[Offer]) -> None:
        self.name, self._question, self._offers = name, question, offers

    @classmethod
    def of(cls, engine: Engine, question: DifferenceQuestion) -> Powers | None:
        """From the offers of an engine for the three measures; None where it has not got them."""
        points, weights = (
            np.concatenate([getattr(part, name) for part in question.parts]) for name in ("points", "weights")
        )
        mean = Measure.trusted(question.measure.space, points, weights / 2)
        found = [engine.offer(Question(part, question.times, question.rtol)) for part in (*question.parts, mean)]
        offers = [offer for offer in found if offer is not None]
        return cls(engine.name, question, offers) if len(offers) == 3 else None

    def seconds(self, first: int, end: int) -> float:
        """Of all three."""
        return sum(offer.seconds(first, end) for offer in self._offers)

    def cost(self, first: int, end: int) -> float:
        """More than the seconds: digits are lost."""
        seconds = self.seconds(first, end)
        return SECONDS_NOT_COMPARED if seconds < SECONDS_NOT_COMPARED else TIMES_QUICKER * seconds

    def run(self, part: slice, progress: Progress) -> Difference:
        """In units of the largest of the three."""
        sums = [offer.run(part, progress).sums for offer in self._offers]
        logs = np.array([one.log_mmd2 for one in sums])
        peak = logs.max(axis=0)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            terms = np.array([[2.0], [2.0], [4.0]]) * np.exp(logs - peak)
            difference = np.maximum(terms[0] + terms[1] - terms[2], 0.0)
            doubt = np.einsum("kt,kt->t", terms, [one.mmd2_error + 4 * EPS for one in sums])
            error = np.where(difference > 0, doubt / difference, np.inf)
            values = np.log(difference) + peak
        nothing, times = np.isneginf(peak), self._question.times[part]
        values = np.where(nothing, -np.inf, values)
        room = log_excess(self._question.measure, times, self._question.rtol)
        moved = moved_by(self._question.rounding.sum(), room, values)
        return Difference(values, np.where(nothing, 0.0, error + moved))


def moved_by(root_error: FloatArray | float, log_room: FloatArray, values: FloatArray) -> FloatArray:
    """What an error of the coefficients per unit of weight does to MMD^2, relatively.

    It moves MMD by at most that times sqrt(k_2t(x, x) - 1), the MMD of one atom: the triangle inequality.
    """
    with np.errstate(divide="ignore", over="ignore"):
        moved = np.log(root_error) + np.where(np.isneginf(log_room), UNDERFLOW, log_room) / 2
        share = np.exp(moved - values / 2)
        return np.asarray(2 * share + share**2)


class Transformed(NamedTuple):
    """Coefficients and low sums of one measure, and the log of the energy that they leave out at each time."""

    coefficients: Coefficients
    low_sums: LowSums
    log_left_out: FloatArray


class SpectralDifference(DifferenceOffer):
    """From half the difference of the coefficients, whose energies in each level are no more than those of one atom."""

    name = "spectral"

    def __init__(self, question: DifferenceQuestion, transform: Transform) -> None:
        self._question, self._transform = question, transform
        self._degree = cache(
            lambda place: transform.degree_for(float(question.times[place]), question.size, question.rtol)
        )

    def seconds(self, first: int, end: int) -> float:
        """Those of the transforms."""
        degree = self._degree(first)
        return math.inf if degree is None else self._transform.seconds(self._question.n, degree) + 1e-5 * (end - first)

    def run(self, part: slice, progress: Progress) -> Difference:
        """What truncation leaves out of it is no more than the larger of what it leaves out of the two."""
        question, transform, times = self._question, self._transform, self._question.times[part]
        rtol, space = question.rtol, question.measure.space
        degree = self._degree(part.start)
        if degree is None:
            raise Spectral().refusal(question)
        # An angle that is good to EPS turns a coefficient of level lambda by EPS sqrt(lambda), m / 4t at most in the
        # mean.
        turned = 8 * EPS * space.diameter * np.sqrt(space.dim / (4 * times))
        log_room = log_excess(question.measure, times, rtol)
        while True:
            left, right = (_transformed(transform, measure, degree, times, rtol) for measure in question.parts)
            half = (left.coefficients - right.coefficients) / 2
            values = _spectrum(transform, half, partial(_half, left, right), degree, rtol).heat_sums(times).log_mmd2
            with np.errstate(invalid="ignore"):
                missing = np.exp(np.minimum(np.maximum(left.log_left_out, right.log_left_out) - values, 700.0))
            missing = np.where(np.isneginf(values), 0.0, missing)
            more = 1.5 * degree + 1
            enough = not (missing > rtol).any()
            if enough or more > transform.most or transform.seconds(question.n, more) > AGAIN:
                error = missing + moved_by(accuracy(rtol) + turned + question.rounding.sum(), log_room, values)
                return Difference(values + math.log(4), error)
            degree = float(int(more))


def _transformed(transform: Transform, part: Measure, degree: float, times: FloatArray, rtol: float) -> Transformed:
    epsilon, low_sums = accuracy(rtol), cache(lambda: transform.low_sums(part.points, part.weights))
    found = transform.coefficients(part.points, part.weights, degree, epsilon, threads_for(part.n, degree))
    sums = transform.spectrum(found, low_sums, degree, epsilon, rtol).heat_sums(times)
    with np.errstate(divide="ignore"):
        return Transformed(found, low_sums, np.log(sums.missing) + sums.log_mmd2)


def _half(left: Transformed, right: Transformed) -> FloatArray:
    return np.asarray((left.low_sums() - right.low_sums()) / 2)


def _spectrum(
    transform: Transform, coefficients: Coefficients, low_sums: LowSums, degree: float, rtol: float
) -> Spectrum:
    """The spectrum of a measure of total weight zero, without what holds for total weight one alone."""
    epsilon = accuracy(rtol)
    if (levels := transform.by_levels) is not None:
        return LevelSpectrum(levels.series, LevelMoments(levels.moments(coefficients), root_error=epsilon))
    return transform.spectrum(coefficients, low_sums, degree, epsilon, rtol)


@dataclass(frozen=True, eq=False)
class ModesDifference(OfModes, DifferenceOffer):
    """From half the difference of the sums of eigenfunctions, where these are soon found or there is no other way."""

    question: DifferenceQuestion
    modes: Modes
    rank = 1

    def seconds(self, first: int, end: int) -> float:
        """Of the eigenpairs."""
        if self.question.measure.space.flow is None:
            return super().seconds(first, end)
        return 0.0 if eigenpair_seconds(self.modes, float(self.question.times[first])) <= SOON else math.inf

    def cost(self, first: int, end: int) -> float:
        """A little where there is no other way: powers of both are as good where they are certain enough."""
        return (
            min(self.seconds(first, end), 1.0) if self.question.measure.space.flow is None else self.seconds(first, end)
        )

    def run(self, part: slice, progress: Progress) -> Difference:
        """With the share of MMD^2 in the eigenpairs left out, at most."""
        question, modes, times = self.question, self.modes, self.question.times[part]
        pairs = modes.resolved(float(times[0]))
        values, rounding = pairs.values, pairs.rounding
        size = BLOCK_ENTRIES // len(values) + 1
        coefficients, rounded = np.zeros((2, len(values)))
        for measure, sign in zip(question.parts, (0.5, -0.5), strict=True):
            for rows in slices(measure.n, size):
                functions = pairs.at(measure.points[rows])
                coefficients += sign * (measure.weights[rows] @ functions)
                rounded += SUM_ROUNDING * (measure.weights[rows] @ np.abs(functions))
        for rows in slices(len(question.places), size):
            rounded += question.rounding[rows] @ np.abs(pairs.at(question.places[rows]))
        rates = 2 * np.multiply.outer(times, values)
        with np.errstate(divide="ignore"):
            logs = log_sum(2 * np.log(np.abs(coefficients[1:])) - rates[:, 1:])
        left, right = question.parts
        points, weights = np.concatenate([left.points, right.points]), np.concatenate([left.weights, -right.weights])
        energy = modes.energy(points, weights / 2)
        energies = Energies(values[1:], np.abs(coefficients[1:]), rounded[1:], math.sqrt(energy))
        error = share_missing(modes, rates, energy, logs)
        error += energies.errors(times, logs, rounding, blur_of(values, times, rounding)[:, 1:])
        return Difference(logs + math.log(4), error)


class FlowDifference(DifferenceOffer):
    """From half the difference of the functionals of the two."""

    name = "lanczos"

    def __init__(self, question: DifferenceQuestion, flow: Flow, modes: Modes) -> None:
        self._question, self._flow, self._modes = question, flow, modes

    def seconds(self, first: int, end: int) -> float:
        """Never so long as eigenpairs."""
        return 1e-3

    def run(self, part: slice, progress: Progress) -> Difference:
        """One run for all scales."""
        question, flow, functionals = self._question, self._flow, self._modes.functionals
        vector, rounding = np.zeros(flow.size), flow.longest(abs(functionals(question.places)).T @ question.rounding)
        for measure, sign in zip(question.parts, (0.5, -0.5), strict=True):
            starts = functionals(measure.points)
            vector += starts.T @ (sign * measure.weights)
            rounding += rounding_of(flow, starts, measure.weights / 2)
        logs, error = log_energy(flow, vector, rounding, question.times[part], question.rtol)
        return Difference(logs + math.log(4), error)
