"""Whether two samples come from one law: values by brute force, p-values by enumeration, sizes by simulation."""

from __future__ import annotations

import contextlib
import json
import warnings
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import heatess as he
import space_cases
from heatess.base.progress import Progress
from heatess.engines import columns
from heatess.engines.base import FormsQuestion
from heatess.engines.pairs import Pairs
from heatess.engines.spectral import Spectral
from heatess.inference import group_contrasts, null_resampling, quadratic_forms

NORTH = np.array([0.0, 0.0, 1.0])


def vmf(n: int, mean: np.ndarray, kappa: float, rng: Any) -> np.ndarray:
    return he.samplers.von_mises_fisher(n, mean, kappa, rng=rng)


def heat_kernel(x: np.ndarray, times: np.ndarray, count: int = 200) -> np.ndarray:
    """k_2t - 1 of all pairs on S^2 by its series, shape (times, n, n)."""
    u = np.clip(x @ x.T, -1, 1)
    degrees = np.arange(1, count)
    found = np.zeros((len(times), *u.shape))
    before, now = np.ones_like(u), u
    for degree in degrees:
        decay = (2 * degree + 1) * np.exp(-2 * degree * (degree + 1) * times)
        found += decay[:, None, None] * now
        before, now = now, ((2 * degree + 1) * u * now - degree * before) / (degree + 1)
    return found


def statistic_of(roots: np.ndarray) -> np.ndarray:
    """The largest standardised MMD of each row."""
    return ((roots - roots.mean(axis=0)) / roots.std(axis=0)).max(axis=1)


def all_forms(space: he.Space, points: np.ndarray, times: np.ndarray, weights: np.ndarray, way: str) -> np.ndarray:
    """Forms of the columns of *weights* by one engine."""
    measure = he.Measure.trusted(space, points, np.full(len(points), 1 / len(points)))
    question = FormsQuestion(measure, times, quadratic_forms.TRUNCATION, columns=weights.shape[1])
    engine = {"transform": Spectral(), "pairs": Pairs()}[way]
    return columns.forms(question, lambda _: weights, Progress(False), str, (engine,))


def balanced(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    weights = rng.normal(size=(n, count)) / n
    return weights - weights.mean(axis=0)


# --- values -----------------------------------------------------------------------------------------------------------


def test_mmd2_is_the_sum_over_all_pairs() -> None:
    rng = np.random.default_rng(0)
    a, b = vmf(30, NORTH, 3, rng), vmf(20, NORTH, 1, rng)
    weights, others = rng.gamma(1, size=30) + 1, rng.gamma(1, size=20) + 1
    one, other = he.Measure(a, weights), he.Measure(b, others)
    test = he.two_sample_test(one, other, angles=[15, 40, 90], weights_are="fixed", draws=19, rng=1)
    signed = np.concatenate([weights / weights.sum(), -others / others.sum()])
    expected = np.einsum("i,tij,j->t", signed, heat_kernel(np.concatenate([a, b]), test.times), signed)
    assert_allclose(test.mmd2, expected, rtol=1e-9)
    assert_allclose(he.mmd(one, other, angles=[15, 40, 90]) ** 2, expected, rtol=1e-9)


def test_mmd_is_a_distance() -> None:
    rng = np.random.default_rng(1)
    a, b, c = (vmf(20, NORTH, kappa, rng) for kappa in (1, 2, 9))
    angles = [5, 20, 90]
    assert (he.mmd(a, c, angles=angles) <= he.mmd(a, b, angles=angles) + he.mmd(b, c, angles=angles)).all()
    assert_allclose(he.mmd(a, b, angles=angles), he.mmd(b, a, angles=angles), rtol=1e-9)


@pytest.mark.parametrize("way", ["transform", "pairs"])
def test_forms_are_quadratic_forms_of_the_heat_kernel(way: str) -> None:
    rng = np.random.default_rng(2)
    x, times = vmf(40, NORTH, 2, rng), np.radians([12.0, 30.0, 100.0]) ** 2 / 8
    weights = balanced(40, 5, rng)
    found = all_forms(he.Sphere(2), x, times, weights, way)
    expected = np.einsum("ik,tij,jk->kt", weights, heat_kernel(x, times), weights)
    ratio = found / expected  # one unit for each scale; truncation leaves out a ten-thousandth of the kernel at most
    assert_allclose(ratio / ratio[0], 1, rtol=2e-4 if way == "transform" else 1e-9)


WITH_TRANSFORM = [case for case in space_cases.HOMOGENEOUS if case.space().transform is not None]


@pytest.mark.parametrize(**space_cases.named(WITH_TRANSFORM))
def test_transforms_and_pairs_agree(case: space_cases.Case) -> None:
    rng, space = np.random.default_rng(3), case.space()
    points = he.Measure(case.points(50, rng), space=space).points
    times = case.times(3)[1:]
    weights = balanced(50, 4, rng)
    by_transform, by_pairs = (all_forms(space, points, times, weights, way) for way in ("transform", "pairs"))
    ratio = by_transform / by_pairs
    assert_allclose(ratio / ratio[0], 1, rtol=1e-2)


def test_blocks_of_draws_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    clouds = {
        he.Sphere(9): (he.samplers.uniform(20, 9, rng=rng), he.samplers.uniform(25, 9, rng=rng)),
        he.Circle(): (rng.uniform(size=(3000, 1)), rng.uniform(size=(3000, 1))),
        he.Sphere(2): (he.samplers.uniform(900, rng=rng), he.samplers.uniform(800, rng=rng)),
        he.Graph(np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1)): (np.arange(6), np.arange(3, 9)),
    }
    for space, (a, b) in clouds.items():
        whole = he.two_sample_test(a, b, space=space, draws=50, rng=5)
        with monkeypatch.context() as patch:
            patch.setattr(columns, "COLUMNS_OF_BLOCK", (16, 16))
            parts = he.two_sample_test(a, b, space=space, draws=50, rng=5)
        assert whole.pvalue == parts.pvalue
        assert_allclose(whole.statistics, parts.statistics, rtol=1e-6)


