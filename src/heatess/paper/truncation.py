"""How many degrees the series needs: the error of the power A if the series ends at degree L."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import PowerSpectrum, power_spectrum
from . import configurations, style
from .experiment import FloatArray, Outcome, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The largest degree of the reference, and that of the tables and main figures of the paper.
REFERENCE, CUT = 360, 180
ANGLES = (3.0, 5.0, 10.0, 20.0, 45.0)


class Truncation(NamedTuple):
    """Relative errors and their bounds; shape (angles, L) with L = 0, ..., REFERENCE - 1."""

    errors: FloatArray
    bounds: FloatArray


def run(settings: Settings) -> Outcome:
    """The four-mode cloud of Table 1."""
    cloud = configurations.synthetic(settings.rng("synthetic"))["Four modes"]
    found = compute(power_spectrum(cloud, max_degree=REFERENCE))
    return Outcome(figure=lambda: draw(found))


def compute(spectrum: PowerSpectrum) -> Truncation:
    """The errors |A_L - A| / A, where A is the reference, and upper bounds for them.

    A_L(t) = sum over l <= L of exp(-2 lambda_l t) B_l. The bounds have N_l in place of B_l.
    """
    times = np.radians(ANGLES) ** 2 / 8
    damping = np.exp(-2 * np.multiply.outer(times, spectrum.eigenvalues))
    power = (damping * spectrum.energies).sum(axis=1, keepdims=True)

    def tails(terms: FloatArray) -> FloatArray:
        return np.asarray(np.cumsum(terms[:, ::-1], axis=1)[:, ::-1][:, 1:] / power)

    return Truncation(tails(damping * spectrum.energies), tails(damping * spectrum.multiplicities))


def draw(found: Truncation) -> Figure:
    """Errors as a function of L, one curve per angle."""
    figure, (ax,) = style.panels(style.COLUMN, 2.7)
    degrees = np.arange(found.errors.shape[1])
    for number, angle in enumerate(ANGLES):
        line = style.curve(ax, degrees, found.errors[number], number, label=f"{angle:g}\N{DEGREE SIGN}")
        ax.plot(degrees, found.bounds[number], color=line.get_color(), linewidth=0.5)
    ax.plot([], [], color=style.GREY, linewidth=0.5, label="bound")
    ax.axvline(CUT, color=style.GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    look: dict[str, Any] = {"color": style.GREY, "fontsize": 7, "rotation": 90}
    ax.annotate(f"$L = {CUT}$", (CUT, 3e-16), xytext=(2, 0), textcoords="offset points", **look)
    ax.set_xlim(0, 290)
    style.log_axis(ax.yaxis, 1e-16, 100)
    ax.set_xlabel("largest degree $L$")
    ax.set_ylabel("relative error in $A$")
    ax.legend(title="scale $\\alpha$", title_fontsize=7, loc="upper right")
    return figure
