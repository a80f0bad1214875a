"""Modes read off a profile: right where theory says what they are, and silent where there are none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import heatess as he
import meshes
import space_cases
from heatess.base.errors import InputError, ScaleError
from heatess.cli import main
from heatess.profiles import plateaus

NORTH = np.array([0.0, 0.0, 1.0])


def mixture(centres, shares, kappa, n, rng):
    """Independent draws from von Mises-Fisher modes."""
    chosen = rng.choice(len(centres), size=n, p=shares)
    parts = [
        he.samplers.von_mises_fisher(int(np.sum(chosen == mode)), centre, kappa, rng=rng)
        for mode, centre in enumerate(centres)
        if np.any(chosen == mode)
    ]
    return np.concatenate(parts)


def counts(profile):
    return [plateau.count for plateau in profile.plateaus()]


def curves_of(profile):
    names = ("times", "angles", "gess", "dimension", "divergence", "error")
    return plateaus.Curves(profile.ess, *(getattr(profile, name) for name in names))


def independent_overlap(points, weights, time):
    """sum_{i != j} w_i w_j s_t(x_i, x_j) on S^2, from Legendre polynomials in plain NumPy."""
    cosines = points @ points.T
    levels = np.arange(200)
    terms = (2 * levels + 1) * np.exp(-2 * levels * (levels + 1) * time)
    overlap = np.polynomial.legendre.legval(cosines, terms) / terms.sum()
    return float(weights @ overlap @ weights - np.sum(weights**2))


# What the sharpened count is.


def test_the_count_of_flat_modes_is_the_closed_form():
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(200, 2)), rng.gamma(1.0, size=200)
    w /= w.sum()
    times = np.geomspace(0.05, 0.5, 9)
    profile = he.heat_profile(x, w, space=he.Euclidean(2), times=times)
    found = plateaus.sharpened_counts(curves_of(profile), profile.space)
    squares = np.sum((x[:, None] - x) ** 2, axis=-1)
    for row, time in enumerate(times):
        overlap = np.exp(-squares / (8 * time))
        np.fill_diagonal(overlap, 0.0)
        mean = float(w @ overlap @ w) / (1 - np.sum(w**2))
        dimension = 2 * float(w @ (overlap * squares / (8 * time)) @ w) / (1 - np.sum(w**2)) / mean
        assert found.own[row] == pytest.approx(dimension / 2, rel=1e-6)
        assert found.values[row] == pytest.approx((1 - dimension / 2) / mean, rel=1e-6)


def test_the_count_of_the_sphere_is_the_power_of_different_atoms_against_that_of_a_wider_point():
    rng = np.random.default_rng(2)
    x, w = he.samplers.von_mises_fisher(60, NORTH, 8.0, rng=rng), rng.gamma(2.0, size=60)
    w /= w.sum()
    levels = np.arange(200)

    def log_kernel(time):
        return math.log(np.sum((2 * levels + 1) * np.exp(-2 * levels * (levels + 1) * time)))

    def log_power(time):
        return math.log(independent_overlap(x, w, time) / (1 - np.sum(w**2))) + log_kernel(time)

    times = np.geomspace(0.05, 0.3, 8)
    profile = he.heat_profile(x, w, times=times)
    found = plateaus.sharpened_counts(curves_of(profile), profile.space)
    for row, time in enumerate(times):
        own = time * found.own[row] / (1 - found.own[row])
        step = 1e-4 * time
        slope = (log_power(time + step) - log_power(time - step)) / (2 * step)
        wider = (log_kernel(time + own + step) - log_kernel(time + own - step)) / (2 * step)
        assert wider == pytest.approx(slope, rel=2e-4)
        assert found.values[row] == pytest.approx(math.exp(log_kernel(time + own) - log_power(time)), rel=1e-4)
        assert found.log_power[row] == pytest.approx(log_power(time), abs=1e-6)


@pytest.mark.parametrize("space", [he.Sphere(2), he.Sphere(9), he.Rotations(), he.Projective(2), he.Torus(2)], ids=repr)
def test_one_mode_that_has_spread_like_heat_is_one_mode_on_curved_spaces(space):
    """The profile of the heat kernel itself, after the time tau, in place of a cloud."""
    times = np.geomspace(0.02, 0.4, 30) / (1 if space.dim < 9 else 4)
    tau, kernel, ess = 2 * times[0], space.pair_kernel, 1e9
    log_k, log_wider = kernel.log_diagonal(times), kernel.log_diagonal(times + tau)
    step = 1e-4
    slopes = [
        (kernel.log_diagonal(times * (1 + step) + more) - kernel.log_diagonal(times * (1 - step) + more)) / (2 * step)
        for more in (0.0, tau)
    ]
    dimension = 2 * (slopes[1] - slopes[0])  # - d log G / d log alpha, with log G = log_k - log_wider
    gess = np.exp(log_k - log_wider)
    angles = np.degrees(np.sqrt(8 * times))
    curves = plateaus.Curves(ess, times, angles, gess, dimension, log_wider, np.zeros(30))
    found = plateaus.sharpened_counts(curves, space)
    known = np.isfinite(found.values)
    assert known.sum() > 20
    np.testing.assert_allclose(found.values[known], 1.0, rtol=1e-4)
    np.testing.assert_allclose(found.own[known], tau / (times + tau)[known], rtol=1e-2)


def test_exact_repetitions_read_as_independent_draws_would():
    cloud = np.repeat(he.samplers.fibonacci(12), 5, axis=0)
    assert counts(he.heat_profile(cloud)) == pytest.approx([12 * 59 / 48], rel=1e-3)


def test_all_atoms_at_one_place_are_one_mode():
    assert counts(he.heat_profile(np.tile(NORTH, (50, 1)))) == pytest.approx([1.0], rel=1e-6)


# Clouds whose modes are known.


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda rng: mixture([NORTH, -NORTH], [0.5, 0.5], 100.0, 300, rng), 2.0),
        (lambda rng: he.samplers.tetrahedral(300, 140.0, rng=rng), 4.0),
        (lambda rng: mixture(np.eye(3), [0.5, 0.3, 0.2], 60.0, 300, rng), 1 / 0.38),
        (lambda rng: he.samplers.von_mises_fisher(300, NORTH, 20.0, rng=rng), 1.0),
        (lambda rng: he.samplers.von_mises_fisher(300, NORTH, 3.0, rng=rng), 1.0),
        (lambda rng: mixture(np.eye(10)[:6], np.full(6, 1 / 6), 100.0, 300, rng), 6.0),
        (lambda rng: mixture(np.eye(384)[:8], np.full(8, 1 / 8), 1000.0, 300, rng), 8.0),
    ],
    ids=["antipodal", "four", "unequal", "one", "one wide", "S^9", "S^383"],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_modes_are_counted(make, expected, seed):
    assert counts(he.heat_profile(make(np.random.default_rng(seed)))) == pytest.approx([expected], rel=0.15)


@pytest.mark.parametrize("weighted", [False, True])
def test_two_levels_of_a_hierarchy_are_two_plateaus(weighted):
    rng = np.random.default_rng(3)
    tilt, turns = math.radians(18), np.radians([0, 120, 240])
    ring = np.column_stack([math.sin(tilt) * np.cos(turns), math.sin(tilt) * np.sin(turns), np.full(3, math.cos(tilt))])
    cloud = mixture(np.concatenate([ring, -ring]), np.full(6, 1 / 6), 2000.0, 400, rng)
    weights = rng.gamma(3.0, size=400) if weighted else None
    fine, coarse = he.heat_profile(cloud, weights).plateaus()
    assert (fine.count, coarse.count) == (pytest.approx(6, rel=0.15), pytest.approx(2, rel=0.15))
    assert fine.coarsest < 18 < coarse.finest


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: he.samplers.uniform(300, rng=rng),
        lambda rng: he.samplers.von_mises_fisher(300, NORTH, 0.2, rng=rng),
        lambda rng: he.samplers.girdle(300, rng=rng),
        lambda rng: he.samplers.uniform(300, 9, rng=rng),
        lambda rng: he.samplers.uniform(300, 1, rng=rng),
    ],
    ids=["uniform", "nearly uniform", "girdle", "S^9", "circle"],
)
@pytest.mark.parametrize("seed", range(4))
def test_there_are_no_modes_where_there_are_none(make, seed):
    assert he.heat_profile(make(np.random.default_rng(seed))).plateaus() == ()


def test_a_scale_far_beyond_the_sphere_makes_no_mode_of_a_uniform_cloud():
    cloud = he.samplers.uniform(300, rng=0)
    assert he.heat_profile(cloud, angles=np.geomspace(5, 1000, 80)).plateaus() == ()


@pytest.mark.parametrize(**space_cases.named([case for case in space_cases.EVERY if case.name != "Graph"]))
def test_every_space_has_an_answer(case):
    points = case.points(60, np.random.default_rng(0))
    for plateau in he.heat_profile(points, space=case.space(), times=case.times(16)).plateaus():
        assert 0.75 <= plateau.count <= 30
        assert plateau.finest < plateau.coarsest


def test_modes_of_a_mesh_are_counted():
    vertices, faces = meshes.icosphere(3)
    mesh, rng = he.Mesh(vertices, faces), np.random.default_rng(0)
    log_density = np.logaddexp(80 * (vertices[:, 2] - 1), 80 * (-vertices[:, 2] - 1))
    atoms = rng.choice(len(vertices), size=300, p=np.exp(log_density) / np.exp(log_density).sum())
    assert counts(he.heat_profile(atoms, space=mesh)) == pytest.approx([2.0], rel=0.15)


# What does not matter.


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 10))
def test_order_of_atoms_scale_of_weights_and_order_of_scales_do_not_matter(seed, factor):
    rng = np.random.default_rng(seed)
    cloud, weights = he.samplers.tetrahedral(80, 140.0, rng=rng), rng.gamma(3.0, size=80)
    angles = np.geomspace(5, 120, 40)
    one = he.heat_profile(cloud, weights, angles=angles).plateaus()
    order = rng.permutation(80)
    other = he.heat_profile(cloud[order], factor * weights[order], angles=rng.permutation(angles)).plateaus()
    assert [plateau.finest for plateau in one] == [plateau.finest for plateau in other]
    assert [plateau.count for plateau in one] == pytest.approx([plateau.count for plateau in other], rel=1e-6)


def test_a_scale_given_twice_does_no_harm():
    cloud = he.samplers.tetrahedral(100, 140.0, rng=0)
    angles = np.geomspace(5, 120, 40)
    twice = he.heat_profile(cloud, angles=np.concatenate([angles, angles])).plateaus()
    assert twice == he.heat_profile(cloud, angles=angles).plateaus()


# Words.


def test_the_sentence_stands_in_the_repr_and_on_the_command_line(tmp_path):
    cloud = he.samplers.tetrahedral(300, 140.0, rng=0)
    profile = he.heat_profile(cloud)
    (plateau,) = profile.plateaus()
    assert plateau.sentence.startswith("4 modes between ")
    assert plateau.sentence.endswith(" degrees")
    assert f"; {plateau.sentence}; " in repr(profile)
    assert repr(profile.plateaus()) == f"Plateaus({plateau.sentence})"
    np.save(tmp_path / "four.npy", cloud)
    result = CliRunner().invoke(main, ["profile", str(tmp_path / "four.npy")])
    assert f"The cloud has {plateau.sentence}." in result.stdout
    quiet = CliRunner().invoke(main, ["profile", str(tmp_path / "four.npy"), "--quiet"])
    assert "The cloud has" not in quiet.stdout


def test_a_profile_without_modes_says_nothing_of_them(tmp_path):
    cloud = he.samplers.uniform(200, rng=0)
    assert "mode" not in repr(he.heat_profile(cloud))
    assert "mode" not in repr(he.heat_profile(cloud, angles=[5, 20]))
    assert repr(he.heat_profile(cloud).plateaus()) == "Plateaus(no modes at these scales)"
    np.save(tmp_path / "uniform.npy", cloud)
    assert "The cloud has" not in CliRunner().invoke(main, ["profile", str(tmp_path / "uniform.npy")]).stdout


@pytest.mark.parametrize(
    ("count", "words"),
    [(1.02, "1 mode"), (3.41, "about 3.4 modes of equal weight"), (33.2, "33 modes"), (7.9, "8 modes")],
)
def test_counts_in_words(count, words):
    assert he.Plateau(count, 5.2, 104.0).sentence == f"{words} between 5.2 and 100 degrees"


# What is refused, with advice that leads on.


@pytest.mark.parametrize(
    ("angles", "words"), [([5, 15, 45], "it has 3 of them"), (np.geomspace(5, 120, 8), "a factor of 1.57 apart")]
)
def test_too_few_scales_are_refused(angles, words):
    cloud = he.samplers.tetrahedral(100, 140.0, rng=0)
    with pytest.raises(ScaleError, match=words):
        he.heat_profile(cloud, angles=angles).plateaus()
    assert counts(he.heat_profile(cloud, angles=np.geomspace(5, 120, 60))) == pytest.approx([4], rel=0.15)
    assert counts(he.heat_profile(cloud)) == pytest.approx([4], rel=0.15)


def test_a_graph_has_no_dimension():
    case = next(case for case in space_cases.EVERY if case.name == "Graph")
    profile = he.heat_profile(np.arange(60), space=case.space(), times=case.times(20))
    with pytest.raises(InputError, match=r"in dimensions, and Graph\(60 nodes, 60 edges\) has none"):
        profile.plateaus()
    assert "mode" not in repr(profile)


@pytest.mark.filterwarnings("ignore:gess .*random pairs:heatess.base.errors.PrecisionWarning")
def test_random_pairs_too_uncertain_to_count_are_not_read():
    cloud = he.samplers.tetrahedral(2000, 140.0, rng=0)
    profile = he.heat_profile(cloud, angles=np.geomspace(5, 40, 30), pairs=1000, rng=0)
    assert profile.error.min() > plateaus.MOST_ERROR
    assert profile.plateaus() == ()
