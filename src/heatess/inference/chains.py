"""Markov chains: the effective number of draws at every scale, from autocovariances with the heat kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, IntArray
from ..errors import InputError, PrecisionWarning, warn
from ..fitting import scales_for
from ..profile import check_rtol
from ..scales import OverScales, in_words
from ..spaces.base import Space
from .autocovariance import Autocovariances
from .draws import arranged

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Uncertainty of the number of draws from which there is a warning, and from which there is no number.
DOUBT, TOO_VAGUE = 1e-3, 0.1


@dataclass(frozen=True, eq=False, repr=False)
class ChainEss(OverScales):
    """The effective number of draws of one or several Markov chains, one entry per scale; see `chain_ess`.

    Attributes
    ----------
    ess : ndarray
        Effective number of draws: so many independent ones would tell as much of the law at that scale.
    autocorrelation_times : ndarray
        Integrated autocorrelation time, n / ess: so many draws are worth one.
    times, angles, resolutions : ndarray
        The scales, as in `HeatProfile`.
    n, chains : int
        Number of draws in all chains, and number of chains.
    space : Space
        The manifold.

    Examples
    --------
    >>> import numpy as np
    >>> import heatess as he
    >>> walk = np.cumsum(np.random.default_rng(0).normal(size=2000))
    >>> he.chain_ess(walk, space=he.Circle(units="rad"), angles=[30, 120])
    ChainEss(Circle(units='rad'), n=2000 draws in 1 chain: worth 982.6 at angle 30 degrees to 507.9 at angle 120
    degrees)
    """

    times: FloatArray
    angles: FloatArray
    ess: FloatArray
    autocorrelation_times: FloatArray
    n: int
    chains: int
    space: Space
    _resolutions: FloatArray | None = field(default=None)

    schema: ClassVar[str] = "heatess.chain_ess/1"
    columns: ClassVar[tuple[str, ...]] = ("times", "angles", "resolutions", "ess", "autocorrelation_times")
    facts: ClassVar[tuple[str, ...]] = ("n", "chains", "space")
    shown: ClassVar[tuple[str, ...]] = ("angles", "resolutions", "ess", "autocorrelation_times")

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the effective number of draws against the scale and return the Axes.

        >>> import numpy as np
        >>> import heatess as he
        >>> walk = np.cumsum(np.random.default_rng(0).normal(size=2000))
        >>> ax = he.chain_ess(walk, space=he.Circle(units="rad")).plot()
        >>> ax.get_ylabel()
        'effective number of draws'
        """
        from .drawing.thinning import draw_chain

        return draw_chain(self, ax, **style)

    def __repr__(self) -> str:
        first, last = int(np.argmin(self.times)), int(np.argmax(self.times))
        chains = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        span = f"{self.ess[first]:.4g} at {in_words(self.space, float(self.times[first]))}"
        if len(self.times) > 1:
            span += f" to {self.ess[last]:.4g} at {in_words(self.space, float(self.times[last]))}"
        return f"ChainEss({self.space!r}, n={self.n} draws in {chains}: worth {span})"


