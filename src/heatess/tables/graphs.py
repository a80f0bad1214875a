"""Tables that hold a graph: networks, and lists of edges. The points that they give are the nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import IntArray
from ..base.errors import InputError
from ..spaces.networks import Network, as_number
from .edge_columns import LIKELY, TWICE, WEIGHTS, network_of_edges, one_of
from .read_options import Reading
from .table import Columns, Place, Table

#: Values of edges that are never their weights.
_NOT_USED = ("id", "key", "label", "name")

DIRECTED = "say `space='graph'` to add up both directions of each edge"


class NetworkTable(Columns):
    """The nodes of a network, and what it says about each of them."""

    def __init__(self, network: Network, source: str) -> None:
        values: dict[str, NDArray[Any]] = {"node": np.arange(network.count, dtype=np.float64)}
        texts: dict[str, Callable[[], Sequence[str]]] = {}
        for name, made in network.nodes.items():
            found = made()
            if name != "node" and (numbers := _numbers(found)) is not None:
                values[name] = numbers
            elif all(value is None or isinstance(value, str) for value in found):
                texts[name] = partial(_texts, found)
        super().__init__(values, source, row="node {} (counted from 0)", texts=texts)
        self.network = replace(network, source=source, remedy=DIRECTED if network.directed else TWICE)
        self.known = self.known.said(labels=network.names)

    def settled(self, reading: Reading) -> tuple[Table, Reading]:
        """The nodes with the graph that they are on."""
        _refuse_space(self, reading)
        return _nodes(self, self.network, _edge_value(self, reading.columns), reading), _on(reading)


class EdgeTable(Columns):
    """A list of edges, one a row, in a file that holds nothing else: columns of numbers, and of names."""

    def __init__(
        self, values: Mapping[str, NDArray[Any]], source: str, texts: Mapping[str, Sequence[str]], place: Place
    ) -> None:
        super().__init__(values, source, texts={name: partial(list, words) for name, words in texts.items()})
        self._place, self._count = place, len(next(iter(texts.values())))

    def _places(self, start: int) -> Place:
        return lambda row: self._place(start + row)

    def settled(self, reading: Reading) -> tuple[Table, Reading]:
        """The nodes of the graph."""
        _refuse_space(self, reading)
        return nodes_of_edges(self, reading)


def unique_names(network: Network) -> NDArray[np.str_] | None:
    """The label or name of each node, where all have one and no two the same; else the names of the network."""
    for name in ("label", "name"):
        if name in network.nodes:
            found = ["" if value is None else str(value) for value in network.nodes[name]()]
            if all(found) and len(set(found)) == len(found):
                return np.array(found, dtype=np.str_)
    return network.names


def _numbers(values: Sequence[Any]) -> NDArray[Any] | None:
    """Values as numbers, missing ones nan; None if some are none, or none is one."""
    found = np.array([as_number(value) for value in values])
    missing = np.array([value is None or value != value for value in values], dtype=bool)
    return found if not missing.all() and not np.isnan(found[~missing]).any() else None


def _texts(values: Sequence[Any]) -> list[str]:
    return ["" if value is None else value for value in values]


def nodes_of_edges(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """The nodes of the graph whose edges are the rows of a table, and how to read these."""
    network, weight = network_of_edges(table, reading)
    return _nodes(NetworkTable(network, table.source), network, weight, reading), _on(reading)


def _on(reading: Reading) -> Reading:
    """What is left to be read when the graph is made."""
    return replace(reading, space=None, columns=None)


def _refuse_space(table: Table, reading: Reading) -> None:
    if reading.space is not None and reading.graph is None:
        raise InputError(
            f"{table.source} is a graph, and its points are the nodes of it; leave out `space=`, or say `space='graph'`"
        )


def _nodes(table: NetworkTable, network: Network, weight: str | None, reading: Reading) -> Table:
    """The nodes with the graph that they are on."""
    from ..spaces import Graph

    if network.count < 2:
        held = f"{network.count} node{'s' * (network.count != 1)}"
        raise InputError(f"{table.source} holds <!{held}!>; a graph has <+at least two, joined by edges+>")
    links, remarks = network.links(network.weights(weight), both=reading.graph is not None)
    kept, parts = _component(links, table.source, reading)
    if kept is not None:
        links = links[kept][:, kept]
        remarks = [f"the largest of {parts:,} components", *remarks]
    rows = slice(None) if kept is None else kept
    labels = None if network.names is None else network.names[rows]
    columns = {name: table.stored(name)[rows] for name in table.names}
    columns["node"] = np.arange(links.shape[0], dtype=np.float64)
    if "degree" not in columns:
        columns["degree"] = np.asarray(links.sum(axis=0)).ravel()
    texts = {name: partial(_some, table, name, rows) for name in table.texts}
    found = Columns(columns, table.source, row="node {} (counted from 0)", texts=texts)
    found.space = Graph(links, labels=labels)
    found.note = ", ".join([_edges(links.nnz // 2, _weighted(network, weight)), *remarks])
    found.known = found.known.said(labels=labels)
    return found


def _some(table: Table, name: str, rows: Any) -> Sequence[str]:
    return np.array(table.text(name))[rows].tolist()  # type: ignore[no-any-return]


def _edges(count: int, weighted: str) -> str:
    return f"{count:,} edge{'s' * (count != 1)} {weighted}"


def _weighted(network: Network, weight: str | None) -> str:
    """How the edges count."""
    if weight is not None:
        missing = sum(value is None for value in network.values[weight]())
        return f"weighted by {weight}" + (f" ({missing:,} without it count{'s' * (missing == 1)} 1)" if missing else "")
    others = [name for name in network.values if name.lower() not in _NOT_USED]
    listed = ", ".join([*others[:3], *(["..."] if len(others) > 3 else [])])
    return "of equal weight" + (f" ({listed} not used)" if others else "")


def _component(links: Any, source: str, reading: Reading) -> tuple[IntArray | None, int]:
    """The nodes of the largest component, None if there is but one, and the number of components."""
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(links, directed=False)
    if count == 1:
        return None, 1
    sizes = np.bincount(label)
    if reading.graph == "largest":
        return np.flatnonzero(label == np.argmax(sizes)), count
    listed = ", ".join(f"{size:,}" for size in np.sort(sizes)[::-1][:5]) + (", ..." if count > 5 else "")
    raise InputError(
        f"{source} has <!{count:,} components!>, of {listed} nodes: heat does not pass between them, so there is no "
        "one uniform distribution; say `space='graph:largest'` for the largest of them alone, or read each by itself"
    )


def _edge_value(table: NetworkTable, columns: Any) -> str | None:
    """The value of edges that is their weight, as the user says or by its name; None for edges that count equally."""
    values = list(table.network.values)
    asked = list(columns.values()) if isinstance(columns, Mapping) else columns
    asked = asked.split(",") if isinstance(asked, str) else asked
    if asked is not None:
        if len(asked) != 1 or (isinstance(columns, Mapping) and list(columns) != ["weight"]):
            raise InputError(
                f"{table.source} has its edges already; `columns=` names <+the one value of edges that is their "
                f"weight+> (found <!{', '.join(values) or 'none'}!>), or is `columns='none'`"
            )
        return None if asked[0] == "none" else one_of(asked[0], values, table.source, "value of edges")
    certain = [name for name in values if name.lower() in WEIGHTS]
    likely = [name for name in values if name.lower() in LIKELY]
    if len(certain) > 1 or (likely and not certain):
        found = certain or likely
        choice = " or ".join(f"`columns={name!r}`" for name in found)
        raise InputError(
            f"{table.source}: edges have {' and '.join(found)}, which may be their weight; say {choice}, or "
            "`columns='none'` for edges that count equally"
        )
    return certain[0] if certain else None
