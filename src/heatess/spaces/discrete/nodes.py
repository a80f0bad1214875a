"""Spaces made of nodes: what meshes, point clouds and graphs share besides their Laplacian."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray, numeric_array
from ...errors import InputError, InputTypeError
from ..base import Space
from ..capabilities import Eigenpairs
from .laplacian import DENSE, MOST_MODES, TAIL, Laplacian, Modes

#: Modes at the coarsest of scales, where gESS needs none but MMD^2 rests on the lowest that carries any energy.
LEAST_MODES = 64


class NodeSpace(Space):
    """A space known by a matrix Laplacian on its nodes. Scales are given as times."""

    angular = False

    #: The smallest time that the nodes, however many the modes, can resolve.
    finest_of_nodes: float = 0.0

    def __init__(self, laplacian: Laplacian, modes: int | None) -> None:
        self._laplacian = laplacian
        self._modes = modes

    def _key(self) -> tuple[object, ...]:
        return (id(self),)

    @property
    def modes(self) -> NodeSpace:
        """Its eigenpairs are its own."""
        return self

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume."""
        return math.log(self.volume)

    def discretisation_error(self, times: FloatArray) -> FloatArray:
        """Estimated relative error of gESS at each time from the eigenpairs themselves not being exact."""
        return np.zeros(len(times))

    @property
    def scalar_curvature(self) -> float:
        """Refused: it varies from place to place, or is not defined."""
        raise InputError(f"{self!r} has no single scalar curvature: it is not homogeneous")

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self._laplacian.size

    @property
    def node_volumes(self) -> FloatArray:
        """Share of the volume at each node, summing to one; equal weights are not uniform unless these are equal."""
        return np.asarray(self._laplacian.mass / self._laplacian.mass.sum())

    def cutoff(self, time: float) -> float:
        """The eigenvalue beyond which the heat trace at 2 *time* holds a share below `TAIL`, by Weyl's law.

        N(lambda) grows as lambda^(m/2), so that share is Q(m/2, 2 lambda t), an incomplete gamma function.
        """
        from scipy.special import gammainccinv

        return float(gammainccinv(self.dim / 2, TAIL)) / (2 * time)

    @cached_property
    def finest_time(self) -> float:
        """The smallest time that the nodes and the modes resolve; sqrt(8 t) is the distance that it means."""
        if self._modes is None:
            return self.finest_of_nodes
        last = float(self._laplacian.lowest(self._modes).values[-1])
        return max(self.cutoff(1.0) / last, self.finest_of_nodes)

    def eigenpairs(self, points: NDArray[Any], time: float) -> Eigenpairs:
        """The eigenpairs that *time* needs, or the given number of them, at *points*."""
        modes = self._modes_for(time)
        return Eigenpairs(modes.values, self.interpolate(points, modes.vectors))

    def lowest_eigenpairs(self, points: NDArray[Any], count: int) -> Eigenpairs:
        """The *count* lowest eigenpairs, or as many as there are nodes if they are fewer, at *points*."""
        count = min(count, self.node_count)
        most = _most_modes(self.node_count) if self._modes is None else self._modes
        if count > most:
            raise InputError(
                f"max_degree={count - 1} needs {count} eigenpairs, but {self!r} has {most} at most; give "
                f"max_degree={most - 1} or less"
            )
        modes = self._laplacian.lowest(count)
        return Eigenpairs(modes.values, self.interpolate(points, modes.vectors))

    def _modes_for(self, time: float) -> Modes:
        if self._modes is not None:
            return self._laplacian.lowest(self._modes)
        modes = self._laplacian.below(self.uncorrected(self.cutoff(time)))
        least = min(LEAST_MODES, _most_modes(self.node_count))
        return modes if len(modes.values) >= least else self._laplacian.lowest(least)

    def uncorrected(self, eigenvalue: float) -> float:
        """An eigenvalue of the matrix below which none is corrected to more than *eigenvalue*."""
        return eigenvalue

    def interpolate(self, points: NDArray[Any], values: FloatArray) -> FloatArray:
        """Functions known at the nodes, shape (nodes, k), at checked points; here the points are nodes."""
        return np.asarray(values[points[:, 0].astype(np.intp)])

    def check(self, points: Any) -> NDArray[Any]:
        """Node indices, as one column."""
        return check_indices(points, self.node_count, "points", f"nodes of {self!r}")[:, None]

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Shortest path between nodes, from neighbour to neighbour, row by row, broadcasting."""
        left, right = np.broadcast_arrays(x, y)
        shape = left.shape
        sources, targets = (
            check_indices(side.ravel(), self.node_count, name, f"nodes of {self!r}").astype(np.intp)
            for side, name in ((left, "x"), (right, "y"))
        )
        distinct, row = np.unique(sources, return_inverse=True)
        found = np.empty(len(targets))
        for block in np.array_split(np.arange(len(distinct)), max(1, len(distinct) * self.node_count // 2**22)):
            paths = self._paths(distinct[block])
            mine = (row >= block[0]) & (row <= block[-1])
            found[mine] = paths[row[mine] - block[0], targets[mine]]
        return found.reshape(shape)

    def _paths(self, sources: NDArray[Any]) -> FloatArray:
        from scipy.sparse.csgraph import dijkstra

        return np.asarray(dijkstra(self._edge_lengths, directed=False, indices=sources))

    @property
    @abstractmethod
    def _edge_lengths(self) -> Any:
        """Sparse symmetric matrix of the lengths of the edges."""

    @cached_property
    def diameter(self) -> float:
        """Longest shortest path found by four sweeps from farthest node to farthest node."""
        node, longest = 0, 0.0
        for _ in range(4):
            paths = self._paths(np.array([node]))[0]
            node, longest = int(np.argmax(paths)), max(longest, float(paths.max()))
        return longest


def check_indices(values: Any, count: int, name: str, of: str) -> FloatArray:
    """Whole numbers from 0 to *count* - 1, shape (n,), or an `InputError` that names the row."""
    if np.asarray(values).dtype == bool:
        raise InputTypeError(
            f"{name} must be indices of {of}, but are true or false; give numpy.flatnonzero of the mask"
        )
    array = numeric_array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} must be indices of {of}, shape (n,), but have shape {array.shape}")
    if not len(array):
        raise InputError(f"{name} are empty; at least one is needed")
    bad = ~((array >= 0) & (array < count) & (array == np.floor(array)))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{name} must be indices of {of}, whole numbers from 0 to {count - 1}, but row {row} is {array[row]:g} "
            f"({int(bad.sum())} of {len(array)} rows)"
        )
    return array.astype(np.float64)


def refuse_extreme_unit(coordinates: FloatArray, name: str) -> None:
    """Coordinates so small or large that areas and their products mean nothing in floating point."""
    with np.errstate(over="ignore"):
        span = float(np.max(coordinates.max(axis=0) - coordinates.min(axis=0)))
    if span and not 1e-50 < span < 1e50:
        raise InputError(f"{name} must span between 1e-50 and 1e+50, but span {span:g}; use another unit of length")


def check_modes(modes: Any, size: int) -> int | None:
    """The number of modes as an int, or None for a number chosen by the scale."""
    if modes is None:
        return None
    most = _most_modes(size)
    if isinstance(modes, bool) or not isinstance(modes, int | np.integer) or not 2 <= modes <= most:
        raise InputError(f"modes must be a whole number from 2 to {most} for {size} nodes, or None, but is {modes!r}")
    return int(modes)


def _most_modes(size: int) -> int:
    """Eigenpairs that can be found on *size* nodes."""
    return size if size <= DENSE else min(MOST_MODES, size // 2)


def refuse_components(adjacency: Any, what: str, remedy: str) -> None:
    """An `InputError` with the sizes of the components unless there is only one."""
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(adjacency, directed=False)
    if count > 1:
        sizes = np.sort(np.bincount(label))[::-1]
        listed = ", ".join(map(str, sizes[:5])) + (", ..." if count > 5 else "")
        raise InputError(
            f"{what} has {count} components, of {listed} nodes: heat does not pass between them, so there is no one "
            f"uniform law; {remedy}"
        )
