"""The unit sphere S^m of every dimension m >= 1, with its round metric.

Levels are lambda_l = l (l + m - 1); the zonal functions are Gegenbauer polynomials of cos(distance)
with index (m - 1)/2, normalised to 1 at distance zero.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import ducc0
import numpy as np
from numpy.typing import NDArray

from ..arrays import numeric_array
from ..blocks import ROWS, map_rows, slices
from ..errors import InputError
from .base import FloatArray, Levels, SmallTime, ZonalSpace
from .expansion import phase, wrap_error

NORM_TOLERANCE = 1e-6

_BASES = {
    1: "sum of w exp(i l angle), l >= 0",
    2: "sum of w conj(Y_lm), orthonormal on 4 pi, longitude from the -x axis, [l, m] with m >= 0",
}

#: Points transformed at once, at least and at most: few enough to stay in the cache and to bound the memory.
TRANSFORM_BLOCK = (2**19, 2**22)


class Sphere(ZonalSpace):
    """The unit sphere S^dim in R^(dim + 1): unit vectors, geodesic distance in radians.

    Parameters
    ----------
    dim : int
        Dimension of the sphere: 1 for the circle, 2 for the ordinary sphere, d - 1 for unit
        vectors with d coordinates.

    Examples
    --------
    >>> import heatess as he
    >>> sphere = he.Sphere(2)
    >>> sphere.levels(4).eigenvalues
    array([ 0.,  2.,  6., 12.])
    >>> round(float(np.degrees(sphere.distance([1, 0, 0], [0, 1, 0]))), 6)
    90.0
    """

    def __init__(self, dim: int) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or dim < 1:
            raise InputError(f"Sphere(dim) needs a whole number dim >= 1, but found {dim!r}; S^2 in R^3 is Sphere(2)")
        self._dim = int(dim)
        self.transform_limit = {1: 2**18, 2: 2**12}.get(self._dim, 0)
        self.basis = _BASES.get(self._dim, "")

    def __repr__(self) -> str:
        return f"Sphere({self._dim})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sphere) and other._dim == self._dim

    def __hash__(self) -> int:
        return hash((Sphere, self._dim))

    @property
    def dim(self) -> int:
        """Dimension m of the sphere, one less than the number of coordinates."""
        return self._dim

    @property
    def diameter(self) -> float:
        """pi, the distance of antipodes."""
        return math.pi

    @property
    def log_volume(self) -> float:
        """log of 2 pi^((m+1)/2) / Gamma((m+1)/2)."""
        half = (self._dim + 1) / 2
        return math.log(2) + half * math.log(math.pi) - math.lgamma(half)

    @property
    def volume(self) -> float:
        """Surface area: 2 pi, 4 pi, 2 pi^2, ... (underflows to zero above dimension 440 or so).

        >>> round(Sphere(2).volume / math.pi, 12)
        4.0
        """
        return math.exp(self.log_volume)

    @property
    def scalar_curvature(self) -> float:
        """m (m - 1)."""
        return float(self._dim * (self._dim - 1))

    # Points.

    def check(self, points: Any) -> NDArray[Any]:
        """Unit vectors, shape (n, dim + 1); norms within 1e-6 of one are corrected, others refused.

        float32 rows are kept as they are and corrected as they are read, so that a large array is
        not copied.
        """
        array = numeric_array(points, "points")
        if array.ndim != 2 or array.shape[1] != self._dim + 1:
            hint = "; for one atom use points[None, :]" if array.ndim == 1 else ""
            raise InputError(
                f"points on {self!r} must have shape (n, {self._dim + 1}), but have shape {array.shape}{hint}"
            )
        if not len(array):
            raise InputError("points are empty; at least one atom is needed")
        if array.dtype == np.float16:
            array = array.astype(np.float32)
        off = max(map_rows(lambda rows: _norm_excess(array[rows]), len(array)))
        if not off <= NORM_TOLERANCE:
            _refuse_points(array, self)
        if array.dtype == np.float32 or off <= 8 * np.finfo(np.float64).eps:
            return array
        return np.asarray(array / np.sqrt(_squares(array))[:, None])

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Geodesic distance in radians, accurate for the closest of pairs and for the most distant.

        >>> float(Sphere(1).distance([1.0, 0.0], [1.0, 1e-12]))
        1e-12
        """
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        minus, plus = x - y, x + y
        return np.asarray(
            2
            * np.arctan2(
                np.sqrt(np.einsum("...j,...j->...", minus, minus)), np.sqrt(np.einsum("...j,...j->...", plus, plus))
            )
        )

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent uniform points, shape (n, dim + 1)."""
        x = rng.standard_normal((n, self._dim + 1))
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    def tile(self, points: NDArray[Any], rows: slice) -> FloatArray:
        """Some rows in float64, unit length to rounding."""
        part = points[rows]
        if part.dtype == np.float64:
            return part
        part = part.astype(np.float64)
        part /= np.sqrt(_squares(part))[:, None]
        return part

    def tile_cosines(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Inner products, clipped to [-1, 1]."""
        product = left @ right.T
        return np.clip(product, -1.0, 1.0, out=product)

    def embed(self, points: NDArray[Any]) -> FloatArray:
        """The unit vectors themselves."""
        return self.tile(points, slice(None))

    def chord(self, distance: Any) -> FloatArray:
        """2 sin(distance / 2)."""
        return np.asarray(2 * np.sin(np.asarray(distance) / 2))

    def from_chord(self, chord: Any) -> FloatArray:
        """2 arcsin(chord / 2): unlike an arc cosine, accurate for close pairs."""
        return np.asarray(2 * np.arcsin(np.minimum(np.asarray(chord) / 2, 1.0)))

    # The Laplacian.

    def levels(self, count: int) -> Levels:
        """lambda_l = l (l + m - 1) and log N_l for l = 0, ..., count - 1."""
        table = _levels(self._dim, 1 << max(6, (count - 1).bit_length()))
        return Levels(table.eigenvalues[:count], table.log_multiplicities[:count])

    def zonal(self, count: int, distance: Any) -> FloatArray:
        """P_0 = 1, P_1 = u, (l + m - 1) P_{l+1} = (2l + m - 1) u P_l - l P_{l-1}, with u = cos(distance)."""
        u = np.cos(np.asarray(distance, dtype=np.float64))
        values = np.empty((count, *u.shape))
        values[0] = 1.0
        if count > 1:
            values[1] = u
        m = self._dim
        for l in range(1, count - 1):  # noqa: E741
            values[l + 1] = ((2 * l + m - 1) * u * values[l] - l * values[l - 1]) / (l + m - 1)
        return values

    def from_cosines(self, cosines: FloatArray) -> FloatArray:
        """b_l = sum_k g_k g_{l-k} c_{|l-2k|} / sum_k g_k g_{l-k}, with g_k = (a)_k / k! and a = (m - 1)/2."""
        count = len(cosines)
        if self._dim == 1:
            return cosines.copy()
        index = (self._dim - 1) / 2
        steps = np.arange(1, count)
        log_g = np.concatenate([[0.0], np.cumsum(np.log((index + steps - 1) / steps))])
        moments = np.empty(count)
        for level in range(count):
            mixture = np.exp(log_g[: level + 1] + log_g[level::-1] - 2 * log_g[level // 2])
            moments[level] = mixture @ cosines[np.abs(np.arange(-level, level + 1, 2))] / mixture.sum()
        return moments

    def small_time(self, time: float) -> SmallTime:
        """The expansion of log k_2t in powers of t and of the squared distance; see `expansion.phase`."""
        m, s = self._dim, 2 * time
        exponent, curvature = phase(m)
        terms = s ** np.arange(len(exponent))[:, None] * exponent  # (order in s, order in distance^2)
        orders = np.arange(len(exponent))[:, None]
        polynomial = terms.sum(axis=0) + curvature
        slope = (orders * terms).sum(axis=0)
        log_diagonal = self.log_volume - m / 2 * math.log(4 * math.pi * s) + polynomial[0]
        polynomial[0] = slope[0] = 0.0
        polynomial[1] -= 1 / (4 * s)
        slope[1] += 1 / (4 * s)
        reach = min(math.sqrt(4 * s * 60), math.pi / 2)
        powers = reach ** (2 * np.arange(exponent.shape[1]))
        truncated = np.abs(terms[-2:]) @ powers
        error = float(truncated.sum() + np.abs(terms[:, -1] + curvature[-1]).sum() * powers[-1])
        error += wrap_error(2 * math.pi, s, m)
        return SmallTime(polynomial, slope, float(log_diagonal), error, reach)

    # Fast transforms.

    def transform_cost(self, n: int, count: int) -> float:
        """Linear in the points, and L log L (circle) or L^3 (S^2) in the levels."""
        return 5e-8 * n + (2e-8 * count * math.log2(count + 1) if self._dim == 1 else 3e-11 * count**3)

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, count: int, epsilon: float, threads: int
    ) -> NDArray[np.complex128]:
        """Fourier coefficients on the circle, shape (count,); spherical harmonics on S^2, shape (count, count).

        Row l and column m of the latter hold degree l and order m >= 0. Points are taken in blocks, so
        that the memory needed does not grow with their number.
        """
        if self._dim > 2:
            return super().coefficients(points, weights, count, epsilon, threads)
        transform = _fourier if self._dim == 1 else _harmonic
        least, most = TRANSFORM_BLOCK
        block = int(np.clip(0.006 * float(count) ** 3, least, most))  # so that the levels cost less than the points
        room = np.empty((min(len(points), block), self._dim))  # angles of one block after another
        first, *others = slices(len(points), block)
        total = transform(self, points[first], weights[first], room, count, epsilon, threads)
        for rows in others:
            total += transform(self, points[rows], weights[rows], room, count, epsilon, threads)
        return total

    def no_coefficients(self, count: int) -> NDArray[np.complex128]:
        """Zeros of shape (count,) on the circle and (count, count) on S^2."""
        if self._dim > 2:
            return super().no_coefficients(count)
        return np.zeros((count,) * self._dim, dtype=np.complex128)

    def moments_of_coefficients(self, coefficients: NDArray[np.complex128]) -> FloatArray:
        """b_l = |c_l|^2 on the circle; b_l = 4 pi / (2l + 1) sum_m |a_lm|^2 on S^2."""
        if self._dim == 1:
            moments = np.asarray(coefficients.real**2 + coefficients.imag**2)
        else:
            count = len(coefficients)
            real = coefficients.view(np.float64)  # (count, 2 count)
            power = 2 * np.einsum("ij,ij->i", real, real) - real[:, 0] ** 2  # orders m and -m
            moments = power * (4 * math.pi / (2 * np.arange(count) + 1))
        moments[0] = 1.0
        return np.minimum(moments, 1.0)

    def low_moments(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """b_1 and b_2 from the first and second moments."""
        return self.low_moments_of(*self.moment_sums(points, weights))

    def moment_sums(self, points: NDArray[Any], weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """sum w x and sum w x x^T, shapes (dim + 1,) and (dim + 1, dim + 1); like coefficients they add up."""
        p = self._dim + 1

        def partial(rows: slice) -> tuple[FloatArray, FloatArray]:
            x = np.ascontiguousarray(self.tile(points, rows).T)
            weighted = x * weights[rows]
            # For few columns not through BLAS: its idle threads would keep a core from the next transform.
            return weighted.sum(axis=1), weighted @ x.T if p > 8 else np.einsum("ib,jb->ij", weighted, x)

        # In many columns one block after another, to hold one matrix at a time; the product has threads of its own.
        size = max(1024, ROWS * 4 // p)
        parts = map_rows(partial, len(points), size) if p <= 8 else map(partial, slices(len(points), size))
        first, second = np.zeros(p), np.zeros((p, p))
        for one, two in parts:
            first += one
            second += two
        return first, second

    def low_moments_of(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """b_1 = |sum w x|^2, and b_2 = (m + 1) / m |sum w x x^T - I / (m + 1)|_F^2, for weights that sum to one."""
        p = self._dim + 1
        excess = second - np.eye(p) / p
        return np.minimum([np.dot(first, first), np.sum(excess * excess) * p / (p - 1)], 1.0)


def _squares(rows: NDArray[Any]) -> FloatArray:
    if rows.shape[1] <= 8 and len(rows) > 4096:  # column by column is faster then
        squared = np.square(rows, dtype=np.float64)
        total = squared[:, 0] + squared[:, 1]
        for column in range(2, rows.shape[1]):
            total += squared[:, column]
        return np.asarray(total)
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def _norm_excess(rows: NDArray[Any]) -> float:
    """Largest deviation of a row's norm from one; nan if any coordinate is."""
    with np.errstate(over="ignore"):
        squares = _squares(rows)
    low, high = float(squares.min()), float(squares.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        return math.inf
    return max(abs(math.sqrt(low) - 1), abs(math.sqrt(high) - 1))


def _refuse_points(array: NDArray[Any], sphere: Sphere) -> None:
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"points must be finite, but row {row} is {array[row][:4].tolist()} "
            f"({int((~finite).sum())} of {len(array)} rows); drop or mend those rows"
        )
    with np.errstate(over="ignore"):
        norms = np.sqrt(_squares(array))
    off = np.abs(norms - 1) > NORM_TOLERANCE
    if not norms.all():
        row = int(np.argmin(norms))
        raise InputError(
            f"points on {sphere!r} must be unit vectors, but row {row} is zero and has no direction; drop it"
        )
    row, worst = int(np.argmax(off)), int(np.argmax(np.abs(norms - 1)))
    raise InputError(
        f"points on {sphere!r} must be unit vectors (norm within {NORM_TOLERANCE:g} of 1), but row {row} has norm "
        f"{norms[row]:.8g} ({int(off.sum())} of {len(array)} rows, worst row {worst} with {norms[worst]:.8g}); "
        "if only the directions matter, divide first: x / numpy.linalg.norm(x, axis=1, keepdims=True)"
    )


@lru_cache(maxsize=64)
def _levels(m: int, count: int) -> Levels:
    l = np.arange(count, dtype=np.float64)  # noqa: E741
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (2 * l + m + 1) * (l + m - 1) / ((2 * l + m - 1) * (l + 1))  # N_{l+1} / N_l
    ratio[0] = m + 1
    if m == 1:
        ratio[0] = 2
    table = Levels(l * (l + m - 1), np.concatenate([[0.0], np.cumsum(np.log(ratio[:-1]))]))
    for column in table:
        column.flags.writeable = False
    return table


def _fourier(
    sphere: Sphere,
    points: NDArray[Any],
    weights: FloatArray,
    room: FloatArray,
    count: int,
    epsilon: float,
    threads: int,
) -> NDArray[np.complex128]:
    angle = room[: len(points)]

    def fill(rows: slice) -> None:
        x = sphere.tile(points, rows)
        angle[rows, 0] = np.arctan2(x[:, 1], x[:, 0])

    map_rows(fill, len(points))
    modes = np.empty(2 * count, dtype=np.complex128)  # frequencies -count, ..., count - 1
    ducc0.nufft.nu2u(
        points=weights.astype(np.complex128), coord=angle, forward=False, epsilon=epsilon, nthreads=threads, out=modes
    )
    return modes[count:]


def _harmonic(
    sphere: Sphere,
    points: NDArray[Any],
    weights: FloatArray,
    room: FloatArray,
    count: int,
    epsilon: float,
    threads: int,
) -> NDArray[np.complex128]:
    location = room[: len(points)]  # colatitude, longitude

    def fill(rows: slice) -> None:
        x, y, z = np.array(sphere.tile(points, rows).T, order="C")  # a copy, worked on in place
        # Longitude from the -x axis lies in [0, 2 pi], as the transform wants, and energies cannot tell.
        np.add(np.arctan2(y, x), math.pi, out=location[rows, 1])
        np.multiply(x, x, out=x)
        np.multiply(y, y, out=y)
        np.add(x, y, out=x)
        location[rows, 0] = np.arctan2(np.sqrt(x, out=x), z, out=x)

    map_rows(fill, len(points))
    degree = count - 1
    # Row l, column m, so that a level is a row; entries with m > l stay zero.
    coefficients = np.zeros((1, count * count), dtype=np.complex128)
    ducc0.sht.adjoint_synthesis_general(
        map=np.ascontiguousarray(weights)[None],
        spin=0,
        lmax=degree,
        mmax=degree,
        mstart=np.arange(count, dtype=np.uint64),
        lstride=count,
        loc=location,
        epsilon=epsilon,
        nthreads=threads,
        alm=coefficients,
    )
    return coefficients.reshape(count, count)
