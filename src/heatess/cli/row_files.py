"""What `heatess thin` and `heatess modes` write: rows with all their columns and numbers, new weights or modes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..inference.modes import Modes
from ..inference.thinning import Thinned
from ..measures.measure import Measure
from ..tables.column_meaning import LOG_WEIGHTS, WEIGHTS
from ..tables.points_and_weights import complete_rows
from ..tables.read_options import Reading
from ..tables.row_facts import THINNED
from ..tables.table import Table
from ..tables.text_angles import with_angles

#: What is added to a name that a column of the input has already.
BEFORE = "_before"


class Kept(NamedTuple):
    """The rows that were kept of a table."""

    table: Table
    measure: Measure  #: before
    kept: Measure  #: after
    rows: IntArray  #: their numbers in the table

    def write(self, path: Path, suffix: str) -> str:
        """Write them to *path* as CSV or .npz, and say which columns are new."""
        return self._csv(path) if suffix == ".csv" else self._archive(path)

    def _csv(self, path: Path) -> str:
        every = self._coordinates() | self._beside()
        names = [name for name in (*self.table.names, *self.table.texts) if name in every]  # in their own order
        weights, ones = list(map(repr, self.kept.weights.tolist())), ["1"] * len(self.rows)
        renamed = _renamed(["row", "weight", THINNED], list(dict.fromkeys([*names, *every])))
        columns = {now: every[name] for name, now in renamed.items()}
        text = _csv_of({"row": self.rows.tolist(), **columns, "weight": weights, THINNED: ones})
        path.write_text(text, encoding="utf-8", newline="")
        return _in_words(self.table, "row", "weight", renamed)

    def labelled(self, found: Modes) -> tuple[str, str]:
        """All rows with the mode of each as CSV, and in words which columns are new."""
        every = self._coordinates() | self._beside()
        names = [name for name in (*self.table.names, *self.table.texts) if name in every]
        renamed = _renamed(["row", "mode"], list(dict.fromkeys([*names, *every])), weighted=False)
        columns = {now: every[name] for name, now in renamed.items()}
        text = _csv_of({"row": self.rows.tolist(), **columns, "mode": found.labels.tolist()})
        words = f"row is the {_noun(self.table)} in {self.table.source}, counted from 0, mode the mode it belongs to"
        return text, words + _changed(renamed)

    def _archive(self, path: Path) -> str:
        beside = self._beside()
        own = ["points", "weights", "rows", THINNED]
        renamed = _renamed(own, list(beside))
        arrays = {renamed[name]: _array(entries) for name, entries in beside.items()}
        arrays |= {"points": self.kept.points, "weights": self.kept.weights, "rows": self.rows}
        arrays[THINNED] = np.ones(len(self.rows))
        with path.open("wb") as stream:
            np.savez(stream, **arrays)
        return _in_words(self.table, "rows", "weights", renamed)

    def _points(self) -> list[str]:
        return list(self.measure.origin.columns) if self.measure.origin is not None else []

    def _coordinates(self) -> dict[str, Sequence[str]]:
        """The columns that the points were read from; vectors in one column become dim_0, dim_1, ..."""
        names = self._points()
        found: dict[str, Sequence[str]] = {}
        plain = [name for name in names if name not in self.table.lists]
        found |= zip(plain, self.table.entries(plain, self.rows), strict=True)
        for name in (name for name in names if name in self.table.lists):
            values = next(self.table.pieces([name], None)).columns[0][self.rows].astype(np.float64)
            found |= {f"dim_{place}": list(map(repr, column)) for place, column in enumerate(values.T.tolist())}
        return found

    def _beside(self) -> dict[str, Sequence[str]]:
        """All other columns, vectors as JSON, and the names of rows where they are in none of them."""
        points = set(self._points())
        every = dict.fromkeys([*self.table.names, *self.table.texts])
        names = [] if "rows" in points else [name for name in every if name not in points]
        found: dict[str, Sequence[str]] = dict(zip(names, self.table.entries(names, self.rows), strict=True))
        for name in self.table.lists:
            if name not in points and "rows" not in (name, *points):
                values = next(self.table.pieces([name], None)).columns[0][self.rows].tolist()
                found[name] = [json.dumps(vector) for vector in values]
        labels = self.kept.known.labels
        if labels is not None and not self.table.texts:
            found.setdefault("label", labels.tolist())
        return found


def kept_rows(table: Table, measure: Measure, found: Thinned, reading: Reading) -> Kept:
    """The rows of a table that were kept, rows that were left out before counted."""
    table, reading = settled(table, reading)
    return Kept(table, measure, found.measure, rows_of(table, measure, reading)[found.indices])


def all_rows(table: Table, measure: Measure, reading: Reading) -> Kept:
    """All rows of a table that points were made of."""
    table, reading = settled(table, reading)
    return Kept(table, measure, measure, rows_of(table, measure, reading))


def rows_of(table: Table, measure: Measure, reading: Reading) -> IntArray:
    """The row of a settled table that each atom was read from."""
    origin = measure.origin
    if origin is None or not origin.dropped:
        return np.arange(measure.n)
    names = [*origin.columns, *([origin.weights] if origin.weights in table.names else [])]
    return complete_rows(names, next(table.pieces(names, None)), reading)


def settled(table: Table, reading: Reading) -> tuple[Table, Reading]:
    """The table of whose rows points are made, such as cells of a grid or nodes of a graph, and how it is read."""
    if str(reading.weights or reading.log_weights).endswith(".npy"):
        reading = replace(reading, weights="none", log_weights=None)
    table, reading = table.settled(reading)
    return with_angles(table, reading), reading


def _csv_of(columns: dict[str, Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _renamed(new: Sequence[str], old: Sequence[str], *, weighted: bool = True) -> dict[str, str]:
    """A name for each old column: its own, unless it is that of a new one, or would be taken for new weights."""
    taken = {*new, *(name.lower() for name in old)}
    found = {}
    for name in old:
        word = name.strip().lower()
        found[name] = name
        if word in new or (weighted and (word in WEIGHTS or word in LOG_WEIGHTS)):
            found[name] = f"{name}{BEFORE}"
            while found[name].lower() in taken:
                found[name] += "_"
            taken.add(found[name].lower())
    return found


def _noun(table: Table) -> str:
    return "cell with a value" if table.cells else "row" if table.space is None else "node"


def _in_words(table: Table, row: str, weight: str, renamed: dict[str, str]) -> str:
    words = (
        f"{row} is the {_noun(table)} in {table.source}, counted from 0, {weight} the new weight, and {THINNED} says "
        "that these rows were chosen"
    )
    return words + _changed(renamed)


def _changed(renamed: dict[str, str]) -> str:
    changed = {name: now for name, now in renamed.items() if now != name}
    return f"; what was called {' and '.join(changed)} is called {' and '.join(changed.values())}" if changed else ""


def _array(entries: Sequence[str]) -> Any:
    """Numbers if all of them are, else text."""
    try:
        values: FloatArray = np.array([float(entry) if entry else np.nan for entry in entries])
    except ValueError:
        return np.array(entries, dtype=np.str_)
    return values
