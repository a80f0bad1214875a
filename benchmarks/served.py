"""Which statistics are answered where a profile is, and what they cost.

    python benchmarks/served.py                              # the whole table, hours
    python benchmarks/served.py 30000 --space "Sphere(2)"    # one size, and one space
    python benchmarks/served.py --write --to cells.jsonl     # SERVED.md from all cells that were measured

Cells are seconds of CPU of all threads, so that other work on the machine does not matter much, best of some runs after
a small one that compiles. "cost" is a refusal by an estimate of time, which there should be none of; "-" is a
statistical reason; ">" a cell that was ended.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

import heatess as he

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import spaces

SIZES = (300, 3000, 30_000, 300_000)
SCALES, DRAWS = 8, 500
PROFILE = 10.0  # seconds of CPU, 5 on two cores, that a profile of the largest size may take
LIMIT = 90.0  # and a cell
SHORT, LONG = 0.3, 8.0  # cells that are measured five times, and once

#: Each with what it may cost at most, of the other columns.
TARGETS: dict[str, tuple[str, Callable[[dict[str, float]], float]]] = {
    "population": ("25 profiles + 0.5 s", lambda cell: 25 * cell["profile"] + 0.5),
    "two samples": ("half of 500 profiles to 1e-3 of the pooled points", lambda cell: DRAWS / 2 * cell["pooled"]),
    "potential": ("4 profiles at that scale", lambda cell: 4 * cell["one scale"]),
}


def statistics(case: spaces.Case, n: int, draws: int) -> dict[str, Callable[[], Any]]:
    """All of them, for one cloud of n points or two of n / 2."""
    rng, space = np.random.default_rng(0), case.space()
    whole = case.points(n, rng)
    a, b = (he.Measure(spaces.taken(whole, part), space=space) for part in (slice(0, n // 2), slice(n // 2, n)))
    cloud, times = he.Measure(whole, space=space), case.times(SCALES)
    one = float(times[SCALES // 2])
    return {
        "profile": lambda: he.heat_profile(cloud, times=times),
        "pooled": lambda: he.heat_profile(cloud, times=times, rtol=1e-3),
        "one scale": lambda: he.heat_profile(cloud, times=[one]),
        "population": lambda: he.population_profile(cloud, times=times),
        "two samples": lambda: he.two_sample_test(a, b, times=times, draws=draws, rng=0),
        "uniformity": lambda: he.uniformity_test(cloud),
        "mmd2": lambda: he.mmd2(a, b, times=times),
        "compare": lambda: he.compare(a, b, times=times),
        "redundancy": lambda: he.redundancy(cloud, time=one),
        "potential": lambda: he.potential(cloud, time=one),
        "gradient": lambda: he.gradient(cloud, time=one),
        "thin": lambda: he.thin(cloud, size=50, time=one),
    }


@contextmanager
def ended_after(limit: float) -> Iterator[None]:
    """A `KeyboardInterrupt` after so many seconds of CPU. (With an interval timer clocks of CPU time become coarse.)"""
    start, done = time.process_time(), Event()

    def watch() -> None:
        while not done.wait(0.5):
            if time.process_time() - start > limit:
                interrupt_main()
                break

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def answered(statistic: Callable[[], Any], limit: float = LIMIT) -> float | str:
    """Seconds of CPU, or the reason in one word."""
    best = limit
    for turn in range(5):
        try:
            with ended_after(limit):
                start = time.process_time()
                statistic()
                best = min(best, time.process_time() - start)
        except he.CostError:
            return "cost"
        except (he.InputError, he.PrecisionError, he.ScaleError):
            return "-"
        except KeyboardInterrupt:
            return f">{limit:.0f}"
        if best > (SHORT if turn else LONG):
            break
    return best


def row(case: spaces.Case, n: int) -> dict[str, float | str]:
    """The cells of one space and size; a long test with fewer draws, whose cost is in proportion to them."""
    for statistic in statistics(case, 60, 99).values():
        answered(statistic)
    found: dict[str, float | str] = {}
    draws = DRAWS
    for name in statistics(case, 60, DRAWS):
        if name == "two samples" and isinstance(pooled := found["pooled"], float):
            refused = answered(statistics(case, n, DRAWS)[name], 3.0) == "cost"
            draws = min(DRAWS, max(19, int(LIMIT / 3 / pooled)))
            found[name] = "cost" if refused else answered(statistics(case, n, draws)[name])
            if isinstance(found[name], float):
                found[name] *= (DRAWS + 1) / (draws + 1)
        else:
            found[name] = answered(statistics(case, n, DRAWS)[name])
        shown = found[name] if isinstance(found[name], str) else f"{found[name]:.3g}"
        print(f"{case.name}, {n:,}: {name} {shown}", flush=True)
        if name == "profile" and n == SIZES[-1] and not (isinstance(found[name], float) and found[name] < PROFILE):
            break
    return found


def misses(cell: dict[str, float | str]) -> dict[str, float]:
    """How many times its target each statistic takes, where that is more than once."""
    known = {name: value for name, value in cell.items() if isinstance(value, float)}
    over = {}
    for name, (_, most) in TARGETS.items():
        try:
            over[name] = known[name] / most(known)
        except KeyError:
            continue
    return {name: value for name, value in over.items() if value > 1}


def written(cells: list[tuple[str, int, dict[str, float | str]]]) -> str:
    """The whole table in Markdown, targets that are missed in bold with the ratio."""
    lines = ["# Statistics where a profile is served", "", *(__doc__ or "").split("\n\n")[-1].strip().splitlines(), ""]
    lines += [
        (
            "Two samples have half of the points each; 500 draws, the long ones in proportion from fewer. Where the "
            "library is faster than when the table was begun, rows were measured again. Sizes and rows that are not "
            "here were not measured. Targets:"
        ),
        "",
    ]
    lines += [f"- {name}: at most {words}" for name, (words, _) in TARGETS.items()]
    for n in sorted({n for _, n, _ in cells}):
        rows = [(name, cell) for name, size, cell in cells if size == n and len(cell) > 1]
        columns = list(rows[0][1])
        lines += [
            "",
            f"## {n:,} points",
            "",
            "| space | " + " | ".join(columns) + " |",
            "|---" * (1 + len(columns)) + "|",
        ]
        for name, cell in rows:
            over = misses(cell)
            shown = {key: value if isinstance(value, str) else f"{value:.2g}" for key, value in cell.items()}
            marked = [f"**{shown[key]} ({over[key]:.1f}x)**" if key in over else shown[key] for key in columns]
            lines.append(f"| {name} | " + " | ".join(marked) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--space", default="")
    parser.add_argument("--to", type=Path, default=Path("served.jsonl"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if not given.write:
        for n in given.sizes:
            for case in (case for case in spaces.EVERY if given.space in (case.name, "")):
                line = json.dumps([case.name, n, row(case, n)])
                with given.to.open("a") as file:
                    file.write(line + "\n")
    order = [case.name for case in spaces.EVERY]
    latest = {(name, n): cell for name, n, cell in map(json.loads, given.to.read_text().splitlines())}
    cells = sorted(((*key, cell) for key, cell in latest.items()), key=lambda found: order.index(found[0]))
    Path(__file__).with_name("SERVED.md").write_text(written(cells))


if __name__ == "__main__":
    main()
