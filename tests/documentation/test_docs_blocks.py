"""Every block of code on every page is executed, and this finds those that are not.

- ``python``: `test_docs.py`, all blocks of a page in one namespace.
- ``console``, ``pycon``, ``csv``: `test_quickstart.py` and `test_guides.py`, with what is printed; of the
  README below.
- ``sh``: below. Commands of heatess are run on small files; scripts and targets that others name must exist.
- ``text``: shows output or a form, and is no code.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_docs import CURRENT, DOCS, ROOT, name_of
from test_quickstart import Terminal, check_printed

import heatess as he
from heatess.cli import main
from heatess.cli import resampling_demo as demo

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not in this distribution")

#: Pages whose commands and printed lines are compared by tests of their own.
COMPARED = ["README.md", "docs/start/quickstart.md", "docs/guides/*.md", "docs/explanation/*.md"]
EXECUTED = {"python", "sh", "text"}
#: Directives of the site and their options, which are not code.
DIRECTIVE = re.compile(r"\{[\w-]+\}")
#: Commands that tests of their own run, because they take long: `tests/cli/test_cli.py`, `tests/paper/test_paper.py`.
ELSEWHERE = {"demo", "reproduce"}


def blocks(page: Path) -> list[tuple[str, str]]:
    """The kind and the text of every fenced block of a page."""
    return re.findall(r"^```(\S*)[^\n]*\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_every_block_is_of_a_kind_that_is_executed(page: Path) -> None:
    compared = {"console", "pycon", "csv"} if any(page.match(pattern) for pattern in COMPARED) else set()
    kinds = {kind for kind, _ in blocks(page) if not DIRECTIVE.fullmatch(kind)}
    if page.name == "README.md":
        kinds.discard("")  # the list of make targets, which `test_every_make_target_of_the_readme_exists` reads
    assert kinds <= EXECUTED | compared


def test_the_readme_shows_what_the_demo_prints() -> None:
    [shown] = [text for kind, text in blocks(ROOT / "README.md") if kind == "console" and "heatess demo" in text]
    printed = demo.story(demo.resampling()).splitlines()
    assert [line for line in shown.splitlines()[1:] if line not in printed] == []


@pytest.mark.slow
def test_the_readme_shows_what_the_profile_of_airports_prints(tmp_path: Path) -> None:
    package = importlib.util.find_spec("airportsdata")
    if package is None or package.origin is None:
        pytest.skip("airportsdata is not installed")
    shutil.copy(Path(package.origin).parent / "airports.csv", tmp_path)
    [shown] = [text for kind, text in blocks(ROOT / "README.md") if kind == "console" and "airports.csv" in text]
    command, printed = shown.removeprefix("$ ").split("\n", 1)
    with contextlib.chdir(tmp_path):
        check_printed(Terminal().run(command), printed, "README.md")


def shell_lines() -> list[tuple[str, str]]:
    """Every line of a shell on every page, and in the examples of commands, with the page it stands on."""
    found = []
    for page in CURRENT:
        for kind, text in blocks(page):
            lines = text.splitlines() if kind == "sh" else []
            found += [(name_of(page), line.split("  #")[0].strip()) for line in lines]
    for name, command in main.commands.items():
        for line in (command.epilog or "").splitlines():
            if line.strip().startswith("heatess "):
                found.append((f"heatess {name} --help", line.strip()))
    return [(page, line) for page, line in found if line]


CLOUD = he.samplers.uniform(60, rng=0)
PLACES = "\n".join(f"{360 * x * x:.4f},{90 * z:.4f},{1 + 100 * y * y:.1f},{2 + y:.2f}" for x, y, z in CLOUD)
HEADS = {"cities.csv": "lon,lat,population,years", "stations.csv": "lon,lat,years,height"}


def write(file: Path) -> None:
    """A small file of this name, as the pages mean it."""
    name = file.name
    if name == "sky.csv":
        file.write_text("ra,dec\n0.31,0.22\n1.37,-0.15\n2.90,0.41\n")
    elif name == "embeddings.npy":
        np.save(file, np.random.default_rng(0).normal(size=(40, 384)))
    elif name == "logw.npy":
        np.save(file, 0.5 * CLOUD[:, 2])
    elif file.suffix == ".npy":
        np.save(file, CLOUD)
    elif file.suffix == ".csv":
        file.write_text(f"{HEADS.get(name, 'lon,lat,energy,depth')}\n{PLACES}\n")
    elif name == "sentences.parquet":
        pandas = pytest.importorskip("pandas")
        rows = he.samplers.uniform(40, 63, rng=1).tolist()
        pandas.DataFrame({"text": [f"sentence {k}" for k in range(40)], "embedding": rows}).to_parquet(file)
    elif file.suffix == ".parquet":
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame(CLOUD, columns=["x", "y", "z"]).to_parquet(file)
    elif file.suffix == ".star":
        starfile, pandas = pytest.importorskip("starfile"), pytest.importorskip("pandas")
        angles = np.random.default_rng(0).uniform(0, 180, size=(50, 3))
        names = ["rlnAngleRot", "rlnAngleTilt", "rlnAnglePsi"]
        starfile.write({"particles": pandas.DataFrame(angles, columns=names)}, file)
    elif name.startswith("state"):
        he.Accumulator(max_degree=400).add(CLOUD).save(file)


def prepared(words: list[str]) -> list[str]:
    """The words of a command with patterns expanded; files that it reads are written."""
    found = []
    for place, word in enumerate(words):
        written = words[place - 1] in ("-o", "--csv", "--json", "--plot", "--out")
        if "*" in word and not written:
            for number in (7, 8):
                write(Path(word.replace("*", f"0{number}")))
            found += sorted(str(path) for path in Path().glob(word))
        else:
            if not written and not Path(word).exists():
                write(Path(word))
            found.append(word)
    return found


@pytest.mark.parametrize(("page", "line"), shell_lines())
@pytest.mark.slow
def test_shell_lines_work(page: str, line: str, tmp_path: Path) -> None:
    words = shlex.split(line)
    if words[0] == "heatess" and words[1] not in ELSEWHERE:
        with contextlib.chdir(tmp_path):
            result = CliRunner().invoke(main, prepared(words[1:]), prog_name="heatess")
        assert result.exit_code == 0, f"{page}: {line}\n{result.output}"
    elif words[0] == "heatess":
        main.commands[words[1]].make_context(words[1], words[2:])
    elif words[0] == "python":
        assert (ROOT / words[1]).is_file(), f"{page}: {line}"
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE), f"{page}: {line}"
    else:
        assert words[:2] == ["pip", "install"], f"{page}: {line} is not run by any test"


def test_a_line_that_does_not_work_would_be_seen(tmp_path: Path) -> None:
    for wrong in ("heatess profile cities.csv --anlges 5", "python examples/nothing.py", "make nothing", "rm -r x"):
        with pytest.raises(AssertionError):
            test_shell_lines_work("here", wrong, tmp_path)
