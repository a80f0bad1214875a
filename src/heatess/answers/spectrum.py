"""The power spectrum: energy of the measure in each level of the Laplacian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray, whole
from ..base.progress import told
from ..base.results import Result
from ..engines import columns
from ..engines.base import LevelsQuestion
from ..measures.measure import Measure
from ..measures.scales import check_rtol
from ..spaces.base import Space

if TYPE_CHECKING:
    pass


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
        B_l, and zero for the uniform distribution; on a homogeneous space at most N_l, which a single point reaches.
    ess, n, space : float, int, Space
        As for `HeatProfile`; equal independent points have B_l near N_l / n.

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
    _row_key: ClassVar[str] = "degrees"
    _drawing: ClassVar[str] = "..drawing.curves:draw_spectrum"

    @property
    def resultant_length(self) -> float:
        """Mean resultant length R = |sum w_i x_i|, from B_1 = p R^2; nan off spheres."""
        return math.sqrt(self.energies[1] / (self.space.dim + 1)) if self.space.directional else math.nan

    @property
    def bingham_energy(self) -> float:
        """B_2, the anisotropy of the second moment; nan off spheres."""
        return float(self.energies[2]) if self.space.directional else math.nan

    def __repr__(self) -> str:
        low = ", ".join(f"B_{degree}={energy:.4g}" for degree, energy in enumerate(self.energies[1:4], start=1))
        return f"PowerSpectrum({self.space!r}, n={self.n}, ess={self.ess:.4g}: {low}, ... B_{self.degrees[-1]})"


@told
def power_spectrum(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    max_degree: int = 64,
    rtol: float = 1e-9,
    progress: bool = False,
) -> PowerSpectrum:
    """The energy of a weighted cloud in each level of the Laplacian.

    On the sphere in R^p, B_1 = p R^2 is Rayleigh's statistic and B_2 Bingham's, both per point. The energies add up to
    the profile: mmd2(t) = sum_{l >= 1} exp(-2 lambda_l t) B_l.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`.
    max_degree : int
        The last level, at least 2. Levels are counted from zero in increasing order of eigenvalue: the degree l on
        spheres and rotations, half of it on projective spaces; on tori of up to three dimensions the number of the
        distinct eigenvalue sum_j (2 pi k_j / T_j)^2; on meshes, point clouds and graphs the number of the mode.
    rtol : float
        Relative accuracy asked of the transforms and sums over pairs.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Examples
    --------
    >>> import heatess as he
    >>> poles = power_spectrum([[0, 0, 1], [0, 0, -1]], max_degree=4)
    >>> poles.energies.round(6)
    array([1., 0., 5., 0., 9.])
    >>> poles.resultant_length
    0.0
    """
    check_rtol(rtol)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    question = LevelsQuestion.of(measure, whole(max_degree, "`max_degree`", 2) + 1, rtol)
    eigenvalues, logs, moments = columns.levels(question, partial(_too_long, question))
    with np.errstate(over="ignore"):
        counts = np.exp(logs)
    exact = counts < 2**40
    counts[exact] = np.rint(counts[exact])
    energies = np.where(moments > 0, counts, 0.0) * moments
    degrees = np.arange(len(energies))
    return PowerSpectrum(degrees, np.array(eigenvalues), counts, energies, measure.ess, measure.n, measure.space)


def _too_long(question: LevelsQuestion, wait: str) -> str:
    """Words for levels that take longer than anybody waits, by all pairs."""
    measure, transform = question.measure, question.measure.space.level_transform
    way_out = "give m of them, drawn by weight, which adds about multiplicities / m to the energies"
    if transform is not None:
        way_out = f"`max_degree={int(transform.most)}` or less takes a fast transform instead"
    what = f"`max_degree={question.count - 1}` of {measure.n:,} points on {measure.space!r}"
    return f"{what} would take {wait}; {way_out}"
