"""What is known of GeometricKernels' spaces beyond their spectrum: points, distances, volume, curvature.

All of it in the metric that their eigenvalues mean, which is stated once for each kind of space.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray, numeric_array
from ...errors import InputError, InputTypeError, missing_extra
from ..base import Space
from ..coordinates import coordinate_rows
from ..sphere import Sphere
from ..torus import Circle

MATRIX_TOLERANCE = 1e-6


class Geometry(ABC):
    """One kind of space: its points, which the engines hold as float64 columns, and its metric."""

    #: Whether distances are angles.
    angular: bool = True

    #: The space of heatess that is the same and goes finer, if there is one.
    native: str = ""

    dim: int
    width: int
    diameter: float = math.nan
    log_volume: float = math.nan
    scalar_curvature: float = math.nan

    @abstractmethod
    def check(self, points: Any, name: str) -> FloatArray:
        """Points as columns, shape (n, width)."""

    @abstractmethod
    def elements(self, columns: FloatArray) -> NDArray[Any]:
        """Columns in the form that GeometricKernels takes."""

    @abstractmethod
    def distance(self, x: Any, y: Any) -> FloatArray:
        """Distance between points as they are given or as columns, broadcasting."""


class Native(Geometry):
    """Spheres and the circle, which are spaces of heatess as well, with the same metric."""

    def __init__(self, space: Space, width: int) -> None:
        self._space = space
        self.native = f"heatess.{space!r}" if isinstance(space, Sphere) else "heatess.Circle()"
        self.dim, self.width = space.dim, width
        self.diameter, self.log_volume = space.diameter, space.log_volume
        self.scalar_curvature = space.scalar_curvature

    def check(self, points: Any, name: str) -> FloatArray:
        """As the space of heatess does."""
        try:
            return np.asarray(self._space.check(points), dtype=np.float64)
        except InputError as error:
            raise type(error)(str(error).replace(repr(self._space), name)) from None

    def elements(self, columns: FloatArray) -> NDArray[Any]:
        """The same."""
        return columns

    def distance(self, x: Any, y: Any) -> FloatArray:
        """As the space of heatess does."""
        return self._space.distance(x, y)


class Group(Geometry):
    """SO(n) and SU(n), as matrices.

    SO(n): the distance is sqrt(sum theta_j^2) over the angles theta_j of its planes, which is |log|_F / sqrt(2); the
    matrices themselves have the eigenvalue n - 1. SU(n): sqrt(sum theta_j^2) over the phases, |log|_F; the matrices
    have the eigenvalue n - 1/n.
    """

    def __init__(self, order: int, unitary: bool) -> None:
        self._order, self._unitary = order, unitary
        n = order
        self.width = n * n * (2 if unitary else 1)
        if unitary:
            self.dim = n * n - 1
            self.diameter = 2 * math.pi * math.sqrt((n // 2) * (n - n // 2) / n)
            factorials = sum(math.lgamma(k + 1) for k in range(1, n))
            self.log_volume = 0.5 * math.log(n) + (n * n + n - 2) / 2 * math.log(2 * math.pi) - factorials
            self.scalar_curvature = n / 2 * self.dim
        else:
            self.dim = n * (n - 1) // 2
            self.diameter = math.pi * math.sqrt(n // 2)
            self.log_volume = sum(Sphere(k).log_volume for k in range(1, n))
            self.scalar_curvature = (n - 2) / 2 * self.dim
            self.native = "heatess.Rotations()" if n == 3 else ""

    def check(self, points: Any, name: str) -> FloatArray:
        """Matrices (n, order, order); those within 1e-6 of the group are put on it, others are refused."""
        matrices = self._matrices(points, name)
        word, symbol = ("unitary", "U U^*") if self._unitary else ("orthogonal", "R R^T")
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(matrices @ _adjoint(matrices) - np.eye(self._order)).max(axis=(1, 2))
        fault = f"{symbol} is off the unit matrix by {{:.3g}}"
        _refuse(off, MATRIX_TOLERANCE, f"points of {name} must be {word} within {MATRIX_TOLERANCE:g}", fault)
        left, _, right = np.linalg.svd(matrices)
        matrices = left @ right
        determinant = np.linalg.det(matrices)
        fault = "the determinant is off it by {:.3g}"
        _refuse(np.abs(determinant - 1), MATRIX_TOLERANCE, f"points of {name} must have determinant 1", fault)
        if self._unitary:
            matrices = matrices * np.exp(-1j * np.angle(determinant) / self._order)[:, None, None]
        return self._columns(matrices)

    def _matrices(self, points: Any, name: str) -> NDArray[Any]:
        shape = f"(n, {self._order}, {self._order})"
        array = np.asarray(points) if self._unitary else numeric_array(points, "points")
        if array.dtype.kind not in "fiubc":
            raise InputTypeError(f"points of {name} must be complex or real numbers, but have dtype {array.dtype}")
        if array.ndim == 2 and array.shape[1] == self.width and array.dtype.kind != "c":
            array = self.elements(array.astype(np.float64))
        if array.shape[1:] != (self._order, self._order):
            hint = "; for one matrix use points[None]" if array.shape == (self._order, self._order) else ""
            raise InputError(f"points of {name} must be matrices of shape {shape}, but have shape {array.shape}{hint}")
        if not len(array):
            raise InputError("points are empty; at least one atom is needed")
        finite = np.isfinite(array).all(axis=(1, 2))
        if not finite.all():
            raise InputError(f"points must be finite, but row {int(np.argmin(finite))} is not; drop or fix that row")
        return array.astype(np.complex128 if self._unitary else np.float64)

    def _columns(self, matrices: NDArray[Any]) -> FloatArray:
        return np.ascontiguousarray(matrices.reshape(len(matrices), -1)).view(np.float64)

    def elements(self, columns: FloatArray) -> NDArray[Any]:
        """Matrices, complex for SU(n)."""
        if self._unitary:
            columns = np.ascontiguousarray(columns).view(np.complex128)
        return columns.reshape(*columns.shape[:-1], self._order, self._order)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """From the eigenvalues of x y^-1."""
        left, right = (self._element_of(value) for value in (x, y))
        phases = np.angle(np.linalg.eigvals(left @ _adjoint(right)))
        if not self._unitary:
            return np.asarray(np.sqrt(np.sum(phases**2, axis=-1) / 2))
        # A logarithm of trace zero: phases add up to 2 pi times a whole number, taken off the largest of them.
        phases = np.sort(phases, axis=-1)
        turns = np.rint(phases.sum(axis=-1) / (2 * math.pi))[..., None]
        place = np.arange(self._order)
        phases = phases - 2 * math.pi * (place >= self._order - turns) + 2 * math.pi * (place < -turns)
        return np.asarray(np.sqrt(np.sum(phases**2, axis=-1)))

    def _element_of(self, point: Any) -> NDArray[Any]:
        array = np.asarray(point)
        return array if array.shape[-2:] == (self._order, self._order) else self.elements(array)


class Hamming(Geometry):
    """Words of `length` letters from an alphabet of `letters`, joined when they differ in one place.

    Their Laplacian is the normalised one: heat leaves a word at rate one, spread over its length (letters - 1)
    neighbours, so that, as on `heatess.Graph`, a step is sqrt(length (letters - 1)) long.
    """

    angular = False

    def __init__(self, length: int, letters: int) -> None:
        if letters < 2:
            raise InputError(f"a HammingGraph needs two or more letters, but has {letters}")
        self.length, self.letters = length, letters
        self.dim, self.width = 0, length
        self.step = math.sqrt(length * (letters - 1))
        self.diameter = length * self.step
        self.log_volume = length * math.log(letters)

    def check(self, points: Any, name: str) -> FloatArray:
        """Whole numbers from 0 to letters - 1, shape (n, length)."""
        array = coordinate_rows(points, self.length, name)
        good = ((array >= 0) & (array < self.letters) & (array == np.rint(array))).all(axis=1)
        if not good.all():
            row = int(np.argmin(good))
            expected = "0 or 1" if self.letters == 2 else f"whole numbers from 0 to {self.letters - 1}"
            raise InputError(
                f"points of {name} must be {expected}, but row {row} begins {array[row][:6].tolist()} "
                f"({int((~good).sum())} of {len(array)} rows); drop or fix those rows"
            )
        return array.astype(np.float64)

    def elements(self, columns: FloatArray) -> NDArray[Any]:
        """Boolean or whole numbers."""
        return columns.astype(bool if self.letters == 2 else int)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """The number of places in which they differ, times the length of a step."""
        return np.asarray(self.step * (np.asarray(x) != np.asarray(y)).sum(axis=-1))


class Unknown(Geometry):
    """Some other space: points of the shape it says, and no distance."""

    angular = False

    def __init__(self, dim: int, shape: tuple[int, ...]) -> None:
        self.dim, self.width = dim, math.prod(shape)
        self._shape = shape

    def check(self, points: Any, name: str) -> FloatArray:
        """Finite numbers of the right shape; whether they are on the space only the space can tell."""
        array = numeric_array(points, "points")
        if array.shape[1:] == self._shape:
            array = array.reshape(len(array), -1)
        note = f" or (n, {', '.join(map(str, self._shape))})" if len(self._shape) != 1 else ""
        return coordinate_rows(array, self.width, name, note).astype(np.float64)

    def elements(self, columns: FloatArray) -> NDArray[Any]:
        """In the shape of an element."""
        return columns.reshape(len(columns), *self._shape)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Not known."""
        raise InputError("the distance on this space is not known to heatess, which has only its spectrum")


