"""Triangle meshes against the exact sphere and flat torus, on shapes without closed forms, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import Delaunay

import heatess as he
import meshes


def times_of(*angles):
    return np.radians(angles) ** 2 / 8


def sphere_errors(vertices, faces, angles, n=300, evenly=False):
    """Relative errors in gess of random weighted vertices, drawn evenly over the sphere or over the vertices."""
    rng = np.random.default_rng(1)
    atoms = rng.choice(len(vertices), n)
    if evenly:
        atoms = np.argmax(he.Sphere(2).uniform(n, rng) @ vertices.T, axis=1)
    weights = rng.exponential(size=n)
    times = times_of(*angles)
    found = he.heat_profile(atoms, weights, space=he.Mesh(vertices, faces), times=times)
    exact = he.heat_profile(vertices[atoms], weights, times=times)
    assert (np.abs(found.gess / exact.gess - 1) < found.error).all()
    return np.abs(found.gess / exact.gess - 1)


@pytest.mark.slow
def test_an_icosphere_matches_the_sphere_within_a_thousandth():
    assert sphere_errors(*meshes.icosphere(5), [15, 30, 60, 120]).max() < 1e-3


@pytest.mark.slow
def test_errors_fall_as_the_square_of_the_edge():
    """Edges halve from 642 to 2562 to 10242 vertices."""
    coarse, middle, fine = (sphere_errors(*meshes.icosphere(k), [45, 60, 90, 120]) for k in (3, 4, 5))
    assert ((coarse / middle > 3.3) & (middle / fine > 3.3)).all()
    assert middle.max() < 1e-3


@pytest.mark.parametrize("evenly", [False, True])
def test_a_random_mesh_twenty_times_denser_at_one_pole_matches_the_sphere(evenly):
    vertices, faces = meshes.uneven_sphere(4000, np.random.default_rng(0), concentration=1.5)
    assert sphere_errors(vertices, faces, [25, 30, 60, 120], evenly=evenly).max() < 0.03


@pytest.mark.slow
def test_a_random_mesh_of_ten_thousand_vertices_matches_the_sphere_from_15_degrees():
    vertices, faces = meshes.uneven_sphere(10242, np.random.default_rng(0), concentration=1.5)
    for evenly in (False, True):
        assert sphere_errors(vertices, faces, [15, 30, 60, 120], evenly=evenly).max() < 0.03


@pytest.mark.slow
def test_a_mesh_four_hundred_times_denser_at_one_pole_matches_the_sphere():
    vertices, faces = meshes.uneven_sphere(4000, np.random.default_rng(0), concentration=3)
    for evenly in (False, True):
        assert sphere_errors(vertices, faces, [25, 30, 60, 120], evenly=evenly).max() < 0.03


@pytest.mark.slow
@pytest.mark.parametrize(("rings", "around"), [(40, 80), (20, 150)])
def test_thin_triangles_at_the_poles_do_no_harm(rings, around):
    for evenly in (False, True):
        errors = sphere_errors(*meshes.globe(rings, around), [20, 30, 60, 120], evenly=evenly)
        assert errors.max() < 0.02


def test_eigenvalues_of_the_sphere_with_their_multiplicities():
    mesh = he.Mesh(*meshes.icosphere(4), modes=100)
    found = mesh.eigenpairs(mesh.check([0]), 1.0).values
    exact = np.repeat(np.arange(10.0) * np.arange(1, 11), 2 * np.arange(10) + 1)
    assert_allclose(found, exact, rtol=5e-3)


def test_eigenpairs_of_a_flat_torus():
    rows, columns, length = 60, 60, 2.0
    mesh = he.Mesh(*meshes.folded_torus(rows, columns, length), modes=60)
    assert mesh.closed
    around, along = 2 * rows * np.sin(np.pi / rows), 2 * length
    assert mesh.volume == pytest.approx(around * along)
    k = np.arange(-20, 21)
    exact = np.sort(np.add.outer((2 * np.pi * k / around) ** 2, (2 * np.pi * k / along) ** 2).ravel())[:60]
    nodes = mesh.check(np.arange(rows * columns))
    found = mesh.eigenpairs(nodes, 1.0)
    assert_allclose(found.values, exact, rtol=2e-2, atol=1e-12)
    assert_allclose(found.values[:5], exact[:5], rtol=1e-4, atol=1e-12)
    gram = found.functions.T @ (mesh.node_volumes[:, None] * found.functions)
    assert_allclose(gram, np.eye(60), atol=2e-3)
    # The eigenspace of the second eigenvalue, two waves, is the exact one: its projector is 2 cos.
    second = np.isclose(found.values, found.values[1], rtol=1e-6)
    assert second.sum() == 2
    wave = found.functions[:, second] @ found.functions[0, second]
    position = (
        np.repeat(np.arange(rows), columns) / rows if around > along else np.tile(np.arange(columns), rows) / columns
    )
    assert_allclose(wave, 2 * np.cos(2 * np.pi * position), atol=2e-3)


@pytest.mark.slow
def test_profiles_of_a_flat_torus():
    rows, columns, length = 50, 50, 2.0
    mesh = he.Mesh(*meshes.folded_torus(rows, columns, length))
    torus = he.Torus(2, periods=(2 * rows * np.sin(np.pi / rows), 2 * length))
    rng = np.random.default_rng(0)
    atoms, weights = rng.choice(rows * columns, 200), rng.exponential(size=200)
    places = np.stack([atoms // columns / rows, atoms % columns / columns], axis=1) * np.array(torus.periods)
    times = np.geomspace(mesh.finest_time, 1, 6)
    found = he.heat_profile(atoms, weights, space=mesh, times=times)
    exact = he.heat_profile(places, weights, space=torus, times=times)
    assert_allclose(found.gess, exact.gess, rtol=1e-2)
    assert_allclose(found.mmd2, exact.mmd2, rtol=2e-2)


SHAPES = {
    "ellipsoid": meshes.ellipsoid(3),
    "dumbbell": meshes.dumbbell(3),
    "pinched torus": meshes.pinched_torus(60, 20),
    "torus": meshes.torus(60, 20),
    "lollipop": meshes.lollipop()[:2],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.slow
def test_bounds_and_limits_on_every_shape(shape):
    mesh = he.Mesh(*SHAPES[shape])
    assert mesh.closed
    rng = np.random.default_rng(2)
    times = np.geomspace(mesh.finest_time, 1e4, 80)
    for n in (2, 10, 100):
        found = he.heat_profile(mesh.uniform(n, rng), rng.exponential(size=n), space=mesh, times=times)
        assert (np.diff(found.volume) >= -1e-14).all()
        assert ((found.gess >= 1) & (found.gess <= found.ess)).all()
        assert ((found.volume > 0) & (found.volume <= 1)).all()
        assert_allclose([found.gess[-1], found.volume[-1]], 1, rtol=1e-9)
    far = [0, int(np.argmax(mesh.distance(0, np.arange(mesh.node_count))))]
    assert he.gess(far, space=mesh, time=times[0]) == pytest.approx(2, rel=1e-3)


def test_gess_is_not_monotone_on_a_ball_with_a_bulb_on_a_stalk():
    """The atoms share the bulb's heat, then part again while it drains, because more of it is left at the tip."""
    vertices, faces, (tip, stalk) = meshes.lollipop()
    found = he.heat_profile([tip, stalk], space=he.Mesh(vertices, faces), times=np.geomspace(0.05, 30, 40))
    lowest = np.minimum.accumulate(found.gess)
    assert (found.gess / lowest).max() > 1.003
    assert (np.diff(found.volume) >= 0).all()


