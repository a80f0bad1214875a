"""The tree of modes: a density at the width of so many draws, from coarse to fine, and where its peaks come apart."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from .mode_ground import joined_to
from .mode_landscape import LEAST_DRAWS, LEAST_RATIO, LEAST_SHARE, MOST_DRAWS, Landscape
from .mode_spikes import spikes_split

#: Draws within a width fall by this factor, to at least so many.
STEP, FEWEST_DRAWS = 1.5, 4.0

#: Standard errors by which a peak must be above its saddle, beyond what the highest of that many places would be, by
#: the dimension in which draws spread: along a line every way leads through the lowest place, in a plane few do.
DIMENSIONS, MARGINS = (1.65, 1.9), (2.4, -0.1)


#: A part that lacks no more standard errors than this is looked at at a wider scale too, where it must be above the
#: other by this factor: parts of a flat background beside peaks are not.
LACKING, WIDER_RATIO = 1.0, 2.0


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


def grow(land: Landscape) -> Tree:
    """Split leaves from coarse to fine, for good, wherever two peaks stand above their saddle.

    At m draws within a width there are about N = draws / m places; a peak f that falls to its saddle g, by the best way
    to any higher peak of its leaf, stands where (f - g) / se > sqrt(2 log(N + 1) + 2 log 4) + margin, with se^2 the sum
    of both squared standard errors. The margin is that of the least dimension which the leaf had at this and at wider
    scales: what is a line from afar has no way round a gap from nearby. A leaf that stays whole may still be split into
    a spike and a wide mode beside it, see `spikes_split`.
    """
    ground = land.ground
    leaves = np.zeros(ground.vertices, dtype=np.intp)
    peaks, times, splits = np.zeros(1, dtype=np.intp), np.array([math.inf]), []
    dimensions = np.full(ground.vertices, math.inf)
    draws, first = MOST_DRAWS * land.draws, True
    while draws >= FEWEST_DRAWS or first:
        places, slopes = land.places_for(max(draws, 1.0))
        heights = land.heights(places)
        if first:
            peaks[0] = int(np.argmax(heights[: ground.vertices]))
        dimensions = np.minimum(dimensions, _dimensions(land, leaves, slopes, draws))
        margins = np.interp(dimensions, DIMENSIONS, MARGINS)
        roots = _standing(land, places, heights, leaves, draws, margins)
        roots = spikes_split(land, places, heights, leaves, roots, draws, margins)
        tops = np.unique(roots)
        if len(tops) > len(peaks):
            parents = leaves[tops]
            new = np.bincount(parents, minlength=len(peaks))[parents] > 1
            widths = np.interp(_at_vertices(land, places)[tops], np.arange(len(land.times)), land.times)
            peaks = np.where(new, tops, peaks[parents])
            times = np.where(new, widths, times[parents])
            leaves = np.searchsorted(tops, roots)
            dimensions[new[leaves]] = math.inf
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
    land: Landscape, places: FloatArray, heights: FloatArray, leaves: IntArray, draws: float, margins: FloatArray
) -> IntArray:
    """The peak, a vertex, that each vertex belongs to, within leaves; peaks that do not stand join higher ones."""
    ground, count, needed = land.ground, land.ground.vertices, land.highest(draws) + margins
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
    above = (heights[tops] - heights[bottoms]) / np.sqrt(spread)
    stands = np.zeros(len(tree), dtype=bool)
    levels = heights[tops] - needed[tops] * np.sqrt(spread)
    for k in np.flatnonzero(above > needed[tops]):
        stands[edges[k]] = not _on_a_slope(land, heights, leaves, int(tops[k]), float(levels[k]))
    for k in np.flatnonzero((above > needed[tops] - LACKING) & (above <= needed[tops])):
        parts = _parts(ground.edges[tree[: edges[k] + 1]], own)
        stands[edges[k]] = _stands_wider(land, places, heights, parts, int(bottoms[k]), draws, margins[tops[k]])
    return _joined(ground.edges[tree], own, mass, number, stands)[0]


def _parts(edges: IntArray, own: FloatArray) -> tuple[NDArray[Any], NDArray[Any]]:
    """Which vertices are in the lower and in the higher of the parts that the last of the edges joins."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    matrix = coo_array((np.ones(len(edges) - 1), tuple(edges[:-1].T)), shape=(len(own), len(own)))
    label = connected_components(matrix, directed=False)[1]
    low, high = sorted((label == label[end] for end in edges[-1]), key=lambda part: float(own[part].max()))
    return low, high


def _stands_wider(
    land: Landscape,
    places: FloatArray,
    heights: FloatArray,
    parts: tuple[NDArray[Any], NDArray[Any]],
    saddle: int,
    draws: float,
    margin: float,
) -> bool:
    """Whether the lower of two *parts* above a saddle stands when it is smoothed more, as a wide mode beside a spike.

    If the higher peak stands, all but the lower part is cut off at the level of the saddle, so that the spike does not
    fill it; what is left is smoothed at the widest scale at which no more draws are within a width than the part has.
    """
    ground, own, (low, high) = land.ground, heights[: land.ground.vertices], parts
    peak = int(np.argmax(np.where(high, own, -math.inf)))
    spread = math.sqrt(land.variances(places, np.array([peak, saddle])).sum())
    if own[peak] - heights[saddle] <= (land.highest(draws) + margin) * spread:
        return False
    rows = np.flatnonzero(low[ground.of_atoms])
    top = int(rows[np.argmax(own[ground.of_atoms[rows]])])
    most = land.draws * float(land.atoms.weights[rows].sum())
    place = int(places[top])
    while place > 0 and math.exp(land.counts_at(place - 1)[top]) <= most:
        place -= 1
    within = math.exp(land.counts_at(place)[top])
    if within > most:
        return False
    kept = np.where(low, 1.0, heights[saddle] / np.maximum(own, max(heights[saddle], 1e-300)))[ground.of_atoms]
    needed = math.sqrt(2 * math.log(land.draws / within + 1)) + margin
    return land.fall(place, kept, low, high, WIDER_RATIO) > needed


def _on_a_slope(land: Landscape, heights: FloatArray, leaves: IntArray, top: int, level: float) -> bool:
    """Whether higher ground of another leaf is reached from a peak above a *level*: then a border made the peak."""
    own, edges, middles = heights[: len(leaves)], land.ground.edges, land.ground.middles
    open_ways = (own[edges].min(axis=1) > level) & ((middles < 0) | (heights[middles] > level))
    reached = joined_to(top, edges[open_ways], len(own))
    return bool((own[reached & (leaves != leaves[top])] > own[top]).any())


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
