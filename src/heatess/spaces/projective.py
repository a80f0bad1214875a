"""The real projective space RP^m: lines through the origin, or unit vectors without their sign (axial data).

It is the sphere S^m with x and -x made one, so its functions are the even functions of the sphere: the levels
are the sphere's even ones, and the heat kernel is the sum of the sphere's at x and at -x.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..heat.spherical import SphereSeries
from ..transforms.harmonics import Harmonics
from ..transforms.levels import CircleTransform, HarmonicTransform, LevelTransform
from ..transforms.low_moments import AxisMoments
from ..transforms.wigner import WignerTransform
from .base import Space
from .capabilities import AxisEmbedding, ZonalPairs
from .vectors import (
    axis_cosines,
    axis_distance,
    canonical,
    check_dimension,
    check_unit_vectors,
    doubled_angle,
    uniform_vectors,
    unit_rows,
)


class Projective(Space):
    """The projective space RP^dim: unit vectors (n, dim + 1), of which x and -x are one point.

    The metric is the sphere's, so the distance is the angle between two lines, arccos |x.y|, at most 90
    degrees, and one degree is one degree between axes. Levels are lambda_l = 2l (2l + dim - 1), the even ones of
    the sphere, with the sphere's multiplicities; the volume is half the sphere's.

    Parameters
    ----------
    dim : int
        Dimension of the space: 2 for axes in R^3, d - 1 for axes with d coordinates.

    Examples
    --------
    >>> import heatess as he
    >>> axes = he.Projective(2)
    >>> axes.series.levels(3).eigenvalues
    array([ 0.,  6., 20.])
    >>> round(he.gess([[0, 0, 1], [0, 0, -1]], space=axes, angle=5), 6)  # one line, twice
    1.0
    >>> round(he.Projective(3).volume / np.pi**2, 12)
    1.0
    """

    def __init__(self, dim: int) -> None:
        self._dim = check_dimension(dim, "Projective", "axes in R^3 are Projective(2)")

    @property
    def scalar_curvature(self) -> float:
        """m (m - 1), as on the sphere."""
        return float(self._dim * (self._dim - 1))

    def check(self, points: Any) -> NDArray[Any]:
        """Unit vectors, shape (n, dim + 1), as `Sphere.check` has them, their first nonzero coordinate positive."""
        return canonical(check_unit_vectors(points, self._dim + 1, repr(self)))

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Angle between two lines in radians, accurate for the closest of pairs.

        >>> float(Projective(1).distance([1.0, 0.0], [-1.0, 1e-12]))
        1e-12
        """
        return axis_distance(x, y)

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform lines, shape (n, dim + 1)."""
        return np.asarray(canonical(uniform_vectors(n, self._dim + 1, rng)))

    # Capabilities.

    @cached_property
    def series(self) -> SphereSeries:
        """The sphere's even degrees."""
        return SphereSeries(self._dim, step=2)

    @cached_property
    def low_moments(self) -> AxisMoments:
        """Second and fourth moments of the vectors."""
        return AxisMoments(self._dim + 1, unit_rows)

    @cached_property
    def transform(self) -> LevelTransform | None:
        """Fourier coefficients of the doubled angle, even spherical harmonics, or Wigner's of quaternions."""
        if self._dim == 1:
            basis = "sum of w exp(2 i l angle), l >= 0"
            return CircleTransform(self.series, self.low_moments, doubled_angle, basis)
        if self._dim == 2:
            return HarmonicTransform(self.series, self.low_moments, unit_rows, 2)
        return WignerTransform(self.series, self.low_moments) if self._dim == 3 else None

    @cached_property
    def pair_kernel(self) -> ZonalPairs:
        """From squared inner products."""
        return ZonalPairs(self.series, self._dim + 1, rows=unit_rows, cosines=axis_cosines, distance=axis_distance)

    @cached_property
    def embedding(self) -> AxisEmbedding:
        """The unit vectors, either sign."""
        return AxisEmbedding(self.series, self._dim + 1, unit_rows)

    @property
    def harmonics(self) -> tuple[Harmonics, ...]:
        """The sphere's, of even degree."""
        return (Harmonics(self._dim, 2, 1.0, slice(0, self._dim + 1)),)
