"""The power spectrum: energy of the measure in each level of the Laplacian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .engines import pairwise, plan, spectral
from .errors import InputError
from .measure import Measure
from .progress import Progress
from .spaces.base import FloatArray, Space
from .spaces.sphere import Sphere

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class PowerSpectrum:
    """Level energies B_l = sum over the level of (sum_i w_i phi(x_i))^2, from degree 0 (where B_0 = 1).

    Attributes
    ----------
    degrees : ndarray of int
        0, 1, ..., max_degree.
    eigenvalues : ndarray
        lambda_l.
    multiplicities : ndarray
        N_l as floating-point numbers; inf where they overflow.
    energies : ndarray
        B_l, between 0 and N_l; a single atom reaches N_l, the uniform law has zero.
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

    On the sphere in R^p, B_1 = p R^2 is Rayleigh's statistic and B_2 Bingham's, both per atom.

    >>> import heatess as he
    >>> poles = power_spectrum([[0, 0, 1], [0, 0, -1]], max_degree=4)
    >>> poles.energies.round(6)
    array([1., 0., 5., 0., 9.])
    >>> poles.resultant_length
    0.0
    """
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    zonal = plan.zonal(measure)
    if isinstance(max_degree, bool) or not isinstance(max_degree, int | np.integer) or max_degree < 2:
        raise InputError(f"max_degree must be a whole number >= 2, but is {max_degree!r}")
    count = int(max_degree) + 1
    if count <= zonal.transform_limit:
        moments = spectral.level_moments(measure, zonal, count, 1e-9)
    else:
        moments = pairwise.level_moments(measure, zonal, count, 1e-9, Progress(False))
    levels = zonal.levels(count)
    with np.errstate(over="ignore"):
        multiplicities = np.exp(levels.log_multiplicities)
    whole = multiplicities < 2**40
    multiplicities[whole] = np.rint(multiplicities[whole])
    return PowerSpectrum(
        degrees=np.arange(count),
        eigenvalues=np.array(levels.eigenvalues),
        multiplicities=multiplicities,
        energies=np.where(moments.values > 0, multiplicities, 0.0) * moments.values,
        ess=measure.ess,
        n=measure.n,
        space=measure.space,
    )
