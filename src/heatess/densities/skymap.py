"""A map of the whole sphere: the smoothed density of a cloud in Mollweide's projection, and its atoms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.potential import potential
from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..base.known import AXES
from ..base.messages import shown
from ..drawing.axes import GREY, new_figure, plain
from ..measures.measure import Measure
from ..measures.scales import Scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rows of the map, atoms drawn at most, and how far below the largest density colours go.
ROWS_OF_MAP, MOST_POINTS_DRAWN, DECADES = 180, 5000, 2.5


#: The density at unit vectors.
DensityAt = Callable[[FloatArray], FloatArray]


def draw_sky(measure: Measure, scale: Scales, ax: Axes | None, *, atoms: bool) -> Axes:
    """Draw a measure on S^2 as a map of the whole, smoothed at one scale; see `heatess.plot.sky`."""
    if not measure.space.directional or measure.space.dim != 2:
        raise InputError(f"a map of the sky needs <+unit vectors on Sphere(2)+>, but points are on <!{measure.space}!>")
    time = float(scale.times[0])
    ax = draw_map(
        lambda where: potential(measure, at=where, time=time, kind="density", rtol=1e-6),
        ax,
        measure.about,
        measure.known.frame,
    )
    if atoms:
        dots(ax, measure)
    words = f"{measure.n:,} points, smoothed at {plain(float(scale.angles[0]))}°"
    ax.set_title(words, fontsize="medium", color=GREY)
    return ax


def draw_map(density: DensityAt, ax: Axes | None, about: str, frame: str | None, rows: int = ROWS_OF_MAP) -> Axes:
    """Shades of a density on a map of the whole sphere, with lines of longitude and latitude."""
    ax = _map(ax)
    _shade(ax, density, -1.0 if about == "sky" else 1.0, rows)
    _graticule(ax, about, frame)
    return ax


def _map(ax: Axes | None) -> Axes:
    if ax is None:
        return new_figure(8.0, 5.0).add_subplot(projection="mollweide")  # type: ignore[no-any-return]
    if getattr(ax, "name", "") != "mollweide":
        raise InputError(
            f'ax must be <+made with `figure.add_subplot(projection="mollweide")`+>, but is <!{shown(ax)}!>; make '
            "one, or leave it out"
        )
    return ax


def _shade(ax: Axes, density: DensityAt, mirror: float, rows: int) -> None:
    """The density, and a bar that says what colours mean."""
    latitude = np.linspace(-math.pi / 2, math.pi / 2, rows + 1)
    longitude = np.linspace(-math.pi, math.pi, 2 * rows + 1)
    lon, lat = np.meshgrid((longitude[1:] + longitude[:-1]) / 2, (latitude[1:] + latitude[:-1]) / 2)
    values = density(_vectors(mirror * lon.ravel(), lat.ravel())).reshape(lon.shape)
    least, norm = shades_of(values)
    drawn = np.maximum(values, least)
    mesh = ax.pcolormesh(longitude, latitude, drawn, cmap="cividis", norm=norm, rasterized=True, gid="heatess-density")
    shade_bar(ax, mesh, "in multiples of the uniform one", orientation="horizontal", shrink=0.55, pad=0.06, aspect=32)


def shades_of(values: FloatArray) -> tuple[float, Any]:
    """The least density that has a shade of its own, and what makes colours of densities."""
    from matplotlib.colors import LogNorm

    most = float(np.nanmax(values)) or 1.0
    least = max(float(np.nanmin(values)), most * 10**-DECADES)
    return least, LogNorm(min(least, most / 1.5), most)


def shade_bar(ax: Axes, picture: Any, unit: str, **where: Any) -> None:
    """A bar that says which density a colour is."""
    figure: Any = ax.figure
    bar = figure.colorbar(picture, ax=ax, **where)
    bar.set_label(f"density, {unit}")
    axis = bar.ax.xaxis if where.get("orientation") == "horizontal" else bar.ax.yaxis
    axis.set_major_formatter(lambda value, _: plain(value))
    axis.set_minor_formatter(lambda value, _: "")
    bar.outline.set_visible(False)


def dots(ax: Axes, measure: Measure) -> None:
    """Atoms on a map, larger if they are heavier."""
    mirror = -1.0 if measure.about == "sky" else 1.0
    rows = np.arange(min(measure.n, MOST_POINTS_DRAWN)) * measure.n // min(measure.n, MOST_POINTS_DRAWN)
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
