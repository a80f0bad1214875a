"""What a sample says of the law behind it: unbiased estimates at every scale, with confidence bands."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, generator, is_dask
from ..base.errors import CalibrationWarning, InputError, PrecisionWarning, warn
from ..base.messages import Message
from ..base.progress import told
from ..engines.centred_overlap import Diagonal, diagonal_of
from ..engines.plan import Outcome
from ..measures import scales
from ..measures.measure import Measure
from ..measures.scales import check_one_scale, check_rtol
from ..profiles.default_scales import scales_for
from ..spaces.base import Space
from .band import ENDS, QUANTITIES, Band, bands_of
from .jackknife import excesses, refuse_cost, refuse_one_footprint
from .policy import independent, standing
from .resolution_limit import resolution_limit
from .score_intervals import NODES, Interval, Moments, estimate_of, moments_of, nodes_of, quantiles, score_interval
from .weight_origin import WeightsAre, origin_of_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Errors of sums, as a share of 1 / ESS, from which there is a warning.
SUM_ERROR_TO_WARN_OF = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class PopulationProfile(scales.OverScales):
    """Estimates for the distribution behind a sample at every scale, with confidence bands; see `population_profile`.

    Attributes
    ----------
    times, angles, resolutions : ndarray
        Scales, as in `HeatProfile`.
    places : Band
        k_2t(x, x) / A: how many heat footprints the distribution fills. Not clipped: where chance makes the estimate of
        A smaller than one, it is above k_2t(x, x) and above its band, and it is inf where that of A is not positive.
        The repr and the command line tell `possible_places`, which are not.
    volume, divergence : Band
        Occupied volume fraction 1 / A and Renyi-2 divergence log A, with the estimate of A clipped to A >= 1.
    mmd2 : Band
        A - 1, the squared MMD of the distribution to uniform. The estimate is unbiased, and so may be negative. On
        spaces of infinite volume these three are nan.
    level : float
        Confidence level of all bands.
    ess, n : float, int
        Ordinary effective sample size, 1 / sum w_i^2, and number of points.
    pareto_k : float
        Tail index of the weights, see `pareto_k`; nan if they are equal or too few for a tail.
    weights_are : {"fixed", "importance"}
        Where the weights come from.
    resolution_limit : float
        The scale sqrt(8 t), in degrees or in the unit of distance, at which `places` equals ESS. At finer scales gESS
        tells of the sample, at coarser ones of the distribution. It is nan if this lies outside the scales: all of them
        are below the limit if `places` is above ESS at all, and above it if below.
    withheld : str or None
        Why there are no bands; lower and upper ends are then nan. None if there are.
    space : Space
        The manifold.

    Examples
    --------
    >>> import heatess as he
    >>> law = he.population_profile(he.samplers.tetrahedral(600, 40.0, rng=0), angles=[1, 5, 20])
    >>> law.places.estimate.round(1)
    array([1434.6,   57.2,    7.3])
    >>> round(law.resolution_limit, 1)
    1.5
    """

    times: FloatArray
    angles: FloatArray
    places: Band
    volume: Band
    divergence: Band
    mmd2: Band
    level: float
    ess: float
    n: int
    pareto_k: float
    weights_are: WeightsAre
    resolution_limit: float
    withheld: Message | None
    space: Space
    _resolutions: FloatArray | None = field(default=None)

    schema: ClassVar[str] = "heatess.population/1"
    columns: ClassVar[tuple[str, ...]] = (
        "times",
        "angles",
        "resolutions",
        *(name + end for name in QUANTITIES for end in ("", *(f"_{end}" for end in ENDS))),
    )
    facts: ClassVar[tuple[str, ...]] = (
        *("level", "ess", "n", "pareto_k", "weights_are", "resolution_limit", "withheld", "space"),
    )
    shown: ClassVar[tuple[str, ...]] = ("angles", "places", "places_lower", "places_upper", "volume", "mmd2")
    _curve: ClassVar[str] = "places"

    @classmethod
    def _mended(cls, found: dict[str, Any]) -> dict[str, Any]:
        ends = {name: {end: found.get(f"{name}_{end}") for end in ENDS} for name in QUANTITIES}
        return super()._mended(found) | {name: {"estimate": found.get(name), **ends[name]} for name in QUANTITIES}

    def _value(self, name: str) -> Any:
        quantity, _, end = name.partition("_")
        return np.asarray(getattr(getattr(self, quantity), end) if end else getattr(self, name))

    def at(
        self, *, angle: float | None = None, time: float | None = None, resolution: float | None = None
    ) -> PopulationProfile:
        """The same at one of its own scales; others are refused, not interpolated.

        >>> import heatess as he
        >>> found = he.population_profile(he.samplers.uniform(300, rng=1), angles=[20, 40])
        >>> round(float(found.at(angle=40).places[0]), 1)
        8.5
        """
        check_one_scale(angle, time, resolution)
        wanted = float(scales.resolve(self.space, angle, time, resolution).times[0])
        row = int(np.argmin(np.abs(np.log(self.times / wanted))))
        if abs(self.times[row] / wanted - 1) > 1e-9:
            raise InputError(
                f"this profile has no <!scale {scales.in_words(self.space, wanted)}!> (the nearest is "
                f"{scales.in_words(self.space, float(self.times[row]))}); call `population_profile` with that scale"
            )
        one = slice(row, row + 1)
        bands = {name: getattr(self, name).rows(one) for name in QUANTITIES}
        of_resolutions = None if self._resolutions is None else self._resolutions[one]
        return replace(self, times=self.times[one], angles=self.angles[one], _resolutions=of_resolutions, **bands)

    def plot(self, ax: Axes | None = None, *, quantity: str = "places", **style: Any) -> Axes:
        """Draw one estimate with both its bands against the scale; see `heatess.inference.drawing.draw_population`.

        >>> import heatess as he
        >>> ax = he.population_profile(he.samplers.uniform(300, rng=1)).plot()
        >>> ax.get_xscale()
        'log'
        """
        from .drawing.population import draw_population

        return draw_population(self, ax, quantity=quantity, **style)

    def __repr__(self) -> str:
        unit = " deg" if self.space.angular else ""
        first, last = int(np.argmin(self.times)), int(np.argmax(self.times))
        ends = [first] if first == last else [first, last]
        found = " to ".join(f"{self._in_words(row)} at {self.angles[row]:.3g}{unit}" for row in ends)
        count = "1 scale" if len(self.times) == 1 else f"{len(self.times)} scales"
        limit = "" if math.isnan(self.resolution_limit) else f"; resolution limit {self.resolution_limit:.3g}{unit}"
        note = f"{self.level:g} bands" if self.withheld is None else "bands withheld"
        facts = f"{self.space!r}, n={self.n}, ess={self.ess:.4g}, {self.weights_are} weights"
        return f"PopulationProfile({facts}: {count}, places {found}{limit}; {note})"

    def possible_places(self) -> FloatArray:
        """The estimate of `places` as it is told in words: at most the k_2t(x, x) of a uniform distribution.

        >>> import heatess as he
        >>> even = he.population_profile(he.samplers.fibonacci(200), angles=[20])
        >>> even.places.estimate.round(1), even.possible_places().round(1)
        (array([39.6]), array([33.2]))
        """
        estimate, kernel = self.places.estimate, self.space.pair_kernel
        if kernel is None or not self.space.compact:
            return estimate
        with np.errstate(over="ignore"):
            return np.minimum(estimate, np.exp(kernel.log_diagonal(self.times)))

    def _in_words(self, row: int) -> str:
        value = float(self.possible_places()[row])
        low, high = float(self.places.lower[row]), float(self.places.upper[row])
        return f"{value:.4g}" if math.isnan(low) else f"{value:.4g} [{low:.4g}, {high:.4g}]"


@told
def population_profile(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    level: float = 0.95,
    weights_are: str | None = None,
    chains: Any = None,
    rtol: float = 1e-8,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
) -> PopulationProfile:
    """Estimates for the distribution that a sample was drawn from, at every scale, with confidence bands.

    `heat_profile` describes the points. If they are independent draws, the power A_hat of the sample is larger than the
    power A of the distribution, because every point overlaps with itself. With
    S = sum w_i^2 = 1 / ESS and k0 = k_2t(x, x),

        A_U = (A_hat - S k0) / (1 - S),       places = k0 / A,

    A_U is unbiased for weights that do not depend on the points. Importance weights do; for them the bias that is left
    is removed by the jackknife, which leaves out each point in turn. `places` counts the heat footprints that the
    distribution fills, whatever the number of points. For fixed weights

        1 / gESS = 1 / ESS + (1 - 1 / ESS) / places

    holds exactly: gESS is the smaller of ESS and places, smoothly. The scale where these two are equal is the
    `resolution_limit` of the sample.

    Bands are score intervals: they hold all values of A from which the estimate is less than some standard deviations
    away, by the variance that this value of A implies (see `heatess.inference.score_intervals`). No random number is
    drawn, and all other quantities follow from A. They assume that the draws are independent: draws of Markov chains
    are thinned first, and maps, grids, trajectories and complete lists are refused with a `KindError`.

    Bands are withheld, with the reason in `withheld`, where simulations showed them to be wrong: for fixed weights
    with an ESS below 10, and for importance weights if fewer than 25 points carry their variance, (sum w^2)^2 / sum
    w^4, if `pareto_k` is above 0.7, or if they grow at the edge of the cloud as those of a tail index above 0.45 do.
    Where they grow more slowly, and the heaviest point is at the edge, k is not asked, and 10 points are enough; where
    weights at the edge follow no rule, 35 are needed. There is a `CalibrationWarning` for an ESS below 25, for
    importance weights with fewer than 50 points that carry their variance or k above 0.5, where it is asked, and if
    more than 5 % of the points are exact copies of others, as they are after resampling: copies are not independent
    draws.

    The time is linear in n where `heat_profile` is: with a transform, in flat space of up to three dimensions, and at
    fine scales. It is that of one transform, a second one for unequal weights, and 16 back, for any number of scales;
    between these, variances are interpolated. Elsewhere all pairs are summed. On meshes, point clouds and graphs
    k_2t(x, x) depends on the place, and they are refused.

    Parameters
    ----------
    points, weights, log_weights, space, angles, times, resolutions
        As for `heat_profile`.
    level : float
        Confidence level, from 0.5 to 0.999.
    weights_are : {"fixed", "importance"}, optional
        "fixed": deterministic, or drawn independently of the points. "importance": functions of the points, such as
        target over proposal density; the distribution is then the target. Default: importance, or fixed if all but
        zeros are equal.
    chains : int or array-like, shape (n,), optional
        As for `uniformity_test`.
    rtol : float
        Relative accuracy wanted of the sums of the sample.
    rng : Generator or int, optional
        Taken as by the other functions of inference, and not used: no chance enters, so results can always be repeated.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Returns
    -------
    PopulationProfile
        With `places`, `volume`, `divergence`, `mmd2`, each a `Band` with .estimate, .lower, .upper,
        .simultaneous_lower and .simultaneous_upper.

    Examples
    --------
    A von Mises-Fisher distribution with kappa = 10 fills 14.1 places at 10 degrees, known to about 10 % from 400 draws:

    >>> import heatess as he
    >>> cloud = he.samplers.von_mises_fisher(400, [0, 0, 1], 10.0, rng=1)
    >>> found = he.population_profile(cloud, angles=[1, 10, 40])
    >>> found.places.estimate.round(1)
    array([1422.5,   14.9,    1.8])
    >>> found.places.lower.round(1), found.places.upper.round(1)
    (array([1186.7,   13.5,    1.7]), array([1699.8,   16.4,    1.9]))
    >>> round(found.resolution_limit, 2)  # in degrees: at finer scales gESS counts atoms
    1.84
    """
    check_rtol(rtol)
    generator(rng)  # refuses what is none
    if is_dask(points):
        raise InputError("`population_profile` needs <+all points in memory+>; give `points.compute()` or a sample")
    sample = Measure.of(points, weights, log_weights=log_weights, space=space)
    instead = "the profile describes it as it is"
    measure = independent(sample, "points", "distribution to estimate", instead, chains)
    _check(measure, level)
    origin = origin_of_weights(measure, weights_are)
    at = scales_for(measure, angles, times, resolutions, rtol)
    refuse_one_footprint(measure, at.times)
    atoms = measure.support()
    refuse_cost(atoms, nodes_of(np.unique(at.times), NODES)[1], rtol)
    diagonal = diagonal_of(atoms, at.times, rtol)
    outcome, excess = excesses(atoms, at.times, rtol, diagonal)
    moments = moments_of(atoms, at.times, excess, rtol)
    importance = origin == "importance"
    allowed = standing(measure, origin)
    withheld = Message(allowed.refusal) if allowed.refusal else None
    if withheld is None and allowed.caution:
        warn(allowed.caution, CalibrationWarning)
    _warn_of_doubt(outcome, moments, excess, measure.ess)
    ends = _intervals(atoms, at.times, diagonal, moments, importance, level, withheld)
    estimate = estimate_of(moments, importance)
    bands = bands_of(measure.space, diagonal, estimate, ends)
    limit = resolution_limit(atoms, at.times, outcome, diagonal, estimate, moments.unbiased, rtol)
    return PopulationProfile(
        at.times,
        at.angles,
        **bands,
        level=float(level),
        ess=measure.ess,
        n=measure.n,
        pareto_k=allowed.pareto_k,
        weights_are=origin,
        resolution_limit=limit,
        withheld=withheld,
        space=measure.space,
        _resolutions=at.resolutions,
    )


def _check(measure: Measure, level: float) -> None:
    if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0.5 <= level <= 0.999:
        raise InputError.unfit("level", "a number from 0.5 to 0.999", level)
    if measure.space.pair_kernel is None:
        raise InputError(
            f"the places of a distribution on {measure.space!r} are not defined: what a point adds by overlapping "
            "with itself, k_2t(x, x), depends on its place there; `heat_profile` describes the sample"
        )
    count = int((measure.weights > 0).sum())
    if count < 3 or measure.ess < 1 + 1e-6:
        raise InputError(
            f"`population_profile` needs <+three or more points with a weight+>, but found <!{count} with an ESS of "
            f"{measure.ess:.7g}!>; give more draws"
        )


def _warn_of_doubt(outcome: Outcome, moments: Moments, excess: FloatArray, ess: float) -> None:
    """Sums of the sample that are not certain beside 1 / ESS, or variances that splines do not follow."""
    error = float((outcome.sums.error * (np.abs(excess) + outcome.sums.overlap)).max()) * ess
    if error > SUM_ERROR_TO_WARN_OF:
        warn(f"sums over pairs are certain only to {error:.1e} of 1 / ESS; estimates may be off", PrecisionWarning)
    if moments.interpolated > 0.1:
        warn(
            f"standard errors may be off by {moments.interpolated / 2:.0%} between scales; give 16 scales or fewer, "
            "for which they are not interpolated",
            PrecisionWarning,
        )


def _intervals(
    atoms: Measure,
    times: FloatArray,
    diagonal: Diagonal,
    moments: Moments,
    importance: bool,
    level: float,
    withheld: str | None,
) -> list[Interval]:
    """Pointwise and simultaneous intervals of the excess."""
    if withheld is not None:
        nothing = np.full(len(times), np.nan)
        return [Interval(nothing, nothing)] * 2
    return [
        score_interval(atoms, times, diagonal, moments, importance=importance, quantile=quantile)
        for quantile in quantiles(level, atoms.ess, moments.correlation)
    ]
