"""Manifolds known only by points sampled from them."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import numeric_array, positive
from ..errors import InputError
from .base import FloatArray
from .laplacian import Laplacian, Modes
from .nodes import NodeSpace, check_modes, refuse_components

#: The kernel is dropped where it falls below this.
_NEGLIGIBLE = 1e-5

#: Times below this many bandwidths are refused.
_FINEST = 4.0


class PointCloud(NodeSpace):
    """A closed manifold in R^d known by sampled points, with its own geodesic metric; points are node indices.

    The Laplacian is a diffusion map with the sampling density divided out (Coifman and Lafon, alpha = 1):
    with K_ij = exp(-|x_i - x_j|^2 / 4e), q_i = sum_j K_ij and W_ij = K_ij / (q_i q_j),

        (1 - exp(-e lambda)) D phi = (D - W) phi,    D_i = sum_j W_ij,

    so that D_i is the share of volume around a node, uniform means uniform in volume whatever the sampling,
    and eigenvalues have no bias from the width e of the kernel on a flat manifold. A node's own weight K_ii is 0 in a
    random sample, 1 in a regular one, and in between as the growth of the kernel sum with e tells. The spectrum
    follows Weyl's law in the estimated dimension. Scales are times, in squared units of the coordinates: sqrt(8 t)
    is a distance along the manifold.

    Parameters
    ----------
    points : array-like, shape (n, d)
        A sample of the manifold, dense everywhere though not evenly.
    neighbours : float, optional
        Kernel weight sum q_i that nine nodes in ten exceed, from which the bandwidth is found. Default: 8.
    bandwidth : float, optional
        The width e itself, a squared length. At most one of the two.
    modes : int, optional
        Number of eigenpairs. Default: what the finest scale asked for needs by Weyl's law.

    Notes
    -----
    Limits: the sample must be free of noise across the manifold, have no boundary (near one, heat is reflected
    but the density is estimated too low), and be dense enough that straight lines between neighbours follow
    the manifold; sheets closer than sqrt(e) merge. `finest_time` is 4 e. Errors in `gess` fall from about five per cent
    there, as measured on spheres and flat tori of 3000 random points; the profile's `error` is
    that measured law, not a bound.

    Examples
    --------
    A circle of radius two, unevenly sampled, has the eigenvalues 0, 1/4, 1/4, 1, 1:

    >>> import heatess as he
    >>> turn = np.arange(500) / 500 * 2 * np.pi
    >>> turn = turn + 0.5 * np.sin(turn)
    >>> cloud = he.PointCloud(2 * np.column_stack([np.cos(turn), np.sin(turn)]), modes=5)
    >>> cloud
    PointCloud(500 points in R^2, dim=1)
    >>> cloud.eigenpairs(cloud.check([0]), 1.0).values.round(2)
    array([0.  , 0.25, 0.25, 1.  , 1.01])
    >>> round(cloud.volume / (4 * np.pi), 2)
    1.0
    """

    def __init__(
        self, points: Any, neighbours: float | None = None, bandwidth: float | None = None, modes: int | None = None
    ) -> None:
        if neighbours is not None and bandwidth is not None:
            raise InputError("give neighbours or bandwidth, not both")
        self._points = _check_cloud(points)
        if bandwidth is None:
            wanted = positive(8.0 if neighbours is None else neighbours, "neighbours")
            self._bandwidth = _bandwidth_for(self._points, wanted)
        else:
            self._bandwidth = positive(bandwidth, "bandwidth")
        squares = _close_squares(self._points, self._bandwidth)
        refuse_components(squares, "the cloud", "give a larger bandwidth, or make one PointCloud of each")
        kernel = squares.copy()
        kernel.data = np.exp(-squares.data / (4 * self._bandwidth))
        # A Gaussian of variance 2e in each of m directions has the mean square 2 m e.
        apparent = float(kernel.data @ squares.data / kernel.data.sum()) / (2 * self._bandwidth)
        self._dim = max(1, round(apparent))
        self._own = _own_weight(apparent / self._dim, float(kernel.data.sum()) / len(self._points))
        self._weights = np.asarray(kernel.sum(axis=1)).ravel() + self._own  # q
        super().__init__(self._diffusion(kernel), check_modes(modes, len(self._points)))

    def __repr__(self) -> str:
        return f"PointCloud({len(self._points)} points in R^{self._points.shape[1]}, dim={self._dim})"

    def _diffusion(self, kernel: Any) -> Laplacian:
        from scipy.sparse import diags, identity

        inverse = diags(1 / self._weights)
        even = inverse @ (kernel + self._own * identity(len(self._points))) @ inverse  # W
        mass = np.asarray(even.sum(axis=1)).ravel()  # D
        return Laplacian((diags(mass) - even) / self._bandwidth, mass, correct=self._without_width)

    def _without_width(self, modes: Modes) -> FloatArray:
        """-log(1 - e lambda) / e: one step of the kernel is heat flow for the time e, not its first-order part."""
        kept = np.maximum(1 - self._bandwidth * modes.values, 1e-3)
        return np.asarray(np.log(1 / kept) / self._bandwidth)

    def uncorrected(self, eigenvalue: float) -> float:
        """(1 - exp(-e lambda)) / e."""
        return -math.expm1(-self._bandwidth * eigenvalue) / self._bandwidth

    @property
    def dim(self) -> int:
        """Dimension of the manifold, from how the kernel's weight is spread over squared distances."""
        return self._dim

    @property
    def bandwidth(self) -> float:
        """The width e of the kernel, a squared length."""
        return self._bandwidth

    @cached_property
    def volume(self) -> float:
        """Estimated volume: sum_i (4 pi e)^(m/2) / q_i, less the bias of the reciprocal of a random sum."""
        bias = (1 - self._own) * 0.5 ** (self._dim / 2)
        return float((4 * math.pi * self._bandwidth) ** (self._dim / 2) * np.sum(1 / (self._weights + bias)))

    @cached_property
    def finest_of_nodes(self) -> float:  # type: ignore[override]
        """Four bandwidths."""
        return _FINEST * self._bandwidth

    def discretisation_error(self, times: FloatArray) -> FloatArray:
        """0.2 e / t + 0.15 times the mean of 1 / q over the volume, a law measured on samples of spheres and tori."""
        shares = 1 / self._weights
        return np.asarray(0.2 * self._bandwidth / times + 0.15 * float(shares @ shares / shares.sum()))

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """*n* independent nodes, drawn by their share of the volume."""
        return rng.choice(self.node_count, size=n, p=self.node_volumes).astype(np.float64)

    @cached_property
    def _edge_lengths(self) -> Any:
        lengths = _close_squares(self._points, self._bandwidth)
        lengths.data = np.sqrt(lengths.data)
        return lengths


