"""Markov chains: the effective number of draws at every scale, from autocovariances with the heat kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray, IntArray, generator
from ..base.errors import CalibrationWarning, InputError, PrecisionWarning, warn
from ..base.progress import Progress, told
from ..measures.measure import Measure
from ..measures.scales import OverScales, Scales, check_rtol, in_words
from ..profiles.default_scales import scales_for
from ..spaces.base import Space
from .autocovariance import Autocovariances, equally_weighted
from .chain_draws import FEWEST_DRAWS_OF_CHAIN, arranged, step_of
from .group_contrasts import Groups, permuted_forms, share_beyond, standardised

if TYPE_CHECKING:
    pass

#: R-hat above which, and effective draws below which, there is a warning.
MOST_RHAT, FEWEST_EFFECTIVE_DRAWS = 1.01, 50

#: Draws of all chains, and scales, at which each chain is compared with the others; permutations, and the p-value up to
#: which it is unlike them.
MOST_DRAWS, MOST_SCALES, PERMUTATIONS, UNLIKE = 1200, 6, 299, 0.01

#: Uncertainty of the number of draws from which there is a warning, and from which there is no number.
DRAWS_ERROR_TO_WARN_OF, TOO_VAGUE = 1e-3, 0.1


@dataclass(frozen=True, eq=False, repr=False)
class ChainEss(OverScales):
    """The effective number of draws of one or several Markov chains, one entry per scale; see `chain_ess`.

    Attributes
    ----------
    ess : ndarray
        Effective number of draws: so many independent ones would tell as much of the distribution at that scale.
    autocorrelation_times : ndarray
        Integrated autocorrelation time, n / ess: that many draws are worth one.
    rhat : ndarray
        R-hat of the split chains at each scale, sqrt(var_plus / W): near 1 where all halves of all chains agree.
    worst : float
        The least of `ess` over the scales, and so what the chains are worth; `worst_row` is the row of its scale.
    suspects : tuple of int
        Chains, counted from 0, that are unlike the others at some scale, by permutation; a p-value of 1 % over all
        chains and scales together. R-hat alone does not see that one of four chains lacks a small mode.
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
    ChainEss(Circle(units='rad'), n=2000 draws in 1 chain: worth at least 507.9, at 120 degrees; R-hat up to 1.001)
    """

    times: FloatArray
    angles: FloatArray
    ess: FloatArray
    autocorrelation_times: FloatArray
    rhat: FloatArray
    suspects: tuple[int, ...]
    n: int
    chains: int
    space: Space
    _resolutions: FloatArray | None = field(default=None)

    schema: ClassVar[str] = "heatess.chain_ess/1"
    columns: ClassVar[tuple[str, ...]] = ("times", "angles", "resolutions", "ess", "autocorrelation_times", "rhat")
    facts: ClassVar[tuple[str, ...]] = ("worst", "suspects", "n", "chains", "space")
    shown: ClassVar[tuple[str, ...]] = ("angles", "resolutions", "ess", "autocorrelation_times", "rhat")
    _curve: ClassVar[str] = "ess"
    _drawing: ClassVar[str] = ".drawing.thinning:draw_chain"

    @property
    def worst_row(self) -> int:
        """The row of the scale with the least effective number of draws."""
        return int(np.argmin(np.where(np.isnan(self.ess), np.inf, self.ess)))

    @property
    def worst(self) -> float:
        """The least effective number of draws over the scales."""
        return float(self.ess[self.worst_row])

    def __repr__(self) -> str:
        chains = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        least = "at least " if len(self.times) > 1 else ""
        worth = f"{least}{self.worst:.4g}, at {self.scale_in_words(self.worst_row)}"
        return (
            f"ChainEss({self.space!r}, n={self.n} draws in {chains}: worth {worth}; R-hat up to {self.rhat.max():.3f})"
        )


@told
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
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
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

    A `CalibrationWarning` says where the chains are not to be trusted: R-hat = sqrt(var_plus / W) above 1.01 at some
    scale, fewer than 50 effective draws, or a chain that is unlike the others (`suspects`).

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
    rng : Generator or int, optional
        For the permutations that look for `suspects`.
    weights : None
        Draws of a chain count equally, so weights are refused.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Examples
    --------
    A random walk around the circle with steps of 30 degrees forgets fine places sooner than coarse ones:

    >>> import heatess as he
    >>> steps = np.radians(30) * np.random.default_rng(1).normal(size=4000)
    >>> found = chain_ess(np.cumsum(steps) % (2 * np.pi), space=he.Circle(), angles=[10, 60, 180])
    >>> found.ess.round(-1)
    array([1420.,  350.,  250.])
    """
    own_rng = generator(rng)
    measure, places = arranged(points, chains, space, weights)
    mixed = mixing(measure, places, scales_for(measure, angles, times, resolutions, rtol), rtol)
    found = replace(mixed.ess, suspects=_suspects(measure, places, mixed.ess.times, mixed.within, own_rng))
    _warn_of_mixing(found)
    return found