# --- p-values ---------------------------------------------------------------------------------------------------------


def test_the_pvalue_is_the_share_of_all_permutations() -> None:
    """Six points have 720 orders; with unequal weights each has its own statistic."""
    rng = np.random.default_rng(6)
    x = np.concatenate([vmf(3, NORTH, 4, rng), vmf(3, -NORTH, 1, rng)])
    weights = np.array([1.0, 2.0, 4.0, 1.0, 3.0, 5.0])
    angles = np.array([20.0, 60.0, 120.0])
    kernel = heat_kernel(x, np.radians(angles) ** 2 / 8)
    signed = np.concatenate([weights[:3] / 7, -weights[3:] / 9])
    orders = np.array(list(permutations(range(6))))
    roots = np.sqrt(np.einsum("pi,tij,pj->pt", signed[orders], kernel, signed[orders]))
    largest = statistic_of(roots)
    shares = (roots >= roots[0] - 1e-9).mean(axis=0)
    one, other = he.Measure(x[:3], weights[:3]), he.Measure(x[3:], weights[3:])
    draws = 20_000
    test = he.two_sample_test(one, other, angles=angles, weights_are="fixed", draws=draws, rng=7)
    for found, exact in [(test.pvalue, (largest >= largest[0] - 1e-9).mean()), *zip(test.pvalues, shares, strict=True)]:
        assert abs(found - exact) < 5 * np.sqrt(exact * (1 - exact) / draws) + 1e-3


def test_one_point_against_many_has_the_rank_as_its_pvalue() -> None:
    """A point far from nineteen others is the most extreme of twenty: p = 1 / 20."""
    rng = np.random.default_rng(8)
    many = vmf(19, NORTH, 200, rng)
    test = he.two_sample_test([-NORTH], many, angles=30, draws=20_000, rng=9)
    assert abs(test.pvalue - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 20_000)


@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
def test_equal_samples_do_not_differ(case: space_cases.Case) -> None:
    points = case.points(30, np.random.default_rng(10))
    test = he.two_sample_test(points, points, space=case.space(), times=case.times(3)[1:], draws=40, rng=11)
    assert test.pvalue == 1
    assert (test.pvalues == 1).all()
    if case.space().compact:
        assert (test.mmd2 == 0).all()
    else:
        assert np.isnan(test.mmd2).all()


