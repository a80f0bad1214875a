"""The curves of a profile and of a power spectrum; `heatess.plot` describes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import arrays
from .axes import (
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

#: Energies per mode below this are zero up to rounding.
ENERGY_FLOOR = 1e-16


def draw_profile(profile: Any, ax: Axes | None = None, *, quantity: str = "gess", **style: Any) -> Axes:
    """Draw one curve of a `HeatProfile` against the scale, and return the Axes."""
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
        return say_nothing_finite(ax, quantity, profile.space)
    ax.set_xscale("log")
    if logarithmic:
        ax.set_yscale("log")
        if quantity == "gess":
            _gess_levels(ax, profile, str(line.get_color()))
        log_ticks(ax.yaxis, *ax.get_ylim())
    log_ticks(ax.xaxis, *ax.get_xlim())
    return ax


def draw_spectrum(spectrum: Any, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the energy per mode of a `PowerSpectrum` against the degree, and return the Axes."""
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
    name = f"independent points: 1/ESS = {level:.3g}"
    ax.axhline(level, color=line.get_color(), gid=f"heatess-level-{number}", label=name, **LEVEL)
    ax.legend(loc="upper right", fontsize="small", frameon=False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    log_ticks(ax.yaxis, *ax.get_ylim())
    return ax


def _gess_levels(ax: Axes, profile: Any, color: str) -> None:
    """Draw the ordinary ESS in the colour of the curve and n in grey, and make room for both."""
    low, high = ax.get_ylim() if drawn(ax, "heatess-level") else (0.9, 1.0)
    ax.set_ylim(min(low, 0.9), max(high, 1.9 * profile.n))
    if math.isclose(profile.ess, profile.n, rel_tol=1e-6):
        draw_level(ax, profile.n, f"ESS = n = {profile.n:,}", color)
        return
    draw_level(ax, profile.n, f"n = {profile.n:,}", GREY)
    draw_level(ax, profile.ess, f"ESS = {plain(profile.ess)}", color)


def _padded(values: list[float], ax: Axes, number: int) -> tuple[float, float]:
    """Limits of a logarithmic axis that include *values* and the limits of earlier curves."""
    low, high = math.log(min(values)), math.log(max(values))
    room = max(0.1 * (high - low), 0.4)
    limits = math.exp(low - room), math.exp(high + 2 * room)  # room for the legend above
    earlier = ax.get_ylim() if number else limits
    return min(limits[0], earlier[0]), max(limits[1], earlier[1])


def draw_plateaus(plateaus: Any, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw each plateau as a bar over its scales, at the height of its count, and return the Axes."""
    ax = new_axes(ax)
    for plateau in plateaus:
        line = draw_line(ax, np.array([plateau.finest, plateau.coarsest]), np.full(2, plateau.count), **style)
        line.set(linewidth=5, linestyle="-", solid_capstyle="butt")
    unit = f" ({plateaus.unit})" if plateaus.unit else ""
    ax.set(xlabel=f"scale{unit}", ylabel="modes of equal weight", title=repr(plateaus)[9:-1])
    ax.set_ylim(0, 1.2 * max(plateaus.counts, default=1.0))
    if len(plateaus):
        ax.set_xscale("log")
        log_ticks(ax.xaxis, *ax.get_xlim())
    return ax


def draw_summary(summary: Any, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw gESS and, where it is known, Leinster-Cobbold diversity at the scales of a `Summary`; return the Axes."""
    ax = new_axes(ax)
    order = np.argsort(summary.angles)
    for name, label in (("gess", "gESS"), ("leinster_cobbold", "Leinster-Cobbold diversity")):
        values = np.array(getattr(summary, name), dtype=np.float64)[order]
        if np.isfinite(values).any():
            draw_line(ax, np.array(summary.angles)[order], values, **{"marker": "o", "label": label, **style})
    ax.set(xscale="log", yscale="log", ylabel="number of points")
    ax.set_xlabel("angle $\\alpha = \\sqrt{8t}$ (degrees)" if summary.unit else "scale $\\alpha = \\sqrt{8t}$")
    _gess_levels(ax, summary, GREY)
    ax.legend(frameon=False, fontsize="small")
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        log_ticks(axis, *limits)
    return ax
