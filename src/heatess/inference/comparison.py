"""Two samples side by side: both profiles, how far apart they are, and whether that may be chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..answers.profile_and_gess import heat_profile
from ..base.arrays import FloatArray
from ..base.errors import InputError, KindError
from ..base.messages import Message
from ..base.results import Result
from ..measures import scales
from ..measures.measure import Measure
from ..profiles.default_scales import common_scales
from ..profiles.heat_profile import HeatProfile
from ..spaces.base import Space
from .mmd import measures_of, mmd2_of
from .policy import SIGNIFICANT
from .two_sample import TwoSampleTest, tested

#: Points of two samples together up to which they are resampled 500 times, and 99 times, without being asked.
MOST_POINTS_FOR_500_DRAWS, MOST_POINTS_FOR_99_DRAWS = 200_000, 2_000_000

#: What two measures may have apart and are called the same.
SAME = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Two samples side by side, see `compare`.

    Attributes
    ----------
    profiles : tuple of two HeatProfile
        Those of a and b, at common scales.
    mmd2 : ndarray
        MMD^2 of the two at each scale; nan on spaces of infinite volume.
    shared : ndarray
        How much of both is the same at each scale, from 0 to 1: 1 - MMD^2 / (A_a + A_b), with A the power of each. This
        is 1 for equal measures, 0 for those that do not overlap, and defined on spaces of infinite volume too.
    test : TwoSampleTest or None
        The test whether both come from one distribution, at these scales; None for data that are no draws, see
        `no_test`.
    no_test : str
        Why there is no test; empty if there is one.
    names : tuple of two str
        What the samples are called.

    Examples
    --------
    >>> import heatess as he
    >>> wide = he.samplers.von_mises_fisher(100, [0, 0, 1], 5, rng=0)
    >>> narrow = he.samplers.von_mises_fisher(100, [0, 0, 1], 50, rng=1)
    >>> found = he.compare(wide, narrow, names=("before", "after"), angles=[10, 20, 40], rng=2)
    >>> print(found.verdict)
    before and after differ (p <= 0.002), most clearly at 20 degrees; their distributions fill 7.9 and 1.7 places there
    """

    profiles: tuple[HeatProfile, HeatProfile]
    mmd2: FloatArray
    shared: FloatArray
    test: TwoSampleTest | None
    names: tuple[str, str]
    no_test: Message = Message("")  # noqa: RUF009

    schema: ClassVar[str] = "heatess.comparison/1"
    columns: ClassVar[tuple[str, ...]] = (
        "times",
        "angles",
        "resolutions",
        "gess_a",
        "gess_b",
        "places_a",
        "places_b",
        "mmd2",
        "statistics",
        "pvalues",
    )
    facts: ClassVar[tuple[str, ...]] = (
        *("verdict", "pvalue", "no_test", "names", "n", "ess", "draws", "weights_are", "space"),
    )
    shown: ClassVar[tuple[str, ...]] = ("angles", "resolutions", "gess_a", "gess_b", "mmd2", "pvalues")
    _row_key: ClassVar[str] = "angles"
    _drawing: ClassVar[str] = ".drawing.two_samples:draw_comparison"

    @property
    def pvalue(self) -> float:
        """Of the test, over all scales together; nan where there is none."""
        return math.nan if self.test is None else self.test.pvalue

    @property
    def places(self) -> tuple[FloatArray, FloatArray]:
        """How many places the distributions behind a and b fill at each scale: k_2t(x, x) / A of each.

        From 1 / gESS = 1 / ESS + (1 - 1 / ESS) / places, which holds on the average for fixed weights; inf where no two
        points overlap, and nan on meshes, point clouds and graphs, where footprints differ from place to place.
        """
        one, other = (_places(profile) for profile in self.profiles)
        return one, other

    @property
    def verdict(self) -> str:
        """What was found, in one sentence."""
        return verdict_in(self, HeatProfile.scale_in_words)

    def _value(self, name: str) -> Any:
        quantity, _, which = name.rpartition("_")
        if name in ("times", "angles", "resolutions"):
            return np.asarray(getattr(self.profiles[0], name))
        if name == "mmd2":
            return self.mmd2
        if which not in ("a", "b"):
            return np.full(len(self.mmd2), np.nan) if self.test is None else np.asarray(getattr(self.test, name))
        place = "ab".index(which)
        return np.asarray(self.profiles[place].gess if quantity == "gess" else self.places[place])

    def _facts(self) -> dict[str, Any]:
        own: dict[str, Any] = {"verdict": self.verdict, "pvalue": self.pvalue, "no_test": self.no_test}
        own |= {"names": list(self.names), "space": repr(self.profiles[0].space)}
        if self.test is not None:
            return own | {name: value for name, value in self.test._facts().items() if name not in own}
        sizes = {name: [getattr(profile, name) for profile in self.profiles] for name in ("n", "ess")}
        return own | sizes | {"draws": 0, "weights_are": None}

    def __repr__(self) -> str:
        return f"Comparison({self.profiles[0].space!r}: {self.verdict})"


