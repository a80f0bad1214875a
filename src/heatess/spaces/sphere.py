"""The unit sphere S^m of every dimension m >= 1, with its round metric."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..heat.spherical import SphereSeries
from ..transforms.harmonics import Harmonics
from ..transforms.levels import CircleTransform, HarmonicTransform, LevelTransform
from ..transforms.low_moments import VectorMoments
from .base import Space
from .capabilities import VectorEmbedding, ZonalPairs
from .vectors import (
    check_dimension,
    check_unit_vectors,
    planar_angle,
    uniform_vectors,
    unit_rows,
    vector_cosines,
    vector_distance,
)


class Sphere(Space):
    """The unit sphere S^dim in R^(dim + 1): unit vectors, geodesic distance in radians.

    Levels are lambda_l = l (l + dim - 1); the zonal functions are Gegenbauer polynomials of cos(distance) with index
    (dim - 1)/2, normalised to 1 at distance zero. The volume is 2 pi, 4 pi, 2 pi^2, ...

    Parameters
    ----------
    dim : int
        Dimension of the sphere: 1 for the circle, 2 for the ordinary sphere, d - 1 for unit
        vectors with d coordinates.

    Examples
    --------
    >>> import heatess as he
    >>> sphere = he.Sphere(2)
    >>> sphere.series.levels(4).eigenvalues
    array([ 0.,  2.,  6., 12.])
    >>> round(float(np.degrees(sphere.distance([1, 0, 0], [0, 1, 0]))), 6)
    90.0
    >>> round(sphere.volume / np.pi, 12)
    4.0
    """

    directional = True

    def __init__(self, dim: int) -> None:
        self._dim = check_dimension(dim, "Sphere", "S^2 in R^3 is Sphere(2)")

    @property
    def scalar_curvature(self) -> float:
        """m (m - 1)."""
        return float(self._dim * (self._dim - 1))

    def check(self, points: Any) -> NDArray[Any]:
        """Unit vectors, shape (n, dim + 1); norms within 1e-6 of one are corrected, others refused."""
        return check_unit_vectors(points, self._dim + 1, repr(self))

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Geodesic distance in radians, accurate for the closest of pairs and for the most distant.

        >>> float(Sphere(1).distance([1.0, 0.0], [1.0, 1e-12]))
        1e-12
        """
        return vector_distance(x, y)

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform points, shape (n, dim + 1)."""
        return uniform_vectors(n, self._dim + 1, rng)

    # Capabilities.

    @cached_property
    def series(self) -> SphereSeries:
        """Gegenbauer polynomials."""
        return SphereSeries(self._dim)

    @cached_property
    def low_moments(self) -> VectorMoments:
        """First and second moments of the vectors."""
        return VectorMoments(self._dim + 1, unit_rows)

    @cached_property
    def transform(self) -> LevelTransform | None:
        """Fourier coefficients on the circle, spherical harmonics on S^2."""
        if self._dim == 1:
            return CircleTransform(self.series, self.low_moments, planar_angle, "sum of w exp(i l angle), l >= 0")
        return HarmonicTransform(self.series, self.low_moments, unit_rows, 1) if self._dim == 2 else None

    @cached_property
    def pair_kernel(self) -> ZonalPairs:
        """From inner products."""
        return ZonalPairs(self.series, self._dim + 1, rows=unit_rows, cosines=vector_cosines, distance=vector_distance)

    @cached_property
    def embedding(self) -> VectorEmbedding:
        """The unit vectors themselves."""
        return VectorEmbedding(self.series, self._dim + 1, unit_rows)

    @property
    def harmonics(self) -> tuple[Harmonics, ...]:
        """The sphere itself."""
        return (Harmonics(self._dim, 1, 1.0, slice(0, self._dim + 1)),)
