"""What importance weights with heavy tails do to bands and tests: python benchmarks/calibration_tails.py [--full].

A proposal narrower than the target gives weights whose true tail index k is known. Of all calls, in how many is an
answer given, in how many is it given and wrong (the band misses, or the test rejects a true hypothesis at 5 %), and in
how many is it given and wrong without a warning? The designs were chosen before their figures were seen.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import heatess as he
from calibration_bands import processes
from heatess.base.errors import InputError

INDICES, SIZES = (0.1, 0.3, 0.5, 0.6, 0.7, 0.9), (100, 300, 1000)
NORTH, LEVEL, DRAWS = np.array([0.0, 0.0, 1.0]), 0.05, 99

#: What is asked, in per cent of all calls: most that are given and wrong, by the index from which on it holds; least
#: that are given for an index up to 0.3 and n >= 300; most rejections of a true hypothesis.
MOST_WRONG, LEAST_GIVEN, MOST_REJECTED = {0.7: 12.0, 0.5: 20.0}, 75.0, 8.0


class Law(NamedTuple):
    """A target, a proposal for each index, and the scale."""

    space: he.Space
    draw: Callable[[float, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]  # points, log-weights
    target: Callable[[int, np.random.Generator], np.ndarray]
    scale: dict[str, float]


def _mode(kappa: float) -> Callable[[float, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    def draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        proposal = kappa / (1 - k)
        x = he.samplers.von_mises_fisher(n, NORTH, proposal, rng=rng)
        return x, (kappa - proposal) * (x[:, 2] - 1)

    return draw


def _halo_draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The target has a core of kappa 60 and a halo of kappa 6 with a tenth of the mass, which decides the tail."""
    proposal = 6 / (1 - k)
    x = he.samplers.von_mises_fisher(n, NORTH, proposal, rng=rng)
    core, halo, own = (_log_density(kappa, x) for kappa in (60.0, 6.0, proposal))
    return x, np.logaddexp(np.log(0.9) + core, np.log(0.1) + halo) - own


def _log_density(kappa: float, x: np.ndarray) -> np.ndarray:
    return np.log(kappa / (1 - np.exp(-2 * kappa))) + kappa * (x[:, 2] - 1)


def _halo(n: int, rng: np.random.Generator) -> np.ndarray:
    few = rng.binomial(n, 0.1)
    parts = [he.samplers.von_mises_fisher(m, NORTH, kappa, rng=rng) for m, kappa in ((n - few, 60.0), (few, 6.0))]
    return np.concatenate(parts)


def _circle_draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    proposal = 20 / (1 - k)
    angle = rng.vonmises(0, proposal, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]), (20 - proposal) * (np.cos(angle) - 1)


