"""Delaunay simplices around each point of a sample, seen in its tangent space."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray
from ...base.blocks import map_rows, one_blas_thread, thread_count
from ...base.errors import InputError
from .laplacian import Laplacian
from .local_delaunay import fans
from .matrices import edge_matrix
from .nodes import refuse_components
from .simplices import angles, masses, squared_edges, stiffness, volumes

_NEIGHBOURS = {1: 8, 2: 20}  # tried first for the star of a node, by dimension
_DOUBLINGS = 4  # how often that number may be doubled
_JITTER = 1e-6  # nodes are moved by this share of their spacing: no simplex hangs on a tie, no two nodes coincide
_SHEET = 0.5  # neighbours further than this (squared sine, 45 degrees) from the tangent space lie on another sheet
_ENTRIES_AT_ONCE = 2**22  # entries of the array of neighbours that a thread holds at once
_NODES_AT_ONCE = 4096  # and nodes, whose arrays then stay in the cache
_WIDE = 12.0  # triangles with squared edges this many times the median may span a hole
_SLIVER = 3.0  # a simplex with an empty sphere this much wider than its edges, far from the node, spans a boundary


class Stars(NamedTuple):
    """Local Delaunay simplices of sampled points."""

    corners: NDArray[np.intp]  # the node whose star it is, then the others, shape (s, m + 1)
    places: FloatArray  # where those nodes are, shape (s, m + 1, d)
    shares: FloatArray  # how often each simplex counts, about 1 / (m + 1): all its corners have it in their star
    bends: FloatArray  # mean squared sine of the angle between its edges at the node and the tangent plane there
    rim: NDArray[np.intp]  # nodes that their stars do not surround: the sample has a boundary there


_Star = tuple[NDArray[np.intp], FloatArray, NDArray[np.intp]]  # corners and bends of some nodes, and the rim


class LocalDelaunay:
    """A sampled manifold as the simplices that its points span: linear finite elements on all stars.

    The finest time is a quarter of the mean squared edge h^2.
    """

    bandwidth = None

    def __init__(self, points: FloatArray, dim: int) -> None:
        from scipy.sparse import triu

        found, size = stars(points, dim), len(points)
        corners, places = found.corners, found.places
        shares = found.shares * volumes(places)
        self.closed, self.volume = not len(found.rim), float(shares.sum())
        self._squared_edge = float(shares @ squared_edges(places)) / self.volume
        self.finest = self._squared_edge / 4
        self._bend = float(shares @ found.bends) / self.volume
        edges = np.stack([np.repeat(corners[:, 0], dim), corners[:, 1:].ravel()], axis=1)
        joined = edge_matrix(edges, np.ones(len(edges)), size)
        # Straight lines across two edges, so that paths need not follow every edge.
        near = np.stack(triu(joined @ joined + joined, k=1).nonzero(), axis=1)
        self.edge_lengths = edge_matrix(near, np.linalg.norm(points[near[:, 0]] - points[near[:, 1]], axis=1), size)
        refuse_components(joined, "the cloud", "make one PointCloud of each, or give a bandwidth")
        mass, coupling = masses(corners, shares, size)
        widths = squared_edges(places)
        wide = widths > _WIDE * np.median(widths)
        lost = float(shares[wide].sum()) if dim == 2 else 0.0
        self._rim = (float(mass[found.rim].sum()) + lost) / self.volume
        self._spacing = math.sqrt(self._squared_edge) / self.volume ** (1 / dim)
        self.laplacian = Laplacian(stiffness(corners, places, shares, size), mass, coupling=coupling)

    def error(self, times: FloatArray) -> FloatArray:
        """h^2 / (30 t) and 1.2 times the mean squared sine between edges and tangent spaces.

        Twice a law measured on samples of spheres and tori, because narrow necks were found to need 1.7 times it.

        With a boundary also h / (10 sqrt(t)), for atoms near it, and 1.6 h / V^(1/m), V the volume, for the strip from
        the outermost nodes to the boundary; and the share of the volume at nodes of the boundary and in triangles so
        wide that they may span a hole. Measured with 300 and 1,000 nodes, random and regular, on intervals, squares,
        rectangles of ratio 5, discs, annuli and hemispheres, over 40 times the finest time, for all atoms and for those
        near the boundary alone. Errors were up to 9 % with 300 nodes and 8 % with 1,000, up to 19 % on annuli, whose
        hole is filled, and about half of this law at most; they were 1 % where nodes lie on the boundary itself.
        """
        interior = self._squared_edge / (30 * times) + 1.2 * self._bend
        if self.closed:
            return np.asarray(interior)
        # At the ends the sample stops up to an edge before the manifold does.
        return np.asarray(interior + 0.1 * np.sqrt(self._squared_edge / times) + 1.6 * self._spacing + self._rim)


def stars(points: FloatArray, dim: int) -> Stars:
    """The Delaunay simplices around each of *points*, seen in its own tangent space of dimension *dim* (1 or 2).

    The star of a node is final once the empty spheres of its simplices are within the reach of the neighbours looked
    at. Stars of neighbours may disagree where points lie almost on one sphere; shares are then scaled so that the
    simplices fill the angle around each node once.
    """
    from scipy.spatial import cKDTree

    count = len(points)
    spacing = float(np.median(cKDTree(points).query(points, min(count, 9), workers=thread_count())[0][:, -1]))
    moved = points + _JITTER * spacing * np.random.default_rng(0).standard_normal(points.shape)
    tree = cKDTree(moved)
    at_once = min(_NODES_AT_ONCE, _ENTRIES_AT_ONCE // (points.shape[1] * _NEIGHBOURS[dim]) + 1)
    with one_blas_thread():
        parts = map_rows(lambda rows: _stars_of(np.arange(count)[rows], moved, tree, dim), count, at_once)
    found = [star for part in parts for star in part]
    corners, bends, rim = (np.concatenate(part) for part in zip(*found, strict=True))
    places = moved[corners]
    solid = volumes(places) > 1e-10 * squared_edges(places) ** (dim / 2)
    corners, places = corners[solid], places[solid]
    bare = np.bincount(corners[:, 0], minlength=count) == 0
    if bare.any():
        raise InputError(
            f"<!{int(bare.sum())} of {count} points!> of the cloud have no neighbours on the manifold in {dim} "
            f"directions, the first of them {points[np.argmax(bare)][:4].tolist()}; give more points, a bandwidth, or "
            f"`dim=` if the dimension is not {dim}"
        )
    return Stars(corners, places, _shares(corners, places), bends[solid], rim)


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
            tangents = _tangents(offsets[:, : count // 2 + 1], dim)  # of few neighbours, before the manifold bends away
        flat = np.einsum("nkd,nmd->nkm", offsets, tangents)
        squares = np.einsum("nkm,nkm->nk", flat, flat)
        aside = 1 - squares / np.where(reach > 0, reach**2, 1.0)
        rows, members, diameters, closed = fans(flat, (aside < _SHEET) & (near != nodes[:, None]))
        final = closed.copy()
        final[rows[diameters > reach[rows, -1]]] = False
        final |= last
        widths = np.sqrt(squares[rows[:, None], members].max(axis=1))
        kept = final[rows] & ((diameters < reach[rows, fewest]) | closed[rows] & (diameters <= _SLIVER * widths))
        rows, members = rows[kept, None], members[kept]
        corners = np.concatenate([nodes[rows], near[rows, members]], axis=1)
        found.append((corners, aside[rows, members].mean(axis=1), nodes[final & ~closed]))
        nodes, tangents, count = nodes[~final], tangents[~final], min(2 * count, len(points) - 1)
    return found


def _tangents(offsets: FloatArray, dim: int) -> FloatArray:
    """Orthonormal bases (n, dim, d) of the directions in which neighbours, given by offsets (n, k, d), lie."""
    length = np.linalg.norm(offsets, axis=2, keepdims=True)
    directions = offsets / np.where(length > 0, length, 1.0)
    return np.asarray(np.linalg.svd(directions, full_matrices=False)[2][:, :dim])


def _shares(corners: NDArray[np.intp], places: FloatArray) -> FloatArray:
    count, angle = corners.shape[1], angles(places)
    mine = np.bincount(corners[:, 0], angle[:, 0])
    filled = np.bincount(corners.ravel(), angle.ravel() / count)
    return np.asarray(1 / (count * (filled / mine)[corners].mean(axis=1)))
