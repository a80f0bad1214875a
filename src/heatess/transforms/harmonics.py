"""Orthonormal eigenfunctions of spheres and of what is made from them, and the energies of a measure in products.

A circle, an axis of a torus, a sphere, a projective space and the rotations all have harmonics of a sphere S^m for
eigenfunctions: those of even degree on projective spaces, and on the rotations those of even degree of quaternions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import map_rows, one_blas_thread, share_out, slices, thread_count
from ..heat.spherical import SphereSeries
from .levels import CircleTransform, HarmonicTransform, LevelTransform
from .low_moments import AngleMoments, AxisMoments, VectorMoments
from .spin import SpinTransform
from .squared_overlap import factor_squares, ways_to_square
from .wigner import WignerTransform

#: Entries of one table of eigenfunctions at a block of points.
BLOCK_ENTRIES = 2**22

#: Values at all points of the functions that are transformed together.
TRANSFORM_ENTRIES = 2**26

#: Parts into which modes are cut, so that each is only paired with those that keep the sum of eigenvalues in bounds.
PARTS = 8

#: Degrees from which on the recurrences might underflow near the poles.
DEGREE_LIMIT = 1024


@dataclass(frozen=True)
class Harmonics:
    """The harmonics of degree 0, step, 2 step, ... of S^dim, with eigenvalues l (l + dim - 1) / scale^2.

    They take unit vectors from some *columns* of the points or, if there is a *period*, one periodic coordinate.
    """

    dim: int
    step: int
    scale: float
    columns: slice
    period: float | None = None

    @property
    def lowest(self) -> float:
        """The first eigenvalue above zero."""
        return self.step * (self.step + self.dim - 1) / self.scale**2

    def degrees(self, limit: float) -> FloatArray:
        """The degrees with eigenvalues below *limit*, and always the first."""
        half = (self.dim - 1) / 2
        most = math.sqrt(half**2 + limit * self.scale**2) - half
        return np.arange(0.0, max(most, 0.5), self.step)

    def mode_count(self, limit: float) -> float:
        """Modes with eigenvalues below *limit*, inf where they are too many to think of."""
        degrees = self.degrees(min(limit, 4.0 * DEGREE_LIMIT**2 * (1 + self.dim) / self.scale**2))
        most, m = int(degrees[-1]), self.dim
        if most > DEGREE_LIMIT:
            return math.inf
        total = math.comb(most + m, m) + (math.comb(most + m - 1, m) if self.step == 1 else 0)
        return float(total) if total < 2**62 else math.inf

    def eigenvalues(self, limit: float) -> FloatArray:
        """The eigenvalues below *limit*, and always the first."""
        degrees = self.degrees(limit)
        return np.asarray(degrees * (degrees + self.dim - 1) / self.scale**2)

    def multiplicities(self, limit: float) -> IntArray:
        """How many functions have each of the eigenvalues below *limit*."""
        return np.array([multiplicity(self.dim, int(degree)) for degree in self.degrees(limit)])

    def values(self, points: FloatArray, count: int) -> FloatArray:
        """The functions of *count* degrees at points, shape (modes, n), degree after degree."""
        if self.dim == 1:
            return circular(self._angle(points), count)
        return spherical(np.ascontiguousarray(points[:, self.columns].T), count, self.step)

    @property
    def transform(self) -> LevelTransform | None:
        """The fast transform of the same levels, of points as `vectors` has them."""
        return fast_transforms().get((1, 1) if self.dim == 1 else (self.dim, self.step))

    def vectors(self, points: FloatArray) -> FloatArray:
        """Points for `transform`: angles or unit vectors."""
        return self._angle(points) if self.dim == 1 else np.ascontiguousarray(points[:, self.columns])

    def moved(self, scale: float, columns: int) -> Harmonics:
        """With lengths multiplied by *scale*, and some *columns* further to the right."""
        place = slice(self.columns.start + columns, self.columns.stop + columns)
        return Harmonics(self.dim, self.step, self.scale * scale, place, self.period)

    def _angle(self, points: FloatArray) -> FloatArray:
        coordinates = points[:, self.columns].T
        if self.period is not None:
            return np.asarray(coordinates[0] * (2 * math.pi / self.period))
        return np.asarray(self.step * np.arctan2(coordinates[1], coordinates[0]))


@lru_cache(maxsize=1)
def fast_transforms() -> dict[tuple[int, int], LevelTransform]:
    """Fast transforms by dimension and step."""

    def rows(points: FloatArray, part: slice) -> FloatArray:
        return points[part]

    return {
        (1, 1): CircleTransform(SphereSeries(1), AngleMoments(np.asarray), np.asarray, ""),
        (2, 1): HarmonicTransform(SphereSeries(2), VectorMoments(3, rows), rows, 1),
        (2, 2): HarmonicTransform(SphereSeries(2, 2), AxisMoments(3, rows), rows, 2),
        (3, 1): SpinTransform(SphereSeries(3), VectorMoments(4, rows)),
        (3, 2): WignerTransform(SphereSeries(3, 2, 2.0), AxisMoments(4, rows)),
    }


def multiplicity(dim: int, degree: int) -> int:
    """Harmonics of one degree on S^dim.

    >>> [multiplicity(2, degree) for degree in range(4)]
    [1, 3, 5, 7]
    """
    if degree < 2:
        return 1 if degree == 0 else dim + 1
    return math.comb(degree + dim, dim) - math.comb(degree + dim - 2, dim)


def circular(angle: FloatArray, count: int) -> FloatArray:
    """1, sqrt(2) cos x, sqrt(2) sin x, sqrt(2) cos 2x, ... of *count* degrees, shape (2 count - 1, n)."""
    powers = np.empty((count, len(angle)), dtype=np.complex128)
    powers[0] = 1.0
    known = 1
    while known < count:  # doubled, so that rounding errors grow with the logarithm only
        more = min(known, count - known)
        np.multiply(powers[:more], np.exp(1j * known * angle), out=powers[known : known + more])
        known += more
    values = np.empty((2 * count - 1, len(angle)))
    values[0] = 1.0
    np.multiply(powers[1:].real, math.sqrt(2), out=values[1::2])
    np.multiply(powers[1:].imag, math.sqrt(2), out=values[2::2])
    return values


def spherical(x: FloatArray, count: int, step: int = 1) -> FloatArray:
    """Harmonics of degrees 0, step, ..., step (count - 1) at unit vectors (m + 1, n), shape (modes, n).

    With u the last coordinate and r the length of the others, they are F_lk(u, r) times the harmonics of degree
    k <= l of the others' direction on S^(m-1). F_kk is proportional to r^k, and F_lk / F_kk are the orthonormal
    Gegenbauer polynomials of index a = k + (m - 1)/2:

        a_(n+1) F_(n+1) = u F_n - a_n F_(n-1),   a_n^2 = n (n + 2a - 1) / (4 (n + a) (n + a - 1)),   n = l - k.
    """
    dim = len(x) - 1
    most = step * (count - 1) + 1  # degrees, of which only every step-th is kept
    radius = np.sqrt(np.einsum("ij,ij->j", x[:-1], x[:-1]))
    direction = x[:-1] / np.where(radius > 0, radius, 1.0)
    lower = circular(np.arctan2(direction[1], direction[0]), most) if dim == 2 else spherical(direction, most)
    ladder = np.empty((most * (most + 1) // 2, x.shape[1]))  # F_lk at l (l + 1) / 2 + k
    ladder[0] = 1.0
    k = np.arange(most)[:, None]
    for l in range(1, most):  # noqa: E741
        row, above, before = (i * (i + 1) // 2 for i in (l, l - 1, l - 2))
        rising = _ladder_step(dim, k[:l], l)
        found = ladder[row : row + l]
        np.multiply(ladder[above : above + l], x[-1], out=found)
        if l > 1:
            found[:-1] -= _ladder_step(dim, k[: l - 1], l - 1) * ladder[before : before + l - 1]
        found /= rising
        np.multiply(
            ladder[above + l - 1], radius * math.sqrt((dim + 2 * l - 1) / (dim + 2 * l - 2)), out=ladder[row + l]
        )
    first, second = _branches(dim, count, step)
    values = ladder[first]
    values *= lower[second]
    return values


def _ladder_step(dim: int, k: IntArray, degree: int) -> FloatArray:
    """a_n for n = degree - k >= 1."""
    n, index = degree - k, k + (dim - 1) / 2
    return np.asarray(np.sqrt(n * (n + 2 * index - 1) / (4 * (n + index) * (n + index - 1))))


@lru_cache(maxsize=32)
def _branches(dim: int, count: int, step: int) -> tuple[IntArray, IntArray]:
    """For each harmonic, its place in the ladder and that of the harmonic on S^(dim - 1) that it is made from."""
    most = step * (count - 1) + 1
    sizes = np.array([multiplicity(dim - 1, degree) for degree in range(most)])
    degree_of = np.repeat(np.arange(most), sizes)
    ends = np.cumsum(sizes)
    degrees = range(0, most, step)
    lower = [np.arange(ends[degree]) for degree in degrees]
    ladder = [degree * (degree + 1) // 2 + degree_of[: ends[degree]] for degree in degrees]
    return np.concatenate(ladder), np.concatenate(lower)


class Modes(NamedTuple):
    """Products of eigenfunctions of some factors, level after level of the sum of their eigenvalues."""

    eigenvalues: FloatArray  # of each level, increasing
    starts: IntArray  # the first mode of each level, and the number of modes
    factors: tuple[Harmonics, ...]
    counts: tuple[int, ...]  # degrees of each factor
    places: tuple[IntArray, ...]  # of each mode among the functions of each factor

    @classmethod
    def of(cls, factors: tuple[Harmonics, ...], limit: float) -> Modes:
        """All products whose eigenvalues are below *limit*."""
        first, *others = factors
        modes = cls._single(first, limit)
        for factor in others:
            modes = modes._times(cls._single(factor, limit), limit)
        return modes

    @classmethod
    def _single(cls, factor: Harmonics, limit: float) -> Modes:
        eigenvalues = factor.eigenvalues(limit)
        starts = np.concatenate([[0], np.cumsum(factor.multiplicities(limit))]).astype(np.int64)
        return cls(eigenvalues, starts, (factor,), (len(eigenvalues),), (np.arange(starts[-1]),))

    def _times(self, other: Modes, limit: float) -> Modes:
        sums = self.eigenvalues[:, None] + other.eigenvalues
        i, j = np.nonzero(sums < limit)
        order = np.argsort(sums[i, j], kind="stable")
        i, j = i[order], j[order]
        left, right = np.diff(self.starts)[i], np.diff(other.starts)[j]
        starts = np.concatenate([[0], np.cumsum(left * right)])
        inside = np.arange(starts[-1]) - np.repeat(starts[:-1], left * right)
        width = np.repeat(right, left * right)
        mine = np.repeat(self.starts[i], left * right) + inside // width
        its = np.repeat(other.starts[j], left * right) + inside % width
        places = (*(place[mine] for place in self.places), *(place[its] for place in other.places))
        return Modes(sums[i, j], starts, self.factors + other.factors, self.counts + other.counts, places)

    @property
    def size(self) -> int:
        """Number of modes."""
        return int(self.starts[-1])

    def values(self, points: FloatArray, batch: slice = slice(None)) -> FloatArray:
        """All or some of the functions at points, shape (modes, n)."""
        tables = [factor.values(points, count) for factor, count in zip(self.factors, self.counts, strict=True)]
        if len(tables) == 1:
            return tables[0][batch]
        found = tables[0][self.places[0][batch]]
        for table, place in zip(tables[1:], self.places[1:], strict=True):
            found *= table[place[batch]]
        return found

    def rows(self, points: FloatArray, batch: slice) -> FloatArray:
        """Some of the functions at many points, shape (functions, n)."""
        found = np.empty((batch.stop - batch.start, len(points)))
        for block in slices(len(points), max(64, BLOCK_ENTRIES // self.size)):
            found[:, block] = self.values(points[block], batch)
        return found


class Energies(NamedTuple):
    """Squared coefficients of a measure, summed over the modes of each pair of levels; without the constant."""

    eigenvalues: FloatArray
    values: FloatArray
    multiplicities: FloatArray

    def within(self, low: float, high: float) -> Energies:
        """Those with eigenvalues from *low* to *high*."""
        kept = (self.eigenvalues >= low) & (self.eigenvalues < high)
        return Energies(*(column[kept] for column in self))


def halves(factors: list[Harmonics], limit: float) -> tuple[tuple[Harmonics, ...], tuple[Harmonics, ...]]:
    """The factors in two groups, with about as many products of eigenfunctions each."""
    groups: tuple[list[Harmonics], list[Harmonics]] = ([], [])
    sizes = [1.0, 1.0]
    for factor in sorted(factors, key=lambda factor: -factor.mode_count(limit)):
        least = int(sizes[1] < sizes[0])
        groups[least].append(factor)
        sizes[least] *= factor.mode_count(limit)
    return tuple(groups[0]), tuple(groups[1])


class Part(NamedTuple):
    """A run of modes of one half of the factors, with as many of the other half as go with them."""

    rows: slice
    columns: int
    levels: slice
    others: int


def _layout(factors: list[Harmonics], limit: float) -> tuple[Modes, Modes, list[Part]]:
    """Products of eigenfunctions as pairs of one f and one g, with f over half of the factors and g over the others."""
    first, second = (Modes.of(group, limit) for group in halves(factors, limit))
    return first, second, _parts(first, second, limit)


def coefficient_size(factors: list[Harmonics], limit: float) -> int:
    """Length of `product_coefficients`."""
    return sum((part.rows.stop - part.rows.start) * part.columns for part in _layout(factors, limit)[2])


def product_coefficients(factors: list[Harmonics], limit: float, points: FloatArray, weights: FloatArray) -> FloatArray:
    """Coefficients of all products of eigenfunctions with eigenvalues below *limit*, and of some above, in one row.

    The sums over points of w f g are a product of matrices, block after block of points.
    """
    first, second, parts = _layout(factors, limit)
    found = np.zeros(sum((part.rows.stop - part.rows.start) * part.columns for part in parts))
    blocks = _blocks(parts, found)
    for rows in slices(len(points), max(64, min(4096, BLOCK_ENTRIES // (first.size + second.size)))):
        left, right = first.values(points[rows]), second.values(points[rows])
        right *= weights[rows]
        for part, block in zip(parts, blocks, strict=True):
            block += left[part.rows] @ right[: part.columns].T
    return found


def _blocks(parts: list[Part], row: FloatArray) -> list[FloatArray]:
    """The matrix of each part, as a view of the row of all coefficients."""
    sizes = [(part.rows.stop - part.rows.start) * part.columns for part in parts]
    cuts = np.cumsum([0, *sizes])
    return [
        row[start:end].reshape(-1, part.columns)
        for part, start, end in zip(parts, cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
    ]


def energies(factors: list[Harmonics], limit: float, coefficients: FloatArray) -> Energies:
    """Energies of all products of eigenfunctions with eigenvalues below *limit*, and of some above."""
    first, second, parts = _layout(factors, limit)
    sums, values, copies = [], [], []
    for part, block in zip(parts, _blocks(parts, coefficients), strict=True):
        by_rows = np.add.reduceat(block * block, first.starts[part.levels] - first.starts[part.levels.start], axis=0)
        values.append(np.add.reduceat(by_rows, second.starts[: part.others], axis=1).ravel())
        sums.append(np.add.outer(first.eigenvalues[part.levels], second.eigenvalues[: part.others]).ravel())
        sizes = np.diff(first.starts)[part.levels], np.diff(second.starts)[: part.others]
        copies.append(np.multiply.outer(*sizes).ravel())
    # The first entry is that of the constant function.
    return Energies(*(np.concatenate(part)[1:].astype(np.float64) for part in (sums, values, copies)))


def product_synthesis(
    factors: list[Harmonics], limit: float, coefficients: FloatArray, times: FloatArray, points: FloatArray
) -> FloatArray:
    """sum of exp(-2 lambda t) a f(y) g(y) over all products, at points y, shape (times, points)."""
    first, second, parts = _layout(factors, limit)
    decays = [
        [np.repeat(np.exp(-2 * modes.eigenvalues * time), np.diff(modes.starts)) for modes in (first, second)]
        for time in times
    ]
    blocks = _blocks(parts, coefficients)
    found = np.zeros((len(times), len(points)))

    def fill(_: int, rows: slice) -> None:
        left, right = first.values(points[rows]), second.values(points[rows])
        for total, (mine, its) in zip(found, decays, strict=True):
            decayed = right * its[:, None]
            for part, block in zip(parts, blocks, strict=True):
                near = (block * mine[part.rows, None]).T @ left[part.rows]
                total[rows] += np.einsum("kn,kn->n", near, decayed[: part.columns])

    work = list(slices(len(points), max(64, min(4096, BLOCK_ENTRIES // (first.size + second.size)))))
    with one_blas_thread():  # points side by side; threads of matrix products would wait for each other
        share_out(work, fill, thread_count())
    return found


def product_squares(
    factors: list[Harmonics], limit: float, coefficients: FloatArray, time: float
) -> tuple[float, float]:
    """sum_ij w_i w_j (k_2t(x_i, x_j) - 1)^2 within the limit, and the same of one atom."""
    first, second, parts = _layout(factors, limit)
    squares = [block**2 for block in _blocks(parts, coefficients)]
    order = first.factors + second.factors
    functions = [
        factor_squares(SphereSeries(factor.dim, factor.step, factor.scale), time, len(factor.degrees(limit)))
        for factor in order
    ]
    own = total = 0.0
    for powers, often in ways_to_square(len(order)):
        chosen = [table[power] for table, power in zip(functions, powers, strict=True)]
        cut = len(first.factors)
        left, right = _per_mode(first, limit, chosen[:cut]), _per_mode(second, limit, chosen[cut:])
        for part, square in zip(parts, squares, strict=True):
            mine, its = left[part.rows], right[: part.columns]
            total += often * float(mine @ square @ its)
            own += often * float(mine.sum() * its.sum())
    return total, own


def _per_mode(modes: Modes, limit: float, functions: list[FloatArray]) -> FloatArray:
    """The product over the factors of the coefficient of each mode."""
    found = np.ones(modes.size)
    for factor, function, places in zip(modes.factors, functions, modes.places, strict=True):
        found *= np.repeat(function, factor.multiplicities(limit))[places]
    return found


def transformed(
    fast: Harmonics,
    transform: LevelTransform,
    others: list[Harmonics],
    limit: float,
    points: FloatArray,
    weights: FloatArray,
    epsilon: float,
) -> Energies:
    """The same, by one fast *transform* on one of the factors for each product of eigenfunctions of the others.

    An error of *epsilon* per unit of weight makes one of epsilon sqrt(N) in the root of an energy of N modes, because
    the squares of the functions that the weights are multiplied by sum to N.
    """
    modes = Modes.of(tuple(others), limit)
    vectors = fast.vectors(points)
    eigenvalues, copies = fast.eigenvalues(limit), fast.multiplicities(limit)
    found = np.zeros((len(modes.eigenvalues), len(eigenvalues)))
    level_of = np.repeat(np.arange(len(modes.eigenvalues)), np.diff(modes.starts))
    counts = np.maximum(np.searchsorted(eigenvalues, limit - modes.eigenvalues), 2)  # degrees that go with each level

    def moments(signed: FloatArray, count: int) -> FloatArray:
        largest = float(np.abs(signed).max()) or 1.0
        signed *= weights / largest
        values = transform.moments(transform.coefficients(vectors, signed, count - 1, epsilon, 1))
        values[0] = float(signed.sum()) ** 2  # set to one above, as it is for a measure
        return np.asarray(largest**2 * values[: len(eigenvalues)])

    def add(batch: slice) -> None:
        rows, levels = modes.rows(points, batch), level_of[batch]
        parts = map_rows(lambda one: moments(rows[one.start], int(counts[levels[one.start]])), len(rows), 1)
        for level, part in zip(levels, parts, strict=True):
            found[level, : len(part)] += part * copies[: len(part)]

    for batch in slices(modes.size, max(1, TRANSFORM_ENTRIES // len(points))):
        add(batch)
    sums = np.add.outer(modes.eigenvalues, eigenvalues)
    sizes = np.multiply.outer(np.diff(modes.starts), copies)
    return Energies(*(part.ravel()[1:].astype(np.float64) for part in (sums, found, sizes))).within(0.0, limit)


def _parts(first: Modes, second: Modes, limit: float) -> list[Part]:
    found = []
    edges = np.searchsorted(first.starts, np.linspace(0, first.size, PARTS + 1))
    for begin, end in pairwise(edges.tolist()):
        if begin == end:
            continue
        its = max(int(np.searchsorted(second.eigenvalues, limit - first.eigenvalues[begin])), 1)
        rows = slice(int(first.starts[begin]), int(first.starts[end]))
        found.append(Part(rows, int(second.starts[its]), slice(begin, end), its))
    return found


def coefficient_count(factors: list[Harmonics], limit: float) -> float:
    """Roughly how many coefficients `energies` works out: the share of a ball in a box of all products."""
    counts = [factor.mode_count(limit) for factor in factors]
    dims = [factor.dim for factor in factors]
    log_ball = sum(math.lgamma(dim / 2 + 1) for dim in dims) - math.lgamma(sum(dims) / 2 + 1)
    return min(1.0, 1.3 * math.exp(log_ball)) * math.prod(counts)
