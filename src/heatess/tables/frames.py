"""Data frames as tables: pandas, geopandas, polars, astropy, xarray, dicts of arrays, and whatever exports Arrow.

None of these packages is imported unless an object of it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..base.known import Known
from ..base.tensors import plain
from ..spaces.networks import network_of
from . import healpix
from .arrow_columns import ArrowFrame
from .cf import role_of
from .geopandas_points import geometry_columns, is_geometry
from .graphs import NetworkTable
from .grids import Grid
from .pixels import Stored
from .row_facts import CHAINS, DRAWS, TIMES
from .sky_columns import old_frame, sky_columns
from .table import Columns, Table, refuse_doubles
from .units import angle_word
from .unnamed_arrays import with_axes
from .variables import Variable
from .xarrays import chains_of_array, grid_of_array, table_of_dataset


def frame_table(obj: Any) -> Table | None:
    """The columns of a data frame, a dataset or a dict of arrays; None if *obj* is none of these.

    Text, dates and truth values are left out; missing numbers are nan; entries that are lists are vectors.

    >>> table = frame_table({"lon": [2.35, 139.69], "city": ["Paris", "Tokyo"], "lat": [48.86, None]})
    >>> table.names
    ['lon', 'lat']
    >>> [piece] = table.pieces(["lat"], None)
    >>> piece.columns
    [array([48.86,   nan])]

    A column UNIQ, or what the header of a HEALPix map says, makes a sky map of it; latitudes, longitudes and an array
    over both, in a dict or in xarray, make a grid.
    """
    table = _table(obj)
    meta = getattr(obj, "meta", None)
    header = {str(key).upper(): value for key, value in meta.items()} if isinstance(meta, Mapping) else {}
    if isinstance(table, Columns) and healpix.is_map(header, table.names):
        fields = {name: Stored(table.stored(name)) for name in table.names}
        return healpix.sky_map(table.source, header, fields)
    if table is not None:
        table.old = table.old or old_frame(header)
    return table


def _table(obj: Any) -> Table | None:
    if (network := network_of(obj)) is not None:
        return NetworkTable(network, "the graph")
    package = type(obj).__module__.partition(".")[0]
    bases = {base.__module__.partition(".")[0] for base in type(obj).__mro__}
    if isinstance(obj, dict):
        named = {str(name): values for name, values in obj.items()}
        return grid_of_arrays(named, "the dict") or _of_astropy(named, list(obj), "the dict")
    if isinstance(obj, np.ndarray):
        fields = obj.dtype.names if obj.ndim == 1 else None
        return _columns({name: obj[name] for name in fields}, [], "the array") if fields else None
    if is_geometry(obj):
        return _of_geopandas(obj)
    if "pandas" in bases and hasattr(obj, "columns") and hasattr(obj, "iloc"):
        return _of_pandas(obj)
    if package == "polars" and hasattr(obj, "get_columns"):
        return _columns({column.name: _of_polars(column) for column in obj.get_columns()}, [], "the data frame")
    if package == "polars" and hasattr(obj, "collect"):
        return frame_table(obj.collect())
    if package == "narwhals" and hasattr(obj, "to_native"):
        return frame_table(obj.to_native())
    if hasattr(obj, "__arrow_c_stream__") and (hasattr(obj, "columns") or hasattr(obj, "schema")):  # no single column
        return ArrowFrame.of(obj)
    if "astropy" in bases and hasattr(obj, "colnames"):
        return _of_astropy({name: obj[name] for name in obj.colnames}, [], "the table")
    if hasattr(obj, "posterior") and type(obj.posterior).__module__.partition(".")[0] == "xarray":
        obj, package = obj.posterior, "xarray"
    if package == "xarray" and hasattr(obj, "data_vars"):
        return table_of_dataset(obj)
    if package == "xarray" and hasattr(obj, "to_dataset"):
        return grid_of_array(obj) or chains_of_array(obj)
    return None


def _columns(columns: Mapping[str, Any], names: Sequence[Any], source: str, units: Any = None) -> Columns:
    """The columns that hold numbers or vectors; *names* are the names before they were made text."""
    refuse_doubles([str(name) for name in names], source)
    words = {name: values for name, values in columns.items() if callable(values)}  # of which a frame says it is text
    plain = {name: values for name, values in columns.items() if name not in words}
    arrays = {name: array for name, values in plain.items() if (array := _array(values, name, source)) is not None}
    words |= {name: text for name in plain if name not in arrays and (text := _text(plain[name])) is not None}
    known = {name: unit for name, unit in (units or {}).items() if name in arrays}
    return Columns(arrays, source, units=known, texts={name: words[name] for name in columns if name in words})


def _text(values: Any) -> Callable[[], list[str]] | None:
    """A function that gives the texts in a column; None if it holds something else."""
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "OUST":
        values = values.filled("" if values.dtype.kind != "S" else b"")
    array = _objects(values) if isinstance(values, list | tuple) else np.asarray(values)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "replace")
    if array.ndim != 1 or not len(array):
        return None
    if array.dtype.kind == "O" and not all(isinstance(value, str) or _is_missing(value) for value in array):
        return None
    if array.dtype.kind not in "OUT":
        return None
    return partial(_words, array)


def _words(values: Any) -> list[str]:
    """Texts, and dates as texts that sort as they do; missing ones are empty."""
    return [
        value if isinstance(value, str) else str(value) if hasattr(value, "isoformat") and value == value else ""
        for value in values
    ]


def _array(values: Any, name: str, source: str) -> Any:
    """Numbers (n,) or vectors (n, d), missing ones nan; None for anything else."""
    values = plain(values, f"{source}: column {name}")
    if isinstance(values, np.ma.MaskedArray) and not np.ma.is_masked(values):
        values = values.data
    if isinstance(values, np.ma.MaskedArray):
        if values.dtype.kind not in "fiu":
            return None
        kept = values.dtype if values.dtype.kind == "f" else np.float64
        values = np.where(np.ma.getmaskarray(values), np.nan, values.data).astype(kept)
    if isinstance(values, list | tuple):
        values = _objects(values)
    array = np.asarray(values)
    if array.dtype.kind == "O" and array.ndim == 1:
        return _of_objects(array, name, source)
    if array.dtype.kind not in "fiu" or array.ndim not in (1, 2):
        return None
    return array


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        array[row] = value
    return array


def _of_objects(column: NDArray[Any], name: str, source: str) -> Any:
    """Python objects: numbers and missing ones, or lists of numbers of one length; None for anything else."""
    missing = np.array([_is_missing(value) for value in column], dtype=bool)
    present = column[~missing]
    if not len(present):
        return np.full(len(column), np.nan) if len(column) else None
    if all(isinstance(value, int | float | np.integer | np.floating) for value in present):
        if any(isinstance(value, bool) for value in present):
            return None
        numbers = np.full(len(column), np.nan)
        numbers[~missing] = present.astype(np.float64)
        return numbers
    if not all(isinstance(value, list | tuple) or hasattr(value, "__array__") for value in present):
        return None
    return _stacked(column, missing, name, source)


class _Ragged:
    """A column of lists of several lengths, refused when it is asked for: beside other columns it does no harm."""

    def __init__(self, shape: tuple[int, int], error: InputError) -> None:
        self.shape, self._error = shape, error

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise self._error


def _stacked(column: NDArray[Any], missing: NDArray[np.bool_], name: str, source: str) -> Any:
    rows = np.flatnonzero(~missing)
    vectors = [np.asarray(column[row]) for row in rows]
    if any(vector.dtype.kind not in "fiu" and vector.dtype != object for vector in vectors):
        return None
    width = vectors[0].size
    for row, vector in zip(rows.tolist(), vectors, strict=True):
        if vector.shape != (width,):
            found = f"<!{vector.size} numbers!>, but row {int(rows[0]):,} holds <+{width}+>"
            words = f"{source} row {row:,} (counted from 0): column {name} holds {found}; drop or fix that row"
            return _Ragged((len(column), width), InputError(words, row=row))
    try:
        values = np.stack([vector.astype(np.float64) if vector.dtype == object else vector for vector in vectors])
    except (TypeError, ValueError):
        return None
    if not missing.any():
        return values
    kept = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
    matrix = np.full((len(column), width), np.nan, dtype=kept)
    matrix[rows] = values
    return matrix


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def _of_pandas(frame: Any) -> Columns:
    names = [".".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    refuse_doubles(names, "the data frame")
    series = {name: _series(frame.iloc[:, place]) for place, name in enumerate(names)}
    index = frame.index
    for place, name in enumerate(map(str, index.names)):  # chains, draws and times may be there instead of in columns
        if name.lower() in (*CHAINS, *DRAWS, *TIMES) and name not in series:
            series[name] = _series(index.get_level_values(place).to_series())
    table = _columns(series, [], "the data frame")
    if len(index) and all(isinstance(name, str) for name in index[:100]):
        table.known = table.known.said(labels=[str(name) for name in index])
    return table


def _series(series: Any) -> Any:
    """A column of pandas; nullable numbers become floats, what is no number stays as it is."""
    kind = series.dtype
    if isinstance(kind, np.dtype) and kind.kind == "M":
        return lambda: _words(series.tolist())
    if isinstance(kind, np.dtype):
        return series.to_numpy()
    if getattr(kind, "kind", "O") in "fiu" and not hasattr(kind, "categories"):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if hasattr(kind, "pyarrow_dtype"):
        return _objects(series.tolist()) if "list" in str(kind) else lambda: _words(series.tolist())
    return lambda: _words(series.tolist())  # text, dates, categories


def _of_polars(series: Any) -> Any:
    kind = type(series.dtype).__name__
    if kind in ("List", "Array"):
        return _objects(series.to_list()) if series.null_count() or kind == "List" else series.to_numpy()
    if series.dtype.is_numeric() and kind != "Decimal":
        return series.to_numpy()
    return lambda: _words(series.to_list())


def _of_geopandas(frame: Any) -> Table:
    """Longitude and latitude of points, and the columns beside them, of which none is another place."""
    places = geometry_columns(frame)
    beside: dict[str, Any] = {}
    words: dict[str, Callable[[], Sequence[str]]] = {}
    known = Known()
    if hasattr(frame, "columns"):
        table = _of_pandas(frame.drop(columns=frame.geometry.name))
        other = ("lon", "longitude", "lng", "long", "lat", "latitude")
        beside = {name: table.stored(name) for name in table.names if name.lower() not in other}
        words, known = {name: partial(table.text, name) for name in table.texts}, table.known
    found = Columns(places | beside, "the data frame", units=dict.fromkeys(places, "deg"), texts=words)
    found.known = known
    return found


def _of_astropy(columns: Mapping[str, Any], names: Sequence[Any], source: str) -> Table:
    """Columns of which some have a unit of astropy; angles become degrees unless all of them are radians."""
    found, units, converted = {}, {}, {}
    stated = {_angle_unit(getattr(column, "unit", None), "rad")[1] for column in columns.values()}
    kept = ("deg",) if "deg" in stated else ("deg", "rad")
    for name, column in columns.items():
        factor, unit = _angle_unit(getattr(column, "unit", None), *kept)
        values = column if isinstance(column, list | tuple) else _of_astropy_column(column)
        found[name] = values if factor == 1 else np.multiply(values, factor)
        if unit:
            units[name] = unit
        if factor != 1:
            converted[name] = str(column.unit)
    skies, frames = sky_columns(columns)
    table = _columns(found | skies, names, source, units | dict.fromkeys(skies, "deg"))
    table.converted, table.frames = converted, frames
    return table


def _angle_unit(unit: Any, *kept: str) -> tuple[float, str | None]:
    """A factor, and the unit that numbers are in after it: one of those *kept*, or degrees."""
    word = angle_word(unit)
    if word in kept or not hasattr(unit, "to"):
        return 1.0, word
    try:
        return float(unit.to("deg")), "deg"
    except Exception:  # no angle
        return 1.0, word


def _of_astropy_column(column: Any) -> Any:
    """Plain, masked and with a unit; coordinates and times of astropy are no numbers."""
    if not isinstance(column, np.ndarray):
        return column if not type(column).__module__.startswith("astropy") else np.array([], dtype=str)
    mask = getattr(column, "mask", None)
    values = np.asarray(getattr(column, "unmasked", column))
    return values if mask is None else np.ma.masked_array(values, np.asarray(mask))


def grid_of_arrays(columns: Mapping[str, Any], source: str) -> Grid | None:
    """The grid in arrays or nested lists with names; None if they hold none."""
    roles = [role_of(name, _plain_variable(np.zeros(1))) for name in columns]
    if not any(roles):
        return None
    arrays = {name: array for name, values in columns.items() if (array := _any_array(values)) is not None}
    if not any(array.ndim > 1 for array in arrays.values()):
        return None
    units = {name: str(getattr(columns[name], "unit", "") or "") for name in arrays}
    variables = with_axes(source, {name: _plain_variable(array, units[name]) for name, array in arrays.items()})
    return None if variables is None else Grid(source, variables)


def _any_array(values: Any) -> NDArray[Any] | None:
    """Numbers of any shape, missing ones nan; None for anything else."""
    values = plain(values, "the array")
    if isinstance(values, np.ma.MaskedArray) or getattr(values, "mask", None) is not None:
        values = _of_astropy_column(values)
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
        array = array.astype(np.float64) if array.dtype.kind == "O" else array
    except (ValueError, TypeError):  # lists of several lengths, records
        return None
    return array if array.dtype.kind in "fiu" and array.ndim else None


def _plain_variable(array: NDArray[Any], units: str = "") -> Variable:
    return Variable(("",) * array.ndim, array.shape, array.dtype, {"units": units}, lambda index: array[index])