@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
def test_samples_apart_are_told_apart_on_every_space(case: space_cases.Case) -> None:
    """Half of the places nearest to one of them against the other half."""
    space = case.space()
    points = case.points(60, np.random.default_rng(12))
    checked = he.Measure(points, space=space).points
    where = checked if space.modes is None else checked[:, 0].astype(np.int64)  # a node at or near each point
    near = np.argsort(space.distance(where, where[[0]]), kind="stable")
    halves = [space_cases.taken(points, near[part]) for part in (slice(0, 30), slice(30, 60))]
    test = he.two_sample_test(*halves, space=space, rng=13)
    assert test.pvalue < 0.01
    assert test.pvalues.min() == 1 / 501


def test_two_single_points_say_nothing() -> None:
    assert he.two_sample_test([NORTH], [-NORTH], rng=0).pvalue == 1


@pytest.mark.filterwarnings("ignore:.*exact copies")  # a law with atoms has them by right
def test_one_place_says_nothing() -> None:
    test = he.two_sample_test([NORTH] * 5, he.Measure([NORTH] * 3, [1, 2, 4]), weights_are="fixed", rng=0)
    assert test.pvalue == 1
    assert (test.statistics == 0).all()


@pytest.mark.filterwarnings("ignore:.*exact copies")  # a law with atoms has them by right
def test_copies_at_two_places_have_the_law_of_fisher() -> None:
    """On two places MMD^2 counts how many of a are at the first: the two-sided hypergeometric law."""
    from scipy.stats import hypergeom

    a, b = np.repeat([NORTH, -NORTH], [9, 3], axis=0), np.repeat([NORTH, -NORTH], [4, 8], axis=0)
    law = hypergeom(24, 13, 12)
    counts = np.arange(1, 13)
    exact = law.pmf(counts)[np.abs(counts - 6.5) >= 2.5].sum()
    test = he.two_sample_test(a, b, angles=[20, 60], draws=20_000, rng=14)
    assert abs(test.pvalue - exact) < 5 * np.sqrt(exact * (1 - exact) / 20_000)


def test_many_points_at_few_places_tie_in_transforms_too() -> None:
    """A transform is off by rounding, which must not break ties: the same weights at the same places, row by row."""
    rng = np.random.default_rng(15)
    places = he.samplers.uniform(400, rng=rng)
    weights = np.where(rng.random(400) < 0.5, 1.0, -1.0) / 400
    same = np.stack([weights, -weights, weights], axis=1)
    found = all_forms(he.Sphere(2), places, np.array([0.01, 0.1]), same, "transform")
    assert (group_contrasts.share_beyond(group_contrasts.standardised(found)) == 1).all()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), m=st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_what_must_not_matter(seed: int, n: int, m: int) -> None:
    """Rotations, the unit of the weights, atoms without weight and the seed's kind change no p-value."""
    rng = np.random.default_rng(seed)
    a, b = he.samplers.uniform(n, rng=rng), he.samplers.uniform(m, rng=rng)
    u, v = rng.gamma(1, size=n), rng.gamma(1, size=m)
    how: dict[str, Any] = {"angles": [20, 70], "draws": 30, "weights_are": "fixed"}
    test = he.two_sample_test(he.Measure(a, u), he.Measure(b, v), rng=seed, **how)
    assert 1 / 31 <= test.pvalue <= 1
    assert ((test.pvalues >= 1 / 31) & (test.pvalues <= 1)).all()
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turned = [cloud @ turn / np.linalg.norm(cloud @ turn, axis=1, keepdims=True) for cloud in (a, b)]
    more = he.Measure(np.concatenate([turned[0], [NORTH]]), np.append(7 * u, 0.0))
    again = he.two_sample_test(more, he.Measure(turned[1], v / 3), rng=np.random.default_rng(seed), **how)
    assert again.pvalue == test.pvalue
    assert_allclose(again.mmd2, test.mmd2, rtol=1e-6, atol=1e-9)
    assert again.n == (n + 1, m)


def test_the_scales_do_not_tell_which_point_is_of_which_sample() -> None:
    rng = np.random.default_rng(16)
    x = vmf(300, NORTH, 3, rng)
    first = he.two_sample_test(x[:100], x[100:], draws=19, rng=0)
    x = rng.permutation(x)
    second = he.two_sample_test(x[:100], x[100:], draws=19, rng=0)
    assert (first.times == second.times).all()
    assert len(first.times) == 8


