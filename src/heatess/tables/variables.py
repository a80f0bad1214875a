"""Arrays with named axes, as NetCDF and xarray have them: what grids are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A place on each axis: a whole axis, or one step of it.
Index = tuple[int | slice, ...]

_SINCE = re.compile(r"(second|minute|hour|day|sec|min|hr|s|h|d)s?\s+since\s+(\d+)-(\d+)-(\d+)(?:[T ]+([\d:.]+))?", re.I)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CALENDARS = ("", "standard", "gregorian", "proleptic_gregorian")


@dataclass(frozen=True)
class Variable:
    """One array: its axes by their names, its attributes, and a way to read it or a part of it.

    Attributes
    ----------
    dims, shape : tuple
        A name and a length for each axis.
    dtype : dtype
        As it is stored.
    attrs : mapping
        Attributes by their names: units, standard_name, bounds, _FillValue and so on; texts as str.
    load : callable
        Gives the numbers as they are stored, at an index for each axis.
    coordinate : bool
        Whether the format says that it is a coordinate of others.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    attrs: Mapping[str, Any]
    load: Callable[[Index], NDArray[Any]]
    coordinate: bool = False

    @property
    def numeric(self) -> bool:
        """Whether it holds real numbers."""
        return self.dtype.kind in "fiu"

    @property
    def sizes(self) -> dict[str, int]:
        """The length of each axis."""
        return dict(zip(self.dims, self.shape, strict=True))

    @property
    def words(self) -> str:
        """Its axes and their lengths, for the user: "time 12, lat 36, lon 72"."""
        return ", ".join(f"{dim} {size:,}" for dim, size in self.sizes.items())

    def text(self, name: str) -> str:
        """An attribute as text; empty if there is none."""
        return str(self.attrs.get(name, "")).strip()

    def at(self, steps: Mapping[str, int]) -> Variable:
        """The same at one step of some axes, which it no longer has."""
        if not set(steps) & set(self.dims):
            return self
        places = [steps.get(dim) for dim in self.dims]
        kept = [axis for axis, place in enumerate(places) if place is None]

        def load(index: Index) -> NDArray[Any]:
            rest = iter(index)
            return self.load(tuple(next(rest) if place is None else place for place in places))

        dims, shape = tuple(self.dims[axis] for axis in kept), tuple(self.shape[axis] for axis in kept)
        return replace(self, dims=dims, shape=shape, load=load)

    def stored(self) -> NDArray[Any]:
        """All of it, as it is stored."""
        return np.asarray(self.load((slice(None),) * len(self.shape)))

    def numbers(self, dims: tuple[str, ...] | None = None) -> NDArray[Any]:
        """All of it as numbers, missing ones nan, its axes in the order *dims*."""
        values = unpacked(self.stored(), self.attrs)
        return values if dims is None else values.transpose([self.dims.index(dim) for dim in dims])

    def steps(self) -> list[str]:
        """The steps of a coordinate in words: dates where it counts time since one, else its numbers or texts."""
        stored = self.stored()
        if stored.dtype.kind == "M":
            return _short([str(np.datetime_as_string(time, unit="s")) for time in stored.reshape(-1)])
        if stored.dtype.kind not in "fiu":
            return [str(step) for step in stored.reshape(-1)]
        numbers = unpacked(stored, self.attrs).reshape(-1).astype(np.float64)
        return _dates(numbers, self.text("units"), self.text("calendar")) or [f"{step:.10g}" for step in numbers]


def unpacked(stored: NDArray[Any], attrs: Mapping[str, Any]) -> NDArray[Any]:
    """Numbers as a file means them: fill values and those out of the valid range nan, scaled and shifted.

    >>> unpacked(np.array([0, 5, -9], dtype=np.int16), {"_FillValue": -9, "scale_factor": 0.5, "add_offset": 1})
    array([1. , 3.5, nan])
    """
    if str(attrs.get("_Unsigned", "")).lower() == "true" and stored.dtype.kind == "i":
        stored = stored.view(stored.dtype.str.replace("i", "u"))
    values = native(stored)
    missing = np.zeros(stored.shape, dtype=bool)
    for key in ("_FillValue", "missing_value"):
        for mark in _numbers(attrs.get(key)):
            with np.errstate(all="ignore"):  # of a mark that its type does not hold
                missing |= stored == mark.astype(stored.dtype)
    low, high = (*_numbers(attrs.get("valid_range")), None, None)[:2]
    for least in (low, *_numbers(attrs.get("valid_min"))):
        missing |= False if least is None else stored < least
    for most in (high, *_numbers(attrs.get("valid_max"))):
        missing |= False if most is None else stored > most
    scale, offset = _numbers(attrs.get("scale_factor")), _numbers(attrs.get("add_offset"))
    if scale or offset:
        values = values.astype(np.float64) * (scale[0] if scale else 1.0) + (offset[0] if offset else 0.0)
    if missing.any():
        values[missing] = np.nan
    return values


def native(values: Any) -> NDArray[Any]:
    """A copy in native byte order, whole numbers and long doubles as float64."""
    array = np.asarray(values)
    keep = array.dtype.kind == "f" and array.dtype.itemsize <= 8
    return array.astype(array.dtype.newbyteorder("=") if keep else np.float64)


def _numbers(value: Any) -> list[NDArray[Any]]:
    """The numbers in an attribute, one or several; none if there is no such attribute, or it is text."""
    found = np.ravel([] if value is None else value)
    return [number for number in found if not np.isnan(number)] if found.dtype.kind in "fiu" else []


def _dates(numbers: NDArray[np.float64], units: str, calendar: str) -> list[str]:
    """Times since a date, as dates; none if the unit does not say so, or the calendar is not that of our years."""
    match = _SINCE.match(units.strip())
    if match is None or calendar.lower() not in _CALENDARS or not np.isfinite(numbers).all():
        return []
    year, month, day = (int(match[part]) for part in (2, 3, 4))
    if year < 1583 and calendar.lower() != "proleptic_gregorian":  # when ten days were left out
        return []
    clock = [float(part or 0) for part in (match[5] or "0").split(":")]
    seconds = sum(part * size for part, size in zip(clock, (3600, 60, 1), strict=False))
    try:
        start = np.datetime64(f"{year:04d}-{month:02d}-{day:02d}T00:00:00", "s")
    except ValueError:
        return []
    whole = np.round(numbers * _SECONDS[match[1][0].lower()] + seconds)
    return _short([str(start + np.timedelta64(int(step), "s")) for step in whole])


def _short(dates: list[str]) -> list[str]:
    """Dates without the hour, if all are at midnight."""
    return [date.removesuffix("T00:00:00") for date in dates] if all(d.endswith("T00:00:00") for d in dates) else dates
