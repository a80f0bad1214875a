"""gESS and occupied volume of the synthetic configurations, over all scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .. import HeatProfile, heat_profile
from . import configurations, style
from .experiment import Outcome, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def run(settings: Settings) -> Outcome:
    """The five configurations of Table 1, in the same draw."""
    clouds = configurations.synthetic(settings.rng("synthetic"))
    found = {name: heat_profile(points) for name, points in clouds.items()}
    return Outcome(figure=lambda: draw(found, style.panels(style.COLUMN, 4.7, rows=2)))


def draw(found: Mapping[str, HeatProfile], panels: tuple[Figure, Sequence[Axes]]) -> Figure:
    """Panel (a) gESS, with lines for the ordinary ESS; panel (b) occupied volume."""
    figure, (left, right) = panels
    for number, (name, profile) in enumerate(found.items()):
        style.curve(left, profile.angles, profile.gess, number, label=name)
        style.curve(right, profile.angles, profile.volume, number)
    sizes = [profile.ess for profile in found.values()]
    most = max(sizes)
    if most - min(sizes) < 1e-6:
        style.level(left, most, f"ESS = {most:.0f}")
    else:
        for number, ess in enumerate(sizes):
            style.level(left, ess, f"ESS = {ess:.0f}", style.COLORS[number])
    least = min(profile.volume.min() for profile in found.values())
    style.log_axis(left.yaxis, 0.9, 1.6 * most)
    style.log_axis(right.yaxis, 0.8 * float(least), 1.2)
    for ax, name, label in ((left, "(a) gESS", style.GESS), (right, "(b) occupied volume", style.VOLUME)):
        style.log_axis(ax.xaxis, 5, 120)
        ax.set_xlabel(style.ANGLE)
        ax.set_ylabel(label)
        style.letter(ax, name)
    style.legend_below(figure, left, 3)
    return figure
