"""Potentials: how much heat of all the atoms there is at one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, one_of
from ..base.errors import InputError
from ..base.progress import Progress
from ..engines import columns
from ..engines.lanczos import density
from ..measures import scales
from ..measures.measure import Measure, in_frame_of
from ..measures.scales import check_one_scale, check_rtol
from ..parts.sums import part_named
from ..spaces.base import Space


def potential(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
    at: Any = None,
    kind: str = "overlap",
    rtol: float = 1e-8,
    progress: bool = False,
) -> FloatArray:
    """The overlap of all points with each of some points, or the smoothed density there.

        kind="overlap":  f_t(y) = sum_j w_j s_t(y, x_j),    so that  sum_i w_i f_t(x_i) = 1 / gESS(t),
        kind="density":  p_t(y) = sum_j w_j k_t(y, x_j),    the density of the heat with respect to normalised volume.

    The time is linear in n on S^1, S^2, S^3, RP^3, rotations, tori and flat space of up to three dimensions, meshes,
    point clouds and graphs, and at fine scales wherever neighbours can be found; elsewhere all pairs are summed.

    Parameters
    ----------
    points, weights, log_weights, space, progress
        As for `heat_profile`.
    at : array-like, optional
        Points y of the same space, one for each entry of the result. Default: the points themselves.
    angle, time, resolution : float
        Exactly one of them: the scale.
    kind : {"overlap", "density"}
        What to sum.
    rtol : float
        Absolute accuracy of the overlap potential as a share of its mean over the points, 1 / gESS.

    Examples
    --------
    Two points at one place and one far away, seen at 5 degrees:

    >>> import heatess as he
    >>> cloud = [[0, 0, 1], [0, 0, 1], [1, 0, 0]]
    >>> potential(cloud, angle=5).round(6)
    array([0.666667, 0.666667, 0.333333])
    >>> float(potential(cloud, angle=5).mean().round(6)), round(1 / he.gess(cloud, angle=5), 6)
    (0.555556, 0.555556)
    """
    check_rtol(rtol)
    check_one_scale(angle, time, resolution)
    one_of(kind, "kind", ("overlap", "density"))
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    where = measure.points
    if at is not None:
        with part_named("at"):
            where = in_frame_of(measure.known.frame, Measure.of(at, space=measure.space), ("points", "at")).points
    t = float(scales.resolve(measure.space, angle, time, resolution).times[0])
    bar = Progress(progress)
    if kind == "overlap":
        return np.maximum(columns.potential(measure, t, rtol, where, bar), 0.0)
    if measure.space.modes is not None:
        return density(measure, measure.space.modes, t, where)
    if not measure.space.compact:
        why = "is not defined with respect to normalised volume, since that is infinite"
        raise InputError(f"the density on {measure.space!r} {why}; use `kind='overlap'`")
    # k_t is the overlap at half the time, times k_t(x, x).
    log_diagonal = float(measure.space.log_diagonal(np.array([t / 2]), rtol)[0])
    overlaps = np.maximum(columns.potential(measure, t / 2, rtol, where, bar), 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.exp(np.log(overlaps) + log_diagonal))  # inf where it overflows
