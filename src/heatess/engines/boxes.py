"""Flat space by Fourier transforms: a box around the atoms is a torus for all that they can see of each other.

On a torus of periods E_j + R, with E_j the sides of the box, every pair has its own distance, and all other images are
at least R away along some coordinate. So the sum over pairs and images there is that of flat space but for the
`bounds.log_share` of y = R^2 / 8t. The period is set by the coarsest scale and the modes by the finest, so that a
plan may want several boxes.

Where atoms leave a gap of more than R along a coordinate, as outliers do, the box need not hold it: what is beyond is
moved to a distance of R. Pairs across the gap are at least R apart before and after, and hold at most the same share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..errors import InputError
from ..heat.bounds import exponent_for, log_share, truncation
from ..heat.sums import HeatSums
from ..progress import Progress
from ..transforms.torus import TorusTransform, diagonals
from .base import Answer, Engine, Offer, PotentialOffer, Question
from .neighbours import without_gaps
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
        box = _Box.around(np.concatenate([_corners(measure.points), _corners(at)]), question, gaps=False)
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


#: Rows that tell whether a coordinate may have gaps, the share of the extent of a wide one, and gaps that are kept.
_ROWS, _WIDE, _MOST_GAPS = 1000, 0.05, 4096


class Gaps(NamedTuple):
    """The gaps between neighbours along one coordinate."""

    widest: FloatArray  #: in increasing order
    others: float  #: the sum of all narrower ones

    @classmethod
    def of(cls, x: FloatArray, low: float, high: float) -> Gaps | None:
        """None where wide gaps cannot make half of the extent.

        A few rows have wider gaps than all of them, so that they tell most clouds without sorting.
        """
        gaps = np.diff(np.sort(np.append(x[:: max(1, len(x) // _ROWS)], [low, high])))
        if not math.isfinite(high - low) or gaps[gaps > _WIDE * (high - low)].sum() < 0.5 * (high - low):
            return None
        ordered = np.sort(np.diff(np.sort(x)))
        if not len(ordered):
            return None
        return cls(ordered[-_MOST_GAPS:], float(ordered[:-_MOST_GAPS].sum()))


@dataclass(frozen=True, eq=False)
class _Box:
    """The box around some points, and the exponent y = R^2 / 8t = 2 lambda t of what is left out."""

    centre: FloatArray
    extents: FloatArray
    exponent: float
    gaps: list[Gaps | None]  # along each axis; None where they are not worth closing

    @classmethod
    def around(cls, points: FloatArray, question: Question, *, gaps: bool = True) -> _Box:
        low, high = points.min(axis=0), points.max(axis=0)
        share = truncation(question.rtol, question.measure.ess) / points.shape[1]
        with np.errstate(over="ignore"):
            centre, extents = low / 2 + high / 2, high - low
            found = [Gaps.of(x, *ends) if gaps else None for x, *ends in zip(points.T, low, high, strict=True)]
        return cls(centre, extents, float(exponent_for(1, math.log(share))), found)

    def reach(self, coarsest: float) -> float:
        """R, beyond which times up to *coarsest* see nothing."""
        return math.sqrt(8 * coarsest * self.exponent)

    def closes(self, axis: int, coarsest: float) -> bool:
        """Whether there is a gap along an axis that no pair sees across."""
        gaps = self.gaps[axis]
        return gaps is not None and bool(gaps.widest[-1] > self.reach(coarsest))

    def length(self, axis: int, coarsest: float) -> float:
        """The side of the box along an axis, without what is beyond R of each gap."""
        gaps = self.gaps[axis]
        if gaps is None or not self.closes(axis, coarsest):
            return float(self.extents[axis])
        # A sum of what stays: the extent less what goes would lose it in rounding.
        return gaps.others + float(np.minimum(gaps.widest, self.reach(coarsest)).sum())

    def moved(self, points: FloatArray, coarsest: float) -> tuple[FloatArray, bool]:
        """Points around zero, without those gaps, and whether there were any."""
        found, reach = points - self.centre, self.reach(coarsest)
        axes = [axis for axis in range(points.shape[1]) if self.closes(axis, coarsest)]
        for axis in axes:
            x = without_gaps(points[:, axis], reach)
            found[:, axis] = x - (float(x.min()) / 2 + float(x.max()) / 2)
        return found, bool(axes)

    def torus(self, coarsest: float) -> TorusTransform:
        """On which times up to *coarsest* look flat."""
        lengths = [self.length(axis, coarsest) for axis in range(len(self.extents))]
        return TorusTransform(tuple(length * (1 + 1e-9) + self.reach(coarsest) for length in lengths))

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
        self._question, self._atoms = question, question.measure.support()
        self._box = _Box.around(self._atoms.points, question)

    def seconds(self, first: int, end: int) -> float:
        """Those of one torus for all scales of the range."""
        times = self._question.times
        return self._box.seconds(self._atoms.n, float(times[first]), float(times[end - 1]))

    def run(self, part: slice, progress: Progress) -> Answer:
        """The sums on the torus, without what images add to them."""
        times = self._question.times[part]
        atoms, box, rtol = self._atoms, self._box, self._question.rtol
        torus = box.torus(float(times[-1]))
        degree = torus.degree_of(float(times[0]), box.exponent)
        if degree is None:
            raise Boxes().refusal(self._question)
        points, closed = box.moved(atoms.points, float(times[-1]))
        threads = threads_for(atoms.n, degree)
        sums = torus.spectrum_of(points, atoms.weights, degree, accuracy(rtol), rtol, threads).heat_sums(times)
        images, rate = box.images(torus, times)
        added = (3 if closed else 1) * len(box.extents) * np.exp(log_share(1, box.exponent * times[-1] / times))
        slope = sums.slope + rate + len(box.extents) / 2
        return Answer(HeatSums.of_overlap(sums.overlap * np.exp(images), slope, sums.error + added, None))