def _circle(n: int, rng: np.random.Generator) -> np.ndarray:
    angle = rng.vonmises(0, 20.0, n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _flat_draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(scale=np.sqrt(1 - k), size=(n, 3))
    return x, 0.5 * np.sum(x * x, axis=1) * (1 / (1 - k) - 1)


LAWS = {
    "S2, vMF 30": Law(he.Sphere(2), _mode(30.0), lambda n, rng: he.samplers.von_mises_fisher(n, NORTH, 30.0, rng=rng),
                      {"angles": 20.0}),
    "S2, core and halo": Law(he.Sphere(2), _halo_draw, _halo, {"angles": 20.0}),
    "S1, von Mises 20": Law(he.Sphere(1), _circle_draw, _circle, {"angles": 20.0}),
    "R3, normal": Law(he.Euclidean(3), _flat_draw, lambda n, rng: rng.normal(size=(n, 3)), {"times": 0.125}),
}  # fmt: skip

#: Uniform targets: the concentration of the von Mises-Fisher proposal, and n. These weights have an upper limit.
UNIFORM = [(kappa, n) for kappa in (0.5, 1.0, 2.0, 2.5, 3.0, 4.0) for n in (300, 1000)]

#: Two samples of one target: both weighted, or one of them drawn from the target itself.
PAIRS = [(k, n, both) for k in (0.3, 0.5, 0.6, 0.7, 0.9) for n in (100, 300) for both in (True, False)]


class Cell(NamedTuple):
    """One design: replicates, and answers in per cent of all calls."""

    question: str
    design: str
    k: float
    n: int
    replicates: int
    given: float
    wrong: float
    silent: float  # given and wrong without a warning

    @property
    def short(self) -> str:
        """What falls short of what is asked for; chance of the replicates is not taken off."""
        if self.question != "bands":
            return "rejects" if self.wrong > MOST_REJECTED else ""
        most = next((most for index, most in MOST_WRONG.items() if self.k >= index), 100.0)
        if self.wrong > most:
            return "wrong"
        return "given" if self.k <= 0.3 and self.n >= 300 and self.given < LEAST_GIVEN else ""


def _asked(ask: Callable[[], bool | None]) -> tuple[bool, bool, bool]:
    """Whether an answer is given, given and wrong, and so without a warning; *ask* tells whether it is wrong."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            wrong = ask()
        except InputError:
            wrong = None
    return wrong is not None, bool(wrong), bool(wrong) and not told


def _cell(question: str, design: str, k: float, n: int, found: list[tuple[bool, bool, bool]]) -> Cell:
    return Cell(question, design, k, n, len(found), *(100 * np.mean(found, axis=0)))


def bands(task: tuple[str, float, int, int, float]) -> Cell:
    """`population_profile` of one law, index and n."""
    name, k, n, replicates, truth = task
    law, found = LAWS[name], []

    def ask(rng: np.random.Generator) -> bool | None:
        x, logs = law.draw(k, n, rng)
        band = he.population_profile(x, log_weights=logs, space=law.space, weights_are="importance", **law.scale)
        if band.withheld is not None:
            return None
        return not band.places.lower[0] <= truth <= band.places.upper[0]

    for seed in np.random.SeedSequence([1, sum(map(ord, name)), round(10 * k), n]).spawn(replicates):
        found.append(_asked(lambda seed=seed: ask(np.random.default_rng(seed))))
    return _cell("bands", name, k, n, found)


def uniform(task: tuple[float, int, int]) -> Cell:
    """`uniformity_test` of a uniform target."""
    kappa, n, replicates = task
    found = []

    def ask(rng: np.random.Generator) -> bool:
        x = he.samplers.von_mises_fisher(n, NORTH, kappa, rng=rng)
        logs = -kappa * x[:, 2]
        return he.uniformity_test(x, log_weights=logs, weights_are="importance", draws=DRAWS, rng=rng).pvalue <= LEVEL

    for seed in np.random.SeedSequence([2, round(10 * kappa), n]).spawn(replicates):
        found.append(_asked(lambda seed=seed: ask(np.random.default_rng(seed))))
    return _cell("uniformity", f"S2, proposal vMF {kappa:g}", np.nan, n, found)


def pairs(task: tuple[float, int, bool, int]) -> Cell:
    """`two_sample_test` of two samples of one target."""
    k, n, both, replicates = task
    law, found = LAWS["S2, vMF 30"], []

    def ask(rng: np.random.Generator) -> bool:
        x, logs = law.draw(k, n, rng)
        y, others = law.draw(k, n, rng) if both else (law.target(n, rng), None)
        told = (logs, others)
        return he.two_sample_test(x, y, log_weights=told, draws=DRAWS, rng=rng).pvalue <= LEVEL

    for seed in np.random.SeedSequence([3, round(10 * k), n, both]).spawn(replicates):
        found.append(_asked(lambda seed=seed: ask(np.random.default_rng(seed))))
    return _cell("two samples", "both weighted" if both else "one weighted", k, n, found)


def truth_of(name: str) -> float:
    """Places of the target: for a normal law on R^D with standard deviation 1, (1 + 1 / (2 t))^(D/2)."""
    law = LAWS[name]
    if isinstance(law.space, he.Euclidean):
        return float((1 + 0.5 / law.scale["times"]) ** (law.space.dim / 2))
    x = law.target(300_000, np.random.default_rng(2026))
    return float(he.population_profile(x, space=law.space, **law.scale).places.estimate[0])


def run(pool: Any, full: bool) -> list[Cell]:
    """All cells."""
    count = 1000 if full else 100
    truths = dict(zip(LAWS, pool.map(truth_of, LAWS, chunksize=1), strict=True))
    found = pool.map(pairs, [(*design, 3 * count // 4) for design in PAIRS], chunksize=1)
    found += pool.map(uniform, [(*design, 3 * count // 4) for design in UNIFORM], chunksize=1)
    tasks = [
        (name, k, n, count // 4 if n == 1000 and name.startswith("R3") else count, truths[name])  # all pairs there
        for n in SIZES[::-1]
        for name in LAWS
        for k in INDICES
    ]
    return found + pool.map(bands, tasks, chunksize=1)


def table(cells: list[Cell]) -> str:
    """Markdown, the worst first."""
    lines = [
        "| asked for | design | true k | n | given | given and wrong | without a warning | replicates | falls short |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in sorted(cells, key=lambda cell: (-cell.wrong, cell.given)):
        k = "" if np.isnan(cell.k) else f"{cell.k:g}"
        numbers = f"{cell.given:.0f} | {cell.wrong:.1f} | {cell.silent:.1f} | {cell.replicates}"
        lines.append(f"| {cell.question} | {cell.design} | {k} | {cell.n} | {numbers} | {cell.short} |")
    return "\n".join(lines)


def tables(full: bool) -> str:
    """Answers of bands and both tests, in per cent of all calls, as Markdown."""
    with processes() as pool:
        cells = run(pool, full)
    short = sum(bool(cell.short) for cell in cells)
    return f"{len(cells)} cells, in per cent of all calls; {short} fall short.\n\n{table(cells)}"


if __name__ == "__main__":
    print(tables("--full" in sys.argv[1:]))
