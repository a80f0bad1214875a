"""Associated Legendre functions on rings of equal colatitude, order by order; see `transforms.rings`.

With f_lm(theta) = Y_lm(theta, 0) and y = 1 - cos(theta),

    f_(l+1) = r_l f_l + d_l,   d_l = u_l d_(l-1) - v_l y f_l,   r_l^2 = (2l + 3) (l + 1 + m) / ((2l + 1) (l + 1 - m)),
    u_l = r_l (l - m) / (l + m + 1),   v_l = r_l (2l + 1) / (l + m + 1),

the usual recurrence in differences, which near the pole loses l digits of the last place where the usual one loses l^2.

It begins with f_mm, which is proportional to sin(theta)^m and below any floating-point number near the pole if m is
large. There, a ring keeps its values divided by a power of 2^512, and counts when they have grown. Rings lie on the
northern hemisphere, from the pole on, in whole eights; functions with l - m even are even about the equator, the
others odd.
"""

from __future__ import annotations

import numpy as np

from . import compiled
from .vectors import add_two, step_two, sum_two

_BIG, _SMALL, _GROWN = 2.0**512, 2.0**-400, 2.0**112


@compiled(nogil=True)
def first_values(m, norm, sine, values, powers):  # type: ignore[no-untyped-def]
    """Write norm sin(theta)^m as *values* times 2^(512 powers)."""
    for j in range(len(sine)):
        result, power, base, base_power, left = norm, 0, sine[j], 0, m
        if m > 0 and base <= 0.0:  # a pole
            result, power, left = 0.0, -1, 0
        while left:
            if left & 1:
                result *= base
                power += base_power
                if abs(result) < _SMALL:
                    result *= _BIG
                    power -= 1
            base *= base
            base_power *= 2
            if base < _SMALL:
                base *= _BIG
                base_power -= 1
            left >>= 1
        values[j], powers[j] = result, power


@compiled(nogil=True)
def grown(lowest, bound, f, d, powers, given, rings):  # type: ignore[no-untyped-def]
    """Scale rings up that have grown, and let those count that need no scale any more: their rows become as *given*.

    The ring before which all are asleep is returned, in whole eights, and the one behind the last that is.
    """
    last = lowest
    for j in range(lowest, bound):
        if powers[j] < 0:
            if abs(f[j]) > _GROWN or abs(d[j]) > _GROWN:
                f[j] /= _BIG
                d[j] /= _BIG
                powers[j] += 1
                if powers[j] == 0:
                    for k in range(4):
                        rings[k, j] = given[k, j]
            if powers[j] < 0:
                last = j + 1
    first = lowest
    while first < last and powers[first] < 0:
        first += 1
    return first // 8 * 8, last


@compiled(nogil=True)
def scalars(m, degree, row):  # type: ignore[no-untyped-def]
    """Write r, u, v of two steps, from *degree* on."""
    for k in range(2):
        l = float(degree + k)  # noqa: E741
        r = np.sqrt((2.0 * l + 3.0) * (l + 1.0 + m) / ((2.0 * l + 1.0) * (l + 1.0 - m)))
        row[3 * k] = r
        row[3 * k + 1] = r * (l - m) / (l + m + 1.0)
        row[3 * k + 2] = r * (2.0 * l + 1.0) / (l + m + 1.0)


@compiled(nogil=True)
def analyse(given, m, norm, y, sine, lowest, found):  # type: ignore[no-untyped-def]
    """Write sum_j f_lm(theta_j) R_j for l >= m into column m of *found*.

    Rings (4, size): the real and imaginary parts of what even functions take, and of what odd ones do; those before
    *lowest* do not matter.
    """
    size, count = len(y), len(found)
    f, d, powers, rings = np.empty(size), np.zeros(size), np.empty(size, np.int64), np.empty((4, size))
    first_values(m, norm, sine, f, powers)
    for k in range(4):
        for j in range(size):
            rings[k, j] = given[k, j] if powers[j] == 0 else 0.0
    row, sums, first, bound = np.empty(6), np.empty(4), lowest, size
    for l in range(m, count, 2):  # noqa: E741
        if bound > lowest and (l - m) % 8 == 0:
            first, bound = grown(lowest, bound, f, d, powers, given, rings)
        scalars(m, l, row)
        step_two(f, d, y, row, lowest, first, rings, size, sums)
        sum_two(f, d, y, row, first, size, rings, size, sums)
        found[l, m] = complex(sums[0], sums[1])
        if l + 1 < count:
            found[l + 1, m] = complex(sums[2], sums[3])


