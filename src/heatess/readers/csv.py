"""CSV and TSV files with a header: columns x, y, z or lon, lat, and optionally weights."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import numpy as np

from ..arrays import EXACT_INTEGERS
from ..errors import InputError
from .cloud import Cloud, Place, ReadOptions
from .columns import Columns


def batches(path: Path, options: ReadOptions, rows: int | None) -> Iterator[tuple[Cloud, float]]:
    """Points of at most *rows* lines, or of all if None, with their weights and the fraction of the file read."""
    with path.open("rb") as raw, TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
        try:
            lines, header = _open(stream, path)
            columns = Columns(header, path, options)
            wanted = [header.index(name) for name in columns.wanted]
            for values, numbers in _tables(lines, wanted, header, path, rows):
                table = np.frombuffer(values).reshape(len(numbers), -1)
                coordinates, weights = table[:, : len(columns.coordinates)], table[:, -1] if columns.weight else None
                cloud = columns.cloud(coordinates, weights, _places(path, numbers), zero_ok=rows is not None)
                yield cloud, raw.tell() / path.stat().st_size
            columns.finish()
        except UnicodeDecodeError:
            raise InputError(f"{path} is not UTF-8 text; save it as CSV in UTF-8") from None
        except csv.Error as error:
            raise InputError(f"{path} is not a CSV file that can be read ({error}); save it as plain CSV") from None


def _open(stream: TextIO, path: Path) -> tuple[Iterator[tuple[int, list[str]]], list[str]]:
    """The data rows with their line numbers, and the header. The delimiter is the one in the header line."""
    first, text = next(((line, text) for line, text in enumerate(stream, 1) if text.strip()), (0, ""))
    if not first:
        raise InputError(f"{path} is empty; it needs a header line such as x,y,z or lon,lat,weight")
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    delimiter = usual if usual in text else next((mark for mark in ",;\t" if mark in text), usual)
    header = [name.strip() for name in next(csv.reader([text], delimiter=delimiter))]
    header[0] = header[0].lstrip("#").strip()  # numpy.savetxt writes "# x,y,z"
    if all(_is_number(name) for name in header):
        raise InputError(f"{path} line {first} holds numbers, but a header is needed; add one such as x,y,z or lon,lat")
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    return ((first + reader.line_num, row) for row in reader), header


def _tables(
    rows: Iterator[tuple[int, list[str]]], wanted: list[int], header: list[str], path: Path, limit: int | None
) -> Iterator[tuple[array[float], array[int]]]:
    """The numbers in the wanted columns, at most *limit* rows at a time, and the line number of each row."""
    values, lines = array("d"), array("q")
    width, empty = len(header), True
    for line, row in rows:
        if len(row) != width:
            if not any(field.strip() for field in row):
                continue
            if len(row) < width or any(field.strip() for field in row[width:]):
                found = f"has {len(row)} fields, but the header has {width} ({', '.join(header)})"
                advice = "fix that line, and quote any field that contains the delimiter"
                raise InputError(f"{path} line {line} {found}; {advice}")
        try:
            values.extend([_number(row[column]) for column in wanted])
        except _Rounded as error:
            what = f"{error} is an integer above 2^53 that is not exact in float64"
            advice = "subtract an offset or, if rounding does no harm, write it with a decimal point"
            raise InputError(f"{path} line {line}: {what}; {advice}") from None
        except ValueError:
            column = next(column for column in wanted if not _is_number(row[column]))
            found = repr(row[column][:40]) if row[column].strip() else "empty"
            hint = "; write decimals with a point, not a comma" if _is_number(row[column].replace(",", ".")) else ""
            what = f"column {header[column]} is {found}, not a number{hint}"
            raise InputError(f"{path} line {line}: {what}; drop or fix that row") from None
        lines.append(line)
        empty = False
        if len(lines) == limit:
            yield values, lines
            values, lines = array("d"), array("q")
    if empty:
        raise InputError(f"{path} has a header ({', '.join(header)}) but no rows; at least one point is needed")
    if lines:
        yield values, lines


def _places(path: Path, lines: array[int]) -> Place:
    return lambda row: f"{path} line {lines[row]}"


class _Rounded(Exception):
    """An integer that is not a float64."""


def _number(text: str) -> float:
    """The number in *text*; unlike Python, 1_0 is refused, because in a file it is probably an error."""
    if "_" in text:
        raise ValueError(text)
    number = float(text)
    if -EXACT_INTEGERS < number < EXACT_INTEGERS:
        return number
    whole = text.strip().lstrip("+-")
    if whole.isdecimal() and len(whole) < 400 and int(whole) != abs(number):
        raise _Rounded(text.strip()[:40])
    return number


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    except _Rounded:
        return True
    return True
