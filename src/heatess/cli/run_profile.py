"""What `heatess profile` does between its options and its output."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ..errors import InputError, missing_extra
from ..files import atomic_path
from ..profile import HeatProfile, heat_profile
from ..readers import Cloud, ReadOptions, read
from ..scales import ANGLE_DIMENSION, DEFAULT_ANGLES
from .options import STDOUT, Bound, check_outputs, refuse_together
from .text import CAVEAT, profile_csv, profile_table, verdict

Options = Mapping[str, Any]


class BoundNotMet(click.ClickException):
    """A --fail-under bound that the result does not reach."""

    exit_code = 4


def run(file: str, options: Options) -> None:
    """Read, compute, print, save, and hold the result against its bounds."""
    _check(file, options)
    names = ("xyz", "lon", "lat", "units", "weights", "log_weights", "normalize")
    cloud = read(file, options=ReadOptions(**{name: options[name] for name in names}))
    _note(options, f"{cloud.source}: {cloud.description}")
    kind, grid = _scales(cloud, options)
    for bound in options["fail_under"]:
        _check_bound(bound, kind)
    started = time.perf_counter()
    result = _compute(cloud, kind, grid, options)
    if options["verbose"]:
        _note(options, f"{time.perf_counter() - started:.2f} s: {result!r}")
    _print(result, options)
    _save_all(result, cloud, options)
    unmet = [_unmet(bound, result, cloud, kind, options) for bound in options["fail_under"]]
    if any(unmet):
        raise BoundNotMet("; ".join(filter(None, unmet)))


def _check(file: str, options: Options) -> None:
    """What can be refused before anything is read."""
    for names in (
        ("angles", "times", "resolutions"),
        ("weights", "log_weights"),
        ("xyz", "lon"),
        ("xyz", "lat"),
        ("quiet", "verbose"),
    ):
        refuse_together(options, *names)
    check_outputs(file, [options["json_file"], options["csv_file"], options["plot_file"]])
    if options["plot_file"] and find_spec("matplotlib") is None:
        raise missing_extra("matplotlib", "plot")


def _scales(cloud: Cloud, options: Options) -> tuple[str, Any]:
    """Which kind of scale the profile is on, and its grid."""
    for kind in ("angle", "time", "resolution"):
        if options[f"{kind}s"]:
            return kind, options[f"{kind}s"]
    high = cloud.points.shape[1] - 1 > ANGLE_DIMENSION
    return "resolution" if high else "angle", DEFAULT_ANGLES


def _compute(cloud: Cloud, kind: str, grid: Any, options: Options) -> HeatProfile:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = heat_profile(
            cloud.points,
            cloud.weights,
            log_weights=cloud.log_weights,
            rtol=options["rtol"],
            progress=not (options["quiet"] or options["no_progress"]),
            **{f"{kind}s": grid},
        )
    for warning in caught:
        text = str(warning.message).replace("resolutions=", "--resolutions")
        click.echo(f"heatess: warning: {text}", err=True)
    return result


def _print(result: HeatProfile, options: Options) -> None:
    """The result on stdout: JSON or CSV alone if asked for, else words and a table."""
    if options["json_file"] == STDOUT:
        click.echo(result.to_json())
    elif options["csv_file"] == STDOUT:
        click.echo(profile_csv({"": result}), nl=False)
    else:
        click.echo(f"{verdict(result)}\n\n{profile_table(result)}")
        if not options["quiet"]:
            click.echo(f"\n{CAVEAT}")


def _save_all(result: HeatProfile, cloud: Cloud, options: Options) -> None:
    def draw(draft: Path) -> None:
        ax = result.plot()
        ax.set_title(Path(cloud.source).name, parse_math=False)
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
        _note(options, f"wrote {path}")


def _check_bound(bound: Bound, kind: str) -> None:
    """A bound speaks of the same kind of scale as the profile."""
    reason = None
    if kind == "time" and bound.in_degrees:
        reason = "the profile is at --times, so write the time without deg, such as gess@0.01=50"
    elif kind != "time" and not bound.in_degrees:
        reason = "say which unit, such as gess@20deg=50"
    elif kind == "resolution" and bound.scale >= 180:
        reason = "a resolution is below 180 degrees"
    if reason:
        raise click.UsageError(f"--fail-under {bound.text!r}: {reason}", click.get_current_context())


def _unmet(bound: Bound, result: HeatProfile, cloud: Cloud, kind: str, options: Options) -> str | None:
    """What is wrong if the result is below the bound, at exactly the bound's scale."""
    scale: dict[str, Any] = {kind: bound.scale}
    try:
        found = getattr(result.at(**scale), bound.quantity)
    except InputError:  # a scale that the levels of the profile do not certify
        found = getattr(_compute(cloud, kind, [bound.scale], options).at(**scale), bound.quantity)
    if found >= bound.least:
        return None
    unit = "" if kind == "time" else " deg"
    return (
        f"--fail-under {bound.text} is not met: {bound.quantity} at {kind} {bound.scale:g}{unit} is {found:.6g}, "
        f"but at least {bound.least:g} was asked for"
    )


def _note(options: Options, text: str) -> None:
    if not options["quiet"]:
        click.echo(text, err=True)
