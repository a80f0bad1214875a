"""Lanczos runs taken as far as a number needs: MMD^2 at all scales, energies, heat at all nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import EPS, FloatArray
from ..spaces.capabilities import Rounding
from ..spaces.flow import Flow, Run
from .diagonals import MOST_STEPS, steps_for
from .lanczos_quadrature import Bracket, heated
from .node_rounding import Energies, blur_of

#: Numbers of the vectors of a run that are kept at the atoms.
KEPT = 2**26

#: Accuracy of heat at all nodes, of the length of the vector it comes from.
ACCURATE = 1e-13

#: Rounding of a sum of functionals with weights, of the length that their absolute values have together.
ROUNDED = 4 * EPS

#: An error of MMD^2 that is worth another run to know it better, and the least square of a standard normal number.
WORTH_FADING, UNLIKELY = 1e-6, 1e-8

#: The first look at a run.
FIRST_LOOK = 24

#: A run of so many steps is ended if bounds have come together by less than this, in logarithm, since half of them.
ENOUGH, STILL = 500, 0.05


@dataclass(frozen=True, eq=False)
class Power:
    """MMD^2 = A - 1 at all scales from one run, and the potentials sum_j w_j k_2t(x_i, x_j) at the atoms."""

    flow: Flow
    run: Run
    times: FloatArray
    bracket: Bracket
    rounding: float  # of the vector that the run starts from, in length: see `rounding_of`

    @classmethod
    def of(cls, flow: Flow, starts: Any, weights: FloatArray, times: FloatArray, tolerance: FloatArray) -> Power | None:
        """Of a measure with weights that sum to one."""
        touched = touched_by(starts)
        longest = steps_for(flow.top, float(times[-1]), 1e-12)
        run = flow.run(starts.T @ weights, touched if len(touched) * longest <= KEPT else None)
        bracket = advanced(run, 2 * times, tolerance)
        return None if bracket is None else cls(flow, run, times, bracket, rounding_of(flow, starts, weights))

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
        energies = Energies(values, coefficients, np.zeros(len(values)), size)
        inside = energies.errors(self.times, self.log_mmd2, rounding, blur_of(values, self.times, rounding))
        return np.asarray(inside + self._brought_in(rounding))

    def _brought_in(self, rounding: Rounding) -> FloatArray:
        """What rounding may bring in that the run does not see, of MMD^2, relatively.

        A start that is off by a length e, and an operator that is off by E, move exp(-t S) v by e + |E| |v| s, with s
        the time over which the run keeps its heat; and what is moved fades as all heat does.
        """
        with np.errstate(divide="ignore", over="ignore"):
            lasting = np.minimum(self.times, 1 / rounding.gap)
            moved = np.log(self.rounding + rounding.noise * self.run.size * lasting) - self.log_mmd2 / 2
            start = np.log(self.rounding) - self.log_mmd2 / 2
            found = _squared(start, moved)
            if not (some := found > WORTH_FADING).any():
                return found
            moved = np.log(self.rounding + rounding.noise * self.run.size * self.times) - self.log_mmd2 / 2
            fading = log_fading(self.flow, self.times[some])
            found[some] = np.minimum(found[some], _squared(start[some] + fading, moved[some] + fading))
        return found

    @property
    def between(self) -> FloatArray:
        """Half of what is between the bounds on MMD^2: no more than the upper one, however small the lower one is."""
        with np.errstate(under="ignore"):
            return np.asarray(self.run.size**2 * (np.exp(self.bracket.upper) - np.exp(self.bracket.lower)) / 2)

    @property
    def absolute_error(self) -> FloatArray:
        """Of MMD^2: what is between the bounds, and rounding."""
        with np.errstate(under="ignore", divide="ignore"):
            rounding = np.exp(np.minimum(np.log(self._rounding_error) + self.log_mmd2, 700.0))
            return np.asarray(self.between + rounding)

    def there(self, place: int) -> float:
        """A at one of the times."""
        return 1 + math.exp(float(self.log_mmd2[place]))

    def change(self, place: int) -> float:
        """The derivative of A in log t at one of the times."""
        rule, rate = self.bracket.rule, 2 * float(self.times[place])
        return -(self.run.size**2) * float((rule.weights * np.exp(-rate * rule.nodes)) @ (rate * rule.nodes))

    @cached_property
    def _kept(self) -> FloatArray:
        """exp(-2 t S) v at the nodes that atoms touch, shape (times, nodes)."""
        return np.asarray(self.run.size * (heated(*self.run.tridiagonal, 2 * self.times) @ self.run.kept))

    def potential(self, place: int, starts: Any) -> FloatArray | None:
        """sum_j w_j k_2t(x_i, x_j) at all atoms i; None where the run was too much to keep."""
        rows = self.run.rows
        return None if rows is None else np.asarray(1 + starts[:, rows] @ self._kept[place])


def _squared(start: FloatArray, moved: FloatArray) -> FloatArray:
    """Of a length one that is moved, what its square changes by: to first order by the one, to second by the other."""
    return np.asarray(2 * np.exp(np.minimum(start, 300.0)) + np.exp(np.minimum(2 * moved, 600.0)))


def log_fading(flow: Flow, times: FloatArray) -> FloatArray:
    """log of a bound on the norm of exp(-t S) without constants, at increasing times.

    From a run that starts at random. Either it has found the slowest mode; or that is in what is between its bounds,
    with a share of 1 / n, or of `UNLIKELY` / n if by a chance of less than 1e-4 it is small.
    """
    run = flow.run(np.random.default_rng(1).standard_normal(flow.size))
    bracket = advanced(run, 2 * times, np.full(len(times), UNLIKELY))
    if bracket is None:
        return np.full(len(times), -np.inf)
    with np.errstate(divide="ignore"):
        between = bracket.lower + np.log(bracket.width) + math.log(flow.size / UNLIKELY)
    return np.asarray(np.minimum(np.logaddexp(-2 * times * bracket.rule.nodes[0], between) / 2, 0.0))


def rounding_of(flow: Flow, starts: Any, weights: FloatArray) -> float:
    """How far a sum of functionals with weights may be off, in length, before and after its constant is removed.

    Weights that are nearly uniform leave little beside the constant, but no less rounding: what they are divided by,
    and each of them, is rounded to their own size.
    """
    return ROUNDED * flow.longest(abs(starts).T @ np.abs(weights))


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
    """log of v' exp(-2 t S) v for a vector v without a constant part, known to a length *rounding*, and its error.

    That is relative.
    """
    run = flow.run(vector)
    bracket = advanced(run, 2 * times, np.full(len(times), rtol))
    if bracket is None:
        return np.full(len(times), -np.inf), np.zeros(len(times))
    power = Power(flow, run, times, bracket, rounding)
    return power.log_mmd2, power.error
