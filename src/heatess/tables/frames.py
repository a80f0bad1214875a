"""Data frames as tables: pandas, geopandas, polars, pyarrow, astropy, xarray, and dicts of arrays.

None of these packages is imported unless an object of it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..tensors import plain
from . import healpix
from .arrow import ArrowFrame
from .geometry import geometry_columns, is_geometry
from .table import Columns, Table, refuse_doubles
from .units import OTHERS

_DEGREES = ("deg", "degree", "degrees", "degrees_north", "degrees_east", "degree_north", "degree_east")
_RADIANS = ("rad", "radian", "radians")


def frame_table(obj: Any) -> Table | None:
    """The columns of a data frame, a dataset or a dict of arrays; None if *obj* is none of these.

    Text, dates and truth values are left out; missing numbers are nan; entries that are lists are vectors.

    >>> table = frame_table({"lon": [2.35, 139.69], "city": ["Paris", "Tokyo"], "lat": [48.86, None]})
    >>> table.names
    ['lon', 'lat']
    >>> [piece] = table.pieces(["lat"], None)
    >>> piece.columns
    [array([48.86,   nan])]

    A column UNIQ, or what the header of a HEALPix map says, makes a sky map of it.
    """
    table = _table(obj)
    meta = getattr(obj, "meta", None)
    header = {str(key).upper(): value for key, value in meta.items()} if isinstance(meta, Mapping) else {}
    if isinstance(table, Columns) and healpix.is_map(header, table.names):
        fields = {name: _Stored(table.stored(name)) for name in table.names}
        return healpix.sky_map(table.source, header, fields)
    return table


class _Stored(NamedTuple):
    """A column of a sky map."""

    array: NDArray[Any]

    def values(self) -> NDArray[Any]:
        return self.array

    def integers(self) -> NDArray[np.int64]:
        missing = np.isnan(self.array) if self.array.dtype.kind == "f" else np.zeros(self.array.shape, dtype=bool)
        return np.where(missing, -1, self.array).astype(np.int64)


def _table(obj: Any) -> Table | None:
    package = type(obj).__module__.partition(".")[0]
    bases = {base.__module__.partition(".")[0] for base in type(obj).__mro__}
    if isinstance(obj, dict):
        return _of_astropy({str(name): values for name, values in obj.items()}, list(obj), "the dict")
    if isinstance(obj, np.ndarray):
        named = obj.dtype.names and obj.ndim == 1
        return _columns({name: obj[name] for name in obj.dtype.names or ()}, [], "the array") if named else None
    if is_geometry(obj):
        return _of_geopandas(obj)
    if "pandas" in bases and hasattr(obj, "columns") and hasattr(obj, "iloc"):
        return _of_pandas(obj)
    if package == "polars" and hasattr(obj, "get_columns"):
        return _columns({column.name: _of_polars(column) for column in obj.get_columns()}, [], "the data frame")
    if package == "polars" and hasattr(obj, "collect"):
        return frame_table(obj.collect())
    if package == "pyarrow" and hasattr(obj, "schema") and hasattr(obj, "slice"):
        return ArrowFrame(obj)
    if "astropy" in bases and hasattr(obj, "colnames"):
        return _of_astropy({name: obj[name] for name in obj.colnames}, [], "the table")
    if hasattr(obj, "posterior") and type(obj.posterior).__module__.partition(".")[0] == "xarray":
        obj, package = obj.posterior, "xarray"
    if package == "xarray" and hasattr(obj, "data_vars"):
        return _of_xarray(obj)
    return None


def _columns(columns: Mapping[str, Any], names: Sequence[Any], source: str, units: Any = None) -> Columns:
    """The columns that hold numbers or vectors; *names* are the names before they were made text."""
    refuse_doubles([str(name) for name in names], source)
    arrays = {name: array for name, values in columns.items() if (array := _array(values, name, source)) is not None}
    return Columns(arrays, source, units={name: unit for name, unit in (units or {}).items() if name in arrays})


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
            found = f"{vector.size} numbers, but row {int(rows[0]):,} holds {width}"
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
    return _columns({name: _series(frame.iloc[:, place]) for place, name in enumerate(names)}, [], "the data frame")


def _series(series: Any) -> Any:
    """A column of pandas; nullable numbers become floats, what is no number stays as it is."""
    kind = series.dtype
    if isinstance(kind, np.dtype):
        return series.to_numpy()
    if getattr(kind, "kind", "O") in "fiu" and not hasattr(kind, "categories"):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if hasattr(kind, "pyarrow_dtype"):
        return _objects(series.tolist()) if "list" in str(kind) else np.array([], dtype=str)
    return np.array([], dtype=str)  # text, dates, categories


def _of_polars(series: Any) -> Any:
    kind = type(series.dtype).__name__
    if kind in ("List", "Array"):
        return _objects(series.to_list()) if series.null_count() or kind == "List" else series.to_numpy()
    return series.to_numpy() if series.dtype.is_numeric() and kind != "Decimal" else np.array([], dtype=str)


def _of_geopandas(frame: Any) -> Table:
    """Longitude and latitude of points, and the columns beside them, of which none is another place."""
    places = geometry_columns(frame)
    beside: dict[str, Any] = {}
    if hasattr(frame, "columns"):
        table = _of_pandas(frame.drop(columns=frame.geometry.name))
        other = ("lon", "longitude", "lng", "long", "lat", "latitude")
        beside = {name: table.stored(name) for name in table.names if name.lower() not in other}
    return Columns(places | beside, "the data frame", units=dict.fromkeys(places, "deg"))


def _of_astropy(columns: Mapping[str, Any], names: Sequence[Any], source: str) -> Table:
    """Columns of which some have a unit of astropy; angles become degrees unless all of them are radians."""
    found, units = {}, {}
    stated = {_angle_unit(getattr(column, "unit", None), "rad")[1] for column in columns.values()}
    kept = ("deg",) if "deg" in stated else ("deg", "rad")
    for name, column in columns.items():
        factor, unit = _angle_unit(getattr(column, "unit", None), *kept)
        values = column if isinstance(column, list | tuple) else _of_astropy_column(column)
        found[name] = values if factor == 1 else np.multiply(values, factor)
        if unit:
            units[name] = unit
    return _columns(found, names, source, units)


def _angle_unit(unit: Any, *kept: str) -> tuple[float, str | None]:
    """A factor, and the unit that numbers are in after it: one of those *kept*, or degrees."""
    word = _unit(unit)
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


def _unit(unit: Any) -> str | None:
    """Degrees, radians, or another unit of angles, which is refused where angles are needed."""
    word = str(unit).strip().lower()
    return "deg" if word in _DEGREES else "rad" if word in _RADIANS else word if word in OTHERS else None


def _of_xarray(dataset: Any) -> Table:
    """Variables along the samples: a dimension `sample`, or chain and draw one after the other, or the only one."""
    arrays = {str(name): dataset[name] for name in [*dataset.data_vars, *dataset.coords] if name not in dataset.dims}
    numeric = {name: array for name, array in arrays.items() if array.dtype.kind in "fiu" and array.ndim}
    along = _sample_dims(dataset, [numeric[str(name)] for name in dataset.data_vars if str(name) in numeric])
    columns, units = {}, {}
    for name, array in numeric.items():
        if name in along or name in ("chain", "draw") or not set(along) <= set(array.dims):
            continue
        values = np.asarray(array.transpose(*along, ...).values)
        rows = int(np.prod([array.sizes[dim] for dim in along]))
        values = values.reshape(rows, -1)
        columns[name] = values if array.ndim > len(along) else values[:, 0]
        if unit := _unit(array.attrs.get("units")):
            units[name] = unit
    return Columns(columns, "the dataset", units=units)


def _sample_dims(dataset: Any, variables: list[Any]) -> tuple[str, ...]:
    for dims in (("sample",), ("chain", "draw"), ("draw",)):
        if set(dims) <= set(dataset.dims):
            return dims
    shared = set.intersection(*(set(variable.dims) for variable in variables)) if variables else set()
    if len(shared) != 1:
        found = ", ".join(f"{name} {dict(variable.sizes)}" for name, variable in dataset.data_vars.items())
        advice = "stack them first: dataset.stack(sample=(...))"
        raise InputError(f"the dataset has no dimension sample and no chain and draw (found: {found}); {advice}")
    return (str(shared.pop()),)
