"""Spaces known by their eigenpairs, where the self-overlap k_2t(x, x) depends on the place."""

from __future__ import annotations

import numpy as np

from ..blocks import slices
from ..errors import PrecisionError
from ..measure import Measure
from ..spaces.base import EigenSpace, FloatArray
from .doubt import warn_of_mmd2
from .sums import EPS, HeatSums

#: Entries of the table of eigenfunctions held at once.
BLOCK_ENTRIES = 2**24

#: Uncertainty of mmd2 that is worth a warning where eigenpairs themselves are good to a few per cent.
MMD2_DOUBT = 0.1


def heat_sums(measure: Measure, space: EigenSpace, times: FloatArray) -> HeatSums:
    """The full definition: with phi_r the eigenfunctions and k_i = sum_r exp(-2 lambda_r t) phi_r(x_i)^2,

    1 / gESS = sum_r exp(-2 lambda_r t) (sum_i w_i phi_r(x_i) / sqrt(k_i))^2,
    A - 1    = sum_{r >= 1} exp(-2 lambda_r t) (sum_i w_i phi_r(x_i))^2.
    """
    finest = float(times.min())
    _refuse_finer(space, finest)
    atoms = measure.coalesced()
    values = space.eigenpairs(atoms.points[:1], finest).values
    rates = 2 * np.multiply.outer(times, values)  # (times, modes)
    decay = np.exp(-rates)
    parts, changes = np.zeros((2, *decay.shape))  # sum_i w_i phi_r(x_i) / sqrt(k_i), and its derivative in log t
    coefficients = np.zeros(len(values))
    for rows in slices(atoms.n, BLOCK_ENTRIES // len(values) + 1):
        weights = atoms.weights[rows]
        functions = space.eigenpairs(atoms.points[rows], finest).functions  # (n, modes)
        squares = functions**2
        own = squares @ decay.T  # k_2t(x_i, x_i), shape (n, times)
        own_slope = squares @ (-rates * decay).T / own
        scaled = weights[:, None] / np.sqrt(own)
        parts += scaled.T @ functions
        changes += (-0.5 * scaled * own_slope).T @ functions
        coefficients += weights @ functions
    overlap = np.einsum("tr,tr->t", decay, parts**2)
    change = np.einsum("tr,tr->t", decay, 2 * parts * changes - rates * parts**2)
    share = _left_out(space, rates)
    log_mmd2 = _log_excess(rates, coefficients)
    with np.errstate(divide="ignore", over="ignore"):
        uncertain = np.where(share > 0, np.exp(np.log(share * decay.sum(axis=1)) - log_mmd2), 0.0)
    warn_of_mmd2(times, uncertain, log_mmd2, MMD2_DOUBT)
    error = share / overlap + 64 * EPS + space.discretisation_error(times)
    return HeatSums(overlap, log_mmd2, change / overlap, error)


def _refuse_finer(space: EigenSpace, finest: float) -> None:
    least = space.finest_time
    if finest < least * (1 - 1e-9):
        raise PrecisionError(
            f"{space!r} resolves times down to {least:.3g} (distances sqrt(8 t) down to {np.sqrt(8 * least):.3g}), but "
            f"{finest:.3g} ({np.sqrt(8 * finest):.3g}) was asked for; give coarser scales, or a space with more nodes "
            "or modes"
        )


def _log_excess(rates: FloatArray, coefficients: FloatArray) -> FloatArray:
    """log sum_{r>=1} exp(-rate_r) c_r^2, without underflow at large times."""
    if len(coefficients) == 1:
        return np.full(len(rates), -np.inf)
    with np.errstate(divide="ignore"):
        logs = 2 * np.log(np.abs(coefficients[1:])) - rates[:, 1:]
        peak = logs.max(axis=1, keepdims=True)
        safe = np.where(np.isfinite(peak), peak, 0.0)
        return np.asarray(safe[:, 0] + np.log(np.exp(logs - safe).sum(axis=1)))


def _left_out(space: EigenSpace, rates: FloatArray) -> FloatArray:
    """The share of the trace in the eigenpairs left out, if they go on as Weyl's law says, at each time.

    Beyond the last eigenvalue that is Q(m/2, 2 lambda t), and no pair overlaps by more than that share. A graph, of
    dimension zero, has as many eigenpairs as nodes: the bound is then certain.
    """
    from scipy.special import gammaincc

    if space.dim:
        return np.asarray(gammaincc(space.dim / 2, rates[:, -1]))
    return np.asarray(2 * space.volume * np.exp(-rates[:, -1]) * (rates.shape[1] < space.volume))
