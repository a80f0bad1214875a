"""Where weights come from: the right variance and the right resampling depend on it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..base.arrays import one_of
from ..measures.measure import Measure

#: "fixed": deterministic, or independent of the points. "importance": functions of the points, as p(x) / q(x) is.
WeightsAre = Literal["fixed", "importance"]

#: Relative differences of weights that are rounding, as of 1 - sum of the others.
ROUNDING_OF_WEIGHTS = 1e-12


def origin_of_weights(measure: Measure, weights_are: str | None) -> WeightsAre:
    """What the user says of the weights; by default importance weights, or fixed if all are equal but for rounding.

    Atoms of zero weight do not count: points that were kept or left out are a sample of equal weights.

    >>> import heatess as he
    >>> origin_of_weights(he.Measure([[0, 0, 1], [0, 1, 0]], [1, 3]), None)
    'importance'
    >>> origin_of_weights(he.Measure([[0, 0, 1], [0, 1, 0], [1, 0, 0]], [1, 0, 1]), None)
    'fixed'
    """
    if weights_are is not None:
        advice = "fixed ones are independent of the points, importance weights functions of them"
        return one_of(weights_are, "weights_are", ("fixed", "importance"), advice)  # type: ignore[return-value]
    if measure.known.kind == "weighted draws":
        return "importance"
    positive = measure.weights[measure.weights > 0]
    return "fixed" if float(np.ptp(positive)) <= ROUNDING_OF_WEIGHTS * float(positive.max()) else "importance"
