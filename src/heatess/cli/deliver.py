"""Print a profile, save it, and compare it with its bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ..errors import InputError, missing_extra
from ..files import atomic_path
from ..profile import HeatProfile
from .options import STDOUT, Bound, check_outputs, refuse_together
from .text import CAVEAT, profile_csv, profile_table, verdict

Options = Mapping[str, Any]


class BoundNotMet(click.ClickException):
    """The result is below a --fail-under bound."""

    exit_code = 4


def check(sources: Iterable[str], options: Options, others: Iterable[Path | None] = ()) -> None:
    """Refuse conflicting options, and outputs that cannot be written, before anything is read."""
    for names in (("angles", "times", "resolutions"), ("quiet", "verbose")):
        refuse_together(options, *names)
    outputs = [options["json_file"], options["csv_file"], options["plot_file"], *others]
    for source in sources:
        check_outputs(source, outputs)
    if options["plot_file"] and find_spec("matplotlib") is None:
        raise missing_extra("matplotlib", "plot")


def deliver(
    result: HeatProfile, kind: str, title: str, options: Options, compute: Callable[[float], HeatProfile]
) -> None:
    """Print and save the result, and compare it with its bounds.

    *kind* is the kind of scale of the profile, *title* the title of the picture; *compute* profiles one more scale.
    """
    _print(result, options)
    _save_all(result, title, options)
    unmet = [_unmet(bound, result, kind, compute) for bound in options["fail_under"]]
    if any(unmet):
        raise BoundNotMet("; ".join(filter(None, unmet)))


def _print(result: HeatProfile, options: Options) -> None:
    """Print the result: only JSON or only CSV if asked for, otherwise a sentence and a table."""
    if options["json_file"] == STDOUT:
        click.echo(result.to_json())
    elif options["csv_file"] == STDOUT:
        click.echo(profile_csv({"": result}), nl=False)
    else:
        click.echo(f"{verdict(result)}\n\n{profile_table(result)}")
        if not options["quiet"]:
            click.echo(f"\n{CAVEAT}")


def _save_all(result: HeatProfile, title: str, options: Options) -> None:
    def draw(draft: Path) -> None:
        ax = result.plot()
        ax.set_title(title, parse_math=False)
        figure: Any = ax.figure
        figure.savefig(draft, dpi=150)

    writers: tuple[tuple[str, Callable[[Path], Any]], ...] = (
        ("json_file", lambda draft: draft.write_text(result.to_json() + "\n", encoding="utf-8")),
        ("csv_file", lambda draft: draft.write_text(profile_csv({"": result}), encoding="utf-8")),
        ("plot_file", draw),
    )
    for name, writer in writers:
        path = options[name]
        if path is None or path == STDOUT:
            continue
        try:
            with atomic_path(path) as draft:
                writer(draft)
        except OSError as error:
            raise click.ClickException(f"cannot write {path}: {error.strerror or error}") from error
        note(options, f"wrote {path}")


def check_bounds(bounds: Iterable[Bound], kind: str) -> None:
    """Refuse bounds whose kind of scale is not that of the profile."""
    for bound in bounds:
        reason = None
        if kind == "time" and bound.in_degrees:
            reason = "the profile is at --times, so write the time without deg, such as gess@0.01=50"
        elif kind != "time" and not bound.in_degrees:
            reason = "add the unit, such as gess@20deg=50"
        elif kind == "resolution" and bound.scale >= 180:
            reason = "a resolution is below 180 degrees"
        if reason:
            raise click.UsageError(f"--fail-under {bound.text!r}: {reason}", click.get_current_context())


def _unmet(bound: Bound, result: HeatProfile, kind: str, compute: Callable[[float], HeatProfile]) -> str | None:
    """The message if the result is below the bound, exactly at the scale of the bound; None otherwise."""
    scale: dict[str, Any] = {kind: bound.scale}
    try:
        found = getattr(result.at(**scale), bound.quantity)
    except InputError:  # the profile is not accurate enough at this scale
        found = getattr(compute(bound.scale).at(**scale), bound.quantity)
    if found >= bound.least:
        return None
    unit = "" if kind == "time" else " deg"
    return (
        f"--fail-under {bound.text} is not met: {bound.quantity} at {kind} {bound.scale:g}{unit} is {found:.6g}, "
        f"but at least {bound.least:g} was asked for"
    )


def note(options: Options, text: str) -> None:
    """Print *text* on stderr, unless --quiet was given."""
    if not options["quiet"]:
        click.echo(text, err=True)
