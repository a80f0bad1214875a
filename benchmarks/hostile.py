"""Peak memory and time of reading small files that claim, or unpack to, very much: hostile.py [name ...].

Each file is made in a temporary directory and read in a process of its own. The table has the size of the file, the
largest resident size above that after the import, the time, and the answer.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

MAKERS: dict[str, Callable[[Path], None]] = {}

#: Megabytes that reading any of them may take.
LIMIT = 300


def hostile(name: str) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Register what makes a file of this name."""

    def keep(make: Callable[[Path], None]) -> Callable[[Path], None]:
        MAKERS[name] = make
        return make

    return keep


def repeated(head: bytes, unit: bytes, size: int, tail: bytes = b"") -> Iterator[bytes]:
    """Pieces of a long text: *unit* again and again, *size* bytes in all."""
    block = unit * (2**20 // len(unit))
    yield head
    for _ in range(size // len(block)):
        yield block
    yield tail


def gzipped(path: Path, pieces: Iterator[bytes]) -> None:
    with gzip.open(path, "wb", 6) as stream:
        for piece in pieces:
            stream.write(piece)


GB = 2**30

_TEXTS = {
    "zeros.csv.gz": (b"lon,lat\n", b"0,0\n", b""),
    "zeros.jsonl.gz": (b"", b'{"lon":0,"lat":0}\n', b""),
    "zeros.json.gz": (b'{"lon":[0', b",0", b"]}"),
    "quakes.xml.gz": (b"<quakeml><eventParameters>", b"<event/>", b"</eventParameters></quakeml>"),
    "nodes.graphml.gz": (b"<graphml><graph>", b'<node id="a"/>', b"</graph></graphml>"),
    "edges.edges.gz": (b"", b"a b\n", b""),
    "packed.vot": (
        b'<VOTABLE version="1.3"><RESOURCE><TABLE><FIELD name="ra" datatype="double" unit="deg"/>'
        b'<FIELD name="dec" datatype="double" unit="deg"/><DATA><TABLEDATA>',
        b"<TR><TD>0</TD><TD>0</TD></TR>",
        b"</TABLEDATA></DATA></TABLE></RESOURCE></VOTABLE>",
    ),
}
for _name, (_head, _unit, _tail) in _TEXTS.items():
    MAKERS[_name] = lambda path, h=_head, u=_unit, t=_tail: gzipped(path, repeated(h, u, 3 * GB, t))


def cards(*lines: str) -> bytes:
    return "".join(f"{line:80}" for line in (*lines, "END")).ljust(2880 * (1 + (len(lines) * 80 // 2880))).encode()


def fits_head(rows: int) -> bytes:
    first = cards("SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    0")
    table = cards(
        *("XTENSION= 'BINTABLE'", "BITPIX  =                    8", "NAXIS   =                    2"),
        *("NAXIS1  =                   16", f"NAXIS2  = {rows:20d}", "PCOUNT  =                    0"),
        *("GCOUNT  =                    1", "TFIELDS =                    2", "TTYPE1  = 'ra      '"),
        *("TFORM1  = 'D       '", "TUNIT1  = 'deg     '", "TTYPE2  = 'dec     '", "TFORM2  = 'D       '"),
        "TUNIT2  = 'deg     '",
    )
    return first + table


@hostile("zeros.fits.gz")
def _(path: Path) -> None:
    rows = 3 * GB // 2880 * 180
    gzipped(path, repeated(fits_head(rows), bytes(2880), 3 * GB + 2**21))


@hostile("claims.fits")
def _(path: Path) -> None:
    path.write_bytes(fits_head(10**9) + bytes(2880))


@hostile("claims.vot")
def _(path: Path) -> None:
    head, unit, tail = _TEXTS["packed.vot"]
    path.write_bytes(head.replace(b"<TABLE>", b'<TABLE nrows="300000000">') + unit + tail)


@hostile("columns.csv")
def _(path: Path) -> None:
    names = ",".join(f"c{k}" for k in range(300_000))
    row = ",".join(["0.5"] * 300_000)
    path.write_text(f"{names}\n{row}\n{row}\n")


@hostile("columns.json")
def _(path: Path) -> None:
    names = [f"c{k}" for k in range(300_000)]
    path.write_text(json.dumps({"columns": names, "data": [[0.5] * len(names)] * 2}))


@hostile("sparse.json")
def _(path: Path) -> None:
    path.write_text(json.dumps([{f"c{k}": 1} for k in range(100_000)]))


@hostile("nested.json")
def _(path: Path) -> None:
    path.write_text("[" * 3_000_000)


@hostile("surface.gii")
def _(path: Path) -> None:
    pieces = max(75 * GB // 2**30, 1)
    packer = zlib.compressobj(9)
    data = b"".join([*(packer.compress(bytes(12_000_000)) for _ in range(pieces)), packer.flush()])
    text = base64.b64encode(data).decode()
    arrays = "".join(
        f'<DataArray Intent="NIFTI_INTENT_{intent}" DataType="NIFTI_TYPE_{kind}" ArrayIndexingOrder="RowMajorOrder" '
        f'Dimensionality="2" Dim0="{pieces * 10**6}" Dim1="3" Encoding="GZipBase64Binary" Endian="LittleEndian" '
        f'ExternalFileName="" ExternalFileOffset=""><MetaData/><Data>{text}</Data></DataArray>'
        for intent, kind in (("POINTSET", "FLOAT32"), ("TRIANGLE", "INT32"))
    )
    path.write_text(f'<?xml version="1.0"?><GIFTI Version="1.0" NumberOfDataArrays="2"><MetaData/>{arrays}</GIFTI>')


@hostile("zeros.npz")
def _(path: Path) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("points.npy", "w", force_zip64=True) as stream,
    ):
        head = io.BytesIO()
        shape = (3 * GB // 24 // 2**17 * 2**17, 3)
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
        stream.write(head.getvalue())
        for _ in range(shape[0] * 24 // (24 * 2**17)):
            stream.write(bytes(24 * 2**17))


@hostile("zeros.zip")
def _(path: Path) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.csv", "w", force_zip64=True) as stream,
    ):
        for piece in repeated(b"lon,lat\n", b"0,0\n", 3 * GB):
            stream.write(piece)


def workbook(path: Path, sheet: Iterator[bytes]) -> None:
    import openpyxl

    small = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["lon", "lat"])
    book.save(small)
    with zipfile.ZipFile(small) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            if "sheet1" not in entry.filename:
                target.writestr(entry.filename, source.read(entry))
        with target.open("xl/worksheets/sheet1.xml", "w") as stream:
            for piece in sheet:
                stream.write(piece)


_SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'


@hostile("zeros.xlsx")
def _(path: Path) -> None:
    unit = b"<row><c><v>0</v></c><c><v>0</v></c></row>"
    workbook(path, repeated(_SHEET + b"<sheetData>", unit, GB, b"</sheetData></worksheet>"))


@hostile("corner.xlsx")
def _(path: Path) -> None:
    head = _SHEET + b'<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
    workbook(path, iter([head, b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>']))


@hostile("wide.xlsx")
def _(path: Path) -> None:
    rows = (b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (k, k) for k in range(1, 20_001))
    workbook(path, iter([_SHEET + b"<sheetData>", *rows, b"</sheetData></worksheet>"]))


@hostile("zeros.h5")
def _(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as root:
        made = root.create_dataset("points", (GB // 2**19 * 2**16, 3), "f8", chunks=(2**16, 3), compression="gzip")
        for start in range(0, len(made), 2**16):
            made[start : start + 2**16] = 0.0


@hostile("empty.h5")
def _(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as root:
        for name in ("ra", "dec"):
            root.create_dataset(f"posterior_samples/{name}", (10**9,), "f8", chunks=(2**20,))


@hostile("chunk.h5")
def _(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as root:
        made = root.create_dataset("points", (10, 3), "f8", maxshape=(None, 3), chunks=(GB // 25, 3), compression=9)
        made[:] = 1.0


@hostile("empty.nc")
def _(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as root:
        for name in ("lat", "lon"):
            root[name] = np.linspace(-80, 80, 20_000)
            root[name].make_scale(name)
            root[name].attrs["units"] = {"lat": "degrees_north", "lon": "degrees_east"}[name]
        made = root.create_dataset("rain", (20_000, 20_000), "f8", chunks=(1000, 1000))
        for axis, name in enumerate(("lat", "lon")):
            made.dims[axis].attach_scale(root[name])


@hostile("zeros.parquet")
def _(path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    part = pyarrow.table({"lon": np.zeros(2**20), "lat": np.zeros(2**20)})
    with parquet.ParquetWriter(path, part.schema) as writer:
        for _ in range(GB // 2**23 + 1):
            writer.write_table(part)


@hostile("words.parquet")
def _(path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    names = pyarrow.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), ["x" * 2**20])
    ends = pyarrow.table({"lon": np.full(100_000, 9.0), "lat": np.zeros(100_000), "name": names})
    parquet.write_table(ends, path, store_schema=False)


@hostile("zeros.feather")
def _(path: Path) -> None:
    import pyarrow
    from pyarrow import ipc

    part = pyarrow.record_batch({"lon": np.zeros(GB // 16), "lat": np.zeros(GB // 16)})
    with ipc.new_file(path, part.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(part)
        writer.write_batch(part)


@hostile("claims.ply")
def _(path: Path) -> None:
    head = "ply\nformat binary_little_endian 1.0\nelement vertex 300000000\nproperty float x\nproperty float y\n"
    rest = "property float z\nelement face 300000000\nproperty list uchar int vertex_indices\nend_header\n"
    path.write_bytes((head + rest).encode() + bytes(1000))


@hostile("claims.stl")
def _(path: Path) -> None:
    path.write_bytes(bytes(80) + struct.pack("<I", 300_000_000) + bytes(1000))


_READ = """
import re, sys, time
from pathlib import Path
import heatess as he
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
before, start = peak(), time.perf_counter()
try:
    answer = repr(he.read(sys.argv[1]))
except Exception as error:
    answer = f"{type(error).__name__}: {error}"
print(f"{peak() - before:.0f}\\t{time.perf_counter() - start:.1f}\\t{answer}")
"""


def read(path: Path, most: float = 60) -> tuple[float, float, str]:
    """Megabytes, seconds and the answer of reading a file in another process, which ends at 6 GB."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (6 * GB, 6 * GB))

    start = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, "-c", _READ, path], capture_output=True, text=True, timeout=most, preexec_fn=limit
        )
    except subprocess.TimeoutExpired:
        return float("inf"), time.perf_counter() - start, f"not finished in {most} s"
    found = done.stdout.strip().split("\t") if done.stdout else ["inf", "nan", done.stderr.strip()[-200:]]
    return float(found[0]), float(found[1]), found[2]


def main(names: list[str]) -> None:
    worst = 0.0
    print(f"{'file':18}{'size, kB':>10}{'memory, MB':>12}{'time, s':>9}  answer")
    for name in names or MAKERS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            MAKERS[name](path)
            memory, seconds, answer = read(path)
            worst = max(worst, memory)
            size, words = path.stat().st_size / 1000, re.sub(rf"{re.escape(folder)}/", "", answer)
            print(f"{name:18}{size:10,.0f}{memory:12,.0f}{seconds:9.1f}  {words[:300]}", flush=True)
    print(f"the largest is {worst:,.0f} MB above the import; at most {LIMIT} are allowed")
    sys.exit(worst > LIMIT)


if __name__ == "__main__":
    main(sys.argv[1:])