def test_points_on_faces_agree_with_vertices_and_with_the_sphere():
    vertices, faces = meshes.icosphere(4)
    mesh = he.Mesh(vertices, faces)
    times = times_of(30, 60)
    corner = he.heat_profile((np.arange(50), np.tile([0.0, 1.0, 0.0], (50, 1))), space=mesh, times=times)
    assert_allclose(corner.gess, he.heat_profile(faces[:50, 1], space=mesh, times=times).gess, rtol=1e-12)
    face, share = mesh.uniform(200, np.random.default_rng(0))
    places = np.einsum("nk,nkj->nj", share, vertices[faces[face]])
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    exact = he.heat_profile(places, times=times)
    assert_allclose(he.heat_profile((face, share), space=mesh, times=times).gess, exact.gess, rtol=2e-3)


def test_the_error_covers_points_on_the_faces_of_an_uneven_mesh():
    vertices, faces = meshes.uneven_sphere(1200, np.random.default_rng(0), concentration=1.5)
    mesh = he.Mesh(vertices, faces)
    face, share = mesh.uniform(200, np.random.default_rng(0))
    places = np.einsum("nk,nkj->nj", share, vertices[faces[face]])
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    times = np.geomspace(mesh.finest_time, 0.5, 6)
    found = he.heat_profile((face, share), space=mesh, times=times)
    assert (np.abs(found.gess / he.heat_profile(places, times=times).gess - 1) < found.error).all()


