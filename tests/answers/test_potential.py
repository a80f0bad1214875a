"""Potentials at atoms and elsewhere: values, refusals, and what they are asked in."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import heatess as he
import meshes
from heatess.heat.series import log_diagonal, overlap


def test_one_atom_spreads_its_overlap_over_the_sphere():
    grid = he.samplers.fibonacci(50)
    time = float(np.radians(20) ** 2 / 8)
    space = he.Sphere(2)
    distances = space.distance(grid, np.array([0.0, 0.0, 1.0]))
    found = he.potential([[0, 0, 1]], at=grid, angle=20)
    assert_allclose(found, overlap(space.series, time, distances), atol=1e-10)
    density = he.potential([[0, 0, 1]], at=grid, time=2 * time, kind="density")
    assert_allclose(density, np.exp(log_diagonal(space.series, time)) * found, atol=1e-8)


@pytest.mark.parametrize("angle", [10, 40, 100])
def test_the_smoothed_density_has_mean_one(angle):
    rng = np.random.default_rng(0)
    cloud = he.samplers.von_mises_fisher(300, [0, 0, 1], 20.0, rng=rng)
    grid = he.samplers.fibonacci(20_000)  # an even sample of the sphere
    density = he.potential(cloud, rng.random(300), at=grid, angle=angle, kind="density")
    assert density.mean() == pytest.approx(1, abs=1e-4)
    assert (density >= 0).all()


@pytest.mark.parametrize(
    ("space", "angle"),
    [
        (he.Sphere(1), 3),
        (he.Sphere(2), 6),
        (he.Sphere(3), 15),
        (he.Rotations(), 25),
        (he.Circle(), 3),
        (he.Torus(2), 6),
        (he.Torus(3), 30),
    ],
    ids=repr,
)
def test_large_clouds_by_transform_and_by_neighbours(space, angle):
    rng = np.random.default_rng(1)
    measure = he.Measure(space.uniform(20_000, rng), rng.random(20_000), space=space)
    for scale in (angle, angle / 30):
        potential = he.potential(measure, angle=scale)
        assert measure.weights @ potential == pytest.approx(1 / he.gess(measure, angle=scale), rel=1e-8)


def test_atoms_without_weight_have_a_potential_too():
    cloud = [[0, 0, 1], [0, 1, 0], [0, 0.6, 0.8]]
    with_all = he.potential(cloud, [1, 1, 0], angle=30)
    without = he.potential(cloud[:2], at=cloud, angle=30)
    assert_allclose(with_all, without, atol=1e-10)
    assert 0 < with_all[2] < 0.5


def test_what_cannot_be_is_refused():
    cloud = he.samplers.fibonacci(9)
    with pytest.raises(he.InputError, match="kind must be 'overlap' or 'density', but is 'heat'"):
        he.potential(cloud, angle=5, kind="heat")
    with pytest.raises(he.InputError, match="at: points on Sphere\\(2\\) must have shape \\(n, 3\\)"):
        he.potential(cloud, at=np.eye(4), angle=5)
    with pytest.raises(he.ScaleError, match="exactly one scale"):
        he.potential(cloud)
    with pytest.raises(he.InputError, match="is not defined with respect to normalised volume"):
        he.potential(np.eye(3), space=he.Euclidean(3), time=1.0, kind="density")
    assert_allclose(he.potential(np.eye(3), space=he.Euclidean(3), time=1e9), 1.0)


def test_errors_carry_their_numbers():
    with pytest.raises(he.PrecisionError) as fine:
        he.heat_profile(he.samplers.fibonacci(9), angles=[0.001], method="spectral")
    assert 0 < fine.value.finest < np.radians(1) ** 2
    state = he.Accumulator(max_degree=10).add(he.samplers.fibonacci(9))
    with pytest.raises(he.PrecisionError) as coarse:
        state.profile(angles=[5])
    assert coarse.value.needed > 100
    assert coarse.value.reached > 1e-8
    enough = he.Accumulator(max_degree=coarse.value.needed).add(he.samplers.fibonacci(9))
    assert enough.profile(angles=[5]).error.max() <= 1e-8
    many = he.Measure(he.samplers.uniform(10**6, 9, rng=0))
    with pytest.raises(he.CostError) as slow:
        he.gess(many, angle=20)
    assert slow.value.seconds > 1800
    with pytest.raises(
        he.CostError, match=r"potentials of 1,000,000 .* at 1,000,000 places .*; give fewer places"
    ) as slow:
        he.potential(many, angle=20)
    assert slow.value.seconds > 1800
    assert he.potential(many, angle=20, at=many.points[:1]).shape == (1,)


def test_a_measure_cannot_be_changed_and_is_taken_as_it_is():
    measure = he.Measure([[0, 0, 1], [0, 1, 0]], [1, 3])
    with pytest.raises(AttributeError, match="cannot be changed"):
        measure.weights = [1, 1]
    with pytest.raises(he.InputError, match="a Measure already"):
        he.Measure(measure)
    with pytest.raises(he.InputError, match="Measure on Sphere\\(2\\), but space=Projective\\(2\\)"):
        he.gess(measure, angle=5, space=he.Projective(2))
    with pytest.raises(he.InputError, match="not on one scale"):
        he.Accumulator(max_degree=9).add(measure)
    assert he.gess(measure, angle=5, space=he.Sphere(2)) == he.gess(measure, angle=5)


def test_copies_of_an_atom_count_once_and_points_may_be_a_measure():
    places = he.samplers.fibonacci(20)
    copies = he.Measure(np.repeat(places, 50, axis=0))
    for angle in (0.01, 40):
        found = he.potential(copies, at=he.Measure(places), angle=angle)
        assert_allclose(found, he.potential(places, angle=angle), rtol=1e-8)


def test_lines_in_single_precision_are_as_exact_as_in_double():
    rng = np.random.default_rng(0)
    x = 0.5 + 0.03 * rng.normal(size=(500, 4))
    single = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    double = single.astype(np.float64)
    double /= np.linalg.norm(double, axis=1, keepdims=True)
    for time in (0.1**2 / 8, 0.5**2 / 8):
        one, two = (
            he.heat_profile(x, space=he.Projective(3), times=[time], method="spectral") for x in (single, double)
        )
        assert_allclose(one.gess, two.gess, rtol=3e-12)


def test_the_density_on_a_mesh_is_refused_where_its_modes_do_not_resolve_it():
    mesh = he.Mesh(*meshes.icosphere(2))
    with pytest.raises(he.PrecisionError, match="resolves times down to"):
        he.potential([0, 5, 9], space=mesh, time=mesh.finest_time, kind="density")
    assert he.potential([0, 5, 9], space=mesh, time=2 * mesh.finest_time, kind="density").shape == (3,)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [2, 4])
def test_tight_clusters_across_the_seam_of_a_torus(dim):
    rng = np.random.default_rng(0)
    space = he.Torus(dim)
    points = np.concatenate([1e-9 * rng.normal(size=(2000, dim)), space.uniform(2000, rng)])
    measure, time = he.Measure(points, space=space), 1e-18 / 8
    found = he.potential(measure, time=time)
    kernel = space.pair_kernel
    exact = kernel.terms(points[:50], points[:2000])(time).overlap.sum(axis=1) / 4000
    assert_allclose(found[:50], exact, rtol=1e-8)
    turned = np.sin(np.radians(rng.integers(0, 361, (500, dim))))  # with coordinates of -1e-16
    assert he.potential(turned, space=space, time=1e-4).mean() == pytest.approx(
        1 / he.gess(turned, space=space, time=1e-4), rel=1e-8
    )


def test_what_overflows_is_infinite_and_far_atoms_are_no_trouble():
    assert np.isinf(he.potential(he.samplers.uniform(5, 383, rng=0), time=1e-5, kind="density")).all()
    for far in (1e152, 1e200, 1e308):
        for dim in (1, 2, 3):
            pair = np.zeros((2, dim))
            pair[:, 0] = [-far, far]
            assert he.gess(pair, space=he.Euclidean(dim), time=1e-3) == pytest.approx(2)
            assert_allclose(he.potential(pair, space=he.Euclidean(dim), time=1e-3), 0.5)
