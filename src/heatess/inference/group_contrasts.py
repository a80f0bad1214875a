"""Differences of several groups of draws, and what they would be if the draws were dealt out by chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.progress import Progress
from ..measures.measure import Measure, distinct_rows
from ..measures.scales import OverScales
from .quadratic_forms import forms
from .uniformity_families import LevelFamily

#: Relative spread of roots that is rounding, and differences of standardised numbers that are.
SPREAD_OF_ROUNDING = 1e-5


class ByDraws(OverScales):
    """A test whose p-value was found by draws; subclasses have these attributes as fields."""

    pvalue: float
    draws: int

    def pvalue_in_words(self) -> str:
        """The p-value as it may be claimed: "p <= 0.002" where no draw was beyond, 1 / (draws + 1) being the least.

        >>> import heatess as he
        >>> wide = he.samplers.von_mises_fisher(100, [0, 0, 1], 5, rng=0)
        >>> narrow = he.samplers.von_mises_fisher(100, [0, 0, 1], 50, rng=1)
        >>> he.two_sample_test(wide, narrow, angles=[10, 20], rng=2).pvalue_in_words()
        'p <= 0.002'
        """
        return f"p {'<=' if self.pvalue * (self.draws + 1) < 1.001 else '='} {self.pvalue:.2g}"


class Groups(NamedTuple):
    """Several samples on one space put together, with weights that are independent of the points."""

    pooled: Measure  #: the distinct places of all, weighted by how often a row is there
    label: IntArray  #: the place of each row
    group: IntArray  #: the sample of each row
    weights: FloatArray  #: of each row; those of a sample sum to one

    @classmethod
    def of(cls, samples: Sequence[Measure]) -> Groups:
        """Atoms of zero weight are left out."""
        parts = [sample.support() for sample in samples]
        points = np.concatenate([part.points for part in parts])
        label, first = distinct_rows(np.ascontiguousarray(points) + 0.0)  # -0.0 and 0.0 are one coordinate
        counts = np.bincount(label).astype(np.float64)
        pooled = Measure.trusted(parts[0].space, points[first], counts / counts.sum())
        group = np.repeat(np.arange(len(parts)), [part.n for part in parts])
        return cls(pooled, label, group, np.concatenate([part.weights for part in parts]))

    def orders(self, rng: np.random.Generator) -> Iterator[IntArray]:
        """Rows in random order; where all weights of a sample are equal, its last row stands for the others."""
        sizes = np.bincount(self.group)
        last = np.cumsum(sizes) - 1
        equal = bool((self.weights == self.weights[last][self.group]).all())
        while True:
            yield last[dealt_out(sizes.tolist(), rng)] if equal else rng.permutation(len(self.label))

    def signed(self, contrast: FloatArray, order: IntArray | None = None) -> FloatArray:
        """Weights of the places for one contrast, a number for each group; with the rows dealt out in some *order*."""
        weights = contrast[self.group] * self.weights
        rows = weights if order is None else weights[order]
        return np.bincount(self.label, rows, self.pooled.n).astype(np.float64)


def dealt_out(sizes: Sequence[int], rng: np.random.Generator) -> NDArray[np.int16]:
    """The group of each row, rows being dealt out at random to groups of these *sizes*.

    >>> np.bincount(dealt_out([2, 3, 4], np.random.default_rng(0)))
    array([2, 3, 4])
    """
    found: NDArray[np.int16] = np.full(sum(sizes), len(sizes) - 1, dtype=np.int16)
    for group, size in enumerate(sizes[:-1]):
        rest = np.flatnonzero(found == len(sizes) - 1) if group else found
        chosen = rng.choice(len(rest), size, replace=False, shuffle=False)
        found[rest[chosen] if group else chosen] = group
    return found


def permuted_forms(
    groups: Groups,
    contrasts: FloatArray,
    times: FloatArray,
    draws: int,
    rng: np.random.Generator,
    progress: Progress,
    low: LevelFamily | None = None,
) -> FloatArray:
    """v' K_t v of each contrast v of the groups: as observed, and then permuted; (1 + draws, contrasts, scales).

    *contrasts* has a number for each group in each row, and its rows sum to zero. Degrees in *low* follow the scales.
    """
    count, orders = len(contrasts), groups.orders(rng)

    def columns() -> Iterator[FloatArray]:
        for draw in range(draws + 1):
            order = next(orders) if draw else None
            for contrast in contrasts:
                yield groups.signed(contrast, order)

    stream = columns()

    def some(size: int) -> FloatArray:
        return np.stack([next(stream) for _ in range(size)], axis=1)

    found = forms(groups.pooled.space, groups.pooled.points, times, some, count * (draws + 1), progress, low)
    return found.reshape(draws + 1, count, found.shape[1])


def standardised(found: FloatArray) -> FloatArray:
    """Roots of forms, less their mean and over their standard deviation along the first axis; 0 where all are equal.

    >>> standardised(np.array([[9.0, 1.0], [1.0, 1.0]]))
    array([[ 1.,  0.],
           [-1.,  0.]])
    """
    peak = found.max(axis=0)
    roots = np.sqrt(np.maximum(found, 0.0) / np.where(peak > 0, peak, 1.0))
    spread = roots.std(axis=0)
    same = spread <= SPREAD_OF_ROUNDING * roots.mean(axis=0)
    return np.asarray(np.where(same, 0.0, (roots - roots.mean(axis=0)) / np.where(same, 1.0, spread)))


def share_beyond(statistics: FloatArray) -> FloatArray:
    """The share of each column, the first row included, that is no less than its first row, but for rounding.

    >>> share_beyond(np.array([[2.0, 0.0], [1.0, 1.0], [3.0, 0.0], [0.0, 2.0]]))
    array([0.5, 1. ])
    """
    return np.asarray((statistics >= statistics[0] - SPREAD_OF_ROUNDING).mean(axis=0))


class Ranked(NamedTuple):
    """What a test says of statistics at scales and, after them, in single degrees; the first row is observed."""

    statistics: FloatArray  # of the scales, standardised
    pvalues: FloatArray
    degree_pvalues: FloatArray
    pvalue: float  # of the largest of all

    @classmethod
    def of(cls, found: FloatArray, scales: int) -> Ranked:
        """Of the forms of all draws, shape (draws, scales and degrees)."""
        statistics = standardised(found)
        pvalues, pvalue = share_beyond(statistics), float(share_beyond(statistics.max(axis=1)))
        return cls(statistics[0, :scales].copy(), pvalues[:scales].copy(), pvalues[scales:].copy(), pvalue)
