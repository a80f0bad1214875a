"""How many pairs are close, estimated from some of them: what neighbour sums cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..measures.measure import Measure
from ..spaces.capabilities import Embedding

#: Sampled rows on each side: so few of a small cloud that the estimate costs less than what it saves.
_SAMPLED_ROWS, _ROWS_OF_LARGE, _LARGE = 100, 400, 50_000

#: Sampled pairs from which their number is trusted.
_ENOUGH = 100

#: Coordinates that cells are made of.
_AXES = 3


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Pairs of atoms within a straight-line distance of each other in the coordinates of an embedding."""

    n: int
    dim: int
    axes: int  # coordinates that cells are made of
    sampled: int  # pairs looked at
    chords: FloatArray  # their straight-line distances, increasing
    shadows: FloatArray  # the largest differences in the first coordinates, which is what cells see; increasing

    @classmethod
    def of(cls, measure: Measure, embedding: Embedding) -> PairCounts:
        """Two disjoint sets of evenly spread rows, and all pairs between them."""
        rows = [measure.points[part] for part in sampled_rows(measure.n)]
        axes, kernel = min(embedding.columns, _AXES), measure.space.zonal
        if embedding.columns > 8 and kernel is not None:
            chords = embedding.chord(kernel.distances(*(kernel.rows(part) for part in rows)))
            shadows = squares = chords**2
        else:
            left, right = (embedding.coordinates(part) for part in rows)
            squares, shadows = _by_axes(left, right, embedding.periods, axes)
            images = embedding.images(right, math.inf)[0]
            for image in images.reshape(-1, *right.shape):
                opposite, other = _by_axes(left, image, None, axes)
                shadows = np.where(squares < opposite, shadows, other)
                squares = np.minimum(squares, opposite)
        found = (np.sort(np.sqrt(part).ravel()) for part in (squares, shadows))
        return cls(measure.n, embedding.dim, axes, squares.size, *found)

    def within(self, chord: float) -> float:
        """Pairs i < j closer than *chord*."""
        return self._count(self.chords, chord, self.dim)

    def seen_within(self, chord: float) -> float:
        """Pairs i < j that differ by no more than *chord* in the first coordinates."""
        return self._count(self.shadows, chord, min(self.dim, self.axes))

    def _count(self, sample: FloatArray, chord: float, dim: int) -> float:
        """Of all atoms; below the sample's resolution by the volume of a ball."""
        found = int(np.searchsorted(sample, chord))
        share = found / self.sampled
        if found < _ENOUGH < len(sample) and sample[_ENOUGH - 1] > chord:
            share = _ENOUGH / self.sampled * (chord / float(sample[_ENOUGH - 1])) ** dim
        return float(0.5 * self.n**2 * max(share, 1 / self.n**2))


def _by_axes(
    left: FloatArray, right: FloatArray, periods: FloatArray | None, axes: int
) -> tuple[FloatArray, FloatArray]:
    """Squared distances of all pairs, and the square of the largest difference in the widest *axes* coordinates."""
    widest = np.argsort(-np.ptp(left, axis=0), kind="stable") if periods is not None else np.arange(left.shape[1])
    squares, shadows = np.zeros((2, len(left), len(right)))
    for place, axis in enumerate(widest):
        with np.errstate(over="ignore"):
            gaps = np.abs(left[:, axis, None] - right[:, axis])
            if periods is not None and np.isfinite(periods[axis]):
                gaps = np.minimum(gaps, periods[axis] - gaps)
            gaps *= gaps
        squares += gaps
        if place < axes:
            np.maximum(shadows, gaps, out=shadows)
    return squares, shadows


def sampled_rows(n: int) -> tuple[IntArray, NDArray[np.int64]]:
    """Two disjoint sets of evenly spread rows."""
    most = _SAMPLED_ROWS if n < _LARGE else _ROWS_OF_LARGE
    rows = np.unique(np.linspace(0, n - 1, min(n, 2 * most)).astype(int))
    return rows[::2], rows[1::2] if len(rows) > 1 else rows
