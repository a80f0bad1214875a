"""Scales that fit a cloud, where the user gives none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.arrays import FloatArray
from ..engines import plan
from ..engines.base import Question
from ..measures.measure import Measure
from ..measures.scales import ANGLE_DIMENSION, Scales, resolve

#: How many scales.
NUMBER_OF_SCALES = 60

#: Atoms whose distances measure the spread of a cloud.
POINTS_FOR_SPREAD = 64

#: The finest scale may make the whole call this many times as slow as a coarse one, or take so many seconds.
SLOWER, SECONDS_OF_FINEST = 4.0, 0.05


def scales_for(measure: Measure, angles: Any, times: Any, resolutions: Any, rtol: float = 1e-8) -> Scales:
    """The scales that the user gave, at most one of the three, or those that fit the cloud."""
    if angles is None and times is None and resolutions is None:
        return fitting_scales(measure, rtol)
    return resolve(measure.space, angles, times, resolutions)


def fitting_scales(measure: Measure, rtol: float = 1e-8) -> Scales:
    """60 scales, spaced geometrically, from where a cloud falls apart into atoms to where it is one blob.

    With D the median distance between atoms drawn by weight, they run from about D / 50 to 4 D, or to two thirds of the
    diameter, where heat has mixed a compact space. The finest is no finer than a third of the distance of neighbours
    among so many atoms, D / ESS^(1/dim), than the space resolves, or than can be computed in a few times what the
    coarse scales take, and never finer than the cells of a map or grid. Above ten dimensions they are resolutions, from
    D / 10 to 2 D, below a right angle. Both ends are rounded to plain numbers.

    >>> import heatess as he
    >>> scales = fitting_scales(he.Measure(he.samplers.fibonacci(1000)))
    >>> float(scales.angles[0].round(6)), float(scales.angles[-1].round(6))
    (2.0, 120.0)
    """
    space = measure.space
    unit = math.degrees(1) if space.angular else 1.0
    width = unit * spread(measure)
    most = unit * space.diameter
    if space.angular and space.dim > ANGLE_DIMENSION and space.has_resolutions:
        last = min(plain(2 * width), plain(0.39 * most))
        return resolve(space, resolutions=np.geomspace(min(plain(width / 10), last / 4), last, NUMBER_OF_SCALES))
    last = plain(min(4 * width, 2 * most / 3))
    neighbours = width / measure.ess ** (1 / max(space.dim, 1))
    cell = measure.known.cell or 0.0
    first = max(width / 50, neighbours / 3)
    last = max(last, plain(4 * cell)) if cell else last
    if space.modes is not None:
        first = max(first, 1.0001 * unit * math.sqrt(8 * space.modes.finest_time))
        last = max(last, 2 * first)
        return _grid(measure, first, last)
    first = max(min(plain(first), last / 4), cell)
    return _grid(measure, max(_affordable(measure, first, last, rtol), cell), last)


def common_scales(measures: Sequence[Measure], rtol: float = 1e-8) -> Scales:
    """60 scales that fit several clouds on one space together: from the finest end of all to the coarsest."""
    fits = [fitting_scales(measure, rtol) for measure in measures]
    if len(fits) == 1:
        return fits[0]
    resolved = all(fit.resolutions is not None for fit in fits)
    ends = [fit.resolutions if fit.resolutions is not None and resolved else fit.times for fit in fits]
    grid = np.geomspace(
        min(float(part.min()) for part in ends), max(float(part.max()) for part in ends), NUMBER_OF_SCALES
    )
    space = measures[0].space
    return resolve(space, resolutions=grid) if resolved else resolve(space, times=grid)


def spread(measure: Measure) -> float:
    """The median distance between distinct atoms, drawn by weight.

    A third of the diameter where paths between points are long to find, and half of that if there is one place.
    """
    if measure.space.modes is not None:
        return measure.space.diameter / 3
    shares = np.cumsum(measure.weights)
    picked = np.searchsorted(shares, shares[-1] * (np.arange(POINTS_FOR_SPREAD) + 0.5) / POINTS_FOR_SPREAD)
    atoms = measure.points[np.unique(np.minimum(picked, measure.n - 1))]
    one, other = np.triu_indices(len(atoms), 1)
    distances = measure.space.distance(atoms[one], atoms[other]) if len(one) else np.empty(0)
    distances = distances[distances > 0]
    if len(distances):
        return float(np.median(distances))
    return measure.space.diameter / 6 if math.isfinite(measure.space.diameter) else 1.0


def _affordable(measure: Measure, first: float, last: float, rtol: float) -> float:
    """*first*, or the finest scale above it at which the whole costs a few times as much as from last / 20 on."""
    limit = max(SLOWER * _seconds(measure, last / 20, last, rtol), SECONDS_OF_FINEST)
    while first < last / 20 and _seconds(measure, first, last, rtol) > limit:
        first = plain(1.4 * first)
    return min(first, last / 4)


def _seconds(measure: Measure, first: float, last: float, rtol: float) -> float:
    return plan.estimate(Question(measure, _grid(measure, first, last).times, rtol))


def _grid(measure: Measure, first: float, last: float) -> Scales:
    values: FloatArray = np.geomspace(first, last, NUMBER_OF_SCALES)
    if measure.space.angular and measure.space.dim <= ANGLE_DIMENSION:
        return resolve(measure.space, angles=values)
    lengths = np.radians(values) if measure.space.angular else values
    return resolve(measure.space, times=lengths**2 / 8)


def plain(value: float) -> float:
    """The nearest number such as 1, 1.5, 2, 3, 5, 7, 10, 15, 20, ...

    >>> [plain(value) for value in (0.0123, 1.8, 26.0, 118.0, 900.0)]
    [0.012, 2.0, 30.0, 120.0, 1000.0]
    """
    power = math.floor(math.log10(value))
    steps = np.array([1, 1.2, 1.5, 2, 3, 5, 7, 10])
    nearest = float(steps[np.argmin(np.abs(np.log(steps * 10.0**power / value)))])
    return float(f"{nearest}e{power}")
