"""Heat profiles: how many distinguishable atoms, and how much occupied volume, at every scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.errors import InputError, PrecisionWarning, warn
from ..base.known import Known
from ..base.notebook import html_of, readable
from ..heat.sums import HeatSums
from ..measures import scales
from ..spaces.base import Space
from ..transforms.base import Spectrum
from . import plateaus
from .plateaus import Plateaus

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMA = "heatess.profile/1"
_CURVES = ("times", "angles", "resolutions", "gess", "volume", "divergence", "mmd2", "dimension", "error")


@dataclass(frozen=True, repr=False)
class ProfilePoint:
    """One scale of a `HeatProfile`; the fields are its attributes at that scale.

    >>> import heatess as he
    >>> point = he.heat_profile(he.samplers.fibonacci(30)).at(angle=15)
    >>> round(point.gess, 1), round(point.volume, 3)
    (29.7, 0.506)
    """

    time: float
    angle: float
    resolution: float
    gess: float
    volume: float
    divergence: float
    mmd2: float
    dimension: float
    error: float

    def __repr__(self) -> str:
        return f"ProfilePoint({', '.join(f'{name}={readable(value)}' for name, value in vars(self).items())})"

    def _repr_html_(self) -> str:
        return html_of({name: readable(value) for name, value in vars(self).items()}, "one scale of a heat profile")


@dataclass(frozen=True, eq=False, repr=False)
class HeatProfile(scales.OverScales):
    """The heat profile of a weighted cloud: one entry per scale in each array.

    Attributes
    ----------
    times, angles : ndarray
        Diffusion times t, and alpha = sqrt(8 t) in degrees (in the unit of distance where distances are not angles).
    resolutions : ndarray
        Distance at which two points overlap by exactly 1/e, in the unit of `angles`; nan where all pairs overlap more.
    gess : ndarray
        Geometric effective sample size, 1 / sum_ij w_i w_j s_t(x_i, x_j), in [1, ess].
    volume, divergence : ndarray
        Occupied volume fraction U2 = 1 / A, zero where it underflows, and Renyi-2 divergence from uniform, D2 = log A.
    mmd2 : ndarray
        A - 1, the squared MMD to the uniform distribution with kernel k_2t; inf where it overflows.
    dimension : ndarray
        Order-two dimension, - d log gESS / d log alpha, from the exact derivative.
    error : ndarray
        Bound on the relative error of `gess`: truncation, transform and rounding together; on meshes and point clouds
        an estimate. A warning says so where `mmd2` is less certain than four times this and 1e-4; chance, with *pairs*,
        moves it by (1 + 1 / mmd2) times this.
    ess, n : float, int
        Ordinary effective sample size, 1 / sum w_i^2, and number of points.
    space, method : Space, str
        The manifold, and the engines that ran, for instance "spectral" or "local+spectral".
    known : Known
        What was known of the measure: kind, frame, size of cells.

    Examples
    --------
    >>> import heatess as he
    >>> profile = he.heat_profile(he.samplers.fibonacci(300), angles=[2, 10, 60])
    >>> profile.gess.round(1)
    array([300. , 131.1,   4. ])
    >>> profile.volume.round(4)
    array([0.0914, 0.9959, 1.    ])
    """

    times: FloatArray
    angles: FloatArray
    gess: FloatArray
    volume: FloatArray
    divergence: FloatArray
    mmd2: FloatArray
    dimension: FloatArray
    error: FloatArray
    ess: float
    n: int
    space: Space
    method: str
    _spectrum: Spectrum | None = field(default=None)
    _resolutions: FloatArray | None = field(default=None)
    known: Known = field(default=Known())

    schema: ClassVar[str] = SCHEMA
    columns: ClassVar[tuple[str, ...]] = _CURVES
    facts: ClassVar[tuple[str, ...]] = ("ess", "n", "space", "method", "known")
    shown: ClassVar[tuple[str, ...]] = ("angles", "resolutions", "gess", "volume", "dimension", "error")
    _curve: ClassVar[str] = "gess"
    _unsaved: ClassVar[tuple[str, ...]] = ("_spectrum",)

    def at(
        self, *, angle: float | None = None, time: float | None = None, resolution: float | None = None
    ) -> ProfilePoint:
        """The profile at one scale, one of its own or any that the computed levels still certify; never interpolated.

        >>> import heatess as he
        >>> cloud = he.samplers.fibonacci(30)
        >>> round(he.heat_profile(cloud).at(angle=15).gess, 1)
        29.7
        """
        scales.check_one_scale(angle, time, resolution)
        scale = scales.resolve(self.space, angle, time, resolution)
        wanted = float(scale.times[0])
        near = int(np.argmin(np.abs(np.log(self.times / wanted))))
        if abs(self.times[near] / wanted - 1) < 1e-9:
            return self._point(near)
        if self._spectrum is not None:
            with np.errstate(invalid="ignore"):  # where far too few levels certify nothing
                sums = self._spectrum.heat_sums(scale.times)
            most = max(10 * float(self.error.max()), 1e-10)
            if float(sums.error.max()) <= most:
                facts = Facts(self.space, self.n, self.ess, most, self.known)
                return build_profile(facts, sums, scale, self.method)._point(0)
        raise InputError(
            f"this profile does not certify the scale sqrt(8 t) = <!{scale.angles[0]:g}{self._unit}!> (its own are "
            f"<+{self.angles.min():g} to {self.angles.max():g}+>); call `heat_profile` with that scale"
        )

    @property
    def below_cell(self) -> NDArray[np.bool_]:
        """At which scales sqrt(8 t) is smaller than the cells of the map or grid, so that gESS counts cells.

        >>> import heatess as he
        >>> he.heat_profile(he.from_healpix(range(192), order="ring"), angles=[15, 60]).below_cell
        array([False, False])
        """
        return scales.below_cell(self.known.cell, self.angles)

    def _point(self, row: int) -> ProfilePoint:
        return ProfilePoint(*(float(getattr(self, name)[row]) for name in _CURVES))

    def plateaus(self) -> Plateaus:
        """The ranges of scales over which the cloud consists of a certain number of modes, from fine to coarse.

        The count is that of the distribution behind independent draws, 1 / sum of squared shares of the modes, so that
        unequal modes count as fewer, and single draws do not count as modes. With G = (1 - 1 / ESS) / (1 / gESS - 1 /
        ESS), D the dimension of the space and d = - d log G / d log alpha,

            N = G (1 - d / D)^(D/2)

        is free of the blur within modes: constant in alpha, if they are Gaussian and far apart. On compact spaces the
        formula is the one that is exact there, for modes that spread like heat. A plateau is a range over which N
        changes no faster than alpha^0.3, at least a factor of 1.4 long, with N up to ESS / 2, where blur within
        modes is at most four times that of the scale, and the distribution is not nearly uniform.

        On meshes, point clouds and hyperbolic spaces the flat formula is an approximation. Where modes are of very
        different width, scales finer than the widest show the narrow ones alone, against the whole: two of four modes
        read as 1 / (2 / 4^2) = 8. Exactly m draws at each of k places read as k (n - 1) / (n - k), n = k m, since
        independent draws would repeat themselves more.

        Raises
        ------
        ScaleError
            If the scales are fewer than 4, or neighbours are more than a factor of 1.26 apart.
        InputError
            On graphs, which have no dimension.

        Examples
        --------
        >>> import heatess as he
        >>> he.heat_profile(he.samplers.tetrahedral(300, 140.0, rng=0)).plateaus()
        Plateaus(4 modes between 4.9 and 37 degrees)
        >>> (plateau,) = he.heat_profile(he.samplers.tetrahedral(300, 140.0, rng=0)).plateaus()
        >>> round(plateau.count, 1)
        4.0
        """
        order = np.argsort(self.times)
        order = order[np.diff(self.times[order], prepend=0.0) > 0]
        resolved = self.space.dim > scales.ANGLE_DIMENSION and self.space.has_resolutions
        where = self.resolutions if resolved else self.angles
        order = order[np.isfinite(where[order])]
        at_scales = (self.times, where, self.gess, self.dimension, self.divergence, self.error)
        curves = plateaus.Curves(self.ess, *(values[order] for values in at_scales))
        return plateaus.find(curves, self.space)

    @property
    def discretisation(self) -> FloatArray:
        """The part of `error` that is an estimate: what a mesh or point cloud differs from its surface. Else zero.

        What is left of `error` without it is certified, for the nodes and edges as they are.
        """
        modes = self.space.modes
        return np.zeros(len(self.times)) if modes is None else modes.discretisation_error(self.times)

    @classmethod
    def _mended(cls, found: dict[str, Any]) -> dict[str, Any]:
        """Null stands for what is not finite: mmd2 beyond all floats is inf again, an unknown error inf, others nan."""
        found = super()._mended(found)
        mmd2, known = found.get("mmd2"), found.get("divergence")
        if isinstance(mmd2, list) and isinstance(known, list):
            found["mmd2"] = [math.inf if m is None and d is not None else m for m, d in zip(mmd2, known, strict=False)]
        if isinstance(found.get("error"), list):
            found["error"] = [math.inf if error is None else error for error in found["error"]]
        return found

    def _said(self, infinite: dict[str, str]) -> dict[str, Any]:
        return {}

    def plot(self, ax: Axes | None = None, *, quantity: str = "gess", **style: Any) -> Axes:
        """Draw one curve against the scale and return the Axes; see `heatess.plot.draw_profile`.

        >>> import heatess as he
        >>> ax = he.heat_profile(he.samplers.fibonacci(300)).plot(quantity="volume")
        >>> ax.get_ylabel()
        'occupied volume (fraction of the space)'
        """
        from ..drawing.curves import draw_profile

        return draw_profile(self, ax, quantity=quantity, **style)

    @property
    def _unit(self) -> str:
        return " deg" if self.space.angular else ""

    def __repr__(self) -> str:
        first, last = int(np.argmin(self.times)), int(np.argmax(self.times))
        count = "1 scale" if len(self.times) == 1 else f"{len(self.times)} scales"
        span = f"{count}, gESS {self.gess[first]:.4g} at {self.angles[first]:.3g}{self._unit}"
        if len(self.times) > 1:
            span += f" to {self.gess[last]:.4g} at {self.angles[last]:.3g}{self._unit}"
        how = f"{self.method}, error <= {self.error.max():.1e}"
        if words := self._modes_in_words():
            span += f"; {words}"
        return f"HeatProfile({self.space!r}, n={self.n}, ess={self.ess:.4g}: {span}; {how})"

    def _modes_in_words(self) -> str:
        """The plateaus in words; "" if there is none, or there are too few scales to tell."""
        try:
            return self.plateaus().sentence
        except InputError:
            return ""

    def _caption(self) -> str:
        return f"{self.space!r}, n = {self.n}, ESS = {self.ess:.4g}, {self.method}"


class Facts(NamedTuple):
    """What a profile says of its measure, and the accuracy that was asked for."""

    space: Space
    n: int
    ess: float
    rtol: float
    known: Known = Known()


#: Why mmd2 may be less certain than gess, by method.
_WHY_NOT_CERTAIN = "this cloud is more balanced than floating-point sums can certify; gess is not affected"
_WHY = {
    "pairs": "it is too small beside the chance of random pairs, and nan where that makes it negative; give more "
    "pairs, or leave out `pairs=` to sum over all; what chance does to gess is in error"
}

#: Uncertainty of mmd2 that is worth a warning, and on spaces whose eigenpairs themselves are good to a few per cent.
MMD2_DOUBT, MMD2_DOUBT_OF_ESTIMATES = 1e-4, 0.1


def mmd2_doubt(space: Space, rtol: float) -> float:
    """The relative error of MMD^2 from which there is a warning: none up to what was asked for."""
    return max(rtol, MMD2_DOUBT if space.certified else MMD2_DOUBT_OF_ESTIMATES)


def build_profile(
    facts: Facts, sums: HeatSums, at: scales.Scales, method: str, spectrum: Spectrum | None = None
) -> HeatProfile:
    """The one way out: heat sums of any engine, accumulator or cluster become a profile, or a warning about it."""
    if method == "pairs" and (sums.error > 1).any():
        worst = int(np.argmax(sums.error))
        warn(
            f"gess may be too large by a factor of {1 + sums.error[worst]:.2g} at time {at.times[worst]:.3g}, and by "
            f"more than 2 at {int((sums.error > 1).sum())} of {len(at.times)} scales: so few random pairs would miss "
            "those that are close; give more pairs, or leave out `pairs=` to sum over all",
            PrecisionWarning,
        )
    doubt = mmd2_doubt(facts.space, facts.rtol)
    bad = sums.mmd2_error > np.maximum(doubt, 4 * sums.error)  # what `error` says already is no news
    if bad.any():
        worst = int(np.argmax(np.where(bad, sums.mmd2_error, 0.0)))
        warn(
            f"mmd2 (and divergence) may be off by {min(float(sums.mmd2_error[worst]), 1.0):.0e} relatively at "
            f"{int(bad.sum())} of {len(at.times)} scales, worst at time {at.times[worst]:.3g}, where it is "
            f"{np.exp(sums.log_mmd2[worst]):.0e}: {_WHY.get(method, _WHY_NOT_CERTAIN)}",
            PrecisionWarning,
        )
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        divergence = np.logaddexp(0.0, sums.log_mmd2)
        mmd2, volume = np.exp(sums.log_mmd2), np.exp(-divergence)
    count, dimension = np.clip(1 / sums.overlap, 1.0, facts.ess), 2 * sums.slope
    curves = (at.times, at.angles, count, volume, divergence, mmd2, dimension, sums.error)
    return HeatProfile(*curves, facts.ess, facts.n, facts.space, method, spectrum, at.resolutions, facts.known)
