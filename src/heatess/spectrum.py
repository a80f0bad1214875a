"""The power spectrum: energy of the measure in each level of the Laplacian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .blocks import slices
from .engines import pairwise, spectral
from .errors import InputError
from .measure import Measure
from .progress import Progress
from .spaces.base import EigenSpace, FloatArray, Space, ZonalSpace
from .spaces.lattice import lattice_levels
from .spaces.product import Product
from .spaces.sphere import Sphere
from .spaces.theta import MODE_LIMIT
from .spaces.torus import Torus

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Relative accuracy asked of the transforms and sums over pairs.
_RTOL = 1e-9

#: Values of eigenfunctions held at once.
_BLOCK_ENTRIES = 2**24


@dataclass(frozen=True, eq=False, repr=False)
class PowerSpectrum:
    """Level energies B_l = sum over the level of (sum_i w_i phi(x_i))^2, from degree 0 (where B_0 = 1).

    Attributes
    ----------
    degrees : ndarray of int
        0, 1, ..., max_degree: the number of the level, in increasing order of eigenvalue.
    eigenvalues : ndarray
        lambda_l.
    multiplicities : ndarray
        N_l as floating-point numbers; inf where they overflow. On meshes, point clouds and graphs every mode is a level
        of its own.
    energies : ndarray
        B_l, and zero for the uniform law; on a homogeneous space at most N_l, which a single atom reaches.
    ess : float
        Ordinary effective sample size; equal independent atoms have B_l near N_l / n.
    n : int
        Number of atoms.
    space : Space
        The manifold.
    """

    degrees: np.ndarray[tuple[int], np.dtype[np.int64]]
    eigenvalues: FloatArray
    multiplicities: FloatArray
    energies: FloatArray
    ess: float
    n: int
    space: Space

    def __post_init__(self) -> None:
        for array in (self.degrees, self.eigenvalues, self.multiplicities, self.energies):
            array.flags.writeable = False

    @property
    def resultant_length(self) -> float:
        """Mean resultant length R = |sum w_i x_i|, from B_1 = p R^2; nan off spheres."""
        return math.sqrt(self.energies[1] / (self.space.dim + 1)) if isinstance(self.space, Sphere) else math.nan

    @property
    def bingham_energy(self) -> float:
        """B_2, the anisotropy of the second moment; nan off spheres."""
        return float(self.energies[2]) if isinstance(self.space, Sphere) else math.nan

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the energies per mode against the degree and return the Axes."""
        from .plot import draw_spectrum

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
        The last level, at least 2. Levels are counted from zero in increasing order of their eigenvalues: on spheres
        and rotations that is the degree l, on projective spaces half the degree; on tori of up to three dimensions
        it is the number of the distinct eigenvalue sum_j (2 pi k_j / T_j)^2, the frequency on the circle; on meshes,
        point clouds and graphs it is the number of the mode, and a graph of few nodes has no more than those.

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
    if isinstance(max_degree, bool) or not isinstance(max_degree, int | np.integer) or max_degree < 2:
        raise InputError(f"max_degree must be a whole number >= 2, but is {max_degree!r}")
    count = int(max_degree) + 1
    found = measure.space
    if isinstance(found, ZonalSpace):
        levels = _of_zonal(measure, found, count)
    elif isinstance(found, Torus) and found.dim <= 3:
        levels = _of_torus(measure, found, count)
    elif isinstance(found, EigenSpace):
        levels = _of_modes(measure, found, count)
    else:
        raise InputError(f"there is no power spectrum on {found!r}: {_why_not(found)}")
    eigenvalues, multiplicities, energies = levels
    return PowerSpectrum(
        degrees=np.arange(len(energies)),
        eigenvalues=np.array(eigenvalues),
        multiplicities=multiplicities,
        energies=energies,
        ess=measure.ess,
        n=measure.n,
        space=found,
    )


#: Eigenvalues, multiplicities and energies of the levels, each of shape (levels,).
_Levels = tuple[FloatArray, FloatArray, FloatArray]


def _of_zonal(measure: Measure, space: ZonalSpace, count: int) -> _Levels:
    if count <= space.transform_limit:
        moments = spectral.level_moments(measure, space, count, _RTOL)
    else:
        moments = pairwise.level_moments(measure, space, count, _RTOL, Progress(False))
    levels = space.levels(count)
    with np.errstate(over="ignore"):
        multiplicities = np.exp(levels.log_multiplicities)
    whole = multiplicities < 2**40
    multiplicities[whole] = np.rint(multiplicities[whole])
    return levels.eigenvalues, multiplicities, np.where(moments.values > 0, multiplicities, 0.0) * moments.values


def _of_torus(measure: Measure, space: Torus, count: int) -> _Levels:
    """B_l, the sum of |sum_i w_i exp(2 pi i sum_j k_j x_ij / T_j)|^2 over the whole vectors k of the level."""
    levels = lattice_levels(space.periods, count, MODE_LIMIT[space.dim])
    if levels is None:
        raise InputError(
            f"max_degree={count - 1} on {space!r} needs more than {MODE_LIMIT[space.dim]:,} Fourier modes; give less"
        )
    modes = space.mode_energies(measure.points, measure.weights, levels.sides, 1e-4 * _RTOL)
    energies = np.bincount(levels.labels.ravel(), modes.ravel(), count + 1)[:count]
    energies[0] = 1.0
    return levels.eigenvalues, levels.multiplicities, np.minimum(energies, levels.multiplicities)


def _of_modes(measure: Measure, space: EigenSpace, count: int) -> _Levels:
    """B_l = (sum_i w_i phi_l(x_i))^2, one mode a level."""
    coefficients: Any = 0.0
    for rows in slices(measure.n, _BLOCK_ENTRIES // count + 1):
        values, functions = space.lowest_eigenpairs(measure.points[rows], count)
        coefficients = coefficients + measure.weights[rows] @ functions
    energies = coefficients**2
    energies[0] = 1.0
    return values, np.ones(len(values)), energies


def _why_not(space: Space) -> str:
    if isinstance(space, Torus):
        return "above three dimensions its levels have too many modes to sum one by one"
    if isinstance(space, Product) and space.compact:
        return "the levels of its factors mix; take the power spectrum of each factor"
    return "its volume is infinite and its spectrum continuous, so there are no levels"
