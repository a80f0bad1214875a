"""Points on maps, by GeoPandas: shapefiles, GeoPackage, FlatGeobuf, KML and GPX."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError, importing
from ..tables.frames import frame_table
from ..tables.geopandas_points import is_undefined
from ..tables.table import Columns, Table
from .package_readers import chosen, reading, split_label
from .streams import Source, root_of
from .unread_formats import line_to, new_name

SUFFIXES = (".shp", ".gpkg", ".fgb", ".kml", ".gpx")

EARTH = "EPSG:4326"

#: Columns of the coordinates as the file has them, beside lon and lat.
X, Y = "geometry.x", "geometry.y"

_REMEDY = {
    ".shp": "a shapefile is several files: keep .shp, .shx, .dbf and .prj of one name in one directory",
    ".gpkg": "fetch or export it again",
}
#: How files start: GDAL would otherwise open what is called so but points to data elsewhere.
_STARTS = {".shp": b"\0\0\x27\x0a", ".gpkg": b"SQLite format 3\0", ".fgb": b"fgb"}

_AS_POINTS = (
    "import geopandas as g; f = g.read_file({{file!r}}{layer}); "
    "f.set_geometry(f.representative_point()).to_file({{out!r}})"
)
_OTHER_CRS = (
    "import geopandas as g; g.read_file({{file!r}}{layer}).set_crs('EPSG:CODE', allow_override=True).to_file({{out!r}})"
)


def table(path: Path) -> Table:
    """The points of a layer, the only one that holds points or the one after ``::``, with their attributes.

    Coordinates of other systems than longitude and latitude are converted; without a system they are columns
    geometry.x and geometry.y, of which the user has to say what they are.
    """
    with importing("geopandas", "geo"):
        import geopandas
        import pyogrio
    file, label = split_label(path)
    suffix = file.suffix.lower()
    with reading(file, f"a map ({suffix})", _REMEDY.get(suffix, "fetch or export it again")):
        _refuse_others(file)
        layer = _layer(file, label, pyogrio)
        frame = geopandas.read_file(file, layer=layer)
        if not len(frame):
            raise InputError.lacking(f"{file} layer {layer} has no features")
        if not hasattr(frame, "geometry") or getattr(frame, "_geometry_column_name", None) is None:
            raise InputError(f"{file} layer {layer} has no <+geometry+>; export it as .csv to read its columns")
        several = layer if suffix != ".shp" else ""
        frame = _points(frame, file, several)
        found = _table(frame, file, several)
    found.source = str(file)
    kind = "trajectory" if suffix == ".gpx" and layer == "track_points" else None
    found.known = replace(found.known, kind=kind, frame="geographic" if found.about == "earth" else None)
    return found


def _refuse_others(file: Path) -> None:
    """Refuse a file that is not what its suffix says."""
    suffix = file.suffix.lower()
    with file.open("rb") as stream:
        start = stream.read(16)
    if not start:
        raise InputError(f"{file} is empty; fetch or export it again")
    if not start.startswith(_STARTS.get(suffix, b"")) or (
        suffix in (".kml", ".gpx") and root_of(Source(file)) != suffix[1:]
    ):
        raise InputError(f"{file} does not hold what its suffix says; give it the suffix of its format")


def _layer(file: Path, label: str, pyogrio: Any) -> str:
    """The layer that *label* names; else the only one of points, or the only one."""
    every = {str(name): str(kind) for name, kind in pyogrio.list_layers(file)}
    filled = {name: kind for name, kind in every.items() if _count(file, name, pyogrio)}
    layers = filled or every
    if not layers:
        raise InputError(f"{file} has no layer; export it again")
    points = {name: kind for name, kind in layers.items() if "Point" in kind}
    offered, what = (layers, "layers") if label or not points else (points, "layers of points")
    return chosen(file, label, offered, what)[0]


def _count(file: Path, layer: str, pyogrio: Any) -> int:
    return int(pyogrio.read_info(file, layer=layer, force_feature_count=True)["features"])


def _points(frame: Any, file: Path, layer: str) -> Any:
    """The frame with a row for each point, those of a MultiPoint one after another; other shapes are refused."""
    shapes = frame.geometry
    missing = np.asarray(shapes.isna() | shapes.is_empty)
    kinds = np.asarray(shapes.geom_type.astype(object))
    other = ~missing & ~np.isin(kinds, ["Point", "MultiPoint"])
    if other.any():
        row = int(np.argmax(other))
        code = _AS_POINTS.format(layer=_named(layer))
        way = line_to("geopandas", code, file, new_name(file, "-points.gpkg"))
        raise InputError(
            f"{file} feature {row} (counted from 0) is <!a {kinds[row]}!> and no <+point+> ({int(other.sum()):,} of "
            f"{len(other):,} features); to take a point inside each of them, {way}",
            row=row,
        )
    return _exploded(frame) if (kinds == "MultiPoint").any() else frame


def _exploded(frame: Any) -> Any:
    """The frame with a row for each point of a MultiPoint; features without a point keep theirs."""
    import shapely

    points, rows = shapely.get_parts(np.asarray(frame.geometry.array), return_index=True)
    without = np.setdiff1d(np.arange(len(frame)), rows)
    every = np.concatenate([rows, without])
    order = np.argsort(every, kind="stable")
    points = np.concatenate([points, np.full(len(without), None)])[order]
    return frame.iloc[every[order]].reset_index(drop=True).set_geometry(points, crs=frame.crs)


def _table(frame: Any, file: Path, layer: str) -> Table:
    """The columns of a frame of points."""
    shapes, crs = frame.geometry, frame.crs
    missing = np.asarray(shapes.isna() | shapes.is_empty)
    across, up = np.full((2, len(shapes)), np.nan)
    across[~missing], up[~missing] = shapes[~missing].x, shapes[~missing].y
    if is_undefined(crs):
        return _nowhere(frame, file, {X: across, Y: up})
    if crs.is_geographic:
        _refuse_no_degrees(across, up, crs, file, layer)
    else:
        frame = frame.assign(**{X: across, Y: up})
    frame, note, about = _on_earth(frame, crs, file)
    found = frame_table(frame)
    if found is None:
        raise InputError(f"{file} is not <+a table of points+>; export it again")
    found.note, found.about = note, about
    return found


def _on_earth(frame: Any, crs: Any, file: Path) -> tuple[Any, str, str]:
    """The frame in longitude and latitude, how it came there, and what it is about: the Earth or another body."""
    words = ":".join(crs.to_authority() or ()) or crs.name
    if words in (EARTH, "OGC:CRS84"):
        return frame, "", "earth"
    try:
        return frame.to_crs(EARTH), f"converted from {words} ({crs.name})", "earth"
    except Exception as error:  # of another body than the Earth, or of a drawing that is nowhere
        if crs.is_geographic and all(axis.unit_name == "degree" for axis in crs.axis_info):
            return frame.set_crs(EARTH, allow_override=True), f"longitude and latitude in {crs.name}", "directions"
        reason = " ".join(str(error).split())[:120]
        raise InputError(
            f"{file} is in <!{words} ({crs.name})!>, which cannot be converted to <+longitude and latitude+> "
            f"({reason}); export it in EPSG:4326 from the program that wrote it"
        ) from None


def _nowhere(frame: Any, file: Path, columns: dict[str, Any]) -> Table:
    """Coordinates without a reference system, and what stands beside them."""
    import pandas

    beside = frame_table(pandas.DataFrame(frame.drop(columns=frame.geometry.name)))
    texts = {}
    if isinstance(beside, Columns):
        columns |= {name: beside.stored(name) for name in beside.names}
        texts = {name: partial(beside.text, name) for name in beside.texts}
    table = Columns(columns, str(file), texts=texts)
    table.note, table.hint = "no coordinate reference system", _question()
    return table


def _question() -> str:
    return (
        "its coordinates have no reference system (a shapefile has it in its .prj file), so that they may be degrees "
        f"or metres; say `columns={{'lon': {X!r}, 'lat': {Y!r}}}` if they are longitude and latitude, or "
        f"`space='euclidean', columns=({X!r}, {Y!r})` for positions on a plane"
    )


def _refuse_no_degrees(across: Any, up: Any, crs: Any, file: Path, layer: str) -> None:
    """Refuse coordinates that the file calls degrees, but cannot be."""
    with np.errstate(invalid="ignore"):
        bad = (np.abs(up) > 90.5) | (np.abs(across) > 360.5)
    if crs.axis_info and crs.axis_info[0].unit_name == "degree" and bad.any():
        row = int(np.argmax(bad))
        way = line_to("geopandas", _OTHER_CRS.format(layer=_named(layer)), file, new_name(file, "-right.gpkg"))
        raise InputError(
            f"{file} says that it is in <+{crs.name}+>, but feature {row} (counted from 0) lies at <!"
            f"{across[row]:.8g}, {up[row]:.8g}!>, which are no degrees; put the code of its true system for CODE, "
            f"and {way}",
            row=row,
        )


def _named(layer: str) -> str:
    return f", layer={layer!r}" if layer else ""
