"""What each engine costs, in seconds on two cores; only the ratios matter.

Measured with `benchmarks/run.py` on 2 cores with 512-bit vectors: the transform at n = 10^6 and
L = 1000 to 4096, pairs at n = 4000 to 20,000 in 10 to 1536 dimensions, neighbours at n = 10^6 and
alpha = 0.02 to 0.3 degrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..measure import Measure
from ..spaces.base import FloatArray, ZonalSpace
from .local import FEW_COLUMNS

#: A transform with this many levels costs milliseconds: no need to compare.
CHEAP_LEVELS = 512

#: So few atoms that all pairs cost milliseconds.
FEW_ATOMS = 2000

#: Longest estimate, in seconds, that is run without being asked for by name.
PATIENCE = 1800.0

_PAIR = 1.4e-8  # Fourier transform of one pair distance
_PRODUCT = 1.4e-11  # one coordinate of one inner product
_CLOSE_PAIR = 7e-9  # one pair of neighbours, with the candidates looked at in vain
_CLOSE_COORDINATE = 2e-9  # one coordinate of one close pair, when found by going through all pairs
_SORTED = 4e-7  # one atom put into its cell
_COMPILED = 0.3  # loading the compiled loop


def level_seconds(measure: Measure, space: ZonalSpace, count: int) -> float:
    """Cost of level moments."""
    if space.transform_limit:
        return space.transform_cost(measure.n, count)
    return float(0.5 * measure.n**2 * (_PAIR + _PRODUCT * measure.points.shape[1]))


@dataclass(frozen=True, eq=False)
class Neighbours:
    """How many pairs lie within a distance, estimated from the pairs of some 2,000 evenly spread rows."""

    n: int
    columns: int
    dim: int
    distances: FloatArray  # sorted distances of the sampled pairs

    @classmethod
    def of(cls, measure: Measure, space: ZonalSpace) -> Neighbours:
        """Sample two disjoint sets of rows."""
        n = measure.n
        rows = np.unique(np.linspace(0, n - 1, min(n, 3000)).astype(int))
        left, right = (space.tile(measure.points[part], slice(None)) for part in (rows[::3], rows[1::3]))
        if not len(right):
            right = left
        distances = np.arccos(space.tile_cosines(left, right).ravel())
        return cls(n, measure.points.shape[1], space.dim, np.sort(distances))

    def pairs(self, distance: float) -> float:
        """Pairs i < j closer than *distance*; below the sample's resolution by the volume of a ball."""
        total = len(self.distances)
        found = int(np.searchsorted(self.distances, distance))
        if found < 100 and total > 100:
            at = float(self.distances[99])
            found_share = 100 / total * (distance / at) ** self.dim if at > distance else found / total
        else:
            found_share = found / total
        return float(0.5 * self.n**2 * max(found_share, 1 / self.n**2))

    def seconds(self, distance: float) -> float:
        """Cost of summing all pairs closer than *distance*."""
        close = self.pairs(distance)
        if self.columns > FEW_COLUMNS:
            return self.n**2 / 2 * _PRODUCT * self.columns + close * _CLOSE_COORDINATE * self.columns
        return _COMPILED + _SORTED * self.n + _CLOSE_PAIR * close
