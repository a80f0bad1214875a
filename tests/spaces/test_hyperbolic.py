"""Hyperbolic plane and space: the heat kernel against mpmath, isometries, limits."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import heatess as he
import reference_flat
from heatess.engines import plan
from heatess.engines.base import Question
from heatess.spaces import named

KERNELS = {2: reference_flat.hyperbolic2, 3: lambda: reference_flat.hyperbolic3}
LIMITS = {2: 4.713, 3: 2.69}


def lifted(spatial: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sqrt(1 + (spatial**2).sum(axis=1)), spatial])


def awkward_cloud(dim: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Duplicates, a pair 1e-6 apart, points far out on both sides, and skewed weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5, dim))
    x[3] *= 20
    x[4] *= -300
    points = lifted(np.vstack([x, x[1], x[1], x[2] + 1e-6, np.zeros(dim)]))
    return points, np.exp(rng.normal(size=len(points)))


def boost(dim: int, rapidity: float, rng: np.random.Generator) -> np.ndarray:
    """A turn, then a boost along the first axis."""
    matrix = np.eye(dim + 1)
    matrix[:2, :2] = [[math.cosh(rapidity), math.sinh(rapidity)], [math.sinh(rapidity), math.cosh(rapidity)]]
    turn = np.eye(dim + 1)
    turn[1:, 1:] = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    return turn @ matrix


@pytest.mark.slow
@pytest.mark.parametrize("dim", [2, 3])
def test_gess_matches_forty_digits(dim: int) -> None:
    points, weights = awkward_cloud(dim, seed=dim)
    times = np.square([1e-6, 1e-2, 0.5, 2.0, 10.0, 1000.0]) / 8
    profile = he.heat_profile(points, weights, space=he.Hyperbolic(dim), times=times)
    truth = reference_flat.gess(KERNELS[dim](), points, weights, times)
    for found, error, exact in zip(profile.gess, profile.error, truth, strict=True):
        assert float(abs(mp.mpf(float(found)) / exact - 1)) <= min(1e-8, error)


@pytest.mark.parametrize("time", [1e-8, 1e-3, 0.05, 0.5, 5.0, 100.0, 1e5, 1e12])
def test_the_planar_kernel_is_accurate_to_the_last_digits(time: float) -> None:
    distances = np.array([0.1, 0.5, 1.0, 2.0, 4.0]) * min(math.sqrt(8 * time), 40.0)
    space = he.Hyperbolic(2)
    found = space.pair_kernel.terms_at(distances[:, None])(time)
    with mp.workdps(30):
        s = 2 * mp.mpf(time)
        whole = reference_flat.planar_integral(mp.mpf(0), s)
        for k, distance in enumerate(distances):
            r = mp.mpf(float(distance))
            exact = reference_flat.planar_integral(r, s) / whole * mp.exp(-r * r / (4 * s))
            assert found.overlap[k, 0] == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_the_dimension_is_the_derivative(dim: int) -> None:
    points, _ = awkward_cloud(dim, seed=4)
    space = he.Hyperbolic(dim)
    for time in (0.01, 0.5, 20.0):
        low, mid, high = (he.heat_profile(points, space=space, times=[time * f]) for f in (0.999, 1.0, 1.001))
        slope = -2 * (math.log(high.gess[0]) - math.log(low.gess[0])) / math.log(1.001 / 0.999)
        assert mid.dimension[0] == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("dim", [2, 3])
def test_isometries_change_nothing(dim: int) -> None:
    rng = np.random.default_rng(dim)
    points, weights = lifted(rng.normal(size=(80, dim))), rng.random(80)
    scales = {"space": he.Hyperbolic(dim), "times": [1e-3, 0.1, 1.0, 50.0]}
    base = he.heat_profile(points, weights, **scales)
    for rapidity in (0.0, 1.0, 4.0):
        moved = he.heat_profile(points @ boost(dim, rapidity, rng).T, weights, **scales)
        np.testing.assert_allclose(moved.gess, base.gess, rtol=1e-10)


@pytest.mark.parametrize("dim", [2, 3])
def test_distances_are_right_close_far_and_apart(dim: int) -> None:
    space = he.Hyperbolic(dim)
    points, _ = awkward_cloud(dim, seed=7)
    extra = lifted(np.eye(dim) * [[1e6]])
    rows = np.vstack([points, extra, lifted(-1e3 * np.eye(dim)), lifted(np.eye(dim) * (1e6 + 1e-3))])
    checked = space.check(rows)
    for x in checked:
        exact = [float(reference_flat.hyperbolic_distance(x, y)) for y in checked]
        np.testing.assert_allclose(space.distance(x, checked), exact, rtol=1e-13, atol=1e-30)


@pytest.mark.parametrize("dim", [2, 3])
def test_resolutions_come_back_and_have_a_limit(dim: int) -> None:
    space = he.Hyperbolic(dim)
    wanted = np.array([1e-5, 0.1, 1.0, 2.5])
    times = space.times_of_resolutions(wanted)
    np.testing.assert_allclose(space.resolutions_of_times(times), wanted, rtol=1e-10)
    assert space.resolutions_of_times(np.array([1e9]))[0] == pytest.approx(LIMITS[dim], abs=0.01)
    with pytest.raises(he.InputError, match="entry 1 is 5: heat never"):
        he.heat_profile([[1.0] + [0.0] * dim], space=space, resolutions=[0.5, 5.0])


def test_hyperbolic_space_is_flat_in_the_small() -> None:
    rng = np.random.default_rng(0)
    x = 1e-5 * rng.normal(size=(40, 3))
    for dim in (2, 3):
        flat = he.gess(x[:, :dim], space=he.Euclidean(dim), resolution=1e-5)
        curved = he.gess(lifted(x[:, :dim]), space=he.Hyperbolic(dim), resolution=1e-5)
        assert curved == pytest.approx(flat, rel=1e-8)


def test_only_gess_is_defined() -> None:
    profile = he.heat_profile(lifted(np.eye(3)), space=he.Hyperbolic(3), resolutions=[0.5, 1, 2])
    for name in ("volume", "divergence", "mmd2"):
        assert np.isnan(getattr(profile, name)).all()
    assert "gESS only" in repr(profile)
    assert named(repr(he.Hyperbolic(3))) == he.Hyperbolic(3)
    assert he.Hyperbolic(2).scalar_curvature == -2


def test_bad_input_is_refused_with_the_reason() -> None:
    plane = he.Hyperbolic(2)
    with pytest.raises(he.InputError, match="dim 2 and 3, but found 4"):
        he.Hyperbolic(4)
    with pytest.raises(he.InputError, match=r"shape \(n, 3\), time coordinate x_0 first"):
        he.gess([[1.0, 0.0]], space=plane, time=1.0)
    with pytest.raises(he.InputError, match=r"row 1 is .* where x_0 should be 1.4142136 \(1 of 2 rows\)"):
        he.gess([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], space=plane, time=1.0)
    with pytest.raises(he.InputError, match="row 0"):
        he.gess([[-1.0, 0.0, 0.0]], space=plane, time=1.0)
    with pytest.raises(he.InputError, match="finite, but row 0"):
        he.gess([[math.nan, 0.0, 0.0]], space=plane, time=1.0)
    with pytest.raises(he.InputError, match="below 1e"):
        he.gess([[1e100, 1e100, 0.0]], space=plane, time=1.0)
    assert he.gess([[1 + 1e-7, 0.0, 0.0]], space=plane, time=1.0) == 1


@pytest.mark.parametrize("dim", [2, 3])
def test_separations_tell_the_distances(dim: int) -> None:
    space = he.Hyperbolic(dim)
    points = space.check(awkward_cloud(dim, seed=5)[0])
    found = space.pair_kernel.separations(points, points)
    np.testing.assert_allclose(found, 4 * np.sinh(space.distance(points[:, None], points) / 2) ** 2, rtol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e30])
def test_neighbours_have_what_all_pairs_have(dim: int, spread: float) -> None:
    """Close to the origin, and so far out that places along the boundary are lost in rounding."""
    rng = np.random.default_rng(dim)
    x = np.concatenate([spread * rng.normal(size=(600, dim)), 1e-3 * rng.normal(size=(200, dim))])
    points = lifted(np.concatenate([x, x[:100] * (1 + 1e-6), x[:20]]))
    scales = {"space": he.Hyperbolic(dim), "times": np.geomspace(1e-4, 0.5, 5) ** 2 / 8}
    weights = rng.random(920)
    close = he.heat_profile(points, weights, **scales, method="local")
    every = he.heat_profile(points, weights, **scales, method="pairwise", rtol=1e-12)
    assert (np.abs(close.gess / every.gess - 1) <= close.error).all()


def test_many_points_of_the_plane_are_summed_by_neighbours_at_fine_scales() -> None:
    """All pairs of 600,000 take half an hour."""
    x = np.random.default_rng(0).normal(size=(600_000, 2))
    measure = he.Measure(lifted(x), space=he.Hyperbolic(2))
    steps, seconds = plan.plan(Question(measure, np.array([0.005**2 / 8]), 1e-8))
    assert [step.offer.name for step in steps] == ["local"]
    assert seconds < 5
    assert plan.plan(Question(measure, np.array([2.0**2 / 8]), 1e-8))[1] > 1000
    with pytest.raises(he.PrecisionError, match="neighbours do not suffice"):
        he.heat_profile(measure, times=[2.0], method="local")


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("spread", [1.0, 1e3])
def test_all_pairs_of_many_atoms_at_all_scales_at_once(dim: int, spread: float) -> None:
    rng = np.random.default_rng(dim)
    x = spread * rng.normal(size=(2100, dim))
    x[:1000] *= 1e-3 / spread
    x[:20] = x[20:40]
    points, weights = lifted(x), rng.random(len(x))
    scales = {"space": he.Hyperbolic(dim), "times": np.geomspace(1e-3, 30, 5) ** 2 / 8}
    fast = he.heat_profile(points, weights, **scales)
    slow = he.heat_profile(points, weights, **scales, rtol=1e-12)  # below the tolerance of bins
    assert (np.abs(fast.gess / slow.gess - 1) <= fast.error).all()
    assert (fast.error < 1e-9).all()
    np.testing.assert_allclose(fast.gess, slow.gess, rtol=1e-12)
    np.testing.assert_allclose(fast.dimension, slow.dimension, rtol=1e-11, atol=1e-13)
