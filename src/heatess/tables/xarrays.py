"""Datasets and data arrays of xarray as tables; xarray itself is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..base.known import Known
from .grids import Grid, is_grid, sample_dims
from .table import Columns, Table
from .units import angle_word
from .variables import Index, Variable

#: The dimensions of draws.
_SAMPLES = (("sample",), ("chain", "draw"), ("draw",))


def grid_of_array(array: Any) -> Grid | None:
    """A data array of xarray over latitude and longitude; None if it is another."""
    name = array.name if isinstance(array.name, str) and array.name not in array.coords else "values"
    variables = _variables(array.to_dataset(name=name))
    return Grid("the data array", variables) if is_grid(variables) else None


def chains_of_array(array: Any) -> Table | None:
    """A data array whose chains its shape does not tell: samples that were stacked, draws before chains, or numbers."""
    dims, names = tuple(array.dims), {"chain", "draw"}
    if not names <= set(array.coords) | set(dims) or not ("sample" in dims or names <= set(dims)):
        return None
    if dims[:2] == ("chain", "draw") and len(dims) > 2:
        return None
    name = array.name if isinstance(array.name, str) and array.name not in array.coords else "values"
    return table_of_dataset(array.to_dataset(name=name))


def _variables(dataset: Any) -> dict[str, Variable]:
    """The arrays of a dataset, which are read when they are asked for."""

    def loader(array: Any) -> Any:
        def load(index: Index) -> NDArray[Any]:
            part = array.isel(dict(zip(array.dims, index, strict=True))) if array.dims else array
            return np.asarray(part.values)

        return load

    found = {}
    for name in dataset.variables:
        array = dataset[name]
        attrs = {key: array.encoding[key] for key in ("bounds", "coordinates", "grid_mapping") if key in array.encoding}
        attrs |= dict(array.attrs)
        if {"scale_factor", "add_offset"} & set(array.encoding):  # limits of the packed numbers, which are unpacked
            attrs = {key: value for key, value in attrs.items() if not key.startswith("valid_")}
        dims, shape = tuple(map(str, array.dims)), tuple(array.shape)
        coordinate = name in dataset.coords
        found[str(name)] = Variable(dims, shape, array.dtype, attrs, loader(array.variable), coordinate)
    return found


def table_of_dataset(dataset: Any) -> Table:
    """A grid, or variables along the samples: a dimension `sample`, or chain and draw, or the one of all places."""
    drawn = next((dims for dims in _SAMPLES if set(dims) <= set(dataset.dims)), ())
    variables = _variables(dataset)
    if not drawn and is_grid(variables, str(dataset.attrs.get("featureType", ""))):
        return Grid("the dataset", variables)
    along = drawn or sample_dims(variables)
    if not along:
        found = ", ".join(f"{name} {dict(variable.sizes)}" for name, variable in dataset.data_vars.items())
        advice = "stack them first: `dataset.stack(sample=(...))`"
        raise InputError(f"the dataset has no dimension sample and no chain and draw (found: <!{found}!>); {advice}")
    columns, units = {}, {}
    for name in [*dataset.data_vars, *dataset.coords]:
        array = dataset[name]
        plain_name = name in dataset.dims or name in ("chain", "draw")
        if array.dtype.kind not in "fiu" or plain_name or not array.ndim or not set(along) <= set(array.dims):
            continue
        values = np.asarray(array.transpose(*along, ...).values)
        rows = int(np.prod([array.sizes[dim] for dim in along]))
        values = values.reshape(rows, -1)
        columns[str(name)] = values if array.ndim > len(along) else values[:, 0]
        if unit := angle_word(array.attrs.get("units")):
            units[str(name)] = unit
    table = Columns(columns, "the dataset", units=units)
    if "draw" in along:
        table.known = Known(kind="chains", chains=int(dataset.sizes.get("chain", 1)))
    elif all(name in dataset.coords and dataset[name].dims == tuple(along) for name in ("chain", "draw")):
        table.known = _stacked_chains(np.asarray(dataset["chain"].values), np.asarray(dataset["draw"].values))
    return table


def _stacked_chains(chains: NDArray[Any], draws: NDArray[Any]) -> Known:
    """What is known of samples that say their chain and draw, as those of `arviz.extract` do."""
    names, of = np.unique(chains, return_inverse=True)
    doubt = ""
    if any((draws[of == chain][1:] <= draws[of == chain][:-1]).any() for chain in range(len(names))):
        doubt = "its samples are not in the order of draw within each chain; sort them by chain and draw"
    return Known(kind="chains", chains=len(names), chain_of=of.astype(np.int64), doubt=doubt)
