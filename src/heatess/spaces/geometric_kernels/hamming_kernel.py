"""The heat kernel of hypercubes and Hamming graphs, in closed form for any number of places."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...base.arrays import EPS, FloatArray
from ...heat.radial import PairTerms


class HammingKernel:
    """Words of d letters out of q under the normalised graph Laplacian, with levels lambda_j = j q / (d (q - 1)).

    With x = exp(-2 lambda_1 t), two words that differ in m places have k_2t = (1 + (q - 1) x)^(d - m) (1 - x)^m. The
    d + 1 levels would have multiplicities that overflow from d = 1030 on.
    """

    pair_seconds = 0.0

    def __init__(self, length: int, letters: int) -> None:
        self._length, self._letters = length, letters
        self._gap = letters / (length * (letters - 1))  # lambda_1

    def _logs(self, time: float) -> tuple[float, float]:
        """Log of the factor of a place that is the same, 1 + (q - 1) x, and of one that differs, 1 - x."""
        rate = 2 * self._gap * time
        x = math.exp(-rate)
        differ = math.log(-math.expm1(-rate)) if rate < 0.7 else math.log1p(-x)  # accurate for small and large rates
        return math.log1p((self._letters - 1) * x), differ

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """d log(1 + (q - 1) x)."""
        return np.array([self._length * self._logs(float(time))[0] for time in times])

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Rounding in the exponent, which is at most 40 where it matters."""
        return np.full(len(times), 64 * EPS)

    def terms(self, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
        """s_t = ((1 - x) / (1 + (q - 1) x))^m."""
        from scipy.spatial.distance import cdist

        places = np.rint(self._length * cdist(left, right, "hamming"))

        def at(time: float) -> PairTerms:
            same, differ = self._logs(time)
            overlap = np.exp(places * (differ - same))
            rate = 2 * self._gap * time
            x, q = math.exp(-rate), self._letters
            slope = rate * x * (1 / -math.expm1(-rate) + (q - 1) / (1 + (q - 1) * x))  # of log(differ / same) in log t
            excess = np.expm1(np.minimum((self._length - places) * same + places * differ, 700.0))
            return PairTerms(overlap, slope * places * overlap, excess)

        return at

    def places_of_times(self, times: FloatArray) -> FloatArray:
        """In how many places words that overlap by 1/e differ, as a real number; nan beyond the length."""
        logs = [self._logs(float(time)) for time in times]
        places = np.array([1 / (same - differ) if same > differ else math.inf for same, differ in logs])
        return np.where(places <= self._length, places, np.nan)

    def times_of_places(self, places: FloatArray) -> FloatArray:
        """With r = exp(-1 / places), x = (1 - r) / (1 + (q - 1) r)."""
        ratio = np.exp(-1 / places)
        return np.asarray(-np.log(-np.expm1(-1 / places) / (1 + (self._letters - 1) * ratio)) / (2 * self._gap))
