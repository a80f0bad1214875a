"""Lanczos runs taken as far as a number needs: MMD^2 at all scales, energies, heat at all nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import EPS, FloatArray
from ..spaces.capabilities import Rounding
from ..spaces.flow import Flow, Run
from .diagonals import steps_for
from .modes import Energies, blur_of
from .quadrature import Bracket, heated

#: Numbers of the vectors of a run that are kept at the atoms.
KEPT = 2**26

#: Accuracy of heat at all nodes, of the length of the vector it comes from.
ACCURATE = 1e-13

#: Longest run, and the first look at it.
MOST_STEPS, FIRST_LOOK = 6000, 24

#: A run of so many steps is ended if bounds have come together by less than this, in logarithm, since half of them.
ENOUGH, STILL = 500, 0.05


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
    def between(self) -> FloatArray:
        """Half of what is between the bounds on MMD^2: no more than the upper one, however small the lower one is."""
        with np.errstate(under="ignore"):
            return np.asarray(self.run.size**2 * (np.exp(self.bracket.upper) - np.exp(self.bracket.lower)) / 2)

    @property
    def absolute_error(self) -> FloatArray:
        """Of MMD^2: what is between the bounds, and rounding."""
        with np.errstate(under="ignore", over="ignore"):
            return np.asarray(self.between + self._rounding_error * np.exp(self.log_mmd2))

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


class Warm(NamedTuple):
    """exp(-rate S) times a vector, at all nodes, and a bound on the length of its error."""

    vector: FloatArray
    error: float


def warmed(flow: Flow, start: FloatArray, rate: float) -> Warm:
    """Heat at all nodes after a time *rate*.

    A run of m steps holds all polynomials below degree m, where its product with the start holds those up to 2 m.
    """
    level, run = float(flow.constant @ start) * flow.constant, flow.run(start)
    if run.closed:
        return Warm(level, EPS * float(np.linalg.norm(start)))
    steps = 2 * steps_for(flow.norm, rate / 2, ACCURATE)
    run.advance(min(steps, MOST_STEPS))
    rates, accuracy = np.array([rate]), ACCURATE
    if steps > MOST_STEPS and not run.closed:
        accuracy = math.sqrt(float(Bracket.of(*run.tridiagonal, rates).width[0]))
    vector = level + run.size * flow.combined(start, heated(*run.tridiagonal, rates)[0])
    return Warm(vector, run.size * (accuracy + run.noise * rate))


def advanced(run: Run, rates: FloatArray, tolerance: FloatArray, *, above: float = 0.0) -> Bracket | None:
    """Take a run on until its bounds are as close as wanted, at all rates; None if it starts from nothing.

    They may be farther apart by a share of *above*, to which what they bound is added.
    """
    if run.closed:
        return None
    run.advance(FIRST_LOOK)
    worst, before = math.inf, 0
    halfway, at_half = math.inf, FIRST_LOOK
    while True:
        bracket = Bracket.of(*run.tridiagonal, rates)
        with np.errstate(divide="ignore", under="ignore"):
            beside = np.logaddexp(bracket.lower, math.log(above) if above else -np.inf)
            share = np.exp(np.where(np.isneginf(beside), 0.0, bracket.lower - beside))
            excess = float(np.log(np.minimum(bracket.width, 1e200) * share / tolerance + 1e-300).max())
        done = len(run.tridiagonal[0])
        if run.closed or excess <= 0 or done >= MOST_STEPS:
            return bracket
        if done >= 2 * at_half:
            if done > ENOUGH and excess > halfway - STILL:  # rounding, or a number below all that floats are
                return bracket
            halfway, at_half = excess, done
        # The bounds approach each other as fast as they did since the last look, or faster.
        fall = (worst - excess) / (done - before)
        left = 0.35 * excess / fall if math.isfinite(fall) and fall > 0 else done
        run.advance(max(8, math.ceil(min(done / 5, left))))
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
