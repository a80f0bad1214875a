"""The lowest eigenpairs of a sparse symmetric matrix, band after band, however often an eigenvalue is repeated."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import EPS, FloatArray, IntArray
from ...base.errors import PrecisionError
from ...base.pool import apart
from ..capabilities import Eigenpairs
from ..flow import circles
from .dense_eigenpairs import eigenpairs

MOST_EIGENPAIRS_OF_SHIFT = 120  # eigenpairs found around one shift, at most
_ACCURACY = 1e-10  # of the eigenvalues, relative
_RESTARTS = 60  # of the eigensolver, before a band is halved
_SPLITS = (0.4927, 0.73, 0.29, 0.88, 0.13)  # of an interval, off the middle: eigenvalues are often round numbers
_NARROW = 1e-9  # share of its upper end below which an interval is not halved any more
_NUDGE = 4e-14  # of a shift that is an eigenvalue, relative
_LEFT = 4 * EPS  # of the equation by a block of functions, per root of the size, relative to the matrix: rounding
_MIXED = 1e-8  # functions mixed with the constant by less have lost nothing of their length


class Factor(NamedTuple):
    """A factorisation of a matrix whose nodes are in another order."""

    factors: Any
    order: IntArray

    @property
    def negative(self) -> int:
        """The number of negative eigenvalues."""
        return int((self.factors.U.diagonal() < 0).sum())

    def solve(self, right: FloatArray) -> FloatArray:
        """The solution for one right side or several."""
        found = np.empty_like(right)
        found[self.order] = self.factors.solve(right[self.order])
        return found


class Bands:
    """Eigenpairs of matrix v = lambda metric v, by shift-invert Lanczos in bands of about a hundred.

    Each band's number of eigenvalues is known beforehand by Sylvester's law of inertia, from the signs of the pivots of
    a factorisation, so none is missed. An eigenvalue that is repeated more often than a band holds, as on graphs with
    many equal leaves, has its functions from a block of random ones and inverse iteration.
    """

    def __init__(self, matrix: Any, metric: Any, coupled: bool) -> None:
        self._matrix, self._metric, self._coupled = matrix, metric, coupled
        self._size, self._scale = matrix.shape[0], float(matrix.diagonal().mean())
        self._rounding = _LEFT * math.sqrt(self._size) * circles(matrix)  # of eigenvalues
        self._counts: dict[float, int] = {}

    def count_below(self, limit: float) -> int:
        """How many eigenvalues are below *limit*."""
        if limit not in self._counts:
            self._counts[limit] = self.factor(limit).negative
        return self._counts[limit]

    def reaching(self, count: int, *, within: float = _NARROW) -> float:
        """A number that at least *count* eigenvalues do not exceed.

        Not many more do not, unless there are that many within a share *within* of it.
        """
        low, high = 0.0, self._scale * count / self._size
        while (found := self.count_below(high)) < count:
            low, high = high, 2 * high
        while found > count + MOST_EIGENPAIRS_OF_SHIFT and high - low > max(within * high, self._rounding):
            middle = low + _SPLITS[0] * (high - low)
            inside = self.count_below(middle)
            low, high, found = (low, middle, inside) if inside >= count else (middle, high, found)
        return float(high)

    def factor(self, shift: float, *, stable: bool = False) -> Factor:
        """Of the matrix less *shift* times the metric, or of a shift beside it where that is singular.

        Pivots stay on the diagonal, so that L D L' shows the inertia, unless it must be *stable*.
        """
        from scipy.sparse.linalg import splu

        matrix, metric, order = self._ordered
        options: dict[str, Any] = {} if stable else {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        for attempt in range(8):
            nudge = 0.0 if not attempt else _NUDGE * 3.0**attempt * max(abs(shift), EPS * self._scale)
            try:
                found = apart(splu, matrix - (shift + nudge) * metric, permc_spec="NATURAL", **options)
                return Factor(found, order)
            except RuntimeError:  # exactly singular
                continue
        raise PrecisionError(f"the matrix of {self._size:,} nodes cannot be factorised near {shift:g}")

    @cached_property
    def _ordered(self) -> tuple[Any, Any, IntArray]:
        """Both matrices in the order of nodes that keeps factors sparse: beside many leaves it takes long to find."""
        from scipy.sparse.linalg import splu

        safe = self._matrix + self._scale * self._metric
        found = apart(splu, safe, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        order = np.argsort(found.perm_c)
        return *((part[order][:, order]).tocsc() for part in (self._matrix, self._metric)), order

    def eigenpairs(self, limit: float, more: int = 0) -> tuple[FloatArray, FloatArray, float]:
        """All up to *limit*, in order, and by how much functions of neighbouring bands are not orthogonal.

        And so many *more*, of an eigenvalue just above that is repeated more often than that.
        """
        from threadpoolctl import threadpool_limits

        parts = self._between(-1e-3 * self._scale, limit, self.count_below(limit), 0)
        if more:
            parts.append(self._block(limit, limit, more))
        with threadpool_limits(1, user_api="blas"):
            products = (one.functions.T @ (self._metric @ two.functions) for one, two in pairwise(parts))
            skew = [float(np.linalg.norm(product)) for product in products]
        values = np.concatenate([part.values for part in parts])
        vectors = np.concatenate([part.functions for part in parts], axis=1)
        order = np.argsort(values, kind="stable")
        return values[order], vectors[:, order], max(skew, default=0.0)

    def _between(self, low: float, high: float, count: int, above: int) -> list[Eigenpairs]:
        """The *count* eigenpairs between *low* and *high*, halving the interval until they are few or one value."""
        if not count:
            return []
        if high - low <= max(_NARROW * max(abs(low), abs(high)), self._rounding):
            return [self._block(low, high, count)]
        if count <= MOST_EIGENPAIRS_OF_SHIFT and (found := self._band(low, high, count)) is not None:
            return [found]
        if (middle := self._middle(low, high)) is None:
            return [self._block(low, high, count)]
        inside = self.count_below(middle) - above
        return self._between(low, middle, inside, above) + self._between(middle, high, count - inside, above + inside)

    def _middle(self, low: float, high: float) -> float | None:
        """A place between eigenvalues, where that must be looked for because rounding blurs them; None without one."""
        places = [low + share * (high - low) for share in _SPLITS]
        if high - low > 1e4 * self._rounding:
            return places[0]
        near = self._rounding
        clear = (place for place in places if self.count_below(place - near) == self.count_below(place + near))
        return next(clear, None)

    def _band(self, low: float, high: float, count: int) -> Eigenpairs | None:
        """None where the eigensolver does not find them all, as of values that are repeated often."""
        from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
        from threadpoolctl import threadpool_limits

        shift = (low + high) / 2  # so that the eigenvalues within are the nearest ones
        inverse = LinearOperator(self._matrix.shape, self.factor(shift).solve, dtype=np.float64)
        metric, slack = self._metric if self._coupled else None, 1e-9 * (high - low)
        options = {"M": metric, "sigma": shift, "OPinv": inverse, "tol": _ACCURACY, "maxiter": _RESTARTS}
        for attempt in range(3):
            start = np.random.default_rng(attempt).standard_normal(self._size)
            room = min(self._size, (2 + attempt) * count + 20)
            try:
                with threadpool_limits(1, user_api="blas"):
                    values, vectors = eigsh(self._matrix, count, v0=start, ncv=room, **options)
            except ArpackError:
                continue
            if (values > low - slack).all() and (values < high + slack).all():
                return Eigenpairs(values, vectors)
        return None

    def _block(self, low: float, high: float, count: int) -> Eigenpairs:
        """The eigenpairs of one value, repeated *count* times: inverse iteration of as many random functions."""
        from threadpoolctl import threadpool_limits

        solve = self.factor(low, stable=True).solve
        found = np.random.default_rng(0).standard_normal((self._size, count))
        left, before = math.inf, math.inf
        with threadpool_limits(1, user_api="blas"):
            for _ in range(12):
                found = apart(np.linalg.qr, apart(solve, np.asarray(self._metric @ found)))[0]
                masses = found.T @ (self._metric @ found) if self._coupled else None
                stiffness = found.T @ (self._matrix @ found)
                values, turn = eigenpairs((stiffness + stiffness.T) / 2, masses)
                found = found @ turn
                residual = self._matrix @ found - self._metric @ (found * values)
                left, before = float(np.linalg.norm(residual, axis=0).max()), left
                if left < self._rounding or left > before / 2:
                    break
        if left > 1e6 * self._rounding:
            raise PrecisionError(
                f"the {count} eigenvalues between {low:.12g} and {high:.12g} cannot be told from others; give coarser "
                "scales"
            )
        return Eigenpairs(values, found)


def without_constant(values: FloatArray, vectors: FloatArray, constant: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same span with the *constant* first, and all others orthogonal to it and as long as they were.

    Where the second eigenvalue is tiny the constant is mixed into its function. Taking its share out of that would
    leave it too short.
    """
    from scipy.linalg import eigh

    shares = constant @ vectors
    mixed = np.flatnonzero(np.abs(shares) > _MIXED)
    count = int(mixed[-1]) + 1 if len(mixed) else 1
    if count > 1:
        order = np.argsort(np.abs(shares[:count]))  # the unit vectors to keep are those that the constant shares least
        basis = np.column_stack([shares[:count], np.eye(count)[:, order[:-1]]])
        turn = np.linalg.qr(basis)[0][:, 1:]
        values[1:count], inner = eigh(turn.T @ (values[:count, None] * turn))
        vectors[:, 1:count] = vectors[:, :count] @ (turn @ inner)
    values[0], vectors[:, 0] = 0.0, constant
    return values, vectors
