"""Every guide prints what it shows: Python blocks are run in order, and commands in a terminal of their own."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.polynomial.legendre import legval
from scipy.special import ive
from test_quickstart import Block, Terminal, check_printed, commands

import heatess as he

DOCS = Path(__file__).parents[2] / "docs"
#: Pages that show what their blocks print: commands, or text right after a block of code.
PRINTS = re.compile(r"^```console$|^```\n\n```text$", re.MULTILINE)
PAGES = [
    f"{folder}/{page.stem}"
    for folder in ("guides", "explanation")
    for page in sorted((DOCS / folder).glob("*.md"))
    if PRINTS.search(page.read_text(encoding="utf-8"))
]
#: Packages that a page needs beyond the core.
NEEDS = {
    "guides/sky-maps": "astropy_healpix",
    "guides/many-files-and-clusters": "dask",
    "guides/graphs": "networkx",
}

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not in this distribution")


class Seen(NamedTuple):
    """One block of a page, what it printed, and what the page shows after it."""

    line: int
    printed: str
    shown: str | None


def blocks(page: str) -> list[Block]:
    """The blocks of a page but those with a library of their own, which `bridges/test_bridge_docs.py` runs."""
    page = re.sub(r"^```\{.*?^```$", lambda own: "\n" * own[0].count("\n"), page, flags=re.DOTALL | re.MULTILINE)
    found, end = [], 0
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE):
        found.append(Block(match[1], match[2], page.count("\n", 0, match.start()) + 1, page[end : match.start()]))
        end = match.end()
    return found


def run_python(page: str) -> list[Seen]:
    """What the Python blocks of a page print, each beside the text block that follows it."""
    names: dict[str, Any] = {}
    listed, seen = blocks(page), []
    for block, after in zip(listed, [*listed[1:], None], strict=True):
        if block.kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile("\n" * block.line + block.text, "page", "exec"), names)
            follows = after is not None and after.kind == "text" and not after.before.strip()
            seen.append(Seen(block.line, printed.getvalue(), after.text if after and follows else None))
    return seen


@pytest.fixture(params=PAGES)
def page(request, tmp_path):
    needed = NEEDS.get(request.param)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{request.param} needs {needed}")
    with contextlib.chdir(tmp_path):
        yield (DOCS / f"{request.param}.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_shows_what_its_blocks_print(page):
    for seen in run_python(page):
        shown = "" if seen.shown is None else seen.shown
        assert seen.printed == shown, f"line {seen.line} prints\n{seen.printed}\nbut the page shows\n{shown}"


def test_the_page_shows_what_its_commands_print(page):
    terminal = Terminal()
    for block in blocks(page):
        if block.kind == "csv":
            [name] = re.findall(r"Save this as `([\w.-]+)`", block.before)
            Path(name).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            for command, shown in commands(block):
                check_printed(terminal.run(command), shown, f"line {block.line}: {command}")


def test_every_text_block_follows_a_block_that_prints_it(page):
    listed = blocks(page)
    assert {block.kind for block in listed} <= {"python", "text", "csv", "console", "sh"}
    for before, block in zip([None, *listed], listed, strict=False):
        if block.kind == "text":
            assert (before.kind if before else "", block.before.strip()) == ("python", ""), f"line {block.line}"


def test_every_test_named_on_a_page_exists(page):
    defined = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].glob("**/test_*.py"))
    assert [name for name in re.findall(r"`(test_\w+)`", page) if f"def {name}(" not in defined] == []


def test_pictures_show_the_numbers_that_their_captions_say():
    pytest.importorskip("matplotlib")
    make = picture_script()
    spread, heaps = make.two_clouds()
    atoms, more = make.copies()
    captions = re.findall(r"!\[(.*?)\]", (DOCS / "explanation/idea.md").read_text(encoding="utf-8"))
    found = {
        "same-ess": [make.gess(spread, 0.5), make.gess(heaps, 0.5)],
        "three-scales": [make.gess(make.groups(), alpha) for alpha in (0.4, 3.0, 12.0)],
        "plateaus": [round(make.gess(make.groups(), alpha)) for alpha in (0.01, 0.4, 4, 100)],
        "near-copies": [len(atoms) + len(more), make.gess(np.vstack([atoms, more]), 0.6)],
    }
    for caption, numbers in zip(captions, found.values(), strict=True):
        shown = re.findall(r"\d+(?:\.\d)?", caption)
        for number in numbers:
            assert any(word in shown for word in (f"{number:.1f}", f"{number:g}")), (number, caption)


def picture_script() -> Any:
    spec = importlib.util.spec_from_file_location("make_pictures", DOCS / "figures" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("weighted", [False, True])
def test_the_squared_error_of_a_smoothed_density_is_places_minus_one_over_ess(weighted):
    """Of a von Mises-Fisher law, whose levels are ratios of Bessel functions; the guide to a good gESS rests on it."""
    kappa, n, runs, rng = 5.0, 60, 800, np.random.default_rng(1)
    level = np.arange(80)
    ratio = ive(level + 0.5, kappa) / ive(0.5, kappa)
    damping = (2 * level + 1) * np.exp(-2 * level * (level + 1) * np.radians(20) ** 2 / 8)
    room, power = damping.sum(), (damping * ratio**2).sum()
    weights = rng.gamma(1.0, size=n) if weighted else np.ones(n)
    weights /= weights.sum()
    found = np.empty(runs)
    for run in range(runs):
        x = he.samplers.von_mises_fisher(n, [0, 0, 1], kappa, rng=rng)
        smoothed = legval(x[:, 2], damping * ratio)
        found[run] = (room / he.gess(x, weights, angle=20) - 2 * weights @ smoothed + power) / power
    expected = (room / power - 1) * (weights @ weights)
    assert abs(found.mean() - expected) < 3 * found.std() / np.sqrt(runs)
    assert found.std() / np.sqrt(runs) < 0.03 * expected


def test_a_wrong_number_on_a_page_would_be_seen():
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    [seen] = run_python(page)
    assert (seen.printed, seen.shown) == ("2\n", "3\n")
