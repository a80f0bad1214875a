"""The scales of a profile; then print it, save it, and compare it with its bounds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ..base.errors import InputError, missing_extra
from ..base.files import atomic_path, is_stream, refuse_same_files
from ..drawing import axes
from ..inference.policy import NO_DRAWS
from ..measures.scales import ANGLE_DIMENSION
from ..profiles.heat_profile import HeatProfile
from ..spaces.base import Space
from .messages import typed
from .options import STDOUT, Bound, refuse_together, usage
from .screen import echo
from .text import CAVEAT, comparison, modes_sentence, profile_csv, profile_table, verdict

Options = Mapping[str, Any]


#: The options that are files to write.
OUTPUTS = ("out", "json_file", "csv_file", "plot_file", "report_file")


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
    """Refuse any output of a command that is one of its inputs, another of its outputs, or there already."""
    weights = [options.get(name) for name in ("weights", "log_weights")]  # which may be files
    inputs = [
        *(source for source in sources if source != str(STDOUT)),
        *(name for name in weights if name and os.path.isfile(name)),
    ]
    outputs = [path for name in OUTPUTS if (path := options.get(name)) is not None and not is_stream(path)]
    try:
        refuse_same_files(inputs, outputs)
    except InputError as error:
        raise usage(typed(error)) from None
    if not (options["force"] or options.get("append")):
        _refuse_existing(outputs, "append" in options)


def _refuse_existing(outputs: Iterable[Path], may_append: bool) -> None:
    """Refuse to replace files, with what to type."""
    found = [str(path) for path in outputs if path != STDOUT and path.exists()]
    if not found:
        return
    exist, them = ("exists", "it") if len(found) == 1 else ("exist", "them")
    add = (
        f"add --append to add to {them}, --force to replace {them}" if may_append else f"add --force to replace {them}"
    )
    raise usage(f"{' and '.join(found)} {exist}; {add}, or give another name")


class Facts(NamedTuple):
    """What is known about the points of a profile."""

    title: str  #: of the picture
    about: str  #: earth, sky, ...
    equal: bool  #: whether all weights are
    even: Sequence[float]  #: gESS of the same atoms equally weighted, at the rows shown


class Also(NamedTuple):
    """A further result, delivered with profiles: "population" of --band, or the "test" of two files."""

    name: str
    result: Any
    text: str


def scales_of(options: Options, space: Space) -> tuple[str, Any]:
    """The kind of scale, and its grid, None for one that fits the cloud; refuses bounds of another kind.

    By default scales are angles, above ten dimensions resolutions, and times where distances are no angles.
    """
    asked = [kind for kind in ("angle", "time", "resolution") if options[f"{kind}s"]]
    usual = "time" if not space.angular else "resolution" if space.dim > ANGLE_DIMENSION else "angle"
    kind = asked[0] if asked else usual
    for bound in options.get("fail_under", ()):
        reason = None
        if kind == "time" and bound.in_degrees:
            reason = "scales here are times, so write the time without deg, such as gess@0.01=50"
        elif kind != "time" and space.angular and not bound.in_degrees:
            reason = "add the unit, such as gess@20deg=50"
        elif kind == "resolution" and bound.scale >= 180:
            reason = "a resolution is below 180 degrees"
        if reason:
            raise usage(f"--fail-under {bound.text!r}: {reason}")
    return kind, options[f"{kind}s"] or None


def fitted(result: HeatProfile, kind: str, about: str = "") -> str:
    """Which scales were chosen."""
    values = np.sort(getattr(result, f"{kind}s") if kind != "time" else result.angles)
    km = about == "earth" and not result.space.angular
    unit = " degrees" if result.space.angular else " km" if km else ""
    name = "distance sqrt(8 t)" if kind == "time" else kind
    return (
        f"{len(values)} scales that fit the cloud, {name} {values[0]:.4g} to {values[-1]:.4g}{unit}; choose others "
        f"with {'--angles, such as 100km' if km else f'--{kind}s'}"
    )


def deliver(
    result: HeatProfile,
    kind: str,
    facts: Facts,
    options: Options,
    compute: Callable[[Sequence[float]], HeatProfile],
    also: Also | None = None,
    report: Callable[[Path], Any] | None = None,
) -> None:
    """Print and save the result, and compare it with its bounds.

    *kind* is the kind of scale of the profile; *compute* profiles other scales; *also* is what --band adds; *report*
    writes the report.
    """
    if options["json_file"] == STDOUT:
        click.echo(_json({"": result}, also))
    elif options["csv_file"] == STDOUT:
        click.echo(profile_csv({"": result}, also.result if also else None), nl=False)
    else:
        words = verdict(result, equal=facts.equal, about=facts.about)
        echo(f"{words}\n\n{profile_table(result, about=facts.about, even=facts.even)}", strong=True)
        if not options["quiet"] and (modes := modes_sentence(result)):
            echo(f"\n{modes}")
        posterior = facts.about in ("sky", "directions", "rotations") and result.known.kind not in NO_DRAWS
        if not options["quiet"] and not facts.equal and posterior:
            echo(f"\n{CAVEAT}")
        if also is not None:
            echo(f"\n{also.text}")
    _save_all({"": result}, facts.title, options, also, report)
    unmet = [_unmet(bound, result, kind, compute) for bound in options["fail_under"]]
    if any(unmet):
        raise BoundNotMet("; ".join(filter(None, unmet)))


def deliver_several(
    results: Mapping[str, HeatProfile],
    kind: str,
    options: Options,
    compute: Callable[[str, Sequence[float]], HeatProfile],
    also: Also | None = None,
    report: Callable[[Path], Any] | None = None,
) -> None:
    """Print several profiles at the same scales side by side, save them, and compare each with its bounds.

    *compute* profiles one of them, by its name, at other scales; *also* is the test of two of them; *report* writes
    the report.
    """
    if options["json_file"] == STDOUT:
        click.echo(_json(results, also))
    elif options["csv_file"] == STDOUT:
        click.echo(profile_csv(dict(results)), nl=False)
    else:
        echo(comparison(results), strong=True)
        if also is not None:
            echo(f"\n{also.text}")
    _save_all(results, "", options, also, report)
    unmet = []
    for name, result in results.items():
        found = [_unmet(bound, result, kind, partial(compute, name)) for bound in options["fail_under"]]
        unmet += [f"{name}: {text}" for text in found if text]
    if unmet:
        raise BoundNotMet("; ".join(unmet))


def _json(results: Mapping[str, HeatProfile], also: Also | None) -> str:
    """One profile, or several by their names; what is added has a name of its own, which no file has."""
    profiles: dict[str, Any] = {name: json.loads(result.to_json()) for name, result in results.items()}
    found = profiles[""] if list(profiles) == [""] else profiles
    return json.dumps(found | ({} if also is None else {also.name: json.loads(also.result.to_json())}))


def _save_all(
    results: Mapping[str, HeatProfile],
    title: str,
    options: Options,
    also: Also | None,
    report: Callable[[Path], Any] | None,
) -> None:
    def draw(draft: Path) -> None:
        ax = None
        for name, result in results.items():
            ax = result.plot(ax, **({"label": name} if name else {}))
        if also is not None and also.name == "population":
            ax = also.result.plot(ax)
        if ax is not None:
            if len(results) > 1:
                ax.legend()
            ax.set_title(title, parse_math=False)
            axes.save(ax, draft)

    bands = also.result if also is not None and also.name == "population" else None
    writers: dict[str, Callable[[Path], Any]] = {
        "json_file": lambda draft: draft.write_text(_json(results, also) + "\n", encoding="utf-8"),
        "csv_file": lambda draft: draft.write_text(profile_csv(dict(results), bands), encoding="utf-8"),
        "plot_file": draw,
    }
    save(writers | ({} if report is None else {"report_file": report}), options)


def save(writers: Mapping[str, Callable[[Path], Any]], options: Options) -> None:
    """Write the files that were asked for, each in one step."""
    for name, write in writers.items():
        path = options[name]
        if path not in (None, STDOUT):
            with writing(path), atomic_path(path, replace=options["force"]) as draft:
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
        echo(text, err=True)
