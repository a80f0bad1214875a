"""Messages of the library in the words of the command line.

The library writes advice with its arguments, such as ``add units='deg'``. Here every argument that some command has an
option for is written as that option, as it is typed in a shell: ``add --units deg``. There is no list of arguments to
keep: a new option is known by its name. What has no option is left, and the sentence says that it is for Python.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import click

#: Columns by their roles, in the order of these, that have options of their own.
ROLES = {
    ("lon", "lat"): "--lon {} --lat {}",
    ("lon", "lat", "depth"): "--lon {} --lat {} --depth {}",
    ("ra", "dec"): "--ra {} --dec {}",
    ("glon", "glat"): "--lon {} --lat {} --frame galactic",
    ("elon", "elat"): "--lon {} --lat {} --frame ecliptic",
    ("dec", "inc"): "--dec {} --inc {}",
    ("colat", "azimuth"): "--colat {} --lon {}",
    ("qx", "qy", "qz", "qw"): "--quat {},{},{},{}",
    ("xyzw",): "--quat xyzw:{}",
    ("wxyz",): "--quat wxyz:{}",
}

#: Functions that are commands.
COMMANDS = {
    "heat_profile": "heatess profile",
    "population_profile": "heatess profile --band",
    "uniformity_test": "heatess test",
    "an Accumulator": "heatess accumulate",
}

#: Arguments that messages also mention by their bare name, and words that read like one.
_BARE = re.compile(r"(?<![\w./=-])(?:rtol|max_degree)\b(?![\w./=-])|\blog_weights(?= (?:are|must) )")

#: An argument and what may follow it; not a part of a path.
_ARGUMENT = re.compile(r"(?<![^\s(])([a-z]\w*)=(?=[{(\['\"]|(?:True|False|None)\b|-?\d|[\s,;.)?]|$)")
_PLAIN = re.compile(r"True\b|False\b|None\b|-?\d[\d_e.,+-]*\b|")
_CLOSING = {"{": "}", "(": ")", "[": "]", "'": "'", '"': '"'}

#: Something that is called, and a space written out after the option that says its unit.
_CALL = re.compile(r"[\w\]]\(")
_SPACES = re.compile(r": he\.(?:Torus|Circle)\([^)]*units[^)]*\)")

#: What is left as it is: a line for the shell that runs Python, whose last word may be made of several pieces in
#: quotes, and the words of another package.
_COMMAND = re.compile(
    r"""(python3? -c (?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+| cannot be read as .*?\); it may be damaged)""", re.S
)

#: Python that is left: a function of a package, a method, an index.
_PYTHON = re.compile(r"(?<![\w./-])(?:(?:numpy|np|he)\.\w|\w+(?:\.\w+)*\.[a-z]\w*\(|array\.T\b|\w+\[(?:None|:))")
_NAME = re.compile(r"\.?\w+")

#: A name of heatess, and not a part of another or of a path.
_WHOLE = r"(?<![\w./-])(?:he\.|heatess\.)?{}\b(?!\.\w|[\w(/-])"


def in_options(message: str, command: click.Command | None = None) -> str:
    """A message of the library as *command* should print it, by default the one that runs.

    >>> in_options("which could be degrees or radians; add units='deg' or units='rad'")
    'which could be degrees or radians; add --units deg or --units rad'
    >>> in_options("a.npy is damaged; write it again with numpy.save(path, array)")
    'a.npy is damaged; write it again with numpy.save(path, array) in Python'
    >>> print(in_options("for space='torus', type: pip install x && python -c 'import x; x.save(columns=[1])'"))
    for --space torus, type: pip install x && python -c 'import x; x.save(columns=[1])'
    """
    here = _options_here(command)
    parts = _COMMAND.split(_SPACES.sub("", message))  # what is typed as it is stands at odd places
    return "".join(part if place % 2 else _with_options(part, here) for place, part in enumerate(parts))


def _with_options(message: str, here: frozenset[str]) -> str:
    parts: list[str] = []
    start, left = 0, False
    for name, value, place, end in _arguments(message):
        option = _typed(name, value, here)
        if option is not None:
            parts += [message[start:place], option]
            start = end
        left |= option is None
    text = "".join([*parts, message[start:]]).replace(", --", " --")
    text = _BARE.sub(lambda found: _bare(found[0]), text)
    if not left:  # else a function is called as no command can be
        for python, typed in COMMANDS.items():
            text = re.sub(_WHOLE.format(python), typed, text)
    return text if "in Python" in text else _said_of_python(text)


def _arguments(message: str) -> Iterator[tuple[str, Any, int, int]]:
    """Each argument with its value, "" if there is none, and where both start and end; not those of calls."""
    done = 0
    calls = [(found.end(), _end_of_call(message, found.end())) for found in _CALL.finditer(message)]
    for match in _ARGUMENT.finditer(message):
        inside = any(start <= match.start() < end for start, end in calls)
        value, end = _value(message, match.end())
        if match.start() < done or inside or value is None:  # within the value before, or a call
            continue
        if end == len(message) or message[end] in " ,;:.)?\n":
            yield match[1], value, match.start(), end
            done = end


def _end_of_call(message: str, start: int) -> int:
    """The end of the brackets that open before *start*."""
    depth = 1
    for place in range(start, len(message)):
        depth += (message[place] in "([") - (message[place] in ")]")
        if not depth:
            return place
    return start


def _value(message: str, start: int) -> tuple[Any, int]:
    """The Python value that is written in a message from some place on, and its end; None if there is none."""
    closing = _CLOSING.get(message[start : start + 1])
    if closing is None:
        plain = _PLAIN.match(message, start)
        text = "" if plain is None else plain[0].rstrip(",.")
        return text, start + len(text)
    end = message.find(closing, start + 1) + 1
    while end:
        try:
            return ast.literal_eval(message[start:end]), end
        except (ValueError, SyntaxError):  # a bracket or a quote in the name of a column
            end = message.find(closing, end) + 1
    return None, start


@cache
def _options() -> dict[str, frozenset[str]]:
    """The names of the long options of each command."""
    from . import main

    return {
        name: frozenset(
            option.removeprefix("--")
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("--")
        )
        for name, command in main.commands.items()
    }


def _options_here(command: click.Command | None) -> frozenset[str]:
    """The options of a command, of the one that runs if it is None; of all if none runs."""
    if command is None:
        context = click.get_current_context(silent=True)
        command = None if context is None else context.command
    every = frozenset().union(*_options().values())
    return _options().get(command.name or "", every) if command is not None else every


def _typed(name: str, value: Any, here: frozenset[str]) -> str | None:
    """An argument as it is typed; None if there is no such option in any command.

    A command that takes one scale has --angle where others have --angles.
    """
    option = name.replace("_", "-")
    every = frozenset().union(*_options().values())
    near = [known for known in (option, option.removesuffix("s"), f"{option}s") if known in here]
    option = near[0] if near else option
    if option not in every or value in (False, "False"):
        return f"--no-{option}" if f"no-{option}" in every else None
    if isinstance(value, dict) and tuple(value) in ROLES:
        return ROLES[tuple(value)].format(*map(_quoted, value.values()))
    if isinstance(value, dict):
        return " ".join(f"--{option} {_quoted(f'{key}={entry}')}" for key, entry in value.items())
    text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value).removeprefix("True")
    return f"--{option} {_quoted(text)}".rstrip()


def _quoted(value: Any) -> str:
    """A value as it is typed in a shell."""
    return shlex.quote(str(value)) if value != "" else ""


def _bare(word: str) -> str:
    return "log-weights" if word == "log_weights" else f"--{word.replace('_', '-')}"


def _said_of_python(text: str) -> str:
    """A message that says after the first Python in it that it is; the message itself if there is none."""
    spans = [(found.start(), _end_of_expression(text, found.start())) for found in _PYTHON.finditer(text)]
    spans += [found.span() for name in _functions() for found in re.finditer(_WHOLE.format(name), text)]
    typed = re.compile(r"--[\w-]+ \Z")  # an option before its value, such as --select time=0
    spans += [(start, end) for _, _, start, end in _arguments(text) if not typed.search(text[:start])]
    if not spans:
        return text
    _, end = min(spans)
    return f"{text[:end]} in Python{text[end:]}"


def _end_of_expression(text: str, start: int) -> int:
    """The end of names, calls and indices that follow each other."""
    while start < len(text):
        name = _NAME.match(text, start)
        if name is not None:
            start = name.end()
        elif text[start] in "([":
            start = _end_of_call(text, start + 1) + 1
        else:
            break
    return start


@cache
def _functions() -> tuple[str, ...]:
    """The public functions whose names are no words."""
    import heatess

    return tuple(name for name in heatess.__all__ if "_" in name and name.islower())
