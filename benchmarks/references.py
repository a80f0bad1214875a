"""What heatess is measured against: the paper's algorithm, and the bare transform."""

from __future__ import annotations

from collections.abc import Callable

import ducc0
import numpy as np

from heatess.base.blocks import one_blas_thread, share_out, thread_count


def paper_profile(points: np.ndarray, weights: np.ndarray, angles: np.ndarray, degree: int = 180) -> np.ndarray:
    """gESS by the paper's algorithm in NumPy: the Legendre recurrence over the n x n Gram matrix."""
    weights = weights / weights.sum()
    gram = np.clip(points @ points.T, -1, 1)
    before, now = np.ones_like(gram), gram
    energies = [1.0, 3 * (weights @ now @ weights)]
    for level in range(1, degree):
        before, now = now, ((2 * level + 1) * gram * now - level * before) / (level + 1)
        energies.append((2 * level + 3) * (weights @ now @ weights))
    levels = np.arange(degree + 1)
    times = np.radians(angles) ** 2 / 8
    decay = np.exp(-2 * np.multiply.outer(times, levels * (levels + 1)))
    return decay @ (2 * levels + 1) / (decay @ np.array(energies))


def bare_transform(
    points: np.ndarray, weights: np.ndarray, degree: int, threads: int, epsilon: float = 1e-12
) -> Callable[[], object]:
    """The spherical-harmonic transform alone, with angles and weights ready."""
    location = np.empty((len(points), 2))
    location[:, 0] = np.arctan2(np.hypot(points[:, 0], points[:, 1]), points[:, 2])
    location[:, 1] = np.arctan2(points[:, 1], points[:, 0]) % (2 * np.pi)
    values = (weights / weights.sum())[None]

    def run() -> object:
        return ducc0.sht.adjoint_synthesis_general(
            map=values, spin=0, lmax=degree, mmax=degree, loc=location, epsilon=epsilon, nthreads=threads
        )

    return run


def bare_quaternions(n: int, degree: int, threads: int, epsilon: float = 1e-12) -> Callable[[], object]:
    """The two nonuniform Fourier transforms alone that the levels of S^3 up to *degree* take, of half the orders each.

    The angles are ready; the frequencies are those of whole numbers up to degree / 2, and of half-integers.
    """
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, [2 * np.pi, np.pi, 2 * np.pi], (n, 3))
    values = np.full(n, 1 / n, dtype=np.complex128)
    whole, half = degree // 2 + 1, (degree + 1) // 2
    grids = [np.empty((whole, *[2 * whole - 1] * 2), dtype=np.complex128)]
    grids += [np.empty((half, *[2 * half] * 2), dtype=np.complex128)]

    def run() -> object:
        for grid in grids:
            ducc0.nufft.nu2u(points=values, coord=angles, forward=True, epsilon=epsilon, nthreads=threads, out=grid)
        return grids

    return run


def bare_products(points: np.ndarray, pairs: int, side: int = 128) -> Callable[[], None]:
    """About *pairs* inner products in blocks of random rows, in the precision of *points*, a BLAS thread per core."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(points), size=(-(-pairs // side**2), 2, side))

    def product(_: int, block: np.ndarray) -> None:
        left, right = block
        points[left] @ points[right].T

    def run() -> None:
        with one_blas_thread():
            share_out(chosen, product, thread_count())

    return run


def bare_rotations(n: int, degree: int, threads: int, epsilon: float = 1e-12) -> Callable[[], object]:
    """The nonuniform Fourier transform in three Euler angles alone, frequencies -degree ... degree in each."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, (n, 3))
    values = np.full(n, 1 / n, dtype=np.complex128)
    grid = np.empty((2 * degree + 1,) * 3, dtype=np.complex128)

    def run() -> object:
        return ducc0.nufft.nu2u(points=values, coord=angles, forward=True, epsilon=epsilon, nthreads=threads, out=grid)

    return run
