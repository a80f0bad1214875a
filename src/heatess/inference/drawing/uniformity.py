"""The picture of a test of uniformity: p-values against the scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...drawing.axes import COLORS, GREY, LEVEL, log_ticks, new_axes, scale_axis
from ...measures.scales import ANGLE_DIMENSION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...base.arrays import FloatArray
    from ...heat.series import Series
    from ..uniformity import UniformityTest

#: The line below which a p-value is small, and the least that the axis shows.
SMALL_PVALUE, LEAST_PVALUE_SHOWN = 0.05, 1e-16


def draw_uniformity(test: UniformityTest, ax: Axes | None = None) -> Axes:
    """Draw the p-value at each scale, those of the low degrees, the combined one, and the line at 5 %.

    A degree l stands where its share N_l exp(-2 lambda_l t) of k_2t(x, x) is as large as that of degree 0. p-values
    below 1e-16 are drawn there.
    """
    ax = new_axes(ax)
    if test.name == "heat":
        _draw_scales(ax, test)
    else:
        ax.plot([0.5], [max(test.pvalue, LEAST_PVALUE_SHOWN)], "o", color=COLORS[0], markersize=8)
        ax.set(xlim=(0, 1), xticks=[0.5], xticklabels=[f"{test.name} = {test.statistic:.3g}"])
    ax.axhline(SMALL_PVALUE, color=GREY, label="5 %", gid="heatess-level-5", **LEVEL)
    least = min(float(np.min(test.pvalues)), test.pvalue, *test.degrees.pvalues.tolist(), SMALL_PVALUE / 2)
    ax.set(yscale="log", ylabel="p-value of uniformity", ylim=(max(least, LEAST_PVALUE_SHOWN) / 2, 1.5))
    log_ticks(ax.yaxis, *ax.get_ylim())
    ax.legend(loc="best", fontsize="small", frameon=False)
    return ax


def _draw_scales(ax: Axes, test: UniformityTest) -> None:
    position, name = scale_axis(test)
    order = np.argsort(position)
    look: dict[str, Any] = {"marker": "o", "linewidth": 2.0, "color": COLORS[0], "label": "single scales"}
    ax.plot(position[order], np.maximum(test.pvalues[order], LEAST_PVALUE_SHOWN), gid="heatess-curve-0", **look)
    low = test.degrees
    if len(low.degrees) and test.space.series is not None:
        places = _degree_places(test, test.space.series)
        ax.plot(
            places,
            np.maximum(low.pvalues, LEAST_PVALUE_SHOWN),
            linestyle="none",
            marker="D",
            markersize=7,
            markerfacecolor="white",
            markeredgewidth=1.6,
            color=COLORS[1],
            label="single degrees",
            gid="heatess-degrees",
        )
        for degree, place, pvalue in zip(low.degrees, places, low.pvalues, strict=True):
            above: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": "small"}
            ax.annotate(
                f"$\\ell={degree}$",
                (float(place), max(float(pvalue), LEAST_PVALUE_SHOWN)),
                (0, 7),
                color=COLORS[1],
                **above,
            )
    ax.axhline(
        max(test.pvalue, LEAST_PVALUE_SHOWN),
        color=COLORS[2],
        linestyle=(0, (2, 1.4)),
        linewidth=2.0,
        label=f"combined: {test.pvalue_in_words()}",
        gid="heatess-combined",
    )
    ax.set(xscale="log", xlabel=name)
    low_x, high_x = ax.get_xlim()
    ax.set_xlim(low_x, high_x * 1.1)
    log_ticks(ax.xaxis, *ax.get_xlim())


def _degree_places(test: UniformityTest, series: Series) -> FloatArray:
    """The scale with N exp(-2 lambda t) = 1 for each degree, where `scale_axis` puts scales."""
    levels = series.levels(len(test.degrees.degrees) + 1)
    times = levels.log_multiplicities[1:] / (2 * levels.eigenvalues[1:])
    if test.space.dim > ANGLE_DIMENSION and np.isfinite(test.resolutions).all():
        widths = test.space.resolutions_of_times(times)
        return np.degrees(widths) if test.space.angular else widths
    lengths = np.sqrt(8 * times)
    return np.asarray(lengths * (180 / math.pi)) if test.space.angular else lengths
