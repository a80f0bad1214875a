"""Atoms in cells of neighbours, and draws that are spread evenly over them.

The cells are the leaves of a tree: atoms are split at the median of one of their principal coordinates, again and
again. Neither the cells nor their order depends on the draws, so nothing is biased whatever they are; the better they
are, the less is left to chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import map_rows, one_blas_thread, share_out, slices, thread_count
from ..base.progress import Progress

#: Principal coordinates that cells are split along, atoms that these are found from, and steps in which.
COORDINATES, SAMPLE, ITERATIONS = 12, 512, 4

#: Batches whose spread gives the standard error, and most atoms on a side of a block of pairs.
BATCHES, SIDE = 32, 128

#: Most blocks that share one set of strata.
BLOCKS = 64

#: Atoms on a side of the blocks that are handed over at once.
HANDED = 256

#: Atoms of the cells where their pairs are not summed: they only put the atoms in order.
ORDERED = 16

#: Atoms of a cell that show along which coordinate it is widest.
FEW = 16

#: Coordinates of rows read at once.
_READ = 2**20


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of about the same number of atoms each, next to their neighbours."""

    members: IntArray  # (cells, size), filled up with -1

    @classmethod
    def of(cls, coordinates: FloatArray, size: int) -> Cells:
        """Of at most *size* atoms, from *coordinates* of shape (n, any number)."""
        n = len(coordinates)
        depth = max(0, (-(-n // size) - 1).bit_length())
        width = -(-n // 2**depth)
        # Numbers from n up stand for no atom. They take the place of atoms here and there, so that cells stay equal.
        places = np.arange(width * 2**depth)
        stands_for = np.where(places < n, places, (places * 31) % max(n, 1))
        members = places[None]
        for _ in range(depth):
            some = coordinates[stands_for[members[:, :: max(1, members.shape[1] // FEW)]]]  # (cells, few, coordinates)
            widest = np.argmax(some.max(axis=1) - some.min(axis=1), axis=1)
            half = members.shape[1] // 2
            ranks = np.argpartition(coordinates[stands_for[members], widest[:, None]], half, axis=1)
            members = np.take_along_axis(members, ranks, axis=1).reshape(-1, half)
        return cls(np.where(members < n, members, -1))

    @cached_property
    def order(self) -> IntArray:
        """The atoms, those of one cell next to each other."""
        return self.members[self.members >= 0]

    @cached_property
    def labels(self) -> IntArray:
        """The cell of each atom."""
        found = np.empty(len(self.order), dtype=np.int64)
        cell, place = np.nonzero(self.members >= 0)
        found[self.members[cell, place]] = cell
        return found

    def near(self, weights: FloatArray) -> float:
        """The weight of the pairs of two atoms of one cell, an atom with itself included."""
        masses = np.bincount(self.labels, weights)
        return float(masses @ masses)


def principal_coordinates(points: NDArray[Any]) -> FloatArray:
    """About the leading principal coordinates of checked points, found from a few of them, shape (n, up to 12)."""
    n, width = len(points), points[0].size
    some = points[:: -(-n // SAMPLE)].reshape(-1, width).astype(np.float64)
    some -= some.mean(axis=0)
    with one_blas_thread():
        directions = some[: min(COORDINATES, width)].T  # power iteration, from any start
        for _ in range(ITERATIONS):
            directions, _ = np.linalg.qr(some.T @ (some @ directions))
        kept = np.ascontiguousarray(directions, dtype=points.dtype)

        def project(part: slice) -> FloatArray:
            return np.asarray(points[part].reshape(-1, width) @ kept)

        return np.concatenate(map_rows(project, n, max(1, _READ // width)))


@dataclass(frozen=True, eq=False)
class Draws:
    """Batches of blocks of pairs: all pairs between two sets of atoms, which are drawn by weight.

    Each set of a block takes one atom from each of *side* strata of equal weight along the *order*. The blocks that are
    drawn together divide each stratum into as many finer ones as they are, and take one each, in random order. So each
    set on its own is a fair draw from the measure, and the two are independent: the mean over pairs is unbiased.
    """

    order: IntArray
    weights: FloatArray
    side: int
    blocks: int  # of each batch
    generators: list[np.random.Generator]

    @classmethod
    def of(cls, order: IntArray, weights: FloatArray, pairs: int, rng: np.random.Generator, *, blocks: int) -> Draws:
        """About so many *pairs*, in `BATCHES` batches of at least so many *blocks* each."""
        each = pairs / BATCHES
        side = int(np.clip(np.sqrt(each / blocks), 2, SIDE))
        generators = [np.random.default_rng(int(seed)) for seed in rng.integers(2**63, size=BATCHES)]
        return cls(order, weights, side, max(1, round(each / side**2)), generators)

    @property
    def atoms(self) -> int:
        """How many are drawn, in all batches."""
        return 2 * self.side * self.blocks * BATCHES

    @property
    def pairs(self) -> int:
        """How many are drawn, in all batches."""
        return self.side**2 * self.blocks * BATCHES

    @cached_property
    def _cumulative(self) -> FloatArray:
        return np.cumsum(self.weights[self.order])

    def _set(self, rng: np.random.Generator, blocks: int) -> IntArray:
        """One of the two sets of each of some blocks, shape (blocks, side)."""
        count, total = blocks * self.side, self._cumulative[-1]
        places = (np.arange(count) + rng.random(count)) * (total / count)
        drawn = self.order[np.minimum(np.searchsorted(self._cumulative, places, side="right"), len(self.order) - 1)]
        return rng.permuted(drawn.reshape(self.side, blocks), axis=1).T

    def each(self, do: Callable[[int, IntArray, IntArray], None], progress: Progress, *, parallel: bool) -> None:
        """Call `do(batch, left, right)` with the two sets of some blocks, each of shape (blocks, side), until all are.

        A batch is on one thread at a time, its blocks in order: sums are the same however many threads there are.
        """
        threads = min(thread_count(), BATCHES) if parallel else 1
        few = max(1, HANDED // self.side)

        def run(_: int, work: tuple[int, int]) -> None:
            batch, blocks = work
            rng = self.generators[batch]
            left, right = self._set(rng, blocks), self._set(rng, blocks)
            for part in slices(blocks, few):
                do(batch, left[part], right[part])

        with one_blas_thread():
            for part in progress.track(list(slices(self.blocks, BLOCKS)), "random pairs"):
                share_out([(batch, part.stop - part.start) for batch in range(BATCHES)], run, threads)
