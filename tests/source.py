"""The source of heatess as syntax trees, each file parsed once for all tests that read it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import heatess

ROOT = Path(heatess.__file__).parent
MODULES = tuple(sorted(ROOT.rglob("*.py")))


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


@cache
def nodes(module: Path) -> tuple[ast.AST, ...]:
    """Everything in a module, in the order of `ast.walk`."""
    return tuple(ast.walk(tree(module)))
