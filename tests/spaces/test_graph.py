"""Graphs against closed forms, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import ive

import heatess as he


def ring(n):
    step = sparse.eye_array(n, k=1) + sparse.eye_array(n, k=1 - n)
    return (step + step.T).tocsr()


def test_the_hypercube_has_its_closed_form():
    """s_t at Hamming distance d is tanh(2t)^d for edges of weight one."""
    bits = np.array([[(i >> k) & 1 for k in range(6)] for i in range(64)])
    apart = np.abs(bits[:, None] - bits).sum(axis=2)
    times, weights = np.array([0.05, 0.3, 1.0, 4.0]), np.arange(1.0, 21)
    w = weights / weights.sum()
    found = he.heat_profile(np.arange(20), weights, space=he.Graph(apart == 1), times=times)
    for k, t in enumerate(times):
        overlaps = np.tanh(2 * t) ** apart[:20, :20]
        power = (1 + np.exp(-4 * t)) ** 6 * (w @ overlaps @ w)
        assert_allclose(1 / found.gess[k], w @ overlaps @ w, rtol=1e-11)
        assert_allclose(found.mmd2[k], power - 1, rtol=1e-9)


@pytest.mark.parametrize("n", [300, 3000])
def test_a_long_ring_is_the_line_with_bessel_overlaps(n):
    """k_2t(i, j) = exp(-4t) I_{|i-j|}(4t) on the line: dense and shift-invert eigenpairs both meet it."""
    t = 40.0
    found = he.heat_profile([10, 18, 60], space=he.Graph(ring(n)), times=[t])
    gaps = np.abs(np.subtract.outer([10, 18, 60], [10, 18, 60]))
    overlaps = ive(gaps, 4 * t) / ive(0, 4 * t)
    assert_allclose(found.gess, 9 / overlaps.sum(), rtol=1e-5 if n > 1200 else 1e-11)
    assert abs(found.gess[0] * overlaps.sum() / 9 - 1) < found.error[0] + 1e-11


def test_a_fine_grid_with_weights_per_squared_spacing_is_the_circle():
    n = 1000
    angles = np.array([0.0, 0.3, 1.0, 4.0])
    nodes = np.round(angles / (2 * np.pi) * n)
    graph = he.Graph(ring(n) * (n / (2 * np.pi)) ** 2)
    times = [0.01, 0.1, 0.5]
    exact = he.heat_profile(2 * np.pi * nodes[:, None] / n, space=he.Torus(1), times=times)
    assert_allclose(he.heat_profile(nodes, space=graph, times=times).gess, exact.gess, rtol=1e-3)


def test_equal_weights_on_all_nodes_are_uniform():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((40, 40)) * (rng.random((40, 40)) < 0.2), 1)
    found = he.heat_profile(np.arange(40), space=he.Graph(upper + upper.T + ring(40)), times=[0.01, 1.0])
    assert (found.mmd2 < 1e-20).all()
    assert_allclose(found.volume, 1)


def test_invariants_and_limits_on_random_graphs():
    times = np.geomspace(1e-7, 1e3, 120)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        upper = np.triu(rng.exponential(size=(30, 30)) * (rng.random((30, 30)) < 0.15), 1)
        graph = he.Graph(upper + upper.T + 0.1 * ring(30))
        found = he.heat_profile(rng.choice(30, 8, replace=False), rng.random(8), space=graph, times=times)
        assert (np.diff(found.volume) >= -1e-14).all()
        assert ((found.gess >= 1) & (found.gess <= found.ess)).all()
        assert_allclose(found.gess[0], found.ess, rtol=1e-4)
        assert_allclose([found.gess[-1], found.volume[-1]], 1, rtol=1e-6)
        slopes = np.gradient(np.log(found.gess), np.log(times))
        assert_allclose(found.dimension[1:-1], -2 * slopes[1:-1], atol=0.1)


def test_gess_is_not_monotone_beside_a_reservoir():
    """A leaf and the node that joins it to four hundred others: they merge, part again while the leaf drains, merge.

    With one slow mode of amplitudes a and b left, s_t is the cosine of the angle between (1, a) and (1, b), small
    both when a and b are large and when they are small.
    """
    adjacency = np.ones((402, 402)) - np.eye(402)
    adjacency[:2] = adjacency[:, :2] = 0
    adjacency[0, 1] = adjacency[1, 0] = 0.1
    adjacency[1, 2] = adjacency[2, 1] = 0.9
    found = he.heat_profile([0, 1], space=he.Graph(adjacency), times=[0.01, 4, 25, 100])
    assert found.gess[0] > 1.99
    assert found.gess[1] < 1.1
    assert found.gess[2] > 1.2
    assert found.gess[3] < 1.01
    assert (np.diff(found.volume) > 0).all()


def star(n):
    spokes = sparse.coo_array((np.ones(n - 1), (np.zeros(n - 1, dtype=int), np.arange(1, n))), shape=(n, n))
    return (spokes + spokes.T).tocsr()


def star_kernel(n, atoms, t):
    """k_2t - 1 on a star: eigenvalues 0, 1 for differences of leaves, and n for the hub, node 0, against them all."""
    slow, fast = np.exp(-2 * t), np.exp(-2 * n * t)
    found = n * slow * (np.eye(len(atoms)) - 1 / (n - 1)) + fast / (n - 1)
    hub = np.flatnonzero(atoms == 0)
    found[hub], found[:, hub] = -fast, -fast
    found[np.ix_(hub, hub)] = (n - 1) * fast
    return found


def assert_has_kernel(found, kernel, shares):
    """gESS within its error, and MMD^2, from k_2t - 1."""
    for k, t in enumerate(found.times):
        less = kernel(t)
        scaled = shares / np.sqrt(1 + less.diagonal())
        assert abs(found.gess[k] * (scaled @ (1 + less) @ scaled) - 1) <= found.error[k]
        assert_allclose(found.mmd2[k], shares @ less @ shares, rtol=1e-6)


@pytest.mark.parametrize("n", [1201, 2000, 20_000])
@pytest.mark.slow
def test_stars_have_their_closed_form(n):
    """One eigenvalue n - 2 times: its functions do not fit, and heat is followed without them."""
    graph, atoms = he.Graph(star(n)), np.arange(0, n, n // 40)
    shares = (1.0 + atoms) / (1.0 + atoms).sum()
    for times in ([300.0], [0.003, 1.0, 10.0, 300.0]):
        found = he.heat_profile(atoms, shares, space=graph, times=times)
        assert (found.error < 1e-5).all()
        assert_has_kernel(found, lambda t: star_kernel(n, atoms, t), shares)


def test_a_star_gives_as_many_of_its_equal_modes_as_are_asked_for():
    graph, atoms = he.Graph(star(3000), modes=100), np.arange(0, 3000, 75)
    found = graph.lowest_eigenpairs(graph.check(np.arange(3000)), 100)
    assert_allclose(found.values, np.minimum(np.arange(100), 1), atol=1e-10)
    assert_allclose(found.functions.T @ found.functions / 3000, np.eye(100), atol=1e-10)
    with pytest.warns(he.PrecisionWarning, match="mmd2 .* may be off by 1e"):
        assert_allclose(he.heat_profile(atoms, space=graph, times=[20.0, 300.0]).gess, 1, rtol=1e-12)


def leafy_grid(side, leaves):
    """A grid with *leaves* on one of its nodes, and k_2t - 1 on it, from the grid with one node for all of them."""
    path = sparse.diags_array([np.ones(side - 1)] * 2, offsets=[1, -1])
    grid = sparse.kron(path, sparse.eye_array(side)) + sparse.kron(sparse.eye_array(side), path)
    size, middle = side**2, side**2 // 2
    joined = sparse.block_diag([grid, sparse.csr_array((leaves, leaves))]).tolil()
    joined[middle, size:] = joined[size:, middle] = 1
    small = np.diag(np.append(np.asarray(grid.sum(axis=1)), 1.0)) - np.pad(grid.toarray(), (0, 1))
    small[middle, middle] += leaves
    small[middle, size] = small[size, middle] = -np.sqrt(leaves)
    values, vectors = np.linalg.eigh(small)

    def kernel(atoms, t):
        leaf = (atoms >= size).astype(float)
        functions = vectors[np.minimum(atoms, size), 1:] / np.where(leaf, np.sqrt(leaves), 1)[:, None]
        apart = np.exp(-2 * t) * np.outer(leaf, leaf) * (np.eye(len(atoms)) - 1 / leaves)
        return (size + leaves) * ((functions * np.exp(-2 * t * values[1:])) @ functions.T + apart)

    return joined.tocsr(), kernel


@pytest.mark.parametrize(
    ("leaves", "modes"),
    [(300, None), (300, 600), *(pytest.param(2000, m, marks=pytest.mark.slow) for m in (None, 600))],
)
@pytest.mark.slow
def test_an_eigenvalue_repeated_more_often_than_a_band_holds(leaves, modes):
    """Leaves of one node: eigenvalue 1, once less often than there are leaves."""
    adjacency, kernel = leafy_grid(35, leaves)
    graph, atoms = he.Graph(adjacency, modes=modes), np.arange(0, 1225 + leaves, 50)
    shares = np.full(len(atoms), 1 / len(atoms))
    found = he.heat_profile(atoms, shares, space=graph, times=[30.0, 300.0] if modes else [0.3, 6.0, 30.0, 300.0])
    assert (found.error < 1e-3).all()
    assert_has_kernel(found, lambda t: kernel(atoms, t), shares)


@pytest.mark.slow
def test_trees_are_served_at_every_time():
    """Binary trees have eigenvalues that are repeated for a quarter and an eighth of all nodes."""
    from scipy.linalg import eigh

    nodes = np.arange(1, 1300)
    links = sparse.coo_array((np.ones(1299), (nodes, (nodes - 1) // 2)), shape=(1300, 1300))
    adjacency, atoms = (links + links.T).tocsr(), np.arange(0, 1300, 31)
    values, vectors = eigh(np.diag(np.asarray(adjacency.sum(axis=1))) - adjacency.toarray(), driver="evd")
    shares, functions = np.full(len(atoms), 1 / len(atoms)), np.sqrt(1300) * vectors[atoms, 1:]
    graph = he.Graph(adjacency)
    for t in (1.0, 10.0, 300.0, 3000.0):
        found = he.heat_profile(atoms, space=graph, times=[t])
        assert_has_kernel(found, lambda t: (functions * np.exp(-2 * t * values[1:])) @ functions.T, shares)


def test_splitting_an_atom_and_zero_weights_change_nothing():
    graph = he.Graph(ring(20))
    one = he.heat_profile([0, 3, 9], [1, 2, 3], space=graph, times=[0.1, 1])
    two = he.heat_profile([3, 9, 0, 3, 15], [1, 3, 1, 1, 0], space=graph, times=[0.1, 1])
    assert_allclose(two.gess, one.gess, rtol=1e-12)
    assert_allclose(two.mmd2, one.mmd2, rtol=1e-12)


def test_distances_are_path_lengths():
    graph = he.Graph(4 * ring(10))
    assert_allclose(graph.distance([0, 1, 2], 5), [2.5, 2.0, 1.5])
    assert graph.diameter == pytest.approx(2.5)
    assert graph.volume == 10


def test_scales_below_the_given_modes_are_refused_with_the_estimate():
    graph = he.Graph(ring(100), modes=20)
    with pytest.raises(he.PrecisionError, match=r"resolves times down to \d+"):
        he.heat_profile([0, 1], space=graph, times=[0.1])
    assert he.gess([0, 50], space=graph, time=graph.finest_time, rtol=1e-3) > 1


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        (np.ones((2, 3)), r"square matrix of at least two nodes, but has shape \(2, 3\)"),
        ([[0, 1], [2, 0]], r"symmetric, but entry \(0, 1\) is 1 and entry \(1, 0\) is 2"),
        ([[0, -1], [-1, 0]], r"not negative, but entry \(0, 1\) is -1"),
        ([[0, np.nan], [np.nan, 0]], r"finite and not negative"),
        ([[1, 1], [1, 0]], r"zero diagonal .* entry \(0, 0\) is 1"),
        (np.kron(np.eye(2), [[0, 1], [1, 0]]), r"2 components, of 2, 2 nodes"),
        ([["a", "b"], ["c", "d"]], "real numbers"),
    ],
)
def test_bad_adjacency_is_refused(adjacency, message):
    with pytest.raises(he.InputError, match=message):
        he.Graph(adjacency)


@pytest.mark.parametrize(
    ("points", "message"),
    [([0, 20], "row 1 is 20"), ([0.5], "row 0 is 0.5"), ([-1], "row 0 is -1"), ([], "empty"), ([[0, 1]], "shape")],
)
def test_bad_nodes_are_refused(points, message):
    with pytest.raises(he.InputError, match=message):
        he.heat_profile(points, space=he.Graph(ring(20)), times=[1.0])


def test_modes_and_other_scales_are_refused_clearly():
    with pytest.raises(he.InputError, match="from 2 to 20"):
        he.Graph(ring(20), modes=21)
    with pytest.raises(he.InputError, match="give times"):
        he.heat_profile([0, 1], space=he.Graph(ring(20)), resolutions=[1.0])
    with pytest.raises(he.InputError, match="not angles"):
        he.heat_profile([0, 1], space=he.Graph(ring(20)), angles=[10])
    with pytest.raises(he.InputError, match="not homogeneous"):
        he.Graph(ring(20)).scalar_curvature  # noqa: B018
