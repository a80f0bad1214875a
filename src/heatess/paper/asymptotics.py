"""Approximations for a unimodal cloud: overlapping Gaussians at small times, two frequencies at large times."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import asymptotics, heat_profile
from . import configurations, style
from .experiment import FloatArray, Outcome, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALL = np.geomspace(1.0, 60.0, 60)
LARGE = np.geomspace(20.0, 200.0, 60)


class Regimes(NamedTuple):
    """The exact curves and their approximations."""

    power: FloatArray
    overlap: FloatArray
    mmd2: FloatArray
    first: FloatArray
    first_two: FloatArray


def run(settings: Settings) -> Outcome:
    """Compare the power A with its small-time approximation, and A - 1 with its lowest degrees."""
    found = compute(configurations.synthetic(settings.rng("synthetic"))["Unimodal vMF"])
    return Outcome(figure=lambda: draw(found))


def compute(cloud: FloatArray) -> Regimes:
    """The curves at the angles `SMALL` and `LARGE`."""
    return Regimes(
        power=1 + heat_profile(cloud, angles=SMALL).mmd2,
        overlap=asymptotics.pairwise_overlap(cloud, angles=SMALL),
        mmd2=heat_profile(cloud, angles=LARGE).mmd2,
        first=asymptotics.low_frequency(cloud, angles=LARGE, degrees=1),
        first_two=asymptotics.low_frequency(cloud, angles=LARGE, degrees=2),
    )


def draw(found: Regimes) -> Figure:
    """Curves above, relative errors below."""
    figure, axes = style.panels(style.FULL, 3.7, 2, 2, sharex="col", height_ratios=[1.7, 1])
    small, large, small_error, large_error = axes
    style.curve(small, SMALL, found.power, 0, label="exact $A$")
    style.curve(small, SMALL, found.overlap, 1, label="pairwise overlap")
    style.curve(large, LARGE, found.mmd2, 0, label="exact $A-1$")
    style.curve(large, LARGE, found.first_two, 1, label="degrees 1 and 2")
    style.curve(large, LARGE, found.first, 2, label="degree 1 alone")
    style.curve(small_error, SMALL, np.abs(found.overlap / found.power - 1), 1)
    style.curve(large_error, LARGE, np.abs(found.first_two / found.mmd2 - 1), 1)
    style.curve(large_error, LARGE, np.abs(found.first / found.mmd2 - 1), 2)
    style.letter(small, "(a) small times")
    style.letter(large, "(b) large times")
    small.set_ylabel("power $A$ (dimensionless)")
    large.set_ylabel("$A-1$ (dimensionless)")
    for ax, curve in ((small, found.power), (large, found.mmd2)):
        ax.legend()
        style.log_axis(ax.yaxis, 0.6 * float(curve.min()), 2 * float(curve.max()))
    for ax in (small_error, large_error):
        style.log_axis(ax.yaxis, 1e-8 if ax is large_error else 1e-6, 3)
        ax.set_ylabel("relative error")
        ax.set_xlabel(style.ANGLE)
    style.log_axis(small_error.xaxis, SMALL[0], SMALL[-1])
    style.log_axis(large_error.xaxis, LARGE[0], LARGE[-1])
    return figure
