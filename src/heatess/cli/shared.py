"""Options that several commands share, as decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from . import options

F = TypeVar("F", bound=Callable[..., Any])

_GRID: dict[str, Any] = {"metavar": "GRID", "callback": options.grid}


def _all(*decorators: Callable[[Any], Any]) -> Callable[[F], F]:
    """One decorator that applies all *decorators*; --help lists their options in this order."""

    def decorate(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def _file(*suffixes: str, **more: Any) -> dict[str, Any]:
    return {"metavar": "FILE", "callback": options.output(*suffixes), **more}


reading = _all(
    click.option("--lon", metavar="COL", help="Longitude column. [lon, longitude, lng]"),
    click.option("--lat", metavar="COL", help="Latitude column. [lat, latitude]"),
    click.option(
        "--xyz", metavar="A,B,C", callback=options.columns, help="Columns of unit vectors, two or more. [x,y,z]"
    ),
    click.option("--vector", metavar="COL", help="List column of Parquet vectors. [embedding, vector, emb]"),
    click.option("--units", type=click.Choice(["deg", "rad"]), help="Unit of longitude and latitude."),
    click.option("--weights", metavar="COL", help="Weight column. [weight, weights, w] For .npy points, a .npy file."),
    click.option("--log-weights", metavar="COL", help="The same for log-weights. [log_weight, log_weights, logw]"),
    click.option("--normalize", is_flag=True, help="Scale vectors to unit length."),
)

scales = _all(
    click.option("--angles", help="Scales alpha = sqrt(8t), in degrees. [5:120:60]", **_GRID),
    click.option("--times", help="Scales as diffusion times t.", **_GRID),
    click.option("--resolutions", help="Scales as the distance of 1/e overlap, in degrees.", **_GRID),
    click.option(
        "--rtol",
        metavar="X",
        type=click.FloatRange(1e-15, 1, max_open=True),
        default=1e-8,
        help="Relative accuracy of gESS, 1e-8 if not given.",
    ),
)

results = _all(
    click.option(
        "--json", "json_file", is_flag=False, flag_value="-", help="Write JSON; - for stdout.", **_file(".json")
    ),
    click.option("--csv", "csv_file", help="Write every scale as CSV; - for stdout.", **_file(".csv")),
    click.option("--plot", "plot_file", help="Draw gESS: .png, .pdf or .svg.", **_file(".png", ".pdf", ".svg")),
    click.option(
        "--fail-under",
        multiple=True,
        metavar="BOUND",
        callback=options.bounds,
        help="Exit with code 4 if the result is lower, for instance gess@20deg=50.",
    ),
)

verbosity = _all(
    click.option("-q", "--quiet", is_flag=True, help="Only results, warnings and errors."),
    click.option("-v", "--verbose", is_flag=True, help="Print what ran and how long it took."),
    click.option("--no-progress", is_flag=True, help="No progress bar."),
)


def state(**more: Any) -> Callable[[F], F]:
    """The options for the state file that is written."""
    return _all(
        click.option("-o", "--out", help="State file to write, .npz.", **_file(".npz"), **more),
        click.option("--overwrite", is_flag=True, help="Replace the state file if it exists."),
    )
