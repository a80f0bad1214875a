"""The text that the command line prints: a sentence on the result, and tables."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arrays import EXACT
from ..base.directions import EARTH_SQUARE_KM, KM_PER_DEGREE, SKY_SQUARE_DEGREES
from ..base.errors import InputError
from ..base.known import KINDS, Known
from ..base.text import columns
from ..drawing.axes import plain
from ..measures.scales import ANGLE_DIMENSION
from ..tables.sexagesimal import SEXAGESIMAL
from ..tables.units import split_unit

if TYPE_CHECKING:
    from ..base.arrays import FloatArray, IntArray
    from ..inference.population import PopulationProfile
    from ..profiles.heat_profile import HeatProfile
    from ..tables.table import Table

CAVEAT = "A low gESS is not by itself a fault: a concentrated posterior should have few distinguishable points."
#: Relative error of gESS from which the sentence on it says so, beside the column of the table.
ERROR_THAT_IS_SAID = 0.05
CURVES = ("times", "angles", "resolutions", "gess", "volume", "divergence", "mmd2", "dimension", "error")


def verdict(profile: HeatProfile, *, equal: bool, about: str = "") -> str:
    """What the profile says at two scales, the finest and the middle one, beside the most that could be."""
    order = np.argsort(profile.times)
    finest, middle = int(order[0]), int(order[len(order) // 2])
    n = f"{profile.n:,} {'cell' if profile.known.kind == 'cells' else 'point'}{'s' * (profile.n != 1)}"
    first = (
        f"{n}, all of equal weight."
        if equal
        else f"{n} of unequal weight count as {plain(profile.ess)} by ordinary ESS."
    )
    rows = [finest] if middle == finest else [finest, middle]
    return " ".join([first, *(_sentence(profile, row, about) for row in rows)])


def modes_sentence(profile: HeatProfile) -> str:
    """The modes of the cloud in one sentence; "" if there are none, or the scales do not tell."""
    try:
        words = profile.plateaus().sentence
    except InputError:
        return ""
    return f"The cloud has {words}." if words else ""


def _sentence(profile: HeatProfile, row: int, about: str) -> str:
    at, found = scale_name(profile, row, about), float(profile.gess[row])
    most = float(_most(profile)[row])
    count = "one" if plain(found) == "1" else f"{plain(found)} separate ones"
    words = f"At {at} {'it counts' if profile.n == 1 else 'they count'} as {count}"
    if (doubt := float(profile.error[row])) > ERROR_THAT_IS_SAID:
        words += f" ({'error up to' if profile.space.certified else 'estimated error'} {100 * doubt:.2g} %)"
    if math.isfinite(most) and most < 10 * profile.ess:
        sphere = profile.space.directional and profile.space.dim == 2
        place = {"earth": "Earth", "sky": "sky"}.get(about, "sphere") if sphere else "space"
        words += f"; the {place} has room for {plain(most)}"
    return f"{words}."


def _most(profile: HeatProfile) -> FloatArray:
    """The places that each scale can tell apart, gESS over volume; inf where there are too many for a number."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(profile.gess / profile.volume)


def scale_name(profile: HeatProfile, row: int, about: str = "") -> str:
    """One scale of the profile in words: its angle, or above ten dimensions its resolution."""
    if not profile.space.angular:
        return f"a distance of {profile.angles[row]:.3g}{' km' if about == 'earth' else ''}"
    if profile.space.dim > ANGLE_DIMENSION and math.isfinite(profile.resolutions[row]):
        return f"a resolution of {profile.resolutions[row]:.3g} deg"
    km = f" ({plain(profile.angles[row] * KM_PER_DEGREE)} km)" if about == "earth" else ""
    return f"{profile.angles[row]:.3g} deg{km}"


def shown_rows(profile: HeatProfile, rows: int = 10) -> IntArray:
    """About ten scales, from the finest to the coarsest."""
    order = np.argsort(profile.times)
    if len(order) > rows + 2:
        order = order[np.linspace(0, len(order) - 1, rows).round().astype(int)]
    return order


