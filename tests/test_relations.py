"""What other fields use, and the equation that joins each to heatess: by direct formulas, and by peers if installed.

The page docs/explanation/what-you-use-now.md states these equations. Peers are not needed: their tests are skipped.
"""

from __future__ import annotations

import importlib
import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm
from scipy.spatial.transform import Rotation
from scipy.special import eval_chebyu, eval_legendre, hyp0f1

import heatess as he
from heatess.baselines import cap_discrepancy, ess, perplexity_ess, uniformity_loss


def peer(name):
    """Another package, whose warnings are not ours; the test is skipped where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            pytest.skip(f"{name} is not installed")


def weights_of(n, seed=0):
    w = np.random.default_rng(seed).gamma(1.0, size=n)
    return w / w.sum()


def squared_distances(x, y):
    return np.sum((x[:, None] - y) ** 2, axis=-1)


def overlaps(x, time):
    """s_t of all pairs on S^2, from the Legendre series."""
    degrees = np.arange(int(6 / math.sqrt(time)) + 4)
    terms = (2 * degrees + 1) * np.exp(-2 * degrees * (degrees + 1) * time)
    return np.polynomial.legendre.legval(np.clip(x @ x.T, -1, 1), terms / terms.sum())


def sphere_grid(rows):
    """Points and weights that integrate spherical harmonics up to degree 2 rows - 1."""
    heights, shares = np.polynomial.legendre.leggauss(rows)
    height, longitude = np.meshgrid(heights, np.pi * np.arange(2 * rows) / rows, indexing="ij")
    flat = np.sqrt(1 - height**2)
    points = np.stack([flat * np.cos(longitude), flat * np.sin(longitude), height], axis=-1)
    return points.reshape(-1, 3), np.repeat(shares / (4 * rows), 2 * rows)


def rotation_grid(rows):
    """Rotations and weights that integrate Wigner functions up to degree 2 rows - 1."""
    heights, shares = np.polynomial.legendre.leggauss(rows)
    turn = np.pi * np.arange(2 * rows) / rows
    first, middle, last = np.meshgrid(turn, np.arccos(heights), turn, indexing="ij")
    angles = np.column_stack([first.ravel(), middle.ravel(), last.ravel()])
    weights = np.broadcast_to(shares[None, :, None] / (8 * rows**2), first.shape)
    return Rotation.from_euler("ZYZ", angles), weights.ravel()


def by_volume(density, areas, share):
    """The area of the smallest set that holds *share* of the mass, as a share of the whole."""
    order = np.argsort(density)[::-1]
    held = np.cumsum((density * areas)[order])
    return float(np.cumsum(areas[order])[np.searchsorted(held, share * held[-1])])


# ESS and perplexity.


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 30), st.integers(0, 2**20), st.floats(1.0, 150.0))
def test_gess_is_at_most_ess_and_ess_at_most_perplexity(n, seed, angle):
    x, w = he.samplers.uniform(n, rng=seed), weights_of(n, seed)
    chain = [1.0, he.gess(x, w, angle=angle), ess(w), perplexity_ess(w), float(n)]
    assert all(low <= high * (1 + 1e-10) for low, high in pairwise(chain))


def test_gess_tends_to_ess_at_fine_scales():
    x, w = he.samplers.fibonacci(50), weights_of(50)
    assert he.gess(x, w, angle=1) == pytest.approx(1 / np.sum(w**2), rel=1e-12)


# Vendi score of order 2, Renyi kernel entropy.


@pytest.mark.parametrize("dim", [1, 3, 8])
def test_vendi_of_order_two_and_rke_are_gess_in_flat_space_at_alpha_equal_sigma(dim):
    x, w, sigma = np.random.default_rng(dim).normal(size=(80, dim)), weights_of(80), 0.8 * math.sqrt(dim)
    kernel = np.exp(-squared_distances(x, x) / (2 * sigma**2))
    found = he.gess(x, w, space=he.Euclidean(dim), resolution=sigma)
    assert found == pytest.approx(he.gess(x, w, space=he.Euclidean(dim), time=sigma**2 / 8), rel=1e-10)
    eigenvalues = np.linalg.eigvalsh(kernel * np.sqrt(np.outer(w, w)))
    assert found == pytest.approx(1 / np.sum(eigenvalues**2), rel=1e-9)  # Vendi of order 2
    equal = he.gess(x, space=he.Euclidean(dim), resolution=sigma)
    assert equal == pytest.approx(1 / np.sum((kernel / 80) ** 2), rel=1e-9)  # RKE's number of modes


def test_vendi_score_agrees():
    vendi = peer("vendi_score.vendi")
    x, w, sigma = np.random.default_rng(0).normal(size=(80, 3)), weights_of(80), 1.2
    kernel = np.exp(-squared_distances(x, x) / (2 * sigma**2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = vendi.score_K(kernel, q=2, p=w)
    assert he.gess(x, w, space=he.Euclidean(3), resolution=sigma) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("p", [2, 3, 6, 40])
def test_vendi_of_order_two_with_cosines_is_a_function_of_bingham(p):
    x, w = he.samplers.von_mises_fisher(90, np.eye(p)[0], p, rng=1), weights_of(90)
    eigenvalues = np.linalg.eigvalsh((x @ x.T) * np.sqrt(np.outer(w, w)))
    bingham = he.power_spectrum(x, w, max_degree=2).bingham_energy
    assert p / (1 + 2 * bingham / (p + 2)) == pytest.approx(1 / np.sum(eigenvalues**2), rel=1e-9)


# Uniformity loss.


def direct_loss(x, w, exponent):
    upper = np.triu_indices(len(x), 1)
    pairs = np.outer(w, w)[upper]
    return math.log(np.sum(pairs * np.exp(-exponent * squared_distances(x, x)[upper])) / pairs.sum())


@pytest.mark.parametrize("dim", [1, 2, 3, 9, 127])
@pytest.mark.parametrize("exponent", [0.3, 2.0, 20.0])
def test_uniformity_loss_is_the_mean_over_pairs(dim, exponent):
    x, w = he.samplers.von_mises_fisher(60, np.eye(dim + 1)[0], dim, rng=dim), weights_of(60)
    x[1] = x[0]
    assert uniformity_loss(x, w, exponent=exponent) == pytest.approx(direct_loss(x, w, exponent), rel=1e-11, abs=1e-11)
    assert uniformity_loss(x, exponent=exponent) == pytest.approx(direct_loss(x, np.ones(60), exponent), abs=1e-11)


@pytest.mark.parametrize("dim", [2, 9, 127])
def test_uniformity_loss_is_a_sum_over_levels(dim):
    x, n, exponent = he.samplers.von_mises_fisher(70, np.eye(dim + 1)[0], dim / 2, rng=dim), 70, 2.0
    spectrum = he.power_spectrum(x, max_degree=40)
    half, degrees = (dim + 1) / 2, spectrum.degrees
    ratios = np.concatenate([[1.0], np.cumprod(exponent / (half + degrees[:-1]))])
    coefficients = math.exp(-2 * exponent) * ratios * hyp0f1(half + degrees, exponent**2)
    everything = coefficients @ spectrum.energies
    assert everything == pytest.approx(np.mean(np.exp(-exponent * squared_distances(x, x))), rel=1e-10)
    assert math.log((n * everything - 1) / (n - 1)) == pytest.approx(uniformity_loss(x), abs=1e-10)
    assert coefficients @ spectrum.multiplicities == pytest.approx(1, rel=1e-10)
    softmax = he.uniformity_test(x, statistic=coefficients[1:20], rng=0).statistics[0]
    assert softmax == pytest.approx(n * (everything - coefficients[0]), rel=1e-7)


@pytest.mark.parametrize(("dim", "exponent"), [(1, 150.0), (2, 2.0), (3, 0.01)])
@pytest.mark.slow
def test_uniformity_loss_of_many_atoms_is_that_of_their_pairs(dim, exponent):
    n = 4100
    x, w = he.samplers.von_mises_fisher(n, np.eye(dim + 1)[0], 1.0, rng=dim), weights_of(n)
    cosines = x @ x.T
    np.fill_diagonal(cosines, -np.inf)
    expected = math.log(w @ np.exp(2 * exponent * (cosines - 1)) @ w / (1 - w @ w))
    assert uniformity_loss(x, w, exponent=exponent) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.slow
def test_uniformity_loss_keeps_its_digits_where_one_atom_has_nearly_all_the_weight():
    n = 4100
    x, w = np.tile([0.0, 0.0, -1.0], (n, 1)), np.full(n, 1e-9)
    x[0], w[0] = [0.0, 0.0, 1.0], 1.0
    # Nearly all pairs are of the heavy atom with one opposite to it.
    rest = n - 1
    opposite, equal = 2 * rest * 1e-9, rest * (rest - 1) * 1e-18
    expected = math.log((opposite * math.exp(-8) + equal) / (opposite + equal))
    assert uniformity_loss(x, w) == pytest.approx(expected, rel=1e-10)


def test_uniformity_loss_of_the_circle_is_that_of_its_vectors():
    theta = np.random.default_rng(0).uniform(0, 7, 40)
    vectors = np.column_stack([np.cos(theta), np.sin(theta)])
    assert uniformity_loss(theta, space=he.Circle()) == pytest.approx(uniformity_loss(vectors), rel=1e-12)


def test_uniformity_loss_is_refused_where_it_has_no_meaning():
    with pytest.raises(he.InputError, match=r"exponent must be positive and at most 150, but is 151"):
        uniformity_loss(np.eye(3), exponent=151)
    with pytest.raises(he.InputError, match="exponent must be positive and at most 150, but is 0"):
        uniformity_loss(np.eye(3), exponent=0)
    with pytest.raises(he.InputError, match="needs two points of positive weight, not one"):
        uniformity_loss(np.eye(3), [1, 0, 0])
    with pytest.raises(he.InputError, match=r"spheres and circles, not on Projective\(2\)"):
        uniformity_loss(np.eye(3), space=he.Projective(2))


# Leinster-Cobbold diversities.


def leinster_cobbold_diversity(w, ordinariness, q):
    if q == 1:
        return math.exp(-np.sum(w * np.log(ordinariness)))
    if q == math.inf:
        return 1 / ordinariness.max()
    return np.sum(w * ordinariness ** (q - 1)) ** (1 / (1 - q))


@pytest.mark.parametrize("q", [0, 1, 2, 5, math.inf])
def test_diversities_of_every_order_follow_from_the_potential(q):
    x, w, time = he.samplers.tetrahedral(90, 30.0, rng=0), weights_of(90), 0.02
    direct = leinster_cobbold_diversity(w, overlaps(x, time) @ w, q)
    assert leinster_cobbold_diversity(w, he.potential(x, w, time=time), q) == pytest.approx(direct, rel=1e-8)
    if q == 2:
        assert he.gess(x, w, time=time) == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize("q", [0, 1, 2, 5])
def test_sentropy_agrees(q):
    sentropy = peer("sentropy").sentropy
    x, w, time = he.samplers.tetrahedral(90, 30.0, rng=0), weights_of(90), 0.02
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = float(sentropy(w, similarity=overlaps(x, time), q=q))
    assert leinster_cobbold_diversity(w, he.potential(x, w, time=time), q) == pytest.approx(theirs, rel=1e-8)


# Magnitude.


def test_magnitude_of_the_overlaps_is_the_largest_gess():
    x, time = he.samplers.fibonacci(20), math.radians(40) ** 2 / 8
    weighting = np.linalg.solve(overlaps(x, time), np.ones(20))
    assert weighting.min() > 0
    best = he.gess(x, weighting, time=time)
    assert best == pytest.approx(weighting.sum(), rel=1e-9)
    assert all(he.gess(x, weights_of(20, seed), time=time) < best for seed in range(20))


def test_magnipy_agrees():
    compute = peer("magnipy.magnitude.compute").compute_magnitude_from_distances
    x, time = he.samplers.fibonacci(20), math.radians(40) ** 2 / 8
    distances = -np.log(overlaps(x, time))
    np.fill_diagonal(distances, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = float(np.ravel(compute(distances, ts=np.array([1.0]))[0])[0])
    weighting = np.linalg.solve(overlaps(x, time), np.ones(20))
    assert he.gess(x, weighting, time=time) == pytest.approx(theirs, rel=1e-10)


def test_the_exponential_similarity_is_a_mixture_of_gess_over_scales():
    x, w, rate = np.random.default_rng(0).normal(size=(50, 3)), weights_of(50), 2.0
    s, shares = np.polynomial.legendre.leggauss(60)
    s, shares = 4 * (s + 1), 4 * shares * math.sqrt(2 / math.pi)
    profile = he.heat_profile(x, w, space=he.Euclidean(3), resolutions=math.sqrt(2) * s / rate)
    mixture = np.sum(shares * np.exp(-(s**2) / 2) / profile.gess)
    assert mixture == pytest.approx(w @ np.exp(-rate * np.sqrt(squared_distances(x, x))) @ w, rel=1e-8)


# Directional statistics.


@pytest.mark.parametrize("p", [2, 3, 5, 20])
def test_the_first_two_energies_are_rayleigh_and_bingham(p):
    x, w = he.samplers.von_mises_fisher(80, np.eye(p)[0], 1.0, rng=p), weights_of(80)
    spectrum, second = he.power_spectrum(x, w, max_degree=2), x.T @ (w[:, None] * x)
    assert spectrum.resultant_length == pytest.approx(np.linalg.norm(w @ x), rel=1e-9)
    bingham = p * (p + 2) / 2 * (np.trace(second @ second) - 1 / p)
    assert spectrum.bingham_energy == pytest.approx(bingham, rel=1e-8)


def test_sobolev_statistics_are_sums_of_energies():
    x, n = he.samplers.von_mises_fisher(60, [0, 0, 1], 0.6, rng=1), 60
    energies = he.power_spectrum(x, max_degree=10).energies
    angle = np.arccos(np.clip(x @ x.T, -1, 1))[np.triu_indices(n, 1)]
    expected = {
        "rayleigh": n * energies[1],
        "bingham": n * energies[2],
        "ajne": n / 4 - angle.sum() / (math.pi * n),
        "gine": n / 2 - 4 / (math.pi * n) * np.sin(angle).sum(),
        "bakshaev": n * 4 / 3 - 4 / n * np.sin(angle / 2).sum(),
    }
    for name, value in expected.items():
        assert he.uniformity_test(x, statistic=name).statistics[0] == pytest.approx(value, rel=1e-7), name


# Textures.


def test_the_texture_index_of_a_heat_smoothed_odf_is_one_plus_mmd2():
    rng = np.random.default_rng(0)
    orientations, w, time = Rotation.from_rotvec(0.4 * rng.normal(size=(40, 3))), weights_of(40), 0.06
    grid, volume = rotation_grid(16)
    odf = he.potential(orientations, w, at=grid, time=time, kind="density")
    assert volume @ odf == pytest.approx(1, rel=1e-8)
    profile = he.heat_profile(orientations, w, times=[time])
    assert 1 + profile.mmd2[0] == pytest.approx(volume @ odf**2, rel=1e-7)
    assert math.exp(profile.divergence[0]) == pytest.approx(volume @ odf**2, rel=1e-7)


def test_the_texture_index_with_another_kernel_is_a_sum_of_energies():
    """De la Vallee Poussin's kernel: (cos(angle / 2))^(2 kappa), a polynomial of degree kappa."""
    kappa, rng = 6, np.random.default_rng(1)
    orientations = Rotation.from_rotvec(rng.normal(size=(30, 3)))
    # Chebyshev coefficients A_l, by the mean of psi U_2l sin^2 over half the angle, with A_0 = 1.
    half = (np.arange(400) + 0.5) * math.pi / 400
    degrees = np.arange(kappa + 1)
    psi = np.cos(half) ** (2 * kappa)
    coefficients = np.array([np.mean(psi * eval_chebyu(2 * k, np.cos(half)) * np.sin(half) ** 2) for k in degrees])
    coefficients = coefficients / coefficients[0]
    energies = he.power_spectrum(orientations, max_degree=kappa).energies
    grid, volume = rotation_grid(kappa + 1)
    quaternions = np.abs(grid.as_quat() @ orientations.as_quat().T)
    odf = quaternions ** (2 * kappa)
    odf = np.mean(odf / (volume @ odf), axis=1)
    assert np.sum((coefficients / (2 * degrees + 1)) ** 2 * energies) == pytest.approx(volume @ odf**2, rel=1e-9)