def test_functions_between_the_vertices_of_an_uneven_mesh_keep_their_curvature():
    rng = np.random.default_rng(1)
    rim = [[i / 30, j] for i in range(31) for j in (0, 1)] + [[i, j / 30] for i in (0, 1) for j in range(1, 30)]
    flat = np.concatenate([rng.random((900, 2)), rim])
    corners = Delaunay(flat).simplices
    one, other = (flat[corners[:, k]] - flat[corners[:, 0]] for k in (1, 2))
    area = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    mesh = he.Mesh(np.column_stack([flat, 0 * flat[:, 0]]), corners[area > 1e-9])
    points = mesh.check(mesh.uniform(2000, rng))
    x, y, _ = mesh._in_space(points).T
    bends = np.stack([x**2, y**2, x * y], axis=1)
    values = np.stack([flat[:, 0] ** 2, flat[:, 1] ** 2, flat[:, 0] * flat[:, 1]], axis=1)
    linear = np.einsum("nc,nck->nk", points[:, 3:], values[points[:, :3].astype(int)])
    found = mesh.interpolate(points, values)
    lost = np.abs((found - bends).mean(axis=0) / (linear - bends).mean(axis=0)[:2].max())
    assert (lost < 0.1).all()  # it was 0.4 with the mean gradients of faces
    assert_allclose(mesh._evaluation(points) @ values, found, atol=1e-13)


def assert_estimated(found, gess, mmd2):
    """What is said of meshes: gESS to `error`, MMD^2 to four times that or a tenth, of it or of 0.01."""
    assert (np.abs(found.gess / gess - 1) <= found.error).all()
    stated = np.maximum(0.1, 4 * found.error) * np.maximum(mmd2, 0.01)
    assert (np.abs(found.mmd2 - mmd2) <= stated).all()


@pytest.mark.parametrize(("seed", "concentration"), [(0, 2.0), (1, 1.0), (2, 3.0), (3, 8.0)])
def test_the_estimate_covers_vertices_and_points_inside_the_largest_triangles(seed, concentration):
    rng = np.random.default_rng(seed)
    vertices, faces = meshes.uneven_sphere(800, rng, concentration)
    mesh = he.Mesh(vertices, faces)
    times = mesh.finest_time * np.array([1.0001, 2, 4, 10, 40, 80])
    largest = np.argsort(-mesh._areas)[:3]
    clouds = [mesh.uniform(20, rng), (largest, np.full((3, 3), 1 / 3)), (largest[:2], rng.dirichlet(np.ones(3), 2))]
    clouds += [rng.choice(800, 30), [int(np.argmin(vertices[:, 2]))]]
    for points in clouds:
        places = mesh._in_space(mesh.check(points))
        exact = he.heat_profile(places / np.linalg.norm(places, axis=1, keepdims=True), times=times)
        assert_estimated(he.heat_profile(points, space=mesh, times=times), exact.gess, exact.mmd2)


def test_the_estimate_covers_coarse_scales_of_flat_and_uneven_triangles():
    """A square with insulated sides has products of cosines for modes."""
    rng, side = np.random.default_rng(5), np.linspace(0, 1, 25)
    inner, rim = rng.random((600, 2)), np.concatenate([[[s, e], [e, s]] for s in side for e in (0.0, 1.0)])
    flat = np.unique(np.concatenate([inner, rim]) ** np.array([2, 1]), axis=0)
    corners = Delaunay(flat).simplices
    one, other = (flat[corners[:, k]] - flat[corners[:, 0]] for k in (1, 2))
    area = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
    mesh = he.Mesh(np.column_stack([flat, 0 * flat[:, 0]]), corners[area > 1e-9])
    times = mesh.finest_time * np.array([1.0001, 3, 10, 40])
    wave = np.arange(100)
    for _ in range(20):
        nodes = rng.choice(len(flat), 4)
        found = he.heat_profile(nodes, space=mesh, times=times)
        gess, mmd2 = np.empty((2, len(times)))
        for k, time in enumerate(times):
            decay = np.exp(-2 * (np.pi * wave) ** 2 * time) * np.where(wave > 0, 2, 1)
            kernel = np.ones((4, 4))
            for x in flat[nodes].T:
                modes = np.cos(np.pi * np.outer(x, wave))
                kernel *= modes * decay @ modes.T
            root = np.sqrt(kernel.diagonal())
            gess[k], mmd2[k] = 16 / (kernel / np.outer(root, root)).sum(), kernel.mean() - 1
        assert_estimated(found, gess, mmd2)


