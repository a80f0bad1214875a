"""Spaces made of nodes: what meshes, point clouds and graphs share besides their Laplacian."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import EPS, FloatArray, is_whole, numeric_array, refuse_rows
from ...base.errors import InputError, InputTypeError
from ..base import Space
from ..capabilities import Eigenpairs, Resolved
from ..flow import Flow
from .laplacian import FEW, MOST_MODES, TAIL, Laplacian, Solved


class NodeSpace(Space):
    """A space known by a matrix Laplacian on nodes, close enough for times from *finest* up. Scales are times."""

    angular = False
    on_nodes: Literal[True] = True

    #: Relative differences of weights from volumes that are taken for rounding: volumes are sums over faces.
    _even = 64 * EPS

    def __init__(self, laplacian: Laplacian, modes: Any, volume: float, finest: float = 0.0) -> None:
        self.modes = self  # its eigenpairs are its own
        self._laplacian, self._volume, self._finest, size = laplacian, volume, finest, laplacian.size
        if isinstance(modes, int):
            laplacian.wanted = modes
        self._modes, self._most_modes = None, laplacian.most
        if modes is not None:
            modes = check_whole(modes, "modes", 2, self._most_modes, f" for {size} nodes, or None")
            self._modes = self._most_modes = modes

    @cached_property
    def _digest(self) -> bytes:
        """Of what the space was made from: equal for equal spaces, also in other processes."""
        from hashlib import blake2b

        found = blake2b(digest_size=16)
        for part in self._content():
            array = np.ascontiguousarray(part)
            found.update(f"{array.dtype.str}{array.shape}".encode())
            found.update(array.reshape(-1).view(np.uint8).data)  # not a copy, as tobytes() is
        return found.digest()

    @abstractmethod
    def _content(self) -> tuple[NDArray[Any], ...]:
        """The arrays that tell one space of its class from another."""

    def _key(self) -> tuple[object, ...]:
        return (self._digest, self._modes)

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    __hash__ = Space.__hash__

    @property
    def volume(self) -> float:
        """Volume: the area of a mesh, an estimate for a point cloud, the number of nodes of a graph."""
        return self._volume

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

    @property
    def node_edges(self) -> NDArray[np.intp]:
        """Pairs of nodes that are neighbours, shape (edges, 2)."""
        one, other = self._edge_lengths.nonzero()
        return np.asarray(np.column_stack([one, other])[one < other], dtype=np.intp)

    def nearest_nodes(self, points: NDArray[Any]) -> NDArray[np.intp]:
        """The node nearest to each of some checked points."""
        return points[:, 0].astype(np.intp)

    def is_uniform(self, points: NDArray[Any], weights: FloatArray) -> bool:
        """Whether *weights* are the shares of the volume at all nodes, to rounding; *points* are distinct."""
        size, mass = self._laplacian.size, self._laplacian.mass
        if len(points) < size or (places := self._places(points)) is None:
            return False
        ratio = np.bincount(places, weights, minlength=size) / mass
        return bool(ratio.max() <= ratio.min() * (1 + self._even))

    def _places(self, points: NDArray[Any]) -> NDArray[np.intp] | None:
        """The row of the Laplacian of each checked point; None where some lie between rows."""
        return points[:, 0].astype(np.intp)

    def cutoff(self, time: float) -> float:
        """The eigenvalue beyond which the heat trace at 2 *time* holds a share below `TAIL`, by Weyl's law.

        N(lambda) grows as lambda^(m/2), so that share is Q(m/2, 2 lambda t), an incomplete gamma function.
        """
        from scipy.special import gammainccinv

        return float(gammainccinv(self.dim / 2, TAIL)) / (2 * time)

    def _limit(self, time: float) -> float:
        """The eigenvalue up to which eigenpairs are found for *time*."""
        return self.cutoff(time)

    @cached_property
    def finest_of_nodes(self) -> float:
        """The smallest time that the nodes resolve: their spacing, and by Weyl's law the most modes they can have.

        Where these must be found, made larger if they, counted, are more than the law says, as beside a boundary.
        """
        most = 0.4 * self._laplacian.size
        if self.flow is None:
            most = min(most, MOST_MODES)
        ball = math.pi ** (self.dim / 2) / math.gamma(self.dim / 2 + 1)
        largest = float(4 * math.pi**2 * (most / (ball * self.volume)) ** (2 / self.dim))
        of_modes = self.cutoff(1.0) / largest
        finest = max(self._finest, of_modes)
        if self.flow is not None or most * (of_modes / finest) ** (self.dim / 2) < 0.6 * self._laplacian.most:
            return finest
        while (excess := self._laplacian.count(self.cutoff(finest)) / self._laplacian.most) > 1:
            finest *= 1.02 * excess ** (2 / self.dim)
        return finest

    @cached_property
    def finest_time(self) -> float:
        """The smallest time that the nodes and the modes resolve; sqrt(8 t) is the distance that it means."""
        return self.finest_of_nodes if self._modes is None else max(self._finest_of_modes(), self.finest_of_nodes)

    def _finest_of_modes(self) -> float:
        return self.cutoff(1.0) / float(self._laplacian.lowest(self._most_modes).values[-1])

    def eigenpairs(self, points: NDArray[Any], time: float) -> Eigenpairs:
        """The eigenpairs that *time* needs, or the given number of them, at *points*."""
        found = self.resolved(time)
        return Eigenpairs(found.values, found.at(points))

    def lowest_eigenpairs(self, points: NDArray[Any], count: int) -> Eigenpairs:
        """The *count* lowest eigenpairs, or as many as there are nodes if they are fewer, at *points*."""
        found = self.lowest(count)
        return Eigenpairs(found.values, found.at(points))

    def resolved(self, time: float) -> Resolved:
        """The eigenpairs that *time* needs, or the given number of them."""
        if self._modes is not None:
            return self.lowest(self._modes)
        if self._laplacian.smooth:
            return self._resolved(self._laplacian.smooth_below(*self._need(time)))
        limit = self._limit(time)
        found = self._laplacian.below(limit)
        least = min(FEW, self._most_modes)
        if found.values[-1] < limit / 2:  # one more, for the last bounds what is left out
            least = min(max(least, len(found.values) + 1), self._most_modes)
        return self._resolved(found if len(found.values) >= least else self._laplacian.lowest(least))

    def lowest(self, count: int) -> Resolved:
        """The *count* lowest eigenpairs, or as many as there are nodes if they are fewer."""
        count, most = min(count, self._laplacian.size), self._most_modes
        if count > most:
            raise InputError(
                f"`max_degree={count - 1}` needs <+{count} eigenpairs+>, but <!{self!r} has {most} at most!>; give "
                f"`max_degree={most - 1}` or less"
            )
        return self._resolved(self._laplacian.lowest(count))

    def _resolved(self, found: Solved) -> Resolved:
        return Resolved(found.values, found.rounding, lambda points: self.interpolate(points, found.functions))

    def interpolate(self, points: NDArray[Any], values: FloatArray) -> FloatArray:
        """Functions known at the rows of the Laplacian, shape (rows, k), at checked points, which are nodes."""
        return np.asarray(values[self._places(points)])

    @property
    def flow(self) -> Flow | None:  # type: ignore[override]
        """Heat without eigenpairs; None where the user gave their number, or where all of them are soon found."""
        return None if self._modes is not None or self._laplacian.whole else self._laplacian.flow

    def functionals(self, points: NDArray[Any]) -> Any:
        """Sparse rows r_x, shape (n, nodes), with k_2t(x, y) = r_x' G exp(-2 t S) r_y for S and G of the flow."""
        return self._laplacian.functionals(self._evaluation(points))

    def energy(self, points: NDArray[Any], weights: FloatArray) -> float:
        """A - 1 at time zero, of distinct points with signed weights: squares of the coefficients of all modes."""
        return self._laplacian.energy(self.functionals(points), weights)

    def _evaluation(self, points: NDArray[Any]) -> Any:
        """The sparse matrix that takes functions at the rows of the Laplacian to checked points, which are nodes."""
        from scipy.sparse import csr_array

        places = self._places(points)
        rows = np.arange(len(points) + 1, dtype=np.int32)
        return csr_array((np.ones(len(points)), places, rows), shape=(len(points), self._laplacian.size))

    def seconds(self, time: float) -> float:
        """Rough seconds that eigenpairs for *time* take; none if they are known or were asked for by their number."""
        return self._laplacian.seconds(*self._need(time))

    def seconds_lowest(self, count: int) -> float:
        """Rough seconds that the *count* lowest eigenpairs take."""
        return self._laplacian.seconds_lowest(count)

    def serves(self, time: float) -> bool:
        """Whether the eigenpairs for *time* are not more than can be found."""
        return self._modes is not None or self._laplacian.serves(*self._need(time))

    def count(self, time: float) -> int:
        """About how many eigenpairs `resolved` has at *time*."""
        return self._modes or (self.node_count if self._laplacian.complete else self._need(time)[1])

    def _need(self, time: float) -> tuple[float, int]:
        """The largest eigenvalue that *time* needs, and how many there are up to it, by Weyl's law."""
        ball = math.pi ** (self.dim / 2) / math.gamma(self.dim / 2 + 1)
        density = ball * self.volume / (4 * math.pi**2) ** (self.dim / 2)
        limit = max(self.cutoff(time), (FEW / density) ** (2 / self.dim))
        return limit, math.ceil(min(density * limit ** (self.dim / 2), self._laplacian.size))

    def check(self, points: Any) -> NDArray[Any]:
        """Node indices, as one column."""
        return self._check_nodes(points, "points")[:, None]

    def _check_nodes(self, nodes: Any, name: str) -> FloatArray:
        return check_indices(nodes, self.node_count, name, f"nodes of {self!r}")

    def distance(self, x: Any, y: Any) -> FloatArray:
        """Shortest path between nodes, from neighbour to neighbour, row by row, broadcasting."""
        left, right = np.broadcast_arrays(x, y)
        distinct, row = np.unique(self._check_nodes(left.ravel(), "x").astype(np.intp), return_inverse=True)
        targets = self._check_nodes(right.ravel(), "y").astype(np.intp)
        found = np.empty(len(targets))
        for block in np.array_split(np.arange(len(distinct)), max(1, len(distinct) * self.node_count // 2**22)):
            paths = self._paths(distinct[block])
            mine = (row >= block[0]) & (row <= block[-1])
            found[mine] = paths[row[mine] - block[0], targets[mine]]
        return found.reshape(left.shape)

    def _paths(self, sources: NDArray[Any]) -> FloatArray:
        from scipy.sparse.csgraph import dijkstra

        # Lengths are symmetric; with directed=False the matrix would be transposed, and every edge looked at twice.
        return np.asarray(dijkstra(self._edge_lengths, directed=True, indices=sources))

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


def check_whole(value: Any, name: str, least: int, most: int, note: str) -> int:
    """A whole number from *least* to *most*, or an `InputError`."""
    if not is_whole(value) or not least <= value <= most:
        raise InputError.unfit(name, f"a whole number from {least} to {most}{note}", value)
    return int(value)


def check_indices(values: Any, count: int, name: str, of: str) -> FloatArray:
    """Whole numbers from 0 to *count* - 1, shape (n,), or an `InputError` that names the row."""
    expected = f"{name} must be <+indices of {of}+>"
    array = numeric_array(values, name)
    if np.asarray(values).dtype == bool:
        raise InputTypeError(f"{expected}, but are <!true or false!>; give `numpy.flatnonzero` of the mask")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{expected}, shape (n,), but have <!shape {array.shape}!>")
    if not len(array):
        raise InputError.lacking(f"{name} are empty", "index")
    refuse_rows(not_indices(array, count), array, f"{expected}, whole numbers from 0 to {count - 1}")
    return array.astype(np.float64)


def not_indices(array: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Which entries are not whole numbers from 0 to *count* - 1."""
    return np.asarray(~((array >= 0) & (array < count) & (array == np.floor(array))))


def check_places(values: Any, name: str, shape: str, *, columns: int | None = None, least: int = 1) -> FloatArray:
    """Finite coordinates, not so small or large that areas mean nothing in floating point, or an `InputError`."""
    places = numeric_array(values, name).astype(np.float64)
    if places.ndim != 2 or len(places) < least or not places.shape[1] or columns not in (None, places.shape[1]):
        raise InputError.misshapen(name, shape, places.shape)
    refuse_rows(~np.isfinite(places).all(axis=1), places, f"{name} must be <+finite+>")
    with np.errstate(over="ignore"):
        span = float(np.max(places.max(axis=0) - places.min(axis=0)))
    if span and not 1e-50 < span < 1e50:
        raise InputError(f"{name} must <+span between 1e-50 and 1e+50+>, but span <!{span:g}!>; use another unit")
    return places


def refuse_components(adjacency: Any, what: str, remedy: str | Callable[[], str]) -> None:
    """An `InputError` with the sizes of the components of a symmetric matrix unless there is only one.

    A *remedy* that takes long to tell may be a function.
    """
    from scipy.sparse.csgraph import connected_components

    # Each link is there in both directions, so strong components are all; for others the matrix would be transposed.
    count, label = connected_components(adjacency, directed=True, connection="strong")
    if count > 1:
        advice = remedy if isinstance(remedy, str) else remedy()
        sizes = np.sort(np.bincount(label))[::-1]
        listed = ", ".join(map(str, sizes[:5])) + (", ..." if count > 5 else "")
        raise InputError(
            f"{what} has <!{count} components!>, of {listed} nodes: heat does not pass between them, so there is no "
            f"one uniform distribution; {advice}"
        )
