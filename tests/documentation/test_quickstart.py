"""Every command and every Python line of the quickstart prints what the page shows."""

from __future__ import annotations

import contextlib
import doctest
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from heatess.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "start" / "quickstart.md"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not in this distribution")

#: A bound on an error, as tables print it; it may depend on the machine.
ERROR = re.compile(r"\b\de-\d\d\b")


class Block(NamedTuple):
    kind: str
    text: str
    line: int
    before: str  #: the text of the page that leads to it


def blocks() -> list[Block]:
    page = PAGE.read_text(encoding="utf-8")
    found, end = [], 0
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE):
        found.append(Block(match[1], match[2], page.count("\n", 0, match.start()) + 1, page[end : match.start()]))
        end = match.end()
    return found


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a block, and what each prints."""
    parts = re.split(r"^\$ (.*)\n", block.text, flags=re.MULTILINE)
    assert parts[0] == "", f"line {block.line}: a block of commands begins with $"
    return list(zip(parts[1::2], parts[2::2], strict=True))


class Terminal:
    """A shell that knows heatess and echo $?."""

    def __init__(self) -> None:
        self.code = 0

    def run(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.code}\n"
        words = shlex.split(command)
        assert words[0] == "heatess", f"{command!r} is no command of this page's terminal"
        result = CliRunner().invoke(main, words[1:], prog_name="heatess", env={"COLUMNS": "200"})
        self.code = result.exit_code
        return result.output


def check_printed(found: str, shown: str, where: str) -> None:
    """Compare line by line; `...` stands for any text, and errors need only be as small as promised."""
    assert all(float(error) <= 1e-8 for error in ERROR.findall(found)), where
    found, shown = ERROR.sub("ERROR", found), ERROR.sub("ERROR", shown)
    pattern = ".*?".join(map(re.escape, shown.split("...")))
    assert re.fullmatch(pattern, found, flags=re.DOTALL), f"{where}: printed\n{found}\nbut the page shows\n{shown}"


@pytest.fixture
def folder(tmp_path):
    with contextlib.chdir(tmp_path):
        yield tmp_path


def test_the_page_shows_what_is_printed(folder):
    terminal, names, ran = Terminal(), {}, []
    for block in blocks():
        where = f"quickstart.md line {block.line}"
        if block.kind == "csv":
            [name] = re.findall(r"Save this as `([\w.]+)`", block.before)
            Path(name).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            for command, shown in commands(block):
                check_printed(terminal.run(command), shown, f"{where}: {command}")
                ran.append(command)
        elif block.kind == "pycon":
            check_python(block, names)
            ran.append("python")
    assert len(ran) > 15
    assert "python" in ran


def check_python(block: Block, names: dict[str, object]) -> None:
    if "pandas" in block.text:
        pytest.importorskip("pandas")
    test = doctest.DocTestParser().get_doctest(block.text, names, "quickstart", str(PAGE), block.line)
    assert test.examples, f"line {block.line}: there is no >>>"
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert result.failed == 0, "".join(said)


def test_only_the_installation_is_not_run():
    kinds = [block.kind for block in blocks()]
    assert set(kinds) <= {"csv", "console", "pycon", "sh"}
    [install] = [block for block in blocks() if block.kind == "sh"]
    assert [line.split("#")[0].strip() for line in install.text.splitlines()] == [
        "pip install .",
        "pip install '.[all]'",
    ]


def test_a_wrong_number_on_the_page_would_be_seen():
    check_printed("  5.000   8.577   1e-11\n", "  5.000   8.577   4e-12\n", "here")
    check_printed("a\nb\nc\n", "a\n...\nc\n", "here")
    for wrong in ("  5.000   8.578   1e-11\n", "  5.000   8.577   1e-11\nmore\n", ""):
        with pytest.raises(AssertionError, match="but the page shows"):
            check_printed("  5.000   8.577   1e-11\n", wrong, "here")
    with pytest.raises(AssertionError):
        check_printed("  5.000   8.577   1e-07\n", "  5.000   8.577   1e-07\n", "here")
