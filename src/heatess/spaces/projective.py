"""The real projective space RP^m: lines through the origin, or unit vectors without their sign (axial data).

It is the sphere S^m with x and -x made one, so its functions are the even functions of the sphere: the levels
are the sphere's even ones, and the heat kernel is the sum of the sphere's at x and at -x.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..heat.lookup import AXES
from ..heat.spherical import SphereSeries
from ..transforms.harmonics import Harmonics
from ..transforms.levels import CircleTransform, HarmonicTransform
from ..transforms.low_moments import AxisMoments
from ..transforms.wigner import WignerTransform
from .base import Space
from .capabilities import AxisEmbedding, LoopKind, ZonalPairs
from .drawing import HALF_CIRCLE, HEMISPHERE, LINES, Drawing
from .heat_draws import on_sphere
from .vectors import (
    axis_cosines,
    axis_distance,
    canonical,
    check_dimension,
    check_unit_vectors,
    doubled_angle,
    halfway_axes,
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

    form = "vectors"

    def __init__(self, dim: int) -> None:
        m = self._dim = check_dimension(dim, "Projective", "axes in R^3 are Projective(2)")
        self._curvature = float(m * (m - 1))
        series, low = SphereSeries(m, step=2), AxisMoments(m + 1, unit_rows)
        self.series, self.low_moments = series, low
        self.pair_kernel = ZonalPairs(
            series, m + 1, rows=unit_rows, cosines=axis_cosines, distance=axis_distance, loop=LoopKind(AXES)
        )
        self.embedding = AxisEmbedding(series, m + 1, unit_rows)
        self.harmonics = (Harmonics(m, 2, 1.0, slice(0, m + 1)),)
        if m == 1:
            self.transform = CircleTransform(series, low, doubled_angle, "sum of w exp(2 i l angle), l >= 0")
        elif m == 2:
            self.transform = HarmonicTransform(series, low, unit_rows, 2)
        elif m == 3:  # unit quaternions, so that lines in R^4 are rotations
            self.transform = WignerTransform(series, low)

    @property
    def drawing(self) -> Drawing | None:
        """One end of each axis: on a circle, on half a globe, in a ball."""
        return {1: HALF_CIRCLE, 2: HEMISPHERE, 3: LINES}.get(self._dim)

    def check(self, points: Any) -> NDArray[Any]:
        """Unit vectors, shape (n, dim + 1), as `Sphere.check` has them, their first nonzero coordinate positive."""
        return canonical(check_unit_vectors(points, self._dim + 1, repr(self)))

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Angle between two lines in radians, accurate for the closest of pairs.

        >>> float(Projective(1).distance([1.0, 0.0], [-1.0, 1e-12]))
        1e-12
        """
        return axis_distance(x, y)

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> NDArray[Any]:
        """Heat on the sphere, without the sign."""
        return canonical(on_sphere(unit_rows(points, slice(None)), time, rng))

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """The direction of their sum, with the signs that make it longer."""
        return halfway_axes(x, y)

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform lines, shape (n, dim + 1)."""
        return np.asarray(canonical(uniform_vectors(n, self._dim + 1, rng)))