def test_scaling_the_mesh_scales_time():
    vertices, faces = meshes.ellipsoid(3)
    small = he.heat_profile([0, 5, 100], space=he.Mesh(vertices, faces), times=[0.2, 0.5])
    large = he.heat_profile([0, 5, 100], space=he.Mesh(10 * vertices, faces), times=[20, 50])
    assert_allclose(large.gess, small.gess, rtol=1e-9)


def test_an_open_mesh_has_an_insulated_boundary():
    """A prism without its ends is a flat cylinder with the eigenvalues of a circle times an interval."""
    vertices, faces = meshes.folded_torus(40, 40, 1.0)
    kept = np.arange(1600) % 40 <= 20  # the way out alone
    faces = faces[kept[faces].all(axis=1)]
    faces = faces[np.ptp(faces % 40, axis=1) < 20]
    label = np.cumsum(kept) - 1
    mesh = he.Mesh(vertices[kept], label[faces], modes=12)
    assert not mesh.closed
    assert "open" in repr(mesh)
    around = 80 * np.sin(np.pi / 40)
    k = np.arange(-10, 11)
    exact = np.sort(np.add.outer((2 * np.pi * k / around) ** 2, (np.pi * np.arange(10)) ** 2).ravel())[:12]
    assert_allclose(mesh.eigenpairs(mesh.check([0]), 1.0).values, exact, rtol=1e-2, atol=1e-12)


def test_scales_too_fine_are_refused_with_the_estimate():
    mesh = he.Mesh(*meshes.icosphere(2))
    with pytest.raises(he.PrecisionError, match=r"resolves times down to 0\.\d+ \(distances .* or modes"):
        he.heat_profile([0, 1], space=mesh, times=[1e-3])
    few = he.Mesh(*meshes.icosphere(2), modes=9)
    assert few.finest_time > mesh.finest_time
    with pytest.raises(he.PrecisionError):
        he.heat_profile([0, 1], space=few, times=[mesh.finest_time])


@pytest.mark.parametrize("kind", ["obj", "ply", "stl", "off"])
def test_files_give_the_mesh_that_was_written(tmp_path, kind):
    trimesh = pytest.importorskip("trimesh")
    vertices, faces = meshes.ellipsoid(2)
    path = tmp_path / f"ellipsoid.{kind}"
    trimesh.Trimesh(vertices, faces, process=False).export(path)
    read = he.Mesh.from_file(path)
    assert read.closed
    assert (read.node_count, len(read._faces)) == (len(vertices), len(faces))
    assert read.volume == pytest.approx(he.Mesh(vertices, faces).volume, rel=1e-6)


def test_files_that_are_no_meshes_are_refused(tmp_path):
    with pytest.raises(he.InputError, match=r"nowhere\.obj cannot be read as a mesh: there is no such file"):
        he.Mesh.from_file(tmp_path / "nowhere.obj")
    with pytest.raises(he.InputError, match="it is a folder"):
        he.Mesh.from_file(tmp_path)


def written(kind):
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.Trimesh(*meshes.icosphere(1), process=False)
    text = {"stl text": lambda: mesh.export(file_type="stl_ascii"), "ply text": lambda: plain_ply(mesh)}
    content = text[kind]() if kind in text else mesh.export(file_type=kind)
    return content.encode() if isinstance(content, str) else content


def plain_ply(mesh):
    return __import__("trimesh").exchange.ply.export_ply(mesh, encoding="ascii")


