"""Maximum-entropy laws with the low moments of a cloud, and how much of its structure each explains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..answers.potential import potential
from ..base.arrays import FloatArray, IntArray, whole
from ..base.errors import InputError, PrecisionError
from ..base.progress import told
from ..base.results import Result
from ..measures import scales
from ..measures.measure import Measure, in_frame_of
from ..measures.scales import check_one_scale
from ..parts.sums import part_named
from ..spaces.base import Space
from ..transforms.harmonics import Harmonics
from . import exponential_laws
from .exponential_laws import Fit, Grid

if TYPE_CHECKING:
    pass

#: Finest grids: their degree on circles and spheres.
MOST_DEGREE = {1: 2**18, 2: 2**11}
#: Accuracy of the divergence of the smoothed cloud, for which grids are refined; and where it is nothing but rounding.
ACCURACY, ROUNDING_OF_DIVERGENCE = 1e-9, 1e-12
#: Largest max_degree: coefficients of higher harmonics are not determined in double precision.
MOST_MAX_DEGREE = 16
#: How often a grid may be refined for the laws, and functions times nodes of the largest.
REFINEMENTS, MOST_ENTRIES = 3, 2**23
#: Draws that each coefficient needs before it may be part of an order selection; the first grid for it.
DRAWS_PER_COEFFICIENT, RAW_DEGREE = 10, 64
#: Finest grids for it, on circles and spheres, for clouds of about a degree.
MOST_RAW_DEGREE = {1: 2**14, 2: 2**9}


@dataclass(frozen=True, eq=False, repr=False)
class MaximumEntropy(Result):
    """Maximum-entropy laws of degrees 1, 2, ... with the moments of a smoothed cloud: one entry per degree.

    Attributes
    ----------
    degrees : ndarray of int
        1, 2, ..., max_degree. Degree 1 is the von Mises-Fisher family on spheres and the von Mises family on circles,
        degree 2 Fisher-Bingham. On projective spaces, levels are counted: degree 1 is the Bingham family.
    kl : ndarray
        KL(p_L || uniform) in nats, which grows with L to `total`.
    shares : ndarray
        KL(p_L || p_(L-1)) / total: the part of the structure that is new in degree L; nan where there is none.
    bic : ndarray
        (coefficients) log ESS - 2 ESS KL_L from the moments of the cloud without smoothing; nan where there
        are fewer than ten draws (ESS) for each coefficient, or all points are at a few places. It is 0 for the uniform
        distribution.
    total, beyond : float
        KL(p_t || uniform) of the smoothed cloud, and the share of it that is beyond the last degree.
    order : int or None
        The degree of least `bic`, 0 for the uniform distribution; None if `bic` is nan at all degrees, so that nothing
        can be selected.
    coefficients, normalisers : tuple of ndarray, tuple of float
        For each degree theta, the factors of the real orthonormal harmonics of degrees 1 to L, and psi.
    time, ess, n, space : float, float, int, Space
        As for `HeatProfile`.

    Examples
    --------
    >>> import heatess as he
    >>> cloud = he.samplers.tetrahedral(300, 40.0, rng=0)
    >>> found = he.maximum_entropy(cloud, angle=20, max_degree=4)
    >>> (100 * found.shares).round(1)
    array([ 0. ,  0.1, 96.4,  1.1])
    """

    degrees: IntArray
    kl: FloatArray
    shares: FloatArray
    bic: FloatArray
    total: float
    beyond: float
    order: int | None
    time: float
    ess: float
    n: int
    space: Space
    coefficients: tuple[FloatArray, ...]
    normalisers: tuple[float, ...]
    _frame: str | None = None  #: of the cloud

    schema: ClassVar[str] = "heatess.maximum_entropy/1"
    columns: ClassVar[tuple[str, ...]] = ("degrees", "kl", "shares", "bic")
    facts: ClassVar[tuple[str, ...]] = ("total", "beyond", "order", "time", "ess", "n", "space")
    row_name: ClassVar[str] = "degree"
    _row_key: ClassVar[str] = "degrees"
    _drawing: ClassVar[str] = ".drawing.entropy:draw_shares"

    def density(self, points: Any, degree: int | None = None) -> FloatArray:
        """Density of the distribution of that degree, by default the last, with respect to normalised volume.

        >>> import heatess as he
        >>> cloud = he.samplers.von_mises_fisher(500, [0, 0, 1], 10.0, rng=0)
        >>> he.maximum_entropy(cloud, angle=20, max_degree=3).density([[0, 0, 1], [0, 0, -1]], degree=1).round(3)
        array([15.362,  0.   ])
        """
        last = len(self.degrees)
        chosen = last if degree is None else whole(degree, "degree", 1, last)
        with part_named("points"):
            where = in_frame_of(self._frame, Measure.of(points, space=self.space), ("the cloud", "points")).points
        functions = self.space.harmonics[0].values(np.asarray(where, dtype=np.float64), chosen + 1)[1:]
        return np.asarray(np.exp(self.coefficients[chosen - 1] @ functions - self.normalisers[chosen - 1]))

    def __repr__(self) -> str:
        at = scales.in_words(self.space, self.time)
        return (
            f"MaximumEntropy({self.space!r}, n={self.n}, ess={self.ess:.4g}, {at}: KL {self.total:.3g} nats, "
            f"{self._largest()}; {'no order selected' if self.order is None else f'order {self.order} by BIC'})"
        )

    def _largest(self) -> str:
        """The shares of the degrees that explain most, from the lowest degree."""
        if np.isnan(self.shares).any():
            return "none to explain"
        most = np.sort(np.argsort(-self.shares, kind="stable")[:2])
        said = [f"{100 * self.shares[row]:.1f} % in degree {self.degrees[row]}" for row in most]
        return ", ".join([*said, f"{100 * self.beyond:.1f} % beyond {self.degrees[-1]}"])


@told
def maximum_entropy(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
    max_degree: int = 8,
    progress: bool = False,
) -> MaximumEntropy:
    """How much of the structure of a cloud is explained by its moments of degree 1, 2, ...: circles and spheres S^2.

    The distribution of largest entropy with the moments exp(-lambda_l t) a_lm of the smoothed cloud p_t up to degree L
    is

        p_L = exp(theta . Y - psi),    KL(p_L || uniform) = theta . m - psi,

    with Y the harmonics of degrees 1 to L and m their moments. Degree 1 is von Mises-Fisher, 2 Fisher-Bingham. They are
    nested, so that the divergences add up: KL(p_t || uniform) = sum_L KL(p_L || p_(L-1)) + KL(p_t || p_Lmax).

    The order is selected from the moments without smoothing: where degree L - 1 is right, 2 n KL(p_L || p_(L-1)) is
    chi-square with as many degrees of freedom as there are harmonics of degree L, for independent draws of equal
    weight. For other weights ESS stands for n, which is an approximation.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`, on Sphere(1), Sphere(2), Circle, Torus(1), Projective(1) or Projective(2).
    angle, time, resolution : float
        Exactly one of them: the scale of the smoothing.
    max_degree : int
        The last degree, up to 16.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Raises
    ------
    PrecisionError
        If the scale is too fine for a grid, or the coefficients of a degree are not determined in double precision, as
        for few points, or many in a small part of the space, at fine scales. The message says which max_degree or scale
        does.

    Examples
    --------
    Two opposite modes are a matter of degree 2, and four at the corners of a tetrahedron of degree 3:

    >>> import heatess as he
    >>> poles, corners = [[0, 0, 1], [0, 0, -1]], he.samplers.TETRAHEDRON
    >>> he.maximum_entropy(poles, angle=45, max_degree=4).shares.round(3) + 0
    array([0.   , 0.974, 0.   , 0.022])
    >>> he.maximum_entropy(corners, angle=45, max_degree=4).shares.round(3) + 0
    array([0.   , 0.   , 0.951, 0.012])
    """
    check_one_scale(angle, time, resolution)
    degrees = whole(max_degree, "`max_degree`", 1, MOST_MAX_DEGREE)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    harmonics = _harmonics(measure.space)
    t = float(scales.resolve(measure.space, angle, time, resolution).times[0])
    cloud = _Cloud(measure, harmonics, degrees)
    total = _divergence(measure, harmonics, t)
    fits = _smoothed_fits(cloud, t)
    kl = np.maximum.accumulate([max(fit.divergence, 0.0) for fit in fits])
    shares = np.diff(kl, prepend=0.0) / total if total > ROUNDING_OF_DIVERGENCE else np.full(degrees, math.nan)
    beyond = max(1 - float(kl[-1]) / total, 0.0) if total > ROUNDING_OF_DIVERGENCE else math.nan
    bic = _bic(cloud)
    order = None if np.isnan(bic).all() else int(np.nanargmin(np.concatenate([[0.0], bic])))
    facts = (total, beyond, order, t, measure.ess, measure.n, measure.space)
    laws = tuple(fit.theta for fit in fits), tuple(fit.psi for fit in fits)
    return MaximumEntropy(np.arange(1, degrees + 1), kl, shares, bic, *facts, *laws, measure.known.frame)


def _harmonics(space: Space) -> Harmonics:
    """The harmonics of a circle or a sphere, or of axes in them."""
    if len(space.harmonics) == 1 and space.harmonics[0].dim <= 2:
        return space.harmonics[0]
    why = "`maximum_entropy` integrates over a grid, on circles and ordinary spheres: Sphere(1), Sphere(2), Circle, "
    why += "Torus(1), Projective(1) and Projective(2)"
    raise InputError(
        f"<+{why}+>; found <!{space!r}!>, for which `power_spectrum` or `uniformity_test` tell degrees apart"
    )


class _Cloud(NamedTuple):
    """A cloud and the harmonics to describe it with."""

    measure: Measure
    harmonics: Harmonics
    degrees: int

    def counts(self) -> list[int]:
        """Harmonics of degrees 1 to L, for each L from 0 on."""
        return [exponential_laws.count_until(self.harmonics, degree) for degree in range(self.degrees + 1)]

    def moments(self, time: float) -> FloatArray:
        """exp(-lambda t) sum_i w_i Y(x_i), degree after degree."""
        points = np.asarray(self.measure.points, dtype=np.float64)
        raw = self.harmonics.values(points, self.degrees + 1)[1:] @ self.measure.weights
        sizes = [after - before for before, after in pairwise(self.counts())]
        lowest, dim = self.harmonics.lowest, self.harmonics.dim
        steps = np.arange(1.0, self.degrees + 1) * self.harmonics.step
        first = self.harmonics.step * (self.harmonics.step + dim - 1)
        eigenvalues = lowest * steps * (steps + dim - 1) / first
        return np.asarray(raw * np.repeat(np.exp(-eigenvalues * time), sizes))


def _first_degree(harmonics: Harmonics, time: float) -> int:
    """The degree of a grid on which heat kernels after this time are smooth."""
    return 32 + math.ceil(math.sqrt(30 / time) * harmonics.scale)


def _divergence(measure: Measure, harmonics: Harmonics, time: float) -> float:
    """KL(p_t || uniform), from grids that are doubled until two agree."""
    degree, found = _first_degree(harmonics, time), math.nan
    while degree <= MOST_DEGREE[harmonics.dim]:
        before, found = found, _entropy_on(measure, harmonics, exponential_laws.grid_of(harmonics, degree), time)
        if abs(found - before) <= ACCURACY * max(1.0, abs(found)):
            return max(found, 0.0)
        degree *= 2
    finest = 8 * 30 / (MOST_DEGREE[harmonics.dim] / 4) ** 2 * harmonics.scale**2
    at = f"`angle={math.degrees(math.sqrt(finest)):.2g}`" if measure.space.angular else f"`time={finest / 8:.2g}`"
    raise PrecisionError(f"the grid for {scales.in_words(measure.space, time)} would be too large; give {at} or more")


def _entropy_on(measure: Measure, harmonics: Harmonics, grid: Grid, time: float) -> float:
    density = potential(measure, at=_points(harmonics, grid), time=time, kind="density")
    with np.errstate(divide="ignore", invalid="ignore"):
        integrand = np.where(density > 0, density * np.log(density), 0.0)
    return float(grid.weights @ integrand)


def _points(harmonics: Harmonics, grid: Grid) -> FloatArray:
    """The nodes of a grid as points of the space."""
    if harmonics.dim == 2:
        return np.ascontiguousarray(grid.nodes.T)
    if harmonics.period is not None:
        return np.asarray(grid.nodes[:, None] * (harmonics.period / (2 * math.pi)))
    return np.column_stack([np.cos(grid.nodes / harmonics.step), np.sin(grid.nodes / harmonics.step)])


def _smoothed_fits(cloud: _Cloud, time: float) -> list[Fit]:
    """One law per degree, or an error that says how far it goes."""
    wanted = Accuracy(exponential_laws.DECREMENT, ACCURACY, exponential_laws.MATCHED)
    fits = _fits(cloud, cloud.moments(time), _first_degree(cloud.harmonics, time), wanted)
    if len(fits) < cloud.degrees:
        raise _undetermined(cloud, time, len(fits))
    return fits


class Accuracy(NamedTuple):
    """When Newton steps may end; and how large the errors of the divergence, and of moments, may be in the end."""

    enough: float
    gap: float
    residual: float


#: For the order selection, chance is far larger than this.
RAW_ACCURACY = Accuracy(1e-10, 1e-9, 1e-5)


def _fits(cloud: _Cloud, moments: FloatArray, degree: int, wanted: Accuracy) -> list[Fit]:
    """Laws of degrees 1, 2, ..., as far as they are determined and a grid of twice as many nodes confirms them."""
    fits: list[Fit] = []
    for _ in range(REFINEMENTS):
        fits = _fits_on(exponential_laws.grid_of(cloud.harmonics, degree), cloud, moments, fits, wanted)
        finer = exponential_laws.grid_of(cloud.harmonics, 2 * degree)
        functions = exponential_laws.functions_at(cloud.harmonics, finer.nodes, cloud.degrees)
        sizes = [len(fit.theta) for fit in fits]
        confirmed = [
            exponential_laws.residual_on(functions[:size], finer.weights, fit, moments[:size]) <= wanted.residual
            for fit, size in zip(fits, sizes, strict=True)
        ]
        if all(confirmed):
            return fits
        if functions.size > MOST_ENTRIES:
            break
        degree *= 2
    return fits[: confirmed.index(False)]


def _fits_on(grid: Grid, cloud: _Cloud, moments: FloatArray, starts: list[Fit], wanted: Accuracy) -> list[Fit]:
    """Laws of degrees 1, 2, ... on one grid, each started from the one before, unless there are *starts*."""
    functions = exponential_laws.functions_at(cloud.harmonics, grid.nodes, cloud.degrees)
    found: list[Fit] = []
    theta = np.empty(0)
    for place, size in enumerate(cloud.counts()[1:]):
        start = starts[place].theta if place < len(starts) else theta
        fit = exponential_laws.fit(functions[:size], grid.weights, moments[:size], start, wanted.enough)
        if fit.gap > wanted.gap or fit.residual > wanted.residual:
            break
        found.append(fit)
        theta = fit.theta
    return found


def _undetermined(cloud: _Cloud, time: float, reached: int) -> PrecisionError:
    at = scales.in_words(cloud.measure.space, time)
    fewer = f"give `max_degree={reached}`, or a coarser scale" if reached else "give a coarser scale"
    return PrecisionError(
        f"the maximum-entropy distribution of degree {reached + 1} at {at} could not be found: the cloud is too "
        f"concentrated for the grid, or for double precision; {fewer}",
        needed=reached or None,
    )


def _bic(cloud: _Cloud) -> FloatArray:
    """BIC of each degree from moments without smoothing, with ESS for n; nan where atoms are too few."""
    ess, counts = cloud.measure.ess, cloud.counts()[1:]
    values = np.full(cloud.degrees, math.nan)
    most = sum(DRAWS_PER_COEFFICIENT * count <= ess for count in counts)
    degree = _raw_degree(cloud) if most else None
    if degree is not None:
        nodes = len(exponential_laws.grid_of(cloud.harmonics, 2 * degree).weights)
        few = cloud._replace(degrees=sum(count * nodes <= 2 * MOST_ENTRIES for count in counts[:most]))
        for place, fit in enumerate(_fits(few, few.moments(0.0), degree, RAW_ACCURACY)):
            values[place] = -2 * ess * fit.divergence + counts[place] * math.log(ess)
    return values


def _raw_degree(cloud: _Cloud) -> int | None:
    """The coarsest grid on which there is a law of degree 1 with the moments of the cloud; None if none will do.

    A narrow cloud has moments that no law on a coarse grid has.
    """
    one, degree = cloud._replace(degrees=1), RAW_DEGREE
    moments = one.moments(0.0)
    while degree <= MOST_RAW_DEGREE[cloud.harmonics.dim]:
        if _fits(one, moments, degree, RAW_ACCURACY):
            return degree
        degree *= 2
    return None
