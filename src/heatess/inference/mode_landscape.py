"""The density that modes are looked for in: each atom smoothed at the width of so many draws, with standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.progress import Progress
from ..engines import columns
from ..engines.lanczos import density
from ..engines.overlaps import block as overlaps_between
from ..measures.measure import Measure
from ..measures.scales import ANGLE_DIMENSION
from .mode_ground import Ground

#: Widths of atoms follow their density with this power: 1 has as many draws within each, 0 is one width for all.
POWER = 0.85

#: Draws within a width, at most this share of all.
MOST_DRAWS = 0.25

#: The least share of the weight and number of draws of a mode.
LEAST_SHARE, LEAST_DRAWS = 0.012, 3.999

#: By which factor a peak is above what it is compared with.
LEAST_RATIO = 1.1

#: Accuracy of densities: much better than their standard errors.
RTOL_OF_DENSITIES = 1e-5


@dataclass(eq=False)
class Landscape:
    """Densities of atoms, smoothed each at a width of its own, at vertices and in the middle of edges.

    *squares* are sums of squared weights of the draws at each atom; 1 / their sum is the number of draws that count.
    """

    atoms: Measure
    squares: FloatArray
    ground: Ground
    times: FloatArray  # falling

    @cached_property
    def draws(self) -> float:
        """How many equally weighted draws would be as uncertain."""
        return float(1 / self.squares.sum())

    def highest(self, draws: float) -> float:
        """Standard errors that the highest of as many places may have by chance as have so many draws each."""
        return math.sqrt(2 * math.log(self.draws / max(draws, 1.0) + 1) + 2 * math.log(4))

    def large(self, part: NDArray[Any]) -> bool:
        """Whether some of the vertices have weight and draws enough for a mode."""
        own = part[self.ground.of_atoms]
        weights = self.atoms.weights[own]
        return bool(weights.sum() >= LEAST_SHARE and np.sum(weights**2 / self.squares[own]) >= LEAST_DRAWS)

    @cached_property
    def _log_counts(self) -> list[FloatArray]:
        return []

    @cached_property
    def _log_diagonals(self) -> FloatArray:
        """log k_2t(x, x) at each time, but for a constant; densities of meshes and graphs have it already."""
        space = self.atoms.space
        if space.modes is not None:
            return np.zeros(len(self.times))
        return (
            space.log_diagonal(self.times, RTOL_OF_DENSITIES) if space.compact else -space.dim / 2 * np.log(self.times)
        )

    def counts_at(self, place: int) -> FloatArray:
        """log of the draws within the footprint of each atom at a time."""
        while len(self._log_counts) <= place:
            time = float(self.times[len(self._log_counts)])
            found = columns.potential(self.atoms, time, RTOL_OF_DENSITIES, self.atoms.points, Progress(False))
            known = np.maximum(found, self.atoms.weights) * self.draws
            self._log_counts.append(np.log(np.maximum(known, 1e-300)))
        return self._log_counts[place]

    def places_for(self, draws: float) -> tuple[FloatArray, FloatArray]:
        """For each atom, the number of the time, between whole numbers, at which so many draws are within its width.

        And the dimension in which draws spread there: the slope of the log of their number over that of the width.
        """
        wanted, found = math.log(draws), np.zeros(self.atoms.n)
        slopes = np.zeros(self.atoms.n)
        step = math.log(float(self.times[0] / self.times[1])) / 2
        for place in range(1, len(self.times)):
            coarse, fine = self.counts_at(place - 1), self.counts_at(place)
            between = np.clip((coarse - wanted) / np.maximum(coarse - fine, 1e-12), 0.0, 1.0)
            found = np.where(coarse > wanted, place - 1 + between, found)
            slopes = np.where((coarse > wanted) | (place == 1), (coarse - fine) / step, slopes)
            if (fine <= wanted).all():
                break
        middle = float(self.atoms.weights @ found)
        power = 0.0 if self.atoms.space.dim > ANGLE_DIMENSION else POWER
        return np.clip(middle + power * (found - middle), 0.0, len(self.times) - 1), slopes

    def _classes(self, places: FloatArray) -> list[tuple[int, IntArray, FloatArray, float]]:
        """Numbers of times, atoms that have that time in part, the part of each, and the height of the kernel."""
        below = np.minimum(places.astype(np.intp), len(self.times) - 2)
        part = places - below
        found = []
        for place in range(len(self.times)):
            share = np.where(below == place, 1 - part, 0.0) + np.where(below + 1 == place, part, 0.0)
            rows = np.flatnonzero(share > 1e-9)
            if len(rows):
                found.append((place, rows, share[rows]))
        most = max(float(self._log_diagonals[place]) for place, _, _ in found)
        return [(*each, math.exp(self._log_diagonals[each[0]] - most)) for each in found]

    def heights(self, places: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """The density at all places of the ground, but for a constant; with other weights, at vertices alone."""
        space, given = self.atoms.space, self.atoms.weights if weights is None else weights
        at = self.ground.places if weights is None else self.ground.places[: self.ground.vertices]
        total = np.zeros(len(at))
        for place, rows, share, factor in self._classes(places):
            part = given[rows] * share
            own, time = Measure.trusted(space, self.atoms.points[rows], part / part.sum()), float(self.times[place])
            if space.modes is not None:
                found = density(own, space.modes, 2 * time, at)
            else:
                found = columns.potential(own, time, RTOL_OF_DENSITIES, at, Progress(False))
            total += part.sum() * factor * np.maximum(found, 0.0)
        return total

    def kernels(self, places: FloatArray, at: IntArray) -> FloatArray:
        """What each atom, of weight one, adds to the heights at some places of the ground, shape (len(at), atoms)."""
        space, points, targets = self.atoms.space, self.atoms.points, self.ground.places[at]
        known = space.overlaps
        rows = np.zeros((len(targets), self.atoms.n))
        for place, own, share, factor in self._classes(places):
            time = float(self.times[place])
            if known.on_nodes:
                one = [Measure.trusted(space, target[None], np.ones(1)) for target in targets]
                overlaps = np.array([density(each, known, 2 * time, points[own]) for each in one])
            else:
                overlaps = overlaps_between(known, targets, points[own], time, RTOL_OF_DENSITIES)
            rows[:, own] += share * factor * overlaps
        return rows

    def variances(self, places: FloatArray, at: IntArray) -> FloatArray:
        """Squared standard errors of the heights at some places of the ground: sum_j w_j^2 (k(y, x_j) - f(y))^2."""
        found = np.empty(len(at))
        block = max(1, 2**21 // self.atoms.n)
        for start in range(0, len(at), block):
            rows = self.kernels(places, at[start : start + block])
            rows -= (rows @ self.atoms.weights)[:, None]
            found[start : start + block] = np.square(rows) @ self.squares
        return found

    def fall(
        self, place: int, kept: FloatArray, top: NDArray[Any], other: NDArray[Any], ratio: float = LEAST_RATIO
    ) -> float:
        """Standard errors by which the highest of *top* is above the highest of *other*, vertices, at one width.

        *kept* is the part of each atom that counts. Zero if it is not above it by a factor, *ratio*.
        """
        flat, weights = np.full(self.atoms.n, float(place)), self.atoms.weights * kept
        heights = self.heights(flat, weights)
        high, low = (int(np.argmax(np.where(part, heights, -math.inf))) for part in (top, other))
        if heights[high] <= ratio * heights[low]:
            return 0.0
        one, two = self.kernels(flat, np.array([high, low]))
        fall = kept * (one - two)
        mean = fall @ self.atoms.weights
        return float(mean / math.sqrt(np.square(fall - mean) @ self.squares))
