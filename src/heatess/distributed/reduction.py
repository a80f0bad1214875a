"""Many partitions, one profile: what the tasks do, and the tree that sums what they return; dask collections."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext, redirect_stdout, suppress
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import one_of
from ..base.blocks import threads
from ..base.errors import InputError, InputTypeError
from ..base.messages import shown as in_words
from ..base.progress import Progress
from ..measures.measure import Measure
from ..measures.scales import Scales, resolve
from ..parts.accumulator import UNKNOWN_ESS, Accumulator, degree_for, with_transform
from ..parts.sums import part_named
from ..profiles.heat_profile import HeatProfile
from ..spaces.base import Space, check_space
from ..tables.points_and_weights import Taken, taken_from
from .pair_blocks import block_pairs, block_sizes, levels_for, make_block, pair_profile, pair_sums, series_of
from .partitions import Partitions, Piece

#: States merged by one task of the tree.
SPLIT_EVERY = 8


class Scheduler(NamedTuple):
    """Where tasks run: on a client, or else wherever dask runs them now; and whether a bar is shown on stderr."""

    client: Any  #: a distributed.Client or None
    progress: bool

    def compute(self, work: Any) -> Any:
        """The result of delayed *work*."""
        import dask

        if self.client is not None and not hasattr(self.client, "compute"):
            raise InputTypeError(f"client must be <+a distributed.Client+>, but is <!{in_words(self.client)}!>")
        shown, client = Progress(self.progress).shown, self.client
        if shown and client is None and "distributed" in sys.modules:  # the client that dask would use, if any
            from distributed import default_client

            with suppress(ValueError):
                client = default_client()
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


def profile_collection(
    points: Any,
    weights: Any,
    *,
    log_weights: Any,
    space: Space | None,
    rtol: float,
    method: str,
    pairs: int | None,
    progress: bool,
    **grid: ArrayLike | None,
) -> HeatProfile:
    """`heat_profile` of a dask array, or of a dask data frame whose columns are coordinates.

    >>> import heatess as he
    >>> import dask.array as da
    >>> cloud = he.samplers.fibonacci(300)
    >>> parts = da.from_array(cloud, chunks=(100, 3))
    >>> he.heat_profile(parts, angles=[10, 60]).gess.round(2)
    array([131.1,   4. ])
    """
    parts = Partitions.of(points, weights, log_weights)
    found = space_of(parts.width, space)
    if pairs is not None:
        raise InputError("`pairs=` is not for data in parts; leave it out, or give a NumPy array")
    one_of(method, "method", ("auto", "spectral", "pairwise"), "other methods are not for data in parts")
    if method == "spectral" and not found.transform:
        raise InputError(f"{found!r} has no fast transform; use `method='pairwise'` or 'auto'")
    at = resolve(found, **grid)
    scheduler = Scheduler(None, progress)
    if method == "pairwise" or not found.transform:
        return by_pairs(parts, found, at, rtol, scheduler)
    n = None if parts.rows is None else sum(parts.rows)
    return by_transform(_work(parts), found, n, at, rtol, scheduler)


def accumulate_collection(
    points: Any, weights: Any, log_weights: Any, space: Space | None
) -> tuple[Space, Callable[[int], Accumulator]]:
    """The space of a dask collection, and a function from a degree to the accumulator of all its atoms."""
    parts = Partitions.of(points, weights, log_weights)
    found = space_of(parts.width, space)
    with_transform(found)
    return found, lambda max_degree: _whole(_work(parts), found, max_degree, Scheduler(None, False))


def _work(parts: Partitions) -> list[Any]:
    return [(f"partition {index}", _one, *piece) for index, piece in enumerate(parts.pieces)]


def _one(*piece: Any) -> list[Piece]:
    return [Piece(*piece)]


def by_transform(
    work: list[Any], space: Space, n: int | None, at: Scales, rtol: float, scheduler: Scheduler
) -> HeatProfile:
    """The profile on a space with a fast transform of *n* atoms, None if their number is not known.

    *work* has one tuple for each part: its name, a function, and arguments with which that gives points and weights.
    """
    max_degree = degree_for(space, float(at.times.min()), ess=float(n or UNKNOWN_ESS), rtol=rtol)
    return _whole(work, space, max_degree, scheduler).profile_at(at, rtol)


def _whole(work: list[Any], space: Space, max_degree: int, scheduler: Scheduler) -> Accumulator:
    """The parts of some *work* together."""
    from dask import delayed

    accumulate = delayed(_accumulate)
    whole: Accumulator = scheduler.compute(_tree([accumulate(space, max_degree, *part) for part in work]))
    return whole


def _accumulate(
    space: Space, max_degree: int, name: str, load: Callable[..., Iterable[Any]], *given: Any
) -> Accumulator:
    state = Accumulator(space, max_degree=max_degree)
    with threads(1):
        for piece in load(*given):
            if len(piece.points):
                with taken_from(piece) if isinstance(piece, Taken) else part_named(name):
                    state.add(piece.points, piece.weights, log_weights=piece.log_weights)
    return state


def by_pairs(parts: Partitions, space: Space, at: Scales, rtol: float, scheduler: Scheduler) -> HeatProfile:
    """The profile of partitions from all pairs, on a space with a series."""
    from dask import delayed

    series_of(space)
    rows = parts.rows
    if rows is None:
        rows = scheduler.compute(delayed(list)([delayed(len)(piece.points) for piece in parts.pieces]))
    n = sum(rows)
    if not n:
        raise InputError.lacking("there are no points in any part")
    count = levels_for(space, at.times, n, rtol)
    make, multiply = delayed(make_block), delayed(pair_sums)
    sizes = block_sizes(n)
    pieces = zip(np.cumsum([0, *sizes[:-1]]), parts.recut(rows, sizes), strict=True)
    blocks = [make(f"rows from {start}", space, *piece) for start, piece in pieces]
    pairs = [[(blocks[i], None if i == j else blocks[j]) for i, j in some] for some in block_pairs(len(blocks))]
    work = [multiply(space, count, some) for some in pairs]
    whole = scheduler.compute(_tree([*(block.sums for block in blocks), *work]))
    return pair_profile(space, whole, at, rtol)


def space_of(width: int, space: Space | None) -> Space:
    """The space of points with so many coordinates, if data on it can be profiled in parts."""
    check_space(space)
    found = Measure(np.eye(1, width)).space if space is None else space
    if found.transform is None:
        series_of(found)
    return found


def _tree(parts: list[Any]) -> Any:
    """One delayed sum of all parts, `SPLIT_EVERY` at a time."""
    from dask import delayed

    merge = delayed(partial(reduce, operator.add))
    while len(parts) > 1:
        parts = [merge(parts[start : start + SPLIT_EVERY]) for start in range(0, len(parts), SPLIT_EVERY)]
    return parts[0]
