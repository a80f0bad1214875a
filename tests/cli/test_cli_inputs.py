"""Pipes, process substitution, addresses and several files: each is read, or answered with what to type."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.cli import main
from plain_words import python_in

pytestmark = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd here")

POINTS = he.samplers.uniform(25, rng=3)
TRUTH = he.gess(POINTS, angle=30)
CSV = "x,y,z\n" + "\n".join(",".join(map(repr, row)) for row in POINTS.tolist()) + "\n"
RECORDS = [dict(zip("xyz", row, strict=True)) for row in POINTS.tolist()]
LINES = "\n".join(map(json.dumps, RECORDS))


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(CSV)
    Path("b.csv").write_text(CSV)

    def call(*words: str, input: bytes | str = b"") -> Result:
        return CliRunner().invoke(main, words, input=input)

    return call


def gess_of(result: Result) -> float:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["gess"][0]


def refused(result: Result, code: int = 3) -> str:
    assert result.exit_code == code, result.output
    sentence = result.stderr.strip().splitlines()[-1]
    assert python_in(sentence) is None
    return sentence


ONE = ["--angles", "30", "--json", "-", "-q"]


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        gzip.compress(CSV.encode()),
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=2),
        json.dumps({name: POINTS[:, axis].tolist() for axis, name in enumerate("xyz")}),
        json.dumps(POINTS.tolist()),
        LINES,
        json.dumps([RECORDS[0] | {"text": "x" * 2**21}, *RECORDS[1:]]),
        f"\n{LINES}\n\n",
        gzip.compress(LINES.encode()),
    ],
    ids=[
        "csv",
        "packed",
        "records",
        "indented",
        "columns",
        "rows",
        "lines",
        "a long line",
        "blank lines",
        "packed lines",
    ],
)
def test_text_and_json_come_through_standard_input(run, content):
    assert gess_of(run("profile", "-", *ONE, input=content)) == pytest.approx(TRUTH, rel=1e-9)


def test_one_record_is_one_atom(run):
    assert gess_of(run("profile", "-", *ONE, input=json.dumps(RECORDS[:1]) + "\n")) == 1


def test_a_bracket_at_the_start_of_a_text_table_is_no_json(run):
    table = CSV.replace("x,y,z", "[x],[y],[z]")
    assert gess_of(run("profile", "-", "--columns", "[x],[y],[z]", *ONE, input=table)) == pytest.approx(TRUTH, rel=1e-9)


def test_damaged_json_is_told_with_its_line(run):
    sentence = refused(run("profile", "-", *ONE, input=LINES + '\n{"x": 1, "y"'))
    assert "standard input line 26 is not valid JSON" in sentence
    assert "standard input is not valid JSON" in refused(run("profile", "-", *ONE, input=json.dumps(RECORDS)[:-9]))


@pytest.mark.parametrize(
    ("start", "kind", "file"),
    [
        (b"\x93NUMPY\x01\x00", "a NumPy array", "data.npy"),
        (b"PAR1", "Parquet data", "data.parquet"),
        (b"\x89HDF\r\n", "HDF5 data", "data.h5"),
        (b"SIMPLE  =  T", "FITS data", "data.fits"),
    ],
)
def test_other_formats_are_to_be_saved_first(run, start, kind, file):
    sentence = refused(run("inspect", "-", input=start + bytes(200)))
    assert f"standard input holds {kind}, not text; save it first, with > {file} behind the command" in sentence


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line of bash, in which heatess is this one."""
    call = f'heatess() {{ {sys.executable} -m heatess "$@"; }}; {line}'
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(["bash", "-c", call], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    "line",
    [
        "cat a.csv | heatess profile /dev/stdin --angles 30 --json - -q",
        "heatess profile /dev/stdin --angles 30 --json - -q < a.csv",
        "heatess profile <(gzip -c a.csv) --angles 30 --json - -q",
        "heatess accumulate <(head -11 a.csv) <(head -1 a.csv; tail -15 a.csv) -o s.npz -q && "
        "heatess merge s.npz --angles 30 --json - -q",
        "cat a.csv | heatess accumulate - -o s.npz -q && heatess merge s.npz --angles 30 --json - -q",
    ],
)
@pytest.mark.slow
def test_pipes_are_read_wherever_files_are(run, tmp_path, line):
    done = shell(line, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["gess"][0] == pytest.approx(TRUTH, rel=1e-7)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.slow
def test_a_pipe_is_inspected_thinned_and_compared(run, tmp_path):
    done = shell(
        "heatess inspect <(cat a.csv) && heatess thin <(cat a.csv) --size 9 --angle 30 -o t.csv && "
        "heatess compare a.csv <(cat b.csv) --draws 0 --angles 30",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "/dev/fd/" in done.stdout
    assert "25 points from x, y, z" in done.stdout
    assert len(Path("t.csv").read_text().splitlines()) == 10


@pytest.mark.slow
def test_standard_input_is_called_so_in_pictures_and_reports(run):
    result = run("profile", "-", "--angles", "30", "-o", "page.html", input=CSV)
    assert result.exit_code == 0, result.output
    assert "standard input" in Path("page.html").read_text()


@pytest.mark.parametrize(
    ("address", "remedy"),
    [
        ("https://example.org/a/quakes.csv", "curl -L -o quakes.csv https://example.org/a/quakes.csv"),
        ("http://example.org/q?format=csv&x=1", "curl -L -o data.csv 'http://example.org/q?format=csv&x=1'"),
        ("HTTPS://example.org/", "curl -L -o data.csv HTTPS://example.org/"),
        ("s3://bucket/key.parquet", "aws s3 cp s3://bucket/key.parquet ."),
        ("gs://bucket/key.parquet", "gcloud storage cp gs://bucket/key.parquet ."),
        ("file:///data/my%20points.csv", "give the file by its name, '/data/my points.csv'"),
    ],
)
def test_an_address_is_answered_with_the_command_that_fetches_it(run, address, remedy):
    for words in (["profile", address], ["inspect", address], ["compare", "a.csv", address]):
        assert refused(run(*words)).endswith(remedy)


def test_several_files_are_answered_with_the_command_for_them(run):
    sentence = refused(run("profile", "a.csv", "b.csv", "--angles", "30"), 2)
    assert (
        "profile takes one file, but found 2; to see them side by side, type: heatess compare a.csv b.csv;" in sentence
    )
    assert "type: heatess accumulate a.csv b.csv -o all.npz && heatess merge all.npz" in sentence
    assert run("accumulate", "a.csv", "b.csv", "-o", "all.npz").exit_code == 0
    assert gess_of(run("merge", "all.npz", *ONE)) == pytest.approx(TRUTH, rel=1e-7)  # the same points twice
    assert "to test whether they differ, type: heatess compare a.csv b.csv" in refused(run("test", "a.csv", "b.csv"), 2)
    line = 'type: for f in a.csv b.csv; do heatess inspect "$f"; done'
    assert line in refused(run("inspect", "a.csv", "b.csv"), 2)
    words = ["thin", "a.csv", "b.csv", "--size", "3", "--angle", "9", "-o", "t.csv"]
    assert "run heatess thin once for each of them" in refused(run(*words), 2)
    assert "put names and values with spaces in quotes" in refused(
        run("profile", "a.csv", "--space", "Torus(2,", "9)"), 2
    )


def test_a_part_of_a_file_is_accumulated(run):
    h5py = pytest.importorskip("h5py")
    with h5py.File("a.h5", "w") as file:
        for name in ("one", "two"):
            file[f"{name}/posterior_samples"] = np.rec.fromarrays(POINTS.T, names="x,y,z")
    assert run("accumulate", "a.h5::one", "-o", "s.npz").exit_code == 0
    assert gess_of(run("merge", "s.npz", *ONE)) == pytest.approx(TRUTH, rel=1e-7)
