"""The resampling example: ordinary ESS jumps although resampling only copies particles; gESS does not."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__, samplers
from ..answers.profile_and_gess import heat_profile
from ..base.arrays import FloatArray, IntArray
from ..base.errors import MissingExtraError
from ..base.files import Drafts, atomic_path
from ..base.text import columns
from ..drawing.axes import COLORS, GREY, new_figure, plain
from ..measures.measure import Measure
from ..profiles.heat_profile import HeatProfile
from ..reporting import page_of
from .text import profile_csv

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEED = 7
PARTICLES = 3000
KAPPA = 20.0
ANGLES = (5, 15, 45)
SCHEMA = "heatess.demo/1"

#: What `write` writes.
FILES = ("profile.png", "report.html", "profile.csv", "profile.json")

#: Colatitude shown in the picture, in degrees; 99.7 % of the target lies within it.
_CAP = 45
#: A longitude with few particles, where the circles have their labels.
_EMPTY = math.radians(168)


@dataclass(frozen=True, eq=False)
class Demo:
    """Weighted draws, how often resampling copied each of them, and the heat profiles before and after."""

    points: FloatArray
    weights: FloatArray
    copies: IntArray
    before: HeatProfile
    after: HeatProfile

    @property
    def distinct(self) -> int:
        """Number of different particles after resampling."""
        return int(np.count_nonzero(self.copies))


def resampling() -> Demo:
    """The example: 3,000 uniform draws, weighted for vMF(20), then resampled; the seed is fixed.

    >>> demo = resampling()
    >>> round(demo.before.ess), round(demo.after.ess), demo.distinct
    (152, 3000, 342)
    >>> bool(abs(demo.after.at(angle=5).gess / demo.before.at(angle=5).gess - 1) < 0.02)
    True
    """
    rng = np.random.default_rng(SEED)
    points = samplers.uniform(PARTICLES, rng=rng)
    log_weights = KAPPA * points[:, 2]
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    copies = systematic(weights, PARTICLES, rng)
    before = heat_profile(points, log_weights=log_weights)
    after = heat_profile(np.repeat(points, copies, axis=0), times=before.times)
    return Demo(points, weights, copies, before, after)


def systematic(weights: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """How often systematic resampling draws each particle: one uniform offset, then n equal steps.

    >>> systematic(np.array([0.5, 0.25, 0.25]), 4, np.random.default_rng(0))
    array([2, 1, 1])
    """
    ticks = (rng.random() + np.arange(n)) / n
    chosen = np.searchsorted(np.cumsum(weights)[:-1], ticks, side="right")
    return np.bincount(chosen, minlength=len(weights))


def story(demo: Demo) -> str:
    """The text of the demo: what it shows, a table before and after resampling, and why."""
    rows = [["", "particles", "distinct", "ESS", *(f"gESS {angle} deg" for angle in ANGLES)]]
    for name, profile, distinct in (("before", demo.before, PARTICLES), ("after", demo.after, demo.distinct)):
        gess = [plain(profile.at(angle=angle).gess) for angle in ANGLES]
        rows.append([name, f"{profile.n:,}", f"{distinct:,}", plain(profile.ess), *gess])
    before, after = (plain(profile.at(angle=ANGLES[0]).gess) for profile in (demo.before, demo.after))
    point = (
        f"Resampling raised ESS from {plain(demo.before.ess)} to {plain(demo.after.ess)}. Distinguishable particles: "
        f"{before} before, {after} after, at {ANGLES[0]} degrees."
    )
    reason = (
        f"{PARTICLES:,} uniform draws on the sphere were weighted for a von Mises-Fisher({KAPPA:g}) target, then "
        f"resampled; {demo.distinct} different ones are left. ESS sees weights, not positions; gESS counts particles "
        "that can be told apart at a scale."
    )
    return "\n\n".join([point, columns(rows, left=1), reason])


def write(demo: Demo, folder: Path, draft_of: Drafts = atomic_path) -> list[Path]:
    """Write report.html, profile.csv, profile.json and, with matplotlib, profile.png; return the paths written."""
    profiles = {"before": demo.before, "after": demo.after}
    content = {name: json.loads(profile.to_json()) for name, profile in profiles.items()}
    as_json = json.dumps({"schema": SCHEMA, **content}) + "\n"
    written = []
    texts = {"report.html": page(demo), "profile.csv": profile_csv(profiles), "profile.json": as_json}
    for name, text in texts.items():
        with draft_of(folder / name) as draft:
            draft.write_text(text, encoding="utf-8")
        written.append(folder / name)
    try:
        figure = picture(demo)
    except MissingExtraError:
        return written
    with draft_of(folder / "profile.png") as draft:
        figure.savefig(draft, dpi=150)
    return [folder / "profile.png", *written]


def page(demo: Demo) -> str:
    """The report on the particles before and after resampling, at the same scales."""
    before = Measure(demo.points, demo.weights)
    after = Measure(np.repeat(demo.points, demo.copies, axis=0))
    profiles = {"before resampling": (demo.before, before)}
    profiles["after resampling"] = (demo.after, after)
    return page_of(
        profiles,
        title=f"Resampling raised ESS from {plain(demo.before.ess)} to {plain(demo.after.ess)}, but not gESS",
        no_comparison="the second sample was drawn from the first, so that they are not independent",
        provenance={"Command": "heatess demo", "Version": f"heatess {__version__}"},
    )


def picture(demo: Demo) -> Any:
    """A matplotlib Figure: the particles near the pole before and after, and both gESS curves."""
    figure = new_figure(12, 4.1)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08)
    before, after, curves = figure.subplots(1, 3, width_ratios=[1, 1, 1.3])
    before.set_title(f"before: {PARTICLES:,} weighted particles", fontsize=11)
    _draw_cap(before, demo.points, demo.weights, COLORS[0], "marker area = weight")
    after.set_title(f"after resampling: {demo.distinct} different ones", fontsize=11)
    _draw_cap(after, demo.points, demo.copies / PARTICLES, COLORS[1], "marker area = number of copies")
    _draw_curves(curves, demo)
    return figure


def _draw_cap(ax: Axes, points: FloatArray, shares: FloatArray, color: str, note: str) -> None:
    """Draw particles around the pole in Lambert's equal-area projection; marker area is proportional to weight."""
    from matplotlib.patches import Circle

    look: dict[str, Any] = {"color": GREY, "fontsize": 8, "bbox": {"color": "white", "pad": 0.6}, "zorder": 0.9}
    for colatitude in (15, 30, _CAP):
        radius = 2 * math.sin(math.radians(colatitude) / 2)
        ax.add_patch(Circle((0, 0), radius, fill=False, color="#c8c8c8", linewidth=0.8, zorder=0.7))
        x, y = radius * math.cos(_EMPTY), radius * math.sin(_EMPTY)
        ax.text(x, y, f"{colatitude}°", ha="center", va="center", **look)  # below the particles, so that none is hidden
    shown = (points[:, 2] > math.cos(math.radians(_CAP))) & (shares > 0)
    x, y, z = points[shown].T
    stretch = np.sqrt(2 / (1 + z))
    ax.scatter(x * stretch, y * stretch, s=6000 * shares[shown], color=color, alpha=0.55, linewidths=0)
    ax.text(0.5, -0.01, note, transform=ax.transAxes, color=GREY, fontsize=9, ha="center", va="top")
    ax.set_aspect("equal")
    ax.set_axis_off()


def _draw_curves(ax: Axes, demo: Demo) -> None:
    """Draw both gESS curves, both ESS levels, and the jump between them."""
    demo.after.plot(ax, label="gESS after", color=COLORS[1], linestyle=(0, (5, 3)), zorder=3)
    demo.before.plot(ax, label="gESS before", color=COLORS[0], linestyle="-", linewidth=5, alpha=0.45)
    for level, text in zip(
        ax.texts, (f"ESS after = {PARTICLES:,}", f"ESS before = {plain(demo.before.ess)}"), strict=True
    ):
        level.set_text(text)
    arrow = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.4, "shrinkA": 1, "shrinkB": 1}
    ax.annotate("", (3, demo.after.ess), (3, demo.before.ess), arrowprops=arrow)
    ax.text(3.3, math.sqrt(demo.after.ess * demo.before.ess), "resampling", color=GREY, ha="left", va="center")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("ordinary ESS jumps, gESS does not", fontsize=11)
    ax.legend(*(items[::-1] for items in ax.get_legend_handles_labels()), frameon=False, loc="lower left")
