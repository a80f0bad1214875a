"""The plot of a maximum-entropy hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...drawing.axes import COLORS, GREY, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..maximum_entropy import MaximumEntropy


def draw_shares(result: MaximumEntropy, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the share of the divergence that each degree explains as bars, and in grey what is beyond them.

    Parameters
    ----------
    result : MaximumEntropy
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new Figure.
    **style
        Passed to `Axes.bar`.
    """
    ax = new_axes(ax)
    ax.grid(False, axis="x")
    ax.set(xlabel="degree", ylabel=f"share of the divergence, {result.total:.3g} nats (%)", ylim=(0, 108))
    places = np.append(result.degrees, result.degrees[-1] + 1)
    names = [*map(str, result.degrees), f"above {result.degrees[-1]}"]
    ax.set_xticks(places, names)
    ax.tick_params(axis="x", length=0)
    if np.isnan(result.shares).any():
        ax.text(0.5, 0.5, "uniform at this scale", transform=ax.transAxes, color=GREY, ha="center", va="center")
        return ax
    heights = 100 * np.append(result.shares, result.beyond)
    colors = [COLORS[0]] * len(result.degrees) + ["#b3b3b3"]
    bars = ax.bar(places, heights, **{"color": colors, "width": 0.7, **style})
    for bar, height in zip(bars, heights, strict=True):
        text = f"{height:.1f}" if height >= 0.1 else "< 0.1"
        middle = bar.get_x() + bar.get_width() / 2
        ax.annotate(text, (middle, height), (0, 2), textcoords="offset points", ha="center", va="bottom", fontsize=8)
    return ax