# Orientations of views.


def test_the_variance_of_the_sampling_of_views_is_a_sum_of_even_energies():
    views, time = he.samplers.von_mises_fisher(200, [0, 0, 1], 2.0, rng=3), math.radians(30) ** 2 / 8
    directions, area = sphere_grid(20)
    first = np.cross(directions, [0.0, 0.0, 1.0])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    turn = np.pi * np.arange(40) / 20
    circles = (
        np.cos(turn)[None, :, None] * first[:, None]
        + np.sin(turn)[None, :, None] * np.cross(directions, first)[:, None]
    )
    density = he.potential(views, at=circles.reshape(-1, 3), time=time, kind="density")
    sampling = density.reshape(len(directions), -1).mean(axis=1)
    spectrum = he.power_spectrum(views, max_degree=36)
    terms = eval_legendre(spectrum.degrees, 0.0) ** 2 * np.exp(-2 * spectrum.eigenvalues * time) * spectrum.energies
    variance = terms[1:].sum()
    assert area @ sampling == pytest.approx(1, rel=1e-8)
    assert area @ sampling**2 - 1 == pytest.approx(variance, rel=1e-6)
    compensation = 1 / (area @ (1 / sampling))
    assert 1 / (1 + variance / sampling.min()) <= compensation <= 1  # since 1/S = 2 - S + (S - 1)^2 / S
    assert terms[1::2].max() < 1e-25


