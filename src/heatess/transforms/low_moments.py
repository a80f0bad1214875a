"""The lowest level moments as sums of squares, which keep their digits even when they nearly vanish.

At large scales MMD^2 rests on them alone. What is summed over the atoms are powers of their coordinates, which add
across the parts of a measure as coefficients do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import ROWS_OF_A_BLOCK, in_lanes, map_rows, one_blas_thread, slices, thread_count
from ..heat.sums import LevelMoments

#: Some rows of checked points as float64.
Rows = Callable[[NDArray[Any], slice], FloatArray]

#: Columns up to which the fourth moments are summed, for a second level that nearly vanishes.
_FOURTH_COLUMNS = 8

#: Columns up to which there is room for several matrices of second moments.
_LANE_COLUMNS = 1024


class LowMoments(ABC):
    """Sums over atoms, in one row, and the level moments b_1, b_2, ... that follow from them."""

    @abstractmethod
    def sums(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """Linear in the weights."""

    @abstractmethod
    def moments(self, sums: FloatArray) -> FloatArray:
        """b_1, b_2, ... of a measure of total weight one."""

    def improved(self, moments: LevelMoments, rtol: float, sums: Callable[[], FloatArray]) -> LevelMoments:
        """*moments*, with the lowest levels from the *sums* if they are not certain to *rtol*."""
        return self.improved_from(moments, float(moments.values[1:3].min()), rtol, sums)

    def improved_from(
        self, moments: LevelMoments, lowest: float, rtol: float, sums: Callable[[], FloatArray]
    ) -> LevelMoments:
        """The same, by the *lowest* of the level moments that must be certain."""
        # The transform was never found to be off by more than a quarter of `root_error`.
        if moments.root_error / 2 * lowest**0.5 + moments.error <= rtol * lowest:
            return moments
        exact = self.moments(sums())[: len(moments.values) - 1]
        moments.values[1 : 1 + len(exact)] = exact
        return moments._replace(certain=1 + len(exact))


class VectorMoments(LowMoments):
    """Unit vectors x with p coordinates: sum w x and sum w x x^T give b_1 and b_2 of the sphere."""

    def __init__(self, columns: int, rows: Rows) -> None:
        self._p, self._rows = columns, rows

    def sums(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """sum w x, then sum w x x^T row by row."""
        p = self._p
        if p > 8:
            return self._by_products(points, weights)

        def partial(rows: slice) -> FloatArray:
            x = np.ascontiguousarray(self._rows(points, rows).T)
            weighted = x * weights[rows]
            # Not through BLAS: its idle threads would keep a core from the next transform.
            return np.concatenate([weighted.sum(axis=1), np.einsum("ib,jb->ij", weighted, x).ravel()])

        return np.asarray(sum(map_rows(partial, len(points), max(1024, ROWS_OF_A_BLOCK * 4 // p)), np.zeros(p + p * p)))

    def _by_products(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """The same in many columns, as products of matrices, in as many sums at once as there is room for."""
        p = self._p
        lanes = 8 if p <= _LANE_COLUMNS else 1
        sums = np.zeros((lanes, p + p * p))
        split = weights.min() >= 0  # a matrix times its own transpose takes half the time of a product of two

        def add(lane: int, rows: slice) -> None:
            x, w = self._rows(points, rows), weights[rows, None]
            left, right = (2 * (x * np.sqrt(w),)) if split else (x * w, x)
            sums[lane, :p] += weights[rows] @ x
            sums[lane, p:] += (left.T @ right).ravel()

        with one_blas_thread() if lanes > 1 else nullcontext():
            in_lanes(list(slices(len(points), max(1024, ROWS_OF_A_BLOCK * 4 // p))), add, lanes, thread_count())
        return np.asarray(sums.sum(axis=0))

    def moments(self, sums: FloatArray) -> FloatArray:
        """b_1 = |sum w x|^2, and b_2 = p / (p - 1) |sum w x x^T - I / p|_F^2."""
        p = self._p
        first, excess = sums[:p], sums[p:].reshape(p, p) - np.eye(p) / p
        return np.minimum([np.dot(first, first), np.sum(excess * excess) * p / (p - 1)], 1.0)


class AxisMoments(LowMoments):
    """Unit vectors up to their sign: second moments give b_1 and, where columns are few, fourth moments b_2."""

    def __init__(self, columns: int, rows: Rows) -> None:
        self._p, self._vectors, self._rows = columns, VectorMoments(columns, rows), rows
        self._pairs = np.triu_indices(columns if columns <= _FOURTH_COLUMNS else 1)

    def sums(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """The sphere's sums, then sum w x_i x_j x_k x_l over i <= j and k <= l."""
        low, p, (first, second) = self._vectors.sums(points, weights), self._p, self._pairs
        if p > _FOURTH_COLUMNS:
            return low

        def partial(rows: slice) -> FloatArray:
            x = self._rows(points, rows).T
            products = x[first] * x[second]
            return np.asarray((products * weights[rows]) @ products.T).ravel()

        return np.concatenate(
            [low, sum(map_rows(partial, len(points), max(1024, ROWS_OF_A_BLOCK // p**2)), np.zeros(1))]
        )

    def moments(self, sums: FloatArray) -> FloatArray:
        """With A = sum w x x^T and d the unit matrix, the part of the fourth moments without traces is

        T - (A_ij d_kl + ... 6 terms) / (p + 4) + (d_ij d_kl + ... 3 terms) / ((p + 4) (p + 2)).
        """
        p, (first, second) = self._p, self._pairs
        low = self._vectors.moments(sums[: p + p * p])[1:]
        if p > _FOURTH_COLUMNS:
            return low
        packed = sums[p + p * p :].reshape(len(first), len(first))
        place = np.zeros((p, p), dtype=int)
        place[first, second] = place[second, first] = np.arange(len(first))
        fourth = packed[place[:, :, None, None], place]  # (p, p, p, p)
        unit = np.eye(p)
        traces = np.einsum("ijkk->ij", fourth)[..., None, None] * unit / (p + 4)
        units = unit[..., None, None] * unit / ((p + 4) * (p + 2))
        for order in ("ijkl", "ikjl", "iklj", "kijl", "kilj", "klij"):
            fourth = fourth - np.einsum(f"ijkl->{order}", traces)
        for order in ("ijkl", "ikjl", "iklj"):
            fourth = fourth + np.einsum(f"ijkl->{order}", units)
        largest = 1 - 6 / (p + 4) + 3 / ((p + 4) * (p + 2))  # of a single atom
        return np.append(low, min(float(np.sum(fourth * fourth)) / largest, 1.0))


class AngleMoments(LowMoments):
    """Angles: sums of w cos(k angle) and w sin(k angle), k = 1 and 2, give b_1 and b_2 of the circle."""

    def __init__(self, angle: Callable[[NDArray[Any]], FloatArray]) -> None:
        self._angle = angle

    def sums(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """For k = 1 and 2, the sums of cosines and of sines."""
        angle = self._angle(points)
        return np.array([weights @ wave(k * angle) for k in (1, 2) for wave in (np.cos, np.sin)])

    def moments(self, sums: FloatArray) -> FloatArray:
        """b_k = |sum w exp(i k angle)|^2."""
        return np.minimum(sums[::2] ** 2 + sums[1::2] ** 2, 1.0)
