"""Delaunay simplices around each point of a sample, seen in its tangent space."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray
from ...blocks import slices
from ...errors import InputError
from .laplacian import Laplacian
from .nodes import refuse_components
from .simplices import angles, masses, squared_edges, stiffness, volumes

#: Neighbours tried first for the star of a node, by dimension, and how often that number may be doubled.
_NEIGHBOURS = {1: 8, 2: 20}
_DOUBLINGS = 4

#: Nodes are moved by this share of their spacing, so that no simplex hangs on a tie and no two nodes coincide.
_JITTER = 1e-6

#: Neighbours that are further than this (squared sine, 45 degrees) from the tangent space lie on another sheet.
_SHEET = 0.5

#: Entries of the array of neighbours held at once.
_BLOCK = 2**23

#: A simplex whose empty sphere is this much wider than its edges, and beyond the first neighbours, spans a boundary.
_SLIVER = 3.0


class Stars(NamedTuple):
    """Local Delaunay simplices of sampled points.

    Attributes
    ----------
    corners : ndarray of int, shape (s, m + 1)
        The node whose star it is, then the others.
    places : ndarray, shape (s, m + 1, d)
        Where those nodes are.
    shares : ndarray, shape (s,)
        How often each simplex counts, about 1 / (m + 1), because each of its corners has it in its star.
    bends : ndarray, shape (s,)
        Squared sine of the angle between its edges at the node and the tangent plane there, on average.
    closed : bool
        Whether every star surrounds its node; if not the sample has a boundary.
    """

    corners: NDArray[np.intp]
    places: FloatArray
    shares: FloatArray
    bends: FloatArray
    closed: bool


class LocalDelaunay:
    """A sampled manifold as the simplices that its points span: linear finite elements on all stars."""

    bandwidth = None

    def __init__(self, points: FloatArray, dim: int) -> None:
        found = stars(points, dim)
        shares = found.shares * volumes(found.places)
        energies = stiffness(found.corners, found.places, shares, len(points))
        mass, coupling = masses(found.corners, shares, len(points))
        self.closed, self.volume = found.closed, float(shares.sum())
        self._squared_edge = float(shares @ squared_edges(found.places)) / self.volume
        self._bend = float(shares @ found.bends) / self.volume
        joined = _joined(found, len(points))
        self.edge_lengths = _lengths(joined, points)
        refuse_components(joined, "the cloud", "make one PointCloud of each, or give a bandwidth")
        self.laplacian = Laplacian(energies, mass, coupling=coupling)

    def uncorrected(self, eigenvalue: float) -> float:
        """The same: nothing is corrected."""
        return eigenvalue

    @property
    def finest(self) -> float:
        """A quarter of the mean squared edge h^2."""
        return self._squared_edge / 4

    def error(self, times: FloatArray) -> FloatArray:
        """h^2 / (30 t) and 1.2 times the mean squared sine between edges and tangent spaces.

        Twice a law measured on samples of spheres and tori, because narrow necks were found to need 1.7 times it.
        """
        return np.asarray(self._squared_edge / (30 * times) + 1.2 * self._bend)


def stars(points: FloatArray, dim: int) -> Stars:
    """The Delaunay simplices around each of *points*, seen in its own tangent space of dimension *dim* (1 or 2).

    Inversion p -> p / |p|^2 takes spheres through the node to planes, so the simplices are the facets of
    the convex hull of the inverted neighbours, and the distance of a facet is one over the diameter of the
    empty sphere. The star is final once all those diameters are within the reach of the neighbours looked at.
    Stars of neighbours may disagree where points lie almost on one sphere; shares are then scaled so that the
    simplices fill the angle around each node once.
    """
    from scipy.spatial import cKDTree

    moved = _untied(points)
    tree = cKDTree(moved)
    found: list[_Star] = []
    for rows in slices(len(moved), _BLOCK // (points.shape[1] * _NEIGHBOURS[dim]) + 1):
        found += _stars_of(np.arange(len(moved))[rows], moved, tree, dim)
    corners = np.concatenate([star.corners for star in found])
    places = moved[corners]
    solid = volumes(places) > 1e-10 * squared_edges(places) ** (dim / 2)
    corners, places = corners[solid], places[solid]
    _refuse_bare(corners, points, dim)
    bends = np.concatenate([star.bends for star in found])[solid]
    return Stars(corners, places, _shares(corners, places), bends, all(star.closed for star in found))


class _Star(NamedTuple):
    corners: NDArray[np.intp]
    bends: FloatArray
    closed: bool


def _stars_of(nodes: NDArray[np.intp], points: FloatArray, tree: Any, dim: int) -> list[_Star]:
    """The stars of some nodes, among ever more neighbours until they are final."""
    found: list[_Star] = []
    fewest = count = min(_NEIGHBOURS[dim], len(points) - 1)
    tangents = np.empty(0)
    while len(nodes):
        last = count >= min(2**_DOUBLINGS * fewest, len(points) - 1)
        reach, near = tree.query(points[nodes], count + 1)
        offsets = points[near] - points[nodes][:, None]
        if count == fewest:
            tangents = _tangents(offsets[:, : count // 2 + 1], dim)  # few neighbours, lest the manifold bend away
        flat = np.einsum("nkd,nmd->nkm", offsets, tangents)
        squares = (flat**2).sum(axis=2)
        aside = 1 - squares / np.where(reach > 0, reach**2, 1.0)
        usable = (aside < _SHEET) & (near != nodes[:, None])
        again = []
        for row, node in enumerate(nodes):
            kept = np.flatnonzero(usable[row])
            facets, diameters, closed = _facets(flat[row, kept], squares[row, kept])
            if not last and (not closed or diameters.max() > reach[row, -1]):
                again.append(row)
                continue
            facets = facets[(diameters < reach[row, fewest]) | closed & ~_slivers(flat[row, kept[facets]], diameters)]
            members = kept[facets]
            corners = np.concatenate([np.full((len(members), 1), node), near[row, members]], axis=1)
            found.append(_Star(corners, aside[row, members].mean(axis=1), closed))
        nodes, tangents, count = nodes[again], tangents[again], min(2 * count, len(points) - 1)
    return found


def _untied(points: FloatArray) -> FloatArray:
    from scipy.spatial import cKDTree

    spacing = float(np.median(cKDTree(points).query(points, min(len(points), 9))[0][:, -1]))
    return points + _JITTER * spacing * np.random.default_rng(0).standard_normal(points.shape)


def _tangents(offsets: FloatArray, dim: int) -> FloatArray:
    """Orthonormal bases (n, dim, d) of the directions in which neighbours, given by offsets (n, k, d), lie."""
    length = np.linalg.norm(offsets, axis=2, keepdims=True)
    directions = offsets / np.where(length > 0, length, 1.0)
    return np.asarray(np.linalg.svd(directions, full_matrices=False)[2][:, :dim])


def _facets(flat: FloatArray, squares: FloatArray) -> tuple[NDArray[np.intp], FloatArray, bool]:
    """The Delaunay simplices at the origin by their other corners, (s, dim), the diameters of their empty spheres.

    Also whether the simplices surround the origin. It is among the points of the hull, so that facets without it
    are the ones wanted either way.
    """
    from scipy.spatial import ConvexHull, QhullError

    count, dim = flat.shape
    inverted = flat / squares[:, None]
    if dim == 1:
        sides = [int(np.argmax(side)) for side in (inverted[:, 0], -inverted[:, 0]) if side.max(initial=0.0) > 0]
        return np.array(sides, dtype=np.intp)[:, None], np.sqrt(squares[sides]), len(sides) == 2
    try:
        hull = ConvexHull(np.concatenate([inverted, np.zeros((1, dim))]))
    except (QhullError, ValueError):  # fewer points than directions
        return np.empty((0, dim), dtype=np.intp), np.empty(0), False
    kept = (hull.simplices < count).all(axis=1)
    return hull.simplices[kept], 1 / np.maximum(-hull.equations[kept, -1], 1e-300), bool(kept.all())


def _slivers(others: FloatArray, diameters: FloatArray) -> NDArray[np.bool_]:
    """Whether the empty sphere of the origin and *others*, (s, dim, dim), is much wider than their farthest."""
    return np.asarray(diameters > _SLIVER * np.linalg.norm(others, axis=2).max(axis=1))


def _refuse_bare(corners: NDArray[np.intp], points: FloatArray, dim: int) -> None:
    bare = np.bincount(corners[:, 0], minlength=len(points)) == 0
    if bare.any():
        raise InputError(
            f"{int(bare.sum())} of {len(points)} points of the cloud have no neighbours on the manifold in {dim} "
            f"directions, the first of them {points[np.argmax(bare)][:4].tolist()}; give more points, a bandwidth, or "
            f"dim= if the dimension is not {dim}"
        )


def _shares(corners: NDArray[np.intp], places: FloatArray) -> FloatArray:
    count, size = corners.shape[1], int(corners.max()) + 1
    mine = np.bincount(corners[:, 0], angles(places), minlength=size)
    filled = np.zeros(size)
    for corner in range(count):
        filled += np.bincount(corners[:, corner], angles(np.roll(places, -corner, axis=1)) / count, minlength=size)
    return np.asarray(1 / (count * (filled / mine)[corners].mean(axis=1)))


def _joined(found: Stars, size: int) -> Any:
    """Sparse symmetric matrix whose entries are the pairs of nodes with an edge of a star between them."""
    from scipy.sparse import csr_array

    heads, tails = np.repeat(found.corners[:, 0], found.corners.shape[1] - 1), found.corners[:, 1:].ravel()
    matrix = csr_array((np.ones(len(heads)), (heads, tails)), shape=(size, size))
    return matrix + matrix.T


def _lengths(joined: Any, points: FloatArray) -> Any:
    """Straight distances between nodes one or two edges apart, so that paths need not follow every edge."""
    from scipy.sparse import csr_array

    pairs = (joined @ joined + joined).tocoo()
    apart = pairs.row != pairs.col
    rows, columns = pairs.row[apart], pairs.col[apart]
    return csr_array((np.linalg.norm(points[rows] - points[columns], axis=1), (rows, columns)), shape=pairs.shape)
