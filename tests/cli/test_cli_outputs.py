"""No command replaces a file unless --force says so: not one that was there, nor one that comes while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.base import files
from heatess.cli import main, profile_commands, profile_output
from heatess.cli import resampling_demo as demo
from heatess.cli.own_directory import RECORD

#: A command that runs, without its outputs.
COMMANDS = {
    "profile": ["cloud.csv", "--angles", "5,20"],
    "compare": ["cloud.csv", "other.csv", "--angles", "20", "--draws", "0"],
    "test": ["cloud.csv", "--angles", "40"],
    "thin": ["cloud.csv", "--size", "5", "--angle", "20"],
    "redundancy": ["cloud.csv", "--angle", "20"],
    "density": ["cloud.csv", "--angle", "40"],
    "modes": ["cloud.csv"],
    "accumulate": ["cloud.csv", "--max-degree", "8"],
    "merge": ["one.npz", "--angles", "60"],
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("cloud.csv", "other.csv")):
        points = he.samplers.uniform(30, rng=seed)
        np.savetxt(name, points, "%.17g", ",", header="x,y,z", comments="")
    he.Accumulator(max_degree=30).add(points).save("one.npz")

    def call(*words: str) -> Result:
        return CliRunner().invoke(main, words)

    return call


def outputs() -> list[tuple[str, str, str]]:
    """Every option of every command that is a file to write, with a name for it."""
    suffixes = {"json_file": ".json", "csv_file": ".csv", "plot_file": ".svg", "report_file": ".html"}
    found = []
    for name, command in main.commands.items():
        for option in command.params:
            if option.name in profile_output.OUTPUTS and option.metavar == "FILE":
                other = {"density": ".nc", "modes": ".csv"}.get(name, ".npz")
                found.append((name, option.opts[-1], f"out{suffixes.get(option.name, other)}"))
    return found


def test_every_command_with_outputs_is_tried():
    written = outputs()
    assert {name for name, _, _ in written} == COMMANDS.keys()
    assert len(written) == 22
    for name, command in main.commands.items():
        writes = any(getattr(option.callback, "__qualname__", "").startswith("output.") for option in command.params)
        assert writes == (name in COMMANDS)


@pytest.mark.parametrize(("command", "option", "file"), outputs())
@pytest.mark.slow
def test_a_file_is_replaced_with_force_only(run, monkeypatch, command, option, file):
    words = [command, *COMMANDS[command], option, file]
    Path(file).write_text("fifteen thousand cities")
    if command in ("accumulate", "merge") and file == "out.npz":  # other files are not replaced even with --force
        he.Accumulator(max_degree=5).add(np.eye(3)).save("old.npz")
        os.replace("old.npz", file)
    before = Path(file).read_bytes()
    with monkeypatch.context() as patch:  # it is checked before anything is read
        for module in (profile_commands, profile_output):
            for name in ("read", "open_table", "heat_profile", "Accumulator"):
                patch.setattr(module, name, None, raising=False)
        result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert f"{file} exists; add --" in result.stderr
    assert "--force to replace it, or give another name" in result.stderr
    assert Path(file).read_bytes() == before
    assert run(*words, "--force").exit_code == 0
    assert Path(file).read_bytes() != before


def test_several_files_that_exist_are_named_at_once(run):
    Path("a.csv").write_text("old")
    Path("b.json").write_text("old")
    result = run("profile", "cloud.csv", "--csv", "a.csv", "--json", "b.json", "--plot", "new.png")
    assert "b.json and a.csv exist; add --force to replace them" in result.stderr
    assert not Path("new.png").exists()


def test_the_input_is_no_output_even_with_force(run):
    before = Path("cloud.csv").read_bytes()
    for words in (["profile", "cloud.csv", "--csv"], ["thin", "cloud.csv", "--size", "5", "--angle", "20", "-o"]):
        assert "cloud.csv is the input file" in run(*words, "cloud.csv", "--force").stderr
    assert Path("cloud.csv").read_bytes() == before


def test_devices_and_pipes_are_no_files_to_protect(run):
    shown = run("profile", "cloud.csv", "--angles", "20", "--json", "-").stdout
    words = ["profile", "cloud.csv", "--angles", "20"]
    assert run(*words, "--json", "/dev/stdout").stdout == shown
    assert run(*words, "--csv", "/dev/null", "-o", "/dev/null").exit_code == 0
    os.mkfifo("pipe")
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(Path("pipe").read_text()))
    reader.start()
    result = run(*words, "--json", "pipe")
    reader.join(20)
    assert result.exit_code == 0
    assert heard == [shown]


@pytest.mark.slow
def test_standard_output_that_goes_to_a_file_is_not_replaced_by_another(run, tmp_path):
    words = [sys.executable, "-m", "heatess", "profile", "cloud.csv", "--angles", "20", "-q", "-o", "/dev/stdout"]
    with open("page.html", "wb") as stream:
        subprocess.run(words, stdout=stream, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert "heatess.report/1" in Path("page.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cloud.csv", "one.npz", "other.csv", "page.html"]


# A file that comes while the command runs.


@pytest.mark.parametrize("linked", [True, False], ids=["hard links", "no hard links"])
def test_a_file_that_comes_meanwhile_stays_and_the_result_is_kept_beside_it(run, monkeypatch, linked):
    if not linked:
        monkeypatch.setattr(files.os, "link", lambda *names: (_ for _ in ()).throw(OSError(1, "not permitted")))
    real = profile_commands.profiled

    def slow(*args, **kwargs):
        Path("out.csv").write_text("of somebody else")
        return real(*args, **kwargs)

    monkeypatch.setattr(profile_commands, "profiled", slow)
    result = run("profile", "cloud.csv", "--angles", "5,20", "--csv", "out.csv")
    assert result.exit_code == 1
    assert "cannot write out.csv: there is such a file now, which was not replaced" in result.stderr
    assert Path("out.csv").read_text() == "of somebody else"
    assert Path("out-2.csv").read_text().startswith("times,")
    assert sorted(os.listdir()) == ["cloud.csv", "one.npz", "other.csv", "out-2.csv", "out.csv"]


def test_a_state_that_comes_or_changes_meanwhile_stays(run, monkeypatch):
    real, foreign = profile_commands._added, Path("one.npz").read_bytes()

    def slow(*args, **kwargs):
        Path("state.npz").write_bytes(foreign)
        return real(*args, **kwargs)

    monkeypatch.setattr(profile_commands, "_added", slow)
    for words in ([], ["--append"]):
        result = run("accumulate", "cloud.csv", "--max-degree", "30", "-o", "state.npz", *words)
        assert result.exit_code == 1
        assert Path("state.npz").read_bytes() == foreign
        Path("state.npz").unlink()
    he.Accumulator(max_degree=30).add(np.eye(3)).save("state.npz")
    result = run("accumulate", "cloud.csv", "-o", "state.npz", "--append")
    assert "state.npz was changed while this ran, and stays so; to add to it, run this again" in result.stderr
    assert Path("state.npz").read_bytes() == foreign
    monkeypatch.setattr(profile_commands, "_added", real)
    assert run("accumulate", "cloud.csv", "-o", "state.npz", "--append").exit_code == 0
    assert he.Accumulator.load("state.npz").n == 60


# Directories.


@pytest.mark.slow
def test_the_demo_replaces_what_it_wrote_and_nothing_else(run, monkeypatch):
    monkeypatch.setattr(demo, "page", lambda result: "a page")
    assert run("demo", "--out", "story").exit_code == 0
    assert run("demo", "--out", "story").exit_code == 0
    Path("story/profile.csv").write_text("my notes")
    Path("story/mine.txt").write_text("mine")
    result = run("demo", "--out", "story")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "story/profile.csv is a file that this command did not write, or changed since" in result.stderr
    assert Path("story/profile.csv").read_text() == "my notes"
    assert run("demo", "--out", "story", "--force").exit_code == 0
    assert Path("story/profile.csv").read_text().startswith("cloud,times")
    assert Path("story/mine.txt").read_text() == "mine"
    checked = subprocess.run(["sha256sum", "-c", RECORD], cwd="story", capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.slow
def test_reproduce_replaces_what_it_wrote_and_nothing_else(run):
    words = ["reproduce", "--only", "truncation", "--quick", "--no-progress"]
    Path("heatess-paper").mkdir()
    Path("heatess-paper/truncation.png").write_text("mine")
    Path("heatess-paper/clouds.png").write_text("of no concern")
    result = run(*words)
    assert "heatess-paper/truncation.png is a file that this command did not write" in result.stderr
    assert "add --force to replace it" in result.stderr
    Path("heatess-paper/truncation.png").unlink()
    for _ in range(2):
        assert run(*words).exit_code == 0
    assert Path("heatess-paper/truncation.png").read_bytes().startswith(b"\x89PNG")
    assert Path("heatess-paper/clouds.png").read_text() == "of no concern"


# The library.


def test_save_without_replacing(run):
    state = he.Accumulator(max_degree=10).add(np.eye(3))
    state.save("state.npz")
    before = Path("state.npz").read_bytes()
    with pytest.raises(FileExistsError, match=r"state-2\.npz"):
        (state + state).save("state.npz", replace=False)
    assert Path("state.npz").read_bytes() == before
    assert he.Accumulator.load("state-2.npz").n == 6
    state.save("new.npz", replace=False)
    (state + state).save("state.npz")
    assert he.Accumulator.load("state.npz").n == 6


def test_an_estimated_error_that_is_large_stands_beside_the_number_it_is_of(tmp_path):
    pytest.importorskip("trimesh")
    coarse = tmp_path / "coarse.off"  # a tetrahedron in place of a sphere
    faces = ["3 0 1 2", "3 0 3 1", "3 0 2 3", "3 1 3 2"]
    coarse.write_text("\n".join(["OFF", "4 4 6", "1 1 1", "-1 -1 1", "-1 1 -1", "1 -1 -1", *faces]))
    words = CliRunner().invoke(main, ["profile", str(coarse), "--times", "5"]).stdout
    error = he.heat_profile(he.read(coarse), times=[5]).error[0]
    assert error > 0.05
    assert f"count as one (estimated error {100 * error:.2g} %)" in words
