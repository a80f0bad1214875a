"""A test of uniformity on homogeneous spaces: at several scales, in the lowest degrees, and as one p-value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray, generator, whole
from ..base.errors import InputError, ScaleError
from ..base.progress import told
from ..measures import scales
from ..measures.measure import Measure
from ..measures.scales import Scales
from ..spaces.base import Space
from .combined_p_values import cauchy
from .jackknife import refuse_one_footprint
from .policy import ask_weights, serial
from .uniform_null import CLOSE_PAIRS, Found, Method, claimed, find_pvalues, log_places
from .uniformity_families import Family, heat_family, sobolev_family
from .uniformity_statistics import sobolev
from .weight_origin import WeightsAre, origin_of_weights

if TYPE_CHECKING:
    pass

Rng = np.random.Generator | int

#: Scales that are tested if the user names none, and the footprints k_2t(x, x) that the space holds at the coarsest.
SCALES, FEWEST_PLACES = 5, 2.0

#: Footprints at the finest of them, so that enough pairs share one for the limit law: at least and at most so many.
LEAST_FINEST, MOST_FINEST = 8.0, 500.0

#: Footprints beyond which the statistic cannot be told from its mean in double precision.
MOST_PLACES = 1e9


class LowDegrees(NamedTuple):
    """The single degrees l = 1, ..., 4: statistics ESS B_l, which have mean N_l for uniform points, and p-values."""

    degrees: IntArray
    multiplicities: FloatArray
    statistics: FloatArray
    pvalues: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class UniformityTest(scales.OverScales):
    """What `uniformity_test` found.

    Attributes
    ----------
    pvalue : float
        One p-value over all scales and low degrees, or that of the statistic that was asked for. p-values of the limit
        distribution below 1e-300 are given as that: none is zero. It is computed to ten digits, but is the distribution
        of infinitely many points; `pvalue_in_words` says what may be claimed.
    times, angles, resolutions : ndarray, shape (scales,)
        The scales; nan for a statistic that has none.
    statistics : ndarray, shape (scales,)
        T = (A - 1) / sum w^2 = ESS MMD^2 to the uniform distribution, at each scale; or the statistic that was asked
        for.
    expected : ndarray, shape (scales,)
        Its mean for independent uniform points, k_2t(x, x) - 1; of Markov chains, that of the resampled ones.
    pvalues : ndarray, shape (scales,)
        The p-value at each scale by itself.
    degrees : LowDegrees
        The same for the degrees 1 to 4: `.degrees`, `.multiplicities`, `.statistics`, `.pvalues`. Empty on tori of
        two or more dimensions and on products, and for a statistic that was asked for.
    method : {"limit", "monte carlo", "multiplier"}
        How p-values were found.
    draws : int
        Number of random draws; 0 for the limit.
    blocks : int
        Number of blocks in which draws of Markov chains were kept together; 0 for independent draws.
    statistic : float
        The number that `pvalue` belongs to: the statistic that was asked for, or over several scales and degrees
        the mean of cot(pi p) over their p-values, which is large where one of them is small.
    name : str
        "heat", or the name of the statistic.
    weights_are : {"fixed", "importance"}
        What the weights were taken for.
    ess, n, space : float, int, Space
        As for `HeatProfile`.

    Examples
    --------
    >>> import heatess as he
    >>> test = he.uniformity_test(he.samplers.von_mises_fisher(300, [0, 0, 1], 1.0, rng=1))
    >>> f"{test.pvalue:.0e}", test.method
    ('5e-14', 'limit')
    """

    schema: ClassVar[str] = "heatess.uniformity/1"
    columns: ClassVar[tuple[str, ...]] = ("times", "angles", "resolutions", "statistics", "expected", "pvalues")
    facts: ClassVar[tuple[str, ...]] = (
        "pvalue",
        "method",
        "draws",
        "blocks",
        "statistic",
        "name",
        "weights_are",
        "ess",
        "n",
        "space",
    )
    shown: ClassVar[tuple[str, ...]] = ("angles", "statistics", "expected", "pvalues")
    _drawing: ClassVar[str] = ".drawing.uniformity:draw_uniformity"

    times: FloatArray
    angles: FloatArray
    statistics: FloatArray
    expected: FloatArray
    pvalues: FloatArray
    degrees: LowDegrees
    pvalue: float
    method: Method
    draws: int
    name: str
    weights_are: WeightsAre
    ess: float
    n: int
    space: Space
    _resolutions: FloatArray | None = field(default=None)
    blocks: int = 0

    @property
    def statistic(self) -> float:
        """The number that the p-value belongs to.

        >>> import heatess as he
        >>> test = he.uniformity_test(he.samplers.fibonacci(100), statistic="rayleigh")
        >>> test.name, bool(test.statistic == test.statistics[0])
        ('Rayleigh', True)
        """
        every = np.concatenate([self.pvalues, self.degrees.pvalues])
        return float(self.statistics[0] if len(every) == 1 else cauchy(every))

    def pvalue_in_words(self) -> str:
        """The p-value in words, "p < 1e-6" below that: the limit distribution is that of infinitely many points.

        >>> import heatess as he
        >>> he.uniformity_test(he.samplers.von_mises_fisher(300, [0, 0, 1], 1.0, rng=1)).pvalue_in_words()
        'p < 1e-6'
        """
        return claimed(self.pvalue)

    def __repr__(self) -> str:
        how = self.method if not self.draws else f"{self.method}, {self.draws:,} draws"
        how += f" of {self.blocks} blocks" if self.blocks else ""
        head = f"UniformityTest({self.space!r}, n={self.n}, ess={self.ess:.4g}: {claimed(self.pvalue, 3)} by {how}"
        if self.name != "heat":
            return f"{head}; {self.name} {self.statistic:.4g}, expected {float(self.expected[0]):.4g})"
        least = int(np.argmin(self.pvalues))
        smallest, where = float(self.pvalues[least]), f"at {self.scale_in_words(least)}"
        if len(self.degrees.pvalues) and self.degrees.pvalues.min() < smallest:
            lowest = int(np.argmin(self.degrees.pvalues))
            smallest, where = float(self.degrees.pvalues[lowest]), f"in degree {self.degrees.degrees[lowest]}"
        return f"{head}; least {claimed(smallest, 3).removeprefix('p = ')} {where})"


@told
def uniformity_test(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    statistic: Any = None,
    weights_are: str | None = None,
    chains: Any = None,
    draws: int | None = None,
    rng: Rng | None = None,
    progress: bool = False,
) -> UniformityTest:
    """Test whether points are uniform on a compact homogeneous space: one p-value over several scales.

    The statistic at each scale is how far the smoothed measure is from uniform,

        T(t) = (A(t) - 1) / sum w^2 = ESS sum_l exp(-2 lambda_l t) B_l,

    with B_l the level energies. For independent uniform points its mean is k_2t(x, x) - 1, and its distribution tends
    to that of sum_l exp(-2 lambda_l t) chi2(N_l). Coarse scales see one broad mode, fine scales see small clusters. The
    degrees 1 to 4 are tested on their own as well (Rayleigh's and Bingham's statistics, and the next two). The
    p-values are combined by the mean of cot(pi p), whose distribution is calibrated, so `pvalue` needs no correction
    for having looked at many scales.

    How p-values are found (`method` of the result says which):

    - "limit": from the limit distribution, with the exact mean and variance for these weights (for a classical
      *statistic* the limit as it stands in books: Rayleigh's p-value is the tail of a chi-square distribution at n p
      R^2). Used from an ESS of 50 on, if no weight is too large and at least 30 pairs are expected within one footprint
      at the finest scale. Nothing is random.
    - "monte carlo": everywhere else, and if *draws* are given. Uniform points with the same weights are drawn again
      and again; the p-value is exact.
    - "multiplier": for importance weights, see *weights_are*, and for Markov chains, see *chains*.

    Points must be independent draws, or those of Markov chains. Copies of a point count as several, and are strong
    evidence against uniformity. The cells of a map or grid, the steps of a trajectory and complete lists have no
    p-value, and are refused with a `KindError`.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`. The space is compact and homogeneous: spheres, projective spaces, rotations, tori, and
        products of them. Meshes, point clouds and graphs are refused.
    angles, times, resolutions : array-like, optional
        Scales to test at, as for `heat_profile`. They must be chosen before looking at the points: scales that were
        fitted to the cloud make p-values too small. Few are better than many. Default: five, from where the space
        holds two footprints to where it holds ESS^2 / 30 (8 to 500), so that enough pairs share one. That depends on
        the space and the weights alone.
    statistic : str, function or array-like, optional
        One classical statistic in place of the scales: "rayleigh", "bingham", "ajne", "gine" (G_n), "gine_f" (F_n),
        "bakshaev", and on circles "watson" and "rothman" (t = 1/3); or any Sobolev statistic by its coefficients
        v_l^2 for l = 1, 2, ..., an array or a function of an array of degrees. Definitions and factors are those of
        the R package sphunif; for equal weights S = 1/n sum_ij sum_l v_l^2 N_l P_l(d_ij).
    weights_are : {"fixed", "importance"}, optional
        "fixed": the weights are equal, or do not depend on the points. The question is whether the points are
        independent and uniform. "importance": the weights are functions of the points, such as target over proposal.
        The question is then whether the *target* is uniform, and the points themselves need not be. Signs drawn at
        random for each point give the distribution of T around its own mean; it is approximate, and refused with a
        `KindError` where `population_profile` withholds bands: where fewer than 25 points carry the variance of the
        weights, where `pareto_k` is above 0.7, or where they grow fast at the edge of the cloud.
        One transform a draw serves all scales where the space has one, in linear time; elsewhere all pairs are summed,
        each once for all draws. Default: "importance" if weights are given and differ, zeros aside, else "fixed".
    chains : int or array-like, shape (n,), optional
        The Markov chains that the points are draws of, in their order, as for `chain_ess`. Blocks of up to three
        autocorrelation times, at the scale where these are longest, get one random sign together, and resampled
        statistics are enlarged by what blocks share with their neighbours; see `two_sample_test`. Nearly independent
        draws are taken for independent ones. Default: the chains that a `Measure` knows.
    draws : int, optional
        Number of random draws: at least 19. With it, the limit distribution is not used. Default where draws are
        needed: 999.
    rng : numpy.random.Generator or int, optional
        Where chance enters. Give it to be able to repeat a result; without it, draws differ from call to call.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Returns
    -------
    UniformityTest
        With `pvalue`, and for each scale `pvalues`, `statistics` and `expected`.

    Examples
    --------
    A regular lattice is more even than chance; a faint mode is found at coarse scales:

    >>> import heatess as he
    >>> uniformity_test(he.samplers.fibonacci(500)).pvalue > 0.99
    True
    >>> faint = he.samplers.von_mises_fisher(500, [0, 0, 1], 0.5, rng=1)
    >>> found = uniformity_test(faint)
    >>> found.method, found.pvalue < 1e-3
    ('limit', True)

    Rayleigh's test:

    >>> rayleigh = uniformity_test(faint, statistic="rayleigh")
    >>> bool(np.isclose(rayleigh.statistics[0], 500 * 3 * np.sum(faint.mean(axis=0) ** 2)))
    True
    """
    whole_sample = Measure.of(points, weights, log_weights=log_weights, space=space)
    _refuse_space(whole_sample.space)
    instead = "the profile (mmd2) says how far from uniform it is"
    given = serial(whole_sample, "points", "test of uniformity", instead, chains)
    measure = given.measure
    origin = origin_of_weights(measure, weights_are)
    if origin == "importance":
        ask_weights(given.few)  # weights of zero are draws as well
    count = None if draws is None else whole(draws, "draws", 19, 10**7)
    own_rng = generator(rng)
    if statistic is None:
        at = _scales_for(given.few.support(), angles, times, resolutions)
        family, name = heat_family(measure, at.times), "heat"
    else:
        if not (angles is None and times is None and resolutions is None):
            raise ScaleError("a classical statistic has no scale; give <+`statistic=` or scales+>, not <!both!>")
        chosen = sobolev(measure.space, statistic)
        at, family, name = None, sobolev_family(measure.space, chosen), chosen.name
    found = find_pvalues(given, family, at, origin, count, own_rng)
    return replace(_result(measure, family, at, name, origin, found), n=given.n, blocks=given.blocks)


def _result(
    measure: Measure, family: Family, at: Scales | None, name: str, origin: WeightsAre, found: Found
) -> UniformityTest:
    cut = family.scales
    means = family.means() if found.expected is None else found.expected
    none = np.full(cut, np.nan)
    places = Scales(none, none.copy(), none.copy()) if at is None else at
    low = LowDegrees(
        np.arange(1, family.size - cut + 1), means[cut:], found.statistics[cut:].copy(), found.pvalues[cut:].copy()
    )
    return UniformityTest(
        places.times,
        places.angles,
        found.statistics[:cut].copy(),
        means[:cut],
        found.pvalues[:cut].copy(),
        low,
        found.pvalue,
        found.method,
        found.draws,
        name,
        origin,
        measure.ess,
        measure.n,
        measure.space,
        places.resolutions,
    )


def _scales_for(measure: Measure, angles: Any, times: Any, resolutions: Any) -> Scales:
    """The user's scales, or five that depend on the space and the ESS alone."""
    if angles is None and times is None and resolutions is None:
        return default_scales(measure)
    at = scales.resolve(measure.space, angles, times, resolutions)
    refuse_one_footprint(measure, at.times)
    finest = int(np.argmin(at.times))
    log_count = log_places(measure, float(at.times[finest]))
    if log_count > math.log(MOST_PLACES):
        raise ScaleError(
            f"at {scales.in_words(measure.space, float(at.times[finest]))} the space holds about "
            f"10^{log_count / math.log(10):.0f} footprints, and {measure.n:,} uniform points practically never share "
            "one, so there is nothing to test; give coarser scales, or none for those that fit the space and the ESS"
        )
    return at


def default_scales(measure: Measure) -> Scales:
    """Scales at which the space holds 2, ..., ESS^2 / 30 footprints k_2t(x, x), 500 at most, in equal ratios.

    >>> import heatess as he
    >>> default_scales(he.Measure(he.samplers.fibonacci(200))).angles.round()
    array([90., 42., 20., 10.,  5.])
    """
    from scipy.optimize import brentq

    space = measure.space
    most = min(max(0.99 * measure.ess**2 / CLOSE_PAIRS, LEAST_FINEST), MOST_FINEST)
    start = 2 * math.log(space.diameter) - math.log(8)
    found = []
    for places in np.geomspace(FEWEST_PLACES, most, SCALES).tolist():

        def excess(log_time: float, goal: float = math.log(places)) -> float:
            return log_places(measure, math.exp(log_time)) - goal

        low = high = start
        while excess(low) < 0:
            low -= 1.0
        while excess(high) > 0:
            high += 1.0
        found.append(math.exp(brentq(excess, low, high, xtol=1e-6)))
    return scales.resolve(space, times=found)


def _refuse_space(space: Space) -> None:
    if not space.compact:
        raise InputError(
            f"there is no uniform distribution on <!{space!r}!>, whose volume is infinite; give points of <+a compact "
            "space+>, for instance a Torus whose periods are larger than the cloud"
        )
    if space.modes is not None or space.pair_kernel is None:
        raise InputError(
            f"the test of uniformity is for <+homogeneous spaces+>, and on <!{space!r}!> the distribution of the "
            "statistic depends on the place; compare with `space.uniform(n, rng)` by `two_sample_test`"
        )
