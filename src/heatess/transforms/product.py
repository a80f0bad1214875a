"""Coefficients of a measure on a product of compact spaces: all products of eigenfunctions of the factors.

For two factors with orthonormal eigenfunctions f and g, and likewise for more,

    A - 1 = sum_{(a, b) != 0} exp(-2 (lambda_a / c_1^2 + lambda_b / c_2^2) t) (sum_i w_i f_a(x_i) g_b(y_i))^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray
from ..heat.bounds import exponent_for, log_share, truncation
from ..heat.sums import HeatSums
from .base import Coefficients, Forms, LowSums, Spectrum, Transform
from .harmonics import (
    TRANSFORM_ENTRIES,
    Energies,
    Harmonics,
    coefficient_count,
    coefficient_size,
    energies,
    product_coefficients,
    product_squares,
    product_synthesis,
    transformed,
)
from .levels import LevelTransform

#: Most coefficients: 800 MB.
MOST_COEFFICIENTS = 1e8

#: Seconds for one product of two eigenfunctions at one point, and for one eigenfunction at one point.
PRODUCT, FUNCTION = 5e-11, 6e-9

#: Most fast transforms.
MOST_TRANSFORMS = 1e5

#: Energies up to this multiple of the lowest eigenvalue are summed directly (no eigenvalue is exactly there).
LOW = 6.2831853

#: Bound on the error of a coefficient from summation and recurrences, as a share of its largest value.
ROUNDING = 64 * EPS

#: log k_2t(x, x) at some times.
LogDiagonal = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class ProductSpectrum(Spectrum):
    """Energies of all products of eigenfunctions with eigenvalues below a limit."""

    energies: Energies
    errors: FloatArray  # bounds on the errors of the energies' roots, per root of their multiplicity
    limit: float
    dim: int
    factors: list[Harmonics]
    log_diagonal: LogDiagonal

    @property
    def size(self) -> int:
        """Number of energies."""
        return len(self.errors)

    def heat_sums(self, times: FloatArray) -> HeatSums:
        """Heat sums; what is left out is bounded by `bounds.log_share`."""
        log_mmd2, falling = _log_mmd2(self.energies, times)
        rates, turns = _rates(self.factors, self.limit, times)
        log_power = np.logaddexp(0.0, log_mmd2)
        log_overlap = np.minimum(log_power - self.log_diagonal(times), 0.0)
        overlap = np.exp(log_overlap)
        log_part = log_share(self.dim, 2 * self.limit * times)
        part = np.exp(log_part)
        # An angle good to EPS turns a coefficient by EPS times its degree; near a pole the last one by its square.
        root_error = float(self.errors.max()) + 2 * EPS * np.sqrt(turns)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            error = (
                part / (1 - part)
                + 2 * root_error / np.sqrt(overlap)
                + root_error**2 / overlap
                + 2 * EPS * turns
                + 16 * EPS * (4 + np.abs(log_overlap) - rates)
            )
            missing = np.exp(log_part - np.log1p(-part) + log_power - log_mmd2)
        known = np.isfinite(log_mmd2)
        missing = np.where(known, missing, 0.0)
        uncertain = np.where(known, self._uncertain(times), 0.0)
        slope = falling * np.exp(log_mmd2 - log_power) - rates
        return HeatSums(overlap, log_mmd2, slope, error, uncertain + missing, missing)

    def _uncertain(self, times: FloatArray) -> FloatArray:
        """What the errors of the energies may do to MMD^2, which may be small beyond what sums can tell."""
        found = self.energies
        reach = self.errors / 4 * np.sqrt(found.multiplicities)  # transforms were never off by more than a quarter
        doubt, value = _decayed(found, times, 2 * reach * np.sqrt(found.values) + reach**2, found.values)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.asarray(doubt / value)


class ProductTransform(Transform):
    """Real coefficients of all products of eigenfunctions with eigenvalues up to degree^2 times the lowest."""

    def __init__(self, factors: list[Harmonics], dim: int, log_diagonal: LogDiagonal) -> None:
        self.factors, self._dim, self._log_diagonal = factors, dim, log_diagonal
        self._lowest = min(factor.lowest for factor in factors)
        self.basis = "sum of w times products of real orthonormal harmonics of the factors, eigenvalues up to degree^2"

    @property
    def most(self) -> float:  # type: ignore[override]
        """The degree at which coefficients are as many as `MOST_COEFFICIENTS` allows."""
        degree = 2
        while coefficient_count(self.factors, self.limit(degree + 1)) <= MOST_COEFFICIENTS:
            degree += 1
        return float(degree)

    def limit(self, degree: float) -> float:
        """The eigenvalue below which all coefficients are kept."""
        return self._lowest * max(degree, 1.2) ** 2 * (1 + 1e-9)

    def degree_for(self, time: float, ess: float, rtol: float, *, mmd2: bool = True) -> float | None:
        """As in `heat.series.level_count`, MMD^2 is taken to be no less than what independent draws have."""
        goal = math.log(truncation(rtol, ess))
        if mmd2:
            log_diagonal = float(self._log_diagonal(np.array([time]))[0])
            log_excess = math.log(math.expm1(min(log_diagonal, 700.0))) if log_diagonal > 0 else -math.inf
            log_mmd2 = max(log_excess, -2 * self._lowest * time) - math.log(ess)
            goal += log_mmd2 - float(np.logaddexp(0.0, log_mmd2))
        limit = max(float(exponent_for(self._dim, goal)), self._dim / 2 + 1) / (2 * time)
        degree = math.sqrt(limit / self._lowest)
        return degree if math.isfinite(self._cheapest(1, self.limit(degree))[0]) else None

    def seconds(self, n: int, degree: float) -> float:
        """By matrix products, or by fast transforms on one of the factors."""
        return self._cheapest(n, self.limit(degree))[0]

    def _cheapest(self, n: int, limit: float) -> tuple[float, tuple[int, LevelTransform] | None]:
        """The seconds that the energies take, and the factor whose fast transform is then used, if any, with it."""
        factors = self.factors
        counts = [factor.mode_count(limit) for factor in factors]
        total = coefficient_count(factors, limit)
        best: tuple[float, tuple[int, LevelTransform] | None] = (math.inf, None)
        if total <= MOST_COEFFICIENTS:
            functions = sum(counts) + (2 * math.sqrt(total) if len(factors) > 2 else 0.0)  # products of some of them
            best = (n * (PRODUCT * total + FUNCTION * functions) + 2e-8 * total + 9e-4, None)
        for place, factor in enumerate(factors):
            transform, others = factor.transform, coefficient_count(factors[:place] + factors[place + 1 :], limit)
            if transform is None or not math.isfinite(counts[place]) or not others <= MOST_TRANSFORMS:
                continue
            degree = len(factor.eigenvalues(limit)) - 1
            again = math.ceil(others * n / TRANSFORM_ENTRIES)  # batches, for each of which the functions are evaluated
            each = 1e-4 + (2e-8 + FUNCTION * again) * n + 2e-10 * (degree + 1) ** 3 + transform.seconds(n, degree)
            if degree <= transform.most and others * each < best[0]:
                best = (others * each, (place, transform))
        return best

    def zeros(self, degree: float) -> Coefficients:
        """One row."""
        return np.zeros(coefficient_size(self.factors, self.limit(degree)))

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, threads: int
    ) -> Coefficients:
        """By matrix products, in one row; exact to rounding."""
        return product_coefficients(self.factors, self.limit(degree), points, weights)

    def low_sums(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """None are needed: the coefficients are exact to rounding."""
        return np.zeros(0)

    def spectrum(
        self, coefficients: Coefficients, low_sums: LowSums, degree: float, epsilon: float, rtol: float
    ) -> ProductSpectrum:
        """Energies of the products."""
        limit = self.limit(degree)
        return self._spectrum(energies(self.factors, limit, coefficients), limit)

    def _spectrum(self, found: Energies, limit: float, errors: FloatArray | None = None) -> ProductSpectrum:
        bounds = np.full(len(found.values), ROUNDING) if errors is None else errors
        return ProductSpectrum(found, bounds, limit, self._dim, self.factors, self._log_diagonal)

    def spectrum_of(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, rtol: float, threads: int
    ) -> ProductSpectrum:
        """The spectrum at once, by fast transforms where these cost less than the coefficients."""
        limit = self.limit(degree)
        fast = self._cheapest(len(points), limit)[1]
        if fast is None:
            coefficients = self.coefficients(points, weights, degree, epsilon, threads)
            return self._spectrum(energies(self.factors, limit, coefficients), limit)
        # Large scales rest on the lowest energies alone, which may nearly vanish.
        low = LOW * self._lowest
        first = energies(self.factors, low, product_coefficients(self.factors, low, points, weights)).within(0.0, low)
        place, transform = fast
        others = self.factors[:place] + self.factors[place + 1 :]
        rest = transformed(self.factors[place], transform, others, limit, points, weights, epsilon)
        rest = rest.within(low, math.inf)
        errors = np.repeat([ROUNDING, epsilon], [len(first.values), len(rest.values)])
        both = Energies(*(np.concatenate(pair) for pair in zip(first, rest, strict=True)))
        return self._spectrum(both, limit, errors)

    def potential(
        self, coefficients: Coefficients, degree: float, time: float, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """sum over products of eigenfunctions of exp(-2 lambda t) a phi(y) / k_2t(x, x)."""
        return np.asarray(self.potentials(coefficients, degree, np.array([time]), points, epsilon, threads)[0])

    def potentials(
        self,
        coefficients: Coefficients,
        degree: float,
        times: FloatArray,
        points: NDArray[Any],
        epsilon: float,
        threads: int,
    ) -> FloatArray:
        """With the eigenfunctions evaluated once for all times."""
        found = product_synthesis(self.factors, self.limit(degree), coefficients, times, points)
        return np.asarray(found * np.exp(-self._log_diagonal(times))[:, None])

    def potential_seconds(self, n: int, places: int, degree: float, times: int) -> float:
        """By matrix products."""
        total = coefficient_count(self.factors, self.limit(degree))
        if total > MOST_COEFFICIENTS:
            return math.inf
        functions = FUNCTION * sum(factor.mode_count(self.limit(degree)) for factor in self.factors)
        each = PRODUCT * total
        return 9e-4 + n * (each + functions) + places * (times * each + functions)

    def without_mean(self, coefficients: Coefficients) -> Coefficients:
        """The constant comes first."""
        found = coefficients.copy()
        found[0] = 0.0
        return found

    def forms_of(self, degree: float, times: FloatArray, log_excess: FloatArray) -> Forms:
        """From the energies of all products."""

        def forms(coefficients: Coefficients) -> FloatArray:
            found = energies(self.factors, self.limit(degree), coefficients)
            scale = np.exp(-2 * float(found.eigenvalues.min()) * times - log_excess)
            return np.asarray(_decayed(found, times, found.values)[0] * scale)

        return forms

    def square_sums(
        self, coefficients: Coefficients, degree: float, times: FloatArray, log_excess: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """c_t^2 is a sum of products of functions of one factor each, see `ways_to_square`."""
        limit = self.limit(degree)
        found = np.array([product_squares(self.factors, limit, coefficients, float(time)) for time in times])
        both = found * np.exp(-2 * log_excess)[:, None]
        return both[:, 0], both[:, 1]


def _log_mmd2(found: Energies, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log sum exp(-2 lambda t) e, and the derivative of that in log t, without underflow."""
    total, moment = _decayed(found, times, found.values, found.values * found.eigenvalues)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(total > 0, -2 * times * moment / total, 0.0)
        return np.log(total) - 2 * float(found.eigenvalues.min()) * times, relative


def _decayed(found: Energies, times: FloatArray, *columns: FloatArray) -> FloatArray:
    """sum exp(-2 (lambda - lowest) t) v of some columns, shape (columns, times)."""
    above, stacked = found.eigenvalues - found.eigenvalues.min(), np.stack(columns)
    return np.stack([stacked @ np.exp(-2 * above * time) for time in times], axis=1)


def _rates(factors: list[Harmonics], limit: float, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """d log k_2t(x, x) / d log t, and the mean of degree (degree + dim - 1), the sums over factors."""
    total, turns = np.zeros((2, len(times)))
    for factor in factors:
        eigenvalues = factor.eigenvalues(limit)
        terms = factor.multiplicities(limit) * np.exp(-2 * np.multiply.outer(times, eigenvalues))
        mean = (terms @ eigenvalues) / terms.sum(axis=1)
        total, turns = total - 2 * times * mean, turns + mean * factor.scale**2
    return total, turns
