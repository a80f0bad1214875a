"""The options of the command line: their values (scales, columns, output files, bounds) and their spelling.

A parser takes the text of an option and returns its value, or raises `BadParameter`.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from ..base.errors import InputError
from ..base.files import check_writable, is_stream
from ..base.known import FRAMES, KINDS
from ..tables.read_options import UNITS
from .kilometres import Km, in_kilometres, scale
from .messages import typed

F = TypeVar("F", bound=Callable[..., Any])

STDOUT = Path("-")
MOST_SCALES = 10_000
BOUNDED = ("gess", "volume", "divergence", "mmd2", "dimension")


class Bound(NamedTuple):
    """The least value that one quantity must have at one scale, as in gess@20deg=50."""

    quantity: str
    scale: float
    in_degrees: bool
    least: float
    text: str


def grid(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """The scales in START:STOP:COUNT, spaced geometrically, or in a list of numbers."""
    if value is None:
        return None
    parts = value.split(":")
    try:
        read = float if param.name == "times" else scale
        numbers = tuple(read(text) for text in (parts[:2] if len(parts) == 3 else value.split(",")))
        count = int(parts[2]) if len(parts) == 3 else len(numbers)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not a grid; write START:STOP:COUNT such as 5:120:60, or a list such as 5,15,45"
        ) from None
    km = in_kilometres(numbers)
    most = 180.0 if param.name == "resolutions" and not km else math.inf
    for number in numbers:
        if not 0 < number < most:
            within = f"above 0 and below {most:g} degrees" if most < math.inf else "positive and finite"
            raise click.BadParameter(f"{number:g} in {value!r} is not a scale; give numbers that are {within}")
    if not 1 <= count <= MOST_SCALES:
        raise click.BadParameter(f"{value!r} asks for {count:,} scales; ask for 1 to {MOST_SCALES:,}")
    if len(parts) != 3 or count == 1:
        return numbers[:count]
    step = math.log(numbers[1] / numbers[0]) / (count - 1)
    spaced = (*(numbers[0] * math.exp(step * index) for index in range(count - 1)), numbers[1])
    return tuple(map(Km, spaced)) if km else spaced


def one_file(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> str:
    """The only file that was given; of several it says what to type."""
    if len(value) == 1:
        return value[0]
    command, others = ctx.command.name, [word for word in value if not os.path.exists(word) and word != str(STDOUT)]
    if others:
        raise click.UsageError(
            f"{command} takes one file, but found {' and '.join(map(repr, value[:4]))}, and there is no file "
            f"{others[0]!r}; put names and values with spaces in quotes",
            ctx,
        )
    listed = shlex.join(value[:4]) + (" ..." if len(value) > 4 else "")
    found = f"{command} takes one file, but found {len(value)}"
    if command == "profile":
        raise click.UsageError(
            f"{found}; to see them side by side, type: heatess compare {listed}; to count them as one cloud, type: "
            f"heatess accumulate {listed} -o all.npz && heatess merge all.npz",
            ctx,
        )
    if command == "test" and len(value) == 2:
        raise click.UsageError(f"{found}; to test whether they differ, type: heatess compare {listed}", ctx)
    if command == "inspect":
        raise click.UsageError(f'{found}; type: for f in {listed}; do heatess inspect "$f"; done', ctx)
    raise click.UsageError(f"{found}; run heatess {command} once for each of them", ctx)


def column(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """One name of a column or a file, not empty."""
    if value is not None and not value.strip():
        raise click.BadParameter("the name is empty; leave the option out, or name a column")
    return value


def missing(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, ...] | str | None:
    """Numbers that stand for a missing one, or the word none."""
    if value is None or value.strip().lower() == "none":
        return None if value is None else "none"
    try:
        return tuple(float(text) for text in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers; write for instance -999 or -999,9999") from None


def columns(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Two or more column names, which were separated by commas."""
    if value is None:
        return ()
    names = tuple(name.strip() for name in value.split(","))
    if (len(names) < 2 and ":" not in value) or not all(names) or len(set(names)) < len(names):
        raise click.BadParameter(f"{value!r} is not a list of two or more different columns; write for instance x,y,z")
    return names


