"""Self-normalised importance sampling for two antipodal modes, from a uniform proposal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import heat_profile, samplers
from . import configurations, published, style
from .checks import Check, Spread
from .experiment import FloatArray, Outcome, Settings
from .vmf import Mixture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TARGET = Mixture(means=(configurations.NORTH, configurations.SOUTH), kappas=(18.0, 18.0), shares=(0.5, 0.5))
PARTICLES = 400
TRIALS = 40
ANGLES = np.geomspace(5.0, 120.0, 60)
QUANTILES = {"q25": 0.25, "median": 0.5, "q75": 0.75}


class Repeats(NamedTuple):
    """Results of repeated 40-trial experiments: quartile curves (repeats, 60) and the median ESS (repeats,)."""

    curves: dict[str, FloatArray]
    ess: FloatArray


def run(settings: Settings) -> Outcome:
    """The figure uses the first repeat; the random spread of its curves uses all repeats."""
    count = settings.choose(full=200, quick=80)
    found = repeat(settings, count)
    return Outcome(checks=checks(found), figure=lambda: draw(found))


def trial(rng: np.random.Generator) -> tuple[FloatArray, float]:
    """The gESS curve and the ESS of one set of weighted particles, w_i proportional to dP/dQ (x_i)."""
    particles = samplers.uniform(PARTICLES, rng=rng)
    profile = heat_profile(particles, TARGET.density(particles), angles=ANGLES)
    return profile.gess, profile.ess


def repeat(settings: Settings, count: int) -> Repeats:
    """Run the 40-trial experiment *count* times."""
    curves: dict[str, list[FloatArray]] = {name: [] for name in QUANTILES}
    ess = []
    for number in settings.track(range(count), "importance sampling"):
        rng = settings.rng("snis", number)
        trials = [trial(rng) for _ in range(TRIALS)]
        gess = np.stack([curve for curve, _ in trials])
        for name, level in QUANTILES.items():
            curves[name].append(np.quantile(gess, level, axis=0))
        ess.append(float(np.median([size for _, size in trials])))
    return Repeats({name: np.stack(found) for name, found in curves.items()}, np.array(ess))


def checks(found: Repeats) -> list[Check]:
    """The published median, both quartiles at all 60 angles, and the median ESS."""
    source, decimals = "SNIS figure", published.CURVE_DECIMALS
    listed = [Check(source, "median", "ESS", float(found.ess[0]), published.snis_ess(), 3, Spread.of(found.ess))]
    for name in ("median", "q25", "q75"):
        theirs = published.snis_curve(name)
        for k, angle in enumerate(ANGLES):
            ours = found.curves[name][:, k]
            place = f"{angle:.4g} deg"
            listed.append(
                Check(source, f"{name} gESS", place, float(ours[0]), float(theirs[k]), decimals, Spread.of(ours))
            )
    return listed


def draw(found: Repeats) -> Figure:
    """Panel (a) the curves, ours and published; panel (b) their ratio to our median of all repeats."""
    figure, (left, right) = style.panels(style.FULL, 2.75, columns=2)
    ours, theirs = style.COLORS[0], style.COLORS[1]
    style.band(left, ANGLES, found.curves["q25"][0], found.curves["q75"][0], ours, label="interquartile band")
    left.plot(ANGLES, found.curves["median"][0], color=ours, label=f"median gESS, {TRIALS} trials")
    left.axhline(found.ess[0], color=ours, linestyle=(0, (6, 2)), linewidth=1.0, label="median ESS")
    _published(left, published.snis_curve("median"), theirs)
    left.set_ylim(0, 50)
    left.set_ylabel(style.GESS)
    left.legend(loc="upper right", bbox_to_anchor=(1, 0.88))
    centre = np.median(found.curves["median"], axis=0)
    ratios = found.curves["median"] / centre
    style.band(right, ANGLES, ratios.min(axis=0), ratios.max(axis=0), ours, label=f"all {len(ratios)} repeats")
    low, high = np.quantile(ratios, [0.05, 0.95], axis=0)
    style.band(right, ANGLES, low, high, ours, alpha=0.3, label="90 % of repeats")
    right.axhline(1, color=ours, linewidth=1.0)
    _published(right, published.snis_curve("median") / centre, theirs)
    right.set_ylabel("median gESS, ratio to our centre")
    right.legend(loc="lower right")
    for ax, name in ((left, "(a) gESS and ESS"), (right, "(b) sampling spread of the median")):
        style.log_axis(ax.xaxis, 5, 120)
        ax.set_xlabel(style.ANGLE)
        style.letter(ax, name)
    return figure


def _published(ax: Axes, curve: FloatArray, color: str) -> None:
    look: dict[str, Any] = {"marker": "o", "markersize": 2.6, "markerfacecolor": "white", "markeredgewidth": 0.7}
    ax.plot(
        published.snis_curve("alpha_deg"),
        curve,
        color=color,
        linestyle="none",
        clip_on=False,
        label="published",
        **look,
    )
