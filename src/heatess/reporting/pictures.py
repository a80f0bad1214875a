"""Smoothed densities of a measure on cells of a picture, at several scales from one transform."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.errors import InputError, PrecisionError
from ..densities.smoothing import Smoother
from ..engines import plan
from ..engines.base import PotentialQuestion
from ..measures.measure import Measure
from ..spaces.drawing import Cells, Drawing, Frame, Patch

#: Relative accuracy of the densities: 255 shades of three and a half powers of ten differ by 3 %.
RTOL_OF_FRAMES = 1e-4

#: Seconds that one scale may take, and more for each atom.
SECONDS_PER_SCALE, SECONDS_EACH = 0.5, 3e-7

#: Cells per scale sqrt(8 t): with so many, a bilinear picture of log density is right to 5 %.
CELLS_PER_SCALE_OF_FRAME = 3.2

#: Cells of all frames together, of one measure and of several, and frames of each, at most.
MOST_CELLS_OF_FRAMES, SEVERAL_CELLS, MOST_FRAMES = 50_000, 36_000, 12

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
    most: int = MOST_CELLS_OF_FRAMES,
    patch: Patch | None = None,
    opening: int | None = None,
) -> list[Picture]:
    """Densities at up to twelve of the *times*, in increasing order; empty where none can be drawn quickly.

    Scales too fine for a map of a whole sphere are drawn on a *patch* of it, if there is one. The scale at which the
    page opens comes first, and takes nothing of the room for *most* cells.

    They are densities of heat, p_t(y) = sum_j w_j k_t(y, x_j), with respect to normalised volume, or per unit of area
    in the plane.
    """
    if drawing.cells is None:
        return []
    own = drawn_part(measure, drawing, times)
    widths = np.sqrt(8 * own.times) / CELLS_PER_SCALE_OF_FRAME
    wide = [_is_seen(drawing, frame, width) for width in widths.tolist()]
    chosen, patched = [], [patch] * len(times)
    for row, width in enumerate(widths.tolist()):
        if patch is None or (wide[row] and not patch.holds(width * CELLS_PER_SCALE_OF_FRAME)):
            patched[row] = None
        near = patched[row]
        if wide[row] if near is None else near.is_seen(width):
            chosen.append(row)
    finest, density = _finest(own.measure, own.times[chosen]), Smoother(own.measure, RTOL_OF_FRAMES)
    if finest is None or not chosen:
        return []
    chosen = [row for row in chosen if own.times[row] >= finest]
    count = min(len(chosen), MOST_FRAMES)
    spread = [chosen[k] for k in np.unique(np.linspace(0, len(chosen) - 1, count).round().astype(int))]
    first = [row for row in chosen if row == opening]
    found: list[Picture] = []
    left = most
    for row in dict.fromkeys((*first, *reversed(spread))):  # coarse scales take few cells
        near, width = patched[row], float(widths[row])
        cells = drawing.cells(width, frame) if near is None else near.cells(width)
        room = 0 if row == opening else len(cells.points)
        if room > left:
            break
        try:
            values = density.at(float(own.times[row]), cells.points)
        except (InputError, PrecisionError):
            continue
        left -= room
        found.append(Picture(row, cells, values, near))
    return sorted(found, key=lambda picture: picture.scale)


def _is_seen(drawing: Drawing, frame: Frame, width: float) -> bool:
    """Whether cells of the picture are fine enough for cells of this width."""
    if drawing.layout == "nodes":
        return True
    step = math.radians(2.0) if drawing.layout == "lonlat" else math.radians(0.5)
    if drawing.layout == "square":
        step = 2 * float(frame.half.max()) / 100
    return width > 0.4 * step * (1.0 if drawing.kind != "circle" else 1 / (drawing.footprint or 1.0))


def _finest(measure: Measure, times: FloatArray) -> float | None:
    """The finest of the times whose density is affordable, by the estimate for a thousand cells; None for none."""
    if (modes := measure.space.modes) is not None:
        return 2.001 * modes.finest_time
    cells = measure.points[np.arange(1000) % measure.n]
    for time in times.tolist():
        question = PotentialQuestion(measure, np.array([time / 2]), RTOL_OF_FRAMES, mmd2=False, at=cells)
        if plan.estimate(question) < SECONDS_EACH * measure.n + SECONDS_PER_SCALE:
            return float(time)
    return None


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
