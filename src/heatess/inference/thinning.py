"""Thinning: a few of the atoms, with new weights, in place of all, and a certificate of what that changes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray, positive, whole
from ..base.blocks import one_blas_thread
from ..base.errors import InputError
from ..base.progress import Progress, told
from ..base.results import Result
from ..engines import columns, overlaps, plan
from ..measures import scales
from ..measures.measure import Measure, distinct_rows
from ..measures.scales import check_one_scale, check_rtol
from ..spaces.base import Space
from .certificate import Certificate, certify
from .herding import Candidates, Chosen, choose

if TYPE_CHECKING:
    pass

#: Atoms to choose from, at least, and for each that is kept; overlaps of both held at once; and most atoms kept.
CANDIDATES, PER_ATOM, TABLE, MOST_POINTS_KEPT = 2**13, 8, 2**27, 6000

#: Accuracy of the potential where it costs little.
SHARP = 1e-11

#: Seconds that count as little, and so much more for each atom.
LITTLE, LITTLE_ATOM = 0.1, 2e-6

#: How close to the least size that meets an error the search comes, and how often it may still raise it.
CLOSE_TO_LEAST_SIZE, RAISES = 1.05, 20


@dataclass(frozen=True, eq=False, repr=False)
class Thinned(Result):
    """Some of the points with new weights, and what that changes; see `thin`.

    Attributes
    ----------
    indices : ndarray, shape (size,)
        Rows of the given points, increasing.
    weights : ndarray, shape (size,)
        Their new weights: positive, summing to one.
    mmd : float
        MMD_t between the thinned measure and the whole one, rounded up: never less than the truth for the points as
        they are in float64; on meshes and point clouds, for the eigenpairs as they are. On spaces of infinite volume
        and on meshes, point clouds and graphs it is that of the overlap s_t in place of k_2t.
    bound : float
        |log (gESS of the thinned / gESS of all)| is no more, at the scale given and, on compact homogeneous spaces, at
        all coarser ones.
    measure : Measure
        The thinned measure, for any function that takes points.
    n, size : int
        Numbers of points before and after.
    time, space : float, Space
        The scale, and the manifold.

    Examples
    --------
    >>> import heatess as he
    >>> few = he.thin(he.samplers.fibonacci(500), size=60, angle=30)
    >>> few.size, round(few.bound, 3)
    (60, 0.078)
    >>> round(he.gess(few.measure, angle=30), 2), round(he.gess(he.samplers.fibonacci(500), angle=30), 2)
    (14.9, 14.93)
    """

    indices: IntArray
    weights: FloatArray
    mmd: float
    bound: float
    measure: Measure
    n: int
    time: float
    _times: FloatArray = field(repr=False)
    _gess: FloatArray = field(repr=False)

    schema: ClassVar[str] = "heatess.thinned/1"
    columns: ClassVar[tuple[str, ...]] = ("indices", "weights")
    facts: ClassVar[tuple[str, ...]] = ("mmd", "bound", "n", "size", "time", "space")
    row_name: ClassVar[str] = "point"
    _row_key: ClassVar[str] = "indices"
    _drawing: ClassVar[str] = ".drawing.thinning:draw_thinned"

    @property
    def size(self) -> int:
        """Number of points kept."""
        return len(self.indices)

    @property
    def space(self) -> Space:
        """The manifold."""
        return self.measure.space

    @property
    def covers_coarser(self) -> bool:
        """Whether `bound` holds at all coarser scales too."""
        return self.space.compact and self.space.modes is None

    def __repr__(self) -> str:
        at = scales.in_words(self.space, self.time)
        where = "there and at all coarser scales" if self.covers_coarser else "there"
        factor = math.exp(min(self.bound, 700.0))
        change = f"{100 * math.expm1(self.bound):.2g} %" if factor < 2 else f"a factor {factor:.2g}"
        count = f"{self.size} of {self.n} points, MMD {self.mmd:.2g} at {at}"
        return f"Thinned({self.space!r}: {count}; gESS within {change} {where})"


@told
def thin(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
    size: int | None = None,
    error: float | None = None,
    rtol: float = 1e-8,
    progress: bool = False,
) -> Thinned:
    """A smaller weighted set that is the same at one scale and above, with a certificate of what it changes.

    Of the points, some are kept and weighted anew so that MMD_t between the two measures is small. With A the power,
    A = k_2t(x, x) / gESS, the triangle inequality gives

        |sqrt A_P - sqrt A_Q| <= MMD_t,    so    |log gESS_P - log gESS_Q| <= 2 log(1 + MMD_t / sqrt(min(A_P, A_Q))).

    `bound` is the largest of the right side over the scale given and all coarser ones, rounded up. On spaces of
    infinite volume, and on meshes, point clouds and graphs, it is for the scale given alone.

    Points are chosen by kernel herding, then improved in at most 15 rounds: the best non-negative weights, and new
    points by matching pursuit in place of those that get none. Nothing is random. Time and memory are linear in n
    wherever `potential` is. Beyond 8,192 points, or eight for each that is kept, only so many of them, evenly spaced by
    weight, may be chosen; all of them count in the MMD.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`.
    size : int
        The largest number of points to keep, up to 6,000. Fewer are kept where more would not help. If there are no
        more distinct ones than this, all are kept, their duplicates merged, and nothing changes.
    error : float
        In place of *size*: keep few, such that gESS changes by a factor of at most 1 + *error*, as `bound` certifies.
    angle, time, resolution : float
        Exactly one of them: the finest scale that matters.
    rtol : float
        Accuracy of the sums that points are chosen by and that the certificate is made of, which counts it in.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Examples
    --------
    Three thousand points in four modes, seen at 20 degrees and above, are as good as forty:

    >>> import heatess as he
    >>> cloud = he.samplers.tetrahedral(3000, 140.0, rng=1)
    >>> thinned = thin(cloud, size=40, angle=20)
    >>> thinned
    Thinned(Sphere(2): ... of 3000 points, MMD 0.01... at angle 20 degrees; gESS within ... % there and at all coarser
    scales)
    >>> [round(he.gess(which, angle=20), 1) for which in (cloud, thinned.measure)]
    [5.0, 5.0]
    """
    check_rtol(rtol)
    check_one_scale(angle, time, resolution)
    wanted, target = _checked(size, error)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    t = float(scales.resolve(measure.space, angle, time, resolution).times[0])
    rows, atoms = _distinct(measure)
    task = _Task(measure.n, rows, atoms, t, rtol)
    return task.of_size(wanted) if target is None else task.of_error(target)


def _checked(size: Any, error: Any) -> tuple[int, float | None]:
    if (size is None) == (error is None):
        found = "neither" if size is None else "both"
        raise InputError(
            "give <+either `size=`, the number of points to keep, or `error=`, the largest relative change of gESS "
            f"allowed+>, but found <!{found}!>"
        )
    if error is not None:
        return 0, positive(error, "error", "a positive number such as 0.01, for a change of gESS by one per cent")
    return whole(size, "size", 1), None


def _distinct(measure: Measure) -> tuple[IntArray, Measure]:
    """The first row of each distinct atom that has weight, increasing, and the measure on them."""
    support = np.flatnonzero(measure.weights > 0)
    points = measure.points[support]
    label, first = distinct_rows(np.ascontiguousarray(points) + 0.0)  # -0.0 and 0.0 are one coordinate
    masses = np.bincount(label, measure.weights[support]).astype(np.float64)
    order = np.argsort(first)
    rows = support[first[order]]
    return rows, Measure.trusted(
        measure.space, points[first[order]], masses[order], measure.known.rows(rows, measure.n)
    )


@dataclass(eq=False)
class _Task:
    """Distinct atoms to thin, the rows they come from, and the scale."""

    n: int
    rows: IntArray
    atoms: Measure
    time: float
    rtol: float
    _known: dict[int, tuple[IntArray, Candidates]] = field(default_factory=dict)

    def of_size(self, size: int) -> Thinned:
        if size >= self.atoms.n:
            return self._result(np.arange(self.atoms.n), self.atoms.weights)
        places, candidates = self._candidates(size)
        return self._chosen(places, choose(candidates, size))

    def of_error(self, error: float) -> Thinned:
        """Twice as many until the estimate is good enough, then between, then until the certificate is."""
        most = math.sqrt(1 + error) - 1  # of MMD / sqrt(A)
        tried: dict[int, tuple[IntArray, Chosen]] = {}
        size, low = 1, 0
        while size < self.atoms.n and self._estimate(size, tried) > most:
            size, low = min(2 * size, self.atoms.n), size
        while size - low > max(1, (CLOSE_TO_LEAST_SIZE - 1) * size):
            middle = (size + low) // 2
            size, low = (middle, low) if self._estimate(middle, tried) <= most else (size, middle)
        for _ in range(RAISES):
            if size >= self.atoms.n:
                break
            found = self._chosen(*self._tried(size, tried))
            if math.expm1(found.bound) <= error:
                return found
            size = math.ceil(1.1 * size)
        return self.of_size(self.atoms.n)

    def _tried(self, size: int, tried: dict[int, tuple[IntArray, Chosen]]) -> tuple[IntArray, Chosen]:
        if size not in tried:
            places, candidates = self._candidates(size)
            tried[size] = places, choose(candidates, size)
        return tried[size]

    def _estimate(self, size: int, tried: dict[int, tuple[IntArray, Chosen]]) -> float:
        """MMD / sqrt(A) of the best choice found, at the scale given."""
        square = self._own + self._tried(size, tried)[1].objective
        return math.sqrt(max(square, 0.0) / self._own)

    @cached_property
    def _own(self) -> float:
        """1 / gESS of the whole measure."""
        with plan.advising(_words(self)):
            return plan.overlap(self.atoms, self.time, self._sharp)

    @property
    def _sharp(self) -> float:
        """Where a transform gives more digits for little, an accuracy at which MMD^2 is a small difference of sums."""
        atoms, transform = self.atoms, self.atoms.space.transform
        degree = None if transform is None else transform.degree_for(self.time, atoms.ess, SHARP, mmd2=False)
        if transform is None or degree is None or transform.seconds(atoms.n, degree) > LITTLE + LITTLE_ATOM * atoms.n:
            return self.rtol
        return min(self.rtol, SHARP)

    def _candidates(self, size: int) -> tuple[IntArray, Candidates]:
        """Atoms to choose from: all, or some that are evenly spaced by weight."""
        if size > MOST_POINTS_KEPT:
            plan.refuse(
                f"thinning keeps at most {MOST_POINTS_KEPT:,} points, but {size:,} are asked for or needed at "
                f"{scales.in_words(self.atoms.space, self.time)}; give a smaller size, a larger error or a coarser "
                "scale, or thin parts of the rows on their own and join them, each with its share of the weight"
            )
        count = min(self.atoms.n, max(CANDIDATES, PER_ATOM * size), TABLE // size)
        if count not in self._known:
            self._known[count] = self._places(count), self._prepared(self._places(count))
        return self._known[count]

    def _places(self, count: int) -> IntArray:
        if count == self.atoms.n:
            return np.arange(count)
        shares = np.cumsum(self.atoms.weights)
        found = np.searchsorted(shares, shares[-1] * (np.arange(count) + 0.5) / count)
        return np.unique(np.minimum(found, self.atoms.n - 1))

    def _prepared(self, places: IntArray) -> Candidates:
        space, points = self.atoms.space, self.atoms.points[places]
        with plan.advising(_words(self)), one_blas_thread():
            potential = columns.potential(self.atoms, self.time, self._sharp, points, Progress(False))
        return Candidates(potential, overlaps.rows_of(space, points, self.time, self.rtol))

    def _chosen(self, places: IntArray, chosen: Chosen) -> Thinned:
        order = np.argsort(chosen.places)
        return self._result(places[chosen.places[order]], chosen.weights[order])

    def _result(self, places: IntArray, weights: FloatArray) -> Thinned:
        points = self.atoms.points[places]
        known = self.atoms.known.rows(places, self.atoms.n)
        if len(places) < self.atoms.n:
            known = replace(known, thinned=True)
        kept = Measure.trusted(self.atoms.space, points, np.array(weights), known)
        with plan.advising(_words(self)):
            found: Certificate = certify(self.atoms, kept, self.time, self.rtol)
        numbers = found.mmd, found.bound
        if len(places) == self.atoms.n:
            numbers = 0.0, 0.0
        return Thinned(self.rows[places], kept.weights, *numbers, kept, self.n, self.time, found.times, found.gess)


def _words(task: _Task) -> plan.Words:
    """Advice for who thins, in place of advice for who asks for a profile."""
    return lambda wait: (
        f"thinning sums overlaps of all pairs of the {task.atoms.n:,} distinct points on {task.atoms.space!r}, which "
        f"would take {wait}; draw fewer of them first, 20,000 for instance, or thin parts of the rows on their own and "
        "join them, each with its share of the weight"
    )
