"""Networks of Pajek (.net, .paj) and Cytoscape (.sif), as nodes and links.

networkx reads Pajek too, but takes lists of neighbours for edges with a weight, makes one node of those with the same
label, and needs a line for each of them.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.messages import shown
from ..tables.table import Table
from .nodelink import node_link
from .streams import Source, packed

SUFFIXES = packed((".net", ".paj", ".sif"))

#: Sections of Pajek that hold links: whether these have a direction, and whether a line has all of one node.
_LINKS = {"*edges": (False, False), "*arcs": (True, False), "*edgeslist": (False, True), "*arcslist": (True, True)}


def table(path: Path) -> Table:
    """The nodes of the network, with the names that the file gives them."""
    source = Source(path)
    with source.text("utf-8-sig") as (text, _):
        lines = [(place, line.strip()) for place, line in enumerate(text, 1)]
    lines = [(place, line) for place, line in lines if line and not line.startswith("%")]
    if not lines:
        raise InputError(f"{source.name} is empty; write the network again")
    found = (_sif if ".sif" in path.name.lower() else _pajek)(lines, source.name)
    network = node_link(found, source.name)
    if network is None:
        raise InputError(f"{source.name} has no nodes and links; write the network again")
    return network


def _sif(lines: list[tuple[int, str]], source: str) -> dict[str, Any]:
    """A node, or a node, a relation and one or more others a line; between tabs if there are any, else spaces."""
    mark = "\t" if any("\t" in line for _, line in lines) else None
    nodes: dict[str, None] = {}
    links = []
    for place, line in lines:
        one, *rest = [word.strip() for word in line.split(mark)]
        if len(rest) == 1:
            raise InputError(
                f"{source} line {place:,} has <!two words!>, but <+a relation and a node+> follow the first; fix it"
            )
        nodes.setdefault(one)
        for other in rest[1:]:
            nodes.setdefault(other)
            links.append({"source": one, "target": other, "relation": rest[0]})
    return {"nodes": [{"id": name} for name in nodes], "links": links}


def _pajek(lines: list[tuple[int, str]], source: str) -> dict[str, Any]:
    """Vertices by their numbers, and edges, arcs, lists of either, or a matrix."""
    heads = [(place, line.split()) for place, line in lines if line.lower().startswith("*vertices")]
    if len(heads) != 1 or len(heads[0][1]) < 2 or not heads[0][1][1].isdigit():
        raise InputError(
            f"{source} has <!{len(heads)} lines!> such as '*Vertices 34', but <+one+> is needed; write each network "
            "into a file of its own"
        )
    count = int(heads[0][1][1])
    if count > 64 * sum(len(line) for _, line in lines):
        raise InputError(f"{source} claims <!{count:,} vertices!>, more than it can have; fix its line '*Vertices'")
    labels, links, rows, section = {}, [], [], ""
    directions: set[bool] = set()
    for place, line in lines:
        if line.startswith("*"):
            section = line.split()[0].lower().rstrip(":")
            continue
        words = shlex.split(re.sub(r"^\d+:\s*", "", line).replace("'", "\\'"))
        try:
            if section == "*vertices":
                labels[int(words[0])] = words[1] if len(words) > 1 else words[0]
            elif section == "*matrix":
                rows.append([float(word) for word in words])
            elif section in _LINKS:
                directed, listed = _LINKS[section]
                directions.add(directed)
                one, *others = map(int, words if listed else words[:2])
                weight = {} if listed or len(words) < 3 else {"weight": float(words[2])}
                links += [{"source": one, "target": other} | weight for other in others]
        except (ValueError, IndexError):
            raise InputError(f"{source} line {place:,} is <!{shown(line)}!>, no line of <+{section[1:]}+>") from None
    if rows:
        if [len(row) for row in rows] != [count] * count:
            raise InputError(f"{source}: the matrix has not <+{count} rows and columns+>, one for each vertex")
        same = all(rows[i][j] == rows[j][i] for i in range(count) for j in range(i))
        directions.add(not same)
        plain = all(value in (0, 1) for row in rows for value in row)
        links += [
            {"source": i + 1, "target": j + 1} | ({} if plain else {"weight": rows[i][j]})
            for i in range(count)
            for j in range(i if same else 0, count)
            if rows[i][j]
        ]
    if len(directions) > 1:
        raise InputError(
            f"{source} has <!both edges and arcs!>, which have a direction; write '*Edges' in place of '*Arcs' if heat "
            "may flow both ways along these too"
        )
    nodes = [{"id": number, "label": labels.get(number, str(number))} for number in range(1, count + 1)]
    return {"nodes": nodes, "links": links, "directed": directions == {True}}
