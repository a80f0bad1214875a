"""What each engine costs, in seconds on two cores; only the ratios matter.

Measured with `benchmarks/run.py` on 2 cores with 512-bit vectors: the transform at n = 10^6 and
L = 1000 to 4096, pairs at n = 4000 to 20,000 in 10 to 1536 dimensions, neighbours at n = 10^6 and
alpha = 0.02 to 0.3 degrees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..measure import Measure
from ..spaces.base import FloatArray, ZonalSpace
from .local import FEW_COLUMNS

IntArray = NDArray[np.int64]

#: A transform with this many levels costs milliseconds: no need to compare.
CHEAP_LEVELS = 512

#: A transform of so few seconds is run without comparing, where there is MMD^2, which it tells best.
CHEAP_TRANSFORM = 0.05

#: A transform that takes longer than this, in seconds, has to be worth it.
DEAR_TRANSFORM = 0.02

#: So few atoms that all pairs cost milliseconds.
FEW_ATOMS = 2000

#: Longest estimate, in seconds, that is run without being asked for by name.
PATIENCE = 1800.0

_PAIR = 5e-9  # one pair distance put into its bin
_PRODUCT = 1.4e-11  # one coordinate of one inner product
_CLOSE_PAIR = 1.4e-9  # one pair of neighbours
_CANDIDATE = 8e-10  # one pair in neighbouring cells, most of them looked at in vain
_CELL_REACH = 1.25  # of the cut-off: how far apart, on average, candidates may be along an axis
_CLOSE_COORDINATE = 2e-9  # one coordinate of one close pair, when found by going through all pairs
_SORTED = 8e-8  # one atom put into its cell
_ENOUGH = 100  # sampled pairs from which their number is trusted
_COMPILED = 0.3  # loading the compiled loop


def pairs_are_cheaper(measure: Measure, space: ZonalSpace, count: int) -> bool:
    """Whether the transform is slow enough to matter, as on rotations, and all pairs cost less."""
    seconds = space.transform_cost(measure.n, count)
    return seconds > DEAR_TRANSFORM and level_seconds(measure, space, count, "pairwise") < seconds


def level_seconds(measure: Measure, space: ZonalSpace, count: int, by_levels: str) -> float:
    """Cost of level moments, "spectral" or "pairwise"."""
    if by_levels == "spectral":
        return space.transform_cost(measure.n, count)
    return float(0.5 * measure.n**2 * (_PAIR + _PRODUCT * measure.points.shape[1]))


@dataclass(frozen=True, eq=False)
class Neighbours:
    """How many pairs lie within a distance, estimated from the pairs of some 1,200 evenly spread rows."""

    n: int
    dim: int
    columns: int
    chord: Callable[[float], float]  # straight-line distance in the cells' coordinates
    sampled: int
    distances: FloatArray  # distances of the sampled pairs, the least of them in increasing order
    shadows: FloatArray  # the same in the coordinates that cells are made of, the largest of the three

    @classmethod
    def of(cls, measure: Measure, space: ZonalSpace, within: float) -> Neighbours:
        """Sample two disjoint sets of rows, to count pairs closer than *within* or less."""
        n, columns = measure.n, measure.points.shape[1]
        left, right = _sampled_rows(n)
        tiles = [space.tile(measure.points[part], slice(None)) for part in (left, right)]
        distances = np.arccos(space.tile_cosines(*tiles).ravel())
        shadows = distances
        if columns <= FEW_COLUMNS:
            one, two = (space.embed(measure.points[part]).T[:3] for part in (left, right))
            apart = np.abs(one[:, :, None] - two[:, None])  # (coordinate, left, right)
            shadows = np.maximum.reduce(list(apart)).ravel()
        kept = [_least(sample, _CELL_REACH * within) for sample in (distances, shadows)]
        return cls(n, space.dim, columns, lambda r: float(space.chord(min(r, space.diameter))), len(distances), *kept)

    @classmethod
    def flat(cls, measure: Measure, periods: FloatArray, within: float) -> Neighbours:
        """The same in Cartesian coordinates, some of them periodic."""
        left, right = (measure.points[rows] for rows in _sampled_rows(measure.n))
        square, shadows = np.zeros((2, len(left), len(right)))
        spread = measure.points.min(axis=0) / 2 - measure.points.max(axis=0) / 2
        for place, axis in enumerate(np.argsort(spread, kind="stable")):
            gaps = np.abs(left[:, None, axis] - right[None, :, axis])
            gaps = np.minimum(gaps, periods[axis] - gaps)
            with np.errstate(over="ignore"):
                square += gaps**2
            if place < 3:
                np.maximum(shadows, gaps, out=shadows)
        kept = [_least(sample.ravel(), _CELL_REACH * within) for sample in (np.sqrt(square), shadows)]
        columns = measure.points.shape[1]
        return cls(measure.n, columns, columns, float, square.size, *kept)

    def pairs(self, distance: float) -> float:
        """Pairs i < j closer than *distance*."""
        return self._count(self.distances, distance, self.dim)

    def seconds(self, distance: float) -> float:
        """Cost of summing all pairs closer than *distance*."""
        close = self.pairs(distance)
        if self.columns > FEW_COLUMNS:
            return self.n**2 / 2 * _PRODUCT * self.columns + close * _CLOSE_COORDINATE * self.columns
        looked_at = self._count(self.shadows, _CELL_REACH * self.chord(distance), min(self.dim, 3))
        return _COMPILED + _SORTED * self.n + _CLOSE_PAIR * close + _CANDIDATE * looked_at

    def _count(self, sample: FloatArray, distance: float, dim: int) -> float:
        """Pairs of all atoms within *distance*; below the sample's resolution by the volume of a ball."""
        found = int(np.searchsorted(sample, distance))
        share = found / self.sampled
        if found < _ENOUGH < len(sample) and sample[_ENOUGH - 1] > distance:
            share = _ENOUGH / self.sampled * (distance / float(sample[_ENOUGH - 1])) ** dim
        return float(0.5 * self.n**2 * max(share, 1 / self.n**2))


def _sampled_rows(n: int) -> tuple[IntArray, IntArray]:
    rows = np.unique(np.linspace(0, n - 1, min(n, 1800)).astype(int))
    return rows[::3], rows[1::3] if len(rows) > 1 else rows


def _least(sample: FloatArray, within: float) -> FloatArray:
    """The entries up to *within*, and at least some more than are needed to count pairs, in increasing order."""
    kept = sample[sample <= within]
    if len(kept) <= _ENOUGH < len(sample):
        kept = np.partition(sample, _ENOUGH)[: _ENOUGH + 1]
    return np.sort(kept)
