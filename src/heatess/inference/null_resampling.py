"""What two samples might have looked like if they came from one law: the resampling that is right for their weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.errors import InputError
from ..engines.columns import Draw
from ..measures.measure import Measure, distinct_rows
from .group_contrasts import dealt_out
from .policy import ask_weights
from .weight_origin import WeightsAre, origin_of_weights


class Pool(NamedTuple):
    """Two samples put together: the distinct places of both, and the weights of their rows, those of b negative."""

    places: NDArray[Any]  # in an order that does not depend on that of the rows, nor on which sample they are of
    label: IntArray  # the place of each row
    first: IntArray  # the first row of each place
    signed: FloatArray  # one for each row
    split: int  # rows of a, which come first
    blocks: tuple[IntArray | None, IntArray | None] = (None, None)  # of the rows of a and of b, if they are chains

    @classmethod
    def of(cls, a: Measure, b: Measure, blocks: tuple[IntArray | None, IntArray | None] = (None, None)) -> Pool:
        """Atoms of zero weight are left out."""
        one, other = a.support(), b.support()
        points = np.concatenate([one.points, other.points])
        label, first = distinct_rows(np.ascontiguousarray(points) + 0.0)  # -0.0 and 0.0 are one coordinate
        return cls(points[first], label, first, np.concatenate([one.weights, -other.weights]), one.n, blocks)

    @property
    def equal(self) -> bool:
        """Whether the weights of a are equal, and those of b."""
        return not any(np.ptp(own) for own in np.split(self.signed, [self.split]))

    def gathered(self, weights: FloatArray) -> FloatArray:
        """Weights of rows as weights of places."""
        if len(self.places) == len(weights):
            return weights[self.first]
        return np.bincount(self.label, weights, len(self.places)).astype(np.float64)

    def observed(self) -> FloatArray:
        """The difference of the two samples; exactly zero where they differ by rounding alone."""
        found, sizes = self.gathered(self.signed), self.gathered(np.abs(self.signed))
        rows = np.bincount(self.label, minlength=len(self.places))
        return np.where(np.abs(found) <= 1e-15 * (rows + 1) * sizes, 0.0, found)

    def together(self, weights_are: WeightsAre) -> FloatArray:
        """Weights of the places in both samples at once.

        Fixed weights say nothing of the places, so rows are counted: a permutation changes nothing then.
        """
        own = np.abs(self.signed) if weights_are == "importance" else np.ones(len(self.signed))
        found = self.gathered(own)
        return np.asarray(found / found.sum())


def origins(a: Measure, b: Measure, weights_are: Any, names: tuple[str, str] = ("a", "b")) -> WeightsAre:
    """Where the weights of the two samples come from: importance weights if one has them.

    *weights_are* is one word for both, or a pair; *names* are what messages call the samples.
    """
    pair = weights_are if isinstance(weights_are, tuple | list) else (weights_are, weights_are)
    if len(pair) != 2:
        raise InputError.unfit("weights_are", "one word for both samples, or a pair", weights_are)
    found = [origin_of_weights(measure, word) for measure, word in zip((a, b), pair, strict=True)]
    if "importance" not in found:
        return "fixed"
    for name, measure in zip(names, (a, b), strict=True):
        ask_weights(measure, name)
    return "importance"


def draws_of(pool: Pool, weights_are: WeightsAre, rng: np.random.Generator) -> Draw:
    """The observed signed weights first, then as many resampled ones as are asked for."""
    chains = any(block is not None for block in pool.blocks)
    one_more = _multiplied if weights_are == "importance" or chains else _exchanged if pool.equal else _permuted
    given = 0

    def draw(count: int) -> FloatArray:
        nonlocal given
        if len(pool.places) == 1:  # sums of all weights, which are zero but for rounding
            return np.zeros((1, count))
        found = np.empty((count, len(pool.places))).T  # a column is made at once, so its numbers follow each other
        for column in range(count):
            found[:, column] = one_more(pool, rng) if given else pool.observed()
            given += 1
        return found

    return draw


def _permuted(pool: Pool, rng: np.random.Generator) -> FloatArray:
    """Points in random order over the weights: exact if these are independent of the points."""
    return pool.gathered(rng.permutation(pool.signed))


def _exchanged(pool: Pool, rng: np.random.Generator) -> FloatArray:
    """The same where the weights of a are equal and those of b: all that matters is which points are those of a."""
    sizes, weights = [pool.split, len(pool.signed) - pool.split], pool.signed[[0, -1]]
    group = dealt_out(sizes, rng)
    return weights[group[pool.first]] if len(pool.places) == len(group) else pool.gathered(weights[group])


def _multiplied(pool: Pool, rng: np.random.Generator) -> FloatArray:
    """Both samples, each by itself."""
    parts = zip(np.split(np.abs(pool.signed), [pool.split]), pool.blocks, strict=True)
    return pool.gathered(np.concatenate([multiplied(own, rng, block) for own, block in parts]))


def multiplied(weights: FloatArray, rng: np.random.Generator, block: IntArray | None = None) -> FloatArray:
    """a_i - w_i sum a with a_i = xi_i w_i / (1 - w_i) and random signs xi.

    It is what a self-normalised mean sum w f moves by from one set of draws to the next: w_i (f_i - mean f) each. Rows
    of one *block* move together: they have one sign, and in place of 1 - w_i what the block leaves to the others.
    """
    own = weights if block is None else np.bincount(block, weights)
    signs = (rng.integers(0, 2, len(own)) * 2.0 - 1.0) / (1 - own)
    moved = weights * (signs if block is None else signs[block])
    return np.asarray(moved - weights * moved.sum())
