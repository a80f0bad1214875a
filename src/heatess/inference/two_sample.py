"""Whether two weighted samples come from one law: one p-value over all scales."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, generator, whole
from ..base.progress import Progress
from ..measures import scales
from ..measures.measure import Measure
from ..measures.scales import ANGLE_DIMENSION, Scales, check_rtol
from ..profiles.default_scales import fitting_scales
from ..spaces.base import Space
from .chain_blocks import Serial, lack_of
from .group_contrasts import ByDraws, Ranked
from .jackknife import refuse_one_footprint
from .mmd import measures_of, mmd2_of
from .null_resampling import Pool, draws_of, origins
from .policy import serial
from .quadratic_forms import forms, low_degrees
from .weight_origin import WeightsAre

#: How many scales, where the user gives none.
SCALES_OF_TEST = 8

#: Draws that may be asked for.
MOST_DRAWS = 10**6


@dataclass(frozen=True, eq=False, repr=False)
class TwoSampleTest(ByDraws):
    """The test whether two weighted samples come from one distribution, see `two_sample_test`.

    Attributes
    ----------
    pvalue : float
        Over all scales, and the degrees 1 and 2, together.
    pvalues : ndarray
        At each scale by itself; the smallest of them is no p-value of the whole.
    degree_pvalues : ndarray
        In the degrees 1 and 2 by themselves; empty where scales were given, and on spaces without degrees.
    mmd2 : ndarray
        MMD^2 of the two samples, as from `mmd2`; nan on spaces of infinite volume, where it is not defined.
    statistics : ndarray
        MMD at each scale less the mean of the resampled ones, over their standard deviation.
    times, angles, resolutions : ndarray
        The scales, as in `HeatProfile`.
    n, ess : tuple of two
        Number of points, and ordinary effective sample size, of a and b.
    blocks : tuple of two
        Number of blocks in which draws of Markov chains were kept together; 0 for independent draws.
    draws, weights_are : int, str
        How many times the samples were resampled; "fixed", by permutation, or "importance", by multipliers.
    space : Space
        The manifold.

    Examples
    --------
    >>> import heatess as he
    >>> wide = he.samplers.von_mises_fisher(100, [0, 0, 1], 5, rng=0)
    >>> narrow = he.samplers.von_mises_fisher(100, [0, 0, 1], 50, rng=1)
    >>> test = he.two_sample_test(wide, narrow, angles=[10, 20, 40], rng=2)
    >>> round(test.pvalue, 3), test.scale_in_words(test.clearest)
    (0.002, '20 degrees')
    """

    times: FloatArray
    angles: FloatArray
    mmd2: FloatArray
    statistics: FloatArray
    pvalues: FloatArray
    pvalue: float
    n: tuple[int, int]
    ess: tuple[float, float]
    blocks: tuple[int, int]
    draws: int
    weights_are: WeightsAre
    space: Space
    _resolutions: FloatArray | None = field(default=None)
    degree_pvalues: FloatArray = field(default_factory=lambda: np.empty(0))

    schema: ClassVar[str] = "heatess.two_sample_test/1"
    columns: ClassVar[tuple[str, ...]] = ("times", "angles", "resolutions", "mmd2", "statistics", "pvalues")
    facts: ClassVar[tuple[str, ...]] = ("pvalue", "n", "ess", "blocks", "draws", "weights_are", "space")
    shown: ClassVar[tuple[str, ...]] = ("angles", "resolutions", "mmd2", "statistics", "pvalues")
    _drawing: ClassVar[str] = ".drawing.two_samples:draw_two_sample_test"

    @property
    def clearest(self) -> int:
        """The row of the scale at which the samples differ most clearly."""
        return int(np.argmax(self.statistics))

    def span_in_words(self) -> str:
        """The range of the scales.

        >>> import heatess as he
        >>> wide = he.samplers.von_mises_fisher(100, [0, 0, 1], 5, rng=0)
        >>> narrow = he.samplers.von_mises_fisher(100, [0, 0, 1], 50, rng=1)
        >>> he.two_sample_test(wide, narrow, angles=[10, 20], rng=2).span_in_words()
        'at 2 scales from 10 to 20 degrees'
        """
        first, last = int(np.argmin(self.times)), int(np.argmax(self.times))
        if first == last:
            return f"at {self.scale_in_words(first)}"
        start = self.scale_in_words(first).removesuffix(" degrees")
        return f"at {len(self.times)} scales from {start} to {self.scale_in_words(last)}"

    def __repr__(self) -> str:
        clearest = f", clearest at {self.scale_in_words(self.clearest)}" if len(self.times) > 1 else ""
        how = "permutations" if self.weights_are == "fixed" else "multiplier draws"
        if any(self.blocks):
            kept = [f"{count} blocks" if count else "single draws" for count in self.blocks]
            how = f"multiplier draws of {kept[0]} and {kept[1]}"
        sizes = f"n={self.n[0]} and {self.n[1]}, ess={self.ess[0]:.4g} and {self.ess[1]:.4g}"
        found = f"{self.pvalue_in_words()}{clearest}"
        return f"TwoSampleTest({self.space!r}, {sizes}: {found}; {self.span_in_words()}, {self.draws} {how})"


def two_sample_test(
    a: Any,
    b: Any,
    *,
    weights: Any = None,
    log_weights: Any = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    weights_are: str | tuple[str | None, str | None] | None = None,
    chains: Any = None,
    draws: int = 500,
    rtol: float = 1e-8,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
) -> TwoSampleTest:
    """Test whether two weighted samples come from one distribution: one p-value over all scales.

    At each scale the two are MMD(t) apart, as `mmd` says. The statistic is the largest MMD(t) over scales, each less
    the mean and over the standard deviation of those of resampled samples:

        T = max over t of (MMD(t) - mean) / sd,     p = (1 + number of resampled T >= T) / (1 + draws).

    Mean and standard deviation are over the resampled samples and the observed one, so none is treated differently.
    Unless scales are given, the difference of the samples in the degrees 1 and 2 alone counts as two more scales, on
    spheres, rotations and projective spaces: means and inertia that differ show there first.

    How samples are resampled depends on where their weights come from. With *fixed* weights (equal, deterministic, or
    independent of the points) the points of both samples are permuted over the weights, which is exact for any number
    of points. *Importance* weights are functions of the points, so points cannot change places. Then the influence
    w_i / (1 - w_i) of each point on its own sample gets a random sign: that is right for large samples, and refused
    with a `KindError` where `population_profile` withholds bands: where fewer than 25 points carry the variance of the
    weights of either, where `pareto_k` is above 0.7, or where they grow fast at the edge of the cloud. If the weights
    of one sample are importance weights, both are resampled so.

    Points must be independent draws, or those of Markov chains, in their order. Blocks of up to three autocorrelation
    times, at the scale where these are longest, get one random sign together, and resampled MMDs are enlarged by what
    blocks share with their neighbours (tau / tau_b, tau_b = 1 + 2 sum_{k < b} (1 - k / b) rho_k for blocks of b draws).
    Copies of a point count as several draws. Maps and grids, trajectories and complete lists have no p-value and are
    refused with a `KindError`: `compare` and `mmd2` say how far apart they are. Directions in different frames of the
    sky are brought into that of *a*.

    The time is linear in the number of points where that of `heat_profile` is: one transform a draw serves all scales,
    and close pairs serve all draws. Elsewhere all pairs are summed, each once for all draws.

    Parameters
    ----------
    a, b : array-like or Measure
        Points, or a `Measure` each. Points of zero weight are left out.
    weights, log_weights : pair, optional
        Weights of *a* and of *b*, (wa, wb), as for `heat_profile`; None in place of one of them for equal weights.
    space : Space, optional
        The manifold, unless *a* or *b* is a `Measure`. Default: the unit sphere of the array's dimension. On spaces of
        infinite volume `mmd2` is nan, and the test is as good as elsewhere.
    angles, times, resolutions : array-like, optional
        At most one of them, as for `heat_profile`. Default: 8 scales from where neighbours among all points are to
        where all are one blob, and the degrees 1 and 2. The scales depend on the places of both samples together, and
        with fixed weights not on which place belongs to which sample. That keeps the test exact; scales that were
        chosen by looking at the difference would not.
    weights_are : {"fixed", "importance"}, or a pair of them, optional
        Where the weights come from. Default, for each sample: importance if they differ, zeros aside, else fixed.
    chains : int, array-like, or a pair of them, optional
        The Markov chains of both samples, or of *a* and of *b*, as for `chain_ess`. Default: those that a `Measure`
        knows.
    draws : int
        How many times the samples are resampled. The p-value is at least 1 / (draws + 1).
    rng : Generator or int, optional
        For results that can be repeated.
    rtol : float
        Relative accuracy of `mmd2`.
    progress : bool
        Show a bar on stderr for long sums.

    Returns
    -------
    TwoSampleTest
        With `pvalue`, and for each scale `pvalues` and `mmd2`.

    Examples
    --------
    Six modes of about 10 degrees have the same mean direction as uniform points, and the same inertia:

    >>> import heatess as he
    >>> axes = np.concatenate([np.eye(3), -np.eye(3)])
    >>> modes = [lambda n, rng, axis=axis: he.samplers.von_mises_fisher(n, axis, 30, rng=rng) for axis in axes]
    >>> six = he.samplers.mixture(200, modes, rng=0)
    >>> even = he.samplers.uniform(200, rng=1)
    >>> test = he.two_sample_test(six, even, rng=2)
    >>> round(test.pvalue, 3)
    0.002
    >>> he.two_sample_test(six, even, angles=120, rng=3).pvalue > 0.05
    True
    """
    one, other = measures_of(a, b, space, weights, log_weights)
    how: dict[str, Any] = {"weights_are": weights_are, "draws": draws, "rng": rng, "rtol": rtol, "progress": progress}
    return tested(one, other, (angles, times, resolutions), ("a", "b"), chains=chains, **how)


def tested(
    one: Measure,
    other: Measure,
    given: tuple[Any, Any, Any],
    names: tuple[str, str],
    *,
    chains: Any,
    weights_are: Any,
    draws: Any,
    rng: Any,
    rtol: Any,
    progress: Any,
) -> TwoSampleTest:
    """`two_sample_test` of two measures on one space at the *given* scales; *names* are what messages call them."""
    check_rtol(rtol)
    count, own_rng, bar = whole(draws, "draws", 19, MOST_DRAWS), generator(rng), Progress(progress)
    parts = _serial(one, other, names, chains)
    origin = origins(parts[0].few, parts[1].few, weights_are, names)
    one, other = (part.measure for part in parts)
    pool, few = Pool.of(one, other, (parts[0].block, parts[1].block)), Pool.of(parts[0].few, parts[1].few)
    at = scales_of_places(Measure.trusted(one.space, few.places, few.together(origin)), given)
    refuse_one_footprint(one, at.times)
    with bar.told():
        low, draw = low_degrees(one.space, given), draws_of(pool, origin, own_rng)
        found = forms(one.space, pool.places, at.times, draw, count + 1, bar, low)
    scales_alone, lack = len(at.times), lack_of(parts, at.times)
    found[1:, :scales_alone] *= lack
    found[1:, scales_alone:] *= lack.max()
    compact = one.space.compact
    values = mmd2_of(one, other, at.times, rtol) if compact else np.full(len(at.times), np.nan)
    return TwoSampleTest(
        times=at.times,
        angles=at.angles,
        mmd2=values,
        **Ranked.of(found, scales_alone)._asdict(),
        n=(parts[0].n, parts[1].n),
        ess=(one.ess, other.ess),
        blocks=(parts[0].blocks, parts[1].blocks),
        draws=count,
        weights_are=origin,
        space=one.space,
        _resolutions=at.resolutions,
    )


def _serial(one: Measure, other: Measure, names: tuple[str, str], chains: Any) -> list[Serial]:
    """Both as draws, or as blocks of them; *chains* are one for both, or a pair."""
    pair = chains if isinstance(chains, tuple | list) and len(chains) == 2 else (chains, chains)
    instead = "how far apart two of them are (MMD) is known all the same"
    return [
        serial(measure, name, "p-value", instead, own)
        for measure, name, own in zip((one, other), names, pair, strict=True)
    ]


def scales_of_places(measure: Measure, given: tuple[Any, Any, Any]) -> Scales:
    """The scales that the user gave, or those that fit the places of all samples together.

    Scales finer than the distance D / ESS^(1/dim) of neighbours, D the median distance, or than D / 50, tell of chance
    alone. The finest of `fitting_scales` is at a third of the former, or at the latter.
    """
    space = measure.space
    if any(value is not None for value in given):
        return scales.resolve(space, *given)
    fitting = fitting_scales(measure)
    high = space.dim > ANGLE_DIMENSION and fitting.resolutions is not None
    closest = measure.ess ** (-1 / max(space.dim, 1))
    finer = 3.0 if high else max(closest, 0.02) / max(closest / 3, 0.02)
    if high and fitting.resolutions is not None:
        return scales.resolve(space, resolutions=_geometric(fitting.resolutions, finer, 2.5))
    if space.angular and space.dim <= ANGLE_DIMENSION:
        return scales.resolve(space, angles=_geometric(fitting.angles, finer))
    return scales.resolve(space, times=_geometric(np.sqrt(fitting.times), finer) ** 2)


def _geometric(values: FloatArray, finer: float, least: float = 4.0) -> FloatArray:
    """Some numbers spaced geometrically up to the last of *values*, from *finer* times the first.

    The last is *least* times as large as the first of them, or more.
    """
    first, last = float(values[0]), float(values[-1])
    return np.geomspace(max(min(finer * first, last / least), first), last, SCALES_OF_TEST)
