"""`auto` against the best forced method, over space x n x scale: `python benchmarks/planner.py [space ...]`."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import heatess as he
from timing import Row

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from space_cases import HOMOGENEOUS

SPACES = {case.name: case for case in HOMOGENEOUS}
SIZES = (100, 300, 1000, 3000, 10_000)
DEGREES = (1, 5, 15, 45)

#: Profiles of 60 scales up to 115 degrees, from these on.
PROFILES = (1, 5)

#: Sums of all pairs, scale after scale, that would take longer than this many seconds are not tried.
LONGEST = 5.0


class Cell(NamedTuple):
    """One measurement, in seconds."""

    space: str
    n: int
    degrees: int
    kind: str
    ran: str
    auto: float
    best: str
    forced: float

    @property
    def ratio(self) -> float:
        return self.auto / self.forced

    def __str__(self) -> str:
        return (
            f"{self.ratio:5.2f} {self.space:<21} n = {self.n:<6} {self.degrees:>2} deg {self.kind:<8} "
            f"auto ({self.ran}) {1e3 * self.auto:.2f} ms, {self.best} {1e3 * self.forced:.2f} ms"
        )


def sweep(names: list[str]) -> Iterator[Cell]:
    """All cells of some spaces."""
    rng = np.random.default_rng(0)
    for name in names:
        case = SPACES[name]
        for n in SIZES:
            measure = he.Measure(case.points(n, rng), space=case.space())
            for degrees in DEGREES:
                alpha = case.scale * np.radians(degrees)
                yield from _cell(name, measure, degrees, "gess", np.array([alpha**2 / 8]))
                if degrees in PROFILES:
                    yield from _cell(
                        name, measure, degrees, "profile", np.geomspace(alpha, 2 * case.scale, 60) ** 2 / 8
                    )


def _cell(name: str, measure: he.Measure, degrees: int, kind: str, times: np.ndarray) -> Iterator[Cell]:
    def profile(method: str) -> Callable[[], object]:
        return lambda: he.heat_profile(measure, times=times, method=method)

    single = kind == "gess"
    work = {"auto": (lambda: he.gess(measure, time=float(times[0]))) if single else profile("auto")}
    methods = [method for method in ("spectral", "local", "pairwise") if _feasible(measure, times, method)]
    work |= {method: profile(method) for method in methods}
    best = _in_turns(work)
    auto = best.pop("auto")
    if best:
        fastest = min(best, key=best.__getitem__)
        ran = he.heat_profile(measure, times=times).method
        yield Cell(name, measure.n, degrees, kind, ran, auto, fastest, best[fastest])


def _feasible(measure: he.Measure, times: np.ndarray, method: str) -> bool:
    """Whether a method serves the scales, in a time worth waiting for."""
    from heatess.engines.base import Question
    from heatess.engines.plan import plan

    try:
        return plan(Question(measure, np.sort(times), 1e-8), method)[1] < LONGEST
    except (he.InputError, he.PrecisionError):
        return False


def _in_turns(work: dict[str, Callable[[], object]], rounds: int = 4, patience: float = 0.1) -> dict[str, float]:
    """The best time of each; what is slow gets fewer turns, and what is many times slower than the rest only one."""
    best = dict.fromkeys(work, np.inf)
    began = time.perf_counter()
    for turn in range(rounds + 1):
        for name, function in work.items():
            if turn > 1 and best[name] > 5 * min(best.values()):
                continue
            start = time.perf_counter()
            function()
            taken = time.perf_counter() - start
            if turn or taken > 1:  # the first loads compiled loops and fills tables
                best[name] = min(best[name], taken)
        if time.perf_counter() - began > patience and np.isfinite(list(best.values())).all():
            break
    return best


def planner() -> Iterator[Row]:
    """The share of cells within twice the best forced method, and the worst cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = list(sweep(list(SPACES)))
    ratios = np.array([cell.ratio for cell in cells])
    within, worst = float((ratios <= 2).mean()), cells[int(ratios.argmax())]
    share = f"planner: share of {len(cells)} cells above 2x"
    yield Row(share, "the best forced method", 1 - within, 1.0, "at most 0.05x", within >= 0.95, unit="of all")
    where = f"planner, worst cell: {worst.space}, n = {worst.n}, {worst.degrees} deg, {worst.kind}"
    yield Row(where, worst.best, worst.auto, worst.forced, "at most 4x its time", worst.ratio <= 4)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = []
    for cell in sweep(sys.argv[1:] or list(SPACES)):
        found.append(cell)
        print(cell, flush=True)
    ratios = np.array([cell.ratio for cell in found])
    print(f"{len(found)} cells: {(ratios <= 2).mean():.1%} within 2x, worst {max(found, key=lambda cell: cell.ratio)}")
