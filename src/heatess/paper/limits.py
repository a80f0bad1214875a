"""Theorems about a fixed measure, measured: stability, merging, and the limits of each curve."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import asymptotics, baselines, heat_profile
from .checks import Law
from .convergence import TARGET
from .experiment import FloatArray, Settings
from .vmf import zonal_functions

#: Shifts of the stability experiment, in radians, and the angles over which the supremum is taken.
SHIFTS = np.geomspace(1e-4, 0.1, 13)
STABILITY_ANGLES = np.geomspace(15.0, 120.0, 12)

#: Merging: distance of the two atoms, in units of the scale angle.
SEPARATION = 1.0
MERGING_TIMES = np.geomspace(1e-4, 1e-2, 9)

#: The place of each label of the octahedron.
LABELS = np.array([0, 1, 2, 3, 4, 5, 0, 0, 1])


class Stability(NamedTuple):
    """The largest change of the power over all scales, for each shift of the atoms, and the constant C."""

    changes: FloatArray
    constant: float


def stability(settings: Settings) -> Stability:
    """The changes of the power when all atoms of a cloud move by the same angle towards e_3.

    W_1 is at most that angle. The constant of the theorem is C = 2 sup |d k_2t(angle) / d angle|.
    """
    cloud = TARGET.sample(500, settings.rng("stability"))
    cloud = cloud[cloud[:, 2] < math.cos(SHIFTS[-1])]  # so that no atom moves across the pole
    start = heat_profile(cloud, angles=STABILITY_ANGLES).mmd2
    changes = [
        np.abs(heat_profile(moved_north(cloud, shift), angles=STABILITY_ANGLES).mmd2 - start).max() for shift in SHIFTS
    ]
    return Stability(np.array(changes), 2 * kernel_slope(STABILITY_ANGLES))


def moved_north(points: FloatArray, shift: float) -> FloatArray:
    """Points moved along their meridian towards e_3 by an angle in radians."""
    flat = np.hypot(points[:, 0], points[:, 1])
    colatitude = np.arctan2(flat, points[:, 2]) - shift
    return np.column_stack([points[:, :2] * (np.sin(colatitude) / flat)[:, None], np.cos(colatitude)])


def kernel_slope(angles: FloatArray, count: int = 200) -> float:
    """The Lipschitz constant of k_2t over the scales: the largest |d/du sum_l (2l+1) exp(-2 lambda_l t) P_l(cos u)|."""
    distance = np.linspace(0, math.pi, 4001)
    degrees = np.arange(count)
    weights = (2 * degrees + 1) * np.exp(-2 * np.multiply.outer(np.radians(angles) ** 2 / 8, degrees * (degrees + 1)))
    kernel = weights @ zonal_functions(np.cos(distance), 3, count)
    return float(np.abs(np.gradient(kernel, distance, axis=1)).max())


def pair(distance: float) -> FloatArray:
    """Two atoms at this distance, in radians."""
    return np.array([[1.0, 0.0, 0.0], [math.cos(distance), math.sin(distance), 0.0]])


def merging_errors(share: float = 0.3) -> FloatArray:
    """Error of the two-atom law, |gESS / law - 1|, at r = alpha for each of `MERGING_TIMES`."""
    found = []
    for time in MERGING_TIMES:
        distance = SEPARATION * math.sqrt(8 * time)
        exact = heat_profile(pair(distance), [share, 1 - share], times=[time], rtol=1e-12).gess[0]
        found.append(abs(exact / float(asymptotics.merging(distance, time, share=share)) - 1))
    return np.array(found)


def octahedron() -> tuple[FloatArray, FloatArray]:
    """Nine labels at six places 90 degrees apart, with unequal masses: places and weights."""
    places = np.concatenate([np.eye(3), -np.eye(3)])
    return places[LABELS], np.arange(1.0, 10.0)


def laws(moved: Stability) -> list[Law]:
    """Every statement about a fixed measure, with its measured and its expected number."""
    return [*_limits(), *_expansions(), *_stability(moved)]


def _limits() -> list[Law]:
    """Curves are monotone and have the right limits, for nine labels at six places."""
    points, weights = octahedron()
    limit = baselines.ess(np.bincount(LABELS, weights))
    whole = heat_profile(points, weights, angles=np.geomspace(0.01, 1e4, 200))
    early, late = np.linspace(0.02, 0.05, 9), np.linspace(1.0, 2.5, 9)
    missing = np.log(limit - heat_profile(points, weights, times=early, rtol=1e-13).gess)
    excess = np.log(heat_profile(points, weights, times=late, rtol=1e-13).gess - 1)
    return [
        Law("thm:pairwise_monotone", "largest increase of D2 with t", float(np.diff(whole.divergence).max()), 0.0),
        Law("thm:pairwise_monotone", "U2 at the largest t", float(whole.volume[-1]), 1.0, 1e-12),
        Law("thm:gess", "gESS of 9 labels at 6 places, smallest t", float(whole.gess[0]), limit, 1e-9),
        Law("thm:gess", "gESS at the largest t", float(whole.gess[-1]), 1.0, 1e-12),
        Law("thm:gess", "slope of log(limit - gESS) on 1/t", slope(1 / early, missing), -(math.pi**2) / 32, 0.01),
        Law("thm:gess", "slope of log(gESS - 1) on t", slope(late, excess), -4.0, 0.05),
    ]


def _expansions() -> list[Law]:
    """The order of the remainder of each expansion."""
    points, weights = octahedron()
    early, middle, late = np.geomspace(1e-3, 1e-2, 9), np.linspace(0.3, 0.7, 9), np.linspace(1.0, 2.5, 9)
    curvature = (
        heat_profile(points, weights, times=early, rtol=1e-13).divergence
        - asymptotics.small_time(points, weights, times=early).divergence
    )
    first = heat_profile(points, weights, times=late, rtol=1e-13).divergence - asymptotics.low_frequency(
        points, weights, times=late, degrees=1
    )
    second = heat_profile(points, weights, times=middle, rtol=1e-13).mmd2 - asymptotics.low_frequency(
        points, weights, times=middle, degrees=2
    )
    merged = slope(np.log(MERGING_TIMES), np.log(merging_errors()))
    return [
        Law("thm:small_time", "slope of log|D2 - law| on log t", slope(np.log(early), _log(curvature)), 2.0, 0.05),
        Law("prop:merging", "slope of log|gESS / law - 1| on log t", merged, 1.0, 0.05),
        Law("thm:spectral", "slope of log|D2 - B_1 term| on t", slope(late, _log(first)), -8.0, 0.2),
        Law("cor:sphere", "slope of log(A - 1 - B_1, B_2 terms) on t", slope(middle, _log(second)), -24.0, 0.2),
    ]


def _stability(moved: Stability) -> list[Law]:
    growth = slope(np.log(SHIFTS), np.log(moved.changes))
    most = float((moved.changes / SHIFTS).max() / moved.constant)
    return [
        Law("thm:consistency", "slope of log sup|A - A'| on log W1 bound", growth, 1.0, 0.1),
        Law("thm:consistency", "sup|A - A'| over C times the W1 bound", most, 1.0),
    ]


def slope(x: FloatArray, y: FloatArray) -> float:
    """Slope of the straight line fitted to (x, y)."""
    return float(np.polyfit(x, y, 1)[0])


def _log(remainder: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.abs(remainder)))
