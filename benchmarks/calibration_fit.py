"""Sizes and powers of `goodness_of_fit` and `k_sample_test`: `python benchmarks/calibration_fit.py [--full]`.

Designs were chosen before any of these figures was seen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np

import heatess as he
from calibration_power import OCTAHEDRON, TETRAHEDRON, Draw, around, circular, mixed, mode, stretched, uniform, watson

SEED, LEVEL, DRAWS = 67, 0.05, 99

#: Replicates of a full run and of a quick one; sizes that may not be left.
FULL, QUICK, SIZES = 200, 20, (0.02, 0.08)

Rng = np.random.Generator
Test = Callable[[Rng], float]


def given(draw: Draw, law: Draw | str, n: int, rng: Rng) -> float:
    return he.goodness_of_fit(draw(n, rng), law, draws=DRAWS, rng=rng).pvalue


def fitted_acg(points: np.ndarray) -> Draw:
    """The angular central Gaussian law that fits best, by Tyler's iteration."""
    spread = np.eye(points.shape[1])
    for _ in range(30):
        weights = 1 / np.einsum("ij,jk,ik->i", points, np.linalg.inv(spread), points)
        spread = (points * weights[:, None]).T @ points
        spread /= np.trace(spread)
    root = np.linalg.cholesky(spread)

    def draw(n: int, rng: Rng) -> np.ndarray:
        x = rng.normal(size=(n, len(spread))) @ root.T
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    return draw


def acg(n: int, rng: Rng) -> np.ndarray:
    x = rng.normal(size=(n, 3)) * np.sqrt([1, 2, 4])
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def own_fit(draw: Draw, n: int, rng: Rng) -> float:
    return he.goodness_of_fit(draw(n, rng), fit=fitted_acg, draws=DRAWS, rng=rng).pvalue


def several(draws: list[Draw], sizes: list[int], rng: Rng) -> float:
    samples = [draw(n, rng) for draw, n in zip(draws, sizes, strict=True)]
    return he.k_sample_test(samples, draws=DRAWS, rng=rng).pvalue


def least_pair(draws: list[Draw], sizes: list[int], rng: Rng) -> float:
    samples = [draw(n, rng) for draw, n in zip(draws, sizes, strict=True)]
    return float(he.k_sample_test(samples, draws=DRAWS, rng=rng).pair_pvalues.min())


TRUE: dict[str, Test] = {
    "given: uniform, n = 50": partial(given, uniform, "uniform", 50),
    "given: vMF 10, n = 50": partial(given, mode(10), mode(10), 50),
    "given: four modes, n = 100": partial(given, around(20, TETRAHEDRON), around(20, TETRAHEDRON), 100),
    "given: vM 2 on the circle, n = 100": partial(given, circular(2), circular(2), 100),
    "fitted vMF: vMF 2, n = 50": partial(given, mode(2), "von_mises_fisher", 50),
    "fitted vMF: vMF 10, n = 100": partial(given, mode(10), "von_mises_fisher", 100),
    "fitted vMF: vMF 200, n = 100": partial(given, mode(200), "von_mises_fisher", 100),
    "fitted ACG: ACG(1, 2, 4), n = 100": partial(own_fit, acg, 100),
    "3 samples of vMF 5, 40, 60 and 100": partial(several, [mode(5)] * 3, [40, 60, 100]),
    "5 uniform samples of 40": partial(several, [uniform] * 5, [40] * 5),
    "least p of pairs, 4 samples of vMF 20, 30 each": partial(least_pair, [mode(20)] * 4, [30] * 4),
}

FALSE: dict[str, Test] = {
    "uniform? vMF 0.5": partial(given, mode(0.5), "uniform", 100),
    "uniform? axial, Watson 1.2": partial(given, watson(1.2), "uniform", 100),
    "uniform? girdle, Watson -1.2": partial(given, watson(-1.2), "uniform", 100),
    "uniform? 6 % spike of kappa 300": partial(given, mixed((0.94, uniform), (0.06, mode(300))), "uniform", 100),
    "uniform? 6 modes of kappa 8": partial(given, around(8, OCTAHEDRON), "uniform", 100),
    "fitted vMF? 10 by 5 degrees": partial(given, stretched(10, 5), "von_mises_fisher", 100),
    "fitted vMF? vMF 50, 10 % elsewhere": partial(
        given, mixed((0.9, mode(50)), (0.1, uniform)), "von_mises_fisher", 100
    ),
    "one of 3 samples, vMF 5, 5, 10, 80 each": partial(several, [mode(5), mode(5), mode(10)], [80] * 3),
}


def share(number: int, test: Test, count: int) -> float:
    """How often a test rejects."""
    rngs = (np.random.default_rng([SEED, number, replicate]) for replicate in range(count))
    return sum(test(rng) <= LEVEL for rng in rngs) / count


def tables(full: bool, clouds: int | None = None) -> str:
    """Sizes, the farthest from 5 % first; powers, the least first, beside those of `uniformity_test`."""
    count = clouds or (FULL if full else QUICK)
    sizes = [(share(number, test, count), name) for number, (name, test) in enumerate(TRUE.items())]
    lines = ["| the distribution is right | rejected at 5 %, % |", "|---|---|"]
    for size, name in sorted(sizes, key=lambda row: -abs(row[0] - LEVEL)):
        outside = "" if SIZES[0] <= size <= SIZES[1] else " **outside**"
        lines.append(f"| {name} | {100 * size:.1f}{outside} |")
    powers = [(share(100 + number, test, count // 2), name) for number, (name, test) in enumerate(FALSE.items())]
    lines += ["", "| it is not | rejected, % |", "|---|---|"]
    lines += [f"| {name} | {100 * power:.0f} |" for power, name in sorted(powers)]
    return "\n".join(lines)


if __name__ == "__main__":
    print(tables("--full" in sys.argv))
