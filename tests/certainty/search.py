"""A search that goes on: random clouds on every space, where heatess may be more wrong than it says.

    python tests/certainty/search.py --cases 20000 --seed 1
    python tests/certainty/search.py --seed 1 --case 137

Every case is held against the definition at a few hundred bits (`reference.py`). It ends with 1 if anything was outside
its stated error where that is a bound, and says how to repeat it.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import sys
import time as clock
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

if __name__ == "__main__":  # the folder of tests, instead of this one
    sys.path[0] = str(Path(__file__).parent.parent)

import numpy as np
from flint import arb

import heatess as he
from certainty import reference
from certainty.strategies import FAMILIES, Cloud, draw_cloud, taken
from heatess.engines import cosines, flows, modes, neighbours, pairs
from heatess.spaces.discrete import nodes

#: What heatess may answer instead of a number.
REFUSALS = (he.InputError, he.PrecisionError, he.CostError)

#: Uncertainty of mmd2 up to which no warning is due, where `error` is a bound and where it is an estimate.
QUIET, QUIET_ESTIMATE = 1e-4, 0.1

#: `gess` and `potential` warn where they are not certain to so many times rtol.
UNWARNED = 10

#: Levels up to which transforms are tried, in up to two dimensions and in more.
MOST_DEGREE = (250, 40)


class Check(NamedTuple):
    """One number of heatess against the truth."""

    family: str
    case: int
    what: str  # gess, mmd2, potential, crash
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


@dataclass
class Tally:
    """What was seen on one family of spaces."""

    cases: int = 0
    scales: int = 0
    numbers: int = 0
    refused: int = 0
    warned: int = 0
    outside: int = 0
    unknown: int = 0
    worst: dict[str, float] = field(default_factory=lambda: defaultdict(float))


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
        patch.object(modes.Eigenmodes, "offer", unless_runs),
        patch.object(modes, "runs_are_sooner", runs_if_any),
        patch.object(flows, "runs_are_sooner", runs_if_any),
    ):
        yield


def runs_if_any(question: Any, at: Any) -> bool:
    return question.measure.space.flow is not None


def unless_runs(engine: Any, question: Any, by_eigenpairs: Any = modes.Eigenmodes.offer) -> Any:
    """No offer of eigenpairs where Lanczos runs make one."""
    return None if runs_if_any(question, None) else by_eigenpairs(engine, question)


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
        masses, points = cloud.masses(), cloud.true_points()
        truth = cloud.subject.truth
        self.truths = {float(t): reference.exact(truth, points, masses, float(t)) for t in cloud.times}

    def run(self) -> None:
        with as_if_many() if self.cloud.as_if_many else contextlib.nullcontext():
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
        self.between(measure)
        for time in cloud.times:
            self.number_at("gess", float(time), lambda t: he.gess(measure, time=t, rtol=cloud.rtol))
        self.potential(measure, float(rng.choice(cloud.times)))
        if space.transform is not None and space.modes is None:
            self.in_parts(rng)
        if space.modes is None and cloud.n > 1 and rng.random() < 0.1:
            sampled = lambda at: he.heat_profile(measure, times=at, rtol=cloud.rtol, pairs=2000, rng=7)  # noqa: E731
            self.profile("pairs", cloud.times, sampled, certain=False)

    def profile(self, engine: str, times: Any, make: Callable[[Any], he.HeatProfile], certain: bool = True) -> None:
        found, heard = self.attempt(engine, lambda: make(times), float(times[0]))
        if found is None:
            return
        for k, time in enumerate(found.times.tolist()):
            self.curve_point(
                engine,
                time,
                *(float(getattr(found, x)[k]) for x in ("gess", "mmd2", "divergence", "error")),
                heard,
                certain,
            )

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
        truth = self.truths[time]
        self.note("gess", engine, time, truth.gess, gess, error, relative(gess, truth.gess), certain)
        if truth.mmd2 is None or engine == "pairs":
            return
        sure = truth.mmd2.rel_accuracy_bits() > 30
        if not sure or truth.mmd2 < arb(10) ** -290:
            return
        modes = self.cloud.subject.space.modes is not None
        stated = max(self.cloud.rtol, QUIET_ESTIMATE if modes else QUIET, 4 * error)
        said = doubt(heard)
        if said is not None:
            stated = max(stated, said)
        if mmd2 == math.inf or truth.mmd2 > arb(10) ** 290:
            off = float(abs(truth.mmd2.log() - divergence).mid())
        else:
            off = relative(mmd2, truth.mmd2)
        self.note("mmd2", engine, time, truth.mmd2, mmd2, stated, off, certain)

    def between(self, measure: he.Measure) -> None:
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
        if found is not None and not precision(heard):
            stated, truth = UNWARNED * self.cloud.rtol, self.truths[time].gess
            if self.cloud.subject.space.modes is not None:
                return  # theirs is known to be that of the mesh, and said by heat_profile
            self.note("gess", engine, time, truth, found, stated, relative(found, truth))

    def potential(self, measure: he.Measure, time: float) -> None:
        make = lambda: he.potential(measure, time=time, rtol=self.cloud.rtol)  # noqa: E731
        found, heard = self.attempt("potential", make, time)
        if found is None or precision(heard) or not self.cloud.subject.certain:
            return
        truth = self.truths[time]
        errors = np.abs(found - truth.potential)
        worst = int(np.argmax(errors))
        off, stated = float(errors[worst] / float(truth.overlap.mid())), UNWARNED * self.cloud.rtol
        self.note("potential", "potential", time, arb(truth.potential[worst]), float(found[worst]), stated, off)

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
    ) -> None:
        subject, value = self.cloud.subject, float(true.mid())
        sure = certain and (subject.certain or stated == 0)
        self.checks.append(Check(subject.family, self.number, what, engine, time, value, found, stated, off, sure))


def relative(found: float, true: Any) -> float:
    """What is surely the error: the ball of the truth counts in heatess's favour."""
    if not math.isfinite(found):
        return math.inf
    return float(abs(arb(found) / true - 1).abs_lower())


