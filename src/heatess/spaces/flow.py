"""Heat on very many nodes without eigenpairs: Lanczos runs of the Laplacian.

With S the Laplacian scaled by the roots of the masses and r_x the functional that evaluates at a point x, the heat
kernel is k_2t(x, y) = r_x' exp(-2 t S) r_y. A Lanczos run from a vector v gives v' exp(-2 t S) v at every time t at
once, and from below and from above; see `engines.quadrature`.
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

from ..arrays import EPS, FloatArray, IntArray
from ..blocks import share_out, thread_count

#: Rows that one thread multiplies at least.
_ROWS = 50_000

#: Steps of a run that only asks how large the eigenvalues are.
_SOUNDING = 40

#: The share of the norm below which what is left of a vector is rounding.
_CLOSED = 1e-13


class LocalRuns(NamedTuple):
    """Lanczos runs from many starts: one row each."""

    alpha: FloatArray
    beta: FloatArray
    steps: IntArray
    lost: FloatArray  # norm of what each step left out: what lies beyond the ball, and the rest after the last step

    @property
    def dropped(self) -> FloatArray:
        """How much each run left out because it was taken for exhausted; zero where it was not, shape (n,)."""
        last = np.arange(len(self.steps)), self.steps - 1
        return np.where(self.beta[last] == 0, self.lost[last], 0.0)

    def rows(self, chosen: Any) -> LocalRuns:
        """The runs from some of the starts."""
        return LocalRuns(*(part[chosen] for part in self))

    def replaced(self, chosen: Any, others: LocalRuns) -> LocalRuns:
        """With longer runs from some of the starts in place of those there are."""
        more = others.alpha.shape[1] - self.alpha.shape[1]
        alpha, beta, lost = (np.pad(part, ((0, 0), (0, more))) for part in (self.alpha, self.beta, self.lost))
        found = LocalRuns(alpha, beta, self.steps.copy(), lost)
        for part, other in zip(found, others, strict=True):
            part[chosen] = other
        return found


@dataclass(frozen=True, eq=False)
class Flow:
    """The operator S = (1 + H) A (1 + H) with sparse symmetric A and H; H is None where it is zero.

    A is positive semi-definite; *constant*, of length one, is what it maps to zero.
    """

    matrix: Any
    half: Any
    constant: FloatArray

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.constant)

    @property
    def reach(self) -> int:
        """Hops from node to node in one multiplication."""
        return 1 if self.half is None else 3

    @property
    def entries(self) -> int:
        """Entries of matrices that one multiplication passes over."""
        return int(self.matrix.nnz + (0 if self.half is None else 2 * self.half.nnz))

    @cached_property
    def norm(self) -> float:
        """A bound on the largest eigenvalue: of A by Gershgorin's circles; 1 + H is between one and 19/16."""
        circles = float(abs(self.matrix).sum(axis=1).max())
        return circles if self.half is None else circles * float((1 + abs(self.half).sum(axis=1)).max()) ** 2

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
        half = (none, none, np.zeros(0)) if self.half is None else _parts(self.half)
        return *_parts(self.matrix), *half

    def run(self, start: FloatArray, rows: NDArray[Any] | None = None) -> Run:
        """A run from a vector without a constant part; the vectors of the run are kept at *rows*."""
        return Run(self, start, rows)

    def combined(self, start: FloatArray, shares: FloatArray) -> FloatArray:
        """sum_j shares_j x_j over the vectors x_j of a run, which is run again: none of them need be kept."""
        run, found = self.run(start), np.zeros(self.size)
        for share in shares:
            found += share * run.vector
            run.advance(1)
        return found

    def local(self, starts: Any, steps: int, hops: int) -> LocalRuns:
        """Runs of so many steps from each row of a sparse matrix, each held to a ball of so many hops."""
        from ..compiled.krylov import local

        count, threads = starts.shape[0], thread_count()
        alpha, beta, lost = np.zeros((3, count, steps))
        done = np.zeros(count, dtype=np.int64)
        workspace = [self._workspace() for _ in range(threads)]
        closed = _CLOSED * self.norm

        def one(thread: int, atom: int) -> None:
            part = slice(starts.indptr[atom], starts.indptr[atom + 1])
            done[atom] = local(
                *self.arrays,
                starts.indices[part],
                starts.data[part],
                hops,
                closed,
                *workspace[thread],
                alpha[atom],
                beta[atom],
                lost[atom],
            )

        share_out(range(count), one, threads)
        return LocalRuns(alpha, beta, done, lost)

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
    """A Lanczos run on all nodes, in the space without constants, that can be taken further."""

    def __init__(self, flow: Flow, start: FloatArray, rows: NDArray[Any] | None) -> None:
        start = start - (flow.constant @ start) * flow.constant
        self._flow, self.rows = flow, rows
        self.size = float(np.linalg.norm(start))
        self._alpha: list[float] = []
        self._beta: list[float] = []
        self._kept: list[FloatArray] = []
        self._x = start / self.size if self.size else start
        self._before, self._y, self._z = np.zeros((3, len(start)))
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
    def vector(self) -> FloatArray:
        """The vector from which the next step begins."""
        return self._x

    @property
    def kept(self) -> FloatArray:
        """The vectors of the run at the rows that are kept, shape (steps, rows)."""
        return np.array(self._kept)

    def advance(self, steps: int) -> None:
        """So many steps more, or until the space is exhausted."""
        size = self._flow.size
        threads = max(1, min(thread_count(), size // _ROWS))
        edges = np.linspace(0, size, threads + 1).astype(np.int64).tolist()
        parts = list(pairwise(edges))
        if threads == 1:
            self._advance(steps, lambda loop, *arguments: [loop(*arguments, *parts[0])])
            return
        from concurrent.futures import ThreadPoolExecutor  # loads logging, so not at import

        with ThreadPoolExecutor(threads) as pool:
            self._advance(steps, lambda loop, *arguments: list(pool.map(lambda part: loop(*arguments, *part), parts)))

    def _advance(self, steps: int, on_rows: Callable[..., list[Any]]) -> None:
        """With *on_rows*, which calls a loop on all rows, some on each thread."""
        from ..compiled.krylov import follow, multiply, remove

        flow, arrays = self._flow, self._flow.arrays
        matrix, half, constant = arrays[:3], arrays[3:], flow.constant
        for _ in range(steps):
            if self.closed:
                return
            x, before, y, z = self._x, self._before, self._y, self._z
            if self.rows is not None:
                self._kept.append(x[self.rows])
            if flow.half is None:
                on_rows(multiply, *matrix, x, 0.0, y)
            else:
                on_rows(multiply, *half, x, 1.0, y)
                on_rows(multiply, *matrix, y, 0.0, z)
                on_rows(multiply, *half, z, 1.0, y)
            sums = on_rows(follow, y, before, x, constant, self._beta[-1] if self._beta else 0.0)
            along, level, drift = (math.fsum(part[k] for part in sums) for k in range(3))
            beta = math.sqrt(math.fsum(on_rows(remove, y, x, constant, along, level - along * drift)))
            self.closed = beta <= _CLOSED * flow.norm
            self._alpha.append(along)
            self._beta.append(0.0 if self.closed else beta)
            self._dropped = beta if self.closed else 0.0
            y /= beta or 1.0
            self._x, self._before, self._y = y, x, before


def _parts(matrix: Any) -> tuple[Any, Any, Any]:
    return matrix.indptr, matrix.indices, matrix.data
