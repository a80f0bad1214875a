"""Delaunay simplices around one point each, for many points at once: the hull of their inverted neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray


class Fans(NamedTuple):
    """The Delaunay simplices at the origin of each row of neighbours."""

    rows: NDArray[np.intp]  # whose simplex it is, shape (s,)
    members: NDArray[np.intp]  # its other corners, as columns of the neighbours, shape (s, dim)
    diameters: FloatArray  # of its empty sphere, shape (s,)
    closed: NDArray[np.bool_]  # for each row, whether its simplices surround the origin


def fans(flat: FloatArray, usable: NDArray[np.bool_]) -> Fans:
    """The simplices at the origins among neighbours at *flat*, shape (n, k, dim), that are *usable*, shape (n, k).

    Inversion p -> p / |p|^2 takes spheres through the origin to planes, so the simplices are the facets of the convex
    hull of the inverted neighbours, and the distance of a facet is one over the diameter of the empty sphere. The
    origin is among the points of the hull, so that facets without it are the ones wanted either way.
    """
    squares = np.where(usable, np.einsum("nkm,nkm->nk", flat, flat), 1.0)
    inverted = np.where(usable[:, :, None], flat / squares[:, :, None], 0.0)
    return _segments(inverted[:, :, 0]) if flat.shape[2] == 1 else _triangles(inverted, usable)


def _segments(inverted: FloatArray) -> Fans:
    """In one dimension: the nearest neighbour on either side."""
    sides = np.stack([np.argmax(inverted, axis=1), np.argmin(inverted, axis=1)], axis=1)  # (n, 2)
    nearness = np.take_along_axis(inverted, sides, axis=1) * [1, -1]
    rows, side = np.nonzero(nearness > 0)
    return Fans(rows, sides[rows, side][:, None], 1 / nearness[rows, side], nearness.min(axis=1) > 0)


def _triangles(inverted: FloatArray, usable: NDArray[np.bool_]) -> Fans:
    """In two dimensions the hull is walked round, one edge of all rows at a time, with the origin as last column."""
    count, near = usable.shape
    x, y = (np.concatenate([inverted[:, :, axis], np.zeros((count, 1))], axis=1) for axis in range(2))
    barred = np.concatenate([~usable, np.zeros((count, 1), dtype=bool)], axis=1)
    first = np.argmax(x**2 + y**2, axis=1)  # the nearest neighbour is certainly on the hull
    rows = np.flatnonzero(usable.sum(axis=1) > 1)
    now = first[rows]
    ahead = np.stack([-y[rows, now], x[rows, now]])  # all points lie to the left of this direction
    edges = []
    for _ in range(near + 1):
        here = np.arange(len(rows))
        arm_x, arm_y = x[rows] - x[rows, now][:, None], y[rows] - y[rows, now][:, None]
        turn = np.arctan2(
            ahead[0][:, None] * arm_y - ahead[1][:, None] * arm_x, ahead[0][:, None] * arm_x + ahead[1][:, None] * arm_y
        )
        turn = np.abs(turn)  # never below zero but for rounding
        turn[barred[rows]] = np.inf
        turn[here, now] = np.inf
        after = np.argmin(turn, axis=1)
        edges.append((rows, now, after))
        going = np.flatnonzero(after != first[rows])
        if not len(going):
            break
        rows, now = rows[going], after[going]
        ahead = np.stack([arm_x[going, now], arm_y[going, now]])
    owner, start, end = (np.concatenate(part) for part in zip(*edges, strict=True))
    whole = np.zeros(count, dtype=bool)  # whether the walk came round
    whole[owner[end == first[owner]]] = True
    closed = whole.copy()
    closed[owner[(start == near) | (end == near)]] = False
    order = np.argsort(owner, kind="stable")
    order = order[(whole[owner] & (start < near) & (end < near))[order]]
    owner, start, end = owner[order], start[order], end[order]
    across = x[owner, start] * y[owner, end] - y[owner, start] * x[owner, end]
    length = np.hypot(x[owner, end] - x[owner, start], y[owner, end] - y[owner, start])
    return Fans(owner, np.stack([start, end], axis=1), length / np.maximum(np.abs(across), 1e-300), closed)
