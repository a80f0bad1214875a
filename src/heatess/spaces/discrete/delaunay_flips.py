"""Intrinsic Delaunay triangulations: edges of a mesh are flipped, many at a time; lengths are along the surface."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray
from .triangle_edges import Sides

_MOST_ROUNDS = 1000  # of flips; a mesh that needs more is left to robust-laplacian


class Weighted(NamedTuple):
    """Edges of a triangulation, which may join two vertices twice or a vertex to itself, and their weights."""

    edges: NDArray[np.int64]  # shape (e, 2)
    weights: FloatArray  # (cot a + cot b) / 2 of the angles that face each, shape (e,)


class _Triangles:
    """Triangles with oriented sides. Side 3 f + s runs from corner s of face f to the next, in `edge[3 f + s]`."""

    def __init__(self, faces: NDArray[np.int64], sides: Sides, lengths: FloatArray, weights: FloatArray) -> None:
        self.start, self.edge = faces.reshape(-1).copy(), sides.label.reshape(-1).copy()
        self.lengths, self.weights = lengths.copy(), weights.copy()
        order = np.argsort(self.edge, kind="stable")
        first = np.cumsum(sides.faces) - sides.faces
        self.both = np.stack([order[first], order[first + sides.faces - 1]], axis=1)  # sides of each edge, (e, 2)
        self.inner = sides.faces == 2

    @property
    def oriented(self) -> bool:
        """Whether the two sides of each inner edge run in opposite directions."""
        one, other = self.start[self.both[self.inner]].T
        return bool((one != other).all())

    def flip(self, edges: NDArray[np.intp]) -> NDArray[np.intp]:
        """Flip *edges*, no two of which belong to one triangle; returns all edges of those triangles.

        The triangles p q k and q p m of an edge p q become k m q and m k p.
        """
        here, there = self.both[edges].T
        one, other = here // 3 * 3, there // 3 * 3
        qk, kp, pm, mq = _next(here), _next(_next(here)), _next(there), _next(_next(there))
        q, k, p, m = (self.start[side] for side in (qk, kp, pm, mq))
        rim = [self.edge[side] for side in (mq, qk, kp, pm)]
        slots = [np.where(self.both[edge, 0] == side, 0, 1) for edge, side in zip(rim, (mq, qk, kp, pm), strict=True)]
        self.lengths[edges] = self._diagonal(here, there)
        for face, corners, own in ((one, (k, m, q), rim[:2]), (other, (m, k, p), rim[2:])):
            for step, (corner, edge) in enumerate(zip(corners, (edges, *own), strict=True)):
                self.start[face + step], self.edge[face + step] = corner, edge
        self.both[edges, 0], self.both[edges, 1] = one, other
        for edge, slot, side in zip(rim, slots, (one + 1, one + 2, other + 1, other + 2), strict=True):
            self.both[edge, slot] = side
        touched = np.unique(np.concatenate([edges, *rim]))
        one, other = (self._cotangents(self.both[touched, slot]) for slot in (0, 1))
        self.weights[touched] = (one + np.where(self.inner[touched], other, 0.0)) / 2
        return touched

    def _shape(self, sides: NDArray[np.intp]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """How far along and beside each side, from its start, the corner that faces it is, and the side's length."""
        length, ahead, behind = (self.lengths[self.edge[side]] for side in (sides, _next(sides), _next(_next(sides))))
        along = (length + (behind - ahead) * ((behind + ahead) / length)) / 2
        return along, 2 * _area(length, ahead, behind) / length, length

    def _cotangents(self, sides: NDArray[np.intp]) -> FloatArray:
        """Of the angles that face *sides*."""
        along, beside, length = self._shape(sides)
        with np.errstate(divide="ignore", invalid="ignore"):  # of flat triangles, which are refused in the end
            return np.asarray((beside**2 - along * (length - along)) / (length * beside))

    def _diagonal(self, here: NDArray[np.intp], there: NDArray[np.intp]) -> FloatArray:
        """The distance between the corners that face an edge, with its two triangles unfolded."""
        (along, beside, length), (back, below, _) = self._shape(here), self._shape(there)
        return np.asarray(np.hypot(along + back - length, beside + below))


def flipped(
    faces: NDArray[np.int64], sides: Sides, lengths: FloatArray, weights: FloatArray, least: float
) -> Weighted | None:
    """The triangulation of the same surface with no weight below *least*, or None where flips do not lead to it.

    Faces must be oriented alike, and no edge at a boundary may face an angle above 90 degrees in the end.
    """
    found = _Triangles(faces, sides, lengths, weights)
    if not found.oriented:
        return None
    rank = np.full(len(faces), len(weights))  # the first edge of each face that is to be flipped
    bad = np.flatnonzero(found.weights < least)
    for _ in range(_MOST_ROUNDS):
        if not found.inner[bad].all():
            return None
        if not len(bad):
            if not np.isfinite(found.weights).all():
                return None
            ends = found.both[:, 0]
            return Weighted(np.stack([found.start[ends], found.start[_next(ends)]], axis=1), found.weights)
        owners = found.both[bad] // 3
        rank[owners] = len(weights)
        np.minimum.at(rank, owners, bad[:, None])
        chosen = (rank[owners] == bad[:, None]).all(axis=1) & (owners[:, 0] != owners[:, 1])
        if not chosen.any():
            return None
        touched = found.flip(bad[chosen])
        bad = np.union1d(bad[~chosen], touched)
        bad = bad[found.weights[bad] < least]
    return None


def _next(sides: NDArray[np.intp]) -> NDArray[np.intp]:
    """The next side of the same triangle."""
    return np.asarray(sides + 1 - 3 * (sides % 3 == 2))


def _area(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Of triangles by the lengths of their sides, accurate for needles too (Kahan)."""
    low, middle, high = np.sort(np.stack([a, b, c]), axis=0)
    product = (high + (middle + low)) * (low - (high - middle)) * (low + (high - middle)) * (high + (middle - low))
    return np.asarray(np.sqrt(np.maximum(product, 0)) / 4)
