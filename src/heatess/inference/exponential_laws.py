"""Maximum-entropy laws on circles and spheres: exponentials of harmonics, fitted to given moments on a grid."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from ..base.arrays import FloatArray
from ..transforms.harmonics import Harmonics, circular, multiplicity, spherical

#: Newton steps for one degree at most, halvings of one of them, and steps without gain after which they end.
NEWTON_STEPS, HALVINGS, MOST_IDLE = 120, 40, 4
#: Half of Newton's decrement is how far the divergence is from its limit. Steps end when it, or the residual, is tiny.
DECREMENT, RESIDUAL = 1e-16, 3e-15
#: What the residual may be, on a finer grid as well, for a law to be taken.
MATCHED = 1e-8
#: A step that gains no more than this part of the objective gains rounding errors; and one that hardly gains.
GAIN_OF_ROUNDING, IDLE = 1e-15, 1e-13
#: Weight of a node that covariances can do without; and what is added to their eigenvalues, beside the largest.
NEGLIGIBLE_NODE_WEIGHT, DAMPING = 1e-18, 1e-16


class Grid(NamedTuple):
    """Nodes of a quadrature of the normalised volume, in the coordinates of the harmonics."""

    nodes: FloatArray  #: angles (nodes,), or unit vectors (3, nodes)
    weights: FloatArray


class Fit(NamedTuple):
    """exp(theta . Y - psi), with the functions Y of degrees 1, 2, ... and no constant."""

    theta: FloatArray
    psi: float
    divergence: float  #: from the uniform law
    gap: float  #: by how much the divergence may be wrong
    residual: float  #: largest difference of a moment from what it should be


def grid_of(harmonics: Harmonics, degree: int) -> Grid:
    """A grid that integrates harmonics of that degree exactly: equal steps, times Gauss-Legendre on the sphere."""
    angles = np.arange(degree + 1, dtype=np.float64) * (2 * math.pi / (degree + 1))
    if harmonics.dim == 1:
        return Grid(angles, np.full(len(angles), 1 / len(angles)))
    heights, shares = (np.asarray(part, dtype=np.float64) for part in leggauss(degree // 2 + 1))
    radius = np.sqrt(1 - heights**2)
    nodes = [np.multiply.outer(radius, wave(angles)).ravel() for wave in (np.cos, np.sin)]
    weights = np.repeat(shares / (2 * len(angles)), len(angles))
    return Grid(np.array([*nodes, np.repeat(heights, len(angles))]), weights)


def functions_at(harmonics: Harmonics, nodes: FloatArray, degrees: int) -> FloatArray:
    """The functions of degrees 1, ..., *degrees* at nodes of a grid, shape (functions, nodes)."""
    values = circular(nodes, degrees + 1) if harmonics.dim == 1 else spherical(nodes, degrees + 1, harmonics.step)
    return values[1:]


def count_until(harmonics: Harmonics, degrees: int) -> int:
    """How many functions have degrees 1, ..., *degrees*."""
    if harmonics.dim == 1:
        return 2 * degrees
    return sum(multiplicity(harmonics.dim, harmonics.step * degree) for degree in range(1, degrees + 1))


def fit(
    functions: FloatArray, weights: FloatArray, moments: FloatArray, start: FloatArray, enough: float = DECREMENT
) -> Fit:
    """The law of largest entropy with these moments: minimises psi(theta) - theta . moments by damped Newton steps.

    *enough* is the decrement at which they end.
    """
    theta = np.concatenate([start, np.zeros(len(moments) - len(start))])
    psi, law = _law(functions, weights, theta)
    residual, decrement, idle = functions @ law - moments, math.inf, 0
    for _ in range(NEWTON_STEPS):
        step = _newton_step(functions, law, residual)
        decrement = -float(step @ residual)
        if not decrement > enough or np.max(np.abs(residual)) <= RESIDUAL:
            break
        best = psi - float(theta @ moments)
        for halving in range(HALVINGS):
            trial = theta + step / 2**halving
            psi_there, law_there = _law(functions, weights, trial)
            objective = psi_there - float(trial @ moments)
            if objective <= best - 1e-4 * decrement / 2**halving + GAIN_OF_ROUNDING * (1 + abs(psi_there)):
                break
        else:
            break
        idle = idle + 1 if best - objective <= IDLE * (1 + abs(psi)) else 0
        if idle == MOST_IDLE:
            break
        theta, psi, law = trial, psi_there, law_there
        residual = functions @ law - moments
    largest = float(np.max(np.abs(residual)))
    gap = 0.0 if largest <= RESIDUAL else decrement / 2
    return Fit(theta, psi, float(theta @ moments) - psi, gap, largest)


def _law(functions: FloatArray, weights: FloatArray, theta: FloatArray) -> tuple[float, FloatArray]:
    """psi = log of the integral of exp(theta . Y), and the law's weight at each node."""
    exponent = theta @ functions
    peak = float(exponent.max())
    law = weights * np.exp(exponent - peak)
    total = float(law.sum())
    return peak + math.log(total), law / total


def _newton_step(functions: FloatArray, law: FloatArray, residual: FloatArray) -> FloatArray:
    """- H^-1 residual, with H the covariance of the functions, and a little added where they are nearly dependent."""
    kept = law > NEGLIGIBLE_NODE_WEIGHT
    centred = functions[:, kept] - (functions @ law)[:, None]
    centred *= np.sqrt(law[kept])
    values, vectors = np.linalg.eigh(centred @ centred.T)
    if not values[-1] > 0:  # one node has all the weight: nowhere to go
        return np.zeros(len(residual))
    values = np.maximum(values, 0.0) + DAMPING * values[-1]
    return np.asarray(-vectors @ ((vectors.T @ residual) / values))


def residual_on(functions: FloatArray, weights: FloatArray, found: Fit, moments: FloatArray) -> float:
    """Largest difference of a moment on another grid."""
    return float(np.max(np.abs(functions @ _law(functions, weights, found.theta)[1] - moments)))
