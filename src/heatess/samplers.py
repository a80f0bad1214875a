"""Random and quasi-uniform (n, d) clouds on spheres, and uniform ones on every space.

*rng* is a `numpy.random.Generator` or an integer seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base.arrays import LARGEST, FloatArray, is_whole, numeric_array, positive, whole
from .base.errors import InputError, InputTypeError
from .base.messages import shown
from .spaces.base import Space, check_space
from .spaces.sphere import Sphere

Rng = np.random.Generator | int
Sampler = Callable[[int, np.random.Generator], FloatArray]

TETRAHEDRON = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / math.sqrt(3)

#: Points that are drawn at once: their coordinates on S^2 take 240 GB.
_MOST_POINTS = 10**10


def uniform(n: int, dim: int = 2, *, space: Space | None = None, rng: Rng) -> Any:
    """Independent uniform points on S^dim, shape (n, dim + 1), or on any *space* that has a uniform distribution.

    On a space they come in the form that it takes points in: quaternions of rotations, a tuple for a product.

    >>> import heatess as he
    >>> uniform(1000, rng=0).shape
    (1000, 3)
    >>> uniform(1000, space=he.Rotations(), rng=0).shape
    (1000, 4)
    """
    check_space(space)
    return (Sphere(dim) if space is None else space).uniform(*_checked(n, rng))


def von_mises_fisher(n: int, mean: ArrayLike, kappa: float, *, rng: Rng) -> FloatArray:
    """Independent draws from the von Mises-Fisher distribution, density proportional to exp(kappa mean . x).

    *mean* is a unit vector of any dimension, shape (d,); d = 2 is the circle. *kappa*, the concentration, is zero
    (uniform) or more, and draws are accurate beyond 10^6: Wood's rejection sampler, in a form without cancellation.

    The mean resultant length on S^2 is coth(kappa) - 1/kappa:

    >>> x = von_mises_fisher(100_000, [0, 0, 1], 10.0, rng=0)
    >>> bool(abs(np.linalg.norm(x.mean(axis=0)) - 0.9) < 1e-3)
    True
    """
    n, rng = _checked(n, rng)
    axis = numeric_array(mean, "mean").astype(np.float64)
    if axis.ndim != 1 or len(axis) < 2:
        raise InputError(f"mean must be <+one unit vector of at least 2 coordinates+>, but has <!shape {axis.shape}!>")
    axis = Sphere(len(axis) - 1).check(axis[None])[0]
    concentration = _not_negative(kappa, "kappa")
    deficit = _cosine_deficit(n, len(axis), concentration, rng)
    tangent = Sphere(len(axis) - 2).uniform(n, rng) if len(axis) > 2 else rng.choice([-1.0, 1.0], size=(n, 1))
    sine = np.sqrt(deficit * (2 - deficit))
    return _reflected(np.column_stack([1 - deficit, sine[:, None] * tangent]), axis)


def girdle(n: int, *, spread: float = 0.035, clip: float = 0.12, rng: Rng) -> FloatArray:
    """A band around the equator of S^2: uniform longitude, height N(0, spread^2) clipped to [-clip, clip].

    >>> float(np.abs(girdle(500, rng=1)[:, 2]).max()) <= 0.12
    True
    """
    n, rng = _checked(n, rng)
    if not (_is_number(clip) and _is_number(spread) and 0 <= clip <= 1 and 0 <= spread <= LARGEST):
        found = f"they are {shown(spread)} and {shown(clip)}"
        raise InputError(f"spread must be <+>= 0 and clip in [0, 1]+>, but <!{found}!>")
    longitude = rng.uniform(0, 2 * math.pi, n)
    return _at(np.clip(rng.normal(0.0, spread, n), -clip, clip), longitude)


def tetrahedral(n: int, kappa: float, *, rng: Rng) -> FloatArray:
    """Four von Mises-Fisher modes at the vertices of a tetrahedron, n / 4 draws each, rounded up for the first modes.

    >>> tetrahedral(300, 140.0, rng=0).shape
    (300, 3)
    """
    n, rng = _checked(n, rng)
    shares = [n // 4 + (mode < n % 4) for mode in range(min(n, 4))]
    modes = zip(shares, TETRAHEDRON, strict=False)
    return np.concatenate([von_mises_fisher(share, vertex, kappa, rng=rng) for share, vertex in modes])


def fibonacci(n: int, *, rng: Rng | None = None) -> FloatArray:
    """The Fibonacci lattice on S^2: heights z_i = 1 - (2i + 1)/n, longitudes one golden angle apart.

    With *rng* the whole lattice is rotated at random, uniformly.

    >>> fibonacci(2).round(3)
    array([[ 0.866,  0.   ,  0.5  ],
           [-0.639,  0.585, -0.5  ]])
    """
    n, generator = _checked(n, 0 if rng is None else rng)  # the seed 0 is never used
    step = np.arange(n)
    lattice = _at(1 - (2 * step + 1) / n, step * (math.pi * (3 - math.sqrt(5))))
    if rng is None:
        return lattice
    frame, triangular = np.linalg.qr(generator.standard_normal((3, 3)))
    return np.asarray(lattice @ (frame * np.sign(np.diag(triangular))))


def mixture(n: int, components: Sequence[Sampler], shares: ArrayLike | None = None, *, rng: Rng) -> FloatArray:
    """Independent draws from a mixture of samplers, in random order.

    Each of *components* is called as component(count, rng) and returns (count, d) points. The *shares* of the mixture,
    one number for each of them, need not sum to one; they are equal unless given.

    >>> def pole(sign):
    ...     return lambda n, rng: von_mises_fisher(n, [0, 0, sign], 50.0, rng=rng)
    >>> mixture(400, [pole(1), pole(-1)], rng=3).shape
    (400, 3)
    """
    n, rng = _checked(n, rng)
    if not isinstance(components, Sequence) or not all(map(callable, components)):
        raise InputTypeError.unfit("components", "a list of functions (n, rng)", components, verb="are")
    p = np.ones(len(components)) if shares is None else numeric_array(shares, "shares").astype(np.float64)
    if not len(components) or p.shape != (len(components),) or not (p >= 0).all() or not 0 < p.sum() < math.inf:
        raise InputError(f"shares must be <+{len(components)} non-negative numbers with a positive sum+>, not <!{p}!>")
    counts = rng.multinomial(n, p / p.sum())
    drawn = [component(int(count), rng) for component, count in zip(components, counts, strict=True) if count]
    return rng.permutation(np.concatenate(drawn))


def _cosine_deficit(n: int, d: int, kappa: float, rng: np.random.Generator) -> FloatArray:
    """1 - mean . x for n draws; the cosine mean . x itself would lose digits near one."""
    half = kappa / (d - 1)
    b = 0.5 / (half + math.hypot(half, 0.5))
    x0, gap = (1 - b) / (1 + b), 2 * b / (1 + b)  # gap = 1 - x0
    found: list[FloatArray] = []
    missing = n
    while missing > 0:
        size = missing + missing // 2 + 8
        z = rng.beta((d - 1) / 2, (d - 1) / 2, size)
        deficit = 2 * b * z / (1 - (1 - b) * z)
        # kappa (w - x0) + (d - 1) log((1 - x0 w) / (1 - x0^2)), with w = 1 - deficit
        gain = kappa * (gap - deficit) + (d - 1) * np.log((gap + x0 * deficit) * (1 + b) ** 2 / (4 * b))
        found.append(deficit[gain >= np.log(rng.random(size))][:missing])
        missing -= len(found[-1])
    return np.concatenate(found)


def _reflected(x: FloatArray, axis: FloatArray) -> FloatArray:
    """*x* after the Householder reflection that maps the first coordinate axis to *axis*."""
    normal = -axis
    normal[0] += 1.0
    length = normal @ normal
    if length > 0:
        x = x - np.outer(x @ normal, normal * (2 / length))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _at(height: NDArray[Any], longitude: NDArray[Any]) -> FloatArray:
    """Points of S^2."""
    radius = np.sqrt((1 - height) * (1 + height))
    return np.column_stack([radius * np.cos(longitude), radius * np.sin(longitude), height])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _not_negative(value: Any, name: str) -> float:
    return 0.0 if _is_number(value) and value == 0 else positive(value, name, "finite and not negative")


def _checked(n: int, rng: Rng) -> tuple[int, np.random.Generator]:
    seeded = is_whole(rng) and rng >= 0
    if not seeded and not isinstance(rng, np.random.Generator):
        raise InputError.unfit("rng", "a numpy.random.Generator or an integer seed", rng, "seeds are >= 0")
    if whole(n, "the number of points", 1) > _MOST_POINTS:
        raise InputError(
            f"the number of points must be <+at most {_MOST_POINTS:,}+>, but is <!{n}!>; draw them in parts"
        )
    return int(n), np.random.default_rng(rng)
