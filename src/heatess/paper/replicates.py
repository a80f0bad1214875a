"""Replicated profiles: how much the curves differ between draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import heat_profile
from . import configurations, style
from .experiment import FloatArray, Outcome, Settings, stacked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REPLICATIONS = 30


class Band(NamedTuple):
    """Quartiles over the replications, shape (3, angles)."""

    angles: FloatArray
    gess: FloatArray
    volume: FloatArray


def run(settings: Settings) -> Outcome:
    """Thirty draws of the five configurations in their wider form: n = 180, kappa = 100."""
    bands = compute(settings)
    return Outcome(figure=lambda: draw(bands))


def compute(settings: Settings) -> dict[str, Band]:
    """Median and interquartile band of each configuration."""
    draws = [
        configurations.synthetic(settings.rng("replicates", number), configurations.REPLICATED)
        for number in range(REPLICATIONS)
    ]
    bands = {}
    for name in settings.track(list(draws[0]), "replicated profiles"):
        found = [heat_profile(draw[name]) for draw in draws]
        gess, volume = (
            np.quantile(stacked(curves), [0.25, 0.5, 0.75], axis=0)
            for curves in ((profile.gess for profile in found), (profile.volume for profile in found))
        )
        bands[name] = Band(found[0].angles, gess, volume)
    return bands


def draw(bands: dict[str, Band]) -> Figure:
    """Panel (a) gESS, panel (b) occupied volume; curves are medians, bands interquartile."""
    figure, (left, right) = style.panels(style.FULL, 2.75, columns=2)
    for number, (name, found) in enumerate(bands.items()):
        _banded(left, found.angles, found.gess, number, name)
        _banded(right, found.angles, found.volume, number, name)
    style.log_axis(left.yaxis, 0.9, 1.2 * max(float(found.gess.max()) for found in bands.values()))
    style.log_axis(right.yaxis, 0.8 * min(float(found.volume.min()) for found in bands.values()), 1.2)
    for ax, name, label in ((left, "(a) gESS", style.GESS), (right, "(b) occupied volume", style.VOLUME)):
        style.log_axis(ax.xaxis, 5, 120)
        ax.set_xlabel(style.ANGLE)
        ax.set_ylabel(label)
        style.letter(ax, name)
    style.legend_below(figure, left, len(bands))
    return figure


def _banded(ax: Axes, angles: FloatArray, quartiles: FloatArray, number: int, name: str) -> None:
    low, median, high = quartiles
    line = style.curve(ax, angles, median, number, label=name, linewidth=0.9)
    style.band(ax, angles, low, high, line.get_color(), alpha=0.35)
