"""Spaces known by their eigenpairs, where the self-overlap k_2t(x, x) depends on the place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray
from ..base.blocks import slices
from ..base.errors import InputError, PrecisionError, PrecisionWarning, warn
from ..base.progress import Progress
from ..heat.sums import HeatSums, log_sum
from ..measures.measure import Measure
from ..spaces.capabilities import Modes, Resolved
from .base import (
    Answer,
    Costed,
    DifferenceOffer,
    DifferenceQuestion,
    Engine,
    FormsOffer,
    FormsQuestion,
    LevelsOffer,
    LevelsQuestion,
    Offer,
    PotentialOffer,
    PotentialQuestion,
    Potentials,
    Question,
    made,
)
from .diagonals import SOON, eigenpair_seconds, runs_are_sooner
from .lanczos_runs import Power
from .node_rounding import Energies, blur_of

#: Entries of the table of eigenfunctions held at once.
BLOCK_ENTRIES = 2**24

#: Rounding of gESS from which there is a warning, and from which there is no number.
ROUNDING_TO_WARN_OF, TOO_VAGUE = 1e-4, 0.1

#: Rounding of a sum over atoms, relative to the sum of absolute values.
SUM_ROUNDING = 4 * EPS

#: Seconds of one eigenfunction at one atom, and of that at one scale.
PER_TERM, PER_SCALE = 8e-9, 6e-10

#: Seconds that keep scales together which could as well be summed in two parts.
PER_RANGE = 1e-2


class Eigenmodes(Engine):
    """Sums over eigenpairs."""

    name = "spectral"

    def offer(self, question: Question) -> Offer | None:
        """All scales that the eigenpairs resolve; finer ones are refused at once, since no other engine serves them."""
        modes = question.measure.space.modes
        if modes is None:
            return None
        refuse_finer(question, modes)
        return ModesOffer(question, modes)

    def refusal(self, question: Question) -> Exception:
        """Never for lack of trying."""
        return InputError(f"{question.measure.space!r} is known by its eigenpairs; use `method='auto'`")

    def forms(self, question: FormsQuestion) -> FormsOffer | None:
        """Sums of eigenfunctions, the same for all columns."""
        modes = question.measure.space.modes
        if modes is None:
            return None
        refuse_finer(question, modes)
        return ModesForms(question, modes)

    def potentials(self, question: PotentialQuestion) -> PotentialOffer | None:
        """Sums over eigenfunctions at the atoms and at the points."""
        modes = question.measure.space.modes
        if modes is None or runs_are_sooner(question, question.places):
            return None
        refuse_finer(question, modes)
        return ModesPotentials(question, modes)

    def differences(self, question: DifferenceQuestion) -> DifferenceOffer | None:
        """By the difference of the sums of eigenfunctions."""
        from .differences import ModesDifference

        modes = question.measure.space.modes
        if modes is None:
            return None
        refuse_finer(question, modes)
        return ModesDifference(question, modes)

    def levels(self, question: LevelsQuestion) -> LevelsOffer | None:
        """One mode a level."""
        from .levels import ModeLevels

        return made(ModeLevels, question, question.measure.space.modes)


#: What to do about eigenpairs that take too long, besides asking for fewer.
OTHER = "a space of fewer nodes or with fewer links between them, or make it with `modes=` to wait for so many"


def too_many(modes: Modes, time: float, wait: str) -> str:
    """What to do about eigenpairs for *time* that would take *wait*."""
    from .plan import PATIENCE

    coarser = "coarser scales, " if modes.seconds(1e6 * time) <= PATIENCE else ""
    return f"{modes.count(time):,} eigenpairs of {modes.node_count:,} nodes would take {wait}; give {coarser}{OTHER}"


def resolved(modes: Modes, time: float) -> Resolved:
    """The eigenpairs for *time*, or a `CostError`."""
    from .plan import afford

    afford(modes.seconds(time), lambda wait: too_many(modes, time, wait))
    return modes.resolved(time)


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


class OfModes(Costed):
    """What offers by eigenpairs share."""

    question: Question
    modes: Modes
    name = "spectral"

    def seconds(self, first: int, end: int) -> float:
        """Of the eigenpairs that the finest scale needs."""
        return self.modes.seconds(float(self.question.times[first]))

    def cost(self, first: int, end: int) -> float:
        """Nothing, as there is no other way."""
        return 0.0

    def too_long(self, wait: str) -> str:
        """What to do about the eigenpairs."""
        return too_many(self.modes, float(self.question.times[0]), wait)


@dataclass(frozen=True, eq=False)
class ModesOffer(OfModes, Offer):
    """The full definition: with phi_r the eigenfunctions and k_i = sum_r exp(-2 lambda_r t) phi_r(x_i)^2,

    1 / gESS = sum_r exp(-2 lambda_r t) (sum_i w_i phi_r(x_i) / sqrt(k_i))^2,
    A - 1    = sum_{r >= 1} exp(-2 lambda_r t) (sum_i w_i phi_r(x_i))^2.
    """

    question: Question
    modes: Modes

    def seconds(self, first: int, end: int) -> float:
        """Of the eigenpairs that the finest scale needs, and of the sums over them."""
        finest = float(self.question.times[first])
        terms = float(self.question.measure.n) * self.modes.count(finest)
        return self.modes.seconds(finest) + terms * (PER_TERM + PER_SCALE * (end - first))

    def cost(self, first: int, end: int) -> float:
        """Little where eigenpairs, which serve later calls too, are soon found; nothing where there is no choice."""
        if self.question.measure.space.flow is None:
            return 0.0
        seconds = eigenpair_seconds(self.modes, float(self.question.times[first]))
        return PER_RANGE if seconds < SOON else seconds

    def run(self, part: slice, progress: Progress) -> Answer:
        """One pass over the atoms for all scales."""
        times, space, measure = self.question.times[part], self.modes, self.question.measure
        finest, atoms = float(times[0]), measure.coalesced()
        pairs = space.resolved(finest)
        values, rounding = pairs.values, pairs.rounding
        rates = 2 * np.multiply.outer(times, values)  # (times, modes)
        decay = np.exp(-rates)
        blur = blur_of(values, times, rounding)
        parts, changes = np.zeros((2, *decay.shape))  # sum_i w_i phi_r(x_i) / sqrt(k_i), and its derivative in log t
        coefficients, sizes = np.zeros((2, len(values)))  # sum_i w_i phi_r(x_i), and of absolute values
        blurred = np.zeros(len(times))  # of k_i, the worst relative
        least = np.full(len(times), np.inf)  # of k_i
        for rows in slices(atoms.n, BLOCK_ENTRIES // len(values) + 1):
            weights = atoms.weights[rows]
            functions = pairs.at(atoms.points[rows])  # (n, modes)
            squares = functions**2
            own = squares @ decay.T  # k_2t(x_i, x_i), shape (n, times)
            own_slope = squares @ (-rates * decay).T / own
            blurred = np.maximum(blurred, (squares @ blur.T / own).max(axis=0))
            least = np.minimum(least, own.min(axis=0))
            scaled = weights[:, None] / np.sqrt(own)
            parts += scaled.T @ functions
            changes += (-0.5 * scaled * own_slope).T @ functions
            coefficients += weights @ functions
            sizes += weights @ np.abs(functions)
        overlap = np.einsum("tr,tr->t", decay, parts**2)
        change = np.einsum("tr,tr->t", decay, 2 * parts * changes - rates * parts**2)
        share, discretised = share_left_out(space, rates), space.discretisation_error(times)
        # On a graph k_i is off by no more than that share of its least, and the overlap, whose terms are not negative
        # and of which those of an atom with itself are a part, by no more than twice that.
        share = share / overlap if space.dim else share / least
        rounded = blurred + np.einsum("tr,tr->t", blur, parts**2) / overlap + rounding.relative
        _refuse_vague(measure, times, rounded, discretised)
        error = share + 64 * EPS + rounded + discretised
        if space.is_uniform(atoms.points, atoms.weights):
            nothing = np.zeros(len(times))
            return Answer(HeatSums(overlap, nothing - np.inf, change / overlap, error, nothing, nothing))
        with np.errstate(divide="ignore"):
            log_mmd2 = log_sum(2 * np.log(np.abs(coefficients[1:])) - rates[:, 1:])
        energy = space.energy(atoms.points, atoms.weights)
        missing = share_missing(space, rates, energy, log_mmd2)
        energies = Energies(values[1:], np.abs(coefficients[1:]), SUM_ROUNDING * sizes[1:], math.sqrt(energy))
        mmd2_error = missing + energies.errors(times, log_mmd2, rounding, blur[:, 1:])
        sums = HeatSums(overlap, log_mmd2, change / overlap, error, mmd2_error, missing)
        return Answer(self._surer(sums, times, atoms) if self.question.mmd2 else sums)

    def _surer(self, sums: HeatSums, times: FloatArray, atoms: Measure) -> HeatSums:
        """With MMD^2 from a Lanczos run where too little of it is in the eigenpairs that gESS needs."""
        flow, wanted = atoms.space.flow, max(self.question.rtol, ROUNDING_TO_WARN_OF)
        bad = sums.missing > np.maximum(wanted, self.modes.discretisation_error(times))
        if flow is None or not bad.any():
            return sums
        starts, tolerance = self.modes.functionals(atoms.points), np.full(int(bad.sum()), self.question.rtol)
        power = Power.of(flow, starts, atoms.weights, times[bad], tolerance)
        if power is None:
            return sums
        better = power.error < sums.mmd2_error[bad]
        places = np.flatnonzero(bad)[better]
        columns = sums.log_mmd2.copy(), sums.mmd2_error.copy(), sums.missing.copy()
        for column, found in zip(columns, (power.log_mmd2, power.error, power.bracket.width), strict=True):
            column[places] = found[better]
        return replace(sums, log_mmd2=columns[0], mmd2_error=columns[1], missing=columns[2])


def _refuse_vague(measure: Measure, times: FloatArray, rounded: FloatArray, discretised: FloatArray) -> None:
    """Refuse or warn where gESS is lost in the rounding of a Laplacian with too large a range of links."""
    worst = int(np.argmax(rounded))
    lost = float(rounded[worst])
    if lost <= max(ROUNDING_TO_WARN_OF, float(discretised[worst])):
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


def share_missing(space: Modes, rates: FloatArray, energy: float, log_mmd2: FloatArray) -> FloatArray:
    """What the eigenpairs left out add to MMD^2, as a share of it, at each time.

    They hold no more than the *energy* of all modes, and of that no more than is left in the last one that is there. On
    surfaces Weyl's law may say that it is less.
    """
    if rates.shape[1] >= space.node_count and not space.dim:
        return np.zeros(len(rates))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        left = math.log(energy) - rates[:, -1] if energy > 0 else np.full(len(rates), -np.inf)
        if space.dim:
            left = np.minimum(left, np.log(share_left_out(space, rates) * np.exp(-rates).sum(axis=1)))
        return np.where(np.isneginf(left), 0.0, np.exp(np.minimum(left - log_mmd2, 700.0)))


def share_left_out(space: Modes, rates: FloatArray) -> FloatArray:
    """The share of the trace in the eigenpairs left out, if they go on as Weyl's law says, at each time.

    Beyond the last eigenvalue that is Q(m/2, 2 lambda t), and no pair overlaps by more than that share. A graph, of
    dimension zero, has as many eigenpairs as nodes: twice what they can hold is then certain to be more.
    """
    from scipy.special import gammaincc

    if space.dim:
        return np.asarray(gammaincc(space.dim / 2, rates[:, -1]))
    return np.asarray(2 * space.volume * np.exp(-rates[:, -1]) * (rates.shape[1] < space.volume))


@dataclass(frozen=True, eq=False)
class ModesForms(OfModes, FormsOffer):
    """sum_r exp(-2 (lambda_r - lambda_1) t) (sum_i v_i phi_r(x_i))^2 over the eigenfunctions but the constant."""

    question: FormsQuestion
    modes: Modes

    def run(self, part: slice, columns: FloatArray, progress: Progress) -> FloatArray:
        """Block after block of points."""
        points, times = self.question.measure.points, self.question.times[part]
        pairs = self.modes.resolved(float(times[0]))
        values, total = pairs.values, np.zeros((len(pairs.values), columns.shape[1]))
        for rows in progress.track(list(slices(len(points), BLOCK_ENTRIES // len(values) + 1)), "places"):
            total += pairs.at(points[rows]).T @ columns[rows]
        decay = np.exp(-2 * np.multiply.outer(times, values[1:] - values[1]))
        return np.asarray((decay @ total[1:] ** 2).T)


@dataclass(frozen=True, eq=False)
class ModesPotentials(OfModes, PotentialOffer):
    """The error is known afterwards."""

    question: PotentialQuestion
    modes: Modes

    def run(self, part: slice, progress: Progress) -> Potentials:
        """Scale after scale."""
        times, at = self.question.times[part], self.question.places
        found = [_potential(self.question.measure, self.modes, float(time), at) for time in times]
        return Potentials(np.stack([values for values, _ in found]), max(error for _, error in found))


def _potential(measure: Measure, modes: Modes, time: float, at: NDArray[Any]) -> tuple[FloatArray, float]:
    """f_t(y) = sum_r exp(-2 lambda_r t) phi_r(y) / sqrt(k(y)) sum_j w_j phi_r(x_j) / sqrt(k_j), and its error.

    The error is a share of the mean, 1 / gESS. A change E of L moves f(y) by no more than the root of what it moves
    s_t(y, y) by, times the root of what it moves 1 / gESS by; and it moves both k by what `blur_of` says.
    """
    pairs = modes.resolved(time)
    decay, blur = np.exp(-2 * time * pairs.values), blur_of(pairs.values, np.array([time]), pairs.rounding)[0]
    blurred = 0.0

    def scaled(points: NDArray[Any]) -> FloatArray:
        nonlocal blurred
        functions = pairs.at(points)
        own = functions**2 @ decay
        blurred = max(blurred, float((functions**2 @ blur / own).max()))
        return np.asarray(functions / np.sqrt(own)[:, None])

    total = _total(scaled, measure, len(decay))
    found = _synthesis(scaled, decay * total, at)
    overlap, most = float(decay @ total**2), float(np.abs(found).max())
    moved = math.sqrt(blurred * float(blur @ total**2)) + blurred * most
    if not modes.dim:  # what is left out: of both k, and by Cauchy and Schwarz of the rest
        share = float(share_left_out(modes, 2 * time * pairs.values[None, :])[0])
        moved += share * (most + math.sqrt(overlap))
    return found, moved / overlap + pairs.rounding.relative + 64 * EPS


def density(measure: Measure, modes: Modes, time: float, at: NDArray[Any]) -> FloatArray:
    """p_t(y) = sum_r exp(-lambda_r t) phi_r(y) sum_j w_j phi_r(x_j), the smoothed density at points *at*."""
    refuse_finer(Question(measure, np.array([time / 2]), 1.0), modes)
    pairs = resolved(modes, time / 2)
    decay = np.exp(-time * pairs.values)
    return _synthesis(pairs.at, decay * _total(pairs.at, measure, len(decay)), at)


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
