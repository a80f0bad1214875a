"""The squared maximum mean discrepancy of two weighted measures with the heat kernel, at every scale."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import EPS, FloatArray, shown
from ..base.blocks import slices
from ..base.errors import InputError, PrecisionWarning, ScaleError, warn
from ..base.progress import Progress
from ..engines import plan
from ..engines.base import Question
from ..engines.centred import log_excess
from ..engines.diagonals import SOON
from ..engines.energies import Energies, blur_of
from ..engines.modes import BLOCK_ENTRIES, SUM_ROUNDING, Eigenmodes, share_missing
from ..engines.runs import log_energy, rounding_of
from ..engines.spectral import AGAIN, accuracy, threads_for
from ..heat.sums import LevelMoments, log_sum
from ..measures import scales
from ..measures.measure import Measure, distinct_rows, in_frame_of
from ..measures.scales import check_rtol
from ..parts.sums import part_named
from ..profiles.profile import mmd2_doubt
from ..spaces.base import Space
from ..spaces.capabilities import Modes
from ..spaces.flow import Flow
from ..transforms.base import Coefficients, LowSums, Spectrum, Transform
from ..transforms.levels import LevelSpectrum, LevelTransform

#: Longest estimate of a transform, in seconds, before other ways are asked; and before they are tried, if as quick.
LONG, QUICK = 60.0, 0.05


class LogMmd2(NamedTuple):
    """Logarithm of MMD^2 at each time, and bounds on the relative error of MMD^2."""

    values: FloatArray
    error: FloatArray


class Apart(NamedTuple):
    """The parts in which each of two measures exceeds the other, scaled to a total weight of one each."""

    left: Measure
    right: Measure
    mass: float  # what the total weights were
    places: NDArray[Any]  # all places, those that have none of the two as well
    rounding: FloatArray  # of the scaled weight at each of them

    @property
    def n(self) -> int:
        """Number of atoms of both."""
        return self.left.n + self.right.n

    @property
    def size(self) -> float:
        """The ESS of independent draws that would be as far from uniform as half the difference of the two is."""
        return 4 / (1 / self.left.ess + 1 / self.right.ess)


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
) -> FloatArray:
    """Squared MMD of two weighted measures with the heat kernel k_2t, at every scale: how far apart they are there.

        MMD^2(t) = integral of (p_t - q_t)^2 = sum over modes of exp(-2 lambda t) |a_k - b_k|^2,

    with p_t and q_t the densities of the two after the time t, with respect to normalised volume, and a_k, b_k their
    coefficients. It falls with t. To the uniform law it is `HeatProfile.mmd2`.

    Weight that both have at the same place is taken away first, so that equal measures are exactly 0 apart, and nearly
    equal ones are as certain as what they differ by. On spaces with a transform (S^1, S^2, S^3, RP^2, RP^3, rotations,
    tori of up to three dimensions, compact products), on meshes, point clouds and graphs the time is linear in n, and
    differences of coefficients are squared: nothing cancels. Elsewhere, and at scales too fine for the transform, it
    is 2 A_a + 2 A_b - 4 A_m, with A the power of each and of their mean m. There, what is small beside these is lost.

    Parameters
    ----------
    a, b : array-like or Measure
        Points, or a `Measure` each. They need not have the same number of atoms.
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
        raise ScaleError("give the scales: one of angles=, times= and resolutions=")
    one, other = measures_of(a, b, space, weights, log_weights)
    if not one.space.compact:
        raise InputError(
            f"mmd2 on {one.space!r} is not defined with respect to normalised volume, since that is infinite; give "
            "points of a compact space, for instance a Torus whose periods are larger than the cloud"
        )
    at = scales.resolve(one.space, angles, times, resolutions)
    return mmd2_of(one, other, at.times, rtol)


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
    with np.errstate(over="ignore", under="ignore"):
        result = np.asarray(np.exp(values + 2 * math.log(parts.mass)))
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
        raise InputError(f"a and b must be on one space, but a is on {known[0]!r} and b on {known[1]!r}")
    if space is None and known:
        space = known[0]
    with part_named("a"):
        one = Measure.of(a, own, log_weights=own_log, space=space)
    with part_named("b"):
        other = Measure.of(b, others, log_weights=others_log, space=space or one.space)
    other = in_one_frame(one, other, names)
    if one.points.dtype != other.points.dtype:  # unit vectors in single precision are of unit length to that alone
        one, other = _double(one), _double(other)
    return one, other


def _pair(given: Any, name: str) -> tuple[Any, Any]:
    if given is None:
        return None, None
    if not isinstance(given, tuple | list) or len(given) != 2 or any(_is_number(part) for part in given):
        raise InputError(
            f"{name} must be a pair, {name}=(those of a, those of b), with None for equal weights, but are "
            f"{shown(given)}"
        )
    return given[0], given[1]


def _is_number(part: Any) -> bool:
    return part is not None and not isinstance(part, str) and np.ndim(part) == 0


