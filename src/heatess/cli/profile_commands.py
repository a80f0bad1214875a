"""The work of `heatess profile`, `heatess accumulate` and `heatess merge`."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..base.errors import FrameWarning, InputError
from ..base.files import repeated
from ..base.known import SKY, frame_in_words
from ..base.messages import Message
from ..base.progress import Progress
from ..drawing.axes import plain
from ..inference.mmd import in_one_frame
from ..measures.measure import Measure
from ..measures.scales import DEFAULT_ANGLES, times_of_angles
from ..parts.accumulator import Accumulator, check_replaceable, degree_for
from ..parts.sums import part_named
from ..profiles.default_scales import common_scales, fitting_scales
from ..profiles.heat_profile import HeatProfile
from ..readers import from_file, is_piped, open_table, read, title_of
from ..readers.package_readers import split_label
from ..tables.column_meaning import Reading
from ..tables.points_and_weights import Taken, take, taken_from
from ..tables.text_angles import with_angles
from .inputs import measure_of, profiled, reading_of, shows_progress, warnings_printed
from .kilometres import on_earth, refuse_kilometres
from .messages import typed
from .options import refuse_together, usage
from .profile_output import (
    Also,
    Facts,
    Options,
    check,
    deliver,
    deliver_several,
    fitted,
    keep_apart,
    note,
    scales_of,
    writing,
)
from .screen import warning
from .text import column_table, known_in_words, shown_rows

#: Rows of a shard read at a time.
ROWS_OF_A_SHARD = 2**20


def profile(file: str, options: Options) -> None:
    """Read, compute, print, save, and compare the result with its bounds."""
    check([file], options)
    measure = measure_of(file, options)
    options = on_earth(options, measure)
    kind, grid = scales_of(options, measure.space)
    heard: list[str] = []
    started = time.perf_counter()
    result = profiled(measure, kind, grid, options, heard)
    taken = time.perf_counter() - started
    if grid is None:
        note(options, fitted(result, kind, measure.about))
    if options["verbose"]:
        note(options, f"{taken:.2f} s: {result!r}")
    even: Sequence[float] = ()
    if measure.ess < 0.999 * measure.n:
        from ..reporting.computed import even_of

        equal = even_of(measure, result.times[shown_rows(result)], {})
        even = () if equal is None else equal.tolist()
    facts = Facts(title_of(file), measure.about, measure.ess == measure.n, even)
    also = None
    if options["band"]:
        from .inference_commands import band_table, banded

        found = banded(measure, result, options)
        also = None if found is None else Also("population", found, band_table(result, found))
    report = None
    if options["report_file"]:
        from .report import page_writer

        name = title_of(file)
        report = page_writer({name: result}, {name: measure}, [file], options, notes=heard)
    deliver(result, kind, facts, options, lambda scales: profiled(measure, kind, scales, options), also, report)


def compare(files: Sequence[str], options: Options) -> None:
    """Profile several files at the same scales, and put the curves side by side."""
    check(files, options)
    if len(files) < 2:
        raise usage("compare needs two files or more; for one, type: heatess profile")
    _refuse_repeats(files)
    measures = {_label(file, files): measure_of(file, options) for file in files}
    first = next(iter(measures.values()))
    for name, measure in measures.items():
        if measure.space != first.space:
            raise InputError(
                f"{name} holds points on <!{measure.space!r}!>, but {files[0]} on <+{first.space!r}+>; compare like "
                "with like"
            )
    measures = _in_one_frame(measures)
    options = on_earth(options, *measures.values())
    kind, grid = scales_of(options, first.space)
    given = grid is not None
    if grid is None:
        grid = getattr(common_scales(list(measures.values())), f"{kind}s")
    heard: list[str] = []
    results = {name: profiled(measure, kind, grid, options, heard) for name, measure in measures.items()}
    also = found = None
    if len(files) == 2:
        from .inference_commands import compared, in_a_sentence

        found = compared(measures, options, {f"{kind}s": grid} if given else {})
        if found is not None:
            name, result = ("comparison", found) if found.test is None else ("test", found.test)
            also = Also(name, result, in_a_sentence(found))
    report = None
    if options["report_file"]:
        from .report import page_writer

        report = page_writer(results, measures, files, options, comparison=found, notes=heard)
    compute = lambda name, scales: profiled(measures[name], kind, scales, options)  # noqa: E731
    deliver_several(results, kind, options, compute, also, report)


def _in_one_frame(measures: dict[str, Measure]) -> dict[str, Measure]:
    """All in the frame of the first one; what was turned, and how, is printed."""
    with warnings_printed():
        return dict(zip(measures, in_one_frame(list(measures.values()), list(measures)), strict=True))


def inspect(file: str, options: Options) -> None:
    """Say what would be read, and compute nothing."""
    table = with_angles(open_table(file), Reading(**reading_of(options)))
    count, noun = len({*table.names, *table.lists, *table.texts}), "variables" if table.axes else "columns"
    click.echo(f"{table.source}: {count} {noun}{f', {typed(Message(table.note))}' if table.note else ''}")
    click.echo(column_table(table))
    measure = read(table, **reading_of(options))
    origin = measure.origin
    click.echo(f"\n{typed(origin.description) if origin else ''}\nspace: {measure.space!r}")
    read_as = "radians" if measure.known.units == "rad" else "degrees"
    if origin is not None and origin.written not in ("", read_as):
        click.echo(f"angles: {origin.written} in the file, read as {read_as}")
    click.echo(f"known: {known_in_words(measure.known)}")
    click.echo(f"points: {measure.n:,}, ordinary ESS {plain(measure.ess)}")
    scales = fitting_scales(measure)
    kind = "resolution" if scales.resolutions is not None else "angle" if measure.space.angular else "time"
    values, unit = getattr(scales, f"{kind}s"), ""
    if kind == "time" and measure.about == "earth":
        kind, values, unit = "distance", scales.angles, " km"
    click.echo(f"default scales: {len(values)} {kind}s from {values[0]:.4g} to {values[-1]:.4g}{unit}")


def _label(file: str, files: Sequence[str]) -> str:
    """The name of a file, or its path if another has the same name."""
    same = [other for other in files if title_of(other) == title_of(file)]
    return title_of(file) if len(same) == 1 else file


def accumulate(shards: Sequence[str], options: Options) -> None:
    """Add all shards to a new or an existing state; the file is written once, at the end."""
    refuse_together(options, ("max_degree", "finest"), ("force", "append"), ("quiet", "verbose"))
    reading = Reading(**reading_of(options))
    keep_apart(shards, options)
    _refuse_repeats(shards)
    opened = {shard: open_table(shard) for shard in shards if is_piped(shard)}  # which can be read once only
    for shard in shards:
        open_table(opened.get(shard, shard))  # refuses what cannot be read, before the first shard is
    arrays = sum(Path(shard).suffix.lower() == ".npy" for shard in shards)
    for option, name in (("--weights", reading.weights), ("--log-weights", reading.log_weights)):
        if name and name != "none" and arrays > 1:
            raise usage(f"{option} {name} cannot belong to {arrays} .npy shards; add one at a time with --append")
    state, seen = _existing(options)
    started = time.perf_counter()
    bar = Progress(shows_progress(options))
    with bar.meter(sum(map(_size, shards)), "accumulate") as advance:
        weighted: dict[bool, str] = {}
        for shard in shards:
            state, last = _added(state, shard, opened.get(shard, shard), reading, options, advance)
            if last is not None and not weighted:
                note(
                    options, f"{last.origin.source}: {typed(Message(last.origin.description.marked.partition(' ')[2]))}"
                )
            if last is not None:
                _refuse_mixed(weighted, shard, last.weights is not None or last.log_weights is not None)
    if state is None:
        raise InputError.lacking("there are no rows in any shard")
    _write(state, options, seen)
    if options["verbose"]:
        note(options, f"{time.perf_counter() - started:.2f} s: {state!r}")


def merge(states: Sequence[str], options: Options) -> None:
    """Add up all states, then write the sum, profile it, or both."""
    out: Path | None = options["out"]
    check(states, options)
    _refuse_repeats(states)
    if out is not None:
        _refuse_other_files(out)
    whole: Accumulator | None = None
    seen: dict[str, str] = {}
    for path in Progress(shows_progress(options)).track(states, "merge"):
        part = Accumulator.load(path)
        twin = seen.setdefault(part.checksum(), path)
        if twin != path:
            warning(
                f"{twin} and {path} hold exactly the same state; if one is a copy of the other, its points are counted "
                "twice: leave one out"
            )
        if whole is not None and None in (part.frame, whole.frame):  # others are refused
            _say_frames(path, part.frame, whole)
        with part_named(path):
            whole = part if whole is None else whole + part
    if whole is None or whole.space is None:
        return
    asked = ("angles", "times", "resolutions", "json_file", "csv_file", "plot_file", "fail_under")
    refuse_kilometres(options, "states do not say whether points are on the Earth")
    kind, grid = scales_of(options, whole.space)

    def compute(scales: Any) -> HeatProfile:
        return whole.profile(rtol=options["rtol"], **({} if scales is None else {f"{kind}s": scales}))

    result = compute(grid) if out is None or any(options[name] for name in asked) else None
    if out is not None:
        _write(whole, options)
    if result is not None:
        facts = Facts(f"{len(states)} states merged", "", whole.ess == whole.n, ())
        deliver(result, kind, facts, options, compute)


def _refuse_repeats(files: Sequence[str]) -> None:
    twice = repeated(files)
    if twice is not None:
        first, again = twice
        also = "" if first == again else f" (it is the same file as {first})"
        raise usage(f"{again} is given twice and would be counted twice{also}")


def _refuse_other_files(out: Path) -> None:
    """Refuse to replace what is not a state, before anything is computed."""
    try:
        check_replaceable(out)
    except InputError as error:
        raise usage(typed(error)) from None


def _existing(options: Options) -> tuple[Accumulator | None, Any]:
    """The state to add to and its stamp, None if there is none; refused if its degree is not the one asked for."""
    out: Path = options["out"]
    if options["force"]:
        _refuse_other_files(out)
    seen = _stamp(out)
    if not options["append"] or seen is None:
        return None, None
    state = Accumulator.load(out)
    asked = options["max_degree"]
    if asked is None and options["finest"]:
        asked = degree_for(state.known_space, float(times_of_angles(options["finest"])))
    if asked is not None and asked != state.max_degree:
        had = f"{out} has degrees up to {state.max_degree}, not {asked}"
        raise usage(f"{had}; leave --max-degree and --finest out, or make a new state")
    return state, seen


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is written again; None if there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _refuse_mixed(weighted: dict[bool, str], shard: str, has_weights: bool) -> None:
    """Refuse shards with weights beside shards without, in which each point would count as one."""
    weighted.setdefault(has_weights, shard)
    if len(weighted) > 1:
        raise InputError(
            f"{weighted[True]} has weights, but {weighted[False]} has none; name the column of each with `weights=` "
            "and add them one at a time, or give `weights='none'` for equal weights in all"
        )


def _added(
    state: Accumulator | None,
    shard: str,
    source: Any,
    reading: Reading,
    options: Options,
    advance: Callable[[int], None],
) -> tuple[Accumulator | None, Taken | None]:
    """The state after one more shard, None if there are no points yet, and the last piece of the shard.

    *source* is its name again, or its table if that is open already.
    """
    size, done, last = _size(shard), 0, None
    for taken in _pieces(source, reading):
        if state is None:
            with part_named(shard):
                space = taken.space
                finest = float(times_of_angles(options["finest"] or DEFAULT_ANGLES[0]))
                state = Accumulator(space, max_degree=options["max_degree"] or degree_for(space, finest))
        if taken.space.form == "quaternions" and taken.space != state.space:
            raise InputError(
                f"{shard} holds points <!on {taken.space!r}!>, but what came before <+on {state.space!r}+>; "
                "accumulate like with like, or say `space='rotations'` for all, without symmetry"
            )
        if last is None:
            _say_frames(shard, taken.known.frame, state)
        with taken_from(taken), warnings.catch_warnings():
            warnings.simplefilter("ignore", FrameWarning)
            state.add(taken.points, taken.weights, log_weights=taken.log_weights, frame=taken.known.frame)
        advance(int(taken.done * size) - done)
        done, last = int(taken.done * size), taken
    dropped = last.origin.dropped if last else 0
    if dropped:
        note(options, f"{shard}: {dropped:,} {'row' if dropped == 1 else 'rows'} without a number dropped")
    return state, last


def _say_frames(name: str, frame: str | None, state: Accumulator | None) -> None:
    """Print that a part is turned into the frame of a state, or that one of them does not say its frame."""
    if state is None or not state.n or frame == state.frame or {frame, state.frame}.isdisjoint(SKY):
        return
    own, here = frame_in_words(frame), frame_in_words(state.frame)
    text = f"{name} is {own} and what came before {here}: {name} was turned into {here}"
    if frame is None or state.frame is None:
        which, taken = name if frame is None else "what came before", own or here
        text = f"{which} does not say its frame, and is taken for {taken}; accumulate it with --frame otherwise"
    elif frame not in SKY or state.frame not in SKY:
        return  # which is refused
    warning(text)


def _size(shard: str) -> int:
    """The bytes of a file, of which a label after two colons may name a part; 0 for what comes through a pipe."""
    try:
        return os.path.getsize(split_label(Path(shard))[0])
    except OSError:
        return 0


def _pieces(shard: Any, reading: Reading) -> Iterator[Taken]:
    """The points of a shard in pieces, with their weights if these are in a file of their own."""
    files = {name: getattr(reading, name) for name in ("weights", "log_weights")}
    given = {name: array for name, file in files.items() if isinstance(array := from_file(file, name), np.ndarray)}
    if not given:
        yield from take(open_table(shard), reading, ROWS_OF_A_SHARD)
        return
    [(name, array)] = given.items()
    start = stop = 0
    for taken in take(open_table(shard), replace(reading, weights="none", log_weights=None), ROWS_OF_A_SHARD):
        stop = start + len(taken.points)
        if stop > len(array):
            break
        part: dict[str, Any] = {name: array[start:stop]}
        yield taken._replace(**part)
        start = stop
    if stop != len(array):
        which = getattr(shard, "source", shard)
        raise InputError(f"{files[name]} holds <!{len(array):,} numbers!>, but {which} another number of points")


def _write(state: Accumulator, options: Options, seen: Any = None) -> None:
    """Write the state, over the file whose stamp was *seen* if it is still the same."""
    out = options["out"]
    if seen is not None and seen != _stamp(out):
        raise click.ClickException(f"{out} was changed while this ran, and stays so; to add to it, run this again")
    with writing(out):
        state.save(out, replace=options["force"] or seen is not None)
    note(options, f"wrote {out}: {state.n:,} points on {state.space!r}, degrees up to {state.max_degree}")
