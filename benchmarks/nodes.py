"""How long meshes, graphs and clouds of very many nodes take to be made; nodes.py graph | mesh prints peak memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import heatess as he
from memory import peak
from timing import Row, side_by_side, within

HERE = Path(__file__).parent

#: Nodes and links of each of them, once in either direction, of the graph.
NODES, LINKS = 10**6, 20

#: Subdivisions of the icosahedron, for 655,362 vertices.
LEVEL = 8

#: Memory of the whole process, in bytes.
LIMIT = 2e9


def graph(nodes: int = NODES, links: int = LINKS) -> Any:
    """A graph whose nodes are joined to those some random steps ahead and behind, with weights from 1 to 2.

    Rows are made in blocks, so that making them sets no peak of its own.
    """
    from scipy.sparse import csr_array

    steps = np.random.default_rng(0).choice(np.arange(2, nodes // 2), links // 2 - 1, replace=False)
    steps = np.concatenate([[1], steps, -steps, [-1]])
    indices, data = np.empty((nodes, links), dtype=np.int32), np.empty((nodes, links))
    for start in range(0, nodes, 10_000):
        own = np.arange(start, min(start + 10_000, nodes))[:, None]
        part = slice(start, start + len(own))
        indices[part] = np.sort((own + steps) % nodes, axis=1)
        data[part] = 1 + (own + indices[part]) % 7 / 7
    starts = np.arange(0, nodes * links + 1, links, dtype=np.int32)
    return csr_array((data.ravel(), indices.ravel(), starts), shape=(nodes, nodes))


def bare_graph(adjacency: Any) -> Callable[[], object]:
    """What no check of a graph can do without, by scipy: one transpose, compared, and the components."""
    from scipy.sparse.csgraph import connected_components

    def run() -> object:
        mirrored = adjacency.T.tocsr()
        same = (mirrored.indices == adjacency.indices).all() and (mirrored.data == adjacency.data).all()
        return same, connected_components(adjacency, directed=False)[0]

    return run


def mesh() -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a fine sphere."""
    sys.path.append(str(HERE.parent / "tests"))
    from meshes import icosphere

    return icosphere(LEVEL)


def made() -> Iterator[Row]:
    """Spaces of very many nodes against the bare work of the packages below."""
    yield from _graphs()
    yield from _meshes()
    yield from _clouds()


def _graphs() -> Iterator[Row]:
    adjacency = graph()
    ours, bare = side_by_side(lambda: he.Graph(adjacency), bare_graph(adjacency), rounds=2)
    yield within("Graph of 10^6 nodes, 10^7 edges: made", "scipy: transpose, components", ours, bare, 1.5)
    yield _memory("Graph of 10^6 nodes, 10^7 edges: peak memory", "graph")


def _meshes() -> Iterator[Row]:
    import robust_laplacian

    vertices, faces = mesh()
    ours, bare = side_by_side(
        lambda: he.Mesh(vertices, faces), lambda: robust_laplacian.mesh_laplacian(vertices, faces), rounds=1
    )
    yield within(f"Mesh of {len(vertices):,} vertices: made", "robust_laplacian alone", ours, bare, 1.0)
    yield _memory(f"Mesh of {len(vertices):,} vertices: peak memory", "mesh")


def _clouds() -> Iterator[Row]:
    from scipy.spatial import ConvexHull

    sample, reference = he.samplers.uniform(10**5, rng=0), "scipy: their convex hull"
    ours, kernel, bare = side_by_side(
        lambda: he.PointCloud(sample),
        lambda: he.PointCloud(sample, neighbours=8),
        lambda: ConvexHull(sample),
        rounds=1,
    )
    yield Row("PointCloud of 10^5 points: made", reference, ours, bare, "recorded", None)
    yield Row("PointCloud of 10^5 points, by a kernel: made", reference, kernel, bare, "recorded", None)


def _memory(work: str, what: str) -> Row:
    """Peak of a process that makes one of them, with all that it was made from."""
    found = subprocess.run([sys.executable, __file__, what], capture_output=True, text=True, check=True)
    used = float(found.stdout)
    return Row(work, "2 GB", used / 1e9, LIMIT / 1e9, "at most 1x", used <= LIMIT, unit="GB")


if __name__ == "__main__":
    space = he.Graph(graph()) if sys.argv[1] == "graph" else he.Mesh(*mesh())
    hash(space)
    print(peak())
