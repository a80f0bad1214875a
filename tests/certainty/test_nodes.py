"""Meshes, clouds and graphs made to break: what comes out is right, within its stated error, or refused."""

from __future__ import annotations

import pickle

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import heatess as he
import meshes
from heatess.spaces.discrete import laplacian, nodes


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


@pytest.mark.slow
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


def two_halves(half, bridge, ends, others, atoms, time):
    """k_2t - 1 between nodes of two equal halves, the first node of each joined by a *bridge*; in 200 bits.

    In each half the first node has *ends* links to as many others, which are all alike; differences between them decay
    at the rate *others*. What is left is even or odd in the halves, and two numbers each.
    """
    parts = []
    with mp.workprec(200):
        for sign, more in ((1, 0), (-1, 2 * mp.mpf(bridge))):
            side = mp.sqrt(ends)
            values, vectors = mp.eigsy(mp.matrix([[ends + more, -side], [-side, 1]]))
            scale, first = [1, 1 / side], (1 if sign == 1 else 0)  # without the constant
            decay = [mp.exp(-2 * mp.mpf(time) * value) for value in values]
            rows = [[scale[i] * vectors[i, r] for r in range(2)] for i in range(2)]
            entry = lambda i, j: mp.fsum(decay[r] * rows[i][r] * rows[j][r] for r in range(first, 2))  # noqa: B023, E731
            parts.append(np.array([[float(entry(i, j)) for j in range(2)] for i in range(2)]))
        slow = float(mp.exp(-2 * mp.mpf(time) * others))
    kind, same = np.minimum(atoms % half, 1), np.equal.outer(atoms // half, atoms // half)
    even, odd = (part[np.ix_(kind, kind)] for part in parts)
    alike = same & np.logical_and.outer(kind, kind)
    return half * (even + np.where(same, odd, -odd)) + 2 * half * slow * alike * (np.eye(len(atoms)) - 1 / ends)


def assert_has_kernel(found, kernel, weights, rounding=0.0):
    """gESS and MMD^2 from k_2t - 1 at each time."""
    shares = weights / weights.sum()
    for k, time in enumerate(found.times):
        less = kernel(time)
        scaled = shares / np.sqrt(1 + less.diagonal())
        assert abs(found.gess[k] * (scaled @ (1 + less) @ scaled) - 1) <= found.error[k] + rounding
        assert_allclose(found.mmd2[k], shares @ less @ shares, rtol=1e-5)


@pytest.mark.parametrize("bridge", [1e-4, 1e-8, 1e-14])
@pytest.mark.parametrize("size", [1202, 1300, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_two_large_cliques_joined_by_a_weak_link_have_their_closed_form(size, bridge):
    """Too large for elimination: the constant is mixed into the slow mode, which must not be left too short."""
    half = size // 2
    weights = sparse.block_diag([np.ones((half, half)) - np.eye(half)] * 2).tolil()
    weights[0, half] = weights[half, 0] = bridge
    times = np.array([1e-3, 0.05, 1.0, 0.1 * half / bridge, half / bridge])
    atoms = np.arange(0, size, 41)
    found = he.heat_profile(atoms, atoms + 1, space=he.Graph(weights.tocsr()), times=times)
    assert (found.error < 1e-7).all()
    assert_has_kernel(found, lambda t: two_halves(half, bridge, half - 1, half, atoms, t), atoms + 1.0)


def double_star(half, bridge):
    weights = sparse.lil_array((2 * half, 2 * half))
    weights[0, 1:half] = weights[half, half + 1 :] = 1.0
    weights[0, half] = bridge
    return (weights + weights.T).tocsr()


@pytest.mark.slow
@pytest.mark.parametrize("bridge", [1e-4, 1e-6, 1e-11])
def test_two_stars_joined_by_a_weak_link_have_their_closed_form(bridge):
    """One eigenvalue many times: the few below it are enough at large times."""
    half, atoms = 1000, np.arange(0, 2000, 41)
    times = np.array([50.0, 0.1 * half / bridge, half / bridge])
    found = he.heat_profile(atoms, atoms + 1, space=he.Graph(double_star(half, bridge)), times=times)
    assert (found.error < 1e-3).all()
    assert_has_kernel(found, lambda t: two_halves(half, bridge, half - 1, 1, atoms, t), atoms + 1.0)


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


@pytest.mark.slow
@pytest.mark.parametrize("neck", [1e-7, *(pytest.param(size, marks=pytest.mark.slow) for size in (1e-5, 1e-9))])
def test_a_mesh_with_a_vanishing_neck_has_the_eigenpairs_of_its_matrices(neck):
    mesh = he.Mesh(*meshes.dumbbell(1, neck))
    matrices, atoms = mesh._laplacian, [5, 20, 33, 40, 41]
    stiffness = matrices._stiffness.toarray()
    times = mesh.finest_time * np.array([1, 5, 30, 1000, 1e6])
    with mp.workprec(200):
        root = [mp.sqrt(mp.mpf(m)) for m in matrices.mass]
        links = mp_laplacian(np.triu(-stiffness, 1) + np.triu(-stiffness, 1).T)
        scaled = mp.matrix(len(root), len(root))
        for i, left in enumerate(root):
            for j, right in enumerate(root):
                scaled[i, j] = links[i, j] / (left * right)
        metric = mp.matrix(matrices._metric.toarray().tolist())
        inverse = mp.cholesky(metric) ** -1
        values, vectors = mp.eigsy(inverse * scaled * inverse.T)
        vectors = inverse.T * vectors
        vectors = (vectors + metric * vectors) / 2
        whole = mp.sqrt(mp.fsum(map(mp.mpf, matrices.mass)))
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


def random_graph(size, links, rng):
    """A ring and random links: factors of its matrix fill up."""
    ring = sparse.eye_array(size, k=1) + sparse.eye_array(size, k=1 - size)
    first, second = rng.integers(size, size=(2, links))
    kept = first != second
    joined = sparse.coo_array((np.ones(kept.sum()), (first[kept], second[kept])), shape=(size, size))
    adjacency = (ring + joined + (ring + joined).T).tocsr()
    adjacency.data[:] = 1
    return adjacency


@pytest.mark.slow
def test_random_graphs_are_solved_whole_and_to_rounding():
    adjacency = random_graph(1300, 8000, np.random.default_rng(0))
    times, atoms = [0.3, 3.0], [0, 5, 9]
    graph = he.Graph(adjacency)
    found = he.heat_profile(atoms, [1, 2, 3], space=graph, times=times)
    assert graph.finest_time == 0
    from scipy.linalg import expm

    matrix = np.diag(np.asarray(adjacency.sum(axis=1))) - adjacency.toarray()
    for t, gess in zip(times, found.gess, strict=True):
        kernel = expm(-2 * t * matrix)[np.ix_(atoms, atoms)]
        overlaps = kernel / np.sqrt(np.outer(kernel.diagonal(), kernel.diagonal()))
        shares = np.array([1, 2, 3]) / 6
        assert_allclose(1 / gess, shares @ overlaps @ shares, rtol=1e-11)


@pytest.mark.slow
def test_random_graphs_too_large_for_eigenpairs_are_served_without():
    """Factors of their matrices fill up; MMD^2 of two nodes from exp(-2 t L) applied to them."""
    from scipy.sparse.linalg import expm_multiply

    adjacency = random_graph(30_000, 60_000, np.random.default_rng(0))
    laplacian = (sparse.diags_array(np.asarray(adjacency.sum(axis=1)).ravel()) - adjacency).tocsc()
    size, graph = adjacency.shape[0], he.Graph(adjacency)
    found = he.heat_profile([0, 5], space=graph, times=[0.2, 1.0])
    for time, gess, mmd2 in zip(found.times, found.gess, found.mmd2, strict=True):
        start = np.zeros((size, 2))
        start[[0, 5], [0, 1]] = 1.0
        kernel = size * expm_multiply(-2 * time * laplacian, start)[[0, 5]]
        overlap = (2 + 2 * kernel[0, 1] / np.sqrt(kernel[0, 0] * kernel[1, 1])) / 4
        assert_allclose([gess, mmd2], [1 / overlap, kernel.sum() / 4 - 1], rtol=1e-8)
    for ask in (
        lambda: he.two_sample_test(np.arange(9), np.arange(9, 20), space=graph, times=[1.0]),
        lambda: he.power_spectrum([0, 5], space=graph, max_degree=4),
        lambda: he.thin(np.arange(30), size=5, space=graph, time=1.0),
    ):
        with pytest.raises(
            he.CostError, match=r"eigenpairs of 30,000 nodes would .*; give a space of fewer nodes"
        ) as caught:
            ask()
        assert caught.value.seconds > 1800


@pytest.mark.slow
def test_what_the_refusal_of_a_random_graph_advises_works():
    """So few eigenpairs are not certain to rtol at that time, and it is said how certain they are."""
    adjacency = random_graph(4000, 8000, np.random.default_rng(0))
    graph = he.Graph(adjacency, modes=64)
    with pytest.warns(he.PrecisionWarning, match="gESS is certain only to"):
        found = he.gess([0, 5], space=graph, time=graph.finest_time)
    matrix = sparse.csgraph.laplacian(sparse.csr_array(adjacency))
    heated = sparse.linalg.expm_multiply(-2 * graph.finest_time * matrix, np.eye(4000)[:, [0, 5]])[[0, 5]]
    overlap = heated[0, 1] / np.sqrt(heated[0, 0] * heated[1, 1])
    assert found == pytest.approx(2 / (1 + overlap), rel=1e-4)


def test_hubs_meshes_and_trees_are_not_taken_for_random_graphs():
    """A hub joined to all adds a row to the factors, no more; a tree adds nothing."""
    line = sparse.eye_array(30_000, k=1).tolil()
    line[0, 1:] = 1.0
    for adjacency in (line, sparse.eye_array(30_000, k=1)):
        assert he.Graph(adjacency + adjacency.T)._laplacian._cost.seconds(4000) < 120
    assert not he.Mesh(*meshes.icosphere(4))._laplacian.whole


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["closed", "open", "cloud", "open cloud", "kernel"])
def test_the_finest_time_that_is_reported_is_served(kind, monkeypatch):
    """With a lower limit on the number of eigenpairs, so that it is what decides."""
    for module in (laplacian, nodes):
        monkeypatch.setattr(module, "MOST_MODES", 250)
    rng = np.random.default_rng(0)
    square = rng.random((1500, 2))
    space = {
        "closed": lambda: he.Mesh(*meshes.icosphere(4)),
        "open": lambda: open_mesh(np.column_stack([square * [20, 1], np.zeros(1500)])),
        "cloud": lambda: he.PointCloud(he.samplers.fibonacci(1500)),
        "open cloud": lambda: he.PointCloud(square * [4, 1]),
        "kernel": lambda: he.PointCloud(he.samplers.fibonacci(1500), neighbours=8),
    }[kind]()
    found = he.heat_profile([0, 3, 8], [1, 2, 3], space=space, times=[space.finest_time])
    assert 1 < found.gess[0] <= found.ess
    with pytest.raises(he.PrecisionError, match="give coarser scales, or a space with more nodes or modes"):
        he.heat_profile([0, 3], space=space, times=[0.9 * space.finest_time])


def open_mesh(places):
    from scipy.spatial import Delaunay

    return he.Mesh(places, Delaunay(places[:, :2]).simplices)


@pytest.mark.slow
def test_the_finest_time_of_twenty_thousand_vertices_is_served():
    from scipy.spatial import ConvexHull

    vertices = he.samplers.fibonacci(20_000)
    mesh = he.Mesh(vertices, ConvexHull(vertices).simplices)
    times = [mesh.finest_time, 0.1]
    found = he.heat_profile(np.arange(100), space=mesh, times=times)
    off = np.abs(found.gess / he.heat_profile(vertices[:100], times=times).gess - 1)
    assert (off < found.error).all()
    assert (found.error < 1.2 * found.discretisation).all()  # little more than the mesh itself is off


def spaces():
    ring = np.roll(np.eye(12), 1, axis=1)
    yield lambda scale: he.Graph(scale * (ring + ring.T))
    yield lambda scale: he.Mesh(scale * meshes.icosphere(1)[0], meshes.icosphere(1)[1])
    yield lambda scale: he.PointCloud(scale * he.samplers.fibonacci(100))
    yield lambda scale: he.PointCloud(he.samplers.fibonacci(100), bandwidth=0.1 * scale)


@pytest.mark.parametrize("make", list(spaces()))
def test_spaces_made_of_the_same_nodes_are_equal_also_after_pickling(make):
    space = make(1.0)
    assert space == space == pickle.loads(pickle.dumps(space)) == make(1.0)
    assert hash(space) == hash(pickle.loads(pickle.dumps(space)))
    assert space != make(2.0)
    assert space != he.Sphere(2)
    measure = he.Measure([0, 1], space=space)
    assert he.heat_profile(measure, space=make(1.0), times=[5.0]).n == 2
    few = he.Graph(np.ones((5, 5)) - np.eye(5), modes=3)
    assert few != he.Graph(np.ones((5, 5)) - np.eye(5))


def insulated_box(places, sides, shares, times):
    """The gESS of atoms in a box that reflects heat, of any dimension: the modes are products of cosines."""
    found = []
    for t in times:
        kernel = np.ones((len(places), len(places)))
        for column, side in zip(places.T, sides, strict=True):
            wave = np.pi * np.arange(1 + int(side * np.sqrt(18 / t) / np.pi)) / side
            modes = np.cos(np.outer(column, wave)) * np.where(wave > 0, np.sqrt(2), 1)
            kernel *= (modes * np.exp(-2 * wave**2 * t)) @ modes.T
        own = np.sqrt(kernel.diagonal())
        found.append(1 / (shares / own @ kernel @ (shares / own)))
    return np.array(found)


def midpoints(count):
    across = (np.arange(count) + 0.5) / count
    return np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)


@pytest.mark.parametrize(
    ("sample", "sides"),
    [
        (midpoints(17), (1, 1)),
        (midpoints(31), (1, 1)),
        (np.random.default_rng(0).random((300, 2)), (1, 1)),
        (np.random.default_rng(1).random((900, 2)) * [5, 1], (5, 1)),
        (np.random.default_rng(2).random((300, 1)), (1,)),
        ((np.arange(300)[:, None] + 0.5) / 300, (1,)),
    ],
)
def test_the_error_of_samples_with_a_boundary_covers_it(sample, sides):
    cloud, rng = he.PointCloud(sample), np.random.default_rng(3)
    assert not cloud.closed
    times = np.geomspace(cloud.finest_time, 40 * cloud.finest_time, 6)
    near = np.argsort(-np.linalg.norm(sample - sample.mean(axis=0), axis=1))[:20]
    for atoms in (np.arange(len(sample)), near, np.flatnonzero(sample[:, 0] > sides[0] / 2)):
        shares = rng.dirichlet(np.ones(len(atoms)))
        found = he.heat_profile(atoms, shares, space=cloud, times=times)
        off = np.abs(found.gess / insulated_box(sample[atoms], sides, shares, times) - 1)
        assert (off < found.error).all()


def test_samples_without_a_boundary_keep_their_error():
    cloud = he.PointCloud(he.samplers.fibonacci(500))
    assert cloud.closed
    assert he.heat_profile([0, 5], [1, 2], space=cloud, times=[0.3]).error[0] < 0.02
