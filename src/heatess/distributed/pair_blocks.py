"""Pairs of atoms that lie in different parts, for spaces without a fast transform.

Rows are cut into blocks of about equal size, and the pairs of two blocks are one piece of work; what it
gives, cosine moments, adds up like everything else in `PartSums`.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

from ..base.arrays import FloatArray
from ..base.blocks import slices, threads
from ..base.errors import InputError, PrecisionError
from ..engines.cosines import CosineSums
from ..engines.pairs import add_tile, moments_of_cosines
from ..engines.tiles import TILE, tiles, zonal_pairs
from ..heat.series import SERIES_LIMIT, Series, level_count
from ..measures import scales
from ..measures.measure import Measure
from ..parts.sums import PartSums, Unit, counted_weights, part_named
from ..profiles.heat_profile import Facts, HeatProfile, build_profile
from ..spaces.base import Space
from ..transforms.levels import LevelSpectrum

#: Rows of a block: few enough to spread the pairs over many workers, enough to be worth a task.
SMALLEST_BLOCK = 1024
LARGEST_BLOCK = 16384
MOST_BLOCKS = 64


class Block(NamedTuple):
    """Some atoms, without those of zero weight, and the sums over all of them."""

    measure: Measure
    sums: PartSums


def block_sizes(n: int) -> tuple[int, ...]:
    """Rows of each block, all equal to within one.

    >>> block_sizes(2500), len(block_sizes(10**6)), len(block_sizes(2 * 10**6))
    ((834, 833, 833), 64, 123)
    """
    size = min(max(-(-n // MOST_BLOCKS), SMALLEST_BLOCK), LARGEST_BLOCK)
    count = max(-(-n // size), 1)
    return tuple(n // count + (block < n % count) for block in range(count))


def block_pairs(count: int) -> list[list[tuple[int, int]]]:
    """Pieces of work with about equally many pairs of atoms: two different blocks, or two blocks with themselves.

    >>> block_pairs(3)
    [[(0, 1)], [(0, 2)], [(1, 2)], [(0, 0), (1, 1)], [(2, 2)]]
    """
    different = [[(i, j)] for i in range(count) for j in range(i + 1, count)]
    own = [[(i, i) for i in range(start, min(start + 2, count))] for start in range(0, count, 2)]
    return different + own


def make_block(name: str, space: Space, points: Any, weights: Any, log_weights: Any) -> Block:
    """Check the atoms of a block, which messages call *name*, and sum what needs no pairs."""
    with part_named(name), threads(1):
        checked = space.check(points)
        counted, unit = counted_weights(weights, log_weights, len(checked))
        low = None if space.low_moments is None else space.low_moments.sums
        return Block(Measure.trusted(space, checked, counted).support(), PartSums.of(checked, counted, unit, low))


def pair_sums(space: Space, count: int, pairs: list[tuple[Block, Block | None]]) -> PartSums:
    """Cosine moments of all pairs of atoms in one block; or with one atom in each of two, both ways round."""
    whole = PartSums()
    with threads(1):
        for left, other in pairs:
            blocks = [left, other] if other else [left]
            unit = max((block.sums.unit for block in blocks), key=Unit.log)
            measures = [
                Measure.trusted(space, block.measure.points, block.measure.weights * block.sums.unit.over(unit))
                for block in blocks
            ]
            rows, columns = measures[0], measures[-1]
            sums, kernel = CosineSums(count, rows.n * columns.n), zonal_pairs(rows)
            across = product(slices(rows.n, TILE), slices(columns.n, TILE))
            for i, j in across if other else tiles(rows.n):
                add_tile(sums, kernel, (rows, i), (columns, j))
            whole += PartSums(unit, cosines=sums.values())
    return whole


def levels_for(space: Space, times: FloatArray, ess: float, rtol: float) -> int:
    """Levels that certify *rtol* at all *times*, or a `PrecisionError` if pairs alone do not serve them."""
    count = None if space.series is None else level_count(space.series, float(times.min()), ess, rtol, SERIES_LIMIT)
    if count is None:
        angle = float(scales.angles_of_times(times.min()))
        reason = f"is too fine for data in parts on {space!r}: it needs more than {SERIES_LIMIT} levels"
        raise PrecisionError(
            f"angle {angle:g} degrees {reason}; give coarser scales, or use `heat_profile` on the whole"
        )
    return count


def pair_profile(space: Space, sums: PartSums, at: scales.Scales, rtol: float) -> HeatProfile:
    """The profile from the sums over all blocks and all pairs of blocks."""
    whole = sums.checked()
    series = series_of(space)
    moments = moments_of_cosines(series, whole.cosines / whole.total**2)
    if space.low_moments is not None:
        moments = space.low_moments.improved(moments, rtol, lambda: whole.low / whole.total)
    spectrum = LevelSpectrum(series, moments)
    return build_profile(Facts(space, whole.n, whole.ess, rtol), spectrum.heat_sums(at.times), at, "pairwise", spectrum)


def series_of(space: Space) -> Series:
    """The series of a space, without which pairs of blocks do not add up."""
    if space.series is None:
        raise InputError(f"data on {space!r} cannot be profiled in parts; give the points as one NumPy array")
    return space.series
