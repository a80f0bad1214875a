"""Fourier coefficients on flat tori of one to three dimensions, and their sums, axis by axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray
from ..base.blocks import slices
from ..heat import theta
from ..heat.bounds import exponent_for, log_allowed, log_share, truncation
from ..heat.sums import HeatSums
from . import backend
from .base import Coefficients, Forms, LowSums, OfColumns, Spectrum, Transform
from .lattice import lattice_levels
from .nonuniform.box import Box
from .nonuniform.columns import SIDE, SharedPoints, shares_points
from .squared_overlap import torus_squares

#: Most Fourier modes of a transform, by dimension: frequencies up to 2^18 on the circle; half a gigabyte of memory in
#: two dimensions, two in three.
MODE_LIMIT = {1: 2**19, 2: 2**23, 3: 2**24}

#: Seconds on two cores of a transform, by dimension: for each point, and for each mode.
_PER_POINT = {"native": {1: 6e-8, 2: 1.1e-7, 3: 5e-7}, "ducc": {1: 6e-8, 2: 9e-8, 3: 5e-7}}
_PER_MODE = {"native": {1: 5e-8, 2: 3e-8, 3: 6e-8}, "ducc": {1: 5e-8, 2: 3e-8, 3: 1.2e-7}}

#: Points transformed at once.
POINTS_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class BoxSpectrum(Spectrum):
    """Energies |a_k|^2 of the modes of a box |k_j| <= side_j, which decay factors sum axis by axis."""

    energies: FloatArray  # by |k_j|, summed over the signs, shape (side_1 + 1, ...); zero at k = 0
    periods: tuple[float, ...]
    epsilon: float
    certain: tuple[int, ...]  # axes whose lowest mode was summed directly

    @property
    def size(self) -> int:
        """Number of energies."""
        return self.energies.size

    def heat_sums(self, times: FloatArray) -> HeatSums:
        """A - 1 = sum_{k != 0} exp(-2 lambda_k t) |a_k|^2, and gESS = k_2t(x, x) / A."""
        mmd2, falling = _decayed_sums(self.energies, times, self.periods)
        log_diagonal, rate = diagonals(times, self.periods)
        overlap = (1 + mmd2) * np.exp(-log_diagonal)
        left_out = self._left_out(times, overlap)
        moved = 4 * EPS * max(self.periods) * np.sqrt(-rate / (2 * times))  # coordinates rounded in the transform
        epsilon = self.epsilon
        error = left_out + 2 * epsilon / np.sqrt(overlap) + epsilon**2 / overlap + moved + 64 * EPS
        certain = sum(2 * np.exp(-2 * (2 * math.pi / self.periods[j]) ** 2 * times) for j in self.certain)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            doubt = np.maximum(np.expm1(log_diagonal) - certain, 0.0) / mmd2  # sum of the factors of uncertain energies
            rounded = 4 * EPS * (np.sqrt(certain / mmd2) + 4 * EPS * certain / mmd2)
            uncertain = np.where(mmd2 > 0, 2 * epsilon * np.sqrt(doubt) + epsilon**2 * doubt + rounded, 0.0)
            missing = np.where(mmd2 > 0, left_out * (1 + 1 / mmd2), 0.0)
            slope = falling / (1 + mmd2) - rate
            return HeatSums(overlap, np.log(mmd2), slope, error, uncertain + missing, missing)

    def _left_out(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Upper bound on the share of A in the other modes, by their number or by `bounds.log_share`."""
        total = np.zeros(len(times))
        for period, size in zip(self.periods, self.energies.shape, strict=True):
            share = np.exp(log_share(1, 8 * (math.pi * size / period) ** 2 * times))
            with np.errstate(divide="ignore"):
                total += np.minimum(theta.tail(times, period, size - 1) / overlap, share / np.maximum(1 - share, 0.0))
        return total