def test_multipliers_have_the_mean_and_spread_of_self_normalised_means() -> None:
    """The mean of the resampled forms is that of MMD^2 over new samples, each with its own importance weights."""
    rng = np.random.default_rng(17)
    times = np.array([0.05])

    def sample() -> he.Measure:
        x = vmf(200, NORTH, 1, rng)
        return he.Measure(x, log_weights=-x[:, 2])

    def forms_of(one: he.Measure, other: he.Measure, count: int) -> np.ndarray:
        pool = null_resampling.Pool.of(one, other)
        weights = null_resampling.draws_of(pool, "importance", rng)(count)
        return all_forms(one.space, pool.places, times, weights, "pairs")[:, 0]

    truth = np.array([forms_of(sample(), sample(), 1)[0] for _ in range(200)])
    resampled = np.concatenate([forms_of(sample(), sample(), 41)[1:] for _ in range(20)])
    error = np.sqrt(truth.var() / 200 + resampled.var() / 200)  # draws from the same samples are not independent
    assert abs(truth.mean() - resampled.mean()) < 4 * error
    assert 0.7 < resampled.std() / truth.std() < 1.4


def test_signed_weights_of_draws_sum_to_zero() -> None:
    rng = np.random.default_rng(18)
    one, other = (he.Measure(vmf(40, NORTH, 1, rng), rng.gamma(2, size=40)) for _ in range(2))
    pool = null_resampling.Pool.of(one, other)
    for weights_are in ("fixed", "importance"):
        assert_allclose(null_resampling.draws_of(pool, weights_are, rng)(5).sum(axis=0), 0, atol=1e-14)


# --- sizes and power --------------------------------------------------------------------------------------------------


def importance(n: int, rng: np.random.Generator) -> tuple[he.Measure, he.Measure]:
    """Two samples of the uniform law, from different proposals."""
    a, b = vmf(n, NORTH, 1, rng), vmf(n, np.array([1.0, 0, 0]), 0.7, rng)
    return he.Measure(a, log_weights=-a[:, 2]), he.Measure(b, log_weights=-0.7 * b[:, 0])


def one_of_each(n: int, rng: np.random.Generator) -> tuple[he.Measure, he.Measure]:
    return importance(n, rng)[0], he.Measure(he.samplers.uniform(n, rng=rng))


def equal(n: int, rng: np.random.Generator) -> tuple[he.Measure, he.Measure]:
    return he.Measure(vmf(n, NORTH, 2, rng)), he.Measure(vmf(n, NORTH, 2, rng))


def independent(n: int, rng: np.random.Generator) -> tuple[he.Measure, he.Measure]:
    return he.Measure(vmf(n, NORTH, 2, rng), rng.gamma(1, size=n)), he.Measure(vmf(2 * n, NORTH, 2, rng))


def rejected(make: Any, n: int, runs: int, seed: int, **how: Any) -> float:
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.CalibrationWarning)  # of tails by chance
        found = []
        for _ in range(runs):
            pair = make(n, rng)
            with contextlib.suppress(he.KindError):  # weights that grow at the edge by chance
                found.append(he.two_sample_test(*pair, draws=39, rng=rng, **how).pvalue)
    assert len(found) >= 0.97 * runs
    return float(np.mean(np.array(found) <= 0.05))


SIZES = [
    (equal, 20, None),
    (independent, 20, "fixed"),
    (importance, 120, None),
    (one_of_each, 120, None),
]
LARGE = [(equal, 200, None), (independent, 200, "fixed"), (importance, 200, None), (one_of_each, 200, None)]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "n", "weights_are"), SIZES)
def test_one_law_is_rejected_in_five_of_a_hundred_cases(make: Any, n: int, weights_are: str | None) -> None:
    runs = 120
    error = np.sqrt(0.05 * 0.95 / runs)
    assert abs(rejected(make, n, runs, 19, weights_are=weights_are) - 0.05) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize(("make", "n", "weights_are"), SIZES + LARGE)