DAMAGE = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "nine tenths": lambda content: content[: len(content) * 9 // 10],
    "end": lambda content: content[:-7],
    "head": lambda content: content[:20],
    "noise": lambda content: np.random.default_rng(0).bytes(2000),
    "zeros": lambda content: bytes(1000),
    "words": lambda content: b"hello world\nthis is not a mesh\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("kind", ["obj", "ply", "ply text", "stl", "stl text", "off", "glb"])
def test_broken_files_are_refused_by_name(tmp_path, kind, damage):
    path = tmp_path / f"broken.{kind[:3]}"
    path.write_bytes(DAMAGE[damage](written(kind)))
    with pytest.raises(he.InputError, match=rf"broken\.{kind[:3]} cannot be read as a mesh: \S+ "):
        he.Mesh.from_file(path)


TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
PLY = "ply\nformat ascii 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n"
PLY += "element face {}\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 {}\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.obj", TRIANGLE + "f 1 2 9\n", r"line 4 .'f 1 2 9'. has the corners \[0, 1, 8\]"),
        ("a.obj", TRIANGLE + "f 1 2\n", r"corners \[0, 1\].*three or more"),
        ("a.obj", TRIANGLE + "f 1 2 3\nf 1 2\n", r"line 5 .'f 1 2'. has the corners \[0, 1\]"),
        ("a.obj", TRIANGLE, "no faces"),
        ("a.obj", "v a b c\n" + TRIANGLE + "f 1 2 3\n", r"line 1 .'v a b c'. does not give three"),
        ("a.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "vertex 0 is"),
        ("a.obj", "v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n", "line 1 .* does not give three coordinates"),
        ("a.obj", TRIANGLE + "f 1 2 c\n", "does not give numbers of vertices"),
        ("a.obj", TRIANGLE + "f 1 1 2\n", "no area"),
        ("a.off", "OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "announces 2 faces, of which 1"),
        ("a.off", "OFF\n9 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "announces 9 vertices, of which 4"),
        ("a.off", "OFF\n3 0 0\n0 0 0\n1 0 0\n0 1 0\n", "no faces"),
        (
            "a.off",
            "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n",
            r"corners \[0, 1, 7\], counted from 0, but there are 3 vertices",
        ),
        ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1\n", "face 0 is '3 0 1'"),
        ("a.off", "OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n2 0 1\n", "face 1 is '2 0 1'"),
        ("a.off", "4OFF\n3 1 0\n0 0 0 1\n1 0 0 1\n0 1 0 2\n3 0 1 2\n", "coordinates than three .4OFF."),
        ("a.ply", PLY.format(3, 1, 2) + "3 0 1 2\n", "goes on after all that it announces, with '3 0 1 2'"),
        ("a.ply", PLY.format(3, 1, 2).replace("3 0 1 2", "4 0 1 2"), "face 0 is '4 0 1 2': 4 values"),
        ("a.off", "OFF BINARY\n3 1 0\n", "binary"),
        ("a.off", "ply\n3 1 0\n", "numbers of vertices and faces is missing"),
        ("a.ply", PLY.format(3, 1, 9), r"face 0 has the corners \[0, 1, 9\], counted from 0, but there are 3 vertices"),
        ("a.ply", PLY.format(5, 1, 2), "announces 5 rows of vertex, of which 4"),
        ("a.ply", PLY.format(4, 0, 2), "vertex 3 is '3 0 1 2': 4 values where it should have 3"),
        ("a.ply", PLY.format(3, 4, 2), "announces 4 faces, of which 1"),
        ("a.ply", PLY.format(3, 1, 2).replace("float x", "float q"), "no x, y and z; found q, y, z"),
        ("a.stl", "\0" * 84, "no faces"),
        ("a.xyz", "0 0 0\n1 0 0\n", "no faces"),
        ("a.foo", "0 0 0\n", "not supported"),
        ("a.zip", "PK", "it is packed; unpack it"),
        ("a.dae", "<mesh><polylist count='1'>", "faces are polygons, not triangles; export it again as .obj or .ply"),
    ],
)
def test_files_with_faults_are_refused_with_what_is_wrong(tmp_path, name, content, message):
    pytest.importorskip("trimesh")
    (tmp_path / name).write_text(content)
    with pytest.raises(he.InputError, match=rf"a\.\w+ cannot be read as a mesh: .*{message}"):
        he.Mesh.from_file(tmp_path / name)


CUBE = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
SIDES = "4 0 1 2 3 0.8 0.1 0.1\n4 4 5 6 7\n4 2 3 7 6\n4 0 1 5 4\n4 0 4 7 3\n4 1 2 6 5\n"


@pytest.mark.parametrize("header", ["OFF\n8 6 12\n", "# made by hand\nOFF 8 6 12\n", "8 6 12\n", "STCNOFF\n\n8 6 12\n"])
@pytest.mark.parametrize("tail", ["", "\t# {row}   ", " 255 128 0 255", "#{row}"])
def test_off_files_with_comments_and_colours_are_the_surface_that_they_say(tmp_path, header, tail):
    pytest.importorskip("trimesh")
    lines = [" ".join(map(str, place)) + tail.format(row=row) for row, place in enumerate(CUBE)]
    (tmp_path / "cube.off").write_text(header + "\n".join(lines) + "\n\n" + SIDES)
    mesh = he.Mesh.from_file(tmp_path / "cube.off")
    assert (len(mesh._vertices), len(mesh._faces), mesh.closed) == (8, 12, True)
    assert mesh._areas.sum() == pytest.approx(6, rel=1e-12)


def test_off_files_with_sides_of_several_lengths_are_read(tmp_path):
    pytest.importorskip("trimesh")
    places = "0 0 0\n2 0 0\n2 2 0\n1 3 0\n0 2 0\n1 1 2\n"
    (tmp_path / "house.off").write_text(
        f"OFF\n6 6 0\n{places}5 4 3 2 1 0\n3 0 1 5\n3 1 2 5\n3 2 3 5\n3 3 4 5\n3 4 0 5\n"
    )
    mesh = he.Mesh.from_file(tmp_path / "house.off")
    assert (len(mesh._faces), mesh.closed) == (8, True)


ARROW = [(0, 0), (4, 0), (1, 1), (0, 4)]
LETTER_L = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
LETTER_U = [(0, 0), (3, 0), (3, 2), (2, 2), (2, 1), (1, 1), (1, 2), (0, 2)]
BOW_TIE = [(0, 0), (1, 1), (1, 0), (0, 1)]
KINDS = ["obj", "ply", "binary ply", "off"]


def polygon_file(folder, kind, places, faces):
    """A file of the plane through (x, y, x + y), where areas are those of the plane times the square root of 3."""
    flat = np.array([(x, y, x + y) for x, y in places], dtype=float)
    rows = "\n".join(" ".join(map(str, place)) for place in flat.tolist())
    sides = "\n".join(" ".join(map(str, [len(face), *face])) for face in faces)
    head = f"element vertex {len(flat)}\nproperty double x\nproperty double y\nproperty double z\n"
    head += f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    packed = b"".join(bytes([len(face)]) + np.array(face, ">i4").tobytes() for face in faces)
    numbers = ["f " + " ".join(f"{corner + 1}/1" for corner in face) for face in faces]
    content = {
        "obj": "\n".join([*(f"v {row}" for row in rows.split("\n")), *numbers]).encode(),
        "ply": f"ply\nformat ascii 1.0\n{head}{rows}\n{sides}\n".encode(),
        "binary ply": f"ply\nformat binary_big_endian 1.0\n{head}".encode()
        + flat.astype(">f8").tobytes()
        + packed
        + b"\n",
        "off": f"OFF\n{len(flat)} {len(faces)} 0\n{rows}\n{sides}\n".encode(),
    }
    path = folder / f"shape.{kind[-3:]}"
    path.write_bytes(content[kind])
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("outline", "area"), [(ARROW, 4), (LETTER_L, 3)], ids=["arrow", "L"])
def test_faces_that_are_not_convex_have_the_area_that_they_enclose(tmp_path, kind, outline, area):
    pytest.importorskip("trimesh")
    corners = list(range(len(outline)))
    for start in corners:
        for way in (1, -1):
            face = (corners[start:] + corners[:start])[::way]
            path = polygon_file(tmp_path, kind, [*outline, (9, 0)], [face, [1, len(outline), 2]])
            with_wing = area + abs(np.linalg.det(np.subtract([(9, 0), outline[2]], outline[1]))) / 2
            assert he.Mesh.from_file(path)._areas.sum() == pytest.approx(with_wing * 3**0.5, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_faces_that_no_corner_sees_whole_are_refused_until_they_are_cut(tmp_path, kind):
    pytest.importorskip("trimesh")
    for outline in (LETTER_U, BOW_TIE):
        path = polygon_file(tmp_path, kind, outline, [[0, 1, 2], list(range(len(outline)))])
        named = (
            rf"shape\.\w+ cannot be read as a mesh: .*{'line' if kind == 'obj' else 'face 1'}.*{len(outline)} corners"
        )
        with pytest.raises(he.InputError, match=named + r".* is not convex.*cut the faces into triangles"):
            he.Mesh.from_file(path)
    cut = [[0, 1, 4], [0, 4, 5], [0, 5, 7], [5, 6, 7], [1, 2, 3], [1, 3, 4]]
    assert he.Mesh.from_file(polygon_file(tmp_path, kind, LETTER_U, cut))._areas.sum() == pytest.approx(5 * 3**0.5)


@pytest.mark.parametrize("size", [1e-9, 1e-5, 1e6])
def test_surfaces_are_read_in_every_unit(tmp_path, size):
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(3, size)
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in ball.vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (ball.faces + 1).tolist()]
    (tmp_path / "a.obj").write_text("\n".join(lines))
    mesh = he.Mesh.from_file(tmp_path / "a.obj")
    assert len(mesh._vertices) == 642
    assert mesh.closed
    assert mesh._areas.sum() == pytest.approx(4 * np.pi * size**2, rel=0.01)


