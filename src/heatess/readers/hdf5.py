"""HDF5 files: posterior samples, runs of emcee, EBSD maps, tables, or one array of vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError, importing
from ..base.known import Known
from ..tables.grids import Grid, is_grid
from ..tables.table import Rows, Table
from ..tables.units import angle_word
from ..tables.unnamed_arrays import with_axes
from ..tables.variables import Index, Variable, native
from .ebsd_hdf5 import ebsd_map
from .package_readers import Lazy, chosen, columns, reading, split_label
from .packed_size import refuse_expansion

SUFFIXES = (".h5", ".hdf5", ".hdf", ".he5", ".h5oina", ".h5ebsd")

#: Sky positions in posterior samples are radians by convention.
_RADIANS = ("ra", "dec", "right_ascension", "declination", "rightascension")
_EXPECTED = "<+posterior_samples, a table, a grid over lat and lon, or one array of vectors+> is needed"

_UNPACKED = "write it without packing and blocks, as h5py does by default, and h5repack -f NONE -l CONTI old.h5 new.h5"

#: Attributes that HDF5 keeps for itself.
_INTERNAL = ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME", "DIMENSION_LABELS")


def table(path: Path) -> Table:
    """The EBSD map or the posterior samples of an HDF5 file, else its only grid, table or array (n, d).

    Posterior samples are a compound dataset, or a group of datasets (n,), called posterior_samples, posterior or
    something_posterior, at any depth, or the members of a group called posterior_samples. Of several, ``::`` chooses
    one by its path or the beginning or end of it: ``file.h5::C01:IMRPhenomXPHM``.
    """
    file, label = split_label(path)
    with opened(file, "HDF5") as root:
        if (found := ebsd_map(root, file, label, partial(_load, file))) is not None:
            return found
        if ensembles := _ensembles(root):
            return _walkers(file, root, *chosen(file, label, ensembles, "runs of emcee"))
        every = _tables(root)
        samples = {name: found for name, found in every.items() if _is_posterior(name)}
        if label and not any(label.strip("/") in name for name in samples):
            samples = {}
        grids = {} if samples else _grids(file, root)
        if grids and (not label or any(label.strip("/") in name for name in grids)):
            name, variables = chosen(file, label, grids, "grids")
            return Grid(str(file), variables, ", ".join(filter(None, ["HDF5", name.strip("/")])))
        parts, kind = (samples, "sets of posterior samples") if samples else (every, "tables")
        if not parts:
            raise InputError(f"{file} holds no table or array of numbers (found <!{_listing(root)}!>); {_EXPECTED}")
        if not samples and not label and all(list(found) == [""] for found in every.values()):
            _refuse_stacks(root, file, list(every))
        name, members = chosen(file, label, parts, kind)
        shape = {member: dataset.shape for member, dataset in members.items()}
        if list(shape) == [""]:
            if not shape[""][0]:
                raise InputError(f"{file}: the array {name} has <!shape {shape['']}!>; <+at least one+> row is needed")
            return Rows(_LazyRows(file, name, shape[""], members[""].dtype), str(file))  # type: ignore[arg-type]
        units = {member: _unit(root, name, member) for member in shape}
    if samples:
        units |= {member: "rad" for member in shape if member.lower() in _RADIANS}
    lazy = {member: Lazy(shape[member], partial(_load, file, name, member)) for member in shape}
    made = columns(file, lazy, _EXPECTED, units=units, note=f"HDF5, {name}")
    if samples:
        made.known = Known(kind="draws")
    return made


def _ensembles(root: Any) -> dict[str, Any]:
    """The runs of emcee: groups with a dataset chain (draw, walker, parameter) and the number of draws made so far."""
    found: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if hasattr(item, "keys") and {"nwalkers", "iteration"} <= set(item.attrs) and "chain" in item:
            found[name] = item["chain"]

    root.visititems(visit)
    return found


def _walkers(file: Path, root: Any, name: str, chain: Any) -> Table:
    """The draws of all walkers in turn, as emcee has them; room that was made for further draws is left out."""
    draws, walkers = int(root[name].attrs["iteration"]), int(chain.shape[1])
    shape = (draws * walkers, int(chain.shape[2]))

    def load() -> NDArray[Any]:
        return _load(file, name, "chain")[:draws].reshape(shape)

    found = columns(file, {"draws": Lazy(shape, load)}, _EXPECTED, note=f"emcee, {walkers} walkers of {draws} draws")
    found.known = Known(kind="chains", chains=walkers, chain_of=np.tile(np.arange(walkers), draws))
    return found


def _grids(file: Path, root: Any) -> dict[str, dict[str, Variable]]:
    """The groups whose arrays are a grid, by the names of their axes or by their lengths."""
    found: dict[str, dict[str, Variable]] = {}

    def visit(name: str, item: Any) -> None:
        if not hasattr(item, "keys"):
            return
        variables = group_variables(file, item)
        if any("" in variable.dims for variable in variables.values() if len(variable.shape) > 1):
            named = with_axes(str(file), {own: v for own, v in variables.items() if v.numeric and v.shape})
            variables = named or {}
        if is_grid(variables):
            found[name] = variables

    visit("/", root)
    root.visititems(visit)
    return found


def group_variables(file: Path, group: Any) -> dict[str, Variable]:
    """The arrays in a group with the names of their axes, where dimension scales tell them; "" where none does."""
    found = {}
    for name in group:
        item = group.get(name)
        if item is None or not hasattr(item, "dtype"):  # a broken link, a group
            continue
        scale = item.attrs.get("CLASS") == b"DIMENSION_SCALE"
        if scale and str(plain_attribute(item.attrs.get("NAME", ""))).startswith("This is a netCDF dimension but not"):
            continue
        dims = [next((own.name.rpartition("/")[2] for own in dim.values()), "") for dim in item.dims]
        if scale and len(item.shape) == 1:
            dims = [name]
        attrs = {key: plain_attribute(item.attrs[key]) for key in item.attrs if key not in _INTERNAL}
        load = partial(_part, file, item.name)
        found[name] = Variable(tuple(dims), item.shape, item.dtype, attrs, load)
    return found


def _part(file: Path, name: str, index: Index) -> NDArray[Any]:
    with opened(file, "HDF5") as root:
        item = root[name]
        sides = (size if isinstance(part, slice) else 1 for part, size in zip(index, item.shape, strict=True))
        _refuse_expansion(file, item, math.prod(sides))
        return np.asarray(item[index])


def _refuse_expansion(file: Path, item: Any, count: int) -> None:
    """Refuse to read *count* numbers of a dataset, or one packed block of it, if these are out of proportion."""
    size = item.dtype.itemsize * max(count, math.prod(item.chunks or (0,)))
    refuse_expansion(f"{file}: {item.name}", file.stat().st_size, size, _UNPACKED)


def plain_attribute(value: Any) -> Any:
    """An attribute as text, where it is text in any form; else as it is."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "SUO" and value.size == 1:
        value = value.reshape(-1)[0]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _refuse_stacks(root: Any, file: Path, rows: list[str]) -> None:
    """Refuse to take an array (n, d) for the points where others have more axes, such as the chains of a sampler."""
    stacks: list[str] = []

    def visit(name: str, item: Any) -> None:
        if len(getattr(item, "shape", None) or ()) > 2 and item.dtype.kind in "fiu":
            stacks.append(f"{name} {item.shape}")

    root.visititems(visit)
    if stacks:
        raise InputError(
            f"{file} holds <!{', '.join(stacks[:4])}!>, not <+(n, d)+>; save the draws as rows, those of chains with "
            f"a column chain, or choose another array after two colons, such as {file}::{rows[0]}"
        )


