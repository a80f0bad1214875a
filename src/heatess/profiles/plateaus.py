"""Plateaus of a profile: scales over which a cloud consists of a certain number of modes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.errors import InputError, ScaleError
from ..base.results import Result
from ..spaces.base import Space
from ..spaces.capabilities import PairKernel

#: The fewest scales, and the largest ratio of neighbouring ones: three to an octave.
FEWEST_SCALES, WIDEST_STEP = 4, 1.26
#: A plateau is as long as this factor at least, and the count changes no faster than this power of the scale.
SHORTEST, STEEPEST = 1.4, 0.3
#: The modes' own part of all blur; it may be negative by chance.
LEAST_OWN, MOST_OWN = -0.1, 0.8
#: The smallest count; the largest, as a share of ESS; the least power of the law, which is 1 if it is uniform.
LEAST_COUNT, MOST_OF_ESS, LEAST_POWER = 0.75, 0.5, 1.2
#: Relative errors of the count above this are too large to read it.
MOST_ERROR = 0.02
#: For each factor e of time: the order of the polynomial for the heat kernel, and the points at which it is inverted.
ORDER, FINE = 8, 200
#: Curvature of spaces of infinite volume may change the count by this factor.
MOST_BENDING = 1.1


@dataclass(frozen=True)
class Plateau:
    """A range of scales over which a cloud consists of *count* modes.

    Attributes
    ----------
    count : float
        How many modes of equal weight: 1 / sum of squared shares of the modes. Four modes of equal weight are 4, of
        weights 0.4, 0.3, 0.2 and 0.1 they are 3.3.
    finest, coarsest : float
        The ends of the range, in the unit of the profile: degrees, or the unit of distance. They are angles sqrt(8 t),
        above ten dimensions resolutions.
    unit : str
        "degrees", or "" where distances are not angles.

    Examples
    --------
    >>> import heatess as he
    >>> (plateau,) = he.heat_profile(he.samplers.tetrahedral(300, 140.0, rng=0)).plateaus()
    >>> plateau
    Plateau(4 modes between 4.9 and 37 degrees, count=4.039)
    """

    count: float
    finest: float
    coarsest: float
    unit: str = "degrees"

    @property
    def sentence(self) -> str:
        """The plateau in words.

        >>> Plateau(4.02, 20.0, 51.2).sentence
        '4 modes between 20 and 51 degrees'
        >>> Plateau(3.41, 0.2, 0.5, "").sentence
        'about 3.4 modes of equal weight between 0.2 and 0.5'
        """
        whole = round(self.count)
        if abs(self.count - whole) <= 0.05 * self.count or self.count < 1:
            words = f"{whole} {'mode' if whole == 1 else 'modes'}"
        else:
            words = f"about {self.count:.2g} modes of equal weight"
        finest, coarsest = (f"{float(f'{end:.2g}'):,g}" for end in (self.finest, self.coarsest))
        return f"{words} between {finest} and {coarsest} {self.unit}".rstrip()

    def __repr__(self) -> str:
        return f"Plateau({self.sentence}, count={self.count:.4g})"


@dataclass(frozen=True, eq=False, repr=False)
class Plateaus(Result):
    """The plateaus of a profile, from the finest to the coarsest; `sentence` says them in words.

    Attributes
    ----------
    counts, finest, coarsest : ndarray
        Those of each `Plateau`.
    unit : str
        "degrees", or "" where distances are not angles.

    Examples
    --------
    >>> import heatess as he
    >>> found = he.heat_profile(he.samplers.tetrahedral(300, 140.0, rng=0)).plateaus()
    >>> len(found), found.sentence
    (1, '4 modes between 4.9 and 37 degrees')
    """

    counts: FloatArray
    finest: FloatArray
    coarsest: FloatArray
    unit: str = "degrees"

    schema: ClassVar[str] = "heatess.plateaus/1"
    columns: ClassVar[tuple[str, ...]] = ("counts", "finest", "coarsest")
    facts: ClassVar[tuple[str, ...]] = ("sentence", "unit")
    row_name: ClassVar[str] = "plateau"
    _drawing: ClassVar[str] = "..drawing.curves:draw_plateaus"

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[Plateau]:
        for one in zip(self.counts.tolist(), self.finest.tolist(), self.coarsest.tolist(), strict=True):
            yield Plateau(*one, self.unit)

    def __getitem__(self, place: Any) -> Any:
        return tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Plateaus | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    @property
    def sentence(self) -> str:
        """All plateaus in words, "" if there is none."""
        return ", ".join(plateau.sentence for plateau in self)

    def __repr__(self) -> str:
        return f"Plateaus({self.sentence or 'no modes at these scales'})"


class Curves(NamedTuple):
    """What is known of a cloud at each scale, from the finest to the coarsest."""

    ess: float
    times: FloatArray
    scales: FloatArray  #: as they are reported
    gess: FloatArray
    dimension: FloatArray
    divergence: FloatArray  #: nan where the volume is infinite
    error: FloatArray


class Counts(NamedTuple):
    """The sharpened count at each scale, the part of all blur there that is the modes' own, and the power A."""

    values: FloatArray
    own: FloatArray
    log_power: FloatArray


