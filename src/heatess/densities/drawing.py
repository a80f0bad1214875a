"""Pictures of densities: maps of the sphere, curves over the circle, shades of the plane and the torus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..drawing.axes import GREY, draw_line, new_axes
from ..measures.scales import resolve
from ..spaces.drawing import frame_of
from .skymap import DECADES, draw_sky

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .result import Density

#: Cells of a picture for each scale sqrt(8 t), and degrees between the values that contours on a map are drawn from.
CELLS, STEP = 6.0, 1.0


def draw(density: Density, ax: Axes | None, levels: ArrayLike, atoms: bool) -> Axes:
    """See `Density.plot`."""
    space = density.space
    drawing = space.drawing
    layout = "" if drawing is None or drawing.part is not None or drawing.cells is None else drawing.layout
    if space.directional and space.dim == 2:
        ax = draw_sky(density.measure, resolve(space, times=density.time), ax, atoms=atoms)
        lon, lat, values = density.grid(min(STEP, 2.0))
        mirror = -1.0 if density.measure.about == "sky" else 1.0
        _lines(ax, np.radians(mirror * lon), np.radians(lat), values, density, levels)
        return ax
    if drawing is None or drawing.cells is None or layout not in ("circle", "square"):
        raise InputError(
            f"a density is drawn on circles, the sphere S^2, the plane and two-dimensional tori, but this one is on "
            f"{space!r}; look at points of your own, or at a report, which shows the atoms"
        )
    ax = new_axes(ax)
    from matplotlib.colors import LogNorm

    places = drawing.places(density.measure.points)
    frame = frame_of(drawing, places, density.measure.weights)
    if layout == "square" and drawing.half is None:
        frame = frame._replace(half=frame.half + float(np.sqrt(8 * density.time)))
    cells = drawing.cells(float(np.sqrt(8 * density.time)) / CELLS, frame)
    values = density.at_checked(space.check(cells.points))
    if layout == "circle":
        turn = cells.points if cells.points.shape[1] == 1 else np.degrees(np.arctan2(*cells.points.T[::-1]))
        draw_line(ax, np.ravel(turn), values)
        ax.set(xlabel="angle" if space.angular else "coordinate", ylabel="density, in multiples of the uniform one")
        ax.set_ylim(0, None)
        return ax
    x, y = np.unique(cells.points[:, 0]), np.unique(cells.points[:, 1])
    shades = values.reshape(cells.rows, cells.columns)[::-1]
    most = float(shades.max())
    least = min(max(float(shades.min()), most * 10**-DECADES), most / 1.5)
    look: dict[str, Any] = {"cmap": "cividis", "norm": LogNorm(least, most), "shading": "nearest", "rasterized": True}
    picture = ax.pcolormesh(x, y, np.maximum(shades, least), gid="heatess-density", **look)
    figure: Any = ax.figure
    unit = "in multiples of the uniform one" if space.compact else "per unit of area"
    figure.colorbar(picture, ax=ax).set_label(f"density, {unit}")
    _lines(ax, x, y, shades, density, levels)
    if atoms:
        ax.plot(*np.asarray(density.measure.points[:5000]).T, ".", color="white", markersize=1.5, alpha=0.6)
    ax.set(xlabel=drawing.axes[0], ylabel=drawing.axes[1], aspect="equal")
    return ax


def _lines(ax: Axes, x: FloatArray, y: FloatArray, values: FloatArray, density: Density, levels: ArrayLike) -> None:
    """The edges of regions, with the share that each one holds; none without levels."""
    wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    if not wanted.size:
        return
    found = density.region(wanted)
    names = {float(t): f"{100 * p:g} %" for t, p in zip(found.threshold, found.level, strict=True)}
    order = np.argsort(x)
    drawn = ax.contour(x[order], y, values[:, order], sorted(names), colors="white", linewidths=1.2)
    ax.clabel(drawn, fmt=names, fontsize=8)
    drawn.set_gid("heatess-regions")
    ax.set_title(
        ax.get_title() or f"{density.n:,} atoms, smoothed at {density.angle:.3g}", fontsize="medium", color=GREY
    )
