"""Plots of what compares two samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...drawing import axes, curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..comparison import Comparison
    from ..goodness_of_fit import GoodnessOfFit
    from ..two_sample import TwoSampleTest


def draw_two_sample_test(test: TwoSampleTest | GoodnessOfFit, ax: Axes | None = None) -> Axes:
    """Draw how clearly two samples, or a sample and a distribution, differ at each scale, with the p-value of each.

    Parameters
    ----------
    test : TwoSampleTest
        The test to draw.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new Figure, which notebooks and `plt.show()` show.
    """
    ax = axes.new_axes(ax)
    from matplotlib.patheffects import withStroke

    scale, name = axes.scale_axis(test)
    order = np.argsort(scale)
    usual: dict[str, Any] = {"linestyle": axes.LEVEL["linestyle"], "linewidth": 1.0, "color": axes.GREY}
    ax.axhline(0.0, label="mean of resampled samples", **usual)
    ax.plot(scale[order], test.statistics[order], color=axes.COLORS[0], linewidth=2.0, marker="o", label="observed")
    for row in order:
        ax.annotate(
            f"{test.pvalues[row]:.2g}",
            (scale[row], test.statistics[row]),
            (0, 8),
            textcoords="offset points",
            ha="center",
            fontsize="small",
            color=axes.GREY,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )
    ax.set(xlabel=name, ylabel="MMD, in standard deviations\nabove resampled samples", xscale="log")
    ax.set_title(f"{test.pvalue_in_words()} over all scales; small numbers: p-value of each", fontsize="medium")
    ax.margins(x=0.06, y=0.14)
    axes.log_ticks(ax.xaxis, *ax.get_xlim())
    return ax


def draw_comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw gESS of both samples against the scale, with the scale marked at which they differ most clearly.

    Parameters are as for `draw_two_sample_test`. `Comparison.test.plot()` draws how clearly they differ.
    """
    ax = axes.new_axes(ax)
    for profile, name in zip(comparison.profiles, comparison.names, strict=True):
        curves.draw_profile(profile, ax, label=name, marker="o", markersize=4)
    test = comparison.test
    if test is None:
        ax.set_title(comparison.verdict, fontsize="small")
        ax.legend(loc="lower left", fontsize="small", frameon=False)
        return ax
    scale, _ = axes.scale_axis(test)
    place = float(scale[test.clearest])
    if len(test.times) > 1 and math.isfinite(place):
        look: dict[str, Any] = {"linestyle": (0, (1, 2)), "linewidth": 1.2, "color": axes.GREY}
        ax.axvline(place, label=f"clearest difference, {test.scale_in_words(test.clearest)}", **look)
    ax.set_title(f"{test.pvalue_in_words()} for one distribution behind both", fontsize="medium")
    ax.legend(loc="lower left", fontsize="small", frameon=False)
    return ax
