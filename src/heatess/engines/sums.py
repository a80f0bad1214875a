"""What every engine returns, and how level moments become it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernel import log_left_out, log_missing, log_tail, log_terms
from ..spaces.base import FloatArray, LevelMoments, ZonalSpace

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class HeatSums:
    """The heat sums of a measure, one entry per scale.

    Attributes
    ----------
    overlap : ndarray
        sum_ij w_i w_j s_t(x_i, x_j) = 1 / gESS.
    log_mmd2 : ndarray
        log(A(t) - 1).
    slope : ndarray
        d log(overlap) / d log t.
    error : ndarray
        Bound on the relative error of `overlap`.
    """

    overlap: FloatArray
    log_mmd2: FloatArray
    slope: FloatArray
    error: FloatArray

    @classmethod
    def empty(cls, count: int) -> HeatSums:
        """Room for *count* scales."""
        return cls(*(np.full(count, np.nan) for _ in range(4)))

    def put(self, where: NDArray[np.bool_], part: HeatSums) -> None:
        """Write the scales of *part* into the places *where* is true."""
        for name in ("overlap", "log_mmd2", "slope", "error"):
            getattr(self, name)[where] = getattr(part, name)


def sum_levels(space: ZonalSpace, times: FloatArray, moments: LevelMoments) -> HeatSums:
    """Heat sums at any number of times from level moments b_l.

    With p_l proportional to N_l exp(-2 lambda_l t):

        overlap = sum_l p_l b_l,  A - 1 = sum_{l>=1} N_l exp(-2 lambda_l t) b_l,
        d overlap / d t = -2 Cov_p(lambda, b).
    """
    b = moments.values
    terms = log_terms(space, times, len(b))  # (times, levels)
    peak = terms.max(axis=1, keepdims=True)
    p = np.exp(terms - peak)
    total = p.sum(axis=1)
    p /= total[:, None]
    overlap = p @ b

    eigenvalues = space.levels(len(b)).eigenvalues
    mean = p @ eigenvalues
    # Centred by 1 - b rather than b: at large scales b_0 = 1 dominates and the difference must survive.
    deficit = 1 - b
    spread = (p @ deficit)[:, None] - deficit
    covariance = np.einsum("tl,tl->t", p * (eigenvalues - mean[:, None]), spread)

    log_diagonal = peak[:, 0] + np.log(total)
    tail = np.exp(log_tail(space, times, len(b)) - log_diagonal)
    share = np.exp(log_left_out(space, times, len(b)))
    with np.errstate(divide="ignore"):
        truncated = np.minimum(tail / np.minimum(overlap, 1 - tail), share / (1 - share))
    rounding = 8 * EPS * (1 + np.abs(terms[np.arange(len(times)), terms.argmax(axis=1)]) + 2 * times * mean)
    # A coordinate good to EPS turns a coefficient of level lambda by EPS sqrt(lambda).
    root_error = moments.root_error + (2 * EPS * np.sqrt(mean) if moments.root_error else 0.0)
    error = (
        truncated
        + 2 * root_error / np.sqrt(overlap)
        + (root_error**2 + moments.error) / overlap
        + 2 * moments.cosine_error * mean / space.dim  # d log s_t / d cos is mean(lambda) / m at distance zero
        + rounding
    )
    return HeatSums(overlap, _log_excess(terms, b), -2 * times * covariance / overlap, error)


def _log_excess(terms: FloatArray, b: FloatArray) -> FloatArray:
    """log sum_{l>=1} exp(terms_l) b_l, never as a difference."""
    with np.errstate(divide="ignore"):
        logs = terms[:, 1:] + np.log(b[1:])
    peak = logs.max(axis=1)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(logs - safe[:, None]).sum(axis=1)))


def mmd2_error(space: ZonalSpace, times: FloatArray, moments: LevelMoments, log_mmd2: FloatArray) -> FloatArray:
    """Bound on the relative error of A - 1, which at large scales may rest on energies that nearly vanish.

    (T + sum_{l >= 1} N_l exp(-2 lambda_l t) e_l) / (A - 1), with T the tail and e_l the error of b_l; the energies
    below `moments.certain` were summed as squares and are exact.
    """
    b = moments.values
    uncertain = 2 * moments.root_error * np.sqrt(b) + moments.root_error**2 + moments.error
    uncertain[: moments.certain] = 4 * EPS * b[: moments.certain]
    terms = log_terms(space, times, len(b))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        relative = np.exp(terms[:, 1:] - log_mmd2[:, None]) @ uncertain[1:]
        tail = np.exp(log_missing(space, times, len(b), log_mmd2) - log_mmd2)
    return np.asarray(np.where(np.isneginf(log_mmd2), 0.0, relative + tail))
