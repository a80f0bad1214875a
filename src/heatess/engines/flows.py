"""Spaces of very many nodes, by Lanczos runs of their Laplacian in place of eigenpairs.

With S the operator of the flow, r_i the functional of atom i and c the constant vector of length one:

    A - 1    = v' exp(-2 t S) v,            v = sum_i w_i r_i - c: one run serves all scales;
    k_i      = r_i' exp(-2 t S) r_i:        a run near each atom, see `engines.diagonals`;
    1 / gESS = x' exp(-2 t S) x,            x = sum_i w_i r_i / sqrt(k_i): one run a scale.

Every run bounds what it is for from below and from above. Where self-overlaps hardly differ, 1 / sqrt(k_i) is a
constant (1 + e_i) with small e_i, and the first run serves for gESS too: with K the matrix of all k_2t(x_i, x_j) and
w e the vector of all w_i e_i, w'K w + 2 (w e)'K w is 1 / gESS but for a share of max e_i^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import EPS, FloatArray
from ..blocks import thread_count
from ..errors import InputError, PrecisionWarning, warn
from ..heat.sums import HeatSums
from ..measure import Measure
from ..progress import Progress, announce
from ..spaces.capabilities import Modes, Rounding
from ..spaces.flow import Flow, Run
from .base import Answer, Engine, Offer, Question
from .diagonals import PER_ENTRY, PER_NODE, Plan, diagonals, steps_for
from .modes import SOON, Energies, blur_of, refuse_finer
from .modes import density as density_of_modes
from .quadrature import Bracket, heated

#: Share of the discretisation error that the runs may add.
SHARE = 0.1

#: Parts that the error of an answer is the sum of.
PARTS = 4

#: Numbers of the vectors of a run that are kept at the atoms.
KEPT = 2**26

#: Longest run, and the first look at it.
MOST_STEPS, FIRST_LOOK = 6000, 24

#: Seconds that the self-overlaps may take, where eigenpairs could be had for the coarse scales, and where not: scales
#: that would need more get a wide error.
BUDGET, BUDGET_ALONE = 60.0, 8.0

#: Seconds that count against an answer with a wide error: eigenpairs are preferred, if they can be had.
VAGUE = 600.0

#: Accuracy of a smoothed density, of its mean square.
ACCURATE = 1e-12

#: Error of gESS, beyond that of the mesh, from which there is a warning.
DOUBT = 1e-3

#: Nodes up to which eigenpairs can be waited for.
FEW_NODES = 300_000

#: Seconds that whoever waits is told of.
WORTH_A_WORD = 4.0


class Flows(Engine):
    """Lanczos runs."""

    name = "lanczos"

    def offer(self, question: Question) -> Offer | None:
        """All scales that the nodes resolve."""
        space = question.measure.space
        if space.flow is None or space.modes is None:
            return None
        refuse_finer(question, space.modes)
        return FlowOffer(question, space.flow, space.modes)

    def refusal(self, question: Question) -> Exception:
        """Only for spaces of other kinds."""
        return InputError(f"{question.measure.space!r} is not known by its nodes; use method='auto'")


@dataclass(frozen=True, eq=False)
class FlowOffer(Offer):
    """Runs on all nodes, and near each atom."""

    question: Question
    flow: Flow
    modes: Modes
    name = "lanczos"

    @cached_property
    def atoms(self) -> Measure:
        """Distinct atoms."""
        return self.question.measure.coalesced()

    @cached_property
    def starts(self) -> Any:
        """The functional of each atom, a sparse row each."""
        return self.modes.functionals(self.atoms.points)

    @cached_property
    def _touched(self) -> Any:
        return touched_by(self.starts)

    @cached_property
    def tolerance(self) -> FloatArray:
        """Relative, of each of the parts of an answer: a small share of what the mesh itself may be off."""
        discretised = self.modes.discretisation_error(self.question.times)
        return np.maximum(self.question.rtol / PARTS, SHARE * discretised)

    @cached_property
    def _plan(self) -> Plan:
        return Plan.of(self.flow, self.starts)

    @cached_property
    def _steps(self) -> list[int]:
        """Of a run that serves each scale."""
        pairs = zip(self.question.times.tolist(), (1e-3 * self.tolerance).tolist(), strict=True)
        return [min(steps_for(self.flow.top, *pair), MOST_STEPS) for pair in pairs]

    @cached_property
    def _own_seconds(self) -> list[float]:
        """Of the self-overlaps at each scale."""
        return [self._plan.seconds(steps) for steps in self._steps]

    @cached_property
    def _budget(self) -> float:
        known = math.isfinite(self.modes.seconds(float(self.question.times[-1])))
        return BUDGET if known else BUDGET_ALONE

    def seconds(self, first: int, end: int) -> float:
        """The run for MMD^2, the self-overlaps, and a run for each scale."""
        step = (PER_ENTRY * self.flow.entries + PER_NODE * self.flow.size) / min(thread_count(), 2)
        steps, own = self._steps[first:end], self._own_seconds[first:end]
        vague = VAGUE * sum(seconds > self._budget for seconds in own) / len(own)
        return step * (steps[-1] + sum(steps)) + min(own[-1], self._budget) + vague

    def run(self, part: slice, progress: Progress) -> Answer:
        """One run for MMD^2, then scale after scale."""
        seconds = self.seconds(part.start, part.stop)
        if seconds > WORTH_A_WORD:
            announce(f"heat on {self.flow.size:,} nodes: up to {min(seconds, VAGUE):.0f} s")
        times, tolerance = self.question.times[part], self.tolerance[part]
        discretised = self.modes.discretisation_error(times)
        power = self._power(times, tolerance)
        found = Overlaps.zeros(len(times))
        own = diagonals(self.flow, self.starts, times, tolerance, self._budget)
        for chunk in range(0, len(times), own.chunk):
            some = slice(chunk, min(chunk + own.chunk, len(times)))
            span = own.at(some)
            for k, place in enumerate(range(some.start, some.stop)):
                middle, doubt = span.middle[:, k], float(span.doubt[k])
                there = At(float(times[place]), float(tolerance[place]), middle, span.slope[:, k])
                overlap, slope, error = self._overlap(there, power, place)
                found.set(place, overlap, slope, error + doubt)
        self._say_what_is_vague(times, found.error, discretised)
        whole = found.error + discretised + 64 * EPS
        if power is None:
            nothing = np.zeros(len(times))
            return Answer(HeatSums(found.overlap, nothing - np.inf, found.slope, whole, nothing, nothing))
        return Answer(HeatSums(found.overlap, power.log_mmd2, found.slope, whole, power.error, power.bracket.width))

    def _power(self, times: FloatArray, tolerance: FloatArray) -> Power | None:
        """MMD^2; None if the measure is uniform."""
        atoms = self.atoms
        if self.modes.is_uniform(atoms.points, atoms.weights):
            return None
        return Power.of(self.flow, self.starts, atoms.weights, times, tolerance)

    def _overlap(self, at: At, power: Power | None, place: int) -> tuple[float, float, float]:
        """1 / gESS at one scale, its derivative in log t over itself, and its relative error but for that of k_i."""
        weights = self.atoms.weights
        scale = float(weights @ (1 / np.sqrt(at.own)))
        uneven = 1 / (scale * np.sqrt(at.own)) - 1
        if power is None:
            power_there, potential = 1.0, np.ones(len(weights))
        elif power.kept is not None:
            power_there, potential = power.there(place), power.potential(place, self.starts)
        else:
            return self._own_run(at)
        most = float(np.abs(uneven).max())
        if most**2 > at.tolerance:
            return self._own_run(at)
        overlap = scale**2 * (power_there + 2 * float((weights * uneven) @ potential))
        change = 0.0 if power is None else power.change(place)
        change = scale**2 * change - overlap * float(weights @ at.own_slope)
        if power is None:
            return overlap, change / overlap, most**2
        # The vector exp(-2 t S) v is known to about the root of what its product with v is known to.
        vector = 2 * most * math.sqrt(float(power.bracket.width[place]))
        return overlap, change / overlap, most**2 + vector + float(power.absolute_error[place]) / power_there

    def _own_run(self, at: At) -> tuple[float, float, float]:
        weights, rates = self.atoms.weights, np.array([2 * at.time])
        scaled = weights / np.sqrt(at.own)
        start = self.starts.T @ scaled
        level = float(self.flow.constant @ start)
        few = len(self._touched) * self._steps[-1] <= KEPT
        run = self.flow.run(start, self._touched if few else None)
        bracket = advanced(run, rates, np.array([at.tolerance]), above=level**2 / run.size**2 if run.size else 0.0)
        if bracket is None:
            return level**2, -float(scaled @ at.own_slope) / float(scaled.sum()), 0.0
        low, high = (run.size**2 * math.exp(float(part[0])) for part in (bracket.lower, bracket.upper))
        overlap = level**2 + (low + high) / 2
        rule = bracket.rule
        flow = run.size**2 * float((rule.weights * np.exp(-rates * rule.nodes)) @ (-rates * rule.nodes))
        shares = run.size * heated(*run.tridiagonal, rates)[0]
        warm = level * self.flow.constant
        if few:
            warm[self._touched] += shares @ run.kept
        else:
            warm += self.flow.combined(start, shares)
        change = flow - float((scaled * at.own_slope) @ (self.starts @ warm))
        # As `blur_of` says, and no more than that.
        blur = rule.weights @ (rates / np.maximum(1.0, 2 * rates * rule.nodes))
        rounded = run.noise * run.size**2 * float(blur)
        return overlap, change / overlap, ((high - low) / 2 + rounded) / overlap + 16 * EPS

    def _say_what_is_vague(self, times: FloatArray, error: FloatArray, discretised: FloatArray) -> None:
        vague = error > np.maximum(DOUBT, discretised)
        if not vague.any():
            return
        worst, good = int(np.argmax(error)), times[~vague]
        finer = f"give times up to {good.max():.3g}" if len(good) else "give finer scales"
        known = ", or make the space with modes= to wait for its eigenpairs" if self.flow.size <= FEW_NODES else ""
        warn(
            f"gESS on {self.question.measure.space!r} is known only to within {min(float(error[worst]), 99.0):.0%} at "
            f"time {times[worst]:.3g}, and not well at {int(vague.sum())} of {len(times)} scales: so many nodes matter "
            f"for each of {self.atoms.n:,} atoms there; {finer}, fewer atoms{known}; MMD^2 is not affected",
            PrecisionWarning,
        )


class At(NamedTuple):
    """One scale, and the self-overlaps of all atoms there."""

    time: float
    tolerance: float
    own: FloatArray
    own_slope: FloatArray


@dataclass(frozen=True, eq=False)
class Overlaps:
    """1 / gESS at each scale, its slope and its error."""

    overlap: FloatArray
    slope: FloatArray
    error: FloatArray

    @classmethod
    def zeros(cls, count: int) -> Overlaps:
        """Nothing yet."""
        return cls(*np.zeros((3, count)))

    def set(self, place: int, overlap: float, slope: float, error: float) -> None:
        """What was found for one scale."""
        self.overlap[place], self.slope[place], self.error[place] = overlap, slope, error


@dataclass(frozen=True, eq=False)
class Power:
    """MMD^2 = A - 1 at all scales from one run, and the potentials sum_j w_j k_2t(x_i, x_j) at the atoms."""

    flow: Flow
    run: Run
    times: FloatArray
    bracket: Bracket
    rounding: float  # of the vector that the run starts from, in length

    @classmethod
    def of(cls, flow: Flow, starts: Any, weights: FloatArray, times: FloatArray, tolerance: FloatArray) -> Power | None:
        """Of a measure with weights that sum to one."""
        touched = touched_by(starts)
        longest = steps_for(flow.top, float(times[-1]), 1e-12)
        run = flow.run(starts.T @ weights, touched if len(touched) * longest <= KEPT else None)
        bracket = advanced(run, 2 * times, tolerance)
        return None if bracket is None else cls(flow, run, times, bracket, 8 * EPS * run.size)

    @property
    def log_mmd2(self) -> FloatArray:
        """Between the bounds."""
        middle = self.bracket.lower + np.log1p(self.bracket.width / 2)
        return np.asarray(np.minimum(middle, self.bracket.upper) + 2 * math.log(self.run.size))

    @cached_property
    def error(self) -> FloatArray:
        """Relative, of MMD^2: half of what is between the bounds, and rounding."""
        return np.asarray(self.bracket.width / 2 + self._rounding_error)

    @cached_property
    def _rounding_error(self) -> FloatArray:
        rule, size = self.bracket.rule, self.run.size
        kept = rule.weights > 0
        values, coefficients = rule.nodes[kept], size * np.sqrt(rule.weights[kept])
        rounding = Rounding(self.run.noise, max(float(values[0]), math.ulp(0.0)), 16 * EPS)
        energies = Energies(values, coefficients, np.full(len(values), self.rounding))
        blur = blur_of(values, self.times, rounding)
        return energies.errors(self.times, self.log_mmd2, rounding, blur)

    @property
    def absolute_error(self) -> FloatArray:
        """Of MMD^2: no more than half of the upper bound, however far the lower one is below it, and rounding."""
        with np.errstate(under="ignore", over="ignore"):
            between = self.run.size**2 * (np.exp(self.bracket.upper) - np.exp(self.bracket.lower)) / 2
            return np.asarray(between + self._rounding_error * np.exp(self.log_mmd2))

    def there(self, place: int) -> float:
        """A at one of the times."""
        return 1 + math.exp(float(self.log_mmd2[place]))

    def change(self, place: int) -> float:
        """The derivative of A in log t at one of the times."""
        rule, rate = self.bracket.rule, 2 * float(self.times[place])
        return -(self.run.size**2) * float((rule.weights * np.exp(-rate * rule.nodes)) @ (rate * rule.nodes))

    @cached_property
    def kept(self) -> FloatArray | None:
        """exp(-2 t S) v at the nodes that atoms touch, shape (times, nodes); None where that is too much to keep."""
        if self.run.rows is None:
            return None
        return np.asarray(self.run.size * (heated(*self.run.tridiagonal, 2 * self.times) @ self.run.kept))

    def potential(self, place: int, starts: Any) -> FloatArray:
        """sum_j w_j k_2t(x_i, x_j) at all atoms i."""
        if self.kept is None or self.run.rows is None:
            raise TypeError("the run was not kept at the atoms")
        return np.asarray(1 + starts[:, self.run.rows] @ self.kept[place])


def touched_by(starts: Any) -> Any:
    """The nodes at which some atom is evaluated."""
    return np.unique(starts.indices)


def warmed(flow: Flow, start: FloatArray, rate: float, accuracy: float) -> FloatArray:
    """exp(-rate S) times a vector, at all nodes."""
    level, run = float(flow.constant @ start) * flow.constant, flow.run(start)
    if advanced(run, np.array([rate]), np.array([accuracy])) is None:
        return level
    return np.asarray(level + run.size * flow.combined(start, heated(*run.tridiagonal, np.array([rate]))[0]))


def advanced(run: Run, rates: FloatArray, tolerance: FloatArray, *, above: float = 0.0) -> Bracket | None:
    """Take a run on until its bounds are as close as wanted, at all rates; None if it starts from nothing.

    They may be farther apart by a share of *above*, to which what they bound is added.
    """
    if run.closed:
        return None
    run.advance(FIRST_LOOK)
    worst, before = math.inf, 0
    while True:
        bracket = Bracket.of(*run.tridiagonal, rates)
        with np.errstate(divide="ignore", under="ignore"):
            beside = np.logaddexp(bracket.lower, math.log(above) if above else -np.inf)
            share = np.exp(np.where(np.isneginf(beside), 0.0, bracket.lower - beside))
            excess = float(np.log(np.minimum(bracket.width, 1e200) * share / tolerance + 1e-300).max())
        done = len(run.tridiagonal[0])
        if run.closed or excess <= 0 or done >= MOST_STEPS:
            return bracket
        # The bounds approach each other as fast as they did since the last look, or faster.
        fall = (worst - excess) / (done - before)
        run.advance(
            max(8, min(done // 4, math.ceil(1.05 * excess / fall) if math.isfinite(fall) and fall > 0 else done))
        )
        worst, before = excess, done


def log_energy(
    flow: Flow, vector: FloatArray, rounding: float, times: FloatArray, rtol: float
) -> tuple[FloatArray, FloatArray]:
    """log of v' exp(-2 t S) v for a vector v without a constant part, known to *rounding*, and its relative error."""
    run = flow.run(vector)
    bracket = advanced(run, 2 * times, np.full(len(times), rtol))
    if bracket is None:
        return np.full(len(times), -np.inf), np.zeros(len(times))
    power = Power(flow, run, times, bracket, rounding + 8 * EPS * run.size)
    return power.log_mmd2, power.error


def density(measure: Measure, time: float, at: Any) -> FloatArray:
    """p_t(y) = sum_j w_j k_t(y, x_j), the smoothed density at points *at* of a space known by its nodes."""
    space = measure.space
    if space.modes is None:
        raise TypeError("this space is not known by its nodes")
    if space.flow is None or space.modes.seconds(time / 2) < SOON:
        return density_of_modes(measure, space.modes, time, at)
    refuse_finer(Question(measure, np.array([time / 2]), 1.0), space.modes)
    start = space.modes.functionals(measure.points).T @ measure.weights
    return np.asarray(space.modes.functionals(at) @ warmed(space.flow, start, time, ACCURATE))
