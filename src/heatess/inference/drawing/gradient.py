"""The plot of a gradient of gESS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import InputError
from ...drawing.axes import GREY, LEVEL, draw_line, drawn, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..redundancy import Gradient


def draw_gradient(found: Gradient, ax: Axes | None = None, *, quantity: str = "weights", **style: Any) -> Axes:
    """Draw what gESS gains by each atom's weight, or by moving it, from the largest to the smallest; return the Axes.

    Parameters
    ----------
    found : Gradient
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new Figure.
    quantity : {"weights", "points"}
        The derivative by the weights, with a line at zero: more weight for atoms above it raises gESS. Or the length
        of that by the points, for each radian, on spheres.
    **style
        Passed to `Axes.plot`.
    """
    if isinstance(quantity, str) and quantity == "weights":
        values, name = found.weights, "gradient of gESS by weight"
    elif isinstance(quantity, str) and quantity == "points" and found.points is not None:
        values, name = np.sqrt(np.square(found.points).sum(axis=1)), "gradient of gESS by place (1 / radian)"
    else:
        known = '"weights"' if found.points is None else '"weights" or "points"'
        raise InputError.unfit("quantity", f"{known} on {found.space!r}", quantity)
    ax = new_axes(ax)
    marks = {"marker": "o", "markersize": 3} if len(values) <= 60 else {}
    draw_line(ax, np.arange(1.0, len(values) + 1), np.sort(values)[::-1], **{**marks, **style})
    ax.set(xlabel="points, from the largest gradient to the smallest", ylabel=name)
    if quantity == "weights" and not drawn(ax, "heatess-zero"):
        ax.axhline(0.0, color=GREY, gid="heatess-zero", **{**LEVEL, "linestyle": (0, (1, 2))})
    return ax
