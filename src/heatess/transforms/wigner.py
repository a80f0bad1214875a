"""Wigner's d-matrices at a right angle, and the Fourier transform on the group of rotations with them.

With rotations as Rz(a) Ry(b) Rz(c), the matrix element of level l, up to a constant phase i^(n - m), is

    D^l_mn(a, b, c) = sum_{|k| <= l} Delta^l_km Delta^l_kn exp(i (m a + k b + n c)),     Delta^l = d^l(pi / 2),

so that one Fourier transform in three angles gives them all. Two symmetries save seven eighths of the table
and half of the sum: Delta_(-k)m Delta_(-k)n = (-1)^(m + n) Delta_km Delta_kn and Delta_k(-n) = (-1)^(l + k) Delta_kn.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import ducc0
import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..blocks import map_rows, share_out, slices
from ..heat.series import Series
from .base import Coefficients
from .levels import LevelTransform, bounded
from .low_moments import LowMoments

#: Fourier sums held at once; a quarter of a gigabyte, and five times that inside the transform.
MODES = 2**24

#: Points transformed at once.
TRANSFORM_BLOCK = 2**21


class WignerTransform(LevelTransform):
    """Matrix elements a^l_mn = sum w D^l_mn of unit quaternions (x, y, z, w), q and -q being one point.

    Level after level, a row of n = -l, ..., l for each m = 0, ..., l; negative orders m are not needed, since the
    weights are real.
    """

    def __init__(self, series: Series, low: LowMoments) -> None:
        basis = "sum of w sum_k Delta^l_km Delta^l_kn exp(i (m a + k b + n c)), ZYZ angles; [l][m >= 0][n] in one row"
        super().__init__(series, low, 199, basis)

    def seconds(self, n: int, degree: float) -> float:
        """Linear in the points, and a Fourier grid of 4 L^3 places, some 2 times oversampled."""
        return 5e-4 + 6e-7 * n + 4.5e-7 * (degree + 1) ** 3

    def zeros(self, degree: float) -> Coefficients:
        """(l + 1) (2l + 1) zeros for each level l."""
        return np.zeros(start(int(degree) + 1), dtype=np.complex128)

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, threads: int
    ) -> Coefficients:
        """One nonuniform Fourier transform in the three Euler angles, contracted level by level.

        Points are taken in blocks, so that the memory needed does not grow with their number. Orders m are taken some
        at a time, because the Fourier transform needs five times the room of its result.
        """
        count, total = int(degree) + 1, self.zeros(degree)
        for rows in slices(len(points), TRANSFORM_BLOCK):
            angles, found = euler_angles(points[rows]), np.empty_like(total)
            for orders in _order_runs(count):
                contract(fourier(angles, weights[rows], count, orders, epsilon, threads), orders.start, found, threads)
            total += found
        return total

    def moments(self, coefficients: Coefficients) -> FloatArray:
        """b_l = sum_mn |a^l_mn|^2 / (2l + 1)."""
        level = np.arange(int(self.most) + 2)
        starts = np.asarray(level * (level + 1) * (4 * level - 1) // 6)
        starts = starts[starts <= len(coefficients)]
        power = coefficients.real**2 + coefficients.imag**2
        width = 2 * np.arange(len(starts) - 1) + 1
        central = np.array([power[first : first + n].sum() for first, n in zip(starts[:-1], width, strict=True)])
        return bounded((2 * np.add.reduceat(power, starts[:-1]) - central) / width)  # orders m and -m

    def synthesis(
        self, coefficients: Coefficients, shares: FloatArray, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """Re sum_l q_l / (2l + 1) sum_mn conj(a^l_mn) D^l_mn(y), the steps of `coefficients` in reverse."""
        count = len(shares)
        scaled = np.conj(coefficients)
        for level, share in enumerate(shares):
            scaled[start(level) : start(level + 1)] *= share / (2 * level + 1)
        found = np.empty(len(points))
        for rows in slices(len(points), TRANSFORM_BLOCK):
            angles, total = euler_angles(points[rows]), np.zeros(rows.stop - rows.start)
            for orders in _order_runs(count):
                modes = expand(scaled, count, orders, threads)
                total += inverse_fourier(modes, angles, orders, epsilon, threads)
            found[rows] = total
        return found


def _order_runs(count: int) -> Iterator[slice]:
    """The orders m = 0, ..., count - 1 in runs whose Fourier sums fit in `MODES`."""
    runs = -(-count * (2 * count - 1) ** 2 // MODES)
    return slices(count, -(-count // runs))


@lru_cache(maxsize=4)
def right_angle(count: int) -> FloatArray:
    """Delta^l_mn for 0 <= m, n <= l < count, one level after another; level l starts at `table_start(l)`.

    By the three-term recurrence in l, upwards from Delta^l_ln = 2^-l sqrt(binomial(2l, l + n)), which is stable:

        r_(l+1) / (l + 1) Delta^(l+1) = -(2l + 1) m n / (l (l + 1)) Delta^l - r_l / l Delta^(l-1),

    with r_l = sqrt((l^2 - m^2) (l^2 - n^2)).

    >>> right_angle(2).round(4)
    array([ 1.    ,  0.    , -0.7071,  0.7071,  0.5   ])
    """
    table = np.empty(table_start(count))
    before, now = np.zeros((count, count)), np.zeros((count, count))
    now[0, 0] = 1.0
    edge = np.ones(1)  # Delta^l_ln for n = 0, ..., l
    order = np.arange(count, dtype=np.float64)
    for l in range(count):  # noqa: E741
        table[table_start(l) : table_start(l + 1)] = now[: l + 1, : l + 1].ravel()
        j = l + 1
        if j == count:
            break
        n = order[: l + 1]
        root = np.sqrt(j * j - n * n)
        after = before  # overwritten in place
        inner = after[:j, :j]
        if l:
            falling = np.sqrt(l * l - n * n) / np.sqrt(2 * l + 1)
            inner *= falling[:, None] * falling / -l
            inner -= np.multiply.outer(n, n) * now[:j, :j] / (l * j)
            inner *= j * (2 * l + 1) / np.multiply.outer(root, root)
        # The binomials grow by 4 j (2l + 1) / (2 (j + n) (j - n)), and the last of them, for n = j, remains one.
        edge = np.append(edge * np.sqrt(j * (2 * l + 1) / (2 * root * root)), edge[-1] / 2)
        after[j, : j + 1] = edge
        after[: j + 1, j] = edge * (-1.0) ** (j - np.arange(j + 1))
        before, now = now, after
    table.flags.writeable = False
    return table


def table_start(level: int) -> int:
    """Entries of the table of right angles before *level*: the sum of squares up to it."""
    return level * (level + 1) * (2 * level + 1) // 6


def start(level: int) -> int:
    """Coefficients before *level*: the sum of (l + 1) (2l + 1), orders m >= 0 and all n."""
    return level * (level + 1) * (4 * level - 1) // 6


def euler_angles(points: FloatArray) -> FloatArray:
    """Angles a, b, c of the rotations Rz(a) Ry(b) Rz(c) given as quaternions (x, y, z, w), shape (n, 3)."""
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
    angles: FloatArray, weights: FloatArray, count: int, orders: slice, epsilon: float, threads: int
) -> NDArray[np.complex128]:
    """Sums of w exp(i (m a + k b + n c)), shape (orders, 2 count - 1, 2 count - 1), for some of the orders m >= 0.

    Negative orders are not needed, since the weights are real.
    """
    width = orders.stop - orders.start
    middle = orders.start + width // 2  # frequencies come centred; turning the weights shifts them to the orders
    strengths = np.empty(len(angles), dtype=np.complex128)

    def fill(rows: slice) -> None:
        strengths[rows] = weights[rows] * np.exp(1j * middle * angles[rows, 0])

    map_rows(fill, len(angles))
    modes = np.empty((width, 2 * count - 1, 2 * count - 1), dtype=np.complex128)
    ducc0.nufft.nu2u(points=strengths, coord=angles, forward=False, epsilon=epsilon, nthreads=threads, out=modes)
    return modes


def contract(modes: NDArray[np.complex128], lowest: int, found: NDArray[np.complex128], threads: int) -> None:
    """Write the coefficients of orders m = lowest, lowest + 1, ... into *found*.

    *modes* are sums of w exp(i (m a + k b + n c)), shape (orders, 2 count - 1, 2 count - 1), and are used up.
    """
    from ..compiled.wigner import contract as compiled

    table = right_angle((modes.shape[1] + 1) // 2)
    share_out(range(threads), lambda _, first: compiled(modes, lowest, table, found, first, threads), threads)


def expand(coefficients: Coefficients, count: int, orders: slice, threads: int) -> NDArray[np.complex128]:
    """Fourier coefficients of sum_lmn c^l_mn D^l_mn for some orders m, shape (orders, 2 count - 1, 2 count - 1).

    The coefficient of exp(i (m a + k b + n c)) is sum_l c^l_mn Delta^l_km Delta^l_kn.
    """
    from ..compiled.wigner import expand as compiled

    table = right_angle(count)
    modes = np.zeros((orders.stop - orders.start, 2 * count - 1, 2 * count - 1), dtype=np.complex128)
    lowest = orders.start
    share_out(range(threads), lambda _, first: compiled(modes, lowest, table, coefficients, first, threads), threads)
    return modes


def inverse_fourier(
    modes: NDArray[np.complex128], angles: FloatArray, orders: slice, epsilon: float, threads: int
) -> FloatArray:
    """Re sum exp(i (m a + k b + n c)) of *modes* at angles; orders m > 0 count twice, for -m as well."""
    width = orders.stop - orders.start
    modes[max(1 - orders.start, 0) :] *= 2
    found = ducc0.nufft.u2nu(grid=modes, coord=angles, forward=False, epsilon=epsilon, nthreads=threads)
    found *= np.exp(1j * (orders.start + width // 2) * angles[:, 0])  # frequencies came centred
    return np.asarray(found.real)
