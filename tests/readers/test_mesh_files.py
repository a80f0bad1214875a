"""Surfaces in GIFTI: what other formats leave out is left out here too."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he

nibabel = pytest.importorskip("nibabel")
trimesh = pytest.importorskip("trimesh")


def gifti(path, vertices, faces):
    arrays = [
        nibabel.gifti.GiftiDataArray(vertices.astype(np.float32), intent="NIFTI_INTENT_POINTSET"),
        nibabel.gifti.GiftiDataArray(faces.astype(np.int32), intent="NIFTI_INTENT_TRIANGLE"),
    ]
    nibabel.save(nibabel.gifti.GiftiImage(darrays=arrays), path)


def test_faces_without_an_area_and_twice_are_left_out_as_in_ply(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=2)
    vertices, faces = np.asarray(ball.vertices), np.asarray(ball.faces)
    bad = np.vstack([faces, [[0, 1, 1], faces[3]]])
    gifti(tmp_path / "whole.gii", vertices, faces)
    gifti(tmp_path / "bad.gii", vertices, bad)
    trimesh.Trimesh(vertices, bad, process=False).export(tmp_path / "bad.ply")
    whole, left, ply = (he.gess(he.read(tmp_path / name), time=0.1) for name in ("whole.gii", "bad.gii", "bad.ply"))
    assert left == whole
    assert left == pytest.approx(ply, rel=1e-5)


def test_faces_that_name_no_vertex_are_still_refused(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=1)
    gifti(tmp_path / "a.gii", np.asarray(ball.vertices), np.vstack([ball.faces, [[0, 1, 999]]]))
    with pytest.raises(he.InputError, match="faces must hold three indices"):
        he.read(tmp_path / "a.gii")
