"""Every number of the profile against the definition at 40 digits, and `error` against the truth."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import heatess as he
import reference

# dim: (levels for the reference, angles in degrees). The finest have gESS = ESS of the coalesced cloud but for
# the pair a millionth of a radian apart; the coarsest have mmd2 near 1e-12.
REGIMES = {
    1: (1300, [1.0, 3.0, 20.0, 120.0, 300.0, 600.0]),
    2: (1300, [1.2, 3.0, 15.0, 60.0, 120.0, 420.0]),
    3: (1300, [1.5, 3.0, 15.0, 45.0, 120.0, 350.0]),
    9: (1100, [2.0, 5.0, 10.0, 30.0, 60.0, 205.0]),
    99: (1100, [4.0, 6.0, 10.0, 20.0, 30.0, 66.0]),
    383: (2700, [2.0, 3.0, 5.0, 8.0, 12.0, 36.0]),
}


def awkward_cloud(dim: int, seed: int, skew: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Duplicates, a pair 1e-6 radians apart, antipodes, and weights over many orders of magnitude."""
    rng = np.random.default_rng(seed)
    x = he.samplers.uniform(7, dim, rng=rng)
    tangent = rng.normal(size=dim + 1)
    tangent -= tangent @ x[0] * x[0]
    tangent /= np.linalg.norm(tangent)
    beside = np.cos(1e-6) * x[0] + np.sin(1e-6) * tangent
    points = np.vstack([x, x[1], x[1], beside, -x[2], -x[3]])
    return points, np.exp(skew * rng.normal(size=len(points)))


def relative(found: float, true: mp.mpf) -> float:
    return float(abs(mp.mpf(float(found)) / true - 1))


def assert_matches(profile: he.HeatProfile, truth: list[reference.Exact]) -> None:
    for k, exact in enumerate(truth):
        assert relative(profile.gess[k], exact.gess) <= min(1e-8, profile.error[k])
        assert relative(profile.divergence[k], exact.divergence) < 1e-8
        if np.isfinite(profile.mmd2[k]):
            assert relative(profile.mmd2[k], exact.mmd2) < 1e-8
            assert relative(profile.volume[k], exact.volume) < 1e-8


@pytest.mark.parametrize("dim", [1, 2, 3, 9, 99, pytest.param(383, marks=pytest.mark.slow)])
def test_the_profile_matches_forty_digits(dim: int) -> None:
    count, angles = REGIMES[dim]
    points, weights = awkward_cloud(dim, seed=dim)
    times = np.radians(angles) ** 2 / 8
    truth = reference.profile(points, weights, times, count)
    assert truth[-1].mmd2 < 1e-11
    for method in ("auto", "pairwise"):
        assert_matches(he.heat_profile(points, weights, times=times, method=method), truth)


@pytest.mark.parametrize("dim", [1, 2, 3, 9])
def test_equal_weights_in_antipodal_pairs_keep_a_small_mmd2(dim: int) -> None:
    half = he.samplers.uniform(5, dim, rng=dim)
    points = np.vstack([half, -half])  # all odd energies vanish exactly
    angles = {1: [40, 360], 2: [60, 250], 3: [60, 220], 9: [45, 140]}[dim]
    times = np.radians(angles) ** 2 / 8
    truth = reference.profile(points, np.ones(len(points)), times, 400)
    assert_matches(he.heat_profile(points, times=times), truth)
    assert_matches(he.heat_profile(points, times=times, method="pairwise"), truth)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("alpha", [2e-3, 1e-4, 1e-6, 2e-7, 1e-8])
def test_scales_far_below_any_series_match_closed_forms(dim: int, alpha: float) -> None:
    points, weights = awkward_cloud(dim, seed=10 + dim)
    exact = reference.small_time_profile(points, weights, alpha**2 / 8)
    assert_matches(he.heat_profile(points, weights, times=[alpha**2 / 8]), [exact])


@pytest.mark.parametrize("dim", [99, 383, 1535])
def test_close_pairs_in_high_dimension_overlap_as_in_flat_space(dim: int) -> None:
    points, _ = awkward_cloud(dim, seed=dim)
    pair = points[[0, 9]]
    with mp.workdps(40):
        distance = reference.exact_distances(pair)[0][1]
        for alpha in (1e-5, 1e-6, 5e-7):
            # Curvature changes the overlap by about (dim - 1) r^2 / 12, below 1e-9 here.
            flat = 2 / (1 + mp.exp(-((distance / mp.mpf(alpha)) ** 2)))
            profile = he.heat_profile(pair, times=[alpha**2 / 8])
            assert relative(profile.gess[0], flat) < 1e-8


def test_one_degree_in_1535_dimensions_is_finite_and_right() -> None:
    points = he.samplers.uniform(40, 1535, rng=0)
    profile = he.heat_profile(points, times=[np.radians(1) ** 2 / 8])
    assert profile.gess[0] == pytest.approx(40, rel=1e-8)
    with mp.workdps(40):
        copies = reference.multiplicities(1535, 4000)
        t = mp.radians(1) ** 2 / 8
        diagonal = mp.fsum(n * mp.exp(-2 * level * (level + 1534) * t) for level, n in enumerate(copies))
        assert relative(profile.divergence[0], mp.log(diagonal / 40)) < 1e-10
    assert np.isinf(profile.mmd2[0])
    assert profile.volume[0] == 0


@pytest.mark.parametrize("dim", [2, 3, 9])
def test_a_loose_tolerance_still_reports_an_honest_error(dim: int) -> None:
    points, weights = awkward_cloud(dim, seed=dim + 20, skew=0.5)
    times = np.radians([4.0, 20.0, 80.0]) ** 2 / 8
    truth = reference.profile(points, weights, times, 700)
    for rtol in (1e-2, 1e-4, 1e-6, 1e-12):
        profile = he.heat_profile(points, weights, times=times, rtol=rtol)
        for k, exact in enumerate(truth):
            assert relative(profile.gess[k], exact.gess) <= profile.error[k]
            assert profile.error[k] <= max(rtol, 1e-10)
