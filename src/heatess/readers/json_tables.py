"""JSON tables: records, columns, GeoJSON points, graphs of nodes and links, and one record per line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EXACT
from ..base.blocks import slices
from ..base.errors import InputError
from ..base.known import Known
from ..spaces.networks import refuse_sparse
from ..tables.frames import grid_of_arrays
from ..tables.table import Piece, Place, Rows, Table
from .nodelink import node_link
from .packed_size import refuse_columns
from .streams import Source, packed
from .unread_formats import line_to, new_name

LINES = packed((".jsonl", ".ndjson"))
SUFFIXES = (*packed((".json", ".geojson", ".cyjs")), *LINES)

_EARTH = ("crs84", "epsg::4326", "epsg:4326", "wgs84")


def table(path: Path, source: Source | None = None) -> Table:
    r"""The columns of a JSON file.

    A list of records, a record of lists, {"columns": ..., "data": ...}, rows of numbers, a grid such as {"lat": [...],
    "lon": [...], "f": [[...], ...]}, and GeoJSON points, which become columns lon and lat beside their properties; with
    the suffix .jsonl or .ndjson one record per line, as may come from standard input.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "cities.json"
    >>> _ = path.write_text('[{"name": "Paris", "lon": 2.35, "lat": 48.86}, {"name": "Atlantis", "lon": null}]')
    >>> found = table(path)
    >>> found.names
    ['lon', 'lat']
    >>> [piece] = found.pieces(["lon", "lat"], None)
    >>> piece.columns
    [array([2.35,  nan]), array([48.86,   nan])]
    """
    source = source or Source(path)
    by_line = str(path).lower().endswith(LINES) if str(path).lower().endswith(SUFFIXES) else _has_lines(source)
    with source.opened() as (stream, _):
        if by_line:
            contents, lines = _lines(stream, source.name)
            if len(contents) == 1 and isinstance(contents[0], list) and any(isinstance(e, dict) for e in contents[0]):
                return _of_document(contents[0], source.name)
            return _of_list(contents, source.name, lambda row: f"{source.name} line {lines[row]:,}")
        return _of_document(_parsed(stream.read(), source.name, ""), source.name)


def _has_lines(source: Source) -> bool:
    """Whether the first line is a JSON value and others follow, as in a stream of records that has no suffix."""
    with source.opened() as (stream, _):
        lines = (line for line in stream if line.strip())
        first, more = next(lines, b""), next(lines, b"")
    try:
        return more != b"" and isinstance(json.loads(first), dict | list)
    except (ValueError, RecursionError):
        return False


def _parsed(data: bytes, source: str, line: str) -> Any:
    if not data.strip():
        raise InputError(f"{source} is <!empty!>; it needs <+records such as {{'lon': 2.35, 'lat': 48.86}}+>")
    try:
        return json.loads(data)
    except UnicodeDecodeError:
        reason = "is not <+UTF-8 text+>; save it in UTF-8"
    except RecursionError:
        reason = "is nested too deeply to be a table; export the points alone"
    except ValueError as error:
        reason = f"is not <+valid JSON+> ({error}); check whether it was cut short, and write it again"
        if "Extra data" in str(error) and not line:
            reason = "holds <!more than one JSON value!>; if it has one record per line, rename it to .jsonl"
    raise InputError(f"{source}{line} {reason}")


def _lines(stream: Any, source: str) -> tuple[list[Any], list[int]]:
    contents, lines = [], []
    for number, line in enumerate(BytesIO(stream.read()), 1):  # all of it first: values take ten times the room
        if line.strip():
            contents.append(_parsed(line, source, f" line {number:,}"))
            lines.append(number)
    if not lines:
        _parsed(b"", source, "")
    return contents, lines


def _of_document(contents: Any, source: str) -> Table:
    place: Place = lambda row: f"{source} record {row:,} (counted from 0)"  # noqa: E731
    if isinstance(contents, list):
        return _of_list(contents, source, place)
    if not isinstance(contents, dict):
        raise InputError(f"{source} holds <!{_kind(contents)}!>, not <+a table+>; write a list of records")
    if contents.get("type") == "FeatureCollection":
        _refuse_projected(contents, source)
        features = contents.get("features")
        if not isinstance(features, list):
            raise InputError(f"{source} is <!a FeatureCollection!> without <+a list of features+>; export it again")
        return _of_list(features, source, lambda row: f"{source} feature {row:,} (counted from 0)")
    if contents.get("type") in ("Feature", "Point", "MultiPoint"):
        feature = contents if contents["type"] == "Feature" else {"type": "Feature", "geometry": contents}
        return _of_list([feature], source, lambda row: f"{source} feature 0")
    if (graph := node_link(contents, source)) is not None:
        return graph
    if isinstance(contents.get("columns"), list) and isinstance(contents.get("data"), list):
        return _of_split(contents["columns"], contents["data"], source, place)
    lists = [value for value in contents.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(lists) == 1 and not any(isinstance(value, list) and value is not lists[0] for value in contents.values()):
        return _of_list(lists[0], source, place)
    return _of_columns(contents, source, place)


def _of_list(contents: list[Any], source: str, place: Place) -> Table:
    """Records, GeoJSON features, or rows of numbers."""
    if not contents:
        raise InputError.lacking(f"{source} holds an empty list", "record")
    if all(isinstance(entry, list) for entry in contents):
        return Rows(_vectors(contents, place, "the row"), source)
    for row, entry in enumerate(contents):
        if not isinstance(entry, dict):
            raise InputError(f"{place(row)}: <!{_kind(entry)}!>, not <+a record like the others+>; fix or drop it")
    if contents[0].get("type") == "Feature":
        return _of_features(contents, source, place)
    return Records(_by_name(contents, source), source, place)


def _by_name(records: Sequence[Mapping[str, Any]], source: str) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for record in records for name in record)
    refuse_columns(source, len(names))
    refuse_sparse(source, len(names), records)
    return {name: [record.get(name) for record in records] for name in names}


def _of_features(features: list[Any], source: str, place: Place) -> Table:
    """A row for each point; those of a MultiPoint come one after another, with the properties of their feature."""
    points: list[list[Any]] = []
    rows: list[int] = []  # the feature of each point
    for row, feature in enumerate(features):
        found = _positions(feature.get("geometry"), source, place, row)
        points += found
        rows += [row] * len(found)
    properties = _by_name([feature.get("properties") or {} for feature in features], source)
    beside = {name: [values[row] for row in rows] for name, values in properties.items()}
    east, north = ([point[axis] for point in points] for axis in (0, 1))
    columns = {"lon": east, "lat": north} | {k: v for k, v in beside.items() if k not in ("lon", "lat")}
    table = Records(columns, source, lambda point: place(rows[point]))
    table.names = list(dict.fromkeys(["lon", "lat", *table.names]))
    table.units, table.about, table.note = {"lon": "deg", "lat": "deg"}, "earth", "GeoJSON points"
    table.known = Known(frame="geographic")
    return table


def _positions(geometry: Any, source: str, place: Place, row: int) -> list[list[Any]]:
    """Longitude and latitude of each point of a feature, None where they are missing."""
    if geometry is None:
        return [[None, None]]
    kind = geometry.get("type") if isinstance(geometry, dict) else _kind(geometry)
    found = geometry.get("coordinates") if isinstance(geometry, dict) else None
    if kind == "MultiPoint" and isinstance(found, list) and all(isinstance(point, list) for point in found):
        return [_position(point) for point in found] or [[None, None]]
    if kind != "Point" or not isinstance(found, list):
        way = f"to take a point inside each feature, {_with_geopandas(source, _INSIDE, '-points.geojson')}"
        raise InputError(f"{place(row)}: the geometry is <!{kind}!>, not <+Point+>; keep points alone; {way}")
    return [_position(found)]


def _position(point: list[Any]) -> list[Any]:
    return point[:2] if len(point) > 1 else [None, None]


_INSIDE = "f.set_geometry(f.representative_point())"
_CONVERTED = "f.to_crs('EPSG:4326')"


def _with_geopandas(source: str, call: str, suffix: str) -> str:
    """The line that makes another file of a GeoJSON file *f* by a *call* of GeoPandas."""
    code = f"import geopandas as g; f = g.read_file({{file!r}}); {call}.to_file({{out!r}})"
    return line_to("geopandas", code, Path(source), new_name(Path(source), suffix))


def _refuse_projected(contents: dict[str, Any], source: str) -> None:
    """Refuse coordinates that are metres on a map; GeoJSON of before 2016 may say so."""
    crs = contents.get("crs")
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = str(properties.get("name", "")) if isinstance(properties, dict) else ""
    if name and not any(known in name.lower() for known in _EARTH):
        way = _with_geopandas(source, _CONVERTED, "-lonlat.geojson")
        raise InputError(
            f"{source} has <!coordinates in {name}!>, not <+longitude and latitude+>; to convert it, {way}"
        )


def _of_split(names: list[Any], rows: list[Any], source: str, place: Place) -> Table:
    refuse_columns(source, len(names))
    for row, entries in enumerate(rows):
        if not isinstance(entries, list) or len(entries) != len(names):
            found = f"{len(entries)} entries" if isinstance(entries, list) else _kind(entries)
            raise InputError(f"{place(row)}: <!{found}!>, but there are <+{len(names)} columns+>; fix or drop it")
    if not rows:
        raise InputError.lacking(f"{source} has columns but no rows", "record")
    words = [str(name) for name in names]
    name, count = Counter(words).most_common(1)[0] if words else ("", 0)
    if count > 1:
        raise InputError(f"{source} has <!{count} columns {name!r}!>; rename one of them")
    return Records(dict(zip(words, map(list, zip(*rows, strict=True)), strict=True)), source, place)


def _of_columns(contents: dict[str, Any], source: str, place: Place) -> Table:
    """A record of lists, or of records by row as pandas writes; single values are left out."""
    lists = {name: values for name, values in contents.items() if isinstance(values, list)}
    nested = {name: values for name, values in contents.items() if isinstance(values, dict)}
    if nested and len(nested) == len(contents):
        keys = [list(values) for values in nested.values()]
        if all(map(str.isdigit, nested)) and not all(map(str.isdigit, keys[0])):  # one record per row
            return _of_list(list(nested.values()), source, place)
        if all(key == keys[0] for key in keys):
            lists = {name: list(values.values()) for name, values in nested.items()}
    refuse_columns(source, len(lists))
    grid = grid_of_arrays(lists, source)
    if grid is not None:
        return grid
    lengths = {name: len(values) for name, values in lists.items()}
    if not lengths or not max(lengths.values()):
        found = ", ".join(list(contents)[:8]) or "nothing"
        raise InputError(f"{source} holds no records and no columns (found: <!{found}!>); write <+a list of records+>")
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise InputError(f"{source} has columns of different lengths (<!{found}!>); write <+as many entries for each+>")
    return Records(lists, source, place)


class Records(Table):
    """Columns of Python values, converted when they are wanted."""

    def __init__(self, columns: Mapping[str, list[Any]], source: str, place: Place) -> None:
        self._columns, self.source, self._place = columns, source, place
        self._count = len(next(iter(columns.values()), []))
        kinds = {name: {type(value) for value in values if value is not None} for name, values in columns.items()}
        self.lists = [name for name, kind in kinds.items() if kind == {list} and _any_number(columns[name])]
        self.names = [name for name, kind in kinds.items() if kind & {int, float}]
        self.texts = [name for name, kind in kinds.items() if kind == {str}]

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Numbers and vectors; missing ones are nan."""
        arrays = [self._array(name) for name in names]
        for part in slices(self._count, rows or max(self._count, 1)):
            yield Piece([array[part] for array in arrays], self._from(part.start), part.stop / self._count)

    def text(self, name: str) -> list[str]:
        """A column of text, or numbers as text; null is empty."""
        if name not in self._columns:
            return list(super().text(name))
        return ["" if value is None else str(value) for value in self._columns[name]]

    def _from(self, start: int) -> Place:
        return lambda row: self._place(start + row)

    def _array(self, name: str) -> NDArray[Any]:
        values = self._columns[name]
        if name in self.lists:
            return _vectors(values, self._place, f"column {name}")
        return np.array([_number(value, self._place, row, f"column {name}") for row, value in enumerate(values)])


