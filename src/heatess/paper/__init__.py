"""The experiments of the paper, one small module each, and one function that runs them.

Experiments
    tables       Tables 1 and 2, with the spread of the random rows over 200 seeds
    clouds       the synthetic configurations on maps
    profiles     their gESS and occupied volume
    asymptotics  the small-time and the low-frequency approximation
    replicates   30 replicated profiles with interquartile bands
    truncation   the error of a series cut at degree L
    snis         self-normalised importance sampling, compared with the published curve
    digits       profiles of the digit embeddings
    theorems     measured rates of convergence, stability, merging and limits
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..base.errors import InputError, MissingExtraError
from ..base.files import Drafts, atomic_path
from ..base.progress import Progress
from . import published
from .checks import RULE, Check, Law, report, verdict
from .experiment import Outcome, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXPERIMENTS = ("tables", "clouds", "profiles", "asymptotics", "replicates", "truncation", "snis", "digits", "theorems")
SCHEMA = "heatess.paper/1"
CHECKS = "checks.json"
FIGURES = (".png", ".pdf")


@dataclass(frozen=True)
class Reproduction:
    """What was run, checked and written; if there are no figures, `missing` says why."""

    settings: Settings
    names: tuple[str, ...]
    checks: tuple[Check, ...]
    laws: tuple[Law, ...]
    written: tuple[Path, ...]
    missing: str | None

    def __str__(self) -> str:
        return report(self.checks, self.laws)


def reproduce(
    out: Path,
    *,
    only: Iterable[str] = EXPERIMENTS,
    quick: bool = False,
    seed: int = 0,
    progress: bool = False,
    draft_of: Drafts = atomic_path,
) -> Reproduction:
    """Run the experiments named in *only* and write their tables, figures and checks into *out*.

    All random numbers come from *seed*. With *quick* there are fewer replicates; every number is still
    checked. Each file is written through *draft_of*.
    """
    names = chosen(only)
    settings = Settings(seed, quick, Progress(progress).track)
    written: list[Path] = []
    checks: list[Check] = []
    laws: list[Law] = []
    missing = None
    for name in names:
        outcome: Outcome = import_module(f".{name}", __name__).run(settings)
        checks += outcome.checks
        laws += outcome.laws
        written += [_write_text(out / file, text, draft_of) for file, text in outcome.files.items()]
        if outcome.figure is not None and missing is None:
            try:
                written += _draw(outcome.figure, out / name, draft_of)
            except MissingExtraError as error:
                missing = error.message
    done = Reproduction(settings, names, tuple(checks), tuple(laws), tuple(written), missing)
    if not checks and not laws:
        return done
    record = _write_text(out / CHECKS, json.dumps(document(done), indent=1, allow_nan=False) + "\n", draft_of)
    return Reproduction(settings, names, done.checks, done.laws, (*written, record), missing)


def chosen(only: Iterable[str]) -> tuple[str, ...]:
    """The experiments asked for, each once and in their usual order.

    >>> chosen(["snis", "tables", "snis"])
    ('tables', 'snis')
    """
    wanted = set(only)
    unknown = [repr(name) for name in sorted(wanted - set(EXPERIMENTS))]
    if unknown or not wanted:
        found = f"there is no experiment {', '.join(unknown)}" if unknown else "no experiment is named"
        raise InputError(f"{found}; choose from {', '.join(EXPERIMENTS)}")
    return tuple(name for name in EXPERIMENTS if name in wanted)


def file_names(names: Iterable[str]) -> list[str]:
    """The files that some experiments may write.

    >>> file_names(["snis"])
    ['snis.png', 'snis.pdf', 'snis.json', 'snis.md', 'snis.tex', 'checks.json']
    """
    return [*(f"{name}{suffix}" for name in names for suffix in (*FIGURES, ".json", ".md", ".tex")), CHECKS]


def document(done: Reproduction) -> dict[str, Any]:
    """The content of checks.json."""
    return {
        "schema": SCHEMA,
        "heatess": __version__,
        "seed": done.settings.seed,
        "quick": done.settings.quick,
        "experiments": list(done.names),
        "source": published.sources(),
        "rule": RULE,
        "verdict": verdict(done.checks, done.laws),
        "consistent": all(check.consistent for check in done.checks),
        "published": [check.to_dict() for check in done.checks],
        "theorems": [law.to_dict() for law in done.laws],
    }


def _write_text(path: Path, text: str, draft_of: Drafts) -> Path:
    with draft_of(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return path


def _draw(figure: Any, stem: Path, draft_of: Drafts) -> list[Path]:
    """Write the figure as PNG and PDF; the PDF has no date, so that equal runs give equal files."""
    from . import style

    with style.applied():
        drawn: Figure = figure()
        paths = [stem.with_suffix(suffix) for suffix in FIGURES]
        for path, metadata in zip(paths, ({}, {"CreationDate": None}), strict=True):
            with draft_of(path) as draft:
                drawn.savefig(draft, metadata=metadata)
    return paths
