"""The square of the centred overlap, c_t^2, as a sum over levels or over Fourier modes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from ..base.arrays import FloatArray
from ..heat.series import log_terms
from ..heat.spherical import SphereSeries


def level_squares(series: SphereSeries, times: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Shares of the levels in c_t, and in c_t^2, at each time, shape (times, count) each; those of c_t sum to one.

    Both are functions of the distance: c_t = sum_l q_l P_l, where q_l is the share of level l >= 1 in k_2t(x, x) - 1,
    and the share of P_l in c_t^2 is N_l times the mean of c_t^2 P_l over the space, an integral that Gauss quadrature
    (on the circle, a Fourier transform) finds exactly.
    """
    terms = log_terms(series, times, count)
    terms[:, 0] = -np.inf
    shares = np.exp(terms - terms.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    if series.dim == 1:
        return shares, _circle_squares(shares)
    distances, volumes = _quadrature(series, count)
    zonal = series.zonal(count, distances)  # (levels, places)
    squares = ((shares @ zonal) ** 2 * volumes) @ zonal.T
    return shares, squares * np.exp(series.levels(count).log_multiplicities)


def _circle_squares(shares: FloatArray) -> FloatArray:
    """Coefficients of (sum_k q_k cos k r)^2 in cos(l r), l < count."""
    count = shares.shape[1]
    grid = np.fft.irfft(shares, 4 * count, axis=1) * (4 * count)  # sum_k 2 q_k cos k r, since q_0 = 0
    found = np.fft.rfft((grid / 2) ** 2, axis=1).real[:, :count] / (4 * count)
    found[:, 1:] *= 2
    return np.asarray(found)


def _quadrature(series: SphereSeries, count: int) -> tuple[FloatArray, FloatArray]:
    """Distances and shares of volume that integrate products of three zonal functions of a sphere or axes exactly.

    Zonal functions are polynomials of degree step (count - 1) or less in the cosine of an angle.
    """
    from scipy.special import roots_gegenbauer, roots_legendre

    places = 3 * series.step * (count - 1) // 2 + 2
    if series.dim == 3:
        angles = np.arange(1, places + 1) * math.pi / (places + 1)
        volumes = np.sin(angles) ** 2
    else:
        cosines, volumes = roots_legendre(places) if series.dim == 2 else roots_gegenbauer(places, (series.dim - 1) / 2)
        angles = np.arccos(cosines)
    if series.step == 2:  # a point and its antipode are one
        angles = np.minimum(angles, math.pi - angles)
    return angles * series.radius, volumes / volumes.sum()


def torus_squares(energies: FloatArray, periods: tuple[float, ...], time: float) -> float:
    """sum_k g_k e_k, with g_k the Fourier coefficients of c_t^2 and e_k energies, k = 0 in the middle.

    Those of k_2t are products over the axes, and so are those of its square. Where k_2t(x, x) is below two, c_t^2 would
    be a small difference; there, few modes matter and the coefficients of c_t are convolved with themselves.
    """
    axes = [_decays(size, period, time) for size, period in zip(energies.shape, periods, strict=True)]
    diagonal = math.prod(float(axis.sum()) for axis in axes)
    if diagonal < 2:
        return _by_convolution(energies, axes)
    middle = tuple(size // 2 for size in energies.shape)
    squares, plain = energies, energies
    for axis in reversed(axes):
        squares = squares @ np.convolve(axis, axis, mode="same")
        plain = plain @ axis
    total = float(squares) - 2 * float(plain) + float(energies[middle])
    return total / (diagonal - 1) ** 2


def _decays(size: int, period: float, time: float) -> FloatArray:
    k = np.arange(size) - size // 2
    return np.asarray(np.exp(-2 * time * (2 * math.pi * k / period) ** 2))


def _by_convolution(energies: FloatArray, axes: list[FloatArray]) -> float:
    """The same from the coefficients of c_t, without the zero mode; those below 1e-20 are left out."""
    kept, sides = [], []
    for axis in axes:
        side = int((axis[len(axis) // 2 :] > 1e-20).sum()) - 1
        middle = len(axis) // 2
        kept.append(axis[middle - side : middle + side + 1])
        sides.append(side)
    modes = kept[0]
    for axis in kept[1:]:
        modes = np.multiply.outer(modes, axis)
    modes = modes.copy()
    modes[tuple(sides)] = 0.0
    modes /= modes.sum()
    shape = [2 * size - 1 for size in modes.shape]
    axes_of = tuple(range(modes.ndim))
    squares = np.fft.irfftn(np.fft.rfftn(modes, shape, axes_of) ** 2, shape, axes_of)  # -2 side, ..., 2 side
    places, parts = [], []
    for size, side in zip(energies.shape, sides, strict=True):
        reach = min(size // 2, 2 * side)
        places.append(slice(size // 2 - reach, size // 2 + reach + 1))
        parts.append(slice(2 * side - reach, 2 * side + reach + 1))
    return float(np.vdot(energies[tuple(places)], squares[tuple(parts)]))


def factor_squares(series: SphereSeries, time: float, count: int) -> FloatArray:
    """Coefficients per mode of 1, of e = k_2t - 1 and of e^2 in *count* levels of one factor, shape (3, count)."""
    levels = series.levels(count)
    found = np.zeros((3, count))
    found[0, 0] = 1.0
    found[1, 1:] = np.exp(-2 * time * levels.eigenvalues[1:])
    if count > 1:
        excess = float(found[1] @ np.exp(levels.log_multiplicities))
        found[2] = excess**2 * level_squares(series, np.array([time]), count)[1][0] * np.exp(-levels.log_multiplicities)
    return found


def ways_to_square(factors: int) -> list[tuple[tuple[int, ...], int]]:
    """e^2 = (prod_f (1 + e_f) - 1)^2 as a sum of products with one of 1, e_f, e_f^2 of each factor, and how often.

    >>> ways_to_square(1), [often for _, often in ways_to_square(2)]
    ([((2,), 1)], [1, 2, 2, 1, 2, 1])
    """
    found = []
    for powers in product(range(3), repeat=factors):
        often = 2 ** powers.count(1) - (0 if 2 in powers else 2 if 1 in powers else 1)
        if often > 0:
            found.append((powers, often))
    return found
