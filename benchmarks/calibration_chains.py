"""How often `chain_ess` warns of good chains, and of others: `python benchmarks/calibration_chains.py [--full]`.

Designs were chosen before any of these figures was seen. A warning of good chains is a fault, and silence otherwise.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np

import heatess as he

SEED = 31
ANGLES = [20.0, 45.0, 90.0, 150.0]

#: Most good chains that may be warned of, and fewest of the others that must be.
GOOD, OTHERS = 0.05, 0.95

Design = Callable[[np.random.Generator], np.ndarray]


def walk(rng: np.random.Generator, chains: int, draws: int, kappa: float, step: float) -> np.ndarray:
    """Metropolis chains for von Mises-Fisher(kappa) around the north pole, started there; shape (chains, draws, 3)."""
    found = np.empty((chains, draws, 3))
    for chain in range(chains):
        x = he.samplers.von_mises_fisher(1, [0, 0, 1], kappa, rng=rng)[0]
        noise, uniform = rng.normal(size=(draws, 3)), np.log(rng.random(draws))
        for draw in range(draws):
            y = x + step * noise[draw]
            y /= np.linalg.norm(y)
            x = y if uniform[draw] < kappa * (y[2] - x[2]) else x
            found[chain, draw] = x
    return found


def around(rng: np.random.Generator, shape: tuple[int, int], mean: list[float], kappa: float) -> np.ndarray:
    return he.samplers.von_mises_fisher(shape[0] * shape[1], mean, kappa, rng=rng).reshape(*shape, 3)


def two_modes(rng: np.random.Generator, shape: tuple[int, int], share: float, opposite: list[float]) -> np.ndarray:
    found = around(rng, shape, [0, 0, 1], 20.0)
    other = rng.random(shape) < share
    found[other] = he.samplers.von_mises_fisher(int(other.sum()), opposite, 20.0, rng=rng)
    return found


def stuck(rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([around(rng, (2, 500), [0, 0, z], 20.0) for z in (1, -1)])


def misses_a_mode(rng: np.random.Generator) -> np.ndarray:
    found = two_modes(rng, (4, 1000), 0.1, [1, 0, 0])
    found[2] = around(rng, (1, 1000), [0, 0, 1], 20.0)[0]
    return found


def polar_and_girdle(rng: np.random.Generator) -> np.ndarray:
    polar = two_modes(rng, (2, 500), 0.5, [0, 0, -1])
    girdle = he.samplers.girdle(1000, rng=rng).reshape(2, 500, 3)
    return np.concatenate([polar, girdle])


def drifts(rng: np.random.Generator) -> np.ndarray:
    found = around(rng, (4, 500), [0, 0, 1], 20.0)
    turn = np.linspace(0, np.pi / 3, 500)
    c, s = np.cos(turn), np.sin(turn)
    x, z = found[1, :, 0].copy(), found[1, :, 2].copy()
    found[1, :, 0], found[1, :, 2] = c * x + s * z, c * z - s * x
    return found


DESIGNS: dict[str, tuple[bool, Design]] = {
    "independent draws, 4 x 500": (True, lambda rng: around(rng, (4, 500), [0, 0, 1], 5.0)),
    "independent draws, 1 x 2,000": (True, lambda rng: around(rng, (1, 2000), [0, 0, 1], 5.0)),
    "Metropolis, 4 x 3,000": (True, lambda rng: walk(rng, 4, 3000, 10.0, 0.5)),
    "two modes, mixed, 4 x 1,000": (True, lambda rng: two_modes(rng, (4, 1000), 0.3, [1, 0, 0])),
    "two and two in opposite modes, 4 x 500": (False, stuck),
    "one of four misses a mode of 10 %, 4 x 1,000": (False, misses_a_mode),
    "short: Metropolis with small steps, 4 x 50": (False, lambda rng: walk(rng, 4, 50, 10.0, 0.05)),
    "short: Metropolis with small steps, 1 x 50": (False, lambda rng: walk(rng, 1, 50, 10.0, 0.05)),
    "polar and girdle, 2 + 2 x 500": (False, polar_and_girdle),
    "one of four drifts by 60 degrees, 4 x 500": (False, drifts),
}


def tables(full: bool, clouds: int | None = None) -> str:
    """Share of chains with a warning, the worst first."""
    count, rows = clouds or (100 if full else 20), []
    for number, (name, (good, design)) in enumerate(DESIGNS.items()):
        warned = suspected = 0
        for replicate in range(count):
            rng = np.random.default_rng([SEED, number, replicate])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = he.chain_ess(design(rng), angles=ANGLES, rng=rng)
            warned += any(issubclass(one.category, he.CalibrationWarning) for one in caught)
            suspected += bool(found.suspects)
        share = warned / count
        short = share > GOOD if good else share < OTHERS
        distance = share if good else 1 - share
        kind = "good" if good else "not"
        told = f"{100 * share:.0f}{' **short**' if short else ''} | {100 * suspected / count:.0f}"
        rows.append((distance, f"| {name} | {kind} | {told} |"))
    lines = [row for _, row in sorted(rows, key=lambda row: -row[0])]
    return "\n".join(["| chains | are they good | warned of, % | with suspects, % |", "|---|---|---|---|", *lines])


if __name__ == "__main__":
    print(tables("--full" in sys.argv))
