"""The Fourier transform on rotations up to a point group G, SO(3) / G.

Of the coefficients a^l = sum w D^l(x) of level l only those of functions that do not change from x to x g are kept:
a^l U_l, with the columns of U_l an orthonormal basis of the vectors that all D^l(g) leave as they are. They span the
range of P_l, the mean of D^l(g) over the group. In a frame with the main axis, of order p, along z, only orders n that
are multiples of p occur in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import map_rows, one_blas_thread, thread_count
from ..heat.orbits import ROTATIONS, OrbitSeries, invariants
from ..heat.series import level_probabilities
from ..heat.sums import LevelMoments
from .base import Coefficients, LowSums, OfColumns
from .levels import LevelTransform, bounded
from .low_moments import LowMoments
from .nonuniform.columns import SIDE
from .wigner import WignerTransform, analyse, euler_angles, right_angle, start, synthesise, table_start

#: Levels of which the lowest energies are summed with all their digits.
_LOW_LEVELS = 2

#: Shares of levels in c_t below this are left out of its square.
_NEGLIGIBLE_LEVEL_SHARE = 1e-10

#: Of the transforms that find the square.
_ACCURACY = 1e-12


class Group(NamedTuple):
    """A point group for a transform: elements in the frame, the order of the axis along z, and the frame itself."""

    name: str
    series: OrbitSeries
    elements: tuple[tuple[float, ...], ...]  # quaternions of h^-1 g h
    fold: int
    frame: tuple[float, ...]  # the quaternion h


def multiplied(left: FloatArray, right: FloatArray) -> FloatArray:
    """Products of quaternions (x, y, z, w) along the last axis, broadcasting.

    >>> multiplied(np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0]))
    array([0., 0., 1., 0.])
    """
    (a, b, c, d), (x, y, z, w) = np.moveaxis(left, -1, 0), np.moveaxis(right, -1, 0)
    parts = (d * x + a * w + b * z - c * y, d * y + b * w + c * x - a * z, d * z + c * w + a * y - b * x)
    return np.stack([*parts, d * w - a * x - b * y - c * z], axis=-1)


class OrbitTransform(LevelTransform):
    """a^l U_l of unit quaternions up to a group, level after level, a row of r_l numbers for each order m >= 0.

    A level without any function holds one zero.
    """

    def __init__(self, group: Group) -> None:
        low = OrbitMoments(group)
        self._plain, self._group = WignerTransform(ROTATIONS, low), group
        basis = f"{self._plain.basis}; times U^l of {group.name}"
        super().__init__(group.series, low, int(self._plain.most), basis)
        self._ranks = invariants(group.series, int(self.most) + 1).astype(int)
        sizes = np.maximum(np.arange(1, len(self._ranks) + 1) * self._ranks, 1)
        self._starts = np.concatenate([[0], np.cumsum(sizes)])

    def seconds(self, n: int, degree: float) -> float:
        """Those of the rotations."""
        return self._plain.seconds(n, degree)

    def zeros(self, degree: float) -> Coefficients:
        """(l + 1) r_l zeros for each level l, or one."""
        return np.zeros(self._starts[int(degree) + 1], dtype=np.complex128)

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, threads: int
    ) -> Coefficients:
        """Those of the rotations, projected."""
        turned = in_frame(points, self._group)
        return self.projected(self._plain.coefficients(turned, weights, degree, epsilon, threads), degree)

    together = SIDE

    def column_seconds(self, n: int, degree: float) -> float:
        """Those of the rotations."""
        return self._plain.column_seconds(n, degree)

    def of_columns(self, points: NDArray[Any], degree: float, epsilon: float) -> OfColumns:
        """Those of the rotations, projected."""
        found = self._plain.of_columns(in_frame(points, self._group), degree, epsilon)
        return lambda columns: (self.projected(own, degree) for own in found(columns))

    def projected(self, whole: Coefficients, degree: float) -> Coefficients:
        """a^l U_l of coefficients a^l of the rotations, in the frame of the group."""
        found = self.zeros(degree)
        with one_blas_thread():
            for level, basis, rows in self._levels(whole):
                own = found[self._starts[level] : self._starts[level + 1]]
                own[:] = (rows[:, _orders(level, self._group.fold)] @ basis).ravel()
        return found

    def spread(self, coefficients: Coefficients) -> Coefficients:
        """a^l U_l U_l^*, the coefficients of the rotations of a measure that is spread evenly over all x g."""
        found = self._plain.zeros(self._count(coefficients) - 1)
        with one_blas_thread():
            for level, basis, rows in self._levels(found):
                own = coefficients[self._starts[level] : self._starts[level + 1]].reshape(level + 1, -1)
                rows[:, _orders(level, self._group.fold)] = own @ np.conj(basis.T)
        return found

    def of_rotations(self, coefficients: Coefficients) -> Coefficients:
        """Coefficients of the rotations of a measure that is spread over all x g, out of the frame: a^l D^l(h)^*."""
        found, frame = self.spread(coefficients), np.array(self._group.frame)
        if self._group.frame == (0.0, 0.0, 0.0, 1.0):
            return found
        with one_blas_thread():
            for level, _, rows in self._levels(found):
                rows[:] = rows @ np.conj(_matrix(frame, level).T)
        return found

    def _levels(self, whole: Coefficients) -> Iterator[tuple[int, NDArray[np.complex128], Coefficients]]:
        """Levels with functions, their bases, and their coefficients of the rotations, shape (l + 1, 2l + 1)."""
        starts = start(np.arange(int(self.most) + 2))
        count = int(np.searchsorted(starts, len(whole)))
        for level, basis in enumerate(bases(self._group, count)):
            if basis.size:
                yield level, basis, whole[starts[level] : starts[level + 1]].reshape(level + 1, 2 * level + 1)

    def _count(self, coefficients: Coefficients) -> int:
        return int(np.searchsorted(self._starts, len(coefficients)))

    def moments(self, coefficients: Coefficients) -> FloatArray:
        """b_l = sum over orders m and columns of |a^l U_l|^2 / r_l; zero where r_l is."""
        count = self._count(coefficients)
        firsts, ranks = self._starts[:count], self._ranks[:count]
        power = coefficients.real**2 + coefficients.imag**2
        central = np.array([power[first : first + rank].sum() for first, rank in zip(firsts, ranks, strict=True)])
        return bounded((2 * np.add.reduceat(power, firsts) - central) / np.maximum(ranks, 1))  # orders m and -m

    def synthesis(
        self, coefficients: Coefficients, shares: FloatArray, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """Re sum_l q_l / r_l sum conj(a^l U_l) D^l(y) U_l."""
        per_function = shares * (2 * np.arange(len(shares)) + 1) / np.maximum(self._ranks[: len(shares)], 1)
        whole, turned = self.spread(coefficients), in_frame(points, self._group)
        return self._plain.synthesis(whole, per_function, turned, epsilon, threads)

    def square_sums(
        self, coefficients: Coefficients, degree: float, times: FloatArray, log_excess: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """sum_l (2l + 1) tr(S^l* a^l* a^l), with S^l the integral of c_t^2(1, z) D^l(z), between invariant vectors."""
        count = int(degree) + 1
        grams = list(self._grams(coefficients))
        found = np.zeros((2, len(times)))
        for place, time in enumerate(times.tolist()):
            for level, square in self._squares(count, time):
                found[0, place] += (2 * level + 1) * np.vdot(square, grams[level]).real
                found[1, place] += (2 * level + 1) * np.trace(square).real
        return found[0], found[1]

    def _grams(self, coefficients: Coefficients) -> Iterator[NDArray[np.complex128]]:
        """U^* a^* a U of each level, shape (r_l, r_l), from orders of either sign."""
        for level, basis in enumerate(bases(self._group, self._count(coefficients))):
            rows = coefficients[self._starts[level] : self._starts[level + 1]].reshape(-1, max(self._ranks[level], 1))
            if basis.size:
                mirrored = _mirrored(rows[1:] @ np.conj(basis.T), level, self._group.fold) @ basis
                rows = np.concatenate([rows, mirrored])
            yield np.conj(rows.T) @ rows

    def _squares(self, count: int, time: float) -> Iterator[tuple[int, NDArray[np.complex128]]]:
        """U^* S^l U of the levels of c_t^2 below *count*."""
        shares = level_probabilities(self.series, time, count)
        shares[0] = 0.0
        shares /= shares.sum()
        most = int(np.flatnonzero(shares > _NEGLIGIBLE_LEVEL_SHARE)[-1])
        kept, fold = min(count, 2 * most + 1), self._group.fold
        angles, volumes = _quadrature(self._group, 2 * most + kept)
        starts = start(np.arange(max(most + 1, kept) + 1))
        unit = self.spread(self.projected(_unit_coefficients(most + 1), most))
        factors = shares[: most + 1] / np.maximum(self._ranks[: most + 1], 1)
        scaled = np.conj(unit) * np.repeat(factors, np.diff(starts[: most + 2]))
        values = synthesise(scaled, angles, 0, starts[: most + 1], _ACCURACY, thread_count())
        square = self._plain.zeros(kept - 1)
        analyse(angles, volumes * values**2, 0, starts[:kept], square, _ACCURACY, thread_count())
        for level, basis, rows in self._levels(square):
            own = rows[:, _orders(level, fold)]
            signs = (-1.0) ** np.arange(level, 0, -1)[:, None]
            both = np.concatenate([signs * _mirrored(own[:0:-1], level, fold), own])[_orders(level, fold)]
            yield level, np.conj(basis.T) @ both @ basis


class OrbitMoments(LowMoments):
    """sum w D^l(x) U_l of the two lowest levels that have functions, term by term."""

    def __init__(self, group: Group) -> None:
        self._group, self._lowest = group, group.series.present(_LOW_LEVELS)

    def sums(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """Real and imaginary parts of all orders m >= 0 and columns, level after level."""
        levels = [(level, *self._table(level)) for level in self._lowest]

        def partial(rows: slice) -> FloatArray:
            a, b, c = euler_angles(in_frame(points[rows], self._group)).T
            found = []
            for level, table, basis in levels:
                order = np.arange(-level, level + 1)
                across = (np.exp(1j * np.multiply.outer(b, order)) @ table).reshape(len(a), level + 1, -1)
                across *= np.exp(1j * np.multiply.outer(c, order[_orders(level, self._group.fold)]))[:, None]
                along = weights[rows, None] * np.exp(1j * np.multiply.outer(a, order[level:]))
                found.append((np.einsum("im,imn->mn", along, across) @ basis).ravel())
            return np.concatenate(found).view(np.float64)

        width = sum((level + 1) * basis.shape[1] for level, _, basis in levels)
        return np.asarray(sum(map_rows(partial, len(points), 4096), np.zeros(2 * width)))

    def _table(self, level: int) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """Delta_km Delta_kn for all k, orders m >= 0 and n of the axis, in columns; and U_l."""
        whole = _right_angles(level)
        own = whole[:, _orders(level, self._group.fold)]
        table = np.einsum("km,kn->kmn", whole[:, level:], own).reshape(2 * level + 1, -1)
        return table.astype(np.complex128), bases(self._group, level + 1)[level]

    def moments(self, sums: FloatArray) -> FloatArray:
        """b_l of all levels up to the second that has functions."""
        found, place = np.zeros(self._lowest[-1]), 0
        for level in self._lowest:
            rank = bases(self._group, level + 1)[level].shape[1]
            rows = sums[2 * place : 2 * (place + (level + 1) * rank)].reshape(level + 1, -1)
            place += (level + 1) * rank
            found[level - 1] = (2 * np.sum(rows**2) - np.sum(rows[0] ** 2)) / rank
        return np.minimum(found, 1.0)

    def improved(self, moments: LevelMoments, rtol: float, sums: LowSums) -> LevelMoments:
        """As for other spaces, by the levels that have functions."""
        known = [level for level in self._lowest if level < len(moments.values)]
        return self.improved_from(moments, float(moments.values[known].min(initial=1.0)), rtol, sums)


def in_frame(points: FloatArray, group: Group) -> FloatArray:
    """x h, so that the main axis of the group is z."""
    if group.frame == (0.0, 0.0, 0.0, 1.0):
        return points
    found, frame = np.empty(points.shape), np.array(group.frame)

    def fill(rows: slice) -> None:
        found[rows] = multiplied(points[rows], frame)

    map_rows(fill, len(points))
    return found


def bases(group: Group, count: int) -> list[NDArray[np.complex128]]:
    """U_l of *count* levels, rows for the orders n of the axis, shape (orders, r_l)."""
    with one_blas_thread():
        return [_basis(group, level) for level in range(count)]


@lru_cache(maxsize=4096)
def _basis(group: Group, level: int) -> NDArray[np.complex128]:
    """Eigenvectors of P_l, which is a projection, with eigenvalue one."""
    orders = np.arange(-level, level + 1)[_orders(level, group.fold)]
    rank = int(invariants(group.series, level + 1)[level])
    if not rank or len(orders) == rank:
        return np.eye(len(orders), rank, dtype=np.complex128)
    angles = euler_angles(np.array(group.elements))
    tilts = np.round(angles[:, 1], 9)
    whole = _right_angles(level)[:, _orders(level, group.fold)]
    mean = np.zeros((len(orders), len(orders)), dtype=np.complex128)
    for tilt in np.unique(tilts):
        a, b, c = angles[tilts == tilt].T
        phases = np.exp(1j * np.multiply.outer(orders, a)) @ np.exp(1j * np.multiply.outer(c, orders))
        waves = np.exp(1j * b[0] * np.arange(-level, level + 1))
        mean += phases * ((whole * waves[:, None]).T @ whole)
    vectors = np.linalg.eigh((mean + np.conj(mean.T)) / (2 * len(angles)))[1]
    return np.ascontiguousarray(vectors[:, len(orders) - rank :])


def _orders(level: int, fold: int) -> slice:
    """Places of the orders n = -l, ..., l that are multiples of the order of the axis."""
    return slice(level % fold, None, fold)


def _right_angles(level: int) -> FloatArray:
    """Delta^l for all orders k and n, shape (2l + 1, 2l + 1)."""
    table = right_angle(1 << max(4, level.bit_length()))
    own = table[table_start(level) : table_start(level + 1)].reshape(level + 1, level + 1)
    order = np.arange(level + 1)
    whole = np.empty((2 * level + 1, 2 * level + 1))
    whole[level:, level:] = own
    whole[level:, :level] = (own * (-1.0) ** (level + order)[:, None])[:, :0:-1]
    # Products of two entries of a row are all that matters, so the sign of a whole row is free.
    whole[:level] = (whole[level + 1 :] * (-1.0) ** np.arange(-level, level + 1))[::-1]
    return whole


def _matrix(rotation: FloatArray, level: int) -> NDArray[np.complex128]:
    """D^l of one rotation, shape (2l + 1, 2l + 1)."""
    ((a, b, c),), orders = euler_angles(rotation[None]), np.arange(-level, level + 1)
    whole = _right_angles(level)
    tilted = (whole * np.exp(1j * b * orders)[:, None]).T @ whole
    return np.asarray(np.exp(1j * np.add.outer(a * orders, c * orders)) * tilted)


def _mirrored(rows: NDArray[np.complex128], level: int, fold: int) -> NDArray[np.complex128]:
    """Rows of orders -m from rows of orders m, but for the sign of (-1)^m: (-1)^n conj(a_(-n))."""
    orders = np.arange(-level, level + 1)[_orders(level, fold)]
    return np.asarray(np.conj(rows[:, ::-1]) * (-1.0) ** orders)


def _unit_coefficients(count: int) -> Coefficients:
    """D^l of the unit: ones where m = n."""
    starts = start(np.arange(count + 1))
    found = np.zeros(starts[-1], dtype=np.complex128)
    for level in range(count):
        rows = found[starts[level] : starts[level + 1]].reshape(level + 1, 2 * level + 1)
        rows[:, level:] = np.eye(level + 1)
    return found


def _quadrature(group: Group, degree: int) -> tuple[FloatArray, FloatArray]:
    """Euler angles and shares of volume that integrate functions of some degree, invariant on both sides, exactly."""
    from scipy.special import roots_legendre

    count = degree // group.fold + 1
    turns = np.arange(count) * (2 * math.pi / group.fold / count)
    cosines, volumes = roots_legendre(degree // 2 + 1)
    elements = np.array(group.elements)
    if (np.hypot(elements[:, 2], elements[:, 3]) < 1e-9).any():  # axes across: tilts b and pi - b are alike
        kept = cosines >= 0
        cosines, volumes = cosines[kept], volumes[kept] * np.where(np.abs(cosines[kept]) < 1e-12, 1.0, 2.0)
    angles = np.stack(np.meshgrid(turns, np.arccos(cosines), turns, indexing="ij"), axis=-1).reshape(-1, 3)
    shares = np.broadcast_to(volumes[:, None] / (2 * count**2), (count, len(volumes), count))
    return angles, shares.ravel()
