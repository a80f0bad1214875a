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

from ..arrays import FloatArray, IntArray
from ..blocks import map_rows, one_blas_thread, share_out, slices, thread_count
from ..progress import Progress

#: Principal coordinates that cells are split along, and atoms that these are found from.
COORDINATES, SAMPLE = 12, 512

#: Batches whose spread gives the standard error, and atoms on a side of a block of pairs.
BATCHES, SIDE = 32, 128

#: Blocks of a batch that share one set of strata.
BLOCKS = 64

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
    """The leading principal coordinates of checked points, found from a few of them, shape (n, up to 12)."""
    n = len(points)
    some = points[:: -(-n // SAMPLE)].reshape(-1, points[0].size).astype(np.float64)
    directions = np.linalg.svd(some - some.mean(axis=0), full_matrices=False)[2]
    kept = np.ascontiguousarray(directions[:COORDINATES].T, dtype=points.dtype)

    def project(part: slice) -> FloatArray:
        return np.asarray(points[part].reshape(-1, len(kept)) @ kept)

    with one_blas_thread():
        return np.concatenate(map_rows(project, n, max(1, _READ // len(kept))))


@dataclass(frozen=True, eq=False)
class Draws:
    """Batches of blocks of pairs: all pairs between two sets of atoms, which are drawn by weight.

    A block takes an atom from each of *side* strata of equal weight along the *order*; and those blocks of a batch that
    are drawn together, together take one from each of as many finer ones as they have atoms. Each set of a block is so a
    draw from the whole measure, and the two are independent: the mean over pairs is unbiased.
    """

    order: IntArray
    weights: FloatArray
    side: int
    blocks: int  # of each batch
    generators: list[np.random.Generator]

    @classmethod
    def of(cls, order: IntArray, weights: FloatArray, pairs: int, rng: np.random.Generator) -> Draws:
        """About so many *pairs*, in `BATCHES` batches."""
        each = pairs / BATCHES
        side = int(np.clip(np.sqrt(each), 2, SIDE))
        seeds = rng.integers(2**63, size=BATCHES)
        generators = [np.random.default_rng(int(seed)) for seed in seeds]
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
        """Call `do(batch, left, right)` on every block; a batch is on one thread at a time, its blocks in order."""
        threads = min(thread_count(), BATCHES) if parallel else 1

        def run(_: int, batch: int, blocks: int) -> None:
            rng = self.generators[batch]
            for left, right in zip(self._set(rng, blocks), self._set(rng, blocks), strict=True):
                do(batch, left, right)

        with one_blas_thread():
            for part in progress.track(list(slices(self.blocks, BLOCKS)), "random pairs"):
                size = part.stop - part.start
                share_out(range(BATCHES), lambda thread, batch, size=size: run(thread, batch, size), threads)
