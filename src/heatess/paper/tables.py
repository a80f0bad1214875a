"""Tables 1 and 2: classical summaries and gESS, our numbers and the published ones."""

from __future__ import annotations

import json

from .. import summarize
from . import configurations, published
from .checks import Check, Spread
from .experiment import FloatArray, Outcome, Settings

Row = dict[str, float]
Rows = dict[str, Row]

#: The columns that are not random.
FIXED = {"n", "ESS", "ESS_H"}

TITLES = {
    "table1_synthetic": "Table 1: synthetic examples on the sphere",
    "table2_digits": "Table 2: normalised digit embeddings",
}
LATEX = {
    "n": "$n$",
    "R": "$R$",
    "B2": "$B_2$",
    "ESS": "ESS",
    "ESS_H": r"$\mathrm{ESS}_H$",
    "gESS(15deg)": r"$\mathrm{gESS}(15^\circ)$",
    "D_LC(15deg)": r"$D_{\mathrm{LC}}^{(15)}$",
    "gESS(45deg)": r"$\mathrm{gESS}(45^\circ)$",
}


def run(settings: Settings) -> Outcome:
    """Both tables, with the spread of the random rows over independent seeds."""
    seeds = settings.choose(full=200, quick=100)
    replicates = [synthetic_rows(settings, seed) for seed in settings.track(range(seeds), "Table 1, seeds")]
    tables = {"table1_synthetic": replicates[0], "table2_digits": digit_rows()}
    checks = [check for name, rows in tables.items() for check in _checks(name, rows, replicates)]
    files = {
        "tables.json": json.dumps({name: as_published(name, rows) for name, rows in tables.items()}, indent=1) + "\n",
        "tables.md": "\n".join(markdown(name, rows) for name, rows in tables.items()),
        "tables.tex": "\n".join(latex(name, rows) for name, rows in tables.items()),
    }
    return Outcome(files=files, checks=checks)


def synthetic_rows(settings: Settings, seed: int = 0) -> Rows:
    """The rows of Table 1 for one draw of the configurations; seed 0 gives the printed table and the figures."""
    clouds = configurations.synthetic(settings.rng("synthetic", seed))
    return {name: _row(points) for name, points in clouds.items()}


def digit_rows() -> Rows:
    """The rows of Table 2; nothing in them is random."""
    return {name: _row(points, weights) for name, (points, weights) in configurations.digits().items()}


def _row(points: FloatArray, weights: FloatArray | None = None) -> Row:
    return summarize(points, weights, angles=(15, 45)).row()


def as_published(name: str, rows: Rows) -> dict[str, object]:
    """A table with the columns and the rounding of the published one."""
    columns, _ = published.table(name)
    return {
        "columns": columns,
        "rows": {row: [_rounded(values[column], column) for column in columns] for row, values in rows.items()},
    }


def markdown(name: str, rows: Rows) -> str:
    """A table with the published number in brackets after each of ours."""
    columns, theirs = published.table(name)
    lines = [f"## {TITLES[name]}", "", "Ours, and in brackets the published number.", ""]
    lines += [f"| | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for row, values in rows.items():
        pairs = zip(columns, theirs[row], strict=True)
        cells = [f"{_printed(values[column], column)} ({_printed(number, column)})" for column, number in pairs]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def latex(name: str, rows: Rows) -> str:
    """A booktabs table; below each of our rows is the published one."""
    columns, theirs = published.table(name)
    lines = [f"% {TITLES[name]}; needs the package booktabs"]
    lines += [rf"\begin{{tabular}}{{l{'r' * len(columns)}}}", r"\toprule"]
    lines += [" & ".join(["", *(LATEX[column] for column in columns)]) + r" \\", r"\midrule"]
    for row, values in rows.items():
        ours = [_printed(values[column], column) for column in columns]
        printed = [_printed(number, column) for column, number in zip(columns, theirs[row], strict=True)]
        lines.append(" & ".join([row, *ours]) + r" \\")
        lines.append(" & ".join([r"\quad\textit{published}", *(rf"\textit{{{text}}}" for text in printed)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _checks(name: str, rows: Rows, replicates: list[Rows]) -> list[Check]:
    source = TITLES[name].split(":")[0]
    columns, theirs = published.table(name)
    found = []
    for row, values in rows.items():
        for column, number in zip(columns, theirs[row], strict=True):
            spread = None
            if name == "table1_synthetic" and row != "Duplicates" and column not in FIXED:
                spread = Spread.of([replicate[row][column] for replicate in replicates])
            found.append(Check(source, row, column, values[column], number, published.DECIMALS[column], spread))
    return found


def _rounded(value: float, column: str) -> float:
    decimals = published.DECIMALS[column]
    return round(value, decimals) if decimals else round(value)


def _printed(value: float, column: str) -> str:
    return f"{value:.{published.DECIMALS[column]}f}"
