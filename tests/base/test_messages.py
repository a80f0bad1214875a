"""Messages are data: code in backticks, rendered where they are shown; nothing else looks into their text."""

from __future__ import annotations

import ast
import pickle
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import heatess as he
import source
from heatess.base.errors import InputError, message_of, warn
from heatess.base.messages import Code, Message, marked
from heatess.cli.messages import typed

SOURCE = Path(he.__file__).parent
TEXTS = {SOURCE / "base" / name for name in ("errors.py", "messages.py")}
OURS = {"InputError", "InputTypeError", "KindError", "ScaleError", "PrecisionError", "CostError", "MissingExtraError"}

#: Errors of a wrong value.
REFUSALS = {"InputError", "InputTypeError", "ScaleError"}

#: An argument and what may follow it.
ARGUMENT = re.compile(r"(?<![\w./`])[a-z]\w*=(?=['\"(\[\0]|True\b|False\b|[ ,;.)]|$)")


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in source.MODULES:
        if path not in TEXTS:
            yield path, source.tree(path)


def reads_text(node: ast.AST, name: str) -> bool:
    """Whether code makes text of an error of that name, takes it from its arguments, or searches its message."""

    def is_error(part: ast.AST) -> bool:
        return isinstance(part, ast.Name) and part.id == name

    def is_message(part: ast.AST) -> bool:
        return isinstance(part, ast.Attribute) and is_error(part.value) and part.attr == "message"

    match node:
        case ast.Call(func=ast.Name(id="str" | "repr" | "format"), args=[first, *_]):
            return is_error(first) or is_message(first)
        case ast.FormattedValue(value=value):
            return is_error(value) or is_message(value)
        case ast.Attribute(value=value, attr=attr):
            return (is_error(value) and attr == "args") or (
                is_message(value) and attr not in ("codes", "marked", "said")
            )
        case ast.Compare(comparators=comparators):
            return any(is_error(part) or is_message(part) for part in comparators)
    return False


def test_no_module_but_errors_looks_into_the_text_of_our_errors():
    found, looked = [], 0
    for path, tree in modules():
        for handler in ast.walk(tree):
            if not isinstance(handler, ast.ExceptHandler) or handler.type is None or not handler.name:
                continue
            caught = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(handler.type)}
            if caught & OURS:
                looked += 1
                found += [
                    f"{path.relative_to(SOURCE)}:{node.lineno}"
                    for statement in handler.body
                    for node in ast.walk(statement)
                    if reads_text(node, handler.name)
                ]
    assert looked > 20
    assert not found


def test_looking_into_a_text_is_seen():
    for line in ("str(error)", "f'{error}'", "error.args[0]", "'a' in error.message", "error.message.find('a')"):
        assert any(reads_text(node, "error") for node in ast.walk(ast.parse(line))), line
    for line in ("error.row", "error.message.codes", "typed(error)", "error.within('a')"):
        assert not any(reads_text(node, "error") for node in ast.walk(ast.parse(line))), line


def texts(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The texts of a module that are no docstrings; values in them are names, or text where their repr is asked for."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (
                str(part.value) if isinstance(part, ast.Constant) else "'a'" if part.conversion == ord("r") else "\0"
                for part in node.values
                if isinstance(part, ast.Constant | ast.FormattedValue)
            )
            yield node, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if not isinstance(tree, ast.Expr):
                yield node, node.value
        else:
            yield from texts(node)


def test_whatever_stands_in_backticks_is_code():
    looked, left = 0, []
    for path, tree in modules():
        if path.name in ("messages.py", "generated.py"):
            continue
        for node, text in texts(tree):
            if text.count("`") > 1:
                looked += 1
                if all("`" in Message(text.replace("\0", value)) for value in ("a", "a.b")):
                    left.append(f"{path.relative_to(SOURCE)}:{node.lineno} {text}")
    assert looked > 200
    assert not left


