"""The laws that the profile obeys at small and large times: approximations, each with its order of error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .answers.spectrum import power_spectrum
from .base.arrays import FloatArray, Frozen, numeric_array, whole
from .base.errors import InputError
from .base.messages import shown
from .engines.tiles import gaussian_sums, zonal_pairs
from .measures.measure import Measure
from .measures.scales import resolve
from .spaces.base import Space

#: More levels than any sum over them would finish.
MOST_DEGREES = 2**24


@dataclass(frozen=True, eq=False)
class SmallTimeLaw(Frozen):
    """The three forms of the small-time law, one entry per time; they agree up to O(t^2), relatively.

    `power` is A (inf where it overflows), `divergence` is D2 = log A and `volume` is U2 = 1/A.

    >>> import heatess as he
    >>> law = he.asymptotics.small_time(he.samplers.fibonacci(300), times=[1e-5])
    >>> law.power.round(3)
    array([166.668])
    """

    times: FloatArray
    power: FloatArray
    divergence: FloatArray
    volume: FloatArray


def small_time(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
) -> SmallTimeLaw:
    """The small-time law of a fixed cloud, with its curvature term.

    With exact duplicates coalesced into masses a_i, S = sum a_i^2 and scalar curvature Scal, and up to exponentially
    small overlaps of distinct atoms,

        A(t)  = V (8 pi t)^(-m/2) S [1 + t Scal / 3 + O(t^2)],
        D2(t) = m/2 log(1 / (8 pi t)) + log V + log S + t Scal / 3 + O(t^2),
        U2(t) = (8 pi t)^(m/2) / (V S) [1 - t Scal / 3 + O(t^2)].

    >>> import heatess as he
    >>> cloud = he.samplers.fibonacci(30)
    >>> law = small_time(cloud, angles=[2])
    >>> exact = he.heat_profile(cloud, angles=[2])
    >>> bool(abs(law.divergence - exact.divergence)[0] < 1e-7)
    True
    """
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    t = resolve(measure.space, angles, times, resolutions).times
    masses = measure.coalesced().weights
    leading = _log_flat_power(measure.space, t) + math.log(float(masses @ masses))
    curvature = t / 3 * measure.space.scalar_curvature
    with np.errstate(over="ignore", under="ignore"):
        power, volume = np.exp(leading) * (1 + curvature), np.exp(-leading) * (1 - curvature)
    return SmallTimeLaw(t, power, leading + curvature, volume)


def merging(distance: ArrayLike, times: ArrayLike, *, share: float = 0.5) -> FloatArray:
    """GESS of two atoms that merge: the law for atoms a distance r apart, r^2 of the order of t.

        1 / gESS = a^2 + (1 - a)^2 + 2 a (1 - a) exp(-r^2 / 8t) {1 + O(t + r^2)},  a = *share*.

    *distance* (radians) and *times* broadcast.

    >>> float(merging(0.0, 1e-3)), float(merging(1.0, 1e-4))
    (1.0, 2.0)
    """
    if isinstance(share, bool) or not isinstance(share, int | float | np.floating) or not 0 < share < 1:
        raise InputError(f"share must lie <+strictly between 0 and 1+>, but is <!{shown(share)}!>")
    r, t = numeric_array(distance, "distance").astype(np.float64), numeric_array(times, "times").astype(np.float64)
    for name, values, fine, expected in (("distance", r, r >= 0, "not negative"), ("times", t, t > 0, "positive")):
        if not (fine & np.isfinite(values)).all():
            raise InputError(f"{name} must be <+{expected} and finite+>")
    kept = share**2 + (1 - share) ** 2
    with np.errstate(over="ignore", divide="ignore"):  # to an overlap of zero
        overlap = np.exp(-((r / np.sqrt(t)) ** 2) / 8)
    return np.asarray(1 / (kept + 2 * share * (1 - share) * overlap))


def pairwise_overlap(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
) -> FloatArray:
    """The leading small-time approximation of the power A, summed over all pairs.

        A(t) ~ V (8 pi t)^(-m/2) sum_ij w_i w_j exp(-d(x_i, x_j)^2 / 8t),

    with relative error O(t) for a cloud whose extent is of the order of sqrt(t), or whose atoms are far apart.

    >>> import heatess as he
    >>> cloud = he.samplers.von_mises_fisher(200, [0, 0, 1], 140.0, rng=0)
    >>> exact = 1 + he.heat_profile(cloud, angles=[5]).mmd2
    >>> bool(abs(pairwise_overlap(cloud, angles=[5]) / exact - 1)[0] < 2e-3)
    True
    """
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    kernel, t = zonal_pairs(measure), resolve(measure.space, angles, times, resolutions).times
    total = gaussian_sums(measure.coalesced(), kernel, np.sqrt(8 * t))
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(_log_flat_power(measure.space, t)) * total)


def low_frequency(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    degrees: int = 2,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
) -> FloatArray:
    """The low-frequency approximation of MMD^2 = A - 1 from the first *degrees* energies.

        A(t) - 1 = sum_{1 <= l <= degrees} exp(-2 lambda_l t) B_l + O(exp(-2 lambda_{degrees + 1} t)).

    >>> import heatess as he
    >>> cloud = he.samplers.von_mises_fisher(200, [0, 0, 1], 140.0, rng=0)
    >>> exact = he.heat_profile(cloud, angles=[150]).mmd2
    >>> bool(abs(low_frequency(cloud, angles=[150]) / exact - 1)[0] < 1e-4)
    True
    """
    count = whole(degrees, "degrees", 1, MOST_DEGREES)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    t = resolve(measure.space, angles, times, resolutions).times
    return np.asarray(_level_terms(measure, t, count).sum(axis=1))


def large_time(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
) -> FloatArray:
    """The large-time expansion of the divergence D2, with the cross term of the logarithm.

        D2(t) = e^(-2 lambda_1 t) B_1 - 1/2 e^(-4 lambda_1 t) B_1^2 + e^(-2 lambda_2 t) B_2
                + O(e^(-6 lambda_1 t) + e^(-2 (lambda_1 + lambda_2) t) + e^(-2 lambda_3 t)).

    >>> import heatess as he
    >>> cloud = he.samplers.von_mises_fisher(200, [0, 0, 1], 5.0, rng=0)
    >>> exact = he.heat_profile(cloud, angles=[200]).divergence
    >>> bool(abs(large_time(cloud, angles=[200]) / exact - 1)[0] < 1e-4)
    True
    """
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    terms = _level_terms(measure, resolve(measure.space, angles, times, resolutions).times, 2)
    return np.asarray(terms.sum(axis=1) - terms[:, 0] ** 2 / 2)


def _log_flat_power(space: Space, times: FloatArray) -> FloatArray:
    """Logarithm of V (8 pi t)^(-m/2), the power of one atom as if space were flat."""
    return np.asarray(space.log_volume - space.dim / 2 * np.log(8 * math.pi * times))


def _level_terms(measure: Measure, times: FloatArray, count: int) -> FloatArray:
    """exp(-2 lambda_l t) B_l for each time and each of the levels l = 1, ..., count."""
    spectrum, kept = power_spectrum(measure, max_degree=max(2, count)), slice(1, count + 1)
    return np.asarray(np.exp(-2 * np.multiply.outer(times, spectrum.eigenvalues[kept])) * spectrum.energies[kept])
