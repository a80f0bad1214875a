"""Time against n, from a hundred atoms to ten million: every engine, the paper's algorithm, and peers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import heatess as he
from references import paper_profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ANGLES = np.geomspace(5, 120, 60)
FINE = np.geomspace(0.02, 120, 60)
RESOLUTIONS = np.geomspace(10, 80, 60)

Curve = list[tuple[int, float]]


def measure() -> dict[str, Curve]:
    """Best of three times for each engine at each n it can take."""
    rng = np.random.default_rng(0)

    def sphere(n: int, dim: int = 2) -> np.ndarray:
        return he.samplers.uniform(n, dim, rng=rng)

    def embeddings(n: int) -> np.ndarray:
        return sphere(n, 383)

    def profile(points: np.ndarray, **options: object) -> Callable[[], object]:
        return lambda: he.heat_profile(points, **options)

    def paper(points: np.ndarray) -> Callable[[], object]:
        return lambda: paper_profile(points, np.ones(len(points)), ANGLES)

    series: dict[str, tuple[list[int], Callable[[int], Callable[[], object]]]] = {
        "the paper's algorithm, S² from 5°": ([100, 300, 1000, 3000], lambda n: paper(sphere(n))),
        "pairwise, S³⁸³, 60 resolutions": (
            [100, 1000, 4000, 10_000],
            lambda n: profile(embeddings(n), resolutions=RESOLUTIONS, method="pairwise"),
        ),
        "20 million random pairs, S³⁸³": (
            [10_000, 100_000, 500_000],
            lambda n: profile(embeddings(n), resolutions=RESOLUTIONS, pairs=20_000_000, rng=0),
        ),
        "spectral + local, S² from 0.02°": (
            [100, 1000, 10_000, 100_000, 1_000_000],
            lambda n: profile(sphere(n), angles=FINE),
        ),
        "spectral, S² from 5°": (
            [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000],
            lambda n: profile(sphere(n), angles=ANGLES),
        ),
    }
    return {name: [(n, _best(make(n))) for n in sizes] for name, (sizes, make) in series.items()}


def single_scales(angle: float = 15.0) -> dict[str, Curve]:
    """gESS at one angle on S^2, the work that peers are given too."""
    rng = np.random.default_rng(0)
    sizes = [100, 1000, 10_000, 100_000, 1_000_000]
    clouds = {n: he.samplers.uniform(n, rng=rng) for n in sizes}
    return {"heatess": [(n, _best(lambda x=x: he.gess(x, angle=angle), rounds=9)) for n, x in clouds.items()]}


def draw(profiles: dict[str, Curve], singles: dict[str, Curve], path: Path) -> None:
    """The scaling plot, log-log: profiles on the left, one scale, beside peers, on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _panel(left, profiles, "60 scales")
    _panel(right, singles, "one scale: gESS at 15° on S²")
    left.set_ylabel("seconds on 2 cores")
    figure.savefig(path, dpi=150)


def _panel(ax: Axes, curves: dict[str, Curve], title: str) -> None:
    from heatess.drawing.axes import COLORS, DASHES

    for place, (name, curve) in enumerate(curves.items()):
        n, seconds = zip(*curve, strict=True)
        ax.loglog(n, seconds, "o", color=COLORS[place], markersize=4)
        ax.loglog(n, seconds, linestyle=DASHES[place % len(DASHES)], color=COLORS[place], label=name)
    ax.set_title(title, fontsize=10, loc="left")
    ax.set_xlabel("number of atoms")
    ax.grid(True, which="major", color="#dddddd", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.13))


def _best(work: Callable[[], object], rounds: int = 3) -> float:
    best = np.inf
    for turn in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        if turn and best > 5:
            break
    return float(best)
