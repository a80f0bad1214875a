"""Bridges to libraries that the development environment has not: an environment for NumPy 1, one for all others."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
REQUIREMENTS = sorted(HERE.glob("requirements-*.txt"))

#: The line of requirements that share what the development environment has.
ON_TOP = "# on top of the development environment"

#: Seconds after which packages count as not to be had.
PATIENCE = 900


def environment(requirements: Path) -> Path:
    """The Python of an environment with these packages and what heatess needs, made once for each set of versions.

    One on top of the development environment has all that is there, unless its packages need another version.
    """
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    text = requirements.read_text()
    key = "\n".join([sys.version, sys.prefix, text, *needed])
    name = requirements.stem.removeprefix("requirements-")
    folder = ROOT / ".venv-bridges" / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    if not (folder / "ready").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        if ON_TOP in text:
            (site,) = folder.glob("lib/python*/site-packages")
            (site / "development.pth").write_text(sysconfig.get_path("platlib") + "\n")
        install(python, ["-r", str(requirements), *needed, "pytest"])
        (folder / "ready").touch()
    return python


def install(python: Path, packages: list[str]) -> None:
    """Install, or skip the test with the reason."""
    options = ["--quiet", "--no-compile", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", *options, *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        pytest.skip(f"the packages were not installed within {PATIENCE} seconds")
    if done.returncode:
        reason = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no reason given"]
        pytest.skip(f"the packages cannot be installed here: {reason[-1]}")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the folders of environments are named otherwise")
@pytest.mark.parametrize("requirements", REQUIREMENTS, ids=lambda path: path.stem.removeprefix("requirements-"))
def test_bridges_hold_with_the_real_libraries(requirements):
    first, *lines = requirements.read_text().splitlines()
    files = [str(HERE / name) for name in first.removeprefix("# tests: ").split()]
    command = [str(environment(requirements)), "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    settings = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=settings | {"PYTHONPATH": str(ROOT / "src")}
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    missed = re.findall(r"could not import '(\w+)", done.stdout)
    own = [re.split(r"[=<>~]", line)[0].replace("-", "_") for line in lines if not line.startswith("#")]
    assert not set(missed) & set(own), done.stdout[-5000:]
