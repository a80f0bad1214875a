"""Heat profiles: how many distinguishable atoms, and how much occupied volume, at every scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import plateaus, restored, scales
from .arrays import FloatArray, is_dask, shown
from .engines import plan, sampled
from .errors import CalibrationWarning, InputError, PrecisionWarning, ScaleError, missing_extra, warn
from .fitting import scales_for
from .heat.sums import HeatSums
from .known import Known
from .measure import Measure
from .plateaus import Plateaus
from .progress import Progress
from .spaces.base import Space
from .transforms.base import Spectrum

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from matplotlib.axes import Axes

SCHEMA = "heatess.profile/1"
_CURVES = ("times", "angles", "resolutions", "gess", "volume", "divergence", "mmd2", "dimension", "error")


@dataclass(frozen=True)
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


@dataclass(frozen=True, eq=False, repr=False)
class HeatProfile(scales.OverScales):
    """The heat profile of a weighted cloud: one entry per scale in each array.

    Attributes
    ----------
    times, angles : ndarray
        Diffusion times t, and alpha = sqrt(8 t) in degrees (in the unit of distance where distances are not angles).
    resolutions : ndarray
        Distance at which two atoms overlap by exactly 1/e, in the unit of `angles`; nan where all pairs overlap more.
    gess : ndarray
        Geometric effective sample size, 1 / sum_ij w_i w_j s_t(x_i, x_j), in [1, ess].
    volume, divergence : ndarray
        Occupied volume fraction U2 = 1 / A, zero where it underflows, and Renyi-2 divergence from uniform, D2 = log A.
    mmd2 : ndarray
        A - 1, the squared MMD to the uniform law with kernel k_2t; inf where it overflows.
    dimension : ndarray
        Order-two dimension, - d log gESS / d log alpha, from the exact derivative.
    error : ndarray
        Bound on the relative error of `gess`: truncation, transform and rounding together; on meshes and point clouds
        an estimate. A warning says so where `mmd2` is less certain than four times this and 1e-4; chance, with *pairs*,
        moves it by (1 + 1 / mmd2) times this.
    ess, n : float, int
        Ordinary effective sample size, 1 / sum w_i^2, and number of atoms.
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

    def at(
        self, *, angle: float | None = None, time: float | None = None, resolution: float | None = None
    ) -> ProfilePoint:
        """The profile at one scale, one of its own or any that the computed levels still certify; never interpolated.

        >>> import heatess as he
        >>> cloud = he.samplers.fibonacci(30)
        >>> round(he.heat_profile(cloud).at(angle=15).gess, 1)
        29.7
        """
        check_one_scale(angle, time, resolution)
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
            f"this profile does not certify the scale sqrt(8 t) = {scale.angles[0]:g}{self._unit} (its own "
            f"are {self.angles.min():g} to {self.angles.max():g}); call heat_profile with that scale"
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

        The count is that of the law behind independent draws, 1 / sum of squared shares of the modes, so that unequal
        modes count as fewer, and single draws do not count as modes. With G = (1 - 1 / ESS) / (1 / gESS - 1 / ESS),
        D the dimension of the space and d = - d log G / d log alpha,

            N = G (1 - d / D)^(D/2)

        is free of the blur within modes: constant in alpha, if they are Gaussian and far apart. On compact spaces the
        formula is the one that is exact there, for modes that spread like heat. A plateau is a range over which N
        changes no faster than alpha^0.3, at least a factor of 1.4 long, with N up to ESS / 2, where blur within
        modes is at most four times that of the scale, and the law is not nearly uniform.

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

    def to_xarray(self) -> Any:
        """An xarray Dataset over the dimension `angle`, with times and resolutions as coordinates.

        >>> import heatess as he
        >>> found = he.heat_profile(he.samplers.fibonacci(300), angles=[10, 60]).to_xarray()
        >>> found.gess.sel(angle=60).round(2).item()
        4.0
        """
        try:
            import xarray
        except ImportError:
            raise missing_extra("xarray", "xarray") from None
        units = {"units": "degree" if self.space.angular else "1"}
        curves = {name: ("angle", np.array(getattr(self, name))) for name in _CURVES[3:]}
        coords: dict[str, Any] = {"angle": ("angle", np.array(self.angles), units)}
        coords["time"] = ("angle", np.array(self.times))
        coords["resolution"] = ("angle", np.array(self.resolutions), units)
        known = {name: value for name, value in self.known.to_dict().items() if value}
        facts = {name: value for name, value in self._facts().items() if name != "known"}
        return xarray.Dataset(curves, coords=coords, attrs=facts | known)

    @classmethod
    def from_json(cls, text: str, *, space: Space | None = None) -> HeatProfile:
        """The profile that `to_json` wrote, or `heatess profile --json`; one on a mesh or graph needs its *space* too.

        What is not finite is null in JSON: `mmd2` beyond all floats becomes inf again, an unknown `error` inf, and all
        else nan. Scales between those of the profile are not kept, so that `at` knows its own only.

        >>> import heatess as he
        >>> text = he.heat_profile(he.samplers.fibonacci(300), angles=[10, 60]).to_json()
        >>> he.HeatProfile.from_json(text).gess.round(1)
        array([131.1,   4. ])
        """
        return cls(**restored.profile(text, SCHEMA, _CURVES, space))

    def report(self, path: str | PathLike[str], *, name: str | None = None) -> Path:
        """Write the curves and tables of this profile as one HTML file, and return its path.

        A profile has no atoms: `heatess.report(measure, path)` shows them too.

        >>> import heatess as he
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> he.heat_profile(he.samplers.fibonacci(300)).report(path, name="even").name
        'report.html'
        """
        from .reporting import report

        return report(self, path, names=name)

    def plot(self, ax: Axes | None = None, *, quantity: str = "gess", **style: Any) -> Axes:
        """Draw one curve against the scale and return the Axes; see `heatess.plot.draw_profile`.

        >>> import heatess as he
        >>> ax = he.heat_profile(he.samplers.fibonacci(300)).plot(quantity="volume")
        >>> ax.get_ylabel()
        'occupied volume (fraction of the space)'
        """
        from .plot import draw_profile

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


