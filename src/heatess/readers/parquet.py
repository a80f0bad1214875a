"""Parquet files, and many of them together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from ..base.blocks import thread_count
from ..base.errors import InputError, InputTypeError, importing
from ..base.files import repeated
from ..base.messages import shown
from ..spaces.base import Space
from ..tables.arrow_columns import ArrowTable, Geometry, Root
from ..tables.column_meaning import Reading, meaning_of
from ..tables.points_and_weights import Taken, take
from ..tables.table import Piece, Table
from .packed_size import refuse_expansion
from .unread_formats import line_to, new_name

SUFFIXES = (".parquet", ".pq")

#: Rows from which on another thread pays.
_WORTH_THREADS = 2**17

#: Rows asked for at once: pyarrow decodes row groups ahead of those that are taken, and would hold most of a file.
_AHEAD = 2**18


class Outline(NamedTuple):
    """What is known about a file before its rows are read."""

    path: Path
    groups: tuple[int, ...]  #: rows in each row group
    space: Space | None  #: of its points; None in a file without rows
    width: int  #: coordinates of each point
    angles: bool  #: whether the columns are angles whose unit is not known
    weight: str  #: "weights", "log_weights", or empty if there are none


def expand(paths: Any) -> list[Path]:
    """The Parquet files named by a file, a directory, a glob pattern, or a list of these; each one sorted by name.

    >>> expand("no/such/place/*.parquet")
    Traceback (most recent call last):
    ...
    heatess.base.errors.InputError: no/such/place/*.parquet matches no file; check the pattern
    """
    files: list[Path] = []
    names = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(names, list | tuple) or not all(isinstance(name, str | os.PathLike) for name in names):
        raise InputTypeError(f"Parquet files are given by <+a name, a path or a list+>, but are <!{shown(paths)}!>")
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
        raise InputError("<!no Parquet files!> were given; give <+a file, a directory or a pattern such as *.parquet+>")
    twice = repeated(files)
    if twice is not None:
        raise InputError(f"{twice[0]} and {twice[1]} are the same file, which would be counted twice; leave one out")
    return files


def _is_data(file: Path, root: Path) -> bool:
    """Whether *file* holds data; names that start with an underscore or a dot are notes of the writing program."""
    return file.is_file() and not any(part[0] in "._" for part in file.relative_to(root).parts)


def outline(path: Path, reading: Reading) -> Outline:
    """The outline of a file, from its footer and at most one row."""
    with _opened(path) as file:
        groups = _group_rows(file)
    meaning = meaning_of(table(path), reading)
    weight = "" if not meaning.weight else "log_weights" if meaning.logs else "weights"
    angles = meaning.kind.angles and meaning.units is None
    if not sum(groups):
        return Outline(path, groups, None, 0, angles, weight)
    first = next(take(table(path), reading, 1))
    return Outline(path, groups, first.space, first.points.shape[1], angles, weight)


def pieces(path: Path, reading: Reading, rows: int, groups: Sequence[int]) -> Iterator[Taken]:
    """The points in some row groups of a file, at most *rows* at a time."""
    return take(table(path, groups), reading, rows)


def table(path: Path, groups: Sequence[int] | None = None) -> Table:
    """The columns of a file, from its footer; rows are read when they are wanted, in pieces within row groups."""
    with _opened(path) as file:
        return ParquetTable(path, file.schema_arrow, groups)


class ParquetTable(ArrowTable):
    """A Parquet file, or some *groups* of its rows: only wanted columns are read."""

    def __init__(self, path: Path, schema: Any, groups: Sequence[int] | None) -> None:
        self._path, self._groups = path, groups
        super().__init__(schema, str(path))

    def _conversion(self, geometry: Geometry) -> str:
        system = "to_crs('EPSG:4326')" if geometry.system else "set_crs('EPSG:4326', allow_override=True)"
        code = f"import geopandas as g; g.read_parquet({{file!r}}).{system}.to_parquet({{out!r}})"
        way = line_to("geopandas pyarrow", code, self._path, new_name(self._path, "-lonlat.parquet"))
        return f"to convert it, {way}" if geometry.system else f"if it is longitude and latitude, {way}"

    def joined(self, names: Sequence[str], count: int) -> Iterator[Piece]:
        """All rows, unless they are out of proportion to the file."""
        lists = [root.column for name in names if (root := self._checked(name)).kind == "list"]
        with _opened(self._path) as file:
            total = self._chosen(_group_rows(file))[1]
            size = 8 * (total * (len(names) - len(lists)) + sum(_leaves(file, name) for name in lists))
        remedy = "read it in parts: `heatess.distributed.profile_parquet`, or heatess accumulate"
        refuse_expansion(self._path, self._path.stat().st_size, size, remedy)
        return super().joined(names, count)

    def _count(self) -> int:
        with _opened(self._path) as file:
            return self._chosen(_group_rows(file))[1]

    def _chosen(self, lengths: tuple[int, ...]) -> tuple[list[int], int]:
        """The groups that are read, and their rows."""
        groups = list(range(len(lengths)) if self._groups is None else self._groups)
        return groups, sum(lengths[group] for group in groups)

    def _shares(self) -> list[tuple[ArrowTable, int]]:
        """Row groups in as many runs as there are threads."""
        with _opened(self._path) as file:
            lengths = _group_rows(file)
            groups, total = self._chosen(lengths)
            size, start = max(-(-total // thread_count()), _WORTH_THREADS), 0
            shares: list[tuple[ArrowTable, int]] = []
            for run in _runs(groups, lengths, size):
                shares.append((ParquetTable(self._path, file.schema_arrow, run), start))
                start += sum(lengths[group] for group in run)
            return shares or [(self, 0)]

    def _parts(self, roots: list[Root], rows: int) -> Iterator[tuple[Callable[[Root], Any], int, float]]:
        texts = [root.path for root in roots if root.kind == "other"]
        with _opened(self._path, texts) as file:
            lengths = _group_rows(file)
            groups, total = self._chosen(lengths)
            wanted = list(dict.fromkeys(_selected(root) for root in roots))
            start, done = sum(lengths[: groups[0]]) if groups else 0, 0
            for run in _runs(groups, lengths, _AHEAD):
                for batch in file.iter_batches(rows, row_groups=run, columns=wanted, use_threads=True):
                    if batch.num_rows:
                        done += batch.num_rows
                        yield _columns_of(batch), start, done / max(total, 1)
                        start += batch.num_rows
        if done != total:
            where = "it claims" if self._groups is None else f"row groups {groups[0]} to {groups[-1]} claim"
            found = f"{total:,} rows but {'holds' if self._groups is None else 'hold'} {done:,}"
            raise InputError(f"{self._path} is damaged: {where} <!{found}!>; write it again")


def _runs(groups: list[int], lengths: Sequence[int], size: int) -> list[list[int]]:
    """Row groups in order, in runs that end as soon as they have *size* rows."""
    runs: list[list[int]] = []
    rows = size
    for group in groups:
        if rows >= size:
            runs.append([])
            rows = 0
        runs[-1].append(group)
        rows += lengths[group]
    return runs


def _selected(root: Root) -> str:
    return root.column if root.kind in ("lon", "lat") else root.path


def _columns_of(batch: Any) -> Callable[[Root], Any]:
    return lambda root: batch.column(root.column)


@contextmanager
def _opened(path: Path, texts: Sequence[str] = ()) -> Iterator[Any]:
    """The file; entries of the columns *texts* that are there again and again are kept once."""
    with importing("pyarrow", "table"):
        import pyarrow
        from pyarrow import parquet
    try:
        options = {"buffer_size": 2**20, "page_checksum_verification": True, "read_dictionary": list(texts)}
        with parquet.ParquetFile(path, **options) as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the name") from None
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} cannot be read as Parquet ({reason}); write it again or leave it out") from None


def _leaves(file: Any, column: str) -> int:
    """The numbers in a column of lists."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    paths = [groups[0].column(place).path_in_schema for place in range(groups[0].num_columns)] if groups else []
    places = [place for place, path in enumerate(paths) if path.partition(".")[0] == column]
    return sum(group.column(place).num_values for group in groups for place in places)


def _group_rows(file: Any) -> tuple[int, ...]:
    return tuple(file.metadata.row_group(index).num_rows for index in range(file.metadata.num_row_groups))
