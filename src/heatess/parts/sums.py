"""Sums over a part, in a unit near its largest weight, so that parts of very different weights add up accurately."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..measures.measure import scaled_weights

#: Sums over points and weights from which the lowest energies follow.
LowSumsOf = Callable[[NDArray[Any], FloatArray], FloatArray]


class Unit(NamedTuple):
    """The weight exp(shift) 2^exponent; by default zero, the unit of a part without any weight."""

    exponent: int = 0
    shift: float = -math.inf

    def log(self) -> float:
        """Logarithm of the unit."""
        return self.shift + self.exponent * math.log(2)

    def over(self, other: Unit) -> float:
        """How much of *other*, a larger unit, it is.

        >>> Unit(3, 0.0).over(Unit(5, 0.0)), Unit(1, 1e9).over(Unit(1, 1e9 + 1000)), Unit().over(Unit())
        (0.25, 0.0, 1.0)
        """
        if self.shift == other.shift:
            return math.ldexp(1.0, self.exponent - other.exponent)
        log = (self.shift - other.shift) + (self.exponent - other.exponent) * math.log(2)
        return math.exp(log) if log > -750 else 0.0


def counted_weights(weights: ArrayLike | None, log_weights: ArrayLike | None, n: int | None) -> tuple[FloatArray, Unit]:
    """Checked weights and the unit in which they are counted, so that the largest is from 1/2 to 1."""
    scaled, exponent, shift = scaled_weights(weights, log_weights, n)
    return scaled, Unit() if exponent is None else Unit(exponent, shift)


#: How each sum scales with the unit of weight.
_POWERS = {"total": 1, "squares": 2, "low": 1, "coefficients": 1, "cosines": 2}


def _none() -> NDArray[Any]:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class PartSums:
    """Sums over the atoms of a part; a sum that a part does not have is an empty array."""

    unit: Unit = field(default_factory=Unit)  # the weight that counts as one in all the sums
    n: int = 0
    total: float = 0.0  # of w_i
    squares: float = 0.0  # of w_i^2
    low: FloatArray = field(default_factory=_none)  # the lowest energies follow from these exactly
    coefficients: NDArray[np.complex128] = field(default_factory=_none)  # of w_i phi(x_i), with a fast transform
    cosines: FloatArray = field(default_factory=_none)  # of w_i w_j cos(k d_ij) over pairs, without one

    @classmethod
    def of(cls, points: NDArray[Any], weights: FloatArray, unit: Unit, low: LowSumsOf | None) -> PartSums:
        """The sums that every part has, from checked points and counted weights."""
        squares = float(np.einsum("i,i->", weights, weights))
        lowest = _none() if low is None else low(points, weights)
        return cls(unit, len(points), float(weights.sum()), squares, lowest)

    def at(self, unit: Unit) -> PartSums:
        """The same sums in a larger unit."""
        if unit == self.unit:
            return self
        factor = self.unit.over(unit)
        scaled: dict[str, Any] = {name: getattr(self, name) * factor**power for name, power in _POWERS.items()}
        return replace(self, unit=unit, **scaled)

    def __add__(self, other: PartSums) -> PartSums:
        unit = max(self.unit, other.unit, key=Unit.log)
        mine, theirs = self.at(unit), other.at(unit)
        added: dict[str, Any] = {name: _sum(getattr(mine, name), getattr(theirs, name)) for name in _POWERS}
        return PartSums(unit, mine.n + theirs.n, **added)

    def checked(self) -> PartSums:
        """The sums themselves, if there is any weight in them."""
        if not self.n:
            raise InputError.lacking("there are no points in any part")
        if self.total == 0:
            raise InputError(f"the weights of all {self.n} points are <!zero!>; <+at least one must be positive+>")
        return self

    @property
    def ess(self) -> float:
        """Ordinary effective sample size."""
        return self.total**2 / self.squares


def _sum(mine: Any, theirs: Any) -> Any:
    if isinstance(mine, np.ndarray) and not (mine.size and theirs.size):
        return mine if mine.size else theirs
    return mine + theirs


@contextmanager
def part_named(part: str) -> Iterator[None]:
    """Say in which part bad data is."""
    try:
        yield
    except InputError as error:
        raise error.within(part) from None
