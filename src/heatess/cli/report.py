"""What `profile -o` and `compare -o` write: a report of what was read and computed, and where it came from."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..base.progress import Progress
from ..drawing.axes import plain
from ..inference.comparison import Comparison
from ..measures.measure import Measure
from ..profiles.heat_profile import HeatProfile
from ..readers import is_piped, title_of
from ..tables.units import IN_WORDS
from .inputs import shows_progress, warnings_printed
from .messages import typed
from .profile_output import Options

if TYPE_CHECKING:
    from ..reporting.mass import Asked

#: Files up to this size, in bytes, get a checksum, which takes a second or two.
MOST_BYTES = 2**31


def page_writer(
    profiles: Mapping[str, HeatProfile],
    measures: Mapping[str, Measure],
    files: Sequence[str],
    options: Options,
    *,
    comparison: Comparison | None = None,
    notes: Sequence[str] = (),
    asked: Asked | None = None,
) -> Callable[[Path], Any]:
    """A function that writes the report to a file."""

    def write(draft: Path) -> None:
        from ..reporting import page_of

        with warnings_printed(), Progress(shows_progress(options)).told("report"):
            text = page_of(
                {name: (profile, measures[name]) for name, profile in profiles.items()},
                comparison=comparison,
                no_comparison="" if comparison is not None or len(files) != 2 else "it was not made; see --draws",
                weights_are=options["weights_are"],
                rtol=options["rtol"],
                notes=[*notes, *_notes(measures, options)],
                provenance=dict(provenance(files, measures)),
                spelled=typed,
                asked=asked,
            )
        draft.write_text(text, encoding="utf-8", errors="replace")

    return write


def _notes(measures: Mapping[str, Measure], options: Options) -> list[str]:
    """What options have decided that the data left open."""
    said = []
    origins = [measure.origin for measure in measures.values() if measure.origin is not None]
    if options["units"] and any(origin.units for origin in origins):
        unit = IN_WORDS.get(options["units"], options["units"])
        said.append(f"Angles were read as {unit} because --units {options['units']} says so.")
    if options["normalize"]:
        said.append("Vectors were scaled to unit length because of --normalize.")
    return said


def provenance(files: Sequence[str], measures: Mapping[str, Measure]) -> list[tuple[str, str]]:
    """The command, the version, and each file with its size, checksum and columns."""
    words = click.get_current_context().find_root().obj
    found = [("Command", shlex.join(["heatess", *words]))] if words else []
    found.append(("Version", f"heatess {__version__}"))
    for place, (file, measure) in enumerate(zip(files, measures.values(), strict=True)):
        which = f" {place + 1}" if len(files) > 1 else ""
        found.append((f"File{which}", title_of(file) if is_piped(file) else file))
        found += [(f"{label}{which}", value) for label, value in file_facts(file)]
        origin = measure.origin
        if origin is not None:
            found.append(
                (f"Columns{which}", ", ".join(origin.columns) if len(origin.columns) < 20 else _range(origin.columns))
            )
            found.append((f"Weights{which}", origin.weights or "equal"))
    return found


def _range(columns: Sequence[str]) -> str:
    return f"{columns[0]} ... {columns[-1]} ({len(columns)} columns)"


def file_facts(file: str) -> list[tuple[str, str]]:
    """Size and checksum of a file; nothing for what is no file of its own."""
    if not os.path.isfile(file):
        return []
    size = os.path.getsize(file)
    facts = [("Size", f"{plain(size)} bytes" if size < 1000 else f"{size:,} bytes")]
    if size > MOST_BYTES:
        return [*facts, ("SHA-256", "not computed: the file is large")]
    with open(file, "rb") as stream:
        return [*facts, ("SHA-256", hashlib.file_digest(stream, "sha256").hexdigest())]
