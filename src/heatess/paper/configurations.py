"""The weighted clouds of the paper: five synthetic ones and three of handwritten digits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from .. import samplers
from .experiment import FloatArray

NORTH = (0.0, 0.0, 1.0)
SOUTH = (0.0, 0.0, -1.0)

#: Number of images used for each digit.
PER_DIGIT = 30


@dataclass(frozen=True)
class Recipe:
    """The parameters of the synthetic configurations."""

    n: int
    kappa: float
    spread: float
    clip: float
    places: int


MAIN = Recipe(n=300, kappa=140.0, spread=0.035, clip=0.12, places=30)
REPLICATED = Recipe(n=180, kappa=100.0, spread=0.045, clip=0.15, places=20)


def synthetic(rng: np.random.Generator, recipe: Recipe = MAIN) -> dict[str, FloatArray]:
    """The five configurations of Table 1, all equally weighted.

    One von Mises-Fisher mode; two modes at opposite poles; a band around the equator; four modes at the
    vertices of a tetrahedron; and several labels at each of a few Fibonacci places.

    >>> {name: len(points) for name, points in synthetic(np.random.default_rng(0)).items()}
    {'Unimodal vMF': 300, 'Antipodal': 300, 'Girdle': 300, 'Four modes': 300, 'Duplicates': 300}
    """
    n, kappa = recipe.n, recipe.kappa
    poles = [samplers.von_mises_fisher(n // 2, pole, kappa, rng=rng) for pole in (NORTH, SOUTH)]
    return {
        "Unimodal vMF": samplers.von_mises_fisher(n, NORTH, kappa, rng=rng),
        "Antipodal": np.concatenate(poles),
        "Girdle": samplers.girdle(n, spread=recipe.spread, clip=recipe.clip, rng=rng),
        "Four modes": samplers.tetrahedral(n, kappa, rng=rng),
        "Duplicates": np.repeat(samplers.fibonacci(recipe.places), n // recipe.places, axis=0),
    }


def digits() -> dict[str, tuple[FloatArray, FloatArray | None]]:
    """The three clouds of Table 2, as points and weights.

    Images are standardised, projected on three principal components of the full data set and scaled to
    unit length; the first thirty of each digit are used. The weights are proportional to exp(2.5 x_1).

    >>> {name: points.shape for name, (points, weights) in digits().items()}
    {'Digits all': (300, 3), 'Digits weighted': (300, 3), 'Digits 0/1': (60, 3)}
    """
    pixels, labels = handwritten()
    points = principal_directions(pixels.astype(np.float64))
    kept = np.concatenate([np.flatnonzero(labels == digit)[:PER_DIGIT] for digit in range(10)])
    every, first_two = points[kept], points[kept[labels[kept] < 2]]
    return {
        "Digits all": (every, None),
        "Digits weighted": (every, np.exp(2.5 * every[:, 0])),
        "Digits 0/1": (first_two, None),
    }


@cache
def handwritten() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """1,797 images of 64 pixels with values 0 to 16, and their digits; see data/README.md for source and licence."""
    with (files(__package__) / "data" / "digits.npz").open("rb") as stream, np.load(stream) as stored:
        pixels, labels = stored["pixels"], stored["labels"]
    for array in (pixels, labels):
        array.flags.writeable = False
    return pixels, labels


def principal_directions(features: FloatArray, count: int = 3) -> FloatArray:
    """Rows of *features*, standardised, projected on the first principal axes, and scaled to unit length.

    Constant features become zero. The sign of a principal axis is free; as in scikit-learn, its entry of
    largest modulus is positive.
    """
    deviation = features.std(axis=0)
    standard = (features - features.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    axes = np.linalg.svd(standard, full_matrices=False)[2][:count]
    largest = np.abs(axes).argmax(axis=1)
    axes *= np.sign(axes[np.arange(count), largest])[:, None]
    projected = standard @ axes.T
    return np.asarray(projected / np.linalg.norm(projected, axis=1, keepdims=True))
