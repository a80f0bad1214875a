"""The command line: read the options, call the library, print the result.

Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 bad data, 4 a --fail-under bound not met, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..base.errors import CostError, InputError, MissingExtraError, PrecisionError, ScaleError, missing_extra
from ..base.pool import still_working
from . import options, screen
from .messages import typed


class _Command(click.Command):
    """A command whose options are listed by what they are about, and that names all missing packages at once."""

    context_class = screen.Context

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        for title in options.SECTIONS:
            records = [option.get_help_record(ctx) for option in listed if options.section_of(option) == title]
            if records:
                with formatter.section(title):
                    formatter.write_dl([record for record in records if record is not None])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except MissingExtraError as error:
            from .inputs import all_missing

            raise all_missing(error, ctx.params) from None


#: Commands as --help lists them: the main job first.
_BY_USE = (
    *("profile", "compare", "inspect", "test", "density", "modes", "thin", "redundancy", "accumulate", "merge"),
    *("demo", "reproduce", "completion"),
)


class _Group(click.Group):
    """A command group that reports an error as one sentence on stderr and one of the exit codes above."""

    command_class = _Command
    context_class = screen.Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.commands, key=_BY_USE.index)

    def main(self, args: Any = None, *rest: Any, **extra: Any) -> Any:
        words = list(map(str, sys.argv[1:] if args is None else args))
        extra["standalone_mode"] = False
        extra.setdefault("obj", tuple(words))  # for reports, which say how they were made
        try:
            result = super().main(words, *rest, **extra)
            code = result if isinstance(result, int) else 0
        except Exception as error:
            command = next((self.commands[word] for word in words if word in self.commands), None)
            code = _complain(error, command, verbose="-v" in words or "--verbose" in words)
        if still_working():  # a compiled call that cannot be ended: neither wait for it nor let it wake up in a ruin
            sys.stdout.flush()
            os._exit(code)
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None  # before click writes an empty line

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None and Path(args[0]).suffix:
            ctx.fail(f"{args[0]!r} is not a command; to profile a file, type: heatess profile {' '.join(args)}")
        return super().resolve_command(ctx, args)


def _complain(error: Exception, command: click.Command | None, *, verbose: bool) -> int:
    """Print in one sentence what went wrong, and return the exit code."""
    code, text = 1, str(error)
    if isinstance(error, click.Abort):
        code, text = 130, "interrupted; no file was left half written"
    elif isinstance(error, click.ClickException):
        code, text = error.exit_code, error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            text = f"{text.rstrip('.')} (see {error.ctx.command_path} --help)"
    elif isinstance(error, ScaleError | PrecisionError | CostError | MissingExtraError):
        code, text = 2, typed(error, command)
    elif isinstance(error, InputError):
        code, text = 3, typed(error, command)
    elif not isinstance(error, OSError):
        text = f"internal error: {type(error).__name__}: {error}; please report it with "
        told = command is None or any(option.name == "verbose" for option in command.params)
        text += f"the output of {'-v and of ' if told else ''}heatess --version -v"
        verbose = verbose or not told
    if verbose and code == 1:
        traceback.print_exception(error)
    name = "heatess" if code == 130 else screen.styled("heatess", fg="red")
    screen.echo(f"{name}: {' '.join(text.split())}", err=True)
    return code


_version = click.version_option(__version__, message="heatess %(version)s")
_VERBOSE = "With --version: also say what heatess runs on, for bug reports."


_FIRST = """\b
Examples:
  heatess demo
  heatess profile points.csv -o report.html
"""


@click.group(
    cls=_Group, epilog=_FIRST, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("-v", "--verbose", is_flag=True, help=_VERBOSE)
@click.pass_context
def main(ctx: click.Context, version: bool, verbose: bool) -> None:
    """How many distinguishable particles do you have, at every scale?"""
    if version:
        click.echo(_about() if verbose else f"heatess {__version__}")
        ctx.exit()
    if verbose:
        raise click.UsageError("-v stands after a command, as in heatess profile FILE -v, or with --version", ctx)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _about() -> str:
    from .about import about

    return about()


_EXAMPLES = """\b
Examples:
  heatess profile particles.npy --log-weights logw.npy
  heatess profile quakes.csv --weights energy -o quakes.html
  heatess profile sky.csv --ra ra --dec dec --units rad --json -
  heatess profile embeddings.npy --normalize --resolutions 10:90:40
"""


@main.command(epilog=_EXAMPLES, short_help="Say how many separate points FILE holds, at every scale.")
@options.file
@options.reading
@options.scales
@options.accuracy
@options.band
@options.weights_are
@options.report
@options.results
@options.force
@options.bounds
@options.verbosity
@_version
def profile(file: str, **given: Any) -> None:
    """Profile the weighted points in FILE; "-" is standard input.

    Reads CSV and other text, Excel, zip, .npy, .npz, Parquet, JSON, shapefiles, QuakeML, FITS and HEALPix maps, HDF5,
    NetCDF, grids, graphs, RELION, trajectories, meshes and more; heatess inspect FILE says how. Prints gESS, the number
    of distinguishable points, and the occupied volume at about ten scales. A GRID of scales is START:STOP:COUNT
    (geometric) or a list such as 5,15,45; by default scales fit the cloud.
    """
    from . import profile_commands

    profile_commands.profile(file, given)


_SEVERAL = """\b
Examples:
  heatess compare before.npy after.npy -o both.html
  heatess compare winter.csv summer.csv --draws 999 --seed 1
