"""Planned seconds against measured ones, over spaces x atoms x scales, worst first.

`python benchmarks/estimates.py` for all, with `nodes` or `homogeneous` for some of it.

Measured is the lesser of the time that passed and of the time of all cores, so that other work on the machine counts
little. What is planned to take less than `LEAST` seconds is of no interest, and what takes more than `LONGEST`, six
times that on nodes, is left out, so that the whole takes a few minutes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

import heatess as he
from heatess.engines.base import Question
from heatess.engines.plan import plan

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import meshes
from space_cases import HOMOGENEOUS

SIZES = (20_000, 200_000)

#: alpha in degrees, on spaces of unit scale; zero is a profile of 60 scales from 5 degrees on.
DEGREES = (1, 15, 0)

LEAST, LONGEST = 0.03, 1.5


class Cell(NamedTuple):
    """One measurement, in seconds."""

    what: str
    n: int
    scales: str
    ran: str
    planned: float
    measured: float

    @property
    def ratio(self) -> float:
        return self.measured / self.planned

    @property
    def off(self) -> float:
        return max(self.ratio, 1 / self.ratio)

    def __str__(self) -> str:
        return (
            f"{self.ratio:6.2f} {self.what:<24} n = {self.n:<7} {self.scales:<12} {self.ran:<16} "
            f"planned {self.planned:7.3f} s, measured {self.measured:7.3f} s"
        )


def homogeneous(rng: np.random.Generator) -> Iterator[Cell]:
    """Spaces where all points are alike."""
    for case in HOMOGENEOUS:
        points = case.points(max(SIZES), rng)
        for n in SIZES:
            some = tuple(part[:n] for part in points) if isinstance(points, tuple) else points[:n]
            measure = he.Measure(some, space=case.space())
            for degrees in DEGREES:
                alphas = np.geomspace(np.radians(5), 2, 60) if degrees == 0 else np.radians([degrees])
                name = "60 scales" if degrees == 0 else f"{degrees} deg"
                yield from measured(case.name, lambda m=measure: m, (case.scale * alphas) ** 2 / 8, name, warm=True)


def joined(pairs: np.ndarray, weights: np.ndarray) -> he.Graph:
    size = int(pairs.max()) + 1
    links = sparse.coo_array((weights, tuple(pairs.T)), shape=(size, size))
    return he.Graph((links + links.T).tocsr())


def grid(rows: int, columns: int, spread: float, rng: np.random.Generator) -> he.Graph:
    """A grid with links whose logarithms have this standard deviation."""
    node = np.arange(rows * columns).reshape(rows, columns)
    ends = [(node[:-1], node[1:]), (node[:, :-1], node[:, 1:])]
    pairs = np.concatenate([np.stack([one.ravel(), other.ravel()], axis=1) for one, other in ends])
    return joined(pairs, np.exp(spread * rng.normal(size=len(pairs))))


def star(leaves: int, rng: np.random.Generator) -> he.Graph:
    pairs = np.stack([np.zeros(leaves, dtype=int), np.arange(1, leaves + 1)], axis=1)
    return joined(pairs, np.exp(2 * rng.normal(size=leaves)))


def tangle(size: int, rng: np.random.Generator) -> he.Graph:
    """A ring with as many random links."""
    ring = np.stack([np.arange(size), (np.arange(size) + 1) % size], axis=1)
    pairs = np.unique(np.sort(np.concatenate([ring, rng.integers(size, size=(size, 2))]), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return joined(pairs, np.ones(len(pairs)))


def folded(level: int, rng: np.random.Generator) -> he.Mesh:
    """A sphere with folds, and triangles of many sizes, as a cortex has them: 10,242 nodes at level five."""
    vertices, faces = meshes.icosphere(level)
    vertices = vertices + 0.2 / 2**level * rng.normal(size=vertices.shape)
    return he.Mesh(vertices * (1 + 0.2 * np.sin(9 * vertices[:, :1]) * np.cos(8 * vertices[:, 1:2])), faces)


def nodes(rng: np.random.Generator) -> Iterator[Cell]:
    """Graphs, meshes and clouds: each cell has a space of its own, because eigenpairs are kept."""
    sphere = he.samplers.fibonacci(4000)
    spaces: dict[str, tuple[Callable[[], he.Space], tuple[int, ...], tuple[float, ...]]] = {
        "grid 70 x 99": (lambda: grid(70, 99, 0.0, rng), (5, 6930), (1.0, 30.0, 1000.0)),
        "uneven grid 70 x 99": (lambda: grid(70, 99, 3.0, rng), (5,), (1.0, 3.0, 30.0)),
        "grid 300 x 300": (lambda: grid(300, 300, 0.0, rng), (1000,), (1.0, 30.0)),
        "star of 1,300": (lambda: star(1299, rng), (400,), (0.1, 5.0)),
        "tangle of 3,000": (lambda: tangle(3000, rng), (300,), (0.1, 2.0)),
        "path of 900": (lambda: grid(1, 900, 0.0, rng), (900,), (1.0, 100.0)),
        "sphere of 4,000 points": (lambda: he.PointCloud(sphere), (4000,), (0.005, 0.1)),
        "folded mesh, 2,562": (lambda: folded(4, rng), (2562,), (0.005, 0.1)),
        "folded mesh, 10,242": (lambda: folded(5, rng), (10_242,), (0.005, 0.1)),
    }
    for name, (make, sizes, times) in spaces.items():
        for n in sizes:
            for at in times:

                def measure(make: Callable[[], he.Space] = make, n: int = n) -> he.Measure:
                    space = make()
                    return he.Measure(rng.permutation(space.node_count)[:n], rng.random(n), space=space)

                yield from measured(name, measure, np.array([at]), f"t = {at:g}")
            yield from measured(name, measure, np.geomspace(times[0], times[-1], 20), "20 scales")


def measured(
    what: str, make: Callable[[], he.Measure], times: np.ndarray, scales: str, *, warm: bool = False
) -> Iterator[Cell]:
    """One cell, unless it is planned to take too little or too much; what was *warm*, or took long, is run twice."""
    measure = make()
    try:
        steps, planned = plan(Question(measure, np.maximum(np.sort(times), _finest(measure)), 1e-8))
    except (he.CostError, he.PrecisionError):
        return
    if not LEAST < planned < (LONGEST if warm else 6 * LONGEST):
        return
    times = np.maximum(times, _finest(measure))
    taken = _seconds(lambda: he.heat_profile(measure, times=times))
    if (warm and taken < 1) or taken > 2 * planned:  # the first compiles or loads loops and fills tables
        again = measure if warm else make()
        taken = min(taken, _seconds(lambda: he.heat_profile(again, times=times)))
    yield Cell(what, measure.n, scales, "+".join(step.offer.name for step in steps), planned, taken)


def _finest(measure: he.Measure) -> float:
    modes = measure.space.modes
    return 0.0 if modes is None else 1.0001 * modes.finest_time


def _seconds(work: Callable[[], object]) -> float:
    passed, used = time.perf_counter(), time.process_time()
    work()
    return min(time.perf_counter() - passed, time.process_time() - used)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = []
    for group in sys.argv[1:] or ["nodes", "homogeneous"]:
        for cell in {"nodes": nodes, "homogeneous": homogeneous}[group](np.random.default_rng(0)):
            found.append(cell)
            print(cell, flush=True)
    print("\nworst first, measured over planned:")
    for cell in sorted(found, key=lambda cell: -cell.off)[:25]:
        print(cell)
    off = np.array([cell.off for cell in found])
    print(f"{len(found)} cells: {(off <= 2).mean():.0%} within 2x, {(off <= 3).mean():.0%} within 3x")
