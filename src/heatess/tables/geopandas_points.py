"""Points of GeoPandas: a GeoSeries or GeoDataFrame in longitude and latitude."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import InputError

#: Longitude and latitude in degrees, WGS 84, the latter with the axes in this order.
_WANTED = ("EPSG:4326", "OGC:CRS84")


def is_undefined(crs: Any) -> bool:
    """Whether coordinates have no reference system: None, or what GeoPackage calls undefined, degrees or not."""
    return crs is None or str(crs.name).lower().startswith("undefined")


def is_geometry(obj: Any) -> bool:
    """Whether *obj* is a GeoSeries, or a GeoDataFrame with a geometry; tells without importing geopandas."""
    named = any(base.__module__.startswith("geopandas") for base in type(obj).__mro__)
    return named and hasattr(obj, "crs") and getattr(obj, "_geometry_column_name", "geometry") is not None


def geometry_columns(obj: Any) -> dict[str, Any]:
    """Columns lon and lat in degrees, nan where a point is missing; other places and shapes are refused."""
    shapes = obj.geometry
    _refuse_other_places(shapes.crs)
    missing = np.asarray(shapes.isna() | shapes.is_empty)
    other = ~missing & np.asarray(shapes.geom_type != "Point")
    if other.any():
        row = int(np.argmax(other))
        raise InputError(
            f"the geometry must be <+points+>, but row {row} is <!a {shapes.geom_type.iloc[row]}!> "
            f"({int(other.sum())} of {len(other)} rows); take a point of each: "
            "`frame.set_geometry(frame.representative_point())`",
            row=row,
        )
    lon, lat = np.full((2, len(shapes)), np.nan)
    present = shapes[~missing]
    lon[~missing], lat[~missing] = present.x, present.y
    return {"lon": lon, "lat": lat}


def _refuse_other_places(crs: Any) -> None:
    """Refuse coordinates that are not longitude and latitude, with the line that converts them."""
    if is_undefined(crs):
        raise InputError(
            "the geometry has no <+coordinate reference system+>, so its numbers may be degrees or metres; if they "
            'are longitude and latitude, say so: `frame.set_crs("EPSG:4326", allow_override=True)`'
        )
    if not any(crs.equals(wanted, ignore_axis_order=True) for wanted in _WANTED):
        raise InputError(
            f"the geometry is in <!{crs.to_string()[:60]} ({crs.name})!>, but <+longitude and latitude+> are needed; "
            'convert it: `frame.to_crs("EPSG:4326")`'
        )
