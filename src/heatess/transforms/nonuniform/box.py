"""What is asked of a nonuniform Fourier transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Modes = NDArray[np.complex128]


class Box(NamedTuple):
    """Frequencies lowest_j, ..., lowest_j + shape_j - 1 of each angle j, all whole or all half-integer.

    Modes at these are wanted with an error of *epsilon* per unit of weight, and values of such modes with one of
    *epsilon* per unit of modes. Angle j stands in column columns[j] of the points, or in column j, in radians or, with
    *periods*, in those units.
    """

    lowest: Sequence[float]
    shape: Sequence[int]
    epsilon: float
    threads: int
    periods: Sequence[float] | None = None
    columns: Sequence[int] | None = None
