"""The test of uniformity: statistics against plain NumPy, laws against simulation, sizes, power, and refusals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.transform import Rotation

import heatess as he
import heatess.measures.scales
import space_cases
from heatess.engines import plan
from heatess.engines.pairs import Pairs
from heatess.engines.spectral import Spectral
from heatess.inference import uniform_null, uniformity, uniformity_families
from heatess.inference.combined_p_values import LimitLaw, cauchy, from_draws
from heatess.inference.uniformity import default_scales
from heatess.inference.uniformity_families import NullLevels, heat_family, sobolev_family, space_levels
from heatess.inference.uniformity_statistics import sobolev
from heatess.measures.measure import Measure

COMPACT = [case for case in space_cases.HOMOGENEOUS if case.space().compact]


def gamma_weights(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(1.0, size=n)


def angles_between(x: np.ndarray) -> np.ndarray:
    return np.arccos(np.clip(x @ x.T, -1, 1)) * (1 - np.eye(len(x)))


# Statistics.


@pytest.mark.parametrize(**space_cases.named(COMPACT))
def test_the_statistic_is_ess_times_mmd2_on_every_space(case):
    rng = np.random.default_rng(5)
    points, weights, times = case.points(40, rng), gamma_weights(40), 4 * case.times(3)
    found = he.uniformity_test(points, weights, space=case.space(), times=times, weights_are="fixed", draws=19, rng=0)
    profile = he.heat_profile(points, weights, space=case.space(), times=times)
    assert found.statistics == pytest.approx(profile.ess * profile.mmd2, rel=1e-6)
    log_places = case.space().pair_kernel.log_diagonal(times)
    assert found.expected == pytest.approx(np.expm1(log_places), rel=1e-8)
    assert found.n == 40
    assert found.method == "monte carlo"


def test_the_statistic_by_brute_force_on_the_sphere():
    x, w = he.samplers.uniform(30, rng=2), gamma_weights(30)
    w = w / w.sum()
    found = he.uniformity_test(x, w, angles=[30, 60], weights_are="fixed", draws=19, rng=0)
    for angle, value in zip((30, 60), found.statistics, strict=True):
        t = np.radians(angle) ** 2 / 8
        series = sum(
            (2 * k + 1) * math.exp(-2 * k * (k + 1) * t) * np.polynomial.legendre.Legendre.basis(k)(x @ x.T)
            for k in range(1, 40)
        )
        assert value == pytest.approx(w @ series @ w / np.sum(w**2), rel=1e-8)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_low_degrees_are_those_of_rayleigh_and_bingham(dim):
    x, p, n = he.samplers.uniform(60, dim, rng=4), dim + 1, 60
    low = he.uniformity_test(x).degrees
    second = x.T @ x / n
    assert low.degrees.tolist() == [1, 2, 3, 4]
    assert low.statistics[0] == pytest.approx(n * p * np.sum(x.mean(axis=0) ** 2), rel=1e-9)
    assert low.statistics[1] == pytest.approx(n * p * (p + 2) / 2 * (np.trace(second @ second) - 1 / p), rel=1e-9)
    assert low.multiplicities[0] == pytest.approx(p)


@pytest.mark.parametrize("dim", [1, 2, 4, 9])
def test_classical_statistics_by_their_sums_over_pairs(dim):
    x, n, p = he.samplers.von_mises_fisher(70, np.eye(dim + 1)[0], 0.7, rng=dim), 70, dim + 1
    angle = angles_between(x)
    half = np.triu_indices(n, 1)
    ratio = (math.gamma((p - 1) / 2) / math.gamma(p / 2)) ** 2
    ajne = n / 4 - angle[half].sum() / (math.pi * n)
    gine = n / 2 - (p - 1) / (2 * n) * ratio * np.sin(angle[half]).sum()
    # E|X - Y| by quadrature.
    at = (np.arange(200_000) + 0.5) * math.pi / 200_000
    chord = np.average(2 * np.sin(at / 2), weights=np.sin(at) ** (p - 2))
    bakshaev = n * chord - 2 / n * (2 * np.sin(angle[half] / 2)).sum()
    for name, value in {"ajne": ajne, "gine": gine, "gine_f": 4 * ajne + gine, "bakshaev": bakshaev}.items():
        found = he.uniformity_test(x, statistic=name)
        assert found.statistics[0] == pytest.approx(value, rel=1e-7), name
        assert found.pvalue == found.pvalues[0]


def test_watson_and_rothman_by_their_definitions():
    n, rng = 60, np.random.default_rng(8)
    theta = np.sort(rng.uniform(0, 2 * math.pi, n) ** 1.1 % (2 * math.pi))
    u, i = theta / (2 * math.pi), np.arange(1, n + 1)
    watson = np.sum((u - (2 * i - 1) / (2 * n)) ** 2) + 1 / (12 * n) - n * (u.mean() - 0.5) ** 2
    found = he.uniformity_test(theta, space=he.Circle(), statistic="watson")
    assert found.statistics[0] == pytest.approx(watson, rel=1e-10)
    # P(U^2 > x) = 2 sum (-1)^(k - 1) exp(-2 k^2 pi^2 x)
    k = np.arange(1, 60)
    law = 2 * np.sum((-1.0) ** (k - 1) * np.exp(-2 * k**2 * math.pi**2 * watson))
    assert found.pvalue == pytest.approx(law, rel=1e-6)
    # Rothman: the variance of the number of points in arcs that cover a third of the circle, over n.
    starts = np.linspace(0, 1, 60_000, endpoint=False)
    counts = ((u[None] - starts[:, None]) % 1.0 < 1 / 3).sum(axis=1)
    rothman = he.uniformity_test(theta, space=he.Circle(), statistic="rothman").statistics[0]
    assert rothman == pytest.approx(np.mean((counts - n / 3) ** 2) / n, rel=2e-3)


def test_rayleigh_and_bingham_have_chi_square_tails():
    x, n = he.samplers.von_mises_fisher(80, [0, 0, 1], 0.8, rng=3), 80
    rayleigh = n * 3 * np.sum(x.mean(axis=0) ** 2)
    found = he.uniformity_test(x, statistic="rayleigh")
    assert (found.name, found.method) == ("Rayleigh", "limit")
    assert found.statistic == found.statistics[0]
    assert found.pvalue == pytest.approx(stats.chi2.sf(rayleigh, 3), rel=1e-8)
    bingham = he.uniformity_test(x, statistic="bingham")
    assert bingham.pvalue == pytest.approx(stats.chi2.sf(bingham.statistics[0], 5), rel=1e-8)
    axes = he.uniformity_test(x, space=he.Projective(2), statistic="bingham")
    assert axes.statistics[0] == pytest.approx(bingham.statistics[0], rel=1e-9)
    evens = he.uniformity_test(x, space=he.Projective(2), statistic="gine")
    both = he.uniformity_test(x, statistic="gine")
    assert evens.statistics[0] == pytest.approx(both.statistics[0], rel=1e-9)
    assert evens.pvalue == pytest.approx(both.pvalue, rel=1e-9)


def test_rayleigh_on_rotations_is_the_trace_of_the_mean_matrix():
    r = Rotation.random(90, random_state=np.random.RandomState(1))
    mean = r.as_matrix().mean(axis=0)
    found = he.uniformity_test(r, statistic="rayleigh")
    assert found.statistics[0] == pytest.approx(90 * 3 * np.sum(mean**2), rel=1e-9)
    assert found.expected[0] == pytest.approx(9)
    assert found.pvalue == pytest.approx(stats.chi2.sf(found.statistics[0], 9), rel=1e-8)


def test_any_sobolev_statistic_by_its_coefficients():
    x = he.samplers.uniform(90, rng=6)
    by_hand = he.uniformity_test(x, statistic=[0.5, 0.0, 2.0])
    low = he.uniformity_test(x).degrees.statistics
    assert by_hand.statistics[0] == pytest.approx(0.5 * low[0] + 2 * low[2], rel=1e-8)
    heat = he.uniformity_test(x, statistic=lambda degree: np.exp(-2 * degree * (degree + 1) * 0.05))
    assert heat.statistics[0] == pytest.approx(he.uniformity_test(x, times=[0.05]).statistics[0], rel=1e-8)


@pytest.mark.slow
def test_many_atoms_take_the_levels_of_a_classical_statistic():
    x = he.samplers.uniform(4001, rng=0)
    half = np.triu_indices(4001, 1)
    ajne = 4001 / 4 - np.arccos(np.clip(x @ x.T, -1, 1))[half].sum() / (math.pi * 4001)
    assert he.uniformity_test(x, statistic="ajne").statistics[0] == pytest.approx(ajne, abs=2e-5)


# Laws.


@pytest.mark.parametrize(("space", "n"), [(he.Sphere(2), 12), (he.Torus(2), 15), (he.Rotations(), 10)], ids=repr)
def test_mean_and_variance_given_the_weights_are_exact(space, n):
    """E T = k - 1 and Var T = 2 sum N c^2 (1 - sum w^4 / (sum w^2)^2) for any number of atoms."""
    rng = np.random.default_rng(0)
    measure = Measure(space.uniform(n, rng), gamma_weights(n), space=space)
    times = np.array([0.1, 0.3])
    family = heat_family(measure, times)
    drawn = np.array([family.values(uniform_null.uniform_measure(measure, rng), 1e-6) for _ in range(700)])
    eigenvalues, logs = space_levels(space, 0.1)
    w = measure.weights
    for place, time in enumerate(times):
        c = np.exp(-2 * time * eigenvalues)
        mean, variance = np.sum(np.exp(logs) * c), 2 * np.sum(np.exp(logs) * c**2)
        variance *= 1 - np.sum(w**4) / np.sum(w**2) ** 2
        column = drawn[:, place]
        assert abs(column.mean() - mean) < 4.5 * math.sqrt(variance / len(column))
        spread = np.std((column - mean) ** 2) / math.sqrt(len(column))
        assert abs(np.mean((column - mean) ** 2) - variance) < 4.5 * spread


def test_levels_of_products_and_tori_are_those_of_their_factors():
    """sum N exp(-2 lambda t) = k_2t(x, x) - 1."""
    for case in COMPACT:
        space, time = case.space(), float(case.times(3)[1])
        eigenvalues, logs = space_levels(space, time)
        total = np.sum(np.exp(logs - 2 * time * eigenvalues))
        assert total == pytest.approx(np.expm1(space.pair_kernel.log_diagonal(np.array([time]))[0]), rel=1e-10)
        assert (np.diff(eigenvalues) > 0).all()


def test_the_combination_is_calibrated():
    """Random chi-square draws of the limit, unlike the quasi-random ones that calibrate, give uniform p-values."""
    measure = Measure(he.samplers.uniform(150, rng=0))
    family = heat_family(measure, uniformity.default_scales(measure).times)
    law, levels, rng = LimitLaw(family.levels, 1.0), family.levels, np.random.default_rng(1)
    chi = rng.chisquare(np.exp(levels.log_multiplicities), size=(30_000, levels.coefficients.shape[1]))
    values = chi @ levels.coefficients.T
    ranks = stats.rankdata(-values[:20_000], axis=0) / 20_001
    order = np.sort(values[:20_000], axis=0)
    p = np.stack([1 - np.searchsorted(order[:, k], values[20_000:, k]) / 20_000 for k in range(family.size)], axis=1)
    p = np.clip(p, 0.5 / 20_000, 1)
    combined = np.array([law.combined(row) for row in p])
    for level in (0.01, 0.05, 0.1, 0.5):
        assert abs(np.mean(combined <= level) - level) < 4.5 * math.sqrt(level * (1 - level) * (1e-4 + 0.5e-4))
    assert ranks.min() > 0


def test_small_p_values_are_combined_by_the_tail_of_the_combination():
    measure = Measure(he.samplers.uniform(150, rng=0))
    family = heat_family(measure, uniformity.default_scales(measure).times)
    law = LimitLaw(family.levels, 1.0)
    found = np.array([law.combined(np.r_[10.0**-k, np.full(7, 0.5)]) for k in np.arange(0.5, 15, 0.5)])
    assert (np.diff(found) < 0).all()
    ratio = found / 10.0 ** -np.arange(0.5, 15, 0.5)
    assert ratio[-1] == pytest.approx(ratio[-8], rel=1e-3)
    assert 1 < ratio[-1] < 12  # eight p-values, at most twelve times the least
    assert law.combined(np.full(8, 1.0)) > 0.95


def test_limit_and_draws_agree():
    x, w = he.samplers.von_mises_fisher(150, [0, 0, 1], 0.3, rng=5), gamma_weights(150)
    limit = he.uniformity_test(x, w, weights_are="fixed")
    drawn = he.uniformity_test(x, w, weights_are="fixed", draws=600, rng=0)
    assert (limit.method, drawn.method) == ("limit", "monte carlo")
    both = zip(np.r_[limit.pvalues, limit.pvalue], np.r_[drawn.pvalues, drawn.pvalue], strict=True)
    for one, other in both:
        assert abs(one - other) < 4.5 * math.sqrt(one * (1 - one) / 600) + 0.012


def test_p_values_from_draws_count_the_observed_one():
    drawn = np.arange(1.0, 10.0)[:, None]
    assert from_draws(np.array([100.0]), drawn) == (pytest.approx([0.1]), pytest.approx(0.1))
    assert from_draws(np.array([0.0]), drawn)[1] == 1.0
    assert from_draws(np.array([5.0]), drawn)[0] == pytest.approx([0.6])  # ties count against
    assert cauchy(np.array([0.25, 0.75])) == pytest.approx(0.0, abs=1e-12)


def test_one_place_is_no_evidence():
    for points in ([[0, 0, 1]], [[0, 0, 1]] * 3):
        found = he.uniformity_test(points[:1], draws=19, rng=0)
        assert found.pvalue == 1.0
    with pytest.warns(he.CalibrationWarning, match="7 of 8 points are exact copies.*keep one of them"):
        assert he.uniformity_test([[0.0, 0, 1]] * 8, draws=199, rng=0).pvalue == pytest.approx(1 / 200)


def test_resampled_points_have_no_p_value_without_a_warning():
    rng = np.random.default_rng(0)
    x = he.samplers.uniform(50, rng=rng)
    resampled, other = x[rng.integers(0, 50, 200)], he.samplers.uniform(60, rng=rng)
    for of, test in (
        ("", lambda: he.uniformity_test(resampled)),
        (" of b", lambda: he.two_sample_test(other, resampled, draws=19, rng=0)),
        (" of sample 1", lambda: he.k_sample_test([other, resampled], draws=19, rng=0)),
        ("", lambda: he.goodness_of_fit(resampled, "von_mises_fisher", draws=19, rng=0)),
    ):
        with pytest.warns(he.CalibrationWarning, match=f"of 200 points{of} are exact copies.*as they were before"):
            test()
    he.two_sample_test(other, x, draws=19, rng=0)  # warnings are errors here
    few = he.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    he.two_sample_test([0, 1, 2, 1, 0, 2], [1, 1, 2, 0], space=few, draws=19, rng=0)  # draws on nodes are often alike


# Invariance, choices.


def test_rotations_order_and_scale_of_weights_change_nothing():
    x, w = he.samplers.uniform(120, rng=1), gamma_weights(120)
    turned = Rotation.from_euler("xyz", [1, 2, 3]).apply(x)
    order = np.random.default_rng(0).permutation(120)
    one = he.uniformity_test(x, w, weights_are="fixed")
    for other in (
        he.uniformity_test(turned, 7 * w, weights_are="fixed"),
        he.uniformity_test(x[order], log_weights=np.log(w[order]), weights_are="fixed"),
        he.uniformity_test(he.Measure(np.r_[x, x[:5]], np.r_[w, np.zeros(5)]), weights_are="fixed"),
    ):
        assert other.pvalues == pytest.approx(one.pvalues, rel=1e-6)
        assert other.pvalue == pytest.approx(one.pvalue, rel=1e-6)
    assert (one.n, other.n) == (120, 125)  # as in profiles, with the atoms of zero weight


def test_three_names_of_the_circle_give_one_answer():
    angle = np.random.default_rng(2).uniform(0, 2 * math.pi, 80)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    one = he.uniformity_test(x)
    for space in (he.Circle(), he.Torus(1)):
        assert he.uniformity_test(angle, space=space).pvalue == pytest.approx(one.pvalue, rel=1e-7)


def test_default_scales_depend_on_the_space_and_the_ess_alone():
    even, patch = he.samplers.fibonacci(90), he.samplers.von_mises_fisher(90, [0, 0, 1], 100.0, rng=0)
    one, other = (uniformity.default_scales(he.Measure(x)) for x in (even, patch))
    assert np.array_equal(one.times, other.times)
    places = np.exp(he.Sphere(2).pair_kernel.log_diagonal(one.times))
    assert places == pytest.approx(np.geomspace(2, 0.99 * 90**2 / 30, 5), rel=1e-4)


def test_draws_are_repeated_by_rng_and_the_limit_is_not_random():
    x = he.samplers.uniform(30, rng=0)
    one, two, other = (he.uniformity_test(x, draws=99, rng=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.pvalues, two.pvalues)
    assert not np.array_equal(one.pvalues, other.pvalues)
    y = he.samplers.uniform(60, rng=0)
    assert he.uniformity_test(y).pvalue == he.uniformity_test(y).pvalue


def test_the_method_follows_the_weights_and_the_scale():
    x = he.samplers.uniform(60, rng=0)
    measure, uneven = he.Measure(x), np.ones(60)
    uneven[0] = 30
    assert he.uniformity_test(x).method == "limit"
    assert not uniform_null.limit_holds(he.Measure(x[:40]), None)
    assert not uniform_null.limit_holds(he.Measure(x, uneven), None)
    assert uniform_null.limit_holds(measure, uniformity.default_scales(measure))
    assert not uniform_null.limit_holds(measure, heatess.measures.scales.resolve(he.Sphere(2), angles=[3]))
    found = he.uniformity_test(x[:20], angles=[60], rng=0)
    assert (found.method, found.draws) == ("monte carlo", 999)
    assert he.uniformity_test(x, np.linspace(1, 1.2, 60), draws=19, rng=0).method == "multiplier"


@pytest.mark.parametrize(**space_cases.named(COMPACT))
@pytest.mark.slow
def test_uniform_points_of_every_space_are_accepted_and_clumped_ones_are_not(case):
    space = case.space()
    points = he.samplers.uniform(64, space=space, rng=11)
    assert he.uniformity_test(points, space=space).pvalue > 1e-3
    clumped = space_cases.taken(points, np.arange(64) % 4)
    with pytest.warns(he.CalibrationWarning, match="60 of 64 points are exact copies"):
        assert he.uniformity_test(clumped, space=space).pvalue < 1e-6


def test_degrees_and_radians_are_one_torus():
    x = np.random.default_rng(4).uniform(0, 360, size=(70, 2))
    one = he.uniformity_test(x, space=he.Torus(2, units="deg"))
    other = he.uniformity_test(np.radians(x), space=he.Torus(2))
    assert one.pvalues == pytest.approx(other.pvalues, rel=1e-6)
    assert one.expected == pytest.approx(other.expected, rel=1e-6)


def test_many_points_on_the_circle_need_no_draws():
    found = he.uniformity_test(np.random.default_rng(0).uniform(0, 6.28318, 3000), space=he.Circle())
    assert found.method == "limit"
    assert found.expected[-1] == pytest.approx(499, rel=1e-3)


def test_high_dimension_needs_no_scale():
    x = he.samplers.uniform(120, 383, rng=0)
    found = he.uniformity_test(x)
    assert found.method == "limit"
    assert 1e-3 < found.pvalue < 1
    shifted = x + 0.3 * np.eye(384)[0]
    shifted /= np.linalg.norm(shifted, axis=1, keepdims=True)
    assert he.uniformity_test(shifted).pvalue < 1e-6


# Importance weights.


def test_importance_weights_ask_whether_the_target_is_uniform():
    kappa, n = 1.0, 200
    x = he.samplers.von_mises_fisher(n, [0, 0, 1], kappa, rng=4)
    log_weights = -kappa * x[:, 2]
    assert he.uniformity_test(x).pvalue < 1e-6  # the points are not uniform
    found = he.uniformity_test(x, log_weights=log_weights, draws=199, rng=0)
    assert (found.method, found.weights_are) == ("multiplier", "importance")
    assert found.pvalue > 0.02  # their target is
    wrong = he.uniformity_test(x, log_weights=-2.2 * log_weights, draws=199, rng=0)
    assert wrong.pvalue <= 0.01


def test_heavy_tails_of_importance_weights_are_refused():
    x = he.samplers.uniform(2000, rng=0)
    weights = np.random.default_rng(3).uniform(size=2000) ** -0.85
    weights[np.argsort(weights)[-3:]] /= 4  # so that the ESS does not show it
    assert he.Measure(x, weights).ess > 50
    with pytest.raises(he.KindError, match="variance of the importance weights rests on"):
        he.uniformity_test(x, weights, draws=19, rng=0)
    assert he.uniformity_test(x, weights, weights_are="fixed", draws=19, rng=0).pvalue > 0.04


@pytest.mark.parametrize("engine", [Spectral(), Pairs()])
def test_signed_sums_are_those_of_plain_numpy(engine, monkeypatch):
    monkeypatch.setattr(plan, "ENGINES", (engine,))
    x = he.samplers.uniform(25, rng=0)
    measure = Measure(x)
    family = heat_family(measure, np.array([0.05, 0.2]))
    v = np.random.default_rng(0).normal(size=(25, 3))
    cosines = x @ x.T
    found = family.signed(measure, lambda _: v, 3)
    for place, time in enumerate((0.05, 0.2)):
        form = sum(
            (2 * k + 1) * math.exp(-2 * k * (k + 1) * time) * np.polynomial.legendre.Legendre.basis(k)(cosines)
            for k in range(1, 30)
        )
        assert found[:, place] == pytest.approx(np.einsum("ib,ij,jb->b", v, form, v), rel=1e-9)
    first = np.einsum("ib,ij,jb->b", v, 3 * cosines, v)
    assert found[:, 2] == pytest.approx(first, rel=1e-9)


def with_signs(measure, draws, rng):
    """The weights of a measure, and those weights with random signs as the test draws them, one column each."""
    weights = np.asarray(measure.weights)
    moved = (rng.integers(2, size=(measure.n, draws)) * 2.0 - 1) * (weights / (1 - weights))[:, None]
    return np.column_stack([weights, moved - np.outer(weights, moved.sum(axis=0))])


def all_pairs(family, measure, columns):
    """Signed sums over the whole matrix of pairs."""
    kernel = measure.space.pair_kernel.fitted(np.array([0.1]), 1e-8)
    rows = kernel.rows(measure.points, slice(None))
    if isinstance(family, uniformity_families.HeatFamily):
        terms = kernel.fitted(family._times, 1e-8).terms(rows, rows)
        found = [terms(float(time)).excess for time in family._times]
    else:
        found = family._kernels().of_distance(kernel.distances(rows, rows))
    found = [np.einsum("ib,ij,jb->b", columns, form, columns) for form in found]
    return np.stack(found, axis=1)


@pytest.mark.parametrize(
    "space",
    [
        *(he.Sphere(1), he.Circle(), he.Sphere(2), he.Sphere(3), he.Sphere(9), he.Projective(2), he.Rotations()),
        *(he.Torus(2), he.Torus(5), he.Product(he.Sphere(2), he.Circle()), he.ComplexProjective(2)),
    ],
    ids=repr,
)
def test_signed_sums_by_transforms_are_those_of_all_pairs(space, monkeypatch):
    rng = np.random.default_rng(7)
    measure = Measure(space.uniform(120, rng), rng.gamma(3, size=120), space=space)
    family, columns = heat_family(measure, default_scales(measure).times), with_signs(measure, 9, rng)
    expected = all_pairs(family, measure, columns)
    for engine in (Spectral(), Pairs()) if space.transform is not None else (Pairs(),):
        monkeypatch.setattr(plan, "ENGINES", (engine,))
        assert family.signed(measure, lambda _: columns, 10) == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
def test_classical_statistics_of_many_weighted_points_are_those_of_all_pairs(monkeypatch):
    rng = np.random.default_rng(8)
    measure = Measure(he.samplers.uniform(300, rng=rng), rng.gamma(3, size=300))
    columns = with_signs(measure, 9, rng)
    for name in ("rayleigh", "ajne", "bakshaev", [1.0, 0.5, 0.25]):
        family = sobolev_family(measure.space, sobolev(measure.space, name))
        expected = all_pairs(family, measure, columns)
        monkeypatch.setattr(plan, "ENGINES", (Pairs(),))
        assert family.signed(measure, lambda _: columns, 10) == pytest.approx(expected, rel=1e-10)
        monkeypatch.setattr(plan, "ENGINES", (Spectral(),))
        monkeypatch.setattr(uniformity_families, "PAIR_ATOMS", 100)
        by_levels = family.signed(measure, lambda _: columns, 10)
        assert by_levels == pytest.approx(expected, rel=1e-4)  # beyond 1,024 levels an atom meets only itself
        monkeypatch.undo()


@pytest.mark.slow
def test_many_points_with_importance_weights_take_seconds():
    kappa, n = 1.0, 20_000
    x = he.samplers.von_mises_fisher(n, [0, 0, 1], kappa, rng=4)
    found = he.uniformity_test(x, log_weights=-kappa * x[:, 2], draws=99, rng=0)
    assert (found.method, found.n) == ("multiplier", n)
    assert found.pvalue > 0.02
    assert he.uniformity_test(x, log_weights=-0.8 * kappa * x[:, 2], draws=99, rng=0).pvalue == 0.01
    few = he.Measure(x[:400], log_weights=-kappa * x[:400, 2])
    plain = he.heat_profile(few, times=he.uniformity_test(few, draws=19, rng=0).times)
    again = he.uniformity_test(few, draws=19, rng=0)
    assert again.statistics == pytest.approx(few.ess * plain.mmd2, rel=1e-7)


# Size and power.


@pytest.mark.slow
def test_size_with_draws_is_exact():
    """20 atoms, equal and gamma weights, 19 draws: 20 % within four standard errors."""
    rng, hits = np.random.default_rng(12), []
    for number in range(200):
        weights = None if number % 2 else gamma_weights(20, number)
        x = he.samplers.uniform(20, rng=rng)
        found = he.uniformity_test(x, weights, weights_are="fixed", draws=19, rng=rng, angles=[25, 60])
        hits.append(found.pvalue <= 0.2)
    assert abs(np.mean(hits) - 0.2) < 4 * math.sqrt(0.2 * 0.8 / 200)


@pytest.mark.slow
def test_size_with_draws_at_five_per_cent():
    rng, hits = np.random.default_rng(13), []
    for number in range(500):
        weights = None if number % 2 else gamma_weights(20, number)
        found = he.uniformity_test(he.samplers.uniform(20, rng=rng), weights, weights_are="fixed", draws=39, rng=rng)
        hits.append(found.pvalue <= 0.05)
    assert abs(np.mean(hits) - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 500)


@pytest.mark.slow
def test_size_of_the_limit_at_200_atoms():
    """By turns with and without weights: seen is a size above 10 %, or above 15 % if only one of the two is wrong."""
    rng, weights = np.random.default_rng(21), gamma_weights(200, 3)
    hits = [
        he.uniformity_test(he.samplers.uniform(200, rng=rng), given, weights_are="fixed").pvalue <= 0.05
        for given in [None, weights] * 150
    ]
    assert abs(np.mean(hits) - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
def test_size_with_importance_weights():
    rng, hits = np.random.default_rng(31), []
    for _ in range(250):
        x = he.samplers.von_mises_fisher(120, [0, 0, 1], 0.8, rng=rng)
        hits.append(he.uniformity_test(x, log_weights=-0.8 * x[:, 2], draws=99, rng=rng).pvalue <= 0.05)
    assert abs(np.mean(hits) - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 250)


@pytest.mark.slow
def test_power_against_one_broad_mode_is_close_to_that_of_rayleigh():
    rng, ours, rayleigh = np.random.default_rng(2), 0, 0
    for _ in range(20):
        x = he.samplers.von_mises_fisher(100, [0, 0, 1], 0.7, rng=rng)
        found = he.uniformity_test(x)
        ours += found.pvalue <= 0.05
        rayleigh += found.degrees.pvalues[0] <= 0.05
    assert rayleigh >= 10
    assert ours >= 0.7 * rayleigh


def test_a_small_cluster_is_found_where_rayleigh_sees_nothing():
    rng = np.random.default_rng(0)
    ring = np.r_[he.samplers.uniform(180, rng=rng), he.samplers.von_mises_fisher(10, [0, 0, 1], 400.0, rng=rng)]
    ring = np.r_[ring, he.samplers.von_mises_fisher(10, [0, 0, -1], 400.0, rng=rng)]
    found = he.uniformity_test(ring)
    assert found.pvalue < 1e-3
    assert he.uniformity_test(ring, statistic="rayleigh").pvalue > 0.01


# Results and refusals.


def test_the_result_reads_like_a_report_and_becomes_plain_values():
    found = he.uniformity_test(he.samplers.fibonacci(100))
    assert repr(found).startswith("UniformityTest(Sphere(2), n=100, ess=100: p = ")
    assert "by limit; least" in repr(found)
    plain = json.loads(found.to_json())
    assert plain["schema"] == "heatess.uniformity/1"
    assert plain["degrees"]["degrees"] == [1, 2, 3, 4]
    assert len(plain["pvalues"]) == 5
    frame = found.to_frame()
    assert frame.attrs["method"] == "limit"
    assert list(frame["pvalues"]) == list(found.pvalues)
    assert "pvalues" in found._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        found.pvalues[0] = 0.0
    drawn = he.uniformity_test(he.samplers.fibonacci(20), statistic="ajne", draws=19, rng=0)
    assert "monte carlo, 19 draws; Ajne" in repr(drawn)


def test_the_plot_has_scales_degrees_and_the_combined_p_value():
    found = he.uniformity_test(he.samplers.von_mises_fisher(100, [0, 0, 1], 0.5, rng=0))
    ax = found.plot()
    drawn = {line.get_gid(): line for line in ax.get_lines()}
    assert sorted(drawn["heatess-curve-0"].get_ydata()) == pytest.approx(sorted(found.pvalues))
    assert list(drawn["heatess-degrees"].get_ydata()) == pytest.approx(list(found.degrees.pvalues))
    assert drawn["heatess-combined"].get_ydata()[0] == pytest.approx(found.pvalue)
    assert ax.get_ylim()[0] < found.pvalues.min()
    classical = he.uniformity_test(he.samplers.fibonacci(100), statistic="gine")
    other = he.samplers.fibonacci(100)
    assert he.uniformity_test(other).plot(ax) is ax
    assert classical.plot().get_lines()[0].get_ydata()[0] == pytest.approx(classical.pvalue)


@pytest.mark.parametrize(
    ("space", "points", "message"),
    [
        (he.Euclidean(2), np.zeros((3, 2)), "no uniform distribution"),
        (he.Hyperbolic(2), [[1.0, 0, 0]], "no uniform distribution"),
        (he.Graph(np.ones((4, 4)) - np.eye(4)), [0, 1], "homogeneous"),
    ],
)
def test_spaces_without_a_uniform_law_are_refused(space, points, message):
    with pytest.raises(he.InputError, match=message):
        he.uniformity_test(points, space=space)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"statistic": "kuiper"}, "rayleigh, bingham, ajne"),
        ({"statistic": "watson"}, "of the circle"),
        ({"statistic": [-1.0]}, "not negative"),
        ({"statistic": lambda degree: 1.0 / degree}, "too slowly"),
        ({"statistic": "ajne", "angles": [5]}, "not both"),
        ({"draws": 5}, "draws must be a whole number >= 19"),
        ({"rng": -1}, "rng must be"),
        ({"weights_are": "random"}, "weights_are must be"),
        ({"angles": [1e-4]}, "nothing to test"),
        ({"weights": np.arange(1, 31), "rng": 0}, "rests on|points, and with weights that depend on the points 25"),
    ],
)
def test_bad_arguments_are_refused_with_a_way_out(arguments, message):
    with pytest.raises(he.InputError, match=message):
        he.uniformity_test(he.samplers.fibonacci(30), **arguments)


def test_statistics_of_other_spaces_are_refused():
    with pytest.raises(he.InputError, match='give "bingham"'):
        he.uniformity_test(he.samplers.fibonacci(30), space=he.Projective(2), statistic="rayleigh")
    with pytest.raises(he.InputError, match="no function of axes"):
        he.uniformity_test(he.samplers.fibonacci(30), space=he.Projective(2), statistic="ajne")
    with pytest.raises(he.InputError, match="leave it out"):
        he.uniformity_test(np.random.default_rng(0).uniform(size=(30, 2)), space=he.Torus(2), statistic="rayleigh")


def test_what_would_take_too_long_is_refused():
    x = he.samplers.uniform(60_000, 9, rng=0)
    with pytest.raises(he.CostError, match=r"999 draws of 60,000 points .* about \d+ minutes .* fewer draws") as caught:
        he.uniformity_test(x, gamma_weights(60_000))
    assert caught.value.seconds > 1800
    with pytest.raises(he.CostError, match="fewer draws"):
        he.uniformity_test(he.samplers.uniform(3000, 9, rng=0), draws=10**7)


def test_levels_need_not_be_many():
    levels = NullLevels(np.array([[1.0], [0.5]]), np.array([math.log(3)]), np.zeros(2))
    assert LimitLaw(levels, 1.0).combined(np.array([0.2, 0.2])) == pytest.approx(0.2, abs=0.002)


def test_the_least_p_value_in_the_repr_is_that_of_all():
    # A mode in degree 3 alone, tested at a scale that sees little of it: the combined p-value is the smaller one.
    x = he.samplers.tetrahedral(60, 6.0, rng=3)
    found = he.uniformity_test(x, angles=120)
    lowest = int(np.argmin(found.degrees.pvalues))
    assert found.degrees.pvalues[lowest] < found.pvalues[0]
    assert repr(found).endswith(f"least {found.degrees.pvalues[lowest]:.3g} in degree {lowest + 1})")


def test_the_tail_of_importance_weights_is_that_which_the_user_sees():
    # Zero weights are draws for pareto_k: with them the tail is longer, and here heavier.
    weights = np.append(1 / (np.arange(4000) + 0.5), np.zeros(12_000))
    weights[:12] = weights[12]
    k = he.pareto_k(weights=weights)
    assert k > 0.7 > he.pareto_k(weights=weights[:4000])
    with pytest.raises(he.KindError, match=rf"Pareto k of the importance weights is {k:.2f}"):
        he.uniformity_test(he.samplers.uniform(16_000, rng=0), weights, rng=0)


@pytest.mark.parametrize("statistic", [None, "rayleigh", "gine"])
def test_no_p_value_is_zero(statistic):
    found = he.uniformity_test(he.samplers.von_mises_fisher(1000, [0.0, 0.6, 0.8], 1e9, rng=0), statistic=statistic)
    assert found.method == "limit"
    assert (np.append(found.pvalues, found.degrees.pvalues) == 1e-300).all()
    assert 1e-300 <= found.pvalue < 1e-290


def test_weights_that_are_equal_but_for_rounding_or_zero_are_fixed():
    x = he.samplers.uniform(60, rng=1)
    weights = np.full(60, 1 / 60)
    weights[0] = 1 - weights[1:].sum()
    assert np.ptp(weights) > 0
    found = he.uniformity_test(x, weights)
    assert found.weights_are == "fixed"
    assert found.pvalue == pytest.approx(he.uniformity_test(x).pvalue, rel=1e-9)
    kept = np.arange(60) % 3 > 0
    masked, taken = he.uniformity_test(x, kept, draws=19, rng=0), he.uniformity_test(x[kept], draws=19, rng=0)
    assert (masked.pvalue, masked.weights_are, masked.n) == (taken.pvalue, "fixed", 60)
    assert he.population_profile(x, kept, angles=[40]).weights_are == "fixed"
    assert he.two_sample_test(he.Measure(x, kept), x[~kept], draws=19, rng=0).weights_are == "fixed"
    assert he.population_profile(x, 1 + 1e-6 * kept, angles=[40]).weights_are == "importance"
