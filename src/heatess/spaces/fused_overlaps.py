"""Overlaps that are products of functions of one distance each, many pairs of them in one compiled loop."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ..base.arrays import FloatArray
from ..heat.lookup import GIVEN, LoopFactor
from ..heat.radial import PairTerms
from .capabilities import MANY_PAIRS, PairKernel, TermsOfTime

if TYPE_CHECKING:
    from ..compiled.fused import Loop

# Seconds on two cores of one factor of one pair: at each scale, for its separation, and where a loop of its own has it.
SCALE, SEPARATION, OWN = 2.4e-9, 1e-9, 6e-9


class LoopedPairs(PairKernel):
    """A pair kernel whose `loop_factors` serve tiles of many pairs, where all its factors have them."""

    def __init__(self, compact: bool) -> None:
        self._compact = compact
        self._ready = lru_cache(maxsize=64)(self._loop)  # tiles ask again and again

    @cached_property
    def looped(self) -> list[LoopFactor]:
        """The factors, found once."""
        return self.loop_factors()

    def in_loop(self, left: FloatArray, right: FloatArray) -> TermsOfTime | None:
        """Overlaps of two tiles of many pairs; None where they are few, or a factor is not for the loop."""
        many = len(left) * len(right) >= MANY_PAIRS
        return partial(self._filled, left, right) if many and self.looped else None

    def _loop(self, time: float, excess: bool) -> Loop:
        from ..compiled.fused import Loop

        return Loop(self.looped, np.array([time]), [excess])

    def _filled(self, left: FloatArray, right: FloatArray, time: float) -> PairTerms:
        """As k_2t - 1, which keeps its digits where k_2t(x, x) is near one, or as s_t."""
        log_diagonal = float(self.log_diagonal(np.array([time]))[0])
        near = log_diagonal < math.log(2)
        value, change = self._ready(time, near).fill(left, right)
        if near:
            share = math.exp(-log_diagonal)
            return PairTerms(share * (1 + value), share * change, value)
        return PairTerms(value, change, math.exp(min(log_diagonal, 345.0)) * value - 1 if self._compact else None)

    def lookup_errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Bound on what tables of the loop do, relatively, to sums that came to *overlap*."""
        errors = [sum(factor.lookup(float(time), False).error for factor in self.looped) for time in times]
        return np.asarray(np.array(errors) / overlap)

    def loop_seconds(self, pairs: float, scales: int) -> float:
        """Rough seconds on two cores of so many pairs at so many scales."""
        given = sum(factor.kind == GIVEN for factor in self.looped)
        return pairs * (len(self.looped) * (scales * SCALE + SEPARATION) + given * OWN)
