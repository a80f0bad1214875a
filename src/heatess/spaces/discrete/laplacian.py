"""Laplacians given as matrices, and their lowest eigenpairs: what meshes, point clouds and graphs share."""

from __future__ import annotations

import math
from functools import cached_property
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import EPS, FloatArray
from ...base.blocks import slices
from ...base.errors import PrecisionError
from ...base.pool import apart
from ...base.progress import announce
from ..capabilities import Rounding
from ..flow import Flow, circles
from .dense_eigenpairs import eigenpairs
from .eigenpair_bands import Bands, without_constant
from .filtered_eigenpairs import Wanted, smooth_eigenpairs
from .graded_eigenpairs import graded_eigenpairs, links_of, relative_error, singular
from .matrices import same_pattern, scaled, with_data

TAIL = 1e-5  # share of the heat trace that the eigenpairs left out may hold
SHARP = 1e-10  # and on graphs, which nothing but that keeps from being exact, if it does not take long
MOST_MODES = 4000  # more eigenpairs are refused: they would not fit in memory or time
DENSE = 1200  # matrices up to this size are diagonalised whole
_LARGEST_DENSE = 8000  # and up to this size, where that is faster than factorisations that fill up
_FILLED = 0.125  # as are matrices up to that size with so many links
_SMOOTH = 20_000  # coupled matrices above this size are solved without factors
_COUNTED = 120.0  # seconds of a few eigenpairs up to which they are counted before they are found
FEW = 64  # eigenpairs at the coarsest of scales, where gESS needs none but MMD^2 rests on the lowest with any energy
_SECONDS_OF_A_TRIAL = 0.08  # seconds of a factorisation that is made to know whether eigenpairs can be had
_WORTH_A_WORD = 2.0  # seconds, an estimate that whoever waits is told of
_NOISE = 2 * EPS  # rounding of an eigensolver per root of the size, relative to the largest eigenvalue
_WEAK = 1e-7  # eigenvalues below this share of the largest rest on links that a plain eigensolver blurs
_GRADED = 5e-9  # seconds of eigenpairs with relative accuracy, for each cube of the number of nodes
_SLOPES = 2**22  # numbers held at once where energies are summed over links
_APART = 10.0  # a factor between eigenvalues that sets the lower ones apart


class Cost(NamedTuple):
    """What finding eigenpairs of a sparse matrix would cost."""

    size: int
    factor: float  # seconds of one factorisation
    solve: float  # seconds of one solution with it

    @classmethod
    def of(cls, matrix: Any) -> Cost:
        """From the envelope of the matrix in reverse Cuthill-McKee order.

        That holds about four times as many operations as the factors, on meshes and on random graphs. Nodes with very
        many links would widen the envelope of all others, but add a row each to the factors: they are set aside.
        """
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        links = np.diff(matrix.indptr)
        hubs = links > 10 * np.median(links) + math.sqrt(len(links))
        rest = matrix.tocsr()[~hubs][:, ~hubs]
        order = reverse_cuthill_mckee(rest.asformat("csr"), symmetric_mode=True)
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        entries, first = rest.tocoo(), np.arange(len(order))
        np.minimum.at(first, place[entries.row], place[entries.col])
        widths = np.arange(len(order)) - first + float(hubs.sum())
        return cls(len(links), float(widths @ widths) / 4 / 1.2e9, float(widths.sum()) / 4 * 4e-9)

    def seconds(self, count: int) -> float:
        """For *count* eigenpairs: about 12 factorisations, three for each band of half of the most, and the solver."""
        return (12 + count / 20) * self.factor + count * (3 * self.solve + 4e-7 * self.size)


class Solved(NamedTuple):
    """Eigenpairs that were found: never changed, but replaced as a whole where more are wanted."""

    values: FloatArray
    functions: FloatArray  # at all nodes, shape (size, modes)
    raw: FloatArray  # eigenvalues of the matrices, before correction
    reach: float  # all eigenvalues of the matrices up to here are there
    rounding: Rounding

    def first(self, count: int) -> Solved:
        """The lowest of them."""
        return self._replace(values=self.values[:count], functions=self.functions[:, :count], raw=self.raw[:count])


