"""The power spectrum: energy of the measure in each level of the Laplacian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray, whole
from ..base.blocks import slices
from ..base.errors import InputError
from ..base.progress import Progress
from ..base.results import Result
from ..engines import pairs, plan, spectral
from ..measures.measure import Measure
from ..spaces.base import Space
from ..spaces.capabilities import Modes, ZonalPairs
from ..transforms.levels import LevelTransform
from ..transforms.torus import MODE_LIMIT, TorusTransform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Relative accuracy asked of the transforms and sums over pairs.
_RTOL = 1e-9
#: Values of eigenfunctions held at once.
_BLOCK_ENTRIES = 2**24
#: Levels up to which sums over pairs serve: what makes levels of cosines is a matrix, but on circles nothing is needed.
_MOST_BY_PAIRS, _MOST_ON_CIRCLES = 2**13, 2**20


@dataclass(frozen=True, eq=False, repr=False)
class PowerSpectrum(Result):
    """Level energies B_l = sum over the level of (sum_i w_i phi(x_i))^2, from degree 0 (where B_0 = 1).

    Attributes
    ----------
    degrees : ndarray of int
        0, 1, ..., max_degree: the number of the level, in increasing order of eigenvalue.
    eigenvalues, multiplicities : ndarray
        lambda_l, and N_l as floating-point numbers, inf where they overflow.
    energies : ndarray
        B_l, and zero for the uniform law; on a homogeneous space at most N_l, which a single atom reaches.
    ess, n, space : float, int, Space
        As for `HeatProfile`; equal independent atoms have B_l near N_l / n.

    Examples
    --------
    >>> import heatess as he
    >>> spectrum = he.power_spectrum(he.samplers.von_mises_fisher(1000, [0, 0, 1], 10, rng=0), max_degree=8)
    >>> spectrum
    PowerSpectrum(Sphere(2), n=1000, ess=1000: B_1=2.435, B_2=2.684, B_3=2.043, ... B_8)
    >>> round(spectrum.resultant_length, 2)
    0.9
    """

    degrees: IntArray
    eigenvalues: FloatArray
    multiplicities: FloatArray
    energies: FloatArray
    ess: float
    n: int
    space: Space

    schema: ClassVar[str] = "heatess.spectrum/1"
    columns: ClassVar[tuple[str, ...]] = ("degrees", "eigenvalues", "multiplicities", "energies")
    facts: ClassVar[tuple[str, ...]] = ("ess", "n", "space")
    row_name: ClassVar[str] = "degree"

    @property
    def resultant_length(self) -> float:
        """Mean resultant length R = |sum w_i x_i|, from B_1 = p R^2; nan off spheres."""
        return math.sqrt(self.energies[1] / (self.space.dim + 1)) if self.space.directional else math.nan

    @property
    def bingham_energy(self) -> float:
        """B_2, the anisotropy of the second moment; nan off spheres."""
        return float(self.energies[2]) if self.space.directional else math.nan

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the energies per mode against the degree and return the Axes.

        >>> import heatess as he
        >>> ax = he.power_spectrum(he.samplers.uniform(300, rng=0), max_degree=20).plot()
        >>> ax.get_yscale()
        'log'
        """
        from ..drawing.curves import draw_spectrum

        return draw_spectrum(self, ax, **style)

    def __repr__(self) -> str:
        low = ", ".join(f"B_{degree}={energy:.4g}" for degree, energy in enumerate(self.energies[1:4], start=1))
        return f"PowerSpectrum({self.space!r}, n={self.n}, ess={self.ess:.4g}: {low}, ... B_{self.degrees[-1]})"


def power_spectrum(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    max_degree: int = 64,
) -> PowerSpectrum:
    """The energy of a weighted cloud in each level of the Laplacian.

    On the sphere in R^p, B_1 = p R^2 is Rayleigh's statistic and B_2 Bingham's, both per atom. The energies add up to
    the profile: mmd2(t) = sum_{l >= 1} exp(-2 lambda_l t) B_l.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`.
    max_degree : int
        The last level, at least 2. Levels are counted from zero in increasing order of eigenvalue: the degree l on
        spheres and rotations, half of it on projective spaces; on tori of up to three dimensions the number of the
        distinct eigenvalue sum_j (2 pi k_j / T_j)^2; on meshes, point clouds and graphs the number of the mode.

    Examples
    --------
    >>> import heatess as he
    >>> poles = power_spectrum([[0, 0, 1], [0, 0, -1]], max_degree=4)
    >>> poles.energies.round(6)
    array([1., 0., 5., 0., 9.])
    >>> poles.resultant_length
    0.0
    """
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    eigenvalues, counts, energies = _levels(measure, whole(max_degree, "max_degree", 2) + 1)
    degrees = np.arange(len(energies))
    return PowerSpectrum(degrees, np.array(eigenvalues), counts, energies, measure.ess, measure.n, measure.space)


