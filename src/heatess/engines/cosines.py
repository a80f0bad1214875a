"""Sums over pairs of cosines of their distance, for all frequencies at once and whatever their number.

Few pairs go through one nonuniform Fourier transform of their distances. Many are first gathered into bins of
y = sqrt(1 - |cos d|), a compiled loop that keeps up with the matrix product they come from: each bin keeps the
Chebyshev moments of its pairs, which are then as good as eight pairs at its Chebyshev nodes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import map_rows
from ..transforms import backend
from ..transforms.nonuniform.box import Box

#: Bound on the absolute error of a sum over pairs whose weights sum to one: four times what is asked of the Fourier
#: transform, which was never reached by half; the bins add (count / bins)^8 / (2^7 8!) = 1e-14.
ERROR = 1.2e-13
_EPSILON = ERROR / 4

#: Pairs up to which one Fourier transform of their distances costs less than bins.
FEW_PAIRS = 20_000

#: Cosines up to which they cost less than a Fourier transform.
_DIRECT = 2048

_BINS_PER_COSINE = {8: 8, 4: 64}  # by the number of moments; for four of them the error is 3e-10
_LEAST_BINS = 1024


#: Bytes of the bins of all lanes together.
_ROOM = 2**26


def lanes_that_fit(count: int) -> int:
    """Most lanes, a power of two up to 64, whose bins take no more memory than they should."""
    return 1 << min(6, max(1, _ROOM // (1024 * count)).bit_length() - 1)


class CosineSums:
    """sum of w_i w_j cos(k d_ij) for k < *count*, over about *pairs* pairs given in tiles, in some *lanes* at once."""

    def __init__(self, count: int, pairs: int, lanes: int = 1) -> None:
        self._total = np.zeros(count)
        self._bins = _Bins(count, lanes, 8) if pairs > FEW_PAIRS else None

    def add(self, cosines: FloatArray, left: FloatArray, right: FloatArray, lane: int = 0) -> None:
        """Add a tile of cos d_ij with the weights of its rows and columns; *cosines* is used up."""
        if self._bins is None:
            distances = np.arccos(cosines, out=cosines).reshape(-1)
            self._total += _transform(distances, np.multiply.outer(left, right).reshape(-1), len(self._total))
            return
        from ..compiled.cosine_bins import add_tile

        add_tile(cosines, np.ascontiguousarray(left), np.ascontiguousarray(right), self._bins.tables[lane])

    def values(self) -> FloatArray:
        """The sums so far, shape (count,)."""
        return self._total if self._bins is None else self._bins.values()


class SingleSums:
    """The same of many cosines in single precision, in bins that keep four moments."""

    def __init__(self, count: int, lanes: int) -> None:
        self._bins = _Bins(count, lanes, 4)
        self.values = self._bins.values

    def add(self, cosines: NDArray[np.float32], left: FloatArray, right: FloatArray, lane: int) -> None:
        """Add a tile."""
        from ..compiled.cosine_bins import add_single_tile

        add_single_tile(cosines, np.ascontiguousarray(left), np.ascontiguousarray(right), self._bins.tables[lane])


class _Bins:
    """Chebyshev moments of pairs in bins of y, so many of them for each cosine."""

    def __init__(self, count: int, lanes: int, order: int) -> None:
        self._count, self._order = count, order
        self._number = max(_BINS_PER_COSINE[order] * count, _LEAST_BINS)
        self.tables = np.zeros((lanes, 2, self._number + 1, order))

    def values(self) -> FloatArray:
        """Sums of cosines, shape (count,)."""
        moments = self.tables.sum(axis=0)  # (sign of the cosine, bins, order)
        order = np.arange(self._order)
        nodes = np.cos((order + 0.5) * (math.pi / self._order))
        chebyshev = np.cos(np.multiply.outer(order, np.arccos(nodes))) * (2 / self._order)  # (order, nodes)
        chebyshev[0] /= 2
        sign, place = np.nonzero(moments[:, :, 0])
        if not len(place):
            return np.zeros(self._count)
        y = np.minimum((place[:, None] + (nodes + 1) / 2) / self._number, 1.0)
        distances = 2 * np.arcsin(y / math.sqrt(2))
        distances = np.where(sign[:, None] == 0, distances, math.pi - distances)
        return _transform(distances.reshape(-1), (moments[sign, place] @ chebyshev).reshape(-1), self._count)


def _transform(distances: FloatArray, weights: FloatArray, count: int) -> FloatArray:
    """sum of weights * cos(k distances) for k < count; in blocks, because threads inside one would add in any order.

    Very few are summed as they are, with more digits: what cancels in a pair of antipodes cancels to the last bit.
    """
    if len(distances) * count <= _DIRECT:
        angles = np.multiply.outer(np.arange(count), distances.astype(np.longdouble))
        return np.asarray(np.cos(angles) @ weights.astype(np.longdouble), dtype=np.float64)

    def part(rows: slice) -> FloatArray:
        box = Box([0], [count], _EPSILON, 1)
        return np.asarray(backend.by(1).modes(distances[rows, None], weights[rows], box).real)

    first, *others = map_rows(part, len(distances))
    return sum(others, first)
