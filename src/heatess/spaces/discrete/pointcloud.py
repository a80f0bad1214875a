"""Manifolds known only by points sampled from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray, positive
from ...base.blocks import thread_count
from ...base.errors import InputError
from ..drawing import Drawing
from .delaunay import LocalDelaunay
from .diffusion import DiffusionMap, bandwidth_for
from .nodes import NodeSpace, check_places, check_whole

_LARGEST_DIM = 2  # nodes are joined to simplices up to this dimension; above, by a kernel
_RANK = 12  # of the neighbours whose distances give the dimension, and half that of the others


class PointCloud(NodeSpace):
    """A manifold in R^d known by sampled points, with its own geodesic metric; points are node indices.

    In one and two dimensions each node is joined to its neighbours by the Delaunay simplices of their projection on its
    tangent space, and the Laplacian is that of linear finite elements on all of them. Volume is that of the simplices,
    so the density of the sample does not matter: uniform means uniform in volume. Where the sample ends, heat is
    reflected, and then `closed` is False.

    With `neighbours` or `bandwidth`, and above two dimensions, the Laplacian is a diffusion map with the density
    divided out (Coifman and Lafon, alpha = 1) by a kernel exp(-|x - y|^2 / 4e). It is less accurate, needs coarser
    scales and does not tell whether the sample ends (`closed` is True), but smooths out noise across the manifold of up
    to a quarter of sqrt(e). `bandwidth` is e, or None where there is no kernel.

    Scales are times, in squared units of the coordinates: sqrt(8 t) is a distance along the manifold.

    Parameters
    ----------
    points : array-like, shape (n, d)
        A sample of the manifold, dense everywhere though not evenly. Points that coincide share one place.
    neighbours : float, optional
        Use a kernel, as wide as to make its weight sum q_i exceed this number at nine nodes in ten.
        Above two dimensions the default is 8.
    bandwidth : float, optional
        Use a kernel of this width e, a squared length. At most one of the two.
    modes : int, optional
        Number of eigenpairs. Default: what the finest scale needs by Weyl's law in the dimension *dim*.
    dim : int, optional
        Dimension of the manifold. Default: estimated from how distances to neighbours grow.

    Notes
    -----
    The profile's `error` is twice a rule that was measured on random samples of spheres and tori, not a bound: h^2 /
    (30 t) for the mean squared edge h^2 and 1.2 times the mean squared sine of the angle between edges and tangent
    spaces. Where the sample ends it stops short of the boundary, by an unknown part of an edge, and `error` is larger:
    h / (10 sqrt(t)) + 1.6 h / volume^(1 / dim) more, and the share of the volume at the ends and in triangles so wide
    that they may span a hole. That is twice what was found on intervals, rectangles, discs, annuli and hemispheres (up
    to 9 % with 300 nodes; see `LocalDelaunay.error`), and far too much if nodes lie on the boundary itself.
    `finest_time` is h^2 / 4 or what 0.4 n modes resolve. With a thousand random points on the unit sphere that is
    19 degrees, and errors in `gess` are about one per cent. With a kernel it is 4 e, where errors are about five
    per cent, and up to ten on very uneven samples. `volume` is off by about as much, and by up to seven per cent where
    few points make up much of the manifold (a thousand, twenty times denser in one place than in another).

    Limits: sheets of the manifold closer than a few edges may be joined, holes up to about ten edges wide are filled,
    and noise across it of more than a tenth of an edge makes it appear larger than it is, unless a kernel smooths it
    out.

    Examples
    --------
    A circle of radius two, unevenly sampled, has the eigenvalues 0, 1/4, 1/4, 1, 1:

    >>> import heatess as he
    >>> turn = np.arange(500) / 500 * 2 * np.pi
    >>> turn = turn + 0.5 * np.sin(turn)
    >>> cloud = he.PointCloud(2 * np.column_stack([np.cos(turn), np.sin(turn)]), modes=5)
    >>> cloud
    PointCloud(500 points in R^2, dim=1)
    >>> cloud.eigenpairs(cloud.check([0]), 1.0).values.round(3)
    array([0.  , 0.25, 0.25, 1.  , 1.  ])
    >>> round(cloud.volume / (4 * np.pi), 3)
    1.0
    """

    certified = False  # a sample stands for a manifold, and how well is estimated

    def __init__(
        self,
        points: Any,
        neighbours: float | None = None,
        bandwidth: float | None = None,
        modes: int | None = None,
        dim: int | None = None,
    ) -> None:
        self._points = check_places(points, "the points of a cloud", "(n, d) with n >= 3", least=3)
        places, label = np.unique(self._points, axis=0, return_inverse=True)
        if len(places) < 3:
            raise InputError(
                f"the points of a cloud must lie <+in 3 places or more+>, but <!coincide in {len(places)}!>"
            )
        self._label = label.ravel()  # the place of each node
        note = ", the number of coordinates"
        self._dim = _dimension(places) if dim is None else check_whole(dim, "dim", 1, places.shape[1], note)
        self._shape = _shape(places, self._dim, neighbours, bandwidth)
        self.closed, self.bandwidth = self._shape.closed, self._shape.bandwidth
        super().__init__(self._shape.laplacian, modes, self._shape.volume, self._shape.finest)

    @property
    def drawing(self) -> Drawing | None:
        """The points as they are, in two or three coordinates."""
        width = self._points.shape[1]
        if width not in (2, 3):
            return None
        return Drawing(
            "flat" if width == 2 else "solid",
            lambda nodes: np.asarray(self._points[nodes[:, 0].astype(np.intp)]),
            ("x", "y", "z")[:width],
            nodes=lambda: self._points,
        )

    def _content(self) -> tuple[NDArray[Any], ...]:
        return (self._points, np.array([self._dim, self.bandwidth or 0.0]))

    def __repr__(self) -> str:
        kind = "" if self.closed else ", open"
        return f"PointCloud({len(self._points)} points in R^{self._points.shape[1]}, dim={self._dim}{kind})"

    @property
    def node_count(self) -> int:
        """Number of points of the sample."""
        return len(self._points)

    @property
    def node_volumes(self) -> FloatArray:
        """Share of the volume at each node, summing to one; nodes that coincide share theirs equally."""
        mass = self._laplacian.mass
        return np.asarray((mass / (np.bincount(self._label) * mass.sum()))[self._label])

    def discretisation_error(self, times: FloatArray) -> FloatArray:
        """A rule measured on samples of spheres and tori; see the notes of the class."""
        return self._shape.error(times)

    def _places(self, points: NDArray[Any]) -> NDArray[np.intp]:
        return np.asarray(self._label[points[:, 0].astype(np.intp)])

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent nodes, drawn by their share of the volume."""
        return rng.choice(self.node_count, size=n, p=self.node_volumes).astype(np.float64)

    def _paths(self, sources: NDArray[Any]) -> FloatArray:
        return super()._paths(self._label[sources])[:, self._label]

    @property
    def _edge_lengths(self) -> Any:
        return self._shape.edge_lengths