#: Eigenvalues, multiplicities and energies of the levels, each of shape (levels,).
_Levels = tuple[FloatArray, FloatArray, FloatArray]


def _levels(measure: Measure, count: int) -> _Levels:
    """The levels of whatever capability the space has that knows them."""
    space = measure.space
    if space.modes is not None:
        return _of_modes(measure, space.modes, count)
    if isinstance(space.pair_kernel, ZonalPairs):
        return _of_series(measure, space.pair_kernel, count)
    if isinstance(space.transform, TorusTransform):
        return _of_torus(measure, space.transform, count)
    if not space.compact:
        why = "its volume is infinite and its spectrum continuous, so there are no levels"
    elif space.transform is not None:
        why = "the levels of its factors mix; take the power spectrum of each factor"
    else:
        why = "its levels have too many modes to sum one by one, or are not known"
    raise InputError(f"there is no power spectrum on {space!r}: {why}")


def _of_series(measure: Measure, kernel: ZonalPairs, count: int) -> _Levels:
    transform = pairs.level_transform(measure, count)
    if transform is not None:
        epsilon, threads = spectral.accuracy(_RTOL), spectral.threads_for(measure.n, count)
        points, weights = measure.points, measure.weights
        coefficients = transform.coefficients(points, weights, count - 1, epsilon, threads)
        low = partial(transform.low_sums, points, weights)
        moments = transform.spectrum(coefficients, low, count - 1, epsilon, _RTOL).moments
    else:
        _refuse_pairs(measure, kernel, count)
        moments = pairs.pair_moments(measure, kernel, count, _RTOL, Progress(False))
    levels = kernel.series.levels(count)
    with np.errstate(over="ignore"):
        multiplicities = np.exp(levels.log_multiplicities)
    exact = multiplicities < 2**40
    multiplicities[exact] = np.rint(multiplicities[exact])
    return levels.eigenvalues, multiplicities, np.where(moments.values > 0, multiplicities, 0.0) * moments.values


def _refuse_pairs(measure: Measure, kernel: ZonalPairs, count: int) -> None:
    """Refuse levels that take too much memory, and atoms that take too long."""
    space, transform = measure.space, measure.space.transform
    most = _MOST_ON_CIRCLES if kernel.series.dim == 1 else _MOST_BY_PAIRS
    if count > most:
        raise InputError(f"max_degree may be {most - 1} at most on {space!r}, but is {count - 1}; give less")
    seconds = pairs.level_seconds(measure.n, kernel, count)
    way_out = "give m of them, drawn by weight, which adds about multiplicities / m to the energies"
    if isinstance(transform, LevelTransform):
        way_out = f"max_degree={int(transform.most)} or less takes a fast transform instead"
    plan.afford(
        seconds, lambda wait: f"max_degree={count - 1} of {measure.n:,} atoms on {space!r} would take {wait}; {way_out}"
    )


def _of_torus(measure: Measure, transform: TorusTransform, count: int) -> _Levels:
    """B_l, the sum of |sum_i w_i exp(2 pi i sum_j k_j x_ij / T_j)|^2 over the whole vectors k of the level."""
    threads = spectral.threads_for(measure.n, count)
    levels = transform.level_energies(measure.points, measure.weights, count, 1e-4 * _RTOL, threads)
    if levels is None:
        needs = f"more than {MODE_LIMIT[len(transform.periods)]:,} Fourier modes"
        raise InputError(f"max_degree={count - 1} on {measure.space!r} needs {needs}; give less")
    return levels


def _of_modes(measure: Measure, modes: Modes, count: int) -> _Levels:
    """B_l = (sum_i w_i phi_l(x_i))^2, one mode a level."""
    coefficients: Any = 0.0
    found = modes.lowest(count)
    for rows in slices(measure.n, _BLOCK_ENTRIES // count + 1):
        coefficients = coefficients + measure.weights[rows] @ found.at(measure.points[rows])
    energies = coefficients**2
    energies[0] = 1.0
    return found.values, np.ones(len(found.values)), energies
