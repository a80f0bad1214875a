"""Surfaces given as triangle meshes."""

from __future__ import annotations

from functools import cached_property
from os import PathLike, fsdecode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray, numeric_array, refuse_rows
from ...base.errors import InputError, InputTypeError, importing
from ...base.messages import shown
from ..drawing import Cells, Drawing
from .cotangents import mesh_laplacian
from .laplacian import Laplacian
from .matrices import edge_matrix
from .meshfile import read_triangles
from .nodes import NodeSpace, check_indices, check_places, not_indices, refuse_components
from .simplices import angles, assembled, masses, squared_edges
from .triangle_edges import Sides, side_numbers


class Mesh(NodeSpace):
    """A surface in space as a triangle mesh, with the metric of its triangles: lengths in the mesh's own unit.

    The Laplacian is the intrinsic-Delaunay cotangent Laplacian, found by robust-laplacian where triangles are flat or
    more than two share an edge, with one area per vertex; the eigenpairs are orthonormal for those areas, so uneven
    triangles do no harm. Scales are times, in squared units of length: sqrt(8 t) is a distance along the surface. On a
    mesh of the unit sphere a time means what it means on `Sphere(2)`. Where an edge belongs to one triangle only, the
    mesh has an insulated (Neumann) boundary, and then `closed` is False. The surface is not homogeneous: k_2t(x, x)
    depends on the place, and gESS need not fall with t.

    Parameters
    ----------
    vertices : array-like, shape (v, 3)
    faces : array-like of int, shape (f, 3)
        Corners of the triangles, counted from 0, in any orientation.
    modes : int, optional
        Number of eigenpairs. Default: what the finest scale needs by Weyl's law, N(lambda) = area * lambda / (4 pi).

    Notes
    -----
    Points are vertex indices, shape (n,), or a pair (faces, barycentric): face indices (n,) and
    barycentric coordinates (n, 3), between whose corners eigenfunctions are interpolated to second order.

    With one area per vertex eigenvalues come out too small by lambda h^2 / 16 relative, h the edge length, and with
    linear elements too large by as much; the mass matrix is therefore the mean of the two. What is left is estimated in
    the profile's `error` by h^2 / (40 t) + 0.15 h^2 K + 0.5 h^2 / area, with K the mean absolute curvature, because the
    smooth surface is rounder than its triangles, and the last term for the lowest modes of flat ones. Here h^2 is the
    mean of the sixth power of the squared edges of triangles, to the power 1/6: nearly that of the largest of them,
    inside which errors are largest, and the mean squared edge if they are alike. That was above the error of gESS
    in 10,368 trials on spheres, tori and squares, even and very uneven, at vertices and inside faces. MMD^2 is less
    certain where heat has nearly mixed, or where points are balanced; a `PrecisionWarning` then says by how much.
    `finest_time` is a quarter of the mean squared edge, or what almost half as many modes as vertices resolve; finer
    scales are refused.

    `distance` is between vertices, along edges and straight across single edges: never too short on the triangles, and
    two to three per cent too long on average.

    Examples
    --------
    The unit sphere as a coarse mesh, and a hundred points on it, against the exact answer:

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
    certified = False  # nodes stand for a surface, and how well is estimated

    def __init__(self, vertices: Any, faces: Any, modes: int | None = None) -> None:
        with importing("robust-laplacian", "mesh"):
            import robust_laplacian  # noqa: F401, which some meshes need
        self._vertices = check_places(vertices, "vertices", "(v, 3)", columns=3)
        self._faces, self._areas = _check_faces(faces, self._vertices)
        size = len(self._vertices)
        sides = Sides.of(self._faces, size)
        self._edges, self._edge_faces = sides.edges, sides.faces
        self.closed = bool(self._edge_faces.min() > 1)
        joined = edge_matrix(self._edges, np.ones(len(self._edges)), size)
        refuse_components(joined, "the mesh", lambda: _remedy(self._vertices))
        stiffness = mesh_laplacian(self._vertices, self._faces, sides, self._areas)
        volume = float(self._areas.sum())
        squares = squared_edges(self._vertices[self._faces])
        squared_edge = float(self._areas @ squares) / volume
        self._large_edge = squared_edge * float(self._areas @ (squares / squared_edge) ** 6 / volume) ** (1 / 6)  # h^2
        # A third of its triangles for each vertex; with these the sum with the coupling is positive definite.
        mass, coupling = masses(self._faces, self._areas, size)
        super().__init__(Laplacian(stiffness, mass, coupling=coupling), modes, volume, squared_edge / 4)

    @classmethod
    def from_file(cls, path: str | PathLike[str], modes: int | None = None) -> Mesh:
        """A mesh from an .obj, .ply, .stl or .off file, or another that trimesh reads; broken files are refused.

        Corners at the same place become one vertex, which files of loose triangles (.stl) need; vertices without a
        face and faces without area or repeated are left out. The mesh's own numbering may so differ from the file's.
        """
        name = fsdecode(path)
        vertices, faces = read_triangles(name)
        try:
            return cls(vertices, faces, modes)
        except InputError as error:
            raise error.within(name) from None

    @classmethod
    def from_trimesh(cls, mesh: Any, modes: int | None = None) -> Mesh:
        """A mesh from a `trimesh.Trimesh`, with the same numbers of vertices and faces.

        >>> import trimesh
        >>> Mesh.from_trimesh(trimesh.creation.icosphere(subdivisions=2))
        Mesh(162 vertices, 320 faces)
        """
        if hasattr(mesh, "geometry") and hasattr(mesh, "graph"):
            raise InputTypeError(
                f"<+a mesh+> is needed, but this is <!a Scene of {len(mesh.geometry)}!>; join them with "
                "`scene.to_mesh()`, or take one of `scene.geometry.values()`"
            )
        if not hasattr(mesh, "vertices") or not hasattr(mesh, "faces"):
            raise InputTypeError(f"<+a trimesh.Trimesh+> is needed, but found <!{shown(mesh)}!>")
        return cls(np.asarray(mesh.vertices), np.asarray(mesh.faces), modes)

    def _content(self) -> tuple[NDArray[Any], ...]:
        return (self._vertices, self._faces)

    def __repr__(self) -> str:
        kind = "" if self.closed else ", open"
        return f"Mesh({len(self._vertices)} vertices, {len(self._faces)} faces{kind})"

    @cached_property
    def _mean_curvature(self) -> float:
        """Mean absolute Gaussian curvature: what the angles around inner vertices lack of a full turn, per area."""
        lack = 2 * np.pi - np.bincount(self._faces.ravel(), angles(self._vertices[self._faces]).ravel())
        inner = np.ones(len(self._vertices), dtype=bool)
        inner[self._edges[self._edge_faces == 1]] = False
        return float(np.abs(lack[inner]).sum()) / self.volume

    def discretisation_error(self, times: FloatArray) -> FloatArray:
        """h^2 / (40 t) + 0.15 h^2 K + 0.5 h^2 / area; see the notes of the class."""
        return np.asarray(self._large_edge * (1 / (40 * times) + 0.15 * self._mean_curvature + 0.5 / self.volume))

    @property
    def drawing(self) -> Drawing | None:
        """The surface in space."""
        size = len(self._vertices)
        return Drawing(
            "surface",
            self._in_space,
            layout="nodes",
            cells=lambda step, frame: Cells(self.check(np.arange(size)), size, 1),
            nodes=lambda: self._vertices,
            node_of=self.nearest_nodes,
            faces=self._faces,
        )

    def nearest_nodes(self, points: NDArray[Any]) -> NDArray[np.intp]:
        """The vertex with the largest barycentric coordinate."""
        return np.asarray(points[np.arange(len(points)), np.argmax(points[:, 3:], axis=1)], dtype=np.intp)

    def check(self, points: Any) -> NDArray[Any]:
        """Rows of three vertices and their barycentric coordinates, from vertex indices or (faces, barycentric)."""
        if isinstance(points, tuple):
            if len(points) != 2:
                raise InputError(
                    f"points on {self!r} must be <+vertex indices (n,) or a pair (faces, barycentric)+>, but are <!a "
                    f"tuple of {len(points)}!>"
                )
            return self._on_faces(*points)
        vertex = check_indices(points, len(self._vertices), "points", f"vertices of {self!r}")
        return np.column_stack([vertex, vertex, vertex, np.tile([1.0, 0.0, 0.0], (len(vertex), 1))])

    def _on_faces(self, faces: Any, barycentric: Any) -> FloatArray:
        face = check_indices(faces, len(self._faces), "face indices", f"faces of {self!r}").astype(np.intp)
        shares = numeric_array(barycentric, "barycentric coordinates").astype(np.float64)
        if shares.shape != (len(face), 3):
            expected = f"({len(face)}, 3), one row per face index"
            raise InputError.misshapen("barycentric coordinates", expected, shares.shape)
        with np.errstate(invalid="ignore"):
            bad = ~((shares >= -1e-9).all(axis=1) & (np.abs(shares.sum(axis=1) - 1) < 1e-6))
        refuse_rows(bad, shares, "barycentric coordinates must be <+non-negative and sum to 1+>")
        shares = np.maximum(shares, 0.0)
        return np.concatenate([self._faces[face], shares / shares.sum(axis=1, keepdims=True)], axis=1)

    def _in_space(self, points: NDArray[Any]) -> FloatArray:
        """Where checked points are in R^3."""
        return np.asarray(np.einsum("nc,ncd->nd", points[:, 3:], self._vertices[points[:, :3].astype(np.intp)]))

    def interpolate(self, points: NDArray[Any], values: FloatArray) -> FloatArray:
        """Functions known at the vertices, shape (v, k), at checked points: sum_a b_a (f_a + grad f_a . (x - x_a) / 2).

        That is exact for quadratic functions, given their gradients at the corners a of the triangle. Linear
        interpolation alone would flatten eigenfunctions between vertices, by h^2 / t in the end, and so would the mean
        gradient of the faces around a corner, which is that at their centre and not at the corner.
        """
        places = self._places(points)
        if places is not None:
            return np.asarray(values[places])
        vertex, share = points[:, :3].astype(np.intp), points[:, 3:]
        steps = self._steps(vertex, share)
        found = np.einsum("nc,nck->nk", share, values[vertex])
        for coordinate, slope in enumerate(self._gradients):
            mean = slope @ values
            found += np.einsum("nc,nck->nk", steps[:, :, coordinate], (mean + self._from_centres @ mean)[vertex])
        return np.asarray(found)

    def _evaluation(self, points: NDArray[Any]) -> Any:
        if self._places(points) is not None:
            return super()._evaluation(points)
        from scipy.sparse import csr_array

        vertex, share = points[:, :3].astype(np.intp), points[:, 3:]
        rows, shape = np.repeat(np.arange(len(points)), 3), (len(points), len(self._vertices))
        found, steps = csr_array((share.ravel(), (rows, vertex.ravel())), shape=shape), self._steps(vertex, share)
        for coordinate, slope in enumerate(self._gradients):
            step = csr_array((steps[:, :, coordinate].ravel(), (rows, vertex.ravel())), shape=shape)
            found = found + (step + step @ self._from_centres) @ slope
        return found.tocsr()

    def _steps(self, vertex: NDArray[np.intp], share: FloatArray) -> FloatArray:
        """b_a (x - x_a) / 2 of each point x and each corner a, shape (n, 3 corners, 3 coordinates)."""
        corners = self._vertices[vertex]
        return np.asarray(share[:, :, None] * (np.einsum("nc,ncd->nd", share, corners)[:, None] - corners) / 2)

    def _places(self, points: NDArray[Any]) -> NDArray[np.intp] | None:
        return points[:, 0].astype(np.intp) if (points[:, 3] == 1).all() else None

    @cached_property
    def _gradients(self) -> list[Any]:
        """Matrices that give the three coordinates of the gradient at the vertices, the mean over their faces."""
        corners = self._vertices[self._faces]
        edges = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)  # facing each corner
        normal = np.cross(edges[:, 0], edges[:, 1])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        slopes = np.cross(normal[:, None], edges) / 2  # of each corner's hat, times the area
        blocks = slopes[:, None] / self._around[self._faces][:, :, None, None]  # (faces, at corner, hat, coordinate)
        return [assembled(self._faces, blocks[..., k], len(self._vertices)) for k in range(3)]

    @cached_property
    def _from_centres(self) -> Any:
        """The matrix that gives how much functions differ between each vertex and the centre of the faces around it."""
        from scipy.sparse import diags_array

        moments = (self._areas[:, None] * self._vertices[self._faces].mean(axis=1)).T  # (coordinate, faces)
        sums = [np.bincount(self._faces.ravel(), np.repeat(moment, 3)) for moment in moments]
        offsets = self._vertices.T - np.stack(sums) / self._around
        return sum(diags_array(offset) @ slope for offset, slope in zip(offsets, self._gradients, strict=True)).tocsr()

    @property
    def _around(self) -> FloatArray:
        """The area of the faces around each vertex."""
        return np.bincount(self._faces.ravel(), np.repeat(self._areas, 3)).astype(np.float64)

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
        numbers = pairs[:, 0] * len(self._vertices) + pairs[:, 1]
        order = np.lexsort((lengths, numbers))  # of several ways keep the shortest
        first = order[np.append(True, np.diff(numbers[order]) != 0)]
        return edge_matrix(pairs[first], lengths[first], len(self._vertices))


def _remedy(vertices: FloatArray) -> str:
    places = len(np.unique(vertices, axis=0))
    if places == len(vertices):
        return "make one Mesh of each, or join them"
    return (
        f"its {len(vertices)} vertices lie in {places} places: if those are one surface, join them by "
        "places, label = `np.unique(vertices, axis=0, return_inverse=True)`; `Mesh(places, label.ravel()[faces])`"
    )


def _check_faces(faces: Any, vertices: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Faces with three distinct corners each, and their areas, or an `InputError` that names the face."""
    array, count = numeric_array(faces, "faces"), len(vertices)
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise InputError.misshapen("faces", "(f, 3), three vertex indices each", array.shape)
    expected = f"faces must hold <+three indices of {count} vertices, whole numbers from 0 to {count - 1}+>"
    hint = "; if they count from 1, subtract 1" if array.min() == 1 and array.max() == count else ""
    refuse_rows(not_indices(array, count).any(axis=1), array, expected, f"drop or fix them{hint}")
    array = array.astype(np.int64)
    ordered, corners = np.sort(array, axis=1), [vertices[array[:, k]] for k in range(3)]
    areas = np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0]), axis=1) / 2
    spans = (np.maximum.reduce(corners) - np.minimum.reduce(corners)).max(axis=1)
    faults = {
        "name one vertex twice": (ordered[:, 1:] == ordered[:, :-1]).any(axis=1),
        "have no area": areas <= 1e-14 * spans**2,
        "repeat an earlier face": _repeated(ordered, count),
    }
    for fault, bad in faults.items():
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"{int(bad.sum())} of {len(array)} faces {fault}, the first of them face {row}, "
                f"<!{array[row].tolist()}!>; remove them"
            )
    unused = np.bincount(array.ravel(), minlength=count) == 0
    if unused.any():
        raise InputError(
            f"every vertex must <+belong to a face+>, but <!{int(unused.sum())} of {count} do not, the first of them "
            f"vertex {int(np.argmax(unused))}!>; remove them and renumber the faces"
        )
    return array, areas


def _repeated(ordered: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Which rows of three sorted vertices, numbered below *count*, have stood in a row above."""
    pairs, last = ordered[:, 0] * count + ordered[:, 1], ordered[:, 2]
    order = np.lexsort((last, pairs))  # keeps the order of equal rows
    found = np.zeros(len(ordered), dtype=bool)
    found[order[1:]] = (np.diff(pairs[order]) == 0) & (np.diff(last[order]) == 0)
    return found


def _across(faces: NDArray[np.int64], vertices: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Pairs of corners, smaller first, that face each other across an edge, and their distance with the faces unfolded.

    Only where the straight line crosses the edge between its ends.
    """
    numbers, facing = side_numbers(faces, len(vertices)), faces[:, [2, 0, 1]].ravel()
    order = np.argsort(numbers, kind="stable")
    numbers, facing = numbers[order], facing[order]
    shared = np.flatnonzero(numbers[1:] == numbers[:-1])
    first, second = np.divmod(numbers[shared], len(vertices))
    start, edge = vertices[first], vertices[second] - vertices[first]
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