def test_arguments_that_messages_name_are_marked_as_code():
    left = []
    for path, tree in modules():
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in OURS | {"warn"} and call.args:
                for node, text in texts(ast.Module([ast.Assign([], call.args[0])], [])):
                    words = re.sub(r"`[^`]*`", "", text)
                    found = ARGUMENT.search(words)
                    if found and not re.search(r"space='a' was given|points=\0|weights= themselves", text):
                        left.append(f"{path.relative_to(SOURCE)}:{node.lineno} {text}")
    assert not left


#: Marks of what was expected and of what was found.
MARKS = re.compile(r"<\+|<!")

#: Sentences that set one against the other.
CONTRAST = re.compile(r"\bmust (?:be|have|lie)\b|, not an? |, but (?:is|are|has|have|found|must)\b|not both")

#: Refusals in which no value is wrong, by words of theirs; they need no marks.
NO_WRONG_VALUE = {
    "a file is missing, damaged, empty, too large or in the way": (
        r"exist|cannot (?:be read|write|be split)|damaged|cut short|was changed|is empty|no layer|its suffix|entit|"
        "same place|same file|the input file|an accumulator file|memory|GB|no real table|outside|read from a file|"
        "beside it|directory|; write it"
    ),
    "data may be several things, or are several": (
        "could be|may be|choose|first or last|; say |select one|by name|repeat|overlap|there again"
    ),
    "an argument has no place here": "leave|of its own|takes no|not for data in parts|one of its variables",
    "an answer does not exist": (
        r"has no|has none|known|not defined|there is no|not homogeneous|cannot be (?:made|profiled)|use `|of no use|"
        "only the levels|not those of|make permutations|one footprint|nothing to test|too slowly|too wide|be accurate"
    ),
    "an object holds no numbers yet": "a tracer|a tensor that|shown again and again",
    "a row cannot be used as it is": "are no rotation matrix|the point is|of the posterior",
}


def words_of(node: ast.AST) -> str:
    """All text in some code."""
    return "".join(
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def marked_names(path: Path) -> set[str]:
    """The names in a module of variables and functions that stand for text with marks."""
    nodes = source.nodes(path)
    lines = [part.lineno for part in nodes if isinstance(part, ast.Constant) and MARKS.search(str(part.value))]

    def holds(node: ast.stmt, lines: list[int]) -> bool:
        return any(node.lineno <= line <= (node.end_lineno or 0) for line in lines)

    given = [node for node in nodes if isinstance(node, ast.Assign) and holds(node, lines)]
    returned = [node.lineno for node in nodes if isinstance(node, ast.Return) and holds(node, lines)]
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef) and holds(node, returned)}
    targets = [part for node in given for target in node.targets for part in ast.walk(target)]
    return functions | {part.id for part in targets if isinstance(part, ast.Name)}


def refusals() -> Iterator[tuple[str, bool, str]]:
    """Where values are refused, whether what was expected or found is said as data there, and the words."""
    for path in source.MODULES:
        if path in TEXTS:
            continue
        known = marked_names(path)
        for node in source.nodes(path):
            if not isinstance(node, ast.Call):
                continue
            place = f"{path.relative_to(SOURCE)}:{node.lineno}"
            if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") in REFUSALS:
                yield place, True, ""  # unfit, misshapen, lacking
            elif isinstance(node.func, ast.Name) and node.func.id in REFUSALS:
                said = words_of(node)
                used = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node)}
                data = {keyword.arg for keyword in node.keywords} & {"expected", "found"}
                yield place, bool(MARKS.search(said) or data or used & known), said


def test_whoever_refuses_a_value_says_as_data_what_was_expected_or_found():
    found = list(refusals())
    bare = [(place, said) for place, told, said in found if not told]
    assert len(found) > 600
    assert len(bare) < len(found) / 4
    assert [place for place, said in bare if CONTRAST.search(said)] == []
    kinds = re.compile("|".join(NO_WRONG_VALUE.values()))
    assert [f"{place} {said}" for place, said in bare if re.search(r"\w \w", said) and not kinds.search(said)] == []
    for kind, words in NO_WRONG_VALUE.items():
        assert any(re.search(words, said) for _, said in bare), kind