class Mixing(NamedTuple):
    """How chains mix."""

    ess: ChainEss  #: without suspects
    within: float  #: the longest autocorrelation time of the chains, each around its own mean, whatever the others do
    correlations: list[FloatArray]  #: rho_0, rho_1, ... at each scale
    certain: NDArray[np.bool_]  #: where rounding leaves something of them

    @property
    def taus(self) -> FloatArray:
        """Autocorrelation times, 0 where they are uncertain."""
        return np.where(self.certain, self.ess.autocorrelation_times, 0.0)


def mixing(measure: Measure, places: IntArray, at: Scales, rtol: float) -> Mixing:
    """Effective draws and R-hat of chains, rows of *measure* (chains, draws)."""
    check_rtol(rtol)
    halves = _halves(places)
    found = Autocovariances(measure, halves, at.times, rtol)
    _refuse_still(found)
    correlations, rhat = found.correlations(), found.rhat
    tau = np.array([autocorrelation_time(rho, halves.size) for rho in correlations])
    own = [autocorrelation_time(1 - (1 - rho) * r**2, halves.size) for rho, r in zip(correlations, rhat, strict=True)]
    doubt = found.doubt * np.array([len(rho) for rho in correlations])
    certain = doubt <= TOO_VAGUE
    tau[~certain] = np.nan
    _warn_of_doubt(measure.space, at.times, doubt)
    n, count = places.size, len(places)
    result = ChainEss(at.times, at.angles, n / tau, tau, rhat, (), n, count, measure.space, at.resolutions)
    return Mixing(result, float(np.max(np.where(certain, own, 1.0))), correlations, certain)


def _suspects(
    measure: Measure, places: IntArray, times: FloatArray, within: float, rng: np.random.Generator
) -> tuple[int, ...]:
    """Chains whose draws, thinned until they are independent, lie elsewhere than those of the others."""
    count = len(places)
    step = max(step_of(within), math.ceil(places.size / MOST_DRAWS))
    kept = places[:, ::step]
    if count == 1 or kept.shape[1] < FEWEST_DRAWS_OF_CHAIN:
        return ()
    groups = Groups.of([equally_weighted(measure, rows) for rows in kept])
    order = np.argsort(times)
    some = times[order[np.unique(np.linspace(0, len(times) - 1, MOST_SCALES).round().astype(int))]]
    contrasts = np.eye(count) - 1 / count  # each against the mean of all
    found = permuted_forms(groups, contrasts, some, PERMUTATIONS, rng, Progress(False))
    largest = standardised(found).max(axis=2)
    beyond = [share_beyond(np.concatenate([[own], largest[1:].max(axis=1)])) for own in largest[0]]
    return tuple(chain for chain, share in enumerate(beyond) if share <= UNLIKE)


def _warn_of_mixing(found: ChainEss) -> None:
    """Say why chains are not to be trusted."""
    row = int(np.argmax(found.rhat))
    reasons = []
    if found.rhat[row] > MOST_RHAT:
        where = found.scale_in_words(row)
        reasons.append(f"R-hat is {found.rhat[row]:.3g} at {where}, above {MOST_RHAT:g}")
    if found.worst < FEWEST_EFFECTIVE_DRAWS:
        reasons.append(
            f"they are worth {found.worst:.3g} independent draws, and below {FEWEST_EFFECTIVE_DRAWS} that is "
            "itself uncertain"
        )
    if found.suspects:
        names = " and ".join(map(str, found.suspects))
        reasons.append(
            f"{'chains' if len(found.suspects) > 1 else 'chain'} {names} (from 0) lie elsewhere than the others"
        )
    if reasons:
        warn(f"the chains have not mixed: {'; '.join(reasons)}; run them longer, from other starts", CalibrationWarning)


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
    falling = falling_pairs(rho)
    beyond = rho[2 * len(falling) : len(rho) // 2 * 2]
    total = -1 + 2 * float(falling.sum())
    if len(beyond):
        total += max(float(beyond[0]), 0.0)  # half of the first lag beyond, as is usual
    return max(total, 1 / math.log10(n))


def falling_pairs(rho: FloatArray) -> FloatArray:
    """Sums of two autocorrelations, rho_2j + rho_2j+1, up to the first that is not positive, and made to fall.

    >>> falling_pairs(np.array([1.0, 0.5, 0.2, 0.3, 0.4, 0.2, -0.3, 0.1, 0.2, 0.2]))
    array([1.5, 0.5, 0.5])
    """
    sums = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = sums > 0
    return np.asarray(np.minimum.accumulate(sums[: len(sums) if positive.all() else int(np.argmin(positive))]))


def _refuse_still(found: Autocovariances) -> None:
    if found.still:
        raise InputError(
            "<!all draws are at one place!>, so the chain has no autocorrelation and no effective number of draws; "
            "check that it moves at all"
        )


def _warn_of_doubt(space: Space, times: FloatArray, doubt: FloatArray) -> None:
    bad = doubt > DRAWS_ERROR_TO_WARN_OF
    if bad.any():
        worst = int(np.argmax(np.where(bad, doubt, 0.0)))
        warn(
            f"the effective number of draws may be off by {min(float(doubt[worst]), 1.0):.0e} relatively at "
            f"{int(bad.sum())} of {len(times)} scales, worst at {in_words(space, float(times[worst]))}, and is nan "
            f"where that is above {TOO_VAGUE:g}: the draws differ too little there beside the rounding of sums; give "
            "finer scales, at which they can be told apart",
            PrecisionWarning,
        )
