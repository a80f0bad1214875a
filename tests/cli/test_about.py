"""`heatess --version -v` tells a maintainer what is needed, wherever it runs."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.base.blocks import thread_count
from heatess.cli import about, main


def told() -> dict[str, str]:
    """What is printed, by the first words of each line."""
    result = CliRunner().invoke(main, ["--version", "-v"])
    assert result.exit_code == 0, result.output
    first, *lines = result.stdout.splitlines()
    assert first == f"heatess {he.__version__}"
    return {name: text.strip() for name, text in (line[2:].split("  ", 1) for line in lines)}


@pytest.mark.parametrize("package", ["numpy", "scipy", "numba", "llvmlite", "click", "threadpoolctl"])
def test_versions_are_those_installed(package):
    assert told()[package].split(";")[0] == version(package)


def test_simd_is_what_numpy_found():
    found = np.show_config(mode="dicts")["SIMD Extensions"]
    words = told()["numpy"].split("SIMD ")[1].split()
    assert words == [*found["baseline"], *found.get("found", [])]


def test_threads_and_where_they_come_from(monkeypatch):
    monkeypatch.delenv("HEATESS_NUM_THREADS", raising=False)
    assert told()["threads"].startswith(f"{thread_count()}, from the cores that this process may use;")
    monkeypatch.setenv("HEATESS_NUM_THREADS", "3")
    assert told()["threads"].startswith("3, from HEATESS_NUM_THREADS;")
    assert "HEATESS_NUM_THREADS='3'" in told()["variables"]
    monkeypatch.setenv("HEATESS_NUM_THREADS", "many")
    assert "must be a whole number from 1 to 1024, but is 'many'" in told()["threads"]


def test_who_computes_transforms(monkeypatch):
    monkeypatch.delenv("HEATESS_BACKEND", raising=False)
    if find_spec("ducc0"):
        words = "in 1, 2 and 3 angles: ducc, ducc, native, the faster of native and ducc"
        assert told()["transforms"] == words
    else:
        assert told()["transforms"] == "native"
    monkeypatch.setenv("HEATESS_BACKEND", "native")
    assert told()["transforms"] == "native, from HEATESS_BACKEND"
    monkeypatch.setenv("HEATESS_BACKEND", "fast")
    assert "must be native or ducc, but is 'fast'" in told()["transforms"]


def test_the_cache_is_where_numba_keeps_it(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    assert told()["numba cache"] == f"{tmp_path / 'kept'}, writable"
    assert not (tmp_path / "kept").exists()
    code = "from heatess.compiled.cells import take; print(take._cache.cache_path)"
    kept = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert Path(kept.strip()).is_relative_to(tmp_path / "kept")


def test_places_for_the_cache_are_those_of_numba(monkeypatch, tmp_path):
    from numba.misc.appdirs import AppDirs

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    beside, user = about._cache_places()
    assert beside == Path(he.__file__).parent / "compiled" / "__pycache__"
    assert user == Path(AppDirs("numba", appauthor=False).user_cache_dir)
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(about, "_cache_places", lambda: [file / "below", user / "..", file])
    assert told()["numba cache"].startswith(f"{user / '..'}, writable")
    monkeypatch.setattr(about, "_cache_places", lambda: [file])
    assert told()["numba cache"].startswith(f"none: cannot write to {file}; set NUMBA_CACHE_DIR")


def test_extras_are_told_with_versions_or_as_missing(monkeypatch):
    needs = [
        "numpy>=1.26",
        "nosuchpackage>=2 ; extra == 'one'",
        'numpy[x]>=1; extra == "one"',
        "scipy; python_version > '3' and extra == 'two-b'",
        "heatess[one]; extra == 'all'",
    ]
    monkeypatch.setattr(about, "requires", lambda name: needs)
    assert about.extras() == {
        "one": ["nosuchpackage missing", f"numpy {version('numpy')}"],
        "two-b": [f"scipy {version('scipy')}"],
    }
    assert told()["extra one"] == f"nosuchpackage missing, numpy {version('numpy')}"

    def absent(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(about, "requires", absent)
    assert about.extras() == {}


def test_what_is_broken_is_told_and_stops_nothing(monkeypatch):
    pytest.importorskip("ducc0")
    monkeypatch.setitem(sys.modules, "ducc0", None)
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    found = told()
    assert found["ducc0"].startswith(f"{version('ducc0')}; cannot be told: ModuleNotFoundError")
    assert found["BLAS"].startswith("cannot be told: ModuleNotFoundError")
    assert found["scipy"] == version("scipy")


def test_it_is_quick_because_numba_is_not_imported(tmp_path):
    code = "import sys; from heatess.cli.about import about; about(); print({'numba', 'pandas'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout.strip() == "set()"


def test_python_m_heatess_tells_the_same(tmp_path):
    words = [sys.executable, "-m", "heatess", "-v", "--version"]
    found = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout.splitlines()[0] == f"heatess {he.__version__}"
    assert f"{version('numba')}" in found.stdout


def test_v_alone_says_where_it_belongs():
    for words in (["-v"], ["-v", "profile", "a.csv"]):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 2
        assert "-v stands after a command, as in heatess profile FILE -v, or with --version" in result.stderr
