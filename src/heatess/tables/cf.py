"""Which arrays are latitudes, longitudes, edges, areas and fields: by the CF conventions, and by plain names.

https://cfconventions.org: a latitude has the units degrees_north or the standard name latitude.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .column_names import Ecliptic, Galactic, Kind, LonLat, RaDec
from .units import ANGLES, EAST, LENGTHS, NORTH, split_unit
from .variables import Variable

_STANDARD = {
    "latitude": "lat",
    "longitude": "lon",
    "grid_latitude": "rotated lat",
    "grid_longitude": "rotated lon",
    "projection_y_coordinate": "y",
    "projection_x_coordinate": "x",
    "projection_y_angular_coordinate": "y",
    "projection_x_angular_coordinate": "x",
}

#: The kinds of pairs by their roles.
PAIRS: dict[tuple[str, ...], type[Kind]] = {kind.roles: kind for kind in (LonLat, RaDec, Galactic, Ecliptic)}

_NAMES = {
    **{
        name: role
        for kind in PAIRS.values()
        for role, names in zip(kind.roles, kind.names, strict=True)
        for name in names
    },
    **dict.fromkeys(("nav_lon", "lons", "longitudes", "xlong"), "lon"),
    **dict.fromkeys(("nav_lat", "lats", "latitudes", "xlat"), "lat"),
    **dict.fromkeys(("rlat", "grid_latitude"), "rotated lat"),
    **dict.fromkeys(("rlon", "grid_longitude"), "rotated lon"),
}
_AREAS = ("cell_area", "areacella", "areacello", "area", "tarea", "cellarea", "gridcell_area", "grid_cell_area")
_DISCRETE = ("point", "timeseries", "trajectory", "profile", "timeseriesprofile", "trajectoryprofile")


class Geometry(NamedTuple):
    """A pair of arrays that place the cells of a grid, and the axes along which cells lie."""

    lon: str
    lat: str
    dims: tuple[str, ...]  #: those of latitude first
    rectilinear: bool  #: latitude along one axis, longitude along another
    kind: type[Kind]


def role_of(name: str, variable: Variable) -> str:
    """A role of `PAIRS`, "rotated lat", "rotated lon", "x" or "y" of a projection, or nothing."""
    units, standard = variable.text("units").lower(), variable.text("standard_name").lower()
    base = split_unit(name).base
    if not variable.numeric or not variable.shape:
        return ""
    if standard in _STANDARD:
        return _STANDARD[standard]
    if units in LENGTHS:
        axis = variable.text("axis").lower() or base
        return axis if axis in ("x", "y") and len(variable.dims) == 1 else ""
    if units in NORTH or units in EAST:
        return "lat" if units in NORTH else "lon"
    if base in _NAMES:
        return _NAMES[base]
    axis = variable.text("axis").upper()
    return {"Y": "lat", "X": "lon"}.get(axis, "") if ANGLES.get(units) == "deg" else ""


def unit_of(variable: Variable) -> str:
    """The unit of an angle, "deg" or "rad"; empty if it does not say."""
    units = variable.text("units").lower()
    return ANGLES.get(units, "")


def geometries(variables: Mapping[str, Variable]) -> list[Geometry]:
    """Every pair of arrays that may place cells or points."""
    roles = {name: role_of(name, variable) for name, variable in variables.items()}
    found = []
    for pair, kind in PAIRS.items():
        east, north = ([name for name, role in roles.items() if role == wanted] for wanted in pair)
        found += [g for lon in east for lat in north if (g := geometry(variables, lon, lat, kind)) is not None]
    return found


def geometry(variables: Mapping[str, Variable], lon: str, lat: str, kind: type[Kind]) -> Geometry | None:
    """Two arrays as a geometry; None if their axes do not go together."""
    east, north = (_long_axes(variables[name]) for name in (lon, lat))
    if len(east) == 1 == len(north) and east != north:
        return Geometry(lon, lat, (*north, *east), True, kind)
    return Geometry(lon, lat, north, False, kind) if north and set(east) == set(north) else None


def _long_axes(variable: Variable) -> tuple[str, ...]:
    """The axes of a coordinate, without a time axis of one step."""
    kept = tuple(dim for dim, size in variable.sizes.items() if size > 1)
    return kept if len(variable.dims) > 1 and kept else variable.dims


def bounds_of(name: str, variables: Mapping[str, Variable]) -> Variable | None:
    """The edges or corners of the cells along a coordinate, (..., 2) or (..., corners); None if there are none."""
    own = variables[name]
    known = [own.text("bounds"), *(f"{name}_{end}" for end in ("bnds", "bounds", "bnd")), f"bounds_{name}"]
    for other in known:
        found = variables.get(other)
        if found is not None and found.numeric and found.dims[:-1] == own.dims and found.shape[-1] > 1:
            return found
    return None


def area_of(field: str, variables: Mapping[str, Variable], dims: tuple[str, ...]) -> str:
    """The name of the array of areas of the cells that *field* has; empty if there is none."""
    words = variables[field].text("cell_measures").split()
    stated = [name for key, name in zip(words[::2], words[1::2], strict=False) if key == "area:"]
    named = [name for name, v in variables.items() if v.text("standard_name") == "cell_area" or name.lower() in _AREAS]
    for name in (*stated, *named):
        if name != field and name in variables and set(_long_axes(variables[name])) == set(dims):
            return name
    return ""


def fields(variables: Mapping[str, Variable], places: list[Geometry]) -> dict[str, list[Geometry]]:
    """The arrays that have a number in each cell, and the geometries that place these."""
    beside = set(_beside(variables))
    found = {name: placing(variable, places) for name, variable in variables.items() if name not in beside}
    return {name: fitting for name, fitting in found.items() if fitting}


def placing(variable: Variable, places: list[Geometry]) -> list[Geometry]:
    """The geometries along the axes of an array; those of rows and columns only, if there are such."""
    fitting = [place for place in places if variable.numeric and set(place.dims) <= set(variable.dims)]
    return [place for place in fitting if place.rectilinear] or fitting


def _beside(variables: Mapping[str, Variable]) -> Iterator[str]:
    """The arrays that only describe others: coordinates, their edges, areas, and what attributes refer to."""
    for name, variable in variables.items():
        if variable.coordinate or variable.dims == (name,) or role_of(name, variable):
            yield name
            yield from (f"{name}_{end}" for end in ("bnds", "bounds", "bnd"))
            yield f"bounds_{name}"
        if variable.text("standard_name") == "cell_area" or name.lower() in _AREAS:
            yield name
        for key in ("bounds", "climatology", "coordinates", "ancillary_variables", "grid_mapping", "cell_measures"):
            yield from variable.text(key).replace(":", "").split()
        for key in variable.attrs:
            if key.endswith(("_connectivity", "_coordinates")):  # of a mesh
                yield from variable.text(key).split()


def is_discrete(feature: str) -> bool:
    """Whether a file says by its featureType that it holds stations, trajectories or profiles and no grid."""
    return feature.strip().lower() in _DISCRETE


def projected(variables: Mapping[str, Variable]) -> tuple[str, str] | None:
    """The names of the coordinates of a map projection; None if there are none."""
    roles = {role_of(name, variable): name for name, variable in variables.items()}
    return (roles["x"], roles["y"]) if {"x", "y"} <= set(roles) else None


def rotated(variables: Mapping[str, Variable], dims: tuple[str, ...]) -> tuple[str, str] | None:
    """The names of the latitude and longitude of a turned pole along two axes; None if these have none."""
    roles = {role_of(name, v): name for name, v in variables.items() if len(v.dims) == 1 and v.dims[0] in dims}
    return (roles["rotated lat"], roles["rotated lon"]) if {"rotated lat", "rotated lon"} <= set(roles) else None
