"""The levels of flat tori: which whole vectors k share an eigenvalue sum_j (2 pi k_j / T_j)^2."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray

#: Eigenvalues closer than this, relatively, are one level: periods in a whole ratio make them equal but for rounding.
SAME = 1e-12


class LatticeLevels(NamedTuple):
    """The lowest levels of a torus, and where their modes lie in a box of modes |k_j| <= side_j."""

    eigenvalues: FloatArray  # (count,)
    multiplicities: FloatArray  # (count,)
    sides: list[int]
    labels: NDArray[np.int64]  # the level of each mode of the box, of shape (2 side_1 + 1, ...); count if it is above


def lattice_levels(periods: tuple[float, ...], count: int, most: int) -> LatticeLevels | None:
    """The *count* lowest levels; None if the box that holds them has more than *most* modes.

    >>> square = lattice_levels((2 * math.pi, 2 * math.pi), 6, 1000)
    >>> square.eigenvalues, square.multiplicities
    (array([0., 1., 2., 4., 5., 8.]), array([1., 4., 4., 4., 8., 4.]))
    """
    units = 2 * math.pi / np.array(periods)
    bound = float(units.min()) ** 2
    while True:
        sides = [int(math.sqrt(bound) / unit * (1 + SAME)) for unit in units]
        if math.prod(2 * side + 1 for side in sides) > most:
            return None
        squares = [(unit * np.arange(-side, side + 1)) ** 2 for unit, side in zip(units, sides, strict=True)]
        eigenvalues = sum(np.meshgrid(*squares, indexing="ij", sparse=True), np.zeros(()))
        inside = np.sort(eigenvalues[eigenvalues <= bound * (1 + SAME)])
        first = np.flatnonzero(np.diff(inside, prepend=-1.0) > SAME * inside)  # of each level
        if len(first) > count:
            break
        bound *= 2
    starts = inside[first[:count]]
    labels = np.searchsorted(starts * (1 - SAME), eigenvalues, side="right") - 1
    labels[eigenvalues > inside[first[count] - 1]] = count
    return LatticeLevels(starts, np.diff(first[: count + 1]).astype(np.float64), sides, labels)