"""


@main.command(epilog=_SEVERAL, short_help="Put files side by side, and say whether two of them differ.")
@options.files("files", "FILE FILE...")
@options.reading
@options.scales
@options.accuracy
@options.weights_are
@options.chance("Resamplings of the test of two files; 0 for no test. [500, fewer for large files]")
@options.report
@options.results
@options.force
@options.bounds
@options.verbosity
def compare(files: tuple[str, ...], **given: Any) -> None:
    """Profile several files at the same scales, and print gESS side by side.

    For two files it also says how often chance alone would make them differ as much.
    """
    from . import profile_commands

    profile_commands.compare(files, given)


_TESTS = """\b
Examples:
  heatess test orientations.star
  heatess test poles.csv --statistic bingham
  heatess test samples.npy --log-weights logw.npy --seed 1
"""


@main.command(epilog=_TESTS, short_help="Test whether the points in FILE are uniform.")
@options.file
@options.reading
@options.scales
@options.statistic
@options.weights_are
@options.chance("Random draws. [none where the limit for many points is good, else 999]")
@options.results
@options.force
@options.verbosity
def test(file: str, **given: Any) -> None:
    """Test whether the points in FILE are uniform: one p-value over several scales.

    Scales that are given must have been chosen before looking at the points.
    """
    from . import inference_commands

    inference_commands.test(file, given)


_THINNING = """\b
Examples:
  heatess thin particles.npy --size 200 --angle 10 -o few.npz
  heatess thin quakes.csv --error 0.01 --angle 5 -o few.csv
"""


@main.command(epilog=_THINNING, short_help="Keep fewer rows, with new weights, that say the same.")
@options.file
@options.thinned
@options.force
@click.option("--size", type=click.IntRange(1), metavar="N", help="How many points to keep.")
@click.option("--error", type=click.FloatRange(0, min_open=True), metavar="X", help="Or: how much gESS may change.")
@options.one_scale
@options.accuracy
@options.reading
@options.verbosity
def thin(file: str, **given: Any) -> None:
    """Keep some of the points in FILE, with new weights, so that little changes at one scale and above.

    Says by how much gESS may have changed at most.
    """
    from . import inference_commands

    inference_commands.thin(file, given)


_MODES = """\b
Examples:
  heatess modes quakes.csv -o labels.csv
"""


@main.command(epilog=_MODES, short_help="Find the modes of FILE, and the mode of each row.")
@options.file
@options.labelled
@options.force
@options.reading
@options.verbosity
def modes(file: str, **given: Any) -> None:
    """Find the modes of the points in FILE, wide and narrow ones, and the mode that each row belongs to.

    There are no more modes than draws support: peaks stand above their saddles by several standard errors.
    """
    from . import inference_commands

    inference_commands.modes(file, given)


_ALIKE = """\b
Examples:
  heatess redundancy sentences.parquet --resolution 20 --labels text
  heatess redundancy quakes.csv --angle 1 -o redundancy.csv
"""


@main.command(epilog=_ALIKE, short_help="List near duplicates: rows that are close to many others.")
@options.file
@options.one_scale
@click.option("--top", type=click.IntRange(1), default=20, metavar="N", help="How many rows to print. [20]")
@options.redundancies
@options.force
@options.accuracy
@options.reading
@options.verbosity
def redundancy(file: str, **given: Any) -> None:
    """List near duplicates: rows of FILE that are close to many others, at one scale.

    The redundancy of a row is 0 if it is by itself and near 1 among many. Of rows nearer to each
    other than the scale, the most redundant is printed, with its nearest neighbour.
    """
    from . import redundancy_command

    redundancy_command.redundancy(file, given)


_WHERE = """\b
Examples:
  heatess density quakes.csv -o quakes.geojson --levels 0.5,0.9
  heatess density posterior.csv -o map.fits
  heatess density directions.csv --angle 20 -o directions.png
"""


@main.command(epilog=_WHERE, short_help="Say where the mass is: a density, its regions, a map.")
@options.file
@options.one_scale
@options.accuracy
@options.maps
@options.force
@options.reading
@options.verbosity
def density(file: str, **given: Any) -> None:
    """Smooth the points in FILE to a density, and say how large the regions are that hold most of it.

    The scale is the one that cross-validation chooses, unless it is given. Maps are for points on the sphere, pictures
    also for circles, the plane and pairs of angles.
    """
    from . import density_command

    density_command.density(file, given)


_LOOKING = """\b
Examples:
  heatess inspect quakes.csv
  heatess inspect sky.csv --ra ra --dec dec --units rad
