"""Whether several samples come from one distribution, and which two differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray, generator, whole
from ..base.errors import InputError
from ..base.messages import shown
from ..base.progress import Progress
from ..measures.measure import Measure
from ..measures.scales import ANGLE_DIMENSION
from ..parts.sums import part_named
from ..spaces.base import Space
from .group_contrasts import ByDraws, Groups, Ranked, permuted_forms, share_beyond, standardised
from .jackknife import refuse_one_footprint
from .mmd import in_one_frame
from .policy import independent
from .quadratic_forms import low_degrees
from .two_sample import MOST_DRAWS, scales_of_places
from .weight_origin import origin_of_weights

if TYPE_CHECKING:
    pass

#: Most samples: all pairs of them are compared.
MOST_SAMPLES = 50


@dataclass(frozen=True, eq=False, repr=False)
class KSampleTest(ByDraws):
    """The test whether several samples come from one distribution, see `k_sample_test`.

    Attributes
    ----------
    pvalue : float
        Over all samples and scales, and the degrees 1 and 2, together.
    pvalues : ndarray, shape (scales,)
        Over all samples at each scale by itself.
    degree_pvalues : ndarray
        The same in the degrees 1 and 2; empty where scales were given, and on spaces without degrees.
    statistics : ndarray, shape (scales,)
        How far the samples are from their mean at each scale, less the mean and over the standard deviation of the
        permuted ones.
    pair : tuple of two
        The two samples that differ most clearly: their names, or their numbers counted from 0.
    scale : float
        The scale at which these two differ most clearly, as in `angles`; above ten dimensions, as in `resolutions`.
    pair_pvalues : ndarray, shape (samples, samples)
        p-values of all pairs, corrected for the number of pairs: 5 % of all tests of equal samples have one below 0.05.
    names : tuple
        Of the samples.
    times, angles, resolutions : ndarray, shape (scales,)
        The scales, as in `HeatProfile`.
    n, ess : tuple
        Number of points, and ordinary effective sample size, of each sample.
    draws, space : int, Space
        Number of permutations, and the manifold.

    Examples
    --------
    >>> import heatess as he
    >>> groups = [he.samplers.von_mises_fisher(80, [0, 0, 1], kappa, rng=kappa) for kappa in (5, 6, 50)]
    >>> test = he.k_sample_test(groups, angles=[10, 20, 40], rng=0)
    >>> round(test.pvalue, 3), test.pair, round(test.scale)
    (0.002, (0, 2), 10)
    """

    times: FloatArray
    angles: FloatArray
    statistics: FloatArray
    pvalues: FloatArray
    pvalue: float
    pair: tuple[Any, Any]
    scale: float
    pair_pvalues: FloatArray
    names: tuple[Any, ...]
    n: tuple[int, ...]
    ess: tuple[float, ...]
    draws: int
    space: Space
    _resolutions: FloatArray | None = field(default=None)
    degree_pvalues: FloatArray = field(default_factory=lambda: np.empty(0))

    schema: ClassVar[str] = "heatess.k_sample_test/1"
    columns: ClassVar[tuple[str, ...]] = ("times", "angles", "resolutions", "statistics", "pvalues")
    facts: ClassVar[tuple[str, ...]] = (
        "pvalue",
        "pair",
        "scale",
        "pair_pvalues",
        "names",
        "n",
        "ess",
        "draws",
        "space",
    )
    shown: ClassVar[tuple[str, ...]] = ("angles", "resolutions", "statistics", "pvalues")
    _others: ClassVar[dict[str, tuple[str, ...]]] = {"pair_pvalues": ("sample", "other_sample")}
    _drawing: ClassVar[str] = ".drawing.groups:draw_pairs"

    def __repr__(self) -> str:
        row = int(np.argmin(np.abs(_measured(self) - self.scale)))
        where = self.scale_in_words(row)
        most = f"{self.pair[0]!s} and {self.pair[1]!s} differ most clearly, at {where}"
        count = f"{len(self.names)} samples of {min(self.n)} to {max(self.n)}"
        return f"KSampleTest({self.space!r}, {count}: {self.pvalue_in_words()}; {most}; {self.draws} permutations)"


def _measured(test: KSampleTest) -> FloatArray:
    return test.resolutions if test.space.dim > ANGLE_DIMENSION else test.angles


def k_sample_test(
    samples: Sequence[Any] | Mapping[Any, Any],
    *,
    weights: Sequence[ArrayLike | None] | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    weights_are: str | None = None,
    chains: Any = None,
    draws: int = 500,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
) -> KSampleTest:
    """Test whether several samples come from one distribution, and say which two differ most, and at which scale.

    With n_k the size of sample k, and MMD as in `mmd`, the samples are

        B(t)^2 = sum over pairs k < l of n_k n_l MMD_kl(t)^2 / n

    from their mean. The statistic is the largest B(t) over scales, and degrees 1 and 2 as for `two_sample_test`, each
    less the mean and over the standard deviation of those of permuted samples; two samples give `two_sample_test`.
    Pairs are compared with the largest pair of each permutation, so that their p-values are corrected for the number
    of pairs.

    Points must be independent draws with weights that are equal or independent of the points: then permutations are
    exact. Sizes are ordinary effective sample sizes. Importance weights are refused; `two_sample_test` takes them.

    Parameters
    ----------
    samples : sequence or mapping
        Two samples or more: points or a `Measure` each; of a mapping, the keys are their names.
    weights : sequence, optional
        The weights of each sample, or None in place of equal ones.
    space, angles, times, resolutions
        As for `two_sample_test`. Scales that are not given depend on the places of all samples together.
    weights_are : {"fixed"}, optional
        Say that weights that differ are independent of the points.
    chains : int or array-like, optional
        The Markov chains of every sample, as for `chain_ess`; they are thinned until draws are independent.
    draws : int
        Number of permutations. p-values are at least 1 / (draws + 1).
    rng : Generator or int, optional
        For results that can be repeated.
    progress : bool
        Show a bar on stderr for long sums.

    Returns
    -------
    KSampleTest
        With `pvalue`, `pair`, `scale` and `pair_pvalues`.

    Examples
    --------
    Three samples, of which one has a second mode:

    >>> import heatess as he
    >>> one, two = (he.samplers.von_mises_fisher(100, [0, 0, 1], 10, rng=k) for k in range(2))
    >>> third = he.samplers.von_mises_fisher(100, [0, 0, 1], 10, rng=2)
    >>> third[:20] = he.samplers.von_mises_fisher(20, [1, 0, 0], 10, rng=3)
    >>> test = he.k_sample_test({"first": one, "second": two, "third": third}, rng=0)
    >>> round(test.pvalue, 3), "third" in test.pair
    (0.002, True)
    """
    names, measures = _measures(samples, weights, space)
    count, bar = whole(draws, "draws", 19, MOST_DRAWS), Progress(progress)
    instead = "how far apart two of them are (MMD) is known all the same"
    for k, name in enumerate(names):
        measures[k] = independent(measures[k], f"sample {name}", "p-value", instead, chains)
        if origin_of_weights(measures[k], weights_are) == "importance":
            raise InputError(
                f"sample {name}: weights that depend on the points, as importance weights do, make permutations wrong; "
                "compare two samples at a time by `two_sample_test` or, if they do not depend on them, say "
                '`weights_are="fixed"`'
            )
    return _tested(names, measures, (angles, times, resolutions), count, generator(rng), bar)


def _tested(
    names: list[Any],
    measures: list[Measure],
    given: tuple[Any, Any, Any],
    count: int,
    rng: np.random.Generator,
    bar: Progress,
) -> KSampleTest:
    groups = Groups.of(measures)
    at = scales_of_places(groups.pooled, given)
    for measure in measures:
        refuse_one_footprint(measure, at.times)
    pairs = np.array(list(combinations(range(len(measures)), 2)))
    contrasts = np.eye(len(measures))[pairs[:, 0]] - np.eye(len(measures))[pairs[:, 1]]
    low, scales_alone = low_degrees(groups.pooled.space, given), len(at.times)
    with bar.told():
        found = permuted_forms(groups, contrasts, at.times, count, rng, bar, low)  # (draws, pairs, scales and degrees)
    sizes = np.array([measure.ess for measure in measures])
    together = np.einsum("p,dpt->dt", sizes[pairs].prod(axis=1) / sizes.sum(), found)
    each = standardised(found)
    widest = int(np.argmax(each[0].max(axis=1)))
    place = int(np.argmax(each[0, widest, :scales_alone]))
    high = measures[0].space.dim > ANGLE_DIMENSION
    result = KSampleTest(
        times=at.times,
        angles=at.angles,
        **Ranked.of(together, scales_alone)._asdict(),
        pair=(names[pairs[widest][0]], names[pairs[widest][1]]),
        scale=float(at.angles[place]),
        pair_pvalues=_matrix(pairs, each, len(measures)),
        names=tuple(names),
        n=tuple(measure.n for measure in measures),
        ess=tuple(measure.ess for measure in measures),
        draws=count,
        space=measures[0].space,
        _resolutions=at.resolutions,
    )
    return replace(result, scale=float(result.resolutions[place])) if high else result


def _matrix(pairs: IntArray, each: FloatArray, size: int) -> FloatArray:
    """p-values of all pairs, each compared with the largest pair of every permutation."""
    largest = each.max(axis=(1, 2))
    matrix = np.ones((size, size))
    for row, (k, m) in enumerate(pairs):
        matrix[k, m] = matrix[m, k] = share_beyond(np.append(each[0, row].max(), largest[1:]))
    return matrix


def _measures(samples: Any, weights: Any, space: Space | None) -> tuple[list[Any], list[Measure]]:
    """Names and samples, all on one space and in one frame, that of the first."""
    if not isinstance(samples, Mapping | list | tuple) or not 2 <= len(samples) <= MOST_SAMPLES:
        raise InputError(
            f"samples must be <+a list or a dict of 2 to {MOST_SAMPLES} samples, each with points+>, but are "
            f"<!{shown(samples)}!>"
        )
    names = list(samples) if isinstance(samples, Mapping) else list(range(len(samples)))
    given = list(samples.values()) if isinstance(samples, Mapping) else list(samples)
    own = [None] * len(given) if weights is None else weights
    if not isinstance(own, list | tuple) or len(own) != len(given):
        raise InputError.unfit("weights", f"one entry for each of {len(given)} samples", weights, verb="are")
    known = [part.space for part in given if isinstance(part, Measure)]
    space = space if space is not None else known[0] if known else None
    found: list[Measure] = []
    for name, points, part in zip(names, given, own, strict=True):
        with part_named(f"sample {name}"):
            measure = Measure.of(points, part, space=space if space is not None or not found else found[0].space)
        found.append(measure)
    return names, in_one_frame(found, [f"sample {name}" for name in names])
