"""The edges of triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


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
