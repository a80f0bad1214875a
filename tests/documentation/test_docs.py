"""The documentation holds: links lead somewhere, examples run, and what pages name exists."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
import test_guides

import heatess as he
from heatess.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Folders that a build of the site makes.
MADE = ("_build", "gallery", "generated")
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for page in DOCS.glob("**/*.md") if not set(page.relative_to(DOCS).parts) & set(MADE)),
        *ROOT.glob("examples/*.md"),
    ]
)
#: Pages about heatess as it is now, and not as it was.
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not in this distribution")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def inline_code(page: Path) -> list[str]:
    """What is in code font on a page, outside of blocks."""
    text = re.sub(r"^(```|:::).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert missing == []


#: Pages whose blocks run in test_guides.py, where what they print is compared too.
GUIDES = {ROOT / "docs" / f"{name}.md" for name in test_guides.PAGES}


@pytest.mark.parametrize("page", [page for page in PAGES if page not in GUIDES], ids=name_of)
@pytest.mark.slow
def test_python_examples_run(page: Path) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), names)
    assert "```python" not in page.read_text() or "he" in names


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_named_in_the_map_exist(page: Path) -> None:
    named = [code for code in inline_code(page) if re.fullmatch(r"(?:[\w.-]+/)*[\w-]+\.py", code)]
    named += [code for code in inline_code(page) if re.fullmatch(r"(?:src|tests|benchmarks|examples)/[\w./-]+", code)]
    roots = (ROOT, Path(he.__file__).parent, ROOT / "examples", page.parent)
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


def exists(dotted: str, start: Any = he) -> bool:
    """Whether heatess has a name such as gess, HeatProfile.plateaus or distributed.profile_parquet."""
    found = start
    for part in dotted.split("."):
        if hasattr(found, part):
            found = getattr(found, part)
        elif isinstance(found, type) and any(part in vars(base).get("__annotations__", ()) for base in found.__mro__):
            return True
        else:
            try:
                found = import_module(f"{found.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
    return True


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_names_of_heatess_on_the_page_exist(page: Path) -> None:
    dotted = [
        name
        for code in inline_code(page)
        for name in re.findall(r"(?<![\w./-])(?:he|heatess)\.([A-Za-z_][\w.]*)", code)
    ]
    files = re.compile(r".*\.(?:html|csv|json|npz|npy|png|md)|(?:profile|comparison|population)/\d")
    assert [name for name in dotted if not files.fullmatch(name) and not exists(name.rstrip("."))] == []


def options_of(command: click.Command) -> set[str]:
    return {"--help"}.union(*(parameter.opts + parameter.secondary_opts for parameter in command.params))


EVERY_OPTION = options_of(main).union(*map(options_of, main.commands.values()))
#: Words that follow `heatess` in code font and are no command.
NO_COMMAND = {"COMMAND"}


def options_in_scripts(text: str) -> set[str]:
    """The options of the scripts that a text names."""
    named = {root / name for name in re.findall(r"(?:[\w-]+/)+[\w-]+\.py", text) for root in (ROOT, ROOT / "examples")}
    sources = (file.read_text(encoding="utf-8") for file in named if file.is_file())
    return {option for source in sources for option in re.findall(r"--[a-z][\w-]*", source)}


@pytest.mark.parametrize("page", CURRENT, ids=name_of)
def test_commands_and_options_on_the_page_exist(page: Path) -> None:
    wrong, elsewhere = [], EVERY_OPTION | options_in_scripts(page.read_text(encoding="utf-8"))
    for code in inline_code(page):
        known, command = elsewhere, re.match(r"heatess (\w[\w-]*)", code)
        if command and command[1] not in NO_COMMAND:
            known = options_of(main.commands[command[1]]) if command[1] in main.commands else set()
            wrong += [] if command[1] in main.commands else [code]
        wrong += [code] if set(re.findall(r"(?<![\w-])--[a-z][\w-]*", code)) - known else []
    assert wrong == []


def test_what_does_not_exist_would_be_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`he.gess`, `he.HeatProfile.gess`, `heatess profile --angles 5`, `he.distributed.profile_parquet`")
    test_names_of_heatess_on_the_page_exist(page)
    test_commands_and_options_on_the_page_exist(page)
    for wrong in ("`he.gesss`", "`he.HeatProfile.mode`", "`heatess.paper.nothing`"):
        page.write_text(wrong)
        with pytest.raises(AssertionError):
            test_names_of_heatess_on_the_page_exist(page)
    for wrong in ("`heatess profil x.csv`", "`--anlges 5`", "`heatess inspect --angles 5`"):
        page.write_text(wrong)
        with pytest.raises(AssertionError):
            test_commands_and_options_on_the_page_exist(page)
    page.write_text("`tests/test_nothing.py`")
    with pytest.raises(AssertionError):
        test_files_named_in_the_map_exist(page)


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE))
    defined = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test"} <= targets <= defined
