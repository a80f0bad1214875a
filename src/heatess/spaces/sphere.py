"""The unit sphere S^m of every dimension m >= 1, with its round metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..heat.lookup import VECTORS
from ..heat.spherical import SphereSeries
from ..transforms.harmonics import Harmonics
from ..transforms.levels import CircleTransform, HarmonicTransform
from ..transforms.low_moments import VectorMoments
from ..transforms.spin import SpinTransform
from .base import Space
from .capabilities import LoopKind, VectorEmbedding, ZonalPairs
from .drawing import CIRCLE, GLOBE, Drawing
from .heat_draws import on_sphere
from .vectors import (
    check_dimension,
    check_unit_vectors,
    halfway,
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

    form = "vectors"

    def __init__(self, dim: int) -> None:
        m = self._dim = check_dimension(dim, "Sphere", "S^2 in R^3 is Sphere(2)")
        self._curvature = float(m * (m - 1))
        series, low = SphereSeries(m), VectorMoments(m + 1, unit_rows)
        self.series, self.low_moments = series, low
        self.pair_kernel = ZonalPairs(
            series, m + 1, rows=unit_rows, cosines=vector_cosines, distance=vector_distance, loop=LoopKind(VECTORS)
        )
        self.embedding = VectorEmbedding(series, m + 1, unit_rows)
        self.harmonics = (Harmonics(m, 1, 1.0, slice(0, m + 1)),)
        if m == 1:
            self.transform = CircleTransform(series, low, planar_angle, "sum of w exp(i l angle), l >= 0")
        elif m == 2:
            self.transform = HarmonicTransform(series, low, unit_rows, 1)
        elif m == 3:
            self.transform = SpinTransform(series, low)

    @property
    def drawing(self) -> Drawing | None:
        """A circle or a globe."""
        return {1: CIRCLE, 2: GLOBE}.get(self._dim)

    def check(self, points: Any) -> NDArray[Any]:
        """Unit vectors, shape (n, dim + 1); norms within 1e-6 of one are corrected, others refused."""
        return check_unit_vectors(points, self._dim + 1, repr(self))

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Geodesic distance in radians, accurate for the closest of pairs and for the most distant.

        >>> float(Sphere(1).distance([1.0, 0.0], [1.0, 1e-12]))
        1e-12
        """
        return vector_distance(x, y)

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> FloatArray:
        """One draw for each point, see `heated.on_sphere`."""
        return on_sphere(unit_rows(points, slice(None)), time, rng)

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """The direction of their sum."""
        return halfway(x, y)

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform points, shape (n, dim + 1)."""
        return uniform_vectors(n, self._dim + 1, rng)
