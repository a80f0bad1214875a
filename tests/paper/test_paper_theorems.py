"""What the theorems promise, measured against laws whose heat profile is exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import eval_gegenbauer, eval_legendre, iv

import heatess as he
from heatess.paper import convergence, limits, snis
from heatess.paper.experiment import Settings
from heatess.paper.truncation import ANGLES, compute
from heatess.paper.vmf import Mixture, multiplicities, zonal_functions

NORTH = (0.0, 0.0, 1.0)


def single(kappa: float, p: int = 3) -> Mixture:
    return Mixture(means=((0.0,) * (p - 1) + (1.0,),), kappas=(kappa,), shares=(1.0,))


@pytest.fixture(scope="module")
def grid():
    """Points of the sphere and quadrature weights of sum 1, exact for polynomials of degree 119."""
    height, weight = np.polynomial.legendre.leggauss(60)
    longitude = np.arange(120) * (2 * math.pi / 120)
    radius = np.sqrt(1 - height**2)
    points = np.stack(
        [np.outer(radius, np.cos(longitude)), np.outer(radius, np.sin(longitude)), np.outer(height, np.ones(120))],
        axis=2,
    )
    return points.reshape(-1, 3), np.repeat(weight / 240, 120)


# The von Mises-Fisher law.


@pytest.mark.parametrize("kappa", [0.5, 12.0, 140.0])
def test_energies_of_one_mode_have_their_closed_forms(kappa):
    first = 1 / math.tanh(kappa) - 1 / kappa
    found = single(kappa).energies(3)
    np.testing.assert_allclose(found, [1, 3 * first**2, 5 * (1 - 3 * first / kappa) ** 2], rtol=1e-12)


def test_energies_on_the_circle_are_squared_bessel_ratios():
    found = single(3.0, p=2).energies(6)
    degrees = np.arange(6)
    np.testing.assert_allclose(found, np.where(degrees, 2, 1) * (iv(degrees, 3.0) / iv(0, 3.0)) ** 2, rtol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3, 9])
def test_multiplicities_and_zonal_functions_are_the_library_s(dim):
    pair = np.eye(dim + 1)[:2] * 0.6 + np.eye(dim + 1)[:2][::-1] * [[0.0], [0.8]]
    pair[0] = np.eye(dim + 1)[0]
    spectrum = he.power_spectrum(pair, max_degree=20)
    np.testing.assert_allclose(multiplicities(dim + 1, 21), spectrum.multiplicities)
    cosine = np.array([pair[0] @ pair[1]])
    expected = multiplicities(dim + 1, 21) * (1 + zonal_functions(cosine, dim + 1, 21)[:, 0]) / 2
    np.testing.assert_allclose(spectrum.energies, expected, atol=1e-8)


def test_zonal_functions_are_legendre_and_gegenbauer():
    u = np.linspace(-1, 1, 21)
    for degree in (0, 1, 2, 7, 30):
        np.testing.assert_allclose(zonal_functions(u, 3, 31)[degree], eval_legendre(degree, u), atol=1e-12)
        expected = eval_gegenbauer(degree, 3.5, u) / eval_gegenbauer(degree, 3.5, 1.0)
        np.testing.assert_allclose(zonal_functions(u, 9, 31)[degree], expected, atol=1e-12)


def test_density_integrates_to_one_and_has_the_exact_energies(grid):
    points, weights = grid
    density = convergence.TARGET.density(points)
    assert density @ weights == pytest.approx(1, rel=1e-12)
    found = he.power_spectrum(points, weights * density, max_degree=24).energies
    np.testing.assert_allclose(found, convergence.TARGET.energies(25), atol=1e-9)


def test_density_of_the_paper_s_target_is_the_cosh():
    points = he.samplers.uniform(50, rng=0)
    np.testing.assert_allclose(snis.TARGET.density(points), 18 / math.sinh(18) * np.cosh(18 * points[:, 2]), rtol=1e-10)


def test_expected_ess_fraction_of_the_paper_s_target_is_one_ninth(grid):
    points, weights = grid
    assert snis.TARGET.density(points) ** 2 @ weights == pytest.approx(9.0, rel=1e-6)


def test_opposite_modes_have_only_even_energies():
    found = snis.TARGET.energies(12)
    np.testing.assert_allclose(found[1::2], 0, atol=1e-15)
    np.testing.assert_allclose(found[::2], single(18.0).energies(12)[::2])


@pytest.mark.parametrize("p", [2, 3, 5])
def test_exact_energies_are_those_of_a_large_sample(p):
    means = (tuple(np.eye(p)[0]), tuple(-np.eye(p)[1]))
    law = Mixture(means=means, kappas=(4.0, 15.0), shares=(0.7, 0.3))
    n = 4_000 if p == 5 else 200_000
    found = he.power_spectrum(law.sample(n, np.random.default_rng(p)), max_degree=8).energies
    exact = law.energies(9)
    sizes = multiplicities(p, 9)
    np.testing.assert_allclose(found, exact, atol=6 * float(np.sqrt(sizes * exact.max() / n).max()))


# Definitions that the library does not return by themselves.


def test_squared_smoothed_density_integrates_to_the_power(grid):
    points, weights = grid
    atoms, masses = he.samplers.uniform(7, rng=1), np.arange(1.0, 8.0) / 28
    time = math.radians(30) ** 2 / 8
    degrees = np.arange(55)
    damping = (2 * degrees + 1) * np.exp(-degrees * (degrees + 1) * time)
    kernel = np.tensordot(damping, zonal_functions(np.clip(points @ atoms.T, -1, 1), 3, 55), axes=1)
    smoothed = kernel @ masses
    assert smoothed @ weights == pytest.approx(1, rel=1e-10)
    profile = he.heat_profile(atoms, masses, times=[time])
    assert smoothed**2 @ weights == pytest.approx(1 + profile.mmd2[0], rel=1e-9)
    assert -math.log(profile.volume[0]) == pytest.approx(profile.divergence[0])


def test_power_minus_one_is_the_mmd_to_a_uniform_quadrature(grid):
    points, weights = grid
    atoms = he.samplers.von_mises_fisher(40, NORTH, 5.0, rng=2)
    signed = he.heat_profile(np.concatenate([atoms, points]), np.concatenate([np.full(40, 0.5 / 40), weights / 2]))
    alone = he.heat_profile(atoms)
    coarse = signed.angles > 20  # the quadrature is exact for the degrees that are left
    np.testing.assert_allclose(4 * signed.mmd2[coarse], alone.mmd2[coarse], rtol=1e-6)


# Consistency.


@pytest.fixture(scope="module")
def replicates():
    """The power of 400 clouds of 300 atoms with weights 1/sqrt(i) at 30 degrees, less one."""
    rng = np.random.default_rng(8)
    weights = 1 / np.sqrt(np.arange(1, 301))
    found = [he.heat_profile(convergence.TARGET.sample(300, rng), weights, angles=[30.0]).mmd2[0] for _ in range(400)]
    return np.array(found), 1 / he.baselines.ess(weights)


def test_mean_of_the_empirical_power_has_its_exact_bias(replicates):
    found, concentration = replicates
    time = math.radians(30) ** 2 / 8
    diagonal = he.heat_profile([NORTH], times=[time]).mmd2[0]
    expected = (1 - concentration) * convergence.TARGET.mmd2([time])[0] + concentration * diagonal
    assert found.mean() == pytest.approx(expected, abs=4 * found.std() / 20)


def test_deviations_stay_below_the_bounded_differences_inequality(replicates):
    found, concentration = replicates
    bound = 1 + he.heat_profile([NORTH], angles=[30.0]).mmd2[0]  # B = k_2t(x, x)
    deviation = np.abs(found - found.mean())
    for u in np.linspace(0.2, 6, 30) * bound * math.sqrt(concentration):
        assert (deviation > u).mean() <= 2 * math.exp(-(u**2) / (8 * bound**2 * concentration))


@pytest.mark.slow
def test_rates_of_convergence_are_those_of_the_theorem():
    for rate in convergence.rates(Settings(seed=11, quick=True)):
        assert rate.law().holds, (rate.name, rate.slope, rate.expected)


@pytest.mark.slow
def test_errors_fall_as_the_sample_grows():
    truth = convergence.TARGET.mmd2(np.radians(convergence.ANGLES) ** 2 / 8)
    for draw in (convergence.equal, convergence.unequal, convergence.reweighted):
        _, found = convergence.errors(Settings(quick=True), "a test", draw, [200, 20_000], convergence.ANGLES, truth)
        assert found[1] < found[0] / 4


def test_unequal_weights_are_counted_by_their_concentration():
    points, weights = convergence.unequal(1000, np.random.default_rng(0))
    assert he.baselines.ess(weights) < 0.6 * len(points)


# Stability, merging, limits.


@pytest.fixture(scope="module")
def moved():
    return limits.stability(Settings(seed=2))


def test_laws_of_a_fixed_measure_hold(moved):
    found = limits.laws(moved)
    assert [law.statement for law in found if not law.holds] == []
    assert {law.label for law in found} == {
        "thm:pairwise_monotone",
        "thm:gess",
        "thm:small_time",
        "prop:merging",
        "thm:spectral",
        "cor:sphere",
        "thm:consistency",
    }


def test_moving_atoms_moves_the_power_no_more_than_the_bound(moved):
    assert (moved.changes <= moved.constant * limits.SHIFTS).all()


def test_atoms_are_moved_by_the_distance_that_is_said():
    points = he.samplers.von_mises_fisher(50, (1.0, 0.0, 0.0), 3.0, rng=0)
    points = points[points[:, 2] < 0.9]
    shifted = limits.moved_north(points, 0.2)
    np.testing.assert_allclose(np.linalg.norm(shifted, axis=1), 1)
    np.testing.assert_allclose(np.arccos((points * shifted).sum(axis=1)), 0.2, rtol=1e-9)
    assert (shifted[:, 2] > points[:, 2]).all()


def test_slope_of_the_kernel_is_the_flat_one_at_small_scales():
    time = math.radians(10) ** 2 / 8
    flat = math.exp(-0.5) / (math.sqrt(4 * time) * 2 * time)  # of exp(-d^2 / 8t) / 2t, steepest at d^2 = 4t
    assert limits.kernel_slope(np.array([10.0])) == pytest.approx(flat, rel=0.02)


def test_merging_law_improves_in_proportion_to_time():
    for share in (0.5, 0.1):
        found = limits.merging_errors(share)
        np.testing.assert_allclose(found / limits.MERGING_TIMES, found[0] / limits.MERGING_TIMES[0], rtol=0.05)


def test_truncation_errors_stay_below_their_bound_and_the_paper_s_cut_is_enough():
    spectrum = he.power_spectrum(he.samplers.tetrahedral(300, 140.0, rng=0), max_degree=360)
    found = compute(spectrum)
    assert found.errors.shape == (len(ANGLES), 360)
    assert (found.errors <= found.bounds * (1 + 1e-9)).all()
    assert (np.diff(found.errors, axis=1) <= 0).all()
    assert found.errors[np.array(ANGLES) >= 5, 180].max() < 1e-15
