"""Rotations up to a point group: x and x g are one point. What `Rotations(symmetry=...)` is capable of.

Heat spreads from x and arrives at y by way of all y g: k_2t(x, y) is the mean over the group of the kernel of the
rotations between x and y g, with respect to normalised volume. It does not depend on the distance alone.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import EPS, FloatArray, IntArray
from ..base.blocks import map_rows
from ..heat.orbits import ROTATIONS, OrbitSeries
from ..heat.radial import PairTerms, Radial, radial, radial_error, radial_terms
from ..heat.series import log_diagonal
from ..heat.spherical import SphereSeries
from ..transforms.orbits import multiplied
from .capabilities import (
    OverlapsOfTime,
    PairKernel,
    RadialFactor,
    TermsOfTime,
    VectorEmbedding,
    ZonalPairs,
    combined,
    in_one_column,
    rounding,
)
from .vectors import axis_distance, unit_rows

#: Scalars of images of a point that differ by no more are taken for equal, and a point for one between two cells.
_TIE = 1e-12

#: Coordinates of two points that differ by no more are the same point, rounded.
_SAME = 8 * EPS

#: Rows whose images are worked out together.
_ROWS_OF_IMAGES = 8192


class Cell:
    """The rotations that are nearer to the unit than to any other element of a group, and how to get there."""

    def __init__(self, elements: FloatArray) -> None:
        self.elements = elements
        self.signed = np.concatenate([elements, -elements])  # the group of quaternions
        self._scalars = elements * [-1.0, -1.0, -1.0, 1.0]  # the scalar of x g is its product with the conjugate of g

    def images(self, points: FloatArray) -> FloatArray:
        """x g for all elements g, shape (order, n, 4)."""
        return multiplied(points, self.elements[:, None])

    def distance(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """The least angle from x to y g, row by row, broadcasting."""
        found = [axis_distance(x, multiplied(y, g)) for g in self.elements]
        return np.asarray(2 * np.minimum.reduce(found))

    def nearest(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Of each y the image y g that is nearest to x."""
        images = self.images(y)
        chosen = np.abs(np.einsum("gni,ni->gn", images, x)).argmax(axis=0)
        return np.asarray(images[chosen, np.arange(len(y))])

    def reduced(self, points: FloatArray) -> FloatArray:
        """The image of each point in the cell, with a positive scalar; between cells, always the same of them.

        Images that are the same point up to rounding become equal.
        """
        found = np.empty(points.shape)

        def fill(rows: slice) -> None:
            x = points[rows]
            scalars = x @ self._scalars.T
            sizes = np.abs(scalars)
            chosen = sizes.argmax(axis=1)
            line = np.arange(len(x))
            best = sizes[line, chosen]
            image = multiplied(x, self.elements[chosen])
            image *= np.where(scalars[line, chosen] < 0, -1.0, 1.0)[:, None]
            between = np.flatnonzero(((sizes > best[:, None] - _TIE).sum(axis=1) > 1) | (best < _TIE))
            if len(between):
                image[between] = self._between(x[between])
            found[rows] = image / np.sqrt(np.einsum("ij,ij->i", image, image))[:, None]

        map_rows(fill, len(points), _ROWS_OF_IMAGES)
        return _together(found)

    def _between(self, points: FloatArray) -> FloatArray:
        """Of the images with the largest scalar, the one whose x, then y, then z is largest, all up to rounding."""
        images = np.moveaxis(multiplied(points, self.signed[:, None]), 0, 1)  # (n, images, 4)
        left = np.ones(images.shape[:2], dtype=bool)
        for column in (3, 0, 1, 2):
            values = np.where(left, images[:, :, column], -np.inf)
            left &= values > values.max(axis=1, keepdims=True) - _TIE
        return np.asarray(images[np.arange(len(images)), left.argmax(axis=1)])

    def near(self, points: FloatArray, chord: float) -> tuple[FloatArray, IntArray]:
        """All other images of points in the cell that are within *chord* of a point of the cell, and whose they are.

        A point y so near has y.(1 - h) above -chord |1 - h| for every element h, as points of the cell have it above
        zero.
        """
        walls = self.signed[0] - self.signed[1:]
        walls /= np.linalg.norm(walls, axis=1)[:, None]
        crossed = walls * [-1.0, -1.0, -1.0, 1.0]  # x.(1 - g^-1): how far a point is from the wall that x g is beyond
        found, whose = [points[:0]], [np.empty(0, dtype=np.intp)]
        for wall, g in zip(crossed, self.signed[1:], strict=True):
            rows = np.flatnonzero(points @ wall < chord + _TIE)
            image = multiplied(points[rows], g)
            kept = np.flatnonzero((image @ walls.T).min(axis=1, initial=0.0) > -chord - _TIE)
            found.append(image[kept])
            whose.append(rows[kept])
        return np.concatenate(found), np.concatenate(whose)


