"""NetCDF files of posterior draws: InferenceData of ArviZ, or an xarray DataTree, read as the HDF5 files they are."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..tables.table import Table
from .foreign import Lazy, chosen, columns, split_label
from .hdf5 import native, opened, stated_unit

SUFFIXES = (".nc", ".nc4", ".netcdf")

_DRAWS = ("chain", "draw")
_EXPECTED = "write the draws with InferenceData.to_netcdf(path), so that there is a group posterior"


class Variable(NamedTuple):
    """A variable over chain and draw: where those axes are, and how many numbers each draw has."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]  #: (n,) or (n, d) with n = chains x draws
    unit: str


def table(path: Path) -> Table:
    """The draws of the group posterior, chains one after another; another group after ``::``.

    Variables with the dims chain and draw are columns, with one more dim columns of vectors; others are left out.
    """
    file, label = split_label(path)
    _refuse_classic(file)
    with opened(file, "NetCDF") as root:
        groups = {name: variables for name in ["/", *_groups(root)] if (variables := _variables(root[name]))}
        if not groups:
            listed = ", ".join(_groups(root)) or "no groups"
            raise InputError(f"{file} has no variables with the dims chain and draw (found {listed}); {_EXPECTED}")
        if not label and "posterior" in groups:
            label = "posterior"
        name, variables = chosen(file, label, groups, "groups of draws")
        note = _note(root[name], variables)
    found = {variable: Lazy(at.shape, partial(_load, file, name, variable)) for variable, at in variables.items()}
    return columns(file, found, _EXPECTED, units={v: at.unit for v, at in variables.items()}, note=note)


def _refuse_classic(file: Path) -> None:
    with file.open("rb") as stream:
        magic = stream.read(3)
    if magic == b"CDF":
        raise InputError(f"{file} is classic NetCDF 3, which has no groups; write it as NetCDF 4: engine='h5netcdf'")


def _groups(root: Any) -> list[str]:
    return [name for name, item in root.items() if hasattr(item, "keys")]


def _variables(group: Any) -> dict[str, Variable]:
    """The variables over draws: scalars and vectors of real numbers."""
    found = {}
    for name, item in group.items():
        dims = _dims(item)
        if "draw" in dims and item.dtype.kind in "fiu":
            axes = tuple(dims.index(dim) for dim in _DRAWS if dim in dims)
            rest = [size for axis, size in enumerate(item.shape) if axis not in axes]
            if len(rest) <= 1 and 0 not in rest:
                found[name] = Variable(
                    axes, (math.prod(item.shape[axis] for axis in axes), *rest), stated_unit(item.attrs)
                )
    return found


def _dims(item: Any) -> list[str]:
    """The names of the dims of a variable; none for groups and for coordinates."""
    if not getattr(item, "shape", ()) or item.attrs.get("CLASS") == b"DIMENSION_SCALE":
        return []
    return [next((scale.name.rpartition("/")[2] for scale in dim.values()), "") for dim in item.dims]


def _note(group: Any, variables: dict[str, Variable]) -> str:
    name, variable = next(iter(variables.items()))
    sizes = [group[name].shape[axis] for axis in variable.axes]
    chains, draws = (1, *sizes)[-2:]
    return f"NetCDF, {group.name.strip('/') or 'root'}, {chains:,} chain{'s' * (chains != 1)} of {draws:,} draws"


def _load(file: Path, group: str, name: str) -> NDArray[Any]:
    """The draws of one variable, (n,) or (n, d), missing ones nan."""
    with opened(file, "NetCDF") as root:
        item = root[group][name]
        variable = _variables(root[group])[name]
        stored, attributes = item[()], dict(item.attrs)
    values = native(stored)
    for key in ("_FillValue", "missing_value"):
        if key in attributes and stored.dtype.kind in "iu":
            values[stored == np.ravel(attributes[key])[0]] = np.nan
        elif key in attributes:
            values = np.where(stored == np.ravel(attributes[key])[0], values.dtype.type(np.nan), values)
    if {"scale_factor", "add_offset"} & set(attributes):
        scale, offset = (
            float(np.ravel(attributes.get(key, plain))[0]) for key, plain in (("scale_factor", 1), ("add_offset", 0))
        )
        values = values.astype(np.float64) * scale + offset
    return np.moveaxis(values, variable.axes, range(len(variable.axes))).reshape(variable.shape)
