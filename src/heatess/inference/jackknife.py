"""What each atom, left out, does to the overlap, and squared overlaps: what population estimates rest on.

Everything is in terms of the centred overlap c_t of two atoms, see `engines.centred_overlap`. The *excess* of a measure
is e = sum_ij w_i w_j c_t(x_i, x_j) = (A - 1) / (k_2t(x, x) - 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import ScaleError
from ..base.progress import Progress
from ..engines import columns, plan
from ..engines.base import PotentialQuestion, Potentials
from ..engines.centred_overlap import Diagonal, log_excess
from ..measures.measure import Measure
from ..measures.scales import in_words

#: log(k_2t(x, x) - 1) below which k_2t - 1 of pairs loses digits, or underflows.
LEAST_LOG_EXCESS = -650.0


class Jackknife(NamedTuple):
    """The excess without each atom, at some times: its mean over atoms, its covariances, and sums of squares."""

    mean: FloatArray  # (times,)
    covariance: FloatArray  # (n - 1) / n sum_i of products of deviations from the mean, (times, times)
    squares: FloatArray  # sum over i != j of w_i^2 w_j^2 c_ij^2, (times,)


def refuse_one_footprint(measure: Measure, times: FloatArray) -> None:
    """Refuse scales at which a compact homogeneous space is one footprint in double precision: nothing is left there.

    k_2t(x, y) - 1 of all pairs underflows together, and with it whatever a test or a band would compare.
    """
    space, coarsest = measure.space, float(times.max())
    if not space.compact or space.pair_kernel is None:
        return
    if float(log_excess(measure, np.array([coarsest]), 1e-8)[0]) < LEAST_LOG_EXCESS:
        raise ScaleError(
            f"at {in_words(space, coarsest)} all of {space!r} is one footprint, and no two distributions differ by a "
            "number that double precision can hold; give finer scales"
        )


def excesses(measure: Measure, times: FloatArray, rtol: float, diagonal: Diagonal) -> tuple[plan.Outcome, FloatArray]:
    """What the plan found, and the excess of the measure at each time."""
    outcome = plan.run(measure, times, rtol, "auto", Progress(False))
    return outcome, excess_of(outcome.sums.overlap, outcome.sums.log_mmd2, diagonal)


def excess_of(overlap: FloatArray, log_mmd2: FloatArray, diagonal: Diagonal) -> FloatArray:
    """From MMD^2 where k_2t(x, x) is near one, and else from the overlap."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        fine = (overlap - diagonal.inverse) / diagonal.rest
        return np.where(diagonal.inverse < 0.5, fine, np.exp(log_mmd2 - diagonal.log_excess))


def jackknife(measure: Measure, excess: FloatArray, fields: Potentials) -> Jackknife:
    """From the *excess* of the measure and the centred potentials at its atoms at some times.

    With S = sum w^2 and f_i = sum_j w_j c_ij, the unbiased estimate without atom i is

        e^(-i) = (e - S - 2 w_i (f_i - w_i)) / ((1 - w_i)^2 - S + w_i^2).
    """
    w, n = measure.weights, measure.n
    own = float(w @ w)
    values = fields.values - w  # (times, n), and turned into e^(-i) in place
    values *= -2 * w
    values += (excess - own)[:, None]
    values /= (1 - w) ** 2 - own + w * w
    mean = values.mean(axis=1)
    values -= mean[:, None]
    squares = np.zeros(len(mean)) if fields.squares is None else fields.squares
    return Jackknife(mean, (n - 1) / n * (values @ values.T), squares)


def potentials_of(measure: Measure, times: FloatArray, rtol: float) -> Potentials:
    """Centred potentials at the atoms, and sums of squares, at increasing *times*."""
    question = PotentialQuestion(measure, times, rtol, centred=True)
    return columns.potentials(question, Progress(False), _words(question))


def refuse_cost(measure: Measure, times: FloatArray, rtol: float) -> None:
    """Refuse increasing times at which `potentials_of` would take too long, before anything else is summed."""
    question = PotentialQuestion(measure, times, rtol, centred=True)
    plan.afford(plan.estimate(question), _words(question))


def _words(question: PotentialQuestion) -> plan.Words:
    measure = question.measure
    return lambda wait: (
        f"bands for {measure.n:,} points on {measure.space!r} from {question.scale(0)} up would take {wait}, because "
        "all pairs are summed there; give coarser scales, where the space has a fast transform, or fewer points drawn "
        "at random"
    )
