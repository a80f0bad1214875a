"""Functions of a separation of two points, in the form in which one compiled loop takes a product of them.

A separation z is a function of the distance that coordinates give without cancellation or roots; see `LoopFactor`. A
function of it is exp(-rate z), or polynomials on intervals of y = 1 + stretch z, as many in each octave: a place in the
table is then some leading bits of a floating-point number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from .radial import Radial, radial, radial_terms
from .series import Series

#: Separations: |x - y|^2; the square of the shorter way round; |x - y|^2 / 4, the squared sine of half the angle of
#: unit vectors; |x - y|^2 |x + y|^2 / 4, the squared sine of the angle of lines; whatever is given for every pair.
FLAT, CIRCLE, VECTORS, AXES, GIVEN = range(5)

#: Error of a tabulated value, as a share of the largest, up to which intervals are halved.
LOOKUP_ERROR = 1e-14

#: Overlaps below exp(-FAR) of a pair are taken for zero.
FAR = 45.0

#: Powers of the polynomials. A row of a table has their coefficients, of the value and of its change side by side.
POWERS = 8

#: Fewest and most leading bits after which intervals begin within an octave.
_FEWEST_BITS, _MOST_BITS = 3, 10


class Lookup(NamedTuple):
    """One function of the separation at one time, and its change with log t.

    The value is exp(-rate z) and the change rate z times it, or, if the rate is zero, both are polynomials in the
    place within an interval, from -1/2 to 1/2. Beyond `cut` they are zero.
    """

    table: FloatArray  # (intervals, 2 POWERS), lowest powers first
    stretch: float
    bits: int  # an octave has 2^bits intervals
    cut: float
    error: float  # bound on that of the value, as a share of the largest
    rate: float = 0.0


class LoopFactor(NamedTuple):
    """One factor of a product: how separations come from some columns of the points, and the function of them.

    `lookup(time, excess)` is that of s_t and d s_t / d log t or, for the *excess*, of k_2t - 1 and d k_2t(x, x) s_t /
    d log t. `given` has the separations of all pairs of two tiles where the loop does not know how to find them.
    """

    kind: int
    columns: slice
    lookup: Callable[[float, bool], Lookup]
    unit: float = 1.0  # by which coordinates are multiplied
    period: float = math.inf
    given: Callable[[FloatArray, FloatArray], FloatArray] | None = None


def exponential(rate: float) -> Lookup:
    """exp(-rate z)."""
    return Lookup(np.zeros((1, 2 * POWERS)), 1.0, 1, FAR / rate, 0.0, rate)


@lru_cache(maxsize=512)
def of_angle(series: Series, time: float, excess: bool) -> Lookup:
    """The kernel of a series as a function of z = sin^2(winding r / 2), which is (1 - cos(winding r)) / 2."""
    form, winding = radial(series, time), series.winding

    def values(z: FloatArray) -> FloatArray:
        return _values(form, 2 / winding * np.arcsin(np.sqrt(np.minimum(z, 1.0))), excess)

    def separation(r: float) -> float:
        return math.sin(winding * min(r, series.diameter) / 2) ** 2

    return tabulated(values, separation(math.sqrt(4 * time)), separation(form.cut))


@lru_cache(maxsize=512)
def of_gap(series: Series, time: float, excess: bool) -> Lookup:
    """The kernel of a circle as a function of z = r^2: a Gaussian where the images around it are negligible."""
    if series.diameter**2 > 8 * time * FAR:
        return exponential(1 / (8 * time))
    form = radial(series, time)
    cut = min(form.cut, series.diameter)
    return tabulated(lambda z: _values(form, np.sqrt(z), excess), min(4 * time, cut**2), cut**2)


def _values(form: Radial, r: FloatArray, excess: bool) -> FloatArray:
    terms = radial_terms(form, r)
    if not excess or terms.excess is None:
        return np.stack([terms.overlap, terms.change])
    return np.stack([terms.excess, form.diagonal * terms.change])


def tabulated(values: Callable[[FloatArray], FloatArray], scale: float, cut: float) -> Lookup:
    """The function *values*, of shape (2, ...), for 0 <= z <= cut; it changes on the *scale*.

    >>> form = tabulated(lambda z: np.stack([np.exp(-z), z * np.exp(-z)]), 0.5, 45.0)
    >>> form.table.shape
    (113, 16)
    """
    octaves = math.ceil(math.log2(1 + cut / scale))
    stretch = (2.0**octaves - 1) / cut
    fit, check = _chebyshev()
    worst = math.inf
    for bits in range(_FEWEST_BITS, _MOST_BITS + 1):
        octave, place = np.divmod(np.arange(octaves << bits) / 2.0**bits, 1.0)
        low, width = np.exp2(octave) * (1 + place), np.exp2(octave - bits)  # of y

        def at(nodes: FloatArray, low: FloatArray = low, width: FloatArray = width) -> FloatArray:
            return values((low[:, None] + width[:, None] * (nodes + 0.5) - 1) / stretch)

        coefficients = at(fit.nodes) @ fit.solve.T  # (2, intervals, powers)
        off = np.abs(coefficients @ check.powers.T - at(check.nodes)).max(axis=(1, 2))
        off /= np.maximum(np.abs(coefficients).max(axis=(1, 2)), 1e-300)
        worst, before = float(off.max()), worst
        if worst <= LOOKUP_ERROR or worst > before / 2:  # which is as smooth as the function is
            break
    table = np.ascontiguousarray(coefficients.transpose(1, 2, 0)).reshape(len(low), 2 * POWERS)
    last = np.zeros((1, 2 * POWERS))  # for a separation that is the largest up to rounding
    last[0, :2] = 0.5 ** np.arange(POWERS) @ table[-1].reshape(POWERS, 2)
    return Lookup(np.concatenate([table, last]), stretch, bits, cut * (1 + 1e-12), max(2 * worst, LOOKUP_ERROR))


class _Nodes(NamedTuple):
    nodes: FloatArray
    powers: FloatArray  # (nodes, POWERS)

    @property
    def solve(self) -> FloatArray:
        """Coefficients from values at the nodes."""
        return np.asarray(np.linalg.inv(self.powers), dtype=np.float64)


@cache
def _chebyshev() -> tuple[_Nodes, _Nodes]:
    """Nodes of a Chebyshev polynomial in [-1/2, 1/2], and places between them, with their powers."""
    steps = np.arange(POWERS + 1) / POWERS
    found = []
    for nodes in (np.cos(math.pi * (steps[:-1] + 0.5 / POWERS)) / 2, np.cos(math.pi * steps) / 2):
        found.append(_Nodes(nodes, np.vander(nodes, POWERS, increasing=True)))
    return found[0], found[1]
