"""Objects of trimesh as surfaces, against the sphere that they are meshes of."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he

trimesh = pytest.importorskip("trimesh")
pytest.importorskip("robust_laplacian")


@pytest.fixture(scope="module")
def ball():
    return trimesh.creation.icosphere(subdivisions=3)


def test_an_object_of_trimesh_is_its_vertices_and_faces(ball):
    mesh = he.Mesh.from_trimesh(ball)
    assert mesh == he.Mesh(ball.vertices, ball.faces)
    atoms, times = np.arange(40), [0.03, 0.05, 0.2]
    found = he.heat_profile(atoms, space=mesh, times=times)
    exact = he.heat_profile(np.asarray(ball.vertices)[atoms], times=times).gess
    assert (np.abs(found.gess / exact - 1) <= found.error).all()
    assert found.error.max() < 0.05


def test_samples_of_a_surface_are_points_by_face_and_barycentric_coordinates(ball):
    places, faces = trimesh.sample.sample_surface(ball, 300, seed=0)
    barycentric = trimesh.triangles.points_to_barycentric(ball.triangles[faces], places)
    found = he.gess((faces, barycentric), space=he.Mesh.from_trimesh(ball), time=0.05)
    directions = places / np.linalg.norm(places, axis=1, keepdims=True)
    assert found == pytest.approx(he.gess(directions, time=0.05), rel=1e-2)


def test_scenes_are_refused_and_the_advice_is_right(ball):
    scene = trimesh.Scene([ball])
    with pytest.raises(he.InputTypeError, match=r"a Scene of 1; join them with scene.to_mesh\(\)"):
        he.Mesh.from_trimesh(scene)
    joined = he.Mesh.from_trimesh(scene.to_mesh())
    assert joined == he.Mesh.from_trimesh(next(iter(scene.geometry.values())))


def test_points_without_faces_are_refused(ball):
    with pytest.raises(he.InputTypeError, match=r"a trimesh.Trimesh is needed, but found <trimesh.PointCloud"):
        he.Mesh.from_trimesh(trimesh.PointCloud(ball.vertices))
