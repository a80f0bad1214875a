"""The self-overlaps k_2t(x, x) of many atoms where no eigenpairs are known: Lanczos runs near each atom.

A run of m steps from a point knows only what lies up to m hops from it, so it may be held to that ball without any
loss. Where a multiplication reaches two hops (meshes), most of the ball is hardly touched, and it is made smaller;
what that changes is measured at some atoms and counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import share_out, slices, thread_count
from ..spaces.capabilities import Modes
from ..spaces.flow import Flow, LocalRuns
from .base import Question

#: Eigenpairs that are found in so many seconds are found: once there, they serve every later call.
SOON = 2.0

#: Where there are runs, eigenpairs that take more seconds, or of more nodes, are not waited for.
SECONDS_FOR_EIGENPAIRS, FEW_NODES = 120.0, 300_000

#: Seconds of one entry of a sparse matrix in a product, and of one entry of the vectors in a step.
PER_ENTRY, PER_NODE = 0.8e-9, 4e-9

#: Seconds of one entry that is copied into a ball, from anywhere in memory.
PER_FOUND = 2e-8

#: Seconds of the square of the steps of a run, for both rules of it; and how often they are looked at, all in all, in a
#: run that is taken on until they agree.
PER_RULES, LOOKS = 5e-8, 3.0

#: Longest run.
MOST_STEPS = 6000

#: Hops of the ball per step of the run, on spaces where a multiplication reaches two.
_HOPS_PER_STEP = 0.75

#: Atoms at which a smaller ball is compared with one of so many times its hops.
_WITNESSES, _WIDER = 4, 1.5

#: Hops up to which the sizes of balls are counted.
_COUNTED = 200

#: Runs are made longer by this factor where they turn out too short.
_LONGER = 1.3

#: An argument beyond which Bessel functions are as Gauss's.
_ARGUMENT_OF_GAUSS = 1e5

#: Numbers held at once.
_ENTRIES = 2**22


def steps_for(top: float, time: float, accuracy: float) -> int:
    """Steps after which the Gauss rule for exp(-2 t x) on [0, *top*] is good to *accuracy*.

    It is exact for polynomials of degree 2 m - 1, and the Chebyshev series of exp(-2 t x) has the coefficients
    2 exp(-u) I_k(u), with u = top t.
    """
    from scipy.special import ive

    u = top * time
    if u > _ARGUMENT_OF_GAUSS:  # I_k(u) exp(-u) falls as exp(-k^2 / 2u)
        return math.ceil(math.sqrt(2 * min(u, 1e300) * math.log(8 / accuracy)) / 2)
    most = int(math.sqrt(2 * u * 100) + 120)
    tails = np.cumsum((4 * ive(np.arange(most), u))[::-1])[::-1]
    return int(np.argmax(tails <= accuracy)) // 2 + 1 if (tails <= accuracy).any() else most // 2 + 1


class Span(NamedTuple):
    """Bounds on k_2t(x, x), from below and from above, and its derivative in log t over itself; shape (n, times)."""

    lower: FloatArray
    upper: FloatArray
    slope: FloatArray

    @property
    def middle(self) -> FloatArray:
        """Between the bounds."""
        return np.sqrt(self.lower * self.upper)

    @property
    def doubt(self) -> FloatArray:
        """The most that the middle is off relatively at any atom, for each time."""
        return np.asarray(np.sqrt(self.upper / self.lower).max(axis=0) - 1)


@dataclass(frozen=True, eq=False)
class Diagonals:
    """Runs from every atom, from which its self-overlap follows at any time."""

    flow: Flow
    sizes: FloatArray  # squared length of each start
    runs: LocalRuns
    cut: FloatArray  # relative, at each of the times they were made for
    times: FloatArray
    known: Brackets | None  # at all times; None if they are too many to be held at once

    def at(self, part: slice) -> Span:
        """At some of the times."""
        if self.known is None:
            lower, upper, slope, blur = brackets_of(self.runs, self.times[part])
        else:
            lower, upper, slope, blur = (values[:, part] for values in self.known)
        noise = self.flow.noise + self.runs.dropped[:, None]
        lower, upper = lower - noise * blur, upper + noise * blur
        cut = 1 + self.cut[part]
        # The constant function alone adds one.
        lower = np.maximum(lower * self.sizes[:, None] / cut, 1.0)
        upper = np.maximum(upper * self.sizes[:, None] * cut, lower)
        return Span(lower, upper, slope)

    @property
    def chunk(self) -> int:
        """How many times fit in memory at once."""
        return _chunk(len(self.sizes))


class Brackets(NamedTuple):
    """Of all runs at all times, each (n, times): Gauss and Radau rules, and of the former the relative slope and blur.

    The blur is what it moves by, at most, if the operator does by a unit.
    """

    lower: FloatArray
    upper: FloatArray
    slope: FloatArray
    blur: FloatArray

    def replace(self, rows: Any, others: Brackets) -> None:
        """Those of other runs from some of the starts in place of these."""
        for mine, other in zip(self, others, strict=True):
            mine[rows] = other


def _chunk(atoms: int) -> int:
    return max(1, _ENTRIES // atoms)


def brackets_of(runs: LocalRuns, times: FloatArray) -> Brackets:
    """See `Brackets`."""
    from ..compiled.krylov import brackets

    lower, upper, slope, blur = np.empty((4, len(runs.alpha), len(times)))
    blocks = list(slices(len(runs.alpha), 64))

    def fill(_: int, rows: slice) -> None:
        for i in range(rows.start, rows.stop):
            run = runs.alpha[i], runs.beta[i], runs.steps[i]
            brackets(*run, 2 * times, lower[i], upper[i], slope[i], blur[i])

    share_out(blocks, fill, thread_count())
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(lower > 0, slope / lower, 0.0)
    return Brackets(lower, upper, slope, blur)


@dataclass(frozen=True, eq=False)
class Plan:
    """What the self-overlaps of the atoms of one measure cost."""

    flow: Flow
    atoms: int
    balls: list[float]  # nodes up to 0, 1, 2, ... hops from an atom, on average

    @classmethod
    def of(cls, flow: Flow, starts: Any, atoms: int) -> Plan:
        """For so many *atoms*, from the balls around some of those that begin at the rows *starts*."""
        first = starts.indices[starts.indptr[:-1]]
        some = np.unique(first[:: max(1, len(first) // 4)])[:5].astype(np.int32)
        return cls(flow, atoms, flow.ball_sizes(some, _COUNTED).tolist())

    def hops(self, steps: int) -> int:
        """The ball for so many steps."""
        return steps if self.flow.reach == 1 else math.ceil(_HOPS_PER_STEP * steps) + 3

    def seconds(self, steps: int) -> float:
        """Of runs of so many steps from all atoms, on the cores there are."""
        hops = self.hops(steps)
        known = self.balls[min(hops, _COUNTED)]
        # Beyond what was counted, balls grow as they did last, up to the whole.
        growth = math.log(self.balls[_COUNTED] / self.balls[_COUNTED // 2], 2) if hops > _COUNTED else 0.0
        nodes = min(known * max(hops / _COUNTED, 1.0) ** growth, float(self.flow.size))
        entries = nodes * self.flow.entries / self.flow.size
        each: float = 0.8 * steps * (PER_ENTRY * entries + PER_NODE * nodes) + PER_FOUND * entries
        return self.atoms * (each + PER_RULES * steps**2) / min(self.atoms, thread_count())

    def affordable(self, budget: float) -> int:
        """The most steps within so many seconds; at least two."""
        low, high = 2, 2
        while self.seconds(high) < budget and high < MOST_STEPS:
            low, high = high, 2 * high
        high = min(high, MOST_STEPS + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.seconds(middle) < budget else (low, middle)
        return low


def diagonals(flow: Flow, starts: Any, times: FloatArray, tolerance: FloatArray, budget: float) -> Diagonals:
    """Self-overlaps at increasing *times*, to a relative *tolerance* at each, as far as so many seconds go."""
    plan = Plan.of(flow, starts, starts.shape[0])
    sizes = flow.squares(starts)
    wanted = max(
        steps_for(flow.top, float(time), 1e-3 * float(tol)) for time, tol in zip(times, tolerance, strict=True)
    )
    steps = max(2, min(wanted, plan.affordable(budget)))
    runs = flow.local(starts, steps, plan.hops(steps))
    known = None
    if len(times) <= _chunk(len(sizes)):
        known = brackets_of(runs, times)
        runs = _lengthened(plan, starts, runs, known, times, tolerance, budget)
    return Diagonals(flow, sizes, runs, _cut(plan, starts, runs, times), times, known)


def _lengthened(
    plan: Plan,
    starts: Any,
    runs: LocalRuns,
    known: Brackets,
    times: FloatArray,
    tolerance: FloatArray,
    budget: float,
) -> LocalRuns:
    """With longer runs from atoms whose bounds are too wide, which become narrower in *known*."""
    for _ in range(4):
        short = np.flatnonzero((known.upper > known.lower * (1 + tolerance)).any(axis=1))
        steps = runs.alpha.shape[1]
        longer = min(math.ceil(_LONGER * steps), MOST_STEPS)
        if not len(short) or longer == steps or plan.seconds(longer) > budget:
            break
        others = plan.flow.local(starts[short], longer, plan.hops(longer))
        runs = runs.replaced(short, others)
        known.replace(short, brackets_of(others, times))
    return runs


def eigenpair_seconds(modes: Modes, time: float) -> float:
    """Of the eigenpairs for *time* where there are runs in place of them; inf if they are not waited for."""
    if modes.node_count > FEW_NODES or not modes.serves(time):
        return math.inf
    seconds = modes.seconds(time)
    return seconds if seconds <= SECONDS_FOR_EIGENPAIRS else math.inf


def runs_are_sooner(question: Question, at: NDArray[Any]) -> bool:
    """Whether runs give a potential at points *at* sooner than eigenpairs, which serve later calls too."""
    space, time = question.measure.space, float(question.times[0])
    if space.flow is None or space.modes is None or (eigenpairs := eigenpair_seconds(space.modes, time)) < SOON:
        return False
    points = question.measure.points
    few = points[:: max(1, len(points) // 4)]
    plan = Plan.of(space.flow, space.modes.functionals(few), len(points) + (0 if at is points else len(at)))
    return plan.seconds(steps_for(space.flow.top, time, question.rtol)) < eigenpairs


def _cut(plan: Plan, starts: Any, runs: LocalRuns, times: FloatArray) -> FloatArray:
    """What the smaller ball changes at some atoms, relatively, twice: an estimate; zero where nothing was cut."""
    if plan.flow.reach == 1:
        return np.zeros(len(times))
    some = np.unique(np.linspace(0, plan.atoms - 1, _WITNESSES).astype(np.intp))
    steps = runs.alpha.shape[1]
    wider = plan.flow.local(starts[some], steps, math.ceil(_WIDER * plan.hops(steps)))
    one, other = brackets_of(runs.rows(some), times).lower, brackets_of(wider, times).lower
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2 * np.nanmax(np.abs(one / other - 1), axis=0))
