"""A density with its scale chosen, and its map, against the least work: `python benchmarks/run.py --only density`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import heatess as he
from heatess.base.blocks import thread_count
from heatess.heat.series import level_probabilities
from heatess.tables.pixels import Pixels
from timing import Row, side_by_side, within

N, ORDER, TARGET = 10**6, 8, 4.0
POLE, EQUATOR = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])


def clouds() -> dict[str, np.ndarray]:
    """From broad to narrow: the narrower, the finer the scale that is chosen."""
    mode = he.samplers.von_mises_fisher
    half, quarter = N // 2, N // 4
    broad = [he.samplers.uniform(half, rng=1), mode(quarter, POLE, 5.0, rng=2), mode(quarter, EQUATOR, 8.0, rng=3)]
    two = np.concatenate([mode(half, POLE, 30.0, rng=4), mode(half, EQUATOR, 30.0, rng=5)])
    found = {"half uniform, two broad modes": np.concatenate(broad), "two modes of kappa 30": two}
    found["these, drawn with copies"] = two[np.random.default_rng(6).integers(0, N, N)]
    return found | {f"a spot of {a} degrees": mode(N, POLE, np.radians(a) ** -2.0, rng=7 + a) for a in (6, 2)}


def density() -> Iterator[Row]:
    """The choice of the scale and a map at nside 256, against a profile at its scales and one bare synthesis."""
    pixels = np.stack(Pixels(ORDER, np.arange(12 * 4**ORDER), "ring", "").centres(slice(None)), axis=1)
    he.density(he.samplers.uniform(5000, rng=0)).healpix(16)  # compiled before it is timed
    for name, x in clouds().items():
        found = he.density(x)
        finest = found.scales.min() / np.sqrt(2)  # cross-validation at time t needs the profile at t / 2
        angles = finest * (found.scales.max() / finest) ** np.linspace(0, 1, len(found.scales) + 4)
        ours, profile, synthesis = side_by_side(
            lambda x=x: he.density(x).healpix(2**ORDER),
            lambda x=x, angles=angles: he.heat_profile(x, angles=angles),
            bare_synthesis(x, found.time, pixels),
            rounds=3,
        )
        work = f"density of 10^6 points on S^2, {name}: {found.angle:.2g} degrees chosen, map at nside 256"
        yield within(work, "the profile at its scales, and one bare synthesis", ours, profile + synthesis, TARGET)


def bare_synthesis(x: np.ndarray, time: float, pixels: np.ndarray) -> Callable[[], object]:
    """The smoothed density at all pixels from coefficients that are there already."""
    transform, threads = he.Sphere(2).transform, thread_count()
    degree = int(transform.degree_for(time / 2, float(len(x)), 1e-8, mmd2=False))
    coefficients = transform.coefficients(x, np.full(len(x), 1 / len(x)), degree, 1e-12, threads)
    levels = level_probabilities(transform.series, time / 2, degree + 1)
    return lambda: transform.synthesis(coefficients, levels, pixels, 1e-12, threads)
