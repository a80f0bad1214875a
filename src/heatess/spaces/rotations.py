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
from ..heat.orbits import ROTATIONS as ROTATIONS_SERIES
from ..heat.orbits import OrbitSeries
from ..heat.radial import resolutions_of_times
from ..heat.series import LevelSeries, times_of_resolutions
from ..transforms.harmonics import Harmonics
from ..transforms.low_moments import AxisMoments
from ..transforms.orbits import Group, OrbitTransform, multiplied
from ..transforms.wigner import WignerTransform
from .base import Space
from .capabilities import AxisEmbedding, LoopKind, ZonalPairs
from .drawing import ROTATIONS, Drawing
from .heat_draws import on_sphere
from .orbits import Cell, OrbitEmbedding, OrbitPairs
from .point_groups import PointGroup, named_group
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
    "scalar-first quaternions are `q[:, [1, 2, 3, 0]]`"
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

    With a *symmetry*, the orientations of things that look alike when turned, such as crystals: R and R g are one point
    for every rotation g of a point group G. The distance is then the least angle over the group, the disorientation;
    level l keeps (2l + 1) r_l functions, with r_l the mean of its character over the group; the volume is 8 pi^2 / |G|.
    R takes directions in the body to directions in the world (from crystal to sample, from particle to image), and
    symmetry turns the body before.

    Parameters
    ----------
    symmetry : str, optional
        The group: "C4", "D6", "T", "O" or "I", with the axes that `scipy.spatial.transform.Rotation.create_group` has;
        or a crystal class by its Hermann-Mauguin symbol, such as "222", "622", "432", "mmm", "-3m", "6/mmm" or "m-3m",
        of which the rotations count. Twofold axes of "D3" and "32" lie along x; "312" has them along y. Axes of "2" lie
        along z; "121" is along y, "211" along x. "I1" to "I4" are RELION's settings of the icosahedral group ("I1" has
        the axes of "I"; RELION's own "I" is "I2"), and "Tz" is its T, with a threefold axis along z.

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

    A third of a turn about its diagonal leaves a cube as it is:

    >>> cubes = he.Rotations(symmetry="m-3m")
    >>> cubes
    Rotations(symmetry='O')
    >>> round(float(np.degrees(cubes.distance(np.eye(3), third))), 6), round(float(np.degrees(cubes.diameter)), 4)
    (0.0, 62.7994)
    """

    form = "quaternions"
    _dim, _curvature = 3, 1.5  # those of the 3-sphere of radius 2

    def __init__(self, symmetry: str | None = None) -> None:
        group = None if symmetry is None else named_group(symmetry)
        self.symmetry = None if group is None or group.order == 1 else group.name
        series, low = ROTATIONS_SERIES, AxisMoments(4, unit_rows)
        plain = ZonalPairs(
            series, 4, rows=unit_rows, cosines=axis_cosines, distance=_rotation_angle, loop=LoopKind(AXES)
        )
        if group is not None and self.symmetry is not None:
            self._orbits(group, plain)
            return
        self._cell: Cell | None = None
        self.group = np.array([[0.0, 0.0, 0.0, 1.0]])
        self.series, self.low_moments = series, low
        self.transform, self.pair_kernel = WignerTransform(series, low), plain
        self.embedding = AxisEmbedding(series, 4, unit_rows, radius=2.0)
        self.harmonics = (Harmonics(3, 2, 2.0, slice(0, 4)),)

    def _orbits(self, group: PointGroup, plain: ZonalPairs) -> None:
        """The capabilities of rotations up to a group, whose kernel depends on more than the distance."""
        self._cell, levels = Cell(group.elements), OrbitSeries(group.angles, group.diameter)
        inverse = group.frame * [-1.0, -1.0, -1.0, 1.0]
        turned = multiplied(inverse, multiplied(group.elements, group.frame))
        self._levels: LevelSeries = levels
        self.group = group.elements
        self.transform = OrbitTransform(
            Group(group.name, levels, tuple(map(tuple, turned.tolist())), group.fold, tuple(group.frame.tolist()))
        )
        self.low_moments = self.transform.low
        self.pair_kernel = OrbitPairs(plain, levels, self._cell)
        self.embedding = OrbitEmbedding(levels, self._cell)

    def _key(self) -> tuple[object, ...]:
        return () if self.symmetry is None else (self.symmetry,)

    def __repr__(self) -> str:
        return "Rotations()" if self.symmetry is None else f"Rotations(symmetry={self.symmetry!r})"

    @property
    def factor_series(self) -> tuple[tuple[LevelSeries, float], ...]:
        """The levels of the rotations, or of those that are left of them."""
        return super().factor_series if self._cell is None else ((self._levels, 1.0),)

    @property
    def diameter(self) -> float:
        """Half a turn, or the largest disorientation."""
        return super().diameter if self._cell is None else self._levels.diameter

    @property
    def log_volume(self) -> float:
        """log of 8 pi^2, over the order of the group."""
        return super().log_volume if self._cell is None else self._levels.log_volume

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
            return self._reduced(_canonical_unit(_from_matrices(array)))
        if array.ndim != 2 or array.shape[1] != 4:
            single = array.shape in ((4,), (3, 3))
            hint = " (for one rotation use `points[None]`)" if single else ""
            raise InputError(f"points on {self!r} have <!shape {array.shape}!>{hint}; give <+{_FORMS}+>")
        try:
            unit = check_unit_vectors(array, 4, repr(self), directions=False)
        except InputError as error:
            raise error.about("unit vectors", "unit quaternions").within(after=f". Give {_FORMS}") from None
        return self._reduced(_canonical_unit(unit))

    def _reduced(self, quaternions: FloatArray) -> FloatArray:
        """One of the images of each point, always the same."""
        return quaternions if self._cell is None else self._cell.reduced(quaternions)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Angle of the rotation from x to y, in radians, accurate for the closest of pairs; the least over the group.

        >>> float(Rotations().distance([0, 0, 0, 1], [5e-13, 0, 0, -1]))
        1e-12
        """
        left, right = _quaternions(x), _quaternions(y)
        return _rotation_angle(left, right) if self._cell is None else self._cell.distance(left, right)

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> NDArray[Any]:
        """Heat on unit quaternions, where lengths are half as long, without the sign."""
        return self._reduced(canonical(on_sphere(unit_rows(points, slice(None)), time / 4, rng)))

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """The direction of their sum, with the signs, and elements of the group, that make it longer."""
        return halfway_axes(x, y) if self._cell is None else self._reduced(halfway_axes(x, self._cell.nearest(x, y)))

    # Resolutions: those of rotations without symmetry, which they are at all scales but the coarsest.

    @property
    def has_resolutions(self) -> bool:
        """Always."""
        return True

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """The times at which rotations so far apart overlap by 1/e, before others that look alike are counted."""
        return times_of_resolutions(ROTATIONS_SERIES, distances)

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """The distance at which the overlap of rotations falls to 1/e; nan where it does not."""
        return resolutions_of_times(ROTATIONS_SERIES, times)

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform rotations, as quaternions of shape (n, 4), the scalar last."""
        return np.asarray(canonical(uniform_vectors(n, 4, rng)))


def _rotation_angle(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(2 * axis_distance(x, y))


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
                f"matrices must be <+orthonormal within {MATRIX_TOLERANCE:g}+>, but in row {row} <!R R^T is off the "
                f"unit matrix by {off[bad][0]:.3g}!>; drop or fix that row",
                row=row,
            )
        turned = np.linalg.det(part) < 0
        if turned.any():
            row = rows.start + int(np.argmax(turned))
            raise InputError(
                f"matrices must be <+rotations+>, but row {row} has <!determinant -1, a reflection!>; drop or fix "
                "that row",
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
