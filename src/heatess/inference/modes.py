"""Modes of any width: how many there are, and which points belong to each."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.errors import InputError
from ..base.progress import told
from ..base.results import Result
from ..measures.measure import Measure, distinct_rows
from ..measures.scales import resolve
from ..profiles.default_scales import fitting_scales
from ..spaces.base import Space
from .mode_ground import ground_of, nearest
from .mode_landscape import Landscape
from .mode_tree import FEWEST_DRAWS, grow

if TYPE_CHECKING:
    pass

#: Ratio of neighbouring times, up to so many dimensions; above them it is nearer to one.
RATIO, FEW_DIMENSIONS = 2.0, 4


@dataclass(frozen=True, eq=False, repr=False)
class Modes(Result):
    """The modes of a cloud, the largest first; see `modes`.

    Attributes
    ----------
    count : int
        How many modes there are.
    labels : ndarray, shape (n,)
        The mode of each point, from 0 to count - 1.
    shares : ndarray, shape (count,)
        The weight of each mode, summing to one, falling.
    centers : ndarray, shape (count, columns)
        A point of the space at the peak of each, in the space's own form: one of the points, or a node.
    scales : ndarray, shape (count,)
        The width at the peak at which each came apart from its neighbour, an angle in degrees or a distance; inf if
        there is one mode alone.
    n, draws, space : int, float, Space
        Number of points, how many draws they count as, and the manifold.

    Examples
    --------
    >>> import heatess as he
    >>> found = he.modes(he.samplers.tetrahedral(400, 30.0, rng=0))
    >>> found.count, found.shares.round(2)
    (4, array([0.25, 0.25, 0.25, 0.25]))
    """

    labels: IntArray
    shares: FloatArray
    centers: NDArray[Any]
    scales: FloatArray
    draws: float
    space: Space
    _tree: FloatArray = field(repr=False)  #: (levels, 1 + count): draws within a width, and the leaf of each mode

    schema: ClassVar[str] = "heatess.modes/1"
    columns: ClassVar[tuple[str, ...]] = ("shares", "scales", "centers")
    facts: ClassVar[tuple[str, ...]] = ("count", "n", "draws", "space")
    row_name: ClassVar[str] = "mode"
    _others: ClassVar[dict[str, tuple[str, ...]]] = {"labels": ("point",)}
    _drawing: ClassVar[str] = ".drawing.modes:draw_tree"

    @property
    def count(self) -> int:
        """Number of modes."""
        return len(self.shares)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.labels)

    def __repr__(self) -> str:
        what = "1 mode" if self.count == 1 else f"{self.count} modes"
        shares = " + ".join(f"{100 * share:.3g}" for share in self.shares[:8])
        more = " + ..." if self.count > 8 else ""
        return f"Modes({self.space!r}, n={self.n}: {what}, {shares}{more} %)"


@told
def modes(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    progress: bool = False,
) -> Modes:
    """The modes of a cloud, wide and narrow ones, and the mode of each point.

    Each point is smoothed by the heat kernel at a width of its own, at which about m draws are within it, more closely
    where the cloud is dense: the density is

        f(y) = sum_j w_j k_2t_j(y, x_j),    se(y)^2 = sum_j w_j^2 (k_2t_j(y, x_j) - f(y))^2.

    From many draws m within a width to few, a leaf of the tree is split, for good, where two of its peaks stand above
    the saddle between them by more than

        sqrt(2 log(N + 1) + 2 log 4) + c standard errors, N = draws / m,

    and a tenth of the saddle; c is -0.1 where draws spread in a plane or in more dimensions, and 2.4 along a line.
    A peak at the border of a leaf from which the neighbouring leaf rises is none. Where the higher peak stands and the
    lower one lacks up to one standard error, everything but the lower part is cut off at the height of the saddle; then
    that part must be above the rest at the width with as many draws within as it has, by sqrt(2 log(N + 1)) + c
    standard errors of the difference and a factor of two. A spike on the slope of a wide mode is found by cutting it
    off at the height of the wide one: at a width with at most a quarter of the draws within, what is left must be
    higher elsewhere than at the place of the spike, by one standard error more than is asked of a peak, and a tenth.
    Saddles are found along edges between neighbours and in their middle; meshes, point clouds and graphs have edges of
    their own. It stops at four draws within a width: there are no more modes than draws support. A mode has at least
    1.2 % of the weight and four draws.

    Points must be independent draws, or weighted ones; draws that repeat a point exactly count as one, except on
    meshes, point clouds and graphs. Beyond 8,192 distinct points (2,048 on products and hyperbolic spaces), peaks are
    looked for at so many of them; all of them count in the density.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Returns
    -------
    Modes
        With `count`, `labels`, `shares`, `centers` and `scales`.

    Examples
    --------
    A wide mode, and a narrow one of a fifth of the weight beside it:

    >>> import numpy as np
    >>> import heatess as he
    >>> wide = he.samplers.von_mises_fisher(400, [0, 0, 1], 10, rng=0)
    >>> narrow = he.samplers.von_mises_fisher(100, [1, 0, 0], 500, rng=1)
    >>> found = he.modes(np.concatenate([wide, narrow]))
    >>> found
    Modes(Sphere(2), n=500: 2 modes, 80 + 20 %)
    >>> found.centers[1].round(1) + 0.0
    array([1., 0., 0.])
    """
    return _modes(Measure.of(points, weights, log_weights=log_weights, space=space))


def _modes(measure: Measure) -> Modes:
    atoms, squares = _atoms(measure)
    draws = 1 / float(squares.sum())
    if draws < 2 * FEWEST_DRAWS:
        raise InputError(
            f"modes need <+at least {2 * FEWEST_DRAWS:g} draws+>, but <!these points count as {draws:.3g}!>: points "
            "that repeat each other count once, and uneven weights count for less; give more draws"
        )
    land = Landscape(atoms, squares, ground_of(atoms), _times(atoms))
    tree = grow(land)
    shares = np.bincount(tree.leaves[land.ground.of_atoms], atoms.weights, len(tree.peaks))
    order = np.argsort(-shares, kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    labels = rank[tree.leaves[_vertices(land, measure)]]
    widths = np.sqrt(8 * tree.times[order])
    history = [[split.draws, *split.leaves[tree.peaks[order]]] for split in tree.splits]
    return Modes(
        labels=labels,
        shares=shares[order] / shares.sum(),
        centers=land.ground.places[tree.peaks[order]],
        scales=np.degrees(widths) if measure.space.angular else widths,
        draws=land.draws,
        space=measure.space,
        _tree=np.array(history, dtype=np.float64).reshape(len(history), 1 + len(order)),
    )


def _atoms(measure: Measure) -> tuple[Measure, FloatArray]:
    """Distinct atoms that have weight, and the sums of squared weights of the draws at each."""
    support = np.flatnonzero(measure.weights > 0)
    points, weights = measure.points[support], measure.weights[support]
    label, first = distinct_rows(np.ascontiguousarray(points) + 0.0)  # -0.0 and 0.0 are one coordinate
    order = np.argsort(first)  # as they stand in the rows
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    label, first = place[label], first[order]
    mass = np.bincount(label, weights)
    squares = np.bincount(label, weights**2) if measure.space.modes is not None else mass**2
    return Measure.trusted(measure.space, points[first], mass / mass.sum()), squares / mass.sum() ** 2


def _times(atoms: Measure) -> FloatArray:
    """From the coarsest of the scales that fit the cloud to the finest, so close that widths between are mixtures."""
    ends = fitting_scales(atoms).times
    ratio = RATIO ** min(1.0, FEW_DIMENSIONS / max(atoms.space.dim, 1))
    count = max(2, math.ceil(math.log(float(ends.max() / ends.min())) / math.log(ratio)) + 1)
    return resolve(atoms.space, times=np.geomspace(float(ends.max()), float(ends.min()), count)).times


def _vertices(land: Landscape, measure: Measure) -> IntArray:
    """The vertex that each point is at, or nearest to."""
    if measure.space.modes is not None:
        return measure.space.modes.nearest_nodes(measure.points)
    return nearest(measure.space, land.ground.places[: land.ground.vertices], measure.points, 1)[1][:, 0]
