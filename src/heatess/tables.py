"""Functions of one variable tabulated as polynomials on even intervals, evaluated for millions of pairs.

Compiled on first use; import this module only where it is needed.
"""

from __future__ import annotations

import numba
import numpy as np

from .spaces.base import FloatArray


def evaluate(table: FloatArray, start: float, step: float, x: FloatArray) -> FloatArray:
    """Several functions at once at all *x*, shape (functions, *x.shape).

    *table* has shape (intervals, functions, order): row k holds the coefficients, lowest power first, of
    polynomials in x - k step, valid for start + k step <= x < start + (k + 1) step; beyond the last they go on.
    """
    found = np.empty((table.shape[1], x.size))
    _evaluate(table, start, step, np.ascontiguousarray(x).ravel(), found)
    return found.reshape(table.shape[1], *x.shape)


@numba.njit(cache=True, nogil=True)
def _evaluate(table: FloatArray, start: float, step: float, x: FloatArray, found: FloatArray) -> None:
    last = table.shape[0] - 1
    order = table.shape[2]
    scale = 1 / step
    for i in range(len(x)):
        k = min(int((x[i] - start) * scale), last)
        offset = x[i] - k * step
        for f in range(table.shape[1]):
            value = table[k, f, order - 1]
            for power in range(order - 2, -1, -1):
                value = value * offset + table[k, f, power]
            found[f, i] = value
