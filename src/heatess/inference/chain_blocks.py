"""Draws of Markov chains in tests: blocks of them that are as good as independent, or so few that each is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.errors import CalibrationWarning, InputError, warn
from ..measures.measure import Measure
from ..measures.scales import in_words, resolve
from ..profiles.default_scales import fitting_scales
from .chain_draws import APART, step_of
from .chains import Mixing, falling_pairs, mixing

#: Scales at which the autocorrelation time is looked at; draws that thinning must leave, and that chains must be worth.
SCALES, FEWEST_DRAWS_LEFT, WORTH = 8, 8, 20

#: Blocks are as long as chains are thinned by, or shorter, down to so many autocorrelation times, for so many of them.
SHORTEST, BLOCKS = 1.5, 16

#: Accuracy of its sums.
RTOL_OF_TIMES = 1e-8

#: R-hat from which on chains, or their halves, disagree by more than chance.
DISAGREE = 1.1

#: Draws above which neighbours are left out, as long as they are not independent.
DRAWS_TO_THIN = 20_000

#: The most by which a sum over blocks is enlarged.
MOST_LACK = 2.0


class Serial(NamedTuple):
    """Draws, and the blocks in which they are as good as independent.

    A sum over a block lacks what its draws share with those of the next one. With autocorrelations rho_k and blocks of
    b draws, its variance is tau / tau_b times too small, tau_b = 1 + 2 sum_{k < b} (1 - k / b) rho_k; `lack` is that.
    """

    measure: Measure  #: without atoms of zero weight
    few: Measure  #: one draw in an autocorrelation time, atoms of zero weight as well
    block: IntArray | None = None  #: of each row; None where each is independent of the others
    times: FloatArray = np.ones(1)
    taus: FloatArray = np.ones(1)  #: autocorrelation times at these scales
    lack: FloatArray = np.ones(1)

    @classmethod
    def independent(cls, measure: Measure) -> Serial:
        """Each draw by itself."""
        return cls(measure.support(), measure)

    @property
    def blocks(self) -> int:
        """Their number; 0 for independent draws."""
        return 0 if self.block is None else len(np.unique(self.block))

    @property
    def n(self) -> int:
        """Number of draws; of independent ones those of zero weight as well."""
        return self.few.n if self.block is None else self.measure.n

    def variance_at(self, times: FloatArray) -> FloatArray:
        """In units of that of one draw: tau / n."""
        return np.asarray(np.interp(np.log(times), np.log(self.times), self.taus) / self.measure.n)

    def lack_at(self, times: FloatArray) -> FloatArray:
        """By how much sums over blocks vary too little."""
        return np.asarray(np.interp(np.log(times), np.log(self.times), self.lack))


def lack_of(parts: list[Serial], times: FloatArray) -> FloatArray:
    """By how much the difference of two samples varies too little, if both come from one law."""
    shares = np.array([part.variance_at(times) for part in parts])
    own = np.array([part.lack_at(times) for part in parts])
    return np.asarray((shares * own).sum(axis=0) / shares.sum(axis=0))


def in_blocks(subject: str, measure: Measure, places: IntArray) -> Serial:
    """The draws of chains, rows (chains, draws) of a measure, in blocks of 1.5 to 3 autocorrelation times."""
    found, worst = _looked(measure, places)
    tau = float(found.taus[worst])
    if step_of(tau) == 1:
        _warn_if_apart(subject, found)
        return Serial.independent(_as_draws(measure, places))
    step = min(math.ceil(places.size / DRAWS_TO_THIN), step_of(tau))
    kept = places[:, ::step]
    falling = [falling_pairs(rho[::step]) if known else np.ones(1) for rho, known in zip(*found[2:], strict=True)]
    taus = np.array([max(2 * float(own.sum()) - 1, 1.0) for own in falling])
    if (worth := places.size / tau) < WORTH:
        raise InputError(_too_few(subject, found, worst, f"{worth:.2g}", WORTH))
    length = float(np.clip(kept.size / BLOCKS, SHORTEST * taus.max(), APART * taus.max()))
    each = max(round(kept.shape[1] / length), 1)
    _warn_if_apart(subject, found)
    lack = np.array([_lack(own, kept.shape[1] / each) for own in falling])
    block = np.arange(len(kept))[:, None] * each + np.arange(kept.shape[1]) * each // kept.shape[1]
    order = np.argsort(kept, axis=None)
    rows, labels = kept.ravel()[order], block.ravel()[order]
    positive = measure.weights[rows] > 0
    few = _as_draws(measure, places[:, :: math.ceil(tau)])
    return Serial(_as_draws(measure, rows[positive]), few, labels[positive], found.ess.times, taus, lack)


def _lack(falling: FloatArray, length: float) -> float:
    """tau / tau_b from falling sums of two autocorrelations, each shared out evenly to its two lags."""
    tau, lags = 2 * float(falling.sum()) - 1, np.arange(2 * len(falling))
    within = float(np.repeat(falling, 2) @ np.maximum(1 - lags / length, 0.0)) - 1
    return min(max(tau / max(within, 0.1), 1.0), MOST_LACK) if tau > 1 else 1.0


def thinned(subject: str, measure: Measure, places: IntArray) -> Measure:
    """One draw in so many of each chain, (chains, draws) rows, that they are all but independent."""
    found, worst = _looked(measure, places)
    step = step_of(float(found.taus[worst]))
    kept = places[:, ::step]
    if kept.size < FEWEST_DRAWS_LEFT:
        raise InputError(_too_few(subject, found, worst, str(kept.size), FEWEST_DRAWS_LEFT))
    if step > 1:
        warn(
            f"{subject} {_chains(found)}, with an autocorrelation time of up to {found.taus[worst]:.3g} draws (at "
            f"{_scale(found, worst)}); bands and tests use one draw in {step}, {kept.size:,} of "
            f"{measure.n:,}{_apart(found)}",
            CalibrationWarning,
        )
    else:
        _warn_if_apart(subject, found)
    return _as_draws(measure, kept)


def _looked(measure: Measure, places: IntArray) -> tuple[Mixing, int]:
    """How chains mix at some scales, and the row of the longest autocorrelation time."""
    fitting = fitting_scales(measure).times
    times = np.geomspace(float(fitting.min()), float(fitting.max()), SCALES)
    found = mixing(measure, places, resolve(measure.space, times=times), RTOL_OF_TIMES)
    return found, int(np.argmax(found.taus))


def _as_draws(measure: Measure, rows: IntArray) -> Measure:
    """Some rows, in their order, as draws of their own."""
    some = measure[np.sort(rows, axis=None)]
    return Measure.trusted(some.space, some.points, some.weights, replace(some.known, kind="draws", chains=None))


def _chains(found: Mixing) -> str:
    return f"{found.ess.chains} chains" if found.ess.chains > 1 else "one chain"


def _scale(found: Mixing, row: int) -> str:
    return in_words(found.ess.space, float(found.ess.times[row]))


def _apart(found: Mixing) -> str:
    rhat = float(found.ess.rhat.max())
    return f"; R-hat is up to {rhat:.3g}, so that chains or their halves disagree" if rhat > DISAGREE else ""


def _warn_if_apart(subject: str, found: Mixing) -> None:
    if words := _apart(found):
        warn(f"{subject} {_chains(found)}{words}; run them longer, from other starts", CalibrationWarning)


def _too_few(subject: str, found: Mixing, worst: int, left: str, least: int) -> str:
    return (
        f"{subject} {_chains(found)} with an autocorrelation time of {found.taus[worst]:.3g} draws at "
        f"{_scale(found, worst)}, which leaves <!{left}!> that are independent; <+at least {least}+> are needed: run "
        "the chains longer"
    )
