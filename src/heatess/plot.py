"""Plots of results, on a given Axes or on a new Figure: one of pyplot in notebooks and where windows are open."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import arrays
from .errors import InputError, InputTypeError, missing_extra
from .scales import ANGLE_DIMENSION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from .arrays import FloatArray
    from .profile import HeatProfile
    from .scales import OverScales
    from .spectrum import PowerSpectrum

__all__ = ["compare", "draw_profile", "draw_spectrum", "sky"]

#: Okabe-Ito colours, which stay distinct for colour-blind readers, and dash patterns.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", (0, (6, 2)), (0, (2, 1.4)), (0, (7, 2, 1.5, 2)), (0, (4, 1.2, 1.2, 1.2, 1.2, 1.2)))
LEVEL: dict[str, Any] = {"linestyle": (0, (5, 3)), "linewidth": 1.2}
GREY = "#595959"
#: Energies per mode below this are zero up to rounding.
ENERGY_FLOOR = 1e-16


class _Quantity(NamedTuple):
    label: str
    logarithmic: bool


QUANTITIES = {
    "gess": _Quantity("gESS (distinguishable atoms)", True),
    "volume": _Quantity("occupied volume (fraction of the space)", True),
    "divergence": _Quantity("divergence from uniform, $D_2$ (nats)", False),
    "mmd2": _Quantity("squared MMD to uniform", True),
    "dimension": _Quantity("order-two dimension", False),
}


def draw_profile(profile: HeatProfile, ax: Axes | None = None, *, quantity: str = "gess", **style: Any) -> Axes:
    """Draw one curve of a profile against the angle, or the resolution above ten dimensions, and return the Axes.

    Each curve on the same Axes gets its own colour and dashes. A gESS curve has two reference lines: ESS and n.

    Parameters
    ----------
    profile : HeatProfile
        The profile to draw.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new Figure, which notebooks and `plt.show()` show.
    quantity : {"gess", "volume", "divergence", "mmd2", "dimension"}
        Which curve to draw.
    **style
        Passed to `Axes.plot`: label, color, linewidth and so on.

    Examples
    --------
    >>> import heatess as he
    >>> ax = he.plot.draw_profile(he.heat_profile(he.samplers.fibonacci(300)))
    >>> ax.get_xscale()
    'log'
    """
    from .profile import HeatProfile

    arrays.refuse_others(profile, "profile", HeatProfile, "heat_profile")
    arrays.one_of(quantity, "quantity", QUANTITIES)
    ax = new_axes(ax)
    name, logarithmic = QUANTITIES[quantity]
    scale, scale_name = scale_axis(profile)
    values = np.array(getattr(profile, quantity))
    shown = np.isfinite(scale) & np.isfinite(values) & ((values > 0) | (not logarithmic))
    order = np.argsort(scale[shown])
    line = draw_line(ax, scale[shown][order], values[shown][order], **style)
    ax.set(xlabel=scale_name, ylabel=name)
    if not shown.any():
        reason = f"no finite {quantity} to draw on {profile.space!r} at these scales"
        ax.text(0.5, 0.5, reason, transform=ax.transAxes, color=GREY, ha="center", va="center", wrap=True)
        return ax
    ax.set_xscale("log")
    if logarithmic:
        ax.set_yscale("log")
        if quantity == "gess":
            _gess_levels(ax, profile, str(line.get_color()))
        log_ticks(ax.yaxis, *ax.get_ylim())
    log_ticks(ax.xaxis, *ax.get_xlim())
    return ax


def draw_spectrum(spectrum: PowerSpectrum, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the energy per mode, B_l / N_l, against the degree l >= 1.

    The reference line is 1 / ESS, the value of equal independent uniform atoms at every degree. Levels without energy
    are marked at the bottom of the Axes. Parameters are as in `draw_profile`.

    >>> import heatess as he
    >>> ax = he.plot.draw_spectrum(he.power_spectrum(he.samplers.uniform(300, rng=0), max_degree=20))
    >>> ax.get_yscale()
    'log'
    """
    from .spectrum import PowerSpectrum

    arrays.refuse_others(spectrum, "spectrum", PowerSpectrum, "power_spectrum")
    ax = new_axes(ax)
    from matplotlib.ticker import MaxNLocator

    with np.errstate(invalid="ignore"):
        energies = spectrum.energies[1:] / spectrum.multiplicities[1:]
    degrees = spectrum.degrees[1:]
    number = len(drawn(ax, "heatess-curve"))
    visible = energies > ENERGY_FLOOR
    style = {"marker": "o", "markersize": 3.5, **style}
    line = draw_line(ax, degrees.astype(np.float64), np.where(visible, energies, math.nan), **style)
    ax.set(yscale="log", xlabel="degree $\\ell$", ylabel="energy per mode, $B_\\ell\\,/\\,N_\\ell$")
    vanished = degrees[~visible & np.isfinite(energies)]
    if len(vanished):
        bottom = np.full(len(vanished), 0.02 + 0.03 * number)
        look: dict[str, Any] = {"linestyle": "none", "marker": "v", "markersize": 4, "markerfacecolor": "white"}
        look |= {"gid": f"heatess-zeros-{number}", "label": f"no energy (below {ENERGY_FLOOR:g})"}
        ax.plot(vanished, bottom, transform=ax.get_xaxis_transform(), color=line.get_color(), **look)
    level = 1 / spectrum.ess
    ax.set_ylim(*_padded([level, *energies[visible]], ax, number))
    name = f"independent atoms: 1/ESS = {level:.3g}"
    ax.axhline(level, color=line.get_color(), gid=f"heatess-level-{number}", label=name, **LEVEL)
    ax.legend(loc="upper right", fontsize="small", frameon=False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    log_ticks(ax.yaxis, *ax.get_ylim())
    return ax


def sky(
    points: Any,
    weights: Any = None,
    *,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
    log_weights: Any = None,
    ax: Axes | None = None,
    atoms: bool = True,
) -> Axes:
    """Draw a cloud on the sphere S^2 as a map of the whole, smoothed at one scale, and return the Axes.

    The projection is Mollweide's, which keeps areas. Colours are the density over that of the uniform law, on a
    logarithmic scale. Of sky coordinates, as a Measure that was read from columns ra and dec has them, right ascension
    increases to the left.

    Parameters
    ----------
    points, weights, log_weights
        As for `heat_profile`, on the sphere S^2.
    angle, time, resolution : float, optional
        At most one of them: the scale. Default: 10 degrees.
    ax : matplotlib Axes, optional
        Where to draw: an Axes made with projection="mollweide". Default: one on a new Figure.
    atoms : bool
        Whether to draw atoms, at most 5,000 of them, as dots whose area is the weight.

    Examples
    --------
    >>> import heatess as he
    >>> ax = he.plot.sky(he.samplers.von_mises_fisher(500, [0, 0, 1], 10, rng=0), angle=15)
    >>> ax.name
    'mollweide'
    """
    from .measure import Measure
    from .profile import check_one_scale
    from .scales import resolve
    from .skymap import draw_sky

    if angle is None and time is None and resolution is None:
        angle = 10.0
    check_one_scale(angle, time, resolution)
    measure = Measure.of(points, weights, log_weights=log_weights)
    return draw_sky(measure, resolve(measure.space, angle, time, resolution), ax, atoms=atoms)


def compare(
    items: Any, ax: Axes | None = None, *, names: Sequence[str] | None = None, quantity: str = "gess", **scales: Any
) -> Axes:
    """Draw one curve of several profiles or measures on one Axes, with a legend, and return the Axes.

    Parameters
    ----------
    items : mapping or sequence
        `HeatProfile` or `Measure` objects, or points as `heat_profile` takes them; a mapping has their names. Measures
        are profiled at scales that fit all of them.
    ax, quantity
        As in `draw_profile`.
    names : sequence of str, optional
        Names for the legend. Default: those of the mapping, or A, B, ...
    **scales
        angles, times or resolutions for measures, as for `heat_profile`.

    >>> import heatess as he
    >>> wide, narrow = (he.samplers.von_mises_fisher(200, [0, 0, 1], kappa, rng=0) for kappa in (2, 50))
    >>> ax = compare({"wide": wide, "narrow": narrow}, angles=[5, 10, 20, 40])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['wide', 'narrow']
    """
    from .fitting import common_scales
    from .measure import Measure
    from .profile import HeatProfile, heat_profile

    if isinstance(items, Mapping):
        names, items = list(items) if names is None else names, list(items.values())
    if not isinstance(items, list | tuple) or not items:
        raise InputTypeError(f"give a list or a mapping of profiles or measures, but found {arrays.shown(items)}")
    letters = [chr(ord("A") + place % 26) for place in range(len(items))]
    called = letters if names is None else arrays.names_of(names, "curve", "names").tolist()
    if len(called) != len(items):
        raise InputError(f"names must be {len(items)}, one for each curve, but are {arrays.shown(names)}")
    items = [item if isinstance(item, HeatProfile) else Measure.of(item) for item in items]
    measures = [item for item in items if isinstance(item, Measure)]
    if any(item.space != items[0].space for item in items):
        raise InputError("curves on one Axes must be on one space; draw the others on an Axes of their own")
    if measures and not scales:
        scales = {"times": common_scales(measures).times}
    for name, item in zip(called, items, strict=True):
        profile = item if isinstance(item, HeatProfile) else heat_profile(item, **scales)
        ax = draw_profile(profile, ax, quantity=quantity, label=str(name))
    if ax is None:
        raise TypeError("there is at least one curve")
    ax.legend(frameon=False, fontsize="small")
    return ax


#: Backends of matplotlib that show nothing, and systems on which every session has a screen.
SILENT, WITH_SCREEN = ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template"), ("darwin", "win32")


def new_figure(width: float, height: float) -> Any:
    """A Figure of this size in inches; one of pyplot, which a cell or `plt.show()` shows, where there is a screen."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot") from None
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
        raise InputTypeError(f"ax must be a matplotlib Axes, but is {arrays.shown(ax)}")
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


def _gess_levels(ax: Axes, profile: HeatProfile, color: str) -> None:
    """Draw the ordinary ESS in the colour of the curve and n in grey, and make room for both."""
    low, high = ax.get_ylim() if drawn(ax, "heatess-level") else (0.9, 1.0)
    ax.set_ylim(min(low, 0.9), max(high, 1.9 * profile.n))
    if math.isclose(profile.ess, profile.n, rel_tol=1e-6):
        draw_level(ax, profile.n, f"ESS = n = {profile.n:,}", color)
        return
    draw_level(ax, profile.n, f"n = {profile.n:,}", GREY)
    draw_level(ax, profile.ess, f"ESS = {plain(profile.ess)}", color)


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


def drawn(ax: Axes, kind: str) -> list[Any]:
    """The artists of one kind that this module has drawn on the Axes."""
    return [artist for artist in ax.get_children() if (artist.get_gid() or "").startswith(kind)]


def _padded(values: list[float], ax: Axes, number: int) -> tuple[float, float]:
    """Limits of a logarithmic axis that include *values* and the limits of earlier curves."""
    low, high = math.log(min(values)), math.log(max(values))
    room = max(0.1 * (high - low), 0.4)
    limits = math.exp(low - room), math.exp(high + 2 * room)  # room for the legend above
    earlier = ax.get_ylim() if number else limits
    return min(limits[0], earlier[0]), max(limits[1], earlier[1])


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