# Sky areas.


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("cloud", ["one mode", "four modes", "band"])
def test_a_credible_area_is_at_least_the_square_of_its_share_times_the_volume(cloud, share):
    x = {
        "one mode": he.samplers.von_mises_fisher(500, [0, 0, 1], 30, rng=0),
        "four modes": he.samplers.tetrahedral(500, 40.0, rng=0),
        "band": he.samplers.girdle(500, rng=0),
    }[cloud]
    grid, area = sphere_grid(90)
    density = he.potential(x, at=grid, angle=15, kind="density")
    volume = he.heat_profile(x, angles=[15]).volume[0]
    assert 1 / (area @ density**2) == pytest.approx(volume, rel=1e-7)
    assert by_volume(density, area, share) >= share**2 * volume


def test_one_round_patch_has_a_credible_area_of_half_log_ten_volumes():
    point, angle = [[0.0, 0.0, 1.0]], 8.0
    volume = he.heat_profile(point, angles=[angle]).volume[0]
    height = np.linspace(1, 0.9, 400_001)
    middle = (height[1:] + height[:-1]) / 2
    areas = -np.diff(height) / 2
    at = np.column_stack([np.sqrt(1 - middle**2), np.zeros_like(middle), middle])[::100]
    density = np.interp(-middle, -at[:, 2], he.potential(point, at=at, angle=angle, kind="density"))
    assert by_volume(density, areas, 0.9) / volume == pytest.approx(math.log(10) / 2, rel=3e-3)


