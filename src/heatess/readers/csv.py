"""CSV and TSV files with a header: columns x, y, z or lon, lat, and perhaps weights."""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .cloud import Cloud, FloatArray, Place, ReadOptions, checked_weights, unit_vectors

_XYZ = ("x", "y", "z")
_LON = ("lon", "longitude", "lng")
_LAT = ("lat", "latitude")
_WEIGHTS = ("weight", "weights", "w")
_LOG_WEIGHTS = ("log_weight", "log_weights", "logw")

#: Slack for radians that were printed with few digits: pi/2 as 1.5708, 2 pi as 6.2832.
_RADIAN_SLACK = 1e-4


def read(path: Path, options: ReadOptions) -> Cloud:
    """Read unit vectors, or longitude and latitude, with the weights beside them."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        try:
            rows, header = _open(stream, path)
            columns = _Columns(header, path)
            coordinates, spherical = columns.coordinates(options)
            weight, logs = columns.weights(options, coordinates)
            names = [*coordinates, *([weight] if weight else [])]
            table, lines = _numbers(rows, [columns.index(name) for name in names], header, path)
        except UnicodeDecodeError:
            raise InputError(f"{path} is not UTF-8 text; save it as CSV in UTF-8") from None
        except csv.Error as error:
            raise InputError(f"{path} is not a CSV file that can be read ({error}); save it as plain CSV") from None

    def place(row: int) -> str:
        return f"{path} line {lines[row]}"

    if weight:
        values = checked_weights(table[:, -1], place, weight, logs=logs)
    for name, column in zip(coordinates, table.T, strict=False):
        _refuse(~np.isfinite(column), column, name, "a finite number", "drop or mend those rows", place)
    described = f"{len(table):,} points from columns {', '.join(coordinates)}"
    if spherical:
        points, unit = _from_lon_lat(table[:, :2], coordinates, path, place, options.units)
        described += f" ({unit})"
    else:
        _refuse_quaternions(table, coordinates, weight, path)
        vectors = table[:, : len(coordinates)]
        points = unit_vectors(vectors, place, normalize=options.normalize)
        described += " (normalized)" if options.normalize else ""
    if weight:
        described += f"; {'log-weights' if logs else 'weights'} from column {weight}"
    return Cloud(
        points=points,
        weights=values if weight and not logs else None,
        log_weights=values if weight and logs else None,
        description=described,
        source=str(path),
    )


class _Columns:
    """The header of a file, and which of its columns mean what."""

    def __init__(self, header: list[str], path: Path) -> None:
        self.header = header
        self.path = path
        self.found = "found columns: " + ", ".join(name or "(no name)" for name in header)

    def index(self, name: str) -> int:
        return self.header.index(name)

    def coordinates(self, options: ReadOptions) -> tuple[list[str], bool]:
        """Names of the coordinate columns, and whether they are longitude and latitude."""
        if options.xyz and (options.lon or options.lat):
            raise InputError("give --xyz or --lon and --lat, not both")
        vector = [self.named(name, "--xyz") for name in options.xyz] or self.one_each([(name,) for name in _XYZ])
        lon = self.named(options.lon, "--lon") if options.lon else self.one_of(_LON, "--lon")
        lat = self.named(options.lat, "--lat") if options.lat else self.one_of(_LAT, "--lat")
        wants_sphere = bool(options.lon or options.lat)
        if options.xyz and len(vector) < 2:
            raise InputError(f"{self.path}: --xyz needs at least two columns, such as --xyz x,y,z; {self.found}")
        if vector and not wants_sphere and (options.xyz or not (lon and lat)):
            if options.units:
                raise InputError(f"{self.path}: --units is for longitude and latitude, not for vectors; leave it out")
            return vector, False
        if vector and not wants_sphere:
            raise InputError(
                f"{self.path} has both {', '.join(vector)} and {lon}, {lat}; choose with --xyz {','.join(vector)} "
                f"or --lon {lon} --lat {lat}"
            )
        if lon and lat:
            return [lon, lat], True
        raise InputError(
            f"{self.path} has no columns x, y, z or lon, lat; name yours with --lon COL --lat COL or --xyz A,B,C "
            f"({self.found})"
        )

    def weights(self, options: ReadOptions, taken: list[str]) -> tuple[str | None, bool]:
        """Name of the weight column, if any, and whether it holds logarithms; never a coordinate."""
        if options.weights == "none":
            return None, False
        if options.weights:
            return self.named(options.weights, "--weights"), False
        if options.log_weights:
            return self.named(options.log_weights, "--log-weights"), True
        plain = self.one_of(_WEIGHTS, "--weights", taken)
        logs = self.one_of(_LOG_WEIGHTS, "--log-weights", taken)
        if plain and logs:
            raise InputError(
                f"{self.path} has both {plain} and {logs}; choose with --weights {plain} or --log-weights {logs}"
            )
        return plain or logs, logs is not None

    def named(self, name: str, option: str) -> str:
        """The column the user asked for, exactly or in another case."""
        name = name.strip()
        matches = [column for column in self.header if column == name]
        matches = matches or [column for column in self.header if column.lower() == name.lower()]
        if len(matches) == 1:
            return matches[0]
        reason = f"has {len(matches)} columns" if matches else "has no column"
        raise InputError(f"{self.path} {reason} {name!r}, asked for by {option}; {self.found}")

    def one_of(self, names: tuple[str, ...], option: str, taken: list[str] | None = None) -> str | None:
        """The only column with one of these names, in any case; None if there is none."""
        matches = [column for column in self.header if column.lower() in names and column not in (taken or [])]
        if len(matches) > 1:
            raise InputError(f"{self.path} has columns {' and '.join(matches)}; choose one with {option}")
        return matches[0] if matches else None

    def one_each(self, groups: list[tuple[str, ...]]) -> list[str]:
        matches = [self.one_of(names, "--xyz") for names in groups]
        return [name for name in matches if name] if all(matches) else []


def _open(stream: TextIO, path: Path) -> tuple[Iterator[tuple[int, list[str]]], list[str]]:
    """Numbered data rows and the header, with the delimiter taken from the header line."""
    skipped = 0
    for text in stream:
        if text.strip():
            break
        skipped += 1
    else:
        raise InputError(f"{path} is empty; it needs a header line such as x,y,z or lon,lat,weight")
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    delimiter = usual if usual in text else next((mark for mark in ",;\t" if mark in text), usual)
    header = [name.strip() for name in next(csv.reader([text], delimiter=delimiter))]
    header[0] = header[0].lstrip("#").strip()  # as numpy.savetxt writes it
    if all(_is_number(name) for name in header):
        raise InputError(
            f"{path} line {skipped + 1} is a row of numbers, but a header is needed; put a line such as x,y,z "
            "or lon,lat,weight on top"
        )
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    return ((skipped + 1 + reader.line_num, row) for row in reader), header


def _numbers(
    rows: Iterator[tuple[int, list[str]]], wanted: list[int], header: list[str], path: Path
) -> tuple[FloatArray, NDArray[np.int64]]:
    """The wanted columns as numbers, shape (n, len(wanted)), and the line of each row."""
    values, lines = array("d"), array("q")
    width = len(header)
    for line, row in rows:
        if len(row) != width:
            if not any(field.strip() for field in row):
                continue
            if len(row) < width or any(field.strip() for field in row[width:]):
                raise InputError(
                    f"{path} line {line} has {len(row)} fields, but the header has {width} ({', '.join(header)}); "
                    "mend that line, and quote any field that contains the delimiter"
                )
        try:
            values.extend([float(row[column]) for column in wanted])
        except ValueError:
            column = next(column for column in wanted if not _is_number(row[column]))
            found = repr(row[column][:40]) if row[column].strip() else "empty"
            hint = "; decimals need a point, not a comma" if _is_number(row[column].replace(",", ".")) else ""
            raise InputError(
                f"{path} line {line}: column {header[column]} is {found}, not a number{hint}; drop or mend that row"
            ) from None
        lines.append(line)
    if not lines:
        raise InputError(f"{path} has a header ({', '.join(header)}) but no rows; at least one point is needed")
    table = np.frombuffer(values, dtype=np.float64).reshape(len(lines), len(wanted))
    return table, np.frombuffer(lines, dtype=np.int64)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _from_lon_lat(
    table: FloatArray, names: list[str], path: Path, place: Place, units: str | None
) -> tuple[FloatArray, str]:
    """Unit vectors from longitude and latitude, and the unit they were in."""
    lon, lat = table.T
    far_east, far_north = np.abs(lon).max(), np.abs(lat).max()
    if units is None and far_north <= math.pi / 2 + _RADIAN_SLACK and far_east <= 2 * math.pi + _RADIAN_SLACK:
        raise InputError(
            f"{path}: columns {names[0]}, {names[1]} could be degrees or radians (largest values {far_east:.4g} "
            f"and {far_north:.4g}); add --units deg or --units rad"
        )
    radians = units == "rad"
    unit, half_turn, slack = ("radians", math.pi, _RADIAN_SLACK) if radians else ("degrees", 180.0, 0.0)
    advice = (
        "mend those rows, or say --units deg" if radians else "mend those rows, or swap --lon and --lat if exchanged"
    )
    far_lat = np.abs(lat) > half_turn / 2 + slack
    far_lon = (lon < -half_turn - slack) | (lon > 2 * half_turn + slack)
    within = f"within {half_turn / 2:.5g} {unit} of the equator"
    _refuse(far_lat, lat, names[1], within, advice, place)
    _refuse(far_lon, lon, names[0], f"between {-half_turn:.5g} and {2 * half_turn:.5g} {unit}", advice, place)
    if not radians:
        lon, lat = np.radians(lon), np.radians(lat)
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)]), unit


def _refuse(bad: NDArray[np.bool_], values: FloatArray, name: str, expected: str, advice: str, place: Place) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{place(row)}: column {name} is {values[row]:g}, not {expected} ({int(bad.sum())} of {len(values)} "
            f"rows); {advice}"
        )


def _refuse_quaternions(table: FloatArray, names: list[str], weight: str | None, path: Path) -> None:
    """Columns x, y, z, w that are unit together are rotations, not weighted directions."""
    if [name.lower() for name in [*names, weight or ""]] != ["x", "y", "z", "w"]:
        return
    norms = np.linalg.norm(table, axis=1)
    if np.abs(norms - 1).max() < 1e-3 and np.abs(np.linalg.norm(table[:, :3], axis=1) - 1).max() > 1e-3:
        raise InputError(
            f"{path}: columns x, y, z, w are unit quaternions, not directions with a weight w, and rotations are not "
            "read yet; if they are directions in four dimensions, say --xyz x,y,z,w"
        )
