"""What a report says in words: the verdict on one measure, or on several."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..drawing.axes import plain
from ..inference.policy import COPIES_TO_MENTION, HIGH_K, NO_DRAWS
from ..measures.measure import Measure
from ..profiles.heat_profile import HeatProfile
from .vocabulary import area, count, length_in_words, nouns, percent, scale_in_words, where, whole

CAVEAT = "A low gESS is not by itself a fault: a concentrated posterior should have few distinguishable points."

#: ESS that exceeds gESS by this factor is worth a sentence, and gESS above this share of the points tells nearly all.
MISLEADS, NEARLY_ALL = 1.25, 0.9

#: GESS below which points count as one.
ONE = 1.05


class Told(NamedTuple):
    """All that is known of one measure when it is put into words."""

    name: str
    profile: HeatProfile  #: from the finest scale to the coarsest
    row: int  #: the scale of the slider
    about: str
    measure: Measure | None
    distinct: int | None  #: points at different places, where they were counted
    modes: str  #: in words, "" if there are none
    limit: float  #: resolution limit, nan if there is none within the scales
    pareto_k: float
    landmarks: tuple[int, ...] = ()  #: rows of scales that the headline names

    @property
    def equal(self) -> bool:
        """Whether all weights are equal."""
        return math.isclose(self.profile.ess, self.profile.n, rel_tol=1e-9)

    @property
    def nouns(self) -> tuple[str, str]:
        """What one point and many are called."""
        return nouns(self.measure, self.profile.space, self.about, self.profile.known.kind)


def headline(known: Told) -> str:
    """The sentence that a reader takes away: three scales if the slider is at one of them, else that of the slider."""
    profile, found, n = known.profile, float(known.profile.gess[known.row]), known.profile.n
    one, many = known.nouns
    if n == 1:
        return f"There is one {one}, and so gESS is 1 at every scale"
    things = f"{n:,} {many}"
    weights = "" if known.equal or profile.known.kind == "cells" else " of unequal weight"
    ones = "places" if profile.known.kind == "cells" or known.about == "earth" else "ones"
    if known.row in known.landmarks and len(known.landmarks) > 1:
        first, *others = known.landmarks
        at = scale_in_words(profile, first, known.about, short=known.about == "earth")
        parts = [f"{things}{weights} count as {count(profile.gess[first])} separate {ones} at {at}"]
        for row in others:
            parts.append(f"{count(profile.gess[row])} at {scale_in_words(profile, row, known.about, short=True)}")
        return ", ".join(parts)
    at = scale_in_words(profile, known.row, known.about)
    if found > NEARLY_ALL * n:
        return f"Nearly all of the {things} are separate at {at}: they count as {count(found)}"
    if found < ONE:
        return f"{things}{weights} cannot be told apart at {at}: they count as one"
    return f"{things}{weights} count as {count(found)} separate {ones} at {at}"


def sentences(known: Told) -> list[str]:
    """What else there is to say, from the most to the least important."""
    found = [_modes(known), _read(known), _of_possible(known), _limit(known), _ordinary(known), _span(known)]
    return [sentence for sentence in found if sentence]


def _read_file(known: Told) -> str:
    origin = known.measure.origin if known.measure is not None else None
    if origin is None:
        return ""
    return f"Read from {Path(origin.source).name or origin.source}: {origin.description}."


def _read(known: Told) -> str:
    if found := _read_file(known):
        return found
    weights = "equal weights" if known.equal else "unequal weights"
    told = f"; {known.profile.known.words}" if known.profile.known.words else ""
    many = known.nouns[1]
    return f"{known.profile.n:,} {many}{where(known.profile.space)}, {weights}{told}."


def _of_possible(known: Told) -> str:
    """The count out of the most that this scale tells apart, and the volume."""
    profile, row = known.profile, known.row
    volume = float(profile.volume[row])
    with np.errstate(divide="ignore"):
        most = float(profile.gess[row]) / volume if volume > 0 else math.inf
    if not profile.space.compact or not math.isfinite(most) or profile.n == 1:
        return ""
    at, inside = scale_in_words(profile, row, known.about), whole(known.about, profile.space)
    text = f"At {at}, {inside} has room for {count(most)} separate places; these fill "
    text += f"{count(float(profile.gess[row]))} and cover {percent(volume)} of {inside}"
    if profile.space.dim == 2 and profile.space.directional:
        text += f", {area(volume, known.about)}"
    return f"{text}."


def _modes(known: Told) -> str:
    return f"The cloud has {known.modes}." if known.modes else ""


def _limit(known: Told) -> str:
    if not math.isfinite(known.limit):
        return ""
    limit = length_in_words(known.limit, known.profile.space, known.about)
    draws = "" if known.profile.known.kind in ("draws", "weighted draws") else ", if these are independent draws"
    return (
        f"Below {limit} you have too few points: there gESS counts the points themselves, and more of them would show "
        f"more. Above it gESS describes the distribution that they come from{draws}."
    )


def _ordinary(known: Told) -> str:
    """What ordinary ESS says, and why that misleads, where it does."""
    profile = known.profile
    found, ess = float(profile.gess[known.row]), profile.ess
    if profile.n == 1 or (known.equal and ess < MISLEADS * found):
        return ""
    if ess < MISLEADS * found:
        return f"Ordinary ESS, {plain(ess)}, says nearly the same at this scale."
    at, many = scale_in_words(profile, known.row, known.about), known.nouns[1]
    number = f", the number of {many}" if known.equal else ""
    return (
        f"Ordinary ESS would say {plain(ess)}{number}. It sees only weights, and counts {many} closer together than "
        f"{at} as different ones."
    )


def _span(known: Told) -> str:
    """GESS at both ends of the scales."""
    profile = known.profile
    if len(profile.times) < 2 or profile.n == 1:
        return ""
    if profile.gess.max() < ONE:
        return "They count as one at every scale."
    ends = [f"{count(float(profile.gess[k]))} at {scale_in_words(profile, k, known.about)}" for k in (0, -1)]
    return f"Over all scales gESS falls from {ends[0]} to {ends[1]}."


def warnings(known: Told) -> list[str]:
    """What a reader must be warned of."""
    said, n = [], known.profile.n
    if known.pareto_k > HIGH_K and known.profile.known.kind not in NO_DRAWS:
        said.append(
            f"The tail of the weights is heavy: Pareto k is {known.pareto_k:.2f}. If these are importance weights, a "
            "few points that were not drawn could change averages: draw from a proposal that is wider than the target."
        )
    if known.distinct is not None and known.distinct < (1 - COPIES_TO_MENTION) * n:
        said.append(
            f"Only {known.distinct:,} of {n:,} {known.nouns[1]} are at different places; the others are exact copies. "
            "gESS counts copies as one."
        )
    origin = known.measure.origin if known.measure is not None else None
    if origin is not None and origin.dropped:
        rows = "row was" if origin.dropped == 1 else "rows were"
        said.append(f"{origin.dropped:,} {rows} left out because a number was missing.")
    below = known.profile.below_cell
    if below.any():
        unit = "°" if known.profile.space.angular else ""
        said.append(
            f"{int(below.sum())} of {len(below)} scales are below the size of a cell, {known.profile.known.cell:.3g}"
            f"{unit}: there gESS and volume tell of the grid, not of what it shows."
        )
    doubt = float(known.profile.error.max())
    if doubt > 1e-3:
        how = "certain only" if known.profile.space.certified else "estimated to be right"
        said.append(f"gESS is {how} to {100 * doubt:.2g} % at some scales; see the column of errors.")
    return said


def joint_headline(knowns: list[Told], verdict: str | None) -> str:
    """The sentence on several measures."""
    if verdict:
        verdict = verdict.replace("<=", "≤")
        return f"N{verdict[1:]}" if verdict.startswith("no ") else verdict  # which else begins with a name
    first = knowns[0]
    at = scale_in_words(first.profile, first.row, first.about)
    said = ", ".join(f"{count(float(known.profile.gess[known.row]))} in “{known.name}”" for known in knowns)
    many = {known.nouns[1] for known in knowns}
    cells = all(known.profile.known.kind == "cells" for known in knowns)
    ess = [known.profile.ess for known in knowns]
    ordinary = f" (ordinary ESS: {', '.join(map(plain, ess))})" if max(ess) > MISLEADS * min(ess) else ""
    return f"Separate {'places' if cells else many.pop() if len(many) == 1 else 'points'} at {at}: {said}{ordinary}"


def verdict_of(knowns: list[Told], difference: str | None, notes: list[str]) -> dict[str, Any]:
    """The verdict of a report: headline, sentences, warnings and a caveat, and what it says at every other scale.

    *difference* is the verdict of a test of two measures; *notes* are further warnings.
    """
    several = len(knowns) > 1
    said = [f"{known.name}: {text}" if several else text for known in knowns for text in warnings(known)]
    draws = [known for known in knowns if known.profile.known.kind not in NO_DRAWS]
    fields = {known.about for known in draws} & {"sky", "directions", "rotations"}
    caveat = CAVEAT if fields and not all(known.equal for known in knowns) else ""
    first, told = said_at(knowns, difference)
    return {
        "headline": first,
        "sentences": told,
        "warnings": said + [_as_sentence(note, [known.name for known in knowns]) for note in notes],
        "caveat": caveat,
        "follows": _follows(knowns, difference),
    }


def _as_sentence(note: str, names: list[str]) -> str:
    """A warning that begins with a capital letter, unless it does with the name of a measure or of a function."""
    word = re.match(r"[a-z]+(?= )", note)
    return note if word is None or note.startswith(tuple(names)) else f"{note[:1].upper()}{note[1:]}"


def said_at(knowns: list[Told], difference: str | None) -> tuple[str, list[str]]:
    """Headline and sentences at the scale that the measures are told at."""
    if len(knowns) == 1:
        return f"{headline(knowns[0])}.", sentences(knowns[0])
    told = [f"{known.name}: {headline(known)}." for known in knowns]
    told += [f"{known.name}: {text}" for known in knowns for text in (_read_file(known), _modes(known)) if text]
    return f"{joint_headline(knowns, difference)}.", told


def _follows(knowns: list[Told], difference: str | None) -> dict[str, Any]:
    """What is said at each scale: all texts, each once, and for each scale the numbers of headline and sentences."""
    texts: dict[str, int] = {}
    rows = []
    for row in range(len(knowns[0].profile.times)):
        first, told = said_at([known._replace(row=row) for known in knowns], difference)
        rows.append([texts.setdefault(text, len(texts)) for text in (first, *told)])
    return {"texts": list(texts), "rows": rows}
