"""CSV and TSV files with a header: columns x, y, z or lon, lat, and optionally weights."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .cloud import Cloud, FloatArray, ReadOptions
from .columns import Columns


def read(path: Path, options: ReadOptions) -> Cloud:
    """All points of the file as unit vectors, with their weights."""
    [(cloud, _)] = _clouds(path, options, None)
    return cloud


def batches(path: Path, options: ReadOptions, rows: int) -> Iterator[tuple[Cloud, float]]:
    """The same in pieces of at most *rows*, each with the fraction of the file read so far."""
    return _clouds(path, options, rows)


def _clouds(path: Path, options: ReadOptions, limit: int | None) -> Iterator[tuple[Cloud, float]]:
    with path.open("rb") as raw, TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
        try:
            rows, header = _open(stream, path)
            columns = Columns(header, path, options)
            wanted = [header.index(name) for name in columns.wanted]
            for table, lines in _tables(rows, wanted, header, path, limit):

                def place(row: int, lines: NDArray[np.int64] = lines) -> str:
                    return f"{path} line {lines[row]}"

                weights = table[:, -1] if columns.weight else None
                coordinates = table[:, : len(columns.coordinates)]
                cloud = columns.cloud(coordinates, weights, place, zero_ok=limit is not None)
                yield cloud, raw.tell() / path.stat().st_size
            columns.finish()
        except UnicodeDecodeError:
            raise InputError(f"{path} is not UTF-8 text; save it as CSV in UTF-8") from None
        except csv.Error as error:
            raise InputError(f"{path} is not a CSV file that can be read ({error}); save it as plain CSV") from None


def _open(stream: TextIO, path: Path) -> tuple[Iterator[tuple[int, list[str]]], list[str]]:
    """The data rows with their line numbers, and the header. The delimiter is the one in the header line."""
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
    header[0] = header[0].lstrip("#").strip()  # numpy.savetxt writes "# x,y,z"
    if all(_is_number(name) for name in header):
        raise InputError(
            f"{path} line {skipped + 1} is a row of numbers, but a header is needed; add a first line such as "
            "x,y,z or lon,lat,weight"
        )
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    return ((skipped + 1 + reader.line_num, row) for row in reader), header


def _tables(
    rows: Iterator[tuple[int, list[str]]], wanted: list[int], header: list[str], path: Path, limit: int | None
) -> Iterator[tuple[FloatArray, NDArray[np.int64]]]:
    """The wanted columns as numbers, at most *limit* rows at a time, and the line number of each row."""
    values, lines = array("d"), array("q")
    width = len(header)
    empty = True
    for line, row in rows:
        if len(row) != width:
            if not any(field.strip() for field in row):
                continue
            if len(row) < width or any(field.strip() for field in row[width:]):
                raise InputError(
                    f"{path} line {line} has {len(row)} fields, but the header has {width} ({', '.join(header)}); "
                    "fix that line, and quote any field that contains the delimiter"
                )
        try:
            values.extend([_number(row[column]) for column in wanted])
        except ValueError:
            column = next(column for column in wanted if not _is_number(row[column]))
            found = repr(row[column][:40]) if row[column].strip() else "empty"
            hint = "; write decimals with a point, not a comma" if _is_number(row[column].replace(",", ".")) else ""
            raise InputError(
                f"{path} line {line}: column {header[column]} is {found}, not a number{hint}; drop or fix that row"
            ) from None
        lines.append(line)
        empty = False
        if len(lines) == limit:
            yield _arrays(values, lines)
            values, lines = array("d"), array("q")
    if empty:
        raise InputError(f"{path} has a header ({', '.join(header)}) but no rows; at least one point is needed")
    if lines:
        yield _arrays(values, lines)


def _arrays(values: array[float], lines: array[int]) -> tuple[FloatArray, NDArray[np.int64]]:
    table = np.frombuffer(values, dtype=np.float64).reshape(len(lines), -1)
    return table, np.frombuffer(lines, dtype=np.int64)


def _number(text: str) -> float:
    """The number in *text*; unlike Python, 1_0 is refused, because in a file it is probably an error."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True
