"""How p-values of uniformity are found: by the limit law, by uniform points drawn again and again, or by signs."""

from __future__ import annotations

import math
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import PrecisionWarning, warn
from ..engines import plan
from ..measures.measure import Measure
from ..measures.scales import Scales
from .chain_blocks import Serial
from .combined_p_values import LEAST_PVALUE, LimitLaw, from_draws
from .null_resampling import multiplied
from .uniformity_families import Family, too_long
from .weight_origin import WeightsAre

Method = Literal["limit", "monte carlo", "multiplier"]

#: The limit law is used from this ESS on, if the largest squared weight is below this share of their sum, and if so
#: many pairs of independent atoms are expected within a footprint.
LIMIT_ESS, LIMIT_SHARE, CLOSE_PAIRS = 50.0, 0.2, 30.0

#: Draws unless the user gives their number, and the accuracy of each.
DRAWS, DRAW_RTOL = 999, 1e-7

#: Relative uncertainty of a p-value that is worth a warning.
PVALUE_ERROR_TO_WARN_OF = 1e-6


#: p-values below this are told as being below it: what the limit law says there has not been checked for finite n.
LEAST_CLAIMED = 1e-6


def claimed(pvalue: float, digits: int = 2) -> str:
    """A p-value for readers.

    >>> claimed(0.0123), claimed(2.5e-12)
    ('p = 0.012', 'p < 1e-6')
    """
    return f"p = {pvalue:.{digits}g}" if pvalue >= LEAST_CLAIMED else "p < 1e-6"


class Found(NamedTuple):
    """Statistics and p-values of a family, the combined p-value, and how they were found."""

    statistics: FloatArray
    pvalues: FloatArray
    pvalue: float
    method: Method
    draws: int
    expected: FloatArray | None = None  #: of the statistics, where it is not that of independent draws


def find_pvalues(
    sample: Serial,
    family: Family,
    at: Scales | None,
    origin: WeightsAre,
    draws: int | None,
    rng: np.random.Generator,
) -> Found:
    """p-values by the method that suits the weights, the chains, the number of atoms and the scales."""
    measure = sample.measure
    if origin == "importance" or sample.block is not None:
        return _by_multipliers(sample, family, at, DRAWS if draws is None else draws, rng)
    law = limit_law(measure, family, classical=at is None)
    if draws is None and law is not None and limit_holds(measure, at):
        return _by_limit(measure, family, law)
    return _by_draws(measure, family, DRAWS if draws is None else draws, rng)


def limit_holds(measure: Measure, at: Scales | None) -> bool:
    """Whether there are enough atoms of similar weight, and enough pairs at the finest scale."""
    if measure.ess < LIMIT_ESS or float(measure.weights.max()) ** 2 * measure.ess > LIMIT_SHARE:
        return False
    return at is None or 2 * math.log(measure.ess) - log_places(measure, at.times.min()) >= math.log(CLOSE_PAIRS)


def log_places(measure: Measure, time: float) -> float:
    """log k_2t(x, x)."""
    return float(measure.space.log_diagonal(np.array([float(time)]), 1e-8)[0])


def limit_law(measure: Measure, family: Family, *, classical: bool = False) -> LimitLaw | None:
    """The limit law of a family, with the exact variance for the weights of a measure; None where it is not known.

    The variance is less than that of the limit by the share that pairs of an atom with itself have of sum_ij
    w_i^2 w_j^2: those do not vary. Classical statistics keep the limit as books and tables have it.
    """
    if family.levels is None:
        return None
    varying = 1.0 if classical else 1 - float(np.sum(measure.weights**4)) * measure.ess**2
    return LimitLaw(family.levels, math.sqrt(max(varying, 0.0)))


def _by_limit(measure: Measure, family: Family, law: LimitLaw) -> Found:
    values = family.values(measure, 1e-9)
    tails = law.tails(values)
    doubt = max(tail.error for tail in tails)
    if doubt > PVALUE_ERROR_TO_WARN_OF:
        warn(f"p-values are certain only to {doubt:.0e}, relatively; `draws=` gives exact ones", PrecisionWarning)
    pvalues = np.maximum([tail.probability for tail in tails], LEAST_PVALUE)  # what underflows is not impossible
    return Found(values, pvalues, law.combined(pvalues), "limit", 0)


def _by_draws(measure: Measure, family: Family, draws: int, rng: np.random.Generator) -> Found:
    """Uniform points with the same weights, again and again."""
    plan.afford(draws * family.seconds(measure), partial(too_long, measure, draws))
    drawn = np.empty((draws, family.size))
    for row in drawn:
        row[:] = family.values(uniform_measure(measure, rng), DRAW_RTOL)
    observed = family.values(measure, DRAW_RTOL)
    pvalues, pvalue = from_draws(observed, drawn)
    return Found(observed, pvalues, pvalue, "monte carlo", draws)


def uniform_measure(measure: Measure, rng: np.random.Generator) -> Measure:
    """Independent uniform points with the weights of a measure."""
    space = measure.space
    return Measure.trusted(space, space.check(space.uniform(measure.n, rng)), measure.weights)


def _by_multipliers(sample: Serial, family: Family, at: Scales | None, draws: int, rng: np.random.Generator) -> Found:
    """If the target is uniform, sum w_i phi(x_i) is the mean of an estimate whose errors have the signs' spread."""
    measure, given = sample.measure, 0
    weights = np.asarray(measure.weights)

    def draw(count: int) -> FloatArray:
        """The weights themselves first, then weights with random signs."""
        nonlocal given
        columns = np.empty((measure.n, count))
        for column in columns.T:
            column[:] = multiplied(weights, rng, sample.block) if given else weights
            given += 1
        return columns

    found = measure.ess * family.signed(measure, draw, draws + 1)
    lack = np.full(family.size, float(sample.lack.max()))  # of single degrees, and of classical statistics
    if at is not None:
        lack[: family.scales] = sample.lack_at(at.times)
    found[1:] *= lack
    pvalues, pvalue = from_draws(found[0], found[1:])
    expected = None if sample.block is None else found[1:].mean(axis=0)
    return Found(found[0], pvalues, pvalue, "multiplier", draws, expected)
