"""Samplers draw from the law they name."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ive
from scipy.stats import beta, kstest, norm

import heatess as he
from heatess import samplers

SIGMAS = 4.5
LEVEL = 1e-5  # of each Kolmogorov-Smirnov test


def unit(vector):
    vector = np.asarray(vector, dtype=float)
    return vector / np.linalg.norm(vector)


def cosine_deficit_law(p, kappa):
    """Mean and variance of 1 - mean . x under the von Mises-Fisher law in R^p, at 60 digits.

    E cos = A = I_{p/2}(kappa) / I_{p/2-1}(kappa) and Var cos = 1 - A^2 - (p - 1) A / kappa.
    """
    if kappa == 0:
        return 1.0, 1 / p
    with mp.workdps(60):
        half, k = mp.mpf(p) / 2, mp.mpf(kappa)
        ratio = mp.besseli(half, k) / mp.besseli(half - 1, k)
        return float(1 - ratio), float(1 - ratio**2 - (p - 1) * ratio / k)


@pytest.mark.parametrize("p", [2, 3, 4, 10, 100, 384])
@pytest.mark.parametrize("kappa", [20.0, 1e3, 1e6])
def test_the_reference_is_the_bessel_ratio(p, kappa):
    assert 1 - cosine_deficit_law(p, kappa)[0] == pytest.approx(ive(p / 2, kappa) / ive(p / 2 - 1, kappa), rel=1e-10)


@pytest.mark.parametrize("dim", [1, 2, 3, 9, 99, 383])
@pytest.mark.parametrize("kappa", [0, 1e-3, 1, 20, 1e3, 1e6])
def test_von_mises_fisher_has_its_mean_resultant_and_spread(dim, kappa):
    n, p = 4000, dim + 1
    rng = np.random.default_rng([dim, int(kappa * 1000)])
    mean = unit(rng.standard_normal(p))
    x = samplers.von_mises_fisher(n, mean, kappa, rng=rng)
    assert x.shape == (n, p)
    assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=0, atol=4e-16 * math.sqrt(p))
    deficit = np.sum((x - mean) ** 2, axis=1) / 2
    expected, variance = cosine_deficit_law(p, kappa)
    assert abs(deficit.mean() - expected) < SIGMAS * math.sqrt(variance / n)
    fourth = np.mean((deficit - expected) ** 4)
    assert abs(np.mean((deficit - expected) ** 2) - variance) < SIGMAS * math.sqrt((fourth - variance**2) / n)


@pytest.mark.parametrize("kappa", [1e-3, 1.0, 20.0, 1e3, 1e6])
def test_cosine_on_the_sphere_follows_the_closed_form(kappa):
    x = samplers.von_mises_fisher(20_000, [0, 0, 1], kappa, rng=int(kappa) + 5)
    deficit = (x[:, 0] ** 2 + x[:, 1] ** 2 + (1 - x[:, 2]) ** 2) / 2
    assert kstest(deficit, lambda d: np.expm1(-kappa * d) / math.expm1(-2 * kappa)).pvalue > LEVEL


@pytest.mark.parametrize("kappa", [1.0, 50.0])
def test_angle_on_the_circle_follows_the_von_mises_law(kappa):
    from scipy.stats import vonmises

    x = samplers.von_mises_fisher(20_000, [1, 0], kappa, rng=8)
    assert kstest(np.arctan2(x[:, 1], x[:, 0]), vonmises(kappa).cdf).pvalue > LEVEL


@pytest.mark.parametrize("dim", [2, 3, 9, 99])
@pytest.mark.parametrize("kappa", [0.5, 200.0])
def test_tangent_direction_is_uniform(dim, kappa):
    rng = np.random.default_rng(dim)
    mean = unit(rng.standard_normal(dim + 1))
    x = samplers.von_mises_fisher(5000, mean, kappa, rng=rng)
    tangent = x - np.outer(x @ mean, mean)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    for _ in range(3):
        probe = rng.standard_normal(dim + 1)
        probe = unit(probe - (probe @ mean) * mean)
        law = beta((dim - 1) / 2, (dim - 1) / 2)  # of (1 + u) / 2, u a coordinate on S^(dim - 1)
        assert kstest((1 + tangent @ probe) / 2, law.cdf).pvalue > LEVEL


def test_circle_draws_fall_on_either_side():
    x = samplers.von_mises_fisher(4000, [0, 1], 10.0, rng=4)
    assert abs(np.mean(x[:, 0] > 0) - 0.5) < SIGMAS * 0.5 / math.sqrt(4000)


@pytest.mark.parametrize(
    "mean", [[1, 0, 0], [-1, 0, 0], [0, 0, -1], [1 - 5e-17, 1e-8, 0], [-1, 1e-9, 0], unit([1, -2, 3])], ids=str
)
def test_any_mean_direction_will_do(mean):
    x = samplers.von_mises_fisher(2000, mean, 1e4, rng=0)
    expected, variance = cosine_deficit_law(3, 1e4)
    deficit = np.sum((x - unit(mean)) ** 2, axis=1) / 2
    assert abs(deficit.mean() - expected) < SIGMAS * math.sqrt(variance / 2000)
    offset = x.mean(axis=0) - unit(mean) * (1 - expected)
    assert np.linalg.norm(offset) < SIGMAS * math.sqrt(2 * expected / 2000)


@pytest.mark.parametrize("dim", [1, 2, 9, 383])
def test_uniform_draws_have_uniform_coordinates(dim):
    x = samplers.uniform(5000, dim, rng=dim)
    assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=0, atol=4e-16 * math.sqrt(dim + 1))
    probe = unit(np.arange(1, dim + 2))
    assert kstest((1 + x @ probe) / 2, beta(dim / 2, dim / 2).cdf).pvalue > LEVEL


def test_girdle_is_a_clipped_normal_band():
    spread, clip, n = 0.035, 0.05, 20_000
    x = samplers.girdle(n, spread=spread, clip=clip, rng=6)
    assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=0, atol=1e-15)
    assert kstest(np.arctan2(x[:, 1], x[:, 0]) / (2 * math.pi) + 0.5, "uniform").pvalue > LEVEL
    inside = x[np.abs(x[:, 2]) < clip, 2]
    share = math.erf(clip / spread / math.sqrt(2))
    assert abs(len(inside) / n - share) < SIGMAS * math.sqrt(share * (1 - share) / n)
    assert np.abs(x[:, 2]).max() == clip
    assert kstest(inside, lambda z: (norm.cdf(z / spread) - (1 - share) / 2) / share).pvalue > LEVEL


def test_girdle_defaults_are_those_of_the_paper():
    x = samplers.girdle(50_000, rng=1)
    assert np.abs(x[:, 2]).max() <= 0.12
    assert x[:, 2].std() == pytest.approx(0.035, rel=SIGMAS / math.sqrt(2 * 50_000))


def test_tetrahedral_modes_sit_at_the_vertices():
    vertices = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / math.sqrt(3)
    x = samplers.tetrahedral(302, 140.0, rng=2)
    nearest = np.argmax(x @ vertices.T, axis=1)
    assert_array_equal(nearest, np.repeat([0, 1, 2, 3], [76, 76, 75, 75]))
    expected, variance = cosine_deficit_law(3, 140.0)
    assert abs(np.mean(1 - np.max(x @ vertices.T, axis=1)) - expected) < SIGMAS * math.sqrt(variance / 302)
    assert samplers.tetrahedral(2, 140.0, rng=2).shape == (2, 3)


@pytest.mark.parametrize("n", [1, 2, 30, 1001])
def test_fibonacci_heights_and_golden_angle(n):
    x = samplers.fibonacci(n)
    i = np.arange(n)
    assert_allclose(x[:, 2], 1 - (2 * i + 1) / n, rtol=0, atol=1e-15)
    turn = np.exp(2j * math.pi * i * (1 - 2 / (1 + math.sqrt(5))))
    assert_allclose((x[:, 0] + 1j * x[:, 1]) / np.hypot(x[:, 0], x[:, 1]), turn, rtol=0, atol=1e-11)
    assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=0, atol=1e-15)


def test_a_turned_lattice_keeps_its_distances():
    plain, turned = samplers.fibonacci(40), samplers.fibonacci(40, rng=3)
    assert_allclose(turned @ turned.T, plain @ plain.T, rtol=0, atol=1e-14)
    assert np.abs(turned - plain).max() > 0.1


def test_turns_of_the_lattice_are_uniform():
    rng = np.random.default_rng(9)
    first = np.array([samplers.fibonacci(1, rng=rng)[0] for _ in range(3000)])
    for axis in range(3):
        assert kstest((1 + first[:, axis]) / 2, "uniform").pvalue > LEVEL


def pole(sign):
    return lambda n, rng: samplers.von_mises_fisher(n, [0, 0, sign], 1e3, rng=rng)


@pytest.mark.parametrize(("shares", "expected"), [(None, 0.5), ([3, 1], 0.75), ([1, 0], 1.0)])
def test_mixture_respects_its_shares(shares, expected):
    x = samplers.mixture(4000, [pole(1), pole(-1)], shares, rng=1)
    up = x[:, 2] > 0
    assert abs(up.mean() - expected) <= SIGMAS * math.sqrt(expected * (1 - expected) / 4000)
    assert abs(up[:2000].mean() - expected) <= SIGMAS * math.sqrt(expected * (1 - expected) / 2000)


SAMPLERS = {
    "uniform": lambda rng: samplers.uniform(20, 3, rng=rng),
    "von_mises_fisher": lambda rng: samplers.von_mises_fisher(20, [0, 1, 0], 5.0, rng=rng),
    "girdle": lambda rng: samplers.girdle(20, rng=rng),
    "tetrahedral": lambda rng: samplers.tetrahedral(20, 9.0, rng=rng),
    "fibonacci": lambda rng: samplers.fibonacci(20, rng=rng),
    "mixture": lambda rng: samplers.mixture(20, [pole(1), pole(-1)], rng=rng),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_seed_fixes_the_draw_and_a_generator_moves_on(name):
    draw = SAMPLERS[name]
    assert_array_equal(draw(7), draw(7))
    assert_array_equal(draw(7), draw(np.int64(7)))
    rng = np.random.default_rng(7)
    assert_array_equal(draw(rng), draw(7))
    assert np.abs(draw(rng) - draw(7)).max() > 1e-3
    assert np.abs(draw(8) - draw(7)).max() > 1e-3


def test_the_global_generator_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for draw in SAMPLERS.values():
        draw(0)
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: samplers.uniform(0, rng=0), "number of points must be a whole number >= 1, but is 0"),
        (lambda: samplers.uniform(2.5, rng=0), r"whole number >= 1, but is 2\.5"),
        (lambda: samplers.uniform(5, 0, rng=0), r"Sphere\(dim\) needs a whole number dim >= 1, but found 0"),
        (
            lambda: samplers.uniform(5, rng="seed"),
            "rng must be a numpy.random.Generator or an integer seed, but is 'seed'",
        ),
        (lambda: samplers.uniform(5, rng=None), "rng must be .* but is None"),
        (lambda: samplers.von_mises_fisher(5, [0, 0, 2], 1.0, rng=0), "must be unit vectors .* norm 2"),
        (lambda: samplers.von_mises_fisher(5, [0, math.nan, 1], 1.0, rng=0), "must be finite, but row 0 is"),
        (lambda: samplers.von_mises_fisher(5, [[0, 0, 1]], 1.0, rng=0), r"one unit vector .* has shape \(1, 3\)"),
        (lambda: samplers.von_mises_fisher(5, [1.0], 1.0, rng=0), r"at least 2 coordinates, but has shape \(1,\)"),
        (
            lambda: samplers.von_mises_fisher(5, [0, 0, 1], -1.0, rng=0),
            r"kappa must be finite and not negative, but is -1\.0",
        ),
        (lambda: samplers.von_mises_fisher(5, [0, 0, 1], math.inf, rng=0), "kappa must be finite .* but is inf"),
        (lambda: samplers.von_mises_fisher(5, [0, 0, 1], math.nan, rng=0), "kappa must be finite .* but is nan"),
        (lambda: samplers.von_mises_fisher(5, [0, 0, 1], "large", rng=0), "kappa must be .* but is 'large'"),
        (lambda: samplers.girdle(5, spread=-0.1, rng=0), "spread must be >= 0 .* -0.1"),
        (lambda: samplers.girdle(5, clip=1.5, rng=0), r"clip in \[0, 1\], but they are 0.035 and 1.5"),
        (lambda: samplers.mixture(5, [], rng=0), "shares must be 0 non-negative numbers"),
        (
            lambda: samplers.mixture(5, [pole(1)], [1, 2], rng=0),
            "shares must be 1 non-negative numbers with a positive sum",
        ),
        (lambda: samplers.mixture(5, [pole(1), pole(-1)], [1, -1], rng=0), "shares must be 2 non-negative"),
        (lambda: samplers.mixture(5, [pole(1), pole(-1)], [0, 0], rng=0), "with a positive sum"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, message):
    with pytest.raises(he.InputError, match=message):
        call()


@pytest.mark.parametrize("kappa", [1e-300, 1e12, 1e300, 1.7e308])
def test_any_finite_concentration_gives_unit_vectors(kappa):
    x = samplers.von_mises_fisher(100, [0, 0, 1], kappa, rng=0)
    assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=0, atol=1e-15)
    if kappa > 1:
        scaled = np.sum((x[:, :2] * math.sqrt(kappa)) ** 2, axis=1)  # chi-square with two degrees of freedom
        assert abs(scaled.mean() - 2) < SIGMAS * 2 / math.sqrt(100)