def _own_weight(excess: float, mean: float) -> float:
    """K_ii from the law sum_j K_ij = c e^(m/2), which a sum over the others alone breaks by K_ii.

    *mean* is the sum over the others, and *excess* its logarithmic derivative in e over m / 2.
    """
    return min(max(mean * (excess - 1), 0.0), 1.0)


def _check_cloud(points: Any) -> FloatArray:
    array = numeric_array(points, "points").astype(np.float64)
    if array.ndim != 2 or len(array) < 3:
        raise InputError(f"the points of a cloud must have shape (n, d) with n >= 3, but have shape {array.shape}")
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"the points of a cloud must be finite, but row {row} is {array[row][:4].tolist()} "
            f"({int((~finite).sum())} of {len(array)} rows)"
        )
    return array


def _bandwidth_for(points: FloatArray, wanted: float) -> float:
    """The width at which the kernel weights of nine nodes in ten sum to more than *wanted*."""
    from scipy.optimize import brentq
    from scipy.spatial import cKDTree

    count = min(len(points), math.ceil(8 * wanted) + 1)
    if wanted >= count - 1:
        raise InputError(
            f"neighbours must be less than the number of other points, {len(points) - 1}, but is {wanted:g}"
        )
    squares = cKDTree(points).query(points, count)[0][:, 1:] ** 2
    middle = float(np.median(squares[:, min(count - 2, math.ceil(wanted))]))
    if middle == 0:
        raise InputError("most points of the cloud coincide; merge duplicates first")

    def excess(log_width: float) -> float:
        return float(np.quantile(np.exp(-squares / (4 * math.exp(log_width))).sum(axis=1), 0.1)) - wanted

    return math.exp(brentq(excess, math.log(middle) - 12, math.log(middle) + 12, xtol=1e-6))


def _close_squares(points: FloatArray, bandwidth: float) -> Any:
    """Squared distances of the pairs of distinct nodes that the kernel joins."""
    from scipy.sparse import csr_array
    from scipy.spatial import cKDTree

    reach = math.sqrt(4 * bandwidth * math.log(1 / _NEGLIGIBLE))
    pairs = cKDTree(points).query_pairs(reach, output_type="ndarray")
    squares = ((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2).sum(axis=1)
    squares = np.maximum(squares, 1e-30 * bandwidth)  # a stored zero would be no edge
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return csr_array((np.concatenate([squares, squares]), (both[:, 0], both[:, 1])), shape=(len(points),) * 2)