def test_corners_of_obj_that_count_backwards_count_from_their_line(tmp_path):
    pytest.importorskip("trimesh")
    square = "v 0 0 0\nv 2 0 0 # right\nv 2 1 0 1.0\nv 0 1 0\nf -4 -3 \\\n -2 -1\n"
    (tmp_path / "a.obj").write_text(square + "v 0 1 3\nv 2 1 3\nf -4/1 -1/2 -2/3 -3/4\n")
    assert he.Mesh.from_file(tmp_path / "a.obj")._areas.sum() == pytest.approx(2 + 6, rel=1e-12)


def test_faults_of_the_surface_name_the_file(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "two.obj").write_text(TRIANGLE + "v 5 0 0\nv 6 0 0\nv 5 1 0\nf 1 2 3\nf 4 5 6\n")
    with pytest.raises(he.InputError, match=r"two\.obj: the mesh has 2 components"):
        he.Mesh.from_file(tmp_path / "two.obj")


def test_a_package_that_a_format_needs_is_named(tmp_path, monkeypatch):
    pytest.importorskip("trimesh")
    from heatess.spaces.discrete import meshfile

    def fails(message):
        def load(*args, **options):
            raise ImportError(message)

        monkeypatch.setattr("trimesh.load_mesh", load)

    (tmp_path / "a.dae").write_text("x")
    for message in ("missing `pip install pycollada`", "No module named 'collada'"):
        fails(message)
        with pytest.raises(he.MissingExtraError, match=r"a\.dae needs pycollada.*: pip install pycollada$"):
            meshfile.read_triangles(str(tmp_path / "a.dae"))
    fails("No module named 'charset_normalizer'")
    with pytest.raises(he.InputError, match="neither a whole binary file nor text in UTF-8"):
        meshfile.read_triangles(str(tmp_path / "a.dae"))
    fails("No module named 'openctm'")
    with pytest.raises(he.InputError, match=r"this format needs openctm.*save it as \.ply"):
        meshfile.read_triangles(str(tmp_path / "a.dae"))


