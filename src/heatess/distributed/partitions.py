"""Points and weights in matching partitions, whatever dask collection they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import is_dask, numeric_array
from ..base.errors import InputError


class Piece(NamedTuple):
    """One partition: delayed arrays or frames, or None where there are no weights of that kind."""

    points: Any
    weights: Any = None
    log_weights: Any = None


@dataclass(frozen=True, eq=False)
class Partitions:
    """A weighted cloud in partitions."""

    pieces: list[Piece]
    width: int  #: coordinates of each point
    rows: tuple[int, ...] | None  #: rows of each partition, where they are known without looking

    @classmethod
    def of(cls, points: Any, weights: Any, log_weights: Any) -> Partitions:
        """Partitions of a dask array or data frame of points, with weights cut to match."""
        if points.ndim != 2:
            raise InputError(f"points must be <+an (n, d) array or a data frame+>, but have <!{points.ndim} axes!>")
        rows = None
        if hasattr(points, "chunks"):
            points = points.rechunk({1: -1}) if points.numblocks[1] > 1 else points
            rows = _known_rows(points)
        else:
            for name, dtype in zip(points.columns, points.dtypes, strict=True):
                if dtype.kind not in "fiu":
                    advice = "take the coordinates only, for instance frame[['x', 'y', 'z']]"
                    raise InputError(f"column {name} of the data frame holds <!{dtype}!>, not <+numbers+>; {advice}")
        pieces = np.ravel(points.to_delayed()).tolist()
        plain = _aligned(weights, "weights", len(pieces), rows)
        logs = _aligned(log_weights, "log_weights", len(pieces), rows)
        return cls([Piece(*piece) for piece in zip(pieces, plain, logs, strict=True)], int(points.shape[1]), rows)

    def recut(self, rows: Sequence[int], sizes: tuple[int, ...]) -> list[Piece]:
        """The same atoms in pieces of other sizes; *rows* are those of each partition now."""
        from dask import array, delayed

        take, columns = delayed(_rows_of), []
        for name, values in zip(Piece._fields, zip(*self.pieces, strict=True), strict=True):
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
        return [Piece(*piece) for piece in zip(*columns, strict=True)]


def _known_rows(array: Any) -> tuple[int, ...] | None:
    """Rows of each block of a dask array, None if they are not known."""
    rows = array.chunks[0]
    return None if np.isnan(rows).any() else tuple(int(size) for size in rows)


def _aligned(values: Any, name: str, count: int, rows: tuple[int, ...] | None) -> list[Any]:
    """One piece of *values* for each of *count* partitions."""
    if values is None:
        return [None] * count
    if not is_dask(values):
        if rows is None:
            expected = "a dask array or series in the same partitions as the points, whose lengths are unknown"
            raise InputError(f"{name} must be <+{expected}+>, but are <!{type(values).__name__}!>")
        array = numeric_array(values, name)
        if array.ndim not in (1, 2):
            raise InputError.misshapen(name, "(n,)", array.shape, "give one number per point")
        _refuse_length(len(array), name, sum(rows))
        return np.split(array, np.cumsum(rows)[:-1])
    if rows is not None and hasattr(values, "chunks") and _known_rows(values) is not None:
        _refuse_length(values.shape[0], name, sum(rows))
        values = values.rechunk({0: rows})
    pieces: list[Any] = np.ravel(values.to_delayed()).tolist()
    if len(pieces) != count:
        found = f"are in {len(pieces)}, and the points in {count}"
        raise InputError(f"{name} must be <+in the same partitions as the points+>, but <!{found}!>")
    return pieces


def _refuse_length(found: int, name: str, n: int) -> None:
    if found != n:
        words = f"there are <+{n} points+> but <!{found} {name}!>"
        raise InputError(f"{name} must have one entry per point: {words}")


def _rows_of(values: Any, name: str, index: int, rows: int) -> NDArray[Any]:
    """One partition as an array with the number of rows it is known to have."""
    # Complex points belong to some spaces, whose check comes later.
    array = np.asarray(values) if name == "points" and np.iscomplexobj(values) else numeric_array(values, name)
    if name != "points" and array.shape == (rows, 1):
        array = array[:, 0]
    if len(array) != rows:
        raise InputError(f"partition {index}: there are <+{rows} points+> but <!{len(array)} {name}!>")
    return array
