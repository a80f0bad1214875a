"""What a machine or a number does not allow is said in one sentence, before it takes the time or the memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import heatess as he
from heatess import blocks

CLOSE_PAIRS = """
import warnings
import numpy as np
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    import heatess as he
    x = he.samplers.uniform(3000, rng=0)
    for _ in range(2):
        print(he.heat_profile(x, angles=[0.5, 1.0], method="local").gess.tolist())
        he.heat_profile(np.arange(600.0), space=he.Circle(), times=[0.1], method="pairwise")
for one in given:
    print("WARNED", one.category.__name__, one.filename, one.message)
"""


def run_elsewhere(source: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same calls in a process of their own, with the package at *source*."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "HOME"))}
    kept |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    return subprocess.run([sys.executable, "-c", CLOSE_PAIRS], env=kept, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def locked_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package beside which nothing can be written, by root neither: a file is where the folder goes."""
    source = tmp_path_factory.mktemp("locked")
    shutil.copytree(Path(he.__file__).parent, source / "heatess", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "heatess" / "compiled" / "__pycache__").touch()
    return source


@pytest.mark.parametrize("cache", [{}, {"NUMBA_CACHE_DIR": "/dev/null/nowhere"}], ids=["unset", "unwritable"])
def test_where_nothing_can_be_written_loops_are_compiled_all_the_same_and_one_warning_says_so(locked_package, cache):
    found = run_elsewhere(locked_package, HOME="/dev/null", **cache)
    assert found.returncode == 0, found.stderr
    first, second, *warned = found.stdout.splitlines()
    exact = he.heat_profile(he.samplers.uniform(3000, rng=0), angles=[0.5, 1.0], method="local").gess
    assert first == second == str(exact.tolist())
    assert len(warned) == 1
    assert warned[0].startswith("WARNED RuntimeWarning <string> compiled loops cannot be kept on disk")
    assert "NUMBA_CACHE_DIR" in warned[0]


def test_the_warning_about_compiled_loops_names_what_helps(locked_package, tmp_path):
    found = run_elsewhere(locked_package, HOME="/dev/null", NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert found.returncode == 0, found.stderr
    assert "WARNED" not in found.stdout
    assert list((tmp_path / "kept").rglob("*.nbi"))


def test_every_compiled_loop_goes_through_the_one_decorator():
    for module in (Path(he.__file__).parent / "compiled").glob("*.py"):
        kept = [line for line in module.read_text().splitlines() if "cache=True" in line]
        assert len(kept) == (module.name == "__init__.py"), module.name


@pytest.mark.parametrize("wanted", ["abc", "0", "-3", "1e9", "1000000000", "2.5", "9" * 5000])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, wanted):
    monkeypatch.setenv("HEATESS_NUM_THREADS", wanted)
    x = he.samplers.uniform(200_000, rng=0)
    with pytest.raises(he.InputError, match=r"HEATESS_NUM_THREADS must be a whole number from 1 to 1024, but is '.*unset"):
        he.heat_profile(x, angles=[5])


@pytest.mark.parametrize(("wanted", "count"), [(" 2 ", 2), ("1", 1), ("1024", 1024)])
def test_the_number_of_threads_may_be_set(monkeypatch, wanted, count):
    monkeypatch.setenv("HEATESS_NUM_THREADS", wanted)
    assert blocks.thread_count() == count


def test_an_empty_number_of_threads_is_none_at_all(monkeypatch):
    monkeypatch.delenv("HEATESS_NUM_THREADS", raising=False)
    cores = blocks.thread_count()
    for empty in ("", "  "):
        monkeypatch.setenv("HEATESS_NUM_THREADS", empty)
        assert blocks.thread_count() == cores
