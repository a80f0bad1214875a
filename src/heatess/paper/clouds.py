"""Maps of the atoms of the synthetic configurations, in oblique Mollweide projection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import configurations, style
from .experiment import FloatArray, Outcome, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Position of the pole e_3 on the map and the rotation about it, in degrees; the map edge cuts through no mode.
POLE_LONGITUDE, POLE_LATITUDE, TURN = -85.0, 22.0, 90.0


def run(settings: Settings) -> Outcome:
    """The five configurations of Table 1, in the same draw."""
    clouds = configurations.synthetic(settings.rng("synthetic"))
    return Outcome(figure=lambda: draw(clouds))


def view() -> FloatArray:
    """The rotation that moves e_3 to its place on the map."""
    return about(2, POLE_LONGITUDE) @ about(1, 90 - POLE_LATITUDE) @ about(2, TURN)


def about(axis: int, degrees: float) -> FloatArray:
    """The rotation about a coordinate axis."""
    turn, (first, second) = math.radians(degrees), ((1, 2), (2, 0), (0, 1))[axis]
    matrix = np.eye(3)
    matrix[[first, second], [first, second]] = math.cos(turn)
    matrix[second, first], matrix[first, second] = math.sin(turn), -math.sin(turn)
    return matrix


def on_map(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Longitude and latitude on the map, in radians."""
    x, y, z = (points @ view().T).T
    return np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))


def draw(clouds: Mapping[str, FloatArray]) -> Figure:
    """A map for each configuration, and in the sixth panel a key to lines and signs."""
    figure, axes = style.panels(style.FULL, 2.9, 2, 3, subplot_kw={"projection": "mollweide"})
    for number, (ax, (name, points)) in enumerate(zip(axes, clouds.items(), strict=False)):
        _prepare(ax)
        places, copies = np.unique(points, axis=0, return_counts=True)
        size = 3.0 if copies.max() == 1 else 14.0
        ax.scatter(*on_map(places), s=size, color=style.COLORS[number], alpha=0.7, linewidths=0, clip_on=False)
        ax.set_title(f"({'abcde'[number]}) {name}")
        _poles(ax, named=number == 0)
    _key(axes[-1])
    return figure


def _prepare(ax: Axes) -> None:
    ax.grid(visible=False)
    ax.set_xticks([])
    ax.set_yticks([])
    _graticule(ax)


def _key(ax: Axes) -> None:
    ax.set_axis_off()
    lines = (
        "300 labels on the unit sphere,",
        "oblique Mollweide projection",
        "grey: equator, parallels every 30\N{DEGREE SIGN},",
        "meridians every 60\N{DEGREE SIGN} about $\\pm e_3$ (+)",
        "(e): ten labels at each of 30 places",
    )
    text = "\n".join(lines)
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", fontsize=7, linespacing=1.5)


def _graticule(ax: Axes) -> None:
    turn = np.linspace(0, 2 * math.pi, 361)
    look: dict[str, Any] = {"color": "#c4c4c4", "zorder": 0.5}
    for latitude in np.radians([-60, -30, 0, 30, 60]):
        circle = np.column_stack(
            [
                math.cos(latitude) * np.cos(turn),
                math.cos(latitude) * np.sin(turn),
                np.full(len(turn), math.sin(latitude)),
            ]
        )
        ax.plot(*_torn(*on_map(circle)), linewidth=0.8 if latitude == 0 else 0.35, **look)
    for longitude in np.radians([0, 60, 120]):
        east = np.array([math.cos(longitude), math.sin(longitude), 0])
        circle = np.outer(np.cos(turn), east) + np.outer(np.sin(turn), [0, 0, 1])
        ax.plot(*_torn(*on_map(circle)), linewidth=0.35, **look)


def _torn(longitude: FloatArray, latitude: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A curve with a gap where it leaves the map on one side and returns on the other."""
    breaks = np.flatnonzero(np.abs(np.diff(longitude)) > math.pi) + 1
    return np.insert(longitude, breaks, math.nan), np.insert(latitude, breaks, math.nan)


def _poles(ax: Axes, *, named: bool) -> None:
    longitude, latitude = on_map(np.array([configurations.NORTH, configurations.SOUTH]))
    ax.scatter(longitude, latitude, marker="+", s=18, linewidths=0.8, color="black")
    if not named:
        return
    for x, y, name, up in zip(longitude, latitude, ("$e_3$", "$-e_3$"), (True, False), strict=True):
        offset, side = ((0, 11), "bottom") if up else ((0, -11), "top")
        ax.annotate(name, (x, y), xytext=offset, textcoords="offset points", ha="center", va=side, fontsize=7)
