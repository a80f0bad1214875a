"""HEALPix sky maps as tables: multi-order, or flat in RING or NESTED order, all pixels or some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import slices
from ..base.errors import InputError, importing
from ..base.known import FRAMES, Known
from .impossible_numbers import cell_values
from .pixels import INDICES, Field, Pixels, Stored, flat, level_of_count, multi_order
from .read_options import Reading
from .sky_columns import old_frame
from .table import Piece, Place, Table

_UNSEEN = -1.6375e30  # what HEALPix writes into pixels without data

_DENSITIES = ("PROBDENSITY",)
_SHARES = ("PROB", "PROBABILITY", "WEIGHT")
_FRAMES = {
    "icrs": ("C", "CEL", "CELESTIAL", "EQ", "EQUATORIAL", "ICRS", "FK5", "J2000", "RADEC"),
    "galactic": ("G", "GAL", "GALACTIC"),
    "ecliptic": ("E", "ECL", "ECLIPTIC"),
}


class SkyMap(Table):
    """The columns of a map, of which one will be the weight; `settled` makes weighted unit vectors of its pixels."""

    about = "sky"

    def __init__(self, source: str, pixels: Pixels, fields: Mapping[str, Field], frame: str | None) -> None:
        self.source, self._pixels, self._fields, self._frame = source, pixels, fields, frame
        self.names = [name for name in fields if name not in INDICES]
        self.note = f"HEALPix map, {pixels.words}, {len(pixels.numbers):,} pixels"

    def numbers(self, name: str) -> NDArray[Any]:
        """All values of a column, those of pixels without data nan."""
        return _seen(self._fields[name])

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Centres and weights of the pixels that have data, by the only column of values."""
        return self.settled(Reading())[0].pieces(names, rows)

    def settled(self, reading: Reading) -> tuple[Table, Reading]:
        """The pixels with the weight that the user chose, and how to read these."""
        if reading.select:
            raise InputError(f"{self.source} is a HEALPix map, which has no axes to select from; leave out `select=`")
        if reading.columns is not None:
            raise InputError(f"{self.source} is a HEALPix map, and its points are its pixels; leave out `columns=`")
        logs, column = bool(reading.log_weights), _value_column(self.source, self._fields, reading)
        if not column:
            values, note = np.ones(len(self._pixels.numbers)), "equal weights"
        else:
            values = self._values(column, logs, reading.missing)
            several = np.ndim(self._pixels.levels) > 0 and column not in _SHARES
            by_area = reading.area and (several or column in _DENSITIES)
            if by_area:
                area = np.pi / 3 * 0.25**self._pixels.levels
                values = values + np.log(area) if logs else values * area
            times = f" {'plus log of' if logs else 'times'} the area of its pixel" if by_area else ""
            note = f"{'log-weight' if logs else 'weight'} is {column}{times}"
        table = MapPixels(self.source, self._pixels, values, note)
        if (self._frame or "").startswith("fk"):
            table.frames = dict.fromkeys("xyz", str(self._frame))
        frame = self._frame if self._frame in FRAMES else None
        table.known = Known(kind="cells", frame=frame, cell=_side(self._pixels, values, logs))
        weight = "weight" if column else "none"
        names = (None, weight) if logs else (weight, None)
        return table, replace(reading, area=True, missing="none", weights=names[0], log_weights=names[1])

    def _values(self, column: str, logs: bool, missing: Sequence[float] | None) -> FloatArray:
        values, count = _seen(self._fields[column]), len(self._pixels.numbers)
        if len(values) != count:
            raise InputError(
                f"{self.source}: {self._pixels.words} has <+{count:,} pixels+>, but column {column} has "
                f"<!{len(values):,} values!>; fetch it again, or correct NSIDE"
            )
        return cell_values(self.source, column, values, missing, self._at, "pixels", logs=logs)

    def _at(self, row: int) -> str:
        return f"in pixel {self._pixels.numbers[row]:,}"


