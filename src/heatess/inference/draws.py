"""Draws of Markov chains as users hold them: one chain, a stack of chains, or labelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import IntArray, is_whole, shown
from ..errors import InputError
from ..measure import Measure
from ..spaces.base import Space, check_space
from ..tensors import plain

#: Fewest draws of a chain.
LEAST = 8


def arranged(points: Any, chains: Any, space: Space | None, weights: Any) -> tuple[Measure, IntArray]:
    """All draws as one measure, and the rows of each chain in their order, shape (chains, draws)."""
    if weights is not None:
        raise InputError(
            "chain_ess takes no weights: autocorrelation is that of draws in their order, which count equally; leave "
            "them out, and see heat_profile and gess for what weights do"
        )
    points, stacked = _unstacked(plain(points, "points"), space)
    measure = Measure.of(points, space=space)
    if float(np.ptp(measure.weights)) > 0:
        raise InputError(
            "points are a Measure with unequal weights, but draws of a chain count equally; give its points alone"
        )
    if stacked is not None and chains is not None:
        raise InputError(
            f"points are a stack of {stacked} chains already, so leave out chains=, or give them as (n, d) rows"
        )
    if stacked is None and chains is None and measure.known.chains is not None:
        if measure.known.doubt:
            raise InputError(f"{measure.known.source or 'points'}: {measure.known.doubt}")
        chains = measure.known.chain_labels(measure.n)
    places = rows_of(measure.n, stacked if chains is None else chains)
    if places.shape[1] < LEAST:
        raise InputError(
            f"a chain needs at least {LEAST} draws for its autocorrelation, but there are {places.shape[1]} in each; "
            "give longer chains"
        )
    return measure, places


def _unstacked(points: Any, space: Space | None) -> tuple[Any, int | None]:
    """Chains one below the other, and their number; None where *points* are rows already."""
    check_space(space)
    _refuse_ragged(points)
    try:
        shape = np.shape(points) if isinstance(points, np.ndarray | list) else ()
    except ValueError:  # rows that are not equally long: Measure says so
        shape = ()
    if len(shape) < 2:
        return points, None
    if space is None:  # unit vectors; or rotation matrices, which Measure tells by their numbers
        if len(shape) != 3:
            return points, None
        flat = Measure.of(points)
        return flat, None if flat.n == shape[0] else shape[0]
    return _unstacked_on(np.asanyarray(points), space)


def _refuse_ragged(points: Any) -> None:
    """Refuse a list of chains that are not equally long."""
    if not isinstance(points, list) or not all(isinstance(chain, np.ndarray | list) for chain in points):
        return
    lengths = [len(chain) for chain in points]
    if len(set(lengths)) > 1 and all(isinstance(chain[0], np.ndarray | list) for chain in points if len(chain)):
        least, most = int(np.argmin(lengths)), int(np.argmax(lengths))
        raise InputError(
            f"chains must have equally many draws, but chain {least} has {lengths[least]} and chain {most} has "
            f"{lengths[most]}; drop the first draws of those that are longer"
        )


def _unstacked_on(array: np.ndarray[Any, Any], space: Space) -> tuple[Any, int | None]:
    matrices = space.form == "quaternions" and array.shape[-2:] == (3, 3)
    single = space.modes is not None or (space.dim == 1 and space.form != "vectors" and array.shape[-1] != 1)
    own = 2 if matrices else 0 if single else 1  # axes of one point
    if array.ndim != own + 2:
        return array, None
    return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:]), array.shape[0]


def rows_of(n: int, chains: Any) -> IntArray:
    """The rows of each chain in their order, shape (chains, draws), of a number of chains or a label for each row."""
    if chains is None:
        return np.arange(n)[None]
    if is_whole(chains):
        if chains < 1 or n % chains:
            raise InputError(
                f"chains={chains} must divide the number of draws, {n}, into chains of equal length; give a label for "
                "each draw if they are mixed, and drop the first draws of those that are longer"
            )
        return np.arange(n).reshape(int(chains), -1)
    try:
        labels = np.asarray(chains)
    except Exception:  # rows of other lengths, or whatever an object of the user raises
        labels = np.empty(0)
    if labels.shape != (n,):
        raise InputError(f"chains must be their number, or one label for each of the {n} draws, but is {shown(chains)}")
    names, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if (counts != counts[0]).any():
        least, most = int(np.argmin(counts)), int(np.argmax(counts))
        raise InputError(
            f"chains must have equally many draws, but chain {names[least]} has {counts[least]} and chain "
            f"{names[most]} has {counts[most]}; drop the first draws of those that are longer"
        )
    return np.argsort(inverse, kind="stable").reshape(len(names), -1)