def profile_table(profile: HeatProfile, *, about: str = "", even: Sequence[float] = ()) -> str:
    """A table of about ten scales; *even* are gESS of the same atoms equally weighted there, where they are known."""
    order, unit = shown_rows(profile), "deg" if profile.space.angular else "km" if about == "earth" else ""
    table: dict[str, tuple[str, Any]] = {
        "angle" if profile.space.angular else "distance": (unit, profile.angles),
        "resolution": (unit, profile.resolutions),
        "gESS": ("", profile.gess),
    }
    if len(even):
        values = np.full(len(profile.gess), np.nan)
        values[order] = even
        table["if equal"] = ("weights", values)
    if profile.space.compact:
        table["at most"] = ("places", _most(profile))
        table["volume"] = ("%", 100 * profile.volume)
    if profile.space.compact and profile.space.dim == 2 and about in ("earth", "sky", "directions"):
        earth = about == "earth"
        size = EARTH_SQUARE_KM if earth else SKY_SQUARE_DEGREES
        table["area"] = ("km^2" if earth else "deg^2", digits(size * profile.volume, 4))
    kept = {name: (unit, values) for name, (unit, values) in table.items() if np.isfinite(values[order]).any()}
    rows = [list(kept), [unit for unit, _ in kept.values()]]
    rows += [[number(float(values[row])) for _, values in kept.values()] for row in order]
    below = profile.below_cell[order]
    for mark, cells in zip(below, rows[2:], strict=True):
        cells[0] = f"* {cells[0]}" if mark else cells[0]
    text = columns([[*cells, last] for cells, last in zip(rows, _errors(profile, order), strict=True)])
    cell = f"{profile.known.cell or 0:.3g}{f' {unit}' if unit else ''}"
    return f"{text}\n\n* below the size of a cell, {cell}: these rows tell of the grid" if below.any() else text


def digits(values: FloatArray, count: int) -> FloatArray:
    """The same numbers with so many digits.

    >>> digits(np.array([24435062.3, 0.0]), 4)
    array([24440000.,        0.])
    """
    return np.array([float(f"{value:.{count}g}") for value in values])


def _errors(profile: HeatProfile, order: IntArray) -> list[str]:
    return ["error", "rel.", *(f"{profile.error[row]:.0e}" for row in order)]


