"""How often `he.modes` finds as many modes as there are.

Run `python benchmarks/calibration_mode_tree.py`, with `--clouds` for more or fewer clouds of each design. The designs
were written down before the method was run on any of them; two margins were changed after one look at laws with one
mode, with other seeds.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import heatess as he

NORTH = np.array([0.0, 0.0, 1.0])
TETRAHEDRON = he.samplers.TETRAHEDRON
Draw = Callable[[int, np.random.Generator], np.ndarray]


class Design(NamedTuple):
    """A law with *count* modes, the size of its clouds, and the shape of gamma weights."""

    name: str
    draw: Draw
    count: int
    n: int = 300
    space: he.Space = he.Sphere(2)
    gamma: float | None = None


def vmf(centres: object, shares: object, kappas: object) -> Draw:
    """Independent draws from von Mises-Fisher modes."""

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        sizes = rng.multinomial(n, shares)
        modes = zip(sizes, np.asarray(centres, float), kappas, strict=True)
        return np.concatenate([he.samplers.von_mises_fisher(int(k), x, float(c), rng=rng) for k, x, c in modes if k])

    return draw


def tilted(degrees: float) -> np.ndarray:
    """The direction so far from the north."""
    return np.array([math.sin(math.radians(degrees)), 0.0, math.cos(math.radians(degrees))])


def gaussian(centres: object, shares: object, widths: object) -> Draw:
    """Gaussian modes in coordinates."""
    middle, spread = np.asarray(centres, float), np.asarray(widths, float)

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        which = rng.choice(len(middle), size=n, p=shares)
        return middle[which] + spread[which, None] * rng.normal(size=(n, middle.shape[1]))

    return draw


def orientations(widths: tuple[float, ...]) -> Draw:
    """Half turns about the axes and the identity, with so many degrees of noise about each axis."""
    centres = Rotation.from_quat(np.roll(np.eye(4), 1, axis=0)[: len(widths)])

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        which = rng.integers(len(widths), size=n)
        noise = np.radians(np.asarray(widths))[which, None] * rng.normal(size=(n, 3))
        return (centres[which] * Rotation.from_rotvec(noise)).as_quat()

    return draw


def with_background(draw: Draw, share: float) -> Draw:
    """A share of uniform points in between."""

    def both(n: int, rng: np.random.Generator) -> np.ndarray:
        k = rng.binomial(n, share)
        return np.concatenate([draw(n - k, rng), he.samplers.uniform(k, rng=rng)])

    return both


def cap(n: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform within 60 degrees of the pole."""
    z, turn = rng.uniform(0.5, 1, n), rng.uniform(0, 2 * math.pi, n)
    return np.column_stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z])


WIDTHS = vmf(TETRAHEDRON, np.full(4, 0.25), [10, 30, 100, 1000])
SPIKE = vmf([NORTH, tilted(35)], [0.85, 0.15], [5, 300])
PAIR = vmf([NORTH, tilted(40)], [0.5, 0.5], [50, 50])
ICOSAHEDRON = np.array([[0, a, b * (1 + 5**0.5) / 2] for a in (-1, 1) for b in (-1, 1)]) / math.sqrt((5 + 5**0.5) / 2)
TWELVE = np.concatenate([np.roll(ICOSAHEDRON, k, axis=1) for k in range(3)])
TORUS = gaussian([[0, 0], [2, 1], [4, 4]], [0.3, 0.3, 0.4], [0.15, 0.3, 0.6])
SO3, T2 = he.Rotations(), he.Torus(2)

ONE = [
    Design("one vMF, kappa 10", vmf([NORTH], [1.0], [10]), 1),
    Design("one vMF, kappa 2", vmf([NORTH], [1.0], [2]), 1, 1000),
    Design("girdle", lambda n, rng: he.samplers.girdle(n, rng=rng), 1),
    Design("girdle", lambda n, rng: he.samplers.girdle(n, rng=rng), 1, 1000),
    Design("uniform", lambda n, rng: he.samplers.uniform(n, rng=rng), 1),
    Design("uniform", lambda n, rng: he.samplers.uniform(n, rng=rng), 1, 1000),
    Design("uniform, gamma(1) weights", lambda n, rng: he.samplers.uniform(n, rng=rng), 1, 300, gamma=1.0),
    Design("cap of 60 deg", cap, 1),
    Design("kappa 5 and kappa 100 about one centre", vmf([NORTH, NORTH], [0.6, 0.4], [5, 100]), 1),
    Design("uniform on SO(3)", lambda n, rng: SO3.uniform(n, rng), 1, 300, SO3),
    Design("uniform on T^2", lambda n, rng: T2.uniform(n, rng), 1, 300, T2),
]

SEVERAL = [
    Design("4 modes, kappa 8", vmf(TETRAHEDRON, np.full(4, 0.25), np.full(4, 8)), 4),
    Design("4 modes, kappas 10 to 1000", WIDTHS, 4),
    Design("4 modes, kappas 10 to 1000", WIDTHS, 4, 1000),
    Design("4 modes, kappas 10 to 1000, gamma(1) weights", WIDTHS, 4, 300, gamma=1.0),
    Design("3 modes, .6/.3/.1, kappa 40", vmf(np.eye(3), [0.6, 0.3, 0.1], np.full(3, 40)), 3),
    Design("2 modes 40 deg apart, kappa 50", PAIR, 2),
    Design("spike of 15 %, kappa 300, 35 deg from kappa 5", SPIKE, 2),
    Design("spike of 15 %, kappa 300, 35 deg from kappa 5", SPIKE, 2, 1000),
    Design("2 modes 40 deg apart in 20 % background", with_background(PAIR, 0.2), 2),
    Design("12 modes, kappa 100", vmf(TWELVE, np.full(12, 1 / 12), np.full(12, 100)), 12, 1000),
    Design("3 modes on T^2, widths 0.15 to 0.6", TORUS, 3, 300, T2),
    Design("3 modes on SO(3), 8 to 20 deg", orientations((8.0, 12.0, 20.0)), 3, 300, SO3),
    Design("4 modes on S^9, kappa 60", vmf(np.eye(10)[:4], np.full(4, 0.25), np.full(4, 60)), 4, 300, he.Sphere(9)),
]


def counted(design: Design, number: int, seed: int) -> int:
    """How many modes one cloud has, as found."""
    rng = np.random.default_rng([seed, number])
    points = design.draw(design.n, rng)
    weights = None if design.gamma is None else rng.gamma(design.gamma, size=len(points))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return int(he.modes(points, weights, space=design.space).count)


def main() -> None:
    """Print one line for each design, the worst first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clouds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=27)
    given = parser.parse_args()
    rows = []
    for design in ONE + SEVERAL:
        found = [counted(design, number, given.seed) for number in range(given.clouds)]
        others = {k: found.count(k) for k in sorted(set(found)) if k != design.count}
        said = ", ".join(f"{k}: {times}" for k, times in others.items()) or "none"
        right = found.count(design.count) / given.clouds
        rows.append((right, f"| {design.name}, n = {design.n} | {design.count} | {100 * right:.0f} % | {said} |"))
        print(rows[-1][1], flush=True)
    print(f"\n| law, {given.clouds} clouds each | modes | right | wrong counts |\n| --- | --- | --- | --- |")
    print("\n".join(row for _, row in sorted(rows)))


if __name__ == "__main__":
    main()
