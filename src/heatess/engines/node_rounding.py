"""What rounding of a Laplacian, and of sums over atoms, does to x' exp(-2 t L) x."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.arrays import FloatArray
from ..base.blocks import slices
from ..heat.sums import log_sum
from ..spaces.capabilities import Rounding

#: Error of MMD^2 that need not be known better.
NEGLIGIBLE_MMD2_ERROR = 1e-6

#: Entries of a matrix that is made at once.
ENTRIES = 2**22

#: Steps, each twice the one before, in which an integral over time is bounded.
DOUBLINGS = 48


def blur_of(values: FloatArray, times: FloatArray, rounding: Rounding) -> FloatArray:
    """What rounding of the Laplacian adds to x' exp(-2 t L) x, per x_r^2 of each mode r; shape (times, modes).

    A change E of L changes it by at most |E| times the integral of |exp(-s L) x|^2 over s from 0 to 2 t, which is
    sum_r x_r^2 (1 - exp(-4 lambda_r t)) / (2 lambda_r). Modes below the gap are mixed with those above it alone, by
    |E| / gap.
    """
    rates = 2 * np.multiply.outer(times, values)
    small = rates < 1e-8
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(small, 2 * times[:, None], -np.expm1(-2 * rates) / (2 * values))
    exact = values < rounding.gap
    if rounding.gap > 0:
        found[:, exact] = np.minimum(found[:, exact], 2 / rounding.gap)
    return np.asarray(rounding.noise * found)


@dataclass(frozen=True, eq=False)
class Energies:
    """Coefficients |c_r| of the modes but the constant, and the rounding of each as a sum."""

    values: FloatArray
    coefficients: FloatArray
    rounding: FloatArray
    size: float  # the root of the sum of squares of all coefficients, also of those that are not among these

    def errors(self, times: FloatArray, log_mmd2: FloatArray, rounding: Rounding, blur: FloatArray) -> FloatArray:
        """Bound on the relative error of A - 1 = sum_r exp(-2 lambda_r t) c_r^2 from rounding, at each time.

        That of each sum c_r, by e_r, and that of the Laplacian, by E: to first order |E| times the integral of
        |exp(-s L) c| |exp(-(2 t - s) L) c| over s from 0 to 2 t, and to second order as if e_r were |E| |c| / lambda_r
        more, to which modes that are left out count too: E mixes them into those that are not. A relative change of
        links does so, too, see `_stirred`: a mode that symmetry keeps empty is not, to rounding. Zero where A - 1
        underflows, for zero is then the right number.
        """
        size = self.size
        with np.errstate(divide="ignore", invalid="ignore"):
            mixed = np.where(self.values > 0, rounding.noise * size / self.values, np.inf) if rounding.noise else 0.0
        mixed = np.where(self.values < rounding.gap, np.minimum(mixed, rounding.noise * size / rounding.gap), mixed)
        unsure = self.rounding + mixed + (0.0 if rounding.noise else rounding.relative * self._stirred(times))
        with np.errstate(divide="ignore"):
            logs = np.log(unsure * (2 * self.coefficients + unsure))
        first = np.exp(np.minimum(log_sum(logs - 2 * np.multiply.outer(times, self.values)) - log_mmd2, 700.0))
        first += rounding.relative
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            moved = blur @ self.coefficients**2 * np.exp(-log_mmd2)  # quick, and too much at large times
        for place in np.flatnonzero(~(moved < NEGLIGIBLE_MMD2_ERROR)) if rounding.noise else ():
            moved[place] = self._moved(float(times[place]), rounding)
        first += moved if rounding.noise else 0.0
        return np.where(log_mmd2 < -745.0, 0.0, first)

    def _stirred(self, times: FloatArray) -> FloatArray:
        """What a relative change of links by one would mix into each mode, shape (times, modes).

        That is sum_s |c_s| sqrt(l_r l_s) / |l_r - l_s| over modes that fade at another rate: 2 t |l_r - l_s| > 1. It
        does not matter which of those that fade together has what. Eigenvalues are in ascending order.
        """
        found = np.empty((len(times), len(self.values)))
        for rows in slices(len(self.values), ENTRIES // len(self.values) + 1):
            own = self.values[rows]
            gaps = np.abs(own[:, None] - self.values)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.where(gaps > 0, np.sqrt(np.outer(own, self.values)) / gaps * self.coefficients, 0.0)
            before, after = np.zeros((2, len(own), len(self.values) + 1))
            before[:, 1:] = np.cumsum(shares, axis=1)
            after[:, :-1] = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]
            each = np.arange(len(own))
            for place, near in enumerate(0.5 / times):
                first, end = (np.searchsorted(self.values, own + side * near) for side in (-1, 1))
                found[place, rows] = before[each, first] + after[each, end]
        return found

    def _moved(self, time: float, rounding: Rounding) -> float:
        """|E| times the integral, relative: by trapezia, from above because the integrand is convex."""
        rates = self.values - self.values[0]  # the lowest rate is common to all
        ends = np.append(0.0, time * 2.0 ** np.arange(-DOUBLINGS, 1))
        squares = self.coefficients**2
        exact = self.values < rounding.gap
        early, late = (np.exp(-2 * np.multiply.outer(s, rates)) * squares for s in (ends, 2 * time - ends))
        low = [np.sqrt(part[:, exact].sum(axis=1)) for part in (early, late)]
        high = [np.sqrt(part[:, ~exact].sum(axis=1)) for part in (early, late)]
        product = low[0] * high[1] + high[0] * low[1] + high[0] * high[1]
        total = float(early[-1].sum())
        moved = float(np.diff(ends) @ (product[1:] + product[:-1]))  # twice the half from 0 to t
        return rounding.noise * moved / total if total else np.inf