def precision(heard: list[Any]) -> bool:
    return any(issubclass(warning.category, he.PrecisionWarning) for warning in heard)


def doubt(heard: list[Any]) -> float | None:
    """How far off a warning says that mmd2 may be, to its one digit."""
    found = [re.search(r"mmd2 .* may be off by (\S+) relatively", str(warning.message)) for warning in heard]
    said = [float(match[1]) for match in found if match]
    return None if not said else math.inf if max(said) >= 0.9 else 1.5 * max(said)


class Report(NamedTuple):
    tallies: dict[str, Tally]
    outside: list[Check]


def examine(seed: int, numbers: range, families: tuple[str, ...]) -> Report:
    """Some cases, one after another."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    outside: list[Check] = []
    for number in numbers:
        cloud = draw_cloud(seed, number, families)
        tally = tallies[cloud.subject.family]
        try:
            examiner = Examiner(cloud, number)
        except ArithmeticError:
            tally.unknown += 1
            continue
        examiner.run()
        tally.cases += 1
        tally.scales += len(cloud.times)
        tally.numbers += len(examiner.checks)
        tally.refused += examiner.refused
        tally.warned += examiner.warned
        for check in examiner.checks:
            if check.engine == "pairs":
                tallies["random pairs"].numbers += 1
                tallies["random pairs"].outside += check.outside
                continue
            tally.worst[check.what] = max(tally.worst[check.what], check.ratio)
            tally.outside += check.outside
            if check.outside:
                outside.append(check)
    return Report(dict(tallies), outside)


def merged(reports: list[Report]) -> Report:
    tallies: dict[str, Tally] = defaultdict(Tally)
    for report in reports:
        for family, part in report.tallies.items():
            whole = tallies[family]
            for name in ("cases", "scales", "numbers", "refused", "warned", "outside", "unknown"):
                setattr(whole, name, getattr(whole, name) + getattr(part, name))
            for what, ratio in part.worst.items():
                whole.worst[what] = max(whole.worst[what], ratio)
    return Report(dict(tallies), [check for report in reports for check in report.outside])


def _one_thread() -> None:
    os.environ["HEATESS_NUM_THREADS"] = "1"  # of a process of the search only


def search(cases: int, seed: int, families: tuple[str, ...] = (), processes: int = 2, chunk: int = 20) -> Report:
    """*cases* cases in several processes."""
    parts = [range(first, min(first + chunk, cases)) for first in range(0, cases, chunk)]
    if processes == 1:
        return merged([examine(seed, part, families) for part in parts])
    # Spawned, because a fork of a process with threads may hang.
    with ProcessPoolExecutor(processes, get_context("spawn"), _one_thread) as pool:
        jobs = [pool.submit(examine, seed, part, families) for part in parts]
        for done, _ in enumerate(as_completed(jobs), start=1):
            if done % max(1, len(jobs) // 10) == 0 and sys.stderr.isatty():
                print(f"{done * chunk} of {cases} cases", file=sys.stderr)
        return merged([job.result() for job in jobs])


def table(report: Report) -> str:
    """One row per family; a ratio above one is outside."""
    counted = ("cases", "unknown", "scales", "numbers", "refused", "warned")
    heads = ("space", *counted, "worst gESS", "worst MMD²", "worst potential", "outside")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    order = [*FAMILIES, "Mesh, even", "Mesh, uneven", "PointCloud, edge", "random pairs"]
    for family in sorted(report.tallies, key=order.index):
        t = report.tallies[family]
        worst = " | ".join(f"{t.worst[what]:.2g}" if what in t.worst else "" for what in ("gess", "mmd2", "potential"))
        counts = " | ".join(str(getattr(t, name)) for name in counted)
        lines.append(f"| {family} | {counts} | {worst} | {t.outside} |")
    return "\n".join(lines)


def violations(report: Report) -> list[Check]:
    """What should not have happened, the worst first."""
    return sorted((check for check in report.outside if check.certain), key=lambda check: -check.ratio)


def described(check: Check, seed: int, families: tuple[str, ...]) -> str:
    chosen = "".join(f" --space '{name}'" for name in families)
    return (
        f"{check.family}: {check.what} by {check.engine} at t = {check.time!r}: true {check.true:.17g}, found "
        f"{check.found:.17g}, off by {check.off:.2e}, stated {check.stated:.2e}\n"
        f"    python tests/certainty/search.py --seed {seed} --case {check.case}{chosen}"
    )


def shrunk(cloud: Cloud, number: int) -> Cloud:
    """As few atoms as still have a number outside its bound."""

    def wrong(cloud: Cloud) -> bool:
        try:
            examiner = Examiner(cloud, number)
            examiner.run()
        except (ArithmeticError, *REFUSALS):
            return False
        return any(check.outside and check.engine != "pairs" for check in examiner.checks)

    row = 0
    while wrong(cloud) and row < cloud.n and cloud.n > 1:
        kept = np.delete(np.arange(cloud.n), row)
        weights, logs = (None if values is None else values[kept] for values in (cloud.weights, cloud.log_weights))
        fewer = replace(cloud, points=taken(cloud.points, kept), weights=weights, log_weights=logs)
        cloud, row = (fewer, row) if wrong(fewer) else (cloud, row + 1)
    return cloud


def show(seed: int, number: int, families: tuple[str, ...], shrink: bool) -> int:
    """One case in full."""
    cloud = draw_cloud(seed, number, families)
    if shrink:
        cloud = shrunk(cloud, number)
    np.set_printoptions(precision=17, floatmode="unique", threshold=10**6)
    if isinstance(cloud.subject.truth, reference.Graph):
        print("adjacency", cloud.subject.truth.adjacency.tolist(), sep="\n")
    print(cloud.subject.space, "|", cloud.story, "| rtol", cloud.rtol)
    print(
        "points",
        cloud.points,
        "weights",
        cloud.weights,
        "log_weights",
        cloud.log_weights,
        "times",
        cloud.times,
        sep="\n",
    )
    examiner = Examiner(cloud, number)
    examiner.run()
    for check in examiner.checks:
        mark = "OUTSIDE" if check.outside else ""
        print(
            f"{check.what:10} {check.engine:9} t {check.time:.6g} true {check.true:.15g} found {check.found:.15g} "
            f"off {check.off:.2e} stated {check.stated:.2e} {mark}"
        )
    return int(any(check.outside and check.certain for check in examiner.checks))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None, help="default: a new one")
    parser.add_argument(
        "--space", action="append", default=[], choices=list(FAMILIES), help="only these; may be repeated"
    )
    parser.add_argument("--case", type=int, default=None, help="show one case in full")
    parser.add_argument("--shrink", action="store_true", help="with --case: the fewest atoms that are still wrong")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    seed = int(np.random.SeedSequence().entropy % 2**32) if options.seed is None else options.seed
    families = tuple(options.space)
    if options.case is not None:
        return show(seed, options.case, families, options.shrink)
    start = clock.perf_counter()
    report = search(options.cases, seed, families, options.processes)
    print(f"{options.cases} cases from seed {seed} in {clock.perf_counter() - start:.0f} s\n\n{table(report)}\n")
    found = violations(report)
    kinds = Counter((check.family, check.what, check.engine) for check in found)
    shown: Counter[tuple[str, str, str]] = Counter()
    for check in found:
        kind = (check.family, check.what, check.engine)
        shown[kind] += 1
        if shown[kind] <= 2:
            print(f"[{kinds[kind]} of this kind] {described(check, seed, families)}")
    print(f"{len(found)} numbers outside a stated bound")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
