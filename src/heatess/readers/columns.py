"""The columns of a table: which hold coordinates, which hold weights, and the points they give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..errors import InputError
from .cloud import Cloud, Place, ReadOptions, checked_weights, refuse, unit_vectors

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

    *lists* are the columns whose entries are lists of numbers; one of them may hold whole vectors. `coordinates`
    are the columns that hold the points: longitude and latitude if `spherical`, one column of vectors if `vectors`,
    else one per coordinate. `weight` is the column of weights, or of log-weights if `logs`, and empty if there is
    none. `wanted` are all of these.
    """

    def __init__(self, header: list[str], path: Path, options: ReadOptions, lists: Sequence[str] = ()) -> None:
        self.header, self.path, self.options, self.lists = header, path, options, lists
        self.found = "found columns: " + ", ".join(name or "(no name)" for name in header)
        self.coordinates: list[str] = []
        self.coordinates = self._named_points() if options.points else self._known_points()
        self.spherical = not options.points and len(self.coordinates) == 2
        self.vectors = len(self.coordinates) == 1
        if options.units and not self.spherical:
            raise InputError(f"{path}: units= is for longitude and latitude, not for vectors; leave it out")
        self.weight, self.logs = self._weights()
        self.wanted = [*self.coordinates, *filter(None, [self.weight])]
        self._far_east = self._far_north = 0.0

    def cloud(self, coordinates: NDArray[Any], weights: FloatArray | None, place: Place, *, zero_ok: bool) -> Cloud:
        """Weighted points from some rows; with *zero_ok* all weights may be zero. Call `finish` after the last rows."""
        if weights is not None:
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
        small = north <= math.pi / 2 + _RADIAN_SLACK and east <= 2 * math.pi + _RADIAN_SLACK
        if self.spherical and not self.options.units and small:
            found = f"columns {', '.join(self.coordinates)}, with largest values {east:.4g} and {north:.4g}"
            raise InputError(f"{self.path}: {found}, could be degrees or radians; add units='deg' or units='rad'")

    # Which column means what.

    def _named_points(self) -> list[str]:
        """The columns that the user named: one of vectors, or one per coordinate."""
        points = self.options.points
        if not isinstance(points, str):
            if len(points) < 2:
                raise InputError(f"{self.path}: give at least two columns, such as points={_XYZ!r}; {self.found}")
            return [self._named(name, f"points={points!r}") for name in points]
        column = self._named(points, f"points={points!r}")
        if column not in self.lists:
            raise InputError(f"{self.path}: column {column} does not hold lists, which points={points!r} needs")
        return [column]

    def _known_points(self) -> list[str]:
        """The columns with known names, such as x, y, z, or with the names for lon and lat; refused if not clear."""
        lon, lat = self.options.lon, self.options.lat
        east = self._named(lon, "lon=") if lon else self._one_of(_LON, "lon=")
        north = self._named(lat, "lat=") if lat else self._one_of(_LAT, "lat=")
        ways = [[east, north]]
        if not (lon or lat):
            lists = tuple(name for name in _VECTOR if name in (column.lower() for column in self.lists))
            ways.insert(0, [self._one_of((name,), f"points={_XYZ!r}") for name in _XYZ])
            ways.append([self._one_of(lists, f"points={''.join(lists[:1])!r}")])
        complete = [names for names in ways if all(names)]
        if len(complete) > 1:
            columns = " and ".join(", ".join(names) for names in complete)
            choice = " or ".join(_spelled(names) for names in complete)
            raise InputError(f"{self.path} has both {columns}; choose with {choice}")
        if complete:
            return complete[0]
        also = " or a list column such as embedding" if self.lists else ""
        how = f"lon='COL', lat='COL' or points={'COL' if self.lists else ('A', 'B', 'C')!r}"
        raise InputError(f"{self.path} has no columns x, y, z or lon, lat{also}; name yours with {how} ({self.found})")

    def _weights(self) -> tuple[str, bool]:
        """The name of the weight column, or none, and whether it holds logarithms. Coordinates are never weights."""
        options = self.options
        if options.weights == "none":
            return "", False
        if options.weights:
            return self._named(options.weights, "weights="), False
        if options.log_weights:
            return self._named(options.log_weights, "log_weights="), True
        plain, logs = self._one_of(_WEIGHTS, "weights="), self._one_of(_LOG_WEIGHTS, "log_weights=")
        if plain and logs:
            choice = f"weights={plain!r} or log_weights={logs!r}"
            raise InputError(f"{self.path} has both {plain} and {logs}; choose with {choice}")
        return plain or logs, bool(logs)

    def _named(self, name: str, option: str) -> str:
        """The column that the user named; upper and lower case may differ."""
        name = name.strip()
        matches = [column for column in self.header if column == name]
        matches = matches or [column for column in self.header if column.lower() == name.lower()]
        if len(matches) == 1:
            return matches[0]
        reason = f"has {len(matches)} columns" if matches else "has no column"
        raise InputError(f"{self.path} {reason} {name!r}, asked for by {option}; {self.found}")

    def _one_of(self, names: tuple[str, ...], option: str) -> str:
        """The only column with one of these names, in upper or lower case, not yet in use; empty if there is none."""
        matches = [column for column in self.header if column.lower() in names and column not in self.coordinates]
        if len(matches) > 1:
            raise InputError(f"{self.path} has columns {' and '.join(matches)}; choose one with {option}")
        return matches[0] if matches else ""

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
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1)
        if np.abs(np.hypot(lengths, weights) - 1).max() < 1e-3 and np.abs(lengths - 1).max() > 1e-3:
            found = "columns x, y, z, w are unit quaternions, not weighted directions, and rotations are not read yet"
            advice = f"for directions in four dimensions, give points={tuple(self.wanted)!r}"
            raise InputError(f"{self.path}: {found}; {advice}")


def _spelled(names: list[str]) -> str:
    """The arguments that choose these columns."""
    if len(names) == 2:
        return f"lon={names[0]!r}, lat={names[1]!r}"
    return f"points={tuple(names) if len(names) > 1 else names[0]!r}"


def _refuse(bad: NDArray[np.bool_], values: FloatArray, name: str, expected: str, advice: str, place: Place) -> None:
    refuse(bad, place, lambda row: f"column {name} is {values[row]:g}, not {expected}", advice)
