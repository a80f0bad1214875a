"""The definition on rotations and projective spaces, evaluated with mpmath at 40 digits.

Nothing here uses heatess. Level energies are sums over pairs of the zonal functions written out for each space.
"""

from __future__ import annotations

from collections.abc import Sequence

import mpmath as mp
import numpy as np

from reference import DIGITS, Exact, exact_distances, multiplicities


def axial_distances(points: np.ndarray) -> list[list[mp.mpf]]:
    """Angles between lines."""
    return [[min(r, mp.pi - r) for r in row] for row in exact_distances(points)]


def projective_profile(points: np.ndarray, weights: np.ndarray, times: Sequence[float], count: int) -> list[Exact]:
    """On RP^m, from the sphere's zonal functions of degrees 0, 2, ..., 2 (count - 1)."""
    with mp.workdps(DIGITS):
        dim = points.shape[1] - 1

        def zonal(r: mp.mpf) -> list[mp.mpf]:
            u = mp.cos(r)
            values = [mp.mpf(1), u]
            for level in range(1, 2 * count):
                values.append(((2 * level + dim - 1) * u * values[-1] - level * values[-2]) / (level + dim - 1))
            return values[: 2 * count : 2]

        eigenvalues = [2 * level * (2 * level + dim - 1) for level in range(count)]
        copies = multiplicities(dim, 2 * count)[::2]
        return _profile(axial_distances(points), weights, times, eigenvalues, copies, zonal)


def rotations_profile(points: np.ndarray, weights: np.ndarray, times: Sequence[float], count: int) -> list[Exact]:
    """On SO(3), from the characters sin((2l + 1) w/2) / sin(w/2), with w twice the angle between quaternions."""
    with mp.workdps(DIGITS):

        def zonal(half: mp.mpf) -> list[mp.mpf]:
            if half == 0:
                return [mp.mpf(1)] * count
            # The characters are sums of cosines; the sines follow from a recurrence in exact steps of w.
            twice, values = 2 * mp.cos(2 * half), [mp.mpf(1), 1 + 2 * mp.cos(2 * half)]
            for _ in range(count - 2):
                values.append(twice * values[-1] - values[-2])
            return [value / (2 * level + 1) for level, value in enumerate(values)]

        eigenvalues = [level * (level + 1) for level in range(count)]
        copies = [mp.mpf((2 * level + 1) ** 2) for level in range(count)]
        return _profile(axial_distances(points), weights, times, eigenvalues, copies, zonal)


def small_time_rotations(points: np.ndarray, weights: np.ndarray, time: float) -> Exact:
    """On SO(3) at a time too small for a series, by the closed form on the 3-sphere of radius 2 (no image)."""
    with mp.workdps(DIGITS):
        s = mp.mpf(float(time)) / 2  # 2 t, on the unit sphere
        diagonal = mp.pi**2 * (4 * mp.pi * s) ** mp.mpf("-1.5") * mp.exp(s)
        mass = _masses(weights)
        power = mp.fsum(
            mass[i] * mass[j] * (r / mp.sin(r) if r else 1) * mp.exp(-(r**2) / (4 * s))
            for i, row in enumerate(axial_distances(points))
            for j, r in enumerate(row)
            if r * r < 500 * s
        )
        power *= diagonal
        return Exact(diagonal / power, power - 1, mp.log(power), 1 / power)


def _masses(weights: np.ndarray) -> list[mp.mpf]:
    total = mp.fsum(mp.mpf(float(w)) for w in weights)
    return [mp.mpf(float(w)) / total for w in weights]


def _profile(distances, weights, times, eigenvalues, copies, zonal) -> list[Exact]:  # type: ignore[no-untyped-def]
    mass, count = _masses(weights), len(eigenvalues)
    sums = [mp.mpf(0)] * count
    for i, row in enumerate(distances):
        for j in range(i + 1):
            weight = mass[i] * mass[j] * (1 if i == j else 2)
            sums = [total + weight * value for total, value in zip(sums, zonal(row[j]), strict=True)]
    out = []
    for time in times:
        decay = [n * mp.exp(-2 * value * mp.mpf(float(time))) for n, value in zip(copies, eigenvalues, strict=True)]
        diagonal = mp.fsum(decay)
        if decay[-1] * count > mp.mpf(10) ** -25 * diagonal:
            raise ValueError(f"{count} levels are too few for t = {time}")
        mmd2 = mp.fsum(b * d for b, d in zip(sums[1:], decay[1:], strict=True))
        out.append(Exact(diagonal / (1 + mmd2), mmd2, mp.log1p(mmd2), 1 / (1 + mmd2)))
    return out
