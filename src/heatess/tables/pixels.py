"""Pixels of HEALPix maps: which there are, where, and how large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError

_DEEPEST = 29  # the level at which 64-bit pixel numbers end

#: Columns that number pixels.
INDICES = ("UNIQ", "PIXEL", "PIX", "IPIX", "HPX_PIXEL", "HEALPIX")


class Field(Protocol):
    """A column of a map."""

    def values(self) -> NDArray[Any]:
        """The numbers, missing ones nan."""

    def integers(self) -> NDArray[np.int64]:
        """The numbers as integers, exactly; missing ones -1."""


class Stored(NamedTuple):
    """A column that is an array."""

    array: NDArray[Any]

    def values(self) -> NDArray[Any]:
        """The array."""
        return self.array

    def integers(self) -> NDArray[np.int64]:
        """The array as integers; nan becomes -1."""
        missing = np.isnan(self.array) if self.array.dtype.kind == "f" else np.zeros(self.array.shape, dtype=bool)
        return np.where(missing, -1, self.array).astype(np.int64)


class Pixels(NamedTuple):
    """The pixels of a map: *levels* are their orders (nside = 2^order), one for all or one each, *numbers* theirs."""

    levels: Any
    numbers: NDArray[np.int64]
    order: str  #: "ring" or "nested"
    words: str  #: "nside 64, nested"

    @property
    def sides(self) -> Any:
        """The side of a pixel, the root of its area, in degrees: one for all or one each."""
        return np.degrees(np.sqrt(np.pi / 3 * 0.25**self.levels))

    def centres(self, rows: Any) -> Any:
        """Unit vectors to some of them, as three arrays."""
        from astropy_healpix import healpix_to_xyz

        nsides = 2 ** (self.levels[rows] if np.ndim(self.levels) else self.levels)
        return healpix_to_xyz(self.numbers[rows], nsides, order=self.order)


def multi_order(source: str, uniq: NDArray[np.int64]) -> Pixels:
    """The pixels of a map of several orders, each by its number in the NUNIQ scheme."""
    from astropy_healpix import uniq_to_level_ipix

    levels, pixels = (np.asarray(part, dtype=np.int64) for part in uniq_to_level_ipix(np.maximum(uniq, 4)))
    bad = (uniq < 4) | (levels > _DEEPEST)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{source}: UNIQ in row {row:,} is <!{uniq[row]}!>, which is no pixel ({int(bad.sum()):,} such rows); "
            f"expected <+4 or more, and levels up to {_DEEPEST}+>; fetch it again"
        )
    _refuse_overlap(source, levels, pixels)
    finest, coarsest = 2 ** int(levels.max()), 2 ** int(levels.min())
    return Pixels(levels, pixels, "nested", f"multi-order, nside {coarsest} to {finest}")


def _refuse_overlap(source: str, levels: NDArray[np.int64], pixels: NDArray[np.int64]) -> None:
    shift = 2 * (_DEEPEST - levels)
    starts, ends = pixels << shift, (pixels + 1) << shift
    order = np.argsort(starts, kind="stable")
    cut = np.flatnonzero(starts[order][1:] < ends[order][:-1])
    if len(cut):
        rows = sorted(int(row) for row in order[cut[0] : cut[0] + 2])
        raise InputError(
            f"{source}: the pixels in rows {rows[0]:,} and {rows[1]:,} (counted from 0) overlap, so that part of the "
            f"sky would count twice; a multi-order map covers each place once: fetch it again"
        )


def level_of_count(source: str, count: int) -> int:
    """The order of which there are so many pixels."""
    level = (max(count // 12, 1).bit_length() - 1) // 2
    if count != 12 * 4**level:
        near = [12 * 4**k for k in (level, level + 1)]
        raise InputError(
            f"{source} must have <+one number per pixel, 12 nside^2 of them with nside a power of two+>, but has "
            f"<!{count:,}!>; the nearest are {near[0]:,} (nside {2**level}) and {near[1]:,} (nside "
            f"{2 ** (level + 1)})"
        )
    return level


def flat(source: str, header: Mapping[str, Any], named: Mapping[str, Field], column: str) -> Pixels:
    """The pixels of a map of one order: all of them, or those that a column numbers; *column* is one of values."""
    order = {"RING": "ring", "NESTED": "nested", "NEST": "nested"}.get(str(header.get("ORDERING", "")).strip().upper())
    if order is None:
        found = repr(header["ORDERING"]) if "ORDERING" in header else "nothing"
        raise InputError(f"{source}: the header's ORDERING must be <+RING or NESTED+>, but is <!{found}!>; correct it")
    explicit = [name for name in INDICES if name in named]
    if str(header.get("INDXSCHM", "")).strip().upper() == "EXPLICIT" and not explicit:
        raise InputError(f"{source}: INDXSCHM is EXPLICIT, but no <+column PIXEL+> has the pixel numbers; add it")
    count = named[column].values().size
    told = 2 ** header["ORDER"] if isinstance(header.get("ORDER"), int) else None if explicit else np.sqrt(count / 12)
    level = _level(source, header.get("NSIDE", told))
    whole, words = 12 * 4**level, f"nside {2**level}, {order}"
    if explicit:
        numbers = _pixels(source, named[explicit[0]].integers().reshape(-1), explicit[0], whole, count)
        return Pixels(level, numbers, order, f"{words}, {len(numbers):,} of {whole:,}")
    if count != whole:
        raise InputError(
            f"{source}: nside {2**level} has <+{whole:,} pixels+>, but column {column} has <!{count:,} values!>; "
            "fetch it again, or correct NSIDE"
        )
    return Pixels(level, np.arange(whole), order, words)


def _level(source: str, nside: Any) -> int:
    """The level of *nside*, a power of two."""
    usable = isinstance(nside, int | float | np.number) and not isinstance(nside, bool)
    level = int(nside).bit_length() - 1 if usable and 1 <= nside < 2**40 else -1
    if not 0 <= level <= _DEEPEST or 2**level != nside:
        raise InputError(
            f"{source}: NSIDE must be <+a power of two, 1 to 2^{_DEEPEST}+>, but is <!{nside}!>; correct it"
        )
    return level


def _pixels(source: str, pixels: NDArray[np.int64], name: str, whole: int, count: int) -> NDArray[np.int64]:
    if len(pixels) != count:
        raise InputError(f"{source}: {name} has <!{len(pixels):,} entries!> for <+{count:,} values+>; fetch it again")
    bad = (pixels < 0) | (pixels >= whole)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{source}: {name} in row {row:,} is <!{pixels[row]}!>, but pixels are <+0 to {whole - 1:,}+> "
            f"({int(bad.sum()):,} such rows); correct NSIDE or those rows"
        )
    if len(np.unique(pixels)) < count:
        raise InputError(f"{source}: {name} names <!some pixels twice!>; keep <+one row for each+>")
    return pixels