def comparison(profiles: Mapping[str, HeatProfile]) -> str:
    """gESS of several clouds at the same scales, one column each, and one sentence at the middle scale."""
    first = next(iter(profiles.values()))
    order = shown_rows(first, 8)
    middle = int(np.argsort(first.times)[len(first.times) // 2])
    unit = "deg" if first.space.angular else ""
    resolved = first.space.angular and first.space.dim > ANGLE_DIMENSION
    scales = first.resolutions if resolved else first.angles
    head = ["resolution" if resolved else "angle" if unit else "distance", *profiles]
    rows = [head, [unit, *["gESS"] * len(profiles)]]
    for row in order:
        rows.append([number(float(scales[row])), *(number(float(p.gess[row])) for p in profiles.values())])
    sizes = [["n", *(f"{p.n:,}" for p in profiles.values())], ["ESS", *(number(p.ess) for p in profiles.values())]]
    best = max(profiles, key=lambda name: profiles[name].gess[middle])
    noun = "places" if first.known.kind == "cells" else "points"
    counts = [plain(float(p.gess[middle])) for p in profiles.values()]
    most = f" Most distinguishable {noun}: {best}." if len(set(counts)) > 1 else ""
    said = ", ".join(f"{name} {plain(float(p.gess[middle]))}" for name, p in profiles.items())
    return f"At {scale_name(first, middle)}, gESS: {said}.{most}\n\n{columns(rows + sizes)}"


def column_table(table: Table, most: int = 20) -> str:
    """The columns of a table with their unit, if any is stated, their ends and how many numbers are missing.

    Of many columns the first *most*; then those of vectors and of text. The variables of a grid have their axes beside
    them.
    """
    rows = [["column", "unit", "least", "largest", "missing"]]
    for name in table.names[:most]:
        try:
            values = table.numbers(name)
            known = values[~np.isnan(values)]
            ends = [f"{known.min():.6g}", f"{known.max():.6g}"] if len(known) else ["-", "-"]
            rows.append([name, _unit(table, name), *ends, f"{len(values) - len(known):,}"])
        except InputError as error:
            rows.append([name, "", "large integers" if error.expected == EXACT else "text", "", ""])
    rows += [[name, "", "vectors", "", ""] for name in table.lists]
    texts = [name for name in table.texts if name not in table.names]
    rows += [[name, "", "text", "", ""] for name in texts[:most]]
    if not any(row[1] for row in rows[1:]):
        rows = [[row[0], *row[2:]] for row in rows]
    if table.axes:
        rows = [
            ["variable", "axes", *rows[0][1:]],
            *([row[0], table.axes.get(row[0], ""), *row[1:]] for row in rows[1:]),
        ]
    more = max(len(table.names) - most, 0) + max(len(texts) - most, 0)
    return columns(rows, left=len(rows[0]) - 3) + (f"\n  ... and {more:,} more columns" if more > 0 else "")


def _unit(table: Table, name: str) -> str:
    """The unit that the file states for a column, and the one in which its numbers are shown where that is another."""
    stated = table.units.get(name) or split_unit(name).unit
    was = table.converted.get(name)
    return f"{was}, here {stated}" if was else "h or d:m:s" if stated == SEXAGESIMAL else stated


def known_in_words(known: Known) -> str:
    """Kind, frame and names, each as it is known or with the option that says it.

    >>> known_in_words(Known(kind="cells", frame="galactic", cell=1.83))
    'cells of 1.83 degrees, a map or grid; frame galactic; no names of rows (--labels)'
    """
    kind = "kind not known (--kind)" if known.kind is None else KINDS[known.kind]
    if known.kind in ("cells", "chains"):
        kind = f"{replace(known, frame=None).words}, {kind.removesuffix(' of cells')}"
    frame = "frame not known (--frame)" if known.frame is None else f"frame {known.frame}"
    names = "no names of rows (--labels)" if known.labels is None else f"names of rows such as {known.labels[0]!s}"
    return "; ".join([kind, frame, names])


def profile_csv(profiles: dict[str, HeatProfile], bands: PopulationProfile | None = None) -> str:
    """Every scale of every profile as CSV, with full precision; a single unnamed profile has no name column.

    With *bands*, at the same scales, come the columns of these that a profile does not have, called population_...
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    named = list(profiles) != [""]
    added = {} if bands is None else bands.to_dict()
    names = [name for name in (bands.columns if bands is not None else ()) if name not in CURVES[:3]]
    writer.writerow([*(["cloud"] if named else []), *CURVES, *(f"population_{name}" for name in names)])
    for name, profile in profiles.items():
        curves = [*(getattr(profile, curve).tolist() for curve in CURVES), *(added[key] for key in names)]
        for row in zip(*curves, strict=True):
            writer.writerow([*([name] if named else []), *("" if math.isnan(value) else repr(value) for value in row)])
    return text.getvalue()


def number(value: float) -> str:
    """A number with four significant digits and separated thousands; tiny ones are zero, huge ones powers of ten.

    >>> [number(value) for value in (99.9996, 0.61, 31523.4, 1.799e-81, 0.0, 2e31, math.inf)]
    ['100.0', '0.6100', '31,523', '< 1e-5', '0', '2.000e31', '-']
    """
    if not math.isfinite(value):
        return "-"
    if 0 < value < 1e-5:
        return "< 1e-5"
    mantissa, exponent = f"{value:.3e}".split("e")
    if value == 0 or int(exponent) < 9:
        return f"{value:,.{max(0, 3 - int(exponent))}f}" if value else "0"
    return f"{mantissa}e{int(exponent)}"
