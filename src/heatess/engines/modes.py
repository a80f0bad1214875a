"""Spaces known by their eigenpairs, where the self-overlap k_2t(x, x) depends on the place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import EPS, FloatArray
from ..blocks import slices
from ..errors import InputError, PrecisionError, PrecisionWarning, warn
from ..heat.sums import HeatSums, log_sum
from ..measure import Measure
from ..progress import Progress
from ..spaces.capabilities import Modes, Rounding
from .base import Answer, Engine, Offer, PotentialOffer, Question
from .diagonals import SOON, runs_are_sooner

#: Entries of the table of eigenfunctions held at once.
BLOCK_ENTRIES = 2**24

#: Rounding of gESS from which there is a warning, and from which there is no number.
DOUBT, TOO_VAGUE = 1e-4, 0.1

#: Rounding of a sum over atoms, relative to the sum of absolute values.
SUM_ROUNDING = 4 * EPS

#: Seconds that keep scales together which could as well be summed in two parts.
PER_RANGE = 1e-2

#: Error of MMD^2 that need not be known better.
NEGLIGIBLE = 1e-3

#: Steps, each twice the one before, in which an integral over time is bounded.
DOUBLINGS = 48


class Eigenmodes(Engine):
    """Sums over eigenpairs."""

    name = "spectral"

    def offer(self, question: Question) -> Offer | None:
        """All scales that the eigenpairs resolve; finer ones are refused at once, since no other engine serves them."""
        modes = question.measure.space.modes
        if modes is None:
            return None
        refuse_finer(question, modes)
        return ModesOffer(question.measure, question.times, modes)

    def refusal(self, question: Question) -> Exception:
        """Never for lack of trying."""
        return InputError(f"{question.measure.space!r} is known by its eigenpairs; use method='auto'")

    def potential(self, question: Question, at: NDArray[Any]) -> PotentialOffer | None:
        """Sums over eigenfunctions at the atoms and at the points."""
        modes = question.measure.space.modes
        if modes is None or runs_are_sooner(question, at):
            return None
        refuse_finer(question, modes)
        found, error = _potential(question.measure, modes, float(question.times[0]), at)
        return PotentialOffer(0.0, error, lambda _: found)


def refuse_finer(question: Question, modes: Modes) -> None:
    """A `PrecisionError` where a scale is finer than the space resolves."""
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
        """Of the eigenpairs that the finest scale needs, where there is another way; else there is no choice."""
        if self.measure.space.flow is None:
            return 0.0
        seconds = self.modes.seconds(float(self.times[first]))
        return PER_RANGE if seconds < SOON else seconds

    def run(self, part: slice, progress: Progress) -> Answer:
        """One pass over the atoms for all scales."""
        times, space = self.times[part], self.modes
        finest, atoms = float(times[0]), self.measure.coalesced()
        values = space.eigenpairs(atoms.points[:1], finest).values
        rates = 2 * np.multiply.outer(times, values)  # (times, modes)
        decay = np.exp(-rates)
        rounding = space.rounding
        blur = blur_of(values, times, rounding)
        parts, changes = np.zeros((2, *decay.shape))  # sum_i w_i phi_r(x_i) / sqrt(k_i), and its derivative in log t
        coefficients, sizes = np.zeros((2, len(values)))  # sum_i w_i phi_r(x_i), and of absolute values
        blurred = np.zeros(len(times))  # of k_i, the worst relative
        for rows in slices(atoms.n, BLOCK_ENTRIES // len(values) + 1):
            weights = atoms.weights[rows]
            functions = space.eigenpairs(atoms.points[rows], finest).functions  # (n, modes)
            squares = functions**2
            own = squares @ decay.T  # k_2t(x_i, x_i), shape (n, times)
            own_slope = squares @ (-rates * decay).T / own
            blurred = np.maximum(blurred, (squares @ blur.T / own).max(axis=0))
            scaled = weights[:, None] / np.sqrt(own)
            parts += scaled.T @ functions
            changes += (-0.5 * scaled * own_slope).T @ functions
            coefficients += weights @ functions
            sizes += weights @ np.abs(functions)
        overlap = np.einsum("tr,tr->t", decay, parts**2)
        change = np.einsum("tr,tr->t", decay, 2 * parts * changes - rates * parts**2)
        share, discretised = share_left_out(space, rates), space.discretisation_error(times)
        rounded = blurred + np.einsum("tr,tr->t", blur, parts**2) / overlap + rounding.relative
        _refuse_vague(self.measure, times, rounded, discretised)
        error = share / overlap + 64 * EPS + rounded + discretised
        if space.is_uniform(atoms.points, atoms.weights):
            nothing = np.zeros(len(times))
            return Answer(HeatSums(overlap, nothing - np.inf, change / overlap, error, nothing, nothing))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_mmd2 = log_sum(2 * np.log(np.abs(coefficients[1:])) - rates[:, 1:])
            missing = np.where(share > 0, np.exp(np.log(share * decay.sum(axis=1)) - log_mmd2), 0.0)
        energies = Energies(values[1:], np.abs(coefficients[1:]), SUM_ROUNDING * sizes[1:])
        mmd2_error = missing + energies.errors(times, log_mmd2, rounding, blur[:, 1:])
        return Answer(HeatSums(overlap, log_mmd2, change / overlap, error, mmd2_error, missing))


def blur_of(values: FloatArray, times: FloatArray, rounding: Rounding) -> FloatArray:
    """What rounding of the Laplacian adds to x' exp(-2 t L) x, per x_r^2 of each mode r; shape (times, modes).

    A change E of L changes it by at most |E| times the integral of |exp(-s L) x|^2 over s from 0 to 2 t, which is
    sum_r x_r^2 (1 - exp(-4 lambda_r t)) / (2 lambda_r). Modes below the gap are mixed with those above it alone, by
    |E| / gap.
    """
    rates = 2 * np.multiply.outer(times, values)
    small = rates < 1e-8
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(small, 2 * times[:, None], -np.expm1(-2 * rates) / (2 * values))
    exact = values < rounding.gap
    if rounding.gap > 0:
        found[:, exact] = np.minimum(found[:, exact], 2 / rounding.gap)
    return np.asarray(rounding.noise * found)


def _refuse_vague(measure: Measure, times: FloatArray, rounded: FloatArray, discretised: FloatArray) -> None:
    """Refuse or warn where gESS is lost in the rounding of a Laplacian with too large a range of links."""
    worst = int(np.argmax(rounded))
    lost = float(rounded[worst])
    if lost <= max(DOUBT, float(discretised[worst])):
        return
    message = (
        f"links or sizes on {measure.space!r} differ so much that rounding may move gESS by {min(lost, 1.0):.0e} "
        f"relatively at time {times[worst]:.3g}"
    )
    if lost > TOO_VAGUE:
        good = times[rounded <= TOO_VAGUE]
        finer = f"; give times up to {good[-1]:.3g}" if len(good) else "; give finer scales"
        raise PrecisionError(f"{message}{finer}, or join what is so close together, or leave out what is so weak")
    warn(message, PrecisionWarning)


@dataclass(frozen=True, eq=False)
class Energies:
    """Coefficients |c_r| of the modes but the constant, and the rounding of each as a sum."""

    values: FloatArray
    coefficients: FloatArray
    rounding: FloatArray

    def errors(self, times: FloatArray, log_mmd2: FloatArray, rounding: Rounding, blur: FloatArray) -> FloatArray:
        """Bound on the relative error of A - 1 = sum_r exp(-2 lambda_r t) c_r^2 from rounding, at each time.

        That of each sum c_r, by e_r, and that of the Laplacian, by E: to first order |E| times the integral of
        |exp(-s L) c| |exp(-(2 t - s) L) c| over s from 0 to 2 t, and to second order as if e_r were |E| |c| / lambda_r
        more. Zero where A - 1 underflows, for zero is then the right number.
        """
        size = float(np.linalg.norm(self.coefficients))
        with np.errstate(divide="ignore", invalid="ignore"):
            mixed = np.where(self.values > 0, rounding.noise * size / self.values, np.inf) if rounding.noise else 0.0
        mixed = np.where(self.values < rounding.gap, np.minimum(mixed, rounding.noise * size / rounding.gap), mixed)
        unsure = self.rounding + mixed
        with np.errstate(divide="ignore"):
            logs = np.log(unsure * (2 * self.coefficients + unsure))
        first = np.exp(np.minimum(log_sum(logs - 2 * np.multiply.outer(times, self.values)) - log_mmd2, 700.0))
        first += rounding.relative
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            moved = blur @ self.coefficients**2 * np.exp(-log_mmd2)  # quick, and too much at large times
        for place in np.flatnonzero(~(moved < NEGLIGIBLE)) if rounding.noise else ():
            moved[place] = self._moved(float(times[place]), rounding)
        first += moved if rounding.noise else 0.0
        return np.where(log_mmd2 < -745.0, 0.0, first)

    def _moved(self, time: float, rounding: Rounding) -> float:
        """|E| times the integral, relative: by trapezia, from above because the integrand is convex."""
        rates = self.values - self.values[0]  # the lowest rate is common to all
        ends = np.append(0.0, time * 2.0 ** np.arange(-DOUBLINGS, 1))
        squares = self.coefficients**2
        exact = self.values < rounding.gap
        early, late = (np.exp(-2 * np.multiply.outer(s, rates)) * squares for s in (ends, 2 * time - ends))
        low = [np.sqrt(part[:, exact].sum(axis=1)) for part in (early, late)]
        high = [np.sqrt(part[:, ~exact].sum(axis=1)) for part in (early, late)]
        product = low[0] * high[1] + high[0] * low[1] + high[0] * high[1]
        total = float(early[-1].sum())
        moved = float(np.diff(ends) @ (product[1:] + product[:-1]))  # twice the half from 0 to t
        return rounding.noise * moved / total if total else np.inf


def share_left_out(space: Modes, rates: FloatArray) -> FloatArray:
    """The share of the trace in the eigenpairs left out, if they go on as Weyl's law says, at each time.

    Beyond the last eigenvalue that is Q(m/2, 2 lambda t), and no pair overlaps by more than that share. A graph, of
    dimension zero, has as many eigenpairs as nodes: the bound is then certain.
    """
    from scipy.special import gammaincc

    if space.dim:
        return np.asarray(gammaincc(space.dim / 2, rates[:, -1]))
    return np.asarray(2 * space.volume * np.exp(-rates[:, -1]) * (rates.shape[1] < space.volume))


def _potential(measure: Measure, modes: Modes, time: float, at: NDArray[Any]) -> tuple[FloatArray, float]:
    """f_t(y) = sum_r exp(-2 lambda_r t) phi_r(y) / sqrt(k(y)) sum_j w_j phi_r(x_j) / sqrt(k_j), and its error.

    The error is a share of the mean, 1 / gESS. A change E of L moves f(y) by no more than the root of what it moves
    s_t(y, y) by, times the root of what it moves 1 / gESS by; and it moves both k by what `blur_of` says.
    """
    values = modes.eigenpairs(measure.points[:1], time).values
    decay, blur = np.exp(-2 * time * values), blur_of(values, np.array([time]), modes.rounding)[0]
    blurred = 0.0

    def scaled(points: NDArray[Any]) -> FloatArray:
        nonlocal blurred
        functions = modes.eigenpairs(points, time).functions
        own = functions**2 @ decay
        blurred = max(blurred, float((functions**2 @ blur / own).max()))
        return np.asarray(functions / np.sqrt(own)[:, None])

    total = _total(scaled, measure, len(decay))
    found = _synthesis(scaled, decay * total, at)
    overlap = float(decay @ total**2)
    moved = math.sqrt(blurred * float(blur @ total**2)) + blurred * float(np.abs(found).max())
    return found, moved / overlap + modes.rounding.relative + 64 * EPS


def density(measure: Measure, modes: Modes, time: float, at: NDArray[Any]) -> FloatArray:
    """p_t(y) = sum_r exp(-lambda_r t) phi_r(y) sum_j w_j phi_r(x_j), the smoothed density at points *at*."""
    refuse_finer(Question(measure, np.array([time / 2]), 1.0), modes)
    decay = np.exp(-time * modes.eigenpairs(measure.points[:1], time / 2).values)

    def functions(points: NDArray[Any]) -> FloatArray:
        return modes.eigenpairs(points, time / 2).functions

    return _synthesis(functions, decay * _total(functions, measure, len(decay)), at)


def _total(functions: Callable[[NDArray[Any]], FloatArray], measure: Measure, count: int) -> FloatArray:
    """sum_j w_j f_r(x_j), block after block of atoms."""
    blocks = slices(measure.n, BLOCK_ENTRIES // count + 1)
    return np.asarray(sum(measure.weights[rows] @ functions(measure.points[rows]) for rows in blocks))


def _synthesis(
    functions: Callable[[NDArray[Any]], FloatArray], coefficients: FloatArray, at: NDArray[Any]
) -> FloatArray:
    """sum_r c_r f_r(y), block after block of points."""
    blocks = slices(len(at), BLOCK_ENTRIES // len(coefficients) + 1)
    return np.concatenate([functions(at[rows]) @ coefficients for rows in blocks])
