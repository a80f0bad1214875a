"""The compiled loop that gathers cosines of pair distances into bins; see `cosines`."""

from __future__ import annotations

import numpy as np

from . import compiled


@compiled(nogil=True, fastmath=True)
def add_tile(cosines, left, right, table):  # type: ignore[no-untyped-def]
    """Add w_i w_j T_q(place in the bin), q < 8, of every pair to *table*, shape (sign, bins + 1, 8)."""
    bins = table.shape[1] - 1
    rows = table.reshape(-1, 8)
    place, index = np.empty(cosines.shape[1]), np.empty(cosines.shape[1], np.int64)
    for i in range(len(cosines)):
        u = cosines[i]
        for k in range(len(u)):
            y = np.sqrt(1.0 - min(abs(u[k]), 1.0)) * bins
            bin_ = np.int64(y)
            place[k] = 2.0 * (y - bin_) - 1.0
            index[k] = bin_ if u[k] >= 0 else bin_ + bins + 1
        for k in range(len(place)):
            w, t1 = left[i] * right[k], place[k]
            t2 = 2 * t1 * t1 - 1
            t3 = 2 * t1 * t2 - t1
            t4 = 2 * t2 * t2 - 1
            row = rows[np.uint64(index[k])]  # unsigned, because an index that may be negative costs a test
            row[0] += w
            row[1] += w * t1
            row[2] += w * t2
            row[3] += w * t3
            row[4] += w * t4
            row[5] += w * (2 * t2 * t3 - t1)
            row[6] += w * (2 * t3 * t3 - 1)
            row[7] += w * (2 * t3 * t4 - t1)


@compiled(nogil=True, fastmath=True)
def add_single_tile(cosines, left, right, table):  # type: ignore[no-untyped-def]
    """The same of cosines in single precision, q < 4: *table* has shape (sign, bins + 1, 4)."""
    one, two = np.float32(1.0), np.float32(2.0)
    bins, other = np.float32(table.shape[1] - 1), np.int32(table.shape[1])
    rows = table.reshape(-1, 4)
    place, index = np.empty(cosines.shape[1], np.float32), np.empty(cosines.shape[1], np.int32)
    for i in range(len(cosines)):
        u = cosines[i]
        for k in range(len(u)):
            y = np.sqrt(one - min(abs(u[k]), one)) * bins
            bin_ = np.int32(y)
            place[k] = two * (y - np.float32(bin_)) - one
            index[k] = bin_ + (np.int32(0) if u[k] >= 0 else other)
        for k in range(len(place)):
            w, t1 = left[i] * right[k], np.float64(place[k])
            t2 = 2 * t1 * t1 - 1
            row = rows[np.uint64(index[k])]
            row[0] += w
            row[1] += w * t1
            row[2] += w * t2
            row[3] += w * (2 * t1 * t2 - t1)
