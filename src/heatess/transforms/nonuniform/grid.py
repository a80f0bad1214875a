"""The cells that points are spread over, and interpolated from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import FloatArray, IntArray
from ...base.blocks import share_out, slices, span
from ...base.pool import until_stopped
from .box import Box, Modes
from .kernel import Kernel, factors, kernels_for, table

#: Points from which on they are taken in parts.
SORTED = 2**14

#: Parts of the points that are spread or sorted at once, at most.
_LANES = 8

#: Points that one compiled call takes.
_PIECE = 2**17

#: Cells of a grid that the cache of a core holds.
_CELLS_IN_CACHE = 2**18

# Freed arrays of some megabytes would go back to the system, and new pages cost more than a small transform takes. The
# C library of Linux keeps what is smaller than the largest array that was freed, up to 32 MB; this one is never filled.
np.empty(4_000_000)

#: Where periods are not given: 2 pi, with twice the digits of a floating-point number.
_TURN = Fraction(2 * math.pi) + Fraction(2.4492935982947064e-16)


@lru_cache(maxsize=256)
def _scale(size: int, period: float | None) -> tuple[float, float]:
    """Cells per unit of length, as the sum of two numbers."""
    exact = size / (_TURN if period is None else Fraction(period))
    return float(exact), float(exact - Fraction(float(exact)))


class Axis(NamedTuple):
    """Frequencies lowest, ..., lowest + modes - 1 of one axis, and its cells: *size* to a period."""

    lowest: float
    modes: int
    size: int
    scale: tuple[float, float]  # cells per unit of length
    origin: int  # the first cell that may have points
    span: int  # cells that may have points
    kernel: Kernel

    @property
    def half(self) -> bool:
        """Whether frequencies are half-integers."""
        return self.lowest % 1 == 0.5

    @property
    def room(self) -> int:
        """Cells of the grid: kernels of the last points reach beyond them."""
        return self.span + 16

    @property
    def factors(self) -> Modes:
        """See `kernel.factors`."""
        return factors(self.kernel, self.lowest, self.modes, self.size, self.origin - self.kernel.width // 2 + 1)

    @property
    def turns(self) -> Modes:
        """What makes whole frequencies of half-integer ones, cell by cell."""
        return np.asarray(np.exp(-1j * math.pi / self.size * np.arange(self.room)))


@dataclass(frozen=True, eq=False)
class Grid:
    """The axes of a transform, outermost first, and which column of the points each of them takes."""

    axes: tuple[Axis, ...]
    columns: IntArray
    kernel: Kernel

    @classmethod
    def of(cls, points: FloatArray, box: Box, *, many: bool = False) -> Grid:
        """The cheapest grid for these frequencies, of one column of weights or of *many*."""
        dim = len(box.shape)
        bands = (2 * max(abs(low), abs(low + count - 1)) + 1 for low, count in zip(box.lowest, box.shape, strict=True))
        kernel, sizes = _cheapest(tuple(bands), box.epsilon, len(points).bit_length(), many)
        axes, columns = [], box.columns or range(dim)
        for column, low, count, size, period in zip(
            columns, box.lowest, box.shape, sizes, box.periods or (None,) * dim, strict=True
        ):
            scale = _scale(size, period)
            axes.append(Axis(low, count, size, scale, *_cells(points[:, column], scale[0], size), kernel))
        return cls(tuple(axes), np.array(columns), kernel)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of three axes."""
        return (1,) * (3 - len(self.axes)) + tuple(axis.room for axis in self.axes)

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What compiled loops need to know of the axes."""
        return (
            np.array([axis.scale for axis in self.axes]),
            np.array([axis.size for axis in self.axes], dtype=np.int64),
            np.array([axis.origin for axis in self.axes], dtype=np.int64),
            np.array([axis.half for axis in self.axes]),
        )

    def spread(self, points: FloatArray, weights: FloatArray, threads: int) -> FloatArray:
        """Sums of kernels times *weights* (columns, n), shape (columns, cells ...).

        Many points on a small grid are taken in lanes, each with a grid of its own. On a large one they are sorted:
        those of one slab of cells reach into the next one at most, so that every other slab can be filled at once.
        """
        from ...compiled.spreading import spread

        n, cells = len(points), (len(weights), *self.shape)
        known = (*self.arguments, table(self.kernel), self.kernel.width)
        if self.small(n):
            lanes = min(max(n // SORTED, 1), _LANES)
            parts, found = list(slices(n, max(-(-n // lanes), 1))), np.zeros((lanes, *cells))

            def lane(_: int, own: int) -> None:
                for part in _pieces(parts[own]):
                    spread(points, self.columns, weights, part.start, part.stop, *known, found[own])

            share_out(range(len(parts)), lane, threads)
            for other in found[1:]:
                found[0] += other
            return np.asarray(found[0])
        moved = self.sorted(points, weights, threads)
        columns, total = np.arange(len(self.columns)), np.zeros(cells)

        def slab(_: int, own: slice) -> None:
            for part in _pieces(own):
                spread(moved.points, columns, moved.weights, part.start, part.stop, *known, total)

        for some in (moved.slabs[::2], moved.slabs[1::2]):
            share_out(some, slab, threads)
        return total

    def interpolate(self, points: FloatArray, cells: FloatArray, threads: int) -> FloatArray:
        """The reverse of `spread`: values at points, shape (columns, n)."""
        from ...compiled.spreading import interpolate

        found, columns, moved = np.empty((len(cells), len(points))), self.columns, None
        if not self.small(len(points)):
            moved = self.sorted(points, np.empty((0, len(points))), threads)
            points, columns = moved.points, np.arange(len(columns))

        def fill(_: int, own: slice) -> None:
            known = (*self.arguments, table(self.kernel), self.kernel.width)
            interpolate(points, columns, found, own.start, own.stop, *known, cells)

        share_out(list(slices(len(points), 8192)), fill, threads)
        return found if moved is None else found[:, moved.rows]

    def small(self, n: int) -> bool:
        """Whether sorting the points would cost more than it brings."""
        return n < SORTED or math.prod(self.shape) <= _CELLS_IN_CACHE

    def sorted(self, points: FloatArray, weights: FloatArray, threads: int) -> Sorted:
        """Points by their cells, slab after slab of cells of the first axis."""
        from ...compiled.spreading import BIN, SLAB, bins, move

        scales, sizes, origins, _ = self.arguments
        n, columns = len(points), self.columns
        counts = np.array([-(-self.axes[0].span // SLAB), *(-(-axis.span // BIN) for axis in self.axes[1:])])
        slab = int(math.prod(counts[1:]))
        parts = list(slices(n, max(-(-n // _LANES), SORTED)))
        keys, found = np.empty(n, dtype=np.int32), np.zeros((len(parts), counts[0] * slab), dtype=np.int64)

        def count(_: int, part: int) -> None:
            own = parts[part]
            bins(points, columns, scales, sizes, origins, counts, own.start, own.stop, keys, found[part])

        share_out(range(len(parts)), count, threads)
        ends = np.cumsum(found.T).reshape(-1, len(parts)).T  # bin after bin, and part after part in each
        edges, cursors = [0, *ends[-1, slab - 1 :: slab].tolist()], ends - found
        moved = Sorted(
            np.empty((n, len(columns))),
            np.empty(weights.shape),
            np.empty(n, dtype=np.int64),
            list(map(slice, edges, edges[1:])),
        )

        def put(_: int, part: int) -> None:
            own = parts[part]
            move(points, columns, weights, own.start, own.stop, keys, cursors[part], *moved[:3])

        share_out(range(len(parts)), put, threads)
        return moved


class Sorted(NamedTuple):
    """Points and weights in the order of their cells, the row of each point, and the rows of each slab."""

    points: FloatArray
    weights: FloatArray
    rows: IntArray
    slabs: list[slice]


def fast_length(least: int, primes: tuple[int, ...] = (2, 3, 5, 7, 11)) -> int:
    """The first number from *least* on with no other prime factors: fast Fourier transforms have loops for these.

    >>> fast_length(37)
    40
    """
    size = least
    while True:
        rest = size
        for prime in primes:
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 1


@lru_cache(maxsize=64)
def _cheapest(bands: tuple[float, ...], epsilon: float, bits: int, many: bool) -> tuple[Kernel, list[int]]:
    """The kernel and the cells of each axis that cost least, for 2^bits points and bands of so many frequencies."""
    dim = len(bands)

    def sizes(kernel: Kernel) -> list[int]:
        wanted = [max(math.ceil(kernel.oversampling * band), 32) for band in bands]
        return [fast_length(size, (2, 3, 5) if axis == 0 else (2, 3, 5, 7, 11)) for axis, size in enumerate(wanted)]

    def cost(kernel: Kernel) -> float:
        """Roughly, in nanoseconds."""
        cells = math.prod(sizes(kernel)) / min(dim, 2)
        if many:  # sums over a kernel are most of it, and one for each cell that it has
            return float(2.0**bits * (3 + 0.07 * kernel.width**dim) + 9 * cells)
        return float(2.0**bits * (20 * dim + 1.6 * kernel.width ** (dim - 1)) + 12 * cells)

    kernel = min(kernels_for(epsilon, dim), key=cost)
    return kernel, sizes(kernel)


def _pieces(rows: slice) -> Iterator[slice]:
    """Rows that take a fraction of a second, so that Ctrl-C need not wait for all of them."""
    for part in until_stopped(slices(rows.stop - rows.start, _PIECE)):
        yield slice(rows.start + part.start, rows.start + part.stop)


def _cells(x: FloatArray, scale: float, size: int) -> tuple[int, int]:
    """The first cell that has points and the number of cells, all of them if points fill the axis."""
    low, high = span(x) if len(x) > 1000 else (float(x.min(initial=0.0)), float(x.max(initial=0.0)))
    first, last = math.floor(low * scale) - 1, math.floor(high * scale) + 1
    return (first, last - first + 1) if last - first < size else (0, size)
