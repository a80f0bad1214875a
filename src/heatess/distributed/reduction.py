"""Many partitions, one profile: what the tasks do, and the tree that sums what they return."""

from __future__ import annotations

import functools
import operator
import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..accumulate import UNKNOWN_ESS, Accumulator, degree_for
from ..blocks import threads
from ..errors import InputError
from ..measure import Measure
from ..parts import PartSums, part_named
from ..profile import HeatProfile
from ..progress import Progress
from ..scales import Scales
from ..spaces.base import Space
from .pair_blocks import Block, block_pairs, block_sizes, levels_for, make_block, pair_profile, pair_sums, series_of
from .partitions import Partitions

if TYPE_CHECKING:
    from distributed import Client

#: States merged by one task of the tree.
SPLIT_EVERY = 8


class Scheduler(NamedTuple):
    """Where tasks run: on a client, or else wherever dask runs them now."""

    client: Client | None
    progress: bool

    def compute(self, work: Any) -> Any:
        """The result of delayed *work*."""
        import dask

        client = self.client
        shown = Progress(self.progress).shown
        if shown and client is None:
            client = _current_client()
        if client is None:
            from dask.diagnostics import ProgressBar

            with ProgressBar(out=sys.stderr) if shown else nullcontext():
                return dask.compute(work)[0]
        future = client.compute(work)
        if shown:
            from distributed import progress

            with redirect_stdout(sys.stderr):
                progress(future, notebook=False)
        return future.result()


# Spaces with a fast transform: one accumulator a partition.


def degree(space: Space, n: int | None, at: Scales, rtol: float) -> int:
    """The degree that *n* atoms need at the finest scale; None if their number is not known."""
    return degree_for(space, float(at.times.min()), ess=float(n or UNKNOWN_ESS), rtol=rtol)


def merged(states: list[Any], at: Scales, rtol: float, scheduler: Scheduler) -> HeatProfile:
    """The profile of delayed accumulators."""
    whole: Accumulator = scheduler.compute(_tree(states))
    return whole.profile_at(at, rtol)


# Spaces without: one task for the pairs of two blocks.


def by_pairs(parts: Partitions, space: Space, at: Scales, rtol: float, scheduler: Scheduler) -> HeatProfile:
    """The profile of partitions on a space without a fast transform."""
    from dask import delayed

    counted = parts.counted(scheduler.compute)
    n = counted.n
    if not n:
        raise InputError("there are no atoms in any part; at least one is needed")
    count = levels_for(space, at.times, n, rtol)
    make, multiply, own = delayed(_block), delayed(_pairs), delayed(_own_sums)
    sizes = block_sizes(n)
    starts = np.cumsum([0, *sizes])
    pieces = counted.recut(sizes).pieces
    blocks = [make(f"rows from {start}", space, *piece) for start, piece in zip(starts[:-1], pieces, strict=True)]
    work = [
        multiply(space, count, [(blocks[i], None if i == j else blocks[j]) for i, j in pairs])
        for pairs in block_pairs(len(blocks))
    ]
    whole = scheduler.compute(_tree([*(own(block) for block in blocks), *work]))
    return pair_profile(space, whole, at, rtol)


def _block(name: str, space: Space, points: Any, weights: Any, log_weights: Any) -> Block:
    with part_named(name), threads(1):
        return make_block(space, points, weights, log_weights)


def _own_sums(block: Block) -> PartSums:
    return block.sums


def _pairs(space: Space, count: int, pairs: list[tuple[Block, Block | None]]) -> PartSums:
    with threads(1):
        return functools.reduce(operator.add, [pair_sums(space, count, left, right) for left, right in pairs])


# What both share.


def space_of(width: int, space: Space | None) -> Space:
    """The space of points with so many coordinates, if data on it can be profiled in parts."""
    found = Measure(np.eye(1, width)).space if space is None else space
    if not isinstance(found, Space):
        raise InputError(f"space must be a heatess space such as Sphere(2), but is {space!r}")
    if found.transform is None:
        series_of(found)
    return found


def _sum(parts: list[Any]) -> Any:
    return functools.reduce(operator.add, parts)


def _tree(parts: list[Any]) -> Any:
    """One delayed sum of all parts, `SPLIT_EVERY` at a time."""
    from dask import delayed

    merge = delayed(_sum)
    while len(parts) > 1:
        parts = [merge(parts[start : start + SPLIT_EVERY]) for start in range(0, len(parts), SPLIT_EVERY)]
    return parts[0]


def _current_client() -> Any:
    """The client that dask would use, if any; distributed is not imported for it."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None
