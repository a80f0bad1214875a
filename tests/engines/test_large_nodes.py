"""Meshes, graphs and clouds of very many nodes: what makes them fast and small leaves nothing out."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.distance import cdist

import heatess as he
import meshes
from heatess.reporting import views
from heatess.spaces.discrete import delaunay_flips, diffusion, matrices
from heatess.spaces.discrete.local_delaunay import fans
from heatess.spaces.discrete.triangle_edges import Sides

robust_laplacian = pytest.importorskip("robust_laplacian")


def grid_torus(rows, columns):
    """The graph of a doubly periodic grid, with eigenvalues 4 - 2 cos(2 pi j / rows) - 2 cos(2 pi k / columns)."""
    node = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    pairs = np.concatenate([np.stack([node, np.roll(node, -1, axis)], axis=-1).reshape(-1, 2) for axis in (0, 1)])
    return matrices.edge_matrix(pairs, np.ones(len(pairs)), rows * columns)


def bytes_of(matrix):
    return matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def peak_of(make):
    """What *make* returns, and the most memory in use meanwhile."""
    tracemalloc.start()
    try:
        return make(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_graph_takes_little_more_memory_than_its_matrix():
    """It keeps D - W besides W, and while it is made needs two more of their size at most."""
    rng = np.random.default_rng(0)
    ring = np.stack([np.arange(30_000), np.roll(np.arange(30_000), 1)], axis=1)
    pairs = np.concatenate([ring, rng.integers(30_000, size=(270_000, 2))])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    adjacency = matrices.edge_matrix(pairs, rng.random(len(pairs)) + 0.5, 30_000)
    he.Graph(adjacency)  # so that imports are not counted
    graph, peak = peak_of(lambda: he.Graph(adjacency))
    assert graph._laplacian._matrix.indices.dtype == np.int32
    assert np.shares_memory(graph._laplacian._matrix.data, graph._laplacian._stiffness.data)
    assert peak < 4 * bytes_of(adjacency)


def test_waves_on_a_large_grid_have_their_eigenvalues():
    rows, columns = 300, 400
    graph = he.Graph(grid_torus(rows, columns))
    assert repr(graph) == "Graph(120000 nodes, 240000 edges)"
    assert graph.diameter == rows // 2 + columns // 2
    i, j = np.divmod(np.arange(rows * columns), columns)
    wave = np.cos(2 * np.pi * (7 * i / rows + 11 * j / columns))
    value = 4 - 2 * np.cos(2 * np.pi * 7 / rows) - 2 * np.cos(2 * np.pi * 11 / columns)
    assert_allclose(graph._laplacian._matrix @ wave, value * wave, atol=1e-12)


def test_the_matrix_given_is_left_as_it_is():
    """Unsorted, with an entry given twice and one of zero."""
    given = sparse.csr_array((np.array([0.0, 1, 0.5, 0.5, 2, 2]), np.array([2, 1, 0, 0, 2, 1]), np.array([0, 2, 5, 6])))
    before = given.copy()
    graph = he.Graph(given)
    assert repr(graph) == "Graph(3 nodes, 2 edges)"
    for part in ("data", "indices", "indptr"):
        assert (getattr(given, part) == getattr(before, part)).all()
    given.data[:] = 9.0
    assert graph == he.Graph([[0, 1, 0], [1, 0, 2], [0, 2, 0]])


def test_graphs_are_equal_whatever_the_type_and_format_of_the_matrix():
    plain = grid_torus(5, 6)
    wide = sparse.csr_array(plain)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for other in (wide, plain.astype(np.int8), plain.astype(bool), plain.tocsc(), plain.tolil(), plain.toarray()):
        assert he.Graph(other) == he.Graph(plain)
        assert hash(he.Graph(other)) == hash(he.Graph(plain))


def test_entries_that_differ_by_rounding_become_their_mean():
    adjacency = grid_torus(5, 6)
    adjacency.data *= 1 + 1e-14 * np.random.default_rng(0).random(adjacency.nnz)
    assert abs(adjacency - adjacency.T).max() > 0
    found = he.Graph(adjacency)._adjacency
    assert_allclose(found.toarray(), (adjacency + adjacency.T).toarray() / 2, rtol=1e-16)
    one_sided = adjacency.toarray()
    one_sided[0, 14] = 1e-13
    found = he.Graph(one_sided)._adjacency.toarray()
    assert found[0, 14] == found[14, 0] == 5e-14


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 9000), st.integers(0, 2**32 - 1))
def test_sparse_matrices_are_scaled_and_made_symmetric_as_dense_ones(size, seed):
    rng = np.random.default_rng(seed)
    matrix = sparse.random_array((size, size), density=min(1.0, 3 / size), format="csr", rng=rng)
    matrix.sum_duplicates()
    found, factors = matrices.symmetric(matrix), rng.random(size) + 0.1
    assert abs(found - (matrix + matrix.T) / 2).nnz == 0
    scaled = matrices.scaled(found, factors)
    assert abs(scaled - scaled.T).nnz == 0
    exact = sparse.diags_array(factors) @ found @ sparse.diags_array(factors)
    assert abs(scaled - exact).max() <= 1e-15 * max(abs(exact).max(), 1e-300)


def an_open_sphere():
    vertices, faces = meshes.icosphere(3)
    kept = (vertices[faces][:, :, 2] > -0.3).all(axis=1)
    used, faces = np.unique(faces[kept], return_inverse=True)
    return vertices[used], faces.reshape(-1, 3)


def outward(vertices, faces):
    """Faces of a surface around the origin, all oriented alike."""
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = (normal * corners.mean(axis=1)).sum(axis=1) < 0
    return vertices, np.where(inward[:, None], faces[:, ::-1], faces)


def noisy_torus(rows, columns):
    vertices, faces = meshes.torus(rows, columns)
    return vertices + 0.3 / rows * np.random.default_rng(0).standard_normal(vertices.shape), faces


def stretched_sphere(subdivisions):
    vertices, faces = outward(*meshes.icosphere(subdivisions))
    return vertices * [1, 0.3, 2] + 0.02 * np.sin(9 * vertices[:, [1, 2, 0]]), faces


def dented_square():
    """An open square of random points in space, with a rim of small triangles that face no blunt angle."""
    rng = np.random.default_rng(3)
    i, j = (part.ravel() for part in np.meshgrid(np.arange(24), np.arange(24), indexing="ij"))
    inner = ((i > 1) & (i < 22) & (j > 1) & (j < 22))[:, None]
    places = np.stack([i, j, 0 * i], axis=1) + 0.33 * inner * rng.uniform(-1, 1, (576, 3))
    a = (24 * np.arange(23)[:, None] + np.arange(23)).ravel()
    return places, np.concatenate([np.stack([a, a + 24, a + 25], axis=1), np.stack([a, a + 25, a + 1], axis=1)])


WITHOUT_FLIPS = {
    "icosphere": meshes.icosphere(3),
    "open": an_open_sphere(),
    "torus": meshes.torus(30, 20),
    "globe": meshes.globe(20, 30),
    "random": meshes.uneven_sphere(600, np.random.default_rng(0)),
    "prism": meshes.folded_torus(20, 20, 1.0),
}


FLIPPED = {
    "ellipsoid": outward(*meshes.ellipsoid(3)),
    "dumbbell": outward(*meshes.dumbbell(3)),
    "pinched torus": meshes.pinched_torus(60, 20),
    "stretched": stretched_sphere(4),
    "noisy torus": noisy_torus(60, 30),
    "open": dented_square(),
}


@pytest.mark.parametrize("shape", [*WITHOUT_FLIPS, *(f"{shape}, flipped" for shape in FLIPPED)])
def test_cotangents_are_the_robust_laplacian(shape, monkeypatch):
    vertices, faces = WITHOUT_FLIPS[shape] if shape in WITHOUT_FLIPS else FLIPPED[shape.removesuffix(", flipped")]
    exact = robust_laplacian.mesh_laplacian(vertices, faces, mollify_factor=1e-8)[0]
    monkeypatch.delattr(robust_laplacian, "mesh_laplacian")  # not asked
    found = he.Mesh(vertices, faces)._laplacian._stiffness
    assert abs(found - exact).max() < 1e-14 * abs(exact).max()
    assert abs(found - found.T).nnz == 0


def three_pages():
    """Triangles that share one edge, three of them."""
    return np.array([[0, 0, 0], [0, 0, 1.0], [1, 0, 0.5], [0, 1, 0.5], [-1, -1, 0.5]]), np.array(
        [[0, 1, 2], [0, 1, 3], [1, 0, 4]]
    )


def a_flat_pair():
    """Two triangles of a square, one of them all but flat."""
    return np.array([[0, 0, 0], [1, 0, 0], [0.5, 1e-9, 0], [0.5, -1, 0]]), np.array([[0, 1, 2], [0, 1, 3]])


LEFT = {
    "oriented at random": meshes.ellipsoid(3),
    "three pages": three_pages(),
    "flat": a_flat_pair(),
    "blunt at the boundary": (np.array([[0, 0, 0], [2, 0, 0], [1, 0.3, 0.0]]), np.array([[0, 1, 2]])),
}


@pytest.mark.parametrize("shape", LEFT)
def test_other_meshes_are_left_to_robust_laplacian(shape, monkeypatch):
    vertices, faces = LEFT[shape]
    asked = []
    plain = robust_laplacian.mesh_laplacian

    def noted(*given, **options):
        asked.append(plain(*given, **options))
        return asked[-1]

    monkeypatch.setattr(robust_laplacian, "mesh_laplacian", noted)
    found = he.Mesh(vertices, faces)._laplacian._stiffness
    assert len(asked) == 1
    assert abs(found - asked[0][0]).max() <= 1e-15 * abs(found).max()


@pytest.mark.parametrize("shape", [*WITHOUT_FLIPS, "three pages"])
def test_sides_are_the_distinct_pairs_of_corners(shape):
    vertices, faces = (WITHOUT_FLIPS | LEFT)[shape]
    found = Sides.of(faces.astype(np.int64), len(vertices))
    sides = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, label, counts = np.unique(sides, axis=0, return_inverse=True, return_counts=True)
    assert (found.edges == edges).all()
    assert (found.faces == counts).all()
    assert (found.label.ravel() == label.ravel()).all()


@pytest.mark.parametrize("shape", FLIPPED)
def test_flips_leave_no_weight_negative_and_no_more_energy(shape):
    """Of all triangulations of a surface with given vertices, Delaunay's has the least energy (Rippa)."""
    vertices, faces = FLIPPED[shape]
    size, sides = len(vertices), Sides.of(faces, len(vertices))
    lengths = np.linalg.norm(vertices[sides.edges[:, 0]] - vertices[sides.edges[:, 1]], axis=1)
    weights = cotangent_weights(vertices[faces], sides)
    assert (weights < -1e-6).sum() > 100
    found = delaunay_flips.flipped(faces, sides, lengths, weights, -1e-12)
    assert found.weights.min() >= -1e-12
    before, after = (matrices.edge_laplacian(*graph, size) for graph in ((sides.edges, weights), found))
    values = np.random.default_rng(0).standard_normal((size, 200))
    energies = [(values * (matrix @ values)).sum(axis=0) for matrix in (before, after)]
    assert (energies[1] < energies[0]).all()
    assert len(found.edges) == len(sides.edges)


