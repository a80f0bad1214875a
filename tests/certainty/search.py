"""A search that goes on: random clouds on every space, where heatess may be more wrong than it says.

    python tests/certainty/search.py --cases 20000 --seed 1
    python tests/certainty/search.py --seed 1 --case 137

Every case is held against the definition at a few hundred bits (`reference.py`). It ends with 1 if anything was outside
its stated error where that is a bound, and says how to repeat it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time as clock
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

if __name__ == "__main__":  # the folder of tests, instead of this one
    sys.path[0] = str(Path(__file__).parent.parent)

import numpy as np

from certainty import reference
from certainty.examine import REFUSALS, Check, Examiner
from certainty.strategies import FAMILIES, Cloud, draw_cloud, taken


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
        tally.refused += examiner.refused
        tally.warned += examiner.warned
        for check in examiner.checks:
            tally = tallies["random pairs" if check.engine == "pairs" else check.family]
            tally.numbers += 1
            tally.worst[check.what] = max(tally.worst[check.what], check.ratio)
            tally.outside += check.outside
            if check.outside and check.engine != "pairs":
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


#: Of a process of the search.
ONE_THREAD = {"HEATESS_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def search(cases: int, seed: int, families: tuple[str, ...] = (), processes: int = 2, chunk: int = 20) -> Report:
    """*cases* cases in several processes."""
    parts = [range(first, min(first + chunk, cases)) for first in range(0, cases, chunk)]
    if processes == 1:
        return merged([examine(seed, part, families) for part in parts])
    # Spawned, because a fork of a process with threads may hang.
    with patch.dict(os.environ, ONE_THREAD), ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        jobs = [pool.submit(examine, seed, part, families) for part in parts]
        for done, _ in enumerate(as_completed(jobs), start=1):
            if done % max(1, len(jobs) // 10) == 0 and sys.stderr.isatty():
                print(f"{done * chunk} of {cases} cases", file=sys.stderr)
        return merged([job.result() for job in jobs])


#: Columns of the table: the worst error of each kind, as a share of what was stated.
KINDS = {
    "gess": "gESS",
    "mmd2": "MMD²",
    "between": "between two",
    "potential": "potential",
    "redundancy": "redundancy",
    "gradient": "gradient",
    "thin": "thin",
}


def table(report: Report) -> str:
    """One row per family; a ratio above one is outside."""
    counted = ("cases", "unknown", "numbers", "refused", "warned")
    heads = ("space", *counted, *KINDS.values(), "outside")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    of_nodes = ("Mesh, even", "Mesh, uneven", "PointCloud", "PointCloud, edge")
    order = [*FAMILIES, *of_nodes, "Mesh, as its nodes", "PointCloud, as its nodes", "random pairs"]
    for family in sorted(report.tallies, key=order.index):
        t = report.tallies[family]
        worst = " | ".join(f"{t.worst[what]:.2g}" if what in t.worst else "" for what in KINDS)
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
