"""What all results have in common: they are frozen, and become plain Python values, JSON, tables and HTML."""

from __future__ import annotations

import json
import math
from html import escape
from typing import Any, ClassVar

import numpy as np

from .arrays import Frozen
from .errors import missing_extra

#: Rows that a table in a notebook shows at most.
_SHOWN_ROWS = 12


class Result(Frozen):
    """A frozen dataclass of *columns*, arrays with one entry per row each, and *facts*, which are single values.

    Subclasses name their `schema`, their columns and their facts by attribute, and which columns `_repr_html_` shows.
    """

    schema: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    facts: ClassVar[tuple[str, ...]]
    shown: ClassVar[tuple[str, ...]] = ()
    row_name: ClassVar[str] = "scale"

    def _column(self, name: str) -> Any:
        return np.asarray(getattr(self, name))

    def _facts(self) -> dict[str, Any]:
        return {name: plain_value(getattr(self, name)) for name in self.facts}

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values: arrays as lists, the space as its repr, and the schema's name."""
        columns = {name: self._column(name).tolist() for name in self.columns}
        return {"schema": self.schema, **columns, **self._facts()}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON; nan and infinities become null."""
        return json.dumps(_finite(self.to_dict()), indent=indent, allow_nan=False)

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per entry of the columns; single values are in its `attrs`."""
        try:
            import pandas
        except ImportError:
            raise missing_extra("pandas", "table") from None
        frame = pandas.DataFrame({name: np.array(self._column(name)) for name in self.columns})
        frame.attrs.update(self._facts())
        return frame

    def _caption(self) -> str:
        """The line above the table in a notebook."""
        return repr(self)

    def _repr_html_(self) -> str:
        names = self.shown or self.columns
        columns = {name: self._column(name) for name in names}
        count = len(columns[names[0]])
        rows = np.unique(np.linspace(0, max(count - 1, 0), _SHOWN_ROWS).astype(int))[:count]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        cells = ["".join(f"<td>{_cell(columns[name][row])}</td>" for name in names) for row in rows]
        note = f"{len(rows)} of {count} {self.row_name}s" if len(rows) < count else f"all {self.row_name}s"
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        caption = f"<caption>{escape(self._caption())}; {note}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else escape(str(value))


def plain_value(value: Any) -> Any:
    """One fact as a plain Python value: numbers and text as they are, anything else as its repr."""
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
