"""Grids on the sphere as tables: one row for each cell, whose weight is a value times the area of the cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import slices
from ..base.errors import InputError
from ..base.known import Known
from . import cf
from .axis_steps import chosen_steps, described
from .grid_layout import Layout, layout, oriented, stated_areas
from .impossible_numbers import cell_values
from .read_options import Reading
from .suggest import near, spelled
from .table import Piece, Place, Table
from .variables import Variable

#: Numbers of a variable up to which all are looked at.
_NUMBERS_LOOKED_AT = 2**24


class Grid(Table):
    """Arrays over latitude and longitude, of which one will be the weight; `settled` makes cells of it."""

    def __init__(self, source: str, variables: Mapping[str, Variable], note: str = "") -> None:
        self.source, self.variables, self.note = source, variables, note
        self.names = [name for name, variable in variables.items() if variable.numeric and variable.shape]
        self.axes = {name: variables[name].words for name in self.names}

    def numbers(self, name: str) -> NDArray[Any]:
        """All numbers of a variable; none if they are many, since nothing but looking at them is wanted."""
        variable = self.variables[name]
        return variable.numbers().reshape(-1) if math.prod(variable.shape) <= _NUMBERS_LOOKED_AT else np.empty(0)

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """The cells of the only field."""
        return self.settled(Reading())[0].pieces(names, rows)

    def settled(self, reading: Reading) -> tuple[Table, Reading]:
        """The cells of the field that the user chose, and how to read these."""
        self._refuse_others(reading)
        steps = chosen_steps(self.source, reading.select or {}, self.variables)
        sliced = {name: variable.at(steps) for name, variable in self.variables.items()}
        places = self._places(sliced, reading.columns)
        name = self._field(sliced, places, reading)
        place = oriented(sliced, self._place(name, cf.placing(sliced[name], places)))
        single = self._single_steps(name, sliced[name], place)
        cells = self._cells(sliced, name, place, single, reading)
        along = {dim: step for dim, step in steps.items() if dim in self.variables[name].dims}
        if along:
            cells.note = f"{cells.note} at {described(along, self.variables)}"
        plain, logs = (None, name) if reading.log_weights else (name, None)
        roles = dict(zip(place.kind.roles, place.kind.roles, strict=True))
        how = replace(reading, columns=roles, units=None, select=None, area=True, missing="none")
        return cells, replace(how, weights=plain, log_weights=logs)

    def _refuse_others(self, reading: Reading) -> None:
        if reading.form() not in (None, "vectors"):
            raise InputError(f"{self.source} is a grid, whose cells lie on the sphere; leave out `space=`")
        if reading.weights == "none":
            raise InputError(
                f"{self.source} is a grid, whose weights are one of its variables; name it with `weights=`, or put the "
                "numbers beside them as a variable of the same axes"
            )

    def _places(self, variables: Mapping[str, Variable], columns: Any) -> list[cf.Geometry]:
        """The pairs of coordinates that are known, or the one that the user named."""
        if columns is None:
            return cf.geometries(variables)
        named = columns.items() if isinstance(columns, Mapping) else ()
        given = {role.lower(): self._named(name) for role, name in named}
        for roles, kind in cf.PAIRS.items():
            if set(roles) == set(given):
                found = cf.geometry(variables, given[roles[0]], given[roles[1]], kind)
                if found is not None:
                    return [found]
                axes = " and ".join(f"{name} ({variables[name].words})" for name in given.values())
                raise InputError(f"{self.source}: <!{axes}!> do not place the cells of one grid; name two that do")
        raise InputError(
            f"{self.source} is a grid, of which `columns=` names <+the longitude and the latitude+>: "
            f"`columns={{'lon': 'A', 'lat': 'B'}}` ({self._listed()})"
        )

    def _named(self, name: str) -> str:
        """The variable that the user named; upper and lower case may differ."""
        same = [own for own in self.variables if own == name] or [
            own for own in self.variables if own.lower() == name.strip().lower()
        ]
        if len(same) == 1:
            return same[0]
        raise InputError(
            f"{self.source} has no <+variable {name!r}+> ({self._listed()}){near(name, list(self.variables))}"
        )

    def _listed(self) -> str:
        return f"it has <!{'; '.join(f'{name} ({self.variables[name].words})' for name in self.names[:12])}!>"

    def _field(self, variables: Mapping[str, Variable], places: list[cf.Geometry], reading: Reading) -> str:
        """The variable that holds the weights."""
        found = cf.fields(variables, places)
        asked = reading.weights or reading.log_weights
        if asked:
            name = self._named(asked)
            if cf.placing(variables[name], places):
                return name
            listed = ", ".join(found) or "none"
            raise InputError(
                f"{self.source}: {name} (<!{variables[name].words}!>) has no <+axes of latitude and longitude+>; "
                f"variables that have: {listed}"
            )
        if len(found) == 1:
            return next(iter(found))
        if found:
            listed = "; ".join(f"{name} ({self.variables[name].words})" for name in found)
            choice = " or ".join(f"`weights={name!r}`" for name in list(found)[:4])
            raise InputError(f"{self.source} has {len(found)} variables on its grid: {listed}; choose with {choice}")
        raise InputError(self._without_places(variables, places))

    def _without_places(self, variables: Mapping[str, Variable], places: list[cf.Geometry]) -> str:
        """Why there are no cells, and what to do."""
        if places:
            pairs = " and ".join(f"{place.lat}, {place.lon}" for place in places[:3])
            return f"{self.source} has {pairs}, but no variable with a number for each of their cells; {self._listed()}"
        if cf.projected(variables) is not None:
            x, y = cf.projected(variables) or ("", "")
            return (
                f"{self.source}: {x}, {y} are lengths on a map projection, not longitudes and latitudes; bring the "
                "grid to degrees first, for instance with rioxarray: `data.rio.reproject('EPSG:4326')`, or add arrays "
                f"lon and lat along {y}, {x}"
            )
        if any(cf.role_of(name, variable).startswith("rotated") for name, variable in variables.items()):
            return (
                f"{self.source}: its latitudes and longitudes are those of a turned pole, and the true ones are not "
                "there; add arrays lat and lon along both axes"
            )
        if sum(len(variables[name].dims) == 1 for name in self.names) < 2:
            return (
                f"{self.source} has no latitudes and longitudes; add arrays lat and lon with the degrees of each row "
                f"and column ({self._listed()})"
            )
        return (
            f"{self.source} has no variables known to be latitude and longitude; name them with "
            f"`columns={{'lon': 'A', 'lat': 'B'}}` ({self._listed()})"
        )

    def _place(self, name: str, fitting: list[cf.Geometry]) -> cf.Geometry:
        if len(fitting) == 1:
            return self._flat(fitting[0])
        own = [
            place
            for place in fitting
            if {place.lon, place.lat} <= set(self.variables[name].text("coordinates").split())
        ]
        if len(own) == 1:
            return self._flat(own[0])
        choice = " or ".join(spelled(place.kind([place.lon, place.lat])) for place in fitting)
        raise InputError(f"{self.source}: more than one pair of coordinates places {name}; choose with {choice}")

    def _flat(self, place: cf.Geometry) -> cf.Geometry:
        """Refuse coordinates that differ from time to time, unless one is chosen."""
        if len(place.dims) > 2:
            first = dict.fromkeys(place.dims[:-2], 0)
            raise InputError(
                f"{self.source}: {place.lat}, {place.lon} have <!{len(place.dims)} axes, {', '.join(place.dims)}!>, "
                f"of which cells lie along <+two+>; choose a step of each other, from 0, with `select={first!r}`"
            )
        return place

    def _single_steps(self, name: str, field: Variable, place: cf.Geometry) -> dict[str, int]:
        """The only step of each further axis; an axis of several is refused with the choice."""
        further = {dim: size for dim, size in field.sizes.items() if dim not in place.dims}
        several = {dim: size for dim, size in further.items() if size > 1}
        if several:
            counted = " and ".join(f"{size:,} steps along {dim}{self._range(dim)}" for dim, size in several.items())
            raise InputError(
                f"{self.source}: {name} has {counted}; choose one with `select={dict.fromkeys(several, 0)!r}`, which "
                "counts from 0"
            )
        if 0 in further.values():
            raise InputError(f"{self.source}: {name} ({field.words}) holds <!no values!>")
        return dict.fromkeys(further, 0)

    def _range(self, dim: str) -> str:
        coordinate = self.variables.get(dim)
        if coordinate is None or coordinate.dims != (dim,):
            return ""
        steps, units = coordinate.steps(), coordinate.text("units")
        dated = "since" in units and not steps[0].lstrip("-").replace(".", "").isdigit()
        return f" ({steps[0]} to {steps[-1]}{f' {units}' if units and not dated else ''})"

    def _cells(
        self, variables: Mapping[str, Variable], name: str, place: cf.Geometry, single: dict[str, int], reading: Reading
    ) -> Cells:
        cells = layout(self.source, variables, name, place, reading.units)
        values = variables[name].at(single).numbers(place.dims).reshape(-1)
        stated = None if cells.in_rows or not reading.area else stated_areas(variables, name, place)
        if stated is not None:
            own, areas = stated
            self._refuse_areas(own, areas, values.reshape(areas.shape))
            cells = cells._replace(sizes=(areas.reshape(-1), np.ones(areas.size)), area=own)
        if reading.area and cells.sizes is None:
            raise InputError(
                f"{self.source}: {place.lat}, {place.lon} place the cells of {name} along {' x '.join(place.dims)}, "
                "but nothing tells <+the areas of these+>; add a variable cell_area or the corners as bounds, or say "
                f"`area=False` if {name} is a total of each cell, such as a count, or if all cells have the same area"
            )
        at, logs = partial(_at, cells), bool(reading.log_weights)
        values = cell_values(self.source, name, values, reading.missing, at, "cells", logs=logs)
        names = [*place.kind.roles, name]
        table = Cells(self.source, cells, values, names, reading.area, logs)
        table.known = Known(kind="cells", frame=place.kind.frame, cell=cells.side)
        return table

    def _refuse_areas(self, own: str, areas: FloatArray, values: NDArray[Any]) -> None:
        bad = ~(areas > 0) & ~np.isnan(values)
        if bad.any():
            raise InputError(
                f"{self.source}: {own} must be <+the area of each cell+>, but <!{int(bad.sum()):,} cells with a value "
                "have none!>; correct it, or say `area=False` for values that are totals already"
            )


class Cells(Table):
    """The cells of a grid that have a value: longitude, latitude and weight, made piece by piece."""

    def __init__(
        self, source: str, layout: Layout, values: NDArray[Any], names: list[str], area: bool, logs: bool
    ) -> None:
        self.source, self.names, self.units = source, names, dict.fromkeys(names[:2], "deg")
        self._layout, self._values, self._area, self._logs = layout, values, area, logs
        missing = np.isnan(values)
        self._kept = np.flatnonzero(~missing) if missing.any() else None
        self.left_out = int(missing.sum())
        if self.left_out == len(values):
            raise InputError(f"{source}: <!no cell!> of {names[2]} has a value; <+at least one+> is needed")
        self.cells = f"cells from {layout.words}"
        told = f"times {layout.area}" if area else "itself, a total of each cell (`area=False`)"
        self.note = (
            f"{'log-weight' if logs else 'weight'} is {names[2]} {told.replace('times', 'plus log of', int(logs))}"
        )

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Places and weights of some cells."""
        count = len(self._values) if self._kept is None else len(self._kept)
        for part in slices(count, rows or count):
            cells = np.arange(part.start, part.stop) if self._kept is None else self._kept[part]
            lon, lat, areas = self._layout.at(cells)
            found = {self.names[0]: lon, self.names[1]: lat}
            if self.names[2] in names:
                found[self.names[2]] = self._weights(self._values[cells].astype(np.float64), areas)
            yield Piece([found[name] for name in names], self._places(cells), part.stop / count)

    def _weights(self, values: FloatArray, areas: FloatArray | None) -> FloatArray:
        if not self._area or areas is None:
            return values
        return values + np.log(areas) if self._logs else values * areas

    def _places(self, cells: NDArray[np.int64]) -> Place:
        def place(row: int) -> str:
            return f"{self.source} cell {_at(self._layout, int(cells[row]))}"

        return place


