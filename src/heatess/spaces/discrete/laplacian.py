"""Laplacians given as matrices, and their lowest eigenpairs: what meshes, point clouds and graphs share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays import FloatArray
from ...errors import PrecisionError
from ..capabilities import Eigenpairs

TAIL = 1e-5  # share of the heat trace that the eigenpairs left out may hold
MOST_MODES = 4000  # more eigenpairs are refused: they would not fit in memory or time
DENSE = 1200  # matrices up to this size are diagonalised whole
_BAND = 120  # eigenpairs found around one shift, at most
_ACCURACY = 1e-10  # of the eigenvalues, relative


class Laplacian:
    """The eigenpairs of L phi = lambda M phi, orthonormal for the normalised masses, the first exactly (0, 1).

    L is a sparse *stiffness* matrix, symmetric and positive semi-definite with L 1 = 0. M is the diagonal of positive
    masses plus, where given, a *coupling* between nodes whose rows sum to zero. Eigenvectors are then multiplied by the
    root of M over the masses, to first order, so that they are orthonormal for the masses.
    If L is heat flow for a time *step* e, not its first-order part, its eigenvalues (1 - exp(-e lambda)) / e are
    corrected to lambda.

    The problem, scaled by the roots of the masses, is solved by shift-invert Lanczos in bands of about a hundred
    eigenvalues. Each band's number of eigenvalues is known beforehand by Sylvester's law of inertia, from the signs of
    the pivots of a factorisation, so none is missed, however degenerate. BLAS gets one thread: several take up to ten
    times as long on arrays so small where cores are busy.
    """

    def __init__(self, stiffness: Any, mass: FloatArray, *, coupling: Any = None, step: float = 0.0) -> None:
        from scipy import sparse

        self.mass, self.size, self._step = mass, len(mass), step
        self._root = np.sqrt(mass)
        scale = sparse.diags(1 / self._root)
        self._matrix = _symmetric(scale @ stiffness @ scale)
        self._metric = sparse.identity(self.size, format="csc")
        self._coupled = coupling is not None
        if self._coupled:
            self._metric = self._metric + _symmetric(scale @ coupling @ scale)
        self._raw = np.empty(0)  # eigenvalues of the matrices, before correction
        self._found = Eigenpairs(self._raw, np.empty((self.size, 0)))
        self._reach = -math.inf  # all eigenvalues of the matrices up to here have been found

    def below(self, limit: float) -> Eigenpairs:
        """All eigenpairs with eigenvalues up to *limit*, at all nodes; all there are of a small matrix."""
        if self._step:
            limit = -math.expm1(-self._step * limit) / self._step
        if limit > self._reach:
            self._solve(limit)
        if self._reach == math.inf:
            return self._found
        return self.lowest(max(int(np.searchsorted(self._raw, limit, side="right")), 1))

    def lowest(self, count: int) -> Eigenpairs:
        """The *count* lowest eigenpairs, at all nodes."""
        if len(self._raw) < count:
            self._solve(self.reaching(count))
        return Eigenpairs(self._found.values[:count], self._found.functions[:, :count])

    def reaching(self, count: int) -> float:
        """A number that at least *count* eigenvalues of the matrices, and not many more, do not exceed."""
        if count >= self.size or self.size <= DENSE:
            return math.inf
        low, high = 0.0, float(self._matrix.diagonal().mean()) * count / self.size
        while (found := self._count_below(high)) < count:
            low, high = high, 2 * high
        while found > count + _BAND:
            middle = (low + high) / 2
            inside = self._count_below(middle)
            low, high, found = (low, middle, inside) if inside >= count else (middle, high, found)
        return high

    def _count_below(self, limit: float) -> int:
        return int((self._factor(limit).U.diagonal() < 0).sum())

    def _factor(self, shift: float) -> Any:
        from scipy.sparse.linalg import splu

        # Pivots stay on the diagonal, so that L D L^T shows the inertia.
        shifted = self._matrix - shift * self._metric
        return splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def _solve(self, limit: float) -> None:
        """Find all eigenpairs up to *limit* and keep them."""
        from scipy.linalg import eigh
        from threadpoolctl import threadpool_limits

        if self.size <= DENSE:
            limit = math.inf
            with threadpool_limits(1, user_api="blas"):
                values, vectors = eigh(self._matrix.toarray(), self._metric.toarray() if self._coupled else None)
        else:
            count, most = self._count_below(limit), min(MOST_MODES, self.size // 2)
            if count > most:
                raise PrecisionError(
                    f"this scale needs {count} eigenpairs of {self.size} nodes, above the limit of {most}; "
                    "give coarser scales"
                )
            parts = self._bands(-1e-3 * float(self._matrix.diagonal().mean()), limit, count)
            values = np.concatenate([part.values for part in parts])
            vectors = np.concatenate([part.functions for part in parts], axis=1)
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
        values[0] = 0.0
        if self._coupled:
            vectors = (vectors + self._metric @ vectors) / 2
        vectors *= math.sqrt(self.mass.sum()) / self._root[:, None]
        vectors[:, 0] = 1.0
        self._raw, self._reach = np.maximum(values, 0.0), limit
        values = np.log(1 / np.maximum(1 - self._step * self._raw, 1e-3)) / self._step if self._step else self._raw
        self._found = Eigenpairs(values, vectors)

    def _bands(self, low: float, high: float, count: int, above: int = 0) -> list[Eigenpairs]:
        """The *count* eigenpairs between *low* and *high*, halving the interval until they are few."""
        if not count:
            return []
        if count > _BAND:
            middle = (low + high) / 2
            inside = self._count_below(middle) - above
            return self._bands(low, middle, inside, above) + self._bands(middle, high, count - inside, above + inside)
        return [self._band(low, high, count)]

    def _band(self, low: float, high: float, count: int) -> Eigenpairs:
        from scipy.sparse.linalg import LinearOperator, eigsh
        from threadpoolctl import threadpool_limits

        shift = (low + high) / 2  # so that the eigenvalues within are the nearest ones
        inverse = LinearOperator(self._matrix.shape, self._factor(shift).solve, dtype=np.float64)
        metric, slack = self._metric if self._coupled else None, 1e-9 * (high - low)
        for attempt in range(4):
            start = np.random.default_rng(attempt).standard_normal(self.size)
            room = min(self.size, (2 + attempt) * count + 20)
            with threadpool_limits(1, user_api="blas"):
                values, vectors = eigsh(
                    self._matrix, count, M=metric, sigma=shift, OPinv=inverse, v0=start, ncv=room, tol=_ACCURACY
                )
            if (values > low - slack).all() and (values < high + slack).all():
                return Eigenpairs(values, vectors)
        raise PrecisionError(f"the eigensolver lost some of the {count} eigenvalues between {low:g} and {high:g}")


def _symmetric(matrix: Any) -> Any:
    return ((matrix + matrix.T) / 2).tocsc()