"""


@main.command(epilog=_LOOKING, short_help="Say what would be read from FILE: columns, space, units.")
@options.file
@options.reading
def inspect(file: str, **given: Any) -> None:
    """Say what would be read from FILE: columns, space, units, weights. Nothing is computed."""
    from . import profile_commands

    profile_commands.inspect(file, given)


_ANGLE: dict[str, Any] = {"type": options.degrees}
_SHARDS = """\b
Examples:
  heatess accumulate shard-07.parquet -o state-07.npz --finest 2
  heatess merge state-*.npz --angles 2:90:40 --json profile.json
  heatess accumulate today.csv -o all.npz --append
"""


@main.command(epilog=_SHARDS, short_help="Add data in parts to a state file.")
@options.files("shards", "SHARD...")
@options.state(required=True)
@options.force
@click.option("--append", is_flag=True, help="Add to the state file if it exists.")
@click.option("--max-degree", type=click.IntRange(2), metavar="N", help="Highest degree kept.")
@click.option("--finest", metavar="ANGLE", help="The finest scale that will be asked for, in degrees. [5]", **_ANGLE)
@options.reading
@options.verbosity
def accumulate(shards: tuple[str, ...], **given: Any) -> None:
    """Add the points of each SHARD to a state file.

    Reads points on the circle or the sphere, in pieces and with limited memory. The weights of all
    shards must be on one common scale. heatess merge adds up states of the same degree. The state
    file is written in one step at the end, so an interrupted run does not damage it.
    """
    from . import profile_commands

    profile_commands.accumulate(shards, given)


@main.command(epilog=_SHARDS, short_help="Add up state files, and profile the whole.")
@options.files("states", "STATE...")
@options.state()
@options.scales
@options.accuracy
@options.results
@options.force
@options.bounds
@options.verbosity
def merge(states: tuple[str, ...], **given: Any) -> None:
    """Merge state files and profile the result.

    With -o, and without options for scales or results, only the merged state is written.
    """
    from . import profile_commands

    profile_commands.merge(states, given)


_SHOWING = """\b
Examples:
  heatess demo
  heatess demo --out somewhere
"""


@main.command(epilog=_SHOWING, short_help="Show an example: resampling raises ESS, but not gESS.")
@options.directory("heatess-demo", "Directory for the report, the picture and the tables.")
def demo(out: Path, force: bool) -> None:
    """Show that resampling raises ordinary ESS, but not gESS.

    Run again, it replaces the files that it wrote, and no others.
    """
    from . import resampling_demo as story
    from .own_directory import Owned

    folder = Owned(out, force=force)
    folder.refuse_others(story.FILES)
    result = story.resampling()
    screen.echo(story.story(result), strong=True)
    written = story.write(result, out, folder.writing)
    screen.echo(f"\nwrote {', '.join(map(str, written))}")
    click.echo(f"To look at it, open {(out / 'report.html').resolve()} in a browser.")
    if not any(path.suffix == ".png" for path in written):
        click.echo(f"No picture: {missing_extra('matplotlib', 'plot')}", err=True)


_ONLY = "Some of: tables, clouds, profiles, asymptotics, replicates, truncation, snis, digits, theorems."


_REPEATING = """\b
Examples:
  heatess reproduce --quick
  heatess reproduce --only tables,theorems
"""


@main.command(epilog=_REPEATING, short_help="Make every table and figure of the paper, and check them.")
@options.directory("heatess-paper", "Directory for tables, figures and checks.")
@click.option("--only", metavar="NAME,...", help=_ONLY)
@click.option("--quick", is_flag=True, help="Fewer replicates; every published number is still checked.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, metavar="N", show_default=True, help="Seed of all random numbers."
)
@click.option("--no-progress", is_flag=True, help="No progress bar.")
def reproduce(out: Path, force: bool, only: str | None, quick: bool, seed: int, no_progress: bool) -> None:
    """Reproduce every table and figure of the paper, and check the published numbers.

    Prints our numbers next to the published ones, with their random spread. Takes about a minute;
    --quick takes half of that. Run again, it replaces the files that it wrote, and no others.
    """
    from .. import paper
    from .own_directory import Owned

    try:
        names = paper.EXPERIMENTS if only is None else paper.chosen(filter(None, map(str.strip, only.split(","))))
    except InputError as error:
        raise options.usage(f"--only {only!r}: {typed(error)}") from None
    folder = Owned(out, force=force)
    folder.refuse_others(paper.file_names(names))
    how: dict[str, Any] = {"quick": quick, "seed": seed, "progress": not no_progress, "draft_of": folder.writing}
    done = paper.reproduce(out, only=names, **how)
    click.echo(f"{done}\n\nwrote {', '.join(str(path) for path in done.written)}")
    if done.missing:
        click.echo(f"No figures: {done.missing}", err=True)


_COMPLETING = """\b
Examples:
  eval "$(heatess completion bash)"
  heatess completion fish
"""


@main.command(epilog=_COMPLETING, short_help="Print the script that completes commands in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes heatess commands and options in a SHELL.

    For bash, add to ~/.bashrc: eval "$(heatess completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(kind(main, {}, "heatess", "_HEATESS_COMPLETE").source())
