"""The data of a report: everything that its page shows, as plain values."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ..base.arrays import FloatArray
from ..base.directions import EARTH_SQUARE_KM, KM_PER_DEGREE, SKY_SQUARE_DEGREES
from ..base.errors import InputError
from ..base.plain_values import plain_value
from ..base.version import __version__
from ..inference.comparison import Comparison, verdict_in
from ..inference.policy import COPIES_TO_WARN_OF, NO_DRAWS
from ..inference.population import PopulationProfile
from ..measures.measure import Measure
from ..profiles.heat_profile import HeatProfile
from . import computed, methods
from .computed import Reasons
from .landmarks import buttons, landmarks, sorted_profile
from .pictures import MOST_CELLS_OF_FRAMES, SEVERAL_CELLS
from .verdict import Told, verdict_of
from .views import view_of
from .vocabulary import length_in_words, scale_in_words, scale_kind, scale_unit, scale_values

SCHEMA = "heatess.report/1"

#: Rows of a table of scales.
TABLE_ROWS = 12


@dataclass
class Entry:
    """One measure of a report: its profile, from the finest scale to the coarsest, and what was computed besides."""

    name: str
    profile: HeatProfile
    measure: Measure | None
    population: PopulationProfile | None = None
    limit: float = math.nan
    modes: Any = None
    distinct: int | None = None
    pareto_k: float = math.nan
    smoothed: dict[str, Any] | None = None  #: the panel on its density
    reasons: Reasons = field(default_factory=dict)

    @property
    def about(self) -> str:
        """What the columns were: earth, sky, ...; "" if that is not known."""
        return self.measure.about if self.measure is not None else ""

    @property
    def modes_in_words(self) -> str:
        """The modes, in kilometres on the Earth; "" if there are none."""
        if not self.modes or self.about != "earth":
            return self.modes.sentence if self.modes else ""
        km = KM_PER_DEGREE if self.profile.space.angular else 1.0
        return str(
            replace(self.modes, finest=km * self.modes.finest, coarsest=km * self.modes.coarsest, unit="km").sentence
        )


def entry_of(name: str, profile: HeatProfile, measure: Measure | None, weights_are: str | None, rtol: float) -> Entry:
    """What is computed of a measure before anything is said about it."""
    entry = Entry(name, sorted_profile(profile), measure)
    try:
        entry.modes = entry.profile.plateaus()
    except InputError as error:
        entry.reasons["modes"] = error.message
    if profile.known.kind not in (*NO_DRAWS, "chains"):
        entry.limit = computed.limit_of(profile)
    if measure is not None:
        entry.pareto_k, entry.distinct = computed.tail_of(measure), computed.distinct_of(measure)
        copies = 0 if entry.distinct is None else measure.n - entry.distinct
        if copies > COPIES_TO_WARN_OF * measure.n:
            entry.limit = math.nan
            entry.reasons["places"] = f"{copies:,} points are exact copies of others, and so no independent draws"
            return entry
        # Far below the limit bands are wide and expensive, and say nothing.
        coarse = entry.profile.angles >= (entry.limit / 2 if math.isfinite(entry.limit) else 0.0)
        found = computed.population_of(measure, entry.profile.times[coarse], weights_are, rtol, entry.reasons)
        if found is not None:
            entry.population, entry.limit = found, found.resolution_limit
    return entry


def report_data(
    entries: Sequence[Entry],
    *,
    title: str,
    comparison: Comparison | None = None,
    no_comparison: str = "",
    weights_are: str | None = None,
    notes: Callable[[], list[str]] = list,
    provenance: Sequence[tuple[str, str]] = (),
    spelled: Callable[[str], str] = str,
) -> dict[str, Any]:
    """All data of a report on one or several measures at the same scales.

    *notes* gives further warnings, when all has been computed; reasons of the library are *spelled* for the reader.
    """
    first = entries[0]
    earth = all(entry.about == "earth" for entry in entries)
    named = landmarks(first.profile, first.about, first.limit)
    row = chosen_scale(first, named, comparison)
    values = scale_values(first.profile)
    knowns = [
        Told(
            entry.name,
            entry.profile,
            row,
            entry.about,
            entry.measure,
            entry.distinct,
            entry.modes_in_words,
            entry.limit,
            entry.pareto_k,
            tuple(named) if len(entries) == 1 else (),
        )
        for entry in entries
    ]
    room = MOST_CELLS_OF_FRAMES if len(entries) == 1 else SEVERAL_CELLS // len(entries)
    measures = [_measure(entry, known, weights_are, room) for entry, known in zip(entries, knowns, strict=True)]
    difference = None
    if comparison is not None:
        difference = verdict_in(comparison, lambda profile, at: scale_in_words(profile, at, first.about, short=True))
    found: dict[str, Any] = finite(
        {
            "schema": SCHEMA,
            "title": title,
            "version": __version__,
            "created": created(),
            "verdict": verdict_of(knowns, difference, notes()),
            "scales": {
                "kind": scale_kind(first.profile),
                "unit": scale_unit(first.profile, "earth" if earth else ""),
                "values": values.tolist(),
                "km": (first.profile.angles * KM_PER_DEGREE).tolist()
                if earth and first.profile.space.angular
                else None,
                "start": row,
                "buttons": buttons(first.profile, "earth" if earth else ""),
            },
            "measures": measures,
            "comparison": None if comparison is None else _comparison(comparison, first.profile, str(difference)),
            "methods": methods.methods(entries, row, comparison, no_comparison, spelled),
            "cite": methods.CITE,
            "provenance": [[label, value] for label, value in provenance],
        }
    )
    return found


def created() -> str:
    """Now, in UTC; or the time that SOURCE_DATE_EPOCH says, for results that are the same again and again."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now(UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def chosen_scale(entry: Entry, named: Sequence[int], comparison: Comparison | None = None) -> int:
    """The scale that a report opens at: that of the verdict on two measures, or the middle one of those it names.

    Where it names none, the middle of all, or the resolution limit if that is coarser.
    """
    times = entry.profile.times
    if comparison is not None and comparison.test is not None:
        test = comparison.test
        return int(np.abs(np.log(times / float(test.times[test.clearest]))).argmin())
    if named:
        return named[len(named) // 2]
    middle = len(times) // 2
    if not math.isfinite(entry.limit):
        return middle
    return min(max(middle, int(np.searchsorted(entry.profile.angles, entry.limit))), len(times) - 1)


def _measure(entry: Entry, known: Told, weights_are: str | None, room: int) -> dict[str, Any]:
    profile, measure, row = entry.profile, entry.measure, known.row
    origin = measure.origin if measure is not None else None
    told: dict[str, Any] = {
        "name": entry.name,
        "n": profile.n,
        "ess": profile.ess,
        "equal": known.equal,
        "space": repr(profile.space),
        "about": entry.about or "points",
        "nouns": list(known.nouns),
        "kind": profile.known.kind,
        "read": origin.description if origin is not None else "",
        "method": profile.method,
        "certified": methods.is_certified(profile),
        "modes": _modes(entry),
        "resolution_limit": entry.limit,
        "pareto_k": entry.pareto_k,
    }
    curves = _curves(entry, weights_are)
    told |= {"curves": curves, "table": _table(profile, curves, entry.about)}
    if measure is None:
        why = "This report was made of a profile, which has no points; heatess.report(measure, path) shows them."
        empty = {"heaviest": [], "redundant": [], "scale": "", "note": why}
        nothing = {"kind": "none", "why": why, "note": why, "density": None}
        return told | {"spectrum": None, "maximum_entropy": None, "atoms": empty, "view": nothing, "mass": None}
    time = float(profile.times[row])

    def in_words(at: float) -> str:
        near = int(np.argmin(np.abs(np.log(profile.times / at))))
        if abs(profile.times[near] / at - 1) < 1e-6:
            return scale_in_words(profile, near, entry.about)
        length = math.sqrt(8 * at)
        return length_in_words(math.degrees(length) if profile.space.angular else length, profile.space, entry.about)

    told["spectrum"] = computed.spectrum_of(measure, entry.reasons)
    told["maximum_entropy"] = computed.entropy_of(measure, time, in_words, entry.reasons)
    told["atoms"] = computed.atoms_of(measure, time, in_words(time), entry.reasons)
    told["view"] = view_of(measure, profile.times, most_cells=room, opening=row)
    told["mass"] = entry.smoothed
    return told


def _modes(entry: Entry) -> dict[str, Any] | None:
    if entry.modes is None:
        return None
    plateaus = [
        {"count": plateau.count, "finest": plateau.finest, "coarsest": plateau.coarsest} for plateau in entry.modes
    ]
    return {"sentence": f"The cloud has {entry.modes_in_words}." if entry.modes else "", "plateaus": plateaus}


def _curves(entry: Entry, weights_are: str | None) -> dict[str, Any]:
    """One list per quantity, one entry per scale, with all digits."""
    profile, measure = entry.profile, entry.measure
    names = ("times", "angles", "resolutions", "gess", "dimension", "divergence", "error")
    curves: dict[str, Any] = {name: getattr(profile, name).tolist() for name in names}
    compact = profile.space.compact
    with np.errstate(divide="ignore", over="ignore"):
        curves["maximum"] = (profile.gess / profile.volume).tolist() if compact else None
    curves["volume"] = profile.volume.tolist() if compact else None
    curves["mmd2"] = profile.mmd2.tolist() if compact else None
    curves["divergence"] = curves["divergence"] if compact else None
    curves |= {"mmd2_null": None, "even": None, "places": None}
    if measure is not None:
        null = computed.null_of(measure, profile.times, weights_are, entry.reasons)
        even = computed.even_of(measure, profile.times, entry.reasons)
        curves["mmd2_null"] = None if null is None else {name: part.tolist() for name, part in null.items()}
        curves["even"] = None if even is None else even.tolist()
    if entry.population is not None:
        places, finer = entry.population.places, len(profile.times) - len(entry.population.times)
        curves["places"] = {
            name: [math.nan] * finer + getattr(places, name).tolist() for name in ("estimate", "lower", "upper")
        }
    return curves


def _table(profile: HeatProfile, curves: dict[str, Any], about: str) -> dict[str, Any]:
    """About a dozen scales, with the columns that are known there."""
    count = len(profile.times)
    spaced = np.linspace(0, count - 1, min(count, TABLE_ROWS)).round().astype(int).tolist()
    rows = sorted({0, *(buttons(profile, about) or spaced), count - 1}) if count > TABLE_ROWS else spaced
    unit = scale_unit(profile, about)
    found: list[tuple[str, str, str, FloatArray]] = [
        ("angles", "angle" if profile.space.angular else "distance", unit, profile.angles),
        ("resolutions", "resolution", unit, profile.resolutions),
        ("gess", "gESS", "", profile.gess),
    ]
    if about == "earth" and profile.space.angular:
        found.insert(0, ("km", "scale", "km", profile.angles * KM_PER_DEGREE))
    if curves["even"] is not None:
        found.append(("even", "gESS if equal", "weights", np.array(curves["even"])))
    if curves["places"] is not None:
        names = (("estimate", "places"), ("lower", "from"), ("upper", "to"))
        ends = [(f"places_{key}", label, "", np.array(curves["places"][key])) for key, label in names]
        found += ends
    if profile.space.compact:
        found.append(("maximum", "room for", "places", np.array(curves["maximum"])))
        found.append(("volume", "volume", "%", 100 * profile.volume))
        if profile.space.dim == 2 and profile.space.directional:
            earth = about == "earth"
            size = EARTH_SQUARE_KM / 1e6 if earth else SKY_SQUARE_DEGREES
            found.append(("area", "area", "million km²" if earth else "deg²", size * profile.volume))
    found += [("dimension", "dimension", "", profile.dimension), ("error", "error", "relative", profile.error)]
    kept = [column for column in found if np.isfinite(column[3][rows]).any()]
    return {
        "columns": [{"key": key, "label": label, "unit": unit} for key, label, unit, _ in kept],
        "rows": [[float(values[row]) for *_, values in kept] for row in rows],
    }


def _comparison(comparison: Comparison, profile: HeatProfile, verdict: str) -> dict[str, Any]:
    test, own = comparison.test, comparison.profiles[0]
    scales = own.resolutions if scale_kind(profile) == "resolution" else own.angles
    order = np.argsort(own.times)
    told = {
        "scales": scales[order].tolist(),
        "mmd2": comparison.mmd2[order].tolist(),
        "verdict": f"{verdict}: {comparison.no_test}." if test is None else _sentence(verdict),
    }
    if test is None:
        return told
    found = {"statistics": test.statistics[order].tolist(), "pvalues": test.pvalues[order].tolist()}
    clearest = int(np.flatnonzero(order == test.clearest)[0])
    return (
        told
        | found
        | {
            "pvalue": test.pvalue,
            "said": test.pvalue_in_words().replace("<=", "≤"),
            "draws": test.draws,
            "clearest": clearest,
        }
    )


def _sentence(verdict: str) -> str:
    """A verdict of the library as a sentence of a page; it begins with the name of a measure, or with "no"."""
    return f"{'N' if verdict.startswith('no ') else verdict[0]}{verdict[1:]}.".replace("<=", "≤")


def finite(value: Any) -> Any:
    """The same with None in place of numbers that are not finite, and plain Python numbers."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    number = plain_value(value)
    return None if isinstance(number, float) and not math.isfinite(number) else number
