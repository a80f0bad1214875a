"""The options of the command line: their values (scales, columns, output files, bounds) and their spelling.

A parser takes the text of an option and returns its value, or raises `BadParameter`.
"""

from __future__ import annotations

import ast
import math
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from ..errors import InputError
from ..files import check_writable

F = TypeVar("F", bound=Callable[..., Any])

STDOUT = Path("-")
MOST_SCALES = 10_000
BOUNDED = ("gess", "volume", "divergence", "mmd2", "dimension")

#: An argument that is also an option, and what may follow it; not a part of a path.
_ARGUMENT = re.compile(
    r"(?<![^\s(])(columns|space|units|weights|log_weights|normalize|drop_missing|resolutions|times|rtol|max_degree)="
    r"(?=[{('\"]|True\b|\d|[\s,;.)?]|$)"
)
_SPACES = re.compile(r": he\.(?:Torus|Circle)\([^)]*units[^)]*\)")
_PLAIN = re.compile(r"True\b|\d[\de.+-]*\b|")
_CLOSING = {"{": "}", "(": ")", "'": "'", '"': '"'}

#: Roles of columns that have options of their own, in their order.
_ROLES = {
    ("lon", "lat"): "--lon {} --lat {}",
    ("ra", "dec"): "--ra {} --dec {}",
    ("dec", "inc"): "--dec {} --inc {}",
    ("colat", "azimuth"): "--colat {} --lon {}",
    ("qx", "qy", "qz", "qw"): "--quat {},{},{},{}",
}


class Bound(NamedTuple):
    """The least value that one quantity must have at one scale, as in gess@20deg=50."""

    quantity: str
    scale: float
    in_degrees: bool
    least: float
    text: str


def in_options(message: str) -> str:
    """A message of the library with its Python arguments written as options, where there is such an option."""
    message = _SPACES.sub("", message)
    parts: list[str] = []
    start = 0
    for match in _ARGUMENT.finditer(message):
        if match.start() < start:  # inside the value before
            continue
        value, end = _value(message, match.end())
        if value is not None and (end == len(message) or message[end] in " ,;:.)?\n"):
            parts += [message[start : match.start()], _option(match[1], value)]
            start = end
    text = "".join([*parts, message[start:]])
    return text.replace(", --", " --").replace("use heat_profile", "use heatess profile")


def _value(message: str, start: int) -> tuple[Any, int]:
    """The Python value that is written in a message from some place on, and its end; None if there is none."""
    closing = _CLOSING.get(message[start : start + 1])
    if closing is None:
        plain = _PLAIN.match(message, start)
        return (plain[0], plain.end()) if plain else (None, start)
    end = message.find(closing, start + 1) + 1
    while end:
        try:
            return ast.literal_eval(message[start:end]), end
        except (ValueError, SyntaxError):  # a bracket or a quote in the name of a column
            end = message.find(closing, end) + 1
    return None, start


def _option(name: str, value: Any) -> str:
    if isinstance(value, dict) and tuple(value) in _ROLES:
        return _ROLES[tuple(value)].format(*map(_quoted, value.values()))
    text = ",".join(value) if isinstance(value, tuple) else str(value).removeprefix("True")
    return f"--{name.replace('_', '-')} {_quoted(text)}".rstrip()


def _quoted(value: str) -> str:
    """A value as it is typed in a shell."""
    return shlex.quote(value) if value else ""


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


