"""Spaces known by their eigenpairs, where the self-overlap k_2t(x, x) depends on the place."""

from __future__ import annotations

import numpy as np

from ..errors import PrecisionError
from ..measure import Measure
from ..spaces.base import EigenSpace, FloatArray
from .sums import EPS, HeatSums


def heat_sums(measure: Measure, space: EigenSpace, times: FloatArray) -> HeatSums:
    """The full definition: with phi_r the eigenfunctions and k_i = sum_r exp(-2 lambda_r t) phi_r(x_i)^2,

    1 / gESS = sum_r exp(-2 lambda_r t) (sum_i w_i phi_r(x_i) / sqrt(k_i))^2,
    A - 1    = sum_{r >= 1} exp(-2 lambda_r t) (sum_i w_i phi_r(x_i))^2.
    """
    finest = float(times.min())
    if finest < space.finest_time * (1 - 1e-9):
        raise PrecisionError(
            f"{space!r} resolves times down to {space.finest_time:.3g} (angle or distance sqrt(8 t) = "
            f"{np.sqrt(8 * space.finest_time):.3g} in its own unit), but {finest:.3g} was asked for; "
            "give coarser scales, or build the space with more modes"
        )
    support = measure.support()
    functions = space.functions(support.points)  # (n, modes)
    squares = functions**2
    eigenvalues, weights = space.eigenvalues, support.weights
    coefficients = weights @ functions
    overlap, slope, log_mmd2 = np.empty((3, len(times)))
    for k, time in enumerate(times):
        decay = np.exp(-2 * eigenvalues * time)
        own = squares @ decay  # k_2t(x_i, x_i)
        own_change = -2 * time * (squares @ (eigenvalues * decay))  # d / d log t
        scaled = weights / np.sqrt(own)
        parts = scaled @ functions
        parts_change = (scaled * (-0.5 * own_change / own)) @ functions
        overlap[k] = decay @ parts**2
        change = -2 * time * ((eigenvalues * decay) @ parts**2) + 2 * (decay @ (parts * parts_change))
        slope[k] = change / overlap[k]
        with np.errstate(divide="ignore"):
            log_mmd2[k] = np.log(decay[1:] @ coefficients[1:] ** 2)
    error = np.array([_tail(space, float(time), overlap[k]) for k, time in enumerate(times)])
    return HeatSums(overlap, log_mmd2, slope, error)


def _tail(space: EigenSpace, time: float, overlap: float) -> float:
    """Relative error from the eigenpairs left out, if they go on as Weyl's law says.

    The error of the eigenpairs themselves, which is that of the mesh or the sample, is not included.
    """
    eigenvalues = space.eigenvalues
    count, last = len(eigenvalues), float(eigenvalues[-1])
    decay = np.exp(-2 * eigenvalues * time)
    rate = max(2 * last * time, 1e-300)
    beyond = count * decay[-1] * (space.dim / 2) / rate * (1 + max(space.dim / 2 - 1, 0.0) / rate)
    return float(beyond / decay.sum() / overlap + 64 * EPS)
