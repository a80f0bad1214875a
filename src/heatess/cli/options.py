"""The options of the command line: their values (scales, columns, output files, bounds) and their spelling.

Each parser is a click callback: it takes the text of an option and returns its value, or raises `BadParameter`.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..errors import InputError
from ..files import check_writable

STDOUT = Path("-")
MOST_SCALES = 10_000
BOUNDED = ("gess", "volume", "divergence", "mmd2", "dimension")

#: An argument that is also an option, and its value; not a part of a path.
_ARGUMENT = re.compile(
    r"(?<![^\s(])(xyz|vector|lon|lat|units|weights|log_weights|normalize|resolutions|rtol|max_degree)="
    r"(\((?:'[^']*',? ?)+\)|'[^']*'|True|\d[\de.+-]*\b|)(?=[\s,;.)]|$)"
)


@dataclass(frozen=True)
class Bound:
    """The least value that one quantity must have at one scale, as in gess@20deg=50."""

    quantity: str
    scale: float
    in_degrees: bool
    least: float
    text: str


def in_options(message: str) -> str:
    """A message of the library with its Python arguments written as options, where there is such an option."""

    def option(match: re.Match[str]) -> str:
        value = match[2].strip("()").strip("'").replace("', '", ",").removeprefix("True")
        return f"--{match[1].replace('_', '-')} {value}".rstrip()

    message = message.replace(" points=(", " xyz=(").replace(" points='", " vector='")
    return _ARGUMENT.sub(option, message).replace(", --", " --").replace("use heat_profile", "use heatess profile")


def grid(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """The scales in START:STOP:COUNT, spaced geometrically, or in a list of numbers."""
    if value is None:
        return None
    parts = value.split(":")
    try:
        numbers = tuple(float(text) for text in (parts[:2] if len(parts) == 3 else value.split(",")))
        count = int(parts[2]) if len(parts) == 3 else len(numbers)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not a grid; write START:STOP:COUNT such as 5:120:60, or a list such as 5,15,45"
        ) from None
    most = 180.0 if param.name == "resolutions" else math.inf
    for number in numbers:
        if not 0 < number < most:
            within = f"above 0 and below {most:g} degrees" if most < math.inf else "positive and finite"
            raise click.BadParameter(f"{number:g} in {value!r} is not a scale; give numbers that are {within}")
    if not 1 <= count <= MOST_SCALES:
        raise click.BadParameter(f"{value!r} asks for {count:,} scales; ask for 1 to {MOST_SCALES:,}")
    if len(parts) != 3 or count == 1:
        return numbers[:count]
    step = math.log(numbers[1] / numbers[0]) / (count - 1)
    return (*(numbers[0] * math.exp(step * index) for index in range(count - 1)), numbers[1])


def columns(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Two or more column names, which were separated by commas."""
    if value is None:
        return ()
    names = tuple(name.strip() for name in value.split(","))
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise click.BadParameter(f"{value!r} is not a list of two or more different columns; write for instance x,y,z")
    return names


def output(*suffixes: str) -> Callable[[click.Context, click.Parameter, str | None], Path | None]:
    """A parser for output files, which are checked before anything is computed; '-' is stdout, except for pictures."""
    text = set(suffixes) <= {".json", ".csv"}

    def parse(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
        if value is None or (text and value == "-"):
            return None if value is None else STDOUT
        if Path(value).suffix.lower() not in suffixes:
            also = ", or - for stdout" if text else ""
            raise click.BadParameter(f"{value!r} does not end in {' or '.join(suffixes)}; give a name that does{also}")
        try:
            return check_writable(value)
        except InputError as error:
            raise click.BadParameter(str(error)) from None

    return parse


def bounds(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Bound, ...]:
    """The bounds in texts such as gess@20deg=50."""
    return tuple(_bound(text) for text in values)


def _bound(text: str) -> Bound:
    match = re.fullmatch(r"\s*(\w+)\s*@\s*([^\s=]+?)\s*(deg)?\s*=\s*(\S+)\s*", text)
    if match and match[1] in BOUNDED:
        try:
            scale, least = float(match[2]), float(match[4])
        except ValueError:
            scale = least = math.nan
        if 0 < scale < math.inf and not math.isnan(least):
            return Bound(match[1], scale, match[3] is not None, least, text)
    raise click.BadParameter(
        f"{text!r} is not a bound; write QUANTITY@SCALE=LEAST such as gess@20deg=50, with one of {', '.join(BOUNDED)}"
    )


def refuse_together(options: Mapping[str, Any], *names: str) -> None:
    """Raise a usage error if more than one of these options was given."""
    given = [f"--{name.replace('_', '-')}" for name in names if options[name]]
    if len(given) > 1:
        raise click.UsageError(f"give only one of {' and '.join(given)}", click.get_current_context())


def check_outputs(source: str, outputs: list[Path | None]) -> None:
    """Raise a usage error if an output would replace the input, or two outputs are the same."""
    context = click.get_current_context()
    files = [path for path in outputs if path is not None]
    if len({os.path.realpath(path) for path in files}) < len(files):
        raise click.UsageError("two outputs go to the same place; give each its own file", context)
    for path in files:
        if path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise click.UsageError(f"{path} is the input file; give the output another name", context)
