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
    """Add the pairs of atoms *begin* ... *end* - 1 with their own rows and with rows beside and above them.

    *atoms* are points as rows and as columns, halves of both, weights, and places along the boundary, which increase
    within a row. *rows* have the first atom of each, what is beside them and above them, and their widths.
    """
    starts, after, first, last, widths = rows
    row = np.searchsorted(starts, begin, side="right") - 1
    while begin < end:
        stop = min(end, starts[row + 1])
        for other in range(row, after[row]):
            _sweep(atoms, starts, begin, stop, row == other, other, widths[row], widths[other], most, base, found)
        for other in range(first[row], last[row]):
            _sweep(atoms, starts, begin, stop, False, other, widths[row], widths[other], most, base, found)
        begin, row = stop, row + 1


@numba.njit(nogil=True, error_model="numpy")
def _sweep(atoms, starts, begin, stop, same, other, left, right, most, base, found):  # type: ignore[no-untyped-def]
    """Add the pairs of atoms begin ... stop - 1 of one row with those of another, or the *same*, each once.

    None with a separation below *most* is farther apart along the boundary than the mean width sqrt(left right) of the
    two rows, but for rounding.
    """
    points, columns, point_halves, column_halves, weights, places = atoms
    low, end, width = starts[other], starts[other + 1], np.sqrt(left * right) * (1 + 1e-9)
    low += np.searchsorted(places[low:end], places[begin] - width - 16 * EPS * (abs(places[begin]) + width))
    for i in range(begin, stop):
        slack = width + 16 * EPS * (abs(places[i]) + width)
        while low < end and places[low] < places[i] - slack:
            low += 1
        x = points[i]
        own = square_of(x)
        for k in range(i + 1 if same else low, end):
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
