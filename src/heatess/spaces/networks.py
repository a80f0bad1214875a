"""Networks as other packages and files have them: nodes with names, edges with values; not yet a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.errors import InputError
from ..base.messages import shown

#: Entries that a table of records may have, nearly all of them missing.
SPARSE = 2**22

#: One value for each edge or node, None where it has none; made when wanted.
Values = Callable[[], Sequence[Any]]


class Links(NamedTuple):
    """A symmetric matrix without loops, and what was done to the edges to make it, in words."""

    matrix: Any
    remarks: list[str]


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes and edges.

    `directed` is None where the source does not say whether it is, as in a list of pairs; `remedy` says what to do
    about edges that differ in their two directions.
    """

    source: str  #: what messages call it
    count: int
    names: NDArray[np.str_] | None
    ends: IntArray  #: shape (edges, 2)
    directed: bool | None
    values: Mapping[str, Values]  #: of the edges, by name
    nodes: Mapping[str, Values]  #: of the nodes
    place: Callable[[int], str]  #: an edge in words
    remedy: str

    def weights(self, name: str | None) -> FloatArray:
        """The weights of the edges, in their value *name*; 1 where an edge has none, and everywhere if that is None."""
        if name is None:
            return np.ones(len(self.ends))
        values = self.values[name]()
        array = np.array([1.0 if value is None else as_number(value) for value in values])
        bad = ~(np.isfinite(array) & (array >= 0))
        if bad.any():
            edge = int(np.argmax(bad))
            raise InputError(
                f"{self.place(edge)}: {name} must be <+a number, finite and not negative+>, but is "
                f"<!{shown(values[edge])}!>; fix or drop that edge"
            )
        return array

    def links(self, weights: FloatArray, *, both: bool = False) -> Links:
        """The matrix of an undirected graph: parallel edges add up, loops, which carry no heat, are left out.

        Edges that are there in both directions alike are taken once. Where they differ, both directions add up if
        *both* says so, and are refused if not.
        """
        from scipy import sparse

        first, second = self.ends[:, 0], self.ends[:, 1]
        loops = int((first == second).sum())
        remarks = [_counted(loops, "loop") + " left out"] if loops else []
        proper = (first != second) & (weights > 0)
        shape = (self.count, self.count)
        matrix = sparse.csr_array((weights[proper], (first[proper], second[proper])), shape=shape)
        matrix.sum_duplicates()
        repeated = int(proper.sum()) - matrix.nnz
        mirrored = matrix.T.tocsr()
        mirrored.sum_duplicates()
        if self.directed is not False and matrix.nnz and _alike(matrix, mirrored):
            remarks += ["each edge is there in both directions"]
            return Links(matrix, remarks + _parallel(repeated))
        total = matrix + mirrored
        opposite = matrix.nnz - total.nnz // 2
        if self.directed and not both and matrix.nnz:
            self._refuse_directed(matrix, mirrored)
        if self.directed is None and not both and (repeated or opposite):
            self._refuse_repeated(proper)
        if self.directed is not False and opposite:
            remarks += ["both directions of an edge add up"]
        elif self.directed:
            remarks += ["directions left out"]
        return Links(total, remarks + _parallel(repeated + (opposite if self.directed is False else 0)))

    def _refuse_directed(self, matrix: Any, mirrored: Any) -> None:
        difference = abs(matrix - mirrored).tocoo()
        worst = int(np.argmax(difference.data))
        i, j = int(difference.row[worst]), int(difference.col[worst])
        one, other = matrix[i, j], matrix[j, i]
        raise InputError(
            f"{self.source} is <!directed!> (from {self.name(i)} to {self.name(j)} the weight is {one:g}, back it is "
            f"{other:g}), but heat flows both ways along an edge; {self.remedy}"
        )

    def _refuse_repeated(self, proper: NDArray[np.bool_]) -> None:
        """Refuse a list of pairs in which one is there again, in this order or the other."""
        seen: dict[tuple[int, int], int] = {}
        for edge in np.flatnonzero(proper).tolist():
            i, j = sorted(self.ends[edge].tolist())
            if (i, j) in seen:
                raise InputError(
                    f"{self.place(edge)}: the edge of {self.name(i)} and {self.name(j)} is <!there again!>, first in "
                    f"{self.place(seen[i, j])}; {self.remedy}"
                )
            seen[i, j] = edge

    def name(self, node: int) -> str:
        """What a node is called, or its number."""
        return str(node) if self.names is None else repr(str(self.names[node]))