def test_messages_have_no_pattern_but_that_of_code():
    patterns = [
        part.args[0].value
        for path in TEXTS
        for part in source.nodes(path)
        if isinstance(part, ast.Call)
        and ast.unparse(part.func).startswith("re.")
        and isinstance(part.args[0], ast.Constant)
    ]
    assert patterns == [r"[a-z]\w*=.+|[\w.]+\(.*\)"]


def test_marks_are_data_and_are_not_shown():
    message = Message("a must be <+`units='deg'` or 3+>, but is <!-3!>; b is <!4!>")
    assert message == "a must be units='deg' or 3, but is -3; b is 4"
    assert (message.expected, message.found) == ("units='deg' or 3", "-3")
    assert message.expected.codes[0].arguments == {"units": "deg"}
    assert Message(message.marked).expected is None
    error = InputError("a is <!3!>, not <+4+>").within("b.csv")
    assert (str(error), error.expected, error.found) == ("b.csv: a is 3, not 4", "4", "3")


@pytest.mark.parametrize("name", ["a <! b", "<+", "a!>b", "<!DOCTYPE", "x +> y <+ z"])
def test_marks_without_their_other_in_names_of_users_stay(name):
    message = Message(f"column {name} is missing")
    assert message == f"column {name} is missing"
    assert (message.expected, message.found) == (None, None)


def test_a_message_is_what_python_shows_and_knows_its_code():
    message = Message("`rtol=1e-3` is too much; give `units='deg', columns=('a', 'b')`, or `he.Torus(2, units='rad')`")
    assert message == "rtol=1e-3 is too much; give units='deg', columns=('a', 'b'), or he.Torus(2, units='rad')"
    assert [code.arguments for code in message.codes] == [
        {"rtol": 1e-3},
        {"units": "deg", "columns": ("a", "b")},
        {"units": "rad"},
    ]
    assert Message(message.marked).parts == message.parts
    assert marked("plain") == "plain"


@pytest.mark.parametrize("name", ["`ra`", "a`b", "``", "`my column`", "a`b`c.csv", "`", "`1`"])
def test_backticks_in_names_of_users_stay(name):
    message = Message(f"{name}: column {name} is 3; add `units='deg'`")
    assert message == f"{name}: column {name} is 3; add units='deg'"
    assert typed(message) == f"{name}: column {name} is 3; add --units deg"


@pytest.mark.parametrize("name", ["a`b", "it's", 'a "b"', "`", "b c"])
def test_any_name_of_a_column_may_stand_in_code(name):
    [code] = Message(f"say `columns={name!r}` here").codes
    assert code == Code(f"columns={name!r}", {"columns": name})


def test_what_cannot_be_parsed_is_shown_without_backticks():
    assert Message("leave out `labels=<object at 0x7f>`, please") == "leave out labels=<object at 0x7f>, please"


def test_errors_and_warnings_keep_their_data_when_they_are_sent_to_another_process():
    error = InputError("a is 3; add `units='deg'`", row=3, column="a", expected="radians", found="3").within("b.csv")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "b.csv: a is 3; add units='deg'"
    assert (again.row, again.column, again.expected, again.found) == (3, "a", "radians", "3")
    assert again.remedies == ({"units": "deg"},)
    assert typed(again) == "b.csv: a is 3; add --units deg"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("give `draws=99`", he.CalibrationWarning)
    assert str(caught[0].message) == "give draws=99"
    assert message_of(caught[0].message).codes[0].arguments == {"draws": 99}


def test_an_unfit_value_is_told_in_words_and_as_data():
    with pytest.raises(he.InputError, match=r"level must be a number from 0\.5 to 0\.999, but is 2") as caught:
        he.population_profile(he.samplers.uniform(30, rng=0), level=2)
    assert caught.value.expected == "a number from 0.5 to 0.999"
    assert caught.value.found == "2"


CLOUD = he.samplers.uniform(6, rng=0)

