"""Each law against the exact profile in its regime, with the order of its error measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import heatess as he
from heatess import asymptotics

FORMS = ("power", "divergence", "volume")


def separated(dim):
    """Axes and their opposites, at least 90 degrees apart, with uneven masses."""
    x = np.vstack([np.eye(dim + 1), -np.eye(dim + 1)])
    return x, np.linspace(1, 3, len(x))


def exact(x, w=None, *, times):
    return he.heat_profile(x, w, times=times, rtol=1e-12)


def small_time_errors(x, w, times):
    """Errors of A and U2 relative, of D2 absolute: the quantities that the theorem says are O(t^2)."""
    law, true = asymptotics.small_time(x, w, times=times), exact(x, w, times=times).divergence
    return {
        "power": np.abs(np.expm1(np.log(law.power) - true)),
        "divergence": np.abs(law.divergence - true),
        "volume": np.abs(np.expm1(np.log(law.volume) + true)),
    }


def order(errors, times):
    """Slope of log error against log t between consecutive times."""
    return np.diff(np.log(errors)) / np.diff(np.log(times))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("dim", "start"), [(2, 8e-3), (3, 4e-3), (9, 4e-4)])
def test_small_time_law_has_error_of_order_two(dim, start, form):
    times = start / 2.0 ** np.arange(4)
    errors = small_time_errors(*separated(dim), times)[form]
    if (dim, form) == (3, "divergence"):  # k_2t(x,x) on S^3 is its leading term times exp(2t): nothing is left
        assert_allclose(errors, 0, atol=1e-11)
        return
    assert errors[-1] > 1e-9
    assert_allclose(order(errors, times), 2, atol=0.1)


@pytest.mark.parametrize("dim", [2, 9])
def test_small_time_law_needs_its_curvature_term(dim):
    times = 4e-4 / 2.0 ** np.arange(3)
    x, w = separated(dim)
    law, true = asymptotics.small_time(x, w, times=times), exact(x, w, times=times).divergence
    without = np.abs(law.divergence - times * dim * (dim - 1) / 3 - true)
    assert_allclose(order(without, times), 1, atol=0.1)
    assert (without > 50 * np.abs(law.divergence - true)).all()


def test_small_time_law_on_the_circle_misses_only_images():
    times = np.array([0.2, 0.25, 0.3])
    errors = small_time_errors([[0.6, 0.8]], [1.0], times)
    for form in FORMS:
        assert_allclose(errors[form], 2 * np.exp(-((2 * math.pi) ** 2) / (8 * times)), rtol=1e-3)
    far = small_time_errors(*separated(1), np.array([1e-3, 5e-4]))
    for form in FORMS:
        assert_allclose(far[form], 0, atol=1e-11)


@pytest.mark.parametrize("dim", [1, 2, 9])
def test_small_time_law_coalesces_duplicates(dim):
    x, w = separated(dim)
    label = np.arange(5 * len(x)) % len(x)
    split = asymptotics.small_time(x[label], w[label] / 5, times=[1e-4])
    merged = asymptotics.small_time(x, w, times=[1e-4])
    for form in FORMS:
        assert_allclose(getattr(split, form), getattr(merged, form), rtol=1e-13)
    by_hand = -dim / 2 * math.log(8e-4 * math.pi) + he.Sphere(dim).log_volume - math.log(he.baselines.ess(w))
    assert merged.divergence[0] == pytest.approx(by_hand + 1e-4 * dim * (dim - 1) / 3, rel=1e-13)


def test_small_time_law_survives_overflow():
    law = asymptotics.small_time(np.eye(384), times=[1e-6])
    assert (law.power[0], law.volume[0]) == (math.inf, 0.0)
    true = he.heat_profile(np.eye(384), times=[1e-6]).divergence
    assert law.divergence[0] == pytest.approx(true[0], abs=(1e-6 * 383**2) ** 2)


def pair(dim, distance):
    x = np.zeros((2, dim + 1))
    x[:, 0] = 1.0, math.cos(distance)
    x[1, 1] = math.sin(distance)
    return x


@pytest.mark.parametrize("dim", [2, 3, 9])
@pytest.mark.parametrize("share", [0.5, 0.2])
def test_merging_law_has_error_of_order_t_plus_distance_squared(dim, share):
    times = 4e-3 / 2.0 ** np.arange(5)
    distances = np.sqrt(8 * times)  # r = alpha
    weights = [share, 1 - share]
    true = np.array([exact(pair(dim, r), weights, times=[t]).gess[0] for r, t in zip(distances, times, strict=True)])
    law = asymptotics.merging(distances, times, share=share)
    kept = share**2 + (1 - share) ** 2
    errors = np.abs((1 / true - kept) / (1 / law - kept) - 1)  # of the overlap s_t
    assert_allclose(order(errors, times), 1, atol=0.1)
    # (r / sin r)^((m - 1)/2) = 1 + (m - 1) r^2 / 12 + ..., the rest being O(t r^2)
    assert_allclose(errors[-1] / distances[-1] ** 2, (dim - 1) / 12, rtol=0.02)


def test_merging_law_is_exact_on_the_circle():
    times = np.array([1e-2, 1e-3, 1e-4])
    distances = 0.7 * np.sqrt(8 * times)
    true = [exact(pair(1, r), times=[t]).gess[0] for r, t in zip(distances, times, strict=True)]
    assert_allclose(asymptotics.merging(distances, times), true, rtol=1e-11)


def test_merging_law_has_both_limits_and_broadcasts():
    law = asymptotics.merging(np.array([[0.0], [1.0]]), np.array([1e-3, 1e-4]), share=0.3)
    assert_allclose(law, [[1, 1], [1 / 0.58, 1 / 0.58]], rtol=1e-14)


@pytest.mark.parametrize("dim", [2, 3, 9])
def test_pairwise_overlap_of_a_shrinking_cloud_has_error_of_order_one(dim):
    rng = np.random.default_rng(dim)
    offsets, w = rng.standard_normal((30, dim)), rng.random(30)
    times = 4e-3 / 2.0 ** np.arange(5) / dim
    errors = []
    for t in times:
        x = np.column_stack([np.ones(30), 2 * math.sqrt(t) * offsets])
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        law, true = asymptotics.pairwise_overlap(x, w, times=[t]), exact(x, w, times=[t]).divergence
        errors.append(abs(math.expm1(math.log(law[0]) - true[0])))
    assert_allclose(order(errors, times), 1, atol=0.1)


@pytest.mark.parametrize("dim", [2, 3, 9])
def test_pairwise_overlap_of_distant_atoms_misses_the_curvature(dim):
    x, w = separated(dim)
    times = 4e-4 / 2.0 ** np.arange(4)
    law, true = asymptotics.pairwise_overlap(x, w, times=times), exact(x, w, times=times).divergence
    errors = true - np.log(law)
    assert_allclose(order(errors, times), 1, atol=0.1)
    assert_allclose(errors[-1] / times[-1], dim * (dim - 1) / 3, rtol=0.01)


def test_pairwise_overlap_is_exact_on_the_circle():
    angle = np.random.default_rng(0).normal(0, 0.2, 40)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    times = np.array([1e-2, 1e-3])
    assert_allclose(np.log(asymptotics.pairwise_overlap(x, times=times)), exact(x, times=times).divergence, rtol=1e-11)


@pytest.mark.parametrize("n", [100, 600, 1100])
@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-7])
def test_pairwise_overlap_is_the_double_sum(n, spread):
    rng = np.random.default_rng(n)
    x = np.eye(3)[0] + spread * rng.standard_normal((n, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    w, t = rng.random(n), spread**2 / 8
    distance = 2 * np.arcsin(np.minimum(np.linalg.norm(x[:, None] - x, axis=2) / 2, 1))
    p = w / w.sum()
    expected = 4 * math.pi / (8 * math.pi * t) * (p @ np.exp(-(distance**2) / (8 * t)) @ p)
    assert_allclose(asymptotics.pairwise_overlap(x, w, times=[t]), expected, rtol=1e-8)


def cloud(dim):
    rng = np.random.default_rng(dim)
    mean = np.full(dim + 1, 1 / math.sqrt(dim + 1))
    return he.samplers.von_mises_fisher(60, mean, dim + 1.0, rng=rng), rng.random(60)


@pytest.mark.parametrize("dim", [1, 2, 3, 9])
@pytest.mark.parametrize("degrees", [1, 2, 3, 5])
def test_low_frequency_error_decays_with_the_next_eigenvalue(dim, degrees):
    x, w = cloud(dim)
    following = (degrees + 1) * (degrees + dim)
    gap = 2 * (degrees + 2) * (degrees + 1 + dim) - 2 * following  # to the level after it
    start = 8 / gap
    times = start + np.array([0.0, 0.5, 1.0]) / (2 * following)
    errors = exact(x, w, times=times).mmd2 - asymptotics.low_frequency(x, w, degrees=degrees, times=times)
    energy = he.power_spectrum(x, w, max_degree=degrees + 1).energies[degrees + 1]
    assert_allclose(errors, energy * np.exp(-2 * following * times), rtol=0.02)
    assert_allclose(errors[1:] / errors[:-1], math.exp(-0.5), rtol=0.02)


@pytest.mark.parametrize(("dim", "start"), [(1, 2.5), (2, 1.6), (3, 1.2), (9, 0.6)])
def test_large_time_law_has_error_of_its_order(dim, start):
    x, w = cloud(dim)
    times = start + np.array([0.0, 0.5, 1.0]) / (6 * dim)
    spectrum = he.power_spectrum(x, w, max_degree=3)
    decayed = spectrum.energies[1:, None] * np.exp(-2 * spectrum.eigenvalues[1:, None] * times)
    first, second, third = decayed
    true, law = exact(x, w, times=times).divergence, asymptotics.large_time(x, w, times=times)
    errors = true - law
    assert_allclose(np.diff(np.log(errors)) / np.diff(times), -6 * dim, rtol=0.02)
    assert_allclose(errors, first**3 / 3 - first * second + third, rtol=0.02)
    without_cross_term = true - (first + second)
    assert_allclose(np.diff(np.log(-without_cross_term)) / np.diff(times), -4 * dim, rtol=0.02)
    assert (np.abs(without_cross_term) > 100 * np.abs(errors)).all()


@pytest.mark.parametrize("dim", [2, 9])
def test_symmetric_clouds_leave_the_second_level_at_large_times(dim):
    x, w = cloud(dim)
    x, w = np.vstack([x, -x]), np.append(w, w)
    t = 0.5
    second = he.power_spectrum(x, w, max_degree=2).bingham_energy * math.exp(-4 * (dim + 1) * t)
    assert_allclose(asymptotics.large_time(x, w, times=[t]), second, rtol=1e-12)
    assert_allclose(exact(x, w, times=[t]).divergence, second - second**2 / 2, rtol=1e-3 * second)


@pytest.mark.parametrize("law", ["small_time", "pairwise_overlap", "low_frequency", "large_time"])
def test_laws_take_angles_and_log_weights(law):
    x, w = cloud(2)
    function = getattr(asymptotics, law)
    found = function(x, log_weights=np.log(w) + 50, angles=[30, 60])
    expected = function(x, w, times=np.radians([30, 60]) ** 2 / 8)
    if law == "small_time":
        found, expected = found.divergence, expected.divergence
    assert_allclose(found, expected, rtol=1e-11)
    with pytest.raises(he.InputError, match="at most one of angles, times, resolutions, but found angles and times"):
        function(x, w, angles=[1], times=[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: asymptotics.merging(0.1, 1e-3, share=0.0), r"share must lie strictly between 0 and 1, but is 0\.0"),
        (lambda: asymptotics.merging(0.1, 1e-3, share=math.nan), "share must lie strictly between 0 and 1, but is nan"),
        (lambda: asymptotics.merging(0.1, -1.0), "times must be positive and finite"),
        (lambda: asymptotics.merging(0.1, 0.0), "times must be positive and finite"),
        (lambda: asymptotics.merging(math.nan, 1e-3), "distance must be"),
        (lambda: asymptotics.low_frequency(np.eye(3), degrees=0), "degrees must be a whole number >= 1, but is 0"),
        (lambda: asymptotics.low_frequency(np.eye(3), degrees=1.5), r"whole number >= 1, but is 1\.5"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(he.InputError, match=message):
        call()
