"""Two samples side by side: both profiles, how far apart they are, and whether that may be chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, shown
from ..errors import InputError
from ..profile import HeatProfile, heat_profile
from ..results import Result
from ..spaces.base import Space
from .mmd import measures_of
from .two_sample import TwoSampleTest, tested

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The p-value up to which the verdict is that two samples differ.
SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Two samples side by side, see `compare`.

    Attributes
    ----------
    profiles : tuple of two HeatProfile
        Those of a and b, at common scales.
    test : TwoSampleTest
        The test whether both come from one law, at these scales.
    names : tuple of two str
        What the samples are called.

    Examples
    --------
    >>> import heatess as he
    >>> wide = he.samplers.von_mises_fisher(100, [0, 0, 1], 5, rng=0)
    >>> narrow = he.samplers.von_mises_fisher(100, [0, 0, 1], 50, rng=1)
    >>> found = he.compare(wide, narrow, names=("before", "after"), angles=[10, 20, 40], rng=2)
    >>> print(found.verdict)
    before and after differ (p = 0.002), most clearly at 20 degrees; before fills 7.9 places there and after 1.7
    """

    profiles: tuple[HeatProfile, HeatProfile]
    test: TwoSampleTest
    names: tuple[str, str]

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
    facts: ClassVar[tuple[str, ...]] = ("verdict", "pvalue", "names", "n", "ess", "draws", "weights_are", "space")
    shown: ClassVar[tuple[str, ...]] = ("angles", "resolutions", "gess_a", "gess_b", "mmd2", "pvalues")

    @property
    def mmd2(self) -> FloatArray:
        """MMD^2 of the two at each scale; nan on spaces of infinite volume."""
        return self.test.mmd2

    @property
    def pvalue(self) -> float:
        """Of the test, over all scales together."""
        return self.test.pvalue

    @property
    def places(self) -> tuple[FloatArray, FloatArray]:
        """How many footprints of heat the laws behind a and b fill at each scale: k_2t(x, x) / A of the law.

        From 1 / gESS = 1 / ESS + (1 - 1 / ESS) / places, which holds on the average for fixed weights; inf where no two
        atoms overlap, and nan on meshes, point clouds and graphs, where footprints differ from place to place.
        """
        one, other = (_places(profile) for profile in self.profiles)
        return one, other

    @property
    def verdict(self) -> str:
        """What was found, in one sentence."""
        test, (a, b) = self.test, self.names
        if test.pvalue > SIGNIFICANT:
            found = f"no difference of {a} and {b} found {test.span_in_words()} (p = {test.pvalue:.2g})"
            return f"{found}; that is not proof that there is none"
        sentence = f"{a} and {b} differ (p = {test.pvalue:.2g})"
        if len(test.times) == 1:
            sentence += f" at {test.scale_in_words(0)}"
        else:
            sentence += f", most clearly at {test.scale_in_words(test.clearest)}"
        counts = [float(places[test.clearest]) for places in self.places]
        known = all(1 <= count < profile.ess for count, profile in zip(counts, self.profiles, strict=True))
        return f"{sentence}; {a} fills {_count(counts[0])} there and {b} {_number(counts[1])}" if known else sentence

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw gESS of both against the scale and return the Axes; `test.plot()` draws how clearly they differ.

        >>> import heatess as he
        >>> wide = he.samplers.von_mises_fisher(100, [0, 0, 1], 5, rng=0)
        >>> narrow = he.samplers.von_mises_fisher(100, [0, 0, 1], 50, rng=1)
        >>> ax = he.compare(wide, narrow, angles=[10, 20, 40], rng=2).plot()
        >>> ax.get_xscale()
        'log'
        """
        from .drawing.two_samples import draw_comparison

        return draw_comparison(self, ax)

    def _column(self, name: str) -> Any:
        quantity, _, which = name.rpartition("_")
        if which not in ("a", "b"):
            return np.asarray(getattr(self.test, name))
        place = "ab".index(which)
        return np.asarray(self.profiles[place].gess if quantity == "gess" else self.places[place])

    def _facts(self) -> dict[str, Any]:
        own = {"verdict": self.verdict, "pvalue": self.pvalue, "names": list(self.names)}
        return own | {name: value for name, value in self.test._facts().items() if name not in own}

    def __repr__(self) -> str:
        return f"Comparison({self.test.space!r}: {self.verdict})"


def compare(
    a: Any,
    b: Any,
    *,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    space: Space | None = None,
    weights_are: str | tuple[str | None, str | None] | None = None,
    names: tuple[str, str] = ("a", "b"),
    draws: int = 500,
    rng: np.random.Generator | int | None = None,
    rtol: float = 1e-8,
    progress: bool = False,
) -> Comparison:
    """Compare two weighted samples: both heat profiles, MMD at every scale, and whether the difference may be chance.

    The result's `verdict` says it in one sentence. The p-value is that of `two_sample_test`, where all parameters but
    *names* are explained; *names* are what the sentence and the plot call the two samples.

    Returns
    -------
    Comparison
        With `profiles`, `mmd2`, `test`, `pvalue`, `places` and `verdict`.

    Examples
    --------
    >>> import heatess as he
    >>> wide = he.samplers.von_mises_fisher(300, [0, 0, 1], 5, rng=0)
    >>> narrow = he.samplers.von_mises_fisher(300, [0, 0, 1], 20, rng=1)
    >>> found = he.compare(wide, narrow, angles=[10, 20, 40, 80], names=("before", "after"), rng=2)
    >>> print(found.verdict)
    before and after differ (p = 0.002), most clearly at 20 degrees; before fills 8.1 places there and after 2.7
    """
    called = _checked_names(names)
    one, other = measures_of(a, b, space)
    how: dict[str, Any] = {"weights_are": weights_are, "draws": draws, "rng": rng, "rtol": rtol, "progress": progress}
    test = tested(one, other, (angles, times, resolutions), called, **how)
    # By times, so that a warning about angles in high dimension is not given three times.
    first, second = (heat_profile(part, times=test.times, rtol=rtol, progress=progress) for part in (one, other))
    return Comparison((first, second), test, called)


def _checked_names(names: Any) -> tuple[str, str]:
    pair = isinstance(names, tuple | list) and len(names) == 2 and all(isinstance(name, str) for name in names)
    if not pair or names[0] == names[1]:
        raise InputError(f'names must be two different words, such as ("before", "after"), but are {shown(names)}')
    return str(names[0]), str(names[1])


def _places(profile: HeatProfile) -> FloatArray:
    if profile.space.modes is not None:
        return np.full(len(profile.times), np.nan)
    gap = 1 / profile.gess - 1 / profile.ess
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (1 - 1 / profile.ess) / gap
    return np.where(gap > 1e-12 / profile.gess, found, math.inf)


def _count(value: float) -> str:
    return f"{_number(value)} places" if _number(value) != "1" else "1 place"


def _number(value: float) -> str:
    """Two significant digits, or a whole number.

    >>> _number(3.71), _number(31.4), _number(1234.5)
    ('3.7', '31', '1,234')
    """
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"
