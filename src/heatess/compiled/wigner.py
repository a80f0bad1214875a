"""Compiled contractions with Wigner's d-matrices at a right angle; see `transforms.wigner`."""

from __future__ import annotations

import numpy as np

from . import compiled


@compiled(nogil=True, fastmath=True)
def contract(modes, lowest, table, found, first, step):  # type: ignore[no-untyped-def]
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


@compiled(nogil=True, fastmath=True)
def expand(modes, lowest, table, coefficients, first, step):  # type: ignore[no-untyped-def]
    """The adjoint of `contract`: modes of the orders m = lowest + first + step j from coefficients."""
    count = (modes.shape[1] + 1) // 2
    top = count - 1
    for row in range(first, len(modes), step):
        m = lowest + row
        sums = np.zeros((4, count, count))  # real and imaginary parts for n >= 0, and for n <= 0; (k, n)
        part = np.empty((4, count))
        for l in range(m, count):  # noqa: E741
            width = l + 1
            origin = l * (l + 1) * (2 * l + 1) // 6
            centre = l * (l + 1) * (4 * l - 1) // 6 + m * (2 * l + 1) + l
            for n in range(width):
                part[0, n], part[1, n] = coefficients[centre + n].real, coefficients[centre + n].imag
                part[2, n], part[3, n] = coefficients[centre - n].real, coefficients[centre - n].imag
            for k in range(width):
                delta = table[origin + k * width : origin + (k + 1) * width]
                plus = delta[m]
                minus = plus * (1.0 - 2.0 * ((l + k) & 1))
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
                found[top + k, top - n], found[top + k, top + n] = down, up
                found[top - k, top - n], found[top - k, top + n] = sign * down, sign * up