def sharpened_counts(curves: Curves, space: Space) -> Counts:
    """How many modes there are, if heat of some time tau has made each of a point; see `HeatProfile.plateaus`.

    The overlap of different atoms is 1 / gESS - 1 / ESS, so that with r = gESS / ESS

        G = (1 - 1 / ESS) gESS / (1 - r),    d = - d log G / d log alpha = dimension / (1 - r).

    With k(t) = k_2t(x, x), modes of own time tau have the power A(t) = k(t + tau) / N. The slope of log A gives tau:
    (log k)'(t + tau) = (log k)'(t) + d / 2t. Then N = G k(t + tau) / k(t). In flat space of dimension D, where k is
    proportional to t^(-D/2), that is t / (t + tau) = 1 - d / D and N = G (1 - d / D)^(D/2).
    """
    rest = 1 - curves.gess / curves.ess
    with np.errstate(divide="ignore", invalid="ignore"):
        log_places = np.log((1 - 1 / curves.ess) * curves.gess / rest)
        dimension = curves.dimension / rest
        kernel = space.pair_kernel
        if not space.compact or kernel is None:
            own = _flat_enough(dimension / space.dim, curves.times, space)
            values = np.exp(log_places + space.dim / 2 * np.log1p(-np.minimum(own, 1.0)))
            return Counts(values, own, curves.divergence + np.log(curves.gess) - log_places)
    sharp = np.log(curves.times)
    log_kernel = _log_diagonal(kernel, sharp)
    slopes = log_kernel.deriv()(sharp) / curves.times + dimension / (2 * curves.times)
    blurred = _log_times_of_slopes(log_kernel, slopes)
    with np.errstate(invalid="ignore"):
        values = np.exp(log_places + log_kernel(blurred) - log_kernel(sharp))
        return Counts(values, -np.expm1(sharp - blurred), log_kernel(sharp) - log_places)


def _flat_enough(own: FloatArray, times: FloatArray, space: Space) -> FloatArray:
    """*own*, the modes' part of all blur, but nan where modes are so wide that flat space is no approximation.

    On a space of infinite volume, heat of time tau has exp(R tau / 3) times its flat k_2t(x, x), R the curvature.
    """
    if space.compact:
        return own
    bending = abs(space.scalar_curvature) / 3 * times * own / np.maximum(1 - own, 0.0)
    return np.where(bending > math.log(MOST_BENDING), math.nan, own)


def _log_diagonal(kernel: PairKernel, log_times: FloatArray) -> Chebyshev:
    """log k_2t(x, x) as a polynomial in log t, from a little below the times to far above them."""
    domain = [log_times[0] - 0.3, log_times[-1] + 2.0]
    order = math.ceil(ORDER * (domain[1] - domain[0]))
    return Chebyshev.interpolate(lambda x: kernel.log_diagonal(np.exp(x)), order, domain)


def _log_times_of_slopes(log_kernel: Chebyshev, slopes: FloatArray) -> FloatArray:
    """Logarithms of the times at which log k_2t(x, x) has these slopes in t, which increase with t; nan if nowhere."""
    first, last = log_kernel.domain
    x = np.linspace(first, last, math.ceil(FINE * (last - first)))
    known = -log_kernel.deriv()(x) / np.exp(x)
    falls = (known[1:] < known[:-1]) & (known[1:] > 0)
    until = 1 + int(np.argmin(np.append(falls, False)))  # beyond, k is 1 but for rounding
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted, heights = -np.log(-slopes), -np.log(known[:until])
    return np.asarray(np.interp(wanted, heights, x[:until], left=math.nan, right=math.nan))


def find(curves: Curves, space: Space) -> Plateaus:
    """The plateaus of the sharpened count, from the finest to the coarsest."""
    if space.dim < 1:
        raise InputError(f"modes are told by how they spread in <+dimensions+>, and <!{space!r}!> has none")
    check_scales(curves.scales)
    counts = sharpened_counts(curves, space)
    log_scales = np.log(curves.scales)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.abs(np.gradient(np.log(counts.values), log_scales))
        flat = _readable(counts, curves) & (slopes <= STEEPEST)
    edges = np.flatnonzero(np.diff(flat.astype(int), prepend=0, append=0))
    # A scale stands for the range half-way to its neighbours.
    middles = np.concatenate([log_scales[:1], (log_scales[1:] + log_scales[:-1]) / 2, log_scales[-1:]])
    unit, found = "degrees" if space.angular else "", []
    for first, last in zip(edges[::2], edges[1::2] - 1, strict=True):
        if middles[last + 1] - middles[first] >= math.log(SHORTEST) - 1e-9:
            flattest = first + int(np.argmin(slopes[first : last + 1]))
            ends = float(curves.scales[first]), float(curves.scales[last])
            found.append((float(counts.values[flattest]), *ends))
    counted, finest, coarsest = np.array(found, dtype=np.float64).reshape(-1, 3).T
    return Plateaus(counted, finest, coarsest, unit)


def _readable(counts: Counts, curves: Curves) -> NDArray[np.bool_]:
    """Where the count says something of the law: it is certain, there are atoms enough, and the law is not uniform."""
    good = curves.error < MOST_ERROR * (1 - curves.gess / curves.ess)
    good &= (counts.own > LEAST_OWN) & (counts.own < MOST_OWN)
    good &= (counts.values >= LEAST_COUNT) & (counts.values <= MOST_OF_ESS * curves.ess)
    return np.asarray(good & ~(counts.log_power < math.log(LEAST_POWER)))  # nan where there is no uniform law


def check_scales(scales: FloatArray) -> None:
    """Refuse scales that are too few, or too far apart, to tell a plateau."""
    if len(scales) < FEWEST_SCALES:
        found = f"{len(scales)} of them"
    elif (widest := float(np.max(scales[1:] / scales[:-1]))) > WIDEST_STEP:
        found = f"neighbours a factor of {widest:.3g} apart"
    else:
        return
    raise ScaleError(
        f"modes are read off a profile of <+{FEWEST_SCALES} scales or more, neighbours at most a factor of "
        f"{WIDEST_STEP} apart+>, but it has <!{found}!>; call `heat_profile` without scales, or with "
        "`np.geomspace(finest, coarsest, 60)`"
    )
