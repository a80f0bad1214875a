"""What levels and neighbours leave out is never more than the bounds say, however the atoms lie."""

from __future__ import annotations

import math

import numpy as np
import pytest

import heatess as he
from heatess.engines import local
from heatess.kernel import level_count, log_left_out, log_terms, overlap

SPACES = [he.Sphere(1), he.Sphere(2), he.Sphere(3), he.Sphere(5), he.Projective(2), he.Rotations()]


def clouds(space):
    """One atom, a few, a tight bunch with a far outlier, many spread ones."""
    rng = np.random.default_rng(0)
    spread = space.uniform(40, rng)
    bunch = spread[0] + 0.01 * rng.standard_normal((40, spread.shape[1]))
    bunch /= np.linalg.norm(bunch, axis=1, keepdims=True)
    return [spread[:1], spread[:3], np.vstack([bunch, spread[1:2]]), spread]


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("time", [1e-3, 0.02, 0.5])
def test_levels_left_out_hold_at_most_their_share(space, time):
    count = level_count(space, time, 1.0, 1e-15, 2000)
    terms = np.exp(log_terms(space, np.array([time]), count)[0])
    tightest = math.inf
    for x in clouds(space):
        distances = space.distance(x[:, None], x[None])
        energies = terms * space.zonal(count, distances).mean(axis=(1, 2))
        left_out = np.cumsum(energies[::-1])[::-1] / energies.sum()
        for first in range(1, count):
            bound = math.exp(log_left_out(space, np.array([time]), first)[0])
            if left_out[first] > 1e-12:  # below, the sums here are rounding
                assert left_out[first] <= bound
                tightest = min(tightest, bound / left_out[first])
    assert tightest < 40  # the bound is of use


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("time", [1e-4, 1e-3])
def test_pairs_left_out_hold_at_most_their_share(space, time):
    small = space.small_time(time)
    for x in clouds(space):
        distances = space.distance(x[:, None], x[None]).ravel()
        overlaps = overlap(space, time, distances)
        for radius in np.sqrt(8 * time) * np.array([1.0, 2.0, 3.0, 4.0]):
            share = overlaps[distances > radius].sum() / overlaps.sum()
            bound = math.exp(local._log_share_beyond(space, time, small, radius**2))
            assert share <= bound + 1e-14


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_many_atoms_need_no_wider_neighbourhoods_than_some(space):
    near, far = (local.cutoff(space, 1e-4, ess, 1e-8) for ess in (1e6, 1e12))
    assert near == far