def verdict_in(comparison: Comparison, words: Callable[[HeatProfile, int], str]) -> str:
    """The verdict with scales in the *words* of a reader: they are given a profile and a row of it."""
    test, (a, b) = comparison.test, comparison.names
    if test is None:
        return _distance(comparison, words)
    profile = comparison.profiles[0]
    if test.pvalue > SIGNIFICANT:
        first, last = (words(profile, int(row)) for row in (np.argmin(test.times), np.argmax(test.times)))
        several = f"{len(test.times)} scales from {first.removesuffix(' degrees')} to {last}"
        at = last if len(test.times) == 1 else several
        found = f"no difference of {a} and {b} found at {at} ({test.pvalue_in_words()})"
        return f"{found}; that is not proof that there is none"
    sentence = f"{a} and {b} differ ({test.pvalue_in_words()})"
    sentence += f"{', most clearly' if len(test.times) > 1 else ''} at {words(profile, test.clearest)}"
    counts = [float(places[test.clearest]) for places in comparison.places]
    known = all(1 <= count < profile.ess for count, profile in zip(counts, comparison.profiles, strict=True))
    one, other = map(_number, counts)
    return f"{sentence}; their distributions fill {one} and {other} places there" if known else sentence


def _distance(comparison: Comparison, words: Callable[[HeatProfile, int], str]) -> str:
    """How much both share at three scales, from the finest to the coarsest."""
    (profile, _), order = comparison.profiles, np.argsort(comparison.profiles[0].times)
    rows = [int(row) for row in dict.fromkeys((order[0], order[len(order) // 2], order[-1]))]
    a, b = comparison.names
    if comparison.shared.min() > 1 - SAME:
        return f"{a} and {b} are the same at every scale; there is no p-value"
    parts = ", ".join(f"{_percent(comparison.shared[row])} at {words(profile, row)}" for row in rows)
    return f"{a} and {b} share {parts}; there is no p-value"


def compare(
    a: Any,
    b: Any,
    *,
    weights: Any = None,
    log_weights: Any = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    weights_are: str | tuple[str | None, str | None] | None = None,
    chains: Any = None,
    names: tuple[str, str] = ("a", "b"),
    draws: int = 500,
    rtol: float = 1e-8,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
) -> Comparison:
    """Compare two weighted samples: both heat profiles, MMD at every scale, and whether the difference may be chance.

    The result's `verdict` says it in one sentence. The p-value is that of `two_sample_test`, where all parameters but
    *names* are explained; *names* are what the sentence and the plot call the two samples. Maps and grids, trajectories
    and complete lists, and importance weights that rest on a few points, have no p-value: of them it says how much they
    share at fine, middle and coarse scales, and `no_test` says why.

    Returns
    -------
    Comparison
        With `profiles`, `mmd2`, `shared`, `test`, `pvalue`, `places` and `verdict`.

    Examples
    --------
    >>> import heatess as he
    >>> wide = he.samplers.von_mises_fisher(300, [0, 0, 1], 5, rng=0)
    >>> narrow = he.samplers.von_mises_fisher(300, [0, 0, 1], 20, rng=1)
    >>> found = he.compare(wide, narrow, angles=[10, 20, 40, 80], names=("before", "after"), rng=2)
    >>> print(found.verdict)
    before and after differ (p <= 0.002), most clearly at 20 degrees; their distributions fill 8.1 and 2.7 places there
    """
    called = _checked_names(names)
    one, other = measures_of(a, b, space, weights, log_weights, called)
    given = angles, times, resolutions
    how: dict[str, Any] = {"weights_are": weights_are, "draws": draws, "rng": rng, "rtol": rtol, "progress": progress}
    test, reason = None, Message("")
    try:
        test = tested(one, other, given, called, chains=chains, **how)
        at = test.times
    except KindError as error:
        reason = error.message
        asked = any(value is not None for value in given)
        at = (scales.resolve(one.space, *given) if asked else common_scales([one, other], rtol)).times
    # By times, so that a warning about angles in high dimension is not given three times.
    first, second = (heat_profile(part, times=at, rtol=rtol, progress=progress) for part in (one, other))
    if test is not None:
        apart = test.mmd2
    else:
        apart = mmd2_of(one, other, at, rtol) if one.space.compact else np.full(len(at), np.nan)
    shared = 1 - apart / (2 + first.mmd2 + second.mmd2) if one.space.compact else _shared(one, other, first, second)
    return Comparison((first, second), apart, shared, test, called, reason)


def affordable_draws(points: int) -> int:
    """Resamplings of two samples of so many *points* together that nobody asked for; 0 where they take too long.

    >>> [affordable_draws(points) for points in (1000, 1_000_000, 10_000_000)]
    [500, 99, 0]
    """
    return 500 if points <= MOST_POINTS_FOR_500_DRAWS else 99 if points <= MOST_POINTS_FOR_99_DRAWS else 0


def _shared(one: Measure, other: Measure, first: HeatProfile, second: HeatProfile) -> FloatArray:
    """What both share, by overlaps alone: 2 O_ab / (O_a + O_b) with O = 1 / gESS; O of both together tells O_ab."""
    points, weights = (np.concatenate([getattr(part, name) for part in (one, other)]) for name in ("points", "weights"))
    half = heat_profile(Measure.trusted(one.space, points, weights / 2), times=first.times, rtol=1e-10)
    own = 1 / first.gess + 1 / second.gess
    return np.clip((4 / half.gess - own) / own, 0.0, 1.0)


def _percent(share: float) -> str:
    """A share for readers.

    >>> _percent(1e-9), _percent(0.0516), _percent(0.99996)
    ('less than 0.1 %', '5.16 %', 'more than 99.9 %')
    """
    if 0 < share < 1e-3:
        return "less than 0.1 %"
    return "more than 99.9 %" if 0.999 < share < 1 else f"{100 * share:.3g} %"


def _checked_names(names: Any) -> tuple[str, str]:
    pair = isinstance(names, tuple | list) and len(names) == 2 and all(isinstance(name, str) for name in names)
    if not pair or names[0] == names[1]:
        raise InputError.unfit("names", 'two different words, such as ("before", "after")', names, verb="are")
    return str(names[0]), str(names[1])


def _places(profile: HeatProfile) -> FloatArray:
    if profile.space.modes is not None:
        return np.full(len(profile.times), np.nan)
    gap = 1 / profile.gess - 1 / profile.ess
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (1 - 1 / profile.ess) / gap
    return np.where(gap > 1e-12 / profile.gess, found, math.inf)


def _number(value: float) -> str:
    """Two significant digits, or a whole number.

    >>> _number(3.71), _number(31.4), _number(1234.5)
    ('3.7', '31', '1,234')
    """
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"
