"""Finite graphs: nodes joined by weighted edges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import EPS, FloatArray, numeric_array
from ...base.errors import InputError, InputTypeError
from ...base.messages import shown
from ..drawing import Cells, Drawing
from ..networks import Network, network_of
from .graph_layout import spread_out
from .laplacian import SHARP, TAIL, Laplacian
from .matrices import degrees_less, same_pattern, symmetric, with_data
from .node_names import NodeNames, labels_of
from .nodes import NodeSpace, refuse_components


class Graph(NodeSpace):
    """A connected graph with the combinatorial Laplacian D - W and the counting measure; points are node indices.

    With D - W (D the degrees, W the edge weights) equal weights on all nodes are exactly the uniform distribution, the
    heat kernel of a Cartesian product of graphs is the product of their heat kernels, and a grid of spacing h with edge
    weights 1 / h^2 is the manifold it samples. Heat crosses an edge at the rate of its weight: a time means seconds if
    weights are rates per second, and an edge of weight w is 1 / sqrt(w) long, one step at weight 1. The spectrum is
    finite, at most twice the largest degree, so any time down to zero is resolved where all modes fit. A graph is not
    homogeneous: a hub cools faster than a leaf, k_2t(x, x) depends on the place, and gESS need not fall with t.

    Parameters
    ----------
    adjacency : array-like or scipy sparse matrix, shape (n, n), or a graph of networkx or igraph
        A matrix is symmetric and not negative; its diagonal must be zero, because a loop carries no heat. Of a graph,
        parallel edges add up, as links side by side do, loops are left out, and so is the direction of edges that are
        there both ways alike; other directed graphs are refused.
    modes : int, optional
        Number of eigenpairs. Default: all on graphs of up to 1200 nodes, else what the finest scale needs.
    weight : str or None
        The edge attribute of a graph that holds the weights; an edge without it has weight 1, as in networkx. None for
        edges that all count 1.
    labels : sequence of str, optional
        The names of the nodes, by which points may then be given, as text. Default: those of the graph, for igraph the
        vertex attribute "name". Numbers are places in the order of the nodes, from 0; where nodes are called by other
        numbers, integers that may be either are refused.

    Examples
    --------
    A pair of neighbours and a pair of opposites on a ring of twelve:

    >>> import heatess as he
    >>> ring = np.roll(np.eye(12), 1, axis=1)
    >>> graph = he.Graph(ring + ring.T)
    >>> graph
    Graph(12 nodes, 12 edges)
    >>> round(he.gess([0, 1], space=graph, time=0.5), 2), round(he.gess([0, 6], space=graph, time=0.5), 2)
    (1.18, 2.0)

    Nodes by their names:

    >>> bridge = he.Graph(ring + ring.T, labels="Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())
    >>> round(he.gess(["Jan", "Feb"], space=bridge, time=0.5), 2)
    1.18
    """

    _dim = 0  # nodes are isolated points, and no Weyl's law says how eigenvalues grow
    _even = 4 * EPS  # nodes count one each, so that weights alone are rounded

    def __init__(
        self,
        adjacency: Any,
        modes: int | None = None,
        *,
        weight: str | None = "weight",
        labels: Sequence[str] | NDArray[Any] | None = None,
    ) -> None:
        network = network_of(adjacency)
        if network is not None:
            adjacency = network.links(network.weights(_chosen(network, weight))).matrix
        elif not isinstance(weight, str) or weight != "weight":
            raise InputError(
                "`weight=` names an edge attribute of <+a networkx or igraph graph+>; leave it out for <!a matrix!>"
            )
        self._adjacency = _check_adjacency(adjacency)
        own = None if network is None else network.names
        names = own if labels is None else labels_of(labels, self._adjacency.shape[0])
        self._names = None if names is None else NodeNames(names, repr(self))
        refuse_components(self._adjacency, "the graph", "make one Graph of each, or add the edges that join them")
        size = self._adjacency.shape[0]
        super().__init__(Laplacian(degrees_less(self._adjacency), np.ones(size)), modes, volume=float(size))

    @property
    def drawing(self) -> Drawing | None:
        """Nodes where springs along the edges put them, and edges."""
        joined = np.transpose(self._adjacency.nonzero())
        return Drawing(
            "graph",
            lambda nodes: np.asarray(self._layout[nodes[:, 0].astype(np.intp)]),
            ("", ""),
            layout="nodes",
            cells=lambda step, frame: Cells(self._every, self.node_count, 1),
            nodes=lambda: self._layout,
            node_of=lambda points: points[:, 0].astype(np.intp),
            edges=joined[joined[:, 0] < joined[:, 1]],
            footprint=None,
            note="Neighbours are drawn close together; lengths in the picture mean nothing else.",
        )

    @cached_property
    def _layout(self) -> FloatArray:
        """Nodes in a picture, shape (nodes, 2), so that neighbours are close."""
        functions = self.lowest_eigenpairs(self._every, min(3, self._most_modes)).functions[:, 1:]
        slow = np.column_stack([functions, np.zeros((len(functions), 2 - functions.shape[1]))])
        return spread_out(slow, self._adjacency)

    @property
    def _every(self) -> FloatArray:
        """All nodes as points."""
        return np.arange(self.node_count, dtype=np.float64)[:, None]

    def _content(self) -> tuple[NDArray[Any], ...]:
        names = () if self.labels is None else (self.labels,)
        return (self._adjacency.indptr, self._adjacency.indices, self._adjacency.data, *names)

    @property
    def labels(self) -> NDArray[np.str_] | None:
        """The names of the nodes in their order, if they have any."""
        return None if self._names is None else self._names.labels

    def names(self, points: NDArray[Any]) -> NDArray[np.str_] | None:
        """The names of checked points, if nodes have names."""
        return None if self.labels is None else np.asarray(self.labels[points[:, 0].astype(np.intp)])

    def _check_nodes(self, nodes: Any, name: str) -> FloatArray:
        """Numbers, or names as text; not integers that may be either."""
        try:
            given = np.asarray(nodes) if isinstance(nodes, list | tuple | np.ndarray) else np.empty(0)
        except ValueError:  # rows of different lengths, which are refused below
            given = np.empty(0)
        if self._names is None or given.dtype.kind not in "iuU" or given.ndim != 1:
            return super()._check_nodes(nodes, name)
        if given.dtype.kind == "U":
            return self._names.places(given.tolist())
        try:
            found = super()._check_nodes(nodes, name)
        except InputError as error:
            raise error.within(after="; names of nodes are given as text") from None
        self._names.refuse_numbers(found)
        return found

    def __repr__(self) -> str:
        return f"Graph({self._adjacency.shape[0]} nodes, {self._adjacency.nnz // 2} edges)"

    def cutoff(self, time: float) -> float:
        """The eigenvalue beyond which all the others together add less than `TAIL` to a trace of at least one."""
        return float(np.log(self.node_count / TAIL)) / (2 * time)

    def _limit(self, time: float) -> float:
        """The same for `SHARP` in place of `TAIL`, where so many can be found."""
        if self.flow is None or not self.serves(time):
            return self.cutoff(time)
        return self._need(time)[0]

    @cached_property
    def finest_of_nodes(self) -> float:
        """Zero where all modes fit or none is needed; else the time at which the most that fit suffice."""
        if self._laplacian.whole or self.flow is not None:
            return 0.0
        return self.cutoff(1.0) / self._laplacian.reaching(self._most_modes - self._most_modes // 8)

    @cached_property
    def finest_time(self) -> float:
        """The smallest time that the modes resolve; zero when there are as many modes as nodes."""
        if self._modes is None:
            return self.finest_of_nodes
        return 0.0 if self._modes == self.node_count else self._finest_of_modes()

    def _need(self, time: float) -> tuple[float, int]:
        """As the eigenvalues are distributed: no law says it. Where they would be too many there are runs."""
        limit, flow = float(np.log(self.node_count / SHARP)) / (2 * time), self.flow
        return limit, self.node_count if flow is None else flow.count(limit)

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent nodes, all equally likely."""
        return rng.integers(self.node_count, size=n).astype(np.float64)

    @cached_property
    def _edge_lengths(self) -> Any:
        return with_data(self._adjacency, 1 / np.sqrt(self._adjacency.data))


def _chosen(network: Network, weight: str | None) -> str | None:
    """The edge attribute that holds the weights; None where no edge has it and nobody asked for it."""
    if weight is not None and not isinstance(weight, str):
        raise InputTypeError(f"`weight=` <+names an edge attribute+>, but is <!{shown(weight)}!>")
    if weight is None or weight in network.values:
        return weight
    if weight != "weight":
        found = ", ".join(network.values) or "none at all"
        raise InputError(f"no edge has the <+attribute {weight!r}+> that `weight=` names; found <!{found}!>")
    return None


def _check_adjacency(adjacency: Any) -> Any:
    """A CSR matrix of its own, exactly symmetric, with sorted entries, none of them zero, or an `InputError`."""
    matrix = _own_csr(adjacency)
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise InputError(
            f"adjacency must be <+a square matrix of at least two nodes+>, but has <!shape {matrix.shape}!>"
        )
    matrix.sum_duplicates()
    if not matrix.data.all():
        matrix.eliminate_zeros()
    if matrix.nnz and not (matrix.data.min() > 0 and matrix.data.max() < np.inf):
        bad = np.flatnonzero(~(np.isfinite(matrix.data) & (matrix.data > 0)))
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        _refuse("be finite and not negative", row, matrix.indices[bad[0]], matrix.data[bad[0]], len(bad))
    diagonal = matrix.diagonal()
    if diagonal.any():
        loops = np.flatnonzero(diagonal)
        _refuse("have a zero diagonal (a loop carries no heat)", loops[0], loops[0], diagonal[loops[0]], len(loops))
    mirrored = matrix.T.tocsr()
    if same_pattern(matrix, mirrored) and np.array_equal(matrix.data, mirrored.data):
        return matrix
    _refuse_asymmetry(matrix, mirrored)
    return symmetric(matrix)


def _own_csr(adjacency: Any) -> Any:
    """The matrix as CSR in float64, with indices of 32 bits where they suffice, in memory of its own."""
    from scipy import sparse

    if not sparse.issparse(adjacency):
        array = numeric_array(adjacency, "adjacency")
        if array.ndim != 2:
            raise InputError(f"adjacency must be <+a square matrix+>, but has <!shape {array.shape}!>")
        return sparse.csr_array(array.astype(np.float64))
    stored = adjacency if adjacency.format in ("csr", "csc", "coo") else adjacency.tocoo()
    numeric_array(stored.data, "adjacency")
    matrix = sparse.csr_array(stored, dtype=np.float64, copy=True)
    if max(matrix.nnz, *matrix.shape) < 2**31:
        matrix.indices, matrix.indptr = (part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr))
    return matrix


def _refuse(expected: str, i: int, j: int, value: float, count: int) -> None:
    raise InputError(f"adjacency must <+{expected}+>, but entry ({i}, {j}) is <!{value:g}!> ({count} entries)")


def _refuse_asymmetry(matrix: Any, mirrored: Any) -> None:
    difference = abs(matrix - mirrored).tocoo()
    worst = int(np.argmax(difference.data))
    if difference.data[worst] > 1e-12 * matrix.data.max():
        i, j = difference.row[worst], difference.col[worst]
        raise InputError(
            f"adjacency must be <+symmetric+>, but <!entry ({i}, {j}) is {matrix[i, j]:g} and entry ({j}, {i}) is "
            f"{matrix[j, i]:g}!>; for an undirected graph give `(a + a.T) / 2`"
        )
