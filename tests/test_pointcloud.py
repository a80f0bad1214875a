"""Point clouds: the sampling density must not matter, and does without its correction."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import diags
from scipy.spatial import cKDTree

import heatess as he
from heatess.spaces.laplacian import Laplacian


class Uncorrected(he.PointCloud):
    """The same diffusion map without dividing by the density."""

    def _diffusion(self, kernel):
        mass = np.asarray(kernel.sum(axis=1)).ravel()
        return Laplacian((diags(mass) - kernel) / self.bandwidth, mass, correct=self._without_width)


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


def sphere_error(n, concentration, kind=he.PointCloud):
    rng = np.random.default_rng(3)
    sample = on_sphere(n, concentration, rng)
    cloud = kind(sample)
    places = on_sphere(150, 0, np.random.default_rng(5))
    nodes = cKDTree(sample).query(places[places[:, 0] > -0.2])[1]
    weights = np.random.default_rng(6).exponential(size=len(nodes))
    times = np.geomspace(cloud.finest_time, 0.6, 6)
    found = he.heat_profile(nodes, weights, space=cloud, times=times)
    exact = he.heat_profile(sample[nodes], weights, times=times)
    return np.abs(found.gess / exact.gess - 1).max()


def torus_error(n, unevenness, kind=he.PointCloud):
    sample = on_torus(n, unevenness, np.random.default_rng(1))
    cloud = kind(in_space(sample))
    places = on_torus(150, 0, np.random.default_rng(5))
    places = places[places[:, 0] < 4]
    nodes = cKDTree(in_space(sample)).query(in_space(places))[1]
    weights = np.random.default_rng(6).exponential(size=len(nodes))
    times = np.geomspace(cloud.finest_time, 1, 6)
    found = he.heat_profile(nodes, weights, space=cloud, times=times)
    exact = he.heat_profile(sample[nodes], weights, space=he.Torus(2), times=times)
    return np.abs(found.gess / exact.gess - 1).max()


SIZES = [1200, pytest.param(3000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("unevenness", [0, 1, 1.5])
def test_even_and_uneven_samples_of_the_sphere_give_its_profile(n, unevenness):
    assert sphere_error(n, unevenness) < 0.05


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("unevenness", [0, 0.7])
def test_even_and_uneven_samples_of_the_flat_torus_give_its_profile(n, unevenness):
    assert torus_error(n, unevenness) < 0.05


def test_without_the_density_correction_they_do_not():
    assert sphere_error(1200, 1.5, Uncorrected) > 0.08
    assert torus_error(1200, 0.7, Uncorrected) > 0.05


def test_volume_and_dimension_are_estimated():
    for concentration in (0, 1):
        cloud = he.PointCloud(on_sphere(1200, concentration, np.random.default_rng(0)))
        assert cloud.dim == 2
        assert cloud.volume == pytest.approx(4 * np.pi, rel=0.06)
    assert he.PointCloud(in_space(on_torus(1200, 0, np.random.default_rng(0)))).volume == pytest.approx(
        4 * np.pi**2, rel=0.06
    )
    assert he.PointCloud(np.random.default_rng(0).random((1000, 3)), bandwidth=0.003).dim == 3


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


def test_scales_finer_than_the_kernel_are_refused_with_the_estimate():
    cloud = he.PointCloud(on_sphere(300, 0, np.random.default_rng(0)))
    with pytest.raises(he.PrecisionError, match=r"resolves times down to 0\.\d+"):
        he.heat_profile([0, 1], space=cloud, times=[cloud.bandwidth])


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
