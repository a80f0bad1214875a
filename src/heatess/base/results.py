"""What all results have in common: frozen, and made plain values, JSON, tables, datasets, HTML and plots in one way."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_type_hints

import numpy as np

from .arrays import Frozen
from .errors import InputError, importing
from .notebook import HEADINGS, LENGTH, SHOWN_ROWS, Heading, cell, curve_in_svg, head
from .plain_values import decoded, finite, object_in, plain_value, put

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Result(Frozen):
    """A frozen dataclass of *columns*, arrays with one entry per row each, and *facts*, which are single values.

    Subclasses name their `schema`, their columns and their facts by attribute. All else follows: `to_dict` and
    `to_json` have these and every other field, from which `from_json` makes the same result again.
    """

    schema: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    facts: ClassVar[tuple[str, ...]]
    shown: ClassVar[tuple[str, ...]] = ()  #: columns in a notebook, all by default
    _curve: ClassVar[str] = ""  #: the column that a notebook draws
    row_name: ClassVar[str] = "scale"
    _row_key: ClassVar[str] = ""  #: the column that tells rows apart
    _others: ClassVar[Mapping[str, tuple[str, ...]]] = {}  #: arrays of another shape, with the names of their axes
    _unsaved: ClassVar[tuple[str, ...]] = ()  #: fields that are not written
    _drawing: ClassVar[str] = ""  #: the function that draws it: "module:name", relative to its own module

    def _value(self, name: str) -> Any:
        """A column by its name."""
        return getattr(self, name)

    def _column(self, name: str) -> Any:
        return np.atleast_1d(np.asarray(self._value(name)))

    def _table(self) -> dict[str, Any]:
        """The columns there are, by name."""
        return {name: self._column(name) for name in self.columns if self._value(name) is not None}

    def _facts(self) -> dict[str, Any]:
        return {name: plain_value(getattr(self, name)) for name in self.facts}

    @classmethod
    def _fields(cls) -> dict[str, str]:
        """The fields that are written, with the key of each: its name without a leading underscore."""
        every: Any = cls
        return {field.name: field.name.lstrip("_") for field in fields(every) if field.name not in cls._unsaved}

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values: arrays as lists, the space as its repr, and the schema's name.

        >>> import heatess as he
        >>> found = he.heat_profile(he.samplers.fibonacci(300), angles=[10, 60]).to_dict()
        >>> found["schema"], found["angles"], found["n"]
        ('heatess.profile/1', [10.0, 60.0], 300)
        """
        columns = {name: plain_value(self._value(name)) for name in self.columns}
        found = {"schema": self.schema, **columns, **self._facts()}
        own = {key: name for name, key in self._fields().items() if key not in found}
        return found | {key: plain_value(getattr(self, name)) for key, name in own.items()}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON; nan and infinities become null, and "infinite" says which of them are infinite.

        >>> import heatess as he
        >>> he.power_spectrum([[0, 0, 1], [0, 0, -1]], max_degree=2).to_json()[:60]
        '{"schema": "heatess.spectrum/1", "degrees": [0, 1, 2], "eige'
        """
        infinite: dict[str, str] = {}
        content = finite(self.to_dict(), "", infinite)
        return json.dumps(content | self._said(infinite), indent=indent, allow_nan=False)

    def _said(self, infinite: dict[str, str]) -> dict[str, Any]:
        return {"infinite": infinite} if infinite else {}

    @classmethod
    def from_json(cls, text: str, *, space: Any = None) -> Self:
        """The result that `to_json` wrote; one on a mesh, a graph or a point cloud needs its *space* too.

        >>> import heatess as he
        >>> text = he.chain_ess(he.samplers.uniform(50, rng=0), angles=[20, 60]).to_json()
        >>> he.ChainEss.from_json(text).worst_row
        0
        """
        return cls._read(object_in(text, cls.schema), space)

    @classmethod
    def _read(cls, found: dict[str, Any], space: Any) -> Self:
        """The result whose plain values these are."""
        for path, sign in found.get("infinite", {}).items():
            put(found, path.split("/"), float(sign))
        found = cls._mended(found)
        hints = get_type_hints(cls, localns=cls._types())
        made = cls(**{name: decoded(hints[name], found.get(key), key, space) for name, key in cls._fields().items()})
        for name in (*cls.columns, *cls.facts):  # what is computed when it is asked for, and was
            if isinstance(getattr(cls, name, None), cached_property) and found.get(name) is not None:
                vars(made)[name] = decoded(Any, found[name], name, space)
        made.__post_init__()
        made._refuse_lengths()
        return made

    @classmethod
    def _types(cls) -> dict[str, Any]:
        """Types of fields that the module of the class has only for the type checker."""
        return {}

    @classmethod
    def _mended(cls, found: dict[str, Any]) -> dict[str, Any]:
        """Plain values as the fields have them, where they are written in another way."""
        return found

    def _refuse_lengths(self) -> None:
        lengths = {name: len(column) for name, column in self._table().items()}
        first, count = next(iter(lengths.items()))
        for name, length in lengths.items():
            if length != count:
                raise InputError(f"{name} of this JSON has <!{length} entries!>, but {first} has <+{count}+>")

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per entry of the columns; single values are in its `attrs`.

        >>> import heatess as he
        >>> frame = he.heat_profile(he.samplers.fibonacci(300), angles=[10, 60]).to_frame()
        >>> frame[["angles", "gess"]].round(2)
           angles   gess
        0    10.0  131.1
        1    60.0    4.0
        >>> frame.attrs["n"]
        300
        """
        with importing("pandas", "table"):
            import pandas
        flat: dict[str, Any] = {}
        for name, column in self._table().items():
            parts = column.reshape(len(column), math.prod(column.shape[1:])).T
            flat |= {name if column.ndim == 1 else f"{name}_{k}": np.array(part) for k, part in enumerate(parts)}
        frame = pandas.DataFrame(flat)
        frame.attrs.update(self._facts())
        return frame

    def to_xarray(self) -> Any:
        """An xarray Dataset over the rows (for profiles the dimension `angle`); single values are its `attrs`.

        >>> import heatess as he
        >>> found = he.heat_profile(he.samplers.fibonacci(300), angles=[10, 60]).to_xarray()
        >>> found.gess.sel(angle=60).round(2).item()
        4.0
        >>> he.power_spectrum(he.samplers.fibonacci(300), max_degree=3).to_xarray().energies.dims
        ('degree',)
        """
        with importing("xarray", "xarray"):
            import xarray
        coordinates = self._coordinates()
        row, told = next(iter(coordinates), self.row_name), {*self._indices()}
        variables: dict[str, Any] = {
            name: ((row, *(f"{name}_{axis}" for axis in range(1, column.ndim))), np.array(column))
            for name, column in self._table().items()
            if name not in told
        }
        variables |= {name: (axes, np.array(getattr(self, name))) for name, axes in self._others.items()}
        attributes: dict[str, Any] = {}
        for name, value in self._facts().items():
            attributes |= {key: one for key, one in value.items() if one} if isinstance(value, dict) else {name: value}
        kept = {name: value for name, value in attributes.items() if value is not None}
        return xarray.Dataset(variables, coords=coordinates, attrs=kept)

    def _indices(self) -> tuple[str, ...]:
        """Columns that are coordinates."""
        return (self._row_key,) if self._row_key else ()

    def _coordinates(self) -> dict[str, Any]:
        """Of a dataset; the first one is that of the rows."""
        return {self.row_name: (self.row_name, np.array(self._column(self._row_key)))} if self._row_key else {}

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the result on *ax*, or on a new Figure, and return the Axes.

        >>> import heatess as he
        >>> ax = he.power_spectrum(he.samplers.uniform(300, rng=0), max_degree=20).plot()
        >>> ax.get_yscale()
        'log'
        """
        module, _, name = self._drawing.partition(":")
        draw = getattr(import_module(module, sys.modules[type(self).__module__].__package__), name)
        return draw(self, ax, **style)  # type: ignore[no-any-return]

    def _caption(self) -> str:
        """The line above the table in a notebook."""
        return repr(self)

    def _heading(self, name: str) -> Heading:
        """How a column is shown in a notebook."""
        found = HEADINGS.get(f"{type(self).__name__}.{name}") or HEADINGS.get(name) or Heading(name.replace("_", " "))
        if "{" in found.label:
            found = found._replace(label=found.label.format(*getattr(self, "names", ("a", "b"))))
        if found.unit == LENGTH:
            found = found._replace(unit="degrees" if getattr(getattr(self, "space", None), "angular", True) else "")
        return found

    def _repr_html_(self) -> str:
        table = {name: column for name, column in self._table().items() if column.ndim == 1}
        columns = {name: table[name] for name in self.shown or table}
        headings = {name: self._heading(name) for name in columns}
        count = len(next(iter(columns.values())))
        rows = np.unique(np.linspace(0, max(count - 1, 0), SHOWN_ROWS).astype(int))[:count]
        top = "".join(head(name, heading) for name, heading in headings.items())
        cells = ["".join(f"<td>{cell(columns[name][row], headings[name])}</td>" for name in columns) for row in rows]
        note = f"{len(rows)} of {count} {self.row_name}s" if len(rows) < count else f"all {self.row_name}s"
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        words = f"<p>{escape(self._caption())}; {note}</p>"
        return f"{words}{self._svg()}<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"

    def _svg(self) -> str:
        """The curve, on logarithmic axes; nothing if there is none, or less than two points of it."""
        if not self._curve:
            return ""
        x, y = self._column(next(iter(self._indices()))), self._column(self._curve)
        return curve_in_svg(x, y, self._heading(self._curve).label)
