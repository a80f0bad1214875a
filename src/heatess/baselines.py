"""What people use instead: effective numbers that ignore the geometry, or have a similarity of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arrays import positive
from .engines.tiles import gaussian_sums, zonal_pairs
from .errors import InputError
from .measure import Measure, normalised_weights
from .spaces.base import Space


def ess(weights: ArrayLike) -> float:
    """Ordinary (Kish) effective sample size 1 / sum w_i^2; weights need not be normalised.

    >>> ess([1, 1, 1, 1]), ess([1, 0, 0, 0])
    (4.0, 1.0)
    """
    w = normalised_weights(weights)
    return 1.0 / float(w @ w)


def perplexity_ess(weights: ArrayLike) -> float:
    """Entropy (perplexity) effective sample size exp(- sum w_i log w_i).

    >>> round(perplexity_ess([1, 1, 1, 1]), 12)
    4.0
    """
    w = normalised_weights(weights)
    w = w[w > 0]
    return math.exp(-float(w @ np.log(w)))


def leinster_cobbold(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    angle: float,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
) -> float:
    """Order-two Leinster-Cobbold diversity with geodesic Gaussian similarity.

        D = 1 / sum_ij w_i w_j exp(-(d(x_i, x_j) / alpha)^2),  alpha = *angle* in degrees.

    It is close to gESS at fine scales. All pairs are summed, so the cost is quadratic in n.

    >>> import heatess as he
    >>> round(leinster_cobbold(he.samplers.fibonacci(30), angle=15), 1)
    29.7
    """
    alpha = math.radians(positive(angle, "angle", "positive and finite, in degrees"))
    if not 1e-100 < alpha < 1e100:
        raise InputError(f"angle must be positive and finite, from 1e-98 to 1e+101 degrees, but is {angle:g}")
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    if not measure.space.angular:
        raise InputError(f"angle must be that of two points, but distances on {measure.space!r} are not angles")
    return 1.0 / float(gaussian_sums(measure.support(), zonal_pairs(measure), np.array([alpha]))[0])
