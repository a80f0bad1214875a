"""Where the cells of a grid lie, and how large they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.directions import SLACK_RADIANS, from_lonlat
from ..base.errors import InputError
from . import cf
from .areas import latitude_bands, longitude_widths, polygon_areas
from .column_names import RaDec
from .units import OTHERS
from .variables import Variable

Variables = Mapping[str, Variable]


class Layout(NamedTuple):
    """The cells of a grid in the order of its values, degrees and steradians.

    Cells lie in rows and columns, so that cell i has latitude i // m and longitude i % m of *lat* (n,) and *lon* (m,),
    or each has a place of its own.
    """

    lon: FloatArray
    lat: FloatArray
    sizes: tuple[FloatArray, FloatArray] | None  #: the area of a cell is the product of what its row and column have
    in_rows: bool
    words: str  #: "lat x lon (36 x 36, 5 x 10 degrees)"
    area: str  #: what the area is, for the user: "the area of its cell"
    side: float | None  #: of the largest cell, in degrees

    def at(self, cells: NDArray[np.int64]) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Longitudes, latitudes and areas of some cells."""
        rows, columns = np.divmod(cells, len(self.lon)) if self.in_rows else (cells, cells)
        areas = None if self.sizes is None else self.sizes[0][rows] * self.sizes[1][columns]
        return self.lon[columns], self.lat[rows], areas


def layout(source: str, variables: Variables, field: str, place: cf.Geometry, units: str | None) -> Layout:
    """The cells of a field, with their areas where these can be known."""
    lat, lon = _degrees(source, variables, place, units)
    if place.rectilinear:
        edges = [_edges(source, variables, name, units) for name in (place.lat, place.lon)]
        return _in_rows(source, (place.lat, place.lon), lat, lon, edges)
    if lat.ndim == 2 and _is_product(lat, lon):
        return _in_rows(source, (place.lat, place.lon), lat[:, 0].copy(), lon[0].copy(), [None, None])
    area, words = _areas(source, variables, field, place, units)
    shape = " x ".join(f"{size:,}" for size in lat.shape)
    across = " x ".join(place.dims)
    side = _estimated_side(lon, lat) if area is None else math.degrees(math.sqrt(float(np.nanmax(area))))
    flat = None if area is None else (area.reshape(-1), np.ones(area.size))
    words_of = f"{place.lat}, {place.lon} along {across} ({shape})"
    return Layout(_wrapped(lon.reshape(-1)), lat.reshape(-1), flat, False, words_of, words, side)


def _in_rows(
    source: str, names: tuple[str, str], lat: FloatArray, lon: FloatArray, edges: list[FloatArray | None]
) -> Layout:
    """Cells between parallels and meridians."""
    for name, axis in zip(names, (lat, lon), strict=True):
        if not len(axis) or not np.isfinite(axis).all():
            raise InputError(f"{source}: {name} must be <+finite for each row or column of cells+>; correct it")
    if len(np.unique(lat)) < len(lat):
        raise InputError(f"{source}: {names[0]} has <!the same latitude twice!>, so that its cells overlap; keep one")
    heights = latitude_bands(lat, edges[0], _step(lon))
    widths = longitude_widths(lon, edges[1], _step(lat))
    side = math.degrees(math.sqrt(float(heights.sizes.max() * widths.sizes.max())))
    known = len(lat) * len(lon) > 1 or edges != [None, None]
    steps = f"{heights.steps} x {widths.steps} degrees"
    if heights.steps == "Gaussian":
        steps = f"Gaussian latitudes, {widths.steps} degrees"
    words = f"{names[0]} x {names[1]} ({len(lat):,} x {len(lon):,}, {steps})"
    sizes = (heights.sizes, widths.sizes)
    return Layout(_wrapped(lon), lat, sizes, True, words, "the area of its cell", side if known else None)


def _degrees(source: str, variables: Variables, place: cf.Geometry, units: str | None) -> tuple[FloatArray, FloatArray]:
    """Latitudes and longitudes in degrees, as their attributes or the user say; what cannot be told is refused."""
    north, east = (_coordinate(variables[name], place) for name in (place.lat, place.lon))
    stated = [units or cf.unit_of(variables[name]) for name in (place.lat, place.lon)]
    for name in (place.lat, place.lon):
        other = variables[name].text("units").lower()
        if other in OTHERS and units is None:
            unit, remedy = OTHERS[other]
            raise InputError(
                f"{source}: {name} is in <!{unit}!>; {remedy} to make <+degrees+> of it, and say so in its attribute "
                "units, or add `units='deg'` if it holds degrees already"
            )
    if not any(stated):
        stated = [_by_numbers(source, place, north, east)] * 2
    known = next(filter(None, stated))
    lat, lon = (
        np.degrees(values) if (unit or known) == "rad" else values
        for values, unit in zip((north, east), stated, strict=True)
    )
    _refuse_beyond(source, place, lat, lon)
    return lat, lon


