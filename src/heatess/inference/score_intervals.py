"""Confidence bands for the excess of the law behind a sample: score intervals, for one scale and for all at once."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..engines.base import Potentials
from ..engines.centred_overlap import Diagonal
from ..measures.measure import Measure
from ..spaces.base import Space
from .jackknife import Jackknife, jackknife, potentials_of

#: Scales at which atoms are left out in turn; between them variances are interpolated.
NODES = 16

#: Interpolated variances that are off by more than this, by estimate, are worked out at twice as many scales.
SPLINE_ERROR = 0.01

#: Variances below this share of (sum w^2)^2 are rounding.
LEAST_VARIANCE = 1e-12

#: Points of the lattice that stands for normal vectors, and most dimensions that it has.
LATTICE, LATTICE_DIMENSIONS = 2**15, 12


class Moments(NamedTuple):
    """Estimates of the excess e of the law at each scale, with their variances; all in units of k_2t(x, x) - 1."""

    unbiased: FloatArray  # e_U, for weights that do not depend on the points
    jackknifed: FloatArray  # e_J, for importance weights
    variance: FloatArray  # of e_J, by the jackknife
    paired: FloatArray  # the part of the variance that pairs have beyond the sum of their atoms' parts
    correlation: FloatArray  # of e_J between distinct scales in increasing order, so that their order does not matter
    interpolated: float  # estimated relative error of the variances from interpolating them


class Interval(NamedTuple):
    """Lower and upper ends, one entry per scale."""

    lower: FloatArray
    upper: FloatArray


def moments_of(measure: Measure, times: FloatArray, excess: FloatArray, rtol: float) -> Moments:
    """Moments at *times* of any order, where the excess of the sample is *excess*."""
    distinct, first, place = np.unique(times, return_index=True, return_inverse=True)
    excess, count = excess[first], NODES
    known: dict[int, tuple[FloatArray, float]] = {}
    while True:
        nodes, at = nodes_of(distinct, count)
        fields = _fields(measure, distinct, nodes, known, rtol)
        found = _moments(measure, excess[nodes], jackknife(measure, excess[nodes], fields))
        if len(nodes) == len(distinct):
            break
        error = _spline_error(np.log(at), found)
        if error <= SPLINE_ERROR or count > 3 * NODES:
            found = _interpolated(np.log(distinct), nodes, excess, measure, found)._replace(interpolated=error)
            break
        count = 2 * count - 1
    unbiased, jackknifed, variance, paired = (column[place] for column in found[:4])
    return Moments(unbiased, jackknifed, variance, paired, found.correlation, found.interpolated)


def _fields(
    measure: Measure, times: FloatArray, nodes: IntArray, known: dict[int, tuple[FloatArray, float]], rtol: float
) -> Potentials:
    """Potentials and squares at the *nodes* among the times; those that are *known* are not worked out again."""
    new = [node for node in nodes.tolist() if node not in known]
    if new:
        values, _, squares = potentials_of(measure, times[new], rtol)
        sums = np.zeros(len(new)) if squares is None else squares
        known |= {node: (row, float(square)) for node, row, square in zip(new, values, sums, strict=True)}
    rows = [known[node] for node in nodes.tolist()]
    return Potentials(np.stack([values for values, _ in rows]), 0.0, np.array([square for _, square in rows]))


def nodes_of(times: FloatArray, count: int) -> tuple[IntArray, FloatArray]:
    """Places of at most *count* of the increasing *times*, spread evenly over their logarithms, and these times."""
    logs = np.log(times)
    wanted = np.linspace(logs[0], logs[-1], count)
    near = np.unique(np.abs(logs - wanted[:, None]).argmin(axis=1))
    places = near if len(times) > count else np.arange(len(times))
    return places, times[places]


def _moments(measure: Measure, excess: FloatArray, left_out: Jackknife) -> Moments:
    """V_Q = 2 (sum_{i != j} w_i^2 w_j^2 c_ij^2 - (S^2 - sum w^4) e_U^2), with S = sum w^2."""
    w, n = measure.weights, measure.n
    own, fourth = float(w @ w), float((w * w) @ (w * w))
    least = LEAST_VARIANCE * own**2
    unbiased = (excess - own) / (1 - own)
    variance = np.maximum(np.diag(left_out.covariance), 0.0)
    paired = np.maximum(2 * (left_out.squares - (own**2 - fourth) * unbiased**2), least)
    scale = np.sqrt(variance + least)
    correlation = (left_out.covariance + least * np.eye(len(scale))) / np.multiply.outer(scale, scale)
    return Moments(
        unbiased, n * unbiased - (n - 1) * left_out.mean, np.maximum(variance, least), paired, correlation, 0.0
    )


def _interpolated(logs: FloatArray, nodes: IntArray, excess: FloatArray, measure: Measure, found: Moments) -> Moments:
    """Moments at all scales: cubic splines in log t of the bias, of log variances, and of standardised deviations."""
    from scipy.interpolate import CubicSpline

    own = float(measure.weights @ measure.weights)
    unbiased = (excess - own) / (1 - own)
    curves = np.stack([found.jackknifed - found.unbiased, np.log(found.variance), np.log(found.paired)], axis=1)
    bias, variance, paired = CubicSpline(logs[nodes], curves)(logs).T
    spread = CubicSpline(logs[nodes], np.eye(len(nodes)))(logs)  # (scales, nodes)
    covariance = spread @ found.correlation @ spread.T
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.multiply.outer(scale, scale)
    return Moments(unbiased, unbiased + bias, np.exp(variance), np.exp(paired), correlation, 0.0)


def _spline_error(logs: FloatArray, found: Moments) -> float:
    """Estimated relative error of interpolated variances: splines of half the nodes are about 16 times as far off."""
    from scipy.interpolate import CubicSpline

    curves = np.log(np.stack([found.variance, found.paired], axis=1))
    kept = np.unique(np.append(np.arange(0, len(logs), 2), len(logs) - 1))
    guess = CubicSpline(logs[kept], curves[kept])(logs)
    return float(np.abs(guess - curves).max()) / 8


def estimate_of(moments: Moments, importance: bool) -> FloatArray:
    """e_J for importance weights; e_U else, where the two differ by chance alone."""
    return moments.jackknifed if importance else moments.unbiased


def score_interval(
    measure: Measure, times: FloatArray, diagonal: Diagonal, moments: Moments, *, importance: bool, quantile: float
) -> Interval:
    """The e for which the estimate lies within *quantile* standard deviations that e itself implies.

    The variance of the estimate is V_L + V_Q, a part from single atoms and one from pairs. The first vanishes with
    m = max(e, 0) and is taken as r m; the second changes with e at a rate r_Q, which matters where few pairs overlap.
    Solving (e - e_J)^2 = q^2 V(e) for e gives

        e_J + q^2 (r + r_Q) / 2 +- q sqrt(max(r m, V_L) + V_Q + q^2 (r + r_Q)^2 / 4).
    """
    w = measure.weights
    own, fourth = float(w @ w), float((w * w) @ (w * w))
    centre = moments.jackknifed
    taken = 0.0 if importance else moments.paired
    single = np.maximum(moments.variance - taken, moments.paired) - moments.paired  # V_L
    spread = np.sqrt(moments.paired)
    positive = np.maximum(centre, 0.0)
    # A law that is nearly uniform differs from it most, for its e, in the lowest level.
    lowest = 4 * own * lowest_share(measure.space, times, diagonal)
    rate = (single + lowest * spread) / (positive + spread)
    overlap = diagonal.inverse + diagonal.rest * positive
    few = 2 * (own**2 - fourth) * np.maximum(diagonal.narrowing - 2 * overlap, 0.0) / diagonal.rest
    turn = quantile * (rate + few) / 2
    half = quantile * np.sqrt(np.maximum(rate * positive, single) + moments.paired + turn**2)
    middle = centre + quantile * turn
    return Interval(np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0))


def lowest_share(space: Space, times: FloatArray, diagonal: Diagonal) -> FloatArray:
    """exp(-2 lambda_1 t) / (k_2t(x, x) - 1), the share of one mode of the lowest level; zero without levels."""
    if not space.compact:
        return np.zeros(len(times))
    lowest = lowest_eigenvalue(space)
    with np.errstate(under="ignore"):
        if lowest is None:  # no mode has more than a half: levels of functions on groups have two modes or more
            return np.exp(np.minimum(-diagonal.log_excess, math.log(0.5)))
        return np.exp(np.minimum(-2 * lowest * times - diagonal.log_excess, 0.0))


def lowest_eigenvalue(space: Space) -> float | None:
    """lambda_1 of minus the Laplacian; None where it is not known.

    >>> import heatess as he
    >>> float(lowest_eigenvalue(he.Product(he.Sphere(2), he.Sphere(1), metric_scales=(1, 2))))
    0.25
    """
    return min((series.lowest / scale**2 for series, scale in space.factor_series), default=None)


def quantiles(level: float, ess: float, correlation: FloatArray) -> tuple[float, float]:
    """Quantiles of Student's t on ESS - 1 degrees of freedom: for one scale, and for all at once.

    The second is larger by the ratio of the quantile of max |z_k|, z normal with this correlation, to that of |z|.
    """
    from scipy.special import ndtri, stdtrit

    share = (1 + level) / 2
    pointwise = float(stdtrit(max(ess - 1, 1.0), share))
    return pointwise, pointwise * max(largest_quantile(level, correlation) / float(ndtri(share)), 1.0)


def largest_quantile(level: float, correlation: FloatArray) -> float:
    """The *level* quantile of max |z_k| for normal z, from a fixed lattice of points: no chance is involved.

    >>> round(largest_quantile(0.95, np.ones((3, 3))), 2), round(largest_quantile(0.95, np.eye(2)), 2)
    (1.96, 2.24)
    """
    values, vectors = np.linalg.eigh(correlation)
    kept = np.flatnonzero(values > 1e-6 * values[-1])[::-1][:LATTICE_DIMENSIONS]
    roots = vectors[:, kept] * np.sqrt(values[kept])
    # What dimensions left out would add keeps every variance at one.
    roots /= np.sqrt(np.square(roots).sum(axis=1, keepdims=True))
    largest = np.abs(_normal_lattice(len(kept)) @ roots.T).max(axis=1)
    return float(np.quantile(largest, level))


@lru_cache(maxsize=LATTICE_DIMENSIONS)
def _normal_lattice(dim: int) -> FloatArray:
    """Normal quantiles of an even lattice, shape (LATTICE, dim): its steps are powers of 1 / x, x^(dim + 1) = x + 1."""
    from scipy.special import ndtri

    x = 1.5
    for _ in range(64):
        x = (1 + x) ** (1 / (dim + 1))
    steps = x ** -np.arange(1.0, dim + 1)
    lattice = (0.5 + np.multiply.outer(np.arange(1, LATTICE + 1), steps)) % 1.0
    found = ndtri(np.clip(lattice, 1e-12, 1 - 1e-12))
    found.flags.writeable = False
    return np.asarray(found)
