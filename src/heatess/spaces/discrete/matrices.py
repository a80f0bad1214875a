"""Sparse symmetric matrices with one row per node, made with few copies: a million nodes have ten million links."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray
from ...base.blocks import slices

_ROWS_SCALED_AT_ONCE = 4096  # whose entries are scaled at once


def symmetric(matrix: Any) -> Any:
    """(A + A') / 2 as CSR, without stored zeros: A itself, if it is just that. Entries of A are sorted, each once."""
    mirrored = matrix.T.tocsr()
    if not same_pattern(matrix, mirrored):
        return (matrix + mirrored) / 2
    if np.array_equal(matrix.data, mirrored.data) and matrix.data.all():
        return matrix
    mirrored.data = (matrix.data + mirrored.data) / 2
    mirrored.eliminate_zeros()
    return mirrored


def same_pattern(one: Any, other: Any) -> bool:
    """Whether two CSR matrices have their entries, sorted, at the same places."""
    return np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices)


def scaled(matrix: Any, factors: FloatArray) -> Any:
    """S A S for a symmetric CSR matrix A and S the diagonal of *factors*; A itself where all are one."""
    if (factors == 1).all():
        return matrix
    data = np.empty_like(matrix.data)
    for rows in slices(len(factors), _ROWS_SCALED_AT_ONCE):
        ends = matrix.indptr[rows.start : rows.stop + 1]
        part = slice(ends[0], ends[-1])
        left, right, values = np.repeat(factors[rows], np.diff(ends)), factors[matrix.indices[part]], matrix.data[part]
        data[part] = (left * values * right + right * values * left) / 2  # to the last bit symmetric
    return with_data(matrix, data)


def with_data(matrix: Any, data: FloatArray) -> Any:
    """A CSR matrix with the places of *matrix*, in the same memory, and other *data*."""
    from scipy.sparse import csr_array

    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def edge_matrix(pairs: NDArray[Any], values: FloatArray, size: int) -> Any:
    """Sparse symmetric matrix of *size* nodes with *values* at *pairs* of them, shape (p, 2), in either order."""
    once = from_entries(pairs[:, 0], pairs[:, 1], values, (size, size))
    return once + once.T.tocsr()


def from_entries(rows: NDArray[Any], columns: NDArray[Any], values: FloatArray, shape: tuple[int, int]) -> Any:
    """Sparse CSR matrix of *values* at places, added up where one is named twice; 32-bit indices where they suffice."""
    from scipy.sparse import coo_array

    kind = np.int32 if max(*shape, len(values)) < 2**31 else np.int64
    places = (rows.astype(kind, copy=False), columns.astype(kind, copy=False))
    return coo_array((values, places), shape=shape).tocsr()


def edge_laplacian(pairs: NDArray[Any], weights: FloatArray, size: int) -> Any:
    """L with phi' L phi = sum over *pairs*, each given once, of w (phi_i - phi_j)^2."""
    return degrees_less(edge_matrix(pairs, weights, size))


def degrees_less(adjacency: Any) -> Any:
    """D - W for a symmetric matrix W of link weights, D the diagonal of its row sums."""
    from scipy.sparse import diags_array

    return diags_array(np.asarray(adjacency.sum(axis=1)).ravel(), format="csr") - adjacency
