"""Diffusion maps: a point cloud's Laplacian by a kernel, for noisy samples and for more than two dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays import FloatArray
from ...errors import InputError
from .laplacian import Laplacian, Modes
from .nodes import refuse_components

#: The kernel is dropped where it falls below this.
_NEGLIGIBLE = 1e-5


class DiffusionMap:
    """Coifman and Lafon's map with the sampling density divided out (alpha = 1).

    With K_ij = exp(-|x_i - x_j|^2 / 4e), q_i = sum_j K_ij and W_ij = K_ij / (q_i q_j),

        (1 - exp(-e lambda)) D phi = (D - W) phi,    D_i = sum_j W_ij,

    so that D_i is the share of volume around a node, and eigenvalues have no bias from the width e of the kernel on a
    flat manifold. A node's own weight K_ii is 0 in a random sample, 1 in a regular one, and in between
    as the growth of the kernel sum with e tells.
    """

    closed = True  # not known; the sample is taken to have no boundary

    def __init__(self, points: FloatArray, dim: int, bandwidth: float) -> None:
        self._dim, self.bandwidth = dim, bandwidth
        self._squares = _close_squares(points, bandwidth)
        refuse_components(self._squares, "the cloud", "give a larger bandwidth, or make one PointCloud of each")
        kernel = self._squares.copy()
        kernel.data = np.exp(-self._squares.data / (4 * bandwidth))
        # A Gaussian of variance 2e in each of m directions has the mean square 2 m e.
        apparent = float(kernel.data @ self._squares.data / kernel.data.sum()) / (2 * bandwidth)
        self._own = _own_weight(apparent / dim, float(kernel.data.sum()) / len(points))
        self._sums = np.asarray(kernel.sum(axis=1)).ravel() + self._own  # q
        self.laplacian = self._map(kernel)

    def _map(self, kernel: Any) -> Laplacian:
        from scipy.sparse import diags, identity

        inverse = diags(1 / self._sums)
        even = inverse @ (kernel + self._own * identity(len(self._sums))) @ inverse  # W
        mass = np.asarray(even.sum(axis=1)).ravel()  # D
        return Laplacian((diags(mass) - even) / self.bandwidth, mass, correct=self._without_width)

    def _without_width(self, modes: Modes) -> FloatArray:
        """-log(1 - e lambda) / e: one step of the kernel is heat flow for the time e, not its first-order part."""
        kept = np.maximum(1 - self.bandwidth * modes.values, 1e-3)
        return np.asarray(np.log(1 / kept) / self.bandwidth)

    def uncorrected(self, eigenvalue: float) -> float:
        """(1 - exp(-e lambda)) / e."""
        return -math.expm1(-self.bandwidth * eigenvalue) / self.bandwidth

    @property
    def volume(self) -> float:
        """sum_i (4 pi e)^(m/2) / q_i, less the bias of the reciprocal of a random sum."""
        bias = (1 - self._own) * 0.5 ** (self._dim / 2)
        return float((4 * math.pi * self.bandwidth) ** (self._dim / 2) * np.sum(1 / (self._sums + bias)))

    @property
    def finest(self) -> float:
        """Four bandwidths."""
        return 4 * self.bandwidth

    def error(self, times: FloatArray) -> FloatArray:
        """0.4 e / t + 0.6 times the mean of 1 / q over the volume.

        Twice a law measured on samples of spheres and tori, because very uneven ones were found to need so much.
        """
        shares = 1 / self._sums
        return np.asarray(0.4 * self.bandwidth / times + 0.6 * float(shares @ shares / shares.sum()))

    @property
    def edge_lengths(self) -> Any:
        """Sparse symmetric matrix of the distances of the nodes that the kernel joins."""
        lengths = self._squares.copy()
        lengths.data = np.sqrt(lengths.data)
        return lengths


def bandwidth_for(points: FloatArray, wanted: float) -> float:
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

    def excess(log_width: float) -> float:
        return float(np.quantile(np.exp(-squares / (4 * math.exp(log_width))).sum(axis=1), 0.1)) - wanted

    return math.exp(brentq(excess, math.log(middle) - 12, math.log(middle) + 12, xtol=1e-6))


def _own_weight(excess: float, mean: float) -> float:
    """K_ii from the law sum_j K_ij = c e^(m/2), which a sum over the others alone breaks by K_ii.

    *mean* is the sum over the others, and *excess* its logarithmic derivative in e over m / 2.
    """
    return min(max(mean * (excess - 1), 0.0), 1.0)


def _close_squares(points: FloatArray, bandwidth: float) -> Any:
    """Squared distances of the pairs of distinct nodes that the kernel joins."""
    from scipy.sparse import csr_array
    from scipy.spatial import cKDTree

    reach = math.sqrt(4 * bandwidth * math.log(1 / _NEGLIGIBLE))
    pairs = cKDTree(points).query_pairs(reach, output_type="ndarray")
    squares = ((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2).sum(axis=1)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return csr_array((np.concatenate([squares, squares]), (both[:, 0], both[:, 1])), shape=(len(points),) * 2)
