"""Nonuniform Fourier transforms and spherical harmonics by ducc0, as `transforms.backend` asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.arrays import FloatArray
from ..base.blocks import map_rows
from ..base.pool import apart
from .nonuniform.box import Box, Modes

#: Points and modes together for which a transform takes so long that Ctrl-C should not wait for it.
_POINTS_AND_MODES_WORTH_A_THREAD = 200_000


def _library() -> Any:
    import ducc0

    return ducc0


def modes(points: FloatArray, weights: FloatArray, box: Box) -> Modes:
    """By the transform of type 1."""
    (low, *others), shape = box.lowest, box.shape
    if not others and low == 0:  # negative ones too, which costs less than a factor for each point
        return modes(points, weights, box._replace(lowest=[-shape[0]], shape=[2 * shape[0]]))[shape[0] :]
    found = np.empty(shape, dtype=np.complex128)
    turned = _turned(points, weights, box)
    _computed(len(points) + found.size, _library().nufft.nu2u, points=turned, out=found, **_named(points, box))
    return found


def values(coefficients: Modes, points: FloatArray, box: Box) -> FloatArray:
    """By the transform of type 2."""
    size = len(points) + coefficients.size
    found = _computed(size, _library().nufft.u2nu, grid=coefficients, **_named(points, box))
    if not any(_middle(box)):
        return np.asarray(found.real)
    real = np.empty(len(found))

    def fill(rows: slice) -> None:
        turn = _turn(points[rows], box)
        real[rows] = found[rows].real * np.cos(turn) - found[rows].imag * np.sin(turn)

    map_rows(fill, len(found))
    return real


def harmonics(places: FloatArray, weights: FloatArray, degree: int, epsilon: float, threads: int) -> Modes:
    """By the transform adjoint to synthesis."""
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
    """By Legendre transforms."""
    count = len(coefficients)
    packed, colatitudes = coefficients.T[np.triu_indices(count)], np.arange(count + 1) * (np.pi / count)
    named = {"alm": packed[None], "spin": 0, "lmax": count - 1, "theta": colatitudes, "nthreads": threads}
    found = _computed(count**2, _library().sht.alm2leg, **named)
    return np.asarray(found[0])


def _computed(size: int, transform: Callable[..., Any], **named: Any) -> Any:
    return apart(transform, **named) if size > _POINTS_AND_MODES_WORTH_A_THREAD else transform(**named)


def _named(points: FloatArray, box: Box) -> dict[str, Any]:
    """What both transforms want to know."""
    known = {"coord": np.ascontiguousarray(points), "forward": False, "epsilon": box.epsilon, "nthreads": box.threads}
    return known if box.periods is None else known | {"periodicity": list(box.periods)}


def _middle(box: Box) -> list[float]:
    """The frequencies that ducc0 takes for zero."""
    return [low + size // 2 for low, size in zip(box.lowest, box.shape, strict=True)]


def _turn(points: FloatArray, box: Box) -> FloatArray:
    """sum_j f_j x_ij of the middle frequencies."""
    units = [1.0] * len(box.shape) if box.periods is None else [2 * np.pi / period for period in box.periods]
    return np.asarray(
        sum(f * unit * x for f, unit, x in zip(_middle(box), units, points.T, strict=True) if f), dtype=np.float64
    )


def _turned(points: FloatArray, weights: FloatArray, box: Box) -> Modes:
    """Weights times exp(i sum_j f_j x_ij) of the middle frequencies, so that those may come out as zero."""
    found, turns = np.empty(len(points), dtype=np.complex128), any(_middle(box))

    def fill(rows: slice) -> None:
        found[rows] = weights[rows] * np.exp(1j * _turn(points[rows], box)) if turns else weights[rows]

    map_rows(fill, len(points))
    return found
