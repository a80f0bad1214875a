"""What a manifold is, to heatess: its points, its metric, and the capabilities it has.

A space knows nothing about engines: an engine asks a space for a capability, and never which space it is.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.completion import Tidied
from ..base.errors import InputError, InputTypeError
from ..heat.radial import resolutions_of_times
from ..heat.series import LevelSeries, Series, times_of_resolutions
from ..heat.spherical import SphereSeries
from ..transforms.base import Transform
from ..transforms.harmonics import Harmonics
from ..transforms.levels import LevelTransform
from ..transforms.low_moments import LowMoments
from .capabilities import Embedding, Modes, PairKernel, SeparatedPairs, ZonalPairs
from .drawing import Drawing
from .flow import Flow

#: What the repr of a space of infinite volume ends with.
GESS_ONLY = " [infinite volume: gESS only]"


def check_space(space: Any, *, needed: bool = False) -> None:
    """An `InputTypeError` if it is no space, nor None where none is *needed*."""
    if not isinstance(space, Space) and (needed or space is not None):
        raise InputTypeError.unfit("space", "a heatess space such as Sphere(2)", space)


class Space(Tidied):
    """A manifold with its Riemannian metric.

    Capabilities are objects, or None where a space has not got one. A homogeneous space whose heat kernel depends on
    the distance alone needs `check`, `distance`, `series` and `pair_kernel`; all else follows from them or makes it
    faster.

    >>> import heatess as he
    >>> import numpy as np
    >>> sphere = he.Sphere(2)
    >>> sphere.dim, round(sphere.volume / np.pi, 6)
    (2, 4.0)
    >>> round(float(np.degrees(sphere.distance([0, 0, 1], [0, 1, 0]))), 6)
    90.0
    >>> sphere.uniform(5, np.random.default_rng(0)).shape
    (5, 3)
    """

    _inside = frozenset(
        (
            *("series", "transform", "pair_kernel", "embedding", "modes", "flow", "low_moments", "harmonics", "zonal"),
            *("level_transform", "of_sphere", "factor_series", "drawing", "form", "heated", "log_own_density"),
            *("log_diagonal", "overlaps", "separated"),
        )
    )

    #: True when distances are angles, so that scales are given in degrees.
    angular: bool = True

    #: What a row of numbers is: "vectors", "quaternions", "angles", "poses" or plain "numbers".
    form: str = "numbers"

    #: "deg" or "rad" where the numbers are angles and the user said so.
    units: str | None = None

    #: False where the volume is infinite: then only gESS is defined.
    compact: bool = True

    #: True where `error` is a bound; False where it holds an estimate of how far nodes are from what they stand for.
    certified: bool = True

    #: True where the first level is spanned by the coordinates of a unit vector with dim + 1 of them.
    directional: bool = False
    #: The point group up to which points count, such as "O"; None without.
    symmetry: str | None = None

    #: Levels and zonal functions, where the heat kernel depends on the distance alone.
    series: Series | None = None

    #: Fast, linear, mergeable coefficients.
    transform: Transform | None = None

    #: Overlaps pair by pair.
    pair_kernel: PairKernel | None = None

    #: Coordinates in which neighbours can be found.
    embedding: Embedding | None = None

    #: Eigenpairs, where the space is not homogeneous.
    modes: Modes | None = None

    #: Heat on nodes without eigenpairs.
    flow: Flow | None = None

    #: The lowest level moments as sums of squares.
    low_moments: LowMoments | None = None

    #: Spheres whose harmonics, multiplied, are the eigenfunctions; empty where there are none.
    harmonics: tuple[Harmonics, ...] = ()

    #: On rotations, those that leave things as they are: quaternions of shape (order, 4), the unit first.
    group: FloatArray | None = None

    #: Dimension and scalar curvature, which a space sets.
    _dim: int
    _curvature: float = 0.0

    @property
    def dim(self) -> int:
        """Dimension of the manifold."""
        return self._dim

    def _key(self) -> tuple[object, ...]:
        """What tells two spaces of one class apart: the arguments in their repr."""
        return (self.dim,)

    def in_units(self, units: str) -> Space:
        """The same space for coordinates in degrees or radians, where it leaves that open; else itself."""
        return self

    def __repr__(self) -> str:
        note = "" if self.compact else GESS_ONLY
        return f"{type(self).__name__}({', '.join(map(repr, self._key()))}){note}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and (type(other), other._key()) == (type(self), self._key())

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    @abstractmethod
    def check(self, points: Any) -> NDArray[Any]:
        """Points in standard form, one per row, or an `InputError` that names the row."""

    @abstractmethod
    def distance(self, x: Any, y: Any) -> FloatArray:
        """Geodesic distance between points, row by row, broadcasting."""

    def midpoints(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any] | None:
        """Points half way between checked points, row by row; None where the space does not know them."""
        return None

    def names(self, points: NDArray[Any]) -> NDArray[np.str_] | None:
        """The names of checked points, where the space has names for them, as a graph may have."""
        return None

    @property
    def drawing(self) -> Drawing | None:
        """Where points are in a picture; None where a picture of them would mean nothing."""
        return None

    def uniform(self, n: int, rng: np.random.Generator) -> Any:
        """*n* independent points from the normalised volume, where there is one."""
        raise InputError(f"{self!r} has no uniform distribution to draw from")

    def heated(self, points: NDArray[Any], time: float, rng: np.random.Generator) -> NDArray[Any]:
        """One draw from the heat kernel k_t(x, .) for each checked point x, as checked points."""
        raise InputError(f"no way is known to draw from the heat kernel on {self!r}")

    def log_own_density(self, times: FloatArray) -> FloatArray:
        """log K_2t(x, x) with respect to Riemannian volume; nan where that depends on the place."""
        return np.asarray(self.log_diagonal(times) - self.log_volume)

    def log_diagonal(self, times: FloatArray, rtol: float | None = None) -> FloatArray:
        """log k_2t(x, x) with respect to normalised volume; nan where that is infinite, or depends on the place.

        With *rtol*, a time at which the kernel is less accurate is a `PrecisionError`.
        """
        if self.pair_kernel is None:
            return np.full(len(times), np.nan)
        return (self.pair_kernel if rtol is None else self.pair_kernel.fitted(times, rtol)).log_diagonal(times)

    @property
    def overlaps(self) -> PairKernel | Modes:
        """Pair by pair where the space is homogeneous, else from eigenpairs; `on_nodes` says which."""
        found = self.modes if self.pair_kernel is None else self.pair_kernel
        if found is None:
            raise InputError(f"{self!r} has no overlaps; a space of your own must have <+a pair kernel+>")
        return found

    @property
    def separated(self) -> SeparatedPairs | None:
        """Overlaps pair by pair, where they are functions of separations."""
        return None if self.pair_kernel is None else self.pair_kernel.separated

    @property
    def zonal(self) -> ZonalPairs | None:
        """Overlaps pair by pair, where they depend on the distance alone."""
        return None if self.pair_kernel is None else self.pair_kernel.zonal

    @property
    def level_transform(self) -> LevelTransform | None:
        """The fast transform, where its coefficients come in levels."""
        return None if self.transform is None else self.transform.by_levels

    @property
    def of_sphere(self) -> SphereSeries | None:
        """The series, where it is that of a sphere of any radius or of its even functions."""
        return None if self.series is None else self.series.of_sphere

    @property
    def factor_series(self) -> tuple[tuple[LevelSeries, float], ...]:
        """Series of the factors that the space is a product of, and their metric multipliers; empty if not known.

        The levels of the space are all sums of one eigenvalue lambda / c^2 of each factor.
        """
        return () if self.series is None else ((self.series, 1.0),)

    @property
    def diameter(self) -> float:
        """Largest distance between two points, in radians on angular spaces."""
        return self.series.diameter if self.series is not None else math.nan if self.compact else math.inf

    @property
    def log_volume(self) -> float:
        """Logarithm of the Riemannian volume."""
        return self.series.log_volume if self.series is not None else math.nan if self.compact else math.inf

    @property
    def volume(self) -> float:
        """Riemannian volume; zero where it underflows, see `log_volume`."""
        return math.exp(self.log_volume)

    @property
    def scalar_curvature(self) -> float:
        """Scalar curvature, a constant on a homogeneous space."""
        return self._curvature

    @property
    def has_resolutions(self) -> bool:
        """Whether a resolution, the distance at which two points overlap by 1/e, is defined."""
        return self.series is not None or type(self).times_of_resolutions is not Space.times_of_resolutions

    def times_of_resolutions(self, distances: FloatArray) -> FloatArray:
        """The times at which the overlap at each distance is 1/e."""
        if self.series is None:
            raise InputError(
                f"resolutions are not defined on {self!r}, where the overlap depends on more than the "
                "distance; give times instead"
            )
        return times_of_resolutions(self.series, distances)

    def resolutions_of_times(self, times: FloatArray) -> FloatArray:
        """The distances at which the overlap falls to 1/e; nan where it does not, or they are not defined."""
        return np.full(len(times), np.nan) if self.series is None else resolutions_of_times(self.series, times)
