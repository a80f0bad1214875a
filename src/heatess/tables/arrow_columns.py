"""Columns of Arrow as tables: in memory, and the base of what is read from Parquet and Arrow files."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import as_float64, numeric_array
from ..base.blocks import in_order, slices
from ..base.errors import InputError, importing
from .table import GLANCE, Piece, Place, Table, refuse_doubles

#: Numbers converted at a time, and numbers that stay in the second-level cache while they are put side by side.
_NUMBERS, _CACHED = 2**20, 2**15


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
            else:
                self.hint = f"{geometry.note}; {self._conversion(geometry)}"
            self.note = geometry.note
        self._roots = {root.kind if root.kind in ("lon", "lat") else root.path: root for root in roots}
        self.names = [name for name, root in self._roots.items() if root.kind != "list"]
        self.lists = [name for name, root in self._roots.items() if root.kind == "list"]
        self.texts = [name for name, root in self._roots.items() if root.kind == "other" and _is_text(root.type)]

    def text(self, name: str) -> list[str]:
        """A column of text, or numbers as text; nulls are empty."""
        if name not in self._roots:
            return list(super().text(name))
        return [text for part in self._text_parts(name, _NUMBERS) for text in part]

    def glance(self, name: str) -> list[str]:
        """The first entries alone."""
        return next(self._text_parts(name, GLANCE), [])[:GLANCE]

    def _text_parts(self, name: str, rows: int) -> Iterator[list[str]]:
        root = self._roots[name]
        for get, _, _ in self._parts([root], rows):
            yield _words(_member(get(root), root))

    def places(self) -> Place:
        """Rows are counted from 0."""
        return self._places(0)

    def _conversion(self, geometry: Geometry) -> str:
        """How a geometry is brought to longitude and latitude."""
        if geometry.system:
            return 'convert it with GeoPandas: `frame.to_crs("EPSG:4326")`'
        return (
            'if it is longitude and latitude, say so with GeoPandas: `frame.set_crs("EPSG:4326", allow_override=True)`'
        )

    @abstractmethod
    def _parts(self, roots: list[Root], rows: int) -> Iterator[tuple[Callable[[Root], Any], int, float]]:
        """A function that gives a column, the number of its first row, and the share read; for some rows each."""

    @abstractmethod
    def _count(self) -> int:
        """The number of rows."""

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Numbers and vectors as NumPy arrays; missing ones are nan."""
        return self.joined(names, 0) if rows is None else self._some(names, rows)

    def joined(self, names: Sequence[str], count: int) -> Iterator[Piece]:
        """All rows, read on several threads where they are numbers in parts that can be read at the same time."""
        total, kinds = self._count(), [_kept_type(self._checked(name)) for name in names]
        columns: dict[int, NDArray[Any]] = {}
        vectors = None
        if kinds[:count] and kinds[0] is not None and len(set(kinds[:count])) == 1:
            vectors = np.empty((total, count), kinds[0])
            columns = dict(enumerate(vectors.T))
        lock, done = Lock(), 0

        def make(place: int, like: NDArray[Any]) -> NDArray[Any]:
            return np.empty((total, *like.shape[1:]), kinds[place] or like.dtype)

        def fill(share: tuple[ArrowTable, int]) -> None:
            nonlocal done
            table, start = share
            for piece in table._some(names, max(_NUMBERS // max(len(names), 4), 1024)):
                end = start + (len(piece.columns[0]) if piece.columns else 0)
                with lock:
                    columns.update({k: make(k, part) for k, part in enumerate(piece.columns) if k not in columns})
                    done += end - start
                    if self.watch is not None:
                        self.watch(done / total)
                for rows in slices(end - start, max(_CACHED // max(len(names), 1), 64)):
                    for place, part in enumerate(piece.columns):
                        columns[place][start + rows.start : start + rows.stop] = part[rows]
                start = end

        in_order(fill, [(self, 0)] if None in kinds else self._shares())
        if not total:
            raise InputError.lacking(f"{self.source} has no rows")
        yield Piece([columns[place] for place in range(len(names))], self._places(0), 1.0, vectors)

    def _shares(self) -> list[tuple[ArrowTable, int]]:
        """Tables of consecutive rows that can be read at the same time, and the place of the first row of each."""
        return [(self, 0)]

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
                f"{self.source} has <!{self._fields.count(root.column)} columns {name!r}!>; rename one of them"
            )
        if root.kind == "other":
            advice = "convert it, or name another column"
            raise InputError(f"{self.source}: column {name} holds <!{root.type}!>, not <+numbers+>; {advice}")
        return root

    def _places(self, start: int) -> Place:
        return lambda row: f"{self.source} row {start + row:,} (counted from 0)"


class ArrowFrame(ArrowTable):
    """A table of pyarrow in memory."""

    def __init__(self, table: Any) -> None:
        super().__init__(table.schema, "the table")
        refuse_doubles(self._fields, "the table")
        self._table = table
        self.names = [name for name in self.names if self._roots[name].kind != "other"]

    @classmethod
    def of(cls, exported: Any) -> ArrowFrame:
        """The table in an object that exports Arrow, as those of pyarrow, DuckDB, Ibis and Modin do."""
        with importing("pyarrow", "table"):
            import pyarrow
        try:
            return cls(pyarrow.RecordBatchReader.from_stream(exported).read_all())
        except pyarrow.ArrowException as error:
            reason = " ".join(str(error).split())
            raise InputError(f"the table cannot be read as Arrow ({reason}); give its columns as arrays") from None

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


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _kept_type(root: Root) -> np.dtype[Any] | None:
    """The type that a column of numbers has as an array; None for vectors and geometries."""
    if root.kind != "number":
        return None
    return np.dtype({"halffloat": "f2", "float": "f4"}.get(str(root.type), "f8"))


def _member(column: Any, root: Root) -> Any:
    if not root.child:
        return column
    from pyarrow import compute

    return compute.struct_field(column, root.child)


def _words(column: Any) -> list[str]:
    """Entries as text, nulls empty; an entry that is there again and again is in memory once."""
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    found: list[str] = []
    for chunk in chunks:
        if hasattr(chunk, "dictionary"):
            words = [*map(str, chunk.dictionary.to_pylist()), ""]
            found += [words[-1 if place is None else place] for place in chunk.indices.to_pylist()]
        else:
            found += ["" if value is None else str(value) for value in chunk.to_pylist()]
    return found


def as_numpy(column: Any) -> NDArray[Any]:
    """A column of Arrow as an array, nulls nan; `to_numpy` of pyarrow would import pandas, which takes long."""
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    if column.null_count or not chunks or not str(column.type).startswith(("float", "double", "int", "uint")):
        return np.asarray(column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False))
    parts = [np.from_dlpack(chunk) for chunk in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def arrow_numbers(column: Any, name: str, place: Place | None = None) -> NDArray[Any]:
    """A column of Arrow numbers, nulls nan: floats as they are; integers that would be rounded are refused."""
    missing: NDArray[Any] | None = None
    if column.null_count and not str(column.type).startswith(("float", "half", "double")):
        missing = ~np.asarray(column.is_valid())
        column = column.fill_null(0)
    found = as_numpy(column)
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
                    f"{place(start + int(np.argmax(valid)))}: column {name} holds <!an empty list!>; drop that row"
                )
        bad = valid & (lengths != width)
        if bad.any():
            row = int(np.argmax(bad))
            what = f"column {name} holds {lengths[row]} numbers, but {width} in rows before"
            raise InputError(f"{place(start + row)}: <!{what}!> ({int(bad.sum()):,} such rows here); drop or fix them")
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
        raise InputError(f"{place(0)} and the next {len(column) - 1:,}: column {name} is <!empty!>; drop those rows")
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
    system: bool  #: whether a coordinate reference system is named


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
    if crs is None or (isinstance(crs, dict) and str(crs.get("name", "")).lower().startswith("undefined")):
        return Geometry(column, False, f"column {column} has no coordinate reference system", False)
    if isinstance(crs, dict):
        words = f"{crs.get('id', {}).get('authority', '')}:{crs.get('id', {}).get('code', '')}".strip(":")
        words, degrees = words or str(crs.get("name", "a system of its own")), crs.get("type") == "GeographicCRS"
    else:
        words, degrees = str(crs), str(crs).upper() in ("OGC:CRS84", "EPSG:4326")
    note = f"points of column {column}" if degrees else f"column {column} is in {words}, not longitude and latitude"
    return Geometry(column, degrees, note, True)


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
    raise InputError(f"{place(0)}: column {root.column} holds <!{root.type}!>, not <+points+>; export lon and lat")


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
        raise InputError(f"{place(int(rows[row]))}: <!{found}!>; keep <+points+> alone, or take centroids")
