"""The theorems as experiments: measured rates of convergence, stability, merging and limits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import asymptotics, baselines, heat_profile
from . import style
from .convergence import Rate, rates
from .experiment import Outcome, Settings
from .limits import LABELS, SHIFTS, Stability, laws, octahedron, pair, stability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def run(settings: Settings) -> Outcome:
    """Measured slopes with the expected ones, and a figure of four panels."""
    found, moved = rates(settings), stability(settings)
    return Outcome(laws=[*laws(moved), *(rate.law() for rate in found)], figure=lambda: draw(found, moved))


def draw(found: list[Rate], moved: Stability) -> Figure:
    """Convergence, stability, merging and limits."""
    figure, (top_left, top_right, low_left, low_right) = style.panels(style.FULL, 5.0, 2, 2)
    _convergence(top_left, found)
    _stability(top_right, moved)
    _merging(low_left)
    _limits(low_right)
    return figure


def _convergence(ax: Axes, found: list[Rate]) -> None:
    for number, rate in enumerate(found):
        name = f"{rate.name}: {rate.slope:.2f}".replace("-", "\N{MINUS SIGN}")
        style.curve(ax, rate.sizes, rate.errors, number, marker="o", markersize=2.5, label=name)
    for rate, name in ((found[0], "slope \N{MINUS SIGN}1/2"), (found[-1], "slope \N{MINUS SIGN}1")):
        guide = 0.6 * rate.errors[0] * (rate.sizes / rate.sizes[0]) ** rate.expected
        ax.plot(rate.sizes, guide, color=style.GREY, linewidth=0.6)
        middle = len(guide) // 2
        look: dict[str, Any] = {"color": style.GREY, "fontsize": 7, "ha": "right", "va": "top"}
        ax.annotate(name, (rate.sizes[middle], guide[middle]), xytext=(-2, -2), textcoords="offset points", **look)
    low, high = min(rate.errors.min() for rate in found), max(rate.errors.max() for rate in found)
    least, most = min(rate.sizes[0] for rate in found), max(rate.sizes[-1] for rate in found)
    style.log_axis(ax.yaxis, 0.003 * float(low), 2.2 * float(high))
    style.log_axis(ax.xaxis, 0.8 * float(least), 1.3 * float(most))
    ax.set_xlabel("$1/S_n$ (importance weights: $n$)")
    ax.set_ylabel("error in $A$ (rms)")
    ax.legend(title="measured slope", title_fontsize=7, loc="lower left")
    style.letter(ax, "(a) convergence")


def _stability(ax: Axes, moved: Stability) -> None:
    style.curve(ax, SHIFTS, moved.changes, 0, marker="o", markersize=2.5, label="$\\sup_t |A_P - A_Q|$")
    style.curve(ax, SHIFTS, moved.constant * SHIFTS, 1, label="bound $C\\,W_1$")
    style.log_axis(ax.xaxis, float(SHIFTS[0]), float(SHIFTS[-1]))
    style.log_axis(ax.yaxis, 0.5 * float(moved.changes.min()), 2 * float(moved.constant * SHIFTS[-1]))
    ax.set_xlabel("distance moved by every atom, $\\geq W_1$ (radians)")
    ax.set_ylabel("change of $A$")
    ax.legend(loc="upper left")
    style.letter(ax, "(b) stability in $W_1$")


def _merging(ax: Axes) -> None:
    ratio = np.geomspace(0.2, 4, 80)
    for number, distance in enumerate((90, 45, 10)):
        times = (math.radians(distance) * ratio) ** 2 / 8
        exact = heat_profile(pair(math.radians(distance)), times=times).gess
        style.curve(ax, ratio, exact, number, label=f"$r$ = {distance}\N{DEGREE SIGN}")
    law = asymptotics.merging(1.0, ratio**2 / 8)
    ax.plot(ratio[::4], law[::4], color="black", linestyle="none", marker="x", markersize=3, label="merging law")
    style.log_axis(ax.xaxis, 0.2, 4)
    ax.set_ylim(0.97, 2.03)
    ax.set_xlabel("scale over distance, $\\alpha / r$")
    ax.set_ylabel(style.GESS)
    ax.legend(loc="upper right")
    style.letter(ax, "(c) two atoms merge")


def _limits(ax: Axes) -> None:
    points, weights = octahedron()
    angles = np.geomspace(5, 360, 120)
    style.curve(ax, angles, heat_profile(points, weights, angles=angles).gess, 0)
    levels = {
        "ESS of the 9 labels": baselines.ess(weights),
        "ESS of the 6 places": baselines.ess(np.bincount(LABELS, weights)),
        "one atom": 1.0,
    }
    for name, height in levels.items():
        style.level(ax, height, name)
    style.log_axis(ax.xaxis, 5, 360)
    ax.set_ylim(0.5, 8)
    ax.set_xlabel(style.ANGLE)
    ax.set_ylabel(style.GESS)
    style.letter(ax, "(d) limits of gESS")
