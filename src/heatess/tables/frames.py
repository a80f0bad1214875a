"""Data frames as tables: pandas, polars, pyarrow, astropy, xarray, and dicts of arrays.

None of these packages is imported unless an object of it is given.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import as_float64, numeric_array
from ..blocks import slices
from ..errors import InputError
from .table import Columns, Piece, Place, Table

_DEGREES = ("deg", "degree", "degrees", "degrees_north", "degrees_east", "degree_north", "degree_east")
_ROWS = 2**18  #: of Arrow, converted at a time
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
    """
    package = type(obj).__module__.partition(".")[0]
    bases = {base.__module__.partition(".")[0] for base in type(obj).__mro__}
    if isinstance(obj, dict):
        return _columns({str(name): values for name, values in obj.items()}, list(obj), "the dict")
    if isinstance(obj, np.ndarray):
        named = obj.dtype.names and obj.ndim == 1
        return _columns({name: obj[name] for name in obj.dtype.names or ()}, [], "the array") if named else None
    if "pandas" in bases and hasattr(obj, "columns") and hasattr(obj, "iloc"):
        return _of_pandas(obj)
    if package == "polars" and hasattr(obj, "get_columns"):
        return _columns({column.name: _of_polars(column) for column in obj.get_columns()}, [], "the data frame")
    if package == "polars" and hasattr(obj, "collect"):
        return frame_table(obj.collect())
    if package == "pyarrow" and hasattr(obj, "schema") and hasattr(obj, "slice"):
        return ArrowFrame(obj)
    if "astropy" in bases and hasattr(obj, "colnames"):
        return _of_astropy(obj)
    if hasattr(obj, "posterior") and type(obj.posterior).__module__.partition(".")[0] == "xarray":
        obj, package = obj.posterior, "xarray"
    if package == "xarray" and hasattr(obj, "data_vars"):
        return _of_xarray(obj)
    return None


def _columns(columns: Mapping[str, Any], names: Sequence[Any], source: str, units: Any = None) -> Table:
    """The columns that hold numbers or vectors; *names* are the names before they were made text."""
    _refuse_doubles([str(name) for name in names], source)
    arrays = {name: array for name, values in columns.items() if (array := _array(values, name, source)) is not None}
    return Columns(arrays, source, units={name: unit for name, unit in (units or {}).items() if name in arrays})


