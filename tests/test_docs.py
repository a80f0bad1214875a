"""The documentation holds: links lead somewhere, examples run, and the README asks for two commands only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not in this distribution")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_run(page: Path) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), names)
    assert "```python" not in page.read_text() or "he" in names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_in_the_map_exist(page: Path) -> None:
    named = re.findall(r"`((?:\w+/)*\w+\.py)`", page.read_text())
    roots = (ROOT, ROOT / "src" / "heatess")
    assert [name for name in named if not any((root / name).is_file() for root in roots)] == []


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE))
    defined = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test"} <= targets <= defined
