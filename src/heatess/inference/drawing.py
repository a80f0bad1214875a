"""Plots of population profiles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays
from ..errors import InputError
from ..plot import GREY, LEVEL, QUANTITIES, _axes, _drawn, _level, _line, _log_ticks, _scale, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .population import PopulationProfile

_NAMES: dict[str, tuple[str, bool]] = {"places": ("places (heat footprints of the law)", True)} | {
    name: (QUANTITIES[name].label, QUANTITIES[name].logarithmic) for name in ("volume", "divergence", "mmd2")
}


def draw_population(
    profile: PopulationProfile, ax: Axes | None = None, *, quantity: str = "places", **style: Any
) -> Axes:
    """Draw one estimate of a population profile with both bands against the scale, and return the Axes.

    The darker band holds at each scale, the lighter one at all scales at once. A curve of places has a line at ESS, and
    a mark at the resolution limit, where the two meet. Parameters are as in `heatess.plot.draw_profile`.
    """
    if not isinstance(quantity, str) or quantity not in _NAMES:
        raise InputError(f"quantity must be one of {', '.join(_NAMES)}, but found {arrays.shown(quantity)}")
    ax = _axes(ax)
    name, logarithmic = _NAMES[quantity]
    x, scale_name = _scale(profile)  # type: ignore[arg-type]
    band = getattr(profile, quantity)
    values = np.array(band.estimate)
    shown = np.isfinite(x) & np.isfinite(values) & ((values > 0) | (not logarithmic))
    order = np.flatnonzero(np.isfinite(x))[np.argsort(x[np.isfinite(x)])]
    curve = np.where(shown, values, np.nan)[order]
    ax.set(xlabel=scale_name, ylabel=name)
    line = _line(ax, x[order], curve, **style)
    if not shown.any():
        reason = f"no finite {quantity} to draw on {profile.space!r} at these scales"
        ax.text(0.5, 0.5, reason, transform=ax.transAxes, color=GREY, ha="center", va="center", wrap=True)
        return ax
    ax.set_xscale("log")
    if logarithmic:
        ax.set_yscale("log")
    color = str(line.get_color())
    _shade(ax, profile, band, x[order], order, color, logarithmic)
    if quantity == "places":
        _limit(ax, profile, x)
    if logarithmic:
        _log_ticks(ax.yaxis, *ax.get_ylim())
    _log_ticks(ax.xaxis, *ax.get_xlim())
    if profile.withheld is None and not _drawn(ax, "heatess-note"):
        ax.legend(loc="best", fontsize="small", frameon=False)
    return ax


def _shade(ax: Axes, profile: PopulationProfile, band: Any, x: Any, order: Any, color: str, logarithmic: bool) -> None:
    """Both bands, and limits of the axis that show them; or a note that there are none."""
    if profile.withheld is not None:
        look: dict[str, Any] = {"color": GREY, "fontsize": "small", "wrap": True, "gid": "heatess-note"}
        ax.text(0.02, 0.03, f"bands withheld: {profile.withheld}", transform=ax.transAxes, **look)
        return
    share = f"{100 * profile.level:g} %"
    ends = (("simultaneous_lower", "simultaneous_upper", 0.16, "all scales"), ("lower", "upper", 0.3, "each scale"))
    low, high = ax.get_ylim()
    for lower, upper, alpha, words in ends:
        bottom, top = (np.array(getattr(band, end))[order] for end in (lower, upper))
        if logarithmic:
            positive = np.concatenate([bottom[bottom > 0], top[top > 0], band.estimate[band.estimate > 0]])
            bottom = np.maximum(bottom, 0.3 * positive.min())
        finite = np.isfinite(bottom) & np.isfinite(top)
        label = None if len(_drawn(ax, "heatess-band")) > 1 else f"{share}, {words}"
        ax.fill_between(
            x, bottom, top, where=finite, color=color, alpha=alpha, linewidth=0, label=label, gid="heatess-band"
        )
        if finite.any():
            low, high = min(low, float(bottom[finite].min())), max(high, float(top[finite].max()))
    room = (high / low) ** 0.05 if logarithmic else 0.05 * (high - low)
    ax.set_ylim(*((low / room, high * room) if logarithmic else (low - room, high + room)))


def _limit(ax: Axes, profile: PopulationProfile, x: Any) -> None:
    """A line at ESS, and a dotted one at the scale where places falls to it."""
    low, high = ax.get_ylim()
    ax.set_ylim(min(low, 0.8 * profile.ess), max(high, 1.6 * profile.ess))
    _level(ax, profile.ess, f"ESS = {plain(profile.ess)}", GREY)
    if math.isnan(profile.resolution_limit):
        return
    order = np.argsort(profile.angles)
    place = np.exp(np.interp(math.log(profile.resolution_limit), np.log(profile.angles[order]), np.log(x[order])))
    ax.axvline(float(place), color=GREY, gid="heatess-limit", **{**LEVEL, "linestyle": (0, (1, 2))})
    unit = "°" if profile.space.angular else ""
    text = f"resolution limit {plain(float(place))}{unit}"
    where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    ax.annotate(text, (float(place), 0.02), (4, 0), color=GREY, fontsize="small", va="bottom", **where)
