"""The group of rotations SO(3): orientations of a body in space.

Up to the sign, a rotation is a unit quaternion, and half its angle is the distance of that quaternion from 1. So
SO(3) with the rotation angle as distance is `Projective(3)` with all lengths doubled and all times quadrupled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import numeric_array
from ..blocks import map_rows, slices
from ..errors import InputError
from .base import FloatArray, Levels, SmallTime, ZonalSpace
from .projective import Projective, canonical
from .sphere import Sphere

MATRIX_TOLERANCE = 1e-6

#: Points transformed at once.
TRANSFORM_BLOCK = 2**21

_QUATERNIONS = Projective(3)

_FORMS = (
    "a scipy Rotation, quaternions (n, 4) with the scalar last (x, y, z, w), or matrices (n, 3, 3); "
    "scalar-first quaternions are q[:, [1, 2, 3, 0]]"
)


class Rotations(ZonalSpace):
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
    >>> rotations.levels(3).eigenvalues
    array([0., 2., 6.])
    >>> third = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]  # of a turn about the diagonal, from x to y to z
    >>> round(float(np.degrees(rotations.distance(np.eye(3), third))), 6)
    120.0
    >>> round(he.gess([[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, -1]], space=rotations, angle=20), 6)
    1.8
    """

    transform_limit = 200
    basis = "sum of w sum_k Delta^l_km Delta^l_kn exp(i (m a + k b + n c)), ZYZ angles; [l][m >= 0][n] in one row"

    def __repr__(self) -> str:
        return "Rotations()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rotations)

    def __hash__(self) -> int:
        return hash(Rotations)

    @property
    def dim(self) -> int:
        """3."""
        return 3

    @property
    def diameter(self) -> float:
        """pi, the angle of a half turn."""
        return math.pi

    @property
    def log_volume(self) -> float:
        """Log of 8 pi^2."""
        return math.log(self.volume)

    @property
    def volume(self) -> float:
        """8 pi^2, half that of the 3-sphere of radius 2."""
        return 8 * math.pi**2

    @property
    def scalar_curvature(self) -> float:
        """3/2, that of the 3-sphere of radius 2."""
        return 1.5

    # Points.

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
            unit = Sphere(3).check(array)
        except InputError as error:
            message = str(error).replace("Sphere(3)", repr(self)).replace("unit vectors", "unit quaternions")
            raise InputError(f"{message}. Give {_FORMS}") from None
        return _canonical_unit(unit)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Angle of the rotation from x to y, in radians, accurate for the closest of pairs.

        >>> float(Rotations().distance([0, 0, 0, 1], [5e-13, 0, 0, -1]))
        1e-12
        """
        return np.asarray(2 * _QUATERNIONS.distance(_quaternions(x), _quaternions(y)))

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform rotations, as quaternions of shape (n, 4), the scalar last."""
        return _QUATERNIONS.uniform(n, rng)

    def tile(self, points: NDArray[Any], rows: slice) -> FloatArray:
        """Some of the quaternions."""
        return np.asarray(points[rows])

    def tile_cosines(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """2 (q.q')^2 - 1."""
        product = left @ right.T
        np.multiply(product, product, out=product)
        np.minimum(product, 1.0, out=product)
        product *= 2
        product -= 1
        return product

    antipodal = True

    def embed(self, points: NDArray[Any]) -> FloatArray:
        """The quaternions, up to their sign, with the coordinate that is not negative last."""
        return _QUATERNIONS.embed(points)

    def chord(self, distance: Any) -> FloatArray:
        """2 sin(distance / 4)."""
        return _QUATERNIONS.chord(np.asarray(distance) / 2)

    def from_chord(self, chord: Any) -> FloatArray:
        """4 arcsin(chord / 2)."""
        return 2 * _QUATERNIONS.from_chord(chord)

    # The Laplacian.

    def levels(self, count: int) -> Levels:
        """lambda_l = l (l + 1) and log (2l + 1)^2 for l = 0, ..., count - 1."""
        degree = np.arange(count, dtype=np.float64)
        return Levels(degree * (degree + 1), 2 * np.log(2 * degree + 1))

    def zonal(self, count: int, distance: Any) -> FloatArray:
        """(1 + 2 cos w + ... + 2 cos(l w)) / (2l + 1)."""
        cosines = np.cos(np.multiply.outer(np.arange(count), np.asarray(distance, dtype=np.float64)))
        return self.from_cosines(cosines)

    def from_cosines(self, cosines: FloatArray) -> FloatArray:
        """b_l = (c_0 + 2 c_1 + ... + 2 c_l) / (2l + 1)."""
        sums = 2 * np.cumsum(cosines, axis=0) - cosines[0]
        return np.asarray(sums / (2 * np.arange(len(cosines)) + 1).reshape(-1, *(1,) * (cosines.ndim - 1)))

    def small_time(self, time: float) -> SmallTime:
        """The expansion on `Projective(3)` at a quarter of the time and half the distance."""
        small = _QUATERNIONS.small_time(time / 4)
        scale = 0.25 ** np.arange(len(small.polynomial))
        return small._replace(polynomial=small.polynomial * scale, slope=small.slope * scale, reach=2 * small.reach)

    # The fast transform.

    def transform_cost(self, n: int, count: int) -> float:
        """Linear in the points, and a Fourier grid of 4 L^3 places, at some 2 oversampled."""
        return 8e-7 * n + 3e-7 * count**3

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, count: int, epsilon: float, threads: int
    ) -> NDArray[np.complex128]:
        """Matrix elements a^l_mn = sum w D^l_mn for m >= 0, in one row; see `wigner`.

        One nonuniform Fourier transform in the three Euler angles, contracted level by level. Points are taken in
        blocks, so that the memory needed does not grow with their number.
        """
        from . import wigner  # compiles, so only when it is needed

        total = self.no_coefficients(count)
        for rows in slices(len(points), TRANSFORM_BLOCK):
            total += wigner.coefficients(points[rows], weights[rows], count, epsilon, threads)
        return total

    def no_coefficients(self, count: int) -> NDArray[np.complex128]:
        """Zeros, (l + 1) (2l + 1) for each level l."""
        return np.zeros(_starts(count)[-1], dtype=np.complex128)

    def moments_of_coefficients(self, coefficients: NDArray[np.complex128]) -> FloatArray:
        """b_l = sum_mn |a^l_mn|^2 / (2l + 1)."""
        starts = _starts(self.transform_limit)
        starts = starts[starts <= len(coefficients)]
        power = coefficients.real**2 + coefficients.imag**2
        width = 2 * np.arange(len(starts) - 1) + 1
        central = np.array([power[start : start + n].sum() for start, n in zip(starts[:-1], width, strict=True)])
        moments = (2 * np.add.reduceat(power, starts[:-1]) - central) / width  # orders m and -m
        moments[0] = 1.0
        return np.asarray(np.minimum(moments, 1.0))

    def low_moments(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """b_1 and b_2 from the second and fourth moments of the quaternions."""
        return _QUATERNIONS.low_moments(points, weights)


def _starts(count: int) -> NDArray[np.int64]:
    """Where each level starts among the coefficients, and where the last ends."""
    level = np.arange(count + 1)
    return np.asarray(level * (level + 1) * (4 * level - 1) // 6)


def _canonical_unit(quaternions: NDArray[Any]) -> FloatArray:
    wide = quaternions.astype(np.float64)
    wide /= np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    return canonical(wide)


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
            row = int(np.argmax(bad))
            raise InputError(
                f"matrices must be orthonormal within {MATRIX_TOLERANCE:g}, but in row {rows.start + row} R R^T is off "
                f"the unit matrix by {off[row]:.3g}; drop or mend that row"
            )
        turned = np.linalg.det(part) < 0
        if turned.any():
            row = rows.start + int(np.argmax(turned))
            raise InputError(
                f"matrices must be rotations, but row {row} has determinant -1, a reflection; drop or mend that row"
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
