"""From coefficients on the rotations to coefficients on the sphere of what a direction is turned into.

Where rotations R are distributed with coefficients a^l = sum w D^l(R), the directions R h have those of harmonics

    sum w conj(Y_lm(R h)) = sum_n i^(m - n) conj(a^l_mn) conj(Y_ln(h)),

level by level, and heat on the rotations becomes heat on the sphere for the same time.
"""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import FloatArray
from .base import Coefficients
from .harmonics import fast_transforms
from .wigner import start


def pole_sums(
    whole: Coefficients, direction: FloatArray, degree: float, *, inverse: bool, antipodal: bool
) -> tuple[Coefficients, FloatArray]:
    """Coefficients on the sphere of what a direction is turned into, or either end of it, and the sums of vectors."""
    harmonic = fast_transforms()[2, 1]
    of_direction = harmonic.coefficients(direction[None], np.ones(1), degree, 1e-13, 1)
    found = _pole_coefficients(whole, of_direction, inverse=inverse)
    if antipodal:
        found[1::2] = 0
    axes = np.eye(3)
    between = math.sqrt(0.5) * (axes + np.roll(axes, -1, axis=0))
    first, second = np.eye(int(degree) + 1)[1:3]
    places = np.concatenate([axes, between])
    values = [harmonic.synthesis(found, shares, places, 1e-13, 1) for shares in (first, second)]
    return found, _vector_sums(values[0][:3], values[1][3:], values[1][:3])


def _pole_coefficients(whole: Coefficients, of_direction: Coefficients, *, inverse: bool) -> Coefficients:
    """Harmonics of R h from coefficients of R and harmonics of h, [l, m], m >= 0; of R^-1 h if *inverse*.

    *whole* has orders m >= 0 and all n, level after level, as `WignerTransform` has them.
    """
    found = np.zeros_like(of_direction)
    for level in range(len(of_direction)):
        rows = whole[start(np.array(level)) : start(np.array(level + 1))].reshape(level + 1, 2 * level + 1)
        matrix, orders = _all_orders(rows, level), np.arange(-level, level + 1)
        turned = np.conj(matrix) * 1j ** ((orders[:, None] - orders) % 4)
        if inverse:
            turned = np.conj(turned.T)
        own = of_direction[level, : level + 1]
        both = np.concatenate([(-1.0) ** np.arange(level, 0, -1) * np.conj(own[:0:-1]), own])
        found[level, : level + 1] = (turned @ both)[level:]
    return found


def _all_orders(rows: Coefficients, level: int) -> Coefficients:
    """The coefficients of real weights at orders -l, ..., l: a_(-m)(-n) = (-1)^(m + n) conj(a_mn)."""
    signs = (-1.0) ** np.arange(-level, level + 1)
    below = np.conj(rows[:0:-1, ::-1]) * signs * (-1.0) ** np.arange(level, 0, -1)[:, None]
    return np.concatenate([below, rows])


def _vector_sums(at_axes: FloatArray, at_halves: FloatArray, second: FloatArray) -> FloatArray:
    """sum w x and sum w x x^T from sums of P_1 at the axes, and of P_2 at the axes and half way between them."""
    moments = np.diag((2 * second + 1) / 3)
    for value, (i, j) in zip(at_halves, ((0, 1), (1, 2), (0, 2)), strict=True):
        moments[i, j] = moments[j, i] = (2 * value + 1) / 3 - (moments[i, i] + moments[j, j]) / 2
    return np.concatenate([at_axes, moments.ravel()])