def heat_profile(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    rtol: float = 1e-8,
    method: str = "auto",
    pairs: float | None = None,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
) -> HeatProfile:
    """The heat-kernel entropy profile and geometric effective sample size at every scale.

    For weights w_i summing to one and the heat overlap s_t of two atoms,

        gESS(t) = 1 / sum_ij w_i w_j s_t(x_i, x_j),    A(t) = sum_ij w_i w_j k_2t(x_i, x_j).

    Parameters
    ----------
    points : array-like, shape (n, d)
        Atoms; unit vectors unless *space* says otherwise.
    weights, log_weights : array-like, shape (n,), optional
        At most one of them; neither need be normalised. Default: equal weights. Of a data frame, a column's name.
    space : Space, optional
        The manifold. Default: the unit sphere of the array's dimension.
    angles, times, resolutions : array-like, optional
        At most one of them: alpha = sqrt(8 t) in degrees; diffusion times; or the distance in degrees at which two
        atoms overlap by 1/e (the choice for more than ten dimensions). Default: 60 scales that fit the cloud, see
        `heatess.fitting.fitting_scales`.
    rtol : float
        Relative accuracy wanted; what was reached for `gess` is in the result's `error`. There is a `PrecisionWarning`
        where `mmd2` may be off by more than four times that, by more than *rtol* and by more than 1e-4 (0.1 on meshes
        and point clouds): with rtol=0.01 it may be off by one per cent.
    method : {"auto", "spectral", "pairwise", "local"}
        Force an engine. All agree to *rtol*.
    pairs, rng : int, and Generator or int, optional
        Estimate from about this many random pairs instead, where all pairs would take hours: unbiased in 1 / gESS.
        `error` then includes three standard errors, and what atoms and close pairs too rare to be drawn could add; the
        truth lies outside in less than 1 case of 190. Not for meshes, point clouds and graphs, whose time is linear in
        n anyway. The randomness is that of *rng*.
    progress : bool
        Show a bar on stderr for long sums.

    Examples
    --------
    Three hundred labels at thirty places are thirty particles, not three hundred:

    >>> import heatess as he
    >>> labels = np.repeat(he.samplers.fibonacci(30), 10, axis=0)
    >>> profile = he.heat_profile(labels, angles=[5, 15, 45])
    >>> round(profile.ess), profile.gess.round(1)
    (300, array([30. , 29.7,  6.8]))
    """
    check_rtol(rtol)
    if is_dask(points):
        from .distributed import profile_collection

        at_scales: dict[str, Any] = {"angles": angles, "times": times, "resolutions": resolutions}
        how: dict[str, Any] = {"rtol": rtol, "method": method, "pairs": pairs, "progress": progress}
        return profile_collection(points, weights, log_weights=log_weights, space=space, **at_scales, **how)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    bar, facts = Progress(progress), Facts(measure.space, measure.n, measure.ess, rtol, measure.known.of_all)
    with bar.told():
        at = scales_for(measure, angles, times, resolutions, rtol)
    scales.warn_below_cell(measure.known.cell, at.angles)
    if pairs is not None:
        if method != "auto":
            raise InputError(f"give pairs= or method={method!r}, not both: random pairs are a method of their own")
        sums = sampled.heat_sums(measure, at.times, rtol, *sampled.check_arguments(pairs, rng), bar)
        return build_profile(facts, sums, at, "pairs")
    with bar.told():
        sums, ran, spectrum = plan.run(measure, at.times, rtol, method, bar)
    return build_profile(facts, sums, at, ran, spectrum)


