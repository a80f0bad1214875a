"""Level energies against direct formulas."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import eval_gegenbauer, eval_legendre

import heatess as he
from meshes import icosphere
from reference import multiplicities, sphere_levels

DIMS = (1, 2, 3, 9, 40)


def cloud(dim, n=25):
    rng = np.random.default_rng([dim, n])
    x = he.samplers.uniform(n, dim, rng=rng) + 0.7 * np.eye(dim + 1)[0]
    return x / np.linalg.norm(x, axis=1, keepdims=True), rng.random(n)


def normalised(w):
    return w / w.sum()


@pytest.mark.parametrize("dim", DIMS)
def test_first_energy_is_the_squared_resultant(dim):
    x, w = cloud(dim)
    spectrum = he.power_spectrum(x, w, max_degree=5)
    length = np.linalg.norm(normalised(w) @ x)
    assert spectrum.energies[1] == pytest.approx((dim + 1) * length**2, rel=1e-12)
    assert spectrum.resultant_length == pytest.approx(length, rel=1e-12)


@pytest.mark.parametrize("dim", DIMS)
def test_second_energy_is_the_traceless_second_moment(dim):
    x, w = cloud(dim)
    p = dim + 1
    moment = np.einsum("i,ij,ik->jk", normalised(w), x, x) - np.eye(p) / p
    expected = p * (p + 2) / 2 * np.sum(moment**2)
    spectrum = he.power_spectrum(x, w, max_degree=2)
    assert spectrum.bingham_energy == pytest.approx(expected, rel=1e-11)
    assert spectrum.energies[2] == spectrum.bingham_energy


def test_circle_energies_are_fourier_coefficients():
    x, w = cloud(1)
    angle = np.arctan2(x[:, 1], x[:, 0])
    coefficients = np.exp(1j * np.outer(np.arange(41), angle)) @ normalised(w)
    expected = np.where(np.arange(41) > 0, 2, 1) * np.abs(coefficients) ** 2
    assert_allclose(he.power_spectrum(x, w, max_degree=40).energies, expected, rtol=0, atol=1e-11)


def test_sphere_energies_are_legendre_sums():
    x, w = cloud(2)
    u = np.clip(x @ x.T, -1, 1)
    p = normalised(w)
    expected = [(2 * degree + 1) * (p @ eval_legendre(degree, u) @ p) for degree in range(65)]
    found = he.power_spectrum(x, w)
    assert_array_equal(found.degrees, np.arange(65))
    assert_allclose(found.energies, expected, rtol=1e-10, atol=1e-10)


def test_energies_in_ten_coordinates_are_gegenbauer_sums():
    x, w = cloud(9)
    u = np.clip(x @ x.T, -1, 1)
    p = normalised(w)
    found = he.power_spectrum(x, w, max_degree=20)
    for degree in range(21):
        zonal = eval_gegenbauer(degree, 4.0, u) / eval_gegenbauer(degree, 4.0, 1.0)
        expected = found.multiplicities[degree] * (p @ zonal @ p)
        assert found.energies[degree] == pytest.approx(expected, rel=1e-9), degree


@pytest.mark.parametrize("dim", DIMS)
def test_energies_are_those_of_mpmath(dim):
    x, w = cloud(dim, 6)
    expected = [float(value) for value in sphere_levels(x, w, 31)]
    found = he.power_spectrum(x, w, max_degree=30)
    assert_allclose(found.energies, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("dim", "top"), [(1, 300), (2, 300), (3, 200), (9, 100), (40, 60), (383, 40)])
def test_multiplicities_are_the_exact_integers(dim, top):
    found = he.power_spectrum(np.eye(dim + 1)[:1], max_degree=top)
    expected = np.array([float(value) for value in multiplicities(dim, top + 1)])
    by_binomials = [math.comb(dim + l, dim) - (math.comb(dim + l - 2, dim) if l > 1 else 0) for l in range(top + 1)]  # noqa: E741
    assert_array_equal(expected, np.array(by_binomials, dtype=float))
    small = expected < 2**40
    assert_array_equal(found.multiplicities[small], expected[small])
    assert_allclose(found.multiplicities, expected, rtol=1e-11)
    assert_array_equal(found.eigenvalues, np.arange(top + 1.0) * (np.arange(top + 1.0) + dim - 1))


@pytest.mark.parametrize("dim", DIMS)
def test_a_single_atom_fills_every_level(dim):
    found = he.power_spectrum(he.samplers.uniform(1, dim, rng=dim), max_degree=30)
    assert_allclose(found.energies, found.multiplicities, rtol=1e-11)
    assert found.resultant_length == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("n", [2, 40])
def test_energies_lie_between_zero_and_multiplicity(dim, n):
    x, w = cloud(dim, n)
    for points in (x, np.vstack([x, -x])):
        found = he.power_spectrum(points, np.resize(w, len(points)), max_degree=40)
        assert found.energies[0] == 1.0
        assert (found.energies >= 0).all()
        assert (found.energies <= found.multiplicities).all()


@pytest.mark.parametrize("dim", DIMS)
def test_symmetric_clouds_have_no_odd_energy(dim):
    x, w = cloud(dim)
    found = he.power_spectrum(np.vstack([x, -x]), np.append(w, w), max_degree=9)
    assert_allclose(found.energies[1::2] / found.multiplicities[1::2], 0, atol=1e-12)
    assert found.resultant_length < 1e-15
    assert (found.energies[2::2] > 1e-6).all()


def test_platonic_solids_are_designs():
    """The octahedron integrates degree 3, so B_1 = B_2 = B_3 = 0; P_4 gives B_4 = 9 (2/6 + 4/6 * 3/8)."""
    found = he.power_spectrum(np.vstack([np.eye(3), -np.eye(3)]), max_degree=4)
    assert_allclose(found.energies, [1, 0, 0, 0, 9 * (2 / 6 + 4 / 6 * 3 / 8)], rtol=1e-12, atol=1e-14)
    assert found.bingham_energy < 1e-30


@pytest.mark.parametrize("dim", DIMS)
def test_energies_sum_to_the_profile(dim):
    x, w = cloud(dim)
    t = 0.05
    spectrum, profile = he.power_spectrum(x, w, max_degree=64), he.heat_profile(x, w, times=[t])
    terms = np.exp(-2 * spectrum.eigenvalues * t)
    assert terms[1:] @ spectrum.energies[1:] == pytest.approx(profile.mmd2[0], rel=1e-9)
    assert terms @ spectrum.multiplicities / (terms @ spectrum.energies) == pytest.approx(profile.gess[0], rel=1e-9)


def test_circle_has_more_degrees_than_pairs_can_resolve():
    found = he.power_spectrum([[1.0, 0.0], [0.0, 1.0]], max_degree=4000)
    assert_allclose(found.energies[1:], 1 + np.cos(np.arange(1, 4001) * math.pi / 2), rtol=0, atol=1e-9)


def test_levels_too_many_to_count_do_not_spoil_energies():
    """On S^2000 the multiplicities of degree 300 overflow; odd energies of a symmetric pair still vanish."""
    axis = np.eye(2001)[:1]
    found = he.power_spectrum(np.vstack([axis, -axis]), max_degree=300)
    assert np.isinf(found.multiplicities[-1])
    assert_array_equal(found.energies[1::2], 0)
    assert not np.isnan(found.energies).any()


def test_facts_about_the_cloud_are_kept():
    x, w = cloud(2)
    found = he.power_spectrum(x, w, max_degree=3)
    assert (found.n, found.space) == (25, he.Sphere(2))
    assert found.ess == pytest.approx(he.baselines.ess(w), rel=1e-14)
    assert repr(found).startswith("PowerSpectrum(Sphere(2), n=25, ess=")


@pytest.mark.parametrize("degree", [1, -3, 2.5, True, "8", None])
def test_a_bad_degree_is_refused(degree):
    with pytest.raises(he.InputError, match="max_degree must be a whole number >= 2, but is"):
        he.power_spectrum(np.eye(3), max_degree=degree)


# Spaces whose levels are not a function of the distance.


def direct_torus_levels(x, w, periods, count):
    """Eigenvalues, multiplicities and energies by exact arithmetic on k and a sum over atoms for each of them."""
    from fractions import Fraction
    from itertools import product

    squares = [1 / Fraction(period) ** 2 for period in periods]
    levels = {}
    for k in product(range(-9, 10), repeat=len(periods)):
        levels.setdefault(sum(s * j * j for s, j in zip(squares, k, strict=True)), []).append(k)
    rows = []
    for value in sorted(levels)[:count]:
        waves = np.exp(2j * np.pi * (x / np.array(periods)) @ np.array(levels[value]).T)  # (n, modes)
        rows.append((4 * np.pi**2 * float(value), len(levels[value]), np.sum(np.abs(normalised(w) @ waves) ** 2)))
    return np.array(rows).T


@pytest.mark.parametrize("periods", [(1,), (1, 1), (2, 1), (1, 1, 1), (1, 2, 3)])
def test_torus_levels_are_its_distinct_eigenvalues(periods):
    rng = np.random.default_rng(len(periods))
    x, w = rng.random((40, len(periods))) ** 2 * periods, rng.random(40)
    count = {1: 10, 2: 12, 3: 12}[len(periods)]
    found = he.power_spectrum(x + 7 * np.array(periods), w, space=he.Torus(len(periods), periods), max_degree=count - 1)
    eigenvalues, multiplicities, energies = direct_torus_levels(x, w, periods, count)
    assert_array_equal(found.degrees, np.arange(count))
    assert_allclose(found.eigenvalues, eigenvalues, rtol=1e-14)
    assert_array_equal(found.multiplicities, multiplicities)
    assert_allclose(found.energies, energies, rtol=1e-11, atol=1e-12)
    if len(periods) > 1:
        assert math.isnan(found.resultant_length)
        assert math.isnan(found.bingham_energy)
    else:
        waves = np.exp(2j * np.pi * np.outer(x / periods, [1, 2])).T @ normalised(w)
        assert found.resultant_length == pytest.approx(abs(waves[0]), rel=1e-11)
        assert found.bingham_energy == pytest.approx(2 * abs(waves[1]) ** 2, rel=1e-11)


def test_the_circle_of_angles_is_the_circle_of_unit_vectors():
    angle, w = np.random.default_rng(5).random(30) * 4, np.random.default_rng(6).random(30)
    by_angle = he.power_spectrum(angle, w, space=he.Circle())
    by_vector = he.power_spectrum(np.column_stack([np.cos(angle), np.sin(angle)]), w)
    assert_allclose(by_angle.eigenvalues, by_vector.eigenvalues, rtol=1e-14)
    assert_array_equal(by_angle.multiplicities, by_vector.multiplicities)
    assert_allclose(by_angle.energies, by_vector.energies, rtol=1e-10, atol=1e-12)
    assert by_angle.resultant_length == pytest.approx(by_vector.resultant_length, rel=1e-10)
    assert by_angle.bingham_energy == pytest.approx(by_vector.bingham_energy, rel=1e-10)


def test_modes_of_a_ring_are_its_discrete_fourier_transform():
    n = 31
    ring = np.roll(np.eye(n), 1, axis=1)
    nodes, w = np.array([0, 3, 4, 4, 17]), np.array([1.0, 2.0, 1.0, 3.0, 0.5])
    found = he.power_spectrum(nodes, w, space=he.Graph(ring + ring.T))  # 64 degrees, of which there are 31
    assert_array_equal(found.degrees, np.arange(n))
    assert_array_equal(found.multiplicities, 1)
    k = np.arange(1, n // 2 + 1)
    assert_allclose(found.eigenvalues[1::2], 2 - 2 * np.cos(2 * np.pi * k / n), rtol=1e-10)
    coefficients = np.exp(2j * np.pi * np.outer(k, nodes) / n) @ normalised(w)
    assert_allclose(found.energies[1::2] + found.energies[2::2], 2 * np.abs(coefficients) ** 2, rtol=1e-9)


def spaces_without_zonal_functions():
    rng = np.random.default_rng(7)
    vertices, faces = icosphere(2)
    mesh = find_spec("robust_laplacian") and he.Mesh(vertices, faces)
    no_mesh = pytest.mark.skipif(not mesh, reason="the extra mesh is not installed")
    nodes = he.samplers.fibonacci(400)
    ring = np.roll(np.eye(40), 1, axis=1)
    return [
        pytest.param(rng.random((50, 2)), he.Torus(2, (1.0, 2.3)), 0.012, 64, id="torus"),
        pytest.param(rng.integers(0, len(vertices), 50), mesh, 0.12, 200, id="mesh", marks=no_mesh),
        pytest.param(rng.integers(0, 400, 50), he.PointCloud(nodes), 0.4, 100, id="cloud"),
        pytest.param(rng.integers(0, 40, 50), he.Graph(ring + ring.T), 0.3, 64, id="graph"),
    ]


@pytest.mark.parametrize(("points", "space", "time", "degree"), spaces_without_zonal_functions())
def test_energies_sum_to_the_profile_on_other_spaces(points, space, time, degree):
    w = np.random.default_rng(8).random(50)
    found = he.power_spectrum(points, w, space=space, max_degree=degree)
    for t in (time, 5 * time):
        profile = he.heat_profile(points, w, space=space, times=[t])
        total = np.exp(-2 * found.eigenvalues[1:] * t) @ found.energies[1:]
        assert total == pytest.approx(profile.mmd2[0], rel=1e-9)


def test_spaces_without_levels_are_refused_with_the_reason():
    spheres = he.Product(he.Sphere(2), he.Circle())
    for points, space, reason in (
        (np.zeros((2, 3)), he.Euclidean(3), "spectrum continuous"),
        ([[1.0, 0.0, 0.0]], he.Hyperbolic(2), "spectrum continuous"),
        ((np.zeros((1, 3)), [[0.0, 0, 0, 1]]), he.Product(he.Euclidean(3), he.Rotations()), "spectrum continuous"),
        ((np.eye(3), np.zeros(3)), spheres, "the power spectrum of each factor"),
        (np.zeros((2, 4)), he.Torus(4), "too many modes to sum one by one"),
    ):
        with pytest.raises(he.InputError, match=f"there is no power spectrum on .*{reason}"):
            he.power_spectrum(points, space=space)


def test_more_levels_than_can_be_found_are_refused():
    vertices, faces = icosphere(2)
    with pytest.raises(he.InputError, match=r"max_degree=64 needs 65 eigenpairs, but Mesh.* has 20 .*max_degree=19"):
        he.power_spectrum([0], space=he.Mesh(vertices, faces, modes=20))
    with pytest.raises(
        he.InputError, match=r"max_degree=9000000 on Torus\(2\) needs more than 8,388,608 Fourier modes"
    ):
        he.power_spectrum([[0.0, 0.0]], space=he.Torus(2), max_degree=9_000_000)


def test_the_circle_has_as_many_levels_as_are_asked_for():
    found = he.power_spectrum([1.0, 1.0 + math.pi], space=he.Circle(), max_degree=1_000_000)
    assert_allclose(found.energies[2::2], 2, rtol=0, atol=1e-9)
    assert_allclose(found.energies[1::2], 0, rtol=0, atol=1e-9)
