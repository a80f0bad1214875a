"""HEALPix sky maps as tables: multi-order, or flat in RING or NESTED order, all pixels or some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..blocks import slices
from ..errors import InputError, missing_extra
from .table import Piece, Place, Table

_DEEPEST = 29  # the level at which 64-bit pixel numbers end
_UNSEEN = -1.6375e30  # what HEALPix writes into pixels without data

_DENSITIES = ("PROBDENSITY",)
_SHARES = ("PROB", "PROBABILITY", "WEIGHT")
_INDICES = ("UNIQ", "PIXEL", "PIX", "IPIX", "HPX_PIXEL", "HEALPIX")


class Field(Protocol):
    """A column of a map."""

    def values(self) -> NDArray[Any]:
        """The numbers, missing ones nan."""

    def integers(self) -> NDArray[np.int64]:
        """The numbers as integers, exactly; missing ones -1."""


class SkyMap(Table):
    """The pixels of a map as weighted points: unit vectors to their centres, computed piece by piece.

    *levels* are the orders of the pixels (nside = 2^order), one for all or one each, *pixels* their numbers.
    """

    about = "sky"

    def __init__(self, source: str, levels: Any, pixels: Any, order: str, weights: FloatArray, note: str) -> None:
        self.source, self.note, self.names = source, note, ["x", "y", "z", "weight"]
        self._nsides, self._pixels, self._order, self._weights = 2**levels, pixels, order, weights

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Centres and weights of some pixels."""
        from astropy_healpix import healpix_to_xyz

        count = len(self._weights)
        for part in slices(count, rows or count):
            found = {"weight": self._weights[part]}
            if set(names) - {"weight"}:
                nsides = self._nsides[part] if np.ndim(self._nsides) else self._nsides
                found |= zip("xyz", healpix_to_xyz(self._pixels[part], nsides, order=self._order), strict=True)
            yield Piece([np.array(found[name]) for name in names], self._places(part.start), part.stop / count)

    def _places(self, start: int) -> Place:
        return lambda row: f"{self.source} pixel in row {start + row:,} (counted from 0)"


def is_map(header: Mapping[str, Any], fields: Iterable[str]) -> bool:
    """Whether a table is a HEALPix map, by its header or a column UNIQ."""
    known = str(header.get("PIXTYPE", "")).upper() == "HEALPIX" or {"NSIDE", "ORDERING"} <= set(header)
    return known or "UNIQ" in (name.upper() for name in fields)


def sky_map(source: str, header: Mapping[str, Any], fields: Mapping[str, Field]) -> SkyMap:
    """The map as a table with the columns x, y, z and weight."""
    try:
        import astropy_healpix  # noqa: F401
    except ImportError:
        raise missing_extra("astropy-healpix", "sky") from None
    named = {name.upper(): field for name, field in fields.items()}
    column = _value_column(source, named)
    # healpy writes 1,024 pixels a row
    values = named[column].values().astype(np.float64).reshape(-1)
    if not len(values):
        raise InputError(f"{source} is a HEALPix map with no pixels; at least one is needed")
    values[is_unseen(values)] = np.nan
    if "UNIQ" in named:
        return _multi_order(source, named["UNIQ"].integers().reshape(-1), values, column)
    return _flat(source, header, named, values, column)


def is_unseen(values: FloatArray) -> NDArray[np.bool_]:
    """Which values are the mark of pixels without data, stored in any precision."""
    return np.asarray((values > 1.000001 * _UNSEEN) & (values < 0.999999 * _UNSEEN))


def _value_column(source: str, named: Mapping[str, Field]) -> str:
    """The column of probabilities, or the only column there is."""
    values = [name for name in named if name not in _INDICES]
    known = [name for name in (*_DENSITIES, *_SHARES) if name in values] or (values if len(values) == 1 else [])
    if known:
        return known[0]
    found = ", ".join(named)
    if not values:
        raise InputError(f"{source} is a HEALPix map without values (columns {found}); PROB or PROBDENSITY is needed")
    raise InputError(
        f"{source} is a HEALPix map whose columns ({found}) do not say which holds the weights; "
        f"rename that column to PROB (per pixel) or PROBDENSITY (per area)"
    )


