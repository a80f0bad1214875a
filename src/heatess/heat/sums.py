"""Heat sums: what every engine returns, and how level moments become them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import EPS, FloatArray
from .series import LevelSeries, log_left_out, log_tail, log_terms


@dataclass(frozen=True, eq=False)
class HeatSums:
    """The heat sums of a measure, one entry per scale in each array."""

    overlap: FloatArray  # sum_ij w_i w_j s_t(x_i, x_j) = 1 / gESS
    log_mmd2: FloatArray  # log(A(t) - 1); nan on spaces of infinite volume
    slope: FloatArray  # d log(overlap) / d log t
    error: FloatArray  # bound on the relative error of `overlap`, and so of gESS
    mmd2_error: FloatArray  # bound on the relative error of MMD^2 = A - 1
    missing: FloatArray  # the part of it that comes from truncation: with more terms it would be less

    @classmethod
    def of_overlap(
        cls, overlap: FloatArray, slope: FloatArray, error: FloatArray, log_diagonal: FloatArray | None
    ) -> HeatSums:
        """From the overlap alone, with A = k_2t(x, x) / gESS; *log_diagonal* is None where the volume is infinite."""
        if log_diagonal is None:
            return cls(overlap, np.full(len(overlap), np.nan), slope, error, *np.zeros((2, len(overlap))))
        log_mmd2 = log_excess_of_power(log_diagonal + np.log(overlap))
        return cls(overlap, log_mmd2, slope, error, share_of_mmd2(error, log_mmd2), np.zeros(len(overlap)))

    @classmethod
    def joined(cls, parts: list[HeatSums]) -> HeatSums:
        """The scales of several parts, one part after another."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def __getitem__(self, places: Any) -> HeatSums:
        return HeatSums(*(getattr(self, field.name)[places] for field in fields(self)))


def log_excess_of_power(log_power: FloatArray) -> FloatArray:
    """log(A - 1) from log A, which is at least zero."""
    log_power = np.maximum(log_power, EPS)
    return np.asarray(log_power + np.log(-np.expm1(-log_power)))


def share_of_mmd2(error: FloatArray, log_mmd2: FloatArray) -> FloatArray:
    """A relative error of A as one of A - 1."""
    with np.errstate(over="ignore"):
        return np.asarray(error * np.exp(np.logaddexp(0.0, -log_mmd2)))


def log_sum(terms: FloatArray) -> FloatArray:
    """log sum exp over the last axis, without overflow or underflow; minus infinity where there is nothing to sum."""
    if not terms.shape[-1]:
        return np.full(terms.shape[:-1], -np.inf)
    peak = terms.max(axis=-1)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(terms - safe[..., None]).sum(axis=-1)))


#: Where rounding alone moves cosines: d log s_t / d cos of pairs that matter is no more than so many times that at
#: distance zero, by a scan; see `LevelSeries.moved` for what is proved.
_STEEPEST = 2.0


class LevelMoments(NamedTuple):
    """Level energies divided by their multiplicities, b_l = B_l / N_l, each in [0, 1], with bounds on their errors."""

    values: FloatArray  # b_0 = 1, b_1, b_2, ...
    root_error: float = 0.0  # absolute, of sqrt(b_l): the accuracy of a transform whose squared coefficients these are
    error: float = 0.0  # absolute, of b_l itself: the accuracy of a sum over pairs
    cosine_error: float = 0.0  # of the cosine of each distance, which moves log s_t by it times d log s_t / d cos
    certain: int = 1  # how many of the lowest are exact to rounding


