"""Spaces and measures that were written as JSON, read again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import spaces
from ..base.errors import InputError
from ..base.known import Known
from ..base.plain_values import CODECS, Codec, decoded, plain_value
from ..spaces.base import Space, check_space
from .measure import Measure, even_weights


def space_of(name: Any, given: Space | None, what: str, call: str) -> Space:
    """The space that *what* is on, by its *name*: one that heatess knows, or the one *given* in *call*."""
    name = str(name)
    if given is not None:
        if repr(given) != name:
            raise InputError(f"holds {what} on <+{name[:80]}+>, but space=<!{given!r}!> was given")
        return given
    try:
        return spaces.named(name)
    except InputError as error:
        hint = f"if it is a mesh, a graph, a point cloud or a space of your own, pass it to {call}"
        raise InputError(f"holds {what} on a space that is not known here ({error.message.marked}); {hint}") from None


def _space(name: Any, given: Any) -> Space:
    """The space of a result."""
    check_space(given)
    try:
        return space_of(name, given, "a result", "`from_json(text, space=...)`")
    except InputError as error:
        raise error.within("this JSON", " ") from None


def _written(measure: Measure) -> dict[str, Any]:
    """Points, weights (none if they are equal) and what is known of each."""
    own = {"labels": measure.known.labels, "chain_of": measure.known.chain_of, "doubt": measure.known.doubt}
    known = measure.known.to_dict() | {name: plain_value(value) for name, value in own.items() if value is not None}
    weights = None if measure.weights.strides == (0,) else measure.weights.tolist()
    return {"space": repr(measure.space), "points": plain_value(measure.points), "weights": weights, "known": known}


def _measure(found: Any, space: Any) -> Measure:
    """The measure that was written; its points were checked before."""
    points = decoded(np.ndarray, found["points"], "points", space)
    weights = decoded(np.ndarray | None, found["weights"], "weights", space)
    known = decoded(Known, found["known"], "known", space)
    if weights is None:
        weights = even_weights(len(points))
    return Measure.trusted(_space(found["space"], space), points, weights, known)


CODECS[Space] = Codec(repr, _space)
CODECS[Measure] = Codec(_written, _measure, "points")