def _any_number(values: list[Any]) -> bool:
    """Whether some list holds a number; lists of text are no vectors."""
    return any(type(entry) in (int, float) for value in values for entry in value or ())


def _number(value: Any, place: Place, row: int, name: str) -> float:
    if value is None:
        return np.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        what = f"{name} is <!{_kind(value)}!>, not <+a number+>"
        raise InputError(f"{place(row)}: {what}; drop or fix that record", row=row, column=name)
    try:
        found = float(value)
    except OverflowError:
        raise InputError(f"{place(row)}: {name} is <!a number too large to hold!>; drop or fix that record") from None
    if isinstance(value, int) and found != value:
        what = f"{name} is <!{value}!>, an integer above 2^53 that is not exact in float64"
        advice = "subtract an offset or, if rounding does no harm, write it with a decimal point"
        raise InputError(f"{place(row)}: {what}; {advice}", row=row, column=name, expected=EXACT)
    return found


def _vectors(values: list[Any], place: Place, name: str) -> NDArray[Any]:
    """Lists of one length as rows; a missing list is nan."""
    first = next((row for row, value in enumerate(values) if value is not None), 0)
    width = len(values[first] or [])
    if not width:
        raise InputError(f"{place(first)}: {name} holds <!no numbers!>; a vector needs <+two or more+>")
    rows = np.full((len(values), width), np.nan)
    for row, value in enumerate(values):
        if value is None:
            continue
        if len(value) != width:
            found = f"{name} holds <!{len(value)} numbers!>, but <+{width}+> in {place(first)}"
            raise InputError(f"{place(row)}: {found}; drop or fix that record", row=row)
        rows[row] = [_number(entry, place, row, f"{name} entry {column}") for column, entry in enumerate(value)]
    return rows


def _kind(value: Any) -> str:
    """A value of JSON in words, as it is written."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a record"
    return json.dumps(value, ensure_ascii=False)[:40]
