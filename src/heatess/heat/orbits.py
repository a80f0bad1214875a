"""The levels of the rotations up to a point group G, SO(3) / G: orientations of things that look alike when turned.

Functions there are those on the rotations that do not change from x to x g. Level l keeps the eigenvalue l (l + 1), and
(2l + 1) r_l of its (2l + 1)^2 functions, with r_l the mean over the group of the character of level l.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..base.arrays import FloatArray
from .series import Levels, LevelSeries, SmallTime
from .spherical import SphereSeries

#: The rotations themselves: even degrees of the 3-sphere of radius two.
ROTATIONS = SphereSeries(3, step=2, radius=2.0)

#: Share of the least angle of the group up to which the small-time expansion of one geodesic is used.
_SHARE_OF_LEAST_ANGLE = 0.4


@dataclass(frozen=True)
class OrbitSeries(LevelSeries):
    """Levels of SO(3) / G from the *angles* of all elements of G, the unit included; N_l is zero where r_l is."""

    angles: tuple[float, ...]
    diameter: float
    dim = 3

    @property
    def order(self) -> int:
        """Elements of the group."""
        return len(self.angles)

    @property
    def least(self) -> float:
        """The least angle of an element that is not the unit."""
        return min(angle for angle in self.angles if angle > 0)

    @property
    def log_volume(self) -> float:  # type: ignore[override]
        """log of 8 pi^2 / |G|."""
        return ROTATIONS.log_volume - math.log(self.order)

    def levels(self, count: int) -> Levels:
        """l (l + 1) and log((2l + 1) r_l), minus infinity where no function is left."""
        ranks, degree = invariants(self, count), np.arange(count)
        with np.errstate(divide="ignore"):
            return Levels(ROTATIONS.levels(count).eigenvalues, np.log((2 * degree + 1.0) * ranks))

    @property
    def lowest(self) -> float:
        """That of the first level that has functions."""
        (first,) = self.present(1)
        return float(first * (first + 1))

    @property
    def kept(self) -> KeptLevels:
        """The levels of the rotations that have functions."""
        return KeptLevels(3, 2, 2.0, self.angles)

    def present(self, count: int) -> list[int]:
        """The *count* lowest levels above zero that have functions."""
        found = np.flatnonzero(invariants(self, 8 + count * self.order))
        return [int(level) for level in found[1 : count + 1]]

    def envelope(self, level: int) -> float:
        """r_l is at most (2l + 1 + c) / |G|, with c the sum of 1 / |sin(angle / 2)|, since that bounds characters."""
        excess = sum(1 / math.sin(angle / 2) for angle in self.angles if angle > 0)
        return math.log(2 * level + 1) + math.log((2 * level + 1 + excess) / self.order)

    def small_time(self, time: float) -> SmallTime:
        """That of the rotations, as far as one of the points x g is much the nearest; the others are in the error."""
        small = ROTATIONS.small_time(time)
        reach, least = min(small.reach, _SHARE_OF_LEAST_ANGLE * self.least), self.least
        # Heat falls with the distance, and other images are at least as far as the least angle less the reach.
        image = -((least - reach) ** 2 - reach**2) / (8 * time)
        factor = (least / 2 - reach / 2) / math.sin((least - reach) / 2)  # of the kernel over that of flat space
        left_out = self.order * factor * math.exp(min(image, 0.0))
        return small._replace(error=small.error + left_out, reach=reach)


@dataclass(frozen=True)
class KeptLevels(SphereSeries):
    """The rotations without the levels that have no function invariant under a group with these *angles*.

    Means over the group are those of the whole kernel, but nothing large is left to cancel in them at coarse scales.
    """

    angles: tuple[float, ...] = ()

    def levels(self, count: int) -> Levels:
        """As the rotations have them, or no functions at all."""
        found = ROTATIONS.levels(count)
        absent = _invariants(self.angles, 1 << max(6, (count - 1).bit_length()))[:count] == 0
        return Levels(found.eigenvalues, np.where(absent, -np.inf, found.log_multiplicities))

    def envelope(self, level: int) -> float:
        """That of the rotations."""
        return ROTATIONS.envelope(level)


def invariants(series: OrbitSeries, count: int) -> FloatArray:
    """r_l of *count* levels.

    >>> cube = OrbitSeries((0.0, *[np.pi / 2] * 6, *[np.pi] * 9, *[2 * np.pi / 3] * 8), 1.1)
    >>> invariants(cube, 10).astype(int)
    array([1, 0, 0, 0, 1, 0, 1, 0, 1, 1])
    """
    return _invariants(series.angles, 1 << max(6, (count - 1).bit_length()))[:count]


@lru_cache(maxsize=64)
def _invariants(angles: tuple[float, ...], count: int) -> FloatArray:
    """Means of the characters sin((l + 1/2) w) / sin(w / 2), each angle with the number of its elements."""
    degree, total = np.arange(count), np.zeros(count)
    distinct, often = np.unique(np.round(angles, 12), return_counts=True)
    for angle, number in zip(distinct.tolist(), often.tolist(), strict=True):
        if angle == 0:
            total += number * (2 * degree + 1)
        else:
            total += number * np.sin((degree + 0.5) * angle) / math.sin(angle / 2)
    found = np.rint(total / len(angles))
    found.flags.writeable = False
    return found