def sum_levels(series: LevelSeries, times: FloatArray, moments: LevelMoments) -> HeatSums:
    """Heat sums at any number of times from level moments b_l.

    With p_l proportional to N_l exp(-2 lambda_l t):

        overlap = sum_l p_l b_l,  A - 1 = sum_{l>=1} N_l exp(-2 lambda_l t) b_l,
        d overlap / d t = -2 Cov_p(lambda, b).
    """
    b = moments.values
    terms = log_terms(series, times, len(b))  # (times, levels)
    peak = terms.max(axis=1, keepdims=True)
    p = np.exp(terms - peak)
    total = p.sum(axis=1)
    p /= total[:, None]
    overlap = p @ b

    eigenvalues = series.levels(len(b)).eigenvalues
    mean = p @ eigenvalues
    # Centred by 1 - b rather than b: at large scales b_0 = 1 dominates and the difference must survive.
    deficit = 1 - b
    spread = (p @ deficit)[:, None] - deficit
    covariance = np.einsum("tl,tl->t", p * (eigenvalues - mean[:, None]), spread)

    log_diagonal = peak[:, 0] + np.log(total)
    log_beyond = log_tail(series, times, len(b))
    tail = np.exp(log_beyond - log_diagonal)
    log_part = log_left_out(series, times, len(b))
    part = np.exp(log_part)
    room = np.minimum(overlap, 1 - tail)  # none is left where levels are far too few
    with np.errstate(divide="ignore", invalid="ignore"):
        by_tail = np.where(room > 0, tail / room, np.inf)
        truncated = np.minimum(by_tail, np.where(part < 1, part / (1 - part), np.inf))
    rounding = 8 * EPS * (1 + np.abs(terms[np.arange(len(times)), terms.argmax(axis=1)]) + 2 * times * mean)
    # An angle winding * r that is good to EPS turns a coefficient of level lambda by EPS sqrt(lambda) / winding.
    root_error = moments.root_error + (4 * EPS * np.sqrt(mean) / series.winding if moments.root_error else 0.0)
    turned = np.zeros(len(times))
    if moments.cosine_error:
        moved = series.moved(times, p, np.minimum(b + moments.error, 1.0), moments.cosine_error)
        # At distance zero d log s_t / d cos(winding r) is mean(lambda) / (m winding^2).
        slope = moments.cosine_error * mean / (series.dim * series.winding**2)
        turned = _STEEPEST * slope if moved is None else moved / overlap
    error = (
        truncated + 2 * root_error / np.sqrt(overlap) + (root_error**2 + moments.error) / overlap + turned + rounding
    )
    with np.errstate(divide="ignore"):
        log_mmd2 = log_sum(terms[:, 1:] + np.log(b[1:]))
    mmd2_error, missing = _mmd2_errors(terms, moments, log_mmd2, log_beyond, log_part)
    # No |P_l'| is larger than at distance zero, where it is lambda_l / (m winding^2).
    slopes = eigenvalues * (moments.cosine_error / (series.dim * series.winding**2))
    slopes[: moments.certain] = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        by_level = np.exp(np.minimum(terms - log_mmd2[:, None], 700.0)) @ slopes
        by_cosines = np.minimum(by_level, share_of_mmd2(turned, log_mmd2))
    mmd2_error += np.where(np.isneginf(log_mmd2), 0.0, by_cosines)
    return HeatSums(overlap, log_mmd2, -2 * times * covariance / overlap, error, mmd2_error, missing)


def _mmd2_errors(
    terms: FloatArray, moments: LevelMoments, log_mmd2: FloatArray, log_beyond: FloatArray, log_part: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bound on the relative error of A - 1, which may rest on energies that nearly vanish, and the part truncated.

    That is (T + sum_{l >= 1} N_l exp(-2 lambda_l t) e_l) / (A - 1), with T what truncation leaves out and e_l the error
    of b_l; those below `moments.certain` are squares of sums that are exact to rounding.
    """
    b = moments.values
    uncertain = 2 * moments.root_error * np.sqrt(b) + moments.root_error**2 + moments.error
    uncertain[: moments.certain] = 4 * EPS * (np.sqrt(b[: moments.certain]) + 4 * EPS)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        relative = np.exp(np.minimum(terms[:, 1:] - log_mmd2[:, None], 700.0)) @ uncertain[1:]
        whole = np.logaddexp(0.0, log_mmd2) - np.log(-np.expm1(log_part))
        missing = np.exp(np.minimum(np.minimum(log_beyond, log_part + whole) - log_mmd2, 700.0))
    nothing = np.isneginf(log_mmd2)
    return np.where(nothing, 0.0, relative + missing), np.where(nothing, 0.0, missing)
