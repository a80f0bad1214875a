"""The columns of a table: which hold coordinates, which hold weights, and the points they give."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .cloud import Cloud, FloatArray, Place, ReadOptions, checked_weights, unit_vectors

_XYZ = ("x", "y", "z")
_LON = ("lon", "longitude", "lng")
_LAT = ("lat", "latitude")
_VECTOR = ("embedding", "vector", "emb")
_WEIGHTS = ("weight", "weights", "w")
_LOG_WEIGHTS = ("log_weight", "log_weights", "logw")

#: Radians may exceed their limits by this, because of rounding: pi/2 printed as 1.5708, 2 pi as 6.2832.
_RADIAN_SLACK = 1e-4


class Columns:
    """The columns of one file: what each one means, and how rows become points and weights.

    Parameters
    ----------
    header : list of str
        Names of all columns.
    path : Path
        The file, for messages.
    options : ReadOptions
        What the user asked for.
    lists : sequence of str
        The columns whose entries are lists of numbers; one of them may hold whole vectors.

    Attributes
    ----------
    coordinates : list of str
        The columns that hold the points: coordinates, longitude and latitude, or one column of vectors.
    weight : str or None
        The column that holds weights, or log-weights if `logs` is true.
    """

    def __init__(self, header: list[str], path: Path, options: ReadOptions, lists: list[str] | None = None) -> None:
        self.header = header
        self.path = path
        self.options = options
        self.lists = lists or []
        self.found = "found columns: " + ", ".join(name or "(no name)" for name in header)
        self.spherical = False
        self.coordinates = self._coordinates()
        self.weight, self.logs = self._weights()
        self._far_east = self._far_north = 0.0

    @property
    def wanted(self) -> list[str]:
        """All columns that are read."""
        return [*self.coordinates, *([self.weight] if self.weight else [])]

    @property
    def vectors(self) -> bool:
        """Whether one column holds whole vectors."""
        return self.coordinates[0] in self.lists

    def cloud(
        self, coordinates: NDArray[Any], weights: FloatArray | None, place: Place, *, zero_ok: bool = False
    ) -> Cloud:
        """Weighted points from rows of the wanted columns; call `finish` after the last rows of the file.

        *coordinates* has shape (n, d). With *zero_ok* all weights of these rows may be zero.
        """
        if weights is not None and self.weight:
            checked_weights(weights, place, self.weight, logs=self.logs, zero_ok=zero_ok)
        if not self.vectors:
            for name, column in zip(self.coordinates, coordinates.T, strict=True):
                _refuse(~np.isfinite(column), column, name, "a finite number", "drop or fix those rows", place)
        if self.spherical:
            points = self._from_lon_lat(coordinates, place)
        else:
            self._refuse_quaternions(coordinates, weights)
            points = unit_vectors(coordinates, place, normalize=self.options.normalize)
        plain, logs = (None, weights) if self.logs else (weights, None)
        return Cloud(points, plain, logs, self._described(len(points)), str(self.path))

    def _described(self, n: int) -> str:
        words = f"{n:,} points from {'column' if self.vectors else 'columns'} {', '.join(self.coordinates)}"
        if self.spherical:
            words += " (radians)" if self.options.units == "rad" else " (degrees)"
        elif self.options.normalize:
            words += " (normalized)"
        if self.weight:
            words += f"; {'log-weights' if self.logs else 'weights'} from column {self.weight}"
        return words

    def finish(self) -> None:
        """Refuse longitude and latitude if no row showed whether they are degrees or radians."""
        east, north = self._far_east, self._far_north
        if not self.spherical or self.options.units:
            return
        if north <= math.pi / 2 + _RADIAN_SLACK and east <= 2 * math.pi + _RADIAN_SLACK:
            raise InputError(
                f"{self.path}: columns {', '.join(self.coordinates)} could be degrees or radians (largest values "
                f"{east:.4g} and {north:.4g}); add units='deg' or units='rad'"
            )

    # Which column means what.

    def _coordinates(self) -> list[str]:
        options = self.options
        if options.xyz and options.vector:
            raise InputError(f"give points={options.xyz!r} or points={options.vector!r}, not both")
        if (options.xyz or options.vector) and (options.lon or options.lat):
            raise InputError(f"give points={options.vector or options.xyz!r} or lon= and lat=, not both")
        if options.vector:
            return self._plain([self._list_column(options.vector)])
        if options.xyz:
            if len(options.xyz) < 2:
                raise InputError(f"{self.path}: give at least two columns, such as points={_XYZ!r}; {self.found}")
            return self._plain([self._named(name, f"points={options.xyz!r}") for name in options.xyz])
        if options.lon or options.lat:
            lon = self._named(options.lon, "lon=") if options.lon else self._one_of(_LON, "lon=")
            lat = self._named(options.lat, "lat=") if options.lat else self._one_of(_LAT, "lat=")
            if lon and lat:
                self.spherical = True
                return [lon, lat]
        return self._recognised()

    def _recognised(self) -> list[str]:
        """The coordinates whose names are known, such as x, y, z; refused if there are none or several kinds."""
        lists = tuple(name for name in _VECTOR if name in (column.lower() for column in self.lists))
        ways = {
            "xyz": [self._one_of((name,), f"points={_XYZ!r}") for name in _XYZ],
            "lon": [self._one_of(_LON, "lon="), self._one_of(_LAT, "lat=")],
            "vector": [self._one_of(lists, f"points={''.join(lists[:1])!r}")],
        }
        named = bool(self.options.lon or self.options.lat)
        complete = {way: [name for name in names if name] for way, names in ways.items() if all(names) and not named}
        if len(complete) > 1:
            columns = " and ".join(", ".join(names) for names in complete.values())
            choice = " or ".join(_spelled(way, names) for way, names in complete.items())
            raise InputError(f"{self.path} has both {columns}; choose with {choice}")
        for way, names in complete.items():
            self.spherical = way == "lon"
            return names if self.spherical else self._plain(names)
        also = " or a list column such as embedding" if self.lists else ""
        raise InputError(
            f"{self.path} has no columns x, y, z or lon, lat{also}; name your columns with lon='COL', lat='COL' or "
            f"points={'COL' if self.lists else ('A', 'B', 'C')!r} ({self.found})"
        )

    def _plain(self, names: list[str]) -> list[str]:
        if self.options.units:
            raise InputError(f"{self.path}: units= is for longitude and latitude, not for vectors; leave it out")
        return names

    def _list_column(self, name: str) -> str:
        column = self._named(name, f"points={name!r}")
        if column not in self.lists:
            raise InputError(
                f"{self.path}: column {column} does not hold lists of numbers, which points={name!r} needs"
            )
        return column

    def _weights(self) -> tuple[str | None, bool]:
        """The name of the weight column, or None, and whether it holds logarithms. Coordinates are never weights."""
        options = self.options
        if options.weights and options.log_weights:
            raise InputError("give weights= or log_weights=, not both")
        if options.weights == "none":
            return None, False
        if options.weights:
            return self._named(options.weights, "weights="), False
        if options.log_weights:
            return self._named(options.log_weights, "log_weights="), True
        plain = self._one_of(_WEIGHTS, "weights=", self.coordinates)
        logs = self._one_of(_LOG_WEIGHTS, "log_weights=", self.coordinates)
        if plain and logs:
            raise InputError(
                f"{self.path} has both {plain} and {logs}; choose with weights={plain!r} or log_weights={logs!r}"
            )
        return plain or logs, logs is not None

    def _named(self, name: str, option: str) -> str:
        """The column that the user named; upper and lower case may differ."""
        name = name.strip()
        matches = [column for column in self.header if column == name]
        matches = matches or [column for column in self.header if column.lower() == name.lower()]
        if len(matches) == 1:
            return matches[0]
        reason = f"has {len(matches)} columns" if matches else "has no column"
        raise InputError(f"{self.path} {reason} {name!r}, asked for by {option}; {self.found}")

    def _one_of(self, names: tuple[str, ...], option: str, taken: list[str] | None = None) -> str | None:
        """The only column with one of these names, in upper or lower case; None if there is none."""
        matches = [column for column in self.header if column.lower() in names and column not in (taken or [])]
        if len(matches) > 1:
            raise InputError(f"{self.path} has columns {' and '.join(matches)}; choose one with {option}")
        return matches[0] if matches else None

    # What their numbers mean.

    def _from_lon_lat(self, table: FloatArray, place: Place) -> FloatArray:
        """Unit vectors from longitude and latitude."""
        lon, lat = table.T
        self._far_east = max(self._far_east, float(np.abs(lon).max()))
        self._far_north = max(self._far_north, float(np.abs(lat).max()))
        radians = self.options.units == "rad"
        unit, half_turn, slack = ("radians", math.pi, _RADIAN_SLACK) if radians else ("degrees", 180.0, 0.0)
        advice = "fix those rows, or " + ("give units='deg'" if radians else "swap lon= and lat= if exchanged")
        far_lat = np.abs(lat) > half_turn / 2 + slack
        far_lon = (lon < -half_turn - slack) | (lon > 2 * half_turn + slack)
        within = f"within {half_turn / 2:.5g} {unit} of the equator"
        between = f"between {-half_turn:.5g} and {2 * half_turn:.5g} {unit}"
        _refuse(far_lat, lat, self.coordinates[1], within, advice, place)
        _refuse(far_lon, lon, self.coordinates[0], between, advice, place)
        if not radians:
            lon, lat = np.radians(lon), np.radians(lat)
        return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])

    def _refuse_quaternions(self, vectors: FloatArray, weights: FloatArray | None) -> None:
        """Refuse columns x, y, z, w if they have unit length together: they are rotations, not weighted directions."""
        if weights is None or [name.lower() for name in self.wanted] != ["x", "y", "z", "w"]:
            return
        lengths = np.linalg.norm(vectors, axis=1)
        if np.abs(np.hypot(lengths, weights) - 1).max() < 1e-3 and np.abs(lengths - 1).max() > 1e-3:
            raise InputError(
                f"{self.path}: columns x, y, z, w are unit quaternions, not directions with a weight w, and rotations "
                f"are not read yet; for directions in four dimensions, give points={tuple(self.wanted)!r}"
            )


def _spelled(way: str, names: list[str]) -> str:
    """The arguments that choose these columns."""
    points = tuple(names) if way == "xyz" else names[0]
    return f"lon={names[0]!r}, lat={names[1]!r}" if way == "lon" else f"points={points!r}"


def _refuse(bad: NDArray[np.bool_], values: FloatArray, name: str, expected: str, advice: str, place: Place) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{place(row)}: column {name} is {values[row]:g}, not {expected} ({int(bad.sum())} of {len(values)} "
            f"rows); {advice}"
        )
