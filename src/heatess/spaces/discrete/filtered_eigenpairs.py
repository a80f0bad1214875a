"""The lowest eigenpairs of large meshes without factors: a polynomial that lets only smooth functions pass.

A Chebyshev polynomial of the Laplacian with one area per node, which is small on all eigenvalues above a limit and
grows fast below it, makes smooth functions of random ones. They span what the lowest eigenfunctions span, and in that
span the eigenproblem is small (Rayleigh and Ritz).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import FloatArray
from ...base.blocks import share_out, slices, thread_count
from ...base.pool import apart
from ..capabilities import Eigenpairs
from .dense_eigenpairs import eigenpairs

#: In each of two passes, what belongs to the lowest eigenvalues grows by exp of this beside what is above the edge.
_PASSES, _GROWTH = 2, 11.0

#: The edge is above the limit by this factor, and there are more functions than eigenpairs below it: so many, and some.
_EDGE, _MORE, _AND = 1.2, 1.1, 24

#: Entries of a block of rows where functions are multiplied by each other.
_ENTRIES_OF_A_BLOCK = 2**14

#: The most numbers that may be held: functions at all nodes.
MOST_ENTRIES = 1.5e8

#: Seconds of an entry of the matrix times a function, and of a node times two functions.
_PER_ENTRY, _PER_PRODUCT = 5e-10, 1.5e-10


class Wanted(NamedTuple):
    """Eigenpairs below a *limit*, about *modes* of them, of a matrix with eigenvalues up to *top*."""

    limit: float
    modes: int
    top: float

    @property
    def width(self) -> int:
        """Functions to start from, whole blocks of them."""
        from ...compiled.krylov import COLUMNS

        return COLUMNS * math.ceil((_EDGE * _MORE * self.modes + _AND) / COLUMNS)

    @property
    def degree(self) -> int:
        """Of the polynomial: T_d(1 + 2 x / top) grows as exp(2 d sqrt(x / top))."""
        return math.ceil(_GROWTH / (2 * math.sqrt(_EDGE * self.limit / self.top)))

    def fits(self, size: int) -> bool:
        """Whether functions at so many nodes can be held in memory."""
        return size * self.width <= MOST_ENTRIES

    def seconds(self, size: int, entries: int) -> float:
        """Rough."""
        work = _PER_ENTRY * entries * _PASSES * self.degree * self.width + 3 * _PER_PRODUCT * size * self.width**2
        return work / min(thread_count(), 2)


def smooth_eigenpairs(matrix: Any, metric: Any, wanted: Wanted) -> tuple[Eigenpairs, FloatArray]:
    """Eigenpairs of matrix v = lambda metric v up to the limit, and by how much others may be mixed into each."""
    from scipy.linalg import solve_triangular
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    from ...compiled.krylov import COLUMNS, filtered

    size, width = matrix.shape[0], wanted.width
    order = reverse_cuthill_mckee(matrix.T, symmetric_mode=True)  # CSR: columns of a symmetric matrix are its rows
    banded = matrix.T[order][:, order].tocsr()
    band = int(np.abs(np.repeat(np.arange(size), np.diff(banded.indptr)) - banded.indices).max())
    functions = np.random.default_rng(0).standard_normal((size, width))

    def smooth(_: int, part: slice) -> None:
        edge, block = _EDGE * wanted.limit, functions[order, part]
        parts = banded.indptr, banded.indices, banded.data, band
        found = filtered(*parts, edge, wanted.top, wanted.degree, block)
        functions[order, part] = found / np.linalg.norm(found, axis=0)

    for _ in range(_PASSES):
        share_out(list(slices(width, COLUMNS)), smooth, thread_count())
        root = apart(np.linalg.cholesky, _products(functions, functions))
        for rows in slices(size, _ENTRIES_OF_A_BLOCK // 8):
            functions[rows] = solve_triangular(root, functions[rows].T, lower=True).T
    stiffness = _products(functions, apart(matrix.__matmul__, functions))
    masses = _products(functions, apart(metric.__matmul__, functions))
    values, turn = eigenpairs((stiffness + stiffness.T) / 2, (masses + masses.T) / 2)
    kept = int(np.searchsorted(values, wanted.limit, side="right"))
    for rows in slices(size, _ENTRIES_OF_A_BLOCK):
        functions[rows, :kept] = functions[rows] @ turn[:, :kept]
    functions = np.ascontiguousarray(functions[:, :kept])
    residual = np.empty(kept)
    for part in slices(kept, 64):
        left = matrix @ functions[:, part] - metric @ (functions[:, part] * values[:kept][part])
        residual[part] = np.linalg.norm(left, axis=0)
    # A mode mixes with those above the edge, by what it leaves of the equation over how far away they are.
    mixed = residual / (_EDGE * wanted.limit - values[:kept])
    return Eigenpairs(values[:kept], functions), mixed


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """left' right, block after block of rows."""
    return np.asarray(sum(left[rows].T @ right[rows] for rows in slices(len(left), _ENTRIES_OF_A_BLOCK)))
