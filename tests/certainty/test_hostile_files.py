"""Small files that unpack to, or claim, very much are refused before they fill the memory; real ones are read."""

from __future__ import annotations

import gzip
import subprocess
import sys
from importlib import util
from pathlib import Path

import numpy as np
import pytest

import heatess as he
from heatess.readers import packed_size

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "hostile.py"

#: What is installed beside what heatess needs, by the ends of names.
NEEDS = {
    **dict.fromkeys((".fits.gz", ".vot"), "astropy"),
    **dict.fromkeys((".xlsx",), "openpyxl"),
    **dict.fromkeys((".h5", ".nc"), "h5py"),
    **dict.fromkeys((".parquet", ".feather"), "pyarrow"),
    **{".gii": "nibabel", ".graphml.gz": "networkx"},
}

#: What the answers say beside the limit on expansion.
OTHERS = {
    "claims.vot": "claims more rows or numbers than it has bits",
    "columns.csv": "has 300,000 columns",
    "columns.json": "has 300,000 columns",
    "sparse.json": "nearly all entries are missing",
    "corner.xlsx": "an entry is no number",
    "wide.xlsx": "16,384 columns in row 256",
}

#: Those that were never a danger, and one that is read.
ANSWERED = ("claims.fits", "nested.json", "claims.ply", "claims.stl", "words.parquet")


@pytest.fixture(scope="module")
def makers():
    spec = util.spec_from_file_location("hostile", SCRIPT)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.GB = 2**21
    return module.MAKERS


def names() -> list[str]:
    return [line.split('"')[1] for line in SCRIPT.read_text().splitlines() if line.startswith('@hostile("')] + [
        line.split('"')[1] for line in SCRIPT.read_text().splitlines() if line.startswith('    "') and '": (b"' in line
    ]


@pytest.mark.parametrize("name", [name for name in names() if name not in ANSWERED])
@pytest.mark.slow
def test_a_small_file_is_refused_before_it_fills_the_memory(makers, tmp_path, monkeypatch, name):
    for suffix, package in NEEDS.items():
        if name.endswith(suffix):
            pytest.importorskip(package)
    monkeypatch.setattr(packed_size, "ROOM", {"text": 2**20, "arrays": 2**20})
    makers[name](tmp_path / name)
    words = OTHERS.get(name, "may become at most|unpacks to more than 1.05 MB and 100 times its own size")
    with pytest.raises(he.InputError, match=words):
        he.read(tmp_path / name)


def test_a_long_name_that_every_row_has_is_kept_once_and_shortened(makers, tmp_path):
    pytest.importorskip("pyarrow")
    makers["words.parquet"](tmp_path / "words.parquet")
    found = he.read(tmp_path / "words.parquet")
    assert found.n == 100_000
    assert found.known.labels[0] == "x" * 197 + "..."


def test_the_advice_to_unpack_is_right(tmp_path, monkeypatch):
    monkeypatch.setitem(packed_size.ROOM, "text", 2**10)
    text = b"lon,lat\n" + b"9,0\n" * 10_000
    with gzip.open(tmp_path / "a.csv.gz", "wb") as stream:
        stream.write(text)
    with pytest.raises(
        he.InputError, match=r"unpack it first, gunzip -k .*a.csv.gz, and read the file that this makes"
    ):
        he.read(tmp_path / "a.csv.gz")
    (tmp_path / "a.csv").write_bytes(gzip.decompress((tmp_path / "a.csv.gz").read_bytes()))
    assert he.read(tmp_path / "a.csv").n == 10_000


def test_what_is_packed_as_real_numbers_are_has_no_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(packed_size, "ROOM", {"text": 0, "arrays": 0})
    points = he.samplers.uniform(2000, rng=1)
    lines = "\n".join(",".join(map(repr, row)) for row in points.tolist())
    with gzip.open(tmp_path / "a.csv.gz", "wt") as stream:
        stream.write(f"x,y,z\n{lines}\n")
    np.savez_compressed(tmp_path / "a.npz", points=points)
    assert he.read(tmp_path / "a.csv.gz").n == he.read(tmp_path / "a.npz").n == 2000


def test_a_constant_sky_map_is_read_though_it_is_packed_to_a_thousandth(tmp_path):
    fits = pytest.importorskip("astropy.io.fits")
    pytest.importorskip("astropy_healpix")
    column = fits.Column(name="T", format="D", array=np.ones(12 * 256**2))
    table = fits.BinTableHDU.from_columns([column])
    table.header.update({"PIXTYPE": "HEALPIX", "ORDERING": "RING", "NSIDE": 256, "INDXSCHM": "IMPLICIT"})
    table.writeto(tmp_path / "map.fits.gz")
    assert (tmp_path / "map.fits.gz").stat().st_size * 500 < 12 * 256**2 * 8
    assert he.read(tmp_path / "map.fits.gz").n == 12 * 256**2


@pytest.mark.slow
def test_no_hostile_file_takes_300_megabytes():
    most = ["edges.edges.gz", "words.parquet", "zeros.parquet", "columns.json", "wide.xlsx"]  # that take most memory
    done = subprocess.run([sys.executable, SCRIPT, *most], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