def cotangent_weights(corners, sides):
    """(cot a + cot b) / 2 for each edge, by the angles of the triangles."""
    arms = [np.roll(corners, -1, axis=1) - corners, np.roll(corners, -2, axis=1) - corners]
    angle = np.arccos(np.multiply(*arms).sum(axis=2) / np.multiply(*(np.linalg.norm(arm, axis=2) for arm in arms)))
    return np.bincount(sides.label.ravel(), 1 / np.tan(angle[:, [2, 0, 1]]).ravel()) / 2


def test_a_face_given_again_in_another_order_is_found():
    vertices, faces = meshes.icosphere(3)
    again = np.concatenate([faces[:700], faces[[3]][:, [2, 0, 1]], faces[700:], faces[[9]][:, ::-1]])
    with pytest.raises(he.InputError, match=r"2 of 1282 faces repeat an earlier face, the first of them face 700, "):
        he.Mesh(vertices, again)


@pytest.mark.slow
def test_a_mesh_of_163842_vertices_is_the_sphere():
    vertices, faces = meshes.icosphere(7)
    mesh, peak = peak_of(lambda: he.Mesh(vertices, faces))
    assert repr(mesh) == "Mesh(163842 vertices, 327680 faces)"
    assert len(mesh._edges) == 3 * 163842 - 6
    assert mesh.volume == pytest.approx(4 * np.pi, rel=1e-4)
    assert mesh.diameter == pytest.approx(np.pi, rel=0.03)
    assert mesh._mean_curvature == pytest.approx(1, rel=1e-3)
    # Coordinates are eigenfunctions of the sphere with the eigenvalue 2.
    height = vertices[:, 2]
    energy = height @ (mesh._laplacian._stiffness @ height)
    assert energy / (mesh._laplacian.mass @ height**2) == pytest.approx(2, rel=1e-4)
    assert peak < 500e6


