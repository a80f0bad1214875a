"""Wigner's d-matrices at a right angle, and the Fourier transform on the group of rotations with them.

With rotations as Rz(a) Ry(b) Rz(c), the matrix element of level l, up to a constant phase i^(n - m), is

    D^l_mn(a, b, c) = sum_{|k| <= l} Delta^l_km Delta^l_kn exp(i (m a + k b + n c)),     Delta^l = d^l(pi / 2),

so that one Fourier transform in three angles gives them all. Two symmetries save seven eighths of the table and half
of the sum: Delta_(-k)m Delta_(-k)n = (-1)^(2l - m - n) Delta_km Delta_kn and Delta_k(-n) = (-1)^(l + k) Delta_kn.

The same holds for unit quaternions of which q and -q are two points, where l, m, n and k may all be half-integers; see
`transforms.spin`. Here *half* is 0 for whole numbers and 1 for half-integers, which are counted from 1/2 on: then the
level, or order, l of an array stands for l + 1/2.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import map_rows, share_out, slices
from ..heat.spherical import SphereSeries
from . import backend
from .base import Coefficients, OfColumns
from .levels import SphereTransform, bounded
from .low_moments import LowMoments
from .nonuniform.box import Box
from .nonuniform.columns import SIDE, SharedPoints, shares_points

#: Fourier sums held at once; a quarter of a gigabyte, and five times that inside the transform.
MODES = 2**24

#: Points transformed at once.
TRANSFORM_BLOCK = 2**21

#: Seconds on two cores of a transform: for each point, and for the cube of the degree.
_COSTS = {"native": (7e-7, 2.5e-7), "ducc": (6e-7, 4.5e-7)}

#: Modes that are contracted in milliseconds.
_MODES_IN_MILLISECONDS = 100_000


class EulerTransform(SphereTransform):
    """Matrix elements sum w D^l_mn of unit quaternions (x, y, z, w), level after level, m >= 0 and all n of each.

    Levels of whole orders, and those of half-integer ones where there are any, take one Fourier transform each. Levels
    of whole orders are every *step*-th.
    """

    def __init__(self, series: SphereSeries, low: LowMoments, most: int, basis: str, step: int) -> None:
        super().__init__(series, low, most, basis)
        self._step = step

    def starts(self, count: int) -> IntArray:
        """Coefficients before each of *count* levels, and of all: a row of n for each order m >= 0."""
        level = np.arange(count)
        return np.concatenate([[0], np.cumsum((level // self._step + 1) * self._widths(count))])

    def _widths(self, count: int) -> IntArray:
        """Orders n of each level."""
        return np.asarray(2 * np.arange(count) // self._step + 1)

    def _kinds(self, count: int) -> list[IntArray]:
        """Where levels of whole orders begin and, if *count* is above one, those of half-integer orders."""
        starts = self.starts(count)[:-1]
        return [np.ascontiguousarray(starts[half :: self._step]) for half in range(min(count, self._step))]

    def zeros(self, degree: float) -> Coefficients:
        """In one row."""
        return np.zeros(self.starts(int(degree) + 1)[-1], dtype=np.complex128)

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, threads: int
    ) -> Coefficients:
        """Fourier transforms in the three Euler angles, contracted level by level.

        Points are taken in blocks, so that the memory needed does not grow with their number.
        """
        total, kinds = self.zeros(degree), self._kinds(int(degree) + 1)
        for rows in slices(len(points), TRANSFORM_BLOCK):
            angles, found = euler_angles(points[rows]), np.empty_like(total)
            for half, starts in enumerate(kinds):
                analyse(angles, weights[rows], half, starts, found, epsilon, threads)
            total += found
        return total

    together = SIDE

    def column_seconds(self, n: int, degree: float) -> float:
        """Columns side by side, on grids that are not too large."""
        return self.seconds(n, degree) / (4.0 if self._shared(n, degree) else 1.0)

    def _shared(self, n: int, degree: float) -> bool:
        return shares_points(n, [int(degree) // self._step + 1] * 3)

    def of_columns(self, points: NDArray[Any], degree: float, epsilon: float) -> OfColumns:
        """They share what depends on the points alone; those of a high degree nothing."""
        if not self._shared(len(points), degree):
            return super().of_columns(points, degree, epsilon)
        angles, kinds = euler_angles(points), self._kinds(int(degree) + 1)
        boxes = [_box(len(starts), half, slice(0, len(starts)), epsilon, 1) for half, starts in enumerate(kinds)]
        shared = [SharedPoints(angles, box) for box in boxes]

        def found(columns: FloatArray) -> Iterator[Coefficients]:
            for both in zip(*(own.modes(columns) for own in shared), strict=True):
                coefficients = self.zeros(degree)
                for half, (modes, starts) in enumerate(zip(both, kinds, strict=True)):
                    contract(np.conj(modes, out=modes), 0, half, starts, coefficients, 1)
                yield coefficients

        return found

    def moments(self, coefficients: Coefficients) -> FloatArray:
        """b_l = sum_mn |a^l_mn|^2 over the number of orders."""
        starts = self.starts(int(self.most) + 1)
        count = int(np.searchsorted(starts, len(coefficients)))
        power, widths = coefficients.real**2 + coefficients.imag**2, self._widths(count)
        total = 2 * np.add.reduceat(power, starts[:count])  # orders m and -m
        for level in range(0, count, self._step):
            total[level] -= power[starts[level] : starts[level] + widths[level]].sum()  # m = 0 counts once
        return bounded(total / widths)

    def synthesis(
        self, coefficients: Coefficients, shares: FloatArray, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """Re sum_l q_l sum_mn conj(a^l_mn) D^l_mn(y) over the number of orders: `coefficients` in reverse."""
        count = len(shares)
        scaled = np.conj(coefficients) * np.repeat(shares / self._widths(count), np.diff(self.starts(count)))
        found = np.empty(len(points))
        for rows in slices(len(points), TRANSFORM_BLOCK):
            angles, kinds = euler_angles(points[rows]), enumerate(self._kinds(count))
            found[rows] = sum(synthesise(scaled, angles, half, own, epsilon, threads) for half, own in kinds)
        return found


class WignerTransform(EulerTransform):
    """Matrix elements a^l_mn = sum w D^l_mn of unit quaternions (x, y, z, w), q and -q being one point.

    Level after level, a row of n = -l, ..., l for each m = 0, ..., l; negative orders m are not needed, since the
    weights are real.
    """

    def __init__(self, series: SphereSeries, low: LowMoments) -> None:
        basis = "sum of w sum_k Delta^l_km Delta^l_kn exp(i (m a + k b + n c)), ZYZ angles; [l][m >= 0][n] in one row"
        super().__init__(series, low, 199, basis, step=1)

    def seconds(self, n: int, degree: float) -> float:
        """Linear in the points, and a Fourier grid of 4 L^3 places, some 2 times oversampled."""
        costs = _COSTS[backend.chosen(3)]
        return 5e-4 + costs[0] * n + costs[1] * (degree + 1) ** 3

    def of_rotations(self, coefficients: Coefficients) -> Coefficients:
        """Coefficients of the rotations themselves."""
        return coefficients


def analyse(
    angles: FloatArray,
    weights: FloatArray,
    half: int,
    starts: IntArray,
    found: Coefficients,
    epsilon: float,
    threads: int,
) -> None:
    """Write sum w D^l_mn of all levels l, orders m >= 0 and n into *found*, where level l begins at starts[l].

    Orders m are taken some at a time, because the Fourier transform needs five times the room of its result.
    """
    for orders in _order_runs(len(starts), half):
        modes = fourier(angles, weights, len(starts), half, orders, epsilon, threads)
        contract(modes, orders.start, half, starts, found, threads)


def synthesise(
    coefficients: Coefficients, angles: FloatArray, half: int, starts: IntArray, epsilon: float, threads: int
) -> FloatArray:
    """Re sum_lmn c^l_mn D^l_mn at angles over all orders m, the steps of `analyse` in reverse."""
    total = np.zeros(len(angles))
    for orders in _order_runs(len(starts), half):
        modes = expand(coefficients, half, starts, orders, threads)
        total += inverse_fourier(modes, angles, half, orders, epsilon, threads)
    return total


def _order_runs(count: int, half: int) -> Iterator[slice]:
    """The orders m = 0, ..., count - 1 in runs whose Fourier sums fit in `MODES`."""
    runs = -(-count * (2 * count - 1 + half) ** 2 // MODES)
    return slices(count, -(-count // runs))


@lru_cache(maxsize=8)
def right_angle(count: int, half: int = 0) -> FloatArray:
    """Delta^l_mn for 0 <= m, n <= l of *count* levels, one after another; level l starts at `table_start(l)`.

    By the three-term recurrence in l, upwards from Delta^l_ln = 2^-l sqrt(binomial(2l, l + n)), which is stable:

        r_(l+1) / (l + 1) Delta^(l+1) = -(2l + 1) m n / (l (l + 1)) Delta^l - r_l / l Delta^(l-1),

    with r_l = sqrt((l^2 - m^2) (l^2 - n^2)).

    >>> right_angle(2).round(4)
    array([ 1.    ,  0.    , -0.7071,  0.7071,  0.5   ])
    >>> right_angle(2, half=1).round(4)
    array([ 0.7071, -0.3536, -0.6124,  0.6124,  0.3536])
    """
    table = np.empty(table_start(count))
    before, now = np.zeros((count, count)), np.zeros((count, count))
    edge = np.array([0.5 ** (half / 2)])  # Delta^l_ln for n >= 0
    now[0, 0] = edge[0]
    order = np.arange(count) + half / 2
    for place in range(count):
        table[table_start(place) : table_start(place + 1)] = now[: place + 1, : place + 1].ravel()
        if place + 1 == count:
            break
        n = order[: place + 1]
        l, j = order[place], order[place + 1]  # noqa: E741
        root = np.sqrt(j * j - n * n)
        after = before  # overwritten in place
        inner = after[: place + 1, : place + 1]
        if l:
            falling = np.sqrt(l * l - n * n) / np.sqrt(2 * l + 1)
            inner *= falling[:, None] * falling / -l
            inner -= np.multiply.outer(n, n) * now[: place + 1, : place + 1] / (l * j)
            inner *= j * (2 * l + 1) / np.multiply.outer(root, root)
        # The binomials grow by 4 j (2l + 1) / (2 (j + n) (j - n)), and the last of them, for n = j, remains one.
        edge = np.append(edge * np.sqrt(j * (2 * l + 1) / (2 * root * root)), edge[-1] / 2)
        after[place + 1, : place + 2] = edge
        after[: place + 2, place + 1] = edge * (-1.0) ** np.arange(place + 1, -1, -1)
        before, now = now, after
    table.flags.writeable = False
    return table


def table_start(level: int) -> int:
    """Entries of the table of right angles before *level*: the sum of squares up to it."""
    return level * (level + 1) * (2 * level + 1) // 6


def start(level: IntArray) -> IntArray:
    """Coefficients before each *level*: the sum of (l + 1) (2l + 1), orders m >= 0 and all n."""
    return np.asarray(level * (level + 1) * (4 * level - 1) // 6)


def euler_angles(points: FloatArray) -> FloatArray:
    """Angles a, b, c of the rotations Rz(a) Ry(b) Rz(c) given as quaternions (x, y, z, w), shape (n, 3).

    The angles of -q differ from those of q by 2 pi in a or in c, so that half-integer orders tell them apart.
    """
    angles = np.empty((len(points), 3))

    def fill(rows: slice) -> None:
        x, y, z, w = points[rows].T.astype(np.float64)
        half_sum, half_difference = np.arctan2(z, w), np.arctan2(-x, y)
        angles[rows, 0] = half_sum + half_difference
        angles[rows, 1] = 2 * np.arctan2(np.hypot(x, y), np.hypot(z, w))
        angles[rows, 2] = half_sum - half_difference

    map_rows(fill, len(points))
    return angles


def fourier(
    angles: FloatArray, weights: FloatArray, count: int, half: int, orders: slice, epsilon: float, threads: int
) -> NDArray[np.complex128]:
    """Sums of w exp(i (m a + k b + n c)) for some of the orders m >= 0 and all n and k; shape as in `_grid`.

    Negative orders are not needed, since the weights are real.
    """
    return backend.by(3).modes(angles, weights, _box(count, half, orders, epsilon, threads))


def _box(count: int, half: int, orders: slice, epsilon: float, threads: int) -> Box:
    """The frequencies of some orders."""
    shape = _grid(count, half, orders)
    return Box(_lowest(shape, half, orders), shape, epsilon, threads)


def _grid(count: int, half: int, orders: slice) -> tuple[int, int, int]:
    """Numbers of frequencies in a, b and c: some orders m, and all k and n, negative ones too."""
    width = 2 * count - 1 + half
    return orders.stop - orders.start, width, width


def _lowest(shape: tuple[int, int, int], half: int, orders: slice) -> list[float]:
    """The lowest frequencies in a, b and c."""
    return [orders.start + half / 2, half / 2 - shape[1] // 2, half / 2 - shape[2] // 2]


def contract(
    modes: NDArray[np.complex128],
    lowest: int,
    half: int,
    starts: IntArray,
    found: NDArray[np.complex128],
    threads: int,
) -> None:
    """Write the coefficients of orders m = lowest, lowest + 1, ... into *found*; *modes* are used up."""
    from ..compiled.wigner import contract as compiled

    table, items = right_angle(len(starts), half), _items(modes, threads)
    share_out(range(items), lambda _, first: compiled(modes, lowest, half, table, starts, found, first, items), threads)


def expand(
    coefficients: Coefficients, half: int, starts: IntArray, orders: slice, threads: int
) -> NDArray[np.complex128]:
    """Fourier coefficients of sum_lmn c^l_mn D^l_mn for some orders m, shape as in `_grid`.

    The coefficient of exp(i (m a + k b + n c)) is sum_l c^l_mn Delta^l_km Delta^l_kn.
    """
    from ..compiled.wigner import expand as compiled

    table, lowest = right_angle(len(starts), half), orders.start
    modes = np.zeros(_grid(len(starts), half, orders), dtype=np.complex128)
    items = _items(modes, threads)
    share_out(
        range(items), lambda _, first: compiled(modes, lowest, half, table, starts, coefficients, first, items), threads
    )
    return modes


def _items(modes: NDArray[np.complex128], threads: int) -> int:
    """Into how many items of work orders are divided: one each, unless they take little time."""
    return len(modes) if modes.size > _MODES_IN_MILLISECONDS else threads


def inverse_fourier(
    modes: NDArray[np.complex128], angles: FloatArray, half: int, orders: slice, epsilon: float, threads: int
) -> FloatArray:
    """Re sum exp(i (m a + k b + n c)) of *modes* at angles; orders m > 0 count twice, for -m as well."""
    modes[max(1 - half - orders.start, 0) :] *= 2
    box = Box(_lowest(modes.shape, half, orders), modes.shape, epsilon, threads)
    return backend.by(3).values(modes, angles, box)
