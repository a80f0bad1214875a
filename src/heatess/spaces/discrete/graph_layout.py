"""Where the nodes of a graph are drawn: neighbours close together, and no two at one spot."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import FloatArray

#: Nodes up to which forces between all pairs are balanced, and steps of that.
MOST_NODES, STEPS = 1000, 80


def spread_out(slow: FloatArray, adjacency: Any) -> FloatArray:
    """Places in the plane, shape (nodes, 2), from the two slowest modes of heat on a graph.

    Modes put the nodes of a tight group at nearly one spot. Their ranks do not, and from there springs along the edges
    draw neighbours together while all nodes push each other away (Fruchterman and Reingold 1991).
    """
    count = len(slow)
    ranks = np.argsort(np.argsort(slow, axis=0, kind="stable"), axis=0, kind="stable")
    places = (2 * ranks + 1) / count - 1.0
    return places if count > MOST_NODES else _balanced(places, adjacency.tocoo())


def _balanced(places: FloatArray, edges: Any) -> FloatArray:
    count = len(places)
    length = 1.3 / np.sqrt(count)  # of a spring at rest
    strength = np.sqrt(edges.data / edges.data.max()) if len(edges.data) else edges.data
    for step in range(STEPS):
        apart = places[:, None, :] - places[None, :, :]  # (nodes, nodes, 2)
        squared = np.maximum(np.einsum("ijk,ijk->ij", apart, apart), 1e-6)
        force = length**2 * np.einsum("ijk,ij->ik", apart, 1 / squared) - 0.3 * length * places
        pull = places[edges.row] - places[edges.col]
        pull *= (strength * np.sqrt(np.einsum("ek,ek->e", pull, pull)) / length)[:, None]
        np.subtract.at(force, edges.row, pull)
        reach = np.sqrt(np.einsum("ik,ik->i", force, force))[:, None]
        places = places + force * np.minimum(1.0, 0.15 * (1 - step / STEPS) / np.maximum(reach, 1e-12))
    return np.asarray(places - places.mean(axis=0))