def quaternions(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, str]:
    """Four columns by their roles, the scalar last; or one column of quaternions after its order, as in wxyz:NAME."""
    order, colon, name = (value or "").partition(":")
    if order in ("xyzw", "wxyz") and colon and name.strip():
        return {order: name.strip()}
    names = columns(ctx, param, value)
    if names and len(names) != 4:
        raise click.UsageError(f"--quat takes four columns, X,Y,Z,W with the scalar last, but found {len(names)}", ctx)
    return dict(zip(("qx", "qy", "qz", "qw"), names, strict=False))


def steps(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, int | str] | None:
    """Axes and the step of each: a whole number counts steps, anything else is a value."""
    found: dict[str, int | str] = {}
    for text in value:
        axis, equals, step = (part.strip() for part in text.partition("="))
        if not (axis and equals and step) or axis in found:
            raise click.BadParameter(f"{text!r} is not one step of one axis; write AXIS=STEP such as time=0")
        found[axis] = int(step) if re.fullmatch(r"[+-]?\d+", step) else step
    return found or None


def output(*suffixes: str) -> Callable[[click.Context, click.Parameter, str | None], Path | None]:
    """A parser for output files, which are checked before anything is computed; '-' is stdout, except for pictures.

    A device or a pipe needs no suffix where there is one format only.
    """
    text = suffixes in ((".json",), (".csv",))

    def parse(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
        if value is None:
            return None
        if text and value in ("-", "/dev/stdout"):
            return STDOUT
        if (text or suffixes == (".html",)) and is_stream(value):
            return Path(value)
        if Path(value).suffix.lower() not in suffixes:
            also = ", or - for stdout" if text else ""
            raise click.BadParameter(f"{value!r} does not end in {' or '.join(suffixes)}; give a name that does{also}")
        try:
            return check_writable(value)
        except InputError as error:
            raise click.BadParameter(typed(error)) from None

    return parse


def angle(text: str) -> float:
    """One angle in degrees, or one scale in kilometres."""
    try:
        value = scale(text)
    except ValueError:
        value = math.nan
    if 0 < value < 1e6:
        return value
    raise click.BadParameter(f"{text[:40]!r} is not an angle in degrees; give a positive number such as 5, or 500km")


def degrees(text: str) -> float:
    """One angle in degrees."""
    if text.strip().endswith("km"):
        raise click.BadParameter(f"{text[:40]!r} is in kilometres; give degrees, of which each is 111.195 km")
    return angle(text)


def levels(text: str) -> tuple[float, ...]:
    """Shares of the mass, such as 0.5,0.9."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if values and all(0 < value < 1 for value in values):
        return values
    raise click.BadParameter(f"{text[:40]!r} is not a list of shares between 0 and 1; write for instance 0.5,0.9")


def _bound(text: str) -> Bound:
    match = re.fullmatch(r"\s*(\w+)\s*@\s*([^\s=]+?)\s*(deg|km)?\s*=\s*(\S+)\s*", text)
    if match and match[1] in BOUNDED:
        try:
            at, least = Km(match[2]) if match[3] == "km" else float(match[2]), float(match[4])
        except ValueError:
            at = least = math.nan
        if 0 < at < math.inf and not math.isnan(least):
            return Bound(match[1], at, match[3] is not None, least, text)
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


def scale_given(options: Mapping[str, Any], question: str = "say at which scale") -> dict[str, Any]:
    """The one scale that was given, by its name; if there is none, the *question* is asked."""
    refuse_together(options, ("angle", "time", "resolution"))
    scale = {name: options[name] for name in ("angle", "time", "resolution") if options[name]}
    if not scale:
        raise usage(f"{question}: --angle, --time or --resolution")
    return scale


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


def _names_of_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """What a shell completes: names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _file(*suffixes: str) -> dict[str, Any]:
    return {"metavar": "FILE", "callback": output(*suffixes), "shell_complete": _names_of_files}


_COLUMN: dict[str, Any] = {"metavar": "COL", "callback": column}
_SPACE = (
    "sphere, projective, rotations, torus, circle, euclidean, hyperbolic; rotations:O or another point group, for "
    "things that look alike when turned; pose:R, where R is the length that counts as much as one radian; "
    "earth3d for places at a depth; graph for edges; or for instance 'Torus(2)'."
)
_EULER = "Convention of Euler angles: bunge, relion, yaw-pitch-roll, roll-pitch-yaw, or axes: ZYZ turn, xyz are fixed."

_STEP = "One step of an axis of a grid: its number from 0, or its value; for each further axis."

_FILES: dict[str, Any] = {"nargs": -1, "required": True, "shell_complete": _names_of_files}
file = click.argument("file", metavar="FILE", callback=one_file, **_FILES)


def files(name: str, metavar: str) -> Callable[[F], F]:
    """Several files."""
    return click.argument(name, metavar=metavar, **_FILES)


reading = _all(
    click.option("--space", metavar="SPACE", help=_SPACE),
    click.option("--lon", **_COLUMN, help="Longitude column; with --colat the azimuth."),
    click.option("--lat", **_COLUMN, help="Latitude column."),
    click.option("--depth", **_COLUMN, help="Depth or height column, with --lon and --lat and --space earth3d."),
    click.option("--ra", **_COLUMN, help="Right ascension column."),
    click.option("--dec", **_COLUMN, help="Declination column; with --inc the magnetic one."),
    click.option("--inc", **_COLUMN, help="Inclination column, positive down."),
    click.option("--colat", **_COLUMN, help="Colatitude column: the angle to the pole."),
    click.option("--xyz", metavar="A,B,C", callback=columns, help="Columns of unit vectors; a range is dim_0:dim_383."),
    click.option("--quat", metavar="X,Y,Z,W", callback=quaternions, help="Columns of quaternions, the scalar last."),
    click.option("--euler", metavar="NAME", help=_EULER),
    click.option("--columns", metavar="A,B,...", help="Columns of points: names, or a range such as dim_0:dim_383."),
    click.option("--units", type=click.Choice(UNITS), help="Unit of angles; hours for RA, or on a circle."),
    click.option("--weights", **_COLUMN, help="Weight column, or a .npy file; none for equal weights."),
    click.option("--log-weights", **_COLUMN, help="The same for the logarithms of weights."),
    click.option("--normalize", is_flag=True, help="Scale vectors and quaternions to unit length."),
    click.option("--drop-missing", is_flag=True, help="Leave out rows in which a number is missing."),
    click.option("--select", metavar="AXIS=STEP", multiple=True, callback=steps, help=_STEP),
    click.option("--no-area", is_flag=True, help="Values of a grid are totals of its cells, not per area."),
    click.option(
        "--missing", metavar="X,...", callback=missing, help="Numbers that mean a missing one, such as -999; or none."
    ),
    click.option("--kind", type=click.Choice(list(KINDS)), help="What the rows are, if the file does not say it."),
    click.option("--frame", type=click.Choice(FRAMES), help="The frame of directions, if the file does not say it."),
    click.option("--labels", **_COLUMN, help="Column of names of rows; none for no names."),
)

scales = _all(
    click.option("--angles", help="Scales alpha = sqrt(8t), in degrees; on the Earth also 100km:5000km:30.", **_GRID),
    click.option("--times", help="Scales as diffusion times t.", **_GRID),
    click.option("--resolutions", help="Scales as the distance of 1/e overlap, in degrees.", **_GRID),
)

accuracy = click.option("--rtol", help="Relative accuracy of gESS, 1e-8 if not given.", **_RTOL)

results = _all(
    click.option(
        "--json", "json_file", is_flag=False, flag_value="-", help="Write JSON; - for stdout.", **_file(".json")
    ),
    click.option("--csv", "csv_file", help="Write every scale as CSV; - for stdout.", **_file(".csv")),
    click.option("--plot", "plot_file", help="Draw the result: .png, .pdf or .svg.", **_file(".png", ".pdf", ".svg")),
)

redundancies = _all(
    click.option("-o", "--csv", "csv_file", help="Write every row as CSV; - for stdout.", **_file(".csv")),
    click.option(
        "--json", "json_file", is_flag=False, flag_value="-", help="Write JSON; - for stdout.", **_file(".json")
    ),
)

_MAPS = (".fits", ".nc", ".tif", ".geojson", ".png", ".svg", ".pdf", ".html")
_MAP = "Write a map, .fits (HEALPix), .nc, .tif (grid), .geojson (contours), a picture, .png, .svg, .pdf, or a report,"
_MAP += " .html."
maps = _all(
    click.option("-o", "--out", help=_MAP, **_file(*_MAPS)),
    click.option("--levels", type=levels, metavar="P,...", help="Shares of the mass whose regions are told. [0.5,0.9]"),
    click.option("--calibrated", is_flag=True, help="Regions hold their share of the distribution behind the sample."),
    click.option(
        "--json", "json_file", is_flag=False, flag_value="-", help="Write JSON; - for stdout.", **_file(".json")
    ),
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


band = click.option("--band", is_flag=True, help="Estimates for the distribution behind the sample, with 95 % bands.")

_STATISTICS = click.Choice(["rayleigh", "bingham", "ajne", "gine", "gine_f", "bakshaev", "watson", "rothman"])
_STATISTIC = f"In place of the scales: {', '.join(_STATISTICS.choices)}."
statistic = click.option("--statistic", type=_STATISTICS, metavar="NAME", help=_STATISTIC)


def chance(draws: str) -> Callable[[F], F]:
    """The options of what is found by random draws; *draws* is the help of their number."""
    return _all(
        click.option("--draws", type=click.IntRange(0), metavar="N", help=draws),
        click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of random numbers, to repeat a result."),
    )


force = click.option("--force", is_flag=True, help="Replace output files that exist.")

verbosity = _all(
    click.option("-q", "--quiet", is_flag=True, help="Only results, warnings and errors."),
    click.option("-v", "--verbose", is_flag=True, help="Print what ran and how long it took."),
    click.option("--no-progress", is_flag=True, help="No progress bar."),
)


def state(**more: Any) -> Callable[[F], F]:
    """The option for the state file that is written."""
    return click.option("-o", "--out", help="State file to write, .npz.", **_file(".npz"), **more)


labelled = click.option("-o", "--out", help="File to write, .csv: all columns, and the mode.", **_file(".csv"))
thinned = click.option("-o", "--out", required=True, help="File to write, .csv or .npz.", **_file(".csv", ".npz"))


def directory(name: str, help: str) -> Callable[[F], F]:
    """The option for the directory that is written, by default *name*."""
    kind = click.Path(file_okay=False, path_type=Path)
    return _all(
        click.option("-o", "--out", type=kind, default=Path(name), show_default=True, help=help),
        click.option("--force", is_flag=True, help="Replace files there that this command did not write."),
    )


#: Options that --help lists together, by the title above them.
SECTIONS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "Output": (report, results, redundancies, maps, labelled, force),
    "Options": (),
    "Scales": (scales, one_scale),
    "Checks": (accuracy, band, weights_are, chance(""), bounds, statistic),
    "Input, where the file does not say it itself": (reading,),
    "Messages": (verbosity,),
}


def section_of(option: click.Option) -> str:
    """The title above an option."""
    for title, decorators in SECTIONS.items():
        if any(option.name in _names(decorator) for decorator in decorators):
            return title
    return "Messages" if {"--help", "--version"} & set(option.opts) else "Options"


@cache
def _names(decorator: Callable[[Any], Any]) -> frozenset[str]:
    """The names of the options that a decorator adds."""
    found: Any = decorator(lambda: None)
    return frozenset(option.name for option in found.__click_params__)


#: Options that name columns, which go together, and the role of each column.
_TOGETHER = {
    ("lon", "lat"): ("lon", "lat"),
    ("lon", "lat", "depth"): ("lon", "lat", "depth"),
    ("ra", "dec"): ("ra", "dec"),
    ("dec", "inc"): ("dec", "inc"),
    ("colat", "lon"): ("colat", "azimuth"),
}


def chosen_columns(options: Mapping[str, Any]) -> Any:
    """What `heatess.read` takes as columns=, from the options that name columns."""
    given = {name: options[name] for name in ("lon", "lat", "depth", "ra", "dec", "inc", "colat") if options[name]}
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
    return options["quat"] or options["xyz"] or options["columns"] or None
