"""A map of the whole sphere: the smoothed density of a cloud in Mollweide's projection, and its atoms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.potential import potential
from ..base.arrays import FloatArray, shown
from ..base.errors import InputError
from ..base.known import AXES
from ..drawing.axes import GREY, new_figure, plain
from ..measures.measure import Measure
from ..measures.scales import Scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rows of the map, atoms drawn at most, and how far below the largest density colours go.
ROWS, MOST_ATOMS, DECADES = 180, 5000, 2.5


def draw_sky(measure: Measure, scale: Scales, ax: Axes | None, *, atoms: bool) -> Axes:
    """Draw a measure on S^2 as a map of the whole, smoothed at one scale; see `heatess.plot.sky`."""
    if not measure.space.directional or measure.space.dim != 2:
        raise InputError(f"a map of the sky needs unit vectors on Sphere(2), but points are on {measure.space!r}")
    ax = _map(ax)
    about = measure.about
    mirror = -1.0 if about == "sky" else 1.0
    _shade(ax, measure, float(scale.times[0]), mirror)
    if atoms:
        _dots(ax, measure, mirror)
    _graticule(ax, about, measure.known.frame)
    words = f"{measure.n:,} atoms, smoothed at {plain(float(scale.angles[0]))}°"
    ax.set_title(words, fontsize="medium", color=GREY)
    return ax


def _map(ax: Axes | None) -> Axes:
    if ax is None:
        return new_figure(8.0, 5.0).add_subplot(projection="mollweide")  # type: ignore[no-any-return]
    if getattr(ax, "name", "") != "mollweide":
        raise InputError(
            f'ax must be made with figure.add_subplot(projection="mollweide"), but is {shown(ax)}; make one, or leave '
            "it out"
        )
    return ax


def _shade(ax: Axes, measure: Measure, time: float, mirror: float) -> None:
    """The density, and a bar that says what colours mean."""
    from matplotlib.colors import LogNorm

    latitude = np.linspace(-math.pi / 2, math.pi / 2, ROWS + 1)
    longitude = np.linspace(-math.pi, math.pi, 2 * ROWS + 1)
    lon, lat = np.meshgrid((longitude[1:] + longitude[:-1]) / 2, (latitude[1:] + latitude[:-1]) / 2)
    where = _vectors(mirror * lon.ravel(), lat.ravel())
    density = potential(measure, at=where, time=time, kind="density", rtol=1e-6).reshape(lon.shape)
    most = float(density.max())
    least = max(float(density.min()), most * 10**-DECADES)
    norm = LogNorm(min(least, most / 1.5), most)
    drawn = np.maximum(density, least)
    mesh = ax.pcolormesh(longitude, latitude, drawn, cmap="cividis", norm=norm, rasterized=True, gid="heatess-density")
    figure: Any = ax.figure
    bar = figure.colorbar(mesh, ax=ax, orientation="horizontal", shrink=0.55, pad=0.06, aspect=32)
    bar.set_label("density, in multiples of the uniform one")
    bar.ax.xaxis.set_major_formatter(lambda value, _: plain(value))
    bar.ax.xaxis.set_minor_formatter(lambda value, _: "")
    bar.outline.set_visible(False)


def _dots(ax: Axes, measure: Measure, mirror: float) -> None:
    rows = np.arange(min(measure.n, MOST_ATOMS)) * measure.n // min(measure.n, MOST_ATOMS)
    x, y, z = np.asarray(measure.points[rows], dtype=np.float64).T
    shares = measure.weights[rows] / measure.weights[rows].max()
    longitude, latitude = mirror * np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))
    size = np.clip(8_000 / len(rows), 3, 20) * shares
    ax.scatter(
        longitude, latitude, s=size, color="white", edgecolors="black", linewidths=0.25, alpha=0.8, gid="heatess-atoms"
    )


def _graticule(ax: Axes, about: str, frame: str | None) -> None:
    """Lines every 30 degrees, with the names that the frame has for them; on the sky longitudes run to the left."""
    from matplotlib.patheffects import withStroke

    ax.grid(True, color="white", linewidth=0.5, alpha=0.35)
    ticks = np.arange(-150, 180, 60)
    ax.set_xticks(np.radians(ticks))
    ax.set_xticklabels([f"{-tick % 360 if about == 'sky' else tick}°" for tick in ticks], color="white", fontsize=8)
    for label in ax.get_xticklabels():
        label.set_path_effects([withStroke(linewidth=2, foreground="#00224e")])
    ax.set_yticks(np.radians(np.arange(-60, 90, 30)))
    ax.tick_params(axis="y", labelsize=8, labelcolor=GREY)
    if about in ("sky", "earth"):
        east, north = AXES.get(frame, AXES[None])[:2]
        ax.set(xlabel=east, ylabel=north)


def _vectors(longitude: FloatArray, latitude: FloatArray) -> FloatArray:
    flat = np.cos(latitude)
    return np.column_stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)])
