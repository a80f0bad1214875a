"""The cotangent Laplacian of a triangle mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray
from .delaunay_flips import flipped
from .matrices import edge_laplacian, symmetric
from .triangle_edges import Sides

_LEAST_EDGE_WEIGHT = -1e-6  # edges with a weight below this are flipped, by robust-laplacian too


def mesh_laplacian(vertices: FloatArray, faces: NDArray[np.int64], sides: Sides, areas: FloatArray) -> Any:
    """The intrinsic-Delaunay cotangent Laplacian, exactly symmetric.

    An edge has the weight (cot a + cot b) / 2 of the angles that face it, or cot a / 2 at a boundary, and is flipped if
    that is negative. This is what robust-laplacian finds, to rounding, in less time and memory. It is asked itself
    where an edge belongs to three triangles, one of them is flat, faces to be flipped are not oriented alike, or an
    edge at a boundary faces an angle above 90 degrees.
    """
    lengths = np.linalg.norm(vertices[sides.edges[:, 0]] - vertices[sides.edges[:, 1]], axis=1)
    # Edges are lengthened, where triangles are flat, by a share of the shortest edge: of the mean, small triangles
    # would lose their shape.
    slack = max(1e-5 * float(lengths.min() / lengths.mean()), 1e-13)
    if sides.faces.max() <= 2 and _flatness(lengths[sides.label]) > 2 * slack * float(lengths.mean()):
        weights = np.bincount(sides.label.ravel(), _facing_cotangents(vertices[faces], areas).ravel()) / 2
        if weights.min() > _LEAST_EDGE_WEIGHT:
            return edge_laplacian(sides.edges, weights, len(vertices))
        found = flipped(faces, sides, lengths, weights, _LEAST_EDGE_WEIGHT)
        if found is not None:
            return edge_laplacian(found.edges, found.weights, len(vertices))
    import robust_laplacian

    matrix = robust_laplacian.mesh_laplacian(vertices, faces, mollify_factor=slack)[0].tocsr()
    matrix.sum_duplicates()
    return symmetric(matrix)


def _flatness(lengths: FloatArray) -> float:
    """The least by which two sides of a triangle are longer than the third."""
    a, b, c = lengths.T
    return float(np.min(a + b + c - 2 * np.maximum(np.maximum(a, b), c)))


def _facing_cotangents(places: FloatArray, areas: FloatArray) -> FloatArray:
    """The cotangent of the angle that faces each side, shape (f, 3), of triangles at *places*, shape (f, 3, 3)."""
    arms = [np.roll(places, -k, axis=1) - places for k in (1, 2)]
    return np.asarray((np.einsum("fcd,fcd->fc", *arms) / (2 * areas[:, None]))[:, [2, 0, 1]])
