"""Points and weights in matching partitions, whatever dask collection they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import is_dask, numeric_array
from ..errors import InputError


class Piece(NamedTuple):
    """One partition: delayed arrays or frames, or None where there are no weights of that kind."""

    points: Any
    weights: Any = None
    log_weights: Any = None


@dataclass(frozen=True, eq=False)
class Partitions:
    """A weighted cloud in partitions.

    Attributes
    ----------
    pieces : list of Piece
        The partitions.
    width : int
        Coordinates of each point.
    rows : tuple of int, or None
        Rows of each partition, where they are known without looking.
    """

    pieces: list[Piece]
    width: int
    rows: tuple[int, ...] | None

    @classmethod
    def of(cls, points: Any, weights: Any, log_weights: Any) -> Partitions:
        """Partitions of a dask array or data frame of points, with weights cut to match."""
        if points.ndim != 2:
            raise InputError(f"points must be an (n, d) array or a data frame, but have {points.ndim} dimensions")
        if not hasattr(points, "chunks"):
            return cls._zipped(_frame_pieces(points), points.shape[1], None, weights, log_weights)
        if points.numblocks[1] > 1:
            points = points.rechunk({1: -1})
        known = not any(np.isnan(size) for size in points.chunks[0])
        rows = tuple(int(size) for size in points.chunks[0]) if known else None
        return cls._zipped(points.to_delayed().ravel().tolist(), points.shape[1], rows, weights, log_weights)

    @classmethod
    def _zipped(cls, points: list[Any], width: int, rows: tuple[int, ...] | None, *both: Any) -> Partitions:
        names = ("weights", "log_weights")
        columns = [_aligned(values, name, len(points), rows) for values, name in zip(both, names, strict=True)]
        return cls([Piece(*piece) for piece in zip(points, *columns, strict=True)], int(width), rows)

    @property
    def n(self) -> int | None:
        """Number of atoms, where it is known."""
        return None if self.rows is None else sum(self.rows)

    def counted(self, compute: Callable[[Any], Any]) -> Partitions:
        """The same with known rows, counted by *compute* if need be."""
        if self.rows is not None:
            return self
        from dask import delayed

        return replace(self, rows=tuple(compute(delayed(list)([delayed(len)(piece.points) for piece in self.pieces]))))

    def recut(self, sizes: tuple[int, ...]) -> Partitions:
        """The same atoms in partitions of other sizes; rows must be known."""
        from dask import array, delayed

        rows = self.rows or ()
        take = delayed(_rows_of)
        columns: list[list[Any]] = []
        for name in Piece._fields:
            values = [getattr(piece, name) for piece in self.pieces]
            if values[0] is None:
                columns.append([None] * len(sizes))
                continue
            width = (self.width,) if name == "points" else ()
            parts = [
                array.from_delayed(take(value, name, index, size), (size, *width), dtype=np.float64)
                for index, (value, size) in enumerate(zip(values, rows, strict=True))
            ]
            whole = array.concatenate(parts).rechunk({0: sizes})
            columns.append(whole.to_delayed().ravel().tolist())
        return Partitions([Piece(*piece) for piece in zip(*columns, strict=True)], self.width, sizes)


def _frame_pieces(frame: Any) -> list[Any]:
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if dtype.kind not in "fiu":
            raise InputError(
                f"column {name} of the data frame holds {dtype}, not numbers; take the coordinates only, for instance "
                "frame[['x', 'y', 'z']]"
            )
    return list(frame.to_delayed())


def _aligned(values: Any, name: str, count: int, rows: tuple[int, ...] | None) -> list[Any]:
    """One piece of *values* for each of *count* partitions."""
    if values is None:
        return [None] * count
    if not is_dask(values):
        if rows is None:
            raise InputError(
                f"{name} must be a dask array or series in the same partitions as the points, whose lengths are "
                f"unknown, but are {type(values).__name__}"
            )
        array = numeric_array(values, name)
        _refuse_length(len(array), name, sum(rows))
        return np.split(array, np.cumsum(rows)[:-1])
    if hasattr(values, "chunks") and rows is not None and not any(np.isnan(size) for size in values.chunks[0]):
        _refuse_length(values.shape[0], name, sum(rows))
        values = values.rechunk({0: rows})
    pieces: list[Any] = np.ravel(values.to_delayed()).tolist()
    if len(pieces) != count:
        raise InputError(
            f"{name} must be in the same partitions as the points, but are in {len(pieces)}, and the points in {count}"
        )
    return pieces


def _refuse_length(found: int, name: str, n: int) -> None:
    if found != n:
        raise InputError(f"{name} must have one entry per atom: there are {n} points but {found} {name}")


def _rows_of(values: Any, name: str, index: int, rows: int) -> NDArray[Any]:
    """One partition as an array with the number of rows it is known to have."""
    array = numeric_array(values, name)
    if name != "points" and array.shape == (rows, 1):
        array = array[:, 0]
    if len(array) != rows:
        raise InputError(f"partition {index}: there are {rows} points but {len(array)} {name}")
    return array
