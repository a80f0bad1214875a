"""Tables in many Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.errors import InputError, importing
from ..base.messages import shown
from ..measures import scales
from ..measures.scales import check_rtol
from ..profiles.heat_profile import HeatProfile
from ..readers import parquet
from ..tables.column_meaning import Reading
from ..tables.points_and_weights import Taken, taken_from
from .partitions import Partitions, Piece
from .reduction import Scheduler, by_pairs, by_transform, space_of

if TYPE_CHECKING:
    from distributed import Client

#: Rows of Parquet read by one task, a few row groups; and how many of them are in memory at a time.
TASK_ROWS = 2**22
BATCH_ROWS = 2**19


def profile_parquet(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    points: str | Sequence[str] | None = None,
    lon: str | None = None,
    lat: str | None = None,
    units: str | None = None,
    weights: str | None = None,
    log_weights: str | None = None,
    normalize: bool = False,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    rtol: float = 1e-8,
    client: Client | None = None,
    progress: bool = False,
) -> HeatProfile:
    """The heat profile of a table in many Parquet files, read where the workers are, in bounded memory.

    A file that is damaged, or whose columns do not fit the others, fails the whole with its name.

    Parameters
    ----------
    paths : str, path, or a list of them
        Files, directories, or patterns such as "sky/part-*.parquet". Workers must see the same names.
    points : str or list of str, optional
        One column of vectors, or one column per coordinate. Default: x, y, z or lon, lat or embedding, as found.
    lon, lat, units : str, optional
        Columns of longitude and latitude, and their unit, "deg" or "rad".
    weights, log_weights : str, optional
        Column of weights or of log-weights, on one scale over all files. Default: a column weight or
        log_weight if there is one; "none" for equal weights.
    normalize : bool
        Scale vectors to unit length instead of refusing those that are not.
    angles, times, resolutions, rtol
        As in `heat_profile`.
    client : distributed.Client, optional
        The cluster. Default: the current client, or threads on this machine if there is none.
    progress : bool
        Show a bar on stderr.

    Examples
    --------
    >>> import tempfile, pandas, heatess as he
    >>> folder = Path(tempfile.mkdtemp())
    >>> cloud = pandas.DataFrame(he.samplers.fibonacci(1000), columns=["x", "y", "z"])
    >>> for part in range(4):
    ...     cloud[part::4].to_parquet(folder / f"part-{part}.parquet")
    >>> profile_parquet(folder, angles=[5, 15]).gess.round(1)
    array([519.8,  58.7])
    """
    check_rtol(rtol)
    with importing("dask", "dask"):
        from dask import delayed
    vectors = None if points is None else "sphere"
    reading = Reading(vectors, _columns(points, lon, lat), units, weights, log_weights, normalize)
    scheduler = Scheduler(client, progress)
    outline = delayed(parquet.outline)
    look = delayed(list)([outline(file.absolute(), reading) for file in parquet.expand(paths)])
    outlines = _consistent(Scheduler(client, False).compute(look))
    for outlined in outlines:
        if outlined.angles:
            raise InputError(f"{outlined.path} holds angles, such as lon and lat; say `units='deg'` or `units='rad'`")
    space = space_of(outlines[0].width, outlines[0].space)
    at = scales.resolve(space, angles, times, resolutions)
    pieces = [(outline, groups) for outline in outlines for groups in _tasks(outline.groups)]
    if space.transform is None:
        return by_pairs(_as_partitions(pieces, reading), space, at, rtol, scheduler)
    work = [(str(outline.path), _taken, outline.path, groups, reading) for outline, groups in pieces]
    return by_transform(work, space, sum(sum(outline.groups) for outline in outlines), at, rtol, scheduler)


def _consistent(outlines: list[parquet.Outline]) -> list[parquet.Outline]:
    """The files that have rows, if all hold the same kind of points and weights."""
    filled = [outline for outline in outlines if sum(outline.groups)]
    if not filled:
        raise InputError.lacking(f"there are no rows in any of {len(outlines)} Parquet files")
    first, *others = filled
    for file in others:
        if _kind(file) != _kind(first):
            found = f"holds <!{_kind(file)}!>, but {first.path} holds <+{_kind(first)}+>"
            raise InputError(f"{file.path} {found}; name the columns, or leave it out")
    return filled


def _kind(outline: parquet.Outline) -> str:
    return f"points of {outline.space!r} and {outline.weight.replace('_', '-') or 'no weights'}"


def _tasks(groups: Sequence[int]) -> Iterator[list[int]]:
    """Consecutive row groups with at most `TASK_ROWS` rows together, or a single larger one."""
    chosen: list[int] = []
    for group, rows in enumerate(groups):
        if chosen and sum(groups[index] for index in chosen) + rows > TASK_ROWS:
            yield chosen
            chosen = []
        chosen.append(group)
    if chosen:
        yield chosen


def _as_partitions(pieces: list[tuple[parquet.Outline, list[int]]], reading: Reading) -> Partitions:
    from dask import delayed

    load, first = delayed(_load), pieces[0][0]
    loaded = [load(outline.path, groups, reading) for outline, groups in pieces]
    names = ["points", *filter(None, [first.weight])]
    parts = [Piece(**{name: getattr(piece, name) for name in names}) for piece in loaded]
    rows = tuple(sum(outline.groups[group] for group in groups) for outline, groups in pieces)
    return Partitions(parts, first.width, rows)


def _load(path: Path, groups: Sequence[int], reading: Reading) -> Piece:
    taken = list(_taken(path, groups, reading))
    for part in taken:
        with taken_from(part):  # while it is known where in the file it is
            part.space.check(part.points)
    columns = [[getattr(part, name) for part in taken] for name in Piece._fields]
    return Piece(*(None if column[0] is None else np.concatenate(column) for column in columns))


def _taken(path: Path, groups: Sequence[int], reading: Reading) -> Iterator[Taken]:
    return parquet.pieces(path, reading, BATCH_ROWS, groups)


def _columns(points: Any, lon: str | None, lat: str | None) -> Any:
    """What `Reading` takes as columns."""
    if lon is None and lat is None:
        return list(points) if isinstance(points, tuple) else points
    if points is not None:
        raise InputError(f"give <+points={shown(points)} or `lon=` and `lat=`+>, not <!both!>")
    if lon is None or lat is None:
        raise InputError("give <+both `lon=` and `lat=`+>, the columns of longitude and latitude")
    return {"lon": lon, "lat": lat}
