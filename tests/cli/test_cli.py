"""The command line says the same numbers as the library, and never more than one sentence when it cannot."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.base.messages import Message
from heatess.cli import inputs, main
from heatess.cli.messages import typed as in_options
from heatess.readers import read


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        return CliRunner().invoke(main, words)

    return call


@pytest.fixture(scope="module")
def cloud():
    points = he.samplers.von_mises_fisher(400, [0.6, 0, 0.8], 12.0, rng=3)
    return points, np.random.default_rng(4).uniform(0.1, 1, 400)


@pytest.fixture
def table(tmp_path, cloud):
    path = tmp_path / "cloud.csv"
    rows = np.column_stack(cloud).tolist()
    path.write_text("x,y,z,weight\n" + "\n".join(",".join(map(repr, row)) for row in rows) + "\n")
    return "cloud.csv"


def same(found: dict, profile: he.HeatProfile) -> None:
    expected = json.loads(profile.to_json())
    assert found.keys() == expected.keys()
    for name in ("schema", "n", "space", "method"):
        assert found[name] == expected[name]
    for name in ("times", "angles", "gess", "volume", "divergence", "mmd2", "dimension"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-8)
    assert [value is None for value in found["resolutions"]] == [value is None for value in expected["resolutions"]]


def refused(result: Result, code: int, *parts: str) -> None:
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    sentence = result.stderr.strip().splitlines()[-1]
    assert sentence.startswith("heatess: ")
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in sentence, sentence


# What is printed.


def test_json_is_the_profile_and_nothing_else(run, table, cloud):
    expected = he.heat_profile(*cloud)
    for words in (["--json", "-"], ["--json"], ["--json", "-", "-q"], ["--json=-", "-v"]):
        result = run("profile", table, *words)
        assert result.exit_code == 0
        same(json.loads(result.stdout), expected)


def test_the_report_is_a_verdict_a_table_and_a_caveat(run, table, cloud):
    profile = he.heat_profile(*cloud)
    result = run("profile", table)
    lines = result.stdout.splitlines()
    points, _ = cloud
    first, middle, most = profile.gess[0], profile.gess[30], profile.gess[30] / profile.volume[30]
    assert lines[0] == (
        f"400 points of unequal weight count as {profile.ess:.3g} by ordinary ESS. "
        f"At {profile.angles[0]:.3g} deg they count as {first:.3g} separate ones. "
        f"At {profile.angles[30]:.3g} deg they count as {middle:.3g} separate ones; "
        f"the sphere has room for {most:.3g}."
    )
    assert lines[2].split() == ["angle", "resolution", "gESS", "if", "equal", "at", "most", "volume", "area", "error"]
    assert lines[3].split() == ["deg", "deg", "weights", "places", "%", "deg^2", "rel."]
    body = [[float(cell.replace(",", "")) for cell in line.replace("- ", "nan ").split()] for line in lines[4:14]]
    equal = he.heat_profile(points, angles=profile.angles)
    for row, index in ((body[0], 0), (body[-1], -1)):
        assert row[0] == pytest.approx(profile.angles[index], rel=1e-3)
        assert row[2] == pytest.approx(profile.gess[index], rel=1e-3)
        assert row[3] == pytest.approx(equal.gess[index], rel=1e-3)
        assert row[4] == pytest.approx(profile.gess[index] / profile.volume[index], rel=1e-3)
        assert row[5] == pytest.approx(100 * profile.volume[index], rel=1e-3)
        assert row[6] == pytest.approx(41253 * profile.volume[index], rel=1e-3)
        assert row[7] == pytest.approx(profile.error[index], rel=0.5)
    assert "not by itself a fault" in lines[-1]
    assert "400 points from x, y, z; weights from weight" in result.stderr
    ends = f"angle {profile.angles[0]:.4g} to {profile.angles[-1]:.4g} degrees"
    assert f"60 scales that fit the cloud, {ends}; choose others with --angles" in result.stderr


def test_quiet_leaves_only_the_result_and_verbose_adds_the_engine(run, table):
    quiet = run("profile", table, "-q")
    assert quiet.stderr == ""
    assert "fault" not in quiet.stdout
    assert "pairwise, error <= " in run("profile", table, "-v").stderr
    assert "spectral, error <= " in run("profile", table, "-v", "--angles", "20,60").stderr


def test_every_scale_is_in_the_csv(run, table, cloud):
    profile = he.heat_profile(*cloud, angles=[0.5, 20, 120])
    words = ["profile", table, "--angles", "0.5,20,120", "--csv"]
    assert run(*words, "out.csv").exit_code == 0
    for text in (Path("out.csv").read_text(), run(*words, "-").stdout):
        rows = list(csv.DictReader(text.splitlines()))
        np.testing.assert_allclose([float(row["gess"]) for row in rows], profile.gess, rtol=1e-9)
        assert rows[-1]["resolutions"] == ""


@pytest.mark.parametrize(
    ("words", "scales"),
    [
        (["--angles", "5,15,45"], {"angles": [5, 15, 45]}),
        (["--angles", "20"], {"angles": [20]}),
        (["--angles", "5:120:60"], {"angles": np.geomspace(5, 120, 60)}),
        (["--angles", "30:10:3"], {"angles": np.geomspace(30, 10, 3)}),
        (["--times", "0.01,0.1"], {"times": [0.01, 0.1]}),
        (["--resolutions", "10:40:4"], {"resolutions": np.geomspace(10, 40, 4)}),
        (["--angles", "5:9:1"], {"angles": [5]}),
    ],
)
def test_scales_are_grids_or_lists(run, table, cloud, words, scales):
    found = json.loads(run("profile", table, *words, "--json", "-").stdout)
    expected = he.heat_profile(*cloud, **scales)
    np.testing.assert_allclose(found["times"], expected.times, rtol=1e-12)
    np.testing.assert_allclose(found["gess"], expected.gess, rtol=1e-9)


def test_columns_units_and_log_weights_reach_the_library(run, tmp_path):
    (tmp_path / "sky.tsv").write_text("ra\tdec\tlogl\n0.1\t0.2\t0\n0.3\t0.1\t-1\n0.2\t0.9\t-2\n")
    words = ["--lon", "ra", "--lat", "dec", "--units", "rad", "--log-weights", "logl", "--angles", "10", "--json", "-"]
    found = json.loads(run("profile", "sky.tsv", *words).stdout)
    ra, dec = np.array([0.1, 0.3, 0.2]), np.array([0.2, 0.1, 0.9])
    points = np.column_stack([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])
    assert found["gess"][0] == pytest.approx(he.gess(points, log_weights=[0, -1, -2], angle=10), rel=1e-9)


def test_embeddings_are_profiled_by_resolution(run, tmp_path):
    vectors = np.random.default_rng(0).standard_normal((50, 20)).astype(np.float32)
    np.save(tmp_path / "emb.npy", vectors)
    refused(run("profile", "emb.npy"), 3, "emb.npy row 0", "--normalize")
    result = run("profile", "emb.npy", "--normalize")
    assert "50 points, all of equal weight. At a resolution of " in result.stdout
    assert "60 scales that fit the cloud, resolution " in result.stderr
    assert "area" not in result.stdout
    assert "warning" not in result.stderr
    unit = vectors / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    found = json.loads(run("profile", "emb.npy", "--normalize", "--resolutions", "60", "--json").stdout)
    assert found["gess"][0] == pytest.approx(he.gess(unit, resolution=60), rel=1e-9)
    assert "warning: angles mislead on Sphere(19)" in run("profile", "emb.npy", "--normalize", "--angles", "5").stderr


def test_help_version_and_nothing(run):
    assert "profile" in run().stdout
    assert run().exit_code == 0
    assert run("--help").stdout == run().stdout
    assert run("--version").stdout.strip() == f"heatess {he.__version__}"
    assert "--fail-under" in run("profile", "--help").stdout


# What is written.


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")])
def test_pictures_go_by_their_suffix(run, table, name, start):
    pytest.importorskip("matplotlib")
    result = run("profile", table, "--plot", name)
    assert result.exit_code == 0
    assert Path(name).read_bytes().startswith(start)
    assert f"wrote {name}" in result.stderr


def test_json_goes_to_a_file_beside_the_report(run, table, cloud):
    result = run("profile", table, "--json", "out.json")
    assert result.stdout.startswith("400 points of unequal weight")
    same(json.loads(Path("out.json").read_text()), he.heat_profile(*cloud))


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), RuntimeError("oops")])
def test_a_failing_write_leaves_the_old_file(run, table, tmp_path, monkeypatch, fault):
    (tmp_path / "out.csv").write_text("old")

    def fail(self, *args, **kwargs):
        self.write_bytes(b"half")
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", fail)
        result = run("profile", table, "--csv", "out.csv", "--force")
    assert result.exit_code == 1
    if isinstance(fault, OSError):
        assert "cannot write out.csv: No space left on device" in result.stderr
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cloud.csv", "out.csv"]


# What is refused: usage.


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["profile"], ["Missing argument 'FILE'"]),
        (["frobnicate"], ["No such command 'frobnicate'"]),
        (["cloud.csv", "-q"], ["heatess profile cloud.csv -q"]),
        (["profile", "cloud.csv", "--nope"], ["No such option", "--nope"]),
        (["profile", "cloud.csv", "--angles", "5:120"], ["'5:120'", "START:STOP:COUNT such as 5:120:60"]),
        (["profile", "cloud.csv", "--angles", "a,b"], ["'a,b' is not a grid"]),
        (["profile", "cloud.csv", "--angles", "0,5"], ["0 in '0,5'", "positive"]),
        (["profile", "cloud.csv", "--times", "nan"], ["nan", "positive"]),
        (["profile", "cloud.csv", "--times", "1e-300"], ["1e-300", "between 1e-200 and 1e+100"]),
        (["profile", "cloud.csv", "--angles", "5:9:0"], ["0 scales"]),
        (["profile", "cloud.csv", "--resolutions", "180"], ["180", "below 180"]),
        (["profile", "cloud.csv", "--angles", "5", "--times", "1"], ["only one of --angles and --times"]),
        (["profile", "cloud.csv", "--weights", "w", "--log-weights", "l"], ["--weights and --log-weights"]),
        (["profile", "cloud.csv", "--xyz", "x,y", "--lat", "l"], ["only one of --xyz and the options for angles"]),
        (["profile", "cloud.csv", "--xyz", "x,y", "--columns", "x,y"], ["only one of --xyz and --columns"]),
        (["profile", "cloud.csv", "--lon", "x"], ["--lon is not enough", "--lon with --lat"]),
        (["profile", "cloud.csv", "--lon", "x", "--dec", "y"], ["--lon and --dec do not go together"]),
        (["profile", "cloud.csv", "--quat", "x,y,z"], ["--quat takes four columns", "found 3"]),
        (["compare", "cloud.csv"], ["two files or more", "heatess profile"]),
        (["compare", "cloud.csv", "./cloud.csv"], ["./cloud.csv is given twice"]),
        (["compare", "cloud.csv", "other.csv", "--csv", "cloud.csv"], ["is the input file"]),
        (["completion", "tcsh"], ["'tcsh'"]),
        (["profile", "cloud.csv", "--xyz", "x"], ["'x'", "x,y,z"]),
        (["profile", "cloud.csv", "--units", "grad"], ["'grad'"]),
        (["profile", "cloud.csv", "--rtol", "2"], ["--rtol"]),
        (["profile", "cloud.csv", "-q", "-v"], ["--quiet and --verbose"]),
        (["profile", "cloud.csv", "--json", "no/out.json"], ["no/out.json", "there is no directory"]),
        (["profile", "--json", "cloud.csv"], ["'cloud.csv' does not end in .json"]),
        (["profile", "cloud.csv", "--csv", "cloud.csv"], ["is the input file"]),
        (["profile", "cloud.csv", "--csv", "-", "--json", "-"], ["same place"]),
        (["profile", "cloud.csv", "--plot", "a.gif"], [".png or .pdf or .svg"]),
        (["profile", "cloud.csv", "--fail-under", "gess=5"], ["QUANTITY@SCALE=LEAST such as gess@20deg=50"]),
        (["profile", "cloud.csv", "--fail-under", "power@5deg=5"], ["one of gess, volume"]),
        (["profile", "cloud.csv", "--fail-under", "gess@xdeg=5"], ["not a bound"]),
        (["demo", "--out", "cloud.csv"], ["cloud.csv", "is a file"]),
    ],
)
def test_wrong_usage_is_code_2(run, table, words, parts):
    refused(run(*words), 2, *parts)


def test_outputs_are_refused_before_anything_is_read(run):
    refused(run("profile", "nosuch.csv", "--plot", "no/where.png"), 2, "there is no directory")


def test_a_picture_without_matplotlib_is_refused_with_the_install_line(run, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(run("profile", table, "--plot", "a.png"), 2, "pip install 'heatess[plot]'")
    assert not Path("a.png").exists()


@pytest.mark.parametrize(
    ("words", "packages", "extras"),
    [
        (["profile", "map.fits"], "astropy and astropy-healpix", "sky"),
        (["profile", "map.fits", "--plot", "a.png"], "matplotlib and astropy and astropy-healpix", "plot,sky"),
        (
            ["compare", "map.fits", "a.parquet", "a.h5"],
            "astropy and astropy-healpix and pyarrow and h5py",
            "hdf5,sky,table",
        ),
        (["inspect", "a.parquet"], "pyarrow", "table"),
        (["accumulate", "a.parquet", "a.csv", "a.star", "-o", "s.npz"], "pyarrow and starfile", "star,table"),
    ],
)
def test_all_that_is_missing_is_named_at_once_with_one_line(run, tmp_path, monkeypatch, words, packages, extras):
    for package in ("matplotlib", "astropy", "astropy.io", "astropy_healpix", "pyarrow", "h5py", "starfile"):
        monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "map.fits").write_bytes(b"SIMPLE  =                    T" + b" " * 5000 + b"PIXTYPE = 'HEALPIX '")
    (tmp_path / "a.csv").write_text("lon,lat\n0,90\n")
    for name in ("a.parquet", "a.h5", "a.star"):
        (tmp_path / name).write_bytes(b"anything")
    are = "are" if "and" in packages else "is"
    line = f"this needs {packages}, which {are} not installed: pip install 'heatess[{extras}]'"
    refused(run(*words), 2, line)


# What is refused: data, bounds, and our own faults.


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("lon,lat\n1.5,0.5\n3,1\n", ["could be degrees or radians", "--units deg or --units rad"]),
        (
            "a,b\n1,2\n",
            [
                "--columns, for instance --lon A --lat B, or --space circle --columns A, or ",
                "A,B (found 2 columns: a, b)",
            ],
        ),
        ("lon,lat\n10,20\n10,91\n", ["bad.csv line 3", "column lat is 91"]),
        ("", ["is empty"]),
    ],
)
def test_bad_data_is_code_3(run, tmp_path, text, parts):
    (tmp_path / "bad.csv").write_text(text)
    refused(run("profile", "bad.csv", "-q"), 3, "bad.csv", *parts)


@pytest.mark.parametrize(
    ("text", "said", "python", "typed"),
    [
        ("lon,lat\n1,1\n", {}, "add units='deg' or units='rad'", "add --units deg or --units rad"),
        ("lon,lat\n9,9\n", {"units": "rad"}, "say units='deg' if", "say --units deg if"),
        ("lon,lat\n9,99\n", {}, "say columns={'lon': 'lat', 'lat': 'lon'} if", "say --lon lat --lat lon if"),
        ("x,y,z\n1,0,0\n", {"units": "rad"}, "units= is for angles", "--units is for angles"),
        ("x,y,z\n1.01,0,0\n", {}, "add normalize=True", "add --normalize"),
        ("x,y,z\n2,0,0\n", {}, "say space='euclidean' for", "say --space euclidean for"),
        ("x,y,z,w\n1,0,0,-1\n", {}, "give log_weights='w';", "give --log-weights w;"),
        ("x,y,z,w,logw\n1,0,0,1,1\n", {}, "weights='w' or log_weights='logw'", "--weights w or --log-weights logw"),
        ("x,y,z\n1,0,0\n0,,0\n", {}, "leave them out with drop_missing=True", "leave them out with --drop-missing"),
        (
            "a,b\n1,2\n",
            {},
            "columns=, for instance columns={'lon': 'A', 'lat': 'B'}, or space='circle'",
            "instance --lon A --lat B, or --space",
        ),
        ("site lon,my lat\n1,2\n", {}, "{'lon': 'site lon', 'lat': 'my lat'}?", "--lon 'site lon' --lat 'my lat'?"),
        (
            "x,y,z,lon (deg),lat\n1,0,0,0,0\n",
            {},
            "columns={'lon': 'lon (deg)', 'lat': 'lat'} or columns=('x', 'y', 'z')",
            "--lon 'lon (deg)' --lat lat or --columns x,y,z",
        ),
        (
            "lon,lat,phi,psi\n1,2,3,4\n",
            {},
            "or space='torus', columns=('phi', 'psi')",
            "or --space torus --columns phi,psi",
        ),
        ("q0,q1,q2,q3\n1,0,0,0\n", {}, "{'qx': 'q1', 'qy': 'q2', 'qz': 'q3', 'qw': 'q0'} if", "--quat q1,q2,q3,q0 if"),
        ("theta,phi\n1,2\n", {}, "columns={'colat': 'theta', 'azimuth': 'phi'},", "--colat theta --lon phi,"),
        ("dec,inc\n1,2\n3,95\n", {}, "say columns={'dec': 'inc', 'inc': 'dec'} if", "say --dec inc --inc dec if"),
        ("ra,dec\n50,2\n3,95\n", {}, "say columns={'ra': 'dec', 'dec': 'ra'} if", "say --ra dec --dec ra if"),
        ("a,b\n1,2\n", {"space": "torus"}, "for space='torus'; name", "for --space torus; name"),
    ],
)
def test_the_same_fault_names_arguments_in_python_and_options_here(run, tmp_path, text, said, python, typed):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(he.InputError) as caught:
        read(path, **said)
    assert python in str(caught.value)
    assert "--" not in str(caught.value)
    words = [word for name, value in said.items() for word in (f"--{name}", value)]
    result = run("profile", "bad.csv", "-q", *words)
    refused(result, 3, typed)
    for argument in ("columns=", "space=", "units=", "weights=", "normalize=", "drop_missing=", "he.", "True"):
        assert argument not in result.stderr


def test_names_of_files_and_columns_are_not_taken_for_arguments():
    names = "a/units=rad/rtol=1.csv and weights=3/b.csv"
    message = f"{names}: choose with `columns={{'lon': 'lon (deg)', 'lat': 'b'}}, rtol=1e-08`."
    assert in_options(Message(message)) == f"{names}: choose with --lon 'lon (deg)' --lat b --rtol 1e-08."


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        ("`columns={'ra': 'a', 'dec': 'b'}`", "--ra a --dec b"),
        ("`columns={'dec': 'a', 'inc': 'b'}`", "--dec a --inc b"),
        ("`columns={'colat': 'a', 'azimuth': 'b'}`", "--colat a --lon b"),
        ("`columns={'qx': 'a', 'qy': 'b', 'qz': 'c', 'qw': 'd'}`", "--quat a,b,c,d"),
        ("`columns=('a', 'b')`", "--columns a,b"),
        ("`columns='v'`", "--columns v"),
        ("`space='pose:R'` takes both", "--space pose:R takes both"),
        (
            "say `space='torus', columns=('a', 'b')`, and `units='rad'`",
            "say --space torus --columns a,b, and --units rad",
        ),
        ("`drop_missing=True`", "--drop-missing"),
        ("`normalize=True`?", "--normalize?"),
        ("`log_weights='w'`, or", "--log-weights w, or"),
        ("`resolutions=` or `times=`", "--resolutions or --times"),
    ],
)
def test_arguments_are_spelled_as_options(python, typed):
    assert in_options(Message(python)) == typed


def test_arguments_without_an_option_are_said_to_be_for_python(run, table, monkeypatch):
    def expensive(*args, **kwargs):
        raise he.CostError(
            "`rtol=1e-08` takes long; call `heat_profile`: with `pairs=1_000_000` and `rng=` it estimates, with "
            "`method='pairwise'` it takes its time"
        )

    monkeypatch.setattr(inputs, "heat_profile", expensive)
    said = "--rtol 1e-08 takes long; call heat_profile in Python: with pairs=1_000_000 and rng= it estimates"
    refused(run("profile", table, "-q"), 2, said)


def test_a_missing_file_is_code_3(run):
    refused(run("profile", "nosuch.csv"), 3, "nosuch.csv does not exist")


def test_bounds_that_are_met_are_silent(run, table, cloud):
    least = he.gess(*cloud, angle=20) * 0.999
    assert (
        run("profile", table, "--fail-under", f"gess@20deg={least}", "--fail-under", "volume@90deg=0.1").exit_code == 0
    )
    assert run("profile", table, "--times", "0.01", "--fail-under", "gess@0.01=1").exit_code == 0


def test_bounds_that_are_not_met_are_code_4(run, table, cloud):
    result = run("profile", table, "-q", "--fail-under", "gess@20deg=50", "--fail-under", "gess@40deg=60")
    assert result.exit_code == 4
    assert "400 points" in result.stdout
    assert f"gess at angle 20 deg is {he.gess(*cloud, angle=20):.6g}, but at least 50 was asked for" in result.stderr
    assert "gess@40deg=60 is not met" in result.stderr
    as_json = run("profile", table, "--json", "-", "--fail-under", "gess@20deg=50")
    assert as_json.exit_code == 4
    assert json.loads(as_json.stdout)["n"] == 400


def test_bounds_hold_at_their_own_scale_even_outside_the_profile(run, table, cloud):
    exact = he.gess(*cloud, angle=0.5)
    words = ["profile", table, "-q", "--angles", "30,60", "--fail-under"]
    assert run(*words, f"gess@0.5deg={exact * (1 - 1e-6)}").exit_code == 0
    assert run(*words, f"gess@0.5deg={exact * (1 + 1e-6)}").exit_code == 4


def test_bounds_speak_of_the_profile_s_kind_of_scale(run, table):
    result = run("profile", table, "-q", "--fail-under", "gess@20=50")
    refused(result, 2, "add the unit, such as gess@20deg=50")
    refused(run("profile", table, "-q", "--times", "0.1", "--fail-under", "gess@20deg=5"), 2, "without deg")
    refused(run("profile", table, "-q", "--resolutions", "9", "--fail-under", "gess@200deg=5"), 2, "below 180")


def test_our_own_faults_are_code_1_and_a_traceback_comes_only_when_asked_for(run, table, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(inputs, "heat_profile", broken)
    refused(run("profile", table, "-q"), 1, "internal error: ZeroDivisionError: oops")
    assert "Traceback" in run("profile", table, "-v").stderr


# The demo.


@pytest.mark.slow
def test_the_demo_tells_the_resampling_story(run):
    result = run("demo")
    assert result.exit_code == 0
    first = "Resampling raised ESS from 152 to 3,000. Distinguishable particles: 21.9 before, 21.9 after, at 5 degrees."
    assert result.stdout.startswith(first)
    before, after = (
        line.split() for line in result.stdout.splitlines() if line.strip().split()[:1] in (["before"], ["after"])
    )
    assert before[1:4] == ["3,000", "3,000", "152"]
    assert after[1:4] == ["3,000", "342", "3,000"]
    for one, other in zip(before[4:], after[4:], strict=True):
        assert float(one) == pytest.approx(float(other), rel=0.02)
    stored = json.loads(Path("heatess-demo/profile.json").read_text())
    assert stored["before"]["ess"] == pytest.approx(152, abs=1)
    assert stored["after"]["n"] == 3000
    rows = list(csv.DictReader(Path("heatess-demo/profile.csv").read_text().splitlines()))
    assert {row["cloud"] for row in rows} == {"before", "after"}
    assert [float(row["gess"]) for row in rows[:60]] == stored["before"]["gess"]


@pytest.mark.slow
def test_the_demo_draws_a_picture(run):
    pytest.importorskip("matplotlib")
    result = run("demo", "--out", "a/b")
    assert "a/b/profile.png" in result.stdout.replace("\\", "/")
    assert Path("a/b/profile.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_demo_without_matplotlib_gives_the_install_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("demo")
    assert result.exit_code == 0
    assert "342" in result.stdout
    assert "pip install 'heatess[plot]'" in result.stderr
    assert not Path("heatess-demo/profile.png").exists()


# The real thing.


def test_the_command_works_in_a_process_of_its_own(table, tmp_path, cloud):
    command = [sys.executable, "-c", "from heatess.cli import main; main()", "profile", table]
    done = subprocess.run([*command, "--json", "-"], cwd=tmp_path, capture_output=True, text=True, check=True)
    same(json.loads(done.stdout), he.heat_profile(*cloud))
    failed = subprocess.run(
        [*command, "--fail-under", "gess@5deg=1e9"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert failed.returncode == 4
    assert "\x1b" not in failed.stdout + failed.stderr


def test_python_m_heatess_is_the_command(tmp_path):
    words = [sys.executable, "-m", "heatess", "--version"]
    found = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout.strip() == f"heatess {he.__version__}"
