"""Whether a sample comes from a given distribution, or from the member of a family that fits it best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import samplers
from ..base.arrays import FloatArray, generator, whole
from ..base.errors import InputError
from ..base.messages import shown
from ..base.progress import Progress
from ..measures.measure import Measure
from ..parts.sums import part_named
from ..spaces.base import Space
from .group_contrasts import ByDraws, Groups, Ranked
from .jackknife import refuse_one_footprint
from .policy import independent
from .quadratic_forms import forms, low_degrees
from .two_sample import MOST_DRAWS, scales_of_places
from .uniformity_families import LevelFamily
from .weight_origin import origin_of_weights

if TYPE_CHECKING:
    pass

#: Makes points of a distribution: law(n, rng).
Law = Callable[[int, np.random.Generator], Any]

#: Draws of the distribution that stand for it, as a multiple of the sample, and at least.
DRAWS_PER_POINT, FEWEST_DRAWS_OF_REFERENCE = 4, 1000

#: Distributions that have a name.
NAMES = ("uniform", "von_mises_fisher")


@dataclass(frozen=True, eq=False, repr=False)
class GoodnessOfFit(ByDraws):
    """The test whether a sample comes from a distribution, see `goodness_of_fit`.

    Attributes
    ----------
    pvalue : float
        Over all scales, and the degrees 1 and 2, together.
    pvalues : ndarray, shape (scales,)
        At each scale by itself.
    degree_pvalues : ndarray
        In the degrees 1 and 2 by themselves; empty where scales were given, and on spaces without degrees.
    statistics : ndarray, shape (scales,)
        MMD between sample and distribution, less the mean and over the standard deviation of simulated samples.
    times, angles, resolutions : ndarray, shape (scales,)
        The scales, as in `HeatProfile`.
    fitted : bool
        Whether the distribution was fitted to the sample, and to each simulated one.
    n, ess, draws, space : int, float, int, Space
        Number of points, ordinary effective sample size, number of simulated samples, and the manifold.

    Examples
    --------
    >>> import heatess as he
    >>> cloud = he.samplers.von_mises_fisher(200, [0, 0, 1], 10, rng=0)
    >>> he.goodness_of_fit(cloud, "von_mises_fisher", draws=99, rng=1).pvalue > 0.05
    True
    """

    times: FloatArray
    angles: FloatArray
    statistics: FloatArray
    pvalues: FloatArray
    pvalue: float
    fitted: bool
    n: int
    ess: float
    draws: int
    space: Space
    _resolutions: FloatArray | None = field(default=None)
    degree_pvalues: FloatArray = field(default_factory=lambda: np.empty(0))

    schema: ClassVar[str] = "heatess.goodness_of_fit/1"
    columns: ClassVar[tuple[str, ...]] = ("times", "angles", "resolutions", "statistics", "pvalues")
    facts: ClassVar[tuple[str, ...]] = ("pvalue", "fitted", "n", "ess", "draws", "space")
    shown: ClassVar[tuple[str, ...]] = ("angles", "resolutions", "statistics", "pvalues")
    _drawing: ClassVar[str] = ".drawing.two_samples:draw_two_sample_test"

    @property
    def clearest(self) -> int:
        """The row of the scale at which sample and distribution differ most clearly."""
        return int(np.argmax(self.statistics))

    def __repr__(self) -> str:
        where = f", clearest at {self.scale_in_words(self.clearest)}" if len(self.times) > 1 else ""
        how = "fitted to each" if self.fitted else "given"
        found = f"{self.pvalue_in_words()}{where}; distribution {how}, {self.draws} simulated samples"
        return f"GoodnessOfFit({self.space!r}, n={self.n}, ess={self.ess:.4g}: {found})"


def goodness_of_fit(
    points: Any,
    law: Law | str | None = None,
    *,
    weights: ArrayLike | None = None,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    fit: Callable[[Any], Law] | None = None,
    weights_are: str | None = None,
    chains: Any = None,
    draws: int = 500,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
) -> GoodnessOfFit:
    """Test whether a sample comes from a given distribution, or from a family of them: one p-value over all scales.

    The distribution is known by its draws, *law(n, rng)*. A large sample of it stands for it, and the MMD between both
    is compared with that of simulated samples of the same size. The statistic is the largest MMD(t) over scales, and
    degrees 1 and 2 as for `two_sample_test`, each less the mean and over the standard deviation of the simulated ones.
    If the distribution is given this is exact for any n. If it is fitted to the sample, each simulated sample is fitted
    too (parametric bootstrap), because a fitted distribution is nearer to the sample than the true one is.

    Points must be independent draws with weights that are equal or independent of the points.

    Parameters
    ----------
    points : array-like or Measure
        The sample.
    law : callable or {"uniform", "von_mises_fisher"}, optional
        *law(n, rng)* gives n points; or a name: "uniform", or "von_mises_fisher", which is fitted. Leave it out with
        *fit*.
    weights, log_weights, space, angles, times, resolutions
        As for `heat_profile`. Scales that are not given depend on the distribution and on n.
    fit : callable, optional
        *fit(points)* gives the distribution of the family that fits these points, itself a function of n and rng.
    weights_are : {"fixed"}, optional
        Say that weights that differ are independent of the points.
    chains : int or array-like, optional
        The Markov chains of the sample, as for `chain_ess`; they are thinned until draws are independent.
    draws : int
        Number of simulated samples. The p-value is at least 1 / (draws + 1).
    rng : Generator or int, optional
        For results that can be repeated.
    progress : bool
        Show a bar on stderr for long sums.

    Returns
    -------
    GoodnessOfFit
        With `pvalue`, and for each scale `pvalues` and `statistics`.

    Examples
    --------
    Points around a pole are no von Mises-Fisher sample if one in five is elsewhere:

    >>> import heatess as he
    >>> cloud = he.samplers.von_mises_fisher(200, [0, 0, 1], 20, rng=0)
    >>> law = lambda n, rng: he.samplers.von_mises_fisher(n, [0, 0, 1], 20, rng=rng)
    >>> he.goodness_of_fit(cloud, law, draws=99, rng=1).pvalue > 0.05
    True
    >>> cloud[:40] = he.samplers.uniform(40, rng=2)
    >>> he.goodness_of_fit(cloud, "von_mises_fisher", draws=99, rng=1).pvalue
    0.01
    """
    given = Measure.of(points, weights, log_weights=log_weights, space=space)
    instead = "how far apart two of them are (MMD) is known all the same"
    sample = independent(given, "points", "p-value", instead, chains).support()
    if origin_of_weights(sample, weights_are) == "importance":
        raise InputError(
            "weights that depend on the points, as importance weights do, are not those of simulated samples; compare "
            "with draws of the distribution by `two_sample_test` or, if they do not depend on them, say "
            '`weights_are="fixed"`'
        )
    count, fitting = whole(draws, "draws", 19, MOST_DRAWS), _fitting(law, fit, sample.space)
    return _tested(sample, law, fitting, (angles, times, resolutions), count, generator(rng), Progress(progress))


def _tested(
    sample: Measure,
    law: Any,
    fitting: Callable[[Any], Law] | None,
    given: tuple[Any, Any, Any],
    count: int,
    rng: np.random.Generator,
    bar: Progress,
) -> GoodnessOfFit:
    own_law = _named(law, sample.space) if fitting is None else fitting(sample.points)
    size = max(DRAWS_PER_POINT * sample.n, FEWEST_DRAWS_OF_REFERENCE)
    standing = _drawn(own_law, size, rng, sample.space)
    at = scales_of_places(_equal(standing[: sample.n], sample.space), given)
    refuse_one_footprint(sample, at.times)
    low, scales_alone = low_degrees(sample.space, given), len(at.times)
    found = np.empty((count + 1, scales_alone + (0 if low is None else low.size)))
    with bar.told(), bar.meter(count + 1, "draws") as advance:
        found[0] = _apart(sample, standing, at.times, low)
        for draw in range(1, count + 1):
            drawn = _drawn(own_law, sample.n, rng, sample.space)
            if fitting is not None:
                standing = _drawn(fitting(drawn), size, rng, sample.space)
            found[draw] = _apart(Measure.trusted(sample.space, drawn, sample.weights), standing, at.times, low)
            advance(1)
    return GoodnessOfFit(
        times=at.times,
        angles=at.angles,
        **Ranked.of(found, scales_alone)._asdict(),
        fitted=fitting is not None,
        n=sample.n,
        ess=sample.ess,
        draws=count,
        space=sample.space,
        _resolutions=at.resolutions,
    )


def _fitting(law: Any, fit: Any, space: Space) -> Callable[[Any], Law] | None:
    """The function that fits a law to points; None if the law is given."""
    if fit is not None:
        if law is not None:
            raise InputError("give `law=`, a distribution, or `fit=`, which fits one to points, not <!both!>")
        if not callable(fit):
            raise InputError.unfit("fit", "a function of points that gives a law(n, rng)", fit)
        own: Callable[[Any], Law] = fit
        return own
    if not isinstance(law, str) or law != "von_mises_fisher":
        return None
    if space.form != "vectors" or not space.directional:
        raise InputError(
            f'`law="von_mises_fisher"` is for <+directions on spheres+>, but points are on <!{space!r}!>; give a '
            "function law(n, rng)"
        )

    def fitted(points: Any) -> Law:
        from scipy.stats import vonmises_fisher

        mean, kappa = vonmises_fisher.fit(np.asarray(points, dtype=np.float64))
        return lambda n, rng: samplers.von_mises_fisher(n, mean, kappa, rng=rng)

    return fitted


def _named(law: Any, space: Space) -> Law:
    if isinstance(law, str) and law == "uniform":
        return lambda n, rng: samplers.uniform(n, space=space, rng=rng)
    if not callable(law):
        raise InputError.unfit("law", f"a function law(n, rng) that gives n points, or one of {', '.join(NAMES)}", law)
    own: Law = law
    return own


def _drawn(law: Law, n: int, rng: np.random.Generator, space: Space) -> Any:
    """*n* checked points of a law."""
    if not callable(law):
        raise InputError(f"fit must <+give a function of n and rng+>, but <!gave {shown(law)}!>")
    try:
        made = law(n, rng)
    except Exception as error:  # whatever a function of the user raises
        raise InputError(
            f"law({n}, rng) <!raised {type(error).__name__}: {shown(error)}!>; it must give <+{n} points+>"
        ) from error
    with part_named("law"):
        points = Measure.of(made, space=space).points
    if len(points) != n:
        raise InputError(f"law({n}, rng) must <+give {n} points+>, but <!gave {len(points)}!>")
    return points


def _equal(points: Any, space: Space) -> Measure:
    return Measure.trusted(space, points, np.full(len(points), 1 / len(points)))


def _apart(sample: Measure, standing: Any, times: FloatArray, low: LevelFamily | None) -> FloatArray:
    """MMD^2 of a sample and the draws that stand for the law, each time and each degree in a unit of its own."""
    groups = Groups.of([sample, _equal(standing, sample.space)])
    signed = groups.signed(np.array([1.0, -1.0]))[:, None]
    return np.asarray(forms(sample.space, groups.pooled.points, times, lambda _: signed, 1, Progress(False), low)[0])
