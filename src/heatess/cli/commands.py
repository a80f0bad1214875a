"""The work of `heatess profile`, `heatess accumulate` and `heatess merge`."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from ..accumulate import Accumulator, check_replaceable, degree_for
from ..errors import InputError
from ..files import repeated
from ..measure import Measure
from ..parts import part_named
from ..profile import HeatProfile, heat_profile
from ..progress import Progress
from ..readers import ReadOptions, batches, read, reader_of
from ..scales import DEFAULT_ANGLES, times_of_angles
from .deliver import Options, check, deliver, keep_apart, note, scales_of, writing
from .options import in_options, refuse_together, usage


def profile(file: str, options: Options) -> None:
    """Read, compute, print, save, and compare the result with its bounds."""
    check([file], options)
    cloud = read(file, options=_read_options(options))
    note(options, f"{cloud.source}: {cloud.description}")
    kind, grid = scales_of(options, cloud.points.shape[1] - 1)

    def compute(scales: Any) -> HeatProfile:
        how: dict[str, Any] = {"rtol": options["rtol"], "progress": _shows_progress(options), f"{kind}s": scales}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = heat_profile(cloud.points, cloud.weights, log_weights=cloud.log_weights, **how)
        for warning in caught:
            click.echo(f"heatess: warning: {in_options(str(warning.message))}", err=True)
        return result

    started = time.perf_counter()
    result = compute(grid)
    if options["verbose"]:
        note(options, f"{time.perf_counter() - started:.2f} s: {result!r}")
    deliver(result, kind, Path(file).name, options, compute)


def accumulate(shards: Sequence[str], options: Options) -> None:
    """Add all shards to a new or an existing state; the file is written once, at the end."""
    refuse_together(options, ("max_degree", "finest"), ("overwrite", "append"), ("quiet", "verbose"))
    reading = _read_options(options)
    keep_apart(shards, options)
    _refuse_repeats(shards)
    for shard in shards:
        reader_of(Path(shard))  # refuses what cannot be read, before the first shard is
    arrays = sum(Path(shard).suffix.lower() == ".npy" for shard in shards)
    for option, name in (("--weights", reading.weights), ("--log-weights", reading.log_weights)):
        if name and name != "none" and arrays > 1:
            raise usage(f"{option} {name} cannot belong to {arrays} .npy shards; add one at a time with --append")
    state = _existing(options)
    started = time.perf_counter()
    bar = Progress(_shows_progress(options))
    with bar.meter(sum(os.path.getsize(shard) for shard in shards), "accumulate") as advance:
        for shard in shards:
            state = _added(state, shard, reading, options, advance)
    if state is None:
        raise InputError("there are no rows in any shard; at least one point is needed")
    _write(state, options)
    if options["verbose"]:
        note(options, f"{time.perf_counter() - started:.2f} s: {state!r}")


def merge(states: Sequence[str], options: Options) -> None:
    """Add up all states, then write the sum, profile it, or both."""
    out: Path | None = options["out"]
    check(states, options)
    _refuse_repeats(states)
    if out is not None and out.exists() and not options["overwrite"]:
        raise usage(f"{out} exists; add --overwrite to replace it")
    if out is not None:
        _refuse_other_files(out)
    whole: Accumulator | None = None
    seen: dict[str, str] = {}
    for path in Progress(_shows_progress(options)).track(states, "merge"):
        part = Accumulator.load(path)
        twin = seen.setdefault(part.checksum(), path)
        if twin != path:
            click.echo(
                f"heatess: warning: {twin} and {path} hold exactly the same state; if one is a copy of the other, its "
                "atoms are counted twice: leave one out",
                err=True,
            )
        with part_named(path):
            whole = part if whole is None else whole + part
    if whole is None or whole.space is None:
        return
    asked = ("angles", "times", "resolutions", "json_file", "csv_file", "plot_file", "fail_under")
    kind, grid = scales_of(options, whole.space.dim)

    def compute(scales: Any) -> HeatProfile:
        return whole.profile(rtol=options["rtol"], **{f"{kind}s": scales})

    result = compute(grid) if out is None or any(options[name] for name in asked) else None
    if out is not None:
        _write(whole, options)
    if result is not None:
        deliver(result, kind, f"{len(states)} states merged", options, compute)


def _read_options(options: Options) -> ReadOptions:
    """The options for the readers; options that exclude each other are refused."""
    refuse_together(options, ("weights", "log_weights"), ("xyz", "lon"), ("xyz", "lat"), ("vector", "xyz", "lon"))
    names = ("lon", "lat", "units", "weights", "log_weights", "normalize")
    return ReadOptions(points=options["vector"] or options["xyz"], **{name: options[name] for name in names})


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
        raise usage(str(error)) from None


def _existing(options: Options) -> Accumulator | None:
    """The state to add to, or None; refused if its degree is not the one asked for."""
    out: Path = options["out"]
    if options["overwrite"]:
        _refuse_other_files(out)
    if not out.exists() or options["overwrite"]:
        return None
    if not options["append"]:
        raise usage(f"{out} exists; add --append to add to it, or --overwrite to replace it")
    state = Accumulator.load(out)
    asked = options["max_degree"]
    if asked is None and options["finest"]:
        asked = degree_for(state.known_space, float(times_of_angles(options["finest"])))
    if asked is not None and asked != state.max_degree:
        had = f"{out} has max_degree {state.max_degree}, not {asked}"
        raise usage(f"{had}; leave --max-degree and --finest out, or make a new state")
    return state


def _added(
    state: Accumulator | None, shard: str, reading: ReadOptions, options: Options, advance: Callable[[int], None]
) -> Accumulator | None:
    """The state after one more shard; None if there are no points yet."""
    size, done = os.path.getsize(shard), 0
    for cloud, share in batches(shard, options=reading):
        with part_named(shard):
            if state is None:
                space = Measure(cloud.points[:1]).space
                finest = float(times_of_angles(options["finest"] or DEFAULT_ANGLES[0]))
                state = Accumulator(space, max_degree=options["max_degree"] or degree_for(space, finest))
            state.add(cloud.points, cloud.weights, log_weights=cloud.log_weights)
        advance(int(share * size) - done)
        done = int(share * size)
    return state


def _write(state: Accumulator, options: Options) -> None:
    out = options["out"]
    with writing(out):
        state.save(out)
    note(options, f"wrote {out}: {state.n:,} atoms on {state.space!r}, max_degree {state.max_degree}")


def _shows_progress(options: Options) -> bool:
    return not (options["quiet"] or options["no_progress"])
