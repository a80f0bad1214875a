"""What importance weights with heavy tails do to bands and tests: python benchmarks/calibration_tails.py [--full].

    python benchmarks/calibration_tails.py --only bands --clouds 100 --seed 6   # one part, in one process
    python benchmarks/calibration_tails.py --only bands --clouds 60 --seed 8    # the rule as it is, on new clouds
    python benchmarks/calibration_tails.py --only again --clouds 200 --seed 5   # cells of bands that were in doubt

A proposal narrower than the target gives weights whose true tail index k is known. Of all calls, in how many is an
answer given, in how many is it given and wrong (the band misses, or the test rejects a true hypothesis at 5 %), and in
how many is it given and wrong without a warning? The designs were chosen before their figures were seen.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import heatess as he
from calibration_bands import processes
from heatess.base.errors import InputError
from heatess.inference.policy import standing

INDICES, SIZES = (0.1, 0.3, 0.5, 0.6, 0.7, 0.9), (100, 300, 1000)
NORTH, LEVEL, DRAWS = np.array([0.0, 0.0, 1.0]), 0.05, 99

#: What is asked, in per cent of all calls: most that are given and wrong, by the index from which on it holds; least
#: that are given for an index up to 0.3 and n >= 300; most rejections of a true hypothesis.
MOST_WRONG, LEAST_GIVEN, MOST_REJECTED = {0.7: 12.0, 0.5: 20.0}, 75.0, 8.0


class Law(NamedTuple):
    """A target, a proposal for each index, and the scale."""

    space: he.Space
    draw: Callable[[float, int, np.random.Generator], tuple[np.ndarray, np.ndarray]]  # points, log-weights
    target: Callable[[float, int, np.random.Generator], np.ndarray]
    scale: dict[str, float]


def _mode(kappa: float, dim: int, scale: float) -> Law:
    """One von Mises-Fisher mode."""
    pole = np.eye(dim + 1)[-1]

    def draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        proposal = kappa / (1 - k)
        x = he.samplers.von_mises_fisher(n, pole, proposal, rng=rng)
        return x, (kappa - proposal) * (x[:, -1] - 1)

    def target(k: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return he.samplers.von_mises_fisher(n, pole, kappa, rng=rng)

    return Law(he.Sphere(dim), draw, target, {"angles": scale})


def _halo(core: float, halo: float, share: float, scale: float) -> Law:
    """The target has a core, and a halo with a *share* of the mass that decides the tail."""

    def draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        proposal = halo / (1 - k)
        x = he.samplers.von_mises_fisher(n, NORTH, proposal, rng=rng)
        inner, outer, own = (_log_density(kappa, x) for kappa in (core, halo, proposal))
        return x, np.logaddexp(np.log(1 - share) + inner, np.log(share) + outer) - own

    def target(k: float, n: int, rng: np.random.Generator) -> np.ndarray:
        few = rng.binomial(n, share)
        parts = [he.samplers.von_mises_fisher(m, NORTH, kappa, rng=rng) for m, kappa in ((n - few, core), (few, halo))]
        return np.concatenate(parts)

    return Law(he.Sphere(2), draw, target, {"angles": scale})


def _log_density(kappa: float, x: np.ndarray) -> np.ndarray:
    return np.log(kappa / (1 - np.exp(-2 * kappa))) + kappa * (x[:, 2] - 1)


def _circle_draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    proposal = 20 / (1 - k)
    angle = rng.vonmises(0, proposal, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]), (20 - proposal) * (np.cos(angle) - 1)


def _circle(k: float, n: int, rng: np.random.Generator) -> np.ndarray:
    angle = rng.vonmises(0, 20.0, n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _flat_draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(scale=np.sqrt(1 - k), size=(n, 3))
    return x, 0.5 * np.sum(x * x, axis=1) * (1 / (1 - k) - 1)


def _modes(kappa: float, centres: list[list[float]], shares: list[float]) -> Law:
    """Several modes, the proposal with the right places and shares, but each too narrow."""
    axes, share = np.array(centres) / np.linalg.norm(centres, axis=1, keepdims=True), np.array(shares)

    def cloud(own: float, n: int, rng: np.random.Generator) -> np.ndarray:
        parts = zip(rng.multinomial(n, share), axes, strict=True)
        return np.concatenate([he.samplers.von_mises_fisher(int(m), axis, own, rng=rng) for m, axis in parts if m])

    def log_density(own: float, x: np.ndarray) -> np.ndarray:
        return np.logaddexp.reduce(np.log(share)[:, None] + np.log(own) + own * (axes @ x.T - 1))

    def draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = cloud(kappa / (1 - k), n, rng)
        return x, log_density(kappa, x) - log_density(kappa / (1 - k), x)

    return Law(he.Sphere(2), draw, lambda k, n, rng: cloud(kappa, n, rng), {"angles": 20.0})


def _flat_modes(k: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(scale=np.sqrt(1 - k), size=(n, 2)) + 5.0 * np.multiply.outer(rng.random(n) < 0.2, [1.0, 0.0])


def _flat_modes_draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = _flat_modes(k, n, rng)
    square = np.stack([np.sum(x * x, axis=1), np.sum((x - [5.0, 0.0]) ** 2, axis=1)])
    target, own = (np.logaddexp.reduce(np.log([[0.8], [0.2]]) - square / (2 * variance)) for variance in (1.0, 1.0 - k))
    return x, target - own


def _torus_draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Too narrow along one of two coordinates."""
    x = np.column_stack([rng.vonmises(0, 8 / (1 - k), n), rng.vonmises(0, 20.0, n)])
    return x, (8 - 8 / (1 - k)) * (np.cos(x[:, 0]) - 1)


