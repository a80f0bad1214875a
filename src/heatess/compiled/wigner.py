"""Compiled contractions with Wigner's d-matrices at a right angle; see `transforms.wigner`.

Orders m, n, k and levels are counted from zero: with *half* = 1 they stand for m + 1/2, ..., and with *half* = 0 for
themselves. Frequencies are side by side, so that order k is at top + half + k and order -k at top - k.
"""

from __future__ import annotations

import numpy as np

from . import compiled


@compiled(nogil=True, fastmath=True)
def contract(modes, lowest, half, table, starts, found, first, step):  # type: ignore[no-untyped-def]
    """The orders m = lowest + first, lowest + first + step, ..., so that all threads have equal work."""
    count = (modes.shape[1] + 1) // 2
    top = count - 1
    flip = 1.0 - 2.0 * half
    for row in range(first, len(modes), step):
        m = lowest + row
        folded = modes[row]  # (k, n)
        for k in range(1 - half, count):
            for n in range(count):
                sign = 1.0 - 2.0 * ((m + n) & 1)
                folded[top + half + k, top + half + n] += sign * folded[top - k, top + half + n]
            for n in range(1 - half, count):
                sign = flip * (1.0 - 2.0 * ((m + n) & 1))
                folded[top + half + k, top - n] += sign * folded[top - k, top - n]
        # Split by parts and with n counted upwards, so that the inner loop runs in vector registers.
        up_re, up_im = np.empty((count, count)), np.empty((count, count))
        down_re, down_im = np.empty((count, count)), np.empty((count, count))
        for k in range(count):
            for n in range(count):
                up, down = folded[top + half + k, top + half + n], folded[top + half + k, top - n]
                up_re[k, n], up_im[k, n] = up.real, up.imag
                down_re[k, n], down_im[k, n] = down.real, down.imag
        sums = np.empty((4, count))
        for l in range(m, count):  # noqa: E741
            width = l + 1
            origin = l * (l + 1) * (2 * l + 1) // 6
            sums[:, :width] = 0.0
            for k in range(width):
                delta = table[origin + k * width : origin + (k + 1) * width]
                plus = delta[m]
                minus = flip * plus * (1.0 - 2.0 * ((l + k) & 1))
                for n in range(width):
                    sums[0, n] += plus * delta[n] * up_re[k, n]
                    sums[1, n] += plus * delta[n] * up_im[k, n]
                    sums[2, n] += minus * delta[n] * down_re[k, n]
                    sums[3, n] += minus * delta[n] * down_im[k, n]
            centre = starts[l] + m * (2 * l + 1 + half) + l
            for n in range(width):
                found[centre - n] = complex(sums[2, n], sums[3, n])
                found[centre + half + n] = complex(sums[0, n], sums[1, n])
            found[centre + half] = complex(sums[0, 0], sums[1, 0])


@compiled(nogil=True, fastmath=True)
def expand(modes, lowest, half, table, starts, coefficients, first, step):  # type: ignore[no-untyped-def]
    """The adjoint of `contract`: modes of the orders m = lowest + first + step j from coefficients."""
    count = (modes.shape[1] + 1) // 2
    top = count - 1
    flip = 1.0 - 2.0 * half
    for row in range(first, len(modes), step):
        m = lowest + row
        sums = np.zeros((4, count, count))  # real and imaginary parts for n >= 0, and for n <= 0; (k, n)
        part = np.empty((4, count))
        for l in range(m, count):  # noqa: E741
            width = l + 1
            origin = l * (l + 1) * (2 * l + 1) // 6
            centre = starts[l] + m * (2 * l + 1 + half) + l
            for n in range(width):
                up, down = coefficients[centre + half + n], coefficients[centre - n]
                part[0, n], part[1, n] = up.real, up.imag
                part[2, n], part[3, n] = down.real, down.imag
            for k in range(width):
                delta = table[origin + k * width : origin + (k + 1) * width]
                plus = delta[m]
                minus = flip * plus * (1.0 - 2.0 * ((l + k) & 1))
                for n in range(width):
                    sums[0, k, n] += plus * delta[n] * part[0, n]
                    sums[1, k, n] += plus * delta[n] * part[1, n]
                    sums[2, k, n] += minus * delta[n] * part[2, n]
                    sums[3, k, n] += minus * delta[n] * part[3, n]
        found = modes[row]  # (k, n)
        for k in range(count):
            for n in range(count):
                up, down = complex(sums[0, k, n], sums[1, k, n]), complex(sums[2, k, n], sums[3, k, n])
                sign = 1.0 - 2.0 * ((m + n) & 1)  # of Delta_(-k)m Delta_(-k)n
                found[top + half + k, top - n], found[top + half + k, top + half + n] = down, up
                found[top - k, top - n], found[top - k, top + half + n] = sign * flip * down, sign * up
