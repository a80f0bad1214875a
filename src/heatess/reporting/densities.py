"""Smoothed densities of a measure on cells of a picture, at several scales from one transform."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.errors import InputError, PrecisionError
from ..base.progress import Progress
from ..engines import columns, plan, spectral
from ..engines.base import PotentialQuestion
from ..engines.flows import density as density_on_nodes
from ..measures.measure import Measure
from ..spaces.drawing import Cells, Drawing, Frame, Patch
from ..transforms.base import Transform

#: Relative accuracy of the densities: 255 shades of three and a half powers of ten differ by 3 %.
RTOL = 1e-4

#: Seconds that one scale may take where there is no transform, and the whole where there is, for each atom and besides.
SECONDS, SECONDS_EACH, SECONDS_BESIDES = 0.3, 3e-7, 0.5

#: Cells per scale sqrt(8 t): with so many, a bilinear picture of log density is right to 5 %.
CELLS = 3.2

#: Cells of all frames together, of one measure and of several, and frames of each, at most.
MOST_CELLS, SEVERAL_CELLS, MOST_FRAMES = 50_000, 36_000, 12

#: Decades of density that are kept below the largest.
DECADES = 3.5


class Picture(NamedTuple):
    """The density at one scale: its place among the scales, the cells, and the values, one per cell."""

    scale: int
    cells: Cells
    values: FloatArray
    patch: Patch | None  #: the part of the sphere that the cells cover; None for all of it


class Drawn(NamedTuple):
    """A measure that is drawn, which is a marginal of the whole for a product, and its times."""

    measure: Measure
    times: FloatArray


def drawn_part(measure: Measure, drawing: Drawing, times: FloatArray) -> Drawn:
    """The measure on the factor that is drawn, at the times that heat takes there."""
    if drawing.part is None:
        return Drawn(measure, times)
    space, multiplier, own = drawing.part
    return Drawn(Measure.trusted(space, own(measure.points), measure.weights), times / multiplier**2)


def pictures(
    measure: Measure,
    drawing: Drawing,
    times: FloatArray,
    frame: Frame,
    *,
    most: int = MOST_CELLS,
    patch: Patch | None = None,
) -> list[Picture]:
    """Densities at up to twelve of the *times*, in increasing order; empty where none can be drawn quickly.

    Scales too fine for a map of a whole sphere are drawn on a *patch* of it, if there is one.

    They are densities of heat, p_t(y) = sum_j w_j k_t(y, x_j), with respect to normalised volume, or per unit of area
    in the plane.
    """
    if drawing.cells is None:
        return []
    own = drawn_part(measure, drawing, times)
    widths = np.sqrt(8 * own.times) / CELLS
    wide = [_is_seen(drawing, frame, width) for width in widths.tolist()]
    chosen, patched = [], [patch] * len(times)
    for row, width in enumerate(widths.tolist()):
        if patch is None or (wide[row] and not patch.holds(width * CELLS)):
            patched[row] = None
        near = patched[row]
        if wide[row] if near is None else near.is_seen(width):
            chosen.append(row)
    density = _densities(own.measure, own.times[chosen])
    if density is None or not chosen:
        return []
    chosen = [row for row in chosen if own.times[row] >= density.finest]
    count = min(len(chosen), MOST_FRAMES)
    chosen = (
        [chosen[k] for k in np.unique(np.linspace(0, len(chosen) - 1, count).round().astype(int))] if chosen else []
    )
    found: list[Picture] = []
    left = most
    for row in reversed(chosen):  # coarse scales first, which take few cells
        near, width = patched[row], float(widths[row])
        cells = drawing.cells(width, frame) if near is None else near.cells(width)
        if len(cells.points) > left:
            break
        try:
            values = density.at(float(own.times[row]), cells.points)
        except (InputError, PrecisionError):
            break
        left -= len(cells.points)
        found.insert(0, Picture(row, cells, values, near))
    return found


def _is_seen(drawing: Drawing, frame: Frame, width: float) -> bool:
    """Whether cells of the picture are fine enough for cells of this width."""
    if drawing.layout == "nodes":
        return True
    step = math.radians(2.0) if drawing.layout == "lonlat" else math.radians(0.5)
    if drawing.layout == "square":
        step = 2 * float(frame.half.max()) / 100
    return width > 0.4 * step * (1.0 if drawing.kind != "circle" else 1 / (drawing.footprint or 1.0))


class _Density(NamedTuple):
    finest: float  #: time
    at: Callable[[float, NDArray[Any]], FloatArray]


def _densities(measure: Measure, times: FloatArray) -> _Density | None:
    """Densities at some of the times; None where none are affordable."""
    if not len(times):
        return None
    space = measure.space
    if (modes := space.modes) is not None:
        return _Density(2.001 * modes.finest_time, lambda time, at: density_on_nodes(measure, time, at))
    if space.transform is not None:
        return _by_transform(measure, space.transform, times)
    return _by_plan(measure, times)


def _by_transform(measure: Measure, transform: Transform, times: FloatArray) -> _Density | None:
    """Coefficients once, to the degree of the finest time that is affordable."""
    limit = SECONDS_EACH * measure.n + SECONDS_BESIDES
    for time in times:
        degree = transform.degree_for(float(time) / 2, measure.ess, RTOL, mmd2=False)
        if degree is not None and transform.seconds(measure.n, degree) < limit:
            break
    else:
        return None
    epsilon, last = spectral.accuracy(RTOL), degree
    threads = spectral.threads_for(measure.n, last)
    coefficients = transform.coefficients(measure.points, measure.weights, last, epsilon, threads)

    def at(time: float, points: NDArray[Any]) -> FloatArray:
        how = spectral.threads_for(len(points), last)
        return _scaled(measure, time, transform.potential(coefficients, last, time / 2, points, epsilon, how))

    return _Density(float(time), at)


def _by_plan(measure: Measure, times: FloatArray) -> _Density | None:
    """Whatever engine is cheapest, at the times where it is cheap enough for a thousand cells."""
    cells = measure.points[np.arange(1000) % measure.n]
    for time in times:
        question = PotentialQuestion(measure, np.array([float(time) / 2]), RTOL, mmd2=False, at=cells)
        if plan.estimate(question) < SECONDS:
            break
    else:
        return None

    def at(time: float, points: NDArray[Any]) -> FloatArray:
        return _scaled(measure, time, columns.potential(measure, time / 2, RTOL, points, Progress(False)))

    return _Density(float(time), at)


def _scaled(measure: Measure, time: float, overlaps: FloatArray) -> FloatArray:
    """k_t(y, x) is the overlap at half the time, times k_t(x, x)."""
    space = measure.space
    if space.compact and space.pair_kernel is not None:
        half = np.array([time / 2])
        log_diagonal = float(space.pair_kernel.fitted(measure.points[:1], half, RTOL).log_diagonal(half)[0])
    else:
        log_diagonal = -space.dim / 2 * math.log(4 * math.pi * time)
    with np.errstate(over="ignore"):
        return np.maximum(overlaps, 0.0) * math.exp(min(log_diagonal, 700.0))


class Shades(NamedTuple):
    """A picture in 256 shades: log10 of the density is least + (most - least) value / 255."""

    least: float
    most: float
    values: NDArray[np.uint8]


def shades(values: FloatArray) -> Shades:
    """Logarithms of a density in 256 steps, three and a half powers of ten at most.

    >>> shades(np.array([1.0, 10.0, 1e-30]))
    Shades(least=-2.5, most=1.0, values=array([182, 255,   0], dtype=uint8))
    """
    with np.errstate(divide="ignore"):
        logs = np.log10(np.nan_to_num(np.maximum(values, 0.0)))
    finite = logs[np.isfinite(logs)]
    if not len(finite):
        return Shades(0.0, 0.0, np.zeros(len(values), dtype=np.uint8))
    most = float(finite.max())
    least = max(float(logs.min()), most - DECADES)
    span = max(most - least, 1e-12)
    return Shades(least, most, np.clip(np.rint(255 * (logs - least) / span), 0, 255).astype(np.uint8))
