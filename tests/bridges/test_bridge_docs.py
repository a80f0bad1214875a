"""Blocks of the documentation that need a library which the development environment has not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parent.parent.parent / "docs").glob("**/*.md"))
BLOCK = re.compile(r"```\{code-block\} python\n:name: (\w+)\n(.*?)```", re.DOTALL)
BLOCKS = [(page, *found) for page in PAGES for found in BLOCK.findall(page.read_text())]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("page", "package", "text"), BLOCKS, ids=[f"{b[0].stem}-{b[1]}" for b in BLOCKS])
def test_blocks_run_with_their_library(page, package, text):
    pytest.importorskip(package)
    assert "\nassert " in text  # so that running it shows something
    exec(compile(text, str(page), "exec"), {})
