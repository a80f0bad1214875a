"""Graphs in JSON: nodes and links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.messages import shown
from ..spaces.networks import Network, records
from ..tables.graphs import NetworkTable, unique_names
from ..tables.table import Table


def node_link(contents: Mapping[str, Any], source: str) -> Table | None:
    """The graph in JSON of nodes and links, as networkx, D3 and Cytoscape write it; None if there is none.

    Links name the id of a node or, where nodes have none, its place.
    """
    contents = _of_cytoscape(contents)
    links = next((contents[name] for name in ("links", "edges") if isinstance(contents.get(name), list)), None)
    nodes = contents.get("nodes")
    if not isinstance(nodes, list) or links is None or not all(isinstance(node, dict) for node in nodes):
        return None
    if not all(isinstance(link, dict) and "source" in link and "target" in link for link in links):
        return None
    ids = [node.get("id", place) for place, node in enumerate(nodes)]
    position = {str(name): place for place, name in enumerate(ids)}
    if len(position) < len(ids):
        again = next(name for place, name in enumerate(ids) if position[str(name)] != place)
        raise InputError(f"{source}: two nodes have the id <!{shown(again)}!>; give each its own")

    def place(edge: int) -> str:
        return f"{source} link {edge:,} (counted from 0)"

    def end(edge: int, role: str) -> int:
        name = links[edge][role]
        name = name.get("id", name.get("index")) if isinstance(name, dict) else name
        if str(name) not in position:
            raise InputError(f"{place(edge)}: {role} is <!{shown(name)}!>, <+the id of no node+>; fix or drop it")
        return position[str(name)]

    ends = [(end(edge, "source"), end(edge, "target")) for edge in range(len(links))]
    directed = contents.get("directed")
    network = Network(
        source=source,
        count=len(nodes),
        names=np.array([str(name) for name in ids], dtype=np.str_),
        ends=np.array(ends, dtype=np.int64).reshape(-1, 2),
        directed=directed if isinstance(directed, bool) else None,
        values=records([{k: v for k, v in link.items() if k not in ("source", "target")} for link in links], source),
        nodes=records([{k: v for k, v in node.items() if k != "id"} for node in nodes], source),
        place=place,
        remedy="",
    )
    return NetworkTable(replace(network, names=unique_names(network)), source)


def _of_cytoscape(contents: Mapping[str, Any]) -> Mapping[str, Any]:
    """Nodes and links of what Cytoscape writes, {"elements": {"nodes": [{"data": ...}], "edges": ...}}, or the same."""
    elements = contents.get("elements")
    if isinstance(elements, list):  # of Cytoscape.js: one list, in which edges have a source
        data = [entry["data"] for entry in elements if isinstance(entry, dict) and isinstance(entry.get("data"), dict)]
        links = [entry for entry in data if "source" in entry]
        return {"nodes": [entry for entry in data if "source" not in entry], "links": links} if data else contents
    if not isinstance(elements, dict) or not isinstance(elements.get("nodes"), list):
        return contents
    nodes, links = (
        [
            entry["data"]
            for entry in elements.get(name) or []
            if isinstance(entry, dict) and isinstance(entry.get("data"), dict)
        ]
        for name in ("nodes", "edges")
    )
    return {"nodes": nodes, "links": links, "directed": contents.get("directed")}
