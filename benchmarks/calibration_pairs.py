"""How often does the truth lie within the stated error of random pairs? Simulations on clouds that are hard for them.

    python benchmarks/calibration_pairs.py            # 100 runs of each design, about a minute on two idle cores
    python benchmarks/calibration_pairs.py --full     # 500 runs: the published figures

Each cloud is fixed and its truth is the sum over all pairs; what is random are the pairs. A cell is marked where the
truth lay within in less than 99 % of the runs.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np

import heatess as he
from embeddings import clustered

RESOLUTIONS = (10.0, 20.0, 40.0, 60.0, 80.0)
QUICK, FULL = 100, 500
PROMISED = 0.99


class Design(NamedTuple):
    """A cloud, and how many random pairs of it."""

    name: str
    points: np.ndarray
    weights: np.ndarray | None
    pairs: int


class Coverage(NamedTuple):
    """At each resolution: how often the truth lay within the stated error, the rms error, and the median stated."""

    within: np.ndarray
    rms: np.ndarray
    stated: np.ndarray


def designs(n: int = 4000, columns: int = 96) -> list[Design]:
    """Clusters with near-duplicates, uniform, few near-duplicates, and weights of which a few hold most."""
    rng = np.random.default_rng(1)
    mixed, some = clustered(n, columns, copies=0.3), clustered(n, columns, copies=0.01)
    even = he.samplers.uniform(n, columns - 1, rng=2).astype(np.float32)
    even[: n // 100] = even[n // 100 : n // 50]
    even[: n // 100, 0] += 1e-3
    even /= np.linalg.norm(even, axis=1, keepdims=True)
    plain = he.samplers.uniform(n, columns - 1, rng=3)
    heavy = np.exp(2.5 * rng.standard_normal(n))
    return [
        Design("clusters, 30 % near-duplicates", mixed, None, 1_000_000),
        Design("the same, few pairs", mixed, None, 20_000),
        Design("clusters, 1 % near-duplicates", some, None, 1_000_000),
        Design("uniform, 1 % near-duplicates", even, None, 1_000_000),
        Design("the same, few pairs", even, None, 20_000),
        Design("uniform", plain, None, 200_000),
        Design("clusters, heavy weights", some, heavy, 200_000),
    ]


def coverage(design: Design, runs: int, seed: int = 0) -> Coverage:
    """Of *runs* estimates, each from a seed of its own."""
    measure = he.Measure(design.points, design.weights)
    exact = he.heat_profile(measure, resolutions=RESOLUTIONS).gess
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)  # of mmd2, which is not what is looked at
        found = [
            he.heat_profile(measure, resolutions=RESOLUTIONS, pairs=design.pairs, rng=seed + run) for run in range(runs)
        ]
    off = np.array([exact / one.gess - 1 for one in found])
    error = np.array([one.error for one in found])
    return Coverage((np.abs(off) <= error).mean(axis=0), np.sqrt((off**2).mean(axis=0)), np.median(error, axis=0))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="500 runs")
    runs = FULL if parser.parse_args().full else QUICK
    started = time.perf_counter()
    print("| cloud | pairs | " + " | ".join(f"{one:g} deg" for one in RESOLUTIONS) + " |")
    print("|---|---|" + "---|" * len(RESOLUTIONS))
    for design in designs():
        found = coverage(design, runs)
        cells = [
            f"{within:.1%}{'' if within >= PROMISED else ' **short**'} ({rms:.1e}, {stated:.1e})"
            for within, rms, stated in zip(*found, strict=True)
        ]
        print(f"| {design.name} | {design.pairs:,} | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{runs} runs each, {(time.perf_counter() - started) / 60:.1f} minutes.")


if __name__ == "__main__":
    main()
