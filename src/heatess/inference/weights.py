"""Where weights come from: the right variance and the right resampling depend on it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import shown
from ..errors import InputError
from ..measure import Measure

#: "fixed": deterministic, or independent of the points. "importance": functions of the points, as p(x) / q(x) is.
WeightsAre = Literal["fixed", "importance"]


def origin_of_weights(measure: Measure, weights_are: str | None) -> WeightsAre:
    """What the user says of the weights; by default importance weights, or fixed if all are equal.

    >>> import heatess as he
    >>> origin_of_weights(he.Measure([[0, 0, 1], [0, 1, 0]], [1, 3]), None)
    'importance'
    """
    if weights_are == "fixed" or weights_are == "importance":
        return weights_are  # type: ignore[return-value]
    if weights_are is not None:
        raise InputError(
            f'weights_are must be "fixed" (equal, deterministic, or independent of the points) or "importance" '
            f"(functions of the points, such as target over proposal), but is {shown(weights_are)}"
        )
    return "fixed" if float(np.ptp(measure.weights)) == 0 else "importance"