def _torus(k: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([rng.vonmises(0, kappa, n) for kappa in (8.0, 20.0)])


def _student(freedom: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, 2)) / np.sqrt(rng.chisquare(freedom, (n, 1)) / freedom)


def _student_draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Polynomial tails: Student's law of 4 degrees of freedom from that of 4 / (1 - k)."""
    x = _student(4 / (1 - k), n, rng)
    square = np.sum(x * x, axis=1)
    own, target = (-(freedom / 2 + 1) * np.log1p(square / freedom) for freedom in (4 / (1 - k), 4.0))
    return x, target - own


def _pole_draw(k: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The density of the target grows as (1 - z)^(-k) towards a pole, where the uniform proposal is not thin."""
    x = he.samplers.uniform(n, rng=rng)
    return x, -k * np.log1p(-x[:, 2])


def _pole(k: float, n: int, rng: np.random.Generator) -> np.ndarray:
    x = he.samplers.uniform(n, rng=rng)
    z = 1 - 2 * rng.random(n) ** (1 / (1 - k))
    x[:, :2] *= np.sqrt((1 - z * z) / (1 - x[:, 2] ** 2))[:, None]
    x[:, 2] = z
    return x


#: The first four were held out when the rule of 25 carriers was judged, the next six for that on the edge of the cloud.
#: It refused too much of "S2, two modes", so clouds of several parts are judged by weights alone now; the last two are
#: held out for that. That a low index at the edge counts more than Pareto k, and that
#: 35 carriers are needed where the edge tells nothing, was chosen on 18 laws that are not here.
LAWS = {
    "S2, vMF 30": _mode(30.0, 2, 20.0),
    "S2, core and halo": _halo(60.0, 6.0, 0.1, 20.0),
    "S1, von Mises 20": Law(he.Sphere(1), _circle_draw, _circle, {"angles": 20.0}),
    "R3, normal": Law(he.Euclidean(3), _flat_draw, lambda k, n, rng: rng.normal(size=(n, 3)), {"times": 0.125}),
    "S2, core 100, halo 10": _halo(100.0, 10.0, 0.2, 15.0),
    "S5, vMF 60": _mode(60.0, 5, 25.0),
    "S2, two modes": _modes(40.0, [[0, 0, 1], [np.sqrt(0.75), 0, 0.5]], [0.7, 0.3]),
    "T2, one coordinate": Law(he.Torus(2), _torus_draw, _torus, {"times": 0.02}),
    "R2, Student 4": Law(he.Euclidean(2), _student_draw, lambda k, n, rng: _student(4.0, n, rng), {"times": 0.25}),
    "S2, pole": Law(he.Sphere(2), _pole_draw, _pole, {"angles": 40.0}),
    "S2, three modes": _modes(60.0, [[0, 0, 1], [0, 1, 0], [1, 0, 0.3]], [0.45, 0.35, 0.2]),
    "R2, two modes": Law(
        he.Euclidean(2), _flat_modes_draw, lambda k, n, rng: _flat_modes(0.0, n, rng), {"times": 0.125}
    ),
}

#: Cells of bands that fell short with 30 clouds, and the four nearest to it: are they short with 200 new ones?
AGAIN = [
    ("T2, one coordinate", 0.7, 100),
    ("S2, core and halo", 0.9, 100),
    ("S5, vMF 60", 0.3, 300),
    ("R2, Student 4", 0.3, 300),
    ("S2, three modes", 0.5, 300),
    ("S2, pole", 0.7, 300),
    ("T2, one coordinate", 0.7, 300),
    ("T2, one coordinate", 0.3, 300),
]

#: Uniform targets: the sphere, the concentration of the von Mises-Fisher proposal, and n. These weights have an upper
#: limit.
UNIFORM = [(2, kappa, n) for kappa in (0.5, 1.0, 2.0, 2.5, 3.0, 4.0) for n in (300, 1000)]
UNIFORM += [(1, kappa, n) for kappa in (1.0, 2.0, 3.0) for n in (300, 1000)]

#: Two samples of one target: both weighted, or one of them drawn from the target itself.
PAIRED = ("S2, vMF 30", "S2, core 100, halo 10", "T2, one coordinate", "R2, Student 4")
PAIRS = [
    (law, k, n, both) for law in PAIRED for k in (0.3, 0.5, 0.6, 0.7, 0.9) for n in (100, 300) for both in (True, False)
]


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


def bands(task: tuple[str, float, int, int, float, int]) -> Cell:
    """`population_profile` of one law, index and n."""
    name, k, n, replicates, truth, seed = task
    law, found = LAWS[name], []

    def ask(rng: np.random.Generator) -> bool | None:
        x, logs = law.draw(k, n, rng)
        measure = he.Measure(x, log_weights=logs, space=law.space)
        if standing(measure, "importance").refusal:  # as below, in less time
            return None
        band = he.population_profile(measure, weights_are="importance", **law.scale)
        if band.withheld is not None:
            return None
        return not band.places.lower[0] <= truth <= band.places.upper[0]

    for each in np.random.SeedSequence([seed, sum(map(ord, name)), round(10 * k), n]).spawn(replicates):
        found.append(_asked(lambda each=each: ask(np.random.default_rng(each))))
    return _cell("bands", name, k, n, found)


def uniform(task: tuple[int, float, int, int, int]) -> Cell:
    """`uniformity_test` of a uniform target."""
    dim, kappa, n, replicates, seed = task
    found = []

    def ask(rng: np.random.Generator) -> bool:
        x = he.samplers.von_mises_fisher(n, np.eye(dim + 1)[-1], kappa, rng=rng)
        logs = -kappa * x[:, -1]
        return he.uniformity_test(x, log_weights=logs, weights_are="importance", draws=DRAWS, rng=rng).pvalue <= LEVEL

    for each in np.random.SeedSequence([1 + seed, dim, round(10 * kappa), n]).spawn(replicates):
        found.append(_asked(lambda each=each: ask(np.random.default_rng(each))))
    return _cell("uniformity", f"S{dim}, proposal vMF {kappa:g}", np.nan, n, found)


def pairs(task: tuple[str, float, int, bool, int, int]) -> Cell:
    """`two_sample_test` of two samples of one target."""
    name, k, n, both, replicates, seed = task
    law, found = LAWS[name], []

    def ask(rng: np.random.Generator) -> bool:
        x, logs = law.draw(k, n, rng)
        y, others = law.draw(k, n, rng) if both else (law.target(k, n, rng), None)
        told = (logs, others)
        return he.two_sample_test(x, y, log_weights=told, space=law.space, draws=DRAWS, rng=rng).pvalue <= LEVEL

    for each in np.random.SeedSequence([2 + seed, sum(map(ord, name)), round(10 * k), n, both]).spawn(replicates):
        found.append(_asked(lambda each=each: ask(np.random.default_rng(each))))
    return _cell("two samples", f"{name}, {'both' if both else 'one'} weighted", k, n, found)


def truth_of(task: tuple[str, float]) -> float:
    """Places of the target: on R^D, k_2t(x, x) / A = 1 / E exp(-|x - y|^2 / (8 t)) over pairs of draws."""
    name, k = task
    law, rng = LAWS[name], np.random.default_rng(2026)
    if isinstance(law.space, he.Euclidean):
        x, y = (law.target(k, 4_000_000, rng) for _ in range(2))
        return float(1 / np.mean(np.exp(-np.sum((x - y) ** 2, axis=1) / (8 * law.scale["times"]))))
    x = law.target(k, 300_000 if law.space.dim < 4 else 20_000, rng)
    return float(he.population_profile(x, space=law.space, **law.scale).places.estimate[0])


def cells_of(part: str, count: int, seed: int, each: Callable[..., Any] = map) -> list[Cell]:
    """The cells of a part, told as they come where each is done by itself."""
    if part == "uniformity":
        found = each(uniform, [(*design, count, seed) for design in UNIFORM])
    elif part == "pairs":
        found = each(pairs, [(*design, count, seed) for design in PAIRS])
    else:
        cells = AGAIN if part == "again" else [(name, k, n) for n in SIZES for name in LAWS for k in INDICES]
        known = {(name, k): (name, k if name == "S2, pole" else 0.5) for name, k, _ in cells}  # others: one for all k
        distinct = list(dict.fromkeys(known.values()))
        truths = dict(zip(distinct, each(truth_of, distinct), strict=True))
        found = each(bands, [(name, k, n, count, truths[known[name, k]], seed) for name, k, n in cells])
    told = []
    for cell in found:
        told.append(cell)
        print(*cell, sep=", ", file=sys.stderr, flush=True)
    return told


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
    count = 1000 if full else 100
    with processes() as pool:
        cells = cells_of("pairs", count // 2, 1, pool.map) + cells_of("uniformity", 3 * count // 4, 1, pool.map)
        cells += cells_of("bands", count, 1, pool.map)
    short = sum(bool(cell.short) for cell in cells)
    return f"{len(cells)} cells, in per cent of all calls; {short} fall short.\n\n{table(cells)}"


def main() -> None:
    """All cells in two processes, or those of a part in this one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more replicates")
    parser.add_argument("--only", choices=["bands", "again", "pairs", "uniformity"])
    parser.add_argument("--clouds", type=int, default=100, help="for --only")
    parser.add_argument("--seed", type=int, default=1, help="for --only")
    given = parser.parse_args()
    print(table(cells_of(given.only, given.clouds, given.seed)) if given.only else tables(given.full))


if __name__ == "__main__":
    main()
