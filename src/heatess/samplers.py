"""Random and quasi-uniform clouds on spheres.

Every sampler takes `rng`, a `numpy.random.Generator` or an integer seed, and uses no other source of
randomness. It returns unit vectors, the rows of an (n, d) array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .arrays import FloatArray, numeric_array, positive
from .errors import InputError
from .spaces.sphere import Sphere

Rng = np.random.Generator | int
Sampler = Callable[[int, np.random.Generator], FloatArray]

TETRAHEDRON = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / math.sqrt(3)


def uniform(n: int, dim: int = 2, *, rng: Rng) -> FloatArray:
    """Independent uniform points on S^dim, shape (n, dim + 1).

    >>> uniform(1000, rng=0).shape
    (1000, 3)
    """
    return Sphere(dim).uniform(_count(n), _generator(rng))


def von_mises_fisher(n: int, mean: ArrayLike, kappa: float, *, rng: Rng) -> FloatArray:
    """Independent draws from the von Mises-Fisher law, density proportional to exp(kappa mean . x).

    Concentrations from zero (uniform) to more than 10^6 are accurate in every dimension: Wood's rejection
    sampler is used, in a form without cancellation.

    Parameters
    ----------
    n : int
        Number of draws.
    mean : array-like, shape (d,)
        Mean direction, a unit vector; d = 2 is the circle.
    kappa : float
        Concentration, zero or more.
    rng : Generator or int
        Source of randomness.

    Examples
    --------
    The mean resultant length on S^2 is coth(kappa) - 1/kappa:

    >>> x = von_mises_fisher(100_000, [0, 0, 1], 10.0, rng=0)
    >>> bool(abs(np.linalg.norm(x.mean(axis=0)) - 0.9) < 1e-3)
    True
    """
    n, rng = _count(n), _generator(rng)
    axis = numeric_array(mean, "mean").astype(np.float64)
    if axis.ndim != 1 or len(axis) < 2:
        raise InputError(f"mean must be one unit vector of at least 2 coordinates, but has shape {axis.shape}")
    axis = Sphere(len(axis) - 1).check(axis[None])[0]
    concentration = positive(kappa, "kappa", "finite and not negative") if kappa != 0 else 0.0
    deficit = _cosine_deficit(n, len(axis), concentration, rng)
    tangent = Sphere(len(axis) - 2).uniform(n, rng) if len(axis) > 2 else rng.choice([-1.0, 1.0], size=(n, 1))
    sine = np.sqrt(deficit * (2 - deficit))
    x = np.column_stack([1 - deficit, sine[:, None] * tangent])  # around the first coordinate axis
    return _reflected(x, axis)


def girdle(n: int, *, spread: float = 0.035, clip: float = 0.12, rng: Rng) -> FloatArray:
    """A band around the equator of S^2: uniform longitude, height N(0, spread^2) clipped to [-clip, clip].

    >>> float(np.abs(girdle(500, rng=1)[:, 2]).max()) <= 0.12
    True
    """
    n, rng = _count(n), _generator(rng)
    if not (0 <= clip <= 1 and spread >= 0):
        raise InputError(f"spread must be >= 0 and clip in [0, 1], but they are {spread!r} and {clip!r}")
    longitude = rng.uniform(0, 2 * math.pi, n)
    height = np.clip(rng.normal(0.0, spread, n), -clip, clip)
    radius = np.sqrt((1 - height) * (1 + height))
    return np.column_stack([radius * np.cos(longitude), radius * np.sin(longitude), height])


def tetrahedral(n: int, kappa: float, *, rng: Rng) -> FloatArray:
    """Four von Mises-Fisher modes at the vertices of a tetrahedron, n / 4 draws each, rounded up for the first modes.

    >>> tetrahedral(300, 140.0, rng=0).shape
    (300, 3)
    """
    n, rng = _count(n), _generator(rng)
    shares = [n // 4 + (mode < n % 4) for mode in range(4)]
    return np.concatenate(
        [
            von_mises_fisher(share, vertex, kappa, rng=rng)
            for share, vertex in zip(shares, TETRAHEDRON, strict=True)
            if share
        ]
    )


def fibonacci(n: int, *, rng: Rng | None = None) -> FloatArray:
    """The Fibonacci lattice on S^2: heights z_i = 1 - (2i + 1)/n, longitudes one golden angle apart.

    With *rng* the whole lattice is rotated at random, uniformly.

    >>> fibonacci(2).round(3)
    array([[ 0.866,  0.   ,  0.5  ],
           [-0.639,  0.585, -0.5  ]])
    """
    step = np.arange(_count(n))
    height = 1 - (2 * step + 1) / n
    longitude = step * (math.pi * (3 - math.sqrt(5)))
    radius = np.sqrt((1 - height) * (1 + height))
    lattice = np.column_stack([radius * np.cos(longitude), radius * np.sin(longitude), height])
    if rng is None:
        return lattice
    frame, triangular = np.linalg.qr(_generator(rng).standard_normal((3, 3)))
    return np.asarray(lattice @ (frame * np.sign(np.diag(triangular))))


def mixture(n: int, components: Sequence[Sampler], shares: ArrayLike | None = None, *, rng: Rng) -> FloatArray:
    """Independent draws from a mixture of samplers, in random order.

    Parameters
    ----------
    n : int
        Number of draws.
    components : sequence of callables
        Each is called as component(count, rng) and returns (count, d) points.
    shares : array-like, optional
        Mixture proportions; they need not sum to one. Default: equal.
    rng : Generator or int
        Source of randomness.

    Examples
    --------
    >>> def pole(sign):
    ...     return lambda n, rng: von_mises_fisher(n, [0, 0, sign], 50.0, rng=rng)
    >>> mixture(400, [pole(1), pole(-1)], rng=3).shape
    (400, 3)
    """
    n, rng = _count(n), _generator(rng)
    p = np.ones(len(components)) if shares is None else numeric_array(shares, "shares").astype(np.float64)
    if not len(components) or p.shape != (len(components),) or not (p >= 0).all() or not 0 < p.sum() < math.inf:
        raise InputError(f"shares must be {len(components)} non-negative numbers with a positive sum, but are {p}")
    counts = rng.multinomial(n, p / p.sum())
    drawn = [component(int(count), rng) for component, count in zip(components, counts, strict=True) if count]
    return rng.permutation(np.concatenate(drawn))


def _cosine_deficit(n: int, d: int, kappa: float, rng: np.random.Generator) -> FloatArray:
    """1 - mean . x for n draws; the cosine mean . x itself would lose digits near one."""
    half = kappa / (d - 1)
    b = 0.5 / (half + math.hypot(half, 0.5))
    x0 = (1 - b) / (1 + b)
    found: list[FloatArray] = []
    missing = n
    while missing > 0:
        size = missing + missing // 2 + 8
        z = rng.beta((d - 1) / 2, (d - 1) / 2, size)
        deficit = 2 * b * z / (1 - (1 - b) * z)
        # kappa (w - x0) + (d - 1) log((1 - x0 w) / (1 - x0^2)), with w = 1 - deficit
        gain = kappa * (2 * b / (1 + b) - deficit) + (d - 1) * np.log(
            (2 * b / (1 + b) + x0 * deficit) * (1 + b) ** 2 / (4 * b)
        )
        kept = deficit[gain >= np.log(rng.random(size))]
        found.append(kept[:missing])
        missing -= len(found[-1])
    return np.concatenate(found) if found else np.empty(0)


def _reflected(x: FloatArray, axis: FloatArray) -> FloatArray:
    """*x* after the Householder reflection that maps the first coordinate axis to *axis*."""
    normal = -axis
    normal[0] += 1.0
    length = normal @ normal
    if length > 0:
        x = x - np.outer(x @ normal, normal * (2 / length))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _count(n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"the number of points must be a whole number >= 1, but is {n!r}")
    return int(n)


def _generator(rng: Rng) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return np.random.default_rng(rng)
    raise InputError(f"rng must be a numpy.random.Generator or an integer seed, but is {rng!r}")
