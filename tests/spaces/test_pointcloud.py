"""Point clouds: the sampling density must not matter, and does without its correction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import cKDTree

import heatess as he
import meshes
from heatess.spaces.discrete import delaunay


def by_kernel(sample):
    return he.PointCloud(sample, neighbours=8)


@pytest.fixture
def counted(monkeypatch):
    """Clouds whose volume is that of the sample: the same simplices, each times the density of the points in it."""

    def use(density):
        plain = delaunay.stars

        def weighted(points, dim):
            found = plain(points, dim)
            return found._replace(shares=found.shares * density(found.places.mean(axis=1)))

        monkeypatch.setattr(delaunay, "stars", weighted)

    return use


def on_sphere(n, concentration, rng):
    """Points of density proportional to exp(concentration * z)."""
    u = rng.random(n)
    z = 1 + np.log(u + (1 - u) * np.exp(-2 * concentration)) / concentration if concentration else 2 * u - 1
    turn = rng.uniform(0, 2 * np.pi, n)
    return np.stack([np.sqrt(1 - z**2) * np.cos(turn), np.sqrt(1 - z**2) * np.sin(turn), z], axis=1)


def on_torus(n, unevenness, rng):
    """Angles of density proportional to 1 + unevenness * cos(first angle)."""
    first = rng.uniform(0, 2 * np.pi, 20 * n)
    kept = rng.random(20 * n) * (1 + unevenness) < 1 + unevenness * np.cos(first)
    return np.stack([first[kept][:n], rng.uniform(0, 2 * np.pi, n)], axis=1)


def in_space(angles):
    """The flat torus in R^4, of which the angles are lengths."""
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def capped(n, rng):
    """Twenty times denser within 0.6 radians of the pole."""
    sample = on_sphere(25 * n, 0, rng)
    return sample[rng.random(25 * n) * 20 < np.where(sample[:, 2] > np.cos(0.6), 20, 1)][:n]


class Worst(NamedTuple):
    """Largest relative errors from the finest resolved scale, and that of gess over what the profile says of it."""

    gess: float
    volume: float
    share: float


def largest_error(cloud, places, exact, coarsest):
    """Over atoms at the nodes nearest to *places*, and at all nodes."""
    found = []
    for atoms in (cKDTree(cloud._points).query(places)[1], np.arange(cloud.node_count)):
        weights = np.random.default_rng(6).exponential(size=len(atoms))
        times = np.geomspace(cloud.finest_time, coarsest, 6)
        profile, truth = he.heat_profile(atoms, weights, space=cloud, times=times), exact(atoms, weights, times)
        gess, volume = np.abs(profile.gess / truth.gess - 1), np.abs(profile.volume / truth.volume - 1)
        found.append((gess.max(), volume.max(), (gess / profile.error).max()))
    return Worst(*np.max(found, axis=0))


def sphere_error(sample, kind=he.PointCloud):
    places = on_sphere(150, 0, np.random.default_rng(5))

    def exact(atoms, weights, times):
        return he.heat_profile(sample[atoms], weights, times=times)

    return largest_error(kind(sample), places[places[:, 0] > -0.2], exact, 0.6)


def torus_error(angles, kind=he.PointCloud):
    places = on_torus(150, 0, np.random.default_rng(5))

    def exact(atoms, weights, times):
        return he.heat_profile(angles[atoms], weights, space=he.Torus(2), times=times)

    return largest_error(kind(in_space(angles)), in_space(places[places[:, 0] < 4]), exact, 1)


SIZES = [1000, pytest.param(3000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("unevenness", [0, 1, 2])
def test_even_and_uneven_samples_of_the_sphere_give_its_profile(n, unevenness):
    """Up to fifty times denser at one pole than at the other."""
    worst = sphere_error(on_sphere(n, unevenness, np.random.default_rng(3)))
    assert worst.gess < 0.03
    assert worst.volume < 0.05
    assert worst.share < 1


def test_a_sample_with_a_jump_in_density_gives_the_profile_of_the_sphere():
    worst = sphere_error(capped(1000, np.random.default_rng(3)))
    assert worst.gess < 0.03
    assert worst.volume < 0.05
    assert worst.share < 1


@pytest.mark.parametrize(("n", "unevenness", "seed"), [(1000, 0, 1), (1000, 0.7, 1), (1000, 0.7, 2), (2000, 0.9, 1)])
@pytest.mark.slow
def test_even_and_uneven_samples_of_the_flat_torus_give_its_profile(n, unevenness, seed):
    worst = torus_error(on_torus(n, unevenness, np.random.default_rng(seed)))
    assert worst.gess < 0.03
    assert worst.volume < 0.05
    assert worst.share < 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fifty_points_in_the_sparse_half_of_a_torus_suffice_for_gess(seed):
    worst = torus_error(on_torus(1000, 0.9, np.random.default_rng(seed)))
    assert worst.gess < 0.05
    assert worst.share < 1


@pytest.mark.slow
@pytest.mark.parametrize("power", [0, 1, 3])
def test_samples_of_a_torus_in_space_give_the_profile_of_its_mesh(power):
    """Even in area for a power of one, else even in the angles or denser outside."""
    rng = np.random.default_rng(power)
    angles = rng.uniform(0, 2 * np.pi, (20_000, 2))
    angles = angles[rng.random(20_000) * 3**power < (2 + np.cos(angles[:, 1])) ** power][:1000]
    cloud = he.PointCloud(meshes.ring(*angles.T, 2, 1))
    rows, columns = 90, 40
    mesh = he.Mesh(*meshes.torus(rows, columns, 2, 1))
    atoms = rng.choice(1000, 100, replace=False)
    steps = np.round(angles[atoms] / (2 * np.pi) * [rows, columns]).astype(int) % [rows, columns]
    vertices = steps @ [columns, 1]
    times = np.geomspace(max(cloud.finest_time, 0.1), 2, 6)
    found = he.heat_profile(atoms, space=cloud, times=times)
    exact = he.heat_profile(vertices, space=mesh, times=times)
    assert_allclose(found.gess, exact.gess, rtol=0.05)
    assert cloud.volume == pytest.approx(8 * np.pi**2, rel=0.03)


def test_the_kernel_gives_the_same_within_five_per_cent():
    assert sphere_error(on_sphere(1000, 1.5, np.random.default_rng(3)), by_kernel).gess < 0.05
    assert torus_error(on_torus(1000, 0.7, np.random.default_rng(1)), by_kernel).gess < 0.05


def test_a_sphere_by_the_measure_of_its_sample_is_wrong(counted):
    counted(lambda centre: np.exp(2 * centre[:, 2]))
    worst = sphere_error(on_sphere(1000, 2, np.random.default_rng(3)))
    assert worst.gess > 0.05
    assert worst.volume > 0.5


def test_a_torus_by_the_measure_of_its_sample_is_wrong(counted):
    """In its occupied volume: gess, which compares neighbours, hardly notices."""
    counted(lambda centre: 1 + 0.9 * centre[:, 0])
    assert torus_error(on_torus(1000, 0.9, np.random.default_rng(1))).volume > 0.3


def test_volume_and_dimension_are_estimated():
    for concentration in (0, 1):
        cloud = he.PointCloud(on_sphere(1200, concentration, np.random.default_rng(0)))
        assert cloud.dim == 2
        assert cloud.volume == pytest.approx(4 * np.pi, rel=0.06)
    assert he.PointCloud(in_space(on_torus(1200, 0, np.random.default_rng(0)))).volume == pytest.approx(
        4 * np.pi**2, rel=0.06
    )
    assert he.PointCloud(np.random.default_rng(0).random((1000, 3)), bandwidth=0.003).dim == 3


@pytest.mark.parametrize("n", [300, 1000])
def test_a_jump_in_density_does_not_mislead_the_dimension(n):
    assert he.PointCloud(capped(n, np.random.default_rng(0))).dim == 2
    assert he.PointCloud(capped(n, np.random.default_rng(0)), dim=3).dim == 3


@pytest.mark.parametrize(("rows", "columns"), [(50, 25), (60, 30)])
def test_a_regular_grid_fills_a_torus_once(rows, columns):
    """Four points on one circle are two triangles, whichever diagonal each of them sees."""
    cloud = he.PointCloud(meshes.torus(rows, columns, 2, 1)[0])
    assert cloud.closed
    assert cloud.volume == pytest.approx(8 * np.pi**2, rel=0.015)
    exact = np.repeat(2 + np.cos(2 * np.pi * np.arange(columns) / columns), rows) / (2 * rows * columns)
    assert_allclose(np.sort(cloud.node_volumes), np.sort(exact), rtol=0.08)


def test_points_that_coincide_share_one_place():
    sample = on_sphere(400, 0, np.random.default_rng(0))
    once, twice = he.PointCloud(sample), he.PointCloud(np.concatenate([sample, sample[:100]]))
    assert twice.node_volumes.sum() == pytest.approx(1)
    assert_allclose(twice.node_volumes[:100] + twice.node_volumes[400:], once.node_volumes[:100], rtol=1e-9)
    times = [0.1, 0.3]
    expected = he.heat_profile(np.arange(50), space=once, times=times).gess
    assert_allclose(he.heat_profile(np.arange(400, 450), space=twice, times=times).gess, expected, rtol=1e-9)
    assert twice.distance(3, 403) == 0


def test_distances_are_those_of_the_manifold():
    sample = on_sphere(1000, 1, np.random.default_rng(0))
    exact = np.arccos(np.clip(sample[1:] @ sample[0], -1, 1))
    ratio = he.PointCloud(sample).distance(0, np.arange(1, 1000))[exact > 0.3] / exact[exact > 0.3]
    assert ratio.mean() == pytest.approx(1, abs=0.03)
    assert 0.97 < ratio.min() < ratio.max() < 1.12


def test_a_sample_with_a_boundary_reflects_heat():
    """The eigenvalues of a square with insulated sides are pi^2 (j^2 + k^2)."""
    cloud = he.PointCloud(np.random.default_rng(0).random((1200, 2)), modes=12)
    assert not cloud.closed
    assert "open" in repr(cloud)
    exact = np.sort(np.pi**2 * np.add.outer(np.arange(9) ** 2, np.arange(9) ** 2).ravel())[:12]
    assert_allclose(cloud.eigenpairs(cloud.check([0]), 1.0).values, exact, rtol=0.08, atol=1e-9)


def test_a_regular_sample_counts_each_point_itself():
    sample = he.samplers.fibonacci(1000)
    cloud = he.PointCloud(sample)
    times = np.geomspace(cloud.finest_time, 0.5, 5)
    found = he.heat_profile(np.arange(100), space=cloud, times=times)
    assert_allclose(found.gess, he.heat_profile(sample[:100], times=times).gess, rtol=0.02)
    assert_allclose(cloud.volume, 4 * np.pi, rtol=1e-2)


def test_scaling_the_cloud_scales_time():
    sample = on_sphere(600, 0, np.random.default_rng(0))
    small = he.heat_profile([0, 5, 9], space=he.PointCloud(sample), times=[0.2, 0.5])
    large = he.heat_profile([0, 5, 9], space=he.PointCloud(10 * sample), times=[20, 50])
    assert_allclose(large.gess, small.gess, rtol=1e-5)


def test_bounds_and_limits():
    cloud = he.PointCloud(on_sphere(800, 1, np.random.default_rng(0)) * [1, 1, 1.5])
    rng = np.random.default_rng(1)
    times = np.geomspace(cloud.finest_time, 100, 40)
    for n in (2, 10, 100):
        found = he.heat_profile(cloud.uniform(n, rng), rng.exponential(size=n), space=cloud, times=times)
        assert (np.diff(found.volume) >= -1e-14).all()
        assert ((found.gess >= 1) & (found.gess <= found.ess)).all()
        assert_allclose([found.gess[-1], found.volume[-1]], 1, rtol=1e-9)


def test_all_nodes_weighted_by_their_volume_are_uniform():
    cloud = he.PointCloud(on_sphere(600, 1, np.random.default_rng(0)))
    found = he.heat_profile(np.arange(600), cloud.node_volumes, space=cloud, times=[0.2, 1.0])
    assert (found.mmd2 < 1e-20).all()


def test_scales_finer_than_the_nodes_are_refused_with_the_estimate():
    for kind in (he.PointCloud, by_kernel):
        cloud = kind(on_sphere(300, 0, np.random.default_rng(0)))
        with pytest.raises(he.PrecisionError, match=r"resolves times down to 0\.\d+"):
            he.heat_profile([0, 1], space=cloud, times=[cloud.finest_time / 2])


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        (np.zeros(5), {}, r"shape \(n, d\) with n >= 3, but have shape \(5,\)"),
        (np.full((50, 2), np.nan), {}, "must be finite, but row 0"),
        (np.zeros((50, 2)), {}, "coincide"),
        (np.eye(4), {"neighbours": 2, "bandwidth": 1}, "not both"),
        (np.eye(4), {"bandwidth": -1.0}, "bandwidth must be positive"),
        (np.eye(4), {"neighbours": 9}, "less than the number of other points, 3"),
        (
            np.arange(20)[:, None] + 100 * (np.arange(20)[:, None] > 12),
            {"bandwidth": 1},
            "2 components, of 13, 7 nodes",
        ),
    ],
)
def test_bad_clouds_are_refused(points, options, message):
    with pytest.raises(he.InputError, match=message):
        he.PointCloud(points, **options)


@pytest.mark.parametrize("unit", [1e-200, 1e-100, 1e200])
def test_extreme_units_are_refused(unit):
    with pytest.raises(he.InputError, match="use another unit"):
        he.PointCloud(unit * he.samplers.uniform(100, rng=0))
    vertices, faces = meshes.icosphere(0)
    with pytest.raises(he.InputError, match="use another unit"):
        he.Mesh(unit * vertices, faces)
