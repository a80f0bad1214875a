"""Meshes, clouds and graphs made to break: what comes out is right, within its stated error, or refused."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import heatess as he
import meshes


def mp_laplacian(weights):
    """D - W in 250 bits, from the off-diagonal entries alone."""
    size = len(weights)
    found = mp.matrix(size, size)
    for i in range(size):
        for j in np.flatnonzero(weights[i]):
            found[i, int(j)] = -mp.mpf(weights[i, j])
        found[i, i] = -mp.fsum(found[i, j] for j in range(size))
    return found


def mp_gess(values, functions, atoms, weights, times):
    """The definition, with eigenfunctions as rows of numbers of many digits, one for each node."""
    total, found = mp.fsum(map(mp.mpf, weights)), []
    for t in times:
        decay = [mp.e ** (-2 * value * mp.mpf(t)) for value in values]
        own = [mp.fsum(d * f * f for d, f in zip(decay, functions[i], strict=True)) for i in atoms]
        scaled = [mp.mpf(w) / total / mp.sqrt(k) for w, k in zip(weights, own, strict=True)]
        parts = [mp.fsum(s * functions[i][r] for s, i in zip(scaled, atoms, strict=True)) for r in range(len(values))]
        found.append(1 / mp.fsum(d * p * p for d, p in zip(decay, parts, strict=True)))
    return found


def assert_within_error(profile, truth, most=1.0):
    off = np.array([float(abs(mp.mpf(g) / exact - 1)) for g, exact in zip(profile.gess.tolist(), truth, strict=True)])
    assert (off <= profile.error).all(), (off / profile.error).max()
    assert (off <= most).all(), off.max()


def graded_graph(spread, rng, size=20):
    weights = 10.0 ** -rng.uniform(0, spread, (size, size)) * (rng.random((size, size)) < 0.25)
    weights[np.arange(size - 1), np.arange(1, size)] = 10.0 ** -rng.uniform(0, spread, size - 1)
    upper = np.triu(weights, 1)
    return upper + upper.T


@pytest.mark.parametrize("spread", [0, 3, 6, 10, 20, 40, 80])
def test_graphs_with_links_of_any_strength_are_right(spread):
    rng = np.random.default_rng(spread)
    weights, atoms, shares = graded_graph(spread, rng), [0, 3, 8, 11, 19], [1.0, 2.0, 0.5, 1.0, 3.0]
    with mp.workprec(250 + 8 * spread):
        values, vectors = mp.eigsy(mp_laplacian(weights))
        times = np.geomspace(0.1 / float(values[19]), 10 / float(values[1]), 15)
        functions = [[vectors[i, r] for r in range(20)] for i in range(20)]
        truth = mp_gess(list(values), functions, atoms, shares, times)
        assert_within_error(he.heat_profile(atoms, shares, space=he.Graph(weights), times=times), truth, 1e-9)


def one_and_two(slow, times):
    """The gESS of two atoms of weights 1 and 2 in halves between which heat passes at the rate *slow*."""
    decay = np.exp(-2 * slow * times)
    return 9 / (5 + 4 * (1 - decay) / (1 + decay))


@pytest.mark.parametrize("bridge", [1e-3, 1e-6, 1e-8, 1e-12, 1e-15, np.exp(-50), 1e-90])
def test_two_cliques_joined_by_a_weak_link_have_their_closed_form(bridge):
    """By symmetry: the mean of each clique, the ends of the bridge against the others, and all else.

    At times between 1 and 1 / bridge two atoms, one in each, are apart; far later they are one.
    """
    size = 20
    clique = np.ones((size, size)) - np.eye(size)
    weights = np.kron(np.eye(2), clique)
    weights[0, size] = weights[size, 0] = bridge
    graph = he.Graph(weights)
    slow = 2 * bridge / size * (1 - 2 * bridge * (size - 1) / size**2)  # to second order in the bridge
    times = np.array([1.0, 0.1, 1.0, 10.0]) / np.array([1.0, slow, slow, slow])
    found = he.heat_profile([3, size + 3], [1, 2], space=graph, times=times)
    assert_allclose(found.gess, one_and_two(slow, times), rtol=30 * bridge**2 + 1e-7 + bridge / 10)
    assert (found.error < 1e-6).all()


@pytest.mark.parametrize("bridge", [1e-6, 1e-10, 1e-15])
def test_two_large_rings_joined_by_a_weak_link_are_right(bridge):
    """The slow mode is constant on each ring but for terms of order bridge * n; above 1,200 nodes."""
    size = 1000
    step = sparse.eye_array(size, k=1) + sparse.eye_array(size, k=1 - size)
    weights = sparse.block_diag([step + step.T, step + step.T]).tolil()
    weights[0, size] = weights[size, 0] = bridge
    slow = 2 * bridge / size
    times = np.array([0.1, 1.0, 10.0]) / slow
    found = he.heat_profile([300, size + 300], [1, 2], space=he.Graph(weights.tocsr()), times=times)
    assert_allclose(found.gess, one_and_two(slow, times), rtol=2 * size * bridge + 1e-6)
    assert (found.error < 1e-3).all()


def test_large_graphs_whose_links_are_lost_in_rounding_are_refused_or_right():
    size = 1000
    step = sparse.eye_array(size, k=1) + sparse.eye_array(size, k=1 - size)
    weights = sparse.block_diag([step + step.T, step + step.T]).tolil()
    weights[0, size] = weights[size, 0] = 1e-40
    graph = he.Graph(weights.tocsr())
    with pytest.raises(he.PrecisionError, match="leave out what is so weak"):
        he.heat_profile([300, size + 300], space=graph, times=[1e42])


def nested(size, subdivisions=1):
    """A sphere with a triangle of *size* inside one of its faces."""
    vertices, faces = meshes.icosphere(subdivisions)
    (a, b, c), count, middle = faces[0], len(vertices), vertices[faces[0]].mean(axis=0)
    x, y, z = count, count + 1, count + 2
    inside = [(a, b, y), (a, y, x), (b, c, z), (b, z, y), (c, a, x), (c, x, z), (x, y, z)]
    vertices = np.concatenate([vertices, middle + size * (vertices[faces[0]] - middle)])
    return vertices, np.concatenate([faces[1:], inside])


@pytest.mark.parametrize("size", [1e-4, 1e-6, 1e-7, 1e-8, 1e-10])
def test_a_tiny_triangle_changes_nothing(size):
    """A triangle of 1e-3 is a point already."""
    atoms, times = [5, 20, 40, 77, 164], [0.1, 0.3, 1.0]
    expected = he.heat_profile(atoms, space=he.Mesh(*nested(1e-3, 2)), times=times).gess
    found = he.heat_profile(atoms, space=he.Mesh(*nested(size, 2)), times=times)
    assert_allclose(found.gess, expected, rtol=1e-4)


@pytest.mark.parametrize("neck", [1e-5, 1e-7, 1e-9])
def test_a_mesh_with_a_vanishing_neck_has_the_eigenpairs_of_its_matrices(neck):
    mesh = he.Mesh(*meshes.dumbbell(1, neck))
    laplacian, atoms = mesh._laplacian, [5, 20, 33, 40, 41]
    stiffness = laplacian._stiffness.toarray()
    times = mesh.finest_time * np.array([1, 5, 30, 1000, 1e6])
    with mp.workprec(200):
        root = [mp.sqrt(mp.mpf(m)) for m in laplacian.mass]
        links = mp_laplacian(np.triu(-stiffness, 1) + np.triu(-stiffness, 1).T)
        scaled = mp.matrix(len(root), len(root))
        for i, left in enumerate(root):
            for j, right in enumerate(root):
                scaled[i, j] = links[i, j] / (left * right)
        metric = mp.matrix(laplacian._metric.toarray().tolist())
        inverse = mp.cholesky(metric) ** -1
        values, vectors = mp.eigsy(inverse * scaled * inverse.T)
        vectors = inverse.T * vectors
        vectors = (vectors + metric * vectors) / 2
        whole = mp.sqrt(mp.fsum(map(mp.mpf, laplacian.mass)))
        functions = [[vectors[i, r] * whole / root[i] for r in range(len(root))] for i in range(len(root))]
        truth = mp_gess(list(values), functions, atoms, np.ones(5), times)
        assert_within_error(he.heat_profile(atoms, space=mesh, times=times), truth, 1e-6)


def test_uniform_weights_have_no_mmd2_at_all():
    ring = np.roll(np.eye(40), 1, axis=1)
    found = he.heat_profile(np.arange(40), space=he.Graph(ring + ring.T), times=[0.1, 1.0, 1e3])
    assert (found.mmd2 == 0).all()
    mesh = he.Mesh(*meshes.ellipsoid(2))
    found = he.heat_profile(np.arange(mesh.node_count), mesh.node_volumes, space=mesh, times=[0.3, 3.0])
    assert (found.mmd2 == 0).all()
    sample = he.samplers.fibonacci(300)
    cloud = he.PointCloud(np.concatenate([sample, sample[:50]]))
    found = he.heat_profile(np.arange(350), cloud.node_volumes, space=cloud, times=[0.3, 3.0])
    assert (found.mmd2 == 0).all()


def test_mmd2_below_rounding_is_warned_of():
    """Every other node of a ring: only the mode of the shortest wave has energy, and it decays first."""
    ring = np.roll(np.eye(40), 1, axis=1)
    graph = he.Graph(ring + ring.T)
    early = he.heat_profile(np.arange(0, 40, 2), space=graph, times=[0.01, 1.0])
    assert_allclose(early.mmd2, np.exp(-8 * early.times), rtol=1e-10)
    with pytest.warns(he.PrecisionWarning, match="mmd2 .* may be off by"):
        he.heat_profile(np.arange(0, 40, 2), space=graph, times=[20.0])
    opposite = [3, 23]  # no energy in the odd modes
    with pytest.warns(he.PrecisionWarning, match="mmd2 .* may be off by"):
        he.heat_profile(opposite, space=graph, times=[1500.0])


def test_mmd2_at_large_times_is_certain_where_the_leading_coefficient_is():
    """One atom or uneven ones: MMD^2 falls as exp(-2 lambda_1 t) down to the smallest numbers there are."""
    ring = np.roll(np.eye(40), 1, axis=1)
    rate = 2 - 2 * np.cos(2 * np.pi / 40)
    times = np.array([50.0, 1e3, 1e4])
    found = he.heat_profile([0, 3, 10], [1, 2, 3], space=he.Graph(ring + ring.T), times=times)
    wave = np.exp(2j * np.pi * np.array([0, 3, 10]) / 40) @ np.array([1, 2, 3]) / 6
    assert_allclose(found.mmd2[1:], 2 * np.abs(wave) ** 2 * np.exp(-2 * rate * times[1:]), rtol=1e-7)
    mesh = he.Mesh(*meshes.ellipsoid(3))
    he.heat_profile([0, 7, 30], [1, 2, 3], space=mesh, times=np.geomspace(0.1, 1e5, 30))
    he.heat_profile([0], space=mesh, times=[1e3, 1e9])
