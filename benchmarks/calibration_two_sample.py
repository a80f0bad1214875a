"""Sizes and powers of `two_sample_test`, by simulation: `python benchmarks/calibration_two_sample.py [--full]`.

Laws, weights and designs were chosen before any of these figures was seen; the statistic was chosen on others.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

import heatess as he

SEED = 20
LEVEL, MARGIN = 0.05, 0.015

#: Draws of each test: 1 / 20 is then a possible p-value, and the size of an exact test is exactly 5 %.
DRAWS = 99

Pair = tuple[he.Measure, he.Measure]


class Law(NamedTuple):
    """Densities cosh(kappa u) or exp(kappa u) on a sphere, u the first coordinate; the first of them on axes."""

    name: str
    space: he.Space
    columns: int
    target: float
    proposal: float

    def draw(self, n: int, kappa: float, rng: np.random.Generator) -> np.ndarray:
        axis = np.eye(self.columns)[0]
        return he.samplers.von_mises_fisher(n, axis, kappa, rng=rng)

    def log_density(self, x: np.ndarray, kappa: float) -> np.ndarray:
        height = kappa * x[:, 0]
        return np.logaddexp(height, -height) if isinstance(self.space, he.Rotations) else height


LAWS = [
    Law("S^1", he.Sphere(1), 2, 1.0, 1.7),
    Law("S^2", he.Sphere(2), 3, 1.0, 2.0),
    Law("S^9", he.Sphere(9), 10, 2.0, 4.0),
    Law("SO(3)", he.Rotations(), 4, 1.0, 2.5),
]


def equal(law: Law, n: int, rng: np.random.Generator) -> Pair:
    one, other = (he.Measure(law.draw(n, law.target, rng), space=law.space) for _ in range(2))
    return one, other


def gamma(law: Law, n: int, rng: np.random.Generator) -> Pair:
    """Weights that are independent of the points."""
    one, other = (he.Measure(law.draw(n, law.target, rng), rng.gamma(1, size=n), space=law.space) for _ in range(2))
    return one, other


def importance(law: Law, n: int, rng: np.random.Generator) -> Pair:
    """One target from two proposals: a narrower law, and the uniform one."""
    pair = []
    for kappa in (law.proposal, 0.0):
        x = law.draw(n, kappa, rng)
        ratio = law.log_density(x, law.target) - law.log_density(x, kappa)
        pair.append(he.Measure(x, log_weights=ratio, space=law.space))
    return pair[0], pair[1]


def mixed(law: Law, n: int, rng: np.random.Generator) -> Pair:
    """Importance weights in one sample, draws from the target itself in the other."""
    return importance(law, n, rng)[0], equal(law, n, rng)[1]


WEIGHTS: dict[str, Callable[[Law, int, np.random.Generator], Pair]] = {
    "equal": equal,
    "gamma(1)": gamma,
    "importance": importance,
    "importance and equal": mixed,
}


def one_size(cell: tuple[int, str, int], run: int) -> float:
    """The p-value of one pair of samples from one law; nan where it is refused."""
    law, weights, n = LAWS[cell[0]], cell[1], cell[2]
    rng = np.random.default_rng([SEED, cell[0], list(WEIGHTS).index(weights), n, run])
    a, b = WEIGHTS[weights](law, n, rng)
    how: dict[str, Any] = {"weights_are": "fixed"} if weights == "gamma(1)" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)  # of tails by chance
        try:
            return he.two_sample_test(a, b, draws=DRAWS, rng=rng, **how).pvalue
        except he.InputError:
            return float("nan")


Sampler = Callable[[int, np.random.Generator], np.ndarray]


def vmf(mean: Any, kappa: float) -> Sampler:
    return lambda n, rng: he.samplers.von_mises_fisher(n, mean, kappa, rng=rng)


def modes(centres: np.ndarray, kappa: float) -> Sampler:
    return lambda n, rng: he.samplers.mixture(n, [vmf(centre, kappa) for centre in centres], rng=rng)


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    return he.samplers.uniform(n, rng=rng)


def cluster(n: int, rng: np.random.Generator) -> np.ndarray:
    return he.samplers.mixture(n, [uniform, vmf([0, 0, 1], 100)], [0.9, 0.1], rng=rng)


NORTH, TURN = [0.0, 0.0, 1.0], np.radians(25)
DESIGNS: dict[str, tuple[Sampler, Sampler]] = {
    "vMF(2), turned by 25 degrees": (vmf(NORTH, 2), vmf([np.sin(TURN), 0, np.cos(TURN)], 2)),
    "20 modes, kappa 200, against uniform": (modes(he.samplers.fibonacci(20), 200), uniform),
    "6 modes, kappa 30, against uniform": (modes(np.concatenate([np.eye(3), -np.eye(3)]), 30), uniform),
    "10 % in a cluster, kappa 100, against uniform": (cluster, uniform),
    "vMF(5) against vMF(8)": (vmf(NORTH, 5), vmf(NORTH, 8)),
}


def one_power(design: str, run: int, n: int = 100) -> np.ndarray:
    """p-values of the test, of the median heuristic, and of each scale by itself."""
    rng = np.random.default_rng([SEED, 1000 + list(DESIGNS).index(design), run])
    a, b = (sampler(n, rng) for sampler in DESIGNS[design])
    test = he.two_sample_test(a, b, draws=2 * DRAWS + 1, rng=rng)
    both = np.concatenate([a, b])
    i, j = np.triu_indices(len(both), 1)
    median = float(np.degrees(np.median(he.Sphere(2).distance(both[i], both[j]))))
    heuristic = he.two_sample_test(a, b, angles=median, draws=2 * DRAWS + 1, rng=rng)
    return np.array([test.pvalue, heuristic.pvalue, *test.pvalues])


def sizes(pool: ProcessPoolExecutor, full: bool) -> str:
    """One row for each space and kind of weights."""
    runs = {20: 2000, 200: 600, 2000: 200} if full else {20: 200, 200: 100, 2000: 20}
    lines = ["| space | weights | n = m = 20 | 200 | 2000 |", "|---|---|---|---|---|"]
    for place, law in enumerate(LAWS):
        for weights in WEIGHTS:
            cells = []
            for n, count in runs.items():
                long = n == 2000 and law.space.dim > 2  # seconds each
                if long and not full:
                    cells.append("(with --full)")
                    continue
                tried = range(count // 2 if long else count)
                found = np.array(list(pool.map(partial(one_size, (place, weights, n)), tried, chunksize=4)))
                cells.append(_size(found))
            lines.append(f"| {law.name} | {weights} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _size(pvalues: np.ndarray) -> str:
    kept = pvalues[~np.isnan(pvalues)]
    if len(kept) < len(pvalues) / 2:
        return "refused"
    share = float((kept <= LEVEL + 1e-9).mean())
    error = np.sqrt(LEVEL * (1 - LEVEL) / len(kept))
    mark = " **out**" if abs(share - LEVEL) > MARGIN + 2 * error else ""
    return f"{100 * share:.1f} ± {100 * error:.1f}{mark}"


def powers(pool: ProcessPoolExecutor, full: bool) -> str:
    """One row for each design."""
    count = 1000 if full else 100
    lines = [
        "| design, S^2, n = m = 100 | this test | median heuristic | best single scale | share of the best |",
        "|---|---|---|---|---|",
    ]
    for design in DESIGNS:
        found = np.array(list(pool.map(partial(one_power, design), range(count), chunksize=4)))
        rejected = 100 * (found <= LEVEL + 1e-9).mean(axis=0)
        best = rejected[2:].max()
        share = f"{100 * rejected[0] / best:.0f} %"
        lines.append(f"| {design} | {rejected[0]:.0f} | {rejected[1]:.0f} | {best:.0f} | {share} |")
    return "\n".join(lines)


def tables(full: bool) -> str:
    """Both tables in Markdown; *full* for the published figures."""
    os.environ.update(HEATESS_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # of the processes below
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        size, power = sizes(pool, full), powers(pool, full)
    return (
        "Share of pairs of samples from one law that are rejected at 5 %, in per cent, with its standard error. "
        f"**out**: further from 5 than {100 * MARGIN:g} points and two standard errors. Refused: an ESS below 25.\n\n"
        f"{size}\n\n"
        "Share of pairs of samples from two laws that are rejected at 5 %, in per cent. The median heuristic takes one "
        "scale alpha, the median distance of all points. The best single scale is known only afterwards.\n\n"
        f"{power}\n"
    )


if __name__ == "__main__":
    print(tables("--full" in sys.argv[1:]))