def gess(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
    rtol: float = 1e-8,
) -> float:
    """Geometric effective sample size at one scale: give exactly one of *angle*, *time*, *resolution*.

    It is the number of atoms that can be told apart, from 1 to the ordinary ESS. Parameters are as for `heat_profile`.

    Two atoms 15 degrees apart, seen at 5 degrees and at 60:

    >>> import heatess as he
    >>> pair = [[1, 0, 0], [np.cos(np.radians(15)), np.sin(np.radians(15)), 0]]
    >>> round(he.gess(pair, angle=5), 3), round(he.gess(pair, angle=60), 3)
    (2.0, 1.028)
    """
    check_rtol(rtol)
    check_one_scale(angle, time, resolution)
    if is_dask(points):
        at_scale: dict[str, Any] = {"angles": angle, "times": time, "resolutions": resolution}
        return float(heat_profile(points, weights, log_weights=log_weights, space=space, rtol=rtol, **at_scale).gess[0])
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    at = scales.resolve(measure.space, angle, time, resolution)
    scales.warn_below_cell(measure.known.cell, at.angles)
    t = float(at.times[0])
    return min(max(1 / plan.overlap(measure, t, rtol), 1.0), measure.ess)


def gess_ratio(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
) -> float:
    """GESS of the weighted atoms over gESS of the same atoms equally weighted: a resampling trigger.

    Resample when it falls below a half, say. Unlike gESS / n it is about one again after resampling.

    It cannot fall below 1 / gESS of the equally weighted atoms, its value with all weight on one of them. There is a
    `CalibrationWarning` where that floor is above a half: the scale is then too wide beside the cloud to tell anything.

    >>> import heatess as he
    >>> cloud = he.samplers.fibonacci(500)
    >>> he.gess_ratio(cloud, np.ones(500), angle=10)
    1.0
    >>> round(he.gess_ratio(cloud, np.exp(20 * cloud[:, 2]), angle=10), 3)
    0.057
    """
    check_one_scale(angle, time, resolution)
    if is_dask(points):
        at_scale: dict[str, Any] = {"angle": angle, "time": time, "resolution": resolution, "space": space}
        return gess(points, weights, log_weights=log_weights, **at_scale) / gess(points, **at_scale)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    t = float(scales.resolve(measure.space, angle, time, resolution).times[0])
    return ratio_at(measure, t, 0.5)


def ratio_at(measure: Measure, time: float, threshold: float, narrows: bool = False) -> float:
    """`gess_ratio` of a measure, with a warning if it can never fall below a threshold.

    Of a cloud of rms width W in D dimensions the floor is about (1 + 4 W^2 / (D alpha^2))^(-D/2); W from the floor that
    was found says at which scale alpha it is half the threshold. A scale that *narrows* goes there, where the floor is
    above three quarters of the threshold.
    """
    even = measure.equally_weighted
    floor = plan.overlap(even, time, 1e-8)
    for _ in range(3):
        share = widest_share(floor, threshold, measure.space.dim)
        if not narrows or floor < 0.75 * threshold or share == 0:
            break
        time *= share**2
        floor = plan.overlap(even, time, 1e-8)
    if floor > threshold and measure.ess < (1 - 1e-9) * measure.n:  # equal weights have the ratio 1 at every scale
        advice = f"give one of {scales.in_words(measure.space, share**2 * time)} or finer" if share else "all are one"
        warn(
            f"at {scales.in_words(measure.space, time)} the ratio is {floor:.2f} or more whatever the weights are, and "
            f"so never below {threshold:g}: the scale is too wide beside the cloud; {advice}",
            CalibrationWarning,
        )
    return floor / plan.overlap(measure, time, 1e-8)


def widest_share(floor: float, threshold: float, dim: int) -> float:
    """By which factor a scale must shrink for the floor to be half the threshold.

    >>> round(widest_share(0.5, 0.5, 2), 3)  # floor 1 / (1 + 2 W^2 / alpha^2): W^2 = alpha^2 / 2, wanted 1 / 4
    0.577
    """
    power = 2 / max(dim, 1)
    return math.sqrt(max(floor**-power - 1, 0.0) / ((threshold / 2) ** -power - 1))


def check_rtol(rtol: float) -> None:
    """Refuse a tolerance that is not a number from 1e-15 to 1."""
    if isinstance(rtol, bool) or not isinstance(rtol, int | float | np.floating) or not 1e-15 <= rtol < 1:
        raise InputError(f"rtol must be a number from 1e-15 to 1, but is {shown(rtol)}")


def check_one_scale(angle: Any, time: Any, resolution: Any) -> None:
    """Refuse anything but one number for one of the three."""
    given = [value for value in (angle, time, resolution) if value is not None]
    try:
        shape: Any = np.shape(given[0]) if len(given) == 1 else None
    except Exception:  # rows of different lengths, or an object that is no array
        shape = type(given[0]).__name__
    if shape != ():
        found = "none" if not given else f"{len(given)} arguments" if len(given) > 1 else f"shape {shape}"
        raise ScaleError(f"give exactly one scale, a number: angle=, time= or resolution=; found {found}")


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
    "pairs, or leave out pairs= to sum over all; what chance does to gess is in error"
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
            "those that are close; give more pairs, or leave out pairs= to sum over all",
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
