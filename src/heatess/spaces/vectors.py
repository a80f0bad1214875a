"""Unit vectors, with their sign or without: what spheres, projective spaces and rotations share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, is_whole, numeric_array, refuse_rows
from ..base.blocks import ROWS_OF_A_BLOCK, map_rows
from ..base.directions import SLACK_RADIANS
from ..base.errors import InputError
from ..base.messages import shown
from .row_shapes import extra_column, is_transposed, matrices_in

NORM_TOLERANCE = 1e-6

#: Rows of few columns that are squared at a time, in the second-level cache.
_ROWS_SQUARED_AT_ONCE = 16_384

#: More dimensions than any data has.
MOST_DIMENSIONS = 2**20

#: Rows of at least as many columns are taken for embeddings, of which only the direction matters.
EMBEDDING = 8

#: In half precision the rounding of the coordinates alone moves a norm by up to 5e-4.
HALF_TOLERANCE = 1e-3


def check_dimension(dim: Any, name: str, example: str) -> int:
    """A whole number of at least one."""
    if not is_whole(dim) or dim < 1:
        raise InputError(f"{name}(dim) needs <+a whole number dim >= 1+>, but found <!{shown(dim)}!>; {example}")
    if dim > MOST_DIMENSIONS:
        raise InputError(f"{name}(dim) needs <+dim <= {MOST_DIMENSIONS:,}+>, but found <!{shown(dim)}!>")
    return int(dim)


def check_unit_vectors(points: Any, columns: int, name: str, *, directions: bool = True) -> NDArray[Any]:
    """Unit vectors, shape (n, columns); norms within 1e-6 of one (1e-3 in float16) are corrected, others refused.

    Where rows are *directions*, those that are refused are named for what they look like instead.
    float32 rows are kept as they are and corrected as they are read, so that a large array is
    not copied.
    """
    array = numeric_array(points, "points")
    if array.ndim != 2 or array.shape[1] != columns:
        hint = "for one point use `points[None, :]`" if array.ndim == 1 else ""
        if array.ndim == 2 and array.shape[0] == columns:
            hint = "did you mean the transpose, `points.T`?"
        raise InputError.misshapen(f"points on {name}", f"(n, {columns})", array.shape, hint)
    if not len(array):
        raise InputError.lacking("points are empty")
    tolerance = NORM_TOLERANCE
    if array.dtype == np.float16:
        array, tolerance = array.astype(np.float32), HALF_TOLERANCE
    many = _are_many(array)
    off = max(
        map_rows(
            lambda rows: _norm_excess(array[rows], many), len(array), _ROWS_SQUARED_AT_ONCE if many else ROWS_OF_A_BLOCK
        )
    )
    if not off <= tolerance:
        _refuse_points(array, name, tolerance, directions)
    if array.dtype == np.float32 or off <= 8 * np.finfo(np.float64).eps:
        return array
    return _scaled(array)


def unit_rows(points: NDArray[Any], part: slice) -> FloatArray:
    """Some rows in float64, unit length to rounding."""
    rows = points[part]
    if rows.dtype == np.float64:
        return rows
    rows = rows.astype(np.float64)
    rows /= np.sqrt(_squares(rows))[:, None]
    return rows


def vector_cosines(left: FloatArray, right: FloatArray) -> FloatArray:
    """Inner products, clipped to [-1, 1]."""
    product = left @ right.T
    return np.clip(product, -1.0, 1.0, out=product)


def axis_cosines(left: FloatArray, right: FloatArray) -> FloatArray:
    """2 (x.y)^2 - 1, the cosine of twice the angle between two lines."""
    product = left @ right.T
    np.multiply(product, product, out=product)
    np.minimum(product, 1.0, out=product)
    product *= 2
    product -= 1
    return product


def vector_distance(x: Any, y: Any) -> FloatArray:
    """Angle between unit vectors, accurate for the closest of pairs and for the most distant."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    minus, plus = x - y, x + y
    return np.asarray(
        2
        * np.arctan2(
            np.sqrt(np.einsum("...j,...j->...", minus, minus)), np.sqrt(np.einsum("...j,...j->...", plus, plus))
        )
    )