def test_ligo_skymap_agrees():
    peer("ligo.skymap")
    greedy = peer("ligo.skymap.postprocess.util").find_greedy_credible_levels
    healpix = pytest.importorskip("astropy_healpix").HEALPix(nside=64, order="ring")
    lon, lat = healpix.healpix_to_lonlat(np.arange(healpix.npix))
    grid = he.from_lonlat(lon.rad, lat.rad, units="rad")
    x = he.samplers.tetrahedral(500, 40.0, rng=0)
    density = he.potential(x, at=grid, angle=15, kind="density")
    theirs = np.mean(greedy(density / density.sum()) <= 0.9)
    fine, area = sphere_grid(90)
    ours = by_volume(he.potential(x, at=fine, angle=15, kind="density"), area, 0.9)
    assert ours == pytest.approx(theirs, rel=3e-3)


# Discrepancy and designs.


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_cap_discrepancy_is_its_integral_over_caps(dim):
    x, w = he.samplers.von_mises_fisher(6, np.eye(dim + 1)[0], 1.0, rng=dim), weights_of(6)
    turn = np.pi * np.arange(2000) / 1000
    quaternions, volume = rotation_grid(10)
    centres, shares = {
        1: (np.column_stack([np.cos(turn), np.sin(turn)]), np.full(2000, 1 / 2000)),
        2: (he.samplers.fibonacci(4000), np.full(4000, 1 / 4000)),
        3: (np.vstack([quaternions.as_quat(), -quaternions.as_quat()]), np.tile(volume / 2, 2)),
    }[dim]
    heights = (np.arange(1000) + 0.5) / 500 - 1
    areas = {
        1: np.arccos(heights) / math.pi,
        2: (1 - heights) / 2,
        3: (np.arccos(heights) - heights * np.sqrt(1 - heights**2)) / math.pi,
    }[dim]
    held = sum(weight * ((centres @ atom)[:, None] >= heights) for weight, atom in zip(w, x, strict=True))
    square = shares @ ((held - areas) ** 2).sum(axis=1) / 500
    assert cap_discrepancy(x, w) ** 2 == pytest.approx(square, rel=1e-3)


