"""Level moments from all pairs, tile by tile; never an n x n array.

Each zonal function is a mixture of cosines of the distance, so one nonuniform Fourier transform of
the pair distances of a tile gives the moments of every level at once, whatever their number.
"""

from __future__ import annotations

from collections.abc import Iterator

import ducc0
import numpy as np

from ..blocks import slices, thread_count
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import FloatArray, LevelMoments, ZonalSpace
from .spectral import with_low_moments
from .sums import EPS

TILE = 1024

#: Accuracy asked of the Fourier transform of the pair distances; four times it was never reached.
EPSILON = 3e-13


def tiles(n: int, size: int = TILE) -> Iterator[tuple[slice, slice]]:
    """The tiles on and above the diagonal."""
    for top in range(0, n, size):
        for left in range(top, n, size):
            yield slice(top, min(top + size, n)), slice(left, min(left + size, n))


def tile_distances(measure: Measure, space: ZonalSpace, rows: slice, columns: slice) -> FloatArray:
    """Distances between two tiles of atoms, accurate for close pairs too, where the arc cosine is not."""
    left, right = space.tile(measure.points, rows), space.tile(measure.points, columns)
    u = space.tile_cosines(left, right)
    i, j = np.nonzero(u > 0.999)
    distances = np.arccos(u, out=u)
    for part in slices(len(i), 2**20 // left.shape[1] + 1):
        distances[i[part], j[part]] = space.distance(left[i[part]], right[j[part]])
    return distances


def level_moments(measure: Measure, space: ZonalSpace, count: int, rtol: float, progress: Progress) -> LevelMoments:
    """b_0, ..., b_{count-1} as sums over pairs of atoms."""
    support = measure.support()
    work = list(tiles(support.n))
    cosines = np.zeros(space.cosine_count(count))
    for rows, columns in progress.track(work, "pairs"):
        cosines += _tile_moments(support, space, len(cosines), rows, columns)
    values = space.from_cosines(cosines)
    values[0] = 1.0
    moments = LevelMoments(
        np.clip(values, 0.0, 1.0),
        error=4 * EPSILON + 32 * EPS,
        cosine_error=2 * EPS * np.sqrt(space.dim + 1),
    )
    return with_low_moments(support, space, moments, rtol)


def _tile_moments(measure: Measure, space: ZonalSpace, count: int, rows: slice, columns: slice) -> FloatArray:
    """sum over the tile of w_i w_j cos(k d_ij), k < count; tiles off the diagonal count twice."""
    u = space.tile_cosines(space.tile(measure.points, rows), space.tile(measure.points, columns))
    weight = np.multiply.outer(measure.weights[rows], measure.weights[columns])
    if rows == columns:
        np.fill_diagonal(u, 1.0)
    else:
        weight *= 2
    return cosine_moments(u, weight, count)


def cosine_moments(cosines: FloatArray, weights: FloatArray, count: int) -> FloatArray:
    """sum of weights * cos(k d), k < count, over pairs given by cos d; *cosines* is used up."""
    modes = np.empty(2 * count, dtype=np.complex128)  # frequencies -count, ..., count - 1
    ducc0.nufft.nu2u(
        points=weights.astype(np.complex128).reshape(-1),
        coord=np.arccos(cosines, out=cosines).reshape(-1, 1),
        forward=False,
        epsilon=EPSILON,
        nthreads=thread_count() if cosines.size > 100_000 else 1,
        out=modes,
    )
    return np.asarray(modes.real[count:])
