"""The scales of a profile; then print it, save it, and compare it with its bounds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ..errors import InputError, missing_extra
from ..files import atomic_path, refuse_same_files
from ..profile import HeatProfile
from ..scales import ANGLE_DIMENSION, DEFAULT_ANGLES
from .options import STDOUT, Bound, refuse_together, usage
from .text import CAVEAT, profile_csv, profile_table, verdict

Options = Mapping[str, Any]


class BoundNotMet(click.ClickException):
    """The result is below a --fail-under bound."""

    exit_code = 4


def check(sources: Iterable[str], options: Options) -> None:
    """Refuse conflicting options, and outputs that cannot be written, before anything is read."""
    refuse_together(options, ("angles", "times", "resolutions"), ("quiet", "verbose"))
    keep_apart(sources, options)
    if options["plot_file"] and find_spec("matplotlib") is None:
        raise missing_extra("matplotlib", "plot")


def keep_apart(sources: Iterable[str], options: Options) -> None:
    """Refuse any output of a command that is one of its inputs, or another of its outputs."""
    weights = [options.get(name) for name in ("weights", "log_weights")]  # which may be files
    inputs = [*sources, *(name for name in weights if name and os.path.isfile(name))]
    outputs = [options.get(name) for name in ("out", "json_file", "csv_file", "plot_file")]
    try:
        refuse_same_files(inputs, [path for path in outputs if path is not None])
    except InputError as error:
        raise usage(str(error)) from None


def scales_of(options: Options, dim: int) -> tuple[str, Any]:
    """The kind of scale, by default angles or above ten dimensions resolutions, and its grid; refuses other bounds."""
    asked = [kind for kind in ("angle", "time", "resolution") if options[f"{kind}s"]]
    kind = asked[0] if asked else "resolution" if dim > ANGLE_DIMENSION else "angle"
    for bound in options["fail_under"]:
        reason = None
        if kind == "time" and bound.in_degrees:
            reason = "the profile is at --times, so write the time without deg, such as gess@0.01=50"
        elif kind != "time" and not bound.in_degrees:
            reason = "add the unit, such as gess@20deg=50"
        elif kind == "resolution" and bound.scale >= 180:
            reason = "a resolution is below 180 degrees"
        if reason:
            raise usage(f"--fail-under {bound.text!r}: {reason}")
    return kind, options[f"{kind}s"] or DEFAULT_ANGLES


def deliver(
    result: HeatProfile, kind: str, title: str, options: Options, compute: Callable[[Sequence[float]], HeatProfile]
) -> None:
    """Print and save the result, and compare it with its bounds.

    *kind* is the kind of scale of the profile, *title* the title of the picture; *compute* profiles other scales.
    """
    if options["json_file"] == STDOUT:
        click.echo(result.to_json())
    elif options["csv_file"] == STDOUT:
        click.echo(profile_csv({"": result}), nl=False)
    else:
        click.echo(f"{verdict(result)}\n\n{profile_table(result)}")
        if not options["quiet"]:
            click.echo(f"\n{CAVEAT}")
    _save_all(result, title, options)
    unmet = [_unmet(bound, result, kind, compute) for bound in options["fail_under"]]
    if any(unmet):
        raise BoundNotMet("; ".join(filter(None, unmet)))


def _save_all(result: HeatProfile, title: str, options: Options) -> None:
    def draw(draft: Path) -> None:
        ax = result.plot()
        ax.set_title(title, parse_math=False)
        figure: Any = ax.figure
        figure.savefig(draft, dpi=150)

    writers: dict[str, Callable[[Path], Any]] = {
        "json_file": lambda draft: draft.write_text(result.to_json() + "\n", encoding="utf-8"),
        "csv_file": lambda draft: draft.write_text(profile_csv({"": result}), encoding="utf-8"),
        "plot_file": draw,
    }
    for name, write in writers.items():
        path = options[name]
        if path not in (None, STDOUT):
            with writing(path), atomic_path(path) as draft:
                write(draft)
            note(options, f"wrote {path}")


def _unmet(bound: Bound, result: HeatProfile, kind: str, compute: Callable[[Sequence[float]], HeatProfile]) -> str:
    """The message if the result is below the bound, exactly at the scale of the bound; empty otherwise."""
    scale: dict[str, Any] = {kind: bound.scale}
    try:
        found = getattr(result.at(**scale), bound.quantity)
    except InputError:  # the profile is not accurate enough at this scale
        found = getattr(compute([bound.scale]).at(**scale), bound.quantity)
    if found >= bound.least:
        return ""
    unit = "" if kind == "time" else " deg"
    return (
        f"--fail-under {bound.text} is not met: {bound.quantity} at {kind} {bound.scale:g}{unit} is {found:.6g}, "
        f"but at least {bound.least:g} was asked for"
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say which file could not be written in this block, and why."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror or error}") from error


def note(options: Options, text: str) -> None:
    """Print *text* on stderr, unless --quiet was given."""
    if not options["quiet"]:
        click.echo(text, err=True)
