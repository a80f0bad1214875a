"""How heavy the tail of importance weights is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, numeric_array
from ..base.errors import InputError
from ..measures.measure import scaled_weights

#: Fewest weights in a tail, and so, a fifth of all being its tail, fewest weights.
LEAST_TAIL = 5

#: The index is drawn towards 1/2 as if so many more weights had said so.
PRIOR_WEIGHT, PRIOR = 10, 0.5


def pareto_k(log_weights: ArrayLike | None = None, *, weights: ArrayLike | None = None) -> float:
    """Tail index k of importance weights: a generalised Pareto distribution is fitted to the largest ones.

        P(w > u + x | w > u) = (1 + k x / sigma)^(-1 / k)

    Weights have 1 / k finite moments, so from k = 1/2 on their variance, and with it ESS and standard errors, means
    nothing; and ESS does not show it. In simulations on S^2 with k = 0.5, intervals that should hold in 95 % of cases
    held in 76 to 96 %, with k = 0.6 in 59 to 86 %. So be wary above 0.5, and above 0.7 trust no standard error. The
    estimate is uncertain itself, by about (1 + k) / sqrt(tail): a cloud that missed its tail has a small one.

    The tail is the largest fifth of the n weights or, from 226 on, the 3 sqrt(n) largest, rounded down as in
    arviz-stats; loo and ArviZ 0.x round up, which changes k by 0.0001 for 1,000 weights of index 0.3. The threshold u
    is the next one, and weights equal to it do not count. The fit is that of Zhang and Stephens (2009), drawn towards
    1/2 as in Pareto-smoothed importance sampling (Vehtari et al. 2024). It does not depend on the scale of the weights,
    and is worked out from their logarithms: none is too small or too large.

    Parameters
    ----------
    log_weights : array-like, shape (n,)
        Logarithms of the weights, -inf for a weight of zero. They need not be normalised. Mind the sign: large weights
        have large logarithms, whereas `psislw` of arviz-stats takes minus these numbers.
    weights : array-like, shape (n,)
        Or the weights themselves.

    Returns
    -------
    float
        The index k; negative for weights with an upper limit. Fewer than 25 weights, and largest weights that are all
        the same, as equal weights are, have no tail to fit and are refused.

    Examples
    --------
    Weights u^(-0.7) of even u have the index 0.7:

    >>> import numpy as np
    >>> u = (np.arange(10_000) + 0.5) / 10_000
    >>> round(pareto_k(-0.7 * np.log(u)), 2)
    0.69
    >>> round(pareto_k(weights=u), 2)  # not above 1
    -0.92
    """
    if (log_weights is None) == (weights is None):
        raise InputError("give <+log_weights, or weights= themselves, one of them+>, one number per point")
    scaled = scaled_weights(weights, log_weights, None)[0]  # refuses what are no weights
    if log_weights is None:
        with np.errstate(divide="ignore"):
            logs = np.log(scaled)
    else:
        logs = numeric_array(log_weights, "log_weights").astype(np.float64).reshape(-1)
    return _tail_index(_log_excesses(logs))


def tail_index(weights: FloatArray) -> float:
    """`pareto_k` of weights; nan where there is no tail to fit, as for equal weights or fewer than 25."""
    try:
        return pareto_k(weights=weights)
    except InputError:
        return math.nan


def tail_size(n: int) -> int:
    """How many of n weights are their tail.

    >>> tail_size(100), tail_size(1000)
    (20, 94)
    """
    return math.floor(3 * math.sqrt(n)) if n > 225 else n // 5


def _log_excesses(logs: FloatArray) -> FloatArray:
    """Logs of w - u for the largest weights w above the threshold u, in increasing order."""
    n = len(logs)
    size = tail_size(n)
    if size < LEAST_TAIL:
        raise InputError(f"a Pareto tail needs <+at least {5 * LEAST_TAIL} weights+>, but found <!{n}!>; give more")
    largest = np.sort(logs)[-size - 1 :]
    threshold, tail = largest[0], largest[largest > largest[0]]
    if len(tail) < LEAST_TAIL:
        found = "are all the same" if not len(tail) else f"are all the same but for {len(tail)}"
        if threshold == -np.inf:
            found = f"are zero but for {len(tail)}"
        raise InputError(
            f"a Pareto tail needs <+{LEAST_TAIL} weights above the others+>, but <!the {size + 1} largest of {n} "
            f"{found}!>; give log_weights as they were before resampling or clipping (equal weights have no tail)"
        )
    if tail[0] == tail[-1]:
        raise InputError(
            f"a Pareto tail needs <+weights that differ+>, but <!the {len(tail)} largest of {n} are all the same!>; "
            "give log_weights as they were before clipping"
        )
    return np.asarray(tail + np.log(-np.expm1(threshold - tail)))


def _tail_index(logs: FloatArray) -> float:
    """The index of excesses x, given as logs in increasing order.

    With b = -k / sigma the likelihood is greatest, for given b, at k = mean log(1 - b x); b is averaged over a grid
    below 1 / max x. All x are in units of their lower quartile, so that no number overflows.
    """
    n = len(logs)
    x = logs - logs[int(n / 4 + 0.5) - 1]
    count = 30 + int(math.sqrt(n))
    grid = math.exp(-x[-1]) + (1 - np.sqrt(count / (np.arange(count) + 0.5))) / 3
    grid[grid == 0] = 1e-30
    indices = np.array([_index(b, x) for b in grid])
    likelihoods = n * (np.log(-grid / indices) - indices - 1)
    posterior = np.exp(likelihoods - likelihoods.max())
    index = _index(float(posterior @ grid / posterior.sum()), x)
    return float((n * index + PRIOR_WEIGHT * PRIOR) / (n + PRIOR_WEIGHT))


def _index(b: float, x: FloatArray) -> float:
    """Mean of log(1 - b exp(x))."""
    if b < 0:
        return float(np.mean(np.logaddexp(0.0, math.log(-b) + x)))
    return float(np.mean(np.log1p(-b * np.exp(x))))
