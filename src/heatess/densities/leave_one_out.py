"""Atoms left out: what a density says at the place of an atom without it, and by how much areas move without some."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..engines.overlaps import own_kernels
from ..inference.policy import independent
from ..measures.measure import Measure
from .scale_choice import witnesses
from .smoothing import Smoother

if TYPE_CHECKING:
    from .result import Density

#: Groups of atoms that are left out in turn.
GROUPS = 10

#: Places of atoms at which a density is looked at without them, at most.
PLACES_LOOKED_AT = 4000


class LeftOut(NamedTuple):
    """Atoms that stand for all, evenly by weight, and the density at each of them without what belongs to it."""

    measure: Measure  #: exact copies together, unless their order counts
    rows: IntArray
    values: FloatArray
    shares: FloatArray  #: the weight that was left out for each

    def without(self, rows: IntArray, share: float, part: FloatArray) -> FloatArray:
        """The densities at the other atoms without these *rows* too, of that weight and with that density here."""
        rest = 1 - self.shares - share
        stay = ~np.isin(self.rows, rows) & (rest > 0)
        kept = ((1 - self.shares) * self.values - share * part)[stay]
        return np.asarray(np.maximum(kept, 0.0) / rest[stay])


def left_out(density: Density, measure: Measure) -> LeftOut:
    """Each place is left out on its own; of chains and trajectories a tenth, whose steps follow from each other."""
    space, time = measure.space, density.time
    if measure.known.kind not in ("chains", "trajectory"):
        measure = measure.coalesced()
        rows = witnesses(measure, PLACES_LOOKED_AT)
        points, shares = measure.points[rows], measure.weights[rows]
        own = shares * own_kernels(space, points, np.array([time / 2]))[:, 0]
    else:
        rows = witnesses(measure, PLACES_LOOKED_AT)
        points, shares, own = measure.points[rows], np.zeros(len(rows)), np.zeros(len(rows))
        for group in groups_of(measure):
            mine = np.isin(rows, group)
            shares[mine] = float(measure.weights[group].sum())
            if mine.any():
                own[mine] = shares[mine] * Smoother(measure[group], density.rtol).at(time, points[mine])
    rest = np.maximum(density.at_checked(points) - own, 0.0) / np.maximum(1 - shares, 1e-300)
    return LeftOut(measure, rows, rest, shares)


def groups_of(measure: Measure) -> list[IntArray]:
    """Rows of each group: every tenth of independent draws, and blocks of what follows from each other."""
    count, rows = min(GROUPS, measure.n), np.arange(measure.n)
    if measure.known.kind in ("chains", "trajectory"):
        return [np.asarray(part) for part in np.array_split(rows, count)]
    return [rows[k::count] for k in range(count)]


def refuse_no_draws(measure: Measure) -> None:
    """A `KindError` where there is no distribution behind the atoms that a region could be calibrated for."""
    if measure.known.kind != "chains":
        independent(measure, "points", "calibrated region", "leave out `calibrated=True`", copies_once=True)
