"""What people use instead: effective numbers that ignore the geometry, or bring their own similarity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from .engines.local import close_pairs
from .engines.pairwise import tiles
from .errors import InputError
from .measure import Measure, normalised_weights
from .progress import Progress
from .spaces.base import Space, ZonalSpace


def ess(weights: ArrayLike) -> float:
    """Ordinary (Kish) effective sample size 1 / sum w_i^2 of weights that need not be normalised.

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
    return math.exp(float(entr(normalised_weights(weights)).sum()))


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

    It matches gESS at fine scales and is not derived from the heat flow; all pairs are summed, so the
    cost is quadratic in n.

    >>> import heatess as he
    >>> round(leinster_cobbold(he.samplers.fibonacci(30), angle=15), 1)
    29.7
    """
    if not (math.isfinite(angle) and angle > 0):
        raise InputError(f"angle must be positive and finite, in degrees, but is {angle!r}")
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    if not isinstance(measure.space, ZonalSpace):
        raise InputError(f"leinster_cobbold needs a space with a distance by matrix product, not {measure.space!r}")
    alpha = math.radians(angle)
    return 1.0 / (_near_sum(measure, measure.space, alpha) if angle < 1 else _tile_sum(measure, measure.space, alpha))


def _tile_sum(measure: Measure, space: ZonalSpace, alpha: float) -> float:
    atoms = measure.support()
    total = 0.0
    for rows, columns in tiles(atoms.n):
        u = space.tile_cosines(space.tile(atoms.points, rows), space.tile(atoms.points, columns))
        if rows == columns:
            np.fill_diagonal(u, 1.0)
        similarity = np.exp(-((np.arccos(u) / alpha) ** 2))
        share = float(atoms.weights[rows] @ similarity @ atoms.weights[columns])
        total += share if rows == columns else 2 * share
    return total


def _near_sum(measure: Measure, space: ZonalSpace, alpha: float) -> float:
    atoms = measure.coalesced()
    total = float(atoms.weights @ atoms.weights)
    for square, weight in close_pairs(atoms, space, 7 * alpha, Progress(False), tree=True):
        total += 2 * float(weight @ np.exp(-square / alpha**2))
    return total
