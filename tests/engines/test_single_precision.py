"""Inner products in single precision: the certified error holds for clouds that are made to break it."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he
from heatess.base.arrays import EPS
from heatess.base.progress import Progress
from heatess.engines import plan
from heatess.engines.cosines import CosineSums, SingleSums
from heatess.engines.single_precision import BIN_ERROR, COLUMNS, Plan, SingleRows
from heatess.heat.series import level_probabilities
from heatess.heat.sums import LevelMoments, sum_levels

N, WIDTH = 4200, 160  # more atoms and columns than `ATOMS` and `COLUMNS`


def clouds(n=N, width=WIDTH):
    """Unit vectors that are clustered, orthogonal, nearly the same, opposite, and those whose sums do not cancel."""
    rng = np.random.default_rng(4)
    spread = rng.standard_normal((n, width))
    centres = 2 * rng.standard_normal((30, width))
    alike = np.ones(width) + 1e-4 * rng.standard_normal((n, width))
    found = {
        "clustered": centres[rng.integers(30, size=n)] + spread * rng.random((n, 1)),
        "orthogonal": np.eye(width)[np.arange(n) % width] + 1e-3 * spread,
        "nearly the same": np.repeat(spread[: n // 10], 10, axis=0) + 1e-5 * spread,
        "opposite": np.where(np.arange(n)[:, None] % 2, 1.0, -1.0) * np.repeat(spread[: n // 2], 2, axis=0) + 1e-4,
        "one sign": np.abs(spread) * np.linspace(0.1, 3, width),
        "one point": alike,
    }
    return {name: x / np.linalg.norm(x, axis=1, keepdims=True) for name, x in found.items()}


@pytest.mark.parametrize("name", clouds(20))
@pytest.mark.slow
def test_gess_in_single_precision_is_within_its_error(name):
    x = clouds()[name]
    w = np.random.default_rng(1).random(N)
    for resolution, rtol in ((25, 1e-3), (60, 1e-4)):
        time = float(he.Sphere(WIDTH - 1).times_of_resolutions(np.radians([resolution]))[0])
        exact = he.heat_profile(x, w, times=[time], rtol=1e-10, method="pairwise")
        profile = he.heat_profile(x, w, times=[time], rtol=rtol, method="pairwise")
        assert abs(profile.gess[0] / exact.gess[0] - 1) <= profile.error[0] <= rtol
        assert exact.error[0] < 1e-9
        sums = plan.run(he.Measure(x, w), np.array([time]), rtol, "pairwise", Progress(False), mmd2=False).sums
        assert abs(sums.overlap[0] * exact.gess[0] - 1) <= sums.error[0] <= rtol
        assert sums.error[0] > 1e-6  # single precision it was
        if name == "clustered":  # where MMD^2 is large enough to be certain as well
            assert profile.error[0] > 1e-6
            assert profile.mmd2[0] == pytest.approx(exact.mmd2[0], rel=4 * profile.error[0])


@pytest.mark.parametrize("pieces", [2, 8])
def test_inner_products_are_within_the_bound(pieces):
    for x in clouds(300).values():
        measure = he.Measure(x)
        kernel = measure.space.pair_kernel
        rows = SingleRows(measure, kernel, pieces, 1)
        off = rows.cosines(slice(0, 300), slice(0, 300), 0) - x @ x.T
        assert np.abs(off).max() < Plan(pieces, WIDTH).cosine_error


@pytest.mark.parametrize("name", clouds(20))
@pytest.mark.parametrize("sign", [1.0, -1.0, 0.0])
def test_cosines_that_are_all_off_move_no_sum_by_more_than_is_said(name, sign):
    x, off = clouds(400)[name], 3e-5
    series = he.Sphere(WIDTH - 1).series
    times = he.Sphere(WIDTH - 1).times_of_resolutions(np.radians([20.0, 30, 45, 60, 80]))
    w = np.full(400, 1 / 400)
    cosines, moved = x @ x.T, off * (sign or np.where(np.random.default_rng(2).random((400, 400)) < 0.5, -1, 1))
    moved = np.clip(cosines + np.triu(moved * np.ones((400, 400)), 1) + np.tril(moved * np.ones((400, 400)), -1), -1, 1)
    found = []
    for u in (cosines, moved):
        np.fill_diagonal(u, 1.0)
        sums = CosineSums(80, 400**2)
        sums.add(np.clip(u, -1, 1), w, w)
        values = np.clip(series.from_cosines(sums.values()), 0, 1)
        values[0] = 1.0
        found.append(sum_levels(series, times, LevelMoments(values, 0.0, 1e-12, off)))
    true, said = found
    assert (np.abs(said.overlap / true.overlap - 1) <= said.error).all()
    assert (np.abs(np.expm1(true.log_mmd2 - said.log_mmd2)) <= said.mmd2_error * (1 + 1e-9)).all()


@pytest.mark.parametrize("dim", [1, 2, 3, 9, COLUMNS - 1, 383])
def test_the_slope_of_overlaps_follows_from_the_moments(dim):
    """Of one pair at any distance, antipodes too, where it may be many times as steep as at distance zero."""
    series, step = he.Sphere(dim).series, 1e-6
    u = np.array([-0.99, -0.6, 0.0, 0.3, 0.9, 0.9999])
    for time in he.Sphere(dim).times_of_resolutions(np.radians([30.0, 50, 80])):
        p = level_probabilities(series, float(time), 120)
        moments, before, after = (series.zonal(120, np.arccos(u + move)) for move in (0.0, -step, step))
        slopes = (p @ after - p @ before) / (2 * step)
        for k, slope in enumerate(slopes):
            found = series.moved(np.array([time]), p[None], moments[:, k], 1e-9)[0] / 1e-9
            assert found == pytest.approx(slope, rel=1e-4, abs=1e-8 * slopes.max())


def test_bins_of_four_moments_are_as_exact_as_they_say():
    rng = np.random.default_rng(0)
    cosines = np.cos(np.pi * rng.random((200, 300))).astype(np.float32)
    left, right = rng.random(200), rng.random(300)
    left /= left.sum()
    right /= right.sum()
    sums = SingleSums(40, 2)
    sums.add(cosines[:100], left[:100], right, 0)
    sums.add(cosines[100:], left[100:], right, 1)
    exact = [left @ np.cos(k * np.arccos(cosines.astype(np.float64))) @ right for k in range(40)]
    # A place is good to 4 u, which turns cos(k d) by that times k^2 at the most.
    room = BIN_ERROR + 6 * 2.0**-24 * np.arange(40) ** 2 + 64 * EPS
    assert (np.abs(sums.values() - exact) < room).all()