def test_loose_triangles_are_refused_with_the_way_to_join_them():
    vertices, faces = meshes.icosphere(1)
    with pytest.raises(he.InputError, match="its 240 vertices lie in 42 places"):
        he.Mesh(vertices[faces].reshape(-1, 3), np.arange(240).reshape(-1, 3))


def test_distances_are_those_of_the_surface():
    rows, columns, length = 40, 40, 2.0
    mesh = he.Mesh(*meshes.folded_torus(rows, columns, length))
    node = np.arange(1, rows * columns)
    steps = np.stack([node // columns / rows, node % columns / columns], axis=1)
    exact = np.linalg.norm(np.minimum(steps, 1 - steps) * [2 * rows * np.sin(np.pi / rows), 2 * length], axis=1)
    ratio = mesh.distance(0, node) / exact
    assert ratio.min() > 1 - 1e-12
    assert ratio.mean() < 1.04
    vertices, faces = meshes.icosphere(4)
    exact = np.arccos(np.clip(vertices[1:] @ vertices[0], -1, 1))
    ratio = he.Mesh(vertices, faces).distance(0, np.arange(1, 2562)) / exact
    assert 0.999 < ratio.min() < ratio.max() < 1.06


def broken(**changes):
    vertices, faces = meshes.icosphere(0)
    return changes.get("vertices", vertices), changes.get("faces", faces)


FACES = meshes.icosphere(0)[1]
TWO = np.concatenate([meshes.icosphere(0)[0], meshes.icosphere(0)[0] + 5]), np.concatenate([FACES, FACES + 12])


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        (*broken(vertices=np.zeros((12, 2))), r"vertices must have shape \(v, 3\), but have shape \(12, 2\)"),
        (*broken(vertices=np.full((12, 3), np.nan)), "vertices must be finite, but row 0"),
        (*broken(faces=FACES + 1), "whole numbers from 0 to 11"),
        (*broken(faces=FACES[:, :2]), r"faces must have shape \(f, 3\)"),
        (*broken(faces=np.vstack([FACES, [1, 1, 2]])), "1 of 21 faces name one vertex twice, the first of them"),
        (*broken(faces=np.vstack([FACES, FACES[3, ::-1]])), "1 of 21 faces repeat an earlier face"),
        (*broken(vertices=np.vstack([meshes.icosphere(0)[0], [0, 0, 9]])), "do not, the first of them vertex 12"),
        (*broken(vertices=meshes.icosphere(0)[0] * [1, 0, 0]), "20 of 20 faces have no area"),
        (*TWO, "2 components, of 12, 12 nodes"),
    ],
)
def test_bad_meshes_are_refused(vertices, faces, message):
    with pytest.raises(he.InputError, match=message):
        he.Mesh(vertices, faces)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0, 12], "row 1 is 12"),
        (([0], [[0.5, 0.6, 0.1]]), "sum to 1, but row 0"),
        (([0], [[1.0, 0.0]]), r"shape \(1, 3\)"),
        (([25], [[1.0, 0, 0]]), "face indices must be indices of faces"),
        (([0], [0], [0]), "a tuple of 3"),
    ],
)
def test_bad_points_are_refused(points, message):
    with pytest.raises(he.InputError, match=message):
        he.heat_profile(points, space=he.Mesh(*meshes.icosphere(0)), times=[10.0])