def _coordinate(variable: Variable, place: cf.Geometry) -> FloatArray:
    """Its numbers, along its own axis, or along those of the geometry where it has several."""
    short = {dim: 0 for dim in variable.dims if dim not in place.dims}
    plain = variable.at(short)
    return plain.numbers(None if len(plain.dims) == 1 else place.dims).astype(np.float64)


def _by_numbers(source: str, place: cf.Geometry, lat: FloatArray, lon: FloatArray) -> str:
    """Degrees, if numbers without a unit can be nothing else."""
    farthest = [float(np.nanmax(np.abs(values))) for values in (lon, lat)]
    around, up = 2 * math.pi + SLACK_RADIANS, math.pi / 2 + SLACK_RADIANS
    if farthest[0] <= around and farthest[1] <= up:
        raise InputError(
            f"{source}: {place.lon}, {place.lat} reach no further than {farthest[0]:.4g}, {farthest[1]:.4g}, which "
            "could be degrees or radians; add `units='deg'` or `units='rad'`"
        )
    if place.kind is RaDec and farthest[0] <= 24:
        raise InputError(
            f"{source}: {place.lon} reaches no further than {farthest[0]:.4g}, which could be hours; multiply it by 15 "
            "if it is, or add `units='deg'` if it is not"
        )
    return "deg"


def _refuse_beyond(source: str, place: cf.Geometry, lat: FloatArray, lon: FloatArray) -> None:
    for name, values, most, kind in ((place.lat, lat, 90, "latitudes"), (place.lon, lon, 720, "longitudes")):
        far = float(np.nanmax(np.abs(values), initial=0))
        if far > most + math.degrees(SLACK_RADIANS):
            limits = "lie between -90 and 90 degrees" if most == 90 else "are degrees"
            raise InputError(
                f"{source}: {name} reaches <!{far:.6g}!>, but <+{kind} {limits}+>; name the arrays that hold them "
                "with `columns={'lon': 'A', 'lat': 'B'}`, or turn projected coordinates into degrees first"
            )
    np.clip(lat, -90, 90, out=lat)


def _edges(source: str, variables: Variables, name: str, units: str | None) -> FloatArray | None:
    """The edges of the cells along one axis in degrees, (n, 2), if they are given."""
    found = cf.bounds_of(name, variables)
    if found is None or found.shape[-1] != 2:
        return None
    edges = found.numbers().astype(np.float64).reshape(-1, 2)
    if not (np.ptp(edges, axis=1) > 0).all():
        raise InputError(
            f"{source}: the bounds of {name} must be <+two edges of each cell+>, but <!some are missing or the "
            "same!>; correct them, or leave them out of the file for edges half-way between cells"
        )
    return np.degrees(edges) if (units or cf.unit_of(variables[name])) == "rad" else edges


def _areas(
    source: str, variables: Variables, field: str, place: cf.Geometry, units: str | None
) -> tuple[FloatArray | None, str]:
    """The areas of cells that lie anyhow, in steradians or any unit, and what they are; None if nothing tells them."""
    turned = cf.rotated(variables, place.dims)
    if turned is not None:
        lat, lon = (variables[name].numbers().astype(np.float64) for name in turned)
        edges = [_edges(source, variables, name, None) for name in turned]
        rows = _in_rows(source, turned, lat, lon, edges)
        if rows.sizes is not None:
            along = [variables[name].dims[0] for name in turned]
            product = rows.sizes[0][:, None] * rows.sizes[1]
            return (product if along == list(place.dims) else product.T), "the area of its cell"
    corners = _corners(source, variables, field, place, units)
    if corners is not None:
        lon, lat = corners
        areas = polygon_areas(lon.reshape(-1, lon.shape[-1]), lat.reshape(-1, lat.shape[-1]))
        return areas.reshape(lon.shape[:-1]), "the area between the corners of its cell"
    return None, ""


def stated_areas(variables: Variables, field: str, place: cf.Geometry) -> tuple[str, FloatArray] | None:
    """The areas that the file itself has for the cells of a field, by CF's cell_measures; None if it has none."""
    name = cf.area_of(field, variables, place.dims)
    if not name:
        return None
    own = variables[name]
    values = own.at({dim: 0 for dim in own.dims if dim not in place.dims}).numbers(place.dims).astype(np.float64)
    return name, values


def _corners(
    source: str, variables: Variables, field: str, place: cf.Geometry, units: str | None
) -> tuple[FloatArray, FloatArray] | None:
    """Longitudes and latitudes of the corners of each cell, (..., corners); from the nodes of a mesh, or bounds."""
    mesh = variables.get(variables[field].text("mesh"))
    if mesh is not None:
        return _nodes(source, variables, mesh, place)
    corners = []
    for name in (place.lon, place.lat):
        found = cf.bounds_of(name, variables)
        if found is None or found.shape[-1] < 3 or set(place.dims) != set(found.dims[:-1]):
            return None
        values = found.numbers((*place.dims, found.dims[-1])).astype(np.float64)
        corners.append(np.degrees(values) if (units or cf.unit_of(variables[name])) == "rad" else values)
    return corners[0], corners[1]


