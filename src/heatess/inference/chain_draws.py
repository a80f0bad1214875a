"""Draws of Markov chains as users hold them: one chain, a stack of chains, or labelled rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray, is_whole
from ..base.errors import CalibrationWarning, InputError, warn
from ..base.messages import marked
from ..base.tensors import plain
from ..measures.measure import Measure
from ..spaces.base import Space, check_space

#: Fewest draws of a chain, and the share of draws that may be left out for chains of one length.
FEWEST_DRAWS_OF_CHAIN, SPARED = 8, 0.1

#: Chains are thinned to one draw in so many autocorrelation times, at which a test at 5 % rejects in at most 5 %. Those
#: that nearly are independent draws, with shorter times than this, so that neighbours are correlated by less than that.
APART, SHORT, LEFT = 3.0, 2.0, 0.02

#: Steps from row to row that are taken, the least number of rows, and standard errors by which steps must be shorter
#: than at random. A row that many rows on is compared with the next one, which must be nearer than this share.
MOST_STEPS, FEWEST_STEPS, CERTAIN = 10_000, 30, 6.0
ON, NEARER = 10, 0.75

#: Lags that are looked at of all up to half the rows, steps for each, and rows, places and rows that find these lags.
LAGS, ROWS_FURTHER_ON, PLACES, ROWS_FOR_LAGS = 16, 1000, 6, 2**17

#: A row further on is what counts if it is nearer than the next one by this factor.
MUCH_NEARER = 0.8


def arranged(points: Any, chains: Any, space: Space | None, weights: Any) -> tuple[Measure, IntArray]:
    """All draws as one measure, and the rows of each chain in their order, shape (chains, draws)."""
    if weights is not None:
        raise InputError(
            "`chain_ess` takes no weights: autocorrelation is that of draws in their order, which count equally; leave "
            "them out, and see `heat_profile` and gess for what weights do"
        )
    points, stacked = _unstacked(plain(points, "points"), space)
    measure = Measure.of(points, space=space)
    if float(np.ptp(measure.weights)) > 0:
        raise InputError(
            "points are <!a Measure with unequal weights!>, but <+draws of a chain count equally+>; give its points"
        )
    if stacked is not None and chains is not None:
        raise InputError(
            f"points are <!a stack of {stacked} chains!> already; leave out `chains=`, or give them as <+(n, d) rows+>"
        )
    if stacked is None and chains is None and measure.known.chains is not None:
        if measure.known.doubt:
            raise InputError(f"{measure.known.source or 'points'}: {marked(measure.known.doubt)}")
        chains = measure.known.chain_labels(measure.n)
    measure, places = in_chains(measure, stacked if chains is None else chains)
    if stacked is not None and len(places) > places.shape[1]:
        raise InputError(
            f"points have <!{stacked:,} chains of {places.shape[1]:,} draws!> by their shape; if the first axis is "
            "that of draws, as in emcee, exchange the first two: `points.swapaxes(0, 1)`; if there are more chains "
            f"than draws, give them as rows with `chains={stacked}`"
        )
    if places.shape[1] < FEWEST_DRAWS_OF_CHAIN:
        raise InputError(
            f"a chain needs <+at least {FEWEST_DRAWS_OF_CHAIN} draws for its autocorrelation+>, but there are "
            f"<!{places.shape[1]} in each!>; give longer chains"
        )
    return measure, places


def _unstacked(points: Any, space: Space | None) -> tuple[Any, int | None]:
    """Chains one below the other, and their number; None where *points* are rows already."""
    check_space(space)
    _refuse_ragged(points)
    try:
        shape = np.shape(points) if isinstance(points, np.ndarray | list) else ()
    except ValueError:  # rows that are not equally long: Measure says so
        shape = ()
    if len(shape) < 2:
        return points, None
    if space is None:  # unit vectors; or rotation matrices, which Measure tells by their numbers
        if len(shape) != 3:
            return points, None
        flat = Measure.of(points)
        return flat, None if flat.n == shape[0] else shape[0]
    return _unstacked_on(np.asanyarray(points), space)


def _refuse_ragged(points: Any) -> None:
    """Refuse a list of chains that are not equally long."""
    if not isinstance(points, list) or not all(isinstance(chain, np.ndarray | list) for chain in points):
        return
    lengths = [len(chain) for chain in points]
    if len(set(lengths)) > 1 and all(isinstance(chain[0], np.ndarray | list) for chain in points if len(chain)):
        least, most = int(np.argmin(lengths)), int(np.argmax(lengths))
        raise InputError(
            f"chains must have <+equally many draws+>, but <!chain {least} has {lengths[least]} and chain {most} has "
            f"{lengths[most]}!>; drop the first draws of those that are longer"
        )


def _unstacked_on(array: np.ndarray[Any, Any], space: Space) -> tuple[Any, int | None]:
    matrices = space.form == "quaternions" and array.shape[-2:] == (3, 3)
    single = space.modes is not None or (space.dim == 1 and space.form != "vectors" and array.shape[-1] != 1)
    own = 2 if matrices else 0 if single else 1  # axes of one point
    if array.ndim != own + 2:
        return array, None
    return array.reshape(array.shape[0] * array.shape[1], *array.shape[2:]), array.shape[0]


def in_chains(measure: Measure, chains: Any) -> tuple[Measure, IntArray]:
    """The draws of chains of one length, and the rows of each in their order, shape (chains, draws).

    *chains* is their number, or a label for each draw. Where some chains are a little longer, as after rows with
    missing numbers were left out, their first draws are left out, with a warning.
    """
    if chains is None:
        return measure, np.arange(measure.n)[None]
    if is_whole(chains):
        if chains < 1 or measure.n % chains:
            raise InputError(
                f"`chains=<!{chains}!>` must <+divide the number of draws, {measure.n}, into equal chains+>; "
                "give a label for each draw if they are mixed, and drop the first draws of those that are longer"
            )
        return measure, np.arange(measure.n).reshape(int(chains), -1)
    try:
        labels = np.asarray(chains)
    except Exception:  # rows of other lengths, or whatever an object of the user raises
        labels = np.empty(0)
    if labels.shape != (measure.n,):
        raise InputError.unfit("chains", f"their number, or one label for each of the {measure.n} draws", chains)
    names, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")  # chain after chain
    if (counts == counts[0]).all():
        return measure, order.reshape(len(names), -1)
    least, most = int(np.argmin(counts)), int(np.argmax(counts))
    found = f"chain {names[least]} has {counts[least]:,} and chain {names[most]} has {counts[most]:,}"
    length, left_out = int(counts[least]), int(counts.sum() - len(names) * counts[least])
    if left_out > SPARED * measure.n:
        raise InputError(
            f"chains must have <+equally many draws+>, but <!{found}!>; drop the first draws of those that are longer"
        )
    warn(
        f"{found} draws; the first {left_out:,} of {measure.n:,} draws of those that are longer are left out",
        CalibrationWarning,
    )
    ends = np.cumsum(counts)
    kept = np.concatenate([order[end - length : end] for end in ends])
    rows = np.sort(kept)
    return measure[rows], np.searchsorted(rows, kept).reshape(len(names), length)


def step_of(tau: float) -> int:
    """One draw in how many is kept of a chain with an autocorrelation time.

    Below two draws the correlation of neighbours is taken to be (tau - 1) / (tau + 1), and to fall geometrically.

    >>> [step_of(tau) for tau in (0.8, 1.0, 1.03, 1.5, 2.5, 40.0)]
    [1, 1, 1, 3, 8, 120]
    """
    if tau >= SHORT:
        return math.ceil(APART * tau)
    return 1 if tau <= 1 else math.ceil(math.log(LEFT) / math.log((tau - 1) / (tau + 1)))


class Order(NamedTuple):
    """How near rows are to a later one."""

    share: float  #: of the distance of rows at random
    lag: int = 1  #: rows from one to the other
    runs_on: bool = False  #: whether it is further ten rows on, unlike in a table that is sorted by groups


def order_of_rows(measure: Measure) -> Order:
    """The order in which rows are nearest; a share of 1 if they may be near by chance.

    Where rows run on, as those of a path, it is the next row, even if the path comes back; else the nearest lag.

    Draws of several chains in turn, as emcee has them, are near to that of the same chain, and the torsions of one
    frame of a molecule to those of the next. Nodes of graphs and meshes follow each other as they are numbered, and
    have a share of 1.

    >>> turns = np.linspace(0, 20, 500)
    >>> path = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    >>> order_of_rows(Measure(path))._replace(share=0)
    Order(share=0, lag=1, runs_on=True)
    """
    n, space, points = measure.n, measure.space, measure.points
    if n < FEWEST_STEPS or space.modes is not None:
        return Order(1.0)
    rng = np.random.default_rng(0)

    def near(lag: int, most: int) -> tuple[float, FloatArray]:
        rows = np.arange(n - lag) if n - lag <= most else np.sort(rng.choice(n - lag, most, replace=False))
        steps = space.distance(points[rows], points[rows + lag])
        certain = chance.mean() - steps.mean() > CERTAIN * chance.std() / math.sqrt(len(rows))
        return float(steps.mean() / chance.mean()) if certain else 1.0, steps

    others = rng.integers(0, n, (2, min(n, MOST_STEPS)))
    others = others[:, others[0] != others[1]]
    chance = space.distance(points[others[0]], points[others[1]])
    share, steps = near(1, MOST_STEPS)
    next_one = Order(share)
    if share < 1:
        next_one = Order(share, 1, float(np.median(steps)) < NEARER * float(np.median(near(ON, MOST_STEPS)[1])))
    if next_one.runs_on:
        return next_one
    shares = {lag: near(lag, ROWS_FURTHER_ON)[0] for lag in _likely_lags(measure, rng)}
    nearest = min(shares.values())
    lag = next(lag for lag, found in shares.items() if found <= nearest / MUCH_NEARER)  # and not twice the lag
    return Order(shares[lag], lag) if nearest < MUCH_NEARER * share else next_one


def _likely_lags(measure: Measure, rng: np.random.Generator) -> list[int]:
    """The lags from 2 to half the rows at which distances to some places are most alike, by their autocorrelation."""
    from scipy.fft import irfft, next_fast_len, rfft

    points = measure.points[: min(measure.n, ROWS_FOR_LAGS)]
    n = len(points)
    size, total = next_fast_len(2 * n, real=True), np.zeros(n // 2 + 1)
    for place in rng.integers(0, n, PLACES):
        far = measure.space.distance(points, points[place : place + 1])
        total += irfft(np.abs(rfft(far - far.mean(), size)) ** 2, size)[: len(total)]
    alike = total[2:] / (n - np.arange(2, len(total)))
    return sorted(2 + int(lag) for lag in np.argsort(-alike)[:LAGS])
