"""The squared maximum mean discrepancy of two weighted measures with the heat kernel, at every scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import EPS, FloatArray
from ..base.errors import InputError, PrecisionWarning, ScaleError, warn
from ..base.messages import shown
from ..base.progress import told
from ..engines import columns
from ..engines.base import Difference, DifferenceQuestion
from ..engines.centred_overlap import log_excess
from ..engines.differences import UNDERFLOW
from ..measures import scales
from ..measures.measure import Measure, distinct_rows, in_frame_of
from ..measures.scales import check_rtol
from ..parts.sums import part_named
from ..profiles.heat_profile import mmd2_doubt
from ..spaces.base import Space


class Apart(NamedTuple):
    """The parts in which each of two measures exceeds the other, scaled to a total weight of one each."""

    left: Measure
    right: Measure
    mass: float  # what the total weights were
    places: NDArray[Any]  # all places, those that have none of the two as well
    rounding: FloatArray  # of the scaled weight at each of them


@told
def mmd2(
    a: Any,
    b: Any,
    *,
    weights: Any = None,
    log_weights: Any = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    rtol: float = 1e-8,
    progress: bool = False,
) -> FloatArray:
    """Squared MMD of two weighted measures with the heat kernel k_2t, at every scale: how far apart they are there.

        MMD^2(t) = integral of (p_t - q_t)^2 = sum over modes of exp(-2 lambda t) |a_k - b_k|^2,

    with p_t and q_t the densities of the two after the time t, with respect to normalised volume, and a_k, b_k their
    coefficients. It falls with t. To the uniform distribution it is `HeatProfile.mmd2`.

    Weight that both have at the same place is taken away first, so that equal measures are exactly 0 apart, and nearly
    equal ones are as certain as what they differ by. On spaces with a transform (S^1, S^2, S^3, RP^2, RP^3, rotations,
    tori of up to three dimensions, compact products), on meshes, point clouds and graphs the time is linear in n, and
    differences of coefficients are squared: nothing cancels. Elsewhere, and at scales too fine for the transform, it
    is 2 A_a + 2 A_b - 4 A_m, with A the power of each and of their mean m. There, what is small beside these is lost.

    Parameters
    ----------
    a, b : array-like or Measure
        Points, or a `Measure` each. They need not have the same number of points.
    weights, log_weights : pair, optional
        Weights of *a* and of *b*, (wa, wb), as for `heat_profile`; None in place of one of them for equal weights.
    space : Space, optional
        The manifold, unless *a* or *b* is a `Measure`. Default: the unit sphere of the array's dimension.
    angles, times, resolutions : array-like
        Exactly one of them, as for `heat_profile`.
    rtol : float
        Relative accuracy wanted. A `PrecisionWarning` says how certain the numbers are where a bound on their relative
        error (truncation, transform, rounding) is above both this and 1e-4: what is within *rtol* was asked for, and
        is not warned of. On meshes and point clouds that is the error for the eigenpairs as they are, and there is a
        warning from 0.1 on.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Returns
    -------
    ndarray, shape (scales,)
        Not negative; inf where it overflows.

    Examples
    --------
    Ten labels at each of thirty places are the same measure as one; their mirror images differ in the fine alone:

    >>> import heatess as he
    >>> places = he.samplers.fibonacci(30)
    >>> mmd2(places, np.repeat(places, 10, axis=0), angles=[5, 45])
    array([0., 0.])
    >>> mmd2(places, -places, angles=[10, 20, 45]).round(2)
    array([6.89, 0.55, 0.  ])
    """
    check_rtol(rtol)
    if angles is None and times is None and resolutions is None:
        raise ScaleError("give the scales: <+one of `angles=`, `times=` and `resolutions=`+>")
    one, other = measures_of(a, b, space, weights, log_weights)
    if not one.space.compact:
        raise InputError(
            f"mmd2 on <!{one.space!r}!> is not defined with respect to normalised volume, since that is infinite; "
            "give points of <+a compact space+>, for instance a Torus whose periods are larger than the cloud"
        )
    at = scales.resolve(one.space, angles, times, resolutions)
    return mmd2_of(one, other, at.times, rtol)


@told
def mmd(
    a: Any,
    b: Any,
    *,
    weights: Any = None,
    log_weights: Any = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    rtol: float = 1e-8,
    progress: bool = False,
) -> FloatArray:
    """MMD of two weighted measures with the heat kernel k_2t, at every scale: the square root of `mmd2`.

    It is a distance of measures: MMD(a, c) <= MMD(a, b) + MMD(b, c). Parameters are as for `mmd2`, shape (scales,) too.

    >>> import heatess as he
    >>> places = he.samplers.fibonacci(30)
    >>> mmd(places, -places, angles=[10, 20, 45]).round(2)
    array([2.62, 0.74, 0.04])
    """
    given: dict[str, Any] = {"weights": weights, "log_weights": log_weights, "space": space, "rtol": rtol}
    squared = mmd2(a, b, **given, angles=angles, times=times, resolutions=resolutions)
    return np.asarray(np.sqrt(squared))


def mmd2_of(one: Measure, other: Measure, times: FloatArray, rtol: float) -> FloatArray:
    """MMD^2 of two measures on one compact space, or a warning about it."""
    parts = apart(one, other)
    if parts is None:
        return np.zeros(len(times))
    order = np.argsort(times, kind="stable")
    values, error = (found[np.argsort(order)] for found in log_mmd2_of(parts, times[order], rtol))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        result = np.asarray(np.exp(values + 2 * math.log(parts.mass)))
        if one.space.modes is None and (error > mmd2_doubt(one.space, rtol)).any():
            # No two measures are further apart than this; where it underflows, zero is the right number.
            most = np.fmin(values + np.log1p(error), log_excess(parts.left, times, rtol) + math.log(4))
            error = np.where(most + 2 * math.log(parts.mass) < UNDERFLOW, 0.0, error)
    _warn_of_doubt(one.space, times, result, error, rtol)
    return result


def measures_of(
    a: Any,
    b: Any,
    space: Space | None,
    weights: Any = None,
    log_weights: Any = None,
    names: tuple[str, str] = ("a", "b"),
) -> tuple[Measure, Measure]:
    """Both on one space, the one given, that of a Measure, or the unit sphere; and in one frame, that of *a*.

    *weights* and *log_weights* are pairs, or None.
    """
    (own, others), (own_log, others_log) = _pair(weights, "weights"), _pair(log_weights, "log_weights")
    known = [part.space for part in (a, b) if isinstance(part, Measure)]
    if len(known) == 2 and known[0] != known[1]:
        raise InputError(f"a and b must be <+on one space+>, but <!a is on {known[0]!r} and b on {known[1]!r}!>")
    if space is None and known:
        space = known[0]
    with part_named("a"):
        one = Measure.of(a, own, log_weights=own_log, space=space)
    with part_named("b"):
        other = Measure.of(b, others, log_weights=others_log, space=space or one.space)
    one, other = in_one_frame([one, other], names)
    if one.points.dtype != other.points.dtype:  # unit vectors in single precision are of unit length to that alone
        one, other = _double(one), _double(other)
    return one, other


def _pair(given: Any, name: str) -> tuple[Any, Any]:
    if given is None:
        return None, None
    if not isinstance(given, tuple | list) or len(given) != 2 or any(_is_number(part) for part in given):
        raise InputError(
            f"{name} must be <+a pair, {name}=(those of a, those of b), with None for equal weights+>, but are "
            f"<!{shown(given)}!>"
        )
    return given[0], given[1]


def _is_number(part: Any) -> bool:
    return part is not None and not isinstance(part, str) and np.ndim(part) == 0


def in_one_frame(measures: Sequence[Measure], names: Sequence[str]) -> list[Measure]:
    """All in the frame of the first that has one, see `in_frame_of`; files that do not say theirs are told of."""
    own = zip(measures, names, strict=True)
    frame, owner = next(((part.known.frame, name) for part, name in own if part.known.frame is not None), (None, ""))
    return [in_frame_of(frame, part, (owner, name)) for part, name in zip(measures, names, strict=True)]


def _double(measure: Measure) -> Measure:
    points = measure.space.check(measure.points.astype(np.float64))
    return Measure.trusted(measure.space, points, measure.weights, measure.known)


def apart(one: Measure, other: Measure) -> Apart | None:
    """What is left of both without the weight that they share; None if nothing is, but for rounding of the weights."""
    points = np.concatenate([one.points, other.points])
    label, first = distinct_rows(np.ascontiguousarray(points) + 0.0)  # -0.0 and 0.0 are one coordinate
    mine = np.bincount(label[: one.n], one.weights, len(first))
    theirs = np.bincount(label[one.n :], other.weights, len(first))
    rounding = 2 * EPS * (1 + np.bincount(label, minlength=len(first))) * (mine + theirs)
    excess = mine - theirs
    more, less = excess > rounding, -excess > rounding
    if not more.any() or not less.any():
        return None
    weights, others = excess[more], -excess[less]
    own, their = float(weights.sum()), float(others.sum())
    left = Measure.trusted(one.space, points[first[more]], weights / own)
    right = Measure.trusted(one.space, points[first[less]], others / their)
    mass = (own + their) / 2
    return Apart(left, right, mass, points[first], rounding / mass)


def differences(one: Measure, other: Measure) -> tuple[NDArray[Any], FloatArray]:
    """Distinct places in which two measures differ by more than rounding, and the differences of their weights."""
    parts = apart(one, other)
    if parts is None:
        return one.points[:0], np.zeros(0)
    weights = np.concatenate([parts.left.weights, -parts.right.weights])
    return np.concatenate([parts.left.points, parts.right.points]), parts.mass * weights


def log_mmd2_of(parts: Apart, times: FloatArray, rtol: float) -> Difference:
    """MMD^2 of the two scaled parts, at increasing times."""
    left, right, _, places, rounding = parts
    question = DifferenceQuestion(left, times, rtol, other=right, places=places, rounding=rounding)
    return columns.differences(question, rtol if left.space.modes is None else mmd2_doubt(left.space, rtol))


def _warn_of_doubt(space: Space, times: FloatArray, values: FloatArray, error: FloatArray, rtol: float) -> None:
    bad = error > mmd2_doubt(space, rtol)
    if bad.any():
        worst = int(np.argmax(np.where(bad, error, 0.0)))
        warn(
            f"mmd2 may be off by {min(float(error[worst]), 1.0):.0e} relatively at {int(bad.sum())} of {len(times)} "
            f"scales, worst at {scales.in_words(space, float(times[worst]))}, where it is {values[worst]:.0e}: the two "
            "measures agree there to more digits than sums can tell; give scales at which they differ more",
            PrecisionWarning,
        )