class TorusTransform(Transform):
    """Fourier coefficients a_k = sum w exp(2 pi i sum_j k_j x_j / T_j) for |k_j| <= degree T_j / max T.

    One step of a coordinate is *unit* long; *periods* are lengths.
    """

    def __init__(self, periods: tuple[float, ...], unit: float = 1.0) -> None:
        self.periods = periods
        self._steps = [period / unit for period in periods]
        self.basis = "sum of w exp(2 pi i sum_j k_j x_j / T_j), |k_j| <= max_degree T_j / max T"
        self._ratios = [period / max(periods) for period in periods]

    @property
    def mode_limit(self) -> int:  # type: ignore[override]
        """By the number of coordinates."""
        return MODE_LIMIT[len(self.periods)]

    @property
    def most(self) -> float:  # type: ignore[override]
        """A whole degree, the largest but for one per cent, whose modes are no more than `MODE_LIMIT` allows."""
        degree = 2
        while self._modes(1 + 1.01 * degree) <= self.mode_limit:
            degree = int(1 + 1.01 * degree)
        return float(degree)

    def _sides(self, degree: float) -> list[int]:
        return [max(2, math.floor(degree * ratio)) for ratio in self._ratios]

    def _modes(self, degree: float) -> float:
        return math.prod(2 * float(side) + 1 for side in self._sides(degree))

    def degree_for(self, time: float, ess: float, rtol: float, *, mmd2: bool = True) -> float | None:
        """By the share of A in the modes beyond each side; see `heat.bounds`."""
        share = truncation(rtol, ess) / len(self.periods)
        allowed = math.log(share)
        if mmd2:
            allowed = float(log_allowed(diagonals(np.array([time]), self.periods)[0], ess, share)[0])
        return self.degree_of(time, float(exponent_for(1, allowed)))

    def degree_of(self, time: float, y: float) -> float | None:
        """The degree beyond which 2 lambda t exceeds y along every axis."""
        degree = min(max(self.periods) * math.sqrt(y / (8 * time)) / math.pi, 2.0**40)
        return degree if self._modes(degree) <= self.mode_limit else None

    def seconds(self, n: int, degree: float) -> float:
        """Linear in the points and in the modes."""
        dim = len(self.periods)
        by = backend.chosen(dim)
        return 3e-4 + _PER_POINT[by][dim] * n + _PER_MODE[by][dim] * self._modes(degree)

    def zeros(self, degree: float) -> Coefficients:
        """Shape (2 side_1 + 1, 2 side_2 + 1, ...), with k = 0 in the middle."""
        return np.zeros([2 * side + 1 for side in self._sides(degree)], dtype=np.complex128)

    def coefficients(
        self, points: NDArray[Any], weights: FloatArray, degree: float, epsilon: float, threads: int
    ) -> Coefficients:
        """Points are taken in blocks, so that the memory needed does not grow with their number."""
        return self._transform(points, weights, self._sides(degree), epsilon, threads)

    def _transform(
        self, points: NDArray[Any], weights: NDArray[Any], sides: Sequence[int], epsilon: float, threads: int
    ) -> Coefficients:
        shape = [2 * side + 1 for side in sides]
        box, own = Box([-side for side in sides], shape, epsilon, threads, self._steps), backend.by(len(shape))
        parts = (own.modes(points[rows], weights[rows], box) for rows in slices(len(points), POINTS_AT_ONCE))
        return backend.added(parts, shape)

    def low_sums(self, points: NDArray[Any], weights: FloatArray) -> FloatArray:
        """For each axis, sum w cos and sum w sin of 2 pi x_j / T_j."""
        angles = (points[:, j] * (2 * math.pi / period) for j, period in enumerate(self._steps))
        return np.array([weights @ wave(angle) for angle in angles for wave in (np.cos, np.sin)])

    def spectrum(
        self, coefficients: Coefficients, low_sums: LowSums, degree: float, epsilon: float, rtol: float
    ) -> BoxSpectrum:
        """Energies; the lowest of an axis from the low sums if it nearly vanishes: large scales rest on it alone."""
        energies = np.asarray(coefficients.real**2 + coefficients.imag**2)
        middle = tuple(size // 2 for size in energies.shape)
        energies[middle] = 0.0
        energies = _folded(energies)
        lowest = [tuple(int(i == j) for i in range(energies.ndim)) for j in range(energies.ndim)]
        certain = tuple(j for j, place in enumerate(lowest) if energies[place] < 8 * (epsilon / rtol) ** 2)
        if certain:
            exact = low_sums() ** 2
            for j in certain:
                energies[lowest[j]] = 2 * (exact[2 * j] + exact[2 * j + 1])
        return BoxSpectrum(energies, self.periods, epsilon, certain)

    def potential(
        self, coefficients: Coefficients, degree: float, time: float, points: NDArray[Any], epsilon: float, threads: int
    ) -> FloatArray:
        """Re sum_k exp(-2 lambda_k t) conj(a_k) exp(2 pi i sum_j k_j y_j / T_j) / k_2t(x, x)."""
        grid = np.conj(coefficients)
        for axis, (size, period) in enumerate(zip(grid.shape, self.periods, strict=True)):
            k = np.arange(size) - size // 2
            decay = np.exp(-2 * time * (2 * math.pi * k / period) ** 2 - theta.diagonal_factor(time, period).log)
            grid *= decay.reshape([-1 if i == axis else 1 for i in range(grid.ndim)])
        box = Box([-(size // 2) for size in grid.shape], grid.shape, epsilon, threads, self._steps)
        return backend.by(grid.ndim).values(grid, points, box)

    together = SIDE

    def column_seconds(self, n: int, degree: float) -> float:
        """Columns side by side, on grids that are not too large."""
        return self.seconds(n, degree) / (4.0 if self._shared(n, degree) else 2.0)

    def _shared(self, n: int, degree: float) -> bool:
        return shares_points(n, [side + 1 for side in self._sides(degree)])

    def of_columns(self, points: NDArray[Any], degree: float, epsilon: float) -> OfColumns:
        """Real weights: coefficients are conjugate at k and -k, so that one half of the modes is enough."""
        sides = self._sides(degree)
        if not self._shared(len(points), degree):
            return self._in_pairs(points, sides, epsilon)
        low, shape = [0, *(-side for side in sides[1:])], [sides[0] + 1, *(2 * side + 1 for side in sides[1:])]
        shared = SharedPoints(np.asarray(points, dtype=np.float64), Box(low, shape, epsilon, 1, self._steps))

        def found(columns: FloatArray) -> Iterator[Coefficients]:
            for half in shared.modes(columns):
                np.conj(half, out=half)
                yield np.concatenate([np.conj(np.flip(half)[:-1]), half])

        return found

    def _in_pairs(self, points: NDArray[Any], sides: Sequence[int], epsilon: float) -> OfColumns:
        """Two columns at a time, one as the imaginary part."""

        def found(columns: FloatArray) -> Iterator[Coefficients]:
            for part in slices(columns.shape[1], 2):
                both = np.zeros((len(points), 2))
                both[:, : part.stop - part.start] = columns[:, part]
                modes = self._transform(points, both.view(np.complex128)[:, 0], sides, epsilon, 1)
                mirrored = np.conj(np.flip(modes))
                yield (modes + mirrored) / 2
                if part.stop - part.start == 2:
                    yield (modes - mirrored) / 2j

        return found

    def without_mean(self, coefficients: Coefficients) -> Coefficients:
        """k = 0 is in the middle."""
        found = coefficients.copy()
        found[tuple(size // 2 for size in found.shape)] = 0
        return found

    def forms_of(self, degree: float, times: FloatArray, log_excess: FloatArray) -> Forms:
        """Axis by axis."""
        sides = zip(self._sides(degree), self.periods, strict=True)
        axes = [np.exp(-np.multiply.outer(times, 2 * (2 * math.pi * np.arange(n + 1) / T) ** 2)) for n, T in sides]
        scale = np.exp(-log_excess)

        def forms(coefficients: Coefficients) -> FloatArray:
            energies = _folded(np.asarray(coefficients.real**2 + coefficients.imag**2))
            energies[(0,) * energies.ndim] = 0.0
            found = [reduce(np.matmul, (axis[k] for axis in reversed(axes)), energies) for k in range(len(times))]
            return np.asarray(np.array(found) * scale)

        return forms

    def square_sums(
        self, coefficients: Coefficients, degree: float, times: FloatArray, log_excess: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """From the Fourier coefficients of c_t^2."""
        energies = coefficients.real**2 + coefficients.imag**2
        sums = [
            [torus_squares(part, self.periods, float(time)) for time in times]
            for part in (energies, np.ones_like(energies))
        ]
        return np.array(sums[0]), np.array(sums[1])

    def level_energies(
        self, points: NDArray[Any], weights: FloatArray, count: int, epsilon: float, threads: int
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Eigenvalues, multiplicities and energies of the *count* lowest levels; None if their modes are too many."""
        levels = lattice_levels(self.periods, count, self.mode_limit)
        if levels is None:
            return None
        modes = self._transform(points, weights, levels.sides, epsilon, threads)
        energies = np.bincount(levels.labels.ravel(), (modes.real**2 + modes.imag**2).ravel(), count + 1)[:count]
        energies[0] = 1.0
        return levels.eigenvalues, levels.multiplicities, np.minimum(energies, levels.multiplicities)


def diagonals(times: FloatArray, periods: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    """log k_2t(x, x) and its derivative in log t, the sums over the axes."""
    logs, slopes = np.zeros((2, len(times)))
    for period, repeats in {period: periods.count(period) for period in periods}.items():
        factors = np.array([theta.diagonal_factor(float(time), period) for time in times])
        logs, slopes = logs + repeats * factors[:, 0], slopes + repeats * factors[:, 1]
    return logs, slopes


def _folded(energies: FloatArray) -> FloatArray:
    """Energies by |k_j|, 0 <= |k_j| <= side_j, summed over the signs of each k_j."""
    for axis in range(energies.ndim):
        side = energies.shape[axis] // 2
        centred = np.moveaxis(energies, axis, 0)
        half = centred[side:].copy()
        half[1:] += centred[side - 1 :: -1]
        energies = np.moveaxis(half, 0, axis)
    return np.ascontiguousarray(energies)


def _decayed_sums(energies: FloatArray, times: FloatArray, periods: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
    """sum_k exp(-2 lambda_k t) e_k, and its derivative in log t, from `_folded` energies."""
    total, change = np.empty((2, len(times)))
    for row, time in enumerate(times):
        value, slope = energies, np.zeros(())
        for size, period in zip(reversed(energies.shape), reversed(periods), strict=True):
            exponent = (2 * math.pi * np.arange(size) / period) ** 2 * (2 * time)
            decay = np.exp(-exponent)
            slope = (slope @ decay if slope.ndim else 0.0) - value @ (exponent * decay)
            value = value @ decay
        total[row], change[row] = value, slope
    return total, change
