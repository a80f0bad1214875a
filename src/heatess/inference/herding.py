"""Few weighted atoms that stand for many: herding, non-negative weights, and exchanges by matching pursuit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.pool import apart

#: Rounds of new weights and new atoms, and rounds without a gain after which it stops.
ROUNDS, PATIENT = 15, 3

#: Share of the atoms that is exchanged in a round where none is without weight.
EXCHANGED = 0.1

#: Added to the self-overlap of one, for each atom: overlaps are rounded, and atoms may be almost at one place.
RIDGE = 4e-14

#: Atoms from which on several threads solve for their weights.
POINTS_WORTH_THREADS = 3000


class Candidates(NamedTuple):
    """Atoms to choose from: the overlap potential of the whole measure at each, and their overlaps with each other.

    `overlaps` takes places of candidates, and gives their overlaps with all of them, shape (places, candidates).
    """

    potential: FloatArray
    overlaps: Callable[[IntArray], FloatArray]


class Chosen(NamedTuple):
    """Places among the candidates, their weights, and v'Kv - 2 f'v, which the best choice makes least."""

    places: IntArray
    weights: FloatArray
    objective: float


@dataclass
class _Choice:
    """Atoms chosen so far, and their overlaps with all candidates in the rows of *table*."""

    candidates: Candidates
    table: FloatArray
    places: list[int]

    def add(self, place: int) -> FloatArray:
        row: FloatArray = self.table[len(self.places)]
        row[:] = self.candidates.overlaps(np.array([place]))[0]
        self.places.append(place)
        return row

    def keep(self, kept: NDArray[np.bool_]) -> None:
        rows = np.flatnonzero(kept)
        same = int(np.argmin(kept)) if len(rows) < len(kept) else len(rows)  # rows before the first that goes
        self.table[same : len(rows)] = self.table[rows[same:]]
        self.places = [self.places[row] for row in rows]

    @property
    def overlaps(self) -> FloatArray:
        """With all candidates, shape (chosen, candidates)."""
        return self.table[: len(self.places)]


def choose(candidates: Candidates, size: int) -> Chosen:
    """At most *size* candidates, with non-negative weights that sum to one, near the whole measure in MMD.

    Herding chooses first. Then, round after round: the best weights; atoms without weight go or, if all have some,
    those that are missed least; and the largest of what is left of f come in their place, by matching pursuit.
    Nothing is random, and the first of equals is taken.
    """
    import scipy.linalg  # noqa: F401  brings a BLAS of its own, which is to be limited too
    from threadpoolctl import threadpool_limits

    with (
        threadpool_limits(1, user_api="blas") if size < POINTS_WORTH_THREADS else nullcontext()
    ):  # else they wait for each other
        return _choose(candidates, size)


def _choose(candidates: Candidates, size: int) -> Chosen:
    choice = _Choice(candidates, np.empty((size, len(candidates.potential))), [])
    _herd(choice, size)
    best, stale = _weighted(choice), 0
    found = best
    for _ in range(ROUNDS - 1):
        if not _exchange(choice, found, size):
            break
        found = _weighted(choice)
        stale = 0 if found.objective < best.objective else stale + 1
        best = min(best, found, key=lambda chosen: chosen.objective)
        if stale == PATIENT:
            break
    return best


def _herd(choice: _Choice, size: int) -> None:
    """Kernel herding: each atom is where the measure is most and those before it, equally weighted, are least."""
    f = choice.candidates.potential
    total, free = np.zeros(len(f)), np.zeros(len(f))
    for count in range(1, size + 1):
        place = int(np.argmax(f - total / count + free))
        total += choice.add(place)
        free[place] = -np.inf


def _weighted(choice: _Choice) -> Chosen:
    """The best weights; what has none is no longer chosen."""
    f = choice.candidates.potential
    weights = simplex_weights(choice.overlaps[:, choice.places], f[choice.places])
    choice.keep(weights > 0)
    weights, places = weights[weights > 0], np.array(choice.places)
    objective = float(weights @ choice.overlaps[:, places] @ weights - 2 * weights @ f[places])
    return Chosen(places, weights, objective)


def _exchange(choice: _Choice, found: Chosen, size: int) -> bool:
    """Fill the places that are free, or those of the atoms that are missed least; False if nothing is to be gained."""
    weights = found.weights
    if len(weights) == size:
        if size == 1:
            return False
        # Without atom i, and with all other weights as good as can be, the objective is higher by v_i^2 / (K^-1)_ii.
        gram = choice.overlaps[:, choice.places]
        missed = weights**2 / np.diag(_solved(gram, np.eye(size)))
        kept = np.ones(size, dtype=bool)
        kept[np.argsort(missed, kind="stable")[: max(1, round(EXCHANGED * size))]] = False
        choice.keep(kept)
        weights = weights[kept]
    return _pursue(choice, weights, size)


def _pursue(choice: _Choice, weights: FloatArray, size: int) -> bool:
    """Matching pursuit of f - K v; False if no atom is left that would make it less."""
    left = choice.candidates.potential - weights @ choice.overlaps
    left -= weights @ left[choice.places] / weights.sum()  # the multiplier of the sum of weights
    left[choice.places] = -np.inf
    added = False
    while len(choice.places) < size:
        place = int(np.argmax(left))
        if not left[place] > 0:
            return added
        most, added = left[place], True
        left -= most * choice.add(place)
        left[place] = -np.inf
    return added


def simplex_weights(gram: FloatArray, f: FloatArray) -> FloatArray:
    """Weights v >= 0 that sum to one and make v'Kv - 2 f'v small: its minimum on those that it leaves above zero.

    >>> simplex_weights(np.eye(3), np.array([0.5, 0.1, -9.0])).round(12)
    array([0.7, 0.3, 0. ])
    """
    weights, active = np.zeros(len(f)), np.arange(len(f))
    while True:
        right = np.stack([f[active], np.ones(len(active))], axis=1)
        solved, ones = _solved(gram[np.ix_(active, active)], right).T
        found = solved - (solved.sum() - 1) / ones.sum() * ones
        if (found > 0).all():
            weights[active] = found / found.sum()
            return weights
        active = active[found > 0]


def _solved(gram: FloatArray, right: FloatArray) -> FloatArray:
    """K^-1 *right*, with a ridge that is raised until K can be factorised."""
    from scipy.linalg import cho_solve

    ridge = RIDGE * (2 + len(gram))
    while True:
        try:
            factor = apart(np.linalg.cholesky, gram + ridge * np.eye(len(gram)))
        except np.linalg.LinAlgError:
            ridge *= 100
            continue
        return np.asarray(cho_solve((factor, True), right))