def test_stolarsky_joins_the_discrepancy_to_distances_and_to_energies():
    x, w = he.samplers.uniform(80, rng=5), weights_of(80)
    distances = w @ np.sqrt(squared_distances(x, x)) @ w
    assert distances + 4 * cap_discrepancy(x, w) ** 2 == pytest.approx(4 / 3, rel=1e-12)
    bakshaev = he.uniformity_test(x, statistic="bakshaev").statistics[0]
    assert cap_discrepancy(x) ** 2 == pytest.approx(bakshaev / 80 / 4, rel=1e-9)


def test_cap_discrepancy_of_many_points_and_of_a_polygon():
    n = 1500
    turn = 2 * np.pi * np.arange(n) / n
    square = (4 / math.pi - 2 / n / math.tan(math.pi / (2 * n))) / math.pi
    assert cap_discrepancy(turn, space=he.Circle()) ** 2 == pytest.approx(square, rel=1e-7)


def test_cap_discrepancy_is_refused_off_spheres():
    with pytest.raises(he.InputError, match=r"spheres and circles, not on Rotations\(\)"):
        cap_discrepancy(Rotation.identity(2))
    with pytest.raises(he.InputError, match="spheres and circles, not on Euclidean"):
        cap_discrepancy(np.eye(3), space=he.Euclidean(3))


