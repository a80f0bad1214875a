"""Graphs in GML and GraphML, by networkx. The points are the nodes."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from ..base.errors import InputError, importing
from ..spaces.networks import Network, of_networkx
from ..tables.graphs import NetworkTable, unique_names
from ..tables.table import Table
from .package_readers import reading
from .streams import Source, packed
from .unread_formats import GEOGRAPHY, refuse

SUFFIXES = packed((".gml", ".graphml"))


def table(path: Path) -> Table:
    """The nodes of a graph, with what the file says about each of them."""
    with importing("networkx", "graph"):
        import networkx
    kind = "GML" if ".gml" in path.name.lower() else "GraphML"
    with reading(path, kind, f"write it again, for instance with `networkx.write_{kind.lower()}`"):
        with Source(path).opened() as (stream, _):
            data = stream.read()
        if not data.strip():
            raise InputError(f"{path} is empty; write the graph again")
        if kind == "GML" and data.lstrip().startswith(b"<"):
            refuse(path, GEOGRAPHY)
        graph = _gml(data, path, networkx) if kind == "GML" else _graphml(data, path, networkx)
        return NetworkTable(_in_file(of_networkx(graph), path), str(path))


def _gml(data: bytes, path: Path, networkx: Any) -> Any:
    """Nodes by their ids: labels may be missing, or be there twice."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    try:
        return networkx.parse_gml(text.splitlines(), label="id")
    except networkx.NetworkXError as error:
        words = " ".join(str(error).split())
        if "duplicated" in words:
            raise InputError(
                f"{path}: {words.partition(' is duplicated')[0]} is there again; add the line 'multigraph 1' after "
                "'graph [' to add up such edges, or delete one of them"
            ) from None
        raise


def _graphml(data: bytes, path: Path, networkx: Any) -> Any:
    count = _graph_count(data, path)
    if count != 1:
        found = f"<!{count} graphs!>, but <+one+> is needed; write each into a file of its own"
        raise InputError(f"{path} holds {found if count else 'no graph; write it again as GraphML'}")
    return networkx.read_graphml(BytesIO(data))


def _graph_count(data: bytes, path: Path) -> int:
    """The number of graphs in XML; refused if it defines entities, which may grow without bounds or name files."""
    from xml.parsers import expat

    names: list[str] = []

    def defined(name: str, *_: Any) -> None:
        raise InputError(f"{path} defines the XML entity {name!r}, which is not expanded; write its value instead")

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = defined
    parser.StartElementHandler = lambda name, _: names.append(name) if name.endswith("graph") else None
    parser.Parse(data, True)
    return sum(name.rpartition(":")[2] == "graph" for name in names)


def _in_file(network: Network, path: Path) -> Network:
    """The network with names that the file gives its nodes, and edges in words of the file."""
    named, ends = replace(network, names=unique_names(network)), network.ends

    def place(edge: int) -> str:
        one, other = ends[edge]
        return f"{path} edge {edge:,} (counted from 0), of {named.name(one)} and {named.name(other)}"

    return replace(named, place=place)