#: What is refused, with what was expected there, what was found, its row and its column.
REFUSED = {
    "weights below zero": (lambda: he.gess(CLOUD, -np.ones(6), angle=5), "finite and not negative", "-1", 0, None),
    "weights without a sum": (
        lambda: he.gess(CLOUD, np.zeros(6), angle=5),
        "at least one must be positive",
        "weights sum to zero",
        None,
        None,
    ),
    "too few weights": (lambda: he.gess(CLOUD, [1, 2], angle=5), "6 points", "2 weights", None, None),
    "not on the sphere": (
        lambda: he.gess(2 * CLOUD, angle=5),
        "unit vectors (norm within 1e-06 of 1)",
        "norm 2",
        0,
        None,
    ),
    "not finite": (lambda: he.gess(CLOUD * np.nan, angle=5), "finite", "[nan, nan, nan]", 0, None),
    "too many columns": (
        lambda: he.gess(CLOUD, space=he.Torus(2), angle=5),
        "shape (n, 2)",
        "shape (6, 3)",
        None,
        None,
    ),
    "a negative scale": (lambda: he.gess(CLOUD, angle=-5), "positive and finite", "-5", None, None),
    "two scales": (
        lambda: he.gess(CLOUD, angle=5, time=3),
        "exactly one scale, a number: angle=, time= or resolution=",
        "2 arguments",
        None,
        None,
    ),
    "no dimension": (lambda: he.Sphere(0), "a whole number dim >= 1", "0", None, None),
    "an unknown unit": (lambda: he.Torus(2, units="x"), "'deg' or 'rad'", "'x'", None, None),
    "a word": (lambda: he.read("word.csv"), "a number", "'abc'", None, "z"),
    "a column that is missing": (
        lambda: he.read("far.csv", weights="w"),
        "column 'w'",
        "2 columns: lon, lat",
        None,
        None,
    ),
    "a latitude too far": (lambda: he.read("far.csv"), "between -90 and 90 degrees", "95", 1, "lat"),
    "a column without end": (lambda: he.read("endless.csv"), "a finite number", "inf", 1, "y"),
    "a negative column": (lambda: he.read("negative.csv", weights="w"), "finite and not negative", "-3", 0, "w"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_refusal_says_as_data_what_was_expected_and_found(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("word.csv").write_text("x,y,z\n1,0,0\n0,1,abc\n")
    Path("far.csv").write_text("lon,lat\n1,0\n0,95\n170,30\n")
    Path("endless.csv").write_text("x,y,z\n1,0,0\n0,inf,0\n")
    Path("negative.csv").write_text("x,y,z,w\n1,0,0,-3\n0,1,0,1\n0,0,1,2\n")
    call, *expected = REFUSED[what]
    with pytest.raises(he.InputError) as caught:
        call()
    error = caught.value
    assert [error.expected, error.found, error.row, error.column] == expected


def test_remedies_can_be_given_to_the_same_function(tmp_path):
    angles = np.random.default_rng(0).uniform(0, 3, (50, 2))
    table = tmp_path / "table.csv"
    table.write_text("phi,psi\n" + "\n".join(f"{a},{b}" for a, b in angles))
    with pytest.raises(he.InputError) as caught:
        he.read(table)
    assert caught.value.remedies == ({"units": "deg"}, {"units": "rad"})
    for remedy, truth in zip(caught.value.remedies, (np.radians(angles), angles), strict=True):
        found = he.read(table, **remedy)
        expected = he.gess(truth, space=he.Torus(2, units="rad"), angle=20)
        assert he.gess(found, angle=20) == pytest.approx(expected, rel=1e-12)


def test_a_remedy_of_accuracy_is_enough():
    part = he.Accumulator(max_degree=20).add(he.samplers.fibonacci(100))
    with pytest.raises(he.PrecisionError) as caught:
        part.profile(angles=[5])
    [remedy] = caught.value.remedies
    he.Accumulator(**remedy).add(he.samplers.fibonacci(100)).profile(angles=[5])
