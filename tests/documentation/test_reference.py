"""The reference is complete: public names with examples, options, schemas, and messages as they are in the source."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heatess as he
import source
from heatess.cli import main
from heatess.readers import FORMATS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not in this distribution")

if DOCS.is_dir():
    sys.path.insert(0, str(DOCS / "_ext"))
    import generated

    sys.path.pop(0)
    MODULES = generated.public_modules()
else:
    MODULES = {}

#: Methods that other parts of heatess call, and users have no need of.
INTERNAL = {
    "Accumulator.known_space",
    "Accumulator.profile_at",
    "Measure.taken",
    "Measure.trusted",
}


def public_items() -> dict[str, Any]:
    """Functions, classes and methods of results, by their names."""
    found = {name: getattr(he, name) for name in he.__all__ if not inspect.ismodule(getattr(he, name))}
    for name, module in MODULES.items():
        found |= {f"{name}.{item}": getattr(module, item) for item in generated.public_names(module)}
    held = [item for item in found.values() if inspect.isclass(item) and not issubclass(item, he.Space | Exception)]
    for item in held:
        for name, method in inspect.getmembers(
            item, lambda member: inspect.isfunction(member) or inspect.ismethod(member)
        ):
            if not name.startswith("_") and f"{item.__name__}.{name}" not in INTERNAL:
                found[f"{item.__name__}.{name}"] = method
    return found


ITEMS = public_items()


@pytest.mark.parametrize("name", ITEMS)
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(ITEMS[name]) or ""), f"{name} has no example in its docstring"


def test_methods_of_results_are_among_the_public_names() -> None:
    assert {
        "HeatProfile.plateaus",
        "Thinned.plot",
        "Accumulator.save",
        "plot.sky",
        "distributed.profile_parquet",
    } <= set(ITEMS)


def listed() -> dict[str, list[str]]:
    """The names in the tables of the reference, by module."""
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for module, names in re.findall(
        r"currentmodule:: ([\w.]+)\n.*?:nosignatures:\n\n(.*?)\n```", page, flags=re.DOTALL
    ):
        found.setdefault(module, []).extend(names.split())
    return found


def test_the_reference_lists_every_public_name_once() -> None:
    names = listed()
    every = [name for name in he.__all__ if not inspect.ismodule(getattr(he, name))]
    assert sorted(names.pop("heatess")) == sorted(every)
    assert {name: sorted(items) for name, items in names.items()} == {
        f"heatess.{name}": sorted(generated.public_names(module)) for name, module in MODULES.items()
    }


def test_every_command_and_option_is_on_the_page_of_the_command_line() -> None:
    page = generated.command_line()
    for name, command in main.commands.items():
        section = page.split(f"## heatess {name}\n")[1].split("\n## ")[0]
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert re.search(rf"`[^`]*(?<![\w-]){option}\b[^`]*`", section), f"{name} {option}"
    assert "| `--seed N` | Seed of all random numbers. | 0" in page


def test_every_suffix_and_every_schema_is_on_its_page() -> None:
    assert set(re.findall(r"`(\.[\w]+)`", generated.suffixes())) >= set(FORMATS)
    schemas = generated.schemas()
    for item in generated.result_classes():
        assert f'"{item.schema}"' in schemas
    profile = he.heat_profile(he.samplers.fibonacci(20), angles=np.geomspace(5, 50, 20))
    for name, found in (("HeatProfile", profile), ("Plateaus", profile.plateaus())):
        section = schemas.split(f"## {name}")[1].split("\n## ")[0]
        keys = set(re.findall(r"^\| `(\w+)`", section, flags=re.MULTILINE))
        assert keys == set(found.to_dict()) - {"schema"}


def source_texts() -> list[str]:
    """Every text in the source, the values in it as `\\0`, without what marks its parts."""
    texts = []
    for module in source.MODULES:
        for node in source.nodes(module):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                texts.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return [re.sub(r"`|<[+!]|[+!]>", "", text) for text in texts]


def is_quoted(message: str, texts: list[str]) -> bool:
    """Whether a message on the page, in which `...` stands for anything, is in one text of the source."""
    parts = [part for part in message.split("...") if part.strip()]

    def holds(text: str) -> bool:
        place = 0
        for part in parts:
            place = text.find(part, place) + len(part)
            if place < len(part):
                return False
        return True

    return any(holds(text) for text in texts)


def test_messages_on_the_page_of_errors_are_those_of_the_source() -> None:
    page, texts = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8"), source_texts()
    tables = re.findall(r"^\| message \| what to do \|\n\|---\|---\|\n((?:\|.*\n)+)", page, flags=re.MULTILINE)
    quoted = [match for table in tables for match in re.findall(r"^\| `([^`]+)` \|", table, flags=re.MULTILINE)]
    assert len(quoted) > 40
    assert [message for message in quoted if not is_quoted(message, texts)] == []
    assert not is_quoted("points must be imaginary numbers", texts)


def test_formulas_and_bars_of_docstrings_become_markup() -> None:
    given = ["Length |x|.", "", "    R = |x|", "", "and `|y|` in part-*.csv, *n* of B_."]
    assert generated.as_markup(given) == [
        r"Length \|x\|.",
        "",
        ".. math::",
        "",
        "    R = |x|",
        "",
        r"and `|y|` in part-\*.csv, *n* of B\_.",
    ]
