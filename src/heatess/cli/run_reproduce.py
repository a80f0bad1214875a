"""The work of `heatess reproduce`."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import InputError
from ..paper import EXPERIMENTS, chosen, reproduce


def run(out: Path, only: str | None, *, quick: bool, seed: int, progress: bool) -> None:
    """Run the experiments, write their files, and print our numbers next to the published ones."""
    try:
        names = EXPERIMENTS if only is None else chosen(filter(None, (name.strip() for name in only.split(","))))
        out.mkdir(parents=True, exist_ok=True)
    except InputError as error:
        raise click.UsageError(f"--only {only!r}: {error}", click.get_current_context()) from None
    except OSError as error:
        raise click.UsageError(f"cannot make the directory {out}: {error.strerror or error}") from error
    done = reproduce(out, only=names, quick=quick, seed=seed, progress=progress)
    click.echo(str(done))
    click.echo(f"\nWritten to {out}: " + ", ".join(path.name for path in done.written))
    if done.missing:
        click.echo(f"No figures: {done.missing}", err=True)