class MapPixels(Table):
    """The pixels of a map that have data as weighted unit vectors to their centres, made piece by piece."""

    about = "sky"

    def __init__(self, source: str, pixels: Pixels, values: FloatArray, note: str) -> None:
        self.source, self.note, self.names = source, note, ["x", "y", "z", "weight"]
        self.cells = f"pixels of a HEALPix map ({pixels.words})"
        self._rows = np.flatnonzero(~np.isnan(values))
        self._pixels, self._values, self.left_out = pixels, values, len(values) - len(self._rows)
        if not len(self._rows):
            raise InputError(f"{source}: <!no pixel!> has a value; <+at least one+> is needed")

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Centres and weights of some pixels."""
        count = len(self._rows)
        for part in slices(count, rows or count):
            chosen = self._rows[part]
            found = {"weight": self._values[chosen]}
            if set(names) - {"weight"}:
                found |= zip("xyz", self._pixels.centres(chosen), strict=True)
            yield Piece([np.array(found[name]) for name in names], self._places(chosen), part.stop / count)

    def _places(self, chosen: NDArray[np.int64]) -> Place:
        return lambda row: f"{self.source} pixel in row {chosen[row]:,} (counted from 0)"


def is_map(header: Mapping[str, Any], fields: Iterable[str]) -> bool:
    """Whether a table is a HEALPix map, by its header or a column UNIQ."""
    known = str(header.get("PIXTYPE", "")).upper() == "HEALPIX" or {"NSIDE", "ORDERING"} <= set(header)
    return known or "UNIQ" in (name.upper() for name in fields)


def sky_map(source: str, header: Mapping[str, Any], fields: Mapping[str, Field]) -> SkyMap:
    """The map as a table, whose pixels are checked."""
    with importing("astropy-healpix", "sky"):
        import astropy_healpix  # noqa: F401
    named = {name.upper(): field for name, field in fields.items()}
    values = [name for name in named if name not in INDICES]
    if str(header.get("ORDERING", "")).strip().upper() in ("NUNIQ", "RANGE") and (len(named) < 2 or not values):
        raise InputError(
            f"{source} is <!a coverage map (MOC)!>: it has pixels of several orders, but no <+values+>, which are "
            "needed as weights; give the map or the catalogue that it was made of"
        )
    if not values:
        found = ", ".join(named)
        raise InputError(
            f"{source} is a HEALPix map without values (columns <!{found}!>); it needs <+PROB or PROBDENSITY+>"
        )
    if not named[values[0]].values().size:
        raise InputError(f"{source} is a HEALPix map with <!no pixels!>; <+at least one+> is needed")
    pixels = (
        multi_order(source, named["UNIQ"].integers().reshape(-1))
        if "UNIQ" in named
        else flat(source, header, named, values[0])
    )
    return SkyMap(source, pixels, named, frame_of(header))


def frame_of(header: Mapping[str, Any]) -> str | None:
    """The frame that the header of a map states; None if it does not, or states one that is not known here.

    >>> frame_of({"COORDSYS": "G"}), frame_of({"RADESYS": "FK5"}), frame_of({})
    ('galactic', 'icrs', None)
    >>> frame_of({"COORDSYS": "C", "RADESYS": "FK4"})  # refused later, unless the user says what it is
    'fk4'
    """
    stated = str(header.get("COORDSYS", "")).strip().upper() or str(header.get("RADESYS", "")).strip().upper()
    frame = next((frame for frame, words in _FRAMES.items() if stated in words), None)
    return (old_frame(header) or frame) if frame in ("icrs", None) else frame


def _seen(field: Field) -> FloatArray:
    """The values of all pixels, one after another (healpy writes 1,024 a row), those without data nan."""
    values = field.values().astype(np.float64).reshape(-1)
    values[is_unseen(values)] = np.nan
    return values


def is_unseen(values: FloatArray) -> NDArray[np.bool_]:
    """Which values are the mark of pixels without data, stored in any precision."""
    return np.asarray((values > 1.000001 * _UNSEEN) & (values < 0.999999 * _UNSEEN))


def _value_column(source: str, named: Mapping[str, Field], reading: Reading) -> str:
    """The column that the user chose, or that of probabilities, or the only one; none for equal weights."""
    values = [name for name in named if name not in INDICES]
    asked = reading.weights or reading.log_weights
    if asked == "none":
        return ""
    if asked:
        if asked.strip().upper() in values:
            return asked.strip().upper()
        raise InputError(f"{source} is a HEALPix map without a <+column {asked!r}+>; it has <!{', '.join(values)}!>")
    known = [name for name in (*_DENSITIES, *_SHARES) if name in values] or (values if len(values) == 1 else [])
    if known:
        return known[0]
    choice = " or ".join(f"`weights={name!r}`" for name in values[:4])
    raise InputError(
        f"{source} is a HEALPix map whose columns ({', '.join(named)}) do not say which holds the weights; choose "
        f"with {choice}"
    )


def _side(pixels: Pixels, values: FloatArray, logs: bool) -> float:
    """The side of a pixel in degrees; where they differ, 95 % of the weight lies in pixels no larger."""
    if not np.ndim(pixels.levels):
        return float(pixels.sides)
    known = ~np.isnan(values)
    weights = np.exp(values[known] - values[known].max()) if logs else values[known]
    order = np.argsort(-pixels.levels[known], kind="stable")
    shares = np.cumsum(weights[order])
    last = min(int(np.searchsorted(shares, 0.95 * shares[-1])), len(shares) - 1) if len(shares) else 0
    return float(pixels.sides[known][order][last]) if len(shares) else float(pixels.sides.max())


def whole_map(source: str, values: FloatArray, order: str) -> SkyMap:
    """A map of all pixels, as many as some nside has; *order* is "ring" or "nested"."""
    level = level_of_count(source, len(values))
    pixels = Pixels(level, np.arange(len(values)), order, f"nside {2**level}, {order}")
    return SkyMap(source, pixels, {"VALUES": Stored(values)}, None)