@pytest.mark.slow
def test_cap_discrepancy_warns_where_rounding_would_show():
    n = 12_000
    turn = 2 * np.pi * np.arange(n) / n
    square = (4 / math.pi - 2 / n / math.tan(math.pi / (2 * n))) / math.pi
    with pytest.warns(he.PrecisionWarning, match=r"rounding may move it by 3.2e-15"):
        found = cap_discrepancy(turn, space=he.Circle())
    assert abs(found**2 - square) < 3.2e-15


@pytest.mark.parametrize(("name", "strength"), [("tetrahedron", 2), ("octahedron", 3), ("cube", 3), ("icosahedron", 5)])
def test_designs_have_no_energy_up_to_their_strength(name, strength):
    golden = (1 + math.sqrt(5)) / 2
    signs = np.array(np.meshgrid([1, -1], [1, -1], [1, -1])).reshape(3, -1).T.astype(float)
    edges = np.array([[0, a, b * golden] for a in (1, -1) for b in (1, -1)])
    corners = {
        "tetrahedron": signs[signs.prod(axis=1) > 0],
        "octahedron": np.vstack([np.eye(3), -np.eye(3)]),
        "cube": signs,
        "icosahedron": np.vstack([np.roll(edges, k, axis=1) for k in range(3)]),
    }[name]
    energies = he.power_spectrum(corners / np.linalg.norm(corners, axis=1, keepdims=True), max_degree=10).energies
    assert energies[1 : strength + 1] == pytest.approx(0, abs=1e-20)
    assert energies[strength + 1] > 0.5


# Scores of generated samples.


def frechet_distance(a, b):
    first, second = np.cov(a.T), np.cov(b.T)
    return np.sum((a.mean(0) - b.mean(0)) ** 2) + np.trace(first + second - 2 * np.real(sqrtm(first @ second)))


