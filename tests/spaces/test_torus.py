"""Tori and the circle: against the definition at 40 digits, against each other, and against the sphere."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import heatess as he
import reference
import reference_flat
from heatess.spaces import named


def awkward_cloud(periods: list[float], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Duplicates (also modulo the period), a pair 1e-6 apart, one across the seam, and skewed weights."""
    rng = np.random.default_rng(seed)
    T = np.array(periods)
    x = (rng.random((6, len(T))) - 0.5) * T
    x[0] = T / 2 - 1e-7
    across = -T / 2 + 2e-7
    points = np.vstack([x, x[1], x[2] + T, x[3] - 3 * T, x[4] + 1e-6, across])
    return points, np.exp(2 * rng.normal(size=len(points)))


def relative(found: float, true: mp.mpf) -> float:
    return float(abs(mp.mpf(float(found)) / true - 1))


def torus(periods) -> he.Torus:
    """Angles in radians may be any number."""
    return he.Torus(len(periods), periods, units="rad" if set(periods) == {2 * math.pi} else None)


def assert_matches(profile: he.HeatProfile, truth: list[reference.Exact]) -> None:
    for k, exact in enumerate(truth):
        assert relative(profile.gess[k], exact.gess) <= min(1e-8, profile.error[k])
        assert relative(profile.divergence[k], exact.divergence) < 1e-8
        if np.isfinite(profile.mmd2[k]):
            assert relative(profile.mmd2[k], exact.mmd2) < 1e-8
            assert relative(profile.volume[k], exact.volume) < 1e-8


