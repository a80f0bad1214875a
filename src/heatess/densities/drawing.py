"""Pictures of densities: maps and globes, curves over the circle, shades of the plane, the torus and surfaces."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray, one_of
from ..base.errors import InputError
from ..drawing.axes import GREY, draw_line, new_axes, new_figure
from ..samplers import fibonacci
from ..spaces.drawing import Cells, Drawing, Frame, Patch, frame_of
from .skymap import dots, draw_map, shade_bar, shades_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .result import Density

#: Cells of a picture for each scale sqrt(8 t), and degrees between the values that contours on a map are drawn from.
CELLS_PER_SCALE_DRAWN, STEP = 6.0, 1.0

#: Rows of a map, at least and at most; cells across a globe, and places that say where its middle is; atoms drawn.
FEWEST_ROWS_OF_MAP, MOST_ROWS_OF_MAP, ACROSS, VIEW, MOST_POINTS_DRAWN = 180, 720, 400, 20_000, 5000


def draw(
    density: Density, ax: Axes | None, levels: ArrayLike, atoms: bool, projection: str | None, calibrated: bool
) -> Axes:
    """See `Density.plot`."""
    space, drawing = density.space, density.space.drawing
    if projection is not None:
        one_of(projection, "projection", ("mollweide", "globe", *DISCS))
    if space.form == "quaternions":
        return _pole_figures(density, ax, levels, projection, calibrated)
    edges = _Edges(density, levels, calibrated)
    if space.directional and space.dim == 2:
        wanted = projection or density.usual
        if wanted in DISCS:
            ax = _disc(density, ax, edges, atoms, wanted)
        else:
            ax = (_globe if wanted == "globe" else _map)(density, ax, edges, atoms)
    elif projection is not None:
        raise InputError(f"`projection={projection!r}` is for <+the sphere S^2+>, not for <!{space!r}!>; leave it out")
    elif drawing is not None and drawing.nodes is not None and drawing.faces is not None:
        ax = _surface(density, drawing.nodes(), drawing.faces, ax)
    elif drawing is None or drawing.part is not None or drawing.cells is None or drawing.layout == "nodes":
        raise InputError(
            "a density is drawn on <+circles, the sphere S^2, the plane, two-dimensional tori and meshes+>, but this "
            f"one is on <!{space!r}!>; look at points of your own, or at a report, which shows yours"
        )
    else:
        cells = drawing.cells(math.sqrt(8 * density.time) / CELLS_PER_SCALE_DRAWN, _frame(density, drawing))
        ax = (_curve if drawing.layout == "circle" else _square)(density, drawing, cells, ax, edges, atoms)
    unit = "°" if space.angular else ""
    words = f"{density.n:,} points, smoothed at {density.angle:.3g}{unit}"
    lines = "" if drawing is not None and drawing.layout == "circle" else edges.words
    ax.set_title(words + lines, fontsize="medium", color=GREY)
    return ax


def _frame(density: Density, drawing: Drawing) -> Frame:
    """The part of the space that is drawn: all of it, or the atoms and a scale around them."""
    if drawing.half is not None:
        return Frame(np.zeros(drawing.dims), np.array(drawing.half))
    own = density.atoms("a picture of the plane")
    frame = frame_of(drawing, drawing.places(own.points), own.weights)
    return frame._replace(half=frame.half + math.sqrt(8 * density.time))


def _some(density: Density) -> FloatArray:
    """Atoms that are drawn, evenly spread over the rows."""
    points = density.atoms("a picture with points").points
    return np.asarray(points[:: math.ceil(len(points) / MOST_POINTS_DRAWN)])


def _dots(ax: Axes, x: FloatArray, y: FloatArray) -> None:
    ax.plot(x, y, ".", color="white", markersize=1.5, alpha=0.6, gid="heatess-atoms")


def _unit(density: Density) -> str:
    return "in multiples of the uniform one" if density.space.compact else "per unit of area"


class _Edges:
    """The edges of regions, with the share that each one holds; none without levels.

    The title names the shares: labels on lines hide small regions.
    """

    def __init__(self, density: Density, levels: ArrayLike, calibrated: bool) -> None:
        wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        self.names: dict[float, str] = {}
        self.own = self.density = density
        if wanted.size:
            found = density.region(wanted, calibrated=calibrated)
            self.names = {float(t): f"{100 * p:g} %" for t, p in zip(found.threshold, found.level, strict=True)}
            self.density = found.density

    @property
    def words(self) -> str:
        """What the lines of a picture are; empty if there are none."""
        shares = [self.names[threshold] for threshold in sorted(self.names, reverse=True)]
        listed = " and ".join(filter(None, (", ".join(shares[:-1]), shares[-1]))) if shares else ""
        return f"; {'lines around' if len(shares) > 1 else 'a line around'} {listed}" if shares else ""

    def values(self, values: FloatArray, where: NDArray[Any]) -> FloatArray:
        """A grid of values of the density whose regions they are; those that are known are at the points *where*."""
        if self.density.time == self.own.time:
            return values
        found = values.copy()
        found[np.isfinite(values)] = self.density.at_checked(where)
        return found

    def draw(self, ax: Axes, x: FloatArray, y: FloatArray, values: FloatArray) -> None:
        """Lines over a grid of values, shape (y, x)."""
        if not self.names:
            return
        drawn = ax.contour(x, y, values, sorted(self.names), colors="white", linewidths=1.2)
        drawn.set_gid("heatess-regions")


def _map(density: Density, ax: Axes | None, edges: _Edges, atoms: bool) -> Axes:
    measure = density.measure
    rows = int(np.clip(math.ceil(180 * CELLS_PER_SCALE_DRAWN / density.angle), FEWEST_ROWS_OF_MAP, MOST_ROWS_OF_MAP))
    ax = draw_map(density.at_checked, ax, measure.about, measure.known.frame, rows)
    if edges.names:
        lon, lat, values = edges.density.grid(180 / rows)
        lon *= -1.0 if measure.about == "sky" else 1.0
        order = np.argsort(lon)
        edges.draw(ax, np.radians(lon[order]), np.radians(lat), values[:, order])
    if atoms:
        dots(ax, density.atoms("a picture with points"))
    return ax


def _globe(density: Density, ax: Axes | None, edges: _Edges, atoms: bool) -> Axes:
    """The half of the sphere around the centre of mass, seen from far above it; north is up."""
    places = fibonacci(VIEW)
    centre = density.at_checked(places) @ places / VIEW
    centre = centre / length if (length := float(np.linalg.norm(centre))) > 0.02 else np.array([1.0, 0.0, 0.0])
    seen = Patch.around(centre, math.pi / 2)
    mirror = -1.0 if density.measure.about == "sky" else 1.0  # the sky is seen from inside
    side = (2 * np.arange(ACROSS) + 1) / ACROSS - 1
    x, y = np.meshgrid(side, side)
    inside = x**2 + y**2 < 1
    depth = np.sqrt(1 - x[inside] ** 2 - y[inside] ** 2)
    where = np.outer(mirror * x[inside], seen.right) + np.outer(y[inside], seen.up) + np.outer(depth, centre)
    ax = _round(density, ax, side, inside, where, edges)
    if atoms:
        points = _some(density)
        points = points[points @ centre > 0]
        _dots(ax, mirror * points @ seen.right, points @ seen.up)
    lon, lat = np.degrees(np.arctan2(centre[1], centre[0])), np.degrees(np.arcsin(np.clip(centre[2], -1, 1)))
    ax.set_xlabel(f"seen from above {lon:.0f}° east, {lat:.0f}° north")
    return ax


def _round(
    density: Density, ax: Axes | None, side: FloatArray, inside: NDArray[np.bool_], where: FloatArray, edges: _Edges
) -> Axes:
    """Shades in a circle, of the density at directions *where* for the cells inside."""
    values, where = np.full(inside.shape, np.nan), density.space.check(where)
    values[inside] = density.at_checked(where)
    ax = new_axes(ax)
    least, norm = shades_of(values)
    look: dict[str, Any] = {"cmap": "cividis", "norm": norm, "shading": "nearest", "rasterized": True}
    picture = ax.pcolormesh(side, side, np.maximum(values, least), gid="heatess-density", **look)
    shade_bar(ax, picture, _unit(density), shrink=0.85)
    edges.draw(ax, side, side, edges.values(values, where))
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.set_frame_on(False)
    return ax


class _Disc(NamedTuple):
    """How the upper half of a sphere becomes a disc of radius one."""

    to_sphere: Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # x / X and z, from the radius
    from_height: Callable[[FloatArray], FloatArray]  # X / x, from z


#: Lambert's projection, which keeps areas, and the stereographic one, which keeps angles.
DISCS = {
    "equal-area": _Disc(lambda r: (np.sqrt(2 - r * r), 1 - r * r), lambda z: 1 / np.sqrt(1 + z)),
    "stereographic": _Disc(lambda r: (2 / (1 + r * r), (1 - r * r) / (1 + r * r)), lambda z: 1 / (1 + z)),
}


def _disc(density: Density, ax: Axes | None, edges: _Edges, atoms: bool, projection: str) -> Axes:
    """The upper half of the sphere seen along z, x to the right and y up, as pole figures are drawn."""
    side, disc = (2 * np.arange(ACROSS) + 1) / ACROSS - 1, DISCS[projection]
    x, y = np.meshgrid(side, side)
    inside = np.hypot(x, y) < 1
    spread, height = disc.to_sphere(np.hypot(x, y)[inside])
    where = np.column_stack([x[inside] * spread, y[inside] * spread, height])
    ax = _round(density, ax, side, inside, where, edges)
    if atoms:
        points = _some(density)
        points = points[points[:, 2] >= 0]
        _dots(ax, *(points[:, :2] * disc.from_height(points[:, 2:])).T)
    turn = np.linspace(0, 2 * math.pi, 361)
    ax.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=0.8)
    for name, place in (("x", (1.06, 0.0)), ("y", (0.0, 1.06))):
        ax.annotate(name, place, ha="center", va="center", color=GREY, annotation_clip=False)
    ax.set(xlim=(-1.12, 1.12), ylim=(-1.12, 1.12))
    return ax


def _pole_figures(
    density: Density, ax: Axes | None, levels: ArrayLike, projection: str | None, calibrated: bool
) -> Axes:
    """Of three directions that do not look alike, side by side; of the first alone in an Axes that is given."""
    from .pole_figures import three_directions

    directions = three_directions(density)
    how: dict[str, Any] = {"levels": levels, "projection": projection, "calibrated": calibrated}
    if ax is not None:
        return density.pole_figure(directions[0]).plot(ax, **how)
    figure = new_figure(12.0, 3.8)
    for place, direction in enumerate(directions, 1):
        own = figure.add_subplot(1, 3, place)
        density.pole_figure(direction).plot(own, **how)
        lines = own.get_title().partition(";")[2]
        own.set_title(f"poles of {' '.join(map(str, direction))}", fontsize="medium", color=GREY)
    for bar in figure.axes[1:-1:2]:
        bar.set_ylabel("")  # the last one says it for all
    words = f"{density.n:,} points, smoothed at {density.angle:.3g}°{';' if lines else ''}{lines}"
    figure.suptitle(words, fontsize="medium", color=GREY)
    first: Axes = figure.axes[0]
    return first


def _curve(density: Density, drawing: Drawing, cells: Cells, ax: Axes | None, edges: _Edges, atoms: bool) -> Axes:
    ax, space = new_axes(ax), density.space
    turn = cells.points if cells.points.shape[1] == 1 else np.degrees(np.arctan2(*cells.points.T[::-1]))
    values = density.at_checked(space.check(cells.points))
    draw_line(ax, np.ravel(turn), values)
    for threshold, name in edges.names.items():
        ax.axhline(threshold, color=GREY, linewidth=0.8, linestyle=(0, (5, 3)))
        ax.annotate(name, (1, threshold), (2, 0), ("axes fraction", "data"), "offset points", fontsize=8, color=GREY)
    ax.set(xlabel="angle" if space.angular else "coordinate", ylabel=f"density, {_unit(density)}")
    ax.set_ylim(0, None)
    return ax


def _square(density: Density, drawing: Drawing, cells: Cells, ax: Axes | None, edges: _Edges, atoms: bool) -> Axes:
    from matplotlib.ticker import MultipleLocator

    ax = new_axes(ax)
    where = density.space.check(cells.points)
    values = density.at_checked(where)
    x, y = np.unique(cells.points[:, 0]), np.unique(cells.points[:, 1])
    shades = values.reshape(cells.rows, cells.columns)[::-1]
    least, norm = shades_of(shades)
    look: dict[str, Any] = {"cmap": "cividis", "norm": norm, "shading": "gouraud", "rasterized": True}
    picture = ax.pcolormesh(x, y, np.maximum(shades, least), gid="heatess-density", **look)
    shade_bar(ax, picture, _unit(density))
    edges.draw(ax, x, y, edges.values(values, where).reshape(cells.rows, cells.columns)[::-1])
    if atoms:
        _dots(ax, *_some(density).T)
    across, up = drawing.named(density.measure.columns)
    ax.set(xlabel=across, ylabel=up, aspect="equal")
    if density.space.units == "deg":
        ax.xaxis.set_major_locator(MultipleLocator(60))
        ax.yaxis.set_major_locator(MultipleLocator(60))
    return ax


def _surface(density: Density, places: FloatArray, faces: NDArray[Any], ax: Axes | None) -> Axes:
    """A mesh, each face in the shade of its corners."""
    from matplotlib import colormaps

    values = density.at_checked(density.space.check(np.arange(len(places))))
    if ax is None:
        ax = new_figure(6.0, 5.0).add_subplot(projection="3d")
    elif getattr(ax, "name", "") != "3d":
        raise InputError('ax must be <+made with `figure.add_subplot(projection="3d")`+>; make one, or leave it out')
    least, norm = shades_of(values)
    solid: Any = ax
    picture = solid.plot_trisurf(*places.T, triangles=faces, linewidth=0, antialiased=False, shade=False)
    picture.set_facecolor(colormaps["cividis"](norm(np.maximum(values, least)[faces].mean(axis=1))))
    picture.set(cmap="cividis", norm=norm, gid="heatess-density")
    shade_bar(ax, picture, _unit(density), shrink=0.7, pad=0.1)
    solid.set_aspect("equal")
    return ax
