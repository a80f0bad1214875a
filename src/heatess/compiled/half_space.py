"""Close pairs of points of the hyperboloid, found in the half-space model; see `engines.half_space`."""

from __future__ import annotations

import numba
import numpy as np

from ..base.arrays import EPS
from . import compiled
from .cells import MASK, SHIFT, STEP
from .hyperboloid import NEAR, far_separation, near_separation, square_of


@compiled(nogil=True, error_model="numpy")
def add_rows(atoms, rows, begin, end, most, base, found):  # type: ignore[no-untyped-def]
    """Add the pairs of the rows *begin* ... *end* - 1 with themselves and with rows beside and above them.

    *atoms* are points as rows and as columns, halves of both, weights, and places along the boundary, which increase
    within a row. *rows* have the first atom of each, what is beside them and above them, and their widths.
    """
    starts, after, first, last, widths = rows
    for row in range(begin, end):
        for other in range(row, after[row]):
            _sweep(atoms, starts, row, other, np.sqrt(widths[row] * widths[other]), most, base, found)
        for other in range(first[row], last[row]):
            _sweep(atoms, starts, row, other, np.sqrt(widths[row] * widths[other]), most, base, found)


@numba.njit(nogil=True, error_model="numpy")
def _sweep(atoms, starts, row, other, width, most, base, found):  # type: ignore[no-untyped-def]
    """Add the pairs of two rows with separations below *most*, each once.

    None of them is farther apart along the boundary than *width*, but for rounding.
    """
    points, columns, point_halves, column_halves, weights, places = atoms
    low, end, width = starts[other], starts[other + 1], width * (1 + 1e-9)
    for i in range(starts[row], starts[row + 1]):
        slack = width + 16 * EPS * (abs(places[i]) + width)
        while low < end and places[low] < places[i] - slack:
            low += 1
        x = points[i]
        own = square_of(x)
        for k in range(i + 1 if row == other else low, end):
            if places[k] > places[i] + slack:
                break
            if x[0] <= NEAR and columns[0, k] <= NEAR:
                apart = near_separation(x, own, columns, k)
            else:
                apart = far_separation(x, point_halves[:, i], own, columns, column_halves, k)
            if apart < most:
                bits = np.float64(apart).view(np.int64)
                place, number = (bits & MASK) * STEP - 1.0, (bits >> SHIFT) - base
                weight = weights[i] * weights[k]
                odd, even = weight * place, place * place
                bin_ = found[np.uint64(number if number > 0 else 0)]
                bin_[0] += weight
                bin_[1] += odd
                bin_[2] += weight * even
                bin_[3] += odd * even
