"""Spaces of very many nodes, by Lanczos runs of their Laplacian in place of eigenpairs.

With S the operator of the flow, r_i the functional of atom i and c the constant vector of length one, and x'y the inner
product in which S is symmetric:

    A - 1    = v' exp(-2 t S) v,            v = sum_i w_i r_i - c: one run serves all scales;
    k_i      = r_i' exp(-2 t S) r_i:        a run near each atom, see `engines.diagonals`;
    1 / gESS = x' exp(-2 t S) x,            x = sum_i w_i r_i / sqrt(k_i): one run a scale.

Every run bounds what it is for from below and from above. Where self-overlaps hardly differ, 1 / sqrt(k_i) is a
constant (1 + e_i) with small e_i, and the first run serves for gESS too: with K the matrix of all k_2t(x_i, x_j) and
w e the vector of all w_i e_i, w'K w + 2 (w e)'K w is 1 / gESS but for a share of max e_i^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray
from ..base.blocks import thread_count
from ..base.errors import InputError, PrecisionWarning, warn
from ..base.progress import Progress
from ..heat.sums import HeatSums
from ..measures.measure import Measure
from ..spaces.capabilities import Modes
from ..spaces.flow import ROWS_OF_A_THREAD, Flow
from .base import (
    Answer,
    DifferenceOffer,
    DifferenceQuestion,
    Engine,
    Offer,
    PotentialOffer,
    PotentialQuestion,
    Potentials,
    Question,
)
from .diagonals import (
    FEW_NODES,
    LOOKS,
    MOST_STEPS,
    PER_ENTRY,
    PER_NODE,
    PER_RULES,
    SOON,
    Plan,
    diagonals,
    eigenpair_seconds,
    runs_are_sooner,
    steps_for,
)
from .eigenpairs import density as density_of_modes
from .eigenpairs import refuse_finer
from .lanczos_quadrature import heated
from .lanczos_runs import KEPT, Power, advanced, touched_by, warmed

#: Share of the discretisation error that the runs may add.
SHARE = 0.1

#: Parts that the error of an answer is the sum of.
PARTS = 4

#: Seconds that the self-overlaps may take, where eigenpairs could be had for the coarse scales, and where not: scales
#: that would need more get a wide error.
BUDGET, BUDGET_ALONE = 60.0, 8.0

#: Seconds that count against an answer with a wide error: eigenpairs are preferred, if they can be had.
VAGUE = 600.0

#: Error of gESS, beyond that of the mesh, from which there is a warning.
GESS_ERROR_TO_WARN_OF = 1e-3

#: Seconds of a step of a run however few the nodes.
PER_STEP = 1e-5


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

    def potentials(self, question: PotentialQuestion) -> PotentialOffer | None:
        """One run from the measure, and self-overlaps of the atoms and of the points, where eigenpairs take longer."""
        space = question.measure.space
        if space.flow is None or space.modes is None or not runs_are_sooner(question, question.places):
            return None
        refuse_finer(question, space.modes)
        return FlowPotentials(question, space.flow, space.modes)

    def differences(self, question: DifferenceQuestion) -> DifferenceOffer | None:
        """One run for all scales."""
        from .differences import FlowDifference

        space = question.measure.space
        if space.flow is None or space.modes is None:
            return None
        refuse_finer(question, space.modes)
        return FlowDifference(question, space.flow, space.modes)

    def refusal(self, question: Question) -> Exception:
        """Only for spaces of other kinds."""
        return InputError(f"{question.measure.space!r} is not known by its nodes; use `method='auto'`")


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
        """At each scale."""
        return _tolerance(self.modes, self.question)

    @cached_property
    def _plan(self) -> Plan:
        return Plan.of(self.flow, self.starts, self.atoms.n)

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
        known = math.isfinite(eigenpair_seconds(self.modes, float(self.question.times[-1])))
        return BUDGET if known else BUDGET_ALONE

    def seconds(self, first: int, end: int) -> float:
        """The run for MMD^2, the self-overlaps, and a run for each scale."""
        threads = max(1, min(thread_count(), self.flow.size // ROWS_OF_A_THREAD))
        step = (PER_ENTRY * self.flow.entries + PER_NODE * self.flow.size) / threads + PER_STEP
        steps = [self._steps[end - 1], *self._steps[first:end]]
        runs = sum(step * count + LOOKS * PER_RULES * count**2 for count in steps)
        return runs + min(self._own_seconds[end - 1], self._budget)

    def cost(self, first: int, end: int) -> float:
        """More than the seconds where the answer would be vague."""
        own = self._own_seconds[first:end]
        return self.seconds(first, end) + VAGUE * sum(seconds > self._budget for seconds in own) / len(own)

    def run(self, part: slice, progress: Progress) -> Answer:
        """One run for MMD^2, then scale after scale."""
        times, tolerance = self.question.times[part], self.tolerance[part]
        discretised = self.modes.discretisation_error(times)
        power = self._power(times, tolerance)
        found, doubts = Overlaps.zeros(len(times)), np.zeros(len(times))
        own = diagonals(self.flow, self.starts, times, tolerance, self._budget)
        for chunk in range(0, len(times), own.chunk):
            some = slice(chunk, min(chunk + own.chunk, len(times)))
            span = own.at(some)
            for k, place in enumerate(range(some.start, some.stop)):
                middle, doubt = span.middle[:, k], float(span.doubt[k])
                there = At(float(times[place]), float(tolerance[place]), middle, span.slope[:, k])
                overlap, slope, error = self._overlap(there, power, place)
                found.set(place, overlap, slope, error + doubt)
                doubts[place] = doubt
        self._say_what_is_vague(times, found.error, doubts, discretised)
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
        potential = np.ones(len(weights)) if power is None else power.potential(place, self.starts)
        power_there, most = 1.0 if power is None else power.there(place), float(np.abs(uneven).max())
        if potential is None or most**2 > at.tolerance:
            return self._own_run(at)
        overlap = scale**2 * (power_there + 2 * float((weights * uneven) @ potential))
        change = 0.0 if power is None else power.change(place)
        change = scale**2 * change - overlap * float(weights @ at.own_slope)
        if power is None:
            return overlap, change / overlap, most**2
        # The vector exp(-2 t S) v is known to about the root of what its product with v is known to.
        vector = 2 * most * math.sqrt(2 * float(power.between[place]) / power_there)
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

    def _say_what_is_vague(
        self, times: FloatArray, error: FloatArray, doubts: FloatArray, discretised: FloatArray
    ) -> None:
        """A warning where gESS is not well known, with the cause: self-overlaps (their *doubts*), or rounding."""
        vague = error > np.maximum(GESS_ERROR_TO_WARN_OF, discretised)
        if not vague.any():
            return
        worst, good = int(np.argmax(error)), times[~vague]
        finer = f"give times up to {good.max():.3g}" if len(good) else "give finer scales"
        if doubts[worst] > error[worst] / 2:
            many = "one point" if self.atoms.n == 1 else f"each of {self.atoms.n:,} points"
            why = f"so many nodes matter for {many} there"
            known = (
                ", or make the space with `modes=` to wait for its eigenpairs" if self.flow.size <= FEW_NODES else ""
            )
            advice = f"{finer}, fewer points{known}; MMD^2 is not affected"
        else:
            why = "links or sizes differ so much that rounding decides there"
            advice = f"{finer}, or join what is so close together, or leave out what is so weak"
        warn(
            f"gESS on {self.question.measure.space!r} is known only to within {min(float(error[worst]), 99.0):.1%} at "
            f"time {times[worst]:.3g}, and not well at {int(vague.sum())} of {len(times)} scales: {why}; {advice}",
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


def _tolerance(modes: Modes, question: Question) -> FloatArray:
    """Relative, of each of the parts of an answer at each scale: a small share of what a mesh itself may be off."""
    return np.maximum(question.rtol / PARTS, SHARE * modes.discretisation_error(question.times))


def _potential(flow: Flow, modes: Modes, question: Question, at: NDArray[Any]) -> tuple[FloatArray, float]:
    """f_t(y) = r_y' exp(-2 t S) x / sqrt(k_y) at points y, and its error beyond that of a mesh, over its mean.

    A mesh is off by more than its self-overlaps need be known to.
    """
    time, weights = float(question.times[0]), question.measure.weights
    discretised = float(modes.discretisation_error(question.times)[0])
    tolerance = _tolerance(modes, question)
    rows, roots, doubt = [], [], 0.0
    points = question.measure.points
    for places in (points,) if at is points else (points, at):
        rows.append(modes.functionals(places))
        span = diagonals(flow, rows[-1], question.times, tolerance, BUDGET).at(slice(None))
        roots.append(np.sqrt(span.middle[:, 0]))
        doubt = max(doubt, float(span.doubt[0]))
    warm = warmed(flow, rows[0].T @ (weights / roots[0]), 2 * time)
    found = np.asarray(rows[-1] @ warm.vector / roots[-1])
    lengths = np.sqrt(flow.squares(rows[-1])) / roots[-1]
    mean = float(weights @ (rows[0] @ warm.vector / roots[0]))
    error = float(lengths.max()) * warm.error + (doubt * float(np.abs(found).max()) if doubt > discretised else 0.0)
    return found, error / mean + 64 * EPS


@dataclass(frozen=True, eq=False)
class FlowPotentials(PotentialOffer):
    """The error is known afterwards."""

    question: PotentialQuestion
    flow: Flow
    modes: Modes
    name = "lanczos"

    def seconds(self, first: int, end: int) -> float:
        """There is no other way that is as soon."""
        return 0.0

    def run(self, part: slice, progress: Progress) -> Potentials:
        """Scale after scale."""
        found = []
        for time in self.question.times[part]:
            one = replace(self.question, times=np.array([float(time)]))
            found.append(_potential(self.flow, self.modes, one, self.question.places))
        return Potentials(np.stack([values for values, _ in found]), max(error for _, error in found))


def density(measure: Measure, modes: Modes, time: float, at: Any) -> FloatArray:
    """p_t(y) = sum_j w_j k_t(y, x_j), the smoothed density at points *at* of a space known by its nodes."""
    flow = measure.space.flow
    if flow is None or eigenpair_seconds(modes, time / 2) < SOON:
        return density_of_modes(measure, modes, time, at)
    refuse_finer(Question(measure, np.array([time / 2]), 1.0), modes)
    start = modes.functionals(measure.points).T @ measure.weights
    return np.asarray(modes.functionals(at) @ warmed(flow, start, time).vector)
