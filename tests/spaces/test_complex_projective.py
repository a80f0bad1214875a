"""Complex projective spaces: complex unit vectors without their phase."""

from __future__ import annotations

import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from scipy.special import binom, eval_jacobi

import heatess as he
from heatess.engines import neighbours
from heatess.heat.expansion import phase
from heatess.heat.series import SERIES_LIMIT, level_count
from heatess.heat.spherical import SphereSeries
from heatess.spaces import named
from heatess.spaces.complex_projective import JacobiSeries
from reference import DIGITS, Exact
from test_against_mpmath import assert_matches

# complex dimension: (levels for the reference, angles in degrees)
REGIMES = {
    1: (500, [1.2, 3.0, 15.0, 60.0, 200.0]),
    2: (500, [1.2, 4.0, 15.0, 45.0, 160.0]),
    4: (500, [1.2, 5.0, 15.0, 45.0, 130.0]),
}


def squared_products(points: np.ndarray) -> list[list[mp.mpf]]:
    """|<x, y>|^2 of the exact coordinates, divided by their norms."""
    rows = [[mp.mpc(complex(value)) for value in row] for row in points]
    rows = [[value / mp.sqrt(mp.fsum(abs(v) ** 2 for v in row)) for value in row] for row in rows]
    return [[abs(mp.fsum(a * mp.conj(b) for a, b in zip(x, y, strict=True))) ** 2 for y in rows] for x in rows]


def zonal(n: int, u: mp.mpf, count: int) -> list[mp.mpf]:
    """Jacobi polynomials P_k^(n-1, 0) by their textbook recurrence, each divided by its value at 1."""
    a = n - 1
    before, now, found = mp.mpf(1), a + 1 + mp.mpf(a + 2) * (u - 1) / 2, [mp.mpf(1)]
    size = mp.mpf(1)
    for k in range(1, count):
        size = size * (k + a) / k
        found.append(now / size)
        c = 2 * (k + 1) + a
        ahead = (c - 1) * (c * (c - 2) * u + a * a) * now - 2 * (k + a) * k * c * before
        before, now = now, ahead / (2 * (k + 1) * (k + 1 + a) * (c - 2))
    return found


