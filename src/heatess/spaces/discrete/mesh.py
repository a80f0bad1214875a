"""Surfaces given as triangle meshes."""

from __future__ import annotations

from functools import cached_property
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray, numeric_array
from ...errors import InputError, missing_extra
from .laplacian import MOST_MODES, Laplacian
from .nodes import NodeSpace, check_indices, check_modes, refuse_components, refuse_extreme_unit
from .simplices import angles, masses, squared_edges


class Mesh(NodeSpace):
    """A surface in space as a triangle mesh, with the metric of its triangles: lengths in the mesh's own unit.

    The Laplacian is the intrinsic-Delaunay cotangent Laplacian of robust-laplacian with one area per
    vertex; the eigenpairs are orthonormal for those areas, so uneven triangles do no harm. The spectrum follows
    Weyl's law, N(lambda) = area * lambda / (4 pi). Scales are times, in squared units of length:
    sqrt(8 t) is a distance along the surface. On a mesh of the unit sphere a time means what it means
    on `Sphere(2)`. An open mesh has an insulated (Neumann) boundary, and then `closed` is False.

    The surface is not homogeneous: k_2t(x, x) depends on the place, and gESS need not fall with t.

    Parameters
    ----------
    vertices : array-like, shape (v, 3)
    faces : array-like of int, shape (f, 3)
        Corners of the triangles, counted from 0, in any orientation.
    modes : int, optional
        Number of eigenpairs. Default: what the finest scale asked for needs by Weyl's law.

    Notes
    -----
    Points are vertex indices, shape (n,), or a pair (faces, barycentric): face indices (n,) and
    barycentric coordinates (n, 3), between whose corners eigenfunctions are interpolated to second order.

    With one area per vertex eigenvalues come out too small by lambda h^2 / 16 relative, h the edge
    length, and with linear elements too large by as much; the mass matrix is therefore the mean of
    the two. What is left is estimated, from above on all meshes tried, by h^2 / (40 t) + 0.15 h^2 K in the
    profile's `error`, with h^2 the mean squared edge and K the mean absolute curvature, because the smooth surface is
    rounder than its triangles. `finest_time` is h^2 / 4, or what almost half as many modes as vertices
    resolve; finer scales are refused.

    `distance` is between vertices, along edges and straight across single edges: never too short on the
    triangles, and two to three per cent too long on average.

    Examples
    --------
    The unit sphere as a coarse mesh, and a hundred atoms on it, against the exact answer:

    >>> import heatess as he
    >>> from scipy.spatial import ConvexHull
    >>> vertices = he.samplers.fibonacci(1000)
    >>> mesh = he.Mesh(vertices, ConvexHull(vertices).simplices)
    >>> mesh
    Mesh(1000 vertices, 1996 faces)
    >>> round(float(np.sqrt(8 * mesh.finest_time)), 2)
    0.34
    >>> atoms, times = np.arange(100), [0.02, 0.05, 0.2]
    >>> he.heat_profile(atoms, space=mesh, times=times).gess.round(3)
    array([3.764, 2.055, 1.222])
    >>> he.heat_profile(vertices[atoms], times=times).gess.round(3)
    array([3.78 , 2.06 , 1.222])
    """

    _dim = 2

    def __init__(self, vertices: Any, faces: Any, modes: int | None = None) -> None:
        try:
            import robust_laplacian
        except ImportError:
            raise missing_extra("robust-laplacian", "mesh") from None
        self._vertices = _check_vertices(vertices)
        self._faces = _check_faces(faces, self._vertices)
        self._edges, self._edge_faces = _edges(self._faces)
        refuse_components(
            _edge_matrix(self._edges, np.ones(len(self._edges)), len(self._vertices)),
            "the mesh",
            _remedy(self._vertices),
        )
        stiffness, _ = robust_laplacian.mesh_laplacian(self._vertices, self._faces)
        # A third of its triangles for each vertex; with these the sum with the coupling is positive definite.
        areas, coupling = masses(self._faces, self._areas, len(self._vertices))
        laplacian = Laplacian(stiffness, areas, coupling=coupling)
        super().__init__(laplacian, check_modes(modes, len(self._vertices)))

    @classmethod
    def from_file(cls, path: str | PathLike[str], modes: int | None = None) -> Mesh:
        """A mesh from an .obj, .ply, .stl or .off file, or another that trimesh reads.

        Corners at the same place become one vertex, which files of loose triangles (.stl) need; vertices
        without a face and faces without area or repeated are left out. The mesh's own numbering may so
        differ from the file's.
        """
        try:
            import trimesh
        except ImportError:
            raise missing_extra("trimesh", "mesh") from None
        try:
            found = trimesh.load_mesh(fspath(path))
        except (OSError, ValueError, NotImplementedError) as error:
            raise InputError(f"{fspath(path)} cannot be read as a mesh: {error}") from None
        found.merge_vertices(merge_tex=True, merge_norm=True)
        found.update_faces(found.unique_faces())
        found.update_faces(found.nondegenerate_faces())
        found.remove_unreferenced_vertices()
        return cls(found.vertices, found.faces, modes)

    def __repr__(self) -> str:
        kind = "" if self.closed else ", open"
        return f"Mesh({len(self._vertices)} vertices, {len(self._faces)} faces{kind})"

    @property
    def closed(self) -> bool:
        """Whether every edge belongs to at least two triangles; an open mesh has an insulated boundary."""
        return bool(self._edge_faces.min() > 1)

    @cached_property
    def volume(self) -> float:
        """Total area of the triangles."""
        return float(self._areas.sum())

    @cached_property
    def _areas(self) -> FloatArray:
        return _areas(self._vertices, self._faces)

    @cached_property
    def _squared_edge(self) -> float:
        """Mean squared edge length over the area."""
        return float(self._areas @ squared_edges(self._vertices[self._faces])) / self.volume

    @cached_property
    def _curvature(self) -> float:
        """Mean absolute Gaussian curvature: what the angles around inner vertices lack of a full turn, per area."""
        corners = self._vertices[self._faces]
        turned = [np.roll(self._faces, -k, axis=1)[:, 0] for k in range(3)]
        angle = [angles(np.roll(corners, -k, axis=1)) for k in range(3)]
        lack = 2 * np.pi - np.bincount(np.concatenate(turned), np.concatenate(angle))
        inner = np.ones(len(self._vertices), dtype=bool)
        inner[self._edges[self._edge_faces == 1]] = False
        return float(np.abs(lack[inner]).sum()) / self.volume

    @cached_property
    def finest_of_nodes(self) -> float:  # type: ignore[override]
        """The time below which the triangles, or the number of eigenpairs that can be held, do not suffice."""
        most = min(0.4 * len(self._vertices), MOST_MODES)
        return max(self._squared_edge / 4, self.cutoff(1.0) * self.volume / (4 * np.pi * most))  # Weyl's law

    def discretisation_error(self, times: FloatArray) -> FloatArray:
        """h^2 / (40 t) + 0.15 h^2 K; see the notes of the class."""
        return np.asarray(self._squared_edge * (1 / (40 * times) + 0.15 * self._curvature))

    def check(self, points: Any) -> NDArray[Any]:
        """Rows of three vertices and their barycentric coordinates, from vertex indices or (faces, barycentric)."""
        if isinstance(points, tuple):
            return self._on_faces(*points) if len(points) == 2 else self._refuse(points)
        vertex = check_indices(points, len(self._vertices), "points", f"vertices of {self!r}")
        columns = np.zeros((len(vertex), 6))
        columns[:, :3] = vertex[:, None]
        columns[:, 3] = 1.0
        return columns

    def _on_faces(self, faces: Any, barycentric: Any) -> FloatArray:
        face = check_indices(faces, len(self._faces), "face indices", f"faces of {self!r}").astype(np.intp)
        shares = numeric_array(barycentric, "barycentric coordinates").astype(np.float64)
        if shares.shape != (len(face), 3):
            raise InputError(
                f"barycentric coordinates must have shape ({len(face)}, 3), one row per face index, but have "
                f"shape {shares.shape}"
            )
        with np.errstate(invalid="ignore"):
            bad = ~((shares >= -1e-9).all(axis=1) & (np.abs(shares.sum(axis=1) - 1) < 1e-6))
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"barycentric coordinates must be non-negative and sum to 1, but row {row} is {shares[row].tolist()} "
                f"({int(bad.sum())} of {len(bad)} rows)"
            )
        shares = np.maximum(shares, 0.0)
        return np.concatenate([self._faces[face], shares / shares.sum(axis=1, keepdims=True)], axis=1)

    def _refuse(self, points: Any) -> NDArray[Any]:
        raise InputError(
            f"points on {self!r} must be vertex indices (n,) or a pair (faces, barycentric), but are a tuple of "
            f"{len(points)}"
        )

    def interpolate(self, points: NDArray[Any], values: FloatArray) -> FloatArray:
        """Functions known at the vertices, shape (v, k), at checked points: sum_a b_a (f_a + grad f_a . (x - x_a) / 2).

        That is exact for quadratic functions, given their gradients at the corners a of the triangle. Linear
        interpolation alone would flatten eigenfunctions between vertices, by h^2 / t in the end.
        """
        vertex, share = points[:, :3].astype(np.intp), points[:, 3:]
        if (share[:, 0] == 1).all():
            return np.asarray(values[vertex[:, 0]])
        corners = self._vertices[vertex]  # (n, 3 corners, 3 coordinates)
        steps = share[:, :, None] * (np.einsum("nc,ncd->nd", share, corners)[:, None] - corners) / 2
        found = np.einsum("nc,nck->nk", share, values[vertex])
        for coordinate, slope in enumerate(self._gradients):
            found += np.einsum("nc,nck->nk", steps[:, :, coordinate], (slope @ values)[vertex])
        return np.asarray(found)

    @cached_property
    def _gradients(self) -> list[Any]:
        """Matrices that give the three coordinates of the gradient at the vertices, the mean over their faces."""
        from scipy.sparse import coo_array

        corners = self._vertices[self._faces]
        edges = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)  # facing each corner
        normal = np.cross(edges[:, 0], edges[:, 1])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        slopes = np.cross(normal[:, None], edges) / 2  # of each corner's hat, times the area
        around = np.bincount(self._faces.ravel(), np.repeat(self._areas, 3))
        rows, columns = np.repeat(self._faces, 3, axis=1).ravel(), np.tile(self._faces, (1, 3)).ravel()
        size = (len(self._vertices),) * 2
        return [
            coo_array((np.tile(slopes[:, :, k], (1, 3)).ravel() / around[rows], (rows, columns)), shape=size).tocsr()
            for k in range(3)
        ]

    def uniform(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], FloatArray]:
        """*n* independent points, uniform over the area, as (faces, barycentric)."""
        face = rng.choice(len(self._faces), size=n, p=self._areas / self.volume)
        return face, rng.dirichlet(np.ones(3), size=n)

    @cached_property
    def _edge_lengths(self) -> Any:
        """Lengths of the edges, and of the straight lines across one edge between the corners that face it."""
        ends = self._vertices[self._edges]
        across, lengths = _across(self._faces, self._vertices)
        pairs = np.concatenate([self._edges, across])
        lengths = np.concatenate([np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1), lengths])
        order = np.lexsort((lengths, pairs[:, 1], pairs[:, 0]))  # of several ways keep the shortest
        pairs, lengths = pairs[order], lengths[order]
        first = np.append(True, (np.diff(pairs, axis=0) != 0).any(axis=1))
        return _edge_matrix(pairs[first], lengths[first], len(self._vertices))


