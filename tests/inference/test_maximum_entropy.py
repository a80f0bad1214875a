"""Maximum-entropy laws against closed forms and independent quadrature."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ive

import heatess as he
import space_cases
from heatess.base.errors import InputError, PrecisionError, ScaleError
from heatess.inference import exponential_laws

NORTH = np.array([0.0, 0.0, 1.0])


def time_of(angle):
    return math.radians(angle) ** 2 / 8


def antipodal(n, kappa, seed):
    rng = np.random.default_rng(seed)
    halves = [he.samplers.von_mises_fisher(n // 2, sign * NORTH, kappa, rng=rng) for sign in (1, -1)]
    return np.concatenate(halves)


def sphere_grid(count):
    """A Gauss grid of its own: points (n, 3) and weights that sum to one."""
    heights, shares = np.polynomial.legendre.leggauss(count)
    turns = np.arange(2 * count) * math.pi / count
    radius = np.sqrt(1 - heights**2)
    x, y = np.outer(radius, np.cos(turns)), np.outer(radius, np.sin(turns))
    z = np.repeat(heights, 2 * count).reshape(x.shape)
    return np.stack([x, y, z], axis=-1).reshape(-1, 3), np.repeat(shares, 2 * count) / (4 * count)


def circle_points(count):
    turns = np.arange(count) * 2 * math.pi / count
    return np.column_stack([np.cos(turns), np.sin(turns)])


# Degree 1 has closed forms.


@pytest.mark.parametrize("kappa", [0.5, 10.0, 200.0])
@pytest.mark.parametrize("angle", [15.0, 60.0])
def test_degree_one_on_the_sphere_is_von_mises_fisher(kappa, angle):
    rng = np.random.default_rng(0)
    cloud, weights = he.samplers.von_mises_fisher(200, NORTH, kappa, rng=rng), rng.gamma(2.0, size=200)
    found = he.maximum_entropy(cloud, weights, angle=angle, max_degree=1)
    mean = weights / weights.sum() @ cloud
    length = np.linalg.norm(mean) * math.exp(-2 * time_of(angle))
    fitted = brentq(lambda k: 1 / math.tanh(k) - 1 / k - length, 1e-6, 1e5, xtol=1e-13)
    log_constant = math.log(fitted) - fitted - math.log(-math.expm1(-2 * fitted)) + math.log(2)  # against volume 1
    assert found.kl[0] == pytest.approx(log_constant + fitted * length, rel=1e-9, abs=1e-10)
    assert np.linalg.norm(found.coefficients[0]) == pytest.approx(fitted / math.sqrt(3), rel=1e-6)
    at = mean / np.linalg.norm(mean)
    assert found.density([at])[0] == pytest.approx(math.exp(log_constant + fitted), rel=1e-6)
    assert found.density([-at])[0] == pytest.approx(math.exp(log_constant - fitted), rel=1e-5, abs=1e-300)


@pytest.mark.parametrize("space", ["Sphere(1)", "Circle", "day"])
def test_degree_one_on_the_circle_is_von_mises(space):
    rng = np.random.default_rng(1)
    turns = rng.vonmises(0.3, 4.0, size=150)
    made = {
        "Sphere(1)": (np.column_stack([np.cos(turns), np.sin(turns)]), he.Sphere(1), 1.0),
        "Circle": (turns[:, None], he.Circle(), 1.0),
        "day": (turns[:, None] * 24 / (2 * math.pi), he.Torus(1, periods=24), (24 / (2 * math.pi)) ** 2),
    }
    points, on, stretch = made[space]
    time = time_of(30)
    found = he.maximum_entropy(points, space=on, time=time * stretch, max_degree=1)
    length = abs(np.mean(np.exp(1j * turns))) * math.exp(-time)
    fitted = brentq(lambda k: ive(1, k) / ive(0, k) - length, 1e-6, 1e4, xtol=1e-13)
    assert found.kl[0] == pytest.approx(fitted * length - math.log(ive(0, fitted)) - fitted, rel=1e-9)
    many = he.maximum_entropy(points, space=on, time=time * stretch, max_degree=5)
    reference = he.maximum_entropy(made["Circle"][0], space=he.Circle(), angle=30, max_degree=5)
    np.testing.assert_allclose(many.kl, reference.kl, rtol=1e-8)


# All degrees: moments, Pythagoras, nesting.


@pytest.mark.parametrize("angle", [20.0, 50.0])
def test_each_law_has_the_moments_of_the_smoothed_cloud(angle):
    cloud = he.samplers.tetrahedral(90, 30.0, rng=3)
    found = he.maximum_entropy(cloud, angle=angle, max_degree=4)
    points, weights = sphere_grid(60)
    smoothed = he.potential(cloud, at=points, angle=angle, kind="density")
    for degree in found.degrees:
        law = found.density(points, int(degree))
        assert weights @ law == pytest.approx(1.0, abs=1e-9)
        for power in np.ndindex(degree + 1, degree + 1, degree + 1):
            if sum(power) <= degree:
                monomial = np.prod(points ** np.array(power), axis=1)
                assert weights @ (monomial * law) == pytest.approx(weights @ (monomial * smoothed), abs=1e-8)


@pytest.mark.parametrize("space", [he.Sphere(2), he.Projective(2), he.Sphere(1)], ids=repr)
def test_divergences_add_up(space):
    rng = np.random.default_rng(4)
    cloud = he.samplers.von_mises_fisher(40, np.eye(space.dim + 1)[0], 5.0, rng=rng)
    found = he.maximum_entropy(cloud, space=space, angle=35, max_degree=5)
    points, weights = sphere_grid(80) if space.dim == 2 else (circle_points(400), np.full(400, 1 / 400))
    smoothed = he.potential(cloud, at=points, angle=35, kind="density", space=space)
    assert found.total == pytest.approx(weights @ (smoothed * np.log(smoothed)), rel=1e-8)
    before = np.ones(len(points))
    for row, degree in enumerate(found.degrees):
        law = found.density(points, int(degree))
        rest = weights @ (smoothed * np.log(smoothed / law))
        assert found.kl[row] + rest == pytest.approx(found.total, abs=1e-8)
        new = weights @ (law * np.log(law / before))
        assert found.shares[row] == pytest.approx(new / found.total, abs=1e-8)
        before = law
    assert found.shares.sum() + found.beyond == pytest.approx(1.0, abs=1e-12)


def test_axes_are_the_even_degrees_of_their_two_ends():
    cloud = he.samplers.von_mises_fisher(50, NORTH, 6.0, rng=5)
    axes = he.maximum_entropy(cloud, space=he.Projective(2), angle=30, max_degree=3)
    both = he.maximum_entropy(np.concatenate([cloud, -cloud]), angle=30, max_degree=6)
    np.testing.assert_allclose(axes.kl, both.kl[1::2], rtol=1e-8)
    assert axes.total == pytest.approx(both.total, rel=1e-8)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_shares_are_not_negative_and_do_not_depend_on_rotation(seed):
    rng = np.random.default_rng(seed)
    cloud, weights = he.samplers.uniform(25, rng=rng), rng.gamma(1.0, size=25)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    one = he.maximum_entropy(cloud, weights, angle=50, max_degree=4)
    other = he.maximum_entropy(cloud @ rotation.T, 3 * weights, angle=50, max_degree=4)
    np.testing.assert_allclose(one.kl, other.kl, atol=1e-8)
    assert (one.shares >= 0).all()
    assert one.beyond >= 0


def test_a_cloud_far_from_a_grid_point_is_not_read_off_it():
    """KL of one smoothed atom does not depend on where it is."""
    found = [he.maximum_entropy([x], angle=10, max_degree=2).total for x in he.samplers.uniform(3, rng=0)]
    assert found == pytest.approx([found[0]] * 3, rel=1e-8)


# Names of structure.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cloud", "degree", "least"),
    [
        (he.samplers.von_mises_fisher(300, NORTH, 10.0, rng=0), 1, 0.985),
        (antipodal(300, 100.0, 1), 2, 0.985),
        (he.samplers.tetrahedral(300, 140.0, rng=2), 3, 0.96),
    ],
    ids=["one mode", "antipodal", "four modes"],
)
def test_structure_is_in_the_degree_of_its_symmetry(cloud, degree, least):
    found = he.maximum_entropy(cloud, angle=20)
    assert found.shares[degree - 1] > least
    assert found.order == degree


@pytest.mark.slow
def test_the_order_of_uniform_clouds_is_zero_and_the_gain_is_chi_square():
    gains = []
    for seed in range(60):
        found = he.maximum_entropy(he.samplers.uniform(400, rng=seed), angle=90, max_degree=2)
        kl = (found.bic - np.array([3, 8]) * math.log(400)) / -2  # n KL
        gains.append(2 * np.diff(kl, prepend=0.0))
        assert found.order == 0
    means, error = np.mean(gains, axis=0), np.sqrt(2 * np.array([3, 5]) / 60)
    np.testing.assert_array_less(np.abs(means - [3, 5]), 4 * error)


@pytest.mark.slow
def test_too_few_draws_have_no_order():
    found = he.maximum_entropy(he.samplers.von_mises_fisher(85, NORTH, 3.0, rng=0), angle=40, max_degree=3)
    assert np.isfinite(found.bic).tolist() == [True, True, False]
    few = he.maximum_entropy(np.tile(NORTH, (500, 1)), angle=40, max_degree=2)
    assert few.order is None  # 500 draws at one place are not uniform
    assert repr(few).endswith("no order selected)")


# The result.


def test_the_result_speaks_and_is_plain(tmp_path):
    found = he.maximum_entropy(he.samplers.tetrahedral(300, 140.0, rng=0), angle=20)
    assert repr(found).startswith("MaximumEntropy(Sphere(2), n=300, ess=300, angle 20 degrees: KL 1.6")
    assert " % in degree 3, " in repr(found)
    assert repr(found).endswith("order 3 by BIC)")
    plain = json.loads(found.to_json())
    assert plain["schema"] == "heatess.maximum_entropy/1"
    assert plain["degrees"] == list(range(1, 9))
    assert plain["kl"] == found.kl.tolist()
    assert plain["order"] == 3
    assert "all degrees" in found._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        found.kl[0] = 0


def test_the_plot_has_one_bar_per_degree_and_one_beyond():
    found = he.maximum_entropy(he.samplers.uniform(100, rng=0), angle=30, max_degree=3)
    ax = found.plot()
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx([*(100 * found.shares), 100 * found.beyond])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3", "above 3"]


def test_a_balanced_design_has_nothing_to_explain():
    found = he.maximum_entropy(circle_points(64), space=he.Sphere(1), angle=60, max_degree=3)
    assert np.isnan(found.shares).all()
    assert "none to explain" in repr(found)
    assert found.plot().texts[0].get_text() == "uniform at this scale"


# What is refused, with advice that leads on.


@pytest.mark.parametrize(
    **space_cases.named(
        [case for case in space_cases.EVERY if case.name in ("Sphere(3)", "Rotations", "Torus(2)", "pose", "Mesh")]
    )
)
def test_other_spaces_are_refused_with_the_reason(case):
    points = case.points(5, np.random.default_rng(0))
    with pytest.raises(InputError, match="on circles and ordinary spheres"):
        he.maximum_entropy(points, space=case.space(), time=0.1)


def test_arguments_are_checked():
    with pytest.raises(ScaleError, match="exactly one scale"):
        he.maximum_entropy([NORTH])
    with pytest.raises(InputError, match="max_degree must be at most 16, but is 17"):
        he.maximum_entropy([NORTH], angle=20, max_degree=17)
    found = he.maximum_entropy([NORTH], angle=40, max_degree=2)
    with pytest.raises(InputError, match="degree must be at most 2, but is 3"):
        found.density([NORTH], 3)


def test_a_scale_too_fine_for_a_grid_is_refused_and_the_advice_works():
    with pytest.raises(PrecisionError, match=r"give angle=(\S+) or more") as caught:
        he.maximum_entropy(circle_points(3), angle=1e-4, max_degree=1)
    advised = float(str(caught.value).split("angle=")[-1].split()[0])
    assert he.maximum_entropy(circle_points(3), angle=advised, max_degree=1).total > 5


def test_a_law_that_double_precision_does_not_determine_is_refused_and_the_advice_works():
    """Five atoms within 40 degrees at a fine scale: high harmonics are nearly dependent on so small a part."""
    atoms = np.radians([[-18.0], [-3.0], [2.0], [11.0], [20.0]])
    with pytest.raises(PrecisionError, match="give max_degree=") as caught:
        he.maximum_entropy(atoms, space=he.Circle(), angle=3, max_degree=16)
    reached = caught.value.needed
    assert f"give max_degree={reached}, or a coarser scale" in str(caught.value)
    found = he.maximum_entropy(atoms, space=he.Circle(), angle=3, max_degree=reached)
    assert found.degrees[-1] == reached
    assert found.kl[-1] <= found.total + 1e-8
    assert he.maximum_entropy(atoms, space=he.Circle(), angle=60, max_degree=16).beyond < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("angle", [45.0, 20.0, 8.0])
def test_one_atom_is_one_heat_kernel(angle):
    found = he.maximum_entropy([NORTH], angle=angle, max_degree=4)
    points, weights = sphere_grid(300)
    levels = np.arange(150)
    terms = (2 * levels + 1) * np.exp(-levels * (levels + 1) * time_of(angle))
    density = np.maximum(np.polynomial.legendre.legval(points[:, 2], terms), 1e-300)
    assert found.total == pytest.approx(weights @ (density * np.log(density)), rel=1e-7)
    assert found.shares[0] > 0.998


# The solver.


def test_a_grid_integrates_harmonics_exactly():
    for space, degree in ((he.Sphere(2), 12), (he.Sphere(1), 12)):
        harmonics = space.harmonics[0]
        grid = exponential_laws.grid_of(harmonics, degree)
        functions = exponential_laws.functions_at(harmonics, grid.nodes, degree // 2)
        assert grid.weights.sum() == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(functions @ grid.weights, 0.0, atol=1e-13)
        gram = (functions * grid.weights) @ functions.T
        np.testing.assert_allclose(gram, np.eye(len(functions)), atol=1e-12)
        assert len(functions) == exponential_laws.count_until(harmonics, degree // 2)


def test_a_warm_start_and_a_cold_start_agree():
    harmonics = he.Sphere(2).harmonics[0]
    grid = exponential_laws.grid_of(harmonics, 60)
    functions = exponential_laws.functions_at(harmonics, grid.nodes, 3)
    moments = harmonics.values(antipodal(60, 8.0, 0), 4)[1:].mean(axis=1)
    cold = exponential_laws.fit(functions, grid.weights, moments, np.empty(0))
    first = exponential_laws.fit(functions[:8], grid.weights, moments[:8], np.empty(0))
    warm = exponential_laws.fit(functions, grid.weights, moments, first.theta)
    assert cold.divergence == pytest.approx(warm.divergence, rel=1e-11)
    np.testing.assert_allclose(cold.theta, warm.theta, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kappa", [100.0, 1000.0])
def test_the_order_of_a_narrow_mode_is_one(kappa):
    x = he.samplers.von_mises_fisher(300, NORTH, kappa, rng=1)
    found = he.maximum_entropy(x, angle=40, max_degree=2)
    assert found.order == 1
    # On S^2 the law of degree 1 has R = coth k - 1 / k and KL = k R + log(k / sinh k); exp(-2 k) is nothing here.
    fitted = 1 / (1 - np.linalg.norm(x.mean(axis=0)))
    divergence = fitted - 1 + math.log(2 * fitted) - fitted
    assert found.bic[0] == pytest.approx(3 * math.log(300) - 600 * divergence, abs=0.2)
