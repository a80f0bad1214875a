"""Level moments from all pairs, tile by tile; never an n x n array.

Each zonal function is a mixture of cosines of the distance, so the sums over pairs of cosines of the distance give
the moments of every level at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..blocks import slices
from ..measure import Measure
from ..progress import Progress
from ..spaces.base import FloatArray, LevelMoments, ZonalSpace
from .cosines import ERROR, CosineSums
from .spectral import with_low_moments
from .sums import EPS

TILE = 1024


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
    sums = CosineSums(space.cosine_count(count), support.n**2 // 2)
    for rows, columns in progress.track(list(tiles(support.n)), "pairs"):
        add_tile(sums, space, (support, rows), (support, columns))
    moments = moments_of_cosines(space, sums.values())
    return with_low_moments(moments, rtol, lambda: space.low_moments(support.points, support.weights))


def add_tile(sums: CosineSums, space: ZonalSpace, rows: tuple[Measure, slice], columns: tuple[Measure, slice]) -> None:
    """Add all pairs of one atom of *rows* and one of *columns*; twice, unless the two are the same."""
    left, right = (space.tile(measure.points, part) for measure, part in (rows, columns))
    left_weights, right_weights = (measure.weights[part] for measure, part in (rows, columns))
    u = space.tile_cosines(left, right)
    same = rows[0] is columns[0] and rows[1] == columns[1]
    if same:
        np.fill_diagonal(u, 1.0)
    sums.add(u, left_weights if same else 2 * left_weights, right_weights)


def moments_of_cosines(space: ZonalSpace, cosines: FloatArray) -> LevelMoments:
    """Level moments, with their accuracy, from sums over all pairs of a measure of total weight one."""
    values = space.from_cosines(cosines)
    values[0] = 1.0
    return LevelMoments(
        np.clip(values, 0.0, 1.0), error=ERROR + 32 * EPS, cosine_error=2 * EPS * np.sqrt(space.dim + 1)
    )