def _remedy(vertices: FloatArray) -> str:
    places, label = np.unique(vertices, axis=0, return_inverse=True)
    if len(places) == len(vertices):
        return "make one Mesh of each, or join them"
    return (
        f"its {len(label)} vertices lie in {len(places)} places: if those are one surface, join them by "
        "places, label = np.unique(vertices, axis=0, return_inverse=True); Mesh(places, label.ravel()[faces])"
    )


def _check_vertices(vertices: Any) -> FloatArray:
    array = numeric_array(vertices, "vertices").astype(np.float64)
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise InputError(f"vertices must have shape (v, 3), but have shape {array.shape}")
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(f"vertices must be finite, but row {row} is {array[row].tolist()}")
    refuse_extreme_unit(array, "vertices")
    return array


def _check_faces(faces: Any, vertices: FloatArray) -> NDArray[np.int64]:
    array = numeric_array(faces, "faces")
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise InputError(f"faces must have shape (f, 3), three vertex indices each, but have shape {array.shape}")
    bad = ~((array >= 0) & (array < len(vertices)) & (array == np.floor(array))).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        hint = "; if they count from 1, subtract 1" if array.min() == 1 and array.max() == len(vertices) else ""
        raise InputError(
            f"faces must hold three indices of {len(vertices)} vertices, whole numbers from 0 to {len(vertices) - 1}, "
            f"but row {row} is {array[row].tolist()} ({int(bad.sum())} of {len(array)} faces); drop or fix them{hint}"
        )
    array = array.astype(np.int64)
    ordered = np.sort(array, axis=1)
    _refuse_faces((ordered[:, 1:] == ordered[:, :-1]).any(axis=1), array, "name one vertex twice")
    spans = np.ptp(vertices[array], axis=1).max(axis=1)
    _refuse_faces(_areas(vertices, array) <= 1e-14 * spans**2, array, "have no area")
    _, first, label = np.unique(ordered, axis=0, return_index=True, return_inverse=True)
    _refuse_faces(first[label.ravel()] != np.arange(len(array)), array, "repeat an earlier face")
    used = np.zeros(len(vertices), dtype=bool)
    used[array] = True
    if not used.all():
        raise InputError(
            f"every vertex must belong to a face, but {int((~used).sum())} of {len(vertices)} do not, the first "
            f"of them vertex {int(np.argmin(used))}; remove them and renumber the faces"
        )
    return array


