"""How often `uniformity_test` rejects: for uniform points, which should be 5 %, and for other laws.

    python benchmarks/calibration_uniformity.py [--full]

prints Markdown tables. The designs were chosen before their figures were seen. Where the test draws at random, 100
data sets in a row share their draws, which changes nothing on average; tails of the limit law come from a table.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy.interpolate import CubicSpline

import heatess as he
from heatess.inference import uniform_null, uniformity
from heatess.inference.combined_p_values import LimitLaw, from_draws
from heatess.inference.uniformity_families import Family, heat_family, sobolev_family
from heatess.inference.uniformity_statistics import sobolev
from heatess.measures.measure import Measure

SIZE, SHARED, RTOL = 0.05, 100, 1e-6

SPACES: dict[str, he.Space] = {"S1": he.Sphere(1), "S2": he.Sphere(2), "S9": he.Sphere(9), "SO(3)": he.Rotations()}

Sampler = Callable[[np.random.Generator], np.ndarray]


def acg(*spread: float) -> Callable[[int, np.random.Generator], np.ndarray]:
    """Angular central Gaussian law: normal vectors with these variances, scaled to length one."""

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        x = rng.standard_normal((n, len(spread))) * np.sqrt(spread)
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    return draw


def mode(kappa: float, dim: int = 2, sign: float = 1.0) -> Callable[[int, np.random.Generator], np.ndarray]:
    mean = np.eye(dim + 1)[0] * sign
    return lambda n, rng: he.samplers.von_mises_fisher(n, mean, kappa, rng=rng)


def mixed(parts: list, shares: list[float]) -> Callable[[int, np.random.Generator], np.ndarray]:
    return lambda n, rng: he.samplers.mixture(n, parts, shares, rng=rng)


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    return he.samplers.uniform(n, rng=rng)


POWER = {
    "S2, vMF, kappa 0.5": (he.Sphere(2), mode(0.5)),
    "S2, axial, ACG(1, 1, 2.5)": (he.Sphere(2), acg(1, 1, 2.5)),
    "S2, girdle, ACG(2.5, 2.5, 1)": (he.Sphere(2), acg(2.5, 2.5, 1)),
    "S2, 8 % patch, kappa 60": (he.Sphere(2), mixed([uniform, mode(60.0)], [0.92, 0.08])),
    "S2, four modes, kappa 8": (he.Sphere(2), lambda n, rng: he.samplers.tetrahedral(n, 8.0, rng=rng)),
    "S9, vMF, kappa 2": (he.Sphere(9), mode(2.0, 9)),
    "S1, two modes, kappa 1.5": (he.Sphere(1), mixed([mode(1.5, 1), mode(1.5, 1, -1.0)], [0.5, 0.5])),
}


class Table:
    """p-values of the limit law, interpolated."""

    def __init__(self, law: LimitLaw) -> None:
        self.law, self._parts = law, []
        for mixture in law.mixtures:
            deviation = math.sqrt(mixture.variance)
            left = 0.99 * min(mixture.mean / deviation, 6.0)
            z = np.concatenate([np.linspace(-left, 6, 60), np.linspace(6.5, 30, 12)])
            at = mixture.mean + deviation * z
            self._parts.append((at, CubicSpline(at, [mixture.tail(float(x)).log for x in at])))

    def pvalues(self, values: np.ndarray) -> np.ndarray:
        found = []
        for (at, logs), mixture, value, beyond in zip(
            self._parts, self.law.mixtures, values, self.law._levels.beyond, strict=True
        ):
            x = mixture.mean + (value - beyond - mixture.mean) / self.law._spread
            found.append(math.exp(min(float(logs(np.clip(x, at[0], at[-1]))), 0.0)))
        return np.array(found)


def rejections(measure: Measure, repeats: int, rng: np.random.Generator) -> tuple[str, float]:
    """The method that the test chooses for these weights, and the share of uniform data sets that it rejects."""
    at = uniformity.default_scales(measure)
    family, hits = heat_family(measure, at.times), 0

    def values() -> np.ndarray:
        return family.values(uniform_null.uniform_measure(measure, rng), RTOL)

    law = uniform_null.limit_law(measure, family)
    if law is not None and uniform_null.limit_holds(measure, at):
        table = Table(law)
        hits = sum(law.combined(table.pvalues(values())) <= SIZE for _ in range(repeats))
        return "limit", hits / repeats
    for _ in range(repeats // SHARED):
        drawn = np.array([values() for _ in range(uniform_null.DRAWS)])
        hits += sum(from_draws(values(), drawn)[1] <= SIZE for _ in range(SHARED))
    return "monte carlo", hits / repeats


def size_table(full: bool) -> str:
    lines = [
        "| space | n | weights | ESS | method | rejected at 5 % (%) | within |",
        "|---|---|---|---|---|---|---|",
    ]
    for number, (name, space) in enumerate(SPACES.items()):
        for n in (20, 200, 2000):
            for weights in ("equal", "gamma(1)"):
                rng = np.random.default_rng([number, n, len(weights)])
                w = None if weights == "equal" else rng.gamma(1.0, size=n)
                measure = Measure(space.uniform(n, rng), w, space=space)
                repeats = (10_000 if n < 2000 else 4000) if full else (500 if n < 2000 else 150)
                method, share = rejections(measure, repeats, rng)
                allowed = 1.5 + 200 * math.sqrt(SIZE * (1 - SIZE) / repeats)
                verdict = "yes" if abs(100 * share - 5) <= allowed else "**no**"
                lines.append(
                    f"| {name} | {n} | {weights} | {measure.ess:.0f} | {method} | {100 * share:.1f} | {verdict} |"
                )
    return "\n".join(lines)


def importance_table(full: bool) -> str:
    """Uniform target, points from a von Mises-Fisher proposal: the target is uniform, the points are not."""
    lines = ["| proposal | n | ESS | rejected at 5 % (%) |", "|---|---|---|---|"]
    repeats = 1000 if full else 100
    for kappa, n in ((0.5, 100), (1.0, 100), (1.0, 200), (2.0, 250)):
        rng, hits, sizes = np.random.default_rng([n, int(10 * kappa)]), 0, []
        for _ in range(repeats):
            x = he.samplers.von_mises_fisher(n, [0, 0, 1], kappa, rng=rng)
            try:
                found = he.uniformity_test(x, log_weights=-kappa * x[:, 2], draws=199, rng=rng)
            except he.InputError:  # an ESS below the limit
                continue
            sizes.append(found.ess)
            hits += found.pvalue <= SIZE
        lines.append(f"| vMF, kappa {kappa} | {n} | {np.mean(sizes):.0f} | {100 * hits / len(sizes):.1f} |")
    return "\n".join(lines)


def power_table(full: bool, n: int = 100) -> str:
    """Rejections at 5 % of one test beside others; the best single scale is known only afterwards."""
    names = ["this test", "Rayleigh", "Bingham", "Gine F", "best scale", "of the best"]
    lines = [f"| law, n = {n} | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for number, (name, (space, draw)) in enumerate(POWER.items()):
        rng = np.random.default_rng([7, number])
        start = Measure(draw(n, rng), space=space)
        families: list[Family] = [heat_family(start, uniformity.default_scales(start).times)]
        families.append(sobolev_family(space, sobolev(space, "gine_f")))
        tables = [Table(law) for family in families if (law := uniform_null.limit_law(start, family)) is not None]
        ours, single = [], []
        for _ in range(2000 if full else 200):
            measure = Measure(draw(n, rng), space=space)
            both = [table.pvalues(f.values(measure, RTOL)) for f, table in zip(families, tables, strict=True)]
            ours.append(tables[0].law.combined(both[0]) <= SIZE)
            single.append(np.concatenate(both) <= SIZE)
        hits = 100 * np.mean(single, axis=0)
        cut = families[0].scales
        others = [float(hits[cut]), float(hits[cut + 1]), float(hits[-1]), float(hits[:cut].max())]
        own = 100 * float(np.mean(ours))
        share = own / max(others)
        mark = f"{share:.2f}" if share >= 0.7 else f"**{share:.2f}**"
        lines.append(f"| {name} | {own:.0f} | " + " | ".join(f"{value:.0f}" for value in others) + f" | {mark} |")
    return "\n".join(lines)


def parts(full: bool) -> Iterator[str]:
    """All tables, one after the other."""
    yield "Share of uniform data sets that are rejected (allowed: 5 +- 1.5 points and twice the Monte Carlo error):"
    yield size_table(full)
    yield "The same on S2 with importance weights, target uniform, signs drawn at random (method `multiplier`):"
    yield importance_table(full)
    yield "Power at 5 %, in per cent. Below 0.7 of the best is marked:"
    yield power_table(full)


def tables(full: bool) -> str:
    """All tables, as Markdown."""
    return "\n\n".join(parts(full))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="as many repetitions as the published figures")
    full, start = parser.parse_args().full, time.perf_counter()
    for part in parts(full):
        print(part, end="\n\n", flush=True)
    print(f"{time.perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    main()
