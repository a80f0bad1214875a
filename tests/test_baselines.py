"""Effective numbers that ignore the geometry, or bring their own similarity."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import heatess as he
from heatess.baselines import ess, leinster_cobbold, perplexity_ess
from reference import exact_distances


def double_loop(points, weights, angle):
    """1 / sum_ij w_i w_j exp(-(d_ij / alpha)^2) at 40 digits."""
    with mp.workdps(40):
        distances, alpha = exact_distances(points), mp.radians(mp.mpf(angle))
        mass = [mp.mpf(float(w)) for w in weights]
        total = mp.mpf(0)
        for i, row in enumerate(distances):
            for j, distance in enumerate(row):
                total += mass[i] * mass[j] * mp.exp(-((distance / alpha) ** 2))
        return float(mp.fsum(mass) ** 2 / total)


def clustered(dim, spread, n=16):
    """A cloud of the given angular spread (radians) with near-duplicates, an exact duplicate and uneven weights."""
    rng = np.random.default_rng([dim, n])
    x = np.eye(dim + 1)[0] + spread * rng.standard_normal((n, dim + 1))
    x[n // 2 :] = x[: n - n // 2] + 1e-3 * spread * rng.standard_normal((n - n // 2, dim + 1))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[1] = x[0]
    return x, rng.random(n)


def test_ess_is_one_over_the_sum_of_squares():
    w = np.random.default_rng(0).random(50)
    by_hand = sum(w) ** 2 / sum(value * value for value in w)
    assert ess(w) == pytest.approx(by_hand, rel=1e-14)
    assert ess(7 * w) == pytest.approx(by_hand, rel=1e-14)
    assert ess(np.ones(37)) == pytest.approx(37, rel=1e-14)
    assert ess([0, 3, 0]) == 1.0
    assert ess([[1], [1]]) == 2.0


def test_perplexity_ess_is_the_exponential_of_entropy():
    w = np.random.default_rng(1).random(50)
    p = w / w.sum()
    assert perplexity_ess(w) == pytest.approx(math.exp(-sum(q * math.log(q) for q in p)), rel=1e-13)
    assert perplexity_ess(np.ones(37)) == pytest.approx(37, rel=1e-13)
    assert perplexity_ess([0, 3, 0]) == 1.0
    assert perplexity_ess([1, 1, 0, 0]) == pytest.approx(2, rel=1e-14)


def test_effective_numbers_are_in_hill_order():
    w = np.random.default_rng(2).exponential(size=30)
    assert ess(w) < perplexity_ess(w) < 30


@pytest.mark.parametrize("measure", [ess, perplexity_ess])
def test_weights_are_checked(measure):
    with pytest.raises(he.InputError, match="weights are empty"):
        measure([])
    with pytest.raises(he.InputError, match=r"but row 1 is -1 "):
        measure([1, -1])
    with pytest.raises(he.InputError, match="weights sum to zero over 2 points"):
        measure([0, 0])
    with pytest.raises(he.InputError, match="weights must be"):
        measure(None)


@pytest.mark.parametrize("dim", [1, 2, 3, 9, 40])
@pytest.mark.parametrize("angle", [15.0, 45.0, 170.0])
def test_leinster_cobbold_is_the_double_loop(dim, angle):
    x = he.samplers.uniform(12, dim, rng=dim)
    w = np.random.default_rng(dim).random(12)
    assert leinster_cobbold(x, w, angle=angle) == pytest.approx(double_loop(x, w, angle), rel=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3, 9])
@pytest.mark.parametrize("angle", [1e-6, 1e-3, 0.3, 0.999999, 1.0, 1.000001, 3.0])
def test_leinster_cobbold_sees_near_duplicates_at_every_angle(dim, angle):
    x, w = clustered(dim, math.radians(angle) / math.sqrt(dim))
    found = leinster_cobbold(x, w, angle=angle)
    assert 1.2 < found < ess(w) - 0.5
    assert found == pytest.approx(double_loop(x, w, angle), rel=1e-11)


@pytest.mark.parametrize("dim", [2, 9])
def test_leinster_cobbold_has_no_seam(dim):
    x, w = clustered(dim, math.radians(1) / math.sqrt(dim))
    below, above = (leinster_cobbold(x, w, angle=angle) for angle in (np.nextafter(1, 0), 1.0))
    assert below == pytest.approx(above, rel=1e-11)


@pytest.mark.slow
def test_leinster_cobbold_sums_over_many_tiles():
    x = he.samplers.uniform(2500, rng=0)
    w = np.random.default_rng(0).random(2500)
    w /= w.sum()
    distance = 2 * np.arcsin(np.minimum(np.linalg.norm(x[:, None] - x, axis=2) / 2, 1))
    for angle in (0.5, 20.0):
        expected = 1 / (w @ np.exp(-((distance / math.radians(angle)) ** 2)) @ w)
        assert leinster_cobbold(x, w, angle=angle) == pytest.approx(expected, rel=1e-11)


def test_leinster_cobbold_merges_duplicates_and_ignores_zero_weights():
    x, w = clustered(2, 0.3)
    label = np.arange(48) % 16
    for angle in (0.7, 25.0):
        expected = leinster_cobbold(x, w, angle=angle)
        assert leinster_cobbold(x[label], w[label], angle=angle) == pytest.approx(expected, rel=1e-12)
        idle = np.vstack([x, he.samplers.fibonacci(5)])
        assert leinster_cobbold(idle, np.append(w, np.zeros(5)), angle=angle) == pytest.approx(expected, rel=1e-12)
        assert leinster_cobbold(x, log_weights=np.log(w), angle=angle) == pytest.approx(expected, rel=1e-12)


def test_leinster_cobbold_approaches_gess_at_fine_scales():
    x, w = clustered(2, math.radians(0.1))
    assert leinster_cobbold(x, w, angle=0.1) == pytest.approx(he.gess(x, w, angle=0.1), rel=1e-5)


@pytest.mark.parametrize(
    ("angle", "shown"), [(0, "0"), (-1.0, r"-1\.0"), (math.nan, "nan"), (math.inf, "inf"), ("15", "'15'")]
)
def test_leinster_cobbold_refuses_a_bad_angle(angle, shown):
    with pytest.raises(he.InputError, match=f"angle must be positive and finite, in degrees, but is {shown}"):
        leinster_cobbold(np.eye(3), angle=angle)


def test_a_circle_that_is_not_angular_has_no_angle_to_compare_with():
    with pytest.raises(he.InputError, match=r"distances on Torus\(1, periods=24.0\) are not angles"):
        leinster_cobbold([[1.0], [2.0]], space=he.Torus(1, periods=24), angle=15)