@contextmanager
def opened(file: Path, kind: str) -> Iterator[Any]:
    """The root of an HDF5 file, closed at the end; damage gives an `InputError`."""
    with importing("h5py", "hdf5"):
        import h5py
    with reading(file, kind, "fetch or write it again"), h5py.File(file, "r") as root:
        yield root


def _tables(root: Any) -> dict[str, dict[str, Any]]:
    """Every table, by its path: the columns of compound datasets and of groups; an array alone is the column ""."""
    found: dict[str, dict[str, Any]] = {}
    alone: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}

    def visit(name: str, item: Any) -> None:
        shape, dtype = getattr(item, "shape", None), getattr(item, "dtype", None)
        if not shape or dtype is None:
            return
        parent, _, last = name.rpartition("/")
        if dtype.names and len(shape) == 1:
            members = {field: _Field(shape, dtype[field]) for field in dtype.names}
            found[name] = {field: member for field, member in members.items() if _numeric(member)}
        elif _numeric(item):
            groups.setdefault(parent, {})[last] = item
            if len(shape) == 2:
                alone[name] = item

    root.visititems(visit)
    for parent, members in groups.items():
        lengths = {member.shape[0] for member in members.values()}
        if len(lengths) == 1 and any(member.ndim == 1 for member in members.values()):
            found[parent or "/"] = members
            alone = {name: item for name, item in alone.items() if name.rpartition("/")[0] != parent}
    found |= {name: {"": item} for name, item in alone.items()}
    return {name: members for name, members in found.items() if members}


class _Field:
    """One field of a compound dataset: what `_numeric` asks for."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape + dtype.shape, dtype.base
        self.ndim = len(self.shape)


def _numeric(item: Any) -> bool:
    """Whether it is a column of numbers or of vectors."""
    return item.dtype.kind in "fiu" and item.ndim in (1, 2) and 0 not in item.shape[1:]


def _is_posterior(name: str) -> bool:
    parts = name.split("/")
    return "posterior_samples" in parts[-2:] or parts[-1] == "posterior" or parts[-1].endswith("_posterior")


def _unit(root: Any, name: str, member: str) -> str:
    """The unit in a column's own attributes, if it is degrees or radians."""
    item = root[name]
    attributes: Mapping[str, Any] = item[member].attrs if hasattr(item, "keys") else {}
    return stated_unit(attributes)


def stated_unit(attributes: Mapping[str, Any]) -> str:
    """The attribute units or unit as "deg", "rad" or another unit of angles; empty if it says something else."""
    text = attributes.get("units", attributes.get("unit", ""))
    return angle_word(text.decode("latin-1") if isinstance(text, bytes) else text) or ""


def _load(file: Path, name: str, member: str) -> NDArray[Any]:
    with opened(file, "HDF5") as root:
        item = root[name]
        whole = item[member] if member and hasattr(item, "keys") else item
        _refuse_expansion(file, whole, math.prod(whole.shape))
        values = item[member] if member else item
        return native(values[()])


class _LazyRows:
    """A dataset (n, d), of which slices are read when they are asked for."""

    def __init__(self, file: Path, name: str, shape: tuple[int, ...], dtype: Any) -> None:
        self._file, self._name, self.shape, self.dtype = file, name, shape, dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray[Any]:
        with opened(self._file, "HDF5") as root:
            item = root[self._name]
            _refuse_expansion(self._file, item, len(range(*part.indices(len(self)))) * item.shape[1])
            return native(item[part])


def _listing(root: Any) -> str:
    """What there is, with shapes, for the user."""
    found: list[str] = []
    root.visititems(lambda name, item: found.append(f"{name} {item.shape}") if hasattr(item, "shape") else None)
    return ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "") if found else "no dataset"