def _refuse_faces(bad: NDArray[np.bool_], faces: NDArray[np.int64], what: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{int(bad.sum())} of {len(faces)} faces {what}, the first of them face {row}, "
                         f"{faces[row].tolist()}; remove them")  # fmt: skip


def _areas(vertices: FloatArray, faces: NDArray[np.int64]) -> FloatArray:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2)


def _edges(faces: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct edges, shape (e, 2), and how many faces each belongs to."""
    sides = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, count = np.unique(sides, axis=0, return_counts=True)
    return edges, count


def _across(faces: NDArray[np.int64], vertices: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Pairs of corners, smaller first, that face each other across an edge, and their distance with the faces unfolded.

    Only where the straight line crosses the edge between its ends.
    """
    sides = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    facing = faces[:, [2, 0, 1]].ravel()
    order = np.lexsort((sides[:, 1], sides[:, 0]))
    sides, facing = sides[order], facing[order]
    shared = np.flatnonzero((sides[1:] == sides[:-1]).all(axis=1))
    start, edge = vertices[sides[shared, 0]], vertices[sides[shared, 1]] - vertices[sides[shared, 0]]
    length = np.linalg.norm(edge, axis=1)
    along, aside = np.empty((2, 2, len(shared)))
    for side in range(2):
        arm = vertices[facing[shared + side]] - start
        along[side] = (arm * edge).sum(axis=1) / length
        aside[side] = np.sqrt(np.maximum((arm**2).sum(axis=1) - along[side] ** 2, 0))
    crossing = (along[0] * aside[1] + along[1] * aside[0]) / aside.sum(axis=0)
    direct = (crossing >= 0) & (crossing <= length)
    pairs = np.sort(np.stack([facing[shared], facing[shared + 1]], axis=1), axis=1)
    return pairs[direct], np.hypot(along[0] - along[1], aside.sum(axis=0))[direct]


def _edge_matrix(edges: NDArray[np.int64], values: FloatArray, size: int) -> Any:
    from scipy.sparse import coo_array

    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    return coo_array((np.concatenate([values, values]), (rows, columns)), shape=(size, size)).tocsr()
