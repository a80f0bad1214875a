"""Quadratic forms of many signed weights with the heat kernel, at every scale: what resampling needs.

A test compares one number with many like it. All of them come from here, by one method and with one truncation of the
kernel, so that what is left out is the same for all and their order is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.progress import Progress
from ..engines import columns
from ..engines.base import FormsQuestion
from ..engines.columns import Draw
from ..measures import scales
from ..measures.measure import Measure
from ..spaces.base import Space
from .uniformity_families import LevelFamily

#: Share of the kernel's excess over one that truncation may leave out: a truncated kernel is as good for a test.
TRUNCATION = 1e-4

#: Single degrees that are looked at beside scales that nobody chose, and levels among which they are.
DEGREES, LEVELS = 2, 6


def low_degrees(space: Space, given: tuple[Any, Any, Any]) -> LevelFamily | None:
    """The two lowest degrees of a space, by themselves: differences of means and of inertia show there first.

    None where scales are *given*, and where levels do not depend on the distance alone, as on tori and flat spaces.

    >>> import heatess as he
    >>> low_degrees(he.Sphere(2), (None, None, None)).size, low_degrees(he.Euclidean(2), (None, None, None))
    (2, None)
    """
    if space.series is None or any(value is not None for value in given):
        return None
    present = np.flatnonzero(np.isfinite(space.series.levels(LEVELS + 1).log_multiplicities[1:]))[:DEGREES]
    return LevelFamily(space, space.series, np.eye(LEVELS)[present, : present[-1] + 1], 0)


def in_turn(made: FloatArray) -> Draw:
    """Columns that are made already, so many at a time as an engine asks for.

    >>> draw = in_turn(np.arange(3)[None])
    >>> draw(2), draw(1)
    (array([[0, 1]]), array([[2]]))
    """
    first = 0

    def draw(size: int) -> FloatArray:
        nonlocal first
        first += size
        return made[:, first - size : first]

    return draw


def forms(
    space: Space,
    places: NDArray[Any],
    times: FloatArray,
    draw: Draw,
    count: int,
    progress: Progress,
    low: LevelFamily | None = None,
) -> FloatArray:
    """v' C_t v of *count* signed weights v at each time, shape (count, times); see `FormsQuestion`.

    Columns of the degrees in *low* follow those of the times.
    """
    order = np.argsort(times, kind="stable")
    measure = Measure.trusted(space, places, np.full(len(places), 1 / len(places)))

    def words(wait: str) -> str:
        return (
            f"{count:,} sums over {len(places):,} places on {space!r} at {len(times)} scales down to "
            f"{scales.in_words(space, float(times.min()))} would take {wait}; give a random subset of each sample, "
            "fewer draws, or fewer or coarser scales"
        )

    question = FormsQuestion(measure, times[order], TRUNCATION, columns=count)
    single: list[FloatArray] = []

    def both(size: int) -> FloatArray:
        """The degrees of some columns, while they are at hand."""
        some = draw(size)
        if low is not None:
            single.append(low.signed(measure, in_turn(some), size))
        return some

    found = columns.forms(question, both, progress, words)[:, np.argsort(order)]
    return np.concatenate([found, np.concatenate(single)], axis=1) if single else found