def _alike(matrix: Any, mirrored: Any) -> bool:
    return all(np.array_equal(getattr(matrix, part), getattr(mirrored, part)) for part in ("indptr", "indices", "data"))


def _parallel(count: int) -> list[str]:
    return [f"{_counted(count, 'parallel edge')} added to others"] if count else []


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def as_number(value: Any) -> float:
    """A number, or the number in a text, as files without types have it; nan if there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def network_of(graph: Any) -> Network | None:
    """A graph of networkx or igraph; None if *graph* is none. Neither package is imported."""
    packages = {base.__module__.partition(".")[0] for base in type(graph).__mro__}
    if "networkx" in packages and hasattr(graph, "is_multigraph"):
        return of_networkx(graph)
    if "igraph" in packages and hasattr(graph, "get_edgelist"):
        return _of_igraph(graph)
    return None


def of_networkx(graph: Any) -> Network:
    """A graph of networkx."""
    position = {node: place for place, node in enumerate(graph)}
    pairs = [(position[one], position[other]) for one, other in graph.edges()]
    edge_data = [data for *_, data in graph.edges(data=True)]
    node_data = [data for _, data in graph.nodes(data=True)]
    names = list(position)
    return Network(
        source="the graph",
        count=len(names),
        names=np.array([str(node) for node in names], dtype=np.str_),
        ends=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        directed=bool(graph.is_directed()),
        values=records(edge_data, "the graph"),
        nodes=records(node_data, "the graph"),
        place=lambda edge: f"edge ({names[pairs[edge][0]]!r}, {names[pairs[edge][1]]!r})",
        remedy="give `graph.to_undirected()`, which keeps one of two opposite edges, or `Graph(a + a.T)` with "
        "a = `networkx.to_scipy_sparse_array(graph)`, which adds them up",
    )


def _of_igraph(graph: Any) -> Network:
    pairs = graph.get_edgelist()
    called = graph.vs["name"] if "name" in graph.vs.attributes() else None

    def value(name: str) -> Values:
        return lambda: [np.nan if entry is None else entry for entry in graph.es[name]]

    def of_node(name: str) -> Values:
        return lambda: list(graph.vs[name])

    return Network(
        source="the graph",
        count=graph.vcount(),
        names=None if called is None else np.array([str(name) for name in called], dtype=np.str_),
        ends=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        directed=bool(graph.is_directed()),
        values={name: value(name) for name in graph.es.attributes()},
        nodes={name: of_node(name) for name in graph.vs.attributes()},
        place=lambda edge: f"edge {pairs[edge]}",
        remedy='give `graph.as_undirected(mode="each")`, which adds up opposite edges, or '
        '`graph.as_undirected(combine_edges="first")`, which keeps one of them',
    )


def refuse_sparse(source: str, names: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """An `InputError` if a table of these records and of so many *names* would be large, and nearly empty."""
    filled = sum(map(len, rows))
    if names * len(rows) > max(SPARSE, 100 * filled):
        raise InputError(
            f"{source} has {len(rows):,} records with <!{names:,} different names!>, of which a record has "
            f"{filled / len(rows):.3g} on average, so that nearly all entries are missing; write <+one name for each "
            "column+>, and the same ones in every record"
        )


def records(rows: Sequence[Mapping[str, Any]], source: str) -> dict[str, Values]:
    """The values in some records, by their names."""
    names = dict.fromkeys(name for row in rows for name in row)
    refuse_sparse(source, len(names), rows)

    def column(name: str) -> Values:
        return lambda: [row.get(name) for row in rows]

    return {str(name): column(name) for name in names}
