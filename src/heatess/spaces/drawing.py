"""How points of a space are drawn: as a globe, a disc, a square, a ball, a surface; a capability like any other.

A space without one is not drawn itself: a report shows the distances of its atoms instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray

#: Coordinates in a picture, shape (n, dims), of checked points.
Places = Callable[[NDArray[Any]], FloatArray]

#: Rows of a grid on the whole sphere, cells of one on the circle, and along a side of a patch of the sphere, at most.
MOST_ROWS, MOST_COLUMNS, MOST_SIDE = 90, 720, 110


class Cells(NamedTuple):
    """Points of the space at the centres of cells of a picture, row after row, and how many rows and columns."""

    points: NDArray[Any]
    rows: int
    columns: int


class Frame(NamedTuple):
    """The part of a picture that is drawn: its middle, and half its width along each axis."""

    middle: FloatArray
    half: FloatArray


@dataclass(frozen=True)
class Drawing:
    """Where points of a space are in a picture.

    Attributes
    ----------
    kind : str
        globe, hemisphere, circle, square, ball, flat, solid, surface or graph.
    places : callable
        Coordinates in the picture, shape (n, dims), of checked points.
    axes : tuple of str
        Names of the coordinates.
    layout : str
        Of the cells: lonlat, circle, square or nodes; empty where there are none.
    cells : callable, optional
        From the width of a cell, in radians or the unit of distance, and the `Frame` of the picture to `Cells`.
    half : tuple of float, optional
        Half the width of the picture along each axis, where the space fixes it; else the atoms do.
    unit : str
        "rad" where coordinates are angles.
    footprint : float or None
        Angles in the picture per angle of the space; None where distances in the picture are no distances.
    periodic : bool
        Whether what leaves the picture on one side enters on the other.
    nodes, node_of : callable, optional
        Give the coordinates of the nodes of a mesh, graph or cloud, and the node nearest to each of some points.
    faces, edges : ndarray, optional
        The triangles or edges that join the nodes.
    part : tuple, optional
        Where another space is drawn, as one factor of a product: that space, the length here of a unit of length there,
        and a function from points to points of it.
    note : str
        What a reader must know to understand the picture.
    """

    kind: str
    places: Places
    axes: tuple[str, ...] = ("x", "y", "z")
    layout: str = ""
    cells: Callable[[float, Frame], Cells] | None = None
    half: tuple[float, ...] | None = None
    unit: str = ""
    footprint: float | None = 1.0
    periodic: bool = False
    nodes: Callable[[], FloatArray] | None = field(default=None, repr=False)
    node_of: Callable[[NDArray[Any]], NDArray[Any]] | None = field(default=None, repr=False)
    faces: NDArray[Any] | None = field(default=None, repr=False)
    edges: NDArray[Any] | None = field(default=None, repr=False)
    part: tuple[Any, float, Callable[[NDArray[Any]], NDArray[Any]]] | None = None
    note: str = ""

    @property
    def dims(self) -> int:
        """Number of coordinates in the picture."""
        return len(self.axes)

    def named(self, columns: Sequence[str]) -> list[str]:
        """Names of the axes: those of the columns that were read, where each is a coordinate of the picture."""
        own = self.kind in ("square", "flat", "solid") and self.part is None and len(columns) == self.dims
        return list(columns if own else self.axes)


def frame_of(drawing: Drawing, places: FloatArray, weights: FloatArray) -> Frame:
    """The part of a picture that holds all nodes and atoms; in flat space without a few that are far away."""
    if drawing.half is not None:
        return Frame(np.zeros(drawing.dims), np.array(drawing.half))
    shown = drawing.nodes() if drawing.nodes is not None else places[weights > 0]
    low, high = shown.min(axis=0), shown.max(axis=0)
    if drawing.nodes is None and len(shown) > 1000:
        inner = np.quantile(shown, [0.001, 0.999], axis=0)
        room = 0.25 * (inner[1] - inner[0])
        low, high = np.maximum(low, inner[0] - room), np.minimum(high, inner[1] + room)
    half = 1.05 * float((high - low).max()) / 2 or 1.0
    return Frame((low + high) / 2, np.full(drawing.dims, half))


def as_they_are(points: NDArray[Any]) -> FloatArray:
    """Coordinates as float64."""
    return np.asarray(points, dtype=np.float64)


def sphere_cells(step: float, most: int = MOST_ROWS) -> Cells:
    """Unit vectors at the centres of cells of longitude and latitude about *step* radians high, from the north down."""
    rows = int(np.clip(math.ceil(math.pi / step), 6, most))
    latitude = np.pi / 2 - np.pi * (np.arange(rows) + 0.5) / rows
    longitude = -np.pi + np.pi * (np.arange(2 * rows) + 0.5) / rows
    lat, lon = (part.ravel() for part in np.meshgrid(latitude, longitude, indexing="ij"))
    vectors = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    return Cells(vectors, rows, 2 * rows)


def circle_angles(step: float) -> FloatArray:
    """Angles at the centres of cells about *step* radians wide, from minus half a turn to half a turn."""
    count = int(np.clip(math.ceil(2 * math.pi / step), 24, MOST_COLUMNS))
    return np.asarray(2 * np.pi * (np.arange(count) + 0.5) / count - np.pi)


def circle_cells(step: float) -> Cells:
    """Unit vectors (cos, sin) all around the circle."""
    angles = circle_angles(step)
    return Cells(np.column_stack([np.cos(angles), np.sin(angles)]), 1, len(angles))


def square_cells(step: float, frame: Frame, most: int = 100) -> Cells:
    """Places at the centres of square cells about *step* wide, from the top row down, at most *most* to a side."""
    step = max(step, 2 * float(frame.half.max()) / most)
    columns, rows = (max(4, math.ceil(2 * float(side) / step)) for side in frame.half)
    x = frame.middle[0] + frame.half[0] * ((2 * np.arange(columns) + 1) / columns - 1)
    y = frame.middle[1] - frame.half[1] * ((2 * np.arange(rows) + 1) / rows - 1)
    down, across = (part.ravel() for part in np.meshgrid(y, x, indexing="ij"))
    return Cells(np.column_stack([across, down]), rows, columns)


class Patch(NamedTuple):
    """A part of the sphere seen from above its centre: half its width, and unit vectors to the right and up."""

    centre: FloatArray
    right: FloatArray
    up: FloatArray
    half: float

    @classmethod
    def around(cls, centre: FloatArray, angle: float) -> Patch:
        """The part up to *angle* from a centre; north is up."""
        pole = np.array([0.0, 0.0, 1.0]) if abs(centre[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
        right = np.cross(pole, centre)
        right /= np.linalg.norm(right)
        return cls(centre, right, np.cross(centre, right), math.sin(angle))

    def holds(self, scale: float) -> bool:
        """Whether the heat of a cloud in the middle of the patch stays in it, up to this scale in radians."""
        return scale < math.asin(self.half) / 3

    def is_seen(self, step: float) -> bool:
        """Whether there may be cells of nearly this width."""
        return step > 0.4 * 2 * self.half / MOST_SIDE

    def cells(self, step: float) -> Cells:
        """Unit vectors at the centres of square cells about *step* radians wide, from the top row down."""
        side = int(np.clip(math.ceil(2 * self.half / step), 24, MOST_SIDE))
        across = self.half * ((2 * np.arange(side) + 1) / side - 1)
        y, x = (part.ravel()[:, None] for part in np.meshgrid(-across, across, indexing="ij"))
        depth = np.sqrt(np.maximum(1 - x**2 - y**2, 0.0))
        return Cells(x * self.right + y * self.up + depth * self.centre, side, side)


GLOBE = Drawing("globe", as_they_are, layout="lonlat", cells=lambda step, _: sphere_cells(step), half=(1.0, 1.0, 1.0))

CIRCLE = Drawing(
    "circle", as_they_are, ("x", "y"), layout="circle", cells=lambda step, _: circle_cells(step), half=(1.0, 1.0)
)


def _upper(points: NDArray[Any]) -> FloatArray:
    """Axes as their end with z >= 0."""
    vectors = as_they_are(points)
    return np.where(vectors[:, 2:] < 0, -vectors, vectors)


_UNSIGNED = "Axes have no sign: one end of each is drawn."
HEMISPHERE = replace(GLOBE, kind="hemisphere", places=_upper, note=_UNSIGNED)
HALF_CIRCLE = replace(CIRCLE, note=_UNSIGNED)


def axis_angle(vectors: FloatArray, cosines: FloatArray, per_turn: float) -> FloatArray:
    """The direction of *vectors* times *per_turn* times the angle with this cosine, in radians.

    Vectors have the length of its sine; the cosine is made positive.

    >>> np.degrees(axis_angle(np.array([[0.0, 0.0, 0.5]]), np.array([-np.sqrt(0.75)]), 2.0)).round(6) + 0.0
    array([[  0.,   0., -60.]])
    """
    length = np.linalg.norm(vectors, axis=1)
    angle = np.arctan2(length, np.abs(cosines))
    sign = np.where(cosines < 0, -1.0, 1.0)
    factor = np.divide(per_turn * angle * sign, length, out=np.zeros_like(length), where=length > 0)
    return np.asarray(vectors * factor[:, None])


#: Rotations, from quaternions with the scalar last: the axis times the angle.
ROTATIONS = Drawing(
    "ball",
    lambda q: axis_angle(as_they_are(q[:, :3]), as_they_are(q[:, 3]), 2.0),
    half=(math.pi,) * 3,
    unit="rad",
    note="The direction from the centre is the axis of the rotation, the distance its angle; opposite points of the "
    "rim are one rotation.",
)

#: Lines in R^4: the direction from the first axis times the angle to it.
LINES = Drawing(
    "ball",
    lambda x: axis_angle(as_they_are(x[:, 1:]), as_they_are(x[:, 0]), 1.0),
    half=(math.pi / 2,) * 3,
    unit="rad",
    note="The distance from the centre is the angle to the first axis; opposite points of the rim are one line.",
)


def _bloch(points: NDArray[Any]) -> FloatArray:
    """States of a qubit, columns of real and then imaginary parts, as vectors of the Bloch sphere."""
    first, second = (points[:, k] + 1j * points[:, k + 2] for k in (0, 1))
    cross = 2 * np.conj(first) * second
    return np.column_stack([cross.real, cross.imag, np.abs(first) ** 2 - np.abs(second) ** 2])


def bloch(sphere: Any) -> Drawing:
    """The Bloch sphere of a qubit: *sphere* is Sphere(2), where all lengths are twice those of the states."""
    return replace(GLOBE, places=_bloch, footprint=2.0, part=(sphere, 0.5, _bloch))


def _disc(points: NDArray[Any]) -> FloatArray:
    """The hyperboloid in Poincare's disc or ball."""
    return np.asarray(points[:, 1:] / (1 + points[:, :1]))


