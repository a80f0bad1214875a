"""Arrays whose axes have no names, as in a dict, a .npz archive or HDF5: a grid, if their lengths say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..base.errors import InputError
from .cf import PAIRS, role_of
from .variables import Variable

_EDGES = ("_bnds", "_bounds", "_bnd")


def with_axes(source: str, variables: Mapping[str, Variable]) -> dict[str, Variable] | None:
    """The same arrays with names for their axes; None if they are no grid. *source* is for messages.

    A grid has a latitude (n,), a longitude (m,) and an array in which n and m are lengths of two axes, in either order;
    where n is m, latitude is the first. Or latitude, longitude and an array all have the same two axes. What other axes
    are is told by arrays of their length. Lengths that are there more often than that are refused.
    """
    found = _coordinates(variables)
    if found is None:
        return None
    lon, lat = found
    coordinates = {lon: variables[lon], lat: variables[lat]}
    if len(variables[lat].shape) == 1:
        named: dict[str, tuple[str, ...]] = {name: (name,) for name in coordinates}
        along = {lat: variables[lat].shape[0], lon: variables[lon].shape[0]}
    else:
        named = dict.fromkeys(coordinates, ("y", "x"))
        along = dict(zip(("y", "x"), variables[lat].shape, strict=True))
    steps = {name: v.shape[0] for name, v in variables.items() if len(v.shape) == 1 and name not in coordinates}
    fields = 0
    for name, variable in variables.items():
        if name in named:
            continue
        edges = _edges_of(name, variable, coordinates, named)
        dims = edges or _dims(source, name, variable.shape, along, steps)
        fields += not edges and set(along) <= set(dims)
        named[name] = dims
    if not fields:
        return None
    return {name: replace(variable, dims=named[name]) for name, variable in variables.items()}


def _coordinates(variables: Mapping[str, Variable]) -> tuple[str, str] | None:
    """The only longitude and latitude: an axis each, or both along the same two."""
    roles = {name: role_of(name, variable) for name, variable in variables.items()}
    for pair in PAIRS:
        east, north = ([name for name, role in roles.items() if role == wanted] for wanted in pair)
        if len(east) == 1 == len(north):
            shapes = variables[east[0]].shape, variables[north[0]].shape
            if len(shapes[0]) == 1 == len(shapes[1]) or (len(shapes[0]) == 2 and shapes[0] == shapes[1]):
                return east[0], north[0]
    return None


def _edges_of(
    name: str, variable: Variable, coordinates: Mapping[str, Variable], named: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """The axes of an array of edges, such as lat_bnds (n, 2); none if it is not one."""
    for own, coordinate in coordinates.items():
        said = coordinate.text("bounds") == name or name in {*(own + end for end in _EDGES), f"bounds_{own}"}
        if said and variable.shape[:-1] == coordinate.shape:
            return (*named[own], f"{name} edge")
    return ()


def _dims(
    source: str, name: str, shape: tuple[int, ...], along: Mapping[str, int], steps: Mapping[str, int]
) -> tuple[str, ...]:
    """A name for each axis: those of the cells where their lengths are found, and those of arrays of other lengths."""
    if len(shape) == 1:
        return (name,)
    (first, n), (second, m) = along.items()
    axes = range(len(shape))
    places = [(i, j) for i in axes for j in axes if (i < j if n == m else i != j) and (shape[i], shape[j]) == (n, m)]
    if len(places) > 1:
        call = f"`xarray.DataArray({name}, dims=('time', 'lat', 'lon'), coords={{'lat': lat, 'lon': lon}})`"
        raise InputError(
            f"{source}: {name} has <!shape {shape}!>, in which {first} ({n}) and {second} ({m}) may be more than one "
            f"pair of axes; name them: {call}"
        )
    dims = [f"{name} axis {axis}" for axis in axes]
    for i, j in places:
        dims[i], dims[j] = first, second
    for axis, size in enumerate(shape):
        like = [step for step, length in steps.items() if length == size and step not in dims]
        if dims[axis] not in along and len(like) == 1:
            dims[axis] = like[0]
    return tuple(dims)