@compiled(nogil=True)
def functions(m, norm, y, sine, lowest, found):  # type: ignore[no-untyped-def]
    """Write f_lm(theta_j) for l = m, m + 1, ... into the rows of *found*; zeros before ring *lowest*."""
    size = len(y)
    f, d, powers, nothing = np.empty(size), np.zeros(size), np.empty(size, np.int64), np.zeros((4, size))
    first_values(m, norm, sine, f, powers)
    row, bound = np.empty(6), size
    for step in range(len(found)):
        if bound > lowest and step % 8 == 0:
            _, bound = grown(lowest, bound, f, d, powers, nothing, nothing)
        if step % 2 == 0:
            scalars(m, m + step, row)
        r, u, v = row[3 * (step % 2)], row[3 * (step % 2) + 1], row[3 * (step % 2) + 2]
        for j in range(lowest):
            found[step, j] = 0.0
        for j in range(lowest, size):
            found[step, j] = f[j] if powers[j] == 0 else 0.0
            d[j] = u * d[j] - v * y[j] * f[j]
            f[j] = r * f[j] + d[j]


@compiled(nogil=True)
def fold(circle, sign, rings):  # type: ignore[no-untyped-def]
    """Write what even and odd functions take of values around a meridian circle, colatitudes (j + 1/2) pi / size."""
    size = len(circle) // 2
    for j in range(size // 2):
        north = circle[j] + sign * circle[2 * size - 1 - j]
        south = circle[size - 1 - j] + sign * circle[size + j]
        rings[0, j], rings[1, j] = (north + south).real, (north + south).imag
        rings[2, j], rings[3, j] = (north - south).real, (north - south).imag


@compiled(nogil=True)
def analyse_orders(circles, first, norms, y, sine, lowest, found):  # type: ignore[no-untyped-def]
    """`analyse` of orders first, first + 1, ..., each from its values around a meridian circle."""
    for k in range(len(circles)):
        m, rings = first + k, np.zeros((4, len(y)))
        fold(circles[k], 1.0 - 2.0 * (m % 2), rings)
        analyse(rings, m, norms[m], y, sine, lowest[m], found)


@compiled(nogil=True)
def synthesise(coefficients, m, norm, y, sine, lowest, rings):  # type: ignore[no-untyped-def]
    """Write sum_l a_lm f_lm(theta_j) to *rings* (4, size), even functions and odd ones apart; reverse to `analyse`."""
    size, count = len(y), len(coefficients)
    f, d, powers, zeros = np.empty(size), np.zeros(size), np.empty(size, np.int64), np.zeros((4, size))
    first_values(m, norm, sine, f, powers)
    for k in range(4):
        for j in range(size):
            rings[k, j] = 0.0
    row, own, first, bound = np.empty(6), np.empty(4), lowest, size
    for l in range(m, count, 2):  # noqa: E741
        if bound > lowest and (l - m) % 8 == 0:
            first, bound = grown(lowest, bound, f, d, powers, zeros, rings)
        scalars(m, l, row)
        left = coefficients[l, m]
        right = coefficients[l + 1, m] if l + 1 < count else 0j
        own[0], own[1], own[2], own[3] = left.real, left.imag, right.real, right.imag
        step_two(f, d, y, row, lowest, first, rings, size, own)
        add_two(f, d, y, row, first, size, rings, size, own)
    for k in range(4):
        for j in range(size):
            if j < lowest or powers[j] < 0:
                rings[k, j] = 0.0
