"""What levels and neighbours leave out is never more than the bounds say, however the atoms lie."""

from __future__ import annotations

import math

import numpy as np
import pytest

import heatess as he
from heatess.engines import neighbours
from heatess.heat.series import level_count, log_diagonal, log_left_out, log_terms, overlap
from heatess.heat.sums import LevelMoments, sum_levels

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
    count = level_count(space.series, time, 1.0, 1e-15, 2000)
    terms = np.exp(log_terms(space.series, np.array([time]), count)[0])
    tightest = math.inf
    for x in clouds(space):
        distances = space.distance(x[:, None], x[None])
        energies = terms * space.series.zonal(count, distances).mean(axis=(1, 2))
        left_out = np.cumsum(energies[::-1])[::-1] / energies.sum()
        for first in range(1, count):
            bound = math.exp(log_left_out(space.series, np.array([time]), first)[0])
            if left_out[first] > 1e-12:  # below, the sums here are rounding
                assert left_out[first] <= bound
                tightest = min(tightest, bound / left_out[first])
    assert tightest < 40  # the bound is of use


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("time", [1e-4, 1e-3])
def test_pairs_left_out_hold_at_most_their_share(space, time):
    small = space.embedding.small_time(time)
    for x in clouds(space):
        distances = space.distance(x[:, None], x[None]).ravel()
        overlaps = overlap(space.series, time, distances)
        for radius in np.sqrt(8 * time) * np.array([1.0, 2.0, 3.0, 4.0]):
            share = overlaps[distances > radius].sum() / overlaps.sum()
            bound = math.exp(neighbours.log_share_beyond(space.dim, time, small, radius**2))
            assert share <= bound + 1e-14


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_the_error_of_too_few_levels_is_no_less_than_what_they_leave_out(space):
    """Of one atom all energies are full, and of the uniform law they vanish."""
    times = np.geomspace(1e-6, 1.0, 60)
    diagonals = np.exp([log_diagonal(space.series, float(time)) for time in times])
    for count in (3, 10, 40):
        for moments, exact in ((np.ones(count), np.ones(60)), (np.eye(count)[0], 1 / diagonals)):
            with np.errstate(invalid="ignore"):  # where far too few levels certify nothing
                found = sum_levels(space.series, times, LevelMoments(moments))
            off = np.abs(exact / found.overlap - 1)
            assert ((off <= found.error + 1e-12) | np.isnan(found.error)).all()


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_many_atoms_need_no_wider_neighbourhoods_than_some(space):
    near, far = (neighbours.cutoff(space, 1e-4, ess, 1e-8, mmd2=False) for ess in (1e6, 1e12))
    assert near == far  # for gESS; MMD^2, which falls as atoms become more, needs a little more
    assert neighbours.cutoff(space, 1e-4, 1e6, 1e-8) >= near
