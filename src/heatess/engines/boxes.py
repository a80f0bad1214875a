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
from functools import cache
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..base.progress import Progress
from ..heat.bounds import exponent_for, log_share, truncation
from ..heat.sums import HeatSums
from ..measures.measure import Measure
from ..transforms.torus import TorusTransform, diagonals
from .base import (
    Answer,
    Engine,
    FormsOffer,
    FormsQuestion,
    Offer,
    PotentialOffer,
    PotentialQuestion,
    Potentials,
    Question,
)
from .neighbours import without_gaps
from .spectral import COLUMN_ENTRIES, ColumnForms, accuracy, column_accuracy, column_forms, threads_for


class Boxes(Engine):
    """Open flat space in up to three dimensions."""

    name = "spectral"

    def offer(self, question: Question) -> Offer | None:
        """Where no coordinate closes and they are few."""
        return BoxOffer(question) if _open(question) else None

    def refusal(self, question: Question) -> Exception:
        """Too far apart for the modes that fit."""
        return InputError(
            f"{question.measure.space!r} has no fast transform at these scales; use `method='pairwise'` or 'auto'"
        )

    def forms(self, question: FormsQuestion) -> FormsOffer | None:
        """On a torus that holds the points."""
        return BoxForms(question) if _open(question) else None

    def potentials(self, question: PotentialQuestion) -> PotentialOffer | None:
        """On a torus that holds the atoms and the points where it is wanted."""
        return BoxPotentials(question) if _open(question) else None


def _open(question: Question) -> bool:
    embedding = question.measure.space.embedding
    return embedding is not None and embedding.open and embedding.columns <= 3


def _corners(points: FloatArray) -> FloatArray:
    return np.stack([points.min(axis=0), points.max(axis=0)])


#: Rows that tell whether a coordinate may have gaps, the share of the extent of a wide one, and gaps that are kept.
_ROWS_LOOKED_AT, _WIDE, _MOST_GAPS = 1000, 0.05, 4096


