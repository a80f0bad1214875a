"""Plot of the tree of modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...drawing.axes import COLORS, GREY, log_ticks, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..modes import Modes


def draw_tree(found: Modes, ax: Axes | None = None) -> Axes:
    """Draw where modes came apart, from many draws within a width, left, to few; lines are as thick as their shares."""
    ax = new_axes(ax)
    levels = found._tree[:, 0] if len(found._tree) else np.array([found.draws / 4])
    leaves = np.vstack([np.zeros((1, found.count)), found._tree[:, 1:]])
    ends = np.concatenate([[max(found.draws, 1.5 * levels[0])], levels, [min(levels[-1] / 2, 3.0)]])
    order = np.lexsort(leaves[::-1])  # modes of one branch beside each other
    row = np.empty(found.count)
    row[order] = np.arange(found.count)
    before = None
    for level, names in enumerate(leaves):
        heights = np.array([row[names == name].mean() for name in names])
        for name in np.unique(names):
            own = np.flatnonzero(names == name)
            color = COLORS[int(own[0]) % len(COLORS)] if len(own) == 1 else GREY
            width = 1 + 8 * float(found.shares[own].sum())
            ax.plot(ends[level : level + 2], np.full(2, heights[own[0]]), color=color, linewidth=width)
            if before is not None:
                ax.plot(ends[[level, level]], [before[own[0]], heights[own[0]]], color=GREY, linewidth=1)
        before = heights
    ax.set(xscale="log", xlabel="draws within a width", ylabel="mode", xlim=(ends[0], ends[-1]))
    ax.set_yticks(row, [f"{k}: {100 * share:.3g} %" for k, share in enumerate(found.shares)])
    log_ticks(ax.xaxis, float(ends[-1]), float(ends[0]))
    return ax
