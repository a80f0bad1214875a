"""What a Lanczos run tells of v' exp(-s S) v, in the inner product in which S is symmetric: two rules.

The derivatives of exp(-s x) have alternating signs. So the Gauss rule, whose nodes are the eigenvalues of the
tridiagonal matrix of the run, is never too large, and the Gauss-Radau rule with one more node at zero, where the
spectrum of S begins, is never too small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..heat.sums import log_sum

#: Points of a contour integral of exp(z), which is then good to 1e-14.
_NODES = 32


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
    """exp(-rate T) e_1 for the tridiagonal matrix T of a run, shape (rates, steps), good to 1e-14.

    A few shifted systems for each rate, where eigenvectors would take the square of the steps, and as much memory:

        exp(-rate T) = 1 / (2 pi i) int exp(z) (z + rate T)^-1 dz,   z(a) = N (0.1309 - 0.1194 a^2 + 0.25 i a),

    over a parabola around the spectrum, by the midpoint rule in N points (Weideman and Trefethen, 2007), of which half
    are the conjugates of the others.
    """
    from scipy.linalg import solve_banded

    size = len(alpha)
    first, matrix = np.zeros(size, dtype=np.complex128), np.zeros((3, size), dtype=np.complex128)
    first[0] = 1.0
    angles = np.pi * (2 * np.arange(_NODES // 2) + 1) / _NODES
    found = np.zeros((len(rates), size))
    for row, rate in zip(found, rates.tolist(), strict=True):
        matrix[0, 1:] = matrix[2, :-1] = rate * beta[: size - 1]
        for angle in angles:
            z = _NODES * (0.1309 - 0.1194 * angle**2 + 0.25j * angle)
            matrix[1] = z + rate * alpha
            solved = solve_banded((1, 1), matrix, np.exp(z) * (0.25 + 0.2388j * angle) * first, check_finite=False)
            row += 2 * solved.real
    return found
