"""What must hold for every weighted cloud on every sphere."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

import heatess as he
from heatess.heat.series import SERIES_LIMIT, level_count, log_diagonal, overlap, times_of_resolutions

DIMS = (1, 2, 3, 9, 40)
SAME = 1e-10  # relative change allowed where the measure has not changed
CURVES = ("gess", "volume", "divergence", "mmd2")

quick = settings(deadline=None, max_examples=40)


@st.composite
def clouds(draw, dims=DIMS, most=7):
    """Points at mutual distances from 1e-4 to pi, and weights over six orders of magnitude."""
    dim, n = draw(st.sampled_from(dims)), draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([1e-4, 1e-2, 0.3, 100.0]))
    x = rng.standard_normal(dim + 1) + spread * rng.standard_normal((n, dim + 1))
    w = 10.0 ** -rng.uniform(0, draw(st.sampled_from([0.0, 1.0, 6.0])), n)
    return x / np.linalg.norm(x, axis=1, keepdims=True), w / w.sum(), rng


# From scales summed over neighbours to scales at which every cloud is uniform.
times = st.floats(-7.0, 0.3).map(lambda power: 10.0**power)
# Scales at which levels certify 1e-12 in every dimension, so that truncation hides nothing.
level_times = st.floats(-4.0, 0.3).map(lambda power: 10.0**power)


def assert_same(found, expected, rtol=SAME):
    for name in CURVES:
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=rtol, err_msg=name)
    assert_allclose(found.dimension, expected.dimension, rtol=rtol, atol=10 * rtol, err_msg="dimension")


@quick
@given(clouds(), st.lists(times, min_size=1, max_size=4))
def test_gess_lies_between_one_and_ess(cloud, t):
    x, w, _ = cloud
    found = he.heat_profile(x, w, times=t)
    assert found.ess == pytest.approx(1 / np.sum(w**2), rel=1e-13)
    assert (found.gess >= 1).all()
    assert (found.gess <= found.ess).all()
    assert ((found.volume >= 0) & (found.volume <= 1)).all()
    assert (found.divergence >= 0).all()


@quick
@given(clouds(), st.lists(times, min_size=2, max_size=6))
def test_heat_flow_occupies_more_and_differs_less_from_uniform(cloud, t):
    x, w, _ = cloud
    found = he.heat_profile(x, w, times=np.sort(t))
    slack = 1e-8
    assert (np.diff(found.volume) >= -slack * found.volume[1:]).all()
    with np.errstate(invalid="ignore"):  # mmd2 overflows to inf on S^40
        assert not (np.diff(found.mmd2) > slack * found.mmd2[1:]).any()
    assert (np.diff(found.divergence) <= slack * (1 + found.divergence[1:])).all()


@quick
@given(clouds())
def test_small_times_count_places(cloud):
    x, _, rng = cloud
    label = rng.integers(len(x), size=10)
    shares = rng.random(10)
    masses = np.bincount(label, shares)
    found = he.heat_profile(x[label], shares, times=[1e-24])
    assert found.gess[0] == pytest.approx(masses.sum() ** 2 / np.sum(masses**2), rel=1e-10)
    assert found.volume[0] < 1e-6
    assert found.dimension[0] == pytest.approx(0, abs=1e-10)


@quick
@given(clouds())
def test_large_times_leave_one_particle_and_the_uniform_law(cloud):
    x, w, _ = cloud
    dim = x.shape[1] - 1
    t = 12.0 / dim
    found = he.heat_profile(x, w, times=[t, 100.0])
    assert_allclose(found.gess, 1, rtol=1e-8)
    assert_allclose(found.volume, 1, rtol=1e-8)
    resultant = (dim + 1) * np.sum((w @ x) ** 2)
    assert found.mmd2[0] == pytest.approx(math.exp(-2 * dim * t) * resultant, rel=1e-6, abs=1e-20)
    assert found.mmd2[1] < 1e-80


@quick
@given(clouds(), level_times, st.floats(0.01, 0.99))
def test_splitting_an_atom_changes_nothing(cloud, t, share):
    x, w, rng = cloud
    k = rng.integers(len(x))
    split_weights = np.append(w, w[k] * (1 - share))
    split_weights[k] *= share
    merged = he.heat_profile(x, w, times=[t], rtol=1e-12)
    split = he.heat_profile(np.vstack([x, x[k]]), split_weights, times=[t], rtol=1e-12)
    assert split.ess > merged.ess
    assert_same(split, merged)
    # At the default accuracy the number of labels may decide where the series ends, within the stated errors.
    merged = he.heat_profile(x, w, times=[t])
    split = he.heat_profile(np.vstack([x, x[k]]), split_weights, times=[t])
    assert abs(split.gess[0] / merged.gess[0] - 1) <= split.error[0] + merged.error[0]


@quick
@given(clouds(), st.floats(-14.0, -6.0))
def test_splitting_an_atom_changes_nothing_at_fine_scales(cloud, power):
    x, w, rng = cloud
    copies = rng.integers(1, 4, len(x))
    fine = {"times": [10.0**power], "method": "local"}
    split = he.heat_profile(np.repeat(x, copies, axis=0), np.repeat(w / copies, copies), **fine)
    assert_same(split, he.heat_profile(x, w, **fine))


@quick
@given(clouds(), times)
def test_order_of_the_atoms_does_not_matter(cloud, t):
    x, w, rng = cloud
    order = rng.permutation(len(x))
    assert_same(he.heat_profile(x[order], w[order], times=[t]), he.heat_profile(x, w, times=[t]))


@quick
@given(clouds(), times, st.floats(-300.0, 300.0))
def test_scale_of_the_weights_does_not_matter(cloud, t, power):
    x, w, _ = cloud
    expected = he.heat_profile(x, w, times=[t])
    assert_same(he.heat_profile(x, w * 10.0**power, times=[t]), expected)
    assert_same(he.heat_profile(x, log_weights=np.log(w) + 1000 * power, times=[t]), expected, rtol=1e-9)
    assert_same(he.heat_profile(x, log_weights=np.log(w) - 3, times=[t]), expected)


@quick
@given(clouds(), times)
def test_a_rotated_cloud_has_the_same_profile(cloud, t):
    x, w, rng = cloud
    frame = np.linalg.qr(rng.standard_normal((x.shape[1], x.shape[1])))[0]
    assert_same(he.heat_profile(x @ frame, w, times=[t]), he.heat_profile(x, w, times=[t]))


@quick
@given(clouds(), times)
def test_atoms_of_zero_weight_are_inert(cloud, t):
    x, w, rng = cloud
    idle = he.samplers.uniform(3, x.shape[1] - 1, rng=rng)
    x_more, w_more = np.vstack([idle[:1], x, idle[1:], x[:1]]), np.concatenate([[0], w, [0, 0, 0]])
    found, expected = he.heat_profile(x_more, w_more, times=[t]), he.heat_profile(x, w, times=[t])
    assert_same(found, expected)
    assert (found.n, found.ess) == (len(x) + 4, pytest.approx(expected.ess, rel=1e-14))


@quick
@given(clouds(), level_times)
def test_transform_and_pair_sum_agree(cloud, t):
    x, w, _ = cloud
    dim = x.shape[1] - 1
    auto = he.heat_profile(x, w, times=[t], rtol=1e-10)
    pairs = he.heat_profile(x, w, times=[t], rtol=1e-10, method="pairwise")
    assert_allclose(auto.gess, pairs.gess, rtol=1e-10)
    assert_allclose(auto.mmd2, pairs.mmd2, rtol=1e-9)
    transform = he.Sphere(dim).transform
    if transform is None:
        assert "spectral" not in auto.method
    elif transform.degree_for(t, auto.ess, 1e-10) is not None:
        spectral = he.heat_profile(x, w, times=[t], rtol=1e-10, method="spectral")
        assert spectral.method == "spectral"
        assert_allclose(spectral.gess, pairs.gess, rtol=1e-10)


def seam_time(dim, ess, rtol, limit):
    """The smallest time, to four digits, that *limit* levels certify."""
    fine, coarse = 1e-12, 1.0
    while coarse / fine > 1.0001:
        middle = math.sqrt(fine * coarse)
        if level_count(he.Sphere(dim).series, middle, ess, rtol, limit) is None:
            fine = middle
        else:
            coarse = middle
    return coarse


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("rtol", [1e-6, 1e-8])
def test_engines_agree_at_the_seam(dim, rtol):
    rng = np.random.default_rng(dim)
    coarse = seam_time(dim, 12, rtol, SERIES_LIMIT)
    step = 3 * math.sqrt(coarse / dim)  # the spread at which overlaps are neither 0 nor 1
    x = np.eye(dim + 1)[0] + step * rng.standard_normal((12, dim + 1))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    t = coarse * np.array([0.999, 1.001])
    near = he.heat_profile(x, times=t, rtol=rtol, method="local")
    assert 1.5 < near.gess[0] < 11.5
    transform = he.Sphere(dim).transform
    fast = transform is not None and transform.most >= SERIES_LIMIT - 1
    for method in ("auto", "pairwise", *(["spectral"] if fast else [])):
        levels = he.heat_profile(x, times=t, rtol=rtol, method=method)
        assert_allclose(levels.gess, near.gess, rtol=rtol)
        assert_allclose(levels.divergence, near.divergence, rtol=rtol)
        assert_allclose(levels.dimension, near.dimension, rtol=100 * rtol)
    pairs = he.heat_profile(x, times=2 * t, rtol=rtol, method="pairwise")
    assert_allclose(pairs.gess, he.heat_profile(x, times=2 * t, rtol=rtol, method="local").gess, rtol=rtol)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_pairs_over_many_tiles_agree_with_the_transform(dim):
    x = he.samplers.uniform(2300, dim, rng=dim)
    w = np.exp(x[:, 0])
    pairs, transform = (he.heat_profile(x, w, times=[1e-3, 0.1], method=method) for method in ("pairwise", "spectral"))
    assert_same(pairs, transform, rtol=1e-8)


@pytest.mark.parametrize("dim", [3, 9])
def test_pairs_over_many_tiles_agree_with_neighbours(dim):
    rng = np.random.default_rng(dim)
    x = np.eye(dim + 1)[0] + 0.02 * rng.standard_normal((2300, dim + 1))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    pairs, near = (he.heat_profile(x, times=[5e-5], method=method) for method in ("pairwise", "local"))
    assert 2 < near.gess[0] < 2200
    assert_same(pairs, near, rtol=1e-8)


@quick
@given(clouds(), st.floats(-3.0, 0.0))
def test_dimension_is_the_derivative_of_log_gess(cloud, power):
    x, w, _ = cloud
    t, h = 10.0**power, 5e-3
    steps = np.array([-4, -2, -1, 1, 2, 4]) * h
    alpha = math.sqrt(8 * t) * np.exp(steps)
    y = np.log(he.heat_profile(x, w, times=alpha**2 / 8, rtol=1e-12).gess)
    one, two, four = (y[3] - y[2]) / (2 * h), (y[4] - y[1]) / (4 * h), (y[5] - y[0]) / (8 * h)
    once, twice = (4 * one - two) / 3, (4 * two - four) / 3
    derivative = (16 * once - twice) / 15
    found = he.heat_profile(x, w, times=[t], rtol=1e-12).dimension[0]
    assert found == pytest.approx(-derivative, rel=1e-6, abs=1e-6)


@quick
@given(st.sampled_from((*DIMS, 383)), st.lists(st.floats(0.001, 179.0), min_size=1, max_size=4))
def test_resolutions_round_trip(dim, degrees):
    x = np.eye(dim + 1)[:2]
    found = he.heat_profile(x, resolutions=degrees)
    assert_allclose(found.resolutions, degrees, rtol=1e-9)
    for t, degree in zip(found.times, degrees, strict=True):
        assert overlap(he.Sphere(dim).series, t, math.radians(degree)) == pytest.approx(math.exp(-1), rel=1e-9)


def test_resolution_is_nan_when_antipodes_overlap_by_more():
    assert np.isnan(he.heat_profile(np.eye(3), times=[2.0]).resolutions[0])


@quick
@given(clouds(), times)
def test_curves_are_one_another(cloud, t):
    x, w, _ = cloud
    dim = x.shape[1] - 1
    found = he.heat_profile(x, w, times=[t])
    with np.errstate(over="ignore"):
        assert_allclose(found.mmd2, np.expm1(found.divergence), rtol=1e-12 * (1 + found.divergence[0]))
    assert_allclose(found.volume, np.exp(-found.divergence), rtol=1e-12)
    assert found.angles[0] == pytest.approx(math.degrees(math.sqrt(8 * t)), rel=1e-14)
    log_gess = log_diagonal(he.Sphere(dim).series, t) - found.divergence[0]
    assert math.log(found.gess[0]) == pytest.approx(log_gess, abs=2e-8)


@quick
@given(clouds(), st.sampled_from(["auto", "pairwise", "local"]), st.sampled_from("CF"))
def test_the_callers_arrays_are_left_alone(cloud, method, order):
    x, w, _ = cloud
    t = np.array([1e-7, 1e-8] if method == "local" else [0.1, 0.02])
    x, w = np.array(x, order=order), w.copy()
    before = x.copy(), w.copy(), t.copy()
    he.heat_profile(x, w, times=t, method=method)
    he.gess(x, w, time=0.1)
    he.power_spectrum(x, w, max_degree=4)
    he.baselines.leinster_cobbold(x, w, angle=20)
    for now, then in zip((x, w, t), before, strict=True):
        assert_array_equal(now, then)
        assert now.flags.writeable


def test_results_are_read_only():
    found = he.heat_profile(np.eye(3), angles=[10, 50])
    curves = ("times", "angles", "resolutions", "gess", "volume", "divergence", "mmd2", "dimension", "error")
    for name in curves:
        with pytest.raises(ValueError, match="read-only"):
            getattr(found, name)[0] = 0
    with pytest.raises(AttributeError):
        found.gess = np.zeros(2)


@quick
@given(clouds(), st.floats(-2.0, 0.5))
def test_at_equals_a_fresh_computation(cloud, power):
    x, w, _ = cloud
    found = he.heat_profile(x, w, times=[5e-3, 1.0]).at(time=10.0**power)
    fresh = he.heat_profile(x, w, times=[10.0**power])
    for name in CURVES:
        assert getattr(found, name) == pytest.approx(getattr(fresh, name)[0], rel=1e-8), name
    assert found.dimension == pytest.approx(fresh.dimension[0], rel=1e-7, abs=1e-8)
    assert found.resolution == pytest.approx(fresh.resolutions[0], rel=1e-9, nan_ok=True)


def test_at_refuses_a_scale_it_cannot_certify():
    with pytest.raises(he.InputError, match=r"does not certify the scale sqrt\(8 t\) = 0\.5 .* call heat_profile"):
        he.heat_profile(he.samplers.fibonacci(20), angles=[20, 60]).at(angle=0.5)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("angle", [8.0, 5.0, 3.0, 2.0, 1.0, 0.1, 1e-3])
def test_at_refuses_every_scale_far_below_its_own(dim, angle):
    x = he.samplers.uniform(200, dim, rng=dim)
    profile = he.heat_profile(x, times=np.radians([20.0, 60.0]) ** 2 / 8, method="pairwise")
    with pytest.raises(he.InputError, match="does not certify the scale"):
        profile.at(time=math.radians(angle) ** 2 / 8)


@quick
@given(clouds(), times)
def test_gess_equals_the_profile(cloud, t):
    x, w, _ = cloud
    profile = he.heat_profile(x, w, times=[t])
    assert he.gess(x, w, time=t) == pytest.approx(profile.gess[0], rel=2e-8)
    degrees = profile.resolutions[0]
    if np.isfinite(degrees):
        assert_allclose(times_of_resolutions(profile.space.series, np.radians([degrees])), t, rtol=1e-6)
        assert he.gess(x, w, resolution=degrees) == pytest.approx(profile.gess[0], rel=1e-6)


@pytest.mark.filterwarnings("ignore::heatess.CalibrationWarning")  # of scales that are wide beside the cloud
@quick
@given(clouds(), times, st.floats(1e-3, 1e3))
def test_equal_weights_have_ratio_one(cloud, t, weight):
    x, w, _ = cloud
    assert he.gess_ratio(x, np.full(len(x), weight), time=t) == pytest.approx(1, rel=1e-12)
    expected = he.gess(x, w, time=t) / he.gess(x, time=t)
    assert he.gess_ratio(x, w, time=t) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("dim", [1, 2, 9])
def test_ratio_recovers_after_resampling(dim):
    rng = np.random.default_rng(dim)
    x = he.samplers.uniform(2000, dim, rng=rng)
    w = np.exp(6 * x[:, 0])
    assert he.gess_ratio(x, w, resolution=20) < 0.6
    chosen = x[rng.choice(len(x), size=2000, p=w / w.sum())]
    assert he.gess_ratio(chosen, np.ones(2000), resolution=20) == pytest.approx(1, rel=1e-12)
    assert he.gess_ratio(chosen, np.exp(0.05 * chosen[:, 0]), resolution=20) == pytest.approx(1, abs=0.02)
    assert he.gess(chosen, resolution=20) < 0.6 * len(chosen)