def _shape(places: FloatArray, dim: int, neighbours: Any, bandwidth: Any) -> LocalDelaunay | DiffusionMap:
    if neighbours is not None and bandwidth is not None:
        raise InputError("give <+neighbours or bandwidth+>, not <!both!>")
    if neighbours is None and bandwidth is None and dim <= _LARGEST_DIM:
        return LocalDelaunay(places, dim)
    if bandwidth is None:
        bandwidth = bandwidth_for(places, positive(8.0 if neighbours is None else neighbours, "neighbours"))
    return DiffusionMap(places, dim, positive(bandwidth, "bandwidth"))


def _dimension(places: FloatArray) -> int:
    """The dimension m for which distances r_k to the k-th neighbour obey E log(r_2k / r_k) = (psi(2k) - psi(k)) / m."""
    from scipy.spatial import cKDTree
    from scipy.special import digamma

    near = min(_RANK, (len(places) - 1) // 2)
    reach = cKDTree(places).query(places, [near + 1, 2 * near + 1], workers=thread_count())[0]
    growth = float(np.log(reach[:, 1] / reach[:, 0]).mean())
    expected = float(digamma(2 * near) - digamma(near))
    if growth * (places.shape[1] + 0.5) <= expected:
        return int(places.shape[1])
    return max(1, round(expected / growth))
