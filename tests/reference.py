"""The definition, evaluated with mpmath at 40 digits: the reference of record.

Nothing here uses heatess. Distances come from the exact values of the float64 coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mpmath as mp
import numpy as np

DIGITS = 40


class Exact(NamedTuple):
    gess: mp.mpf
    mmd2: mp.mpf
    divergence: mp.mpf
    volume: mp.mpf


def exact_distances(points: np.ndarray) -> list[list[mp.mpf]]:
    """Angles between rows, by atan2 of the exact coordinates so that close pairs keep all digits."""
    rows = [[mp.mpf(float(value)) for value in row] for row in points]
    norms = [mp.sqrt(mp.fsum(value * value for value in row)) for row in rows]
    rows = [[value / norm for value in row] for row, norm in zip(rows, norms, strict=True)]

    def angle(x: list[mp.mpf], y: list[mp.mpf]) -> mp.mpf:
        minus = mp.sqrt(mp.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
        plus = mp.sqrt(mp.fsum((a + b) ** 2 for a, b in zip(x, y, strict=True)))
        return 2 * mp.atan2(minus, plus)

    return [[angle(x, y) for y in rows] for x in rows]


def multiplicities(dim: int, count: int) -> list[mp.mpf]:
    """N_l by exact integer arithmetic."""
    if dim == 1:
        return [mp.mpf(1)] + [mp.mpf(2)] * (count - 1)
    found = [1]
    for level in range(count - 1):
        above = (2 * level + dim + 1) * (level + dim - 1) if level else dim + 1
        below = (2 * level + dim - 1) * (level + 1) if level else 1
        found.append(found[-1] * above // below)
    return [mp.mpf(value) for value in found]


def sphere_levels(points: np.ndarray, weights: np.ndarray, count: int) -> list[mp.mpf]:
    """B_l = N_l sum_ij w_i w_j P_l(cos d_ij) by the three-term recurrence."""
    dim = points.shape[1] - 1
    mass = [mp.mpf(float(w)) for w in weights]
    total = mp.fsum(mass)
    mass = [w / total for w in mass]
    angles = exact_distances(points)
    sums = [mp.mpf(0)] * count
    for i in range(len(mass)):
        for j in range(i + 1):
            weight = mass[i] * mass[j] * (1 if i == j else 2)
            u = mp.cos(angles[i][j])
            before, now = mp.mpf(1), u
            sums[0] += weight
            sums[1] += weight * u
            for level in range(1, count - 1):
                before, now = now, ((2 * level + dim - 1) * u * now - level * before) / (level + dim - 1)
                sums[level + 1] += weight * now
    return [n * value for n, value in zip(multiplicities(dim, count), sums, strict=True)]


def profile(points: np.ndarray, weights: np.ndarray, times: Sequence[float], count: int) -> list[Exact]:
    """gESS, MMD^2, D2 and U2 on a sphere from the series of *count* levels, whose last term must be negligible."""
    with mp.workdps(DIGITS):
        dim = points.shape[1] - 1
        energies = sphere_levels(points, weights, count)
        copies = multiplicities(dim, count)
        out = []
        for time in times:
            decay = [mp.exp(-2 * level * (level + dim - 1) * mp.mpf(float(time))) for level in range(count)]
            diagonal = mp.fsum(n * d for n, d in zip(copies, decay, strict=True))
            if copies[-1] * decay[-1] * count > mp.mpf(10) ** -25 * diagonal:
                raise ValueError(f"{count} levels are too few for t = {time}")
            mmd2 = mp.fsum(b * d for b, d in zip(energies[1:], decay[1:], strict=True))
            out.append(Exact(diagonal / (1 + mmd2), mmd2, mp.log1p(mmd2), 1 / (1 + mmd2)))
        return out


def circle_kernel(time: mp.mpf, distance: mp.mpf) -> mp.mpf:
    """k_2t on S^1 with respect to normalised length, by the sum over images."""
    s = 2 * time
    images = range(-3, 4)
    return (
        2
        * mp.pi
        / mp.sqrt(4 * mp.pi * s)
        * mp.fsum(mp.exp(-((distance + 2 * mp.pi * k) ** 2) / (4 * s)) for k in images)
    )


def sphere2_kernel(time: mp.mpf, distance: mp.mpf) -> mp.mpf:
    """k_2t on S^2 by the integral over great circles (no image: for small t only).

    With psi = distance + 2 sqrt(s) y^2 the square-root singularity is gone.
    """
    s = 2 * time
    step = 2 * mp.sqrt(s)

    def integrand(y: mp.mpf) -> mp.mpf:
        psi = distance + step * y * y
        # cos(distance) - cos(psi) = 2 sin((psi + distance)/2) sin((psi - distance)/2)
        half = step * y * y / 2
        chord = 2 * mp.sin(distance + half) * mp.sin(half)
        if chord == 0:
            chord = mp.mpf(10) ** (-3 * DIGITS)
        return psi * mp.exp(-psi * psi / (4 * s)) / mp.sqrt(chord) * 2 * step * y

    value = mp.quad(integrand, [mp.mpf(10) ** -30, 0.5, 1, 2, 3, 4])
    return 4 * mp.pi * mp.sqrt(2) * mp.exp(s / 4) / (4 * mp.pi * s) ** mp.mpf("1.5") * value


def sphere3_kernel(time: mp.mpf, distance: mp.mpf) -> mp.mpf:
    """k_2t on S^3 in closed form (no image: for small t only)."""
    s = 2 * time
    ratio = distance / mp.sin(distance) if distance else mp.mpf(1)
    return 2 * mp.pi**2 * (4 * mp.pi * s) ** mp.mpf("-1.5") * mp.exp(s) * ratio * mp.exp(-(distance**2) / (4 * s))


def small_time_profile(points: np.ndarray, weights: np.ndarray, time: float) -> Exact:
    """As `profile`, by closed forms of the kernel on S^1, S^2 and S^3 at a time too small for a series."""
    with mp.workdps(DIGITS):
        kernel = {1: circle_kernel, 2: sphere2_kernel, 3: sphere3_kernel}[points.shape[1] - 1]
        mass = [mp.mpf(float(w)) for w in weights]
        total = mp.fsum(mass)
        angles = exact_distances(points)
        t = mp.mpf(float(time))
        known: dict[mp.mpf, mp.mpf] = {}
        power = mp.mpf(0)
        for i in range(len(mass)):
            for j in range(len(mass)):
                r = angles[i][j]
                if r * r > 1000 * t:
                    continue  # below e^-125 of the diagonal
                if r not in known:
                    known[r] = kernel(t, r)
                power += mass[i] * mass[j] / total**2 * known[r]
        diagonal = kernel(t, mp.mpf(0))
        return Exact(diagonal / power, power - 1, mp.log(power), 1 / power)
