"""The real projective space RP^m: lines through the origin, or unit vectors without their sign (axial data).

It is the sphere S^m with x and -x made one, so its functions are the even functions of the sphere: the levels
are the sphere's even ones, and the heat kernel is the sum of the sphere's at x and at -x.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import ROWS, map_rows
from ..errors import InputError
from .base import FloatArray, Levels, SmallTime, ZonalSpace
from .sphere import Sphere

#: Beyond this distance the small-time expansion is not used: the second geodesic is no longer much the longer.
_REACH = 1.2

#: Columns up to which the fourth moments are summed, for a second level that nearly vanishes.
_FOURTH_COLUMNS = 8

_BASES = {
    1: "sum of w exp(2 i l angle), l >= 0",
    2: "even degrees of the sum of w conj(Y_lm), orthonormal on 4 pi, longitude from the -x axis, [l / 2, m], m >= 0",
}


class Projective(ZonalSpace):
    """The projective space RP^dim: unit vectors (n, dim + 1), of which x and -x are one point.

    The metric is the sphere's, so the distance is the angle between two lines, arccos |x.y|, at most 90
    degrees, and one degree is one degree between axes. Levels are lambda_l = 2l (2l + dim - 1), the even ones of
    the sphere, with the sphere's multiplicities.

    Parameters
    ----------
    dim : int
        Dimension of the space: 2 for axes in R^3, d - 1 for axes with d coordinates.

    Examples
    --------
    >>> import heatess as he
    >>> axes = he.Projective(2)
    >>> axes.levels(3).eigenvalues
    array([ 0.,  6., 20.])
    >>> round(he.gess([[0, 0, 1], [0, 0, -1]], space=axes, angle=5), 6)  # one line, twice
    1.0
    """

    def __init__(self, dim: int) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or dim < 1:
            raise InputError(
                f"Projective(dim) needs a whole number dim >= 1, but found {dim!r}; axes in R^3 are Projective(2)"
            )
        self._dim = int(dim)
        self._sphere = Sphere(dim)
        self.transform_limit = self._sphere.transform_limit // 2
        self.basis = _BASES.get(self._dim, "")

    def __repr__(self) -> str:
        return f"Projective({self._dim})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Projective) and other._dim == self._dim

    def __hash__(self) -> int:
        return hash((Projective, self._dim))

    @property
    def dim(self) -> int:
        """Dimension m, one less than the number of coordinates."""
        return self._dim

    @property
    def diameter(self) -> float:
        """pi / 2, the distance of perpendicular lines."""
        return math.pi / 2

    @property
    def log_volume(self) -> float:
        """Log of half the sphere's volume."""
        return self._sphere.log_volume - math.log(2)

    @property
    def volume(self) -> float:
        """Half the sphere's: pi, 2 pi, pi^2, ...

        >>> round(Projective(3).volume / math.pi**2, 12)
        1.0
        """
        return math.exp(self.log_volume)

    @property
    def scalar_curvature(self) -> float:
        """m (m - 1), as on the sphere."""
        return self._sphere.scalar_curvature

    # Points.

    def check(self, points: Any) -> NDArray[Any]:
        """Unit vectors, shape (n, dim + 1), as `Sphere.check` has them, their first nonzero coordinate positive."""
        try:
            return canonical(self._sphere.check(points))
        except InputError as error:
            raise type(error)(str(error).replace(repr(self._sphere), repr(self))) from None

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Angle between two lines in radians, accurate for the closest of pairs.

        >>> float(Projective(1).distance([1.0, 0.0], [-1.0, 1e-12]))
        1e-12
        """
        left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        sign = np.where(np.einsum("...j,...j->...", left, right) < 0, -1.0, 1.0)
        return self._sphere.distance(left, sign[..., None] * right)

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform lines, shape (n, dim + 1)."""
        return np.asarray(canonical(self._sphere.uniform(n, rng)))

    def tile(self, points: NDArray[Any], rows: slice) -> FloatArray:
        """Some rows in float64, unit length to rounding."""
        return self._sphere.tile(points, rows)

    def tile_cosines(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Absolute inner products."""
        cosines = self._sphere.tile_cosines(left, right)
        return np.abs(cosines, out=cosines)

    antipodal = True

    def embed(self, points: NDArray[Any]) -> FloatArray:
        """The unit vectors, up to their sign, with the coordinate that is not negative last."""
        return np.roll(self.tile(points, slice(None)), -1, axis=1)

    def chord(self, distance: Any) -> FloatArray:
        """2 sin(distance / 2)."""
        return self._sphere.chord(distance)

    def from_chord(self, chord: Any) -> FloatArray:
        """2 arcsin(chord / 2)."""
        return self._sphere.from_chord(chord)

    # The Laplacian.

    def levels(self, count: int) -> Levels:
        """lambda_l = 2l (2l + m - 1) and the logarithms of their multiplicities, for l = 0, ..., count - 1."""
        table = self._sphere.levels(2 * count - 1)
        return Levels(table.eigenvalues[::2], table.log_multiplicities[::2])

    def zonal(self, count: int, distance: Any) -> FloatArray:
        """The sphere's zonal functions of degrees 0, 2, 4, ..."""
        return self._sphere.zonal(2 * count - 1, distance)[::2]

    def cosine_count(self, count: int) -> int:
        """2 count - 1: degree 2l is a mixture of cos(0), cos(2 d), ..., cos(2l d)."""
        return 2 * count - 1

    def from_cosines(self, cosines: FloatArray) -> FloatArray:
        """The even ones of the sphere's moments, for which the odd cosines do not matter."""
        return self._sphere.from_cosines(cosines)[::2]

    def small_time(self, time: float) -> SmallTime:
        """The sphere's expansion; `error` includes the geodesic to the antipode, of length pi - distance."""
        small = self._sphere.small_time(time)
        reach = min(small.reach, _REACH)
        # Relative to the short geodesic, it is longest-lasting at the reach, since heat falls with the distance.
        image = -math.pi * (math.pi - 2 * reach) / (8 * time) + (self._dim - 1) / 2 * math.log(math.pi / reach - 1)
        error = small.error + math.exp(min(image, 0.0))
        return SmallTime(small.polynomial, small.slope, small.log_diagonal - math.log(2), error, reach)

    # Fast transforms.

    def transform_cost(self, n: int, count: int) -> float:
        """That of the sphere up to twice the degree."""
        return self._sphere.transform_cost(n, 2 * count)

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, count: int, epsilon: float, threads: int
    ) -> NDArray[np.complex128]:
        """The sphere's coefficients of even degree, shape (count,) on RP^1 and (count, 2 count - 1) on RP^2."""
        if not self.transform_limit:
            return super().coefficients(points, weights, count, epsilon, threads)
        return np.ascontiguousarray(self._sphere.coefficients(points, weights, 2 * count - 1, epsilon, threads)[::2])

    def no_coefficients(self, count: int) -> NDArray[np.complex128]:
        """Zeros of shape (count,) on RP^1 and (count, 2 count - 1) on RP^2."""
        if not self.transform_limit:
            return super().no_coefficients(count)
        return np.zeros((count,) if self._dim == 1 else (count, 2 * count - 1), dtype=np.complex128)

    def moments_of_coefficients(self, coefficients: NDArray[np.complex128]) -> FloatArray:
        """b_l = |c_l|^2 on RP^1; b_l = 4 pi / (4l + 1) sum_m |a_(2l)m|^2 on RP^2."""
        power = coefficients.real**2 + coefficients.imag**2
        if self._dim == 2:
            degree = 2 * np.arange(len(power))
            power = (2 * power.sum(axis=1) - power[:, 0]) * (4 * math.pi / (2 * degree + 1))  # orders m and -m
        power[0] = 1.0
        return np.minimum(power, 1.0)

    def low_moments(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """b_1 from second moments, as on the sphere; b_2 from fourth moments where columns are few.

        With A = sum w x x^T, d the unit matrix and p = m + 1, the part of the fourth moments without traces is

            T - (A_ij d_kl + ... 6 terms) / (p + 4) + (d_ij d_kl + ... 3 terms) / ((p + 4) (p + 2)).
        """
        low = self._sphere.low_moments(points, weights)[1:]
        p = self._dim + 1
        if p > _FOURTH_COLUMNS:
            return low
        first, second = np.triu_indices(p)

        def partial(rows: slice) -> FloatArray:
            x = self.tile(points, rows).T
            products = x[first] * x[second]
            return np.asarray((products * weights[rows]) @ products.T)

        packed = sum(map_rows(partial, len(points), max(1024, ROWS // p**2)))
        place = np.zeros((p, p), dtype=int)
        place[first, second] = place[second, first] = np.arange(len(first))
        fourth = np.asarray(packed)[place[:, :, None, None], place]  # (p, p, p, p)
        unit = np.eye(p)
        traces = np.einsum("ijkk->ij", fourth)[..., None, None] * unit / (p + 4)
        units = unit[..., None, None] * unit / ((p + 4) * (p + 2))
        for order in ("ijkl", "ikjl", "iklj", "kijl", "kilj", "klij"):
            fourth = fourth - np.einsum(f"ijkl->{order}", traces)
        for order in ("ijkl", "ikjl", "iklj"):
            fourth = fourth + np.einsum(f"ijkl->{order}", units)
        largest = 1 - 6 / (p + 4) + 3 / ((p + 4) * (p + 2))  # of a single atom
        return np.append(low, min(float(np.sum(fourth * fourth)) / largest, 1.0))


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
