"""Compare our numbers with the published ones, and with their random spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.text import columns

RULE = (
    "A number without randomness is consistent if ours, rounded as printed, equals the published one. A random number "
    "is consistent if the published one lies between the least and the greatest of our replicates, rounded as printed."
)


@dataclass(frozen=True)
class Spread:
    """Order statistics of a number over independent replicates."""

    replicates: int
    least: float
    low: float
    median: float
    high: float
    greatest: float

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """The spread of *values*; low and high are the quantiles 0.5 and 99.5 %.

        >>> Spread.of(range(201))
        Spread(replicates=201, least=0.0, low=1.0, median=100.0, high=199.0, greatest=200.0)
        """
        sample = np.asarray(values, dtype=np.float64)
        return cls(len(sample), *(float(q) for q in np.quantile(sample, [0, 0.005, 0.5, 0.995, 1])))


@dataclass(frozen=True)
class Check:
    """One published number and ours; *spread* is None if nothing is random."""

    source: str
    row: str
    column: str
    ours: float
    theirs: float
    decimals: int
    spread: Spread | None = None

    @property
    def consistent(self) -> bool:
        """Whether the published number agrees with ours; see `RULE`."""
        if self.spread is None:
            return round(self.ours, self.decimals) == self.theirs
        least, greatest = (round(end, self.decimals) for end in (self.spread.least, self.spread.greatest))
        return least <= self.theirs <= greatest

    def to_dict(self) -> dict[str, Any]:
        """The check as a dictionary of plain values, with the difference and the conclusion."""
        return {
            **asdict(self),
            "printed": round(self.ours, self.decimals),
            "difference": self.ours - self.theirs,
            "random": self.spread is not None,
            "consistent": self.consistent,
        }


@dataclass(frozen=True)
class Law:
    """A statement of a theorem as one measured number, which must be near the expected one, or at most that."""

    label: str
    statement: str
    measured: float
    expected: float
    tolerance: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the number is within *tolerance* of the expected one; without a tolerance, not above it."""
        if self.tolerance is None:
            return self.measured <= self.expected
        return abs(self.measured - self.expected) <= self.tolerance

    def to_dict(self) -> dict[str, Any]:
        """The law as a dictionary of plain values, with the conclusion."""
        relation = "at most" if self.tolerance is None else "near"
        return {**asdict(self), "relation": relation, "holds": self.holds}


def verdict(checks: Sequence[Check], laws: Sequence[Law]) -> str:
    """One sentence on the numbers and one on the theorems."""
    sentences = []
    if checks:
        exact = [check for check in checks if check.spread is None]
        odd = [check for check in checks if not check.consistent]
        chance = len(checks) - len(exact)
        sentences.append(
            f"All {len(checks)} published numbers are consistent with ours: {len(exact)} to every printed digit, "
            f"{chance} within the sampling spread."
            if not odd
            else f"{len(odd)} of {len(checks)} published numbers are NOT consistent with ours (marked NO above)."
        )
    if laws:
        broken = [law for law in laws if not law.holds]
        sentences.append(
            f"All {len(laws)} theorem checks hold."
            if not broken
            else f"{len(broken)} of {len(laws)} theorem checks do NOT hold (marked NO above)."
        )
    return " ".join(sentences) or "These experiments have no published numbers or theorems to check."


def report(checks: Sequence[Check], laws: Sequence[Law]) -> str:
    """The tables printed at the end: each number of the tables, one line for each curve, and the theorems."""
    parts = []
    if checks:
        head = ["", "", "", "ours", "published", "difference", "replicates", "consistent"]
        single = [check for check in checks if not check.column.endswith(" deg")]
        rows = [head, *(_row(check) for check in single), *_curve_rows(checks)]
        parts.append(columns(rows, left=3))
    if laws:
        rows = [["theorem", "what is measured", "measured", "expected", "holds"], *(_law_row(law) for law in laws)]
        parts.append(columns(rows, left=2))
    return "\n\n".join([*parts, verdict(checks, laws)])


def _row(check: Check) -> list[str]:
    def shown(value: float) -> str:
        return f"{value:.{check.decimals}f}"

    spread = check.spread
    span = "exact" if spread is None else f"{shown(spread.least)} to {shown(spread.greatest)}"
    return [
        check.source,
        check.row,
        check.column,
        shown(check.ours),
        shown(check.theirs),
        f"{round(check.ours, check.decimals) - check.theirs:+.{check.decimals}f}",
        span,
        "yes" if check.consistent else "NO",
    ]


def _curve_rows(checks: Sequence[Check]) -> list[list[str]]:
    """One line per curve with its largest relative difference, then every point that is not consistent."""
    rows = []
    curves = dict.fromkeys((check.source, check.row) for check in checks if check.column.endswith(" deg"))
    for source, row in curves:
        points = [
            check for check in checks if (check.source, check.row) == (source, row) and check.column.endswith(" deg")
        ]
        good = sum(check.consistent for check in points)
        worst = max(abs(check.ours / check.theirs - 1) for check in points)
        span = f"{good} of {len(points)} inside"
        said = "yes" if good == len(points) else "NO"
        rows.append([source, row, f"{len(points)} angles", "", "", f"up to {worst:.1%}", span, said])
        rows += [_row(check) for check in points if not check.consistent]
    return rows


def _law_row(law: Law) -> list[str]:
    expected = f"at most {law.expected:.3g}" if law.tolerance is None else f"{law.expected:.3g} +- {law.tolerance:.2g}"
    return [law.label, law.statement, f"{law.measured:.4g}", expected, "yes" if law.holds else "NO"]
