"""How far two measures are apart on a space of nodes, in units of the overlap, and never less than that.

With w - v the difference of the weights and k_i = k_2t(x_i, x_i), it is the length of exp(-t L) x, where the vector x
has (w - v)_i / sqrt(k_i) at atom i. Eigenpairs give it but for what they leave out, of x and of every k_i; on graphs,
where that is all there is between them and the truth, a Lanczos run bounds the one, and the other is at most what
is left of all modes in the last one there is.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray
from ..base.blocks import slices
from ..heat.sums import log_sum
from ..spaces.base import Space
from ..spaces.capabilities import Modes, Resolved
from ..spaces.flow import Flow
from .eigenpairs import BLOCK_ENTRIES, SUM_ROUNDING, resolved, share_left_out
from .lanczos_runs import log_energy, rounding_of
from .node_rounding import Energies, blur_of

#: Two measures whose weights differ by rounding alone are no farther apart than this.
NOTHING = 64 * EPS

#: Relative accuracy that a run is taken to.
SHARP = 1e-10


class Scaled(NamedTuple):
    """Atoms in which two measures differ, with what the differences become when divided by the roots of k."""

    points: NDArray[Any]
    scaled: FloatArray  # (w - v)_i / sqrt(k_i)
    coefficients: FloatArray  # sum_i scaled_i phi_r(x_i)
    sizes: FloatArray  # the same of absolute values: what rounding of the sums is measured by
    doubt: float  # the sum of |w - v|_i times half of what k_i may be off by, relatively; and rounding of weights

    @classmethod
    def of(cls, points: NDArray[Any], differences: FloatArray, pairs: Resolved, left_out: float, time: float) -> Scaled:
        """From the *differences* w - v at distinct points; *left_out* is what k may lack, at most."""
        decay, blur = np.exp(-2 * time * pairs.values), blur_of(pairs.values, np.array([time]), pairs.rounding)[0]
        own, off = np.empty((2, len(points)))
        coefficients, sizes = np.zeros((2, len(decay)))
        for rows in slices(len(points), BLOCK_ENTRIES // len(decay) + 1):
            functions = pairs.at(points[rows])
            squares = functions**2
            own[rows] = squares @ decay
            off[rows] = (squares @ blur + left_out) / own[rows] + pairs.rounding.relative + SUM_ROUNDING
            shares = differences[rows] / np.sqrt(own[rows])
            coefficients += shares @ functions
            sizes += np.abs(shares) @ np.abs(functions)
        doubt = float(np.abs(differences) @ off) / 2 * (1 + float(off.max())) + NOTHING
        return cls(points, differences / np.sqrt(own), coefficients, sizes, doubt)


def squared_apart(space: Space, modes: Modes, points: NDArray[Any], differences: FloatArray, time: float) -> float:
    """sum_ij (w - v)_i (w - v)_j s_t(x_i, x_j), or more; on meshes and clouds for the eigenpairs as they are.

    The *differences* of weights are those at distinct points; where there are none, they are rounding alone.
    """
    if not len(points):
        return NOTHING**2
    pairs = resolved(modes, time)
    rate = 2 * time * pairs.values[None, :]
    left_out = float(share_left_out(modes, rate)[0]) / 2 if space.certified else 0.0
    found = Scaled.of(points, differences, pairs, left_out, time)
    if space.certified and space.flow is not None:
        square = _by_run(found, modes, space.flow, time)
    else:
        square = _by_eigenpairs(found, pairs, modes, time, left_out)
    return (math.sqrt(square) + found.doubt) ** 2


def _by_run(found: Scaled, modes: Modes, flow: Flow, time: float) -> float:
    """The square of the length of exp(-t L) x, or more, between the bounds of a run."""
    starts = modes.functionals(found.points)
    vector = starts.T @ found.scaled
    rounding = rounding_of(flow, starts, found.scaled)
    logs, error = log_energy(flow, vector, rounding, np.array([time]), SHARP)
    level = abs(float(flow.constant @ vector)) + rounding
    return level**2 + _with(float(logs[0]), float(error[0]))


def _by_eigenpairs(found: Scaled, pairs: Resolved, modes: Modes, time: float, left_out: float) -> float:
    """The same from eigenpairs: what they hold, and, on a graph, what is left of all modes in the last of them."""
    values, times = pairs.values, np.array([time])
    level = abs(float(found.coefficients[0])) + SUM_ROUNDING * float(found.sizes[0])
    energy = modes.energy(found.points, found.scaled)
    with np.errstate(divide="ignore"):
        logs = log_sum(2 * np.log(np.abs(found.coefficients[1:])) - 2 * time * values[1:][None, :])
    energies = Energies(
        values[1:], np.abs(found.coefficients[1:]), SUM_ROUNDING * found.sizes[1:], math.sqrt(max(energy, 0.0))
    )
    error = energies.errors(times, logs, pairs.rounding, blur_of(values, times, pairs.rounding)[:, 1:])
    beyond = energy * left_out / modes.volume if left_out else 0.0
    return level**2 + _with(float(logs[0]), float(error[0])) + beyond


def _with(log: float, error: float) -> float:
    """A number and its relative error on top of it, from its logarithm."""
    return math.exp(min(log + math.log1p(min(error, 1e300)), 700.0)) if math.isfinite(log) else 0.0