def hulls(flat, usable):
    """The simplices at the origin of each row by Qhull: sets of columns, with diameters, and whether closed."""
    found, closed = [], []
    for row, good in enumerate(usable):
        kept = np.flatnonzero(good)
        inverted = flat[row, kept] / (flat[row, kept] ** 2).sum(axis=1, keepdims=True)
        try:
            hull = ConvexHull(np.concatenate([inverted, np.zeros((1, 2))]))
        except (QhullError, ValueError):
            closed.append(False)
            continue
        inner = (hull.simplices < len(kept)).all(axis=1)
        closed.append(bool(inner.all()))
        for corners, plane in zip(hull.simplices[inner], hull.equations[inner], strict=True):
            found.append((row, *sorted(kept[corners].tolist()), -1 / plane[-1]))
    return sorted(found), closed


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.floats(0.0, 0.9), st.floats(-1.0, 1.0), st.integers(0, 2**32 - 1))
def test_fans_are_the_facets_of_the_hull_of_inverted_neighbours(near, unusable, aside, seed):
    """Around the origin or, with neighbours on one side, beside it."""
    rng = np.random.default_rng(seed)
    flat = rng.standard_normal((30, near, 2)) * rng.exponential(size=(30, near, 1)) + [aside, 0]
    usable = rng.random((30, near)) > unusable
    found = fans(flat, usable)
    simplices = [
        (int(row), *sorted(members.tolist()), float(diameter))
        for row, members, diameter in zip(found.rows, found.members, found.diameters, strict=True)
    ]
    exact, closed = hulls(flat, usable)
    assert found.closed.tolist() == closed
    assert [simplex[:3] for simplex in sorted(simplices)] == [simplex[:3] for simplex in exact]
    assert_allclose([simplex[3] for simplex in sorted(simplices)], [simplex[3] for simplex in exact], rtol=1e-7)