def _refuse_doubles(names: Sequence[str], source: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{source} has {names.count(name)} columns {name!r}; rename or drop one of them")


def _array(values: Any, name: str, source: str) -> Any:
    """Numbers (n,) or vectors (n, d), missing ones nan; None for anything else."""
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


def _of_pandas(frame: Any) -> Table:
    names = [".".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    _refuse_doubles(names, "the data frame")
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


def _of_astropy(table: Any) -> Table:
    columns = {name: _of_astropy_column(table[name]) for name in table.colnames}
    units = {name: _unit(getattr(table[name], "unit", None)) for name in table.colnames}
    return _columns(columns, [], "the table", {name: unit for name, unit in units.items() if unit})


def _of_astropy_column(column: Any) -> Any:
    """Plain, masked and with a unit; coordinates and times are no numbers."""
    if not isinstance(column, np.ndarray):
        return np.array([], dtype=str)
    mask = getattr(column, "mask", None)
    values = np.asarray(getattr(column, "unmasked", column))
    return values if mask is None else np.ma.masked_array(values, np.asarray(mask))


def _unit(unit: Any) -> str | None:
    word = str(unit).strip().lower()
    return "deg" if word in _DEGREES else "rad" if word in _RADIANS else None


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


# Arrow: in memory, and the base of what is read from Parquet and Arrow files.


class Root(NamedTuple):
    """Where in an Arrow schema a column comes from."""

    column: str
    kind: str  #: "number", "list", "lon" and "lat" of a geometry, or "other"
    type: Any
    child: str | None = None  #: the member of a struct

    @property
    def path(self) -> str:
        """What selects it in a file."""
        return f"{self.column}.{self.child}" if self.child else self.column


class ArrowTable(Table):
    """Columns of Arrow; those that hold no numbers fail when they are read."""

    def __init__(self, schema: Any, source: str) -> None:
        from pyarrow import types

        self.source = source
        self._fields = list(schema.names)
        roots = [root for field in schema for root in _roots(field, types)]
        geometry = _geometry(schema)
        if geometry and not {"lon", "lat"} & {root.path for root in roots}:
            field = schema.field(geometry.column)
            if geometry.degrees:
                roots += [Root(geometry.column, axis, field.type) for axis in ("lon", "lat")]
                self.units, self.about = {"lon": "deg", "lat": "deg"}, "earth"
            self.note = geometry.note
        self._roots = {root.kind if root.kind in ("lon", "lat") else root.path: root for root in roots}
        self.names = [name for name, root in self._roots.items() if root.kind != "list"]
        self.lists = [name for name, root in self._roots.items() if root.kind == "list"]

    @abstractmethod
    def _parts(self, roots: list[Root], rows: int) -> Iterator[tuple[Callable[[Root], Any], int, float]]:
        """A function that gives a column, the number of its first row, and the share read; for some rows each."""

    @abstractmethod
    def _count(self) -> int:
        """The number of rows."""

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Numbers and vectors as NumPy arrays; missing ones are nan."""
        if rows is not None:
            yield from self._some(names, rows)
            return
        count, start = self._count(), 0
        columns: list[NDArray[Any]] = []
        for piece in self._some(names, _ROWS):
            columns = columns or [np.empty((count, *part.shape[1:]), part.dtype) for part in piece.columns]
            for column, part in zip(columns, piece.columns, strict=True):
                column[start : start + len(part)] = part
            start += len(piece.columns[0]) if piece.columns else 0
            if self.watch is not None:
                self.watch(piece.done)
        if not count:
            raise InputError(f"{self.source} has no rows; at least one point is needed")
        yield Piece(columns, self._places(0), 1.0)

    def _some(self, names: Sequence[str], rows: int) -> Iterator[Piece]:
        roots = [self._checked(name) for name in names]
        widths: dict[str, int] = {}
        for get, start, done in self._parts(roots, rows):
            place = self._places(start)
            points: dict[str, NDArray[Any]] = {}
            columns = []
            for name, root in zip(names, roots, strict=True):
                if root.kind in ("lon", "lat"):
                    if root.column not in points:
                        points[root.column] = _points(get(root), root, place)
                    columns.append(points[root.column][:, 0 if root.kind == "lon" else 1])
                elif root.kind == "list":
                    columns.append(arrow_vectors(get(root), name, place, widths.get(name)))
                    widths[name] = columns[-1].shape[1]
                else:
                    columns.append(arrow_numbers(_member(get(root), root), f"column {name}", place))
            yield Piece(columns, place, done)

    def _checked(self, name: str) -> Root:
        root = self._roots[name]
        if self._fields.count(root.column) > 1:
            raise InputError(
                f"{self.source} has {self._fields.count(root.column)} columns {name!r}; rename one of them"
            )
        if root.kind == "other":
            advice = "convert it, or name another column"
            raise InputError(f"{self.source}: column {name} holds {root.type}, not numbers; {advice}")
        return root

    def _places(self, start: int) -> Place:
        return lambda row: f"{self.source} row {start + row:,} (counted from 0)"


class ArrowFrame(ArrowTable):
    """A table of pyarrow in memory."""

    def __init__(self, table: Any) -> None:
        super().__init__(table.schema, "the table")
        _refuse_doubles(self._fields, "the table")
        self._table = table
        self.names = [name for name in self.names if self._roots[name].kind != "other"]

    def _count(self) -> int:
        return int(self._table.num_rows)

    def _parts(self, roots: list[Root], rows: int) -> Iterator[tuple[Callable[[Root], Any], int, float]]:
        count = self._count()
        for part in slices(count, rows):
            yield self._getter(part), part.start, part.stop / count

    def _getter(self, part: slice) -> Callable[[Root], Any]:
        return lambda root: self._table.column(root.column).slice(part.start, part.stop - part.start)


def _roots(field: Any, types: Any) -> list[Root]:
    if types.is_struct(field.type):
        members = [field.type.field(place) for place in range(field.type.num_fields)]
        return [Root(field.name, "number", member.type, member.name) for member in members if _is_number(member.type)]
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if any(is_kind(field.type) for is_kind in lists) and _is_number(field.type.value_type):
        return [Root(field.name, "list", field.type)]
    return [Root(field.name, "number" if _is_number(field.type) else "other", field.type)]


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_floating(kind) or types.is_integer(kind))


def _member(column: Any, root: Root) -> Any:
    if not root.child:
        return column
    from pyarrow import compute

    return compute.struct_field(column, root.child)


def arrow_numbers(column: Any, name: str, place: Place | None = None) -> NDArray[Any]:
    """A column of Arrow numbers, nulls nan: floats as they are; integers that would be rounded are refused."""
    missing: NDArray[Any] | None = None
    if column.null_count and not str(column.type).startswith(("float", "half", "double")):
        missing = ~np.asarray(column.is_valid())
        column = column.fill_null(0)
    found = column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
    if found.dtype.kind in "iu":
        found = as_float64(found, name, place)
    if missing is not None:
        found[missing] = np.nan
    return numeric_array(found, name)


def arrow_vectors(column: Any, name: str, place: Place, width: int | None = None) -> NDArray[Any]:
    """A column of Arrow lists as rows of a matrix with the precision of the column; nulls are nan."""
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    width = width or getattr(column.type, "list_size", None)
    found: NDArray[Any] | None = None
    start, dtype = 0, np.dtype(np.float64)
    for chunk in chunks:
        valid = np.asarray(chunk.is_valid())
        lengths = np.asarray(chunk.value_lengths().fill_null(0))
        if valid.any() and width is None:
            width = int(lengths[np.argmax(valid)])
            if width < 1:
                raise InputError(
                    f"{place(start + int(np.argmax(valid)))}: column {name} holds an empty list; drop that row"
                )
        bad = valid & (lengths != width)
        if bad.any():
            row = int(np.argmax(bad))
            what = f"column {name} holds {lengths[row]} numbers, but {width} in rows before"
            raise InputError(
                f"{place(start + row)}: {what} ({int(bad.sum()):,} such rows here); drop or fix those rows"
            )
        kept = start + np.flatnonzero(valid)
        flat = arrow_numbers(chunk.flatten(), f"column {name}", _entries(kept, width or 1, place))
        dtype = flat.dtype
        if len(chunks) == 1 and valid.all() and width:
            return flat.reshape(len(chunk), width)
        if width:
            if found is None:  # rows so far, if any, are null
                found = np.full((len(column), width), np.nan, dtype)
            found[start : start + len(chunk)][valid] = flat.reshape(-1, width)
        start += len(chunk)
    if found is None and width:
        found = np.full((len(column), width), np.nan, dtype)
    if found is None:
        raise InputError(f"{place(0)} and the next {len(column) - 1:,}: column {name} is empty; drop those rows")
    return found


def _entries(rows: NDArray[Any], width: int, place: Place) -> Place:
    """The place of an entry of some *rows*, each of so many entries."""
    return lambda entry: place(int(rows[entry // width]))


# GeoParquet and GeoArrow points.

_SHAPES = {2: "LineString", 3: "Polygon", 4: "MultiPoint", 5: "MultiLineString", 6: "MultiPolygon", 7: "a collection"}


class Geometry(NamedTuple):
    """The column of a file that holds points, and whether these are longitude and latitude."""

    column: str
    degrees: bool
    note: str


def _geometry(schema: Any) -> Geometry | None:
    """The geometry column that the file's notes name."""
    try:
        geo = json.loads((schema.metadata or {}).get(b"geo", b"{}"))
        name = geo.get("primary_column")
        if name in schema.names:
            return _geometry_in(name, geo["columns"][name].get("crs", "OGC:CRS84"))
        for field in schema:
            notes = field.metadata or {}
            if notes.get(b"ARROW:extension:name") in (b"geoarrow.wkb", b"geoarrow.point"):
                return _geometry_in(field.name, json.loads(notes.get(b"ARROW:extension:metadata") or "{}").get("crs"))
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    return None


def _geometry_in(column: str, crs: Any) -> Geometry:
    if isinstance(crs, dict):
        words = f"{crs.get('id', {}).get('authority', '')}:{crs.get('id', {}).get('code', '')}".strip(":")
        words, degrees = words or str(crs.get("name", "a system of its own")), crs.get("type") == "GeographicCRS"
    else:
        words, degrees = str(crs or "an unknown system"), str(crs).upper() in ("OGC:CRS84", "EPSG:4326")
    note = f"points of column {column}" if degrees else f"column {column} is in {words}, not longitude and latitude"
    return Geometry(column, degrees, note)


def _points(column: Any, root: Root, place: Place) -> NDArray[Any]:
    """Longitude and latitude of a geometry column, (n, 2)."""
    from pyarrow import types

    if types.is_struct(root.type):
        members = [_member(column, root._replace(child=axis)) for axis in ("x", "y")]
        return np.column_stack([arrow_numbers(member, f"column {root.column}") for member in members])
    if types.is_binary(root.type) or types.is_large_binary(root.type):
        chunks = column.chunks if hasattr(column, "chunks") else [column]
        found, start = [np.empty((0, 2))], 0
        for chunk in chunks:
            found.append(_wkb_points(chunk, root.column, _shifted(place, start)))
            start += len(chunk)
        return np.concatenate(found)
    if types.is_fixed_size_list(root.type) or types.is_list(root.type) or types.is_large_list(root.type):
        return arrow_vectors(column, root.column, place)
    raise InputError(f"{place(0)}: column {root.column} holds {root.type}, not points; export longitude and latitude")


def _shifted(place: Place, start: int) -> Place:
    return lambda row: place(start + row)


def _wkb_points(chunk: Any, name: str, place: Place) -> NDArray[Any]:
    """Points in well-known binary, of ISO and of PostGIS, in either byte order."""
    large = "large" in str(chunk.type)
    _, ends, data = chunk.buffers()
    offsets = np.frombuffer(ends, np.int64 if large else np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    codes = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    valid = np.asarray(chunk.is_valid())
    found = np.full((len(chunk), 2), np.nan)
    for part in slices(len(chunk)):
        rows = np.flatnonzero(valid[part]) + part.start
        starts, lengths = offsets[rows].astype(np.int64), np.diff(offsets.astype(np.int64))[rows]
        _refuse_rows(lengths < 21, rows, place, f"column {name} holds no point")
        big = codes[starts] == 0
        head = codes[starts[:, None] + np.arange(1, 5)]
        kinds = np.where(big, head.view(">u4")[:, 0], head.view("<u4")[:, 0]).astype(np.int64)
        shapes = (kinds & 0x1FFFFFFF) % 1000
        wrong = shapes[shapes != 1]
        _refuse_rows(shapes != 1, rows, place, f"column {name} holds {_shape(*wrong[:1])}, not Point")
        first = starts + np.where(kinds & 0x20000000, 9, 5)
        _refuse_rows(first + 16 > starts + lengths, rows, place, f"column {name} holds a point cut short")
        body = codes[first[:, None] + np.arange(16)]
        found[rows] = np.where(big[:, None], body.view(">f8"), body.view("<f8"))
    return found


def _shape(code: int = 0) -> str:
    return _SHAPES.get(int(code), "something else")


def _refuse_rows(bad: NDArray[np.bool_], rows: NDArray[Any], place: Place, found: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{place(int(rows[row]))}: {found}; keep points alone, or take centroids")
