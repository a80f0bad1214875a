"""Which statistics are answered where a profile is, and what they cost.

    python benchmarks/served.py                                # the whole table, hours
    python benchmarks/served.py --n 30000 --space "Sphere(2)"  # one size, and one space
    python benchmarks/served.py --n 30000 300000 --limit 30 --minutes 60  # no cell above 30 s, rows for an hour
    python benchmarks/served.py --resume --to cells.jsonl      # only the rows that the file does not have yet
    python benchmarks/served.py --write --to cells.jsonl       # put them into SERVED.md, where other rows stay

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
import space_cases

SIZES = (300, 3000, 30_000, 300_000)
SCALES, DRAWS, FEWEST = 8, 500, 19
PROFILE = 10.0  # seconds of CPU, 5 on two cores, that a profile of the largest size may take
LIMIT = 90.0  # and a cell, unless `--limit` says otherwise
SHORT, LONG = 0.3, 8.0  # cells that are measured five times, and once

#: Each with what it may cost at most, of the other columns.
TARGETS: dict[str, tuple[str, Callable[[dict[str, float]], float]]] = {
    "population": ("25 profiles + 0.5 s", lambda cell: 25 * cell["profile"] + 0.5),
    "two samples": ("half of 500 profiles to 1e-3 of the pooled points", lambda cell: DRAWS / 2 * cell["pooled"]),
    "potential": ("4 profiles at that scale", lambda cell: 4 * cell["one scale"]),
}


def statistics(case: space_cases.Case, n: int, draws: int) -> dict[str, Callable[[], Any]]:
    """All of them, for one cloud of n points or two of n / 2."""
    rng, space = np.random.default_rng(0), case.space()
    whole = case.points(n, rng)
    a, b = (he.Measure(space_cases.taken(whole, part), space=space) for part in (slice(0, n // 2), slice(n // 2, n)))
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


def answered(statistic: Callable[[], Any], limit: float) -> float | str:
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


def of_all_draws(case: space_cases.Case, n: int, limit: float, pooled: float) -> float | str:
    """Two samples: where all draws would take too long, what some and half of them take says what each takes."""
    some = min(DRAWS, max(2 * FEWEST, int(limit / 3 / pooled)))
    found = answered(statistics(case, n, some)["two samples"], limit)
    if some == DRAWS or isinstance(found, str):
        return found
    fewer = answered(statistics(case, n, some // 2)["two samples"], limit)
    if isinstance(fewer, str):
        return fewer
    return found + (DRAWS - some) * max(found - fewer, 0.0) / (some - some // 2)


def row(case: space_cases.Case, n: int, limit: float) -> dict[str, float | str]:
    """The cells of one space and size."""
    for statistic in statistics(case, 60, 99).values():
        answered(statistic, limit)
    found: dict[str, float | str] = {}
    for name in statistics(case, 60, DRAWS):
        if name == "two samples" and isinstance(pooled := found["pooled"], float):
            refused = answered(statistics(case, n, DRAWS)[name], 3.0) == "cost"
            found[name] = "cost" if refused else of_all_draws(case, n, limit, pooled)
        else:
            found[name] = answered(statistics(case, n, DRAWS)[name], limit)
        shown = found[name] if isinstance(found[name], str) else f"{found[name]:.3g}"
        print(f"{case.name}, {n:,}: {name} {shown}", flush=True)
        most = PROFILE if n == SIZES[-1] else limit
        if name == "profile" and not (isinstance(found[name], float) and found[name] < most):
            break
    print(line_of(case.name, found, list(found)), flush=True)
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


def line_of(name: str, cell: dict[str, float | str], columns: list[str]) -> str:
    """One row of the table."""
    over = misses(cell)
    shown = {key: value if isinstance(value, str) else f"{value:.2g}" for key, value in cell.items()}
    marked = [f"**{shown[key]} ({over[key]:.1f}x)**" if key in over else shown[key] for key in columns]
    return f"| {name} | " + " | ".join(marked) + " |"


def lines_in(table: str) -> dict[int, dict[str, str]]:
    """Lines of a table that was written before, by size and space."""
    found: dict[int, dict[str, str]] = {}
    for part in table.split("\n## ")[1:]:
        size, *lines = part.splitlines()
        rows = [line for line in lines if line.startswith("| ") and not line.startswith("| space")]
        found[int(size.split()[0].replace(",", ""))] = {line.split(" | ")[0].removeprefix("| "): line for line in rows}
    return found


def written(lines_of: dict[int, dict[str, str]]) -> str:
    """The whole table in Markdown, targets that are missed in bold with the ratio."""
    lines = ["# Statistics where a profile is served", "", *(__doc__ or "").split("\n\n")[-1].strip().splitlines(), ""]
    lines += [
        (
            "Two samples have half of the points each; 500 draws, the long ones from what fewer of them and half of "
            "these take. Where the library is faster than when the table was begun, rows were measured again. Sizes "
            "and rows that are not here were not measured, or their profile takes too long itself. Targets:"
        ),
        "",
    ]
    lines += [f"- {name}: at most {words}" for name, (words, _) in TARGETS.items()]
    order, columns = [case.name for case in space_cases.EVERY], list(statistics(space_cases.EVERY[0], 60, 99))
    for n, rows in sorted(lines_of.items()):
        lines += ["", f"## {n:,} points", "", "| space | " + " | ".join(columns) + " |"]
        lines += ["|---" * (1 + len(columns)) + "|", *(rows[name] for name in order if name in rows)]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", nargs="+", type=int, default=SIZES)
    parser.add_argument("--space", nargs="+", default=[case.name for case in space_cases.EVERY])
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of CPU after which a cell is ended")
    parser.add_argument("--minutes", type=float, default=np.inf, help="after which no row is begun")
    parser.add_argument("--to", type=Path, default=Path("served.jsonl"))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    start, kept = time.monotonic(), given.to.read_text().splitlines() if given.to.exists() else []
    known = {(name, n) for name, n, _ in map(json.loads, kept)} if given.resume else set()
    for n in () if given.write else given.n:
        for case in (case for case in space_cases.EVERY if case.name in given.space and (case.name, n) not in known):
            if time.monotonic() - start > 60 * given.minutes:
                break
            kept.append(json.dumps([case.name, n, row(case, n, given.limit)]))
            with given.to.open("a") as file:
                file.write(kept[-1] + "\n")
    if given.write:
        target = Path(__file__).with_name("SERVED.md")
        lines = lines_in(target.read_text())
        for name, n, cell in map(json.loads, kept):
            if len(cell) > 1:
                lines.setdefault(n, {})[name] = line_of(name, cell, list(cell))
        target.write_text(written(lines))


if __name__ == "__main__":
    main()
