"""The work of `heatess accumulate` and `heatess merge`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from ..accumulate import Accumulator, degree_for, with_transform
from ..errors import InputError
from ..measure import Measure
from ..parts import part_named
from ..profile import HeatProfile
from ..progress import Progress
from ..readers import ReadOptions, batches, reader_of
from ..scales import DEFAULT_ANGLES, times_of_angles
from .deliver import Options, check, check_bounds, deliver, note
from .options import refuse_together
from .run_profile import read_options, scales_of


def accumulate(shards: Sequence[str], options: Options) -> None:
    """Add all shards to a new or an existing state; the file is written once, at the end."""
    for names in (("max_degree", "finest"), ("overwrite", "append"), ("quiet", "verbose")):
        refuse_together(options, *names)
    reading = read_options(options)
    _check_shards(shards, reading)
    state = _existing(options)
    started = time.perf_counter()
    with _progress(options).meter(sum(os.path.getsize(shard) for shard in shards), "accumulate") as advance:
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
    check(states, options, [out])
    _refuse_repeats(states)
    if out is not None and out.exists() and not options["overwrite"]:
        raise click.UsageError(f"{out} exists; add --overwrite to replace it", click.get_current_context())
    whole: Accumulator | None = None
    for path in _progress(options).track(states, "merge"):
        part = Accumulator.load(path)
        with part_named(path):
            whole = part if whole is None else whole + part
    if whole is None or whole.space is None:
        return
    asked = ("angles", "times", "resolutions", "json_file", "csv_file", "plot_file", "fail_under")
    profiled = out is None or any(options[name] for name in asked)
    kind, grid = scales_of(options, whole.space.dim)
    check_bounds(options["fail_under"], kind)

    def compute(scales: Any) -> HeatProfile:
        at: dict[str, Any] = {f"{kind}s": scales}
        return whole.profile(**at, rtol=options["rtol"])

    result = compute(grid) if profiled else None
    if out is not None:
        _write(whole, options)
    if result is not None:
        deliver(result, kind, f"{len(states)} states merged", options, lambda scale: compute([scale]))


def _check_shards(shards: Sequence[str], reading: ReadOptions) -> None:
    """Refuse wrong shards and options before the first shard is read."""
    _refuse_repeats(shards)
    for shard in shards:
        reader_of(Path(shard))
    weights = {"--weights": reading.weights, "--log-weights": reading.log_weights}
    for option, name in weights.items():
        arrays = [shard for shard in shards if Path(shard).suffix.lower() == ".npy"]
        if name and name != "none" and len(arrays) > 1:
            raise click.UsageError(
                f"{option} {name} cannot belong to {len(arrays)} .npy shards; accumulate one at a time with --append",
                click.get_current_context(),
            )


def _refuse_repeats(files: Sequence[str]) -> None:
    seen: set[str] = set()
    for file in files:
        if os.path.realpath(file) in seen:
            raise click.UsageError(f"{file} is given twice and would be counted twice", click.get_current_context())
        seen.add(os.path.realpath(file))


def _existing(options: Options) -> Accumulator | None:
    """The state to add to, or None; refused if its degree is not the one asked for."""
    out: Path = options["out"]
    context = click.get_current_context()
    if not out.exists() or options["overwrite"]:
        return None
    if not options["append"]:
        raise click.UsageError(f"{out} exists; add --append to add to it, or --overwrite to replace it", context)
    state = Accumulator.load(out)
    asked = options["max_degree"]
    if asked is None and options["finest"]:
        asked = degree_for(state.known_space, float(times_of_angles(options["finest"])))
    if asked is not None and asked != state.max_degree:
        raise click.UsageError(
            f"{out} has max_degree {state.max_degree}, not {asked}; leave --max-degree and --finest out, or make a "
            "new state",
            context,
        )
    return state


def _added(
    state: Accumulator | None, shard: str, reading: ReadOptions, options: Options, advance: Callable[[int], None]
) -> Accumulator | None:
    """The state after one more shard; None if there are no points yet."""
    size, done = os.path.getsize(shard), 0
    for cloud, share in batches(shard, options=reading):
        with part_named(shard):
            if state is None:
                state = _new(cloud.points[:1], options)
            state.add(cloud.points, cloud.weights, log_weights=cloud.log_weights)
        reached = int(share * size)
        advance(reached - done)
        done = reached
    return state


def _new(point: NDArray[Any], options: Options) -> Accumulator:
    """An empty state for the space of this point, with a degree for the finest scale."""
    space = Measure(point).space
    with_transform(space)
    finest = float(times_of_angles(options["finest"] or DEFAULT_ANGLES[0]))
    return Accumulator(space, max_degree=options["max_degree"] or degree_for(space, finest))


def _write(state: Accumulator, options: Options) -> None:
    out = options["out"]
    try:
        state.save(out)
    except OSError as error:
        raise click.ClickException(f"cannot write {out}: {error.strerror or error}") from error
    note(options, f"wrote {out}: {state.n:,} atoms on {state.space!r}, max_degree {state.max_degree}")


def _progress(options: Options) -> Progress:
    return Progress(not (options["quiet"] or options["no_progress"]))
