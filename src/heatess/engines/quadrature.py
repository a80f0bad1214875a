"""What a Lanczos run tells of v' exp(-s S) v, in the inner product in which S is symmetric: two rules.

The derivatives of exp(-s x) have alternating signs. So the Gauss rule, whose nodes are the eigenvalues of the
tridiagonal matrix of the run, is never too large, and the Gauss-Radau rule with one more node at zero, where the
spectrum of S begins, is never too small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray
from ..heat.sums import log_sum


class Rule(NamedTuple):
    """Nodes in increasing order, and weights that sum to one."""

    nodes: FloatArray
    weights: FloatArray

    def log_values(self, rates: FloatArray) -> FloatArray:
        """log of sum_j weight_j exp(-rate node_j), at each rate."""
        with np.errstate(divide="ignore"):
            return log_sum(np.log(self.weights) - np.multiply.outer(rates, self.nodes))


def gauss(alpha: FloatArray, beta: FloatArray) -> Rule:
    """The rule of a run with the diagonal *alpha* and *beta* beside it."""
    from ..compiled.krylov import nodes

    size = len(alpha)
    values, beside, first = alpha.copy(), np.append(beta[: size - 1], 0.0), np.zeros(size)
    first[0] = 1.0
    nodes(values, beside, first)
    order = np.argsort(values)
    return Rule(np.maximum(values[order], 0.0), first[order] ** 2)


def radau(alpha: FloatArray, beta: FloatArray) -> Rule | None:
    """The rule with a node at zero; None where the run is too short for one."""
    from ..compiled.krylov import anchored

    rows, last = anchored(alpha, beta)
    if np.isnan(last):
        return None
    found = gauss(np.append(alpha[: rows - 1], last), beta[:rows])
    found.nodes[0] = 0.0
    return found


class Bracket(NamedTuple):
    """Logarithms of bounds on v' exp(-s S) v / |v|^2 at several rates s, and the Gauss rule."""

    lower: FloatArray
    upper: FloatArray
    rule: Rule

    @classmethod
    def of(cls, alpha: FloatArray, beta: FloatArray, rates: FloatArray) -> Bracket:
        """From the run so far; if it came to its end, both bounds are the same."""
        rule = gauss(alpha, beta)
        lower = rule.log_values(rates)
        if beta[-1] == 0:
            return cls(lower, lower, rule)
        above = radau(alpha, beta)
        upper = np.zeros(len(rates)) if above is None else np.maximum(above.log_values(rates), lower)
        return cls(lower, upper, rule)

    @property
    def width(self) -> FloatArray:
        """How far the bounds are apart, as a share of the lower one."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(np.isneginf(self.upper), 0.0, np.expm1(np.minimum(self.upper - self.lower, 700.0)))


def heated(alpha: FloatArray, beta: FloatArray, rates: FloatArray) -> FloatArray:
    """exp(-rate T) e_1 for the tridiagonal matrix T of a run, shape (rates, steps)."""
    from scipy.linalg import eigh_tridiagonal

    values, vectors = eigh_tridiagonal(alpha, beta[: len(alpha) - 1])
    return np.asarray((np.exp(-np.multiply.outer(rates, np.maximum(values, 0.0))) * vectors[0]) @ vectors.T)
