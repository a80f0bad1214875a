"""The cotangent Laplacian of a triangle mesh, where its triangles need no flips."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from .matrices import edge_laplacian, symmetric

_FLIPPED = -1e-13  # of an edge's two cotangents the sum: below this, the other diagonal is shorter


class Sides(NamedTuple):
    """The edges of triangles, and which of them each side of a triangle is."""

    edges: NDArray[np.int64]  # smaller vertex first, in order, shape (e, 2)
    faces: NDArray[np.int64]  # how many triangles each edge belongs to
    label: NDArray[np.intp]  # the edge between corners 0 and 1, 1 and 2, 2 and 0 of each triangle, shape (f, 3)

    @classmethod
    def of(cls, faces: NDArray[np.int64], size: int) -> Sides:
        """The sides of *faces*, whose corners are numbered below *size*."""
        numbers, label, counts = np.unique(side_numbers(faces, size), return_inverse=True, return_counts=True)
        return cls(np.stack(np.divmod(numbers, size), axis=1), counts, label.reshape(-1, 3))


def side_numbers(faces: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """One number for each side of each face, i size + j with i < j, which sorts as the pair does, shape (3 f,)."""
    ahead = faces[:, [1, 2, 0]]
    return np.asarray(np.minimum(faces, ahead) * size + np.maximum(faces, ahead)).ravel()


def mesh_laplacian(vertices: FloatArray, faces: NDArray[np.int64], sides: Sides, areas: FloatArray) -> Any:
    """The intrinsic-Delaunay cotangent Laplacian, exactly symmetric.

    An edge has the weight (cot a + cot b) / 2 of the angles that face it, or cot a / 2 at a boundary. If no weight is
    negative, no edge belongs to three triangles and none of these is flat, this is what robust-laplacian finds, to
    rounding, in a tenth of its time and memory. Else its edges are flipped, and so on, by robust-laplacian.
    """
    lengths = np.linalg.norm(vertices[sides.edges[:, 0]] - vertices[sides.edges[:, 1]], axis=1)
    # Edges are lengthened, where triangles are flat, by a share of the shortest edge: of the mean, small triangles
    # would lose their shape.
    slack = max(1e-5 * float(lengths.min() / lengths.mean()), 1e-13)
    if sides.faces.max() <= 2 and _flatness(lengths[sides.label]) > 2 * slack * float(lengths.mean()):
        weights = np.bincount(sides.label.ravel(), _facing_cotangents(vertices[faces], areas).ravel()) / 2
        if weights.min() > _FLIPPED:
            return edge_laplacian(sides.edges, weights, len(vertices))
    import robust_laplacian

    found = robust_laplacian.mesh_laplacian(vertices, faces, mollify_factor=slack)[0].tocsr()
    found.sum_duplicates()
    return symmetric(found)


def _flatness(lengths: FloatArray) -> float:
    """The least by which two sides of a triangle are longer than the third."""
    a, b, c = lengths.T
    return float(np.min(a + b + c - 2 * np.maximum(np.maximum(a, b), c)))


def _facing_cotangents(places: FloatArray, areas: FloatArray) -> FloatArray:
    """The cotangent of the angle that faces each side, shape (f, 3), of triangles at *places*, shape (f, 3, 3)."""
    arms = [np.roll(places, -k, axis=1) - places for k in (1, 2)]
    return np.asarray((np.einsum("fcd,fcd->fc", *arms) / (2 * areas[:, None]))[:, [2, 0, 1]])
