"""NetCDF files: grids and points by the CF conventions, and posterior draws of ArviZ or of an xarray DataTree.

NetCDF 4 is read as the HDF5 that it is, NetCDF 3 with scipy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..base.known import Known
from ..tables import cf
from ..tables.grids import Grid, is_grid, sample_dims
from ..tables.table import Table
from ..tables.variables import Index, Variable
from .hdf5 import group_variables, opened, plain_attribute, stated_unit
from .package_readers import Lazy, chosen, columns, reading, split_label

SUFFIXES = (".nc", ".nc4", ".netcdf")

Variables = dict[str, Variable]

_EXPECTED = "<+a grid over lat and lon, points with lat and lon, or draws over chain and draw+> are needed"

#: What the libraries of NetCDF write where nobody wrote a number, by type.
_UNWRITTEN = {
    **dict.fromkeys(("f4", "f8"), 9.969209968386869e36),
    **{"i2": -32767, "i4": -2147483647, "i8": -9223372036854775806},
    **{"u2": 65535, "u4": 4294967295, "u8": 18446744073709551614},
}


def table(path: Path) -> Table:
    """The draws of the group posterior, chains one after another; else a grid, else points; a group after ``::``.

    Of draws, variables with the dims chain and draw are columns, with one more dim columns of vectors.
    """
    file, label = split_label(path)
    groups, feature = _classic(file) if _is_classic(file) else _nested(file)
    drawn = {name: found for name, own in groups.items() if (found := _drawn(own))}
    if drawn and (not label or any(label.strip("/") in name for name in (*drawn, "posterior"))):
        name, variables = chosen(file, label or "posterior" * ("posterior" in drawn), drawn, "groups of draws")
        return _of_draws(file, name, variables)
    inherited = {name: _with_parents(name, groups) for name in groups}
    grids = {name: variables for name, variables in inherited.items() if is_grid(variables, feature)}
    usable = {name: inherited[name] for name, own in groups.items() if any(v.numeric and v.shape for v in own.values())}
    if not usable:
        raise InputError(
            f"{file} has no variables of numbers (found <!{', '.join(groups) or 'no groups'}!>); {_EXPECTED}"
        )
    if label and not any(label.strip("/") in name for name in grids):
        grids = {}
    name, variables = chosen(file, label, grids or usable, "grids" if grids else "groups")
    note = ", ".join(filter(None, ["NetCDF", name.strip("/")]))
    along = () if grids else sample_dims(variables)
    return _points(file, variables, along, note, feature) if along else Grid(str(file), variables, note)


def _is_classic(file: Path) -> bool:
    with file.open("rb") as stream:
        magic = stream.read(4)
    if magic == b"CDF\x05":
        raise InputError(
            f"{file} is <!NetCDF in the format CDF-5!>, which is not read; write it as <+NetCDF 4+>: nccopy -k nc4 "
            f"{file} new.nc"
        )
    return magic[:3] == b"CDF"


def _nested(file: Path) -> tuple[dict[str, Variables], str]:
    """The variables of each group of a NetCDF 4 file, and what kind of features it says it holds."""
    groups: dict[str, Variables] = {}
    with opened(file, "NetCDF") as root:
        feature = str(plain_attribute(root.attrs.get("featureType", "")))

        def visit(name: str, item: Any) -> None:
            if hasattr(item, "keys") and (found := group_variables(file, item)):
                groups[name] = {own: _with_unwritten(variable) for own, variable in found.items()}

        visit("/", root)
        root.visititems(visit)
    return groups, feature


def _classic(file: Path) -> tuple[dict[str, Variables], str]:
    """The same of a NetCDF 3 file, which has one group."""
    from scipy.io import netcdf_file

    found: Variables = {}
    with reading(file, "NetCDF", "fetch or write it again"), netcdf_file(file, "r", mmap=True) as root:
        feature = str(plain_attribute(getattr(root, "featureType", b"")))
        for name, item in root.variables.items():
            attrs = {key: plain_attribute(value) for key, value in item._attributes.items()}
            shape, load = tuple(map(int, item.shape)), partial(_load_classic, file, name)
            found[name] = _with_unwritten(Variable(item.dimensions, shape, item.data.dtype, attrs, load))
            del item  # or the map of the file cannot be closed
    return {"/": found}, feature


def _load_classic(file: Path, name: str, index: Index) -> NDArray[Any]:
    from scipy.io import netcdf_file

    with reading(file, "NetCDF", "fetch or write it again"), netcdf_file(file, "r", mmap=True) as root:
        return np.array(root.variables[name].data[index])


def _with_unwritten(variable: Variable) -> Variable:
    """The same with the fill value that its type has where the file states none."""
    kind = variable.dtype.str[1:]
    if {"_FillValue", "missing_value"} & set(variable.attrs) or kind not in _UNWRITTEN:
        return variable
    return replace(variable, attrs={**variable.attrs, "_FillValue": np.array(_UNWRITTEN[kind])})


def _with_parents(name: str, groups: Mapping[str, Variables]) -> Variables:
    """The variables of a group and those of the groups around it, which are its coordinates."""
    parts = [] if name == "/" else name.split("/")
    found: Variables = {}
    for depth in range(len(parts) + 1):
        found |= groups.get("/".join(parts[:depth]) or "/", {})
    return found


# Posterior draws.


def _drawn(variables: Variables) -> Variables:
    """The variables over draws: scalars and vectors of real numbers."""
    found = {}
    for name, variable in variables.items():
        rest = [size for dim, size in variable.sizes.items() if dim not in ("chain", "draw")]
        coordinate = variable.dims == (name,)
        if "draw" in variable.dims and variable.numeric and not coordinate and len(rest) <= 1 and 0 not in rest:
            found[name] = variable
    return found


def _of_draws(file: Path, group: str, variables: Variables) -> Table:
    first = next(iter(variables.values()))
    chains, draws = first.sizes.get("chain", 1), first.sizes["draw"]
    name = group.strip("/")
    note = f"NetCDF, {name or 'root'}, {chains:,} chain{'s' * (chains != 1)} of {draws:,} draws"
    dims = tuple(dim for dim in ("chain", "draw") if dim in first.dims)
    found = _columns_along(file, variables, dims, note)
    prior = name.rpartition("/")[2].startswith("prior")  # drawn at random, not by a chain
    found.known = Known(kind="draws") if prior else Known(kind="chains", chains=chains)
    return found


# Points.


def _points(file: Path, variables: Variables, along: tuple[str, ...], note: str, feature: str) -> Table:
    """Stations, trajectories and other points with one place each."""
    table = _columns_along(file, variables, along, f"{note}, along {' x '.join(along)}")
    if feature.lower() == "trajectory":
        table.known = Known(kind="trajectory")
    return table


def _columns_along(file: Path, variables: Variables, along: tuple[str, ...], note: str) -> Table:
    """The variables over some dims as columns, with one more dim as columns of vectors."""
    found, units = {}, {}
    for name, variable in variables.items():
        rest = [size for dim, size in variable.sizes.items() if dim not in along]
        if variable.numeric and set(along) <= set(variable.dims) and len(rest) <= 1 and 0 not in rest:
            rows = math.prod(variable.sizes[dim] for dim in along)
            found[name] = Lazy((rows, *rest), partial(_stacked, variable, along, (rows, *rest)))
            units[name] = cf.unit_of(variable) or stated_unit(variable.attrs)
    return columns(file, found, _EXPECTED, units=units, note=note)


def _stacked(variable: Variable, along: tuple[str, ...], shape: tuple[int, ...]) -> NDArray[Any]:
    """One row for each step along some dims."""
    rest = tuple(dim for dim in variable.dims if dim not in along)
    return variable.numbers((*along, *rest)).reshape(shape)
