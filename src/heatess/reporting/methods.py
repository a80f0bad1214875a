"""What a report says of its methods: what the quantities mean, how they were computed, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.version import __version__
from ..inference.comparison import Comparison
from ..profiles.heat_profile import HeatProfile
from .vocabulary import scale_in_words, whole

if TYPE_CHECKING:
    from .content import Entry

CITE = (
    "K. You and B. Cho, Heat-Kernel Entropy Profiles and Geometric Effective Sample Size for Weighted Measures on "
    f"Manifolds, manuscript; and the software heatess, version {__version__}."
)

#: Engines by the words of `HeatProfile.method`.
_ENGINES = {
    "spectral": "a fast transform to eigenfunctions, whose run time grows with n and not with n²",
    "pairwise": "sums over all pairs of points",
    "local": "sums over close pairs of points",
    "modes": "eigenpairs of the Laplacian of the nodes",
    "pairs": "random pairs of points",
}

#: What is not there, in words.
_NAMES = {
    "modes": "modes",
    "places": "places of the distribution and their bands",
    "even": "gESS with equal weights",
    "mmd2_null": "MMD² under uniformity",
    "spectrum": "the power spectrum",
    "maximum_entropy": "maximum-entropy shares",
    "redundancy": "redundant points",
    "mass": "where the mass is",
}


def methods(
    entries: Sequence[Entry],
    row: int,
    comparison: Comparison | None,
    no_comparison: str,
    spelled: Callable[[str], str] = str,
) -> list[dict[str, str]]:
    """Titles and texts, in the order in which the page shows them."""
    compact = all(entry.profile.space.compact for entry in entries)
    found = [
        ("gESS", _gess()),
        ("Scales", _scales(entries[0], row)),
        ("Accuracy", " ".join(_accuracy(entry, several=len(entries) > 1) for entry in entries)),
    ]
    if compact:
        found.append(("Volume and divergence from uniform", _volume()))
    found.append(
        ("Dimension", "The order-two dimension is the slope - d log gESS / d log scale, from the exact derivative.")
    )
    if any(entry.population is not None for entry in entries):
        found.append(("Places of the distribution", _places(entries)))
    if compact and any("mmd2_null" not in entry.reasons and entry.measure is not None for entry in entries):
        found.append(("MMD² under uniformity", _null()))
    if any(entry.modes for entry in entries):
        found.append(("Modes", _modes()))
    if comparison is not None:
        found.append(("Comparison", _compared(comparison)))
    if any(entry.smoothed for entry in entries):
        found.append(("Regions of the mass", _regions()))
    found.append(("Pictures", _pictures()))
    missing = _missing(entries, no_comparison, spelled)
    if missing:
        found.append(("What is not shown, and why", missing))
    return [{"title": title, "text": text} for title, text in found]


def _gess() -> str:
    return (
        "Heat that starts at one point spreads over the space. The overlap s of two points is how much of their "
        "heat is at the same places: 1 for the same place, near 0 for points much farther apart than the scale. "
        "Pick two points at random, by weight: ordinary ESS = 1 / Σ w_i² is 1 / the chance that they are the same "
        "one, and the geometric effective sample size gESS = 1 / Σ w_i w_j s(x_i, x_j) is 1 / their average "
        "overlap. gESS lies between 1 and ESS, which is its limit at fine scales. Exact copies of a point never "
        "count twice."
    )


def _scales(entry: Entry, row: int) -> str:
    unit = "in degrees" if entry.profile.space.angular else "in the unit of distance"
    text = (
        f"A scale is the angle or distance √(8t), {unit}, for heat of time t: two points that far apart in flat space "
        "overlap by 1/e. The resolution is the distance at which they do so in this space."
    )
    at = scale_in_words(entry.profile, row, entry.about)
    return f"{text} The page opens at {at}; its address keeps the scale that you choose."


def is_certified(profile: HeatProfile) -> bool:
    """Whether `error` is a bound: not of nodes that stand for a surface, nor of random pairs."""
    return profile.space.certified and profile.method != "pairs"


def _accuracy(entry: Entry, *, several: bool) -> str:
    profile = entry.profile
    ways = [_ENGINES.get(name, name) for name in profile.method.split("+")]
    who = f"{entry.name}: " if several else ""
    most = f"{profile.error.max():.2g}"
    bound = f"at most {most}, certified" if is_certified(profile) else f"estimated to be at most {most}, not certified,"
    return (
        f"{who}gESS was computed by {' and '.join(ways)} ({profile.method}), over all {profile.n:,} points. "
        f"Its relative error is {bound} at each scale; see the table."
    )


def _volume() -> str:
    return (
        "The heat of all points together has a density p. A = ∫ p², with respect to normalised volume, is 1 for "
        "the uniform distribution. The occupied volume is 1 / A, the divergence from uniform log A (of order "
        'two), and A - 1 is the squared maximum mean discrepancy MMD² to the uniform distribution. "Room for" is '
        "1 / the share of the space that one point covers."
    )


def _places(entries: Sequence[Entry]) -> str:
    found = [entry.population for entry in entries if entry.population is not None]
    band = f"The band covers it with {100 * found[0].level:g} % confidence at each scale. "
    return (
        "If points are independent draws, gESS is limited by their number. Places is the estimate, without that "
        "limit, of how many separate places the distribution behind them fills: 1 / gESS = 1 / ESS + (1 - 1 / "
        f"ESS) / places for fixed weights. {'' if all(one.withheld for one in found) else band}"
        "Where places equals ESS the sample reaches its resolution limit: below that scale there are too few "
        "points. Below half of it places are not shown."
    )


def _null() -> str:
    return (
        "Independent uniform points with the same weights have MMD² > 0 by chance. The line shows its mean; the "
        "other line is exceeded once in twenty times, by the limit for many points, a mixture of chi-square "
        "variables. The weights are taken as fixed."
    )


def _modes() -> str:
    return (
        "Modes are read off the profile: over a range of scales that is wider than the modes and finer than the "
        "gaps between them, the number of places, corrected for the width of the modes, stays the same. Modes of "
        "equal weight count as one each, unequal ones as fewer."
    )


def _compared(comparison: Comparison) -> str:
    test = comparison.test
    if test is None:
        return (
            f"There is no p-value: {comparison.no_test}. What two measures share is 1 - MMD² / (A + B), with A and B "
            "the power of each: 100 % if they are equal at a scale, 0 if they do not overlap there."
        )
    return (
        f"The p-value is that of MMD over all scales together, from {test.draws:,} resamplings "
        f"({' and '.join(dict.fromkeys(_words(test.weights_are)))} weights). p-values of single scales are not "
        "corrected for their number."
    )


def _words(weights_are: object) -> list[str]:
    return [str(part) for part in weights_are] if isinstance(weights_are, tuple | list) else [str(weights_are)]


def _regions() -> str:
    return (
        "The density is the heat of all points at one scale. Without a scale of yours it is the one at which "
        "least-squares cross-validation estimates the smallest squared error, ∫ (density - distribution)². A region "
        "is where the density is above a threshold, and no smaller one holds the same share of it. How much it holds "
        "of the distribution behind the sample is found by leaving each point out; the uncertainty of areas by "
        "leaving out a tenth of the points in turn."
    )


def _pictures() -> str:
    return (
        "The area of a marker is proportional to the weight of its point. Shades show the logarithm of the "
        "smoothed density at the chosen scale, up to three and a half powers of ten below the largest; between "
        "scales that were computed they are interpolated. Coordinates are rounded for the picture only. The ring "
        "shows the chosen scale."
    )


def _missing(entries: Sequence[Entry], no_comparison: str, spelled: Callable[[str], str]) -> str:
    said = []
    for entry in entries:
        who = f"{entry.name}, " if len(entries) > 1 else ""
        names: dict[str, list[str]] = {}
        for name, why in entry.reasons.items():
            names.setdefault(_in_words(spelled(why), entry), []).append(_NAMES.get(name, name))
        said += [f"{who}{'; '.join(called)}: {why}." for why, called in names.items()]
        if not entry.profile.space.compact:
            said.append(f"{who}volume, divergence and MMD²: the volume of the space is infinite.")
    if no_comparison:
        said.append(f"Test of two samples: {no_comparison}.")
    return " ".join(text[:1].upper() + text[1:] for text in said)


def _in_words(why: str, entry: Entry) -> str:
    """A reason that names the space in words, and the file, but not its folder: reports are forwarded."""
    why = why.replace(repr(entry.profile.space), whole(entry.about, entry.profile.space))
    origin = entry.measure.origin if entry.measure is not None else None
    return why.replace(origin.source, Path(origin.source).name) if origin is not None and origin.source else why
