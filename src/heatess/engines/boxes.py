"""Flat space by Fourier transforms: a box around the atoms is a torus for all that they can see of each other.

On a torus of periods E_j + R, with E_j the sides of the box, every pair has its own distance, and all other images are
at least R away along some coordinate. So the sum over pairs and images there is that of flat space but for the
`bounds.log_share` of y = R^2 / 8t. The period is set by the coarsest scale and the modes by the finest, so that a
plan may want several boxes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..errors import InputError
from ..heat.bounds import exponent_for, log_share, truncation
from ..heat.sums import HeatSums
from ..progress import Progress
from ..transforms.torus import TorusTransform, diagonals
from .base import Answer, Engine, Offer, PotentialOffer, Question
from .spectral import accuracy, threads_for


class Boxes(Engine):
    """Open flat space in up to three dimensions."""

    name = "spectral"

    def offer(self, question: Question) -> Offer | None:
        """Where no coordinate closes and they are few."""
        return BoxOffer(question) if _open(question) else None

    def refusal(self, question: Question) -> Exception:
        """Too far apart for the modes that fit."""
        return InputError(
            f"{question.measure.space!r} has no fast transform at these scales; use method='pairwise' or 'auto'"
        )

    def potential(self, question: Question, at: NDArray[Any]) -> PotentialOffer | None:
        """On a torus that holds the atoms and the points *at*."""
        if not _open(question):
            return None
        measure, time, epsilon = question.measure, float(question.times[0]), accuracy(question.rtol)
        box = _Box.around(np.concatenate([_corners(measure.points), _corners(at)]), question)
        seconds = box.seconds(measure.n + len(at), time, time)
        if seconds == math.inf:
            return None
        torus = box.torus(time)
        degree = torus.degree_of(time, box.exponent) or 2.0

        def run(progress: Progress) -> FloatArray:
            threads = threads_for(measure.n, degree)
            found = torus.coefficients(measure.points - box.centre, measure.weights, degree, epsilon, threads)
            values = torus.potential(found, degree, time, at - box.centre, epsilon, threads_for(len(at), degree))
            return values * math.exp(float(box.images(torus, np.array([time]))[0][0]))

        return PotentialOffer(seconds, 8 * epsilon, run)


def _open(question: Question) -> bool:
    embedding = question.measure.space.embedding
    return embedding is not None and embedding.open and embedding.columns <= 3


def _corners(points: FloatArray) -> FloatArray:
    return np.stack([points.min(axis=0), points.max(axis=0)])


@dataclass(frozen=True, eq=False)
class _Box:
    """The box around some points, and the exponent y = R^2 / 8t = 2 lambda t of what is left out."""

    centre: FloatArray
    extents: FloatArray
    exponent: float

    @classmethod
    def around(cls, points: FloatArray, question: Question) -> _Box:
        low, high = points.min(axis=0), points.max(axis=0)
        share = truncation(question.rtol, question.measure.ess) / points.shape[1]
        with np.errstate(over="ignore"):
            return cls(low / 2 + high / 2, high - low, float(exponent_for(1, math.log(share))))

    def torus(self, coarsest: float) -> TorusTransform:
        """On which times up to *coarsest* look flat."""
        periods = [float(E) * (1 + 1e-9) + math.sqrt(8 * coarsest * self.exponent) for E in self.extents]
        return TorusTransform(tuple(periods))

    def seconds(self, n: int, finest: float, coarsest: float) -> float:
        """Rough seconds of a range of scales."""
        torus = self.torus(coarsest)
        if max(torus.periods) > 1e49 or min(torus.periods) < 1e-49:
            return math.inf
        degree = torus.degree_of(finest, self.exponent)
        return math.inf if degree is None else torus.seconds(n, degree)

    def images(self, torus: TorusTransform, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log of k_2t(x, x) on the torus over the same without images, prod_j T_j / sqrt(8 pi t), and its rate."""
        logs, rates = diagonals(times, torus.periods)
        flat = sum(np.log(T / np.sqrt(8 * math.pi * times)) for T in torus.periods)
        return logs - flat, rates


class BoxOffer(Offer):
    """One torus for the scales of a range."""

    name = "spectral"

    def __init__(self, question: Question) -> None:
        self._question, self._n = question, question.measure.n
        self._box = _Box.around(question.measure.support().points, question)

    def seconds(self, first: int, end: int) -> float:
        """Those of one torus for all scales of the range."""
        times = self._question.times
        return self._box.seconds(self._n, float(times[first]), float(times[end - 1]))

    def run(self, part: slice, progress: Progress) -> Answer:
        """The sums on the torus, without what images add to them."""
        times = self._question.times[part]
        measure, box, rtol = self._question.measure, self._box, self._question.rtol
        torus = box.torus(float(times[-1]))
        degree = torus.degree_of(float(times[0]), box.exponent)
        if degree is None:
            raise Boxes().refusal(self._question)
        points = measure.points - box.centre
        threads = threads_for(measure.n, degree)
        sums = torus.spectrum_of(points, measure.weights, degree, accuracy(rtol), rtol, threads).heat_sums(times)
        images, rate = box.images(torus, times)
        added = len(box.extents) * np.exp(log_share(1, box.exponent * times[-1] / times))
        slope = sums.slope + rate + len(box.extents) / 2
        return Answer(HeatSums.of_overlap(sums.overlap * np.exp(images), slope, sums.error + added, None))
