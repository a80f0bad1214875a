"""Laws with known power on S^1, S^2, S^9 and SO(3), for tables of coverage; chosen before any result was seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import heatess as he
from heatess.heat.series import level_count, level_probabilities

#: Draws of a reference sample, where the truth is not an integral in one dimension.
REFERENCE = 2_000_000

#: Importance weights are made so uneven that ESS / n is about this.
SHARE = 0.5

ANGLES = np.geomspace(8.0, 80.0, 6)
RESOLUTIONS = np.geomspace(25.0, 75.0, 6)

WEIGHTS = ("equal", "gamma", "importance")


@dataclass(frozen=True)
class Design:
    """A law on a space: how to draw from it, the exponent h(x) of importance weights exp(c h), and zonal densities.

    *density* is that of the angle on S^1 (any scale), or of u = x . e_1 on S^9; None where a sample gives the truth.
    """

    name: str
    space: he.Space
    draw: Callable[[int, np.random.Generator], Any]
    density: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def scales(self) -> dict[str, np.ndarray]:
        return {"resolutions": RESOLUTIONS} if self.space.dim == 9 else {"angles": ANGLES}

    def exponent(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(points) @ NU[1] if self.space.dim == 1 else _exponent(self.space, np.asarray(points))

    @property
    def tilt(self) -> float:
        return _tilt(self)

    def weights(self, kind: str, points: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
        if kind == "equal":
            return None
        return rng.gamma(1.0, size=len(points)) if kind == "gamma" else np.exp(self.tilt * self.exponent(points))

    def truth(self, kind: str) -> np.ndarray:
        """1 / places = A / k_2t(x, x) at each scale, of the law or, for importance weights, of the tilted one."""
        return _truth(self, self.tilt if kind == "importance" else 0.0)


NU = {1: np.array([math.cos(1.0), math.sin(1.0)]), 2: np.array([1.0, 2.0, 2.0]) / 3}


def _exponent(space: he.Space, points: np.ndarray) -> np.ndarray:
    if isinstance(space, he.Rotations):
        return points[:, 3] ** 2  # of quaternions, the scalar last
    return points[:, 0] if space.dim == 9 else points @ NU[space.dim]


@lru_cache(maxsize=64)
def _tilt(design: Design) -> float:
    """c with ESS / n = SHARE on a pilot sample, by bisection, rounded."""
    h = design.exponent(design.draw(20_000, np.random.default_rng(12)))
    low, high = 0.0, 200.0
    for _ in range(40):
        c = (low + high) / 2
        w = np.exp(c * (h - h.max()))
        low, high = (c, high) if w.sum() ** 2 / (w @ w) > SHARE * len(w) else (low, c)
    return float(f"{low:.2g}")


@lru_cache(maxsize=64)
def _truth(design: Design, c: float) -> np.ndarray:
    times = _times(design)
    if design.density is None:
        points = design.draw(REFERENCE, np.random.default_rng(2026))
        w = np.exp(c * design.exponent(points))
        w /= w.sum()
        own = float(w @ w)
        found = he.heat_profile(points, w, space=design.space, times=times)
        return np.asarray((1 / found.gess - own) / (1 - own))
    moments = _circle_moments(design, c) if design.space.dim == 1 else _zonal_moments(design, c)
    series = design.space.series
    return np.array([level_probabilities(series, float(t), len(moments)) @ moments for t in times])


def _times(design: Design) -> np.ndarray:
    from heatess.measures import scales

    return scales.resolve(design.space, **design.scales).times


def _circle_moments(design: Design, c: float, size: int = 4096) -> np.ndarray:
    """|E exp(i l angle)|^2, l < size / 4, exact for densities that the grid resolves."""
    angle = 2 * math.pi * np.arange(size) / size
    p = design.density(angle) * np.exp(c * np.cos(angle - 1.0))
    return np.abs(np.fft.fft(p / p.sum())[: size // 4]) ** 2


def _zonal_moments(design: Design, c: float) -> np.ndarray:
    """(E P_l(u))^2: of a law that is symmetric about an axis, level l has that one energy per mode."""
    series = design.space.series
    count = level_count(series, float(_times(design).min()), 1.0, 1e-15, 1024)
    u, weights = np.polynomial.legendre.leggauss(2000)
    p = weights * design.density(u) * np.exp(c * u)
    return (series.zonal(count, np.arccos(u)) @ (p / p.sum())) ** 2


# Laws.


def _plane(angle: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(angle), np.sin(angle)])


def wrapped_cauchy(n: int, rng: np.random.Generator) -> np.ndarray:
    return _plane(-math.log(0.6) * rng.standard_cauchy(n))


def cardioid(n: int, rng: np.random.Generator) -> np.ndarray:
    """Density (1 + 0.8 cos) / 2 pi: of two uniform angles x and pi - x, one is kept in proportion."""
    angle = rng.uniform(0, 2 * math.pi, n)
    turned = rng.random(n) > (1 + 0.8 * np.cos(angle)) / 2
    return _plane(np.where(turned, math.pi - angle, angle))


_SHARES3, _MEANS3 = np.array([0.5, 0.3, 0.2]), np.radians([0.0, 100.0, 200.0])


def three_modes(n: int, rng: np.random.Generator) -> np.ndarray:
    return _plane(rng.vonmises(_MEANS3[rng.choice(3, n, p=_SHARES3)], 30.0))


def three_modes_density(angle: np.ndarray) -> np.ndarray:
    return np.exp(30 * (np.cos(angle[:, None] - _MEANS3) - 1)) @ _SHARES3


def belt(n: int, rng: np.random.Generator) -> np.ndarray:
    latitude = np.clip(rng.normal(40.0, 8.0, n), -90.0, 90.0)
    return he.from_lonlat(rng.uniform(0, 360, n), latitude, units="deg")


def cap(n: int, rng: np.random.Generator) -> np.ndarray:
    z, longitude = rng.uniform(0.5, 1.0, n), rng.uniform(0, 2 * math.pi, n)
    ring = np.sqrt(1 - z * z)
    return np.column_stack([ring * np.cos(longitude), ring * np.sin(longitude), z])


def patches(n: int, rng: np.random.Generator) -> np.ndarray:
    counts = rng.multinomial(n, [0.4, 0.25, 0.2, 0.1, 0.05])
    places = he.samplers.fibonacci(15)[[0, 3, 6, 9, 12]]
    parts = [he.samplers.von_mises_fisher(k, x, 80.0, rng=rng) for k, x in zip(counts, places, strict=True) if k]
    return rng.permutation(np.concatenate(parts))


def central_gaussian(n: int, rng: np.random.Generator) -> np.ndarray:
    x = rng.standard_normal((n, 3)) * [1.0, 2.0, 5.0]
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def about_axis(u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points of S^9 with first coordinate u, uniform about the axis."""
    y = rng.standard_normal((len(u), 9))
    y *= (np.sqrt(1 - u * u) / np.linalg.norm(y, axis=1))[:, None]
    return np.column_stack([u, y])


