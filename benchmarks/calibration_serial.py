"""Sizes and powers of both tests on Markov chains: `python benchmarks/calibration_serial.py [--full]`.

Designs were chosen before any of these figures was seen. Both tests keep blocks of draws together; beside them, in the
tables of power, is what thinning by three autocorrelation times gives.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

import heatess as he

SEED, LEVEL, DRAWS = 47, 0.05, 99

#: Replicates of a full run and of a quick one, for power fewer than half as many; sizes that may not be left.
FULL, QUICK, SIZES = 200, 20, (0.03, 0.07)

Rng = np.random.Generator
Cloud = np.ndarray
Make = Callable[[Rng], Cloud]


def normalised(x: Cloud) -> Cloud:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@cache
def step_of(tau: float, d: int) -> float:
    """Standard deviation of steps in R^d, projected to the sphere, for an autocorrelation time of the coordinates."""
    noise = np.random.default_rng(0).normal(size=(20_000, d))

    def excess(step: float) -> float:
        moved = step * noise
        moved[:, 0] += 1
        cosine = float(normalised(moved)[:, 0].mean())
        return (1 + cosine) / (1 - cosine) - tau

    return brentq(excess, 0.01, 30)


def walk(rng: Rng, *, tau: float, draws: int, chains: int = 1, kappa: float = 0.0, d: int = 3) -> Cloud:
    """A random walk that steps so that its coordinates have the time *tau* for kappa = 0; Metropolis otherwise.

    The target is von Mises-Fisher around the first axis. Shape (chains, draws, d).
    """
    found, step = np.empty((chains, draws, d)), step_of(tau, d)
    x = (
        he.samplers.von_mises_fisher(chains, np.eye(d)[0], kappa, rng=rng)
        if kappa
        else normalised(rng.normal(size=(chains, d)))
    )
    for draw in range(draws):
        y = normalised(x + step * rng.normal(size=x.shape))
        if kappa:
            y = np.where(np.log(rng.random((chains, 1))) < kappa * (y[:, :1] - x[:, :1]), y, x)
        found[:, draw] = x = y
    return found


def lazy(rng: Rng, make: Callable[[int], Cloud], *, tau: float, draws: int) -> Cloud:
    """Independent draws, each kept so long that the autocorrelation time is *tau* at every scale."""
    fresh = rng.random(draws) < 2 / (tau + 1)
    fresh[0] = True
    return make(int(fresh.sum()))[np.cumsum(fresh) - 1][None]


def uniform(rng: Rng, n: int) -> Cloud:
    return he.samplers.uniform(n, rng=rng)


def vmf(rng: Rng, kappa: float, n: int) -> Cloud:
    return he.samplers.von_mises_fisher(n, [1, 0, 0], kappa, rng=rng)


def modes(rng: Rng, share: float, n: int) -> Cloud:
    found, other = vmf(rng, 30.0, n), rng.random(n) < share
    found[other] = he.samplers.von_mises_fisher(int(other.sum()), [0, 0, 1], 30.0, rng=rng)
    return found


def lazy_uniform(rng: Rng, tau: float, draws: int) -> Cloud:
    return lazy(rng, partial(uniform, rng), tau=tau, draws=draws)


def lazy_modes(rng: Rng, share: float, tau: float, draws: int) -> Cloud:
    return lazy(rng, partial(modes, rng, share), tau=tau, draws=draws)


#: Clouds of chains, (chains, draws, d), whose law is uniform.
EVEN: dict[str, Make] = {
    "independent draws, 200": lambda rng: uniform(rng, 200)[None],
    "walk, tau 2, 400 draws": partial(walk, tau=2, draws=400),
    "walk, tau 5, 200 draws": partial(walk, tau=5, draws=200),
    "walk, tau 5, 1,000 draws": partial(walk, tau=5, draws=1000),
    "walk, tau 20, 4 x 250 draws": partial(walk, tau=20, draws=250, chains=4),
    "walk, tau 50, 2,000 draws": partial(walk, tau=50, draws=2000),
    "walk, tau 50, 4 x 1,250 draws": partial(walk, tau=50, draws=1250, chains=4),
    "lazy, tau 10, 1,000 draws": lambda rng: lazy_uniform(rng, 10, 1000),
    "lazy, tau 50, 3,000 draws": lambda rng: lazy_uniform(rng, 50, 3000),
    "walk on the circle, tau 10, 800 draws": partial(walk, tau=10, draws=800, d=2),
}

#: Pairs of clouds with one law.
SAME: dict[str, tuple[Make, Make]] = {
    "walks, tau 5, 500 and 500 draws": (partial(walk, tau=5, draws=500), partial(walk, tau=5, draws=500)),
    "walks, tau 50, 2,000 and 2,000": (partial(walk, tau=50, draws=2000), partial(walk, tau=50, draws=2000)),
    "walks, tau 20, 4 x 250 and 4 x 500": (
        partial(walk, tau=20, draws=250, chains=4),
        partial(walk, tau=20, draws=500, chains=4),
    ),
    "walk, tau 20, 1,000, and 100 independent": (
        partial(walk, tau=20, draws=1000),
        lambda rng: uniform(rng, 100)[None],
    ),
    "Metropolis, vMF(10), 4 x 500 and 4 x 500": (
        partial(walk, tau=10, draws=500, chains=4, kappa=10.0),
        partial(walk, tau=10, draws=500, chains=4, kappa=10.0),
    ),
    "Metropolis with steps of two sizes, vMF(10), 1,000 and 3,000": (
        partial(walk, tau=5, draws=1000, kappa=10.0),
        partial(walk, tau=30, draws=3000, kappa=10.0),
    ),
    "lazy, two modes, tau 10 and 10, 1,000 and 1,000": (
        lambda rng: lazy_modes(rng, 0.3, 10, 1000),
        lambda rng: lazy_modes(rng, 0.3, 10, 1000),
    ),
    "lazy, two modes, tau 3 and 30, 300 and 3,000": (
        lambda rng: lazy_modes(rng, 0.3, 3, 300),
        lambda rng: lazy_modes(rng, 0.3, 30, 3000),
    ),
}

#: What is not uniform, and pairs that differ.
UNEVEN: dict[str, Make] = {
    "Metropolis, vMF(0.5), tau 5, 1,000 draws": partial(walk, tau=5, draws=1000, kappa=0.5),
    "Metropolis, vMF(0.7), tau 20, 4 x 500 draws": partial(walk, tau=20, draws=500, chains=4, kappa=0.7),
    "lazy, 4 % of vMF(300), tau 10, 2,000 draws": lambda rng: lazy(rng, partial(spiked, rng), tau=10, draws=2000),
}
APART: dict[str, tuple[Make, Make]] = {
    "Metropolis, vMF(5) and vMF(8), 4 x 500": (
        partial(walk, tau=10, draws=500, chains=4, kappa=5.0),
        partial(walk, tau=10, draws=500, chains=4, kappa=8.0),
    ),
    "lazy, two modes, 30 and 50 %, tau 10, 1,000": (
        lambda rng: lazy_modes(rng, 0.3, 10, 1000),
        lambda rng: lazy_modes(rng, 0.5, 10, 1000),
    ),
    "walk, tau 20, 4 x 500, and 100 of vMF(0.8)": (
        partial(walk, tau=20, draws=500, chains=4),
        lambda rng: vmf(rng, 0.8, 100)[None],
    ),
}


def spiked(rng: Rng, n: int) -> Cloud:
    found, spike = uniform(rng, n), rng.random(n) < 0.04
    found[spike] = vmf(rng, 300.0, int(spike.sum()))
    return found


def rows_of(cloud: Cloud) -> dict[str, object]:
    """Points as rows, and their chains."""
    return {"points": cloud.reshape(-1, cloud.shape[-1]), "chains": len(cloud)}


def thinned(cloud: Cloud) -> Cloud:
    """One draw in three autocorrelation times at the worst scale."""
    tau = float(np.nanmax(he.chain_ess(**rows_of(cloud)).autocorrelation_times))
    return cloud[:, :: math.ceil(3 * tau) if tau > 1.05 else 1].reshape(-1, cloud.shape[-1])


def even_p(clouds: list[Cloud], rng: Rng, thin: bool) -> float:
    (cloud,) = clouds
    if thin:
        return he.uniformity_test(thinned(cloud), draws=DRAWS, rng=rng).pvalue
    return he.uniformity_test(**rows_of(cloud), draws=DRAWS, rng=rng).pvalue


def same_p(clouds: list[Cloud], rng: Rng, thin: bool) -> float:
    if thin:
        return he.two_sample_test(*(thinned(cloud) for cloud in clouds), draws=DRAWS, rng=rng).pvalue
    a, b = (rows_of(cloud) for cloud in clouds)
    return he.two_sample_test(a["points"], b["points"], chains=(a["chains"], b["chains"]), draws=DRAWS, rng=rng).pvalue


class Cell(NamedTuple):
    """How often one design was rejected, and refused."""

    rejected: float
    refused: float


def rejections(number: int, makes: tuple[Make, ...], test: Callable[..., float], count: int, thin: bool) -> Cell:
    rejected = refused = 0
    for replicate in range(count):
        rng = np.random.default_rng([SEED, number, replicate])
        clouds = [make(rng) for make in makes]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", he.CalibrationWarning)
                rejected += test(clouds, rng, thin) <= LEVEL
        except he.InputError:
            refused += 1
    return Cell(rejected / count, refused / count)


def tables(full: bool, clouds: int | None = None) -> str:
    """Sizes, the farthest from 5 % first; powers of blocks and of thinning, the least gain first."""
    replicates = clouds or (FULL if full else QUICK)
    sized, powered = [], []
    groups = [(EVEN, even_p, "uniformity"), (SAME, same_p, "two samples"), (UNEVEN, even_p, "uniformity")]
    for group, (designs, test, words) in enumerate([*groups, (APART, same_p, "two samples")]):
        for place, (name, makes) in enumerate(designs.items()):
            number, own = 100 * group + place, makes if isinstance(makes, tuple) else (makes,)
            count = replicates if group < 2 else 2 * replicates // 5
            cell = rejections(number, own, test, count, thin=False)
            if group < 2:
                outside = "" if SIZES[0] <= cell.rejected <= SIZES[1] else " **outside**"
                told = f"{100 * cell.rejected:.1f}{outside} | {100 * cell.refused:.0f}"
                sized.append((-abs(cell.rejected - LEVEL), f"| {words}: {name} | {told} |"))
            else:
                thin = rejections(number, own, test, count, thin=True)
                told = f"{100 * cell.rejected:.0f} | {100 * thin.rejected:.0f}"
                powered.append((cell.rejected - thin.rejected, f"| {words}: {name} | {told} |"))
    lines = ["| one law | rejected at 5 %, % | refused, % |", "|---|---|---|", *(row for _, row in sorted(sized))]
    lines += ["", "| different laws | blocks, rejected, % | thinned |", "|---|---|---|"]
    return "\n".join([*lines, *(row for _, row in sorted(powered))])


if __name__ == "__main__":
    print(tables("--full" in sys.argv))