def _nodes(
    source: str, variables: Variables, mesh: Variable, place: cf.Geometry
) -> tuple[FloatArray, FloatArray] | None:
    """The same by the conventions of UGRID: nodes with longitude and latitude, and the nodes of each face."""
    faces = variables.get(mesh.text("face_node_connectivity"))
    names = [name for name in mesh.text("node_coordinates").split() if name in variables]
    nodes = {cf.role_of(name, variables[name]): variables[name].numbers().reshape(-1) for name in names}
    if (
        faces is None
        or len(faces.dims) != 2
        or not {"lon", "lat"} <= set(nodes)
        or not set(place.dims) & set(faces.dims)
    ):
        return None
    index = faces.numbers() if faces.dims[0] in place.dims else faces.numbers().T
    for corner in range(1, index.shape[1]):  # faces of fewer corners repeat their last one
        index[:, corner] = np.where(np.isnan(index[:, corner]), index[:, corner - 1], index[:, corner])
    index -= float(np.ravel(faces.attrs.get("start_index", 0))[0])
    if not (index.min() >= 0 and index.max() < min(map(len, nodes.values()))):
        raise InputError(
            f"{source}: {mesh.text('face_node_connectivity')} has <!numbers that are no!> <+nodes+>; fetch it again"
        )
    whole = index.astype(np.int64)
    return nodes["lon"][whole], nodes["lat"][whole]


def oriented(variables: Variables, place: cf.Geometry) -> cf.Geometry:
    """The same with its axes exchanged, where places are rows and columns and latitude runs along the last axis.

    So are those that numpy.meshgrid makes of longitudes first.
    """
    if place.rectilinear or len(place.dims) != 2:
        return place
    lat, lon = (_coordinate(variables[name], place) for name in (place.lat, place.lon))
    exchanged = not _is_product(lat, lon) and _is_product(lat.T, lon.T)
    return place._replace(dims=place.dims[::-1]) if exchanged else place


def _is_product(lat: FloatArray, lon: FloatArray) -> bool:
    """Whether places in two dimensions are those of rows and columns, as numpy.meshgrid makes them."""
    same = np.allclose(lat, lat[:, :1], rtol=0, atol=1e-6) and np.allclose(lon, lon[:1], rtol=0, atol=1e-6)
    return bool(same)


def unweighted_cells(lon: FloatArray, lat: FloatArray) -> str:
    """A note that rows of a table are all the cells of a grid, whose weights lack the areas; empty if they are not.

    >>> unweighted_cells(np.tile([0.0, 90, 180, 270], 5), np.repeat([-60.0, -30, 0, 30, 60], 4))[:46]
    'rows are all cells of a grid (5 x 4), weighted'
    """
    if math.prod(len(np.unique(values[:10_000])) for values in (lat, lon)) > len(lon):
        return ""
    n, m = (len(np.unique(values)) for values in (lat, lon))
    if min(n, m) < 3 or n * m != len(lon) or len(np.unique(np.column_stack([lon, lat]), axis=0)) < len(lon):
        return ""
    advice = "for values per area read the grid itself, or multiply them by the cosine of latitude"
    return f"rows are all cells of a grid ({n:,} x {m:,}), weighted without their areas: {advice}"


def _step(axis: FloatArray) -> float:
    """The step of an axis, for the height or width of cells in a single row or column."""
    steps = np.diff(np.sort(axis))
    return float(np.median(steps)) if len(steps) else 1.0


def _estimated_side(lon: FloatArray, lat: FloatArray) -> float | None:
    """The side of cells whose areas nobody knows: the root of the area that steps along both axes span."""
    if lat.ndim != 2 or min(lat.shape) < 2:
        return None
    known = np.isfinite(lat) & np.isfinite(lon)
    flat = from_lonlat(
        np.mod(np.where(known, lon, 0), 360).reshape(-1), np.where(known, lat, 0).reshape(-1), units="deg"
    )
    vectors = np.where(known[..., None], flat.reshape(*lat.shape, 3), np.nan)
    spans = np.cross(np.diff(vectors, axis=0)[:, :-1], np.diff(vectors, axis=1)[:-1])
    areas = np.linalg.norm(spans, axis=-1)
    areas = areas[np.isfinite(areas)]
    return math.degrees(math.sqrt(float(np.quantile(areas, 0.95)))) if areas.size else None


def _wrapped(lon: FloatArray) -> FloatArray:
    """Longitudes between -180 and 360 degrees; those that are stay as they are."""
    out = (lon < -180) | (lon > 360)
    return np.where(out, np.mod(lon, 360), lon) if out.any() else lon
