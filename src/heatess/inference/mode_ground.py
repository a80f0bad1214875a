"""Where densities are looked at for modes: vertices, edges between neighbours, and the middle of each edge."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..measures.measure import Measure
from ..spaces.base import Space
from ..spaces.capabilities import Embedding

#: Vertices at most; where neighbours are found among all pairs; and neighbours of each.
MOST_VERTICES, MOST_BY_PAIRS, NEIGHBOURS = 2**13, 2**11, 8


class Ground(NamedTuple):
    """Vertices, joined by edges into one piece."""

    places: NDArray[Any]  #: points of the space: vertices first, then the middle of edges
    vertices: int
    edges: IntArray  #: (edges, 2)
    middles: IntArray  #: the place in the middle of each edge, or -1
    of_atoms: IntArray  #: the vertex that each atom is at, or is nearest to


def ground_of(atoms: Measure) -> Ground:
    """The nodes of a mesh or graph with its own edges; else atoms, their neighbours, and what joins groups of them."""
    space = atoms.space
    if space.modes is not None:
        edges = space.modes.node_edges
        nodes = space.check(np.arange(space.modes.node_count))
        return Ground(nodes, len(nodes), edges, np.full(len(edges), -1), space.modes.nearest_nodes(atoms.points))
    chosen = _chosen(atoms, MOST_VERTICES if space.embedding is not None else MOST_BY_PAIRS)
    points = atoms.points[chosen]
    edges = _edges(space, points)
    middle = space.midpoints(points[edges[:, 0]], points[edges[:, 1]])
    places = points if middle is None else np.concatenate([points, middle])
    middles = np.full(len(edges), -1) if middle is None else len(points) + np.arange(len(edges))
    of_atoms = np.arange(atoms.n) if len(chosen) == atoms.n else nearest(space, points, atoms.points, 1)[1][:, 0]
    return Ground(places, len(points), edges, middles, of_atoms)


def _chosen(atoms: Measure, most: int) -> IntArray:
    """All atoms, or so many of them, evenly spaced by weight along their coordinates."""
    if atoms.n <= most:
        return np.arange(atoms.n)
    order = np.lexsort(atoms.points.T)
    shares = np.cumsum(atoms.weights[order])
    found = np.searchsorted(shares, shares[-1] * (np.arange(most) + 0.5) / most)
    return np.unique(order[np.minimum(found, atoms.n - 1)])


def nearest(space: Space, points: NDArray[Any], at: NDArray[Any], count: int) -> tuple[FloatArray, IntArray]:
    """Distances to the nearest *count* of some points, and their numbers, shape (len(at), count) each.

    Distances are those of coordinates where the space has an embedding; else geodesic.
    """
    if space.embedding is not None:
        return _by_tree(space.embedding, points, at, count)
    near: list[FloatArray] = []
    found: list[IntArray] = []
    block = max(1, 2**20 // len(points))
    for start in range(0, len(at), block):
        part = at[start : start + block]
        distances = space.distance(np.repeat(part, len(points), axis=0), np.tile(points, (len(part), 1)))
        distances = np.asarray(distances).reshape(len(part), len(points))
        numbers = np.argsort(distances, axis=1, kind="stable")[:, :count]
        near.append(np.take_along_axis(distances, numbers, axis=1))
        found.append(numbers)
    return np.concatenate(near), np.concatenate(found)


def _by_tree(embedding: Embedding, points: NDArray[Any], at: NDArray[Any], count: int) -> tuple[FloatArray, IntArray]:
    from scipy.spatial import cKDTree

    left, right = embedding.coordinates(at), embedding.coordinates(points)
    box = None
    if embedding.periods is not None and np.isfinite(embedding.periods).any():
        box = np.where(np.isfinite(embedding.periods), embedding.periods, 0.0)
        safe = np.where(box > 0, box, 1.0)
        left, right = (np.where(box > 0, np.where(x % safe < safe, x % safe, 0.0), x) for x in (left, right))
    tree = cKDTree(np.concatenate([right, embedding.images(right, math.inf)[0]]), boxsize=box)
    distances, numbers = tree.query(left, count)
    return distances.reshape(len(at), count), numbers.reshape(len(at), count) % len(points)


def _edges(space: Space, points: NDArray[Any]) -> IntArray:
    """Between neighbours, and from each group of neighbours to the nearest point outside it, until all are one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(points)
    count = min(NEIGHBOURS + 1, n)
    near = nearest(space, points, points, count)[1]
    pairs = np.column_stack([np.repeat(np.arange(n), count), near.ravel()])
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    matrix = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n))
    groups, label = connected_components(matrix, directed=False)
    members = {k: np.flatnonzero(label == k) for k in range(groups)}
    joined = [pairs]
    while len(members) > 1:
        least = min(members, key=lambda k: len(members[k]))
        own = members.pop(least)
        others = np.concatenate(list(members.values()))
        distances, numbers = nearest(space, points[others], points[own], 1)
        row = int(np.argmin(distances[:, 0]))
        partner = int(others[numbers[row, 0]])
        joined.append(np.array([[own[row], partner]]))
        home = next(k for k, rows in members.items() if (rows == partner).any())
        members[home] = np.concatenate([members[home], own])
    return np.concatenate(joined).astype(np.intp)


def joined_to(vertex: int, edges: IntArray, count: int) -> NDArray[Any]:
    """Which of *count* vertices the edges join to one of them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    matrix = coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(count, count))
    label = connected_components(matrix, directed=False)[1]
    return np.asarray(label == label[vertex])
