"""Rotations up to a point group, against means over the group of what holds without it, and against closed forms."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import heatess as he
from heatess.engines.centred_overlap import diagonal_of
from heatess.heat.orbits import invariants
from heatess.spaces.point_groups import named_group

GROUPS = ["C2", "C3", "C7", "D2", "D3", "D4", "D6", "T", "O", "I"]


def orientations(n, seed=0):
    return Rotation.random(n, random_state=seed)


def spread(rotations, group, seed=1):
    """The same orientations, each by way of some element of the group."""
    chosen = np.random.default_rng(seed).integers(len(group), size=len(rotations))
    return rotations * group[chosen]


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.slow
def test_groups_are_those_of_scipy_and_their_levels_are_means_of_characters(name):
    expected, group = Rotation.create_group(name), named_group(name)
    near = np.abs(expected.as_quat() @ group.elements.T)
    assert near.shape == (len(expected), len(expected))
    assert min(near.max(axis=0).min(), near.max(axis=1).min()) > 1 - 1e-14
    space = he.Rotations(symmetry=name)
    assert space.volume == pytest.approx(8 * np.pi**2 / len(expected), rel=1e-14)
    angle = expected.magnitude()[:, None]
    characters = 1 + 2 * np.cos(angle * np.arange(1, 40)[:, None, None]).cumsum(axis=0)[..., 0]  # (levels, elements)
    levels = space.transform.series.levels(40)
    expected_levels = (2 * np.arange(1, 40) + 1) * characters.mean(axis=1).round()
    assert np.allclose(np.exp(levels.log_multiplicities[1:]), expected_levels)
    found = space.check(spread(orientations(200_000), expected))
    assert (2 * np.arccos(found[:, 3])).max() == pytest.approx(space.diameter, abs=0.02)
    assert (2 * np.arccos(found[:, 3])).max() <= space.diameter + 1e-12


def test_the_lowest_levels_of_cubes_and_icosahedra_are_those_of_the_books():
    for name, present in (("O", [4, 6, 8, 9, 10, 12]), ("I", [6, 10, 12, 15, 16, 18]), ("T", [3, 4, 6, 7, 8, 9])):
        assert he.Rotations(symmetry=name).transform.series.present(6) == present
    assert invariants(he.Rotations(symmetry="D6").transform.series, 8).tolist() == [1, 0, 1, 0, 1, 0, 2, 1]


@pytest.mark.parametrize(
    ("names", "group"),
    [
        (("O", "432", "m-3m", "m3m", "Oh", "o"), "O"),
        (("D6", "622", "6/mmm", "D6h", "6 / m m m"), "D6"),
        (("D2", "222", "mmm", "-42m", "D2d"), "D2"),
        (("D3", "32", "321", "-3m", "-3m1", "D3d"), "D3"),
        (("T", "23", "m-3", "-43m", "Td"), "T"),
        (("C2", "2", "2/m", "mm2", "-4", "112", "S4"), "C2"),
        (("121", "12/m1"), "121"),
        (("312", "-31m"), "312"),
    ],
)
def test_every_name_of_a_class_stands_for_its_rotations(names, group):
    for name in names:
        assert he.Rotations(symmetry=name) == he.Rotations(symmetry=group)
    space = he.Rotations(symmetry=group)
    assert repr(space) == f"Rotations(symmetry={group!r})"
    assert space != he.Rotations()
    points = orientations(20).as_quat()
    profile = he.heat_profile(points, space=space, angles=[10, 40])
    assert he.HeatProfile.from_json(profile.to_json()).space == space


def test_a_group_of_one_is_no_symmetry_and_settings_differ_by_their_axes():
    assert he.Rotations(symmetry="1") == he.Rotations(symmetry="C1") == he.Rotations()
    half = Rotation.from_rotvec(np.pi * np.eye(3))
    for name, axis in (("211", 0), ("121", 1), ("112", 2), ("321", 0), ("312", 1)):
        found = he.Rotations(symmetry=name).distance([0.0, 0, 0, 1], half.as_quat()) < 1e-9
        assert found.tolist() == [axis == place for place in range(3)], name


@pytest.mark.parametrize(
    ("name", "other", "axes", "angles"),
    [
        ("I1", "I", "z", 0.0),
        ("I2", "I", "z", 90.0),
        ("I3", "I", "zy", [90, -math.degrees(math.atan2(2, 1 + math.sqrt(5)))]),
        ("I4", "I", "zy", [90, math.degrees(math.atan2(2, 1 + math.sqrt(5)))]),
        ("Tz", "T", "zx", [-135, -math.degrees(math.atan(math.sqrt(2)))]),
    ],
)
@pytest.mark.slow
def test_a_group_with_other_axes_is_the_same_group_turned(name, other, axes, angles):
    """R ~ R h g h^-1 is R h ~ R h g."""
    turn = Rotation.from_euler(axes, angles, degrees=True)
    space, plain, points = he.Rotations(symmetry=name), he.Rotations(symmetry=other), orientations(300)
    assert space.diameter == plain.diameter
    assert len(space.group) == len(plain.group)
    one, same = (
        he.heat_profile(x, space=s, angles=[2, 8, 30, 60]) for x, s in ((points, space), (points * turn, plain))
    )
    np.testing.assert_allclose(one.gess, same.gess, rtol=1e-8)
    np.testing.assert_allclose(one.mmd2, same.mmd2, rtol=1e-7)
    distances = space.distance(points[:150].as_quat(), points[150:].as_quat())
    expected = plain.distance((points[:150] * turn).as_quat(), (points[150:] * turn).as_quat())
    np.testing.assert_allclose(distances, expected, atol=1e-12)
    where = points[:20]
    at = he.density(points, space=space, angle=20).at(where)
    np.testing.assert_allclose(at, he.density(points * turn, space=plain, angle=20).at(where * turn), rtol=1e-8)


@pytest.mark.parametrize("wrong", ["cubic", "C0", "I5", "C99", "5/m", 4, ""])
def test_what_is_no_point_group_is_refused_with_what_is(wrong):
    with pytest.raises(he.InputError, match="symmetry"):
        he.Rotations(symmetry=wrong)


@pytest.mark.parametrize("name", ["O", "D6", "I"])
def test_every_engine_gives_the_mean_of_the_kernel_over_the_group(name):
    """k_2t(x, y) = mean over g of sum_l (2l + 1) chi_l(angle of x^-1 y g) exp(-2 l (l + 1) t), with 30 digits."""
    space, group, weights = he.Rotations(symmetry=name), Rotation.create_group(name), np.array([0.3, 0.7])
    x = orientations(1) * Rotation.from_rotvec([[0, 0, 0], [0.03, -0.02, 0.05]])
    x = x * group[[1, -1]]

    def kernel(rotations, time):
        """The mean of the kernel over some rotations; characters are 1 + 2 cos w + ... + 2 cos l w."""
        total = mpmath.mpf(0)
        for scalar in np.abs(rotations.as_quat()[:, 3]):
            cosine = 2 * mpmath.mpf(min(scalar, 1.0)) ** 2 - 1  # of the angle
            before, wave, character = mpmath.mpf(1), cosine, mpmath.mpf(1)
            for level in range(int(7 / np.sqrt(time)) + 4):
                total += (2 * level + 1) * character * mpmath.exp(-2 * level * (level + 1) * mpmath.mpf(time))
                character += 2 * wave
                before, wave = wave, 2 * cosine * wave - before
        return total / len(rotations)

    with mpmath.workdps(30):
        for alpha, engines in ((0.08, ("local", "pairwise")), (0.5, ("spectral", "pairwise")), (1.3, ("spectral",))):
            time = alpha**2 / 8
            own, other = kernel(group, time), kernel(x[0].inv() * x[1] * group, time)
            power = float((weights**2).sum()) * own + 2 * float(weights.prod()) * other
            for engine in engines:
                found = he.heat_profile(x, weights, space=space, times=[time], method=engine)
                assert found.gess[0] == pytest.approx(float(own / power), rel=1e-11)
                assert found.mmd2[0] == pytest.approx(float(power - 1), rel=1e-9)


def test_engines_agree_where_the_kernel_is_nearly_uniform():
    x, times = orientations(60), np.geomspace(0.2, 2.5, 9) ** 2 / 8
    for name in ("C3", "D4", "T", "O", "I"):
        by_levels, by_pairs = (
            he.heat_profile(x, space=he.Rotations(symmetry=name), times=times, method=method)
            for method in ("spectral", "pairwise")
        )
        assert np.allclose(by_levels.gess, by_pairs.gess, rtol=1e-12)
        assert np.allclose(by_levels.mmd2, by_pairs.mmd2, rtol=1e-10), name


@pytest.mark.parametrize("name", GROUPS)
def test_an_atom_split_over_its_images_is_one_atom_even_between_cells(name):
    """The corners and walls of the cell around the unit have several images that are equally far from it."""
    group, space = Rotation.create_group(name), he.Rotations(symmetry=name)
    halves = Rotation.from_rotvec(group.as_rotvec()[1:] / 2)  # in the walls
    corner = Rotation.from_rotvec(space.diameter * np.array([[0.6, 0.8, 0], [1, 0, 0], [0, 0, 1]]))
    x = Rotation.concatenate([orientations(30), halves, corner, Rotation.identity(), group])
    once = he.Measure(x.as_quat(), space=space).coalesced()
    parts = Rotation.concatenate([spread(x, group, seed) for seed in range(6)])
    signs = np.random.default_rng(3).choice([-1.0, 1.0], len(parts))[:, None]
    split = he.Measure(signs * parts.as_quat(), space=space).coalesced()
    assert split.n == once.n <= len(x) - len(group)
    assert split.ess == pytest.approx(once.ess, rel=1e-12)
    assert he.gess(split, angle=12) == pytest.approx(he.gess(once, angle=12), rel=1e-12)


@pytest.mark.parametrize("name", ["C2", "D6", "O", "I"])
def test_neighbours_are_found_across_the_walls_of_the_cell(name):
    space, group = he.Rotations(symmetry=name), Rotation.create_group(name)
    reduced = space.check(orientations(20_000))
    corner = Rotation.from_quat(reduced[np.argmin(reduced[:, 3])])  # where several cells meet
    steps = Rotation.from_rotvec(0.05 * np.random.default_rng(0).standard_normal((600, 3)))
    x, times = spread(corner * steps, group), np.array([0.004, 0.01, 0.02]) ** 2 / 8
    weights = np.random.default_rng(1).random(600)
    close, every = (he.heat_profile(x, weights, space=space, times=times, method=m) for m in ("local", "pairwise"))
    assert np.allclose(close.gess, every.gess, rtol=1e-10)
    assert np.allclose(close.mmd2, every.mmd2, rtol=1e-10)
    assert np.allclose(close.dimension, every.dimension, rtol=1e-8)
    at = x[:40]
    found = he.potential(x, weights, space=space, time=times[1], at=at)
    kernel = space.pair_kernel.terms(space.check(at), space.check(x))(float(times[1]))
    assert np.allclose(found, kernel.overlap @ (weights / weights.sum()), rtol=1e-10)


@pytest.mark.parametrize("name", ["C3", "D2", "T", "O", "I"])
def test_squares_of_centred_overlaps_are_those_of_pairs(name):
    space, time = he.Rotations(symmetry=name), 0.6**2 / 8
    measure = he.Measure(orientations(40), np.random.default_rng(0).random(40), space=space)
    diagonal = diagonal_of(measure, np.array([time]), 1e-9)
    centred = diagonal.of_pairs(0, space.pair_kernel.terms(measure.points, measure.points)(time))
    coefficients = space.transform.coefficients(measure.points, measure.weights, 60, 1e-13, 1)
    total, single = space.transform.square_sums(coefficients, 60, np.array([time]), diagonal.log_excess)
    assert total[0] == pytest.approx(measure.weights @ centred**2 @ measure.weights, rel=1e-8)
    assert single[0] == pytest.approx(1.0, rel=1e-8)


def test_the_texture_index_is_the_power_of_the_smoothed_density():
    """A(t) is the integral of the squared density, here by quadrature over all of SO(3)."""
    space, time = he.Rotations(symmetry="O"), 0.5**2 / 8
    x, degree = orientations(25), 60
    cosines, volumes = np.polynomial.legendre.leggauss(degree + 1)
    turns = np.arange(2 * degree + 1) * (2 * np.pi / (2 * degree + 1))
    quarter = turns[: (len(turns) + 3) // 4]  # of a turn, as fourfold axes allow about z
    fourth = np.arange(len(quarter)) * (np.pi / 2 / len(quarter))
    angles = np.stack(np.meshgrid(turns, np.arccos(cosines), fourth, indexing="ij"), axis=-1).reshape(-1, 3)
    at = Rotation.from_euler("ZYZ", angles)
    density = he.density(x, space=space, time=time).at(at)
    shares = np.broadcast_to(volumes[:, None] / 2, (len(turns), len(volumes), len(fourth))).ravel()
    shares = shares / shares.sum()
    assert shares @ density == pytest.approx(1.0, rel=1e-9)
    power = he.heat_profile(x, space=space, times=[time]).mmd2[0] + 1
    assert shares @ density**2 == pytest.approx(power, rel=1e-8)


@pytest.mark.slow
def test_uniform_orientations_have_the_mean_that_the_levels_give():
    """n MMD^2 of uniform points has the mean sum_l N_l exp(-2 lambda_l t), l >= 1, here from 100 clouds."""
    space, times = he.Rotations(symmetry="D3"), np.array([0.5, 1.2]) ** 2 / 8
    rng = np.random.default_rng(0)
    found = np.array([50 * he.heat_profile(space.uniform(50, rng), space=space, times=times).mmd2 for _ in range(100)])
    levels = space.transform.series.levels(60)
    expected = np.exp(levels.log_multiplicities - 2 * np.multiply.outer(times, levels.eigenvalues))[:, 1:].sum(axis=1)
    assert (np.abs(found.mean(axis=0) - expected) < 4 * found.std(axis=0) / 10).all()


def test_poses_of_symmetric_bodies_are_products_of_overlaps():
    cubes, rng = he.Rotations(symmetry="O"), np.random.default_rng(0)
    pose = he.Product(he.Euclidean(3), cubes, metric_scales=(1, 0.5))
    where, x, time = rng.normal(size=(30, 3)), orientations(30), 0.02
    flat = he.Euclidean(3).pair_kernel.terms(where, where)(time).overlap
    turned = cubes.pair_kernel.terms(cubes.check(x), cubes.check(x))(time / 0.25).overlap
    assert he.gess((where, x), space=pose, time=time) == pytest.approx(900 / (flat * turned).sum(), rel=1e-11)


def test_disorientations_are_those_of_orix():
    orix = pytest.importorskip("orix.quaternion")
    x, y = orientations(50), orientations(50, 1)
    names = {
        "432": "O",
        "622": "D6",
        "32": "D3",
        "312": "D3y",
        "222": "D2",
        "23": "T",
        "4": "C4",
        "2": "C2",
        "121": "C2y",
    }
    for name, group in names.items():
        # Orientations of orix take the sample to the crystal, and its quaternions have the scalar first.
        left, right = (
            orix.Orientation(np.roll(part.inv().as_quat(), 1, axis=1), symmetry=getattr(orix.symmetry, group))
            for part in (x, y)
        )
        assert np.allclose(he.Rotations(symmetry=name).distance(x, y), (right - left).angle, atol=1e-12)


DIRECTIONS = he.samplers.uniform(40, rng=5)


@pytest.mark.parametrize("name", ["1", "D3", "T", "O", "121"])
@pytest.mark.parametrize("inverse", [False, True])
def test_pole_figures_are_sums_of_heat_on_the_sphere_over_all_that_looks_alike(name, inverse, monkeypatch):
    """By the directions of all atoms, and by the levels."""
    space, weights = he.Rotations(symmetry=name), np.random.default_rng(0).random(30)
    x, direction = orientations(30), np.array([0.3, -0.2, 0.9])
    density = he.density(x, weights, space=space, angle=30)
    every = [x * g for g in Rotation.from_quat(space.group)]
    turned = np.concatenate(
        [(part.inv() if inverse else part).apply(direction / np.linalg.norm(direction)) for part in every]
    )
    shares = np.tile(weights, len(every))
    for antipodal in (True, False):
        both = (np.concatenate([turned, -turned]), np.tile(shares, 2)) if antipodal else (turned, shares)
        kernel = he.Sphere(2).pair_kernel.terms(DIRECTIONS, both[0])(density.time / 2)  # k_t
        expected = (kernel.excess @ both[1]) / both[1].sum() + 1
        for most in (10**6, 0):
            monkeypatch.setattr("heatess.densities.pole_figures.MOST_DIRECTIONS", most)
            find = density.inverse_pole_figure if inverse else density.pole_figure
            found = find(direction, antipodal=antipodal)
            assert (found.n, found.space, found.angle) == (30, he.Sphere(2), density.angle)
            assert np.allclose(found.at(DIRECTIONS), expected, rtol=1e-9, atol=1e-9)


def test_pole_figures_of_parts_and_what_has_none():
    space, x = he.Rotations(symmetry="O"), orientations(50)
    parts = he.Accumulator(space, max_degree=60).add(x[:20]) + he.Accumulator(space, max_degree=60).add(x[20:])
    whole, added = (he.density(found, space=None if found is parts else space, angle=30) for found in (x, parts))
    assert np.allclose(added.at(x), whole.at(x), rtol=1e-9)
    found = added.pole_figure([1, 1, 1])
    assert np.allclose(found.at(DIRECTIONS), whole.pole_figure([1, 1, 1]).at(DIRECTIONS), atol=1e-9)
    assert found.healpix(8).mean() == pytest.approx(1, abs=1e-4)
    with pytest.raises(he.InputError, match="directions of one orientation are not"):
        found.at(DIRECTIONS, error=True)
    with pytest.raises(he.InputError, match=r"three numbers, not all zero, such as \[1, 1, 1\]"):
        whole.pole_figure([0, 0, 0])
    with pytest.raises(he.InputError, match=r"pole figures are of rotations, but this density is on Sphere\(2\)"):
        found.pole_figure([0, 0, 1])


def test_densities_of_cubes_are_drawn_as_three_pole_figures_of_equal_area():
    density = he.density(Rotation.from_rotvec([[0.1, 0.2, 0.3]]), space=he.Rotations(symmetry="O"), angle=40)
    figure = density.plot(levels=()).figure
    assert [ax.get_title() for ax in figure.axes[::2]] == ["poles of 0 0 1", "poles of 1 1 0", "poles of 1 1 1"]
    shades = next(part for part in figure.axes[0].collections if part.get_gid() == "heatess-density")
    values = np.ma.filled(shades.get_array(), np.nan)
    # Cells of an equal-area picture of half of the sphere have equal shares, and cubes both ends of each axis.
    assert np.nanmean(values) == pytest.approx(1, abs=0.02)