def ring9(n: int, rng: np.random.Generator) -> np.ndarray:
    return about_axis(2 * rng.beta(20, 6, n) - 1, rng)


def ring9_density(u: np.ndarray) -> np.ndarray:
    return (1 + u) ** 19 * (1 - u) ** 5


def half9(n: int, rng: np.random.Generator) -> np.ndarray:
    k = rng.binomial(n, 0.5)
    mode = he.samplers.von_mises_fisher(n - k, np.eye(10)[0], 40.0, rng=rng)
    return rng.permutation(np.concatenate([he.samplers.uniform(k, 9, rng=rng), mode]))


def half9_density(u: np.ndarray) -> np.ndarray:
    x, weights = np.polynomial.legendre.leggauss(2000)
    surface = [(1 - v * v) ** 3.5 for v in (u, x)]
    mode = [part * np.exp(40 * (v - 1)) for part, v in zip(surface, (u, x), strict=True)]
    return 0.5 * surface[0] / (weights @ surface[1]) + 0.5 * mode[0] / (weights @ mode[1])


def two_rings9(n: int, rng: np.random.Generator) -> np.ndarray:
    return about_axis((2 * rng.beta(20, 6, n) - 1) * rng.choice([-1.0, 1.0], n), rng)


def two_rings9_density(u: np.ndarray) -> np.ndarray:
    return ring9_density(u) + ring9_density(-u)


def near_identity(n: int, rng: np.random.Generator) -> np.ndarray:
    """Quaternions (x, y, z, w) with the scalar of unit variance."""
    q = rng.standard_normal((n, 4)) * np.sqrt([0.1, 0.1, 0.1, 1.0])
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def fibre(n: int, rng: np.random.Generator) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    about = Rotation.from_rotvec(rng.uniform(0, 2 * math.pi, n)[:, None] * np.array([2.0, 1.0, 2.0]) / 3)
    small = Rotation.from_rotvec(rng.normal(0.0, math.radians(10.0), (n, 3)))
    return (small * about).as_quat()


S1, S2, S9, SO3 = he.Sphere(1), he.Sphere(2), he.Sphere(9), he.Rotations()

DESIGNS = (
    Design("S1 wrapped Cauchy", S1, wrapped_cauchy, lambda angle: 1 / (1 + 0.36 - 1.2 * np.cos(angle))),
    Design("S1 cardioid", S1, cardioid, lambda angle: 1 + 0.8 * np.cos(angle)),
    Design("S1 three modes", S1, three_modes, three_modes_density),
    Design("S2 belt", S2, belt),
    Design("S2 cap", S2, cap),
    Design("S2 five patches", S2, patches),
    Design("S2 central Gaussian", S2, central_gaussian),
    Design("S9 ring", S9, ring9, ring9_density),
    Design("S9 half vMF", S9, half9, half9_density),
    Design("S9 two rings", S9, two_rings9, two_rings9_density),
    Design("SO3 near identity", SO3, near_identity),
    Design("SO3 fibre", SO3, fibre),
)
