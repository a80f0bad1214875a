"""What users ask first: the heat profile of weighted points, gESS at one scale, and the resampling trigger."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import is_dask
from ..base.errors import CalibrationWarning, InputError, warn
from ..base.progress import Progress, told
from ..engines import plan, sampled
from ..measures import scales
from ..measures.measure import Measure
from ..measures.scales import check_one_scale, check_rtol
from ..profiles.default_scales import scales_for
from ..profiles.heat_profile import Facts, HeatProfile, build_profile
from ..spaces.base import Space


def heat_profile(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    rtol: float = 1e-8,
    method: str = "auto",
    pairs: float | None = None,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
) -> HeatProfile:
    """The heat-kernel entropy profile and geometric effective sample size at every scale.

    For weights w_i summing to one and the heat overlap s_t of two points,

        gESS(t) = 1 / sum_ij w_i w_j s_t(x_i, x_j),    A(t) = sum_ij w_i w_j k_2t(x_i, x_j).

    Parameters
    ----------
    points : array-like, shape (n, d)
        Points; unit vectors unless *space* says otherwise.
    weights, log_weights : array-like, shape (n,), optional
        At most one of them; neither need be normalised. Default: equal weights. Of a data frame, a column's name.
    space : Space, optional
        The manifold. Default: the unit sphere of the array's dimension.
    angles, times, resolutions : array-like, optional
        At most one of them: alpha = sqrt(8 t) in degrees; diffusion times; or the distance in degrees at which two
        points overlap by 1/e (the choice for more than ten dimensions). Default: 60 scales that fit the cloud, see
        `heatess.fitting.fitting_scales`.
    rtol : float
        Relative accuracy wanted; what was reached for `gess` is in the result's `error`. There is a `PrecisionWarning`
        where `mmd2` may be off by more than four times that, by more than *rtol* and by more than 1e-4 (0.1 on meshes
        and point clouds): with rtol=0.01 it may be off by one per cent.
    method : {"auto", "spectral", "pairwise", "local"}
        Force an engine. All agree to *rtol*.
    pairs, rng : int, and Generator or int, optional
        Estimate from about this many random pairs instead, where all pairs would take hours: unbiased in 1 / gESS.
        `error` then includes three standard errors, and what points and close pairs too rare to be drawn could add; the
        truth lies outside in less than 1 case of 190. Not for meshes, point clouds and graphs, whose time is linear in
        n anyway. The randomness is that of *rng*.
    progress : bool
        Show a bar on stderr for long sums.

    Examples
    --------
    Three hundred labels at thirty places are thirty particles, not three hundred:

    >>> import heatess as he
    >>> labels = np.repeat(he.samplers.fibonacci(30), 10, axis=0)
    >>> profile = he.heat_profile(labels, angles=[5, 15, 45])
    >>> round(profile.ess), profile.gess.round(1)
    (300, array([30. , 29.7,  6.8]))
    """
    check_rtol(rtol)
    if is_dask(points):
        from ..distributed import profile_collection

        at_scales: dict[str, Any] = {"angles": angles, "times": times, "resolutions": resolutions}
        how: dict[str, Any] = {"rtol": rtol, "method": method, "pairs": pairs, "progress": progress}
        return profile_collection(points, weights, log_weights=log_weights, space=space, **at_scales, **how)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    bar, facts = Progress(progress), Facts(measure.space, measure.n, measure.ess, rtol, measure.known.of_all)
    with bar.told():
        at = scales_for(measure, angles, times, resolutions, rtol)
    scales.warn_below_cell(measure.known.cell, at.angles)
    if pairs is not None:
        if method != "auto":
            raise InputError(f"give <+`pairs=` or `method={method!r}`+>, not <!both!>; random pairs are a method too")
        sums = sampled.heat_sums(measure, at.times, rtol, *sampled.check_arguments(pairs, rng), bar)
        return build_profile(facts, sums, at, "pairs")
    with bar.told():
        sums, ran, spectrum = plan.run(measure, at.times, rtol, method, bar)
    return build_profile(facts, sums, at, ran, spectrum)


@told
def gess(
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
) -> float:
    """Geometric effective sample size at one scale: give exactly one of *angle*, *time*, *resolution*.

    It is the number of points that can be told apart, from 1 to the ordinary ESS. Parameters are as for `heat_profile`.

    Two points 15 degrees apart, seen at 5 degrees and at 60:

    >>> import heatess as he
    >>> pair = [[1, 0, 0], [np.cos(np.radians(15)), np.sin(np.radians(15)), 0]]
    >>> round(he.gess(pair, angle=5), 3), round(he.gess(pair, angle=60), 3)
    (2.0, 1.028)
    """
    check_rtol(rtol)
    check_one_scale(angle, time, resolution)
    if is_dask(points):
        at_scale: dict[str, Any] = {"angles": angle, "times": time, "resolutions": resolution}
        return float(heat_profile(points, weights, log_weights=log_weights, space=space, rtol=rtol, **at_scale).gess[0])
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    at = scales.resolve(measure.space, angle, time, resolution)
    scales.warn_below_cell(measure.known.cell, at.angles)
    t = float(at.times[0])
    return min(max(1 / plan.overlap(measure, t, rtol), 1.0), measure.ess)


@told
def gess_ratio(
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
) -> float:
    """gESS of the weighted points over gESS of the same points equally weighted: a resampling trigger.

    Resample when it falls below a half, say. Unlike gESS / n it is about one again after resampling.

    It cannot fall below 1 / gESS of the equally weighted points, its value with all weight on one of them. There is a
    `CalibrationWarning` where that floor is above a half: the scale is then too wide beside the cloud to tell anything.

    >>> import heatess as he
    >>> cloud = he.samplers.fibonacci(500)
    >>> he.gess_ratio(cloud, np.ones(500), angle=10)
    1.0
    >>> round(he.gess_ratio(cloud, np.exp(20 * cloud[:, 2]), angle=10), 3)
    0.057
    """
    check_rtol(rtol)
    check_one_scale(angle, time, resolution)
    if is_dask(points):
        at_scale: dict[str, Any] = {"angle": angle, "time": time, "resolution": resolution}
        at_scale |= {"space": space, "rtol": rtol}
        return gess(points, weights, log_weights=log_weights, **at_scale) / gess(points, **at_scale)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    t = float(scales.resolve(measure.space, angle, time, resolution).times[0])
    return ratio_at(measure, t, 0.5, rtol=rtol)


def ratio_at(measure: Measure, time: float, threshold: float, *, narrows: bool = False, rtol: float = 1e-8) -> float:
    """`gess_ratio` of a measure, with a warning if it can never fall below a threshold.

    Of a cloud of rms width W in D dimensions the floor is about (1 + 4 W^2 / (D alpha^2))^(-D/2); W from the floor that
    was found says at which scale alpha it is half the threshold. A scale that *narrows* goes there, where the floor is
    above three quarters of the threshold.
    """
    even = measure.equally_weighted
    floor = plan.overlap(even, time, rtol)
    for _ in range(3):
        share = widest_share(floor, threshold, measure.space.dim)
        if not narrows or floor < 0.75 * threshold or share == 0:
            break
        time *= share**2
        floor = plan.overlap(even, time, rtol)
    if floor > threshold and measure.ess < (1 - 1e-9) * measure.n:  # equal weights have the ratio 1 at every scale
        advice = f"give one of {scales.in_words(measure.space, share**2 * time)} or finer" if share else "all are one"
        warn(
            f"at {scales.in_words(measure.space, time)} the ratio is {floor:.2f} or more whatever the weights are, and "
            f"so never below {threshold:g}: the scale is too wide beside the cloud; {advice}",
            CalibrationWarning,
        )
    return floor / plan.overlap(measure, time, rtol)


def widest_share(floor: float, threshold: float, dim: int) -> float:
    """By which factor a scale must shrink for the floor to be half the threshold.

    >>> round(widest_share(0.5, 0.5, 2), 3)  # floor 1 / (1 + 2 W^2 / alpha^2): W^2 = alpha^2 / 2, wanted 1 / 4
    0.577
    """
    power = 2 / max(dim, 1)
    return math.sqrt(max(floor**-power - 1, 0.0) / ((threshold / 2) ** -power - 1))
