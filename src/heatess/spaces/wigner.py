"""Wigner's d-matrices at a right angle, and the Fourier transform on the group of rotations with them.

With rotations as Rz(a) Ry(b) Rz(c), the matrix element of level l, up to a constant phase i^(n - m), is

    D^l_mn(a, b, c) = sum_{|k| <= l} Delta^l_km Delta^l_kn exp(i (m a + k b + n c)),     Delta^l = d^l(pi / 2),

so that one Fourier transform in three angles gives them all. Two symmetries save seven eighths of the table
and half of the sum: Delta_(-k)m Delta_(-k)n = (-1)^(m + n) Delta_km Delta_kn and Delta_k(-n) = (-1)^(l + k) Delta_kn.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import ducc0
import numba
import numpy as np
from numpy.typing import NDArray

from ..blocks import map_rows, slices
from .base import FloatArray

#: Fourier sums held at once; a quarter of a gigabyte, and five times that inside the transform.
MODES = 2**24


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


def coefficients(
    points: FloatArray, weights: FloatArray, count: int, epsilon: float, threads: int
) -> NDArray[np.complex128]:
    """Matrix elements sum w D^l_mn of weighted quaternions (x, y, z, w), shape (start(count),).

    Level after level, a row of n = -l, ..., l for each m = 0, ..., l. Orders m are taken some at a time, because the
    Fourier transform needs five times the room of its result.
    """
    angles = euler_angles(points)
    found = np.empty(start(count), dtype=np.complex128)
    runs = -(-count * (2 * count - 1) ** 2 // MODES)
    for orders in slices(count, -(-count // runs)):
        contract(fourier(angles, weights, count, orders, epsilon, threads), orders.start, found, threads)
    return found


def euler_angles(points: FloatArray) -> FloatArray:
    """Angles a, b, c of the rotations Rz(a) Ry(b) Rz(c) given as quaternions (x, y, z, w), shape (n, 3)."""
    angles = np.empty((len(points), 3))

    def fill(rows: slice) -> None:
        x, y, z, w = points[rows].T
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
    """Write the coefficients of orders m = lowest, lowest + 1, ... into *found*; *modes* are used up.

    Parameters
    ----------
    modes : ndarray, shape (orders, 2 count - 1, 2 count - 1)
        Sums of w exp(i (m a + k b + n c)), with k and n from -(count - 1) to count - 1.
    lowest : int
        The first of the orders m.
    found : ndarray, shape (start(count),)
        Coefficients of all levels and orders.
    threads : int
        Threads to use.
    """
    table = right_angle((modes.shape[1] + 1) // 2)
    if threads == 1:
        _contract(modes, lowest, table, found, 0, 1)
        return
    # Python threads, because compiled ones must not be started from several threads at once.
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda first: _contract(modes, lowest, table, found, first, threads), range(threads)))


@numba.njit(cache=True, nogil=True, fastmath=True)
def _contract(modes, lowest, table, found, first, step):  # type: ignore[no-untyped-def]
    """The orders m = lowest + first, lowest + first + step, ..., so that all threads have equal work."""
    count = (modes.shape[1] + 1) // 2
    top = count - 1
    for row in range(first, len(modes), step):
        m = lowest + row
        folded = modes[row]  # (k, n)
        for k in range(1, count):
            for n in range(-top, count):
                sign = 1.0 - 2.0 * ((m + n) & 1)
                folded[top + k, top + n] += sign * folded[top - k, top + n]
        # Split by parts and with n counted upwards, so that the inner loop runs in vector registers.
        up_re, up_im = np.empty((count, count)), np.empty((count, count))
        down_re, down_im = np.empty((count, count)), np.empty((count, count))
        for k in range(count):
            for n in range(count):
                up_re[k, n], up_im[k, n] = folded[top + k, top + n].real, folded[top + k, top + n].imag
                down_re[k, n], down_im[k, n] = folded[top + k, top - n].real, folded[top + k, top - n].imag
        sums = np.empty((4, count))
        for l in range(m, count):  # noqa: E741
            width = l + 1
            origin = l * (l + 1) * (2 * l + 1) // 6
            sums[:, :width] = 0.0
            for k in range(width):
                delta = table[origin + k * width : origin + (k + 1) * width]
                plus = delta[m]
                minus = plus * (1.0 - 2.0 * ((l + k) & 1))
                for n in range(width):
                    sums[0, n] += plus * delta[n] * up_re[k, n]
                    sums[1, n] += plus * delta[n] * up_im[k, n]
                    sums[2, n] += minus * delta[n] * down_re[k, n]
                    sums[3, n] += minus * delta[n] * down_im[k, n]
            centre = l * (l + 1) * (4 * l - 1) // 6 + m * (2 * l + 1) + l
            for n in range(width):
                found[centre + n] = complex(sums[0, n], sums[1, n])
                found[centre - n] = complex(sums[2, n], sums[3, n])
            found[centre] = complex(sums[0, 0], sums[1, 0])
