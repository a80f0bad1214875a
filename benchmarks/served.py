"""Which statistics are answered where a profile is, and how long they take: seconds, or why there is none.

    python benchmarks/served.py                      # every space, n = 300 and 3,000
    python benchmarks/served.py 30000 "Sphere(2)"    # one size, and spaces whose name begins so

Eight scales, or one; the columns are seconds of `heat_profile` and of each statistic, best of one run after a small one
that compiles. "cost" is a refusal by an estimate of time, which there should be none of; "-" is a statistical reason.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import heatess as he

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import spaces

SCALES = 8


def statistics(case: spaces.Case) -> dict[str, Callable[[he.Measure, he.Measure], Any]]:
    times = case.times(SCALES)
    one = float(times[SCALES // 2])
    return {
        "profile": lambda a, b: he.heat_profile(a, times=times),
        "population": lambda a, b: he.population_profile(a, times=times),
        "two samples": lambda a, b: he.two_sample_test(a, b, times=times, draws=99, rng=0),
        "uniformity": lambda a, b: he.uniformity_test(a),
        "mmd2": lambda a, b: he.mmd2(a, b, times=times),
        "redundancy": lambda a, b: he.redundancy(a, time=one),
        "potential": lambda a, b: he.potential(a, time=one),
        "gradient": lambda a, b: he.gradient(a, time=one),
        "thin": lambda a, b: he.thin(a, size=50, time=one),
    }


def answered(statistic: Callable[[he.Measure, he.Measure], Any], a: he.Measure, b: he.Measure) -> str:
    """Seconds, or the reason in one word."""
    start = time.perf_counter()
    try:
        statistic(a, b)
    except he.CostError:
        return "cost"
    except (he.InputError, he.PrecisionError, he.ScaleError):
        return "-"
    return f"{time.perf_counter() - start:.2f}"


def main() -> None:
    sizes = [int(sys.argv[1])] if len(sys.argv) > 1 else [300, 3000]
    start = sys.argv[2] if len(sys.argv) > 2 else ""
    warnings.simplefilter("ignore")
    for n in sizes:
        print(f"{n:,} points".ljust(22), *(f"{name:>12}" for name in statistics(spaces.EVERY[0])), flush=True)
        for case in (case for case in spaces.EVERY if case.name.startswith(start)):
            rng, rows = np.random.default_rng(0), []
            small = [he.Measure(case.points(60, rng), space=case.space()) for _ in range(2)]
            large = [he.Measure(case.points(n, rng), space=case.space()) for _ in range(2)]
            print(case.name.ljust(22), end=" ", flush=True)
            for statistic in statistics(case).values():
                answered(statistic, *small)
                rows.append(answered(statistic, *large))
                print(f"{rows[-1]:>12}", end=" ", flush=True)
            print(flush=True)


if __name__ == "__main__":
    main()