def test_one_law_is_rejected_in_five_of_a_hundred_cases_with_more_points(
    make: Any, n: int, weights_are: str | None
) -> None:
    runs = 400 if n < 200 else 150
    error = np.sqrt(0.05 * 0.95 / runs)
    slack = 0.0 if weights_are == "fixed" or make is equal else 0.015  # multipliers are right for large samples
    assert abs(rejected(make, n, runs, 20, weights_are=weights_are) - 0.05) < 4 * error + slack


def test_power_at_the_scale_of_the_difference() -> None:
    """Eight narrow modes against uniform points: seen at fine scales, and not at coarse ones."""
    rng = np.random.default_rng(21)
    corners = np.array([[x, y, z] for x in (1, -1) for y in (1, -1) for z in (1, -1)]) / np.sqrt(3)
    modes = [lambda n, rng, corner=corner: vmf(n, corner, 60, rng) for corner in corners]
    a, b = he.samplers.mixture(150, modes, rng=rng), he.samplers.uniform(150, rng=rng)
    test = he.two_sample_test(a, b, rng=22)
    assert test.pvalue == 1 / 501
    assert test.angles[test.clearest] < 45
    assert he.two_sample_test(a, b, angles=120, rng=23).pvalue > 0.05


# --- refusals and warnings --------------------------------------------------------------------------------------------


def test_importance_weights_with_a_small_ess_are_refused_and_the_advice_helps() -> None:
    rng = np.random.default_rng(24)
    x = vmf(30, NORTH, 2, rng)
    few = he.Measure(x, log_weights=-2 * x[:, 2])
    with pytest.raises(he.InputError, match=r"the importance weights of a rests on [\d.]+ of 30 points, and below 10"):
        he.two_sample_test(few, x, rng=0)
    many = vmf(900, NORTH, 1, rng)
    with pytest.raises(
        he.InputError, match=r"b has 20 points, and with weights that depend on the points 25 are needed"
    ):
        he.two_sample_test(he.Measure(many, log_weights=-many[:, 2]), x[:20], rng=0)
    assert he.two_sample_test(few, x, weights_are="fixed", draws=19, rng=0).weights_are == "fixed"
    assert he.two_sample_test(he.Measure(many, log_weights=-many[:, 2]), x, draws=19, rng=0).weights_are == "importance"


def test_heavy_tails_are_refused_and_compared_without_a_p_value() -> None:
    rng = np.random.default_rng(25)
    x = he.samplers.uniform(2000, rng=rng)
    heavy = he.Measure(x, rng.pareto(1 / 0.8, size=2000) + 1)
    with pytest.raises(
        he.KindError, match=r"of b rests on [\d.]+ of 2,000 points.*; draw from a proposal that is wider"
    ):
        he.two_sample_test(x, heavy, angles=60, draws=19, rng=0)
    found = he.compare(x, heavy, angles=60, draws=19, rng=0)
    assert found.test is None
    assert "rests on" in found.no_test


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"draws": 10}, "draws must be a whole number >= 19, but is 10"),
        ({"draws": 2.5}, "draws must be a whole number"),
        ({"rng": "seed"}, "rng must be a numpy.random.Generator or a whole number"),
        ({"rng": -1}, "rng must be a numpy.random.Generator or a whole number"),
        ({"weights_are": "random"}, "weights_are must be"),
        ({"weights_are": ("fixed",)}, "one word for both samples, or a pair"),
        ({"angles": [10], "times": [1]}, "give at most one"),
        ({"angles": [-10]}, "angles must be positive"),
        ({"rtol": 2}, "rtol must be"),
    ],
)
def test_bad_arguments_are_refused(how: dict[str, Any], message: str) -> None:
    x = he.samplers.fibonacci(30)
    with pytest.raises(he.InputError, match=message):
        he.two_sample_test(x, -x, **how)


def test_samples_of_two_spaces_are_refused() -> None:
    x = he.samplers.fibonacci(30)
    with pytest.raises(he.InputError, match="a and b must be on one space"):
        he.two_sample_test(he.Measure(x), he.Measure(x, space=he.Projective(2)))


def test_too_many_pairs_are_refused_with_a_way_out() -> None:
    rng = np.random.default_rng(26)
    a, b = (he.samplers.uniform(100_000, 9, rng=rng) for _ in range(2))
    with pytest.raises(he.CostError, match="give a random subset of each sample") as caught:
        he.two_sample_test(a, b, angles=[40, 80], rng=0)
    assert caught.value.seconds > 1800
    assert 0 < he.two_sample_test(a[:300], b[:300], angles=[40, 80], draws=19, rng=0).pvalue <= 1


