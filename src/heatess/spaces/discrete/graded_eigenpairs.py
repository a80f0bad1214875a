"""Eigenpairs of Laplacians whose links differ by many orders of magnitude, each of them to relative accuracy.

A symmetric eigensolver is right to rounding of the largest eigenvalue. Links weaker than that are lost in it, and all
large times rest on them. Here nothing is subtracted that would lose them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import EPS, FloatArray
from ...base.pool import until_stopped

_NOT_NEGATIVE = 1e-13  # links above minus this, relative to the other links of their nodes, are zeros that were rounded


class Links(NamedTuple):
    """The links of a Laplacian L = sum over links of w (e_i - e_j) (e_i - e_j)', each once."""

    first: Any
    second: Any
    weights: FloatArray


def links_of(stiffness: Any) -> Links | None:
    """The links of a sparse symmetric matrix whose rows sum to zero, or None if one of them is negative."""
    from scipy.sparse import triu

    entries = triu(stiffness, k=1).tocoo()
    weights, diagonal = -entries.data, stiffness.diagonal()
    least = np.minimum(diagonal[entries.row], diagonal[entries.col])
    if (weights < -_NOT_NEGATIVE * least).any():
        return None
    kept = weights > 0
    return Links(entries.row[kept], entries.col[kept], weights[kept])


def graded_eigenpairs(
    links: Links, mass: FloatArray, metric: FloatArray | None
) -> tuple[FloatArray, FloatArray] | None:
    """All eigenpairs of S L S v = lambda G v, S the inverse roots of the masses and G the *metric*.

    L = X X' by elimination without subtraction (Grassmann, Taksar and Heyman), so X is right entry by entry however
    much the links differ. Eigenvalues are the squared singular values of C^-1 S X, with G = C C', by the Jacobi method
    of Drmac and Veselic, which keeps the digits of the small ones. None where that does not converge.
    """
    from scipy.linalg import cholesky, solve_triangular

    size, root = len(mass), np.sqrt(mass)
    factor = _factor(links, mass) / root[:, None]
    lower = None if metric is None else cholesky(metric, lower=True)
    if lower is not None:
        factor = solve_triangular(lower, factor, lower=True)
    found = singular(factor)
    if found is None:
        return None
    values, vectors = found
    if lower is not None:
        vectors = solve_triangular(lower, vectors, lower=True, trans="T")
    constant = root / np.sqrt(mass.sum())
    order = np.argsort(values)
    return np.append(0.0, values[order] ** 2), np.column_stack([constant, vectors[:, order]])[:, :size]


def singular(matrix: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Singular values and left singular vectors, relatively accurate where columns differ in size but not direction.

    LAPACK is called through ctypes, as SciPy's own call of this routine stops all other threads of Python for as long
    as it takes, and Ctrl-C with them.
    """
    rows, columns = matrix.shape
    copy, vectors = np.asfortranarray(matrix).copy(order="F"), np.empty((rows, columns), order="F")
    values, info = np.empty(columns), np.zeros(1, np.intc)
    work = np.empty(max(2 * rows + columns, 2 * columns**2 + 6 * columns, 7))
    whole = np.empty(rows + 3 * columns, np.intc)
    sizes = {size: np.array([size], np.intc) for size in (rows, columns, 1, len(work))}
    numbers = (rows, columns, copy, rows, values, vectors, rows, np.empty(1), 1, work, len(work), whole, info)
    held = [sizes[item] if isinstance(item, int) else item for item in numbers]
    letters = [ctypes.c_char_p(letter) for letter in (b"F", b"U", b"N", b"R", b"N", b"P")]
    _jacobi()(*letters, *(ctypes.c_void_p(item.ctypes.data) for item in held))
    return None if info[0] else (values * (work[0] / work[1]), vectors)


@cache
def _jacobi() -> Callable[..., None]:
    """The routine dgejsv of the LAPACK that SciPy was built with."""
    from scipy.linalg import cython_lapack

    capsule = ctypes.py_object(cython_lapack.__pyx_capi__["dgejsv"])
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 19)(address(capsule, name(capsule)))


def _factor(links: Links, mass: FloatArray) -> FloatArray:
    """X with L = X X', shape (n, n - 1): nodes are eliminated by the rate at which heat leaves them, fastest first."""
    size = len(mass)
    weights = np.zeros((size, size))
    np.add.at(weights, (links.first, links.second), links.weights)
    weights += weights.T
    leaving, found = weights.sum(axis=1), np.zeros((size, size - 1))
    alive = np.ones(size, dtype=bool)
    for step in until_stopped(range(size - 1)):
        node = int(np.argmax(np.where(alive, leaving / mass, -1.0)))
        alive[node] = False
        near = np.flatnonzero(weights[node])
        row = weights[node, near]
        total = float(row.sum())
        found[near, step], found[node, step] = -row / np.sqrt(total), np.sqrt(total)
        weights[node] = weights[:, node] = 0.0
        weights[np.ix_(near, near)] += np.outer(row, row / total)
        weights[near, near] = 0.0
        leaving[near] = weights[near].sum(axis=1)
    return found


def relative_error(size: int) -> float:
    """Of these eigenpairs, as a relative perturbation of the links: measured against 200 bits, times a few."""
    return 8 * size * EPS
