"""Files as measures: each family of formats has its own module, which gives a table; what it means is told by `tables`.

read        any supported file as a Measure
open_table  the table in a file, with nothing decided about it yet
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ..arrays import shown
from ..errors import InputError, InputTypeError
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import Space
from ..tables.check import refuse_weights
from ..tables.frames import frame_table
from ..tables.meaning import Reading
from ..tables.table import Table
from ..tables.take import take
from .foreign import split_label

__all__ = ["FORMATS", "open_table", "read"]

#: The module that reads files with a suffix.
FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".dat", ".tum"), "text"),
    **dict.fromkeys((".npy", ".npz"), "arrays"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "arrow"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson", ".geojson"), "jsons"),
    **dict.fromkeys((".fits", ".fit", ".fts"), "fits"),
    **dict.fromkeys((".vot", ".votable", ".xml", ".ecsv"), "votable"),
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".he5"), "hdf5"),
    **dict.fromkeys((".nc", ".nc4", ".netcdf"), "netcdf"),
    ".star": "star",
    **dict.fromkeys((".ply", ".obj", ".stl", ".off", ".gii"), "mesh"),
}

#: Suffixes of compressed files; what is inside is told by the suffix before.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

STDIN = "-"

#: Bytes from which on reading takes long enough for a bar.
LARGE = 2**26


def read(
    path: Any,
    *,
    space: Space | str | None = None,
    columns: str | Sequence[str] | Mapping[str, str] | None = None,
    units: str | None = None,
    weights: str | ArrayLike | None = None,
    log_weights: str | ArrayLike | None = None,
    normalize: bool = False,
    drop_missing: bool = False,
    progress: bool = False,
) -> Measure:
    r"""Read weighted points from a file or a data frame; what was read, and how, is in the `origin` of the measure.

    Columns are recognised by their names where that is certain: lon, lat; ra, dec; dec, inc (positive down); colat,
    azimuth; x, y, z; quaternions qx, qy, qz, qw; RELION angles; torsions phi, psi; embedding, vector or numbered
    columns; weight, log_weight. What names and numbers cannot tell, above all degrees from radians and the order of
    quaternions, is refused with the argument that says it.

    Parameters
    ----------
    path : str, path or data frame
        CSV, TSV or other text (also .gz, .bz2, .xz, .zst; "-" is standard input), .npy, .npz, Parquet, JSON, JSON
        lines, GeoJSON, FITS tables and HEALPix maps, VOTable, ECSV, HDF5 posterior samples, NetCDF of ArviZ,
        RELION .star, TUM trajectories, and meshes in PLY, OBJ, STL or GIFTI. Or a data frame of pandas, polars or
        pyarrow, a table of astropy, a dataset of xarray, a dict of arrays, which `heat_profile` takes too, but without
        the arguments below.
    space : Space or str, optional
        A space, or a word: sphere, projective, rotations, torus, circle, euclidean, hyperbolic, pose.
    columns : str, sequence or mapping, optional
        Columns that hold the points: names, a range "dim_0:dim_383", or roles {"lon": "x_east", "lat": "y_north"}.
        In an array without names columns are called 0, 1, 2, ...
    units : {"deg", "rad"}, optional
        Unit of angles.
    weights, log_weights : str or array-like, optional
        A column, a .npy file of one number per point, or numbers; "none" for equal weights whatever columns there are.
    normalize : bool
        Scale vectors to unit length instead of refusing others.
    drop_missing : bool
        Leave out, and count, rows in which a number is missing instead of refusing them.
    progress : bool
        Show a bar on stderr while a large file is read.

    Examples
    --------
    >>> import tempfile, heatess as he
    >>> path = Path(tempfile.mkdtemp()) / "poles.csv"
    >>> _ = path.write_text("lon,lat,weight\n0,90,3\n0,-90,1\n")
    >>> poles = he.read(path)
    >>> poles
    Measure(Sphere(2), n=2, ess=1.6)
    >>> poles.origin.description
    '2 points from lon, lat (degrees); weights from weight'
    """
    arrays = {"weights": from_file(weights, "weights"), "log_weights": from_file(log_weights, "log_weights")}
    given: dict[str, Any] = {
        name: value for name, value in arrays.items() if value is not None and _name(value) is None
    }
    column = "none" if given else _name(weights)
    reading = Reading(space, columns, units, column, _name(arrays["log_weights"]), normalize, drop_missing)
    table = open_table(path)
    with Progress(progress and _is_large(path)).shares("read") as table.watch:
        [taken] = take(table, reading)
    for name in given:
        file = _name(weights if name == "weights" else log_weights)
        words = f"{name.replace('_', '-')} {f'from {file}' if file else 'given'}"
        description = taken.origin.description.replace("equal weights", words)
        taken = taken._replace(origin=replace(taken.origin, description=description, weights=file or ""))
    taken = taken._replace(**given)
    try:
        return Measure.taken(taken)
    except InputError as error:
        raise taken.explained(error) from None


def open_table(path: Any) -> Table:
    """The table in a file or a data frame; an `InputError` that says what can be read if it cannot."""
    if isinstance(path, Table):
        return path
    frame = None if isinstance(path, str | os.PathLike) else frame_table(path)
    if frame is not None:
        return frame
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"a file is read by its name, a str or a path, but is {shown(path)}")
    file = Path(path)
    try:
        file = split_label(file)[0]
        is_dir, exists = file.is_dir(), file.exists() or str(path) == STDIN
    except (OSError, ValueError) as error:  # a name too long, a loop of links
        raise InputError(f"{str(file)[:200]} cannot be read: {getattr(error, 'strerror', error)}") from None
    if is_dir:
        raise InputError(f"{file} is a directory; give one file")
    if not exists:
        raise InputError(f"{file} does not exist; check the name (the current directory is {Path.cwd()})")
    module = import_module(f".{_family(file)}", __name__)
    if file.suffix.lower() in COMPRESSED and not file.name.lower().endswith(module.SUFFIXES):
        raise InputError(f"{file} is compressed, and only text, JSON and .fits.gz are read so; unpack it first")
    try:
        table: Table = module.table(Path(path))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}; check its permissions") from None
    except MemoryError:
        raise InputError(f"{file} does not fit into memory; split it, and add its parts with an Accumulator") from None
    return table


def _is_large(path: Any) -> bool:
    """Whether *path* is a large file; standard input and data frames are not known to be."""
    try:
        return isinstance(path, str | os.PathLike) and os.path.getsize(split_label(Path(path))[0]) >= LARGE
    except OSError:
        return False


def _family(file: Path) -> str:
    if str(file) == STDIN:
        return "text"
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if suffixes and suffixes[-1] in FORMATS:
        return FORMATS[suffixes[-1]]
    found = f"has the suffix {file.suffix}" if file.suffix else "has no suffix"
    raise InputError(f"{file} {found}, but files are read by their suffix: {', '.join(FORMATS)}; convert or rename it")


def from_file(weights: Any, kind: str) -> Any:
    """The numbers in a .npy file, if weights are the name of one; else the weights as they are.

    *kind* is weights or log_weights.
    """
    if not isinstance(weights, str) or not weights.lower().endswith(".npy"):
        return weights
    table = open_table(weights)
    piece = next(table.pieces(table.names, None))
    if len(piece.columns) != 1:
        raise InputError(f"{weights} has {len(piece.columns)} columns, but weights are one number per point")
    refuse_weights(weights, piece.columns[0], kind == "log_weights", piece.place, what="the number")
    return piece.columns[0]


def _name(weights: Any) -> str | None:
    """The name of a column, or None for numbers and for nothing."""
    return weights if isinstance(weights, str) else None
