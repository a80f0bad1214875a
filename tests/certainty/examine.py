"""One case of the search: every engine and every function on one cloud, each number against the truth."""

from __future__ import annotations

import contextlib
import math
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from flint import arb

import heatess as he
from certainty import reference
from certainty.strategies import Cloud, taken
from heatess.engines import columns, cosines, eigenpairs, lanczos, neighbours, pairs
from heatess.spaces.discrete import nodes

#: What heatess may answer instead of a number.
REFUSALS = (he.InputError, he.PrecisionError, he.CostError)

#: Uncertainty of mmd2 up to which no warning is due, where `error` is a bound and where it is an estimate; and what an
#: estimate may be off by that of.
QUIET, QUIET_ESTIMATE, LEAST_ESTIMATE = 1e-4, 0.1, 0.01

#: `gess` and `potential` warn where they are not certain to so many times rtol, `redundancy` where it is not to this.
UNWARNED, VAGUE = 10, 1e-4

#: Levels up to which transforms are tried, in up to two dimensions and in more.
MOST_DEGREE = (250, 40)

#: Weights that differ by less than this, together, are taken for equal.
EQUAL = 64 * np.finfo(float).eps

#: Seconds of the longest transform that is waited for.
SOON = 0.3

#: Shares of the cases in which the slower functions are tried.
SAMPLED, THINNED, SLOPES = 0.15, 0.3, 0.4


class Check(NamedTuple):
    """One number of heatess against the truth."""

    family: str
    case: int
    what: str  # gess, mmd2, between, potential, redundancy, gradient, thin, crash
    engine: str
    time: float
    true: float
    found: float
    stated: float
    off: float  # the true error, in the measure of `stated`
    certain: bool

    @property
    def ratio(self) -> float:
        return self.off / self.stated if self.stated else (math.inf if self.off else 0.0)

    @property
    def outside(self) -> bool:
        return not self.off <= self.stated


@contextlib.contextmanager
def as_if_many() -> Iterator[None]:
    """The ways of thousands of atoms and nodes, for the few that a reference can follow.

    Bins and cells, not single pairs; Lanczos runs, not eigenpairs.
    """
    with (
        patch.object(pairs, "FEW_SECONDS", 0.0),
        patch.object(neighbours, "FEW_ATOMS", 0),
        patch.object(cosines, "FEW_PAIRS", 0),
        patch.object(nodes.NodeSpace, "flow", property(lambda space: space._laplacian.flow)),
        patch.object(eigenpairs.Eigenmodes, "offer", unless_runs),
        patch.object(eigenpairs, "runs_are_sooner", runs_if_any),
        patch.object(lanczos, "runs_are_sooner", runs_if_any),
    ):
        yield


def runs_if_any(question: Any, at: Any) -> bool:
    return question.measure.space.flow is not None


def unless_runs(engine: Any, question: Any, by_eigenpairs: Any = eigenpairs.Eigenmodes.offer) -> Any:
    """No offer of eigenpairs where Lanczos runs make one."""
    return None if runs_if_any(question, None) else by_eigenpairs(engine, question)


def rounded_apart(one: he.Measure, other: he.Measure) -> float:
    """By how much the weights of the points of two measures differ, points being what they are in floating point."""
    weights: dict[bytes, float] = {}
    for measure, sign in ((one, 1), (other, -1)):
        for point, weight in zip(np.asarray(measure.points) + 0.0, measure.weights, strict=True):
            weights[point.tobytes()] = weights.get(point.tobytes(), 0.0) + sign * float(weight)
    return sum(map(abs, weights.values()))


