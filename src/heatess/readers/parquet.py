"""Parquet files: columns x, y, z or lon, lat, or a list column of vectors, and optionally weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..errors import InputError, missing_extra
from ..tables.frames import ArrowTable, Root
from ..tables.table import Table
from .cloud import Cloud, Place, ReadOptions, refuse, row_places
from .columns import Columns

SUFFIXES = (".parquet", ".pq")


class Outline(NamedTuple):
    """What is known about a file before its rows are read."""

    path: Path
    groups: tuple[int, ...]  #: rows in each row group
    width: int  #: coordinates of each point as unit vector; may be zero in a file without rows
    spherical: bool  #: whether the points are longitude and latitude
    weight: str  #: "weights", "log_weights", or empty if there are none


def expand(paths: Any) -> list[Path]:
    """The Parquet files named by a file, a directory, a glob pattern, or a list of these; each one sorted by name.

    >>> expand("no/such/place/*.parquet")
    Traceback (most recent call last):
    ...
    heatess.errors.InputError: no/such/place/*.parquet matches no file; check the pattern
    """
    files: list[Path] = []
    names = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(names, list | tuple) or not all(isinstance(name, str | os.PathLike) for name in names):
        raise InputTypeError(f"Parquet files are given by a name, a path or a list of these, but are {shown(paths)}")
    for name in names:
        path = Path(name)
        found, reason = [path], ""
        if path.is_dir():
            found = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and _is_data(file, path))
            reason = "holds no .parquet file; check the name"
        elif any(mark in str(name) for mark in "*?[") and not path.exists():
            found = sorted(Path(file) for file in glob(str(name), recursive=True))
            reason = "matches no file; check the pattern"
        if not found:
            raise InputError(f"{name} {reason}")
        files += found
    if not files:
        raise InputError("no Parquet files were given; give a file, a directory or a pattern such as part-*.parquet")
    twice = repeated(files)
    if twice is not None:
        raise InputError(f"{twice[0]} and {twice[1]} are the same file, which would be counted twice; leave one out")
    return files


def _is_data(file: Path, root: Path) -> bool:
    """Whether *file* holds data; names that start with an underscore or a dot are notes of the writing program."""
    return file.is_file() and not any(part[0] in "._" for part in file.relative_to(root).parts)


def outline(path: Path, options: ReadOptions) -> Outline:
    """The outline of a file, from its footer and at most one row."""
    with _opened(path) as file:
        columns = _columns(file, path, options)
        width = 3 if columns.spherical else len(columns.coordinates)
        if columns.vectors:
            first = next(file.iter_batches(batch_size=1, columns=columns.coordinates), None)
            width = len(first[0][0]) if first is not None and first.num_rows and first[0][0].is_valid else 0
        weight = "" if not columns.weight else "log_weights" if columns.logs else "weights"
        return Outline(path, _group_rows(file), width, columns.spherical, weight)


def batches(
    path: Path, options: ReadOptions, rows: int | None, groups: Sequence[int] | None = None
) -> Iterator[tuple[Cloud, float]]:
    """Points of at most *rows* rows, or of all if None, with their weights and the fraction of the file read.

    Large row groups are also read in pieces, so memory stays limited; *groups* chooses which row groups to read.
    """
    with _opened(path) as file:
        columns = _columns(file, path, options)
        if rows is None:
            if not file.metadata.num_rows:
                raise InputError(f"{path} has no rows; at least one point is needed")
            table = file.read(columns=columns.wanted)
            _refuse_rows(path, table.num_rows, file.metadata.num_rows)
            yield _cloud(columns, table, row_places(path, 0), zero_ok=False), 1.0
            columns.finish()
            return
        lengths = _group_rows(file)
        starts = np.cumsum([0, *lengths])
        chosen = range(len(lengths)) if groups is None else groups
        done, total = 0, sum(lengths[group] for group in chosen)
        for group in chosen:
            start = int(starts[group])
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns.wanted, use_threads=False):
                if batch.num_rows:
                    done += batch.num_rows
                    yield _cloud(columns, batch, row_places(path, start), zero_ok=True), done / total
                    start += batch.num_rows
        _refuse_rows(path, done, total)
        columns.finish()


def table(path: Path) -> Table:
    """The columns of a file, from its footer; rows are read when they are wanted, in pieces within row groups."""
    with _opened(path) as file:
        return ParquetTable(path, file.schema_arrow)


class ParquetTable(ArrowTable):
    """A Parquet file: only wanted columns are read."""

    def __init__(self, path: Path, schema: Any) -> None:
        super().__init__(schema, str(path))
        self._path = path

    def _count(self) -> int:
        with _opened(self._path) as file:
            return int(file.metadata.num_rows)

    def _parts(self, roots: list[Root], rows: int) -> Iterator[tuple[Callable[[Root], Any], int, float]]:
        with _opened(self._path) as file:
            start, total = 0, file.metadata.num_rows
            chosen = list(dict.fromkeys(_selected(root) for root in roots))
            for batch in file.iter_batches(rows, columns=chosen, use_threads=False):
                if batch.num_rows:
                    yield _columns_of(batch), start, (start + batch.num_rows) / total
                    start += batch.num_rows


def _selected(root: Root) -> str:
    return root.column if root.kind in ("lon", "lat") else root.path


def _columns_of(batch: Any) -> Callable[[Root], Any]:
    return lambda root: batch.column(root.column)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise missing_extra("pyarrow", "table") from None
    try:
        with parquet.ParquetFile(path, buffer_size=2**20, page_checksum_verification=True) as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the name") from None
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} cannot be read as Parquet ({reason}); write it again or leave it out") from None


def _columns(file: Any, path: Path, options: ReadOptions) -> Columns:
    from pyarrow import types

    schema = file.schema_arrow
    kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    lists = [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]
    columns = Columns(list(schema.names), path, options, lists)
    for name in columns.wanted:
        kind = schema.field(name).type
        if columns.vectors and name in columns.coordinates:
            kind = kind.value_type
        if not (types.is_floating(kind) or types.is_integer(kind)):
            raise InputError(f"{path}: column {name} holds {kind}, not numbers; convert it, or name another column")
    return columns


def _cloud(columns: Columns, table: Any, place: Place, *, zero_ok: bool) -> Cloud:
    weights = _numbers(table.column(columns.weight), columns.weight, place) if columns.weight else None
    if columns.vectors:
        points = _vectors(table.column(columns.coordinates[0]), columns.coordinates[0], place)
    else:
        points = np.column_stack([_numbers(table.column(name), name, place) for name in columns.coordinates])
    return columns.cloud(points, weights, place, zero_ok=zero_ok)


def _numbers(column: Any, name: str, place: Place) -> FloatArray:
    _refuse_nulls(column, name, place)
    return as_float64(np.asarray(column.to_numpy(zero_copy_only=False)), f"column {name}", place)


def _vectors(column: Any, name: str, place: Place) -> NDArray[Any]:
    """A column of lists as the rows of a matrix, with the precision of the file."""
    import pyarrow

    _refuse_nulls(column, name, place)
    chunks = column.chunks if isinstance(column, pyarrow.ChunkedArray) else [column]
    lengths = np.concatenate([np.asarray(chunk.value_lengths()) for chunk in chunks])
    width = int(lengths[0])
    refuse(
        lengths != width, place, lambda row: f"column {name} holds {lengths[row]} numbers, but {width} in {place(0)}"
    )
    if width < 2:
        raise InputError(f"{place(0)}: column {name} holds {width} numbers, but a vector needs two or more")
    flat = pyarrow.chunked_array([chunk.flatten() for chunk in chunks])
    if flat.null_count:
        empty = np.asarray(flat.is_null()).reshape(-1, width)
        refuse(np.asarray(empty.any(axis=1)), place, lambda row: f"column {name} has an empty entry in its list")
    rows = np.asarray(flat.to_numpy()).reshape(-1, width)
    return rows if rows.dtype.kind == "f" else as_float64(rows, f"column {name}", place)


def _refuse_nulls(column: Any, name: str, place: Place) -> None:
    if column.null_count:
        refuse(np.asarray(column.is_null()), place, lambda row: f"column {name} is empty")


def _group_rows(file: Any) -> tuple[int, ...]:
    return tuple(file.metadata.row_group(index).num_rows for index in range(file.metadata.num_row_groups))
