"""How much of a heat sum a truncation leaves out, whatever the atoms.

In m dimensions without negative Ricci curvature t^(m/2) k_t(x, y) does not fall with t (Li and Yau), so the power
obeys A(c t) <= c^(-m/2) A(t) for c < 1. Eigenvalues from lambda on hold at most exp(-2 lambda t (1 - c)) A(c t). At the
best c = m / (4 lambda t) that is a share of A(t) of

    (2 e y / m)^(m/2) exp(-y),    y = 2 lambda t,

which does not depend on the number of atoms. In flat space the same share bounds the pairs (and images of pairs) that
are further apart than R, with y = R^2 / 8t, because there A(t) is t^(-m/2) times the sum over pairs and does not grow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.arrays import FloatArray

#: What part of a tolerance truncation takes; and of clouds of such an ESS, for which that is expensive.
TRUNCATED, TRUNCATED_OF_LARGE, LARGE_CLOUD = 1000, 10, 1e5


def log_share(dim: int, y: Any) -> FloatArray:
    """Log of the bound (2 e y / m)^(m/2) exp(-y), and zero where that is no bound (y <= m / 2).

    >>> log_share(2, [0.5, 1.0, 20.0]).round(3)
    array([  0.   ,   0.   , -16.004])
    """
    half = dim / 2
    y = np.maximum(y, half)
    return np.asarray(half * np.log(y / half) + half - y)


def exponent_for(dim: int, log_bound: Any) -> FloatArray:
    """The least y at which `log_share` is *log_bound* or less, by Newton's method from above.

    >>> y = exponent_for(3, math.log(1e-11))
    >>> bool(abs(log_share(3, y) - math.log(1e-11)) < 1e-9)
    True
    """
    half = dim / 2
    goal = np.minimum(np.asarray(log_bound, dtype=np.float64), 0.0)
    u = -goal / half
    y = half * (1 + np.sqrt(2 * u) + u)  # never too small: an upper bound of Lambert's W, lower branch
    for _ in range(5):
        excess = y - half * np.log(y / half) - half + goal
        y = y - excess / np.maximum(1 - half / y, 1e-9)
    return np.asarray(np.maximum(y, half) * (1 + 1e-12))


def truncation(rtol: float, ess: float) -> float:
    """The share of *rtol* that truncation may take.

    It depends on the ESS of the labels, which splitting an atom changes; a thousandth keeps that change below 1e-10 at
    the default tolerance. Large clouds, for which levels and neighbours are expensive, take a tenth.
    """
    return rtol / (TRUNCATED if ess < LARGE_CLOUD else TRUNCATED_OF_LARGE)


def tolerance_leaving(share: float) -> float:
    """The tolerance of which truncation takes this *share* of one atom's kernel.

    >>> truncation(tolerance_leaving(1e-3), 1.0)
    0.001
    """
    return TRUNCATED * share


def log_allowed(log_diagonal: Any, ess: float, share: float) -> FloatArray:
    """Log of the share of A that may be left out if that of MMD^2 = A - 1 is to be at most *share*.

    MMD^2 is rarely below f = (k_2t(x, x) - 1) / ESS, what independent draws have; its share of A is then f / (1 + f).
    """
    with np.errstate(divide="ignore"):
        log_mmd2 = np.maximum(log_diagonal + np.log(-np.expm1(-np.asarray(log_diagonal))), -700.0) - math.log(ess)
    return np.asarray(math.log(share) - np.logaddexp(0.0, -log_mmd2))
