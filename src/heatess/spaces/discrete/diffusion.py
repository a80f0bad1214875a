"""Diffusion maps: a point cloud's Laplacian by a kernel, for noisy samples and for more than two dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.arrays import FloatArray
from ...base.blocks import map_rows, thread_count
from ...base.errors import InputError
from .laplacian import Laplacian
from .matrices import from_entries, scaled, with_data
from .nodes import refuse_components

_NEGLIGIBLE_KERNEL = 1e-5  # the kernel is dropped where it falls below this
_NODES_ON_A_LINE = 4096  # nodes on a line whose neighbours are found at once; fewer with more coordinates


class DiffusionMap:
    """Coifman and Lafon's map with the sampling density divided out (alpha = 1).

    With K_ij = exp(-|x_i - x_j|^2 / 4e), q_i = sum_j K_ij and W_ij = K_ij / (q_i q_j),

        (1 - exp(-e lambda)) D phi = (D - W) phi,    D_i = sum_j W_ij,

    so that D_i is the share of volume around a node, and eigenvalues have no bias from the width e of the kernel on a
    flat manifold. A node's own weight K_ii is 0 in a random sample, 1 in a regular one, and in between as the growth of
    the kernel sum with e tells: sum_j K_ij = c e^(m/2), which a sum over the others alone breaks by K_ii. The volume is
    sum_i (4 pi e)^(m/2) / q_i, less the bias of the reciprocal of a random sum. The finest time is 4 e.
    """

    closed = True  # not known; the sample is taken to have no boundary

    def __init__(self, points: FloatArray, dim: int, bandwidth: float) -> None:
        from scipy.sparse import diags_array, eye_array

        self.bandwidth, self.finest = bandwidth, 4 * bandwidth
        squares = _close_squares(points, bandwidth)
        refuse_components(squares, "the cloud", "give a larger bandwidth, or make one PointCloud of each")
        self.edge_lengths = with_data(squares, np.sqrt(squares.data))
        kernel = with_data(squares, np.exp(-squares.data / (4 * bandwidth)))
        total = float(kernel.data.sum())
        # A Gaussian of variance 2e in each of m directions has the mean square 2 m e.
        apparent = float(kernel.data @ squares.data / total) / (2 * bandwidth)
        del squares  # which may be large
        own = min(max(total / len(points) * (apparent / dim - 1), 0.0), 1.0)  # K_ii
        sums = np.asarray(kernel.sum(axis=1)).ravel() + own  # q
        bias = (1 - own) * 0.5 ** (dim / 2)
        self.volume = float((4 * math.pi * bandwidth) ** (dim / 2) * np.sum(1 / (sums + bias)))
        shares = 1 / sums
        self._scarcity = float(shares @ shares / shares.sum())
        even = scaled(kernel + own * eye_array(len(sums), format="csr"), shares)  # W
        mass = np.asarray(even.sum(axis=1)).ravel()  # D
        stiffness = diags_array(mass, format="csr") - even
        stiffness.data /= bandwidth
        self.laplacian = Laplacian(stiffness, mass, step=bandwidth)

    def error(self, times: FloatArray) -> FloatArray:
        """0.4 e / t + 0.6 times the mean of 1 / q over the volume.

        Twice a law measured on samples of spheres and tori, because very uneven ones were found to need so much.
        """
        return np.asarray(0.4 * self.bandwidth / times + 0.6 * self._scarcity)


def bandwidth_for(points: FloatArray, wanted: float) -> float:
    """The width at which the kernel weights of nine nodes in ten sum to more than *wanted*."""
    from scipy.optimize import brentq
    from scipy.spatial import cKDTree

    count, others = min(len(points), math.ceil(8 * wanted) + 1), len(points) - 1
    if wanted >= count - 1:
        raise InputError.unfit("neighbours", f"less than the number of other points, {others}", wanted)
    squares = cKDTree(points).query(points, count, workers=thread_count())[0][:, 1:] ** 2
    middle = float(np.median(squares[:, min(count - 2, math.ceil(wanted))]))

    def excess(log_width: float) -> float:
        return float(np.quantile(np.exp(-squares / (4 * math.exp(log_width))).sum(axis=1), 0.1)) - wanted

    return math.exp(brentq(excess, math.log(middle) - 12, math.log(middle) + 12, xtol=1e-6))


def _close_squares(points: FloatArray, bandwidth: float) -> Any:
    """Squared distances of the pairs of distinct nodes that the kernel joins, a symmetric matrix."""
    from scipy.sparse import vstack
    from scipy.spatial import cKDTree

    reach = math.sqrt(4 * bandwidth * math.log(1 / _NEGLIGIBLE_KERNEL))
    tree = cKDTree(points)

    def some(rows: slice) -> Any:
        mine = points[rows]
        near = cKDTree(mine).sparse_distance_matrix(tree, reach, output_type="ndarray")
        row, column = near["i"], near["j"]
        other = row + rows.start != column
        row, column = row[other], column[other]
        apart = mine[row] - points[column]
        return from_entries(row, column, np.einsum("pd,pd->p", apart, apart), (len(mine), len(points)))

    return vstack(map_rows(some, len(points), max(_NODES_ON_A_LINE // points.shape[1], 64)), format="csr")