def in_one_frame(one: Measure, other: Measure, names: tuple[str, str] = ("a", "b")) -> Measure:
    """*other* in the frame of *one*, see `in_frame_of`; that *one* is a file and does not say its frame is told."""
    if one.known.frame is None and other.known.frame is not None:
        in_frame_of(other.known.frame, one, names[::-1])
    return in_frame_of(one.known.frame, other, names)


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


def log_mmd2_of(parts: Apart, times: FloatArray, rtol: float) -> LogMmd2:
    """MMD^2 of the two scaled parts, at increasing times."""
    space = parts.left.space
    if space.modes is not None:
        return _by_modes(parts, times, space.modes, rtol)
    transform = space.transform
    seam = len(times) if transform is None else _served(transform, parts, times, rtol, LONG)
    found = []
    if seam:
        found.append(_by_powers(parts, times[:seam], rtol))
    if transform is not None and seam < len(times):
        quick = _served(transform, parts, times, rtol, QUICK)
        tried = _quick_powers(parts, times[seam:quick], rtol)
        if tried is not None:
            found.append(tried)
            seam = quick
    if transform is not None and seam < len(times):
        found.append(_by_transform(transform, parts, times[seam:], rtol))
    return LogMmd2(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _served(transform: Transform, parts: Apart, times: FloatArray, rtol: float, longest: float) -> int:
    """The place of the first time that the transform serves in so many seconds."""
    for place, time in enumerate(times):
        degree = transform.degree_for(float(time), parts.size, rtol)
        if degree is not None and transform.seconds(parts.n, degree) <= longest:
            return place
    return len(times)


def _quick_powers(parts: Apart, times: FloatArray, rtol: float) -> LogMmd2 | None:
    """By powers at scales whose transform takes long; None where that takes long too, or loses too many digits."""
    if not len(times) or _powers_seconds(parts, times, rtol) > QUICK:
        return None
    found = _by_powers(parts, times, rtol)
    return found if (found.error <= rtol).all() else None


def _powers_seconds(parts: Apart, times: FloatArray, rtol: float) -> float:
    """Rough seconds of `_by_powers`: its third measure takes at most twice what the others take together."""
    return 3 * sum(plan.estimate(Question(part, times, rtol)) for part in (parts.left, parts.right))


def _moved(root_error: FloatArray | float, log_room: FloatArray, values: FloatArray) -> FloatArray:
    """What an error of the coefficients per unit of weight does to MMD^2, relatively.

    It moves MMD by at most that times sqrt(k_2t(x, x) - 1), the MMD of one atom: the triangle inequality. Where the
    square of that underflows, zero is the right number.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.log(root_error) + log_room / 2
        share = np.exp(np.minimum(moved - values / 2, 300.0))
    return np.where(2 * moved < -745.0, 0.0, 2 * share + share**2)


class Transformed(NamedTuple):
    """Coefficients and low sums of one measure, and the log of the energy that they leave out at each time."""

    coefficients: Coefficients
    low_sums: LowSums
    log_left_out: FloatArray


def _by_transform(transform: Transform, parts: Apart, times: FloatArray, rtol: float) -> LogMmd2:
    """From half the difference of the coefficients, whose energies in each level are no more than those of one atom.

    What truncation leaves out of it is no more than the larger of what it leaves out of the two.
    """
    epsilon, space = accuracy(rtol), parts.left.space
    needed = transform.degree_for(float(times[0]), parts.size, rtol)
    degree = transform.most if needed is None else needed
    # An angle that is good to EPS turns a coefficient of level lambda by EPS sqrt(lambda), m / 4t at most in the mean.
    turned = 8 * EPS * space.diameter * np.sqrt(space.dim / (4 * times))
    log_room = log_excess(parts.left, times, rtol)
    while True:
        left, right = (_transformed(transform, part, degree, times, rtol) for part in (parts.left, parts.right))
        half = (left.coefficients - right.coefficients) / 2
        spectrum = _spectrum(transform, half, partial(_half_low_sums, left, right), degree, rtol)
        values = spectrum.heat_sums(times).log_mmd2
        with np.errstate(invalid="ignore"):
            missing = np.exp(np.minimum(np.maximum(left.log_left_out, right.log_left_out) - values, 700.0))
        missing = np.where(np.isneginf(values), 0.0, missing)
        more = 1.5 * degree + 1
        enough = not (missing > rtol).any()
        if enough or more > transform.most or transform.seconds(parts.n, more) > AGAIN:
            error = missing + _moved(epsilon + turned + parts.rounding.sum(), log_room, values)
            return LogMmd2(values + math.log(4), error)
        degree = float(int(more))


def _transformed(transform: Transform, part: Measure, degree: float, times: FloatArray, rtol: float) -> Transformed:
    epsilon, low_sums = accuracy(rtol), cache(lambda: transform.low_sums(part.points, part.weights))
    found = transform.coefficients(part.points, part.weights, degree, epsilon, threads_for(part.n, degree))
    sums = transform.spectrum(found, low_sums, degree, epsilon, rtol).heat_sums(times)
    with np.errstate(divide="ignore"):
        return Transformed(found, low_sums, np.log(sums.missing) + sums.log_mmd2)


def _half_low_sums(left: Transformed, right: Transformed) -> FloatArray:
    return np.asarray((left.low_sums() - right.low_sums()) / 2)


def _spectrum(
    transform: Transform, coefficients: Coefficients, low_sums: LowSums, degree: float, rtol: float
) -> Spectrum:
    """The spectrum of a measure of total weight zero, without what holds for total weight one alone."""
    epsilon = accuracy(rtol)
    if isinstance(transform, LevelTransform):
        return LevelSpectrum(transform.series, LevelMoments(transform.moments(coefficients), root_error=epsilon))
    return transform.spectrum(coefficients, low_sums, degree, epsilon, rtol)


def _by_powers(parts: Apart, times: FloatArray, rtol: float) -> LogMmd2:
    """2 A_a + 2 A_b - 4 A_m, with m the mean of the two, each less one; whatever engine sums them."""
    left, right = parts.left, parts.right
    points, weights = (
        np.concatenate([getattr(part, name) for part in (left, right)]) for name in ("points", "weights")
    )
    mean = Measure.trusted(left.space, points, weights / 2)
    sums = [plan.run(part, times, rtol, "auto", Progress(False)).sums for part in (left, right, mean)]
    logs = np.array([part.log_mmd2 for part in sums])
    peak = logs.max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        terms = np.array([[2.0], [2.0], [4.0]]) * np.exp(logs - peak)
        difference = np.maximum(terms[0] + terms[1] - terms[2], 0.0)
        doubt = np.einsum("kt,kt->t", terms, [part.mmd2_error + 4 * EPS for part in sums])
        error = np.where(difference > 0, doubt / difference, np.inf)
        values = np.log(difference) + peak
    nothing = np.isneginf(peak)
    values = np.where(nothing, -np.inf, values)
    error = np.where(nothing, 0.0, error + _moved(parts.rounding.sum(), log_excess(left, times, rtol), values))
    return LogMmd2(values, error)


def _by_modes(parts: Apart, times: FloatArray, modes: Modes, rtol: float) -> LogMmd2:
    """From eigenpairs if they are soon found; by a Lanczos run else, and where too little of it is in them."""
    Eigenmodes().offer(Question(parts.left, times, rtol))  # refuses scales that the eigenpairs do not resolve
    space = parts.left.space
    if space.flow is None:
        return _by_eigenpairs(parts, times, modes)[0]
    if modes.seconds(float(times[0])) > SOON:
        return _by_flow(parts, times, space.flow, modes, rtol)
    found, missing = _by_eigenpairs(parts, times, modes)
    bad = missing > mmd2_doubt(space, rtol)
    if bad.any():
        others = _by_flow(parts, times[bad], space.flow, modes, rtol)
        better = others.error < found.error[bad]
        for column, other in zip(found, others, strict=True):
            column[np.flatnonzero(bad)[better]] = other[better]
    return found


def _by_eigenpairs(parts: Apart, times: FloatArray, modes: Modes) -> tuple[LogMmd2, FloatArray]:
    """From half the difference of the sums of eigenfunctions; and the share of MMD^2 in those left out, at most."""
    pairs = modes.resolved(float(times[0]))
    values, rounding = pairs.values, pairs.rounding
    size = BLOCK_ENTRIES // len(values) + 1
    coefficients, rounded = np.zeros((2, len(values)))
    for part, sign in ((parts.left, 0.5), (parts.right, -0.5)):
        for rows in slices(part.n, size):
            functions = pairs.at(part.points[rows])
            coefficients += sign * (part.weights[rows] @ functions)
            rounded += SUM_ROUNDING * (part.weights[rows] @ np.abs(functions))
    for rows in slices(len(parts.places), size):
        rounded += parts.rounding[rows] @ np.abs(pairs.at(parts.places[rows]))
    rates = 2 * np.multiply.outer(times, values)
    with np.errstate(divide="ignore"):
        logs = log_sum(2 * np.log(np.abs(coefficients[1:])) - rates[:, 1:])
    points = np.concatenate([parts.left.points, parts.right.points])
    energy = modes.energy(points, np.concatenate([parts.left.weights, -parts.right.weights]) / 2)
    missing = share_missing(modes, rates, energy, logs)
    energies = Energies(values[1:], np.abs(coefficients[1:]), rounded[1:], math.sqrt(energy))
    error = missing + energies.errors(times, logs, rounding, blur_of(values, times, rounding)[:, 1:])
    return LogMmd2(logs + math.log(4), error), missing


def _by_flow(parts: Apart, times: FloatArray, flow: Flow, modes: Modes, rtol: float) -> LogMmd2:
    """From half the difference of the functionals of the two parts."""
    vector, rounding = np.zeros(flow.size), flow.longest(abs(modes.functionals(parts.places)).T @ parts.rounding)
    for part, sign in ((parts.left, 0.5), (parts.right, -0.5)):
        starts = modes.functionals(part.points)
        vector += starts.T @ (sign * part.weights)
        rounding += rounding_of(flow, starts, part.weights / 2)
    logs, error = log_energy(flow, vector, rounding, times, rtol)
    return LogMmd2(logs + math.log(4), error)


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
