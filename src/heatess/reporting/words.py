"""What a report says in words: the verdict on one measure, or on several."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.directions import EARTH_SQUARE_KM, KM_PER_DEGREE, SKY_SQUARE_DEGREES
from ..drawing.axes import plain
from ..inference.policy import HIGH_K, MOST_K, NO_DRAWS
from ..measures.measure import Measure
from ..measures.scales import ANGLE_DIMENSION
from ..profiles.profile import HeatProfile
from ..spaces.base import GESS_ONLY, Space

CAVEAT = "A low gESS is not by itself a fault: a concentrated posterior should have few distinguishable atoms."

#: What atoms are called, one and many, by what the columns were, and else by the form of points.
_NOUNS = {
    "earth": ("place", "places"),
    "sky": ("direction", "directions"),
    "directions": ("direction", "directions"),
    "rotations": ("orientation", "orientations"),
    "torsions": ("conformation", "conformations"),
    "poses": ("pose", "poses"),
    "quaternions": ("orientation", "orientations"),
}

#: The whole that a sample lies in, by what the columns were.
_WHOLES = {"earth": "the Earth", "sky": "the sky"}

#: ESS that exceeds gESS by this factor is worth a sentence, and gESS above this share of the atoms tells nearly all.
MISLEADS, NEARLY_ALL = 1.25, 0.9

#: GESS below which atoms are said to act like one.
ONE = 1.05

#: Share of atoms that may be copies without a word.
COPIES = 0.01


def noun(about: str, space: Space, n: int, kind: str | None = None) -> str:
    """What *n* atoms of a *kind* are called.

    >>> from heatess import Sphere
    >>> noun("sky", Sphere(2), 2), noun("sky", Sphere(2), 2, "cells")
    ('directions', 'cells')
    """
    if kind == "cells":
        return "cell" if n == 1 else "cells"
    found = _NOUNS.get(about) or _NOUNS.get(space.form) or ("point", "points")
    return found[n != 1]


def whole(about: str, space: Space) -> str:
    """What the space is called in a sentence.

    >>> from heatess import Sphere, Torus
    >>> whole("", Sphere(2)), whole("earth", Sphere(2)), whole("", Torus(2))
    ('the sphere', 'the Earth', 'the space')
    """
    if about in _WHOLES and space.dim == 2 and space.directional:
        return _WHOLES[about]
    return "the sphere" if space.directional and space.dim == 2 else "the space"


def scale_kind(profile: HeatProfile) -> str:
    """What scales are: angle, resolution or distance."""
    if not profile.space.angular:
        return "distance"
    high = profile.space.dim > ANGLE_DIMENSION
    return "resolution" if high and bool(np.isfinite(profile.resolutions).all()) else "angle"


def scale_values(profile: HeatProfile) -> FloatArray:
    """The scales as a report has them: angles or resolutions in degrees, or distances."""
    return profile.resolutions if scale_kind(profile) == "resolution" else profile.angles


def scale_unit(profile: HeatProfile, about: str = "") -> str:
    """The unit of scales: degrees, or kilometres for places on the Earth at a depth; empty if it is not known."""
    return "deg" if profile.space.angular else "km" if about == "earth" else ""


def scale_in_words(profile: HeatProfile, row: int, about: str = "") -> str:
    """One scale of a profile, with kilometres on the Earth."""
    value = f"{scale_values(profile)[row]:.3g}"
    kind = scale_kind(profile)
    if kind == "distance":
        return f"a distance of {value} {scale_unit(profile, about)}".rstrip()
    degrees = f"{value} {'degree' if value == '1' else 'degrees'}"
    if kind == "resolution":
        return f"a resolution of {degrees}"
    return f"{degrees} ({plain(profile.angles[row] * KM_PER_DEGREE)} km)" if about == "earth" else degrees


class Told(NamedTuple):
    """All that is known of one measure when it is put into words."""

    name: str
    profile: HeatProfile  #: from the finest scale to the coarsest
    row: int  #: the scale that matters
    about: str
    measure: Measure | None
    distinct: int | None  #: atoms at different places, where they were counted
    modes: str  #: in words, "" if there are none
    limit: float  #: resolution limit, nan if there is none within the scales
    pareto_k: float

    @property
    def equal(self) -> bool:
        """Whether all weights are."""
        return math.isclose(self.profile.ess, self.profile.n, rel_tol=1e-9)


def headline(known: Told) -> str:
    """The sentence that a reader takes away."""
    profile, found = known.profile, float(known.profile.gess[known.row])
    at, n = scale_in_words(profile, known.row, known.about), profile.n
    kind = profile.known.kind
    things = f"{n:,} {noun(known.about, profile.space, n, kind)}"
    if n == 1:
        return f"There is one {noun(known.about, profile.space, 1, kind)}, and so gESS is 1 at every scale"
    if found > NEARLY_ALL * n:
        return f"Nearly all of the {things} can be told apart at {at}: they act like {plain(found)}"
    weights = "" if known.equal else " of unequal weight"
    if found < ONE:
        return f"{things}{weights} cannot be told apart at {at}: they act like one"
    return f"{things}{weights} act like {plain(found)} that can be told apart at {at}"


def sentences(known: Told) -> list[str]:
    """What else there is to say, from the most to the least important."""
    found = [_read(known), _of_possible(known), _modes(known), _limit(known), _ordinary(known), _span(known)]
    return [sentence for sentence in found if sentence]


def _read(known: Told) -> str:
    origin = known.measure.origin if known.measure is not None else None
    if origin is not None:
        return f"Read from {Path(origin.source).name or origin.source}: {origin.description}."
    weights = "equal weights" if known.equal else "unequal weights"
    told = f"; {known.profile.known.words}" if known.profile.known.words else ""
    return f"{known.profile.n:,} atoms on {repr(known.profile.space).removesuffix(GESS_ONLY)}, {weights}{told}."


def _of_possible(known: Told) -> str:
    """The count out of the most that this scale tells apart, and the volume."""
    profile, row = known.profile, known.row
    volume = float(profile.volume[row])
    with np.errstate(divide="ignore"):
        most = float(profile.gess[row]) / volume if volume > 0 else math.inf
    if not profile.space.compact or not math.isfinite(most) or profile.n == 1:
        return ""
    at, inside = scale_in_words(profile, row, known.about), whole(known.about, profile.space)
    text = f"At {at}, {inside} has room for {_count(most)} places that can be told apart; these fill "
    text += f"{plain(float(profile.gess[row]))} and occupy {percent(volume)} of {inside}"
    if profile.space.dim == 2 and profile.space.directional:
        earth = known.about == "earth"
        size = f"{plain(volume * EARTH_SQUARE_KM)} km²" if earth else f"{plain(volume * SKY_SQUARE_DEGREES)} deg²"
        text += f", {size}"
    return f"{text}."


def _modes(known: Told) -> str:
    return f"The cloud has {known.modes}." if known.modes else ""


def _limit(known: Told) -> str:
    if not math.isfinite(known.limit):
        return ""
    angular, earth = known.profile.space.angular, known.about == "earth"
    unit = " degrees" if angular else " km" if earth else ""
    km = f" ({plain(known.limit * KM_PER_DEGREE)} km)" if earth and angular else ""
    draws = "" if known.profile.known.kind in ("draws", "weighted draws") else ", if they are independent draws"
    return (
        f"The resolution limit of the sample is {known.limit:.3g}{unit}{km}: at coarser scales gESS describes the law "
        f"that the atoms come from{draws}, at finer ones it counts atoms, and more of them would show more."
    )


def _ordinary(known: Told) -> str:
    """What ordinary ESS says, and why that misleads, where it does."""
    profile = known.profile
    found, ess = float(profile.gess[known.row]), profile.ess
    if profile.n == 1 or (known.equal and ess < MISLEADS * found):
        return ""
    if ess < MISLEADS * found:
        return f"Ordinary ESS, {plain(ess)}, says nearly the same at this scale."
    at, atoms = scale_in_words(profile, known.row, known.about), "cells" if profile.known.kind == "cells" else "atoms"
    if known.equal:
        return (
            f"Ordinary ESS would say {plain(ess)}, the number of {atoms}, because it sees only weights: {atoms} that "
            f"lie closer together than {at} count as different ones."
        )
    return (
        f"Ordinary ESS would say {plain(ess)}. It sees only weights, not places, so that {atoms} closer together than "
        f"{at} count as different ones."
    )


def _span(known: Told) -> str:
    """GESS at both ends of the scales."""
    profile = known.profile
    if len(profile.times) < 2 or profile.n == 1:
        return ""
    if profile.gess.max() < ONE:
        return "They act like one at every scale."
    ends = [f"{plain(float(profile.gess[k]))} at {scale_in_words(profile, k, known.about)}" for k in (0, -1)]
    return f"Over all scales gESS falls from {ends[0]} to {ends[1]}."


def warnings(known: Told) -> list[str]:
    """What a reader must be warned of."""
    said, n = [], known.profile.n
    if known.pareto_k > HIGH_K and known.profile.known.kind not in NO_DRAWS:
        strong = "so heavy that averages over them cannot be trusted" if known.pareto_k > MOST_K else "heavy"
        said.append(
            f"The tail of the weights is {strong}: Pareto k is {known.pareto_k:.2f}, and above {MOST_K:g} a few atoms "
            "decide. If these are importance weights, draw from a proposal that is wider than the target."
        )
    if known.distinct is not None and known.distinct < (1 - COPIES) * n:
        said.append(
            f"Only {known.distinct:,} of {n:,} atoms are at different places; the others are exact copies. gESS counts "
            "copies as one."
        )
    origin = known.measure.origin if known.measure is not None else None
    if origin is not None and origin.dropped:
        rows = "row was" if origin.dropped == 1 else "rows were"
        said.append(f"{origin.dropped:,} {rows} left out because a number was missing.")
    below = known.profile.below_cell
    if below.any():
        unit = " degrees" if known.profile.space.angular else ""
        said.append(
            f"{int(below.sum())} of {len(below)} scales are below the size of a cell, {known.profile.known.cell:.3g}"
            f"{unit}: there gESS and volume tell of the grid, not of what it shows."
        )
    doubt = float(known.profile.error.max())
    if doubt > 1e-3:
        how = "certain only" if known.profile.space.certified else "estimated to be right"
        said.append(f"gESS is {how} to {percent(doubt)} at some scales; see the column of errors.")
    return said


def percent(share: float) -> str:
    """A share in per cent, for readers.

    >>> percent(0.0237), percent(1e-9), percent(0.5)
    ('2.37 %', 'less than 0.001 %', '50 %')
    """
    return "less than 0.001 %" if share < 1e-5 else f"{100 * share:.3g} %"


def _count(value: float) -> str:
    return plain(value) if value < 1e9 else f"about 10^{math.floor(math.log10(value))}"


def joint_headline(knowns: list[Told], verdict: str | None) -> str:
    """The sentence on several measures."""
    if verdict:
        return f"N{verdict[1:]}" if verdict.startswith("no ") else verdict  # which else begins with a name
    first = knowns[0]
    at = scale_in_words(first.profile, first.row, first.about)
    said = ", ".join(f"{known.name} {plain(float(known.profile.gess[known.row]))}" for known in knowns)
    cells = all(known.profile.known.kind == "cells" for known in knowns)
    return f"Distinguishable {'places' if cells else 'atoms'} at {at}: {said}"


def verdict_of(knowns: list[Told], difference: str | None, notes: list[str]) -> dict[str, Any]:
    """The verdict of a report: headline, sentences, warnings and a caveat.

    *difference* is the verdict of a test of two measures; *notes* are further warnings.
    """
    several = len(knowns) > 1
    told: list[str] = []
    said: list[str] = []
    for known in knowns:
        told += [f"{known.name}: {headline(known)}."] if several else []
        told += [] if several else sentences(known)
        said += [f"{known.name}: {text}" if several else text for text in warnings(known)]
    if several:
        told += [f"{known.name}: {text}" for known in knowns for text in (_read(known), _modes(known)) if text]
    draws = [known for known in knowns if known.profile.known.kind not in NO_DRAWS]
    fields = {known.about for known in draws} & {"sky", "directions", "rotations"}
    caveat = CAVEAT if fields and not all(known.equal for known in knowns) else ""
    first = joint_headline(knowns, difference) if several else headline(knowns[0])
    return {"headline": f"{first}.", "sentences": told, "warnings": said + notes, "caveat": caveat}
