"""Plots of population profiles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import arrays
from ...drawing.axes import (
    GREY,
    LEVEL,
    QUANTITIES,
    draw_level,
    draw_line,
    drawn,
    log_ticks,
    new_axes,
    plain,
    say_nothing_finite,
    scale_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..band import Band
    from ..population import PopulationProfile

_NAMES: dict[str, tuple[str, bool]] = {"places": ("places (heat footprints of the distribution)", True)} | {
    name: (QUANTITIES[name].label, QUANTITIES[name].logarithmic) for name in ("volume", "divergence", "mmd2")
}


def draw_population(
    profile: PopulationProfile, ax: Axes | None = None, *, quantity: str = "places", **style: Any
) -> Axes:
    """Draw one estimate of a population profile with both bands against the scale, and return the Axes.

    The darker band holds at each scale, the lighter one at all scales at once. A curve of places has a line at ESS, and
    a mark at the resolution limit, where the two meet. Parameters are as in `heatess.plot.draw_profile`.
    """
    arrays.one_of(quantity, "quantity", _NAMES)
    ax = new_axes(ax)
    name, logarithmic = _NAMES[quantity]
    x, scale_name = scale_axis(profile)
    band = getattr(profile, quantity)
    values = np.array(band.estimate)
    shown = np.isfinite(x) & np.isfinite(values) & ((values > 0) | (not logarithmic))
    order = np.flatnonzero(np.isfinite(x))[np.argsort(x[np.isfinite(x)])]
    curve = np.where(shown, values, np.nan)[order]
    ax.set(xlabel=scale_name, ylabel=name)
    line = draw_line(ax, x[order], curve, **style)
    if not shown.any():
        return say_nothing_finite(ax, quantity, profile.space)
    ax.set_xscale("log")
    if logarithmic:
        ax.set_yscale("log")
    color = str(line.get_color())
    _shade(ax, profile, band, x[order], order, color, logarithmic)
    if quantity == "places":
        _limit(ax, profile, x)
    if logarithmic:
        log_ticks(ax.yaxis, *ax.get_ylim())
    log_ticks(ax.xaxis, *ax.get_xlim())
    if profile.withheld is None and not drawn(ax, "heatess-note"):
        ax.legend(loc="best", fontsize="small", frameon=False)
    return ax


def draw_band(band: Band, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw an estimate with its bands, one scale beside the other, and return the Axes.

    `PopulationProfile.plot(quantity=...)` draws it against the scales.
    """
    ax = new_axes(ax)
    rows = np.arange(1.0, len(band) + 1)
    line = draw_line(ax, rows, np.array(band.estimate), **style)
    look: dict[str, Any] = {"color": str(line.get_color()), "linewidth": 0, "gid": "heatess-band"}
    for prefix, alpha in (("simultaneous_", 0.16), ("", 0.3)):
        ax.fill_between(rows, getattr(band, f"{prefix}lower"), getattr(band, f"{prefix}upper"), alpha=alpha, **look)
    ax.set(xlabel="number of the scale", ylabel="estimate")
    return ax


def _shade(ax: Axes, profile: PopulationProfile, band: Any, x: Any, order: Any, color: str, logarithmic: bool) -> None:
    """Both bands, and limits of the axis that show them; or a note that there are none."""
    if profile.withheld is not None:
        _note(ax, f"bands withheld: {profile.withheld}")
        return
    ends = (("simultaneous_lower", "simultaneous_upper", 0.16, "all scales"), ("lower", "upper", 0.3, "each scale"))
    parts = [np.array(getattr(band, end))[order] for pair in ends for end in pair[:2]]
    known = np.concatenate([*parts, band.estimate])
    known = known[np.isfinite(known) & ((known > 0) | (not logarithmic))]
    low, high = float(known.min()), float(known.max())
    if logarithmic:
        room = max((high / low) ** 0.05, 1.05)
        low, high = low / room, high * room
    else:
        low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
    if drawn(ax, "heatess-band"):  # of an earlier curve
        low, high = min(low, ax.get_ylim()[0]), max(high, ax.get_ylim()[1])
    for (_, _, alpha, words), bottom, top in zip(ends, parts[::2], parts[1::2], strict=True):
        label = None if len(drawn(ax, "heatess-band")) > 1 else f"{100 * profile.level:g} %, {words}"
        look: dict[str, Any] = {"color": color, "alpha": alpha, "linewidth": 0, "gid": "heatess-band"}
        where = np.isfinite(bottom) & np.isfinite(top)
        ax.fill_between(x, np.maximum(bottom, low), np.maximum(top, low), where=where, label=label, **look)
    ax.set_ylim(low, high)


def _note(ax: Axes, text: str) -> None:
    """Words at the top of the Axes, in lines."""
    from textwrap import fill

    look: dict[str, Any] = {"color": GREY, "fontsize": "small", "ha": "right", "va": "top", "gid": "heatess-note"}
    ax.text(0.98, 0.98, fill(text, 46), transform=ax.transAxes, **look)


def _limit(ax: Axes, profile: PopulationProfile, x: Any) -> None:
    """A line at ESS, and a dotted one at the scale where places falls to it."""
    low, high = ax.get_ylim()
    ax.set_ylim(min(low, 0.8 * profile.ess), max(high, 1.6 * profile.ess))
    draw_level(ax, profile.ess, f"ESS = {plain(profile.ess)}", GREY)
    if math.isnan(profile.resolution_limit):
        return
    order = np.argsort(profile.angles)
    place = np.exp(np.interp(math.log(profile.resolution_limit), np.log(profile.angles[order]), np.log(x[order])))
    ax.axvline(float(place), color=GREY, gid="heatess-limit", **{**LEVEL, "linestyle": (0, (1, 2))})
    unit = "°" if profile.space.angular else ""
    text = f"resolution limit {plain(float(place))}{unit}"
    where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    ax.annotate(text, (float(place), 0.02), (4, 0), color=GREY, fontsize="small", va="bottom", **where)
