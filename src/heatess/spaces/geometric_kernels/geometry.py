"""What is known of GeometricKernels' spaces beyond their spectrum: points, distances, volume, curvature.

All of it in the metric that their eigenvalues mean, which is stated once for each kind of space.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray, numeric_array, refuse_rows
from ...base.errors import InputError, InputTypeError, importing
from ..base import Space
from ..coordinates import coordinate_rows
from ..discrete.nodes import not_indices
from ..sphere import Sphere
from ..torus import Circle
from ..vectors import refuse_not_finite
from .hamming_kernel import HammingKernel

_MATRIX_TOLERANCE = 1e-6


class Geometry(ABC):
    """One kind of space: its points, which the engines hold as float64 columns, and its metric; nan is not known."""

    angular: bool = True  # whether distances are angles
    native: str = ""  # the space of heatess that is the same and goes finer, if there is one
    dim: int
    width: int
    diameter: float = math.nan
    log_volume: float = math.nan
    scalar_curvature: float = math.nan

    @abstractmethod
    def check(self, points: Any, name: str) -> FloatArray:
        """Points as columns, shape (n, width)."""

    def elements(self, columns: FloatArray) -> NDArray[Any]:
        """Columns in the form that GeometricKernels takes."""
        return columns

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Distance between points as they are given or as columns, broadcasting."""
        raise InputError("the distance on this space is not known to heatess, which has only its spectrum")


class _Native(Geometry):
    """Spheres and the circle, which are spaces of heatess as well, with the same metric."""

    def __init__(self, space: Space, width: int) -> None:
        self._space, self.dim, self.width = space, space.dim, width
        self.native = f"heatess.{space!r}" if isinstance(space, Sphere) else "heatess.Circle()"
        self.diameter, self.log_volume = space.diameter, space.log_volume
        self.scalar_curvature = space.scalar_curvature

    def check(self, points: Any, name: str) -> FloatArray:
        try:
            return np.asarray(self._space.check(points), dtype=np.float64)
        except InputError as error:
            raise error.about(repr(self._space), name) from None

    def distance(self, x: Any, y: Any) -> FloatArray:
        return self._space.distance(x, y)