def decays(n: int, time: float, count: int) -> list[mp.mpf]:
    """N_k exp(-2 lambda_k t), by whole numbers."""
    copies = [math.comb(n + k - 1, k) ** 2 * (2 * k + n) // n for k in range(count)]
    found = [copies[k] * mp.exp(-8 * k * (k + n) * mp.mpf(float(time))) for k in range(count)]
    if found[-1] * count > mp.mpf(10) ** -25 * mp.fsum(found):
        raise ValueError(f"{count} levels are too few for t = {time}")
    return found


def exact_profile(points: np.ndarray, weights: np.ndarray, times: np.ndarray, count: int) -> list[Exact]:
    with mp.workdps(DIGITS):
        n = points.shape[1] - 1
        mass = [mp.mpf(float(w)) for w in weights]
        total, sums = mp.fsum(mass), [mp.mpf(0)] * count
        for i, row in enumerate(squared_products(points)):
            for j in range(i + 1):
                weight = mass[i] * mass[j] / total**2 * (1 if i == j else 2)
                sums = [b + weight * value for b, value in zip(sums, zonal(n, 2 * row[j] - 1, count), strict=True)]
        out = []
        for time in times:
            terms = decays(n, time, count)
            mmd2 = mp.fsum(b * d for b, d in zip(sums[1:], terms[1:], strict=True))
            out.append(Exact(mp.fsum(terms) / (1 + mmd2), mmd2, mp.log1p(mmd2), 1 / (1 + mmd2)))
        return out


def beside(x: np.ndarray, distance: float, rng: np.random.Generator) -> np.ndarray:
    """A point at this distance from x, with some other phase."""
    tangent = rng.normal(size=len(x)) + 1j * rng.normal(size=len(x))
    tangent -= np.vdot(x, tangent) * x
    tangent /= np.linalg.norm(tangent)
    return np.exp(1j) * (math.cos(distance) * x + math.sin(distance) * tangent)


def awkward_cloud(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Duplicates up to a phase, a pair 1e-6 radians apart, an orthogonal pair, uneven weights."""
    rng = np.random.default_rng(seed)
    x = he.ComplexProjective(n).uniform(6, rng)
    points = np.vstack([x, 1j * x[1], -x[1], beside(x[0], 1e-6, rng), beside(x[2], math.pi / 2, rng)])
    return points, np.exp(2 * rng.normal(size=len(points)))


def hopf(states: np.ndarray) -> np.ndarray:
    """The points of Bloch's sphere."""
    a, b = states.T
    off = 2 * a.conj() * b
    return np.stack([off.real, off.imag, abs(a) ** 2 - abs(b) ** 2], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("n", REGIMES)
def test_the_profile_matches_forty_digits(n: int) -> None:
    count, angles = REGIMES[n]
    points, weights = awkward_cloud(n, seed=n)
    times = np.radians(angles) ** 2 / 8
    truth = exact_profile(points, weights, times, count)
    assert truth[-1].mmd2 < 1e-9
    for method in ("auto", "pairwise"):
        profile = he.heat_profile(points, weights, space=he.ComplexProjective(n), times=times, method=method)
        assert_matches(profile, truth)


@pytest.mark.parametrize("n", [2, 4, 30])
def test_scales_below_the_series_match_forty_digits(n: int) -> None:
    rng, space, time = np.random.default_rng(n), he.ComplexProjective(n), 3e-6
    assert level_count(space.series, time, 2.0, 1e-8, SERIES_LIMIT) is None
    x = space.uniform(1, rng)[0]
    points = np.stack([x, beside(x, 4e-3, rng)])  # alpha is 4.9e-3
    truth = exact_profile(points, np.ones(2), np.array([time]), 2400)
    assert 1.2 < truth[0].gess < 1.8
    for method in ("auto", "pairwise", "local"):
        assert_matches(he.heat_profile(points, space=space, times=[time], method=method), truth)


@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize("time", [3e-4, 4e-3, 1.6e-2])
def test_the_expansion_is_as_good_as_it_says(n: int, time: float) -> None:
    small = JacobiSeries(2 * n).small_time(time)
    with mp.workdps(DIGITS):
        terms = decays(n, time, 250)
        diagonal = mp.fsum(terms)
        density = mp.log(diagonal) - mp.mpf(he.ComplexProjective(n).log_volume)
        assert abs(density - small.log_density) < small.error + 1e-13
        for r in small.reach * np.array([0.1, 0.5, 0.9, 1.0]):
            values = zonal(n, mp.cos(2 * mp.mpf(float(r))), 250)
            exact = mp.log(mp.fsum(d * p for d, p in zip(terms, values, strict=True)) / diagonal)
            assert abs(exact - float(small.log_overlap(r * r))) < small.error + 1e-13


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_levels_and_zonal_functions(n: int) -> None:
    series = JacobiSeries(2 * n)
    k = np.arange(40)
    levels = series.levels(40)
    np.testing.assert_array_equal(levels.eigenvalues, 4 * k * (k + n))
    copies = [math.comb(n + level - 1, level) ** 2 * (2 * level + n) // n for level in range(40)]
    np.testing.assert_allclose(np.exp(levels.log_multiplicities), np.array(copies, dtype=float), rtol=1e-12)
    d = np.linspace(0, math.pi / 2, 33)
    expected = eval_jacobi(k[:, None], n - 1, 0, np.cos(2 * d)) / binom(k + n - 1, k)[:, None]
    np.testing.assert_allclose(series.zonal(40, d), expected, atol=1e-13)
    assert series.zonal(1, d).shape == (1, 33)
    cosines = np.cos(2 * np.multiply.outer(np.arange(300), d))
    np.testing.assert_allclose(series.from_cosines(cosines), series.zonal(300, d), atol=1e-12)


def test_the_series_of_a_qubit_is_that_of_a_sphere_of_radius_one_half() -> None:
    jacobi, sphere = JacobiSeries(2), SphereSeries(2, radius=0.5)
    assert (jacobi.dim, jacobi.winding, jacobi.diameter) == (sphere.dim, sphere.winding, sphere.diameter)
    assert jacobi.log_volume == pytest.approx(sphere.log_volume, rel=1e-14)
    for found, expected in zip(jacobi.levels(200), sphere.levels(200), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    d = np.linspace(0, math.pi / 2, 50)
    np.testing.assert_allclose(jacobi.zonal(200, d), sphere.zonal(200, d), atol=1e-13)
    cosines = np.random.default_rng(0).random(100)
    np.testing.assert_allclose(jacobi.from_cosines(cosines), sphere.from_cosines(cosines), atol=1e-13)
    for time in (1e-6, 1e-4, 1e-2):
        found, expected = jacobi.small_time(time), sphere.small_time(time)
        assert found.reach == pytest.approx(expected.reach, rel=1e-15)
        assert found.log_density == pytest.approx(expected.log_density, rel=1e-14)
        square = np.linspace(0, found.reach**2, 20)
        np.testing.assert_allclose(found.log_overlap(square), expected.log_overlap(square), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(found.log_slope(square), expected.log_slope(square), rtol=1e-13, atol=1e-13)


def test_the_states_of_a_qubit_are_a_sphere_at_half_the_distance() -> None:
    rng = np.random.default_rng(1)
    space = he.ComplexProjective(1)
    states, weights = space.uniform(300, rng), rng.random(300)
    times = np.radians([0.02, 0.5, 5.0, 30.0, 100.0]) ** 2 / 8
    profile = he.heat_profile(states, weights, space=space, times=times)
    bloch = he.heat_profile(hopf(states), weights, times=4 * times)
    np.testing.assert_allclose(profile.gess, bloch.gess, rtol=1e-9)
    np.testing.assert_allclose(profile.mmd2, bloch.mmd2, rtol=1e-8)
    np.testing.assert_allclose(profile.dimension, bloch.dimension, rtol=1e-7)
    np.testing.assert_allclose(
        2 * space.distance(states[:100], states[100:200]),
        he.Sphere(2).distance(hopf(states[:100]), hopf(states[100:200])),
        rtol=1e-13,
    )


@pytest.mark.parametrize("n", [1, 2, 5])
def test_engines_agree(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, space = np.random.default_rng(n), he.ComplexProjective(n)
    points = space.uniform(1, rng) + 0.02 * space.uniform(300, rng)
    points *= np.exp(2j * math.pi * rng.random((300, 1))) / np.linalg.norm(points, axis=1, keepdims=True)
    times = np.radians([0.1, 0.8, 1.5]) ** 2 / 8
    profiles = [he.heat_profile(points, space=space, times=times, method=m) for m in ("pairwise", "auto", "local")]
    monkeypatch.setattr(neighbours, "FEW_ATOMS", 0)
    profiles.append(he.heat_profile(points, space=space, times=times, method="local"))
    for other in profiles[1:]:
        np.testing.assert_allclose(other.gess, profiles[0].gess, rtol=1e-9)
        np.testing.assert_allclose(other.mmd2, profiles[0].mmd2, rtol=1e-9)
        np.testing.assert_allclose(other.dimension, profiles[0].dimension, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n", [1, 3])
def test_potentials_average_to_the_overlap(n: int) -> None:
    rng, space = np.random.default_rng(n), he.ComplexProjective(n)
    points, weights = space.uniform(150, rng), rng.random(150)
    for angle in (0.3, 10.0, 60.0):
        found = he.potential(points, weights, space=space, angle=angle)
        gess = he.gess(points, weights, space=space, angle=angle)
        assert weights @ found / weights.sum() == pytest.approx(1 / gess, rel=1e-9)


def test_phases_change_nothing() -> None:
    rng, space = np.random.default_rng(5), he.ComplexProjective(3)
    points = space.uniform(200, rng)
    turned = points * np.exp(2j * math.pi * rng.random((200, 1)))
    np.testing.assert_allclose(space.check(points), space.check(turned), atol=4e-16)
    for angle in (0.5, 20.0, 60.0):
        same = [he.gess(p, space=space, angle=angle) for p in (points, turned)]
        assert same[0] == pytest.approx(same[1], rel=1e-11)
    doubled = he.heat_profile(np.vstack([points, turned, -1j * points]), space=space, times=[1e-16, 1e-8])
    np.testing.assert_allclose(doubled.gess, 200, rtol=1e-9)


def test_checked_columns_real_vectors_and_single_precision_are_taken() -> None:
    rng, space = np.random.default_rng(6), he.ComplexProjective(2)
    points = space.uniform(50, rng)
    checked = space.check(points)
    assert checked.shape == (50, 6)
    np.testing.assert_array_equal(space.check(checked), checked)
    np.testing.assert_allclose(space.distance(checked, points), 0, atol=1e-15)
    np.testing.assert_array_equal(space.check(points.tolist()), checked)
    np.testing.assert_array_equal(space.check(np.asfortranarray(points)), checked)
    np.testing.assert_allclose(space.check(points.astype(np.complex64)), checked, atol=1e-6)
    np.testing.assert_array_equal(space.check(-np.eye(3)), np.hstack([np.eye(3), np.zeros((3, 3))]))
    real = he.Sphere(2).uniform(40, rng)
    np.testing.assert_allclose(space.distance(real, real[::-1]), he.Projective(2).distance(real, real[::-1]))


@pytest.mark.parametrize("n", [1, 4])
def test_distances(n: int) -> None:
    rng, space = np.random.default_rng(n), he.ComplexProjective(n)
    x = space.uniform(1, rng)[0]
    for distance in (1e-12, 1e-6, 0.3, 1.2, math.pi / 2):
        y = beside(x, distance, rng)
        for left, right in ((x, y), (space.check(x[None])[0], space.check(y[None])[0])):
            assert float(space.distance(left, right)) == pytest.approx(distance, rel=1e-12, abs=1e-15)
    points = space.uniform(30, rng)
    with mp.workdps(DIGITS):
        exact = [[float(mp.acos(mp.sqrt(min(c, 1)))) for c in row] for row in squared_products(points)]
    columns = space.check(points)
    np.testing.assert_allclose(space.distance(points[:, None], points), exact, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(space.pair_kernel.distances(columns, columns), exact, rtol=1e-12, atol=1e-15)
    coordinates = space.embedding.coordinates(columns)
    assert coordinates.shape == (30, space.embedding.columns)
    chords = np.linalg.norm(coordinates[:, None] - coordinates, axis=2)
    np.testing.assert_allclose(space.embedding.distance(chords), exact, rtol=1e-7, atol=1e-15)
    np.testing.assert_allclose(space.embedding.chord(exact), chords, rtol=1e-12, atol=1e-15)


def test_the_manifold() -> None:
    space = he.ComplexProjective(3)
    assert space.dim == 6
    assert space.diameter == math.pi / 2
    assert space.volume == pytest.approx(math.pi**3 / 6)
    assert space.scalar_curvature == 48
    assert phase(6, double=1)[0][1, 0] == pytest.approx(48 / 6)  # the first correction of small times
    assert he.ComplexProjective(1).volume == pytest.approx(math.pi)
    wanted = np.radians([0.01, 1.0, 20.0])
    np.testing.assert_allclose(space.resolutions_of_times(space.times_of_resolutions(wanted)), wanted, rtol=1e-9)
    with pytest.raises(he.InputError, match=r"diameter of ComplexProjective\(3\), 90 degrees"):
        he.gess(np.eye(4), space=space, resolution=95)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_first_level_keeps_its_digits(n: int) -> None:
    rng, space = np.random.default_rng(n), he.ComplexProjective(n)
    frame = np.linalg.qr(rng.normal(size=(n + 1, n + 1)) + 1j * rng.normal(size=(n + 1, n + 1)))[0]
    weights = 1 + 1e-5 * rng.normal(size=n + 1)  # b_1 is about 1e-10
    times = np.radians([30.0, 100.0, 220.0]) ** 2 / 8
    assert_matches(he.heat_profile(frame, weights, space=space, times=times), exact_profile(frame, weights, times, 100))


def test_uniform_points_have_no_energy_on_average() -> None:
    space = he.ComplexProjective(2)
    points = space.uniform(5000, np.random.default_rng(3))
    spectrum = he.power_spectrum(points, space=space, max_degree=6)
    np.testing.assert_allclose(spectrum.energies[1:] * 5000 / spectrum.multiplicities[1:], 1.0, atol=1.5)
    np.testing.assert_array_equal(spectrum.multiplicities[:4], [1, 8, 27, 64])


def test_a_product_with_a_circle() -> None:
    rng = np.random.default_rng(7)
    states, phases, weights = he.ComplexProjective(1).uniform(60, rng), rng.uniform(0, 6, (60, 1)), rng.random(60)
    space = he.Product(he.ComplexProjective(1), he.Circle())
    sphere = he.Product(he.Sphere(2), he.Circle(), metric_scales=(0.5, 1.0))
    times = np.radians([2.0, 20.0, 90.0]) ** 2 / 8
    found = he.heat_profile((states, phases), weights, space=space, times=times)
    expected = he.heat_profile((hopf(states), phases), weights, space=sphere, times=times)
    np.testing.assert_allclose(found.gess, expected.gess, rtol=1e-9)
    np.testing.assert_allclose(found.mmd2, expected.mmd2, rtol=1e-8)
    columns = space.check((states, phases))
    np.testing.assert_array_equal(space.check(columns), columns)
    assert named(repr(space)) == space


def test_bad_input_is_refused_with_what_to_do() -> None:
    space = he.ComplexProjective(1)
    name = r"ComplexProjective\(1\)"
    for points in (np.eye(3), np.eye(3) * 1j, np.ones((2, 4)) * 0.5j):
        with pytest.raises(he.InputError, match=rf"points on {name} must have shape \(n, 2\), but have shape"):
            he.gess(points, space=space, angle=5)
    with pytest.raises(he.InputError, match=r"for one point use points\[None, :\]"):
        space.check(np.array([1j, 0]))
    with pytest.raises(he.InputError, match=rf"{name} must be unit vectors .* row 1 has norm 2 .* divide first"):
        space.check([[1, 0], [0, 2j]])
    with pytest.raises(he.InputError, match="row 1 is zero"):
        space.check([[1j, 0], [0, 0]])
    with pytest.raises(he.InputError, match="points must be finite, but row 1"):
        space.check([[1, 0], [math.nan, 1j]])
    with pytest.raises(he.InputError, match="points must be finite, but row 0"):
        space.check([[complex(0, math.inf), 0], [0, 1]])
    with pytest.raises(he.InputError, match="empty"):
        space.check(np.empty((0, 2), dtype=complex))
    with pytest.raises(he.InputError, match="different lengths"):
        space.check([[1, 0], [1j]])
    with pytest.raises(he.InputError, match="row 1 is masked"):
        space.check(np.ma.masked_array(np.eye(2) * 1j, [[False, False], [False, True]]))
    with pytest.raises(he.InputTypeError, match="dtype"):
        space.check([["1", "0"]])
    with pytest.raises(he.InputError, match=r"a qubit are ComplexProjective\(1\)"):
        he.ComplexProjective(0)
    with pytest.raises(he.InputError, match="no fast transform"):
        he.heat_profile(np.eye(2), space=space, method="spectral")


def test_the_name_finds_the_space() -> None:
    assert named("ComplexProjective(2)") == he.ComplexProjective(2) != he.ComplexProjective(3)
    assert repr(he.ComplexProjective(2)) == "ComplexProjective(2)"
    assert len({he.ComplexProjective(2), he.ComplexProjective(2), he.Projective(2)}) == 2
    assert pickle.loads(pickle.dumps(he.ComplexProjective(2))) == he.ComplexProjective(2)