def at_one_place(measure: he.Measure, masses: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
    """The masses, with those of points that are the same in floating point at the first of them."""
    first: dict[bytes, int] = {}
    rows = [first.setdefault(point.tobytes(), row) for row, point in enumerate(np.asarray(measure.points) + 0.0)]

    def gathered() -> list[Any]:
        found = [arb(0)] * len(rows)
        for row, mass in zip(rows, masses(), strict=True):
            found[row] = found[row] + mass
        return found

    return gathered


@contextlib.contextmanager
def listening() -> Iterator[list[Any]]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield heard


class Examiner:
    """Runs every engine on one case and compares all that it returns."""

    def __init__(self, cloud: Cloud, number: int) -> None:
        self.cloud, self.number, self.checks = cloud, number, []  # type: tuple[Any, Any, list[Check]]
        self.refused = self.warned = 0
        self.masses, subject = cloud.masses(), cloud.subject
        times = [float(time) for time in cloud.times]
        self.truths = {t: reference.exact(subject.truth, cloud.true_points(), self.masses, t) for t in times}
        # Of nodes that stand for a surface: what is true for the nodes as they are.
        self.exact, self.family = self.truths, subject.family
        if subject.nodes is not None:
            rows = subject.rows[np.asarray(cloud.points, dtype=int)]
            self.exact = {t: reference.exact(subject.nodes, rows, self.masses, t) for t in times}
            self.family = subject.family.split(",")[0] + ", as its nodes"

    def run(self) -> None:
        # Transforms that would take long are not waited for: there are other ways, or a warning.
        with (
            patch.object(columns, "SECONDS_OF_SECOND_WAY", SOON),
            as_if_many() if self.cloud.as_if_many else contextlib.nullcontext(),
        ):
            self.compare()

    def compare(self) -> None:
        cloud, space = self.cloud, self.cloud.subject.space
        measure = he.Measure(cloud.points, **cloud.given)
        rng = np.random.default_rng([*cloud.rng_seed, 1])
        for method in ("auto",) if space.modes is not None else ("auto", "spectral", "local", "pairwise"):
            times = cloud.times if method == "auto" else rng.permutation(cloud.times)[: rng.integers(1, 4)]
            if method == "spectral" and space.transform is not None:
                times = [time for time in times if self.degree(float(time)) is not None]
            if len(times):
                forced = partial(he.heat_profile, measure, rtol=cloud.rtol, method=method)
                self.profile(method, times, lambda at, forced=forced: forced(times=at))
        self.at_another_scale(measure)
        for time in cloud.times:
            self.number_at("gess", float(time), lambda t: he.gess(measure, time=t, rtol=cloud.rtol))
        one, two, three, four = (float(time) for time in rng.choice(cloud.times, 4))
        self.potential(measure, one)
        self.between(measure, rng, two)
        if rng.random() < SLOPES:
            self.redundancy(measure, three)
            self.gradient(measure, three)
        quick = space.transform is None or self.degree(four) is not None
        if cloud.n > 2 and quick and rng.random() < THINNED:
            self.thin(measure, four, rng)
        if space.transform is not None and space.modes is None:
            self.in_parts(rng)
        if space.modes is None and cloud.n > 1 and rng.random() < SAMPLED:
            sampled = lambda at: he.heat_profile(measure, times=at, rtol=cloud.rtol, pairs=2000, rng=7)  # noqa: E731
            self.profile("pairs", cloud.times, sampled, certain=False)

    def profile(self, engine: str, times: Any, make: Callable[[Any], he.HeatProfile], certain: bool = True) -> None:
        found, heard = self.attempt(engine, lambda: make(times), float(times[0]))
        if found is None:
            return
        for k, time in enumerate(found.times.tolist()):
            values = (float(getattr(found, x)[k]) for x in ("gess", "mmd2", "divergence", "error"))
            self.curve_point(engine, time, *values, heard, certain)

    def curve_point(
        self,
        engine: str,
        time: float,
        gess: float,
        mmd2: float,
        divergence: float,
        error: float,
        heard: list[Any],
        certain: bool = True,
    ) -> None:
        subject, truth = self.cloud.subject, self.truths[time]
        self.note("gess", engine, time, truth.gess, gess, error, relative(gess, truth.gess), certain)
        if engine == "pairs":
            return
        estimate = QUIET if subject.certain else QUIET_ESTIMATE
        if known_mmd2(truth.mmd2):
            stated = max(self.cloud.rtol, estimate, 4 * error, doubt(heard))
            if mmd2 == math.inf or truth.mmd2 > arb(10) ** 290:
                off = float(abs(truth.mmd2.log() - divergence).mid())
            else:
                off = relative(mmd2, truth.mmd2)
                if not subject.certain:
                    off *= min(1.0, float(truth.mmd2.mid()) / LEAST_ESTIMATE)
            self.note("mmd2", engine, time, truth.mmd2, mmd2, stated, off, certain)
        if subject.nodes is not None:
            truth, of_nodes = self.exact[time], error - self.discretised(time) + self.slack(time)
            off = relative(gess, truth.gess)
            if not self.beyond_ess(truth):  # linear elements have overlaps below zero, and gESS is no more than ESS
                self.note("gess", engine, time, truth.gess, gess, of_nodes, off, family=self.family)
            if known_mmd2(truth.mmd2):
                stated = max(self.cloud.rtol, estimate, 4 * error, doubt(heard))
                off = relative(mmd2, truth.mmd2)
                self.note("mmd2", engine, time, truth.mmd2, mmd2, stated, off, family=self.family)

    def beyond_ess(self, truth: Any) -> bool:
        return bool(truth.overlap < sum((mass**2 for mass in self.masses()), arb(0)))

    def discretised(self, time: float) -> float:
        eigenpairs = self.cloud.subject.space.modes
        return 0.0 if eigenpairs is None else float(eigenpairs.discretisation_error(np.array([time]))[0])

    def slack(self, time: float) -> float:
        """What runs on nodes that stand for a surface differ from their eigenpairs by."""
        return self.discretised(time) / 3 if self.cloud.as_if_many else 0.0

    def at_another_scale(self, measure: he.Measure) -> None:
        """`.at` a scale that the profile was not made for."""
        ends, middle = self.cloud.times[[0, 2]], float(self.cloud.times[1])
        with listening():
            try:
                profile = he.heat_profile(measure, times=ends, rtol=self.cloud.rtol)
            except REFUSALS:
                return
        point, heard = self.attempt("at", lambda: profile.at(time=middle), middle)
        if point is not None and point.time == middle:
            self.curve_point("at", middle, point.gess, point.mmd2, point.divergence, point.error, heard)

    def number_at(self, engine: str, time: float, make: Callable[[float], float]) -> None:
        found, heard = self.attempt(engine, lambda: make(time), time)
        if found is not None and not precision(heard) and self.cloud.subject.certain:
            stated, truth = UNWARNED * self.cloud.rtol, self.truths[time].gess
            self.note("gess", engine, time, truth, found, stated, relative(found, truth))

    def asked(self, time: float) -> float:
        """What sums at the atoms may be off by unwarned, of their mean: for nodes of a surface they are estimates."""
        return UNWARNED * self.cloud.rtol + self.discretised(time)

    def potential(self, measure: he.Measure, time: float) -> None:
        make = lambda: he.potential(measure, time=time, rtol=self.cloud.rtol)  # noqa: E731
        found, heard = self.attempt("potential", make, time)
        if found is not None and not precision(heard):
            truth = self.exact[time]
            share = float(truth.overlap.mid())
            self.worst("potential", time, truth.potential, found, self.asked(time), share)

    def worst(self, what: str, time: float, true: np.ndarray, found: np.ndarray, stated: float, unit: float) -> None:
        """The entry that is farthest off, in the given unit."""
        errors = np.abs(found - true)
        place = int(np.argmax(errors))
        off = float(errors[place]) / unit
        self.note(what, what, time, arb(true[place]), float(found[place]), stated, off, family=self.family)

    def between(self, measure: he.Measure, rng: np.random.Generator, time: float) -> None:
        """MMD^2 to another measure on some of the same places, now and then nearly equal weights."""
        cloud, n = self.cloud, self.cloud.n
        rows = np.flatnonzero(rng.random(n) < 0.7) if rng.random() < 0.6 else np.arange(n)
        rows = rows if len(rows) else np.array([0])
        weights = rng.random(len(rows)) ** rng.choice([0, 1, 5]) + 1e-9
        if rng.random() < 0.3 and cloud.log_weights is None:
            own = np.ones(n) if cloud.weights is None else cloud.weights
            weights = own[rows] * (1 + 10 ** -rng.uniform(1, 13) * rng.standard_normal(len(rows)))
        if not weights.any() or not cloud.subject.space.compact:
            return
        other = he.Measure(taken(cloud.points, rows), weights, space=cloud.subject.space)
        make = lambda: he.mmd2(measure, other, times=[time], rtol=cloud.rtol)  # noqa: E731
        found, heard = self.attempt("between", make, time)
        if found is None:
            return
        everywhere = np.zeros(n)
        everywhere[rows] = weights
        apart = reference.differences(self.masses, reference.shares(everywhere))
        true = self.exact[time].square(apart, of_kernel=True)
        if not found[0] and rounded_apart(measure, other) < EQUAL:
            return  # but for rounding of weights, and of points to unit vectors, they are one measure
        if not known_mmd2(true) or not math.isfinite(float(found[0])):
            return
        stated = max(cloud.rtol, QUIET if cloud.subject.certain else QUIET_ESTIMATE, doubt(heard))
        off = relative(float(found[0]), true)
        self.note("between", "mmd2", time, true, float(found[0]), stated, off, family=self.family)

    def shares(self) -> np.ndarray:
        return np.array([float(mass.mid()) for mass in self.masses()])

    def redundancy(self, measure: he.Measure, time: float) -> None:
        make = lambda: he.redundancy(measure, time=time, rtol=self.cloud.rtol)  # noqa: E731
        found, heard = self.attempt("redundancy", make, time)
        if found is None or precision(heard):
            return
        own, sums = self.shares(), self.exact[time].potential
        true = 1 - np.divide(own, sums, out=np.zeros(len(own)), where=own > 0)
        self.worst("redundancy", time, true, found, max(VAGUE, self.cloud.rtol) + self.discretised(time), 1.0)

    def gradient(self, measure: he.Measure, time: float) -> None:
        make = lambda: he.gradient(measure, time=time, rtol=self.cloud.rtol)  # noqa: E731
        found, heard = self.attempt("gradient", make, time)
        if found is None or precision(heard):
            return
        truth = self.exact[time]
        gess, sums = float(truth.gess.mid()), truth.potential
        asked = self.asked(time)
        off = relative(found.gess, truth.gess)
        self.note("gradient", "gess", time, truth.gess, found.gess, asked, off, family=self.family)
        # What an error of the sums, and of gESS, as large as asked for does to 2 G (1 - G f).
        unit = 2 * gess * (2 + 3 * gess * float(sums.max()))
        self.worst("gradient", time, 2 * gess * (1 - gess * sums), found.weights, asked, unit)
        if isinstance(self.cloud.subject.truth, reference.Sphere) and found.points is not None:
            self.slope(found.points, time, gess, asked)

    def slope(self, found: np.ndarray, time: float, gess: float, asked: float) -> None:
        """By the place of the heaviest atom: -2 G^2 w_i sum_j w_j s'(u_ij) (x_j - u_ij x_i)."""
        truth, own = self.cloud.subject.truth, self.shares()
        row = int(np.argmax(own))
        x = np.asarray(self.cloud.true_points(), dtype=np.float64)
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        slopes, steepest = truth.slopes(x, row, time)
        along = x - (x @ x[row])[:, None] * x[row]
        true = -2 * gess**2 * own[row] * ((own * slopes) @ along)
        unit = 2 * gess**2 * own[row] * math.sqrt(steepest) / gess
        if math.isfinite(unit) and unit > 0:
            rounded = 1e-14 * gess * math.sqrt(steepest)  # of the coordinates here
            self.worst("gradient", time, true, found[row], asked + rounded, unit)

    def thin(self, measure: he.Measure, time: float, rng: np.random.Generator) -> None:
        """MMD to the thinned measure is never more than it says, and gESS changes by no more than its bound."""
        cloud, size = self.cloud, int(rng.integers(1, self.cloud.n))
        found, _ = self.attempt("thin", lambda: he.thin(measure, size=size, time=time, rtol=cloud.rtol), time)
        if found is None:
            return
        weights = np.zeros(cloud.n)
        weights[found.indices] = found.weights
        kept = reference.shares(weights)
        space = cloud.subject.space
        rounded = 0.0 if found.mmd else 1e-14  # of the weights, where all atoms are kept
        for at, truth in self.exact.items():
            if at < time or (at > time and not found.covers_coarser):
                continue
            change = abs((truth.square(kept) / truth.overlap).log())
            stated = found.bound + rounded + self.discretised(at)
            self.note("thin", "bound", at, change, found.bound, stated, float(change.abs_lower()), family=self.family)
        truth = self.exact[time]
        kernel = space.compact and space.modes is None
        apart = at_one_place(measure, reference.differences(self.masses, kept))
        true = truth.square(apart, of_kernel=kernel)
        off = float(true.lower().sqrt().mid()) if true > 0 else 0.0
        size = float((1 + truth.excess[0][0]).sqrt().mid()) if kernel else 1.0
        stated = found.mmd + rounded * size + 1e-3 * math.sqrt(self.discretised(time))
        self.note("thin", "mmd", time, true, found.mmd, stated, off, family=self.family)

    def in_parts(self, rng: np.random.Generator) -> None:
        """An `Accumulator` of two parts."""
        cloud, space = self.cloud, self.cloud.subject.space
        degrees = [self.degree(float(time)) for time in cloud.times]
        if degrees[-1] is None:
            return
        first, degree = next((k, found) for k, found in enumerate(degrees) if found is not None)
        rows = np.array_split(rng.permutation(cloud.n), 2)

        def make(times: Any) -> he.HeatProfile:
            whole = he.Accumulator(space, max_degree=degree)
            for part in rows:
                if len(part):
                    one = he.Accumulator(space, max_degree=degree)
                    values = {k: v[part] for k, v in cloud.given.items() if isinstance(v, np.ndarray)}
                    one.add(taken(cloud.points, part), **values)
                    whole = whole + one
            return whole.profile(times=times, rtol=cloud.rtol)

        self.profile("parts", cloud.times[first:], make)

    def degree(self, time: float) -> int | None:
        """What a transform needs, if that is not much."""
        space = self.cloud.subject.space
        found = space.transform.degree_for(time, float(self.cloud.n), self.cloud.rtol)
        most = MOST_DEGREE[space.dim > 2]
        return None if found is None or found > most else max(2, math.ceil(found))

    def attempt(self, engine: str, make: Callable[[], Any], time: float) -> tuple[Any, list[Any]]:
        """The result and the warnings, or None where heatess refuses; what is neither is a violation."""
        with listening() as heard:
            try:
                found = make()
            except REFUSALS:
                self.refused += 1
                return None, heard
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{Path(last.filename).name}:{last.lineno}"
                self.note(f"crash {type(error).__name__} {where}", engine, time, arb(0), 0.0, 0.0, math.inf)
                return None, heard
        self.warned += precision(heard)
        for warning in heard:
            if not issubclass(warning.category, he.PrecisionWarning | he.ScaleWarning):
                where = f"{Path(warning.filename).name}:{warning.lineno}"
                self.note(f"{warning.category.__name__} {where}", engine, time, arb(0), 0.0, 0.0, math.inf)
        return found, heard

    def note(
        self,
        what: str,
        engine: str,
        time: float,
        true: Any,
        found: float,
        stated: float,
        off: float,
        certain: bool = True,
        family: str | None = None,
    ) -> None:
        subject, value = self.cloud.subject, float(true.mid())
        family = family or subject.family
        sure = certain and (subject.certain or stated == 0 or family != subject.family)
        self.checks.append(Check(family, self.number, what, engine, time, value, found, stated, off, sure))


def known_mmd2(true: Any) -> bool:
    """Whether the reference says it, to nine digits, and floats hold it."""
    return true is not None and true.rel_accuracy_bits() > 30 and not true < arb(10) ** -290


def relative(found: float, true: Any) -> float:
    """What is surely the error: the ball of the truth counts in heatess's favour."""
    if not math.isfinite(found):
        return math.inf
    return float(abs(arb(found) / true - 1).abs_lower())


def precision(heard: list[Any]) -> bool:
    return any(issubclass(warning.category, he.PrecisionWarning) for warning in heard)


def doubt(heard: list[Any]) -> float:
    """How far off a warning says that mmd2 may be, to its one digit; 0 without one."""
    found = [re.search(r"mmd2.* may be off by (\S+) relatively", str(warning.message)) for warning in heard]
    said = [float(match[1]) for match in found if match]
    return 0.0 if not said else math.inf if max(said) >= 0.9 else 1.5 * max(said)