def test_frechet_distance_does_not_see_what_gess_sees():
    cloud = np.random.default_rng(0).normal(size=(800, 4))
    corners = np.vstack([np.eye(4), -np.eye(4)])
    copies = np.repeat(corners, 100, axis=0)
    root = np.linalg.cholesky(np.cov(cloud.T)) @ np.linalg.inv(np.linalg.cholesky(np.cov(copies.T)))
    copies = (copies - copies.mean(0)) @ root.T + cloud.mean(0)
    assert frechet_distance(cloud, copies) == pytest.approx(0, abs=1e-6)
    assert he.gess(copies, space=he.Euclidean(4), resolution=0.3) == pytest.approx(8, rel=1e-3)
    assert he.gess(cloud, space=he.Euclidean(4), resolution=0.3) > 500


def test_prdc_calls_copies_precise():
    compute = peer("prdc").compute_prdc
    real = np.random.default_rng(0).normal(size=(300, 4))
    fake = np.repeat(real[:3], 100, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compute(real, fake, nearest_k=5)
    assert found["precision"] == 1.0
    assert found["coverage"] < 0.2
    assert he.gess(fake, space=he.Euclidean(4), resolution=0.2) == pytest.approx(3, rel=1e-6)


def test_mmd2_with_a_gaussian_kernel_follows_from_three_gess():
    rng, sigma = np.random.default_rng(0), 1.5
    a, b, space = rng.normal(size=(70, 4)), rng.normal(size=(50, 4)) + 0.5, he.Euclidean(4)

    def mean(x, y):
        return np.exp(-squared_distances(x, y) / (2 * sigma**2)).mean()

    both, halves = np.vstack([a, b]), np.repeat([1 / 140, 1 / 100], [70, 50])
    of_a, of_b = (he.gess(x, space=space, resolution=math.sqrt(2) * sigma) for x in (a, b))
    of_both = he.gess(both, halves, space=space, resolution=math.sqrt(2) * sigma)
    assert 2 / of_a + 2 / of_b - 4 / of_both == pytest.approx(mean(a, a) + mean(b, b) - 2 * mean(a, b), rel=1e-9)


# Markov chains.


def autoregression(n, dim, memory=0.8):
    noise, chain = np.random.default_rng(0).normal(size=(n, dim)), np.zeros((n, dim))
    for k in range(1, n):
        chain[k] = memory * chain[k - 1] + noise[k]
    return chain


def draws_of_coordinates(chain):
    """ESS of Vehtari et al. (2021) for one chain, split, from autocovariances added over the coordinates."""
    half = len(chain) // 2
    halves = np.stack([chain[:half], chain[-half:]])
    centred = halves - halves.mean(axis=1, keepdims=True)
    lags = [np.sum(centred[:, : half - k] * centred[:, k:]) / (2 * half) for k in range(half)]
    within = lags[0] * half / (half - 1)
    total = lags[0] + np.sum((halves.mean(axis=1) - halves.mean(axis=(0, 1))) ** 2)
    rho = 1 - (within - np.array(lags)) / total
    rho[0] = 1.0
    sums, tau = rho[: half // 2 * 2].reshape(-1, 2).sum(axis=1), -1.0
    least = math.inf
    for k, value in enumerate(sums):
        if value <= 0:
            return len(chain) / (tau + max(rho[2 * k], 0.0))
        least = min(least, value)
        tau += 2 * least
    raise AssertionError("the chain is too short")


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
@pytest.mark.parametrize("dim", [1, 3])
def test_chain_ess_at_coarse_scales_is_that_of_the_coordinates(dim):
    chain = autoregression(1000, dim)
    found = he.chain_ess(chain, space=he.Euclidean(dim), resolutions=[1000.0]).ess[0]
    assert found == pytest.approx(draws_of_coordinates(chain), rel=1e-4)


def test_arviz_agrees():
    arviz = peer("arviz")
    chain = autoregression(1000, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = float(arviz.ess(chain.T, method="mean"))
    assert he.chain_ess(chain, space=he.Euclidean(1), resolutions=[1000.0]).ess[0] == pytest.approx(theirs, rel=1e-4)


def test_the_order_of_draws_counts_for_chains_alone():
    chain = autoregression(1000, 1)
    mixed, space = np.random.default_rng(1).permutation(chain), he.Euclidean(1)
    assert he.gess(mixed, space=space, resolution=0.5) == pytest.approx(he.gess(chain, space=space, resolution=0.5))
    found = [he.chain_ess(draws, space=space, resolutions=[100.0]).ess[0] for draws in (chain, mixed)]
    assert found[1] > 4 * found[0]
