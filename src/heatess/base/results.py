"""What all results have in common: they are frozen, and become plain Python values, JSON, tables and HTML."""

from __future__ import annotations

import json
import math
from html import escape
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .arrays import Frozen
from .errors import missing_extra
from .known import Known

#: Rows that a table in a notebook shows at most.
_SHOWN_ROWS = 12


class Heading(NamedTuple):
    """What a column is called in a notebook, its unit, and the digits that are worth reading; shares are per cent."""

    label: str
    unit: str = ""
    digits: int = 4
    factor: float = 1.0


#: Columns by attribute. The unit of a length is that of the space: degrees, or the unit of distance.
_LENGTH = "length"
HEADINGS = {
    "angles": Heading("scale", _LENGTH, 3),
    "resolutions": Heading("resolution", _LENGTH, 3),
    "times": Heading("time", digits=3),
    "gess": Heading("gESS"),
    "gess_a": Heading("gESS of {0}"),
    "gess_b": Heading("gESS of {1}"),
    "places_a": Heading("places of {0}"),
    "places_b": Heading("places of {1}"),
    "volume": Heading("volume", "%", factor=100.0),
    "divergence": Heading("divergence", "nats"),
    "mmd2": Heading("MMD²", digits=3),
    "error": Heading("relative error", digits=1),
    "places_lower": Heading("places, from"),
    "places_upper": Heading("places, to"),
    "statistics": Heading("statistic"),
    "expected": Heading("if uniform"),
    "pvalues": Heading("p-value", digits=2),
    "ess": Heading("ESS", "draws"),
    "autocorrelation_times": Heading("autocorrelation time", "draws"),
    "rhat": Heading("R-hat"),
    "degrees": Heading("degree"),
    "eigenvalues": Heading("eigenvalue"),
    "multiplicities": Heading("modes"),
    "energies": Heading("energy"),
    "kl": Heading("KL", "nats"),
    "scales": Heading("came apart at", _LENGTH, 3),
    "shares": Heading("share", "%", 3, 100.0),
    "bic": Heading("BIC"),
    "indices": Heading("row", digits=20),
    "weights": Heading("weight"),
}


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
        """Plain Python values: arrays as lists, the space as its repr, and the schema's name.

        >>> import heatess as he
        >>> found = he.heat_profile(he.samplers.fibonacci(300), angles=[10, 60]).to_dict()
        >>> found["schema"], found["angles"], found["n"]
        ('heatess.profile/1', [10.0, 60.0], 300)
        """
        columns = {name: self._column(name).tolist() for name in self.columns}
        return {"schema": self.schema, **columns, **self._facts()}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON; nan and infinities become null.

        >>> import heatess as he
        >>> he.power_spectrum([[0, 0, 1], [0, 0, -1]], max_degree=2).to_json()[:60]
        '{"schema": "heatess.spectrum/1", "degrees": [0, 1, 2], "eige'
        """
        return json.dumps(_finite(self.to_dict()), indent=indent, allow_nan=False)

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

    def _heading(self, name: str) -> Heading:
        """How a column is shown in a notebook."""
        found = HEADINGS.get(name) or Heading(name.replace("_", " "))
        if "{" in found.label:
            found = found._replace(label=found.label.format(*getattr(self, "names", ("a", "b"))))
        if found.unit == _LENGTH:
            found = found._replace(unit="degrees" if getattr(getattr(self, "space", None), "angular", True) else "")
        return found

    def _repr_html_(self) -> str:
        names = self.shown or self.columns
        columns = {name: self._column(name) for name in names}
        headings = [self._heading(name) for name in names]
        count = len(columns[names[0]])
        rows = np.unique(np.linspace(0, max(count - 1, 0), _SHOWN_ROWS).astype(int))[:count]
        head = "".join(_head(name, heading) for name, heading in zip(names, headings, strict=True))
        cells = [
            "".join(f"<td>{_cell(columns[name][row], how)}</td>" for name, how in zip(names, headings, strict=True))
            for row in rows
        ]
        note = f"{len(rows)} of {count} {self.row_name}s" if len(rows) < count else f"all {self.row_name}s"
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        caption = f"<caption>{escape(self._caption())}; {note}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _head(name: str, heading: Heading) -> str:
    """A heading with its unit; a tooltip tells the attribute."""
    unit = f" ({heading.unit})" if heading.unit else ""
    return f'<th title="{escape(name)}">{escape(heading.label + unit)}</th>'


def _cell(value: Any, heading: Heading) -> str:
    if not isinstance(value, int | float | np.number) or isinstance(value, complex | np.complexfloating):
        return escape(str(value))
    return readable(heading.factor * float(value), heading.digits)


def readable(value: float, digits: int = 4) -> str:
    """A number for readers: so many significant digits, thousands separated, "-" for what is not a number.

    >>> [readable(value) for value in (1234567.8, 0.61234567, 3e-11, 45.0, float("nan"), float("inf"), 2e31)]
    ['1,234,568', '0.6123', '3e-11', '45', '-', '∞', '2e+31']
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if 10 ** min(digits, 9) <= abs(value) < 1e9:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if 1000 <= abs(value) < 1e9 and "." not in text else text


def plain_value(value: Any) -> Any:
    """One fact as a plain Python value: numbers and text as they are, anything else as its repr."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Known):
        return value.to_dict()
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
