"""Nonuniform Fourier transforms and harmonics of our own: direct sums in extended precision lie within their error."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

import heatess as he
from heatess.compiled import legendre
from heatess.transforms import backend, nonuniform, rings
from heatess.transforms.nonuniform.box import Box
from heatess.transforms.nonuniform.columns import SharedPoints
from heatess.transforms.nonuniform.kernel import OVERSAMPLING, WIDTHS, Kernel, kernels_for

try:
    from scipy.special import sph_harm_y
except ImportError:  # before SciPy 1.15
    from scipy.special import sph_harm

    def sph_harm_y(level, order, colatitude, longitude):
        return sph_harm(order, level, longitude, colatitude)


TURN = np.longdouble("6.28318530717958647692528676655900576839")


def waves(x, lowest, shape, periods):
    """exp(i f x) of each axis in extended precision, shape (frequencies, n)."""
    found = []
    for j, (low, count) in enumerate(zip(lowest, shape, strict=True)):
        period = TURN if periods is None else np.longdouble(periods[j])
        turns = (
            np.multiply.outer((low + np.arange(count)).astype(np.longdouble), x[:, j].astype(np.longdouble)) / period
        )
        angle = (turns - np.rint(turns)) * TURN
        found.append(np.cos(angle) + 1j * np.sin(angle))
    return found


def summed(waves, weights):
    letters = "abc"[: len(waves)]
    return np.einsum(",".join(f"{k}n" for k in letters) + f",n->{letters}", *waves, weights)


def valued(waves, modes):
    letters = "abc"[: len(waves)]
    return np.einsum(f"{letters}," + ",".join(f"{k}n" for k in letters) + "->n", modes, *waves).real


def scattered(rng, n, dim, periods):
    """Points anywhere, in a corner, on seams and lines of grids, or in one place."""
    period = np.full(dim, 2 * np.pi) if periods is None else np.array(periods)
    kind = rng.integers(4)
    if kind == 0:
        return rng.uniform(-1, 2, (n, dim)) * period
    if kind == 1:
        return rng.uniform(0, 0.3, (n, dim)) * period
    if kind == 2:
        return rng.choice([-1, -0.5, 0, 0.25, 0.5, 1, 2], (n, dim)) * period
    return (rng.uniform(0, 1, dim) + 1e-9 * rng.standard_normal((n, dim))) * period


def compare(rng, most_points):
    """Errors of both directions, in units of what was asked for, in a random case."""
    dim = int(rng.integers(1, 4))
    n = int(np.exp(rng.uniform(0, np.log(most_points))))
    most = [300, 30, 10][dim - 1] if n < 1000 else [20, 6, 4][dim - 1]
    shape = [int(size) for size in rng.integers(1, most, dim)]
    lowest = [int(rng.integers(-size, 1)) if rng.random() < 0.5 else -(size // 2) for size in shape]
    lowest[0] = int(rng.choice([lowest[0], 0, 3]))
    lowest = [low + 0.5 * (rng.random() < 0.3) for low in lowest]
    periods = None if rng.random() < 0.5 else list(rng.uniform(0.1, 10, dim))
    x, epsilon = scattered(rng, n, dim, periods), 10 ** -rng.uniform(3, 13)
    w = rng.standard_normal(n) + (1j * rng.standard_normal(n) if rng.random() < 0.2 else 0)
    exact = waves(x, lowest, shape, periods)
    found = nonuniform.analyse(x, w, Box(lowest, shape, epsilon, 1, periods))
    first = np.abs(found - summed([np.conj(wave) for wave in exact], w)).max() / np.abs(w).sum()
    modes = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    values = nonuniform.synthesise(modes, x, Box(lowest, shape, epsilon, 1, periods))
    second = np.abs(values - valued(exact, modes)).max() / np.abs(modes).sum()
    return float(first / epsilon), float(second / epsilon)


@pytest.mark.parametrize("seed", range(4))
def test_direct_sums_lie_within_the_error_that_was_asked_for(seed):
    rng = np.random.default_rng(seed)
    assert max(max(compare(rng, 100)) for _ in range(40)) < 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_direct_sums_lie_within_the_error_in_thousands_of_cases(seed):
    rng = np.random.default_rng(100 + seed)
    assert max(max(compare(rng, 100_000 if case % 50 == 0 else 200)) for case in range(1000)) < 1


def test_many_modes_lose_nothing_to_the_rounding_of_angles():
    rng = np.random.default_rng(0)
    x, w = rng.uniform(-3, 3, (20, 1)), rng.random(20)
    found = nonuniform.analyse(x, w, Box([200_000], [50], 1e-13, 1))
    exact = summed([np.conj(wave) for wave in waves(x, [200_000], [50], None)], w)
    assert np.abs(found - exact).max() < 1e-13 * w.sum()


def test_columns_of_weights_are_those_alone():
    rng = np.random.default_rng(1)
    x, w = rng.uniform(0, 6, (300, 2)), rng.standard_normal((3, 300)) + 1j * rng.standard_normal((3, 300))
    found = nonuniform.analyse(x, w, Box([-4, -5], [9, 11], 1e-12, 1))
    for own, column in zip(found, w, strict=True):
        np.testing.assert_allclose(own, nonuniform.analyse(x, column, Box([-4, -5], [9, 11], 1e-12, 1)), atol=1e-12)


@pytest.mark.parametrize(("dim", "degree"), [(1, 50), (2, 20), (2, 300), (3, 40)])
def test_digits_do_not_depend_on_the_number_of_threads(dim, degree):
    rng = np.random.default_rng(2)
    x, w = rng.uniform(0, 6, (50_000, dim)), rng.random(50_000)
    lowest, shape = [0] + [-degree] * (dim - 1), [degree + 1] + [2 * degree + 1] * (dim - 1)
    one = nonuniform.analyse(x, w, Box(lowest, shape, 1e-9, 1))
    there = nonuniform.synthesise(one, x, Box(lowest, shape, 1e-9, 1))
    for threads in (2, 5):
        np.testing.assert_array_equal(nonuniform.analyse(x, w, Box(lowest, shape, 1e-9, threads)), one)
        np.testing.assert_array_equal(nonuniform.synthesise(one, x, Box(lowest, shape, 1e-9, threads)), there)


def test_the_error_of_a_kernel_bounds_what_aliases_onto_a_mode():
    z, q = np.polynomial.legendre.leggauss(200)
    for kernel in (Kernel(width, sigma) for width in WIDTHS for sigma in OVERSAMPLING):
        phi = q * np.exp(kernel.beta * (np.sqrt(1 - z * z) - 1))
        own = np.linspace(0, 1 / (2 * kernel.oversampling), 40)
        hat = [np.abs(np.cos(np.multiply.outer(own + k, np.pi * kernel.width * z)) @ phi) for k in range(-3, 4)]
        aliased = (sum(hat) - hat[3]) / hat[3]
        assert aliased.max() < kernel.error + 1e-14
    assert all(2 * kernel.error < 1e-9 for kernel in kernels_for(1e-9, 2))


@pytest.mark.parametrize(
    ("order", "degree"),
    [(0, 700), (300, 900), (8100, 8191), *(pytest.param(m, 8191, marks=pytest.mark.slow) for m in (0, 1, 700, 5000))],
)
def test_legendre_functions_have_all_their_digits_to_degree_8191_near_the_pole_and_anywhere(order, degree):
    angles = np.array([1e-3, 0.01, 0.087, 0.3, 0.66, 0.9, 1.2, 1.57])
    y, sine, found = 2 * np.sin(angles / 2) ** 2, np.sin(angles), np.empty((4, 8))
    coefficients = np.zeros((degree + 1, order + 1), dtype=complex)
    coefficients[degree, order] = 1.0
    legendre.synthesise(coefficients, order, rings._norms(order + 1)[order], y, sine, 0, found)
    part = found[0] if (degree - order) % 2 == 0 else found[2]
    with mp.workdps(30):
        for angle, value in zip(angles, part, strict=True):
            now = mp.sqrt(1 / (4 * mp.pi)) * (-1) ** order * mp.sin(mp.mpf(angle)) ** order
            now *= mp.sqrt(mp.rf(mp.mpf(3) / 2, order) / mp.factorial(order))
            x, before, inverse = mp.cos(mp.mpf(angle)), mp.mpf(0), mp.mpf(0)
            for level in range(order + 1, degree + 1):
                a = mp.sqrt(mp.mpf(4 * level * level - 1) / (level * level - order * order))
                now, before, inverse = a * (x * now - before * inverse), now, 1 / a
            assert abs(value - float(now)) < 1e-11


@pytest.mark.parametrize("name", backend.NAMES)
@pytest.mark.parametrize("degree", [0, 1, 2, 33, 200])
def test_harmonics_and_their_sums_are_those_of_their_definition(monkeypatch, name, degree):
    if name == "ducc":
        pytest.importorskip("ducc0")
    monkeypatch.setenv("HEATESS_BACKEND", name)
    rng = np.random.default_rng(degree)
    places = np.stack([np.arccos(rng.uniform(-1, 1, 60)), rng.uniform(0, 2 * np.pi, 60)], 1)
    places[:4] = [[0, 0], [np.pi, 1], [1e-9, 3], [np.pi / 2, 2 * np.pi]]
    w = rng.random(60) / 60
    found = backend.by(2).harmonics(places, w, degree, 1e-12, 1)
    orders = np.arange(degree + 1)
    for level in {0, degree // 2, degree}:
        own = orders[: level + 1]
        exact = np.conj(sph_harm_y(level, own[:, None], places[:, 0], places[:, 1])) @ w
        np.testing.assert_allclose(found[level, : level + 1], exact, atol=2e-12)
        assert not found[level, level + 1 :].any()
    modes = (rng.standard_normal((degree + 1,) * 2) + 1j * rng.standard_normal((degree + 1,) * 2)) * np.tri(degree + 1)
    meridians = backend.by(2).meridians(modes, 1)
    for row in {0, 1, (degree + 1) // 2, degree + 1}:
        angle = math.pi * row / (degree + 1)
        levels = np.arange(degree + 1)[:, None]
        table = np.where(orders <= levels, sph_harm_y(levels, np.minimum(orders, levels), angle, 0.0), 0)
        np.testing.assert_allclose(meridians[row], (modes * table).sum(axis=0), atol=2e-9)


@pytest.mark.parametrize("space", [he.Sphere(1), he.Sphere(2), he.Sphere(3), he.Rotations(), he.Torus(2)], ids=repr)
def test_profiles_and_potentials_are_the_same_by_either_backend(monkeypatch, space):
    pytest.importorskip("ducc0")
    rng = np.random.default_rng(3)
    x, w = space.uniform(20_000, rng), rng.random(20_000)
    found = []
    for name in backend.NAMES:
        monkeypatch.setenv("HEATESS_BACKEND", name)
        profile = he.heat_profile(x, w, space=space, angles=[20, 60], method="spectral")
        potential = he.potential(x, w, space=space, angle=20, at=x[:500])
        found.append((profile, np.asarray(potential)))
    (one, first), (other, second) = found
    np.testing.assert_allclose(other.gess, one.gess, rtol=1e-10)
    np.testing.assert_allclose(other.mmd2, one.mmd2, rtol=1e-8)
    np.testing.assert_allclose(second, first, rtol=1e-8)


def test_without_ducc0_all_is_native_and_to_ask_for_it_is_answered_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr(backend, "installed", lambda: False)
    monkeypatch.delenv("HEATESS_BACKEND", raising=False)
    assert [backend.chosen(dim) for dim in (1, 2, 3)] == ["native"] * 3
    monkeypatch.setenv("HEATESS_BACKEND", "ducc")
    with pytest.raises(he.MissingExtraError, match=r"ducc0, .*pip install 'heatess\[ducc\]'"):
        backend.chosen(2)


def test_a_backend_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("HEATESS_BACKEND", "fast")
    with pytest.raises(he.InputError, match="HEATESS_BACKEND must be native or ducc, but is 'fast'; set it to one"):
        he.gess(he.samplers.uniform(10, rng=0), angle=20)


@pytest.mark.parametrize("name", backend.NAMES)
@pytest.mark.parametrize("degree", [0.0, 1.0, 12.0, 70.0])
@pytest.mark.parametrize(
    "space",
    [
        *(he.Sphere(1), he.Projective(1), he.Sphere(2), he.Projective(2), he.Torus(2), he.Torus(3)),
        *(he.Sphere(3), he.Projective(3), he.Rotations(), he.Rotations("O")),
    ],
    ids=repr,
)
def test_columns_that_share_their_points_have_the_coefficients_of_each(space, degree, name, monkeypatch):
    """Side by side, two real columns in one complex transform, or one after the other; the last one alone."""
    if name == "ducc":
        pytest.importorskip("ducc0")
    monkeypatch.setenv("HEATESS_BACKEND", name)
    rng = np.random.default_rng(5)
    degree = min(degree, 9.0) if space.dim == 3 else degree
    points, columns = space.uniform(400, rng), rng.normal(size=(400, 11))
    found = space.transform.of_columns(points, degree, 1e-11)(columns)
    for own, column in zip(found, columns.T, strict=True):
        alone = space.transform.coefficients(points, np.ascontiguousarray(column), degree, 1e-12, 1)
        np.testing.assert_allclose(own, alone, rtol=0, atol=1.1e-11 * np.abs(column).sum())


@pytest.mark.parametrize(
    ("lowest", "shape", "periods"),
    [
        ([0], [90], None),
        ([3, 2], [7, 11], [1.3, 2.2]),
        ([0, -20], [21, 41], None),
        ([0, -9, -8], [10, 19, 17], None),
        ([0.5, -8.5, -8.5], [9, 18, 18], None),
    ],
)
@pytest.mark.parametrize("n", [0, 1, 5, 300])
def test_columns_side_by_side_are_the_sums_that_they_stand_for(lowest, shape, periods, n):
    """To the error that is asked for, per unit of weight, on points that pile up in a few cells as well."""
    rng = np.random.default_rng(n)
    points = rng.uniform(-7, 9, (n, len(shape)))
    points[n // 2 :] = points[n // 2 :][:1] + 1e-3 * rng.normal(size=(n - n // 2, len(shape)))
    columns = rng.normal(size=(n, 11)) / max(n, 1)
    axes = [low + np.arange(size) for low, size in zip(lowest, shape, strict=True)]
    units = np.ones(len(shape)) if periods is None else 2 * np.pi / np.array(periods)
    frequencies = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1) * units
    direct = (np.exp(-1j * frequencies @ points.T) @ columns).T.reshape(11, *shape)
    for epsilon in (1e-7, 1e-11):
        found = np.stack(list(SharedPoints(points, Box(lowest, shape, epsilon, 1, periods)).modes(columns)))
        assert np.abs(found - direct).max() <= epsilon * np.abs(columns).sum(axis=0).max()
