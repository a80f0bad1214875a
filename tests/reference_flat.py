"""The definition on tori, products, flat and hyperbolic space, evaluated with mpmath at 40 digits.

Nothing here uses heatess. Kernels are functions of a pair of rows of float64 coordinates, taken as exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mpmath as mp
import numpy as np

from reference import DIGITS, Exact, exact_distances

Kernel = Callable[[np.ndarray, np.ndarray, mp.mpf], mp.mpf]


def profile(kernel: Kernel, points: np.ndarray, weights: np.ndarray, times: Sequence[float]) -> list[Exact]:
    """gESS and MMD^2 from k_2t(x, y) - 1 of all pairs; the kernel is with respect to normalised volume."""
    with mp.workdps(DIGITS):
        mass = [mp.mpf(float(w)) for w in weights]
        total = mp.fsum(mass)
        mass = [w / total for w in mass]
        out = []
        for time in times:
            t = mp.mpf(float(time))
            values = [
                (1 if i == j else 2) * mass[i] * mass[j] * (kernel(points[i], points[j], t) - 1)
                for i in range(len(mass))
                for j in range(i + 1)
            ]
            mmd2 = mp.fsum(values)
            out.append(Exact(kernel(points[0], points[0], t) / (1 + mmd2), mmd2, mp.log1p(mmd2), 1 / (1 + mmd2)))
        return out


def gess(kernel: Kernel, points: np.ndarray, weights: np.ndarray, times: Sequence[float]) -> list[mp.mpf]:
    """As `profile`, for kernels that are normalised to 1 at distance zero."""
    return [exact.gess for exact in profile(kernel, points, weights, times)]


def torus(periods: Sequence[float]) -> Kernel:
    """Product of one-dimensional kernels, each by the expansion that needs fewer terms."""

    def kernel(x: np.ndarray, y: np.ndarray, time: mp.mpf) -> mp.mpf:
        found = mp.mpf(1)
        for a, b, period in zip(x, y, periods, strict=True):
            length = 2 * mp.pi if period == 2 * np.pi else mp.mpf(float(period))
            s = 2 * time
            gap = mp.mpf(float(a)) - mp.mpf(float(b))
            gap -= length * mp.nint(gap / length)
            if s > length**2 / 12:
                rate = (2 * mp.pi / length) ** 2 * s
                found *= 1 + 2 * mp.fsum(
                    mp.exp(-k * k * rate) * mp.cos(2 * mp.pi * k * gap / length) for k in range(1, 12)
                )
            else:
                images = mp.fsum(mp.exp(-((gap + k * length) ** 2) / (4 * s)) for k in range(-9, 10))
                found *= length / mp.sqrt(4 * mp.pi * s) * images
        return found

    return kernel


def euclidean(x: np.ndarray, y: np.ndarray, time: mp.mpf) -> mp.mpf:
    """exp(-d^2 / 8t)."""
    square = mp.fsum((mp.mpf(float(a)) - mp.mpf(float(b))) ** 2 for a, b in zip(x, y, strict=True))
    return mp.exp(-square / (8 * time))


def hyperbolic_distance(x: np.ndarray, y: np.ndarray) -> mp.mpf:
    """From the spatial coordinates, which are exact, at twice the digits."""
    with mp.workdps(2 * DIGITS):
        left, right = ([mp.mpf(float(value)) for value in row[1:]] for row in (x, y))
        first, second = (mp.sqrt(1 + mp.fsum(v * v for v in row)) for row in (left, right))
        return mp.acosh(max(first * second - mp.fsum(a * b for a, b in zip(left, right, strict=True)), mp.mpf(1)))


def hyperbolic3(x: np.ndarray, y: np.ndarray, time: mp.mpf) -> mp.mpf:
    """K_2t(r) / K_2t(0) in H^3."""
    r = hyperbolic_distance(x, y)
    return (r / mp.sinh(r) if r else mp.mpf(1)) * mp.exp(-(r**2) / (8 * time))


def planar_integral(r: mp.mpf, s: mp.mpf) -> mp.mpf:
    """int_r^inf u exp((r^2 - u^2) / 4s) / sqrt(cosh u - cosh r) du, with u = r + z^2."""

    def integrand(z: mp.mpf) -> mp.mpf:
        u = r + z * z
        below = 2 * mp.sinh((u + r) / 2) * mp.sinh(z * z / 2)
        return 2 * z * u * mp.exp((r * r - u * u) / (4 * s)) / mp.sqrt(below) if below else mp.mpf(0)

    # Gone when (u^2 - r^2) / 4s or (u - r) / 2 reaches 100.
    end = mp.sqrt(min(mp.sqrt(r * r + 400 * s) - r, mp.mpf(200)))
    return mp.quad(integrand, [mp.mpf(0), end / 4, end / 2, end], method="gauss-legendre")


def hyperbolic2() -> Kernel:
    """K_2t(r) / K_2t(0) in H^2, from the integral; it remembers distances it has seen."""
    known: dict[tuple[mp.mpf, mp.mpf], mp.mpf] = {}

    def kernel(x: np.ndarray, y: np.ndarray, time: mp.mpf) -> mp.mpf:
        r = hyperbolic_distance(x, y)
        if r * r > 8 * time * 80:
            return mp.mpf(0)  # below e^-80
        for distance in (r, mp.mpf(0)):
            if (distance, time) not in known:
                known[distance, time] = planar_integral(distance, 2 * time)
        return known[r, time] / known[mp.mpf(0), time] * mp.exp(-r * r / (8 * time))

    return kernel


def sphere2(count: int) -> Kernel:
    """k_2t on S^2 from *count* levels."""

    def kernel(x: np.ndarray, y: np.ndarray, time: mp.mpf) -> mp.mpf:
        u = mp.cos(exact_distances(np.stack([x, y]))[0][1])
        before, now, total = mp.mpf(0), mp.mpf(1), mp.mpf(0)
        for level in range(count):
            total += (2 * level + 1) * mp.exp(-2 * level * (level + 1) * time) * now
            before, now = now, ((2 * level + 1) * u * now - level * before) / (level + 1)
        return total

    return kernel


def product(*factors: tuple[Kernel, slice, float]) -> Kernel:
    """Kernels on columns of the rows, each with its metric multiplier."""

    def kernel(x: np.ndarray, y: np.ndarray, time: mp.mpf) -> mp.mpf:
        return mp.fprod(own(x[columns], y[columns], time / mp.mpf(c) ** 2) for own, columns, c in factors)

    return kernel