def geometry_of(space: Any) -> Geometry:
    """What is known of one of GeometricKernels' spaces; those that heatess does better itself are refused by name."""
    try:
        from geometric_kernels import spaces as theirs
    except ImportError:
        raise missing_extra("GeometricKernels", "geometric-kernels") from None

    def is_a(*names: str) -> bool:
        return isinstance(space, tuple(getattr(theirs, name) for name in names if hasattr(theirs, name)))

    if is_a("Mesh"):
        raise InputError(
            "the eigenvectors of a GeometricKernels Mesh are not orthonormal for its area, so their sums are not the "
            "heat kernel; use heatess.Mesh(space.vertices, space.faces)"
        )
    if is_a("Graph", "GraphEdges"):
        raise InputError("a GeometricKernels Graph is not homogeneous; use heatess.Graph(adjacency)")
    if is_a("ProductDiscreteSpectrumSpace"):
        raise InputError(
            "a GeometricKernels product has only the levels it was made with; use "
            "heatess.Product(*map(heatess.GeometricKernelsSpace, space.factor_spaces)), which takes the same points"
        )
    if not is_a("DiscreteSpectrumSpace"):
        raise InputError(
            "space must be a discrete-spectrum space of GeometricKernels such as SpecialOrthogonal(4), but is "
            f"{space!r}"
        )
    if is_a("Hypersphere"):
        return Native(Sphere(space.dimension), space.dimension + 1)
    if is_a("Circle"):
        return Native(Circle(), 1)
    if is_a("SpecialOrthogonal", "SpecialUnitary"):
        return Group(space.n, is_a("SpecialUnitary"))
    if is_a("HypercubeGraph", "HammingGraph"):
        return Hamming(space.dimension, getattr(space, "n_cat", 2))
    if not space.dimension:
        raise InputError(f"{space} is a graph, of dimension 0; use heatess.Graph(adjacency)")
    return Unknown(space.dimension, tuple(space.element_shape))


def _adjoint(matrices: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.conjugate(np.swapaxes(matrices, -1, -2)))


def _refuse(off: FloatArray, tolerance: float, expected: str, fault: str) -> None:
    bad = ~(off <= tolerance)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{expected}, but in row {row} {fault.format(off[row])} ({int(bad.sum())} of {len(off)} rows); drop or "
            "fix those rows"
        )