def _together(points: FloatArray) -> FloatArray:
    """Points that differ by rounding alone as equal ones: next to each other in the order of some projection."""
    places = np.einsum("ij,j->i", points, [0.5377, 0.8622, 0.3188, -0.4336])
    order = np.argsort(places)
    close = np.flatnonzero(np.diff(places[order]) <= 4 * _SAME)
    same = close[(np.abs(points[order[close + 1]] - points[order[close]]) <= _SAME).all(axis=1)]
    if len(same):
        first = np.arange(len(points))
        first[same + 1] = 0
        points[order] = points[order[np.maximum.accumulate(first)]]
    return points


class OrbitPairs(PairKernel):
    """Overlaps of rotations up to a group: those of the rotations, added up over all images of one of the two."""

    width = 4

    def __init__(self, plain: ZonalPairs, series: OrbitSeries, cell: Cell) -> None:
        self._plain, self.series, self._cell = plain, series, cell

    def rows(self, points: NDArray[Any], part: slice = slice(None)) -> FloatArray:
        """Unit quaternions."""
        return unit_rows(points, part)

    def terms(self, left: FloatArray, right: FloatArray) -> TermsOfTime:
        """Distances to all images once, for all times."""
        shape, plain = (len(left), len(right)), self._plain
        apart = [RadialFactor(self._table, plain.distances(left, image).ravel()) for image in self._cell.images(right)]
        images = [combined([factor], [], shape, compact=True) for factor in apart]

        def terms(time: float) -> PairTerms:
            own, change_of_own = self._own(time)
            overlap, change, excess = np.zeros((3, *shape))
            for image in images:
                part = image(time)
                overlap += part.overlap
                change += part.change
                excess += np.asarray(part.excess)
            overlap /= own
            return PairTerms(overlap, change / own - change_of_own / own * overlap, excess / len(images))

        return terms

    def paired(self, left: FloatArray, right: FloatArray) -> OverlapsOfTime:
        """The same row by row."""
        factors = [RadialFactor(self._table, self._plain.distance(left, image)) for image in self._cell.images(right)]
        images = [in_one_column([factor]) for factor in factors]
        return lambda time: np.asarray(sum(image(time) for image in images) / self._own(time)[0])

    def _kept(self, time: float) -> SphereSeries:
        """The rotations, or where the kernel is nearly one those of their levels that do not vanish in the mean."""
        return ROTATIONS if log_diagonal(self.series, time) > math.log(2) else self.series.kept

    def _table(self, time: float) -> Radial:
        return radial(self._kept(time), time)

    def _own(self, time: float) -> tuple[float, float]:
        """The sum over the group of the overlap of x and x g on the rotations, and its change with log t."""
        return _sum_over_group(self._kept(time), self.series.angles, time)

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """From the levels or, at fine scales, the small-time expansion."""
        return np.array([log_diagonal(self.series, float(time)) for time in times])

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """As for the rotations, with the absolute errors of all images."""
        tables = np.array([radial_error(self._kept(float(time)), float(time)) for time in times])
        own = np.array([self._own(float(time))[0] for time in times])
        images = self.series.order * tables[:, 1] / (own * overlap)
        return np.asarray(self.accuracy + tables[:, 0] + images + rounding(3, math.pi, times))

    def seconds(self, pairs: float, scales: int) -> float:
        """Those of the rotations for each image."""
        return self.series.order * self._plain.seconds(pairs, scales)


@lru_cache(maxsize=2048)
def _sum_over_group(series: SphereSeries, angles: tuple[float, ...], time: float) -> tuple[float, float]:
    terms = radial_terms(radial(series, time), np.array(angles))
    return float(terms.overlap.sum()), float(terms.change.sum())


class OrbitEmbedding(VectorEmbedding):
    """Unit quaternions in the cell around the unit, the scalar last, and their images beyond its walls."""

    def __init__(self, series: OrbitSeries, cell: Cell) -> None:
        super().__init__(series, 4, unit_rows, radius=2.0)
        self._cell = cell

    copies = 2.0

    def images(self, coordinates: FloatArray, chord: float) -> tuple[FloatArray, IntArray]:
        """Beyond the walls of the cell."""
        return self._cell.near(coordinates, chord)
