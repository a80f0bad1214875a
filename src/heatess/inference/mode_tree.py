"""The tree of modes: a density at the width of so many draws, from coarse to fine, and where its peaks come apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.progress import Progress
from ..engines import columns
from ..engines.flows import density
from ..engines.overlaps import block as overlaps_between
from ..measures.measure import Measure
from ..measures.scales import ANGLE_DIMENSION
from .mode_ground import Ground

#: Draws within a width: at most this share of all, falling by this factor, to at least so many.
MOST_DRAWS, STEP, FEWEST_DRAWS = 0.25, 1.5, 4.0

#: Widths of atoms follow their density with this power: 1 has as many draws within each, 0 is one width for all.
POWER = 0.85

#: Standard errors by which a peak must be above its saddle, beyond what the highest of that many places would be, by
#: the dimension in which draws spread: along a line every way leads through the lowest place, in a plane few do.
DIMENSIONS, MARGINS = (1.65, 1.9), (2.4, -0.1)

#: The least share of the weight and number of draws of a mode, and by which factor its peak is above the saddle.
LEAST_SHARE, LEAST_DRAWS, LEAST_RATIO = 0.012, 3.999, 1.1

#: Accuracy of densities: much better than their standard errors.
RTOL_OF_DENSITIES = 1e-5


class Split(NamedTuple):
    """One level of the tree at which something split: draws within a width, and the leaf of each vertex after it."""

    draws: float
    leaves: IntArray


class Tree(NamedTuple):
    """The leaf of each vertex; of each leaf its highest vertex and the time of its width there, inf if none split."""

    leaves: IntArray
    peaks: IntArray
    times: FloatArray
    splits: list[Split]


@dataclass(eq=False)
class Landscape:
    """Densities of atoms, smoothed each at a width of its own, at vertices and in the middle of edges.

    *squares* are sums of squared weights of the draws at each atom; 1 / their sum is the number of draws that count.
    """

    atoms: Measure
    squares: FloatArray
    ground: Ground
    times: FloatArray  # falling

    @cached_property
    def draws(self) -> float:
        """How many equally weighted draws would be as uncertain."""
        return float(1 / self.squares.sum())

    @cached_property
    def _log_counts(self) -> list[FloatArray]:
        return []

    @cached_property
    def _log_diagonals(self) -> FloatArray:
        """log k_2t(x, x) at each time, but for a constant; densities of meshes and graphs have it already."""
        space = self.atoms.space
        if space.modes is not None:
            return np.zeros(len(self.times))
        return (
            space.log_diagonal(self.times, RTOL_OF_DENSITIES) if space.compact else -space.dim / 2 * np.log(self.times)
        )

    def _counts_at(self, place: int) -> FloatArray:
        """log of the draws within the footprint of each atom at a time."""
        while len(self._log_counts) <= place:
            time = float(self.times[len(self._log_counts)])
            found = columns.potential(self.atoms, time, RTOL_OF_DENSITIES, self.atoms.points, Progress(False))
            known = np.maximum(found, self.atoms.weights) * self.draws
            self._log_counts.append(np.log(np.maximum(known, 1e-300)))
        return self._log_counts[place]

    def places_for(self, draws: float) -> tuple[FloatArray, FloatArray]:
        """For each atom, the number of the time, between whole numbers, at which so many draws are within its width.

        And the dimension in which draws spread there: the slope of the log of their number over that of the width.
        """
        wanted, found = math.log(draws), np.zeros(self.atoms.n)
        slopes = np.zeros(self.atoms.n)
        step = math.log(float(self.times[0] / self.times[1])) / 2
        for place in range(1, len(self.times)):
            coarse, fine = self._counts_at(place - 1), self._counts_at(place)
            between = np.clip((coarse - wanted) / np.maximum(coarse - fine, 1e-12), 0.0, 1.0)
            found = np.where(coarse > wanted, place - 1 + between, found)
            slopes = np.where((coarse > wanted) | (place == 1), (coarse - fine) / step, slopes)
            if (fine <= wanted).all():
                break
        middle = float(self.atoms.weights @ found)
        power = 0.0 if self.atoms.space.dim > ANGLE_DIMENSION else POWER
        return np.clip(middle + power * (found - middle), 0.0, len(self.times) - 1), slopes

    def _classes(self, places: FloatArray) -> list[tuple[int, IntArray, FloatArray]]:
        """Numbers of times, atoms that have that time in part, and the part of each."""
        below = np.minimum(places.astype(np.intp), len(self.times) - 2)
        part = places - below
        found = []
        for place in range(len(self.times)):
            share = np.where(below == place, 1 - part, 0.0) + np.where(below + 1 == place, part, 0.0)
            rows = np.flatnonzero(share > 1e-9)
            if len(rows):
                found.append((place, rows, share[rows]))
        return found

    def heights(self, places: FloatArray) -> FloatArray:
        """The density at all places of the ground, but for a constant."""
        space, total = self.atoms.space, np.zeros(len(self.ground.places))
        classes = self._classes(places)
        most = max(float(self._log_diagonals[place]) for place, _, _ in classes)
        for place, rows, share in classes:
            weights = self.atoms.weights[rows] * share
            part, time = Measure.trusted(space, self.atoms.points[rows], weights / weights.sum()), self.times[place]
            if space.modes is not None:
                found = density(part, space.modes, 2 * float(time), self.ground.places)
            else:
                found = columns.potential(part, float(time), RTOL_OF_DENSITIES, self.ground.places, Progress(False))
            total += weights.sum() * math.exp(self._log_diagonals[place] - most) * np.maximum(found, 0.0)
        return total

    def variances(self, places: FloatArray, at: IntArray) -> FloatArray:
        """Squared standard errors of the heights at some places of the ground: sum_j w_j^2 (k(y, x_j) - f(y))^2."""
        space, points, known = self.atoms.space, self.atoms.points, self.atoms.space.overlaps
        classes = self._classes(places)
        most = max(float(self._log_diagonals[place]) for place, _, _ in classes)
        found = np.empty(len(at))
        block = max(1, 2**21 // self.atoms.n)
        for start in range(0, len(at), block):
            targets = self.ground.places[at[start : start + block]]
            rows = np.zeros((len(targets), self.atoms.n))
            for place, own, share in classes:
                time = float(self.times[place])
                if known.on_nodes:
                    one = [Measure.trusted(space, target[None], np.ones(1)) for target in targets]
                    overlaps = np.array([density(each, known, 2 * time, points[own]) for each in one])
                else:
                    overlaps = overlaps_between(known, targets, points[own], time, RTOL_OF_DENSITIES)
                rows[:, own] += share * math.exp(self._log_diagonals[place] - most) * overlaps
            rows -= (rows @ self.atoms.weights)[:, None]
            found[start : start + block] = np.square(rows) @ self.squares
        return found


def grow(land: Landscape) -> Tree:
    """Split leaves from coarse to fine, for good, wherever two peaks stand above their saddle.

    At m draws within a width there are about N = draws / m places; a peak f that falls to its saddle g, by the best way
    to any higher peak of its leaf, stands where (f - g) / se > sqrt(2 log(N + 1) + 2 log 4) + margin, with se^2 the sum
    of both squared standard errors.
    """
    ground = land.ground
    leaves = np.zeros(ground.vertices, dtype=np.intp)
    peaks, times, splits = np.zeros(1, dtype=np.intp), np.array([math.inf]), []
    draws, first = MOST_DRAWS * land.draws, True
    while draws >= FEWEST_DRAWS or first:
        places, slopes = land.places_for(max(draws, 1.0))
        heights = land.heights(places)
        if first:
            peaks[0] = int(np.argmax(heights[: ground.vertices]))
        highest = math.sqrt(2 * math.log(land.draws / max(draws, 1.0) + 1) + 2 * math.log(4))
        needed = highest + np.interp(_dimensions(land, leaves, slopes, draws), DIMENSIONS, MARGINS)
        roots = _standing(land, places, heights, leaves, needed)
        tops = np.unique(roots)
        if len(tops) > len(peaks):
            parents = leaves[tops]
            new = np.bincount(parents, minlength=len(peaks))[parents] > 1
            widths = np.interp(_at_vertices(land, places)[tops], np.arange(len(land.times)), land.times)
            peaks = np.where(new, tops, peaks[parents])
            times = np.where(new, widths, times[parents])
            leaves = np.searchsorted(tops, roots)
            splits.append(Split(draws, leaves))
        draws, first = draws / STEP, False
    return Tree(leaves, peaks, times, splits)


def _dimensions(land: Landscape, leaves: IntArray, slopes: FloatArray, draws: float) -> FloatArray:
    """The dimension of the leaf of each vertex, in which draws spread; a Gaussian mode has that of the plane, 2.

    There the number of draws within a width h is c = h^2 / (h^2 + 2 sigma^2) of all, with the slope 2 (1 - c).
    """
    own, weights = leaves[land.ground.of_atoms], land.atoms.weights
    share = np.bincount(own, weights)
    within = np.minimum(draws / (land.draws * share), 0.5)
    return np.asarray((np.bincount(own, weights * slopes) / share / (1 - within))[leaves])


def _at_vertices(land: Landscape, places: FloatArray) -> FloatArray:
    """The mean of what atoms have, at the vertices they are at."""
    ground, weights = land.ground, land.atoms.weights
    mass = np.bincount(ground.of_atoms, weights, ground.vertices)
    total = np.bincount(ground.of_atoms, weights * places, ground.vertices)
    return np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), float(weights @ places))


def _standing(
    land: Landscape, places: FloatArray, heights: FloatArray, leaves: IntArray, needed: FloatArray
) -> IntArray:
    """The peak, a vertex, that each vertex belongs to, within leaves; peaks that do not stand join higher ones."""
    ground, count = land.ground, land.ground.vertices
    own = heights[:count]
    first, second = ground.edges.T
    low = np.where(own[first] < own[second], first, second)
    saddle = np.where((ground.middles >= 0) & (heights[ground.middles] < own[low]), ground.middles, low)
    tree = _spanning(ground.edges, heights[saddle], leaves)
    weights: FloatArray = land.atoms.weights
    mass: FloatArray = np.bincount(ground.of_atoms, weights, count).astype(np.float64)
    number: FloatArray = np.bincount(ground.of_atoms, weights**2 / land.squares, count).astype(np.float64)
    merges = _joined(ground.edges[tree], own, mass, number, None)[1]
    ends = [
        (lower, int(saddle[tree[edge]]), edge)
        for edge, lower in merges
        if own[lower] > LEAST_RATIO * heights[saddle[tree[edge]]]
    ]
    if not ends:
        return _joined(ground.edges[tree], own, mass, number, None)[0]
    tops, bottoms, edges = (np.array(part, dtype=np.intp) for part in zip(*ends, strict=True))
    spread = land.variances(places, np.concatenate([tops, bottoms])).reshape(2, -1).sum(axis=0)
    stands = np.zeros(len(tree), dtype=bool)
    stands[edges] = heights[tops] - heights[bottoms] > needed[tops] * np.sqrt(spread)
    return _joined(ground.edges[tree], own, mass, number, stands)[0]


def _spanning(edges: IntArray, heights: FloatArray, leaves: IntArray) -> IntArray:
    """Numbers of edges within leaves that join all of each by the highest ways, from the highest on."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    inside = np.flatnonzero(leaves[edges[:, 0]] == leaves[edges[:, 1]])
    order = inside[np.argsort(-heights[inside], kind="stable")]
    rank = np.arange(1.0, len(order) + 1)
    matrix = coo_array((rank, tuple(edges[order].T)), shape=(len(leaves), len(leaves)))
    return np.asarray(order[np.sort(minimum_spanning_tree(matrix.tocsr()).data).astype(np.intp) - 1])


def _joined(
    edges: IntArray, own: FloatArray, mass: FloatArray, number: FloatArray, stands: NDArray[Any] | None
) -> tuple[IntArray, list[tuple[int, int]]]:
    """Join vertices along *edges* into the higher peak, but not where the lower *stands* and both are large enough.

    Returns the peak of each vertex, and the edges at which peaks of large enough parts met, with the lower peak.
    """
    up, height = list(range(len(own))), own.tolist()
    weight, size = mass.tolist(), number.tolist()
    met: list[tuple[int, int]] = []

    def find(i: int) -> int:
        while up[i] != i:
            up[i] = up[up[i]]
            i = up[i]
        return i

    for edge, (one, other) in enumerate(edges.tolist()):
        i, j = find(one), find(other)
        if height[i] < height[j]:
            i, j = j, i
        large = weight[j] >= LEAST_SHARE and size[j] >= LEAST_DRAWS
        if stands is None and large:
            met.append((edge, j))
        if stands is not None and stands[edge] and large and weight[i] >= LEAST_SHARE and size[i] >= LEAST_DRAWS:
            continue
        up[j] = i
        weight[i] += weight[j]
        size[i] += size[j]
    return np.array([find(i) for i in range(len(own))], dtype=np.intp), met
