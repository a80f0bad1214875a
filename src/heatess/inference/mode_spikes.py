"""A narrow mode on the slope of a wide one: with the spike cut off, is the highest place still where the spike was?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from .mode_ground import joined_to
from .mode_landscape import LEAST_RATIO, MOST_DRAWS, Landscape

#: What is above this many times the height of the wide mode is cut off; noise is not.
CUT_ABOVE = 1.3

#: At first, all that this share of the draws is below is kept, as if it had the height of the wide mode.
FIRST_CUT = 0.75

#: Standard errors by which a wide mode must be above the place of the spike, beyond what is asked of a peak: it is
#: looked for at several widths, and after several cuts.
EXTRA = 1.0

#: Widths tried, the widest first, and places at least and at most: with fewer there is no spike, with more there are
#: draws enough for saddles.
WIDTHS_TRIED, FEWEST_PLACES, MOST_PLACES = 3, 6.0, 256.0


def spikes_split(
    land: Landscape,
    places: FloatArray,
    heights: FloatArray,
    leaves: IntArray,
    roots: IntArray,
    draws: float,
    margins: FloatArray,
) -> IntArray:
    """The peak of each vertex, *roots*, after leaves that are whole are split into a spike and the wide mode beside it.

    Its saddle is where few draws are, so that a wide mode does not stand above it at the width of the spike. But with
    the spike cut off at the height of the wide mode, all that is left can be smoothed at the width of the wide one.
    """
    if not FEWEST_PLACES < land.draws / draws < MOST_PLACES:
        return roots
    own = heights[: len(leaves)]
    for leaf in range(int(leaves.max()) + 1):
        inside = leaves == leaf
        if len(np.unique(roots[inside])) > 1:
            continue
        spike = int(np.argmax(np.where(inside, own, -math.inf)))
        needed = land.highest(draws) + float(margins[spike])
        least = own[spike] - needed * math.sqrt(land.variances(places, np.array([spike]))[0])
        found = _wide_mode(land, own, inside, spike, float(least), float(margins[spike]))
        if found is not None:
            narrow, core, top = found
            part = _nearer_to_core(land, heights, inside, narrow, core)
            roots = np.where(inside, np.where(part, top, spike), roots)
    return roots


def _wide_mode(
    land: Landscape, own: FloatArray, inside: NDArray[Any], spike: int, least: float, margin: float
) -> tuple[NDArray[Any], NDArray[Any], int] | None:
    """Vertices of the spike, those of the middle of a wide mode beside it, and its highest; or None.

    The height of the wide mode must be below *least*, so that the spike stands above it.
    """
    ground, weights = land.ground, land.atoms.weights
    at = ground.of_atoms
    rows = np.flatnonzero(inside[at])
    taken = np.bincount(at, minlength=len(own)) > 0
    total = float(weights[rows].sum())
    most = MOST_DRAWS * total * land.draws
    order = rows[np.argsort(own[at[rows]])]
    many = order[np.searchsorted(np.cumsum(weights[order]), FIRST_CUT * total)]
    level = min(float(own[at[many]]), least / CUT_ABOVE)
    widths = iter(range(len(land.times)))
    widest = next((k for k in widths if math.exp(np.median(land.counts_at(k)[rows])) <= most), len(land.times))
    for place in [widest, *range(widest, widest + WIDTHS_TRIED)]:  # the first time to find the height of the wide mode
        if place >= len(land.times) or not 0 < level <= least:
            return None
        flat = np.full(land.atoms.n, float(place))
        cut = inside & (own > CUT_ABOVE * level)
        kept = np.where(cut, level / np.maximum(own, level), 1.0)[at]
        smooth = land.heights(flat, weights * kept)
        narrow = joined_to(spike, ground.edges[cut[ground.edges].all(axis=1)], len(own))
        other = inside & taken & ~narrow
        if not other.any():
            return None
        highest, top = float(smooth[narrow].max()), int(np.argmax(np.where(other, smooth, -math.inf)))
        within = math.exp(land.counts_at(place)[np.argmax(at == top)])
        beside = ground.edges[(ground.edges == top).any(axis=1)].ravel()
        if place > widest and within <= most and smooth[top] <= highest:
            return None
        whole = within <= most and bool((smooth[beside[~inside[beside]]] <= smooth[top]).all())
        if whole and smooth[top] > LEAST_RATIO * highest and land.large(narrow):
            needed = land.highest(within) + margin + EXTRA
            if land.fall(place, kept, other, narrow) > needed:
                return narrow, other & (smooth > (smooth[top] + highest) / 2), top
        near = land.kernels(flat, np.array([top]))[0] * weights * kept * inside[at]
        level = float(near.sum() / (near / np.maximum(own[at], 1e-300)).sum())
    return None


def _nearer_to_core(
    land: Landscape, heights: FloatArray, inside: NDArray[Any], narrow: NDArray[Any], core: NDArray[Any]
) -> NDArray[Any]:
    """Which vertices of a leaf are joined by higher ways to the core of the wide mode than to the spike."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    count, edges, middles = len(inside), land.ground.edges, land.ground.middles
    lowest = np.minimum(heights[edges].min(axis=1), np.where(middles >= 0, heights[middles], math.inf))
    own = np.flatnonzero(inside[edges].all(axis=1))
    own = own[np.argsort(-lowest[own], kind="stable")]
    ends = [(count, k) for k in np.flatnonzero(core)] + [(count + 1, k) for k in np.flatnonzero(narrow)]
    ways = np.concatenate([[(count, count + 1)], ends, edges[own]])
    rank = np.concatenate([[1.0], np.full(len(ends), 2.0), 3.0 + np.arange(len(own))])
    size = count + 2  # the two ends are joined first, so that no other way joins them
    tree = minimum_spanning_tree(coo_array((rank, tuple(ways.T)), shape=(size, size)).tocsr()).tocoo()
    apart = tree.data > 1.0
    return joined_to(count, np.column_stack([tree.row, tree.col])[apart], size)[:count]
