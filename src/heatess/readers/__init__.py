"""Files as measures: each family of formats has its own module, which gives a table; what it means is told by `tables`.

read        any supported file as a Measure
open_table  the table in a file, with nothing decided about it yet
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from numpy.typing import ArrayLike

from ..base.errors import InputError, InputTypeError
from ..base.files import is_stream
from ..base.messages import Message, shown
from ..base.progress import Progress
from ..measures.measure import Measure
from ..spaces.base import Space
from ..tables.column_meaning import Reading
from ..tables.frames import frame_table
from ..tables.impossible_numbers import refuse_weights
from ..tables.points_and_weights import take
from ..tables.table import Table
from .file_signatures import TEXTS, held_in
from .package_readers import split_label
from .streams import Source
from .unread_formats import new_name, sentence

__all__ = ["FORMATS", "open_table", "read"]

#: The module that reads files with a suffix.
FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".dat", ".tum"), "text"),
    **dict.fromkeys((".npy", ".npz"), "arrays"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "arrow_files"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson", ".geojson", ".cyjs"), "json_tables"),
    **dict.fromkeys((".fits", ".fit", ".fts"), "fits"),
    **dict.fromkeys((".vot", ".votable", ".ecsv"), "votable"),
    **dict.fromkeys((".xml", ".quakeml", ".qml"), "xml_files"),
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".he5", ".h5oina", ".h5ebsd"), "hdf5"),
    **dict.fromkeys((".nc", ".nc4", ".netcdf"), "netcdf"),
    ".star": "star",
    ".cs": "cryosparc",
    **dict.fromkeys((".ang", ".ctf"), "ebsd_text"),
    **dict.fromkeys((".ply", ".obj", ".stl", ".off", ".gii"), "mesh"),
    **dict.fromkeys((".edges", ".edgelist"), "edge_lists"),
    **dict.fromkeys((".gml", ".graphml"), "graph"),
    **dict.fromkeys((".net", ".paj", ".sif"), "network_text"),
    **dict.fromkeys((".xlsx", ".xlsm"), "excel"),
    ".zip": "archives",
    **dict.fromkeys((".shp", ".gpkg", ".fgb", ".kml", ".gpx"), "geo"),
    ".colvar": "plumed",
    ".xvg": "xvg",
    ".magic": "magic",
    ".vec": "word_vectors",
}

#: Suffixes of compressed files; what is inside is told by the suffix before.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

_PACKED = "text, JSON, XML, graphs, .fits.gz and .gii.gz"

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
    euler: str | None = None,
    missing: float | Sequence[float] | str | None = None,
    kind: str | None = None,
    frame: str | None = None,
    labels: str | Sequence[str] | None = None,
    select: Mapping[str, Any] | None = None,
    area: bool = True,
    progress: bool = False,
) -> Measure:
    r"""Read weighted points from a file or a data frame; the measure has what the file says in `known` and `origin`.

    Columns are recognised by their names where that is certain: lon, lat; ra, dec; dec, inc (positive down); colat,
    azimuth; x, y, z; quaternions qx, qy, qz, qw; RELION angles; torsions phi, psi; embedding, vector or numbered
    columns; weight, log_weight. What names and numbers cannot tell, above all degrees from radians and the order of
    quaternions, is refused with the argument that says it.

    Parameters
    ----------
    path : str, path or data frame
        CSV, TSV or other text (also .gz, .bz2, .xz, .zst; "-" is standard input), Excel, zip archives, .npy, .npz,
        Parquet, JSON, JSON lines, GeoJSON, shapefiles, GeoPackage, KML and GPX, QuakeML, FITS tables and HEALPix maps,
        VOTable, ECSV, HDF5 posterior samples, NetCDF of ArviZ, grids over latitude and longitude in NetCDF, HDF5, .npz,
        JSON, xarray or a dict (see *select* and *area*), RELION .star, cryoSPARC .cs, EBSD maps (.ang, .ctf, HDF5),
        COLVAR, .xvg, TUM, EuRoC and KITTI trajectories, MagIC contributions, word vectors, meshes in PLY, OBJ, STL or
        GIFTI, and graphs in GML, GraphML, Pajek, SIF, JSON of nodes and links or of
        Cytoscape, or as lists of edges. Or a data frame of pandas,
        polars or narwhals, whatever exports Arrow, a table of astropy, a dataset of xarray, a dict of arrays, a graph
        of networkx or igraph, which `heat_profile` takes too, but without the arguments below.
    space : Space or str, optional
        A space, or a word: sphere, projective, rotations, torus, circle, euclidean, hyperbolic, or pose:R, where R is
        the length, in the unit of the positions, that counts as much as one radian of turning; or graph, where rows
        are edges, which add up if they are there more than once or in both directions, and graph:largest for the
        largest component alone.
    columns : str, sequence or mapping, optional
        Columns that hold the points: names, a range "dim_0:dim_383", or roles {"lon": "x_east", "lat": "y_north"}.
        In an array without names columns are called 0, 1, 2, ... One column of quaternions has the role xyzw, or wxyz
        if the scalar comes first. Of a graph, the value of edges that is their weight, or the columns of their two ends
        and their weight.
    units : {"deg", "rad", "hours"}, optional
        Unit of angles. Hours are right ascension, beside a declination in degrees, or times of the day on a circle or
        a torus. Angles written in parts, such as 05h34m31.97s, +22:00:52.2 or 45.5S, say what they are.
    weights, log_weights : str or array-like, optional
        A column, a .npy file of one number per point, or numbers; "none" for equal weights whatever columns there are.
    normalize : bool
        Scale vectors, and the quaternions of poses, to unit length instead of refusing others.
    drop_missing : bool
        Leave out, and count, rows in which a number is missing instead of refusing them.
    euler : str, optional
        The convention of three Euler angles, as `from_euler` takes it: "bunge", "relion", "yaw-pitch-roll",
        "roll-pitch-yaw", or axes in their order, in capitals if they turn with the body ("ZYZ"), else fixed ("xyz").
    missing : float or sequence of float, optional
        Numbers that stand for a missing one. Such as -999 or 9999 are asked about where they are far from all other
        rows; "none" says that they are right.
    kind, frame : str, optional
        What the rows are and the frame of directions, as for `Measure`, where the file does not say it or is wrong.
    labels : str or sequence of str, optional
        The column of names of rows, or the names; "none" for none. Default: a column of text called name, label, city,
        station, id or the like, if there is one, in files of up to 200,000 rows.
    select : mapping, optional
        For grids, one step of each axis beside latitude and longitude: its number from 0, or its value as a float or
        text, such as {"time": 0, "level": 500.0} or {"time": "1995-01-16"}.
    area : bool
        For grids, whether values are per area, as rainfall is: the weight of a cell is its value times its area. False
        for values that are totals of their cells, such as counts.
    progress : bool
        Show a bar on stderr while a large file is read.

    Examples
    --------
    >>> import tempfile, heatess as he
    >>> path = Path(tempfile.mkdtemp()) / "poles.csv"
    >>> _ = path.write_text("lon,lat,weight\n0,90,3\n0,-90,1\n")
    >>> poles = he.read(path)
    >>> poles
    Measure(Sphere(2), n=2, ess=1.6: geographic)
    >>> poles.origin.description
    '2 points from lon, lat (degrees); weights from weight'
    """
    arrays = {"weights": from_file(weights, "weights"), "log_weights": from_file(log_weights, "log_weights")}
    given: dict[str, Any] = {
        name: value for name, value in arrays.items() if value is not None and _name(value) is None
    }
    column = "none" if given else _name(weights)
    reading = Reading(
        space=space,
        columns=columns,
        units=units,
        weights=column,
        log_weights=_name(arrays["log_weights"]),
        normalize=normalize,
        drop_missing=drop_missing,
        euler=euler,
        missing=missing,
        kind=kind,
        frame=frame,
        labels=_name(labels),
        select=select,
        area=area,
    )
    table = open_table(path)
    with Progress(Progress(progress).shown and _is_large(path)).shares("read") as table.watch:
        [taken] = take(table, reading)
    for name in given:
        file = _name(weights if name == "weights" else log_weights)
        words = f"{name.replace('_', '-')} {f'from {file}' if file else 'given'}"
        description = Message(taken.origin.description.marked.replace("equal weights", words))
        taken = taken._replace(origin=replace(taken.origin, description=description, weights=file or ""))
    taken = taken._replace(**given)
    if labels is not None and _name(labels) is None:
        taken = taken._replace(known=taken.known.said(labels=labels))
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
        raise InputTypeError(f"a file is read by <+its name, a str or a path+>, but is <!{shown(path)}!>")
    _refuse_address(str(path))
    file = Path(path)
    try:
        file = split_label(file)[0]
        is_dir, exists = file.is_dir(), file.exists() or str(path) == STDIN
    except (OSError, ValueError) as error:  # a name too long, a loop of links
        raise InputError(f"{str(file)[:200]} cannot be read: {getattr(error, 'strerror', error)}") from None
    if is_dir:
        raise InputError(f"{file} is <!a directory!>; give <+one file+>")
    if not exists:
        raise InputError(f"{file} does not exist; check the name (the current directory is {Path.cwd()})")
    try:
        return _opened(Path(path), file)
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}; check its permissions") from None
    except MemoryError:
        raise InputError(f"{file} does not fit into memory; split it, and add its parts with `Accumulator`") from None


def _opened(path: Path, file: Path) -> Table:
    """The table by the module for the suffix of *file*, or for what it holds where the suffix does not tell."""
    family = "text" if is_piped(file) else family_of(file.name)
    module = import_module(f".{family}", __name__) if family else None
    if module and file.suffix.lower() in COMPRESSED and not file.name.lower().endswith(module.SUFFIXES):
        raise InputError(f"{file} is <!compressed!>, and only <+{_PACKED}+> are read so; unpack it first")
    if not family and (said := _elsewhere(file)):
        raise InputError(said)
    if family == "text" or not family:
        source = Source(file)
        family = held_in(source, family)
        if not family:
            raise InputError(_unknown(file, source.binary))
        module = import_module(f".{family}", __name__)
        if family in TEXTS:
            found: Table = module.table(path, source)
            return found
    table: Table = import_module(f".{family}", __name__).table(path)
    return table


def _is_large(path: Any) -> bool:
    """Whether *path* is a large file; standard input and data frames are not known to be."""
    try:
        return isinstance(path, str | os.PathLike) and os.path.getsize(split_label(Path(path))[0]) >= LARGE
    except OSError:
        return False


def is_piped(path: str | os.PathLike[str]) -> bool:
    """Whether *path* is standard input or another pipe, which can be read once only.

    >>> is_piped("-"), is_piped("cloud.csv")
    (True, False)
    """
    return str(path) == STDIN or is_stream(path)


def title_of(path: str | os.PathLike[str]) -> str:
    """What titles and tables call a file: its name without directories.

    >>> title_of("runs/a.csv"), title_of("-"), title_of("/dev/fd/63")
    ('a.csv', 'standard input', '/dev/fd/63')
    """
    if str(path) in (STDIN, "/dev/stdin"):
        return "standard input"
    return Path(path).name if not Path(path).is_relative_to("/dev/fd") else str(path)


def _refuse_address(path: str) -> None:
    """Refuse what is on the network, with the command that fetches it."""
    found = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]+)://", path)
    if found is None:
        return
    scheme, quoted, name = found[1].lower(), shlex.quote(path), unquote(urlsplit(path).path)
    if scheme == "file":
        raise InputError(f"{path} is <!an address!>; give <+the file by its name+>, {shlex.quote(name)}")
    name = posixpath.basename(name) if family_of(name) else "data.csv"
    fetch = {"s3": f"aws s3 cp {quoted} .", "gs": f"gcloud storage cp {quoted} ."}.get(scheme)
    fetch = fetch or f"curl -L -o {shlex.quote(name)} {quoted}"
    raise InputError(f"{path} is <!an address!>, and <+files+> alone are read; fetch it first: {fetch}")


def family_of(name: str) -> str:
    """The module that reads files of this name; empty if the suffix is not known.

    >>> family_of("cities.csv.gz"), family_of("COLVAR")
    ('text', '')
    """
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return FORMATS.get(suffixes[-1], "") if suffixes else ""


def _elsewhere(file: Path) -> str:
    """Who reads a file of a well-known format that heatess does not read; empty if its suffix is none of those."""
    return next((said for suffix in reversed(file.suffixes[-2:]) if (said := sentence(file, suffix.lower()))), "")


def _unknown(file: Path, binary: str) -> str:
    """Why a file is not read, and what to do with it."""
    found = f"has the suffix {file.suffix}" if file.suffix else "has no suffix"
    if binary:
        return f"{file} {found}, but holds {binary}; give it the suffix of its format: {', '.join(FORMATS)}"
    copy = f"cp {shlex.quote(str(file))} {shlex.quote(new_name(file, '.csv'))}"
    return (
        f"{file} {found}, but files are read by their suffix: {', '.join(FORMATS)}; if it is no table of text, export "
        f"it as .csv or .npy from the program that wrote it; if it is, read a copy that is called so: {copy}"
    )


def from_file(weights: Any, kind: str) -> Any:
    """The numbers in a .npy file, if weights are the name of one; else the weights as they are.

    *kind* is weights or log_weights.
    """
    if not isinstance(weights, str) or not weights.lower().endswith(".npy"):
        return weights
    table = open_table(weights)
    piece = next(table.pieces(table.names, None))
    if len(piece.columns) != 1:
        raise InputError(f"{weights} has <!{len(piece.columns)} columns!>, but weights are <+one number per point+>")
    refuse_weights(weights, piece.columns[0], kind == "log_weights", piece.place, what="the number")
    return piece.columns[0]


def _name(given: Any) -> str | None:
    """The name of a column, or None for numbers, names of rows and nothing."""
    return given if isinstance(given, str) else None