def test_without_the_extra_the_error_is_the_install_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "robust_laplacian", None)
    with pytest.raises(he.MissingExtraError, match=r"pip install 'heatess\[mesh\]'$"):
        he.Mesh(*meshes.icosphere(0))


def test_coarse_scales_alone_are_as_good_as_with_finer_ones():
    """Opposite atoms have no energy in the first level, on which large scales would otherwise rest."""
    vertices, faces = meshes.icosphere(3)
    mesh = he.Mesh(vertices, faces)
    pair = [0, int(np.argmin(vertices @ vertices[0]))]
    for time in (1.0, 2.0):
        alone = he.heat_profile(pair, space=mesh, times=[time])
        assert alone.mmd2[0] == pytest.approx(he.heat_profile(vertices[pair], times=[time]).mmd2[0], rel=0.2)
        beside = he.heat_profile(pair, space=he.Mesh(vertices, faces), times=[0.2, time])
        assert alone.mmd2[0] == pytest.approx(beside.mmd2[1], rel=1e-6)
    for time in (3.0, 10.0, 1e9):
        assert he.gess(pair, space=mesh, time=time) == pytest.approx(he.gess(vertices[pair], time=time), rel=1e-6)


def test_a_mask_is_not_taken_for_indices():
    with pytest.raises(he.InputTypeError, match="flatnonzero"):
        he.gess(np.ones(12, dtype=bool), space=he.Mesh(*meshes.icosphere(0)), time=1.0)


def test_faces_that_count_from_one_are_refused_with_the_remedy():
    vertices, faces = meshes.icosphere(1)
    with pytest.raises(he.InputError, match=r"of 42 vertices, .* row \d+ is \[.*42.*\] .* subtract 1"):
        he.Mesh(vertices, faces + 1)
