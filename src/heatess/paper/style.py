"""The look of the figures: column widths, small type, colours and dashes that all readers can distinguish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import importing
from ..drawing.axes import COLORS, DASHES, GREY, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from .experiment import FloatArray

__all__ = ["COLORS", "COLUMN", "DASHES", "FULL", "GREY"]

#: Widths of one column and of the full text, in inches.
COLUMN, FULL = 3.3, 6.9

ANGLE = "angular scale $\\alpha = \\sqrt{8t}$ (degrees)"
GESS = "gESS (distinguishable atoms)"
VOLUME = "occupied volume $U_2$ (fraction)"

_STYLE: Any = {
    "font.size": 8,
    "font.family": "sans-serif",
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 1.3,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.5,
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
}


@contextmanager
def applied() -> Iterator[None]:
    """Use the style inside a `with` block; afterwards the settings of matplotlib are as before."""
    with importing("matplotlib", "plot"):
        from matplotlib import rc_context
    with rc_context(_STYLE):
        yield


def panels(width: float, height: float, rows: int = 1, columns: int = 1, **more: Any) -> tuple[Figure, Sequence[Axes]]:
    """A figure in inches, not registered with pyplot, and its Axes in reading order."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.05, wspace=0.03, hspace=0.03)
    figure = Figure(figsize=(width, height), layout=layout)
    grid = figure.subplots(rows, columns, squeeze=False, **more)
    return figure, list(grid.ravel())


def curve(ax: Axes, x: Any, y: Any, number: int, **more: Any) -> Any:
    """Draw a line whose number gives its colour and dashes."""
    usual = {"color": COLORS[number % len(COLORS)], "linestyle": DASHES[number % len(DASHES)]}
    return ax.plot(x, y, **{**usual, **more})[0]


def band(ax: Axes, x: Any, low: FloatArray, high: FloatArray, color: str, **more: Any) -> Any:
    """Shade the region between two curves."""
    return ax.fill_between(x, low, high, **{"color": color, "alpha": 0.2, "linewidth": 0, **more})


def log_axis(axis: Axis, low: float, high: float) -> None:
    """Make an axis logarithmic, with plain numbers such as 5, 10, 20 if they fit, otherwise powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator, NullFormatter

    across = axis is axis.axes.xaxis
    (axis.axes.set_xscale if across else axis.axes.set_yscale)("log")
    (axis.axes.set_xlim if across else axis.axes.set_ylim)(low, high)
    decades = float(np.log10(high / low))
    dense = decades < (2.3 if across else 2.8)
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if dense else (1.0,), numticks=12 if dense else 6))
    plainly = decades <= 4 and low >= 1e-4
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)) if plainly else LogFormatterSciNotation())
    axis.set_minor_formatter(NullFormatter())


def level(ax: Axes, height: float, name: str, color: str = GREY) -> None:
    """Draw a dotted horizontal line with its name at the right end."""
    ax.axhline(height, color=color, linewidth=0.8, linestyle=(0, (1, 2)))
    ax.annotate(
        name,
        (1, height),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 2),
        textcoords="offset points",
        ha="right",
        color=color,
        fontsize=7,
    )


def letter(ax: Axes, text: str) -> None:
    """Write the name of the panel, such as "(a) gESS", above its left corner."""
    ax.set_title(text, loc="left")


def legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    """Draw one legend below all panels."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns)
