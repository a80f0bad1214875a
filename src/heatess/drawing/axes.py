"""Axes, lines, levels and ticks that all pictures share."""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import InputTypeError, importing
from ..measures.scales import ANGLE_DIMENSION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from ..base.arrays import FloatArray
    from ..measures.scales import OverScales

#: Okabe-Ito colours, which stay distinct for colour-blind readers, and dash patterns.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", (0, (6, 2)), (0, (2, 1.4)), (0, (7, 2, 1.5, 2)), (0, (4, 1.2, 1.2, 1.2, 1.2, 1.2)))
LEVEL: dict[str, Any] = {"linestyle": (0, (5, 3)), "linewidth": 1.2}
GREY = "#595959"


class _Quantity(NamedTuple):
    label: str
    logarithmic: bool


QUANTITIES = {
    "gess": _Quantity("gESS (distinguishable points)", True),
    "volume": _Quantity("occupied volume (fraction of the space)", True),
    "divergence": _Quantity("divergence from uniform, $D_2$ (nats)", False),
    "mmd2": _Quantity("squared MMD to uniform", True),
    "dimension": _Quantity("order-two dimension", False),
}


#: Backends of matplotlib that show nothing, and systems on which every session has a screen.
SILENT, WITH_SCREEN = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template"), ("darwin", "win32")


def new_figure(width: float, height: float) -> Any:
    """A Figure of this size in inches; one of pyplot, which a cell or `plt.show()` shows, where there is a screen."""
    with importing("matplotlib", "plot"):
        from matplotlib.figure import Figure
    look: dict[str, Any] = {"figsize": (width, height), "layout": "constrained"}
    if _is_shown():
        from matplotlib import pyplot

        try:
            return pyplot.figure(**look)
        except ImportError:  # of a backend that has no screen after all
            pass
    return Figure(**look)


def _is_shown() -> bool:
    """Whether the backend is that of a notebook, or of windows and in use; tells without choosing a backend."""
    import matplotlib

    used = "matplotlib.pyplot" in sys.modules
    backend: Any = dict.__getitem__(matplotlib.rcParams, "backend")
    if not isinstance(backend, str):  # not chosen yet: pyplot takes one with windows if there is a screen
        screen = sys.platform in WITH_SCREEN or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        return used and bool(screen)
    name = backend.lower()
    return name not in SILENT and (used or name.startswith("module://") or name in ("inline", "nbagg", "ipympl"))


def save(ax: Axes, path: Any, **how: Any) -> None:
    """Write the Figure of an Axes to a file; a notebook does not show it besides."""
    figure: Any = ax.figure
    figure.savefig(path, dpi=150, **how)
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close(figure)


def new_axes(ax: Axes | None) -> Axes:
    """The given Axes, or the Axes of a new Figure, with a light grid."""
    if ax is None:
        ax = new_figure(6.4, 4.2).add_subplot()
        ax.spines[["top", "right"]].set_visible(False)
    if not hasattr(ax, "set_axisbelow"):
        raise InputTypeError.unfit("ax", "a matplotlib Axes", ax)
    ax.set_axisbelow(True)
    ax.grid(True, which="major", color="#e3e3e3", linewidth=0.7)
    return ax


def scale_axis(result: OverScales) -> tuple[FloatArray, str]:
    """The scales of a result as they are drawn, and their name: angles, or resolutions above ten dimensions."""
    if result.space.dim > ANGLE_DIMENSION and result.space.has_resolutions:
        return result.resolutions, "resolution (degrees)" if result.space.angular else "resolution"
    if not result.space.angular:
        return result.angles, "scale $\\alpha = \\sqrt{8t}$ (unit of distance)"
    return result.angles, "angle $\\alpha = \\sqrt{8t}$ (degrees)"


