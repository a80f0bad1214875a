"""Spaces known by their eigenpairs, where the self-overlap k_2t(x, x) depends on the place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import EPS, FloatArray
from ..blocks import slices
from ..errors import InputError, PrecisionError
from ..heat.sums import HeatSums, log_sum
from ..measure import Measure
from ..progress import Progress
from ..spaces.capabilities import Modes
from .base import Answer, Engine, Offer, PotentialOffer, Question

#: Entries of the table of eigenfunctions held at once.
BLOCK_ENTRIES = 2**24


class Eigenmodes(Engine):
    """Sums over eigenpairs."""

    name = "spectral"

    def offer(self, question: Question) -> Offer | None:
        """All scales that the eigenpairs resolve; finer ones are refused at once, since no other engine serves them."""
        modes = question.measure.space.modes
        if modes is None:
            return None
        _refuse_finer(question, modes)
        return ModesOffer(question.measure, question.times, modes)

    def refusal(self, question: Question) -> Exception:
        """Never for lack of trying."""
        return InputError(f"{question.measure.space!r} is known by its eigenpairs; use method='auto'")

    def potential(self, question: Question, at: NDArray[Any]) -> PotentialOffer | None:
        """Sums over eigenfunctions at the atoms and at the points."""
        modes = question.measure.space.modes
        if modes is None:
            return None
        _refuse_finer(question, modes)
        time = float(question.times[0])
        return PotentialOffer(0.0, 64 * EPS, lambda _: _potential(question.measure, modes, time, at))


def _refuse_finer(question: Question, modes: Modes) -> None:
    finest, least = float(question.times[0]), modes.finest_time
    if finest < least * (1 - 1e-9):
        raise PrecisionError(
            f"{question.measure.space!r} resolves times down to {least:.3g} (distances sqrt(8 t) down to "
            f"{np.sqrt(8 * least):.3g}), but {finest:.3g} ({np.sqrt(8 * finest):.3g}) was asked for; give coarser "
            "scales, or a space with more nodes or modes",
            finest=least,
        )


@dataclass(frozen=True, eq=False)
class ModesOffer(Offer):
    """The full definition: with phi_r the eigenfunctions and k_i = sum_r exp(-2 lambda_r t) phi_r(x_i)^2,

    1 / gESS = sum_r exp(-2 lambda_r t) (sum_i w_i phi_r(x_i) / sqrt(k_i))^2,
    A - 1    = sum_{r >= 1} exp(-2 lambda_r t) (sum_i w_i phi_r(x_i))^2.
    """

    measure: Measure
    times: FloatArray
    modes: Modes
    name = "spectral"

    def seconds(self, first: int, end: int) -> float:
        """Not known before the eigenpairs are, and there is no other engine."""
        return 0.0

    def run(self, part: slice, progress: Progress) -> Answer:
        """One pass over the atoms for all scales."""
        times, space = self.times[part], self.modes
        finest, atoms = float(times[0]), self.measure.coalesced()
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
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_mmd2 = log_sum(2 * np.log(np.abs(coefficients[1:])) - rates[:, 1:])
            missing = np.where(share > 0, np.exp(np.log(share * decay.sum(axis=1)) - log_mmd2), 0.0)
        discretised = space.discretisation_error(times)
        error = share / overlap + 64 * EPS + discretised
        return Answer(HeatSums(overlap, log_mmd2, change / overlap, error, missing, missing))


def _left_out(space: Modes, rates: FloatArray) -> FloatArray:
    """The share of the trace in the eigenpairs left out, if they go on as Weyl's law says, at each time.

    Beyond the last eigenvalue that is Q(m/2, 2 lambda t), and no pair overlaps by more than that share. A graph, of
    dimension zero, has as many eigenpairs as nodes: the bound is then certain.
    """
    from scipy.special import gammaincc

    if space.dim:
        return np.asarray(gammaincc(space.dim / 2, rates[:, -1]))
    return np.asarray(2 * space.volume * np.exp(-rates[:, -1]) * (rates.shape[1] < space.volume))


def _potential(measure: Measure, modes: Modes, time: float, at: NDArray[Any]) -> FloatArray:
    """f_t(y) = sum_r exp(-2 lambda_r t) phi_r(y) / sqrt(k(y)) sum_j w_j phi_r(x_j) / sqrt(k_j)."""
    decay = np.exp(-2 * time * modes.eigenpairs(measure.points[:1], time).values)

    def scaled(points: NDArray[Any]) -> FloatArray:
        functions = modes.eigenpairs(points, time).functions
        return np.asarray(functions / np.sqrt(functions**2 @ decay)[:, None])

    return _synthesis(scaled, decay, measure, at)


def density(measure: Measure, modes: Modes, time: float, at: NDArray[Any]) -> FloatArray:
    """p_t(y) = sum_r exp(-lambda_r t) phi_r(y) sum_j w_j phi_r(x_j), the smoothed density at points *at*."""
    _refuse_finer(Question(measure, np.array([time / 2]), 1.0), modes)
    decay = np.exp(-time * modes.eigenpairs(measure.points[:1], time / 2).values)
    return _synthesis(lambda points: modes.eigenpairs(points, time / 2).functions, decay, measure, at)


def _synthesis(
    functions: Callable[[NDArray[Any]], FloatArray], decay: FloatArray, measure: Measure, at: NDArray[Any]
) -> FloatArray:
    """sum_r d_r f_r(y) sum_j w_j f_r(x_j), block after block of atoms and of points."""
    size = BLOCK_ENTRIES // len(decay) + 1
    blocks = slices(measure.n, size)
    total = decay * sum(measure.weights[rows] @ functions(measure.points[rows]) for rows in blocks)
    return np.concatenate([functions(at[rows]) @ total for rows in slices(len(at), size)])