class Laplacian:
    """The eigenpairs of L phi = lambda M phi, orthonormal for the normalised masses, the first exactly (0, 1).

    L is a sparse *stiffness* matrix in CSR form, exactly symmetric, positive semi-definite and with L 1 = 0. M is the
    diagonal of positive masses plus, where given, a *coupling* between nodes, also CSR and symmetric, whose rows sum to
    zero. Eigenvectors are then multiplied by the root of M over the masses, to first order, so that they are
    orthonormal for the masses.
    If L is heat flow for a time *step* e, not its first-order part, its eigenvalues (1 - exp(-e lambda)) / e are
    corrected to lambda.

    The problem, scaled by the roots of the masses, is solved whole or by `Bands`. BLAS gets one thread: several take up
    to ten times as long on arrays so small where cores are busy.

    Where the second eigenvalue is tiny beside the largest, because links or sizes differ by many orders of magnitude,
    small matrices are solved again to relative accuracy, and of large ones the few eigenpairs set apart are improved.
    Threads may ask at the same time: one of them solves, and the others wait for it.
    """

    def __init__(self, stiffness: Any, mass: FloatArray, *, coupling: Any = None, step: float = 0.0) -> None:
        from scipy import sparse

        self.mass, self.size, self._step = mass, len(mass), step
        self._root, self._stiffness = np.sqrt(mass), stiffness
        self._matrix = scaled(stiffness, 1 / self._root).T  # CSC, in the same memory
        self._metric = sparse.eye_array(self.size, format="csc")
        self._coupled = coupling is not None
        self._coupling = scaled(coupling, 1 / self._root) if self._coupled else None
        if self._coupling is not None:
            self._metric = self._metric + self._coupling.T
        nothing = np.empty(0)
        self._solved = Solved(nothing, np.empty((self.size, 0)), nothing, -math.inf, Rounding(0.0, math.inf, 0.0))
        self._solving = RLock()
        self._fitting, self._too_far = -math.inf, math.inf  # up to where eigenpairs are known not to be too many
        self.wanted: int | None = None  # number of eigenpairs that were asked for, whatever they cost

    def __getstate__(self) -> dict[str, Any]:
        """Without the lock, which is of one process."""
        return {name: value for name, value in self.__dict__.items() if name != "_solving"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """With a lock of its own."""
        self.__dict__.update(state, _solving=RLock())

    @cached_property
    def flow(self) -> Flow | None:
        """The same heat without eigenpairs, to second order in the coupling; None for heat flow of a finite step."""
        if self._step:
            return None
        # The inverse of M is 1 - coupling, to first order. Columns of a symmetric matrix are its rows.
        matrix, inverse = self._matrix.T, None
        if self._coupling is not None:
            alike = same_pattern(self._coupling, matrix)  # as on meshes without flipped edges: places are read once
            inverse = with_data(matrix if alike else self._coupling, -self._coupling.data)
        return Flow(matrix, inverse, self._constant)

    def functionals(self, evaluation: Any) -> Any:
        """Sparse rows r_x with k_2t(x, y) = r_x' G exp(-2 t S) r_y for S and G of the flow.

        *evaluation* takes functions at the nodes to the points, one row each.
        """
        from scipy.sparse import diags_array

        found = evaluation @ diags_array(math.sqrt(self.mass.sum()) / self._root)
        # The root of M, to first order, as eigenvectors are multiplied by it.
        return (found if self._coupling is None else found + found @ self._coupling / 2).tocsr()

    def energy(self, functionals: Any, weights: FloatArray) -> float:
        """The sum of squares of all coefficients but that of the constant, of *functionals* with signed weights.

        Not less than that to rounding, and to second order in the coupling.
        """
        vector = functionals.T @ weights
        vector -= (self._constant @ vector) * self._constant
        if self._coupling is None:
            return float(vector @ vector) * (1 + 64 * EPS)
        return float(vector @ vector - vector @ (self._coupling @ vector)) * (1 + 64 * EPS)

    @property
    def smooth(self) -> bool:
        """Whether eigenpairs are found without factors, which become too many on large meshes."""
        return self._coupled and self.size > _SMOOTH and self.wanted is None

    def seconds(self, limit: float, count: int) -> float:
        """Rough seconds for the eigenpairs up to *limit*, about *count*; none if known or asked for by their number."""
        limit = self._of_matrices(limit)
        if self.wanted is not None or limit <= self._solved.reach:
            return 0.0
        if self.smooth:
            return self._filter(limit, count).seconds(self.size, self._matrix.nnz)
        return self._seconds_whole if self._needs_whole(limit, count) else self._seconds_sparse(count)

    def seconds_lowest(self, count: int) -> float:
        """The same for the *count* lowest eigenpairs."""
        if self.wanted is not None or count <= len(self._solved.raw):
            return 0.0
        return self._seconds_whole if self.whole else self._seconds_sparse(count)

    def serves(self, limit: float, count: int) -> bool:
        """Whether the eigenpairs up to *limit*, about *count*, are not more than can be found."""
        limit = self._of_matrices(limit)
        if limit <= self._solved.reach:
            return True
        if self.smooth:
            return self._filter(limit, count).fits(self.size)
        return self._needs_whole(limit, count) or self._fits(limit, count)

    def _seconds_sparse(self, count: int) -> float:
        """By factors: of a few at least, and of no more than can be found."""
        return self._cost.seconds(min(max(count, FEW), self.most))

    @property
    def _seconds_whole(self) -> float:
        """For all eigenpairs of the full matrix."""
        return 2.2e-10 * self.size**3

    def _needs_whole(self, limit: float, count: int) -> bool:
        """Whether all eigenpairs are found sooner than those up to *limit*, which may be too many for factors."""
        if self.whole or self.size > _LARGEST_DENSE or self.wanted is not None:
            return self.whole
        return self._seconds_whole < self._seconds_sparse(count) or not self._fits(limit, count)

    def _filter(self, limit: float, count: int) -> Wanted:
        return Wanted(limit, count, self._largest)

    @cached_property
    def _largest(self) -> float:
        """Not below the largest eigenvalue of the matrix: Gershgorin's circles."""
        return circles(self._matrix)

    def smooth_below(self, limit: float, count: int) -> Solved:
        """All eigenpairs with eigenvalues up to *limit*, of which there should be about *count*, without factors."""
        with self._solving:
            if limit > self._solved.reach:
                self._smooth(limit, count)
            found = self._solved
        return found.first(max(int(np.searchsorted(found.raw, limit, side="right")), 1))

    def _smooth(self, limit: float, count: int) -> None:
        """Find the eigenpairs up to *limit* without factors and keep them."""
        wanted = self._filter(limit, count)
        if not wanted.fits(self.size):
            raise PrecisionError(
                f"this scale needs about {count:,} eigenpairs of {self.size:,} nodes, more than fit in memory; give "
                "coarser scales"
            )
        self._announce(count, wanted.seconds(self.size, self._matrix.nnz))
        found, mixed = smooth_eigenpairs(self._matrix, self._metric, wanted)
        share = _NOISE * math.sqrt(self.size)
        # What is mixed into a mode counts as far as heat is left in it.
        relative = share + 2 * float((mixed * TAIL ** (found.values / limit)).max())
        rounding = Rounding(share * self._largest, float(found.values[1]), relative)
        self._keep(found.values, found.functions, rounding, limit)

    @cached_property
    def _cost(self) -> Cost:
        return Cost.of(self._matrix)

    @cached_property
    def whole(self) -> bool:
        """Whether all eigenpairs are found at once: of small matrices, and where factors would take longer."""
        if self.size <= DENSE or self.size > _LARGEST_DENSE:
            return self.size <= DENSE
        if self._matrix.nnz > _FILLED * self.size**2:
            return True
        return self._seconds_whole < self._cost.seconds(self.wanted or FEW)

    @property
    def complete(self) -> bool:
        """Whether all eigenpairs are known, or will be found at once."""
        return self.whole or self._solved.reach == math.inf

    @property
    def most(self) -> int:
        """The most eigenpairs that can be found."""
        return self.size if self.whole else min(MOST_MODES, self.size // 2)

    def below(self, limit: float) -> Solved:
        """All eigenpairs with eigenvalues up to *limit*, at all nodes; all there are of a small matrix."""
        # Below rounding eigenvalues cannot be counted.
        limit = max(self._of_matrices(limit), 8 * _NOISE * math.sqrt(self.size) * self._largest)
        with self._solving:
            if limit > self._solved.reach:
                self._solve(limit)
            found = self._solved
        if found.reach == math.inf:
            return found
        return found.first(max(int(np.searchsorted(found.raw, limit, side="right")), 1))

    def count(self, limit: float) -> int:
        """How many eigenvalues do not exceed *limit*; all there are of a small matrix, none if they take too long."""
        if self.whole:
            return self.size
        counted = self.wanted is not None or self._cost.seconds(FEW) <= _COUNTED
        return self._bands.count_below(self._of_matrices(limit)) if counted else 0

    def _of_matrices(self, value: float) -> float:
        """An eigenvalue before it is corrected for the step."""
        return -math.expm1(-self._step * value) / self._step if self._step else value

    def lowest(self, count: int) -> Solved:
        """The *count* lowest eigenpairs, at all nodes."""
        with self._solving:
            if len(self._solved.raw) < count:
                limit = self.reaching(count)
                if self.whole or self._bands.count_below(limit) <= self.most or self._needs_whole(limit, count):
                    self._solve(limit)
                else:  # an eigenvalue is repeated so often that all its functions are too many: some of them
                    self._keep(*self._sparse(before := limit * (1 - 1e-8), count), before)
            return self._solved.first(count)

    def reaching(self, count: int) -> float:
        """A number that at least *count* eigenvalues of the matrices, and not many more, do not exceed."""
        return math.inf if self.whole else self._bands.reaching(count)

    def _fits(self, limit: float, count: int) -> bool:
        """Whether the eigenpairs up to *limit*, and those that any scale needs, are not too many: counted if soon."""
        if count > self.most:
            return False
        if self._cost.factor > _SECONDS_OF_A_TRIAL or limit <= self._fitting:
            return True
        if limit >= self._too_far or not self._begins:
            return False
        fits = self._bands.count_below(limit) <= self.most
        self._fitting, self._too_far = (limit, self._too_far) if fits else (self._fitting, limit)
        return fits

    @cached_property
    def _begins(self) -> bool:
        """Whether the constant is not all there is below an eigenvalue that is repeated too often, as on a star.

        MMD^2 would rest on that one.
        """
        few = self._bands.reaching(min(FEW, self.most), within=1e-3)
        return self._bands.count_below(few) <= self.most or self._bands.count_below(0.998 * few) > 1

    @cached_property
    def _bands(self) -> Bands:
        return Bands(self._matrix, self._metric, self._coupled)

    def _solve(self, limit: float) -> None:
        """Find all eigenpairs up to *limit* and keep them."""
        if self.whole or self._needs_whole(limit, self._bands.count_below(limit)):
            self._keep(*self._dense(), math.inf)
        else:
            self._keep(*self._sparse(limit), limit)

    def _keep(self, values: FloatArray, vectors: FloatArray, rounding: Rounding, limit: float) -> None:
        """Eigenpairs of the matrices up to *limit*, as functions that are orthonormal for the masses."""
        values, vectors = without_constant(values, vectors, self._constant)
        if self._coupled:
            vectors = (vectors + self._metric @ vectors) / 2
        vectors *= math.sqrt(self.mass.sum()) / self._root[:, None]
        vectors[:, 0] = 1.0
        vectors[:, 1:] -= (self.mass / self.mass.sum()) @ vectors[:, 1:]
        raw = np.maximum(values, 0.0)
        values = np.log(1 / np.maximum(1 - self._step * raw, 1e-3)) / self._step if self._step else raw
        self._solved = Solved(values, vectors, raw, limit, rounding)

    @property
    def _constant(self) -> FloatArray:
        """Of length one, for either metric: the coupling maps it to zero."""
        return np.asarray(self._root / math.sqrt(self.mass.sum()))

    def _announce(self, count: int, seconds: float, how: str = "once for this space") -> None:
        if seconds > _WORTH_A_WORD:
            announce(f"finding {count:,} eigenpairs of {self.size:,} nodes, {how}: about {seconds:.0f} s")

    def _dense(self) -> tuple[FloatArray, FloatArray, Rounding]:
        from threadpoolctl import threadpool_limits

        metric = self._metric.toarray() if self._coupled else None
        self._announce(self.size, self._seconds_whole)
        with threadpool_limits(1, user_api="blas"):
            values, vectors = eigenpairs(self._matrix.toarray(), metric)
            if values[1] < _WEAK * values[-1] and self.size <= DENSE:
                links = links_of(self._stiffness)
                if links is not None:
                    self._announce(self.size, _GRADED * self.size**3, "again, as links differ so much")
                found = None if links is None else apart(graded_eigenpairs, links, self.mass, metric)
                if found is not None:
                    return *found, Rounding(0.0, math.inf, relative_error(self.size))
        share = _NOISE * math.sqrt(self.size)
        return self._improved(values, vectors, share * float(values[-1]), math.inf)

    def _sparse(self, limit: float, least: int = 0) -> tuple[FloatArray, FloatArray, Rounding]:
        count = self._bands.count_below(limit)
        if count > self.most:
            raise PrecisionError(
                f"this scale needs {count} eigenpairs of {self.size} nodes, above the limit of {self.most}; "
                "give coarser scales"
            )
        self._announce(count, self._cost.seconds(count))
        values, vectors, skew = self._bands.eigenpairs(limit, max(least - count, 0))
        residual = self._matrix @ vectors - self._metric @ (vectors * values)
        left = 2 * float(np.linalg.norm(residual, axis=0).max())
        noise, limit = _NOISE * math.sqrt(self.size) * self._largest, max(limit, float(values[-1]))
        values, vectors, rounding = self._improved(values, vectors, noise, limit, left)
        return values, vectors, rounding._replace(relative=rounding.relative + 2 * skew)

    def _improved(
        self, values: FloatArray, vectors: FloatArray, rounded: float, limit: float, left: float = 0.0
    ) -> tuple[FloatArray, FloatArray, Rounding]:
        """Eigenpairs up to *limit* with the few lowest that are set apart made better, if there are such.

        What is wrong with the matrix is *rounded*, and what was *left* by iterations, which the better ones are rid of.
        """
        noise = rounded + left
        share = _NOISE * math.sqrt(self.size)
        ahead = np.maximum(np.append(values[1:], limit), 0.0)  # the eigenvalue after each
        low = np.flatnonzero((values < _WEAK * self._largest) & (ahead > _APART * np.maximum(values, noise)))
        last = int(low[-1]) if len(low) else 0
        links = links_of(self._stiffness) if last else None
        better = None if links is None else self._set_apart(vectors[:, : last + 1], float(ahead[last]), links)
        if better is None:
            return values, vectors, Rounding(noise, float(ahead[0]), share)
        values[1 : last + 1], vectors[:, 1 : last + 1] = better
        vectors[:, 0] = self._constant
        gap = float(ahead[last])
        return values, vectors, Rounding(noise, gap, share + rounded**2 / (gap * float(values[1])))

    def _set_apart(self, vectors: FloatArray, gap: float, links: Any) -> tuple[FloatArray, FloatArray] | None:
        """The lowest eigenpairs but the constant, all far below *gap*, from vectors that span them all.

        Inverse iteration takes out what is not theirs, of which a solution of the whole matrix has little. Energies are
        sums of squared differences over links, which keep the digits of the weak ones.
        """
        from scipy.linalg import eigh

        solve = None if self.whole else self._bands.factor(-1e-4 * gap).solve
        for step in range(1 if self.whole else 3):
            if solve is not None:
                vectors = solve(np.asarray(self._metric @ vectors))
            vectors = vectors - np.multiply.outer(self._constant, self._constant @ vectors)
            spread, turn = eigh(vectors.T @ (self._metric @ vectors))
            first = 1 if step == 0 else 0  # one direction less: the constant
            vectors = vectors @ (turn[:, first:] / np.sqrt(spread[first:]))
        places = vectors / self._root[:, None]
        slopes = np.zeros((0, places.shape[1]))
        for part in slices(len(links.weights), _SLOPES // places.shape[1] + 1):
            steps = places[links.first[part]] - places[links.second[part]]
            steps *= np.sqrt(links.weights[part])[:, None]
            slopes = np.linalg.qr(np.concatenate([slopes, steps]))[1]
        found = singular(np.ascontiguousarray(slopes.T))
        if found is None:
            return None
        order = np.argsort(found[0])
        return found[0][order] ** 2, vectors @ found[1][:, order]
