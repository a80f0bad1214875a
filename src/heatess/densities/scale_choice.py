"""The scale of a density by least-squares cross-validation, at all scales from one heat profile.

With f_t the density smoothed for time t, A(t) = sum w_i w_j k_2t(x_i, x_j) and S = sum w_i^2, the integrated squared
error is, but for a constant and in the mean,

    A(t) - 2 (A(t/2) - sum w_i^2 k_t(x_i, x_i)) / (1 - S).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..answers.profile_and_gess import heat_profile
from ..base.arrays import FloatArray, IntArray
from ..base.errors import InputError, PrecisionError
from ..base.messages import Message
from ..engines import plan
from ..engines.base import Kept, Question
from ..engines.centred_overlap import log_excess
from ..engines.overlaps import log_kernel_at_zero, own_kernels
from ..heat.sums import log_excess_of_power
from ..inference.policy import independent
from ..measures.measure import Measure
from ..measures.scales import in_words, resolve
from ..parts.accumulator import Accumulator
from ..profiles.default_scales import fitting_scales
from ..profiles.heat_profile import HeatProfile
from ..spaces.base import Space
from .smoothing import Smoother, Sums

#: Scales for each doubling of the time.
SCALES_PER_DOUBLING = 4

#: Atoms at which the chance of the curve is looked at, and pairs that may take where there is no transform.
POINTS_FOR_CHANCE, MOST_PAIRS = 1000, 2e7

#: Doublings of the time below and above the best one up to which its chance is looked at.
DOUBLINGS = (3, 6)

#: How many times finer, as a time, the range may become at once where the minimum is at its end, and in all.
TIMES_FINER, TIMES_FINER_IN_ALL = (64.0, 8.0, 2.0), 4096.0

#: A finer range may take so many times the seconds of the one before, or so many seconds.
TIMES_SLOWER, FREE_SECONDS = 4.0, 0.2

#: Tolerance of the sums that standard errors of the curve are made of.
ENOUGH_FOR_CHANCE = 1e-4

#: Standard errors by which a density must be better than the uniform one.
BETTER = 2.0

ADVICE = "give the scale as `angle=` or `time=`"

UNIFORM = "not distinguishable from uniform at any scale"

#: log k_t(x, x) beyond which the curve overflows.
MOST_LOG = 300.0


class Choice(NamedTuple):
    """A time, the curve that it is the minimum of, and what a reader must know."""

    time: float
    times: FloatArray
    cv: FloatArray
    lower: float  #: the least and the largest time within one standard error of the minimum
    upper: float
    uniform: bool  #: whether no scale is clearly better than the uniform density
    notes: tuple[Message, ...]
    kept: Kept | None = None  #: what is known of the measure from the choice


def choose(measure: Measure, rtol: float) -> Choice:
    """The scale that cross-validation chooses."""
    sample = independent(measure, "points", "choice of the scale by cross-validation", ADVICE, copies_once=True)
    atoms, notes = sample.coalesced(), []
    if (copies := sample.support().n - atoms.n) > 0:
        notes.append(f"{copies:,} of {sample.n:,} points are exact copies of others and count once in the choice")
    own = float(atoms.weights @ atoms.weights)
    if own > 0.5:
        raise InputError(
            f"the scale cannot be chosen from <!{atoms.n} different {'place' if atoms.n == 1 else 'places'} with an "
            f"ESS of {1 / own:.3g}!>, <+at least 2+> are needed; {ADVICE}"
        )
    space, fitting = atoms.space, fitting_scales(atoms, rtol).times
    grid = _grid(float(fitting.min()), float(fitting.max()))
    least = max(grid[0] / TIMES_FINER_IN_ALL, 0.0 if space.modes is None else space.modes.finest_time)
    while True:
        times, cv = _curve(atoms, heat_profile(atoms, times=grid, rtol=rtol), own, rtol)
        best = int(np.argmin(cv))
        finer = None if best > 0 else _finer(atoms, grid, least, rtol)
        if finer is None:
            break
        grid = finer
    kept = Kept()
    deviations = _deviations(
        Smoother(atoms, max(rtol, ENOUGH_FOR_CHANCE), kept), *_looked_at(atoms), times, cv, best, own
    )
    found = _chosen(space, times, cv, best, deviations, notes, "rounded coordinates or near copies do that")
    return found._replace(kept=_lowered(atoms, found.time, rtol, kept)) if sample is measure else found


def _finer(atoms: Measure, grid: FloatArray, least: float, rtol: float) -> FloatArray | None:
    """A grid that goes on to finer times, far if that takes little; None if it is at the *least* or takes too long."""

    def seconds(times: FloatArray) -> float:
        return plan.estimate(Question(atoms, times, rtol))

    found, finest, room = None, float(grid[0]), max(TIMES_SLOWER * seconds(grid), FREE_SECONDS)
    for step in TIMES_FINER if finest > least else ():
        found = _grid(max(finest / step, least), float(grid[-1]))
        if (last := seconds(found)) <= room:
            return found
    return found if found is not None and last <= plan.PATIENCE else None


def _lowered(atoms: Measure, time: float, rtol: float, kept: Kept) -> Kept | None:
    """What a density at one time needs of the coefficients of finer ones."""
    transform = atoms.space.level_transform
    if transform is None or kept.coefficients is None:
        return None
    degree, found = transform.degree_for(time / 2, atoms.ess, rtol, mmd2=False), Kept()
    if degree is None or degree > kept.degree:
        return None
    part = tuple(map(slice, transform.zeros(degree).shape))  # the lowest levels come first
    found.degree, found.coefficients = degree, kept.coefficients[part].copy()
    return found


def choose_of_parts(parts: Accumulator, sums: Sums, rtol: float) -> Choice:
    """The same from sums over parts: at the scales that their degree certifies, and without knowing of copies."""
    space, own = sums.space, 1 / sums.ess
    if own > 0.5:
        raise InputError(f"no scale can be chosen from an ESS of <!{1 / own:.3g}!>, <+at least 2+> is needed; {ADVICE}")
    coarsest = (2 * space.diameter / 3) ** 2 / 8
    finest = coarsest
    while finest > 1e-12 * coarsest and sums.serves(finest / 1.1, rtol, mmd2=True):
        finest /= 1.1
    if finest > coarsest / 2:
        raise PrecisionError(f"`max_degree={parts.max_degree}` certifies no scale to choose from; accumulate with more")
    profile = parts.profile_at(resolve(space, times=_grid(finest / 2, coarsest)), rtol)
    one = Measure.trusted(space, space.check(space.uniform(1, np.random.default_rng(0))), np.ones(1))
    times, cv = _curve(one, profile, own, rtol)
    best = int(np.argmin(cv))
    points = space.check(space.uniform(POINTS_FOR_CHANCE * 10, np.random.default_rng(0)))
    smoother = Smoother(sums, rtol)
    shares = smoother.at(float(times[best]), points)
    deviations = _deviations(smoother, points, shares / shares.sum(), np.full(len(points), own), times, cv, best, own)
    why = f"exact copies do that, and so do few degrees: accumulate with more than `max_degree={parts.max_degree}`"
    return _chosen(space, times, cv, best, deviations, [], why)


def _chosen(
    space: Space, times: FloatArray, cv: FloatArray, best: int, deviations: Deviations, notes: list[str], why: str
) -> Choice:
    """The minimum of the curve, the range about it, and the notes; *why* it may be at the finest scale."""
    time = _refined(times, cv, best)
    near = cv - cv[best] <= deviations.from_best
    below, above = (int(np.argmin(part)) if not part.all() else len(part) for part in (near[best::-1], near[best:]))
    uniform = space.compact and bool(cv[best] + BETTER * deviations.own > 0)
    if uniform:
        notes = [*notes, UNIFORM]
    elif best in (0, len(cv) - 1):
        end = "finest" if best == 0 else "coarsest"
        notes = [
            *notes,
            f"the minimum is at the {end} scale looked at, {in_words(space, time)}{f'; {why}' if best == 0 else ''}; "
            "give the scale if you know it",
        ]
    finer, coarser = float(times[best - below + 1]), float(times[best + above - 1])
    return Choice(time, times, cv, min(finer, time), max(coarser, time), uniform, tuple(map(Message, notes)))


def _grid(finest: float, coarsest: float) -> FloatArray:
    """Times from *finest* on, so many for each doubling that half of one is another."""
    count = max(math.ceil(SCALES_PER_DOUBLING * math.log2(coarsest / finest)), 2 * SCALES_PER_DOUBLING)
    return np.asarray(finest * 2.0 ** (np.arange(count + 1) / SCALES_PER_DOUBLING))


def _curve(atoms: Measure, profile: HeatProfile, own: float, rtol: float) -> tuple[FloatArray, FloatArray]:
    """Times and the curve: the estimated error less that of the uniform density, or of none in infinite volume."""
    space, times = atoms.space, profile.times[SCALES_PER_DOUBLING:]
    halves = profile.times[:-SCALES_PER_DOUBLING]
    if space.modes is not None:
        power, smoother = profile.mmd2[SCALES_PER_DOUBLING:], profile.mmd2[:-SCALES_PER_DOUBLING]
        itself = atoms.weights**2 @ (own_kernels(space, atoms.points, halves) - 1)
    elif space.compact:
        logs = np.array([log_kernel_at_zero(space, 2 * half) for half in halves.tolist()])
        coarse = logs < 1.0
        logs[~coarse] = log_excess_of_power(logs[~coarse])
        if coarse.any():
            logs[coarse] = log_excess(atoms, halves[coarse], rtol)
        kept = logs < MOST_LOG
        times, logs = times[kept], logs[kept]
        power, smoother = profile.mmd2[SCALES_PER_DOUBLING:][kept], profile.mmd2[:-SCALES_PER_DOUBLING][kept]
        itself = own * np.exp(logs)
    else:
        logs = space.log_own_density(profile.times)
        overlaps = np.exp(logs) / profile.gess
        power, smoother, itself = (
            overlaps[SCALES_PER_DOUBLING:],
            overlaps[:-SCALES_PER_DOUBLING],
            own * np.exp(logs[:-SCALES_PER_DOUBLING]),
        )
    return times, np.asarray(power - 2 * (smoother - itself) / (1 - own))


def _refined(times: FloatArray, cv: FloatArray, best: int) -> float:
    """The minimum of the parabola in log t through the best scale and its neighbours."""
    if not 0 < best < len(cv) - 1:
        return float(times[best])
    left, middle, right = cv[best - 1 : best + 2].tolist()
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return float(times[best] * 2.0 ** (min(max(shift, -1.0), 1.0) / SCALES_PER_DOUBLING))


class Deviations(NamedTuple):
    """Standard errors of the curve at its best scale, and of its differences from there, one for each scale."""

    own: float
    from_best: FloatArray


def _looked_at(atoms: Measure) -> tuple[NDArray[Any], FloatArray, FloatArray]:
    """Places of some atoms, how much each counts in a mean by weight, and its own weight."""
    rows = witnesses(atoms)
    return atoms.points[rows], np.full(len(rows), 1 / len(rows)), atoms.weights[rows]


def _deviations(
    smoother: Smoother,
    points: NDArray[Any],
    shares: FloatArray,
    weights: FloatArray,
    times: FloatArray,
    cv: FloatArray,
    best: int,
    own: float,
) -> Deviations:
    """By the part of each atom in the curve, 2 w_i g_i with g_i = f_2t(x_i) - 2 f_t(x_i) without i itself.

    Some atoms stand for all, or, of sums over parts, places that count by the density there; and scales a doubling
    apart for those between them; where a scale takes a synthesis, those next to the best come first, enough if the
    range is narrow.
    """
    every = np.arange(
        max(best % SCALES_PER_DOUBLING, best - DOUBLINGS[0] * SCALES_PER_DOUBLING), len(times), SCALES_PER_DOUBLING
    )
    every = every[every <= best + DOUBLINGS[1] * SCALES_PER_DOUBLING]
    known = smoother, points, shares, weights, times, best, own
    if smoother.measure.space.level_transform is None:
        return _deviations_at(every, *known)
    some = every[np.abs(every - best) <= SCALES_PER_DOUBLING]
    found = _deviations_at(some, *known)
    far = cv - cv[best] > found.from_best
    ends_below = some[0] == every[0] or far[some[0] : best].any()
    ends_above = some[-1] == every[-1] or far[best : some[-1] + 1].any()
    return found if ends_below and ends_above else _deviations_at(every, *known)


def _deviations_at(
    some: IntArray,
    smoother: Smoother,
    points: NDArray[Any],
    shares: FloatArray,
    weights: FloatArray,
    times: FloatArray,
    best: int,
    own: float,
) -> Deviations:
    """From some of the scales, a doubling apart."""
    values = [smoother.at(float(time), points) for time in (*times[some], 2 * times[some[-1]])]
    itself = np.zeros((len(some), len(points)))
    if not isinstance(smoother.measure, Sums):
        itself = weights * own_kernels(smoother.measure.space, points, times[some] / 2).T
    found = np.array(values[1:]) - 2 * (np.array(values[:-1]) - itself) / (1 - own)  # (scales, atoms)
    reference = int(np.flatnonzero(some == best)[0])

    def deviation(part: FloatArray) -> float:
        return 2 * math.sqrt(float(np.sum(shares * weights * np.square(part - shares @ part))))

    apart = [deviation(part - found[reference]) for part in found]
    return Deviations(deviation(found[reference]), np.interp(np.log(times), np.log(times[some]), apart))


def witnesses(atoms: Measure, many: int = POINTS_FOR_CHANCE) -> IntArray:
    """Rows drawn evenly by weight, so that a mean over them is a mean by weight."""
    if atoms.space.transform is None and atoms.space.modes is None:
        many = int(min(many, max(MOST_PAIRS / atoms.n, 50)))
    if atoms.n <= many and np.ptp(atoms.weights) == 0:
        return np.arange(atoms.n)
    shares = np.cumsum(atoms.weights)
    picked = np.searchsorted(shares, shares[-1] * (np.arange(many) + 0.5) / many)
    return np.asarray(np.minimum(picked, atoms.n - 1))
