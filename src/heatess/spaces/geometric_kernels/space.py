"""Spaces of the GeometricKernels package: its spectra and addition theorems, with our weights, errors and blocks."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray, positive, whole
from ...base.errors import PrecisionError
from ..base import Space
from ..capabilities import PairKernel, TermsOfTime
from .geometry import Hamming, geometry_of
from .hamming_kernel import HammingKernel
from .level_kernel import MOST_LEVELS, LevelKernel


class GeometricKernelsSpace(Space):
    """A homogeneous space of the GeometricKernels package with a discrete spectrum.

    GeometricKernels gives eigenvalues lambda_l and the sums phi_l(x, y) of products of eigenfunctions over each
    level; the overlap is then s_t(x, y) = sum_l exp(-2 lambda_l t) phi_l(x, y) / sum_l exp(-2 lambda_l t) phi_l(x, x),
    from as many levels as the finest scale needs. Levels that are not finite, not orthonormal or not in its tables are
    found out by trying, and scales that would need them are refused with the finest that does not. On spheres, circles
    and groups, which have no negative Ricci curvature, `error` bounds what is left out as in `heatess.heat.bounds`; on
    other spaces the same formula is an estimate. On hypercubes and Hamming graphs nothing is left out: there
    s_t = ((1 - x) / (1 + (q - 1) x))^(places that differ), x = exp(-2 lambda_1 t), in any number of dimensions.

    What distances mean is settled by GeometricKernels' eigenvalues, and can be changed by *scale*:

    - `Hypersphere(m)`, `Circle()`: the angle, as on `Sphere` and `Circle`, which are faster and go finer.
    - `SpecialOrthogonal(n)`: sqrt(sum theta_j^2) over the angles theta_j of the planes of rotation, so one degree is
      one degree of turning in one plane; SO(3) is `Rotations()`, which is faster and goes finer.
    - `SpecialUnitary(n)`: sqrt(sum theta_j^2) over the phases, the Frobenius norm of the logarithm. SU(2) is the
      3-sphere of radius sqrt(2): `Sphere(3)` with scale=0.5**0.5.
    - `HypercubeGraph(d)`: a flip is sqrt(d) long, since their Laplacian is the normalised one; with scale=d**-0.5 it is
      the Hamming distance and the space is `Graph` of the hypercube. `HammingGraph(d, q)`: sqrt(d (q - 1)).

    These two have dimension 0. Diameter, volume and curvature are nan where they are not known or not defined.

    GeometricKernels' lengthscale kappa at nu = inf is sqrt(4 t), that is alpha / sqrt(2), at scale 1.

    Parameters
    ----------
    space : geometric_kernels.spaces.DiscreteSpectrumSpace
        Not its meshes and graphs, for which there are `Mesh` and `Graph`, nor its products, for which there is
        `Product` of its factors.
    scale : float
        What distances are multiplied by; eigenvalues are divided by its square.
    levels : int, optional
        Most levels to use. Default: all that GeometricKernels gets right, up to 256.

    Examples
    --------
    The identity of SO(4) and two turns by 180 degrees, about one plane and about two:

    >>> import pytest
    >>> spaces = pytest.importorskip("geometric_kernels.spaces")
    >>> import heatess as he
    >>> turns = [np.diag([1, 1, 1, 1]), np.diag([1, 1, -1, -1]), np.diag([-1, -1, -1, -1])]
    >>> so4 = he.GeometricKernelsSpace(spaces.SpecialOrthogonal(4))
    >>> so4.distance(turns[0], turns).round(4)
    array([0.    , 3.1416, 4.4429])
    >>> round(he.gess(turns, space=so4, angle=120), 4)
    1.5777
    """

    def __init__(self, space: Any, *, scale: float = 1.0, levels: int | None = None) -> None:
        self._geometry = geometry_of(space)
        self._space, self.scale = space, positive(scale, "scale")
        self._limit = None if levels is None else whole(levels, "levels", 3)
        self._dim, self.angular = self._geometry.dim, self._geometry.angular
        self._curvature = self._geometry.scalar_curvature / self.scale**2
        self.pair_kernel = ForeignPairs(self)

    def __repr__(self) -> str:
        options = f", scale={self.scale:g}" if self.scale != 1 else ""
        options += f", levels={self._limit}" if self._limit is not None else ""
        return f"GeometricKernelsSpace({self._space}{options})"

    def _key(self) -> tuple[object, ...]:
        return type(self._space), str(self._space), self.scale, self._limit

    @property
    def diameter(self) -> float:
        """Largest distance."""
        return self.scale * self._geometry.diameter

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume, or of the number of nodes."""
        return self._geometry.log_volume + self.dim * math.log(self.scale)

    @property
    def volume(self) -> float:
        """Volume, or number of nodes."""
        return float(np.exp(np.minimum(self.log_volume, 709.0)))

    def check(self, points: Any) -> FloatArray:
        """Points of GeometricKernels' shape, complex for SU(n), as float64 columns; such columns are taken as well."""
        return self._geometry.check(points, repr(self))

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Distance in the metric of the eigenvalues, times the scale."""
        return np.asarray(self.scale * self._geometry.distance(x, y))

    def uniform(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """*n* independent uniform points, in the form that GeometricKernels gives them."""
        state = np.random.RandomState(rng.integers(2**32, size=8, dtype=np.uint32))
        return np.asarray(self._space.random(state, n)[1])

    @cached_property
    def kernel(self) -> LevelKernel | HammingKernel:
        """Overlaps at times of the GeometricKernels metric."""
        if isinstance(self._geometry, Hamming):
            return self._geometry.kernel
        return LevelKernel(self._space, self._geometry.elements, self.dim, self._limit or MOST_LEVELS)

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """On hypercubes and Hamming graphs, the times at which words at each distance overlap by 1/e."""
        if not isinstance(self._geometry, Hamming):
            return super().times_of_resolutions(distances)
        return self.scale**2 * self._geometry.kernel.times_of_places(distances / (self.scale * self._geometry.step))

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """On hypercubes and Hamming graphs, the distances at which words overlap by 1/e."""
        if not isinstance(self._geometry, Hamming):
            return super().resolutions_of_times(times)
        return self.scale * self._geometry.step * self._geometry.kernel.places_of_times(times / self.scale**2)


class ForeignPairs(PairKernel):
    """Overlaps by a kernel, that of the space unless given, whose times are those of the GeometricKernels metric."""

    parallel = False  # what GeometricKernels computes with is not ours to run side by side

    def __init__(self, space: GeometricKernelsSpace, kernel: LevelKernel | None = None) -> None:
        self._space, self._geometry, self._ready = space, space._geometry, kernel
        self._square, self.width = space.scale**2, space._geometry.width

    @property
    def _kernel(self) -> LevelKernel | HammingKernel:
        return self._space.kernel if self._ready is None else self._ready

    def seconds(self, pairs: float, scales: int) -> float:
        """The sums over levels as measured when they were tried, then each scale."""
        return pairs * self._kernel.pair_seconds + super().seconds(pairs, scales)

    def fitted(self, times: FloatArray, rtol: float) -> PairKernel:
        """The same kernel with no more levels than *times* need; too fine a time is refused."""
        kernel = self._kernel
        if isinstance(kernel, HammingKernel):
            return self
        finest, least = float(times.min()), kernel.finest_time(rtol) * self._square
        if finest < least:
            other = f", or use {self._geometry.native}" if self._geometry.native else ""
            raise PrecisionError(
                f"{self._space!r} has {kernel.found} eigenvalues that GeometricKernels gets right, enough for "
                f"`rtol={rtol:g}` from {self._length(least)} up, but {self._length(finest)} was asked for; give "
                f"coarser scales or a larger `rtol`{other}",
                finest=least,
            )
        return ForeignPairs(self._space, kernel.reduced(finest / self._square, rtol))

    def _length(self, moment: float) -> str:
        length = math.sqrt(8 * moment)
        shown = f"{math.degrees(length):.4g} degrees" if self._geometry.angular else f"sqrt(8 t) = {length:.4g}"
        return f"{shown} (time {moment:.4g})"

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """What truncation leaves out, and rounding."""
        return self._kernel.errors(times / self._square, overlap)

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """log sum_l N_l exp(-2 lambda_l t)."""
        return self._kernel.log_diagonal(times / self._square)

    def terms(self, left: FloatArray, right: FloatArray) -> TermsOfTime:
        """The sums over levels once, for all times."""
        terms = self._kernel.terms(left, right)
        return lambda time: terms(float(time / self._square))