def _multi_order(source: str, uniq: NDArray[np.int64], values: FloatArray, column: str) -> SkyMap:
    from astropy_healpix import uniq_to_level_ipix

    if len(uniq) != len(values):
        raise InputError(f"{source}: UNIQ has {len(uniq):,} entries, but {column} has {len(values):,}; fetch it again")
    levels, pixels = (np.asarray(part, dtype=np.int64) for part in uniq_to_level_ipix(np.maximum(uniq, 4)))
    bad = (uniq < 4) | (levels > _DEEPEST)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{source}: UNIQ in row {row:,} is {uniq[row]}, which is no pixel ({int(bad.sum()):,} such rows); "
            f"expected 4 or more, and levels up to {_DEEPEST}; fetch it again"
        )
    _refuse_overlap(source, levels, pixels)
    weights = _weights(values, column, levels)
    finest, coarsest = 2 ** int(levels.max()), 2 ** int(levels.min())
    note = f"HEALPix map, multi-order, nside {coarsest} to {finest}, {len(uniq):,} pixels"
    return SkyMap(source, levels, pixels, "nested", weights, f"{note}; {_weight_is(column)}")


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


def whole_map(source: str, values: FloatArray, order: str) -> SkyMap:
    """A map of all pixels, as many as some nside has; *order* is "ring" or "nested"."""
    level = _level_of_count(source, len(values))
    note = f"HEALPix map, nside {2**level}, {order}, {len(values):,} pixels"
    return SkyMap(source, level, np.arange(len(values)), order, values, note)


def _level_of_count(source: str, count: int) -> int:
    level = (max(count // 12, 1).bit_length() - 1) // 2
    if count != 12 * 4**level:
        near = [12 * 4**k for k in (level, level + 1)]
        raise InputError(
            f"{source} must have one number per pixel, 12 nside^2 of them with nside a power of two, but has "
            f"{count:,}; the nearest are {near[0]:,} (nside {2**level}) and {near[1]:,} (nside {2 ** (level + 1)})"
        )
    return level


def _flat(
    source: str, header: Mapping[str, Any], named: Mapping[str, Field], values: FloatArray, column: str
) -> SkyMap:
    order = {"RING": "ring", "NESTED": "nested", "NEST": "nested"}.get(str(header.get("ORDERING", "")).strip().upper())
    if order is None:
        found = repr(header["ORDERING"]) if "ORDERING" in header else "nothing"
        raise InputError(
            f"{source}: the header's ORDERING must be RING or NESTED, but is {found}; set it to the right one"
        )
    explicit = [name for name in _INDICES if name in named]
    if str(header.get("INDXSCHM", "")).strip().upper() == "EXPLICIT" and not explicit:
        raise InputError(f"{source}: INDXSCHM is EXPLICIT, but no column PIXEL has the pixel numbers; add it")
    level = _level(source, header.get("NSIDE", None if explicit else np.sqrt(len(values) / 12)))
    whole = 12 * 4**level
    note = f"HEALPix map, nside {2**level}, {order}, {len(values):,}"
    if explicit:
        pixels = _pixels(source, named[explicit[0]].integers().reshape(-1), explicit[0], whole, len(values))
        note += f" of {whole:,} pixels"
    else:
        if len(values) != whole:
            raise InputError(
                f"{source}: nside {2**level} has {whole:,} pixels, but column {column} has {len(values):,} values; "
                f"fetch it again, or correct NSIDE"
            )
        pixels = np.arange(whole)
        note += " pixels"
    return SkyMap(
        source,
        level,
        pixels,
        order,
        _weights(values, column, np.int64(level)),
        f"{note}; {_weight_is(column)}",
    )


def _level(source: str, nside: Any) -> int:
    """The level of *nside*, a power of two."""
    usable = isinstance(nside, int | float | np.number) and not isinstance(nside, bool)
    level = int(nside).bit_length() - 1 if usable and 1 <= nside < 2**40 else -1
    if not 0 <= level <= _DEEPEST or 2**level != nside:
        raise InputError(f"{source}: NSIDE must be a power of two, 1 to 2^{_DEEPEST}, but is {nside}; correct it")
    return level


def _pixels(source: str, pixels: NDArray[np.int64], name: str, whole: int, count: int) -> NDArray[np.int64]:
    if len(pixels) != count:
        raise InputError(f"{source}: {name} has {len(pixels):,} entries for {count:,} values; fetch it again")
    bad = (pixels < 0) | (pixels >= whole)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{source}: {name} in row {row:,} is {pixels[row]}, but pixels are 0 to {whole - 1:,} "
            f"({int(bad.sum()):,} such rows); correct NSIDE or those rows"
        )
    if len(np.unique(pixels)) < count:
        raise InputError(f"{source}: {name} names some pixels twice; keep one row for each")
    return pixels


def _weight_is(column: str) -> str:
    return f"weight is {column}{' times the area' if column in _DENSITIES else ''}"


def _weights(values: FloatArray, column: str, levels: NDArray[np.int64] | np.int64) -> FloatArray:
    """Probabilities: densities times the area 4 pi / (12 * 4^level) of a pixel."""
    return np.asarray(values * (np.pi / 3 * 0.25**levels)) if column in _DENSITIES else values
