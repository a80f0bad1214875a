"""The text that the command line prints: a sentence on the result, and tables."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..plot import plain
from ..scales import ANGLE_DIMENSION

if TYPE_CHECKING:
    from ..profile import HeatProfile

#: The whole sphere in square degrees, 4 pi (180 / pi)^2.
SKY_SQUARE_DEGREES = 129600 / math.pi

CAVEAT = "A low gESS is not by itself a fault: a concentrated posterior should have few distinguishable atoms."
CURVES = ("times", "angles", "resolutions", "gess", "volume", "divergence", "mmd2", "dimension", "error")


def verdict(profile: HeatProfile) -> str:
    """One sentence: the number of atoms, the ordinary ESS, and gESS at two scales."""
    order = np.argsort(profile.times)
    finest, middle = int(order[0]), int(order[len(order) // 2])
    count = f"{profile.n:,} {'atom counts' if profile.n == 1 else 'atoms count'}"
    ess = f"{count} as {plain(profile.ess)} by ordinary ESS"
    rows = [finest] if middle == finest else [finest, middle]
    gess = " and ".join(f"{plain(profile.gess[row])} at {_scale_name(profile, row)}" for row in rows)
    return f"{ess}; gESS, the number of distinguishable atoms, is {gess}."


def _scale_name(profile: HeatProfile, row: int) -> str:
    """One scale of the profile in words: its angle, or above ten dimensions its resolution."""
    if profile.space.dim > ANGLE_DIMENSION and math.isfinite(profile.resolutions[row]):
        return f"a resolution of {profile.resolutions[row]:.3g} deg"
    return f"{profile.angles[row]:.3g} deg"


def profile_table(profile: HeatProfile, rows: int = 10) -> str:
    """A table of about ten scales of a profile, from the finest to the coarsest."""
    order = np.argsort(profile.times)
    if len(order) > rows + 2:
        order = order[np.linspace(0, len(order) - 1, rows).round().astype(int)]
    table = [["angle", "resolution", "gESS", "volume", "area", "error"], ["deg", "deg", "", "%", "deg^2", "rel."]]
    for row in order:
        volume, resolution = profile.volume[row], profile.resolutions[row]
        numbers = (profile.angles[row], resolution, profile.gess[row], 100 * volume, volume * SKY_SQUARE_DEGREES)
        table.append([*(_number(float(value)) for value in numbers), f"{profile.error[row]:.0e}"])
    if profile.space.dim != 2:
        table = [[*cells[:4], cells[5]] for cells in table]
    return columns(table)


def columns(rows: Sequence[Sequence[str]], *, left: int = 0) -> str:
    """Rows of text as aligned columns: the first *left* columns to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    sides = [str.ljust] * left + [str.rjust] * (len(widths) - left)
    aligned = ([side(text, width) for side, text, width in zip(sides, row, widths, strict=True)] for row in rows)
    return "\n".join("  " + "   ".join(cells).rstrip() for cells in aligned)


def profile_csv(profiles: dict[str, HeatProfile]) -> str:
    """Every scale of every profile as CSV, with full precision; a single unnamed profile has no name column."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    named = list(profiles) != [""]
    writer.writerow([*(["cloud"] if named else []), *CURVES])
    for name, profile in profiles.items():
        for row in zip(*(getattr(profile, curve).tolist() for curve in CURVES), strict=True):
            writer.writerow([*([name] if named else []), *("" if math.isnan(value) else repr(value) for value in row)])
    return text.getvalue()


def _number(value: float) -> str:
    """A number with four significant digits and separated thousands; very small and large ones as powers of ten.

    >>> [_number(value) for value in (99.9996, 0.61, 31523.4, 1.799e-81, 0.0, math.inf)]
    ['100.0', '0.6100', '31,523', '1.799e-81', '0', '-']
    """
    if not math.isfinite(value):
        return "-"
    mantissa, exponent = f"{value:.3e}".split("e")
    if value == 0 or -4 <= int(exponent) < 7:
        return f"{value:,.{max(0, 3 - int(exponent))}f}" if value else "0"
    return f"{mantissa}e{int(exponent)}"