class _Group(Geometry):
    """SO(n) and SU(n), as matrices.

    SO(n): the distance is sqrt(sum theta_j^2) over the angles theta_j of its planes, which is |log|_F / sqrt(2); the
    matrices themselves have the eigenvalue n - 1. SU(n): sqrt(sum theta_j^2) over the phases, |log|_F; the matrices
    have the eigenvalue n - 1/n.
    """

    def __init__(self, n: int, unitary: bool) -> None:
        self._square, self._unitary = (n, n), unitary
        if unitary:
            self.dim, self.width = n * n - 1, 2 * n * n
            self.diameter = 2 * math.pi * math.sqrt((n // 2) * (n - n // 2) / n)
            factorials = sum(math.lgamma(k + 1) for k in range(1, n))
            self.log_volume = 0.5 * math.log(n) + (n * n + n - 2) / 2 * math.log(2 * math.pi) - factorials
            self.scalar_curvature = n / 2 * self.dim
        else:
            self.dim, self.width = n * (n - 1) // 2, n * n
            self.diameter = math.pi * math.sqrt(n // 2)
            self.log_volume = sum(Sphere(k).log_volume for k in range(1, n))
            self.scalar_curvature = (n - 2) / 2 * self.dim
            self.native = "heatess.Rotations()" if n == 3 else ""

    def check(self, points: Any, name: str) -> FloatArray:
        """Matrices (k, n, n); those within 1e-6 of the group are put on it, others are refused."""
        matrices, n = self._matrices(points, name), self._square[0]
        word, symbol = ("unitary", "U U^*") if self._unitary else ("orthogonal", "R R^T")
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(matrices @ _adjoint(matrices) - np.eye(n)).max(axis=(1, 2))
        expected = f"points of {name} must be <+{word} within {_MATRIX_TOLERANCE:g}+>"
        _refuse(off, expected, f"{symbol} is off the unit matrix by {{:.3g}}")
        left, _, right = np.linalg.svd(matrices)
        matrices = left @ right
        determinant = np.linalg.det(matrices)
        expected = f"points of {name} must have <+determinant 1+>"
        _refuse(np.abs(determinant - 1), expected, "the determinant is off it by {:.3g}")
        if self._unitary:
            matrices = matrices * np.exp(-1j * np.angle(determinant) / n)[:, None, None]
        return np.ascontiguousarray(matrices.reshape(len(matrices), -1)).view(np.float64)

    def _matrices(self, points: Any, name: str) -> NDArray[Any]:
        array = np.asarray(points) if self._unitary else numeric_array(points, "points")
        if array.dtype.kind not in "fiubc":
            raise InputTypeError(f"points of {name} must be <+complex or real+>, but have <!dtype {array.dtype}!>")
        if array.ndim == 2 and array.shape[1] == self.width and array.dtype.kind != "c":
            array = self.elements(array.astype(np.float64))
        if array.shape[1:] != self._square:
            shape = "(n, {}, {})".format(*self._square)
            hint = "; for one matrix use `points[None]`" if array.shape == self._square else ""
            raise InputError(
                f"points of {name} must be <+matrices of shape {shape}+>, but have <!shape {array.shape}!>{hint}"
            )
        if not len(array):
            raise InputError.lacking("points are empty")
        refuse_not_finite(array)
        return array.astype(np.complex128 if self._unitary else np.float64)

    def elements(self, columns: FloatArray) -> NDArray[Any]:
        if self._unitary:
            columns = np.ascontiguousarray(columns).view(np.complex128)
        return columns.reshape(*columns.shape[:-1], *self._square)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """From the eigenvalues of x y^-1."""
        given = [np.asarray(value) for value in (x, y)]
        left, right = (value if value.shape[-2:] == self._square else self.elements(value) for value in given)
        phases = np.angle(np.linalg.eigvals(left @ _adjoint(right)))
        if not self._unitary:
            return np.asarray(np.sqrt(np.sum(phases**2, axis=-1) / 2))
        # A logarithm of trace zero: phases add up to 2 pi times a whole number, taken off the largest of them.
        phases = np.sort(phases, axis=-1)
        turns = np.rint(phases.sum(axis=-1) / (2 * math.pi))[..., None]
        place = np.arange(phases.shape[-1])
        phases = phases - 2 * math.pi * (place >= len(place) - turns) + 2 * math.pi * (place < -turns)
        return np.asarray(np.sqrt(np.sum(phases**2, axis=-1)))


class Hamming(Geometry):
    """Words of *length* letters from an alphabet of *letters*, joined when they differ in one place.

    Their Laplacian is the normalised one: heat leaves a word at rate one, spread over its length (letters - 1)
    neighbours, so that, as on `heatess.Graph`, a step is sqrt(length (letters - 1)) long.
    """

    angular = False

    def __init__(self, length: int, letters: int) -> None:
        if letters < 2:
            raise InputError(f"a HammingGraph needs <+two or more letters+>, but has <!{letters}!>")
        self._letters, self.dim, self.width = letters, 0, length
        self.kernel, self.step = HammingKernel(length, letters), math.sqrt(length * (letters - 1))
        self.diameter, self.log_volume = length * self.step, length * math.log(letters)

    def check(self, points: Any, name: str) -> FloatArray:
        """Whole numbers from 0 to letters - 1, shape (n, length)."""
        array = coordinate_rows(points, self.width, name)
        letters = "0 or 1" if self._letters == 2 else f"whole numbers from 0 to {self._letters - 1}"
        bad = not_indices(array, self._letters).any(axis=1)
        refuse_rows(bad, array, f"points of {name} must be <+{letters}+>")
        return array.astype(np.float64)

    def elements(self, columns: FloatArray) -> NDArray[Any]:
        """Boolean or whole numbers."""
        return columns.astype(bool if self._letters == 2 else int)

    def distance(self, x: Any, y: Any) -> FloatArray:
        """The number of places in which they differ, times the length of a step."""
        return np.asarray(self.step * (np.asarray(x) != np.asarray(y)).sum(axis=-1))


class _Unknown(Geometry):
    """Some other space: points of the shape it says, and no distance."""

    angular = False

    def __init__(self, dim: int, shape: tuple[int, ...]) -> None:
        self._shape, self.dim, self.width = shape, dim, math.prod(shape)

    def check(self, points: Any, name: str) -> FloatArray:
        """Finite numbers of the right shape; whether they are on the space only the space can tell."""
        array = numeric_array(points, "points")
        if array.shape[1:] == self._shape:
            array = array.reshape(len(array), -1)
        note = f" or (n, {', '.join(map(str, self._shape))})" if len(self._shape) != 1 else ""
        return coordinate_rows(array, self.width, name, note).astype(np.float64)

    def elements(self, columns: FloatArray) -> NDArray[Any]:
        return columns.reshape(len(columns), *self._shape)


def geometry_of(space: Any) -> Geometry:
    """What is known of one of GeometricKernels' spaces; those that heatess does better itself are refused by name."""
    with importing("geometric-kernels", "geometric-kernels"):
        from geometric_kernels import spaces as theirs

    def is_a(*names: str) -> bool:
        return isinstance(space, tuple(getattr(theirs, name) for name in names if hasattr(theirs, name)))

    if is_a("Mesh"):
        raise InputError(
            "the eigenvectors of a GeometricKernels Mesh are not orthonormal for its area, so their sums are not the "
            "heat kernel; use `heatess.Mesh(space.vertices, space.faces)`"
        )
    if is_a("Graph", "GraphEdges"):
        raise InputError("<!a GeometricKernels Graph!> is not homogeneous; use <+`heatess.Graph(adjacency)`+>")
    if is_a("ProductDiscreteSpectrumSpace"):
        raise InputError(
            "a GeometricKernels product has only the levels it was made with; use "
            "`heatess.Product(*map(heatess.GeometricKernelsSpace, space.factor_spaces))`, which takes the same points"
        )
    if not is_a("DiscreteSpectrumSpace"):
        example = "a discrete-spectrum space of GeometricKernels such as SpecialOrthogonal(4)"
        raise InputError.unfit("space", example, space)
    if is_a("Hypersphere"):
        return _Native(Sphere(space.dimension), space.dimension + 1)
    if is_a("Circle"):
        return _Native(Circle(), 1)
    if is_a("SpecialOrthogonal", "SpecialUnitary"):
        return _Group(space.n, is_a("SpecialUnitary"))
    if is_a("HypercubeGraph", "HammingGraph"):
        return Hamming(space.dimension, getattr(space, "n_cat", 2))
    if not space.dimension:
        raise InputError(f"{space} is <!a graph, of dimension 0!>; use <+`heatess.Graph(adjacency)`+>")
    return _Unknown(space.dimension, tuple(space.element_shape))


def _adjoint(matrices: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.conjugate(np.swapaxes(matrices, -1, -2)))


def _refuse(off: FloatArray, expected: str, fault: str) -> None:
    bad = ~(off <= _MATRIX_TOLERANCE)
    if bad.any():
        row = int(np.argmax(bad))
        found = f"in row {row} <!{fault.format(off[row])}!> ({int(bad.sum())} of {len(off)} rows)"
        raise InputError(f"{expected}, but {found}; drop or fix those rows", row=row)
