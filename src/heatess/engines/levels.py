"""Level moments of a measure, and forms with kernels that are made of levels: by transforms, pairs and eigenpairs."""

from __future__ import annotations

import math
from functools import cache, partial

import numpy as np

from ..base.arrays import FloatArray
from ..base.blocks import slices
from ..base.progress import Progress
from ..spaces.capabilities import Modes, ZonalPairs
from ..transforms.base import Coefficients, Transform
from ..transforms.levels import LevelTransform
from .base import FormsOffer, LevelFormsQuestion, Levels, LevelsOffer, LevelsQuestion, most_levels
from .eigenpairs import BLOCK_ENTRIES, OTHER
from .pairs import level_seconds, pair_moments
from .spectral import COLUMN_ENTRIES, ColumnForms, accuracy, column_forms, threads_for

#: Transforms of at most so many seconds are not compared with pairs, which must be so many times quicker than others.
SECONDS_WITHOUT_PAIRS, TIMES_QUICKER_THAN_LEVELS = 5e-3, 4.0

#: Accuracy of transforms of signed weights, per unit of weight.
EPSILON = 1e-11


class TransformLevels(LevelsOffer):
    """Moments of the coefficients; the lowest are certain even where they nearly vanish."""

    name = "spectral"

    def __init__(self, question: LevelsQuestion, transform: LevelTransform) -> None:
        self._question, self._transform = question, transform

    def seconds(self, first: int, end: int) -> float:
        """Of one transform."""
        degree = self._question.count - 1
        return math.inf if degree > self._transform.most else self._transform.seconds(self._question.measure.n, degree)

    def run(self, part: slice, progress: Progress) -> Levels:
        """Of at least three levels, as the transform wants."""
        question, transform = self._question, self._transform
        measure, count, rtol = question.measure, question.count, question.rtol
        degree, epsilon = float(max(count - 1, 2)), accuracy(rtol)
        found = transform.coefficients(measure.points, measure.weights, degree, epsilon, threads_for(measure.n, degree))
        low = partial(transform.low_sums, measure.points, measure.weights)
        moments = transform.spectrum(found, low, degree, epsilon, rtol).moments.values
        return Levels(*transform.series.levels(count), moments[:count])


class LatticeLevels(LevelsOffer):
    """B_l, the sum of |sum_i w_i exp(2 pi i sum_j k_j x_ij / T_j)|^2 over the whole vectors k of the level."""

    name = "spectral"

    def __init__(self, question: LevelsQuestion, transform: Transform) -> None:
        self._question, self._transform = question, transform

    def seconds(self, first: int, end: int) -> float:
        """There is no other way, and modes are never too many for it."""
        return self._transform.seconds(self._question.measure.n, 2.0)

    def run(self, part: slice, progress: Progress) -> Levels:
        """Energies over their number."""
        question, measure = self._question, self._question.measure
        how = 1e-4 * question.rtol, threads_for(measure.n, question.count)
        found = self._transform.level_energies(measure.points, measure.weights, question.count, *how)
        if found is None:
            raise question.unserved()
        eigenvalues, counts, energies = found
        return Levels(eigenvalues, np.log(counts), energies / counts)


class PairLevels(LevelsOffer):
    """From cosines of the distances of all pairs."""

    name = "pairwise"

    def __init__(self, question: LevelsQuestion, kernel: ZonalPairs) -> None:
        self._question, self._kernel = question, kernel

    def seconds(self, first: int, end: int) -> float:
        """Of all pairs, and of what makes levels of cosines."""
        count, kernel = self._question.count, self._kernel
        return math.inf if count > most_levels(kernel) else level_seconds(self._question.measure.n, kernel, count)

    def cost(self, first: int, end: int) -> float:
        """More than the seconds, since a transform keeps more digits."""
        return max(TIMES_QUICKER_THAN_LEVELS * self.seconds(first, end), SECONDS_WITHOUT_PAIRS)

    def run(self, part: slice, progress: Progress) -> Levels:
        """Of at least three levels."""
        question, count = self._question, self._question.count
        moments = pair_moments(question.measure, self._kernel, max(count, 3), question.rtol, progress).values
        return Levels(*self._kernel.series.levels(count), moments[:count])


class ModeLevels(LevelsOffer):
    """B_l = (sum_i w_i phi_l(x_i))^2, one mode a level."""

    name = "spectral"

    def __init__(self, question: LevelsQuestion, modes: Modes) -> None:
        self._question, self._modes = question, modes

    def seconds(self, first: int, end: int) -> float:
        """Of the eigenpairs."""
        return self._modes.seconds_lowest(self._question.count)

    def too_long(self, wait: str) -> str:
        """Of the eigenpairs."""
        from .plan import PATIENCE

        fewer = "a smaller `max_degree`, " if self._modes.seconds_lowest(1) <= PATIENCE else ""
        what = f"{self._question.count:,} eigenpairs of {self._modes.node_count:,} nodes"
        return f"{what} would take {wait}; give {fewer}{OTHER}"

    def run(self, part: slice, progress: Progress) -> Levels:
        """Block after block of atoms."""
        measure, count = self._question.measure, self._question.count
        found = self._modes.lowest(count)
        coefficients = np.zeros(len(found.values))
        for rows in slices(measure.n, BLOCK_ENTRIES // count + 1):
            coefficients += measure.weights[rows] @ found.at(measure.points[rows])
        energies = coefficients**2
        energies[0] = 1.0
        return Levels(found.values, np.zeros(len(energies)), energies)


class TransformLevelForms(FormsOffer):
    """sum_l f_l b_l of the coefficients of each column."""

    name = "spectral"
    at_once = COLUMN_ENTRIES

    def __init__(self, question: LevelFormsQuestion, transform: LevelTransform) -> None:
        self._question, self._transform = question, transform
        self._degree, self._forms = max(question.kernels.factors.shape[1], 2), cache(self._made)

    def seconds(self, first: int, end: int) -> float:
        """Of one transform a column."""
        question, transform = self._question, self._transform
        if self._degree > transform.most:
            return math.inf
        return question.columns * transform.column_seconds(question.measure.n, self._degree)

    def run(self, part: slice, columns: FloatArray, progress: Progress) -> FloatArray:
        """In levels that are left out an atom meets only itself."""
        beyond = np.multiply.outer(np.einsum("ij,ij->j", columns, columns), self._question.kernels.beyond)
        return np.asarray(self._forms()(columns, progress) + beyond)

    def _made(self) -> ColumnForms:
        factors, transform = self._question.kernels.factors, self._transform

        def sums(coefficients: Coefficients) -> FloatArray:
            return np.asarray(factors @ transform.moments(coefficients)[1 : factors.shape[1] + 1])

        return column_forms(transform, sums, self._question.measure.points, float(self._degree), EPSILON)
