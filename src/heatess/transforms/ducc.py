"""Nonuniform Fourier transforms and spherical harmonics by ducc0, as `transforms.backend` asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import map_rows
from ..base.pool import apart

Modes = NDArray[np.complex128]

#: Points and modes together for which a transform takes so long that Ctrl-C should not wait for it.
_MANY = 200_000


def _library() -> Any:
    import ducc0

    return ducc0


def modes(
    points: FloatArray,
    weights: FloatArray,
    lowest: Sequence[float],
    shape: Sequence[int],
    epsilon: float,
    threads: int,
    periods: Sequence[float] | None = None,
) -> Modes:
    """sum_i w_i exp(i sum_j f_j x_ij) of points (n, d) for the frequencies f_j = lowest_j, ..., shape (shape)."""
    middle = _middle(lowest, shape)
    if len(shape) == 1 and lowest[0] == 0:  # negative ones too, which costs less than a factor for each point
        return modes(points, weights, [-shape[0]], [2 * shape[0]], epsilon, threads, periods)[shape[0] :]
    found = np.empty(shape, dtype=np.complex128)
    _computed(
        len(points) + found.size,
        _library().nufft.nu2u,
        points=_turned(points, weights, middle, periods),
        coord=np.ascontiguousarray(points),
        forward=False,
        epsilon=epsilon,
        nthreads=threads,
        out=found,
        **_periods(periods),
    )
    return found


def values(
    coefficients: Modes,
    points: FloatArray,
    lowest: Sequence[float],
    epsilon: float,
    threads: int,
    periods: Sequence[float] | None = None,
) -> FloatArray:
    """Re sum_k c_k exp(i sum_j f_kj x_ij) at points (n, d), the coefficients being those of f_j = lowest_j, ...."""
    middle = _middle(lowest, coefficients.shape)
    found = _computed(
        len(points) + coefficients.size,
        _library().nufft.u2nu,
        grid=coefficients,
        coord=np.ascontiguousarray(points),
        forward=False,
        epsilon=epsilon,
        nthreads=threads,
        **_periods(periods),
    )
    if not any(middle):
        return np.asarray(found.real)
    real = np.empty(len(found))

    def fill(rows: slice) -> None:
        turn = _turn(points[rows], middle, periods)
        real[rows] = found[rows].real * np.cos(turn) - found[rows].imag * np.sin(turn)

    map_rows(fill, len(found))
    return real


def harmonics(places: FloatArray, weights: FloatArray, degree: int, epsilon: float, threads: int) -> Modes:
    """sum_i w_i conj(Y_lm) at *places* (n, 2) of colatitude and longitude, [l, m] with m >= 0; zero where m > l.

    The Y_lm are orthonormal on the sphere of area 4 pi; longitudes lie in [0, 2 pi].
    """
    # Row l, column m, so that a level is a row; entries with m > l stay zero.
    found = np.zeros((1, (degree + 1) ** 2), dtype=np.complex128)
    _computed(
        len(places) + found.size,
        _library().sht.adjoint_synthesis_general,
        map=np.ascontiguousarray(weights)[None],
        loc=places,
        epsilon=epsilon,
        nthreads=threads,
        alm=found,
        spin=0,
        lmax=degree,
        mmax=degree,
        mstart=np.arange(degree + 1, dtype=np.uint64),
        lstride=degree + 1,
    )
    return found.reshape(degree + 1, degree + 1)


def meridians(coefficients: Modes, threads: int) -> Modes:
    """sum_l a_lm Y_lm at longitude zero for each order m >= 0, at colatitudes 0, pi / count, ..., pi.

    *coefficients* stand as those of `harmonics`, shape (count, count); the result has the shape (count + 1, count).
    """
    count = len(coefficients)
    packed, colatitudes = coefficients.T[np.triu_indices(count)], np.arange(count + 1) * (np.pi / count)
    named = {"alm": packed[None], "spin": 0, "lmax": count - 1, "theta": colatitudes, "nthreads": threads}
    found = _computed(count**2, _library().sht.alm2leg, **named)
    return np.asarray(found[0])


def _computed(size: int, transform: Callable[..., Any], **named: Any) -> Any:
    return apart(transform, **named) if size > _MANY else transform(**named)


def _periods(periods: Sequence[float] | None) -> dict[str, list[float]]:
    return {} if periods is None else {"periodicity": list(periods)}


def _middle(lowest: Sequence[float], shape: Sequence[int]) -> list[float]:
    """The frequencies that ducc0 takes for zero."""
    return [low + size // 2 for low, size in zip(lowest, shape, strict=True)]


def _turn(points: FloatArray, middle: list[float], periods: Sequence[float] | None) -> FloatArray:
    """sum_j f_j x_ij of the middle frequencies."""
    units = [1.0] * len(middle) if periods is None else [2 * np.pi / period for period in periods]
    return np.asarray(
        sum(f * unit * x for f, unit, x in zip(middle, units, points.T, strict=True) if f), dtype=np.float64
    )


def _turned(points: FloatArray, weights: FloatArray, middle: list[float], periods: Sequence[float] | None) -> Modes:
    """Weights times exp(i sum_j f_j x_ij) of the middle frequencies, so that those may come out as zero."""
    found = np.empty(len(points), dtype=np.complex128)

    def fill(rows: slice) -> None:
        found[rows] = (
            weights[rows] * np.exp(1j * _turn(points[rows], middle, periods)) if any(middle) else weights[rows]
        )

    map_rows(fill, len(points))
    return found