class Gaps(NamedTuple):
    """The gaps between neighbours along one coordinate."""

    widest: FloatArray  #: in increasing order
    others: float  #: the sum of all narrower ones

    @classmethod
    def of(cls, x: FloatArray, low: float, high: float) -> Gaps | None:
        """None where wide gaps cannot make half of the extent.

        A few rows have wider gaps than all of them, so that they tell most clouds without sorting.
        """
        gaps = np.diff(np.sort(np.append(x[:: max(1, len(x) // _ROWS_LOOKED_AT)], [low, high])))
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
    def around(cls, points: FloatArray, share: float, *, gaps: bool = True) -> _Box:
        """For sums of which this *share* may be left out."""
        low, high = points.min(axis=0), points.max(axis=0)
        with np.errstate(over="ignore"):
            centre, extents = low / 2 + high / 2, high - low
            found = [Gaps.of(x, *ends) if gaps else None for x, *ends in zip(points.T, low, high, strict=True)]
        return cls(centre, extents, float(exponent_for(1, math.log(share / points.shape[1]))), found)

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

    def torus_for(self, times: FloatArray, question: Question) -> tuple[TorusTransform, float]:
        """The torus of a range of scales, and the degree that the finest of them needs."""
        torus = self.torus(float(times[-1]))
        degree = torus.degree_of(float(times[0]), self.exponent)
        if degree is None:
            raise Boxes().refusal(question)
        return torus, degree

    def seconds(self, n: int, finest: float, coarsest: float, *, columns: bool = False) -> float:
        """Rough seconds of a range of scales, or those of one of many columns."""
        torus = self.torus(coarsest)
        if max(torus.periods) > 1e49 or min(torus.periods) < 1e-49:
            return math.inf
        degree = torus.degree_of(finest, self.exponent)
        if degree is None:
            return math.inf
        return torus.column_seconds(n, degree) if columns else torus.seconds(n, degree)

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
        self._box = _Box.around(self._atoms.points, truncation(question.rtol, question.measure.ess))

    def seconds(self, first: int, end: int) -> float:
        """Those of one torus for all scales of the range."""
        times = self._question.times
        return self._box.seconds(self._atoms.n, float(times[first]), float(times[end - 1]))

    def run(self, part: slice, progress: Progress) -> Answer:
        """The sums on the torus, without what images add to them."""
        times = self._question.times[part]
        atoms, box, rtol = self._atoms, self._box, self._question.rtol
        torus, degree = box.torus_for(times, self._question)
        points, closed = box.moved(atoms.points, float(times[-1]))
        threads = threads_for(atoms.n, degree)
        sums = torus.spectrum_of(points, atoms.weights, degree, accuracy(rtol), rtol, threads).heat_sums(times)
        images, rate = box.images(torus, times)
        added = (3 if closed else 1) * len(box.extents) * np.exp(log_share(1, box.exponent * times[-1] / times))
        slope = sums.slope + rate + len(box.extents) / 2
        return Answer(HeatSums.of_overlap(sums.overlap * np.exp(images), slope, sums.error + added, None))


class BoxForms(FormsOffer):
    """The forms on a torus around the points, which is a kernel as good as that of flat space for all columns."""

    name = "spectral"
    at_once = COLUMN_ENTRIES

    def __init__(self, question: FormsQuestion) -> None:
        self._question, self._forms = question, cache(self._made)
        self._box = _Box.around(question.measure.points, question.rtol)

    def seconds(self, first: int, end: int) -> float:
        """Those of the transforms on the torus of the coarsest scale."""
        question, times = self._question, self._question.times
        each = self._box.seconds(question.measure.n, float(times[first]), float(times[end - 1]), columns=True)
        return question.columns * each

    def run(self, part: slice, columns: FloatArray, progress: Progress) -> FloatArray:
        """With k = 0, which is a part of the overlap in flat space."""
        forms, constant = self._forms(part.start, part.stop)
        return np.asarray(forms(columns, progress) + np.multiply.outer(columns.sum(axis=0) ** 2, constant))

    def _made(self, first: int, end: int) -> tuple[ColumnForms, FloatArray]:
        question, box, times = self._question, self._box, self._question.times[first:end]
        torus, degree = box.torus_for(times, question)
        points, _ = box.moved(question.measure.points, float(times[-1]))
        flat = diagonals(times, torus.periods)[0] - box.images(torus, times)[0]
        sums = torus.forms_of(degree, times, flat)
        return column_forms(torus, sums, points, degree, column_accuracy(question.rtol)), np.exp(-flat)


class BoxPotentials(PotentialOffer):
    """Potentials on a torus around atoms and places; s_t^2 is the overlap at half the time."""

    name = "spectral"

    def __init__(self, question: PotentialQuestion) -> None:
        self._question, self.error = question, 8 * accuracy(question.rtol)
        points, at = question.measure.points, question.places
        corners = points if at is points else np.concatenate([_corners(points), _corners(at)])
        share = truncation(question.rtol, question.measure.ess) / question.measure.ess  # that of one atom, or less
        self._box = _Box.around(corners, share, gaps=at is points)

    def seconds(self, first: int, end: int) -> float:
        """A transform, and one for each scale; with squares, for all of them one more to half the time."""
        times, n, places = self._question.times, self._question.measure.n, len(self._question.places)
        finest, coarsest = float(times[first]), float(times[end - 1])
        total = self._box.seconds(n, finest, coarsest) + (end - first) * self._box.seconds(places, finest, coarsest)
        return total + (self._box.seconds(n, finest / 2, coarsest) if self._question.centred else 0.0)

    def run(self, part: slice, progress: Progress) -> Potentials:
        """Without what images add."""
        question, box, times = self._question, self._box, self._question.times[part]
        measure, epsilon = question.measure, accuracy(question.rtol)
        torus, degree = box.torus_for(times, question)
        points, _ = box.moved(measure.points, float(times[-1]))
        at = points if question.places is measure.points else question.places - box.centre
        how = epsilon, threads_for(measure.n, degree)
        found = torus.coefficients(points, measure.weights, degree, *how)
        values = torus.potentials(found, degree, times, at, epsilon, threads_for(len(at), degree))
        values *= np.exp(box.images(torus, times)[0])[:, None]
        squares = self._squares(part) if question.centred else None
        return Potentials(values, self.error, squares)

    def _squares(self, part: slice) -> FloatArray:
        """sum over i != j of w_i^2 w_j^2 s_t(x_i, x_j)^2."""
        measure, times = self._question.measure, self._question.times[part] / 2
        squares = np.square(measure.weights)
        own = float(squares.sum())
        weighted = Measure.trusted(measure.space, measure.points, squares / own)
        sums = BoxOffer(Question(weighted, times, self._question.rtol)).run(slice(None), Progress(False)).sums
        return np.asarray(own**2 * sums.overlap - float(squares @ squares))
