"""From options to measures and profiles, with notes and warnings on stderr."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from ..answers.profile_and_gess import heat_profile
from ..base.errors import MissingExtraError, missing_extras
from ..measures.measure import Measure
from ..profiles.heat_profile import HeatProfile
from ..readers import is_piped, open_table, read
from .messages import typed
from .options import chosen_columns, refuse_together
from .profile_output import Options, note
from .screen import warning


def reading_of(options: Options) -> dict[str, Any]:
    """The arguments of `read`; options that exclude each other are refused."""
    refuse_together(options, ("weights", "log_weights"))
    names = (
        "space",
        "units",
        "euler",
        "weights",
        "log_weights",
        "normalize",
        "drop_missing",
        "missing",
        "kind",
        "frame",
        "labels",
        "select",
    )
    chosen = {name: options[name] for name in names}
    given = {"columns": chosen_columns(options), "area": not options["no_area"], **chosen}
    if options["xyz"] and given["space"] is None and given["euler"] is None:
        given["space"] = "sphere"  # which the option says, even where four columns might be a quaternion
    return given


def measure_of(source: Any, options: Options) -> Measure:
    """The points of a file or a table, with a note of what was read."""
    measure = read(source, **reading_of(options), progress=shows_progress(options))
    if measure.origin is not None:
        note(options, f"{measure.origin.source}: {typed(measure.origin.description)}")
    return measure


def all_missing(error: MissingExtraError, options: Options) -> MissingExtraError:
    """One error for every package that is missing for the files of a command and its picture."""
    needs = dict(error.needs)
    files = [options.get("file"), *options.get("files", ()), *options.get("shards", ())]
    for file in files:
        if file is not None and not is_piped(file):
            with suppress(Exception):  # which is another fault, and may be told once this one is gone
                try:
                    open_table(file)
                except MissingExtraError as found:
                    needs |= found.needs
    if options.get("plot_file") and find_spec("matplotlib") is None:
        needs["matplotlib"] = "plot"
    return missing_extras(needs) if len(needs) > len(error.needs) else error


def profiled(measure: Measure, kind: str, scales: Any, options: Options, heard: list[str] | None = None) -> HeatProfile:
    """The profile; its warnings are printed, and added to those *heard*."""
    how: dict[str, Any] = {"rtol": options["rtol"], "progress": shows_progress(options)}
    if scales is not None:
        how[f"{kind}s"] = scales
    with warnings_printed(heard):
        return heat_profile(measure, **how)


@contextmanager
def warnings_printed(heard: list[str] | None = None) -> Iterator[None]:
    """Print the warnings of this block at its end, in words of the command line, and add them to those *heard*."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for one in caught:
        text = typed(one.message)
        warning(text)
        if heard is not None:
            heard.append(text)


def shows_progress(options: Options) -> bool:
    """Whether bars are wanted."""
    return not (options["quiet"] or options["no_progress"])