def test_scales_finer_than_a_mesh_are_refused() -> None:
    case = next(case for case in space_cases.DISCRETE if case.name == "Mesh")
    with pytest.raises(he.PrecisionError, match="resolves times down to"):
        he.two_sample_test([0, 1, 2], [3, 4], space=case.space(), times=[1e-9])


# --- results ----------------------------------------------------------------------------------------------------------


def test_results_repeat_with_rng_and_are_plain_values() -> None:
    a, b = he.samplers.uniform(40, rng=0), he.samplers.uniform(50, rng=1)
    first, second = (he.two_sample_test(a, b, rng=3) for _ in range(2))
    assert first.to_json() == second.to_json()
    text = json.loads(first.to_json())
    assert text["schema"] == "heatess.two_sample_test/1"
    assert text["n"] == [40, 50]
    assert text["resolutions"][0] == pytest.approx(first.resolutions[0])
    assert list(first.to_frame().pvalues) == list(first.pvalues)
    assert "permutations" in repr(first)
    assert "\n" not in repr(first)
    with pytest.raises(ValueError, match="read-only"):
        first.pvalues[0] = 0


def test_a_comparison_says_what_it_found() -> None:
    rng = np.random.default_rng(27)
    a, b = vmf(200, NORTH, 4, rng), vmf(300, NORTH, 40, rng)
    found = he.compare(a, b, names=("old", "new"), rng=1)
    assert found.verdict.startswith("old and new differ (p <= 0.002), most clearly at ")
    assert f"{found.test.angles[found.test.clearest]:.3g} degrees" in found.verdict
    for place, cloud in enumerate((a, b)):
        expected = he.heat_profile(cloud, angles=found.test.angles)
        assert_allclose(found.profiles[place].gess, expected.gess, rtol=1e-7)
    assert_allclose(found.mmd2, he.mmd2(a, b, times=found.test.times))
    assert found.pvalue == found.test.pvalue == he.two_sample_test(a, b, rng=1).pvalue
    frame = found.to_frame()
    assert list(frame.gess_b) == list(found.profiles[1].gess)
    assert frame.attrs["verdict"] == found.verdict
    assert json.loads(found.to_json())["names"] == ["old", "new"]
    assert "old and new differ" in found._repr_html_()
    same = he.compare(a, a, rng=1)
    assert "not proof that there is none" in same.verdict


def test_places_of_a_comparison_are_unbiased() -> None:
    """The mean overlap of two different atoms, by all pairs."""
    x = vmf(60, NORTH, 3, np.random.default_rng(28))
    found = he.compare(x, -x, angles=[30, 60], draws=19, rng=0)
    kernel = heat_kernel(x, found.test.times) + 1
    diagonal = kernel[:, 0, 0]
    mean = (kernel.sum(axis=(1, 2)) - 60 * diagonal) / (60 * 59)
    assert_allclose(found.places[0], diagonal / mean, rtol=1e-7)


@pytest.mark.parametrize("names", [("a", "a"), ("a",), "ab", (1, 2)])
def test_names_must_be_two_words(names: Any) -> None:
    x = he.samplers.fibonacci(5)
    with pytest.raises(he.InputError, match="names must be two different words"):
        he.compare(x, x, names=names)


@pytest.mark.parametrize("space", [he.Sphere(2), he.Euclidean(3), he.Sphere(40)])
def test_plots_have_the_numbers_of_the_result(space: he.Space) -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(29)
    a, b = (space_cases.drawn(space, 30, rng) for _ in range(2))
    found = he.compare(a, b, space=space, draws=30, rng=0)
    ax = found.test.plot()
    line = next(line for line in ax.get_lines() if line.get_label() == "observed")
    assert_allclose(line.get_ydata(), found.test.statistics)
    assert [text.get_text() for text in ax.texts] == [f"{p:.2g}" for p in found.test.pvalues]
    lines = {line.get_label(): line for line in found.plot().get_lines()}
    assert_allclose(lines["b"].get_ydata(), found.profiles[1].gess)