def test_fans_in_one_dimension_are_the_nearest_on_either_side():
    flat = np.array([[3.0, -2, 1, -1, 5], [3, 2, 1, 1.5, 5], [1, -1, 2, -2, 3]])[:, :, None]
    usable = np.array([[True] * 5, [True] * 5, [False, False, True, True, False]])
    found = fans(flat, usable)
    assert found.rows.tolist() == [0, 0, 1, 2, 2]
    assert found.members.ravel().tolist() == [2, 3, 2, 2, 3]
    assert_allclose(found.diameters, [1, 1, 1, 2, 2])
    assert found.closed.tolist() == [True, False, True]


def test_a_cloud_of_twenty_thousand_points_is_the_sphere():
    sample = he.samplers.uniform(20_000, rng=0)
    cloud = he.PointCloud(sample)
    assert cloud.closed
    assert cloud.volume == pytest.approx(4 * np.pi, rel=2e-3)
    # Coordinates are eigenfunctions with the eigenvalue 2: their energy over their squares.
    laplacian = cloud._laplacian
    places = sample[np.lexsort(sample.T[::-1])]  # the order of places
    energy = (places * (laplacian._stiffness @ places)).sum(axis=0)
    assert_allclose(energy / (laplacian.mass @ places**2), 2, rtol=3e-3)


@pytest.mark.slow
def test_the_number_of_threads_does_not_change_a_cloud(monkeypatch):
    sample = he.samplers.uniform(9000, rng=0)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("HEATESS_NUM_THREADS", threads)
        clouds = he.PointCloud(sample), he.PointCloud(sample, neighbours=8)
        found.append([cloud._laplacian._matrix for cloud in clouds])
    for one, other in zip(*found, strict=True):
        assert abs(one - other).nnz == 0


def test_matrices_of_all_spaces_have_indices_of_32_bits():
    """Half the memory, and no conversion in paths and factorisations."""
    sample = he.samplers.uniform(300, rng=0)
    for space in (he.Mesh(*meshes.icosphere(2)), he.PointCloud(sample), he.PointCloud(sample, neighbours=8)):
        parts = (space._laplacian._matrix, space._laplacian._metric, space._edge_lengths)
        assert {array.dtype for part in parts for array in (part.indices, part.indptr)} == {np.dtype(np.int32)}


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_a_kernel_joins_all_pairs_within_its_reach(dim):
    points = np.random.default_rng(dim).random((5000, dim))
    rows = np.arange(4000, 4200)  # of two blocks
    bandwidth = {1: 1e-8, 2: 1e-5, 5: 3e-3}[dim]
    squares = cdist(points[rows], points, "sqeuclidean")
    joined = (squares <= 4 * bandwidth * np.log(1e5)) & (np.arange(5000) != rows[:, None])
    found = diffusion._close_squares(points, bandwidth)[rows]
    assert found.nnz == joined.sum() > 1000
    assert_allclose(found.toarray(), np.where(joined, squares, 0), rtol=1e-9, atol=1e-18)


def test_a_report_says_that_there_are_too_many_nodes_to_show(monkeypatch):
    monkeypatch.setattr(views, "MOST_NODES", 100)
    graph = he.Graph(grid_torus(20, 30))
    monkeypatch.setattr(type(graph), "_layout", property(lambda self: pytest.fail("eigenpairs were asked for")))
    for space in (graph, he.Mesh(*meshes.icosphere(2)), he.PointCloud(he.samplers.uniform(300, rng=0))):
        view = views.view_of(he.Measure([0, 1, 2], space=space), np.array([1.0]))
        assert view["kind"] == "none"
        assert view["why"].endswith("more than the 100 that a page can show.")
