"""Laplacians given as matrices, and their lowest eigenpairs: what meshes, point clouds and graphs share.

A Laplacian is a sparse stiffness matrix L, symmetric and positive semi-definite with L 1 = 0, and a
positive mass at each node. Its eigenpairs solve L phi = lambda M phi with M the matrix of masses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ...arrays import FloatArray
from ...errors import PrecisionError

#: Share of the heat trace that the eigenpairs left out may hold.
TAIL = 1e-5

#: Eigenpairs above this number are refused: they would not fit in memory or time.
MOST_MODES = 4000

#: Matrices up to this size are diagonalised whole.
DENSE = 1200

#: Eigenpairs found around one shift, at most.
_BAND = 120

#: Relative accuracy of the eigenvalues.
_ACCURACY = 1e-10


class Modes(NamedTuple):
    """Eigenvalues (modes,) and, at every node, eigenfunctions (nodes, modes)."""

    values: FloatArray
    vectors: FloatArray


#: Better eigenvalues from those of the matrix, in the same order.
Correction = Callable[[Modes], FloatArray]


class Laplacian:
    """The eigenpairs of L phi = lambda M phi, orthonormal for the normalised masses, the first exactly (0, 1).

    M is the diagonal of masses plus, where given, a *coupling* between nodes whose rows sum to zero. Eigenvectors are
    then multiplied by the root of M over the masses, to first order, so that they are orthonormal for the masses.
    The problem, scaled by the roots of the masses, is solved by shift-invert Lanczos in bands of about a
    hundred eigenvalues. Each band's number of eigenvalues is known beforehand by Sylvester's law of
    inertia, from the signs of the pivots of a factorisation, so none is missed, however degenerate.

    What is known of the error of the eigenvalues is then taken off by *correct*.
    """

    def __init__(
        self, stiffness: Any, mass: FloatArray, *, coupling: Any = None, correct: Correction | None = None
    ) -> None:
        from scipy import sparse

        self.mass = mass
        self._correct = correct
        self._root = np.sqrt(mass)
        scale = sparse.diags(1 / self._root)
        self._matrix = _symmetric(scale @ stiffness @ scale)
        self._metric = sparse.identity(len(mass), format="csc")
        if coupling is not None:
            self._metric = self._metric + _symmetric(scale @ coupling @ scale)
        self._coupled = coupling is not None
        self._raw = np.empty(0)  # eigenvalues of the matrices, before correction
        self._found = Modes(self._raw, np.empty((len(mass), 0)))
        self._reach = -math.inf  # all eigenvalues up to here have been found

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.mass)

    def below(self, limit: float) -> Modes:
        """All eigenpairs whose uncorrected eigenvalues are up to *limit*; all there are of a small matrix."""
        if limit > self._reach:
            self._solve(limit)
        if self._reach == math.inf:
            return self._found
        count = max(int(np.searchsorted(self._raw, limit, side="right")), 1)
        return Modes(self._found.values[:count], self._found.vectors[:, :count])

    def lowest(self, count: int) -> Modes:
        """The *count* lowest eigenpairs."""
        if len(self._raw) < count:
            self._solve(self.reaching(count))
        return Modes(self._found.values[:count], self._found.vectors[:, :count])

    def reaching(self, count: int) -> float:
        """A number that at least *count* eigenvalues, and not many more, do not exceed."""
        if count >= self.size or self.size <= DENSE:
            return math.inf
        low, high = 0.0, float(self._matrix.diagonal().mean()) * count / self.size
        while (found := self.count_below(high)) < count:
            low, high = high, 2 * high
        while found > count + _BAND:
            middle = (low + high) / 2
            inside = self.count_below(middle)
            low, high, found = (low, middle, inside) if inside >= count else (middle, high, found)
        return high

    def count_below(self, limit: float) -> int:
        """The number of eigenvalues up to *limit*: the negative pivots of the matrix less *limit*."""
        factor = self._factor(limit)
        return int((factor.U.diagonal() < 0).sum())

    def _factor(self, shift: float) -> Any:
        from scipy.sparse.linalg import splu

        # Pivots stay on the diagonal, so that L D L^T shows the inertia.
        return splu(
            self._matrix - shift * self._metric,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def _solve(self, limit: float) -> None:
        """Find all eigenpairs up to *limit* and keep them."""
        from scipy.linalg import eigh

        if self.size <= DENSE:
            limit = math.inf
            with _one_thread():
                values, vectors = eigh(self._matrix.toarray(), self._metric.toarray() if self._coupled else None)
        else:
            count = self.count_below(limit)
            if count > MOST_MODES or 2 * count > self.size:
                most = min(MOST_MODES, self.size // 2)
                raise PrecisionError(
                    f"this scale needs {count} eigenpairs of {self.size} nodes, above the limit of {most}; "
                    "give coarser scales"
                )
            start = -1e-3 * float(self._matrix.diagonal().mean())
            parts = self._bands(start, limit, count)
            values = np.concatenate([part.values for part in parts])
            vectors = np.concatenate([part.vectors for part in parts], axis=1)
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
        values[0] = 0.0
        if self._coupled:
            vectors = (vectors + self._metric @ vectors) / 2
        vectors *= math.sqrt(self.mass.sum()) / self._root[:, None]
        vectors[:, 0] = 1.0
        self._raw, self._reach = np.maximum(values, 0.0), limit
        found = Modes(self._raw, vectors)
        self._found = found if self._correct is None else Modes(self._correct(found), vectors)

    def _bands(self, low: float, high: float, count: int, above: int = 0) -> list[Modes]:
        """The *count* eigenpairs between *low* and *high*, halving the interval until they are few."""
        if not count:
            return []
        if count > _BAND:
            middle = (low + high) / 2
            inside = self.count_below(middle) - above
            return self._bands(low, middle, inside, above) + self._bands(middle, high, count - inside, above + inside)
        return [self._band(low, high, count)]

    def _band(self, low: float, high: float, count: int) -> Modes:
        from scipy.sparse.linalg import LinearOperator, eigsh

        shift = (low + high) / 2  # so that the eigenvalues within are the nearest ones
        inverse = LinearOperator(self._matrix.shape, self._factor(shift).solve, dtype=np.float64)
        for attempt in range(4):
            start = np.random.default_rng(attempt).standard_normal(self.size)
            room = min(self.size, (2 + attempt) * count + 20)
            with _one_thread():
                values, vectors = eigsh(
                    self._matrix,
                    count,
                    M=self._metric if self._coupled else None,
                    sigma=shift,
                    OPinv=inverse,
                    v0=start,
                    ncv=room,
                    tol=_ACCURACY,
                )
            slack = 1e-9 * (high - low)
            if (values > low - slack).all() and (values < high + slack).all():
                return Modes(values, vectors)
        raise PrecisionError(f"the eigensolver lost some of the {count} eigenvalues between {low:g} and {high:g}")


def _symmetric(matrix: Any) -> Any:
    return ((matrix + matrix.T) / 2).tocsc()


def _one_thread() -> AbstractContextManager[Any]:
    """The arrays are too small to share: several threads take up to ten times as long on busy cores."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1, user_api="blas")  # type: ignore[no-any-return]
