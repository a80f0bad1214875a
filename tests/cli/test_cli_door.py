"""The command line reads what it is told, says what it read, and its advice, typed as it stands, is right."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.cli import inputs, main
from plain_words import python_in

RNG = np.random.default_rng(11)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str, **more) -> Result:
        return CliRunner().invoke(main, words, **more)

    return call


def write(name: str, header: str, columns, delimiter: str = ",") -> str:
    rows = np.column_stack(columns).tolist()
    Path(name).write_text("\n".join([header, *(delimiter.join(map(repr, row)) for row in rows)]) + "\n")
    return name


def gess_of(result: Result) -> float:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["gess"][0]


def refused(result: Result, code: int, *parts: str) -> str:
    """The one sentence on stderr of a command that did nothing."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    sentence = result.stderr.strip().splitlines()[-1]
    assert sentence.startswith("heatess: ")
    assert "Traceback" not in result.stderr
    assert "internal error" not in result.stderr
    for part in parts:
        assert part in sentence, sentence
    return sentence


def unit(n: int, width: int) -> np.ndarray:
    rows = RNG.normal(size=(n, width))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def sky(n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Longitude and latitude in degrees, and the vectors they are."""
    lon, lat = RNG.uniform(-180, 180, n), np.degrees(np.arcsin(RNG.uniform(-0.95, 0.95, n)))
    a, b = np.radians(lon), np.radians(lat)
    return lon, lat, np.column_stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])


ANGLE = ("--angles", "30", "--json", "-", "-q")
TIME = ("--times", "0.1", "--json", "-", "-q")


# Inspect.


def test_inspect_tells_columns_and_meaning_and_computes_nothing(run, monkeypatch):
    lon, lat, _ = sky()
    write("a.csv", "lon,lat,mag,weight", [lon, lat, np.arange(60), np.r_[np.nan, np.ones(59)]])
    monkeypatch.setattr(inputs, "heat_profile", lambda *_, **__: pytest.fail("something was computed"))
    result = run("inspect", "a.csv", "--drop-missing")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["a.csv:", "4", "columns"]
    assert lines[1] == ["column", "least", "largest", "missing"]
    assert lines[2] == ["lon", f"{lon.min():.6g}", f"{lon.max():.6g}", "0"]
    assert lines[4] == ["mag", "0", "59", "0"]
    assert lines[5] == ["weight", "1", "1", "1"]
    assert "59 points from lon, lat (degrees); weights from weight; 1 row without a number dropped" in result.stdout
    assert "space: Sphere(2)\nknown: " in result.stdout
    assert "points: 59, ordinary ESS 59\ndefault scales: 60 angles from " in result.stdout
    assert list(Path().iterdir()) == [Path("a.csv")]


def test_inspect_shows_text_vectors_and_resolutions(run):
    vectors = unit(40, 12)
    rows = [{"name": "a", "embedding": row} for row in vectors.tolist()]
    Path("a.json").write_text(json.dumps(rows))
    result = run("inspect", "a.json")
    assert "embedding" in result.stdout
    assert "vectors" in result.stdout
    assert "space: Sphere(11)" in result.stdout
    assert "default scales: 60 resolutions from " in result.stdout
    Path("b.csv").write_text(f"name,id,lon,lat\nx,{2**53 + 1},10,20\ny,5,30,40\n")
    lines = [line.split() for line in run("inspect", "b.csv").stdout.splitlines()]
    assert lines[2:4] == [["name", "text"], ["id", "large", "integers"]]


def test_inspect_of_what_is_not_clear_lists_the_columns_and_then_the_choice(run):
    Path("a.csv").write_text("lon,lat,ra,dec\n10,20,30,40\n")
    result = run("inspect", "a.csv")
    assert result.exit_code == 3
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["column", "lon", "lat", "ra", "dec"]
    assert result.stderr.startswith("heatess: a.csv has more than one kind of points")
    assert "--lon lon --lat lat or --ra ra --dec dec" in result.stderr
    assert "space: Sphere(2)" in run("inspect", "a.csv", "--ra", "ra", "--dec", "dec").stdout


def test_inspect_of_a_file_that_cannot_be_read_prints_nothing(run):
    refused(run("inspect", "none.csv"), 3, "none.csv does not exist")
    Path("a.csv").write_text("")
    refused(run("inspect", "a.csv"), 3, "a.csv is empty")


# Compare.


@pytest.fixture
def two(run):
    one, other = he.samplers.uniform(120, rng=1), he.samplers.von_mises_fisher(90, [0, 0, 1], 30.0, rng=2)
    write("one.csv", "x,y,z", one.T)
    np.save("other.npy", other)
    return one, other


def test_compare_puts_clouds_side_by_side(run, two):
    result = run("compare", "one.csv", "other.npy", "--angles", "10,30,60")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    first, second = (he.heat_profile(points, angles=[10, 30, 60]).gess for points in two)
    said = f"At 30 deg, gESS: one.csv {first[1]:.3g}, other.npy {second[1]:.3g}. Most distinguishable points: one.csv."
    assert lines[0] == said
    assert lines[2].split() == ["angle", "one.csv", "other.npy"]
    for line, values in zip(lines[4:7], zip(first, second, strict=True), strict=True):
        np.testing.assert_allclose([float(cell) for cell in line.split()[1:]], values, rtol=1e-3)
    assert lines[7].split() == ["n", "120", "90"]
    assert lines[8].split()[0] == "ESS"


def test_compare_saves_every_cloud(run, two, monkeypatch):
    words = ["compare", "one.csv", "other.npy", "-q"]
    found = json.loads(run(*words, "--json", "-", "--angles", "20,40").stdout)
    rows = list(csv.DictReader(run(*words, "--csv", "-", "--angles", "20,40").stdout.splitlines()))
    for name, points in zip(["one.csv", "other.npy"], two, strict=True):
        expected = he.heat_profile(points, angles=[20, 40])
        np.testing.assert_allclose(found[name]["gess"], expected.gess, rtol=1e-9)
        table = [float(row["gess"]) for row in rows if row["cloud"] == name]
        np.testing.assert_allclose(table, expected.gess, rtol=1e-9)
    assert run(*words, "--json", "a.json", "--csv", "a.csv").exit_code == 0
    stored = json.loads(Path("a.json").read_text())
    assert list(stored) == ["one.csv", "other.npy", "test"]
    assert stored["one.csv"]["times"] == stored["other.npy"]["times"]
    assert len(Path("a.csv").read_text().splitlines()) == 1 + 2 * len(stored["one.csv"]["times"])
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # text as text
    assert run(*words, "--plot", "a.svg").exit_code == 0
    assert "other.npy" in Path("a.svg").read_text()
    assert "one.csv" in Path("a.svg").read_text()


def test_compare_holds_each_cloud_to_the_bound(run, two):
    result = run("compare", "one.csv", "other.npy", "-q", "--angles", "10,20,40", "--fail-under", "gess@20deg=15")
    assert result.exit_code == 4
    assert "other.npy: --fail-under gess@20deg=15 is not met" in result.stderr
    assert "one.csv:" not in result.stderr


def test_compare_refuses_other_spaces_and_repeated_files(run, two):
    np.save("flat.npy", unit(20, 2))
    refused(
        run("compare", "one.csv", "flat.npy", "-q"), 3, "flat.npy holds points on Sphere(1), but one.csv on Sphere(2)"
    )
    refused(run("compare", "one.csv", "other.npy", "one.csv"), 2, "one.csv is given twice")
    Path("link.csv").symlink_to("one.csv")
    refused(run("compare", "one.csv", "link.csv"), 2, "link.csv is given twice", "same file as one.csv")
    refused(run("compare", "one.csv", "none.csv", "-q"), 3, "none.csv does not exist")


def test_files_of_one_name_are_told_apart(run, two):
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "same.npy").write_bytes(Path("other.npy").read_bytes())
    found = json.loads(run("compare", "a/same.npy", "b/same.npy", "-q", "--json").stdout)
    assert list(found) == ["a/same.npy", "b/same.npy", "test"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_the_command(run, shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_HEATESS_COMPLETE" in result.stdout


def test_completion_completes_commands_and_options(run):
    from click.shell_completion import BashComplete

    complete = BashComplete(main, {}, "heatess", "_HEATESS_COMPLETE")
    assert [item.value for item in complete.get_completions(["profile"], "--dr")] == ["--drop-missing"]
    assert {"inspect", "compare"} <= {item.value for item in complete.get_completions([], "")}


@pytest.mark.parametrize(
    "words", ["profile", "compare a.csv", "merge", "accumulate", "profile a.csv --csv", "thin a.csv -o"]
)
def test_completion_completes_names_of_files(words):
    from click.shell_completion import BashComplete

    found = BashComplete(main, {}, "heatess", "_HEATESS_COMPLETE").get_completions(words.split(), "da")
    assert [(item.type, item.value) for item in found] == [("file", "da")]


def test_help_lists_every_option_once_and_by_what_it_is_about(run):
    for name, command in main.commands.items():
        text = run(name, "--help").stdout
        named = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
        for option in [*named, "--help"]:
            assert len(re.findall(rf"^  (?:-\w, )?{option}(?![\w-])", text, re.M)) == 1, (name, option)
        assert max(map(len, text.splitlines())) <= 80
        assert f"    heatess {name}" in text.partition("\n  Examples:\n")[2]
        if "-o, " in text:
            assert "Output:\n  -o, " in text
    text = run("profile", "--help").stdout
    titles = ["Output:", "Scales:", "Checks:", "Input, where the file does not say it itself:", "Messages:"]
    assert [line for line in text.splitlines() if line in titles] == titles
    first = run("--help").stdout
    assert "..." not in first.replace("[ARGS]...", "")
    assert first.index("  profile ") < first.index("  compare ") < first.index("  completion ")
    sentences = re.findall(r"^  [a-z]+ {2,}([A-Z].*)$", first, re.M)
    assert len(sentences) == len(main.commands)
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "bold", "red"), [({}, "\033[1m", "\033[31m"), ({"NO_COLOR": "1"}, "", ""), ({"TERM": "dumb"}, "", "")]
)
def test_a_terminal_sees_whole_words_and_a_little_colour(tmp_path, variables, bold, red):
    pty = pytest.importorskip("pty")
    cloud = tmp_path / "lon_lat.csv"
    cloud.write_text("lon,lat\n" + "".join(f"{k},{k % 7}\n" for k in range(30)))
    how = {"env": {**os.environ, "TERM": "xterm", "COLUMNS": "50", **variables}, "cwd": tmp_path}

    def seen(*words: str) -> str:
        here, there = pty.openpty()
        command = [sys.executable, "-m", "heatess", *words]
        with subprocess.Popen(command, stdout=there, stderr=there, stdin=subprocess.DEVNULL, **how) as process:
            os.close(there)
            parts = []
            with contextlib.suppress(OSError):  # which Linux gives at the end
                while part := os.read(here, 4096):
                    parts.append(part)
            assert process.wait() in (0, 2)
        os.close(here)
        return b"".join(parts).decode().replace("\r\n", "\n")

    text = seen("profile", "lon_lat.csv", "--angles", "1,2")
    assert f"\n{bold}30 points, all of equal weight." in text
    prose = [line for line in re.sub(r"\033\[\d*m", "", text).splitlines() if not line.startswith(" ")]
    assert max(map(len, prose)) <= 50
    assert "separate ones" in " ".join(prose)
    assert ("\033" in text) == bool(bold)
    wrong = seen("profile", "lon_lat.csv", "--angles", "200")
    assert wrong.splitlines()[-4].startswith(f"{red}heatess") or f"\n{red}heatess" in wrong
    told = " ".join(wrong.split())
    assert "200 degrees are 22,239 km, farther than half-way around the Earth; for kilometres write 200km" in told


# What the user says about the columns.


def test_every_word_for_a_space(run):
    vectors, quaternions, angles, flat = unit(40, 3), unit(40, 4), RNG.uniform(-3, 3, (40, 2)), RNG.normal(size=(40, 2))
    write("v.csv", "a,b,c", vectors.T)
    write("q.csv", "a,b,c,d", quaternions.T)
    write("t.csv", "a,b", angles.T)
    write("e.csv", "a,b", flat.T)
    write("h.csv", "a,b,c", [np.sqrt(1 + (flat**2).sum(axis=1)), *flat.T])
    write("p.csv", "a,b,c,d,e,f", [*flat.T, *quaternions.T])
    hyper = np.column_stack([np.sqrt(1 + (flat**2).sum(axis=1)), flat])
    pose = he.Product(he.Euclidean(2), he.Rotations())
    cases = [
        (["v.csv", "--space", "sphere", "--columns", "a,b,c"], ANGLE, he.gess(vectors, angle=30)),
        (["v.csv", "--space", "Sphere(2)", "--columns", "a:c"], ANGLE, he.gess(vectors, angle=30)),
        (
            ["v.csv", "--space", "projective", "--columns", "a,b,c"],
            ANGLE,
            he.gess(vectors, space=he.Projective(2), angle=30),
        ),
        (
            ["q.csv", "--space", "rotations", "--columns", "a,b,c,d"],
            ANGLE,
            he.gess(quaternions, space=he.Rotations(), angle=30),
        ),
        (
            ["t.csv", "--space", "torus", "--columns", "a,b", "--units", "rad"],
            ANGLE,
            he.gess(angles, space=he.Torus(2), angle=30),
        ),
        (
            ["t.csv", "--space", "circle", "--columns", "a", "--units", "rad"],
            ANGLE,
            he.gess(angles[:, :1], space=he.Circle(), angle=30),
        ),
        (["e.csv", "--space", "euclidean", "--columns", "a,b"], TIME, he.gess(flat, space=he.Euclidean(2), time=0.1)),
        (
            ["h.csv", "--space", "hyperbolic", "--columns", "a,b,c"],
            TIME,
            he.gess(hyper, space=he.Hyperbolic(2), time=0.1),
        ),
        (
            ["p.csv", "--space", "pose:1", "--columns", "a,b,c,d,e,f"],
            TIME,
            he.gess((flat, quaternions), space=pose, time=0.1),
        ),
        (["p.csv", "--space", "POSE:1", "--columns", "a:f"], TIME, he.gess((flat, quaternions), space=pose, time=0.1)),
    ]
    for words, scale, expected in cases:
        assert gess_of(run("profile", *words, *scale)) == pytest.approx(expected, rel=1e-8), words
    refused(run("profile", "v.csv", "--space", "ball"), 3, "space must be one of sphere", "'ball'")


def test_columns_for_each_kind_of_angle(run):
    lon, lat, vectors = sky()
    truth = he.gess(vectors, angle=30)
    write("a.csv", "p,q,r", [lon, lat, 90 - lat])
    down = he.gess(he.from_decinc(lon, lat, units="deg"), angle=30)
    for words, expected in [
        (["--lon", "p", "--lat", "q"], truth),
        (["--ra", "p", "--dec", "q"], truth),
        (["--colat", "r", "--lon", "p"], truth),
        (["--dec", "p", "--inc", "q"], down),
    ]:
        assert gess_of(run("profile", "a.csv", *words, *ANGLE)) == pytest.approx(expected, rel=1e-9)
    assert "column r" in refused(run("profile", "a.csv", "--lon", "p", "--lat", "r", "-q"), 3, "-90 and 90 degrees")


def test_quaternions_and_ranges_of_columns(run):
    quaternions, vectors = unit(50, 4), unit(50, 5)
    write("q.csv", "id,w0,x0,y0,z0", [np.arange(50), *quaternions[:, [3, 0, 1, 2]].T])
    truth = he.gess(quaternions, space=he.Rotations(), angle=30)
    assert gess_of(run("profile", "q.csv", "--quat", "x0,y0,z0,w0", *ANGLE)) == pytest.approx(truth, rel=1e-9)
    write("v.csv", "id,d0,d1,d2,d3,d4,z", [np.arange(50), *vectors.T, np.arange(50)])
    truth = he.gess(vectors, angle=30)
    for words in (
        ["--columns", "d0:d4"],
        ["--xyz", "d0:d4"],
        ["--xyz", "d0,d1,d2,d3,d4"],
        ["--columns", "d0:d2,d3:d4"],
    ):
        assert gess_of(run("profile", "v.csv", *words, *ANGLE)) == pytest.approx(truth, rel=1e-9)


def test_missing_numbers_are_refused_or_dropped_and_counted(run):
    vectors = unit(30, 3)
    rows = [",".join(map(repr, row)) for row in vectors.tolist()]
    rows[4], rows[7] = "1,,0", "0,NA,1"
    Path("a.csv").write_text("x,y,z\n" + "\n".join(rows) + "\n")
    refused(run("profile", "a.csv", "-q"), 3, "a.csv line 6: column y has no number (2 of 30 rows)", "--drop-missing")
    result = run("profile", "a.csv", "--drop-missing", "--angles", "30", "--json", "-")
    kept = np.delete(vectors, [4, 7], axis=0)
    assert gess_of(result) == pytest.approx(he.gess(kept, angle=30), rel=1e-9)
    assert "28 points from x, y, z; equal weights; 2 rows without a number dropped" in result.stderr
    result = run("accumulate", "a.csv", "--drop-missing", "-o", "a.npz")
    assert "a.csv: 2 rows without a number dropped" in result.stderr
    assert he.Accumulator.load("a.npz").n == 28
    Path("b.csv").write_text("x,y,z\n,,\n1,,\n")
    refused(
        run("profile", "b.csv", "--drop-missing", "-q"), 3, "b.csv has no rows after", "missing numbers were dropped"
    )


def test_standard_input_is_read(run):
    vectors = unit(20, 3)
    write("a.csv", "x,y,z", vectors.T)
    result = run("profile", "-", "--angles", "30", "--json", "-", input=Path("a.csv").read_bytes())
    assert gess_of(result) == pytest.approx(he.gess(vectors, angle=30), rel=1e-9)
    assert "standard input: 20 points from x, y, z" in result.stderr
    refused(run("profile", "-", input=b""), 3, "standard input is empty")
    refused(run("profile", "-", input=b"x,y,z\n1,0\n"), 3, "standard input line 2 has 2 fields")


def test_one_scale_of_the_user_is_not_called_fitted(run):
    np.save("a.npy", unit(20, 3))
    assert "fit the cloud" in run("profile", "a.npy").stderr
    for words in (["--angles", "5"], ["-q"]):
        assert "fit the cloud" not in run("profile", "a.npy", *words).stderr
    write("e.csv", "x,y,z", (3 * RNG.normal(size=(30, 3))).T)
    note = run("profile", "e.csv", "--space", "euclidean").stderr
    assert "60 scales that fit the cloud, distance sqrt(8 t) " in note
    assert "choose others with --times" in note


def test_the_verdict_names_kilometres_on_earth_and_equal_weights(run):
    lon, lat, _ = sky(50)
    write("quakes.csv", "lon,lat", [lon, lat])
    result = run("profile", "quakes.csv", "--angles", "10")
    assert result.stdout.startswith("50 points, all of equal weight. At 10 deg (1,112 km) they count as ")
    assert "if equal" not in result.stdout
    assert "km^2" in result.stdout
    np.save("one.npy", np.eye(3)[:1])
    said = "1 point, all of equal weight. At 10 deg it counts as one."
    assert run("profile", "one.npy", "--angles", "10").stdout.startswith(said)


def test_exit_codes(run):
    np.save("a.npy", unit(20, 3))
    assert run("profile", "a.npy", "-q").exit_code == 0
    assert run("profile", "a.npy", "--angles", "x").exit_code == 2
    assert run("profile", "nosuch.npy").exit_code == 3
    assert run("profile", "a.npy", "-q", "--fail-under", "gess@20deg=1e9").exit_code == 4


# Advice, typed as it stands.


def options_in(sentence: str, *holding: str) -> list[str]:
    """The first run of options in a message that holds all these words."""
    runs = re.findall(
        r"(?:--[a-z-]+(?: (?!--|or\b|and\b|if\b|for\b)(?:'[^']*'|[^\s;,?]+(?:,[^\s;,?]+)*))? ?)+", sentence
    )
    found = [run for run in runs if all(word in run for word in holding)]
    assert found, sentence
    return shlex.split(found[0])


def test_advice_for_theta_and_phi(run):
    lon, lat, vectors = sky()
    truth, angles = he.gess(vectors, angle=30), np.radians([90 - lat, lon])
    write("a.csv", "theta,phi", angles)
    sentence = refused(run("profile", "a.csv", "-q"), 3)
    for options in (options_in(sentence, "--colat theta"), options_in(sentence, "--space torus")):
        again = refused(run("profile", "a.csv", "-q", *options), 3) if "--units" not in options else ""
        units = options_in(sentence, "--units rad")
        assert "degrees or radians" in again
        found = gess_of(run("profile", "a.csv", *options, *units, *ANGLE))
        expected = truth if "--colat" in options else he.gess(angles.T, space=he.Torus(2), angle=30)
        assert found == pytest.approx(expected, rel=1e-9)
    write("b.csv", "theta,phi", np.degrees(angles[::-1]))
    options = options_in(refused(run("profile", "b.csv", "-q"), 3), "--colat phi")
    assert gess_of(run("profile", "b.csv", *options, *ANGLE)) == pytest.approx(truth, rel=1e-9)


def test_advice_for_torsions_in_radians(run):
    angles = RNG.uniform(-np.pi, np.pi, (60, 2))
    write("a.csv", "phi,psi", angles.T)
    options = options_in(refused(run("profile", "a.csv", "-q"), 3, "degrees or radians"), "--units rad")
    truth = he.gess(angles, space=he.Torus(2), angle=30)
    assert gess_of(run("profile", "a.csv", *options, *ANGLE)) == pytest.approx(truth, rel=1e-9)
    write("b.csv", "phi,psi", np.degrees(angles).T)
    assert gess_of(run("profile", "b.csv", *ANGLE)) == pytest.approx(truth, rel=1e-9)


def test_quaternions_with_a_negative_scalar_need_no_advice(run):
    quaternions = unit(60, 4)
    assert (quaternions[:, 3] < 0).any()
    truth = he.gess(quaternions, space=he.Rotations(), angle=30)
    for header in ("x,y,z,w", "qx,qy,qz,qw", "rot.x,rot.y,rot.z,rot.w"):
        write("a.csv", header, quaternions.T)
        assert gess_of(run("profile", "a.csv", *ANGLE)) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 0, 1, 2)])
def test_advice_for_quaternions_without_an_order(run, order):
    quaternions = unit(60, 4)
    truth = he.gess(quaternions, space=he.Rotations(), angle=30)
    write("a.csv", "q0,q1,q2,q3", quaternions[:, order].T)
    np.save("a.npy", quaternions[:, order])
    scalar = order.index(3)
    sentences = [refused(run("profile", "a.csv", "-q"), 3)]
    sentences.append(refused(run("profile", "a.npy", "-q", "--space", "rotations"), 3))
    for file, prefix, sentence in zip(("a.csv", "a.npy"), ("q", ""), sentences, strict=True):
        [quat] = re.findall(rf"(--quat \S+) if {prefix}{scalar} is", sentence)
        assert gess_of(run("profile", file, *quat.split(), *ANGLE)) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_advice_for_embeddings_that_are_not_of_unit_length(run, dtype):
    rows = (2 * RNG.normal(size=(50, 32))).astype(dtype)
    np.save("a.npy", rows)
    options = options_in(refused(run("profile", "a.npy", "-q"), 3, "a.npy row 0", "length"), "--normalize")
    exact = rows.astype(float) / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    found = gess_of(run("profile", "a.npy", *options, "--resolutions", "50", "--json", "-", "-q"))
    assert found == pytest.approx(he.gess(exact, resolution=50), rel=1e-9)


def test_half_precision_of_unit_length_needs_no_advice(run):
    vectors = unit(50, 32)
    np.save("a.npy", vectors.astype(np.float16))
    found = gess_of(run("profile", "a.npy", "--resolutions", "50", "--json", "-", "-q"))
    assert found == pytest.approx(he.gess(vectors, resolution=50), rel=1e-2)


@pytest.mark.parametrize("units", ["deg", "rad"])
def test_advice_for_longitude_and_latitude_in_an_array(run, units):
    lon, lat, vectors = sky()
    scale = 1.0 if units == "deg" else np.pi / 180
    truth = he.gess(vectors, angle=30)
    np.save("a.npy", scale * np.column_stack([lon, lat]))
    np.save("b.npy", scale * np.column_stack([90 - lat, lon]))
    sentence = refused(run("profile", "a.npy", "-q"), 3)
    assert "--normalize" not in sentence
    options = options_in(sentence, "--lon 0 --lat 1")
    assert gess_of(run("profile", "a.npy", *options, *ANGLE)) == pytest.approx(truth, rel=1e-9)
    options = options_in(refused(run("profile", "b.npy", "-q"), 3), "--colat 0 --lon 1")
    assert gess_of(run("profile", "b.npy", *options, *ANGLE)) == pytest.approx(truth, rel=1e-9)
    torus = options_in(sentence, "--space torus")
    expected = he.gess(np.radians(np.column_stack([lon, lat])), space=he.Torus(2), angle=30)
    assert gess_of(run("profile", "a.npy", *torus, *ANGLE)) == pytest.approx(expected, rel=1e-9)


def test_advice_for_exchanged_columns_and_for_log_weights(run):
    lon, lat, vectors = sky()
    logs = RNG.normal(size=60)
    write("a.csv", "lat,lon", [lon, lat])
    options = options_in(refused(run("profile", "a.csv", "-q"), 3), "--lon lat --lat lon")
    assert gess_of(run("profile", "a.csv", *options, *ANGLE)) == pytest.approx(he.gess(vectors, angle=30), rel=1e-9)
    write("b.csv", "x,y,z,w", [*vectors.T, logs])
    options = options_in(refused(run("profile", "b.csv", "-q"), 3), "--log-weights w")
    truth = he.gess(vectors, log_weights=logs, angle=30)
    assert gess_of(run("profile", "b.csv", *options, *ANGLE)) == pytest.approx(truth, rel=1e-9)
    write("c.csv", "qx,qy,qz,qw", (1.05 * unit(60, 4)).T)
    options = options_in(refused(run("profile", "c.csv", "-q"), 3), "--normalize")
    assert gess_of(run("profile", "c.csv", *options, *ANGLE)) > 1


# Files that cannot be.


def saved(array) -> bytes:
    stream = BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def zipped(**arrays) -> bytes:
    stream = BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def archive(name: str, content: bytes) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr(name, content)
    return stream.getvalue()


GOOD = saved(np.eye(3))
TEXTS = [
    "",
    "\n\n\n",
    "\ufeff",
    "# only a comment\n",
    "x,y,z",
    "x,y,z\n",
    "lon,lat\n\n",
    "\x00\x00\x00\x00",
    "hello",
    "a,b\nc,d\n",
    "x,y,z\n1,0\n",
    "x,y,z\n1,0,0,5\n",
    "x,y,z\n1,0,a\n",
    "x,y,z\n1,0,1_0\n",
    "x,y,z\n1,0,0x1\n",
    "x,y,z\n1,,0\n",
    "x,y,z\nnan,0,0\n",
    "x,y,z\ninf,0,0\n",
    "x,y,z\n1,0,-inf\n",
    "x,y,z\n1e999,0,0\n",
    "x,y,z\n0,0,0\n",
    "x,y,z\n2,0,0\n",
    "x,y,z\n1,1,1\n1,0,0\n",
    'x,y,z\n1,0,"0\n',
    "x,x,y,z\n1,1,0,0\n",
    "x,y,z,w\n1,0,0,-1\n",
    "x,y,z,w\n1,0,0,inf\n",
    "x,y,z,w\n1,0,0,\n",
    "x,y,z,w\n1,0,0,0\n",
    "x,y,z,w\n1,0,0,one\n",
    "x,y\n1,0\n",
    "x,y,z,logw\n1,0,0,inf\n",
    "x,y,z,logw\n1,0,0,-inf\n",
    "x,y,z,w,logw\n1,0,0,1,1\n",
    "x,y,z,w,weight\n1,0,0,1,1\n",
    "lon,lat\n1,1\n",
    "lon,lat\n10,95\n",
    "lon,lat\n400,5\n",
    "lon,lat\n-200,5\n",
    "lon,lat\n10,inf\n",
    "lon\n5\n",
    "lon,longitude,lat\n10,10,20\n",
    "lon,lat,ra,dec\n10,20,30,40\n",
    "lon_deg,lat_rad\n100,1\n",
    "lon_rad,lat\n1,10\n",
    "theta,phi\n1,2\n",
    "phi,psi\n1,2\n",
    "phi,psi\n1000,2000\n",
    "q0,q1,q2,q3\n1,0,0,0\n",
    "qx,qy,qz,qw\n1,1,0,0\n",
    "ra,dec\n23.5,40\n1,-50\n",
    "ra,dec\n12 34 56,+12 60 00\n",
    "dec,inc\n10,95\n",
    "colat,lon\n-5,10\n",
    "0,1,2\n3,4,5\n",
    "x,y,z\n1.000,5,0,0\n",
    "x;y;z\n1.0;0;0\n1,0;0;0\n",
    f"x,y,z,w\n1,0,0,{2**53 + 1}\n",
    "1,0,0\n0,1\n",
    "1,2\n3,4\n",
    "<html><body>404</body></html>\n",
    '{"lon": 10}\n',
    "SELECT * FROM sky;\n",
    "x,y,z\n1,0,0\n\x00\x00\x00\n",
]
FILES = [(f"{index:02}.csv", text.encode()) for index, text in enumerate(TEXTS)]
OTHERS = {
    "a.npy": [
        *(b"", GOOD[:20], GOOD[:-8], GOOD + b"more", b"hello", zipped(a=1)),
        *(saved(np.ones(3)), saved(np.zeros((0, 3))), saved(np.eye(3) * 1j), saved(np.array([["a"]]))),
        *(saved(np.ones((2, 2, 2, 2))), saved(np.array([[1, 0, 2**55 + 1]]))),
    ],
    "a.npz": [GOOD, zipped(a=np.eye(3), b=np.eye(4)), zipped(), archive("a.npy", b"no array")],
    "a.json": [
        *(b"", b"5", b"[]", b"{}", b"[1, 2", b'[{"lon": "a", "lat": 1}]', b'{"x": [1], "y": []}'),
        *(b'{"type": "FeatureCollection"}', b"[[1, 0], [1]]", b"\xff\xfe\xfd", b"[" * 5000),
    ],
    "a.jsonl": [b'{"lon": 10, "lat": 20}\nnope\n', b"[]\n", b"\n\n"],
    "a.csv.gz": [b"\x1f\x8b\x08\x00broken"],
    "a.parquet": [b"PAR1"],
    "a.feather": [b"ARROW1"],
    "a.xlsx": [b"PK\x03\x04"],
    "a.csv": [b"PK\x03\x04" + bytes(30), b"PAR1" + bytes(30)],
    "a": [b"x,y,z\n1,0,0\n"],
    "a.": [b"x"],
    "a.ply": [b"ply\nnope\n"],
    "a.obj": [b"v 1 2\n"],
    "a.stl": [b"solid\n"],
}
FILES += [(name, content) for name, contents in OTHERS.items() for content in contents]


@pytest.mark.parametrize(("name", "content"), FILES, ids=range(len(FILES)))
def test_every_malformed_file_is_one_sentence_and_nothing_is_written(run, name, content):
    if name.endswith((".parquet", ".feather")):
        pytest.importorskip("pyarrow")
    if name.endswith((".ply", ".obj", ".stl")):
        pytest.importorskip("trimesh")
    Path(name).write_bytes(content)
    for command in ("profile", "accumulate"):
        words = ["-o", "state.npz"] if command == "accumulate" else ["--json", "out.json", "--csv", "out.csv"]
        result = run(command, name, "-q", *words)
        weightless = command == "accumulate" and result.exit_code == 0 and b"w\n1,0,0," in content
        if weightless:  # a shard without any weight is kept for merging
            Path("state.npz").unlink()
            continue
        sentence = refused(result, result.exit_code, name)
        assert result.exit_code in (2, 3)
        assert len(result.stderr.strip().splitlines()) == 1
        assert python_in(sentence) is None, sentence
        assert [path.name for path in Path().iterdir()] == [name]


def test_there_are_enough_malformed_files():
    assert len({content for _, content in FILES}) >= 80


def test_scales_with_more_places_than_a_number_can_hold_are_printed(run):
    np.save("many.npy", he.samplers.uniform(20, 383, rng=1))
    result = run("profile", "many.npy", "--angles", "1,3,20", "-q")
    assert result.exit_code == 0, result.output
    assert "they count as 20 separate ones" in result.stdout