def test_messages_call_the_samples_by_their_names():
    few = he.Measure(vmf(20, NORTH, 2.0, 0), np.arange(1.0, 21.0))
    found = he.compare(vmf(50, NORTH, 2.0, 1), few, names=("before", "after"), draws=19, rng=0)
    assert found.no_test.startswith("after has 20 points, and with weights that depend on the points 25 are needed")
    with pytest.raises(he.KindError, match="b has 20 points, and with weights that depend on the points 25 are needed"):
        he.two_sample_test(vmf(50, NORTH, 2.0, 1), few, draws=19, rng=0)


def test_stacks_of_chains_are_taken_as_both_samples():
    a, b = vmf(60, NORTH, 2.0, 0), vmf(40, NORTH, 3.0, 1)
    one, other = (he.Measure(part.reshape(-1, 20, 3), kind="draws") for part in (a, b))
    found = he.two_sample_test(one, other, angles=[20, 60], draws=19, rng=0)
    wanted = he.two_sample_test(a, b, angles=[20, 60], draws=19, rng=0)
    assert found.n == (60, 40)
    assert_allclose(found.mmd2, wanted.mmd2, rtol=0)
    assert_allclose(he.mmd2(he.Measure(a), b.reshape(2, 20, 3), angles=[20, 60]), wanted.mmd2, rtol=0)
    assert he.gess(a.reshape(3, 20, 3), angle=20, space=he.Sphere(2)) == he.gess(a, angle=20)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_degrees_are_sums_of_gegenbauer_polynomials(dim: int) -> None:
    """N_l P_l of degrees 1 and 2 on S^D, from x.y and (x.y)^2: D + 1 and (D + 1)(D + 3) / 2 ((D + 1) u^2 - 1) / D."""
    rng = np.random.default_rng(dim)
    points, weights = he.samplers.uniform(40, dim, rng=rng), balanced(40, 6, rng)
    low = quadratic_forms.low_degrees(he.Sphere(dim), (None, None, None))
    assert low is not None
    found = quadratic_forms.forms(
        he.Sphere(dim), points, np.array([0.1, 0.5]), lambda _: weights, 6, Progress(False), low
    )
    u = points @ points.T
    modes = [dim + 1, dim * (dim + 3) / 2]
    kernels = [modes[0] * u, modes[1] * ((dim + 1) * u * u - 1) / dim]
    expected = np.stack([np.einsum("ic,ij,jc->c", weights, kernel, weights) for kernel in kernels], axis=1)
    assert_allclose(found[:, 2:], expected, rtol=1e-7, atol=1e-12)
    plain = quadratic_forms.forms(he.Sphere(dim), points, np.array([0.1, 0.5]), lambda _: weights, 6, Progress(False))
    assert_allclose(found[:, :2], plain, rtol=1e-12)


def test_inertia_that_differs_is_found_by_degree_2() -> None:
    """Axial points have the mean of uniform ones; the samples are reflected too, so that their means are equal."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 3)) * [1, 1, 1.7]
    axial, even = x / np.linalg.norm(x, axis=1, keepdims=True), he.samplers.uniform(60, rng=rng)
    both = [np.concatenate([half, -half]) for half in (axial, even)]
    test = he.two_sample_test(*both, draws=199, rng=rng)
    assert test.degree_pvalues[0] == 1
    assert test.degree_pvalues[1] == test.pvalue == 0.005
    assert he.two_sample_test(*both, times=test.times, draws=19, rng=rng).degree_pvalues.shape == (0,)


def test_spaces_without_degrees_have_scales_alone() -> None:
    rng = np.random.default_rng(3)
    for space in (he.Torus(2), he.Euclidean(2)):
        test = he.two_sample_test(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), space=space, draws=19, rng=rng)
        assert test.degree_pvalues.shape == (0,)
        assert len(test.pvalues) == 8


def test_draws_in_several_blocks_have_the_statistic_of_one():
    """Finest scales and single degrees are summed by two engines, which take different numbers of columns at once."""
    one, other = (he.samplers.uniform(4000, rng=seed) for seed in (0, 1))
    few, many = (he.two_sample_test(one, other, draws=draws, rng=2) for draws in (99, 400))
    np.testing.assert_allclose(many.mmd2, few.mmd2, rtol=1e-9)
