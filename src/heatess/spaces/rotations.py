"""The group of rotations SO(3): orientations of a body in space.

Up to the sign, a rotation is a unit quaternion, and half its angle is the distance of that quaternion from 1. So
SO(3) with the rotation angle as distance is `Projective(3)` with all lengths doubled and all times quadrupled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, numeric_array
from ..base.blocks import map_rows
from ..base.errors import InputError
from ..heat.lookup import AXES
from ..heat.spherical import SphereSeries
from ..transforms.harmonics import Harmonics
from ..transforms.low_moments import AxisMoments
from ..transforms.wigner import WignerTransform
from .base import Space
from .capabilities import AxisEmbedding, LoopKind, ZonalPairs
from .drawing import ROTATIONS, Drawing
from .heated import on_sphere
from .vectors import (
    axis_cosines,
    axis_distance,
    canonical,
    check_unit_vectors,
    halfway_axes,
    uniform_vectors,
    unit_rows,
)

MATRIX_TOLERANCE = 1e-6

_FORMS = (
    "a scipy Rotation, quaternions (n, 4) with the scalar last (x, y, z, w), or matrices (n, 3, 3); "
    "scalar-first quaternions are q[:, [1, 2, 3, 0]]"
)


class Rotations(Space):
    """The rotations of space, SO(3), with the rotation angle as distance.

    The distance of two rotations is the angle of the rotation from one to the other, between 0 and 180 degrees, so
    one degree is one degree of turning. Levels are lambda_l = l (l + 1) with multiplicity (2l + 1)^2, the squares of
    the matrix elements of Wigner's D^l, and the zonal functions are characters,
    (1 + 2 cos w + ... + 2 cos(l w)) / (2l + 1). The volume is 8 pi^2.

    Points are a scipy `Rotation`, unit quaternions of shape (n, 4) with the scalar **last** (x, y, z, w), or rotation
    matrices of shape (n, 3, 3); the quaternions q and -q are one point. For unit quaternions where they are two,
    the group SU(2), use `Sphere(3)`.

    Examples
    --------
    >>> import heatess as he
    >>> rotations = he.Rotations()
    >>> rotations.series.levels(3).eigenvalues
    array([0., 2., 6.])
    >>> third = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]  # of a turn about the diagonal, from x to y to z
    >>> round(float(np.degrees(rotations.distance(np.eye(3), third))), 6)
    120.0
    >>> round(he.gess([[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, -1]], space=rotations, angle=20), 6)
    1.8
    """

    form = "quaternions"
    _dim, _curvature = 3, 1.5  # those of the 3-sphere of radius 2

    def __init__(self) -> None:
        # The even degrees of the 3-sphere of radius two are the characters.
        series, low = SphereSeries(3, step=2, radius=2.0), AxisMoments(4, unit_rows)
        self.series, self.low_moments = series, low
        self.transform = WignerTransform(series, low)
        self.pair_kernel = ZonalPairs(
            series, 4, rows=unit_rows, cosines=axis_cosines, distance=self.distance, loop=LoopKind(AXES)
        )
        self.embedding = AxisEmbedding(series, 4, unit_rows, radius=2.0)
        self.harmonics = (Harmonics(3, 2, 2.0, slice(0, 4)),)

    def _key(self) -> tuple[object, ...]:
        return ()

    @property
    def drawing(self) -> Drawing | None:
        """The axis times the angle, in a ball."""
        return ROTATIONS

    def check(self, points: Any) -> FloatArray:
        """Unit quaternions (x, y, z, w), shape (n, 4), their first nonzero coordinate positive.

        Quaternions whose norm is within 1e-6 of one, and matrices orthonormal within 1e-6, are corrected; others
        are refused.
        """
        if hasattr(points, "as_quat"):
            points = np.atleast_2d(points.as_quat())
        array = numeric_array(points, "points")
        if array.ndim == 3 and array.shape[1:] == (3, 3) and len(array):
            return _canonical_unit(_from_matrices(array))
        if array.ndim != 2 or array.shape[1] != 4:
            single = array.shape in ((4,), (3, 3))
            hint = " (for one rotation use points[None])" if single else ""
            raise InputError(f"points on {self!r} have shape {array.shape}{hint}; give {_FORMS}")
        try:
            unit = check_unit_vectors(array, 4, repr(self), directions=False)
        except InputError as error:
            message = str(error).replace("unit vectors", "unit quaternions")
            raise InputError(f"{message}. Give {_FORMS}") from None
        return _canonical_unit(unit)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Angle of the rotation from x to y, in radians, accurate for the closest of pairs.

        >>> float(Rotations().distance([0, 0, 0, 1], [5e-13, 0, 0, -1]))
        1e-12
        """
        return np.asarray(2 * axis_distance(_quaternions(x), _quaternions(y)))

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> NDArray[Any]:
        """Heat on unit quaternions, where lengths are half as long, without the sign."""
        return canonical(on_sphere(unit_rows(points, slice(None)), time / 4, rng))

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """The direction of their sum, with the signs that make it longer."""
        return halfway_axes(x, y)

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform rotations, as quaternions of shape (n, 4), the scalar last."""
        return np.asarray(canonical(uniform_vectors(n, 4, rng)))


def _canonical_unit(quaternions: NDArray[Any]) -> FloatArray:
    found = np.empty(quaternions.shape)

    def fill(rows: slice) -> None:
        wide = quaternions[rows].astype(np.float64)
        wide /= np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
        found[rows] = canonical(wide)

    map_rows(fill, len(quaternions))
    return found


def _quaternions(rotations: Any) -> FloatArray:
    """Quaternions, matrices or a scipy Rotation as quaternions, unchecked."""
    if hasattr(rotations, "as_quat"):
        return np.asarray(rotations.as_quat())
    array = np.asarray(rotations, dtype=np.float64)
    if array.shape[-2:] == (3, 3):
        return _leading(array.reshape(-1, 3, 3)).reshape(*array.shape[:-2], 4)
    return array


def _from_matrices(matrices: NDArray[Any]) -> FloatArray:
    """Unit quaternions of rotation matrices, which are checked."""
    found = np.empty((len(matrices), 4))

    def fill(rows: slice) -> None:
        part = matrices[rows].astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(np.einsum("nij,nkj->nik", part, part) - np.eye(3)).max(axis=(1, 2))
        bad = ~(off <= MATRIX_TOLERANCE)
        if bad.any():
            row = rows.start + int(np.argmax(bad))
            raise InputError(
                f"matrices must be orthonormal within {MATRIX_TOLERANCE:g}, but in row {row} R R^T is off the unit "
                f"matrix by {off[bad][0]:.3g}; drop or fix that row",
                row=row,
            )
        turned = np.linalg.det(part) < 0
        if turned.any():
            row = rows.start + int(np.argmax(turned))
            raise InputError(
                f"matrices must be rotations, but row {row} has determinant -1, a reflection; drop or fix that row",
                row=row,
            )
        found[rows] = _leading(part)

    map_rows(fill, len(matrices), 16_384)
    return found


def _leading(matrices: FloatArray) -> FloatArray:
    """The longest row of 4 q q^T, whose entries are linear in the matrix, divided by its length."""
    (a, b, c), (d, e, f), (g, h, i) = np.moveaxis(matrices, 0, 2)
    products = np.array(
        [
            [1 + a - e - i, b + d, c + g, h - f],
            [b + d, 1 - a + e - i, f + h, c - g],
            [c + g, f + h, 1 - a - e + i, d - b],
            [h - f, c - g, d - b, 1 + a + e + i],
        ]
    )  # (4, 4, n)
    longest = np.argmax(np.einsum("iin->in", products), axis=0)
    rows = products[longest, :, np.arange(len(matrices))]
    return np.asarray(rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None])