def _at(cells: Layout, cell: int) -> str:
    """The place of a cell in words."""
    lon, lat, _ = cells.at(np.array([cell]))
    return f"at lat {lat[0]:.6g}, lon {lon[0]:.6g}"


def is_grid(variables: Mapping[str, Variable], feature: str = "") -> bool:
    """Whether some array has a number for each cell of a grid; *feature* is the featureType of the file.

    Stations and trajectories are none: their latitude and longitude lie along one axis, and nothing says that there are
    cells around them.
    """
    if cf.is_discrete(feature):
        return False
    places = [place for place in cf.geometries(variables) if len(place.dims) > 1 or _has_cells(variables, place)]
    return bool(cf.fields(variables, places))


def _has_cells(variables: Mapping[str, Variable], place: cf.Geometry) -> bool:
    """Whether places along one axis are centres of cells: with corners, or faces of a mesh."""
    corners = cf.bounds_of(place.lat, variables)
    faces = [v for v in variables.values() if v.text("mesh") and v.text("location") == "face"]
    return (corners is not None and corners.shape[-1] > 2) or any(set(place.dims) <= set(v.dims) for v in faces)


def sample_dims(variables: Mapping[str, Variable]) -> tuple[str, ...]:
    """The axes along which points lie, where latitude and longitude or all arrays share them; none if they do not."""
    shared = {place.dims for place in cf.geometries(variables) if not place.rectilinear}
    if len(shared) == 1:
        return shared.pop()
    axes = {v.dims for name, v in variables.items() if v.numeric and v.shape and not v.coordinate}
    common = set.intersection(*map(set, axes)) if axes else set()
    return tuple(common) if len(common) == 1 else ()