def axis_distance(x: Any, y: Any) -> FloatArray:
    """Angle between two lines, accurate for the closest of pairs."""
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    sign = np.where(np.einsum("...j,...j->...", left, right) < 0, -1.0, 1.0)
    return vector_distance(left, sign[..., None] * right)


def halfway(x: NDArray[Any], y: NDArray[Any]) -> FloatArray:
    """Unit vectors in the middle of two; one of the two where they are opposite."""
    left = unit_rows(x, slice(None))
    middle = left + unit_rows(y, slice(None))
    middle = np.where(np.abs(middle).max(axis=1, keepdims=True) > 1e-8, middle, left)
    return np.asarray(middle / np.sqrt(_squares(middle))[:, None])


def halfway_axes(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """The same for vectors without their sign."""
    sign = np.where(np.einsum("ij,ij->i", x, y) < 0, -1.0, 1.0)
    return canonical(halfway(x, sign[:, None] * y))


def planar_angle(points: NDArray[Any]) -> FloatArray:
    """The angle of unit vectors in the plane."""
    x = unit_rows(points, slice(None))
    return np.asarray(np.arctan2(x[:, 1], x[:, 0]))


def doubled_angle(points: NDArray[Any]) -> FloatArray:
    """Twice that, which does not tell x from -x."""
    return 2 * planar_angle(points)


def uniform_vectors(n: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """*n* independent uniform unit vectors."""
    x = rng.standard_normal((n, columns))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def canonical(vectors: NDArray[Any]) -> NDArray[Any]:
    """Each row or its negative, whichever has a positive first nonzero coordinate."""
    leading = vectors[:, 0].copy()
    for column in range(1, vectors.shape[1]):
        undecided = leading == 0
        if not undecided.any():
            break
        leading[undecided] = vectors[undecided, column]
    negative = leading < 0
    if not negative.any():
        return vectors
    return np.asarray(np.where(negative[:, None], -vectors, vectors))


def _scaled(array: NDArray[Any]) -> FloatArray:
    """Rows divided by their norms, of which no more than a block are held at once."""
    found, many = np.empty(array.shape), _are_many(array)

    def scale(rows: slice) -> None:
        np.divide(array[rows], np.sqrt(_squares(array[rows], many))[:, None], out=found[rows])

    map_rows(scale, len(array), _ROWS_SQUARED_AT_ONCE if many else ROWS_OF_A_BLOCK)
    return found


def _are_many(rows: NDArray[Any]) -> bool:
    """Whether squares are added up faster column by column; both ways are right to rounding, but not the same."""
    return rows.shape[1] <= 8 and len(rows) > 4096


def _squares(rows: NDArray[Any], by_column: bool | None = None) -> FloatArray:
    if _are_many(rows) if by_column is None else by_column:
        squared = np.square(rows, dtype=np.float64)
        total = squared[:, 0] + squared[:, 1]
        for column in range(2, rows.shape[1]):
            total += squared[:, column]
        return np.asarray(total)
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def _norm_excess(rows: NDArray[Any], by_column: bool) -> float:
    """Largest deviation of a row's norm from one; infinite if any coordinate is not finite."""
    with np.errstate(over="ignore"):
        squares = _squares(rows, by_column)
    low, high = float(squares.min()), float(squares.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        return math.inf
    return max(abs(math.sqrt(low) - 1), abs(math.sqrt(high) - 1))


def refuse_not_finite(array: NDArray[Any]) -> None:
    """An `InputError` that names the first row with a number that is not finite."""
    refuse_rows(~np.isfinite(array).all(axis=tuple(range(1, array.ndim))), array, "points must be <+finite+>")


def _refuse_points(array: NDArray[Any], name: str, tolerance: float, directions: bool) -> None:
    refuse_not_finite(array)
    with np.errstate(over="ignore"):
        norms = np.sqrt(_squares(array))
    off = np.abs(norms - 1) > tolerance
    row, worst = int(np.argmax(off)), int(np.argmax(np.abs(norms - 1)))
    advice = _advice(array, norms) if directions else ""
    if not advice and not norms.all():
        row = int(np.argmin(norms))
        raise InputError(
            f"points on {name} must be <+unit vectors+>, but row {row} is <!zero and has no direction!>; drop it",
            row=row,
        )
    raise InputError(
        f"points on {name} must be <+unit vectors (norm within {tolerance:g} of 1)+>, but row {row} has <!norm "
        f"{norms[row]:.8g}!> ({int(off.sum())} of {len(array)} rows, worst row {worst} with {norms[worst]:.8g}); "
        + (advice or "if only the directions matter, divide first: `x / numpy.linalg.norm(x, axis=1, keepdims=True)`"),
        row=row,
    )


def _advice(array: NDArray[Any], norms: FloatArray) -> str:
    """What rows that are no unit vectors look like, with the call that reads them so; empty where dividing is right.

    Dividing by the norm is right where norms are about one, or where there are so many columns that they are an
    embedding. Angles or positions divided by their norm would give a certified answer to the wrong question.
    """
    width = array.shape[1]
    if is_transposed(array):
        return "did you mean the transpose, `points.T`?"
    if matrices := matrices_in(array):
        return f"these are rotation matrices: give `{matrices.replace('x.', 'points.')}`"
    if extra := extra_column(array):
        if extra == "first":
            return "the first column seems to be a number of the row and no coordinate: give `points[:, 1:]`"
        argument = "log_weights" if (array[:, -1] < 0).any() else "weights"
        return f"the last column seems to be a weight: give `points[:, :-1], {argument}=points[:, -1]`"
    count = len(array)
    if 2 <= count <= 4 and width >= EMBEDDING:
        both = f"divide first, `x / numpy.linalg.norm(x, axis=1, keepdims=True)`, if they are {count} vectors"
        return f"if these are {width} points in {count} rows, give the transpose, `points.T`; {both}"
    middle = float(np.median(norms))
    if width >= EMBEDDING or (np.abs(norms - 1) < 0.1).mean() > 0.9:
        return ""
    if math.isfinite(float(norms.max())) and np.abs(norms - middle).max() < NORM_TOLERANCE * middle:
        return f"every row has length {middle:.6g}, a sphere of that radius: divide by it, x / {middle!r}"
    flat = f"positions, `space=he.Euclidean({width})`"
    if width == 2:
        return f"two columns that look like {_angles_like(array)}{flat}"
    if width == 3:
        angles = "Euler angles, `he.from_euler(points, convention=..., units=...)` with `space=he.Rotations()`"
        return f"three columns of such lengths are {flat}, or {angles}"
    return f"{width} columns of such lengths are {flat}"


def _angles_like(array: NDArray[Any]) -> str:
    """What two columns of angles may be, each with the call that reads them so."""
    kinds, units = likely_angles(array)
    one, two, unit = "points[:, 0]", "points[:, 1]", f"units={units!r}"
    calls = {
        "longitude and latitude": f"`he.from_lonlat({one}, {two}, {unit})`",
        "latitude and longitude": f"`he.from_lonlat({two}, {one}, {unit})`",
        "colatitude and azimuth": f"`he.from_spherical({one}, {two}, {unit})`",
        "two periodic angles": f"`space=he.Torus(2, {unit})`",
    }
    return "".join(f"{kind}, {calls[kind]}, or " for kind in kinds)


def likely_angles(array: NDArray[Any]) -> tuple[list[str], str]:
    """What two columns of angles may be, by how far they reach, and in which unit."""
    first, second = np.abs(array).max(axis=0).tolist()
    turn, units = 2 * math.pi + SLACK_RADIANS, "rad"
    if max(first, second) > turn:
        turn, units = 360.0, "deg"
    kinds = {
        "longitude and latitude": first <= turn and second <= turn / 4,
        "latitude and longitude": first <= turn / 4 and second <= turn,
        "colatitude and azimuth": array[:, 0].min() >= 0 and first <= turn / 2 and second <= turn,
        "two periodic angles": max(first, second) <= turn,
    }
    return [kind for kind, fits in kinds.items() if fits], units
