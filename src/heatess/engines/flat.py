"""Flat spaces: the overlap is exp(-r^2 / 8t), so squared distances are all there is to know of the pairs.

They are gathered into distance moments (`neighbours`) in one pass, of close pairs or of all, that serves all scales.
On a torus the distance is that of the nearest images; those further away are part of what the cut-off leaves out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..kernel import truncation
from ..measure import Measure
from ..spaces.base import FloatArray, PairSpace
from ..spaces.theta import log_allowed
from .local import COINCIDENT, CROWDED, FEW_COLUMNS, MOMENT_ERROR
from .sums import EPS, HeatSums

#: Of the least period: a cut-off up to which pairs have one close image, and the others are below e^-100.
_REACH = 0.25

#: The exponent r^2 / 8t at which an overlap is nothing.
_NOTHING = 700.0

#: Tolerance down to which distance moments will do.
LEAST_RTOL = 1e-9


def cutoff(space: PairSpace, time: float, ess: float, rtol: float) -> float | None:
    """A distance beyond which pairs may be left out; None where neighbours do not suffice."""
    periods = space.flat_periods
    if periods is None or len(periods) > FEW_COLUMNS or rtol < LEAST_RTOL:
        return None
    radius = math.sqrt(8 * time * _exponent(space, time, ess, rtol))
    return radius if radius <= _REACH * float(periods.min()) else None


def _exponent(space: PairSpace, time: float, ess: float, rtol: float) -> float:
    """R^2 / 8t of the cut-off R: by `log_share_beyond`, or because 1 / gESS is at least 1 / ESS, whichever is less."""
    share = truncation(rtol, ess)
    allowed = math.log(share)
    if space.compact:
        allowed = log_allowed(float(space.log_diagonal(np.array([time]))[0]), ess, share)
    y = half = space.dim / 2
    for _ in range(100):  # the map is a contraction beyond half
        y = half * (math.log(max(y / half, 1.0)) + 1) - allowed
    return min(y, math.log(ess) - allowed)


def log_share_beyond(dim: int, y: FloatArray) -> FloatArray:
    """Upper bound on the log of the share of sum w w exp(-r^2/8t) that pairs and images with r^2 / 8t > y hold.

    A(t), which is that sum times t^(-m/2), does not grow with t. So for c < 1 those pairs hold at most
    exp(-y (1 - c)) c^(-m/2) of it: (2 e y / m)^(m/2) exp(-y) at the best c = m / 2y, however many atoms there are.
    """
    half = dim / 2
    return np.where(y > half, half * (np.log(np.maximum(y, half) / half) + 1) - y, 0.0)


@dataclass(frozen=True, eq=False)
class _Frame:
    """Coordinates around zero, the most spread out first, in a unit that is a power of two."""

    points: FloatArray
    periods: FloatArray
    unit: float
    extent: float

    @classmethod
    def of(cls, points: FloatArray, periods: FloatArray, radius: float) -> _Frame:
        """Where a coordinate does not close, gaps of more than twice *radius* shrink to that: no pair sees them."""
        low, high = points.min(axis=0), points.max(axis=0)
        order = np.argsort(low / 2 - high / 2, kind="stable")
        columns = np.empty((len(points), len(order)))
        unit = 2.0 ** math.frexp(radius)[1]
        for place, axis in enumerate(order):
            x = points[:, axis]
            if not np.isfinite(periods[axis]):
                far = high[axis] / 2 - low[axis] / 2 > _CLOSE * radius
                x = _without_gaps(x, 2 * radius) if far else x - (low[axis] / 2 + high[axis] / 2)
            columns[:, place] = x / unit
        extent = float((columns.max(axis=0) - columns.min(axis=0)).max())
        return cls(columns, periods[order] / unit, unit, extent)


#: Half the extent, in units of the cut-off, up to which cells are as small as they should be.
_CLOSE = 2.0**17


def _without_gaps(x: FloatArray, most: float) -> FloatArray:
    """The same numbers moved together, so that no gap between neighbours exceeds *most*; smaller ones stay."""
    order = np.argsort(x)
    ordered = x[order]
    with np.errstate(over="ignore"):
        first = np.concatenate([[0], np.flatnonzero(np.diff(ordered) > most) + 1])
    last = np.append(first[1:], len(x)) - 1
    lengths = ordered[last] - ordered[first]
    places = np.concatenate([[0.0], np.cumsum(lengths + most)[:-1]])
    block = np.repeat(np.arange(len(first)), last - first + 1)
    moved = np.empty(len(x))
    moved[order] = (ordered - ordered[first][block]) + places[block]
    return moved


def neighbour_sums(measure: Measure, space: PairSpace, times: FloatArray, rtol: float) -> HeatSums:
    """Heat sums over close pairs; `cutoff` must be known at all *times*."""
    exponents = np.array([_exponent(space, float(time), measure.ess, rtol) for time in times])
    radius = float(np.sqrt(8 * times * exponents).max())
    return _sums(measure, space, times, exponents, radius, everywhere=False)


def all_pair_sums(measure: Measure, space: PairSpace, times: FloatArray) -> HeatSums:
    """Heat sums over all pairs of a space without periods."""
    exponents = np.full(len(times), _NOTHING)
    return _sums(measure, space, times, exponents, float(np.sqrt(8 * times.max() * _NOTHING)), everywhere=True)


def _sums(
    measure: Measure, space: PairSpace, times: FloatArray, exponents: FloatArray, radius: float, *, everywhere: bool
) -> HeatSums:
    from .neighbours import Grid, distance_moments  # compiles, so only when it is needed

    periods = space.flat_periods
    if periods is None:
        raise TypeError(f"{space!r} is not flat; the plan should not have chosen this")
    radius = min(radius, max(_diagonal(measure.points), math.sqrt(8 * float(times.min()))))

    def grid_of(atoms: Measure) -> tuple[Grid, _Frame]:
        frame = _Frame.of(atoms.points, periods, radius)
        if everywhere:
            return Grid.whole(frame.points, atoms.weights), frame
        return Grid.of(frame.points, atoms.weights, radius / frame.unit, periods=frame.periods), frame

    atoms = measure.support()
    grid, frame = grid_of(atoms)
    if grid.candidates().sum() > CROWDED * atoms.n:
        merged = atoms.coalesced()
        if merged.n < 0.9 * atoms.n:
            atoms, (grid, frame) = merged, grid_of(merged)
    finest = math.sqrt(8 * float(times.min())) / frame.unit
    moments = distance_moments(grid, COINCIDENT * finest, radius / frame.unit)
    found = np.empty((2, len(times)))
    for k, (time, y) in enumerate(zip(times, exponents, strict=True)):
        rate = frame.unit / (8 * time) * frame.unit

        def kernel(square: FloatArray, rate: float = rate) -> FloatArray:
            value = np.exp(-rate * square)
            return np.stack([value, value * rate * square])

        found[:, k] = moments.sum(kernel, float(y / rate))
    overlap = 1 / atoms.ess + 2 * found[0]
    left_out = np.exp(np.minimum(log_share_beyond(space.dim, exponents), -exponents - np.log(overlap)))
    span = max(frame.extent, float(frame.periods[np.isfinite(frame.periods)].max(initial=0.0)))
    rounding = 32 * EPS + 16 * EPS * span * frame.unit / np.sqrt(8 * times)  # d log s_t / dr is 8 / alpha at 4 alpha
    error = left_out + rounding + MOMENT_ERROR
    return HeatSums(overlap, _log_excess(space, times, overlap), 2 * found[1] / overlap, error)


def _diagonal(points: FloatArray) -> float:
    """No pair is further apart than this."""
    with np.errstate(over="ignore"):
        return 1.001 * float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def _log_excess(space: PairSpace, times: FloatArray, overlap: FloatArray) -> FloatArray:
    if not space.compact:
        return np.full(len(times), np.nan)
    log_power = np.maximum(space.log_diagonal(times) + np.log(overlap), EPS)  # A is at least one
    return np.asarray(log_power + np.log(-np.expm1(-log_power)))
