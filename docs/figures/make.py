"""Draw the pictures of docs/explanation/idea.md: python docs/figures/make.py

Everything is in the plane, where a footprint is a round blur: its standard deviation is alpha / 2, so that two discs of
radius alpha / 2 touch when their points are alpha apart.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

import heatess as he

PLANE = he.Euclidean(2)
BLUE, ORANGE, GREY = "#1f5f99", "#c8590a", "#666666"


def gess(points: np.ndarray, alpha: float) -> float:
    """GESS of equal points in the plane at the scale alpha."""
    return he.gess(points, space=PLANE, time=alpha**2 / 8)


def groups() -> np.ndarray:
    """36 points: three groups 10 apart, of four subgroups 1 apart, of three points 0.1 apart."""
    triangle = np.exp(2j * np.pi * (np.arange(3) + 0.25) / 3) / np.sqrt(3)
    square = np.exp(2j * np.pi * (np.arange(4) + 0.5) / 4) / np.sqrt(2)
    places = (10 * triangle[:, None, None] + square[None, :, None] + 0.1 * triangle[None, None, :]).ravel()
    return np.column_stack([places.real, places.imag])


def two_clouds() -> tuple[np.ndarray, np.ndarray]:
    """36 points spread over a square of 6 x 6, and 36 in four small heaps."""
    rng = np.random.default_rng(4)
    grid = np.stack(np.meshgrid(np.arange(6), np.arange(6)), axis=-1).reshape(-1, 2) + 0.5
    heaps = np.array([[1.2, 1.3], [4.7, 1.0], [1.5, 4.8], [4.4, 4.3]]).repeat(9, axis=0)
    return grid + rng.uniform(-0.2, 0.2, size=(36, 2)), heaps + rng.normal(scale=0.12, size=(36, 2))


def copies() -> tuple[np.ndarray, np.ndarray]:
    """Ten points, and thirty near-copies of the first one."""
    rng = np.random.default_rng(1)
    points = np.column_stack([0.6 + 1.2 * (np.arange(10) % 5), 1.5 + 2.4 * (np.arange(10) // 5)])
    points = points + rng.uniform(-0.25, 0.25, size=(10, 2))
    return points, points[0] + rng.normal(scale=0.03, size=(30, 2))


def draw_same_ess() -> Figure:
    """Two clouds of 36 equal points."""
    figure, axes = panels(2, 3.6)
    for ax, points in zip(axes, two_clouds(), strict=True):
        discs(ax, points, 0.5)
        ax.set(xlim=(-0.2, 6.2), ylim=(-0.2, 6.2), title=f"ESS = 36,  gESS = {gess(points, 0.5):.1f}")
    return figure


def draw_three_scales() -> Figure:
    """One cloud, blurred at three scales."""
    figure, axes = panels(3, 3.0)
    points, side = groups() + np.array([0, 1.44]), np.linspace(-8, 8, 240)  # moved to the middle
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for ax, alpha in zip(axes, (0.4, 3.0, 12.0), strict=True):
        squared = ((grid[:, None] - points) ** 2).sum(axis=2)
        density = np.exp(-2 * squared / alpha**2).mean(axis=1).reshape(240, 240)  # deviation alpha / 2
        ax.imshow(density, extent=(-8, 8, -8, 8), origin="lower", cmap="Blues", vmin=0, vmax=density.max())
        ax.plot(*points.T, ".", color=ORANGE, markersize=1.5)
        ax.set(title=f"alpha = {alpha:g}:  gESS = {gess(points, alpha):.1f}")
    return figure


def draw_plateaus() -> Figure:
    """GESS of the same cloud against the scale: 36, 12, 3, 1."""
    figure = Figure(figsize=(7, 3.4), layout="constrained")
    ax = figure.subplots()
    alphas = np.geomspace(0.01, 300, 200)
    profile = he.heat_profile(groups(), space=PLANE, times=alphas**2 / 8)
    ax.loglog(alphas, profile.gess, color=BLUE, linewidth=2)
    names = (("36 points", 0.013, 36), ("12 subgroups", 0.7, 12), ("3 groups", 7, 3), ("1 blur", 80, 1))
    for name, x, count in names:
        ax.axhline(count, color=GREY, linewidth=0.6, linestyle=":")
        ax.annotate(name, (x, count), xytext=(0, 4), textcoords="offset points", color=ORANGE)
    ax.set(xlabel="scale alpha (same unit as the distances)", ylabel="gESS", ylim=(0.8, 60), xlim=(0.01, 300))
    ax.set_yticks([1, 3, 12, 36], ["1", "3", "12", "36"], minor=False)
    ax.set_yticks([], minor=True)
    ax.set_xticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
    return figure


def draw_copies() -> Figure:
    """ESS and gESS while near-copies of one point are added."""
    figure, (left, right) = panels(2, 3.4)
    points, more = copies()
    discs(left, np.vstack([points, more]), 0.6)
    left.annotate("30 near-copies", more.mean(axis=0), xytext=(8, -26), textcoords="offset points", color=ORANGE)
    left.set(xlim=(-0.2, 6.2), ylim=(0.2, 5.2), title="10 points and 30 near-copies")
    counts = np.arange(31)
    right.plot(counts, 10 + counts, "--", color=GREY, label="ESS")
    right.plot(counts, [gess(np.vstack([points, more[:k]]), 0.6) for k in counts], color=BLUE, label="gESS")
    right.plot(counts, [merged_ess(k) for k in counts], ":", color=ORANGE, linewidth=2, label="ESS, copies merged")
    right.set(xlabel="near-copies added", xticks=[0, 10, 20, 30], yticks=[0, 20, 40], ylim=(0, 42), aspect="auto")
    right.legend(frameon=False, fontsize=9)
    return figure


def merged_ess(copies: int) -> float:
    """ESS of ten points, the first of which has the weight of its near-copies too."""
    return he.baselines.ess(np.r_[1 + copies, np.ones(9)])


def panels(count: int, height: float) -> tuple[Figure, Any]:
    """A figure with panels side by side, without ticks."""
    figure = Figure(figsize=(7, height), layout="constrained")
    axes = figure.subplots(1, count)
    for ax in axes:
        ax.set(xticks=[], yticks=[], aspect="equal")
        ax.title.set_fontsize(10)
    return figure, axes


def discs(ax: Any, points: np.ndarray, alpha: float) -> None:
    """Points, each with the disc of radius alpha / 2."""
    for point in points:
        ax.add_patch(Circle(tuple(point), alpha / 2, facecolor=BLUE, alpha=0.15, linewidth=0))
    ax.plot(*points.T, ".", color=ORANGE, markersize=3)


PICTURES: dict[str, Any] = {
    "same-ess": draw_same_ess,
    "three-scales": draw_three_scales,
    "plateaus": draw_plateaus,
    "near-copies": draw_copies,
}


def main(folder: Path) -> None:
    """Write all pictures."""
    for name, draw in PICTURES.items():
        draw().savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