def draw_line(ax: Axes, x: FloatArray, y: FloatArray, **style: Any) -> Any:
    """Draw one more curve, in the next colour and dashes, and return its line."""
    number = len(drawn(ax, "heatess-curve"))
    usual: dict[str, Any] = {"linewidth": 2.0}
    if not {"color", "c"} & style.keys():
        usual["color"] = COLORS[number % len(COLORS)]
    if not {"linestyle", "ls", "dashes"} & style.keys():
        usual["linestyle"] = DASHES[number % len(DASHES)]
    if len(x) == 1 and "marker" not in style:
        usual["marker"] = "o"
    (line,) = ax.plot(x, y, **{**usual, **style})
    line.set_gid(f"heatess-curve-{number}")
    return line


def draw_level(ax: Axes, height: float, text: str, color: str) -> None:
    """Draw a horizontal reference line, with its name where it hides no other name or line."""
    from matplotlib.patheffects import withStroke

    lines = [float(line.get_ydata()[0]) for line in drawn(ax, "heatess-level")]
    if any(math.isclose(height, other, rel_tol=1e-6) for other in lines):
        return
    right, above = _free_place(ax, height, lines)
    dotted = {"linestyle": (0, (1, 2))} if color == GREY else {}
    ax.axhline(height, color=color, gid=f"heatess-level-{len(lines)}", **{**LEVEL, **dotted})
    units: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    look: dict[str, Any] = {"ha": "right", "va": "bottom" if above else "top", "color": color, "fontsize": "small"}
    look["path_effects"] = [withStroke(linewidth=3, foreground="white")]
    ax.annotate(text, (right, height), (-3, 2 if above else -3), gid=f"heatess-name-{len(lines)}", **units, **look)


def _free_place(ax: Axes, height: float, lines: list[float]) -> tuple[float, bool]:
    """Where to write the name of a level: its right end as a fraction of the axis, and whether above the line."""
    low, high = np.log(ax.get_ylim())
    row = 0.045 * float(high - low)  # the height of a name

    def middle(level: float, above: bool) -> float:
        return math.log(level) + (row / 2 if above else -row / 2)

    names = [(name.xy[0], middle(name.xy[1], name.get_va() == "bottom")) for name in drawn(ax, "heatess-name")]
    others = [line for line in lines if abs(math.log(line / height)) > row / 4]
    for right in (1.0, 0.75, 0.5):
        for above in (True, False):
            here = middle(height, above)
            clear = all(abs(math.log(line) - here) > row / 2 for line in others)
            if clear and all(abs(x - right) > 0.2 or abs(y - here) > row for x, y in names):
                return right, above
    return 0.25, True


def say_nothing_finite(ax: Axes, quantity: str, space: Any) -> Axes:
    """Words in place of a curve that has no point."""
    reason = f"no finite {quantity} to draw on {space!r} at these scales"
    ax.text(0.5, 0.5, reason, transform=ax.transAxes, color=GREY, ha="center", va="center", wrap=True)
    return ax


def drawn(ax: Axes, kind: str) -> list[Any]:
    """The artists of one kind that this module has drawn on the Axes."""
    return [artist for artist in ax.get_children() if (artist.get_gid() or "").startswith(kind)]


def log_ticks(axis: Axis, low: float, high: float) -> None:
    """Put plain numbers such as 5, 10, 20, 50 on a logarithmic axis, if they are readable."""
    from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator, MaxNLocator, NullFormatter

    decades = math.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 3.2 else (1.0,)
    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]) if decades < 0.75 else LogLocator(subs=subs))
    readable = low >= 1e-4 and high <= 1e8
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)) if readable else LogFormatterSciNotation())
    axis.set_minor_formatter(NullFormatter())


def plain(value: float) -> str:
    """A number for readers: three significant digits, thousands separated.

    >>> plain(152.03), plain(3000), plain(0.5), plain(21.914), plain(41936.2), plain(999.99)
    ('152', '3,000', '0.5', '21.9', '41,936', '1,000')
    """
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
