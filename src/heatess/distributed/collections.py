"""Dask arrays and data frames."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from .. import scales
from ..accumulate import Accumulator
from ..blocks import threads
from ..errors import InputError
from ..parts import part_named
from ..profile import HeatProfile
from ..spaces.base import Space
from .partitions import Partitions
from .reduction import Scheduler, by_pairs, degree, merged, space_of


def profile_collection(
    points: Any,
    weights: Any,
    *,
    log_weights: Any,
    space: Space | None,
    angles: ArrayLike | None,
    times: ArrayLike | None,
    resolutions: ArrayLike | None,
    rtol: float,
    method: str,
    pairs: int | None,
    progress: bool,
) -> HeatProfile:
    """`heat_profile` of a dask array, or of a dask data frame whose columns are coordinates."""
    from dask import delayed

    parts = Partitions.of(points, weights, log_weights)
    found = space_of(parts.width, space)
    if pairs is not None:
        raise InputError("pairs= is not for data in parts; leave it out, or give a NumPy array")
    scheduler = Scheduler(None, progress)
    if method not in ("auto", "spectral", "pairwise"):
        raise InputError(f"method must be auto, spectral or pairwise for data in parts, but found {method!r}")
    if method == "spectral" and not found.transform:
        raise InputError(f"{found!r} has no fast transform; use method='pairwise' or 'auto'")
    at = scales.resolve(found, angles, times, resolutions)
    if method == "pairwise" or not found.transform:
        return by_pairs(parts, found, at, rtol, scheduler)
    max_degree = degree(found, parts.n, at, rtol)
    accumulate = delayed(_accumulate)
    states = [accumulate(f"partition {index}", found, max_degree, *piece) for index, piece in enumerate(parts.pieces)]
    return merged(states, at, rtol, scheduler)


def _accumulate(name: str, space: Space, max_degree: int, points: Any, weights: Any, log_weights: Any) -> Accumulator:
    state = Accumulator(space, max_degree=max_degree)
    with part_named(name), threads(1):
        return state.add(points, weights, log_weights=log_weights) if len(points) else state
