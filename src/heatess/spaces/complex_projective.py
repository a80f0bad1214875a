"""The complex projective space CP^n with the metric of Fubini and Study: complex unit vectors without their phase."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, numeric_array
from ..base.errors import InputTypeError
from ..heat.expansion import small_time
from ..heat.series import Levels, Series, SmallTime
from ..heat.spherical import SphereSeries
from ..transforms.low_moments import VectorMoments
from .base import Space
from .capabilities import VectorEmbedding, ZonalPairs, plain_rows
from .drawing import Drawing, bloch
from .heat_draws import on_sphere
from .sphere import Sphere
from .vectors import check_dimension, check_unit_vectors, halfway, uniform_vectors, vector_distance


class ComplexProjective(Space):
    """The complex projective space CP^dim: complex unit vectors (n, dim + 1), one point whatever their phase.

    The distance is arccos |<x, y>|, at most 90 degrees. As a manifold it has 2 dim dimensions, `dim` of the object.
    Levels are lambda_k = 4 k (k + dim); the zonal functions are Jacobi polynomials P_k^(dim - 1, 0) of the cosine of
    twice the distance, normalised to 1 at distance zero. The volume is pi^dim / dim!.

    Parameters
    ----------
    dim : int
        Complex dimension: 1 for a qubit, whose states are a sphere of radius 1/2, d - 1 for d amplitudes.

    Examples
    --------
    Spins along x, y and z, of either sign, are an octahedron on that sphere, uniform as far as levels 1 to 3 can see:

    >>> import heatess as he
    >>> states = np.array([[1, 0], [0, 1], [1, 1], [1, -1], [1, 1j], [1, -1j]]) / np.sqrt([[1, 1, 2, 2, 2, 2]]).T
    >>> he.power_spectrum(states, space=he.ComplexProjective(1), max_degree=4).energies.round(6)
    array([1.  , 0.  , 0.  , 0.  , 5.25])
    >>> round(he.gess(states, space=he.ComplexProjective(1), angle=30), 2)  # neighbours are 45 degrees apart
    3.91
    """

    def __init__(self, dim: int) -> None:
        n = self._n = check_dimension(dim, "ComplexProjective", "the states of a qubit are ComplexProjective(1)")
        self._dim, self._curvature = 2 * n, 4.0 * n * (n + 1)
        series = JacobiSeries(2 * n) if n > 1 else SphereSeries(2, radius=0.5)
        self.series, self.low_moments = series, ProjectorMoments(2 * n + 2, plain_rows)
        self.pair_kernel = ZonalPairs(series, 2 * n + 2, rows=plain_rows, cosines=_cosines, distance=self.distance)
        self.embedding = VectorEmbedding(series, (n + 1) ** 2, _projectors, radius=0.5)
        self.embedding.size = 1.0  # the vectors, not the projectors, are rounded

    def _key(self) -> tuple[object, ...]:
        return (self._n,)

    @property
    def drawing(self) -> Drawing | None:
        """The Bloch sphere of a qubit."""
        return bloch(Sphere(2)) if self._n == 1 else None

    def check(self, points: Any) -> FloatArray:
        """Unit vectors as columns of real, then of imaginary parts, (n, 2 dim + 2); such columns are taken as well.

        Norms within 1e-6 of one are corrected, others refused. The first coordinate of at least half the largest
        modulus is made positive. Vectors that differ by their phase then agree to rounding, which may leave them about
        1e-16 apart: finer scales than that are not for float64.
        """
        try:
            array = numeric_array(points, "points")
        except InputTypeError as refused:
            try:
                array = np.asarray(points)
            except Exception:
                raise refused from None
            if not np.iscomplexobj(array):
                raise
        width, name = self._n + 1, repr(self)
        if array.shape[1:] not in ([(width,)] if np.iscomplexobj(array) else [(width,), (2 * width,)]):
            check_unit_vectors(array.real, width, name)  # which refuses the shape
        columns = array if array.shape[1] == 2 * width else np.hstack([array.real, array.imag])
        vectors = _complex(check_unit_vectors(columns.astype(np.float64), 2 * width, name, directions=False), width)
        moduli = np.hypot(vectors.real, vectors.imag)
        leading = np.arange(len(moduli)), np.argmax(moduli >= moduli.max(axis=1, keepdims=True) / 2, axis=1)
        lead, size = vectors[leading], moduli[leading]
        vectors *= (lead.real / size - 1j * (lead.imag / size))[:, None]  # exactly one for checked points
        vectors[leading] = size
        return np.hstack([vectors.real, vectors.imag])

    def distance(self, x: Any, y: Any) -> FloatArray:
        """arccos |<x, y>| in radians, of complex vectors or checked columns, accurate for the closest of pairs.

        >>> float(ComplexProjective(1).distance([1, 0], [1j, 1e-12]))
        1e-12
        """
        left, right = (_complex(np.asarray(points), self._n + 1) for points in (x, y))
        inner = np.einsum("...j,...j->...", left, right.conj())
        turn = np.where(inner == 0, 1.0, inner) / np.where(inner == 0, 1.0, np.abs(inner))
        return vector_distance(left.view(np.float64), (turn[..., None] * right).view(np.float64))

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> FloatArray:
        """Heat on the sphere of unit vectors, without the phase."""
        return self.check(on_sphere(points, time, rng))

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """The direction of their sum, with the phases that make it longest."""
        left, right = (_complex(points, self._n + 1) for points in (x, y))
        inner = np.einsum("ij,ij->i", left, right.conj())
        turned = np.where(inner == 0, 1.0, inner)[:, None] * right / np.where(inner == 0, 1.0, np.abs(inner))[:, None]
        return self.check(halfway(x, np.hstack([turned.real, turned.imag])))

    def uniform(self, n: int, rng: np.random.Generator) -> NDArray[np.complex128]:
        """*n* independent uniform points, complex, shape (n, dim + 1)."""
        return _complex(uniform_vectors(n, 2 * self._n + 2, rng), self._n + 1)


@dataclass(frozen=True)
class JacobiSeries(Series):
    """CP^n, where dim = 2n: level k has C(n + k - 1, k)^2 (2k + n) / n functions."""

    dim: int
    diameter = math.pi / 2
    winding = 2

    @property
    def log_volume(self) -> float:  # type: ignore[override]
        """log of pi^n / n!."""
        return self.dim // 2 * math.log(math.pi) - math.lgamma(self.dim // 2 + 1)

    def levels(self, count: int) -> Levels:
        """Eigenvalues and log N_k for k = 0, ..., count - 1."""
        table = _levels(self.dim // 2, 1 << max(6, (count - 1).bit_length()))
        return Levels(table.eigenvalues[:count], table.log_multiplicities[:count])

    def zonal(self, count: int, distance: Any) -> FloatArray:
        """With m = 2k + n, D_k = P_k - P_{k-1} and v = 1 - cos(2 distance),

        2 (k + n)^2 (m - 1) D_{k+1} = 2 k^2 (m + 1) D_k - m (m^2 - 1) v P_k.

        Differences keep the digits near distance zero.
        """
        n, v = self.dim // 2, 2 * np.square(np.sin(np.asarray(distance, dtype=np.float64)))
        values = np.ones((max(count, 2), *v.shape))
        change = -(n + 1) / (2 * n) * v
        values[1] += change
        for k, m in enumerate(range(n + 2, n + 2 * count - 2, 2), start=1):
            change = (2 * k**2 * (m + 1) * change - m * (m**2 - 1) * v * values[k]) / (2 * (k + n) ** 2 * (m - 1))
            values[k + 1] = values[k] + change
        return values[:count]

    def from_cosines(self, cosines: FloatArray) -> FloatArray:
        """By the mixtures of cos(2 k d) that the zonal functions are."""
        mixtures = _mixtures(self, 1 << max(5, (len(cosines) - 1).bit_length()))
        return np.asarray(mixtures[: len(cosines), : len(cosines)] @ cosines)

    def to_cosines(self, values: FloatArray) -> FloatArray:
        """By the same mixtures."""
        count = values.shape[-1]
        return np.asarray(values @ _mixtures(self, 1 << max(5, (count - 1).bit_length()))[:count, :count])

    def small_time(self, time: float) -> SmallTime:
        """See `expansion.phase`."""
        return small_time(self.dim, time, double=1)


class ProjectorMoments(VectorMoments):
    """The second moments of real and imaginary parts give b_1 = p / (p - 1) |sum w x x^* - I / p|_F^2, p = n + 1."""

    def moments(self, sums: FloatArray) -> FloatArray:
        """The first moments, which depend on the phases, are of no use."""
        p = self._p // 2
        (a, b), (c, d) = sums[2 * p :].reshape(2, p, 2, p).swapaxes(1, 2)
        return np.minimum([p / (p - 1) * float(np.sum((a + d - np.eye(p) / p) ** 2) + np.sum((b - c) ** 2))], 1.0)


def _complex(points: NDArray[Any], width: int) -> NDArray[np.complex128]:
    """Vectors of *width* coordinates as they are; columns of real and imaginary parts put together."""
    split = points.shape[-1] != width
    return np.array(points[..., :width] + 1j * points[..., width:] if split else points, np.complex128, order="C")


def _cosines(left: FloatArray, right: FloatArray) -> FloatArray:
    real, (c, d) = left @ right.T, np.split(right, 2, axis=1)
    return np.minimum(2 * (real**2 + (left @ np.hstack([-d, c]).T) ** 2) - 1, 1.0)


def _projectors(points: NDArray[Any], part: slice) -> FloatArray:
    """Entries of sqrt(2) x x^*; those above the diagonal, which stand for two, times sqrt(2)."""
    x = _complex(points[part], points.shape[1] // 2)
    i, j = np.triu_indices(x.shape[1], 1)
    above = 2 * x[:, i] * x[:, j].conj()
    return np.hstack([above.real, above.imag, math.sqrt(2) * np.abs(x) ** 2])


@lru_cache(maxsize=64)
def _levels(n: int, count: int) -> Levels:
    k = np.arange(count, dtype=np.float64)
    ratios = ((n + k) / (k + 1)) ** 2 * (2 * k + n + 2) / (2 * k + n)  # N_{k+1} / N_k
    table = Levels(4 * k * (k + n), np.concatenate([[0.0], np.cumsum(np.log(ratios[:-1]))]))
    for column in table:
        column.flags.writeable = False
    return table


@lru_cache(maxsize=16)
def _mixtures(series: JacobiSeries, count: int) -> FloatArray:
    """Level k as a mixture of cosines, which has no negative coefficient: rows that sum to one."""
    from scipy.fft import dct

    zonal = series.zonal(count, (np.arange(count) + 0.5) * (math.pi / (2 * count)))
    found = np.tril(np.maximum(dct(zonal, type=2, axis=1), 0.0))
    found[:, 0] /= 2
    return np.asarray(found / found.sum(axis=1, keepdims=True))
