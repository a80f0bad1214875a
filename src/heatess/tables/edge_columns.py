"""Lists of edges, in columns of a table, as networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import InputError
from ..base.messages import shown
from ..spaces.networks import Network
from .read_options import Reading
from .suggest import near
from .table import Columns, Place, Rows, Table

#: Columns that hold the two ends of edges, by their names in lower case.
ENDS = (
    *(("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2")),
    *(("from_node", "to_node"), ("fromnodeid", "tonodeid"), ("source_id", "target_id")),
)

#: Values of edges that are their weights, and those that may be.
WEIGHTS = ("weight", "weights", "w", "wt")
LIKELY = ("value", "values", "count", "counts", "strength", "intensity", "frequency")

#: Numbers as large as this in a third column may be seconds since 1970.
_SECONDS_SINCE_1970 = 1e8

#: What to do about edges that are there more than once.
TWICE = "say `space='graph'` to add up edges that are there more than once, or delete the others"


class _Ends(NamedTuple):
    """The columns of a list of edges."""

    source: str
    target: str
    weight: str | None


def network_of_edges(table: Table, reading: Reading) -> tuple[Network, str | None]:
    """The network that a list of edges is, and the value of its edges that is their weight."""
    every = _every(table)
    if len(every) < 2:
        raise InputError(f"{table.source} has <!{len(every)} columns!>, but edges have <+two, their ends+>")
    ends = _by_user(table, every, reading.columns) if reading.columns else _by_names(table, every)
    if ends.weight is not None and ends.weight not in table.names:
        found = shown(table.text(ends.weight)[0])
        raise InputError(
            f"{table.source}: column {ends.weight} holds <!{found}!>, which is no <+weight of an edge+>; leave it out "
            f"with `columns=({ends.source!r}, {ends.target!r})`"
        )
    if reading.columns is None and ends.weight == "2":
        _refuse_times(table)
    place, weights = _rows(table, ends.weight)
    names: dict[str, int] = {}
    columns = []
    for column in (ends.source, ends.target):
        words = _words(table, column)
        if "" in words:
            raise InputError(f"{place(words.index(''))}: column {column} has no name of a node; fix or drop it")
        columns.append([names.setdefault(word, len(names)) for word in words])
    _refuse_edge_as_header(table, every, ends, names)
    pairs = np.array(columns, dtype=np.int64).T.reshape(-1, 2)
    labels = list(names)
    if all(label.isdecimal() and len(label) < 19 for label in labels):  # in the order of their numbers
        order = sorted(range(len(labels)), key=lambda node: (int(labels[node]), labels[node]))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        pairs, labels = rank[pairs], [labels[node] for node in order]
    weight = f"column {ends.weight}" if ends.weight and ends.weight.isdecimal() else ends.weight
    network = Network(
        source=table.source,
        count=len(labels),
        names=np.array(labels, dtype=np.str_),
        ends=pairs,
        directed=None,
        values={} if weight is None else {weight: lambda: weights},
        nodes={},
        place=place,
        remedy=TWICE,
    )
    return network, weight


def _refuse_edge_as_header(table: Table, every: list[str], ends: _Ends, nodes: Mapping[str, int]) -> None:
    """Refuse text whose header is likely its first edge: it names a node, or its weight is a number."""
    if isinstance(table, Rows | Columns) or every == [str(place) for place in range(len(every))]:
        return
    node = next((end for end in ends[:2] if end.strip() in nodes), None)
    if node is not None or (ends.weight and ends.weight.replace(".", "", 1).isdecimal()):
        why = f"{node} is also a node" if node is not None else f"{ends.weight} is a number"
        raise InputError(
            f"{table.source}: the header is <!{', '.join(every)}!>, but {why}; if it is the first edge, rename the "
            f"file to .edgelist, or write a header above it, such as source,target{',weight' * (len(every) > 2)}"
        )


def _rows(table: Table, weight: str | None) -> tuple[Place, list[float]]:
    """Where each row is, and its weight."""
    if weight is not None:
        piece = next(table.pieces([weight], None))
        return piece.place, piece.columns[0].tolist()
    try:
        return next(table.pieces([], None)).place, []
    except (InputError, StopIteration):
        return lambda row: f"{table.source} row {row:,} (counted from 0)", []


def _words(table: Table, column: str) -> list[str]:
    """Names of nodes as they are written; numbers that are all whole without a fraction, missing ones empty."""
    try:
        words = [word.strip() for word in table.text(column)]
    except InputError:
        words = [str(value) for value in next(table.pieces([column], None)).columns[0].tolist()]
    if column in table.texts or not isinstance(table, Columns | Rows):
        return words
    words = ["" if word == "nan" else word for word in words]
    whole = all(word.endswith(".0") or not word for word in words)
    return [word.removesuffix(".0") for word in words] if whole else words


def _every(table: Table) -> list[str]:
    """All columns; those without names in their order."""
    every = [*table.names, *(name for name in table.texts if name not in table.names)]
    return sorted(every, key=int) if all(map(str.isdecimal, every)) else every


def _by_user(table: Table, every: list[str], columns: Any) -> _Ends:
    """The columns that the user names."""
    if isinstance(columns, Mapping):
        roles = {role.lower(): name for role, name in columns.items()}
        if not {"source", "target"} <= set(roles) <= {"source", "target", "weight"}:
            raise InputError(
                f"`columns=` has the roles <!{', '.join(columns)}!>, but edges have <+source, target and, if they "
                "have one, weight+>"
            )
        columns = [roles[role] for role in ("source", "target", "weight") if role in roles]
    names = columns.split(",") if isinstance(columns, str) else list(columns)
    if len(names) not in (2, 3):
        raise InputError(
            f"{table.source}: `columns=` names <!{shown(columns)}!>, but edges have <+two columns, their ends, or "
            f"three, with their weight+> (found {', '.join(every)})"
        )
    found = [one_of(name, every, table.source, "column") for name in names]
    return _Ends(found[0], found[1], found[2] if len(found) == 3 else None)


def _by_names(table: Table, every: list[str]) -> _Ends:
    """The columns by their names, or all of them where they have none."""
    if every == [str(place) for place in range(len(every))]:
        return _without_names(table, len(every))
    plain = {name.strip().lower(): name for name in every}
    ends = edge_columns(every)
    if ends is None:
        header = "" if isinstance(table, Rows | Columns) else "; if it has no header, rename it to .edgelist"
        raise InputError(
            f"{table.source} has no <+columns known to hold the ends of edges, such as source, target or from, to+>; "
            f"name them with `columns=`, for instance `columns=({every[0]!r}, {every[1]!r})`{header} (found "
            f"<!{', '.join(every)}!>)"
        )
    weights = [plain[name] for name in WEIGHTS if name in plain]
    likely = [plain[name] for name in LIKELY if name in plain]
    if len(weights) > 1 or (likely and not weights):
        found = weights or likely
        choice = " or ".join(f"`columns={(*ends, name)!r}`" for name in found)
        raise InputError(
            f"{table.source}: {' and '.join(found)} may be the weight of edges; say {choice}, or `columns={ends!r}` "
            "for edges that count equally"
        )
    return _Ends(*ends, weights[0] if weights else None)


def _without_names(table: Table, count: int) -> _Ends:
    """Two columns, or three with the weight."""
    if count not in (2, 3):
        raise InputError(
            f"{table.source} has <!{count} columns without names!>, but edges have <+two, their ends, or three, with "
            "their weight+>; say for instance `columns=('0', '1')` or `columns=('0', '1', '2')`, counted from 0"
        )
    return _Ends("0", "1", "2" if count == 3 else None)


def edge_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """The columns that hold the two ends of edges by their names; None if there are none.

    >>> edge_columns(["Source", "Target", "Weight"])
    ('Source', 'Target')
    """
    plain = {name.strip().lower(): name for name in names}
    return next(((plain[one], plain[other]) for one, other in ENDS if one in plain and other in plain), None)


def _refuse_times(table: Table) -> None:
    """Refuse to take seconds since 1970 for weights."""
    piece = next(table.pieces(["2"], None))
    if len(piece.columns[0]) and float(np.nanmin(piece.columns[0])) > _SECONDS_SINCE_1970:
        raise InputError(
            f"{table.source}: the third column runs from {np.nanmin(piece.columns[0]):.0f} up, which may be times; say "
            "`columns=('0', '1')` to leave it out, or `columns=('0', '1', '2')` if it holds the weights of edges"
        )


def one_of(name: str, found: Sequence[str], source: str, what: str) -> str:
    """The one of some names that is meant; upper and lower case may differ."""
    plain = name.strip()
    matches = [one for one in found if one == plain] or [one for one in found if one.lower() == plain.lower()]
    if len(matches) == 1:
        return matches[0]
    raise InputError(
        f"{source} has no <+{what} {plain!r}+>; found <!{', '.join(found) or 'none'}!>{near(plain, list(found))}"
    )