CASES = {
    "T1": ([2 * math.pi], [0.001, 0.05, 1.0, 2.0, 3.0, 6.0]),
    "day": ([24.0], [0.01, 1.0, 6.0, 12.0, 30.0]),
    "T2": ([2 * math.pi] * 2, [0.02, 0.3, 1.0, 2.0, 6.0]),
    "T2 uneven": ([1.0, 7.5], [0.02, 0.3, 1.0, 2.0, 6.0]),
    "T3": ([2 * math.pi, 5.0, 2.0], [0.2, 1.0, 2.0, 6.0]),
    "T5": ([2 * math.pi] * 5, [0.01, 0.3, 1.0, 2.0, 6.0]),
    "T20": ([2 * math.pi] * 20, [0.3, 1.5, 3.0, 7.0]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_the_profile_matches_forty_digits(case: str) -> None:
    periods, alphas = CASES[case]
    points, weights = awkward_cloud(periods, seed=len(case))
    times = np.square(alphas) / 8
    truth = reference_flat.profile(reference_flat.torus(periods), points, weights, times)
    space = torus(periods)
    assert_matches(he.heat_profile(points, weights, space=space, times=times, method="pairwise"), truth)
    assert_matches(he.heat_profile(points, weights, space=space, times=times), truth)


@pytest.mark.parametrize("case", ["T1", "day", "T2", "T2 uneven", "T3"])
def test_the_transform_matches_forty_digits(case: str) -> None:
    periods, alphas = CASES[case]
    points, weights = awkward_cloud(periods, seed=len(case) + 10)
    # Many copies of each atom, so that pairs would be more expensive.
    copies = 400
    times = np.square([alpha for alpha in alphas if alpha >= 0.05 * max(periods)]) / 8
    truth = reference_flat.profile(reference_flat.torus(periods), points, weights, times)
    space = torus(periods)
    profile = he.heat_profile(
        np.tile(points, (copies, 1)), np.tile(weights, copies), space=space, times=times, method="spectral"
    )
    assert profile.method == "spectral"
    assert_matches(profile, truth)


@pytest.mark.parametrize("alpha", [1e-6, 1e-5, 1e-3])
def test_the_finest_scales_see_pairs_across_the_seam(alpha: float) -> None:
    periods = [2 * math.pi, 1.0]
    points, weights = awkward_cloud(periods, seed=3)
    truth = reference_flat.profile(reference_flat.torus(periods), points, weights, [alpha**2 / 8])
    profile = he.heat_profile(points, weights, space=he.Torus(2, periods), times=[alpha**2 / 8])
    # x + 3 T is rounded to the nearest float: 4e-15, which is 4e-9 of the finest scale.
    assert relative(profile.gess[0], truth[0].gess) < 1e-7
    if alpha >= 1e-5:
        assert_matches(profile, truth)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_transform_and_pairs_agree(dim: int) -> None:
    rng = np.random.default_rng(dim)
    space = he.Torus(dim, [2 * math.pi, 3.0, 5.0][:dim])
    points, weights = rng.normal(size=(1500, dim)), rng.random(1500) ** 3
    times = np.geomspace(0.02, 3.0, 5)
    fast = he.heat_profile(points, weights, space=space, times=times)
    pairs = he.heat_profile(points, weights, space=space, times=times, method="pairwise")
    assert (fast.method, pairs.method) == ("spectral", "pairwise")
    for name in ("gess", "mmd2", "divergence", "volume"):
        np.testing.assert_allclose(getattr(fast, name), getattr(pairs, name), rtol=1e-9)
    np.testing.assert_allclose(fast.dimension, pairs.dimension, rtol=1e-8, atol=1e-10)
    assert (fast.error < 1e-8).all()


def test_the_circle_is_the_torus_is_the_sphere() -> None:
    rng = np.random.default_rng(0)
    angles, weights = rng.normal(size=200), rng.random(200)
    vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    sphere = he.heat_profile(vectors, weights, space=he.Sphere(1))
    for method in ("auto", "pairwise"):
        for space in (he.Circle(), he.Torus(1)):
            circle = he.heat_profile(angles, weights, space=space, method=method)
            for name in ("angles", "resolutions", "gess", "volume", "divergence", "mmd2", "dimension"):
                np.testing.assert_allclose(getattr(circle, name), getattr(sphere, name), rtol=1e-10, atol=1e-12)
    assert he.Circle() == he.Torus(1)
    assert hash(he.Circle()) == hash(he.Torus(1))


def test_the_circle_has_what_the_sphere_has() -> None:
    """A series: scales between those of a profile, all methods, and Leinster and Cobbold's diversity."""
    rng = np.random.default_rng(1)
    angles, weights = rng.normal(size=200), rng.random(200)
    vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    circle = he.heat_profile(angles, weights, space=he.Circle(), angles=[10, 60])
    sphere = he.heat_profile(vectors, weights, angles=[10, 60])
    for angle in (10, 17, 33, 90):
        one, other = circle.at(angle=angle), sphere.at(angle=angle)
        for name in ("gess", "mmd2", "divergence", "volume", "dimension", "resolution"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)
        assert he.baselines.leinster_cobbold(angles, weights, space=he.Circle(), angle=angle) == pytest.approx(
            he.baselines.leinster_cobbold(vectors, weights, angle=angle), rel=1e-10
        )
    with pytest.raises(he.InputError, match="does not certify the scale"):
        circle.at(angle=0.1)
    for method, angle in (("spectral", 1.0), ("local", 1.0), ("pairwise", 1.0), ("local", 1e-3), ("pairwise", 1e-3)):
        one = he.heat_profile(angles, weights, space=he.Circle(), angles=[angle], method=method)
        other = he.heat_profile(vectors, weights, angles=[angle], method=method)
        assert one.method == other.method == method
        np.testing.assert_allclose(one.gess, other.gess, rtol=1e-9)
        np.testing.assert_allclose(one.mmd2, other.mmd2, rtol=1e-9)


@pytest.mark.parametrize("dim", [1, 2, 5, 20])
def test_translations_units_and_windings_change_nothing(dim: int) -> None:
    rng = np.random.default_rng(dim)
    points, weights = rng.uniform(0, 2 * math.pi, size=(60, dim)), rng.random(60)
    times = np.array([0.01, 0.1, 0.5])
    base = he.heat_profile(points, weights, space=he.Torus(dim), times=times)
    shifted = he.heat_profile(points + rng.normal(size=dim), weights, space=he.Torus(dim), times=times)
    wound = he.heat_profile(
        points + 2 * math.pi * rng.integers(-3, 4, size=points.shape),
        weights,
        space=he.Torus(dim, units="rad"),
        times=times,
    )
    turns = he.heat_profile(points / (2 * math.pi), weights, space=he.Torus(dim, 1.0), times=times / (2 * math.pi) ** 2)
    order = rng.permutation(60)
    mixed = he.heat_profile(points[order], weights[order], space=he.Torus(dim), times=times)
    for other in (shifted, wound, turns, mixed):
        for name in ("gess", "divergence", "mmd2"):
            np.testing.assert_allclose(getattr(other, name), getattr(base, name), rtol=1e-9)
        np.testing.assert_allclose(other.gess, base.gess, rtol=1e-10)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_curves_keep_to_their_bounds_and_limits(dim: int) -> None:
    points = he.Torus(dim).uniform(50, np.random.default_rng(dim))
    profile = he.heat_profile(points, space=he.Torus(dim), times=np.geomspace(1e-9, 40, 30))
    assert (profile.gess >= 1).all()
    assert (profile.gess <= profile.ess).all()
    assert (np.diff(profile.volume) >= 0).all()
    assert (np.diff(profile.gess) <= 1e-9).all()
    assert profile.gess[0] == pytest.approx(50, rel=1e-3)
    assert profile.gess[-1] == pytest.approx(1, abs=1e-12)
    assert profile.volume[-1] == pytest.approx(1, abs=1e-12)


def test_the_dimension_is_the_derivative() -> None:
    points = np.random.default_rng(5).normal(size=(30, 5))
    space = he.Torus(5)
    for time in (0.01, 0.3, 1.0):
        low, mid, high = (he.heat_profile(points, space=space, times=[time * f]) for f in (0.999, 1.0, 1.001))
        slope = -2 * (math.log(high.gess[0]) - math.log(low.gess[0])) / math.log(1.001 / 0.999)
        assert mid.dimension[0] == pytest.approx(slope, rel=1e-4)


def test_resolutions_are_distances_along_the_longest_coordinate() -> None:
    space = he.Torus(2, periods=(1.0, 10.0))
    wanted = np.array([0.01, 0.5, 3.0, 4.9])
    times = space.times_of_resolutions(wanted)
    np.testing.assert_allclose(space.resolutions_of_times(times), wanted, rtol=1e-10)
    for distance, time in zip(wanted, times, strict=True):
        pair = np.array([[0.0, 0.0], [0.0, distance]])
        assert he.gess(pair, space=space, time=time) == pytest.approx(2 / (1 + math.exp(-1)), rel=1e-10)
    assert np.isnan(space.resolutions_of_times(np.array([1e3]))).all()
    with pytest.raises(he.InputError, match="at most half a period"):
        space.times_of_resolutions(np.array([5.01]))


def test_a_million_points_on_the_circle_take_seconds() -> None:
    points = np.random.default_rng(0).normal(size=1_000_000)
    profile = he.heat_profile(points, space=he.Circle(), angles=[0.01, 1, 100])
    assert profile.method == "spectral"
    assert (profile.error < 1e-8).all()


def test_scales_and_names() -> None:
    assert repr(he.Circle()) == "Circle()"
    assert repr(he.Torus(3)) == "Torus(3)"
    assert he.Torus(3).angular
    assert not he.Torus(1, periods=24).angular
    for space in (he.Circle(), he.Torus(3), he.Torus(1, periods=24), he.Torus(2, periods=(1, 2.5))):
        assert named(repr(space)) == space
    assert he.Torus(2, periods=(2, 3)).volume == pytest.approx(6)
    assert he.Torus(2, periods=(6, 8)).diameter == 5
    with pytest.raises(he.InputError, match="give resolutions"):
        he.heat_profile([0.0], space=he.Torus(1, periods=24), angles=[5])


def test_bad_input_is_refused_with_the_reason() -> None:
    with pytest.raises(he.InputError, match="whole number dim >= 1, but found 0"):
        he.Torus(0)
    with pytest.raises(he.InputError, match=r"one number or 2.*shape \(3,\)"):
        he.Torus(2, periods=[1, 2, 3])
    with pytest.raises(he.InputError, match="periods must be positive"):
        he.Torus(2, periods=[1, -2])
    with pytest.raises(he.InputError, match=r"shape \(n, 2\), but have shape \(3, 3\)"):
        he.gess(np.zeros((3, 3)), space=he.Torus(2), angle=10)
    with pytest.raises(he.InputError, match=r"finite, but row 1 is \[nan\]"):
        he.gess([0.0, math.nan], space=he.Circle(), angle=10)
    with pytest.raises(he.InputError, match="empty"):
        he.gess(np.zeros((0, 1)), space=he.Circle(), angle=10)
    with pytest.raises(he.InputTypeError, match="real numbers"):
        he.gess(["a", "b"], space=he.Circle(), angle=10)


def test_a_nearly_even_cloud_keeps_a_small_mmd2() -> None:
    n = 4000
    x = (np.arange(n) + 0.5) / n + 1e-9 * np.sin(2 * np.pi * np.arange(n) / n)
    time = 0.2
    profile = he.heat_profile(x, space=he.Torus(1, periods=1), times=[time])
    assert profile.method == "spectral"
    with mp.workdps(40):
        modes = [mp.fsum(mp.expjpi(2 * k * mp.mpf(float(v))) for v in x) / n for k in (1, 2)]
        rate = 8 * mp.pi**2 * mp.mpf(time)
        exact = 2 * mp.fsum(mp.exp(-((k + 1) ** 2) * rate) * abs(mode) ** 2 for k, mode in enumerate(modes))
    assert relative(profile.mmd2[0], exact) < 1e-6


@pytest.mark.parametrize("periods", [[24.0], [1.0, 3.0], [2.0, 3.0, 4.0]])
def test_a_loose_tolerance_still_reports_an_honest_error(periods: list[float]) -> None:
    rng = np.random.default_rng(len(periods))
    points, weights = rng.normal(size=(10, len(periods))), rng.random(10) ** 3
    times = np.square(np.array([0.05, 0.15, 0.5]) * max(periods)) / 8
    truth = reference_flat.profile(reference_flat.torus(periods), points, weights, times)
    space = torus(periods)
    for rtol in (1e-2, 1e-4, 1e-6, 1e-12):
        profile = he.heat_profile(points, weights, space=space, times=times, rtol=rtol, method="spectral")
        for k, exact in enumerate(truth):
            assert relative(profile.gess[k], exact.gess) <= profile.error[k] <= max(rtol, 1e-10)


def test_angles_whose_digits_are_lost_are_refused():
    with pytest.raises(he.InputError, match=r"within 1e\+09 periods .* row 1 is \[1000000000000000\.0, 0\.0\]"):
        he.gess([[0.0, 0.0], [1e15, 0.0]], space=he.Torus(2, units="rad"), angle=5)
