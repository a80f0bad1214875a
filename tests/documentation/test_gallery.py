"""The gallery: each script runs by itself, without a warning, and prints what a few lines of NumPy give."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
SCRIPTS = sorted(GALLERY.glob("plot_*.py"))
QUICK = ("attitude", "earthquakes", "les_miserables", "ramachandran")
pytestmark = pytest.mark.skipif(not SCRIPTS, reason="the examples are not in this distribution")


def named(script: Path):
    name = script.stem.removeprefix("plot_")
    return pytest.param(script, id=name, marks=[] if name in QUICK else [pytest.mark.slow])


def needs(script: Path) -> set[str]:
    """Packages that a script imports or takes files from."""
    found = set()
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "find_spec":
            found.add(node.args[0].value)
    return found


@functools.cache
def printed(script: Path) -> str:
    """What a script prints, as `python script` runs it, with warnings as errors."""
    missing = sorted(name for name in needs(script) if importlib.util.find_spec(name) is None)
    if missing:
        pytest.skip(f"{script.name} needs {', '.join(missing)}: pip install --group gallery")
    env = {name: value for name, value in os.environ.items() if name != "DISPLAY"} | {"MPLBACKEND": "Agg"}
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("script", [named(script) for script in SCRIPTS])
def test_each_script_runs_and_ends_with_a_number(script):
    assert re.search(r"\d", printed(script).splitlines()[-1])


def gess_of_angles(angles, alpha, weights=None):
    """1 / sum w_i w_j exp(-(angle / alpha)^2): gESS of close atoms, from the angles between all pairs."""
    weights = np.ones(len(angles)) / len(angles) if weights is None else weights / weights.sum()
    return 1 / (weights @ np.exp(-((angles / alpha) ** 2)) @ weights)


@pytest.mark.slow
def test_the_regions_of_earthquakes_are_those_of_a_flat_gaussian():
    text = printed(GALLERY / "plot_earthquakes.py")
    package = Path(importlib.util.find_spec("hvsampledata").submodule_search_locations[0])
    pandas = pytest.importorskip("pandas")
    lat, lon = np.radians(pandas.read_csv(package / "_data" / "earthquakes.csv")[["lat", "lon"]].to_numpy().T)
    x = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    angles = 2 * np.arcsin(np.clip(np.linalg.norm(x[:, None] - x, axis=2) / 2, 0, 1))
    assert f"596 quakes are {gess_of_angles(angles, np.radians(1)):.0f} regions at 1 degree" in text


@pytest.mark.slow
def test_the_attitudes_are_those_of_the_kernel_of_rotations():
    text = printed(GALLERY / "plot_attitude.py")
    quaternions = np.loadtxt(GALLERY / "data" / "imu_attitude.csv", delimiter=",", skiprows=1)[:, 1:]
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    half = np.arccos(np.clip(abs(quaternions @ quaternions.T), 0, 1))
    alpha = np.radians(10)
    # The heat kernel of rotations by an angle far below a turn: (theta / 2) / sin(theta / 2) times a Gaussian.
    overlap = np.exp(-((2 * half / alpha) ** 2)) / np.sinc(half / np.pi)
    assert f"10 deg: {1 / overlap.mean():6.2f} attitudes" in text


@pytest.mark.slow
def test_the_characters_are_those_of_a_matrix_exponential():
    networkx = pytest.importorskip("networkx")
    from scipy.linalg import expm

    text = printed(GALLERY / "plot_les_miserables.py")
    meetings = networkx.to_numpy_array(networkx.les_miserables_graph())
    weights = meetings.sum(axis=1) / meetings.sum()
    heat = expm(-2 * 0.01 * (np.diag(meetings.sum(axis=1)) - meetings))
    overlap = heat / np.sqrt(np.outer(heat.diagonal(), heat.diagonal()))
    assert f"t = 0.01  gESS {1 / (weights @ overlap @ weights):.2f}" in text


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_each_script_is_short_and_asks_a_question(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 120
    assert lines[1].endswith("?")
    assert lines[2] == "=" * len(lines[1])


def test_all_scripts_are_in_the_table_and_all_files_have_a_source():
    table = (GALLERY.parent / "README.md").read_text(encoding="utf-8")
    assert [script.name for script in SCRIPTS if f"gallery/{script.name}" not in table] == []
    assert [name for name in re.findall(r"gallery/(plot_\w+\.py)", table) if not (GALLERY / name).is_file()] == []
    sources = (GALLERY / "data" / "SOURCES.md").read_text(encoding="utf-8")
    assert [file.name for file in GALLERY.glob("data/*.csv") if f"`{file.name}`" not in sources] == []