def chain_ess(
    points: Any,
    *,
    weights: None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    chains: int | ArrayLike | None = None,
    rtol: float = 1e-8,
) -> ChainEss:
    """Effective number of draws of a Markov chain on a manifold, at every scale: n / (1 + 2 sum of autocorrelations).

    With phi(x) = s_t(x, .) in its Hilbert space and m the mean of phi over a chain of N draws, the autocovariance is

        c_k(t) = 1/N sum_i <phi(x_i) - m, phi(x_{i+k}) - m> = 1/N sum_i (s_t(x_i, x_{i+k}) - f_i - f_{i+k} + 1 / gESS),

    with f the overlap potential of the chain. At coarse scales this is the autocovariance of the coordinates, summed;
    at fine scales it counts how often the chain is still, or again, where it was. From it the number of draws follows
    as for one coordinate (Vehtari et al., Bayesian Analysis 2021). Each chain is split into halves, so that drift is
    seen; rho_k = 1 - (W - mean c_k) / var_plus, with W the variance within halves and var_plus that of all together.
    The sum is that of Geyer's initial monotone sequence. The result may exceed n where draws avoid each other, up to
    n log10(n).

    The time is in proportion to n, to the lags until autocorrelations vanish, and to the number of scales.

    Parameters
    ----------
    points : array-like, shape (draws, d) or (chains, draws, d), or Measure
        Draws in the order in which they were made.
    chains : int or array-like, shape (n,), optional
        Where *points* has all chains one below the other: their number, if they follow each other and are equally long,
        or a label for each draw. All need the same number of draws, at least eight. Default: the chains that a Measure
        knows, or one.
    angles, times, resolutions, space
        As for `heat_profile`.
    rtol : float
        Accuracy of the sums. A `PrecisionWarning` says where rounding leaves the number uncertain by more than 1e-3; it
        is nan where that is more than 0.1.
    weights : None
        Draws of a chain count equally, so weights are refused.

    Examples
    --------
    A random walk around the circle with steps of 30 degrees forgets fine places sooner than coarse ones:

    >>> import heatess as he
    >>> steps = np.radians(30) * np.random.default_rng(1).normal(size=4000)
    >>> found = chain_ess(np.cumsum(steps) % (2 * np.pi), space=he.Circle(), angles=[10, 60, 180])
    >>> found.ess.round(-1)
    array([1420.,  350.,  250.])
    """
    check_rtol(rtol)
    measure, places = arranged(points, chains, space, weights)
    at = scales_for(measure, angles, times, resolutions, rtol)
    count = len(places)
    halves = _halves(places)
    found = Autocovariances(measure, halves, at.times, rtol)
    _refuse_still(found)
    correlations = found.correlations()
    tau = np.array([autocorrelation_time(rho, halves.size) for rho in correlations])
    doubt = found.doubt * np.array([len(rho) for rho in correlations])
    tau[doubt > TOO_VAGUE] = np.nan
    _warn_of_doubt(measure.space, at.times, doubt)
    n = places.size
    return ChainEss(at.times, at.angles, n / tau, tau, n, count, measure.space, at.resolutions)


def _halves(places: IntArray) -> IntArray:
    """Each chain as two of half the length, without the draw in the middle if their number is odd."""
    half = places.shape[1] // 2
    return np.concatenate([places[:, :half], places[:, -half:]])


def autocorrelation_time(rho: FloatArray, n: int) -> float:
    """1 + 2 sum of autocorrelations, by Geyer's initial monotone positive sequence; at least 1 / log10(n).

    *rho* begins with the lags 0 and 1, and ends with the first two lags whose sum is not positive, or with the last.
    Sums of two, rho_2j + rho_2j+1, are kept up to there and made to fall.

    >>> autocorrelation_time(0.5 ** np.arange(40), 1000)  # 1 + 2 (0.5 + 0.25 + ...)
    2.9999999999...
    """
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2)
    sums = pairs.sum(axis=1)
    positive = sums > 0
    kept = len(sums) if positive.all() else int(np.argmin(positive))
    falling = np.minimum.accumulate(sums[:kept])
    total = -1 + 2 * float(falling.sum())
    if kept < len(sums):
        total += max(float(pairs[kept, 0]), 0.0)  # half of the first lag beyond, as is usual
    return max(total, 1 / math.log10(n))


def _refuse_still(found: Autocovariances) -> None:
    if found.still:
        raise InputError(
            "all draws are at one place, so the chain has no autocorrelation and no effective number of draws; check "
            "that it moves at all"
        )


def _warn_of_doubt(space: Space, times: FloatArray, doubt: FloatArray) -> None:
    bad = doubt > DOUBT
    if bad.any():
        worst = int(np.argmax(np.where(bad, doubt, 0.0)))
        warn(
            f"the effective number of draws may be off by {min(float(doubt[worst]), 1.0):.0e} relatively at "
            f"{int(bad.sum())} of {len(times)} scales, worst at {in_words(space, float(times[worst]))}, and is nan "
            f"where that is above {TOO_VAGUE:g}: the draws differ too little there beside the rounding of sums; give "
            "finer scales, at which they can be told apart",
            PrecisionWarning,
        )
