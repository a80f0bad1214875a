"""Ten million rows of a Parquet file, in time and in memory; as a process of its own: parquet.py COMMAND FILE."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

import heatess as he
from memory import peak, points
from timing import Row, side_by_side, within

ROWS = 10**7
#: Seconds and gigabytes in which unit vectors and weights may be read, each once and a half.
SECONDS, GIGABYTES = 0.36, 0.67


def parquet() -> Iterator[Row]:
    """Parquet, 10^7 rows: unit vectors, longitude and latitude, and a profile of the command line."""
    from pyarrow.parquet import read_table

    with tempfile.TemporaryDirectory() as folder:
        vectors, angles = write(Path(folder))
        ours, table = side_by_side(lambda: he.read(vectors), lambda: read_table(vectors), rounds=7)
        work = "Parquet, 10^7 rows of unit vectors and weights read"
        yield within(work, f"a limit of {SECONDS:g} s", ours, SECONDS, 1.5)
        yield Row(work, "read_table of pyarrow", ours, table, "recorded", None)
        yield _memory(f"{work}: peak", _process("read", vectors)[1])
        ours, least = side_by_side(lambda: he.read(angles), lambda: converted(angles), rounds=5)
        reference = "read_table, and the conversion in NumPy on two threads"
        yield within("Parquet, 10^7 rows of lon, lat in degrees read", reference, ours, least, 1.5)
        yield _memory("Parquet, 10^7 rows of lon, lat in degrees read: peak", _process("read", angles)[1])
        measure = he.read(vectors)
        table, profile = side_by_side(lambda: read_table(vectors), lambda: he.heat_profile(measure), rounds=3)
        seconds, used = min(_process("profile", vectors) for _ in range(3))
        reference = "read_table of pyarrow and the profile alone"
        # A whole process against two calls in a warm one: its start and first touch of memory are in it.
        yield Row("heatess profile, 10^7 rows of Parquet", reference, seconds, table + profile, "recorded", None)
        yield Row("heatess profile, 10^7 rows of Parquet: peak", "1 GB", used, 1.0, "recorded", None, unit="GB")


def write(folder: Path) -> tuple[Path, Path]:
    """Unit vectors with weights, and the same as longitude and latitude in degrees."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    x, w = points(ROWS), np.random.default_rng(1).random(ROWS)
    lon, lat = np.degrees(np.arctan2(x[:, 1], x[:, 0])), np.degrees(np.arcsin(np.clip(x[:, 2], -1, 1)))
    tables = {"vectors": dict(zip("xyz", x.T.copy(), strict=True)) | {"weight": w}, "angles": {"lon": lon, "lat": lat}}
    for name, columns in tables.items():
        write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder / "vectors.parquet", folder / "angles.parquet"


def converted(path: Path, block: int = 2**14) -> np.ndarray:
    """Unit vectors from longitude and latitude, with nothing checked."""
    from pyarrow.parquet import read_table

    lon, lat = (np.concatenate([np.from_dlpack(c) for c in column.chunks]) for column in read_table(path).columns)
    found = np.empty((len(lon), 3))

    def fill(start: int) -> None:
        part = slice(start, start + block)
        east, north = np.radians(lon[part]), np.radians(lat[part])
        across = np.cos(north)
        found[part, 0], found[part, 1] = across * np.cos(east), across * np.sin(east)
        found[part, 2] = np.sin(north)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fill, range(0, len(lon), block)))
    return found


def _memory(work: str, used: float) -> Row:
    """Peak of a process, with everything that it imports."""
    return Row(work, f"{GIGABYTES:g} GB", used, GIGABYTES, "at most 1.5x", used <= 1.5 * GIGABYTES, unit="GB")


def _process(command: str, path: Path) -> tuple[float, float]:
    """Seconds from start to end, and the peak in gigabytes, of a process of its own."""
    start = time.perf_counter()
    run = subprocess.run([sys.executable, __file__, command, str(path)], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, float(run.stderr.splitlines()[-1]) / 1e9


def main() -> None:
    """Read a file, or run `heatess profile` on it, and write the peak to stderr."""
    command, path = sys.argv[1:]
    if command == "read":
        he.read(path)
    else:
        from heatess.cli import main as heatess

        with suppress(SystemExit):
            heatess([command, path])
    print(peak(), file=sys.stderr)


if __name__ == "__main__":
    main()
