"""What single atoms do for gESS: how redundant each is, and how gESS changes with its weight and its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray
from ..base.errors import PrecisionWarning, warn
from ..base.progress import Progress, told
from ..base.results import Result
from ..engines import columns, plan
from ..engines.base import PotentialQuestion, SlopesQuestion
from ..engines.slopes import steepness
from ..engines.spectral import AGAIN
from ..measures import scales
from ..measures.measure import Measure
from ..measures.scales import check_one_scale, check_rtol
from ..spaces.base import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Uncertainty of a redundancy that is worth a warning.
REDUNDANCY_ERROR_TO_WARN_OF = 1e-4

#: The same where triangles or samples stand for a surface, and overlaps are estimates.
MESHED = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class Gradient(Result):
    """The gradient of gESS at one scale, see `gradient`.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        By the weights.
    points : ndarray, shape (n, d), or None
        By the points, tangential to the sphere, for each radian; None on spaces other than spheres.
    gess : float
        gESS itself.
    time, space : float, Space
        The scale, and the manifold.

    Examples
    --------
    >>> import heatess as he
    >>> slope = he.gradient(he.samplers.fibonacci(50), angle=20)
    >>> slope
    Gradient(Sphere(2), n=50: gESS 31.83 at angle 20 degrees; largest by weight 2.92, by place 0.598)
    >>> slope.points.shape
    (50, 3)
    """

    weights: FloatArray
    points: FloatArray | None
    gess: float
    time: float
    space: Space

    schema: ClassVar[str] = "heatess.gradient/1"
    columns: ClassVar[tuple[str, ...]] = ("weights", "points")
    facts: ClassVar[tuple[str, ...]] = ("gess", "time", "space")
    row_name: ClassVar[str] = "point"

    def plot(self, ax: Axes | None = None, *, quantity: str = "weights", **style: Any) -> Axes:
        """Draw it from the largest to the smallest; see `heatess.inference.drawing.gradient.draw_gradient`.

        >>> import heatess as he
        >>> slope = he.gradient(he.samplers.fibonacci(50), angle=20)
        >>> ax = slope.plot()
        >>> ax.get_xlabel()
        'points, from the largest gradient to the smallest'
        """
        from .drawing.gradient import draw_gradient

        return draw_gradient(self, ax, quantity=quantity, **style)

    def __repr__(self) -> str:
        largest = f"largest by weight {np.abs(self.weights).max():.3g}"
        if self.points is not None:
            largest += f", by place {np.sqrt(np.square(self.points).sum(axis=1).max()):.3g}"
        at = scales.in_words(self.space, self.time)
        return f"Gradient({self.space!r}, n={len(self.weights)}: gESS {self.gess:.4g} at {at}; {largest})"


@told
def redundancy(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
    rtol: float = 1e-8,
    progress: bool = False,
) -> FloatArray:
    """Share of the overlap at each point that comes from the others: 0 for a point by itself, near 1 among many.

        redundancy_i = 1 - w_i / sum_j w_j s_t(x_i, x_j)

    The time is that of `potential`: linear in n wherever there is a transform, and at fine scales.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`.
    angle, time, resolution : float
        Exactly one of them: the scale.
    rtol : float
        Absolute accuracy of the sum as a share of its mean over the points, 1 / gESS. For points with too little weight
        for that it is summed again over pairs if they are few, which is good to about 1e-12; where even that leaves a
        redundancy uncertain by 1e-4, a `PrecisionWarning` says so.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Returns
    -------
    ndarray, shape (n,)
        From 0 to 1; 1 for a point of zero weight.

    Examples
    --------
    Two points at one place and one far away:

    >>> redundancy([[0, 0, 1], [0, 0, 1], [1, 0, 0]], angle=5).round(6)
    array([0.5, 0.5, 0. ])
    """
    measure, t = _checked(points, weights, log_weights, space, (angle, time, resolution), rtol)
    own, sums = measure.weights, _potential(measure, t, rtol)
    mean, most = float(own @ np.maximum(sums, own)), max(REDUNDANCY_ERROR_TO_WARN_OF, rtol)
    bad = _doubt(own, sums, rtol * mean) > most
    better = _by_rows(measure, t, rtol, bad) if bad.any() else None
    accuracies = np.full(measure.n, rtol)
    if better is not None:
        sums[bad], accuracies[bad] = better
    # Triangles and samples that stand for a surface have overlaps below zero, which tell how wrong they are.
    short = (own - sums) / mean
    doubt, meshing = _doubt(own, sums, accuracies * mean), _doubt(own, sums, np.maximum(short, 0.0) * mean)
    bad = (doubt > most) | (meshing > MESHED)
    if bad.any():
        row = int(np.argmax(np.where(bad, np.maximum(doubt, meshing), 0.0)))
        meshed, doubt = bool(meshing[row] > doubt[row]), np.maximum(doubt, meshing)
        warn(
            f"the redundancy of {int(bad.sum())} of {measure.n} points may be off by more than "
            f"{REDUNDANCY_ERROR_TO_WARN_OF:g}, that of row {row} by {min(float(doubt[row]), 1.0):.0e}: "
            f"their weights, {own[row]:.0e} there, are too small beside the accuracy "
            f"{max(accuracies[row], short[row]):.0e} of the sum"
            + (" on these nodes; leave such points out" if meshed else "; give a smaller `rtol`, or leave them out"),
            PrecisionWarning,
        )
    # A point overlaps with itself by one, so its own share is at most the whole, and in [0, 1].
    return np.asarray(1 - np.divide(own, np.maximum(sums, own), out=np.zeros(measure.n), where=own > 0))


def _doubt(own: FloatArray, sums: FloatArray, error: FloatArray | float) -> FloatArray:
    """What an *error* of the sums does to the shares w / f: f is at least w, since an atom overlaps with itself by one.

    >>> _doubt(np.array([1e-3, 1e-20]), np.array([0.5, 1e-15]), 1e-8).round(6)
    array([0., 1.])
    """
    least, most = np.maximum(sums - error, own), np.maximum(sums, own) + error
    return np.divide(own, least, out=np.zeros(len(own)), where=own > 0) - own / np.maximum(most, 1e-300)


@told
def gradient(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
    rtol: float = 1e-8,
    progress: bool = False,
) -> Gradient:
    """The gradient of gESS at one scale, by the weights and, on spheres, by the points.

    With G = gESS, normalised weights w, and f_i = sum_j w_j s_t(x_i, x_j),

        d G / d w_i = 2 G (1 - G f_i),     d G / d x_i = -2 G^2 w_i sum_j w_j grad s_t(x_i, x_j).

    Weights are normalised again when one of them changes, so sum_i w_i dG/dw_i = 0, and for changes that sum to zero it
    makes no difference. By the points it is tangential: a step e along the sphere at x_i changes G by e . dG/dx_i. On
    S^m the derivative of the heat kernel in the cosine of the distance is a heat kernel of S^(m+2): no digit is lost.

    By the weights the time is that of `potential`, linear in n wherever there is a transform. By the points it is
    linear on S^1 and S^2 at scales that the transform serves; elsewhere all pairs are summed.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`.
    angle, time, resolution : float
        Exactly one of them: the scale.
    rtol : float
        Absolute accuracy of f_i as a share of its mean 1 / G, and of its gradient as that share of the steepest slope
        that such an f can have, sqrt(2) / (G alpha) at small scales alpha = sqrt(8 t), in radians.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Returns
    -------
    Gradient
        With `weights`, shape (n,), `points`, shape (n, d) or None where the space is no sphere, and `gess`.

    Examples
    --------
    Of three points, two are close together: less weight for them would help, and to move them apart:

    >>> close = [[0, 0, 1], [0, 0.6, 0.8], [1, 0, 0]]
    >>> found = gradient(close, angle=45)
    >>> found.weights.round(2)
    array([-0.53, -0.53,  1.06])
    >>> found.points.round(2) + 0.0
    array([[-0.11, -1.09,  0.  ],
           [-0.11,  0.87, -0.66],
           [ 0.  , -0.07, -0.21]])
    """
    measure, t = _checked(points, weights, log_weights, space, (angle, time, resolution), rtol)
    sums = np.maximum(_potential(measure, t, rtol), measure.weights)  # a point overlaps with itself by one
    count = 1 / float(measure.weights @ sums)
    slopes = _slopes(measure, t, rtol, 1 / count)
    by_points = None if slopes is None else -2 * count**2 * measure.weights[:, None] * slopes
    return Gradient(2 * count * (1 - count * sums), by_points, min(max(count, 1.0), measure.ess), t, measure.space)


def _checked(
    points: Any, weights: Any, log_weights: Any, space: Space | None, scale: tuple[Any, Any, Any], rtol: float
) -> tuple[Measure, float]:
    """The measure and the time of one scale."""
    check_rtol(rtol)
    check_one_scale(*scale)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    return measure, float(scales.resolve(measure.space, *scale).times[0])


def _potential(measure: Measure, time: float, rtol: float) -> FloatArray:
    """sum_j w_j s_t(x_i, x_j) at each atom."""
    return columns.potential(measure, time, rtol, measure.points, Progress(False))


def _by_rows(measure: Measure, time: float, rtol: float, rows: NDArray[np.bool_]) -> tuple[FloatArray, float] | None:
    """The same at some atoms by all pairs with them, and its accuracy; None where that is no better or takes long."""
    question = PotentialQuestion(measure, np.array([time]), rtol, mmd2=False, at=measure.points[rows])
    found = columns.potentials_within(question, AGAIN, plan.EXACT)
    return None if found is None else (found.values[0], found.error)


def _slopes(measure: Measure, time: float, rtol: float, mean: float) -> FloatArray | None:
    """Tangential gradients of f = sum_j w_j s_t(., x_j) at the atoms, shape (n, d); None off unit spheres."""
    space, series, kernel = measure.space, measure.space.of_sphere, measure.space.zonal
    if series is None or kernel is None or series.step != 1 or series.radius != 1 or space.form != "vectors":
        return None
    rows = kernel.rows(measure.points)
    if steepness(series, time) == 0:  # it underflows: the sphere is one footprint
        return np.zeros(rows.shape)

    def words(wait: str) -> str:
        where = f"{measure.n:,} points on {space!r} at {scales.in_words(space, time)}"
        instead = "take that by weights, 2 G (1 - G f) with G = gESS, from f = potential(...) alone"
        return f"the gradient by {where} would take {wait}; give fewer points or a coarser scale, or {instead}"

    vectors = columns.slopes(SlopesQuestion(measure, np.array([time]), rtol, mean=mean), words)
    return np.asarray(vectors - np.einsum("ij,ij->i", vectors, rows)[:, None] * rows)
