"""The rules of the engine room: who may refuse, who may ask what a capability is, and who may sum."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import heatess as he
import space_cases
from heatess.engines import boxes, close_pairs, levels, neighbours, pair_columns, pairs, plan, spectral
from heatess.engines.base import (
    DifferenceQuestion,
    FormsQuestion,
    LevelsQuestion,
    PotentialQuestion,
    Question,
    SlopesQuestion,
)
from heatess.inference.mmd import apart
from heatess.spaces.discrete.nodes import NodeSpace
from heatess.transforms.base import Transform
from source import MODULES, ROOT, nodes

#: Packages that hold capabilities and what works with them.
ROOM = {"engines", "spaces", "transforms", "compiled", "heat"}

#: What sums over atoms: tiles, coefficients and their synthesis, eigenpairs, Lanczos runs.
SUMS = {"coefficients", "synthesis", "level_energies", "of_columns", "terms", "cosines", "paired"}
SUMS |= {"resolved", "lowest", "functionals", "radial_terms"}


def calls(*left_out: str) -> Iterator[tuple[str, ast.Call]]:
    """All calls outside of some packages, each with its module."""
    for path in MODULES:
        name = path.relative_to(ROOT)
        if name.parts[0] not in left_out:
            for node in nodes(path):
                if isinstance(node, ast.Call):
                    yield str(name), node


def named(node: ast.expr) -> set[str]:
    """All names in an expression."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def test_one_module_says_that_something_takes_too_long() -> None:
    """And knows for how long anybody waits."""
    assert {name for name, call in calls() if named(call.func) == {"CostError"}} == {"engines/plan.py"}
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in ROOT.rglob("*.py")}
    assert {name for name, text in texts.items() if re.search(r"^_?PATIENCE\b.*=", text, re.M)} == {
        "base/progress.py",  # of the clock on the screen
        "engines/plan.py",
    }


def test_nobody_asks_which_kind_of_capability_it_is() -> None:
    """A capability says so itself: `zonal`, `by_levels`, `of_sphere`."""
    defined = [*(ROOT / "transforms").rglob("*.py"), *(ROOT / "heat").rglob("*.py")]
    defined += [
        ROOT / "spaces" / "capabilities.py",
        ROOT / "spaces" / "flow.py",
        ROOT / "spaces" / "complex_projective.py",
    ]
    kinds = {node.name for path in defined for node in nodes(path) if isinstance(node, ast.ClassDef)}
    assert {"ZonalPairs", "SphereSeries", "TorusTransform", "LevelTransform", "Modes", "Flow"} <= kinds
    for name, call in calls("heat", "transforms", "spaces"):
        if named(call.func) == {"isinstance"}:
            assert not named(call.args[1]) & kinds, f"{name}, line {call.lineno}"


def test_only_the_engine_room_sums_over_atoms() -> None:
    """And accumulators, whose state is coefficients."""
    for name, call in calls(*ROOM, "parts"):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        assert called not in SUMS, f"{name}, line {call.lineno} calls {called}"


def test_a_capability_that_is_not_there_is_seen_in_the_types() -> None:
    """No `TypeError` to please the type checker: what users gave of the wrong kind is an `InputTypeError`."""
    raised = [(name, call.lineno) for name, call in calls() if named(call.func) == {"TypeError"}]
    assert not raised


def questions(case: space_cases.Case) -> Iterator[tuple[str, Question]]:
    """One of each kind, with the name of the method that makes an offer for it."""
    rng, times = np.random.default_rng(3), case.times(4)
    one, other = (he.Measure(case.points(40, rng), space=case.space()) for _ in range(2))
    yield "offer", Question(one, times, 1e-8)
    yield "forms", FormsQuestion(one, times, 1e-3, columns=20)
    yield "potentials", PotentialQuestion(one, times, 1e-8, centred=True)
    yield "potentials", PotentialQuestion(one, times, 1e-8, at=other.points)
    parts = apart(one, other)
    if parts is not None and one.space.compact:
        apart_by = {"other": parts.right, "places": parts.places, "rounding": parts.rounding}
        yield "differences", DifferenceQuestion(parts.left, times, 1e-8, **apart_by)
    yield "levels", LevelsQuestion.of(one, 7, 1e-9)
    if one.space.of_sphere is not None:
        yield "slopes", SlopesQuestion(one, times[:1], 1e-8, mean=0.1)


def forbidden(*given: Any, **named: Any) -> Any:
    raise AssertionError("an offer runs a sum")


@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
def test_an_offer_runs_no_sum(case: space_cases.Case, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list(questions(case))
    for engine in plan.ENGINES:  # load what is loaded late now: what is imported below would stay forbidden
        for method, question in asked:
            getattr(engine, method)(question)
    for kind in (Transform, *_below(Transform)):
        monkeypatch.setattr(kind, "coefficients", forbidden)
    for module, name in (
        (pair_columns, "over_tiles"),
        (pairs, "over_tiles"),
        (neighbours, "sum_cells"),
        (neighbours, "found_by_tree"),
    ):
        monkeypatch.setattr(module, name, forbidden)
    monkeypatch.setattr(close_pairs, "found_by_tree", forbidden)
    for engine in (spectral, levels, boxes):
        monkeypatch.setattr(engine, "column_forms", forbidden)
    monkeypatch.setattr(NodeSpace, "resolved", forbidden)
    for engine in plan.ENGINES:
        for method, question in asked:
            offer = getattr(engine, method)(question)
            if offer is not None:
                count = len(question.times)
                assert offer.seconds(0, count) >= 0
                assert offer.cost(0, count) >= 0


def _below(kind: type) -> list[type]:
    return [part for own in kind.__subclasses__() for part in (own, *_below(own))]
