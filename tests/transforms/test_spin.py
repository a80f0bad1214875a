"""The transform of the 3-sphere: unit quaternions of which q and -q are two points."""

from __future__ import annotations

import warnings

import hypothesis.strategies as st
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings

import heatess as he
import reference
from heatess.engines.base import LevelsQuestion
from heatess.engines.pairs import Pairs
from heatess.engines.spectral import Spectral
from heatess.heat.series import overlap
from heatess.transforms import wigner
from heatess.transforms.wigner import right_angle, table_start
from test_against_mpmath import assert_matches, awkward_cloud

SPACE = he.Sphere(3)
TRANSFORM = SPACE.transform
POLES = np.vstack([np.eye(4), -np.eye(4)])  # where b is 0 or pi, and a or c may be anything

quick = settings(deadline=None, max_examples=25)


def cloud(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weighted points, poles and points 1e-9 radians beside them included; the weights sum to one."""
    rng = np.random.default_rng(seed)
    points = np.vstack([POLES[3] + rng.normal(size=(n, 4)), POLES, POLES + 1e-9 * rng.normal(size=(8, 4))])
    weights = rng.random(len(points))
    return points / np.linalg.norm(points, axis=1, keepdims=True), weights / weights.sum()


def characters(distances: np.ndarray, count: int) -> np.ndarray:
    """sin((k + 1) d) / ((k + 1) sin d) as a sum of cosines, which is exact at d = 0 and pi too; (levels, ...)."""
    waves = [np.cos(k * distances) for k in range(count)]
    levels = []
    for k in range(count):
        terms = [(1 if i == 0 else 2) * waves[i] for i in range(k % 2, k + 1, 2)]
        levels.append(sum(terms) / (k + 1))
    return np.array(levels)


def plain_moments(points: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """b_k = sum_ij w_i w_j P_k(d_ij) over all pairs, in plain NumPy."""
    chords = np.linalg.norm(points[:, None] - points, axis=2), np.linalg.norm(points[:, None] + points, axis=2)
    return np.einsum("i,kij,j->k", weights, characters(2 * np.arctan2(*chords), count), weights)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 120])
def test_the_moments_are_those_of_pairs(count: int, threads: int) -> None:
    points, weights = cloud(60, seed=1)
    coefficients = TRANSFORM.coefficients(points, weights, count - 1, 1e-13, threads)
    assert coefficients.shape == TRANSFORM.zeros(count - 1).shape
    np.testing.assert_allclose(TRANSFORM.moments(coefficients), plain_moments(points, weights, count), atol=1e-13)


@pytest.mark.slow
def test_the_moments_match_forty_digits() -> None:
    points, weights = awkward_cloud(3, seed=1)
    count = 160
    with mp.workdps(40):
        exact = reference.sphere_levels(points, weights, count)
        wanted = [float(energy / (k + 1) ** 2) for k, energy in enumerate(exact)]
    found = TRANSFORM.moments(TRANSFORM.coefficients(points, weights / weights.sum(), count - 1, 1e-13, 1))
    np.testing.assert_allclose(found, wanted, atol=1e-13)


@pytest.mark.parametrize("place", range(8))
@pytest.mark.slow
def test_one_atom_has_all_its_energy_in_every_level_even_at_a_pole(place: int) -> None:
    found = TRANSFORM.coefficients(POLES[place : place + 1], np.ones(1), 150, 3e-13, 1)
    np.testing.assert_allclose(TRANSFORM.moments(found), 1.0, atol=1e-12)


def test_odd_levels_change_their_sign_with_the_quaternion() -> None:
    points, weights = cloud(40, seed=2)
    one, other = (TRANSFORM.coefficients(q, weights, 30, 1e-13, 1) for q in (points, -points))
    starts = np.cumsum([0] + [(k // 2 + 1) * (k + 1) for k in range(31)])
    sign = np.repeat((-1.0) ** np.arange(31), np.diff(starts))
    np.testing.assert_allclose(other, sign * one, atol=1e-13)


def test_q_and_minus_q_in_equal_parts_are_one_line() -> None:
    points, weights = cloud(40, seed=3)
    both = TRANSFORM.coefficients(np.vstack([points, -points]), np.tile(weights, 2) / 2, 60, 1e-13, 1)
    lines = he.Projective(3).transform
    wanted = lines.moments(lines.coefficients(points, weights, 30, 1e-13, 1))
    np.testing.assert_allclose(TRANSFORM.moments(both)[::2], wanted, atol=1e-13)
    np.testing.assert_allclose(TRANSFORM.moments(both)[1::2], 0, atol=1e-25)


def half_integer_wigner(level: int, m: int, n: int) -> mp.mpf:
    """d^j_mn(-pi / 2) by its explicit sum, with j = level + 1/2 and so on."""
    f = mp.factorial
    up, down = (level + m + 1, level + n + 1), (level - m, level - n)  # j + m, j + n; j - m, j - n
    root = mp.sqrt(f(up[0]) * f(down[0]) * f(up[1]) * f(down[1]))
    terms = (
        (-1) ** k * root / (f(up[0] - k) * f(k) * f(n - m + k) * f(down[1] - k))
        for k in range(max(0, m - n), min(up[0], down[1]) + 1)
    )
    return (-1) ** (n - m) * mp.fsum(terms) / mp.mpf(2) ** (level + mp.mpf("0.5"))


@pytest.mark.parametrize("level", [0, 1, 2, 5, 30])
def test_half_integer_right_angles_match_the_explicit_sum(level: int) -> None:
    found = right_angle(200, 1)[table_start(level) : table_start(level + 1)].reshape(level + 1, level + 1)
    with mp.workdps(40):
        wanted = [[float(half_integer_wigner(level, m, n)) for n in range(level + 1)] for m in range(level + 1)]
    np.testing.assert_allclose(found, wanted, atol=1e-14)


@pytest.mark.parametrize("level", [139, 199])
def test_half_integer_right_angles_are_orthogonal_at_high_levels(level: int) -> None:
    quarter = right_angle(200, 1)[table_start(level) : table_start(level + 1)].reshape(level + 1, level + 1)
    sign = -((-1.0) ** (level + np.arange(level + 1)))
    rows = np.hstack([(sign[:, None] * quarter)[:, ::-1], quarter])  # n from -j to j
    np.testing.assert_allclose(rows @ rows.T, np.eye(level + 1), atol=1e-13)


def test_potentials_are_sums_of_overlaps() -> None:
    points, weights = cloud(50, seed=4)
    at, _ = cloud(20, seed=5)
    time = float(np.radians(8) ** 2 / 8)
    degree = TRANSFORM.degree_for(time, len(points), 1e-10)
    coefficients = TRANSFORM.coefficients(points, weights, degree, 1e-13, 1)
    distances = SPACE.distance(at[:, None], points)
    wanted = overlap(SPACE.series, time, distances.ravel()).reshape(distances.shape) @ weights
    for threads in (1, 2):
        found = TRANSFORM.potential(coefficients, degree, time, at, 1e-13, threads)
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 24])
def test_synthesis_weighs_every_level(degree: int) -> None:
    points, weights = cloud(30, seed=6)
    at, _ = cloud(10, seed=7)
    shares = np.random.default_rng(8).random(degree + 1)
    found = TRANSFORM.synthesis(TRANSFORM.coefficients(points, weights, degree, 1e-13, 1), shares, at, 1e-13, 1)
    values = characters(SPACE.distance(at[:, None], points), degree + 1)
    np.testing.assert_allclose(found, np.einsum("k,kyi,i->y", shares, values, weights), atol=1e-12)


@pytest.mark.slow
def test_orders_and_points_taken_some_at_a_time_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points, weights = cloud(150, seed=9)
    time = float(np.radians(25) ** 2 / 8)
    whole = TRANSFORM.coefficients(points, weights, 50, 1e-13, 1)
    potential = TRANSFORM.potential(whole, 50, time, points, 1e-13, 1)
    monkeypatch.setattr(wigner, "MODES", 52**2 * 7)  # orders 0 to 6, 7 to 13, ...
    monkeypatch.setattr(wigner, "TRANSFORM_BLOCK", 64)
    for threads in (1, 2):
        parts = TRANSFORM.coefficients(points, weights, 50, 1e-13, threads)
        np.testing.assert_allclose(parts, whole, atol=1e-13)
        found = TRANSFORM.potential(parts, 50, time, points, 1e-13, threads)
        np.testing.assert_allclose(found, potential, atol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-8, 1e-10, 1e-12])
def test_coefficients_are_as_accurate_as_they_are_asked_to_be(epsilon: float) -> None:
    for spread in (1.0, 0.01):
        rng = np.random.default_rng(10)
        points = np.array([0, 0, 0, 1.0]) + spread * rng.normal(size=(150, 4))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        weights = np.full(150, 1 / 150)
        wanted = plain_moments(points, weights, 80)
        found = TRANSFORM.moments(TRANSFORM.coefficients(points, weights, 79, epsilon, 1))
        off = np.abs(np.sqrt(found) - np.sqrt(np.maximum(wanted, 0)))
        certain = wanted > 1e-15 / epsilon  # elsewhere the sum over pairs itself is not
        assert (off[certain] < epsilon / 4 + 1e-14).all()


@pytest.mark.slow
def test_the_profile_matches_forty_digits() -> None:
    points, weights = awkward_cloud(3, seed=11)
    times = np.radians([3.0, 15.0, 45.0, 120.0, 350.0]) ** 2 / 8
    truth = reference.profile(points, weights, times, 700)
    found = he.heat_profile(points, weights, times=times, method="spectral")
    assert found.method == "spectral"
    assert_matches(found, truth)


@pytest.mark.slow
@pytest.mark.parametrize("rtol", [1e-3, 1e-5, 1e-10])
def test_the_stated_error_covers_the_truth(rtol: float) -> None:
    points, weights = awkward_cloud(3, seed=12, skew=1.0)
    times = np.radians([4.0, 10.0, 40.0, 100.0]) ** 2 / 8
    truth = reference.profile(points, weights, times, 500)
    found = he.heat_profile(points, weights, times=times, method="spectral", rtol=rtol)
    off = [float(abs(mp.mpf(float(gess)) / exact.gess - 1)) for gess, exact in zip(found.gess, truth, strict=True)]
    assert (np.array(off) <= found.error).all()
    assert (found.error <= rtol).all()


@pytest.mark.slow
def test_the_finest_scale_of_the_transform_agrees_with_neighbours() -> None:
    rng = np.random.default_rng(13)
    points = np.array([0.5, 0.5, 0.5, -0.5]) + 0.05 * rng.normal(size=(300, 4))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    times = np.radians([1.65, 2.0]) ** 2 / 8
    fast, near = (he.heat_profile(points, times=times, method=method) for method in ("spectral", "local"))
    assert 5 < near.gess[1] < near.gess[0] < 250
    assert (np.abs(fast.gess / near.gess - 1) <= fast.error + near.error).all()
    np.testing.assert_allclose(fast.mmd2, near.mmd2, rtol=1e-8)


def test_single_precision_is_brought_to_unit_length() -> None:
    points, weights = cloud(200, seed=14)
    narrow = points.astype(np.float32)
    unit = narrow.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    found, wanted = (he.heat_profile(x, weights, angles=[6, 40], method="spectral") for x in (narrow, unit))
    np.testing.assert_allclose(found.gess, wanted.gess, rtol=1e-10)


def test_many_atoms_take_the_transform_and_agree_with_pairs() -> None:
    points = SPACE.uniform(6000, np.random.default_rng(15))
    weights = np.exp(points[:, 0])
    angles = np.geomspace(10, 120, 8)
    found, wanted = (he.heat_profile(points, weights, angles=angles, method=how) for how in ("auto", "pairwise"))
    assert "spectral" in found.method
    assert "pairwise" not in found.method
    np.testing.assert_allclose(found.gess, wanted.gess, rtol=1e-9)
    np.testing.assert_allclose(found.mmd2, wanted.mmd2, rtol=1e-8)


def test_a_few_atoms_at_fine_scales_do_not_take_the_transform() -> None:
    points = SPACE.uniform(50, np.random.default_rng(16))
    assert "spectral" not in he.heat_profile(points, angles=[3, 5]).method


@pytest.mark.parametrize(("n", "count", "fast"), [(50, 120, False), (4000, 40, True)])
def test_levels_come_from_pairs_where_these_are_much_cheaper(n: int, count: int, fast: bool) -> None:
    measure = he.Measure(SPACE.uniform(n, np.random.default_rng(17)))
    question = LevelsQuestion.of(measure, count, 1e-9)
    offers = [engine.levels(question) for engine in (Spectral(), Pairs())]
    assert (min(offers, key=lambda offer: offer.cost(0, 1)).name == "spectral") == fast
    found = he.power_spectrum(measure, max_degree=count - 1)
    wanted = TRANSFORM.moments(TRANSFORM.coefficients(measure.points, measure.weights, count - 1, 1e-13, 1))
    np.testing.assert_allclose(found.energies, found.multiplicities * wanted, rtol=1e-8)


@pytest.mark.parametrize(("shift", "rtol"), [(1e-6, 1e-5), (1e-3, 1e-8), (0.3, 1e-9)])
@pytest.mark.slow
def test_mmd2_of_few_atoms_is_that_of_their_coefficients(shift: float, rtol: float) -> None:
    rng = np.random.default_rng(18)
    one = SPACE.uniform(40, rng)
    other = one + shift * rng.normal(size=one.shape)
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    times = np.radians([8.0, 30.0]) ** 2 / 8
    found = he.mmd2(one, other, times=times)
    levels = np.arange(110)
    decay = (levels + 1) ** 2 * np.exp(-2 * np.multiply.outer(times, levels * (levels + 2)))
    parts = [TRANSFORM.coefficients(x, np.full(40, 1 / 40), 109, 1e-13, 1) for x in (one, other)]
    half = TRANSFORM.moments((parts[0] - parts[1]) / 2)  # the level of the constant is set to one there
    np.testing.assert_allclose(found, 4 * (decay[:, 1:] @ half[1:]), rtol=rtol)


# What must hold for every cloud, by the transform.


@st.composite
def small_clouds(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Points at mutual distances from 1e-4 to pi, near a pole or not, and weights over six orders of magnitude."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, spread = draw(st.integers(1, 7)), draw(st.sampled_from([1e-4, 1e-2, 0.3, 100.0]))
    centre = draw(st.sampled_from([*POLES, None]))
    x = (rng.normal(size=4) if centre is None else centre) + spread * rng.normal(size=(n, 4))
    w = 10.0 ** -rng.uniform(0, draw(st.sampled_from([0.0, 6.0])), n)
    return x / np.linalg.norm(x, axis=1, keepdims=True), w / w.sum(), rng


angles = st.floats(0.0, 1.0).map(lambda share: 10 * 20**share)  # from 10 to 200 degrees


def by(method: str, points: np.ndarray, weights: np.ndarray, angle: float) -> he.HeatProfile:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)  # of MMD^2, where heat has mixed
        return he.heat_profile(points, weights, angles=[angle], method=method)


def assert_same(one: he.HeatProfile, other: he.HeatProfile) -> None:
    """Within the sum of the stated errors."""
    assert abs(one.gess[0] / other.gess[0] - 1) <= one.error[0] + other.error[0]


@quick
@given(small_clouds(), angles)
def test_the_transform_agrees_with_pairs(cloud: tuple, angle: float) -> None:
    x, w, _ = cloud
    assert_same(by("spectral", x, w, angle), by("pairwise", x, w, angle))


@quick
@given(small_clouds(), angles)
def test_gess_lies_between_one_and_ess(cloud: tuple, angle: float) -> None:
    x, w, _ = cloud
    found = by("spectral", x, w, angle)
    assert 1 <= found.gess[0] <= found.ess


@quick
@given(small_clouds(), angles, st.floats(0.01, 0.99))
def test_splitting_an_atom_changes_nothing(cloud: tuple, angle: float, share: float) -> None:
    x, w, rng = cloud
    k = rng.integers(len(x))
    split = np.append(w, w[k] * (1 - share))
    split[k] *= share
    assert_same(by("spectral", np.vstack([x, x[k]]), split, angle), by("spectral", x, w, angle))


@quick
@given(small_clouds(), angles)
def test_turning_and_reflecting_the_cloud_changes_nothing(cloud: tuple, angle: float) -> None:
    x, w, rng = cloud
    turn, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    whole = by("spectral", x, w, angle)
    for image in (x @ turn, -x, x * [-1, -1, -1, 1]):
        assert_same(by("spectral", image, w, angle), whole)
