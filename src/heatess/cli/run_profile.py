"""The work of `heatess profile`."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import click

from ..profile import HeatProfile, heat_profile
from ..readers import Cloud, ReadOptions, read
from ..scales import ANGLE_DIMENSION, DEFAULT_ANGLES
from .deliver import Options, check, check_bounds, deliver, note
from .options import in_options, refuse_together

#: The options that say how a file is read.
READING = ("xyz", "lon", "lat", "vector", "units", "weights", "log_weights", "normalize")


def run(file: str, options: Options) -> None:
    """Read, compute, print, save, and compare the result with its bounds."""
    check([file], options)
    cloud = read(file, options=read_options(options))
    note(options, f"{cloud.source}: {cloud.description}")
    kind, grid = scales_of(options, cloud.points.shape[1] - 1)
    check_bounds(options["fail_under"], kind)
    started = time.perf_counter()
    result = _compute(cloud, kind, grid, options)
    if options["verbose"]:
        note(options, f"{time.perf_counter() - started:.2f} s: {result!r}")
    deliver(result, kind, Path(file).name, options, lambda scale: _compute(cloud, kind, [scale], options))


def read_options(options: Options) -> ReadOptions:
    """The options for the readers; options that exclude each other are refused."""
    for names in (("weights", "log_weights"), ("xyz", "lon"), ("xyz", "lat"), ("vector", "xyz", "lon")):
        refuse_together(options, *names)
    return ReadOptions(**{name: options[name] for name in READING})


def scales_of(options: Options, dim: int) -> tuple[str, Any]:
    """The kind of scale and its grid; the default is angles, and resolutions above ten dimensions."""
    for kind in ("angle", "time", "resolution"):
        if options[f"{kind}s"]:
            return kind, options[f"{kind}s"]
    return "resolution" if dim > ANGLE_DIMENSION else "angle", DEFAULT_ANGLES


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
        click.echo(f"heatess: warning: {in_options(str(warning.message))}", err=True)
    return result
