"""Heat on many nodes by Lanczos runs, against eigenpairs and closed forms."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh, eigh_tridiagonal
from scipy.sparse.csgraph import connected_components

import heatess as he
import meshes
from heatess.base.progress import Progress
from heatess.engines import diagonals, eigenpairs, lanczos, lanczos_quadrature, plan
from heatess.engines.base import Question
from heatess.engines.eigenpairs import Eigenmodes
from heatess.engines.lanczos import Flows
from heatess.spaces.discrete import filtered_eigenpairs, laplacian, nodes
from heatess.spaces.flow import Flow


@pytest.fixture
def no_eigenpairs(monkeypatch):
    """Every space of nodes has a flow, however small."""
    monkeypatch.setattr(nodes.NodeSpace, "flow", property(lambda space: space._laplacian.flow))


def sums(space, points, weights, times, engine, rtol=1e-8):
    measure = he.Measure(points, weights, space=space)
    return plan.run(measure, np.asarray(times), rtol, "auto", Progress(False), engines=(engine,)).sums


def grid(rows, columns):
    def ring(count):
        return sparse.diags_array([np.ones(count - 1)] * 2 + [[1.0]] * 2, offsets=[1, -1, count - 1, 1 - count])

    identity = sparse.eye_array
    return (sparse.kron(ring(rows), identity(columns)) + sparse.kron(identity(rows), ring(columns))).tocsr()


def random_graph(size, rng, density=0.01):
    links = sparse.random_array((size, size), density=density, rng=rng)
    links = (links + links.T).tolil()
    links.setdiag(0)
    links = links.tocsr()
    links.eliminate_zeros()
    label = connected_components(links)[1]
    kept = label == np.argmax(np.bincount(label))
    return links[kept][:, kept]


def grid_power(weights, times):
    """A - 1 on a grid that closes: its eigenvalues are 4 - 2 cos - 2 cos, its eigenfunctions plane waves."""
    rows, columns = weights.shape
    waves = [2 - 2 * np.cos(2 * np.pi * np.arange(count) / count) for count in (rows, columns)]
    values = waves[0][:, None] + waves[1][None]
    energies = np.abs(np.fft.fft2(weights)) ** 2
    energies[0, 0] = 0.0
    return np.array([float((np.exp(-2 * time * values) * energies).sum()) for time in times])


@pytest.mark.parametrize("kind", ["grid", "random", "weak link"])
def test_graphs_by_runs_and_by_eigenpairs(kind, no_eigenpairs):
    rng = np.random.default_rng(1)
    links = {"grid": grid(20, 26), "random": random_graph(500, rng), "weak link": None}[kind]
    if links is None:
        links = sparse.block_diag([grid(12, 12), grid(12, 12)]).tolil()
        links[0, 200] = links[200, 0] = 1e-4
        links = links.tocsr()
    graph = he.Graph(links)
    points, weights = rng.choice(links.shape[0], 50, replace=False), rng.exponential(size=50)
    times = np.geomspace(0.01, 40, 12)
    known = sums(graph, points, weights, times, Eigenmodes())
    found = sums(graph, points, weights, times, Flows())
    assert (np.abs(found.overlap / known.overlap - 1) <= found.error + known.error).all()
    assert (np.abs(np.expm1(found.log_mmd2 - known.log_mmd2)) <= found.mmd2_error + known.mmd2_error).all()
    assert_allclose(found.overlap, known.overlap, rtol=1e-10)
    assert_allclose(found.log_mmd2, known.log_mmd2, rtol=0, atol=1e-9)
    assert_allclose(found.slope, known.slope, rtol=0, atol=1e-6)
    assert found.error.max() < 1e-7  # not vague: a weak link costs digits


def test_bounds_hold_after_every_number_of_steps():
    rng = np.random.default_rng(2)
    links, times = grid(24, 30), np.geomspace(0.05, 30, 9)
    weights = rng.exponential(size=24 * 30)
    weights /= weights.sum()
    exact = grid_power(weights.reshape(24, 30), times)
    flow = Flow((sparse.diags_array(links.sum(axis=1)) - links).tocsr(), None, np.full(720, 1 / math.sqrt(720)))
    run = flow.run(math.sqrt(720) * weights)
    widths = []
    for _ in range(60):
        run.advance(1)
        bracket = lanczos_quadrature.Bracket.of(*run.tridiagonal, 2 * times)
        low, high = (run.size**2 * np.exp(part) for part in (bracket.lower, bracket.upper))
        assert (low <= exact * (1 + 1e-11)).all()
        assert (high >= exact * (1 - 1e-11)).all()
        widths.append(bracket.width)
    assert (np.diff(np.array(widths), axis=0) <= 1e-9).all()
    assert widths[-1].max() < 1e-6


def test_nodes_and_weights_against_a_dense_solver():
    rng = np.random.default_rng(3)
    for size in (1, 2, 3, 17, 120):
        alpha, beta = rng.normal(size=size) + 4, rng.exponential(size=size)
        values, vectors = eigh_tridiagonal(alpha, beta[:-1])
        rule = lanczos_quadrature.gauss(alpha, beta)
        moments = np.array([(vectors[0] ** 2) @ values**power for power in range(5)])
        assert_allclose([rule.weights.sum(), rule.weights @ rule.nodes], moments[:2], rtol=1e-12)
        if values.min() > 0:
            assert_allclose(rule.nodes, values, rtol=1e-10)
            assert_allclose(rule.weights, vectors[0] ** 2, atol=1e-13)
        rates = np.array([0.0, 0.3])
        assert_allclose(lanczos_quadrature.heated(alpha, beta, rates)[0], np.eye(size)[0], atol=1e-13)


def test_self_overlaps_lie_between_their_bounds(no_eigenpairs):
    rng = np.random.default_rng(4)
    graph = he.Graph(random_graph(400, rng, 0.02))
    points, times = graph.check(np.arange(0, graph.node_count, 7)), np.geomspace(0.01, 5, 6)
    pairs = graph.eigenpairs(points, 0.01)
    exact = pairs.functions**2 @ np.exp(-2 * np.multiply.outer(pairs.values, times))
    starts = graph.functionals(points)
    for steps in (2, 3, 5, 8, 13):
        runs = graph.flow.local(starts, steps, steps)
        lower, upper = diagonals.brackets_of(runs, times)[:2]
        sizes = np.asarray((starts**2).sum(axis=1))[:, None]
        assert (lower * sizes <= exact * (1 + 1e-12)).all()
        assert (upper * sizes >= exact * (1 - 1e-12)).all()
    found = diagonals.diagonals(graph.flow, starts, times, np.full(6, 1e-9), 60.0).at(slice(None))
    assert_allclose(found.middle, exact, rtol=1e-9)
    change = pairs.functions**2 @ (
        np.exp(-2 * np.multiply.outer(pairs.values, times)) * -2 * np.multiply.outer(pairs.values, times)
    )
    assert_allclose(found.slope, change / exact, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("places", ["vertices", "on faces"])
@pytest.mark.parametrize("surface", ["sphere", "bumpy"])
def test_meshes_by_runs_and_by_eigenpairs(surface, places, no_eigenpairs):
    vertices, faces = meshes.icosphere(3)
    if surface == "bumpy":
        vertices = vertices * (1 + 0.3 * np.sin(4 * vertices[:, :1]) * np.cos(3 * vertices[:, 1:2]))
    mesh, rng = he.Mesh(vertices, faces), np.random.default_rng(5)
    points = rng.choice(len(vertices), 60, replace=False) if places == "vertices" else mesh.uniform(60, rng)
    weights, times = rng.exponential(size=60), np.geomspace(2 * mesh.finest_time, 0.5, 8)
    known, found = (sums(mesh, points, weights, times, engine) for engine in (Eigenmodes(), Flows()))
    # The two differ in second order of the coupling of masses: less than a third of what is stated for the mesh.
    assert (np.abs(found.overlap / known.overlap - 1) < mesh.discretisation_error(times) / 3).all()
    assert_allclose(found.slope, known.slope, rtol=0.05, atol=1e-3)
    coarse = times > 0.1
    assert_allclose(found.overlap[coarse], known.overlap[coarse], rtol=2e-3)


@pytest.mark.parametrize("places", ["vertices", "on faces"])
def test_meshes_by_runs_and_by_a_dense_solver_of_the_same_matrices(places, no_eigenpairs, monkeypatch):
    monkeypatch.setattr(lanczos, "SHARE", 0.0)  # runs as exact as on graphs
    vertices, faces = meshes.icosphere(3)
    mesh, rng = he.Mesh(vertices * [1.0, 0.8, 0.6], faces), np.random.default_rng(7)
    points = rng.choice(len(vertices), 60, replace=False) if places == "vertices" else mesh.uniform(60, rng)
    weights, times = rng.dirichlet(np.ones(60)), np.geomspace(2 * mesh.finest_time, 0.5, 8)
    found = sums(mesh, points, weights, times, Flows())
    inverse = np.eye(len(vertices)) + mesh.flow.coupling.toarray()
    values, vectors = eigh(mesh.flow.matrix.toarray(), np.linalg.inv(inverse))
    at_atoms = mesh.functionals(mesh.check(points)) @ vectors
    for k, time in enumerate(times):
        kernel = (at_atoms * np.exp(-2 * time * values)) @ at_atoms.T
        scaled = weights / np.sqrt(np.diag(kernel))
        assert found.overlap[k] == pytest.approx(scaled @ kernel @ scaled, rel=2e-7)
        assert math.exp(found.log_mmd2[k]) == pytest.approx(weights @ kernel @ weights - 1, rel=1e-8)


@pytest.mark.slow
def test_point_clouds_by_runs_and_by_eigenpairs(no_eigenpairs):
    rng = np.random.default_rng(6)
    cloud = he.PointCloud(he.Sphere(2).uniform(900, rng))
    points, times = rng.choice(900, 50, replace=False), np.array([0.05, 0.1, 0.3])
    known, found = (sums(cloud, points, None, times, engine) for engine in (Eigenmodes(), Flows()))
    assert (np.abs(found.overlap / known.overlap - 1) < cloud.discretisation_error(times) / 3).all()


@st.composite
def measures_on_graphs(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    graph = he.Graph(random_graph(draw(st.integers(30, 120)), rng, 0.1))
    count = draw(st.integers(1, 20))
    return graph, rng.integers(graph.node_count, size=count), rng.exponential(size=count) + 1e-3


@settings(max_examples=25, deadline=None)
@given(measures_on_graphs(), st.floats(0.01, 3.0))
def test_invariants(case, time):
    graph, points, weights = case
    times = time * np.array([1.0, 1.5, 2.5])
    old = nodes.NodeSpace.flow
    nodes.NodeSpace.flow = property(lambda space: space._laplacian.flow)
    try:
        found = sums(graph, points, weights, times, Flows())
        twice = sums(graph, np.tile(points, 2), np.tile(weights, 2), times, Flows())
    finally:
        nodes.NodeSpace.flow = old
    ess = he.Measure(points, weights, space=graph).coalesced().ess
    assert (1 / found.overlap >= 1 - found.error).all()
    assert (1 / found.overlap <= ess * (1 + found.error)).all()
    assert_allclose(twice.overlap, found.overlap, rtol=1e-12)
    power = 1 + np.exp(found.log_mmd2)
    assert (np.diff(power) <= 1e-12 * power[:-1]).all()  # volume 1 / A grows with time


def test_eigenpairs_by_a_smoothing_polynomial(monkeypatch):
    vertices, faces = meshes.icosphere(4)
    vertices = vertices * (1 + 0.2 * np.sin(3 * vertices[:, :1]))
    rng = np.random.default_rng(7)
    points, weights = rng.choice(len(vertices), 80, replace=False), rng.exponential(size=80)
    times = np.geomspace(0.05, 0.6, 6)
    by_factors = he.Mesh(vertices, faces)
    known = sums(by_factors, points, weights, times, Eigenmodes())
    monkeypatch.setattr(laplacian, "_SMOOTH", 1000)
    mesh = he.Mesh(vertices, faces)
    found = sums(mesh, points, weights, times, Eigenmodes())
    assert mesh._laplacian.smooth
    assert (np.abs(found.overlap / known.overlap - 1) < mesh.discretisation_error(times) / 100).all()
    assert_allclose(found.log_mmd2, known.log_mmd2, rtol=0, atol=1e-4)
    assert (np.abs(found.overlap / known.overlap - 1) <= found.error - mesh.discretisation_error(times)).all()
    monkeypatch.setattr(filtered_eigenpairs, "MOST_ENTRIES", 1e5)
    other = he.Mesh(vertices, faces)
    with pytest.raises(he.PrecisionError, match="more than fit in memory; give coarser scales"):
        other.eigenpairs(mesh.check([0]), 0.01)


def test_gess_that_is_too_expensive_gets_a_wide_error(no_eigenpairs, monkeypatch):
    monkeypatch.setattr(lanczos, "BUDGET", 0.0)
    rng = np.random.default_rng(8)
    graph = he.Graph(grid(24, 24))
    points, times = rng.choice(576, 40, replace=False), np.array([0.01, 0.5, 5.0])
    known = sums(graph, points, None, times, Eigenmodes())
    with pytest.warns(
        he.PrecisionWarning,
        match="each of 40 points there; give times up to 0.01, fewer points, or",
    ):
        found = sums(graph, points, None, times, Flows())
    assert (np.abs(found.overlap / known.overlap - 1) <= found.error).all()
    assert found.error[0] < 1e-3 < found.error[1] < found.error[2]
    assert_allclose(found.log_mmd2, known.log_mmd2, rtol=0, atol=1e-9)
    # What the message advises.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finer = sums(graph, points, None, times[:1], Flows())
    assert_allclose(finer.overlap, known.overlap[:1], rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("link", [1e-6, 1e-11, 1e-15])
def test_links_too_weak_for_rounding_are_told(link, no_eigenpairs):
    rng = np.random.default_rng(12)
    links = sparse.block_diag([grid(10, 10), grid(10, 10)]).tolil()
    links[0, 150] = links[150, 0] = link
    graph = he.Graph(links.tocsr())
    points, weights = rng.choice(200, 30, replace=False), rng.exponential(size=30)
    times = np.geomspace(1, 0.1 / link, 8)
    known = sums(graph, points, weights, times, Eigenmodes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)
        found = sums(graph, points, weights, times, Flows())
    assert (np.abs(found.overlap / known.overlap - 1) <= found.error + known.error).all()
    off = np.abs(np.expm1(found.log_mmd2 - known.log_mmd2))
    assert (off <= found.mmd2_error + known.mmd2_error).all()


def test_uniform_measures(no_eigenpairs):
    graph, times = he.Graph(grid(12, 15)), np.array([0.1, 1.0])
    found = sums(graph, np.arange(180), None, times, Flows())
    known = sums(graph, np.arange(180), None, times, Eigenmodes())
    assert np.isneginf(found.log_mmd2).all()
    assert_allclose(found.overlap, known.overlap, rtol=1e-9)


def test_two_measures_and_densities(no_eigenpairs, monkeypatch):
    for module in (lanczos, eigenpairs):
        monkeypatch.setattr(module, "runs_are_sooner", lambda question, at: question.measure.space.flow is not None)
    for module in (lanczos, eigenpairs):
        monkeypatch.setattr(module, "SOON", -1.0)
    rng = np.random.default_rng(9)
    links = random_graph(300, rng, 0.02)
    graph = he.Graph(links, modes=links.shape[0])
    by_runs = he.Graph(links)
    one, other = (he.Measure(rng.choice(links.shape[0], 30), space=graph) for _ in range(2))
    two = [he.Measure(part.points[:, 0], space=by_runs) for part in (one, other)]
    monkeypatch.setattr(he.Graph, "flow", property(lambda space: None if space._modes else space._laplacian.flow))
    times = [0.1, 1.0, 5.0]
    assert_allclose(he.mmd2(*two, times=times), he.mmd2(one, other, times=times), rtol=1e-8)
    at = np.arange(links.shape[0])
    for time in (0.2, 2.0):
        found = he.potential(two[0], at=at, time=time, kind="density")
        assert_allclose(found, he.potential(one, at=at, time=time, kind="density"), rtol=1e-7, atol=1e-9)
        found = he.potential(two[0], at=at, time=time)
        assert_allclose(found, he.potential(one, at=at, time=time), rtol=1e-7, atol=1e-9)


def test_potentials_are_found_by_what_is_sooner(monkeypatch):
    graph = he.Graph(grid(60, 60))
    few, all_nodes = (he.Measure(np.arange(0, 3600, step), space=graph) for step in (360, 1))
    for wait, measure, time, expected in [
        (10.0, few, 0.1, True),
        (10.0, all_nodes, 0.1, True),
        (10.0, all_nodes, 400.0, False),
        (math.inf, all_nodes, 400.0, True),
        (0.1, few, 0.1, False),
    ]:
        monkeypatch.setattr(nodes.NodeSpace, "seconds", lambda space, time, wait=wait: wait)
        question = Question(measure, np.array([time]), 1e-8)
        assert diagonals.runs_are_sooner(question, measure.points) is expected


def test_estimated_and_certified_parts_of_the_error():
    mesh = he.Mesh(*meshes.icosphere(2))
    profile = he.heat_profile([0, 5, 9], space=mesh, times=[0.1, 0.3])
    assert_allclose(profile.discretisation, mesh.discretisation_error(profile.times))
    assert (profile.discretisation < profile.error).all()
    assert not he.heat_profile([[0, 0, 1.0]], angles=[5]).discretisation.any()


@pytest.mark.slow
def test_a_grid_of_a_million_nodes():
    side, rng = 1000, np.random.default_rng(10)
    graph = he.Graph(grid(side, side))
    points, weights = rng.choice(side * side, 1000, replace=False), rng.exponential(size=1000)
    times = np.geomspace(0.5, 3e4, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)  # of gESS at coarse scales
        profile = he.heat_profile(points, weights, space=graph, times=times)
    spread = np.zeros(side * side)
    spread[points] = weights / weights.sum()
    exact = grid_power(spread.reshape(side, side), times)
    assert_allclose(profile.mmd2, exact, rtol=1e-6)
    # All nodes are alike: k_2t(x, x) is the mean of exp(-2 t lambda), the square of that of a ring.
    ring = 2 - 2 * np.cos(2 * np.pi * np.arange(side) / side)
    own = np.exp(-2 * np.multiply.outer(times, ring)).sum(axis=1) ** 2
    assert (np.abs(profile.gess / (own / (1 + exact)) - 1) <= profile.error).all()
    assert profile.error[times < 50].max() < 1e-6


@pytest.mark.slow
def test_an_icosphere_of_163842_vertices():
    vertices, faces = meshes.icosphere(7)
    mesh, rng = he.Mesh(vertices, faces), np.random.default_rng(11)
    points = rng.choice(len(vertices), 1000, replace=False)
    weights = np.exp(3 * vertices[points, 2]) * rng.exponential(size=1000)
    edge = math.sqrt(2 * 4 * math.pi / len(faces) * 2 / math.sqrt(3))
    times = np.geomspace(3 * edge, math.radians(120), 60) ** 2 / 8
    found = he.heat_profile(points, weights, space=mesh, times=times)
    exact = he.heat_profile(vertices[points], weights, times=times)
    off = np.abs(found.gess / exact.gess - 1)
    assert (off <= found.error).all()
    assert off.max() < 5e-3


@pytest.mark.parametrize("strong", [1e12, 1e13, 1e14])
@pytest.mark.slow
def test_a_run_that_a_strong_link_ends_early_says_how_much_it_left_out(strong, no_eigenpairs):
    """Beside a very strong link all others look like rounding, and the runs stop: the error must cover that."""
    links = np.ones(23)
    links[12] = strong
    path = he.Graph(sparse.diags_array([links, links], offsets=[1, -1]).tocsr())
    times = np.array([1e-3, 0.03, 0.3, 1.0])
    for points, weights in (([2], [1.0]), ([1, 3, 22], [1.0, 2.0, 4.0])):
        known = sums(path, points, weights, times, Eigenmodes())  # to relative accuracy, link by link
        assert known.error.max() < 1e-9
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", he.PrecisionWarning)
            found = sums(path, points, weights, times, Flows())
        assert (np.abs(known.overlap / found.overlap - 1) <= found.error + known.error).all()
        assert (np.abs(np.expm1(found.log_mmd2 - known.log_mmd2)) <= found.mmd2_error + known.mmd2_error).all()


@pytest.mark.slow
def test_gess_is_known_where_mmd2_is_too_small_to_be(no_eigenpairs):
    """At large times A is 1 but for what no sum can tell: that leaves MMD^2 open, and not gESS."""
    path = he.Graph(sparse.diags_array([np.ones(199)] * 2, offsets=[1, -1]).tocsr())
    found = sums(path, [0, 5, 90, 150], [1.0, 2.0, 3.0, 4.0], [1e6], Flows())
    assert_allclose(found.overlap, 1.0, rtol=1e-7)  # k_2t and A differ from 1 by exp(-490)
    assert found.error.max() < 1e-6
