"""Without an extra, the tests that need it are skipped and say so; a library that needs it where it should not, fails.

Two errors lead to a skip: heatess says that a package is missing, and it is; or a test, not heatess, imports a package
that is not installed.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Generator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

import heatess.cli
from heatess.base.errors import MissingExtraError
from plain_words import python_in

TESTS = Path(__file__).parent

#: The search for numbers outside their error, which computes in ball arithmetic.
NUMBERS = ("reference", "search", "strategies", "test_search")

collect_ignore = [] if find_spec("flint") else [f"certainty/{name}.py" for name in NUMBERS]


@pytest.fixture(autouse=True)
def options_and_no_python_on_the_command_line(monkeypatch) -> Generator[None, None, None]:
    """Whatever a command complains about in any test, it does so in words of the command line."""
    typed, wrong = heatess.cli.typed, []

    def checked(message: str | BaseException, *rest: object) -> str:
        text = typed(message, *rest)
        wrong.extend([text] if python_in(text) else [])
        return text

    monkeypatch.setattr(heatess.cli, "typed", checked)
    yield
    assert not wrong


def absent(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return True
    return False


def reason(error: ImportError) -> str | None:
    """Why a test cannot run here, or None if the error is a fault."""
    if isinstance(error, MissingExtraError):
        named = [*error.needs] or re.findall(r"pip install ([\w-]+)$", str(error))
        return str(error) if any(map(absent, named)) else None
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    own = isinstance(error, ModuleNotFoundError) and Path(last).is_relative_to(TESTS)
    return str(error) if own and error.name and find_spec(error.name.partition(".")[0]) is None else None


def skipping() -> Generator[None, object, object]:
    try:
        return (yield)
    except ImportError as error:
        why = reason(error)
        if why is None:
            raise
        pytest.skip(why)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from skipping())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from skipping())