def poincare(dim: int) -> Drawing:
    """Hyperbolic space as a disc or a ball, angles as they are."""
    return Drawing(
        "flat" if dim == 2 else "solid",
        _disc,
        ("x", "y", "z")[:dim],
        half=(1.0,) * dim,
        footprint=None,
        note="Poincare's model: angles are true, lengths shrink towards the rim.",
    )


def flat(dim: int) -> Drawing | None:
    """The plane, with cells, and space; None for others."""
    if dim == 2:
        return Drawing("flat", as_they_are, ("x", "y"), layout="square", cells=square_cells)
    return Drawing("solid", as_they_are) if dim == 3 else None


def torus(periods: FloatArray, unit: float, angular: bool) -> Drawing | None:
    """Periodic coordinates; one step of a coordinate is *unit* long, in radians where it is an angle."""
    dim = len(periods)
    factor = unit if angular else 1.0  # from coordinates to those of the picture
    half = tuple((0.5 * factor * periods).tolist())
    word = "rad" if angular else ""
    if dim == 1:
        turn = 2 * math.pi / float(periods[0])

        def on_circle(points: NDArray[Any]) -> FloatArray:
            angle = turn * as_they_are(points[:, 0])
            return np.column_stack([np.cos(angle), np.sin(angle)])

        def around(step: float, frame: Frame) -> Cells:
            angles = circle_angles(step / unit * turn)
            return Cells(angles[:, None] / turn, 1, len(angles))

        # A degree of scale is an angle in the picture as it is; another length is so many degrees of a turn.
        length = 1.0 if angular else math.degrees(turn)
        return Drawing("circle", on_circle, ("x", "y"), "circle", around, (1.0, 1.0), footprint=length)

    def scaled(points: NDArray[Any]) -> FloatArray:
        return as_they_are(points) * factor

    if dim == 2:

        def wrapped(step: float, frame: Frame) -> Cells:
            cells = square_cells(step, frame)
            return cells._replace(points=cells.points / factor)

        return Drawing("square", scaled, ("first", "second"), "square", wrapped, half, word, periodic=True)
    if dim == 3:
        return Drawing("solid", scaled, ("first", "second", "third"), half=half, unit=word, periodic=True)
    return None


def drawing_of_factor(drawing: Drawing, space: Any, multiplier: float, columns: slice) -> Drawing:
    """The drawing of one factor of a product, whose points have these *columns*."""

    def own(points: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(space.check(np.ascontiguousarray(points[:, columns])))

    inner, length, further = drawing.part or (space, 1.0, np.asarray)
    return replace(
        drawing,
        places=lambda points: drawing.places(own(points)),
        part=(inner, multiplier * length, lambda points: further(own(points))),
        note=f"Only one factor of the product is drawn: {space!r}. {drawing.note}".strip(),
    )