def column(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """One name of a column or a file, not empty."""
    if value is not None and not value.strip():
        raise click.BadParameter("the name is empty; leave the option out, or name a column")
    return value


def columns(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Two or more column names, which were separated by commas."""
    if value is None:
        return ()
    names = tuple(name.strip() for name in value.split(","))
    if (len(names) < 2 and ":" not in value) or not all(names) or len(set(names)) < len(names):
        raise click.BadParameter(f"{value!r} is not a list of two or more different columns; write for instance x,y,z")
    return names


def output(*suffixes: str) -> Callable[[click.Context, click.Parameter, str | None], Path | None]:
    """A parser for output files, which are checked before anything is computed; '-' is stdout, except for pictures."""
    text = set(suffixes) <= {".json", ".csv"}

    def parse(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
        if value is None:
            return None
        if text and value == "-":
            return STDOUT
        if Path(value).suffix.lower() not in suffixes:
            also = ", or - for stdout" if text else ""
            raise click.BadParameter(f"{value!r} does not end in {' or '.join(suffixes)}; give a name that does{also}")
        try:
            return check_writable(value)
        except InputError as error:
            raise click.BadParameter(str(error)) from None

    return parse


def angle(text: str) -> float:
    """One angle in degrees."""
    try:
        degrees = float(text)
    except ValueError:
        degrees = math.nan
    if 0 < degrees < 1e6:
        return degrees
    raise click.BadParameter(f"{text[:40]!r} is not an angle in degrees; give a positive number such as 5")


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


def usage(text: str) -> click.UsageError:
    """The error for wrong usage of the command that runs."""
    return click.UsageError(text, click.get_current_context())


def refuse_together(options: Mapping[str, Any], *groups: tuple[str, ...]) -> None:
    """Raise a usage error if more than one option of a group was given."""
    for names in groups:
        given = [f"--{name.replace('_', '-')}" for name in names if options[name]]
        if len(given) > 1:
            raise usage(f"give only one of {' and '.join(given)}")


# Options that several commands share, as decorators.

_GRID: dict[str, Any] = {"metavar": "GRID", "callback": grid}
_RTOL: dict[str, Any] = {"metavar": "X", "type": click.FloatRange(1e-15, 1, max_open=True), "default": 1e-8}
_BOUND: dict[str, Any] = {"metavar": "BOUND", "type": _bound, "multiple": True}


def _all(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """One decorator that applies all *decorators*; --help lists their options in this order."""

    def decorate(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def _file(*suffixes: str) -> dict[str, Any]:
    return {"metavar": "FILE", "callback": output(*suffixes)}


_COLUMN: dict[str, Any] = {"metavar": "COL", "callback": column}
_SPACE = "sphere, projective, rotations, torus, circle, euclidean, hyperbolic or pose; or for instance 'Torus(2)'."

reading = _all(
    click.option("--space", metavar="SPACE", help=_SPACE),
    click.option("--lon", **_COLUMN, help="Longitude column; with --colat the azimuth."),
    click.option("--lat", **_COLUMN, help="Latitude column."),
    click.option("--ra", **_COLUMN, help="Right ascension column."),
    click.option("--dec", **_COLUMN, help="Declination column; with --inc the magnetic one."),
    click.option("--inc", **_COLUMN, help="Inclination column, positive down."),
    click.option("--colat", **_COLUMN, help="Colatitude column: the angle to the pole."),
    click.option("--xyz", metavar="A,B,C", callback=columns, help="Columns of unit vectors; a range is dim_0:dim_383."),
    click.option("--quat", metavar="X,Y,Z,W", callback=columns, help="Columns of quaternions, the scalar last."),
    click.option("--columns", metavar="A,B,...", help="Columns of points: names, or a range such as dim_0:dim_383."),
    click.option("--units", type=click.Choice(["deg", "rad"]), help="Unit of angles."),
    click.option("--weights", **_COLUMN, help="Weight column, or a .npy file; none for equal weights."),
    click.option("--log-weights", **_COLUMN, help="The same for the logarithms of weights."),
    click.option("--normalize", is_flag=True, help="Scale vectors to unit length."),
    click.option("--drop-missing", is_flag=True, help="Leave out rows in which a number is missing."),
)

scales = _all(
    click.option("--angles", help="Scales alpha = sqrt(8t), in degrees.", **_GRID),
    click.option("--times", help="Scales as diffusion times t.", **_GRID),
    click.option("--resolutions", help="Scales as the distance of 1/e overlap, in degrees.", **_GRID),
    click.option("--rtol", help="Relative accuracy of gESS, 1e-8 if not given.", **_RTOL),
)

results = _all(
    click.option(
        "--json", "json_file", is_flag=False, flag_value="-", help="Write JSON; - for stdout.", **_file(".json")
    ),
    click.option("--csv", "csv_file", help="Write every scale as CSV; - for stdout.", **_file(".csv")),
    click.option("--plot", "plot_file", help="Draw the result: .png, .pdf or .svg.", **_file(".png", ".pdf", ".svg")),
)

report = click.option("-o", "--report", "report_file", help="Write a report to look at, .html.", **_file(".html"))

bounds = click.option(
    "--fail-under", help="Exit with code 4 if the result is lower, for instance gess@20deg=50.", **_BOUND
)

one_scale = _all(
    click.option("--angle", type=angle, metavar="DEG", help="The scale alpha = sqrt(8t), in degrees."),
    click.option("--time", type=click.FloatRange(0, min_open=True), metavar="T", help="The scale as a diffusion time."),
    click.option("--resolution", type=angle, metavar="DEG", help="The scale as the distance of 1/e overlap."),
)

_ORIGINS = "fixed (or independent of the points), or importance weights. [importance, where they differ]"
weights_are = click.option("--weights-are", type=click.Choice(["fixed", "importance"]), help=f"Weights are {_ORIGINS}")


def chance(draws: str) -> Callable[[F], F]:
    """The options of what is found by random draws; *draws* is the help of their number."""
    return _all(
        click.option("--draws", type=click.IntRange(0), metavar="N", help=draws),
        click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of random numbers, to repeat a result."),
    )


verbosity = _all(
    click.option("-q", "--quiet", is_flag=True, help="Only results, warnings and errors."),
    click.option("-v", "--verbose", is_flag=True, help="Print what ran and how long it took."),
    click.option("--no-progress", is_flag=True, help="No progress bar."),
)


def state(**more: Any) -> Callable[[F], F]:
    """The options for the state file that is written."""
    return _all(
        click.option("-o", "--out", help="State file to write, .npz.", **_file(".npz"), **more),
        click.option("--overwrite", is_flag=True, help="Replace the state file if it exists."),
    )


thinned = _all(
    click.option("-o", "--out", required=True, help="File to write, .csv or .npz.", **_file(".csv", ".npz")),
    click.option("--overwrite", is_flag=True, help="Replace the file if it exists."),
)


def directory(name: str, help: str) -> Callable[[F], F]:
    """The option for the directory that is written, by default *name*."""
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("--out", type=kind, default=Path(name), show_default=True, help=help)


#: Options that name columns, which go together, and the role of each column.
_TOGETHER = {
    ("lon", "lat"): ("lon", "lat"),
    ("ra", "dec"): ("ra", "dec"),
    ("dec", "inc"): ("dec", "inc"),
    ("colat", "lon"): ("colat", "azimuth"),
}


def chosen_columns(options: Mapping[str, Any]) -> Any:
    """What `heatess.read` takes as columns=, from the options that name columns."""
    given = {name: options[name] for name in ("lon", "lat", "ra", "dec", "inc", "colat") if options[name]}
    ways = [name for name in ("xyz", "quat", "columns") if options[name]] + (
        ["the options for angles"] if given else []
    )
    if len(ways) > 1:
        raise usage(f"give only one of {' and '.join(f'--{way}' if ' ' not in way else way for way in ways)}")
    if given:
        for names, roles in _TOGETHER.items():
            if set(names) == set(given):
                return {role: given[name] for role, name in zip(roles, names, strict=True)}
        pairs = ", ".join(" with ".join(f"--{name}" for name in names) for names in _TOGETHER)
        found = (
            f"--{' and --'.join(given)} do not go together"
            if len(given) > 1
            else f"--{next(iter(given))} is not enough"
        )
        raise usage(f"{found}; give {pairs}")
    if options["quat"]:
        if len(options["quat"]) != 4:
            raise usage(f"--quat takes four columns, X,Y,Z,W with the scalar last, but found {len(options['quat'])}")
        return dict(zip(("qx", "qy", "qz", "qw"), options["quat"], strict=True))
    return options["xyz"] or options["columns"] or None
