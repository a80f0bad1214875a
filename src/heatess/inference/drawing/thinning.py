"""Plots of thinned measures and of chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arrays import FloatArray
from ...drawing.axes import COLORS, GREY, draw_level, draw_line, log_ticks, new_axes, plain
from ...measures.scales import ANGLE_DIMENSION, angles_of_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...spaces.base import Space
    from ..chains import ChainEss
    from ..thinning import Thinned

#: Angles beyond this are not drawn: nothing changes there.
MOST_DEGREES = 180.0


def draw_thinned(thinned: Thinned, ax: Axes | None = None) -> Axes:
    """Draw gESS of all atoms and of those kept against the scale, from the given one up, and return the Axes.

    The shaded band is what the bound allows; the dotted line is the scale given.
    """
    ax = new_axes(ax)
    scale, name = _scale(thinned.space, thinned._times)
    before, after = thinned._gess
    shown = np.isfinite(scale) & ((scale <= MOST_DEGREES) | (not thinned.space.angular))
    shown[0] = np.isfinite(scale[0])
    factor = float(np.exp(min(thinned.bound, 50.0)))
    held = shown if thinned.covers_coarser else shown & (np.arange(len(scale)) == 0)
    if held.sum() > 1:
        ax.fill_between(
            scale[held],
            np.maximum(before[held] / factor, 1.0),
            before[held] * factor,
            color=COLORS[0],
            alpha=0.18,
            linewidth=0,
            label=f"certified: within a factor {factor:.4g}",
        )
    draw_line(ax, scale[shown], before[shown], label=f"all {thinned.n:,} points")
    draw_line(ax, scale[shown], after[shown], label=f"the {thinned.size:,} kept")
    ax.set(xscale="log", yscale="log", xlabel=name, ylabel="gESS (distinguishable points)")
    ax.set_ylim(0.9, 1.4 * min(factor, 3.0) * max(float(before.max()), float(after.max()), 1.0))
    if shown[0]:
        ax.axvline(scale[0], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2)
    ax.legend(loc="upper right", fontsize="small", frameon=False)
    log_ticks(ax.xaxis, *ax.get_xlim())
    log_ticks(ax.yaxis, *ax.get_ylim())
    return ax


def draw_chain(found: ChainEss, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the effective number of draws against the scale, with the number of draws as a line; return the Axes."""
    ax = new_axes(ax)
    scale, name = _scale(found.space, found.times)
    shown = np.isfinite(scale) & np.isfinite(found.ess)
    order = np.argsort(scale[shown])
    line = draw_line(ax, scale[shown][order], found.ess[shown][order], **style)
    ax.set(xscale="log", yscale="log", xlabel=name, ylabel="effective number of draws")
    if shown.any():
        low, high = float(found.ess[shown].min()), float(found.ess[shown].max())
        limits = ax.get_ylim() if len(ax.lines) > 1 else (low, high)
        ax.set_ylim(min(limits[0], low / 1.5), max(limits[1], 1.9 * max(high, found.n)))
        draw_level(ax, found.n, f"n = {plain(found.n)} draws", GREY)
    if "label" in style:
        ax.legend(loc="lower right", fontsize="small", frameon=False)
    line.set_zorder(3)
    log_ticks(ax.xaxis, *ax.get_xlim())
    log_ticks(ax.yaxis, *ax.get_ylim())
    return ax


def _scale(space: Space, times: FloatArray) -> tuple[FloatArray, str]:
    """Scales as plots of profiles show them, and their name."""
    if space.dim > ANGLE_DIMENSION and space.has_resolutions:
        found = space.resolutions_of_times(times)
        return (np.degrees(found), "resolution (degrees)") if space.angular else (found, "resolution")
    if not space.angular:
        return np.sqrt(8 * times), "scale $\\alpha = \\sqrt{8t}$ (unit of distance)"
    return angles_of_times(times), "angle $\\alpha = \\sqrt{8t}$ (degrees)"
