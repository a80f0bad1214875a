"""Random pairs: unbiased, with a standard error that can be trusted."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import heatess as he
from heatess.heat.series import level_probabilities

RESOLUTIONS = [25.0, 45.0, 70.0]

#: What chance does to a small mmd2 and to a large gess is warned of, and here not what is tested, except where it is.
pytestmark = pytest.mark.filterwarnings("ignore:(mmd2|gess) .*random pairs:heatess.base.errors.PrecisionWarning")


@pytest.fixture(scope="module")
def embeddings():
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((20, 64))
    x = centres[rng.integers(0, 20, 1500)] + 0.7 * rng.standard_normal((1500, 64))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    w = rng.random(1500) ** 4
    return x.astype(np.float32), w, he.heat_profile(x, w, resolutions=RESOLUTIONS)


@pytest.mark.slow
def test_the_truth_lies_within_the_error_which_is_three_sigmas_and_what_is_too_rare_to_be_drawn(embeddings):
    x, w, exact = embeddings
    found = [he.heat_profile(x, w, resolutions=RESOLUTIONS, pairs=40_000, rng=seed) for seed in range(60)]
    off = np.array([exact.gess / one.gess - 1 for one in found])
    error = np.array([one.error for one in found])
    sigma = off.std(axis=0)
    assert (np.abs(off) < error).mean() > 0.99
    assert np.abs(off.mean(axis=0) / sigma).max() < 4.5 / np.sqrt(60)  # 1 / gESS is unbiased
    # 32 batches of 20 blocks of 8 x 8; levels 0 to 2 are not sampled.
    atoms, pairs = 6 / (32 * 20 * 16), 6 / (32 * 20 * 64)
    one, rest = sampled_part(x.astype(np.float64), w / w.sum(), exact)
    unseen = 2 * atoms * np.maximum(rest, np.sqrt(one * rest) - rest) + (2 * atoms**2 + pairs) * one
    assert (np.abs(np.median(error, axis=0) / (3 * sigma + unseen * exact.gess) - 1) < 0.35).all()


def sampled_part(x, w, exact):
    """What is sampled of the overlap of an atom with itself, and of 1 / gESS: all but the levels 0, 1 and 2."""
    p = np.stack([level_probabilities(he.Sphere(63).series, float(time), 200)[:3] for time in exact.times])
    first, second = w @ x, (x.T * w) @ x - np.eye(64) / 64
    known = p @ [1.0, first @ first, 64 / 63 * (second**2).sum()]
    return 1 - p.sum(axis=1), 1 / exact.gess - known


def test_more_pairs_give_a_smaller_error(embeddings):
    x, w, _ = embeddings
    errors = [he.heat_profile(x, w, resolutions=[45.0], pairs=m, rng=0).error[0] for m in (10_000, 1_000_000)]
    assert errors[1] < errors[0] / 3


def test_the_same_seed_gives_the_same_answer_and_says_what_ran(embeddings):
    x, w, _ = embeddings
    one, two = (he.heat_profile(x, w, resolutions=[45.0], pairs=5000, rng=7) for _ in range(2))
    assert one.gess[0] == two.gess[0]
    assert one.method == "pairs"


def test_atoms_overlap_with_themselves_exactly():
    x = he.samplers.uniform(300, 99, rng=0)
    found = he.heat_profile(x, resolutions=[5.0], pairs=2000, rng=0)
    assert found.gess[0] == pytest.approx(300, rel=1e-9)


@pytest.mark.parametrize("columns", [3, 5, 100])
@pytest.mark.slow
def test_scales_too_fine_for_levels_are_estimated_too(columns):
    x = he.samplers.von_mises_fisher(800, [1.0] + [0.0] * (columns - 1), 1e8, rng=5).astype(np.float32)
    weights = np.random.default_rng(6).random(800)
    times = 1e-8 * columns * np.array([0.05, 0.2, 0.4])  # atoms are 1e-4 sqrt(2 columns) apart
    exact = he.heat_profile(x, weights, times=times, method="local")
    found = [he.heat_profile(x, weights, times=times, pairs=20_000, rng=seed) for seed in range(40)]
    off = np.array([exact.gess / one.gess - 1 for one in found])
    assert (np.abs(off) < [one.error for one in found]).all()
    assert np.abs(off.mean(axis=0) / off.std(axis=0)).max() < 4.5 / np.sqrt(40)
    assert np.median([one.error[2] for one in found]) < 0.1
    np.testing.assert_allclose(np.mean([one.divergence for one in found], axis=0), exact.divergence, atol=0.02)


def clouds():
    """Points, space and times: periodic, flat, hyperbolic and of several parts."""
    rng = np.random.default_rng(8)
    n = 700
    angles, flat = 3 * rng.random((n, 2)), rng.standard_normal((n, 3))
    bent = np.column_stack([np.sqrt(1 + (flat[:, :2] ** 2).sum(axis=1)), flat[:, :2]])
    directions, turns = he.Sphere(2).uniform(n, rng), he.Rotations().uniform(n, rng)
    return [
        pytest.param(angles, he.Torus(2), [0.02, 0.2, 1.0], id="torus"),
        pytest.param(flat, he.Euclidean(3), [0.05, 0.2, 1.0], id="flat"),
        pytest.param(bent, he.Hyperbolic(2), [0.05, 0.2, 1.0], id="hyperbolic"),
        pytest.param((directions, angles[:, 0]), he.Product(he.Sphere(2), he.Circle()), [0.1, 0.3], id="product"),
        pytest.param((flat, turns), he.Product(he.Euclidean(3), he.Rotations()), [0.3, 1.0], id="poses"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("points", "space", "times"), clouds())
def test_pair_spaces_are_unbiased_within_the_stated_error(points, space, times):
    weights = np.random.default_rng(9).random(700) ** 3
    exact = he.heat_profile(points, weights, space=space, times=times, method="pairwise")
    found = [he.heat_profile(points, weights, space=space, times=times, pairs=20_000, rng=seed) for seed in range(40)]
    off = np.array([exact.gess / one.gess - 1 for one in found])
    error = np.array([one.error for one in found])
    assert (np.abs(off) < error).mean() > 0.97
    assert (np.abs(off) < 1.5 * error).all()
    assert np.abs(off.mean(axis=0) / off.std(axis=0)).max() < 4.5 / np.sqrt(40)
    assert (error[:, -1] < 6 * off[:, -1].std()).all()  # and not more than three sigmas would explain
    slopes = np.mean([one.dimension / one.gess for one in found], axis=0)  # the derivative of 1 / gESS is unbiased
    np.testing.assert_allclose(slopes, exact.dimension / exact.gess, rtol=0.06)
    if space.compact:
        powers = np.mean([1 + one.mmd2[0] for one in found])
        assert powers == pytest.approx(1 + exact.mmd2[0], rel=0.05)
    else:
        assert np.isnan([found[0].mmd2, found[0].volume, found[0].divergence]).all()


def test_a_circle_too_small_to_matter_leaves_the_estimate_on_the_sphere():
    x = he.samplers.uniform(400, rng=1)
    small, smaller = (
        he.heat_profile(
            (x, np.zeros(400)),
            space=he.Product(he.Sphere(2), he.Circle(), metric_scales=(1, scale)),
            times=[0.05, 0.5],
            pairs=100_000,
            rng=2,
        )
        for scale in (1e-3, 1e-4)
    )
    np.testing.assert_allclose(smaller.gess, small.gess, rtol=1e-10)
    np.testing.assert_allclose(smaller.mmd2, small.mmd2, rtol=1e-8)
    exact = he.heat_profile(x, times=[0.05, 0.5])
    assert (np.abs(exact.gess / small.gess - 1) < small.error).all()
    np.testing.assert_allclose(small.dimension, exact.dimension, rtol=0.02)


def test_at_large_scales_mmd2_is_not_lost_in_chance():
    x = 0.1 * np.random.default_rng(3).standard_normal((300, 2))
    exact = he.heat_profile(x, space=he.Torus(2), times=[12.0])  # where it is 1e-10
    found = he.heat_profile(x, space=he.Torus(2), times=[12.0], pairs=20_000, rng=0)
    assert found.mmd2[0] == pytest.approx(exact.mmd2[0], rel=1e-2)


@pytest.mark.parametrize("space", [he.Circle(), he.Euclidean(1)])
def test_identical_atoms_are_one(space):
    found = he.heat_profile(np.zeros(500), space=space, times=[0.01, 1.0], pairs=2000, rng=0)
    np.testing.assert_allclose(found.gess, 1.0, rtol=1e-14)
    np.testing.assert_allclose(found.dimension, 0.0, atol=1e-12)


def test_close_pairs_too_rare_to_be_drawn_are_within_the_error():
    x = np.repeat(np.random.default_rng(4).random((1000, 3)), 2, axis=0)
    x[::2, 0] += 1e-4  # every atom has a twin, one pair in 2000
    found = he.heat_profile(x, space=he.Euclidean(3), times=[1e-6], pairs=1000, rng=0)
    exact = he.heat_profile(x, space=he.Euclidean(3), times=[1e-6])
    assert exact.gess[0] == pytest.approx(1000, rel=1e-2)
    assert abs(exact.gess[0] / found.gess[0] - 1) > 0.1
    assert abs(exact.gess[0] / found.gess[0] - 1) < found.error[0]


def test_spaces_known_by_eigenpairs_are_refused_with_the_reason():
    ring = np.roll(np.eye(12), 1, axis=1)
    with pytest.raises(he.InputError, match=r"random pairs are of no use on Graph.* eigenpairs.* leave out pairs="):
        he.heat_profile(np.arange(12), space=he.Graph(ring + ring.T), times=[1.0], pairs=5000, rng=0)


def test_pairs_may_be_written_as_a_power_of_ten():
    x = he.samplers.uniform(300, rng=1, dim=9)
    found = [he.heat_profile(x, angles=[40], pairs=pairs, rng=3).gess[0] for pairs in (20_000, 2e4, np.float64(2e4))]
    assert found[0] == found[1] == found[2]
    for wrong in (2e4 + 0.5, math.nan, math.inf, True):
        with pytest.raises(he.InputError, match="pairs must be a whole number"):
            he.heat_profile(x, angles=[40], pairs=wrong, rng=3)


def test_bad_arguments_are_refused():
    x = np.eye(5)
    with pytest.raises(he.InputError, match=r"pairs must be a whole number from 1000 to 10\*\*12, but is 10"):
        he.heat_profile(x, times=[0.1], pairs=10, rng=0)
    with pytest.raises(he.InputError, match="needs rng="):
        he.heat_profile(x, times=[0.1], pairs=5000)


@pytest.mark.parametrize("rng", ["x", 1.5, -1, True])
def test_what_is_no_seed_is_refused(rng):
    with pytest.raises(he.InputError, match=r"rng must be a numpy\.random\.Generator or a whole number"):
        he.heat_profile(he.samplers.uniform(50, rng=0), angles=[50], pairs=5000, rng=rng)


def test_random_pairs_and_a_method_are_refused_together():
    with pytest.raises(he.InputError, match="pairs= or method='spectral', not both"):
        he.heat_profile(he.samplers.uniform(50, rng=0), angles=[50], pairs=5000, rng=0, method="spectral")


def rare_parts():
    """Points, weights and time, where a part that counts is hardly drawn, or the law of overlaps is skewed."""
    rng = np.random.default_rng(5)
    apart = np.concatenate([0.1 * rng.standard_normal((50, 2)), 0.1 * rng.standard_normal((50, 2)) + 8])
    tight, heavy = 0.1 * rng.standard_normal((5, 2)), 0.1 * rng.standard_t(1.5, (300, 2))
    return [
        pytest.param(apart, np.repeat([0.98, 0.02], 50), 0.1, id="two groups, 2 per cent in one"),
        pytest.param(apart, np.repeat([0.995, 0.005], 50), 0.1, id="two groups, half a per cent in one"),
        pytest.param(tight, np.exp(2.5 * rng.standard_normal(5)), 0.5, id="five atoms"),
        pytest.param(heavy, np.ones(300), 0.02, id="heavy tails"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("points", "weights", "time"), rare_parts())
def test_the_truth_is_outside_the_error_in_less_than_one_case_of_190_where_parts_are_rare(points, weights, time):
    measure = he.Measure(points, weights, space=he.Euclidean(2))
    exact, rng = he.heat_profile(measure, times=[time], method="pairwise").gess[0], np.random.default_rng(1)
    found = [he.heat_profile(measure, times=[time], pairs=1000, rng=rng) for _ in range(400)]
    outside = sum(abs(exact / one.gess[0] - 1) > one.error[0] for one in found)
    assert outside <= 2


@pytest.mark.slow
@pytest.mark.parametrize("space", [he.Sphere(4), he.Euclidean(5)])
def test_drawing_an_atom_with_itself_is_no_chance_in_a_tight_cloud(space):
    x = he.samplers.von_mises_fisher(300, [0, 0, 0, 0, 1], 1e4, rng=3)
    measure, rng = he.Measure(x, space=space), np.random.default_rng(4)
    exact = he.heat_profile(measure, times=[0.137], method="pairwise").gess[0]
    found = [he.heat_profile(measure, times=[0.137], pairs=1000, rng=rng) for _ in range(200)]
    off, error = np.array([(exact / one.gess[0] - 1, one.error[0]) for one in found]).T
    assert exact - 1 < 1e-3
    assert (np.abs(off) < error).all()
    assert off.std() < 0.1 * (exact - 1)  # by itself, a pair in 300, it would be three times as much
    assert abs(off.mean()) < 4.5 * off.std() / np.sqrt(200)
    assert np.median(error) < exact - 1


@pytest.mark.filterwarnings("default:mmd2 .*random pairs:heatess.base.errors.PrecisionWarning")
def test_a_small_mmd2_of_random_pairs_is_warned_of_and_more_pairs_help():
    x = he.samplers.uniform(500, rng=0)
    exact = he.heat_profile(x, angles=[20.0])
    with pytest.warns(
        he.PrecisionWarning, match=r"mmd2 .* off by .*at 1 of 1 scales.*give more pairs, or leave out pairs= .* error$"
    ):
        few = he.heat_profile(x, angles=[20.0], pairs=1000, rng=0)
    assert abs(few.mmd2[0] / exact.mmd2[0] - 1) > 0.3 or np.isnan(few.mmd2[0])
    with pytest.warns(he.PrecisionWarning, match="off by [1-9]e-02 relatively"):
        many = he.heat_profile(x, angles=[20.0], pairs=3_000_000, rng=0)
    assert abs(many.mmd2[0] / exact.mmd2[0] - 1) < 0.05


def test_a_large_mmd2_of_random_pairs_is_as_certain_as_gess_says_and_not_warned_of(recwarn):
    x = he.samplers.von_mises_fisher(500, [0, 0, 1], 50.0, rng=0)
    exact = he.heat_profile(x, angles=[20.0])
    found = he.heat_profile(x, angles=[20.0], pairs=5000, rng=0)
    assert not [one for one in recwarn if "mmd2" in str(one.message)]
    assert abs(found.mmd2[0] / exact.mmd2[0] - 1) < 4 * found.error[0]


@pytest.mark.filterwarnings("default:gess .*random pairs:heatess.base.errors.PrecisionWarning")
def test_a_gess_that_may_be_half_is_warned_of_and_more_pairs_end_that():
    x = np.repeat(he.samplers.uniform(1000, 7, rng=0), 2, axis=0)  # every atom twice, nearly
    x[::2] += 1e-3 * he.samplers.uniform(1000, 7, rng=1)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    message = (
        r"gess may be too large by a factor of 1\d at time .* 1 of 2 scales: .*; give more pairs, or leave out pairs="
    )
    with pytest.warns(he.PrecisionWarning, match=message):
        few = he.heat_profile(x, resolutions=[5.0, 80.0], pairs=1000, rng=0)
    assert few.gess[0] == pytest.approx(2000, rel=0.01)
    assert he.gess(x, resolution=5.0) == pytest.approx(1000, rel=0.01)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="gess")
        assert he.heat_profile(x, resolutions=[5.0, 80.0], pairs=200_000, rng=0).error.max() < 0.2
