"""Thinning: against brute force, and a certificate that must hold whatever is thrown at it."""

from __future__ import annotations

import json
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import heatess as he
import space_cases
from heatess.inference import certificate, thinning
from heatess.inference.certificate import certify
from heatess.inference.herding import Candidates, choose, simplex_weights
from heatess.inference.thinning import thin


def kernel_on_the_sphere(x: np.ndarray, y: np.ndarray, time: float) -> np.ndarray:
    """k_2t on S^2, by the series."""
    u = np.clip(x @ y.T, -1, 1)
    count = int(math.sqrt(40 / time)) + 4
    total, before, now = np.ones_like(u), np.ones_like(u), u
    for degree in range(1, count):
        total += (2 * degree + 1) * math.exp(-2 * degree * (degree + 1) * time) * now
        before, now = now, ((2 * degree + 1) * u * now - degree * before) / (degree + 1)
    return total


def brute_mmd(kernel: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    return math.sqrt(max(float((one - other) @ kernel @ (one - other)), 0.0))


def on_all_rows(found: he.Thinned) -> np.ndarray:
    weights = np.zeros(found.n)
    weights[found.indices] = found.weights
    return weights


def cloud_of(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Some modes of different width, and weights that are not equal."""
    parts = [he.samplers.von_mises_fisher(n, he.Sphere(2).uniform(1, rng)[0], k, rng=rng) for k in (3.0, 30.0, 300.0)]
    points = np.concatenate(parts)[rng.permutation(3 * n)[:n]]
    return points, rng.gamma(rng.choice([0.3, 1.0, 10.0]), size=n) + 1e-12


@pytest.mark.parametrize("angle", [8, 20, 60])
@pytest.mark.parametrize("size", [1, 7, 60])
def test_the_mmd_is_that_of_brute_force_and_never_less(size, angle):
    rng = np.random.default_rng(size + angle)
    points, weights = cloud_of(rng, 400)
    found = thin(points, weights, size=size, angle=angle)
    exact = brute_mmd(kernel_on_the_sphere(points, points, found.time), weights / weights.sum(), on_all_rows(found))
    assert exact <= found.mmd * (1 + 1e-9) + 1e-12
    assert found.mmd == pytest.approx(exact, rel=1e-4, abs=3e-7)
    assert found.size <= size
    assert found.weights.min() > 0
    assert found.weights.sum() == pytest.approx(1, abs=1e-14)
    assert (np.diff(found.indices) > 0).all()


def test_the_mmd_in_flat_space_is_that_of_the_overlap():
    rng = np.random.default_rng(4)
    points, weights = rng.normal(size=(300, 2)), rng.random(300)
    found = thin(points, weights, size=40, resolution=1.5, space=he.Euclidean(2))
    squares = np.square(points[:, None] - points).sum(axis=2)
    exact = brute_mmd(np.exp(-squares / 1.5**2), weights / weights.sum(), on_all_rows(found))
    assert exact <= found.mmd
    assert found.mmd == pytest.approx(exact, rel=1e-3, abs=1e-5)
    assert not found.covers_coarser
    assert repr(found).endswith("% there)")
    assert "gESS within a factor" in repr(thin(points, weights, size=5, resolution=0.2, space=he.Euclidean(2)))


def change_of_gess(found: he.Thinned, measure: he.Measure) -> float:
    """The largest change of log gESS at the scale and, where the bound says so, at coarser ones."""
    reach = np.concatenate([np.geomspace(1, 30, 40), [100.0, 1000.0]]) if found.covers_coarser else [1.0]
    times = found.time * np.array(reach)
    before, after = (he.heat_profile(which, times=times, rtol=1e-10).gess for which in (measure, found.measure))
    return float(np.abs(np.log(after / before)).max())


@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
@pytest.mark.filterwarnings("ignore::heatess.PrecisionWarning")  # of mmd2 and of meshes: only gess is used
@pytest.mark.slow
def test_the_certificate_holds_on_every_space(case):
    rng = np.random.default_rng(11)
    points, weights = case.points(60, rng), rng.gamma(0.5, size=60)
    measure = he.Measure(points, weights, space=case.space())
    for time in case.times(3)[1:]:
        found = thin(measure, size=12, time=time)
        assert change_of_gess(found, measure) <= found.bound * (1 + 1e-6) + 1e-9
        assert_array_equal(found.measure.points, measure.points[found.indices])
        assert found.mmd > 0


def random_case(seed: int) -> tuple[he.Thinned, he.Measure]:
    """A cloud, weights, a size and a scale, all random, on one of five spaces."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 150))
    kind = seed % 5
    if kind == 0:
        measure = he.Measure(*cloud_of(rng, n))
    elif kind == 1:
        angles = np.concatenate([rng.normal(rng.uniform(0, 6), rng.uniform(0.01, 2), n), rng.uniform(-3, 3, 3)])
        measure = he.Measure(np.clip(angles, -12, 12), rng.gamma(0.4, size=n + 3), space=he.Circle())
    elif kind == 2:
        measure = he.Measure(rng.normal(0, 1, (n, 2)).clip(-12, 12), rng.random(n), space=he.Torus(2))
    elif kind == 3:
        measure = he.Measure(he.Sphere(5).uniform(n, rng), rng.gamma(2.0, size=n))
    else:
        measure = he.Measure(he.Rotations().uniform(n, rng), rng.gamma(0.5, size=n), space=he.Rotations())
    angle = float(np.exp(rng.uniform(np.log(25 if kind > 2 else 8), np.log(150))))
    return thin(measure, size=int(rng.integers(1, 40)), angle=angle), measure


def violations(seeds: range) -> list[int]:
    found = []
    for seed in seeds:
        thinned, measure = random_case(seed)
        if change_of_gess(thinned, measure) > thinned.bound + 1e-8:
            found.append(seed)
    return found


@pytest.mark.filterwarnings("ignore::heatess.PrecisionWarning")  # of mmd2, which is not used here
@pytest.mark.slow
def test_the_certificate_is_not_violated_in_forty_random_cases():
    assert violations(range(40)) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::heatess.PrecisionWarning")
def test_the_certificate_is_not_violated_in_a_thousand_random_cases():
    assert violations(range(1000, 2000)) == []


def test_the_bound_covers_coarser_scales_at_which_it_would_be_larger():
    # Both measures have the same sharp atom, which makes A large at fine scales; they differ in a coarse tilt alone.
    grid = he.samplers.fibonacci(4000)
    points = np.concatenate([grid, [[0.0, 0.0, 1.0]]])
    plain, tilted = (np.append(0.8 * (1 + tilt * grid[:, 2]) / 4000, 0.2) for tilt in (0.0, 0.9))
    one, other = (he.Measure(points, weights) for weights in (plain, tilted))
    found = certify(one, other, float(np.radians(6) ** 2 / 8), 1e-8)
    mmd2 = he.mmd2(one, other, times=found.times)
    ratios = []
    for time, square in zip(found.times, mmd2, strict=True):
        power = min(1 + he.heat_profile(part, times=[time]).mmd2[0] for part in (one, other))
        ratios.append(math.sqrt(square / power))
    assert max(ratios) > 2 * ratios[0]
    assert found.bound >= 2 * math.log1p(max(ratios))
    assert found.bound == pytest.approx(2 * math.log1p(max(ratios)), rel=0.02)


def test_the_bound_needs_the_smaller_of_the_two_powers():
    # With A of the first measure alone, 2 log(1 + MMD / sqrt A) would be less than the change.
    one, other = he.Measure([[0, 0, 1.0]]), he.Measure(he.samplers.fibonacci(200))
    found = certify(one, other, 0.01, 1e-8)
    before, after = (he.heat_profile(part, times=[0.01]) for part in (one, other))
    change = abs(math.log(after.gess[0] / before.gess[0]))
    assert 2 * math.log1p(found.mmd / math.sqrt(1 + before.mmd2[0])) < change <= found.bound


def test_between_the_times_of_the_grid_the_bound_is_that_of_convexity():
    rng = np.random.default_rng(5)
    rates, fine = np.array([0.5, 2.0, 6.0, 12.0]), np.linspace(0.1, 8.0, 4001)
    for _ in range(50):
        difference, energy = rng.gamma(0.3, size=(2, 4))
        times = np.geomspace(0.1, 8.0, int(rng.integers(2, 12)))

        def at(t, weights, constant):
            return np.log(constant + np.exp(-np.multiply.outer(t, rates)) @ weights)

        bound = certificate._largest_ratio(times, at(times, difference, 0.0), at(times, energy, 1.0))
        truth = np.exp((at(fine, difference, 0.0) - at(fine, energy, 1.0)) / 2).max()
        assert bound >= truth * (1 - 1e-12)


def test_enough_atoms_are_all_kept_and_nothing_changes():
    places = he.samplers.fibonacci(30)
    labels = np.repeat(places, 10, axis=0)
    weights = np.tile([1.0, 0.0, 2.0, 0, 0, 0, 0, 0, 0, 1.0], 30)
    found = thin(labels, weights, size=30, angle=10)
    assert (found.mmd, found.bound, found.size, found.n) == (0.0, 0.0, 30, 300)
    assert_array_equal(found.indices, np.arange(0, 300, 10))
    assert_allclose(found.weights, 1 / 30, rtol=1e-14)


def test_rows_without_weight_are_never_kept():
    rng = np.random.default_rng(2)
    points, weights = he.Sphere(2).uniform(200, rng), rng.random(200)
    weights[::2] = 0
    assert (thin(points, weights, size=20, angle=30).indices % 2 == 1).all()


def test_splitting_atoms_changes_nothing():
    rng = np.random.default_rng(3)
    points, weights = cloud_of(rng, 150)
    whole = thin(points, weights, size=20, angle=20)
    split = thin(np.concatenate([points, points]), np.tile(weights, 2), size=20, angle=20)
    assert_array_equal(whole.indices, split.indices)
    assert_allclose(whole.weights, split.weights, rtol=1e-6)


def test_one_atom_is_the_best_one():
    rng = np.random.default_rng(8)
    points, weights = cloud_of(rng, 120)
    found = thin(points, weights, size=1, angle=40)
    kernel = kernel_on_the_sphere(points, points, found.time)
    each = [brute_mmd(kernel, weights / weights.sum(), row) for row in np.eye(120)]
    assert found.indices.tolist() == [int(np.argmin(each))]
    assert found.mmd == pytest.approx(min(each), rel=1e-6)


@pytest.mark.parametrize("name", ["four modes", "uniform"])
def test_it_is_twenty_times_better_than_a_random_subset(name):
    rng = np.random.default_rng(6)
    n = 3000
    points = he.samplers.tetrahedral(n, 140.0, rng=rng) if name == "four modes" else he.Sphere(2).uniform(n, rng)
    found = thin(points, size=200, angle=20)
    random = [he.mmd2(points, points[rng.choice(n, 200, replace=False)], angles=20)[0] for _ in range(10)]
    assert found.mmd <= math.sqrt(np.mean(random)) / 20


def test_few_candidates_stand_for_many_atoms(monkeypatch):
    rng = np.random.default_rng(7)
    points = he.samplers.tetrahedral(1200, 100.0, rng=rng)
    every = thin(points, size=30, angle=25)
    monkeypatch.setattr(thinning, "CANDIDATES", 300)
    few = thin(points, size=30, angle=25)
    exact = brute_mmd(kernel_on_the_sphere(points, points, few.time), np.full(1200, 1 / 1200), on_all_rows(few))
    assert exact <= few.mmd == pytest.approx(exact, rel=1e-4)
    assert few.mmd < 5 * every.mmd


@pytest.mark.parametrize("error", [0.3, 0.02, 1e-3])
def test_an_error_is_met_with_few_atoms(error):
    rng = np.random.default_rng(9)
    points = he.samplers.tetrahedral(800, 60.0, rng=rng)
    measure = he.Measure(points, rng.random(800))
    found = thin(measure, error=error, angle=25)
    assert math.expm1(found.bound) <= error
    assert math.expm1(change_of_gess(found, measure)) <= error
    assert found.size < {0.3: 30, 0.02: 80, 1e-3: 160}[error]
    fewer = thin(measure, size=max(1, found.size // 2), angle=25)
    assert math.expm1(fewer.bound) > error


def test_an_error_too_small_for_fewer_keeps_all():
    points = he.samplers.fibonacci(25)
    found = thin(points, error=1e-6, angle=5)
    assert (found.size, found.mmd) == (25, 0.0)


def test_parts_thinned_on_their_own_and_joined_are_as_good_as_their_parts():
    rng = np.random.default_rng(10)
    points = he.samplers.tetrahedral(1000, 60.0, rng=rng)
    parts = [thin(part, size=40, angle=25) for part in (points[:600], points[600:])]
    joined = np.concatenate([part.measure.points for part in parts])
    weights = np.concatenate([0.6 * parts[0].weights, 0.4 * parts[1].weights])
    mmd2 = he.mmd2(points, he.Measure(joined, weights), angles=25)
    assert math.sqrt(mmd2[0]) <= 0.6 * parts[0].mmd + 0.4 * parts[1].mmd


def test_thinning_is_repeatable():
    points = he.samplers.fibonacci(500)
    one, two = (thin(points, size=50, angle=20) for _ in range(2))
    assert_array_equal(one.indices, two.indices)
    assert_array_equal(one.weights, two.weights)


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_weights_are_the_least_on_their_support(seed, count):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 2))
    gram = np.exp(-np.square(points[:, None] - points).sum(axis=2))
    f = gram @ rng.normal(size=count)
    weights = simplex_weights(gram, f)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    kept = weights > 0
    slopes = (gram @ weights - f)[kept]
    assert np.ptp(slopes) <= 1e-6 * (1 + np.abs(slopes).max())


def test_choosing_gets_better_with_more_atoms():
    rng = np.random.default_rng(12)
    features = rng.normal(size=(300, 12))
    features /= np.linalg.norm(features, axis=1)[:, None]
    candidates = Candidates(features @ features.mean(axis=0), lambda places: features[places] @ features.T)
    values = [choose(candidates, size).objective for size in (1, 3, 6, 13, 40)]
    assert (np.diff(values) < 1e-9).all()
    # Of thirteen dimensions, thirteen atoms can have the mean exactly, and forty find it.
    assert values[-1] == pytest.approx(-float(np.square(features.mean(axis=0)).sum()), abs=1e-6)


@pytest.mark.slow
def test_the_scale_may_be_so_fine_that_mmd_overflows():
    rng = np.random.default_rng(1)
    points = he.Sphere(383).uniform(40, rng)
    found = thin(points, size=10, resolution=0.5)
    assert found.mmd > 1e100
    # No two atoms overlap: MMD^2 / k_2t(x, x) = 10 (1/10 - 1/40)^2 + 30 (1/40)^2 = 3/40, and A / k_2t(x, x) is 1/40.
    assert 2 * math.log(1 + math.sqrt(3)) <= found.bound < 2 * math.log(1 + math.sqrt(3)) + 0.1


def test_arguments_are_checked():
    points = he.samplers.fibonacci(20)
    with pytest.raises(he.InputError, match=r"either size=.* or error=.*found neither"):
        thin(points, angle=10)
    with pytest.raises(he.InputError, match="found both"):
        thin(points, size=3, error=0.1, angle=10)
    with pytest.raises(he.InputError, match="size must be a whole number >= 1, but is 0"):
        thin(points, size=0, angle=10)
    with pytest.raises(he.InputError, match="error must be a positive number"):
        thin(points, error=-0.1, angle=10)
    with pytest.raises(he.ScaleError, match="exactly one scale"):
        thin(points, size=3)
    with pytest.raises(he.CostError, match=r"at most 6,000 points, but 7,000 are asked for"):
        thin(he.samplers.fibonacci(8000), size=7000, angle=2)


def test_too_many_pairs_are_refused_with_advice_for_thinning(monkeypatch):
    monkeypatch.setattr("heatess.engines.plan.PATIENCE", 1e-6)
    with pytest.raises(he.CostError, match=r"thinning sums overlaps of all pairs of the 500 distinct points"):
        thin(he.Sphere(9).uniform(500, np.random.default_rng(0)), size=20, angle=30)


def test_a_result_becomes_a_table_json_and_a_plot():
    found = thin(he.samplers.fibonacci(300), size=30, angle=30)
    values = json.loads(found.to_json())
    assert values["schema"] == "heatess.thinned/1"
    assert values["indices"] == found.indices.tolist()
    assert {"mmd", "bound", "n", "size", "time", "space"} <= values.keys()
    assert len(found.to_frame()) == found.size
    assert "of 300 points" in found._repr_html_()
    ax = found.plot()
    assert ax.get_ylabel().startswith("gESS")
    assert [line.get_gid() for line in ax.lines[:2]] == ["heatess-curve-0", "heatess-curve-1"]
    assert_allclose(ax.lines[0].get_ydata()[0], he.gess(he.samplers.fibonacci(300), angle=30), rtol=1e-7)


def test_mmd_is_never_less_than_the_truth_where_its_square_underflows():
    """On a circle MMD^2 = 2 |sum (w - v) exp(i x)|^2 exp(-2 t), but for what is far below it at such times."""
    rng, time = np.random.default_rng(1), 566.0
    angles, weights = rng.uniform(0, 6, 14), 1e-11 * rng.random(14)
    weights[9] = 1.0
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    for size in (5, 9, 13):
        found = he.thin(x, weights, size=size, time=time, rtol=1e-4)
        with mp.workprec(200):
            own = np.array([mp.mpf(w) for w in weights])
            own, kept = own / own.sum(), np.array([mp.mpf(w) for w in found.weights])
            own[found.indices] -= kept / kept.sum()
            places = [mp.atan2(mp.mpf(b), mp.mpf(a)) for a, b in x.tolist()]
            square = sum(w * mp.cos(a) for w, a in zip(own, places, strict=True)) ** 2
            square += sum(w * mp.sin(a) for w, a in zip(own, places, strict=True)) ** 2
            true = mp.sqrt(2 * square) * mp.exp(-time)
            assert true <= found.mmd < true * 1.001
