"""Messages of the library in the words of the command line.

A message has its code apart from its words, such as ``add `units='deg'` ``. Here every argument that some command has
an option for is said as that option, as it is typed in a shell: ``add --units deg``. There is no list of arguments to
keep: a new option is known by its name. What has no option is left, and the sentence says that it is for Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

import click

from ..base.errors import message_of
from ..base.messages import Code, Message, Open

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

#: Functions that are commands, and spaces whose arguments are options.
COMMANDS = {
    "heat_profile": "heatess profile",
    "population_profile": "heatess profile --band",
    "uniformity_test": "heatess test",
    "Accumulator": "heatess accumulate",
}
SPACES = ("he.Torus", "he.Circle")


def typed(message: str | BaseException, command: click.Command | None = None) -> str:
    """A message of the library, or of an error or a warning, as *command* prints it, by default the one that runs.

    >>> typed(Message("which could be degrees or radians; add `units='deg'` or `units='rad'`"))
    'which could be degrees or radians; add --units deg or --units rad'
    >>> typed(Message("a.npy is damaged; write it again with `numpy.save(path, array)`"))
    'a.npy is damaged; write it again with numpy.save(path, array) in Python'
    """
    text = message if isinstance(message, str) else message_of(message)
    if not isinstance(text, Message):
        return text
    here = _options_here(command)
    options = {code.text: _said(code, here) for code in text.codes}
    python = any("" in said for said in options.values())  # then functions are called as no command can be
    noted = "in Python" in text

    def speak(code: Code) -> str:
        nonlocal noted
        said = options[code.text] or ([] if python else [COMMANDS.get(code.call, "")])
        if said and "" not in said:
            return " ".join(said)
        after, noted = "" if noted else " in Python", True
        return f"{code.text}{after}"

    return text.said(speak)


def _said(code: Code, here: frozenset[str]) -> list[str]:
    """The arguments of some code as they are typed, "" for those without an option."""
    if code.call and code.call not in (*SPACES, *code.arguments):
        return []
    return [_option(name, value, here) for name, value in code.arguments.items()]


@cache
def _options() -> Mapping[str, frozenset[str]]:
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


def _option(name: str, value: Any, here: frozenset[str]) -> str:
    """An argument as it is typed; "" if there is no such option in any command.

    A command that takes one scale has --angle where others have --angles.
    """
    option = name.replace("_", "-")
    every = frozenset().union(*_options().values())
    option = next((near for near in (option, option.removesuffix("s"), f"{option}s") if near in here), option)
    if option not in every or value is False:
        return f"--no-{option}" if f"no-{option}" in every else ""
    if value is Open or value is True:
        return f"--{option}"
    if isinstance(value, dict) and tuple(value) in ROLES:
        return ROLES[tuple(value)].format(*(shlex.quote(str(entry)) for entry in value.values()))
    if isinstance(value, dict):
        return " ".join(f"--{option} {shlex.quote(f'{key}={entry}')}" for key, entry in value.items())
    text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return f"--{option} {shlex.quote(text)}"
