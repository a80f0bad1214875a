"""Draws from the heat kernel around points: a distance from its distribution, then a direction at random."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..heat.radial import radial, radial_error, radial_terms
from ..heat.spherical import SphereSeries

#: Places between which the density of the distance is taken to be a straight line: it is right to 1e-8 or so.
PLACES = 2**14

#: Error of the kernel, as a share of its value where the distances are, from which there are no draws.
WORST = 1e-6


def on_sphere(points: FloatArray, time: float, rng: np.random.Generator) -> FloatArray:
    """One draw from k_t(x, .) for each unit vector x: at a distance r with density k_t(r) sin(r)^(dim - 1)."""
    dim = points.shape[1] - 1
    if dim == 1:
        r = math.sqrt(2 * time) * rng.standard_normal(len(points))
        across = np.column_stack([-points[:, 1], points[:, 0]])
        return np.asarray(np.cos(r)[:, None] * points + np.sin(r)[:, None] * across)
    series = SphereSeries(dim)
    kernel = radial(series, time / 2)

    def log_density(r: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            overlap = np.log(np.maximum(radial_terms(kernel, r).overlap, 0.0))
            return np.asarray(overlap + (dim - 1) * np.log(np.sin(r)))

    most = min(math.pi, kernel.cut)
    relative, absolute = radial_error(series, time / 2)
    likely = np.linspace(0.0, most, 513)[1:-1]
    logs = log_density(likely)
    where = float(radial_terms(kernel, likely[[np.argmax(logs)]]).overlap[0])
    is_cut = most < math.pi and logs[-1] > logs.max() - 25
    if is_cut or not relative + absolute / max(where, 1e-300) < WORST:
        raise InputError(
            f"draws from the heat kernel of the sphere of dimension {dim} at time {time:.3g} would not be accurate, "
            "since nearly all of its mass is where the kernel is tiny; give a coarser scale, or do without draws and "
            "regions"
        )
    r = radial_draws(log_density, most, len(points), rng, f"the sphere of dimension {dim}")
    direction = rng.standard_normal(points.shape)
    direction -= np.einsum("ij,ij->i", direction, points)[:, None] * points
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    found = np.cos(r)[:, None] * points + np.sin(r)[:, None] * direction
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def radial_draws(
    log_density: Callable[[FloatArray], FloatArray], most: float, n: int, rng: np.random.Generator, name: str
) -> FloatArray:
    """*n* distances from 0 to *most*, by inverting the distribution function; the density may lack its factor."""
    rough = np.linspace(0.0, most, 513)
    logs = log_density(rough[1:-1])
    if not np.isfinite(logs.max()):
        raise InputError(f"the heat kernel on {name} is too wide at this time for draws; give a finer scale")
    kept = np.flatnonzero(logs > logs.max() - 45) + 1
    r = np.linspace(rough[kept[0] - 1], rough[kept[-1] + 1], PLACES + 1)
    with np.errstate(invalid="ignore"):
        density = np.exp(np.nan_to_num(log_density(r), nan=-np.inf) - logs.max())
    density[r <= 0] = 0.0
    mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    wanted = rng.random(n) * mass[-1]
    place = np.clip(np.searchsorted(mass, wanted, side="right") - 1, 0, PLACES - 1)
    left, right, rest = density[place], density[place + 1], wanted - mass[place]
    # The root x in [0, 1] of left x + (right - left) x^2 / 2 = rest, in the form that does not cancel.
    root = np.sqrt(np.maximum(left**2 + 2 * (right - left) * rest, 0.0))
    share = np.divide(2 * rest, left + root, out=np.zeros(n), where=left + root > 0)
    return np.asarray(r[place] + np.minimum(share, 1.0) * (r[1] - r[0]))
