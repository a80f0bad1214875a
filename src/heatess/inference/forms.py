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

#: Share of the kernel's excess over one that truncation may leave out: a truncated kernel is as good for a test.
TRUNCATION = 1e-3


def forms(
    space: Space, places: NDArray[Any], times: FloatArray, draw: Draw, count: int, progress: Progress
) -> FloatArray:
    """v' C_t v of *count* signed weights v at each time, shape (count, times); see `FormsQuestion`."""
    order = np.argsort(times, kind="stable")
    measure = Measure.trusted(space, places, np.full(len(places), 1 / len(places)))

    def words(wait: str) -> str:
        return (
            f"{count:,} sums over {len(places):,} places on {space!r} at {len(times)} scales down to "
            f"{scales.in_words(space, float(times.min()))} would take {wait}; give a random subset of each sample, "
            "fewer draws, or fewer or coarser scales"
        )

    question = FormsQuestion(measure, times[order], TRUNCATION, columns=count)
    return columns.forms(question, draw, progress, words)[:, np.argsort(order)]
