"""`density`: at a scale that is given or chosen, of points, of an accumulator, or of a dask collection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import is_dask
from ..base.errors import InputError, PrecisionError
from ..base.messages import Message
from ..base.progress import told
from ..measures import scales
from ..measures.measure import Measure
from ..measures.scales import check_one_scale, check_rtol
from ..parts.accumulator import Accumulator, degree_for
from ..spaces.base import Space
from .result import Density
from .scale_choice import Choice, choose, choose_of_parts
from .smoothing import Smoother, Sums

#: Finest scales that a dask collection is accumulated for, as parts of the diameter, until the minimum is inside.
PARTS_OF_DIAMETER = (36.0, 100.0, 280.0, 800.0)

#: A scale by its name, or None where it is to be chosen.
Scale = dict[str, float | None] | None

#: From a degree to the accumulator of all partitions.
Collect = Callable[[int], Accumulator]


@told
def density(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
    rtol: float = 1e-8,
    progress: bool = False,
) -> Density:
    """The heat-smoothed density of weighted points, at a given scale or at the one that the data support.

        p_t(y) = sum_j w_j k_t(y, x_j)

    Without a scale it is that of least cross-validated squared error,

        A(t) - 2 (A(t/2) - S k_t(x, x)) / (1 - S),    A(t) = sum w_i w_j k_2t(x_i, x_j),    S = sum w_i^2,

    which estimates the integral of (p_t - p)^2, but for a constant, without bias for independent draws from p, at all
    scales from one heat profile. Exact copies count as one place. Chains are thinned for it; a map or grid of cells is
    smoothed at the size of a cell.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`. Or an `Accumulator`, whose coefficients are all that a density needs; or a dask array or
        data frame, whose partitions are accumulated where they are. They keep no points, so there are no standard
        errors, no draws, and nothing that leaves points out.
    angle, time, resolution : float, optional
        At most one of them: the scale.
    rtol : float
        Accuracy of the density, as a share of its mean over the points.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Examples
    --------
    Two clusters, with densities of 66.7 and 33.3 times uniform at their centres:

    >>> import heatess as he
    >>> north = he.samplers.von_mises_fisher(200, [0, 0, 1], 50.0, rng=1)
    >>> east = he.samplers.von_mises_fisher(100, [1, 0, 0], 50.0, rng=2)
    >>> law = he.density(np.concatenate([north, east]))
    >>> round(law.angle, 1), law.at([[0, 0, 1], [1, 0, 0], [-1, 0, 0]]).round(1)
    (7.3, array([44.6, 32.9,  0. ]))
    """
    check_rtol(rtol)
    scale = {"angle": angle, "time": time, "resolution": resolution}
    given = any(value is not None for value in scale.values())
    if given:
        check_one_scale(angle, time, resolution)
    if is_dask(points):
        from ..distributed.reduction import accumulate_collection

        found, collect = accumulate_collection(points, weights, log_weights, space)
        return _of_collection(collect, found, scale if given else None, rtol)
    if isinstance(points, Accumulator):
        if weights is not None or log_weights is not None or space is not None:
            raise InputError("an Accumulator has weights and a space of its own; leave out `weights=` and `space=`")
        return _of_parts(points, scale if given else None, rtol)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    if given:
        at = scales.resolve(measure.space, angle, time, resolution)
        scales.warn_below_cell(measure.known.cell, at.angles)
        return _at_scale(measure, at, (), rtol)
    if measure.known.kind == "cells" and measure.known.cell is not None:
        cell, own = measure.known.cell, measure.space
        at = scales.resolve(own, angles=cell) if own.angular else scales.resolve(own, times=cell**2 / 8)
        note = Message("cells of a map or grid, smoothed at the size of a cell")
        return _at_scale(measure, at, (note,), rtol)
    return _chosen(measure, choose(measure, rtol), rtol)


def _chosen(measure: Measure | Sums, found: Choice, rtol: float) -> Density:
    at = scales.resolve(measure.space, times=[found.time, found.lower, found.upper, *found.times])
    chosen, lower, upper = at.angles[:3].tolist()
    curve = np.asarray(at.angles[3:]), found.cv
    density = Density(found.time, chosen, *curve, lower, upper, found.notes, measure, rtol)
    if found.kept is not None:
        vars(density)["smoother"] = Smoother(measure, rtol, found.kept)
    return density


def _at_scale(measure: Measure | Sums, at: scales.Scales, notes: tuple[Message, ...], rtol: float) -> Density:
    angle = float(at.angles[0])
    return Density(float(at.times[0]), angle, np.empty(0), np.empty(0), angle, angle, notes, measure, rtol)


def _of_parts(parts: Accumulator, scale: Scale, rtol: float) -> Density:
    """The density of an accumulator."""
    sums = Sums.of(parts)
    if scale is None:
        return _chosen(sums, choose_of_parts(parts, sums, rtol), rtol)
    at = scales.resolve(sums.space, *scale.values())
    sums.refuse_fine(float(at.times[0]), rtol)
    return _at_scale(sums, at, (), rtol)


def _of_collection(collect: Collect, space: Space, scale: Scale, rtol: float) -> Density:
    """The density of a dask collection: accumulated once for a given scale, else until the chosen one is inside."""
    if scale is not None:
        time = float(scales.resolve(space, *scale.values()).times[0])
        return _of_parts(collect(degree_for(space, time / 2, rtol=rtol)), scale, rtol)
    *coarse, finest = _degrees(space, rtol)
    for degree in coarse:
        found = _of_parts(collect(degree), None, rtol)
        if found.cv.argmin() > 0:
            return found
    return _of_parts(collect(finest), None, rtol)


def _degrees(space: Space, rtol: float) -> list[int]:
    """Degrees for finer and finer scales, as far as the space has them."""
    found = [degree_for(space, (space.diameter / PARTS_OF_DIAMETER[0]) ** 2 / 8, rtol=rtol)]
    for part in PARTS_OF_DIAMETER[1:]:
        try:
            found.append(degree_for(space, (space.diameter / part) ** 2 / 8, rtol=rtol))
        except PrecisionError:
            break
    return found
