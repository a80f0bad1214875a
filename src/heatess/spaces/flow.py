"""Heat on very many nodes without eigenpairs: Lanczos runs of the Laplacian.

S = A G is the Laplacian A, scaled by the roots of the masses, with G the inverse of what couples masses of neighbours
(one on graphs). It is symmetric in the inner product x' G y, which all products and lengths of vectors mean here. With
r_x the functional that evaluates at a point x, the heat kernel is k_2t(x, y) = r_x' G exp(-2 t S) r_y. A Lanczos run
from a vector v gives v' G exp(-2 t S) v at every time t at once, and from below and from above; see
`engines.lanczos_quadrature`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray, IntArray
from ..base.blocks import share_out, thread_count
from ..base.pool import apart, flag, team, until_stopped

#: Rows that one thread multiplies at least.
ROWS_OF_A_THREAD = 50_000

#: Steps of a run that only asks how large the eigenvalues are.
_SOUNDING = 40

#: The share of the norm below which what is left of a vector is rounding, on all nodes, and near a few of them, where
#: it is measured against numbers of at least one.
_CLOSED, _CLOSED_LOCAL = 16 * EPS, 1e-13


#: The share of the norm below which rounding may have brought the constant back.
_LITTLE = 1e-6


class LocalRuns(NamedTuple):
    """Lanczos runs from many starts: one row each."""

    alpha: FloatArray
    beta: FloatArray
    steps: IntArray
    dropped: FloatArray  # what each run left out because it was taken for exhausted; zero where it was not, shape (n,)

    def rows(self, chosen: Any) -> LocalRuns:
        """The runs from some of the starts."""
        return LocalRuns(*(part[chosen] for part in self))

    def replaced(self, chosen: Any, others: LocalRuns) -> LocalRuns:
        """With longer runs from some of the starts in place of those there are."""
        more = others.alpha.shape[1] - self.alpha.shape[1]
        alpha, beta = (np.pad(part, ((0, 0), (0, more))) for part in (self.alpha, self.beta))
        found = LocalRuns(alpha, beta, self.steps.copy(), self.dropped.copy())
        for part, other in zip(found, others, strict=True):
            part[chosen] = other
        return found


@dataclass(frozen=True, eq=False)
class Flow:
    """The operator S = A G, with sparse symmetric A and G = 1 + C; C is None where it is zero.

    Both are positive semi-definite; *constant*, of length one, is what both map to zero.
    """

    matrix: Any
    coupling: Any
    constant: FloatArray

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.constant)

    @property
    def reach(self) -> int:
        """Hops from node to node in one multiplication."""
        return 1 if self.coupling is None else 2

    @property
    def entries(self) -> int:
        """Entries of matrices that one multiplication passes over."""
        return int(self.matrix.nnz + (0 if self.coupling is None else self.coupling.nnz))

    @cached_property
    def norm(self) -> float:
        """A bound on the largest eigenvalue: of A and of G by Gershgorin's circles."""
        return circles(self.matrix) * (1.0 if self.coupling is None else 1 + circles(self.coupling))

    def longest(self, sizes: FloatArray) -> float:
        """No vector whose entries are up to these *sizes* is longer."""
        stretch = 1.0 if self.coupling is None else 1 + circles(self.coupling)
        return math.sqrt(stretch) * float(np.linalg.norm(sizes))

    def squares(self, starts: Any) -> FloatArray:
        """The squared length of each row of a sparse matrix."""
        weighed = starts if self.coupling is None else starts + starts @ self.coupling
        return np.asarray((starts * weighed).sum(axis=1)).ravel()

    @cached_property
    def _sounding(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, and the share of all that each stands for, roughly: from a short run of a random vector."""
        from scipy.linalg import eigh_tridiagonal

        run = self.run(np.random.default_rng(0).standard_normal(self.size))
        run.advance(_SOUNDING)
        alpha, beta = run.tridiagonal
        values, vectors = eigh_tridiagonal(alpha, beta[:-1])
        return values, vectors[0] ** 2

    @property
    def top(self) -> float:
        """About the largest eigenvalue."""
        return 1.01 * float(self._sounding[0][-1])

    def count(self, limit: float) -> int:
        """Roughly how many eigenvalues are below *limit*."""
        values, shares = self._sounding
        inside = float(np.interp(limit, np.append(0.0, values), np.append(0.0, np.cumsum(shares))))
        return int(inside * self.size)

    @property
    def noise(self) -> float:
        """Runs that go on are exact for an operator that differs from S by no more than this: rounding."""
        return 8 * EPS * self.norm

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """Of both matrices: where rows begin, columns, entries."""
        none = np.zeros(0, dtype=np.int32)
        coupling = (none, none, np.zeros(0)) if self.coupling is None else _parts(self.coupling)
        return *_parts(self.matrix), *coupling

    def run(self, start: FloatArray, rows: NDArray[Any] | None = None) -> Run:
        """A run from a vector, without its constant part; G times the vectors of the run is kept at *rows*."""
        return Run(self, start, rows)

    def combined(self, start: FloatArray, shares: FloatArray) -> FloatArray:
        """G sum_j shares_j x_j over the vectors x_j of a run, which is run again: none of them need be kept."""
        found, left = np.zeros(self.size), iter(shares.tolist())

        def add(vector: FloatArray, scale: float) -> None:
            np.add(found, next(left) * scale * vector, out=found)

        self.run(start).advance(len(shares), add)
        return found

    def local(self, starts: Any, steps: int, hops: int) -> LocalRuns:
        """Runs of so many steps from each row of a sparse matrix, each held to a ball of so many hops."""
        from ..compiled.krylov import local

        count, threads = starts.shape[0], thread_count()
        alpha, beta = np.zeros((2, count, steps))
        done, dropped = np.zeros(count, dtype=np.int64), np.zeros(count)
        workspace = [self._workspace() for _ in range(threads)]
        closed = _CLOSED_LOCAL * self.norm

        def one(thread: int, atom: int) -> None:
            stopped = flag()
            part = slice(starts.indptr[atom], starts.indptr[atom + 1])
            done[atom], dropped[atom] = local(
                *self.arrays,
                starts.indices[part],
                starts.data[part],
                hops,
                closed,
                stopped,
                *workspace[thread],
                alpha[atom],
                beta[atom],
            )

        apart(share_out, range(count), one, threads)
        return LocalRuns(alpha, beta, done, dropped)

    def ball_sizes(self, nodes: NDArray[Any], hops: int) -> FloatArray:
        """Mean numbers of nodes up to 0, 1, ..., *hops* hops from some nodes."""
        from ..compiled.krylov import ball_sizes

        workspace = self._workspace()
        arrays = self.arrays
        chosen = (*arrays[:2], *arrays[3:5])
        found = [ball_sizes(*chosen, nodes[k : k + 1], hops, *workspace) for k in range(len(nodes))]
        return np.asarray(np.mean(found, axis=0))

    def _workspace(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return np.full(self.size, -1, dtype=np.int32), np.empty(self.size, dtype=np.int32)


class Run:
    """A Lanczos run on all nodes, in the space without constants, that can be taken further.

    Vectors are stored at the length that they are found with, and scaled where they are used.
    """

    def __init__(self, flow: Flow, start: FloatArray, rows: NDArray[Any] | None) -> None:
        from ..compiled.krylov import product

        for _ in range(2):  # the second time for what rounding of the first leaves, which may be much of what is left
            start = start - product(start, flow.constant, len(start)) * flow.constant
        self._flow, self.rows = flow, rows
        self._alpha: list[float] = []
        self._beta: list[float] = []
        self._kept: list[FloatArray] = []
        self._x, self._before, self._y = start, np.zeros(len(start)), np.empty(len(start))
        self._weighed = self._spare = start  # G x
        if flow.coupling is not None:
            self._weighed, self._spare = start + flow.coupling @ start, np.empty(len(start))
        self._back = 0.0  # what is taken off of the vector before
        self.size = math.sqrt(max(product(start, self._weighed, len(start)), 0.0))
        self._scale = 1 / self.size if self.size else 0.0
        self.closed = not self.size  # whether the space is exhausted, so that nothing more can be found
        self._dropped = 0.0

    @property
    def tridiagonal(self) -> tuple[FloatArray, FloatArray]:
        """S in the vectors of the run: the diagonal, and what is beside it; the last entry leads out of them."""
        return np.array(self._alpha), np.array(self._beta)

    @property
    def noise(self) -> float:
        """The run is exact for an operator that differs from S by no more: rounding, and what it left out."""
        return self._flow.noise + self._dropped

    @property
    def kept(self) -> FloatArray:
        """G times the vectors of the run at the rows that are kept, shape (steps, rows)."""
        return np.array(self._kept)

    def advance(self, steps: int, visit: Callable[[FloatArray, float], None] | None = None) -> None:
        """So many steps more, or until the space is exhausted; *visit* is given each G x and its scale."""
        size = self._flow.size
        threads = max(1, min(thread_count(), size // ROWS_OF_A_THREAD))
        edges = np.linspace(0, size, threads + 1).astype(np.int64).tolist()
        parts = list(pairwise(edges))
        if threads == 1:
            self._advance(steps, visit, lambda loop, *arguments: [loop(*arguments, *parts[0])])
            return
        with team(threads) as on_all:
            self._advance(steps, visit, lambda loop, *arguments: on_all(lambda part: loop(*arguments, *part), parts))

    def _advance(
        self, steps: int, visit: Callable[[FloatArray, float], None] | None, on_rows: Callable[..., list[Any]]
    ) -> None:
        """With *on_rows*, which calls a loop on all rows, some on each thread."""
        from ..compiled.krylov import multiply, product, remove, step

        flow, arrays = self._flow, self._flow.arrays
        matrix, coupling, constant = arrays[:3], arrays[3:], flow.constant
        for _ in until_stopped(range(steps)):
            if self.closed:
                return
            x, weighed, y, scale = self._x, self._weighed, self._y, self._scale
            if self.rows is not None:
                self._kept.append(scale * weighed[self.rows])
            if visit is not None:
                visit(weighed, scale)
            sums = on_rows(step, *matrix, weighed, scale, self._before, self._back, constant, y)
            along, level, drift = (math.fsum(part[k] for part in sums) for k in range(3))
            along *= scale
            squares = on_rows(remove, y, x, constant, along * scale, level - along * scale * drift)
            if math.fsum(squares) <= (_LITTLE * flow.norm) ** 2:  # so little that rounding shows: once more
                squares = on_rows(remove, y, x, constant, 0.0, product(y, constant, len(y)))
            self._weighed = y
            if flow.coupling is not None:
                self._weighed, self._spare = self._spare, weighed
                squares = on_rows(multiply, *coupling, y, 1.0, self._weighed)
            beta = math.sqrt(max(math.fsum(squares), 0.0))
            self.closed = beta <= _CLOSED * flow.norm
            self._alpha.append(along)
            self._beta.append(0.0 if self.closed else beta)
            self._dropped = beta if self.closed else 0.0
            self._x, self._before, self._y = y, x, self._before
            self._back, self._scale = beta * scale, 1 / (beta or 1.0)


def circles(matrix: Any) -> float:
    """A bound on the absolute eigenvalues of a sparse symmetric matrix: Gershgorin's circles."""
    return float(abs(matrix).sum(axis=1).max())


def _parts(matrix: Any) -> tuple[Any, Any, Any]:
    return matrix.indptr, matrix.indices, matrix.data
